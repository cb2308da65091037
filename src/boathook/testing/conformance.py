"""Run the conformance vectors against this engine or against another implementation.

`check_in_process` drives the library, `check_command` a command line; both give what did not come out as a vector says.
`python -m boathook.testing.conformance --command "other-engine"` runs all vectors against another implementation.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boathook.testing.compare import (
    await_files,
    compare,
    compare_answer,
    compare_any_order,
    compare_keys,
)
from boathook.testing.vectors import VECTORS, Box, Fields, Vector, box, load_vectors

OWN_COMMAND = (sys.executable, "-m", "boathook")
SECONDS = 60.0
SETTLED_SECONDS = 2.2
Start = Callable[..., "subprocess.CompletedProcess[bytes]"]
UNRELATED = ("post-step", "notification")
EXPLAINED = ("event_type", "timestamp", "session_id", "work_dir", "context", "tool_name", "tool_input")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Return stdout as JSON; a text that is none comes back with what stderr says."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return f"exit {self.code}, no JSON: {self.stdout!r} {self.stderr!r}"

    def field(self, name: str) -> Any:
        """Return one field of the object on stdout, or all of it if that is not such an object."""
        value = self.json()
        return value[name] if isinstance(value, dict) and name in value else value


@dataclass(frozen=True)
class Terminal:
    """A command line in a box."""

    command: Sequence[str]
    inside: Box
    start: Start = subprocess.run

    def call(self, *arguments: str, stdin: str = "") -> Ended:
        """Run the command to its end."""
        try:
            done = self.start(
                [*self.command, *arguments],
                input=stdin.encode("utf-8", "surrogatepass"),
                capture_output=True,
                cwd=self.inside.cwd,
                env=self.inside.environment,
                timeout=SECONDS,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ended(-1, "", f"it did not end within {SECONDS:.0f} s")
        return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def dispatch(self, *flags: str) -> Ended:
        """Send the vector's event, and before it those that come before."""
        data, run = self.inside.vector.data, self.inside.vector.run
        for event in data.get("before", ()):
            self.call("run", *self.options(), stdin=json.dumps(self.inside.fill(event)))
        stdin = data["stdin"] if "stdin" in data else json.dumps(self.inside.fill(data["event"]))
        arguments = [run["event"]] if "event" in run else []
        debug = ["--debug"] if run.get("debug") else []
        return self.call("run", *arguments, *self.options(), *debug, *flags, stdin=stdin)

    def options(self, *names: str) -> list[str]:
        """Return what the vector says about every `run`: whose dialect is spoken, which source is left out."""
        run = self.inside.vector.run
        said = [word for name in names or ("host", "without") if name in run for word in (f"--{name}", run[name])]
        return [*said, *self.trust()]

    def trust(self) -> list[str]:
        """Take the project's hooks as trusted, unless the vector is about trust."""
        return [] if self.inside.vector.asks_for_trust else ["--trust-all"]

    def warm_up(self) -> None:
        """Let the files grow old and send an event of another kind, so that what an implementation keeps is kept."""
        time.sleep(SETTLED_SECONDS)
        text = json.dumps(self.inside.vector.data)
        kind = next(kind for kind in UNRELATED if kind not in text)
        event = json.dumps({"event_type": kind, "work_dir": str(self.inside.cwd)})
        self.call("run", *self.options("without"), stdin=event)


def _command_verdict(terminal: Terminal, want: Any) -> list[str]:
    return compare_keys("verdict", want, terminal.dispatch("--json").json())


def _command_answer(terminal: Terminal, want: Fields) -> list[str]:
    ended = terminal.dispatch()
    return compare_answer(want, ended.code, ended.stdout, ended.stderr)


def _command_list(terminal: Terminal, want: Any) -> list[str]:
    return compare_any_order("list", want, terminal.call("list", "--json", *terminal.trust()).field("hooks"))


def _command_prompt(terminal: Terminal, want: Any) -> list[str]:
    return compare("prompt", want, terminal.call("list", "--prompt", *terminal.trust()).stdout)


def _command_check(terminal: Terminal, want: Fields) -> list[str]:
    strict = ["--strict"] if want.get("strict") else []
    ended = terminal.call("check", str(terminal.inside.place(want["path"])), "--json", *strict)
    faults = compare("check.exit", want["exit"], ended.code)
    return faults + compare_any_order("check", want["diagnostics"], ended.field("diagnostics"))


def explain_arguments(event: Fields) -> list[str]:
    """Return the arguments of `explain` for an event."""
    arguments = ["explain", event["event_type"], "--json"]
    if "tool_name" in event:
        arguments += ["--tool", event["tool_name"]]
    if "tool_input" in event:
        arguments += ["--input", json.dumps(event["tool_input"])]
    rest = {key: value for key, value in event.items() if key not in EXPLAINED}
    return [*arguments, "--data", json.dumps(rest)] if rest else arguments


