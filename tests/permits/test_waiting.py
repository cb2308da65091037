"""boathook waits for a person's answer: real processes, and a person at a pseudo terminal."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from boathook.permits.totp import STEP_SECONDS, compute_code, write_secret
from e2e.terminal import run_at_terminal
from tests.output_validation import make_validator
from tests.permits.waiting_calls import (
    ASK,
    ASKS_PROMPT,
    WaitingCall,
    answer,
    list_ask_files,
    make_call,
    make_person_environment,
    read_records,
    set_up,
    wait_until,
)
from tests.terminal import type_digest

WAIT = 'ask = "wait"'


def test_a_yes_lets_the_call_run(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    code, text = answer(project, ask_id[:8])
    assert (code, "You allowed this call." in text) == (0, True), text
    verdict = call.finish()
    assert (verdict["decision"], verdict["reasons"]) == ("allow", ["A person allowed this call."])
    assert verdict["runs"][0]["notes"] == [f"allowed by a person ({ask_id}): its question does not count"]
    assert list_ask_files(project) == []
    (asked,), (answered,), (dispatch,) = (read_records(project, kind) for kind in ("asked", "answered", "dispatch"))
    assert (asked["question"], asked["asking"], answered["result"]) == (ask_id, ["careful"], "allowed")
    assert (answered["via"], answered["digest"]) == ("terminal", asked["digest"])
    assert dispatch["asked"] == {"question": ask_id, "result": "allowed"}
    assert dispatch["hooks"][0]["allowed"] == ask_id


def test_a_no_blocks_the_call_and_it_cannot_be_allowed_later(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    code, text = answer(project, call.find_question(), typed="no")
    assert (code, "You denied this call." in text) == (0, True), text
    verdict = call.finish()
    assert verdict["decision"] == "block"
    assert verdict["reasons"][:2][0] == "sure?"
    assert verdict["reasons"][1].startswith("A person denied this call.")
    assert not (project.state / "questions").exists()
    assert read_records(project, "answered")[0]["result"] == "denied"


def test_an_answer_that_does_not_come_is_not_one_of_a_person(project):
    set_up(project, WAIT, "ask_timeout = 1000")
    verdict = WaitingCall(project).finish()
    assert verdict["decision"] == "block"
    assert "No person answered within 1 s. This is not consent." in verdict["reasons"][1]
    assert read_records(project, "answered")[0]["result"] == "unanswered"
    assert read_records(project, "dispatch")[0]["asked"]["result"] == "unanswered"
    assert list_ask_files(project) == []


def test_the_whole_call_is_shown_as_hooks_rewrote_it(project):
    project.write_hook(
        "rewrites", 'echo \'{"modified_input": {"command": "rm -rf build/x"}}\'', fields={"priority": 200}
    )
    set_up(project, WAIT)
    call = WaitingCall(project)
    code, text = answer(project, call.find_question())
    assert code == 0, text
    assert "command: rm -rf build/x" in text
    verdict = call.finish()
    assert (verdict["decision"], verdict["modified_input"]) == ("allow", {"command": "rm -rf build/x"})


def test_with_anything_else_typed_the_call_still_waits(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    for typed in ("", "y", "yes", "allow"):
        code, text = answer(project, ask_id, typed=typed)
        assert (code, "Nothing was answered: you typed something else." in text) == (1, True), text
    assert read_records(project, "answered") == []
    assert answer(project, typed="no")[0] == 0
    assert call.finish()["decision"] == "block"


def test_only_one_of_two_answers_counts(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    with ThreadPoolExecutor(2) as pool:
        ends = [*pool.map(lambda typed: answer(project, ask_id, typed=typed), ("{digits}", "no"))]
    assert sorted(code for code, _ in ends) == [0, 1], ends
    is_allowed = ends[0][0] == 0
    assert call.finish()["decision"] == ("allow" if is_allowed else "block")
    assert len(read_records(project, "answered")) == 1


def test_questions_are_listed_for_people_and_programs(project):
    set_up(project, WAIT)
    assert project.run("asks").stdout == "No call waits for an answer.\n"
    assert project.run("asks", "--count").stdout == "0\n"
    calls = [WaitingCall(project, event=make_call(project, f"rm {name}")) for name in ("one", "TOKEN=hunter2hunter2")]
    ids = [call.find_question() for call in calls]
    lines = project.run("asks").stdout
    assert all(ask_id[:8] in lines for ask_id in ids)
    assert "hunter2" not in lines
    listed = json.loads(project.run("asks", "--json").stdout)["questions"]
    assert {one["id"] for one in listed} == {*ids}
    assert listed[0]["hooks"] == ["careful"]
    assert "hunter2" not in json.dumps(listed)
    assert project.run("asks", "--count").stdout == "2\n"
    waiting = "2 calls wait for your answer: boathook asks"
    assert project.run().stdout.splitlines()[1] == waiting
    assert project.run("status").stdout.splitlines()[0] == waiting
    status = json.loads(project.run("status", "--json").stdout)
    make_validator("status").validate(status)
    assert status["waiting"] == listed
    assert project.run("asks", ids[0], "--json").returncode == 1
    assert project.run("asks", "--yes").returncode == 1
    for call in calls:
        call.kill("run")


def test_a_question_is_shown_for_its_whole_time_if_other_hooks_were_slow(project):
    set_up(project, WAIT)
    # It is asked after the one that asks.
    project.write_hook("slow", "sleep 2.5", fields={"priority": "-10"})
    call = WaitingCall(project)
    ask_id = call.find_question()
    listed = json.loads(project.run("asks", "--json").stdout)
    assert [one["id"] for one in listed["questions"]] == [ask_id]
    assert answer(project)[0] == 0
    assert call.finish()["decision"] == "allow"


def test_an_agent_without_sessions_is_denied_at_once_in_the_folder_whose_question_had_no_answer(project):
    set_up(project, WAIT, "ask_timeout = 1000")
    event = make_call(project, session_id="")
    assert "No person answered within" in WaitingCall(project, event=event).finish()["reasons"][1]
    assert "No person answered an earlier question" in WaitingCall(project, event=event).finish()["reasons"][1]


def test_after_one_question_without_an_answer_the_session_is_denied_at_once_until_a_person_answers(project):
    set_up(project, WAIT, "ask_timeout = 1000")
    assert "No person answered within" in WaitingCall(project).finish()["reasons"][1]
    verdict = WaitingCall(project).finish()
    assert verdict["reasons"][1].startswith("No person answered an earlier question of this session")
    assert verdict["reasons"][2].startswith("A person can allow this call once: boathook allow ")
    assert len(read_records(project, "asked")) == 1
    other = WaitingCall(project, event=make_call(project, session_id="other")).finish()
    assert "No person answered within" in other["reasons"][1]
    assert type_digest(project, "allow", verdict["id"])[0] == 0
    assert WaitingCall(project).finish()["decision"] == "none"
    assert "No person answered within" in WaitingCall(project).finish()["reasons"][1]


def test_an_agent_that_does_not_wait_long_gets_a_denial_and_a_person_can_allow_the_call_later(project):
    set_up(project, WAIT)
    event = {"hook_event_name": "PreToolUse", "tool_name": "Shell", "tool_input": {"command": "rm -rf build"}}
    end = project.run("run", "--host", "kimi-code", stdin=json.dumps({**event, "cwd": str(project.path)}))
    assert "kimi-code gives a hook less than 45 s, too little to wait for a person." in end.stdout + end.stderr
    assert "A person can allow this call once: boathook allow " in end.stdout + end.stderr
    assert read_records(project, "asked") == []


def test_a_setting_denies_what_hooks_ask(project):
    set_up(project, 'ask = "deny"')
    verdict = json.loads(project.run("run", "--json", stdin=json.dumps(make_call(project))).stdout)
    assert (verdict["decision"], verdict["reasons"][0]) == ("block", "sure?")
    assert verdict["reasons"][1] == "Your hooks.toml denies what hooks want to ask a person about."


def test_without_a_setting_the_agent_asks_where_it_does(project):
    set_up(project)
    verdict = json.loads(project.run("run", "--json", stdin=json.dumps(make_call(project))).stdout)
    assert (verdict["decision"], verdict["reasons"]) == ("ask", ["sure?"])


def test_without_a_setting_boathook_waits_while_something_listens(project):
    set_up(project)
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    flags = ("run", "--host", "codex")
    denied = project.run(*flags, stdin=json.dumps({**event, "cwd": str(project.path)}))
    assert '"permissionDecision": "deny"' in denied.stdout
    assert read_records(project, "asked") == []
    ends = []
    person = threading.Thread(target=lambda: ends.append(watch(project)))
    person.start()
    wait_until(lambda: list_ask_files(project, ".listener"))
    call = WaitingCall(project, event={**event, "cwd": str(project.path)}, argv=project.make_argv(*flags))
    end = call.finish()["end"]
    person.join()
    # Codex has no way to allow: it gets no decision.
    assert (end["code"], "permissionDecision" in end["stdout"]) == (0, False), (end, ends)
    assert "You allowed this call." in ends[0][1]
    assert list_ask_files(project) == []


def watch(project):
    """Answer yes to the first question that `boathook asks --watch` shows, then press Ctrl-C."""
    prompt = rf"{ASKS_PROMPT}|You allowed this call\.\n$"
    argv, env = project.make_argv("asks", "--watch"), make_person_environment(project)
    return run_at_terminal(argv, ["{digits}", "\x03"], cwd=project.path, env=env, prompt=prompt)


WAITS = '[hooks]\nask = "wait"\n'


def test_a_hook_that_wants_a_second_factor_is_never_left_to_the_agent(project):
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    for setting in ("", 'ask = "host"', 'ask = "wait"'):
        # Without a factor that works, and without a person who listens, it is denied at once.
        set_up(project, setting)
        project.write_hook("careful", ASK, fields={"ask": "strong"})
        found = WaitingCall(project).finish()
        assert found["decision"] == "block"
        assert "needs a second factor, and none is set" in found["end"]["stdout"]
    assert read_records(project, "asked") == []
    write_secret(str(project.state), b"12345678901234567890", 0)
    project.write_hooks_toml("user", '[hooks.approvals]\nfactor = "totp"\n')
    found = WaitingCall(project).finish()
    assert (found["decision"], "nothing listens for questions" in found["end"]["stdout"]) == ("block", True)


def test_a_second_factor_that_is_set_while_a_call_waits_counts(project):
    write_secret(str(project.state), b"12345678901234567890", 0)
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    one, other = (f'[hooks]\nask = "wait"\n[hooks.approvals]\nfactor = "{word}"\n{more}' for word, more in (
        ("totp", ""), ("askpass", 'askpass = "/bin/true"\n')))  # fmt: skip
    project.write_hooks_toml("user", one)
    call = WaitingCall(project)
    ask_id = call.find_question()
    project.write_hooks_toml("user", other)
    code, text = answer(project, ask_id)
    assert (code, call.finish()["decision"]) == (0, "allow"), text


def test_a_hook_that_wants_a_second_factor_is_answered_with_a_code(project):
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    project.write_hooks_toml("user", '[hooks]\nask = "wait"\n[hooks.approvals]\nfactor = "totp"\n')
    secret = b"12345678901234567890"
    write_secret(str(project.state), secret, 0)
    call = WaitingCall(project)
    argv, env = project.make_argv("asks", call.find_question()), make_person_environment(project)
    prompt = rf"{ASKS_PROMPT}|authenticator app shows: $"

    def type_code(code):
        return run_at_terminal(argv, ["{digits}", code], cwd=project.path, env=env, prompt=prompt)

    code, text = type_code("12")
    assert (code, "a code has 6 digits" in text) == (1, True), text
    code, text = type_code(compute_code(secret, int(time.time()) // STEP_SECONDS))
    assert (code, "You allowed this call." in text) == (0, True), text
    assert call.finish()["decision"] == "allow"


def test_a_program_of_the_person_asks_about_a_hook_that_wants_a_second_factor(project):
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    for program, is_yes in (("/bin/false", False), ("/bin/true", True)):
        project.write_hooks_toml("user", f'{WAITS}[hooks.approvals]\nfactor = "askpass"\naskpass = "{program}"\n')
        call = WaitingCall(project)
        code, text = answer(project, call.find_question())
        assert (code == 0, "the person said no" in text) == (is_yes, not is_yes), text
        call.end() if not is_yes else call.finish()
    assert [record["result"] for record in read_records(project, "answered")][-1] == "allowed"


CLAUDE_CALL = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


def ask_claude(project, version, mode="default", **fields):
    """Return what Claude Code of a version reads about a call that a hook asks about."""
    variables = {"CLAUDE_PROJECT_DIR": str(project.path), "AI_AGENT": version}
    event = {**CLAUDE_CALL, "cwd": str(project.path), "permission_mode": mode, **fields}
    end = project.run("run", "--host", "claude", stdin=json.dumps(event), env=variables)
    return json.loads(end.stdout)["hookSpecificOutput"]


def test_a_version_of_claude_code_that_asks_is_left_to_ask_in_every_mode(project):
    set_up(project)
    for mode in MODES:
        for version in ("claude-code_2-1-325_agent", "claude-code_2-2-0_agent", "claude-code_3-0-1_agent"):
            assert ask_claude(project, version, mode)["permissionDecision"] == "ask", (mode, version)


def test_a_version_of_claude_code_that_may_run_a_call_without_a_question_gets_a_denial(project):
    set_up(project)
    for mode in MODES:
        found = ask_claude(project, "claude-code_2-1-278_agent", mode)
        assert found["permissionDecision"] == "deny", (mode, found)
        reason = found["permissionDecisionReason"]
        assert "sure?" in reason
        assert "Claude Code 2.1.278 may run a call without asking about it; 2.1.325 was seen to ask." in reason
        assert "A person can allow this call once: boathook allow " in reason
    for version in ("", "crush", "claude-code_x", "claude-code_2-1_agent"):
        found = ask_claude(project, version)
        assert (found["permissionDecision"], "of an unknown version" in found["permissionDecisionReason"]) == (
            "deny",
            True,
        )
    # The person has the last word.
    set_up(project, 'ask = "host"')
    assert ask_claude(project, "claude-code_2-1-278_agent")["permissionDecision"] == "ask"


def test_a_question_about_a_subagent_is_not_left_to_a_version_that_may_not_ask(project):
    project.write_hook("careful", ASK, fields={"trigger": "pre-subagent"})
    task = {"tool_name": "Task", "tool_input": {"subagent_type": "x", "prompt": "y"}}
    for setting, version, decision in (
        ("", "claude-code_2-1-325_agent", "ask"),
        ("", "claude-code_2-1-278_agent", "deny"),
        ('ask = "wait"', "claude-code_2-1-278_agent", "deny"),
        ('ask = "host"', "claude-code_2-1-278_agent", "ask"),
    ):
        project.write_hooks_toml("user", f"[hooks]\n{setting}\n")
        assert ask_claude(project, version, **task)["permissionDecision"] == decision, (setting, version)


def test_a_project_cannot_choose_who_asks(project):
    set_up(project)
    project.write_hooks_toml("project", '[hooks]\nask = "wait"\n')
    verdict = json.loads(project.run("run", "--json", stdin=json.dumps(make_call(project))).stdout)
    assert verdict["decision"] == "ask"
