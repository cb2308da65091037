"""Which paths `git` changes: a row for each of its subcommands."""

from __future__ import annotations

import re

from boathook.shell.arguments import UNKNOWN, find_option_values, has_option, list_operands, skip_options
from boathook.shell.file_changes import move_paths, read_diff, remove_paths, write_output
from boathook.shell.found_paths import FindFilters, FoundPath
from boathook.shell.git_commands import GIT_VALUES
from boathook.shell.path_change import EXACT, OVERLAY, TREE, Changes, PathChange, Rule
from boathook.shell.started_program import Started

_WHOLE_TREE_COMMANDS = frozenset(
    (*("reset", "checkout", "switch", "pull", "merge", "rebase", "stash", "revert", "cherry-pick", "read-tree"), "am")
)

# Subcommands that are called all day, and write a file only with this option.
REPORTS, REPORT_OPTION = ("diff", "log", "show", "whatchanged", "diff-tree", "diff-index"), "--output"
# What git reads before a path: where it begins, and how it is matched.
_MAGIC = re.compile(r"^:(?:/|\([a-z,:]*\))")
_EXCLUDING = re.compile(r"^:(?:/?[!^]|\([a-z,]*exclude)")
# Those that change files by a pattern, which `git checkout -- '*.md'` does every day.
_PATTERN_COMMANDS = ("rm",)
_PATTERN_SIGNS = frozenset("*?[")


def list_git_changes(started: Started, arguments: list[str]) -> Changes:
    rest = skip_options(arguments, GIT_VALUES)
    folders = find_option_values(arguments[: len(arguments) - len(rest)], "-C", "--work-tree")
    folders = folders or [value for name, value in _list_variables(started) if name == "GIT_WORK_TREE" and value]
    arguments, folder = rest, f"{folders[-1]}/" if folders else ""
    if not arguments or any(word in ("-n", "--dry-run", "--help", "-h") for word in arguments):
        return
    # What git does to a whole work tree is everyday work, unless the call names another one.
    if folder and arguments[0] in _WHOLE_TREE_COMMANDS:
        yield PathChange(folder, OVERLAY)
    rule = GIT_RULES.get(arguments[0])
    if rule is None:
        return
    changes = [*rule(started, arguments[1:])]
    # What is excluded alone means everything else, and beside other paths a part of them.
    included = [change for change in changes if not _EXCLUDING.match(change.path)]
    for change in included or [change.replace(path=".") for change in changes[:1]]:
        path = _MAGIC.sub("", change.path)
        if path != change.path or (
            not _PATTERN_SIGNS.isdisjoint(path) and (change.way == TREE or arguments[0] in _PATTERN_COMMANDS)
        ):
            yield change.replace(path=_find_by_pattern(path, folder))
        # `:/` alone is all of the repository.
        path = path or "."
        yield change.replace(path=path if path.startswith(("/", UNKNOWN)) or not folder else folder + path)


def _list_variables(started: Started) -> list[tuple[str, str]]:
    return [*(started.scope.variables.items() if started.scope is not None else ()), *started.variables]


def _find_by_pattern(pattern: str, folder: str) -> FoundPath:
    """Return what git finds by a pattern that the shell left to it: `*` stands for folders as well, hidden ones included."""
    return FoundPath.make(folder or ".", FindFilters(paths=(f"{folder or './'}{pattern}",), finds_folders=False))


def _checkout(_: Started, arguments: list[str]) -> Changes:
    """`git checkout [TREE] [--] PATH…`: all of a folder is put back every day, if no other version is named."""
    if has_option(arguments, "bB", "--orphan", "--detach", "--track"):
        return
    behind = arguments[arguments.index("--") + 1 :] if "--" in arguments else list_operands(arguments)
    before = list_operands(arguments[: arguments.index("--")]) if "--" in arguments else behind[:1]
    has_tree = bool(before) and (("--" in arguments) or len(behind) > 1)
    yield from (PathChange(path, TREE if has_tree and before[0] != "HEAD" else EXACT) for path in behind)


