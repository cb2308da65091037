"""A call of git: its subcommand, its options, the settings it is given, and the folder that it works in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from argument_list import ArgumentList

from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started

_GLOBAL_VALUES = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --list-cmds"
# The options of subcommands whose value is the next word.
_VALUES = {
    "push": "-o --push-option --receive-pack --exec --repo --signed --recurse-submodules",
    "clean": "-e --exclude",
    "reset": "--pathspec-from-file",
    "checkout": "-b -B --orphan --conflict --pathspec-from-file",
    "switch": "-c -C --create --force-create --orphan --conflict",
    "restore": "-s --source --conflict --pathspec-from-file",
    "stash": "-m --message --pathspec-from-file",
    "branch": "-u --set-upstream-to --contains --no-contains --merged --no-merged --points-at --format --sort",
    "commit": "-m --message -F --file -C --reuse-message -c --reedit-message --author --date -t --template --fixup"
    " --squash --trailer",
    "merge": "-m --message -F --file -s --strategy -X --strategy-option --into-name",
    "rebase": "-s --strategy -X --strategy-option -x --exec --onto",
    "am": "-p -C --directory --exclude --include --patch-format",
    "cherry-pick": "-m --mainline -s --strategy -X",
    "revert": "-m --mainline -s --strategy -X",
    "worktree": "-b -B --reason",
    "tag": "-m --message -F --file -u --local-user --sort --format",
    "update-ref": "-m",
    "filter-branch": "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter"
    " --tag-name-filter --subdirectory-filter -d --setup",
    "filter-repo": "--path --path-glob --path-regex --replace-text --replace-message --mailmap --refs"
    " --paths-from-file --path-rename --strip-blobs-bigger-than --tag-rename --source --target",
    "config": "-f --file --blob --default --type",
}


class GitCall:
    """What one call of git is about."""

    def __init__(self, program: Started) -> None:
        words = list(program.words[1:])
        at = _count_global_words(words)
        general = ArgumentList(words[:at], _GLOBAL_VALUES)
        self.program = program
        self.subcommand = words[at] if at < len(words) else ""
        self.arguments = ArgumentList(words[at + 1 :], _VALUES.get(self.subcommand, ""))
        pairs = [setting.partition("=") for setting in general.get("-c")]
        # The last one of a name counts.
        self.settings = {name.lower(): value for name, _, value in pairs}
        self.folder = self._find_folder(general)

    def _find_folder(self, general: ArgumentList) -> str:
        """Return the work tree, with `UNKNOWN` in it if the call names the repository in a way that is not followed here."""
        variables = dict(self.program.variables)
        if general.get("--git-dir") or "GIT_DIR" in variables:
            return UNKNOWN
        folder = self.program.folder or UNKNOWN
        for path in (*general.get("-C"), *general.get("--work-tree"), *[variables.get("GIT_WORK_TREE", "")]):
            if path:
                folder = path if path.startswith(("/", UNKNOWN)) else f"{folder.rstrip('/')}/{path}"
        return folder

    @property
    def operands(self) -> list[str]:
        return self.arguments.operands

    def has(self, *names: str) -> bool:
        return self.arguments.has(*names)


def _count_global_words(words: list[str]) -> int:
    """Return how many words are before the subcommand."""
    with_value = _GLOBAL_VALUES.split()
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in with_value else 1
    return min(at, len(words))


def iter_git_calls(programs: Iterable[Started]) -> Iterator[GitCall]:
    """Yield the calls of git that do something."""
    for program in programs:
        if program.name == "git" and len(program.words) > 1:
            call = GitCall(program)
            if not call.arguments.is_harmless and call.subcommand != "help":
                yield call
