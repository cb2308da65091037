"""What the ledger keeps of a dispatch: a verdict as plain values, without secrets, and never more than a record may hold."""

from __future__ import annotations

from boathook.core.event import DERIVED, HOST_GUESS, HOST_TOOL
from boathook.core.hashing import sha256
from boathook.core.json_text import canonical_json, dump_line, dumps
from boathook.core.outcome import ABSENT
from boathook.core.text import clean_text
from boathook.core.verdict import FAILED, OK
from boathook.ledger.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from boathook.core.hook import Hook
    from boathook.core.permit import Question, RepeatPermit
    from boathook.core.verdict import Exit, Run, Verdict

    _Fields = dict[str, Any]

RECORD_VERSION = 1
DISPATCH_TYPE, END_TYPE, PRUNED_TYPE = "dispatch", "end", "pruned"
# The agent of records that programs in Python make, with hooks.load(), boathook.load() or a bridge.
PYTHON_AGENT = "python"
# What a person permitted: a call, and a pause of self-protection.
ALLOW_TYPE, UNLOCK_TYPE = "allow", "unlock"
# A question that boathook waits for an answer to, and what became of it.
ASKED_TYPE, ANSWERED_TYPE = "asked", "answered"
# That a person allows a call again for a while.
REPEAT_TYPE = "repeat"
# What a person decided about a hook on the page.
TRUST_TYPE = "trust"
# Where a record is from: a random id of the machine, the version, and the set of hooks that could decide.
MACHINE_FIELDS = ("machine", "boathook", "hook_set")

# the rest of a line is for its link
MAX_RECORD_BYTES = (1 << 16) - 256
_MAX_WHOLE_CHARS = 48 * 1024
_MAX_INPUT_CHARS = 4096
_MAX_TEXT_CHARS = 1024
_MAX_NAME_CHARS = 512
_MAX_ITEMS = 100
# characters of a value that are searched for secrets: less than that is kept
_MAX_SEARCHED_CHARS = 1 << 16
_MAX_SEARCHED_TEXT = 4 * _MAX_TEXT_CHARS


def make_dispatch_record(
    verdict: Verdict,
    around: dict[str, str],
    *,
    time: str,
    seconds: float,
    waited: float | None = None,
    whole: bool = False,
    degraded: Sequence[str] = (),
) -> _Fields:
    """Return the record of an event: `seconds` is the time of its hooks, `waited` that of the agent, if one waits."""
    return _RecordBuilder(verdict, degraded).build(around, time, seconds, waited, whole=whole)


def make_end_record(about: _Fields, end: Exit, *, id: str, time: str) -> _Fields:  # noqa: A002
    status = end.error or (OK if end.code in (0, 2) else FAILED)
    record = {"v": RECORD_VERSION, "id": id, "time": time, "type": END_TYPE}
    record |= {key: _shorten_name(text) for key, text in about.items()}
    if "session" in record:
        record["session"] = _shorten_name(str(redact(about["session"][:_MAX_SEARCHED_TEXT])))
    record |= {"status": status, "exit": end.code, "ms": _to_ms(end.seconds)}
    if end.detail:
        record["detail"] = _shorten(redact(clean_text(end.detail)), _MAX_TEXT_CHARS)
    return record


def make_pruned_record(names: list[str], before: int, *, id: str, time: str) -> _Fields:  # noqa: A002
    segments = names[:_MAX_ITEMS]
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": PRUNED_TYPE, "segments": segments, "before": before}


def make_allow_record(question: Question, *, id: str, time: str, until: str, factor: str) -> _Fields:  # noqa: A002
    """Return the record of a person's permission; the whole call is in the record of its question."""
    about = _describe_question(question) | {"until": until, "factor": factor}
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": ALLOW_TYPE, **about}


def make_repeat_record(question: Question, *, id: str, time: str, until: str) -> _Fields:  # noqa: A002
    """Return the record that a person allows a call again until then."""
    about = _describe_question(question) | {"until": until}
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": REPEAT_TYPE, **about}


