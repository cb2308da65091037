"""The code that the guards of boathook's own packs share, in memory: for the forks of the warm engine that run them."""

from __future__ import annotations

import os
import sys

from boathook.guards.code_cache import CodeCache
from boathook.guards.known_scripts import OWN_PACKS, find_own_pack
from boathook.guards.shared_modules import SharedModules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The names of what is preloaded begin like this, so that nothing else finds it. Its files are watched like those of all modules.
_PREFIX = "boathook.packs"


def preload_shared_code(packs: str = OWN_PACKS) -> None:
    """Import what the guards of each pack share. If that fails, the guards of this pack get an interpreter of their own."""
    for pack in sorted(os.listdir(packs)):
        folder = f"{packs}/{pack}/lib"
        modules = SharedModules(CodeCache("", folder), folder)
        finder: Any = modules
        sys.meta_path.insert(0, finder)
        try:
            for name in modules.names:
                __import__(name)
        except Exception:  # noqa: BLE001  (a guard that needs it reports it)
            _hide_modules(modules.names, "")
        finally:
            sys.meta_path.remove(finder)
            _hide_modules(modules.names, f"{_PREFIX}.{pack}.")


def use_preloaded_code(hook: str, shared_code: str) -> bool:
    """Let the script of a hook find the modules that are in memory; False if one of those that it shares is not there."""
    prefix = f"{_PREFIX}.{os.path.basename(find_own_pack(hook))}."
    names = SharedModules(CodeCache("", ""), shared_code).names
    found = {name: module for name in names if (module := sys.modules.get(prefix + name)) is not None}
    sys.modules.update(found)
    return len(found) == len(names)


def _hide_modules(names: list[str], prefix: str) -> None:
    """Give modules other names; without a prefix, forget them."""
    for name in names:
        module = sys.modules.pop(name, None)
        if module is not None and prefix:
            sys.modules[prefix + name] = module
