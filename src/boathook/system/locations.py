"""Where things are, and which of these folders must not be believed. The fast path needs this first, so it imports little."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    system = os
else:
    try:
        # half of what `os` is, and loaded already
        import posix as system
    except ImportError:
        import os as system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, Protocol

    Environment = Mapping[bytes, bytes]

    class LocatedSource(Protocol):
        """What is needed of a source to locate its files; see `boathook.sources.source`."""

        name: str
        without: str
        user_folder: "UserFolder"
        markers: "tuple[str, ...]"
        lookalikes: "tuple[tuple[str, str], ...]"
        is_default: bool
        part_of: str


REPOSITORY_MARKERS = ("/.git",)
DIRECTORY = 0o040000
FILE_TYPE = 0o170000
# writable by everybody, or sticky as /tmp is
SHARED = 0o1002
MAX_PATH_CHARS = 4096
_MAX_LOOKALIKE_DEPTH = 64


class UserFolder:
    """How a folder of the user is found: by an option, else by a variable, else by its default in the home folder."""

    # `below` is appended to what the variable or the default says.
    __slots__ = ("below", "default", "help", "option", "variable")

    def __init__(self, option: str, variable: bytes, default: str, below: str = "", help: str = "") -> None:  # noqa: A002
        self.option, self.variable, self.default = option, variable, default
        self.below, self.help = below, help


CONFIG_FOLDER = UserFolder(
    "config",
    b"XDG_CONFIG_HOME",
    ".config",
    "/agents",
    help="Your folder with hooks/ and hooks.toml, ignoring environment variables.",
)
STATE_FOLDER = UserFolder(
    "state",
    b"XDG_STATE_HOME",
    ".local/state",
    "/boathook",
    help="Folder of the trust store and the ledger, instead of the default one.",
)
CACHE_FOLDER = UserFolder("cache", b"XDG_CACHE_HOME", ".cache", "/boathook")


class SourceFolders:
    """The folders of one source: the user's and the project's, each "" if there is none that may be read."""

    # `own_folders` belong to the user wherever they are, so none of them makes a project. Without `has_projects` none is wanted.
    __slots__ = ("has_projects", "markers", "name", "own_folders", "project", "user")

    def __init__(
        self,
        name: str,
        user: str = "",
        project: str = "",
        markers: "tuple[str, ...]" = (),
        own_folders: "tuple[str, ...]" = (),
    ) -> None:
        self.name, self.user, self.project, self.markers = name, user, project, markers
        self.own_folders, self.has_projects = own_folders, True

    def find_project(self, start: str) -> str:
        return find_project(start, self.markers, self.own_folders)


class Locations:
    """Every folder that matters to one start of the engine."""

    # `start` is where projects are searched from. `config` holds the user's hooks.toml. `folders` has every folder of the user
    # by its option. `untrusted` has those that variables have put into a project: hooks and hooks.toml there are not read (""
    # stands for such a folder), and neither trust nor the cache is believed. With `trust_all` no hook needs trust. `closed` is the
    # start or a folder above it that cannot be entered, so that nobody can say which hooks are there. `lookalikes` has
    # the nearest folders that look like folders of hooks and are not, each with the folder that it looks like. `real_start` is the
    # real path of the start, `work_tree` is the nearest folder upwards from there that has `.git`, or "".
    __slots__ = (
        *("cache", "closed", "config", "folders", "lookalikes", "real_start", "sources", "start", "state", "trust_all"),
        *("untrusted", "work_tree"),
    )

    def __init__(
        self,
        *,
        start: str = "",
        config: str = "",
        state: str = "",
        cache: str = "",
        sources: "tuple[SourceFolders, ...]" = (),
        untrusted: "dict[str, str] | None" = None,
        folders: "dict[str, str] | None" = None,
        trust_all: bool = False,
        closed: str = "",
        lookalikes: "tuple[tuple[str, str], ...]" = (),
        real_start: str = "",
        work_tree: str = "",
    ) -> None:
        self.lookalikes, self.work_tree, self.real_start = lookalikes, work_tree, real_start or start
        self.start, self.config, self.state, self.cache, self.closed = start, config, state, cache, closed
        self.sources, self.untrusted, self.folders, self.trust_all = sources, untrusted or {}, folders or {}, trust_all

    def find(self, source: str) -> "SourceFolders":
        for folders in self.sources:
            if folders.name == source:
                return folders
        return SourceFolders(source)

    @property
    def projects(self) -> "tuple[str, ...]":
        return tuple([folders.project for folders in self.sources if folders.project])

    @property
    def key(self) -> "tuple[object, ...]":
        sources = [(folders.name, folders.user, folders.project, folders.has_projects) for folders in self.sources]
        state = "" if self.trust_all else self.state
        return (self.config, state, tuple(sources), self.closed, self.lookalikes, self.work_tree)

    def list_around(self, folders: "Iterable[str]") -> "tuple[str, ...]":
        """Return those of some real folders that the start is in, by its own path or its real one; the nearest comes first."""
        starts = [self.start.rstrip("/") + "/", self.real_start.rstrip("/") + "/"]
        around = {path for path in folders if any(start.startswith(path.rstrip("/") + "/") for start in starts)}
        return tuple(sorted(around, key=_count_chars))


def resolve_locations(
    sources: "Iterable[LocatedSource]",
    start: str,
    env: "Environment",
    *,
    given: "Mapping[str, str] | None" = None,
    without: "Collection[str]" = (),
    enabled: "Collection[str] | None" = None,
    trust_all: bool = False,
) -> "Locations":
    """Resolve every folder for a start folder: this is the only place that decides where things are and what to believe."""
    # `given` are the folders that the caller names, by their option: no variable counts for these. `enabled` names the sources
    # to read (None: the default ones), `without` those to leave out, with `project-` before the name only their projects.
    home, given = find_home(env), {option: path for option, path in (given or {}).items() if path}
    sources = _select_sources(sources, enabled, without)
    if STATE_FOLDER.option in given:
        # A cache that a variable names could hold a forged catalogue, although all other folders are fixed.
        given[CACHE_FOLDER.option] = make_absolute(given[STATE_FOLDER.option]) + "/cache"
    all_folders = (CONFIG_FOLDER, STATE_FOLDER, CACHE_FOLDER, *[source.user_folder for source in sources])
    paths = {folder: _resolve_folder(folder, env, home, given) for folder in all_folders}
    # What is at its default place in the home folder is the user's own, too, if the home folder is believed.
    defaults = {source.user_folder: _resolve_folder(source.user_folder, {}, home, {}) for source in sources}

    def locate(source: "LocatedSource", untrusted: "Collection[tuple[UserFolder, str]]") -> "SourceFolders":
        folder = source.user_folder
        own = [path for path in (paths[folder], defaults[folder]) if (folder, path) not in untrusted]
        return _locate_source(source, start, paths[folder], own, without)

    located = [locate(source, ()) for source in sources]
    real_start = _real(start) or start
    work_trees = {at: _find_upwards(at, REPOSITORY_MARKERS) for at in {start, real_start}}
    doubtful = {*paths.items(), *defaults.items()} - {item for item in paths.items() if item[0].option in given}
    untrusted = _find_untrusted(work_trees, doubtful, [folders.project for folders in located], home)
    located = [locate(source, untrusted) for source in sources] if untrusted else located
    folders = {folder.option: path for folder, path in paths.items()}
    untrusted_folders = {folder.option: path for folder, path in paths.items() if (folder, path) in untrusted}
    return Locations(
        start=start,
        config="" if "config" in untrusted_folders else folders["config"],
        state=folders["state"],
        cache=folders["cache"],
        sources=tuple(located),
        untrusted=untrusted_folders,
        folders=folders,
        trust_all=trust_all,
        closed=_find_closed_folder(start),
        lookalikes=_find_lookalikes(start, sources),
        real_start=real_start,
        work_tree=work_trees[real_start],
    )


def _select_sources(
    sources: "Iterable[LocatedSource]", enabled: "Collection[str] | None", without: "Collection[str]"
) -> "list[LocatedSource]":
    found = [one for one in sources if (one.is_default if enabled is None else (one.part_of or one.without) in enabled)]
    return [one for one in found if one.without not in without]


def _locate_source(
    source: "LocatedSource", start: str, user: str, own: "list[str]", without: "Collection[str]"
) -> "SourceFolders":
    found = SourceFolders(source.name, user if user in own else "", "", source.markers, tuple(own))
    found.has_projects = f"project-{source.without}" not in without
    found.project = found.find_project(start) if found.has_projects else ""
    return found


def _count_chars(path: str) -> "tuple[int, str]":
    return -len(path), path


def _find_lookalikes(start: str, sources: "list[LocatedSource]") -> "tuple[tuple[str, str], ...]":
    # Each is searched for in every folder above: that is for people's folders, not for a path made to be deep.
    if start.count("/") > _MAX_LOOKALIKE_DEPTH:
        return ()
    pairs = [pair for source in sources for pair in source.lookalikes]
    found = [(_find_upwards(start, (place,)), place, marker) for place, marker in pairs]
    return tuple([(top.rstrip("/") + place, top.rstrip("/") + marker) for top, place, marker in found if top])


def list_user_folders(sources: "Iterable[LocatedSource]") -> "tuple[UserFolder, ...]":
    return tuple(dict.fromkeys((CONFIG_FOLDER, *[source.user_folder for source in sources], STATE_FOLDER)))


def list_without_names(sources: "Iterable[LocatedSource]") -> "tuple[str, ...]":
    return tuple([prefix + source.without for source in sources for prefix in ("", "project-")])


def resolve_folder(folder: "UserFolder", env: "Environment", given: "Mapping[str, str] | None" = None) -> str:
    return _resolve_folder(folder, env, find_home(env), given or {})


def _resolve_folder(folder: "UserFolder", env: "Environment", home: str, given: "Mapping[str, str]") -> str:
    path = given.get(folder.option)
    if path:
        return make_absolute(path)
    value = env.get(folder.variable)
    base = _text(value).rstrip("/") if value and _is_plain(value) else f"{home}/{folder.default}".rstrip("/")
    return base + folder.below


def _is_plain(value: bytes) -> bool:
    path = value.rstrip(b"/") + b"/"
    has_detour = b"/../" in path or b"/./" in path or b"//" in path
    return value.startswith(b"/") and not has_detour and not path.startswith((b"/proc/", b"/dev/fd/"))


def find_home(env: "Environment") -> str:
    """Return the home folder: without a usable HOME that of the account, because guards must not vanish with a variable."""
    value = env.get(b"HOME", b"")
    return _text(value).rstrip("/") if _is_plain(value) else account_home()


def account_home() -> str:
    try:
        import pwd

        return pwd.getpwuid(system.getuid()).pw_dir.rstrip("/")
    except (ImportError, KeyError, AttributeError):
        return "/nonexistent"


def _find_untrusted(
    work_trees: "dict[str, str]", folders: "set[tuple[UserFolder, str]]", projects: "list[str]", home: str
) -> "Collection[tuple[UserFolder, str]]":
    """Return the folders of the user that are in a project: a variable led there, which may be a trick."""
    # Some hosts load a project's `.env`. A folder is in a project if it is below one of `projects`, below any folder that has
    # `.git` or `.agents/hooks`, or below the start itself, unless that is, or holds, the home folder. The account's own folders
    # are believed wherever they are, and so is everything in a project that holds the account's home.
    # `work_trees` has the start, by its own path and its real one, and the nearest `.git` of each.
    tops = {*projects, *work_trees.values()}
    for at in work_trees:
        if not is_shared(at) and not f"{home}/".startswith(at.rstrip("/") + "/"):
            tops.add(at)
    tops -= {"", "/"}
    seen: dict[str, bool] = {}
    holders = {path: _find_holders(path, tops, seen) for _, path in folders}
    if not any(holders.values()):
        return ()
    account = account_home()
    known = (CONFIG_FOLDER, STATE_FOLDER, CACHE_FOLDER, *[folder for folder, _ in folders])
    own = {_resolve_folder(folder, {}, account, {}) for folder in known}
    own |= {path for path in holders if all(f"{account}/".startswith(f"{project}/") for project in holders[path])}
    return [(folder, path) for folder, path in folders if path not in own]


def _find_holders(folder: str, tops: "set[str]", seen: "dict[str, bool]") -> "set[str]":
    projects = set()
    for path in {folder, _real(folder) or folder}:
        projects |= {top for top in tops if f"{path}/".startswith(top.rstrip("/") + "/")}
        at = path
        while at:
            if at not in seen:
                seen[at] = _exists(at + "/.git") or _exists(at + "/.agents/hooks")
            if seen[at]:
                projects.add(at)
            at = at.rpartition("/")[0]
    return projects


def is_shared(folder: str) -> bool:
    """Whether a folder is for everybody, such as /tmp, or cannot be looked at."""
    try:
        return bool(system.stat(folder).st_mode & SHARED)
    except (OSError, ValueError):
        return True


def find_project(start: str, markers: "tuple[str, ...]", own_folders: "tuple[str, ...]" = ()) -> str:
    """Return the nearest folder from a start upwards that has one of the markers, or ""."""
    # A folder whose marker is in one of the user's own folders is not a project. A start that is reached through a link is
    # searched again from its real path if its own path has no project.
    return _find_upwards(start, markers, own_folders) or _find_upwards(_real(start), markers, own_folders)


def _find_upwards(start: str, markers: "tuple[str, ...]", own_folders: "tuple[str, ...]" = ()) -> str:
    at = start.rstrip("/")
    if len(at) > MAX_PATH_CHARS:
        at = at[:MAX_PATH_CHARS].rpartition("/")[0]
    while True:
        for marker in markers:
            if _has_marker(at, marker) and not _is_any(at + marker.rpartition("/")[0], own_folders):
                return at or "/"
        if "/" not in at:
            return ""
        at = at.rpartition("/")[0]


def _has_marker(folder: str, marker: str) -> bool:
    # What cannot be seen because the folder itself is closed does not make that folder a project. If only a folder inside it is
    # closed, it is one: its hooks are there and cannot be used, which is reported.
    return _exists(folder + marker) and not _is_closed(folder)


def _is_closed(folder: str) -> bool:
    try:
        system.lstat(folder + "/.")
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _find_closed_folder(start: str) -> str:
    at, closed = start.rstrip("/"), ""
    while at and _is_closed(at):
        at, closed = at.rpartition("/")[0], at
    return closed


def _is_any(path: str, others: "tuple[str, ...]") -> bool:
    if path in others:
        return True
    identity = _identify(path) if others else ()
    return any(_identify(other) == identity for other in others)


def _identify(path: str) -> "tuple[str | int, ...]":
    try:
        status = system.stat(path)
    except (OSError, ValueError):
        return (path,)
    return (status.st_dev, status.st_ino)


def _exists(path: str) -> bool:
    try:
        system.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        from errno import ENAMETOOLONG

        # nothing can be at a path that is too long, and the guards further up must be found
        return error.errno != ENAMETOOLONG
    return True


class PathAvoidedError(Exception):
    """A path leads to where this process may not look."""


class RealPaths:
    """Finds real paths, of which only the beginning may exist; it looks at each folder once."""

    MAX_LINKS = 40
    # Mount points below which nothing may be looked at: see `boathook.warm.mount_watch`.
    avoided: "tuple[str, ...]" = ()

    def __init__(self) -> None:
        self._known = {"": ""}
        self._links = 0

    @property
    def has_too_many_links(self) -> bool:
        """Whether links were left as they are."""
        return self._links >= self.MAX_LINKS

    def find(self, path: str) -> str:
        """Return the real path of an absolute path without `.` and `..`."""
        known = self._known.get(path)
        if known is not None:
            return known
        above, _, name = path.rpartition("/")
        real = f"{self.find(above)}/{name}" if len(path) <= MAX_PATH_CHARS else path
        if any(real == point or real.startswith(point + "/") for point in self.avoided):
            raise PathAvoidedError
        try:
            target = system.readlink(real)
        except (OSError, ValueError):
            target = ""
        if target and self._links < self.MAX_LINKS:
            self._links += 1
            parts: list[str] = []
            for part in (target if target.startswith("/") else f"{real.rpartition('/')[0]}/{target}").split("/"):
                if part == "..":
                    del parts[-1:]
                elif part not in ("", "."):
                    parts.append(part)
            real = self.find("/" + "/".join(parts))
        self._known[path] = real
        return real


def _real(path: str) -> str:
    """Return the real path of a folder without importing os.path; "" if it is the same or cannot be found out."""
    try:
        handle = system.open(path, system.O_RDONLY | system.O_CLOEXEC | system.O_NONBLOCK)
    except (OSError, ValueError, AttributeError):
        return ""
    try:
        real = system.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        import os.path

        real = os.path.realpath(path)
    finally:
        system.close(handle)
    return "" if real == path.rstrip("/") else real


def read_environment() -> "Environment":
    found: Any = system.environ
    if found and isinstance(next(iter(found)), str):
        return {k.encode(): v.encode("utf-8", "surrogateescape") for k, v in found.items()}
    bytewise: Environment = found
    return bytewise


# The place of a host's project that is the folder in which it starts us.
OWN_FOLDER = "."


def find_host_project(places: "tuple[str, ...]", env: "Environment", get_field: "Callable[[str], object]") -> str:
    """Return the project of a host's session by the places of its row, "" if none of them names a folder."""
    # The event's folder is not asked for this: it changes with every `cd`, and in some hosts with every call.
    for place in places:
        path: object
        if place == OWN_FOLDER:
            path = _find_own_folder()
        elif place.startswith("$"):
            path = _text(env.get(place[1:].encode(), b""))
        else:
            path = get_field(place)
        if isinstance(path, str) and path.startswith("/") and (is_dir(path) or _is_closed(path)):
            return path.rstrip("/") or "/"
    return ""


def choose_start(project: "str | None", host_project: str, folder: str) -> str:
    """Return the folder from which projects are looked for: an option, the host's project, the event's or the current one."""
    return project or host_project or folder.replace("\0", "") or current_dir()


def current_dir() -> str:
    return _find_own_folder() or "/"


def _find_own_folder() -> str:
    try:
        return system.getcwd()
    except OSError:
        return ""


def make_absolute(path: str) -> str:
    if path.startswith("/"):
        return path
    import os.path

    return os.path.normpath(f"{current_dir()}/{path}")


def is_dir(path: str) -> bool:
    try:
        return system.stat(path).st_mode & FILE_TYPE == DIRECTORY
    except (OSError, ValueError):
        return False


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
