"""One hook as a running process. Its standard input is a memory file, so writing it can neither block nor fail."""

from __future__ import annotations

import os
import time

from boathook.core.value import Value
from boathook.core.verdict import FAILED, TIMEOUT, Exit
from boathook.process.reaper import MARK_VARIABLE, ProcessMark, is_runnable, iter_tree, reap_later, send_kill
from boathook.process.spawn import can_use_posix, compute_limits, set_limits, start_with_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.process.sandbox import Sandbox
    from boathook.process.spawn import Spawn

SIGTERM, SIGKILL, SIGCONT = 15, 9, 18 if os.uname().sysname == "Linux" else 19
_MAX_STDOUT_BYTES = 1 << 20
_MAX_STDERR_BYTES = 1 << 16
# of a hook in a shared process, with the line before it
_MAX_FRAME_BYTES = _MAX_STDOUT_BYTES + _MAX_STDERR_BYTES + 128
# as much as a pipe holds
_READ_BYTES = 1 << 16
_TERM_SECONDS = 0.15
_KILL_SECONDS = 0.15
_LINGER_SECONDS = 0.2
_WATCH_SECONDS = 0.25
# half a millisecond each; the rest is for a busy machine, where a killed process waits for the processor
_MIN_WAITS, _MAX_WAITS = 200, 2000
# this exit code counts even after a timeout
BLOCK_CODE = 2
# PIDFD_INFO_EXIT, PIDFD_GET_INFO
_INFO_EXIT, _GET_INFO = 8, 3 << 30 | 64 << 16 | 0xFF << 8 | 11


class Job(Value):
    """One process to run: command, input, directory, environment, timeout in seconds; `sandbox` has the fields of its spec.

    `script` is set if the process could be shared: the script, the code that it shares, and whether its failure is a block.
    `timeouts` are those of all hooks of a process that is shared; each begins when the one before has ended.
    """

    argv: tuple[str, ...]
    stdin: bytes
    cwd: str
    env: Mapping[bytes, bytes]
    timeout: float
    refused: str = ""
    warnings: tuple[str, ...] = ()
    sandbox: tuple[Any, ...] = ()
    script: tuple[Any, ...] = ()
    timeouts: tuple[float, ...] = ()


