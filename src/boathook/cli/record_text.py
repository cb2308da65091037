"""Records of the ledger as words: when, where, what was asked, who decided and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from boathook.core.json_text import dumps
from boathook.core.outcome import Decision
from boathook.core.verdict import ALLOWED, ASK_RESULTS, DENIED, KILLED, OK, UNANSWERED, WITHDRAWN
from boathook.core.waiting_question import BY_REPEAT
from boathook.dialects.dialect import NATIVE
from boathook.hook_tests.case import OBJECTIONS
from boathook.hosts.host import list_host_names, load_host
from boathook.install.host_files import find_project_top
from boathook.install.probe import PROBE_NAME
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import (
    ALLOW_TYPE,
    ANSWERED_TYPE,
    ASKED_TYPE,
    DISPATCH_TYPE,
    END_TYPE,
    PRUNED_TYPE,
    PYTHON_AGENT,
    REPEAT_TYPE,
    TRUST_TYPE,
    UNLOCK_TYPE,
)
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.timestamps import parse_timestamp

LONG_TIME, SHORT_TIME = "%Y-%m-%d %H:%M:%S", "%m-%d %H:%M:%S"
CLOCK_TIME = "%H:%M:%S"
DOCTOR_TYPE = "doctor"
# What records name that is not an agent of ours.
_OTHER_CALLERS = {NATIVE: "by hand", PYTHON_AGENT: "a program in Python"}
# What the decision of a record may be, besides how an async hook ended: a decision, what became of a question, or the type of
# another record.
SHOWN_DECISIONS = (
    *(*Decision.NAMES, *ASK_RESULTS),
    *(ASKED_TYPE, REPEAT_TYPE, TRUST_TYPE, UNLOCK_TYPE, PRUNED_TYPE),
)
# The field of an input that says most, by what tools call it.
_MAIN_KEYS = ("command", "file_path", "path", "url", "query", "pattern", "prompt")
_MAX_NAMES = 3
# The id of a question is long, because it must not be guessed; this much of it is enough for `boathook asks`.
_SHOWN_ID_CHARS = 12


@lru_cache(maxsize=256)
def name_agent(name: str) -> str:
    """Return the title of an agent; records may also name programs that are not agents of ours."""
    if name in _OTHER_CALLERS:
        return _OTHER_CALLERS[name]
    return load_host(name).title if name in list_host_names() else name


def format_time(record: LedgerRecord, form: str = LONG_TIME, *, is_utc: bool = False) -> str:
    """Return the time of a record, in the zone of this machine unless UTC is wanted."""
    moment = parse_timestamp(record["time"])
    if moment is None:
        return str(record["time"])
    try:
        return moment.astimezone(UTC if is_utc else None).strftime(form)
    except (ValueError, OverflowError):
        # The first and the last day that there is may be none in another zone.
        return str(record["time"])


def format_clock(seconds: float, form: str = CLOCK_TIME) -> str:
    """Return a time in seconds since 1970 as the clock of this machine shows it."""
    return datetime.fromtimestamp(seconds).astimezone().strftime(form)


def find_folder(record: LedgerRecord) -> str:
    """Return where it happened: the project, or the folder if that has no hooks."""
    folder: str = record.get("project") or record.get("folder") or ""
    return folder


def is_in_project(record: LedgerRecord, project: str) -> bool:
    """Whether it happened in the project around a folder; "" is the current folder."""
    top, folder = find_project_top(os.path.abspath(project or os.getcwd())), find_folder(record)
    return any(f"{folder}/".startswith(f"{one.rstrip('/')}/") for one in (top, os.path.realpath(top)))


def name_project(record: LedgerRecord) -> str:
    return os.path.basename(find_folder(record).rstrip("/"))


def describe_input(record: LedgerRecord) -> str:
    return describe_tool_input(record.get("input"))


def describe_tool_input(value: Any) -> str:
    """Return the input of a tool on one line: its command or path, or all of it; "" for None."""
    if isinstance(value, dict):
        main = next((value[key] for key in _MAIN_KEYS if isinstance(value.get(key), str)), None)
        value = dumps(value) if main is None else main
    return " ".join(str(value).split()) if value is not None else ""


def describe_reasons(record: LedgerRecord, *, is_utc: bool = False) -> str:
    """Return the reasons of a dispatch, or what happened to the call that hooks asked about."""
    if record.get("asking"):
        return describe_other_record(record, is_utc=is_utc)
    return join_sentences(record.get("reasons") or ()) or describe_allowed_call(record)


def list_lifted_hooks(record: LedgerRecord) -> list[str]:
    """Return the hooks whose objections do not count, because a person allowed the call; [] if it was not let through."""
    if record["type"] != DISPATCH_TYPE or record.get("decision") in OBJECTIONS:
        return []
    return list(dict.fromkeys(run["hook"] for run in record.get("hooks") or () if run.get("allowed")))


def describe_allowed_call(record: LedgerRecord) -> str:
    return "a person allowed this call" if list_lifted_hooks(record) else ""


def join_sentences(texts: Iterable[str]) -> str:
    """Return texts on one line, with a semicolon after those that do not end as a sentence."""
    *most, last = [" ".join(text.split()) for text in texts] or [""]
    return " ".join([*(text if text.endswith((".", "!", "?")) else f"{text};" for text in most), last])


def describe_effects(record: LedgerRecord) -> str:
    """Return the reasons of a record; without any, what hooks changed, and why a hook did not answer or did not run."""
    if record.get("reasons") or record["type"] != DISPATCH_TYPE:
        return describe_reasons(record)
    texts = [describe_allowed_call(record), *(f"{name} changed" for name in record.get("changed") or ())]
    texts += [run.get("reason") or run["status"] for run in record.get("hooks") or () if run["status"] != OK]
    texts += [skipped.get("why") or "" for skipped in record.get("skipped") or () if skipped.get("state")]
    return join_sentences(dict.fromkeys(filter(None, texts)))


def is_objection(record: LedgerRecord) -> bool:
    """Whether a call was blocked or asked about; what anybody can have added to the ledger does not count."""
    return record["type"] == DISPATCH_TYPE and record["decision"] in OBJECTIONS and not record.get("spilled")


def is_of_doctor(record: LedgerRecord) -> bool:
    """Whether `boathook doctor` left a record: it tried the ledger, or called a command as an agent would.

    Such a call has the constant session of doctor, and no input, so that a record which says more is never taken for one.
    """
    if record["type"] not in (DISPATCH_TYPE, END_TYPE):
        return bool(record["type"] == DOCTOR_TYPE)
    tool_input = record.get("input")
    has_input = any(tool_input.values()) if isinstance(tool_input, dict) else bool(tool_input)
    return record.get("session") == PROBE_NAME and not has_input


def list_record_hooks(record: LedgerRecord) -> Iterator[str]:
    yield from (entry["hook"] for key in ("hooks", "background", "skipped") for entry in record.get(key) or ())
    if "hook" in record:
        yield record["hook"]
    yield from record.get("asking") or ()


def name_decision(record: LedgerRecord) -> str:
    """Return the decision of a dispatch, how an async hook ended, what became of a question, or the type of another record."""
    if record["type"] == DISPATCH_TYPE:
        return str(record.get("decision", ""))
    other_words = {END_TYPE: record.get("status", ""), ANSWERED_TYPE: record.get("result", "")}
    return str(other_words.get(record["type"], record["type"]))


def describe_hooks(record: LedgerRecord, *, is_utc: bool = False) -> str:
    """Return who decided or asked: the hooks of a dispatch or of a question, or what another record is about."""
    if record["type"] == DISPATCH_TYPE:
        text = ", ".join(_list_hook_texts(record))
    elif record["type"] == END_TYPE:
        text = f"{record.get('hook', '')} ended in {record.get('ms')} ms"
    elif record.get("asking"):
        text = ", ".join(_shorten_names(list(dict.fromkeys(record["asking"])), "that asked"))
    else:
        text = describe_other_record(record, is_utc=is_utc)
    return f"{text} [unverified: not in the chain]".lstrip() if record.get("spilled") else text


def describe_deciders(record: LedgerRecord, *, is_utc: bool = False) -> str:
    """Return who decided, briefly: where somebody objected, those hooks alone, and what went wrong beside them."""
    objectors = [run["hook"] for run in record.get("hooks") or () if run["decision"] == record.get("decision")]
    if record.get("decision") in ("none", None) or not objectors or record.get("spilled"):
        return describe_hooks(record, is_utc=is_utc)
    failed = [f"{run['hook']} ({run['status']})" for run in record["hooks"] if run["status"] != OK]
    return ", ".join(dict.fromkeys((*objectors, *failed)))


def describe_wait(record: LedgerRecord) -> str:
    """Return for how long the agent waited for an event, and which way it was answered; "" if no agent waited."""
    waited = f"{record['waited_ms']} ms" if "waited_ms" in record else ""
    return " ".join(filter(None, (waited, record.get("path") if record["type"] == DISPATCH_TYPE else "")))


def has_problem(record: LedgerRecord) -> bool:
    """Whether something did not go as it should: a hook that did not answer, or an agent that was not told all."""
    has_failed = any(run["status"] != OK for run in record.get("hooks") or ())
    is_missing = any(skipped.get("state") for skipped in record.get("skipped") or ())
    return has_failed or is_missing or bool(record.get("degraded"))


_ANSWERS = {
    ALLOWED: "a person allowed the call that was asked about",
    DENIED: "a person denied the call that was asked about",
    UNANSWERED: "no person answered in time, so the call was denied",
    WITHDRAWN: "the agent stopped waiting for an answer",
    KILLED: "the process that waited for an answer was ended or killed",
}


def describe_other_record(record: LedgerRecord, *, is_utc: bool = False) -> str:
    """Return what a record that is not about hooks says."""
    question = str(record.get("question") or "")[:_SHOWN_ID_CHARS]
    until = format_time({"time": record.get("until") or ""}, SHORT_TIME, is_utc=is_utc)
    if record["type"] == ALLOW_TYPE:
        return f"a person allowed the call of {question} once, until {until}"
    if record["type"] == ASKED_TYPE:
        return f"boathook waits for a person until {until}: boathook asks {question}"
    if record["type"] == REPEAT_TYPE:
        if not until:
            return f"the call of {question} is not allowed again any more"
        return f"a person allowed the call of {question} to repeat until {until}"
    if record["type"] == ANSWERED_TYPE:
        if record.get("via") == BY_REPEAT:
            return f"the call was allowed again, by an earlier answer of a person ({question})"
        text = _ANSWERS.get(record.get("result", ""), "a question was answered") + f" ({question})"
        refusals = "; ".join(record.get("refused") or ())
        return f"{text}. An answer of a process was refused: {refusals}" if refusals else text
    if record["type"] == TRUST_TYPE:
        word = {"trust": "trusted", "deny": "denied"}.get(record.get("decision", ""), "decided about")
        return f"a person {word} {record.get('hook', '')} of {record.get('project', '')} on the {record.get('via', '')}"
    if record["type"] == UNLOCK_TYPE:
        return f"a person paused self-protection until {until}" if until else "the pause of self-protection was ended"
    if record["type"] == DOCTOR_TYPE:
        return "boathook doctor tried whether the ledger can be written"
    return ", ".join(record.get("segments") or ())


def _list_hook_texts(record: LedgerRecord) -> Iterator[str]:
    yield from (text for text, is_quiet in _list_runs(record) if not is_quiet)
    yield from _shorten_names([text for text, is_quiet in _list_runs(record) if is_quiet], "without an opinion")
    yield from (f"{entry['hook']} (async)" for entry in record.get("background") or ())
    yield from _shorten_names([f"{entry['hook']} (skipped)" for entry in record.get("skipped") or ()], "skipped")
    if record.get("degraded"):
        yield f"[{record['host']} could not do all of it: boathook why {record['id']}]"


def _list_runs(record: LedgerRecord) -> Iterator[tuple[str, bool]]:
    """Yield each hook that ran, with what it decided if that was not the decision, and whether it had no opinion."""
    for run in record.get("hooks") or ():
        word = run["decision"] if run["status"] == OK else run["status"]
        word = "allowed by a person" if run.get("allowed") else word
        yield (run["hook"] if word in ("none", record["decision"]) else f"{run['hook']} ({word})"), word == "none"


def _shorten_names(names: list[str], what: str) -> list[str]:
    """Return names, or how many there are if these are too many for a line: of a pack many hooks are asked together."""
    return [f"{len(names)} {what}"] if len(names) > _MAX_NAMES else names


def describe_empty_log(folder: str, *, is_filtered: bool) -> str:
    if is_filtered and next(iter(LedgerReader(folder).read()), None) is not None:
        return "No record matches."
    when = "A record is written when a hook runs, or should have run; Python hooks need hooks.load() for it."
    return f"The ledger in {folder} is empty. {when}"
