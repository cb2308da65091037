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
    describe_listeners,
    describe_no_listener,
    describe_person_answer,
    describe_repeat,
    describe_silence,
)
from boathook.core.catalog import DENIED_QUESTION
from boathook.core.outcome import NOTHING, Decision, Outcome
from boathook.core.value import Value
from boathook.core.verdict import ALLOWED, DENIED, KILLED, UNANSWERED, WITHDRAWN
from boathook.core.waiting_question import CHECKED_CODE, CHECKED_NOTHING, PersonAnswer, WaitingQuestion
from boathook.errors import LedgerError
from boathook.ledger.record import make_answered_record, make_asked_record
from boathook.ledger.writer import Ledger, make_local_record, make_timestamp
from boathook.permits.answer_socket import AnswerSocket
from boathook.permits.ask_listeners import has_ask_listener
from boathook.permits.factors import (
    FactorAnswer,
    begin_factor_check,
    describe_factor_first,
    describe_other_settings,
    describe_wish,
    needs_factor,
)
from boathook.permits.peer_check import (
    AgentProcesses,
    can_check_peers,
    find_agent_processes,
    find_refusal,
    read_peer,
)
from boathook.permits.repeat_permits import find_repeat, note_repeat_use
from boathook.permits.waiting_questions import count_waiting, make_ask_id, remove_waiting, write_waiting
from boathook.process.reaper import find_caller_process
from boathook.process.sessions import Sessions
from boathook.system.process_facts import read_process_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

    from boathook.core.catalog import Settings
    from boathook.core.permit import CallObjections, Question
    from boathook.core.verdict import Run, Verdict
    from boathook.permits.askpass import AskpassRun

MAX_WAITING = 32
# Every other signal ends or stops a process that does not catch it. A fault of this process must end it, the last ones change
# nothing by themselves, and not every system has each of them.
_UNCAUGHT_SIGNALS = (
    *("SIGKILL", "SIGSTOP"),
    *("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS", "SIGEMT"),
    *("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO"),
)


class AskingHost(Value):
    """What counts of the agent: whether it asks a person itself, and how long it waits for our answer (0: not known).

    `doubt`: why a question must not be left to it, because it may run the call.
    """

    name: str
    asks_person: bool
    doubt: str
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
        start = time.monotonic()
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
        if way == DENIES and not setting and self._host.doubt:
            return _deny(verdict, self._host.doubt)
        # Without a setting, the agent itself denies what it cannot ask.
        if way == DENIES and not setting:
            return self._name_listeners(verdict, elapsed)
        if way == HOST_ASKS:
            return verdict
        if way == DENIES or question is None:
            return _deny(verdict, self._settings.question_denial or DENIED_QUESTION)
        question = _take_rewritten(question, verdict)
        seconds = compute_wait_seconds(self._host.find_wait_seconds(), elapsed, self._settings.ask_timeout / 1000)
        obstacle = self._find_obstacle(question, seconds)
        # What this took is the agent's time, too.
        return _deny(verdict, obstacle) if obstacle else self._wait(verdict, question, start + seconds)

    def _name_listeners(self, verdict: Verdict, elapsed: float) -> Verdict:
        """Tell the person what lets the next question wait, if it could have waited."""
        limit = self._settings.ask_timeout / 1000
        if not can_check_peers() or not compute_wait_seconds(self._host.find_wait_seconds(), elapsed, limit):
            return verdict
        messages = (*verdict.outcome.messages, describe_listeners())
        return verdict.replace(outcome=verdict.outcome.replace(messages=messages))

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
        if count_waiting(self._state, MAX_WAITING) >= MAX_WAITING:
            return f"{MAX_WAITING} questions wait for an answer already."
        return ""

    def _find_factor_obstacle(self) -> str:
        """Return why no answer with a second factor would hold, or ""."""
        return describe_factor_first(self._read_settings(), self._state)

    def _wait(self, verdict: Verdict, question: Question, end: float) -> Verdict:
        """Wait for an answer until a monotonic time."""
        own = read_process_facts(os.getpid())
        if own is None:
            return _deny(verdict, "boathook cannot wait for an answer on this system.")
        # Hooks that were asked after the first objection have taken their time, and the person is asked now.
        question, seconds = question.replace(time=time.time()), max(0.0, end - time.monotonic())
        waiting = WaitingQuestion(question.id, question, own.pid, own.start, question.time + seconds)
        wait = _Wait(self._state, self._settings, self._read_settings, waiting)
        problem, signals = "", _FirstSignal()
        try:
            try:
                signals.catch()
                wait.begin()
                result = wait.run(end)
            except (OSError, LedgerError) as error:
                result, problem = KILLED, f"boathook could not ask a person: {error}."
            signals.close()
        except BaseException:  # noqa: BLE001  (a signal: many agents take silence for a yes, so the denial must go out)
            signals.close()
            result, problem = KILLED, ""
        finally:
            wait.end()
        if problem:
            return _deny(verdict, problem)
        if result == ALLOWED:
            signals.restore()
        if result == UNANSWERED:
            self._sessions.note_unanswered(question.asker)
        elif result in (ALLOWED, DENIED):
            self._sessions.forget_unanswered(question.asker)
        verdict = verdict.replace(asked=(question.id, result))
        text = describe_person_answer(result, seconds)
        return _lift(verdict, question.id, text) if result == ALLOWED else _deny(verdict, text)


