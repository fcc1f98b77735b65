"""The fields of a record that its new home has no place for, as text (MV-3)."""

from collections.abc import Container, Mapping

from task_formats.fields import STATES, normalize
from task_formats.record import TIMES, ForeignTask

__all__ = ["describe_rest", "find_rest"]


def find_rest(task: ForeignTask, held: Container[str]) -> dict[str, str]:
    """Return what a home without the fields ``held`` lacks, by name, those in ``rest`` last.

    ``held`` has names of fields of ``ForeignTask``; the title and the text always have a place. A status that is blank
    or disagrees with the state is given with the state.
    """
    status = task.status or task.state
    if STATES.get(normalize(status), task.state) != task.state:  # a folder says more than the status
        status = f"{status} ({task.state})"
    values = {
        "status": status,
        "priority": task.priority or "",
        "labels": ", ".join(task.labels),
        "parent": task.parent or "",
        "dependencies": ", ".join(task.dependencies),
        **{name: getattr(task, name) or "" for name in TIMES},
        "criteria": "\n".join(f"- {text}" for text in task.criteria),
        "notes": "\n\n".join(task.notes),
        "result": task.result,
    }
    found = {name: value for name, value in values.items() if value and name not in held}
    for name, value in task.rest.items():
        if value.strip():
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def describe_rest(rest: Mapping[str, str], title: str) -> str:
    """Return Markdown with the fields ``rest`` under the heading "From ``title``", or nothing if there are none."""
    lines = [f"- {name}: {value}" for name, value in rest.items() if "\n" not in value]
    parts = ["\n".join(lines)] if lines else []
    parts += [f"### {name}\n\n{value.strip()}" for name, value in rest.items() if "\n" in value]
    return "\n\n".join([f"## From {title}", *parts]) if parts else ""
