"""At most so many tool calls in a stretch of time; one more is blocked, and the agent is told when to try again."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from boathook import Blocked, Hooks, Outcome, ToolContext


class RateLimit:
    """Let `calls` calls happen in any `seconds`. Calls that hooks behind this one block count too: they were tried."""

    def __init__(self, calls: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.calls, self.seconds, self.clock = calls, seconds, clock
        self._times: deque[float] = deque()
        self._lock = threading.Lock()  # tools of one reply are called at the same time

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:  # noqa: A002
        wait = self._wait()
        if wait > 0:
            return Outcome.block(f"{self.calls} calls in {self.seconds:g} s are enough; try again in {wait:.0f} s")
        return next(context)

    def _wait(self) -> float:
        with self._lock:
            now = self.clock()
            while self._times and now - self._times[0] >= self.seconds:
                self._times.popleft()
            if len(self._times) >= self.calls:
                return self.seconds - (now - self._times[0])
            self._times.append(now)
            return 0.0


def main() -> None:
    hooks = Hooks()
    hooks.add("pre-tool-call", RateLimit(calls=2, seconds=60), match="search", priority=500)

    @hooks.guard
    def search(query: str) -> str:
        return f"results for {query}"

    for query in ("ropes", "knots", "anchors"):
        try:
            print(search(query))
        except Blocked as blocked:
            print(f"blocked: {blocked.reason}")


if __name__ == "__main__":
    main()
