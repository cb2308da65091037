"""Shell texts and commands that a program runs, by the words that it is called with."""

from __future__ import annotations

import re
from collections.abc import Callable

from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.core.value import Value
from boathook.shell.arguments import UNKNOWN, find_option_values, get_program_name, list_operands, skip_options
from boathook.shell.code_commands import list_code_commands
from boathook.shell.code_input import CODE_FILE, CODE_INPUT, CODE_WORD, INPUT_FILES, find_code_use
from boathook.shell.command_carriers import (
    COMMANDS_BEHIND,
    LAST_TEXT_OPERANDS,
    OPTION_TEXTS,
    REMOTE_PROGRAMS,
    TEXT_OPERANDS,
    list_commands_behind,
    list_option_texts,
)
from boathook.shell.containers import CONTAINER_PROGRAMS, list_contained_commands
from boathook.shell.fd_search import list_fd_commands
from boathook.shell.find_search import list_find_commands
from boathook.shell.git_commands import list_git_commands, list_git_texts
from boathook.shell.listers import list_printed_paths
from boathook.shell.path_changes import RULES, is_known_program
from boathook.shell.replaced_words import list_parallel_commands, list_read_words, list_xargs_commands
from boathook.shell.started_program import Started

# Programs that run the text they read.
TEXT_READERS = SHELLS | {"at", "batch", "newgrp"}
_SSH_VALUES = "-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w -B -I"
_THIS_MACHINE = re.compile(
    r"(?:ssh://)?(?:localhost(?:\.localdomain)?|127[\d.]*|0(?:\.0\.0\.0)?|\[?::1\]?|ip6-localhost)(?::\d+)?/?"
)
# `-o` may be behind letters that take no value.
_SSH_OPTION = re.compile(r"-[1246AaCfGgKkMNnqrsTtvVXxYyp]*o(.*)", re.DOTALL)
_SSH_COMMAND = re.compile(r"\s*\w*command[=\s]\s*(.*)", re.DOTALL | re.IGNORECASE)
_APT_COMMAND = re.compile(
    r"[\w:-]*(?:invoke|post-install|pre-install|run-scripts)[\w:-]*=(.*)", re.DOTALL | re.IGNORECASE
)
_SOCAT_COMMAND = re.compile(r"(EXEC|SYSTEM|SHELL):(.*?)(?:,\w+)*", re.DOTALL | re.IGNORECASE)
_CRON_TIMES = re.compile(r"^\s*(?:@\w+|(?:\S+\s+){5})")
_FZF_COMMAND = re.compile(r"(?:execute(?:-silent)?|reload|become|preview)\(([^()]*)\)")
# Programs that change files, and also run commands that one of their words is.
_COMMAND_TAKERS = frozenset(
    ("rsync", "tar", "bsdtar", "gtar", "zip", "vi", "vim", "nvim", "ex", "sqlite3", "sed", "gsed", "make", "gmake")
)
# What may be before a command in such a word.
_TEXT_MARK = re.compile(
    r"^(?:-*[\w-]+=)?(?:exec=|[:+]*!|[:+]*silent !|\.?(?:platform )?(?:shell|system)\s+|\d*e\s+)?\s*"
)
_MESSAGE_OPTIONS = ("-m", "--message", "-t", "--title", "-b", "--body", "--description", "-d")
_MAX_ARGUMENT_CHARS = 4096
_SHELL_OPTION = re.compile(r"-\w*c")
_TMUX_VALUES = "-L -S -f -T -c -e -F -n -s -t -x -y -l"
_TMUX_KEYS = frozenset(("", "Enter", "C-m", "Space", "KPEnter"))
_SCREEN_VALUES = "-S -dmS -mdS -DmS -dS -mS -AdmS -dmLS -t -c -e -h -p -s -T"
_SPAWN = re.compile(r"\b(?:spawn|exec|system)\b(?:\s+-\w+)*\s+([^;\n\]]+)")


class InnerCommand(Value):
    """What a program runs: a shell `text` with its parameters, or the `words` of a command; on a `machine`, "" for this one."""

    text: str = ""
    parameters: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    machine: str = ""


def list_inner_commands(started: Started) -> list[InnerCommand]:
    """Return what a program runs, by the words that it is called with and the text that it reads."""
    rest = list(started.words[1:])
    commands = _list_own_texts(started)
    if commands is None:
        commands = [InnerCommand(text) for text in _list_argument_texts(started)]
    commands += [InnerCommand(words=words) for words in _list_word_commands(started)]
    row = OPTION_TEXTS.get(started.name)
    if row is not None:
        machine = "?" if row.is_remote else ""
        commands += [InnerCommand(text, machine=machine) for text in list_option_texts(row, rest)]
    behind = list_commands_behind(started.name, rest)
    commands += [InnerCommand(words=words, machine=machine) for words, machine in behind]
    for words in list_code_commands(started):
        commands.append(InnerCommand(words[0]) if len(words) == 1 else InnerCommand(words=words))
    return list(dict.fromkeys(commands))


