"""Which programs a shell text starts: through wrappers, shells, loops, `xargs` and `find -exec`, one after the other."""

from __future__ import annotations

import re
from base64 import b32decode, b64decode
from collections.abc import Iterable
from itertools import islice

from boathook.core.interpreters import is_interpreter
from boathook.core.shell import (
    SHELL_KEYWORDS,
    ShellCommand,
    ShellReader,
    ShellWord,
    get_assigned_name,
)
from boathook.shell.arguments import UNKNOWN, find_option_values, get_program_name, list_operands
from boathook.shell.containers import CONTAINER_PROGRAMS, find_contained_folder, list_shared_folders
from boathook.shell.found_paths import FOUND_VARIABLE, FoundPath
from boathook.shell.inner_commands import TEXT_READERS, list_inner_commands, list_inner_texts, list_placed_paths
from boathook.shell.listers import list_printed_paths
from boathook.shell.scope import ShellScope, find_printed_text
from boathook.shell.started_program import Started
from boathook.shell.wrappers import unwrap

MAX_TEXT_DEPTH = 5
MAX_STARTED = 4000
MAX_COMMAND_CHARS = 400_000
MAX_WRITTEN_CHARS = 64_000
_MAKE_FILES = ("GNUmakefile", "makefile", "Makefile")
EXPORTERS = frozenset(("export", "declare", "local", "readonly", "typeset"))
# Words before a command that are neither it nor a program.
_KEYWORDS = frozenset((*SHELL_KEYWORDS, "coproc", "fi", "done", "esac", "}", "in"))
_BRANCHES = frozenset(("for", "select", "case", "function", "local", "declare", "typeset", "readonly"))
# What is before or in one of these does not change the shell that goes on.
_OTHER_SHELLS = frozenset(("(", ")", "|", "|&", "&"))
_LOOP_INPUT = re.compile(r'\bdone\s*<(?:\s*<\(|<<\s*"?\$\()((?:[^()]|\([^()]*\)){0,1000})\)')
_LOOP_DOCUMENT = re.compile(r"\bdone\s*<<-?\s*['\"]?(\w+)['\"]?[ \t]*\n(.{0,4000}?)\n\s*\1\b", re.DOTALL)
_MAX_LOOPS = 4
_COMMAND_VARIABLE = re.compile(
    r"(?:\w*_)?(?:EDITOR|PAGER|VISUAL|COMMAND|ASKPASS|BROWSER)|GIT_\w+|LESSOPEN|LESSCLOSE|RSYNC_RSH"
)
_OTHER_SESSIONS = frozenset(("tmux", "screen", "ssh", "su", "runuser", "at", "batch"))


