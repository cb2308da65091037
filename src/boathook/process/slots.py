"""Room for hooks in a host: how many run at a time, so that a burst of events cannot use up its descriptors.

Who finds no room waits as long as its hook might take, and then goes on without: waiting is better than failing, and failing is
better than never. Tokens in a queue of C code, for a person's Ctrl-C may come at any moment and must not leave a lock held.
A stage of many hooks needs several tokens. Only one stage at a time collects them, so that no two wait for each other.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queue import SimpleQueue

FEWEST, MOST, HANDLES_EACH, HANDLES_OF_HOOK = 4, 256, 16, 5
LOOK = 0.05


class _House:
    """All tokens of this process, and the one that lets a stage collect several."""

    def __init__(self, count: int) -> None:
        import queue

        self.count = count
        self.tokens: SimpleQueue[None] = queue.SimpleQueue()
        self.turn: SimpleQueue[None] = queue.SimpleQueue()
        self.turn.put(None)
        for _ in range(count):
            self.tokens.put(None)


_houses: dict[str, _House] = {}


def _house() -> _House:
    """Return the tokens of this process, made when first asked for."""
    found = _houses.get("")
    if found is not None:
        return found
    import resource

    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = MOST if handles == resource.RLIM_INFINITY else handles // HANDLES_EACH
    return _houses.setdefault("", _House(min(max(most, FEWEST), MOST)))


def prepare() -> None:
    """Make the tokens now: an interrupt that strikes within an import can be lost, so none is left for later."""
    _house()


def _is_readable(handle: int) -> bool:
    """Whether data can be read; unlike `select` this takes any descriptor."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


class Room:
    """One stage's claim to room."""

    def __init__(self, hooks: int) -> None:
        """Claim nothing yet; `hooks` is how many will run at once."""
        self._needed = max(1, -(-hooks * HANDLES_OF_HOOK // HANDLES_EACH))
        self._held: list[SimpleQueue[None]] = []

    def enter(self, seconds: float, cancel: int | None) -> bool:
        """Wait for room, not longer than some seconds; say False if data became readable on `cancel` meanwhile."""
        house, end = _house(), time.monotonic() + seconds
        wanted = [house.tokens] * min(self._needed, house.count)
        if len(wanted) > 1:
            wanted.insert(0, house.turn)
        while wanted and time.monotonic() < end:
            if self._took(wanted[0]):
                wanted.pop(0)
            elif cancel is not None and _is_readable(cancel):
                return False
        if house.turn in self._held:
            self._held.remove(house.turn)
            house.turn.put(None)
        return True

    def _took(self, tokens: SimpleQueue[None]) -> bool:
        import queue

        try:
            tokens.get(timeout=LOOK)
        except queue.Empty:
            return False
        self._held.append(tokens)
        return True

    def leave(self) -> None:
        """Return the room to the next."""
        while self._held:
            self._held.pop().put(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_houses.clear)
