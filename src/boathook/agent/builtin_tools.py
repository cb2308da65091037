"""Tools of the reference agent. File tools stay inside the work dir; `Shell` runs any command, which hooks can guard."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import signal
import stat
import subprocess
import threading
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boathook.agent.model import ToolSpec
from boathook.errors import BoathookError
from boathook.process.reaper import ProcessMark, Reaper

_MAX_OUTPUT_CHARS = 100_000
_MAX_OUTPUT_BYTES = _MAX_OUTPUT_CHARS * 4
_MAX_SEARCH_HITS = 200
_SHELL_TIMEOUT_SECONDS = 120.0
_IGNORED_FOLDERS = {".git", "node_modules", ".venv", "__pycache__"}


class ToolError(BoathookError):
    """A tool that failed; the model reads the message."""


@dataclass(frozen=True, slots=True)
class Workplace:
    work_dir: str
    agent: Any = None
    # What hooks exported at the start of the session.
    variables: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model can call: `run(args, workplace)`, sync or async. With `needs_permission` a person is asked first."""

    name: str
    description: str
    run: Callable[[Mapping[str, Any], Workplace], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs_permission: bool = False

    @property
    def spec(self) -> ToolSpec:
        """Return the description of the tool for a model."""
        return ToolSpec(self.name, self.description, self.parameters)


async def run_to_end(tool: Tool, args: Mapping[str, Any], workplace: Workplace) -> Any:
    """Run a tool of any kind to its end; a sync one on a thread, so that tools run at the same time and the loop goes on."""
    try:
        if inspect.iscoroutinefunction(tool.run):
            result = await tool.run(args, workplace)
        else:
            result = await _run_on_thread(lambda: _collect(tool.run(args, workplace)))
        result = await result if inspect.isawaitable(result) else result
        return [part async for part in result] if inspect.isasyncgen(result) else result
    except SystemExit as error:
        # On a thread it would end nothing, in the loop everything.
        raise ToolError(f"the tool tried to end the program: exit {error.code}") from None


def _collect(result: Any) -> Any:
    return list(result) if inspect.isgenerator(result) else result


async def _run_on_thread(work: Callable[[], Any]) -> Any:
    """Run sync work on its own thread; one that is left behind delays neither the loop nor the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[bool, Any]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(end: tuple[bool, Any]) -> None:
        if not future.done():
            future.set_result(end)

    def run() -> None:
        try:
            end = (True, context.run(work))
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            end = (False, error)
        # RuntimeError: the loop is closed, so the result is no longer needed.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, end)

    threading.Thread(target=run, name="boathook tool", daemon=True).start()
    has_returned, value = await future
    if not has_returned:
        raise value
    return value


def make_tool(function: Callable[..., Any], *, needs_permission: bool = False) -> Tool:
    """Make a tool of a function: its name, the first line of its docstring, and a schema from its annotations."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    hints: dict[str, Any] = {}
    # A hint may have names that only a type checker knows.
    with contextlib.suppress(Exception):
        hints = typing.get_type_hints(function)
    takes_more = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            takes_more = takes_more or parameter.kind is parameter.VAR_KEYWORD
            continue
        properties[parameter.name] = _describe_type(hints.get(parameter.name))
        if parameter.default is parameter.empty:
            required.append(parameter.name)

    def run(args: Mapping[str, Any], _: Workplace) -> Any:
        return function(**args)

    async def arun(args: Mapping[str, Any], _: Workplace) -> Any:
        return await function(**args)

    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if not takes_more:
        schema["additionalProperties"] = False
    description = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
    runner = arun if inspect.iscoroutinefunction(function) else run
    return Tool(function.__name__, description, runner, schema, needs_permission)


_JSON_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    **dict.fromkeys((dict, Mapping), "object"),
    **dict.fromkeys((list, tuple, set, frozenset), "array"),
}