def _list_own_texts(started: Started) -> list[InnerCommand] | None:
    """Return the shell texts that a program runs, None if it is not known to run any."""
    name, rest = started.name, list(started.words[1:])
    if name in SHELLS:
        use = find_code_use(started.words)
        if use.kind == CODE_WORD:
            return [InnerCommand(use.text, use.parameters)]
        is_input = use.kind == CODE_INPUT or (use.kind == CODE_FILE and use.text in (*INPUT_FILES, UNKNOWN))
        if is_input and started.input_text and not started.script_text:
            return [InnerCommand(started.input_text, use.parameters)]
        return [InnerCommand(started.script_text, use.parameters or ("", *rest))] if use.kind == CODE_FILE else []
    if started.script_text and not is_interpreter(name) and name not in _SPECIAL_TEXTS:
        return [InnerCommand(started.script_text, ("", *rest))]
    if name in (*TEXT_READERS, "source", ".") and started.input_text:
        return [InnerCommand(started.input_text)]
    if name == "eval":
        return [InnerCommand(" ".join(rest))]
    if name in ("trap", "alias"):
        texts = list_operands(rest)[:1]
        return [InnerCommand(text.partition("=")[2] if name == "alias" else text) for text in texts]
    if name == "ssh":
        return _list_remote_texts(started)
    if name in _SPECIAL_TEXTS:
        return [InnerCommand(text) for text in _SPECIAL_TEXTS[name](started)]
    if name in TEXT_OPERANDS:
        words = [word.partition("=")[2] if word.startswith("--") else word for word in rest if " " in word]
        return [InnerCommand(text) for text in words]
    if name in LAST_TEXT_OPERANDS:
        machine = "?" if name in REMOTE_PROGRAMS else ""
        return [InnerCommand(text, machine=machine) for text in list_operands(rest)[-1:] if " " in text]
    return None


def _list_argument_texts(started: Started) -> list[str]:
    """Return words that are command lines by themselves, of programs that may run what they are called with."""
    is_known = is_known_program(started.name) or started.name in (*COMMANDS_BEHIND, *OPTION_TEXTS)
    if started.name not in _COMMAND_TAKERS and is_known:
        return []
    texts: list[str] = []
    before = ""
    for word in started.words[1:]:
        text = _TEXT_MARK.sub("", word, count=1) if " " in word and len(word) < _MAX_ARGUMENT_CHARS else ""
        name = get_program_name(text.split()[:1]) if text.strip() else ""
        if (name in RULES or name in SHELLS) and before not in _MESSAGE_OPTIONS:
            texts.append(text)
        before = word
    return texts


def _list_remote_texts(started: Started) -> list[InnerCommand]:
    """`ssh`: what runs on another machine changes nothing here, but some options are commands that run here."""
    rest = list(started.words[1:])
    behind = skip_options(rest, _SSH_VALUES)
    machine = behind[0].rpartition("@")[2] if behind else ""
    is_here = UNKNOWN in machine or bool(_THIS_MACHINE.fullmatch(machine))
    commands = [InnerCommand(text) for text in _list_ssh_options(started)]
    # Options may be behind the machine, too.
    text = " ".join(skip_options(behind[1:], _SSH_VALUES))
    # Without a command, the shell there runs what is read.
    text = text or (started.input_text if machine else "")
    return [*commands, *([InnerCommand(text, machine="" if is_here else machine)] if text else [])]


def _list_ssh_options(started: Started) -> list[str]:
    """Return the commands in the settings of `ssh`, `scp` and `sftp`, as in `-o ProxyCommand=…`."""
    words = started.words
    matches = [(at, match) for at, word in enumerate(words) if (match := _SSH_OPTION.fullmatch(word))]
    settings = [match[1] or "".join(words[at + 1 : at + 2]) for at, match in matches]
    return [match[1] for setting in settings if (match := _SSH_COMMAND.fullmatch(setting))]


def _list_make_texts(started: Started) -> list[str]:
    """`make`: rules in its options, or read from its input; what a line of a rule begins with is not for the shell."""
    rest = list(started.words[1:])
    texts = find_option_values(rest, "--eval", "-E")
    files = find_option_values(rest, "-f", "--file", "--makefile")
    texts += [started.input_text] if INPUT_FILES & set(files) or UNKNOWN in files else [started.script_text]
    lines = [line for text in texts for line in text.replace("\\\n", " ").split("\n")]
    recipes = [re.sub(r"^\t[@+-]*|^[^\t;#]*:[^;]*;\s*[@+-]*", "", line) for line in lines]
    return [
        *_list_argument_texts(started),
        *["\n".join(recipes).replace("$(shell ", "$(").replace("$$", "$")][: len(recipes)],
    ]


def _list_socat_texts(started: Started) -> list[str]:
    matches = [match for word in started.words[1:] if (match := _SOCAT_COMMAND.fullmatch(word))]
    # `EXEC` has words, which its own quotes and backslashes may be in.
    return [re.sub(r"\\(.)", r"\1", match[2]) for match in matches]


