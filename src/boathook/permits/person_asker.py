"""A question of hooks that boathook itself puts to a person: it waits for the answer, and turns it into the verdict."""

from __future__ import annotations

import os
import signal
import time

from boathook.core.ask_rule import (
    DENIES,
    HOST_ASKS,
    MIN_HOST_SECONDS,
    WAITS,
    choose_ask_way,
    compute_wait_seconds,
    describe_no_listener,
    describe_person_answer,
    describe_repeat,
    describe_silence,
)
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.core.value import Value
from boathook.core.verdict import ALLOWED, DENIED, DENIED_QUESTION, KILLED, UNANSWERED, WITHDRAWN
from boathook.core.waiting_question import PersonAnswer, WaitingQuestion
from boathook.errors import LedgerError
from boathook.ledger.record import make_answered_record, make_asked_record
from boathook.ledger.writer import Ledger, describe_machine, make_record_id, make_timestamp
from boathook.permits.answer_socket import AnswerSocket
from boathook.permits.ask_listeners import has_ask_listener
from boathook.permits.askpass import ASKPASS_SECONDS
from boathook.permits.factors import FactorAnswer, check_factor, describe_wish, find_factor_problem, needs_factor
from boathook.permits.peer_check import can_check_peers, find_agent_processes, find_refusal, read_peer
from boathook.permits.repeat_permits import find_repeat, note_repeat_use
from boathook.permits.waiting_questions import list_waiting, make_ask_id, remove_waiting, write_waiting
from boathook.process.reaper import find_caller_process
from boathook.process.sessions import Sessions
from boathook.system.process_facts import read_process_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from boathook.core.catalog import Settings
    from boathook.core.permit import CallObjections, Question
    from boathook.core.verdict import Run, Verdict

MAX_WAITING = 32


class AskingHost(Value):
    """What counts of the agent: whether it asks a person itself, and how long it waits for our answer (0: not known)."""

    name: str
    asks_person: bool
    find_wait_seconds: Callable[[], float]


class PersonAsker:
    def __init__(self, state: str, settings: Settings, host: AskingHost, read_settings: Callable[[], Settings]) -> None:
        """`read_settings` returns the settings as they are when an answer comes."""
        self._state, self._settings, self._host, self._read_settings = state, settings, host, read_settings
        self._sessions = Sessions(f"{state}/sessions")

    def settle(self, verdict: Verdict, objections: CallObjections, elapsed: float) -> Verdict:
        """Return the verdict on a call that hooks ask about, after a person's answer if boathook waits for one.

        `elapsed` is how much of the agent's time has passed.
        """
        setting, question = self._settings.ask, objections.make_question(make_ask_id())
        # No agent asks for a second factor.
        is_strong = question is not None and question.needs_factor
        if is_strong and setting == HOST_ASKS:
            setting = WAITS
        if setting != DENIES and question is not None and (allowed := self._use_repeat(verdict, question)):
            return allowed
        way = choose_ask_way(
            setting,
            host_asks=self._host.asks_person and not is_strong,
            has_listener=lambda: has_ask_listener(self._state),
        )
        if way == DENIES and not setting and is_strong:
            return _deny(verdict, self._find_factor_obstacle() or describe_no_listener())
        # Without a setting, the agent itself denies what it cannot ask.
        if way == HOST_ASKS or (way == DENIES and not setting):
            return verdict
        if way == DENIES or question is None:
            return _deny(verdict, DENIED_QUESTION)
        question = _take_rewritten(question, verdict)
        seconds = compute_wait_seconds(self._host.find_wait_seconds(), elapsed, self._settings.ask_timeout / 1000)
        obstacle = self._find_obstacle(question, seconds)
        return _deny(verdict, obstacle) if obstacle else self._wait(verdict, question, seconds)

    def _use_repeat(self, verdict: Verdict, question: Question) -> Verdict | None:
        """Return the verdict if a person allowed this very call for a while, else None."""
        final = _take_rewritten(question, verdict)
        permit = find_repeat(self._state, final, time.time())
        if permit is None or not note_repeat_use(self._state, final, permit):
            return None
        return _lift(verdict.replace(asked=(permit.id, ALLOWED)), permit.id, describe_repeat())

    def _find_obstacle(self, question: Question, seconds: float) -> str:
        """Return why boathook does not wait for an answer, or ""."""
        if not can_check_peers():
            return "boathook cannot wait for an answer on this system."
        if question.needs_factor and (obstacle := self._find_factor_obstacle()):
            return obstacle
        if not seconds:
            return f"{self._host.name} gives a hook less than {MIN_HOST_SECONDS} s, too little to wait for a person."
        if self._sessions.is_unanswered(question.asker):
            return describe_silence()
        if len(list_waiting(self._state)) >= MAX_WAITING:
            return f"{MAX_WAITING} questions wait for an answer already."
        return ""

    def _find_factor_obstacle(self) -> str:
        """Return why no answer with a second factor would hold, or ""."""
        problem = find_factor_problem(self._read_settings(), self._state)
        return f"No person can allow this call: {problem}." if problem else ""

    def _wait(self, verdict: Verdict, question: Question, seconds: float) -> Verdict:
        own = read_process_facts(os.getpid())
        if own is None:
            return _deny(verdict, "boathook cannot wait for an answer on this system.")
        # Hooks that were asked after the first objection have taken their time, and the person is asked now.
        question = question.replace(time=time.time())
        waiting = WaitingQuestion(question.id, question, own.pid, own.start, question.time + seconds)
        wait = _Wait(self._state, (self._settings, self._read_settings), waiting)
        try:
            wait.begin()
            result = wait.run(seconds)
            if result != ALLOWED:
                _hold_signals()
        except (OSError, LedgerError) as error:
            return _deny(verdict, f"boathook could not ask a person: {error}.")
        except BaseException:  # noqa: BLE001  (a signal: many agents take silence for a yes, so the denial must go out)
            _hold_signals()
            result = KILLED
        finally:
            wait.end()
        if result == UNANSWERED:
            self._sessions.note_unanswered(question.asker)
        elif result in (ALLOWED, DENIED):
            self._sessions.forget_unanswered(question.asker)
        verdict = verdict.replace(asked=(question.id, result))
        text = describe_person_answer(result, seconds)
        return _lift(verdict, question.id, text) if result == ALLOWED else _deny(verdict, text)


