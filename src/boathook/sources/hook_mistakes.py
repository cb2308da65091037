"""Mistakes that people often make in the commands and scripts of hooks, one rule each; what is not plain is left alone.

A rule takes the code of a hook of any form. What differs between agents is in the hook's dialect and event, not here.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from boathook.core.hook import ERROR, WARNING, Hook
from boathook.core.shell import SHELL_KEYWORDS, ShellReader
from boathook.core.value import Value
from boathook.hosts.host import load_host
from boathook.sources.shell_scripts import remove_keywords
from boathook.system.programs import find_program

SHELL, PYTHON, JAVASCRIPT = "shell", "python", "javascript"
_ENDINGS = {"py": PYTHON, "js": JAVASCRIPT, "mjs": JAVASCRIPT, "cjs": JAVASCRIPT, "ts": JAVASCRIPT, "mts": JAVASCRIPT}
_PARSE_SECONDS = 10
_MAX_SHOWN_CHARS = 100
_MAX_BACK_LINES = 12
# A text of plain words, without a sign or word that the grammar of the shell knows, has no syntax error.
_MAY_BE_WRONG = re.compile(
    r"[^\w\s./:=,@%+-]|\b(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|time|coproc)\b"
)


class HookCode(Value):
    """The code of a hook: its command line, or a script that it runs. `can_block`: exit code 2 blocks at its event."""

    hook: Hook
    text: str
    language: str
    can_block: bool
    is_line: bool = False


class Mistake(Value):
    line: int
    level: str
    message: str
    fix: str


def find_mistakes(code: HookCode) -> Iterator[Mistake]:
    for rule in MISTAKE_RULES:
        yield from rule(code)


def find_language(path: str, interpreter: str, *, is_for_shell: bool) -> str:
    """Return the language of a script by its interpreter or its name, "" if no rule knows it."""
    if is_for_shell:
        return SHELL
    name = interpreter.rstrip("0123456789.")
    by_program = {"python": PYTHON, "uv": PYTHON, "node": JAVASCRIPT, "bun": JAVASCRIPT, "tsx": JAVASCRIPT}
    return by_program.get(name) or _ENDINGS.get(path.rpartition(".")[2], "")


# Variables that no agent sets

_SHELL_USE = re.compile(r"(?<!\\)\$(?:\{([A-Z][A-Z0-9_]*)(?::?-)?\}|([A-Z][A-Z0-9_]*))")
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//).*$")
_OTHER_USES = {
    PYTHON: re.compile(r"(?:environ\.get\(|environ\[|getenv\()\s*[\"']([A-Z][A-Z0-9_]*)[\"']"),
    JAVASCRIPT: re.compile(r"process\.env(?:\.|\[[\"'])([A-Z][A-Z0-9_]*)"),
}
# A script that also reads the event from its standard input has the variable only as an alternative.
_READS_STDIN = {
    SHELL: re.compile(r"\$\(\s*cat\s*-?\s*\)|\bread\b|/dev/stdin|\$\(\s*(?:jq|python3?|node)\b(?![^)]*<<<)|`cat`"),
    PYTHON: re.compile(r"stdin|\binput\("),
    JAVASCRIPT: re.compile(r"stdin|readFileSync\(0"),
}
_PLACES = (
    ("*FILE_PATH*", ".tool_input.file_path"),
    ("*COMMAND", ".tool_input.command"),
    ("*TOOL_NAME", ".tool_name"),
    ("*PROMPT", ".prompt"),
    ("*TRANSCRIPT*", ".transcript_path"),
)


def find_unset_variables(code: HookCode) -> Iterator[Mistake]:
    if not code.language or _READS_STDIN[code.language].search(_COMMENT.sub("", code.text)):
        return
    pattern = _SHELL_USE if code.language == SHELL else _OTHER_USES[code.language]
    done: set[str] = set()
    for use in pattern.finditer(code.text):
        name = next(filter(None, use.groups()))
        # Each name once, because a text may have thousands of uses.
        if name in done:
            continue
        if not _is_unset(code, name):
            done.add(name)
            continue
        if _get_line_before(code.text, use.start()).lstrip().startswith(("#", "//")):
            continue
        done.add(name)
        message = f"no agent sets ${name}: a hook reads the event as JSON on its standard input"
        place = next((place for glob, place in _PLACES if fnmatchcase(name, glob)), ".tool_input")
        yield Mistake(_count_line(code.text, use.start()), WARNING, message, f"for example $(jq -r '{place} // empty')")


def _is_unset(code: HookCode, name: str) -> bool:
    is_listed = any(fnmatchcase(name, glob) for glob in code.hook.dialect.unset_variables)
    # A script gets variables with names that are not an agent's from others, too.
    if not is_listed or name in code.hook.env or not (code.is_line or name.startswith("CLAUDE_")):
        return False
    is_assigned = rf"\b{name}\+?=|\b(?:for|read|mapfile|readarray|getopts)\b[^;|&\n]*\b{name}\b|environ\[.{name}.\]\s*="
    return not re.search(is_assigned, code.text)


# A reason that the model does not read

_EXITS = {
    PYTHON: re.compile(r"(?m)^[ \t]*(?:sys\.|os\._)?exit\(2\)"),
    JAVASCRIPT: re.compile(r"(?m)^[ \t]*process\.exit\(2\)"),
}
_WRITES = {PYTHON: re.compile(r"\s*print\("), JAVASCRIPT: re.compile(r"\s*console\.log\(")}
_SHELL_WRITES = ("echo", "printf")
_SEQUENCE = ("&&", ";", "\n")
# JSON is an answer; what goes to another file is not for the agent.
_NOT_A_REASON = re.compile(r"[{]\s*\\?[\"']|json|JSON|file\s*=|stderr|console\.error")
_ALL_TO_STDERR = re.compile(r"(?m)^\s*exec\s+1?>\s*&\s*2|[})]\s*1?>\s*&\s*2|sys\.stdout\s*=|redirect_stdout")
_WRITE_FIXES = {
    SHELL: "write it to stderr: echo … >&2",
    PYTHON: "write it to stderr: print(…, file=sys.stderr)",
    JAVASCRIPT: "write it to stderr: console.error(…)",
}


def find_unread_reasons(code: HookCode) -> Iterator[Mistake]:
    if not code.can_block or not code.language or _ALL_TO_STDERR.search(code.text):
        return
    host = code.hook.dialect.host
    if host and load_host(host).own.reads_stderr:
        # There a text on stdout is the reason as well.
        return
    find_exits = _find_shell_exits if code.language == SHELL else _find_other_exits
    for line, written in find_exits(code):
        if written and not _NOT_A_REASON.search(written):
            message = "the reason of exit 2 is written to stdout, where the model does not read it"
            yield Mistake(line, WARNING, message, _WRITE_FIXES[code.language])
            return


def _find_shell_exits(code: HookCode) -> Iterator[tuple[int, str]]:
    """Yield the line of each `exit 2`, and what the commands right before it write to stdout."""
    # Without it, the text need not be read.
    commands = ShellReader(code.text).read_all() if "exit" in code.text else []
    for index, command in enumerate(commands):
        if [word.raw for word in command.words[:2]] != ["exit", "2"]:
            continue
        written: list[str] = []
        for before in map(commands.__getitem__, range(index - 1, -1, -1)):
            words = remove_keywords(before.words)
            if before.operator not in _SEQUENCE or not words or words[0].raw not in _SHELL_WRITES:
                break
            # To a file, or to stderr: then it is not known what the agent should read.
            if before.redirections:
                written = []
                break
            written.append(" ".join(word.raw for word in words))
            if before.words[0].raw in SHELL_KEYWORDS:
                break
        yield _count_line(code.text, command.words[0].start), "\n".join(written)


def _find_other_exits(code: HookCode) -> Iterator[tuple[int, str]]:
    for found in _EXITS[code.language].finditer(code.text):
        lines = code.text[: found.start()].splitlines()[-_MAX_BACK_LINES:]
        written: list[str] = []
        while lines and (statement := _take_last_statement(lines)):
            if not _WRITES[code.language].match(statement):
                break
            written.append(statement)
        yield _count_line(code.text, found.end()), "\n".join(written)


def _take_last_statement(lines: list[str]) -> str:
    """Remove the last statement from some lines and return it; it may end with a closing bracket on a line of its own."""
    while lines and not lines[-1].strip():
        lines.pop()
    taken = [lines.pop()] if lines else [""]
    if taken[0].strip() in (")", ");"):
        indent = len(taken[0]) - len(taken[0].lstrip())
        while lines:
            taken.insert(0, lines.pop())
            if taken[0].strip() and len(taken[0]) - len(taken[0].lstrip()) <= indent:
                break
    return "\n".join(taken)


# A command that the shell cannot parse


def find_parse_errors(code: HookCode) -> Iterator[Mistake]:
    if code.language != SHELL or "\r\n" in code.text or "\0" in code.text:
        return
    bash = find_program("bash")
    message = _ask_shell(bash, code.text) if bash is not None else ""
    if message:
        effect = "it exits with 2, which blocks every call" if code.can_block else "the hook fails at every event"
        line = re.match(r"line (\d+): ", message)
        text = message[line.end() if line else 0 :][:_MAX_SHOWN_CHARS]
        fix = "try it with bash -n; a quote or bracket may be missing"
        yield Mistake(int(line[1]) if line else 1, ERROR, f"the shell cannot parse it ({text}): {effect}", fix)


@lru_cache(maxsize=512)
def _ask_shell(bash: str, text: str) -> str:
    """Return what bash reports about the syntax of a text, "" if it is right or cannot be asked; nothing in it is executed."""
    # Cached, because a file may have the same command hundreds of times, and each question is a process.
    if not _MAY_BE_WRONG.search(text):
        return ""
    try:
        done = subprocess.run(
            (bash, "--norc", "--noprofile", "-n", "-s"),
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=_PARSE_SECONDS,
            env={"LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode != 2:
        return ""
    first = done.stderr.decode("utf-8", "replace").partition("\n")[0]
    return re.sub(r"^\S*bash: ", "", first) or "syntax error"


# A path of another system

_WINDOWS_PATH = re.compile(r"(?:^|[\s\"'=])((?:[A-Z]|[cde]):(?:/|\\)[^\s\"';|&]*)")


def find_windows_paths(code: HookCode) -> Iterator[Mistake]:
    found = _WINDOWS_PATH.search(code.text) if code.is_line else None
    if found is not None:
        variable = code.hook.dialect.folder_variables[0]
        fix = f'write "${variable}"/… for a file of the project' if variable else "write a path of this system"
        shown = found[1][:_MAX_SHOWN_CHARS]
        yield Mistake(1, WARNING, f"'{shown}' is a path of Windows: there is no such file on this system", fix)


def _get_line_before(text: str, end: int) -> str:
    return text[text.rfind("\n", 0, end) + 1 : end]


def _count_line(text: str, end: int) -> int:
    return text.count("\n", 0, end) + 1


MISTAKE_RULES: tuple[Callable[[HookCode], Iterator[Mistake]], ...] = (
    find_unset_variables,
    find_unread_reasons,
    find_parse_errors,
    find_windows_paths,
)
