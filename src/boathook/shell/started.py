"""Which programs a shell text starts: through wrappers, shells, loops, `xargs` and `find -exec`, one after the other."""

from __future__ import annotations

import re
from base64 import b32decode, b64decode

from boathook.core.shell import SHELL_KEYWORDS, SHELL_NAMES, ShellCommand, ShellReader, ShellWord, get_assigned_name
from boathook.core.value import Value
from boathook.shell.fd_search import list_fd_commands
from boathook.shell.scope import (
    UNKNOWN,
    FindFilters,
    FoundPath,
    ShellScope,
    find_printed_text,
    get_program_name,
)

MAX_TEXT_DEPTH = 5
MAX_STARTED = 4000
MAX_COMMAND_CHARS = 400_000
SHELLS = frozenset((*SHELL_NAMES, "mksh", "ash", "fish", "rbash"))
# Programs that run the text they read.
TEXT_READERS = SHELLS | {"at", "batch"}
EXPORTERS = frozenset(("export", "declare", "local", "readonly", "typeset"))
# Words before a command that are neither it nor a program.
_KEYWORDS = frozenset((*SHELL_KEYWORDS, "coproc", "fi", "done", "esac", "}", "in"))
_BRANCHES = frozenset(("for", "select", "case", "function", "local", "declare", "typeset", "readonly"))
# What is before or in one of these does not change the shell that goes on.
_OTHER_SHELLS = frozenset(("(", ")", "|", "|&", "&"))
# Programs that start another one: their options that take a value, and how many words are before the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-C -D -g -h -p -R -r -T -t -U -u --user --group --host --prompt --chdir --role --type --other-user", 0),
    "doas": ("-C -u", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n", 0),
    "time": ("-f -o", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "stdbuf": ("-i -o -e", 0),
    "exec": ("-a", 0),
    "strace": ("-e -o -p -s", 0),
    "ltrace": ("-e -o -p -s", 0),
    "chroot": ("", 1),
    "chrt": ("", 1),
    "taskset": ("", 1),
    "flock": ("-w -E", 1),
    "systemd-run": ("-p -u --unit --property --slice -d --uid --gid -M -E --setenv", 0),
    "unshare": ("-S -G --setuid --setgid --root -R -w --wd", 0),
    "nsenter": ("-t -S -G --target", 0),
    "setpriv": ("", 0),
    "proot": ("-b -r -w", 0),
    "direnv": ("", 2),
    "arch": ("", 0),
    "rlwrap": ("", 0),
    "autoexpect": ("-f", 0),
    "dtach": ("-n -c -A -e -r", 0),
    "npx": ("-p --package", 0),
    "pnpx": ("", 0),
    "bunx": ("-p --package", 0),
    "shx": ("", 0),
    "corepack": ("", 0),
    "uvx": ("--from --with -p --python", 0),
    **dict.fromkeys(
        (
            *("{", "!", "command", "builtin", "nohup", "setsid", "busybox", "toybox", "caffeinate", "unbuffer"),
            "catchsegv",
        ),
        ("", 0),
    ),
}
# Tools whose subcommand starts another program.
_RUNNERS = {
    **dict.fromkeys(("uv", "pipx", "poetry", "hatch", "pdm", "rye", "pipenv", "conda", "mamba", "rtx"), ("run",)),
    "mise": ("exec", "x"),
    "uv": ("run", "tool run"),
    "npm": ("exec", "x"),
    "pnpm": ("dlx", "exec"),
    "yarn": ("dlx", "exec"),
    "bun": ("x",),
}
# Those of packages for Node.js: they take the version of a package behind its name, and a shell text as one word.
_PACKAGE_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx"))
_PACKAGE_RUNNER_VALUES = "--prefix -C --dir --cwd --filter -F -w --workspace -p --package"
# Programs of packages that change files, which some of them start without a subcommand.
_PACKAGE_PROGRAMS = ("rimraf", "shx", "del-cli", "trash")
_RUNNER_VALUES = "--with --from --python -p --spec --project --directory -n --name --extra --group --env -e --index-url"
_XARGS_VALUES = "-I -n -P -L -l -d -E -s -a --max-args --max-procs --delimiter --replace --arg-file"
_SHELL_OPTION = re.compile(r"-\w*c")
_FIND_OPTION = re.compile(r"-([HLP]|O\d|D)")
# Programs whose command runs with another environment than the text around it says.
_OTHER_ENVIRONMENTS = frozenset(("sudo", "doas", "systemd-run"))
_OTHER_SESSIONS = frozenset(("tmux", "screen", "ssh", "su", "runuser", "at", "batch"))
_TMUX_VALUES = "-L -S -f -T -c -e -F -n -s -t -x -y -l"
_TMUX_KEYS = frozenset(("", "Enter", "C-m", "Space", "KPEnter"))
_SCREEN_VALUES = "-S -dmS -mdS -DmS -dS -mS -AdmS -dmLS -t -c -e -h -p -s -T"
_SPAWN = re.compile(r"\b(?:spawn|exec|system)\b(?:\s+-\w+)*\s+([^;\n\]]+)")
_FIND_EXEC = ("-exec", "-execdir", "-ok", "-okdir")


class Started(Value):
    """A program that is about to be started; `words` are what it is called with, and may have `UNKNOWN` and patterns in them."""

    # `variables` are set for it alone; `outputs` are the paths that it is redirected to; `input_text` is what it reads, if the
    # text says it; `piped_words` are those of the program before it in a pipe.
    words: tuple[str, ...]
    folder: str
    variables: tuple[tuple[str, str], ...] = ()
    outputs: tuple[str, ...] = ()
    input_text: str = ""
    piped_words: tuple[str, ...] = ()
    scope: ShellScope | None = None

    @property
    def name(self) -> str:
        return get_program_name(self.words)

    def make_absolute(self, path: str) -> str:
        if path.startswith(("/", UNKNOWN)):
            return path
        return f"{self.folder or UNKNOWN}/{path}"


class StartedReader:
    """Finds all programs that a shell text starts. Takes linear time and never raises."""

    # `is_complete` is False if something was nested too deep, or the text was too long, to be read to its end.

    def __init__(self) -> None:
        self.started: list[Started] = []
        self.is_complete = True
        # Everything that is written as a word anywhere.
        self.words: list[tuple[str, str]] = []

    def read(self, text: str, scope: ShellScope) -> None:
        if scope.depth > MAX_TEXT_DEPTH or len(text) > MAX_COMMAND_CHARS:
            self.is_complete = False
            return
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
        for command in commands:
            pipe = self._pass(command, inner, pipe, folders)

    def _pass(self, command: ShellCommand, scope: ShellScope, pipe: list[Started], folders: list[str]) -> list[Started]:
        first = command.words[0].raw if command.words else ""
        if command.operator in _OTHER_SHELLS or first in _KEYWORDS or first in _BRANCHES:
            scope.is_plain = False
        started = self._start(command, scope, pipe)
        if command.operator in ("&&", "||"):
            scope.is_plain = False
        if command.operator == "(":
            folders.append(scope.folder)
        elif command.operator == ")" and folders:
            scope.folder = folders.pop()
        return [*pipe, *started] if command.operator in ("|", "|&") else []

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
            for word in assigned:
                scope.assign_word(word)
            if assigned and command.operator == "(":
                scope.assign(get_assigned_name(assigned[-1].raw), UNKNOWN)
            if outputs:
                self.started.append(Started((":",), scope.folder, (), outputs))
            return []
        if words[0].raw in ("for", "select"):
            self._start_loop(words, scope)
            return []
        texts = [text for word in words for text in scope.expand(word)]
        inner = scope.copy()
        for word in assigned:
            inner.assign_word(word)
        names = [get_assigned_name(word.raw) for word in assigned]
        variables = tuple((name, inner.look_up(name)) for name in names)
        self._run_builtin(texts, words, scope)
        fed = _find_input_text(command, scope, pipe)
        piped = pipe[-1].words if pipe else ()
        first = Started(tuple(texts), scope.folder, variables, outputs, fed, piped, scope)
        count = len(self.started)
        self._add(first)
        if words[0].raw in scope.aliases:
            self._read_alias(words[0].raw, texts[1:], inner)
        return self.started[count:][:1] or [first]

    def _read_alias(self, name: str, arguments: list[str], scope: ShellScope) -> None:
        inner = scope.copy(deeper=1)
        text = inner.aliases.pop(name)
        self.read(" ".join((text, *map(_quote_word, arguments))), inner)

    def _start_loop(self, words: list[ShellWord], scope: ShellScope) -> None:
        name = words[1].text if len(words) > 1 else ""
        values = [text for word in words[3:] for text in scope.expand(word)]
        is_one = len(values) == 1 and not set(values[0]) & set("*?[")
        scope.assign(name, values[0] if is_one else UNKNOWN)

    def _run_builtin(self, texts: list[str], words: list[ShellWord], scope: ShellScope) -> None:
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
        elif program == "popd":
            scope.folder = scope.earlier_folders.pop() if scope.earlier_folders else ""
        elif program in ("read", "mapfile", "readarray", "getopts"):
            for text in texts[1:]:
                scope.assign(text, UNKNOWN)
        elif program == "set" and "--" in texts:
            scope.parameters = ("", *texts[texts.index("--") + 1 :])
        elif program == "ln":
            _note_link(texts[1:], scope)

    def _add(self, started: Started) -> None:
        """Add a program, or what it starts in its place."""
        started = unwrap(started)
        if not started.words:
            if started.outputs:
                self.started.append(started.replace(words=(":",)))
            return
        if len(self.started) >= MAX_STARTED:
            return
        self.started.append(started)
        scope = (started.scope or ShellScope(started.folder, {})).copy(deeper=1)
        scope.folder = started.folder
        scope.is_plain = True
        for name, value in started.variables:
            scope.assign(name, value)
        if started.name in _OTHER_SESSIONS:
            scope.remove("HOME")
            started = started.replace(variables=())
        for text, parameters in list_inner_texts(started):
            scope.parameters = parameters
            self.read(text, scope)
        if scope.depth <= MAX_TEXT_DEPTH:
            for words in list_inner_commands(started):
                self._add(started.replace(words=words, outputs=(), input_text="", piped_words=(), scope=scope))


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
    if not pipe:
        return ""
    if pipe[-1].name in ("echo", "printf"):
        return find_printed_text(list(pipe[-1].words), scope.folder)
    if pipe[-1].name in ("base64", "base32", "xxd"):
        return _decode_text(pipe[-1])
    return pipe[-1].input_text if pipe[-1].name in ("cat", "tee", "sort") else ""


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


# Programs that start programs


def unwrap(started: Started) -> Started:
    """Return what `sudo`, `env`, `timeout`, `uv run` and their like would start."""
    words, folder, variables = list(started.words), started.folder, list(started.variables)
    scope = started.scope
    while words:
        program = get_program_name(words)
        rest = words[1:]
        runner = _skip_runner(program, rest) if program in _RUNNERS else None
        if runner is not None:
            words = _read_package_call(runner) if program in _PACKAGE_RUNNERS else runner
            continue
        if program not in WRAPPERS:
            break
        if program == "command" and rest and re.fullmatch("-p?[vV]+", rest[0]):
            return started.replace(words=(":",))
        if program in ("env", "sudo", "unshare"):
            folder = _find_option_folder(rest, folder, ("-C", "--chdir", "-D", "--wd"))
        if program == "env" and rest and (rest[0] in ("-S", "--split-string") or rest[0].startswith("-S")):
            text = " ".join([rest[0].removeprefix("-S"), *rest[1:]] if rest[0].startswith("-S") else rest[1:])
            words = text.split()
            continue
        if program == "flock" and "-c" in rest:
            words = ["sh", *rest[rest.index("-c") :]]
            continue
        if removed := _list_removed_variables(program, rest, variables):
            variables = [pair for pair in variables if pair[0] not in removed]
            scope = (scope or ShellScope(folder, {})).copy()
            for name in removed:
                scope.remove(name)
        options, skipped = WRAPPERS[program]
        rest = skip_options(_open_call_options(rest) if program in _PACKAGE_RUNNERS else rest, options)
        if program == "env" and rest[:1] == ["-"]:
            rest = skip_options(rest[1:], options)
        while rest and program in ("sudo", "doas", "env") and get_assigned_name(rest[0]):
            name, _, value = rest[0].partition("=")
            variables.append((name, value))
            rest = rest[1:]
        words = _read_package_call(rest) if program in _PACKAGE_RUNNERS else rest[skipped:]
    return started.replace(words=tuple(words), folder=folder, variables=tuple(variables), scope=scope)


def _list_removed_variables(program: str, arguments: list[str], variables: list[tuple[str, str]]) -> list[str]:
    """Return the variables that a program takes away from what it starts."""
    everything = ["HOME", *(name for name, _ in variables)]
    if program in _OTHER_ENVIRONMENTS:
        return everything
    if program not in ("env", "exec"):
        return []
    removed: list[str] = []
    waiting = [*arguments]
    while waiting and waiting[0].startswith("-"):
        word = waiting.pop(0)
        if word in ("-", "--ignore-environment") or re.fullmatch(r"-\w*[icl]\w*", word):
            return everything
        if word in ("-u", "--unset"):
            removed += waiting[:1]
        elif word.startswith(("-u", "--unset=")):
            removed.append(word.removeprefix("--unset=").removeprefix("-u"))
        waiting = waiting[1:] if word in ("-u", "--unset", "-C", "--chdir", "-a") else waiting
    return removed


def _skip_runner(program: str, rest: list[str]) -> list[str] | None:
    if program in _PACKAGE_RUNNERS:
        rest = skip_options(_open_call_options(rest), _PACKAGE_RUNNER_VALUES)
        behind = rest[1:] if rest[:1] == ["run"] else rest
        if behind and behind[0] in _PACKAGE_PROGRAMS:
            return behind
    operands = [word for word in rest if not word.startswith("-")]
    for subcommand in _RUNNERS.get(program, ()):
        parts = subcommand.split()
        if operands[: len(parts)] == parts:
            behind = rest[rest.index(parts[-1]) + 1 :]
            return skip_options(behind, _PACKAGE_RUNNER_VALUES if program in _PACKAGE_RUNNERS else _RUNNER_VALUES)
    return None


def _read_package_call(words: list[str]) -> list[str]:
    if not words:
        return words
    if " " in words[0]:
        return ["sh", "-c", " ".join(words)]
    return [re.sub(r"(?<=\w)@[^/]*$", "", words[0]), *words[1:]]


def _open_call_options(arguments: list[str]) -> list[str]:
    """Return arguments in which the text of `--call=TEXT` is a word of its own."""
    return [part for word in arguments for part in (word.split("=", 1) if word.startswith("--call=") else [word])]


def _find_option_folder(arguments: list[str], folder: str, options: tuple[str, ...]) -> str:
    for at, word in enumerate(arguments):
        name, _, value = word.partition("=")
        if name in options:
            target = value or (arguments[at + 1] if at + 1 < len(arguments) else "")
            return target if target.startswith(("/", UNKNOWN)) else f"{folder or UNKNOWN}/{target}"
        if not word.startswith("-"):
            break
    return folder


def skip_options(arguments: list[str], with_value: str) -> list[str]:
    takes_value = with_value.split()
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        if arguments[at] == "--":
            return arguments[at + 1 :]
        at += 2 if arguments[at] in takes_value else 1
    return arguments[at:]


def list_operands(arguments: list[str] | tuple[str, ...]) -> list[str]:
    """Return the words that are not options."""
    if "--" in arguments:
        at = arguments.index("--")
        return [*list_operands(arguments[:at]), *arguments[at + 1 :]]
    return [word for word in arguments if word and (word == "-" or not word.startswith("-"))]


def list_inner_texts(started: Started) -> list[tuple[str, tuple[str, ...]]]:
    """Return the shell texts that a program runs, each with its parameters."""
    name, rest = started.name, list(started.words[1:])
    if name in SHELLS:
        for at, word in enumerate(rest):
            if _SHELL_OPTION.fullmatch(word) and at + 1 < len(rest):
                return [(rest[at + 1], tuple(rest[at + 2 :]))]
            if not word.startswith(("-", "+")):
                break
    if name in TEXT_READERS and started.input_text:
        is_reader = "-s" in rest or not list_operands(rest) or list_operands(rest) == ["-"] or name not in SHELLS
        return [(started.input_text, ())] if is_reader else []
    if name in ("source", ".") and started.input_text:
        return [(started.input_text, ())]
    if name == "eval":
        return [(" ".join(rest), ())]
    if name in ("trap", "alias"):
        return [(text.partition("=")[2] if name == "alias" else text, ()) for text in list_operands(rest)[:1]]
    if name == "ssh":
        return [(" ".join(skip_options(rest, "-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w")[1:]), ())]
    if name == "hyperfine":
        return [(word.partition("=")[2] if word.startswith("--") else word, ()) for word in rest if " " in word]
    if name == "entr" and any(re.fullmatch(r"-[a-z]*s[a-z]*", word) for word in rest):
        return [(text, ()) for text in skip_options(rest, "")[:1]]
    if name == "watch":
        return [(" ".join(skip_options(rest, "-n --interval")), ())]
    if name == "expect":
        texts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if _SHELL_OPTION.fullmatch(word)]
        return [(match[1], ()) for text in (*texts, started.input_text) for match in _SPAWN.finditer(text)]
    if name in ("su", "runuser", "script", "sg"):
        options = enumerate(rest[:-1])
        return [(rest[at + 1], ()) for at, word in options if word == "--command" or _SHELL_OPTION.fullmatch(word)]
    if name in ("tmux", "screen") and rest:
        return [(text, ()) for text in rest if " " in text]
    return []


