"""The engine against the reference model: random catalogues, whole verdicts."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

import boathook
from boathook.assembly import load_catalog
from boathook.core.verdict import TIMEOUT, Call, Exit, StartedHook
from boathook.engine import Engine, EngineParts
from tests.example_counts import count_examples
from tests.model.reference import SCOPES, SETTINGS, Answer, Hook, concerns, in_force, matches, verdict

KINDS = ("pre-tool-call", "post-tool-call")
EVENTS = {"pre-tool-call": "PreToolUse", "post-tool-call": "PostToolUse"}
OUTSIDE = {"reason": "reason", "system_message": "systemMessage", "stop_reason": "stopReason", "continue": "continue"}
INSIDE = {
    "additional_context": "additionalContext",
    "modified_input": "updatedInput",
    "modified_output": "updatedToolOutput",
}
OLD_WORDS = ("approve", "block")
SETTINGS_NAME = re.compile(r"\w+:(f\d\.sh)#[0-9a-f]{6}")  # EVENT:WORD#DIGEST; the model has the word alone
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
OPINIONS = st.fixed_dictionaries(
    {"decision": st.sampled_from(["allow", "approve", "deny", "block", "ask"])},
    optional={"reason": st.sampled_from(["because", "no"]), "continue": st.booleans()},
)
OUTPUTS = st.one_of(OBJECTS, OPINIONS, REWRITES, REWRITES, TEXTS)
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


SETTINGS_HOOKS = st.builds(
    Hook,
    name=st.just(""),
    form=st.just(SETTINGS),
    folder=st.sampled_from(["", "", "same"]),
    scope=st.sampled_from(SCOPES),
    background=st.sampled_from([False, False, False, True]),
    valid=st.sampled_from([True, True, True, True, False]),
    tool=st.sampled_from(["", "*", "Shell", "Write", "Shell | WriteFile", "^Sh", "Sh"]),
    answer=ANSWERS,
)


def numbered(hooks: list[Hook]) -> list[Hook]:
    """Give each hook a folder of its own, or that of the one before, and those of settings.json the name that comes of it.

    What on_failure means to an invalid hook is not part of the model.
    """
    found: list[Hook] = []
    for at, hook in enumerate(hooks):
        before = next((one for one in reversed(found) if one.together), None)
        if hook.folder == "same" and before is not None:
            found.append(replace(hook, folder=before.folder, name=before.name, answer=before.answer))
        else:
            name = f"f{at}.sh" if hook.together else hook.name
            found.append(replace(hook, folder=f"f{at}", name=name))
    return [replace(hook, on_failure=hook.on_failure if hook.valid else "allow") for hook in found]


CATALOGUES = st.lists(HOOKS | SETTINGS_HOOKS, min_size=1, max_size=6).map(numbered)


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


def stdout(hook: Hook) -> str:
    """Return what the hook prints, in the protocol of its form."""
    out = hook.answer.out
    if not isinstance(out, dict):
        return out
    return json.dumps(in_settings(out) if hook.together else out)


def in_settings(out: dict[str, Any]) -> dict[str, Any]:
    """Write an answer in the protocol of settings.json, which has no log; "approve" and "block" are its words of old."""
    answer = {OUTSIDE[key]: value for key, value in out.items() if key in OUTSIDE}
    inside = {INSIDE[key]: value for key, value in out.items() if key in INSIDE}
    if out.get("decision") in OLD_WORDS:
        answer["decision"] = out["decision"]
    elif "decision" in out:
        inside["permissionDecision"] = out["decision"]
    return {**answer, "hookSpecificOutput": inside, "other": out.get("other")}


def write_script(path: Path, hook: Hook) -> None:
    """Write a script that answers as the hook does."""
    say = f"printf %s {shlex.quote(stdout(hook))}\nprintf %s {shlex.quote(hook.answer.err)} >&2\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{say}exit {hook.answer.exit}\n", encoding="utf-8")
    path.chmod(0o755)


@contextmanager
def laid_out(hooks: list[Hook], kind: str) -> Iterator[tuple[Path, Path]]:
    """Write the hooks; return the user's folder and the project."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name)
        user, project = root / "agents", root / "project"
        homes = {"user": user / "hooks", "project": project / ".agents" / "hooks"}
        for home in homes.values():
            home.mkdir(parents=True)
        for hook in hooks:
            if not hook.together:
                folder = homes[hook.scope] / hook.folder
                write_script(folder / "scripts/run.sh", hook)
                (folder / "HOOK.md").write_text(manifest(hook).replace("KIND", kind), encoding="utf-8")
        write_settings(root, [hook for hook in hooks if hook.together], EVENTS[kind])
        with mock.patch.dict(os.environ, {"CLAUDE_CONFIG_DIR": f"{root}/claude"}):
            yield user, project


