"""The check that a person decides something on the page: a click alone never does (ADR 41).

Without a second factor, the terminal of the page shows what is about to be decided, with a code; it is typed into the page. With
one, the person gives the code of the app, or the program asks. One decision is open at a time, for a minute.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from boathook.core.catalog import Settings
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.core.waiting_question import CHECKED_CODE, CHECKED_NOTHING
from boathook.errors import ConfigError
from boathook.page.page_terminal import PageTerminal
from boathook.permits.factors import FactorAnswer, check_factor, find_factor_problem, has_factor, is_code_needed

CODE_SECONDS, MAX_CODE_TRIES = 60.0, 3
MAX_DECISIONS = 12
# Without letters and digits that look alike.
_CODE_LETTERS, _CODE_CHARS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ", 6
SHOWN_CODE, APP_CODE, PROGRAM = "shown", "app", "program"
_ADVICE = {
    SHOWN_CODE: "The terminal that runs boathook page shows what you decide, and a code. Type that code here within a minute.",
    APP_CODE: "Type the code that your authenticator app shows.",
    PROGRAM: "Your own program asks you as soon as you go on.",
}


class DecisionResult(Value):
    """What became of a decision; `repeat` makes it hold for a while, if it can."""

    is_done: bool
    message: str
    repeat: Callable[[], str] | None = None


class PersonProof(Value):
    """What the page has checked of a person (see `PersonAnswer`), and a code of the second factor for others to check."""

    checked: str
    factor: str = ""


class PageDecision(Value):
    """What a person wants to do. `lines` describe it in the terminal; `run` does it, and gets what was checked."""

    # `is_passed_on`: the process that waits for the answer checks the second factor, not the page.
    wish: str
    lines: tuple[str, ...]
    factor_text: str
    run: Callable[[PersonProof], DecisionResult]
    is_passed_on: bool = False
    needs_factor: bool = False
    # One line for the dialog, if the wish does not name what it is about.
    about: str = ""


class _OpenDecision:
    def __init__(self, decision: PageDecision, way: str, end: float) -> None:
        self.id, self.decision, self.way, self.end = secrets.token_urlsafe(16), decision, way, end
        self.code = "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_CHARS))
        self.tries = 0


class PersonCheck:
    def __init__(
        self,
        state: str,
        read_settings: Callable[[], Settings],
        terminal: PageTerminal,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state, self._read_settings, self._now = state, read_settings, now
        self.terminal = terminal
        self._lock = threading.Lock()
        self._open: _OpenDecision | None = None
        # When the decisions of the last minute were opened.
        self._open_times: list[float] = []
        self._repeats: dict[str, tuple[float, Callable[[], str]]] = {}

    def begin(self, decision: PageDecision) -> dict[str, Any]:
        """Begin a decision in the place of any other, and return what the person does next; ConfigError if nothing can be."""
        if self.terminal.obstacle:
            raise ConfigError(f"nothing can be decided here: {self.terminal.obstacle}")
        settings = self._read_settings()
        way = SHOWN_CODE
        if has_factor(settings):
            way = APP_CODE if is_code_needed(settings) else PROGRAM
        if (decision.needs_factor or way != SHOWN_CODE) and (problem := find_factor_problem(settings, self._state)):
            raise ConfigError(problem)
        self._limit_decisions()
        opened = _OpenDecision(decision, way, self._now() + CODE_SECONDS)
        with self._lock:
            self._open = opened
        if way == SHOWN_CODE:
            wish = f"{decision.wish}? If so, type this on the page: {opened.code}"
            # A name with a line end must not look like a line of ours.
            self.terminal.show(reveal_text(line, "\t") for line in (*decision.lines, "", wish, ""))
        return {"id": opened.id, "way": way, "wish": decision.wish, "about": decision.about, "text": _ADVICE[way]}

    def _limit_decisions(self) -> None:
        """Refuse a flood of decisions: each fills the person's terminal, and takes the place of one that is open."""
        with self._lock:
            now = self._now()
            self._open_times = [moment for moment in self._open_times if moment > now - CODE_SECONDS]
            if len(self._open_times) >= MAX_DECISIONS:
                raise ConfigError(
                    f"{MAX_DECISIONS} decisions were started within a minute: wait a minute, then start again"
                )
            self._open_times.append(now)

    def finish(self, decision_id: str, code: str) -> DecisionResult:
        """Check the person, and do what was decided: once, within its minute."""
        opened = self._take(decision_id)
        if isinstance(opened, DecisionResult):
            return opened
        if opened.way == SHOWN_CODE:
            if has_factor(self._read_settings()):
                message = "Nothing was decided: a second factor was set in the meantime. Start again."
                return DecisionResult(is_done=False, message=message)
            if problem := self._find_code_problem(opened, code):
                return DecisionResult(is_done=False, message=problem)
            return self._note_result(opened, opened.decision.run(PersonProof(CHECKED_CODE)))
        if not has_factor(self._read_settings()):
            message = "Nothing was decided: the second factor was removed in the meantime. Start again."
            return DecisionResult(is_done=False, message=message)
        if not opened.decision.is_passed_on:
            answer = FactorAnswer(opened.decision.factor_text, code)
            if problem := check_factor(self._read_settings(), self._state, answer):
                self._put_back(opened)
                return DecisionResult(is_done=False, message=f"Nothing was decided: {problem}.")
        result = opened.decision.run(PersonProof(CHECKED_NOTHING, code))
        if not result.is_done:
            # The code may have been wrong; how often it may be is limited where it is checked.
            self._put_back(opened)
        return self._note_result(opened, result)

    def _take(self, decision_id: str) -> _OpenDecision | DecisionResult:
        """Return the decision that is open, and close it, so that no other request has it."""
        with self._lock:
            opened = self._open
            if opened is None or not hmac.compare_digest(opened.id.encode(), decision_id.encode("utf-8", "replace")):
                message = "Nothing was decided: this was decided, or another decision was started. Start again."
                return DecisionResult(is_done=False, message=message)
            self._open = None
        if self._now() >= opened.end:
            return DecisionResult(is_done=False, message="Nothing was decided: the code is too old. Start again.")
        return opened

    def _put_back(self, opened: _OpenDecision) -> None:
        with self._lock:
            if self._open is None:
                self._open = opened

    def _find_code_problem(self, opened: _OpenDecision, typed: str) -> str:
        given = "".join(typed.split()).upper()
        if hmac.compare_digest(opened.code.encode(), given.encode("utf-8", "replace")):
            return ""
        opened.tries += 1
        if opened.tries >= MAX_CODE_TRIES:
            return "Nothing was decided: the code was wrong too often. Start again."
        self._put_back(opened)
        return "Nothing was decided: the code is wrong. Type the one that the terminal of the page shows."

    # A decision that holds for a while

    def _note_result(self, opened: _OpenDecision, result: DecisionResult) -> DecisionResult:
        if result.is_done:
            about = f" ({opened.decision.about})" if opened.decision.about else ""
            # It is decided, also if the terminal is gone by now.
            with suppress(ConfigError):
                self.terminal.show([reveal_text(f"{result.message}{about}", "\t")])
        if result.repeat is not None:
            with self._lock:
                self._repeats = {secrets.token_urlsafe(16): (self._now() + CODE_SECONDS, result.repeat)}
        return result

    def get_repeat_id(self) -> str:
        """Return the id by which the last decision can be made to hold for a while, or ""."""
        with self._lock:
            return next(iter(self._repeats), "")

    def repeat(self, repeat_id: str) -> DecisionResult:
        """Let the last decision hold for a while: once, within a minute after it."""
        with self._lock:
            end, run = self._repeats.pop(repeat_id, (0.0, None))
        if run is None or self._now() >= end:
            return DecisionResult(
                is_done=False, message="Nothing was decided: it is too late. Wait for the next question."
            )
        return DecisionResult(is_done=True, message=run())
