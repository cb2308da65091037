"""What reviews have found, so that it does not come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import boathook
from boathook.core.event import Event
from boathook.core.verdict import Call, Exit
from boathook.dialects import native
from tests.core.builders import a_hook
from tests.growth import grows_in_proportion

MANIFEST = "---\nname: {name}\ndescription: d\ntrigger: {trigger}\n{more}---\n"
BLOCK = "echo no >&2\nexit 2\n"
CALL = {"tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}


class World:
    """A project, a home, and the command line between them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "project"
        self.home = path / "home"
        self.project.mkdir()
        self.home.mkdir()

    def hook(
        self, name: str, script: str = BLOCK, trigger: str = "pre-tool-call", more: str = "", *, user: bool = False
    ) -> Path:
        root = self.home / ".config/agents/hooks" if user else self.project / ".agents/hooks"
        folder = root / name
        (folder / "scripts").mkdir(parents=True)
        (folder / "HOOK.md").write_text(MANIFEST.format(name=name, trigger=trigger, more=more))
        (folder / "scripts/run.sh").write_text(f"#!/bin/sh\n{script}")
        (folder / "scripts/run.sh").chmod(0o755)
        return folder

    def run(
        self, event: object = CALL, *args: str, cwd: Path | None = None, **more: object
    ) -> subprocess.CompletedProcess[str]:
        trust = ["--trust-all"] if more.pop("trust_all", True) else []
        argv = [sys.executable, "-m", "boathook", "run", *trust, *(args or ("pre-tool-call",))]
        text = event if isinstance(event, str) else json.dumps(event)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), **more.pop("env", {})}
        options = {"capture_output": True, "timeout": 60, **more}
        return subprocess.run(argv, input=text, text=True, cwd=cwd or self.project, env=env, **options)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_two_engines_in_one_program_leave_each_other_s_hooks_alone(world: World) -> None:
    slow, quick = world.path / "slow", world.path / "quick"
    for place, script in ((slow, "sleep 0.6\nexit 2\n"), (quick, "sleep 0.1\nexit 0\n")):
        place.mkdir()
        World.hook(_at(world, place), "guard", script)
    engines = [boathook.load(place, config=world.path / "none", trust_all=True) for place in (slow, quick)]
    later = threading.Timer(0.1, lambda: engines[1].dispatch({"event_type": "PreToolUse", **CALL}))
    later.start()
    verdict = engines[0].dispatch({"event_type": "PreToolUse", **CALL})
    later.join()
    assert [(run.status, run.code) for run in verdict.runs] == [("ok", 2)]


def _at(world: World, project: Path) -> World:
    other = World.__new__(World)
    other.path, other.project, other.home = world.path, project, world.home
    return other


def test_without_home_the_hooks_of_the_account_still_count(world: World) -> None:
    world.hook("guard")
    done = world.run(env={"HOME": ""})
    assert done.returncode == 2


