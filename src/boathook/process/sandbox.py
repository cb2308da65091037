"""Confined hooks: what each level needs of this machine, and how a hook is started within its walls.

`restricted` writes below its project and a private temporary folder only, has no TCP unless `network`, and signals nobody else;
by Landlock, or by bubblewrap where the kernel's Landlock is too old. `isolated` writes nowhere, sees neither the home folder nor
/tmp nor /run, and has no network; by bubblewrap. A level that is not to be had is a reason not to run, never a lower level.
"""

from __future__ import annotations

import os
import sys
import time

from boathook.core.hook import BASIC, ISOLATED, RESTRICTED, SANDBOX_LEVELS, Command, Http, Prompt
from boathook.core.value import Value
from boathook.core.verdict import FAILED
from boathook.process import landlock
from boathook.process.limits import as_words
from boathook.system.locations import current_dir
from boathook.system.programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from boathook.core.hook import Hook
    from boathook.core.verdict import Exit
    from boathook.process.child import Job
    from boathook.process.limits import Limits

SHIM = os.path.abspath(landlock.__file__)
OURSELVES = os.path.dirname(os.path.dirname(SHIM))
NOT_INSTALLED = "bubblewrap (bwrap) is not installed"
WALLS = ("--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL")
DEVICES = ("--dev", "/dev", "--proc", "/proc")
HIDDEN = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108  (there are sockets in them, and a socket is a way out)
SOCKETS = ("/run", "/var/run")
PROJECT_MARKS = (".git", ".agents/hooks", ".claude/settings.json", ".claude/settings.local.json")
SHOWN = ("/run/current-system", "/run/systemd/resolve")  # programs of NixOS; the names of hosts
SYSTEM = ("/", "/bin", "/dev", "/etc", "/lib", "/opt", "/sbin", "/usr", "/var")  # no home, whatever a variable says
REMOVE_SECONDS = 0.1
PROBE_SECONDS = 10


class Offer(Value):
    """Whether this machine has a level, and how, or why not."""

    level: str
    there: bool
    how: str


class Cage(Value):
    """The walls of one hook as plain values: its level, the path of bwrap if that builds them, and which places are open.

    An isolated hook may write to `scratch`, a folder of nobody's.
    """

    level: str
    network: bool
    bwrap: str
    open: tuple[str, ...]
    scratch: str = ""


def cage(hook: Hook, project: str, cwd: str, argv: tuple[str, ...], scratch: str = "") -> tuple[Cage | None, str]:
    """Return the walls that a hook needs, none if it needs none, or why it cannot have them.

    Prompt and http hooks are put by a process of ours, which runs no code of theirs.
    """
    if hook.sandbox == BASIC or isinstance(hook.handler, Prompt | Http):
        return None, ""
    bwrap, why = builder(hook.sandbox, network=hook.network, avoid=(project, cwd))
    if why:
        return None, f"it must run in the sandbox '{hook.sandbox}', which this machine does not have: {why}"
    isolated = hook.sandbox == ISOLATED
    places = _places(hook, project, argv) if isolated else (project,)
    closed = _hidden() if isolated else _homes()
    kept = [path for path in dict.fromkeys(map(os.path.abspath, filter(None, places))) if not _holds_any(path, closed)]
    return Cage(hook.sandbox, hook.network, bwrap, tuple(kept), scratch), ""


def seat(cage_: Cage, cwd: str) -> str:
    """Return the folder that a hook runs in: the wanted one if it is to be seen within the walls, else the first that is."""
    real = os.path.realpath(cwd)
    hidden = cage_.level == ISOLATED and _below_any(real, _hidden())
    if not hidden or _below_any(real, map(os.path.realpath, cage_.open)):
        return cwd
    return next(filter(os.path.isdir, cage_.open), "/")


