"""Commands that change guards without naming a place: of boathook itself, of package managers, and agents without hooks."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from boathook.protection.protection import AgentProgram, Protection
from boathook.shell.interpreters import is_python
from boathook.shell.scope import UNKNOWN, get_program_name
from boathook.shell.started import Started, list_operands

_PROGRAM = "boathook"
# The rows are above this package, and are needed only where a call names boathook.
_COMMAND_ROWS = "boathook.cli.commands"
_PACKAGE_MANAGERS = frozenset(
    (
        "pip",
        "pip3",
        "pipx",
        "uv",
        "poetry",
        "pdm",
        "rye",
        "hatch",
        "pipenv",
        "conda",
        "mamba",
        "micromamba",
        "brew",
        "apt",
    )
)
_REMOVALS = frozenset(("uninstall", "remove", "rm", "purge", "uninject"))
_ALL = frozenset(("uninstall-all", "--all", "-a"))
_HELP = frozenset(("--help", "-h", "--version", "-V"))
# Where boathook and agents look for their folders, besides the home folder.
FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR")


def load_command_rows() -> dict[str, Any]:
    rows: dict[str, Any] = import_module(_COMMAND_ROWS).COMMANDS
    return rows


def describe_own_command(
    started: Started, protection: Protection, load_rows: Callable[[], dict[str, Any]] = load_command_rows
) -> str:
    """Return what a command would do to the guards if it is one of boathook that changes them, else ""."""
    words = _find_own_words(list(started.words))
    if words is None or not _HELP.isdisjoint(words):
        return ""
    if _has_other_home(started, protection):
        return ""
    commands = [word for word in words if not word.startswith("-")]
    name = commands[0] if commands else ""
    row = load_rows().get(name)
    if row is None:
        # It may be a command of another version.
        return "run a command of boathook that is not known here" if name else ""
    changes = row.changes_guards
    if changes is False or any(word.partition("=")[0] in row.reads_with for word in words):
        return ""
    if changes is None or changes is True:
        return f"run `boathook {name}`, which changes what guards you"
    found = next((word for word in words if word.partition("=")[0] in changes), "")
    return f"run `boathook {name} {found}`, which changes what guards you" if found else ""


def _find_own_words(words: list[str]) -> list[str] | None:
    """Return the arguments of boathook, if that is what is started: by its name, by its script, or as a module."""
    name = get_program_name(words)
    if name == _PROGRAM:
        return words[1:]
    if not is_python(name):
        return None
    for at, word in enumerate(words[1:], 1):
        module = words[at + 1] if word.startswith("-") and word.endswith("m") and at + 1 < len(words) else ""
        module = module or (word[2:] if word.startswith("-m") else "")
        if module:
            is_own = module == _PROGRAM or module.startswith((f"{_PROGRAM}.cli", f"{_PROGRAM}.__main__"))
            behind = words[at + 1 :] if word.startswith("-m") and len(word) > 2 else words[at + 2 :]
            return behind if is_own else None
        if not word.startswith("-"):
            is_script = get_program_name([word]) == _PROGRAM or word.endswith(f"/{_PROGRAM}/__main__.py")
            return words[at + 1 :] if is_script else None
    return None


def _has_other_home(started: Started, protection: Protection) -> bool:
    """Whether a command has a home folder of its own, so that it cannot change what guards the agent."""
    variables = dict(started.variables)
    scope = started.scope
    home = variables.get("HOME") or (scope.look_up("HOME") if scope else protection.home)
    if home.startswith(UNKNOWN) or not home.startswith("/"):
        return False
    is_other = f"{home.rstrip('/')}/" != f"{protection.home}/"
    fixed = [name for name in protection.set_variables if name not in variables]
    return is_other and not fixed


def describe_package_change(started: Started) -> str:
    words = list(started.words)
    if is_python(started.name) and "-m" in words:
        words = words[words.index("-m") + 1 :]
    name = get_program_name(words)
    if name not in _PACKAGE_MANAGERS and not re.fullmatch(r"pip[\d.]+", name):
        return ""
    arguments = words[1:]
    operands = list_operands(arguments)
    is_named = any(_is_own_package(word) for word in operands)
    removes = not _REMOVALS.isdisjoint(operands) or not _ALL.isdisjoint(operands)
    takes_all = removes and not _ALL.isdisjoint(arguments) and name in ("pipx", "uv")
    if removes and (is_named or takes_all):
        return "uninstall boathook, so that no hook runs any more"
    is_pinned = any(_is_own_package(word) and re.search(r"[=<>@~!]", word) for word in operands)
    if "install" in operands and is_pinned:
        return "install another version of boathook"
    return ""


def _is_own_package(word: str) -> bool:
    name = re.split(r"[\[=<>@~! ;]", word, maxsplit=1)[0]
    return name.lower().replace("_", "-") == _PROGRAM


def describe_agent_start(started: Started, agents: tuple[AgentProgram, ...]) -> str:
    """Return what is done if an agent is started with its hooks turned off, else ""."""
    for agent in agents:
        if started.name not in agent.programs:
            continue
        line = " ".join(started.words[1:]).lower()
        if any(_has_off_word(line, word.lower()) for word in agent.words):
            return f"start {agent.title} with its hooks turned off"
        moved = [name for name, _ in started.variables if name in agent.variables or name == "HOME"]
        if moved:
            return f"start {agent.title} with other settings ({moved[0]}), which have no hooks of yours"
    return ""


def _has_off_word(line: str, word: str) -> bool:
    if word.startswith("-"):
        return f" {word} " in f" {line} " or f" {word}=" in f" {line}" or f" {word.replace(' ', '=')} " in f" {line} "
    return word in line
