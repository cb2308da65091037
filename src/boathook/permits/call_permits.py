"""Open questions and permits: private files in the state folder. A permit is taken by one call, whoever else asks for it."""

from __future__ import annotations

import os
import stat
import time

from boathook.core.json_text import JsonError, decode, dump_line, loads
from boathook.core.permit import PERMIT_SECONDS, CallObjections, CallPermit, Question, UsedPermit, make_question
from boathook.ledger.writer import Ledger, make_local_record, make_timestamp
from boathook.system.files import FileError, is_private, read_regular, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from boathook.core.event import Event

MAX_QUESTIONS = 64
_FEW_FILES = 16
# A longer call cannot be reviewed by reading it in a terminal.
MAX_QUESTION_BYTES = 256 << 10
PERMIT_ENDING = ".json"
_QUESTIONS, _PERMITS = "questions", "permits"
# What a record has if some of its hooks are left out.
_CUT_FIELD = "totals"
_HEX_DIGITS = frozenset("0123456789abcdef")
# An event that is nested as deep as allowed is in a field of a question.
_MAX_DEPTH = 1024


class PermitStore:
    """The questions and permits of one host and project."""

    def __init__(
        self, state: str, origin: dict[str, str], factor: str = "", now: Callable[[], float] = time.time
    ) -> None:
        """`factor` identifies the second factor that is set here (see `Settings.factor_id`)."""
        self._state, self._origin, self._factor, self._now = state, origin, factor, now
        # Of calls whose hooks are asked in several parts, as in-process hooks cut them: by the host's number of the call.
        self._taken: dict[tuple[str, str], UsedPermit] = {}

    def open_call(self, event: Event) -> CallObjections:
        question = make_question(event, self._origin["host"], self._origin["project"], self._now())
        call_id = event.data.get("tool_use_id")
        name = f"{event.session_id} {call_id}" if isinstance(call_id, str) and call_id else ""
        return CallObjections(question, lambda digest: self._take(digest, name))

    def _take(self, digest: str, call: str) -> UsedPermit | None:
        permit = take_permit(self._state, digest, self._now())
        if permit is None:
            known = self._taken.get((digest, call)) if call else None
            return known if known is not None and known.permit.counts_at(self._now()) else None
        # The command may have read another hooks.toml than this process.
        if not permit.has_factor(self._factor):
            return None
        used = UsedPermit(permit)
        # The last one is enough: the parts of a call come one after the other.
        self._taken = {(digest, call): used} if call else {}
        return used

    def write_question(self, question: Question) -> bool:
        """Keep a question for `boathook allow`; return whether it can be answered there."""
        data = dump_line(question.to_json())
        if len(data) > MAX_QUESTION_BYTES:
            return False
        folder = f"{self._state}/{_QUESTIONS}"
        write_private(f"{folder}/{question.id}{PERMIT_ENDING}", data)
        _remove_old(folder, self._now(), MAX_QUESTIONS)
        return True


def list_questions(state: str, now: float, prefix: str = "") -> list[Question]:
    """Return the open questions whose ids start with a prefix, the newest first."""
    names = [name for name in list_permit_names(f"{state}/{_QUESTIONS}") if name.startswith(prefix)]
    questions = [question for name in names if (question := read_question(state, name, now)) is not None]
    return sorted(questions, key=lambda question: -question.time)


def read_question(state: str, record_id: str, now: float) -> Question | None:
    """Return a question that is still open, or None."""
    if not record_id or not _HEX_DIGITS.issuperset(record_id):
        return None
    fields = read_own_json(f"{state}/{_QUESTIONS}", record_id)
    try:
        question = Question.parse(fields)
    except (TypeError, ValueError):
        return None
    return question if question.id == record_id and question.time <= now < question.time + PERMIT_SECONDS else None


def write_permit(state: str, question: Question, now: float, factor: str = "") -> CallPermit:
    """Permit the call of a question, and close the question; `factor` identifies the second factor that was checked.

    LedgerError if that cannot be recorded, OSError if the permit cannot be written; then nothing is permitted.
    """
    from boathook.ledger.record import make_allow_record

    end = now + PERMIT_SECONDS
    # First the record: without it, no permit counts.
    record = make_local_record(state, make_allow_record, question, now=now, until=make_timestamp(end), factor=factor)
    place = Ledger(state).append_required(record)
    permit = CallPermit(question.id, question.digest, now, end, place.to_text(), question.objections, factor)
    data = dump_line(permit.to_json())
    folder = f"{state}/{_PERMITS}"
    write_private(f"{folder}/{permit.digest}{PERMIT_ENDING}", data)
    _remove_old(folder, now, MAX_QUESTIONS)
    _remove(f"{state}/{_QUESTIONS}/{question.id}{PERMIT_ENDING}")
    # A person is there: questions of this session are asked again.
    from boathook.process.sessions import Sessions

    Sessions(f"{state}/sessions").forget_unanswered(question.asker)
    return permit


