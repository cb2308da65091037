"""No process of a hook outlives it (Linux).

While hooks run, this process is the reaper of its orphaned descendants: a hook's child that detaches itself, by two forks and a new
session, becomes ours when the hook ends, so one look at our children shows whether anything is left. In a process of the engine's
own every such child is a hook's. In a program that embeds us a child is touched only if it is in the hook's session or carries
the hook's mark in its environment, for it may belong to somebody else. Elsewhere than on Linux only the process group is killed.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import Any

MARK = "BOATHOOK_RUN"
SIGKILL = 9
SWEEP_SECONDS = 0.1
SET_SUBREAPER, GET_SUBREAPER = 36, 37


class Reaper:
    """Finds and ends what hooks leave behind."""

    def __init__(self, *, exclusive: bool) -> None:
        """Say whether every unknown child of this process is a hook's."""
        self._exclusive = exclusive
        self._users = 0
        self._was_reaper = False
        self._children = f"/proc/self/task/{os.getpid()}/children"
        self._lock: AbstractContextManager[object] = _NoLock() if exclusive else _new_lock()

    def enter(self) -> None:
        """Become the reaper of orphans, if this is the first hook now running."""
        with self._lock:
            self._users += 1
            if self._users == 1 and not self._was_reaper:
                self._was_reaper = _be_reaper_lean() if self._exclusive else _be_reaper(on=True)

    def leave(self) -> None:
        """Give the role back after the last hook."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and not self._was_reaper:
                _be_reaper(on=False)

    def sweep(self, leader: int, mark: bytes, known: Iterable[int]) -> None:
        """End every process that a finished hook left, within a bounded time."""
        end = time.monotonic() + SWEEP_SECONDS
        while True:
            left = [pid for pid in self._child_pids() if pid not in known and self._is_of(pid, leader, mark)]
            if not left:
                return
            for pid in left:
                _kill_tree(pid)
            for pid in left:
                _reap(pid)
            if time.monotonic() > end:
                return
            time.sleep(0.001)

    def _child_pids(self) -> list[int]:
        try:
            handle = os.open(self._children, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            return [int(pid) for pid in os.read(handle, 65536).split()]
        finally:
            os.close(handle)

    def _is_of(self, pid: int, leader: int, mark: bytes) -> bool:
        if self._exclusive:
            return True
        fields = _stat(pid)
        if fields is None:
            return False
        return int(fields[2]) == leader or int(fields[3]) == leader or mark in _read(f"/proc/{pid}/environ")


class _NoLock:
    """For a process with one thread."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def _new_lock() -> AbstractContextManager[object]:
    import threading

    return threading.Lock()


def _be_reaper_lean() -> bool:
    """Ask the kernel through the bare C interface: `import ctypes` would cost half an interpreter start."""
    try:
        import _ctypes

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(prctl, (SET_SUBREAPER, 1, 0, 0, 0))
    except Exception:  # noqa: BLE001, S110  (no such call here: the group is killed all the same)
        pass
    return True  # and keep it: the process is ours


def _be_reaper(*, on: bool) -> bool:
    """Take or give back the role; say whether this process had it before."""
    prctl, before = _prctl()
    if prctl is None:
        return True
    import ctypes

    prctl(GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(SET_SUBREAPER, int(on), 0, 0, 0)
    return bool(before.value)


_found: list[Any] = []


def _prctl() -> list[Any]:
    """Give the C function and a place for its answer, looked up once; no function where there is none."""
    if not _found:
        try:
            import ctypes

            _found[:] = [ctypes.CDLL(None).prctl, ctypes.c_int()]
        except (ImportError, OSError, AttributeError):  # not Linux
            _found[:] = [None, None]
    return _found


def _kill_tree(pid: int) -> None:
    """Kill a process and its descendants, parents first so that they cannot start more."""
    pending = [pid]
    while pending:
        one = pending.pop()
        below = _read(f"/proc/{one}/task/{one}/children").split()
        try:
            os.kill(one, SIGKILL)
        except OSError:
            continue
        pending += map(int, below)


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        return


def _stat(pid: int) -> list[bytes] | None:
    """Give the fields of a process behind its name: state, parent, group, session."""
    text = _read(f"/proc/{pid}/stat")
    return text.rpartition(b")")[2].split() if text else None


def _read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(handle, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(handle)
