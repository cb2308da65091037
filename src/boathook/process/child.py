"""One hook as a running process: its pipes, its deadline, its end.

Standard input is a memory file, so writing it can neither block nor fail.
"""

from __future__ import annotations

import os
import time

from boathook.core.value import Value
from boathook.core.verdict import FAILED, TIMEOUT, Exit
from boathook.process.limits import compute_limits, set_limits, start_with_limits
from boathook.process.reaper import MARK, Mark, is_runnable, reap_later, tree
from boathook.process.spawn import can_use_posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.process.limits import ProcessLimits
    from boathook.process.sandbox import Sandbox
    from boathook.process.spawn import Spawn

STDOUT_LIMIT = 1 << 20
STDERR_LIMIT = 1 << 16
READ_SIZE = 1 << 16  # as much as a pipe holds
TERM_GRACE = 0.15
KILL_GRACE = 0.15
LINGER = 0.2
# Half a millisecond each. The rest is for a busy machine, where a killed process waits for the processor.
MIN_WAITS, MAX_WAITS = 200, 2000
WATCH_AFTER = 0.25
SIGTERM, SIGKILL, SIGCONT = 15, 9, 18 if os.uname().sysname == "Linux" else 19
BLOCK = 2  # the exit code that counts whatever else went wrong
INFO_EXIT, GET_INFO = 8, 3 << 30 | 64 << 16 | 0xFF << 8 | 11  # PIDFD_INFO_EXIT, PIDFD_GET_INFO


class Job(Value):
    """One process to run: command, input, directory, environment, and for how many seconds; `cage` are its walls, if any."""

    argv: tuple[str, ...]
    stdin: bytes
    cwd: str
    env: Mapping[bytes, bytes]
    timeout: float
    refused: str = ""
    warnings: tuple[str, ...] = ()
    sandbox: tuple[Any, ...] = ()