class StartedReader:
    """Finds all programs that a shell text starts. Takes linear time and never raises."""

    # `is_complete` is False if something was nested too deep, or the text was too long, to be read to its end.

    def __init__(self) -> None:
        self.started: list[Started] = []
        self.is_complete = True
        # The array that is assigned to, and the commands that loops of the text read from.
        self._array = ""
        self._last: list[Started] = []
        self._loop_scripts: list[str] = []
        # Everything that is written as a word anywhere.
        self.words: list[tuple[str, str]] = []

    def read(self, text: str, scope: ShellScope) -> None:
        if scope.depth > MAX_TEXT_DEPTH or len(text) > MAX_COMMAND_CHARS:
            self.is_complete = False
            return
        outer_scripts, self._loop_scripts = self._loop_scripts, _list_loop_scripts(text)
        self._read_commands(text, scope)
        self._loop_scripts = outer_scripts

    def _read_commands(self, text: str, scope: ShellScope) -> None:
        reader = ShellReader(text, scope.look_up, evaluate=scope.evaluate)
        waiting: list[ShellCommand] = []
        pipe: list[Started] = []
        folders: list[str] = []
        while len(self.started) < MAX_STARTED and (command := reader.read_command()) is not None:
            nested, reader.nested = reader.nested, []
            self._pass_nested_texts(nested, scope)
            waiting.append(command)
            # The text of a here-document comes after the line.
            if _has_open_heredoc(command) or (len(waiting) > 1 and command.operator not in ("\n", "")):
                continue
            for one in waiting:
                pipe = self._pass(one, scope, pipe, folders)
            waiting = []
        for one in waiting:
            pipe = self._pass(one, scope, pipe, folders)
        self._pass_nested_texts(reader.nested, scope)
        self.is_complete = self.is_complete and len(self.started) < MAX_STARTED

    def _pass_nested_texts(self, commands: list[ShellCommand], scope: ShellScope) -> None:
        """Note what the commands in substitutions start: they are in a shell of their own."""
        inner, pipe, folders = scope.copy() if commands else scope, list[Started](), list[str]()
        array = self._array
        for command in commands:
            pipe = self._pass(command, inner, pipe, folders)
        self._array = array

    def _pass(self, command: ShellCommand, scope: ShellScope, pipe: list[Started], folders: list[str]) -> list[Started]:
        first = command.words[0].raw if command.words else ""
        if command.operator in _OTHER_SHELLS or first in _KEYWORDS or first in _BRANCHES:
            scope.is_plain = False
        array, self._array = self._array, ""
        started = self._start(command, scope, pipe)
        if array and command.operator == ")":
            scope.assign_choices(array, [text for word in command.words for text in scope.expand(word)])
        if command.operator in ("&&", "||"):
            scope.is_plain = False
        if command.operator == "(":
            folders.append(scope.folder)
        elif command.operator == ")" and folders:
            scope.folder = folders.pop()
        # What is in brackets or a loop behind `|` reads the same.
        is_opening = command.operator == "(" and not command.words
        self._last = started or self._last
        if command.operator not in ("|", "|&") and not is_opening:
            return []
        # What is behind brackets or a loop reads what the last program in them prints.
        is_group = not is_opening and not _skip_keywords(list(command.words))
        return [*pipe, *(self._last if is_group else started)]

    def _start(self, command: ShellCommand, scope: ShellScope, pipe: list[Started]) -> list[Started]:
        """Note what a command starts, and change the scope as it does."""
        words = _skip_keywords(list(command.words))
        assigned = []
        while words and get_assigned_name(words[0].raw):
            assigned.append(words[0])
            words = words[1:]
        for word in (*assigned, *words):
            self.words.append((scope.expand_text(word), scope.folder))
        for one in command.redirections:
            if one.operator == "<<<" and one.target is not None:
                self.words.append((scope.expand_text(one.target), scope.folder))
        outputs = tuple(
            text
            for one in command.redirections
            if one.target is not None
            and (">" in one.operator)
            and not (one.operator == ">&" and one.target.text.isdigit())
            for text in scope.expand(one.target)
        )
        if not words:
            self._assign_words(assigned, command, scope)
            if outputs:
                self.started.append(Started((":",), scope.folder, (), outputs))
            return []
        if words[0].raw in ("for", "select"):
            self._start_loop(words, scope)
            return []
        texts = self._expand_words(words, scope)
        inner = scope.copy()
        for word in assigned:
            inner.assign_word(word)
        names = [get_assigned_name(word.raw) for word in assigned]
        variables = tuple((name, inner.look_up(name)) for name in names)
        pairs = [text.partition("=") for text in texts[1:] if texts[0] in EXPORTERS]
        exported = [(pair[0], pair[2]) for pair in pairs]
        self._read_command_variables((*variables, *exported), inner)
        fed = _find_input_text(command, scope, pipe)
        read_paths = _list_read_paths(command, scope, pipe, fed)
        self._run_builtin(texts, words, scope, read_paths)
        first = Started(
            tuple(texts), scope.folder, variables, outputs, fed, tuple(read_paths), scope, feeders=tuple(pipe)
        )
        _note_written_text(first, scope)
        count = len(self.started)
        self._add(first)
        if words[0].raw in scope.aliases:
            self._read_alias(words[0].raw, texts[1:], inner)
        return self.started[count:][:1] or [first]

    def _assign_words(self, assigned: list[ShellWord], command: ShellCommand, scope: ShellScope) -> None:
        for word in assigned:
            scope.assign_word(word)
        names = [get_assigned_name(word.raw) for word in assigned]
        self._read_command_variables([(name, scope.look_up(name)) for name in names], scope)
        if assigned and command.operator == "(":
            self._array = names[-1]
            scope.assign(self._array, UNKNOWN)

    def _read_command_variables(self, variables: Iterable[tuple[str, str]], scope: ShellScope | None) -> None:
        """Read variables whose value is a command that programs run, such as `EDITOR`."""
        for name, value in variables:
            if scope is not None and _COMMAND_VARIABLE.fullmatch(name):
                self.read(value.removeprefix("!"), scope.copy(deeper=1))

    def _expand_words(self, words: list[ShellWord], scope: ShellScope) -> list[str]:
        """Return the words of a command; a program that may be one of several is not known."""
        programs = scope.expand(words[0])
        is_choice = len(programs) > 1 and UNKNOWN in scope.expand_text(words[0])
        rest = [text for word in words[1:] for text in scope.expand(word)]
        return [*([UNKNOWN] if is_choice else programs), *rest]

    def _read_alias(self, name: str, arguments: list[str], scope: ShellScope) -> None:
        inner = scope.copy(deeper=1)
        text = inner.aliases.pop(name)
        self.read(" ".join((text, *map(_quote_word, arguments))), inner)

    def _start_loop(self, words: list[ShellWord], scope: ShellScope) -> None:
        name = words[1].text if len(words) > 1 else ""
        values = [text for word in words[3:] for text in scope.expand(word)]
        # Without `in`, a loop is about the parameters.
        scope.assign_choices(name, values if len(words) > 2 else scope.parameters[1:])

    def _run_builtin(self, texts: list[str], words: list[ShellWord], scope: ShellScope, read_paths: list[str]) -> None:
        program = get_program_name(texts)
        if program in EXPORTERS:
            for word in words[1:]:
                if get_assigned_name(word.raw):
                    scope.assign_word(word)
        if program == "unset" or (program in EXPORTERS and not {"-n", "+x"}.isdisjoint(texts)):
            for text in list_operands(texts[1:]):
                scope.remove(text.partition("=")[0])
        elif program == "alias":
            for text in texts[1:]:
                name, sign, value = text.partition("=")
                scope.aliases |= {name: value} if sign else {}
        elif program in ("cd", "pushd"):
            targets = [text for text in texts[1:] if text == "-" or not text.startswith("-")]
            scope.change_folder(targets[0] if targets else scope.look_up("HOME"))
        elif program in ("source", ".") and texts[-1].endswith("/bin/activate"):
            scope.assign("VIRTUAL_ENV", scope.make_absolute(texts[-1].removesuffix("/bin/activate")))
        elif program == "popd":
            scope.folder = scope.earlier_folders.pop() if scope.earlier_folders else ""
        elif program in ("read", "mapfile", "readarray", "getopts"):
            read_paths = read_paths or [
                path for script in self._loop_scripts for path in scope.list_script_paths(script)
            ]
            for text in texts[1:]:
                scope.assign_choices(text, read_paths or [UNKNOWN])
        elif program == "set" and "--" in texts:
            scope.parameters = ("", *texts[texts.index("--") + 1 :])
        elif program in CONTAINER_PROGRAMS:
            # Inside, a folder of this machine is what a link to it would be here.
            for source, target in list_shared_folders(program, texts[1:]):
                if target.startswith("/") and target.strip("/"):
                    scope.links[target.rstrip("/")] = scope.make_absolute(source)
        elif program == "ln":
            _note_link(texts[1:], scope)

    def _add(self, started: Started) -> None:
        """Add a program, or what it starts in its place."""
        count = len(started.variables)
        started = unwrap(started)
        self._read_command_variables(started.variables[count:], started.scope)
        if not started.words:
            if started.outputs:
                self.started.append(started.replace(words=(":",)))
            return
        if len(self.started) >= MAX_STARTED:
            return
        if started.scope is not None and (script := _find_script_text(started, started.scope)):
            started = started.replace(script_text=script)
        self.started.append(started)
        scope = (started.scope or ShellScope(started.folder, {})).copy(deeper=1)
        scope.folder = started.folder
        scope.is_plain = True
        for name, value in started.variables:
            scope.assign(name, value)
        if started.name in CONTAINER_PROGRAMS:
            inside = find_contained_folder(started.name, list(started.words[1:]), started.folder)
            scope.folder, started = inside, started.replace(folder=inside)
        if started.name in _OTHER_SESSIONS:
            scope.remove("HOME")
            started = started.replace(variables=())
        if started.read_paths or scope.choices:
            choices = [path for paths in scope.choices.values() for path in paths]
            scope.assign_choices(FOUND_VARIABLE, started.read_paths or choices)
        for text, parameters in list_inner_texts(started):
            scope.parameters = parameters
            self.read(text.replace(UNKNOWN, f"${FOUND_VARIABLE}") if scope.choices else text, scope)
        if scope.depth <= MAX_TEXT_DEPTH:
            placed = tuple(list_placed_paths(started))
            for words in list_inner_commands(started):
                self._add(
                    started.replace(
                        words=words, outputs=(), input_text="", read_paths=placed, scope=scope, script_text=""
                    )
                )


