"""Sandboxed hooks: what each level needs of this machine, and how a hook is started in its sandbox."""

# `restricted` writes below its project and a private temporary folder only, has no network unless `network`, and cannot signal
# other processes; by Landlock and seccomp, or by bubblewrap where Landlock is too old, or in a trial, because mounts that are
# read-only also keep modes, owners and times, and sockets in /run can be hidden. `isolated` writes nowhere, sees neither
# the home folder nor /tmp nor /run, and has no network; by bubblewrap. A hook whose level is not available does not run.

from __future__ import annotations

import os
import sys
import time

from boathook.core.hook import BASIC, ISOLATED, RESTRICTED, SANDBOX_LEVELS, Command, Http, Prompt
from boathook.core.value import Value
from boathook.core.verdict import FAILED
from boathook.process import landlock
from boathook.process.spawn import make_ulimit_command
from boathook.system.locations import current_dir
from boathook.system.programs import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from boathook.core.hook import Hook
    from boathook.core.verdict import Exit
    from boathook.process.child import Job
    from boathook.process.spawn import ProcessLimits

_LANDLOCK_PROGRAM = os.path.abspath(landlock.__file__)
_OUR_FOLDER = os.path.dirname(os.path.dirname(_LANDLOCK_PROGRAM))
_BWRAP_NOT_INSTALLED = "bubblewrap (bwrap) is not installed"
_BWRAP_OPTIONS = (
    *("--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--cap-drop", "ALL"),
)
# Root, and nobody else, has a capability to keep: the one that `landlock` keeps.
_ROOT_OPTIONS = ("--cap-add", "CAP_DAC_OVERRIDE")
_BWRAP_DEVICES = ("--dev", "/dev", "--proc", "/proc")
# there are sockets in them, and a socket is a way out
_HIDDEN_FOLDERS = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108
_SOCKET_FOLDERS = ("/run", "/var/run")
# programs of NixOS; the names of hosts
_SHOWN_FOLDERS = ("/run/current-system", "/run/systemd/resolve")
# never a home folder, even if HOME says so
_SYSTEM_FOLDERS = ("/", "/bin", "/dev", "/etc", "/lib", "/opt", "/sbin", "/usr", "/var")
_REMOVE_SECONDS = 0.1
_TRIAL_SECONDS = 10


class SandboxSupport(Value):
    level: str
    is_available: bool
    detail: str


class SandboxSpec(Value):
    level: str
    network: bool
    bwrap: str
    open_folders: tuple[str, ...]
    scratch: str = ""
    hides_sockets: bool = False


def plan_sandbox(
    hook: Hook,
    project: str,
    cwd: str,
    argv: tuple[str, ...],
    scratch: str = "",
    marks: tuple[str, ...] = (),
    *,
    by_mounts: bool = False,
) -> tuple[SandboxSpec | None, str]:
    # Prompt and http hooks run in a process of ours, which runs no code of theirs. `marks` are files that only projects have.
    if hook.sandbox == BASIC or isinstance(hook.handler, Prompt | Http):
        return None, ""
    bwrap, reason = _find_builder(hook.sandbox, network=hook.network, avoid=(project, cwd), by_mounts=by_mounts)
    if reason:
        return None, f"it must run in the sandbox '{hook.sandbox}', which this machine does not have: {reason}"
    is_isolated = hook.sandbox == ISOLATED
    wanted = _list_readable(hook, project, argv, marks) if is_isolated else (project,)
    closed = _list_hidden() if is_isolated else _find_homes()
    folders = dict.fromkeys(map(os.path.abspath, filter(None, wanted)))
    open_folders = tuple(path for path in folders if not _contains_any(path, closed))
    return SandboxSpec(hook.sandbox, hook.network, bwrap, open_folders, scratch, by_mounts and bool(bwrap)), ""


def choose_sandbox_dir(spec: SandboxSpec, cwd: str) -> str:
    real = os.path.realpath(cwd)
    is_hidden = spec.level == ISOLATED and _is_below_any(real, _list_hidden())
    if not is_hidden or _is_below_any(real, map(os.path.realpath, spec.open_folders)):
        return cwd
    return next(filter(os.path.isdir, spec.open_folders), "/")


