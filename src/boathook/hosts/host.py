"""The agents that call this engine, as rows of values: one module for each, so that a run loads only one of them."""

# A template is how something is expressed in an answer: pairs of a place and a value. `$` stands for the text or the value, `$text`
# for the value as text (JSON if it is something else). The places `exit`, `stdout` and `stderr` are not JSON but what their names
# say. An empty template: the host cannot express it.

from __future__ import annotations

from boathook.core.event import SPELLINGS, UNMAPPED
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from boathook.core.event import EventKind
    from boathook.hosts import setup

    Setup = setup.Setup
    Template = tuple[tuple[str, Any], ...]
    Renames = tuple[tuple[str, str], ...]
    ToolTable = Mapping[str, tuple[str, Renames]]

CAPABILITIES = ("block", "ask", "allow", "stop", "input", "output", "context")
# All other modules of this folder are agents.
_HELPER_MODULES = (
    *("capabilities", "capability_table", "claude_events", "detection", "hook_events", "host", "setup"),
    *("shell_words", "tool_calls", "tool_names"),
)

SPECIFIC_OUTPUT = "hookSpecificOutput"
_PERMISSION, _PERMISSION_REASON = (
    f"{SPECIFIC_OUTPUT}.permissionDecision",
    (f"{SPECIFIC_OUTPUT}.permissionDecisionReason", "$"),
)
DENY: Template = ((_PERMISSION, "deny"), _PERMISSION_REASON)
ASK: Template = ((_PERMISSION, "ask"), _PERMISSION_REASON)
ALLOW: Template = ((_PERMISSION, "allow"), _PERMISSION_REASON)
INPUT: Template = ((f"{SPECIFIC_OUTPUT}.updatedInput", "$"),)
CONTEXT: Template = ((f"{SPECIFIC_OUTPUT}.additionalContext", "$"),)
REFUSE: Template = ((f"{SPECIFIC_OUTPUT}.decision.behavior", "deny"), (f"{SPECIFIC_OUTPUT}.decision.message", "$"))
GRANT: Template = ((f"{SPECIFIC_OUTPUT}.decision.behavior", "allow"),)
BLOCK: Template = (("decision", "block"), ("reason", "$"))
STOP: Template = (("continue", False), ("stopReason", "$"))
# The answers to a tool call in Claude Code's protocol, in the order of HostEvent.
CALL_ANSWERS = (DENY, ASK, ALLOW, STOP, INPUT, (), CONTEXT)
EXIT_CODE_2: Template = (("exit", 2), ("stderr", "$"))
MESSAGE: Template = (("systemMessage", "$"),)

TOOL_RESPONSE = ("tool_response", "tool_output")
TOOL_CALL_ID = ("tool_call_id", "tool_use_id")
SUBAGENT_TYPE = ("agent_type", "subagent_type")
SUBAGENT_NAME = ("agent_name", "subagent_name")
EXIT_REASON = ("reason", "exit_reason")
LAST_MESSAGE = ("last_assistant_message", "final_message")
SUBAGENT_RESULT = ("last_assistant_message", "result")

SERVER_IS_UNKNOWN = "{tool}"

# What hooks in an agent's own files find in a payload besides the data of the event; the time is a text, or a number.
SESSION, FOLDER, EVENT_NAME, TIME, MILLISECONDS = "session", "folder", "event", "time", "milliseconds"
# Which exit codes of a hook refuse: only 2; every one from 2, if the hook wrote a text; every one but 0, before a tool call.
EXIT_2, EXIT_2_AND_MORE, EXIT_NOT_0 = "2", "2 and more, with a text", "every one but 0, before a tool call"


def map_tools(**tools: str) -> ToolTable:
    """Return rows of tools that have only another name here, and keys of the same names."""
    return {theirs: (ours, ()) for theirs, ours in tools.items()}