def write_settings(root: Path, hooks: list[Hook], event: str) -> None:
    """Write the settings files of all scopes; an invalid hook has a matcher that does not compile."""
    files = dict(
        zip(SCOPES, ("claude/settings", "project/.claude/settings", "project/.claude/settings.local"), strict=True)
    )
    for scope, file in files.items():
        groups = []
        for hook in [hook for hook in hooks if hook.scope == scope]:
            write_script(root / "bin" / hook.name, hook)
            entry = {"type": "command", "command": f"{root}/bin/{hook.name}", "async": hook.background}
            groups.append({"matcher": hook.tool if hook.valid else "(", "hooks": [entry]})
        path = root / f"{file}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"hooks": {event: groups}}), encoding="utf-8")


class Fake:
    """Runs nothing: every hook ends as the model's hook of the same folder does."""

    def __init__(self, hooks: list[Hook]) -> None:
        self.ends = {hook.folder: self.end(hook) for hook in hooks}

    @staticmethod
    def end(hook: Hook) -> Exit:
        if hook.answer.exit is None:
            return Exit(error=TIMEOUT, detail="too slow")
        return Exit(hook.answer.exit, stdout(hook).encode(), hook.answer.err.encode())

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        paths = [call.hook.folder or getattr(call.hook.handler, "text", "") for call in calls]
        return tuple(self.ends[Path(path).stem] for path in paths)

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook, ...]:
        return tuple(StartedHook(call.hook.name, None) for call in calls)

    def drain(self, seconds: float) -> int:
        return 0

    def close(self) -> None:
        return None


def compare(hooks: list[Hook], found: dict[str, Any], kind: str, tool: str, tool_input: dict[str, Any]) -> None:
    """Compare a verdict with the model's, all of it; once hooks do not settle only that they are blocked."""
    got = json.loads(SETTINGS_NAME.sub(r"\1", json.dumps(found)))
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
    """Return hooks of which the specification does not define whether they are named in skipped.

    These are shadowed ones, async ones, those that run what another one runs, and those that only a rewrite made match and whose
    turn had passed when the end came.
    """
    forces, ran = in_force(hooks), {(name, scope) for name, scope, *_ in runs}
    late = [h for h in forces if (h.name, h.scope) not in ran and matches(h, tool, tool_input)]
    folders = Counter(h.folder for h in hooks)
    return [
        h.name for h in hooks if h.valid and (h.background or h not in forces or h in late or folders[h.folder] > 1)
    ]


def to(word: str, **more: Any) -> Hook:
    """Return a hook that rewrites the command."""
    return Hook(answer=Answer(out={"modified_input": {"command": word}}), **more)


A_TO_B = to("b", name="p", pattern="^a$", priority=0)
B_TO_C = to("c", name="q", pattern="^b$", priority=50)
TO_B, TO_C = to("b", name="", form=SETTINGS), to("c", name="", form=SETTINGS)
ECHO = to("a", name="", form=SETTINGS)
SURE = Answer(2, {"decision": "block", "reason": "json"}, "from stderr")
LATE = Hook("", form=SETTINGS, background=True, answer=Answer(2))


@given(CATALOGUES, st.sampled_from(KINDS), st.sampled_from(["Shell", "WriteFile"]), INPUTS)
@example(numbered([A_TO_B, B_TO_C, to("d", name="r", pattern="^c$")]), KINDS[0], "Shell", {"command": "a"})
@example(
    numbered([A_TO_B, to("a", name="q", pattern="^b$"), Hook("r", priority=1000)]), KINDS[0], "Shell", {"command": "a"}
)
@example(numbered([TO_B, ECHO, Hook("r", priority=1000)]), KINDS[0], "Shell", {"command": "a"})
@example(numbered([TO_B, TO_C, Hook("r", priority=1000)]), KINDS[0], "Shell", {"command": "a"})
@example(numbered([replace(TO_B, answer=SURE)]), KINDS[1], "Shell", {"command": "a"})
@example(numbered([TO_B, to("b", name="q", priority=50)]), KINDS[0], "Shell", {"command": "a"})
@example(
    numbered([LATE, replace(LATE, folder="same", scope="local", background=False)]), KINDS[0], "Shell", {"command": "a"}
)
@settings(max_examples=count_examples(400), deadline=None)
def test_with_a_fake_runner(hooks: list[Hook], kind: str, tool: str, tool_input: dict[str, Any]) -> None:
    with laid_out(hooks, kind) as (user, project):
        fake = Fake(hooks)
        catalog = load_catalog(project, config=user, trust_all=True)
        engine = Engine(catalog, EngineParts(fake, fake))
        event = {"event_type": kind, "work_dir": str(project), "tool_name": tool, "tool_input": tool_input}
        compare(hooks, engine.dispatch(event).to_json(), kind, tool, tool_input)


