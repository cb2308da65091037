"""No input bytes make the engine raise an exception or take long.

The targets, their seeds and families are those of `make fuzz`, which looks longer and guided by coverage.
"""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boathook.core.hook import ARMED
from fuzz import clock, seeds
from fuzz.shapes import LIMIT, Family, mutate
from fuzz.targets import TARGETS, Finding, Target

NAMES = [target.name for target in TARGETS]
EXAMPLES = max(settings().max_examples * 3 // 5, 1)
MOST_CPU = 10.0  # seconds for one input: a guard, not a measure
CURVED = 9.0  # times that four times the size may cost: linear is 4, quadratic 16
ATTEMPTS = 5
CHEAP = 0.3  # of the allowance; below it a growth means nothing


@contextmanager
def guarded() -> Iterator[None]:
    """End an input that takes for ever, in processor time, so that a busy machine ends nothing."""

    def end(*_: object) -> None:
        raise Finding(f"no end after {MOST_CPU} s")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# Inputs


def mutations(kind: str) -> st.SearchStrategy[bytes]:
    """Return seeds that were spliced, repeated, nested, cut and mixed with words."""
    known = seeds.of(kind)

    def make(data: bytes, other: bytes, seed: int) -> bytes:
        return mutate(data, other, seeds.WORDS[kind], random.Random(seed))

    return st.builds(make, st.sampled_from(known), st.sampled_from(known), st.integers(0, 1 << 32))


def sentences(kind: str) -> st.SearchStrategy[bytes]:
    """Return words of a grammar in any order, which is wrong in ways that whole seeds are not."""
    words = st.sampled_from([word for word in seeds.WORDS[kind] if len(word) < 100])
    return st.lists(words | st.binary(max_size=4), max_size=40).map(b"".join)


def documents(kind: str) -> st.SearchStrategy[bytes]:
    """Return well-formed JSON whose keys and texts are known ones, each of any type."""
    known = [
        word.decode()[1:-1] for word in seeds.WORDS[kind] if word.startswith(b'"') and word.isascii() and len(word) > 2
    ]
    texts = st.sampled_from(known or [""]) | st.text(max_size=6)
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
    values = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=5), max_leaves=20
    )
    return st.dictionaries(texts, values, max_size=6).map(lambda found: json.dumps(found).encode())


def lines(kind: str) -> st.SearchStrategy[bytes]:
    """Return lines of `key: value` or `key = value` at any indent, within what the reader looks for."""
    keys = [word for word in seeds.WORDS[kind] if word.endswith((b": ", b" = ", b"="))] or [b"A="]
    values = st.sampled_from(seeds.WORDS[kind]) | st.binary(max_size=6) | st.integers().map(lambda n: b"%d" % n)
    one = st.builds(
        lambda indent, key, value: b" " * indent + key + value, st.integers(0, 6), st.sampled_from(keys), values
    )
    fence = b"---\n" if kind == "manifest" else b""
    return st.lists(one, max_size=20).map(lambda found: fence + b"\n".join(found) + b"\n" + fence)


def inputs(kind: str) -> st.SearchStrategy[bytes]:
    structured = lines(kind) if kind in ("manifest", "config", "exports", "shell") else documents(kind)
    return mutations(kind) | structured | sentences(kind) | st.binary(max_size=200)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_no_seed_and_no_known_bad_input_raises_anything(target: Target) -> None:
    for data in target.seeds:
        with guarded():
            target.run(data)


@pytest.mark.hypothesis
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_no_bytes_raise_anything_but_what_is_documented(target: Target) -> None:
    @given(inputs(target.kind))
    @example(b"")
    @example(b"\x00\xff")
    @settings(max_examples=EXAMPLES)
    def try_them(data: bytes) -> None:
        with guarded():
            target.run(data)

    try_them()


def test_the_targets_are_reached_and_not_refused_at_their_start() -> None:
    """A target that refuses everything, because of its scratch files for example, would find nothing and look well."""
    read = {target.name: target.read for target in TARGETS}
    manifest = b"---\nname: guard\ndescription: d\ntrigger: pre-tool-call\n---\n"
    hooks = b'{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "no-such-program"}]}]}}'
    assert read["manifest"](manifest).state == ARMED
    assert [hook.state for hook in read["settings"](hooks)] == [ARMED]
    assert "no-such-program" in str(read["settings-check"](hooks)[0])
    assert read["config"](b"[hooks]\nmax_stop_blocks = 7\n")[0].settings == {"max_stop_blocks": 7}
    assert read["exports"](b"export A=1\n") == {b"A": b"1"}
    assert [word.text for word in read["shell"](b"a 'b c'")[0][0].words] == ["a", "b c"]
    assert {verdict.decision.word for verdict in read["native-answer"](b'{"decision": "deny"}')} >= {"block", "none"}
    assert {verdict.decision.word for verdict in read["claude-answer"](b'{"continue": false}')} >= {"stop"}
    assert read["judgement"](b'{"ok": false, "reason": "no"}')[0].reasons == ("no",)
    assert read["reason"](b"because")[1].reasons[0] == "because"
    assert read["native-event"](b'{"tool_name": "Shell"}').tool_name == "Shell"
    assert read["claude-event"](b'{"tool_name": "Bash"}').tool_name == "Shell"
    assert {event.tool_name for event in read["hosts-event"](b'{"tool_name": "Bash"}')} == {"Shell"}
    assert read["native-run"](b'{"event_type": "Stop"}') == (0, b"")
    assert read["claude-run"](b"{")[0] == 2  # no event is named beside it, so it is refused


# Time


def cost(target: Target, family: Family, size: int) -> float:
    """Return what an input of a family costs in loops, for one pass (see fuzz/clock.py)."""
    data = family.of(size)
    return clock.cost_of(lambda: target.run(data), target.passes, allowed=clock.LOOPS * target.allowance).loops


def is_late(target: Target, family: Family) -> str:
    """Return how the largest input of a reader is too slow, by itself or by how the time grows, or nothing."""
    allowed = clock.LOOPS * target.allowance
    whole, quarter, least = (cost(target, family, target.limit // part) for part in (1, 4, 18))
    if max(whole, quarter, least) > allowed:  # a smaller one, too: a larger may be refused unseen
        return f"{family.name}: {whole:.1f}, {quarter:.1f}, {least:.1f} loops, {allowed:.0f} are allowed"
    if whole < allowed * CHEAP or whole <= quarter * CURVED:
        return ""
    whole, quarter = (
        min(cost(target, family, target.limit // part) for _ in range(3)) for part in (1, 4)
    )  # once is noise
    return f"{family.name}: {whole / quarter:.1f} times for four times the size" if whole > quarter * CURVED else ""


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_no_input_of_64_kib_takes_more_than_its_share_and_the_time_grows_with_the_size(target: Target) -> None:
    # One that is late by chance, on a busy machine, is not late every time.
    assert not [family.name for family in target.families if all(is_late(target, family) for _ in range(ATTEMPTS))]


def test_a_family_has_the_size_that_was_asked_for() -> None:
    for target in TARGETS:
        for family in target.families:
            assert LIMIT * 0.5 < len(family.of(LIMIT)) <= LIMIT, (target.name, family.name)


def test_the_clock_sees_what_is_quadratic() -> None:
    """A reader that looks at everything again for every character is found out."""

    def read(data: bytes) -> list[int]:
        return [data.count(b"x", 0, at) for at in range(0, len(data), 4)]

    slow = Target("slow", read, len, "reason")
    assert is_late(slow, Family("x", b"", b"x"))