def _quote_word(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _skip_keywords(words: list[ShellWord]) -> list[ShellWord]:
    while words:
        raws = [word.raw for word in words[:2]]
        if raws[0] == "function":
            words = words[2:]
        elif raws[0] == "time" and raws[1:] in (["-p"], ["--"]):
            words = [words[0], *words[2:]]
        elif raws[0] in _KEYWORDS and not (raws[0] == "time" and raws[1:] and raws[1].startswith("-")):
            words = words[1:]
        else:
            # With other options, `time` is a program.
            return words
    return words


def _has_open_heredoc(command: ShellCommand) -> bool:
    is_open = command.operator not in ("\n", "")
    return is_open and any(one.operator in ("<<", "<<-") for one in command.redirections)


def _find_input_text(command: ShellCommand, scope: ShellScope, pipe: list[Started]) -> str:
    for one in reversed(command.redirections):
        if one.operator in ("<<", "<<-"):
            return one.body
        if one.operator == "<<<" and one.target is not None:
            return scope.expand_text(one.target)
    files = [word.raw for word in command.words[1:] if word.raw.startswith("<(")]
    inputs = [one.target for one in command.redirections if one.operator == "<" and one.target is not None]
    files += [target.raw for target in inputs if target.raw.startswith("<(")]
    if files:
        return scope.find_file_text(files[0])
    if not pipe:
        return ""
    printed = find_printed_text(list(pipe[-1].words), scope.folder)
    if UNKNOWN not in printed or pipe[-1].name in ("echo", "printf"):
        return printed
    if pipe[-1].name in ("base64", "base32", "xxd"):
        return _decode_text(pipe[-1])
    return pipe[-1].input_text if pipe[-1].name in ("cat", "tee", "sort") else ""


def _find_script_text(started: Started, scope: ShellScope) -> str:
    """Return the script that a program runs, or is, if the same text wrote it before."""
    if not scope.written:
        return ""
    reads_script = is_interpreter(started.name) or started.name in (*TEXT_READERS, "source", ".")
    scripts = list_operands(started.words[1:])[:1] if reads_script else [started.words[0]]
    if started.name in ("make", "gmake"):
        scripts = find_option_values(list(started.words[1:]), "-f", "--file", "--makefile") or [*_MAKE_FILES]
    texts = [scope.written.get(_normalize_written(started.make_absolute(path)), "") for path in scripts]
    return next(filter(None, texts), "")


def _normalize_written(path: str) -> str:
    return path.replace("/./", "/")


def _note_written_text(started: Started, scope: ShellScope) -> None:
    outputs = [*started.outputs, *(list_operands(started.words[1:]) if started.name == "tee" else [])]
    if not outputs or started.name not in ("echo", "printf", "cat", "tee"):
        return
    is_printing = started.name in ("echo", "printf")
    text = find_printed_text(list(started.words), scope.folder) if is_printing else started.input_text
    for path in outputs:
        key = _normalize_written(scope.make_absolute(path))
        scope.written[key] = f"{scope.written.get(key, '')}\n{text}"[-MAX_WRITTEN_CHARS:]


def _list_read_paths(command: ShellCommand, scope: ShellScope, pipe: list[Started], text: str) -> list[str]:
    """Return the words that a command reads, [] if it reads nothing that is known."""
    printed = pipe[-1].words[1:] if pipe and pipe[-1].name in ("echo", "printf") else ()
    if any(isinstance(word, FoundPath) for word in printed):
        return [*printed]
    if text:
        return text.split()
    files = [word.raw for word in command.words if word.raw.startswith("<(")]
    for one in command.redirections:
        if one.target is not None and one.operator == "<":
            files.append(one.target.raw)
        if one.target is not None and one.operator == "<<<":
            return scope.expand(one.target)
    for raw in files:
        if raw.startswith("<("):
            return scope.list_script_paths(raw[2:].removesuffix(")"))
    return list_printed_paths(pipe[-1].words, pipe[-1].read_paths) if pipe else []


def _list_loop_scripts(text: str) -> list[str]:
    """Return the commands that loops read from behind their end, as in `done < <(find …)`."""
    if "<" not in text:
        return []
    documents = [f"echo {match[2]}" for match in islice(_LOOP_DOCUMENT.finditer(text), _MAX_LOOPS)]
    return [*documents, *(match[1] for match in islice(_LOOP_INPUT.finditer(text), _MAX_LOOPS))]


def _decode_text(started: Started) -> str:
    """Return what `base64 -d` and its like print, "" if that is not known or not a text."""
    text = "".join(started.input_text.split())
    options = [word for word in started.words[1:] if word.startswith("-")]
    try:
        if started.name == "xxd":
            return bytes.fromhex(text).decode() if any("r" in word for word in options) else ""
        if not any(word in ("-d", "-D", "--decode", "-di") for word in options):
            return ""
        return (b64decode if started.name == "base64" else b32decode)(text).decode()
    except ValueError:
        return ""


def _note_link(arguments: list[str], scope: ShellScope) -> None:
    paths = list_operands(arguments)
    if len(paths) == 1:
        paths = [*paths, paths[0].rstrip("/").rpartition("/")[2]]
    for target in paths[:-1]:
        link, real = scope.make_absolute(paths[-1]).rstrip("/"), scope.make_absolute(target)
        scope.links[link] = real
        scope.links[f"{link}/{target.rstrip('/').rpartition('/')[2]}"] = real
