"""Async hooks through the whole engine: what they leave is ended, and what did not run is reported."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import boathook
from tests.scratch_project import ScratchProject

CALL = {"tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}


def run_event(project: ScratchProject, **env: str):
    return project.run("run", "pre-tool-call", stdin=json.dumps(CALL), env=env, trust_all=True)


def test_an_async_hook_that_cannot_be_read_and_is_set_to_block_blocks(project):
    fields = {"async": "true", "on_failure": "block", "matcher": "{tool: '(?=x'}"}
    project.write_hook("guard", scope="project", fields=fields)
    done = run_event(project)
    assert done.returncode == 2
    assert "does not compile" in done.stderr


def test_an_async_hook_whose_needs_are_not_met_is_reported(project):
    fields = {"async": "true", "requires": "{bins: [no-such-program]}"}
    project.write_hook("note", scope="project", fields=fields)
    done = run_event(project)
    expected = "boathook: hook 'note' did not run: it requires no-such-program, not found on the PATH\n"
    assert (done.returncode, done.stderr) == (0, expected)


def test_what_an_async_hook_leaves_is_ended_though_another_still_runs(project):
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    leaves = f'setsid sh -c "exec sleep 77.7 # {mark}" &'
    waits = "until [ -e end ]; do sleep 0.05; done"
    project.write_hook("aa", leaves, scope="project", fields={"async": "true", "timeout": 300})
    project.write_hook("bb", waits, scope="project", fields={"async": "true"})
    run_event(project, LEFT_MARK=mark)
    log = project.state / "background.log"
    limit = time.monotonic() + 60
    while not (log.exists() and "hook 'aa'" in log.read_text()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert _find_processes(mark, "sleep\x0077.7") == []
    assert "hook 'bb'" not in log.read_text()
    (project.path / "end").touch()


def _find_processes(mark: str, command: str) -> list[int]:
    pids = []
    for folder in Path("/proc").iterdir():
        try:
            if mark.encode() in (folder / "environ").read_bytes() and command in (folder / "cmdline").read_text():
                pids.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return pids


def test_async_hooks_that_are_never_started_are_in_the_log(project):
    for number in range(11):
        fields = {"async": "true", "timeout": 50_000}
        project.write_hook(f"h{number:02}", "sleep 60", scope="project", fields=fields)
    engine = boathook.load(project.path, config=project.base / "none", trust_all=True)
    engine.dispatch({"event_type": "PreToolUse", **CALL})
    engine._parts.background.close()
    log = (project.state / "background.log").read_text()
    assert [log.count(f"hook 'h{number:02}'") for number in range(11)] == [1] * 11
    assert log.count("never started") + log.count("failed: cancelled") == 11


def test_a_log_that_cannot_be_written_is_reported_and_the_async_hook_runs_all_the_same(project):
    project.write_hook("note", "touch ran", scope="project", fields={"async": "true"})
    project.state.parent.write_text("")
    done = run_event(project)
    limit = time.monotonic() + 60
    while not (project.path / "ran").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert (done.returncode, "the output of async hooks is lost" in done.stderr) == (0, True)
    assert (project.path / "ran").exists()
