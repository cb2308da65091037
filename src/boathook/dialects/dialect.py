"""Dialects: a host speaks one to the engine, and the engine speaks one to each hook."""

from __future__ import annotations

from boathook.errors import DialectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event
    from boathook.core.outcome import Outcome
    from boathook.core.verdict import Call, Exit
    from boathook.dialects.host_dialect import HostDialect

    # `native` has the functions of both halves as well: see `dialects.native`.
    class _BothHalves(HostDialect):
        def write_event(self, event: Event, trigger: str) -> bytes: ...
        def read_answer(self, call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]: ...

else:
    _BothHalves = object

NATIVE = "native"
# Each has a module of this name in this folder.
HOOK_DIALECTS = (NATIVE, "claude")
_HOOK_FUNCTIONS = ("write_event", "read_answer")
# The names of variables of hooks that are commands, by dialect: see HookDialect.
_FOLDER_VARIABLES = {"claude": ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT")}
_EMPTY_VARIABLES = {"claude": ("CLAUDE_CODE_REMOTE",)}


class Dialect(_BothHalves):
    """A protocol on both borders of the engine. A run needs few of the halves, so each is imported when it is first used."""

    # The standard's names and those of agents, in all dialects, because agents share hooks.
    variable_prefixes: tuple[str, ...] = ("AGENT", "KIMI")
    project_variables: tuple[str, ...] = ("CLAUDE_PROJECT_DIR", "MONOCO_PROJECT_ROOT")
    env_file_variable = "CLAUDE_ENV_FILE"

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder_variables = _FOLDER_VARIABLES.get(name, ("", ""))
        self.empty_variables: tuple[str, ...] = _EMPTY_VARIABLES.get(name, ())

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            half = _load_hook_half(self.name) if name in _HOOK_FUNCTIONS else _load_host_half(self.name)
            # Later calls find the function itself.
            value = self.__dict__[name] = getattr(half, name)
            return value


def _load_host_half(name: str) -> Any:
    if name == NATIVE:
        from boathook.dialects import native

        return native
    from boathook.dialects.host_dialect import HostDialect
    from boathook.hosts.host import load_host

    return HostDialect(load_host(name))


def _load_hook_half(name: str) -> Any:
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
