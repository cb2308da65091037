"""Run the conformance vectors against this engine or against another implementation.

`check_in_process` drives the library, `check_command` a command line; both give what did not come out as a vector says.
`python -m boathook.testing.conformance --command "other-engine"` runs all vectors against another implementation.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import functools
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[3] / "conformance" / "vectors"
OWN_COMMAND = (sys.executable, "-m", "boathook")
SECONDS = 60.0
BACKGROUND_SECONDS = 15.0
OURS = ("XDG_", "AGENT_", "KIMI_", "CLAUDE_", "MONOCO_", "BOATHOOK_")
CONDITIONS = frozenset({"contains", "lacks"})
SETTLED_SECONDS = 2.2
UNRELATED = ("post-step", "notification")

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Vector:
    """One case: what lies on the disk, what happens, and what must come of it."""

    id: str
    clause: str
    title: str
    data: Fields

    @property
    def expect(self) -> Fields:
        """Give what is expected, by the part of the contract that shows it."""
        found: Fields = self.data["expect"]
        return found

    @property
    def run(self) -> Fields:
        """Give the circumstances of the run: argument, directory, environment, flags."""
        found: Fields = self.data.get("run", {})
        return found


def load_vectors(folder: Path = VECTORS, pattern: str = "") -> list[Vector]:
    """Read all vectors whose id, clause or title contains a pattern."""
    found = []
    for path in sorted(folder.glob("*.json")):
        for data in json.loads(path.read_text(encoding="utf-8")):
            vector = Vector(data["id"], data["clause"], data["title"], data)
            if pattern.lower() in f"{vector.id} {vector.clause} {vector.title}".lower():
                found.append(vector)
    return found


# The box: a vector's files in a folder of their own


class Box:
    """The disk of one vector: `user`, `project` and `home` below a root."""

    def __init__(self, root: Path, vector: Vector) -> None:
        """Lay out the vector's files below a root."""
        self.root = root
        self.project, self.home = root / "project", root / "home"
        self.user = root / "config" / "agents"
        self.vector = vector
        for folder in (self.project, self.home, self.user.parent):
            folder.mkdir()
        for name, content in vector.data.get("files", {}).items():
            self._put(self.place(name), content)

    def place(self, name: str) -> Path:
        """Give the path that a name in a vector stands for."""
        top, _, rest = name.partition("/")
        return {"user": self.user, "project": self.project, "home": self.home}[top] / rest

    def fill(self, value: Any) -> Any:
        """Replace `${PROJECT}`, `${USER}`, `${HOME}`, `$repeat` and `$join` in a value of a vector."""
        if isinstance(value, str):
            for name, path in (("PROJECT", self.project), ("USER", self.user), ("HOME", self.home)):
                value = value.replace(f"${{{name}}}", str(path))
            return value
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        if set(value) == {"$join"}:
            return "".join(self.fill(value["$join"]))
        return {key: self.fill(item) for key, item in value.items()}

    @property
    def cwd(self) -> Path:
        """Give the directory in which the vector wants to be run."""
        return self.place(self.vector.run.get("cwd", "project"))

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment: ours without traces of any agent, all folders inside the box."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        env |= {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.user.parent)}
        env |= {f"XDG_{kind}_HOME": str(self.root / kind.lower()) for kind in ("STATE", "CACHE", "DATA")}
        for key, value in self.vector.run.get("env", {}).items():
            env.pop(key, None)
            if value is not None:
                env[key] = self.fill(value)
        return env

    def _put(self, path: Path, content: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict) and "link" in content:
            path.symlink_to(self.fill(content["link"]))
        elif isinstance(content, dict) and "base64" in content:
            path.write_bytes(base64.b64decode(content["base64"]))
        else:
            text = content["text"] if isinstance(content, dict) and "text" in content else content
            path.write_bytes(self.fill(text).encode())
        if isinstance(content, dict) and "mode" in content:
            path.chmod(int(content["mode"], 8))


