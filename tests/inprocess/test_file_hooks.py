"""File hooks in a stack (S14, S15, S28): real HOOK.md folders and settings.json files, in one order with in-process hooks."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.dispatch import UNSETTLED
from boathook.core.outcome import Decision, Outcome
from boathook.errors import Blocked, Stopped
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.drivers import ASYNC
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.operations import ToolCall, run_tool
from boathook.inprocess.stack import Stack
from tests.core.builders import a_hook, a_settings_hook
from tests.engine.fakes import Runner, an_engine, make_answer
from tests.inprocess.builders import CALL, EVERY, WAYS, noting

ALLOW = Outcome(Decision.ALLOW)


@pytest.fixture
def load(project):
    """Let the hooks of the project's files take part in some hooks; engines are closed after the test."""
    engines = []

    def loaded(hooks: Hooks | None = None) -> Hooks:
        hooks = hooks or Hooks()
        engines.append(hooks.load(project.path, trust_all=True))
        return hooks

    yield loaded
    for engine in engines:
        engine.close()


@pytest.fixture
def seen(project):
    """A file in which hooks of all forms note that they were asked."""
    path = project.base / "seen"
    path.touch()
    return path


def note(seen: Path, name: str, said=None):
    """A hook in process that notes its name in the file."""

    def hook(context):
        with seen.open("a") as file:
            file.write(f"{name}\n")
        return said(context) if callable(said) else said

    return hook


def notes(seen: Path, name: str, then: str = "exit 0") -> str:
    """A script that notes its name in the file."""
    return f"echo {name} >> {shlex.quote(str(seen))}; {then}"


def answers(**fields) -> str:
    """A script that prints an answer."""
    return f"echo {shlex.quote(json.dumps(fields))}"


def settings(event: str, *commands: str, **fields) -> dict:
    entries = [{"type": "command", "command": command, **fields} for command in commands]
    return {"hooks": {event: [{"hooks": entries}]}}


def run(call: ToolCall) -> str:
    return f"ran {call.args['command']}"


# One order


def test_hooks_of_all_forms_are_asked_in_one_order(way, project, load, seen):
    for priority in (300, 150, 100, 50):
        project.write_hook(f"file{priority}", script=notes(seen, f"file{priority}"), fields={"priority": priority})
    project.write_settings("user", settings("PreToolUse", notes(seen, "settings")))
    hooks = Hooks()
    for priority in (-5, 0, 50, 99, 100, 150, 200):
        hooks.before_tool(priority=priority)(note(seen, f"in{priority}"))
    hooks.before_tool(priority=100)(note(seen, "second100"))
    assert way.run_tool(load(hooks).stack, CALL, note(seen, "operation", "done")) == "done"
    order = "file300 in200 file150 in150 file100 settings in100 second100 in99 file50 in50 in0 in-5 operation"
    assert seen.read_text().split() == order.split()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(
    files=st.lists(st.integers(0, 4), max_size=4),
    together=st.booleans(),
    inside=st.lists(st.integers(-1, 5), max_size=4),
)
def test_file_hooks_come_before_in_process_hooks_of_the_same_priority(way, files, together, inside):
    order: list[str] = []
    hooks = [a_hook(f"f{at}", priority=priority) for at, priority in enumerate(files)]
    hooks += [a_settings_hook("s")] if together else []
    stack = Stack().with_engine(an_engine(hooks, {}, runner=Noting(order)))
    for at, priority in enumerate(inside):
        stack = stack.with_(noting(order, f"i{at}"), on="pre-tool-call", priority=priority)
    way.process(stack, EVERY["pre-tool-call"])
    places = [(-priority, 0, f"f{at}") for at, priority in enumerate(files)]
    places += [(-100, 1, "s")] if together else []
    places += [(-priority, 2, f"i{at}") for at, priority in enumerate(inside)]
    assert order == [name for _, _, name in sorted(places)]


class Noting(Runner):
    """A runner that notes whom it runs."""

    def __init__(self, order: list[str]) -> None:
        super().__init__({})
        self.order = order

    def run(self, calls, cancel=None):
        self.order += [call.hook.name for call in calls]
        return tuple(make_answer() for _ in calls)


