"""The engine against the reference model: random catalogues, whole verdicts."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import Answer, Hook, in_force, matches, verdict

import boathook
from boathook.assembly import load_catalog
from boathook.core.run import TIMEOUT, Call, Exit, Started
from boathook.dialects import native
from boathook.engine import Engine

KINDS = ("pre-tool-call", "post-tool-call")
INPUTS = st.sampled_from([{"command": word} for word in "abcd"])
NULLABLE_TEXT = st.sampled_from([None, "", "x", "y"])
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "decision": st.sampled_from(
            ["allow", "approve", "deny", "block", "ask", "DENY", "ALLOW", "maybe", "", 5, None]
        ),
        "reason": st.sampled_from([None, "", "because", "no", 7]),
        "additional_context": NULLABLE_TEXT,
        "system_message": NULLABLE_TEXT,
        "log": NULLABLE_TEXT,
        "stop_reason": NULLABLE_TEXT,
        "continue": st.sampled_from([True, False, None, "no", 0]),
        "modified_output": st.sampled_from([None, "short", 0, [1], {}]),
        "other": st.just({"decision": "deny"}),
    },
)
REWRITES = st.builds(lambda value: {"modified_input": value}, INPUTS)
TEXTS = st.sampled_from(["", "  \n", "a note", "42", "{", '{"decision": deny}', "[]", '"deny"', '{"a": 1} {"b": 2}'])
OUTPUTS = st.one_of(OBJECTS, REWRITES, REWRITES, TEXTS)
ANSWERS = st.builds(
    Answer,
    exit=st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 3, 126, None]),
    out=OUTPUTS,
    err=st.sampled_from(["", "", "from stderr"]),
)
HOOKS = st.builds(
    Hook,
    name=st.sampled_from("pqrst"),
    scope=st.sampled_from(["user", "project"]),
    priority=st.sampled_from([0, 50, 100, 100, 1000]),
    on_failure=st.sampled_from(["allow", "block"]),
    background=st.sampled_from([False, False, False, True]),
    protected=st.booleans(),
    valid=st.sampled_from([True, True, True, True, False]),
    tool=st.sampled_from(["", "*", "Shell", "Write", "^Sh"]),
    pattern=st.sampled_from(["", "*", "^a$", "^b$", "^[bc]$", '"command": "[cd]"']),
    answer=ANSWERS,
)


def numbered(hooks: list[Hook]) -> list[Hook]:
    """Give each hook a folder of its own. What on_failure means to an invalid hook the model does not say."""
    return [
        Hook(**{**hook.__dict__, "folder": f"f{at}", "on_failure": hook.on_failure if hook.valid else "allow"})
        for at, hook in enumerate(hooks)
    ]


CATALOGUES = st.lists(HOOKS, min_size=1, max_size=6).map(numbered)


def manifest(hook: Hook) -> str:
    """Write the hook's HOOK.md; an invalid one has a pattern that does not compile."""
    fields = {
        "name": hook.name,
        "description": "A hook of the model.",
        "trigger": "KIND",
        "priority": hook.priority,
        "on_failure": hook.on_failure,
        "async": hook.background,
        "protected": hook.protected,
        "matcher": {"tool": hook.tool, "pattern": hook.pattern if hook.valid else "("},
    }
    return "---\n" + json.dumps(fields) + "\n---\n"


def script(answer: Answer) -> str:
    """Write a script that answers so."""
    out = json.dumps(answer.out) if isinstance(answer.out, dict) else answer.out
    say = f"printf %s {shlex.quote(out)}\nprintf %s {shlex.quote(answer.err)} >&2\n"
    return f"#!/bin/sh\n{say}exit {answer.exit}\n"


def lay_out(root: Path, hooks: list[Hook], kind: str) -> tuple[Path, Path]:
    """Write the hooks; give the user's folder and the project."""
    user, project = root / "agents", root / "project"
    homes = {"user": user / "hooks", "project": project / ".agents" / "hooks"}
    for home in homes.values():
        home.mkdir(parents=True)
    for hook in hooks:
        scripts = homes[hook.scope] / hook.folder / "scripts"
        scripts.mkdir(parents=True)
        (scripts.parent / "HOOK.md").write_text(manifest(hook).replace("KIND", kind), encoding="utf-8")
        (scripts / "run.sh").write_text(script(hook.answer), encoding="utf-8")
        (scripts / "run.sh").chmod(0o755)
    return user, project


