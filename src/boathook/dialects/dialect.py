"""The dialects: what hosts write to the engine and read from it, and what hooks read and write."""

from __future__ import annotations

from boathook.core.hook import HookDialect
from boathook.core.verdict import Exit
from boathook.errors import DialectError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from boathook.core.event import Event, EventKind
    from boathook.core.verdict import Verdict

NATIVE = "native"
_NO_AGENT_HAS = ("post-agent-turn", "post-agent-turn-stop", "pre-step", "post-step")
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "MONOCO_PROJECT_ROOT")
_ROWS = (
    HookDialect(NATIVE, f"{__package__}.native"),
    HookDialect(
        "claude",
        f"{__package__}.claude",
        folder_variables=("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"),
        empty_variables=("CLAUDE_CODE_REMOTE",),
        missing_events=_NO_AGENT_HAS,
        knows_patches=False,
    ),
    HookDialect(
        "codex",
        f"{__package__}.agent_hook",
        folder_variables=("", "PLUGIN_ROOT"),
        missing_events=(*_NO_AGENT_HAS, "turn-failure", "notification"),
        host="codex",
    ),
    HookDialect(
        "gemini",
        f"{__package__}.agent_hook",
        folder_variables=("GEMINI_PROJECT_DIR", ""),
        project_variables=(*_PROJECT_VARIABLES, "GEMINI_PROJECT_DIR"),
        missing_events=(
            *_NO_AGENT_HAS,
            "permission-request",
            "pre-subagent",
            "post-subagent",
            "post-context-compact",
            "turn-failure",
        ),
        host="gemini",
        knows_patches=False,
        session_variables=("GEMINI_SESSION_ID",),
        work_dir_variables=("GEMINI_CWD",),
    ),
    HookDialect(
        "qwen",
        f"{__package__}.agent_hook",
        folder_variables=("QWEN_PROJECT_DIR", ""),
        project_variables=(*_PROJECT_VARIABLES, "QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR"),
        missing_events=_NO_AGENT_HAS,
        host="qwen",
        knows_patches=False,
    ),
    HookDialect(
        "cursor",
        f"{__package__}.agent_hook",
        folder_variables=("CURSOR_PROJECT_DIR", ""),
        empty_variables=("CURSOR_VERSION", "CURSOR_USER_EMAIL", "CURSOR_TRANSCRIPT_PATH", "CURSOR_CODE_REMOTE"),
        project_variables=(*_PROJECT_VARIABLES, "CURSOR_PROJECT_DIR"),
        missing_events=(
            *_NO_AGENT_HAS,
            "permission-request",
            "post-context-compact",
            "turn-failure",
            "notification",
        ),
        host="cursor",
        knows_patches=False,
    ),
    HookDialect(
        "copilot",
        f"{__package__}.agent_hook",
        folder_variables=("COPILOT_PROJECT_DIR", ""),
        project_variables=(*_PROJECT_VARIABLES, "COPILOT_PROJECT_DIR"),
        missing_events=(*_NO_AGENT_HAS, "post-context-compact"),
        host="copilot",
    ),
    HookDialect(
        "kimi", f"{__package__}.agent_hook", missing_events=_NO_AGENT_HAS, host="kimi-code", knows_patches=False
    ),
    HookDialect(
        "kimi-cli",
        f"{__package__}.agent_hook",
        missing_events=(*_NO_AGENT_HAS, "permission-request"),
        host="kimi-cli",
        knows_patches=False,
    ),
)
HOOK_DIALECTS = {row.name: row for row in _ROWS}


def find_hook_dialect(name: str) -> HookDialect:
    dialect = HOOK_DIALECTS.get(name)
    if dialect is None:
        raise DialectError(f"hooks cannot use the dialect '{name}' (known: {', '.join(HOOK_DIALECTS)})")
    return dialect


