"""The sources of hooks, one row each. The fast path imports this, so readers are named and not imported."""

from boathook.system.locations import CONFIG_FOLDER, UserFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.sources.source_hooks import SourceHooks
    from boathook.system.locations import SourceFolders


class Source:
    """One form of hooks.

    `name` is the `source` of its hooks; `without` is what `run --without` calls it. `markers` are the files, below the folder of
    a project, that make it a project of this source. `reader` names the function that reads the hooks as `module:function`. The
    hooks of a source that speak its `dialect` get its project. If it `runs_together`, its hooks form one stage without
    priorities, and equal ones run once; otherwise they run one after another by priority, and one of each name counts. `host`
    is the agent whose own form it is. `protected_names` are files and folders in the user's folder that self-protection guards,
    `protected_files` those of a project with trusted hooks, besides the hooks themselves. `lookalikes` are pairs of a folder, below
    a folder of people, that is not one of its markers, and the marker that it looks like: see `boathook.sources.near_misses`.
    """

    __slots__ = (
        *("dialect", "host", "lookalikes", "markers", "name", "protected_files", "protected_names", "reader"),
        *("runs_together", "user_folder", "without"),
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
    ) -> None:
        self.name, self.without, self.dialect, self.runs_together = name, without, dialect, runs_together
        self.user_folder, self.markers, self.reader, self.host = user_folder, markers, reader, host
        self.lookalikes = lookalikes
        self.protected_names, self.protected_files = protected_names, protected_files

    @property
    def project_folder(self) -> str:
        return self.markers[0].rpartition("/")[0]

    def read_hooks(self, folders: "SourceFolders") -> "SourceHooks":
        module, _, function = self.reader.partition(":")
        read: Callable[[SourceFolders], SourceHooks] = getattr(__import__(module, fromlist=[function]), function)
        return read(folders)


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
# All sources, in the order in which they count.
SOURCES: "list[Source]" = [HOOK_MD_SOURCE, SETTINGS_JSON_SOURCE]


def find_source(name: str) -> "Source":
    return next(source for source in SOURCES if source.name == name)
