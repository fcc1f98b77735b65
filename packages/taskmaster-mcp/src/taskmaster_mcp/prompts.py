"""The prompts of this server: plan a request, continue with the next task, review the project (PRM-1)."""

from typing import Final

from task_core.server.prompts import standard_prompts

__all__ = ["PROMPTS"]

_PLAN: Final = """\
Turn the request below into tasks of this project.

1. Call get_tasks, so that nothing is planned twice.
2. Split the request into tasks that can each be finished and checked within hours. Give each a title, a description \
and its dependencies.
3. Show me the list first, and ask about anything unclear.
4. When I agree, add the tasks with add_task, and split those that are large with expand_task."""

_NEXT: Final = """\
1. Call next_task. If nothing is ready, report what the blocked tasks wait for.
2. Read the task with get_task, and the tasks that it depends on.
3. Say what has to be done and how to check it. Ask whether to begin.
4. When I agree, set it to in-progress with set_task_status. Note what you find with update_subtask. When it is \
finished and checked, set it to done, and go on with next_task."""

_REVIEW: Final = """\
Review the state of this project with me.

1. Call get_tasks with withSubtasks, and get_task for what is in progress.
2. Report briefly: what is done, what is in progress and since when, what is blocked and by what, what comes next.
3. Propose what should change: tasks that are missing, too large, in the wrong order, or not needed any more.
4. Change nothing yet. When I agree, make the changes with add_task, expand_task, update_subtask and set_task_status, \
and list what you changed."""

PROMPTS: Final = standard_prompts(
    "taskmaster",
    plan=("Split a request into tasks, after checking the existing tasks.", _PLAN),
    go_on=("Choose the next task, and start it when you agree.", _NEXT),
    review=("Review the project: what is done, what comes next, what is blocked.", _REVIEW),
)
"""In the order in which they are listed."""
