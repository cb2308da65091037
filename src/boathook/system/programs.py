"""Which file of a hook folder is run, which program runs it, and who can change them."""

from __future__ import annotations

import os
import stat
import sys

from boathook.core.value import Value
from boathook.system.locations import account_home, is_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Stamp = tuple[int, int, int] | None

ENTRY_NAMES = ("run", "run.sh", "run.py")
SYSTEM_BIN_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")
# Variables that make a program run or load more code than its own, by what their values are: `process.environment` filters them.
# A relative path in one of them may lead into the project, because that is where hooks run.
CODE_VARIABLES = {
    **dict.fromkeys(b"HOME BASH_ENV ENV ZDOTDIR INPUTRC PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE".split(), "files"),
    **dict.fromkeys(b"PYTHONPYCACHEPREFIX OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES CARGO_HOME".split(), "files"),
    **dict.fromkeys(b"RIPGREP_CONFIG_PATH PIP_CONFIG_FILE UV_CONFIG_FILE CURL_HOME WGETRC".split(), "files"),
    **dict.fromkeys(b"DOCKER_CONFIG NPM_CONFIG_USERCONFIG NPM_CONFIG_GLOBALCONFIG".split(), "files"),
    **dict.fromkeys(b"NPM_CONFIG_INIT_MODULE NPM_CONFIG_SCRIPT_SHELL NPM_CONFIG_GIT".split(), "files"),
    **dict.fromkeys(b"PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB LD_LIBRARY_PATH CLASSPATH".split(), "folders"),
    **dict.fromkeys(b"AWKPATH AWKLIBPATH KUBECONFIG".split(), "folders"),
    **dict.fromkeys(b"XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS".split(), "folders"),
    **dict.fromkeys(b"XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR".split(), "folders"),
    **dict.fromkeys(b"LD_PRELOAD LD_AUDIT".split(), "libraries"),
    **dict.fromkeys(b"MAKEFILES PYTEST_PLUGINS LUA_PATH LUA_CPATH".split(), "names"),
    **dict.fromkeys(b"NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS".split(), "options"),
    **dict.fromkeys(b"_JAVA_OPTIONS PYTHONBREAKPOINT".split(), "options"),
    **dict.fromkeys(b"PROMPT_COMMAND PS4 PERL5DB".split(), "code"),
    **dict.fromkeys(b"LESSOPEN LESSCLOSE MAKEFLAGS GNUMAKEFLAGS".split(), "commands"),
    **dict.fromkeys(b"SHELLOPTS BASHOPTS PYTHONINSPECT".split(), "switches"),
}
CODE_VARIABLE_PREFIXES = {
    b"BASH_FUNC_": "code",
    b"DYLD_": "folders",
    # Nearly every one of these makes git run a program, read a configuration that does, or write a file.
    b"GIT_": "commands",
    b"LUA_INIT": "commands",
    b"NPM_CONFIG_": "options",
}
# The variables of git that run nothing: who somebody is, whom to believe on the network, and less of what git does anyway.
PLAIN_GIT_VARIABLES = frozenset(
    b"GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE"
    b" GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_CONFIG_NOSYSTEM GIT_LFS_SKIP_SMUDGE GIT_SSL_CAINFO GIT_SSL_CAPATH".split()
)
# What may lead into the project, because no program reads code or settings from there. The PATH is among them: agents add
# `node_modules/.bin` and `.venv/bin` to it, and hooks rely on that (the threat model names it as a limit).
HARMLESS_VARIABLES = frozenset(
    b"PATH PWD OLDPWD INIT_CWD PROJECT_CWD WORKSPACE VIRTUAL_ENV VIRTUAL_ENV_PROMPT CONDA_PREFIX DIRENV_DIR DIRENV_FILE _"
    b" npm_config_local_prefix npm_package_json".split()
)
HARMLESS_VARIABLE_ENDINGS = (b"_PROJECT_DIR", b"_PROJECT_ROOT", b"_WORK_DIR", b"_WORKSPACE", b"_CWD")
_CODE_PREFIXES = tuple(CODE_VARIABLE_PREFIXES)
_PATH_KINDS = ("files", "folders")
# Nobody but root can put a link into these.
_SYSTEM_FOLDERS = (
    b"/bin/",
    b"/etc/",
    b"/lib",
    b"/sbin/",
    b"/usr/bin/",
    b"/usr/lib",
    b"/usr/share",
    b"/usr/local/",
    b"/run/",
)
_RELATIVE_ELEMENTS = (b".", b"..")
# With these a path can be written so that the name of the project is not in it.
_REWRITTEN = (b"//", b"'", b'"', b"\\", b"%")
# every path in a value is looked up
MAX_VALUE_BYTES = 1 << 14
_SEPARATORS = b" \t\n=:,;@|&<>()\"'`"
_SPLIT_TABLE = bytes.maketrans(_SEPARATORS, b"\0" * len(_SEPARATORS))
BINARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")


