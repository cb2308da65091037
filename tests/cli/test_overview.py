"""`boathook` alone, `boathook help` and `boathook version`."""

from __future__ import annotations

import json

from boathook.ledger.writer import SPILL_NAME
from tests.scratch_project import CALL
from tests.terminal import add_agents

BLOCKING = "echo 'not here' >&2; exit 2"


def read_overview(project) -> tuple[dict[str, str], str]:
    """Return the lines of the overview by their labels, and the next step."""
    done = project.run()
    assert (done.returncode, done.stderr) == (0, "")
    head, _, end = done.stdout.partition("\n\n")
    assert head.startswith("boathook ")
    assert end.endswith("\nAll commands: boathook --help\n")
    lines = {line[2:13].rstrip(): line[14:] for line in head.splitlines()[1:]}
    return lines, end.splitlines()[0]


def test_the_next_step_follows_from_the_state(machine):
    add_agents(machine, "claude", "codex")
    lines, step = read_overview(machine)
    assert lines == {
        "folder": "no hooks of its own",
        "hooks": "none here",
        "agents": "none calls boathook",
        "not guarded": "claude, codex (boathook setup)",
    }
    assert step == "next: boathook setup"
    machine.run("install", "claude", "--yes")
    lines, step = read_overview(machine)
    assert (lines["agents"], lines["not guarded"]) == ("claude", "codex (boathook setup)")
    assert step == "next: boathook pack add boathook/standard"
    machine.write_hook("mine", BLOCKING)
    assert machine.run("run", stdin=json.dumps(CALL)).returncode == 2
    lines, step = read_overview(machine)
    assert (lines["hooks"], step) == ("1 armed: 1 of yours", "next: boathook log")
    assert ", native Shell, by mine: not here (boathook why " in lines["last block"]
    machine.write_hook("mine", 'echo \'{"decision": "ask"}\'')
    assert machine.run("run", stdin=json.dumps(CALL)).returncode == 0
    assert "last ask" in read_overview(machine)[0]
    machine.write_hook("broken", manifest="---\nname: broken\n---\n")
    assert read_overview(machine)[1] == "next: boathook check"
    machine.write_hook("theirs", scope="project")
    lines, step = read_overview(machine)
    assert (lines["folder"], lines["to review"], lines["broken"]) == (str(machine.path), "theirs", "broken")
    assert step == "next: boathook trust"
    settings = machine.claude_folder / "settings.json"
    settings.write_text(settings.read_text().replace("--event PreToolUse", "--event PostToolUse", 1))
    lines, step = read_overview(machine)
    assert (lines["not well"], step) == ("claude", "next: boathook status")


def test_without_any_agent_the_demo_is_offered(machine):
    assert "boathook demo" in machine.run().stdout


def test_help_and_version_are_commands(project):
    whole = project.run("help").stdout
    assert whole == project.run("--help").stdout
    assert "boathook setup  " in whole
    assert project.run("help", "pack", "add").stdout == project.run("pack", "add", "--help").stdout
    assert project.run("version").stdout == project.run("--version").stdout
    for words, message in (
        (("trsut",), "there is no command 'trsut': did you mean 'trust'?"),
        (("pack", "ad"), "there is no command 'ad': did you mean 'add'?"),
        (("list", "x"), "there is no command 'x': boathook list has no commands"),
    ):
        done = project.run("help", *words)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_a_record_that_is_not_in_the_chain_is_not_the_last_block(project):
    project.write_hook("mine", BLOCKING)
    assert project.run("run", stdin=json.dumps(CALL)).returncode == 2
    before = read_overview(project)[0]["last block"]
    (segment,) = project.state.glob("ledger-2*.jsonl")
    record = json.loads(segment.read_text().splitlines()[-1])
    forged = {**record, "id": "f" * 12, "time": "2999-01-01T00:00:00.000Z"}
    (project.state / SPILL_NAME).write_text(json.dumps(forged) + "\n")
    assert "f" * 12 in project.run("log").stdout
    assert read_overview(project)[0]["last block"] == before
