"""Says whether guards held against what an agent was made to try, by comparing a run with them and one without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from boathook.hosts.host import Host, load_host
from e2e.attempts import ALLOWED, CALLS, COLUMNS, FILES, TASK, TOGETHER, VARIABLES, Attempt
from e2e.guards import WITHOUT, sessions, variant_of
from e2e.hosts import Agent
from e2e.judge import FAILED, IMPOSSIBLE, SEEN, Result, faults, find_next_request, offered
from e2e.stage import Observation

WRITERS = ("WriteFile", "EditFile", "DeleteFile", "PatchFile")


def judge_guards(who: Agent, model: str, runs: Mapping[str, Observation]) -> dict[str, Result]:
    """Give the result of every column that was tried with a model."""
    name, table = variant_of(model), load_host(who.name)
    control = runs[f"{name}-{WITHOUT}"]
    tried = [
        (one, runs[run])
        for run, session in sessions(who).items()
        if session.is_guarded and session.model == model
        for one in session.attempts
    ]
    broken = [f"the run {run}: {error}" for run, seen in runs.items() for error in faults(seen, table)]
    columns = [column for column in COLUMNS if any(one.column == column for one, _ in tried)]
    if broken:
        return {column: Result(FAILED, "; ".join(broken)) for column in columns}
    missing = list(_untried(who, [one for one, _ in tried], control, table))
    found = {}
    for column in columns:
        cannot = CALLS[who.name, model].cannot.get(column, "")
        pairs = [(one, seen) for one, seen in tried if one.column == column]
        wrong = [*(missing if column == FILES else ())]
        for one, seen in pairs:
            complaints = _slips(one, seen, control) if cannot else _complaints(one, seen, control, table)
            wrong += [f"{one.label or one.step.name}: {text}" for text in complaints]
        found[column] = _result(column, wrong, cannot, [one.label for one, _ in pairs], table)
    if model == who.models[0]:
        missing_columns = {
            VARIABLES: f"{table.title} has no file for variables of a session",
            ALLOWED: table.block_side_effect,
        }
        found |= {name: Result(IMPOSSIBLE, why) for name, why in missing_columns.items() if name not in found}
    return found


def _result(column: str, wrong: list[str], cannot: str, labels: list[str], table: Host) -> Result:
    if wrong:
        return Result(FAILED, "; ".join(wrong))
    if cannot or (column == TOGETHER and table.block_side_effect):
        return Result(IMPOSSIBLE, cannot or table.block_side_effect)
    return Result(SEEN, ", ".join(dict.fromkeys(filter(None, labels))))


def _untried(who: Agent, tried: list[Attempt], seen: Observation, table: Host) -> Iterator[str]:
    """Say which of the tools for files that an agent offers no attempt calls."""
    tools, told = offered(seen, who)
    called = {one.step.tool for one in tried}
    for name in sorted({*tools, *told} - called):
        if table.tools.get(name, ("",))[0] in WRITERS:
            yield f"the tool {name} is offered, but was not tried (e2e/attempts.py)"


def list_effects(seen: Observation) -> set[str]:
    """Give what happened in a run: the files that differ, and the subagent's task if one asked the model about it."""
    asked = any(TASK in request.body and not request.is_own for request in seen.requests)
    return {*seen.changed, *([TASK] if asked else [])}


def _complaints(attempt: Attempt, hooked: Observation, control: Observation, table: Host) -> Iterator[str]:
    """Say what is wrong with an attempt."""
    guarded, free = list_effects(hooked), list_effects(control)
    # an agent that ends at a refusal has no next request, and makes no other call
    ends = bool(table.block_side_effect)
    following = find_next_request(hooked, attempt.step.name)
    if attempt.step.name not in [one.step for one in hooked.own]:
        yield "it was never tried"
    elif attempt.reason and not ends and (following is None or attempt.reason not in following.body):
        yield "the reason is not in the next request"
    if attempt.reason and any(attempt.reason in one.body for one in control.requests):
        yield "the reason was there without hooks"
    if attempt.first and attempt.first_reason:
        after_first = find_next_request(hooked, attempt.first.name)
        if after_first is None or attempt.first_reason not in after_first.body:
            yield "the reason is not in the request after the first call"
    if attempt.missed_hook and not any(_misses(one, attempt.missed_hook) for one in hooked.ledger):
        yield f"the ledger does not say that {attempt.missed_hook} was not asked"
    yield from (
        f"without hooks {name} did not happen" for name in (*attempt.refused, *attempt.kept) if name not in free
    )
    yield from (f"without hooks {name} happened" for name in attempt.made if name in free)
    yield from (f"{name} happened" for name in attempt.refused if name in guarded)
    yield from (f"{name} did not happen" for name in (*attempt.made, *attempt.kept) if name not in guarded and not ends)


def _misses(record: Mapping[str, Any], hook: str) -> bool:
    """Whether a record says that a hook should have been asked about a call, and was not."""
    return record.get("event") == "pre-tool-call" and any(hook == one.get("hook") for one in record.get("skipped", ()))


def _slips(attempt: Attempt, hooked: Observation, control: Observation) -> Iterator[str]:
    """Say what is wrong with an attempt that no guard can refuse in this agent: it must be so in both runs."""
    for seen in (hooked, control):
        missing = [name for name in (*attempt.refused, *attempt.kept) if name not in list_effects(seen)]
        yield from (
            f"{name} did not happen in the run {seen.variant}, though no guard can refuse it" for name in missing
        )
