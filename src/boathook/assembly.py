"""Put engines together: the only module that knows all the parts."""

from __future__ import annotations

import os

from boathook.catalog_cache.format import compiled_path, load_compiled
from boathook.core.hook import BuiltIn
from boathook.core.value import Value
from boathook.core.verdict import Policy
from boathook.engine import Engine, EngineParts, TracingRunner
from boathook.errors import ConfigError
from boathook.ledger.record import PYTHON_AGENT
from boathook.ledger.writer import Recorder
from boathook.process.hook_runner import HookRunner, JobContext, SourceProject
from boathook.process.reaper import measure_wait, name_engine_path
from boathook.process.runner import ProcessRunner
from boathook.process.sessions import Sessions
from boathook.sources.source import SOURCES, choose_sources
from boathook.system.files import FileError, read_text
from boathook.system.locations import (
    STATE_FOLDER,
    RealPaths,
    current_dir,
    list_user_folders,
    make_absolute,
    read_environment,
    resolve_folder,
    resolve_locations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from boathook.core.catalog import Catalog, Settings
    from boathook.core.event import Event, EventKind
    from boathook.core.hook import Hook
    from boathook.core.permit import CallObjections
    from boathook.core.verdict import Call, Exit, Skip, StartedHook, Verdict
    from boathook.dialects.dialect import HostDialect
    from boathook.engine import Asker, BackgroundRunner, Permits
    from boathook.loader import Loaded
    from boathook.process.cancel import CallRunner
    from boathook.process.spawn import Spawn
    from boathook.protection.built_in_runner import BuiltInHooks
    from boathook.sources.source import SourceRules
    from boathook.system.locations import Environment, Locations
    from boathook.trust.store import TrustStore

    Path = str | os.PathLike[str]


class Sender(Value):
    # `write_debug` gets the debug lines if `is_debug`, or if the user's hooks.toml asks for them.
    dialect: HostDialect
    project: str
    can_ask: bool
    is_debug: bool
    write_debug: Callable[[str], None]
    # The texts of the host's own files that have our command, with its timeout.
    read_entries: Callable[[Event], list[str]] = lambda _: []


class _EngineSetup(Value):
    catalog: Catalog
    process: ProcessRunner
    job_context: JobContext
    state: str
    recorder: Recorder | None = None
    can_ask: bool = True
    can_wait: bool = True
    question_denial: str = ""
    trace: Callable[[str], None] | None = None
    open_permits: Callable[[], Permits] | None = None
    marks_refused_stops: bool = False
    asker: Asker | None = None
    environ: Mapping[bytes, bytes] | None = None


def load(
    project: Path | None = None,
    *,
    without: Collection[str] = (),
    can_ask: bool = True,
    trust_all: bool = False,
    debug: Callable[[str], None] | None = None,
    **folders: Path | None,
) -> Engine:
    """Load the hooks that concern a project (default: here) and return an engine that dispatches events to them.

    `folders` are folders of the user, as `run` takes them: `config` (hooks/ and hooks.toml), `state` (trust, ledger, log and
    sessions), and one for each agent with hook files; the default is what the variables say. `without` names sources to leave
    out, such as "settings". Without `can_ask` a question blocks; with `trust_all` the project's hooks run even if they are
    untrusted; `debug` gets the debug lines.
    """
    from boathook.process.background import BackgroundPool
    from boathook.process.slots import prepare_slots

    prepare_slots()
    locations = locate(project, without=without, trust_all=trust_all, **folders)
    catalog = load_with_trust(locations)[0].catalog
    _import_for(catalog)
    origin = _make_origin(PYTHON_AGENT, catalog, locations)
    recorder = Recorder(locations.state, origin, is_whole=catalog.settings.record == "whole")

    def report_end(call: Call, end: Exit) -> None:
        text = recorder.write_async_end(call.describe(), call.hook.trigger, end)
        if debug is not None:
            debug(text.rstrip())

    setup = _EngineSetup(
        catalog,
        ProcessRunner(),
        _make_job_context(catalog, locations),
        locations.state,
        recorder,
        can_ask=can_ask,
        can_wait=False,
        question_denial=catalog.settings.question_denial,
        trace=debug,
        open_permits=_find_permits(locations, origin, catalog.settings),
    )
    return _make_engine(setup, lambda hooks: BackgroundPool(hooks, report_end))


def _find_permits(locations: Locations, origin: dict[str, str], settings: Settings) -> Callable[[], Permits] | None:
    """Return what opens the permits of a person, None if a project may have put them there."""
    if "state" in locations.untrusted:
        return None
    opened: list[Permits] = []

    def open_permits() -> Permits:
        if not opened:
            from boathook.permits.call_permits import PermitStore

            opened.append(PermitStore(locations.state, origin, settings.factor_id))
        return opened[0]

    return open_permits


def _import_for(catalog: Catalog) -> None:
    """Import what hooks need before any of them runs, because an interrupt within an import can be lost."""
    from importlib import import_module

    from boathook.core.hook import Script

    names = ["ledger.record", "protection.built_in_runner"]
    if not all(isinstance(hook.handler, Script | BuiltIn) for hook in catalog.hooks):
        names.append("process.command")
    for name in names:
        import_module(f"boathook.{name}")
    for hook in catalog.hooks:
        hook.dialect.load_functions()


def load_catalog(
    project: Path | None = None, *, without: Collection[str] = (), trust_all: bool = False, **folders: Path | None
) -> Catalog:
    """Load the hooks of the user and of a project, and whether they are trusted; the arguments are those of `load`."""
    loaded, _ = load_with_trust(locate(project, without=without, trust_all=trust_all, **folders))
    return loaded.catalog


def locate(
    project: Path | None = None, *, without: Collection[str] = (), trust_all: bool = False, **folders: Path | None
) -> Locations:
    known = {folder.option for folder in list_user_folders(SOURCES)}
    if unknown := folders.keys() - known:
        raise TypeError(f"unknown folder '{min(unknown)}' (known: {', '.join(sorted(known))})")
    given = {option: os.fspath(path) for option, path in folders.items() if path is not None}
    start = resolve_start(project)
    return locate_enabled(start, read_environment(), given=given, without=without, trust_all=trust_all)


def locate_all(
    project: Path | None = None,
    *,
    without: Collection[str] = (),
    enabled: Collection[str] = (),
    trust_all: bool = False,
    **folders: Path | None,
) -> Locations:
    """Resolve the locations of all sources, or of those in `enabled`, also of those that are not enabled."""
    given = {option: os.fspath(path) for option, path in folders.items() if path is not None}
    enabled = enabled or [source.without for source in SOURCES]
    return resolve_locations(
        SOURCES,
        resolve_start(project),
        read_environment(),
        given=given,
        without=without,
        enabled=enabled,
        trust_all=trust_all,
    )


def locate_enabled(
    start: str,
    env: Environment,
    *,
    given: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    trust_all: bool = False,
) -> Locations:
    """Resolve the locations of a start folder with the sources that the user's hooks.toml enables there."""

    def resolve(enabled: tuple[str, ...] | None) -> Locations:
        return resolve_locations(
            SOURCES, start, env, given=given, without=without, enabled=enabled, trust_all=trust_all
        )

    locations = resolve(None)
    rules = _find_source_rules(locations)
    return resolve(choose_sources(rules, locations.real_start)) if rules else locations


def _find_source_rules(locations: Locations) -> SourceRules:
    """Return what the user's hooks.toml says about sources; most files do not, so no parser is imported for these."""
    path = f"{locations.config}/hooks.toml"
    try:
        if not locations.config or "sources" not in read_text(path):
            return ()
    except FileError:
        return ()
    try:
        compiled = load_compiled(locations)
        if compiled is not None:
            rules: SourceRules = compiled.head["source_rules"]
            return rules
    except Exception:  # noqa: BLE001, S110  (the file itself is there, so any error is harmless)
        pass
    import time

    from boathook.catalog_cache.write import write_source_rules
    from boathook.core.hook import USER
    from boathook.sources.hooks_toml import read_hooks_toml

    started = time.time()
    rules = read_hooks_toml(path, USER).source_rules
    if rules:
        write_source_rules(rules, locations, started)
    return rules


def load_with_trust(locations: Locations) -> tuple[Loaded, TrustStore]:
    from boathook.loader import load_hooks

    trust = open_trust(locations)
    return load_hooks(locations, None if locations.trust_all else trust), trust


def open_trust(locations: Locations) -> TrustStore:
    from boathook.trust.store import TrustStore

    return TrustStore(locations.state, is_folder_trusted="state" not in locations.untrusted)


def resolve_state(state: Path | None) -> str:
    given = {"state": os.fspath(state)} if state is not None else {}
    return resolve_folder(STATE_FOLDER, read_environment(), given)


def resolve_start(project: Path | None) -> str:
    start: str = current_dir() if project is None else os.fspath(project)
    if project is not None and not os.path.isdir(start):
        # a typing error here would disarm every guard of the project
        raise ConfigError(f"the project {start} is not a folder")
    return make_absolute(start)


def load_for_event(kind: EventKind, locations: Locations, sender: Sender) -> Engine:
    from boathook.process.spawn import prepare_own_process

    catalog, machine = _load_catalog_for(kind, locations)
    spawn = prepare_own_process()
    settings = catalog.settings
    origin = {**_make_origin(sender.dialect.name, catalog, locations), **machine, "path": name_engine_path()}
    recorder = Recorder(
        locations.state,
        origin,
        sender.dialect,
        is_whole=settings.record == "whole",
        refuses_degraded=settings.degraded == "refuse",
        measure_wait=measure_wait,
    )
    setup = _EngineSetup(
        catalog,
        ProcessRunner(spawn, exclusive=True),
        _make_job_context(catalog, locations, sender.project),
        locations.state,
        recorder,
        can_ask=sender.can_ask,
        can_wait="state" not in locations.untrusted,
        question_denial=settings.question_denial,
        trace=sender.write_debug if sender.is_debug or settings.debug else None,
        open_permits=_find_permits(locations, origin, catalog.settings),
        marks_refused_stops=sender.dialect.marks_refused_stops,
        asker=_LateAsker(locations, settings, sender),
    )
    return _make_engine(setup, lambda hooks: _LateSupervisor(hooks, spawn, locations.state, origin))


class _LateBuiltIns:
    """Runs built-in hooks in the engine and all others as processes; imports what decides when a call may concern it."""

    def __init__(self, hooks: CallRunner, state: str) -> None:
        self._hooks, self._state = hooks, state
        self._built_ins: BuiltInHooks | None = None

    def list_objecting(self, hooks: tuple[Hook, ...], event: Event) -> tuple[Hook, ...]:
        concerned = tuple(hook for hook in hooks if _may_concern(hook, event))
        return self._load().list_objecting(concerned, event) if concerned else ()

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        if not any(isinstance(call.hook.handler, BuiltIn) for call in calls):
            return self._hooks.run(calls, cancel)
        others = tuple(call for call in calls if not isinstance(call.hook.handler, BuiltIn))
        ends = iter(self._hooks.run(others, cancel) if others else ())
        return tuple(self._load().run(call) if isinstance(call.hook.handler, BuiltIn) else next(ends) for call in calls)

    def _load(self) -> BuiltInHooks:
        if self._built_ins is None:
            from boathook.protection.built_in_runner import BuiltInHooks

            self._built_ins = BuiltInHooks(self._state)
        return self._built_ins


def _may_concern(hook: Hook, event: Event) -> bool:
    from boathook.core.disarm_prefilter import may_disarm

    row: Any = hook.handler.filter_row if isinstance(hook.handler, BuiltIn) else ()
    try:
        return may_disarm(event.tool_name, event.tool_input, event.work_dir, row, RealPaths().find)
    except Exception:  # noqa: BLE001  (what decides reports it)
        return True


class _LateAsker:
    """Imports what waits for a person's answer when the first hook wants one: most events have no question."""

    def __init__(self, locations: Locations, settings: Settings, sender: Sender) -> None:
        self._locations, self._settings, self._sender = locations, settings, sender

    def settle(self, verdict: Verdict, objections: CallObjections, elapsed: float) -> Verdict:
        from boathook.permits.person_asker import AskingHost, PersonAsker

        dialect, event = self._sender.dialect, verdict.event

        def find_wait_seconds() -> float:
            return dialect.find_wait_seconds(event, self._sender.read_entries(event))

        about = event, read_environment()
        host = AskingHost(dialect.name, dialect.asks_person(*about), dialect.find_ask_doubt(*about), find_wait_seconds)
        asker = PersonAsker(self._locations.state, self._settings, host, self._read_settings)
        return asker.settle(verdict, objections, elapsed)

    def _read_settings(self) -> Settings:
        """Return what the user's hooks.toml says now: a person may have changed it while a call waits."""
        from boathook.core.hook import USER
        from boathook.sources.hooks_toml import build_settings, read_hooks_toml

        config = self._locations.config
        return build_settings(read_hooks_toml(f"{config}/hooks.toml", USER)) if config else self._settings


class _LateSupervisor:
    """Imports the supervisor when the first async hook starts: most events have none."""

    def __init__(self, hooks: HookRunner, spawn: Spawn, state: str, origin: dict[str, str]) -> None:
        self._parts = (hooks, spawn, state, origin)

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]:
        from boathook.process.supervisor import start_supervisor

        return tuple(start_supervisor(call, *self._parts) for call in calls)

    def drain(self, seconds: float) -> int:  # noqa: ARG002
        return 0

    def close(self) -> None:
        pass


