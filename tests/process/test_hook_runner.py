"""How deep an engine within a hook is: believed only where an engine has set it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from boathook.core.event import Event
from boathook.core.hook import Script
from boathook.core.verdict import Call
from boathook.process.hook_runner import DEPTH_VARIABLE, HookRunner, JobContext, SourceProject, count_nested_hooks
from boathook.process.reaper import MARK_VARIABLE, ProcessMark, is_ancestor_mark
from boathook.process.runner import ProcessRunner
from boathook.process.sandbox import probe_sandbox_levels
from tests.core.builders import a_hook
from tests.scratch_project import CALL


@pytest.mark.parametrize("text", ["3", "3:1", "999"])
@pytest.mark.parametrize("run", [None, "1-0-1-1", "1-1-1-1", "x", "self"])
def test_a_depth_that_no_engine_has_set_refuses_nothing(project, text, run):
    project.write_hook("guard", script="echo no >&2; exit 2")
    environ = {"BOATHOOK_DEPTH": text}
    if run is not None:
        environ["BOATHOOK_RUN"] = f"{os.getpid()}-1-1-1" if run == "self" else run
    done = project.run("run", "--json", stdin=json.dumps({**CALL, "work_dir": str(project.path)}), env=environ)
    assert [(run["status"], run["decision"]) for run in json.loads(done.stdout)["runs"]] == [("ok", "block")]


def test_a_mark_is_above_what_its_process_has_started():
    mark = ProcessMark().text
    code = f"import boathook.process.reaper as r; print(r.is_ancestor_mark({mark!r}), r.is_ancestor_mark(b'1-0-1-1'))"
    done = subprocess.run(["/bin/sh", "-c", f'{sys.executable} -c "{code}"; :'], capture_output=True, text=True)
    assert (done.stdout, done.stderr, is_ancestor_mark(mark)) == ("True False\n", "", False)


def test_without_proc_a_depth_is_believed(monkeypatch):
    monkeypatch.setattr("boathook.process.reaper._read_file", lambda _: b"")
    assert count_nested_hooks({DEPTH_VARIABLE: b"2", MARK_VARIABLE.encode(): b"x"}) == 2


NESTED = """
if [ "$BOATHOOK_DEPTH" = 1 ]; then exec "$PYTHON" -c '
import os
from boathook.process.hook_runner import copy_environment, count_nested_hooks
print(count_nested_hooks(copy_environment()))'; fi
"""


@pytest.mark.parametrize("level", ["basic", "isolated"])
def test_an_engine_within_a_hook_knows_how_deep_it_is(project, level):
    if level not in {offer.level for offer in probe_sandbox_levels() if offer.is_available}:
        pytest.skip("no such sandbox here")
    folder = project.write_hook("guard", script=NESTED)
    environ = {**project.environment, "PYTHON": sys.executable, "PYTHONPATH": str(Path(boathook.__file__).parents[1])}
    around = JobContext((SourceProject("HOOK.md", "native", str(project.path)),))
    event = Event.of("pre-tool-call", session_id="s", work_dir=str(project.path), timestamp="t")
    hooks = HookRunner(ProcessRunner(), around, environ={k.encode(): v.encode() for k, v in environ.items()})
    [end] = hooks.run((Call(a_hook(sandbox=level).replace(handler=Script(str(folder))), event),))
    assert (end.stdout, end.stderr) == (b"1\n", b"")


def test_so_does_one_within_an_async_hook_whose_engine_is_long_gone(project):
    """The process above it is the supervisor, not the engine that was asked."""
    project.write_hook("note", script=f"sleep 0.3\n{NESTED}", fields={"async": "true"})
    environ = {"PYTHON": sys.executable, "PYTHONPATH": str(Path(boathook.__file__).parents[1])}
    project.run("run", stdin=json.dumps({**CALL, "work_dir": str(project.path)}), env=environ)
    log, end = project.state / "background.log", time.monotonic() + 60
    while time.monotonic() < end and not (log.exists() and log.stat().st_size):
        time.sleep(0.02)
    assert log.read_text().splitlines()[1:] == ["  stdout: 1"]
