"""`boathook allow` and `boathook unlock`: a person permits one call that hooks object to, or pauses self-protection."""

from __future__ import annotations

import os
import time

import click

from boathook.assembly import load_catalog, resolve_state
from boathook.cli.approvals import ask_factor
from boathook.cli.call_review import describe_call, describe_objections, has_typed_digest
from boathook.cli.closed_questions import describe_closed_question
from boathook.cli.common_options import state_option
from boathook.cli.pager import show_lines
from boathook.cli.person import NO_TERMINAL, require_person
from boathook.cli.record_text import format_clock
from boathook.cli.show import cut_text, echo, print_table
from boathook.cli.terminal import open_terminal
from boathook.core.hashing import hexdigest
from boathook.core.hook import ARMED
from boathook.core.json_text import dumps
from boathook.core.permit import PERMIT_SECONDS, Question
from boathook.errors import BoathookError, ConfigError, LedgerError
from boathook.ledger.record import make_unlock_record
from boathook.ledger.writer import Ledger, make_local_record, make_timestamp
from boathook.permits.call_permits import list_questions, write_permit
from boathook.permits.factors import describe_wish
from boathook.permits.unlock import MAX_UNLOCK_SECONDS, describe_pause, read_unlock_end, remove_unlock, write_unlock

_UNITS = {"s": 1, "m": 60, "h": 3600}
_MAX_SHOWN_INPUT = 80
_OTHER_HOOKS = "Hooks that were not asked yet are asked when the agent makes this call again."


@click.command("allow")
@click.argument("id", metavar="[ID]", required=False)
@state_option
def allow_call(id: str | None, state: str | None) -> int:
    """Allow one call that hooks objected to, once.

    You are shown the whole call and every objection, and type four characters of its digest. If the agent makes
    exactly this call within ten minutes, these objections do not count. All other hooks are asked as always, and so
    is the agent's own permission. ID is that of the record, or any unique prefix: the agent names it, and so does
    `boathook log`. Without ID, this lists the calls that can be allowed now.

    To allow a call you need a terminal of your own: an agent cannot do it, and there is no --yes. If one of the hooks
    says `ask: strong`, you need a second factor as well (`boathook approvals`).

    \b
    Exit codes: 0 it is allowed, 1 it is not.
    """
    folder = resolve_state(state)
    if id is None:
        return _print_questions(list_questions(folder, time.time()))
    require_person(state)
    with open_terminal() as terminal:
        if terminal is None:
            raise ConfigError(f"Nothing was allowed: {NO_TERMINAL}. Run this in a terminal of your own")
        question = _find_question(folder, id.strip().lower())
        show_lines(list(describe_call(question)), [question.project])
        # A pager that ends takes what it showed from the screen.
        for text, style in describe_objections(question, _OTHER_HOOKS):
            echo(text, style)
        if not has_typed_digest(terminal, "allow this call once", question.digest):
            echo("Nothing was allowed: you typed something else.", err=True)
            return 1
        reason, factor = ask_factor(terminal, state, describe_wish(question)) if question.needs_factor else ("", "")
        if reason:
            echo(f"Nothing was allowed: {reason}", err=True)
            return 1
    try:
        permit = write_permit(folder, question, time.time(), factor)
    except (LedgerError, OSError) as error:
        raise _make_unrecorded_error("Nothing was allowed", error) from None
    within = f"within {PERMIT_SECONDS / 60:.0f} minutes (until {format_clock(permit.end)})"
    echo(f"This call is allowed once, {within}. Now let the agent try again.", "green")
    return 0


def _find_question(folder: str, prefix: str) -> Question:
    now = time.time()
    questions = list_questions(folder, now, prefix) if prefix else []
    if not questions:
        raise ConfigError(describe_closed_question(folder, prefix, now))
    if len(questions) > 1:
        shown = ", ".join(question.id for question in questions[:5])
        raise ConfigError(f"several calls have an id that starts with '{prefix}': {shown}. Write more of the id")
    return questions[0]


def _print_questions(questions: list[Question]) -> int:
    if not questions:
        echo("No call waits for an answer. A question stays open for 10 minutes: let the agent try again.")
        return 0
    rows = [_make_question_row(question) for question in _drop_repeated_questions(questions)]
    print_table(("ID", "UNTIL", "AGENT", "TOOL", "OBJECTS", "INPUT"), rows)
    echo("To see a whole call and allow it once: boathook allow ID", "dim")
    return 0


