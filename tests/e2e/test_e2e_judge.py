"""The judge reports `seen` for a good pair of runs, and FAILED for every pair with one thing wrong: it can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boathook.hosts.host import load_host
from e2e.judge import BEHAVIOURS, BLOCKED, CONTEXTS, FAILED, IMPOSSIBLE, SEEN, STOPPED, judge
from e2e.server import Request
from e2e.stage import STEPS, Observation

NAMES = [step.name for step in STEPS]
EARLY = CONTEXTS["pre-session"] + CONTEXTS["pre-agent-turn"]
LATE = CONTEXTS["pre-tool-call"] + CONTEXTS["post-tool-call"]


def request(number: int, step: str, body: str = "") -> Request:
    return Request(100.0 + number, "/v1/messages", step, True, body)


def control(host: str) -> Observation:
    files = {"before-word": 1.0, "forbidden-word": 1.0, "plain": 1.0}
    requests = [request(number, step) for number, step in enumerate(NAMES[:-1])]
    return Observation(host, "control", "1", 0, 1.0, requests, files)


def hooked(host: str, bodies: list[str], **changes) -> Observation:
    files = {"after-word": 1.0, "plain": 1.0, "background-finished": 104.0, "gate-was-shut": 1.0}
    requests = [request(number, step, body) for number, (step, body) in enumerate(zip(NAMES, bodies, strict=False))]
    return replace(Observation(host, "hooks", "1", 0, 1.0, requests, files), **changes)


CLAUDE = [EARLY, EARLY, EARLY + LATE, EARLY + LATE + BLOCKED, EARLY + LATE + BLOCKED + STOPPED]


def states(*seen: Observation, host: str = "claude") -> dict[str, str]:
    return {name: one.state for name, one in judge(*seen, load_host(host)).items()}


def failed(*seen: Observation, host: str = "claude") -> set[str]:
    return {name for name, state in states(*seen, host=host).items() if state == FAILED}


def test_a_good_pair_is_seen():
    assert states(hooked("claude", CLAUDE), control("claude")) == dict.fromkeys(BEHAVIOURS, SEEN)


def test_context_is_named_by_event():
    found = judge(hooked("claude", CLAUDE), control("claude"), load_host("claude"))["context"]
    assert found.note == "pre-session, pre-agent-turn, pre-tool-call, post-tool-call"


def without(marker: str) -> list[str]:
    return [body.replace(marker, "") for body in CLAUDE]


GOOD = hooked("claude", CLAUDE)
WRONG_WITH_HOOKS = {
    "the forbidden command ran": ("block", {"files": {**GOOD.files, "forbidden-word": 1.0}}),
    "the reason did not arrive": ("block", {"requests": hooked("claude", without(BLOCKED)).requests}),
    "nothing was rewritten": ("rewrite", {"files": {**GOOD.files, "before-word": 1.0}}),
    "the new command did not run": ("rewrite", {"files": {"background-finished": 104.0}}),
    "no context of a prompt": ("context", {"requests": hooked("claude", without(CONTEXTS["pre-agent-turn"])).requests}),
    "no context after a tool": (
        "context",
        {"requests": hooked("claude", without(CONTEXTS["post-tool-call"])).requests},
    ),
    "the stop went through": ("stop", {"requests": GOOD.requests[:-1]}),
    "the reason of the stop did not arrive": ("stop", {"requests": hooked("claude", without(STOPPED)).requests}),
    "it never stopped": ("stop", {"requests": [*GOOD.requests, request(9, "")]}),
    "the background was cut off": ("background", {"files": {"after-word": 1.0, "background-started": 1.0}}),
    "the agent waited": ("background", {"files": {**GOOD.files, "background-finished": 101.9}}),
}


@pytest.mark.parametrize("name", WRONG_WITH_HOOKS)
def test_one_thing_wrong_with_hooks_fails_its_behaviour(name):
    behaviour, changes = WRONG_WITH_HOOKS[name]
    assert failed(replace(GOOD, **changes), control("claude")) == {behaviour}


PLAIN = control("claude")
WRONG_WITHOUT = {
    "the forbidden command did not run": ({"block"}, {"files": {"before-word": 1.0}}),
    "the old command did not run": ({"rewrite"}, {"files": {"forbidden-word": 1.0}}),
    "the new one did": ({"rewrite"}, {"files": {**PLAIN.files, "after-word": 1.0}}),
    "context was there": ({"context"}, {"requests": [request(0, NAMES[0], EARLY), *PLAIN.requests[1:]]}),
    "the reason was there": ({"block"}, {"requests": [request(0, NAMES[0], BLOCKED), *PLAIN.requests[1:]]}),
    "the agent went on": ({"stop"}, {"requests": [*PLAIN.requests, request(9, "again")]}),
    "the background ran": ({"background"}, {"files": {**PLAIN.files, "background-finished": 1.0}}),
}


@pytest.mark.parametrize("name", WRONG_WITHOUT)
def test_an_effect_that_is_there_without_hooks_is_none(name):
    behaviours, changes = WRONG_WITHOUT[name]
    assert failed(GOOD, replace(PLAIN, **changes)) == behaviours


def test_a_command_that_was_never_called_for_was_not_blocked():
    found = failed(replace(GOOD, requests=GOOD.requests[:2]), PLAIN)
    assert "block" in found


@pytest.mark.parametrize(
    "changes", [{"error": "it did not end"}, {"requests": []}, {"code": 1}], ids=["error", "no request", "exit code"]
)
def test_a_broken_run_fails_everything(changes):
    assert failed(replace(GOOD, **changes), PLAIN) == failed(GOOD, replace(PLAIN, **changes)) == set(BEHAVIOURS)


KIMI = [CONTEXTS["pre-agent-turn"]] * 3 + [CONTEXTS["pre-agent-turn"] + BLOCKED] * 2
KIMI[4] += STOPPED
DEGRADED = [{"degraded": ["a hook changed the input, which Kimi Code cannot take at PreToolUse"]}]
REFUSED = {"background-finished": 104.0}


def kimi(**changes) -> Observation:
    return hooked("kimi-code", KIMI, **{"files": REFUSED, "ledger": DEGRADED, **changes})


def test_what_the_table_rules_out_is_not_possible_if_it_was_reported():
    found = judge(kimi(), control("kimi-code"), load_host("kimi-code"))
    assert {name: one.state for name, one in found.items()} == {
        **dict.fromkeys(BEHAVIOURS, SEEN),
        "rewrite": IMPOSSIBLE,
    }
    assert found["rewrite"].note == "Kimi Code cannot take another input at PreToolUse"


@pytest.mark.parametrize(
    "ledger",
    [
        [],
        [{"degraded": ["a hook has context for the model, which Kimi Code cannot take at PreToolUse: x"]}],
        [{"degraded": ["a hook changed the input, which Kimi Code cannot take at Stop"]}],
    ],
)
def test_what_is_not_possible_must_be_reported(ledger):
    assert failed(kimi(ledger=ledger), control("kimi-code"), host="kimi-code") == {"rewrite"}


def test_a_call_whose_change_was_not_taken_must_not_run_as_it_was():
    files = {"before-word": 1.0, "background-finished": 104.0}
    assert failed(kimi(files=files), control("kimi-code"), host="kimi-code") == {"rewrite"}


def test_what_the_table_rules_out_must_not_happen():
    files = {"after-word": 1.0, "background-finished": 104.0}
    assert failed(kimi(files=files), control("kimi-code"), host="kimi-code") == {"rewrite"}
    bodies = [body + CONTEXTS["pre-session"] for body in KIMI]
    found = failed(kimi(requests=hooked("kimi-code", bodies).requests), control("kimi-code"), host="kimi-code")
    assert found == {"context"}


def test_an_agent_that_ends_at_a_block_is_judged_by_what_it_did():
    bodies = ["", "", LATE]
    seen = hooked("cline", bodies, code=1)
    found = judge(seen, control("cline"), load_host("cline"))
    assert (found["block"].state, found["block"].note) == (SEEN, load_host("cline").block_side_effect)
    assert (found["context"].state, found["stop"].state) == (SEEN, IMPOSSIBLE)
    ran = replace(seen, files={**seen.files, "forbidden-word": 1.0})
    assert judge(ran, control("cline"), load_host("cline"))["block"].state == FAILED


def test_an_observation_survives_its_file():
    seen = kimi()
    assert Observation.of(seen.to_json()) == seen
