"""Run the conformance vectors against this engine, through its library and its command line, or against another one."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boathook.testing.compare import await_files, compare, compare_answer, compare_any_order, compare_keys
from boathook.testing.vectors import (
    VECTORS_FOLDER,
    Fields,
    Vector,
    Workspace,
    is_file_change,
    load_vectors,
    open_workspace,
)

RunProcess = Callable[..., "subprocess.CompletedProcess[bytes]"]
OWN_COMMAND = (sys.executable, "-m", "boathook")
_TIMEOUT_SECONDS = 60.0
# After so long, an engine may trust the time stamps of files.
_SETTLED_SECONDS = 2.2
_UNRELATED_EVENTS = ("post-step", "notification")
# Fields of an event that are not passed to `explain` with --data.
_OTHER_FIELDS = ("event_type", "timestamp", "session_id", "work_dir", "context", "tool_name", "tool_input")


@dataclass(frozen=True)
class CommandResult:
    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Return stdout as a JSON value; if it is not JSON, a text with stdout and stderr."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return f"exit {self.code}, no JSON: {self.stdout!r} {self.stderr!r}"

    def get_field(self, name: str) -> Any:
        value = self.json()
        return value[name] if isinstance(value, dict) and name in value else value


@dataclass(frozen=True)
class CommandLine:
    command: Sequence[str]
    workspace: Workspace
    run_process: RunProcess = subprocess.run

    def call(self, *arguments: str, stdin: str = "") -> CommandResult:
        try:
            done = self.run_process(
                [*self.command, *arguments],
                input=stdin.encode("utf-8", "surrogatepass"),
                capture_output=True,
                cwd=self.workspace.cwd,
                env=self.workspace.environment,
                timeout=_TIMEOUT_SECONDS,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return CommandResult(-1, "", f"it did not end within {_TIMEOUT_SECONDS:.0f} s")
        stdout, stderr = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
        return CommandResult(done.returncode, stdout, stderr)

    def decide(self, *options: str) -> list[str]:
        """Make the decisions of the vector about hooks of projects; return what went wrong."""
        errors = []
        for decision in self.workspace.vector.run.get("decisions", ()):
            folder = str(self.workspace.resolve(decision["project"]))
            result = self.call(*decision["words"], "--project", folder, *options)
            errors += [f"{decision['words']}: exit {result.code}: {result.stderr}"] if result.code else []
        return errors

    def dispatch(self, *flags: str) -> CommandResult:
        data, run = self.workspace.vector.data, self.workspace.vector.run
        for step in data.get("before", ()):
            if is_file_change(step):
                self.workspace.change_files(step)
            else:
                self.call("run", *self.make_options(), stdin=json.dumps(self.workspace.fill_placeholders(step)))
        stdin = data["stdin"] if "stdin" in data else json.dumps(self.workspace.fill_placeholders(data["event"]))
        arguments = [run["event"]] if "event" in run else []
        debug = ["--debug"] if run.get("debug") else []
        return self.call("run", *arguments, *self.make_options(), *debug, *flags, stdin=stdin)

    def make_options(self, *names: str) -> list[str]:
        """Return the options of every `run` of the vector: the host, and the source to leave out."""
        run = self.workspace.vector.run
        options = [word for name in names or ("host", "without") if name in run for word in (f"--{name}", run[name])]
        return [*options, *self.make_trust_options()]

    def change_files(self) -> None:
        for change in self.workspace.vector.changes:
            self.workspace.change_files(change)

    def make_trust_options(self) -> list[str]:
        return [] if self.workspace.vector.needs_trust else ["--trust-all"]

    def warm_up(self) -> None:
        """Wait until the files have settled, and send an event of another kind, so that an engine fills its cache."""
        time.sleep(_SETTLED_SECONDS)
        text = json.dumps(self.workspace.vector.data)
        kind = next(kind for kind in _UNRELATED_EVENTS if kind not in text)
        event = json.dumps({"event_type": kind, "work_dir": str(self.workspace.cwd)})
        self.call("run", *self.make_options("without"), stdin=event)


def _check_command_verdict(command_line: CommandLine, want: Any) -> list[str]:
    return compare_keys("verdict", want, command_line.dispatch("--json").json())


def _check_command_answer(command_line: CommandLine, want: Fields) -> list[str]:
    result = command_line.dispatch()
    return compare_answer(want, result.code, result.stdout, result.stderr)


def _check_command_list(command_line: CommandLine, want: Any) -> list[str]:
    command_line.change_files()
    result = command_line.call("list", "--json", *command_line.make_trust_options())
    return compare_any_order("list", want, result.get_field("hooks"))


def _check_command_prompt(command_line: CommandLine, want: Any) -> list[str]:
    return compare("prompt", want, command_line.call("list", "--prompt", *command_line.make_trust_options()).stdout)


def _check_command_check(command_line: CommandLine, want: Fields) -> list[str]:
    strict = ["--strict"] if want.get("strict") else []
    result = command_line.call("check", str(command_line.workspace.resolve(want["path"])), "--json", *strict)
    errors = compare("check.exit", want["exit"], result.code)
    return errors + compare_any_order("check", want["diagnostics"], result.get_field("diagnostics"))


def _check_command_explain(command_line: CommandLine, want: Any) -> list[str]:
    event = command_line.workspace.fill_placeholders(command_line.workspace.vector.data["event"])
    arguments = ["explain", event["event_type"], "--json", *command_line.make_trust_options()]
    if "tool_name" in event:
        arguments += ["--tool", event["tool_name"]]
    if "tool_input" in event:
        arguments += ["--input", json.dumps(event["tool_input"])]
    if rest := {key: value for key, value in event.items() if key not in _OTHER_FIELDS}:
        arguments += ["--data", json.dumps(rest)]
    command_line.change_files()
    return compare("explain", want, command_line.call(*arguments).get_field("hooks"))


COMMAND_CHECKS: dict[str, Callable[[CommandLine, Any], list[str]]] = {
    "verdict": _check_command_verdict,
    "answer": _check_command_answer,
    "list": _check_command_list,
    "prompt": _check_command_prompt,
    "check": _check_command_check,
    "explain": _check_command_explain,
}


def check_command(
    vector: Vector,
    command: Sequence[str] = OWN_COMMAND,
    *,
    is_warm: bool = False,
    run_process: RunProcess = subprocess.run,
) -> list[str]:
    """Run a vector by a command, each expectation in a fresh workspace; `is_warm`: it has seen the files before, seconds ago."""
    errors: list[str] = []
    has_files = "files" in vector.expect
    for part, check in COMMAND_CHECKS.items():
        if part in vector.expect:
            with open_workspace(vector) as workspace:
                command_line = CommandLine(command, workspace, run_process)
                errors += command_line.decide()
                if is_warm:
                    command_line.warm_up()
                errors += check(command_line, workspace.fill_placeholders(vector.expect[part]))
                if has_files:
                    errors += await_files(workspace, vector)
                    has_files = False
    return errors


@contextlib.contextmanager
def _enter(workspace: Workspace) -> Iterator[None]:
    before = dict(os.environ)
    try:
        _replace_environment(workspace.environment)
        with contextlib.chdir(workspace.cwd):
            yield
    finally:
        _replace_environment(before)


def _replace_environment(variables: Mapping[str, str]) -> None:
    """Set the variables of this process; those that stay are not touched, because there are many."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    for name, value in variables.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@dataclass
