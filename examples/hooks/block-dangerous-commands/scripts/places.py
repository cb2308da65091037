"""Which paths are the system's or somebody's whole home, and which devices are disks. Change the sets to protect more."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from values import HOME, SURELY, UNKNOWN, Scene

TOP_FOLDERS = {
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "root"),
    *("run", "sbin", "snap", "srv", "sys", "usr", "var"),
    *("Applications", "Library", "System", "Users", "Volumes", "private"),
}
SYSTEM_FOLDERS = TOP_FOLDERS - {
    *("home", "media", "mnt", "opt", "root", "run", "snap", "srv", "var"),
    *("Applications", "Users", "Volumes", "private"),
}
FREE_FOLDERS = (("dev", "shm"), ("usr", "local"), ("usr", "src"))  # below these is not the system's
STATE_FOLDERS = (("var", "lib"), ("var", "log"), ("var", "spool"), ("private", "etc"), ("private", "var"))
HARMLESS_DEVICE = re.compile(
    r"/dev/(null|zero|full|u?random|std(in|out|err)|tty.*|cu\..*|console|ptmx|log|dsp|(shm|pts|fd|tcp|udp|snd|input)(/.*)?)"
)


def places(path: str, scene: Scene) -> tuple[str, ...] | None:
    """The folders from the root (or from `~`) down to a path, or None if that cannot be said."""
    if UNKNOWN in path or SURELY in path:
        return None
    if not path.startswith(("/", HOME)):
        if scene.folder is None:
            return None
        path = f"{scene.folder}/{path}"
    found: list[str] = []
    for name in path.split("/"):
        if name == "..":
            found = found[:-1] if found != [HOME] else found
        elif name not in ("", "."):
            found.append(name)
    while found and re.fullmatch(r"[.?!^\[\]*]*\*[.?!^\[\]*]*", found[-1]):  # all of a folder is the folder
        found.pop()
    return at_home(tuple(found))


def at_home(found: tuple[str, ...]) -> tuple[str, ...]:
    home = tuple(os.path.expanduser("~").strip("/").split("/"))
    return (HOME, *found[len(home) :]) if home != ("",) and found[: len(home)] == home else found


def same(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern)


def whole(found: tuple[str, ...]) -> str:
    """What a path is, if it is the root, a folder right below it, or somebody's home."""
    if not found:
        return "the root of the file system"
    if found == (HOME,) or (len(found) == 2 and found[0] in ("home", "Users")):
        return "a whole home folder"
    if len(found) == 1 and any(same(found[0], top) for top in TOP_FOLDERS):
        return f"the system folder /{found[0]}"
    return ""


def inside(found: tuple[str, ...]) -> str:
    """What a path is, if it lies in a folder of the system."""
    if found in STATE_FOLDERS or (found in FREE_FOLDERS and found[0] == "usr"):
        return f"the system folder /{'/'.join(found)}"
    if len(found) > 1 and found[:2] not in FREE_FOLDERS and any(same(found[0], top) for top in SYSTEM_FOLDERS):
        return f"a part of the system folder /{found[0]}"
    return ""


def protected(path: str, scene: Scene) -> str:
    found = places(path, scene)
    if found is None:
        return ""
    if not whole(found) and in_project(found, scene):
        return ""
    return whole(found) or inside(found)


def in_project(found: tuple[str, ...], scene: Scene) -> bool:
    project = places(scene.project, scene) if scene.project else None
    if not project or whole(project):
        return False
    return len(found) > len(project) and found[: len(project)] == project


def is_device(path: str) -> bool:
    path = re.sub("/+", "/", path)
    on_device = path.startswith("/dev/") and path != "/dev/" and not HARMLESS_DEVICE.fullmatch(path)
    return on_device or path == "/proc/sysrq-trigger"
