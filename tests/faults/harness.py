"""Laying out projects with hooks, firing events at them in two ways under a hard watchdog, and looking what is left.

In process means: in a child interpreter (`probe.py`) that loads the engine and dispatches; it is killed by its pid when it does not
come back, so a hang fails one test and not the suite. Most are forked from a warm process (`tests/forked.py`). The time that
counts is taken inside it, around the dispatch, so the start of an interpreter is not measured. By command means `boathook run`.

Leftovers are found by a mark, unique to each project, in the environment, the command line or the name of every process there is.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests import forked
from tests.scratch_project import HOOK_ENTRY, ScratchProject
from tests.warm.warm_harness import TestResident

HERE = Path(__file__).resolve().parent
GRACE = 0.5
HARD_LIMIT = 60.0
# The timeout of a hook that never ends, and of one that ends by itself, however busy the machine is; in seconds and milliseconds.
SHORT, SHORT_MS = 0.4, 400
LONG, LONG_MS = 25.0, 25_000
# How much memory a dispatch may take; of a command the largest of its processes counts, and a hook may be one of them.
GROWTH_LIMIT, COMMAND_GROWTH_LIMIT = 32 << 20, 64 << 20
# What a command takes before it reads anything.
START_MEMORY = 32 << 20
MARK = "FAULT_MARK"
# The kernel keeps so many bytes of the name of a process.
NAME_LENGTH = 15
WAYS = ("in process", "by command")
WARM_WAY = "by the warm engine"
TOOL_CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}}
ORDINARY = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "TMPDIR")


class Hung(AssertionError):
    """Something did not come back within the hard limit and was killed."""


@dataclass
class Result:
    """What one event came to, and what its dispatch cost and left behind."""

    verdict: dict[str, Any]
    seconds: float = 0.0
    growth: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def decision(self) -> str:
        return self.verdict["decision"]

    @property
    def reasons(self) -> list[str]:
        return self.verdict["reasons"]

    @property
    def runs(self) -> list[tuple[str, str, int | None, str]]:
        """Return hook, status, exit code and decision of every run."""
        return [(r["hook"], r["status"], r["exit_code"], r["decision"]) for r in self.verdict["runs"]]

    @property
    def why(self) -> list[str | None]:
        """Return the reason of every run."""
        return [run["reason"] for run in self.verdict["runs"]]

    @property
    def run_notes(self) -> list[str]:
        return [note for run in self.verdict["runs"] for note in run["notes"]]

    @property
    def skipped(self) -> dict[str, str]:
        return {skip["hook"]: skip["why"] for skip in self.verdict["skipped"]}


@dataclass
class Ended:
    """A process that ended."""

    code: int
    stdout: bytes
    stderr: bytes
    growth: int = field(default=0, compare=False)


class FaultProject(ScratchProject):
    """A scratch project whose processes carry a mark and have an environment of few variables."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, trust_all=True)
        self.warm_client = ""
        self.resident: TestResident | None = None
        self.mark = f"fault-{uuid.uuid4().hex}"
        # What ran before cannot carry the mark, and need not be read each time.
        self.older = frozenset(os.listdir("/proc"))
        self.make_folders()
        for folder in (self.hooks, self.config / "hooks", self.scratch):
            folder.mkdir(parents=True)

    @property
    def hooks(self) -> Path:
        return self.hooks_folder("project")

    @property
    def log(self) -> Path:
        return self.state / "background.log"

    @property
    def scratch(self) -> Path:
        return self.base / "scratch"

    @property
    def environment(self) -> dict[str, str]:
        passed_on = {name: os.environ[name] for name in ORDINARY if name in os.environ}
        return {
            **passed_on,
            **self.variables,
            "SCRATCH": str(self.scratch),
            "PYTHON": sys.executable,
            MARK: self.mark,
        }

    def write_hook(
        self,
        name: str,
        script: str | bytes | None = "",
        *,
        scope: str = "project",
        script_name: str = "run.sh",
        mode: int = 0o755,
        manifest: str | bytes | None = None,
        **fields: object,
    ) -> Path:
        """Write a hook, of the project unless another scope is given; more arguments are fields of its manifest."""
        if "background" in fields:
            fields["async"] = fields.pop("background")
        files = {"manifest": manifest, "script_name": script_name, "mode": mode}
        return super().write_hook(name, script, scope=scope, fields=fields, **files)

    def write_raw_script(self, name: str, data: bytes, *, script_name: str = "run.sh", mode: int = 0o755) -> Path:
        """Write the exact bytes of a script into a hook folder."""
        path = self.hooks / name / "scripts" / script_name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
        return path

    def fire(self, way: str = WAYS[0], event: dict[str, Any] | None = None, **options: Any) -> Result:
        """Send an event one way and return the result."""
        # Code that makes a host of some kind needs a process of its own.
        if way == WARM_WAY and not options.get("host"):
            return self.fire_by_resident(event, **options)
        return self.fire_in_process(event, **options) if way == WAYS[0] else self.fire_by_command(event, **options)

    def fire_by_resident(self, event: dict[str, Any] | None = None, *, limit: float = HARD_LIMIT, **_: Any) -> Result:
        """Send an event through the client of the warm engine."""
        assert self.resident
        self.resident.lead_here(self.state)
        before = self.resident.count_events()
        words = ("--state", str(self.state), "--trust-all", "--project", str(self.path), "--json")
        argv = [self.warm_client, sys.executable, "-I", "-S", HOOK_ENTRY, *words]
        line = self.make_stdin(event)
        ended = watched(argv, self.environment, cwd=self.path, data=line, limit=limit, close_fds=True)
        assert self.resident.count_events() == before + 1
        assert ended.code == 0, ended.stderr.decode("utf-8", "replace")
        return Result(json.loads(ended.stdout), growth=ended.growth)

    def fire_in_process(
        self, event: dict[str, Any] | None = None, *, host: str = "", limit: float = HARD_LIMIT
    ) -> Result:
        """Dispatch in a child interpreter; `host` is code that makes it a host of some kind first."""
        found = self.probe(f"{host}\nreport(measure_all(EVENT))", event, limit=limit)
        return Result(found["verdict"], found["seconds"], found["growth"], found)

    def probe(self, code: str, event: dict[str, Any] | None = None, *, limit: float = HARD_LIMIT) -> dict[str, Any]:
        """Run code in a child interpreter that knows the event and the names of `probe.py`; return what it reports."""
        argv, env = self.make_probe_command(code)
        ended = watched(argv, env, cwd=self.path, data=self.make_stdin(event), limit=limit)
        assert ended.code == 0, ended.stderr.decode("utf-8", "replace")
        return json.loads(ended.stdout)

    def make_probe_command(self, code: str) -> tuple[list[str], dict[str, str]]:
        """Return the command and the environment of a child interpreter."""
        env = {**self.environment, "PROBE_PROJECT_DIR": str(self.path)}
        imports = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom probe import *\n"
        return [sys.executable, "-c", f"{imports}{code}\n"], env

    def fire_by_command(
        self, event: dict[str, Any] | None = None, *, host: str = "", limit: float = HARD_LIMIT
    ) -> Result:
        """Send an event through `boathook run --json`; `host` is code that runs first."""
        ended = self.run_event(event, "--json", limit=limit, host=host)
        assert ended.code == 0, ended.stderr.decode("utf-8", "replace")
        return Result(json.loads(ended.stdout), growth=ended.growth)

    def run_plain(self, event: dict[str, Any] | None = None) -> Ended:
        """Send an event through `boathook run` as a host does."""
        return self.run_event(event)

    def run_event(
        self,
        event: dict[str, Any] | None,
        *args: str,
        data: bytes | None = None,
        limit: float = HARD_LIMIT,
        host: str = "",
        **more: Any,
    ) -> Ended:
        """Run `boathook run` on an event."""
        line = self.make_stdin(event) if data is None else data
        return watched(
            self.make_run_argv(*args, host=host), self.environment, cwd=self.path, data=line, limit=limit, **more
        )

    def make_run_argv(self, *args: str, host: str = "") -> list[str]:
        """Return the command line of `boathook run`; `host` is code that runs first in its process."""
        code = f"{host}\nimport runpy; runpy.run_module('boathook', run_name='__main__', alter_sys=True)"
        program = ["-c", code] if host else ["-m", "boathook"]
        return [sys.executable, *program, "run", "--trust-all", "--project", str(self.path), *args]

    def make_event(self, event: dict[str, Any] | None = None) -> dict[str, Any]:
        return {**TOOL_CALL, "session_id": "s", "work_dir": str(self.path), **(event or {})}

    def make_stdin(self, event: dict[str, Any] | None = None) -> bytes:
        return json.dumps(self.make_event(event)).encode()

    def read_records(self, result: Result) -> list[str]:
        """Return the decisions that the ledger holds for a dispatch: it is to be one."""
        lines = [line for path in self.state.glob("*.jsonl") for line in path.read_bytes().splitlines()]
        return [r["decision"] for r in map(json.loads, lines) if r["id"] == result.verdict["id"]]

    def list_survivors(self) -> list[str]:
        """Return every process that carries the mark of this project, zombies aside."""
        return processes_with(self.mark.encode(), self.older)

    def wait_until_gone(self, seconds: float = 30.0) -> list[str]:
        """Wait until no process of this project is left; return those that are."""
        wait_until(lambda: not self.list_survivors(), seconds)
        return self.list_survivors()

    def end_all(self) -> None:
        """Kill what a failed test left."""
        for line in self.list_survivors():
            try:
                os.kill(int(line.split()[0]), signal.SIGKILL)
            except ProcessLookupError:
                continue


