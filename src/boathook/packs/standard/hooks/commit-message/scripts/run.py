#!/usr/bin/env python3
"""Objects to the message of a commit that does not have the agreed form."""

from __future__ import annotations

import re

from boathook.guards import GuardAnswer, GuardedCall, block, run_guard
from boathook.shell.arguments import UNKNOWN, skip_options
from boathook.shell.started_program import Started

_TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
_MAX_SUBJECT = 72
_BY_GIT = re.compile(r"Merge |Revert |fixup! |squash! |amend! |Initial commit$")
_MESSAGE_OPTION = re.compile(r"--message=(.*)|-[A-Za-ln-z]*m(.*)", re.DOTALL)


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first commit with a message of another form."""
    for program in call.programs:
        message = _find_message(program)
        if message and (problems := _list_problems(call, message)):
            types = ", ".join(call.list_setting("types", _TYPES))
            way = "" if "form" in call.settings else f" Write it as `type(scope): subject`, with a type of {types}."
            return block(
                f"The message of this commit does not have the form of the project: {'; '.join(problems)}.{way}"
            )
    return None


def _find_message(program: Started) -> str:
    """Return the message of `git commit`, "" if there is none or it is not known yet."""
    rest = skip_options(list(program.words[1:]), "-C -c --git-dir --work-tree") if program.name == "git" else []
    if rest[:1] != ["commit"] or ("--amend" in rest and "--no-edit" in rest):
        return ""
    arguments = rest[1:]
    paragraphs: list[str] = []
    for at, word in enumerate(arguments):
        match = _MESSAGE_OPTION.fullmatch(word)
        if match and (match[1] or match[2]):
            paragraphs.append(match[1] or match[2])
        elif match or word == "--message":
            paragraphs += arguments[at + 1 : at + 2]
    if not paragraphs and arguments[-2:] in (["-F", "-"], ["--file", "-"]):
        paragraphs = [program.input_text]
    message = "\n\n".join(paragraphs).strip()
    return "" if UNKNOWN in message.partition("\n")[0] or "$(" in message.partition("\n")[0] else message


def _list_problems(call: GuardedCall, message: str) -> list[str]:
    subject, _, rest = message.partition("\n")
    if _BY_GIT.match(subject):
        return []
    types = "|".join(re.escape(one) for one in call.list_setting("types", _TYPES))
    form = call.settings.get("form", rf"(?:{types})(?:\([^()\s]+\))?!?: \S")
    longest = call.settings.get("max_subject", _MAX_SUBJECT)
    problems: list[str] = []
    if not re.match(form, subject):
        problems.append("the first line does not begin as agreed")
    if len(subject) > longest:
        problems.append(f"the first line has {len(subject)} characters, {longest} are allowed")
    if subject.endswith("."):
        problems.append("the first line ends with a full stop")
    if rest and not rest.startswith("\n"):
        problems.append("the second line is not empty")
    return problems


if __name__ == "__main__":
    run_guard(decide)
