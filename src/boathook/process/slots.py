"""Slots for hooks in a host: how many run at a time, so that a burst of events cannot use up its file descriptors."""

# A stage that finds no free slot waits as long as its hooks might take, and then goes on without. Slots are tokens in a queue
# of C code, because Ctrl-C must not leave a lock held. Only one stage at a time collects several, so that no two wait for each
# other.

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queue import SimpleQueue

_MIN_SLOTS, _MAX_SLOTS = 4, 256
_HANDLES_PER_SLOT, _HANDLES_PER_HOOK = 16, 5
_POLL_SECONDS = 0.05


class _SlotPool:
    def __init__(self, count: int) -> None:
        import queue

        self.count = count
        self.slots: SimpleQueue[None] = queue.SimpleQueue()
        self.collector: SimpleQueue[None] = queue.SimpleQueue()
        self.collector.put(None)
        for _ in range(count):
            self.slots.put(None)


_pools: dict[str, _SlotPool] = {}


def _get_pool() -> _SlotPool:
    pool = _pools.get("")
    if pool is not None:
        return pool
    import resource

    handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    count = _MAX_SLOTS if handles == resource.RLIM_INFINITY else handles // _HANDLES_PER_SLOT
    return _pools.setdefault("", _SlotPool(min(max(count, _MIN_SLOTS), _MAX_SLOTS)))


def prepare_slots() -> None:
    """Make the slots now: an interrupt during an import can be lost, so no import is left for later."""
    _get_pool()


class Slots:
    def __init__(self, hooks: int) -> None:
        self._needed = max(1, -(-hooks * _HANDLES_PER_HOOK // _HANDLES_PER_SLOT))
        self._held: list[SimpleQueue[None]] = []

    def acquire(self, seconds: float, cancel: int | None) -> bool:
        pool, deadline = _get_pool(), time.monotonic() + seconds
        wanted = [pool.slots] * min(self._needed, pool.count)
        if len(wanted) > 1:
            wanted.insert(0, pool.collector)
        while wanted and time.monotonic() < deadline:
            if self._take(wanted[0]):
                wanted.pop(0)
            elif cancel is not None:
                # Unlike `select` this takes any descriptor.
                poll = select.poll()
                poll.register(cancel, select.POLLIN)
                if poll.poll(0):
                    return False
        if pool.collector in self._held:
            self._held.remove(pool.collector)
            pool.collector.put(None)
        return True

    def _take(self, tokens: SimpleQueue[None]) -> bool:
        import queue

        try:
            tokens.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            return False
        self._held.append(tokens)
        return True

    def release(self) -> None:
        while self._held:
            self._held.pop().put(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
