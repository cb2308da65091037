"""Which folders are those of the account, whatever the variables say: what agents really read, and what `install` named there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from boathook.core.value import Value
from boathook.hosts.setup import list_setups
from boathook.install.registry import MAX_HOST_FILE_BYTES
from boathook.sources.source import SOURCES
from boathook.system.files import FileError, read_regular
from boathook.system.locations import (
    CACHE_FOLDER,
    CONFIG_FOLDER,
    STATE_FOLDER,
    account_home,
    list_user_folders,
    resolve_folder,
)

# In a command line as in a list of words: --state DIR, '--state', "DIR".
_NAMED_FOLDER = r"""--(?:{options})["']?[=,]?\s*(?:"(/[^"]+)"|'(/[^']+)'|\\?["']?(/[^\s"'\\,\]]+))"""
_MAX_FILES = 64
_NO_HOME = "/nonexistent"


class AccountFolders(Value):
    """The folders of an account, links followed."""

    # "" if the account has none: then no folder is known to be a scratch one.
    home: str
    folders: tuple[str, ...] = ()
    # Those that installed commands name.
    named: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether a path is one of these folders, in one of them, or holds one."""
        real = os.path.realpath(path)
        return not self.home or any(_is_below(real, one) or _is_below(one, real) for one in self.folders + self.named)

    def is_home(self, path: str) -> bool:
        return not self.home or os.path.realpath(path) == self.home


def find_account_folders(account: str | None = None) -> AccountFolders:
    """Return the folders of this account, by the database of users: HOME and the XDG variables do not count."""
    home = account_home() if account is None else account
    if home in ("", _NO_HOME):
        return AccountFolders("")
    env = {b"HOME": os.fsencode(home)}
    known = (CONFIG_FOLDER, STATE_FOLDER, CACHE_FOLDER, *list_user_folders(SOURCES))
    setups = list_setups()
    files = [os.path.join(home, setup.home[1], setup.user_file) for setup in setups]
    # A folder of an agent; some have none, and a file of their own in the home folder.
    homes = [
        os.path.join(home, setup.home[1]) if setup.home[1] else path for setup, path in zip(setups, files, strict=True)
    ]
    own = [resolve_folder(folder, env) for folder in known]
    # ~/.config has more in it than an agent's files.
    homes = [path for path in homes if not any(_is_below(folder, path) for folder in own)]
    folders = dict.fromkeys(os.path.realpath(path) for path in (*own, *homes, *files))
    named = dict.fromkeys(os.path.realpath(path) for file in _list_files(files) for path in list_named_folders(file))
    return AccountFolders(os.path.realpath(home), tuple(folders), tuple(named))


def list_named_folders(path: str) -> list[str]:
    """Return the folders that commands of ours name in the file of an agent."""
    try:
        text = read_regular(path, MAX_HOST_FILE_BYTES).decode("utf-8", "replace")
    except FileError:
        return []
    if "hook_entry.py" not in text:
        return []
    options = "|".join(folder.option for folder in list_user_folders(SOURCES))
    matches = re.findall(_NAMED_FOLDER.format(options=options), text)
    return [folder.rstrip("/") for groups in matches for folder in groups if folder]


def _list_files(paths: Iterable[str]) -> list[str]:
    """Return files, and for a folder those in it."""
    files: list[str] = []
    for path in paths:
        try:
            files += [os.path.join(path, name) for name in sorted(os.listdir(path))[:_MAX_FILES]]
        except OSError:
            files.append(path)
    return files


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def concerns_account(account: AccountFolders, home: str, folders: Iterable[str], files: Iterable[str] = ()) -> bool:
    """Whether a command that uses these folders, and writes these files, changes what guards the account's agents.

    `home` is HOME, or "" if options name the folders. With a scratch HOME, or with options that name folders elsewhere, it does
    not: tests and demos are free. Folders that XDG variables name count as long as HOME is the account's own, because people
    move their folders with these.
    """
    changed = tuple(files)
    return (
        any(map(account.covers, (*folders, *changed)))
        or any(account.covers(folder) for file in changed for folder in list_named_folders(file))
        or bool(home and account.is_home(home))
    )
