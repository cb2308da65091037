"""The example hooks that come with boathook, for `boathook new --from`."""

from __future__ import annotations

import os
import re
import shutil

import boathook
from boathook.core.hook import USER
from boathook.core.near_words import suggest
from boathook.errors import ConfigError
from boathook.sources.hook_md.folder import read_hook

_PACKAGE = os.path.dirname(os.path.abspath(boathook.__file__))
# In the wheel the examples are part of the package; a clone has them beside `src`.
_FOLDERS = (f"{_PACKAGE}/examples", f"{os.path.dirname(os.path.dirname(_PACKAGE))}/examples/hooks")


def list_examples() -> dict[str, str]:
    """Return the names of the examples, each with what it does."""
    top = _find_folder()
    folders = {name: f"{top}/{name}" for name in sorted(os.listdir(top)) if os.path.exists(f"{top}/{name}/HOOK.md")}
    return {name: read_hook(f"{path}/HOOK.md", path, USER)[0].description for name, path in folders.items()}


def copy_example(example: str, name: str, folder: str) -> None:
    """Copy an example to a new folder, under another name if it differs."""
    examples = list_examples()
    if example not in examples:
        raise ConfigError(f"there is no example '{example}': {suggest(example, examples)}")
    shutil.copytree(f"{_find_folder()}/{example}", folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = f"{folder}/HOOK.md"
    with open(manifest, encoding="utf-8") as file:
        text = file.read()
    with open(manifest, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\A---\nname: .*", f"---\nname: {name}", text))


def _find_folder() -> str:
    for folder in _FOLDERS:
        if os.path.isdir(folder):
            return folder
    raise ConfigError(f"the examples are not installed: {_FOLDERS[0]} is missing. Install boathook again")
