#!/usr/bin/env python3
"""Rewrites `rm -r` into a move to a trash folder."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

TRASH = "${TMPDIR:-/tmp}/agent-trash.XXXXXXXX"  # mktemp fills in the end

TOKEN = re.compile(
    r"(?P<separator>&&|\|\||[;&|()\n])|(?P<redirect>\d*[<>][<>&|]*)"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)",
    re.DOTALL,
)
RM = re.compile(r"\\?(?:(?:/usr)?/bin/)?rm")
BEFORE_A_COMMAND = ("if", "elif", "while", "until", "then", "do", "else", "{", "!")


def simple_commands(line: str) -> list[list[re.Match[str]]]:
    """The words of each simple command, with their places; redirections end a command's list of words."""
    commands: list[list[re.Match[str]]] = [[]]
    redirected = False
    for token in TOKEN.finditer(line):
        if token.lastgroup == "separator" or (not commands[-1] and token[0] in BEFORE_A_COMMAND):
            commands.append([])
            redirected = False
        elif token.lastgroup == "redirect":
            redirected = True
        elif not redirected:
            commands[-1].append(token)
    return [words for words in commands if words]


def move(words: list[str]) -> str | None:
    """The command that moves what `rm` would delete, or None if it deletes single files only."""
    options: list[str] = []
    paths: list[str] = []
    for word in words[1:]:
        (options if word.startswith("-") and "--" not in options else paths).append(word)
    letters = "".join(option for option in options if not option.startswith("--"))
    if not paths or not (set("rR") & set(letters) or "--recursive" in options):
        return None
    force = "f" in letters or "--force" in options
    test = '[ -e "$it" ] || [ -L "$it" ] || continue; ' if force else ""
    one = f'to=$(mktemp -d "{TRASH}") && mv -- "$it" "$to/" || exit'
    return f"(for it in {' '.join(paths)}; do {test}{one}; done)"


def rewrite(line: str) -> str:
    if "<<" in line or TOKEN.sub("", line).strip():
        return line  # a here-document or an open quote: better leave it than spoil it
    for words in reversed(simple_commands(line)):
        moved = move([word[0] for word in words]) if RM.fullmatch(words[0][0]) else None
        if moved:
            before = line[: words[0].start()]
            space = " " if before.endswith("(") else ""  # two parentheses together would be arithmetic
            line = before + space + moved + line[words[-1].end() :]
    return line


def main() -> int:
    tool_input: dict[str, Any] = json.load(sys.stdin).get("tool_input") or {}
    command = tool_input.get("command")
    if not isinstance(command, str):
        return 0
    rewritten = rewrite(command)
    if rewritten != command:
        answer = {"modified_input": {**tool_input, "command": rewritten}, "log": "rm -r became a move to the trash"}
        print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
