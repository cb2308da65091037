"""How boathook is installed in an agent. Each agent's file has a row of this; a run does not need it, so a function makes it."""

from __future__ import annotations

from boathook.core.value import Value
from boathook.hosts.host import list_host_names, load_host, load_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

GROUPS, FLAT, LIST, TABLES, FILES, PLUGIN = "groups", "flat", "list", "tables", "files", "plugin"
# Our own deadlines are shorter, and the host must not cut them.
_TIMEOUT_SECONDS = 600
ENTRY_NAME = "boathook"
COMMAND_FIELDS: Mapping[str, Any] = {"type": "command"}


class Switch(Value):
    place: tuple[str, ...]
    off: object
    user: tuple[str, ...]
    project: tuple[str, ...] = ()


class FolderTrust(Value):
    """Where an agent keeps which folders it trusts: a file in its home, the place of a folder in it (at its end), and its value."""

    # A value of True is for a list that contains the folder. `needed`: hooks of a project do not run without; seen in runs.
    file: str
    place: tuple[str, ...]
    value: object
    needed: bool = False


class Setup(Value):
    # `home` is a variable that moves its folder, and the folder's usual place below the account's; `user_file` and
    # `project_file` are below the two (for FILES, folders). In a LIST and in TABLES an entry has its event at `event_key`, and
    # its handler may be an object at `handler_key`; without `timeout_key` it has no timeout. `units_per_second` is the unit of
    # its timeouts; `max_seconds`: events with a shorter limit; `extra_values` are written beside the hooks; `unless_variable`
    # is set by another agent that reads the same file. `runs_itself`: sources whose hooks it runs itself, as values of
    # `run --without`; `may_run_too`: sources of which it runs some hooks itself, under conditions that the command cannot know,
    # so they run here as well; `evidence`: how that is known; `reads_files_of`: agents whose files it reads too;
    # `has_entry_trust`: it runs only entries whose hash it trusts. `agent_variables` are those that it sets for the commands that
    # its model runs; `packages`: folders of packages that an interpreter runs as this agent; `editors`: those of the programs in
    # which people have terminals of their own, so that they are no evidence of an agent. `off_options`: options that start it
    # without hooks; `off_variables`: variables that do. `default_seconds`: how long it waits for a hook before a tool call if the
    # entry has no timeout of ours; 0 if that is not known. `folder` is what is below its home if people have it, "" if that is its
    # home itself, None if no folder shows it.
    name: str
    programs: tuple[str, ...]
    home: tuple[str, str]
    user_file: str
    project_file: str
    format: str
    command_key: str = "command"
    timeout_key: str = "timeout"
    event_key: str = "event"
    handler_key: str = ""
    units_per_second: int = 1
    entry_fields: Mapping[str, Any] = COMMAND_FIELDS
    extra_values: Mapping[tuple[str, ...], Any] = {}
    max_seconds: Mapping[str, int] = {}
    has_comments: bool = False
    switches: tuple[Switch, ...] = ()
    runs_itself: tuple[str, ...] = ()
    may_run_too: tuple[str, ...] = ()
    evidence: str = ""
    reads_files_of: tuple[str, ...] = ()
    unless_variable: str = ""
    folder_trust: FolderTrust | None = None
    has_entry_trust: bool = False
    off_options: tuple[str, ...] = ()
    off_variables: tuple[str, ...] = ()
    user_steps: tuple[str, ...] = ()
    project_steps: tuple[str, ...] = ()
    agent_variables: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    folder: str | None = ""
    default_seconds: int = 0

    @property
    def off_words(self) -> tuple[str, ...]:
        """Words in a command line that start it with its hooks turned off."""
        places = [".".join(switch.place) for switch in self.switches]
        tops = [switch.place[0] for switch in self.switches if "hooks" in switch.place[0].lower()]
        return tuple(dict.fromkeys((*self.off_options, *places, *tops)))

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(event.name for event in load_host(self.name).events if event.is_installed)

    def compute_timeout(self, event: str) -> int:
        return self._limit_seconds(event) * self.units_per_second

    def find_wait_seconds(self, event: str, texts: Sequence[str]) -> float:
        """Return how long the agent waits for the answer to an event, 0 if that is not known.

        `texts` are its files with our command: the timeout in the entry counts, as it is now; else the agent's default.
        """
        if not texts or not self.timeout_key:
            return self.default_seconds
        if self.format == PLUGIN:
            return self._limit_seconds(event)
        from boathook.core.entry_timeouts import list_entry_timeouts

        found = [one for text in texts for one in list_entry_timeouts(text, self.name, event, self.timeout_key)]
        seconds = [self.default_seconds if one is None else one / self.units_per_second for one in found]
        return min(seconds, default=self.default_seconds)

    def _limit_seconds(self, event: str) -> int:
        return min(_TIMEOUT_SECONDS, self.max_seconds.get(event, _TIMEOUT_SECONDS))


# Every load of hooks asks for all of them several times.
_setups: dict[str, Setup] = {}


def load_setup(name: str) -> Setup:
    if name not in _setups:
        _setups[name] = load_module(name).make_setup()
    return _setups[name]


def list_setups() -> tuple[Setup, ...]:
    return tuple(load_setup(name) for name in list_host_names())