def _make_origin(host: str, catalog: Catalog, locations: Locations) -> dict[str, str]:
    """Return what records say about where they are from."""
    hook_set = {"hook_set": catalog.hook_set} if catalog.hook_set else {}
    return {"host": host, "project": catalog.project, "folder": locations.start, **hook_set}


def _load_catalog_for(kind: EventKind, locations: Locations) -> tuple[Catalog, dict[str, str]]:
    """Return the catalogue as far as one kind of event needs it: the compiled one if it is fresh, else from the files.

    With it, what the compiled one has about the machine for records.
    """
    try:
        compiled = load_compiled(locations)
        if compiled is not None:
            state, machine = compiled.head["machine"]
            known = {"machine": machine, "boathook": compiled.head["boathook"]} if state == locations.state else {}
            return compiled.restore(kind), known
    except Exception:  # noqa: BLE001, S110  (the files themselves are there, so any error is harmless)
        pass
    import time

    from boathook.catalog_cache.write import write_compiled
    from boathook.loader import load_hooks

    started = time.time()
    loaded = load_hooks(locations, None if locations.trust_all else open_trust(locations))
    if loaded.lasting:
        write_compiled(loaded.catalog, loaded.watch, locations, started, loaded.trusted_folders)
    return loaded.catalog, {}


