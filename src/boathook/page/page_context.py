"""What all screens share: the records, the hooks and agents of this machine, and who reads the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from boathook.assembly import locate, resolve_state
from boathook.cli.approvals import read_user_settings
from boathook.core.waiting_question import WaitingQuestion
from boathook.page.access import PageAccess
from boathook.page.page_facts import PageFacts, start_history
from boathook.page.page_terminal import PageTerminal
from boathook.page.person_check import PersonCheck
from boathook.page.record_index import RecordIndex
from boathook.permits.waiting_questions import list_waiting

# The filters and names in the address of a screen.
Query = dict[str, str]
_WAITING_SECONDS = 0.3
# A reader who goes to another screen, or loads the page again, is away for a moment.
_AWAY_SECONDS = 5.0


class PageContext:
    """One page that is served, from its start to its end."""

    def __init__(
        self, origin: str, project: str | None, given_state: str | None = None, terminal: PageTerminal | None = None
    ) -> None:
        """Read what the ledger has last; `given_state` is the folder that the person named, if any.

        Without a terminal, nothing can be decided on the page.
        """
        self.origin, self.project, self.given_state = origin, project, given_state
        self.state = resolve_state(given_state)
        self.history = start_history(project, given_state)
        self.index = RecordIndex(self.state, self.history)
        self.facts = PageFacts(project, given_state, self.index)
        self._access = PageAccess(origin)
        terminal = terminal or PageTerminal("the page was not started in a terminal")
        self.check = PersonCheck(self.state, lambda: read_user_settings(locate(project, state=given_state)), terminal)
        self._last_reader, self._streams, self._was_read = time.monotonic(), 0, False
        self._on_open: Callable[[], None] = lambda: None
        self.is_closing: Callable[[], bool] = lambda: False

    def list_waiting_calls(self) -> list[WaitingQuestion]:
        """Return the calls that wait for a person's answer now."""
        return self.facts.remember("waiting calls", lambda: list_waiting(self.state), seconds=_WAITING_SECONDS)

    # Who may read

    def make_address(self) -> str:
        return self._access.make_address()

    def is_token(self, text: str) -> bool:
        return self._access.is_token(text)

    def exchange_ticket(self, ticket: str) -> str:
        token = self._access.exchange_ticket(ticket)
        if token:
            self.note_reader()
            self._on_open()
        return token

    def when_opened(self, function: Callable[[], None]) -> None:
        self._on_open = function

    # Who reads

    def note_reader(self) -> None:
        self._last_reader, self._was_read = time.monotonic(), True

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

    def has_reader(self) -> bool:
        """Whether a browser shows the page."""
        return self._was_read and self.find_idle_seconds() < _AWAY_SECONDS

    # The end

    def when_closing(self, is_closing: Callable[[], bool]) -> None:
        self.is_closing = is_closing

    def close(self) -> None:
        self.index.close()
