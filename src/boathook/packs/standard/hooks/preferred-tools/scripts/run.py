#!/usr/bin/env python3
"""Blocks programs that the project does not use, and names what to run instead."""

from __future__ import annotations

import os

from call_programs import list_host_programs
from places import is_below
from program_list import is_dry_run, list_operands_of

from boathook.guards import GuardAnswer, GuardedCall, block, run_guard
from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started

# A lock file, the program that it belongs to, and the programs that would make another one.
_MANAGERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("uv.lock", "uv", ("pip", "pip3", "poetry", "pipenv", "pdm", "conda")),
    ("poetry.lock", "poetry", ("pip", "pip3", "uv", "pipenv", "pdm")),
    ("pdm.lock", "pdm", ("pip", "pip3", "uv", "pipenv", "poetry")),
    ("Pipfile.lock", "pipenv", ("pip", "pip3", "uv", "poetry", "pdm")),
    ("pnpm-lock.yaml", "pnpm", ("npm", "yarn", "bun")),
    ("yarn.lock", "yarn", ("npm", "pnpm", "bun")),
    ("bun.lock", "bun", ("npm", "yarn", "pnpm")),
    ("bun.lockb", "bun", ("npm", "yarn", "pnpm")),
    ("package-lock.json", "npm", ("yarn", "pnpm", "bun")),
)
# Verbs that change what is installed, and what each manager calls them.
_CHANGING = ("install", "i", "add", "ci", "remove", "uninstall", "rm", "update", "upgrade", "sync", "lock")
_ADDING = {
    "npm": "install",
    "uv": "add",
    "poetry": "add",
    "pdm": "add",
    "pipenv": "install",
    "pnpm": "add",
    "yarn": "add",
    "bun": "add",
}
_SYNCING = {
    "npm": "ci",
    "uv": "sync",
    "poetry": "install",
    "pdm": "sync",
    "pipenv": "sync",
    "pnpm": "install",
    "yarn": "install",
    "bun": "install",
}
_REMOVING = ("remove", "uninstall", "rm")
# What is not about the packages of a project: tools of the user, and the managers themselves.
_GLOBAL_OPTIONS = frozenset(("-g", "--global", "--user", "--target", "-t", "--prefix"))
_GLOBAL_WORDS = frozenset(("tool", "self", "global", "python", "cache", "config"))
_OWN_PACKAGES = frozenset(("pip", "setuptools", "wheel", "npm", "corepack", *_ADDING))


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first program that the project does not use."""
    for program in list_host_programs(call):
        if not is_dry_run(program) and (answer := _judge_settings(call, program) or _judge_manager(call, program)):
            return answer
    return None


def _judge_settings(call: GuardedCall, program: Started) -> GuardAnswer | None:
    text = " ".join((program.name, *program.words[1:]))
    rows = dict(call.settings.get("instead", {}))
    for start in sorted(rows, key=len, reverse=True):
        if text == start or text.startswith(f"{start} ") or (start.endswith("/") and text.startswith(start)):
            return block(f"This project uses `{rows[start]}` instead of `{start}`. Run that.")
    return None


def _judge_manager(call: GuardedCall, program: Started) -> GuardAnswer | None:
    operands = list_operands_of(program)
    # `uv pip`, `conda env`: the verb is the second word.
    verb = next((word for word in operands[:2] if word in _CHANGING), "")
    if not verb or not call.settings.get("detect", True) or _is_global(program, operands, verb):
        return None
    folder = _find_locked_folder(program.folder, call.project or call.work_dir)
    own = [(lock, manager) for lock, manager, _ in _MANAGERS if folder and _has_file(folder, lock)]
    if program.name in [manager for _, manager in own]:
        return None
    for lock, manager, others in _MANAGERS:
        if (lock, manager) in own and program.name in others:
            return block(f"This project uses {manager} ({lock}). Run `{_suggest(manager, verb, operands)}`.")
    return None


def _is_global(program: Started, operands: list[str], verb: str) -> bool:
    """Whether a call is not about the packages of the project."""
    packages = operands[operands.index(verb) + 1 :]
    is_own = bool(packages) and all(name.partition("@")[0] in _OWN_PACKAGES for name in packages)
    return is_own or not _GLOBAL_OPTIONS.isdisjoint(program.words) or not _GLOBAL_WORDS.isdisjoint(operands[:1])


def _find_locked_folder(folder: str, top: str) -> str:
    """Return the nearest folder with a lock file, from where a program works up to the project; "" if there is none."""
    folder = folder if folder and is_below(folder, top) else top
    while folder.strip("/"):
        if any(_has_file(folder, lock) for lock, _, _ in _MANAGERS):
            return folder
        if not is_below(os.path.dirname(folder), top):
            break
        folder = os.path.dirname(folder)
    return ""


def _has_file(folder: str, name: str) -> bool:
    return UNKNOWN not in folder and os.path.exists(os.path.join(folder, name))


def _suggest(manager: str, verb: str, operands: list[str]) -> str:
    names = [word for word in operands[operands.index(verb) + 1 :] if not word.endswith((".txt", "."))]
    if verb in _REMOVING:
        own_verb = "uninstall" if manager in ("npm", "pipenv") else "remove"
        return " ".join((manager, own_verb, *names))
    return " ".join((manager, _ADDING[manager], *names)) if names else f"{manager} {_SYNCING[manager]}"


if __name__ == "__main__":
    run_guard(decide)
