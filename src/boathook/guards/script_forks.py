"""Forks of a shared process: each runs the script of a hook, and this process collects what it prints and how it ends."""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports]
import os
import select
import sys
import time
from itertools import takewhile

from boathook.core.json_text import JsonError, loads
from boathook.core.shared_frames import HookFrame, find_frame_end, read_frames
from boathook.guards.script_run import end_process, run_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import NoReturn

    # The script, the code that the hooks of its pack share, whether its failure is a block, its variables, and its event.
    SharedHook = tuple[str, str, bool, dict[str, str], int]

_MAX_STDOUT_BYTES, _MAX_STDERR_BYTES, _READ_BYTES = 1 << 20, 1 << 16, 1 << 16
_LINGER_SECONDS, _TICK_MS = 0.2, 20
_SIGTERM, _BLOCK_CODE = 15, 2
# The limits of a process are for one hook: a fork that has run this long runs no other one.
_SERIES_SECONDS = 1.0


def ends_round(frame: HookFrame, *, blocks_on_failure: bool) -> bool:
    """Whether the engine will ask no other hook; if this is not certain, it asks the others in a new process."""
    if frame.code:
        return frame.code == _BLOCK_CODE or blocks_on_failure
    # Anything else is text, which is context for the model.
    if not frame.stdout.lstrip().startswith(b"{"):
        return False
    try:
        answer = loads(frame.stdout.decode())
    except (JsonError, UnicodeDecodeError):
        return True
    is_plain = isinstance(answer, dict) and answer.keys() <= {"decision", "reason"}
    return not is_plain or answer.get("decision") not in (None, "ask", "allow")


class SharedInput:
    """An event for scripts, in a file without a name that each of them opens anew."""

    def __init__(self, event: bytes) -> None:
        self.event = event
        self._handle = open_memory_file(event)

    def open(self) -> int:
        """Return a handle that reads the event from its beginning, whatever other scripts do with theirs."""
        try:
            return os.open(f"/proc/self/fd/{self._handle}", os.O_RDONLY)
        except OSError:
            return open_memory_file(self.event)


class ScriptForks:
    """Runs hooks in forks of this process. `known` are scripts of which one fork may run several, one after another."""

    def __init__(
        self,
        codes: dict[str, CodeType | Exception],
        inputs: list[SharedInput],
        report: int,
        known: frozenset[str],
        is_ending: list[int],
    ) -> None:
        self._codes, self._inputs, self._report, self._known = codes, inputs, report, known
        # Not empty once the engine has told this process to end.
        self._is_ending = is_ending

    def run(self, hooks: list[SharedHook]) -> Iterator[tuple[SharedHook, HookFrame]]:
        """Yield the end of each hook, as soon as it has ended."""
        at = 0
        while at < len(hooks):
            series = self._find_series(hooks[at:])
            before = at
            for frame in self._run_series(series) if len(series) > 1 else ():
                yield hooks[at], frame
                at += 1
            # A fork that ended without a word is no answer: the hook is asked again, in a fork of its own.
            if at == before:
                yield hooks[at], self._run_one(hooks[at])
                at += 1

    def _find_series(self, hooks: list[SharedHook]) -> list[SharedHook]:
        """Return the first hooks that one fork may run."""
        names = hooks[0][3].keys()
        return list(takewhile(lambda hook: hook[0] in self._known and hook[3].keys() == names, hooks))

    def _run_one(self, hook: SharedHook) -> HookFrame:
        started = time.monotonic()
        out, own_out = os.pipe()
        err, own_err = os.pipe()
        status, own_status = os.pipe()
        pid = os.fork()
        if pid == 0:
            # With it, a script could speak for another one.
            os.close(self._report)
            _take_streams(own_out, own_err)
            code = self._run_script(hook)
            end_process(code, own_status)
        for handle in (own_out, own_err, own_status):
            os.close(handle)
        exit_code, texts, overflow = _HookOutput(pid, out, err, status).collect()
        return HookFrame(exit_code, time.monotonic() - started, *texts, overflow=overflow)

    def _run_script(self, hook: SharedHook) -> int:
        script, _, _, variables, event = hook
        handle = self._inputs[event].open()
        os.dup2(handle, 0)
        os.close(handle)
        os.environ.update(variables)
        return run_script(script, self._codes[script])

    def _run_series(self, hooks: list[SharedHook]) -> Iterator[HookFrame]:
        """Yield the ends of hooks that one fork runs; there are fewer if one of them was not plain."""
        files = [open_memory_file(b"") for _ in "oe"]
        frames, own_frames = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(self._report)
            self._follow_series(hooks, files, own_frames)
        os.close(own_frames)
        started, data, count = time.monotonic(), bytearray(), 0
        while count < len(hooks) and (part := os.read(frames, _READ_BYTES)):
            data += part
            while size := find_frame_end(data, 0):
                yield from read_frames(bytes(data[:size]))
                del data[:size]
                started, count = time.monotonic(), count + 1
        if self._is_ending and count < len(hooks):
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            yield _make_frame(code, time.monotonic() - started, files)
        for handle in (*files, frames):
            os.close(handle)

    def _follow_series(self, hooks: list[SharedHook], files: list[int], frames: int) -> NoReturn:
        """Run hooks until one does more than to end with a plain answer, and end this process."""
        _take_streams(*map(os.dup, files))
        path, begun = [*sys.path], time.monotonic()
        try:
            for hook in hooks:
                started = time.monotonic()
                sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
                code = self._run_script(hook)
                sys.stdout.flush()
                sys.stderr.flush()
                frame = _make_frame(code, time.monotonic() - started, files)
                write_bytes(frames, frame.to_bytes())
                is_slow = time.monotonic() - begun > _SERIES_SECONDS
                if code or is_slow or ends_round(frame, blocks_on_failure=hook[2]):
                    break
                sys.path[:] = path
                for handle in files:
                    os.lseek(handle, 0, os.SEEK_SET)
                    os.ftruncate(handle, 0)
        finally:
            os._exit(0)


