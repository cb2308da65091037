"""Ways round trust that a hostile reader found: each is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from tests.trust.helpers import CALL, DOOR, command, ran, settings, skipped, state_of, trust, verdict

BLOCKS = "echo no >&2; exit 2"


def _event(folder) -> str:
    return json.dumps({**CALL, "work_dir": str(folder)})


def _evil(world, place: Path) -> None:
    """Lay out hooks of a would-be user that leave a trace."""
    script = place / "agents" / "hooks" / "x" / "scripts" / "run.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\ntouch {world.root}/pwned\n")
    script.chmod(0o755)
    manifest = "---\nname: x\ndescription: x\ntrigger: pre-tool-call\n---\n"
    (script.parent.parent / "HOOK.md").write_text(manifest)


def _git(*arguments, cwd) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", *names, *arguments], cwd=cwd, check=True, capture_output=True)


def _from_outside(world):
    _git("init", "-q", ".", cwd=world.project)
    return world.root, {}


def _told_by_the_host(world):
    _git("init", "-q", ".", cwd=world.project)
    return world.project, {"CLAUDE_PROJECT_DIR": "/usr"}


def _no_repository(world):
    return world.project, {}


def _worktree(world):
    _git("init", "-q", ".", cwd=world.project)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=world.project)
    _git("worktree", "add", "-q", str(world.root / "tree"), cwd=world.project)
    return world.root / "tree", {}


def _submodule(world):
    _git("init", "-q", ".", cwd=world.project)
    sub = world.project / "sub"
    sub.mkdir()
    (sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    return sub, {}


WAYS = (_from_outside, _told_by_the_host, _no_repository, _worktree, _submodule)


@pytest.mark.parametrize("make", WAYS)
@pytest.mark.parametrize("alias", [False, True])
def test_no_folder_of_a_project_is_the_user_s_wherever_the_event_comes_from(world, make, alias):
    place = world.project / "evil"
    _evil(world, place)
    start, env = make(world)
    if alias:
        (world.root / "alias").symlink_to(world.project)
        place = world.root / "alias" / "evil"
    host = ("--host", "claude") if env else ()
    event = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {},
        "cwd": str(start),
        "session_id": "s",
    }
    done = command(
        world, "run", *host, stdin=json.dumps(event) if host else _event(start), XDG_CONFIG_HOME=str(place), **env
    )
    assert not (world.root / "pwned").exists()
    assert "your hooks in this folder do not run" in done.stderr


def test_a_forged_trust_store_above_a_submodule_is_not_believed(world):
    start, _ = _submodule(world)
    world.hook("guard", scope="project", script=f"touch {world.root}/pwned")
    forged = world.project / "st" / "boathook"
    assert command(world, "trust", "--yes", "--state", str(forged)).returncode == 0
    command(world, "run", stdin=_event(start), XDG_STATE_HOME=str(forged.parent))
    assert not (world.root / "pwned").exists()


@pytest.mark.parametrize("road", [["-m", "boathook", "run"], ["-I", "-S", DOOR]])
def test_folders_said_on_the_command_line_stand_above_all_variables(world, road):
    world.hook("guard", script=BLOCKS)
    world.settings("user", settings("exit 2"))
    flags = ["--config", str(world.agents), "--claude", str(world.claude), "--state", str(world.state)]
    env = {**world.environment, "XDG_CONFIG_HOME": "/usr/share", "HOME": "/usr", "CLAUDE_CONFIG_DIR": "/usr"}
    for wanted, names in ((flags, ["guard"]), ([], [])):
        done = subprocess.run([sys.executable, *road, "--json", *wanted], input=_event(world.project), capture_output=True,
                              text=True, env=env, cwd=world.project, check=False)  # fmt: skip
        assert [name for name, _, _ in ran(json.loads(done.stdout))] == names


def test_a_file_that_comes_after_the_yes_asks_again(world):
    log = world.project / ".claude" / "hooks" / "log.sh"
    log.parent.mkdir(parents=True)
    log.write_text("#!/bin/sh\nexit 0\n")
    log.chmod(0o755)
    line = ".claude/hooks/log.sh; if test -x tools/guard.sh; then tools/guard.sh; fi"
    world.settings("project", settings(line))
    assert f"{world.project}/tools/guard.sh does not exist; if it appears, you are asked again" in trust(world).stdout
    time.sleep(2.2)
    with boathook.load(world.project) as engine:
        assert verdict(world, "by the door")["skipped"] == []
        (world.project / "tools").mkdir()
        guard = world.project / "tools" / "guard.sh"
        guard.write_text(f"#!/bin/sh\ntouch {world.root}/pwned\n")
        guard.chmod(0o755)
        assert len(verdict(world, "by the door")["skipped"]) == 1
        assert len(engine.dispatch(CALL).skipped) == 1
    assert not (world.root / "pwned").exists()


def test_a_sandbox_that_the_project_asks_for_later_asks_again(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    world.toml("project", '[hooks]\nsandbox = "isolated"\n')
    assert skipped(verdict(world)) == ["guard"]


def test_what_is_shown_is_what_would_run(world):
    fields = {"requires": "{env: [GITHUB_TOKEN]}", "network": "true", "sandbox": "restricted"}
    world.hook("guard", scope="project", script="exit 0", fields=fields)
    world.toml("project", "[[hooks.override]]\nname = 'guard'\nasync = true\ntimeout = 7000\n")
    shown = command(world, "trust").stdout
    assert "async, at most 7 s" in shown
    assert "gets      the variables GITHUB_TOKEN" in shown
    assert "sandbox   restricted, with the network" in shown


def test_a_long_command_is_shown_to_its_end(world):
    world.settings("project", settings("echo " + "x" * 5000 + "; touch pwned"))
    assert "touch pwned" in command(world, "trust").stdout.replace("\n", "")


def test_file_names_cannot_forge_lines(world):
    folder = world.hook("guard", scope="project", script="exit 0")
    (folder / "a\n  guard is trusted: exactly these bytes").touch()
    assert "a\\x0a  guard is trusted" in command(world, "trust").stdout


def test_the_shown_definition_comes_from_the_bytes_that_are_kept(world):
    """A writer that flips the manifest all the time must not get other bytes kept than were shown."""
    folder = world.hook("guard", scope="project", script="exit 0")
    manifest = folder / "HOOK.md"
    plain = manifest.read_text()
    wanting = plain.replace("---\n\n", "env: [MY_TOKEN]\n---\n\n", 1)
    assert wanting != plain
    flip = (
        "import os,sys\nwhile True:\n"
        "  for text in sys.argv[2:]:\n"
        "    open(sys.argv[1]+'.n','w').write(text); os.replace(sys.argv[1]+'.n', sys.argv[1])\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", flip, str(manifest), plain, wanting])
    try:
        for _ in range(8):
            shown = command(world, "trust", "guard", "--yes")
            if "is trusted" not in shown.stdout:
                continue
            record = json.loads((world.state / "trust.json").read_text())["records"][0]
            kept = (world.state / "copies" / record["digest"] / "0" / "guard" / "HOOK.md").read_text()
            assert ("MY_TOKEN" in kept) == ("MY_TOKEN" in shown.stdout)
            command(world, "untrust", "guard")
    finally:
        writer.kill()
        writer.wait()


LOOSE = {
    "behind something worked out": "D=$(pwd); ./tools/guard.sh",
    "with a wrapper": "nice ./tools/guard.sh",
    "after a way back": "cd .; cd -; ./tools/guard.sh",
    "behind a text": "cat <<END\nx\nEND\n./tools/guard.sh",
    "with flags": "bash -e -u -o pipefail ./tools/guard.sh",
}


@pytest.mark.parametrize("case", LOOSE)
def test_what_is_named_but_not_bound_is_said(world, case):
    guard = world.project / "tools" / "guard.sh"
    guard.parent.mkdir()
    guard.write_text("#!/bin/sh\nexit 0\n")
    guard.chmod(0o755)
    world.settings("project", settings(LOOSE[case]))
    shown = command(world, "trust").stdout
    assert "  uncovered " in shown
    assert "guard.sh" in shown.partition("uncovered ")[2]


@pytest.mark.parametrize("form", ["an empty folder", "empty settings"])
def test_a_nearer_folder_does_not_hide_trusted_guards_silently(world, form):
    sub = world.project / "sub"
    if form == "an empty folder":
        world.hook("guard", scope="project", script=BLOCKS)
        (sub / ".agents" / "hooks").mkdir(parents=True)
    else:
        world.settings("project", settings("exit 2"))
        (sub / ".claude").mkdir(parents=True)
        (sub / ".claude" / "settings.json").write_text('{"hooks": {}}')
    trust(world)
    with boathook.load(sub) as engine:
        found = engine.dispatch({**CALL, "work_dir": str(sub)}).to_json()
    assert any(f"the trusted hooks of {world.project} do not run here" in skip["why"] for skip in found["skipped"])


def test_a_user_s_hook_guards_again_when_its_replacement_changes(world):
    world.hook("guard", script=BLOCKS)
    folder = world.hook("guard", scope="project", script="exit 0")
    trust(world, flags=("--yes", "--override"))
    with boathook.load(world.project) as engine:
        assert not engine.dispatch(CALL).is_blocked
        (folder / "new").touch()
        assert engine.dispatch(CALL).is_blocked


@pytest.mark.parametrize("entry", [{"command": "./\ud800/x.sh"}, {"command": "./x", "args": ["\ud800/x.sh"]}])
def test_an_entry_that_no_file_can_be_named_with_does_not_stop_the_review(world, entry):
    world.hook("good", scope="project", script=BLOCKS)
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", **entry}]}]}})
    trust(world, "good")
    assert state_of(world, "good") == "armed"
    assert command(world, "trust", "--list").returncode == 0
    assert command(world, "deny", "--all").returncode == 0


def test_a_hook_folder_that_is_no_utf_8_can_be_trusted(world):
    folder = world.hook("guard", scope="project", script=BLOCKS)
    strange = os.path.join(os.fsencode(folder.parent), b"gu\xffrd")
    os.rename(folder, strange)
    trust(world)
    assert verdict(world)["decision"] == "block"


def test_a_trusted_guard_whose_name_another_takes_is_told(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    other = world.hook("a-tool", scope="project", script="exit 0")
    (other / "HOOK.md").write_text((other / "HOOK.md").read_text().replace("name: a-tool", "name: guard"))
    trust(world)
    done = command(world, "run", stdin=_event(world.project))
    assert "hook 'guard' did not run: the project hook in" in done.stderr


def test_a_copy_that_was_touched_does_not_run(world):
    world.hook("guard", scope="project", script=BLOCKS)
    trust(world)
    time.sleep(2.2)
    assert verdict(world, "by the door")["decision"] == "block"
    (script,) = (world.state / "copies").glob("*/0/guard/scripts/run.sh")
    script.chmod(0o700)
    script.write_text(f"#!/bin/sh\ntouch {world.root}/pwned\n")
    found = verdict(world, "by the door")
    assert (ran(found), skipped(found)) == ([], ["guard"])
    assert not (world.root / "pwned").exists()
    command(world, "list")
    assert verdict(world, "by the door")["decision"] == "block"


@pytest.mark.parametrize("shell", ["sh", "bash", "sh -e", "exec sh"])
def test_the_script_of_a_shell_is_bound(world, shell):
    guard = world.project / "tools" / "guard.sh"
    guard.parent.mkdir()
    guard.write_text("exit 2\n")
    world.settings("project", settings(f"{shell} tools/guard.sh"))
    trust(world)
    assert verdict(world)["decision"] == "block"
    guard.write_text("exit 0\n")
    assert len(verdict(world)["skipped"]) == 1


def test_a_script_where_tools_leave_things_is_bound_too(world):
    hooks = world.project / ".claude" / "hooks"
    (hooks / "__pycache__").mkdir(parents=True)
    for name, code in (("a.sh", 0), ("__pycache__/b.sh", 2)):
        (hooks / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (hooks / name).chmod(0o755)
    world.settings("project", settings(".claude/hooks/a.sh && .claude/hooks/__pycache__/b.sh"))
    trust(world)
    assert verdict(world)["decision"] == "block"
    (hooks / "__pycache__" / "b.sh").write_text("#!/bin/sh\nexit 0\n")
    assert len(verdict(world)["skipped"]) == 1
