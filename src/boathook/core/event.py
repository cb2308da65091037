"""Events and their kinds. A kind is a row of the table below, never a class or a branch."""

from __future__ import annotations

from boathook.core.json_text import JsonError, JsonLimitError, decode, describe_json_type, get_at_place, loads
from boathook.core.value import Value
from boathook.errors import BeyondLimits, NotJson, UnknownEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMON_FIELDS = ("event_type", "timestamp", "session_id", "work_dir", "context")
_TOOL_FIELDS = ("tool_name", "tool_input", "tool_use_id")
_SUBAGENT_NAMES = ("subagent_type", "subagent_name")
_SUBAGENT_FIELDS = ("subagent_name", "subagent_type", "task_description")
# What the host calls the tool, where `tool_name` is a translation.
HOST_TOOL = "host_tool_name"
# The host's key of each of ours that was renamed in `tool_input`.
HOST_KEYS = "host_tool_keys"
# Whether `tool_name` is a guess, for tools of programs that use boathook as a library.
HOST_GUESS = "host_tool_is_guess"
# The words of a shell's command, where the host sends a list of them.
HOST_WORDS = "host_tool_words"
HOST_EVENT = "host_event_name"
# The event of the host that this one was made from, because the host has none of its own.
DERIVED = "derived_from"
# Names of tools that most people know, from the agent that had hooks first. In HOOK.md either name means both.
FAMILIAR_NAMES = {
    "Shell": "Bash",
    "ReadFile": "Read",
    "WriteFile": "Write",
    "EditFile": "Edit",
    "Todo": "TodoWrite",
    "AskUser": "AskUserQuestion",
}
OTHER_NAMES = {**FAMILIAR_NAMES, **{theirs: ours for ours, theirs in FAMILIAR_NAMES.items()}}
# A patch in a call of this tool, or in a shell command that has one of these words, is taken as the files it writes.
PATCH_TOOL, SHELL_TOOLS = "PatchFile", ("Shell", "Bash")
PATCH_PROGRAMS = ("apply_patch", "applypatch")
# For each change of a file: the tool that makes it, and other names of that tool. Hooks of settings.json have no name for a tool
# that deletes, so they are asked about deletes as edits.
FILE_CHANGES = {"write": ("WriteFile", "Write"), "edit": ("EditFile", "Edit"), "delete": ("DeleteFile", "Edit")}
_STOP_FIELDS = ("stop_reason", "step_count", "final_message", "stop_hook_active", "stop_block_count")


class EventKind(Value):
    """One kind of event: its canonical name, its spellings, its own fields and what a block means there.

    `matched_fields` are those that a matcher may have a pattern for, besides the tool.
    """

    name: str
    spellings: tuple[str, ...]
    fields: tuple[str, ...]
    block: str
    extension: bool = False
    rewrites_input: bool = False
    rewrites_output: bool = False
    matched_fields: tuple[str, ...] = ()

    @property
    def has_tool(self) -> bool:
        """Whether the events carry a tool call, so that matchers apply."""
        return "tool_name" in self.fields

    @property
    def is_pre(self) -> bool:
        """Whether the event comes before what it is about."""
        return self.name.startswith("pre-") or self.name == "permission-request"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<EventKind {self.name}>"


RECORDED = "recorded only"
KINDS: tuple[EventKind, ...] = (
    EventKind("pre-session", ("session_start", "session-start", "SessionStart"), ("model", "args", "source"),
        "the session is refused", matched_fields=("source", "model")),
    EventKind("post-session", ("session_end", "session-end", "SessionEnd"),
        ("duration_seconds", "total_steps", "exit_reason"), RECORDED, matched_fields=("exit_reason",)),
    EventKind("pre-agent-turn", ("before_agent", "before-agent", "pre-agent", "UserPromptSubmit", "ExecutionStart"),
        ("prompt",), "the turn does not run; the reason goes to the user", matched_fields=("prompt",)),
    EventKind("post-agent-turn", ("after_agent", "after-agent", "post-agent", "ExecutionEnd"),
        ("duration_seconds", "step_count", "final_message"), "recorded; the reason is offered to the next turn"),
    EventKind("pre-agent-turn-stop", ("before_stop", "Stop"), _STOP_FIELDS,
        "quality gate: the agent goes on, with the reason as feedback"),
    EventKind("post-agent-turn-stop", (), _STOP_FIELDS, RECORDED),
    EventKind("pre-tool-call", ("before_tool", "before-tool", "pre-tool-use", "PreToolUse"), _TOOL_FIELDS,
        "the tool does not run; the reason is the tool's error", rewrites_input=True),
    EventKind("post-tool-call", ("after_tool", "after-tool", "post-tool-use", "PostToolUse"),
        (*_TOOL_FIELDS, "tool_output", "duration_ms"), "the reason is fed to the model", rewrites_output=True,
        matched_fields=("tool_output",)),
    EventKind("post-tool-call-failure", ("after_tool_failure", "PostToolUseFailure"),
        (*_TOOL_FIELDS, "error", "duration_ms"), "the reason is fed to the model", matched_fields=("error",)),
    EventKind("pre-subagent", ("subagent_start", "SubagentStart"), _SUBAGENT_FIELDS, "the subagent is refused",
        matched_fields=_SUBAGENT_NAMES),
    EventKind("post-subagent", ("subagent_stop", "SubagentStop"), (*_SUBAGENT_FIELDS, "result"),
        "the subagent goes on, where the host can", matched_fields=_SUBAGENT_NAMES),
    EventKind("pre-context-compact", ("pre_compact", "pre-compact", "PreCompact"), ("trigger", "token_count"),
        "compaction is skipped, where the host can", matched_fields=("trigger",)),
    EventKind("post-context-compact", ("PostCompact",), ("trigger", "token_count", "token_count_after"), RECORDED,
        matched_fields=("trigger",)),
    EventKind("permission-request", ("PermissionRequest",), _TOOL_FIELDS, "denied", extension=True,
        rewrites_input=True),
    EventKind("notification", ("Notification",), ("message", "title"), "none", extension=True,
        matched_fields=("notification_type", "message")),
    EventKind("pre-step", ("BeforeStep",), ("step_count",), "none; a stop ends the run", extension=True),
    EventKind("post-step", ("AfterStep",), ("step_count",), "none; a stop ends the run", extension=True),
    EventKind("turn-failure", ("StopFailure", "AgentFailed"), ("error",), "none", extension=True,
        matched_fields=("error",)),
)  # fmt: skip

