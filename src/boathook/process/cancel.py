"""Ending hooks from another thread."""

from __future__ import annotations

import _thread
import os

from boathook.core.verdict import FAILED, Exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from boathook.core.verdict import Call

    class Runner(Protocol):
        """Runs calls; data readable on `cancel` ends them early."""

        def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
            """Run calls together."""
            ...


class Bell:
    """Tells hooks that run on another thread that nobody wants their answer any more.

    Its pipe is made only when they really start: many tasks may wait for a thread, and each would hold two descriptors.
    """

    def __init__(self) -> None:
        """Be silent."""
        self._lock = _thread.allocate_lock()
        self._rung = False
        self._handle = -1

    def run(self, runner: Runner, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        """Run calls until they end or the bell is rung."""
        with self._lock:
            if self._rung:
                return tuple(Exit(error=FAILED, detail="cancelled") for _ in calls)
            waiting, self._handle = os.pipe()
        try:
            return runner.run(calls, waiting)
        finally:
            with self._lock:
                os.close(self._handle)
                self._handle = -1
            os.close(waiting)

    def ring(self) -> None:
        """End what runs, or keep it from starting."""
        with self._lock:
            self._rung = True
            if self._handle >= 0:
                os.write(self._handle, b"!")
