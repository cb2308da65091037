#!/usr/bin/env python3
"""Objects to reading files and variables that hold secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from secret_flows import HANDED_OUT, SecretFlows, SecretRead, is_dump, is_names_only
from secret_paths import CREDENTIAL, SETTINGS, SecretPath, find_linked_secret, find_secret_path
from secret_printers import find_code_variables, is_store_dump
from written_commands import WrittenCommand, is_name_of_secret, list_assignments, list_pipes, list_variables

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard

_DUMPS = (
    ["env"],
    ["printenv"],
    ["set"],
    ["export"],
    ["export", "-p"],
    ["declare", "-x"],
    ["declare", "-p"],
    ["declare"],
)
_PASSING = frozenset(
    (
        *(
            "sort",
            "cat",
            "less",
            "more",
            "head",
            "tail",
            "tee",
            "column",
            "nl",
            "uniq",
            "tr",
            "fold",
            "base64",
            "base32",
        ),
        *("xxd", "od", "hexdump", "rev", "tac", "strings", "paste", "dd", "pv"),
    )
)
_ITEM_LISTERS = ("get-childitem", "gci", "dir", "ls", "get-item", "gi")
_WORD_PRINTERS = ("echo", "printf", "write-output", "write-host")
_SEARCHERS = ("grep", "egrep", "rg", "ag", "ack", "fgrep")
_MAX_WORDS = 200
_PATH_PARTS = ("path", "file", "uri", "pattern", "glob", "notebook")


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return the first objection to what a call reads."""
    if "shell" in call.kinds:
        flows = SecretFlows(call)
        return _find_read_file(call, flows) or _find_shown_variable(call) or _find_inner_dump(flows)
    if "reads" in call.kinds:
        for path in _iter_paths(call.tool_input):
            secret = _judge_tool_path(call, path)
            if secret and not _is_free(call, secret):
                return _object_to(secret)
    return None


def _judge_tool_path(call: GuardedCall, path: str) -> SecretPath | None:
    absolute = call.make_absolute(path)
    return (
        find_secret_path(path, call.home)
        or find_secret_path(absolute, call.home)
        or find_linked_secret(absolute, call.home)
        or _judge_settings(call, path)
    )


def _judge_settings(call: GuardedCall, path: str) -> SecretPath | None:
    patterns = call.list_setting("secret")
    return SecretPath(path, SETTINGS, "secrets, by your settings") if _matches_any(path, patterns) else None


def _matches_any(path: str, patterns: Any) -> bool:
    return any(fnmatch(path, one) or fnmatch(path, f"*/{one}") for one in patterns)


def _is_free(call: GuardedCall, secret: SecretPath) -> bool:
    return _matches_any(secret.path, call.list_setting("free"))


def _iter_paths(tool_input: Any) -> Iterator[str]:
    """Yield the paths and patterns of names that a tool reads."""
    items = tool_input.items() if isinstance(tool_input, dict) else ()
    for key, value in items:
        is_path = any(part in str(key).lower() for part in _PATH_PARTS)
        values = value if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, dict):
                yield from _iter_paths(one)
            elif isinstance(one, str) and is_path and len(one) < 2000 and "\n" not in one:
                yield one


def _find_read_file(call: GuardedCall, flows: SecretFlows) -> GuardAnswer | None:
    reads = [read for read in flows.reads if not _is_free(call, read.secret) and not _is_excused(flows, read)]
    if not call.settings.get("managers", False):
        reads = [read for read in reads if read.secret.kind != HANDED_OUT]
    if reads:
        gravest = next((read for read in reads if read.secret.level == CREDENTIAL), reads[0])
        return _object_to(gravest.secret, is_copy=gravest.is_copy)
    if (secret := _find_printed_lines(call, flows)) and not _is_free(call, secret):
        return _object_to(secret)
    for program in flows.programs:
        for word in program.words[1:][:_MAX_WORDS]:
            if (secret := _judge_settings(call, word)) and program.name in (
                "cat",
                "head",
                "tail",
                "less",
                "sed",
                "bat",
            ):
                return _object_to(secret)
    return None


def _find_printed_lines(call: GuardedCall, flows: SecretFlows) -> SecretPath | None:
    """Return the secret that a loop reads line by line and prints."""
    prints = any(one.name in ("echo", "printf") and not one.outputs for one in flows.programs)
    loops = [one for pipe in list_pipes(call) for one in pipe if one.name == "done" and prints]
    return next((found for one in loops for path in one.inputs if (found := _judge_tool_path(call, path))), None)


