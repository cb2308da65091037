"""The composition root: the only place that knows all the parts."""

from __future__ import annotations

import os

from boathook.catalog_cache.format import load_compiled
from boathook.core.hook import Script
from boathook.core.policy import Policy
from boathook.dialects.dialect import find_dialect
from boathook.engine import Engine, Tracing, now
from boathook.errors import ConfigError
from boathook.ledger.background_log import BackgroundLog
from boathook.process.hook_runner import HookRunner, JobContext
from boathook.process.runner import ProcessRunner
from boathook.process.sessions import Sessions
from boathook.sources.source import list_sources, list_user_folders
from boathook.system.locations import (
    STATE_FOLDER,
    current_dir,
    make_absolute,
    read_environment,
    resolve_folder,
    resolve_locations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from boathook.core.catalog import Catalog
    from boathook.core.event import EventKind
    from boathook.core.verdict import Call, Exit, Verdict
    from boathook.dialects.dialect import Dialect
    from boathook.engine import BackgroundRunner
    from boathook.loader import Loaded
    from boathook.system.locations import Locations
    from boathook.trust.store import TrustStore

    Path = str | os.PathLike[str]

LOG_NAME = "background.log"


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

    `folders` are folders of the user, as `run` takes them: `config` (hooks/ and hooks.toml), `claude` (settings.json), `state`
    (trust, ledger, log and sessions); the default is what the variables say. `without` names sources to leave out, such as
    "settings". Without `can_ask` a question blocks; with `trust_all` the project's hooks run although nobody trusted them;
    `debug` gets the debug lines.
    """
    from boathook.process.background import BackgroundPool
    from boathook.process.slots import prepare_slots

    prepare_slots()
    locations = locate(project, without=without, trust_all=trust_all, **folders)
    catalog = load_with_trust(locations)[0].catalog
    _import_for(catalog)
    sessions = Sessions(f"{locations.state}/sessions")
    hooks = HookRunner(ProcessRunner(), _surroundings(catalog), sessions)
    around = _around(catalog, "python")

    def report(call: Call, end: Exit) -> None:
        text = report_end(locations.state, {**around, **call.describe()}, call.hook.trigger, end)
        if debug is not None:
            debug(text.rstrip())

    return _engine(
        catalog,
        hooks,
        BackgroundPool(hooks, report),
        can_ask=can_ask,
        debug=debug,
        sessions=sessions,
        state=locations.state,
        around=around,
    )


def _import_for(catalog: Catalog) -> None:
    """Import what the hooks of a catalogue need before any of them runs, for an interrupt within an import can be lost."""
    from importlib import import_module

    names = ["ledger.record", "ledger.writer"]
    if not all(isinstance(hook.handler, Script) for hook in catalog.hooks):
        names.append("process.command")
    for name in names:
        import_module(f"boathook.{name}")
    for dialect in {hook.dialect.name for hook in catalog.hooks}:
        find_dialect(dialect).load_hook_side()


def load_catalog(
    project: Path | None = None, *, without: Collection[str] = (), trust_all: bool = False, **folders: Path | None
) -> Catalog:
    """Load the hooks of the user and of a project, and what people said of them; the arguments are those of `load`."""
    loaded, _ = load_with_trust(locate(project, without=without, trust_all=trust_all, **folders))
    return loaded.catalog


def locate(
    project: Path | None = None, *, without: Collection[str] = (), trust_all: bool = False, **folders: Path | None
) -> Locations:
    """Resolve the locations for a project (default: here); the arguments are those of `load`."""
    known = {folder[0] for folder in list_user_folders()}
    if unknown := folders.keys() - known:
        raise TypeError(f"unknown folder '{min(unknown)}' (known: {', '.join(sorted(known))})")
    given = {option: os.fspath(path) for option, path in folders.items() if path is not None}
    start = resolve_start(project)
    return resolve_locations(
        list_sources(), start, read_environment(), given=given, without=without, trust_all=trust_all
    )


def load_with_trust(locations: Locations) -> tuple[Loaded, TrustStore]:
    """Load the hooks of some locations, with everything that is known of them, and the trust store."""
    from boathook.loader import load_hooks

    trust = open_trust(locations)
    return load_hooks(locations, None if locations.trust_all else trust), trust


def open_trust(locations: Locations) -> TrustStore:
    """Open the trust store; one in an untrusted folder is empty and says why."""
    from boathook.trust.store import TrustStore

    return TrustStore(locations.state, is_folder_trusted=locations.state not in locations.untrusted)


def resolve_state(state: Path | None) -> str:
    """Return the folder for trust, ledger, log and sessions: the given one, else the user's."""
    given = {"state": os.fspath(state)} if state is not None else {}
    return resolve_folder(STATE_FOLDER, read_environment(), given)


def resolve_start(project: Path | None) -> str:
    """Return the folder from which projects are searched: the given one, else the current."""
    given: str = current_dir() if project is None else os.fspath(project)
    if project is not None and not os.path.isdir(given):
        # a slip here would disarm every guard of the project
        raise ConfigError(f"the project {given} is not a folder")
    return make_absolute(given)


def _surroundings(catalog: Catalog, home: str = "") -> JobContext:
    projects = tuple([(one.name, one.dialect, catalog.find_project(one.name)) for one in list_sources()])
    return JobContext(projects, catalog.settings.model, home, marks=_list_project_marks())


def _list_project_marks() -> tuple[str, ...]:
    return tuple([marker[1:] for one in list_sources() for marker in one.markers])


def one_shot(
    kind: EventKind,
    locations: Locations,
    *,
    dialect: Dialect,
    home: str = "",
    can_ask: bool,
    debug: bool,
    write: Callable[[str], None],
) -> Engine:
    """Return an engine for one event in a process of its own: compiled catalogue, cheapest start, supervised async hooks.

    `dialect` is that of the host; `home` is what the host calls its project, told to hooks where no project has any. Debug lines
    go to `write`, if asked for here or in the user's hooks.toml.
    """
    from boathook.process.spawn import prepare_own_process
    from boathook.process.supervisor import Supervisor

    catalog = _load_for(kind, locations)
    spawn = prepare_own_process()
    state = locations.state
    sessions = Sessions(f"{state}/sessions")
    hooks = HookRunner(ProcessRunner(spawn, exclusive=True), _surroundings(catalog, home), sessions)
    around = _around(catalog, dialect.name)
    background = Supervisor(hooks, spawn, state, around)
    trace = write if debug or catalog.settings.debug else None
    return _engine(
        catalog,
        hooks,
        background,
        can_ask=can_ask,
        debug=trace,
        sessions=sessions,
        state=state,
        around=around,
        dialect=dialect,
    )


def _load_for(kind: EventKind, locations: Locations) -> Catalog:
    """Return the catalogue as far as one kind of event needs it: the compiled one if it is fresh, else from the files."""
    try:
        compiled = load_compiled(locations)
        if compiled is not None:
            return compiled.restore(kind)
    except Exception:  # noqa: BLE001, S110  (whatever is wrong with it, the files themselves are there)
        pass
    import time

    from boathook.catalog_cache.write import write_compiled
    from boathook.loader import load_hooks

    started = time.time()
    loaded = load_hooks(locations, None if locations.trust_all else open_trust(locations))
    if loaded.lasting:
        write_compiled(loaded.catalog, loaded.watch, locations, started)
    return loaded.catalog


def _engine(
    catalog: Catalog,
    hooks: HookRunner,
    background: BackgroundRunner,
    *,
    can_ask: bool,
    debug: Callable[[str], None] | None,
    sessions: Sessions,
    state: str,
    around: dict[str, str],
    dialect: Dialect | None = None,
) -> Engine:
    settings = catalog.settings
    refuses = settings.degraded == "refuse"

    return Engine(
        catalog,
        hooks if debug is None else Tracing(hooks, debug),
        background,
        Policy(settings.max_stop_blocks, can_ask, settings.strict_exit_codes),
        debug,
        sessions,
        _log(state).find_error,
        lambda verdict, seconds: _record(
            state,
            verdict,
            seconds,
            around,
            whole=settings.record == "whole",
            degraded=dialect.list_degraded(verdict, refuses=refuses) if dialect is not None else (),
        ),
    )


def _around(catalog: Catalog, host: str) -> dict[str, str]:
    return {"host": host, "project": catalog.project}


def _record(
    state: str, verdict: Verdict, seconds: float, around: dict[str, str], *, whole: bool, degraded: tuple[str, ...]
) -> str:
    """Write a verdict into the ledger; return the trouble with that, if any."""
    from boathook.ledger.record import make_dispatch_record, must_sync
    from boathook.ledger.writer import Ledger

    made = make_dispatch_record(verdict, around, time=now(), seconds=seconds, whole=whole, degraded=degraded)
    return Ledger(state).append(made, sync=must_sync(made))


def record_refusal(state: str, host: str, kind: EventKind, reason: str) -> str:
    """Write into the ledger that an event was refused before any hook could look at it; return the trouble with that, if any."""
    from boathook.core.event import Event as Happening
    from boathook.core.outcome import Decision, Outcome
    from boathook.core.verdict import Verdict as Said
    from boathook.ledger.writer import make_record_id

    event = Happening(kind, now())
    said = Said(event, event, Outcome(Decision.BLOCK, ((Decision.BLOCK, reason),)), id=make_record_id())
    return _record(state, said, 0.0, {"host": host, "project": ""}, whole=False, degraded=())


def _log(state: str) -> BackgroundLog:
    return BackgroundLog(f"{state}/{LOG_NAME}")


def _nobody(call: Call, end: Exit) -> None:
    """Hear of the end of an async hook that nobody asks for."""


def probe(catalog: Catalog, scratch: str, *, writable: bool = False) -> Engine:
    """Return an engine that fires hooks in a scratch folder as if it were their project, and leaves no record of it.

    Isolated hooks cannot write there, as they cannot in a project, unless it is said to be `writable`.
    """
    from boathook.process.background import BackgroundPool

    may_write = scratch if writable else ""
    marks = _list_project_marks()
    around = JobContext((("", "", scratch),), catalog.settings.model, scratch, may_write, marks)
    hooks = HookRunner(ProcessRunner(), around, Sessions(f"{scratch}/.state/sessions"))
    engine = _engine(
        catalog,
        hooks,
        BackgroundPool(hooks, _nobody),
        can_ask=True,
        debug=None,
        sessions=Sessions(f"{scratch}/.state/sessions"),
        state=f"{scratch}/.state",
        around={},
    )
    return engine.without_record()


def supervise() -> None:
    """Be the supervisor of async hooks."""
    from boathook.process.supervisor import run_supervisor

    run_supervisor(report_end)


def report_end(state: str, about: dict[str, str], trigger: str, end: Exit) -> str:
    """Write the end of an async hook into the ledger and the log; return the log's lines."""
    from boathook.ledger.record import make_end_record
    from boathook.ledger.writer import Ledger, make_record_id

    trouble = Ledger(state).append(make_end_record(about, end, id=make_record_id(), time=now()))
    text = report_text(about["hook"], trigger, end) + (f"  warning: {trouble}\n" if trouble else "")
    _log(state).write(text)
    return text


def report_text(name: str, trigger: str, end: Exit) -> str:
    """Return the log's lines about an async hook that ended."""
    from boathook.core.text import clean_text

    how = f"{end.error}: {end.detail}" if end.error else f"exit={end.code}"
    took = round(end.seconds * 1000)
    lines = [f"{now()} [ASYNC] Completed hook '{name}' for event '{trigger}' in {took}ms: {how}"]
    for stream, data in (("stdout", end.stdout), ("stderr", end.stderr)):
        text = clean_text(data.decode("utf-8", "replace"), 16384)
        lines += [f"  {stream}: {line}" for line in text.splitlines()]
    lines += [f"  warning: {text}" for text in end.warnings]
    return "\n".join(lines) + "\n"
