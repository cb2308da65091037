"""Calls that a person allows again for 15 minutes, without a new question: a private file each, bound to the digest of the call.

It is for exactly the call that was shown, after all rewrites, and for the objections that were shown. It counts only with its
record in the ledger, each use is recorded, and hooks with `ask: strong` never have one.
"""

from __future__ import annotations

import os
from contextlib import suppress

from boathook.core.json_text import dump_line
from boathook.core.permit import REPEAT_SECONDS, Question, RepeatPermit
from boathook.core.verdict import ALLOWED
from boathook.core.waiting_question import BY_REPEAT
from boathook.errors import LedgerError
from boathook.ledger.find_record import find_later_records, is_on_record
from boathook.ledger.record import REPEAT_TYPE, make_answered_record, make_repeat_end_record, make_repeat_record
from boathook.ledger.writer import Ledger, make_local_record, make_timestamp
from boathook.permits.call_permits import PERMIT_ENDING, list_permit_names, read_own_json
from boathook.system.files import write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = "repeats"


def write_repeat(state: str, question: Question, text: str, now: float) -> RepeatPermit:
    """Allow the call of a question again for a while; `text` is one line about it.

    LedgerError if that cannot be recorded, OSError if it cannot be written, ValueError if one of its hooks wants a second
    factor each time; then nothing is allowed.
    """
    if question.needs_factor:
        raise ValueError("a hook wants a second factor for each call")
    end = now + REPEAT_SECONDS
    # First the record: without it, the file does not count.
    place = _record(state, question, now, end)
    permit = RepeatPermit(question.id, question.digest, now, end, place, question.objections, text)
    write_private(f"{state}/{_FOLDER}/{permit.digest}{PERMIT_ENDING}", dump_line(permit.to_json()))
    return permit


def _record(state: str, question: Question, now: float, end: float) -> str:
    record = make_local_record(state, make_repeat_record, question, now=now, until=make_timestamp(end))
    return Ledger(state).append_required(record).to_text()


def list_repeats(state: str, now: float) -> list[RepeatPermit]:
    """Return the calls that are allowed again now, the one that ends first at the beginning; files of others are removed."""
    found: list[RepeatPermit] = []
    for name in list_permit_names(f"{state}/{_FOLDER}"):
        permit = _read_repeat(state, name, now)
        if permit is not None:
            found.append(permit)
        else:
            _remove_repeat(state, name)
    return sorted(found, key=lambda permit: permit.end)


def find_repeat(state: str, question: Question, now: float) -> RepeatPermit | None:
    """Return the permit for a call as it is after all rewrites, if it covers all that hooks object to now."""
    permit = _read_repeat(state, question.digest, now)
    if permit is None or question.needs_factor:
        return None
    known = {objection.key for objection in permit.objections}
    return permit if all(objection.key in known for objection in question.objections) else None


def note_repeat_use(state: str, question: Question, permit: RepeatPermit) -> bool:
    """Record that a call uses a permit; return whether that worked, because without it the call is not allowed."""
    about = make_answered_record, question.replace(id=permit.id), 0.0, ()
    record = make_local_record(state, *about, result=ALLOWED, via=BY_REPEAT)
    try:
        Ledger(state).append_required(record)
    except LedgerError:
        return False
    return True


def end_repeat(state: str, prefix: str, now: float) -> RepeatPermit | None:
    """End the permit whose question has an id that starts so; return it, None if there is none, or several.

    LedgerError if that cannot be recorded: its file is gone, but would count again if it was put back.
    """
    found = [permit for permit in list_repeats(state, now) if prefix and permit.id.startswith(prefix)]
    if len(found) != 1:
        return None
    (permit,) = found
    try:
        Ledger(state).append_required(make_local_record(state, make_repeat_end_record, permit, now=now))
    except LedgerError as error:
        message = f"the call is asked about again, but that could not be recorded, so it is not certain: {error}"
        raise LedgerError(message) from None
    finally:
        _remove_repeat(state, permit.digest)
    return permit


def _read_repeat(state: str, digest: str, now: float) -> RepeatPermit | None:
    """Return a permit that counts now: whole, private, within its time, with its record, and not ended after that."""
    try:
        permit = RepeatPermit.parse(read_own_json(f"{state}/{_FOLDER}", digest))
    except (TypeError, ValueError):
        return None
    if permit.digest != digest or not permit.counts_at(now):
        return None
    about = {"question": permit.id, "digest": digest, "until": make_timestamp(permit.end)}
    if not is_on_record(state, permit.record, type=REPEAT_TYPE, **about):
        return None
    # The file of a permit that was ended can have been put back.
    later = find_later_records(state, permit.record, permit.id)
    return None if later is None or any(_is_end_of(permit, one) for one in later) else permit


def _is_end_of(permit: RepeatPermit, record: dict[str, Any]) -> bool:
    return record.get("type") == REPEAT_TYPE and record.get("question") == permit.id and not record.get("until")


def _remove_repeat(state: str, name: str) -> None:
    with suppress(OSError):
        os.unlink(f"{state}/{_FOLDER}/{name}{PERMIT_ENDING}")
