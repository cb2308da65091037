"""The connections of the page: one that has shown the token may stay, and all others have a few seconds and a few places."""

# Everybody on this machine can connect to a port. Without this, a hundred connections that send nothing lock the person out.

from __future__ import annotations

import resource
from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from boathook.page.request_check import ADMIT_KEY

UNTRUSTED_SECONDS = 5.0


def find_max_untrusted(max_files: int) -> int:
    """Return how many connections without the token may be open if the process may have so many files, on macOS often 256."""
    return 500 if max_files == resource.RLIM_INFINITY else min(500, max(10, max_files // 2))


MAX_UNTRUSTED = find_max_untrusted(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
# How many the event loop accepts in one round. A new one has several rounds to send its request before its place is taken.
MAX_PENDING_CONNECTIONS = MAX_UNTRUSTED // 5


class PageProtocol(H11Protocol):
    """One connection. `untrusted` are those without the token, the oldest first; a server's connections share it."""

    def __init__(self, *arguments: Any, untrusted: dict[PageProtocol, None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._untrusted, self._check = untrusted, self.app
        self._timer: TimerHandle | None = None
        self.app = self._serve

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        await self._check({**scope, ADMIT_KEY: self._leave_untrusted}, receive, send)

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self._untrusted) >= MAX_UNTRUSTED:
            next(iter(self._untrusted)).abort()
        self._untrusted[self] = None
        self._timer = self.loop.call_later(UNTRUSTED_SECONDS, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_untrusted()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once."""
        self._leave_untrusted()
        self.transport.abort()

    def _leave_untrusted(self) -> None:
        self._untrusted.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
