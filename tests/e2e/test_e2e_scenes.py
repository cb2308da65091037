"""The scenes of `make e2e` can fail: each complains of a run in which its effect is not to be seen."""

from __future__ import annotations

import pytest
from e2e.scenes import GUARD, NEWCOMER, RAN, SCENES, TWO_ROADS
from e2e.server import Request
from e2e.stage import Observation

from boathook.core.hosts import NAMES

REASON = "rm -r would destroy /"


def request(body: str) -> Request:
    return Request(0.0, "/v1/messages", "danger", is_own=True, body=body)


def block(**changes: object) -> dict[str, object]:
    record = {"event": "pre-tool-call", "host": "claude", "decision": "block", "hooks": [{"hook": GUARD}]}
    return {**record, "reasons": [f"{REASON}\nand more"], **changes}


def newcomer(**changes: object) -> Observation:
    fields = {"requests": [request("do it"), request(f"error: {REASON}")], "ledger": [block()], **changes}
    return Observation("claude", "newcomer", **fields)


def test_a_guard_that_blocked_is_seen():
    assert list(NEWCOMER.complaints(newcomer())) == []


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
    assert complaint in "; ".join(NEWCOMER.complaints(newcomer(**changes)))


@pytest.mark.parametrize(("hosts", "fine"), [(["copilot"], True), (["copilot", "claude"], False), ([], False)])
def test_a_call_that_ran_hooks_more_than_once_is_complained_of(hosts, fine):
    ledger = [{"event": "pre-tool-call", "host": host} for host in hosts]
    assert (list(TWO_ROADS.complaints(Observation("copilot", "two-roads", ledger=ledger))) == []) is fine


def test_a_scene_is_of_a_host():
    assert {scene.host for scene in SCENES.values()} <= set(NAMES)
