"""Where hooks run and where they are looked for: no folder that a model can choose, close or remove disables a guard."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import boathook
from boathook.entry import run_once
from tests.scratch_project import CALL, HOOK_ENTRY, ScratchProject

# Agents whose answer to a blocked call is easy to read, each with its name for the event and for its shell.
HOSTS = {
    "native": ("pre-tool-call", "Shell"),
    "claude": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "copilot": ("preToolUse", "bash"),
    "cursor": ("preToolUse", "Shell"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "kimi-code": ("PreToolUse", "Bash"),
    "qwen": ("PreToolUse", "run_shell_command"),
    "vscode": ("PreToolUse", "run_in_terminal"),
}
# Work dirs that an ordinary user cannot enter.
CLOSED = ("project/closed", "/root", "/proc/1/cwd")
# Work dirs that are no folders, for every user.
ODD = ("project/gone", "project/file", "project/broken")


def send(
    project: ScratchProject,
    host: str,
    work_dir: str,
    *flags: str,
    start: str = "",
    command: str = "ls",
    env: dict[str, str] | None = None,
    **fields: object,
) -> subprocess.CompletedProcess[str]:
    """Be a host: start the entry before a shell call, in the project or in `start`."""
    event, tool = HOSTS[host]
    payload = {"tool_name": tool, "tool_input": {"command": command}, "session_id": "s", **fields}
    payload |= {"event_type": event, "work_dir": work_dir} if host == "native" else {"hook_event_name": event}
    payload |= {"cwd": work_dir} if host != "native" else {}
    argv = [sys.executable, "-I", "-S", HOOK_ENTRY, "--host", host, "--event", event, *flags]
    return subprocess.run(
        argv,
        input=json.dumps(payload),
        cwd=start or project.path,
        env={**project.environment, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the host takes an answer as a refusal."""
    return done.returncode == 2 or '"deny"' in done.stdout


@pytest.fixture
def guarded(project: ScratchProject) -> ScratchProject:
    """A project without hooks, and a guard of the user that refuses everything and says where it ran."""
    project.write_hook("guard", 'echo "ran in $(pwd -P)" >&2; exit 2')
    (project.path / "closed").mkdir(mode=0)
    (project.path / "file").write_text("")
    (project.path / "broken").symlink_to("nowhere")
    return project


@pytest.mark.ordinary_user
@pytest.mark.parametrize("folder", CLOSED)
@pytest.mark.parametrize("host", ["native", "claude", "codex"])
def test_a_work_dir_that_cannot_be_entered_does_not_disable_a_guard(guarded, host, folder):
    done = send(guarded, host, os.path.join(guarded.base, folder))
    assert is_refused(done), done.stdout + done.stderr
    assert "ran in" in done.stdout + done.stderr


@pytest.mark.parametrize("folder", ODD)
@pytest.mark.parametrize("host", ["native", "kimi-code"])
def test_a_work_dir_that_is_not_a_folder_does_not_disable_a_guard(guarded, host, folder):
    done = send(guarded, host, os.path.join(guarded.base, folder))
    assert is_refused(done), done.stdout + done.stderr
    assert "ran in" in done.stdout + done.stderr


def test_a_hook_runs_in_the_project_if_its_work_dir_is_gone_else_in_the_home_else_at_the_top(guarded):
    gone = f"{guarded.path}/gone"
    done = send(guarded, "native", gone)
    assert f"ran in {guarded.home}\n" in done.stderr
    assert f"the work dir '{gone}' does not exist; it was run in {guarded.home}\n" in done.stderr
    done = send(guarded, "native", gone, "--project", str(guarded.path))
    assert f"ran in {guarded.path}\n" in done.stderr
    assert f"it was run in {guarded.path}\n" in done.stderr
    done = send(guarded, "native", gone, "--config", str(guarded.config), env={"HOME": f"{guarded.base}/no-home"})
    assert "ran in /\n" in done.stderr
    assert "it was run in /\n" in done.stderr