@contextlib.contextmanager
def box(vector: Vector) -> Iterator[Box]:
    """Lay out a vector in a temporary folder that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="vector-", ignore_cleanup_errors=True) as root:
        yield Box(Path(root).resolve(), vector)


# Comparing


def shorten(value: Any, limit: int = 300) -> str:
    """Show a value in a mismatch, not too long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def same(want: Any, got: Any) -> bool:
    """Compare two JSON values whole; true is not 1."""
    return json.dumps(want, sort_keys=True) == json.dumps(got, sort_keys=True)


def is_condition(want: Any) -> bool:
    """Say whether an expected value is a condition and not a value."""
    return isinstance(want, dict) and bool(want) and set(want) <= CONDITIONS


def compare_condition(where: str, want: Fields, got: Any) -> list[str]:
    """Check `contains` and `lacks` of a text, or of the items of a list."""
    if got is None:
        return [f"{where}: expected {shorten(want)}, got nothing"]
    texts = [_as_text(item) for item in got] if isinstance(got, list) else [_as_text(got)]
    faults = []
    for part in _parts(want, "contains"):
        if not any(part in text for text in texts):
            faults.append(f"{where}: expected to contain {shorten(part)}, got {shorten(got)}")
    for part in _parts(want, "lacks"):
        if any(part in text for text in texts):
            faults.append(f"{where}: expected to lack {shorten(part)}, got {shorten(got)}")
    return faults


def _as_text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def _parts(want: Fields, key: str) -> list[str]:
    found = want.get(key, [])
    return [found] if isinstance(found, str) else list(found)


def compare(where: str, want: Any, got: Any) -> list[str]:
    """Compare a value: a condition, a list item by item, anything else whole."""
    if is_condition(want):
        return compare_condition(where, want, got)
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{where}: expected {len(want)} items {shorten(want)}, got {len(got)}: {shorten(got)}"]
        pairs = enumerate(zip(want, got, strict=True))
        return [fault for at, (one, other) in pairs for fault in _compare_item(f"{where}[{at}]", one, other)]
    return [] if same(want, got) else [f"{where}: expected {shorten(want)}, got {shorten(got)}"]


def _compare_item(where: str, want: Any, got: Any) -> list[str]:
    if isinstance(want, dict) and isinstance(got, dict) and not is_condition(want):
        return compare_keys(where, want, got)
    return compare(where, want, got)


def compare_keys(where: str, want: Fields, got: Any) -> list[str]:
    """Compare an object on the keys that are expected."""
    if not isinstance(got, dict):
        return [f"{where}: expected an object, got {shorten(got)}"]
    missing = object()
    faults = []
    for key, value in want.items():
        found = got.get(key, missing)
        if found is missing:
            faults.append(f"{where}.{key}: expected {shorten(value)}, got no such key")
        else:
            faults += compare(f"{where}.{key}", value, found)
    return faults


def compare_any_order(where: str, want: Sequence[Fields], got: Any) -> list[str]:
    """Compare objects on the keys that are expected, wherever in the list they stand."""
    if not isinstance(got, list) or len(want) != len(got):
        return [f"{where}: expected {len(want)} items {shorten(want)}, got {shorten(got, 900)}"]
    left = list(got)
    for one in want:
        found = next((other for other in left if not compare_keys(where, one, other)), None)
        if found is None:
            return [f"{where}: expected {shorten(one)} among {shorten(left, 900)}"]
        left.remove(found)
    return []


def compare_files(inside: Box, want: Fields) -> list[str]:
    """Compare what hooks left on the disk."""
    faults = []
    for name, content in want.items():
        path = inside.place(name)
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else None
        if content is None or text is None:
            if (content is None) != (text is None):
                faults.append(f"{name}: expected {'no file' if content is None else 'a file'}")
        elif isinstance(content, dict) and set(content) == {"json"}:
            faults += _compare_json(name, content["json"], text)
        else:
            faults += compare(name, content, text)
    return faults


def _compare_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError as fault:
        return [f"{name}: not JSON ({fault}): {shorten(text)}"]
    return compare_keys(name, want, got) if isinstance(want, dict) else compare(name, want, got)


