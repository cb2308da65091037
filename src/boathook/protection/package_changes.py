"""Calls of package managers that take boathook away, or a library without which it cannot run."""

from __future__ import annotations

import re

from boathook.core.interpreters import is_python
from boathook.protection.file_view import FileView
from boathook.protection.path_match import normalize_path
from boathook.protection.protection import Protection
from boathook.shell.arguments import UNKNOWN, find_option_values, get_program_name, list_operands
from boathook.shell.started_program import Started

OWN_PACKAGE = "boathook"
# What boathook needs; a test compares it with what the package says.
NEEDED_PACKAGES = frozenset(("click", "google-re2", "pyyaml", "regex", "rich"))
_MANAGERS = frozenset(
    (
        *("pip", "pip3", "pipx", "uv", "poetry", "pdm", "rye", "hatch", "pipenv", "conda", "mamba", "micromamba"),
        *("brew", "apt"),
    )
)
_REMOVALS = frozenset(("uninstall", "remove", "rm", "purge", "uninject"))
_ALL = frozenset(("uninstall-all", "--all", "-a"))
_ENVIRONMENT_OPTIONS = ("--python", "-p", "--prefix")


def describe_package_change(started: Started, protection: Protection, view: FileView) -> str:
    """Return what a call of a package manager would do to boathook, or ""."""
    words = list(started.words)
    if is_python(started.name) and "-m" in words:
        words = words[words.index("-m") + 1 :]
    name = get_program_name(words)
    if name not in _MANAGERS and not re.fullmatch(r"pip[\d.]+", name):
        return ""
    arguments = words[1:]
    operands = list_operands(arguments)
    removes = not _REMOVALS.isdisjoint(operands) or not _ALL.isdisjoint(operands)
    takes_all = removes and not _ALL.isdisjoint(arguments) and name in ("pipx", "uv")
    is_own_named = any(is_own_package(word) for word in operands)
    needed = [word for word in operands if _get_package_name(word) in NEEDED_PACKAGES]
    # `pipx inject boathook …` is about its environment, not about boathook.
    if removes and (is_own_named or takes_all) and not (needed and name == "pipx"):
        return "uninstall boathook, so that no hook runs any more"
    pinned = [word for word in operands if re.search(r"[=<>@~!]", word)]
    if "install" in operands and any(is_own_package(word) for word in pinned):
        return "install another version of boathook"
    is_changed = removes or any(word in pinned for word in needed) or "inject" in operands
    if needed and is_changed and (is_own_named or _is_own_environment(started, name, arguments, protection, view)):
        return f"change {_get_package_name(needed[0])}, without which boathook cannot run"
    return ""


def is_own_package(word: str) -> bool:
    return _get_package_name(word) == OWN_PACKAGE


def _get_package_name(word: str) -> str:
    return re.split(r"[\[=<>@~! ;]", word, maxsplit=1)[0].lower().replace("_", "-")


def _is_own_environment(
    started: Started, name: str, arguments: list[str], protection: Protection, view: FileView
) -> bool:
    """Whether the environment that a call changes is the one that boathook is in."""
    environment = _find_environment(started, name, arguments, view)
    if not environment or UNKNOWN in environment:
        return False
    forms = {normalize_path(environment), view.find_real(normalize_path(environment))}
    paths = [place.path for place in protection.places]
    return any(path == form or path.startswith(f"{form}/lib") for path in paths for form in forms)


def _find_environment(started: Started, name: str, arguments: list[str], view: FileView) -> str:
    """Return the environment that a package manager changes: named, of the program, of a variable, or of the folder."""
    scope_variables = started.scope.variables if started.scope is not None else {}
    variables = {**scope_variables, **dict(started.variables)}
    named = find_option_values(arguments, *_ENVIRONMENT_OPTIONS)
    if named:
        return _find_prefix(started.make_absolute(named[0]))
    if "/" in started.words[0]:
        return _find_prefix(started.make_absolute(started.words[0]))
    active = variables.get("VIRTUAL_ENV", "") or view.get_variable("VIRTUAL_ENV")
    if name == "uv":
        return active or started.make_absolute(".venv")
    if "VIRTUAL_ENV" in variables:
        return active
    first_folder = variables.get("PATH", "").partition(":")[0]
    return _find_prefix(f"{first_folder}/{started.name}" if first_folder else view.find_program(started.name))


def _find_prefix(path: str) -> str:
    """Return the environment of a program, or the path itself if it is not one of `bin`."""
    folder = path.rpartition("/")[0]
    return folder.removesuffix("/bin") if folder.endswith("/bin") else path
