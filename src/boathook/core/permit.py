"""Objections of hooks to one call, the question to a person that they make, and the permit that lifts them once."""

# The reason of an objection is not compared: a hook may put the time into it, and a model that judges calls words it anew each
# time. The person has seen the whole call, and the same hook objects to the same input of it, in the same way.

from __future__ import annotations

from boathook.core.event import HOST_TOOL
from boathook.core.hashing import hexdigest
from boathook.core.hook import NORMAL_ASK, STRONG_ASK
from boathook.core.json_text import canonical_json
from boathook.core.outcome import NOTHING
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Self

    from boathook.core.event import Event
    from boathook.core.verdict import Call, Run

PERMIT_SECONDS = 600.0
# How long a call can be allowed again without a question.
REPEAT_SECONDS = 900.0
# How many characters of a digest a person types.
TYPED_CHARS = 4
# How a reason ends, before what to do about it, if no person can allow the call yet.
FACTOR_FIRST = "Set a second factor first"
_BUILT_IN_GUARD = ("self-protection", "built-in")


class Objection(Value):
    """That a hook wants a call refused, or a person asked: which hook, how, and the digest of the input that it saw."""

    hook: str
    scope: str
    source: str
    path: str
    place: str
    status: str
    decision: str
    seen: str
    file: str = ""
    # Whether its hook wants a second factor: `ask` of the hook.
    ask: str = NORMAL_ASK
    reason: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return self.to_tuple()[:-1]

    @property
    def is_built_in(self) -> bool:
        return (self.hook, self.source) == _BUILT_IN_GUARD

    @property
    def needs_factor(self) -> bool:
        return self.ask == STRONG_ASK


class Question(Value):
    """A call that hooks object to, as a person is asked about it; `id` is that of its record, `time` in seconds since 1970."""

    id: str
    time: float
    host: str
    project: str
    session: str
    event: str
    work_dir: str
    tool: str
    host_tool: str
    tool_input: Any
    objections: tuple[Objection, ...]

    @property
    def asker(self) -> str:
        """Return who asks: the session, or the folder if the agent names no session."""
        return self.session or self.work_dir

    @property
    def digest(self) -> str:
        """Identify the call: its session and its number are not part of it, because an agent that tries again has new ones."""
        parts = (self.host, self.project, self.event, self.work_dir, self.tool, self.host_tool, self.tool_input)
        return hexdigest(canonical_json(["boathook call 1", *parts]))

    @property
    def needs_factor(self) -> bool:
        """Whether a yes to it needs a second factor, because one of its hooks wants that."""
        return any(objection.needs_factor for objection in self.objections)

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "objections": [one.to_dict() for one in self.objections]}

    @classmethod
    def parse(cls, fields: Any) -> Question:
        """Make a question from JSON; TypeError if it is not one."""
        others = {"time": float, "tool_input": object, "objections": list}
        return cls(**_parse_objections(check_field_types(fields, {**dict.fromkeys(cls.FIELDS, str), **others})))


class RecordedPermit(Value):
    """A person's permission for a call; it counts from `begin` until `end`, if the ledger has its record at `record`."""

    id: str
    digest: str
    begin: float
    end: float
    record: str
    objections: tuple[Objection, ...]

    # For how long one counts at most. Without a type, because it is not a field.
    _seconds = 0.0

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "objections": [one.to_dict() for one in self.objections]}

    @classmethod
    def parse(cls, fields: Any) -> Self:
        """Make it from JSON; TypeError if it is not one."""
        numbers = {"begin": float, "end": float, "objections": list}
        return cls(**_parse_objections(check_field_types(fields, {**dict.fromkeys(cls.FIELDS, str), **numbers})))

    def counts_at(self, now: float) -> bool:
        """Whether it counts now: not before it began, as after a clock was set back, and for no longer than any may."""
        return self.begin <= now < self.end <= self.begin + self._seconds


class CallPermit(RecordedPermit):
    """It is for the next time that the call is made; `factor` identifies the second factor that was checked, if one was."""

    factor: str

    _seconds = PERMIT_SECONDS

    def has_factor(self, factor: str) -> bool:
        """Whether the second factor that its hooks want was checked, as it is set where the call is made now."""
        return bool(factor and factor == self.factor) or not any(one.needs_factor for one in self.objections)


