"""The command line that `install` writes into an agent's configuration: how it is put together, and how it is recognized."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys

from boathook.core.interpreters import is_python
from boathook.core.shell import get_assigned_name
from boathook.core.value import Value
from boathook.core.verdict import Exit

HOOK_ENTRY_PATH = re.compile(r"(?:.*[/\\])?boathook[/\\]entry[/\\]hook_entry\.py", re.DOTALL)
# Flags of Python, none that makes it run something else.
_PYTHON_FLAG = re.compile(r"-[BEIOPSsu]+")
# A word as `shlex.quote` writes it.
_WORD = r"""(?:[\w@%+=:,./-]|'[^']*'|"'")+"""
_PRINT = rf"printf '%s\\n' {_WORD}"
_ONE_WORD, _WORDS = re.compile(_WORD, re.ASCII), re.compile(rf"{_WORD}(?: {_WORD})*", re.ASCII)
_QUOTES = re.compile(r"""'([^']*)'|"(')\"""")
_GUARD = re.compile(r'\[ -n "\$[A-Z_]+" \] && exit 0; ')
_TESTS = re.compile(rf"(?:\[ -[xsr] {_WORD} \] && ){{4}}exec ", re.ASCII)
# Whether the client runs at all: it may be for another machine, or cut off. A shell that cannot start what it is to become
# ends, and with it the block of a hook; sh takes such a file for a script.
_TRIAL = "--version </dev/null >/dev/null 2>&1"
_CLIENT_CALL = re.compile(
    rf"\[ -x ({_WORD}) \] && \[ -s {_WORD} \] && {_WORD} {re.escape(_TRIAL)} && (?:\[ -[xsr] {_WORD} \] && ){{4}}exec ",
    re.ASCII,
)
_NEXT_CALL = "; [ -x "
_CLIENT_PATH = re.compile(r".*/boathook/warm/client", re.DOTALL)
_FALLBACK = re.compile(rf"; {_PRINT}(?: >&2(?:; {_PRINT})?)?(?:; exit [0-9]+)?\Z", re.ASCII)


class InstalledCommand(Value):
    python: str
    hook_entry: str
    host: str
    event: str


def write_installed_line(words: list[str], fallback: Exit, unless_variable: str = "", client: str = "") -> str:
    """Return the line that starts a command, and answers by itself if the interpreter or the entry is missing or empty.

    A client of the warm engine is given the command, which it starts itself if it must; without that file nothing changes.
    """
    # Shells that are not like sh take it, too: Codex starts the person's own one. `exec`, so that signals reach the engine.
    guard = f'[ -n "${unless_variable}" ] && exit 0; ' if unless_variable else ""
    first = _write_client_call(client, words) if client else ""
    return f"{guard}{first}{_write_tests(words)}{shlex.join(words)}; {_write_fallback(fallback)}"


def _write_client_call(client: str, words: list[str]) -> str:
    program = shlex.quote(client)
    can_run = f"[ -x {program} ] && [ -s {program} ] && {program} {_TRIAL} && "
    return f"{can_run}{_write_tests(words)}{program} {shlex.join(words)}; "


def _write_tests(words: list[str]) -> str:
    # An empty file would end with 0 and no output, which allows everything.
    python, entry = shlex.quote(words[0]), shlex.quote(words[_find_entry(words)])
    return f"[ -x {python} ] && [ -s {python} ] && [ -r {entry} ] && [ -s {entry} ] && exec "


def _find_entry(words: list[str]) -> int:
    """Return where the first word is that is neither the program nor a flag of Python; 0 if there is none."""
    return next((at for at, word in enumerate(words) if at and not _PYTHON_FLAG.fullmatch(word)), 0)


def _write_fallback(answer: Exit) -> str:
    # Two backslashes in quotes are one in fish, which JSON can avoid.
    out = answer.stdout.decode().rstrip("\n").replace("\\\\", "\\u005c")
    err = answer.stderr.decode("utf-8", "backslashreplace").rstrip("\n")
    texts = [f"printf '%s\\n' {shlex.quote(err)} >&2"] if err else []
    texts += [f"printf '%s\\n' {shlex.quote(out)}"] if out else []
    return "; ".join([*texts, *([f"exit {answer.code}"] if answer.code else [])])


def parse_command(text: object) -> InstalledCommand | None:
    """Return what a command calls if it is installed and does nothing else, or None: the only rule for which commands are ours."""
    return _parse_line(text) if isinstance(text, str) and "hook_entry.py" in text else None


# A file is searched again after each change, and shlex is slow.
@functools.cache
def _parse_line(text: str) -> InstalledCommand | None:
    client_call, tests, call = _split_line(text)
    command, words = parse_call(call), _split_words(call)
    if command is None or _write_tests(words) != tests:
        return None
    client = _find_client(client_call)
    # The client is called with these very words, or it would do something else.
    is_ours = client_call == (_write_client_call(client, words) if client else "")
    return command if is_ours else None


def _split_line(text: str) -> tuple[str, str, str]:
    """Return the call of the client, the tests and the call of an installed line, empty if it is something else."""
    guard = _GUARD.match(text)
    whole = text[guard.end() :] if guard else text
    client = _CLIENT_CALL.match(whole)
    start = whole.find(_NEXT_CALL, client.end()) + 2 if client else 0
    tests, fallback = _TESTS.match(whole, start), _FALLBACK.search(whole, start)
    if tests is None or fallback is None or fallback.start() < tests.end():
        return "", "", ""
    return whole[:start], tests.group(), whole[tests.end() : fallback.start()]


def _find_client(client_call: str) -> str:
    """Return the program that the call of a client starts, "" if it is not ours."""
    client = _CLIENT_CALL.match(client_call)
    program = next(iter(_split_words(client[1])), "") if client else ""
    return program if _CLIENT_PATH.fullmatch(program) else ""


def list_call_words(text: str) -> list[str]:
    """Return the words of the call in an installed line, or of a plain call; [] if it is something else."""
    return _split_words(_split_line(text)[2] or text)


def parse_call(call: str) -> InstalledCommand | None:
    """Return what a plain call of our entry calls, None if it is something else or does more."""
    words = _split_words(call)
    at = _find_entry(words)
    rest = words[at + 1 :]
    if not at or not _is_python(words[0]) or not HOOK_ENTRY_PATH.fullmatch(words[at]) or len(rest) % 2:
        return None
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    if not all(name.startswith("--") for name in options):
        return None
    return InstalledCommand(words[0], words[at], options.get("--host", ""), options.get("--event", ""))


def _split_words(text: str) -> list[str]:
    """Return the words of a text, [] unless each is quoted as we quote: a shell would do more with it than start one program."""
    if not _WORDS.fullmatch(text):
        return []
    quoted = _ONE_WORD.findall(text)
    words = [_QUOTES.sub(lambda match: match.group(1) or match.group(2) or "", word) for word in quoted]
    return words if list(map(shlex.quote, words)) == quoted else []


def _is_python(program: str) -> bool:
    is_known = program == sys.executable or is_python(os.path.basename(program).removesuffix(".exe"))
    return is_known and not get_assigned_name(program)