def await_files(inside: Box, vector: Vector) -> list[str]:
    """Compare the files; where hooks run in the background, give them time."""
    want = inside.fill(vector.expect.get("files", {}))
    time.sleep(vector.run.get("wait_ms", 0) / 1000)
    late = bool(vector.expect.get("verdict", {}).get("background"))
    deadline = time.monotonic() + (BACKGROUND_SECONDS if late else 0)
    while (faults := compare_files(inside, want)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return faults


# Through the command line


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """Give stdout as JSON; a text that is none comes back with what stderr says."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            return f"exit {self.code}, no JSON: {self.stdout!r} {self.stderr!r}"


@dataclass(frozen=True)
class Terminal:
    """A command line in a box."""

    command: Sequence[str]
    inside: Box

    def call(self, *arguments: str, stdin: str = "") -> Ended:
        """Run the command to its end."""
        try:
            done = subprocess.run(
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
            self.call("run", stdin=json.dumps(self.inside.fill(event)))
        stdin = data["stdin"] if "stdin" in data else json.dumps(self.inside.fill(data["event"]))
        arguments = [run["event"]] if "event" in run else []
        debug = ["--debug"] if run.get("debug") else []
        return self.call("run", *arguments, *debug, *flags, stdin=stdin)

    def warm_up(self) -> None:
        """Let the files grow old and send an event of another kind, so that what an implementation keeps is kept."""
        time.sleep(SETTLED_SECONDS)
        text = json.dumps(self.inside.vector.data)
        kind = next(kind for kind in UNRELATED if kind not in text)
        self.call("run", stdin=json.dumps({"event_type": kind, "work_dir": str(self.inside.cwd)}))


def _command_verdict(terminal: Terminal, want: Any) -> list[str]:
    return compare_keys("verdict", want, terminal.dispatch("--json").json())


def _command_answer(terminal: Terminal, want: Fields) -> list[str]:
    ended = terminal.dispatch()
    return compare_answer(want, ended.code, ended.stdout, ended.stderr)


def compare_answer(want: Fields, code: int, stdout: str, stderr: str | None) -> list[str]:
    """Compare a native answer; stdout is nothing or JSON, white space at the end of stderr does not count."""
    faults = compare("exit", want["exit"], code)
    if want.get("stdout") == "":
        faults += compare("stdout", "", stdout.strip())
    elif "stdout" in want:
        faults += _compare_whole_json("stdout", want["stdout"], stdout)
    if "stderr" in want and stderr is not None:
        faults += compare("stderr", want["stderr"], stderr.rstrip())
    return faults


def _compare_whole_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError:
        got = text
    return [] if same(want, got) else [f"{name}: expected {shorten(want)}, got {shorten(got)}"]


def _command_list(terminal: Terminal, want: Any) -> list[str]:
    return compare_any_order("list", want, terminal.call("list", "--json").json())


def _command_prompt(terminal: Terminal, want: Any) -> list[str]:
    return compare("prompt", want, terminal.call("list", "--prompt").stdout)


def _command_check(terminal: Terminal, want: Fields) -> list[str]:
    strict = ["--strict"] if want.get("strict") else []
    ended = terminal.call("check", str(terminal.inside.place(want["path"])), "--json", *strict)
    faults = compare("check.exit", want["exit"], ended.code)
    return faults + compare_any_order("check", want["diagnostics"], ended.json())


def explain_arguments(event: Fields) -> list[str]:
    """Give the arguments of `explain` for an event."""
    arguments = ["explain", event["event_type"], "--json"]
    if "tool_name" in event:
        arguments += ["--tool", event["tool_name"]]
    if "tool_input" in event:
        arguments += ["--input", json.dumps(event["tool_input"])]
    return arguments


def _command_explain(terminal: Terminal, want: Any) -> list[str]:
    event = terminal.inside.fill(terminal.inside.vector.data["event"])
    return compare("explain", want, terminal.call(*explain_arguments(event)).json())


COMMANDS: dict[str, Callable[[Terminal, Any], list[str]]] = {
    "verdict": _command_verdict,
    "answer": _command_answer,
    "list": _command_list,
    "prompt": _command_prompt,
    "check": _command_check,
    "explain": _command_explain,
}


def check_command(vector: Vector, command: Sequence[str] = OWN_COMMAND, *, warm: bool = False) -> list[str]:
    """Run a vector through a command line, every expectation in a fresh box; give what did not come out.

    With `warm` the command has met the same files before, some seconds after they were written.
    """
    faults: list[str] = []
    files = "files" in vector.expect
    for part, checked in COMMANDS.items():
        if part in vector.expect:
            with box(vector) as inside:
                terminal = Terminal(command, inside)
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
    _verdict: Any = None

    def engine(self) -> Any:
        """Load the hooks of the box."""
        import boathook

        run = self.inside.vector.run
        config = None if "env" in run else self.inside.user
        debug = self.debug_lines.append if run.get("debug") else None
        return boathook.load(self.inside.cwd, config=config, state=self.inside.root / "state", debug=debug)

    def verdict(self) -> Any:
        """Dispatch the vector's event, and before it those that come before."""
        if self._verdict is None:
            data, run = self.inside.vector.data, self.inside.vector.run
            event = self.inside.fill(data["event"])
            if "event" in run:
                event["event_type"] = run["event"]
            with self.engine() as engine:
                for early in data.get("before", ()):
                    engine.dispatch(self.inside.fill(early))
                self._verdict = engine.dispatch(event)
        return self._verdict


def _library_verdict(library: Library, want: Any) -> list[str]:
    # through JSON and back, for that is how another program would see it
    return compare_keys("verdict", want, json.loads(json.dumps(library.verdict().to_json())))


def _library_answer(library: Library, want: Fields) -> list[str]:
    from boathook.dialects import native
    from boathook.errors import BoathookError

    data = library.inside.vector.data
    if "stdin" in data:
        try:
            native.read_event(data["stdin"].encode())
        except BoathookError as fault:
            return compare_answer(want, 1, "", str(fault))
        return ["the input was read, although it cannot be"]
    verdict = library.verdict()
    end = native.write_answer(verdict)
    told = "\n".join([*library.debug_lines, end.stderr.decode(), *verdict.warnings()])
    stderr = told if library.inside.vector.run.get("debug") else None
    return compare_answer(want, end.code or 0, end.stdout.decode(), stderr)


def _library_list(library: Library, want: Any) -> list[str]:
    with library.engine() as engine:
        rows = [_row(hook) for hook in engine.catalog.hooks]
    return compare_any_order("list", want, rows)


def _row(hook: Any) -> dict[str, Any]:
    row = {name: getattr(hook, name) for name in ("name", "scope", "priority", "mode", "state")}
    return {**row, "event": hook.kind and hook.kind.name, "problems": [str(problem) for problem in hook.problems]}


LIBRARY: dict[str, Callable[[Library, Any], list[str]]] = {
    "verdict": _library_verdict,
    "answer": _library_answer,
    "list": _library_list,
}


def has_library_part(vector: Vector) -> bool:
    """Say whether a vector expects something that the library shows."""
    return any(part in vector.expect for part in LIBRARY)


def check_in_process(vector: Vector) -> list[str]:
    """Run a vector through the library; give what did not come out."""
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
    except Exception as fault:  # noqa: BLE001  (whatever it is, it is not what the vector says)
        return [f"raised {type(fault).__name__}: {fault}"]


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
    """Give the mismatches and the table; in process counts of how many vectors the library shows anything."""
    out, tallies, total = io.StringIO(), dict[str, Tally](), Tally()
    for vector, inner, outer in zip(vectors, in_process, by_command, strict=True):
        for tally in (tallies.setdefault(vector.clause, Tally()), total):
            tally.count += 1
            tally.in_library += has_library_part(vector)
            tally.in_process += has_library_part(vector) and not inner
            tally.by_command += not outer
        for way, faults in (("in process", inner), ("command line", outer)):
            for fault in faults:
                print(f"{vector.id} ({way}): {fault}", file=out)
    print(f"{'clause':8}{'vectors':>9}{'in process':>14}{'command line':>14}", file=out)
    for clause, tally in [*sorted(tallies.items(), key=_by_number), ("all", total)]:
        library = f"{tally.in_process} of {tally.in_library}" if own else "-"
        print(f"{clause:8}{tally.count:>9}{library:>14}{tally.by_command:>14}", file=out)
    return out.getvalue()


def _by_number(row: tuple[str, Tally]) -> int:
    return int(row[0].removeprefix("S"))


if __name__ == "__main__":
    sys.exit(main())