class Child:
    """A running hook."""

    def __init__(self, spawn: Spawn, job: Job, mark: Mark, *, alone: bool = False) -> None:
        """Start it; `alone` says that this process is the engine's own."""
        self.job = job
        self.started = time.monotonic()
        self.deadline = self.started + job.timeout
        self.watch_at = self.started + WATCH_AFTER
        self.timed_out = self.cancelled = self.ended = self.reaped = False
        self.kills = 0
        self.watcher = 0
        self._watch_pipe = -1
        self.overflow = False
        self.pid, self.pidfd = 0, -1
        self.pidfd = -1
        self._limits = compute_limits(job.timeout)
        self.sandbox = _make_sandbox(job, self._limits)
        opened: list[int] = []
        try:
            stdin = memory_file(job.stdin)
            opened.append(stdin)
            self.out, out = os.pipe()
            opened += (self.out, out)
            self.err, err = os.pipe()
            opened += (self.err, err)
            within = self.sandbox or job
            env = {**within.env, MARK.encode(): mark.text}
            how = (within.argv, env, job.cwd, stdin, out, err)
            if alone:
                self.pid = start_with_limits(self._limits, lambda: spawn(*how))
            else:
                self.pid = mark.start(lambda: spawn(*how)) if can_use_posix(job.cwd) else spawn(*how)
                mark.put_on(self.pid)
            set_limits(self.pid, self._limits)
            self.pidfd = _pidfd(self.pid)
            for handle in (self.out, self.err):
                os.set_blocking(handle, False)
                opened.remove(handle)
        except BaseException:
            opened += (self.pidfd,) if self.pidfd >= 0 else ()
            if self.sandbox is not None:
                self.sandbox.close()
            raise
        finally:
            for handle in opened:
                os.close(handle)
        self.read: dict[int, bytearray] = {self.out: bytearray(), self.err: bytearray()}
        self.open = {self.out, self.err}

    def take(self, handle: int) -> int:
        """Read what a pipe holds, keep it up to the limit; return the number of bytes: 0 at its end, -1 if there is nothing yet."""
        kept = self.read[handle]
        limit = STDOUT_LIMIT if handle == self.out else STDERR_LIMIT
        try:
            data = os.read(handle, READ_SIZE)
        except BlockingIOError:
            return -1
        room = limit - len(kept)
        kept += data[:room]
        if handle == self.out and len(data) > room:
            self.overflow = True
        return len(data)

    def drain(self) -> None:
        """Read what is left in the pipes without waiting; a pipe that never dries is left alone."""
        for handle in tuple(self.open):
            for _ in range(STDOUT_LIMIT // READ_SIZE + 1):
                got = self.take(handle)
                if got == 0:
                    self.open.discard(handle)
                if got <= 0:
                    break

    def leave(self, now: float) -> None:
        """Note that the leader has ended; who still holds its pipes has a moment left, unless the hook was killed."""
        self.ended = True
        self.deadline = now if self.kills else min(self.deadline, now + LINGER)
        self.watch_at = float("inf")

    def kill(self, signal: int) -> None:
        """Signal the whole group; a stopped one is woken so that it can hear it."""
        if self.reaped:
            return  # its number may be somebody else's by now
        try:
            os.killpg(self.pid, signal)
            if signal != SIGKILL:
                os.killpg(self.pid, SIGCONT)
        except OSError:
            return

    def escalate(self, now: float) -> bool:
        """Go one step further against a hook past its deadline; say whether there is a next step."""
        self.kills += 1
        if self.kills == 1:
            self.kill(SIGTERM)
            self.deadline = now + TERM_GRACE
        elif self.kills == 2:
            self.kill(SIGKILL)
            self.deadline = now + KILL_GRACE
        return self.kills < 3

    def watch(self, spawn: Spawn) -> None:
        """Start a watcher that kills the group if this process is killed: it waits on a pipe that only we hold.

        What the hook had started before it was limited is limited now.
        """
        self.watch_at = float("inf")
        for pid in tree(self.pid):
            set_limits(pid, self._limits)
        opened: list[int] = []
        try:
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            opened.append(null)
            waiting, self._watch_pipe = os.pipe()
            opened.append(waiting)
            command = f"read -r _; kill -9 -{self.pid}"
            self.watcher = spawn(("/bin/sh", "-c", command), self.job.env, "/", waiting, null, null)
        except (OSError, ValueError):
            pass  # the hook's own deadline still holds
        finally:
            for handle in opened:
                os.close(handle)

    def end(self, seconds: float) -> Exit:
        """Take the end of the leader, which has ended or is given up, and return the exit."""
        code = _wait(self.pid, self.pidfd)
        self.reaped = True
        self.drain()
        exit_ = Exit(
            code,
            bytes(self.read[self.out]),
            bytes(self.read[self.err]),
            seconds,
            overflow=self.overflow,
            warnings=self.job.warnings,
        )
        if self.cancelled:
            return exit_.replace(error=FAILED, detail="cancelled")
        if self.timed_out and code != BLOCK:
            return exit_.replace(error=TIMEOUT, detail=f"no end within {self.job.timeout:g} s")
        if code is None:
            return exit_.replace(
                error=FAILED, detail="its exit code was lost: the host takes the ends of all processes"
            )
        return exit_ if self.sandbox is None else self.sandbox.explain_exit(exit_)

    def close(self) -> None:
        """Return back what this child holds; the watcher goes first, for the end of its pipe would set it off."""
        if self.watcher:
            _kill(self.watcher)
            _wait(self.watcher)
            self.watcher = 0
        for handle in (self.out, self.err, self.pidfd, self._watch_pipe):
            if handle >= 0:
                os.close(handle)
        self.out = self.err = self.pidfd = self._watch_pipe = -1
        if self.sandbox is not None:
            self.sandbox.close()


def _make_sandbox(job: Job, limits: ProcessLimits) -> Sandbox | None:
    if not job.sandbox:
        return None
    from boathook.process.sandbox import Sandbox

    return Sandbox(job, limits)


def memory_file(data: bytes) -> int:
    """Return a readable handle on data, at its start."""
    handle = _memory_handle()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _memory_handle() -> int:
    """Return a handle on nothing that has no name; a hardened system may refuse one in memory, then it is on disk."""
    try:
        return os.memfd_create("event")
    except (AttributeError, OSError):
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
        return handle


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def has_ended(pid: int) -> bool:
    """Whether a child has ended, leaving it to be waited for."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the end can only be taken, so it is kept for `_wait`
        return _take_end(pid)
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, SIGKILL)
    except OSError:
        return


_taken: dict[int, int] = {}


def _take_end(pid: int) -> bool:
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    if found:
        _taken[pid] = status
    return bool(found)


def _wait(pid: int, pidfd: int = -1) -> int | None:
    """Take a child's end: its exit code, minus a signal, or None if it cannot be had or does not come."""
    if pid in _taken:
        return os.waitstatus_to_exitcode(_taken.pop(pid))
    try:
        for attempt in range(MAX_WAITS):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if attempt > MIN_WAITS and not is_runnable(pid):
                break
            time.sleep(0.0005)
    except ChildProcessError:
        return _recorded(pidfd)
    reap_later(pid)
    return None


def _recorded(pidfd: int) -> int | None:
    """Return the exit code of a child that somebody else has waited for, where the kernel still knows it (Linux 6.15)."""
    import fcntl
    import struct

    known = bytearray(struct.pack("Q56x", INFO_EXIT))
    try:
        fcntl.ioctl(pidfd, GET_INFO, known)
    except (OSError, ValueError):
        return None
    mask, status = struct.unpack("Q52xi", known)
    return os.waitstatus_to_exitcode(status) if mask & INFO_EXIT else None
