"""A hook: which events it runs on, and what it runs."""

from __future__ import annotations

from boathook.core.approval import Approval, resolve_copy_path
from boathook.core.matcher import ALL, Matcher, Pattern
from boathook.core.prefilter import PrefilterWords
from boathook.core.text import clean_text
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from boathook.core.event import Event, EventKind
    from boathook.core.outcome import Outcome
    from boathook.core.verdict import Call, Exit

USER, PROJECT = "user", "project"
SCOPES = (USER, PROJECT, "local")

ARMED, INVALID, SHADOWED, DISABLED, NO_ENTRY = "armed", "invalid", "shadowed", "disabled", "no-entry-point"
UNTRUSTED, MODIFIED, DENIED = "untrusted", "modified", "denied"
# Trusted hooks that are not there: not in the files of their project, gone since an earlier event of the session (only events
# know this), or in a project that a nearer one hides.
GONE, REMOVED, HIDDEN = ABSENT_STATES = (
    "not in this checkout",
    "removed in this session",
    "hidden by a nearer project",
)

HOOK_MD, SETTINGS, PLUGIN, BUILT_IN, PACK = "HOOK.md", "settings.json", "plugin", "built-in", "packs"

# Each is stricter than the one before.
BASIC, RESTRICTED, ISOLATED = SANDBOX_LEVELS = ("basic", "restricted", "isolated")

# How a hook of Python code is started: in a process of its own, or in one that it may share with its neighbours.
OWN_PROCESS, SHARED_PROCESS = PROCESSES = ("own", "shared")

# What Python code of a hook imports besides installed packages: modules of its own folder only, or of the project, too.
OWN_IMPORTS, PROJECT_IMPORTS = IMPORTS = ("own", "project")

# How a person's yes is checked: at a terminal, or by a second factor as well.
NORMAL_ASK, STRONG_ASK = ASK_CHECKS = ("normal", "strong")

ERROR, WARNING, NOTE = "error", "warning", "note"
_MAX_DIAGNOSTIC_CHARS = 2000
CALLS_BOATHOOK = "this command also calls boathook itself, so boathook does not run it"
IS_INSTALLED_CALL = "this entry calls boathook itself, so boathook does not run it"


class Diagnostic(Value):
    """A finding about a file: where it is, what is wrong, and how to fix it."""

    path: str
    line: int | None
    key: str
    level: str
    message: str
    fix: str = ""

    @property
    def position(self) -> str:
        """Return the file, with the line if that is known."""
        return f"{self.path}:{self.line}" if self.line else self.path

    def __str__(self) -> str:
        key = f" [{self.key}]" if self.key else ""
        fix = f" ({self.fix})" if self.fix else ""
        return clean_text(f"{self.position}:{key} {self.message}{fix}", _MAX_DIAGNOSTIC_CHARS)

    def to_json(self) -> dict[str, Any]:
        """Return the fields for output."""
        return self.to_dict()


class Script(Value):
    folder: str


class Command(Value):
    text: str
    words: tuple[str, ...] | None = None
    shell: str = ""
    root: str = ""
    # What its entry sets in its environment.
    variables: tuple[tuple[str, str], ...] = ()
    # Where it runs, from the folder of the project, "" if it runs there.
    cwd: str = ""

    @property
    def line(self) -> str:
        return " ".join((self.text, *(self.words or ())))


class Prompt(Value):
    text: str
    model: str = ""

    def choose_model(self, configured: str) -> tuple[str, str]:
        if ":" in self.model:
            return self.model, ""
        if self.model.startswith("claude-"):
            return f"anthropic:{self.model}", ""
        is_other = bool(self.model and configured)
        return configured, f"the model '{self.model}' names no provider; {configured} was asked" if is_other else ""


