"""Nothing of a project runs before a person trusted its exact bytes; and what does not run is told."""

from __future__ import annotations

import json
import os
import threading

import pytest

import boathook
from boathook.trust.snapshot import remove_snapshot
from tests.trust.helpers import CALL, WAYS, command, ran, settings, skipped, state_of, trust, verdict

BLOCKS = "echo no >&2; exit 2"


@pytest.mark.parametrize("way", WAYS)
def test_an_untrusted_hook_is_skipped_and_told_in_every_place(world, way):
    world.hook("guard", scope="project", script=f"touch {world.root}/ran; {BLOCKS}")
    found = verdict(world, way)
    assert found["decision"] == "none"
    assert found["runs"] == []
    assert found["skipped"] == [{"hook": "guard", "why": "it is not trusted yet. Review it with: boathook trust guard"}]
    assert found["system_message"] == [
        "hooks of this project did not run: guard (untrusted). Review them: boathook trust"
    ]
    assert not (world.root / "ran").exists()


def test_an_untrusted_hook_is_told_on_stderr_and_to_the_host(world):
    world.hook("guard", scope="project", script=BLOCKS)
    done = command(world, "run", stdin=json.dumps(CALL))
    assert done.returncode == 0
    assert "hook 'guard' did not run: it is not trusted yet" in done.stderr
    claude = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
    done = command(world, "run", "--host", "claude", stdin=json.dumps({**claude, "cwd": str(world.project)}))
    assert "guard (untrusted)" in json.loads(done.stdout)["systemMessage"]