def _describe_type(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of a parameter; a type that JSON does not have becomes a string, none at all means anything."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (None, Any, object):
        return {}
    if origin in (typing.Union, types.UnionType):
        choices = [_describe_type(part) for part in parts if part is not types.NoneType]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    return {"type": _JSON_TYPES.get(origin or hint, "string")}


def _read_text(args: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = args.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"'{name}' must be a text")
    return value


def _resolve_inside(workplace: Workplace, path: str) -> Path:
    work_dir = Path(workplace.work_dir).resolve()
    resolved = (work_dir / path).resolve()
    if resolved != work_dir and work_dir not in resolved.parents:
        raise ToolError(f"{path} is outside the work dir")
    return resolved


class _Command(asyncio.SubprocessProtocol):
    """A running command: the start of its output, and events for its exit and for the end of all that hold its output."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002
        self.output += data[: _MAX_OUTPUT_BYTES + 1 - len(self.output)]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002
        self.closed.set()


async def _run_shell(args: Mapping[str, Any], workplace: Workplace) -> str:
    """Run a command; if it times out or is cancelled, kill it and everything it started."""
    command_line, mark, reaper = _read_text(args, "command"), ProcessMark(), Reaper(exclusive=False)
    reaper.enter(mark)
    starting = asyncio.ensure_future(_start_command(command_line, workplace, mark))
    try:
        _, command, _ = await asyncio.shield(starting)
        await asyncio.wait_for(command.closed.wait(), _SHELL_TIMEOUT_SECONDS)
    except TimeoutError:
        raise ToolError(f"the command did not end within {_SHELL_TIMEOUT_SECONDS:.0f} s") from None
    finally:
        try:
            # A start that was cancelled half-way would leave the command behind.
            transport, command, watcher = await starting
            # The shell may have ended while something that it started runs on.
            is_killed = not command.closed.is_set()
            if is_killed:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(transport.get_pid(), signal.SIGKILL)
            transport.close()
            await command.exited.wait()
            if is_killed:
                # What has moved to a session of its own.
                reaper.kill_leftovers((transport.get_pid(),), mark, ())
            watcher.close()
        finally:
            reaper.leave(mark)
    text = _cut(command.output.decode("utf-8", "replace"))
    if code := transport.get_returncode():
        raise ToolError(f"exit code {code}\n{text}".rstrip())
    return text


# In the environment of everything that a command starts. Not the variable of hooks, which says that a hook runs.
_MARK_VARIABLE = "BOATHOOK_TOOL"
# Kills the group, and what has moved to a session of its own: again and again, because that may start more meanwhile.
_KILL_ALL = (
    "read -r _; kill -9 -$1; for _ in 1 2 3 4 5 6 7 8; do "
    'files=$(grep -lsF "$2" /proc/[0-9]*/environ); [ "$files" ] || exit 0; '
    "for file in $files; do file=${file%/environ}; kill -9 ${file#/proc/}; done; done"
)


class _Watcher:
    """Kills everything that a command started if the agent is killed: a shell that waits on a pipe that only the agent holds."""

    def __init__(self, group: int, mark: ProcessMark) -> None:
        readable, self._pipe = os.pipe()
        command = ("/bin/sh", "-c", _KILL_ALL, "sh", str(group), f"{_MARK_VARIABLE}={mark.text.decode()}")
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                command, stdin=readable, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except OSError:
            # The command has its timeout.
            self._process = None
        finally:
            os.close(readable)

    def close(self) -> None:
        """End the watcher before its pipe, because the end of the pipe would trigger it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        os.close(self._pipe)


# Waits until the watcher is there, and ends if the agent is killed before.
_GATE = 'read -r _ || exit 125; exec < /dev/null; exec /bin/sh -c "$1"'


async def _start_command(
    command: str, workplace: Workplace, mark: ProcessMark
) -> tuple[asyncio.SubprocessTransport, _Command, _Watcher]:
    """Start a command in its own session, so that everything it starts can be killed with it."""
    readable, gate = os.pipe()
    try:
        transport, protocol = await asyncio.get_running_loop().subprocess_exec(
            _Command,
            *("/bin/sh", "-c", _GATE, "sh", command),
            cwd=workplace.work_dir,
            env={**os.environb, **workplace.variables, _MARK_VARIABLE.encode(): mark.text},
            stdin=readable,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        mark.set_limit(transport.get_pid())
        watcher = _Watcher(transport.get_pid(), mark)
        # OSError: it has ended already.
        with contextlib.suppress(OSError):
            os.write(gate, b"\n")
    finally:
        os.close(readable)
        os.close(gate)
    return transport, protocol, watcher


def _cut(text: str) -> str:
    if len(text) <= _MAX_OUTPUT_CHARS:
        return text
    return f"{text[:_MAX_OUTPUT_CHARS]}\n(cut after {_MAX_OUTPUT_CHARS} characters)"


def _read_bytes(args: Mapping[str, Any], workplace: Workplace) -> bytes:
    """Return the content of a regular file; reading a pipe could wait for ever."""
    path = _resolve_inside(workplace, _read_text(args, "path"))
    try:
        if path.exists() and not path.is_file():
            raise ToolError(f"{args['path']} is not a file")
        return path.read_bytes()
    except OSError as error:
        raise ToolError(f"{args['path']} cannot be read: {error.strerror}") from None


def _read_file(args: Mapping[str, Any], workplace: Workplace) -> str:
    return _cut(_read_bytes(args, workplace).decode("utf-8", "replace"))


def _write_file(args: Mapping[str, Any], workplace: Workplace) -> str:
    path, content = _resolve_inside(workplace, _read_text(args, "path")), _read_text(args, "content")
    try:
        data = content.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except UnicodeEncodeError:
        raise ToolError("'content' cannot be written as UTF-8") from None
    except OSError as error:
        raise ToolError(f"{args['path']} cannot be written: {error.strerror}") from None
    return f"wrote {len(content)} characters to {args['path']}"


def _edit_file(args: Mapping[str, Any], workplace: Workplace) -> str:
    old, new = _read_text(args, "old"), _read_text(args, "new")
    try:
        text = _read_bytes(args, workplace).decode()
    except UnicodeDecodeError:
        raise ToolError(f"{args['path']} is not UTF-8, so it is not edited") from None
    count = text.count(old) if old else 0
    if count != 1:
        raise ToolError(f"'old' occurs {count} times in {args['path']}; it must occur exactly once")
    return _write_file({**args, "content": text.replace(old, new)}, workplace)


def _search_files(args: Mapping[str, Any], workplace: Workplace) -> str:
    from boathook.core.matcher import compile_pattern
    from boathook.errors import ConfigError

    try:
        pattern = compile_pattern(_read_text(args, "pattern"))
    except ConfigError as error:
        raise ToolError(str(error)) from None
    # A search of many files that may count as a match when it takes too long would not be a search.
    if pattern is not None and pattern.construct:
        raise ToolError(f"the pattern has {pattern.construct}, which is not searched for in files")
    start = _resolve_inside(workplace, _read_text(args, "path", "."))
    if not start.exists():
        raise ToolError(f"{args['path']} does not exist")
    work_dir = Path(workplace.work_dir).resolve()
    hits: list[str] = []
    for path in _iter_files(start):
        hits += _find_hits(path, work_dir, pattern)
        if len(hits) > _MAX_SEARCH_HITS:
            return "\n".join([*hits[:_MAX_SEARCH_HITS], "(there are more)"])
    return "\n".join(hits) or "no matches"


def _iter_files(start: Path) -> Iterator[Path]:
    if not start.is_dir():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in _IGNORED_FOLDERS)
        yield from (Path(folder, name) for name in sorted(names))


def _find_hits(path: Path, work_dir: Path, pattern: Any) -> list[str]:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_OUTPUT_CHARS * 10:
            return []
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    name = path.relative_to(work_dir)
    return [f"{name}:{n}: {line[:300]}" for n, line in enumerate(lines, 1) if pattern is None or pattern.search(line)]


def _make_builtin(name: str, run: Callable[[Mapping[str, Any], Workplace], Any], about: str, **parameters: str) -> Tool:
    """Return a tool whose parameters are texts; one whose description ends with `?` is optional."""
    properties = {key: {"type": "string", "description": text.rstrip("?")} for key, text in parameters.items()}
    required = [key for key, text in parameters.items() if not text.endswith("?")]
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name, about, run, schema, needs_permission=run in (_run_shell, _write_file, _edit_file))


_PATH, _PATTERN = "the file, relative to the work dir", "the regular expression"
_EDIT = "Replace a passage that occurs exactly once in a text file."
_WRITE = "Write a text file; replaces an existing one."
_SEARCH = "Search files line by line with a regular expression."
SHELL = _make_builtin("Shell", _run_shell, "Run a shell command in the work dir.", command="the command line")
READ_FILE = _make_builtin("ReadFile", _read_file, "Read a text file.", path=_PATH)
WRITE_FILE = _make_builtin("WriteFile", _write_file, _WRITE, path="the file", content="the whole text")
EDIT_FILE = _make_builtin("EditFile", _edit_file, _EDIT, path="the file", old="the passage", new="what replaces it")
SEARCH = _make_builtin("Search", _search_files, _SEARCH, pattern=_PATTERN, path="a folder or a file?")
BUILTIN_TOOLS = (SHELL, READ_FILE, WRITE_FILE, EDIT_FILE, SEARCH)