def builder(level: str, *, network: bool, avoid: Iterable[str] = ()) -> tuple[str, str]:
    """Return what can build the walls of a level here: the path of bwrap, or nothing for Landlock; or why nothing can."""
    if level not in SANDBOX_LEVELS:
        return "", "there is no such level"
    why = landlock.lacks(landlock.version(), network=network) if level == RESTRICTED else ""
    if level == RESTRICTED and not why:
        return "", ""
    bwrap = find_bwrap(avoid)
    return bwrap, "" if bwrap else f"{why}, and {NOT_INSTALLED}" if why else NOT_INSTALLED


def find_bwrap(avoid: Iterable[str] = ()) -> str:
    """Find bubblewrap on the engine's own PATH, nothing if it is not there; one in a project, or in a relative folder, is none."""
    return which("bwrap", avoid=tuple(avoid)) or ""


def offers() -> tuple[Offer, ...]:
    """Report of each level whether this machine has it, really tried."""
    limited = "limits and a session of its own" if sys.platform == "linux" else "a session of its own, but no limits"
    found = landlock.version()
    wrapped, how = _try_bwrap()
    why = landlock.lacks(found, network=False)
    restricted = Offer(RESTRICTED, not why or wrapped, f"{why}; {how}" if why else f"Landlock of version {found}")
    return Offer(BASIC, there=True, how=limited), restricted, Offer(ISOLATED, wrapped, how)


def _try_bwrap() -> tuple[bool, str]:
    bwrap = find_bwrap((current_dir(),))
    if not bwrap:
        return False, NOT_INSTALLED
    import subprocess

    command = (bwrap, *_isolated(Cage(ISOLATED, network=False, bwrap=bwrap, open=()), "/"), "--", "/bin/sh", "-c", ":")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return False, f"{bwrap} does not work here: {error}"
    told = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return not done.returncode, f"{bwrap} does not work here: {told}" if done.returncode else f"bubblewrap, {bwrap}"


class Den:
    """The walls round one running hook: how it is started within them, and the temporary folder that ends with it."""

    def __init__(self, job: Job, limits: Limits) -> None:
        """Build them, as far as that is done from outside."""
        cage_ = Cage(*job.cage)
        self._closing = ""
        self.env = dict(job.env)
        if cage_.level == RESTRICTED:
            self._closing = folder = _new_folder()
            argv = _restricted(cage_, folder, job)
        else:
            folder = HIDDEN[0]
            argv = (cage_.bwrap, *_isolated(cage_, job.cwd), "--")
        self.env[b"TMPDIR"] = os.fsencode(folder)
        self.argv = (*(as_words(limits) if cage_.bwrap else ()), *argv, *job.argv)

    def explain(self, end: Exit) -> Exit:
        """Return that it was the walls that failed, if it was; a hook that says the same is believed, for it has failed too."""
        told = end.stderr.decode("utf-8", "replace").partition("\n")[0]
        if end.code == 1 and told.startswith("bwrap: "):
            return end.replace(error=FAILED, detail=f"the sandbox could not be made: {told}")
        if end.code in (landlock.NO_RIGHTS, landlock.CANNOT_START) and told.startswith(landlock.SAYS):
            return end.replace(error=FAILED, detail=told.removeprefix("boathook: "))
        return end

    def close(self) -> None:
        """Remove the temporary folder, as much of it as a moment allows."""
        if self._closing:
            _remove(self._closing, time.monotonic() + REMOVE_SECONDS)
            self._closing = ""


def _restricted(cage_: Cage, folder: str, job: Job) -> tuple[str, ...]:
    open_ = [folder, *filter(os.path.isdir, cage_.open)]
    if cage_.bwrap:
        net = () if cage_.network else ("--unshare-net",)
        binds = [word for path in map(os.path.realpath, open_) for word in ("--bind", path, path)]
        return (cage_.bwrap, *WALLS, *net, "--ro-bind", "/", "/", *DEVICES, *binds, "--chdir", job.cwd, "--")
    options = ["--network"] if cage_.network else []
    if b"LC_CTYPE" not in job.env:
        options.append("--plain-locale")
    return (sys.executable, "-I", "-S", SHIM, *options, *open_, "--")