def _make_job_context(catalog: Catalog, locations: Locations, host_project: str = "") -> JobContext:
    projects = tuple([SourceProject(one.name, one.dialect, catalog.find_project(one.name)) for one in SOURCES])
    # Where no catalogue may be kept, nothing else that runs may be.
    cache = f"{locations.cache}/code" if compiled_path(locations) else ""
    marks, start = _list_project_marks(), locations.start
    return JobContext(projects, catalog.settings.model, host_project, marks=marks, start=start, code_cache=cache)


def _list_project_marks() -> tuple[str, ...]:
    return tuple([marker[1:] for one in SOURCES for marker in one.markers])


def _make_engine(setup: _EngineSetup, make_background: Callable[[HookRunner], BackgroundRunner]) -> Engine:
    settings = setup.catalog.settings
    sessions = Sessions(f"{setup.state}/sessions")
    hooks = HookRunner(setup.process, setup.job_context, sessions, setup.environ)

    built_ins = _LateBuiltIns(hooks, setup.state)
    parts = EngineParts(
        built_ins if setup.trace is None else TracingRunner(built_ins, setup.trace),
        make_background(hooks),
        Policy(
            settings.max_stop_blocks,
            setup.can_ask,
            settings.strict_exit_codes,
            setup.can_wait,
            setup.question_denial,
        ),
        setup.trace,
        sessions,
        setup.recorder,
        sessions,
        sessions,
        setup.open_permits,
        built_ins,
        setup.marks_refused_stops,
        setup.asker,
    )
    return Engine(setup.catalog, parts)


