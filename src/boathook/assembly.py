"""The composition root: the only place that knows all the parts."""

from __future__ import annotations

import os

from boathook.catalog_cache import format as compiled
from boathook.core.hook import Script
from boathook.core.policy import Policy
from boathook.dialects.dialect import find_dialect
from boathook.engine import Engine, Tracing, now
from boathook.errors import ConfigError
from boathook.ledger.background_log import Log
from boathook.process.hook_runner import HookRunner, JobContext
from boathook.process.runner import ProcessRunner
from boathook.process.sessions import Sessions
from boathook.system.locations import (
    agents_dir,
    cache_dir,
    claude_dir,
    current_dir,
    find_claude_project,
    find_project,
    find_untrusted_locations,
    make_absolute,
    read_environment,
    state_dir,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.core.catalog import Catalog
    from boathook.core.event import EventKind
    from boathook.core.verdict import Call, Exit, Verdict
    from boathook.dialects.dialect import Dialect
    from boathook.engine import BackgroundRunner
    from boathook.loader import Loaded
    from boathook.trust.store import Trust

    Path = str | os.PathLike[str]

LOG_NAME = "background.log"


def load(
    project: Path | None = None,
    *,
    config: Path | None = None,
    claude: Path | None = None,
    state: Path | None = None,
    settings: bool = True,
    can_ask: bool = True,
    trust_all: bool = False,
    debug: Callable[[str], None] | None = None,
) -> Engine:
    """Load the hooks that concern a project (default: here) and give an engine that dispatches events to them.

    `config` is the user's agents folder, `claude` that of their settings.json, `state` the folder for trust, ledger, log and
    sessions (default: the XDG ones and ~/.claude); without `settings` the hooks of settings.json files are left out; without
    `can_ask` a question blocks; with `trust_all` the project's hooks run although nobody trusted them; `debug` hears the debug
    lines.
    """
    from boathook.process.background import BackgroundPool
    from boathook.process.slots import prepare

    prepare()
    catalog = load_catalog(project, config=config, claude=claude, state=state, settings=settings, trust_all=trust_all)
    _import_for(catalog)
    state_path = state_of(state)
    sessions = Sessions(f"{state_path}/sessions")
    hooks = HookRunner(ProcessRunner(), _surroundings(catalog), sessions)
    around = _around(catalog, "python")

    def report(call: Call, end: Exit) -> None:
        text = report_end(state_path, {**around, **call.about}, call.hook.trigger, end)
        if debug is not None:
            debug(text.rstrip())

    return _engine(
        catalog,
        hooks,
        BackgroundPool(hooks, report),
        can_ask=can_ask,
        debug=debug,
        sessions=sessions,
        state=state_path,
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
    project: Path | None = None,
    *,
    config: Path | None = None,
    claude: Path | None = None,
    state: Path | None = None,
    settings: bool = True,
    trust_all: bool = False,
) -> Catalog:
    """Read the hooks of the user and of a project from their files, and what people said of them."""
    found, _ = look_up(project, config=config, claude=claude, state=state, settings=settings, trust_all=trust_all)
    return found.catalog


def look_up(
    project: Path | None = None,
    *,
    config: Path | None = None,
    claude: Path | None = None,
    state: Path | None = None,
    settings: bool = True,
    trust_all: bool = False,
) -> tuple[Loaded, Trust]:
    """Read the hooks of the user and of a project, with all that is known of them, and return the book of trust, too."""
    from boathook.loader import load_hooks

    env = read_environment()
    agents = make_absolute(os.fspath(config)) if config is not None else agents_dir(env)
    start = start_of(project)
    users, claude_project = _claude_places(start, settings=settings)
    if claude is not None and settings:
        users = make_absolute(os.fspath(claude))
    named = (agents if config is None else "", users if claude is None else "", state_dir(env) if state is None else "")
    found = find_project(start)
    astray = find_untrusted_locations(start, named, (found, claude_project), env)
    book = book_of(state_of(state), astray)
    trust = None if trust_all else book
    return load_hooks(agents, found, users, claude_project, trust=trust, astray=astray), book


def state_of(state: Path | None) -> str:
    """Return the folder for what is remembered: the given one, else the user's."""
    return make_absolute(os.fspath(state)) if state is not None else state_dir(read_environment())


def book_of(state: str, astray: tuple[str, ...] = ()) -> Trust:
    """Return the book of trust of a state folder; an empty one with a word about it if that folder is not to be believed."""
    from boathook.trust.store import Trust

    return Trust(state, believed=state not in astray)


def start_of(project: Path | None) -> str:
    """Return the folder from which projects are looked for: the given one, else the current."""
    given: str = current_dir() if project is None else os.fspath(project)
    if project is not None and not os.path.isdir(given):
        raise ConfigError(f"the project {given} is not a folder")  # a slip here would disarm every guard of the project
    return make_absolute(given)


def project_of(start: Path | None) -> str:
    """Return the project that a folder belongs to: the nearest one upwards with hooks; nothing if there is none."""
    return find_project(start_of(start))


def _claude_places(start: str, *, settings: bool) -> tuple[str, str]:
    """Return the user's folder of settings and the project that has some; nothing if they are left out."""
    env = read_environment()
    return (claude_dir(env), find_claude_project(start, env)) if settings else ("", "")


def _surroundings(catalog: Catalog, home: str = "") -> JobContext:
    return JobContext(catalog.project, catalog.claude_project, catalog.settings.model, home)


def one_shot(
    kind: EventKind,
    start: str,
    *,
    dialect: Dialect,
    home: str = "",
    fixed: dict[str, str] | None = None,
    trust_all: bool = False,
    settings: bool,
    of_projects: bool = True,
    can_ask: bool,
    debug: bool,
    write: Callable[[str], None],
) -> Engine:
    """Return an engine for one event in a process of its own: compiled catalogue, cheapest start, supervised async hooks.

    `dialect` is that of the host; `home` is what the host calls its project, told to hooks where no project has any; `fixed`
    are folders of the user (state, config, claude) that the command line names, so that no variable counts; without
    `of_projects` the settings.json of projects are left out.
    Debug lines go to `write`, if asked for here or in the user's hooks.toml.
    """
    from boathook.process.spawn import own_process
    from boathook.process.supervisor import Supervisor

    fixed = fixed or {}
    catalog = _catalog_for(kind, start, fixed, settings=settings, of_projects=of_projects, trust_all=trust_all)
    spawn = own_process()
    state = fixed.get("state") or state_dir(read_environment())
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


def _catalog_for(
    kind: EventKind, start: str, fixed: dict[str, str], *, settings: bool, of_projects: bool, trust_all: bool
) -> Catalog:
    """Return the catalogue as far as one kind needs it, compiled if that is fresh, else from the files."""
    env = read_environment()
    claude, claude_project = _claude_places(start, settings=settings)
    claude_project = claude_project if of_projects else ""
    by_variables = {"config": agents_dir(env), "claude": claude, "state": state_dir(env)}
    agents, claude, state = ({**by_variables, **fixed}[name] for name in ("config", "claude", "state"))
    claude, cache = claude if settings else "", cache_dir(env)
    project = find_project(start)
    named = (*(path for name, path in by_variables.items() if name not in fixed), cache)
    astray = find_untrusted_locations(start, named, (project, claude_project), env)
    where = (project, claude, claude_project, "" if trust_all else state)
    try:
        path = compiled.path_of(cache, *where) if not astray else None
        found = compiled.load(path, agents, *where) if path is not None else None
        if found is not None:
            from boathook.catalog_cache.load import recall

            return recall(found, kind)
    except Exception:  # noqa: BLE001, S110  (whatever is wrong with it, the files themselves are there)
        pass
    import time

    from boathook.catalog_cache.write import keep
    from boathook.loader import load_hooks

    started = time.time()
    book = None if trust_all else book_of(state, astray)
    loaded = load_hooks(agents, *where[:3], trust=book, astray=astray)
    if loaded.lasting and not astray:
        places = {"cache": cache, "agents": agents, "claude": claude, "claude_project": claude_project}
        keep(loaded.catalog, loaded.watch, started=started, trust=where[3], **places)
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
        _log(state).trouble,
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
    return {"host": host, "project": catalog.project or catalog.claude_project}


def _record(
    state: str, verdict: Verdict, seconds: float, around: dict[str, str], *, whole: bool, degraded: tuple[str, ...]
) -> str:
    """Write a verdict into the ledger; return the trouble with that, if any."""
    from boathook.ledger.record import must_last, record_of
    from boathook.ledger.writer import Ledger

    made = record_of(verdict, around, time=now(), seconds=seconds, whole=whole, degraded=degraded)
    return Ledger(state).append(made, sync=must_last(made))


def record_refusal(state: str, host: str, kind: EventKind, reason: str) -> str:
    """Write into the ledger that an event was refused before any hook could look at it; return the trouble with that, if any."""
    from boathook.core.event import Event as Happening
    from boathook.core.outcome import Decision, Outcome
    from boathook.core.verdict import Verdict as Said
    from boathook.ledger.writer import new_id

    event = Happening(kind, now())
    said = Said(event, event, Outcome(Decision.BLOCK, ((Decision.BLOCK, reason),)), id=new_id())
    return _record(state, said, 0.0, {"host": host, "project": ""}, whole=False, degraded=())


def _log(state: str) -> Log:
    return Log(f"{state}/{LOG_NAME}")


def _nobody(call: Call, end: Exit) -> None:
    """Hear of the end of an async hook that nobody asks for."""


def probe(catalog: Catalog, scratch: str, *, writable: bool = False) -> Engine:
    """Return an engine that fires hooks in a scratch folder as if it were their project, and leaves no record of it.

    Isolated hooks cannot write there, as they cannot in a project, unless it is said to be `writable`.
    """
    from boathook.process.background import BackgroundPool

    may_write = scratch if writable else ""
    around = JobContext(scratch, scratch, catalog.settings.model, scratch, may_write)
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
    from boathook.process.supervisor import supervise as run_supervisor

    run_supervisor(report_end)


def report_end(state: str, about: dict[str, str], trigger: str, end: Exit) -> str:
    """Write the end of an async hook into the ledger and the log; return the log's lines."""
    from boathook.ledger.record import end_record
    from boathook.ledger.writer import Ledger, new_id

    trouble = Ledger(state).append(end_record(about, end, id=new_id(), time=now()))
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
