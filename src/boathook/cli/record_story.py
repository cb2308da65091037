"""Everything in one record of the ledger, line by line, each line with its style."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boathook.cli.pager import StyledLine
from boathook.cli.record_text import describe_allowed_call, describe_other_record, format_time
from boathook.cli.show import DECISION_STYLES
from boathook.core.json_text import dumps
from boathook.core.notices import list_names
from boathook.core.verdict import OK
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import SPILL_NAME

# More hooks than this that have nothing to say get one line: of a pack many are asked together.
_MAX_QUIET = 3
_PLACE_LABELS = {
    **{key: key for key in ("session", "host", "project", "folder")},
    "tool_use_id": "call",
}
_MACHINE_LABELS = {"boathook": "boathook", "machine": "on machine", "hook_set": "with the set of hooks"}
# What says most about a run.
_CLEAR_FACTS = ("reason", "stderr", "note", "allowed")
_TIME_WITH_ZONE = "%Y-%m-%d %H:%M:%S %Z"


def describe_record(record: LedgerRecord, ends: list[LedgerRecord], *, is_utc: bool = False) -> Iterator[StyledLine]:
    yield f"{record['id']}  {format_time(record, _TIME_WITH_ZONE, is_utc=is_utc)}", "bold"
    if record["type"] == DISPATCH_TYPE:
        yield from describe_dispatch(record, ends)
    elif record["type"] == END_TYPE:
        yield f"the async hook '{record['hook']}' ended: {_describe_end(record)}", ""
        yield f"it was started by {record['dispatch']}" if record.get("dispatch") else "its start is not recorded", ""
    else:
        yield f"{record['type']}: {describe_other_record(record, is_utc=is_utc)}", ""
        if record.get("asking"):
            yield f"  hooks   {', '.join(record['asking'])}", ""
        if record.get("input") is not None:
            yield f"  input   {_format_value(record['input'])}", ""
    origin = [f"{label} {record[key]}" for key, label in _MACHINE_LABELS.items() if record.get(key)]
    if origin:
        yield f"recorded by {', '.join(origin)}", "dim"
    if record.get("spilled"):
        text = f"this record is not in the chain, but in {SPILL_NAME}, for times when the ledger cannot be written"
        yield f"unverified: {text}", "yellow"


def describe_dispatch(
    record: LedgerRecord, ends: list[LedgerRecord], *, has_times: bool = True
) -> Iterator[StyledLine]:
    about = [f"{record['event']} of {record['tool']}" if record["tool"] else record["event"]]
    about += [f"{label} {record[key]}" for key, label in _PLACE_LABELS.items() if record.get(key)]
    yield ", ".join(about), ""
    if record.get("derived"):
        yield f"  derived from {record['derived']}, because the host has no such event", ""
    called = record.get("guessed") or record.get("called")
    if called and called != record["tool"]:
        yield f"  the program calls it '{called}'{' (guessed)' if record.get('guessed') else ''}", ""
    if record.get("input") is not None:
        yield f"  input   {_format_value(record['input'])}", ""
        yield f"  sha256  {record['input_sha256']}", "dim"
    style = DECISION_STYLES.get(record["decision"], "")
    after = f", after {record['ms']} ms{_describe_wait(record)}" if has_times else ""
    yield f"decision: {record['decision']}{_name_deciders(record)}{after}", style or "bold"
    for text in record["reasons"]:
        yield from ((f"  because {line}", "") for line in text.splitlines())
    yield "hooks, in the order they ran:" if record["hooks"] else "no hook ran", ""
    quiet = [run["hook"] for run in record["hooks"] if is_quiet(run)]
    is_short = len(quiet) <= _MAX_QUIET
    for number, run in enumerate(record["hooks"], 1):
        if is_short or not is_quiet(run):
            yield from _describe_run(number, run, has_times=has_times)
    if not is_short:
        yield f"  {len(quiet)} had no opinion: {list_names(quiet)}", "dim"
    yield from _describe_others(record, ends)
    yield from ((line, "") for line in _describe_changes(record["changed"]))
    if record.get("lifted"):
        cause = "it was refused too often before, or cannot be refused"
        yield f"lifted: hooks refused this stop, but it was let through, because {cause}. Their reason:", "yellow"
        yield from ((f"  {line}", "") for text in record["lifted"] for line in text.splitlines())
    if record.get("degraded"):
        yield "the host could not do all of it:", "yellow"
        yield from ((f"  {text}", "") for text in record["degraded"])
    if record.get("cut"):
        yield "this record was shortened because it was too long", "dim"


def _describe_wait(record: LedgerRecord) -> str:
    """Return which way an event of an agent was answered, and how long the agent waited."""
    way = f" on the {record['path']} path" if record.get("path") else ""
    return f"; the agent waited{way} for {record['waited_ms']} ms" if "waited_ms" in record else way


def _name_deciders(record: LedgerRecord) -> str:
    if allowed := describe_allowed_call(record):
        return f" ({allowed})"
    if record["decision"] == "none":
        return " (no hook objected)" if record["hooks"] else ""
    names = dict.fromkeys(run["hook"] for run in record["hooks"] if run["decision"] == record["decision"])
    return f" by {', '.join(names)}" if names else ""


def is_quiet(run: dict[str, Any]) -> bool:
    """Whether a hook ran well, and had no opinion."""
    texts = (run["reason"], run["notes"], run.get("allowed"), run.get("stderr"))
    return run["status"] == OK and run["decision"] == "none" and not any(texts)


def _describe_run(number: int, run: dict[str, Any], *, has_times: bool) -> Iterator[StyledLine]:
    rerun = f", run {run['look']} (the input had changed)" if run["look"] > 1 else ""
    seconds = f", {run['ms']} ms" if has_times else ""
    style = DECISION_STYLES.get(run["decision"] if run["status"] == OK else run["status"], "")
    head = f"  {number}. {run['hook']} ({run['scope']}, {run['source']}): {describe_answer(run)}{seconds}{rerun}"
    yield head, style
    for label, text in list_run_facts(run):
        for line in text.splitlines():
            yield f"       {label:9}{line}", "" if label in _CLEAR_FACTS else "dim"


def list_run_facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a record has about one run of a hook besides its answer, as labels and texts; without what is empty."""
    facts = [
        ("from", run["path"]),
        ("file", run.get("file")),
        ("matched", ", ".join(f"{key} {value!r}" for key, value in run["matched"].items()) or "not recorded"),
        ("reason", run["reason"]),
        ("stderr", run.get("stderr")),
        *(("note", note) for note in run["notes"]),
        ("trusted", f"as {run['approval']}" if run.get("approval") else ""),
        ("allowed", f"once by a person, who was asked about {run['allowed']}" if run.get("allowed") else ""),
    ]
    return [(label, str(text)) for label, text in facts if text]


