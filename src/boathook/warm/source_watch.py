"""Whether what the resident has in memory is still what the files say."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from boathook import version
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.programs import make_stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from boathook.system.programs import Stamp
    from boathook.warm.stamps import PackLooks

_ALL_SECONDS, _RACY_SECONDS = 1.0, 2.0
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + "/"
# They may be below it.
_PACKAGE_FOLDERS = ("/site-packages/", "/dist-packages/")


def stamp_main_files(hooks_toml: str) -> list[tuple[str, Stamp]]:
    """Return the files that are looked at for every event, as they are now: before anything is made of them."""
    paths = [os.path.realpath(sys.executable), HOOK_ENTRY, version.__file__, *([hooks_toml] if hooks_toml else [])]
    return [(path, make_stamp(path)) for path in paths]


class SourceWatch:
    """The interpreter, the package and hooks.toml; and the modules that are in memory, which are looked at once in a second.

    Those of the standard library are left out: they come with the interpreter.
    """

    def __init__(
        self, main_files: Sequence[tuple[str, Stamp]], started: float, pack_looks: PackLooks | None = None
    ) -> None:
        modules = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        self._main = main_files
        # Also the libraries of others: `re2` and `yaml` read what guards say.
        paths = {path for path in modules if isinstance(path, str) and not _is_of_interpreter(path)}
        files = [(path, make_stamp(path)) for path in paths]
        # In C this takes a fifth of the time.
        self._are_modules_unchanged = (pack_looks and pack_looks(files)) or (lambda: _are_unchanged(files))
        self._looked = time.monotonic()
        # A module that was changed while it was imported, or just before, may be another one by now.
        newest = max((stamp[0] for _, stamp in files if stamp), default=0)
        self._is_certain = newest / 1e9 < started - _RACY_SECONDS

    def is_current(self) -> bool:
        if not self._is_certain or not _are_unchanged(self._main):
            return False
        now = time.monotonic()
        if now - self._looked < _ALL_SECONDS:
            return True
        self._looked = now
        return self._are_modules_unchanged()


def _is_of_interpreter(path: str) -> bool:
    """Whether a module is of the standard library: those are a third of all files."""
    return path.startswith(_STANDARD_LIBRARY) and not any(folder in path for folder in _PACKAGE_FOLDERS)


def _are_unchanged(stamps: Sequence[tuple[str, Stamp]]) -> bool:
    return all(make_stamp(path) == stamp for path, stamp in stamps)
