"""`boathook agent` and the demo that runs it: scripted models, real hooks, real tools, through the real command."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from boathook import AgentBuilder
from boathook.agent.scripted import ScriptedModel, read_script
from boathook.assembly import load
from boathook.cli.agent import assemble_agent, run_session
from boathook.cli.agent_trace import Trace
from tests.scratch_project import ScratchProject

SCRIPTS = Path(__file__).parent.parent.parent / "examples/scripts"
WAIT = 60.0
SHELL = {"trigger": "pre-tool-call", "matcher": "{tool: Shell}"}


def call(name: str, text: str = "", **args: Any) -> dict[str, Any]:
    return {"text": text, "calls": [{"name": name, "args": args}]}


def shell(command: str) -> dict[str, Any]:
    return call("Shell", command=command)


class AgentProject(ScratchProject):
    """A scratch project with the agent in it."""

    def write_moves(self, *moves: Any) -> str:
        path = self.base / "moves.json"
        path.write_text(json.dumps(moves))
        return str(path)

    def play(self, *moves: Any, args: tuple[str, ...] = ("--yes",)) -> subprocess.CompletedProcess[str]:
        return self.run("agent", "do it", "--script", self.write_moves(*moves), *args)

    def trace(self, *moves: Any, args: tuple[str, ...] = ("--yes",)) -> tuple[int, list[dict[str, Any]]]:
        done = self.play(*moves, args=(*args, "--json"))
        assert done.stderr == ""
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def write_end_hook(self) -> Path:
        """Make a hook that keeps what it receives at the end of a session."""
        self.write_hook("bye", scope="project", fields={"trigger": "post-session"}, script="cat > bye.json")
        return self.path / "bye.json"

    @contextlib.contextmanager
    def start(self, *args: str, **fields: Any) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(self.make_argv(*args), cwd=self.path, env=self.environment, **fields) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()


@pytest.fixture
def project(project: ScratchProject) -> AgentProject:
    return AgentProject(project.base, trust_all=True)


def of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


def wait_for(path: Path) -> None:
    end = time.monotonic() + WAIT
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.01)


# What hooks do to it


def test_a_blocked_call_does_not_run_and_the_model_reads_why(project: AgentProject) -> None:
    project.write_hook("guard", scope="project", fields=SHELL, script="echo 'not that one' >&2; exit 2")
    code, records = project.trace(shell("touch made"), "Then not.")
    assert code == 0
    assert not (project.path / "made").exists()
    (tool,) = of(records, "tool")
    assert (tool["ran"], tool["output"]) == (False, "not that one")
    assert of(records, "step")[0]["results"] == [{"id": "call-1", "text": "not that one", "is_error": True}]


def test_an_untrusted_hook_does_not_run_and_the_person_is_warned(project: AgentProject) -> None:
    project.write_hook("guard", scope="project", fields=SHELL, script="echo 'not that one' >&2; exit 2")
    words = ["agent", "do it", "--script", project.write_moves(shell("touch made"), "Well."), "--yes"]
    done = project.run(*words, trust_all=False)
    assert (done.returncode, (project.path / "made").exists()) == (0, True)
    assert "guard (untrusted)" in done.stdout + done.stderr


def test_the_agent_finds_trust_in_the_state_folder_it_is_given(project: AgentProject) -> None:
    project.write_hook("guard", scope="project", fields=SHELL, script="echo 'not that one' >&2; exit 2")
    state = str(project.base / "elsewhere")
    assert project.run("trust", "guard", "--yes", "--state", state).returncode == 0
    words = [
        "agent",
        "do it",
        "--script",
        project.write_moves(shell("touch made"), "Then not."),
        "--yes",
        "--state",
        state,
    ]
    done = project.run(*words, trust_all=False)
    assert (done.returncode, (project.path / "made").exists()) == (0, False)
    assert "  tool    Shell did not run: not that one" in done.stdout.splitlines()


def test_a_block_is_shown_with_the_hook_and_its_reason(project: AgentProject) -> None:
    project.write_hook("guard", scope="project", fields=SHELL, script="echo 'not that one' >&2; exit 2")
    lines = project.play(shell("touch made"), "Then not.").stdout.splitlines()
    assert [line.split(" (")[0] for line in lines if " guard: " in line] == ["  hook    pre-tool-call -> guard: block"]
    assert any(line.endswith("not that one") for line in lines if " guard: " in line)
    assert "  tool    Shell did not run: not that one" in lines
    assert "step 2    Then not." in lines


def test_a_rewritten_input_is_what_runs_and_what_is_shown(project: AgentProject) -> None:
    answer = json.dumps({"modified_input": {"command": "echo better"}})
    project.write_hook("better", scope="project", fields=SHELL, script=f"echo '{answer}'")
    done = project.play(shell("echo worse"), "Well.")
    assert "input becomes echo better" in done.stdout
    assert "  tool    Shell: better" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1].endswith("1 hook decision")


def test_a_gate_sends_the_agent_back_to_work_until_the_work_is_done(project: AgentProject) -> None:
    gate = "test -f greeting.txt || { echo 'no greeting yet' >&2; exit 2; }"
    project.write_hook("gate", scope="project", fields={"trigger": "pre-agent-turn-stop"}, script=gate)
    done = project.run("agent", "greet", "--script", str(SCRIPTS / "tests-before-stop.json"), "--yes")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    at = [lines.index(f"step {n}    {text}") for n, text in ((1, "Done."), (2, "So there is work left."))]
    assert "  agent   continues after [Hook blocked stop: no greeting yet]" in lines[at[0] : at[1]]
    assert lines[-1].startswith("done      3 steps, ")


def test_a_gate_whose_refusals_are_used_up_ends_with_exit_code_3(project: AgentProject) -> None:
    project.write_hook("gate", scope="project", fields={"trigger": "Stop"}, script="echo 'no greeting' >&2; exit 2")
    script = project.base / "moves.json"
    script.write_text(json.dumps(["one", "two", "three", "four"]))
    done = project.run("agent", "greet", "--script", str(script), "--json")
    assert done.returncode == 3
    records = [json.loads(line) for line in done.stdout.splitlines()]
    feedback = {"version": 1, "type": "feedback", "agent": "main", "text": "[Hook blocked stop: no greeting]"}
    assert [record for record in records if record["type"] == "feedback"] == [feedback] * 3
    results = [(record["status"], record["reason"]) for record in records if record["type"] == "result"]
    assert results == [("gate_lifted", "no greeting")]
    gate = "printf 'no greeting:\\nnone' >&2; exit 2"
    project.write_hook("gate", scope="project", fields={"trigger": "Stop"}, script=gate)
    shown = project.run("agent", "greet", "--script", str(script)).stdout
    assert "continues after [Hook blocked stop: no greeting: none]\n" in shown
    assert "\nlifted    no greeting:\n          none (" in shown


def test_a_hook_that_stops_ends_the_turn_with_exit_code_2(project: AgentProject) -> None:
    answer = json.dumps({"continue": False, "stop_reason": "enough"})
    project.write_hook("brake", scope="project", fields=SHELL, script=f"echo '{answer}'")
    bye = project.write_end_hook()
    code, records = project.trace(shell("touch made"), "not reached")
    assert code == 2
    (result,) = of(records, "result")
    assert (result["status"], result["reason"]) == ("stopped", "enough")
    assert not (project.path / "made").exists()
    assert json.loads(bye.read_text())["exit_reason"] == "stopped"


@pytest.mark.parametrize("event", ["pre-session", "pre-agent-turn"])
def test_a_turn_or_session_that_hooks_refuse_ends_with_exit_code_2(project: AgentProject, event: str) -> None:
    project.write_hook("closed", scope="project", fields={"trigger": event}, script="echo 'not today' >&2; exit 2")
    done = project.play("not reached")
    assert done.returncode == 2
    assert "blocked   not today" in done.stdout
    assert "not reached" not in done.stdout


def test_context_and_messages_of_hooks_are_shown(project: AgentProject) -> None:
    answer = json.dumps({"additional_context": "it is late", "system_message": "good evening"})
    project.write_hook("clock", scope="project", fields={"trigger": "pre-agent-turn"}, script=f"echo '{answer}'")
    lines = project.play("Hello.").stdout.splitlines()
    assert any("-> clock: no opinion" in line and line.endswith("context: it is late") for line in lines)
    assert "  system  good evening" in lines


def test_hooks_of_the_user_and_of_settings_take_part(project: AgentProject) -> None:
    project.write_hook("mine", scope="user", fields=SHELL, script="exit 0")
    entry = {"type": "command", "command": "echo 'no files' >&2; exit 2"}
    project.write_settings("project", {"hooks": {"PreToolUse": [{"matcher": "WriteFile", "hooks": [entry]}]}})
    _, records = project.trace(shell("true"), call("WriteFile", path="made", content=""), "Well.")
    assert [(one["hook"].partition(":")[0], one["decision"]) for one in of(records, "hook")] == [
        ("mine", "none"),
        ("PreToolUse", "block"),
    ]
    assert not (project.path / "made").exists()


def test_a_broken_hook_is_reported_once_in_a_turn_and_not_at_every_event(project: AgentProject) -> None:
    project.write_hook("broken", scope="project", manifest="---\nname: [\n---\n")
    printed = project.play(shell("true"), "Well.").stdout
    assert printed.count("hook 'broken' did not run") == 1


def test_a_helper_works_under_the_same_hooks_and_its_lines_name_it(project: AgentProject) -> None:
    (project.path / "greeting.txt").write_text("hello\n")
    project.write_hook("reader", scope="project", fields={"matcher": "{tool: ReadFile}"}, script="echo no >&2; exit 2")
    done = project.run("agent", "look", "--script", str(SCRIPTS / "ask-a-helper.json"))
    lines = done.stdout.splitlines()
    assert "  call    Subagent  helper: Say what greeting.txt says." in lines
    assert "  call    [helper] ReadFile  greeting.txt" in lines
    assert "  tool    [helper] ReadFile did not run: no" in lines
    assert "  tool    Subagent: It says hello." in lines
    assert done.returncode == 0


# Its output


def test_json_lines_hold_every_event_in_the_order_in_which_they_happen(project: AgentProject) -> None:
    code, records = project.trace(shell("echo hi"), "Done.")
    assert code == 0
    assert [record["event"] for record in of(records, "event")] == [
        "pre-session",
        "pre-agent-turn",
        "pre-step",
        "pre-tool-call",
        "post-tool-call",
        "post-step",
        "pre-step",
        "post-step",
        "pre-agent-turn-stop",
        "post-agent-turn-stop",
        "post-agent-turn",
        "post-session",
    ]
    assert of(records, "turn") == [{"version": 1, "type": "turn", "prompt": "do it"}]
    assert [record["text"] for record in of(records, "reply")] == ["", "Done."]
    (result,) = of(records, "result")
    assert (result["status"], result["text"], result["steps"], result["decisions"]) == ("done", "Done.", 2, 0)


def test_calls_of_one_step_are_numbered(project: AgentProject) -> None:
    both = {"calls": [{"name": "Shell", "args": {"command": f"echo {word}"}} for word in ("one", "two")]}
    lines = project.play(both, "Done.").stdout.splitlines()
    assert {"  call    Shell [1]  echo one", "  tool    Shell [1]: one", "  tool    Shell [2]: two"} <= set(lines)


def test_what_goes_to_a_pipe_has_no_escape_sequences_of_any_author(project: AgentProject) -> None:
    project.write_hook("red", scope="project", fields=SHELL, script="printf '\\033[31mno\\033[0m' >&2; exit 2")
    done = project.play({"text": "\x1b[2J\x1b]0;title\x07hm", **shell("printf '\\033[1mx'")}, "\x1b[31mred")
    assert "\x1b" not in done.stdout + done.stderr
    assert "title" not in done.stdout
    assert "red" in done.stdout


def test_long_output_and_long_arguments_are_shown_short(project: AgentProject) -> None:
    done = project.play(shell(f"seq 50 # {'x' * 500}"), "Done.")
    assert "… 46 more lines" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 250


def test_debug_lines_go_to_standard_error(project: AgentProject) -> None:
    project.write_hook("mine", scope="user", fields=SHELL)
    assert "[HOOK DEBUG]" not in project.play(shell("true"), "Done.").stderr
    done = project.play(shell("true"), "Done.", args=("--yes", "--debug"))
    assert "[HOOK DEBUG] [SYNC] Starting hook 'mine' for event 'pre-tool-call'" in done.stderr
    assert "[HOOK DEBUG]" not in done.stdout
    project.write_hooks_toml("user", "[hooks]\ndebug = true\n")
    assert "[HOOK DEBUG]" in project.play(shell("true"), "Done.").stderr


# A shell, a child of it, and one in a session of its own: each holds the pipe, so that reading from it ends when all have ended.
FAMILY = "sh -c 'exec 3>pipe; echo here >&3; exec sleep 1000'"
LEAVING = f"{FAMILY} & setsid {FAMILY} > moved 2>&1 & {FAMILY}"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is found")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_agent_that_is_killed_leaves_no_child_of_its_tools(project: AgentProject, number: signal.Signals) -> None:
    os.mkfifo(project.path / "pipe")
    moves = project.write_moves(shell(LEAVING), "Done.")
    started = project.start("agent", "do it", "--yes", "--script", moves, stdout=subprocess.DEVNULL)
    with started as process, (project.path / "pipe").open() as pipe:
        assert [pipe.readline() for _ in range(3)] == ["here\n"] * 3
        process.send_signal(number)
        assert process.wait(WAIT) == (-number if number == signal.SIGKILL else 128 + number)
        assert pipe.read() == ""


@pytest.mark.parametrize("args", [(), ("--json",)])
def test_the_last_hooks_run_even_if_the_reader_has_closed_the_pipe(
    project: AgentProject, args: tuple[str, ...]
) -> None:
    bye = project.write_end_hook()
    moves = project.write_moves(shell("touch begun; until test -f closed; do sleep 0.05; done"), "Done.")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with project.start("agent", "do it", "--yes", "--script", moves, *args, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        wait_for(project.path / "begun")
        process.stdout.close()
        (project.path / "closed").touch()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(WAIT) == 141
    assert json.loads(bye.read_text())["exit_reason"] == "error"


# Models, scripts and tasks


def test_without_a_model_one_line_shows_how_to_name_one(project: AgentProject) -> None:
    done = project.run("agent", "do it")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    for way in ("--model PROVIDER:NAME", f"{project.config}/hooks.toml", "--script FILE"):
        assert way in done.stderr


def test_the_model_may_be_in_the_users_hooks_toml_and_the_command_line_comes_first(project: AgentProject) -> None:
    project.write_hooks_toml("user", '[hooks]\nmodel = "nobody:here"\n')
    assert "the model nobody:here cannot be used" in project.run("agent", "do it").stderr
    assert "the model no-one:else cannot be used" in project.run("agent", "do it", "--model", "no-one:else").stderr
    done = project.run("agent", "do it", "--model", "a:b", "--script", project.write_moves())
    assert (done.returncode, "cannot be used together" in done.stderr) == (1, True)


@pytest.mark.parametrize("text", ["", "{oops", "{}", "[5]", '[{"calls": 5}]', '[{"calls": [{"args": {}}]}]'])
def test_a_script_that_cannot_be_read_is_named_with_exit_code_1(project: AgentProject, text: str) -> None:
    path = project.base / "bad.json"
    path.write_text(text)
    done = project.run("agent", "do it", "--script", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"script {path}" in done.stderr


def test_a_script_that_is_not_there_is_named_with_exit_code_1(project: AgentProject) -> None:
    done = project.run("agent", "do it", "--script", "nowhere.json")
    assert (done.returncode, "nowhere.json" in done.stderr) == (1, True)


@pytest.mark.parametrize("args", [(), ("-",)])
def test_a_task_may_come_from_standard_input(project: AgentProject, args: tuple[str, ...]) -> None:
    done = project.run("agent", *args, "--script", project.write_moves("Done."), "--json", stdin="make it so\nand so\n")
    assert done.returncode == 0
    assert '{"version": 1, "type": "turn", "prompt": "make it so\\nand so"}' in done.stdout.splitlines()


def test_an_empty_task_is_an_error(project: AgentProject) -> None:
    done = project.run("agent", "--script", project.write_moves("Done."), stdin=" \n")
    assert (done.returncode, "there is no task" in done.stderr) == (1, True)


def test_the_agent_works_in_the_project_it_is_given(project: AgentProject) -> None:
    (project.base / "other").mkdir()
    project.play(call("WriteFile", path="made", content="x"), "Done.", args=("--yes", "--project", "../other"))
    assert (project.base / "other/made").read_text() == "x"


def test_a_turn_that_has_taken_all_its_steps_is_not_done(project: AgentProject) -> None:
    done = project.play(*[shell("true")] * 5, args=("--yes", "--max-steps", "2"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("not done  it reached the limit of --max-steps (2 steps")


def test_an_error_of_the_model_ends_with_exit_code_1_and_one_line(project: AgentProject) -> None:
    records: list[Any] = []
    trace = Trace(records.append)
    with load(
        project.path, config=project.config, claude=project.claude_folder, state=project.state, trust_all=True
    ) as engine:
        base = AgentBuilder().with_model(ScriptedModel([OSError("no network")]))
        made = assemble_agent(base, engine, trace, lambda *_: True)
        assert run_session(made.build(), iter(["do it"]), trace) == 1
    assert of(records, "error") == [{"type": "error", "message": "OSError: no network"}]


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_scripted_run_of_the_examples_can_be_played(project: AgentProject, path: Path) -> None:
    assert read_script(str(path)).name == f"script {path.name}"
    done = project.run("agent", "do it", "--script", str(path), "--yes")
    assert (done.returncode, done.stderr) == (0, "")


# Permission


def test_without_a_terminal_a_question_means_no_and_how_to_allow_is_shown(project: AgentProject) -> None:
    done = project.play(call("WriteFile", path="made", content=""), "not reached", args=())
    assert done.returncode == 1
    assert "WriteFile wants to run -> no: there is no terminal to ask at; --yes allows" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("not done  a call was refused")
    assert not (project.path / "made").exists()


def test_with_yes_everything_is_allowed_that_hooks_do_not_block(project: AgentProject) -> None:
    project.write_hook("doubt", scope="project", fields=SHELL, script='echo \'{"decision": "ask", "reason": "sure?"}\'')
    write = call("WriteFile", path="made", content="old")
    edit = call("EditFile", path="made", old="old", new="new")
    code, records = project.trace(write, edit, shell("cp made copy"), "Done.")
    assert code == 0
    assert (project.path / "copy").read_text() == "new"
    assert [(one["reason"], one["allowed"], one["by"]) for one in of(records, "ask")] == [("sure?", True, "--yes")]


def test_what_a_hook_allows_needs_no_permission(project: AgentProject) -> None:
    project.write_hook("sure", scope="project", fields=SHELL, script='echo \'{"decision": "allow"}\'')
    code, records = project.trace(shell("touch made"), "Done.", args=())
    assert (code, of(records, "ask")) == (0, [])
    assert (project.path / "made").exists()


def test_reading_and_searching_needs_no_permission(project: AgentProject) -> None:
    (project.path / "greeting.txt").write_text("hello\n")
    done = project.play(call("ReadFile", path="greeting.txt"), call("Search", pattern="hel"), "Done.", args=())
    assert done.returncode == 0
    assert "  tool    Search: greeting.txt:1: hello" in done.stdout.splitlines()


# Interrupted


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_step_and_the_end_of_the_session_is_reported(
    project: AgentProject, number: int, code: int
) -> None:
    bye = project.write_end_hook()
    moves = project.write_moves(shell("echo $$ > pid; mv pid there; exec sleep 300"), "not reached")
    with project.start("agent", "do it", "--yes", "--script", moves, stdout=subprocess.PIPE) as process:
        wait_for(project.path / "there")
        process.send_signal(number)
        assert process.wait(WAIT) == code
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    assert "aborted   interrupted (1 step" in printed
    assert "not reached" not in printed
    assert json.loads(bye.read_text())["exit_reason"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int((project.path / "there").read_text()), 0)


@pytest.mark.usefixtures("ignored_sigint")
@pytest.mark.parametrize("tool", ["tool", "hook"])
def test_an_ignored_interrupt_stays_ignored_and_the_agent_can_be_ended(project: AgentProject, tool: str) -> None:
    bye = project.write_end_hook()
    waits = "echo $$ > pid; mv pid there; exec sleep 300"
    if tool == "hook":
        project.write_hook("slow", scope="project", fields={**SHELL, "timeout": "60000"}, script=waits)
    moves = project.write_moves(shell(waits if tool == "tool" else "true"), "not reached")
    with project.start("agent", "do it", "--yes", "--script", moves, stdout=subprocess.PIPE) as process:
        wait_for(project.path / "there")
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 128 + signal.SIGTERM
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    assert "aborted   interrupted" in printed
    assert "not reached" not in printed
    assert json.loads(bye.read_text())["exit_reason"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int((project.path / "there").read_text()), 0)


def test_a_killed_agent_leaves_no_child_of_its_tools(project: AgentProject) -> None:
    moves = project.write_moves(shell("sleep 300 & echo $! > pid; mv pid there; wait"), "not reached")
    with project.start("agent", "do it", "--yes", "--script", moves, stdout=subprocess.DEVNULL) as process:
        wait_for(project.path / "there")
        child = psutil.Process(int((project.path / "there").read_text()))
        process.kill()
        process.wait(WAIT)
        wait_until_ended(child)


def wait_until_ended(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        end = time.monotonic() + WAIT
        while process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end, f"{process} is still there"
            time.sleep(0.01)


# Python hooks


def test_python_hooks_take_part_by_the_name_of_their_module(project: AgentProject) -> None:
    project.write_hook("guard", scope="project", fields=SHELL, script="echo 'said by a file' >&2; exit 2")
    (project.path / "my_guards.py").write_text(
        "from boathook import Hooks, Outcome\n"
        "hooks, others = Hooks(), Hooks()\n"
        "hooks.before_tool(match='Shell', priority=500)(lambda context: context.replace(args={'command': 'ls'}))\n"
        "@others.before_tool(match='ReadFile')\n"
        "def guard(context):\n    return Outcome.block('said by Python')\n"
    )
    args = ("--yes", "--hooks", "my_guards", "--hooks", "my_guards:others")
    code, records = project.trace(shell("touch made"), call("ReadFile", path="x"), "Done.", args=args)
    assert code == 0
    assert [tool["output"] for tool in of(records, "tool")] == ["said by a file", "said by Python"]
    decisions = [(hook["hook"], hook.get("modified_input")) for hook in of(records, "hook")]
    assert decisions == [("<lambda>", {"command": "ls"}), ("guard", None), ("guard", None)]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_module", "the hooks 'no_such_module' cannot be imported: ModuleNotFoundError"),
        ("my_guards:nothing", "the module 'my_guards' has no 'nothing'"),
        ("my_guards:text", "'text' in the module 'my_guards' is of the type str"),
        ("no_such_module", "    fix: name a module of "),
        ("my_guards.py:others", "    fix: leave out '.py': my_guards:others"),
    ],
)
def test_python_hooks_that_are_not_there_are_an_error(project: AgentProject, reference: str, message: str) -> None:
    (project.path / "my_guards.py").write_text("text = 'x'\n")
    done = project.play("Done.", args=("--hooks", reference))
    assert done.returncode == 1
    assert message in done.stderr
    # The mistake is named before anything is said about the model.
    done = project.run("agent", "do it", "--hooks", reference)
    assert message in done.stderr
    assert "model" not in done.stderr


def test_decisions_of_python_hooks_are_shown_and_counted(project: AgentProject) -> None:
    (project.path / "my_guards.py").write_text(
        "from boathook import Hooks, Outcome\nhooks = Hooks()\n"
        "@hooks.before_tool(match='Shell')\n"
        "def guard(context):\n    return Outcome.block('said by Python')\n"
    )
    _, records = project.trace(shell("touch made"), "Done.", args=("--yes", "--hooks", "my_guards"))
    assert [(hook["hook"], hook["decision"], hook["reason"]) for hook in of(records, "hook")] == [
        ("guard", "block", "said by Python")
    ]
    assert [tool["output"] for tool in of(records, "tool")] == ["said by Python"]
    assert of(records, "result")[0]["decisions"] == 1


def test_a_python_hook_that_raises_is_named_with_its_file_and_what_to_do(project: AgentProject) -> None:
    path = project.path / "my_guards.py"
    path.write_text(
        "from boathook import Hooks\nhooks = Hooks()\n"
        "@hooks.before_tool(match='Shell')\n"
        "def guard(context):\n    raise ValueError('broken hook')\n"
    )
    done = project.play(shell("touch made"), "Done.", args=("--yes", "--hooks", "my_guards"))
    assert done.returncode == 1
    assert "ValueError: broken hook (raised by the hook 'guard' at pre-tool-call, " in done.stderr
    assert f"{path}:3; on_failure=" in done.stderr


def test_loading_a_model_is_reported_before_it_takes_its_time(project: AgentProject) -> None:
    done = project.run("agent", "do it", "--model", "nobody:nothing")
    assert done.returncode == 1
    assert done.stderr.startswith("loading the model nobody:nothing …\n")


# At a terminal


class Terminal:
    """Somebody who reads what the agent writes and types answers."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.printed = ""
        self._at = 0

    def read_until(self, text: str) -> None:
        end = time.monotonic() + WAIT
        while text not in self.printed[self._at :]:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.printed}"
            self._read()
        self._at = self.printed.index(text, self._at) + len(text)

    def read_all(self) -> str:
        end = time.monotonic() + WAIT
        while self._read():
            assert time.monotonic() < end
        return self.printed

    def _read(self) -> bool:
        if not select.select([self.handle], [], [], 0.1)[0]:
            return True
        try:
            found = os.read(self.handle, 65536)
        except OSError:  # the other side is gone
            found = b""
        self.printed += found.decode(errors="replace")
        return bool(found)

    def type(self, keys: str) -> None:
        os.write(self.handle, keys.encode())