def make_repeat_end_record(permit: RepeatPermit, *, id: str, time: str) -> _Fields:  # noqa: A002
    """Return the record that a person ended a permit for a call; what the call is, is in the record of its question."""
    unknown = dict.fromkeys(("host", "session", "project", "event", "tool", "until"), "")
    about = {**unknown, "question": permit.id, "digest": permit.digest}
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": REPEAT_TYPE, **about}


def make_asked_record(question: Question, *, id: str, time: str, until: str) -> _Fields:  # noqa: A002
    """Return the record of a question that boathook waits for an answer to; the whole call is in that of the dispatch."""
    about = _describe_question(question) | {"until": until}
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": ASKED_TYPE, **about}


def make_answered_record(
    question: Question,
    seconds: float,
    refusals: tuple[str, ...],
    *,
    id: str,  # noqa: A002
    time: str,
    result: str,
    via: str,
) -> _Fields:
    """Return the record of what became of a question: a person's answer, or that there was none.

    `refusals` are the reasons why processes that answered it may not do that.
    """
    about = _describe_question(question) | {"result": result, "via": via, "ms": _to_ms(seconds)}
    if refusals:
        about["refused"] = [_shorten_name(text) for text in refusals[:_MAX_ITEMS]]
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": ANSWERED_TYPE, **about}


def _clean_input(tool_input: Any) -> Any:
    """Return an input without secrets, as text if it is long."""
    text = dumps(tool_input)
    if len(text) <= _MAX_INPUT_CHARS:
        return redact(tool_input)
    return str(redact(text[:_MAX_SEARCHED_CHARS]))[:_MAX_INPUT_CHARS]


def _describe_question(question: Question) -> _Fields:
    texts = {key: getattr(question, key) for key in ("host", "session", "project", "event", "tool")}
    clean = {key: _shorten_name(str(redact(text[:_MAX_SEARCHED_TEXT]))) for key, text in texts.items()}
    hooks = [_shorten_name(objection.hook) for objection in question.objections[:_MAX_ITEMS]]
    # The call is in each of its records, so that a list can show what an answer was about.
    call = {"asking": hooks, "input": _clean_input(question.tool_input)}
    return {**clean, "question": question.id, "digest": question.digest, **call}


def make_trust_record(
    project: str,
    hook: str,
    decision: str,
    *,
    id: str,  # noqa: A002
    time: str,
    digest: str,
    via: str,
) -> _Fields:
    """Return the record of a person's decision about a hook; `digest` is of the bytes that are trusted."""
    about = {"project": project, "hook": _shorten_name(hook), "decision": decision, "digest": digest, "via": via}
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": TRUST_TYPE, **about}


def make_unlock_record(until: str, *, id: str, time: str) -> _Fields:  # noqa: A002
    """Return the record of a pause of self-protection; `until` is "" if a pause was ended."""
    return {"v": RECORD_VERSION, "id": id, "time": time, "type": UNLOCK_TYPE, "until": until}


def must_sync(record: _Fields) -> bool:
    """Whether a record must be on the disk before anything goes on: a refusal or a change."""
    changed: _Fields = record.get("changed") or {}
    return record.get("decision") in ("block", "stop") or "tool_input" in changed or "output" in changed