class LibraryRun:
    """The library in a workspace; the event is dispatched once, for both the verdict and the answer."""

    workspace: Workspace
    debug_lines: list[str] = field(default_factory=list)
    refuses: bool = False
    _verdict: Any = None

    def load_engine(self) -> Any:
        import boathook

        workspace, run = self.workspace, self.workspace.vector.run
        folders: dict[str, Any] = {
            "config": None if "env" in run else workspace.user,
            "state": workspace.root / "state",
        }
        without = [run["without"]] if "without" in run else []
        debug = self.debug_lines.append if run.get("debug") else None
        trust_all = not workspace.vector.needs_trust
        return boathook.load(workspace.cwd, **folders, without=without, trust_all=trust_all, debug=debug)

    @property
    def dialect(self) -> Any:
        from boathook.dialects.dialect import find_host_dialect

        return find_host_dialect(self.workspace.vector.run.get("host", "native"))

    def read_event(self, event: Any) -> Any:
        filled, run = self.workspace.fill_placeholders(event), self.workspace.vector.run
        return self.dialect.read_event(json.dumps(filled).encode(), run.get("event")) if "host" in run else filled

    def dispatch(self) -> Any:
        """Dispatch the events that come before, then the vector's event; return its verdict."""
        if self._verdict is None:
            data, run = self.workspace.vector.data, self.workspace.vector.run
            event = self.read_event(data["event"])
            if "event" in run and "host" not in run:
                event["event_type"] = run["event"]
            before = data.get("before", ())
            if self.workspace.vector.changes:
                before = self._run_steps(before)
            with self.load_engine() as engine:
                for earlier in before:
                    self._add_notices(engine, engine.dispatch(self.read_event(earlier)))
                self._verdict = self._dispatch_event(engine, event)
                if (subagent := self.dialect.derive_subagent(self._verdict)) is not None:
                    self._verdict = self.dialect.add_subagent_verdict(self._verdict, engine.dispatch(subagent))
                self.refuses = engine.catalog.settings.degraded == "refuse"
                self._verdict = self._add_notices(engine, self._verdict)
                for derived in self.dialect.derive_events(self._verdict):
                    engine.dispatch(derived)
        return self._verdict

    def _dispatch_event(self, engine: Any, event: Any) -> Any:
        from boathook.process.host_exports import pass_on_exports

        host_file = os.environb.get(self.dialect.env_file_variable.encode(), b"")
        if not host_file or event.kind.name != "pre-session":
            return engine.dispatch(event)
        return pass_on_exports(str(self.workspace.root / "state" / "sessions"), host_file, event, engine.dispatch)

    def _run_steps(self, steps: Sequence[Any]) -> tuple[()]:
        """Do what comes before the event, each step with an engine of its own, because files change; nothing is left of it."""
        for step in steps:
            if is_file_change(step):
                self.workspace.change_files(step)
                continue
            with self.load_engine() as engine:
                self._add_notices(engine, engine.dispatch(self.read_event(step)))
        return ()

    def _add_notices(self, engine: Any, verdict: Any) -> Any:
        from boathook.entry.session_notices import add_session_notices
        from boathook.process.sessions import Sessions

        sessions = Sessions(str(self.workspace.root / "state" / "sessions"))
        return add_session_notices(verdict, dict(engine.catalog.counts), self.dialect, sessions)[0]

    def answer_unreadable(self) -> Any:
        """Return the answer to an input that cannot be read; None if it can be read."""
        from boathook.core.verdict import Exit
        from boathook.errors import BeyondLimits, BoathookError

        data, run = self.workspace.vector.data, self.workspace.vector.run
        text = data["stdin"] if "stdin" in data else json.dumps(self.workspace.fill_placeholders(data["event"]))
        try:
            self.dialect.read_event(text.encode("utf-8", "surrogatepass"), run.get("event"))
        except BeyondLimits as error:
            refusal, kind = self.dialect.refuse(run.get("event"), str(error), 2)
            return refusal if kind else Exit(2, stderr=str(error).encode())
        except BoathookError as error:
            return Exit(1, stderr=str(error).encode())
        return None


