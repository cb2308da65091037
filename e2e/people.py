"""What people do at their own terminals while an agent works, and what becomes of the agent: `boathook asks`, `allow`, a kill."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from boathook.core.verdict import UNANSWERED
from boathook.system.process_facts import list_processes_above, read_process_facts
from e2e.hosts import Place
from e2e.terminal import ASKS_PROMPT, DIGEST_PROMPT, TYPED, run_at_terminal, start_at_terminal

BOATHOOK = (sys.executable, "-m", "boathook")
SECONDS = 60
# At the end of a command, beyond what a list shows of it.
LAST_WORD = "last-word-of-the-call"
SETTINGS = ".config/agents/hooks.toml"
STATE = ".local/state/boathook"
OWN_ANSWERS = "own-answers.json"
# The reason of the hook that asks, and the files that calls make which it asks about.
BY_CAREFUL, ASKED_FILES = "marker-careful-b3d9", "asked-*"
# What happens, by the names that steps have for it.
YES, NO, NO_AFTER_OWN = "answers-yes", "answers-no", "answers-no-after-the-agent"
SHORTEN, ALLOW_LATER, KILL = "shortens-the-wait", "allows-later", "kills-the-agent"
WATCH, LISTENING = "watches", "listens"


class DeedError(Exception):
    """Something did not go as it must, so that nothing can be concluded from the run."""


def write_settings(place: Place, lines: tuple[str, ...]) -> None:
    """Write the settings of the user."""
    place.write(SETTINGS, "\n".join(("[hooks]", *lines, "")))


def list_questions(place: Place) -> list[dict[str, Any]]:
    """Give the questions that can be answered now."""
    folder = place.home / STATE / "asks"
    return [json.loads(path.with_suffix(".json").read_text()) for path in folder.glob("*.sock")]


@dataclass(frozen=True)
class Person:
    """A person with a terminal that is not below the agent; `settings` are the lines of hooks.toml at the start."""

    place: Place
    env: Mapping[str, str]
    settings: tuple[str, ...]

    def answer(self, typed: str) -> None:
        """Run `boathook asks` when a call waits, read the whole call, and type something."""
        _wait_until("no call waits for an answer", lambda: list_questions(self.place))
        self._run_at_terminal("asks", [typed], ASKS_PROMPT)

    def answer_after_agent(self) -> None:
        """Deny a call after the agent has tried to answer itself."""
        _wait_until("the agent did not try to answer", (self.place.project / OWN_ANSWERS).exists)
        self.answer("no")

    def allow_unanswered(self) -> None:
        """Allow the call that no person answered, which ends the silence; from now on there is time for answers again."""
        write_settings(self.place, self.settings)
        log = subprocess.run(
            [*BOATHOOK, "log", "--json"], cwd=self.place.project, env=self.env, capture_output=True, check=True
        )
        records = [json.loads(line) for line in log.stdout.splitlines()]
        dispatches = [one for one in records if one["type"] == "dispatch"]
        (refused,) = (one["id"] for one in dispatches if one.get("asked", {}).get("result") == UNANSWERED)
        self._run_at_terminal(f"allow {refused}", [TYPED], DIGEST_PROMPT)

    def kill_agent(self) -> None:
        """Kill the agent while its call waits: the question must disappear."""
        (question,) = _wait_until("no call waits for an answer", lambda: list_questions(self.place))
        facts = read_process_facts(question["pid"])
        above = list_processes_above(facts) if facts else ()
        (agent,) = (one.pid for one in above if one.parent == os.getpid())
        os.kill(agent, signal.SIGKILL)
        folder = self.place.home / STATE / "asks"
        _wait_until("the question is still there", lambda: not [*folder.iterdir()])

    def watch(self) -> None:
        """Run `boathook asks --watch`, allow the first call that it shows, and end it."""
        prompt = rf"(?:{ASKS_PROMPT}|You allowed this call\.\n$)"
        self._run_at_terminal("asks --watch", [TYPED, "\x03"], prompt)

    def await_listener(self) -> None:
        """Wait until a person listens."""
        _wait_until("the person does not listen", lambda: [*(self.place.home / STATE / "asks").glob("*.listener")])

    def _run_at_terminal(self, words: str, answers: list[str], prompt: str) -> None:
        argv = [*BOATHOOK, *words.split()]
        code, output = run_at_terminal(argv, answers, cwd=self.place.project, env=self.env, prompt=prompt)
        if code != 0 or LAST_WORD not in output:
            raise DeedError(f"boathook {words}: exit code {code}: {output[-1000:]}")


def _wait_until(problem: str, condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > end:
            raise DeedError(problem)
        time.sleep(0.05)
    return found


def attend_agent(argv: list[str], place: Place, env: Mapping[str, str], steps: int, count: Callable[[], int]) -> str:
    """Run an agent at a terminal, say yes to the call that it asks about, and end it when it has made all its requests.

    Return what it showed; DeedError if it did not ask, or if a call that it asks about has run before the answer.
    """
    child, leader = start_at_terminal(argv, cwd=place.project, env={**env, "TERM": "xterm-256color"})
    shown, end, pressed = b"", time.monotonic() + SECONDS, 0.0
    try:
        while child.poll() is None and count() < steps and time.monotonic() < end:
            if select.select([leader], [], [], 0.2)[0]:
                # An error is the end of the terminal's other side.
                with suppress(OSError):
                    shown += os.read(leader, 1 << 16)
            # Agents ignore keys for a moment after a dialog appears.
            if BY_CAREFUL.encode() in shown and time.monotonic() > pressed + 1:
                if not pressed and [*place.project.glob(ASKED_FILES)]:
                    raise DeedError("the call ran before a person allowed it")
                pressed = time.monotonic()
                os.write(leader, b"\r")
    finally:
        child.kill()
        child.wait()
        os.close(leader)
    text = shown.decode("utf-8", "replace")
    if not pressed:
        raise DeedError(f"the agent did not ask: {text[-1000:]}")
    return text


def make_deeds(place: Place, env: Mapping[str, str], settings: tuple[str, ...]) -> dict[str, Callable[[], None]]:
    """Give what happens on the machine in runs with questions."""
    person = Person(place, env, settings)
    return {
        YES: lambda: person.answer(TYPED),
        NO: lambda: person.answer("no"),
        NO_AFTER_OWN: person.answer_after_agent,
        SHORTEN: lambda: write_settings(place, (*settings, "ask_timeout = 1000")),
        ALLOW_LATER: person.allow_unanswered,
        KILL: person.kill_agent,
        WATCH: person.watch,
        LISTENING: person.await_listener,
    }
