"""The command line without the start of an interpreter: a warm process that imported everything once forks for every call.

Most of what `python -m boathook` costs is starting and importing, and so it is with `hook_entry`, the program that agents start.
`run` takes the arguments of `subprocess.run` and returns the same; the call goes to a server process (below, `serve`) which forks,
and the child is the command: the descriptors of the caller are its 0, 1 and 2, its environment, folder, session and arguments are
those asked for, `boathook.__main__` is run as `-m` runs it, threads and exit functions have their turn, and the exit status is its
own (tests/test_forked.py compares). What it cannot show: imports that are missing or too many, the start and the taking apart of
an interpreter, what `/proc` shows others of its command line and environment, and what a fresh hash seed would. Hence one test in
`APART` goes the long way, chosen by its name so that it is always the same, and so does every call whose variables mean something
to the interpreter, or that asks for it. `BOATHOOK_TESTS_APART=1` sends all the long way.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import os
import posix
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

APART = 80
COMMAND = (sys.executable, "-m", "boathook")
OF_THE_INTERPRETER = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC_", "GLIBC_", "VIRTUAL_ENV", "__PYVENV")
SERVERS = 6  # for so many kinds of interpreters; any more go the long way
PART = 1 << 16
ALL_APART = bool(os.environ.get("BOATHOOK_TESTS_APART"))
CAN_FORK = hasattr(os, "pidfd_open") and hasattr(socket, "send_fds")

# All of the package but what is a program, and of the libraries what most commands need.
PRELOADED = """
import asyncio, select, selectors, signal, tempfile, uuid, json, re, fcntl, hashlib, tomllib, textwrap, difflib, shutil, shlex
import yaml, click, click.shell_completion, encodings.idna, encodings.utf_8_sig, runpy, resource, ctypes
import importlib, pkgutil, boathook
with suppress(ImportError):
    import re2
for found in pkgutil.walk_packages(boathook.__path__, "boathook."):
    # (a bridge needs its framework, and the page its server)
    if not found.name.endswith("__main__") and not found.name.startswith(("boathook.bridges.", "boathook.page.page_protocol")):
        importlib.import_module(found.name)
"""
# The program that agents start for every event runs without third-party packages until it needs one.
ENTRY_FLAGS = ("-I", "-S")
ENTRY_PRELOADED = """
import site
site.main()
sys.path.insert(0, {source!r})
"""


# as the asker does it: quiet, then the libraries
LIBRARIES_OF_ASKERS = """
from boathook.process import remote_hooks as asker
os.environ.update(asker.QUIET_ENVIRONMENT)
import asyncio, encodings.idna, boathook.entry.fast_path
import httpx, pydantic_ai, pydantic_ai.models.openai, pydantic_ai.models.anthropic
"""
ASK = "import sys; from boathook.process.remote_hooks import run_remote_hook; sys.exit(run_remote_hook())"


class Gone(Exception):
    """The warm process is not there: the command was not started, and goes the long way."""


class Server:
    """A warm process, started when it is first needed; it ends with this one."""

    def __init__(self, flags: Sequence[str], preloaded: str, variables: Mapping[str, str]) -> None:
        """Start it; a caller that comes before it is ready waits in its queue."""
        self.address = os.path.join(tempfile.mkdtemp(prefix="forked-"), "socket")
        # One that ended before it was ready has started nothing.
        self.has_answered = False
        with open(__file__, encoding="utf-8") as file:
            code = file.read()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.address)
        listener.listen(128)
        # -c, so that the child's __main__ is its own; the code runs on where `serve` comes back, as the command
        tail = f"\n{preloaded}\nlive(serve({listener.fileno()}))"
        base = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, *flags, "-c", code + tail],
            stdin=subprocess.PIPE,  # it ends when this is closed, that is, with us
            stdout=subprocess.PIPE,  # never written: sys.stdout of the children was made for a pipe, and is on one
            stderr=subprocess.STDOUT,
            env={**base, **variables},
            pass_fds=[listener.fileno()],
        )
        listener.close()
        atexit.register(self.end)

    def end(self) -> None:
        """End the server."""
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()
        self.process.stdout.close()  # type: ignore[union-attr]

    def last_words(self) -> str:
        """Return how it ended and what it printed, which it does only to report why it ends."""
        code = self.process.wait(10)
        printed = self.process.stdout.read().decode("utf-8", "replace")  # type: ignore[union-attr]
        return f"it ended with {code}: {printed}"

    def start(self, order: Mapping[str, Any], descriptors: Sequence[int]) -> socket.socket:
        """Have a command started; its exit status comes out of the socket, and closing the socket kills it."""
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(self.address)
            send(line, order, descriptors)
        except OSError as error:
            line.close()
            raise Gone(str(error)) from None
        return line

    def stand_in(self, path: str | os.PathLike[str], code: str) -> str:
        """Make a script whose process hands its descriptors, environment, folder and arguments to a child that runs code.

        It is for what the engine or a shell starts: it ends as the child ends, and the child ends when it is ended.
        """
        with open(path, "w", encoding="utf-8") as file:
            parts = {"python": sys.executable, "send": inspect.getsource(send), "address": self.address, "code": code}
            file.write(STAND_IN.format(**parts))
        os.chmod(path, 0o755)
        return os.fspath(path)


def send(line: socket.socket, order: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Send an order with its descriptors."""
    data = json.dumps(order).encode()
    socket.send_fds(line, [len(data).to_bytes(8, "big")], list(descriptors))
    line.sendall(data)


