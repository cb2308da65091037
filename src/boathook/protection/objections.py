"""Whether a tool call would disarm boathook: a pure function of the call, what is protected, and what the file system says."""

# Reading is free. What cannot be known counts only if the call itself names a protected place, and a program that changes
# something.

from __future__ import annotations

import re
import time
from urllib.parse import unquote

from boathook.command_rows import COMMANDS
from boathook.core.disarm_prefilter import READING_TOOLS, list_holder_ends, make_places_text, may_disarm
from boathook.core.event import Event
from boathook.core.file_writes import list_writes
from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.core.json_text import iter_leaves
from boathook.core.text import quote_plain_path
from boathook.core.tool_kinds import SHELL, find_call_kinds
from boathook.protection.changing_programs import CHANGING_PROGRAMS
from boathook.protection.code_texts import (
    find_code,
    list_code_strings,
    list_tool_codes,
    may_change_files,
    may_run_commands,
)
from boathook.protection.file_view import FileView
from boathook.protection.own_programs import (
    describe_agent_start,
    describe_found_killing,
    describe_killing,
    describe_own_command,
)
from boathook.protection.package_changes import OWN_PACKAGE, describe_package_change
from boathook.protection.path_match import PlaceFinder
from boathook.protection.protection import ProtectedPlace, Protection
from boathook.shell.arguments import UNKNOWN, get_program_name, list_operands, make_absolute_path
from boathook.shell.call_commands import find_call_folder, list_call_commands
from boathook.shell.found_paths import FoundPath
from boathook.shell.path_change import EXACT, OVERLAY, TREE, PathChange
from boathook.shell.path_changes import list_path_changes, list_redirected_paths
from boathook.shell.scope import ShellScope, make_repository_variable
from boathook.shell.started import StartedReader
from boathook.shell.started_program import Started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.disarm_prefilter import DisarmRow

_WAY_OUT = "If a person wants this, they can pause self-protection in a terminal of their own: `boathook unlock 30m`."
_MAX_CODE_STRINGS = 200
_MAX_LISTED_WORDS = 12
_GLOBS_HIDDEN_NAMES = re.compile(r"dotglob|globdots|GLOB_DOTS", re.IGNORECASE)
# Modules of ours that permit calls, trust hooks, or run our commands.
_OWN_MODULES = re.compile(
    r"\bboathook\.(?:permits|trust|install|cli|ledger|assembly|loader|__main__)\b"
    r"|\bfrom\s+boathook\s+import\s+[\w\s,()]*\b(?:permits|trust|install|cli|ledger|assembly|loader)\b"
    r"|\brun_module\b[^\n]*boathook"
)
_TAKES_TREE = re.compile(r"rmtree|rm_r|rmSync|rimraf|remove_tree|renam|move|recursive|chmod|chown")
_ASKS_HOME = re.compile(r"\bhome\b|HOME|homedir|expanduser", re.IGNORECASE)
_HOME_IN_STRING = re.compile(r"\$ENV\{['\"]?HOME['\"]?\}|#\{[^}]*home[^}]*\}|\$\{[^}]*HOME[^}]*\}", re.IGNORECASE)
# How long one call may be judged, in seconds of processor time. A longer one is a question to a person.
_MAX_SECONDS = 2.0
# Programs that take what they change from a list that cannot be known.
_UNKNOWN_CHANGERS = frozenset(
    (
        *("cp", "scp", "install", "rsync", "ln", "tar", "curl", "wget", "dd", "sort", "docker", "podman"),
        *("go", "clang", "g++", "uniq", "less", "tree"),
    )
)


def find_objection(event: Event, protection: Protection, view: FileView) -> str:
    """Return why a call must not go on without a person, or ""."""
    row = make_filter_row(protection)
    if not may_disarm(event.tool_name, event.tool_input, event.work_dir, row, view.find_real):
        return ""
    protection = protection.add_switches("\n".join(iter_leaves(event.tool_input)))
    what = _Examination(protection, view).examine(event)
    return f"Self-protection: this call would {what}. {_WAY_OUT}" if what else ""


def make_filter_row(protection: Protection) -> DisarmRow:
    places = make_places_text(place.path for place in protection.places)
    ends = list_holder_ends([place.path for place in protection.places], protection.roots)
    return protection.words, CHANGING_PROGRAMS, places, protection.home, ends, READING_TOOLS


class _TooLong(Exception):
    """A call cannot be judged in time."""


