"""How `boathook doctor` fires hooks: in a scratch project, and so that they cannot change anything of the person's."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from boathook.assembly import make_probe_engine
from boathook.cli.trial_run import raise_sandbox
from boathook.core.catalog import Catalog
from boathook.core.event import Event
from boathook.core.hook import ISOLATED, RESTRICTED, USER, Hook
from boathook.core.value import Value
from boathook.core.verdict import Run, Verdict
from boathook.engine import Engine
from boathook.process.hook_runner import copy_environment
from boathook.process.sandbox import SandboxSupport
from boathook.sources.source import SOURCES
from boathook.system.locations import CACHE_FOLDER, CONFIG_FOLDER, STATE_FOLDER
from boathook.trust.snapshot import FILE, SnapshotError, read_snapshot, write_snapshot

# The ways to fire hooks, as the output names them.
SANDBOXED, SCRATCH_HOME, FOR_REAL = FIRING_WAYS = ("sandbox", "scratch home", "for real")
_WAY_TEXTS = {
    SANDBOXED: "hooks are fired in a scratch project and a sandbox: they cannot write elsewhere or reach a network",
    SCRATCH_HOME: "hooks are fired in a scratch project with a scratch HOME, because there is no sandbox here",
    FOR_REAL: "hooks are fired for real: what they write outside of the scratch project stays",
}
# What they lead to is outside of every sandbox: a desktop, keys, a container engine.
_SESSION_VARIABLES = (
    *(b"DBUS_SESSION_BUS_ADDRESS", b"DISPLAY", b"WAYLAND_DISPLAY", b"XDG_RUNTIME_DIR", b"SSH_AUTH_SOCK"),
    *(b"SSH_AGENT_PID", b"GPG_AGENT_INFO", b"DOCKER_HOST", b"TMUX", b"KITTY_LISTEN_ON", b"WSL_INTEROP"),
)
# The variables that name folders of a person elsewhere than in HOME.
_USER_FOLDERS = (CONFIG_FOLDER, STATE_FOLDER, CACHE_FOLDER, *(source.user_folder for source in SOURCES))
_HOME_FOLDERS = {b"XDG_DATA_HOME": ".local/share", **{one.variable: one.default for one in _USER_FOLDERS}}
# What programs say if they may not write or have no network.
_CONFINED = re.compile(
    r"(?i)permission denied|read-only file ?system|operation not permitted"
    r"|\b(?:EACCES|EROFS|EPERM|ENOTFOUND|EAI_AGAIN|ECONNREFUSED)\b"
    r"|network is unreachable|could ?n[o']t (?:resolve|connect)|name resolution|name or service not known|getaddrinfo"
    r"|failed to connect|connection (?:error|refused)|cannot connect to|no route to host|cannot autolaunch|unable to open display"
)


class Firing(Value):
    """The way in which hooks are fired: one of `FIRING_WAYS`."""

    way: str
    # Whether bubblewrap makes the sandbox: it also keeps modes, owners and times of files, and hides the sockets in /run.
    by_mounts: bool = False

    @property
    def text(self) -> str:
        return _WAY_TEXTS[self.way]

    @property
    def is_for_real(self) -> bool:
        return self.way == FOR_REAL

    def confine(self, hook: Hook) -> Hook:
        """Return a hook as it is fired: it waits for it, and the sandbox is not weaker than the hook's own."""
        waiting = hook.replace(background=False)
        return raise_sandbox(waiting, RESTRICTED) if self.way == SANDBOXED else waiting

    def find_refusal(self, hook: Hook, *, is_trusted: bool) -> str:
        """Return why a hook may not be fired in this way, or "": a scratch HOME stops no code that nobody has reviewed."""
        if is_trusted or hook.scope == USER or self.way != SCRATCH_HOME:
            return ""
        return "nobody has reviewed it, and there is no sandbox here"


def choose_firing(levels: tuple[SandboxSupport, ...], *, for_real: bool) -> Firing:
    available = {support.level for support in levels if support.is_available}
    way = FOR_REAL if for_real else SANDBOXED if RESTRICTED in available else SCRATCH_HOME
    return Firing(way, by_mounts=way == SANDBOXED and ISOLATED in available)


class HookFirer:
    """Fires hooks one at a time; `scratch` is the project that they see."""

    def __init__(self, engine: Engine, firing: Firing, scratch: str) -> None:
        self._engine, self._firing, self.scratch = engine, firing, scratch
        self._home = f"{os.path.dirname(scratch)}/home"

    def fire(self, hook: Hook, event: Event) -> Verdict:
        return self._engine.only((self._firing.confine(hook),), diagnostics=False).dispatch(event)

    def find_confined_line(self, hook: Hook, run: Run) -> str:
        """Return what a hook says that it could not do because of the way in which it was fired, or ""."""
        if self._firing.is_for_real:
            return ""
        lines = "\n".join((run.error, *run.outcome.reasons, run.stderr)).splitlines()
        return next((name_edited_files(hook, line.strip()) for line in lines if self._is_about_limits(line)), "")

    def _is_about_limits(self, line: str) -> bool:
        return bool(_CONFINED.search(line)) or self._home in line


@contextmanager
def prepare_firing(catalog: Catalog, firing: Firing) -> Iterator[HookFirer]:
    """Make a scratch project with copies of the folders of hooks, and an engine for it."""
    with tempfile.TemporaryDirectory(prefix="boathook-doctor-", ignore_cleanup_errors=True) as folder:
        base = os.path.realpath(folder)
        scratch = f"{base}/project"
        os.mkdir(scratch)
        _copy_hook_folders(catalog, scratch)
        environ = (
            None if firing.is_for_real else _make_environment(f"{base}/home", is_scratch=firing.way == SCRATCH_HOME)
        )
        by_mounts = firing.by_mounts
        with make_probe_engine(catalog, base, project=scratch, environ=environ, by_mounts=by_mounts) as engine:
            yield HookFirer(engine, firing, scratch)


def _copy_hook_folders(catalog: Catalog, scratch: str) -> None:
    # Hooks may name files relative to their project.
    projects: dict[str, str] = {}
    for source in SOURCES:
        if project := catalog.find_project(source.name):
            projects.setdefault(source.project_folder, project)
    for folder, project in projects.items():
        _copy_folder(project + folder, scratch + folder)


def _copy_folder(folder: str, copy: str) -> None:
    try:
        snapshot = read_snapshot(folder)
    except SnapshotError:
        return
    write_snapshot(snapshot, copy)
    for item in snapshot.items:
        if item.kind == FILE:
            os.chmod(f"{copy}/{item.path}", 0o700 if item.mode & 0o111 else 0o600)
    for path, _, _ in os.walk(copy):
        os.chmod(path, 0o700)


def _make_environment(home: str, *, is_scratch: bool) -> dict[bytes, bytes]:
    """Return the environment of hooks: without ways to the desktop, and in a scratch HOME if nothing else protects it."""
    environ = {name: value for name, value in copy_environment().items() if name not in _SESSION_VARIABLES}
    if is_scratch:
        os.mkdir(home)
        environ[b"HOME"] = os.fsencode(home)
        environ |= {name: os.fsencode(f"{home}/{below}") for name, below in _HOME_FOLDERS.items() if name in environ}
    return environ


def name_edited_files(hook: Hook, text: str) -> str:
    return hook.approval.name_real_files(text) if hook.approval else text