@pytest.mark.parametrize("kind", EVERY)
def test_file_hooks_receive_every_event(way, project, load, seen, kind):
    project.write_hook("listener", script=f"cat >> {seen}", fields={"trigger": kind})
    way.process(load().stack, EVERY[kind])
    sent = json.loads(seen.read_text())
    assert (sent.pop("event_type"), sent.pop("session_id"), sent.pop("work_dir")) == (kind, "s", "/w")
    del sent["timestamp"]
    assert sent == {"context": {}, **EVERY[kind].to_event().data}


# What file hooks answer


def test_a_script_blocks_and_no_hook_after_it_runs(way, project, load, seen):
    project.write_hook("guard", script="echo 'not this' >&2; exit 2", fields={"priority": 50})
    hooks = Hooks()
    hooks.before_tool(priority=51)(note(seen, "before"))
    hooks.before_tool(priority=50)(note(seen, "after"))
    with pytest.raises(Blocked) as reported:
        way.run_tool(load(hooks).stack, CALL, noting([], "operation"))
    assert reported.value.reason == "not this"
    assert seen.read_text().split() == ["before"]


def test_an_entry_of_settings_blocks_too(way, project, load):
    denies = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not this"}
    project.write_settings("user", settings("PreToolUse", answers(hookSpecificOutput=denies)))
    with pytest.raises(Blocked, match="not this"):
        way.run_tool(load().stack, CALL, run)


def test_a_hook_in_process_blocks_and_no_script_after_it_starts(way, project, load, seen):
    project.write_hook("late", script=notes(seen, "late"))
    hooks = Hooks()
    hooks.before_tool(priority=200)(lambda context: Outcome.block("no"))
    with pytest.raises(Blocked, match="no"):
        way.run_tool(load(hooks).stack, CALL, run)
    assert seen.read_text() == ""


def test_a_script_ends_the_run(way, project, load):
    project.write_hook("end", script=answers(**{"continue": False, "stop_reason": "enough"}))
    with pytest.raises(Stopped, match="enough"):
        way.run_tool(load().stack, CALL, run)


def test_a_script_may_want_a_person_to_decide(way, project, load):
    project.write_hook("unsure", script=answers(decision="ask", reason="sure?"))
    asked = []
    hooks = load()
    with pytest.raises(Blocked, match=r"sure\? \(no person can be asked\)"):
        way.run_tool(hooks.stack, CALL, run)
    hooks.on_ask(lambda context, reason: asked.append(reason) or True)
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"
    assert asked == ["sure?"]


def test_a_script_may_grant_or_deny_permission(way, project, load):
    project.write_hook("clerk", script=answers(decision="allow"), fields={"trigger": "permission-request"})
    hooks = load()
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"
    project.write_hook("clerk", script="echo never >&2; exit 2", fields={"trigger": "permission-request"})
    with pytest.raises(Blocked, match="never"):
        way.run_tool(load(hooks).stack, CALL, run)


def test_what_scripts_want_to_be_known_arrives(way, project, load):
    project.write_hook("teller", script=answers(additional_context="know this", system_message="read this"))
    project.write_settings("user", settings("PreToolUse", answers(systemMessage="from settings")))
    hooks, heard = Hooks(), []
    hooks.before_tool(priority=200)(lambda context: context.add_context("c").add_message("m"))
    hooks.after_tool(lambda context: heard.append((context.additional_context, context.messages)))
    way.run_tool(load(hooks).stack, CALL, run)
    assert heard == [(("c", "know this"), ("m", "read this", "from settings"))]


def test_a_script_may_replace_a_result(way, project, load):
    project.write_hook("redact", script=answers(modified_output={"text": "***"}), fields={"trigger": "post-tool-call"})
    assert way.run_tool(load().stack, CALL, run) == {"text": "***"}


def test_a_script_receives_a_failure_and_its_answer_is_a_note(way, project, load, seen):
    script = f"cat >> {seen}; echo 'try another' >&2; exit 2"
    project.write_hook("consoler", script=script, fields={"trigger": "post-tool-call-failure"})
    error = ValueError("broken")

    def operation(call):
        raise error

    with pytest.raises(ValueError, match="broken") as reported:
        way.run_tool(load().stack, CALL, operation)
    assert (reported.value is error, error.__notes__) == (True, ["try another"])
    assert json.loads(seen.read_text())["error"] == "broken"