def list_inner_commands(started: Started) -> list[tuple[str, ...]]:
    """Return the commands that a program starts for words that it reads or finds."""
    name, rest = started.name, list(started.words[1:])
    if name == "find":
        return [words for _, words in list_find_commands(rest)]
    if name in ("fd", "fdfind"):
        return list_fd_commands(rest)
    if name == "rg":
        # It starts a program with every file that it reads.
        programs = [word.partition("=")[2] for word in rest if word.startswith("--pre=")]
        programs += [rest[at + 1] for at, word in enumerate(rest[:-1]) if word == "--pre"]
        shows_hidden = any(re.fullmatch(r"-\w*[u.]\w*|--hidden", word) for word in rest)
        filters = FindFilters(skips_hidden=not shows_hidden)
        paths = [path for path in list_operands(rest) if path not in programs] or ["."]
        return [(program, FoundPath.make(path, filters)) for program in programs for path in paths]
    if name == "entr":
        command = skip_options(rest, "")
        read = _list_read_words(started)
        return [tuple(path for word in command for path in (read if word == "/_" else [word]))] if command else []
    if name == "xargs":
        command = skip_options(rest, _XARGS_VALUES)
        return [_place_words(command, _list_read_words(started))] if command else []
    if name == "parallel":
        command = skip_options(rest, "-j -I --jobs")
        cut = next((at for at, word in enumerate(command) if word in (":::", "::::")), len(command))
        words = command[cut + 1 :] or _list_read_words(started)
        return [_place_words(command[:cut], words)] if command[:cut] else []
    if name == "tmux":
        return _list_tmux_commands(rest)
    if name == "screen":
        return [tuple(skip_options(rest, _SCREEN_VALUES))]
    if name == "script":
        return [tuple(list_operands(rest[: rest.index("-c")] if "-c" in rest else rest)[1:])]
    return []


