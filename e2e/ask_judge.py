"""Says whether questions reached a person and their answers counted, by the files, the requests and the records of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from boathook.core.verdict import WITHDRAWN
from boathook.hosts.host import Host
from e2e.asked_calls import ASK_SESSIONS, AskedCall
from e2e.judge import FAILED, IMPOSSIBLE, SEEN, Result, faults, find_next_request
from e2e.people import KILL
from e2e.stage import Observation

KILLED_CODE = -9


def judge_questions(runs: Mapping[str, Observation], table: Host) -> dict[str, Result]:
    """Give the result of every column."""
    complaints: dict[str, list[str]] = {}
    for name, seen in runs.items():
        session = ASK_SESSIONS[name]
        # An agent at a terminal waits for more when it is done.
        is_killed = session.is_attended or any(call.meanwhile == KILL for call in session.calls)
        broken = [f"the run {name}: {text}" for text in _list_faults(seen, table, is_killed=is_killed)]
        for call in session.calls:
            wrong = broken or [f"{call.name}: {text}" for text in find_call_complaints(call, seen)]
            complaints.setdefault(call.column, []).extend(wrong)
    texts = {column: "; ".join(dict.fromkeys(wrong)) for column, wrong in complaints.items()}
    found = {column: Result(FAILED if text else SEEN, text) for column, text in texts.items()}
    columns = [call.column for session in ASK_SESSIONS.values() for call in session.calls]
    cannot = f"{table.title} asks no person when a hook wants that"
    return found | {column: Result(IMPOSSIBLE, cannot) for column in columns if column not in found}


def _list_faults(seen: Observation, table: Host, *, is_killed: bool) -> Iterator[str]:
    """Say why nothing can be concluded from a run; one in which the agent was killed ends as killed processes do."""
    if is_killed and seen.code != KILLED_CODE and not seen.error:
        yield f"the agent was not killed, it ended with exit code {seen.code}"
    elif is_killed and not seen.error:
        return
    else:
        yield from faults(seen, table)


def find_call_complaints(call: AskedCall, seen: Observation) -> Iterator[str]:
    """Say what is wrong with one call."""
    if call.name not in [one.step for one in seen.own]:
        yield "it was never tried"
        return
    is_made = call.name in seen.files
    if is_made != call.runs:
        yield "it ran" if is_made else "it did not run"
    following = find_next_request(seen, call.name)
    if call.reason and (following is None or call.reason not in following.body):
        yield f"'{call.reason}' is not in the next request"
    yield from _find_record_complaints(call, seen)


def _find_record_complaints(call: AskedCall, seen: Observation) -> Iterator[str]:
    """Say what is wrong with the records of a call: that of the call, of the question, and of what became of it."""
    records = [one for one in seen.ledger if one.get("event") == "pre-tool-call" and one.get("type") == "dispatch"]
    calls = [one for one in records if f"touch {call.name};" in str(one.get("input", {}).get("command", ""))]
    results = [one.get("asked", {}).get("result", "") for one in calls]
    # A call whose agent was killed has no record of its own if its hook process was killed, too.
    if results != [call.result] and not (call.result == WITHDRAWN and not results):
        yield f"the records of the call have the results {results}"
    asking = [run["hook"] for one in calls for run in one["hooks"]]
    if calls and call.hook not in asking:
        yield f"{call.hook} did not ask about it"
    yield from _find_answer_complaints(call, seen, calls)


def _find_answer_complaints(call: AskedCall, seen: Observation, calls: list[dict[str, Any]]) -> Iterator[str]:
    ids = [one["asked"]["question"] for one in calls if "asked" in one]
    answers = [one for one in seen.ledger if one.get("type") == "answered"]
    if call.result == WITHDRAWN:
        found = [one for one in answers if one["result"] == WITHDRAWN]
    else:
        found = [one for one in answers if one["question"] in ids]
    if [one["result"] for one in found] != [call.result] * bool(call.result):
        yield f"the records of answers are {[one['result'] for one in found]}"
    refusals = " ".join(text for one in found for text in one.get("refused", ()))
    yield from (f"no answer was refused because {text}" for text in call.refused if text not in refusals)