class EntryPoint(Value):
    path: str
    argv: tuple[str, ...]
    warning: str = ""


def find_entry_point(folder: str) -> str | None:
    for name in ENTRY_NAMES:
        path = f"{folder}/scripts/{name}"
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None


def choose_command(path: str, avoid: Iterable[str] = ()) -> EntryPoint:
    """Choose the command for an entry point: itself, or an interpreter by its name, which no project in `avoid` provides."""
    name = path.rpartition("/")[2]
    is_executable = os.access(path, os.X_OK)
    if is_executable and read_first_bytes(path).startswith((b"#!", *BINARIES)):
        return EntryPoint(path, (path,))
    bash = find_program("bash", avoid=avoid) if name == "run.sh" else None
    interpreter = sys.executable if name == "run.py" else bash or "/bin/sh"
    problem = "has no interpreter line (#!)" if is_executable else "is not executable (chmod +x)"
    program = interpreter.rpartition("/")[2]
    return EntryPoint(path, (interpreter, path), f"scripts/{name} {problem}; it was run by {program}")


def read_first_bytes(path: str, count: int = 256) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(handle, count)
    except OSError:
        return b""
    finally:
        os.close(handle)


def find_interpreter_error(start: bytes) -> str | None:
    if not start.startswith(b"#!"):
        return None
    line = start[2:].partition(b"\n")[0]
    words = [word.decode("utf-8", "replace") for word in line.split()]
    if not words:
        return "its interpreter line is empty"
    interpreter = words[0]
    if line.endswith(b"\r"):
        return f"it has Windows line ends, so its interpreter reads as {interpreter + chr(92)}r (convert it to LF)"
    if not os.path.exists(interpreter):
        return f"its interpreter {interpreter} does not exist here"
    if interpreter.endswith("/env"):
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        if program and find_program(program) is None:
            return f"its interpreter {program} is not on the PATH"
    return None


def find_program(name: str, path: str | None = None, avoid: Iterable[str] | None = None) -> str | None:
    if "\0" in name:
        return None
    if "/" in name:
        return name if os.access(name, os.X_OK) else None
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        program = f"{folder or '.'}/{name}"
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            continue
        if avoid is None or folder in SYSTEM_BIN_FOLDERS or not points_into(program, find_project_tops(avoid)):
            return program
    return None


def find_project_tops(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the projects that some folders are or are in, by their given path and their real one."""
    # A project that contains the home folder of the account is the user's own, and is left out.
    plain = [folder for folder in folders if _is_possible_path(folder)]
    tops = {top for folder in plain for top in (folder.rstrip("/"), _find_repository(folder))} - {""}
    paths = sorted({path for top in tops for path in (top, resolve_links(top))} - {"/"})
    home = os.path.realpath(account_home()) + "/" if paths else ""
    return tuple(path for path in paths if not home.startswith(path + "/"))


def find_private_tops(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the projects of some folders, without those for everybody such as /tmp, unless one is a repository."""
    return tuple(top for top in find_project_tops(folders) if not is_shared(top) or os.path.lexists(top + "/.git"))


def resolve_links(path: str) -> str:
    """Return the real path, as far as it can be found out: a link such as /proc/1/cwd may not even be read."""
    try:
        # a fifth of the time that `realpath` needs, where the system has it
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError, AttributeError):
        return _resolve_slowly(path)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return _resolve_slowly(path)
    finally:
        os.close(handle)


