"""One connection to the resident, and what is known of the process behind it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from boathook.entry.options import Options
    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.standby import Standby

# How long a caller may take to say what it wants.
GREETING_SECONDS = 2.0


class WarmCaller:
    """One connection, and what is known of the process behind it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline = time.monotonic() + GREETING_SECONDS
        self.streams: list[int] = []
        self.facts: CallerFacts | None = None
        # A handle that tells when its process has ended, -1 if there is none.
        self.process = -1
        # Why a fork cannot stand in for it.
        self.refusal = ""
        self.standby: Standby | None = None
        self.options: Options | None = None
        self.data = b""
        self.is_running = False
        self.begun = 0.0
        # "answered" or "forked", as soon as that is known.
        self.way = ""

    def close_handles(self) -> None:
        """Close what is the caller's, except for the connection."""
        streams, facts = self.streams, self.facts
        self.streams, self.facts, self.data = [], None, b""
        for handle in streams:
            os.close(handle)
        if facts is not None:
            facts.close()