@contextlib.contextmanager
def at_terminal(project: AgentProject, *args: str) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    mine, theirs = pty.openpty()
    fields = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    try:
        with project.start("agent", *args, **fields) as process:
            os.close(theirs)
            yield Terminal(mine), process
    finally:
        os.close(mine)


def test_at_a_terminal_the_person_is_asked_and_always_is_remembered_for_the_tool(project: AgentProject) -> None:
    moves = [shell("touch one"), shell("touch two"), call("WriteFile", path="three", content="x"), "not reached"]
    with at_terminal(project, "do it", "--script", project.write_moves(*moves)) as (terminal, process):
        terminal.read_until("[a]lways for Shell: ")
        terminal.type("what?\n")
        terminal.read_until("[a]lways for Shell: ")
        terminal.type("a\n")
        terminal.read_until("[a]lways for WriteFile: ")
        terminal.type("n\n")
        printed = terminal.read_all()
        assert process.wait(WAIT) == 1
    assert "command: touch one" in printed
    assert "Shell wants to run -> yes (always)" in printed
    assert "WriteFile wants to run -> no" in printed
    assert sorted(path.name for path in project.path.iterdir()) == ["one", "two"]


def test_always_does_not_cover_a_call_that_a_hook_asks_about(project: AgentProject) -> None:
    doubt = {**SHELL, "matcher": "{tool: Shell, pattern: two}"}
    project.write_hook("doubt", scope="project", fields=doubt, script='echo \'{"decision": "ask", "reason": "two?"}\'')
    moves = project.write_moves(shell("touch one"), shell("touch two"), "Done.")
    with at_terminal(project, "do it", "--script", moves) as (terminal, process):
        terminal.read_until("[a]lways for Shell: ")
        terminal.type("a\n")
        terminal.read_until("Shell: two?")
        terminal.read_until("[y]es, [n]o: ")
        terminal.type("y\n")
        terminal.read_all()
        assert process.wait(WAIT) == 0
    assert (project.path / "two").exists()


