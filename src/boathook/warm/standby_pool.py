"""The forks that wait for events, and the memory that is copied before an event comes."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

from boathook.warm.memory_copies import copy_pages, find_own_pages, merge_pages
from boathook.warm.standby import fork_standby
from boathook.warm.standby_process import EventInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.warm.caller_facts import CallerFacts
    from boathook.warm.memory_copies import Ranges
    from boathook.warm.standby import Standby

_READY_STANDBYS, _MAX_STANDBYS = 2, 8
# The first event of a project has no compiled catalogue yet, so it writes to other memory.
_ASKED_FORKS = 2
# How often to find out what memory the resident itself writes to: an event that it answers, and one that a fork does.
_OWN_PAGE_LOOKS = 16
# How long to wait after a fork that failed.
_RETRY_SECONDS = 1.0


class StandbyPool:
    """Makes forks, hands them out and takes them back; `on_end` is called with each one that has ended, and its status."""

    def __init__(
        self,
        register: Callable[[int, int, Callable[[], None]], None],
        unregister: Callable[[int], None],
        on_end: Callable[[Standby, int], None],
    ) -> None:
        self._register, self._unregister, self._on_end = register, unregister, on_end
        self._free: list[Standby] = []
        self._fork_again_at = 0.0
        # The memory that forks write to; the first ones say which it is.
        self._pages: Ranges = []
        self._forks_to_ask = _ASKED_FORKS
        # The memory that this process writes to while it answers.
        self._looks_left = _OWN_PAGE_LOOKS
        self._own_pages: set[int] = set()
        self._own_ranges: Ranges = []

    @property
    def free_count(self) -> int:
        return len(self._free)

    @property
    def is_complete(self) -> bool:
        """Whether enough forks wait, and the next one has copies. The others have none: they are six megabytes."""
        lacks_copies = bool(self._free and self._pages and not self._free[-1].is_prepared)
        return len(self._free) >= _READY_STANDBYS and not lacks_copies

    @property
    def retry_seconds(self) -> float:
        """How long to wait before the next fork, because one has failed."""
        return max(0.0, self._fork_again_at - time.monotonic())

    def improve(self) -> None:
        """Make one more fork, or let the next one copy memory."""
        if len(self._free) >= _READY_STANDBYS:
            self._free[-1].prepare(self._pages)
        elif not self._add_standby():
            self._fork_again_at = time.monotonic() + _RETRY_SECONDS

    def take(self) -> Standby:
        """Return a fork for an event; OSError if there can be none."""
        return self._free.pop() if self._free else self.fork()

    def give_back(self, standby: Standby) -> None:
        """Keep a fork that was not needed for the next event."""
        self._free.append(standby)
        if len(self._free) > _MAX_STANDBYS:
            self._free.pop().dismiss()

    def start(
        self,
        standby: Standby,
        facts: CallerFacts,
        data: bytes | None,
        handles: list[int],
        *,
        is_complete: bool,
        is_for_hooks: bool,
    ) -> None:
        """Hand an event over; the first ones are to say which memory they wrote to."""
        event = EventInput(data, is_complete, is_for_hooks, standby.can_report and self._forks_to_ask > 0)
        standby.start(facts, event, handles)
        self._forks_to_ask -= event.reports_memory

    def fork(self) -> Standby:
        standby = fork_standby(can_report=self._forks_to_ask > 0)
        self._register(standby.pidfd, select.POLLIN, lambda: self._reap(standby))
        return standby

    def close(self) -> None:
        for standby in self._free:
            standby.close()

    def _add_standby(self) -> bool:
        try:
            self._note_own_pages()
            self._free.insert(0, self.fork())
        except OSError:
            return False
        # A fork shares all memory, so the next event would copy each page that it writes to here, too.
        copy_pages(self._own_ranges)
        return True

    def _note_own_pages(self) -> None:
        """Find out which memory was written to since the last fork: no other process has it."""
        # What a fork has copied is not shared with it either, so one without copies must be there.
        if self._looks_left and any(not standby.is_prepared for standby in self._free):
            self._looks_left -= 1
            self._own_pages |= find_own_pages()
            self._own_ranges = merge_pages(self._own_pages)

    def _reap(self, standby: Standby) -> None:
        ended, status = os.waitpid(standby.pid, os.WNOHANG)
        if not ended:
            return
        self._unregister(standby.pidfd)
        pages = standby.read_written_memory()
        # A fork that has copies already would not name them, so there are none until the last one was asked.
        if not self._forks_to_ask:
            self._pages = pages or self._pages
        standby.close()
        if standby in self._free:
            self._free.remove(standby)
        self._on_end(standby, status)
