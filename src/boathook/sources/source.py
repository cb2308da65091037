"""The sources of hooks, one row each. The fast path imports this, so readers are named and not imported."""

from boathook.system.locations import CONFIG_FOLDER, UserFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.sources.source_hooks import SourceHooks
    from boathook.system.locations import SourceFolders

    # What the user's hooks.toml says: a project ("" for all of them) and its sources, by the names that `--without` has.
    SourceRules = tuple[tuple[str, tuple[str, ...]], ...]


class Source:
    """One form of hooks.

    `name` is the `source` of its hooks; `without` is what `run --without` calls it. `markers` are the files, below the folder of
    a project, that make it a project of this source. `reader` names the function that reads the hooks as `module:function`. The
    hooks of a source that speak its `dialect` get its project. If it `runs_together`, its hooks form one stage without
    priorities, and equal ones run once; otherwise they run one after another by priority, and one of each name counts. `host`
    is the agent whose own form it is. `protected_names` are files and folders in the user's folder that self-protection guards,
    `protected_files` those of a project with trusted hooks, besides the hooks themselves. `lookalikes` are pairs of a folder, below
    a folder of people, that is not one of its markers, and the marker that it looks like: see `boathook.sources.near_misses`.
    Without `is_default`, its hooks are read only if the user's hooks.toml names it (by `without`). One that is `part_of` another
    is read if that one is, and hooks.toml does not name it.
    """

    __slots__ = (
        *("dialect", "host", "is_default", "lookalikes", "markers", "name", "protected_files", "protected_names"),
        *("part_of", "reader", "runs_together", "user_folder", "without"),
    )

    def __init__(
        self,
        name: str,
        *,
        without: str,
        user_folder: "UserFolder",
        markers: "tuple[str, ...]",
        reader: str,
        dialect: str,
        runs_together: bool,
        protected_names: "tuple[str, ...]",
        protected_files: "tuple[str, ...]" = (),
        host: str = "",
        lookalikes: "tuple[tuple[str, str], ...]" = (),
        is_default: bool = True,
        part_of: str = "",
    ) -> None:
        self.name, self.without, self.dialect, self.runs_together = name, without, dialect, runs_together
        self.user_folder, self.markers, self.reader, self.host = user_folder, markers, reader, host
        self.lookalikes, self.is_default, self.part_of = lookalikes, is_default, part_of
        self.protected_names, self.protected_files = protected_names, protected_files

    @property
    def project_folder(self) -> str:
        """Return the folder of a project with its files, "" if it has none in projects."""
        return self.markers[0].rpartition("/")[0] if self.markers else ""

    def read_hooks(self, folders: "SourceFolders") -> "SourceHooks":
        module, _, function = self.reader.partition(":")
        read: Callable[[SourceFolders], SourceHooks] = getattr(__import__(module, fromlist=[function]), function)
        return read(folders)


