"""Whether a tool call would disarm boathook: a pure function of the call, what is protected, and what the file system says."""

# Reading is free. What cannot be known counts only if the call itself names a protected place, and a program that changes
# something.

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from boathook.core.disarm_prefilter import READING_TOOLS, make_places_text, may_disarm
from boathook.core.event import Event
from boathook.core.file_writes import list_writes
from boathook.core.json_text import iter_leaves
from boathook.core.text import quote_plain_path
from boathook.core.tool_kinds import SHELL, find_call_kinds, shorten_key
from boathook.protection.changing_programs import CHANGING_PROGRAMS
from boathook.protection.code_texts import (
    find_code,
    list_code_strings,
    may_change_files,
    may_run_commands,
)
from boathook.protection.own_programs import (
    describe_agent_start,
    describe_own_command,
    describe_package_change,
    load_command_rows,
)
from boathook.protection.path_match import FileView, PlaceFinder
from boathook.protection.protection import ProtectedPlace, Protection
from boathook.shell.interpreters import is_interpreter
from boathook.shell.path_changes import EXACT, TREE, PathChange, list_path_changes, list_redirected_paths
from boathook.shell.scope import UNKNOWN, FoundPath, ShellScope
from boathook.shell.started import Started, StartedReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.disarm_prefilter import DisarmRow

_WAY_OUT = "If a person wants this, they can pause self-protection in a terminal of their own: `boathook unlock 30m`."
_MAX_CODE_STRINGS = 200
# Keys in small letters and without `_` and `-`.
_FOLDER_KEYS = ("cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory", "directory", "dir")
_PROGRAM_KEYS = ("command", "cmd", "program", "executable")
_ARGUMENT_KEYS = ("args", "argv", "arguments", "parameters")
_TEXT_KEYS = ("commands", "cmds", "commandline", "script", "code", "input", "stdin", "chars", "text")
_SHOWN_MATCHES_HIDDEN = re.compile(r"dotglob|globdots|GLOB_DOTS", re.IGNORECASE)
# Modules of ours that permit calls, trust hooks, or run our commands.
_OWN_MODULES = re.compile(
    r"\bboathook\.(?:permits|trust|install|cli|ledger|assembly|loader|__main__)\b"
    r"|\bfrom\s+boathook\s+import\s+[\w\s,()]*\b(?:permits|trust|install|cli|ledger|assembly|loader)\b"
    r"|\brun_module\b[^\n]*boathook"
)
# How long one call may be judged, in seconds of processor time. A longer one is a question to a person.
_MAX_SECONDS = 2.0
# Programs that take what they change from a list that cannot be known.
_UNKNOWN_CHANGERS = frozenset(
    (
        *("cp", "scp", "install", "rsync", "ln", "tar", "curl", "wget", "dd", "sort", "docker", "podman"),
        *("go", "clang", "g++", "uniq", "less", "tree"),
    )
)


def find_objection(
    event: Event, protection: Protection, view: FileView, load_rows: Callable[[], dict[str, Any]] = load_command_rows
) -> str:
    """Return why a call must not go on without a person, or ""."""
    row = make_filter_row(protection)
    if not may_disarm(event.tool_name, event.tool_input, event.work_dir, row, view.find_real):
        return ""
    protection = protection.add_switches("\n".join(iter_leaves(event.tool_input)))
    what = _Examination(protection, view, load_rows).examine(event)
    return f"Self-protection: this call would {what}. {_WAY_OUT}" if what else ""


def make_filter_row(protection: Protection) -> DisarmRow:
    places = make_places_text(place.path for place in protection.places)
    return protection.words, CHANGING_PROGRAMS, places, protection.home, READING_TOOLS


class _TooLong(Exception):
    """A call cannot be judged in time."""


