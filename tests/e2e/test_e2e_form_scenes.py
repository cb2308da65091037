"""What counts as evidence in the runs with guards in the files of other agents."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.form_scenes import OWN_CALL, PLAIN, TRIED, find_complaints, make_reason, make_steps, make_word
from e2e.server import Request
from e2e.stage import Observation

NAMES = TRIED["claude"]


def observe(**changes: Any) -> Observation:
    """A run in which all is well, but for the changes."""
    steps = [step.name for step in make_steps(NAMES)]
    # The reason of a refusal is in the request after it.
    bodies = ["", *map(make_reason, NAMES), ""]
    requests = [
        Request(0.0, "/v1/messages", step, is_own=True, body=body) for step, body in zip(steps, bodies, strict=True)
    ]
    files = dict.fromkeys([PLAIN, *(f"{OWN_CALL}{number}" for number in range(3))], 0.0)
    ledger = [{"event": "pre-tool-call", "decision": decision} for decision in ("block", "block", "none")]
    seen = {"requests": requests, "files": files, "ledger": ledger}
    return Observation("claude", "forms", **{**seen, **changes})


def test_guards_that_block_beside_a_hook_that_runs_once_are_seen():
    assert list(find_complaints("claude", observe())) == []


FILES = observe().files
WRONG = [
    ({"files": {**FILES, make_word("cursor"): 0.0}}, "the guard of cursor did not refuse its call"),
    ({"files": {**FILES, f"{OWN_CALL}4": 0.0}}, "the hook in the agent's own file ran 4 times at 3 calls"),
    ({"files": {PLAIN: 0.0}}, "the hook in the agent's own file ran 0 times at 3 calls"),
    ({"files": {name: 0.0 for name in FILES if name != PLAIN}}, "the call that no guard refuses did not happen"),
    ({"ledger": []}, "the ledger has [] for the calls"),
    ({"requests": observe().requests[:2]}, "the reason of the guard of codex is not in the next request"),
]


@pytest.mark.parametrize(("changes", "complaint"), WRONG, ids=[complaint for _, complaint in WRONG])
def test_a_run_in_which_something_is_wrong_is_complained_of(changes, complaint):
    assert complaint in find_complaints("claude", observe(**changes))
