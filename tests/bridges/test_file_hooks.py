"""File hooks in every framework, from the bridge alone: HOOK.md, settings.json, packs, Cursor's hooks; trust, ledger and `why`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from boathook import ConfigError
from tests.bridges.adapter import ASYNC, Adapter
from tests.bridges.stage import Stage, call_bash
from tests.packs.toy_packs import write_pack
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.bridge

# It reads the keys that HOOK.md promises, whatever the program calls its tool.
GUARD = """#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
if event["tool_name"] == "Shell" and "rm" in event["tool_input"]["command"]:
    sys.exit(print("rm is not allowed here", file=sys.stderr) or 2)
"""
CLAUDE_GUARD = """python3 -c "
import json, sys
event = json.load(sys.stdin)
sys.exit(print('rm is not allowed here', file=sys.stderr) or 2 if 'rm' in event['tool_input']['command'] else 0)"
"""
# Cursor has the command at the top, and no tool.
CURSOR_GUARD = """python3 -c "
import json, sys
event = json.load(sys.stdin)
if 'rm' in event['command']: print(json.dumps({'permission': 'deny', 'agent_message': 'rm is not allowed here'}))"
"""


def write_hook_md(project: ScratchProject) -> None:
    project.write_hook("no-rm", GUARD, fields={"matcher": "{tool: Shell}"}, script_name="run.py")


def write_settings_json(project: ScratchProject) -> None:
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": CLAUDE_GUARD}]}
    project.write_settings("user", {"hooks": {"PreToolUse": [entry]}})


def add_pack(project: ScratchProject) -> None:
    folder = write_pack(project.base / "packs", hooks={"no-rm": GUARD})
    done = project.run("pack", "add", str(folder), "--yes")
    assert done.returncode == 0, done.stderr + done.stdout


def write_cursor_hooks(project: ScratchProject) -> None:
    folder = project.home / ".cursor"
    folder.mkdir()
    content = {"version": 1, "hooks": {"beforeShellExecution": [{"command": CURSOR_GUARD}]}}
    (folder / "hooks.json").write_text(json.dumps(content))
    project.write_hooks_toml("user", '[hooks]\nsources = ["hook-md", "settings", "cursor"]\n')


FORMS: list[Callable[[ScratchProject], None]] = [write_hook_md, write_settings_json, add_pack, write_cursor_hooks]


def play_rm(adapter: Adapter, *, is_attached: bool = True, **options: Any) -> Stage:
    """Let an agent with file hooks only run two commands, one of which they block."""
    stage = Stage(adapter, ASYNC if ASYNC in adapter.ways else adapter.ways[0], is_attached=is_attached)
    stage.options = options
    stage.play((call_bash("rm -r build", "a"), call_bash("ls", "b")), "done")
    return stage


@pytest.mark.parametrize("write_form", FORMS)
def test_a_hook_of_a_file_blocks_a_tool_of_the_program(
    adapter: Adapter, project: ScratchProject, write_form: Callable[[ScratchProject], None]
) -> None:
    write_form(project)
    stage = play_rm(adapter)
    assert stage.ran == ["ls"]
    assert "rm is not allowed here" in stage.find_results()["a"]
    assert sorted(play_rm(adapter, is_attached=False).ran) == ["ls", "rm -r build"]


def test_a_hook_of_the_project_runs_only_if_it_is_trusted(adapter: Adapter, project: ScratchProject) -> None:
    project.write_hook("no-rm", GUARD, scope="project", script_name="run.py")
    assert sorted(play_rm(adapter).ran) == ["ls", "rm -r build"]
    project.trust("no-rm")
    assert play_rm(adapter).ran == ["ls"]


def test_the_program_names_its_tools_for_file_hooks(adapter: Adapter, project: ScratchProject) -> None:
    write_hook_md(project)
    assert sorted(play_rm(adapter, names={"bash": "bash"}).ran) == ["ls", "rm -r build"]
    assert play_rm(adapter, names={"bash": "Shell"}).ran == ["ls"]


def read_error(adapter: Adapter, names: dict[str, str]) -> str:
    """Return the message of a run that fails; frameworks may raise an error of their own with it."""
    try:
        return str(play_rm(adapter, names=names).error)
    except ConfigError as error:
        return str(error)


def test_a_mistake_in_the_name_of_a_tool_is_an_error_at_the_latest_when_the_tools_are_known(
    adapter: Adapter, project: ScratchProject, caplog: pytest.LogCaptureFixture
) -> None:
    message = "maps 'bash' to 'Shel', which file hooks do not know; did you mean 'Shell'?"
    assert message in read_error(adapter, {"bash": "Shel"})
    if not adapter.knows_tools:
        return
    message = "has 'bsh', which is not a tool of the agent; did you mean 'bash'?"
    assert message in read_error(adapter, {"bsh": "Shell"})
    # Another agent with the same hooks may have it.
    play_rm(adapter, names={"weather": "weather"})
    warnings = [text for text in caplog.messages if "'weather'" in text]
    assert warnings == ["names= or arguments= has 'weather', but the agent's tools are: bash"]


def test_the_ledger_has_the_calls_and_why_explains_them(adapter: Adapter, project: ScratchProject) -> None:
    write_hook_md(project)
    play_rm(adapter, session_id="session-of-a-bridge")
    records = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    calls = [record for record in records if record["event"] == "pre-tool-call"]
    assert sorted(record["decision"] for record in calls) == ["block", "none"]
    assert {record["session"] for record in records} == {"session-of-a-bridge"}
    why = project.run("why").stdout
    assert "no-rm" in why
    assert "rm is not allowed here" in why