def _find_builder(level: str, *, network: bool, avoid: Iterable[str] = (), by_mounts: bool = False) -> tuple[str, str]:
    """Return what can make a sandbox of a level here: the path of bwrap, or "" for Landlock; or the reason why nothing can."""
    if level not in SANDBOX_LEVELS:
        return "", "there is no such level"
    limitation = ""
    if level == RESTRICTED and not by_mounts:
        limitation = landlock.find_limitation(landlock.find_version(), network=network)
        if not limitation:
            return "", ""
    bwrap = find_bwrap(avoid)
    if bwrap:
        return bwrap, ""
    return "", f"{limitation}, and {_BWRAP_NOT_INSTALLED}" if limitation else _BWRAP_NOT_INSTALLED


def find_bwrap(avoid: Iterable[str] = ()) -> str:
    return find_program("bwrap", avoid=tuple(avoid)) or ""


def probe_sandbox_levels() -> tuple[SandboxSupport, ...]:
    limits = "resource limits and a separate session" if sys.platform == "linux" else "a separate session, no limits"
    version = landlock.find_version()
    has_bwrap, detail = _try_bwrap()
    limitation = landlock.find_limitation(version, network=False)
    landlock_detail = f"{limitation}; {detail}" if limitation else f"Landlock version {version}"
    return (
        SandboxSupport(BASIC, is_available=True, detail=limits),
        SandboxSupport(RESTRICTED, not limitation or has_bwrap, landlock_detail),
        SandboxSupport(ISOLATED, has_bwrap, detail),
    )


def _try_bwrap() -> tuple[bool, str]:
    bwrap = find_bwrap((current_dir(),))
    if not bwrap:
        return False, _BWRAP_NOT_INSTALLED
    import subprocess

    spec = SandboxSpec(ISOLATED, network=False, bwrap=bwrap, open_folders=())
    command = (bwrap, *_make_isolated_options(spec, "/"), "--", "/bin/sh", "-c", ":")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return False, f"{bwrap} does not work here: {error}"
    error_line = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    if done.returncode:
        return False, f"{bwrap} does not work here: {error_line}"
    return True, f"bubblewrap, {bwrap}"


class Sandbox:
    def __init__(self, job: Job, limits: ProcessLimits) -> None:
        spec = SandboxSpec(*job.sandbox)
        self._own_folder = ""
        self.env = dict(job.env)
        if spec.level == RESTRICTED:
            self._own_folder = folder = _make_private_folder()
            argv = _make_restricted_command(spec, folder, job)
        else:
            folder = _HIDDEN_FOLDERS[0]
            argv = (spec.bwrap, *_make_isolated_options(spec, job.cwd), "--")
        self.env[b"TMPDIR"] = os.fsencode(folder)
        self.argv = (*(make_ulimit_command(limits) if spec.bwrap else ()), *argv, *job.argv)

    def explain_exit(self, end: Exit) -> Exit:
        """Return the exit as a failure of the sandbox if it was one; a hook that prints the same has failed, too."""
        line = end.stderr.decode("utf-8", "replace").partition("\n")[0]
        if end.code == 1 and line.startswith("bwrap: "):
            return end.replace(error=FAILED, detail=f"the sandbox could not be made: {line}")
        is_our_code = end.code in (landlock.EXIT_NOT_CONFINED, landlock.EXIT_NOT_STARTED)
        if is_our_code and line.startswith(landlock.ERROR_PREFIX):
            return end.replace(error=FAILED, detail=line.removeprefix("boathook: "))
        return end

    def close(self) -> None:
        if self._own_folder:
            _remove_folder(self._own_folder, time.monotonic() + _REMOVE_SECONDS)
            self._own_folder = ""


def _make_restricted_command(spec: SandboxSpec, folder: str, job: Job) -> tuple[str, ...]:
    open_folders = [folder, *filter(os.path.isdir, spec.open_folders)]
    if spec.bwrap:
        network = () if spec.network else ("--unshare-net",)
        binds = [word for path in map(os.path.realpath, open_folders) for word in ("--bind", path, path)]
        rights = _ROOT_OPTIONS if os.geteuid() == 0 else ()
        root = ("--ro-bind", "/", "/", *_BWRAP_DEVICES, *(_hide_sockets() if spec.hides_sockets else ()))
        return (spec.bwrap, *_BWRAP_OPTIONS, *rights, *network, *root, *binds, "--chdir", job.cwd, "--")
    options = ["--network"] if spec.network else []
    if b"LC_CTYPE" not in job.env:
        options.append("--plain-locale")
    return (sys.executable, "-I", "-S", _LANDLOCK_PROGRAM, *options, *open_folders, "--")


