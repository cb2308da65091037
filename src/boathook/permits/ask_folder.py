"""The folder of questions that are waited for: private to the user, below the state folder."""

from __future__ import annotations

import os
import stat

ASK_FOLDER = "asks"


def open_ask_folder(state: str) -> int:
    """Return a handle on the folder, which is made if it is missing; OSError if others can write there."""
    path = f"{state}/{ASK_FOLDER}"
    os.makedirs(path, mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(handle)
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        os.close(handle)
        raise PermissionError(
            f"{path} is not private. Fix: chmod 700 {path}, or remove it if it belongs to another user"
        )
    return handle


def list_ask_files(state: str, ending: str) -> list[str]:
    """Return the names of the files with an ending, in order."""
    try:
        names = os.listdir(f"{state}/{ASK_FOLDER}")
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(ending))
