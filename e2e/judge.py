"""Says of five behaviours whether they were seen, by comparing a run with hooks and one without. Effects count, not calls.

What an agent cannot do is known from its table in `boathook.hosts.host`; then it must not be seen, and boathook must have told it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from boathook.hosts.host import Host, HostEvent
from boathook.hosts.tool_calls import translate_call
from e2e.hosts import Agent, agent
from e2e.server import Request
from e2e.stage import BACKGROUND, CONTROL, LOOK_UP, STEPS, Observation
from e2e.tiny_server import TOOLS as SERVER_TOOLS
from e2e.tools import HARMLESS, UNHEARD
from e2e.wires import Offer, wire_of

SEEN, IMPOSSIBLE, FAILED = "seen", "not possible", "FAILED"
BLOCKED, STOPPED = "marker-block-c41f", "marker-stop-60be"
CONTEXTS = {
    "pre-session": "marker-pre-session-81d2",
    "pre-agent-turn": "marker-pre-agent-turn-5b07",
    "pre-tool-call": "marker-pre-tool-call-e9a3",
    "post-tool-call": "marker-post-tool-call-27f6",
}
WANTED = {"input": "a hook changed the input", "context": "a hook has context", "block": "a hook wanted to block"}
BEFORE, AFTER, FORBIDDEN = "before-word", "after-word", "forbidden-word"
NAMES = [step.name for step in STEPS]
KEYS = {"Shell": "command", "ReadFile": "file_path", "WriteFile": "file_path", "EditFile": "file_path"}


@dataclass(frozen=True)
class Result:
    """What became of one behaviour, and what there is to say about it."""

    state: str
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A run with hooks, the same without, and what is known of the agent."""

    hooked: Observation
    control: Observation
    table: Host

    def row(self, kind: str) -> HostEvent | None:
        """Give the agent's event of a kind."""
        return next((row for row in self.table.events if row.kind_name == kind), None)

    def can(self, kind: str, what: str) -> bool:
        """Say whether the agent was seen to take something at an event."""
        row = self.row(kind)
        return row is not None and bool(row.get_template(what)) and not row.is_untested(what)

    def cannot(self, kind: str, what: str, words: str) -> tuple[str, list[str]]:
        """Return why something is not possible, and what is wrong with how that was reported."""
        row = self.row(kind)
        if row is None:
            return f"{self.table.title} has no event {kind}", []
        why = f"{self.table.title} cannot {words} at {row.name}"
        return why, [] if self._told(row, what) else [f"that {why} was not told"]

    def _told(self, row: HostEvent, what: str) -> bool:
        notes = [note for record in self.hooked.ledger for note in record.get("degraded", ())]
        ends = (f"which {self.table.title} cannot at {row.name}", f"which {self.table.title} cannot take at {row.name}")
        return any(note.startswith(WANTED[what]) and any(end in note for end in ends) for note in notes)


def judge(hooked: Observation, control: Observation, table: Host) -> dict[str, Result]:
    """Give the result for every behaviour."""
    case = Case(hooked, control, table)
    broken = [f"the run {one.variant}: {error}" for one in (hooked, control) for error in faults(one, table)]
    if broken:
        return {name: Result(FAILED, "; ".join(broken)) for name in BEHAVIOURS}
    return {name: behaviour(case) for name, behaviour in BEHAVIOURS.items()}


def faults(seen: Observation, table: Host) -> Iterable[str]:
    """Say why nothing can be concluded from a run."""
    if seen.error:
        yield seen.error
    elif not seen.own:
        yield f"the agent asked the model nothing; it said: {seen.said[-500:]}"
    elif seen.code != 0 and not (table.block_side_effect and not seen.variant.endswith(CONTROL)):
        yield f"exit code {seen.code}; it said: {seen.said[-500:]}"
    else:
        yield from _tool_faults(seen, agent(table.name), table)


