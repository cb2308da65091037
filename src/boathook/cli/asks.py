"""`boathook asks`: a person answers what hooks ask about calls that wait, at a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

import click

from boathook.assembly import locate, resolve_state
from boathook.cli.approvals import ask_code, read_user_settings
from boathook.cli.call_review import (
    describe_call,
    describe_objections,
    is_end_of_digest,
    list_objecting_hooks,
    list_waiting_calls,
)
from boathook.cli.common_options import state_option
from boathook.cli.pager import cut_to_screen, show_lines
from boathook.cli.person import NO_TERMINAL, require_person
from boathook.cli.record_text import format_clock
from boathook.cli.show import cut_text, echo, print_json, print_table
from boathook.cli.terminal import Terminal, open_terminal
from boathook.core.permit import TYPED_CHARS, RepeatPermit
from boathook.core.verdict import ALLOWED, DENIED, KILLED, UNANSWERED, WITHDRAWN
from boathook.core.waiting_question import BY_TERMINAL, CHECKED_DIGEST, PersonAnswer, WaitingQuestion
from boathook.errors import ConfigError
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import ANSWERED_TYPE
from boathook.ledger.writer import make_timestamp
from boathook.permits.ask_listeners import register_listener
from boathook.permits.repeat_permits import end_repeat, list_repeats
from boathook.permits.waiting_questions import describe_waiting_call, list_waiting, read_waiting, send_answer

_SHOWN_ID_CHARS = 8
_MAX_SHOWN_TEXT = 80
_LOOK_SECONDS = 0.3
# What a person types to read a call of which only the beginning is shown.
_WHOLE = "all"
# How the process that waits begins its refusal of who answers.
_NOT_ALLOWED = "this process may not answer"
_GONE = "Nothing was answered: the call does not wait for an answer any more."
# What became of a call while its question was on the screen here.
_OUTCOMES = {
    ALLOWED: "Answered elsewhere: the call was allowed.",
    DENIED: "Answered elsewhere: the call was denied.",
    UNANSWERED: "You did not answer in time, so the call was denied.",
    WITHDRAWN: "The agent stopped waiting for your answer.",
    KILLED: "The process that waited for your answer was ended, so the call was denied.",
}
_OUTCOME_LOOKS = 5
_OWN_TERMINAL = "Run this in a terminal of your own"


@click.command("asks")
@click.argument("id", metavar="[ID]", required=False)
@click.option("--watch", "is_watching", is_flag=True, help="Stay, and show each question as it comes.")
@click.option("--end", "is_end", is_flag=True, help="Stop allowing the call of ID without a question.")
@click.option("--json", "as_json", is_flag=True, help="List the questions for a program; nothing is answered.")
@click.option("--count", "is_count", is_flag=True, help="Print how many calls wait, and nothing else.")
@state_option
def answer_questions(
    id: str | None, is_watching: bool, is_end: bool, as_json: bool, is_count: bool, state: str | None
) -> int:
    """Answer what hooks ask you about calls that wait.

    Without ID, this lists the calls that wait for an answer; if only one waits, you can answer it at once. You are
    shown the whole call. Type four characters of its digest to allow it, or `no` to deny it. With anything else, nothing
    happens, and it still waits. ID is any unique prefix.

    To answer you need a terminal of your own, another one than the agent's: an agent cannot do it, and there is no
    --yes.

    A call that you allowed again for 15 minutes on the page (`boathook page`) is listed, too; --end ends that.

    \b
    Exit codes: 0 answered or listed, 1 not answered.
    """
    folder = resolve_state(state)
    if as_json or is_count:
        if id is not None or is_watching or is_end or (as_json and is_count):
            option = "--json" if as_json else "--count"
            raise click.UsageError(f"{option} only lists: leave out ID and all other options but --state")
        if is_count:
            echo(str(len(list_waiting(folder))))
            return 0
        repeats = [_describe_repeat(permit) for permit in list_repeats(folder, time.time())]
        print_json({"questions": list_waiting_calls(folder), "repeats": repeats})
        return 0
    if is_end:
        return _end_repeat(folder, (id or "").strip().lower())
    if is_watching:
        if id is not None:
            raise click.UsageError("ID and --watch exclude each other")
        require_person(state, is_answer=True)
        return _watch_questions(folder)
    questions = list_waiting(folder)
    if id is None and (len(questions) != 1 or not sys.stdout.isatty()):
        return _print_waiting(questions) or _print_repeats(folder)
    require_person(state, is_answer=True)
    return _answer_at_terminal(folder, _find_waiting(questions, (id or "").strip().lower()))


def _find_waiting(questions: list[WaitingQuestion], prefix: str) -> WaitingQuestion:
    found = [one for one in questions if one.id.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(one.id[:_SHOWN_ID_CHARS] for one in found[:5])
        raise ConfigError(f"several questions have an id that starts with '{prefix}': {shown}. Write more of the id")
    others = ", ".join(one.id[:_SHOWN_ID_CHARS] for one in questions[:5])
    waiting = f"These wait: {others}" if others else "No call waits for an answer now"
    ended = "it was answered, its time is over, or its agent has ended"
    raise ConfigError(f"no question has an id that starts with '{prefix}' any more: {ended}. {waiting}")


def _print_waiting(questions: list[WaitingQuestion]) -> int:
    if not questions:
        echo("No call waits for an answer.")
        return 0
    now = time.time()
    print_table(("ID", "AGE", "LEFT", "AGENT", "ASKS", "CALL"), [_make_row(one, now) for one in questions])
    echo("To see a whole call and answer: boathook asks ID", "dim")
    return 0


def _print_repeats(folder: str) -> int:
    permits = list_repeats(folder, time.time())
    if permits:
        echo("Allowed again without a question:")
        rows = [(permit.id[:_SHOWN_ID_CHARS], format_clock(permit.end), permit.text) for permit in permits]
        print_table(("ID", "UNTIL", "CALL"), rows)
        echo("To end one: boathook asks ID --end", "dim")
    return 0


def _end_repeat(folder: str, prefix: str) -> int:
    permit = end_repeat(folder, prefix, time.time())
    if permit is None:
        echo(
            "Nothing was ended: write the ID of one call that is allowed again. List them: boathook asks",
            err=True,
        )
        return 1
    echo(f"This call is asked about again: {permit.text}", "green")
    return 0


def _describe_repeat(permit: RepeatPermit) -> dict[str, object]:
    return {
        "id": permit.id,
        "since": make_timestamp(permit.begin),
        "until": make_timestamp(permit.end),
        "text": permit.text,
    }


def _make_row(waiting: WaitingQuestion, now: float) -> tuple[str, ...]:
    question = waiting.question
    age, left = (f"{max(0, seconds):.0f} s" for seconds in (now - question.time, waiting.deadline - now))
    shown = cut_text(describe_waiting_call(waiting), _MAX_SHOWN_TEXT)
    return waiting.id[:_SHOWN_ID_CHARS], age, left, question.host, ", ".join(list_objecting_hooks(waiting)), shown


def _answer_at_terminal(folder: str, waiting: WaitingQuestion) -> int:
    with open_terminal() as terminal:
        if terminal is None:
            raise ConfigError(f"Nothing was answered: {NO_TERMINAL}. {_OWN_TERMINAL}")
        return _ask_person(folder, waiting, terminal)


def _ask_person(folder: str, waiting: WaitingQuestion, terminal: Terminal, watch: _Watch | None = None) -> int:
    question = waiting.question
    typed = _ReadCall(folder, waiting, terminal, watch).ask()
    is_yes = is_end_of_digest(typed, question.digest)
    if not is_yes and typed.lower() != "no":
        if read_waiting(folder, waiting.id) is None:
            echo(describe_outcome(folder, waiting.id), err=True)
        else:
            again = _name_command(waiting)
            echo(f"Nothing was answered: you typed something else. The call still waits: {again}", err=True)
        return 1
    code = ""
    if is_yes and question.needs_factor:
        code = ask_code(terminal, read_user_settings(locate(state=folder)))
    answer = PersonAnswer(waiting.id, waiting.digest, is_yes, BY_TERMINAL, CHECKED_DIGEST, code)
    result = send_answer(folder, waiting, answer)
    if not result.is_taken:
        echo(f"Nothing was answered: {result.reason}.", "red", err=True)
        if result.reason.startswith(_NOT_ALLOWED):
            echo(f"Use another terminal, which the agent does not have: {_name_command(waiting)}", err=True)
        return 1
    echo("You allowed this call." if is_yes else "You denied this call.", "green")
    return 0


def describe_outcome(folder: str, ask_id: str) -> str:
    """Return what became of a question that does not wait any more."""
    # The process that waited records it a moment after the question has gone.
    for _ in range(_OUTCOME_LOOKS):
        answered = [
            one for one in LedgerReader(folder).read() if one["type"] == ANSWERED_TYPE and one["question"] == ask_id
        ]
        if answered:
            return _OUTCOMES.get(answered[-1]["result"], _GONE)
        time.sleep(_LOOK_SECONDS)
    return _GONE


def _name_command(waiting: WaitingQuestion) -> str:
    return f"boathook asks {waiting.id[:_SHOWN_ID_CHARS]}"


class _ReadCall:
    """Shows a call, and asks what the person decides about it: a yes counts only if all of the call was shown.

    A person who watches gets no pager unasked: in it, a question that ends and those that come later would not be noticed.
    """

    def __init__(self, folder: str, waiting: WaitingQuestion, terminal: Terminal, watch: _Watch | None) -> None:
        self._folder, self._waiting, self._terminal, self._watch = folder, waiting, terminal, watch
        self._lines = list(describe_call(waiting.question))
        self._is_whole = False

    def ask(self) -> str:
        """Return what the person typed, "" if the call no longer waits."""
        self._show_head()
        while True:
            self._show_rest()
            way = "" if self._is_whole else f", {_WHOLE} to read all of it"
            wanted = f"Type the last {TYPED_CHARS} characters of the digest to allow this call{way}, or no to deny it"
            typed = self._terminal.ask(wanted, self._is_open)
            is_yes = is_end_of_digest(typed, self._waiting.question.digest)
            if self._is_whole or not (is_yes or typed.lower() == _WHOLE):
                return typed
            if is_yes:
                echo(f"Nothing was answered: only the beginning was shown. Type {_WHOLE} first.", "yellow")
            else:
                show_lines(self._lines, [self._waiting.question.project], always_paged=True, is_open=self._is_open)
                self._is_whole = True

    def _show_head(self) -> None:
        if self._watch is None:
            show_lines(self._lines, [self._waiting.question.project])
            self._is_whole = True
            return
        head = cut_to_screen(self._lines)
        show_lines(head, [])
        self._is_whole = head == self._lines
        if not self._is_whole:
            chars = sum(len(text) for text, _ in self._lines)
            size = f"{len(self._lines)} lines and {chars} characters"
            echo(f"  … this is only the beginning: the call has {size}. To read all of it, type {_WHOLE}", "yellow")

    def _show_rest(self) -> None:
        # A pager that ends takes what it showed from the screen.
        for text, style in describe_objections(self._waiting.question, ""):
            echo(text, style)
        echo(f"  until     {format_clock(self._waiting.deadline)}")

    def _is_open(self) -> bool:
        if self._watch is not None:
            self._watch.look()
        return read_waiting(self._folder, self._waiting.id) is not None


class _Watch:
    """The questions that a watching person was made aware of."""

    def __init__(self, folder: str, terminal: Terminal) -> None:
        self._folder, self._terminal = folder, terminal
        self._known: set[str] = set()

    def look(self) -> list[WaitingQuestion]:
        """Return the questions that wait, the oldest first; there is a sound if one is new."""
        questions = list_waiting(self._folder)
        if not self._known.issuperset(one.id for one in questions):
            self._terminal.make_sound()
            self._known.update(one.id for one in questions)
        return questions


def _watch_questions(folder: str) -> int:
    """Show each question as it comes, and again after a wrong text, until Ctrl-C."""
    with open_terminal() as terminal:
        if terminal is None:
            raise ConfigError(f"Questions cannot be answered here: {NO_TERMINAL}. {_OWN_TERMINAL}")
        # A person who ends this has seen enough.
        with suppress(KeyboardInterrupt), register_listener(folder):
            echo("Waiting for questions. Ctrl-C ends this.")
            watch, answered = _Watch(folder, terminal), set[str]()
            while True:
                # An answered one waits for another moment.
                if questions := [one for one in watch.look() if one.id not in answered]:
                    if len(questions) > 1:
                        echo(f"Calls that wait after this one: {len(questions) - 1}")
                    if not _ask_person(folder, questions[0], terminal, watch):
                        answered.add(questions[0].id)
                time.sleep(_LOOK_SECONDS)
    return 0