def _resolve_slowly(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def _is_possible_path(text: str) -> bool:
    try:
        return text.startswith("/") and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _find_repository(folder: str) -> str:
    at = folder.rstrip("/")
    while at and not os.path.lexists(at + "/.git"):
        at = at.rpartition("/")[0]
    return at


def points_into(path: str, tops: Iterable[str]) -> bool:
    """Whether a path is, or may be, in a project: a relative path depends on where a hook runs, /proc on who asks."""
    if not path.startswith("/"):
        return True
    # `normpath` keeps two of them
    path = "/" + path.lstrip("/")
    starts = ("/proc/", "/dev/fd/", "/dev/std", *(top + "/" for top in tops))
    return any(f"{one}/".startswith(starts) for one in (os.path.normpath(path), resolve_links(path)))


def collapse_slashes(value: bytes) -> bytes:
    while b"//" in value:
        value = value.replace(b"//", b"/")
    return value


def find_doubtful_variables(env: Mapping[bytes, bytes], tops: tuple[str, ...]) -> list[bytes]:
    """Return the variables that may bring code of a project into a hook: a quick look, because most are harmless."""
    marks = (b"./", b"/proc/", b"/dev/fd/", b"/dev/std", *_REWRITTEN, *map(os.fsencode, tops))
    return [
        name
        for name, value in env.items()
        if value
        and name not in HARMLESS_VARIABLES
        and not name.endswith(HARMLESS_VARIABLE_ENDINGS)
        and _is_doubtful(name, value, marks, tops)
    ]


def _is_doubtful(name: bytes, value: bytes, marks: tuple[bytes, ...], tops: tuple[str, ...]) -> bool:
    kind = find_variable_kind(name)
    if b"/" not in value:
        return bool(kind) or value in _RELATIVE_ELEMENTS
    if (kind and kind not in _PATH_KINDS) or value.startswith(b"."):
        return True
    for mark in marks:
        if mark in value:
            return True
    elements = value.split(b":")
    if not value.startswith(b"/") and (kind or b":/" in value):
        return True
    # Only a plain path or list of paths is looked at here.
    if kind and len(split_words(value)) > len(elements):
        return True
    if len(elements) > 1 and value.startswith(b"/") and not all(element.startswith(b"/") for element in elements):
        return True
    # The project's own path is among the marks, so that only a link is left.
    words = {*elements, *split_words(value)} if len(value) <= MAX_VALUE_BYTES else elements
    others = [os.fsdecode(word) for word in words if word.startswith(b"/") and not word.startswith(_SYSTEM_FOLDERS)]
    return any(real != path and points_into(real, tops) for path in others for real in (resolve_links(path),))


def split_words(value: bytes) -> list[bytes]:
    """Split the value of a variable at everything that may come before or after a path."""
    return value.translate(_SPLIT_TABLE).split(b"\0")


def find_variable_kind(name: bytes) -> str:
    """Return what the value of a variable is that makes programs run more code than their own, "" for any other variable."""
    if name in CODE_VARIABLES:
        return CODE_VARIABLES[name]
    # npm reads its variables in any case
    upper = name.upper()
    if not upper.startswith(_CODE_PREFIXES) or name in PLAIN_GIT_VARIABLES:
        return ""
    by_prefix = (kind for prefix, kind in CODE_VARIABLE_PREFIXES.items() if upper.startswith(prefix))
    return CODE_VARIABLES.get(upper) or next(by_prefix)


def find_foreign_owner(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not hasattr(os, "getuid"):
        return None
    if status.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by anybody (chmod o-w)"
    return None


def find_exposure(path: str) -> str | None:
    """Return why a file or folder of the user is not safe to run from: others can write to it, the user's own group excepted."""
    if reason := find_foreign_owner(path):
        return reason
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid:
        return "can be written by its group (chmod g-w)"
    return None


def find_exposed_parent(path: str) -> str | None:
    """Return which folder above a path others can write to: they could replace what is below it."""
    at = os.path.dirname(os.path.realpath(path))
    while at != "/":
        reason = find_exposure(at)
        if reason and not _is_sticky(at):
            return f"is in {at}, which {reason}"
        at = os.path.dirname(at)
    return None


def _is_sticky(path: str) -> bool:
    """Whether only the owner of a file in a folder can move it, as in /tmp."""
    status = os.stat(path)
    return bool(status.st_mode & stat.S_ISVTX) and status.st_uid in (0, os.getuid())


def make_stamp(path: str) -> Stamp:
    """Return what changes when a file or folder changes; of a path with a slash at its end, when the folder's mode changes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if path.endswith("/"):
        return (status.st_mode, status.st_uid, status.st_ino)
    return (status.st_ctime_ns, status.st_size, status.st_ino)
