"""Commands that `xargs` and `parallel` make of a command and the words that they read, with these in place of `{}`."""

from __future__ import annotations

import re

from boathook.shell.arguments import UNKNOWN, find_option_values, skip_options
from boathook.shell.found_paths import FoundPath, place_paths
from boathook.shell.printed_text import find_output
from boathook.shell.started_program import Started

_XARGS_VALUES = (
    "-I -n -P -L -d -E -s -a -J -R -S --max-args --max-procs --max-lines --max-chars --delimiter --arg-file"
    " --process-slot-var"
)
_REPLACE_OPTION = re.compile(r"-i(.*)|--replace(?:=(.*))?", re.DOTALL)
_WHOLE_LINES = re.compile(r"-\w*[0dL].*|--null|--delimiter.*|--max-lines.*")
_PARALLEL_VALUES = (
    "-j -I --jobs -a --arg-file -n -N -L -P -d -C --colsep --delimiter --joblog --results -S --sshlogin --tmpdir --timeout"
    " --retries --delay --load --memfree --nice --tagstring --workdir --wd --env --basefile --shuf-file -X --max-args --halt"
)
_PARALLEL_PLACE = re.compile(r"\{[-+]?\d*(?:/|//|\.|/\.|%|#)?\}")
# With these, every command reads a part of the input, and no words are put into it.
PARALLEL_PIPES = r"--pipe|--pipe-?part|--spreadstdin"
_SOURCES = frozenset((":::", "::::", ":::+", "::::+"))
_MAX_LINES = 64


def list_xargs_commands(started: Started) -> list[tuple[str, ...]]:
    rest = list(started.words[1:])
    command = skip_options(rest, _XARGS_VALUES)
    options = rest[: len(rest) - len(command)]
    if not command or (_is_waiting_for_input(options) and _reads_nothing(started)):
        return []
    # The options before the command may name a sign for the place of what is read.
    markers = [one for one in find_option_values(options, "-I", "-J") if one]
    for word in options:
        if match := _REPLACE_OPTION.fullmatch(word):
            markers.append(match[1] or match[2] or "{}")
    if markers:
        command = [word.replace(markers[-1], "{}") for word in command]
        return [place_paths(command, _list_lines(started))]
    lines = _list_lines(started) if any(_WHOLE_LINES.fullmatch(word) for word in options) else list_read_words(started)
    return [place_paths(command, lines)]


def _is_waiting_for_input(options: list[str]) -> bool:
    """Whether nothing is started for an empty input: `xargs -r`."""
    return any(re.fullmatch(r"-[0prtx]*r[0prtx]*|--no-run-if-empty", word) for word in options)


def _reads_nothing(started: Started) -> bool:
    """Whether it is known that the program before it in the pipe prints nothing."""
    if not started.feeders or started.input_text:
        return False
    before = started.feeders[-1]
    printed = find_output(before.words, before.folder, before.input_text, {})
    return not printed.strip()


def list_parallel_commands(started: Started) -> list[tuple[str, ...]]:
    command = skip_options(list(started.words[1:]), _PARALLEL_VALUES)
    options = started.words[1 : len(started.words) - len(command)]
    cut = next((at for at, word in enumerate(command) if word in _SOURCES), len(command))
    given = [word for word in command[cut + 1 :] if word not in _SOURCES]
    if "::::" in command[cut : cut + 1]:
        given = [UNKNOWN]
    values = given or _list_lines(started)
    words = [_PARALLEL_PLACE.sub("{}", word) for word in command[:cut]]
    for marker in find_option_values(list(options), "-I"):
        words = [word.replace(marker, "{}") for word in words]
    if not words:
        # What is read are commands.
        return [("sh", "-c", "\n".join(values))]
    has_pipe = any(re.fullmatch(PARALLEL_PIPES, word) for word in options)
    placed = tuple(words) if has_pipe and not given else place_paths(words, values)
    # It is a shell that runs it.
    return [("sh", "-c", " ".join(placed)) if " " in "".join(words) else placed]


def list_read_words(started: Started) -> list[str]:
    """Return the words that a program reads from the one before it, `UNKNOWN` if that cannot be said."""
    return [*started.read_paths] or [UNKNOWN]


def _list_lines(started: Started) -> list[str]:
    """Return the lines that a program reads."""
    if any(isinstance(path, FoundPath) for path in started.read_paths):
        return [*started.read_paths]
    lines = [line.strip() for line in started.input_text.split("\n") if line.strip()]
    return lines[:_MAX_LINES] or list_read_words(started)
