#!/usr/bin/env python3
"""Checks the message of a `git commit -m` against the Conventional Commits form."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator

TYPES = ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"]
MAX_SUBJECT = 72

FORM = re.compile(rf"({'|'.join(TYPES)})(\([^()\s]+\))?!?: \S")
BY_GIT = re.compile(r"Merge |Revert |fixup! |squash! |amend! ")
DOCUMENT = re.compile(r"\"\$\(\s*cat\s*<<-?\s*(['\"]?)(\w+)\1[ \t]*\n(.*?)\n[ \t]*\2\s*\)\"", re.DOTALL)
TOKEN = re.compile(r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|()'\"\\])+|&&|\|\||[;&|()\n]", re.DOTALL)


def messages(line: str) -> Iterator[str]:
    """The message of every `git commit -m` in a command line."""
    if "commit" not in line:
        return  # the matcher would not have let it come here either
    line = DOCUMENT.sub(lambda found: shlex.quote(found[3]), line)
    words: list[str] = []
    for token in [*TOKEN.findall(line), ";"]:
        if re.fullmatch(r"[;&|()\n]+", token):
            paragraphs = list(message_options(words))
            if paragraphs:
                yield "\n\n".join(paragraphs)
            words = []
        else:
            words.append("".join(shlex.split(token)))


def message_options(words: list[str]) -> Iterator[str]:
    while words and (words[0] in ("command", "env", "time", "{", "then", "do", "!") or "=" in words[0]):
        words = words[1:]
    if words[:1] != ["git"] or "commit" not in words:
        return
    arguments = words[words.index("commit") + 1 :]
    for at, word in enumerate(arguments):
        if match := re.fullmatch(r"--message=(.*)|-[A-Za-ln-z]*m(.+)", word, re.DOTALL):
            yield match[1] or match[2] or ""
        elif re.fullmatch(r"--message|-[A-Za-ln-z]*m", word) and at + 1 < len(arguments):
            yield arguments[at + 1]


def faults(message: str) -> list[str]:
    subject, _, rest = message.strip().partition("\n")
    if BY_GIT.match(subject) or "$" in subject or "`" in subject:
        return []  # written by git, or not known before the shell has run
    found = []
    if not FORM.match(subject):
        found.append(f"the first line is not 'type(scope): subject' with a type of {', '.join(TYPES)}")
    if len(subject) > MAX_SUBJECT:
        found.append(f"the first line has {len(subject)} characters, {MAX_SUBJECT} are allowed")
    if subject.endswith("."):
        found.append("the first line ends with a full stop")
    if rest and not rest.startswith("\n"):
        found.append("the second line is not empty")
    return found


def main() -> int:
    command = (json.load(sys.stdin).get("tool_input") or {}).get("command")
    found = [error for message in messages(command) for error in faults(message)] if isinstance(command, str) else []
    if not found:
        return 0
    print("commit message: " + "; ".join(found), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