FIELDS = {"SessionStart": ("source", "model"), "SessionEnd": ("exit_reason",), "PreCompact": ("trigger",)}
ASKED = st.sampled_from(["", "*", "startup", "start", "^start", "auto|startup", "x"])
SENT = st.sampled_from(["startup", "start", "auto", "x", "", None, 5, ["startup"]])


@given(
    st.sampled_from(sorted(FIELDS)),
    st.lists(st.tuples(st.sampled_from(["HOOK.md", SETTINGS]), ASKED, ASKED), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from(["source", "model", "exit_reason", "trigger"]), SENT),
)
@settings(max_examples=count_examples(150), deadline=None)
def test_fields_of_events_decide_which_hooks_run(
    event: str, written: list[tuple[str, str, str]], data: dict[str, Any]
) -> None:
    forms = [(form, dict(zip(FIELDS[event], asked, strict=False))) for form, *asked in written]
    # A matcher of settings.json asks about the first field alone.
    forms = [(form, dict([*fields.items()][:1]) if form == SETTINGS else fields) for form, fields in forms]
    hooks = [Hook(f"f{at}", folder=f"f{at}", form=form) for at, (form, _) in enumerate(forms)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name)
        groups = []
        for hook, (form, fields) in zip(hooks, forms, strict=True):
            if form == SETTINGS:
                groups.append({"matcher": next(iter(fields.values())), "hooks": [make_entry(root, hook)]})
                continue
            folder = root / "agents/hooks" / hook.folder
            write_script(folder / "scripts/run.sh", hook)
            top = {"name": hook.name, "description": "A hook of the model.", "trigger": event, "matcher": fields}
            (folder / "HOOK.md").write_text(f"---\n{json.dumps(top)}\n---\n", encoding="utf-8")
        (root / "claude").mkdir()
        (project := root / "project").mkdir()
        (root / "claude/settings.json").write_text(json.dumps({"hooks": {event: groups}}), encoding="utf-8")
        with mock.patch.dict(os.environ, {"CLAUDE_CONFIG_DIR": f"{root}/claude"}):
            catalog = load_catalog(project, config=root / "agents", trust_all=True)
        fake = Fake(hooks)
        answer = Engine(catalog, EngineParts(fake, fake)).dispatch(
            {"event_type": event, "work_dir": str(project), **data}
        )
    ran = sorted(re.sub(r"\w+:(f\d)\.sh#\w+", r"\1", run["hook"]) for run in answer.to_json()["runs"])
    assert ran == [hook.name for hook, (form, fields) in zip(hooks, forms, strict=True) if concerns(form, fields, data)]


def make_entry(root: Path, hook: Hook) -> dict[str, Any]:
    """Return the entry of settings.json for a hook."""
    return {"type": "command", "command": f"{root}/bin/{hook.folder}.sh"}


def quick(hooks: list[Hook]) -> bool:
    """Whether no hook is too slow: waiting for that would take the test's time."""
    return all(hook.answer.exit is not None for hook in hooks)


@given(CATALOGUES.filter(quick), st.sampled_from(KINDS), INPUTS)
@settings(max_examples=20, deadline=None)
def test_with_real_scripts(hooks: list[Hook], kind: str, tool_input: dict[str, Any]) -> None:
    with laid_out(hooks, kind) as (user, project):
        event = {"event_type": kind, "work_dir": str(project), "tool_name": "Shell", "tool_input": tool_input}
        with boathook.load(project, config=user, state=project.parent / "state", trust_all=True) as engine:
            compare(hooks, engine.dispatch(event).to_json(), kind, "Shell", tool_input)
