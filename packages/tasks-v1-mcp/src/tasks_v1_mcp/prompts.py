"""The prompts of this server: plan a request, go on with the next task, look back on a week (PRM-1)."""

from typing import Final

from task_core.server.prompts import standard_prompts

__all__ = ["PROMPTS"]

_PLAN: Final = """\
Turn the request below into tasks.

1. Call list_tasks with status ["pending", "in_progress"], so that nothing is planned twice.
2. Split the request into tasks that can each be finished in one go. Give each a title that begins with a verb, a \
category, and a priority; if they belong to one research topic, one topic_id for all. Put long text in files.
3. Show me the list first, and ask about anything unclear.
4. When I agree, call create_task for each. Then name the ids."""

_NEXT: Final = """\
1. Call list_tasks with status ["in_progress"], then with status ["pending"] and order_by priority_desc.
2. If a task is in progress, choose it. Otherwise choose the pending task with the highest priority, the oldest if \
several have it, unless another is clearly more urgent; then say why.
3. Name it by its id and title, say what the first step is, and ask whether to begin.
4. When I agree, call update_task_status with in_progress; when it is finished, with done."""

_REVIEW: Final = """\
Review the last seven days with me.

1. Call list_tasks with order_by updated_at_desc and follow next_cursor through the last seven days. Then call it \
with status ["pending", "in_progress"] for what is open.
2. Report, briefly and by category: what was done; what was canceled; what is in progress; what has been pending for \
more than a week.
3. For each task that has not moved for a week, propose to begin it, to change its priority, or to cancel it.
4. Change nothing yet. When I agree, make the changes with update_task_status and update_task, and list what you \
changed."""

PROMPTS: Final = standard_prompts(
    "tasks_v1",
    plan=("Split a request into tasks, after checking the existing tasks.", _PLAN),
    go_on=("Choose the next task, and begin it when you agree.", _NEXT),
    review=("Look back on the last seven days: what was done, what was canceled, what has stalled.", _REVIEW),
)
"""In the order in which they are listed."""