def test_the_message_says_what_is_wrong_with_the_work_dir(guarded):
    done = send(guarded, "native", f"{guarded.path}/file")
    assert f"the work dir '{guarded.path}/file' is not a folder; it was run in {guarded.home}\n" in done.stderr


@pytest.mark.ordinary_user
def test_a_closed_folder_is_not_a_project_and_is_reported(guarded):
    closed = guarded.path / "closed"
    done = send(guarded, "native", str(closed), "--json")
    verdict = json.loads(done.stdout)
    assert [run["hook"] for run in verdict["runs"]] == ["guard"]
    (skip,) = verdict["skipped"]
    assert skip["hook"] == str(closed)
    assert "cannot be entered" in skip["why"]
    # and below a project with a trusted guard, that project is found
    guarded.write_hook("project-guard", "echo project >&2; exit 2", scope="project", fields={"priority": 900})
    guarded.trust()
    done = send(guarded, "native", str(closed))
    assert done.stderr.startswith("project\n")


@pytest.mark.ordinary_user
def test_a_closed_folder_above_the_project_is_reported_at_every_event(project):
    project.write_hook("guard", "exit 2", scope="project")
    project.trust()
    above = project.base
    argv = [sys.executable, "-I", "-S", HOOK_ENTRY, "--json", "--config", "/nowhere", "--state", "/nowhere"]
    event = json.dumps({**CALL, "work_dir": str(project.path)})
    above.chmod(0)
    try:
        done = subprocess.run(
            argv, input=event, env={"HOME": "/nowhere"}, cwd="/", capture_output=True, text=True, check=False
        )
    finally:
        above.chmod(0o755)
    assert str(above) in [skip["hook"] for skip in json.loads(done.stdout)["skipped"]]


@pytest.mark.ordinary_user
def test_a_project_whose_agents_folder_is_closed_is_reported(project):
    folder = project.write_hook("guard", "exit 2", scope="project").parent.parent
    project.trust()
    folder.chmod(0)
    try:
        verdict = json.loads(send(project, "native", str(project.path), "--json").stdout)
    finally:
        folder.chmod(0o755)
    assert [skip["hook"] for skip in verdict["skipped"]] == [f"{folder}/hooks"]


def test_a_folder_that_is_closed_in_the_last_moment_does_not_stop_a_guard(project, monkeypatch):
    project.write_hook("guard", "echo no >&2; exit 2")
    folder = project.path / "sub"
    folder.mkdir()
    real = os.access

    def remove_then_ask(path, *rest, **more):
        answer = real(path, *rest, **more)
        if path == str(folder):
            folder.rmdir()
        return answer

    with boathook.load(project.path) as engine:
        monkeypatch.setattr(os, "access", remove_then_ask)
        verdict = engine.dispatch({**CALL, "work_dir": str(folder)})
    assert verdict.reasons == ("no",)
    assert any("cannot be entered any more; it was run in /" in note for run in verdict.runs for note in run.notes)


@pytest.mark.parametrize("host", HOSTS)
def test_an_internal_error_before_a_tool_call_is_a_refusal(project, host, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/1/cwd")

    monkeypatch.setattr("boathook.assembly.load_for_event", fail)
    event, tool = HOSTS[host]
    payload = {"tool_name": tool, "tool_input": {"command": "ls"}}
    payload["event_type" if host == "native" else "hook_event_name"] = event
    for flags in ([], ["--event", event]):
        code = run_once.main(["--host", host, *flags], json.dumps(payload).encode())
        printed = capfd.readouterr()
        assert code == 2 or '"deny"' in printed.out
        assert "internal error" in printed.err


@pytest.mark.parametrize(("host", "event"), [("native", "pre-agent-turn-stop"), ("claude", "Stop"), ("codex", "Stop")])
def test_an_internal_error_does_not_send_an_agent_back_to_work(project, host, event, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("boathook.assembly.load_for_event", fail)
    key = "event_type" if host == "native" else "hook_event_name"
    assert run_once.main(["--host", host], json.dumps({key: event}).encode()) == 1
    assert capfd.readouterr().out == ""
