"""Whether what the resident has in memory is still what the files say."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from boathook import version
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.programs import make_stamp

_ALL_SECONDS, _RACY_SECONDS = 1.0, 2.0


class SourceWatch:
    """The interpreter, the package and hooks.toml as they are now. Single modules are looked at once in a second."""

    def __init__(self, hooks_toml: str, started: float) -> None:
        main = [os.path.realpath(sys.executable), HOOK_ENTRY, version.__file__, *([hooks_toml] if hooks_toml else [])]
        modules = [*sys.modules.items()]
        files = [module.__file__ for name, module in modules if name.startswith("boathook.") and _has_file(module)]
        self._main = [(path, make_stamp(path)) for path in main]
        self._all = [(path, make_stamp(path)) for path in files if path is not None]
        self._looked = time.monotonic()
        # A module that was changed while it was imported, or just before, may be another one by now.
        newest = max((stamp[0] for _, stamp in self._all if stamp), default=0)
        self._is_certain = newest / 1e9 < started - _RACY_SECONDS

    def is_current(self) -> bool:
        if not self._is_certain or not _are_unchanged(self._main):
            return False
        now = time.monotonic()
        if now - self._looked < _ALL_SECONDS:
            return True
        self._looked = now
        return _are_unchanged(self._all)


def _has_file(module: object) -> bool:
    return isinstance(getattr(module, "__file__", None), str)


def _are_unchanged(stamps: Sequence[tuple[str, object]]) -> bool:
    return all(make_stamp(path) == stamp for path, stamp in stamps)
