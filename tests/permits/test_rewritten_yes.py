"""A yes to a call that hooks rewrote, in an agent that cannot take the new input."""

from __future__ import annotations

from tests.permits.waiting_calls import WaitingCall, answer, set_up

REWRITE = """echo '{"decision": "ask", "reason": "sure?", "modified_input": {"command": "rm -ri build"}}'"""


def test_the_refusal_names_the_input_that_the_person_allowed(project):
    set_up(project, 'ask = "wait"', script=REWRITE)
    event = {"hook_event_name": "PreToolUse", "tool_name": "run_shell_command", "cwd": str(project.path)}
    event |= {"tool_input": {"command": "rm -rf build"}, "session_id": "s"}
    argv = project.make_argv("run", "--host", "qwen")
    call = WaitingCall(project, event=event, argv=argv)
    assert answer(project, call.find_question())[0] == 0
    end = call.finish()["end"]
    text = end["stdout"] + end["stderr"]
    assert "A person allowed this call with another input than yours, so yours did not run." in text, end
    assert "A person allowed this call." not in text
    assert "rm -ri build" in text
