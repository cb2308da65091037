"""The compiled catalogue: one private file per project that says which hooks there are, and how to notice that this changed."""

# It is trusted only as far as it can be checked: it has a checksum, the interpreter's version, and the state of every file and
# folder it was made from. A file that was changed less than two seconds before it was read may be changed again without its
# time showing it, so such a catalogue is not kept.

import marshal
import sys

# What .pyc files are checked with: fast, and built in.
from _imp import source_hash

from boathook.system.locations import RealPaths, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from boathook.core.catalog import Catalog
    from boathook.core.event import EventKind
    from boathook.system.locations import Locations
    from boathook.system.programs import Stamp

FORMAT = 19
MAGIC = b"boathook compiled catalogue\n"
# The path is that of this installation: what another one has made is not used, and the files of the version, hosts and tools
# are watched (see `write_compiled`). To import the version itself would take longer.
VERSION = (FORMAT, __file__, sys.hexversion, sys.implementation.cache_tag)
MAX_NAME_BYTES = 240
MAX_SEARCHED_WORDS = 200
O_FLAGS = system.O_RDONLY | system.O_CLOEXEC | system.O_NOFOLLOW | system.O_NONBLOCK


class Compiled:
    def __init__(self, head: "dict[str, Any]", body: "memoryview") -> None:
        self.head, self._body = head, body
        self._sections: dict[str, Any] = {}
        self._watched: frozenset[str] | None = None
        # What looks at all watched files at once, in the warm engine.
        self._are_unchanged: Callable[[], bool] | None = None

    def check_places(self) -> None:
        """Raise PathAvoidedError if a watched file is where this process may not look."""
        paths = RealPaths()
        for path, _ in self.head["watch"] if paths.avoided else ():
            paths.find(path.rstrip("/"))

    def prepare_looks(self, pack: "Callable[[Any], Callable[[], bool] | None] | None") -> None:
        """Let a library of the warm engine look at the watched files, if it can."""
        self._are_unchanged = pack(self.head["watch"]) if pack is not None else None

    def is_fresh(self) -> bool:
        return self._are_unchanged() if self._are_unchanged is not None else is_fresh(self.head["watch"])

    def watches_all(self, paths: "Iterable[str]") -> bool:
        if self._watched is None:
            self._watched = frozenset([path for path, _ in self.head["watch"]])
        return self._watched.issuperset(paths)

    def section(self, name: str) -> "Any":
        if name not in self._sections:
            start, end = self.head["sections"][name]
            self._sections[name] = marshal.loads(self._body[start:end])
        return self._sections[name]

    def restore(self, kind: "EventKind") -> "Catalog":
        from boathook.core.catalog import Catalog, Settings
        from boathook.core.event import KINDS
        from boathook.core.hook import BUILT_IN, Diagnostic, hook_from_data
        from boathook.dialects.dialect import find_hook_dialect

        kinds = {one.name: one for one in KINDS}
        hooks = [hook_from_data(data, kinds, find_hook_dialect) for data in self.section(f"hooks {kind.name}")]
        return Catalog(
            tuple([hook for hook in hooks if hook.source != BUILT_IN]),
            Settings(*self.head["settings"]),
            tuple([Diagnostic(*data) for data in self.head["diagnostics"]]),
            self.head["projects"],
            self.head["counts"],
            self.head["is_judged"],
            self.head["user_folders"],
            self.head["trusted_keys"],
            tuple([hook for hook in hooks if hook.source == BUILT_IN]),
            self.head["hook_set"],
        )


def compiled_path(locations: "Locations") -> "str | None":
    """Return the file of the compiled catalogue for some locations, or None if it must not or cannot be kept."""
    # A cache inside a project would be the project's word about itself, so it is not used.
    projects = locations.projects
    tops = tuple([project.rstrip("/") + "/" for project in projects if project != "/"])
    if locations.untrusted or (locations.cache + "/").startswith(tops):
        return None
    name = (projects[0] if projects else "/").replace("%", "%25").replace("/", "%2F")
    end = f"+{source_hash(FORMAT, repr((VERSION, locations.key)).encode()).hex()}.catalogue"
    # The digest is of the whole path; its beginning is for people.
    shown = name.encode("utf-8", "ignore")[: MAX_NAME_BYTES - len(end)].decode("utf-8", "ignore")
    return f"{locations.cache}/{shown}{end}"


def pack(head: "dict[str, Any]", sections: "dict[str, Any]") -> bytes:
    body, places = b"", {}
    for name, value in sections.items():
        data = marshal.dumps(value)
        places[name] = (len(body), len(body) + len(data))
        body += data
    top = marshal.dumps({**head, "version": VERSION, "sections": places})
    rest = len(top).to_bytes(4, "little") + top + body
    return MAGIC + source_hash(FORMAT, rest) + rest


def load_compiled(locations: "Locations") -> "Compiled | None":
    """Load the compiled catalogue for some locations; None if it is missing, damaged, made by another version, or stale."""
    compiled = find_compiled(locations)
    return compiled if compiled is not None and compiled.is_fresh() else None