# No flags in the first line: pages of the documentation read the interpreter there.
STAND_IN = """#!{python}
from __future__ import annotations
import json, os, signal, socket, sys
{send}
ignores = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
argv = ["-c", {code!r}, *sys.argv[1:]]
order = dict(argv=argv, env=dict(os.environ), cwd=os.getcwd(), session=False, ignores_interrupts=ignores)
send(line, order, (0, 1, 2))
os._exit(int(line.recv(32).split()[0]) & 0xFF)
"""
_TURN = threading.Lock()


@functools.cache
def _server(flags: tuple[str, ...], preloaded: str, variables: tuple[tuple[str, str], ...]) -> Server | None:
    return Server(flags, preloaded, dict(variables)) if _server.cache_info().currsize < SERVERS else None


def server_for(env: Mapping[str, str], flags: tuple[str, ...] = (), preloaded: str = PRELOADED) -> Server | None:
    """Return the warm process whose interpreter was started with the same variables; nothing if there are too many kinds."""
    variables = tuple(
        sorted((name, value) for name, value in env.items() if name.startswith(OF_THE_INTERPRETER) and name != "PYTHON")
    )
    if any(name.startswith("PYTHON") and os.environ.get(name) != value for name, value in variables):
        return None  # a test wants something of the interpreter
    with _TURN:
        return _server(flags, preloaded, variables)


@functools.cache
def _describe_entry() -> tuple[str, str]:
    """Return the program that agents start, and what its warm process imports."""
    import boathook

    package = os.path.dirname(os.path.abspath(boathook.__file__))
    return f"{package}/entry/hook_entry.py", ENTRY_PRELOADED.format(source=os.path.dirname(package)) + PRELOADED


def _find_server(argv: Sequence[str], env: Mapping[str, str], preloaded: str) -> Server | None:
    """Return the warm process that can be a command; nothing if it is not one of the engine's, nor code."""
    if argv[0] != sys.executable:
        return None
    if argv[1] == "-c" or argv[1:3] == ["-m", "boathook"]:
        return server_for(env, preloaded=preloaded)
    entry, imported = _describe_entry()
    return server_for(env, ENTRY_FLAGS, imported) if argv[1:4] == [*ENTRY_FLAGS, entry] else None


def goes_apart(name: str = "") -> bool:
    """Whether a test, by default the current one, is of those that start real processes."""
    name = name or os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return not CAN_FORK or ALL_APART or crc32(name.encode()) % APART == 0


def run(
    argv: Sequence[str],
    *,
    input: str | bytes | None = None,  # noqa: A002  (as subprocess calls it)
    text: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    capture_output: bool = True,
    check: bool = False,
    start_new_session: bool = False,
    apart: bool | None = None,
    preloaded: str = PRELOADED,
) -> subprocess.CompletedProcess[Any]:
    """Run `python -m boathook …`, `hook_entry` or `python -c …` to its end, like `subprocess.run`; in a real process if `apart`."""
    assert capture_output
    argv, env, cwd = list(argv), dict(os.environ if env is None else env), os.fspath(cwd or os.getcwd())
    server = None
    if not (goes_apart() if apart is None else apart) and os.access(cwd, os.X_OK):
        server = _find_server(argv, env, preloaded)
    if server is not None:
        data = input.encode() if isinstance(input, str) else input
        order = make_order(argv, env, cwd, start_new_session=start_new_session)
        with suppress(Gone):
            code, out, err = _communicate(server, order, data, timeout, argv)
            done: subprocess.CompletedProcess[Any]
            done = subprocess.CompletedProcess(argv, code, *((_text(out), _text(err)) if text else (out, err)))
            if check:
                done.check_returncode()
            return _validate(done)
    done = subprocess.run(
        argv,
        input=input,
        text=text,
        cwd=cwd,
        env=env,
        timeout=timeout,
        capture_output=True,
        check=check,
        start_new_session=start_new_session,
    )
    return _validate(done)


