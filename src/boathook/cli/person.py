"""Commands that change guards are for a person: below an agent's command line they refuse, because an agent has terminals, too."""

# This stops an agent that helps itself. It does not stop an attacker under the same account, who can leave the processes above
# behind, or type into the person's own terminal: see docs/how-to/allow-a-call.md.

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence

from boathook.assembly import resolve_state
from boathook.cli.show import echo
from boathook.cli.terminal import confirm_action
from boathook.core.text import reveal_text
from boathook.errors import BoathookError
from boathook.hosts.setup import list_setups
from boathook.install.account_folders import concerns_account, find_account_folders
from boathook.permits.agent_evidence import AgentEvidence, find_agent
from boathook.system.ancestors import list_ancestors

_PROBLEM = "This command changes what guards your agents, so only a person may run it"
_ANSWER_PROBLEM = "This command answers for a person, so only a person may run it"
NO_TERMINAL = "there is no terminal to ask at"


class PersonError(BoathookError):
    """An agent runs a command that is for a person."""


def require_person(
    state: str | None = None, *, folders: Iterable[str] = (), files: Iterable[str] = (), is_answer: bool = False
) -> None:
    """Refuse a command that changes the account's guards if an agent runs it, with or without a terminal and --yes.

    `state` is the option, `folders` are other folders of the user that the command uses, `files` what it writes. `is_answer`: it
    answers questions of hooks.
    """
    evidence = find_agent(os.environ, list_ancestors(), list_setups())
    if evidence is None:
        return
    # Without HOME the account's own folders are used.
    home = os.environ.get("HOME", "") if state is None else ""
    if concerns_account(find_account_folders(), home, (resolve_state(state), *folders), files):
        raise PersonError(describe_refusal(evidence, sys.argv[1:], is_answer=is_answer))


def describe_refusal(evidence: AgentEvidence, words: Sequence[str], *, is_answer: bool = False) -> str:
    command, problem = reveal_text(shlex.join(["boathook", *words])), _ANSWER_PROBLEM if is_answer else _PROBLEM
    if evidence.program:
        process = f"'{evidence.program}' (process {evidence.pid})"
        return f"{problem}: it was started below {process}. Run it in a terminal of your own: {command}"
    names = " and ".join(evidence.variables)
    sign = f"the variables {names} say" if len(evidence.variables) > 1 else f"the variable {names} says"
    sign = f"{problem}: {sign} that an agent runs it, though none is among the processes above"
    if is_answer:
        # An agent that waits for this answer reads the message, and would only have to follow it.
        return f"{sign}. If you are in a terminal that an agent once started, open a new one, and run: {command}"
    unset = " ".join(f"-u {name}" for name in evidence.variables)
    way_out = f"If you are in a terminal that an agent once started, open a new one, or run: env {unset} {command}"
    return f"{sign}. {way_out}"


def confirm_change(question: str, *, yes: bool, default: bool = False) -> bool:
    """Whether a person wants a change: by --yes, else by an answer at the terminal. Without one, say what to do."""
    if yes:
        return True
    answer = confirm_action(question, default=default)
    if answer is None:
        echo(f"Nothing was changed: {NO_TERMINAL}. To do it without a question, add --yes", "yellow", err=True)
    elif not answer:
        echo("Nothing was changed: you answered no.", err=True)
    return bool(answer)