def test_nothing_hides_in_a_call_that_a_person_is_to_allow(project: AgentProject) -> None:
    moves = project.write_moves(shell("echo harmless\r\x1b[8m; touch made"), "not reached")
    with at_terminal(project, "do it", "--script", moves) as (terminal, process):
        terminal.read_until("[a]lways for Shell: ")
        terminal.type("\x04")
        printed = terminal.read_all()
        assert process.wait(WAIT) == 1
    assert r"command: echo harmless\r\x1b[8m; touch made" in printed


@pytest.mark.usefixtures("default_sigint")
def test_without_a_task_at_a_terminal_there_are_many_turns_in_one_session(project: AgentProject) -> None:
    bye = project.write_end_hook()
    slow = shell("touch begun; exec sleep 300")
    with at_terminal(project, "--yes", "--script", project.write_moves("First.", slow, "Third.")) as (
        terminal,
        process,
    ):
        terminal.read_until("> ")
        terminal.type("one\n")
        terminal.read_until("> ")
        terminal.type("two\n")
        wait_for(project.path / "begun")
        process.send_signal(signal.SIGINT)
        terminal.read_until("interrupted")
        terminal.read_until("> ")
        terminal.type("three\n")
        terminal.read_until("Third.")
        terminal.read_until("> ")
        terminal.type("\x04")
        terminal.read_all()
        assert process.wait(WAIT) == 0
    end = json.loads(bye.read_text())
    assert (end["exit_reason"], end["total_steps"]) == ("done", 2)