class _RecordBuilder:
    def __init__(self, verdict: Verdict, degraded: Sequence[str]) -> None:
        self.verdict, self.degraded = verdict, degraded[:_MAX_ITEMS]
        self.was_cut = False

    def build(self, around: dict[str, str], time: str, seconds: float, waited: float | None, *, whole: bool) -> _Fields:
        verdict, original = self.verdict, self.verdict.original
        clean: Any = redact(self._collect(whole=whole))
        if isinstance(clean, str):
            clean = self._collect_placeholders(clean)
        tool_input, folder = original.data.get("tool_input"), around.get("folder", "")
        record: _Fields = {
            "v": RECORD_VERSION,
            "id": verdict.id,
            "time": time,
            "type": DISPATCH_TYPE,
            "host": around["host"],
            "session": _shorten_name(clean["session"]),
            "project": _shorten_name(around["project"]),
            # Where it happened, if that says more than the project: most folders have no hooks of their own.
            **({"folder": _shorten_name(folder)} if folder not in ("", around["project"]) else {}),
            # Which way the event of an agent was answered: by a fork of the resident, or by a process of its own.
            **({"path": around["path"]} if "path" in around else {}),
            "event": original.kind.name,
            "tool": _shorten_name(clean["tool"]),
            **({"tool_use_id": _shorten_name(clean["call"])} if clean["call"] else {}),
            "input_sha256": None if tool_input is None else hash_value(tool_input),
            "input": None if tool_input is None else self._limit(clean["input"], _MAX_INPUT_CHARS),
            "decision": verdict.decision.word,
            "reasons": [self._limit_text(text) for text in clean["reasons"]],
            "changed": self._describe_changes(clean["rewritten"], clean["contexts"]),
            "ms": _to_ms(seconds),
            **({} if waited is None else {"waited_ms": round(waited * 1000)}),
            "hooks": [self._describe_run(run, texts) for run, texts in zip(verdict.runs, clean["runs"], strict=True)],
            "skipped": [
                {"hook": _shorten_name(skip.subject), "why": self._limit_text(why)}
                | ({"state": skip.state} if skip.state else {})
                for skip, why in zip(verdict.skipped, clean["skips"], strict=True)
            ],
            "background": [{"hook": _shorten_name(one.hook), "pid": one.pid} for one in verdict.background],
            **{key: around[key] for key in MACHINE_FIELDS if around.get(key)},
        }
        self._add_rare_fields(record, clean)
        if whole:
            record["whole"] = self._limit(clean["whole"], _MAX_WHOLE_CHARS)
        if self.was_cut:
            record["cut"] = True
        return fit_record(record)

    def _add_rare_fields(self, record: _Fields, clean: _Fields) -> None:
        """Add what most records do not have."""
        verdict, original = self.verdict, self.verdict.original
        if self.degraded:
            record["degraded"] = [self._limit_text(text) for text in clean["degraded"]]
        if verdict.asked[0]:
            record["asked"] = {"question": verdict.asked[0], "result": verdict.asked[1]}
        if verdict.lifted:
            record["lifted"] = [self._limit_text(text) for text in clean["lifted"]]
        if clean["derived"]:
            record["derived"] = _shorten_name(clean["derived"])
        if clean["called"]:
            # What the program calls the tool, under a key that says whether ours is a guess.
            record["guessed" if original.data[HOST_GUESS] else "called"] = _shorten_name(clean["called"])

    def _collect(self, *, whole: bool) -> _Fields:
        verdict, original, runs_budget = self.verdict, self.verdict.original, [4 * _MAX_SEARCHED_CHARS]
        call_id = original.data.get("tool_use_id")
        values = {
            "input": original.data.get("tool_input"),
            "rewritten": verdict.modified_input,
            "whole": original.to_fields() if whole else None,
        }
        return {
            "session": original.session_id[:_MAX_SEARCHED_TEXT],
            "tool": original.tool_name[:_MAX_SEARCHED_TEXT],
            "call": call_id[:_MAX_SEARCHED_TEXT] if isinstance(call_id, str) else "",
            "derived": str(original.data.get(DERIVED) or "")[:_MAX_SEARCHED_TEXT],
            "called": str(original.data.get(HOST_TOOL) or "")[:_MAX_SEARCHED_TEXT]
            if HOST_GUESS in original.data
            else "",
            **{key: self._trim(value, [_MAX_SEARCHED_CHARS]) for key, value in values.items()},
            "reasons": self._trim_texts(verdict.reasons, [_MAX_SEARCHED_CHARS]),
            "runs": [
                self._trim_texts((_find_reason(run), _find_unsaid_stderr(run), *run.notes[:_MAX_ITEMS]), runs_budget)
                for run in verdict.runs
            ],
            "skips": self._trim_texts([skip.reason for skip in verdict.skipped], [_MAX_SEARCHED_CHARS]),
            "degraded": self._trim_texts(self.degraded, [_MAX_SEARCHED_CHARS]),
            "lifted": self._trim_texts(verdict.lifted, [_MAX_SEARCHED_CHARS]),
            "contexts": self._trim_texts(verdict.outcome.contexts[:_MAX_ITEMS], [_MAX_SEARCHED_CHARS]),
        }

    def _collect_placeholders(self, placeholder: str) -> _Fields:
        """Return a placeholder for each value, because they could not be searched."""
        verdict = self.verdict
        texts = ("session", "tool", "input", "rewritten", "whole")
        lists = {
            "reasons": verdict.reasons,
            "skips": verdict.skipped,
            "degraded": self.degraded,
            "lifted": verdict.lifted,
            "contexts": verdict.outcome.contexts[:_MAX_ITEMS],
        }
        return {
            **dict.fromkeys(texts, placeholder),
            "derived": placeholder if verdict.original.data.get(DERIVED) else "",
            "called": "",
            "call": "",
            **{key: [placeholder for _ in items] for key, items in lists.items()},
            "runs": [[placeholder, placeholder if run.stderr else ""] for run in verdict.runs],
        }

    def _trim_texts(self, texts: Sequence[str], budget: list[int]) -> list[str]:
        trimmed: list[str] = []
        for text in texts:
            start = text[: max(0, min(_MAX_SEARCHED_TEXT, budget[0]))]
            budget[0] -= len(start)
            self.was_cut = self.was_cut or len(start) < len(text)
            trimmed.append(start)
        return trimmed

    def _trim(self, value: Any, budget: list[int]) -> Any:
        if isinstance(value, str):
            text, budget[0] = value[: max(budget[0], 0)], budget[0] - len(value)
            self.was_cut = self.was_cut or len(text) < len(value)
            return text
        if isinstance(value, dict | list | tuple):
            container: Any = value  # pyright: ignore[reportUnknownVariableType]
            items: Any = container.items() if isinstance(value, dict) else enumerate(container)
            trimmed: dict[Any, Any] = {}
            for key, inner in items:
                budget[0] -= 4 + (len(key) if isinstance(key, str) else 0)
                if budget[0] <= 0:
                    self.was_cut = True
                    break
                trimmed[key] = self._trim(inner, budget)
            return trimmed if isinstance(value, dict) else list(trimmed.values())
        budget[0] -= 8
        return value

    def _limit(self, value: Any, limit: int) -> Any:
        text = dumps(value)
        if len(text) <= limit:
            return value
        self.was_cut = True
        return _shorten(text, limit)

    def _limit_text(self, text: str) -> str:
        self.was_cut = self.was_cut or len(text) > _MAX_TEXT_CHARS
        return _shorten(clean_text(text), _MAX_TEXT_CHARS)

    def _describe_changes(self, rewritten: Any, contexts: list[str]) -> _Fields:
        verdict = self.verdict
        changes: _Fields = {}
        if verdict.modified_input is not None:
            changes["tool_input"] = {
                "before": hash_value(verdict.original.tool_input),
                "after": hash_value(verdict.modified_input),
                "input": self._limit(rewritten, _MAX_INPUT_CHARS),
            }
        if verdict.outcome.output is not ABSENT:
            changes["output"] = {"after": hash_value(verdict.outcome.output)}
        if verdict.outcome.contexts:
            changes["context"] = len(verdict.outcome.contexts)
            changes["context_texts"] = [self._limit_text(text) for text in contexts]
        return changes

    def _describe_run(self, run: Run, texts: list[str]) -> _Fields:
        hook, fields = run.hook, run.to_json()
        reason, stderr, *notes = texts
        approval = getattr(getattr(hook, "approval", None), "digest", "")
        return {
            "hook": _shorten_name(hook.name),
            "scope": hook.scope,
            "source": hook.source,
            "path": _shorten_name(hook.path),
            "status": run.status,
            "exit": run.code,
            "ms": fields["duration_ms"],
            "decision": fields["decision"],
            "reason": self._limit_text(reason) if reason else None,
            **({"stderr": self._limit_text(stderr)} if stderr else {}),
            "look": run.look_number,
            **({"file": _shorten_name(str(redact(run.file)))} if run.file else {}),
            "matched": _describe_matcher(hook),
            "notes": [self._limit_text(text) for text in notes],
            **({"approval": approval} if approval else {}),
            **({"allowed": run.allowed} if run.allowed else {}),
        }


