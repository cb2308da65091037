"""What state a git repository is in, asked of git: read-only, bounded in time, without running what a repository names."""

# A repository may be hostile: its configuration can name programs for hooks, the file monitor, filters, the pager and transports.
# All of them are switched off by options, which count more than any file. Submodules have a configuration of their own, so they
# are not looked into.

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from boathook.shell.arguments import UNKNOWN

# How long one question may take, and all questions about one call; what is asked beyond that is not known.
_SECONDS, _ALL_SECONDS, _MAX_QUESTIONS = 3.0, 5.0, 60
_SAFE_SETTINGS = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.untrackedCache=false"),
    *(
        "core.sshCommand=false",
        "core.gitProxy=false",
        "core.askPass=false",
        "credential.helper=",
        "protocol.allow=never",
    ),
    *("safe.bareRepository=explicit", "diff.external=", "submodule.recurse=false", "status.submoduleSummary=false"),
    *("gpg.program=false", "core.alternateRefsCommand=false", "maintenance.auto=false", "gc.auto=0"),
)
_FILTER = re.compile(r"filter\.(.+)\.(?:clean|smudge|process)", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[\w.-]+")
_NO_REPOSITORY = "not a git repository"


class GitStates:
    """The states of all folders that a call is about. It asks git each question once, and does not ask for ever."""

    def __init__(self) -> None:
        self._states: dict[str, GitState] = {}
        self._end = time.monotonic() + _ALL_SECONDS
        self._questions = 0

    def get(self, folder: str) -> GitState:
        return self._states.setdefault(folder, GitState(folder, self))

    def find_seconds_left(self) -> float:
        """Return how long the next question may take."""
        self._questions += 1
        left = min(_SECONDS, self._end - time.monotonic())
        return left if self._questions <= _MAX_QUESTIONS else 0.0


class GitState:
    """Answers about the work tree of a folder. None is "cannot be known"; without a repository nothing is there to be lost."""

    def __init__(self, folder: str, limits: GitStates) -> None:
        self.folder, self._limits = folder, limits
        self.is_known = bool(folder) and UNKNOWN not in folder
        # Whether an earlier part of the same command changes files, which git cannot know yet.
        self._is_disturbed = False
        self._filters: list[str] | None = None
        self._answers: dict[tuple[str, ...], tuple[int, str, str]] = {}

    def get_other(self, path: str) -> GitState:
        """Return the state of another folder, by a path from this one."""
        return self._limits.get(path if path.startswith("/") else f"{self.folder}/{path}")

    def note_changes(self) -> None:
        """Note that files will have changes by the time that the next part of the command runs."""
        self._is_disturbed = True

    def is_repository(self) -> bool | None:
        """Return whether the folder is in a work tree; git itself would refuse to work where it is not."""
        if not self.is_known:
            return None
        code, _, message = self._run(["rev-parse", "--is-inside-work-tree"])
        if code == 0:
            return True
        return False if _NO_REPOSITORY in message else None

    def has_changes(self, paths: Sequence[str] = (), *, untracked: bool = False) -> bool | None:
        """Return whether tracked files differ from the last commit; with `untracked`, whether there are new ones."""
        if not self.is_known or any(UNKNOWN in path for path in paths):
            return None
        options = ["--porcelain", "--no-renames", "--ignore-submodules=all"]
        options.append("--untracked-files=normal" if untracked else "--untracked-files=no")
        code, output, message = self._run(["status", *options, "--", *paths])
        if code != 0:
            return False if _NO_REPOSITORY in message else None
        return bool(output) or (self._is_disturbed and (None if paths else True))

    def has_conflicts(self, paths: Sequence[str]) -> bool | None:
        """Return whether some of these files have two sides that are not merged."""
        if not self.is_known or any(UNKNOWN in path for path in paths):
            return None
        code, output, _ = self._run(["ls-files", "--unmerged", "--", *paths])
        return bool(output) if code == 0 else None

    def list_untracked_files(self) -> list[str] | None:
        """Return the files in the folder that git does not know, by their whole paths; ignored ones are left out."""
        if not self.is_known:
            return None
        code, output, message = self._run(["ls-files", "--others", "--exclude-standard", "-z"])
        if code != 0:
            return [] if _NO_REPOSITORY in message else None
        return [f"{self.folder.rstrip('/')}/{name}" for name in output.split("\0") if name]

    def has_untracked_files(self, paths: Sequence[str] = (), *, ignored: bool = False) -> bool | None:
        """Return whether there are files that git does not know; with `ignored`, ignored files count, too."""
        if not self.is_known or any(UNKNOWN in path for path in paths):
            return None
        options = ["--others", "--directory", "--no-empty-directory", *([] if ignored else ["--exclude-standard"])]
        code, output, message = self._run(["ls-files", *options, "--", *paths])
        if code != 0:
            return False if _NO_REPOSITORY in message else None
        return bool(output)

    def get_branch(self) -> str | None:
        """Return the branch that is checked out, "" if there is none."""
        if not self.is_known:
            return None
        code, output, _ = self._run(["symbolic-ref", "--short", "-q", "HEAD"])
        return output.strip() if code == 0 else "" if code == 1 else None

    def has_commits(self) -> bool:
        return self.is_known and self._run(["rev-parse", "--verify", "-q", "HEAD"])[0] == 0

    def has_reference(self, name: str) -> bool | None:
        if not self.is_known or UNKNOWN in name:
            return None
        code = self._run(["rev-parse", "--verify", "-q", "--end-of-options", name])[0]
        return code == 0 if code in (0, 1) else None

    def is_other_commit(self, name: str) -> bool:
        """Return whether a name is that of a commit which is not the current one."""
        if not self.is_known or UNKNOWN in name:
            return False
        here, there = (
            self._run(["rev-parse", "--verify", "-q", "--end-of-options", f"{one}^{{commit}}"])
            for one in ("HEAD", name)
        )
        return there[0] == 0 and there[1] != here[1]

    def is_merged(self, branch: str) -> bool | None:
        """Return whether all commits of a branch are also on another branch, a tag or a remote."""
        if not self.is_known or UNKNOWN in branch:
            return None
        others = ["--not", f"--exclude={branch}", "--branches", "--remotes", "--tags"]
        code, output, _ = self._run(["rev-list", "-n", "1", f"refs/heads/{branch}", *others])
        return not output.strip() if code == 0 else None

    def keeps_remote_branch(self, remote: str, branch: str, *, is_fresh: bool) -> bool | None:
        """Return whether a branch of a remote is not needed: its commits are also elsewhere in this clone.

        Somebody may have pushed since this clone last looked: unless what it knows is fresh, that cannot be known.
        """
        # An address may be any repository.
        if not self.is_known or UNKNOWN in remote + branch or not _PLAIN_NAME.fullmatch(remote) or "*" in branch:
            return None
        code, output, message = self._run(["remote"])
        if code != 0:
            return True if _NO_REPOSITORY in message else None
        if remote not in output.split():
            # A push to it can only fail.
            return True if not os.path.lexists(os.path.join(self.folder, remote)) else None
        if not is_fresh:
            return None
        others = [
            "--not",
            "--branches",
            "--tags",
            f"--exclude={remote}/{branch}",
            f"--exclude={remote}/HEAD",
            "--remotes",
        ]
        code, output, _ = self._run(["rev-list", "-n", "1", f"refs/remotes/{remote}/{branch}", *others, "--"])
        return not output.strip() if code == 0 else None

    def drops_commits(self, target: str) -> bool | None:
        """Return whether commits are on no branch, tag or remote any more if the current branch is moved to a version."""
        branch = self.get_branch()
        if branch is None or UNKNOWN in target or target.startswith("-"):
            return None
        if not self.has_reference(f"{target}^{{commit}}"):
            return False
        others = [target, f"--exclude={branch}", "--branches", "--remotes", "--tags"]
        code, output, _ = self._run(["rev-list", "-n", "1", "HEAD", "--not", *others])
        return bool(output.strip()) if code == 0 else None

    def _run(self, arguments: list[str]) -> tuple[int, str, str]:
        """Return the exit code of git, what it printed, and its errors; -1 if it could not be asked."""
        key = tuple(arguments)
        if key not in self._answers:
            self._answers[key] = self._ask(arguments)
        return self._answers[key]

    def _ask(self, arguments: list[str]) -> tuple[int, str, str]:
        if not os.path.isdir(self.folder):
            return 128, "", _NO_REPOSITORY
        settings = [*_SAFE_SETTINGS]
        if arguments[0] == "status":
            for name in self._list_filters():
                # A name with other signs could not be switched off by an option.
                if not _PLAIN_NAME.fullmatch(name):
                    return -1, "", ""
                settings += [f"filter.{name}.{key}=" for key in ("clean", "smudge", "process")]
                settings.append(f"filter.{name}.required=false")
        return self._start([*(word for setting in settings for word in ("-c", setting)), *arguments])

    def _list_filters(self) -> list[str]:
        """Return the names of the filters that files would go through."""
        if self._filters is None:
            code, output, _ = self._start(["config", "--null", "--name-only", "--get-regexp", r"^filter\."])
            names = [_FILTER.fullmatch(line) for line in output.split("\0")] if code == 0 else []
            self._filters = sorted({match[1] for match in names if match})
        return self._filters

    def _start(self, arguments: list[str]) -> tuple[int, str, str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_PAGER": "cat",
            "GIT_ATTR_NOSYSTEM": "1",
            "LC_ALL": "C",
            "GIT_ASKPASS": "false",
            "GIT_ALLOW_PROTOCOL": "none",
        }
        seconds = self._limits.find_seconds_left()
        if seconds <= 0:
            return -1, "", ""
        command = ["git", "--no-pager", "-C", self.folder, *arguments]
        # Imported here, because few calls lead to a question and the import takes longer than to ask all guards.
        import subprocess

        try:
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return -1, "", ""
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