def _take_streams(out: int, err: int) -> None:
    _signal.signal(_SIGTERM, _signal.SIG_DFL)
    for handle, number in ((out, 1), (err, 2)):
        os.dup2(handle, number)
        os.close(handle)


def _make_frame(code: int, seconds: float, files: list[int]) -> HookFrame:
    """Return the end of a hook that has printed into files, within the limits that every hook has."""
    out, err = (
        os.pread(handle, size, 0) for handle, size in zip(files, (_MAX_STDOUT_BYTES, _MAX_STDERR_BYTES), strict=True)
    )
    return HookFrame(code, seconds, out, err, overflow=os.fstat(files[0]).st_size > _MAX_STDOUT_BYTES)


class _HookOutput:
    """Reads what a script prints until it ends, within the limits that every hook has."""

    def __init__(self, pid: int, out: int, err: int, status: int) -> None:
        self._pid, self._status = pid, status
        self._limits = {out: _MAX_STDOUT_BYTES, err: _MAX_STDERR_BYTES}
        self._texts = {out: bytearray(), err: bytearray()}
        self._out, self._open = out, {out, err}
        self._overflow = False

    def collect(self) -> tuple[int, tuple[bytes, bytes], bool]:
        """Return the exit code, what was printed, and whether that was too much; its own children may keep the pipes a moment."""
        poll, until = select.poll(), float("inf")
        code: int | None = None
        for handle in self._open:
            poll.register(handle, select.POLLIN)
        while self._open and time.monotonic() < until:
            for handle, _ in poll.poll(_TICK_MS):
                if self._read(handle):
                    poll.unregister(handle)
                    self._open.discard(handle)
            if code is None and self._open:
                code = self._find_exit_code(os.WNOHANG)
                until = time.monotonic() + _LINGER_SECONDS if code is not None else until
        if code is None:
            code = self._read_status()
        if code is None:
            code = self._find_exit_code(0)
        for handle in (*self._texts, self._status):
            os.close(handle)
        stdout, stderr = map(bytes, self._texts.values())
        return code or 0, (stdout, stderr), self._overflow

    def _read(self, handle: int) -> bool:
        """Read what a pipe holds; return whether it is at its end."""
        data = os.read(handle, _READ_BYTES)
        free = self._limits[handle] - len(self._texts[handle])
        self._texts[handle] += data[:free]
        self._overflow |= handle == self._out and len(data) > free
        return not data

    def _read_status(self) -> int | None:
        """Return the exit code that the script's process has written, None if it has not, or not yet."""
        os.set_blocking(self._status, False)
        try:
            data = os.read(self._status, 1)
        except BlockingIOError:
            return None
        return data[0] if data else None

    def _find_exit_code(self, options: int) -> int | None:
        pid, status = os.waitpid(self._pid, options)
        return os.waitstatus_to_exitcode(status) if pid else None


def open_memory_file(data: bytes) -> int:
    try:
        handle = os.memfd_create("event")
    except (AttributeError, OSError):
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
    write_bytes(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def read_bytes(handle: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def write_bytes(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
