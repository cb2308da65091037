"""Run the scripts of hooks with `process: shared`: one interpreter starts, and every script runs in a fork of it.

So the start and the imports are paid once, and a script still has a memory, an environment, streams and an end of its own: what
one does to them no other one sees. See docs/adr/0032-shared-process.md.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports]
import atexit
import gc
import os
import select
import sys
import time

from boathook.core.json_text import JsonError, loads
from boathook.core.shared_frames import HookFrame
from boathook.guards.code_cache import CodeCache
from boathook.guards.run_guard import prepare_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType
    from typing import Any, NoReturn

    # The script, the code that the hooks of its pack share, whether its failure is a block, its variables, and its event.
    SharedHook = tuple[str, str, bool, dict[str, str], int]

_MAX_STDOUT_BYTES, _MAX_STDERR_BYTES, _READ_BYTES = 1 << 20, 1 << 16, 1 << 16
_LINGER_SECONDS, _TICK_MS = 0.2, 20
_SIGTERM, _BLOCK_CODE = 15, 2
_OWN_PACKAGE, _PLAIN_MODE = "boathook", "plain"
_end_now = os._exit
# The modules of `lib` whose code runs now, each imported by the one before.
_importing: list[str] = []


def run_alone(cache: str, script: str, shared_code: str) -> None:
    """Run one script in this process: what a hook does that shares its process with no other."""
    compiled = CodeCache(cache, shared_code or script)
    _prepare_interpreter(compiled, shared_code)
    code = run_script(script, compiled.compile(script))
    compiled.save()
    end_process(code)


def run_shared(cache: str, mode: str = "") -> None:
    """Run the scripts that the first line of standard input names, one after another, until one blocks; events follow it."""
    hooks, events = _read_head(_read_all(0))
    is_ending: list[int] = []
    # The engine ends the process because a script is late: that one may still answer by its exit code.
    _signal.signal(_SIGTERM, lambda *_: is_ending.append(1))
    compiled = CodeCache(cache, hooks[0][1])
    _prepare_interpreter(compiled, hooks[0][1])
    codes = {hook[0]: compiled.compile(hook[0]) for hook in hooks}
    own_names = _import_for([*codes, *_list_modules(hooks[0][1])])
    if mode != _PLAIN_MODE and own_names and not _import_shared_code(own_names):
        _start_again()
    for event in events:
        prepare_call(event)
    inputs = [_SharedInput(event) for event in events]
    report = os.dup(1)
    # A collection would write to every page that the forks share with this process.
    gc.freeze()
    for hook in hooks:
        frame = _fork_script(hook, codes[hook[0]], inputs[hook[4]], report)
        _write_all(report, frame.replace(is_late=bool(is_ending)).to_bytes())
        if is_ending or _ends_round(frame, blocks_on_failure=hook[2]):
            break
    compiled.save()
    os._exit(0)


def _read_head(data: bytes) -> tuple[list[SharedHook], list[bytes]]:
    line, _, rest = data.partition(b"\n")
    head = loads(line.decode())
    events: list[bytes] = []
    for size in head["sizes"]:
        events.append(rest[:size])
        rest = rest[size:]
    return [tuple(one) for one in head["hooks"]], events


def _ends_round(frame: HookFrame, *, blocks_on_failure: bool) -> bool:
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


def run_script(path: str, code: CodeType | Exception) -> int:
    """Run a script as the main program and return its exit code, as the interpreter would."""
    module: ModuleType = type(sys)("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"], sys.argv = module, [path]
    sys.path.insert(0, path.rpartition("/")[0])
    try:
        if isinstance(code, Exception):
            raise code
        exec(code, module.__dict__)  # noqa: S102  (this is what the hook is)
    except SystemExit as error:
        return _read_exit_code(error.code)
    except BaseException as error:  # noqa: BLE001
        # What is printed is the traceback of the exception, whatever the hook is given.
        error = error.with_traceback(_skip_own_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _read_exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _skip_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def end_process(code: int, status: int = -1) -> None:
    """End this process as the interpreter would: wait for threads, call exit functions, write what is left.

    `status` is where a fork says its exit code: the system needs longer to end it than most scripts need to decide.
    """
    try:
        if "threading" in sys.modules:
            shut_down: Any = getattr(sys.modules["threading"], "_shutdown")  # noqa: B009
            shut_down()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001
        code = code or 120
    try:
        sys.stderr.flush()
        if status >= 0:
            os.write(status, bytes((code,)))
            os.close(1)
            os.close(2)
    finally:
        os._exit(code)


class SharedModules:
    """Imports the modules of a pack's `lib` by their file names; the standard library and boathook come first."""

    def __init__(self, compiled: CodeCache, folder: str) -> None:
        self._compiled = compiled
        self._files = {path.rpartition("/")[2][:-3]: path for path in _list_modules(folder)}

    def find_file(self, name: str) -> str:
        return "" if _is_known(name) else self._files.get(name, "")

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG002
        file = self.find_file(name) if path is None else ""
        if not file:
            return None
        from _frozen_importlib import ModuleSpec

        loader: Any = self
        return ModuleSpec(name, loader, origin=file)

    def create_module(self, spec: Any) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._files[module.__name__]
        code = self._compiled.compile(module.__file__)
        if isinstance(code, Exception):
            raise code
        _importing.append(module.__file__)
        os.__dict__["_exit"] = _leave_process
        try:
            exec(code, module.__dict__)  # noqa: S102
        except SystemExit as error:
            raise _make_exit_error(module.__file__, error.code) from None
        finally:
            _importing.pop()
            os.__dict__["_exit"] = _leave_process if _importing else _end_now