class Http(Value):
    """Handler: a URL that the event is posted to; its headers may use the variables `allowed`."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    allowed: tuple[str, ...] = ()

    @property
    def safe_url(self) -> str:
        scheme, _, rest = self.url.partition("://")
        for mark in "/?#":
            rest = rest.partition(mark)[0]
        return f"{scheme}://{rest.rpartition('@')[2]}"


class BuiltIn(Value):
    """Handler: the engine itself decides, without a process, with its `data`; the fast path asks the `filter_row`."""

    data: tuple[Any, ...]
    filter_row: tuple[Any, ...] = ()


HookHandler = Script | Command | Prompt | Http | BuiltIn
HANDLERS: dict[str, type[HookHandler]] = {
    "script": Script,
    "command": Command,
    "prompt": Prompt,
    "http": Http,
    "built-in": BuiltIn,
}
HANDLER_NAMES = {handler: name for name, handler in HANDLERS.items()}


class Needs(Value):
    bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    os: tuple[str, ...] = ()


# From public hooks: what guides and templates invent. The event comes on standard input.
UNSET_VARIABLES = (
    *("STDIN_JSON", "HOOK_INPUT", "TOOL_INPUT", "TOOL_NAME", "TOOL_OUTPUT", "CLAUDE_TOOL_*", "CLAUDE_FILE_PATH"),
    *("CLAUDE_FILE_PATHS", "CLAUDE_HOOK_INPUT", "CLAUDE_HOOK_EVENT", "CLAUDE_EVENT_TYPE", "CLAUDE_NOTIFICATION"),
    *("CLAUDE_PROMPT", "CLAUDE_USER_PROMPT", "CLAUDE_TRANSCRIPT_PATH", "CLAUDE_COMMAND", "CLAUDE_BASH_COMMAND"),
)


class HookDialect(Value):
    """What hooks read and write: a row. `module` has its functions, and is imported when one of them is first called."""

    name: str
    module: str
    # Names of variables. For hooks that are commands: those of the project and of the plugin's folder, and those that are
    # empty by default.
    folder_variables: tuple[str, str] = ("", "")
    empty_variables: tuple[str, ...] = ()
    # For every hook. They are the standard's names and those of agents, because agents share hooks.
    variable_prefixes: tuple[str, ...] = ("AGENT", "KIMI")
    project_variables: tuple[str, ...] = ("CLAUDE_PROJECT_DIR", "MONOCO_PROJECT_ROOT")
    env_file_variable: str = "CLAUDE_ENV_FILE"
    # Names that people take for variables of an agent, and that hooks of this dialect do not get (`*` stands for any text).
    unset_variables: tuple[str, ...] = UNSET_VARIABLES
    # The events that hooks of this dialect cannot have.
    missing_events: tuple[str, ...] = ()
    # The agent for whose hooks it is, if its module serves several.
    host: str = ""
    # More variables for hooks that are commands: those with the session, and with the folder of the event.
    session_variables: tuple[str, ...] = ()
    work_dir_variables: tuple[str, ...] = ()
    # Whether its agent has a tool for patches; if not, a hook for all tools is asked about each file of a patch.
    knows_patches: bool = True

    def load_functions(self) -> Any:
        module = __import__(self.module, fromlist=["write_event"])
        return module.find_agent_hooks(self.host) if self.host else module

    def write_event(self, event: Event, trigger: str) -> bytes:
        written: bytes = self.load_functions().write_event(event, trigger)
        return written

    def read_answer(self, call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]:
        answer: tuple[Outcome, tuple[str, ...]] = self.load_functions().read_answer(call, end, strict=strict)
        return answer


class Hook(Value):
    """A hook as loaded; only an armed one runs. `state_reason` says why it is not armed."""

    name: str
    kind: EventKind | None
    trigger: str
    scope: str
    handler: HookHandler
    path: str
    dialect: HookDialect
    description: str = ""
    matcher: Matcher = ALL
    priority: int = 100
    timeout: float = 30.0
    background: bool = False
    on_failure: str = "allow"
    protected: bool = False
    needs: Needs = Needs()
    env: tuple[str, ...] = ()
    metadata: Any = None
    source: str = HOOK_MD
    # As its source says: see `boathook.sources.source`.
    runs_together: bool = False
    place: str = ""
    state: str = ARMED
    state_reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    approval: Approval | None = None
    sandbox: str = BASIC
    network: bool = False
    imports: str = OWN_IMPORTS
    # Its texts were replaced for events: see `boathook.core.notices`.
    is_hidden: bool = False
    # Identifies an absent hook in the notes of a session: see `boathook.trust.absent_hooks`.
    trust_key: str = ""
    process: str = OWN_PROCESS
    # Its pack, "" if it has none; whether that turns it on by default; and its settings of hooks.toml, as JSON.
    pack: str = ""
    is_on: bool = True
    settings: str = ""
    # The names of the settings that it reads; None if it does not say.
    known_settings: tuple[str, ...] | None = None
    # How a person's yes to a question of it is checked: see `boathook.permits.factors`.
    ask: str = NORMAL_ASK

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Return the sort key of running: priority, then scope, then name."""
        order: tuple[int, int, str, str] | None = self.__dict__.get("_order")
        if order is None:
            order = (-self.priority, SCOPES.index(self.scope), self.name, self.path)
            self.__dict__["_order"] = order
        return order

    @property
    def identity(self) -> str:
        """Return what identifies the hook among all that are loaded."""
        return f"{self.path} {self.place} {self.name}"

    @property
    def mode(self) -> str:
        """The way it runs: `sync` or `async`."""
        return "async" if self.background else "sync"

    @property
    def folder(self) -> str:
        """Return the folder of a HOOK.md hook, "" for others."""
        return self.handler.folder if isinstance(self.handler, Script) else ""

    @property
    def edited_folder(self) -> str:
        """Return the folder of a HOOK.md hook that people edit; what runs may be a private copy of it."""
        return self.path.rpartition("/")[0] if isinstance(self.handler, Script) else ""

    @property
    def shared_code(self) -> str:
        """Return the folder `lib` of a pack, which its hooks share, or ""; for a trusted hook that of its private copy."""
        if not self.pack:
            return ""
        if self.approval is None:
            return f"{self.folder.rpartition('/hooks/')[0]}/lib"
        index = next((at for at, root in enumerate(self.approval.roots) if at and root.endswith("/lib")), 0)
        return resolve_copy_path(self.approval.copy_folder, index, self.approval.roots[index]) if index else ""

    @property
    def short_name(self) -> str:
        """Return its name without that of its pack."""
        return self.name.removeprefix(f"{self.pack}:")

    @property
    def is_whole_pack(self) -> bool:
        """Whether it stands for a pack of which no hook can be read."""
        return bool(self.pack) and self.name == self.pack

    @property
    def is_off_in_pack(self) -> bool:
        """Whether its pack brings it and it is not turned on."""
        return bool(self.pack) and self.state == DISABLED

    @property
    def is_installed_call(self) -> bool:
        """Whether it is the entry by which an agent calls boathook, and so not a hook that anybody wrote."""
        return self.state_reason == IS_INSTALLED_CALL

    @property
    def state_text(self) -> str:
        """Return the state and its reason, which may begin with the state."""
        reason = self.state_reason.removeprefix(f"{self.state.replace('-', ' ')}: ")
        return f"{self.state}: {reason}"


