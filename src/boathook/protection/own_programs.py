"""Commands that change guards without naming a place: of boathook itself, and agents without hooks."""

from __future__ import annotations

import re

from boathook.command_rows import COMMANDS
from boathook.core.disarm_prefilter import resolve_parents
from boathook.core.interpreters import is_python
from boathook.protection.file_view import FileView
from boathook.protection.package_changes import OWN_PACKAGE, is_own_package
from boathook.protection.protection import AgentProgram, ProtectedPlace, Protection
from boathook.shell.arguments import UNKNOWN, get_program_name
from boathook.shell.scope import ShellScope
from boathook.shell.started_program import Started
from boathook.sources.source import SOURCES
from boathook.system.locations import CACHE_FOLDER, list_user_folders

# Options without a value, which people write before others.
_FLAGS = frozenset(
    (
        *(
            "--yes",
            "--undo",
            "--user",
            "--all",
            "--json",
            "--diff",
            "--move",
            "--local",
            "--no-pack",
            "--strict",
            "--override",
        ),
        *("--anywhere", "--list", "--dry-run", "--trust-folder", "--help", "-h"),
    )
)
_HELP = frozenset(("--help", "-h", "--version", "-V"))
# Where boathook and agents look for their folders, besides the home folder.
_FOLDERS = (*list_user_folders(SOURCES), CACHE_FOLDER)
FOLDER_VARIABLES = tuple(folder.variable.decode() for folder in _FOLDERS)
_FOLDER_OPTIONS = tuple(f"--{folder.option}" for folder in _FOLDERS)
_KILLERS, _PROCESS_FINDERS = ("pkill", "killall", "skill"), ("pgrep", "pidof")
# What is in the command line of every process of the engine.
_PROCESS_NAMES = (OWN_PACKAGE, "hook_entry")
# Options with which a command changes files of the project, wherever the home folder is.
_PROJECT_OPTIONS = ("--project", "--move", "--fix")


def describe_own_command(started: Started, protection: Protection, view: FileView) -> str:
    """Return what a command would do to the guards if it is one of boathook that changes them, else ""."""
    words = _find_own_words([_follow_link(word, started) for word in started.words[:1]] + list(started.words[1:]))
    own_words = _drop_values(words or [])
    if words is None or not _HELP.isdisjoint(own_words):
        return ""
    if _has_other_home(started, words, protection, view):
        return ""
    commands = [word for word in words if not word.startswith("-")]
    name = commands[0] if commands else ""
    row = COMMANDS.get(name)
    if row is None:
        # It may be a command of another version.
        return "run a command of boathook that is not known here" if name else ""
    changes = row.changes_guards
    if changes is False or (row.needs_operand and len(commands) == 1):
        return ""
    if not own_words.isdisjoint(row.reads_with):
        return ""
    if changes is None or changes is True:
        return f"run `boathook {name}`, which changes what guards you"
    found = next((word for word in words if word.partition("=")[0] in changes), "")
    return f"run `boathook {name} {found}`, which changes what guards you" if found else ""


def _drop_values(words: list[str]) -> set[str]:
    """Return words without those that may be the value of an option, as in `--state --dry-run`, and those behind `--`."""
    before = words[: words.index("--")] if "--" in words else words
    return {
        word
        for previous, word in zip(("", *before), before, strict=False)
        if not previous.startswith("-") or previous in _FLAGS
    }


def _follow_link(program: str, started: Started) -> str:
    links = started.scope.links if started.scope is not None else {}
    return links.get(started.make_absolute(program), program)


def _find_own_words(words: list[str]) -> list[str] | None:
    """Return the arguments of boathook, if that is what is started: by its name, by its script, or as a module."""
    name = get_program_name(words)
    # `uvx` and its like take a version with the name.
    if is_own_package(name):
        return words[1:]
    if not is_python(name):
        return None
    for at, word in enumerate(words[1:], 1):
        module = words[at + 1] if word.startswith("-") and word.endswith("m") and at + 1 < len(words) else ""
        module = module or (word[2:] if word.startswith("-m") else "")
        if module:
            is_own = module == OWN_PACKAGE or module.startswith((f"{OWN_PACKAGE}.cli", f"{OWN_PACKAGE}.__main__"))
            behind = words[at + 1 :] if word.startswith("-m") and len(word) > 2 else words[at + 2 :]
            return behind if is_own else None
        if not word.startswith("-"):
            is_script = get_program_name([word]) == OWN_PACKAGE or word.endswith(f"/{OWN_PACKAGE}/__main__.py")
            return words[at + 1 :] if is_script else None
    return None