def make_order(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str], *, start_new_session: bool
) -> dict[str, Any]:
    ignores_interrupts = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ignores_hangups = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return {
        "argv": list(argv[1:]),
        "env": dict(env),
        "cwd": os.fspath(cwd),
        "session": start_new_session,
        "ignores_interrupts": ignores_interrupts,
        "ignores_hangups": ignores_hangups,
    }


def run_with_files(
    server: Server, order: Mapping[str, Any], descriptors: Sequence[int], *, limit: float, name: str
) -> tuple[int, int] | None:
    """Run a command whose 0, 1 and 2 are files; return its exit status and by how many bytes it grew, None if it had to be killed.

    The kernel shows `name` for it and for all that it forks: the environment in `/proc` is that of the warm process.
    """
    with server.start({**order, "name": name}, descriptors) as line:
        line.settimeout(limit)
        with suppress(TimeoutError):
            code, growth = line.recv(32).split()
            return int(code), int(growth)
    return None


def _validate(done: subprocess.CompletedProcess[Any]) -> subprocess.CompletedProcess[Any]:
    """Validate what a command printed with --json; the import is here because the warm process runs this file, too."""
    if done.args[1:3] == ["-m", "boathook"]:
        from tests.output_validation import validate_output

        validate_output(done.args[3:], done.stdout)
    return done


