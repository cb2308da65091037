"""Call a tool again when it failed for a reason that may pass."""

from __future__ import annotations

import time
from collections.abc import Callable

from boathook import Hooks, Outcome, ToolContext


class Retry:
    """Try up to `times` times, and wait twice as long before each. Hooks behind this one are asked every time."""

    def __init__(
        self,
        times: int = 3,
        on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError),
        wait: float = 0.5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.times, self.on, self.wait, self.sleep = times, on, wait, sleep

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:  # noqa: A002
        wait = self.wait
        for _ in range(self.times - 1):
            outcome = next(context)
            if outcome.is_blocked or not isinstance(outcome.context.error, self.on):
                return outcome
            self.sleep(wait)
            wait *= 2
        return next(context)


def main() -> None:
    hooks = Hooks()
    hooks.add("pre-tool-call", Retry(sleep=lambda seconds: print(f"waiting {seconds} s")), match="fetch")
    answers = iter([ConnectionError("the line is down"), TimeoutError("no answer"), "the weather is fine"])

    @hooks.guard
    def fetch(url: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return f"{url}: {answer}"

    print(fetch("https://example.org/weather"))


if __name__ == "__main__":
    main()