def make_probe_engine(
    catalog: Catalog,
    scratch: str,
    *,
    writable: bool = False,
    project: str = "",
    environ: Mapping[bytes, bytes] | None = None,
    by_mounts: bool = False,
    report_end: Callable[[Call, Exit], None] = lambda _call, _end: None,
) -> Engine:
    """Return an engine for trials in a scratch folder; `project` is the project of the hooks if that is a folder in it.

    With `by_mounts`, a sandbox also keeps what Landlock does not: only if bubblewrap works here.
    """
    # Isolated hooks cannot write there, as they cannot in a project, unless it is `writable`.
    from boathook.process.background import BackgroundPool

    open_folder, marks, own_project = scratch if writable else "", _list_project_marks(), project or scratch
    projects = (SourceProject("", "", own_project),)
    job_context = JobContext(projects, catalog.settings.model, own_project, open_folder, marks, by_mounts=by_mounts)
    setup = _EngineSetup(catalog, ProcessRunner(), job_context, f"{scratch}/.state", environ=environ)
    return _make_engine(setup, lambda hooks: BackgroundPool(hooks, report_end))


def supervise_async_hook() -> None:
    from boathook.process.supervisor import run_supervisor

    state, origin, call, trigger, end = run_supervisor()
    Recorder(state, origin).write_async_end(call, trigger, end)