def _list_tmux_commands(words: list[str]) -> list[tuple[str, ...]]:
    """Return what the commands of `tmux` start: what is behind their names and options."""
    commands: list[tuple[str, ...]] = []
    behind = skip_options(words, _TMUX_VALUES)
    while behind:
        end = next((at for at, word in enumerate(behind) if word.endswith(";")), len(behind))
        inner = [*behind[1:end], *([behind[end].rstrip(";")] if end < len(behind) else [])]
        commands.append(tuple(word for word in skip_options(inner, _TMUX_VALUES) if word not in _TMUX_KEYS))
        behind = behind[end + 1 :]
    return commands


def _place_words(command: list[str], words: list[str]) -> tuple[str, ...]:
    if not any("{}" in word or word == "%" for word in command):
        return (*command, *words)
    placed: list[str] = []
    for word in command:
        if word in ("{}", "%"):
            placed += words
        elif "{}" in word:
            placed += [word.replace("{}", one) for one in words]
        else:
            placed.append(word)
    return tuple(placed)


def _list_read_words(started: Started) -> list[str]:
    """Return the words that a program reads from the one before it, `UNKNOWN` if that cannot be said."""
    if started.input_text:
        return started.input_text.split()
    source = list(started.piped_words)
    program = get_program_name(source)
    if program == "find":
        return [*list_found_paths(source[1:])]
    if program == "ls":
        has_hidden = any(re.fullmatch(r"-\w*[aA]\w*", word) for word in source[1:])
        folders = list_operands(source[1:]) or ["."]
        return [f"{folder}/{name}" for folder in folders for name in (("*", ".*") if has_hidden else ("*",))]
    return [UNKNOWN]


