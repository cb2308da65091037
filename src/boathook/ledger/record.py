"""What the ledger keeps of a dispatch: a verdict as plain values, without secrets, and never more than a record may hold."""

from __future__ import annotations

from boathook.core.event import DERIVED
from boathook.core.hashing import hexdigest
from boathook.core.json_text import canonical_json, dump_line, dumps
from boathook.core.matcher import TOOL_NAME
from boathook.core.outcome import ABSENT
from boathook.core.text import clean_text
from boathook.core.verdict import FAILED, OK
from boathook.ledger.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from boathook.core.hook import Hook
    from boathook.core.verdict import Exit, Run, Verdict

    Fields = dict[str, Any]

VERSION = 1
DISPATCH, END, PRUNED = "dispatch", "end", "pruned"
WHOLE = "whole"

RECORD_LIMIT = (1 << 16) - 256  # bytes of a line; the rest is for its link
WHOLE_LIMIT = 48 * 1024
INPUT_LIMIT = 4096
TEXT_LIMIT = 1024
NAME_LIMIT = 512
LIST_LIMIT = 100
SEARCHED = 1 << 16  # characters of a value that are looked at: what is kept of it is less
TEXT_SEARCHED = 4 * TEXT_LIMIT


def record_of(
    verdict: Verdict,
    around: dict[str, str],
    *,
    time: str,
    seconds: float,
    whole: bool = False,
    degraded: Sequence[str] = (),
) -> Fields:
    """Return the record of a dispatch.

    `around` are host and project, `whole` keeps all fields of the event, `degraded` is what the host could not be told.
    """
    return _Maker(verdict, degraded).record(around, time, seconds, whole=whole)


def end_record(about: Fields, end: Exit, *, id: str, time: str) -> Fields:  # noqa: A002
    """Return the record of the end of an async hook; `about` are hook, event, session, host, project and its dispatch."""
    status = end.error or (OK if end.code in (0, 2) else FAILED)
    made = {"v": VERSION, "id": id, "time": time, "type": END, **{key: _name(text) for key, text in about.items()}}
    if "session" in made:
        made["session"] = _free_name(about["session"])
    made |= {"status": status, "exit": end.code, "ms": _ms(end.seconds)}
    return {**made, "detail": _cut(redact(clean_text(end.detail)), TEXT_LIMIT)} if end.detail else made


def pruned_record(names: list[str], before: int, *, id: str, time: str) -> Fields:  # noqa: A002
    """Return the record of segments that were removed for their size; `before` is the first number that is left."""
    return {"v": VERSION, "id": id, "time": time, "type": PRUNED, "segments": names[:LIST_LIMIT], "before": before}


def must_last(record: Fields) -> bool:
    """Whether a record is to be on the disk before anything goes on: a refusal or a change."""
    changed: Fields = record.get("changed") or {}
    return record.get("decision") in ("block", "stop") or "tool_input" in changed or "output" in changed


