"""What a person can decide on the page, as rows: the word of a button, and the function that makes the decision from its fields.

Each is bound to the digest that was shown, and does what the command does, by the same functions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from boathook.cli.call_review import describe_call, describe_objections
from boathook.cli.record_text import format_clock, name_agent
from boathook.cli.trust_decisions import describe_denial, describe_extent, save_denial, save_trust
from boathook.cli.trust_review import TrustCandidate, make_review
from boathook.core.approval import DENY, TRUST
from boathook.core.text import reveal_text
from boathook.core.waiting_question import BY_PAGE, PersonAnswer, WaitingQuestion
from boathook.errors import ConfigError
from boathook.ledger.record import make_trust_record
from boathook.ledger.writer import Ledger, make_local_record
from boathook.page.hook_reviews import describe_refused_trust, find_waiting_hook
from boathook.page.person_check import DecisionResult, PageDecision, PersonProof
from boathook.permits.factors import describe_wish
from boathook.permits.repeat_permits import write_repeat
from boathook.permits.waiting_questions import describe_waiting_call, read_waiting, send_answer
from boathook.trust.store import TrustStore

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext

ALLOW_CALL, DENY_CALL, TRUST_HOOK, DENY_HOOK = "allow-call", "deny-call", "trust-hook", "deny-hook"
# The fields of every decision: its word, what it is about, the digest that was shown, and the project of a hook.
DECISION_FIELDS = ("decision", "about", "digest", "project")
_CHANGED = "it has changed since this screen was shown. Look at it again, then decide"


def _make_answer(context: PageContext, fields: Mapping[str, str], *, is_yes: bool) -> PageDecision:
    waiting = read_waiting(context.state, fields["about"])
    if waiting is None:
        raise ConfigError("nothing was answered: the call does not wait for an answer any more")
    question = waiting.question
    if waiting.digest != fields["digest"]:
        raise ConfigError(f"nothing was answered: {_CHANGED}")
    lines = tuple(text for text, _ in (*describe_call(question), *describe_objections(question, "")))
    return PageDecision(
        "Allow this call" if is_yes else "Deny this call",
        lines,
        describe_wish(question),
        partial(_send_answer, context, waiting, is_yes),
        is_passed_on=is_yes,
        needs_factor=is_yes and question.needs_factor,
        about=f"{describe_waiting_call(waiting)} ({name_agent(question.host)}, session {reveal_text(question.session) or '-'})",
    )


def _send_answer(context: PageContext, waiting: WaitingQuestion, is_yes: bool, proof: PersonProof) -> DecisionResult:  # noqa: FBT001
    answer = PersonAnswer(waiting.id, waiting.digest, is_yes, BY_PAGE, proof.checked, proof.factor)
    result = send_answer(context.state, waiting, answer)
    if not result.is_taken:
        return DecisionResult(is_done=False, message=f"Nothing was answered: {result.reason}.")
    if not is_yes:
        return DecisionResult(is_done=True, message="You denied this call.")
    repeat = None if waiting.question.needs_factor else partial(_allow_again, context, waiting)
    return DecisionResult(is_done=True, message="You allowed this call.", repeat=repeat)


def _allow_again(context: PageContext, waiting: WaitingQuestion) -> str:
    permit = write_repeat(context.state, waiting.question, describe_waiting_call(waiting), time.time())
    return f"This very call is allowed again until {format_clock(permit.end)}. Each use is recorded."


def _make_trust(context: PageContext, fields: Mapping[str, str]) -> PageDecision:
    candidate, store = _find_shown_hook(context, fields)
    if problem := describe_refused_trust(candidate, make_review(candidate, store)):
        raise ConfigError(f"nothing was trusted: {problem}")
    replaces = ", and let it replace your own hook" if candidate.is_override else ""
    wish = f"Trust {candidate.hook.name}{replaces}"
    about = wish, _describe_hook(candidate), _describe_wish(wish, candidate)
    return PageDecision(*about, lambda _: _save_trust(context, candidate, store))


def _save_trust(context: PageContext, candidate: TrustCandidate, store: TrustStore) -> DecisionResult:
    content = candidate.content
    if content is None:
        return DecisionResult(is_done=False, message=f"Nothing was trusted: {candidate.error}.")
    _record_decision(context, candidate, TRUST, content.digest)
    record = save_trust(candidate, content, store)
    message = f"{candidate.hook.name} is trusted: exactly these bytes, {describe_extent(record)}."
    return DecisionResult(is_done=True, message=message)


def _make_denial(context: PageContext, fields: Mapping[str, str]) -> PageDecision:
    candidate, store = _find_shown_hook(context, fields)
    wish = f"Never run {candidate.hook.name}"

    def deny(_: PersonProof) -> DecisionResult:
        _record_decision(context, candidate, DENY, "")
        return DecisionResult(is_done=True, message=f"{describe_denial(save_denial(candidate, store))}.")

    return PageDecision(wish, _describe_hook(candidate), _describe_wish(wish, candidate), deny)


def _find_shown_hook(context: PageContext, fields: Mapping[str, str]) -> tuple[TrustCandidate, TrustStore]:
    """Return a hook as it is now, with its bytes; ConfigError if it is not the one that was shown."""
    candidate, store = find_waiting_hook(context, fields["project"], fields["about"])
    digest = candidate.content.digest if candidate.content is not None else ""
    if digest != fields["digest"]:
        raise ConfigError(f"nothing was decided: {_CHANGED}")
    return candidate, store


def _describe_wish(wish: str, candidate: TrustCandidate) -> str:
    """Return what a program asks about a hook: which one it is, and exactly which bytes."""
    return "\n".join((reveal_text(f"{wish}?"), *map(reveal_text, _list_hook_facts(candidate))))


def _describe_hook(candidate: TrustCandidate) -> tuple[str, ...]:
    name = candidate.hook.name
    return ("", f"{name}, a hook that waits for your review. The page shows all of it.", *_list_hook_facts(candidate))


def _list_hook_facts(candidate: TrustCandidate) -> tuple[str, ...]:
    hook, content = candidate.hook, candidate.content
    facts = {
        "file": hook.path,
        "project": candidate.place.project,
        "runs at": hook.trigger,
        "digest": content.digest if content is not None else "-",
    }
    return tuple(f"  {label:9} {text}" for label, text in facts.items())


def _record_decision(context: PageContext, candidate: TrustCandidate, decision: str, digest: str) -> None:
    """Record what a person decides; LedgerError if that is impossible, and then nothing is decided."""
    about = make_trust_record, candidate.place.project, candidate.hook.name, decision
    Ledger(context.state).append_required(make_local_record(context.state, *about, via=BY_PAGE, digest=digest))


DECISION_ROWS: dict[str, Callable[[PageContext, Mapping[str, str]], PageDecision]] = {
    ALLOW_CALL: partial(_make_answer, is_yes=True),
    DENY_CALL: partial(_make_answer, is_yes=False),
    TRUST_HOOK: _make_trust,
    DENY_HOOK: _make_denial,
}
