"""How long tools take, hooks behind this one included: how often each was called, the whole and the longest time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from boathook import Hooks, Outcome, ToolContext


@dataclass
class Times:
    """The times of one tool."""

    count: int = 0
    total: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)


class Timing:
    """Measure calls, also those that fail or are blocked."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.tools: dict[str, Times] = {}
        self._lock = threading.Lock()  # tools of one reply are called at the same time

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:  # noqa: A002
        started = self.clock()
        try:
            return next(context)
        finally:
            with self._lock:
                self.tools.setdefault(context.name, Times()).add(self.clock() - started)


def main() -> None:
    timing = Timing()
    hooks = Hooks()
    hooks.add("pre-tool-call", timing, priority=1000)

    @hooks.guard
    def count(text: str) -> int:
        return len(text.split())

    count("a short text")
    count("another text that is a little longer")
    for name, times in timing.tools.items():
        print(f"{name}: {times.count} calls, the longest under a second: {times.longest < 1}")


if __name__ == "__main__":
    main()
