"""Dialects: a host speaks one to the engine, and the engine speaks one to each hook."""

from __future__ import annotations

from boathook.errors import DialectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from boathook.core.event import Event, EventKind
    from boathook.core.hook import HookDialect
    from boathook.core.outcome import Outcome
    from boathook.core.verdict import Call, Exit, Verdict
    from boathook.dialects.host_dialect import HostDialect

NATIVE = "native"
# Each has a module of this name in this folder.
HOOK_DIALECTS = (NATIVE, "claude")
# The names of variables of hooks that are commands, by dialect: see HookDialect.
_FOLDER_VARIABLES = {"claude": ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT")}
_EMPTY_VARIABLES = {"claude": ("CLAUDE_CODE_REMOTE",)}


class Dialect:
    """A protocol on both borders of the engine. A run needs few of the halves, so each is imported when it is first used."""

    # The standard's names and those of agents, in all dialects, because agents share hooks.
    variable_prefixes: tuple[str, ...] = ("AGENT", "KIMI")
    project_variables: tuple[str, ...] = ("CLAUDE_PROJECT_DIR", "MONOCO_PROJECT_ROOT")
    env_file_variable = "CLAUDE_ENV_FILE"

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder_variables = _FOLDER_VARIABLES.get(name, ("", ""))
        self.empty_variables: tuple[str, ...] = _EMPTY_VARIABLES.get(name, ())
        self._host_side: HostDialect | None = None
        self._hook_side: HookDialect | None = None

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    def load_host_side(self) -> HostDialect:
        if self._host_side is not None:
            return self._host_side
        host_side: HostDialect = _load_native() if self.name == NATIVE else _load_host(self.name)
        self._host_side = host_side
        return host_side

    def load_hook_side(self) -> HookDialect:
        if self._hook_side is not None:
            return self._hook_side
        hook_side: HookDialect = _load_hook_side(self.name)
        self._hook_side = hook_side
        return hook_side

    @property
    def project_variable(self) -> str:
        """The variable by which a host names the project of a session, "" if it has none."""
        return self.load_host_side().project_variable

    def read_event(self, data: bytes, name: str | None = None) -> Event:
        """Read an event from a host; `name` is its name where the host passes it beside the data."""
        return self.load_host_side().read_event(data, name)

    def find_caller(self, data: bytes, env: Mapping[bytes, bytes]) -> str:
        """Return the host that really sent an event if it runs a command of this host's configuration, else ""."""
        return self.load_host_side().find_caller(data, env)

    def write_answer(self, verdict: Verdict, later: Sequence[Verdict] = (), *, refuses: bool = False) -> Exit:
        """Write a verdict for a host; `later` are the verdicts on derived events."""
        # With `refuses`, an event is refused where it can be if the host cannot be told everything that hooks want.
        return self.load_host_side().write_answer(verdict, later, refuses=refuses)

    def write_nothing(self) -> Exit:
        return self.load_host_side().write_nothing()

    def refuse(self, name: str | None, reason: str, code: int) -> tuple[Exit, EventKind | None]:
        """Answer an event that could not be read, and return the kind that was refused, None if the host cannot be told."""
        # `code` is the exit code that the error has by itself: 2 if the event must not pass unseen.
        return self.load_host_side().refuse(name, reason, code)

    def derive_events(self, verdict: Verdict) -> tuple[Event, ...]:
        """Return the events that the host does not send itself and that this one implies."""
        return self.load_host_side().derive_events(verdict)

    def find_result_file(self, event: Event) -> str:
        """Return the file that says whether a tool call failed, "" if the event itself says it."""
        return self.load_host_side().find_result_file(event)

    def apply_result(self, event: Event, text: str) -> Event:
        """Return the event as the end of that file has it: a failure if the file says so."""
        return self.load_host_side().apply_result(event, text)

    def list_degraded(self, verdict: Verdict, *, refuses: bool = False) -> tuple[str, ...]:
        """Return a text for everything that hooks want and the host cannot be told, or does in another way."""
        return self.load_host_side().list_degraded(verdict, refuses=refuses)

    def write_event(self, event: Event, trigger: str) -> bytes:
        """Write an event for a hook; `trigger` is the event's name in the hook author's spelling."""
        return self.load_hook_side().write_event(event, trigger)

    def read_answer(self, call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]:
        """Read a hook's answer, and notes on what had no effect; with `strict`, only exit code 2 blocks a native hook."""
        return self.load_hook_side().read_answer(call, end, strict=strict)


# The modules below have the functions of the classes that they stand for.
def _load_native() -> Any:
    from boathook.dialects import native

    return native


def _load_host(name: str) -> HostDialect:
    from boathook.dialects.host_dialect import HostDialect
    from boathook.hosts.host import load_host

    return HostDialect(load_host(name))


def _load_hook_side(name: str) -> Any:
    if name not in HOOK_DIALECTS:
        raise DialectError(f"hooks cannot use the dialect '{name}' (known: {', '.join(HOOK_DIALECTS)})")
    return __import__(f"{__package__}.{name}", fromlist=["write_event"])


_dialects: dict[str, Dialect] = {}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name; there is one object for each, so they can be compared."""
    dialect = _dialects.get(name)
    if dialect is None:
        dialect = _dialects[name] = Dialect(name)
    return dialect
