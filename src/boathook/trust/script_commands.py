"""What the shell scripts of a HOOK.md hook run, and which of their commands run something that cannot be known."""

# A hook that is trusted anywhere must not run code of the folder it happens to be in. A program that a shell computes is in doubt,
# unless it plainly is in the folder of the hook.

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import dropwhile, pairwise

from boathook.core.interpreters import SHELL_NAMES, is_interpreter
from boathook.core.shell import SHELL_KEYWORDS, ShellCommand, ShellReader, ShellWord, get_assigned_name
from boathook.sources.shell_scripts import remove_prefix
from boathook.system.programs import BINARIES, ENTRY_NAMES
from boathook.trust.snapshot import FILE, Snapshot, SnapshotItem

_SHELL_ENTRY_NAMES = ENTRY_NAMES[:2]
_MAX_INNER_SCRIPTS = 100
_PIPES = ("|", "|&")
_CODE_OPTION = re.compile(r"-[a-z]*c")
# Programs that run the command behind their options, or one for each line that they read.
_STARTERS = (
    "coproc",
    "xargs",
    "parallel",
    "find",
    "nice",
    "setsid",
    "stdbuf",
    "sudo",
    "watch",
    "env",
    "exec",
    "command",
    "timeout",
)
# The script itself, and so its folder.
_OWN_PLACE = re.compile(r"\$\{?0\b|BASH_SOURCE|\$\{?(?:AGENT|KIMI)_HOOK_DIR\b")
_COMPUTED = re.compile(r"\$[\w{(@*]|`|^\.{1,2}/")
# A search path that is fixed: absolute folders, those of the home folder, and what it was before.
_FIXED_FOLDER = re.compile(r"/[^$`]*|(?:~|\$HOME|\$\{HOME\})(?:/[^$`]*)?|\$PATH|\$\{PATH(?::\+[^}]*)?\}")
_RUN_BY_FIND = ("-exec", "-execdir", "-ok", "-okdir")
_READERS_OF_PROGRAMS = re.compile(r"[gmn]?awk|busybox")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def find_entry_item(snapshot: Snapshot) -> SnapshotItem | None:
    """Return the file that a hook folder runs first (S17), links followed."""
    items = (snapshot.find_target(f"scripts/{name}") for name in ENTRY_NAMES)
    return next((item for item in items if item is not None and item.kind == FILE), None)


def is_run_by_shell(entry: SnapshotItem, snapshot: Snapshot) -> bool:
    """Whether the entry point is read by a shell because it is not a program of its own (S17)."""
    is_shell_name = any(snapshot.find_target(f"scripts/{name}") == entry for name in _SHELL_ENTRY_NAMES)
    return is_shell_name and not (entry.mode & 0o111 and entry.data.startswith((b"#!", *BINARIES)))


def read_script_commands(text: str, variables: Mapping[str, str]) -> tuple[list[ShellCommand], list[str]]:
    """Return all commands of a script, also those in texts that it gives to a shell, and the commands that are in doubt."""
    reader = _ScriptReader(text, variables)
    return reader.commands, reader.unclear