def describe_answer(run: dict[str, Any]) -> str:
    """Return what a hook answered in a run, or how the run failed, and its exit code."""
    exit_code = "" if run["exit"] is None else f", exit code {run['exit']}"
    return f"{name_answer(run)}{exit_code}"


def name_answer(run: dict[str, Any]) -> str:
    """Return the decision of a run; of one that failed without a decision, how it failed."""
    if run["status"] == OK:
        return str(run["decision"])
    return str(run["status"]) if run["decision"] == "none" else f"{run['status']}, so {run['decision']}"


def _describe_others(record: LedgerRecord, ends: list[LedgerRecord]) -> Iterator[StyledLine]:
    if record["background"]:
        yield "started in the background:", ""
        end_of = {end["hook"]: end for end in ends}
        for started in record["background"]:
            name = started["hook"]
            yield f"  {name}: {_describe_end(end_of[name]) if name in end_of else 'its end is not recorded'}", ""
    if record["skipped"]:
        yield "did not run, or could not be used:", ""
        names: dict[tuple[str, str], list[str]] = {}
        for skipped in record["skipped"]:
            # After a block, that hooks were not reached is as it should be.
            style = "yellow" if skipped.get("state") else "dim"
            names.setdefault((skipped["why"], style), []).append(skipped["hook"])
        for (why, style), hooks in names.items():
            if len(hooks) > _MAX_QUIET:
                yield f"  {len(hooks)} hooks: {why}", style
            else:
                yield from ((f"  {hook}: {why}", style) for hook in hooks)


def _describe_changes(changed: dict[str, Any]) -> Iterator[str]:
    if not changed:
        return
    yield "changed:"
    if "tool_input" in changed:
        tool_input = changed["tool_input"]
        yield f"  tool input, now {_format_value(tool_input.get('input', 'not recorded'))}"
        yield f"    sha256 before {tool_input['before']}"
        yield f"    sha256 after  {tool_input['after']}"
    if "output" in changed:
        yield f"  tool output replaced, sha256 {changed['output']['after']}"
    if "context" in changed:
        yield f"  context added: {changed['context']}"
        for text in changed.get("context_texts") or ():
            yield from (f"    {line}" for line in text.splitlines())


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _describe_end(record: LedgerRecord) -> str:
    exit_code = "" if record["exit"] is None else f", exit code {record['exit']}"
    detail = f", {record['detail']}" if record.get("detail") else ""
    unverified = " [unverified: not in the chain]" if record.get("spilled") else ""
    return f"{record['status']}{exit_code}, {record['ms']} ms{detail}{unverified}"