class OwnHooks(Value):
    """What an event is for hooks in the agent's own files, where the other rows do not say it (see `dialects.agent_hook`)."""

    # `tools`: the tools of ours that they are asked about, if not all; `matches_input`: their matcher asks the input of these;
    # `has_names`: their matcher is a list of names, although others of the agent are patterns; `subject`: the field of ours that
    # their matcher asks, if it is another one than in Claude Code. `keys`: pairs of a place and what is there (SESSION, FOLDER, …),
    # if they are not the keys of the host. `hidden_tools`: names of tools that this event does not have. `texts`: fields that are
    # texts there, whatever they are elsewhere. `shapes`: fields that are objects there, with a template for what is not.
    # `answers`: what an answer means: a place, its value (None: any) and a template with Claude Code's places. `ignores_exit_2`:
    # exit code 2 does not send the agent back to work. `note`: what hooks there get or can do only in their own agent.
    tools: tuple[str, ...] = ()
    matches_input: bool = False
    has_names: bool = False
    subject: str = ""
    keys: Renames = ()
    hidden_tools: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    shapes: tuple[tuple[str, Template], ...] = ()
    answers: tuple[tuple[str, Any, Template], ...] = ()
    ignores_exit_2: bool = False
    note: str = ""


class HostEvent(Value):
    """One event of a host: which kind it is here, and a template for each thing that hooks can want."""

    # `other_names`: other names that payloads have for it; `renames`: their place and our field; `required_key`: a key without
    # which it is not an event; `tool_name`: the tool of an event that does not name it (`{place}` stands for what is there);
    # `untested`: words for capabilities that are only known from documents, although the host was run. `failure_at`: the place
    # that says that the tool failed (`!` before it: that it did not; `=` after it: by this beginning; `@` before it: the place
    # of a file that says so). `is_installed`: false if it is another name of an event that is installed. `input_keys`: the keys
    # of the payload that are the tool's input, if that is not an object there. `same_call_as`: the event by which the host
    # reports the same call once more, where it says its version, and the first version that is known to do so. `hides_block`:
    # the person is not shown that it was blocked, so a message says it. Of hooks in the agent's own files: `hook_fields` are what
    # they rely on, with values that say nothing; `plain_context`: their plain output is context for the model; `own`: the rest.
    name: str
    kind_name: str
    other_names: tuple[str, ...] = ()
    renames: Renames = ()
    block: Template = ()
    ask: Template = ()
    allow: Template = ()
    stop: Template = ()
    input: Template = ()
    output: Template = ()
    context: Template = ()
    required_key: str = ""
    tool_name: str = ""
    failure_at: str = ""
    untested: str = ""
    is_installed: bool = True
    input_keys: tuple[str, ...] = ()
    same_call_as: tuple[str, str, int] | None = None
    hides_block: bool = False
    hook_fields: Template = ()
    plain_context: bool = False
    own: OwnHooks = OwnHooks()

    @property
    def kind(self) -> EventKind:
        return SPELLINGS[self.kind_name]

    @property
    def kind_names(self) -> tuple[str, ...]:
        return (self.kind_name, "post-tool-call-failure") if self.failure_at else (self.kind_name,)

    @property
    def continues_agent(self) -> bool:
        return self.kind_name in ("pre-agent-turn-stop", "post-subagent")

    @property
    def reaches_model(self) -> bool:
        """Whether context was seen to reach the model that speaks with the person, which that of a subagent does not."""
        return bool(self.context) and not self.is_untested("context") and self.kind_name != "pre-subagent"

    def is_untested(self, capability: str) -> bool:
        return capability in self.untested.split()

    def get_template(self, capability: str) -> Template:
        template: Template = self.__dict__[capability]
        return template


class Caller(Value):
    """How an agent is recognized that runs the commands of another agent's configuration."""

    # `reads` is that other agent. What the payload says counts first: `keys` that only this agent sends, or names of `events`
    # or `tools` that only this agent has. A `variable` counts if the payload leaves it open, because programs inside an agent
    # inherit it. `is_assumed`: this is the agent if nothing else decides.
    reads: str
    keys: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    tools: Collection[str] = ()
    variable: str = ""
    is_assumed: bool = False


