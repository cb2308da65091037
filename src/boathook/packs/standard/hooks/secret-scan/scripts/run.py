#!/usr/bin/env python3
"""Objects to writing text that has the form of a known secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch

from lazy_pattern import LazyPattern
from secret_kinds import FoundSecret, find_secret_line, iter_secrets
from secret_paths import SETTINGS, find_secret_path

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard
from boathook.shell.arguments import UNKNOWN, list_operands
from boathook.shell.started_program import Started

_MAX_NAMED = 3
# Folders and names where a secret may be a made one.
_DOUBTFUL = LazyPattern(
    r"(?i)(?:^|[/_.-])(?:tests?|spec|specs|fixtures?|testdata|examples?|samples?|mocks?|docs?)(?:[/_.-]|$)"
)
_WRITERS = ("tee", "sponge", "dd")
_NO_FILES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first file that would get a secret."""
    for path, text, file_chars in _iter_texts(call):
        if any(fnmatch(path, one) or fnmatch(path, f"*/{one}") for one in call.list_setting("free")):
            continue
        ignored = call.list_setting("ignored")
        secrets = [one for one in iter_secrets(text) if one.name not in ignored]
        if secrets:
            names = dict.fromkeys(_describe_secret(text, one, file_chars) for one in secrets)
            return _object_to(path, [*names])
    return None


def _describe_secret(text: str, secret: FoundSecret, file_chars: int) -> str:
    """Return the name of a secret, and its line if it is in a text that goes into the file as it is."""
    return f"{secret.name} (line {find_secret_line(text, secret)})" if secret.start < file_chars else secret.name


def _iter_texts(call: GuardedCall) -> Iterator[tuple[str, str, int]]:
    """Yield each file that a call writes, with the text, and how many of its characters are lines of the file."""
    for one in call.writes:
        if one.change != "delete":
            yield one.path, one.text, len(one.text)
    for program in call.programs:
        paths = _list_targets(program)
        if paths:
            texts = [
                program.input_text,
                *program.words[1:],
                *(word for one in program.feeders for word in one.words[1:]),
            ]
            yield paths[0], "\n".join(text.replace(UNKNOWN, "…") for text in texts), len(program.input_text)


def _list_targets(program: Started) -> list[str]:
    paths = [path for path in program.outputs if path not in _NO_FILES]
    is_editing = program.name in ("sed", "perl") and any(
        re.fullmatch(r"-\w*i.*|--in-place.*", word) for word in program.words[1:]
    )
    if program.name in _WRITERS or is_editing:
        paths += list_operands(program.words[1:])[-1:]
    return paths


def _object_to(path: str, names: list[str]) -> GuardAnswer:
    shown = path.replace(UNKNOWN, "…") or "the file"
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    what = f"{shown} would hold {', '.join(names[:_MAX_NAMED])}{more}."
    settings = find_secret_path(path)
    if settings and settings.level == SETTINGS:
        return ask(
            f"{what} Check that git ignores the file (`git check-ignore {shown}`), and let the person put the secret there."
        )
    if _DOUBTFUL.search(path):
        return ask(
            f"{what} If it is made up, mark the line with `secret-scan: allow`; a real one belongs into the environment."
        )
    return block(f"{what} Read it from the environment or from a secret store, and write only its name here.")


if __name__ == "__main__":
    run_guard(decide)