class _ScriptReader:
    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.commands: list[ShellCommand] = []
        self.unclear: list[str] = []
        self._values: dict[str, str | None] = dict(variables)
        self._own_names: set[str] = set()
        self._note_assignments(ShellReader(text, variables.get).read_all())
        texts = [text]
        for _ in range(_MAX_INNER_SCRIPTS):
            if not texts:
                return
            texts += self._read(texts.pop())
        self.unclear += ["scripts in scripts"]

    def _note_assignments(self, commands: list[ShellCommand]) -> None:
        assigned: dict[str, list[ShellWord]] = {}
        for word in (word for command in commands for word in command.words):
            if name := get_assigned_name(word.raw):
                assigned.setdefault(name, []).append(word)
        for name, words in assigned.items():
            values = {word.value for word in words}
            value = values.pop() if len(values) == 1 else None
            self._values[name] = None if value is None else value.partition("=")[2]
        # A variable may be made of one that was assigned before it.
        for name, words in assigned.items():
            if all(self._is_own(word) for word in words):
                self._own_names.add(name)

    def _is_own(self, word: ShellWord) -> bool:
        names = _VARIABLE.findall(word.raw)
        return bool(_OWN_PLACE.search(word.raw)) or any(name in self._own_names for name in names)

    def _read(self, text: str) -> list[str]:
        """Read a script; return the scripts in it."""
        inner: list[str] = []
        is_piped = False
        for command in ShellReader(text, self._values.get).read_all():
            command.words = list(dropwhile(lambda word: word.raw in SHELL_KEYWORDS, command.words))
            words = remove_prefix(command.words)
            # Nothing is left of a prefix with options, such as `env -i`.
            words = words or [word for word in command.words if not get_assigned_name(word.raw)]
            self.unclear += [word.raw for word in command.words if self._is_open_path(word)]
            if words:
                code = _find_code(words)
                inner += [code] if code else []
                if not code and self._is_unclear(words, is_piped=is_piped):
                    self.unclear.append(" ".join(word.raw for word in words[:3]))
                self.commands += _list_started(command, words)
            self.commands.append(command)
            is_piped = command.operator in _PIPES
        return inner

    def _is_open_path(self, word: ShellWord) -> bool:
        """Whether programs are then searched for in a folder that may be in the project."""
        if get_assigned_name(word.raw) != "PATH":
            return False
        folders = word.raw.partition("=")[2].translate(str.maketrans("", "", "\"'")).split(":")
        return not self._is_own(word) and not all(map(_FIXED_FOLDER.fullmatch, folders))

    def _is_unclear(self, words: list[ShellWord], *, is_piped: bool) -> bool:
        name, rest = _get_name(words[0]), words[1:]
        if words[0].value is None:
            # Other words are brackets of the shell, or patterns of `case`.
            return bool(_COMPUTED.search(words[0].raw)) and not self._is_own(words[0])
        if name in ("eval", "source", "."):
            return bool(rest) and (name == "eval" or (rest[0].value is None and not self._is_own(rest[0])))
        if name == "find" and any("{}" in after.raw for word, after in pairwise(rest) if word.raw in _RUN_BY_FIND):
            return True
        if name == "trap":
            return bool(rest) and rest[0].value is None
        if _READERS_OF_PROGRAMS.fullmatch(name):
            return any(word.raw.startswith(("-f", "--file")) for word in rest) and not any(map(self._is_own, rest))
        if name in _STARTERS:
            return any(_reads_script(_get_name(word)) for word in rest)
        if not _reads_script(name):
            return False
        if name in SHELL_NAMES and any(_CODE_OPTION.fullmatch(word.raw) for word in rest[:2]):
            return True
        arguments = [word for word in rest if not word.raw.startswith("-")]
        if len(arguments) != len(rest) and not all(word.raw in ("-", "-s") for word in rest):
            return False
        return is_piped if not arguments else arguments[0].value is None and not self._is_own(arguments[0])


def _reads_script(name: str) -> bool:
    return name in SHELL_NAMES or is_interpreter(name)


def _get_name(word: ShellWord) -> str:
    return (word.value or word.raw).rpartition("/")[2]


def _find_code(words: list[ShellWord]) -> str:
    """Return the script that a command gives to a shell as a text, "" if there is none or it is not known."""
    if _get_name(words[0]) == "eval":
        values = [word.value for word in words[1:]]
        return "" if None in values else " ".join(value or "" for value in values)
    if _get_name(words[0]) == "trap":
        return (words[1].value or "") if len(words) > 2 else ""
    if _get_name(words[0]) == "alias":
        return "\n".join((word.value or "").partition("=")[2] for word in words[1:])
    if _get_name(words[0]) not in SHELL_NAMES:
        return ""
    option = next((index for index, word in enumerate(words[:3]) if _CODE_OPTION.fullmatch(word.raw)), 0)
    return (words[option + 1].value or "") if option and len(words) > option + 1 else ""


def _list_started(command: ShellCommand, words: list[ShellWord]) -> list[ShellCommand]:
    """Return a command for each path behind a program that runs others: it may be what that runs."""
    if _get_name(words[0]) not in _STARTERS:
        return []
    started = []
    for word in words[1:]:
        one = ShellCommand(command.start)
        one.words = [word]
        started += [one] if "/" in (word.value or "") else []
    return started
