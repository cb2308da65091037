"""What is said once in a session: to the person what waits for a review and near misses, to the model what is hidden."""

from __future__ import annotations

from boathook.core.event import PRE_SESSION
from boathook.core.notices import (
    FAILED_COUNT,
    GONE_COUNT,
    NEAR_MISS_COUNT,
    PERSON_NOTICE,
    REMOVED_COUNT,
    UNTRUSTED_COUNT,
    WAITING_NOTICE,
    describe_counts,
    describe_waiting,
)
from boathook.core.outcome import Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text, reveal_text
from boathook.core.verdict import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from boathook.core.verdict import Verdict
    from boathook.dialects.dialect import HostDialect
    from boathook.process.sessions import Sessions


def add_session_notices(
    verdict: Verdict, counts: Mapping[str, int], dialect: HostDialect, sessions: Sessions
) -> tuple[Verdict, str]:
    """Return a verdict with what was not said in its session yet, and the lines for stderr, or ""."""
    # An event without a session counts as a session of its own.
    session = verdict.original.session_id
    reported, new = sessions.load_reported(session), set[str]()
    notices = dict[str, str]()
    if verdict.original.kind is PRE_SESSION and counts.get(UNTRUSTED_COUNT) and not dialect.hides_messages:
        # Those that are for this event are named in a message of their own, which says the same.
        is_said = any(skip.count_name == UNTRUSTED_COUNT for skip in verdict.skipped)
        notices[WAITING_NOTICE] = "" if is_said else describe_waiting(counts[UNTRUSTED_COUNT])
    if counts.get(NEAR_MISS_COUNT):
        notices[PERSON_NOTICE] = describe_counts({NEAR_MISS_COUNT: counts[NEAR_MISS_COUNT]})
    new |= notices.keys() - reported
    messages = tuple([text for name, text in notices.items() if text and name in new])
    if messages and not dialect.shows_stderr:
        verdict = verdict.replace(outcome=verdict.outcome | Outcome(messages=messages))
    if dialect.hides_messages:
        verdict, reported_to_model = _tell_model(verdict, counts, dialect, sessions)
        new |= reported_to_model
    if dialect.hides_reasons:
        verdict = _pass_on_refusal(verdict, dialect, sessions)
    if new - reported:
        sessions.note_reported(session, frozenset(new))
    return verdict, "\n".join(messages)


def add_unlock_notice(verdict: Verdict, state: str, dialect: HostDialect, sessions: Sessions) -> tuple[Verdict, str]:
    """Say once in a session, to the person and to the model, that self-protection is paused; remove a pause that is over."""
    from boathook.ledger.writer import make_timestamp
    from boathook.permits.unlock import read_unlock_end, remove_unlock

    end = read_unlock_end(state)
    if not end:
        remove_unlock(state)
        return verdict, ""
    session, message = verdict.original.session_id, ""
    told = sessions.load_reported(session)
    # Each pause is said again.
    for_person, for_model = (f"unlocked-{int(end)}-{reader}" for reader in ("person", "model"))
    text, new = f"self-protection is paused by the person until {make_timestamp(end)[11:16]} UTC", set[str]()
    if for_person not in told:
        new.add(for_person)
        message = f"{text}. To end the pause: boathook unlock --end"
        if not dialect.shows_stderr:
            verdict = verdict.replace(outcome=verdict.outcome | Outcome(messages=(message,)))
    if for_model not in told and dialect.can_add_context(verdict):
        new.add(for_model)
        verdict = verdict.replace(outcome=verdict.outcome | Outcome(contexts=(f"boathook: {text}",)))
    if new:
        sessions.note_reported(session, frozenset(new))
    return verdict, message


def _tell_model(
    verdict: Verdict, counts: Mapping[str, int], dialect: HostDialect, sessions: Sessions
) -> tuple[Verdict, set[str]]:
    session = verdict.original.session_id
    reported = sessions.load_reported(session)
    all_counts = {**counts, FAILED_COUNT: 0}
    skipped = sum(skip.count_name == UNTRUSTED_COUNT for skip in verdict.skipped)
    all_counts[UNTRUSTED_COUNT] = max(all_counts.get(UNTRUSTED_COUNT, 0), skipped)
    # A hook that disappeared in this session is reported at every event that it would have seen.
    all_counts[REMOVED_COUNT] = sum(skip.count_name == REMOVED_COUNT for skip in verdict.skipped)
    all_counts[GONE_COUNT] = max(all_counts.get(GONE_COUNT, 0) - all_counts[REMOVED_COUNT], 0)
    if FAILED_COUNT not in reported:
        all_counts[FAILED_COUNT] = sessions.count_failures(session, _count_failures(verdict))
    unreported = {name: count for name, count in all_counts.items() if count and name not in reported}
    if not unreported or not dialect.can_add_context(verdict):
        return verdict, set()
    text = f"boathook: {describe_counts(unreported, for_model=True)}"
    sessions.forget_failures(session)
    return verdict.replace(outcome=verdict.outcome | Outcome(contexts=(text,))), set(unreported) - {REMOVED_COUNT}


def _pass_on_refusal(verdict: Verdict, dialect: HostDialect, sessions: Sessions) -> Verdict:
    """Remember why a call is refused, or tell the model why the last one was."""
    event = verdict.event
    # A question is a refusal there.
    if verdict.decision >= Decision.ASK and event.kind.is_pre and event.kind.has_tool:
        reason = clean_text("\n".join(verdict.reasons), MAX_REASON_CHARS)
        sessions.note_refusal(verdict.original.session_id, f"{reveal_text(event.tool_name)}: {reason}")
        return verdict
    refusal = sessions.take_refusal(verdict.original.session_id) if dialect.can_add_context(verdict) else ""
    if not refusal:
        return verdict
    text = f"boathook: the last task ended because hooks refused a call of {refusal}\nTell the person, who was not told why."
    return verdict.replace(outcome=verdict.outcome | Outcome(contexts=(text,)))


def _count_failures(verdict: Verdict) -> int:
    """Return how many hooks failed without an effect; the reason of a block says it otherwise."""
    return sum(run.status != OK and run.outcome.decision < Decision.BLOCK for run in verdict.runs)