def _is_excused(flows: SecretFlows, read: SecretRead) -> bool:
    """Whether what a program prints goes where it is not shown: into a count, names alone, or the environment."""
    consumers = flows.consumers.get(id(read.program), [])
    if any(is_names_only(one) for one in consumers):
        return True
    if read.secret.level == CREDENTIAL:
        return False
    # A tool that hands a secret on to another program is the right way to use one.
    if " " in read.secret.path:
        return not flows.is_shown(read.program) and not is_store_dump(read.program)
    is_loading = any(one.words == ("xargs",) for one in (read.program, *consumers))
    return is_loading and any(one.name in ("export", "env", "declare") for one in flows.programs)


def _object_to(secret: SecretPath, *, is_copy: bool = False) -> GuardAnswer:
    what = f"{secret.path} holds {secret.kind}"
    if secret.level == CREDENTIAL:
        done = "copies it to where nothing protects it" if is_copy else "would show it to the model"
        return block(
            f"{what}, and this {done}. Let the program that needs it read it by itself; `ls -l` shows whether it is there."
        )
    if " " in secret.path:
        return ask(
            f"`{secret.path}` prints a secret, and this shows it to the model. Let the program that needs it get it by itself: "
            f'by a pipe, or as PROGRAM "$({secret.path})".'
        )
    return ask(
        f"{what}: this shows its values to the model. To see the names only: `cut -d= -f1 {secret.path}`; "
        "to use the values, let the program load the file by itself."
    )


def _find_shown_variable(call: GuardedCall) -> GuardAnswer | None:
    assigned = list_assignments(call)
    for pipe in list_pipes(call):
        first = pipe[0]
        if first.is_nested or any(one.has_output for one in pipe):
            continue
        words = [word.lower() for word in first.words]
        is_dump_of_drive = words[:1] and words[0] in _ITEM_LISTERS and any(word in ("env:", "env:*") for word in words)
        if (first.words in _DUMPS or is_dump_of_drive) and _shows_dump(pipe[1:]):
            return ask(
                f"`{' '.join(first.words)}` shows all variables, with their secrets, to the model. "
                "Print the one that you need (`printenv NAME`), or the names: `env | cut -d= -f1`."
            )
        names = first.words[1:] if first.name == "printenv" else []
        # In PowerShell, a value alone is printed.
        is_value = first.raws[:1] and first.raws[0].lower().startswith("$env:")
        if is_value or (first.name.lower() in _WORD_PRINTERS and len(pipe) == 1):
            names = [name for raw in first.raws[0 if is_value else 1 :] for name in list_variables(raw)]
        for name in names:
            if is_name_of_secret(name) and name not in assigned and len(pipe) == 1:
                return ask(
                    f"This shows the value of {name} to the model. "
                    f'To see whether it is set: `test -n "${name}" && echo set`.'
                )
    return None


def _find_inner_dump(flows: SecretFlows) -> GuardAnswer | None:
    """Object to variables that code prints, or a program in a container or on another machine."""
    for program in flows.programs:
        is_inner = bool(program.started_by) and is_dump(program)
        shown = "all variables of the environment" if is_inner else find_code_variables(program)
        if shown and flows.is_shown(program):
            return ask(
                f"This shows {shown} to the model, with the secrets in it. Let the program that needs one read it by itself; "
                "to see which variables are set, print only their names: `env | cut -d= -f1`."
            )
    return None


def _shows_dump(consumers: list[WrittenCommand]) -> bool:
    """Whether the variables of the environment come out of a pipe with their values."""
    for one in consumers:
        if one.name in _SEARCHERS:
            patterns = [word for word in one.words[1:] if not word.startswith("-")]
            is_quiet = any(re.fullmatch(r"-\w*[qc]\w*", word) for word in one.words[1:])
            is_about_secrets = any(
                re.search(r"(?i)key|secret|token|pass|cred|auth|^\.$|^=$", word) for word in patterns
            )
            return not is_quiet and (is_about_secrets or any(re.fullmatch(r"-\w*v\w*", word) for word in one.words))
        if one.name not in _PASSING:
            return False
    return True


if __name__ == "__main__":
    run_guard(decide)
