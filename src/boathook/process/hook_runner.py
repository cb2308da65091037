"""Hooks as processes: a call becomes a job, with its command, directory, environment and input.

How the script of a HOOK.md folder is started stands here; what settings.json has beside it, in `runners.command`.
"""

from __future__ import annotations

import os
import sys

from boathook.core.event import PRE_SESSION
from boathook.core.hook import ARMED, BASIC, USER, Needs, Script
from boathook.core.value import Value
from boathook.process.child import Job
from boathook.process.reaper import MARK, is_above
from boathook.process.runner import ProcessRunner
from boathook.system.files import find_exposure
from boathook.system.programs import EntryPoint, choose_command, find_entry, which
from boathook.system.stamps import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.verdict import Call, Exit

    class Sessions(Protocol):
        """What is remembered of a session."""

        def env_file(self, session: str) -> str | None:
            """Return the file for exported variables."""
            ...

        def exports(self, session: str) -> dict[bytes, bytes]:
            """Return the exported variables."""
            ...


CLAUDE = "claude"
DEPTH = b"BOATHOOK_DEPTH"
ENV_FILE = b"CLAUDE_ENV_FILE"
MOST_DEEP = 3
VALUE_LIMIT = 4096
KEPT = 256
NOTHING = Needs()
LEADING = frozenset(
    b"BASH_ENV ENV SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 ZDOTDIR PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT"
    b" PYTHONBREAKPOINT PYTHONUSERBASE NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB LD_PRELOAD"
    b" LD_AUDIT LD_LIBRARY_PATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS GIT_CONFIG GIT_EXEC_PATH GIT_TEMPLATE_DIR".split()
)  # what makes a program run or load more than its own code: `runners.leads` looks at them
LEADING_STARTS = (b"BASH_FUNC_", b"DYLD_", b"GIT_CONFIG_")
SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class Surroundings(Value):
    """What jobs are made with: how events are written in each dialect, the project (of each form), and the model to ask.

    `home` is what the host calls its project; `scratch` is a folder that hooks may write to at any level.
    """

    write_event: Callable[[str, Event, str], bytes]
    project: str = ""
    claude_project: str = ""
    model: str = ""
    home: str = ""
    scratch: str = ""

    def project_for(self, hook: Hook, event: Event) -> str:
        """Return the project that a hook is told of: that of its own form, or dialect, first."""
        own = self.claude_project if hook.dialect == CLAUDE else ""
        return own or self.project or self.home or event.work_dir

    def projects(self, event: Event) -> tuple[str, ...]:
        """Return every folder that may be a project's, or lie in one."""
        return self.project, self.claude_project, self.home, event.work_dir


class Start(Value):
    """How a hook is started: its command and input, in which directory, or why it is not."""

    argv: tuple[str, ...] = ("",)
    stdin: bytes = b""
    cwd: str = ""
    refused: str = ""
    warnings: tuple[str, ...] = ()


