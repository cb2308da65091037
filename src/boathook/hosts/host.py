"""The agents that call this engine, as rows: one module per host, so that a run loads one of them.

A saying is how something is told to a host: pairs of a place and a value. `$` stands for what is said; the places `exit`,
`stdout` and `stderr` are not JSON but what their names say. What a host cannot be told is an empty saying.
"""

from __future__ import annotations

from boathook.core.event import SPELLINGS, UNMAPPED
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.core.event import EventKind

    Saying = tuple[tuple[str, Any], ...]
    Renames = tuple[tuple[str, str], ...]
    Tools = Mapping[str, tuple[str, Renames]]

NAMES = (
    "claude",
    "codex",
    "copilot",
    "gemini",
    "kimi-code",
    "kimi-cli",
    "qwen",
    "cline",
    "opencode",
    "cursor",
    "vscode",
)
CAPABILITIES = ("block", "ask", "allow", "stop", "input", "output", "context")

NESTED = "hookSpecificOutput"
DENY: Saying = ((f"{NESTED}.permissionDecision", "deny"), (f"{NESTED}.permissionDecisionReason", "$"))
ASK: Saying = ((f"{NESTED}.permissionDecision", "ask"), (f"{NESTED}.permissionDecisionReason", "$"))
ALLOW: Saying = ((f"{NESTED}.permissionDecision", "allow"), (f"{NESTED}.permissionDecisionReason", "$"))
INPUT: Saying = ((f"{NESTED}.updatedInput", "$"),)
CONTEXT: Saying = ((f"{NESTED}.additionalContext", "$"),)
REFUSE: Saying = ((f"{NESTED}.decision.behavior", "deny"), (f"{NESTED}.decision.message", "$"))
GRANT: Saying = ((f"{NESTED}.decision.behavior", "allow"),)
BLOCK: Saying = (("decision", "block"), ("reason", "$"))
END: Saying = (("continue", False), ("stopReason", "$"))
EXIT: Saying = (("exit", 2), ("stderr", "$"))
MESSAGE: Saying = (("systemMessage", "$"),)

RESPONSE = ("tool_response", "tool_output")
CALL_ID = ("tool_call_id", "tool_use_id")
AGENT_TYPE = ("agent_type", "subagent_type")
AGENT_NAME = ("agent_name", "subagent_name")
REASON = ("reason", "exit_reason")
LAST = ("last_assistant_message", "final_message")
RESULT = ("last_assistant_message", "result")


class Row(Value):
    """One event of a host: what it is here, and how each thing that hooks want is said there.

    `also`: other names that payloads have for it; `renames`: their place and our field; `needs`: a field without which it is no
    event; `documented`: what was only read about, though the host was run. `failed`: the place that says that the tool failed (with
    `!` in front, that it did not; with `=` behind, by this beginning; with `@` in front, the file that knows).
    """

    name: str
    kind_name: str
    also: tuple[str, ...] = ()
    renames: Renames = ()
    block: Saying = ()
    ask: Saying = ()
    allow: Saying = ()
    stop: Saying = ()
    input: Saying = ()
    output: Saying = ()
    context: Saying = ()
    needs: str = ""
    failed: str = ""
    documented: tuple[str, ...] = ()

    @property
    def kind(self) -> EventKind:
        """Return the kind of event it is here."""
        return SPELLINGS[self.kind_name]

    @property
    def kind_names(self) -> tuple[str, ...]:
        """Return the names of all kinds that it may be here."""
        return (self.kind_name, "post-tool-call-failure") if self.failed else (self.kind_name,)

    @property
    def goes_on(self) -> bool:
        """Whether a block there sends an agent back to work."""
        return self.kind_name in ("pre-agent-turn-stop", "post-subagent")

    def can(self, what: str) -> Saying:
        """Return how one of the CAPABILITIES is said."""
        found: Saying = self.__dict__[what]
        return found


class Host(Value):
    """One agent: where its payloads say what, its events, its tools, and where a person reads messages.

    `version` is the one that was run, empty if all is from documents; `elsewhere`: events without counterpart; `empty`: the
    answer that says nothing; `beyond`: what a block does there that nobody asked for; `fails_closed`: it makes a refusal of any
    failure before a tool call and keeps the words to itself.
    """

    name: str
    title: str
    version: str
    source: str
    events: tuple[Row, ...]
    tools: Tools
    elsewhere: tuple[str, ...] = ()
    event_at: tuple[str, ...] = ("hook_event_name",)
    session_at: tuple[str, ...] = ("session_id",)
    folder_at: tuple[str, ...] = ("cwd",)
    message: Saying = ()
    empty: str = ""
    beyond: str = ""
    fails_closed: bool = False

    @property
    def evidence(self) -> str:
        """Return how its rows are known."""
        return f"run, version {self.version}" if self.version else f"read: {self.source}"

    def row(self, name: str) -> Row | None:
        """Return the row that a name spells: theirs first, then any spelling of ours."""
        for row in self.events:
            if name == row.name or name in row.also:
                return row
        kind = SPELLINGS.get(name, UNMAPPED) if name not in self.elsewhere else UNMAPPED
        return next((row for row in self.events if row.kind_name == kind.name), None)


DERIVED_KINDS = ("post-agent-turn", "post-agent-turn-stop")  # made of a stop that nobody objected to


def derived(host: Host, row: Row) -> tuple[str, ...]:
    """Return the kinds that are made of an event where the host has none of its own."""
    if row.kind_name != "pre-agent-turn-stop":
        return ()
    known = {name for one in host.events for name in one.kind_names}
    return tuple(name for name in DERIVED_KINDS if name not in known)


def load(name: str) -> Host:
    """Return the table of a host, one of NAMES."""
    module: Any = __import__(f"{__package__}.{name.replace('-', '_')}", fromlist=["HOST"])
    found: Host = module.HOST
    return found