def test_a_failing_script_is_reported_and_lets_it_go_on(way, project, load):
    project.write_hook("broken", script="echo oops >&2; exit 3")
    assert list_messages(way, load().stack) == ("hook 'broken' failed: exit code 3: oops",)


# Rewriting


def rewrites(command: str) -> str:
    return answers(modified_input={"command": command})


def test_a_script_rewrites_and_later_in_process_hooks_see_it(way, project, load):
    project.write_hook("rewriter", script=rewrites("ls -l"))
    hooks, heard = Hooks(), []
    hooks.before_tool(priority=200)(lambda context: heard.append(dict(context.args)))
    hooks.before_tool(lambda context: heard.append(dict(context.args)))
    assert way.run_tool(load(hooks).stack, CALL, run) == "ran ls -l"
    assert heard == [{"command": "ls"}, {"command": "ls -l"}]


def test_a_hook_in_process_rewrites_and_later_scripts_see_it_with_their_matchers(way, project, load, seen):
    project.write_hook("on-ls", script=notes(seen, "on-ls"), fields={"matcher": "{pattern: '^ls$'}"})
    project.write_hook("on-make", script=f"cat >> {seen}", fields={"matcher": "{pattern: '^make$'}"})
    hooks = Hooks()
    hooks.before_tool(priority=200)(lambda context: context.replace(args={"command": "make"}))
    assert way.run_tool(load(hooks).stack, CALL, run) == "ran make"
    assert json.loads(seen.read_text())["tool_input"] == {"command": "make"}


REWRITE = """sed 's/.*"tool_input": \\({.*}\\), "tool_use_id.*/{"modified_input": \\1}/; s/%s/%s/'"""
FORCE = f"""said=$(cat); case "$said" in *--dry*) ;; *) echo "$said" | {REWRITE % ('"}', ' --dry"}')};; esac"""
GUARD = """case "$(cat)" in *shred*) echo 'no shredding' >&2; exit 2;; esac"""


def through_next(context, go_on):
    return go_on(context.replace(args={"command": "shred"}))


REWRITERS = {
    "a plain hook": lambda context: context.replace(args={"command": "shred"}),
    "middleware": through_next,
}


@pytest.mark.parametrize("rewriter", REWRITERS.values(), ids=REWRITERS)
def test_a_rewrite_in_process_does_not_slip_past_a_script(way, project, load, seen, rewriter):
    project.write_hook("guard", script=notes(seen, "guard", GUARD), fields={"priority": 500})
    hooks, ran = Hooks(), []
    hooks.before_tool(rewriter)
    with pytest.raises(Blocked, match="no shredding"):
        way.run_tool(load(hooks).stack, ToolCall("bash", {"command": "ls"}), ran.append)
    assert (seen.read_text().split(), ran) == (["guard", "guard"], [])


def test_a_rewrite_of_a_hook_for_permissions_does_not_slip_past_a_script(way, project, load):
    project.write_hook("guard", script=GUARD)
    hooks, ran = Hooks(), []
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    hooks.permission(lambda context: ALLOW.replace(context=context.replace(args={"command": "shred"})))
    with pytest.raises(Blocked, match="no shredding"):
        way.run_tool(load(hooks).stack, CALL, ran.append)
    assert ran == []


def test_a_guard_that_does_not_match_the_rewritten_input_does_not_look_again(way, project, load, seen):
    project.write_hook("guard", script=notes(seen, "guard"), fields={"matcher": "{pattern: '^ls$'}"})
    hooks = Hooks()
    hooks.before_tool(lambda context: context.replace(args={"command": "make"}))
    way.run_tool(load(hooks).stack, CALL, run)
    assert seen.read_text().split() == ["guard"]


def test_a_rewrite_that_changes_nothing_is_none(way, project, load, seen):
    project.write_hook("guard", script=notes(seen, "guard"))
    hooks = Hooks()
    hooks.before_tool(lambda context: context.replace(args=dict(context.args)))
    way.run_tool(load(hooks).stack, ToolCall("bash", {"command": "ls", "where": Path("/x"), "tags": {"b", "a"}}), run)
    assert seen.read_text().split() == ["guard"]


