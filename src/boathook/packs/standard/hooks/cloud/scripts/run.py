#!/usr/bin/env python3
"""Asks before something in a cloud or another service is deleted."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from program_list import is_dry_run, list_all_programs, list_operands_of
from verb_rules import TOOLS, ToolRow, find_deleting_request, find_destructive_words

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.arguments import UNKNOWN, has_option
from boathook.shell.started_program import Started

_SYSTEM_FOLDERS = re.compile(r"[^/]*:/(?:(?:etc|usr|bin|sbin|lib\w*|boot|opt|root|sys|dev|var/lib)(?:/|$)|$)")
# What destroys on another machine: a program, letters and words of which one must be there.
_REMOTE_ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rm": ("rR", ("--recursive",)),
    "git": ("", ("--hard", "clean")),
    "dd": ("", ()),
    "wipefs": ("", ()),
    "shred": ("", ()),
    "shutdown": ("", ()),
    "reboot": ("", ()),
    "poweroff": ("", ()),
    "halt": ("", ()),
    "userdel": ("", ()),
    "systemctl": ("", ("stop", "disable", "mask", "poweroff", "reboot")),
    "docker": ("", ("rm", "rmi", "prune", "kill", "down")),
    "kubectl": ("", ("delete", "drain")),
    "truncate": ("", ()),
    "find": ("", ("-delete",)),
    "crontab": ("r", ()),
    "iptables": ("F", ("--flush",)),
}
_ALWAYS = ("dd", "wipefs", "shred", "shutdown", "reboot", "poweroff", "halt", "userdel", "truncate")


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first command that deletes in a service."""
    for name, depth in dict(call.settings.get("tools", {})).items():
        TOOLS.setdefault(name, ToolRow(int(depth)))
    own = {id(program) for program in call.programs}
    for program in list_all_programs(call):
        if _is_free(call, program):
            continue
        answer = (
            _judge_tool(call, program) or _judge_request(program) or _judge_remote(program, is_own=id(program) in own)
        )
        if answer:
            return answer
    return None


def _is_free(call: GuardedCall, program: Started) -> bool:
    text = " ".join((program.name, *program.words[1:]))
    hosts = [re.sub(r"^[a-z]+://|^[^@/]*@", "", word).split("/")[0].split(":")[0] for word in program.words[1:]]
    return any(text.startswith(start) for start in call.list_setting("free")) or any(
        fnmatch(host, pattern) for host in hosts for pattern in call.list_setting("hosts")
    )


def _judge_tool(call: GuardedCall, program: Started) -> GuardAnswer | None:
    words = find_destructive_words(_find_java_tool(program))
    if not words or _is_inside_project(call, program):
        return None
    return ask(
        f"`{words}` changes or deletes something in a service, and mostly for good. Look first with the tool's list or describe "
        "command, use its dry run if it has one, and make a backup."
    )


def _find_java_tool(program: Started) -> Started:
    """Return `java -jar tool.jar …` as a call of the tool."""
    words = program.words
    if program.name != "java" or "-jar" not in words[:-1]:
        return program
    at = words.index("-jar") + 1
    rest = list(words[at + 1 :])
    # Its address is the value of an option.
    while rest and rest[0] in ("-s", "-auth", "-i"):
        rest = rest[2:]
    return program.replace(words=(words[at].rpartition("/")[2].removesuffix(".jar"), *rest))


def _is_inside_project(call: GuardedCall, program: Started) -> bool:
    """Whether `rsync --delete` deletes in a folder of the project, which git or a build can restore."""
    operands = list_operands_of(program)
    if program.name != "rsync" or not operands or not call.project or ":" in operands[-1]:
        return False
    target = program.make_absolute(operands[-1])
    return UNKNOWN not in target and os.path.normpath(target).startswith(call.project.rstrip("/") + "/")


def _judge_request(program: Started) -> GuardAnswer | None:
    request = find_deleting_request(program)
    if not request:
        return None
    shown = request.replace(UNKNOWN, "…")
    return ask(
        f"{shown} deletes or closes something there. Get it first (the same address with GET), and keep the answer as a copy."
    )


def _judge_remote(program: Started, *, is_own: bool) -> GuardAnswer | None:
    """Object to what destroys on another machine, where no other guard looks."""
    if program.name == "scp":
        targets = list_operands_of(program)[-1:]
        if any(_SYSTEM_FOLDERS.fullmatch(one) or _SYSTEM_FOLDERS.match(one) for one in targets):
            return ask(
                f"This overwrites files of the system at {targets[0]}. Copy to a folder of your own there, and install from it."
            )
    row = _REMOTE_ROWS.get(program.name)
    if is_own or row is None or is_dry_run(program):
        return None
    rest = list(program.words[1:])
    letters, words = row
    is_destructive = (
        program.name in _ALWAYS or has_option(rest, letters) if letters else any(word in rest for word in words)
    )
    if is_destructive or program.name in _ALWAYS or any(word in rest for word in words):
        return ask(
            f"This runs `{program.name} {' '.join(rest[:3])}` on another machine, where no undo is at hand. "
            "List what it would change first, and back it up."
        )
    return None


if __name__ == "__main__":
    run_guard(decide)
