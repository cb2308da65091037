"""`boathook run` behind its door: one event in on standard input, one answer out. Lean: a host starts this for every event.

Exit codes: 0 answered, 1 the input cannot be read, 2 blocked, 128+n ended by signal n.
"""

from __future__ import annotations

import os

from boathook.core.event import UNMAPPED, parse_host_object
from boathook.core.json_text import JsonError, dump_line, loads
from boathook.core.outcome import Decision
from boathook.dialects.dialect import NATIVE, find_dialect
from boathook.entry.options import Options, parse_options
from boathook.errors import BeyondLimits, DialectError, NotJson, UsageError
from boathook.hosts.detection import calls_boathook, list_own_files
from boathook.hosts.host import list_host_names
from boathook.sources.source import list_sources
from boathook.system.locations import (
    STATE_FOLDER,
    current_dir,
    find_host_project,
    make_absolute,
    read_environment,
    resolve_folder,
    resolve_locations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event, EventKind
    from boathook.core.verdict import Verdict
    from boathook.dialects.dialect import Dialect

HOSTS = (NATIVE, *list_host_names())
LOOKED_AT = 1 << 18  # bytes at the end of a transcript


class Interrupted(BaseException):
    """A signal asked this process to end."""


def parse(args: list[str]) -> Options:
    """Read the arguments of `run`."""
    options = parse_options(args)
    if options.host not in HOSTS:
        raise UsageError(f"unknown host '{options.host}' (known: {', '.join(HOSTS)})")
    return options


def main(args: list[str], data: bytes | None = None) -> int:
    """Run one event; return the exit code."""
    options = Options()
    try:
        _catch_signals()
        options = parse(args)
        data = read_all(0) if data is None else data
        dialect = find_dialect(options.host)
        if caller := dialect.find_caller(data, read_environment()):
            options.host, dialect = caller, find_dialect(caller)
            if _calls_itself(options, data):
                return _say_nothing(options)
        event = dialect.read_event(data, options.event)
        if event.kind is UNMAPPED:
            return _say_nothing(options)
        if path := dialect.find_result_file(event):
            event = dialect.apply_result(event, _end_of(path))
        verdict = _dispatch(event, options, dialect)
        later = _dispatch_derived(verdict, options, dialect)
        if _caught:
            return 128 + _caught[0]
        code = _answer(verdict, options, dialect, later)
        if event.kind.has_tool and not event.tool_name:
            _tell("the event has no 'tool_name': hooks for particular tools did not run")
        return code
    except (BeyondLimits, NotJson) as error:
        # A model could write such an input to get past the guards; some hosts pass on what it wrote, NaN for example.
        return _refuse(str(error), options, 2)
    except DialectError as error:
        return _refuse(str(error), options, 1)
    except UsageError as error:
        return _complain(str(error))
    except Interrupted as signal:
        return 128 + int(signal.args[0])
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  (whatever it is, the host gets a word and an exit code)
        return _refuse(f"internal error: {type(error).__name__}: {error}", options, 1)


def _refuse(text: str, options: Options, code: int) -> int:
    """Report what went wrong; a host that would make a refusal of it without a word, or hear none, is told in its own tongue."""
    _tell(text)
    end, refused_kind = find_dialect(options.host).refuse(options.event, f"boathook: {text}", code)
    if refused_kind is not None:
        _record_refusal(text, options, refused_kind)
    write_all(2, end.stderr)
    return (end.code or 0) if write_all(1, end.stdout) else 2


def _say_nothing(options: Options) -> int:
    """Answer an event that is nobody's here, as a host wants to hear that."""
    return 0 if write_all(1, find_dialect(options.host).write_nothing().stdout) else 1


def _record_refusal(text: str, options: Options, kind: EventKind) -> None:
    """Leave a record of a refusal that no hook made; that it cannot be kept is told, and changes nothing."""
    try:
        from boathook.assembly import record_refusal

        state = resolve_folder(STATE_FOLDER, read_environment(), options.folders)
        trouble = record_refusal(state, options.host, kind, text)
    except Exception as error:  # noqa: BLE001  (the refusal itself must go out)
        trouble = f"{type(error).__name__}: {error}"
    if trouble:
        _tell(trouble)


def _calls_itself(options: Options, data: bytes) -> bool:
    """Whether the agent that calls has a command of its own for this event."""
    state = resolve_folder(STATE_FOLDER, read_environment(), options.folders)
    folder = parse_host_object(data).get("cwd") or current_dir()
    files = list_own_files(
        _installations(f"{state}/installed.json"), options.host, folder if isinstance(folder, str) else "/"
    )
    return any(calls_boathook(options.host, _end_of(path)) for path in files)


def _installations(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            found = loads(file.read())
    except (OSError, ValueError, JsonError):
        return None
    return found.get("installations") if isinstance(found, dict) else None


def _end_of(path: str) -> str:
    """Return the end of a regular file as text; nothing if it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, LOOKED_AT, max(0, size - LOOKED_AT)).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)


def _dispatch_derived(verdict: Verdict, options: Options, dialect: Dialect) -> tuple[Verdict, ...]:
    """Dispatch the events that the host has not and that this one implies."""
    found: list[Verdict] = []
    for event in dialect.derive_events(verdict):
        try:
            found.append(_dispatch(event, options, dialect))
        except Exception as error:  # noqa: BLE001  (what was decided on the event itself must go out)
            _tell(f"hooks of {event.kind.name} did not run: {type(error).__name__}: {error}")
    return tuple(found)


def _dispatch(event: Event, options: Options, dialect: Dialect) -> Verdict:
    from boathook.assembly import one_shot

    if options.project is not None and not os.path.isdir(options.project):
        raise UsageError(f"--project {options.project} is not a folder")
    env = read_environment()
    host_project = find_host_project(dialect.project_variable, env)
    folder = options.project or host_project or event.work_dir.replace("\0", "")
    start = os.path.abspath(make_absolute(folder or current_dir()))
    locations = resolve_locations(
        list_sources(), start, env, given=options.folders, without=options.without, trust_all=options.trust_all
    )
    engine = one_shot(
        event.kind,
        locations,
        dialect=dialect,
        home=host_project,
        can_ask=not options.no_ask,
        debug=options.debug,
        write=_debug_line,
    )
    options.refuses = engine.catalog.settings.degraded == "refuse"
    return engine.dispatch(event)


def _answer(verdict: Verdict, options: Options, dialect: Dialect, later: tuple[Verdict, ...]) -> int:
    if options.json:
        return 0 if write_all(1, dump_line(verdict.to_json())) else _complain("the verdict could not be written")
    end = dialect.write_answer(verdict, later, refuses=options.refuses)
    told = "".join(f"boathook: {line}\n" for one in (verdict, *later) for line in one.warnings())
    write_all(2, end.stderr + told.encode("utf-8", "backslashreplace"))
    if not write_all(1, end.stdout):
        _complain(f"the answer could not be written; it was: {verdict.decision.word} {' '.join(verdict.reasons)}")
        return 2 if verdict.decision >= Decision.ASK else 1
    return end.code or 0


def _debug_line(text: str) -> None:
    write_all(2, (text + "\n").encode("utf-8", "backslashreplace"))


def _tell(text: str) -> None:
    write_all(2, f"boathook: {text}\n".encode("utf-8", "backslashreplace"))


def _complain(text: str) -> int:
    _tell(text)
    return 1


def read_all(handle: int) -> bytes:
    """Read everything from a file descriptor, whether it blocks or not."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(handle, 1 << 16)
        except BlockingIOError:
            _wait_for(handle, reading=True)
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)


def write_all(handle: int, data: bytes) -> bool:
    """Write everything to a file descriptor, whether it blocks or not; say whether that was possible."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view) :]
        except BlockingIOError:
            _wait_for(handle, reading=False)
        except OSError:
            return False
    return True


def _wait_for(handle: int, *, reading: bool) -> None:
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN if reading else select.POLLOUT)
    poll.poll()


_caught: list[int] = []  # an exception raised in the wrong moment, within an import say, is lost; this is not


def _catch_signals() -> None:
    """End hooks when this process is asked to end, and be told of their ends even if the host ignores its children's."""
    import _signal as signal  # pyright: ignore[reportMissingImports]  `signal` imports enum, which costs half an interpreter start

    def interrupt(number: int, _: object) -> None:
        _caught.append(number)
        raise Interrupted(number)

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, interrupt)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
