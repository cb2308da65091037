#!/usr/bin/env python3
"""Asks before pipelines, merges and settings of a repository on its server are changed."""

from __future__ import annotations

from program_list import is_dry_run, list_all_programs, list_operands_of

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.arguments import find_option_values
from boathook.shell.started_program import Started

# Programs, the first words of a command, verbs of which one follows, and what to do instead.
_ROWS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str], ...] = (
    (("gh",), ("pr",), ("merge",), "Ask for a review, and let the person merge: `gh pr view --web`."),
    (("glab",), ("mr",), ("merge", "approve"), "Ask for a review, and let the person merge: `glab mr view --web`."),
    (("tea",), ("pulls", "pull", "pr"), ("merge", "approve"), "Ask for a review, and let the person merge."),
    (("gh",), ("workflow",), ("run", "enable", "disable"), "Show the workflow first: `gh workflow view`."),
    (("gh",), ("run",), ("cancel", "rerun", "delete"), "Look at it first: `gh run view`."),
    (
        ("glab",),
        ("ci", "pipeline", "pipe"),
        ("run", "trigger", "retry", "cancel", "delete"),
        "Look at it first: `glab ci view`.",
    ),
    (("glab",), ("schedule",), ("run", "delete", "update"), "List them first: `glab schedule list`."),
    (("gh",), ("secret", "variable"), ("set", "delete", "remove"), "List them first: `gh secret list`."),
    (("glab",), ("variable",), ("set", "update", "delete"), "List them first: `glab variable list`."),
    (
        ("gh",),
        ("repo",),
        ("edit", "rename", "archive", "delete", "unarchive", "deploy-key", "sync"),
        "See `gh repo view` first.",
    ),
    (("gh",), ("ruleset", "cache"), ("delete",), "List them first."),
    (("gh",), ("auth",), ("login", "logout", "refresh", "setup-git"), "Let the person log in."),
    (("gh",), ("ssh-key", "gpg-key"), ("add", "delete"), "Let the person change keys."),
    (("glab",), ("repo", "project"), ("delete", "archive", "transfer", "update"), "See `glab repo view` first."),
    (
        ("circleci",),
        ("context", "pipeline", "runner"),
        ("create", "delete", "remove-secret", "store-secret", "run"),
        "List them first.",
    ),
    (
        ("jenkins-cli",),
        ("build", "delete-job", "disable-job", "stop-builds", "enable-job"),
        (),
        "Look at the job first: `get-job`.",
    ),
    (
        ("drone", "woodpecker-cli"),
        ("build", "pipeline", "secret", "repo"),
        ("start", "stop", "promote", "rm", "add", "update"),
        "List them first.",
    ),
    (
        ("bk",),
        ("build", "job"),
        ("create", "new", "cancel", "rebuild", "unblock"),
        "Look at it first: `bk build view`.",
    ),
    (("az",), ("pipelines",), ("run", "delete", "update", "create"), "Look at it first: `az pipelines show`."),
    (("travis",), ("restart", "cancel", "enable", "disable"), (), "Look at it first: `travis show`."),
    (("act_runner", "gitlab-runner"), ("register", "unregister"), (), "List them first."),
    (("gcloud",), ("builds",), ("submit", "cancel", "approve"), "Look at it first: `gcloud builds list`."),
    (
        ("aws",),
        ("codepipeline", "codebuild"),
        ("start-pipeline-execution", "start-build", "put-approval-result"),
        "Look at it first.",
    ),
    (("argocd",), ("app",), ("sync", "rollback"), "See `argocd app diff` first."),
    (("tkn",), ("pipeline",), ("start",), "Look at it first: `tkn pipeline describe`."),
    (("fly",), ("trigger-job", "set-pipeline", "pause-pipeline"), (), "Look at it first: `fly get-pipeline`."),
)


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first command that changes pipelines or settings on a server."""
    for program in list_all_programs(call):
        text = " ".join((program.name, *program.words[1:]))
        is_free = is_dry_run(program) or any(text.startswith(start) for start in call.list_setting("free"))
        if not is_free and (answer := _judge(program)):
            return answer
    return None


def _judge(program: Started) -> GuardAnswer | None:
    operands = list_operands_of(program)
    for names, words, verbs, way in _ROWS:
        if program.name in names and operands[:1] and operands[0] in words:
            verb = operands[1] if len(operands) > 1 else ""
            if not verbs or verb in verbs:
                shown = " ".join((program.name, *operands[: 2 if verbs else 1]))
                return ask(f"`{shown}` changes a pipeline, a merge or settings on the server for everybody. {way}")
    return _judge_api(program, operands)


def _judge_api(program: Started, operands: list[str]) -> GuardAnswer | None:
    if program.name not in ("gh", "glab") or operands[:1] != ["api"]:
        return None
    rest = list(program.words[1:])
    methods = [value.upper() for value in find_option_values(rest, "-X", "--method")]
    sends = (
        any(word in ("-f", "-F", "--field", "--raw-field", "--input") for word in rest) and "graphql" not in operands
    )
    if any(one in ("POST", "PUT", "PATCH", "DELETE") for one in methods) or (sends and "GET" not in methods):
        return ask(
            f"`{program.name} api` writes here. Read the same address first, and show the person what would change."
        )
    return None


if __name__ == "__main__":
    run_guard(decide)
