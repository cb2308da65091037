"""Async hooks of a long-lived process: a few workers, a queue, and an end to wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from boathook.core.verdict import FAILED, Call, Exit, Skip, Started
from boathook.process.cancel import Bell

WORKERS = 8


class Runner(Protocol):
    """Runs calls, and says which it would refuse."""

    def refusal(self, call: Call) -> str:
        """Return why a call cannot run, if so."""
        ...

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        """Run calls together."""
        ...


class Background:
    """Runs async hooks on worker threads; the report of each goes to `report`."""

    def __init__(self, runner: Runner, report: Callable[[Call, Exit], None]) -> None:
        """Take the runner and whom to tell."""
        self._runner = runner
        self._report = report
        self._pool: ThreadPoolExecutor | None = None
        self._running: dict[Future[None], tuple[Call, Bell]] = {}

    def start(self, calls: tuple[Call, ...]) -> tuple[Started | Skip, ...]:
        """Start calls and return at once; one that cannot run is named as skipped."""
        return tuple(self._start(call) for call in calls)

    def _start(self, call: Call) -> Started | Skip:
        if why := self._runner.refusal(call):
            return Skip(call.hook.name, why, loud=True)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="boathook")
        bell = Bell()
        future = self._pool.submit(self._run, call, bell)
        self._running[future] = (call, bell)
        future.add_done_callback(lambda done: self._running.pop(done, None))
        return Started(call.hook.name, None)

    def _run(self, call: Call, bell: Bell) -> None:
        try:
            end = bell.run(self._runner, (call,))[0]
        except Exception as error:  # noqa: BLE001  (nobody waits for this thread: it must not fail in silence)
            end = Exit(error=FAILED, detail=f"the engine failed to run it: {type(error).__name__}: {error}")
        self._report(call, end)

    def drain(self, seconds: float) -> int:
        """Wait for what runs, at most some seconds; return the number of hooks still running."""
        return len(wait(tuple(self._running), timeout=seconds).not_done)

    def close(self) -> None:
        """Start nothing more, end what still runs, and say so in the log."""
        for future, (call, bell) in tuple(self._running.items()):
            if future.cancel():
                self._report(call, Exit(error=FAILED, detail="never started: the engine was closed"))
            else:
                bell.ring()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None