def _check_library_verdict(library: LibraryRun, want: Any) -> list[str]:
    # Through JSON and back, as another program would see it.
    return compare_keys("verdict", want, json.loads(json.dumps(library.dispatch().to_json())))


def _check_library_answer(library: LibraryRun, want: Fields) -> list[str]:
    end = library.answer_unreadable()
    if end is not None:
        return compare_answer(want, end.code or 0, end.stdout.decode(), end.stderr.decode())
    if "stdin" in library.workspace.vector.data:
        return ["the input was read, although it should be unreadable"]
    verdict = library.dispatch()
    end = library.dialect.write_answer(verdict, refuses=library.refuses)
    lines = "\n".join([*library.debug_lines, end.stderr.decode(), *verdict.warnings()])
    stderr = lines if library.workspace.vector.run.get("debug") else None
    return compare_answer(want, end.code or 0, end.stdout.decode(), stderr)


def _check_library_list(library: LibraryRun, want: Any) -> list[str]:
    for change in library.workspace.vector.changes:
        library.workspace.change_files(change)
    with library.load_engine() as engine:
        rows = [_make_row(hook) for hook in engine.catalog.hooks]
    return compare_any_order("list", want, rows)


def _make_row(hook: Any) -> dict[str, Any]:
    plain = ("name", "scope", "priority", "mode", "state", "source", "place", "sandbox", "network", "imports", "ask")
    row = {name: getattr(hook, name) for name in plain}
    row |= {"event": hook.kind and hook.kind.name, "timeout_ms": round(hook.timeout * 1000), "why": hook.state_reason}
    return {**row, "diagnostics": [str(diagnostic) for diagnostic in hook.diagnostics]}


