"""Room for hooks in a host: how many stages run at a time, so that a burst of events cannot use up its descriptors.

Who finds no room waits as long as its hook might take, and then goes on without: waiting is better than failing, and failing is
better than never. Tokens in a queue of C code, for a person's Ctrl-C may come at any moment and must not leave a lock held.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queue import SimpleQueue

FEWEST, MOST, HANDLES_EACH = 4, 256, 16
LOOK = 0.05

_rooms: dict[str, SimpleQueue[None]] = {}


def _tokens() -> SimpleQueue[None]:
    """Give the tokens of this process, made when first asked for."""
    found = _rooms.get("")
    if found is not None:
        return found
    import queue
    import resource

    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = MOST if handles == resource.RLIM_INFINITY else handles // HANDLES_EACH
    tokens: SimpleQueue[None] = queue.SimpleQueue()
    for _ in range(min(max(most, FEWEST), MOST)):
        tokens.put(None)
    return _rooms.setdefault("", tokens)


def _is_readable(handle: int) -> bool:
    """Say whether data can be read; unlike `select` this takes any descriptor."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


class Room:
    """One stage's claim to room."""

    def __init__(self) -> None:
        """Claim nothing yet."""
        self._tokens: SimpleQueue[None] | None = None

    def enter(self, seconds: float, cancel: int | None) -> bool:
        """Wait for room, not longer than some seconds; say False if data became readable on `cancel` meanwhile."""
        tokens, end = _tokens(), time.monotonic() + seconds
        while self._tokens is None and time.monotonic() < end:
            if self._had(tokens):
                self._tokens = tokens
            elif cancel is not None and _is_readable(cancel):
                return False
        return True

    def _had(self, tokens: SimpleQueue[None]) -> bool:
        import queue

        try:
            tokens.get(timeout=LOOK)
        except queue.Empty:
            return False
        return True

    def leave(self) -> None:
        """Give the room to the next."""
        if self._tokens is not None:
            self._tokens.put(None)
            self._tokens = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rooms.clear)
