"""The result of a record in a few lines: who decided what and why, what the agent got, and what it could not do."""

from __future__ import annotations

from collections.abc import Iterator

from boathook.cli.record_text import describe_other_record, describe_reasons, list_lifted_hooks
from boathook.cli.show import format_count
from boathook.core.verdict import ALLOWED, DENIED_INSTEAD, OK
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.page.markup import Html, make_element
from boathook.page.parts import make_text

_RESULT_WORDS = {"block": "Blocked", "stop": "Stopped", "ask": "Asked", "allow": "Allowed"}
_CHANGED_PARTS = {"tool_input": "the input", "output": "the output", "context": "the context of the model"}


def is_denied_question(record: LedgerRecord) -> bool:
    """Whether hooks wanted to ask, and the call was denied because the agent cannot do that."""
    texts = record.get("degraded") or ()
    return record.get("decision") == "ask" and any(f": {DENIED_INSTEAD}" in text for text in texts)


def make_result(record: LedgerRecord) -> Html | None:
    """Return the result of a record, which a long list of hooks would hide."""
    if record["type"] == END_TYPE:
        return None
    if record["type"] != DISPATCH_TYPE:
        return make_element("div", make_element("p", _start_sentence(describe_other_record(record))), class_="result")
    lines = [make_element("p", make_text(text)) for text in _describe_dispatch(record)]
    degraded = [make_element("li", make_text(text)) for text in record.get("degraded") or ()]
    if degraded:
        lines += [make_element("p", "The agent could not do all of it:"), make_element("ul", degraded)]
    else:
        lines.append(make_element("p", _describe_sent(record), class_="note"))
    return make_element("div", lines, class_="result")


def _describe_dispatch(record: LedgerRecord) -> Iterator[str]:
    decision, reasons = record["decision"], describe_reasons(record)
    deciders, askers = (
        list(dict.fromkeys(run["hook"] for run in record["hooks"] if run["decision"] == word))
        for word in (decision, "ask")
    )
    because = f": {reasons}" if reasons else "."
    lifted = list_lifted_hooks(record)
    if record.get("asked", {}).get("result") == ALLOWED or lifted:
        objections = f" What {', '.join(lifted)} said against it does not count." if lifted else ""
        yield f"{_start_sentence(reasons.removesuffix('.') or 'a person allowed this call')}{objections}"
    elif decision in _RESULT_WORDS and deciders:
        word = "Denied, because the agent cannot ask. Asked" if is_denied_question(record) else _RESULT_WORDS[decision]
        yield f"{word} by {', '.join(deciders)}{because}"
    elif decision in _RESULT_WORDS and askers:
        yield f"{_RESULT_WORDS[decision]} after a question of {', '.join(askers)}{because}"
    elif decision in _RESULT_WORDS:
        yield f"{_RESULT_WORDS[decision]}{because}"
    else:
        yield "No hook objected." if record["hooks"] else "No hook ran."
    if changed := [words for name, words in _CHANGED_PARTS.items() if name in record["changed"]]:
        yield f"Hooks changed {' and '.join(changed)}."
    yield from (
        f"{run['hook']} did not answer ({run['status']}): {run['reason'] or 'no reason is recorded'}"
        for run in record["hooks"]
        if run["status"] != OK
    )
    if missing := [skipped["hook"] for skipped in record["skipped"] if skipped.get("state")]:
        yield f"{format_count(len(missing), 'hook')} did not run: {', '.join(missing)}"


def _describe_sent(record: LedgerRecord) -> str:
    """Return what the agent got, if it could do all of it."""
    parts = [] if record["decision"] == "none" else [f"the decision ({record['decision']})"]
    parts += ["its reasons" if len(record["reasons"]) > 1 else "its reason"] if parts and record["reasons"] else []
    parts += [f"{words} that hooks changed" for name, words in _CHANGED_PARTS.items() if name in record["changed"]]
    *most, last = parts or [""]
    return (
        f"The agent got {', '.join(most)}{' and ' if most else ''}{last}." if parts else "The agent got no objection."
    )


def _start_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