def python(code: str) -> str:
    """Return a script in Python."""
    return f"#!{sys.executable} -IS\n{code}\n"


def assert_clean(project: FaultProject, result: Result, timeout: float) -> None:
    """Hold a finished dispatch against every promise: back in time, nothing left, nothing leaked, on record, in bounds.

    Its seconds are those of a machine that is not busy (see `probe.Stopwatch`).
    """
    assert project.list_survivors() == []
    reported = bool(result.runs or result.verdict["background"] or result.verdict["id"])
    assert project.read_records(result) == ([result.decision] if reported else [])
    if "fds" not in result.notes:
        assert result.growth < COMMAND_GROWTH_LIMIT
        return
    assert result.growth < GROWTH_LIMIT
    assert result.seconds <= timeout + GRACE
    assert result.notes["fds"][0] == result.notes["fds"][1]
    assert result.notes["children"] == []


def watched(
    argv: list[str],
    env: dict[str, str],
    *,
    cwd: Path,
    data: bytes = b"",
    limit: float = HARD_LIMIT,
    **more: Any,
) -> Ended:
    """Run a command, mostly by a warm process; kill it by its pid if it does not end.

    It writes to files, so no process can hold us up with a pipe.
    """
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write(data)
        stdin.seek(0)
        server = None if more or forked.goes_apart() else forked.server_for(env)
        if server is not None:
            order = forked.make_order(argv, env, cwd, start_new_session=True)
            files = [file.fileno() for file in (stdin, stdout, stderr)]
            end = forked.run_with_files(server, order, files, limit=limit, name=env[MARK][:NAME_LENGTH])
            if end is None:
                raise Hung(f"no end in time: {argv!r:.300}")
            code, growth = end
            return Ended(code, _all(stdout), _all(stderr), growth)
        process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, **more
        )
        try:
            memory = _watch(process, time.monotonic() + limit)
        finally:
            process.kill()
            process.wait()
        return Ended(process.returncode, _all(stdout), _all(stderr), memory - START_MEMORY)


def _watch(process: subprocess.Popen[bytes], end: float) -> int:
    """Wait for a process and return the most memory it was seen to use; raise Hung at the end of all patience."""
    peak = 0
    while process.poll() is None:
        if time.monotonic() > end:
            raise Hung(f"no end in time: {process.args!r:.300}")
        found = re.search(rb"VmHWM:\s+(\d+) kB", _read(f"/proc/{process.pid}/status"))
        peak = max(peak, int(found[1]) * 1024) if found else peak
        time.sleep(0.01)
    return peak


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def processes_with(mark: bytes, older: frozenset[str] = frozenset()) -> list[str]:
    """Find processes, but for older ones, by a mark in their environment or command line, or by its beginning as their name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid() or pid in older:
            continue
        message = b"".join(_read(f"/proc/{pid}/{name}") for name in ("environ", "cmdline"))
        if mark in message or _read(f"/proc/{pid}/comm").rstrip() == mark[:NAME_LENGTH]:
            words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
            found.append(f"{pid} {words[:120]}")
    return found


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def wait_until(true: Any, seconds: float = 60.0) -> bool:
    """Look again and again until something is true; return whether it became so in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return bool(true())