class _Wait:
    """One question: its file, its socket and its records."""

    def __init__(self, state: str, settings: tuple[Settings, Callable[[], Settings]], waiting: WaitingQuestion) -> None:
        self._state, self._waiting = state, waiting
        self._settings, self._read_settings = settings
        self._socket: AnswerSocket | None = None
        self._begun, self._caller = 0.0, find_caller_process()
        self._result, self._is_asked = "", False
        # Why processes may not answer, once each: an agent may try as often as it likes.
        self._refusals: dict[str, None] = {}

    def begin(self) -> None:
        self._begun = time.monotonic()
        about = {"id": make_record_id(), "time": make_timestamp(), "until": make_timestamp(self._waiting.deadline)}
        record = make_asked_record(self._waiting.question, **about) | describe_machine(self._state)
        Ledger(self._state).append_required(record)
        self._is_asked = True
        write_waiting(self._state, self._waiting)
        self._socket = AnswerSocket(self._state, self._waiting.id, self._list_callers())

    def _list_callers(self) -> tuple[int, ...]:
        """Return the processes whose end means that there is no agent to answer: for another process also that one's parent."""
        if not self._caller:
            return (os.getppid(),)
        facts = read_process_facts(self._caller)
        return (self._caller, facts.parent) if facts is not None else (self._caller,)

    def run(self, seconds: float) -> str:
        assert self._socket is not None  # noqa: S101
        agent, end = find_agent_processes(self._caller or os.getpid()), self._begun + seconds

        def take(connection: socket.socket, answer: PersonAnswer) -> str:
            waiting = self._waiting
            if (answer.id, answer.digest) != (waiting.id, waiting.digest):
                return "it is for another call"
            if refusal := find_refusal(read_peer(connection), agent):
                self._refusals[refusal] = None
                return f"this process may not answer: {refusal}"
            if answer.is_yes and (problem := self._find_factor_problem(answer, end)):
                return problem
            return self._record(ALLOWED if answer.is_yes else DENIED, answer.via)

        is_answered = self._socket.wait(end, take)
        if not is_answered:
            self._record(WITHDRAWN if is_answered is None else UNANSWERED)
        return self._result

    def _find_factor_problem(self, answer: PersonAnswer, end: float) -> str:
        """Return why a yes does not count: the second factor that is set now is checked, if it was or is needed."""
        question, settings = self._waiting.question, self._read_settings()
        if not any(needs_factor(one, question, answer.via) for one in (self._settings, settings)):
            return ""
        left = min(ASKPASS_SECONDS, end - time.monotonic())
        return check_factor(settings, self._state, FactorAnswer(describe_wish(question), answer.factor, left))

    def end(self) -> None:
        """Remove what is left of the question, however the wait ended: by a signal as well."""
        if self._socket is not None:
            self._socket.close()
        remove_waiting(self._state, self._waiting.id)
        if self._is_asked and not self._result:
            self._record(KILLED)

    def _record(self, result: str, via: str = "") -> str:
        """Record what became of the question; return why that does not count, or "". Only a yes needs its record."""
        seconds = time.monotonic() - self._begun
        about = {"id": make_record_id(), "time": make_timestamp(), "result": result, "via": via}
        record = make_answered_record(self._waiting.question, seconds, tuple(self._refusals), **about)
        record |= describe_machine(self._state)
        ledger = Ledger(self._state)
        if result == ALLOWED:
            try:
                ledger.append_required(record)
            except LedgerError as error:
                return f"the answer could not be recorded, so it does not count: {error}"
        else:
            ledger.append(record, sync=True)
        self._result = result
        return ""


def _hold_signals() -> None:
    """Let no signal keep a denial from being written; this process ends with it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))


def _take_rewritten(question: Question, verdict: Verdict) -> Question:
    """Return the question about the call as it is now: hooks may have rewritten it."""
    return question.replace(tool=verdict.event.tool_name, tool_input=verdict.event.tool_input)


def _list_askers(verdict: Verdict) -> list[Run]:
    return [run for run in verdict.runs if run.outcome.decision == Decision.ASK]


def _deny(verdict: Verdict, text: str) -> Verdict:
    """Block a call that hooks ask about, with their reasons and why no person allowed it."""
    reasons = tuple((Decision.BLOCK, reason) for reason in (*verdict.reasons, text))
    return verdict.replace(outcome=verdict.outcome | Outcome(Decision.BLOCK, reasons))


def _lift(verdict: Verdict, ask_id: str, text: str) -> Verdict:
    """Allow a call that a person allowed: what hooks wanted to ask does not count any more."""
    note = f"allowed by a person ({ask_id}): its question does not count"
    runs = tuple(
        run.replace(outcome=NOTHING, notes=(*run.notes, note), allowed=ask_id) if run in askers else run
        for askers in [_list_askers(verdict)]
        for run in verdict.runs
    )
    others = tuple(reason for reason in verdict.outcome.all_reasons if reason[0] != Decision.ASK)
    reasons = (*others, (Decision.ALLOW, text))
    outcome = verdict.outcome.replace(decision=Decision.ALLOW, all_reasons=reasons)
    return verdict.replace(outcome=outcome, runs=runs)