class HookRunner:
    """Runs hooks that are processes, whatever form they come in."""

    def __init__(
        self,
        process: ProcessRunner,
        around: Surroundings,
        sessions: Sessions | None = None,
        environ: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """Take the process runner, what jobs are made with, and what sessions remember."""
        self._process = process
        self._around = around
        self._sessions = sessions
        self._environ = environ
        self._kept: dict[tuple[str, ...], dict[bytes, bytes]] = {}
        self._entries: dict[str, tuple[object, EntryPoint]] = {}

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        """Run calls together and give their ends in order."""
        return tuple(self._process.run_all([self._job(call) for call in calls], cancel))

    def _job(self, call: Call) -> Job:
        """Make a job; a fault of ours fails this one hook, not those that run with it."""
        try:
            return self.job(call)
        except Exception as error:  # noqa: BLE001
            return Job(("",), b"", "/", {}, 1.0, f"the engine failed to start it: {type(error).__name__}: {error}")

    def refusal(self, call: Call) -> str:
        """Return why a call cannot run, if so."""
        return self.job(call).refused

    def job(self, call: Call) -> Job:
        """Work out everything about a process before it starts."""
        hook, event = call.hook, call.event
        env = current_environment() if self._environ is None else dict(self._environ)
        if self._sessions is not None:
            env.update(self._sessions.exports(event.session_id))
        if refused := unmet(hook, env):
            return Job(("",), b"", "/", {}, hook.timeout, refused)
        if hook.scope != USER:
            _scrub(hook, env)
        notes = self._leave_out(hook, event, env)
        env[DEPTH] = b"%d" % (depth(env) + 1)
        env.update(self._variables(hook, event))
        start = self._start(hook, event, env)
        cwd, warning = _directory(start.cwd or event.work_dir, self._around.project)
        warnings = tuple(text for text in (*notes, warning, *start.warnings) if text)
        refused = start.refused
        cage: tuple[Any, ...] = ()
        if hook.sandbox != BASIC and not refused:
            project = self._around.project_for(hook, event)
            wanted = cwd
            cage, refused, cwd = _walls(hook, project, cwd, start.argv, self._around.scratch)
            if cwd != wanted:
                warnings += (f"its sandbox hides the work dir {wanted!r}; it was run in {cwd}",)
            env.pop(ENV_FILE, None)  # what it leaves for hooks without walls would be a way out
        return Job(start.argv, start.stdin, cwd, env, hook.timeout, refused, warnings, cage)

    def _start(self, hook: Hook, event: Event, env: dict[bytes, bytes]) -> Start:
        data = self._around.write_event(hook.dialect, event, hook.trigger)
        if not isinstance(hook.handler, Script):
            from boathook.process.command import start

            project = self._around.project_for(hook, event)
            return start(hook, data, env, project, self._around.model, self._around.projects(event))
        path = find_entry(hook.handler.folder)
        if path is None:
            return Start(refused="no entry point")
        if why := _open_to_others(hook, path):
            return Start(refused=why)
        entry = self._entry(path, self._around.projects(event))
        return Start(entry.argv, data, warnings=(entry.warning,))

    def _leave_out(self, hook: Hook, event: Event, env: dict[bytes, bytes]) -> tuple[str, ...]:
        """Take from an environment what would make a hook run code of the project that nobody has seen; say what that was."""
        if LEADING.isdisjoint(env) and not any(name.startswith(LEADING_STARTS) for name in env):
            return ()
        from boathook.process.environment import leave_out

        return leave_out(env, self._around.projects(event), own=hook.scope == USER)

    def _entry(self, path: str, avoid: tuple[str, ...]) -> EntryPoint:
        """Work out how a script is run; once, until it changes."""
        found = stamp(path)
        kept = self._entries.get(path)
        if kept is None or kept[0] != found:
            kept = self._entries[path] = (found, choose_command(path, avoid))
        return kept[1]

    def _variables(self, hook: Hook, event: Event) -> dict[bytes, bytes]:
        """Return the variables of a hook; those that do not change from call to call are kept."""
        key = (hook.name, hook.trigger, hook.folder, hook.source, event.session_id, event.work_dir)
        found = self._kept.get(key)
        if found is None:
            found = named_variables(hook, event, self._around.project_for(hook, event))
            self._kept = {**self._kept, key: found} if len(self._kept) < KEPT else {key: found}
        path = self._sessions.env_file(event.session_id) if event.kind is PRE_SESSION and self._sessions else None
        return found if path is None else {**found, ENV_FILE: to_bytes(path)}


def _open_to_others(hook: Hook, path: str) -> str:
    """Return what of a user's hook others can write to; what a project's is, trust has settled."""
    if hook.scope != USER:
        return ""
    for place in (hook.folder, os.path.dirname(path), path):
        if why := find_exposure(place):
            return f"{place} {why}"
    return ""


def _scrub(hook: Hook, env: dict[bytes, bytes]) -> None:
    """Take from an environment what the hook of a project must not get."""
    from boathook.process.secret_variables import scrubbed

    for name in scrubbed(hook, env):
        del env[name.encode("utf-8", "surrogateescape")]


def _walls(hook: Hook, project: str, cwd: str, argv: tuple[str, ...], scratch: str) -> tuple[tuple[Any, ...], str, str]:
    """Return the walls that a hook runs within, as plain values, or why they cannot be built; and where it runs in them."""
    from boathook.process.sandbox import cage, seat

    found, why = cage(hook, project, cwd, argv, scratch)
    if found is None:
        return (), why, cwd
    return tuple(found.__dict__[name] for name in found.FIELDS), why, seat(found, cwd)


def _directory(wanted: str, project: str) -> tuple[str, str]:
    """Return the directory to run in: the wanted one, else the project, with a word about it."""
    plain = wanted.replace("\0", "")
    there = bool(plain) and os.path.isdir(plain)
    if there and os.access(plain, os.X_OK):
        return plain, ""
    instead = project if os.path.isdir(project) else "/"
    wrong = "cannot be entered" if there else "does not exist"
    return instead, f"the work dir {wanted!r} {wrong}; it was run in {instead}"


def named_variables(hook: Hook, event: Event, project: str) -> dict[bytes, bytes]:
    """Return the variables that every hook finds, under the names of the standard and of its relatives."""
    own = {
        "HOOK_NAME": hook.name,
        "HOOK_EVENT": hook.trigger,
        "HOOK_DIR": hook.folder,
        "SESSION_ID": event.session_id,
        "WORK_DIR": event.work_dir,
        "PROJECT_DIR": project,
    }
    named = {f"{prefix}_{key}": value for prefix in ("AGENT", "KIMI") for key, value in own.items()}
    named |= {"CLAUDE_PROJECT_DIR": project, "MONOCO_PROJECT_ROOT": project}
    return {key.encode(): to_bytes(value) for key, value in named.items()}


def current_environment() -> dict[bytes, bytes]:
    """Return a copy of this process's environment as it is now."""
    kept = getattr(os.environb, "_data", None)  # the dictionary inside: copying it is ten times quicker than the view
    return dict(kept) if isinstance(kept, dict) else dict(os.environb)


def unmet(hook: Hook, env: Mapping[bytes, bytes]) -> str:
    """Return which need of a hook is not met here, if any."""
    if hook.state != ARMED:
        return hook.why
    if depth(env) >= MOST_DEEP:
        return f"hooks are nested {MOST_DEEP} deep: a hook has started an agent or engine that fires hooks again"
    if hook.needs == NOTHING:
        return ""
    path = env.get(b"PATH", os.defpath.encode()).decode("utf-8", "surrogateescape")
    lacking = [name for name in hook.needs.bins if which(name, path) is None]
    if lacking:
        return f"it requires {', '.join(lacking)}, not found on the PATH"
    unset = [name for name in hook.needs.env if not env.get(name.encode())]
    if unset:
        return f"it requires the variable {', '.join(unset)}, which is not set"
    here = SYSTEMS.get(sys.platform, sys.platform)
    if hook.needs.os and here not in hook.needs.os:
        return f"it is made for {', '.join(hook.needs.os)}, this is {here}"
    return ""


def depth(env: Mapping[bytes, bytes]) -> int:
    """Return how deep in hooks an environment is; a number that no engine above us has set does not count."""
    value = env.get(DEPTH, b"0")
    number = int(value) if value.isdigit() and len(value) < 4 else 0
    return number if number and is_above(env.get(MARK.encode(), b"")) else 0


def to_bytes(text: str) -> bytes:
    """Return a text as a value that any environment takes: no NUL, no lone surrogate, bounded."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "replace")
    return data.replace(b"\0", b"")[:VALUE_LIMIT]
