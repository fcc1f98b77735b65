"""The prompts of this server: plan a request, go on with the next task, look back on a week (PRM-1)."""

from typing import Final

from task_core.server.prompts import standard_prompts

__all__ = ["PROMPTS"]

_PLAN: Final = """\
Turn the request below into tasks.

1. Call task_list, so that nothing is planned twice.
2. Split the request into pieces that can each be finished in one go and checked. If it is one piece, make one task.
3. Show me the list first: for each piece, what to do and how we will know that it is done. Ask about anything unclear.
4. When I agree, call task_create for each piece, in the order of work, with the part of the request that it covers \
as raw_user_request and your thoughts as ideas. Then name the ids."""

_NEXT: Final = """\
1. Call task_list. If a task is Running, choose it: show its ideas and what is left to do.
2. Otherwise choose the oldest Pending task, unless another is clearly more urgent; then say why.
3. Name the task by its id, say in two or three sentences how you would do it, and ask whether to begin.
4. When I agree, set it Running with task_update. Add what you find out with append_ideas. At the end, set it Complete \
or Fail, with a result."""

_REVIEW: Final = """\
Review the last seven days with me.

1. Call task_list with include_archived true and days_to_keep_completed 7; finished tasks may be archived already.
2. Report, briefly: what was completed and with which result; what failed and why; what is Running; what has been \
Pending for more than a week.
3. For each task that has not moved for a week, propose to begin it, to split it, or to give it up; say why.
4. Change nothing yet. When I agree, make the changes with task_update and task_create, and list what you changed."""

PROMPTS: Final = standard_prompts(
    "heartbeat",
    plan=("Split a request into tasks, after checking the existing tasks.", _PLAN),
    go_on=("Choose the next task, and begin it when you agree.", _NEXT),
    review=("Look back on the last seven days: what was done, what failed, what has stalled.", _REVIEW),
)
"""In the order in which they are listed."""
