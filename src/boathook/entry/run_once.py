"""`boathook run` with the engine. Exit codes: 0 answered, 1 the input cannot be read, 2 blocked, 128+n ended by signal n."""

from __future__ import annotations

import os

from boathook.core.event import HOST_EVENT, PRE_SESSION, UNMAPPED, parse_host_object
from boathook.core.json_text import JsonError, dump_line, dumps, loads
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import Verdict
from boathook.dialects.dialect import NATIVE, HostDialect, find_host_dialect
from boathook.entry.options import Options, parse_options
from boathook.errors import BeyondLimits, DialectError, NotJson, UsageError
from boathook.system import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event, EventKind
    from boathook.process.sessions import Sessions

# How much is read of the end of a transcript.
MAX_TAIL_BYTES = 1 << 18


class Interrupted(BaseException):
    """A signal asked this process to end."""


def main(args: list[str], data: bytes | None = None) -> int:
    # Until the options are read, errors are written for a host without a dialect of its own.
    run = EventRun(Options(), HostDialect(NATIVE))
    try:
        _catch_signals()
        options = parse_options(args)
        run = EventRun(options, find_host_dialect(options.host))
        data = read_all(0) if data is None else data
        return run.answer(data)
    except (BeyondLimits, NotJson) as error:
        # A model could write such an input to get past the guards; some hosts pass on what it wrote, NaN for example.
        return run.refuse(str(error), 2)
    except DialectError as error:
        return run.refuse(str(error), 1)
    except UsageError as error:
        # The command of another version.
        if "--broken" in args:
            raise
        _report(str(error))
        return 1
    except Interrupted as signal:
        return 128 + int(signal.args[0])
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # A part of this package or a library is missing, or for another Python: the command has the answer to that.
        if "--broken" in args and (run.kind is None or isinstance(error, (ImportError, SyntaxError))):
            raise
        return run.refuse(f"internal error: {type(error).__name__}: {error}", 2 if run.may_be_tool_call else 1)


