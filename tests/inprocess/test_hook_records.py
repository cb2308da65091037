"""Python hooks in the ledger: what they decide, change or fail at is in `log` and `why`, as it is for file hooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import boathook
from boathook import AgentBuilder, Blocked, Hooks, HookTimeout, Outcome, ScriptedModel, Tool, ToolCall, ToolContext

CALL = ToolCall("run_bash", {"cmd": "rm -r build"}, "c1")


def echo(call: ToolCall) -> Any:
    return dict(call.args)


@pytest.fixture
def hooks(project):
    loaded = Hooks()
    with loaded.load(project.path, state=project.state, config=project.config):
        yield loaded


def read_records(project) -> list[dict[str, Any]]:
    done = project.run("log", "--json")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_block_by_a_python_hook_is_explained_by_why(hooks, project):
    @hooks.before_tool(match="Shell")
    def no_rm(context: ToolContext) -> Outcome | None:
        return Outcome.block("no rm here") if "rm" in context.args["cmd"] else None

    assert not hooks.run("s1").tool(CALL, pytest.fail).proceeds
    why = project.run("why").stdout
    assert "pre-tool-call of Shell, session s1, host python" in why
    assert "no_rm (program, python): block, " in why
    assert "because no rm here" in why
    assert f"from     {__file__}:" in why
    assert '''matched  event 'pre-tool-call', match "tool_name('Shell')"''' in why
    assert "no rm here" in project.run("log").stdout


def test_the_async_form_writes_the_same_record(hooks, project):
    hooks.before_tool(lambda context: Outcome.block("no"))
    asyncio.run(hooks.run("s1").atool(CALL, pytest.fail))
    (record,) = read_records(project)
    (run,) = record["hooks"]
    assert (record["decision"], record["reasons"], run["status"], run["reason"]) == ("block", ["no"], "ok", "no")
    assert run["ms"] >= 0


def call_in_agent(hooks: Hooks, call: ToolCall) -> None:
    tool = Tool(call.name, "", pytest.fail)
    agent = AgentBuilder().with_model(ScriptedModel([[call], "done"])).with_tools(tool).with_hooks(hooks).build()
    (step, _) = asyncio.run(agent.arun("go")).steps
    assert step.has_errors


def call_guarded(hooks: Hooks, call: ToolCall) -> None:
    @hooks.guard
    def run_bash(cmd: str, command: str) -> None:
        pytest.fail("a hook let the call pass")

    with pytest.raises(Blocked):
        run_bash(**call.args)


def call_stack(hooks: Hooks, call: ToolCall) -> None:
    with pytest.raises(Blocked):
        hooks.stack.run_tool(call, pytest.fail)


def call_run(method: str, *fields: Any) -> Callable[[Hooks, ToolCall], None]:
    def make_call(hooks: Hooks, call: ToolCall) -> None:
        assert not getattr(hooks.run("s1"), method)(call, *fields).proceeds

    return make_call


WAYS = {
    "run.tool": call_run("tool", pytest.fail),
    "run.decide": call_run("decide"),
    "run.before": call_run("before"),
    "stack.run_tool": call_stack,
    "guard": call_guarded,
    "reference agent": call_in_agent,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_is_refused_because_two_of_its_keys_differ_is_recorded(hooks, project, way):
    WAYS[way](hooks, ToolCall("run_bash", {"cmd": "ls", "command": "rm -r build"}, "c1"))
    (record,) = [each for each in read_records(project) if each["event"] == "pre-tool-call"]
    assert (record["decision"], record["hooks"]) == ("block", [])
    assert "the keys 'cmd' and 'command' differ" in record["reasons"][0]
    assert "the keys 'cmd' and 'command' differ" in project.run("why").stdout


def test_a_call_after_a_stop_is_not_recorded(hooks, project):
    hooks.before_tool(lambda context: Outcome.stop("enough"))
    run = hooks.run("s1")
    assert [run.tool(CALL, pytest.fail).is_stopped for _ in range(2)] == [True, True]
    assert len(read_records(project)) == 1


def test_changes_of_a_python_hook_are_recorded(hooks, project):
    hooks.before_tool(lambda context: context.replace(args={"cmd": "ls"}))
    hooks.after_tool(lambda context: context.replace(result="***").add_context("hidden"))
    outcome = hooks.run("s1").tool(CALL, echo)
    assert outcome.result == "***"
    before, after = read_records(project)
    assert before["changed"]["tool_input"]["input"] == {"command": "ls"}
    assert set(after["changed"]) == {"output", "context", "context_texts"}
    assert (after["event"], after["decision"]) == ("post-tool-call", "none")


def test_a_hook_without_an_effect_leaves_no_record(hooks, project):
    seen = []
    hooks.before_tool(lambda context: seen.append(context.name))
    hooks.after_tool(lambda context: context.with_metadata("seen", seen))
    hooks.before_tool(match="ReadFile")(lambda context: Outcome.block("no"))
    assert hooks.run("s1").tool(CALL, echo).proceeds
    assert (seen, read_records(project)) == (["run_bash"], [])


@pytest.mark.parametrize(("on_failure", "decision"), [("raise", "stop"), ("allow", "none"), ("block", "block")])
def test_a_failure_of_a_python_hook_is_recorded(hooks, project, on_failure, decision):
    @hooks.before_tool(on_failure=on_failure)
    def fail(context: ToolContext) -> None:
        raise ValueError("broken")

    run = hooks.run("s1")
    if on_failure == "raise":
        with pytest.raises(ValueError, match="broken"):
            run.tool(CALL, echo)
    else:
        assert run.tool(CALL, echo).proceeds == (on_failure == "allow")
    (record,) = read_records(project)
    (hook,) = record["hooks"]
    assert (record["decision"], hook["status"], hook["decision"]) == (decision, "failed", decision)
    assert "ValueError: broken" in hook["reason"]


def test_why_shows_a_failure_that_ended_the_run_before_an_older_block(hooks, project):
    hooks.before_tool(match="other")(lambda context: Outcome.block("older"))

    @hooks.before_tool(match="run_bash")
    def fail(context: ToolContext) -> None:
        raise ValueError("broken")

    run = hooks.run("s1")
    run.tool(ToolCall("other"), pytest.fail)
    with pytest.raises(ValueError, match="broken"):
        run.tool(CALL, pytest.fail)
    why = project.run("why").stdout
    assert "decision: stop by " in why
    assert "failed, and its error went to the program: ValueError: broken" in why


def ask_first(context: ToolContext) -> Outcome:
    return Outcome.ask("sure?")


def test_a_question_that_became_a_block_is_recorded_as_one(hooks, project):
    hooks.before_tool(ask_first)
    assert not hooks.run("s1").tool(CALL, pytest.fail).proceeds
    asked, blocked = read_records(project)
    assert (asked["decision"], blocked["decision"]) == ("ask", "block")
    assert blocked["reasons"] == ["sure? (no person can be asked)"]
    (run,) = blocked["hooks"]
    assert (run["hook"], run["decision"]) == ("ask_first", "ask")
    assert run["notes"] == ["it asked before; this is what became of its question"]
    assert "decision: block" in project.run("why").stdout


def test_a_question_of_a_file_hook_that_became_a_block_is_recorded_as_one(project):
    answer = '{"decision": "ask", "reason": "sure?"}'
    project.write_hook("asker", scope="user", script=f"echo '{answer}'")
    hooks = Hooks()
    with hooks.load(project.path, state=project.state, config=project.config):
        assert not hooks.run("s1").tool(CALL, pytest.fail).proceeds
    asked, blocked = read_records(project)
    assert (asked["decision"], blocked["decision"]) == ("ask", "block")
    assert [(run["hook"], run["decision"]) for run in blocked["hooks"]] == [("asker", "ask")]


@pytest.mark.parametrize(
    ("is_allowed", "decision", "reason"),
    [(True, "allow", "sure? (allowed by a person)"), (False, "block", "sure? (refused by a person)")],
)
def test_the_answer_of_a_person_is_recorded(hooks, project, is_allowed, decision, reason):
    hooks.before_tool(ask_first)
    hooks.on_ask(lambda context, question: is_allowed)
    assert hooks.run("s1").tool(CALL, echo).proceeds == is_allowed
    _, answered = read_records(project)
    assert (answered["decision"], answered["reasons"]) == (decision, [reason])


def test_an_answer_that_comes_later_is_recorded_once(hooks, project):
    hooks.before_tool(ask_first)
    run = hooks.run("s1", can_ask=True)
    outcome = run.before(CALL)
    assert [record["decision"] for record in read_records(project)] == ["ask"]
    run.answer(outcome.ask.token, True)
    assert run.decide(CALL).proceeds
    assert run.before(CALL).proceeds
    asked, answered = read_records(project)
    assert (asked["decision"], answered["decision"]) == ("ask", "allow")
    assert [one["hook"] for one in answered["hooks"]] == ["ask_first"]


def test_the_program_reads_once_in_a_session_how_a_person_can_be_asked(hooks, caplog):
    hooks.before_tool(ask_first)
    run = hooks.run("s1")
    run.tool(CALL, pytest.fail)
    run.tool(ToolCall("run_bash", {"cmd": "ls"}, "c2"), pytest.fail)
    (message,) = [record.getMessage() for record in caplog.records]
    assert "about 'run_bash', and the program cannot ask one, so the call is blocked" in message
    assert "@hooks.on_ask" in message
    assert "can_ask=True" in message


def test_a_hook_that_took_too_long_is_recorded_as_such(hooks, project):
    def wait(context: ToolContext) -> None:
        raise HookTimeout("late")

    hooks.before_tool(on_failure="block")(wait)
    assert not hooks.run("s1").tool(CALL, echo).proceeds
    assert read_records(project)[0]["hooks"][0]["status"] == "timeout"


def test_middleware_is_recorded_for_what_it_does_itself(hooks, project):
    @hooks.before_tool
    def shorten(context: ToolContext, proceed: Any) -> Any:
        return proceed(context.replace(args={"cmd": "ls"}))

    @hooks.before_tool(priority=-1)
    def refuse(context: ToolContext, proceed: Any) -> Any:
        return Outcome.block("not today")

    assert not hooks.run("s1").tool(CALL, pytest.fail).proceeds
    changed, blocked = read_records(project)
    assert ([run["hook"].rpartition(".")[2] for run in changed["hooks"]], changed["decision"]) == (["shorten"], "none")
    assert changed["changed"]["tool_input"]["input"] == {"command": "ls"}
    assert [run["hook"].rpartition(".")[2] for run in blocked["hooks"]] == ["refuse"]
    assert (blocked["decision"], blocked["input"]) == ("block", {"command": "ls"})


def test_a_refused_stop_and_a_changed_prompt_are_recorded(hooks, project):
    hooks.add("pre-agent-turn", lambda context: context.replace(prompt=f"{context.prompt}, please"))
    hooks.add("pre-agent-turn-stop", lambda context: Outcome.block("tests first"))
    run = hooks.run("s1")
    run.prompt("go")
    assert not run.stop("done").proceeds
    prompt, stop = read_records(project)
    assert prompt["hooks"][0]["notes"] == ["it changed the prompt"]
    assert (stop["event"], stop["decision"], stop["reasons"]) == ("pre-agent-turn-stop", "block", ["tests first"])


def test_secrets_in_what_a_python_hook_decides_do_not_reach_the_ledger(hooks, project):
    secret = "ghp_" + "a1B2" * 9
    hooks.before_tool(lambda context: Outcome.block(f"this has {secret}"))
    hooks.run("s1").tool(ToolCall("run_bash", {"cmd": f"echo {secret}"}), pytest.fail)
    assert secret not in json.dumps(read_records(project))


def test_without_file_hooks_nothing_is_recorded(project):
    hooks = Hooks()
    hooks.before_tool(lambda context: Outcome.block("no"))
    assert not hooks.run("s1").tool(CALL, pytest.fail).proceeds
    assert read_records(project) == []
    assert "Python hooks need hooks.load()" in project.run("why").stderr
    project.write_hook("guard", scope="user", script="exit 0")
    with boathook.load(project.path, state=project.state, config=project.config) as engine:
        engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}})
    assert project.run("why").stdout.endswith("only if the program calls hooks.load().\n")


def test_check_reports_the_names_of_tools_that_were_guessed_here(hooks, project):
    hooks.before_tool(lambda context: Outcome.block("no"))
    hooks.run("s1").tool(CALL, pytest.fail)
    hooks.run("s1").tool(CALL, pytest.fail)
    hooks.run("s1", names={"do_it": "Shell"}).tool(ToolCall("do_it", {"command": "ls"}), pytest.fail)
    notes = [one for one in json.loads(project.run("check", "--json").stdout)["diagnostics"] if one["key"] == "names"]
    assert [(note["level"], note["message"], note["fix"]) for note in notes] == [
        (
            "note",
            "a program calls its tool 'run_bash', and file hooks know it as 'Shell': that is a guess",
            'if it is right, set names={"run_bash": "Shell"}',
        )
    ]
    assert "the program calls it 'do_it'\n" in project.run("why").stdout
    # What the program says by now counts.
    hooks.run("s1", names={"run_bash": "Shell"}).tool(CALL, pytest.fail)
    assert "guess" not in project.run("check").stdout


def test_check_reports_that_only_file_hooks_are_missing_where_programs_have_hooks(hooks, project):
    hooks.before_tool(lambda context: Outcome.block("no"))
    hooks.run("s1").tool(CALL, pytest.fail)
    assert "There are no file hooks here" in project.run("check").stdout


def test_a_name_that_an_agent_has_for_a_tool_is_not_reported_as_a_guess(hooks, project):
    hooks.before_tool(lambda context: Outcome.block("no"))
    hooks.run("s1").tool(ToolCall("Bash", {"command": "ls"}), pytest.fail)
    assert "guess" not in project.run("check").stdout


def test_check_knows_the_tools_that_programs_called_here(project):
    project.write_hook("notes", scope="project", fields={"matcher": "{tool: '^write_note$'}"})
    assert "matches no known tool" in project.run("check").stdout
    hooks = Hooks()
    hooks.before_tool(lambda context: Outcome.block("no"))
    with hooks.load(project.path, state=project.state, config=project.config):
        hooks.run("s1").tool(ToolCall("write_note", {"text": "x"}), pytest.fail)
    assert "matches no known tool" not in project.run("check").stdout


def test_a_guess_that_the_program_switched_off_or_made_elsewhere_is_not_reported(hooks, project, tmp_path):
    hooks.before_tool(lambda context: Outcome.block("no"))
    hooks.run("s1").tool(CALL, pytest.fail)
    assert "that is a guess" in project.run("check").stdout
    other = tmp_path / "other"
    other.mkdir()
    assert "guess" not in project.run("check", "--project", str(other)).stdout
    hooks.run("s1", names={"run_bash": "run_bash"}).tool(CALL, pytest.fail)
    assert "guess" not in project.run("check").stdout
