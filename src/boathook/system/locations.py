"""Where things live. Lean: the door uses this before it knows whether anything must be done."""

from __future__ import annotations

from errno import ENAMETOOLONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
else:
    try:
        import posix as system  # half of what `os` is, and there already
    except ImportError:  # not a POSIX system
        import os as system

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Environment = Mapping[bytes, bytes]

__all__ = [
    "account_home",
    "agents_dir",
    "cache_dir",
    "claude_dir",
    "current_dir",
    "find_claude_project",
    "find_host_project",
    "find_project",
    "find_untrusted_locations",
    "is_dir",
    "make_absolute",
    "read_environment",
    "state_dir",
    "system",
]

HOOKS = ("/.agents/hooks",)
REPOSITORY = ("/.git",)
OF_ACCOUNT = (".config/agents", ".cache/boathook", ".local/state/boathook", ".claude")
SETTINGS = ("/.claude/settings.json", "/.claude/settings.local.json")
DIRECTORY = 0o040000
LONGEST_PATH = 4096
KIND = 0o170000


def read_environment() -> Environment:
    """Return the environment as bytes."""
    found: Any = system.environ
    if found and isinstance(next(iter(found)), str):
        return {k.encode(): v.encode("utf-8", "surrogateescape") for k, v in found.items()}
    bytewise: Environment = found
    return bytewise


def _home_of(env: Environment, variable: bytes, below: str) -> str:
    """Return an XDG folder: the variable if it is absolute, else its default below the home folder."""
    value = env.get(variable, b"")
    return _text(value).rstrip("/") if _is_plain(value) else f"{_home(env)}/{below}"


def _is_plain(value: bytes) -> bool:
    """Whether a variable names a folder from the root on, and the same one for every process."""
    path = value.rstrip(b"/") + b"/"
    crooked = any(part in path for part in (b"/../", b"/./", b"//"))
    return value.startswith(b"/") and not crooked and not path.startswith((b"/proc/", b"/dev/fd/"))


def _home(env: Environment) -> str:
    """Return the home folder: without a usable HOME that of the account, for the user's guards must not vanish with a variable."""
    value = env.get(b"HOME", b"")
    return _text(value).rstrip("/") if _is_plain(value) else account_home()


def account_home() -> str:
    """Return the home folder of the account, whatever the variables say."""
    try:
        import pwd

        return pwd.getpwuid(system.getuid()).pw_dir.rstrip("/")
    except (ImportError, KeyError, AttributeError):
        return "/nonexistent"


def find_untrusted_locations(
    start: str, folders: tuple[str, ...], projects: tuple[str, ...], env: Environment
) -> tuple[str, ...]:
    """Return those of the user's folders that are a project's: variables led there, which may be a trick.

    Some hosts load a project's `.env`. A folder is a project's if it lies in one of the start's `projects`, or in any other:
    where `.git` or `.agents/hooks` is; or in the start itself, unless that is, or holds, the home folder. The account's own
    folders are believed wherever they lie, and so is a project that holds its home.
    """
    starts = {start, _real(start) or start}
    tops = {*projects, *(_upwards(at, REPOSITORY) for at in starts)}
    tops |= {at for at in starts if _is_own(at) and not (_home(env) + "/").startswith(at.rstrip("/") + "/")}
    seen: dict[str, bool] = {}
    found = {one: _above(one, tops, seen) for one in folders if one}
    if not any(found.values()):
        return ()
    home = account_home()
    return tuple(one for one, above in found.items() if _is_strange(one, above, home))


def _is_strange(folder: str, above: set[str], home: str) -> bool:
    """Whether one of the projects above a folder is not the account's own."""
    mine = any(folder == f"{home}/{below}" for below in OF_ACCOUNT)
    return not mine and any(not (home + "/").startswith(top + "/") for top in above)


def _above(folder: str, tops: set[str], seen: dict[str, bool]) -> set[str]:
    """Return the projects that a folder lies in, by its own way and by its real one."""
    found = set()
    for way in {folder, _real(folder) or folder}:
        found |= {top for top in tops - {"", "/"} if (way + "/").startswith(top.rstrip("/") + "/")}
        at = way
        while at:
            if at not in seen:
                seen[at] = any(_there(at + mark) for mark in (*REPOSITORY, *HOOKS))
            if seen[at]:
                found.add(at)
            at = at.rpartition("/")[0]
    return found


def _is_own(folder: str) -> bool:
    """Whether a folder is not one for everybody, such as /tmp."""
    try:
        return not system.stat(folder).st_mode & 0o1002
    except (OSError, ValueError):
        return False


