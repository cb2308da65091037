"""Which paths `git` changes: a row for each of its subcommands."""

from __future__ import annotations

from boathook.shell.arguments import UNKNOWN, find_option_values, has_option, list_operands, skip_options
from boathook.shell.file_changes import move_paths, read_diff, remove_paths, write_output
from boathook.shell.git_commands import GIT_VALUES
from boathook.shell.path_change import EXACT, OVERLAY, TREE, Changes, PathChange, Rule
from boathook.shell.started_program import Started

_WHOLE_TREE_COMMANDS = frozenset(
    (*("reset", "checkout", "switch", "pull", "merge", "rebase", "stash", "revert", "cherry-pick", "read-tree"), "am")
)


def list_git_changes(started: Started, arguments: list[str]) -> Changes:
    rest = skip_options(arguments, GIT_VALUES)
    folders = find_option_values(arguments[: len(arguments) - len(rest)], "-C", "--work-tree")
    arguments, folder = rest, f"{folders[-1]}/" if folders else ""
    if not arguments or any(word in ("-n", "--dry-run", "--help", "-h") for word in arguments):
        return
    # What git does to a whole work tree is everyday work, unless the call names another one.
    if folder and arguments[0] in _WHOLE_TREE_COMMANDS:
        yield PathChange(folder, OVERLAY)
    rule = GIT_RULES.get(arguments[0])
    if rule is None:
        return
    for change in rule(started, arguments[1:]):
        # `:/` alone is all of the repository.
        path = change.path.removeprefix(":/").removeprefix(":(top)") or "."
        yield change.replace(path=path if path.startswith(("/", UNKNOWN)) or not folder else folder + path)


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
        yield from read_diff(started.input_text)


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
}
