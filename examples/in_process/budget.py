"""A limit to what tools may cost together: a call that would go beyond it ends the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from boathook import Hooks, Outcome, Stopped, ToolContext


class Budget:
    """Charge every call its price before it happens; what hooks or a person then kept from happening is given back."""

    def __init__(self, limit: float, prices: Mapping[str, float], default: float = 0.0) -> None:
        self.limit, self.prices, self.default = limit, prices, default
        self.spent = 0.0
        self._lock = threading.Lock()  # tools of one reply are called at the same time

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:  # noqa: A002
        price = self.prices.get(context.name, self.default)
        if not self._charge(price):
            return Outcome.stop(f"{context.name} costs {price:g}, and {self.spent:g} of {self.limit:g} are spent")
        outcome = next(context)
        if outcome.context.is_before:  # it never ran
            self._charge(-price)
        return outcome

    def _charge(self, price: float) -> bool:
        with self._lock:
            if self.spent + price > self.limit:
                return False
            self.spent += price
            return True


def main() -> None:
    hooks = Hooks()
    budget = Budget(limit=10, prices={"draw": 4})
    hooks.add("pre-tool-call", budget)

    @hooks.guard
    def draw(what: str) -> str:
        return f"a picture of {what}"

    try:
        for what in ("a boat", "a hook", "a harbour"):
            print(draw(what))
    except Stopped as stopped:
        print(f"stopped: {stopped.reason}")


if __name__ == "__main__":
    main()
