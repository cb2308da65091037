"""Python hooks for `boathook agent`: `--hooks module:name` imports a `Hooks` or a `Stack`."""

from __future__ import annotations

import importlib
import sys

from boathook.errors import ConfigError
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.stack import Stack

_DEFAULT_NAME, _FILE_ENDING = "hooks", ".py"


def import_hooks(reference: str, folder: str) -> Stack:
    """Import the hooks that `module:name` means (default name: hooks); modules may be in a folder. This runs the module."""
    module_name, _, name = reference.partition(":")
    sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        fix = f"name a module of {folder}, or one that is installed beside boathook, as module:name"
        if module_name.endswith(_FILE_ENDING):
            fix = f"leave out '{_FILE_ENDING}': {module_name.removesuffix(_FILE_ENDING)}:{name or _DEFAULT_NAME}"
        raise ConfigError(f"the hooks '{reference}' cannot be imported: {reason}", fix=fix) from error
    finally:
        sys.path.remove(folder)
    name = name or _DEFAULT_NAME
    hooks = getattr(module, name, None)
    if isinstance(hooks, Hooks | Stack):
        return hooks if isinstance(hooks, Stack) else hooks.stack
    where, kind = f"the module '{module_name}'", type(hooks).__name__
    what = f"{where} has no '{name}'" if hooks is None else f"'{name}' in {where} is of the type {kind}"
    raise ConfigError(f"{what}: name a Hooks or a Stack, as module:name")
