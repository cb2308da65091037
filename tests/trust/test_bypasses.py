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
from tests import forked
from tests.scratch_project import CALL, HOOK_ENTRY, list_runs, list_skipped, make_settings

BLOCKS = "echo no >&2; exit 2"


def _event(folder) -> str:
    return json.dumps({**CALL, "work_dir": str(folder)})


def _evil(project, place: Path) -> None:
    """Lay out hooks of a would-be user that leave a trace."""
    script = place / "agents" / "hooks" / "x" / "scripts" / "run.sh"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\ntouch {project.base}/pwned\n")
    script.chmod(0o755)
    manifest = "---\nname: x\ndescription: x\ntrigger: pre-tool-call\n---\n"
    (script.parent.parent / "HOOK.md").write_text(manifest)


def _git(*arguments, cwd) -> None:
    names = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", *names, *arguments], cwd=cwd, check=True, capture_output=True)


def _from_outside(project):
    _git("init", "-q", ".", cwd=project.path)
    return project.base, {}


def _named_by_the_host(project):
    _git("init", "-q", ".", cwd=project.path)
    return project.path, {"CLAUDE_PROJECT_DIR": "/usr"}


def _no_repository(project):
    return project.path, {}


def _worktree(project):
    _git("init", "-q", ".", cwd=project.path)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=project.path)
    _git("worktree", "add", "-q", str(project.base / "tree"), cwd=project.path)
    return project.base / "tree", {}


def _submodule(project):
    _git("init", "-q", ".", cwd=project.path)
    sub = project.path / "sub"
    sub.mkdir()
    (sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    return sub, {}


WAYS = (_from_outside, _named_by_the_host, _no_repository, _worktree, _submodule)


@pytest.mark.parametrize("make", WAYS)
@pytest.mark.parametrize("alias", [False, True])
def test_no_folder_of_a_project_is_the_user_s_for_events_from_any_place(project, make, alias):
    place = project.path / "evil"
    _evil(project, place)
    start, env = make(project)
    if alias:
        (project.base / "alias").symlink_to(project.path)
        place = project.base / "alias" / "evil"
    host = ("--host", "claude") if env else ()
    event = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {},
        "cwd": str(start),
        "session_id": "s",
    }
    stdin = json.dumps(event) if host else _event(start)
    done = project.run("run", *host, stdin=stdin, env={"XDG_CONFIG_HOME": str(place), **env})
    assert not (project.base / "pwned").exists()
    assert "ignoring your hooks folder because it is inside a project" in done.stderr


def test_a_forged_trust_store_above_a_submodule_is_not_believed(project):
    start, _ = _submodule(project)
    project.write_hook("guard", scope="project", script=f"touch {project.base}/pwned")
    forged = project.path / "st" / "boathook"
    assert project.run("trust", "--yes", "--state", str(forged)).returncode == 0
    project.run("run", stdin=_event(start), env={"XDG_STATE_HOME": str(forged.parent)})
    assert not (project.base / "pwned").exists()


@pytest.mark.parametrize("program", [["-m", "boathook", "run"], ["-I", "-S", HOOK_ENTRY]])
def test_folders_on_the_command_line_take_precedence_over_all_variables(project, program):
    project.write_hook("guard", script=BLOCKS)
    project.write_settings("user", make_settings("exit 2"))
    flags = ["--config", str(project.config), "--claude", str(project.claude_folder), "--state", str(project.state)]
    env = {**project.environment, "XDG_CONFIG_HOME": "/usr/share", "HOME": "/usr", "CLAUDE_CONFIG_DIR": "/usr"}
    for wanted, names in ((flags, ["guard"]), ([], [])):
        done = forked.run([sys.executable, *program, "--json", *wanted], input=_event(project.path), capture_output=True,
                          text=True, env=env, cwd=project.path, check=False)  # fmt: skip
        assert [name for name, _, _ in list_runs(json.loads(done.stdout))] == names