def _find_reason(run: Run) -> str:
    return run.outcome.reason or run.error


def _find_unsaid_stderr(run: Run) -> str:
    """Return what a hook printed to stderr, "" if the record has that anyway: stderr is in the reason of most blocks."""
    has_text = run.stderr and not any(run.stderr in text for text in (_find_reason(run), *run.notes))
    return run.stderr if has_text else ""


def _describe_matcher(hook: Hook) -> _Fields:
    matcher = hook.matcher
    fields: _Fields = {"event": hook.trigger}
    if matcher.tool is not None:
        fields["tool"] = _shorten(matcher.tool.display_text, _MAX_NAME_CHARS)
    if matcher.tool_kinds:
        fields["kind"] = ", ".join(matcher.tool_kinds)
    if matcher.pattern is not None:
        fields["pattern"] = _shorten(matcher.pattern.display_text, _MAX_NAME_CHARS)
    return fields | {name: _shorten(one.display_text, _MAX_NAME_CHARS) for name, one in matcher.fields}


def hash_value(value: Any) -> str:
    try:
        return sha256(canonical_json(value)).hexdigest()
    except (ValueError, TypeError, RecursionError):
        return ""


def _shorten_name(text: str) -> str:
    return _shorten(text, _MAX_NAME_CHARS)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut, {len(text):,} characters]"