class Child:
    """A running hook; `is_exclusive` if this process is the engine's own."""

    def __init__(self, spawn: Spawn, job: Job, mark: ProcessMark, *, is_exclusive: bool = False) -> None:
        self.job = job
        self.started = time.monotonic()
        self.deadline = self.started + job.timeout
        self.watch_time = self.started + _WATCH_SECONDS
        self.is_timed_out = self.is_cancelled = self.is_ended = self.is_reaped = self.has_overflow = False
        self.kill_count = self.watcher = self.pid = 0
        self.pidfd = self._watch_pipe = -1
        self._limits = compute_limits(max(job.timeouts, default=job.timeout))
        self._frame_end = self._frame_count = 0
        self.sandbox: Sandbox | None = None
        if job.sandbox:
            from boathook.process.sandbox import Sandbox

            self.sandbox = Sandbox(job, self._limits)
        opened: list[int] = []
        try:
            stdin = make_memory_file(job.stdin)
            opened.append(stdin)
            self.out, out = os.pipe()
            opened += (self.out, out)
            self.err, err = os.pipe()
            opened += (self.err, err)
            self._start(spawn, mark, (stdin, out, err), is_exclusive=is_exclusive)
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
        self.open_pipes = {self.out, self.err}

    def _start(self, spawn: Spawn, mark: ProcessMark, streams: tuple[int, int, int], *, is_exclusive: bool) -> None:
        command = self.sandbox or self.job
        env = {**command.env, MARK_VARIABLE.encode(): mark.text}
        arguments = (command.argv, env, self.job.cwd, *streams)
        if is_exclusive:
            self.pid = start_with_limits(self._limits, lambda: spawn(*arguments))
        else:
            can_mark = can_use_posix(self.job.cwd)
            self.pid = mark.start_marked(lambda: spawn(*arguments)) if can_mark else spawn(*arguments)
            mark.set_limit(self.pid)
        set_limits(self.pid, self._limits)
        self.pidfd = _open_pidfd(self.pid)

    def read_pipe(self, handle: int) -> int:
        """Read what a pipe holds, keep it up to the limit; return the number of bytes: 0 at its end, -1 if there is nothing yet."""
        buffer = self.read[handle]
        limit = _MAX_STDOUT_BYTES if handle == self.out else _MAX_STDERR_BYTES
        if self.job.timeouts and handle == self.out:
            limit = len(self.job.timeouts) * _MAX_FRAME_BYTES
        try:
            data = os.read(handle, _READ_BYTES)
        except BlockingIOError:
            return -1
        free = limit - len(buffer)
        buffer += data[:free]
        if handle == self.out and len(data) > free:
            self.has_overflow = True
        if self.job.timeouts and handle == self.out and not self.kill_count:
            self._start_next_timeout()
        return len(data)

    def _start_next_timeout(self) -> None:
        """Give the next hook of a shared process its own time once the one before it has ended."""
        from boathook.core.shared_frames import find_frame_end

        while (frame_end := find_frame_end(self.read[self.out], self._frame_end)) > 0:
            self._frame_end, self._frame_count = frame_end, self._frame_count + 1
            if self._frame_count < len(self.job.timeouts) and not self.is_ended:
                self.deadline = time.monotonic() + self.job.timeouts[self._frame_count]

    def drain(self) -> None:
        """Read what is left in the pipes without waiting; a pipe that is filled without end is left alone."""
        for handle in tuple(self.open_pipes):
            for _ in range(_MAX_STDOUT_BYTES // _READ_BYTES + 1):
                count = self.read_pipe(handle)
                if count == 0:
                    self.open_pipes.discard(handle)
                if count <= 0:
                    break

    def note_end(self, now: float) -> None:
        """Note that the leader has ended; processes that still hold its pipes have a moment left, unless it was killed."""
        self.is_ended = True
        self.deadline = now if self.kill_count else min(self.deadline, now + _LINGER_SECONDS)
        self.watch_time = float("inf")

    def kill(self, signal: int) -> None:
        """Signal the whole group; a stopped one is woken so that it gets the signal."""
        # its number may belong to another process by now
        if self.is_reaped:
            return
        try:
            os.killpg(self.pid, signal)
            if signal != SIGKILL:
                os.killpg(self.pid, SIGCONT)
        except OSError:
            return

    def escalate(self, now: float) -> bool:
        """Take the next step against a hook past its deadline; return whether there is another one."""
        self.kill_count += 1
        if self.kill_count == 1:
            self.kill(SIGTERM)
            self.deadline = now + _TERM_SECONDS
        elif self.kill_count == 2:
            self.kill(SIGKILL)
            self.deadline = now + _KILL_SECONDS
        return self.kill_count < 3

    def start_watcher(self, spawn: Spawn) -> None:
        """Start a watcher that kills the group if this process is killed: it waits on a pipe that only we hold."""
        self.watch_time = float("inf")
        # What the hook had started before it was limited is limited now.
        for pid in iter_tree(self.pid):
            set_limits(pid, self._limits)
        opened: list[int] = []
        try:
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            opened.append(null)
            readable, self._watch_pipe = os.pipe()
            opened.append(readable)
            command = f"read -r _; kill -9 -{self.pid}"
            self.watcher = spawn(("/bin/sh", "-c", command), self.job.env, "/", readable, null, null)
        except (OSError, ValueError):
            # the hook's own deadline still holds
            pass
        finally:
            for handle in opened:
                os.close(handle)

    def collect_exit(self, seconds: float) -> Exit:
        code = _wait_for_exit(self.pid, self.pidfd)
        self.is_reaped = True
        self.drain()
        stdout, stderr = bytes(self.read[self.out]), bytes(self.read[self.err])
        end = Exit(code, stdout, stderr, seconds, overflow=self.has_overflow, warnings=self.job.warnings)
        if self.is_cancelled:
            return end.replace(error=FAILED, detail="cancelled")
        if self.is_timed_out and code != BLOCK_CODE:
            return end.replace(error=TIMEOUT, detail=f"it did not end within {self.job.timeout:g} s")
        if code is None:
            return end.replace(error=FAILED, detail="its exit code was lost: the host waits for all processes")
        return end if self.sandbox is None else self.sandbox.explain_exit(end)

    def close(self) -> None:
        """Release what this child holds; the watcher goes first, because the end of its pipe would trigger it."""
        if self.watcher:
            send_kill(self.watcher)
            _wait_for_exit(self.watcher)
            self.watcher = 0
        for handle in (self.out, self.err, self.pidfd, self._watch_pipe):
            if handle >= 0:
                os.close(handle)
        self.out = self.err = self.pidfd = self._watch_pipe = -1
        if self.sandbox is not None:
            self.sandbox.close()


def make_memory_file(data: bytes) -> int:
    handle = _open_memory_file()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        os.close(handle)
        # Where nothing can be written (a full disk, a limit on the size of files), hooks must decide nevertheless.
        return _fill_pipe(data)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _fill_pipe(data: bytes) -> int:
    """Return the end of a pipe that has all of the data in it; OSError if it does not hold that much."""
    import errno
    import fcntl

    reading, writing = os.pipe()
    try:
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, max(len(data), 1))
        os.set_blocking(writing, False)
        if os.write(writing, data) < len(data):
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _open_memory_file() -> int:
    """Return a handle on an empty file without a name, in memory; on disk where a hardened system refuses that."""
    try:
        return os.memfd_create("event")
    except (AttributeError, OSError):
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
        return handle


def _open_pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def has_ended(pid: int) -> bool:
    """Whether a child has ended, leaving it to be waited for."""
    # macOS before Python 3.13: the status can only be collected, so it is stored for `_wait_for_exit`
    if not hasattr(os, "waitid"):
        return _collect_status(pid)
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


_statuses: dict[int, int] = {}


def _collect_status(pid: int) -> bool:
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    if ended:
        _statuses[pid] = status
    return bool(ended)


def _wait_for_exit(pid: int, pidfd: int = -1) -> int | None:
    """Return a child's exit code, minus a signal, or None if it cannot be known or does not come."""
    if pid in _statuses:
        return os.waitstatus_to_exitcode(_statuses.pop(pid))
    try:
        for attempt in range(_MAX_WAITS):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if attempt > _MIN_WAITS and not is_runnable(pid):
                break
            time.sleep(0.0005)
    except ChildProcessError:
        return _read_recorded_exit(pidfd)
    reap_later(pid)
    return None


def _read_recorded_exit(pidfd: int) -> int | None:
    """Return the exit code of a child that somebody else has waited for, if the kernel still knows it (Linux 6.15)."""
    import fcntl
    import struct

    info = bytearray(struct.pack("Q56x", _INFO_EXIT))
    try:
        fcntl.ioctl(pidfd, _GET_INFO, info)
    except (OSError, ValueError):
        return None
    mask, status = struct.unpack("Q52xi", info)
    return os.waitstatus_to_exitcode(status) if mask & _INFO_EXIT else None