def _has_other_home(started: Started, arguments: list[str], protection: Protection, view: FileView) -> bool:
    """Whether a command certainly has a home folder of its own, so that it cannot change what guards the agent."""
    variables = dict(started.variables)
    scope = started.scope or ShellScope(started.folder, {"HOME": protection.home})
    home = variables.get("HOME", scope.look_up("HOME"))
    if not home.startswith("/") or any(name not in variables for name in protection.set_variables):
        return False
    if "HOME" not in variables and "HOME" in scope.doubtful:
        return False
    # A text can make links from one home to the other.
    if any(f"{home}/".startswith(f"{link}/") or not _is_apart(link, home) for link in scope.links):
        return False
    if any(word.partition("=")[0] in _PROJECT_OPTIONS for word in arguments):
        return False
    folders = [variables.get(name, scope.variables.get(name, "")) for name in FOLDER_VARIABLES]
    folders += _list_option_folders(arguments)
    if not all(_is_elsewhere(started.make_absolute(folder), protection, view) for folder in folders if folder):
        return False
    moved = _list_moved_folders(home, protection)
    return not any(_find_real(path, view) == _find_real(place.path, view) for place, path in moved)


def _is_apart(link: str, home: str) -> bool:
    return link.startswith("/") and not f"{link}/".startswith(f"{home.rstrip('/')}/")


def _list_option_folders(arguments: list[str]) -> list[str]:
    folders: list[str] = []
    for at, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if name in _FOLDER_OPTIONS:
            folders += [value] if sign else arguments[at + 1 : at + 2]
    return folders


def _is_elsewhere(folder: str, protection: Protection, view: FileView) -> bool:
    """Whether a folder certainly neither is in a protected place nor holds one."""
    if UNKNOWN in folder or not folder.startswith("/"):
        return False
    real = _find_real(folder, view)
    places = [_find_real(place.path, view) for place in protection.places]
    return not any(f"{real}/".startswith(f"{place}/") or f"{place}/".startswith(f"{real}/") for place in places)


def _list_moved_folders(home: str, protection: Protection) -> list[tuple[ProtectedPlace, str]]:
    """Return the home folder and the places in it, each with its path in another home."""
    places = [ProtectedPlace(protection.home, ""), *protection.places]
    inside = [place for place in places if f"{place.path}/".startswith(f"{protection.home}/")]
    return [(place, home + place.path.removeprefix(protection.home)) for place in inside]


def _find_real(path: str, view: FileView) -> str:
    return view.find_real(resolve_parents(path.replace(UNKNOWN, "_"), view.find_real)).rstrip("/").lower()


def describe_killing(started: Started) -> str:
    """Return what is done if processes of the engine are ended by their name: hooks that it runs then decide nothing."""
    if started.name not in _KILLERS or not _names_engine(started):
        return ""
    return "end boathook while it asks hooks, so that they decide nothing"


def describe_found_killing(programs: list[Started]) -> str:
    """Return the same for `kill $(pgrep boathook)`: one program finds the processes, another one ends them."""
    is_found = any(started.name in _PROCESS_FINDERS and _names_engine(started) for started in programs)
    is_killing = any(started.name == "kill" for started in programs)
    return "end boathook while it asks hooks, so that they decide nothing" if is_found and is_killing else ""


def _names_engine(started: Started) -> bool:
    return any(name in word for word in started.words[1:] for name in _PROCESS_NAMES)


def describe_agent_start(started: Started, agents: tuple[AgentProgram, ...]) -> str:
    """Return what is done if an agent is started with its hooks turned off, else ""."""
    name = started.name.partition("@")[0]
    for agent in agents:
        if name not in agent.programs:
            continue
        line = " ".join(started.words[1:]).lower()
        if any(_has_off_word(line, word.lower()) for word in agent.words):
            return f"start {agent.title} with its hooks turned off"
        moved = [name for name in _list_changed_variables(started) if name in (*agent.variables, "HOME")]
        if moved:
            return f"start {agent.title} with other settings ({moved[0]}), which have no hooks of yours"
    return ""


def _list_changed_variables(started: Started) -> list[str]:
    """Return the variables that are set for a program alone, or that the text before it changed."""
    scope = started.scope or ShellScope(started.folder, {})
    changed = [name for name, value in scope.variables.items() if value != scope.given.get(name, UNKNOWN)]
    return [*(name for name, _ in started.variables), *changed]


def _has_off_word(line: str, word: str) -> bool:
    if word.startswith("-"):
        return f" {word} " in f" {line} " or f" {word}=" in f" {line}" or f" {word.replace(' ', '=')} " in f" {line} "
    # `features={hooks=false}` is `features.hooks=false`.
    top, _, last = word.rpartition(".")
    plain = line.replace('"', "").replace("'", "")
    return word in plain or bool(top and re.search(rf"{re.escape(top)}\s*=\s*\{{[^}}]*\b{re.escape(last)}\b", plain))