class _Maker:
    """Makes one record: first everything free of secrets, then cut to its share."""

    def __init__(self, verdict: Verdict, degraded: Sequence[str]) -> None:
        self.verdict, self.degraded = verdict, degraded[:LIST_LIMIT]
        self.was_cut = False

    def record(self, around: dict[str, str], time: str, seconds: float, *, whole: bool) -> Fields:
        """Return the record."""
        verdict, original = self.verdict, self.verdict.original
        free: Any = redact(self._free(whole=whole))
        if isinstance(free, str):
            free = self._unsearched(free)
        given = original.data.get("tool_input")
        made: Fields = {
            "v": VERSION,
            "id": verdict.id,
            "time": time,
            "type": DISPATCH,
            "host": around["host"],
            "session": _free_name(original.session_id),
            "project": _name(around["project"]),
            "event": original.kind.name,
            "tool": _free_name(original.tool_name),
            "input_sha256": None if given is None else digest(given),
            "input": None if given is None else self._share(free["input"], INPUT_LIMIT),
            "decision": verdict.decision.word,
            "reasons": [self._text(text) for text in free["reasons"]],
            "changed": self._changed(free["rewritten"]),
            "ms": _ms(seconds),
            "hooks": [self._run(run, told) for run, told in zip(verdict.runs, free["runs"], strict=True)],
            "skipped": [
                {"hook": _name(skip.hook), "why": self._text(why), **({"state": skip.state} if skip.state else {})}
                for skip, why in zip(verdict.skipped, free["skips"], strict=True)
            ],
            "background": [{"hook": _name(one.hook), "pid": one.pid} for one in verdict.background],
        }
        if self.degraded:
            made["degraded"] = [self._text(text) for text in free["degraded"]]
        if derived := original.data.get(DERIVED):
            made["derived"] = _free_name(str(derived))
        if whole:
            made["whole"] = self._share(free["whole"], WHOLE_LIMIT)
        if self.was_cut:
            made["cut"] = True
        return fitted(made)

    def _free(self, *, whole: bool) -> Fields:
        """Gather what others wrote, as far as it is looked at."""
        verdict = self.verdict
        values = {
            "input": verdict.original.data.get("tool_input"),
            "rewritten": verdict.modified_input,
            "whole": verdict.original.to_fields() if whole else None,
        }
        return {
            **{key: self._trimmed(value, [SEARCHED]) for key, value in values.items()},
            "reasons": self._texts(verdict.reasons, [SEARCHED]),
            "runs": self._told(),
            "skips": self._texts([skip.why for skip in verdict.skipped], [SEARCHED]),
            "degraded": self._texts(self.degraded, [SEARCHED]),
        }

    def _told(self) -> list[list[str]]:
        """Gather what each hook said."""
        room = [4 * SEARCHED]
        return [self._texts((_reason(run), *run.notes[:LIST_LIMIT]), room) for run in self.verdict.runs]

    def _texts(self, texts: Sequence[str], room: list[int]) -> list[str]:
        """Return the beginnings of texts, empty ones when there is no more room."""
        kept: list[str] = []
        for text in texts:
            kept.append(text[: max(0, min(TEXT_SEARCHED, room[0]))])
            room[0] -= len(kept[-1])
            self.was_cut = self.was_cut or len(kept[-1]) < len(text)
        return kept

    def _unsearched(self, told: str) -> Fields:
        """Stand in for what could not be searched."""
        many = {"reasons": self.verdict.reasons, "skips": self.verdict.skipped, "degraded": self.degraded}
        lists: Fields = {key: [told for _ in found] for key, found in many.items()}
        return {"input": told, "rewritten": told, "whole": told, **lists, "runs": [[told] for _ in self.verdict.runs]}

    def _trimmed(self, value: Any, room: list[int]) -> Any:
        """Return as much of a value as there is room for, in characters; nesting counts too."""
        if isinstance(value, str):
            text, room[0] = value[: max(room[0], 0)], room[0] - len(value)
            self.was_cut = self.was_cut or len(text) < len(value)
            return text
        if isinstance(value, dict | list | tuple):
            many: Any = value  # pyright: ignore[reportUnknownVariableType]
            items: Any = many.items() if isinstance(value, dict) else enumerate(many)
            kept: dict[Any, Any] = {}
            for key, inner in items:
                room[0] -= 4 + (len(key) if isinstance(key, str) else 0)
                if room[0] <= 0:
                    self.was_cut = True
                    break
                kept[key] = self._trimmed(inner, room)
            return kept if isinstance(value, dict) else list(kept.values())
        room[0] -= 8
        return value

    def _share(self, value: Any, limit: int) -> Any:
        """Return a value if its JSON text is within its share, else the beginning of that text."""
        text = dumps(value)
        if len(text) <= limit:
            return value
        self.was_cut = True
        return _cut(text, limit)

    def _text(self, text: str) -> str:
        short = _cut(clean_text(text), TEXT_LIMIT)
        self.was_cut = self.was_cut or len(text) > TEXT_LIMIT
        return short

    def _changed(self, rewritten: Any) -> Fields:
        verdict = self.verdict
        made: Fields = {}
        if verdict.modified_input is not None:
            made["tool_input"] = {
                "before": digest(verdict.original.tool_input),
                "after": digest(verdict.modified_input),
                "input": self._share(rewritten, INPUT_LIMIT),
            }
        if verdict.outcome.output is not ABSENT:
            made["output"] = {"after": digest(verdict.outcome.output)}
        if verdict.outcome.contexts:
            made["context"] = len(verdict.outcome.contexts)
        return made

    def _run(self, run: Run, told: list[str]) -> Fields:
        hook, made = run.hook, run.to_json()
        approval = getattr(getattr(hook, "approval", None), "digest", "")
        return {
            "hook": _name(hook.name),
            "scope": hook.scope,
            "source": hook.source,
            "path": _name(hook.path),
            "status": run.status,
            "exit": run.code,
            "ms": made["duration_ms"],
            "decision": made["decision"],
            "reason": self._text(told[0]) if told and told[0] else None,
            "look": run.look,
            "matched": _matched(hook),
            "notes": [self._text(text) for text in told[1:]],
            **({"approval": approval} if approval else {}),
        }