# While a model works

WORKING = "working, Ctrl-C interrupts"
CURSOR_ON, CURSOR_OFF, ERASE_LINE_ABOVE = "\x1b[?25h", "\x1b[?25l", "\x1b[1A\x1b[2K"
# A real model has progress to show, a scripted one does not: this one plays a script, each move when a file is there.
SLOW_MODEL = """
import asyncio, itertools, pathlib
from boathook.agent import providers
from boathook.agent.scripted import read_script
from boathook.cli.main import main

class SlowModel:
    name = "slow:model"

    def __init__(self):
        self.script, self.numbers = read_script("{moves}"), itertools.count(1)

    async def reply(self, messages, tools):
        signal = pathlib.Path("{base}", f"move-{{next(self.numbers)}}")
        while not signal.exists():
            await asyncio.sleep(0.01)
        return await self.script.reply(messages, tools)

providers.load_model = lambda name: SlowModel()
main()
"""


class SlowProject(AgentProject):
    """A project whose agent has a model that waits until it may go on."""

    def write_program(self, *moves: Any) -> None:
        program = SLOW_MODEL.format(moves=self.write_moves(*moves), base=self.base)
        (self.base / "slow_model.py").write_text(program)

    def make_argv(self, *arguments: str, trust_all: bool | None = None) -> list[str]:
        python, _, _, *words = super().make_argv(*arguments, trust_all=trust_all)
        return [python, str(self.base / "slow_model.py"), *words, "--model", "slow:model"]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "TERM": "xterm-256color"}

    def let_model_go_on(self, number: int) -> None:
        (self.base / f"move-{number}").touch()


