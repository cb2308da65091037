#!/usr/bin/env python3
"""Keeps file tools and shell commands from writing to files that are not the agent's."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

SECRETS = [
    ".env",
    ".env.*",
    ".netrc",
    ".pypirc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
]
BLOCKED = [*SECRETS, ".git/"]
LOCKS = ["*.lock", "package-lock.json", "pnpm-lock.yaml", "npm-shrinkwrap.json", "go.sum"]
ASKED = [*LOCKS, ".agents/hooks/", ".agents/hooks.toml"]
FREE = [".env.example", ".env.sample", ".env.template", ".env.dist"]

TOKEN = re.compile(
    r"(?P<redirect>(?:\d*|&)(?:>>|>\||>&|>))"
    r"|(?P<separator>&&|\|\||[;&|()\n])"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)",
    re.DOTALL,
)
WRAPPERS = {"sudo", "env", "command", "nohup", "time"}
ALL_OPERANDS = {"tee", "mv", "rm", "touch", "truncate", "shred", "unlink"}
LAST_OPERAND = {"cp", "ln", "install", "rsync"}


def is_one_of(path: str, names: list[str]) -> bool:
    path = posixpath.normpath(path.replace("\\", "/"))
    parts = f"/{path}/"
    folders = [name for name in names if "/" in name]
    plain = [name for name in names if "/" not in name]
    return any(f"/{name.rstrip('/')}/" in parts for name in folders) or any(
        fnmatch(posixpath.basename(path), name) for name in plain
    )


def written_by_shell(command: str) -> Iterator[str]:
    """The paths a command line would write to."""
    words: list[str] = []
    redirected = False
    for token in TOKEN.finditer(command):
        if token.lastgroup == "separator":
            yield from written_by_program(words)
            words, redirected = [], False
        elif token.lastgroup == "redirect":
            redirected = True
        else:
            word = "".join(shlex.split(token[0]))
            if redirected:
                yield word
            else:
                words.append(word)
            redirected = False
    yield from written_by_program(words)


def written_by_program(words: list[str]) -> Iterator[str]:
    while words and (words[0] in WRAPPERS or re.match(r"[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    program = posixpath.basename(words[0]) if words else ""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if program in ALL_OPERANDS:
        yield from operands
    elif program in LAST_OPERAND:
        yield from operands[-1:]
    elif program in ("sed", "perl") and any(re.match(r"-\w*i|--in-place", word) for word in words):
        yield from operands
    elif program == "dd":
        yield from (word[3:] for word in operands if word.startswith("of="))


def written(event: dict[str, Any]) -> list[str]:
    command = (event.get("tool_input") or {}).get("command")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    return [file["path"] for file in event["writes"]] + list(written_by_shell(str(command or "")))


def main() -> int:
    paths = [path for path in written(json.load(sys.stdin)) if not is_one_of(path, FREE)]
    for path in paths:
        if is_one_of(path, BLOCKED):
            print(f"{path} is protected: the agent may not write to it", file=sys.stderr)
            return 2
    for path in paths:
        if is_one_of(path, ASKED):
            print(json.dumps({"decision": "ask", "reason": f"{path} is usually not written by hand"}))
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
