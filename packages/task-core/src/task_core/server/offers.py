"""Registers what a server offers beside its tools with the SDK's server."""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server.lowlevel import Server
from mcp_types import (
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from task_core.server.completions import Completions
from task_core.server.prompts import Prompt, Prompts
from task_core.server.resources import Board, Resources
from task_core.server.subscriptions import Subscriptions, as_can_be_told
from task_core.server.workers import Workers

__all__ = ["offer"]


def offer(sdk: Server[None], workers: Workers, board: Board, prompts: Sequence[Prompt]) -> Subscriptions:
    """Let ``sdk`` answer for resources, prompts and completions, and return who wants to be told of changes."""
    resources, offered = Resources(board, workers), Prompts(prompts)
    subscriptions = Subscriptions(board.records, workers)
    sdk.add_request_handler("resources/list", PaginatedRequestParams, resources.list)
    sdk.add_request_handler("resources/templates/list", PaginatedRequestParams, resources.templates)
    sdk.add_request_handler("resources/read", ReadResourceRequestParams, resources.read)
    sdk.add_request_handler("resources/subscribe", SubscribeRequestParams, subscriptions.subscribe)
    sdk.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscriptions.unsubscribe)
    sdk.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, subscriptions.listen)
    sdk.add_request_handler("prompts/list", PaginatedRequestParams, offered.list)
    sdk.add_request_handler("prompts/get", GetPromptRequestParams, offered.get)
    completions = Completions(board, offered, workers)
    sdk.add_request_handler("completion/complete", CompleteRequestParams, completions.complete)
    sdk.middleware.append(as_can_be_told)
    return subscriptions
