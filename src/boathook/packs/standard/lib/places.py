"""What a path is: the root, a folder of the system, a home folder, a temporary folder, a device."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from boathook.shell.arguments import UNKNOWN

TOP_FOLDERS = frozenset(
    (
        *(
            "bin",
            "boot",
            "dev",
            "etc",
            "home",
            "lib",
            "lib32",
            "lib64",
            "libx32",
            "media",
            "mnt",
            "opt",
            "proc",
            "root",
        ),
        *("run", "sbin", "snap", "srv", "sys", "usr", "var"),
        *("Applications", "Library", "System", "Users", "Volumes", "private", "Windows"),
    )
)
# Folders below them without which the machine does not work, or loses the data of its services.
_SYSTEM_TREES = frozenset(
    (
        *(f"usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "share", "local", "include")),
        *("usr/local/bin", "usr/local/lib", "lib/modules", "lib/systemd", "usr/lib/systemd", "usr/lib/modules"),
        *(f"var/{name}" for name in ("lib", "log", "spool", "cache", "mail", "db", "www", "backups")),
        *("var/lib/dpkg", "var/lib/rpm", "var/lib/docker", "var/lib/postgresql", "var/lib/mysql"),
        *(
            f"etc/{name}"
            for name in ("ssh", "ssl", "systemd", "pam.d", "init.d", "network", "default", "apt", "sudoers.d")
        ),
        *(
            "boot/efi",
            "boot/grub",
            "dev/disk",
            "dev/mapper",
            "System/Library",
            "System/Volumes",
            "private/etc",
            "private/var",
        ),
        *("Library/LaunchDaemons", "Library/Preferences", "Windows/System32"),
    )
)
# Shared by all programs: what is in them may go, they themselves may not.
_TEMPORARY_FOLDERS = frozenset(("tmp", "var/tmp", "private/tmp", "private/var/tmp", "dev/shm"))
_TEMPORARY_STARTS = (*(f"{name}/" for name in _TEMPORARY_FOLDERS), "var/folders/", "private/var/folders/")
_HARMLESS_DEVICE = re.compile(
    r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty.*|cu\..*|console|ptmx|log|dsp|rtc\d*|(?:shm|pts|fd|tcp|udp|snd|input|bus|serial)(?:/.*)?)"
)
# The kind of a device without its letter or number, which no device is called.
_UNFINISHED_DEVICE = re.compile(
    r"/dev/(?:[shv]d|xvd|pmem|nvme|nvme\d+(?:n|c[A-Z]\w*)|mmcblk|loop|md|nbd|sr|zram|dm-|disk)"
)
_WHOLE_CONTENT = re.compile(r"[.?!^\[\]*]*\*[.?!^\[\]*]*")


def split_place(path: str) -> tuple[str, ...] | None:
    """Return the names from the root down to a path, None if that is not known; all of a folder is the folder itself."""
    parts = split_parts(path)
    while parts and _WHOLE_CONTENT.fullmatch(parts[-1]):
        parts = parts[:-1]
    return parts


def split_parts(path: str) -> tuple[str, ...] | None:
    if UNKNOWN in path or not path.startswith("/"):
        return None
    parts: list[str] = []
    for name in path.split("/"):
        if name == "..":
            parts = parts[:-1]
        elif name not in ("", "."):
            parts.append(name)
    return tuple(parts)


def is_whole_content(path: str) -> bool:
    """Whether a path is a pattern for all that is in a folder."""
    return bool(_WHOLE_CONTENT.fullmatch(path.rstrip("/").rpartition("/")[2]))


def name_system_place(path: str, home: str) -> str:
    """Return what a path is, if without it the machine or somebody's home folder is gone; else ""."""
    parts = split_place(path)
    if parts is None:
        return ""
    joined = "/".join(parts)
    if not parts:
        return "the root of the file system"
    if f"/{joined}" == home.rstrip("/") or (len(parts) == 2 and parts[0] in ("home", "Users")):
        return "a whole home folder"
    if len(parts) == 1 and _matches_any(parts[0], TOP_FOLDERS):
        return f"the system folder /{joined}"
    if joined in _SYSTEM_TREES:
        return f"the system folder /{joined}"
    if joined in _TEMPORARY_FOLDERS and not is_whole_content(path):
        return f"the folder /{joined}, which every program uses"
    return ""


def _matches_any(pattern: str, names: Iterable[str]) -> bool:
    if set("*?[").isdisjoint(pattern):
        return pattern in names
    return any(fnmatchcase(name, pattern) for name in names)


def is_root_if_empty(path: str) -> bool:
    """Whether a path is the root of the file system if the variable that it begins with is empty: `$X/`, `$X/*`."""
    return bool(re.fullmatch(r"\x00(?:/+[.*]*)+", path))


def is_temporary(path: str) -> bool:
    """Whether a path is in a temporary folder."""
    parts = split_parts(path)
    return parts is not None and "/".join(parts).startswith(_TEMPORARY_STARTS)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it."""
    parts, top = split_parts(path), split_parts(folder)
    return bool(parts is not None and top and parts[: len(top)] == top)


def is_disk(path: str) -> bool:
    """Whether a path is a device that something is stored on, or the kernel's own switches."""
    path = re.sub("/+", "/", path)
    if path == "/proc/sysrq-trigger":
        return True
    if not path.startswith("/dev/") or path == "/dev/" or _HARMLESS_DEVICE.fullmatch(path):
        return False
    return not _UNFINISHED_DEVICE.fullmatch(path) or os.path.exists(path)
