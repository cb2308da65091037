"""`boathook why`: the whole story of one record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from boathook.assembly import state_of
from boathook.cli.common_options import json_option, state_option
from boathook.cli.show import print_json, say
from boathook.core.json_text import dumps
from boathook.errors import ConfigError
from boathook.ledger.reader import Reader, Record
from boathook.ledger.record import DISPATCH, END

FEW, MANY = 5, 1000


@click.command("why")
@click.argument("id", metavar="ID")
@json_option
@state_option
def show_why(id: str, as_json: bool, state: str | None) -> int:
    """Show everything that is recorded about one event.

    That is: which hooks ran, what they matched and decided, which were skipped, and what they changed. ID is an id
    from `boathook log` or `boathook run --json`, or any unique prefix of it.
    """
    record, ends = find(Reader(state_of(state)), id.strip().lower())
    if as_json:
        print_json({**record, "ends": ends} if ends else record)
        return 0
    for line in story(record, ends):
        say(line)
    return 0


def find(reader: Reader, prefix: str) -> tuple[Record, list[Record]]:
    """Find the one record whose id begins so, and the ends of its async hooks."""
    found: dict[str, Record] = {}
    ends: list[Record] = []
    for one in reader.read():
        if one["id"].startswith(prefix) and prefix and (len(found) <= FEW or one["id"] == prefix):
            found[one["id"]] = one
        if one["type"] == END and one.get("dispatch", "").startswith(prefix) and len(ends) < MANY:
            ends.append(one)
    record = found.get(prefix) or next(iter(found.values()), None)
    if record is None:
        raise ConfigError(f"no record in {reader.folder} has an id that begins with '{prefix}' (see boathook log)")
    if len(found) > 1 and record["id"] != prefix:
        few = ", ".join(list(found)[:FEW])
        raise ConfigError(f"several records have an id that begins with '{prefix}': {few}")
    return record, [end for end in ends if end["dispatch"] == record["id"]]


def story(record: Record, ends: list[Record]) -> Iterator[str]:
    """Report a record line by line."""
    yield f"{record['id']}  {record['time'].replace('T', ' ').rstrip('Z')} UTC"
    if record["type"] == DISPATCH:
        yield from _dispatch(record, ends)
    elif record["type"] == END:
        yield f"the async hook '{record['hook']}' ended: {_end(record)}"
        yield f"it was started by {record['dispatch']}" if record.get("dispatch") else "its start is not recorded"
    else:
        yield f"{record['type']}: {', '.join(record.get('segments') or ())}"
    if record.get("spilled"):
        yield "this record was put aside: the ledger could not be written then, so it is not part of the chain"


def _dispatch(record: Record, ends: list[Record]) -> Iterator[str]:
    about = [f"{record['event']} of {record['tool']}" if record["tool"] else record["event"]]
    about += [f"{key} {record[key]}" for key in ("session", "host", "project") if record.get(key)]
    yield ", ".join(about)
    if record.get("derived"):
        yield f"  made of {record['derived']}: the host has no such event"
    if record.get("input") is not None:
        yield f"  input   {_value(record['input'])}"
        yield f"  sha256  {record['input_sha256']}"
    yield f"decision: {record['decision']}, after {record['ms']} ms"
    yield from (f"  because {line}" for text in record["reasons"] for line in text.splitlines())
    yield "hooks, in the order they ran:" if record["hooks"] else "no hook ran"
    for at, run in enumerate(record["hooks"], 1):
        yield from _run(at, run)
    yield from _others(record, ends)
    yield from _changes(record["changed"])
    if record.get("degraded"):
        yield "the host could not be told all of it:"
        yield from (f"  {text}" for text in record["degraded"])
    if record.get("cut"):
        yield "this record was cut: it would have been too long"


def _run(at: int, run: dict[str, Any]) -> Iterator[str]:
    look = f", look {run['look']} (the input had changed)" if run["look"] > 1 else ""
    answer = run["decision"] if run["status"] == "ok" else f"{run['status']}, {run['decision']}"
    exit_ = "" if run["exit"] is None else f", exit code {run['exit']}"
    yield f"  {at}. {run['hook']} ({run['scope']}, {run['source']}): {answer}{exit_}, {run['ms']} ms{look}"
    yield f"       from     {run['path']}"
    asked = [f"{key} {value!r}" for key, value in run["matched"].items()]
    yield f"       matched  {', '.join(asked) or 'not kept'}"
    yield from (f"       said     {line}" for line in (run["reason"] or "").splitlines())
    yield from (f"       note     {note}" for note in run["notes"])
    if run.get("approval"):
        yield f"       trusted  as {run['approval']}"


def _others(record: Record, ends: list[Record]) -> Iterator[str]:
    if record["background"]:
        yield "started in the background:"
        known = {end["hook"]: end for end in ends}
        for one in record["background"]:
            told = _end(known[one["hook"]]) if one["hook"] in known else "no end is recorded"
            yield f"  {one['hook']}: {told}"
    if record["skipped"]:
        yield "did not run:"
        yield from (f"  {one['hook']}: {one['why']}" for one in record["skipped"])


def _changes(changed: dict[str, Any]) -> Iterator[str]:
    if not changed:
        return
    yield "changed:"
    if "tool_input" in changed:
        found = changed["tool_input"]
        yield f"  tool input, now {_value(found.get('input', 'not kept'))}"
        yield f"    sha256 before {found['before']}"
        yield f"    sha256 after  {found['after']}"
    if "output" in changed:
        yield f"  tool output replaced, sha256 {changed['output']['after']}"
    if "context" in changed:
        yield f"  context added: {changed['context']}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _end(record: Record) -> str:
    exit_ = "" if record["exit"] is None else f", exit code {record['exit']}"
    detail = f", {record['detail']}" if record.get("detail") else ""
    return f"{record['status']}{exit_}, {record['ms']} ms{detail}"