def hook_to_data(hook: Hook) -> tuple[Any, ...]:
    matcher = hook.matcher
    plain = hook.to_dict() | {
        "kind": hook.kind.name if hook.kind else None,
        "handler": (HANDLER_NAMES[type(hook.handler)], *hook.handler.to_tuple()),
        "matcher": (
            _pattern_to_data(matcher.tool),
            _pattern_to_data(matcher.pattern),
            matcher.tool_kinds,
            tuple((name, _pattern_to_data(pattern)) for name, pattern in matcher.fields),
            matcher.takes_other_name,
        ),
        "dialect": hook.dialect.name,
        "needs": hook.needs.to_tuple(),
        "diagnostics": tuple(diagnostic.to_tuple() for diagnostic in hook.diagnostics),
        "approval": hook.approval.to_tuple() if hook.approval else None,
    }
    return tuple(plain.values())


def hook_from_data(
    data: tuple[Any, ...], kinds: dict[str, EventKind], find_hook_dialect: Callable[[str], HookDialect]
) -> Hook:
    plain = dict(zip(Hook.FIELDS, data, strict=True))
    tool, pattern, tool_kinds, field_patterns, takes_other_name = plain["matcher"]
    word, *fields = plain["handler"]
    plain["kind"] = kinds[plain["kind"]] if plain["kind"] else None
    plain["handler"] = HANDLERS[word](*fields)
    # Every one of them was written with a pattern.
    matched = tuple([(name, found) for name, one in field_patterns if (found := _pattern_from_data(one))])
    matcher = Matcher(_pattern_from_data(tool), _pattern_from_data(pattern), tool_kinds, matched, takes_other_name)
    plain["matcher"] = ALL if matcher.is_all else matcher
    plain["dialect"] = find_hook_dialect(plain["dialect"])
    plain["needs"] = Needs(*plain["needs"])
    plain["diagnostics"] = tuple(Diagnostic(*problem) for problem in plain["diagnostics"])
    plain["approval"] = Approval(*plain["approval"]) if plain["approval"] else None
    return Hook(**plain)


def _pattern_to_data(pattern: Pattern | None) -> tuple[Any, ...] | None:
    words = pattern.words if pattern else None
    return (*pattern.to_tuple()[:1], words.to_tuple() if words else None, *pattern.to_tuple()[2:]) if pattern else None


def _pattern_from_data(data: tuple[Any, ...] | None) -> Pattern | None:
    return Pattern(data[0], PrefilterWords(*data[1]) if data[1] else None, *data[2:]) if data else None
