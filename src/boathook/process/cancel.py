"""Ending hooks from another thread."""

from __future__ import annotations

import _thread
import os

from boathook.core.verdict import FAILED, Exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from boathook.core.verdict import Call

    class CallRunner(Protocol):
        def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]: ...


class Cancellation:
    """Ends hooks that run on another thread when their answer is not wanted any more."""

    # Its pipe is made only when they really start: many tasks may wait for a thread, and each would hold two descriptors.

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._is_cancelled = False
        self._handle = -1

    def run(self, runner: CallRunner, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        with self._lock:
            if self._is_cancelled:
                return tuple(Exit(error=FAILED, detail="cancelled") for _ in calls)
            readable, self._handle = os.pipe()
        try:
            return runner.run(calls, readable)
        finally:
            with self._lock:
                os.close(self._handle)
                self._handle = -1
            os.close(readable)

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            if self._handle >= 0:
                os.write(self._handle, b"!")
