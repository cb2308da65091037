"""Files with hooks of sources that are not enabled: people may not know that boathook can run them."""

from __future__ import annotations

from boathook.core.hook import ARMED, INVALID
from boathook.core.value import Value
from boathook.hosts.host import load_host
from boathook.sources.source import find_source
from boathook.system.locations import Locations

_COUNTED = (ARMED, INVALID)


class UnusedFile(Value):
    """A file of a source that is not enabled, the agent that it is from, and how many hooks it has."""

    path: str
    source: str
    title: str
    count: int


def find_unused_files(everything: Locations, enabled: Locations) -> tuple[UnusedFile, ...]:
    """Return the files with hooks that count where all sources are enabled, and do not where only some are."""
    used = {folders.name for folders in enabled.sources}
    files: list[UnusedFile] = []
    for folders in everything.sources:
        source = find_source(folders.name)
        # Those that need no setting were turned off on purpose.
        if folders.name in used or source.is_default:
            continue
        hooks = [hook for hook, _ in source.read_hooks(folders).hooks if not hook.is_installed_call]
        # An entry may be hooks of two kinds of events.
        paths = [path for path, _ in dict.fromkeys((hook.path, hook.place) for hook in hooks if hook.state in _COUNTED)]
        title = load_host(source.host).title if source.host else source.name
        files += [UnusedFile(path, source.without, title, paths.count(path)) for path in dict.fromkeys(paths)]
    return tuple(files)
