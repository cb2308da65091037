"""The runs with guards try what they should, and their judge reports `seen` for a good pair of runs and FAILED for every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from boathook.core.patch import read_patch
from boathook.hosts.host import load_host
from e2e.attempts import (
    ALLOWED,
    BEFORE,
    CALLS,
    COLUMNS,
    FILES,
    PATCHES,
    REMOVED_HOOK,
    SERVERS,
    SPARE,
    TASK,
    TOGETHER,
    VARIABLES,
    attempts,
)
from e2e.guard_judge import judge_guards
from e2e.guards import WITHOUT, contents, differing, prepare, sessions, variant_of
from e2e.hosts import AGENTS, GPT, MODEL, Agent, Place, agent
from e2e.install import Cache
from e2e.judge import FAILED, IMPOSSIBLE, SEEN
from e2e.server import Request, Step
from e2e.stage import Observation

EVERY = [(who, model) for who in AGENTS for model in who.models]
IDS = [f"{who.name}-{model}" for who, model in EVERY]


@pytest.mark.parametrize(("who", "model"), EVERY, ids=IDS)
def test_each_attempt_has_a_turn_and_an_effect_of_its_own(who, model):
    names = [step.name for one in sessions(who)[f"{variant_of(model)}-{WITHOUT}"].attempts for step in one.steps]
    found = attempts(who, model)
    made = [name for one in found for name in (*one.refused, *one.made)]
    assert len(set(names)) == len(names)
    assert len(set(made)) == len(made)
    assert all(one.refused or one.made or one.first_reason or one.missed_hook for one in found)
    columns = {one.column for one in found}
    wanted = set(COLUMNS) if model == who.models[0] else {"files", "settings"}
    host = load_host(who.name)
    not_tried = {VARIABLES: not host.env_file_variable, ALLOWED: bool(host.block_side_effect)}
    assert columns == wanted - {name for name, is_left_out in not_tried.items() if is_left_out}


@pytest.mark.parametrize(("who", "model"), EVERY, ids=IDS)
def test_the_calls_are_of_tools_that_guards_know(who, model):
    known = load_host(who.name).tools
    for one in attempts(who, model):
        if one.column == FILES and one.step.tool:
            assert known[one.step.tool][0] in ("WriteFile", "EditFile", "PatchFile")


def test_a_patch_is_about_the_file_that_is_guarded():
    assert {what for what, _ in PATCHES.values()} == {"adds", "updates", "deletes", "moves"}
    for who, model in EVERY:
        for one in attempts(who, model):
            if one.column == FILES and "apply_patch" in one.label:
                text = one.step.command or _texts(one.step.arguments)
                assert set(one.refused) <= {file.path for file in read_patch(text)}


def _texts(value: object) -> str:
    return "".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def test_an_agent_that_ends_at_a_refusal_tries_one_thing_in_each_run():
    guarded = [one for one in sessions(agent("cline")).values() if one.is_guarded]
    assert {len(one.attempts) for one in guarded} == {1}
    every = [*attempts(agent("cline"), MODEL), *attempts(agent("cline"), GPT)]
    assert [one.attempts[0] for one in guarded] == every
    assert len([one for one in sessions(agent("copilot")).values() if one.is_guarded]) == 2


def test_the_project_is_prepared_and_what_differs_afterwards_is_found(tmp_path):
    place = Place(Cache(tmp_path, {}), tmp_path / "home", tmp_path / "project", 1)
    (place.project / ".git").mkdir(parents=True)
    place.outside.mkdir()
    done = []
    session = sessions(agent("claude"))["guards-1"]
    prepare(place, session, lambda *words: done.append(words), "claude")
    assert done == [("trust", "--all", "--yes"), ("install", "claude", "--yes")]
    before = contents(place)
    assert {*BEFORE, ".claude/settings.json", ".agents/hooks/guard-files/HOOK.md"} <= set(before)
    (place.project / "forbidden-edit.txt").write_text("new")
    (place.project / "forbidden-delete.txt").unlink()
    (place.project / "below/made").touch()
    (place.project / ".git/index").touch()
    (place.outside / "made").touch()
    after = contents(place)
    assert differing(before, after) == ["below/made", "forbidden-delete.txt", "forbidden-edit.txt", "outside/made"]


def test_without_guards_nothing_is_installed(tmp_path):
    place = Place(Cache(tmp_path, {}), tmp_path / "home", tmp_path / "project", 1)
    place.project.mkdir()
    prepare(place, sessions(agent("claude"))["guards-control"], pytest.fail, "claude")
    assert sorted(path.name for path in place.project.iterdir()) == sorted([*BEFORE, "below", ".agents"])
    assert [path.name for path in (place.project / ".agents/hooks").iterdir()] == [SPARE]


def observe(who: Agent, variant: str, steps: list[tuple[Step, str]], changed: set[str]) -> Observation:
    """Give a run whose steps were followed by requests with these texts."""
    bodies = ["", *(body for _, body in steps)]
    requests = [
        Request(float(number), "/v1/messages", step.name, is_own=True, body=body)
        for number, ((step, _), body) in enumerate(zip([*steps, (Step("stop"), "")], bodies, strict=True))
    ]
    files = sorted(changed - {TASK})
    asked = [Request(9.0, "/v1/messages", "", is_own=False, body=TASK)] if TASK in changed else []
    missed = {"event": "pre-tool-call", "skipped": [{"hook": REMOVED_HOOK, "why": "it is gone"}]}
    ledger = [] if variant.endswith(WITHOUT) else [missed]
    return Observation(who.name, variant, "1", 0, 1.0, [*requests, *asked], changed=files, ledger=ledger)


def play(who: Agent, model: str) -> dict[str, Observation]:
    """Give the runs of an agent in which all is as it should be."""
    found = {}
    for name, one in sessions(who).items():
        if one.model == model:
            cannot = CALLS[who.name, model].cannot if one.is_guarded else {}
            guarded = [one.is_guarded and attempt.column not in cannot for attempt in one.attempts]
            pairs = list(zip(one.attempts, guarded, strict=True))
            steps = [
                (step, reason if held else "")
                for attempt, held in pairs
                for step, reason in ((attempt.first, attempt.first_reason), (attempt.step, attempt.reason))
                if step is not None
            ]
            changed = {kept for attempt in one.attempts for kept in attempt.kept}
            changed |= {made for attempt, held in pairs for made in (attempt.made if held else attempt.refused)}
            found[name] = observe(who, name, steps, changed)
    return found


@pytest.mark.parametrize(("who", "model"), EVERY, ids=IDS)
def test_good_runs_are_seen(who, model):
    states = {column: one.state for column, one in judge_guards(who, model, play(who, model)).items()}
    expected = dict.fromkeys(COLUMNS if model == who.models[0] else ("files", "settings"), SEEN)
    if model == who.models[0] and who.name != "claude":
        expected[VARIABLES] = IMPOSSIBLE
    if model == who.models[0]:
        expected |= {"cline": {TOGETHER: IMPOSSIBLE, ALLOWED: IMPOSSIBLE}, "kimi-cli": {SERVERS: IMPOSSIBLE}}.get(
            who.name, {}
        )
    assert states == expected


def test_what_was_tried_is_named():
    found = judge_guards(agent("claude"), MODEL, play(agent("claude"), MODEL))
    assert (found["files"].note, found["folder"].note) == ("Write, Edit, NotebookEdit", "`cd`")


def judge_claude(guards: dict[str, object] | None = None, control: dict[str, object] | None = None) -> dict[str, str]:
    """Give what is wrong, by column, if the runs of one agent differ so from good ones."""
    who = agent("claude")
    runs = play(who, MODEL)
    runs["guards-1"] = replace(runs["guards-1"], **(guards or {}))
    runs["guards-control"] = replace(runs["guards-control"], **(control or {}))
    return {column: one.note for column, one in judge_guards(who, MODEL, runs).items() if one.state == FAILED}


GOOD = play(agent("claude"), MODEL)
HELD, FREE = GOOD["guards-1"], GOOD["guards-control"]


@pytest.mark.parametrize("attempt", attempts(agent("claude"), MODEL), ids=lambda one: one.step.name)
def test_an_attempt_that_went_wrong_fails_its_column(attempt):
    if attempt.made:
        lost = judge_claude({"changed": [name for name in HELD.changed if name not in attempt.made]})
        early = judge_claude(control={"changed": [*FREE.changed, *attempt.made]})
        assert [set(lost), set(early)] == [{attempt.column}] * 2
        return
    if not attempt.refused:
        lost = judge_claude({"changed": [name for name in HELD.changed if name not in attempt.kept]})
        assert set(lost) == {attempt.column}
        return
    (refused,) = attempt.refused
    asked = Request(9.0, "/v1/messages", "", is_own=False, body=TASK)
    happened = {"requests": [*HELD.requests, asked]} if refused == TASK else {"changed": [*HELD.changed, refused]}
    # the same reason may be that of another attempt
    assert judge_claude(happened) == {attempt.column: f"{attempt.label or attempt.step.name}: {refused} happened"}
    silent = [replace(one, body=one.body.replace(attempt.reason, "")) for one in HELD.requests]
    assert "the reason is not in the next request" in judge_claude({"requests": silent})[attempt.column]
    free = {
        "changed": [name for name in FREE.changed if name != refused],
        "requests": [one for one in FREE.requests if one.is_own or refused != TASK],
    }
    assert f"without hooks {refused} did not happen" in judge_claude(control=free)[attempt.column]
    told = [replace(FREE.requests[0], body=attempt.reason), *FREE.requests[1:]]
    assert "the reason was there without hooks" in judge_claude(control={"requests": told})[attempt.column]


def test_a_call_that_was_not_refused_at_first_was_not_allowed_by_a_person():
    silent = [replace(one, body=one.body.replace("marker-commands-e04b once", "")) for one in HELD.requests]
    assert "after the first call" in judge_claude({"requests": silent})[ALLOWED]


def test_a_removed_guard_that_is_not_on_record_fails_its_column():
    for ledger in ([], [{"event": "pre-tool-call", "skipped": []}], [{"event": "pre-session", "skipped": HELD.ledger}]):
        assert set(judge_claude({"ledger": ledger})) == {"removed"}


def test_a_neighbour_that_did_not_run_fails_too():
    for column, name in (("together", "last-one"), ("servers", "kept-note")):
        assert set(judge_claude({"changed": [one for one in HELD.changed if one != name]})) == {column}


def test_what_was_never_tried_was_not_refused():
    short = [one for one in HELD.requests if one.step != "edit"]
    assert "Edit: it was never tried" in judge_claude({"requests": short})["files"]


def test_a_broken_run_fails_everything():
    for changes in ({"error": "it did not end"}, {"requests": []}, {"code": 1}):
        assert set(judge_claude(changes)) == set(judge_claude(control=changes)) == set(COLUMNS)


def test_every_tool_for_files_that_is_offered_must_be_tried():
    offer = '{"tools": [{"name": "MultiEdit", "input_schema": {"properties": {"file_path": {"type": "string"}}}}]}'
    requests = [replace(FREE.requests[0], body=offer), *FREE.requests[1:]]
    found = judge_claude(control={"requests": requests})
    assert found == {"files": "the tool MultiEdit is offered, but was not tried (e2e/attempts.py)"}


def test_what_no_guard_can_refuse_must_be_so():
    who = agent("kimi-cli")
    runs = play(who, MODEL)
    seen = runs["guards-1"]
    runs["guards-1"] = replace(seen, changed=[name for name in seen.changed if name != "deleted-note"])
    found = judge_guards(who, MODEL, runs)[SERVERS]
    assert found.state == FAILED
    assert "though no guard can refuse it" in found.note


def test_a_task_that_ended_at_the_refusal_has_no_next_request():
    who = agent("cline")
    ended = {
        name: replace(seen, requests=seen.requests[:1], changed=[], code=1) if not name.endswith(WITHOUT) else seen
        for name, seen in play(who, MODEL).items()
    }
    states = {one.state for one in judge_guards(who, MODEL, ended).values()}
    assert states == {SEEN, IMPOSSIBLE}