def test_a_guard_that_rewrites_again_is_seen_by_the_one_before_it(way, project, load, seen):
    project.write_hook("guard", script=notes(seen, "guard", GUARD), fields={"priority": 500})
    project.write_hook("force", script=notes(seen, "force", FORCE), fields={"priority": 300})
    hooks = Hooks()
    hooks.before_tool(priority=400)(lambda context: None)
    hooks.before_tool(lambda context: context.replace(args={"command": "make"}))
    assert way.run_tool(load(hooks).stack, CALL, run) == "ran make --dry"
    assert seen.read_text().split() == ["guard", "force", "guard", "force", "guard"]


def test_scripts_that_undo_each_other_block(way, project, load):
    project.write_hook("one", script=rewrites("one"), fields={"priority": 500})
    project.write_hook("two", script=rewrites("two"), fields={"priority": 300})
    hooks, ran = Hooks(), []
    hooks.before_tool(priority=400)(lambda context: None)
    with pytest.raises(Blocked) as reported:
        way.run_tool(load(hooks).stack, CALL, ran.append)
    assert (reported.value.reason, ran) == (UNSETTLED, [])


def test_a_block_in_a_second_look_ends_it(way, project, load, seen):
    project.write_hook("guard", script=notes(seen, "guard", GUARD), fields={"priority": 500})
    project.write_hook("other", script=notes(seen, "other"), fields={"priority": 300})
    hooks = Hooks()
    hooks.before_tool(priority=400)(lambda context: None)
    hooks.before_tool(lambda context: context.replace(args={"command": "shred"}))
    with pytest.raises(Blocked):
        way.run_tool(load(hooks).stack, CALL, run)
    assert seen.read_text().split() == ["guard", "other", "guard"]


def test_arguments_that_a_script_leaves_alone_stay_the_objects_they_are(way, project, load):
    where = object()
    project.write_hook("rewriter", script=REWRITE % ('"ls"', '"ls -l"'))
    found = way.run_tool(load().stack, ToolCall("bash", {"command": "ls", "where": where}), lambda call: call.args)
    assert found == {"command": "ls -l", "where": where}


def test_a_script_may_rewrite_the_arguments_of_a_guarded_method(project, load):
    project.write_hook("rewriter", script=REWRITE % ('"ls"', '"ls -l"'))
    hooks = load()

    class Shell:
        @hooks.guard
        def run(self, command):
            return (self, command)

    shell = Shell()
    assert shell.run("ls") == (shell, "ls -l")


# In the background


def test_async_scripts_start_after_all_others_and_before_the_operation_is_asked_of(way, project, load, seen):
    project.write_hook("later", script=notes(seen, "later"), fields={"async": "true", "priority": 900})
    project.write_hook("sync", script=notes(seen, "sync"))
    hooks = Hooks()
    hooks.before_tool(priority=-5)(note(seen, "in process"))
    load(hooks)
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"
    assert hooks.stack.engine.drain() == 0
    assert seen.read_text().splitlines() == ["sync", "in process", "later"]


BLOCKERS = {
    "a plain hook": lambda context: Outcome.block("no"),
    "middleware": lambda context, go_on: Outcome.block("no"),
    "a question when no person can be asked": lambda context: Outcome.ask("sure?"),
}


@pytest.mark.parametrize("blocker", BLOCKERS.values(), ids=BLOCKERS)
def test_async_scripts_do_not_start_if_what_comes_was_blocked(way, project, load, seen, blocker):
    project.write_hook("later", script=notes(seen, "later"), fields={"async": "true"})
    hooks = Hooks()
    hooks.before_tool(blocker)
    load(hooks)
    with pytest.raises(Blocked):
        way.run_tool(hooks.stack, CALL, run)
    assert hooks.stack.engine.drain() == 0
    assert seen.read_text() == ""


@pytest.mark.parametrize("blocker", [*BLOCKERS.values()][:2], ids=[*BLOCKERS][:2])
def test_async_scripts_start_if_what_was_done_is_objected_to(way, project, load, seen, blocker):
    project.write_hook("later", script=notes(seen, "later"), fields={"async": "true", "trigger": "post-tool-call"})
    hooks = Hooks()
    hooks.after_tool(blocker)
    load(hooks)
    with pytest.raises(Blocked):
        way.run_tool(hooks.stack, CALL, run)
    assert hooks.stack.engine.drain() == 0
    assert seen.read_text().split() == ["later"]