def _command_explain(terminal: Terminal, want: Any) -> list[str]:
    event = terminal.inside.fill(terminal.inside.vector.data["event"])
    return compare("explain", want, terminal.call(*explain_arguments(event), *terminal.trust()).field("hooks"))


COMMANDS: dict[str, Callable[[Terminal, Any], list[str]]] = {
    "verdict": _command_verdict,
    "answer": _command_answer,
    "list": _command_list,
    "prompt": _command_prompt,
    "check": _command_check,
    "explain": _command_explain,
}


def check_command(
    vector: Vector, command: Sequence[str] = OWN_COMMAND, *, warm: bool = False, start: Start = subprocess.run
) -> list[str]:
    """Run a vector through a command line, every expectation in a fresh box; return what did not come out.

    With `warm` the command has met the same files before, some seconds after they were written. `start` runs a command to its
    end as `subprocess.run` does, in another way perhaps.
    """
    faults: list[str] = []
    files = "files" in vector.expect
    for part, checked in COMMANDS.items():
        if part in vector.expect:
            with box(vector) as inside:
                terminal = Terminal(command, inside, start)
                if warm:
                    terminal.warm_up()
                faults += checked(terminal, inside.fill(vector.expect[part]))
                if files:
                    faults += await_files(inside, vector)
                    files = False
    return faults


# In process, through the library


@contextlib.contextmanager
def surroundings(inside: Box) -> Iterator[None]:
    """Stand in the vector's directory with the vector's environment."""
    before, within = dict(os.environ), inside.environment
    try:
        os.environ.clear()
        os.environ.update(within)
        with contextlib.chdir(inside.cwd):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass
class Library:
    """The engine in a box; an event is dispatched once, and both verdict and answer are looked at."""

    inside: Box
    debug_lines: list[str] = field(default_factory=list)
    refuses: bool = False
    _verdict: Any = None

    def engine(self) -> Any:
        """Load the hooks of the box."""
        import boathook

        run = self.inside.vector.run
        config = None if "env" in run else self.inside.user
        without = [run["without"]] if "without" in run else []
        debug = self.debug_lines.append if run.get("debug") else None
        state = self.inside.root / "state"
        trust_all = not self.inside.vector.asks_for_trust
        return boathook.load(
            self.inside.cwd, config=config, state=state, without=without, trust_all=trust_all, debug=debug
        )

    @property
    def dialect(self) -> Any:
        """Return the dialect of the host that the vector speaks for."""
        from boathook.dialects.dialect import find_dialect

        return find_dialect(self.inside.vector.run.get("host", "native"))

    def read(self, event: Any) -> Any:
        """Return an event of the vector as the engine takes it."""
        filled, run = self.inside.fill(event), self.inside.vector.run
        return self.dialect.read_event(json.dumps(filled).encode(), run.get("event")) if "host" in run else filled

    def verdict(self) -> Any:
        """Dispatch the vector's event, and before it those that come before."""
        if self._verdict is None:
            data, run = self.inside.vector.data, self.inside.vector.run
            event = self.read(data["event"])
            if "event" in run and "host" not in run:
                event["event_type"] = run["event"]
            with self.engine() as engine:
                for early in data.get("before", ()):
                    engine.dispatch(self.read(early))
                self._verdict = engine.dispatch(event)
                self.refuses = engine.catalog.settings.degraded == "refuse"
                for derived in self.dialect.derive_events(self._verdict):
                    engine.dispatch(derived)
        return self._verdict

    def unreadable(self) -> Any:
        """Return the answer to an input that cannot be read; None if it can."""
        from boathook.core.verdict import Exit
        from boathook.errors import BeyondLimits, BoathookError

        data, run = self.inside.vector.data, self.inside.vector.run
        text = data["stdin"] if "stdin" in data else json.dumps(self.inside.fill(data["event"]))
        try:
            self.dialect.read_event(text.encode("utf-8", "surrogatepass"), run.get("event"))
        except BeyondLimits as error:
            refusal, kind = self.dialect.refuse(run.get("event"), str(error), 2)
            return refusal if kind else Exit(2, stderr=str(error).encode())
        except BoathookError as error:
            return Exit(1, stderr=str(error).encode())
        return None


def _library_verdict(library: Library, want: Any) -> list[str]:
    # through JSON and back, for that is how another program would see it
    return compare_keys("verdict", want, json.loads(json.dumps(library.verdict().to_json())))


