"""Tools of the reference agent. File tools stay inside the work dir; `Shell` runs what it is told, which is what hooks are for."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import signal
import stat
import threading
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boathook.agent.model import ToolSpec
from boathook.errors import BoathookError

TEXT_LIMIT = 100_000
BYTES_LIMIT = TEXT_LIMIT * 4
HITS_LIMIT = 200
SHELL_SECONDS = 120.0
SKIPPED = {".git", "node_modules", ".venv", "__pycache__"}


class ToolError(BoathookError):
    """A tool that could not do what it was asked to; the model reads why."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where tools work, and for whom."""

    work_dir: str
    agent: Any = None


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model can call: `run(args, workplace)`, sync or async. `asks`: a person is asked first, where one can be."""

    name: str
    description: str
    run: Callable[[Mapping[str, Any], Workplace], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    asks: bool = False

    @property
    def spec(self) -> ToolSpec:
        """Return the tool as a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)


async def run_whole(tool: Tool, args: Mapping[str, Any], place: Workplace) -> Any:
    """Run a tool of any sort to its end; a sync one on a thread, so that tools run at the same time and the loop goes on."""
    try:
        if inspect.iscoroutinefunction(tool.run):
            found = await tool.run(args, place)
        else:
            found = await _on_thread(lambda: _collected(tool.run(args, place)))
        found = await found if inspect.isawaitable(found) else found
        return [part async for part in found] if inspect.isasyncgen(found) else found
    except SystemExit as error:  # of a thread it would end nothing, of the loop everything
        raise ToolError(f"the tool wanted to end the program: exit {error.code}") from None


def _collected(result: Any) -> Any:
    return list(result) if inspect.isgenerator(result) else result


async def _on_thread(work: Callable[[], Any]) -> Any:
    """Do sync work on a thread of its own; one that is left behind holds up neither the loop nor the end of the program."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[tuple[bool, Any]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(end: tuple[bool, Any]) -> None:
        if not waiting.done():
            waiting.set_result(end)

    def run() -> None:
        try:
            end = (True, context.run(work))
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            end = (False, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, end)

    threading.Thread(target=run, name="boathook tool", daemon=True).start()
    good, value = await waiting
    if not good:
        raise value
    return value


def tool_of(function: Callable[..., Any], *, asks: bool = False) -> Tool:
    """Make a tool of a plain function: its name, its docstring, its parameters."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    hints = _hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        properties[parameter.name] = _json_type(hints.get(parameter.name))
        if parameter.default is parameter.empty:
            required.append(parameter.name)

    def run(args: Mapping[str, Any], _: Workplace) -> Any:
        return function(**args)

    async def arun(args: Mapping[str, Any], _: Workplace) -> Any:
        return await function(**args)

    schema = {"type": "object", "properties": properties, "required": required}
    about = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
    return Tool(function.__name__, about, arun if inspect.iscoroutinefunction(function) else run, schema, asks)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # noqa: BLE001  (names that only a type checker knows)
        return {}


JSON_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    **dict.fromkeys((dict, Mapping), "object"),
    **dict.fromkeys((list, tuple, set, frozenset), "array"),
}