def _reason(run: Run) -> str:
    return run.to_json()["reason"] or ""


def _matched(hook: Hook) -> Fields:
    """Return what a hook asks for, as its author wrote it."""
    matcher = hook.matcher
    asked: Fields = {"event": hook.trigger}
    if matcher.tool is not None:
        asked["tool" if matcher.subject == TOOL_NAME else matcher.subject] = _cut(matcher.tool.shown, NAME_LIMIT)
    if matcher.pattern is not None:
        asked["pattern"] = _cut(matcher.pattern.shown, NAME_LIMIT)
    return asked


def digest(value: Any) -> str:
    """Return the digest of a JSON value; nothing if it has no canonical form."""
    try:
        return hexdigest(canonical_json(value))
    except (ValueError, TypeError, RecursionError):
        return ""


def _name(text: str) -> str:
    return _cut(text, NAME_LIMIT) if len(text) > NAME_LIMIT else text


def _free_name(text: str) -> str:
    """Return a name that a host chose, without secrets."""
    return _name(str(redact(text[:TEXT_SEARCHED])))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… [cut, {len(text):,} characters]"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def fitted(record: Fields, limit: int = RECORD_LIMIT) -> Fields:
    """Return a record that fits into a line: details are dropped, the least telling first, until it does."""
    if len(dump_line(record)) <= limit:
        return record
    record = {**record, "cut": True}
    for drop in (_without_whole, _without_inputs, _without_words, _with_few_hooks, _bare):
        record = drop(record)
        if len(dump_line(record)) <= limit:
            break
    return record


def _without_whole(record: Fields) -> Fields:
    return {key: value for key, value in record.items() if key != "whole"}


def _without_inputs(record: Fields) -> Fields:
    changed = dict(record.get("changed") or {})
    if "tool_input" in changed:
        changed["tool_input"] = {key: value for key, value in changed["tool_input"].items() if key != "input"}
    return {**record, "input": None, "changed": changed}


def _without_words(record: Fields) -> Fields:
    """Keep a word of each reason, and what the decision was made for."""
    none: Fields = {"notes": [], "matched": {}}
    hooks = [{**one, **none, "reason": _cut(one["reason"] or "", 80)} for one in record["hooks"]]
    skipped = [{**one, "why": _cut(one["why"], 80)} for one in record["skipped"]]
    fewer = {name: [_cut(text, 80) for text in record[name][:10]] for name in ("degraded",) if name in record}
    return {**record, **fewer, "hooks": hooks, "skipped": skipped, "reasons": record["reasons"][:10]}


def _with_few_hooks(record: Fields) -> Fields:
    """Keep those that decided before the others, in their order."""
    heavy = [one for one in record["hooks"] if one["decision"] == record["decision"]][:10]
    rest = [one for one in record["hooks"] if one not in heavy][: 30 - len(heavy)]
    kept = [one for one in record["hooks"] if one in heavy or one in rest]
    left = {name: len(record[name]) for name in ("hooks", "skipped", "background")}
    few = {"hooks": kept, "skipped": record["skipped"][:10], "background": record["background"][:10]}
    return {**record, **few, "of": left}


def _bare(record: Fields) -> Fields:
    """Keep only what happened, not who did it."""
    reasons = [_cut(text, 80) for text in record["reasons"][:3]]
    return {**record, "reasons": reasons, "hooks": [], "skipped": [], "background": [], "changed": {}}