# One reader for the files of all agents but Claude Code, by the form that belongs to the name of the source.
_FORM_READER = "boathook.sources.agent_forms.form_files:read_form_files"
HOOK_MD_SOURCE = Source(
    "HOOK.md",
    without="hook-md",
    user_folder=CONFIG_FOLDER,
    markers=("/.agents/hooks",),
    reader="boathook.sources.hook_md.folder:read_hook_folders",
    dialect="native",
    runs_together=False,
    protected_names=("hooks", "hooks.toml"),
    protected_files=(".agents/hooks.toml",),
    lookalikes=(
        ("/.agents/hook", "/.agents/hooks"),
        ("/.agents/Hooks", "/.agents/hooks"),
        ("/.agent/hooks", "/.agents/hooks"),
        ("/.claude/hooks", "/.agents/hooks"),
    ),
)
PACK_SOURCE = Source(
    "packs",
    without="packs",
    user_folder=CONFIG_FOLDER,
    markers=("/.agents/packs",),
    reader="boathook.sources.pack_folders:read_packs",
    dialect="native",
    runs_together=False,
    protected_names=("packs", "packs.lock"),
    protected_files=(".agents/hooks.toml",),
    part_of="hook-md",
)
SETTINGS_JSON_SOURCE = Source(
    "settings.json",
    without="settings",
    user_folder=UserFolder(
        "claude",
        b"CLAUDE_CONFIG_DIR",
        ".claude",
        help="Your folder with settings.json, ignoring environment variables.",
    ),
    markers=("/.claude/settings.json", "/.claude/settings.local.json"),
    reader="boathook.sources.settings_json.settings:read_settings_files",
    dialect="claude",
    runs_together=True,
    protected_names=("settings.json",),
    host="claude",
)
CODEX_SOURCE = Source(
    "codex",
    without="codex",
    user_folder=UserFolder("codex", b"CODEX_HOME", ".codex", help="Your folder of Codex CLI, with hooks.json."),
    markers=("/.codex/hooks.json", "/.codex/config.toml"),
    reader=_FORM_READER,
    dialect="codex",
    runs_together=True,
    protected_names=("hooks.json", "config.toml"),
    host="codex",
    is_default=False,
)
GEMINI_SOURCE = Source(
    "gemini",
    without="gemini",
    user_folder=UserFolder(
        "gemini", b"GEMINI_CLI_HOME", "", "/.gemini", help="Your folder of Gemini CLI, with settings.json."
    ),
    markers=("/.gemini/settings.json",),
    reader=_FORM_READER,
    dialect="gemini",
    runs_together=True,
    protected_names=("settings.json",),
    host="gemini",
    is_default=False,
)
QWEN_SOURCE = Source(
    "qwen",
    without="qwen",
    user_folder=UserFolder("qwen", b"QWEN_HOME", ".qwen", help="Your folder of Qwen Code, with settings.json."),
    markers=("/.qwen/settings.json",),
    reader=_FORM_READER,
    dialect="qwen",
    runs_together=True,
    protected_names=("settings.json",),
    host="qwen",
    is_default=False,
)
CURSOR_SOURCE = Source(
    "cursor",
    without="cursor",
    user_folder=UserFolder("cursor", b"", ".cursor", help="Your folder of Cursor, with hooks.json."),
    markers=("/.cursor/hooks.json",),
    reader=_FORM_READER,
    dialect="cursor",
    runs_together=True,
    protected_names=("hooks.json",),
    host="cursor",
    is_default=False,
)
COPILOT_SOURCE = Source(
    "copilot",
    without="copilot",
    user_folder=UserFolder("copilot", b"COPILOT_HOME", ".copilot", help="Your folder of Copilot CLI, with hooks/."),
    markers=("/.github/hooks",),
    reader=_FORM_READER,
    dialect="copilot",
    runs_together=True,
    protected_names=("hooks",),
    host="copilot",
    is_default=False,
)
KIMI_SOURCE = Source(
    "kimi",
    without="kimi",
    user_folder=UserFolder("kimi", b"KIMI_CODE_HOME", ".kimi-code", help="Your folder of Kimi Code, with config.toml."),
    markers=(),
    reader=_FORM_READER,
    dialect="kimi",
    runs_together=True,
    protected_names=("config.toml",),
    host="kimi-code",
    is_default=False,
)
KIMI_CLI_SOURCE = Source(
    "kimi-cli",
    without="kimi-cli",
    user_folder=UserFolder("kimi-cli", b"KIMI_SHARE_DIR", ".kimi", help="Your folder of kimi-cli, with config.toml."),
    markers=(),
    reader=_FORM_READER,
    dialect="kimi-cli",
    runs_together=True,
    protected_names=("config.toml",),
    host="kimi-cli",
    is_default=False,
)
# All sources, in the order in which they count.
SOURCES: "list[Source]" = [
    HOOK_MD_SOURCE,
    PACK_SOURCE,
    SETTINGS_JSON_SOURCE,
    CODEX_SOURCE,
    GEMINI_SOURCE,
    QWEN_SOURCE,
    CURSOR_SOURCE,
    COPILOT_SOURCE,
    KIMI_SOURCE,
    KIMI_CLI_SOURCE,
]


def find_source(name: str) -> "Source":
    return next(source for source in SOURCES if source.name == name)


def list_named_sources() -> "tuple[Source, ...]":
    """Return the sources that hooks.toml can name."""
    return tuple([source for source in SOURCES if not source.part_of])


def list_default_sources() -> "tuple[str, ...]":
    return tuple([source.without for source in list_named_sources() if source.is_default])


def choose_sources(rules: "SourceRules", folder: str) -> "tuple[str, ...]":
    """Return the sources that are read for a folder: those of the nearest project that has a rule, or those for all."""
    projects = [project for project, _ in rules if not project or (folder + "/").startswith(project.rstrip("/") + "/")]
    return dict(rules)[max(projects, key=len)] if projects else list_default_sources()