def find_open_permit(state: str, prefix: str, now: float) -> CallPermit | None:
    """Return a permit that was not used yet, by the beginning of the id of its question; None if there is none that counts."""
    folder = f"{state}/{_PERMITS}"
    for name in list_permit_names(folder):
        permit = _parse_permit(read_own_json(folder, name))
        if permit is not None and prefix and permit.id.startswith(prefix) and permit.digest == name:
            return permit if _counts(state, permit, now) else None
    return None


def take_permit(state: str, digest: str, now: float) -> CallPermit | None:
    """Return the permit for a call and remove it, so that no other call has it; None if there is none that counts."""
    folder = f"{state}/{_PERMITS}"
    mine = f"{digest}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        # Of several processes only one can do this. If it is killed after it, the permit is gone, and the call is refused.
        os.rename(f"{folder}/{digest}{PERMIT_ENDING}", f"{folder}/{mine}{PERMIT_ENDING}")
    except OSError:
        return None
    try:
        permit = _parse_permit(read_own_json(folder, mine))
    finally:
        _remove(f"{folder}/{mine}{PERMIT_ENDING}")
    return permit if permit is not None and permit.digest == digest and _counts(state, permit, now) else None


def _parse_permit(fields: Any) -> CallPermit | None:
    try:
        return CallPermit.parse(fields)
    except (TypeError, ValueError):
        return None


def _counts(state: str, permit: CallPermit, now: float) -> bool:
    """Whether a permit counts now: within its time, with its record in the ledger, and without one of its use after that."""
    if not permit.counts_at(now):
        return False
    from boathook.ledger.find_record import find_later_records, is_on_record
    from boathook.ledger.record import ALLOW_TYPE

    about = {
        "question": permit.id,
        "digest": permit.digest,
        "until": make_timestamp(permit.end),
        "factor": permit.factor,
    }
    if not is_on_record(state, permit.record, type=ALLOW_TYPE, **about):
        return False
    # The file of a used permit can have been put back.
    later = find_later_records(state, permit.record, permit.id, _CUT_FIELD)
    return later is not None and not any(_may_use(one, permit.id) for one in later)


def _may_use(record: dict[str, Any], permit_id: str) -> bool:
    """Whether a record is of a call that used a permit, or can be: one that was too long does not have all hooks."""
    return _CUT_FIELD in record or any(run.get("allowed") == permit_id for run in record.get("hooks") or ())


def read_own_json(folder: str, name: str) -> Any:
    """Return the JSON of a file that only the user can have written; None for any other."""
    path = f"{folder}/{name}{PERMIT_ENDING}"
    try:
        if not is_private(os.lstat(folder), stat.S_IFDIR) or not is_private(os.lstat(path), stat.S_IFREG):
            return None
        return loads(decode(read_regular(path, MAX_QUESTION_BYTES * 2)), _MAX_DEPTH)
    except (OSError, FileError, JsonError, ValueError):
        return None


def list_permit_names(folder: str) -> list[str]:
    try:
        return [name.removesuffix(PERMIT_ENDING) for name in sorted(os.listdir(folder)) if name.endswith(PERMIT_ENDING)]
    except OSError:
        return []


def _remove_old(folder: str, now: float, limit: int) -> None:
    """Remove files that are too old to count, and the oldest of too many; not each time, but never leave more than the limit."""
    names = os.listdir(folder)
    # To look at each takes longer than to write one, and those that are too old count no more in any case.
    if len(names) <= limit and len(names) % _FEW_FILES:
        return
    ages: list[tuple[float, str]] = []
    for name in names:
        path = f"{folder}/{name}"
        try:
            changed = os.lstat(path).st_mtime
        except OSError:
            continue
        if changed < now - PERMIT_SECONDS:
            _remove(path)
        elif name.endswith(PERMIT_ENDING):
            ages.append((changed, path))
    if len(ages) > limit:
        # Some more, so that the next ones need no look.
        for _, path in sorted(ages)[: len(ages) - limit + _FEW_FILES]:
            _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