@pytest.fixture
def slow_project(project: AgentProject) -> SlowProject:
    return SlowProject(project.base, trust_all=True)


def assert_progress_is_gone(printed: str) -> None:
    """The last line of the progress was erased, and the cursor is shown again."""
    assert ERASE_LINE_ABOVE in printed.rpartition(WORKING)[2]
    assert printed.rindex(CURSOR_ON) > printed.rindex(CURSOR_OFF)


def test_at_a_terminal_progress_is_shown_until_the_turn_has_ended(slow_project: SlowProject) -> None:
    slow_project.write_program(shell("echo made"), "All done.")
    with at_terminal(slow_project, "do it", "--yes") as (terminal, process):
        terminal.read_until(WORKING)
        slow_project.let_model_go_on(1)
        terminal.read_until("Shell: made")
        terminal.read_until(WORKING)
        slow_project.let_model_go_on(2)
        printed = terminal.read_all()
        assert process.wait(WAIT) == 0
    assert "All done." in printed
    assert_progress_is_gone(printed)


@pytest.mark.usefixtures("default_sigint")
def test_an_interrupt_ends_what_is_shown_as_working(slow_project: SlowProject) -> None:
    slow_project.write_program("not reached")
    with at_terminal(slow_project, "do it", "--yes") as (terminal, process):
        terminal.read_until(WORKING)
        process.send_signal(signal.SIGINT)
        printed = terminal.read_all()
        assert process.wait(WAIT) == 130
    assert "interrupted (0 steps" in printed
    assert_progress_is_gone(printed)


