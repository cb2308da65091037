"""Where a pack can be copied from: boathook itself, a Python package that offers one, or a folder. No code of it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from boathook.core.near_words import suggest
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.sources.fields import is_pack_name
from boathook.sources.pack_md import PACK_MANIFEST

OWN_NAME, ENTRY_POINT_GROUP = "boathook", "boathook.packs"
# The pack of guards that `boathook setup` adds.
STANDARD_PACK = f"{OWN_NAME}/standard"
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LOCAL_OWNER = "local"


class PackSource(Value):
    """A pack that can be added: its name `OWNER/NAME`, its folder, and where it is from, for people."""

    name: str
    folder: str
    origin: str


def find_pack_source(text: str, name: str = "") -> PackSource:
    """Return the pack that a person means: a name `OWNER/NAME`, or a path; `name` replaces that of a folder."""
    if name and not is_pack_name(name):
        raise ConfigError(f"'{name}' is not the name of a pack: write OWNER/NAME, such as acme/guards")
    if text.startswith((".", "/", "~")):
        return _make_folder_source(os.path.abspath(os.path.expanduser(text)), name)
    known = {source.name: source for source in list_pack_sources()}
    if text in known and not name:
        return known[text]
    if name:
        raise ConfigError(
            f"--name is for the pack in a folder; '{text}' is not a path. Write ./{text}, or leave it out"
        )
    if os.path.isfile(f"{text}/{PACK_MANIFEST}"):
        raise ConfigError(f"there is no pack '{text}' to add. If you mean the folder, write ./{text}")
    raise ConfigError(f"there is no pack '{text}' to add: {suggest(text, known)}; a folder begins with ./ or /")


def _make_folder_source(folder: str, name: str) -> PackSource:
    if not os.path.isfile(f"{folder}/{PACK_MANIFEST}"):
        raise ConfigError(f"{folder} is not a pack: there is no {PACK_MANIFEST} in it")
    name = name or f"{_LOCAL_OWNER}/{os.path.basename(folder)}"
    if not is_pack_name(name):
        raise ConfigError(f"the folder {folder} does not have the name of a pack: add --name OWNER/NAME")
    return PackSource(name, folder, f"folder {folder}")


def list_pack_sources() -> tuple[PackSource, ...]:
    """Return the packs of boathook and of installed packages; the first of a name counts."""
    sources: dict[str, PackSource] = {}
    for source in (*_list_own_packs(), *_list_offered_packs()):
        sources.setdefault(source.name, source)
    return tuple(sources.values())


def _list_own_packs() -> Iterator[PackSource]:
    for name in sorted(os.listdir(_OWN_FOLDER)):
        if os.path.isfile(f"{_OWN_FOLDER}/{name}/{PACK_MANIFEST}"):
            yield PackSource(f"{OWN_NAME}/{name}", f"{_OWN_FOLDER}/{name}", OWN_NAME)


def _list_offered_packs() -> Iterator[PackSource]:
    """Return the packs that packages name in `[project.entry-points."boathook.packs"]`, as `"OWNER/NAME" = "package:folder"`."""
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda one: (one.name, one.value)):
        owner = point.name.partition("/")[0]
        # A package must not pass for boathook.
        if not is_pack_name(point.name) or owner in (OWN_NAME, _LOCAL_OWNER):
            continue
        below = "/".join((*point.module.split("."), *filter(None, point.attr.split("."))))
        for top in _list_tops(point):
            if os.path.isfile(f"{top}/{below}/{PACK_MANIFEST}"):
                title = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.module
                yield PackSource(point.name, f"{top}/{below}", f"package {title}")
                break


def _list_tops(point: object) -> Iterator[str]:
    """Return the folders that a package may be in: beside its metadata, or where an editable one leads; nothing is imported."""
    from importlib.machinery import PathFinder
    from importlib.metadata import EntryPoint

    if not isinstance(point, EntryPoint):
        return
    if point.dist is not None:
        yield str(point.dist.locate_file(""))
    spec = PathFinder.find_spec(point.module.partition(".")[0])
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield os.path.dirname(place)