def offered(seen: Observation, who: Agent) -> tuple[Offer, set[str]]:
    """Give the tools that the model was offered with their keys, and the names of those that it was only told of."""
    tools: Offer = {}
    told: set[str] = set()
    for request in seen.requests:
        wire = wire_of(request.path)
        with suppress(ValueError):
            body = json.loads(request.body)
            if wire is not None and isinstance(body, dict):
                tools |= wire.tools(body)
                said = {**body, "tools": []}
                tools |= who.deferred.tools(said) if who.deferred else {}
                told |= set(who.deferred.names(said) if who.deferred else ())
    return tools, told


def _tool_faults(seen: Observation, who: Agent, table: Host) -> Iterable[str]:
    """Say which tools no guard would know: by name, or by the key that has what guards look at."""
    tools, told = offered(seen, who)
    known = {**HARMLESS.get(who.name, {}), **UNHEARD.get(who.name, {})}
    if who.deferred and who.deferred.search in tools and not told:
        yield f"{who.deferred.search} is offered, but the list of what it finds is not where it was"
    for name in sorted(one for one in {*tools, *told} if not one.endswith(tuple(SERVER_TOOLS))):
        alias = who.aliases.get(name)
        mapped = table.tools.get(alias.name if alias else name)
        if mapped is None:
            if name not in known:
                yield f"the tool {name} is neither in the table of {table.title} nor known as harmless (e2e/tools.py)"
        elif name not in tools:
            if mapped[0] in KEYS and seen.variant == CONTROL:
                yield f"the tool {name} is {mapped[0]} here, but its input was not looked up"
        elif key := KEYS.get(mapped[0]):
            given = {alias.keys.get(one, one) if alias else one: _sample(schema) for one, schema in tools[name].items()}
            _, found, _ = translate_call(table.tools, alias.name if alias else name, given)
            if not isinstance(found.get(key), str):
                yield f"the tool {name} is {mapped[0]} here, but nothing of its input becomes {key}: {', '.join(given)}"


def _sample(schema: Any) -> Any:
    """Give a value as a schema wants it, as far as texts are concerned."""
    if not isinstance(schema, dict):
        return None
    either = next((schema[word] for word in ("anyOf", "oneOf") if schema.get(word)), None)
    if either is not None:
        return next((found for one in either if (found := _sample(one)) is not None), None)
    kinds = schema.get("type", "")
    kind = next((str(one).lower() for one in (kinds if isinstance(kinds, list) else [kinds]) if one != "null"), "")
    if kind == "array":
        return [_sample(schema.get("items"))]
    if kind == "object":
        return {key: _sample(value) for key, value in schema.get("properties", {}).items()}
    return "text" if kind == "string" else None


def _result(complaints: Iterable[tuple[bool, str]], note: str = "", state: str = SEEN) -> Result:
    """Give a result: all complaints whose condition does not hold make it a failure."""
    wrong = [text for holds, text in complaints if not holds]
    return Result(FAILED, "; ".join(wrong)) if wrong else Result(state, note)


def _holds(seen: Observation, marker: str) -> bool:
    return any(marker in request.body for request in seen.requests)


def find_next_request(seen: Observation, step: str) -> Request | None:
    """Give the agent's own request that followed a step."""
    pairs = zip(seen.own, seen.own[1:], strict=False)
    return next((following for this, following in pairs if this.step == step), None)


def _block(case: Case) -> Result:
    hooked, control = case.hooked, case.control
    following = find_next_request(hooked, "block")
    reached_model = following is not None and BLOCKED in following.body
    return _result(
        [
            (FORBIDDEN in control.files, "without hooks the command did not run"),
            (not _holds(control, BLOCKED), "the reason was there without hooks"),
            ("block" in [one.step for one in hooked.own], "the command was never called for"),
            (FORBIDDEN not in hooked.files, "the command ran"),
            (reached_model or bool(case.table.block_side_effect), "the reason is not in the next request"),
        ],
        "; ".join([*([] if reached_model else [case.table.block_side_effect]), *_gaps(case)]),
    )


