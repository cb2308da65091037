"""The composition root: the only place that knows all the parts."""

from __future__ import annotations

import os

from boathook import compiled
from boathook.core.policy import Policy
from boathook.dialects import native
from boathook.engine import Engine, Tracing
from boathook.errors import ConfigError
from boathook.places import (
    absolute,
    agents_dir,
    cache_dir,
    claude_dir,
    environment,
    find_claude_project,
    find_project,
    here,
    state_dir,
)
from boathook.runners.process import ProcessRunner
from boathook.runners.script import HookRunner, Surroundings
from boathook.store.log import Log
from boathook.store.sessions import Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from boathook.core.catalog import Catalog
    from boathook.core.event import Event, EventKind
    from boathook.core.run import Call, Exit
    from boathook.engine import BackgroundRunner

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
    debug: Callable[[str], None] | None = None,
) -> Engine:
    """Load the hooks that concern a project (default: here) and give an engine that dispatches events to them.

    `config` is the user's agents folder, `claude` that of their settings.json, `state` the folder for the log and the sessions
    (default: the XDG ones and ~/.claude); without `settings` the hooks of settings.json files are left out; without `can_ask` a
    question blocks; `debug` hears the debug lines.
    """
    from boathook.runners.background import Background
    from boathook.runners.room import prepare

    prepare()
    catalog = load_catalog(project, config=config, claude=claude, settings=settings)
    _import_for(catalog)
    state_path = absolute(os.fspath(state)) if state is not None else state_dir(environment())
    sessions = Sessions(f"{state_path}/sessions")
    hooks = HookRunner(ProcessRunner(), _surroundings(catalog), sessions)
    write = _log(state_path).write

    def report(call: Call, end: Exit) -> None:
        text = report_text(call.hook.name, call.hook.trigger, end)
        write(text)
        if debug is not None:
            debug(text.rstrip())

    return _engine(
        catalog, hooks, Background(hooks, report), can_ask=can_ask, debug=debug, sessions=sessions, state=state_path
    )


def _import_for(catalog: Catalog) -> None:
    """Import what the hooks of a catalogue need before any of them runs, for an interrupt within an import can be lost."""
    if any(hook.dialect != native.NAME for hook in catalog.hooks):
        from importlib import import_module

        for name in ("dialects.claude", "runners.command"):
            import_module(f"boathook.{name}")


def load_catalog(
    project: Path | None = None, *, config: Path | None = None, claude: Path | None = None, settings: bool = True
) -> Catalog:
    """Read the hooks of the user and of a project from their files."""
    from boathook.sources.loading import load_hooks

    agents = absolute(os.fspath(config)) if config is not None else agents_dir(environment())
    start = start_of(project)
    users, claude_project = _claude_places(start, settings=settings)
    if claude is not None and settings:
        users = absolute(os.fspath(claude))
    return load_hooks(agents, find_project(start), users, claude_project).catalog


def start_of(project: Path | None) -> str:
    """Give the folder from which projects are looked for: the given one, else the current."""
    given: str = here() if project is None else os.fspath(project)
    if project is not None and not os.path.isdir(given):
        raise ConfigError(f"the project {given} is not a folder")  # a slip here would disarm every guard of the project
    return absolute(given)


def project_of(start: Path | None) -> str:
    """Give the project that a folder belongs to: the nearest one upwards with hooks; nothing if there is none."""
    return find_project(start_of(start))


def _claude_places(start: str, *, settings: bool) -> tuple[str, str]:
    """Give the user's folder of settings and the project that has some; nothing if they are left out."""
    env = environment()
    return (claude_dir(env), find_claude_project(start, env)) if settings else ("", "")


def _surroundings(catalog: Catalog, home: str = "") -> Surroundings:
    return Surroundings(_write_event, catalog.project, catalog.claude_project, catalog.settings.model, home)


def _write_event(dialect: str, event: Event, spelling: str) -> bytes:
    if dialect == native.NAME:
        return native.write_event(event, spelling)
    from boathook.dialects import claude

    return claude.write_hook_event(event)