class _Examination:
    def __init__(self, protection: Protection, view: FileView) -> None:
        self._protection, self._view = protection, view
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
        folder = find_call_folder(event)
        texts = (self._judge_text(text, folder, 0) for text in list_call_commands(event.tool_input))
        codes = (self._judge_tool_code(code, event.tool_name, folder) for code in list_tool_codes(event))
        return next(filter(None, (*texts, *codes)), "")

    def _judge_tool_code(self, code: str, tool: str, folder: str) -> str:
        """A tool that runs code, as one of a notebook: what it does is what an interpreter with this code does."""
        scope = ShellScope(folder, {"HOME": self._protection.home}, 0)
        return self._judge_code(code, Started((tool,), folder, scope=scope), {})

    def _judge_text(self, text: str, folder: str, depth: int) -> str:
        self._finder = PlaceFinder(self._protection, self._view, matches_hidden=bool(_GLOBS_HIDDEN_NAMES.search(text)))
        repository = make_repository_variable(text, folder, self._view.exists)
        scope = ShellScope(folder, {"HOME": self._protection.home, "TMPDIR": "/tmp", **repository}, depth)  # noqa: S108
        reader = StartedReader()
        reader.read(text, scope)
        for started in reader.started:
            # What runs on another machine changes nothing here.
            if not started.machine and (what := self._judge_program(started, reader, scope.links)):
                return what
        if what := describe_found_killing(reader.started):
            return what
        if not reader.is_complete and (place := self._find_named_place(reader, scope.links)):
            return f"do something that is too long or too deep to be read, and names {_describe(place)}"
        return ""

    def _judge_program(self, started: Started, reader: StartedReader, links: dict[str, str]) -> str:
        self._check_time()
        if what := self._describe_command(started):
            return what
        changes = list_path_changes(started)
        for change in (*(changes or ()), *list_redirected_paths(started)):
            if what := self._judge_change(change, started.folder, links, started.name):
                return what
        if (code := find_code(started)) and (what := self._judge_code(code, started, links)):
            return what
        if what := self._judge_read_paths(started, links):
            return what
        if changes is None:
            is_agent = any(started.name in agent.programs for agent in self._protection.agents)
            return "" if is_agent else self._judge_unknown_program(started, links)
        return self._judge_unknown_paths(changes, started, reader, links)

    def _describe_command(self, started: Started) -> str:
        """Return what a command would do to the guards without naming a place, or ""."""
        return (
            describe_own_command(started, self._protection, self._view)
            or describe_package_change(started, self._protection, self._view)
            or describe_agent_start(started, self._protection.agents)
            or describe_killing(started)
        )

    def _names_own_command(self, words: tuple[str, ...]) -> bool:
        # The name alone may be any text.
        return get_program_name(words[:1]) == OWN_PACKAGE and words[1:2] != () and words[1] in COMMANDS

    def _judge_change(self, change: PathChange, folder: str, links: dict[str, str], program: str) -> str:
        self._check_time()
        if not change.path or "\n" in change.path.strip():
            return ""
        place = self._finder.find(change, make_absolute_path(change.path, folder), links)
        return f"change {_describe(place)} (by `{program}`)" if place is not None else ""

    def _judge_unknown_program(self, started: Started, links: dict[str, str]) -> str:
        """A program that is not known here may change what it is called with, or start it."""
        for at in range(1, len(started.words)):
            words = started.words[at:]
            if self._names_own_command(words) and (what := self._describe_command(started.replace(words=words))):
                return what
        for word in started.words[1:]:
            self._check_time()
            path = _expand_home(word.partition("=")[2] if word.startswith("-") else word, self._protection.home)
            if not path:
                continue
            # Of what is found in a project or at home, such a program is given everyday files.
            change = PathChange(str(path), OVERLAY)
            if place := self._finder.find(change, str(make_absolute_path(path, started.folder)), links):
                return f"change {_describe(place)} (by `{started.name[:40]}`, which is not known to only read)"
        return ""

    def _judge_read_paths(self, started: Started, links: dict[str, str]) -> str:
        """Code or a shell text that is made of paths which a program lists may change any of them."""
        is_shell = started.name in SHELLS and not list_operands(started.words[1:]) and not started.input_text
        code = find_code(started)
        if not is_shell and not (code and may_change_files(code)):
            return ""
        choices = started.scope.choices.values() if started.scope is not None and UNKNOWN in code else ()
        paths = (*started.words[1:], *started.read_paths, *(path for values in choices for path in values))
        changes = [PathChange(path, TREE if is_shell else EXACT) for path in paths if isinstance(path, FoundPath)]
        return next(
            filter(None, (self._judge_change(change, started.folder, links, started.name) for change in changes)), ""
        )

    def _judge_code(self, code: str, started: Started, links: dict[str, str]) -> str:
        if _OWN_MODULES.search(code):
            return f"use modules of boathook that change what guards you (by code of `{started.name}`)"
        # The path of a home folder may have any word in it.
        if not may_change_files(code.replace(self._protection.home or "/", "/")):
            return ""
        strings = list_code_strings(code)[:_MAX_CODE_STRINGS]
        words = [
            word for line in code.split("\n") for word in re.split(r"[\s;,()]+", line) if "/" in word or "." in word
        ]
        home = self._protection.home
        # Code may put a name behind the home folder that it asks for.
        from_home = [f"{home}/{text.strip('/')}" for text in strings] if _ASKS_HOME.search(code) else []
        for text in (*strings, *from_home, *words[:_MAX_CODE_STRINGS]):
            path = _expand_home(_HOME_IN_STRING.sub(lambda _: home, text.strip("\"'")), home)
            if not path or "\n" in path or len(path) > 4096:
                continue
            absolute = make_absolute_path(path, started.folder)
            is_removal = _TAKES_TREE.search(code)
            change = PathChange(path, TREE if is_removal and text not in words else EXACT)
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
        # A list of words may be anywhere in the code.
        for at in range(len(strings)):
            words = (*strings[at : at + _MAX_LISTED_WORDS],)
            if get_program_name(words) == OWN_PACKAGE and not self._names_own_command(words):
                continue
            if what := self._describe_command(Started(words, started.folder, scope=started.scope)):
                return what
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
                    place = self._finder.find_named_place(make_absolute_path(path, folder), links)
                    if place is not None:
                        return place
        return None


def _describe(place: ProtectedPlace) -> str:
    return f"{place.what} ({quote_plain_path(place.path, 'its path has unusual signs')})"


def _expand_home(path: str, home: str) -> str:
    path = path.replace("${HOME}", home).replace("$HOME", home)
    return home + path[1:] if path == "~" or path.startswith("~/") else path