def agents_dir(env: Environment) -> str:
    """Return the user's folder of agents, which holds `hooks/` and `hooks.toml`."""
    return _home_of(env, b"XDG_CONFIG_HOME", ".config") + "/agents"


def cache_dir(env: Environment) -> str:
    """Return the folder for what can be made again."""
    return _home_of(env, b"XDG_CACHE_HOME", ".cache") + "/boathook"


def state_dir(env: Environment) -> str:
    """Return the folder for what is to be remembered."""
    return _home_of(env, b"XDG_STATE_HOME", ".local/state") + "/boathook"


def claude_dir(env: Environment) -> str:
    """Return the folder of Claude Code's own files, which holds the user's `settings.json`."""
    value = env.get(b"CLAUDE_CONFIG_DIR", b"")
    return _text(value).rstrip("/") if _is_plain(value) else f"{_home(env)}/.claude"


def find_project(start: str) -> str:
    """Return the nearest folder from a start upwards that holds `.agents/hooks`; nothing if there is none.

    A start that is reached through a link is looked at where it really is, if its own way up finds nothing.
    """
    return _upwards(start, HOOKS) or _upwards(_real(start), HOOKS)


def find_claude_project(start: str, env: Environment) -> str:
    """Return the nearest folder upwards that holds `.claude/settings.json` or `.claude/settings.local.json`.

    The home folder is none: what lies there is the user's, for all projects.
    """
    users = (claude_dir(env), _home(env) + "/.claude")
    return _upwards(start, SETTINGS, users) or _upwards(_real(start), SETTINGS, users)


def _upwards(start: str, below: tuple[str, ...], users: tuple[str, ...] = ()) -> str:
    at = start.rstrip("/")
    if len(at) > LONGEST_PATH:
        at = at[:LONGEST_PATH].rpartition("/")[0]
    while True:
        if any(_there(at + path) for path in below) and not _is_one_of(at + "/.claude", users):
            return at or "/"
        if "/" not in at:
            return ""
        at = at.rpartition("/")[0]


def _is_one_of(path: str, others: tuple[str, ...]) -> bool:
    """Whether a folder is one of some others, whatever way leads to it."""
    return path in others or any(_identity(path) == _identity(other) for other in others)


def _identity(path: str) -> tuple[str | int, ...]:
    try:
        found = system.stat(path)
    except (OSError, ValueError):
        return (path,)
    return (found.st_dev, found.st_ino)


def _there(path: str) -> bool:
    """Whether something is at a path, even if it cannot be used: that is for the loader to tell."""
    try:
        system.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        return error.errno != ENAMETOOLONG  # nothing can be there, and the guards further up must be found
    return True


def _real(path: str) -> str:
    """Return the real path of a folder, without importing os.path; nothing if it is the same or cannot be found out."""
    try:
        handle = system.open(path, system.O_RDONLY | system.O_CLOEXEC | system.O_NONBLOCK)
    except (OSError, ValueError, AttributeError):
        return ""
    try:
        found = system.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        import os.path

        found = os.path.realpath(path)
    finally:
        system.close(handle)
    return "" if found == path.rstrip("/") else found


PROJECT_VARIABLES = {
    "claude": b"CLAUDE_PROJECT_DIR",
    "copilot": b"COPILOT_PROJECT_DIR",
    "gemini": b"GEMINI_PROJECT_DIR",
    "qwen": b"QWEN_PROJECT_DIR",
    "cursor": b"CURSOR_PROJECT_DIR",
}  # each host's own: several set Claude Code's, too


def find_host_project(host: str, env: Environment) -> str:
    """Return the folder that a host says its session belongs to: its work dir changes with every `cd`, guards must not."""
    value = env.get(PROJECT_VARIABLES.get(host, b""), b"")
    found = _text(value).rstrip("/")
    return found if value.startswith(b"/") and is_dir(found) else ""


def current_dir() -> str:
    """Return the current folder; the root if it was removed."""
    try:
        return system.getcwd()
    except OSError:
        return "/"


def make_absolute(path: str) -> str:
    """Return a path from the root on."""
    if path.startswith("/"):
        return path
    import os.path

    return os.path.normpath(f"{current_dir()}/{path}")


def is_dir(path: str) -> bool:
    """Whether a path is a folder."""
    try:
        return system.stat(path).st_mode & KIND == DIRECTORY
    except (OSError, ValueError):
        return False


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
