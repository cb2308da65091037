"""`boathook why`: everything in one record, or what would happen to a call now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from boathook.assembly import load_catalog, locate, resolve_start, resolve_state
from boathook.cli.common_options import EVENT, add_catalog_options, json_option, make_agent_option
from boathook.cli.log import record_to_json
from boathook.cli.name_completion import RECORD_ID
from boathook.cli.record_story import describe_dispatch, describe_record
from boathook.cli.record_text import describe_empty_log, is_in_project, is_objection, is_of_doctor
from boathook.cli.sample_input import SHELL_TOOL, parse_tool_input
from boathook.cli.show import echo, print_json
from boathook.cli.trial_run import confine_hooks, open_trial_engine
from boathook.core.catalog import Catalog
from boathook.core.event import HOST_EVENT, PRE_TOOL, Event, find_kind
from boathook.core.hook import ARMED, Hook, Http, Prompt
from boathook.core.permit import add_permission
from boathook.core.verdict import Verdict
from boathook.dialects.dialect import NATIVE, find_host_dialect
from boathook.errors import ConfigError
from boathook.hosts.host import find_row, load_host
from boathook.hosts.setup import load_setup
from boathook.hosts.tool_names import find_canonical_name
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import END_TYPE, make_dispatch_record
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import make_timestamp
from boathook.permits.call_permits import read_question

_MAX_SHOWN, _MAX_ENDS = 5, 1000
# What `why` shows without an id, the first of these that there is.
_HERE = "The last call that was blocked or asked about"
_ELSEWHERE = "Nothing was blocked here. The last call that was blocked or asked about, in another project"
_ANY_RECORD = "Nothing was blocked. The last record"
_PYTHON_HINT = "What Python hooks do is recorded only if the program calls hooks.load()."
_TRIAL_TITLE = "What would happen now. The command is not run, and nothing is recorded."


@click.command("why")
@click.argument("id", metavar="[ID]", required=False, type=RECORD_ID)
@click.option("--command", "text", metavar="TEXT", help="Instead of a record: what would happen to this command now.")
@click.option("--tool", metavar="NAME", help="The same for a call of this tool, with --input.")
@click.option("--input", "tool_input", metavar="JSON", help="The input of that call.")
@click.option("--event", type=EVENT, default=PRE_TOOL.name, show_default=True, help="The event of that call.")
@make_agent_option("host", "The agent that would make the call")
@click.option("--unconfined", is_flag=True, help="Run the hooks without a sandbox if this machine has none.")
@click.option("--utc", "is_utc", is_flag=True, help="Show times in UTC instead of local time.")
@json_option
@add_catalog_options
def show_why(id: str | None, is_utc: bool, as_json: bool, **options: Any) -> int:
    """Explain a decision, or what would happen to a command.

    It shows who decided, why, what changed, and what the agent could not do.

    ID is an id from `boathook log` or `boathook run --json`, or any unique prefix of it. Without ID it is the last call
    that was blocked or asked about in this project, else in any.

    With --command, or --tool and --input, no record is read: the hooks that you trust are asked about that call, in a
    sandbox without a network, and the decision and each hook's reason are shown. Prompt and HTTP hooks are not asked.

    \b
    Examples:
      boathook why
      boathook why 41dfcb
      boathook why --command 'rm -rf /'
      boathook why --agent codex --tool WriteFile --input '{"file_path": ".env", "content": "x"}'
    """
    call = _read_call(options.pop("text"), options.pop("tool"), options.pop("tool_input"))
    if call is not None:
        if id is not None:
            raise click.UsageError("ID is for a record, --command and --tool are for a call that did not happen")
        return _explain_call(call, as_json=as_json, **options)
    folder = resolve_state(options["state"])
    reader = LedgerReader(folder)
    title, (record, ends) = (
        ("", _find_record(reader, id.strip().lower())) if id else _find_last(reader, options["project"] or "")
    )
    if as_json:
        print_json(_story_to_json(record, ends, is_trial=False))
        return 0
    if title:
        echo(title, "dim")
    for line, style in describe_record(record, ends, is_utc=is_utc):
        echo(line, style)
    if read_question(folder, record["id"], time.time()) is not None:
        *_, last = add_permission((record.get("reasons") or ())[-1:], record["id"])
        echo(last, "yellow")
    if title.startswith((_ELSEWHERE, _ANY_RECORD)):
        echo(_PYTHON_HINT, "dim")
    return 0


def _story_to_json(record: LedgerRecord, ends: Sequence[LedgerRecord], *, is_trial: bool) -> dict[str, Any]:
    return {"record": record_to_json(record), "ends": [record_to_json(end) for end in ends], "trial": is_trial}


def _find_last(reader: LedgerReader, project: str) -> tuple[str, tuple[LedgerRecord, list[LedgerRecord]]]:
    """Return the last objection in the project, else the last one of all, else the last record, and what it is."""
    last: dict[str, str] = {}
    for record in reader.read():
        # The ledger's own records, and what anybody can have added, are nobody's question.
        if is_of_doctor(record) or record.get("spilled"):
            continue
        places = (_HERE, _ELSEWHERE) if is_in_project(record, project) else (_ELSEWHERE,)
        for place in places if is_objection(record) else (_ANY_RECORD,):
            last[place] = record["id"]
    found = next((title for title in (_HERE, _ELSEWHERE, _ANY_RECORD) if title in last), "")
    if not found:
        raise ConfigError(describe_empty_log(reader.folder, is_filtered=False))
    return f"{found} (boathook log lists all):", _find_record(LedgerReader(reader.folder), last[found])


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


# A call that did not happen


def _read_call(text: str | None, tool: str | None, tool_input: str | None) -> dict[str, Any] | None:
    """Return the fields of the call that the options describe, None if they describe none."""
    if text is not None and tool_input is not None:
        raise click.UsageError("--command and --input exclude each other")
    if text is None and tool is None and tool_input is None:
        return None
    name = find_canonical_name(tool) if tool is not None else SHELL_TOOL
    value = {"command": text} if text is not None else parse_tool_input(tool_input or "{}", name)
    return {"tool_name": name, "tool_input": value}


def _explain_call(
    call: dict[str, Any], *, event: str, host: str | None, unconfined: bool, as_json: bool, **where: Any
) -> int:
    # What an agent runs itself does not come through boathook.
    without = load_setup(host).runs_itself if host is not None else ()
    locations = locate(**where, without=without)
    catalog = load_catalog(**where, without=without)
    sample = _make_event(event, host, {**call, "work_dir": resolve_start(where["project"])})
    asked, others = _choose_hooks(catalog, sample)
    confined = confine_hooks(catalog.replace(hooks=asked), is_allowed_without=unconfined, is_strictest=True)
    started = time.perf_counter()
    with open_trial_engine(confined, "boathook-why-", catalog.project or sample.work_dir) as (engine, _):
        verdict = engine.dispatch(sample)
    seconds = time.perf_counter() - started
    degraded = _list_degraded(verdict, host, refuses=catalog.settings.degraded == "refuse")
    around = {"host": host or NATIVE, "project": catalog.project, "folder": locations.start}
    record = make_dispatch_record(verdict, around, time=make_timestamp(), seconds=seconds, degraded=degraded)
    record = {**record, "id": "", "skipped": [*record["skipped"], *others]}
    if as_json:
        print_json(_story_to_json(record, (), is_trial=True))
        return 0
    echo(_TRIAL_TITLE, "dim")
    # Its times are mostly those of sandboxes, which agents do not have.
    for line, style in describe_dispatch(record, [], has_times=False):
        echo(line, style)
    return 0


def _make_event(event: str, host: str | None, fields: dict[str, Any]) -> Event:
    kind = find_kind(event)
    row = find_row(load_host(host), kind.name) if host is not None else None
    if host is not None and row is None:
        raise ConfigError(f"{load_host(host).title} has no event like {kind.name}. See: boathook hosts --capabilities")
    return Event.of(kind, **fields, **({HOST_EVENT: row.name} if row is not None else {}))


def _choose_hooks(catalog: Catalog, event: Event) -> tuple[tuple[Hook, ...], list[dict[str, str]]]:
    """Return the hooks to ask, and those that match and are not asked, each with the reason."""
    asked: list[Hook] = []
    others: list[dict[str, str]] = []
    for hook in catalog.find_hooks(event.kind):
        if hook.is_installed_call or hook.is_off_in_pack or hook.matcher.explain_mismatch(event):
            continue
        if hook.state != ARMED:
            others.append({"hook": hook.name, "why": hook.state_text, "state": hook.state})
        elif isinstance(hook.handler, Prompt | Http):
            others.append({"hook": hook.name, "why": "not asked here: it would call a model or a server"})
        elif hook.background:
            others.append({"hook": hook.name, "why": "not asked here: it is async, so it decides nothing"})
        else:
            asked.append(hook)
    return tuple(asked), others


def _list_degraded(verdict: Verdict, host: str | None, *, refuses: bool) -> tuple[str, ...]:
    return find_host_dialect(host).list_degraded(verdict, refuses=refuses) if host is not None else ()