class _Examination:
    def __init__(self, protection: Protection, view: FileView, load_rows: Callable[[], dict[str, Any]]) -> None:
        self._protection, self._view, self._load_rows = protection, view, load_rows
        self._finder = PlaceFinder(protection, view)
        self._end = time.thread_time() + _MAX_SECONDS

    def examine(self, event: Event) -> str:
        try:
            return self._examine(event)
        except _TooLong:
            return f"do something that cannot be read within {_MAX_SECONDS:g} seconds, and may change what guards you"

    def _check_time(self) -> None:
        if time.thread_time() > self._end:
            raise _TooLong

    def _examine(self, event: Event) -> str:
        for write in list_writes(event):
            path = write.path.removeprefix("file://")
            paths = dict.fromkeys((path, unquote(path)))
            for one in paths:
                change = PathChange(
                    _expand_home(one, self._protection.home), TREE if write.change == "delete" else EXACT
                )
                if what := self._judge_change(change, event.work_dir, {}, "write"):
                    return what
        if SHELL not in find_call_kinds(event.tool_names, event.tool_input):
            return ""
        folder = _find_folder(event)
        return next(filter(None, (self._judge_text(text, folder, 0) for text in _list_commands(event.tool_input))), "")

    def _judge_text(self, text: str, folder: str, depth: int) -> str:
        self._finder = PlaceFinder(
            self._protection, self._view, matches_hidden=bool(_SHOWN_MATCHES_HIDDEN.search(text))
        )
        scope = ShellScope(folder, {"HOME": self._protection.home, "TMPDIR": "/tmp"}, depth)  # noqa: S108
        reader = StartedReader()
        reader.read(text, scope)
        for started in reader.started:
            if what := self._judge_program(started, reader, scope.links):
                return what
        if not reader.is_complete and (place := self._find_named_place(reader, scope.links)):
            return f"do something that is too long or too deep to be read, and names {_describe(place)}"
        return ""

    def _judge_program(self, started: Started, reader: StartedReader, links: dict[str, str]) -> str:
        self._check_time()
        what = (
            describe_own_command(started, self._protection, self._load_rows)
            or describe_package_change(started)
            or describe_agent_start(started, self._protection.agents)
        )
        if what:
            return what
        changes = list_path_changes(started)
        for change in (*(changes or ()), *list_redirected_paths(started)):
            if what := self._judge_change(change, started.folder, links, started.name):
                return what
        if code := find_code(started):
            return self._judge_code(code, started, links)
        if changes is None:
            is_agent = any(started.name in agent.programs for agent in self._protection.agents)
            return "" if is_agent else self._judge_unknown_program(started, links)
        return self._judge_unknown_paths(changes, started, reader, links)

    def _judge_change(self, change: PathChange, folder: str, links: dict[str, str], program: str) -> str:
        self._check_time()
        if not change.path or "\n" in change.path.strip():
            return ""
        place = self._finder.find(change, _make_absolute(change.path, folder), links)
        return f"change {_describe(place)} (by `{program}`)" if place is not None else ""

    def _judge_unknown_program(self, started: Started, links: dict[str, str]) -> str:
        """A program that is not known here may change what it is called with."""
        for word in started.words[1:]:
            self._check_time()
            path = word.partition("=")[2] if word.startswith("-") else word
            if not path or isinstance(path, FoundPath):
                continue
            if place := self._finder.find(PathChange(path), _make_absolute(path, started.folder), links):
                return f"change {_describe(place)} (by `{started.name[:40]}`, which is not known to only read)"
        return ""

    def _judge_code(self, code: str, started: Started, links: dict[str, str]) -> str:
        if _OWN_MODULES.search(code):
            return f"use modules of boathook that change what guards you (by code of `{started.name}`)"
        if not may_change_files(code):
            return ""
        strings = list_code_strings(code)[:_MAX_CODE_STRINGS]
        words = [
            word for line in code.split("\n") for word in re.split(r"[\s;,()]+", line) if "/" in word or "." in word
        ]
        for text in (*strings, *words[:_MAX_CODE_STRINGS]):
            path = _expand_home(text.strip("\"'"), self._protection.home)
            if not path or "\n" in path or len(path) > 4096:
                continue
            absolute = _make_absolute(path, started.folder)
            is_removal = re.search(r"rmtree|rm_r|rmSync|rimraf|remove_tree|renam|move|recursive", code)
            change = PathChange(path, TREE if is_removal and text in strings else EXACT)
            if (place := self._finder.find(change, absolute, links)) or (
                place := self._finder.find_named_place(absolute, links)
            ):
                return f"change {_describe(place)} (by code of `{started.name}`)"
        if place := self._find_joined_place(strings):
            return f"change {_describe(place)} (by code of `{started.name}`)"
        if may_run_commands(code) and started.scope is not None and started.scope.depth < 4:
            return self._judge_code_commands(strings, started)
        return ""

    def _judge_code_commands(self, strings: list[str], started: Started) -> str:
        depth = started.scope.depth + 2 if started.scope else 4
        texts = dict.fromkeys((*(text for text in strings if " " in text), " ".join(strings)))
        for text in texts:
            reader = StartedReader()
            scope = ShellScope(started.folder, {"HOME": self._protection.home}, depth)
            reader.read(text, scope)
            for inner in reader.started:
                if not is_interpreter(inner.name) and (what := self._judge_program(inner, reader, scope.links)):
                    return what
        return ""

    def _find_joined_place(self, strings: list[str]) -> ProtectedPlace | None:
        """Return the place that strings of code make together, joined or one after the other."""
        texts = ("/".join(text.strip("/") for text in strings).lower(), "".join(strings).lower())
        for place in self._protection.places:
            parts = place.path.lower().split("/")
            ends = ("/".join(parts[-2:]), *self._list_beginnings(place.path.lower()))
            if any(end in text for text in texts for end in ends):
                return place
        return None

    def _list_beginnings(self, path: str) -> list[str]:
        """Return the folders that hold a place, from below the home folder or the project: two names or more."""
        root = max((one for one in self._protection.roots if path.startswith(f"{one.lower()}/")), key=len, default="")
        parts = path.removeprefix(root.lower()).strip("/").split("/") if root else []
        return ["/".join(parts[:count]) for count in range(2, len(parts) + 1)]

    def _judge_unknown_paths(
        self, changes: list[PathChange], started: Started, reader: StartedReader, links: dict[str, str]
    ) -> str:
        """A change of something that is not known, in a text that also names a protected place."""
        if started.name in _UNKNOWN_CHANGERS or not any(change.path.startswith(UNKNOWN) for change in changes):
            return ""
        place = self._find_named_place(reader, links)
        return f"change something that cannot be known here, and names {_describe(place)}" if place else ""

    def _find_named_place(self, reader: StartedReader, links: dict[str, str]) -> ProtectedPlace | None:
        for text, folder in reader.words:
            self._check_time()
            for path in dict.fromkeys((text, text.partition("=")[2], *text.split())):
                if path and len(path) < 4096 and "\n" not in path:
                    place = self._finder.find_named_place(_make_absolute(path, folder), links)
                    if place is not None:
                        return place
        return None