class _Wait:
    """One question: its file, its socket and its records."""

    def __init__(
        self, state: str, settings: Settings, read_settings: Callable[[], Settings], waiting: WaitingQuestion
    ) -> None:
        self._state, self._waiting = state, waiting
        self._settings, self._read_settings = settings, read_settings
        self._socket: AnswerSocket | None = None
        self._start, self._end, self._caller = 0.0, 0.0, find_caller_process()
        self._result, self._is_asked = "", False
        self._agent = AgentProcesses(())
        # Why processes may not answer, once each: an agent may try as often as it likes.
        self._refusals: dict[str, None] = {}

    def begin(self) -> None:
        self._start = time.monotonic()
        about, until = (make_asked_record, self._waiting.question), make_timestamp(self._waiting.deadline)
        record = make_local_record(self._state, *about, until=until)
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

    def run(self, end: float) -> str:
        """Wait until a monotonic time, and return what became of the question."""
        assert self._socket is not None  # noqa: S101
        self._agent = find_agent_processes(self._caller or os.getpid())
        self._end = end
        is_answered = self._socket.wait(self._end, self)
        if not is_answered:
            self._record(WITHDRAWN if is_answered is None else UNANSWERED)
        return self._result

    def look(self, connection: socket.socket) -> str:
        """Return why the process that connected may not answer, or ""."""
        refusal = find_refusal(read_peer(connection), self._agent)
        if not refusal:
            return ""
        self._refusals[refusal] = None
        return f"this process may not answer: {refusal}"

    def take(self, connection: socket.socket, answer: PersonAnswer) -> str | AskpassRun:
        """Take an answer; return "", why it does not count, or the program that asks the person about it."""
        if (answer.id, answer.digest) != (self._waiting.id, self._waiting.digest):
            return "the answer is for another call"
        # Again, because some time may have passed.
        if refusal := self.look(connection):
            return refusal
        checked = self._begin_factor_check(answer) if answer.is_yes else ""
        return checked or self.confirm(answer)

    def confirm(self, answer: PersonAnswer) -> str:
        """Take an answer whose checks are done, unless they took too long."""
        if time.monotonic() >= self._end:
            return "the answer came too late"
        return self._record(ALLOWED if answer.is_yes else DENIED, answer.via)

    def _begin_factor_check(self, answer: PersonAnswer) -> str | AskpassRun:
        """Return why a yes does not count: the second factor that is set now is checked, if it was or is needed.

        The settings of this process count: the one that answers may have read another hooks.toml.
        """
        question, settings = self._waiting.question, self._read_settings()
        is_needed = any(needs_factor(one, question, answer.via) for one in (self._settings, settings))
        if answer.checked == (CHECKED_CODE if is_needed else CHECKED_NOTHING):
            return describe_other_settings(question.id, is_needed=is_needed)
        if not is_needed:
            return ""
        left = self._end - time.monotonic()
        return begin_factor_check(settings, self._state, FactorAnswer(describe_wish(question), answer.factor, left))

    def end(self) -> None:
        """Remove what is left of the question, however the wait ended: by a signal as well."""
        if self._socket is not None:
            self._socket.close()
        remove_waiting(self._state, self._waiting.id)
        if self._is_asked and not self._result:
            self._record(KILLED)

    def _record(self, result: str, via: str = "") -> str:
        """Record what became of the question; return why that does not count, or "". Only a yes needs its record."""
        seconds = time.monotonic() - self._start
        about = make_answered_record, self._waiting.question, seconds, tuple(self._refusals)
        record = make_local_record(self._state, *about, result=result, via=via)
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


class _FirstSignal:
    """Lets the first signal end the wait, and none after it keep a denial from being written; this process ends with that.

    Several can come at once: a terminal that is closed, an agent that ends, a person who is impatient. Any of them would make
    this process silent, which most agents take for no opinion.
    """

    def __init__(self) -> None:
        self._is_open = True
        self._before: dict[int, Any] = {}

    def catch(self) -> None:
        left_alone = {getattr(signal, name, 0) for name in _UNCAUGHT_SIGNALS}
        # The signals that the C library keeps for itself are not among the valid ones.
        for number in signal.valid_signals() - left_alone:
            # None is a handler that is not of Python, and could not be restored.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._take)

    def _take(self, number: int, _: object) -> None:
        if self._is_open:
            self._is_open = False
            raise KeyboardInterrupt(number)

    def close(self) -> None:
        """Heed no signal any more."""
        self._is_open = False

    def restore(self) -> None:
        """Heed signals as before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)


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