def _to_ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def fit_record(record: _Fields, limit: int = MAX_RECORD_BYTES) -> _Fields:
    """Return a record that fits into a line: details are dropped, the least important first, until it does."""
    if len(dump_line(record)) <= limit:
        return record
    record = {**record, "cut": True}
    for drop in (_drop_whole, _drop_inputs, _drop_texts, _drop_hooks, _drop_all_hooks):
        record = drop(record)
        if len(dump_line(record)) <= limit:
            break
    return record


def _drop_whole(record: _Fields) -> _Fields:
    return {key: value for key, value in record.items() if key != "whole"}


def _drop_inputs(record: _Fields) -> _Fields:
    changed = dict(record.get("changed") or {})
    if "tool_input" in changed:
        changed["tool_input"] = {key: value for key, value in changed["tool_input"].items() if key != "input"}
    return {**record, "input": None, "changed": changed}


def _drop_texts(record: _Fields) -> _Fields:
    none: _Fields = {"notes": [], "matched": {}}
    shorter_runs = ({**run, **none, "reason": _shorten(run["reason"] or "", 80)} for run in record["hooks"])
    hooks = [{key: value for key, value in run.items() if key != "stderr"} for run in shorter_runs]
    skipped = [{**skip, "why": _shorten(skip["why"], 80)} for skip in record["skipped"]]
    shorter = {**record, "hooks": hooks, "skipped": skipped, "reasons": record["reasons"][:10]}
    if "context_texts" in record["changed"]:
        texts = [_shorten(text, 80) for text in record["changed"]["context_texts"][:10]]
        shorter["changed"] = {**record["changed"], "context_texts": texts}
    if "degraded" in record:
        shorter["degraded"] = [_shorten(text, 80) for text in record["degraded"][:10]]
    return shorter


def _drop_hooks(record: _Fields) -> _Fields:
    deciding = [run for run in record["hooks"] if run["decision"] == record["decision"]][:10]
    others = [run for run in record["hooks"] if run not in deciding][: 30 - len(deciding)]
    kept = [run for run in record["hooks"] if run in deciding or run in others]
    totals = {name: len(record[name]) for name in ("hooks", "skipped", "background")}
    few = {"hooks": kept, "skipped": record["skipped"][:10], "background": record["background"][:10]}
    return {**record, **few, "totals": totals}


def _drop_all_hooks(record: _Fields) -> _Fields:
    reasons = [_shorten(text, 80) for text in record["reasons"][:3]]
    return {**record, "reasons": reasons, "hooks": [], "skipped": [], "background": [], "changed": {}}
