"""Below a hook there is no person, also if no agent is above it any more: in the warm engine, and after the event."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from boathook.permits.agent_evidence import find_agent
from boathook.system.ancestors import make_ancestor
from tests.scratch_project import ScratchProject
from tests.terminal import make_agent
from tests.warm.warm_harness import Client, wait_until

EVENT = ("--host", "claude", "--event", "PreToolUse")
CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make test"}}
FOR_A_PERSON = "This command changes what guards your agents, so only a person may run it: it was started below"


@pytest.fixture
def refused(project: ScratchProject) -> Path:
    """A hook that runs a command for a person, with the variables of no agent; return the file with what it printed."""
    answer = project.base / "answer"
    # Without HOME, the folders of the account count.
    clean = ["env", "-i", f"PATH={os.environ['PATH']}"]
    words = shlex.join([*clean, sys.executable, "-m", "boathook", "deny", "no-such-hook"])
    project.write_hook("tests", f"{words} > {answer}.new 2>&1; mv {answer}.new {answer}")
    return answer


@pytest.mark.parametrize("way", ["warm", "cold"])
def test_a_command_for_a_person_is_refused_below_a_hook(
    project: ScratchProject, warm: Client, cold: Client, refused: Path, way: str
) -> None:
    agent = make_agent(project.base / "bin", "claude")
    client = warm if way == "warm" else cold
    code, _, err = client.run(CALL, *EVENT, before=[str(agent)])
    assert (code, err) == (0, b"")
    assert FOR_A_PERSON in refused.read_text()
    assert ("boathook, which runs hooks" if way == "warm" else "") in refused.read_text()


def test_a_command_for_a_person_is_refused_below_a_hook_that_outlives_its_event(
    project: ScratchProject, cold: Client, refused: Path
) -> None:
    manifest = project.hooks_folder("user") / "tests/HOOK.md"
    manifest.write_text(manifest.read_text().replace("trigger:", "async: true\ntrigger:"))
    agent = make_agent(project.base / "bin", "claude")
    assert cold.run(CALL, *EVENT, before=[str(agent)])[0] == 0
    wait_until(refused.exists, "the end of the hook")
    assert FOR_A_PERSON in refused.read_text()


def test_a_hook_knows_the_process_that_the_agent_started(project: ScratchProject, warm: Client, cold: Client) -> None:
    project.write_hook("look", 'echo "$BOATHOOK_CALLER" >&2; exit 2')
    for client in (warm, cold):
        with client.start("--event", "PreToolUse") as process:
            _, err = process.communicate(json.dumps(CALL).encode())
        assert str(process.pid).encode() in err.splitlines()


@pytest.mark.parametrize("script", ["boathook/warm/resident_entry.py", "boathook/entry/hook_entry.py"])
@pytest.mark.parametrize("program", ["python3.13t", ".python3.12-wrapped", "graalpy"])
def test_a_process_of_ours_is_known_by_any_name_of_its_interpreter(program: str, script: str) -> None:
    above = make_ancestor(7, [program], [f"/opt/{program}", "-I", "-S", f"/lib/{script}", "--state", "/s"])
    found = find_agent({}, [above], [])
    assert found is not None
    assert found.text == "boathook, which runs hooks"
    assert find_agent({}, [make_ancestor(7, ["vim"], ["vim", f"/lib/{script}"])], []) is None
