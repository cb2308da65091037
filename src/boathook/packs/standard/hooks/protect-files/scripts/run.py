#!/usr/bin/env python3
"""Objects to writing files that are not the agent's: keys, credentials, the inside of .git, CI files."""

from __future__ import annotations

from lazy_pattern import LazyPattern
from secret_paths import CREDENTIAL, PRIVATE, find_secret_path
from written_paths import WrittenPath, list_written_paths

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard

_CI_FILES = (
    *(
        ".github/workflows/",
        ".github/actions/",
        ".gitlab-ci.yml",
        ".gitlab/ci/",
        ".circleci/",
        "Jenkinsfile",
        ".travis.yml",
    ),
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", ".buildkite/", ".drone.yml", ".woodpecker.yml", ".woodpecker/"),
    *(
        "appveyor.yml",
        ".cirrus.yml",
        ".teamcity/",
        "cloudbuild.yaml",
        "buildspec.yml",
        ".semaphore/",
        ".forgejo/workflows/",
    ),
    ".gitea/workflows/",
)
_LOGIN_FILES = (".ssh/config", ".ssh/authorized_keys", ".ssh/rc", ".ssh/environment")
_GIT_INSIDE = LazyPattern(r"(?:^|/)\.git(?:/(.*))?$|[^/]\.git/((?:objects|refs|logs|packed-refs|HEAD).*)$")
# What people write by hand in .git, and what is theirs to decide.
_GIT_FREE = ("info/exclude", "info/attributes", "description", "COMMIT_EDITMSG", "MERGE_MSG", "index")
_GIT_ASKED = ("config", "hooks")
_OWN_SOURCES = ("*.pub", "*.example", "*.crt", "*.cer")


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return the gravest objection to what a call writes."""
    answers = [answer for one in list_written_paths(call) if (answer := _judge(call, one))]
    return next((one for one in answers if one.decision == "block"), answers[0] if answers else None)


def _judge(call: GuardedCall, written: WrittenPath) -> GuardAnswer | None:
    if written.matches(call.list_setting("free")):
        return None
    if written.matches(call.list_setting("block")):
        return block(
            f"{written.shown} is protected by the settings of this guard. Tell the person what should be changed in it."
        )
    if written.matches(call.list_setting("ask")):
        return ask(f"{written.shown} is one of the files to ask about. Say what you want to change in it, and why.")
    answer = _judge_git(call, written) or _judge_secret(call, written) or _judge_ci(written)
    is_nothing = answer is not None and answer.decision == "ask" and written.is_deleted and written.is_absent
    return None if is_nothing else answer


def _judge_git(call: GuardedCall, written: WrittenPath) -> GuardAnswer | None:
    match = _GIT_INSIDE.search(written.path)
    if match is None or written.path.endswith((".gitignore", ".gitkeep")):
        return None
    inside = match[1] if match[1] is not None else match[2] or ""
    if inside in _GIT_FREE or inside.endswith(".lock"):
        return None
    if inside.split("/")[0] in _GIT_ASKED:
        return ask(
            f"{written.shown} decides what git runs and where it pushes. Use `git config` and the tool that installs the hooks."
        )
    folder = written.path[: match.start()]
    is_own = folder in (call.project, call.work_dir, "") or not folder.startswith(("/tmp/", "/var/tmp/"))  # noqa: S108
    if not inside and not is_own:
        return ask(f"{written.shown} holds the history of a repository. If it is a scratch copy, go on.")
    return block(
        f"{written.shown} is a part of git's own store: changing it by hand loses commits. Use git commands, such as "
        "`git gc`, `git worktree remove` or `git update-ref`, and make a copy of the folder first."
    )


def _judge_secret(call: GuardedCall, written: WrittenPath) -> GuardAnswer | None:
    if written.matches(_LOGIN_FILES):
        return ask(f"{written.shown} decides who can log in and how. Show the line that you want to add to the person.")
    secret = find_secret_path(written.path, call.home, sends=True)
    if secret is None or written.matches(_OWN_SOURCES):
        return None
    if secret.level == CREDENTIAL:
        if written.is_deleted:
            return ask(
                f"{written.shown} is {secret.kind}, and cannot be made again. Move it to a backup instead of deleting it."
            )
        if written.program is not None and written.program.name in ("mv", "gmv"):
            return None
        return block(
            f"{written.shown} is {secret.kind}, which the agent does not write. Use the tool that it belongs to "
            "(`ssh-keygen`, `aws configure`, `gh auth login`), or let the person do it."
        )
    is_settings_of_tools = secret.level == PRIVATE and "key" not in secret.kind
    if not written.is_there or is_settings_of_tools:
        return None
    done = "deletes" if written.is_deleted else "changes"
    return ask(
        f"This {done} {written.shown}, which is there already and may hold the only copy of a secret. "
        "Copy it first (`cp -n FILE FILE.bak`), or let the person add the line."
    )


def _judge_ci(written: WrittenPath) -> GuardAnswer | None:
    if not written.matches(_CI_FILES):
        return None
    return ask(
        f"{written.shown} runs on the project's CI with its secrets. Show the person the change before it is made."
    )


if __name__ == "__main__":
    run_guard(decide)