def _gaps(case: Case) -> list[str]:
    """Give what is known to slip past guards in an agent, of the tools that it offered."""
    tools, _ = offered(case.hooked, agent(case.table.name))
    return [why for tool, why in UNHEARD.get(case.table.name, {}).items() if tool in tools]


def _rewrite(case: Case) -> Result:
    hooked, control = case.hooked.files, case.control.files
    complaints = [(BEFORE in control and AFTER not in control, "without hooks the command as it was did not run")]
    if case.can("pre-tool-call", "input"):
        complaints += [(AFTER in hooked, "the new command did not run"), (BEFORE not in hooked, "the old command ran")]
        return _result(complaints)
    why, untold = case.cannot("pre-tool-call", "input", "take another input")
    complaints += [(AFTER not in hooked, "the new command ran, though it cannot")]
    complaints += [(BEFORE not in hooked, "the old command ran, though a hook had changed it")]
    return _result([*complaints, *((False, text) for text in untold)], why, IMPOSSIBLE)


def _context(case: Case) -> Result:
    expected = [kind for kind in CONTEXTS if case.can(kind, "context")]
    allowed = [kind for kind in CONTEXTS if (row := case.row(kind)) is not None and row.context]
    arrived = [kind for kind, marker in CONTEXTS.items() if any(marker in one.body for one in case.hooked.own)]
    early = [kind for kind, marker in CONTEXTS.items() if _holds(case.control, marker)]
    complaints = [(not early, f"there without hooks: {', '.join(early)}")]
    complaints += [(kind in arrived, f"that of {kind} did not arrive") for kind in expected]
    complaints += [(kind in allowed, f"that of {kind} arrived, though it cannot") for kind in arrived]
    if arrived or expected:
        return _result(complaints, ", ".join(arrived))
    why, untold = case.cannot("pre-agent-turn", "context", "take context")
    return _result([*complaints, *((False, text) for text in untold)], why, IMPOSSIBLE)


def _stop(case: Case) -> Result:
    hooked, control = ([one.step for one in seen.own if one.step != LOOK_UP] for seen in (case.hooked, case.control))
    complaints = [(control == NAMES[:-1], f"without hooks the agent made the requests {', '.join(control)}")]
    if case.can("pre-agent-turn-stop", "block"):
        following = find_next_request(case.hooked, "stop")
        complaints += [
            (not _holds(case.control, STOPPED), "the reason was there without hooks"),
            (hooked == NAMES, f"the agent made the requests {', '.join(hooked)}"),
            (following is not None and STOPPED in following.body, "the reason is not in the request after the stop"),
        ]
        return _result(complaints)
    why, untold = case.cannot("pre-agent-turn-stop", "block", "be sent back to work")
    complaints += [("again" not in hooked, "the agent went on, though it cannot")]
    return _result([*complaints, *((False, text) for text in untold)], why, IMPOSSIBLE)


def _background(case: Case) -> Result:
    following, ended = find_next_request(case.hooked, "plain"), case.hooked.files.get(BACKGROUND)
    return _result(
        [
            (BACKGROUND not in case.control.files, "it was there without hooks"),
            (ended is not None, "the hook did not come to its end"),
            (following is not None, "there was no request after the tool call"),
            (not (ended and following) or following.at < ended, "the agent waited for it"),
        ]
    )


BEHAVIOURS: dict[str, Callable[[Case], Result]] = {
    "block": _block,
    "rewrite": _rewrite,
    "context": _context,
    "stop": _stop,
    "background": _background,
}


def to_json(results: dict[str, Result]) -> dict[str, dict[str, str]]:
    """Give results for a file."""
    found: dict[str, dict[str, str]] = json.loads(json.dumps({name: vars(one) for name, one in results.items()}))
    return found
