"""What all screens share: the records, the hooks and agents of this machine, and who reads the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from boathook.assembly import resolve_state
from boathook.page.access import PageAccess
from boathook.page.page_facts import PageFacts, start_history
from boathook.page.record_index import RecordIndex

# The filters and names in the address of a screen.
Query = dict[str, str]


class PageContext:
    """One page that is served, from its start to its end."""

    def __init__(self, origin: str, project: str | None, given_state: str | None = None) -> None:
        """Read what the ledger has last; `given_state` is the folder that the person named, if any."""
        self.origin, self.project, self.given_state = origin, project, given_state
        self.state = resolve_state(given_state)
        self.history = start_history(project, given_state)
        self.index = RecordIndex(self.state, self.history.add)
        self.facts = PageFacts(project, given_state, self.index)
        self._access = PageAccess(origin)
        self._last_reader, self._streams = time.monotonic(), 0
        self._on_open: Callable[[], None] = lambda: None
        self.is_closing: Callable[[], bool] = lambda: False

    # Who may read

    def make_address(self) -> str:
        return self._access.make_address()

    def is_token(self, text: str) -> bool:
        return self._access.is_token(text)

    def exchange_ticket(self, ticket: str) -> str:
        token = self._access.exchange_ticket(ticket)
        if token:
            self._on_open()
        return token

    def when_opened(self, function: Callable[[], None]) -> None:
        self._on_open = function

    # Who reads

    def note_reader(self) -> None:
        self._last_reader = time.monotonic()

    @contextmanager
    def count_stream(self) -> Iterator[None]:
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1
            self.note_reader()

    def find_idle_seconds(self) -> float:
        """Return for how long the page has had no reader; 0.0 while somebody follows it."""
        return 0.0 if self._streams else time.monotonic() - self._last_reader

    # The end

    def when_closing(self, is_closing: Callable[[], bool]) -> None:
        self.is_closing = is_closing

    def close(self) -> None:
        self.index.close()
