"""The folder of questions that are waited for: private to the user, below the state folder."""

from __future__ import annotations

import os

from boathook.system.files import open_own_folder

ASK_FOLDER = "asks"


def open_ask_folder(state: str) -> int:
    """Return a handle on the folder, which is made if it is missing; OSError if it is open to others."""
    path = f"{state}/{ASK_FOLDER}"
    os.makedirs(path, mode=0o700, exist_ok=True)
    return open_own_folder(path)


def list_ask_files(state: str, ending: str) -> list[str]:
    """Return the names of the files with an ending, in order."""
    try:
        names = os.listdir(f"{state}/{ASK_FOLDER}")
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(ending))