def _text(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")  # as subprocess does


def _communicate(
    server: Server, order: Mapping[str, Any], data: bytes | None, timeout: float | None, argv: list[str]
) -> tuple[int, bytes, bytes]:
    """Start a command with three pipes, feed it, and read until all ends of them are closed and its status is known."""
    (stdin, feed), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
    if data is None:  # no input was set: it has ours, as with subprocess
        os.close(stdin)
        stdin = os.dup(0)
    try:
        line = server.start(order, (stdin, stdout, stderr))
    except Gone:
        for end in (feed, out, err):
            os.close(end)
        raise
    finally:
        for end in (stdin, stdout, stderr):
            os.close(end)
    reported: dict[int, bytearray] = {out: bytearray(), err: bytearray(), line.fileno(): bytearray()}
    rest, deadline = memoryview(data or b""), None if timeout is None else time.monotonic() + timeout
    os.set_blocking(feed, False)
    waiting = select.poll()
    for end in reported:
        waiting.register(end, select.POLLIN)
    waiting.register(feed, select.POLLOUT)
    open_ends = {*reported, feed}
    with line:
        try:
            while open_ends:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise subprocess.TimeoutExpired(argv, timeout or 0, bytes(reported[out]), bytes(reported[err]))
                for end, _ in waiting.poll(None if left is None else left * 1000):
                    if end == feed:
                        with suppress(BlockingIOError):
                            try:
                                rest = rest[os.write(feed, rest[:PART]) :] if rest else rest
                            except BrokenPipeError:
                                rest = rest[:0]
                        ended = not rest
                    else:
                        try:
                            part = os.read(end, PART)
                        except ConnectionResetError:
                            part = b""
                        reported[end] += part
                        ended = not part
                    if ended:
                        waiting.unregister(end)
                        open_ends.discard(end)
                        if end == feed:
                            os.close(feed)
                            feed = -1
        finally:
            for end in (out, err, feed):
                if end >= 0:
                    os.close(end)
        answer = bytes(reported[line.fileno()])
    if not answer and not server.has_answered and not any(reported.values()):
        raise Gone(server.last_words())
    if not answer:
        raise RuntimeError(f"the warm process is gone: {server.last_words()}")
    server.has_answered = True
    return int(answer.split()[0]), bytes(reported[out]), bytes(reported[err])


# In the warm process


def serve(listening: int) -> Any:
    """Fork for every order; come back only in the children, with the code that the child is to run."""
    import gc

    listener = socket.socket(fileno=listening)
    address = listener.getsockname()
    lines: dict[int, tuple[int, socket.socket]] = {}  # by pidfd
    pids: dict[int, int] = {}  # by line
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.register(listener, select.POLLIN)
    gc.collect()
    gc.freeze()  # what is there stays there: no child should copy pages to count it
    with open("/proc/self/statm", encoding="ascii") as file:
        own_memory = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    while True:
        for ready, _ in waiting.poll():
            if ready == 0:
                os.unlink(address)
                os.rmdir(os.path.dirname(address))
                os._exit(0)
            if ready in lines:
                pid, line = lines.pop(ready)
                if pids.pop(line.fileno(), None):
                    waiting.unregister(line)
                _, status, usage = os.wait4(pid, 0)
                code = os.waitstatus_to_exitcode(status)
                waiting.unregister(ready)
                os.close(ready)
                with line, suppress(OSError):
                    line.sendall(b"%d %d\n" % (code, usage.ru_maxrss * 1024 - own_memory))
                continue
            if ready != listening:  # who asked has gone
                if pid := pids.pop(ready, 0):
                    waiting.unregister(ready)
                    os.kill(pid, signal.SIGKILL)
                continue
            line, _ = listener.accept()
            head, descriptors, _, _ = socket.recv_fds(line, 8, 3)
            order = b""
            while len(order) < int.from_bytes(head, "big") and (part := line.recv(PART)):
                order += part
            if len(head) < 8 or len(descriptors) < 3 or len(order) < int.from_bytes(head, "big"):  # who asked has gone
                for descriptor in descriptors:
                    os.close(descriptor)
                line.close()
                continue
            pid = os.fork()
            if pid == 0:
                listener.close()
                line.close()
                for pidfd, (_, other) in lines.items():
                    os.close(pidfd)
                    other.close()
                return become(json.loads(order), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            lines[pidfd := os.pidfd_open(pid)] = (pid, line)
            pids[line.fileno()] = pid
            waiting.register(pidfd, select.POLLIN)
            waiting.register(line, select.POLLIN)


def become(order: Mapping[str, Any], descriptors: Sequence[int]) -> Any:
    """Be the process that was asked for, up to its first line of code, which is given back."""
    if order["session"]:
        os.setsid()
    # An ignored SIGINT is inherited; the warm process has inherited what was so when the first test needed it.
    signal.signal(signal.SIGINT, signal.SIG_IGN if order["ignores_interrupts"] else signal.default_int_handler)
    if "ignores_hangups" in order:
        signal.signal(signal.SIGHUP, signal.SIG_IGN if order["ignores_hangups"] else signal.SIG_DFL)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    if "name" in order:
        with open("/proc/self/comm", "w", encoding="utf-8") as file:
            file.write(order["name"])
    os.chdir(order["cwd"])
    replace_environment(order["env"])
    flag, what, *rest = order["argv"]
    if flag == "-c":
        sys.argv[:] = ["-c", *rest]
        return compile(what, "<string>", "exec")
    if flag == "-I":
        sys.argv[:] = rest
        with open(rest[0], encoding="utf-8") as file:
            return compile(f"__file__ = {rest[0]!r}\n{file.read()}", rest[0], "exec")
    sys.argv[:] = ["-m", *rest]
    sys.path[0] = order["cwd"]  # as -m does
    return compile(f"import runpy; runpy.run_module({what!r}, run_name='__main__', alter_sys=True)", "<forked>", "exec")


def replace_environment(variables: Mapping[str, str]) -> None:
    """Do what clearing and updating `os.environ` does, with half the pages of memory that a child has to copy for it."""
    known = posix.environ  # `os.environ` and `boathook.system.locations` look here
    wanted = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
    for name in known.keys() - wanted.keys():
        posix.unsetenv(name)
    for name, value in wanted.items():
        posix.putenv(name, value)
    known.clear()
    known.update(wanted)


def live(code: Any) -> None:
    """Run the code of a child and end as an interpreter ends, except that the modules are not taken apart."""
    import threading

    end: SystemExit | None = None
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as found:
        end = found
    status = 0 if end is None or end.code is None else end.code
    if isinstance(status, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            pass  # the interpreter meets it again, and reports it
        else:
            os._exit(status & 0xFF)
    if end is not None:
        raise end
