"""What adding a pack would change: hooks that are new, changed or gone, and files that somebody has edited."""

from __future__ import annotations

from boathook.core.value import Value
from boathook.packs.pack_folder import PackContent
from boathook.sources.pack_lock import LockedPack

NEW, CHANGED, GONE, SAME = "new", "changed", "gone", "same"


class PackChange(Value):
    """A pack that is added: each hook with what happens to it, and what was edited in the pack that it replaces."""

    hooks: tuple[tuple[str, str], ...]
    edited: tuple[str, ...] = ()
    changes_shared_code: bool = False

    def list_hooks(self, state: str) -> tuple[str, ...]:
        return tuple(name for name, found in self.hooks if found == state)

    @property
    def is_empty(self) -> bool:
        return not self.changes_shared_code and all(state == SAME for _, state in self.hooks)


def compare_packs(new: PackContent, old: PackContent | None, locked: LockedPack | None) -> PackChange:
    """Return what replacing a pack would change; without a lock all files of the old one count as edited if they differ."""
    if old is None:
        return PackChange(tuple((name, NEW) for name, _ in new.hooks))
    names = dict.fromkeys((*(name for name, _ in new.hooks), *(name for name, _ in old.hooks)))
    hooks = tuple((name, _compare_hook(name, new, old)) for name in names)
    shared = [
        {path: digest for path, digest in one.files.items() if not path.startswith("hooks/")} for one in (new, old)
    ]
    wanted = dict(locked.files) if locked is not None else new.files
    return PackChange(hooks, find_edited_files(old.files, wanted), shared[0] != shared[1])


def _compare_hook(name: str, new: PackContent, old: PackContent) -> str:
    before, after = old.find_hook_files(name), new.find_hook_files(name)
    if not before or not after:
        return NEW if after else GONE
    return SAME if before == after else CHANGED


def find_edited_files(present: dict[str, str], wanted: dict[str, str]) -> tuple[str, ...]:
    """Return the files that are not as they were written: changed, added or removed."""
    return tuple(path for path in sorted({*present, *wanted}) if present.get(path) != wanted.get(path))