def _isolated(cage_: Cage, cwd: str) -> tuple[str, ...]:
    """Return the arguments of bwrap: everything read-only, what may hold secrets or sockets hidden, what the hook needs shown."""
    net = () if cage_.network else ("--unshare-net",)
    hidden = _hidden()
    words = [word for path in sorted(hidden) for word in ("--tmpfs", path)]
    for path in (*SHOWN, *cage_.open):
        real = os.path.realpath(path)
        if os.path.exists(real) and _below_any(real, hidden):
            words += ("--ro-bind", real, real)
        if real != path and _below_any(os.path.realpath(os.path.dirname(path)), hidden):
            words += ("--symlink", real, path)
    if cage_.scratch:
        words += ("--bind", os.path.realpath(cage_.scratch), os.path.realpath(cage_.scratch))
    return (*WALLS, *net, "--ro-bind", "/", "/", *DEVICES, *words, "--chdir", cwd)


def _hidden() -> list[str]:
    """Return what an isolated hook does not see, as it really is."""
    return sorted({os.path.realpath(path) for path in (*HIDDEN, *_homes()) if os.path.isdir(path)})


def _places(hook: Hook, project: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Name what a hook must be able to read: the project, its own files, and what runs them.

    The work dir is none of them: an event may come from anywhere, from ~/.ssh as well.
    """
    root = hook.handler.root if isinstance(hook.handler, Command) else hook.folder
    copy = hook.approval.copy if hook.approval else ""
    program = argv[0] if os.path.isfile(argv[0]) and os.access(argv[0], os.X_OK) else ""
    return "" if _is_private(project) else project, root, copy, program, sys.prefix, sys.base_prefix, OURSELVES


def _is_private(place: str) -> bool:
    """Whether a work dir that stands for a project is in /run or a dot folder of a home, and nothing says it is a project."""
    homes, real = _homes(), os.path.realpath(place)
    if not any(real.startswith(f"{home}/.") for home in homes) and not _below_any(real, SOCKETS):
        return False
    at = real
    while at and at not in homes:
        if any(os.path.lexists(f"{at}/{mark}") for mark in PROJECT_MARKS):
            return False
        at = at.rpartition("/")[0]
    return True


def _homes() -> tuple[str, ...]:
    """Return the home folders of this user, as the environment and as the system knows them."""
    found = [os.environ.get("HOME", "")]
    try:
        import pwd

        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        pass
    real = dict.fromkeys(os.path.realpath(path) for path in found if path.startswith("/"))
    return tuple(path for path in real if path not in SYSTEM)


def _holds_any(path: str, others: Iterable[str]) -> bool:
    """Whether a place is one of some others or holds one: a project that holds the home folder opens nothing."""
    top = os.path.realpath(path).rstrip("/")
    return any(f"{other}/".startswith(f"{top}/") for other in others)


def _below_any(path: str, tops: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{top}/") for top in tops)


def _new_folder() -> str:
    """Make a folder that is only ours; `tempfile` would cost more than the rest of it."""
    base = os.environ.get("TMPDIR", "")
    base = base if base.startswith("/") and os.path.isdir(base) else HIDDEN[0]
    path = f"{os.path.realpath(base)}/boathook-{os.urandom(8).hex()}"
    os.mkdir(path, 0o700)
    return path


def _remove(folder: str, end: float, parent: int | None = None) -> None:
    """Remove a folder with all that is in it, never through a link, until a time."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(folder, flags, dir_fd=parent)
    except OSError:
        return
    try:
        os.fchmod(handle, 0o700)
        with os.scandir(handle) as entries:
            for entry in entries:
                if time.monotonic() > end:
                    return
                if entry.is_dir(follow_symlinks=False):
                    _remove(entry.name, end, handle)
                else:
                    os.unlink(entry.name, dir_fd=handle)
        os.rmdir(folder, dir_fd=parent)
    except (OSError, RecursionError):
        return
    finally:
        os.close(handle)