def test_a_file_that_comes_after_the_approval_asks_again(project):
    log = project.path / ".claude" / "hooks" / "log.sh"
    log.parent.mkdir(parents=True)
    log.write_text("#!/bin/sh\nexit 0\n")
    log.chmod(0o755)
    line = ".claude/hooks/log.sh; if test -x tools/guard.sh; then tools/guard.sh; fi"
    project.write_settings("project", make_settings(line))
    assert f"{project.path}/tools/guard.sh does not exist; if it appears, you are asked again" in project.trust().stdout
    time.sleep(2.2)
    with boathook.load(project.path) as engine:
        assert project.dispatch("by hook_entry")["skipped"] == []
        (project.path / "tools").mkdir()
        guard = project.path / "tools" / "guard.sh"
        guard.write_text(f"#!/bin/sh\ntouch {project.base}/pwned\n")
        guard.chmod(0o755)
        assert len(project.dispatch("by hook_entry")["skipped"]) == 1
        assert len(engine.dispatch(CALL).skipped) == 1
    assert not (project.base / "pwned").exists()


def test_a_sandbox_that_the_project_asks_for_later_asks_again(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    project.write_hooks_toml("project", '[hooks]\nsandbox = "isolated"\n')
    assert list_skipped(project.dispatch()) == ["guard"]


def test_what_is_shown_is_what_would_run(project):
    fields = {"requires": "{env: [GITHUB_TOKEN]}", "network": "true", "sandbox": "restricted"}
    project.write_hook("guard", scope="project", script="exit 0", fields=fields)
    project.write_hooks_toml("project", "[[hooks.override]]\nname = 'guard'\nasync = true\ntimeout = 7000\n")
    shown = project.run("trust").stdout
    assert "async, at most 7 s" in shown
    assert "gets      the variables GITHUB_TOKEN" in shown
    assert "sandbox   restricted, with the network" in shown


def test_a_long_command_is_shown_to_its_end(project):
    project.write_settings("project", make_settings("echo " + "x" * 5000 + "; touch pwned"))
    assert "touch pwned" in project.run("trust").stdout.replace("\n", "")


def test_file_names_cannot_forge_lines(project):
    folder = project.write_hook("guard", scope="project", script="exit 0")
    (folder / "a\n  guard is trusted: exactly these bytes").touch()
    assert "a\\n  guard is trusted" in project.run("trust").stdout


def test_the_shown_definition_comes_from_the_bytes_that_are_kept(project):
    """A writer that flips the manifest all the time must not get other bytes kept than were shown."""
    folder = project.write_hook("guard", scope="project", script="exit 0")
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
            shown = project.run("trust", "guard", "--yes")
            if "is trusted" not in shown.stdout:
                continue
            record = json.loads((project.state / "trust.json").read_text())["records"][0]
            remaining = (project.state / "copies" / record["digest"] / "0" / "guard" / "HOOK.md").read_text()
            # The writer's temporary file is shown as well, so look at the definition and at the text of the manifest.
            manifest_text = (
                shown.stdout.partition("  HOOK.md:\n")[2].partition(":\n    | #!")[0].partition("HOOK.md.n:")[0]
            )
            assert ("MY_TOKEN" in remaining) == ("the variables MY_TOKEN" in shown.stdout)
            assert ("MY_TOKEN" in remaining) == ("MY_TOKEN" in manifest_text)
            project.run("untrust", "guard", "--yes")
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
def test_a_file_that_is_named_but_not_covered_is_reported(project, case):
    guard = project.path / "tools" / "guard.sh"
    guard.parent.mkdir()
    guard.write_text("#!/bin/sh\nexit 0\n")
    guard.chmod(0o755)
    project.write_settings("project", make_settings(LOOSE[case]))
    shown = project.run("trust").stdout
    assert "  uncovered " in shown
    assert "guard.sh" in shown.partition("uncovered ")[2]


@pytest.mark.parametrize("form", ["an empty folder", "empty settings"])
def test_a_nearer_folder_does_not_hide_trusted_guards_silently(project, form):
    sub = project.path / "sub"
    if form == "an empty folder":
        project.write_hook("guard", scope="project", script=BLOCKS)
        (sub / ".agents" / "hooks").mkdir(parents=True)
    else:
        project.write_settings("project", make_settings("exit 2"))
        (sub / ".claude").mkdir(parents=True)
        (sub / ".claude" / "settings.json").write_text('{"hooks": {}}')
    project.trust()
    with boathook.load(sub) as engine:
        found = engine.dispatch({**CALL, "work_dir": str(sub)}).to_json()
    assert ["you trusted it in a folder above" in skip["why"] for skip in found["skipped"]] == [True]


def test_a_user_s_hook_guards_again_when_its_replacement_changes(project):
    project.write_hook("guard", script=BLOCKS)
    folder = project.write_hook("guard", scope="project", script="exit 0")
    project.trust(flags=("--yes", "--override"))
    with boathook.load(project.path) as engine:
        assert not engine.dispatch(CALL).is_blocked
        (folder / "new").touch()
        assert engine.dispatch(CALL).is_blocked


@pytest.mark.parametrize("entry", [{"command": "./\ud800/x.sh"}, {"command": "./x", "args": ["\ud800/x.sh"]}])
def test_an_entry_that_no_file_can_be_named_with_does_not_stop_the_review(project, entry):
    project.write_hook("good", scope="project", script=BLOCKS)
    project.write_settings("project", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", **entry}]}]}})
    project.trust("good")
    assert project.read_hook_state("good") == "armed"
    assert project.run("trust", "--list").returncode == 0
    assert project.run("deny", "--all", "--yes").returncode == 0


def test_a_hook_folder_that_is_not_utf_8_can_be_trusted(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    strange = os.path.join(os.fsencode(folder.parent), b"gu\xffrd")
    os.rename(folder, strange)
    project.trust()
    assert project.dispatch()["decision"] == "block"


def test_a_trusted_guard_whose_name_another_takes_is_reported(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    other = project.write_hook("a-tool", scope="project", script="exit 0")
    (other / "HOOK.md").write_text((other / "HOOK.md").read_text().replace("name: a-tool", "name: guard"))
    project.trust()
    done = project.run("run", stdin=_event(project.path))
    assert "hook 'guard' did not run: the project hook in" in done.stderr


def test_a_copy_that_was_touched_does_not_run(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    time.sleep(2.2)
    assert project.dispatch("by hook_entry")["decision"] == "block"
    (script,) = (project.state / "copies").glob("*/0/guard/scripts/run.sh")
    script.chmod(0o700)
    script.write_text(f"#!/bin/sh\ntouch {project.base}/pwned\n")
    found = project.dispatch("by hook_entry")
    assert (list_runs(found), list_skipped(found)) == ([], ["guard"])
    assert not (project.base / "pwned").exists()
    project.run("list")
    assert project.dispatch("by hook_entry")["decision"] == "block"


@pytest.mark.parametrize("shell", ["sh", "bash", "sh -e", "exec sh"])
def test_the_script_of_a_shell_is_bound(project, shell):
    guard = project.path / "tools" / "guard.sh"
    guard.parent.mkdir()
    guard.write_text("exit 2\n")
    project.write_settings("project", make_settings(f"{shell} tools/guard.sh"))
    project.trust()
    assert project.dispatch()["decision"] == "block"
    guard.write_text("exit 0\n")
    assert len(project.dispatch()["skipped"]) == 1


def test_a_script_where_tools_leave_things_is_bound_too(project):
    hooks = project.path / ".claude" / "hooks"
    (hooks / "__pycache__").mkdir(parents=True)
    for name, code in (("a.sh", 0), ("__pycache__/b.sh", 2)):
        (hooks / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (hooks / name).chmod(0o755)
    project.write_settings("project", make_settings(".claude/hooks/a.sh && .claude/hooks/__pycache__/b.sh"))
    project.trust()
    assert project.dispatch()["decision"] == "block"
    (hooks / "__pycache__" / "b.sh").write_text("#!/bin/sh\nexit 0\n")
    assert len(project.dispatch()["skipped"]) == 1
