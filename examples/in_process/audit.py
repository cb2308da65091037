"""One line of JSON for every tool call, and what became of it. Give it the highest priority: then it sees blocks, too."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from boathook import Blocked, Hooks, Outcome, ToolContext


def status_of(outcome: Outcome) -> str:
    """Say in a word what became of a call."""
    if outcome.is_stopped:
        return "stopped"
    if outcome.context.is_before:
        return "blocked"
    return "ran" if outcome.context.error is None else "failed"


class Audit:
    """Write a line per call: as it was asked for, as it ran, its end. A hook that raises is written down as well."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = time.time) -> None:
        self.write, self.clock = write, clock

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:  # noqa: A002
        entry = {"time": self.clock(), "session": context.session_id, "tool": context.name, "asked": dict(context.args)}
        try:
            outcome = next(context)
        except Exception as error:
            self._line({**entry, "status": "broken", "reason": f"{type(error).__name__}: {error}"})
            raise
        final = outcome.context
        reason = outcome.reason or str(final.error or "")
        self._line({**entry, "args": dict(final.args), "status": status_of(outcome), "reason": reason})
        return outcome

    def _line(self, entry: dict[str, Any]) -> None:
        self.write(json.dumps(entry, default=str, ensure_ascii=False) + "\n")


def main() -> None:
    hooks = Hooks()
    hooks.add("pre-tool-call", Audit(lambda line: print(line, end=""), clock=lambda: 0), priority=1000)

    @hooks.before_tool(match="send")
    def lower(context: ToolContext) -> ToolContext | Outcome:
        if context.args["to"] == "everyone":
            return Outcome.block("not to everyone")
        return context.replace(args={"to": context.args["to"].lower()})

    @hooks.guard
    def send(to: str) -> str:
        return f"sent to {to}"

    send("Ann")
    with contextlib.suppress(Blocked):
        send("everyone")


if __name__ == "__main__":
    main()
