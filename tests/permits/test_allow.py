"""`boathook allow`: what a person sees, and which calls pass then."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time

import pytest

import boathook
from boathook.core.outcome import Decision
from boathook.inprocess.operations import ToolCall
from boathook.ledger.writer import Ledger
from tests.page.served import serve_context
from tests.scratch_project import make_project
from tests.terminal import type_digest

NO = "echo no >&2; exit 2"
ASK = 'echo \'{"decision": "ask", "reason": "sure?"}\''


def call(project, command="rm -rf build", **fields):
    """Return an event of the native host."""
    return {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": command},
            "session_id": "s", "work_dir": str(project.path), **fields}  # fmt: skip


def send(project, event=None, *flags):
    """Dispatch an event by a process; return the verdict."""
    done = project.run("run", "--json", *flags, stdin=json.dumps(event or call(project)))
    return json.loads(done.stdout)


def allow(project, verdict, **options):
    code, text = type_digest(project, "allow", verdict["id"], **options)
    return code, text


def read_record(project, record_id):
    return json.loads(project.run("why", record_id, "--json").stdout)["record"]


def test_a_call_that_is_allowed_passes_once(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    assert verdict["decision"] == "block"
    code, text = allow(project, verdict)
    assert (code, "This call is allowed once, within 10 minutes (until " in text) == (0, True), text
    passed = send(project)
    assert (passed["decision"], passed["reasons"]) == ("none", [])
    note = f"allowed once by a person ({verdict['id']}): its objection (block) does not count"
    assert passed["runs"][0]["notes"] == [note]
    assert send(project)["decision"] == "block"


def test_it_is_on_record(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    allow(project, verdict)
    passed = send(project)
    assert read_record(project, passed["id"])["hooks"][0]["allowed"] == verdict["id"]
    assert f"allowed  once by a person, who was asked about {verdict['id']}" in project.run("why", passed["id"]).stdout
    lines = project.run("log").stdout
    assert f"a person allowed the call of {verdict['id']} once, until " in lines
    assert "guard (allowed by a person)" in lines
    [line] = [line for line in lines.splitlines() if passed["id"] in line]
    assert line.endswith("a person allowed this call")
    assert "decision: none (a person allowed this call)" in project.run("why", passed["id"]).stdout
    with serve_context() as page:
        shown = page.show("record", id=passed["id"]).text
        assert "A person allowed this call. What guard said against it does not count." in shown
        assert "No hook objected" not in shown
        assert "a person allowed this call" in page.show("live").text
    records = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    permit = next(record for record in records if record["type"] == "allow")
    assert (permit["question"], permit["tool"], permit["host"]) == (verdict["id"], "Shell", "native")
    assert project.run("ledger", "verify").returncode == 0
    assert project.run("stats", "--json").returncode == 0
    assert project.run("replay", "--unconfined", "--json").returncode in (0, 1)
    assert "a person allowed the call" in project.run("why", permit["id"]).stdout


def test_why_names_the_command_while_the_question_is_open(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    sentence = f"A person can allow this call once: boathook allow {verdict['id']} (in their own terminal).\n"
    assert project.run("why", verdict["id"]).stdout.endswith(sentence)
    allow(project, verdict)
    assert sentence not in project.run("why", verdict["id"]).stdout


def test_the_whole_call_and_all_objections_are_shown_with_nothing_hidden(project):
    project.write_hook("asks", ASK, fields={"priority": 200})
    project.write_hook("guard", "printf 'no\\n\\033[2Jmore' >&2; exit 2")
    command = "echo one\n" + "x" * 500 + "\u202e\x1b[31m\n[bold]last[/bold]"
    verdict = send(project, call(project, command, tool_input={"command": command, "timeout": 5}))
    code, text = allow(project, verdict)
    assert code == 0, text
    shown = text.replace("\n", "")
    for part in (
        "command: echo one", "    | " + "x" * 60, r"\u202e\x1b[31m", "| [bold]last[/bold]", "timeout: 5",
        "guard (user, HOOK.md) refuses it", "asks (user, HOOK.md) wants a person to decide", "sure?", "more",
        str(project.path),
    ):  # fmt: skip
        assert part in shown
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("answer", ["", "y", "yes", "0000", "zzzz"])
def test_anything_else_than_the_digest_leaves_it_refused(project, answer):
    project.write_hook("guard", NO)
    verdict = send(project)
    code, text = allow(project, verdict, answer=answer)
    if code == 0:
        pytest.skip("the digest ended like that")
    assert (code, "Nothing was allowed: you typed something else." in text) == (1, True)
    assert send(project)["decision"] == "block"
    assert "a person allowed" not in project.run("log").stdout


def test_without_a_terminal_it_refuses(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    done = project.run("allow", verdict["id"], stdin="abcd\n")
    message = "Nothing was allowed: there is no terminal to ask at. Run this in a terminal of your own"
    assert (done.returncode, done.stderr) == (1, f"boathook: {message}\n")
    assert project.run("allow", verdict["id"], "--yes").returncode == 1


def refuse_id(project, name):
    """Return what is said about an id that cannot be allowed."""
    code, text = type_digest(project, "allow", name)
    assert code == 1, text
    return " ".join(text.split())


@pytest.mark.parametrize("name", ["", "zz", "../x", "0123456789ab", "/etc/passwd"])
def test_an_id_that_is_not_known_is_an_error(project, name):
    what_to_do = "No call waits for an answer now: let the agent try again, then run: boathook allow"
    assert f"no call has an id that starts with '{name}'. {what_to_do}" in refuse_id(project, name)


def test_an_id_that_is_not_known_names_those_that_are_the_nearest_first(project):
    project.write_hook("guard", NO)
    ids = [send(project, call(project, f"rm {number}"))["id"] for number in range(3)]
    wrong = ids[1][:-1] + ("0" if ids[1][-1] != "0" else "1")
    text = refuse_id(project, wrong)
    assert f"no call has an id that starts with '{wrong}'. These calls can be allowed now: {ids[1]}, " in text
    assert all(name in text for name in ids)


def test_an_id_that_was_used_up_reports_when_and_by_which_call(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    allow(project, verdict)
    assert "is allowed already, until " in refuse_id(project, verdict["id"])
    passed = send(project)
    text = refuse_id(project, verdict["id"])
    assert f"'{verdict['id']}' cannot be allowed again: you allowed it once, and it was used up at " in text
    assert (
        f" by the call {passed['id']}. Let the agent try again: if hooks still object, that call has a new id" in text
    )


def test_an_id_that_was_allowed_and_never_used_reports_until_when(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    allow(project, verdict)
    find_permit(project).unlink()
    text = refuse_id(project, verdict["id"])
    assert f"'{verdict['id']}' cannot be allowed again: you allowed it until " in text


def test_an_id_whose_question_has_expired_is_reported_as_that(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    age_ledger(project)
    (project.state / "questions" / f"{verdict['id']}.json").unlink()
    text = refuse_id(project, verdict["id"])
    assert (
        f"{verdict['id']} has expired: a question stays open for 10 minutes, and this one is from 2020-01-01 " in text
    )


def age_ledger(project):
    """Write the records of a ledger anew, with an old time."""
    (segment,) = project.state.glob("ledger-*.jsonl")
    records = [json.loads(line) for line in segment.read_text().splitlines()]
    for path in project.state.glob("ledger*"):
        path.unlink()
    for record in records:
        kept = {key: value for key, value in record.items() if key not in ("seq", "prev", "hash")}
        Ledger(str(project.state)).append({**kept, "time": "2020-01-01T00:00:00.000Z"})


def test_an_id_of_something_else_is_named_as_what_it_is(project):
    project.write_hook("guard", NO, fields={"matcher": "{pattern: build}"})
    project.write_hook("prompt", NO, fields={"trigger": "pre-agent-turn"})
    project.write_hook("stop", "echo '{\"continue\": false}'", fields={"matcher": "{pattern: halt}"})
    project.write_hook("watch", "exit 0", fields={"matcher": "{pattern: look}"})
    prompt = send(project, call(project, event_type="pre-agent-turn", prompt="x"))["id"]
    assert (
        f"{prompt} cannot be allowed: only calls can (pre-tool-call, permission-request), and this is pre-agent-turn"
        in refuse_id(project, prompt)
    )
    halted = send(project, call(project, "halt"))["id"]
    assert f"{halted} cannot be allowed: a hook ended the run" in refuse_id(project, halted)
    passed = send(project, call(project, "look"))["id"]
    assert f"{passed} needs no permit: no hook objects to it (decision: none)" in refuse_id(project, passed)
    long = send(project, call(project, "rm -rf build " + "x" * (256 << 10)))["id"]
    assert (
        f"{long} cannot be allowed: boathook did not keep its question, because it is longer than 256 KiB"
        in refuse_id(project, long)
    )
    allow(project, send(project))
    records = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    permit = next(record for record in records if record["type"] == "allow")
    assert f"{permit['id']} is not a call of an agent but a record of the type 'allow'" in refuse_id(
        project, permit["id"]
    )


def test_without_an_id_the_calls_that_can_be_allowed_are_listed(project):
    assert (
        project.run("allow").stdout
        == "No call waits for an answer. A question stays open for 10 minutes: let the agent try again.\n"
    )
    project.write_hook("guard", NO)
    first, second = (send(project, call(project, command))["id"] for command in ("rm one", "rm \x1b[2J" + "x" * 200))
    done = project.run("allow")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["ID", second, first]
    assert "native" in lines[2]
    assert "Shell  guard" in lines[2]
    assert lines[2].endswith('{"command": "rm one"}')
    assert "\x1b" not in done.stdout
    assert lines[3] == "To see a whole call and allow it once: boathook allow ID"
    allow(project, {"id": first})
    assert first not in project.run("allow").stdout


def test_a_call_that_the_agent_repeats_is_listed_once_by_its_newest_id(project):
    project.write_hook("guard", NO)
    first, second = send(project)["id"], send(project)["id"]
    ids = [line.split()[0] for line in project.run("allow").stdout.splitlines()]
    assert (second in ids, first in ids) == (True, False)
    # The older id is not closed.
    assert allow(project, {"id": first})[0] == 0


def test_a_repeated_call_with_other_objections_is_listed_too(project):
    project.write_hook("first", NO, fields={"priority": 300})
    project.write_hook("second", "echo never >&2; exit 2", fields={"priority": 200})
    allow(project, send(project))
    with_both, with_first = send(project)["id"], send(project)["id"]
    ids = [line.split()[0] for line in project.run("allow").stdout.splitlines()]
    assert ids[1:3] == [with_first, with_both]


def test_an_id_may_be_shortened(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    assert type_digest(project, "allow", verdict["id"][:6].upper())[0] == 0
    assert send(project)["decision"] == "none"


DIFFERENT = {
    "another input": {"tool_input": {"command": "rm -rf /"}},
    "one more field": {"tool_input": {"command": "rm -rf build", "timeout": 1}},
    "another tool": {"tool_name": "Bash"},
    "another folder": {"work_dir": "/"},
    "another event": {"event_type": "permission-request"},
}


@pytest.mark.parametrize("change", DIFFERENT.values(), ids=DIFFERENT)
def test_a_permit_is_for_exactly_this_call(project, change):
    project.write_hook("guard", NO)
    project.write_hook("guard-request", NO, fields={"trigger": "permission-request"})
    allow(project, send(project))
    other = {**call(project), **change}
    assert send(project, other, "--project", str(project.path))["decision"] == "block"
    assert send(project)["decision"] == "none"


def test_another_session_and_another_number_of_the_call_are_the_same_call(project):
    project.write_hook("guard", NO)
    allow(project, send(project, call(project, tool_use_id="1")))
    assert send(project, call(project, session_id="t", tool_use_id="2"))["decision"] == "none"


def test_a_permit_counts_in_its_project_only(project):
    project.write_hook("guard", NO)
    other = project.path / "other"
    (other / ".agents/hooks").mkdir(parents=True)
    (project.path / ".agents/hooks").mkdir(parents=True)
    event = call(project)
    allow(project, send(project, event))
    assert send(project, event, "--project", str(other))["decision"] == "block"
    assert send(project, event)["decision"] == "none"


def test_the_other_hooks_are_still_asked_and_a_new_objection_is_a_new_question(project):
    project.write_hook("first", NO, fields={"priority": 300})
    project.write_hook("second", "echo never >&2; exit 2", fields={"priority": 200})
    project.write_hook("third", "touch ran", fields={"priority": 100})
    one = send(project)
    assert one["reasons"] == ["no"]
    allow(project, one)
    two = send(project)
    assert (two["decision"], two["reasons"]) == ("block", ["never"])
    assert not (project.path / "ran").exists()
    # The first permit is used up, but the new question has both objections.
    assert send(project)["reasons"] == ["no"]
    code, text = allow(project, two)
    assert code == 0
    assert "first (user, HOOK.md) refuses it" in text
    three = send(project)
    assert three["decision"] == "none"
    assert len([run for run in three["runs"] if run["notes"]]) == 2
    assert (project.path / "ran").exists()


def test_a_new_objection_of_an_earlier_hook_does_not_lose_those_that_were_allowed(project):
    project.write_hook("first", "test ! -e object || { echo new >&2; exit 2; }", fields={"priority": 300})
    project.write_hook("second", NO)
    allow(project, send(project))
    (project.path / "object").touch()
    two = send(project)
    assert two["reasons"] == ["new"]
    allow(project, two)
    assert send(project)["decision"] == "none"


def test_a_reason_may_change_but_the_way_of_failing_may_not(project):
    project.write_hook("guard", "test ! -e fail || exit 1; date +%N >&2; exit 2", fields={"on_failure": "block"})
    (project.path / "fail").touch()
    allow(project, send(project))
    (project.path / "fail").unlink()
    # It did not work when the person was asked; now it objects.
    blocked = send(project)
    assert blocked["decision"] == "block"
    allow(project, blocked)
    assert send(project)["decision"] == "none"


def test_no_opinion_is_not_an_approval(project):
    project.write_hook("guard", NO)
    answer, _ = run_host(project, "claude", "PreToolUse")
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert type_digest(project, "allow", find_last_id(project))[0] == 0
    _, done = run_host(project, "claude", "PreToolUse")
    assert (done.returncode, "permissionDecision" in done.stdout) == (0, False)


def test_an_approval_of_another_hook_stays(project):
    project.write_hook("guard", NO)
    project.write_hook("friend", 'echo \'{"decision": "allow"}\'', fields={"priority": 50})
    allow(project, send(project))
    assert send(project)["decision"] == "allow"


def test_an_ask_is_lifted_too(project):
    project.write_hook("guard", ASK)
    verdict = send(project)
    assert verdict["decision"] == "ask"
    allow(project, verdict)
    assert send(project)["decision"] == "none"


def test_a_stop_of_the_run_is_not_a_question(project):
    project.write_hook("guard", 'echo \'{"continue": false, "stop_reason": "enough"}\'')
    verdict = send(project)
    assert verdict["decision"] == "stop"
    assert allow(project, verdict)[0] == 1


@pytest.mark.parametrize("kind", ["pre-agent-turn", "pre-agent-turn-stop", "post-tool-call", "pre-session"])
def test_only_calls_can_be_allowed(project, kind):
    project.write_hook("guard", NO, fields={"trigger": kind})
    verdict = send(project, call(project, event_type=kind, prompt="x"))
    assert verdict["decision"] == "block"
    assert not (project.state / "questions").exists()


def test_a_rewrite_before_the_guard_is_the_same_again(project):
    rewrite = 'echo \'{"modified_input": {"command": "rm -rf safe"}}\''
    project.write_hook("rewriter", rewrite, fields={"priority": 300, "matcher": "{pattern: build}"})
    project.write_hook("guard", NO, fields={"matcher": "{pattern: safe}"})
    verdict = send(project)
    assert verdict["decision"] == "block"
    allow(project, verdict)
    passed = send(project)
    assert (passed["decision"], passed["modified_input"]) == ("none", {"command": "rm -rf safe"})


def test_a_rewrite_after_a_lifted_objection_is_a_new_question(project):
    rewrite = 'echo \'{"modified_input": {"command": "rm -rf other"}}\''
    project.write_hook("guard", NO, fields={"priority": 300})
    project.write_hook("rewriter", rewrite, fields={"matcher": "{pattern: build}"})
    one = send(project)
    allow(project, one)
    two = send(project)
    assert (two["decision"], [run["look"] for run in two["runs"]]) == ("block", [1, 1, 2])
    allow(project, two)
    assert send(project)["modified_input"] == {"command": "rm -rf other"}


PATCH = """*** Begin Patch
*** Update File: one.txt
@@
-a
+b
*** Add File: two.txt
+text
*** End Patch"""


def test_each_file_of_a_patch_has_an_objection_of_its_own(project):
    project.write_hook("guard", NO, fields={"matcher": "{tool: 'WriteFile|EditFile'}"})
    event = call(project, tool_name="PatchFile", tool_input={"patch": PATCH})
    one = send(project, event)
    assert one["runs"][0]["file"] == "one.txt"
    allow(project, one)
    two = send(project, event)
    assert (two["decision"], two["runs"][-1]["file"]) == ("block", "two.txt")
    _, text = allow(project, two)
    assert "because of one.txt" in text
    assert "because of two.txt" in text
    assert send(project, event)["decision"] == "none"


def test_untrusted_hooks_that_block_can_be_passed_over(project):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    project.write_hook("theirs", "exit 0", scope="project")
    verdict = send(project)
    assert (verdict["decision"], verdict["runs"][0]["status"]) == ("block", "refused")
    allow(project, verdict)
    passed = send(project)
    assert passed["decision"] == "none"
    assert passed["runs"][0]["status"] == "refused"


def test_hooks_of_settings_that_run_together(project):
    entries = [{"type": "command", "command": f"echo {word} >&2; exit 2"} for word in ("one", "two")]
    project.write_settings("user", {"hooks": {"PreToolUse": [{"matcher": "", "hooks": entries}]}})
    verdict = send(project)
    assert sorted(verdict["reasons"]) == ["one", "two"]
    allow(project, verdict)
    assert send(project)["decision"] == "none"


# What the model reads


def run_host(project, host, event, **fields):
    payload = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "x"}, "session_id": "s",
               "cwd": str(project.path), **fields}  # fmt: skip
    done = project.run("run", "--host", host, stdin=json.dumps(payload))
    return json.loads(done.stdout or "{}"), done


def find_last_id(project):
    return json.loads(project.run("log", "--json").stdout.splitlines()[-1])["id"]


def test_an_agent_that_cannot_ask_passes_on_how_a_person_can_allow_it(project):
    project.write_hook("guard", ASK)
    answer, _ = run_host(project, "codex", "PreToolUse")
    sentence = f"A person can allow this call once: boathook allow {find_last_id(project)} (in their own terminal)."
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == f"sure?\n{sentence}"
    assert "boathook allow" not in json.dumps(read_record(project, find_last_id(project)))
    assert type_digest(project, "allow", find_last_id(project))[0] == 0
    assert "deny" not in json.dumps(run_host(project, "codex", "PreToolUse")[0])


def test_an_agent_that_asks_and_a_plain_block_do_not_name_the_command(project):
    project.write_hook("guard", ASK)
    assert "boathook allow" not in json.dumps(run_host(project, "claude", "PreToolUse")[0])
    project.write_hook("guard", NO)
    for host in ("claude", "codex"):
        assert "boathook allow" not in json.dumps(run_host(project, host, "PreToolUse")[0])


def test_no_ask_names_the_command(project):
    project.write_hook("guard", ASK)
    verdict = send(project, None, "--no-ask")
    assert verdict["reasons"][-1] == (
        f"A person can allow this call once: boathook allow {verdict['id']} (in their own terminal)."
    )


def test_a_call_that_is_too_long_to_review_cannot_be_allowed(project):
    project.write_hook("guard", ASK)
    verdict = send(project, call(project, "x" * 300_000), "--no-ask")
    assert verdict["reasons"] == ["sure? (no person can be asked)"]
    assert allow(project, verdict)[0] == 1


# Races, kills and forgeries


def test_of_many_equal_calls_at_once_one_passes(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    argv = [sys.executable, "-m", "boathook", "run", "--json"]
    event = json.dumps(call(project)).encode()
    children = [
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=project.path, env=project.environment)
        for _ in range(6)
    ]
    outputs = [None] * len(children)

    def talk(number):
        outputs[number] = json.loads(children[number].communicate(event, timeout=120)[0])["decision"]

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(len(children))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outputs) == ["block"] * 5 + ["none"]


def test_a_call_that_is_killed_has_used_its_permit_up(project):
    project.write_hook("guard", NO, fields={"priority": 300})
    project.write_hook("slow", "touch begun; test -e go || sleep 600", fields={"timeout": 700000})
    allow(project, send(project))
    child = subprocess.Popen(project.make_argv("run"), stdin=subprocess.PIPE, cwd=project.path, env=project.environment)
    child.stdin.write(json.dumps(call(project)).encode())
    child.stdin.close()
    while not (project.path / "begun").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.kill()
    child.wait()
    (project.path / "go").touch()
    assert send(project)["decision"] == "block"
    assert list((project.state / "permits").iterdir()) == []


def find_permit(project):
    (path,) = (project.state / "permits").iterdir()
    return path


def test_an_old_permit_and_one_of_the_future_do_not_count(project):
    project.write_hook("guard", NO)
    now = time.time()
    for begin, end in ((now - 700, now - 100), (now + 100, now + 700), (now - 1, now + 10_000), (now - 100, now)):
        allow(project, send(project))
        path = find_permit(project)
        fields = json.loads(path.read_bytes())
        path.write_text(json.dumps({**fields, "begin": begin, "end": end}))
        assert send(project)["decision"] == "block"
        assert not path.exists()


def test_a_permit_that_others_could_have_written_does_not_count(project):
    project.write_hook("guard", NO)
    for change in ("file", "folder", "link", "text"):
        allow(project, send(project))
        path = find_permit(project)
        if change == "file":
            path.chmod(0o666)
        elif change == "folder":
            path.parent.chmod(0o777)
        elif change == "link":
            path.rename(project.base / "elsewhere")
            path.symlink_to(project.base / "elsewhere")
        else:
            path.write_text("[" * 5000)
        assert send(project)["decision"] == "block", change
        path.parent.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_permit_of_another_owner_does_not_count(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    os.chown(find_permit(project), 65534, 65534)
    assert send(project)["decision"] == "block"


def test_a_permit_that_was_moved_to_another_call_does_not_count(project):
    project.write_hook("guard", NO)
    allow(project, send(project))
    path = find_permit(project)
    other = call(project, "rm -rf /")
    verdict = send(project, other)
    allow(project, verdict)
    (other_path,) = [one for one in path.parent.iterdir() if one != path]
    path.replace(other_path)
    assert send(project, other)["decision"] == "block"


def test_the_files_are_private(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    question = project.state / "questions" / f"{verdict['id']}.json"
    assert (question.stat().st_mode & 0o777, question.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    allow(project, verdict)
    assert not question.exists()
    path = find_permit(project)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_question_that_was_changed_shows_the_call_that_it_permits(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    question = project.state / "questions" / f"{verdict['id']}.json"
    fields = json.loads(question.read_bytes())
    question.write_text(json.dumps({**fields, "tool_input": {"command": "ls"}}))
    code, text = allow(project, verdict)
    assert (code, "command: ls" in text) == (0, True)
    # What was permitted is what was shown.
    assert send(project)["decision"] == "block"


def test_questions_are_few_and_soon_forgotten(project):
    project.write_hook("guard", NO)
    with boathook.load(project.path) as engine:
        ids = [engine.dispatch(call(project, f"rm {number}")).id for number in range(70)]
    kept = {path.stem for path in (project.state / "questions").iterdir()}
    assert 48 <= len(kept) <= 64
    assert {*ids[-48:]} <= kept
    old = project.state / "questions" / f"{ids[-1]}.json"
    os.utime(old, (time.time() - 700, time.time() - 700))
    with boathook.load(project.path) as engine:
        for number in range(16):
            engine.dispatch(call(project, f"rm -f {number}"))
    assert not old.exists()


def test_a_question_is_open_for_ten_minutes(project):
    project.write_hook("guard", NO)
    verdict = send(project)
    question = project.state / "questions" / f"{verdict['id']}.json"
    fields = json.loads(question.read_bytes())
    for moment in (time.time() - 601, time.time() + 60):
        question.write_text(json.dumps({**fields, "time": moment}))
        assert allow(project, verdict)[0] == 1
        assert "boathook allow" not in project.run("why", verdict["id"]).stdout


def test_a_state_folder_that_a_project_chose_has_no_permits(tmp_path):
    project = make_project(tmp_path)
    project.write_hook("guard", NO)
    state = project.path / "state"
    (project.path / ".git").mkdir()
    env = {"XDG_STATE_HOME": str(state)}
    done = project.run("run", "--json", stdin=json.dumps(call(project)), env=env)
    assert json.loads(done.stdout)["decision"] == "block"
    assert not (state / "boathook/questions").exists()


def test_a_disk_that_cannot_be_written_leaves_the_call_refused(project):
    project.write_hook("guard", NO)
    send(project)
    folder = project.state / "questions"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("not a folder")
    assert send(project)["decision"] == "block"


# In process


def test_an_engine_that_lives_on_uses_a_permit_once(project):
    project.write_hook("guard", NO)
    with boathook.load(project.path) as engine:
        verdict = engine.dispatch(call(project))
        assert type_digest(project, "allow", verdict.id)[0] == 0
        assert engine.dispatch(call(project)).decision == Decision.NONE
        assert engine.dispatch(call(project)).decision == Decision.BLOCK


def test_the_async_engine_does_the_same(project):
    project.write_hook("guard", NO)

    async def play():
        with boathook.load(project.path) as engine:
            verdict = await engine.adispatch(call(project))
            assert (await asyncio.to_thread(type_digest, project, "allow", verdict.id))[0] == 0
            both = await asyncio.gather(*(engine.adispatch(call(project)) for _ in range(2)))
            return sorted(one.decision for one in both)

    assert asyncio.run(play()) == [Decision.NONE, Decision.BLOCK]


def test_a_stack_with_file_hooks_between_its_own_passes_after_both_were_allowed(project):
    project.write_hook("first", NO, fields={"priority": 300})
    project.write_hook("second", "echo never >&2; exit 2", fields={"priority": 100})
    hooks = boathook.Hooks()
    seen = []

    @hooks.on("pre-tool-call", priority=200)
    def between(context):
        seen.append(context.name)

    ran = []
    with hooks.load(project.path):
        stack = hooks.stack
        tool_call = ToolCall("Shell", {"command": "rm"}, "call-1")

        def attempt():
            try:
                stack.run_tool(tool_call, lambda one: ran.append(one.name))
            except boathook.Blocked as error:
                return error.reason
            return ""

        assert attempt() == "no"
        assert type_digest(project, "allow", find_last_id(project))[0] == 0
        assert attempt() == "never"
        assert type_digest(project, "allow", find_last_id(project))[0] == 0
        assert attempt() == ""
        assert ran == ["Shell"]
        assert attempt() == "no"
