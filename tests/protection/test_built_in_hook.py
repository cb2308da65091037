"""The built-in hook as people and agents meet it: in the catalogue, in `run`, in the ledger, paused, and turned off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import boathook
from boathook.core.hook import DISABLED
from boathook.core.outcome import Decision
from boathook.permits.unlock import remove_unlock, write_unlock
from boathook.protection import built_in_runner
from boathook.protection.protected_places import SELF_PROTECTION
from tests.protection.guarded_home import GuardedHome
from tests.scratch_project import ScratchProject

DISARM = {"command": "rm -rf .agents ~/.config/agents"}


def _make_call(given: dict[str, Any] | None = None, tool: str = "Shell") -> dict[str, Any]:
    return {"event_type": "pre-tool-call", "session_id": "s", "tool_name": tool, "tool_input": given or DISARM}


@pytest.fixture
def state(guarded: GuardedHome) -> Iterator[str]:
    path = f"{guarded.home}/.local/state/boathook"
    yield path
    remove_unlock(path)


def test_it_asks_and_names_what_a_person_can_do(guarded: GuardedHome) -> None:
    with boathook.load() as engine:
        verdict = engine.dispatch(_make_call())

    assert verdict.decision == Decision.ASK
    assert [run.hook.name for run in verdict.runs][:1] == [SELF_PROTECTION]
    assert "boathook unlock 30m" in verdict.reasons[0]
    assert "boathook allow" in verdict.reasons[1]
    assert str(guarded.home) in verdict.reasons[0]


def test_if_no_person_can_be_asked_it_blocks(guarded: GuardedHome) -> None:
    with boathook.load(can_ask=False) as engine:
        assert engine.dispatch(_make_call()).decision == Decision.BLOCK


def test_a_call_that_it_does_not_object_to_has_no_run_of_it(guarded: GuardedHome) -> None:
    with boathook.load() as engine:
        verdict = engine.dispatch(_make_call({"command": "ls -la .agents"}))

    assert SELF_PROTECTION not in [run.hook.name for run in verdict.runs]


def test_while_it_is_paused_it_has_no_opinion(guarded: GuardedHome, state: str) -> None:
    write_unlock(state, 60)

    with boathook.load() as engine:
        verdict = engine.dispatch(_make_call())

    assert verdict.decision == Decision.NONE


def test_its_own_failure_blocks(guarded: GuardedHome, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(built_in_runner, "find_objection", fail)

    with boathook.load() as engine:
        verdict = engine.dispatch(_make_call())

    assert verdict.decision == Decision.BLOCK
    assert "broken" in verdict.reasons[0]


def test_a_rewritten_input_is_judged_again(project: ScratchProject) -> None:
    answer = json.dumps({"modified_input": {"command": f"rm -rf {project.config}"}})
    project.write_hook("rewrite", f"echo '{answer}'", scope="user")

    with boathook.load() as engine:
        verdict = engine.dispatch(_make_call({"command": "ls"}))

    assert verdict.decision == Decision.ASK


@pytest.mark.parametrize("times", [1, 2, 3])
def test_run_asks_with_and_without_a_compiled_catalogue(project: ScratchProject, times: int) -> None:
    project.write_hook("guard", "exit 0", scope="user")
    call = {**_make_call({"command": f"rm -rf {project.config}"}), "work_dir": str(project.path)}

    for _ in range(times):
        result = project.run("run", "--json", stdin=json.dumps(call))

    assert json.loads(result.stdout)["decision"] == "ask"


def test_only_the_user_can_turn_it_off(project: ScratchProject) -> None:
    text = f'[hooks]\n[[hooks.disable]]\nname = "{SELF_PROTECTION}"\n'
    call = _make_call({"command": f"rm -rf {project.config}"})
    project.write_hooks_toml("project", text)
    with boathook.load(trust_all=True) as engine:
        assert engine.dispatch(call).decision == Decision.ASK

    project.write_hooks_toml("user", text)
    with boathook.load(trust_all=True) as engine:
        assert engine.catalog.built_in[0].state == DISABLED
        assert engine.dispatch(call).decision == Decision.NONE


def test_a_project_hook_of_its_name_does_not_replace_it(project: ScratchProject) -> None:
    project.write_hook(SELF_PROTECTION, "exit 0", scope="project")

    with boathook.load(trust_all=True) as engine:
        verdict = engine.dispatch(_make_call({"command": f"rm -rf {project.config}"}))

    assert verdict.decision == Decision.ASK


def test_its_objection_is_on_record(project: ScratchProject) -> None:
    with boathook.load() as engine:
        engine.dispatch(_make_call({"command": f"rm -rf {project.config}"}))

    assert SELF_PROTECTION in project.run("log").stdout


def test_list_and_doctor_show_it_in_a_line_of_its_own(project: ScratchProject) -> None:
    assert f"Built in: {SELF_PROTECTION} (armed)" in project.run("list").stdout
    assert SELF_PROTECTION in project.run("doctor").stdout


def test_explain_shows_an_objection(project: ScratchProject) -> None:
    def explain(command: str) -> str:
        given = json.dumps({"command": command})
        return str(project.run("explain", "pre-tool-call", "--tool", "Shell", "--input", given).stdout)

    assert f"Built in: {SELF_PROTECTION}: it asks: this call would change" in explain(f"rm -rf {project.config}")
    assert SELF_PROTECTION not in explain("ls")


def test_a_hook_that_is_not_trusted_is_free_and_a_trusted_one_is_not(guarded: GuardedHome) -> None:
    place = "{project}/.agents/hooks"

    assert not guarded.find_objection({"tool": "WriteFile", "input": {"file_path": f"{place}/fresh/HOOK.md"}})
    assert guarded.find_objection({"tool": "WriteFile", "input": {"file_path": f"{place}/no-push/HOOK.md"}})


def test_a_settings_file_of_a_project_is_free_unless_it_calls_boathook(guarded: GuardedHome) -> None:
    assert not Path(guarded.project / ".claude/settings.json").exists()
    assert not guarded.find_objection({"command": "echo '{}' > .claude/settings.json"})
    assert guarded.find_objection({"command": "echo '{}' > ~/.claude/settings.json"})
