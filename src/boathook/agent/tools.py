"""Tools of the reference agent. File tools stay inside the work dir; `Shell` runs what it is told, which is what hooks are for."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boathook.agent.model import ToolSpec
from boathook.errors import BoathookError

TEXT_LIMIT = 100_000
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
        """Give the tool as a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)


def tool_of(function: Callable[..., Any], *, asks: bool = False) -> Tool:
    """Make a tool of a plain function: its name, its docstring, its parameters."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        properties[parameter.name] = {"type": JSON_TYPES.get(str(parameter.annotation), "string")}
        if parameter.default is parameter.empty:
            required.append(parameter.name)

    def run(args: Mapping[str, Any], _: Workplace) -> Any:
        return function(**args)

    schema = {"type": "object", "properties": properties, "required": required}
    about = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
    return Tool(function.__name__, about, run, schema, asks)


JSON_TYPES = {
    **dict.fromkeys(("str", "<class 'str'>"), "string"),
    **dict.fromkeys(("int", "<class 'int'>"), "integer"),
    **dict.fromkeys(("float", "<class 'float'>"), "number"),
    **dict.fromkeys(("bool", "<class 'bool'>"), "boolean"),
    **dict.fromkeys(("dict", "<class 'dict'>"), "object"),
    **dict.fromkeys(("list", "<class 'list'>"), "array"),
}


def _schema(**properties: str) -> dict[str, Any]:
    """Give the schema of texts by name; a description that ends with `?` is of one that may be left out."""
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
    """Give the real path of a file in the work dir; ToolError if it is elsewhere."""
    top = Path(place.work_dir).resolve()
    found = (top / path).resolve()
    if found != top and top not in found.parents:
        raise ToolError(f"{path} is outside the work dir")
    return found


async def _shell(args: Mapping[str, Any], place: Workplace) -> str:
    """Run a command in its own session, so that it can be ended whole."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        _text(args, "command"),
        cwd=place.work_dir,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SHELL_SECONDS)
    except TimeoutError:
        raise ToolError(f"the command did not end within {SHELL_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    text = output.decode("utf-8", "replace")[:TEXT_LIMIT]
    if process.returncode:
        raise ToolError(f"exit code {process.returncode}\n{text}".rstrip())
    return text


def _read(args: Mapping[str, Any], place: Workplace) -> str:
    path = inside(place, _text(args, "path"))
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:TEXT_LIMIT]
    except OSError as fault:
        raise ToolError(f"{args['path']} cannot be read: {fault.strerror}") from None


def _write(args: Mapping[str, Any], place: Workplace) -> str:
    path, content = inside(place, _text(args, "path")), _text(args, "content")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as fault:
        raise ToolError(f"{args['path']} cannot be written: {fault.strerror}") from None
    return f"wrote {len(content)} characters to {args['path']}"


def _edit(args: Mapping[str, Any], place: Workplace) -> str:
    old, new = _text(args, "old"), _text(args, "new")
    text = _read(args, place)
    count = text.count(old) if old else 0
    if count != 1:
        raise ToolError(f"'old' stands {count} times in {args['path']}; it must stand there once")
    return _write({**args, "content": text.replace(old, new)}, place)


def _search(args: Mapping[str, Any], place: Workplace) -> str:
    from boathook.core.matcher import compile_pattern
    from boathook.errors import ConfigError

    try:
        pattern = compile_pattern(_text(args, "pattern"))
    except ConfigError as fault:
        raise ToolError(str(fault)) from None
    top = inside(place, _text(args, "path", "."))
    hits: list[str] = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            hits += _hits(Path(folder, name), Path(place.work_dir).resolve(), pattern)
            if len(hits) >= HITS_LIMIT:
                return "\n".join([*hits[:HITS_LIMIT], "(more was found)"])
    return "\n".join(hits) or "nothing was found"


def _hits(path: Path, top: Path, pattern: Any) -> list[str]:
    try:
        if path.is_symlink() or path.stat().st_size > TEXT_LIMIT * 10:
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
    _schema(pattern="the regular expression", path="a folder?"),
)
TOOLS = (SHELL, READ_FILE, WRITE_FILE, EDIT_FILE, SEARCH)