_LIBRARY_CHECKS: dict[str, Callable[[LibraryRun, Any], list[str]]] = {
    "verdict": _check_library_verdict,
    "answer": _check_library_answer,
    "list": _check_library_list,
}


def has_library_part(vector: Vector) -> bool:
    return any(part in vector.expect for part in _LIBRARY_CHECKS)


def check_in_process(vector: Vector, *, run_process: RunProcess = subprocess.run) -> list[str]:
    with open_workspace(vector) as workspace, _enter(workspace):
        library = LibraryRun(workspace)
        # The library has no function for a decision, which a person makes.
        errors = CommandLine(OWN_COMMAND, workspace, run_process).decide("--state", str(workspace.root / "state"))
        for part, check in _LIBRARY_CHECKS.items():
            if part in vector.expect:
                errors += check(library, workspace.fill_placeholders(vector.expect[part]))
        if "files" in vector.expect and has_library_part(vector):
            errors += await_files(workspace, vector)
    return errors


def _catch_exceptions(check: Callable[[], list[str]]) -> list[str]:
    try:
        return check()
    except Exception as error:  # noqa: BLE001  (any exception is a difference from the vector)
        return [f"raised {type(error).__name__}: {error}"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_options(arguments)
    vectors = load_vectors(options.vectors, options.filter)
    if not vectors:
        print(f"no vectors in {options.vectors} match '{options.filter}'")
        return 1
    command = shlex.split(options.command) if options.command else OWN_COMMAND
    with ThreadPoolExecutor(options.jobs) as pool:
        check = functools.partial(check_command, command=command, is_warm=options.warm)
        by_command = list(pool.map(lambda vector: _catch_exceptions(functools.partial(check, vector)), vectors))
    is_own = not options.command
    checks = [functools.partial(check_in_process, vector) for vector in vectors]
    in_process = [_catch_exceptions(check) if is_own else [] for check in checks]
    print(format_report(vectors, in_process, by_command, is_own=is_own), end="")
    return int(any(in_process) or any(by_command))


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m boathook.testing.conformance", description=__doc__)
    parser.add_argument("filter", nargs="?", default="", help="only vectors whose id, clause or title contains this")
    parser.add_argument("--command", help="the command line of another implementation (default: this one)")
    parser.add_argument("--vectors", type=Path, default=VECTORS_FOLDER, help="the folder of vectors")
    parser.add_argument("--warm", action="store_true", help="let the command see the files of each vector once before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many commands at a time")
    return parser.parse_args(arguments)


def format_report(
    vectors: Sequence[Vector], in_process: Sequence[list[str]], by_command: Sequence[list[str]], *, is_own: bool
) -> str:
    lines, counts = [], Counter[tuple[str, str]]()
    for vector, inner, outer in zip(vectors, in_process, by_command, strict=True):
        has_library = has_library_part(vector)
        passed = {
            "vectors": True,
            "library": has_library,
            "in process": has_library and not inner,
            "command": not outer,
        }
        counts.update((clause, way) for clause in (vector.clause, "all") for way, is_true in passed.items() if is_true)
        lines += [f"{vector.id} (in process): {error}" for error in inner]
        lines += [f"{vector.id} (command line): {error}" for error in outer]
    lines.append(f"{'clause':8}{'vectors':>9}{'in process':>14}{'command line':>14}")
    for clause in [*sorted({vector.clause for vector in vectors}, key=lambda name: int(name.removeprefix("S"))), "all"]:
        library = f"{counts[clause, 'in process']} of {counts[clause, 'library']}" if is_own else "-"
        lines.append(f"{clause:8}{counts[clause, 'vectors']:>9}{library:>14}{counts[clause, 'command']:>14}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