# An event of a host that has no counterpart here.
UNMAPPED = EventKind("unmapped", (), (), "none", extension=True)

SPELLINGS: dict[str, EventKind] = {spelling: kind for kind in KINDS for spelling in (kind.name, *kind.spellings)}
PRE_SESSION, POST_SESSION = SPELLINGS["pre-session"], SPELLINGS["post-session"]
PRE_TURN, POST_TURN = SPELLINGS["pre-agent-turn"], SPELLINGS["post-agent-turn"]
PRE_STOP, POST_STOP = SPELLINGS["pre-agent-turn-stop"], SPELLINGS["post-agent-turn-stop"]
# At these events a block sends an agent or a subagent back to work, a few times at most.
STOP_KINDS = (PRE_STOP, SPELLINGS["post-subagent"])
PRE_TOOL, POST_TOOL = SPELLINGS["pre-tool-call"], SPELLINGS["post-tool-call"]
# At these events a person can allow a call that hooks object to.
CALL_KINDS = (PRE_TOOL, SPELLINGS["permission-request"])
# After these events a session may refuse its stop as often as before.
RESET_KINDS = (PRE_TURN, POST_TURN, POST_STOP, POST_SESSION)


def find_kind(name: str) -> EventKind:
    kind = SPELLINGS.get(name)
    if kind is None:
        from boathook.core.near_words import ask_if_meant, find_near_word

        near = find_near_word(name, SPELLINGS)
        raise UnknownEvent(name, near or None, ask_if_meant(near) if near else "")
    return kind


def parse_host_object(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise NotJson("standard input is empty: send the event as one JSON object")
    try:
        fields = loads(decode(data))
    except JsonLimitError as error:
        message = f"the event on standard input is beyond limits, so no hook could look at it: {error}"
        raise BeyondLimits(message) from None
    except JsonError as error:
        raise NotJson(f"the event on standard input is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise NotJson(f"the event on standard input is {describe_json_type(fields)}, not a JSON object")
    found: dict[str, Any] = fields  # pyright: ignore[reportUnknownVariableType]
    return found


class Event(Value):
    """One thing that happens in an agent. `data` holds the fields of its kind and whatever else the host sent.

    `tool_aliases` are other names of the tool, by which a matcher may mean it.
    """

    kind: EventKind
    timestamp: str = ""
    session_id: str = ""
    work_dir: str = ""
    context: Mapping[str, Any] = {}
    data: Mapping[str, Any] = {}
    tool_aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: str | EventKind, **fields: Any) -> Event:
        """Make an event from a kind (any spelling) and its fields by name."""
        found = kind if isinstance(kind, EventKind) else find_kind(kind)
        common = {name: fields.pop(name) for name in COMMON_FIELDS if name in fields}
        common.pop("event_type", None)
        return cls(found, data=fields, **common)

    @property
    def tool_name(self) -> str:
        """Return the tool's name, empty where there is none."""
        name = self.data.get("tool_name", "")
        return name if isinstance(name, str) else ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Every name by which a matcher may mean the tool."""
        return tuple(dict.fromkeys((self.tool_name, *self.tool_aliases))) if self.tool_aliases else (self.tool_name,)

    @property
    def tool_input(self) -> Any:
        """Return the tool's input, an empty object where there is none."""
        found = self.data.get("tool_input")
        return {} if found is None else found

    @property
    def patch(self) -> str:
        """Return the text of a tool call that may have a patch in it, "" for any other call."""
        key = "patch" if self.tool_name == PATCH_TOOL else "command" if self.tool_name in SHELL_TOOLS else ""
        text = get_at_place(self.tool_input, key) if key else ""
        if not isinstance(text, str):
            return ""
        return text if key == "patch" or any(name in text for name in PATCH_PROGRAMS) else ""

    def with_data(self, **changes: Any) -> Event:
        """Return the event with some of its own fields changed."""
        return self.replace(data={**self.data, **changes})

    def to_fields(self, spelling: str | None = None) -> dict[str, Any]:
        """Return all fields as the protocol orders them, the kind in the given spelling."""
        return {
            "event_type": spelling or self.kind.name,
            "timestamp": self.timestamp,
            "session_id": self.session_id,
            "work_dir": self.work_dir,
            "context": self.context,
            **self.data,
        }
