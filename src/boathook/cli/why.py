"""`boathook why`: everything in one record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from boathook.assembly import resolve_state
from boathook.cli.common_options import json_option, state_option
from boathook.cli.log import describe_other_record, record_to_json
from boathook.cli.show import echo, print_json
from boathook.core.json_text import dumps
from boathook.core.permit import describe_permission
from boathook.core.verdict import OK
from boathook.errors import ConfigError
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import SPILL_NAME
from boathook.permits.call_permits import read_question

_MAX_SHOWN, _MAX_ENDS = 5, 1000


@click.command("why")
@click.argument("id", metavar="ID")
@json_option
@state_option
def show_why(id: str, as_json: bool, state: str | None) -> int:
    """Show everything that is recorded about one event.

    That is: which hooks ran, what they matched and decided, which were skipped, and what they changed. ID is an id
    from `boathook log` or `boathook run --json`, or any unique prefix of it.
    """
    folder = resolve_state(state)
    record, ends = _find_record(LedgerReader(folder), id.strip().lower())
    if as_json:
        print_json({"record": record_to_json(record), "ends": [record_to_json(end) for end in ends]})
        return 0
    for line in _describe_record(record, ends):
        echo(line)
    if read_question(folder, record["id"], time.time()) is not None:
        echo(describe_permission(record["id"]), "yellow")
    return 0


def _find_record(reader: LedgerReader, prefix: str) -> tuple[LedgerRecord, list[LedgerRecord]]:
    """Return the only record whose id starts with a prefix, and the ends of its async hooks."""
    candidates: dict[str, LedgerRecord] = {}
    ends: list[LedgerRecord] = []
    for record in reader.read():
        # A record of the chain counts before one of the same id that anybody can have added.
        is_repeated = record.get("spilled") and record["id"] in candidates
        has_room = len(candidates) <= _MAX_SHOWN or record["id"] == prefix
        if record["id"].startswith(prefix) and prefix and has_room and not is_repeated:
            candidates[record["id"]] = record
        if record["type"] == END_TYPE and record.get("dispatch", "").startswith(prefix) and len(ends) < _MAX_ENDS:
            ends.append(record)
    match = candidates.get(prefix) or next(iter(candidates.values()), None)
    if match is None:
        error = f"no record in {reader.folder} has an id that starts with '{prefix}'"
        raise ConfigError(f"{error}. List them: boathook log")
    if len(candidates) > 1 and match["id"] != prefix:
        ids = ", ".join(list(candidates)[:_MAX_SHOWN])
        raise ConfigError(f"several records have an id that starts with '{prefix}': {ids}. Write more of the id")
    # the last end of a hook is the one that is shown
    ends.sort(key=lambda end: not end.get("spilled"))
    return match, [end for end in ends if end["dispatch"] == match["id"]]


def _describe_record(record: LedgerRecord, ends: list[LedgerRecord]) -> Iterator[str]:
    yield f"{record['id']}  {record['time'].replace('T', ' ').rstrip('Z')} UTC"
    if record["type"] == DISPATCH_TYPE:
        yield from _describe_dispatch(record, ends)
    elif record["type"] == END_TYPE:
        yield f"the async hook '{record['hook']}' ended: {_describe_end(record)}"
        yield f"it was started by {record['dispatch']}" if record.get("dispatch") else "its start is not recorded"
    else:
        yield f"{record['type']}: {describe_other_record(record)}"
    if record.get("spilled"):
        yield f"unverified: this record is not in the chain, but in {SPILL_NAME}, for times when the ledger cannot be written"


def _describe_dispatch(record: LedgerRecord, ends: list[LedgerRecord]) -> Iterator[str]:
    about = [f"{record['event']} of {record['tool']}" if record["tool"] else record["event"]]
    about += [f"{key} {record[key]}" for key in ("session", "host", "project") if record.get(key)]
    yield ", ".join(about)
    if record.get("derived"):
        yield f"  derived from {record['derived']}, because the host has no such event"
    if record.get("input") is not None:
        yield f"  input   {_format_value(record['input'])}"
        yield f"  sha256  {record['input_sha256']}"
    yield f"decision: {record['decision']}, after {record['ms']} ms"
    yield from (f"  because {line}" for text in record["reasons"] for line in text.splitlines())
    yield "hooks, in the order they ran:" if record["hooks"] else "no hook ran"
    for number, run in enumerate(record["hooks"], 1):
        yield from _describe_run(number, run)
    yield from _describe_others(record, ends)
    yield from _describe_changes(record["changed"])
    if record.get("lifted"):
        cause = "it was refused too often before, or cannot be refused"
        yield f"lifted: hooks refused this stop, but it was let through, because {cause}. Their reason:"
        yield from (f"  {line}" for text in record["lifted"] for line in text.splitlines())
    if record.get("degraded"):
        yield "the host could not do all of it:"
        yield from (f"  {text}" for text in record["degraded"])
    if record.get("cut"):
        yield "this record was shortened because it was too long"


def _describe_run(number: int, run: dict[str, Any]) -> Iterator[str]:
    rerun = f", run {run['look']} (the input had changed)" if run["look"] > 1 else ""
    answer = run["decision"] if run["status"] == OK else f"{run['status']}, {run['decision']}"
    exit_code = "" if run["exit"] is None else f", exit code {run['exit']}"
    yield f"  {number}. {run['hook']} ({run['scope']}, {run['source']}): {answer}{exit_code}, {run['ms']} ms{rerun}"
    yield f"       from     {run['path']}"
    if run.get("file"):
        yield f"       file     {run['file']}"
    matched = [f"{key} {value!r}" for key, value in run["matched"].items()]
    yield f"       matched  {', '.join(matched) or 'not recorded'}"
    yield from (f"       reason   {line}" for line in (run["reason"] or "").splitlines())
    yield from (f"       note     {note}" for note in run["notes"])
    if run.get("approval"):
        yield f"       trusted  as {run['approval']}"
    if run.get("allowed"):
        yield f"       allowed  once by a person, who was asked about {run['allowed']}"


def _describe_others(record: LedgerRecord, ends: list[LedgerRecord]) -> Iterator[str]:
    if record["background"]:
        yield "started in the background:"
        end_of = {end["hook"]: end for end in ends}
        for started in record["background"]:
            name = started["hook"]
            yield f"  {name}: {_describe_end(end_of[name]) if name in end_of else 'its end is not recorded'}"
    if record["skipped"]:
        yield "did not run, or could not be used:"
        yield from (f"  {skipped['hook']}: {skipped['why']}" for skipped in record["skipped"])


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


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _describe_end(record: LedgerRecord) -> str:
    exit_code = "" if record["exit"] is None else f", exit code {record['exit']}"
    detail = f", {record['detail']}" if record.get("detail") else ""
    unverified = " [unverified: not in the chain]" if record.get("spilled") else ""
    return f"{record['status']}{exit_code}, {record['ms']} ms{detail}{unverified}"