def _drop_repeated_questions(questions: list[Question]) -> list[Question]:
    """Return the newest of each call: agents try again. One with other objections is another question."""
    newest: dict[tuple[str, ...], Question] = {}
    for question in questions:
        newest.setdefault((question.digest, *(objection.hook for objection in question.objections)), question)
    return [*newest.values()]


def _make_question_row(question: Question) -> tuple[str, ...]:
    until = format_clock(question.time + PERMIT_SECONDS)
    hooks = ", ".join(dict.fromkeys(objection.hook for objection in question.objections))
    shown = cut_text(dumps(question.tool_input), _MAX_SHOWN_INPUT)
    return question.id, until, question.host, question.host_tool or question.tool, hooks, shown


@click.command("unlock")
@click.argument("duration", metavar="[DURATION]", required=False)
@click.option("--end", "is_end", is_flag=True, help="End the pause now.")
@state_option
def unlock_guards(duration: str | None, is_end: bool, state: str | None) -> int:
    """Pause self-protection for a while.

    Self-protection is the built-in hook that keeps agents from changing your hooks, your trust and boathook itself.
    DURATION is such as 90s, 30m or 2h, and at most 8h. Without it, this shows whether there is a pause. All your other
    hooks run as always. `status`, `log` and every session of an agent report the pause.

    To begin a pause you need a terminal of your own: an agent cannot do it, and there is no --yes.
    """
    folder = resolve_state(state)
    if duration is not None and is_end:
        raise click.UsageError("DURATION and --end exclude each other")
    if is_end:
        return _end_pause(folder)
    if duration is None:
        end = read_unlock_end(folder)
        on = _describe_disabling(state) or "Self-protection is on. To pause it: boathook unlock 30m"
        echo(f"Self-protection is {describe_pause(end)}" if end else on)
        return 0
    seconds = _parse_duration(duration)
    require_person(state)
    if why := _describe_disabling(state):
        raise ConfigError(f"{why}: there is nothing to pause")
    return _begin_pause(folder, seconds)


def _describe_disabling(state: str | None) -> str:
    """Return that self-protection is turned off and by what, "" if it is on."""
    off = [hook for hook in load_catalog(state=state).built_in if hook.state != ARMED]
    return f"Self-protection is off: {off[0].state_text}" if off else ""


def _begin_pause(folder: str, seconds: int) -> int:
    with open_terminal() as terminal:
        if terminal is None:
            raise ConfigError(f"Nothing was changed: {NO_TERMINAL}. Run this in a terminal of your own")
        now = make_timestamp()
        digest = hexdigest(f"boathook unlock 1 {now} {seconds} {os.urandom(8).hex()}".encode())
        echo(f"For {_format_duration(seconds)}, agents on this machine can change what guards them:")
        for text in ("your hooks and hooks.toml", "trust, ledger and state", "their settings that call boathook"):
            echo(f"  - {text}")
        echo("All other hooks run as always.")
        echo(f"digest  {digest}")
        if not has_typed_digest(terminal, "pause self-protection", digest):
            echo("Nothing was changed: you typed something else.", err=True)
            return 1
    try:
        end = write_unlock(folder, seconds)
    except (LedgerError, OSError) as error:
        raise _make_unrecorded_error("Nothing was changed", error) from None
    echo(f"Self-protection is {describe_pause(end)}", "yellow")
    return 0


def _end_pause(folder: str) -> int:
    if not remove_unlock(folder):
        echo("Self-protection is on: there is no pause to end.")
        return 0
    error_message = Ledger(folder).append(make_local_record(folder, make_unlock_record, ""), sync=True)
    echo("Self-protection is on again.", "green")
    if error_message:
        echo(error_message, "yellow", err=True)
    return 0


def _make_unrecorded_error(effect: str, error: LedgerError | OSError) -> BoathookError:
    """Return the error that what a person permits cannot be recorded or kept, so that it does not count."""
    fix = "Make room on the disk, or make the folder writable, then try again"
    return BoathookError(f"{effect}, because it could not be recorded: {error}. {fix}")


def _parse_duration(text: str) -> int:
    number, unit = text[:-1], text[-1:]
    is_known = unit in _UNITS and number.isascii() and number.isdigit() and len(number) < 8
    seconds = int(number) * _UNITS[unit] if is_known else 0
    if not 0 < seconds <= MAX_UNLOCK_SECONDS:
        longest = f"{MAX_UNLOCK_SECONDS // 3600}h"
        raise ConfigError(f"'{text}' is not a time to pause for: write 90s, 30m or 2h, and at most {longest}")
    return seconds


def _format_duration(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes} minutes" if seconds % 60 == 0 and minutes != 1 else f"{seconds} seconds"