class OwnFiles(Value):
    """What hooks in the agent's own files rely on, at all of its events (see `dialects.agent_hook`)."""

    # `fields`: fields that every payload has, with values that say nothing; `keys`: as in OwnHooks; `sends_timestamp`: they get
    # the time, as `timestamp`; `inputs`: where they find keys of ours in the input of a tool, if it is a place inside of another
    # key. Of their answers: `decision_words` are those of the key `decision`; `answer_places` are pairs of a place and the one
    # that means the same in Claude Code's; `blocking_exits`: the exit codes that refuse; `reads_stderr`: an answer on stderr
    # counts if there is nothing on stdout, and a text on stdout is a reason; `has_progress_lines`: lines of output that report
    # progress are not the answer; `needs_json`: another output than JSON is a failure, which refuses if the hook says so.
    # Of tools: `matcher_names` are other names that matchers may use; `special_tools` do less than those of other agents that are
    # of the same kind, so no call of another agent is shown as one of them.
    fields: Template = ()
    keys: Renames = ()
    sends_timestamp: bool = False
    inputs: Mapping[str, Renames] = {}
    decision_words: tuple[str, ...] = ("approve", "block")
    answer_places: Renames = ()
    blocking_exits: str = EXIT_2
    reads_stderr: bool = False
    has_progress_lines: bool = False
    needs_json: bool = False
    matcher_names: Mapping[str, tuple[str, ...]] = {}
    special_tools: tuple[str, ...] = ()


class AskVersions(Value):
    """From which version on an agent was seen to ask a person in every mode, and where a hook finds the version."""

    # `version_at` is a place (as in `project_at` of Host), and `pattern` finds the numbers of a version there. `sent_at` is a
    # place that every version fills when it calls us: without it, somebody tries an event by hand.
    since: tuple[int, ...]
    version_at: str
    pattern: str
    sent_at: str

    def describe_since(self) -> str:
        return ".".join(map(str, self.since))


class Host(Value):
    """One agent: where its payloads contain what, its events, its tools, and where a person reads messages."""

    # `version` is the one that was run, empty if everything is from documents; `unmapped_events`: events without counterpart
    # here; `empty_answer`: the answer that says nothing; `block_side_effect`: what a block does there beyond blocking;
    # `fails_closed`: it turns any failure before a tool call into a refusal and hides the reason. `project_at` are the places
    # that may name the project of a session, the best first: `$NAME` is a variable, `.` the folder in which the host starts us,
    # anything else a place in the payload. Without any, it is the event's folder. `foreign_keys` are never sent by this host, so
    # a call with one of them is from an agent that reads this host's configuration. `own_keys` are sent by none of those: where one
    # is, only a name that another agent alone has counts, because hooks that run twice are better than none.
    # `server_tool`: how it names the tool of an MCP server, if not `mcp__{server}__{tool}` (`SERVER_IS_UNKNOWN`: by the tool's
    # name alone); `server_places`: where the payload has the names of the server and of its tool.
    # `server_callers`: its tools that call the tool of any server, each with the places that name these.
    # `subagent_events` are events of the main agent that it also sends for subagents (kinds of ours).
    # `env_file_variable` names the file whose variables its shell gets (at the start of a session). `message_unseen`: where people
    # do not see messages of hooks, so the model is asked to pass them on; `message_seen`: where they do see them, as tried.
    # `hides_reasons`: neither model nor person learns why a call was refused, so the model gets it when the session goes on.
    # `marks_refused_stops`: it was seen to set `stop_hook_active` after a hook refused a stop, not only to send the field.
    # `unasked_at`: places (as in `project_at`) and the values there with which it was seen not to ask a person, whatever a hook
    # wants: a run without a terminal, or a permission mode. `ask_versions`: only from a version on it is known to ask.
    # `own`: what hooks in its own files rely on. The first tool of a kind in `tools` is the one that these hooks are shown for a
    # call of another agent.
    name: str
    title: str
    version: str
    source: str
    events: tuple[HostEvent, ...]
    tools: ToolTable
    unmapped_events: tuple[str, ...] = ()
    event_keys: tuple[str, ...] = ("hook_event_name",)
    session_keys: tuple[str, ...] = ("session_id",)
    folder_keys: tuple[str, ...] = ("cwd",)
    message: Template = ()
    empty_answer: str = ""
    block_side_effect: str = ""
    fails_closed: bool = False
    project_at: tuple[str, ...] = ()
    env_file_variable: str = ""
    foreign_keys: tuple[str, ...] = ()
    own_keys: tuple[str, ...] = ()
    caller: Caller | None = None
    server_tool: str = ""
    server_places: tuple[str, ...] = ()
    server_callers: Mapping[str, tuple[str, ...]] = {}
    message_unseen: str = ""
    message_seen: str = ""
    subagent_events: tuple[str, ...] = ()
    hides_reasons: bool = False
    marks_refused_stops: bool = False
    unasked_at: tuple[tuple[str, str], ...] = ()
    ask_versions: AskVersions | None = None
    own: OwnFiles = OwnFiles()

    @property
    def evidence(self) -> str:
        return f"run, version {self.version}" if self.version else f"read: {self.source}"

    def find_event(self, name: str) -> HostEvent | None:
        """Return the event that a name spells: the host's own names first, then any spelling of ours."""
        for event in self.events:
            if name == event.name or name in event.other_names:
                return event
        kind = SPELLINGS.get(name, UNMAPPED) if name not in self.unmapped_events else UNMAPPED
        return next((event for event in self.events if event.kind_name == kind.name), None)