def _json_type(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of a parameter; what JSON does not have is written as a text."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return {}
    if origin in (typing.Union, types.UnionType):
        some = [_json_type(part) for part in parts if part is not types.NoneType]
        return some[0] if len(some) == 1 else {"anyOf": some}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    return {"type": JSON_TYPES.get(origin or hint, "string")}


def _schema(**properties: str) -> dict[str, Any]:
    """Return the schema of texts by name; a description that ends with `?` is of one that may be left out."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": text.rstrip("?")} for name, text in properties.items()},
        "required": [name for name, text in properties.items() if not text.endswith("?")],
    }


def _text(args: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = args.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"'{name}' must be a text")
    return value


def inside(place: Workplace, path: str) -> Path:
    """Return the real path of a file in the work dir; ToolError if it is elsewhere."""
    top = Path(place.work_dir).resolve()
    found = (top / path).resolve()
    if found != top and top not in found.parents:
        raise ToolError(f"{path} is outside the work dir")
    return found


class _Command(asyncio.SubprocessProtocol):
    """A running command: what it printed, as much as is kept, and when it ended, alone or with all that hold its output."""

    def __init__(self) -> None:
        self.printed = bytearray()
        self.exited = asyncio.Event()
        self.ended = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002
        self.printed += data[: BYTES_LIMIT + 1 - len(self.printed)]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002
        self.ended.set()


async def _shell(args: Mapping[str, Any], place: Workplace) -> str:
    """Run a command, and end it whole if it is not waited for any more."""
    starting = asyncio.ensure_future(_start(_text(args, "command"), place.work_dir))
    try:
        _, command = await asyncio.shield(starting)
        await asyncio.wait_for(command.ended.wait(), SHELL_SECONDS)
    except TimeoutError:
        raise ToolError(f"the command did not end within {SHELL_SECONDS:.0f} s") from None
    finally:
        transport, command = await starting  # a start that was cancelled half-way would leave the command behind
        if not command.ended.is_set():  # the shell may have ended, and something it started not
            with contextlib.suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
        transport.close()
        await command.exited.wait()
    text = _cut(command.printed.decode("utf-8", "replace"))
    if code := transport.get_returncode():
        raise ToolError(f"exit code {code}\n{text}".rstrip())
    return text


async def _start(command: str, work_dir: str) -> tuple[asyncio.SubprocessTransport, _Command]:
    """Start a command in a session of its own, so that it can be ended whole."""
    return await asyncio.get_running_loop().subprocess_exec(
        _Command,
        *("/bin/sh", "-c", command),
        cwd=work_dir,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}\n(cut after {TEXT_LIMIT} characters)"


def _bytes(args: Mapping[str, Any], place: Workplace) -> bytes:
    """Return what stands in a file; only in a real one, for a pipe would be waited for."""
    path = inside(place, _text(args, "path"))
    try:
        if path.exists() and not path.is_file():
            raise ToolError(f"{args['path']} is not a file")
        return path.read_bytes()
    except OSError as error:
        raise ToolError(f"{args['path']} cannot be read: {error.strerror}") from None


def _read(args: Mapping[str, Any], place: Workplace) -> str:
    return _cut(_bytes(args, place).decode("utf-8", "replace"))


def _write(args: Mapping[str, Any], place: Workplace) -> str:
    path, content = inside(place, _text(args, "path")), _text(args, "content")
    try:
        data = content.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except UnicodeEncodeError:
        raise ToolError("'content' cannot be written as UTF-8") from None
    except OSError as error:
        raise ToolError(f"{args['path']} cannot be written: {error.strerror}") from None
    return f"wrote {len(content)} characters to {args['path']}"


def _edit(args: Mapping[str, Any], place: Workplace) -> str:
    old, new = _text(args, "old"), _text(args, "new")
    try:
        text = _bytes(args, place).decode()
    except UnicodeDecodeError:
        raise ToolError(f"{args['path']} is not UTF-8, so it is not edited") from None
    count = text.count(old) if old else 0
    if count != 1:
        raise ToolError(f"'old' stands {count} times in {args['path']}; it must stand there once")
    return _write({**args, "content": text.replace(old, new)}, place)


def _search(args: Mapping[str, Any], place: Workplace) -> str:
    from boathook.core.matcher import compile_pattern
    from boathook.errors import ConfigError

    try:
        pattern = compile_pattern(_text(args, "pattern"))
    except ConfigError as error:
        raise ToolError(str(error)) from None
    start = inside(place, _text(args, "path", "."))
    if not start.exists():
        raise ToolError(f"there is no {args['path']}")
    top = Path(place.work_dir).resolve()
    hits: list[str] = []
    for path in _files(start):
        hits += _hits(path, top, pattern)
        if len(hits) > HITS_LIMIT:
            return "\n".join([*hits[:HITS_LIMIT], "(more was found)"])
    return "\n".join(hits) or "nothing was found"


def _files(start: Path) -> Iterator[Path]:
    """Return the files below a folder in order, or the file itself."""
    if not start.is_dir():
        yield start
    for folder, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(folder, name) for name in sorted(names))


def _hits(path: Path, top: Path, pattern: Any) -> list[str]:
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > TEXT_LIMIT * 10:
            return []
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    shown = path.relative_to(top)
    return [f"{shown}:{n}: {line[:300]}" for n, line in enumerate(lines, 1) if pattern is None or pattern.search(line)]


SHELL = Tool("Shell", "Run a shell command in the work dir.", _shell, _schema(command="the command line"), asks=True)
READ_FILE = Tool("ReadFile", "Read a text file.", _read, _schema(path="the file, relative to the work dir"))
WRITE_FILE = Tool(
    "WriteFile",
    "Write a text file, replacing what was there.",
    _write,
    _schema(path="the file", content="the whole text"),
    asks=True,
)
EDIT_FILE = Tool(
    "EditFile",
    "Replace a passage of a text file that stands there once.",
    _edit,
    _schema(path="the file", old="the passage", new="what replaces it"),
    asks=True,
)
SEARCH = Tool(
    "Search",
    "Search files line by line with a regular expression.",
    _search,
    _schema(pattern="the regular expression", path="a folder or a file?"),
)
TOOLS = (SHELL, READ_FILE, WRITE_FILE, EDIT_FILE, SEARCH)