class HostDialect:
    """How a host writes events and reads answers. The defaults are right for a host that can express everything."""

    # Where the host names the project's folder: see `boathook.hosts.host.Host`.
    project_at: tuple[str, ...] = ()
    # The variable in which the host names a file, at the start of a session, whose variables its own shell gets.
    env_file_variable = ""
    # Whether people do not see messages there, so that the model is asked to pass them on; and whether stderr is for people.
    hides_messages = False
    shows_stderr = True
    # Whether the reason of a refused call reaches nobody, so that the model gets it when the session goes on.
    hides_reasons = False
    marks_refused_stops = False

    def __init__(self, name: str) -> None:
        self.name = name

    def read_event(self, data: bytes, name: str | None = None) -> Event:
        raise NotImplementedError

    def write_answer(self, verdict: Verdict, later: Sequence[Verdict] = (), *, refuses: bool = False) -> Exit:
        """Write a verdict; `later` has the verdicts on derived events. With `refuses`, refuse what cannot be expressed."""
        raise NotImplementedError

    def write_nothing(self) -> Exit:
        return Exit(0)

    def refuse(self, name: str | None, reason: str, code: int) -> tuple[Exit, EventKind | None]:
        """Refuse an event that could not be read. Also return its kind if the host does get a refusal."""
        return Exit(code), None

    def find_caller(self, data: bytes, env: Mapping[bytes, bytes]) -> str:
        """Return the host that really calls, "" if it is this one."""
        return ""

    def get_field(self, event: Event, place: str) -> object:
        """Return what the payload of an event has at a place of `project_at`."""
        return None

    def describe_unmapped_event(self, event: Event) -> str:
        """Return a message about an event without counterpart here, "" if there is nothing to report."""
        return ""

    def find_same_call(self, event: Event) -> str:
        """Return the host's event that reports the same call once more, "" if none does."""
        return ""

    def find_result_file(self, event: Event) -> str:
        """Return the file that says whether the tool call failed, "" if the event says it."""
        return ""

    def apply_result(self, event: Event, text: str) -> Event:
        return event

    def derive_subagent(self, verdict: Verdict) -> Event | None:
        """Return the event of a subagent that a tool call starts, if the host's own event could not refuse it."""
        return None

    def add_subagent_verdict(self, verdict: Verdict, subagent: Verdict) -> Verdict:
        """Return the verdict on a tool call together with that on the subagent it starts."""
        return verdict

    def comes_after_call(self, event: Event) -> bool:
        """Whether hooks of this event were asked before, if a tool call started the subagent."""
        return False

    def can_add_context(self, verdict: Verdict) -> bool:
        """Whether the model that speaks with the person gets context with the answer to an event."""
        return True

    def asks_person(self, event: Event, env: Mapping[bytes, bytes]) -> bool:
        """Whether the host asks a person itself if a hook wants that, as far as is known."""
        return True

    def find_ask_doubt(self, event: Event, env: Mapping[bytes, bytes]) -> str:
        """Return why a question must not be left to the host, which may run the call without asking a person; or ""."""
        return ""

    def find_wait_seconds(self, event: Event, texts: Sequence[str]) -> float:
        """Return how long the host waits for the answer to an event, 0 if unknown; `texts` are its files with our command."""
        # A program of the user's own, which is documented to wait this long.
        return 600

    def derive_events(self, verdict: Verdict) -> tuple[Event, ...]:
        """Return the events that the host does not have and that follow from this verdict."""
        return ()

    def list_degraded(self, verdict: Verdict, *, refuses: bool = False) -> tuple[str, ...]:
        """Return what hooks wanted and the host cannot express."""
        return ()


_host_dialects: dict[str, HostDialect] = {}


def find_host_dialect(name: str) -> HostDialect:
    dialect = _host_dialects.get(name)
    if dialect is None:
        dialect = _host_dialects[name] = _load_host_dialect(name)
    return dialect


def _load_host_dialect(name: str) -> HostDialect:
    # Imported by name, because a run needs only one of them, and because both import this module.
    module, class_name = "native", "NativeHost"
    if name != NATIVE:
        from boathook.hosts.host import list_host_names

        agents = list_host_names()
        if name not in agents:
            from boathook.core.near_words import suggest

            hint = suggest(name, agents, "boathook hosts shows what they are")
            raise UsageError(f"unknown host '{name}' (known: {', '.join((NATIVE, *agents))}): {hint}")
        module, class_name = "agent_host", "AgentHost"
    host_class: type[HostDialect] = getattr(__import__(f"{__package__}.{module}", fromlist=[class_name]), class_name)
    return host_class(name)