def find_compiled(locations: "Locations") -> "Compiled | None":
    """Return the compiled catalogue for some locations, which may be stale: nothing may be decided until it `is_fresh`."""
    path = compiled_path(locations)
    compiled = read_compiled(path, locations.key) if path is not None else None
    if compiled is None:
        return None
    # Starts of one project share a catalogue, unless hooks were trusted in a folder that only some of them are in.
    folders, around = compiled.head["trusted_folders"]
    if locations.list_around(folders) != around:
        return None
    # A catalogue without these would stay fresh whatever happens there: it is not one that we wrote.
    return compiled if compiled.watches_all(list_fixed_paths(locations)) else None


def list_fixed_paths(locations: "Locations") -> "list[str]":
    """Return the paths that every catalogue of some locations watches: where hooks, settings and trust are, or would be."""
    paths = [locations.config + "/hooks.toml"] if locations.config else []
    paths += [] if locations.trust_all else [locations.state + "/trust.json"]
    for folders in locations.sources:
        if folders.user:
            paths += [folders.user + marker[marker.rindex("/") :] for marker in folders.markers[:1]]
        if folders.project:
            paths += [folders.project + marker for marker in folders.markers]
    return paths


class _KeptCatalogues:
    """What the warm engine has read, by the stamp of the file. Every other process reads a catalogue once."""

    LIMIT = 16
    is_on = False
    pack_looks: "Callable[[Any], Callable[[], bool] | None] | None" = None
    by_path: "dict[str, tuple[Stamp, Compiled]]" = {}  # noqa: RUF012


def keep_catalogues(pack_looks: "Callable[[Any], Callable[[], bool] | None] | None" = None) -> None:
    """Keep what is read from now on in memory. Whether it is fresh is looked at every time nevertheless."""
    _KeptCatalogues.is_on, _KeptCatalogues.pack_looks = True, pack_looks


def forget_catalogues() -> None:
    _KeptCatalogues.by_path.clear()


def read_compiled(path: str, key: "tuple[object, ...]") -> "Compiled | None":
    compiled = _read_kept(path) if _KeptCatalogues.is_on else _parse(_read(path))
    return compiled if compiled is not None and compiled.head["key"] == key else None


def _read_kept(path: str) -> "Compiled | None":
    """Return what is in memory, if the file is still that one: it is only ever replaced, never written to (`write_private`)."""
    try:
        found = system.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    stamp, kept = (found.st_ctime_ns, found.st_size, found.st_ino), _KeptCatalogues.by_path
    if path not in kept or kept[path][0] != stamp:
        compiled = _parse(_read(path))
        kept.pop(path, None)
        if compiled is None:
            return None
        compiled.check_places()
        compiled.prepare_looks(_KeptCatalogues.pack_looks)
        if len(kept) >= _KeptCatalogues.LIMIT:
            kept.clear()
        kept[path] = stamp, compiled
    return kept[path][1]


def _parse(data: "bytes | None") -> "Compiled | None":
    if data is None or not data.startswith(MAGIC):
        return None
    start = len(MAGIC) + 8
    view = memoryview(data)
    if source_hash(FORMAT, view[start:]) != data[start - 8 : start]:
        return None
    size = int.from_bytes(data[start : start + 4], "little")
    head = marshal.loads(view[start + 4 : start + 4 + size])
    return Compiled(head, view[start + 4 + size :]) if head["version"] == VERSION else None


def is_fresh(watch: "Iterable[tuple[str, Stamp]]") -> bool:
    """Whether all files and folders are as they were when a catalogue was made. `warm/stamps.c` has the same rule."""
    stat = system.stat
    for path, before in watch:
        try:
            now = stat(path)
        except (OSError, ValueError):
            if before is not None:
                return False
            continue
        if path[-1] == "/":
            if (now.st_mode, now.st_uid, now.st_ino) != before:
                return False
        elif before is None or (now.st_ctime_ns, now.st_size, now.st_ino) != before:
            return False
    return True


def _read(path: str) -> "bytes | None":
    try:
        handle = system.open(path, O_FLAGS)
    except (OSError, ValueError):
        return None
    try:
        found = system.fstat(handle)
        if found.st_mode & 0o170000 != 0o100000 or found.st_mode & 0o022 or found.st_uid != system.getuid():
            return None
        return system.read(handle, found.st_size)
    except OSError:
        return None
    finally:
        system.close(handle)


def may_match_tool(rows: "Iterable[tuple[Any, ...]]", tool: str) -> bool:
    """Whether any hook can mean a tool, whatever its input is; a "no" is certain."""
    return any(
        equal is None or tool in equal or any(word in tool for word in inside) for (equal, inside, _), *_ in rows
    )


def may_match(rows: "Iterable[tuple[Any, ...]]", tools: "tuple[str, ...]", text: str, gram: int) -> bool:
    """Whether any hook can match; a "no" is certain, because the words are what every match needs (see `core.prefilter`)."""
    grams: set[str] | None = None
    for row in rows:
        if not any(may_match_tool((row,), tool) for tool in tools):
            continue
        words = row[2]
        if words is None:
            return True
        index, short = words
        # To look for a few words is quicker than to list all parts of a text.
        if len(index) < MAX_SEARCHED_WORDS and len(index) * 8 < len(text):
            keys = [key for key in index if key in text]
        else:
            if grams is None:
                grams = {*map("".join, zip(*[text[at:] for at in range(gram)], strict=False))}
            # The other way round would write to the memory of all keys, to count references.
            keys = [part for part in grams if part in index]
        found = [word for key in keys for word in index[key]]
        if any(word in text for word in (*found, *short)):
            return True
    return False