class Fake:
    """Runs nothing: every hook ends as the model's hook of the same folder says."""

    def __init__(self, hooks: list[Hook]) -> None:
        self.ends = {hook.folder: self.end(hook.answer) for hook in hooks}

    @staticmethod
    def end(answer: Answer) -> Exit:
        if answer.exit is None:
            return Exit(fault=TIMEOUT, detail="too slow")
        out = json.dumps(answer.out) if isinstance(answer.out, dict) else answer.out
        return Exit(answer.exit, out.encode(), answer.err.encode())

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        return tuple(self.ends[Path(call.hook.folder).name] for call in calls)

    def start(self, calls: tuple[Call, ...]) -> tuple[Started, ...]:
        return tuple(Started(call.hook.name, None) for call in calls)

    def drain(self, seconds: float) -> int:
        return 0

    def close(self) -> None:
        return None


def compare(hooks: list[Hook], got: dict[str, Any], kind: str, tool: str, tool_input: dict[str, Any]) -> None:
    """Compare a verdict with the model's, all of it; once hooks do not settle only that they are blocked."""
    want = verdict(hooks, kind, tool, tool_input)
    assert got["decision"] == want["decision"]
    if want["unsettled"]:
        return
    for key in ("modified_input", "modified_output", "additional_context", "system_message"):
        assert got[key] == want[key], key
    runs = [(r["hook"], r["scope"], r["status"], r["exit_code"], r["decision"]) for r in got["runs"]]
    assert runs == want["runs"]
    assert len(got["reasons"]) == len(want["reasons"])
    for text, (name, reason) in zip(got["reasons"], want["reasons"], strict=True):
        assert text == reason if reason is not None else name in text
    assert sorted(b["hook"] for b in got["background"]) == sorted(want["background"])
    named, needed = Counter(s["hook"] for s in got["skipped"]), Counter(want["skipped"])
    assert needed <= named
    assert named - needed <= Counter(may_be_named(hooks, runs, tool, got["modified_input"] or tool_input))


def may_be_named(hooks: list[Hook], runs: list[Any], tool: str, tool_input: dict[str, Any]) -> list[str]:
    """Give hooks of which the specification does not say whether they are named in skipped.

    These are shadowed ones, async ones, and those that only a rewrite made match and whose turn had passed when the end came.
    """
    forces, ran = in_force(hooks), {(name, scope) for name, scope, *_ in runs}
    late = [h for h in forces if (h.name, h.scope) not in ran and matches(h, tool, tool_input)]
    return [h.name for h in hooks if h.valid and (h.background or h not in forces or h in late)]


def to(word: str, **more: Any) -> Hook:
    """Give a hook that rewrites the command."""
    return Hook(answer=Answer(out={"modified_input": {"command": word}}), **more)


A_TO_B = to("b", name="p", pattern="^a$", priority=0)
B_TO_C = to("c", name="q", pattern="^b$", priority=50)


@given(CATALOGUES, st.sampled_from(KINDS), st.sampled_from(["Shell", "WriteFile"]), INPUTS)
@example(numbered([A_TO_B, B_TO_C, to("d", name="r", pattern="^c$")]), KINDS[0], "Shell", {"command": "a"})
@example(
    numbered([A_TO_B, to("a", name="q", pattern="^b$"), Hook("r", priority=1000)]), KINDS[0], "Shell", {"command": "a"}
)
@settings(max_examples=300, deadline=None)
def test_with_a_fake_runner(hooks: list[Hook], kind: str, tool: str, tool_input: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as root:
        user, project = lay_out(Path(root), hooks, kind)
        fake = Fake(hooks)
        engine = Engine(load_catalog(project, config=user), fake, native.read_answer, fake, event_of=native.event_of)
        event = {"event_type": kind, "work_dir": str(project), "tool_name": tool, "tool_input": tool_input}
        compare(hooks, engine.dispatch(event).to_json(), kind, tool, tool_input)


def quick(hooks: list[Hook]) -> bool:
    """Say whether no hook is too slow: waiting for that would take the test's time."""
    return all(hook.answer.exit is not None for hook in hooks)


@given(CATALOGUES.filter(quick), st.sampled_from(KINDS), INPUTS)
@settings(max_examples=20, deadline=None)
def test_with_real_scripts(hooks: list[Hook], kind: str, tool_input: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        user, project = lay_out(Path(root), hooks, kind)
        event = {"event_type": kind, "work_dir": str(project), "tool_name": "Shell", "tool_input": tool_input}
        with boathook.load(project, config=user, state=Path(root, "state")) as engine:
            compare(hooks, engine.dispatch(event).to_json(), kind, "Shell", tool_input)
