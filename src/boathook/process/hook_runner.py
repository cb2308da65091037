"""Hooks as processes: a call becomes a job, with its command, directory, environment and input."""

from __future__ import annotations

import os
import sys

from boathook.core.event import PRE_SESSION
from boathook.core.hook import ARMED, BASIC, OWN_IMPORTS, SHARED_PROCESS, USER, Command, Needs, Script
from boathook.core.text import is_plain_path, quote_plain_path
from boathook.core.value import Value
from boathook.process.child import Job
from boathook.process.reaper import MARK_VARIABLE, find_caller_process, is_ancestor_mark
from boathook.process.runner import ProcessRunner
from boathook.process.spawn import encode_variable
from boathook.system import programs
from boathook.system.locations import find_home, read_environment
from boathook.system.programs import EntryPoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.verdict import Call, Exit
    from boathook.process.sessions import Sessions

DEPTH_VARIABLE = b"BOATHOOK_DEPTH"
# The process that the agent has started for the event: with the warm engine it is not above the hook.
CALLER_VARIABLE = b"BOATHOOK_CALLER"
MAX_NESTED_HOOKS = 3
_MAX_CACHED = 256
_NO_NEEDS = Needs()
# Python runs the file in this folder when it starts.
_PYTHON_START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_start").encode(
    "utf-8", "surrogateescape"
)
_SYSTEM_NAMES = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class SourceProject(Value):
    source: str
    dialect: str
    path: str


class JobContext(Value):
    """What jobs are made with: the project of each source, and the model to ask."""

    # `host_project` is what the host calls its project; `scratch` is a folder that hooks may write to at any sandbox level;
    # `marks` are files that only projects have; `start` is where projects were searched from; `code_cache` is a private folder.
    projects: tuple[SourceProject, ...] = ()
    model: str = ""
    host_project: str = ""
    scratch: str = ""
    marks: tuple[str, ...] = ()
    start: str = ""
    code_cache: str = ""
    # Whether the sandbox `restricted` is made by mounts, as for a trial (see `sandbox`).
    by_mounts: bool = False

    @property
    def project(self) -> str:
        return next((project.path for project in self.projects if project.path), "")

    def choose_project(self, hook: Hook, event: Event) -> str:
        same_dialect = [project for project in self.projects if project.dialect == hook.dialect.name]
        own = [project for project in same_dialect if project.source == hook.source]
        paths = [project.path for project in (*own, *same_dialect, *self.projects[:1])]
        return next(filter(None, (*paths, self.host_project)), event.work_dir)

    def list_projects(self, event: Event) -> tuple[str, ...]:
        return (*[project.path for project in self.projects], self.host_project, event.work_dir)


