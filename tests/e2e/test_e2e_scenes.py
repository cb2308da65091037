"""The scenes of `make e2e` can fail: each complains of a run in which its effect is not to be seen."""

from __future__ import annotations

import pytest

from boathook.hosts.host import list_host_names
from e2e.scenes import (
    ANOTHER_FILE,
    CLAUDES_SETTINGS,
    FORBIDDEN,
    GUARD,
    MADE,
    OTHER,
    RAN,
    REFUSED,
    SCENES,
    TWO_SETTINGS,
)
from e2e.server import Request
from e2e.stage import Observation

REASON = "rm -r would destroy /"


def request(body: str) -> Request:
    return Request(0.0, "/v1/messages", "danger", is_own=True, body=body)


def block(**changes: object) -> dict[str, object]:
    record = {
        "event": "pre-tool-call",
        "host": "claude",
        "decision": "block",
        "hooks": [{"hook": GUARD, "decision": "block"}],
    }
    return {**record, "reasons": [f"{REASON}\nand more"], **changes}


def after_setup(**changes: object) -> Observation:
    fields = {"requests": [request("do it"), request(f"error: {REASON}")], "ledger": [block()], **changes}
    return Observation("claude", "setup-claude", **fields)


def test_a_guard_that_blocked_is_seen():
    assert list(SCENES["setup-claude"].complaints(after_setup())) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ledger": []}, "the ledger has 0 records"),
        ({"ledger": [block(decision="none")]}, "not one block"),
        ({"ledger": [block(host="copilot")]}, "not one block"),
        ({"files": {RAN: 1.0}}, "rm was called"),
        ({"requests": [request("do it"), request(f"{REASON}: operate recursively")]}, "rm was called"),
        ({"requests": [request("do it")]}, "asked the model 1 times"),
        ({"requests": [request("do it"), request("error: no")]}, "the reason is not in the next request"),
    ],
)
def test_a_guard_that_did_not_is_complained_of(changes, complaint):
    assert complaint in "; ".join(SCENES["setup-claude"].complaints(after_setup(**changes)))


@pytest.mark.parametrize(("hosts", "fine"), [(["copilot"], True), (["copilot", "claude"], False), ([], False)])
def test_a_call_that_ran_hooks_more_than_once_is_complained_of(hosts, fine):
    ledger = [{"event": "pre-tool-call", "host": host} for host in hosts]
    assert (list(TWO_SETTINGS.complaints(Observation("copilot", "two-settings", ledger=ledger))) == []) is fine


def call(tool: str, decision: str = "none", host: str = "copilot", **given: str) -> dict[str, object]:
    return {"event": "pre-tool-call", "host": host, "tool": tool, "decision": decision, "input": given}


SHELL = call("Shell", command="echo hello")
WRITE = call("WriteFile", "block", file_path="/p/made", content="made")
EDIT = call("EditFile", file_path="/p/README.md", old_string="A", new_string="B")


def observe(**changes: object) -> Observation:
    steps = [("shell", ""), ("file", ""), ("edit", REFUSED), ("stop", REFUSED)]
    requests = [Request(0.0, "/v1/chat/completions", step, is_own=True, body=body) for step, body in steps]
    fields = {"requests": requests, "ledger": [SHELL, WRITE, EDIT], "files": {"README.md": 1.0}, **changes}
    return Observation("copilot", "claudes-settings", **fields)


def test_calls_on_the_path_of_claude_code_are_seen():
    assert list(CLAUDES_SETTINGS.complaints(observe())) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ledger": []}, "the records are []"),
        ({"ledger": [{**one, "host": "claude"} for one in (SHELL, WRITE, EDIT)]}, "the records are"),
        ({"ledger": [SHELL, SHELL, WRITE, EDIT]}, "the records are"),
        ({"ledger": [SHELL, WRITE]}, "the records are"),
        ({"ledger": [SHELL, call("Write", file_path="/p/made", content="made"), EDIT]}, "the records are"),
        ({"ledger": [SHELL, {**WRITE, "decision": "none"}, EDIT]}, "the records are"),
        ({"ledger": [SHELL, call("WriteFile", "block", path="/p/made", content="")]}, "WriteFile is without file_path"),
        ({"ledger": [call("EditFile", file_path="/p", old_str="", new_string="")]}, "EditFile is without old_string"),
        ({"files": {MADE: 1.0}}, "the file was written"),
        ({"requests": observe().requests[:2]}, "the reason is not in the request"),
        ({"requests": [*observe().requests[:2], request("fine")]}, "the reason is not in the request"),
    ],
)
def test_calls_on_that_path_that_are_anothers_are_complained_of(changes, complaint):
    assert complaint in "; ".join(CLAUDES_SETTINGS.complaints(observe(**changes)))


@pytest.mark.parametrize(
    ("files", "decisions", "complaint"),
    [
        ((OTHER,), ("block",), ""),
        ((), ("block",), "the other hook file was not asked"),
        ((OTHER, FORBIDDEN), ("block",), "the command ran"),
        ((OTHER,), (), "the ledger has nothing"),
        ((OTHER,), ("block", "none"), "not one block"),
    ],
)
def test_a_refusal_that_another_file_undid_is_complained_of(files, decisions, complaint):
    ledger = [{"event": "pre-tool-call", "decision": decision} for decision in decisions]
    seen = Observation("cline", "another-file", files=dict.fromkeys(files, 1.0), ledger=ledger)
    found = "; ".join(ANOTHER_FILE.complaints(seen))
    assert bool(found) == bool(complaint)
    assert complaint in found


def test_a_scene_is_of_a_host():
    assert {scene.host for scene in SCENES.values()} <= set(list_host_names())


# A broken engine

BROKEN = SCENES["no-environment-claude"]
SAID = "boathook cannot start (it is missing)"


def broken(**changes: object) -> Observation:
    fields = {"requests": [request("do it"), request(f"refused: {SAID}")], **changes}
    return Observation("claude", "no-environment-claude", **fields)


def test_a_broken_engine_that_refuses_and_holds_up_nothing_is_seen():
    assert list(BROKEN.complaints(broken())) == []
    ended = Observation("cline", "no-environment-cline", requests=[request("do it")])
    assert list(SCENES["no-environment-cline"].complaints(ended)) == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"files": {FORBIDDEN: 1.0}}, "the command ran although no guard was asked"),
        ({"requests": []}, "the prompt did not reach the model"),
        ({"requests": [request("do it")]}, "it was held up"),
        ({"requests": [request("do it"), request("error: no")]}, "the reason is not in the next request"),
    ],
)
def test_a_broken_engine_that_does_not_is_complained_of(changes, complaint):
    assert complaint in "; ".join(BROKEN.complaints(broken(**changes)))
