"""Which programs a shell text starts: through wrappers, shells, loops, `xargs` and `find -exec`, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from boathook.core.shell import (
    SHELL_KEYWORDS,
    ShellCommand,
    ShellReader,
    ShellWord,
    get_assigned_name,
)
from boathook.shell.arguments import UNKNOWN, list_operands, skip_options
from boathook.shell.code_input import reads_code_from_stdin
from boathook.shell.code_sources import MAX_SOURCES, CodeSources
from boathook.shell.command_input import (
    find_input_text,
    has_open_heredoc,
    list_loop_scripts,
    list_read_paths,
    redirects_input,
)
from boathook.shell.containers import CONTAINER_PROGRAMS, find_contained_folder, list_shared_folders
from boathook.shell.found_paths import FOUND_VARIABLE, QuotedName
from boathook.shell.function_bodies import FunctionBodies
from boathook.shell.inherited_input import hands_input_on, hands_text_on
from boathook.shell.inner_commands import InnerCommand, list_inner_commands, list_placed_paths
from boathook.shell.known_programs import SHELL_WORDS
from boathook.shell.printed_text import print_words
from boathook.shell.scope import ShellScope
from boathook.shell.started_program import Started
from boathook.shell.wrappers import SHELL_PREFIXES, WRAPPERS, unwrap
from boathook.shell.written_files import find_script_text, note_link, note_written_text

MAX_TEXT_DEPTH = 5
MAX_STARTED = 4000
MAX_COMMAND_CHARS = 400_000
# How much text programs may get from those that start them, in all: each of many shells would read it again.
MAX_INHERITED_CHARS = 800_000
# How many descriptors of a text are known to be open at a time.
MAX_DESCRIPTORS = 64
# How the programs in `$(…)` and `<(…)` are called that are started by no program.
SUBSTITUTION = "$(…)"
EXPORTERS = frozenset(("export", "declare", "local", "readonly", "typeset"))
# With `-n`, these make a variable another name of a second one.
_REFERRING = frozenset(("declare", "local", "typeset"))
# Programs that run a text in the shell that goes on.
_SAME_SHELL = frozenset(("eval", "source", "."))
# Programs that connect what they start to another machine.
_CONNECTORS = frozenset(("nc", "ncat", "netcat", "socat"))
# Words before a command that are neither it nor a program.
_KEYWORDS = frozenset((*SHELL_KEYWORDS, "coproc", "fi", "done", "esac", "}", "in"))
_BRANCHES = frozenset(("for", "select", "case", "function", "local", "declare", "typeset", "readonly"))
# What is before or in one of these does not change the shell that goes on.
_OTHER_SHELLS = frozenset(("(", ")", "|", "|&", "&"))
_COMMAND_VARIABLE = re.compile(
    r"(?:\w*_)?(?:EDITOR|PAGER|VISUAL|COMMAND|ASKPASS|BROWSER)|GIT_\w+|LESSOPEN|LESSCLOSE|RSYNC_RSH|PS[0-4]"
)
_READ_DESCRIPTOR = re.compile(r"(?:^|\s)-[a-zA-Z]*u\s*(\d+)")
_ENDS_ON_ERROR = re.compile(r"-[a-z]*e[a-z]*|errexit")
_OTHER_SESSIONS = frozenset(("tmux", "screen", "ssh", "su", "runuser", "at", "batch"))


class StartedReader:
    """Finds all programs that a shell text starts. Takes linear time and never raises."""

    # `is_complete` is False if something was nested too deep, or the text was too long, to be read to its end.

    def __init__(self) -> None:
        self.started: list[Started] = []
        self.is_complete = True
        # Where each of them is in the list, by identity; none is ever taken out of it.
        self._positions: dict[int, int] = {}
        # The array that is assigned to, and the commands that loops of the text read from.
        self._array = ""
        self._last: list[Started] = []
        self._loop_scripts: list[str] = []
        # Why what is read now is started, and on which other machine.
        self._started_by: tuple[str, ...] = ()
        self._machine = ""
        # The programs whose output every command reads that is not behind another one in a pipe.
        self._outer_pipe: list[Started] = []
        # The text and the files that each of these commands reads, too, and how much of that was read so far.
        self._outer_text, self._outer_paths = "", tuple[str, ...]()
        self._inherited_chars = 0
        self._sources = CodeSources()
        self._functions = FunctionBodies()
        # The scripts that are being read, one inside the other, each with all that it depends on.
        self._scripts: list[tuple[object, ...]] = []
        # Everything that is written as a word anywhere.
        self.words: list[tuple[str, str]] = []
        # How often each last part of a path was among them so far.
        self._names: dict[str, int] = {}

    def read(self, text: str, scope: ShellScope) -> None:
        if scope.depth > MAX_TEXT_DEPTH or len(text) > MAX_COMMAND_CHARS:
            self.is_complete = False
            return
        outer_scripts, self._loop_scripts = self._loop_scripts, list_loop_scripts(text)
        self._read_commands(text, scope)
        self._loop_scripts = outer_scripts

    def _read_commands(self, text: str, scope: ShellScope) -> None:
        reader = ShellReader(text, scope.look_up, evaluate=scope.evaluate)
        waiting: list[tuple[ShellCommand, tuple[Started, ...], bool, bool]] = []
        pipe = self._outer_pipe
        folders: list[str] = []
        functions = self._functions.note_commands(text)
        while len(self.started) < MAX_STARTED and (command := reader.read_command()) is not None:
            is_end = functions.note(command)
            nested, reader.nested = reader.nested, []
            waiting.append((command, self._pass_nested_texts(nested, scope), is_end, functions.is_inside))
            # The text of a here-document comes after the line.
            if has_open_heredoc(command) or (len(waiting) > 1 and command.operator not in ("\n", "")):
                continue
            for one, programs, is_end, is_inside in waiting:
                pipe = self._pass(one, scope, pipe, folders, programs)
                scope.end_function(is_end=is_end, is_inside=is_inside)
            waiting = []
        for one, programs, *_ in waiting:
            pipe = self._pass(one, scope, pipe, folders, programs)
        self._pass_nested_texts(reader.nested, scope)
        self.is_complete = self.is_complete and len(self.started) < MAX_STARTED

    def _pass_nested_texts(self, commands: list[ShellCommand], scope: ShellScope) -> tuple[Started, ...]:
        """Note what the commands in substitutions start: they are in a shell of their own."""
        if not commands:
            return ()
        inner, pipe, folders = scope.copy(), list[Started](), list[str]()
        array, count, outer = self._array, len(self.started), self._started_by
        self._started_by = (*outer, SUBSTITUTION)
        for command in commands:
            # One that is inside another comes before it.
            pipe = self._pass(command, inner, pipe, folders, self._list_last(count))
        self._array, self._started_by = array, outer
        return self._list_last(count)

    def _list_last(self, count: int) -> tuple[Started, ...]:
        """Return the last programs that were added after a number of others."""
        return tuple(self.started[max(count, len(self.started) - MAX_SOURCES) :])

    def _append(self, started: Started) -> None:
        self._positions[id(started)] = len(self.started)
        self.started.append(started)

    def _pass(
        self,
        command: ShellCommand,
        scope: ShellScope,
        pipe: list[Started],
        folders: list[str],
        nested: tuple[Started, ...],
    ) -> list[Started]:
        first = command.words[0].raw if command.words else ""
        if command.operator in _OTHER_SHELLS or first in _KEYWORDS or first in _BRANCHES:
            scope.is_plain = False
        array, self._array = self._array, ""
        started = self._start(command, scope, pipe[-MAX_SOURCES:], nested)
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
            return self._outer_pipe
        # What is behind brackets or a loop reads what the last program in them prints.
        is_group = not is_opening and not _skip_keywords(list(command.words))
        return [*pipe, *(self._last if is_group else started)]

    def _start(
        self, command: ShellCommand, scope: ShellScope, pipe: list[Started], nested: tuple[Started, ...]
    ) -> list[Started]:
        """Note what a command starts, and change the scope as it does."""
        words = _skip_keywords(list(command.words))
        assigned = []
        while words and get_assigned_name(words[0].raw):
            assigned.append(words[0])
            words = words[1:]
        self._note_words([*assigned, *words], command, scope)
        outputs, errors = self._list_outputs(command, scope), self._list_outputs(command, scope, is_error=True)
        if not words:
            self._assign_words(assigned, command, scope, nested)
            self._note_outputs(outputs, scope)
            return []
        if words[0].raw in ("for", "select"):
            self._start_loop(words, scope)
            return []
        if words[0].raw == "exec" and command.redirections and _is_only_exec(words):
            self._open_descriptors(_skip_exec_options(words), command, scope, nested)
            self._note_outputs(outputs, scope)
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
        first = self._make_started(command, texts, scope, pipe, nested)
        first = first.replace(variables=variables, outputs=outputs, error_outputs=errors)
        earlier = scope.folder
        self._run_builtin(first, words, scope)
        if first.name in ("cd", "pushd", "popd"):
            self._note_other_folder(first, command.operator, earlier, scope)
        note_written_text(first, scope)
        count = len(self.started)
        self._add(first.replace(folder=scope.folder))
        self._feed_programs(command, first, nested, scope)
        if words[0].raw in scope.aliases:
            self._read_alias(words[0].raw, texts[1:], inner)
        if body := self._functions.open_call(words[0].raw):
            self._run_inner(InnerCommand(body, tuple(texts)), first, inner.copy(deeper=1))
            self._functions.close_call()
        return self.started[count : count + 1] or [first]

    def _make_started(
        self,
        command: ShellCommand,
        texts: list[str],
        scope: ShellScope,
        pipe: list[Started],
        nested: tuple[Started, ...],
    ) -> Started:
        is_inherited = len(pipe) == len(self._outer_pipe[-MAX_SOURCES:]) and not redirects_input(command)
        fed = self._take_outer_text() if is_inherited else find_input_text(command, scope, pipe)
        inputs = [one.target for one in command.redirections if one.operator == "<" and one.target is not None]
        descriptors = [one.target for one in command.redirections if one.operator == "<&" and one.target is not None]
        paths = [text for target in inputs if not target.raw.startswith("<(") for text in scope.expand(target)]
        paths += [f"/dev/fd/{scope.expand_text(target)}" for target in descriptors]
        feeders = nested if any(target.raw.startswith("<(") for target in inputs) else ()
        variables = self._sources.find_words(word.raw for word in command.words)
        return Started(
            tuple(texts),
            scope.folder,
            input_text=fed,
            read_paths=tuple(list_read_paths(command, scope, pipe, fed)),
            scope=scope,
            feeders=(*pipe, *feeders),
            substituted=(*nested, *variables)[-MAX_SOURCES:],
            started_by=self._started_by,
            input_paths=(*(self._outer_paths if is_inherited else ()), *paths),
            open_paths=self._list_open_paths(),
            other_folder=scope.other_folder,
            machine=self._machine,
        )

    def _list_open_paths(self) -> tuple[str, ...]:
        """Return the files that descriptors are open for."""
        self.is_complete = self.is_complete and len(self._sources.open_files) <= MAX_DESCRIPTORS
        return tuple(islice(self._sources.open_files.values(), MAX_DESCRIPTORS))

    def _take_outer_text(self) -> str:
        """Return the text that a program gets from the one that starts it."""
        self._inherited_chars += len(self._outer_text)
        if self._inherited_chars <= MAX_INHERITED_CHARS:
            return self._outer_text
        self.is_complete = False
        return ""

    def _note_words(self, words: list[ShellWord], command: ShellCommand, scope: ShellScope) -> None:
        # What another machine has is not here.
        if self._machine:
            return
        texts = [one.target for one in command.redirections if one.operator == "<<<" and one.target is not None]
        for word in (*words, *texts):
            text = scope.expand_text(word)
            self.words.append((text, scope.folder))
            name = text.rstrip("/").rpartition("/")[2].removesuffix(".git")
            self._names[name] = self._names.get(name, 0) + 1

    def _note_outputs(self, outputs: tuple[str, ...], scope: ShellScope) -> None:
        if outputs:
            self._append(Started((":",), scope.folder, (), outputs, started_by=self._started_by, machine=self._machine))

    def _note_other_folder(self, started: Started, operator: str, earlier: str, scope: ShellScope) -> None:
        """Note where commands run if `cd` fails. A folder that is named before, as in `mkdir x; cd x`, may be made by then."""
        name = scope.folder.rstrip("/").rpartition("/")[2]
        is_checked = operator not in (";", "\n") or scope.ends_on_error or UNKNOWN in scope.folder
        is_made = self._names.get(name, 0) > sum(word.rstrip("/").endswith(name) for word in started.words[1:])
        scope.other_folder = "" if is_checked or is_made or not scope.folder else earlier

    def _list_outputs(self, command: ShellCommand, scope: ShellScope, *, is_error: bool = False) -> tuple[str, ...]:
        """Return the files that a command, or only its errors, is redirected to, also by descriptors that are open."""
        outputs: list[str] = []
        for one in command.redirections:
            if one.target is None or ">" not in one.operator or (is_error and one.descriptor != "2"):
                continue
            texts = scope.expand(one.target)
            # A descriptor is closed.
            if one.operator == ">&" and texts == ["-"]:
                continue
            if one.operator == ">&" and all(text.isdigit() for text in texts):
                outputs += [path for text in texts if (path := self._sources.open_files.get(text, ""))]
            elif not one.target.raw.startswith(">("):
                outputs += texts
        return tuple(outputs)

    def _open_descriptors(
        self, words: list[ShellWord], command: ShellCommand, scope: ShellScope, nested: tuple[Started, ...]
    ) -> None:
        """`exec 3< FILE` and `exec {name}<<< TEXT`: what is read from or written to the descriptor later."""
        for one in command.redirections:
            target = one.target.raw if one.target is not None else ""
            is_closing = one.operator.endswith("&") and target == "-"
            number = one.descriptor or ("0" if one.operator.startswith("<") else "1")
            if len(words) > 1:
                name = words[1].raw.strip("{}")
                number = scope.look_up(name) if is_closing else str(self._sources.add_descriptor())
                scope.assign(name, number)
            path = f"/dev/fd/{number}"
            # What another shell closes, or perhaps nobody does, stays open here.
            if not is_closing or (scope.is_plain and not self._started_by):
                self._sources.close_descriptor(number)
            if is_closing:
                scope.written.pop(path, None)
                continue
            if one.operator.endswith("&") and one.target is not None:
                # With `3-`, the other one is closed then.
                other = scope.expand_text(one.target).removesuffix("-")
                self._sources.copy_descriptor(number, other)
                scope.written |= {path: text} if (text := scope.written.get(f"/dev/fd/{other}")) else {}
                continue
            if ">" in one.operator and one.target is not None:
                if target.startswith(">("):
                    self._sources.open_programs[number] = nested
                else:
                    self._open_file(number, one.operator, scope.expand_text(one.target), scope)
                continue
            if text := one.body or scope.find_redirected_text(one):
                scope.written[path] = text
            file = scope.make_absolute(scope.expand_text(one.target)) if one.target is not None else ""
            self._sources.note_file(path, nested if target.startswith("<(") else self._sources.find_file(file))

    def _open_file(self, number: str, operator: str, target: str, scope: ShellScope) -> None:
        """Note the file that is written to by a descriptor; `>&4` is what another one is open for, and `>&4-` moves it."""
        copied = target.removesuffix("-")
        if operator != ">&" or not copied.isdigit():
            self._sources.open_files[number] = scope.make_absolute(target)
        elif path := self._sources.open_files.get(copied):
            self._sources.open_files[number] = path

    def _feed_programs(
        self, command: ShellCommand, started: Started, nested: tuple[Started, ...], scope: ShellScope
    ) -> None:
        """Note that what a command prints is read by programs in `>(…)`, or behind a descriptor."""
        targets = [one.target for one in command.redirections if one.target is not None and ">" in one.operator]
        fed = nested if any(word.raw.startswith(">(") for word in (*command.words, *targets)) else ()
        for target in targets if self._sources.open_programs else ():
            fed = (*fed, *self._sources.open_programs.get(scope.expand_text(target), ()))
        readers = [program for program in fed if reads_code_from_stdin(program)]
        sources = (*started.feeders, started)[-MAX_SOURCES:]
        for program in readers:
            at = self._positions[id(program)]
            self.started[at] = self.started[at].replace(feeders=sources, code_sources=sources)
        text = scope.find_program_output(started.words, started.input_text) if readers else UNKNOWN
        if text != UNKNOWN:
            self._run_inner(InnerCommand(text), readers[0], scope.copy(deeper=1))

    def _assign_words(
        self, assigned: list[ShellWord], command: ShellCommand, scope: ShellScope, nested: tuple[Started, ...]
    ) -> None:
        for word in assigned:
            scope.assign_word(word)
            programs = self._sources.find_words([word.raw]) if "$" in word.raw else ()
            has_substitution = "$(" in word.raw or "`" in word.raw
            self._sources.note_variable(get_assigned_name(word.raw), (*programs, *(nested if has_substitution else ())))
        names = [get_assigned_name(word.raw) for word in assigned]
        if "PATH" in names:
            scope.forget_programs()
        self._read_command_variables([(name, scope.look_up(name)) for name in names], scope)
        if assigned and command.operator == "(":
            self._array = names[-1]
            scope.assign(self._array, UNKNOWN)

    def _read_command_variables(self, variables: Iterable[tuple[str, str]], scope: ShellScope | None) -> None:
        """Read variables whose value is a command that programs run, such as `EDITOR`."""
        for name, value in variables:
            if scope is not None and _COMMAND_VARIABLE.fullmatch(name):
                outer, self._started_by = self._started_by, (*self._started_by, f"{name}=")
                self.read(value.lstrip("!|"), scope.copy(deeper=1))
                self._started_by = outer

    def _expand_words(self, words: list[ShellWord], scope: ShellScope) -> list[str]:
        """Return the words of a command; a program that may be one of several is not known."""
        programs = scope.expand(words[0])
        is_choice = len(programs) > 1 and UNKNOWN in scope.expand_text(words[0])
        rest = [text for word in words[1:] for text in scope.expand(word)]
        return [*([UNKNOWN] if is_choice else programs), *rest]

    def _read_alias(self, name: str, arguments: list[str], scope: ShellScope) -> None:
        inner = scope.copy(deeper=1)
        text = inner.aliases.pop(name)
        self.read(" ".join((text, *map(quote_word, arguments))), inner)

    def _start_loop(self, words: list[ShellWord], scope: ShellScope) -> None:
        name = words[1].text if len(words) > 1 else ""
        values = [text for word in words[3:] for text in scope.expand(word)]
        # Without `in`, a loop is about the parameters.
        scope.assign_choices(name, values if len(words) > 2 else scope.parameters[1:])

    def _run_builtin(self, started: Started, words: list[ShellWord], scope: ShellScope) -> None:
        """Change the scope as a program does that is a part of the shell."""
        program, texts = started.name, list(started.words)
        if program in _REFERRING and "-n" in texts:
            for name, _, target in (text.partition("=") for text in texts[1:] if "=" in text):
                scope.assign(name, scope.look_up(target))
            return
        if program in EXPORTERS:
            for word in words[1:]:
                name = get_assigned_name(word.raw) or word.raw
                scope.note_local(name, is_local=program == "local")
                if get_assigned_name(word.raw):
                    scope.assign_word(word)
                    has_substitution = "$(" in word.raw or "`" in word.raw
                    sources = started.substituted if has_substitution else ()
                    self._sources.note_variable(get_assigned_name(word.raw), sources)
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
            self._read_variables(started, scope)
        elif program == "printf" and texts[1:2] == ["-v"]:
            scope.assign("".join(texts[2:3]), print_words(texts))
        elif program == "hash":
            _note_remembered(texts, scope)
        elif program == "enable" and "-n" in texts:
            scope.aliases |= {name: scope.hidden[name] for name in texts[1:] if name in scope.hidden}
        elif program == "set":
            is_ending = any(_ENDS_ON_ERROR.fullmatch(text) for text in texts[1:])
            scope.ends_on_error = scope.ends_on_error or is_ending
            scope.parameters = ("", *texts[texts.index("--") + 1 :]) if "--" in texts else scope.parameters
        elif program in CONTAINER_PROGRAMS:
            # Inside, a folder of this machine is what a link to it would be here.
            for source, target in list_shared_folders(program, texts[1:]):
                if target.startswith("/") and target.strip("/"):
                    scope.links[target.rstrip("/")] = scope.make_absolute(source)
        elif program == "ln":
            note_link(texts[1:], scope)

    def _read_variables(self, started: Started, scope: ShellScope) -> None:
        """`read NAME`: the variables have what is read."""
        match = _READ_DESCRIPTOR.search(" ".join(started.words[1:]))
        path = f"/dev/fd/{match[1]}" if match else ""
        read_paths = scope.written.get(path, "").split() if match else [*started.read_paths]
        read_paths = read_paths or [path for script in self._loop_scripts for path in scope.list_script_paths(script)]
        names = [text for text in started.words[1:] if text.isidentifier()]
        for name in names:
            # The last one has all that is left; with several names, it is not known where the text is cut.
            is_text = bool(match) and started.name == "read" and len(names) == 1
            if is_text:
                scope.assign(name, scope.written.get(path, UNKNOWN).strip())
            else:
                scope.assign_choices(name, read_paths or [UNKNOWN])
            inputs = [
                self._sources.find_file(started.make_absolute(one)) for one in (path, *started.input_paths) if one
            ]
            self._sources.note_variable(name, (*started.feeders, *(one for programs in inputs for one in programs)))

    def _add(self, started: Started) -> None:
        """Add a program, or what it starts in its place."""
        count = len(started.variables)
        wrapper, started = started, unwrap(started)
        self.is_complete = self.is_complete and started.name not in WRAPPERS
        if not started.words and wrapper.name not in SHELL_PREFIXES:
            # It starts nothing: it is called for itself.
            started = wrapper
        self._read_command_variables(started.variables[count:], started.scope)
        if not started.words:
            self._note_outputs(started.outputs, ShellScope(started.folder, {}))
            return
        if len(self.started) >= MAX_STARTED:
            return
        if started.scope is not None and (script := find_script_text(started, started.scope)):
            started = started.replace(script_text=script)
        if sources := self._sources.find(started):
            started = started.replace(code_sources=sources)
        self._append(started)
        self._sources.note_written(started)
        scope = (started.scope or ShellScope(started.folder, {})).copy(deeper=1)
        scope.folder = started.folder
        scope.is_plain = True
        for name, value in started.variables:
            scope.assign(name, value)
        if started.name in CONTAINER_PROGRAMS:
            inside = find_contained_folder(started.name, list(started.words[1:]), started.folder)
            # The shell outside opens the files that are read.
            paths = tuple(map(started.make_absolute, started.input_paths))
            scope.folder, started = inside, started.replace(folder=inside, input_paths=paths)
        if started.name in _OTHER_SESSIONS:
            scope.remove("HOME")
            started = started.replace(variables=())
        if started.read_paths or scope.choices:
            choices = [path for paths in scope.choices.values() for path in paths]
            scope.assign_choices(FOUND_VARIABLE, started.read_paths or choices)
        known = [dict(one) for one in (scope.variables, scope.aliases, scope.written) if started.script_text]
        way = (started.words, started.input_text, scope.folder, *known)
        # A script that starts itself as it was started does nothing new.
        if started.script_text and way in self._scripts:
            return
        self._scripts.append(way)
        for command in list_inner_commands(started):
            self._run_inner(command, started, scope)
        self._scripts.pop()

    def _run_inner(self, command: InnerCommand, started: Started, scope: ShellScope) -> None:
        """Note what a program runs."""
        outer = self._started_by, self._machine, self._outer_pipe, self._outer_text, self._outer_paths
        self._started_by = (*started.started_by, started.name)
        self._outer_pipe = _list_inherited(command, started)
        has_text = hands_text_on(started, command)
        self._outer_text = started.input_text if has_text else ""
        self._outer_paths = tuple(map(started.make_absolute, started.input_paths)) if has_text else ()
        self._machine = command.machine or started.machine
        if command.machine:
            scope = ShellScope("", {}, scope.depth)
        if command.words and scope.depth <= MAX_TEXT_DEPTH:
            # What it does not know of its words comes from the programs before it.
            inner = started.replace(
                words=command.words,
                feeders=tuple(self._outer_pipe),
                folder=scope.folder,
                outputs=(),
                error_outputs=(),
                input_text=self._take_outer_text(),
                input_paths=self._outer_paths,
                script_text="",
            )
            self._add(
                inner.replace(
                    read_paths=tuple(list_placed_paths(started)),
                    scope=scope,
                    substituted=(*started.substituted, *started.feeders)[-MAX_SOURCES:],
                    code_sources=(),
                    started_by=self._started_by,
                    machine=self._machine,
                )
            )
        elif command.text:
            scope.parameters = command.parameters
            text = command.text
            self.read(text.replace(UNKNOWN, f"${FOUND_VARIABLE}") if scope.choices else text, scope)
            if started.name in _SAME_SHELL and started.scope is not None:
                started.scope.variables.update(scope.variables)
                started.scope.aliases.update(scope.aliases)
                started.scope.folder = scope.folder
        self._started_by, self._machine, self._outer_pipe, self._outer_text, self._outer_paths = outer


def quote_word(word: str) -> str:
    """Return a word as it is written in a text; a pattern stays one."""
    quoted = "'" + word.replace("'", "'\\''") + "'"
    return quoted if isinstance(word, QuotedName) else re.sub(r"[*?\[\]]", r"'\g<0>'", quoted)


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


def _list_inherited(command: InnerCommand, started: Started) -> list[Started]:
    """Return the programs whose output is read by what a program runs."""
    if started.name in _CONNECTORS:
        return [*started.feeders, started]
    return [*started.feeders] if hands_input_on(started, command) else []


def _is_only_exec(words: list[ShellWord]) -> bool:
    """Whether `exec` starts no program, but opens files."""
    words = _skip_exec_options(words)
    return len(words) == 1 or (len(words) == 2 and words[1].raw[:1] == "{" and words[1].raw[-1:] == "}")


def _skip_exec_options(words: list[ShellWord]) -> list[ShellWord]:
    """Return `exec` and the words behind its options."""
    behind = skip_options([word.raw for word in words[1:]], "-a")
    return [words[0], *words[len(words) - len(behind) :]]


def _note_remembered(texts: list[str], scope: ShellScope) -> None:
    """`hash -p PROGRAM NAME` and `hash -r`."""
    if "-r" in texts:
        scope.forget_programs()
    if "-p" in texts[:-2]:
        # The shell's own commands come before what it remembers.
        (scope.hidden if texts[-1] in SHELL_WORDS else scope.aliases)[texts[-1]] = texts[-2]
        scope.remembered.add(texts[-1])
