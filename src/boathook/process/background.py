"""Async hooks of a long-lived process: a few worker threads and a queue."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from boathook.core.verdict import FAILED, Call, Exit, Skip, StartedHook
from boathook.process.cancel import Cancellation

_WORKERS = 8


class RefusingRunner(Protocol):
    def find_refusal(self, call: Call) -> str: ...
    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]: ...


class BackgroundPool:
    def __init__(self, runner: RefusingRunner, report: Callable[[Call, Exit], None]) -> None:
        self._runner, self._report = runner, report
        self._pool: ThreadPoolExecutor | None = None
        self._running: dict[Future[None], tuple[Call, Cancellation]] = {}

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]:
        return tuple(self._start(call) for call in calls)

    def _start(self, call: Call) -> StartedHook | Skip:
        if refusal := self._runner.find_refusal(call):
            return Skip(call.hook.name, refusal, is_warning=True)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="boathook")
        cancellation = Cancellation()
        future = self._pool.submit(self._run, call, cancellation)
        self._running[future] = (call, cancellation)
        future.add_done_callback(lambda done: self._running.pop(done, None))
        return StartedHook(call.hook.name, None)

    def _run(self, call: Call, cancellation: Cancellation) -> None:
        try:
            end = cancellation.run(self._runner, (call,))[0]
        except Exception as error:  # noqa: BLE001  (no caller would see an exception of this thread)
            end = Exit(error=FAILED, detail=f"the engine failed to run it: {type(error).__name__}: {error}")
        self._report(call, end)

    def drain(self, seconds: float) -> int:
        return len(wait(tuple(self._running), timeout=seconds).not_done)

    def close(self) -> None:
        for future, (call, cancellation) in tuple(self._running.items()):
            if future.cancel():
                self._report(call, Exit(error=FAILED, detail="never started: the engine was closed"))
            else:
                cancellation.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None