def test_no_progress_is_shown_while_the_person_is_asked(slow_project: SlowProject) -> None:
    slow_project.write_program(shell("echo made"), "All done.")
    with at_terminal(slow_project, "do it") as (terminal, process):
        terminal.read_until(WORKING)
        slow_project.let_model_go_on(1)
        terminal.read_until("[a]lways for Shell: ")
        # Several times as long as the progress needs to move.
        time.sleep(0.5)
        terminal.type("y\n")
        terminal.read_until("Shell: made")
        asked = terminal.printed.rpartition("[a]lways for Shell: ")[2]
        assert WORKING not in asked.partition("-> yes")[0]
        terminal.read_until(WORKING)
        slow_project.let_model_go_on(2)
        terminal.read_all()
        assert process.wait(WAIT) == 0


def test_what_goes_to_a_pipe_has_no_progress(slow_project: SlowProject) -> None:
    slow_project.write_program("All done.")
    slow_project.let_model_go_on(1)
    done = slow_project.run("agent", "do it", "--yes")
    assert (done.returncode, "All done." in done.stdout, "working" in done.stdout) == (0, True, False)


# The demo


def test_the_demo_prints_its_story(project: AgentProject) -> None:
    done = project.run("demo")
    assert (done.returncode, done.stderr) == (0, "")
    at = 0
    for part in (
        "task      Fix greeting.txt so that the tests pass.",
        "add-context: no opinion",
        "context: Style rule",
        "call    Shell  rm -rf /",
        "guard: block",
        "Shell did not run: that would wipe the disk",
        "quiet-tests: allow",
        "input becomes sh run-tests.sh --quiet",
        "block_promises: block",
        "WriteFile did not run: do it now instead of leaving a TODO",
        "tests-pass: block",
        "continues after [Hook blocked stop: the tests do not pass yet]",
        "tidy: started in the background",
        "greeting.txt is now 'hello\\n'",
        "tests-pass: no opinion",
        "done      6 steps, ",
        "6 hook decisions",
        "boathook setup",
        "boathook new --help",
    ):
        assert part in done.stdout[at:], part
        at = done.stdout.index(part, at)


def test_the_demo_leaves_nothing_behind_and_runs_no_hook_of_its_visitor(project: AgentProject) -> None:
    temporary = project.base / "tmp"
    temporary.mkdir()
    ran = project.base / "ran"
    project.write_hook("mine", scope="user", fields={"trigger": "pre-agent-turn"}, script=f"touch {ran}")
    project.write_hook("its", scope="project", fields={"trigger": "pre-agent-turn"}, script=f"touch {ran}")
    entry = {"hooks": [{"type": "command", "command": f"touch {ran}"}]}
    project.write_settings("user", {"hooks": {"UserPromptSubmit": [entry]}})
    before = sorted(project.base.rglob("*"))
    assert project.run("demo", env={"TMPDIR": str(temporary)}).returncode == 0
    assert sorted(project.base.rglob("*")) == before