# find


def list_find_starts(arguments: list[str]) -> list[str]:
    at = 0
    while at < len(arguments) and _FIND_OPTION.fullmatch(arguments[at]):
        at += 1
    starts: list[str] = []
    for word in arguments[at:]:
        if word[:1] in ("-", "(", "!", ","):
            break
        starts.append(word)
    return starts or ["."]


def list_found_paths(arguments: list[str]) -> list[FoundPath]:
    return [FoundPath.make(start, _read_filters(arguments)) for start in list_find_starts(arguments)]


def _read_filters(arguments: list[str]) -> FindFilters:
    names: list[str] = []
    paths: list[str] = []
    max_depth = 1 << 30
    is_negated = False
    for at, word in enumerate(arguments[:-1]):
        value = arguments[at + 1]
        if word in ("-name", "-iname") and not is_negated:
            names.append(value)
        elif word in ("-path", "-ipath", "-wholename", "-iwholename") and not is_negated:
            paths.append(value)
        elif word in ("-regex", "-iregex") and not is_negated:
            # No pattern of ours: it may find anything.
            names.append("*")
        elif word == "-maxdepth" and value.isdigit():
            max_depth = int(value)
        is_negated = word in ("!", "-not")
    # What is only left out may have been named before `-prune`.
    if "-prune" in arguments:
        names, paths = [], []
    return FindFilters(tuple(names), tuple(paths), max_depth, "-empty" in arguments)


def list_find_commands(arguments: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the commands of `-exec` and its like, with what is found in place of `{}`."""
    found = list_found_paths(arguments)
    commands: list[tuple[str, tuple[str, ...]]] = []
    for at, word in enumerate(arguments):
        if word in _FIND_EXEC:
            behind = arguments[at + 1 :]
            end = next((index for index, one in enumerate(behind) if one in (";", "+")), len(behind))
            placed = [path for one in behind[:end] for path in (found if "{}" in one else [one])]
            commands.append((word, tuple(placed)))
    return commands
