"""Who may read the page: a token for each start, and addresses that work once to get it."""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
import time
from collections.abc import Callable

_TOKEN_BYTES = 32
TICKET_SECONDS = 60.0
_MAX_TICKETS = 20
_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>boathook</title>
<p><a href="{address}">Open the page of boathook</a>. This address works once, within a minute.
"""


class PageAccess:
    """The token of this start, and the tickets that can be exchanged for it: each once, and only for a minute."""

    def __init__(self, origin: str, now: Callable[[], float] = time.monotonic) -> None:
        self.origin = origin
        self._now = now
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._tickets: dict[str, float] = {}

    def make_address(self) -> str:
        """Return an address that opens the page once. The ticket is in the fragment, which browsers send to nobody."""
        self._drop_old_tickets()
        ticket = secrets.token_urlsafe(_TOKEN_BYTES)
        self._tickets[ticket] = self._now() + TICKET_SECONDS
        return f"{self.origin}/#t={ticket}"

    def exchange_ticket(self, ticket: str) -> str:
        """Return the token for a ticket that was not used yet, or ""."""
        self._drop_old_tickets()
        wanted = ticket.encode("utf-8", "replace")
        match = next((one for one in self._tickets if hmac.compare_digest(one.encode(), wanted)), None)
        if match is None:
            return ""
        del self._tickets[match]
        return self._token

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(self._token.encode(), text.encode("utf-8", "replace"))

    def _drop_old_tickets(self) -> None:
        now = self._now()
        newest = list(self._tickets.items())[-_MAX_TICKETS:]
        self._tickets = {ticket: end for ticket, end in newest if now < end}


class RedirectFile:
    """A private file that leads a browser to an address, because other users see the arguments of programs."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="boathook-page-", ignore_cleanup_errors=True)

    def write(self, address: str) -> str:
        """Write the file anew and return its path."""
        path = f"{self._folder.name}/open.html"
        self.remove()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_REDIRECT.format(address=address))
        return path

    def remove(self) -> None:
        """Remove the file: its address was used, or is too old."""
        try:
            os.unlink(f"{self._folder.name}/open.html")
        except OSError:
            return

    def close(self) -> None:
        """Remove the file and its folder."""
        self._folder.cleanup()
