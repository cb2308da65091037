#!/usr/bin/env python3
"""Asks before the checks of a repository are skipped: `--no-verify`, another hooks folder, variables that switch hooks off."""

from __future__ import annotations

from argument_list import ArgumentList
from call_programs import list_host_programs
from git_call import GitCall, iter_git_calls

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.started_program import Started

_FIX = "Run the checks, and fix what they report; if a check itself is wrong, tell the person"
# Subcommands that run hooks, and the option that skips them.
_SKIPPING_OPTIONS = {
    "commit": ("-n", "--no-verify"),
    **dict.fromkeys(("push", "merge", "rebase", "am", "pull"), ("--no-verify",)),
}
_RUNS_HOOKS = frozenset((*_SKIPPING_OPTIONS, "checkout", "switch", "cherry-pick", "revert", "gc"))
# Variables that switch off hooks, with the values that do; an empty tuple is any value.
_OFF = ("0", "false", "no", "off")
_SKIPPING_VARIABLES = {
    "HUSKY": _OFF,
    "HUSKY_SKIP_HOOKS": (),
    "HUSKY_SKIP_INSTALL": (),
    "LEFTHOOK": _OFF,
    "LEFTHOOK_EXCLUDE": (),
    "SKIP": (),
    "PRE_COMMIT_ALLOW_NO_CONFIG": (),
    "OVERCOMMIT_DISABLE": (),
    "SKIP_SIMPLE_GIT_HOOKS": (),
}
# These names say by themselves what they are for; `SKIP` may be of another program.
_CLEAR_NAMES = frozenset(_SKIPPING_VARIABLES) - {"SKIP"}
_UNINSTALLERS = {"pre-commit": "uninstall", "lefthook": "uninstall", "husky": "uninstall", "overcommit": "--uninstall"}


def decide(call: GuardedCall) -> GuardAnswer | None:
    programs = list_host_programs(call)
    for git in iter_git_calls(programs):
        if reason := _find_skipped_checks(git):
            return ask(f"{reason} {_FIX}.")
    for program in programs:
        if reason := _find_disabled_hooks(program):
            return ask(f"{reason} {_FIX}.")
    return None


def _find_skipped_checks(git: GitCall) -> str:
    options = _SKIPPING_OPTIONS.get(git.subcommand, ())
    # `-n` of `commit` is short for it, and `--no-v` as well.
    if any(
        option.name in options or ("--no-verify".startswith(option.name) and len(option.name) > 5)
        for option in git.arguments.options
        if options
    ):
        return f"`git {git.subcommand} --no-verify` skips the checks of this repository."
    if "core.hookspath" in git.settings and git.subcommand in _RUNS_HOOKS:
        return "`core.hooksPath` makes git skip the hooks of this repository."
    if git.subcommand == "config" and _sets_hooks_folder(git.arguments):
        return "`git config core.hooksPath` switches off the hooks of this repository."
    variables = dict(git.program.variables)
    for name, values in _SKIPPING_VARIABLES.items():
        if git.subcommand in _RUNS_HOOKS and name in variables and (not values or variables[name].lower() in values):
            return f"`{name}={variables[name]}` skips the checks of this repository."
    if any(value.lower() == "core.hookspath" for name, value in variables.items() if name.startswith("GIT_CONFIG_KEY")):
        return "`core.hooksPath` makes git skip the hooks of this repository."
    return ""


def _sets_hooks_folder(arguments: ArgumentList) -> bool:
    operands = [word for word in arguments.operands if word != "set"]
    is_reading = arguments.has("--get", "--get-all", "--unset", "--unset-all", "--list", "-l", "--show-origin")
    return len(operands) > 1 and operands[0].lower() == "core.hookspath" and not is_reading


def _find_disabled_hooks(program: Started) -> str:
    if program.name in ("export", "setenv", "declare"):
        pairs = [word.partition("=") for word in program.words[1:]]
        for name, _, value in pairs:
            values = _SKIPPING_VARIABLES.get(name, ())
            if name in _CLEAR_NAMES and value and (not values or value.lower() in values):
                return f"`{name}={value}` skips the checks of this repository from now on."
    verb = _UNINSTALLERS.get(program.name)
    if verb and verb in program.words[1:]:
        return f"`{program.name} {verb}` switches off the checks of this repository."
    return ""


if __name__ == "__main__":
    run_guard(decide)