def _leave_process(code: int) -> NoReturn:
    """End the process, but not for a module of `lib` that is being imported: that would look like a guard without opinion."""
    if _importing:
        raise _make_exit_error(_importing[-1], code)
    _end_now(code)


def _make_exit_error(path: str, code: object) -> RuntimeError:
    fix = "Fix: let modules of lib only define things"
    return RuntimeError(f"{path} ended the program while it was imported (exit code {code or 0}). {fix}")


def _is_known(name: str) -> bool:
    return name in sys.stdlib_module_names or name == _OWN_PACKAGE


def _list_modules(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder)) if folder else []
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names if name.endswith(".py")]


def _prepare_interpreter(compiled: CodeCache, shared_code: str) -> None:
    sys.dont_write_bytecode = True
    if shared_code:
        finder: Any = SharedModules(compiled, shared_code)
        sys.meta_path.insert(0, finder)


def _import_for(paths: list[str]) -> list[str]:
    """Import once what scripts name of the standard library and of boathook; return the other names."""
    names: dict[str, None] = {}
    for path in paths:
        try:
            with open(path, "rb") as file:
                lines = [line.split() for line in file if line.startswith((b"import ", b"from "))]
        except OSError:
            continue
        names |= dict.fromkeys(words[1].decode("ascii", "replace").strip(",") for words in lines if len(words) > 1)
    for name in names:
        if _is_known(name.partition(".")[0]):
            try:
                __import__(name)
            except Exception:  # noqa: BLE001, S112  (the script reports it)
                continue
    return [name for name in names if not _is_known(name.partition(".")[0])]


def _import_shared_code(names: list[str]) -> bool:
    """Import the modules of `lib` once for all scripts; return False if one of them did more than to define things.

    Then every script must import them for itself, because each would have seen what they print, raise or change.
    """
    files = [_open_memory_file(b"") for _ in "oe"]
    kept = [os.dup(number) for number in (1, 2)]
    before = _describe_interpreter()
    for handle, number in zip(files, (1, 2), strict=True):
        os.dup2(handle, number)
    try:
        for name in names:
            if find_module_file(name):
                __import__(name)
        sys.stdout.flush()
        is_quiet = _describe_interpreter() == before and not any(os.fstat(handle).st_size for handle in files)
    except BaseException:  # noqa: BLE001  (a script that needs it meets the error itself)
        is_quiet = False
    for handle, number in zip(kept, (1, 2), strict=True):
        os.dup2(handle, number)
    for handle in (*files, *kept):
        os.close(handle)
    return is_quiet


def _describe_interpreter() -> tuple[object, ...]:
    """Return what a module could change for others besides itself."""
    threads = sys.modules["threading"].active_count() if "threading" in sys.modules else 1
    return dict(os.environ), os.getcwd(), list(sys.path), list(sys.meta_path), sys.stdout, sys.stderr, threads


def find_module_file(name: str) -> str:
    """Return the file of a module of `lib`, "" if there is none of this name."""
    for finder in sys.meta_path:
        if isinstance(finder, SharedModules):
            return finder.find_file(name)
    return ""


def _start_again() -> None:
    """Replace this process by one that imports nothing of the scripts, as if it had just been started."""
    os.lseek(0, 0, os.SEEK_SET)
    os.execv(sys.orig_argv[0], [*sys.orig_argv, _PLAIN_MODE])


class _SharedInput:
    """An event for scripts, in a file without a name that each of them opens anew."""

    def __init__(self, event: bytes) -> None:
        self.event = event
        self._handle = _open_memory_file(event)

    def open(self) -> int:
        """Return a handle that reads the event from its beginning, whatever other scripts do with theirs."""
        try:
            return os.open(f"/proc/self/fd/{self._handle}", os.O_RDONLY)
        except OSError:
            return _open_memory_file(self.event)


def _open_memory_file(data: bytes) -> int:
    try:
        handle = os.memfd_create("event")
    except (AttributeError, OSError):
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
    _write_all(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _fork_script(hook: SharedHook, code: CodeType | Exception, shared: _SharedInput, report: int) -> HookFrame:
    script, _, _, variables, _ = hook
    started = time.monotonic()
    out, own_out = os.pipe()
    err, own_err = os.pipe()
    status, own_status = os.pipe()
    pid = os.fork()
    if pid == 0:
        # With it, a script could speak for another one.
        os.close(report)
        _become_hook(shared, variables, own_out, own_err)
        end_process(run_script(script, code), own_status)
    for handle in (own_out, own_err, own_status):
        os.close(handle)
    exit_code, texts, overflow = _HookOutput(pid, out, err, status).collect()
    return HookFrame(exit_code, time.monotonic() - started, *texts, overflow=overflow)


def _become_hook(shared: _SharedInput, variables: dict[str, str], out: int, err: int) -> None:
    _signal.signal(_SIGTERM, _signal.SIG_DFL)
    for handle, number in ((shared.open(), 0), (out, 1), (err, 2)):
        os.dup2(handle, number)
        os.close(handle)
    os.environ.update(variables)


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


def _read_all(handle: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