def _describe(place: ProtectedPlace) -> str:
    return f"{place.what} ({quote_plain_path(place.path, 'its path has unusual signs')})"


def _make_absolute(path: str, folder: str) -> str:
    if path.startswith(("/", UNKNOWN)):
        return path
    return f"{folder or UNKNOWN}/{path}"


def _expand_home(path: str, home: str) -> str:
    path = path.replace("${HOME}", home).replace("$HOME", home)
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def _find_folder(event: Event) -> str:
    given = _shorten_keys(event.tool_input) if isinstance(event.tool_input, dict) else {}
    own = _find_named_folder(given)
    return _make_absolute(own, event.work_dir) if own and not own.startswith("~") else event.work_dir


def _find_named_folder(given: dict[str, Any]) -> str:
    return next((given[key] for key in _FOLDER_KEYS if isinstance(given.get(key), str) and given[key]), "")


def _list_commands(tool_input: Any) -> list[str]:
    """Return the command lines of a call of a shell; a list of words is one, and a program with its arguments, too."""
    given = _shorten_keys(tool_input) if isinstance(tool_input, dict) else {"command": tool_input}
    programs = [given[key] for key in _PROGRAM_KEYS if given.get(key)]
    arguments = [given[key] for key in _ARGUMENT_KEYS if given.get(key)]
    if not programs or not all(_is_text_or_words(value) for value in (*programs, *arguments)):
        return [*iter_leaves(tool_input)]
    joined = [[program, *arguments] for program in programs]
    # Some servers hand the words to a shell, and some start the program with them as they are.
    lines = [
        " ".join(_join_words(part, quotes=quotes) for part in parts) for parts in joined for quotes in (True, False)
    ]
    texts = [*dict.fromkeys(lines), *iter_leaves([given[key] for key in _TEXT_KEYS if given.get(key)])]
    # The shell that reads the text knows where the home folder is.
    home, _, below = _find_named_folder(given).partition("/")
    return [f"cd {home}/{_quote(below)}\n{text}" for text in texts] if home.startswith("~") else texts


def _shorten_keys(given: dict[str, Any]) -> dict[str, Any]:
    return {shorten_key(str(key)): value for key, value in given.items()}


def _is_text_or_words(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value))


def _join_words(value: str | list[str], *, quotes: bool) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_quote(word) if quotes else word for word in value)


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