@pytest.mark.parametrize(
    "extra",
    ['"deep": ' + "[" * 250 + "]" * 250, '"number": ' + "9" * 5000, '"number": 1e400'],
    ids=["too deep", "too many digits", "too large"],
)
def test_an_input_beyond_limits_cannot_slip_past_the_guards(world: World, extra: str) -> None:
    world.hook("guard")
    done = world.run('{"tool_name": "Shell", "tool_input": {"command": "rm -rf /", ' + extra + "}}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "beyond limits" in done.stderr


def test_null_for_a_field_that_every_event_has_counts_as_absent(world: World) -> None:
    world.hook("guard")
    absent = dict.fromkeys(("session_id", "work_dir", "context", "timestamp"))
    assert world.run({**CALL, **absent}).returncode == 2


def test_hooks_run_though_the_current_folder_was_removed(world: World) -> None:
    world.hook("guard", user=True)
    gone = world.path / "gone"
    gone.mkdir()
    argv = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m boathook run pre-tool-call"
    env = {"PATH": os.environ["PATH"], "HOME": str(world.home), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        ["sh", "-c", argv], input=json.dumps(CALL), capture_output=True, text=True, env=env, timeout=60
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")


def test_an_async_hook_that_cannot_be_read_and_is_set_to_block_blocks(world: World) -> None:
    world.hook("guard", more="async: true\non_failure: block\nmatcher: {tool: '(?=x)'}\n")
    done = world.run()
    assert done.returncode == 2
    assert "lookahead" in done.stderr


def test_an_async_hook_whose_needs_are_not_met_is_told(world: World) -> None:
    world.hook("note", more="async: true\nrequires: {bins: [no-such-program]}\n")
    done = world.run()
    expected = "boathook: hook 'note' did not run: it requires no-such-program, not found on the PATH\n"
    assert (done.returncode, done.stderr) == (0, expected)


@pytest.mark.parametrize(
    "output",
    [
        'INFO {"decision":"deny"}',
        'checking\n{"decision":"deny",}',
        'checking\n{"decision":"allow","decision":"deny"}',
        "{ not json\n" * 70 + '{"decision":"deny"}',
    ],
    ids=["on the same line", "not quite JSON", "a repeated key", "behind much that is no JSON"],
)
def test_a_buried_deny_is_unreadable_and_never_context(world: World, output: str) -> None:
    folder = world.hook("guard", "cat answer\n")
    (world.project / "answer").write_text("x " + output)
    verdict = json.loads(world.run(CALL, "pre-tool-call", "--json").stdout)
    assert ([run["status"] for run in verdict["runs"]], verdict["additional_context"]) == (["unreadable"], [])
    assert folder.exists()


def test_an_answer_full_of_braces_is_read_in_time() -> None:
    call = Call(a_hook(), Event.of("pre-tool-call", session_id="s", work_dir="/", timestamp="t"))
    read = partial(native.read_answer, call)
    assert grows_in_proportion(lambda count: read(Exit(0, b"x" + b"{" * count)), 100_000)


def test_a_long_dotted_key_in_a_project_s_hooks_toml_does_not_stall_the_user_s_guards(world: World) -> None:
    world.hook("guard", user=True)
    (world.project / ".agents/hooks").mkdir(parents=True)
    (world.project / ".agents/hooks.toml").write_text("[hooks]\n" + ".".join("a" * 16_000) + " = 1\n")
    done = world.run()
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")
    assert "dots" in done.stderr


def test_an_answer_that_cannot_be_written_is_no_consent(world: World) -> None:
    world.hook("guard", 'echo \'{"continue": false, "stop_reason": "enough"}\'\n')
    with open("/dev/full", "w") as full:
        done = world.run(capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "could not be written" in done.stderr


def test_a_slow_reader_gets_the_whole_answer_even_from_a_pipe_that_does_not_block(world: World) -> None:
    world.hook(
        "guard", 'printf \'{"modified_input": {"x": "\'; head -c 200000 /dev/zero | tr "\\0" y; printf \'"}}\'\n'
    )
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    found: list[bytes] = []

    def read() -> None:
        time.sleep(0.3)
        while part := os.read(reading, 4096):
            found.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    done = world.run(capture_output=False, stdout=writing)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert done.returncode == 0
    assert len(json.loads(b"".join(found))["modified_input"]["x"]) == 200_000


@pytest.mark.parametrize("what", ["a file", "a link to nothing", "a link to itself"])
def test_hooks_that_are_there_but_cannot_be_used_are_told(world: World, what: str) -> None:
    (world.project / ".agents").mkdir()
    place = world.project / ".agents/hooks"
    if what == "a file":
        place.write_text("")
    else:
        place.symlink_to("nowhere" if what == "a link to nothing" else "hooks")
    done = world.run()
    assert (done.returncode, "the hooks folder cannot be read" in done.stderr) == (0, True)


def test_a_relative_config_and_work_dir_hold_for_every_hook(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.path)
    (world.project / "sub").mkdir()
    for name in ("a", "b"):
        world.hook(name, "pwd\n", user=True)
    engine = boathook.load("project", config="home/.config/agents")
    monkeypatch.chdir(world.project)
    verdict = engine.dispatch({"event_type": "PreToolUse", "work_dir": "sub", **CALL})
    assert verdict.additional_context == (str(world.project / "sub"),) * 2


def test_a_number_that_is_none_in_an_embedded_event_is_refused_and_does_not_disarm(world: World) -> None:
    world.hook("guard", more="matcher: {pattern: rm}\n")
    engine = boathook.load(world.project, config=world.path / "none", trust_all=True)
    with pytest.raises(boathook.DialectError):
        engine.dispatch({"event_type": "PreToolUse", "tool_input": {"command": "rm", "x": float("nan")}})


def test_what_a_manifest_says_reaches_no_terminal_unfiltered(world: World) -> None:
    world.hook("guard", trigger='"x\\e]52;c;AAAA\\a"')
    done = world.run()
    assert "unknown event" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_user_s_hook_whose_place_a_project_s_takes_is_told(world: World) -> None:
    world.hook("guard", user=True)
    world.hook("guard", "exit 0\n", trigger="notification")
    done = world.run()
    assert (done.returncode, "hook 'guard' did not run: replaced by the project's hook" in done.stderr) == (0, True)


def test_a_user_s_hook_keeps_its_place_while_the_project_s_is_not_trusted(world: World) -> None:
    world.hook("guard", user=True)
    world.hook("guard", "exit 0\n")
    done = world.run(trust_all=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")
    assert "hook 'guard' did not run: it is not trusted yet" in done.stderr


def test_what_an_async_hook_leaves_is_ended_though_another_still_runs(world: World) -> None:
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    world.hook("aa", f'setsid sh -c "exec sleep 77.7 # {mark}" &\n', more="async: true\ntimeout: 300\n")
    world.hook("bb", "until [ -e end ]; do sleep 0.05; done\n", more="async: true\n")
    world.run(env={"LEFT_MARK": mark})
    log = world.home / ".local/state/boathook/background.log"
    limit = time.monotonic() + 60
    while not (log.exists() and "hook 'aa'" in log.read_text()) and time.monotonic() < limit:
        time.sleep(0.05)
    assert _alive(mark, "sleep\x0077.7") == []
    assert "hook 'bb'" not in log.read_text()
    (world.project / "end").touch()


def _alive(mark: str, command: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if mark.encode() in (entry / "environ").read_bytes() and command in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def test_async_hooks_that_are_never_started_are_in_the_log(world: World, tmp_path: Path) -> None:
    for number in range(11):
        world.hook(f"h{number:02}", "sleep 60\n", more="async: true\ntimeout: 50000\n")
    engine = boathook.load(world.project, config=world.path / "none", state=tmp_path / "state", trust_all=True)
    engine.dispatch({"event_type": "PreToolUse", **CALL})
    engine._parts.background.close()
    log = (tmp_path / "state/background.log").read_text()
    assert [log.count(f"hook 'h{number:02}'") for number in range(11)] == [1] * 11
    assert log.count("never started") + log.count("failed: cancelled") == 11


def test_a_script_that_a_link_leads_to_later_is_noticed(world: World) -> None:
    folder = world.hook("guard")
    (folder / "scripts/run.sh").rename(world.path / "kept.sh")
    (folder / "scripts/run.sh").symlink_to("later.sh")
    time.sleep(2.1)
    assert "did not run" in world.run().stderr
    (world.path / "kept.sh").rename(folder / "scripts/later.sh")
    assert world.run().returncode == 2


def test_a_module_in_a_project_is_not_taken_for_a_library(world: World) -> None:
    world.hook("guard", more="matcher: {pattern: 'r[m]'}\n")
    for name in ("yaml", "re2", "click"):
        (world.project / f"{name}.py").write_text("import os\nos._exit(0)\n")
    assert world.run().returncode == 2


def test_a_count_of_refused_stops_ends_with_the_turn_even_at_the_fast_door(world: World) -> None:
    world.hook("gate", trigger="Stop")
    time.sleep(2.1)
    events = ["Stop", "Stop", "UserPromptSubmit", "Stop", "Stop", "Stop", "Stop"]
    codes = [world.run({"session_id": "s"}, name).returncode for name in events]
    assert codes == [2, 2, 0, 2, 2, 2, 0]


def test_a_log_that_cannot_be_written_is_told_and_the_async_hook_runs_all_the_same(world: World) -> None:
    world.hook("note", "touch ran\n", more="async: true\n")
    (world.home / ".local").mkdir()
    (world.home / ".local/state").write_text("")
    done = world.run()
    limit = time.monotonic() + 60
    while not (world.project / "ran").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert (done.returncode, "the output of async hooks is lost" in done.stderr) == (0, True)
    assert (world.project / "ran").exists()
