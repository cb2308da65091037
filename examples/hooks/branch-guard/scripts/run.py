#!/usr/bin/env python3
"""Blocks commits on, and pushes to, branches that are changed by review only."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

PROTECTED = {"main", "master"}

TOKEN = re.compile(
    r"(?P<redirect>(?:\d+|&)?[<>]+[&|]?[ \t]*[^\s;&|()]*)"
    r"|(?P<separator>&&|\|\||[;&|()\n])"
    r"|(?P<word>(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|<>()'\"\\])+)",
    re.DOTALL,
)
BEFORE = ("command", "sudo", "env", "time", "{", "then", "do", "!")  # words that may stand before a command
GIT_VALUES = ("-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")
PUSH_VALUES = ("-o", "--push-option", "--receive-pack", "--exec", "--repo")


def simple_commands(line: str) -> Iterator[list[str]]:
    for words in split(line):
        first = next((at for at, word in enumerate(words) if word not in BEFORE and "=" not in word), len(words))
        yield words[first:]


def split(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for token in TOKEN.finditer(line):
        if token.lastgroup == "word":
            words.append("".join(shlex.split(token[0])))
        elif token.lastgroup == "separator":
            yield words
            words = []
    yield words


class Place:
    """The folder and the branch that the next command would find."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.switched: str | None = None

    def git(self, *arguments: str) -> str | None:
        done = subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    @property
    def branch(self) -> str | None:
        return self.switched or self.git("symbolic-ref", "--short", "-q", "HEAD")

    @property
    def is_empty(self) -> bool:
        return self.git("rev-parse", "--verify", "-q", "HEAD") is None

    def enter(self, folder: str) -> None:
        self.folder = os.path.join(self.folder, os.path.expanduser(folder))
        self.switched = None

    def switch(self, arguments: list[str]) -> None:
        for option, name in pairwise(arguments):
            if option in ("-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"):
                self.switched = name
                return
        names = [word for word in arguments if not word.startswith("-")]
        if len(names) == 1 and self.git("rev-parse", "--verify", "-q", f"refs/heads/{names[0]}"):
            self.switched = names[0]


def judge(line: str, folder: str) -> str | None:
    """The reason to block a command line, or None."""
    if "git" not in line:
        return None  # the matcher would not have let it come here either
    place = Place(folder)
    for words in simple_commands(line):
        if words[:1] == ["cd"]:
            place.enter((words[1:] or ["~"])[0])
        elif words and os.path.basename(words[0]) == "git":
            reason = judge_git(words[1:], place)
            if reason:
                return reason
    return None


def judge_git(arguments: list[str], place: Place) -> str | None:
    here = Place(place.folder)
    here.switched = place.switched
    while arguments and arguments[0].startswith("-"):
        if arguments[0] == "-C" and len(arguments) > 1:
            here.enter(arguments[1])
        arguments = arguments[2 if arguments[0] in ("-C", *GIT_VALUES) else 1 :]
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb in ("checkout", "switch"):
        place.switch(rest)
    elif verb == "commit" and "--dry-run" not in rest and here.branch in PROTECTED and not here.is_empty:
        return f"commits do not go onto {here.branch}; make a branch first (git switch -c NAME)"
    elif verb == "push" and not {"--dry-run", "-n"} & set(rest):
        hit = sorted(pushed(rest, here) & PROTECTED)
        return f"{hit[0]} is changed by review only; push a branch of your own" if hit else None
    return None


def pushed(arguments: list[str], place: Place) -> set[str]:
    """The names of the branches that a push would change on the other side."""
    if {"--all", "--mirror", "--branches"} & set(arguments):
        return set(PROTECTED)
    names: list[str] = []
    skip = False
    for word in arguments:
        if not skip and not word.startswith("-"):
            names.append(word)
        skip = word in PUSH_VALUES
    specs = [spec.lstrip("+").rpartition(":")[2] or spec for spec in names[1:]] or ["HEAD"]
    return {(place.branch or "") if spec in ("HEAD", "@") else spec.removeprefix("refs/heads/") for spec in specs}


def main() -> int:
    event = json.load(sys.stdin)
    command = (event.get("tool_input") or {}).get("command")
    reason = judge(command, event.get("work_dir") or ".") if isinstance(command, str) else None
    if reason is None:
        return 0
    print(f"branch-guard: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