def _list_expect_texts(started: Started) -> list[str]:
    rest = list(started.words[1:])
    texts = [rest[at + 1] for at, word in enumerate(rest[:-1]) if _SHELL_OPTION.fullmatch(word)]
    return [match[1] for text in (*texts, started.input_text) for match in _SPAWN.finditer(text)]


def _list_entr_texts(started: Started) -> list[str]:
    rest = list(started.words[1:])
    is_text = any(re.fullmatch(r"-[a-z]*s[a-z]*", word) for word in rest)
    return skip_options(rest, "")[:1] if is_text else []


def _list_apt_texts(started: Started) -> list[str]:
    values = find_option_values(list(started.words[1:]), "-o", "--option")
    return [match[1] for value in values if (match := _APT_COMMAND.fullmatch(value))]


_SPECIAL_TEXTS: dict[str, Callable[[Started], list[str]]] = {
    **dict.fromkeys(("scp", "sftp"), _list_ssh_options),
    "git": lambda started: list_git_texts(list(started.words[1:])),
    **dict.fromkeys(("make", "gmake"), _list_make_texts),
    "flatpak-spawn": lambda started: [" ".join(list_operands(started.words[1:]))],
    "crontab": lambda started: [_CRON_TIMES.sub("", line) for line in started.input_text.split("\n")],
    "watch": lambda started: [" ".join(skip_options(list(started.words[1:]), "-n --interval"))],
    "fzf": lambda started: [text for word in started.words for text in _FZF_COMMAND.findall(word)],
    "socat": _list_socat_texts,
    "expect": _list_expect_texts,
    "entr": _list_entr_texts,
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _list_apt_texts),
    **dict.fromkeys(("tmux", "screen"), lambda started: [text for text in started.words[1:] if " " in text]),
}


def _list_word_commands(started: Started) -> list[tuple[str, ...]]:
    """Return the commands that a program starts with words of its own, or for words that it reads or finds."""
    lister = _COMMAND_LISTERS.get(started.name)
    if lister is not None:
        return [words for words in lister(started) if words]
    if started.name in CONTAINER_PROGRAMS:
        return list_contained_commands(started.name, list(started.words[1:]))
    return []


def _list_search_commands(started: Started) -> list[tuple[str, ...]]:
    """`rg --pre`: it starts a program with every file that it reads."""
    rest = list(started.words[1:])
    paths = list_printed_paths(started.words, ()) if "--pre" in "\n".join(rest) else []
    return [(program, path) for program in find_option_values(rest, "--pre") for path in paths]


def _list_entr_commands(started: Started) -> list[tuple[str, ...]]:
    command = skip_options(list(started.words[1:]), "")
    read = list_read_words(started)
    return [tuple(path for word in command for path in (read if word == "/_" else [word]))] if command else []


def _list_script_commands(started: Started) -> list[tuple[str, ...]]:
    rest = list(started.words[1:])
    has_text = any(_SHELL_OPTION.fullmatch(word) for word in rest)
    return [] if has_text else [tuple(list_operands(rest)[1:])]


def _list_tmux_commands(started: Started) -> list[tuple[str, ...]]:
    """Return what the commands of `tmux` start: what is behind their names and options."""
    commands: list[tuple[str, ...]] = []
    behind = skip_options(list(started.words[1:]), _TMUX_VALUES)
    while behind:
        end = next((at for at, word in enumerate(behind) if word.endswith(";")), len(behind))
        inner = [*behind[1:end], *([behind[end].rstrip(";")] if end < len(behind) else [])]
        commands.append(tuple(word for word in skip_options(inner, _TMUX_VALUES) if word not in _TMUX_KEYS))
        behind = behind[end + 1 :]
    return [words for words in commands if " " not in "".join(words[:1])]


_COMMAND_LISTERS: dict[str, Callable[[Started], list[tuple[str, ...]]]] = {
    **dict.fromkeys(
        ("find", "gfind", "bfs"),
        lambda started: [words for _, words in list_find_commands(list(started.words[1:]))],
    ),
    **dict.fromkeys(("fd", "fdfind"), lambda started: list_fd_commands(list(started.words[1:]))),
    "rg": _list_search_commands,
    "entr": _list_entr_commands,
    **dict.fromkeys(("xargs", "gxargs"), list_xargs_commands),
    "parallel": list_parallel_commands,
    "git": lambda started: list_git_commands(list(started.words[1:])),
    "tmux": _list_tmux_commands,
    "screen": lambda started: [tuple(skip_options(list(started.words[1:]), _SCREEN_VALUES))],
    "script": _list_script_commands,
}


def list_placed_paths(started: Started) -> list[str]:
    """Return the paths that the commands of a program are about."""
    is_finding = started.name in ("find", "gfind", "bfs", "fd", "fdfind")
    return list_printed_paths(started.words, ()) if is_finding else [*started.read_paths]