def _restore(_: Started, arguments: list[str]) -> Changes:
    sources = find_option_values(arguments, "-s", "--source")
    if has_option(arguments, "S", "--staged") and not has_option(arguments, "W", "--worktree"):
        return
    paths = [path for path in list_operands(arguments) if path not in sources]
    yield from (PathChange(path, TREE if sources and sources[0] != "HEAD" else EXACT) for path in paths)


def _clean(_: Started, arguments: list[str]) -> Changes:
    excluded = find_option_values(arguments, "-e", "--exclude")
    if has_option(arguments, "f", "--force") and not has_option(arguments, "n"):
        paths = [path for path in list_operands(arguments) if path not in excluded]
        yield from (PathChange(path, TREE) for path in paths or ["."])


def _stash(_: Started, arguments: list[str]) -> Changes:
    if "--" in arguments and arguments[0].startswith("-"):
        arguments = ["push", *arguments]
    operands = list_operands(arguments)
    if operands[:1] and operands[0] not in ("push", "save"):
        return
    paths = operands[1:] if operands[:1] == ["push"] else []
    messages = find_option_values(arguments, "-m", "--message")
    yield from (PathChange(path, TREE) for path in paths if path not in messages)
    if not paths and has_option(arguments, "ua", "--include-untracked", "--all"):
        yield PathChange(".", TREE)


def _remove_work_tree(_: Started, arguments: list[str]) -> Changes:
    if arguments[:1] in (["remove"], ["move"]):
        yield from (PathChange(path, TREE) for path in list_operands(arguments[1:]))


def _remove_tracked_files(_: Started, arguments: list[str]) -> Changes:
    if "--cached" not in arguments:
        yield from remove_paths(_, arguments)


def _apply_patch(started: Started, arguments: list[str]) -> Changes:
    if not has_option(arguments, "", "--check", "--stat", "--numstat", "--summary"):
        yield from (PathChange(path, OVERLAY) for path in find_option_values(arguments, "--directory"))
        yield from read_diff(started.input_text)
        yield from list_diffed_paths(started)


def list_diffed_paths(started: Started) -> Changes:
    """`git diff TREE -- PATH… | git apply`: what is applied is about these paths."""
    for feeder in started.feeders:
        words = list(feeder.words)
        if feeder.name == "git" and "--" in words:
            yield from (PathChange(path, TREE) for path in words[words.index("--") + 1 :] if path not in (".", ":/"))


def _write_report(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in find_option_values(arguments, REPORT_OPTION))


def _write_patches(_: Started, arguments: list[str]) -> Changes:
    yield from _write_report(_, arguments)
    yield from (PathChange(path, OVERLAY) for path in find_option_values(arguments, "-o", "--output-directory"))


def _write_bundle(_: Started, arguments: list[str]) -> Changes:
    if arguments[:1] == ["create"]:
        yield from (PathChange(path) for path in list_operands(arguments[1:])[:1])


def _check_out_index(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, OVERLAY) for path in find_option_values(arguments, "--prefix"))


def _narrow_work_tree(_: Started, arguments: list[str]) -> Changes:
    """`git sparse-checkout set PATH…` removes every folder that it does not name; hooks are in one that begins with a dot."""
    if arguments[:1] in (["set"], ["init"]):
        kept = [path.lstrip("/") for path in list_operands(arguments[1:])]
        if not any(path.startswith(".") and path.strip("./") for path in kept):
            yield PathChange(".", TREE)


GIT_RULES: dict[str, Rule] = {
    "checkout": _checkout,
    "restore": _restore,
    "clean": _clean,
    "stash": _stash,
    "rm": _remove_tracked_files,
    "mv": move_paths,
    "worktree": _remove_work_tree,
    "apply": _apply_patch,
    "am": _apply_patch,
    "archive": write_output,
    **dict.fromkeys(REPORTS, _write_report),
    "format-patch": _write_patches,
    "bundle": _write_bundle,
    "checkout-index": _check_out_index,
    "sparse-checkout": _narrow_work_tree,
}
