"""When the warm engine starts and ends, and the command that agents are given where it is on."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.cli.setup_plan import SetupPlan
from boathook.cli.setup_steps import turn_warm_on
from boathook.cli.warm import describe_warm
from boathook.core.verdict import Exit
from boathook.sources.installed_line import parse_command, write_installed_line
from boathook.warm.resident_control import list_residents, stop_residents
from tests.scratch_project import HOOK_ENTRY
from tests.warm.warm_harness import COLD, PATIENCE_SECONDS, Client, TestResident, wait_until

EVENT = ("--event", "PreToolUse")
CALL = {"tool_name": "Shell", "tool_input": {"command": "ls"}}
ON = '[hooks]\nwarm = "on"\n'


@pytest.fixture
def state(project):
    """The state folder; whatever runs there in the end is ended."""
    yield str(project.state)
    stop_residents(str(project.state))
    wait_until(lambda: not list_residents(str(project.state)), "the end of the resident")


def make_environment(project, **variables: str) -> dict[str, str]:
    # The tests themselves may run in continuous integration.
    return {**{k: v for k, v in project.environment.items() if k != "CI"}, **variables}


def run_cold(project, *args: str, **variables: str) -> tuple[int, bytes, bytes]:
    words = ("--config", str(project.config), *EVENT, *args)
    return Client(project, "/usr/bin/env").run(CALL, *words, env=make_environment(project, **variables))


def test_a_cold_run_starts_it_where_it_is_on(project, state, patient_client):
    project.write_hook("guard", script="echo no >&2; exit 2")
    project.write_hooks_toml("user", ON)
    assert run_cold(project) == (2, b"", b"no\n")
    wait_until(lambda: list_residents(state), "the start of the resident")
    words = ("--config", str(project.config), *EVENT)
    answer = Client(project, patient_client).run(CALL, *words, env=make_environment(project))
    assert answer == (2, b"", b"no\n")
    (resident,) = list_residents(state)
    assert resident.forked == 1
    records = [json.loads(line) for line in project.run("log", "--json", "--state", state).stdout.splitlines()]
    (record,) = [one for one in records if one.get("path") == "warm"]
    why = project.run("why", record["id"], "--state", state).stdout
    assert f"; the agent waited on the warm path for {record['waited_ms']} ms" in why
    assert f"{record['waited_ms']} ms warm" in project.run("log", "--state", state).stdout


@pytest.mark.parametrize("way", ["cold", "warm"])
def test_a_record_has_the_time_that_the_agent_waited_since_its_command_was_started(project, request, way):
    project.write_hook("guard")
    client = request.getfixturevalue(way)
    slow_start = ("/bin/sh", "-c", 'sleep 0.5; exec "$@"', "sh")
    assert client.run(CALL, "--trust-all", *EVENT, before=slow_start)[0] == 0
    (record,) = [
        json.loads(line) for line in project.run("log", "--json", "--state", str(project.state)).stdout.splitlines()
    ]
    # The kernel keeps the start of a process in steps of 10 ms.
    assert (record["path"], record["waited_ms"] >= max(490, record["ms"] - 1)) == (way, True)


@pytest.mark.parametrize(
    ("text", "variables"), [("[hooks]\n", {}), (ON, {"CI": "true"}), (ON, {"BOATHOOK_RUN": "1-2-3"})]
)
def test_it_is_not_started_unless_it_is_on_nor_in_ci_nor_in_a_hook(project, state, text, variables):
    project.write_hooks_toml("user", text)
    assert run_cold(project, **variables)[0] == 0
    assert not os.path.exists(f"{state}/warm")


def test_a_project_cannot_turn_it_on(project, state):
    project.write_hooks_toml("project", ON)
    run_cold(project, "--trust-all")
    assert not os.path.exists(f"{state}/warm")


def test_the_commands_start_show_and_stop_it(project, state):
    if os.environ.get("CI"):
        assert project.run("warm", "start").returncode != 0
        return
    assert "no warm engine runs" in project.run("warm", "status").stdout
    started = project.run("warm", "start")
    assert (started.returncode, started.stderr) == (0, "")
    assert "No installed command asks it" in started.stdout
    (resident,) = list_residents(state)
    # One that is there already is asked, and that is no event.
    assert project.run("warm", "start").returncode == 0
    status = project.run("warm", "status").stdout
    assert (f"process {resident.pid}: answered 0 events" in status, "Left to the cold path" in status) == (True, False)
    assert "No installed command asks it" in status
    assert "warm engine" in project.run("doctor").stdout
    assert str(resident.pid) in project.run("warm", "stop").stdout
    wait_until(lambda: not os.path.exists(f"/proc/{resident.pid}") or not list_residents(state), "its end")
    wait_until(lambda: not os.path.exists(f"{state}/warm") or not os.listdir(f"{state}/warm"), "its files are gone")


def test_where_it_cannot_run_every_command_names_the_reason(project, state):
    project.write_hooks_toml("user", ON)
    words = ["setarch", "-R", sys.executable, "-m", "boathook"]
    env = make_environment(project, CI="")
    for command in (
        ["warm", "start"],
        ["warm", "status"],
        ["setup", "--yes", "--warm", "--agent", "claude"],
        ["doctor"],
    ):
        done = subprocess.run([*words, *command], capture_output=True, text=True, cwd=project.path, env=env)
        assert "it cannot run here: this process has a personality" in done.stdout or (
            "the warm engine cannot run here: this process has a personality" in done.stderr
        ), (command, done)
    assert "warning warm engine" in done.stdout, done.stdout


def test_only_installed_commands_that_ask_it_count(project, state):
    project.write_hooks_toml("user", ON)
    assert project.run("install", "codex", "--yes", "--state", state).returncode == 0
    assert "No installed command" not in project.run("warm", "status", "--state", state).stdout
    (path,) = (path for path in project.home.rglob("*") if path.is_file() and "--engine warm" in read_loosely(path))
    path.write_text(path.read_text().replace("--engine warm", "--engine cold"))
    assert "No installed command asks it" in project.run("warm", "status", "--state", state).stdout


def read_loosely(path: Path) -> str:
    return path.read_text(errors="replace")


def test_it_is_not_for_continuous_integration(project):
    done = project.run("warm", "start", env={"CI": "true"})
    assert (done.returncode != 0, "continuous integration" in done.stderr) == (True, True)


def test_it_ends_with_the_last_uninstalled_agent_and_when_install_finds_it_off(project, state):
    def run(*words: str) -> None:
        done = project.run(*words, "--yes", "--state", state)
        assert done.returncode == 0, done.stdout + done.stderr

    project.write_hooks_toml("user", ON)
    for host in ("codex", "gemini"):
        run("install", host)
    resident = TestResident(Path(state))
    run("uninstall", "codex")
    assert resident.find_status()
    run("uninstall", "gemini")
    assert resident.process.wait(PATIENCE_SECONDS) == 0
    second = TestResident(Path(state))
    run("install", "gemini")
    assert second.find_status()
    project.write_hooks_toml("user", "[hooks]\n")
    run("install", "gemini")
    assert second.process.wait(PATIENCE_SECONDS) == 0


# The installed command.

WORDS = [
    *COLD,
    "--host",
    "claude",
    "--event",
    "PreToolUse",
    "--state",
    "/s p/state",
    "--repair",
    "do; it",
    "--broken",
    "2",
]
FALLBACK = Exit(2, b"", b"missing\n")


def make_line(client: str) -> str:
    return write_installed_line(WORDS, FALLBACK, client=client)


def test_the_line_with_a_client_is_ours_and_no_other_is():
    line = make_line("/a b/boathook/warm/client")
    command = parse_command(line)
    assert command is not None
    assert (command.host, command.event, command.hook_entry) == ("claude", "PreToolUse", HOOK_ENTRY)
    assert parse_command(make_line("/tmp/evil")) is None
    assert parse_command(line.replace("--host claude", "--host codex", 1)) is None
    assert parse_command(line.replace("[ -s '/a b/boathook/warm/client' ]", "[ -s /x/boathook/warm/client ]")) is None


def run_line(client: str, project) -> tuple[int, bytes, bytes]:
    line = make_line(client).replace("'/s p/state'", shlex.quote(str(project.state)))
    line = line.replace("--host claude", "--host native")
    data = json.dumps(CALL).encode()
    settings = {"input": data, "capture_output": True, "cwd": project.path, "env": project.environment}
    shells = [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]
    runs = [subprocess.run([shell, "-c", line], **settings) for shell in shells]
    # A shell may report that the client was killed, before anything else.
    answers = {(done.returncode, done.stdout, done.stderr[-3:]) for done in runs}
    assert len(answers) == 1
    return answers.pop()


# Programs that cannot run: for another machine, without their interpreter, of no kind at all.
DAMAGES = (b"\x7fELF\x01\x02\x01" + bytes(200), b"#!/nowhere\n", b"exit 1\n", bytes(100))


def test_the_line_works_with_the_client_without_it_and_with_one_that_cannot_run(project, hasty_client, tmp_path):
    project.write_hook("guard", script="echo no >&2; exit 2")
    folder = tmp_path / "boathook/warm"
    folder.mkdir(parents=True)
    client = folder / "client"
    assert run_line(str(client), project) == (2, b"", b"no\n")
    client.write_bytes(b"")
    client.chmod(0o755)
    assert run_line(str(client), project) == (2, b"", b"no\n")
    whole = Path(hasty_client).read_bytes()
    for damaged in (*DAMAGES, *(whole[:size] for size in (1, 64, 4096, len(whole) // 2, len(whole) - 20_000))):
        client.write_bytes(damaged)
        assert run_line(str(client), project) == (2, b"", b"no\n"), len(damaged)
    client.unlink()
    os.link(hasty_client, client)
    assert run_line(str(client), project) == (2, b"", b"no\n")


def test_a_client_whose_interpreter_is_gone_refuses_as_a_broken_engine(project, hasty_client):
    words = [hasty_client, "/gone/python", *WORDS[1:]]
    done = subprocess.run(words, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.endswith(b"so no hook decided. Fix: do; it\n")


def test_the_client_in_python_is_answered_by_the_resident_too(project, warm, cold, shared_resident):
    project.write_hook("guard", script="echo no >&2; exit 2")
    before = shared_resident.count_events()

    def is_accepted() -> bool:
        # It has 50 ms to be accepted, which a busy machine may not manage at once.
        assert cold.run(CALL, *EVENT, "--engine", "warm") == (2, b"", b"no\n")
        return shared_resident.count_events() > before

    assert warm.project is cold.project
    wait_until(is_accepted, "an event by the client in Python")


@pytest.mark.parametrize(
    ("content", "why"), [(None, "this package has none in C"), ("#!/bin/false\n", "does not run here")]
)
def test_why_the_client_is_the_slower_one_is_explained_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, why: str
) -> None:
    client = tmp_path / "client"
    if content:
        client.write_text(content)
        client.chmod(0o755)
    monkeypatch.setattr("boathook.warm.resident_control._CLIENT", str(client))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    plan = SetupPlan(agents=(), pack=None, files=(), turns_warm_on=True)
    [step] = turn_warm_on(plan, str(tmp_path / "state"))
    texts = [describe_warm(str(tmp_path / "state"), is_on=True)[0], step.text]
    assert step.is_ok
    for text in texts:
        assert "in Python, which is slower, because " in text
        assert why in text
        assert "install boathook again from its source, with a C compiler (cc or gcc) on the PATH" in text


def test_where_it_cannot_run_setup_explains_what_to_do_without_it(project) -> None:
    for words in (("setup", "--agent", "claude", "--yes", "--warm"), ("warm", "start")):
        done = project.run(*words, env={"CI": "true"})
        assert done.returncode == 1
        assert "the warm engine cannot run here: it is not for continuous integration" in done.stderr
        wanted = "set up the rest without it: boathook setup" if words[0] == "setup" else "Without it, everything works"
        assert wanted in done.stderr
    assert not project.claude_folder.joinpath("settings.json").exists()


def test_a_wrong_value_is_named_where_a_person_looks_why_it_is_off(project) -> None:
    path = project.write_hooks_toml("user", '[hooks]\nwarm = "onn"\n')
    shown = project.run("warm", "status").stdout
    wrong = "'warm' must be off or on, not 'onn'; off is used. Fix: did you mean warm = \"on\"?"
    assert shown.startswith(f'{path}:2: {wrong}\nhooks.warm is "off"; ')
    project.write_hooks_toml("user", "[hooks\n")
    assert "not valid TOML" in project.run("warm", "status").stdout
    project.write_hooks_toml("user", "[hooks]\nmax_timeout = 1\n")
    assert project.run("warm", "status").stdout.startswith('hooks.warm is "off"; ')