def one_shot(
    kind: EventKind,
    start: str,
    *,
    home: str = "",
    settings: bool,
    can_ask: bool,
    debug: bool,
    write: Callable[[str], None],
) -> Engine:
    """Give an engine for one event in a process of its own: compiled catalogue, cheapest start, supervised async hooks.

    `home` is what the host calls its project, told to hooks where no project has any.
    Debug lines go to `write`, if asked for here or in the user's hooks.toml.
    """
    from boathook.runners.spawn import own_process
    from boathook.runners.supervisor import Supervisor

    catalog = _catalog_for(kind, start, settings=settings)
    spawn = own_process()
    state = state_dir(environment())
    sessions = Sessions(f"{state}/sessions")
    hooks = HookRunner(ProcessRunner(spawn, exclusive=True), _surroundings(catalog, home), sessions)
    background = Supervisor(hooks, spawn, state)
    trace = write if debug or catalog.settings.debug else None
    return _engine(catalog, hooks, background, can_ask=can_ask, debug=trace, sessions=sessions, state=state)


def _catalog_for(kind: EventKind, start: str, *, settings: bool) -> Catalog:
    """Give the catalogue as far as one kind needs it, compiled if that is fresh, else from the files."""
    env = environment()
    agents, cache = agents_dir(env), cache_dir(env)
    where = (find_project(start), *_claude_places(start, settings=settings))
    try:
        path = compiled.path_of(cache, *where)
        found = compiled.load(path, agents, *where) if path is not None else None
        if found is not None:
            from boathook.sources.recall import recall

            return recall(found, kind)
    except Exception:  # noqa: BLE001, S110  (whatever is wrong with it, the files themselves are there)
        pass
    import time

    from boathook.sources.cache import keep
    from boathook.sources.loading import load_hooks

    started = time.time()
    loaded = load_hooks(agents, *where)
    places = {"cache": cache, "agents": agents, "claude": where[1], "claude_project": where[2]}
    keep(loaded.catalog, loaded.watch, started=started, **places)
    return loaded.catalog


def _shown(call: Call) -> str:
    return _write_event(call.hook.dialect, call.event, call.hook.trigger).decode().rstrip("\n")


def _engine(
    catalog: Catalog,
    hooks: HookRunner,
    background: BackgroundRunner,
    *,
    can_ask: bool,
    debug: Callable[[str], None] | None,
    sessions: Sessions,
    state: str,
) -> Engine:
    settings = catalog.settings

    def read_answer(call: Call, end: Exit) -> Any:
        if call.hook.dialect != native.NAME:
            from boathook.dialects import claude

            return claude.read_answer(call, end)
        return native.read_answer(call, end, strict=settings.strict_exit_codes)

    return Engine(
        catalog,
        hooks if debug is None else Tracing(hooks, debug, _shown),
        read_answer,
        background,
        Policy(settings.max_stop_blocks, can_ask),
        debug,
        native.event_of,
        sessions,
        _log(state).trouble,
    )


def _log(state: str) -> Log:
    return Log(f"{state}/{LOG_NAME}")


def supervise() -> None:
    """Be the supervisor of async hooks."""
    from boathook.runners.supervisor import supervise as run_supervisor

    run_supervisor(lambda state: _log(state).write, report_text)


def report_text(name: str, trigger: str, end: Exit) -> str:
    """Give the log's lines about an async hook that ended."""
    from boathook.core.clean import clean
    from boathook.engine import now

    how = f"{end.fault}: {end.detail}" if end.fault else f"exit={end.code}"
    took = round(end.seconds * 1000)
    lines = [f"{now()} [ASYNC] Completed hook '{name}' for event '{trigger}' in {took}ms: {how}"]
    for stream, data in (("stdout", end.stdout), ("stderr", end.stderr)):
        text = clean(data.decode("utf-8", "replace"), 16384)
        lines += [f"  {stream}: {line}" for line in text.splitlines()]
    lines += [f"  warning: {text}" for text in end.warnings]
    return "\n".join(lines) + "\n"