class EventRun:
    """One event of a host: `answer` writes what the host reads, and returns the exit code."""

    def __init__(self, options: Options, dialect: HostDialect) -> None:
        self.options, self.dialect = options, dialect
        # What hooks.toml wants if the host cannot express everything.
        self.refuses_degraded = False
        self.ask_setting = ""
        # The hooks that do not work, whatever the event is.
        self.counts: dict[str, int] = {}
        self.event_name = options.event
        self.kind: EventKind | None = None

    @property
    def may_be_tool_call(self) -> bool:
        """Whether a tool may be about to be called: an error of ours must not let it pass, because no guard was asked."""
        return self.kind is None or (self.kind.is_pre and self.kind.has_tool)

    def answer(self, data: bytes) -> int:
        if self._is_duplicate(data):
            return self._write_nothing()
        event = self.dialect.read_event(data, self.options.event)
        self.kind, self.event_name = event.kind, event.data.get(HOST_EVENT, event.kind.name)
        if event.kind is UNMAPPED:
            if message := self.dialect.describe_unmapped_event(event):
                _report(message)
            return self._write_nothing()
        other_event = self.dialect.find_same_call(event)
        if other_event and self._is_installed(self.dialect.name, event.work_dir, other_event):
            return self._write_nothing()
        if path := self.dialect.find_result_file(event):
            event = self.dialect.apply_result(event, _read_tail(path))
        if self.dialect.comes_after_call(event) and (contexts := self._take_subagent(event)) is not None:
            return self._write_answer(Verdict(event, event, Outcome(contexts=contexts)), ())
        verdict = self._dispatch(event)
        verdict = self._dispatch_subagent(verdict)
        later = self._dispatch_derived(verdict)
        # A denial goes out even then, for example of a call that waited for a person: silence would let it pass.
        if _caught and not verdict.is_blocked:
            return 128 + _caught[0]
        state = self._find_state()
        is_unlocked = os.path.exists(f"{state}/unlocked.json")
        if self.counts or self.dialect.hides_messages or is_unlocked:
            verdict = self._add_session_notices(verdict, state if is_unlocked else "")
        code = self._write_answer(verdict, later)
        if event.kind.has_tool and not event.tool_name:
            _report("the event has no 'tool_name': hooks for particular tools did not run")
        return code

    def refuse(self, message: str, code: int) -> int:
        """Report an error, and refuse the event in the host's own dialect if the host would not understand the exit code."""
        _report(message)
        end, refused_kind = self.dialect.refuse(self.event_name, f"boathook: {message}", code)
        if refused_kind is not None:
            self._record_refusal(message, refused_kind)
        write_all(2, end.stderr)
        return (end.code or 0) if write_all(1, end.stdout) else 2

    def _record_refusal(self, message: str, kind: EventKind) -> None:
        try:
            from boathook.ledger.writer import Recorder
            from boathook.process.reaper import measure_wait, name_engine_path

            origin = {"host": self.dialect.name, "project": "", "path": name_engine_path()}
            recorder = Recorder(self._find_state(), origin, measure_wait=measure_wait)
            error_message = recorder.write_refusal(kind, message)
        except Exception as error:  # noqa: BLE001  (the refusal itself must go out)
            error_message = f"{type(error).__name__}: {error}"
        if error_message:
            _report(error_message)

    def _find_state(self) -> str:
        return locations.resolve_folder(locations.STATE_FOLDER, locations.read_environment(), self.options.folders)

    def _is_duplicate(self, data: bytes) -> bool:
        caller = self.dialect.find_caller(data, locations.read_environment())
        if not caller:
            return False
        self.dialect = find_host_dialect(caller)
        folder = parse_host_object(data).get("cwd") or locations.current_dir()
        return self._is_installed(caller, folder if isinstance(folder, str) else "/")

    def _is_installed(self, host: str, folder: str, event: str = "") -> bool:
        """Whether a command of ours is installed in a host (for an event), so that hooks run on that path."""
        return bool(self._read_entries(host, folder, event))

    def _read_entries(self, host: str, folder: str, event: str = "") -> list[str]:
        """Return the texts of the host's files that have a command of ours (for an event)."""
        from boathook.hosts.detection import calls_boathook, list_own_files

        installations = _read_installations(f"{self._find_state()}/installed.json")
        files = list_own_files(installations, host, folder or locations.current_dir())
        return [text for text in map(_read_tail, files) if calls_boathook(host, text, event)]

    def _dispatch_subagent(self, verdict: Verdict) -> Verdict:
        """Ask the hooks of a subagent at the tool call that starts it, where the host's own event cannot refuse it."""
        event = self.dialect.derive_subagent(verdict)
        if event is None:
            return verdict
        subagent = self._dispatch(event)
        if subagent.decision == Decision.ASK and (texts := self._list_denials(verdict.event, subagent.reasons)):
            reasons = tuple((Decision.BLOCK, text) for text in texts)
            subagent = subagent.replace(outcome=subagent.outcome | Outcome(Decision.BLOCK, reasons))
        has_run = bool(subagent.runs or subagent.background)
        if has_run and not subagent.is_blocked:
            contexts = dumps(list(subagent.additional_context))
            self._sessions().note_subagent(event.session_id, _find_agent_type(event), contexts)
        return self.dialect.add_subagent_verdict(verdict, subagent)

    def _list_denials(self, call: Event, reasons: tuple[str, ...]) -> tuple[str, ...]:
        """Return why a question about a subagent is a denial, () if it is left to the host."""
        if self.options.no_ask:
            return tuple(f"{text} (no person can be asked)" for text in reasons)
        doubt = self.dialect.find_ask_doubt(call, locations.read_environment())
        # The person may have chosen the host.
        return (*reasons, doubt) if doubt and self.ask_setting != "host" else ()

    def _take_subagent(self, event: Event) -> tuple[str, ...] | None:
        """Return the context for a subagent whose hooks were asked at the tool call, None if they were not."""
        try:
            text = self._sessions().take_subagent(event.session_id, _find_agent_type(event))
            return None if text is None else tuple(map(str, loads(text)))
        except (JsonError, TypeError):
            return None

    def _add_session_notices(self, verdict: Verdict, unlocked_state: str) -> Verdict:
        from boathook.entry.session_notices import add_session_notices, add_unlock_notice

        messages: list[str] = []
        if unlocked_state:
            verdict, message = add_unlock_notice(verdict, unlocked_state, self.dialect, self._sessions())
            messages.append(message)
        verdict, message = add_session_notices(verdict, self.counts, self.dialect, self._sessions())
        for text in filter(None, (*messages, *message.split("\n"))):
            _report(text)
        return verdict

    def _sessions(self) -> Sessions:
        from boathook.process.sessions import Sessions

        return Sessions(f"{self._find_state()}/sessions")

    def _dispatch_derived(self, verdict: Verdict) -> tuple[Verdict, ...]:
        verdicts: list[Verdict] = []
        for event in self.dialect.derive_events(verdict):
            try:
                verdicts.append(self._dispatch(event))
            except Exception as error:  # noqa: BLE001  (the verdict on the event itself must go out)
                _report(f"hooks of {event.kind.name} did not run: {type(error).__name__}: {error}")
        return tuple(verdicts)

    def _dispatch(self, event: Event) -> Verdict:
        from boathook.assembly import Sender, load_for_event, locate_enabled

        options = self.options
        if options.project is not None and not os.path.isdir(options.project):
            raise UsageError(f"--project {options.project} is not a folder")
        env = locations.read_environment()
        host_project = locations.find_host_project(
            self.dialect.project_at, env, lambda place: self.dialect.get_field(event, place)
        )
        folder = locations.choose_start(options.project, host_project, event.work_dir)
        resolved = locate_enabled(
            os.path.abspath(locations.make_absolute(folder)),
            env,
            given=options.folders,
            without=options.without,
            trust_all=options.trust_all,
        )
        sender = Sender(
            self.dialect,
            host_project,
            not options.no_ask,
            options.debug,
            _write_debug,
            lambda event: self._read_entries(self.dialect.name, event.work_dir),
        )
        engine = load_for_event(event.kind, resolved, sender)
        self.refuses_degraded = engine.catalog.settings.degraded == "refuse"
        self.ask_setting = engine.catalog.settings.ask
        self.counts = dict(engine.catalog.counts)
        if engine.catalog.settings.warm == "on":
            from boathook.entry.warm_start import request_resident

            request_resident(options.folders)
        host_file = env.get(self.dialect.env_file_variable.encode(), b"") if event.kind is PRE_SESSION else b""
        if not host_file:
            return engine.dispatch(event)
        from boathook.process.host_exports import pass_on_exports

        return pass_on_exports(f"{resolved.state}/sessions", host_file, event, engine.dispatch)

    def _write_nothing(self) -> int:
        return 0 if write_all(1, self.dialect.write_nothing().stdout) else 1

    def _write_answer(self, verdict: Verdict, later: tuple[Verdict, ...]) -> int:
        if self.options.json:
            if write_all(1, dump_line(verdict.to_json())):
                return 0
            _report("the verdict could not be written")
            return 1
        end = self.dialect.write_answer(verdict, later, refuses=self.refuses_degraded)
        # At exit code 2 a model may read stderr.
        verdicts, for_model = (verdict, *later), end.code == 2
        lines = [line for one in verdicts for line in one.warnings(for_model=for_model)]
        warnings = "".join(f"boathook: {line}\n" for line in dict.fromkeys(lines))
        write_all(2, end.stderr + warnings.encode("utf-8", "backslashreplace"))
        if write_all(1, end.stdout):
            return end.code or 0
        _report(f"the answer could not be written; it was: {verdict.decision.word} {' '.join(verdict.reasons)}")
        return 2 if verdict.decision >= Decision.ASK else 1


def _find_agent_type(event: Event) -> str:
    found = event.data.get("subagent_type")
    return found if isinstance(found, str) else ""


def _read_installations(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            registry = loads(file.read())
    except (OSError, ValueError, JsonError):
        return None
    return registry.get("installations") if isinstance(registry, dict) else None


def _read_tail(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return ""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, MAX_TAIL_BYTES, max(0, size - MAX_TAIL_BYTES)).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)


def _write_debug(text: str) -> None:
    write_all(2, (text + "\n").encode("utf-8", "backslashreplace"))


def _report(message: str) -> None:
    write_all(2, f"boathook: {message}\n".encode("utf-8", "backslashreplace"))


def read_all(handle: int) -> bytes:
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


# An exception can be lost, for example inside an import, so the signals are also kept here.
_caught: list[int] = []


def _catch_signals() -> None:
    """End hooks when this process is asked to end, and notice their ends even if the host ignores SIGCHLD."""
    # `signal` imports enum, which costs half an interpreter start.
    import _signal as signal  # pyright: ignore[reportMissingImports]

    def interrupt(number: int, _: object) -> None:
        _caught.append(number)
        raise Interrupted(number)

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, interrupt)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
