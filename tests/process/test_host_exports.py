"""Variables that hooks export at the start of a session reach the file that Claude Code names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scratch_project import ScratchProject

EXPORT = """echo 'export COLOUR="dark green"' >> "$CLAUDE_ENV_FILE" """


def start(project: ScratchProject, host_file: Path, host: str = "claude", **fields: str) -> tuple[int, str, str]:
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(project.path), "source": "startup"}
    done = project.run(
        *("run", "--host", host, "--event", "SessionStart"),
        stdin=json.dumps({**event, **fields}),
        env={**project.environment, "CLAUDE_ENV_FILE": str(host_file)},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def host_file(project: ScratchProject) -> Path:
    return project.base / "host.env"


def test_what_a_hook_exports_is_in_the_hosts_file_and_in_the_sessions(project, host_file):
    project.write_hook("exports", EXPORT, fields={"trigger": "pre-session"})
    assert start(project, host_file) == (0, "", "")
    assert host_file.read_text() == 'export COLOUR="dark green"\n'
    assert (project.state / "sessions/s.env").read_text() == 'export COLOUR="dark green"\n'


def test_a_hook_of_settings_json_exports_to_the_hosts_file(project, host_file):
    entry = {"type": "command", "command": EXPORT}
    project.write_settings("user", {"hooks": {"SessionStart": [{"hooks": [entry]}]}})
    assert start(project, host_file) == (0, "", "")
    assert host_file.read_text() == 'export COLOUR="dark green"\n'


def test_what_is_in_the_hosts_file_stays_and_lines_do_not_run_together(project, host_file):
    host_file.write_text("export OWN=1")
    project.write_hook("exports", EXPORT, fields={"trigger": "pre-session"})
    start(project, host_file)
    assert host_file.read_text() == 'export OWN=1\nexport COLOUR="dark green"\n'


def test_only_what_is_new_is_appended_when_a_session_starts_again(project, host_file):
    project.write_hook("exports", 'echo "export A=$RANDOM" >> "$CLAUDE_ENV_FILE"', fields={"trigger": "pre-session"})
    start(project, host_file)
    host_file.unlink()
    start(project, host_file, source="resume")
    assert len(host_file.read_text().splitlines()) == 1
    assert len((project.state / "sessions/s.env").read_text().splitlines()) == 2


def test_a_hook_that_replaces_the_file_of_the_session_exports_all_of_it(project, host_file):
    project.write_hook("exports", 'echo A=1 > "$CLAUDE_ENV_FILE"', fields={"trigger": "pre-session"})
    (project.state / "sessions").mkdir(parents=True)
    (project.state / "sessions/s.env").write_text("export OLD=1\nexport OLDER=2\n")
    start(project, host_file)
    assert host_file.read_text() == "A=1\n"


def test_no_file_is_made_if_no_hook_exports(project, host_file):
    project.write_hook("quiet", "exit 0", fields={"trigger": "pre-session"})
    assert start(project, host_file) == (0, "", "")
    assert not host_file.exists()


def test_a_file_that_cannot_be_written_is_reported_to_the_person(project):
    project.write_hook("exports", EXPORT, fields={"trigger": "pre-session"})
    code, out, _ = start(project, project.base)
    message = f"variables of hooks do not reach the agent: {project.base} cannot be written (Is a directory)"
    assert (code, json.loads(out)) == (0, {"systemMessage": message})


def test_a_host_without_such_a_file_does_not_write_to_one_that_it_inherited(project, host_file):
    project.write_hook("exports", EXPORT, fields={"trigger": "pre-session"})
    start(project, host_file, host="codex")
    assert not host_file.exists()
    assert (project.state / "sessions/s.env").exists()
