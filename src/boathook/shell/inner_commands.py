"""Shell texts and commands that a program runs, by the words that it is called with."""

from __future__ import annotations

import re
from collections.abc import Callable

from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.shell.arguments import UNKNOWN, find_option_values, get_program_name, list_operands, skip_options
from boathook.shell.containers import CONTAINER_PROGRAMS, list_contained_commands
from boathook.shell.fd_search import PLACEHOLDER, list_fd_commands
from boathook.shell.find_search import list_find_commands
from boathook.shell.found_paths import place_paths
from boathook.shell.git_commands import list_git_commands, list_git_texts
from boathook.shell.listers import list_printed_paths
from boathook.shell.path_changes import RULES, is_known_program
from boathook.shell.started_program import Started

# Programs that run the text they read.
TEXT_READERS = SHELLS | {"at", "batch"}
_XARGS_VALUES = "-I -n -P -L -l -d -E -s -a --max-args --max-procs --delimiter --replace --arg-file"
_SSH_VALUES = "-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w -B -I"
_THIS_MACHINE = re.compile(
    r"(?:ssh://)?(?:localhost(?:\.localdomain)?|127[\d.]*|0(?:\.0\.0\.0)?|\[?::1\]?|ip6-localhost)(?::\d+)?/?"
)
_CRON_TIMES = re.compile(r"^\s*(?:@\w+|(?:\S+\s+){5})")
# What a program is given as a file if it reads its input, or what `<(…)` prints.
_INPUT_FILES: tuple[list[str], ...] = ([], ["-"], ["/dev/stdin"], ["/dev/fd/0"], ["/proc/self/fd/0"], [UNKNOWN])
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


def list_inner_texts(started: Started) -> list[tuple[str, tuple[str, ...]]]:
    """Return the shell texts that a program runs, each with its parameters."""
    name, rest = started.name, list(started.words[1:])
    if name in SHELLS:
        for at, word in enumerate(rest):
            if _SHELL_OPTION.fullmatch(word) and at + 1 < len(rest):
                return [(rest[at + 1], tuple(rest[at + 2 :]))]
            if not word.startswith(("-", "+")):
                break
    if started.script_text and not is_interpreter(name) and name not in _SPECIAL_TEXTS:
        return [(started.script_text, ("", *rest))]
    if name in TEXT_READERS and started.input_text:
        is_reader = "-s" in rest or list_operands(rest)[:1] in _INPUT_FILES or name not in SHELLS
        return [(started.input_text, ())] if is_reader else []
    if name in ("source", ".") and started.input_text:
        return [(started.input_text, ())]
    if name == "eval":
        return [(" ".join(rest), ())]
    if name in ("trap", "alias"):
        return [(text.partition("=")[2] if name == "alias" else text, ()) for text in list_operands(rest)[:1]]
    if name in _SPECIAL_TEXTS:
        return [(text, ()) for text in _SPECIAL_TEXTS[name](started)]
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
    return [(text, ()) for text in _list_argument_texts(started)]


def _list_argument_texts(started: Started) -> list[str]:
    """Return words that are command lines by themselves, of programs that may run what they are called with."""
    if started.name not in _COMMAND_TAKERS and is_known_program(started.name):
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


def _list_remote_texts(started: Started) -> list[str]:
    """`ssh`: what runs on another machine changes nothing here, but some options are commands that run here."""
    rest = list(started.words[1:])
    behind = skip_options(rest, _SSH_VALUES)
    settings = [re.split(r"[=\s]", value, maxsplit=1) for value in find_option_values(rest, "-o")]
    texts = [pair[1] for pair in settings if len(pair) > 1 and pair[0].lower().endswith("command")]
    machine = behind[0].rpartition("@")[2] if behind else ""
    is_here = UNKNOWN in machine or bool(_THIS_MACHINE.fullmatch(machine))
    return [*texts, *([" ".join(behind[1:])] if is_here else [])]


def _list_make_texts(started: Started) -> list[str]:
    """`make`: rules in its options, or read from its input; what a line of a rule begins with is not for the shell."""
    rest = list(started.words[1:])
    texts = find_option_values(rest, "--eval", "-E")
    files = find_option_values(rest, "-f", "--file", "--makefile")
    texts += [started.input_text] if any([file] in _INPUT_FILES for file in files) else [started.script_text]
    lines = [line for text in texts for line in text.replace("\\\n", " ").split("\n")]
    recipes = [re.sub(r"^\t[@+-]*|^[^\t;#]*:[^;]*;\s*[@+-]*", "", line) for line in lines]
    return [
        *_list_argument_texts(started),
        *["\n".join(recipes).replace("$(shell ", "$(").replace("$$", "$")][: len(recipes)],
    ]


_SPECIAL_TEXTS: dict[str, Callable[[Started], list[str]]] = {
    "ssh": _list_remote_texts,
    "git": lambda started: list_git_texts(list(started.words[1:])),
    **dict.fromkeys(("make", "gmake"), _list_make_texts),
    "man": lambda started: find_option_values(list(started.words[1:]), "-P", "--pager"),
    "nix-shell": lambda started: find_option_values(list(started.words[1:]), "--run", "--command"),
    "flatpak-spawn": lambda started: [" ".join(list_operands(started.words[1:]))],
    "crontab": lambda started: [_CRON_TIMES.sub("", line) for line in started.input_text.split("\n")],
}


def list_inner_commands(started: Started) -> list[tuple[str, ...]]:
    """Return the commands that a program starts for words that it reads or finds."""
    name, rest = started.name, list(started.words[1:])
    if name == "find":
        return [words for _, words in list_find_commands(rest)]
    if name in ("fd", "fdfind"):
        return list_fd_commands(rest)
    if name == "rg":
        # It starts a program with every file that it reads.
        paths = list_printed_paths(started.words, ()) if "--pre" in "\n".join(rest) else []
        return [(program, path) for program in find_option_values(rest, "--pre") for path in paths]
    if name == "entr":
        command = skip_options(rest, "")
        read = _list_read_words(started)
        return [tuple(path for word in command for path in (read if word == "/_" else [word]))] if command else []
    if name == "xargs":
        command = skip_options(rest, _XARGS_VALUES)
        # The options before the command may name another sign for the place of what is read.
        markers = find_option_values(rest[: len(rest) - len(command)], "-I", "--replace")
        command = [word.replace(markers[0], "{}") for word in command] if markers and markers[0] else command
        return [place_paths(command, _list_read_words(started))] if command else []
    if name == "parallel":
        command = skip_options(
            rest, "-j -I --jobs -a --arg-file -n -N -L -P -d -C --colsep --delimiter --joblog --results"
        )
        cut = next((at for at, word in enumerate(command) if word in (":::", "::::")), len(command))
        words = command[cut + 1 :] or _list_read_words(started)
        placed = place_paths([PLACEHOLDER.sub("{}", word) for word in command[:cut]], words)
        # It is a shell that runs it.
        return [("sh", "-c", " ".join(placed)) if " " in "".join(command[:cut]) else placed] if placed else []
    if name == "git":
        return list_git_commands(rest)
    if name in CONTAINER_PROGRAMS:
        return list_contained_commands(name, rest)
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


def list_placed_paths(started: Started) -> list[str]:
    """Return the paths that the commands of a program are about."""
    is_finding = started.name in ("find", "fd", "fdfind")
    return list_printed_paths(started.words, ()) if is_finding else [*started.read_paths]


def _list_read_words(started: Started) -> list[str]:
    """Return the words that a program reads from the one before it, `UNKNOWN` if that cannot be said."""
    return [*started.read_paths] or [UNKNOWN]