def test_async_scripts_start_once_however_often_middleware_tries(way, project, load, seen):
    project.write_hook("later", script=notes(seen, "later"), fields={"async": "true"})
    hooks = Hooks()
    hooks.before_tool(lambda context, go_on: [go_on(context) for _ in range(3)][-1])
    load(hooks)
    assert way.run_tool(hooks.stack, CALL, run) == "ran ls"
    assert hooks.stack.engine.drain() == 0
    assert seen.read_text().split() == ["later"]


def test_a_command_that_is_listed_sync_and_async_runs_once(way, project, load, seen):
    command = notes(seen, "command")
    project.write_settings("user", settings("PreToolUse", command))
    project.write_settings("project", settings("PreToolUse", command, **{"async": True, "statusMessage": "again"}))
    hooks = load()
    way.run_tool(hooks.stack, CALL, run)
    assert hooks.stack.engine.drain() == 0
    assert seen.read_text().split() == ["command"]


# What is broken in files


def list_messages(way, stack: Stack) -> tuple[str, ...]:
    outcome = way.process(stack, ToolContext.before("bash", {"command": "ls"}))
    return () if outcome.context is None else outcome.context.messages


@pytest.mark.parametrize("more", [{}, {"async": "true"}], ids=["sync", "async"])
def test_a_hook_that_cannot_run_is_reported_once_even_if_the_stages_are_split(way, project, load, more):
    project.write_hook("hollow", script=None, fields=more)
    project.write_hook("fine", fields={"priority": 50})
    hooks = Hooks()
    hooks.before_tool(priority=75)(lambda context: None)
    [reported] = list_messages(way, load(hooks).stack)
    assert reported.startswith("hook 'hollow' did not run: ")


def test_a_broken_manifest_is_reported_at_every_event(way, project, load):
    project.write_hook("broken", manifest="---\nname: broken\ndescription: x\ntrigger: pre-tool-cal\n---\n")
    hooks = load()
    for context in (EVERY["pre-tool-call"], EVERY["notification"]):
        [reported] = way.process(hooks.stack, context).context.messages
        assert "unknown event 'pre-tool-cal'" in reported


def test_a_broken_settings_file_is_reported_though_there_is_no_hook(way, project, load):
    path = project.write_settings("user", "{")
    [reported] = list_messages(way, load().stack)
    assert str(path) in reported


@pytest.mark.parametrize("more", [{}, {"async": "true"}], ids=["sync", "async"])
def test_a_hook_that_cannot_run_and_is_to_block_then_blocks(way, project, load, more):
    project.write_hook("hollow", script=None, fields={"on_failure": "block", **more})
    with pytest.raises(Blocked, match="hook 'hollow' was refused"):
        way.run_tool(load().stack, CALL, run)


def test_file_hooks_alone_keep_a_stack_from_being_idle(project, load):
    assert not load().stack.is_idle
    project.write_hooks_toml("user", '[[hooks.disable]]\nname = "self-protection"\n')
    assert load().stack.is_idle
    project.write_hook("later", fields={"async": "true", "trigger": "post-tool-call"})
    assert not load().stack.is_idle


def test_an_engine_may_be_taken_away_again(way, project, load):
    project.write_hook("guard", script="exit 2")
    stack = load().stack
    assert way.process(stack, EVERY["pre-tool-call"]).is_blocked
    assert way.process(stack.with_engine(None), EVERY["pre-tool-call"]) == Outcome()


def test_a_call_that_changes_while_an_agent_asks_for_it_is_looked_at_again(project, load):
    project.write_hook("guard", script=GUARD)
    stack, ran = load().stack, []

    def permit(command):
        async def asked(context):
            return ALLOW, context if command == "ls" else context.replace(args={"command": command})

        return asked

    def outcome(command):
        return asyncio.run(
            run_tool(ASYNC, stack, EVERY["pre-tool-call"], lambda call: ran.append(call.args), permit(command))
        )

    assert outcome("ls").context.kind.name == "post-tool-call"
    assert outcome("shred").reason == "no shredding"
    assert outcome("make").context.kind.name == "post-tool-call"
    assert ran == [{"command": "ls"}, {"command": "make"}]
