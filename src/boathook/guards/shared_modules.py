"""Import the modules of a pack's `lib`, which its scripts share."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

    from boathook.guards.code_cache import CodeCache

_OWN_PACKAGE = "boathook"
_end_now = os._exit
# The modules of `lib` whose code runs now, each imported by the one before.
_importing: list[str] = []


class SharedModules:
    """Imports the modules of a pack's `lib` by their file names; the standard library and boathook come first."""

    def __init__(self, compiled: CodeCache, folder: str) -> None:
        self._compiled = compiled
        self._files = {path.rpartition("/")[2][:-3]: path for path in _list_modules(folder)}

    @property
    def names(self) -> list[str]:
        """The modules that it imports."""
        return [name for name in self._files if self.find_file(name)]

    def find_file(self, name: str) -> str:
        return "" if is_known_module(name) else self._files.get(name, "")

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:  # noqa: ARG002
        file = self.find_file(name) if path is None else ""
        if not file:
            return None
        from _frozen_importlib import ModuleSpec

        loader: Any = self
        return ModuleSpec(name, loader, origin=file)

    def create_module(self, spec: Any) -> None:  # noqa: ARG002
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._files[module.__name__]
        code = self._compiled.compile(module.__file__)
        if isinstance(code, Exception):
            raise code
        _importing.append(module.__file__)
        os.__dict__["_exit"] = _leave_process
        try:
            exec(code, module.__dict__)  # noqa: S102
        except SystemExit as error:
            raise _make_exit_error(module.__file__, error.code) from None
        finally:
            _importing.pop()
            os.__dict__["_exit"] = _leave_process if _importing else _end_now


def _leave_process(code: int) -> NoReturn:
    """End the process, but not for a module of `lib` that is being imported: that would look like a guard without opinion."""
    if _importing:
        raise _make_exit_error(_importing[-1], code)
    _end_now(code)


def _make_exit_error(path: str, code: object) -> RuntimeError:
    fix = "Fix: let modules of lib only define things"
    return RuntimeError(f"{path} ended the program while it was imported (exit code {code or 0}). {fix}")


def is_known_module(name: str) -> bool:
    """Whether a module is of the standard library or of boathook."""
    return name in sys.stdlib_module_names or name == _OWN_PACKAGE


def _list_modules(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder)) if folder else []
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names if name.endswith(".py")]


def find_module_file(name: str) -> str:
    """Return the file of a module of `lib`, "" if there is none of this name."""
    for finder in sys.meta_path:
        if isinstance(finder, SharedModules):
            return finder.find_file(name)
    return ""
