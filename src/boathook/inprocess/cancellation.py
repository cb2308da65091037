"""Cancellation of the task in which hooks run: a hook that catches it must not let a call go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


def find_task() -> asyncio.Task[Any] | None:
    """Return the task in which this runs; None if there is none."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        # There is no event loop.
        return None


def count_cancellations() -> int:
    """Return how often this task was cancelled; 0 if there is none."""
    task = find_task()
    return 0 if task is None else task.cancelling()


async def await_hook(work: Awaitable[Any]) -> Any:
    """Await a hook; if it caught the cancellation of its task, raise that anyway: the call must not go on."""
    count = count_cancellations()
    try:
        answer = await work
    except Exception as error:
        await raise_caught_cancellation(count, error)
        raise
    await raise_caught_cancellation(count)
    return answer


async def raise_caught_cancellation(count: int, error: Exception | None = None) -> None:
    """Raise CancelledError if this task was cancelled more than `count` times."""
    if count_cancellations() > count:
        # anyio cancels again at the next wait, and has to find its own text in the error.
        await asyncio.sleep(0)
        raise asyncio.CancelledError("a hook caught the cancellation of its task") from error