def _library_answer(library: Library, want: Fields) -> list[str]:
    end = library.unreadable()
    if end is not None:
        return compare_answer(want, end.code or 0, end.stdout.decode(), end.stderr.decode())
    if "stdin" in library.inside.vector.data:
        return ["the input was read, although it cannot be"]
    verdict = library.verdict()
    end = library.dialect.write_answer(verdict, refuses=library.refuses)
    told = "\n".join([*library.debug_lines, end.stderr.decode(), *verdict.warnings()])
    stderr = told if library.inside.vector.run.get("debug") else None
    return compare_answer(want, end.code or 0, end.stdout.decode(), stderr)


def _library_list(library: Library, want: Any) -> list[str]:
    with library.engine() as engine:
        rows = [_row(hook) for hook in engine.catalog.hooks]
    return compare_any_order("list", want, rows)


def _row(hook: Any) -> dict[str, Any]:
    plain = ("name", "scope", "priority", "mode", "state", "source", "place", "sandbox", "network")
    row = {name: getattr(hook, name) for name in plain}
    row |= {"why": hook.state_reason, "event": hook.kind and hook.kind.name, "timeout_ms": round(hook.timeout * 1000)}
    return {**row, "diagnostics": [str(problem) for problem in hook.diagnostics]}


LIBRARY: dict[str, Callable[[Library, Any], list[str]]] = {
    "verdict": _library_verdict,
    "answer": _library_answer,
    "list": _library_list,
}


def has_library_part(vector: Vector) -> bool:
    """Whether a vector expects something that the library shows."""
    return any(part in vector.expect for part in LIBRARY)


def check_in_process(vector: Vector) -> list[str]:
    """Run a vector through the library; return what did not come out."""
    faults: list[str] = []
    with box(vector) as inside, surroundings(inside):
        library = Library(inside)
        for part, checked in LIBRARY.items():
            if part in vector.expect:
                faults += checked(library, inside.fill(vector.expect[part]))
        if "files" in vector.expect and has_library_part(vector):
            faults += await_files(inside, vector)
    return faults


# From the shell


@dataclass
class Tally:
    """How the vectors of one clause did."""

    count: int = 0
    in_library: int = 0
    in_process: int = 0
    by_command: int = 0


def guarded(check: Callable[[], list[str]]) -> list[str]:
    """Turn an exception of an implementation into a mismatch."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is not what the vector says)
        return [f"raised {type(error).__name__}: {error}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run vectors, print a table and every mismatch; 1 if anything failed."""
    options = _options(arguments)
    vectors = load_vectors(options.vectors, options.filter)
    if not vectors:
        print(f"no vectors in {options.vectors} match '{options.filter}'")
        return 1
    command = shlex.split(options.command) if options.command else OWN_COMMAND
    with ThreadPoolExecutor(options.jobs) as pool:
        check = functools.partial(check_command, command=command, warm=options.warm)
        by_command = list(pool.map(lambda one: guarded(functools.partial(check, one)), vectors))
    own = not options.command
    in_process = [guarded(functools.partial(check_in_process, one)) if own else [] for one in vectors]
    print(report(vectors, in_process, by_command, own=own), end="")
    return int(any(in_process) or any(by_command))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m boathook.testing.conformance", description=__doc__)
    parser.add_argument("filter", nargs="?", default="", help="only vectors whose id, clause or title contains this")
    parser.add_argument("--command", help="the command line of another implementation (default: this one)")
    parser.add_argument("--vectors", type=Path, default=VECTORS, help="the folder of vectors")
    parser.add_argument("--warm", action="store_true", help="let the command meet each vector's files beforehand")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many commands at a time")
    return parser.parse_args(arguments)


def report(
    vectors: Sequence[Vector], in_process: Sequence[list[str]], by_command: Sequence[list[str]], *, own: bool
) -> str:
    """Return the mismatches and the table; in process counts of how many vectors the library shows anything."""
    out, tallies, total = io.StringIO(), dict[str, Tally](), Tally()
    for vector, inner, outer in zip(vectors, in_process, by_command, strict=True):
        for tally in (tallies.setdefault(vector.clause, Tally()), total):
            tally.count += 1
            tally.in_library += has_library_part(vector)
            tally.in_process += has_library_part(vector) and not inner
            tally.by_command += not outer
        for way, faults in (("in process", inner), ("command line", outer)):
            for error in faults:
                print(f"{vector.id} ({way}): {error}", file=out)
    print(f"{'clause':8}{'vectors':>9}{'in process':>14}{'command line':>14}", file=out)
    for clause, tally in [*sorted(tallies.items(), key=_by_number), ("all", total)]:
        library = f"{tally.in_process} of {tally.in_library}" if own else "-"
        print(f"{clause:8}{tally.count:>9}{library:>14}{tally.by_command:>14}", file=out)
    return out.getvalue()


def _by_number(row: tuple[str, Tally]) -> int:
    return int(row[0].removeprefix("S"))


if __name__ == "__main__":
    sys.exit(main())
