"""Commands that `git` runs by itself: aliases, editors, filters, and what is given to its subcommands."""

from __future__ import annotations

import re

from boathook.shell.arguments import find_option_values, list_operands, skip_options

GIT_VALUES = "-C -c --git-dir --work-tree --namespace --exec-path --config-env"
# Options of subcommands whose value is a command.
_COMMAND_OPTIONS = (
    *("-x", "--exec", "--extcmd", "--upload-pack", "--receive-pack", "--open-files-in-pager", "-O"),
    *("--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"),
)
_FILTER = re.compile(r"--[a-z]+-filter|--setup")
# An address that is a command.
_COMMAND_ADDRESS = "ext::"
# Commands of git itself, which no alias replaces.
_OWN_COMMANDS = frozenset(
    (
        *("add", "am", "apply", "archive", "bisect", "blame", "branch", "checkout", "cherry-pick", "clean", "clone"),
        *("commit", "config", "describe", "diff", "fetch", "format-patch", "gc", "grep", "init", "log", "ls-files"),
        *("merge", "mv", "notes", "pull", "push", "rebase", "reflog", "remote", "reset", "restore", "revert", "rm"),
        *("shortlog", "show", "stash", "status", "submodule", "switch", "tag", "worktree"),
    )
)


def list_git_texts(arguments: list[str]) -> list[str]:
    """Return the shell texts that a call of git runs; the value of any setting may be one."""
    rest = skip_options(arguments, GIT_VALUES)
    settings = [value.partition("=")[2] for value in find_option_values(arguments, "-c", "--config")]
    if rest[:1] == ["config"]:
        settings += list_operands(rest)[2:]
    texts = [text.removeprefix("!") for text in settings if text.startswith("!") or " " in text]
    texts += find_option_values(rest[1:], *_COMMAND_OPTIONS, *(("-u",) if rest[:1] == ["clone"] else ()))
    texts += find_option_values(rest, *{word.partition("=")[0] for word in rest if _FILTER.match(word)})
    texts += [
        word.removeprefix(_COMMAND_ADDRESS).replace("%", "") for word in rest if word.startswith(_COMMAND_ADDRESS)
    ]
    words = _list_repeated_words(rest)
    return [*texts, *(words if len(words) == 1 else ())]


def _list_repeated_words(words: list[str]) -> list[str]:
    """Return the words of a command that git runs for each version or submodule."""
    behind = skip_options(words[1:], "")
    is_repeated = (*words[:1], *behind[:1]) in (("bisect", "run"), ("submodule", "foreach"))
    return skip_options(behind[1:], "") if is_repeated else []


def list_git_commands(arguments: list[str]) -> list[tuple[str, ...]]:
    """Return the programs that a call of git starts with words of its own, and calls of git by an alias."""
    rest = skip_options(arguments, GIT_VALUES)
    commands: list[tuple[str, ...]] = []
    commands.append(tuple(_list_repeated_words(rest)))
    for setting in find_option_values(arguments[: len(arguments) - len(rest)], "-c"):
        name, _, value = setting.partition("=")
        is_alias = name.lower().startswith("alias.") and name[6:] not in _OWN_COMMANDS
        if is_alias and value and not value.startswith("!"):
            commands.append(("git", *value.split(), *rest[1:]))
    return [command for command in commands if command]