SUBAGENT_TOOL_KIND, SUBAGENT_KIND = "Agent", "pre-subagent"


def find_subagent_call(host: Host) -> HostEvent | None:
    """Return the tool call at which hooks of `pre-subagent` are asked, if the host's own event cannot refuse a subagent."""
    # What the model of the subagent receives goes through the host's own event, which comes later.
    own = next((event for event in host.events if event.kind_name == SUBAGENT_KIND), None)
    call = next((event for event in host.events if event.kind_name == "pre-tool-call"), None)
    starts_subagents = any(ours == SUBAGENT_TOOL_KIND for ours, _ in host.tools.values())
    if call is None or not starts_subagents or (own is not None and own.block):
        return None
    untested = " ".join((call.untested, own.untested if own else ""))
    context = own.context if own is not None else ()
    return call.replace(allow=(), input=(), output=(), context=context, untested=untested)


def find_row(host: Host, kind_name: str) -> HostEvent | None:
    """Return the event at which hooks of a kind are asked, with what they can do there."""
    call = find_subagent_call(host) if kind_name == SUBAGENT_KIND else None
    return call or next((event for event in host.events if kind_name in event.kind_names), None)


# These are made from a stop that no hook blocked.
DERIVED_KINDS = ("post-agent-turn", "post-agent-turn-stop")


def list_derived_kinds(host: Host, event: HostEvent) -> tuple[str, ...]:
    if event.kind_name != "pre-agent-turn-stop":
        return ()
    known = {name for one in host.events for name in one.kind_names}
    return tuple(name for name in DERIVED_KINDS if name not in known)


def list_host_names() -> tuple[str, ...]:
    from posix import listdir

    files = [name for name in sorted(listdir(__file__.rpartition("/")[0])) if name.endswith(".py")]
    modules = [name.removesuffix(".py") for name in files if not name.startswith("_")]
    agents = [name for name in modules if name not in _HELPER_MODULES]
    return tuple(name.replace("_", "-") for name in agents)


def load_host(name: str) -> Host:
    host: Host = load_module(name).HOST
    return host


def load_module(name: str) -> Any:
    return __import__(f"{__package__}.{name.replace('-', '_')}", fromlist=["HOST"])