@pytest.mark.parametrize("way", WAYS)
def test_a_trusted_hook_runs_from_its_private_copy_with_its_helpers(world, way):
    script = (
        'where=$(cd "$(dirname "$0")" && pwd); . "$where/../lib/words.sh"; echo "$word $AGENT_HOOK_DIR" >&2; exit 2'
    )
    folder = world.hook("guard", scope="project", script=script)
    (folder / "lib").mkdir()
    (folder / "lib" / "words.sh").write_text("word=helped\n")
    trust(world, "guard")
    found = verdict(world, way)
    (copy,) = (world.state / "copies").iterdir()
    assert found["decision"] == "block"
    assert found["reasons"] == [f"helped {copy}/0/guard"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", ["HOOK.md", "scripts/run.sh", "lib.sh"])
def test_any_changed_byte_asks_again(world, way, path):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    (folder / "lib.sh").write_text("# helper\n")
    trust(world)
    assert ran(verdict(world, way)) == [("guard", "ok", "block")]
    with (folder / path).open("a") as file:
        file.write("\n")
    found = verdict(world, way)
    assert (ran(found), skipped(found), found["decision"]) == ([], ["guard"], "none")
    assert "it changed since it was trusted" in found["skipped"][0]["why"]
    assert found["system_message"] == [
        "hooks of this project did not run: guard (modified). Review them: boathook trust"
    ]
    assert state_of(world, "guard") == "modified"


@pytest.mark.parametrize("way", WAYS)
def test_a_change_that_is_taken_back_needs_no_new_word(world, way):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    text = (folder / "scripts" / "run.sh").read_text()
    (folder / "scripts" / "run.sh").write_text("exit 0\n")
    assert skipped(verdict(world, way)) == ["guard"]
    (folder / "scripts" / "run.sh").write_text(text)
    assert ran(verdict(world, way)) == [("guard", "ok", "block")]


def test_a_matcher_that_is_changed_to_match_nothing_is_missed_where_it_used_to_match(world):
    folder = world.hook("guard", scope="project", script=BLOCKS, fields={"matcher": "{tool: Shell}"})
    trust(world)
    manifest = folder / "HOOK.md"
    manifest.write_text(manifest.read_text().replace("tool: Shell", "tool: Nothing"))
    assert skipped(verdict(world)) == ["guard"]


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_mode_and_a_new_file_ask_again(world, way):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    (folder / "scripts" / "run.sh").chmod(0o700)
    assert skipped(verdict(world, way)) == ["guard"]
    (folder / "scripts" / "run.sh").chmod(0o755)
    assert ran(verdict(world, way)) == [("guard", "ok", "block")]
    (folder / "new").touch()
    assert skipped(verdict(world, way)) == ["guard"]


def test_trust_holds_for_one_place_alone(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    elsewhere = world.root / "elsewhere"
    os.rename(world.project, elsewhere)
    done = command_in(world, elsewhere)
    assert skipped(done) == ["guard"]


def command_in(world, folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def test_a_link_to_the_project_is_the_same_project(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    (world.root / "link").symlink_to(world.project)
    assert ran(command_in(world, world.root / "link")) == [("guard", "ok", "block")]


@pytest.mark.parametrize("way", WAYS)
def test_a_denied_hook_never_runs_and_is_not_talked_about(world, way):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    assert command(world, "deny", "guard").returncode == 0
    found = verdict(world, way)
    assert (ran(found), found["system_message"]) == ([], [])
    assert state_of(world, "guard") == "denied"
    (folder / "new").touch()
    assert state_of(world, "guard") == "denied"
    refused = command(world, "trust", "guard", "--yes")
    assert refused.returncode == 1
    assert "guard is denied. To take that back: boathook untrust guard" in refused.stderr
    assert command(world, "untrust", "guard").returncode == 0
    assert state_of(world, "guard") == "untrusted"


@pytest.mark.parametrize("way", WAYS)
def test_the_user_can_have_tool_calls_blocked_instead(world, way):
    world.hook("guard", scope="project", script="exit 0")
    world.hook("after", scope="project", script="exit 0", fields={"trigger": "post-tool-call"})
    world.toml("user", '[hooks]\nuntrusted = "block"\n')
    found = verdict(world, way)
    assert found["decision"] == "block"
    assert found["reasons"] == ["hook 'guard' was refused: it is not trusted yet. Review it with: boathook trust guard"]
    after = verdict(world, way, {**CALL, "event_type": "post-tool-call", "tool_output": "x"})
    assert (after["decision"], skipped(after)) == ("none", ["after"])


def test_a_modified_hook_blocks_too_if_the_user_wants_that(world):
    folder = world.hook("guard", scope="project", script="exit 0")
    world.toml("user", '[hooks]\nuntrusted = "block"\n')
    trust(world)
    assert verdict(world)["decision"] == "none"
    (folder / "new").touch()
    found = verdict(world)
    assert found["decision"] == "block"
    assert "it changed since it was trusted" in found["reasons"][0]


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_would_replace_the_user_s_needs_to_be_trusted_for_that(world, way):
    world.hook("guard", script=BLOCKS)
    world.hook("guard", scope="project", script="exit 0")
    assert ran(verdict(world, way)) == [("guard", "ok", "block")]
    refused = command(world, "trust", "guard", "--yes")
    assert refused.returncode == 1
    assert "would replace your own hook. If you want that, add --override" in refused.stderr
    assert ran(verdict(world, way)) == [("guard", "ok", "block")]
    trust(world, "guard", flags=("--yes", "--override"))
    found = verdict(world, way)
    assert ran(found) == [("guard", "ok", "none")]
    assert "replaced by the project's hook" in found["skipped"][0]["why"]


def test_a_hook_trusted_before_the_user_had_one_of_its_name_does_not_replace_it(world):
    world.hook("guard", scope="project", script="exit 0")
    trust(world)
    world.hook("guard", script=BLOCKS)
    found = verdict(world)
    assert ran(found) == [("guard", "ok", "block")]
    assert "would replace your hook 'guard', and is not trusted to" in found["skipped"][0]["why"]


def test_a_protected_hook_of_the_user_stands_whatever_is_trusted(world):
    world.hook("guard", script=BLOCKS, fields={"protected": "true"})
    world.hook("guard", scope="project", script="exit 0")
    command(world, "trust", "guard", "--yes", "--override")
    assert ran(verdict(world)) == [("guard", "ok", "block")]
    assert ran(verdict(world, "by command", CALL, "--trust-all")) == [("guard", "ok", "block")]


def test_hooks_toml_of_the_project_is_trusted_with_the_hook_that_it_tunes(world):
    world.hook("guard", scope="project", script=BLOCKS)
    world.hook("other", scope="project", script="exit 0")
    trust(world)
    world.toml("project", "[[hooks.override]]\nname = 'guard'\nasync = true\n")
    found = verdict(world)
    assert (ran(found), skipped(found)) == ([("other", "ok", "none")], ["guard"])


def test_a_project_cannot_set_what_only_the_user_may(world):
    world.toml("project", '[hooks]\nuntrusted = "skip"\nrecord = "whole"\nmax_timeout = 600000\nmodel = "a:b"\n')
    world.hook("guard", scope="project", script="exit 0")
    world.toml("user", '[hooks]\nuntrusted = "block"\nmax_timeout = 2000\n')
    with boathook.load(world.project) as engine:
        found = engine.catalog.settings
        told = [d.message for d in engine.catalog.diagnostics]
        timeouts = [hook.timeout for hook in engine.catalog.hooks]
    assert (found.untrusted, found.record, found.max_timeout, found.model) == ("block", "summary", 2000, "")
    assert timeouts == [2.0]
    for key in ("untrusted", "record", "max_timeout", "model"):
        assert f"'{key}' can only be set by the user; it is ignored here" in told


@pytest.mark.parametrize("way", ["by command", "by the door"])
def test_no_variable_trusts_anything(world, way):
    world.hook("guard", scope="project", script=BLOCKS)
    for name in ("BOATHOOK_TRUST_ALL", "BOATHOOK_TRUST", "CI", "BOATHOOK_STATE"):
        world_env = {name: "1"}
        done = command(world, "run", "--json", stdin=json.dumps(CALL), **world_env)
        assert skipped(json.loads(done.stdout)) == ["guard"]
    assert ran(verdict(world, way, CALL, "--trust-all")) == [("guard", "ok", "block")]


def _store(world):
    return world.state / "trust.json"


BROKEN = {
    "not JSON": "{",
    "another format": '{"format": 99, "records": []}',
    "a list": "[]",
    "a record without fields": '{"format": 2, "records": [{}]}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_damaged_trust_store_trusts_nothing_and_is_reported(world, text):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    _store(world).write_text(text)
    found = verdict(world)
    assert ran(found) == []
    assert any("No hook of a project runs until you fix or remove it" in skip["why"] for skip in found["skipped"])
    assert command(world, "trust", "--yes").returncode == 1
    assert _store(world).read_text() == text


def test_a_trust_store_that_others_could_have_written_trusts_nothing(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    assert _store(world).stat().st_mode & 0o777 == 0o600
    _store(world).chmod(0o666)
    found = verdict(world)
    assert ran(found) == []
    assert any("can be written by others" in skip["why"] for skip in found["skipped"])


def test_the_copy_is_made_again_if_it_is_gone_or_was_touched(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    (copy,) = (world.state / "copies").iterdir()
    script = copy / "0" / "guard" / "scripts" / "run.sh"
    script.chmod(0o700)
    script.write_text("#!/bin/sh\nexit 0\n")
    assert ran(verdict(world)) == [("guard", "ok", "block")]
    remove_snapshot(str(copy))
    assert ran(verdict(world, "by command")) == [("guard", "ok", "block")]


def test_two_who_trust_at_once_lose_nothing(world):
    names = [f"hook-{at}" for at in range(6)]
    for name in names:
        world.hook(name, scope="project", script="exit 0")
    threads = [threading.Thread(target=trust, args=(world, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [name for name, _, _ in ran(verdict(world))] == names


@pytest.mark.parametrize("way", WAYS)
def test_a_fifo_in_a_trusted_folder_holds_nothing_up(world, way):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    os.mkfifo(folder / "pipe")
    found = verdict(world, way)
    assert (ran(found), skipped(found)) == ([], ["guard"])
    assert "is neither a file nor a folder" in found["skipped"][0]["why"]


def test_a_folder_with_a_link_that_leaves_it_cannot_be_trusted(world):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    (folder / "out").symlink_to("../../../secret")
    done = command(world, "trust", "guard", "--yes")
    assert done.returncode == 1
    assert "out is a link that leaves the folder" in done.stderr
    assert state_of(world, "guard") == "untrusted"


def test_a_hook_folder_that_is_a_link_within_the_project_can_be_trusted(world):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    moved = world.project / "shared"
    os.rename(folder, moved)
    folder.symlink_to("../../shared")
    trust(world)
    assert ran(verdict(world)) == [("guard", "ok", "block")]
    (moved / "new").touch()
    assert skipped(verdict(world)) == ["guard"]


def test_state_says_where_trust_is_kept(world):
    world.hook("guard", scope="project", script=BLOCKS)
    place = world.root / "fixed"
    assert command(world, "trust", "--yes", "--state", str(place)).returncode == 0
    assert skipped(verdict(world)) == ["guard"]
    assert ran(verdict(world, "by command", CALL, "--state", str(place))) == [("guard", "ok", "block")]
    assert ran(verdict(world, "by the door", CALL, "--state", str(place))) == [("guard", "ok", "block")]
    with boathook.load(world.project, state=place) as engine:
        assert engine.dispatch(CALL).is_blocked


# What variables of the project's choosing cannot do


def _repository(world):
    (world.project / ".git").mkdir()
    return world.project


@pytest.mark.parametrize("way", ["by command", "by the door"])
@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME"])
def test_a_trust_store_within_the_repository_is_not_believed(world, way, variable):
    """Some hosts load the project's .env: a repository could bring its own trust store."""
    top = _repository(world)
    world.hook("guard", scope="project", script=f"touch {world.root}/ran")
    inside = top / "sub"
    state = inside / "boathook" if variable == "XDG_STATE_HOME" else inside / ".local" / "state" / "boathook"
    assert command(world, "trust", "--yes", "--state", str(state)).returncode == 0
    env = {
        "XDG_STATE_HOME": "",
        "XDG_CONFIG_HOME": str(world.root / "config"),
        "XDG_CACHE_HOME": str(world.root / "cache"),
    }
    env[variable] = str(inside)
    door = (
        ["-I", "-S", boathook.__file__.replace("__init__.py", "entry/hook_entry.py")]
        if way == "by the door"
        else ["-m", "boathook", "run"]
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, *door, "--json"],
        input=json.dumps(CALL),
        capture_output=True,
        text=True,
        cwd=world.project,
        env={**world.environment, **env},
        timeout=60,
        check=False,
    )
    found = json.loads(done.stdout)
    assert ran(found) == []
    assert any("is inside the repository" in skip["why"] for skip in found["skipped"])
    assert not (world.root / "ran").exists()


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "HOME"])
def test_hooks_within_the_repository_are_never_the_user_s_own(world, variable):
    top = _repository(world)
    evil = f"touch {world.root}/ran"
    inside = top / "cfg"
    for place in (inside / "agents", inside / ".config" / "agents"):
        script = place / "hooks" / "evil" / "scripts" / "run.sh"
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{evil}\n")
        script.chmod(0o755)
        script.parent.parent.joinpath("HOOK.md").write_text(
            "---\nname: evil\ndescription: x\ntrigger: pre-tool-call\n---\n"
        )
    for place in (inside, inside / ".claude"):
        place.mkdir(exist_ok=True)
        (place / "settings.json").write_text(json.dumps(settings(evil)))
    env = {variable: str(inside)}
    if variable == "HOME":
        env |= {"XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": str(world.root / "cache")}
    done = command(world, "run", "--json", stdin=json.dumps(CALL), **env)
    found = json.loads(done.stdout)
    assert ran(found) == []
    assert any("because it is inside a project" in skip["why"] for skip in found["skipped"])
    assert not (world.root / "ran").exists()


@pytest.mark.parametrize("value", ["/proc/self/cwd/sub", "/dev/fd/../x", "/tmp/../{project}/sub", "//{project}/sub"])
def test_a_state_folder_by_a_crooked_way_is_not_used(world, value):
    _repository(world)
    world.hook("guard", scope="project", script=f"touch {world.root}/ran")
    inside = world.project / "sub" / "boathook"
    assert command(world, "trust", "--yes", "--state", str(inside)).returncode == 0
    env = {"XDG_STATE_HOME": value.format(project=str(world.project).lstrip("/"))}
    found = json.loads(command(world, "run", "--json", stdin=json.dumps(CALL), **env).stdout)
    assert ran(found) == []
    assert not (world.root / "ran").exists()


# Settings


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scope", ["project", "local"])
def test_an_entry_of_settings_is_trusted_with_the_script_it_runs(world, way, scope):
    hooks = world.project / ".claude" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "guard.sh").write_text('#!/bin/sh\n. "$(dirname "$0")/lib.sh"\nsay no\n')
    (hooks / "guard.sh").chmod(0o755)
    (hooks / "lib.sh").write_text("say() { echo $1 >&2; exit 2; }\n")
    world.settings(scope, settings('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'))
    assert ran(verdict(world, way)) == []
    trust(world)
    found = verdict(world, way)
    assert (found["decision"], found["reasons"]) == ("block", ["no"])
    (hooks / "lib.sh").write_text("say() { exit 0; }\n")
    found = verdict(world, way)
    assert (ran(found), found["decision"]) == ([], "none")
    assert found["system_message"][0].startswith("hooks of this project did not run: PreToolUse:guard.sh#")


def test_an_entry_whose_definition_changed_is_modified_and_not_new(world):
    world.settings("project", settings("exit 2"))
    trust(world)
    assert verdict(world)["decision"] == "block"
    world.settings("project", settings("exit 2; true"))
    assert state_of(world, "PreToolUse:exit") == "modified"
    assert verdict(world)["decision"] == "none"


def test_entries_may_change_their_places(world):
    one, other = settings("exit 2"), settings("exit 0", timeout=7)
    world.settings("project", one)
    trust(world)
    one["hooks"]["PreToolUse"].insert(0, other["hooks"]["PreToolUse"][0])
    world.settings("project", one)
    found = verdict(world)
    assert [(status, decision) for _, status, decision in ran(found)] == [("ok", "block")]
    assert len(found["skipped"]) == 1


def test_a_timeout_that_the_user_tunes_is_not_a_change(world):
    world.settings("project", settings("exit 2"))
    trust(world)
    name = json.loads(command(world, "list", "--json").stdout)["hooks"][0]["name"]
    world.toml("user", f"[[hooks.override]]\nname = '{name}'\ntimeout = 5000\n")
    assert verdict(world)["decision"] == "block"


def test_convert_and_check_look_at_what_lies_there_and_not_at_the_copy(world):
    script = world.project / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    world.settings("project", settings("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"))
    trust(world)
    done = command(world, "convert", "settings-to-hookmd", "--dry-run", "--json")
    assert str(world.state) not in done.stdout


# What a project can do to a hook without touching its script


def test_a_hook_that_cannot_be_read_has_no_say_before_it_is_trusted(world):
    text = "---\nname: guard\ntrigger: pre-tool-call\non_failure: block\nmatcher: {pattern: '('}\n---\n"
    world.hook("guard", scope="project", text=text)
    found = verdict(world)
    assert (found["decision"], ran(found)) == ("none", [])
    assert skipped(found) == ["guard"]
    world.toml("user", '[hooks]\nuntrusted = "block"\n')
    assert verdict(world)["decision"] == "block"


def test_a_trusted_guard_that_cannot_be_read_any_more_is_missed(world):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    (folder / "HOOK.md").write_text("---\nname: guard\n---\n")
    found = verdict(world)
    assert (skipped(found), found["decision"]) == (["guard"], "none")
    assert state_of(world, "guard") == "modified"
    world.toml("user", '[hooks]\nuntrusted = "block"\n')
    assert verdict(world)["decision"] == "block"


@pytest.mark.parametrize("text", ["[hooks]\nenabled = false\n", "[[hooks.disable]]\nname = 'guard'\n"])
def test_a_trusted_guard_that_the_project_disables_is_missed_until_that_is_trusted(world, text):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    world.toml("project", text)
    found = verdict(world)
    assert (skipped(found), found["system_message"] != []) == (["guard"], True)
    trust(world)
    assert state_of(world, "guard") == "disabled"
    assert verdict(world)["system_message"] == []


def test_trusted_entries_that_the_project_disables_are_missed(world):
    made = settings("exit 2")
    world.settings("project", made)
    trust(world)
    world.settings("project", {**made, "disableAllHooks": True})
    found = verdict(world)
    assert (len(found["skipped"]), found["system_message"] != []) == (1, True)
    assert state_of(world, "PreToolUse:exit") == "modified"


def test_trusted_entries_that_the_user_disables_are_not_talked_about(world):
    world.settings("project", settings("exit 2"))
    trust(world)
    world.settings("user", {"disableAllHooks": True})
    assert verdict(world)["system_message"] == []
    assert state_of(world, "PreToolUse:exit") == "disabled"


def test_an_entry_whose_matcher_changed_is_missed_where_it_used_to_match(world):
    made = settings("exit 2")
    made["hooks"]["PreToolUse"][0]["matcher"] = "Shell"
    world.settings("project", made)
    trust(world)
    made["hooks"]["PreToolUse"][0]["matcher"] = "Nothing"
    world.settings("project", made)
    assert len(verdict(world)["skipped"]) == 1
    assert verdict(world, event={**CALL, "tool_name": "Other"})["skipped"] == []


def test_a_trusted_hook_that_is_gone_is_named_by_list(world):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    os.rename(folder, world.root / "away")
    assert "the hook 'guard' was trusted and is gone (boathook untrust guard)" in command(world, "list").stderr


def test_a_trust_store_within_a_project_without_a_repository_is_not_believed(world):
    world.hook("guard", scope="project", script=f"touch {world.root}/ran")
    inside = world.project / "sub"
    assert command(world, "trust", "--yes", "--state", str(inside / "boathook")).returncode == 0
    found = json.loads(command(world, "run", "--json", stdin=json.dumps(CALL), XDG_STATE_HOME=str(inside)).stdout)
    assert ran(found) == []
    assert not (world.root / "ran").exists()
