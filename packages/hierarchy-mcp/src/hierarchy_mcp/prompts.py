"""The prompts of this server: plan a project, go on with the next task, look at the progress of a week (PRM-1)."""

from typing import Final

from task_core.server.prompts import standard_prompts

__all__ = ["PROMPTS"]

_PLAN: Final = """\
Turn the request below into nested tasks, in the order in which they must be done.

1. Call listTasks with depth 0, so that nothing is planned twice.
2. Make one root task, and split it until each leaf can be finished in one go. The order of siblings is the order \
of work. Give each leaf completion_criteria that can be checked; put each constraint on the highest task \
that it applies to.
3. Show me the tree first, and ask about anything unclear.
4. When I agree, create all of it with one createTask call. Then say which leaf comes first."""

_NEXT: Final = """\
1. Call listTasks with depth 1. If a task is in progress, find its leaf with getTask and choose that.
2. Otherwise choose the first open root task, unless another is clearly more urgent; then say why.
3. Name the leaf that comes next, the tasks above it, and the completion criteria and constraints of all of them. \
Ask whether to begin.
4. When I agree, call startTask, and keep to the aggregated criteria that it returns. When the work is done and \
meets them, call completeTask with a resolution, and continue with next_task_id."""

_REVIEW: Final = """\
Do a weekly review of my projects with me.

1. Call listTasks, with depth 1 first, and getTask for the root tasks that are not done.
2. Report for each root task, briefly: how many of its leaves are done, with the resolutions that matter; which leaf \
is in progress; what comes next; what cannot be started, and which task blocks it.
3. Propose what should change: tasks that are missing, too large, in the wrong order, or not needed any more.
4. Change nothing yet. When I agree, make the changes with createTask, updateTask and deleteTask, and list what you \
changed."""

PROMPTS: Final = standard_prompts(
    "hierarchy",
    plan=("Split a request into nested tasks, after checking the existing tasks.", _PLAN),
    go_on=("Find the next leaf, and start it when you agree.", _NEXT),
    review=("Look at every open project: what is done, what comes next, what is blocked.", _REVIEW),
)
"""In the order in which they are listed."""