class HookRunner:
    def __init__(
        self,
        process: ProcessRunner,
        context: JobContext,
        sessions: Sessions | None = None,
        environ: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self._process, self._context, self._sessions, self._environ = process, context, sessions, environ
        self._variables: dict[tuple[str, ...], dict[bytes, bytes]] = {}
        self._entry_points: dict[str, tuple[object, EntryPoint]] = {}
        # the projects of the last event, because a look at the folders above it costs more than one at the variables
        self._tops: dict[tuple[str, ...], tuple[str, ...]] = {}
        # what was found in the last environment: most hooks of an event begin with the same one
        self._doubtful: tuple[object, dict[bytes, bytes], list[bytes]] = (None, {}, [])

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        if calls and calls[0].next_calls:
            return (self._run_shared(calls[0], cancel),)
        return tuple(self._process.run_all([self._make_job_safely(call) for call in calls], cancel))

    def _run_shared(self, call: Call, cancel: int | None) -> Exit:
        """Run a call and, in the same process, those that follow as far as they can share it."""
        from boathook.process.shared_jobs import can_share, join_jobs, split_exit

        jobs = [self._make_job_safely(call)]
        for following in call.next_calls:
            job = self._make_job_safely(following)
            if not can_share(jobs[0], job):
                break
            jobs.append(job)
        if len(jobs) == 1:
            return self._process.run_all(jobs, cancel)[0]
        (end,) = self._process.run_all([join_jobs(jobs, self._context.code_cache)], cancel)
        ends = split_exit(end, jobs)
        # A process that asked nobody is no answer of a hook.
        return ends[0].replace(ahead=ends[1:]) if ends else self._process.run_all(jobs[:1], cancel)[0]

    def _make_job_safely(self, call: Call) -> Job:
        try:
            return self.make_job(call)
        except Exception as error:  # noqa: BLE001
            return Job(("",), b"", "/", {}, 1.0, f"the engine failed to start it: {type(error).__name__}: {error}")

    def find_refusal(self, call: Call) -> str:
        return self.make_job(call).refused

    def make_job(self, call: Call) -> Job:
        hook, event = call.hook, call.event
        env = copy_environment() if self._environ is None else dict(self._environ)
        if self._sessions is not None:
            env.update(self._sessions.load_variables(event.session_id))
        remove_import_rule(env)
        if refused := find_unmet_need(hook, env):
            return Job(("",), b"", "/", {}, hook.timeout, refused)
        if hook.scope != USER:
            from boathook.process.environment import find_secret_variables

            for name in find_secret_variables(hook, env):
                del env[name.encode("utf-8", "surrogateescape")]
        if isinstance(hook.handler, Command):
            # Before what leads into the project is removed: what is there was not reviewed.
            env.update({name.encode(): encode_variable(value) for name, value in hook.handler.variables})
        notes = self._remove_project_code(hook, event, env)
        env[DEPTH_VARIABLE] = b"%d" % (count_nested_hooks(env) + 1)
        env[CALLER_VARIABLE] = b"%d" % (find_caller_process() or os.getpid())
        env.update(self._make_variables(hook, event))
        if hook.pack:
            add_shared_code(hook, env)
        if hook.imports == OWN_IMPORTS:
            add_import_rule(env)
        job = self._start_job(hook, event, env)
        wanted = job.cwd or event.work_dir
        cwd, error = _choose_working_dir(wanted, (self._context.project, self._context.start))
        job = job.replace(cwd=cwd)
        if hook.sandbox != BASIC and not job.refused:
            job = self._confine(job, hook, event, env)
        warning = f"{_name_work_dir(wanted)} {error}; {_tell_folder(job.cwd)}" if error else ""
        return job.replace(warnings=tuple(text for text in (*notes, warning, *job.warnings) if text))

    def _start_job(self, hook: Hook, event: Event, env: dict[bytes, bytes]) -> Job:
        data = hook.dialect.write_event(event, hook.trigger)
        job = Job(("",), data, event.work_dir, env, hook.timeout)
        if not isinstance(hook.handler, Script):
            from boathook.process.command import start_command

            project = self._context.choose_project(hook, event)
            return start_command(hook, job, env, project, self._context.model, self._context.list_projects(event))
        path = programs.find_entry_point(hook.handler.folder)
        if path is None:
            return job.replace(refused="no entry point")
        if exposure := _find_user_hook_exposure(hook, path):
            return job.replace(refused=exposure)
        if hook.process == SHARED_PROCESS and path.endswith(".py"):
            from boathook.process.shared_jobs import make_script_command

            argv = make_script_command(path, hook.shared_code, self._context.code_cache)
            return job.replace(argv=argv, script=(path, hook.shared_code, hook.on_failure == "block"))
        entry = self._choose_entry_point(path, self._context.list_projects(event))
        return job.replace(argv=entry.argv, warnings=(entry.warning,))

    def _remove_project_code(self, hook: Hook, event: Event, env: dict[bytes, bytes]) -> tuple[str, ...]:
        folders = self._context.list_projects(event)
        if folders not in self._tops:
            self._tops = {folders: programs.find_private_tops(folders)}
        tops = self._tops[folders]
        known = self._doubtful
        if known[:2] != (tops, env):
            known = self._doubtful = (tops, dict(env), programs.find_doubtful_variables(env, tops))
        doubtful = known[2]
        if not doubtful:
            return ()
        from boathook.process.environment import list_named_variables, remove_project_code

        named = list_named_variables(hook)
        return remove_project_code(env, doubtful, tops, is_user_hook=hook.scope == USER, named=named)

    def _choose_entry_point(self, path: str, avoid: tuple[str, ...]) -> EntryPoint:
        current = programs.make_stamp(path)
        cached = self._entry_points.get(path)
        if cached is None or cached[0] != current:
            cached = self._entry_points[path] = (current, programs.choose_command(path, avoid))
        return cached[1]

    def _make_variables(self, hook: Hook, event: Event) -> dict[bytes, bytes]:
        key = (hook.name, hook.trigger, hook.folder, hook.source, event.session_id, event.work_dir)
        variables = self._variables.get(key)
        if variables is None:
            variables = make_variables(hook, event, self._context.choose_project(hook, event))
            cached = self._variables if len(self._variables) < _MAX_CACHED else {}
            self._variables = {**cached, key: variables}
        path = self._sessions.make_env_file(event.session_id) if event.kind is PRE_SESSION and self._sessions else None
        if path is None:
            return variables
        return {**variables, hook.dialect.env_file_variable.encode(): encode_variable(path)}

    def _confine(self, job: Job, hook: Hook, event: Event, env: dict[bytes, bytes]) -> Job:
        from boathook.process.sandbox import choose_sandbox_dir, plan_sandbox

        # what it leaves for hooks without a sandbox would be a way out
        env.pop(hook.dialect.env_file_variable.encode(), None)
        project = self._context.choose_project(hook, event)
        context = self._context
        folders = (context.scratch, context.marks)
        spec, refused = plan_sandbox(hook, project, job.cwd, job.argv, *folders, by_mounts=context.by_mounts)
        if spec is None:
            return job.replace(refused=refused)
        cwd, warnings = choose_sandbox_dir(spec, job.cwd), job.warnings
        if cwd != job.cwd:
            warnings += (f"its sandbox hides {_name_work_dir(job.cwd)}; {_tell_folder(cwd)}",)
        return job.replace(cwd=cwd, warnings=warnings, sandbox=spec.to_tuple())


def _find_user_hook_exposure(hook: Hook, path: str) -> str:
    if hook.scope != USER:
        return ""
    shared_code = (hook.shared_code,) if hook.pack else ()
    for place in (hook.folder, os.path.dirname(path), path, *shared_code):
        if why := programs.find_exposure(place):
            return f"{place} {why}"
    return ""


def _choose_working_dir(wanted: str, projects: tuple[str, ...]) -> tuple[str, str]:
    """Return where a hook runs, and what is wrong with the folder that was wanted: no such folder may disable a guard."""
    plain = wanted.replace("\0", "")
    if can_enter(plain):
        return plain, ""
    others = (*projects, find_home(read_environment()))
    return next(filter(can_enter, others), "/"), _describe_unusable(plain)


def _name_work_dir(path: str) -> str:
    # a project may have chosen the path
    return f"the work dir {quote_plain_path(path, 'of the event')}"


def _tell_folder(path: str) -> str:
    return f"it was run in {path if is_plain_path(path) else 'another folder'}"


def can_enter(path: str) -> bool:
    return bool(path) and os.path.isdir(path) and os.access(path, os.X_OK)


def _describe_unusable(path: str) -> str:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "does not exist"
    except OSError:
        return "cannot be entered"
    return "cannot be entered" if os.path.isdir(path) else "is not a folder"


def make_variables(hook: Hook, event: Event, project: str) -> dict[bytes, bytes]:
    own = {
        "HOOK_NAME": hook.name,
        "HOOK_EVENT": hook.trigger,
        "HOOK_DIR": hook.folder,
        "SESSION_ID": event.session_id,
        "WORK_DIR": event.work_dir,
        "PROJECT_DIR": project,
    }
    variables = {f"{prefix}_{key}": value for prefix in hook.dialect.variable_prefixes for key, value in own.items()}
    variables |= dict.fromkeys(hook.dialect.project_variables, project)
    variables |= dict.fromkeys(hook.dialect.session_variables, event.session_id)
    variables |= dict.fromkeys(hook.dialect.work_dir_variables, event.work_dir)
    return {key.encode(): encode_variable(value) for key, value in variables.items()}


def add_shared_code(hook: Hook, env: dict[bytes, bytes]) -> None:
    """Let a hook of a pack read its settings and use the code that the hooks of the pack share."""
    env[b"AGENT_HOOK_SETTINGS"] = (hook.settings or "{}").encode("utf-8", "replace").replace(b"\0", b"")
    env[b"AGENT_HOOK_LIB"] = shared_code = encode_variable(hook.shared_code)
    if hook.process != SHARED_PROCESS and shared_code:
        path = env.get(b"PYTHONPATH")
        env[b"PYTHONPATH"] = shared_code + b":" + path if path else shared_code


def add_import_rule(env: dict[bytes, bytes]) -> None:
    """Keep every Python that a hook starts from importing modules of the folder it runs in, which is the project."""
    # PYTHONSAFEPATH alone would also hide the folder of a script from it: see `python_start/sitecustomize.py`.
    path = env.get(b"PYTHONPATH")
    env[b"PYTHONSAFEPATH"] = b"1"
    env[b"PYTHONPATH"] = _PYTHON_START + b":" + path if path else _PYTHON_START


def remove_import_rule(env: dict[bytes, bytes]) -> None:
    """Remove what an engine above us has set by `add_import_rule`, so that it does not count as the user's own."""
    first, _, rest = env.get(b"PYTHONPATH", b"").partition(b":")
    if first != _PYTHON_START:
        return
    env.pop(b"PYTHONSAFEPATH", None)
    env[b"PYTHONPATH"] = rest
    if not rest:
        del env[b"PYTHONPATH"]


def copy_environment() -> dict[bytes, bytes]:
    # copying the dictionary inside is ten times quicker than copying the view
    data = getattr(os.environb, "_data", None)
    return dict(data) if isinstance(data, dict) else dict(os.environb)


def find_unmet_need(hook: Hook, env: Mapping[bytes, bytes]) -> str:
    if hook.state != ARMED:
        return hook.state_reason
    if count_nested_hooks(env) >= MAX_NESTED_HOOKS:
        return f"hooks are nested {MAX_NESTED_HOOKS} deep: a hook has started an agent or engine that fires hooks again"
    if hook.needs == _NO_NEEDS:
        return ""
    path = env.get(b"PATH", os.defpath.encode()).decode("utf-8", "surrogateescape")
    missing = [name for name in hook.needs.bins if programs.find_program(name, path) is None]
    if missing:
        return f"it requires {', '.join(missing)}, not found on the PATH"
    unset = [name for name in hook.needs.env if not env.get(name.encode())]
    if unset:
        return f"it requires the variable {', '.join(unset)}, which is not set"
    system_name = _SYSTEM_NAMES.get(sys.platform, sys.platform)
    if hook.needs.os and system_name not in hook.needs.os:
        return f"it is made for {', '.join(hook.needs.os)}, this is {system_name}"
    return ""


def count_nested_hooks(env: Mapping[bytes, bytes]) -> int:
    """Return how deep in hooks an environment is; a number that no engine above us has set does not count."""
    value = env.get(DEPTH_VARIABLE, b"0")
    number = int(value) if value.isdigit() and len(value) < 4 else 0
    return number if number and is_ancestor_mark(env.get(MARK_VARIABLE.encode(), b"")) else 0
