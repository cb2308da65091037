"""How `doctor` fires hooks: nothing of the person's changes, and a hook that needs more is not called broken."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from boathook.assembly import load_catalog
from boathook.cli.doctor_firing import FOR_REAL, SANDBOXED, SCRATCH_HOME, Firing, choose_firing, prepare_firing
from boathook.core.hook import BASIC, ISOLATED, RESTRICTED
from boathook.process.sandbox import SandboxSupport, probe_sandbox_levels
from boathook.sources.samples import build_sample_event
from tests.scratch_project import make_settings

HAS_SANDBOX = next(one.is_available for one in probe_sandbox_levels() if one.level == RESTRICTED)
HAS_BUBBLEWRAP = next(one.is_available for one in probe_sandbox_levels() if one.level == ISOLATED)
needs_bubblewrap = pytest.mark.skipif(not HAS_BUBBLEWRAP, reason="bubblewrap does not work here")
needs_sandbox = pytest.mark.skipif(not HAS_SANDBOX, reason="this machine has neither Landlock nor bubblewrap")
CONNECT = "import socket\nsocket.create_connection(('127.0.0.1', 9))\n"


def _examine(project, *words):
    done = project.run("doctor", *words, "--json")
    assert "Traceback" not in done.stderr, done.stderr
    found = json.loads(done.stdout)
    return done.returncode, found, {row["hook"].partition("#")[0]: row for row in found["hooks"]}


def _write_hooks_with_effects(project):
    """Write hooks of both forms that write to the home folder, and one that needs a network."""
    project.write_settings(
        "user",
        {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "cat >> ~/prompts.log"}]}]}},
    )
    project.write_hook("writer", 'echo x > "$HOME/made"', fields={"trigger": "pre-agent-turn"})
    project.write_hook("sender", f"#!{sys.executable}\n{CONNECT}", script_name="run.py")
    # With dash a redirection that fails exits with 2, which would look like a block.
    project.write_hook("blocker", ': > "$HOME/made"')


@needs_sandbox
def test_hooks_change_nothing_of_the_person_and_are_not_called_broken(project):
    _write_hooks_with_effects(project)
    before = sorted(os.walk(project.home))
    code, found, rows = _examine(project)
    assert sorted(os.walk(project.home)) == before
    assert (code, found["ok"], found["firing"]["way"]) == (0, True, SANDBOXED)
    assert {row["result"] for row in rows.values()} == {"not fired safely"}
    assert found["counts"]["not fired safely"] == 4
    for name, row in rows.items():
        (finding,) = [one for one in row["findings"] if one["text"].startswith("could not be fired safely: ")]
        assert finding["level"] == "warning"
        assert f"boathook doctor {row['hook']} --for-real" in finding["fix"], name


@needs_sandbox
def test_strict_counts_what_could_not_be_fired(project):
    project.write_hook("writer", 'echo x > "$HOME/made"; exit $?')
    assert [_examine(project, *words)[0] for words in ((), ("--strict",))] == [0, 1]


@needs_sandbox
def test_a_hook_that_answers_although_it_could_not_write_works(project):
    project.write_hook("logger", 'echo x > "$HOME/made"\nexit 0', fields={"trigger": "pre-agent-turn"})
    _, _, rows = _examine(project)
    assert rows["logger"]["result"] == "works"
    assert rows["logger"]["findings"][-1]["text"].startswith("it could not do everything as it was fired: ")


@needs_sandbox
def test_a_hook_that_is_broken_for_another_reason_fails_in_the_sandbox_too(project):
    project.write_hook("broken", "echo 'no such option' >&2\nexit 1")
    code, _, rows = _examine(project)
    assert (code, rows["broken"]["result"]) == (1, "fails")


@needs_bubblewrap
def test_where_bubblewrap_works_hooks_change_no_modes_and_times_and_see_no_sockets(project):
    (project.home / "kept").write_text("x")
    before = os.stat(project.home / "kept")
    guard = project.write_hook("guard", 'chmod 000 "$HOME/kept"; touch -d 2001-01-01 "$HOME/kept"; exit 2')
    (guard / "tests.txt").write_text("block ls\n")
    project.write_hook("sockets", '[ -z "$(find /run/ -type s 2>/dev/null)" ] || exit 1')
    _, _, rows = _examine(project)
    after = os.stat(project.home / "kept")
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
    assert rows["sockets"]["result"] == "works"


def test_for_real_fires_with_the_real_home(project):
    _write_hooks_with_effects(project)
    _, found, rows = _examine(project, "writer", "UserPromptSubmit:cat", "--for-real")
    assert found["firing"]["way"] == FOR_REAL
    assert {row["result"] for row in rows.values()} == {"works"}
    assert (project.home / "made").exists()
    assert (project.home / "prompts.log").exists()


def test_without_a_sandbox_hooks_get_a_scratch_home(project, monkeypatch):
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("CODEX_HOME", str(project.home / "codex"))
    project.write_hook(
        "writer", 'echo x > "$HOME/made"; echo "$HOME $XDG_CONFIG_HOME $CODEX_HOME $DISPLAY" >&2; exit 2'
    )
    catalog = load_catalog(project.path)
    (hook,) = catalog.hooks
    with prepare_firing(catalog, Firing(SCRATCH_HOME)) as firer:
        (run,) = firer.fire(hook, build_sample_event(hook, firer.scratch)).runs
        (reason,) = run.outcome.reasons
        home = f"{os.path.dirname(firer.scratch)}/home"
        assert reason.split() == [home, f"{home}/.config", f"{home}/.codex"]
        assert os.path.exists(f"{home}/made")
    assert not os.path.exists(home)
    assert not (project.home / "made").exists()


@pytest.mark.parametrize(
    ("has_sandbox", "for_real", "way", "levels"),
    [
        (True, False, SANDBOXED, {BASIC: RESTRICTED, RESTRICTED: RESTRICTED, ISOLATED: ISOLATED}),
        (False, False, SCRATCH_HOME, {BASIC: BASIC, RESTRICTED: RESTRICTED}),
        (True, True, FOR_REAL, {BASIC: BASIC, ISOLATED: ISOLATED}),
    ],
)
def test_the_way_depends_on_the_machine_and_on_the_person(project, has_sandbox, for_real, way, levels):
    project.write_hook("guard", fields={"async": True})
    found = choose_firing((SandboxSupport(RESTRICTED, has_sandbox, ""),), for_real=for_real)
    assert (found.way, found.by_mounts) == (way, False)
    (hook,) = load_catalog(project.path, config=project.config, state=project.state).hooks
    for own, confined in levels.items():
        fired = found.confine(hook.replace(sandbox=own, network=True))
        assert (fired.sandbox, fired.background, fired.network) == (confined, False, way != SANDBOXED)


@pytest.mark.parametrize("for_real", [False, True])
def test_bubblewrap_makes_the_sandbox_if_it_works(for_real):
    levels = tuple(SandboxSupport(level, is_available=True, detail="") for level in (RESTRICTED, ISOLATED))
    assert choose_firing(levels, for_real=for_real).by_mounts is not for_real


def test_code_without_a_review_needs_a_sandbox(project):
    project.write_hook("theirs", scope="project")
    (hook,) = load_catalog(project.path, config=project.config, state=project.state).hooks
    refusals = {
        way: [bool(Firing(way).find_refusal(hook, is_trusted=one)) for one in (True, False)]
        for way in (SANDBOXED, SCRATCH_HOME, FOR_REAL)
    }
    assert refusals == {SANDBOXED: [False, False], SCRATCH_HOME: [False, True], FOR_REAL: [False, False]}


@needs_sandbox
def test_trust_all_fires_untrusted_hooks_of_a_project(project):
    project.write_hook("guard", f"touch {project.home}/made\nexit 2", scope="project")
    code, _, rows = _examine(project)
    assert (code, rows["guard"]["result"]) == (1, "fails")
    code, _, rows = _examine(project, "--trust-all")
    assert (code, rows["guard"]["state"], rows["guard"]["result"]) == (0, "armed", "not fired safely")
    assert not (project.home / "made").exists()
    code, _, rows = _examine(project, "--trust-all", "--for-real")
    assert (code, rows["guard"]["result"]) == (0, "works")
    assert project.read_hook_state("guard") == "untrusted"


def test_only_the_named_hooks_are_fired(project):
    for name in ("one", "two"):
        project.write_hook(name, "exit 2")
    project.write_settings("user", make_settings("exit 2"))
    code, found, rows = _examine(project, "two")
    assert (code, [*rows], found["setup"]) == (0, ["two"], [])
    assert [*_examine(project, "PreToolUse:exit", "one")[2]] == ["PreToolUse:exit", "one"]
    done = project.run("doctor", "tow")
    assert (done.returncode, done.stderr) == (1, "boathook: there is no hook 'tow' here: did you mean 'two'?\n")


def test_what_a_hook_prints_names_the_file_of_the_project_and_not_the_private_copy(project):
    folder = project.write_hook("guard", 'echo "$0: broken" >&2; exit 1', scope="project")
    project.trust()
    done = project.run("doctor", "guard")
    assert f"{folder}/scripts/run.sh: broken" in done.stdout
    assert "/copies/" not in done.stdout


def _read_until(handle, wanted, text=""):
    """Read what a terminal shows until a text is in it; a command that ends without it fails the test."""
    while wanted not in text:
        try:
            data = os.read(handle, 4096)
        except OSError:
            data = b""
        assert data, text
        text += data.decode()
    return text


def test_at_a_terminal_each_row_comes_when_its_hook_ends(project):
    gate = project.base / "gate"
    os.mkfifo(gate)
    project.write_hook("a-first", "exit 2")
    project.write_hook("b-second", f"read line < {gate}; exit 2", fields={"timeout": 60000})
    ours, theirs = pty.openpty()
    argv = project.make_argv("doctor", "a-first", "b-second")
    env = {**project.environment, "TERM": "xterm"}
    with subprocess.Popen(argv, cwd=project.path, env=env, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = _read_until(ours, "firing b-second (2 of 2)")
        assert "a-first  works" in shown
        assert "b-second  works" not in shown
        gate.write_text("go\n")
        shown = _read_until(ours, "2 hooks: 2 working", shown)
        assert "b-second  works" in shown
    os.close(ours)


def test_in_a_pipe_there_is_no_line_of_progress(project):
    project.write_hook("guard", "exit 2")
    done = project.run("doctor", "guard")
    assert "firing" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith("Hooks are fired in a scratch project")
