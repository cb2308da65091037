"""A window of a real browser that shows the page."""

from __future__ import annotations

import shutil
from typing import Any

from tests.page.served import ServedPage

CHROMIUM = shutil.which("chromium")
# The tests may run as root, which chromium refuses with its own sandbox.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]


class Window:
    """A window of the browser, and everything that went wrong in it."""

    def __init__(self, browser: Any, served: ServedPage, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.served = served
        self.problems: list[str] = []
        self.requests: list[Any] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        self.requests.append(request)

    def open(self) -> Window:
        return self.open_at(self.served.context.make_address())

    def open_at(self, address: str) -> Window:
        self.page.goto(address)
        self.page.wait_for_selector("main h1")
        return self

    def show(self, address: str) -> None:
        self.page.evaluate("address => { location.hash = address }", f"#/{address}")
        self.wait_for("address => document.getElementById('screen').dataset.address === address", f"#/{address}")

    def wait_for(self, expression: str, argument: Any = None) -> None:
        """Wait until an expression is true; the policy of the page lets no text be evaluated within it, only from outside."""
        for _ in range(3000):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(expression)