def _hide_sockets() -> tuple[str, ...]:
    """Return the options that hide the folders of sockets, except what programs need there."""
    hidden = sorted({os.path.realpath(path) for path in _SOCKET_FOLDERS if os.path.isdir(path)})
    shown = [path for path in map(os.path.realpath, _SHOWN_FOLDERS) if os.path.exists(path)]
    mounts = [word for path in hidden for word in ("--tmpfs", path)]
    return (*mounts, *(word for path in shown for word in ("--ro-bind", path, path)))


def _make_isolated_options(spec: SandboxSpec, cwd: str) -> tuple[str, ...]:
    network = () if spec.network else ("--unshare-net",)
    hidden = _list_hidden()
    mounts = [word for path in sorted(hidden) for word in ("--tmpfs", path)]
    for path in (*_SHOWN_FOLDERS, *spec.open_folders):
        real = os.path.realpath(path)
        if os.path.exists(real) and _is_below_any(real, hidden):
            mounts += ("--ro-bind", real, real)
        if real != path and _is_below_any(os.path.realpath(os.path.dirname(path)), hidden):
            mounts += ("--symlink", real, path)
    if spec.scratch:
        mounts += ("--bind", os.path.realpath(spec.scratch), os.path.realpath(spec.scratch))
    return (*_BWRAP_OPTIONS, *network, "--ro-bind", "/", "/", *_BWRAP_DEVICES, *mounts, "--chdir", cwd)


def _list_hidden() -> list[str]:
    return sorted({os.path.realpath(path) for path in (*_HIDDEN_FOLDERS, *_find_homes()) if os.path.isdir(path)})


def _list_readable(hook: Hook, project: str, argv: tuple[str, ...], marks: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a hook must be able to read: the project, its own files, and what runs them."""
    # The work dir is not included: an event may come from anywhere, from ~/.ssh too.
    root = hook.handler.root if isinstance(hook.handler, Command) else hook.folder
    copy = hook.approval.copy_folder if hook.approval else ""
    program = argv[0] if os.path.isfile(argv[0]) and os.access(argv[0], os.X_OK) else ""
    public_project = "" if _is_private(project, marks) else project
    return public_project, root, hook.shared_code, copy, program, sys.prefix, sys.base_prefix, _OUR_FOLDER


def _is_private(folder: str, marks: tuple[str, ...]) -> bool:
    """Whether a work dir that is used as a project is in /run or a dot folder of a home, and has no mark of a project."""
    homes, real = _find_homes(), os.path.realpath(folder)
    if not any(real.startswith(f"{home}/.") for home in homes) and not _is_below_any(real, _SOCKET_FOLDERS):
        return False
    at = real
    while at and at not in homes:
        if any(os.path.lexists(f"{at}/{mark}") for mark in (".git", *marks)):
            return False
        at = at.rpartition("/")[0]
    return True


def _find_homes() -> tuple[str, ...]:
    paths = [os.environ.get("HOME", "")]
    try:
        import pwd

        paths.append(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        pass
    real = dict.fromkeys(os.path.realpath(path) for path in paths if path.startswith("/"))
    return tuple(path for path in real if path not in _SYSTEM_FOLDERS)


def _contains_any(path: str, others: Iterable[str]) -> bool:
    """Whether a folder is or contains one of some others: a project that contains the home folder opens nothing."""
    top = os.path.realpath(path).rstrip("/")
    return any(f"{other}/".startswith(f"{top}/") for other in others)


def _is_below_any(path: str, tops: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{top}/") for top in tops)


def _make_private_folder() -> str:
    """Make a folder that only we can use; `tempfile` would cost more than the rest of it."""
    base = os.environ.get("TMPDIR", "")
    base = base if base.startswith("/") and os.path.isdir(base) else _HIDDEN_FOLDERS[0]
    path = f"{os.path.realpath(base)}/boathook-{os.urandom(8).hex()}"
    os.mkdir(path, 0o700)
    return path


def _remove_folder(folder: str, deadline: float, parent: int | None = None) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(folder, flags, dir_fd=parent)
    except OSError:
        return
    try:
        os.fchmod(handle, 0o700)
        with os.scandir(handle) as entries:
            for entry in entries:
                if time.monotonic() > deadline:
                    return
                if entry.is_dir(follow_symlinks=False):
                    _remove_folder(entry.name, deadline, handle)
                else:
                    os.unlink(entry.name, dir_fd=handle)
        os.rmdir(folder, dir_fd=parent)
    except (OSError, RecursionError):
        return
    finally:
        os.close(handle)
