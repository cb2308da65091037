"""What self-protection guards, as plain values: they are made when hooks are loaded, and kept in the compiled catalogue."""

from __future__ import annotations

from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Names of folders that many other things have, too.
_COMMON_NAMES = frozenset(
    (
        *(".config", ".local", ".cache", ".venv", "venv", "state", "share", "lib", "bin", "hooks", "scripts"),
        *("settings.json", "config.toml", "cache"),
    )
)
_ENVIRONMENT_NAMES = (".venv", "venv", "env")
# Words of command lines that take guards away without naming a place.
_COMMAND_WORDS = ("boathook", "hook_entry", "hook_entry.py", "uninstall", "uninstall-all", "uninject", "home=")


class ProtectedPlace(Value):
    """A file or folder that must stay as it is: `what` says to people what it is."""

    path: str
    what: str


class HookSwitch(Value):
    """A file of a project in which `keys` turn the hooks of an agent off: it is protected from calls that name them."""

    path: str
    keys: tuple[str, ...]
    what: str


class AgentProgram(Value):
    """How an agent is started with its hooks turned off: its programs, words in their arguments, and variables."""

    title: str
    programs: tuple[str, ...]
    words: tuple[str, ...]
    variables: tuple[str, ...]


class Protection(Value):
    # `roots` are the home folder and the projects: a change above or at one of them is an everyday change of something else,
    # unless it takes a place with it.
    places: tuple[ProtectedPlace, ...] = ()
    agents: tuple[AgentProgram, ...] = ()
    home: str = ""
    roots: tuple[str, ...] = ()
    # Variables that are set for the agent and decide where boathook's folders are.
    set_variables: tuple[str, ...] = ()
    switches: tuple[HookSwitch, ...] = ()

    def add_switches(self, text: str) -> Protection:
        """Return it for a call with some text: files that turn hooks off by keys in this text are places, too."""
        lower = text.lower()
        named = [one for one in self.switches if all(key.lower() in lower for key in one.keys)]
        places = (*self.places, *(ProtectedPlace(one.path, one.what) for one in named))
        return self.replace(places=places) if named else self

    def to_data(self) -> tuple[Any, ...]:
        return (
            tuple(place.to_tuple() for place in self.places),
            tuple(agent.to_tuple() for agent in self.agents),
            *(self.home, self.roots, self.set_variables),
            tuple(switch.to_tuple() for switch in self.switches),
        )

    @classmethod
    def from_data(cls, data: tuple[Any, ...]) -> Protection:
        places, agents, home, roots, variables, switches = data
        return cls(
            tuple(ProtectedPlace(*place) for place in places),
            tuple(AgentProgram(*agent) for agent in agents),
            *(home, roots, variables),
            tuple(HookSwitch(*switch) for switch in switches),
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words without one of which no call names a place or takes guards away (see `core.disarm_prefilter`)."""
        names = [self._choose_word(place.path) for place in self.places]
        names += [switch.path.rsplit("/", 2)[1] for switch in self.switches]
        off = [word.partition(" ")[0] for agent in self.agents for word in (*agent.words, *agent.variables)]
        return tuple(dict.fromkeys(word.lower() for word in (*_COMMAND_WORDS, *names, *off) if word))

    def _choose_word(self, path: str) -> str:
        root = max((root for root in self.roots if f"{path}/".startswith(f"{root}/")), key=len, default="")
        parts = path.removeprefix(root).strip("/").split("/")
        dotted = [part for part in parts if part.startswith(".") and part not in _COMMON_NAMES]
        other = [part for part in parts if part not in _COMMON_NAMES]
        # An environment is called by its path all day; who deletes or changes it is found by its whole path.
        if parts[-1] in _ENVIRONMENT_NAMES:
            return ""
        return dotted[0] if dotted else other[-1] if other else ""