class RepeatPermit(RecordedPermit):
    """It is for each time that the call is made; `text` is one line about it."""

    text: str

    _seconds = REPEAT_SECONDS


def check_field_types(fields: Any, types: Mapping[str, type]) -> dict[str, Any]:
    """Return fields from JSON; TypeError if one is missing or wrong, or if there is another one. `object` is any type."""
    checked: dict[str, Any] = dict(fields) if isinstance(fields, dict) else {}  # pyright: ignore[reportUnknownArgumentType]
    if checked.keys() != types.keys():
        raise TypeError("another set of fields")
    for name, wanted in types.items():
        if type(checked[name]) is not wanted and wanted is not object:
            raise TypeError(f"'{name}' has another type")
    return checked


def _parse_objections(fields: dict[str, Any]) -> dict[str, Any]:
    types = dict.fromkeys(Objection.FIELDS, str)
    return {**fields, "objections": tuple(Objection(**check_field_types(one, types)) for one in fields["objections"])}


class UsedPermit:
    """A permit that was taken for a call: each of its objections is lifted once."""

    def __init__(self, permit: CallPermit) -> None:
        self.permit = permit
        self._left = [objection.key for objection in permit.objections]

    def lift(self, objection: Objection) -> bool:
        try:
            self._left.remove(objection.key)
        except ValueError:
            return False
        return True


class CallObjections:
    """The objections to one call. The first of them looks for a permit, so that a call without any reads no file."""

    def __init__(self, question: Question, take_permit: Callable[[str], UsedPermit | None]) -> None:
        self._question, self._take_permit = question, take_permit
        self._used: UsedPermit | None = None
        self._has_looked = False
        self._open: list[Objection] = []

    def judge(self, call: Call, run: Run) -> Run:
        """Return the run of a hook that objects, without its objection if a person has permitted it."""
        objection = make_objection(call, run)
        if not self._has_looked:
            self._has_looked = True
            self._used = self._take_permit(self._question.digest)
        if self._used is None or not self._used.lift(objection):
            self._open.append(objection)
            return run
        permit_id = self._used.permit.id
        note = f"allowed once by a person ({permit_id}): its objection ({objection.decision}) does not count"
        return run.replace(outcome=NOTHING, notes=(*run.notes, note), allowed=permit_id)

    def make_question(self, record_id: str) -> Question | None:
        """Return what is still to be asked: the new objections, and those that a person has already seen; None if nothing is."""
        if not self._open:
            return None
        known = self._used.permit.objections if self._used is not None else ()
        return self._question.replace(id=record_id, objections=(*self._open, *known))

    @property
    def has_built_in(self) -> bool:
        return any(one.is_built_in for one in self._open)

    @property
    def has_block(self) -> bool:
        return any(one.decision == "block" for one in self._open)

    @property
    def has_ask(self) -> bool:
        return any(one.decision == "ask" for one in self._open)


def make_question(event: Event, host: str, project: str, now: float) -> Question:
    host_tool = event.data.get(HOST_TOOL)
    shown_tool = host_tool if isinstance(host_tool, str) else ""
    about = (host, project, event.session_id, event.kind.name, event.work_dir, event.tool_name, shown_tool)
    return Question("", now, *about, event.tool_input, ())


def make_objection(call: Call, run: Run) -> Objection:
    hook, event = run.hook, call.event
    seen = hexdigest(canonical_json([event.tool_name, event.tool_input]))
    reason = run.outcome.reason or run.error
    about = (hook.name, hook.scope, hook.source, hook.path, hook.place, run.status, run.outcome.decision.word)
    return Objection(*about, seen, call.file, getattr(hook, "ask", NORMAL_ASK), reason)


def describe_permission(record_id: str) -> str:
    """Return the sentence by which a model passes on how a person can allow a call."""
    return f"A person can allow this call once: boathook allow {record_id} (in their own terminal)."


def add_permission(reasons: Iterable[str], record_id: str) -> tuple[str, ...]:
    """Return reasons that end with how a person can allow the call, once."""
    texts, sentence = tuple(reasons), describe_permission(record_id)
    if record_id and texts and FACTOR_FIRST in texts[-1]:
        first, who = texts[-1].removesuffix("."), "Both are for a person, in their own terminal."
        return (*texts[:-1], f"{first}, then: boathook allow {record_id}. {who}")
    return texts if not record_id or any(sentence in text for text in texts) else (*texts, sentence)
