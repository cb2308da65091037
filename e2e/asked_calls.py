"""The calls of agents that hooks ask a person about: what happens beside them, and what must be seen afterwards. Rows."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boathook.core.verdict import ALLOWED, DENIED, UNANSWERED, WITHDRAWN
from e2e.hosts import Agent, Place
from e2e.people import (
    ALLOW_LATER,
    BY_CAREFUL,
    KILL,
    LAST_WORD,
    LISTENING,
    NO,
    NO_AFTER_OWN,
    OWN_ANSWERS,
    SHORTEN,
    STATE,
    WATCH,
    YES,
    write_settings,
)
from e2e.server import PROJECT_FOLDER, Step

HERE = Path(__file__).resolve().parent
ASKS = "asks"
END = Step("stop", text="All is done.")
# What the model reads about the answer.
IS_DENIED, IS_UNANSWERED = "A person denied this call", "This is not consent"
IS_SILENT = "No person answered an earlier question of this session"
# Why the process that waits refuses the answers of the agent itself.
BELOW_AGENT, WITH_VARIABLES = "it was started by the agent that asks", "it was started by an agent"


@dataclass(frozen=True)
class AskedCall:
    """One call: its name is that of its step, and of the file that it makes if it runs.

    `column`: what it shows; `before` and `meanwhile`: what happens on the machine; `result`: what became of the question, "" if
    boathook did not wait; `reason`: what the model reads in its next request; `hook`: the hook that asks; `refused`: why answers
    of others did not count; `command`: what runs before the file is made; `runs`: whether it does.
    """

    column: str
    name: str
    result: str = ""
    reason: str = ""
    before: str = ""
    meanwhile: str = ""
    hook: str = "careful"
    refused: tuple[str, ...] = ()
    command: str = ""
    runs: bool = False

    @property
    def step(self) -> Step:
        """Give the step of the script."""
        # Longer than any list shows.
        padding = "word " * 80
        command = f"{self.command}touch {self.name}; : {padding}{LAST_WORD}"
        return Step(self.name, command, before=self.before, meanwhile=self.meanwhile)


@dataclass(frozen=True)
class AskSession:
    """One run: the lines of hooks.toml, and its calls.

    `starts_own`: the call before which the agent starts its own answer; `is_attended`: it runs at a person's terminal.
    """

    settings: tuple[str, ...]
    calls: tuple[AskedCall, ...]
    starts_own: str = ""
    is_attended: bool = False

    def list_steps(self, host: str) -> tuple[Step, ...]:
        """Give the script of the run."""
        tool, make_arguments = BACKGROUND_CALLS[host]
        own = Step("own", tool=tool, arguments=make_arguments(_OWN_ANSWER))
        steps = [step for one in self.calls for step in ([own] if one.name == self.starts_own else []) + [one.step]]
        return (*steps, END)


_PROGRAM = shlex.join([sys.executable, str(HERE / "own_answer.py")])
_OWN_ANSWER = f"{_PROGRAM} {PROJECT_FOLDER}/../home/{STATE} {PROJECT_FOLDER}/{OWN_ANSWERS}"
# How each agent starts a command that goes on while it works: the tool and its arguments.
BACKGROUND_CALLS: Mapping[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "claude": (
        "Bash",
        lambda command: {"command": command, "description": "a step", "run_in_background": True},
    ),
    "codex": ("exec_command", lambda command: {"cmd": command, "yield_time_ms": 250}),
}
WAITING = AskSession(
    ('ask = "wait"',),
    (
        AskedCall("yes", "asked-yes", ALLOWED, meanwhile=YES, runs=True),
        AskedCall("no", "asked-no", DENIED, IS_DENIED, meanwhile=NO),
        AskedCall(
            "own",
            "own-asks",
            DENIED,
            IS_DENIED,
            meanwhile=NO,
            hook="self-protection",
            command=f"{shlex.quote(sys.executable)} -m boathook asks; ",
        ),
        AskedCall("own", "asked-own", DENIED, IS_DENIED, meanwhile=NO_AFTER_OWN, refused=(BELOW_AGENT, WITH_VARIABLES)),
        AskedCall("silence", "asked-silence", UNANSWERED, IS_UNANSWERED, before=SHORTEN),
        AskedCall("silence", "asked-after-silence", reason=IS_SILENT),
        AskedCall("killed", "asked-killed", WITHDRAWN, before=ALLOW_LATER, meanwhile=KILL),
    ),
    "asked-own",
)
DEFAULT = AskSession(
    (),
    (
        AskedCall("alone", "asked-alone", reason=BY_CAREFUL),
        AskedCall("watched", "asked-watched", ALLOWED, before=LISTENING, meanwhile=WATCH, runs=True),
    ),
)
# The agent itself asks, at its own terminal.
ATTENDED = AskSession((), (AskedCall("dialog", "asked-dialog", runs=True),), is_attended=True)
ASK_SESSIONS = {ASKS: WAITING, f"{ASKS}-default": DEFAULT, f"{ASKS}-attended": ATTENDED}


def list_sessions(who: Agent) -> list[str]:
    """Give the names of the runs of an agent."""
    return [name for name, session in ASK_SESSIONS.items() if who.attended or not session.is_attended]


def prepare_questions(host: str, place: Place, session: AskSession, boathook: Callable[..., object]) -> None:
    """Give the user a hook that asks, and the settings of a run."""
    shutil.copytree(HERE / "ask_hooks", place.home / ".config/agents/hooks")
    write_settings(place, session.settings)
    boathook("install", host, "--yes")
