"""A small model of the engine, written from the specification; it shares no code with the engine.

It knows which hooks are in force (S6, S8), whom they concern (S11, S13), their order (S14), what an answer means (S18, S19, S24),
how answers add up (S21), what a rewrite brings (S15) and what starts in the background (S16). Hooks always answer the same, so
there is nothing to execute. Answers have the names of S19 for every form of hook; the test writes them in its protocol.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

RANK = ("none", "allow", "ask", "block", "stop")
WORDS = {"allow": "allow", "approve": "allow", "ask": "ask", "deny": "block", "block": "block"}
REWRITES = {"pre-tool-call": "modified_input", "post-tool-call": "modified_output"}
TEXTS = ("decision", "reason", "log", "additional_context", "system_message", "stop_reason")
SCOPES = ("user", "project", "local")
SETTINGS = "settings.json"


@dataclass(frozen=True)
class Answer:
    """How a hook ends: its exit (None: too slow), its stdout (an object, or text), its stderr."""

    exit: int | None = 0
    out: dict[str, Any] | str = ""
    err: str = ""


@dataclass(frozen=True)
class Hook:
    """One hook of the model."""

    name: str
    scope: str = "user"
    folder: str = ""
    priority: int = 100
    on_failure: str = "allow"
    background: bool = False
    protected: bool = False
    valid: bool = True
    tool: str = ""
    pattern: str = ""
    answer: Answer = Answer()
    form: str = "HOOK.md"

    @property
    def together(self) -> bool:
        """Whether it runs together with hooks of its kind (S14)."""
        return self.form == SETTINGS

    @property
    def place(self) -> tuple[Any, ...]:
        """Return its place in the order of running: those of settings.json behind the others of priority 100 (S14)."""
        return (-100, True) if self.together else (-self.priority, False, SCOPES.index(self.scope), self.name)


@dataclass(frozen=True)
class Reading:
    """What one answer comes to. A reason that is None must only name the hook and its fault."""

    status: str
    decision: str = "none"
    reason: str | None = ""
    effects: dict[str, Any] = field(default_factory=dict)


def in_force(hooks: list[Hook]) -> list[Hook]:
    """Return the hooks that are not invalid and not shadowed, in the order of running (S8, S14)."""
    firsts: dict[tuple[str, str], Hook] = {}
    for hook in sorted((h for h in hooks if h.valid and not h.together), key=lambda h: h.folder):
        firsts.setdefault((hook.scope, hook.name), hook)
    for hook in list(firsts.values()):
        mine = firsts.get(("user", hook.name))
        if hook.scope == "project" and mine:
            del firsts["project" if mine.protected else "user", hook.name]
    merged = sorted((h for h in hooks if h.valid and h.together), key=lambda h: (SCOPES.index(h.scope), h.name))
    return sorted([*firsts.values(), *merged], key=lambda h: h.place)


def matches(hook: Hook, tool: str, tool_input: dict[str, Any]) -> bool:
    """Whether a hook matches (S11, S13); inputs of the model are flat objects."""
    if hook.together and re.fullmatch("[A-Za-z0-9_,| -]+", hook.tool):
        return tool in [name.strip() for name in re.split("[,|]", hook.tool)]
    if hook.tool not in ("", "*") and not re.search(hook.tool, tool):
        return False
    texts = [v for v in tool_input.values() if isinstance(v, str)] + [json.dumps(tool_input, ensure_ascii=False)]
    return hook.pattern in ("", "*") or any(re.search(hook.pattern, text) for text in texts)


def concerns(form: str, patterns: dict[str, str], data: dict[str, Any]) -> bool:
    """Whether a matcher accepts the fields of an event without a tool (S11, S13); a field that was not sent is accepted."""
    for name, pattern in patterns.items():
        value = data.get(name)
        if pattern.strip() in ("", "*") or not isinstance(value, str):
            continue
        if form == SETTINGS and re.fullmatch("[A-Za-z0-9_,| -]+", pattern):
            if value not in [one.strip() for one in re.split("[,|]", pattern)]:
                return False
        elif not re.search(pattern, value):
            return False
    return True


def once(hooks: list[Hook]) -> list[Hook]:
    """Of those of settings.json that run the same, leave the one that guards best: sync, failing closed, first (S14).

    The user's stays in any case; beside an async one of the user's, a sync one of a project.
    """
    best: dict[str, list[Hook]] = {}
    for hook in sorted(hooks, key=lambda hook: (hook.scope != "user", hook.background, hook.on_failure != "block")):
        found = best.setdefault(hook.folder, []) if hook.together else []
        if hook.together and (not found or (found[-1].background and not hook.background)):
            found.append(hook)
    return [hook for hook in hooks if not hook.together or any(one is hook for one in best[hook.folder])]


def read(hook: Hook, kind: str) -> Reading:
    """Read a hook's answer by the tables of S18 and S19."""
    if hook.together:
        return read_settings(hook, kind)
    answer = hook.answer
    out = answer.out if isinstance(answer.out, dict) else None
    default = f"blocked by hook '{hook.name}'"
    if answer.exit is None:
        return failed(hook, "timeout")
    if answer.exit == 2:
        reported = out.get("reason") if out else None
        return Reading("ok", "block", answer.err or (reported if isinstance(reported, str) else "") or default)
    if answer.exit != 0:
        return failed(hook, "failed")
    if out is None:
        text = str(answer.out).strip()
        if text[:1] in ("{", "[", '"') and text:
            return failed(hook, "unreadable")
        return Reading("ok", effects={"additional_context": text} if text else {})
    if not well_formed(out):
        return failed(hook, "unreadable")
    word = out.get("decision")
    decision, reason = WORDS[word.lower()] if word is not None else "none", out.get("reason") or ""
    reason = reason or default if decision == "block" else reason
    if out.get("continue") is False:
        decision, reason = "stop", out.get("stop_reason") or out.get("reason") or ""
    return Reading("ok", decision, reason if decision != "none" else "", effects_of(out, kind))


def read_settings(hook: Hook, kind: str) -> Reading:
    """Read the answer of a hook of settings.json (S24): JSON counts at every exit, unless a hook that failed only allows."""
    answer = hook.answer
    out = answer.out if isinstance(answer.out, dict) and well_formed(answer.out, SETTINGS) else None
    if answer.exit is None:
        return failed(hook, "timeout")
    if out is None and answer.exit == 0:
        plain = isinstance(answer.out, str) and not answer.out.strip().startswith("{")
        return Reading("ok") if plain else failed(hook, "unreadable")
    if out is None and answer.exit != 2:
        return failed(hook, "failed")
    out = out or {}
    word, reason = out.get("decision"), out.get("reason") or ""
    decision = WORDS[word] if word is not None and (kind == "pre-tool-call" or word == "block") else "none"
    if decision == "allow" and answer.exit != 0:
        decision = "none"
    if answer.exit == 2:
        decision, reason = "block", answer.err or reason
    if decision == "block":
        reason = reason or f"blocked by hook '{hook.name}'"
    if out.get("continue") is False:
        decision, reason = "stop", out.get("stop_reason") or out.get("reason") or ""
    effects = effects_of(out, kind)
    silent = decision == "none" and not effects
    if answer.exit not in (0, 2) and decision not in ("block", "stop") and (silent or hook.on_failure == "block"):
        return failed(hook, "failed")
    return Reading("ok", decision, reason if decision != "none" else "", effects)


def failed(hook: Hook, status: str) -> Reading:
    """Let `on_failure` decide (S18)."""
    return Reading(status, "block", None) if hook.on_failure == "block" else Reading(status)


def well_formed(out: dict[str, Any], form: str = "HOOK.md") -> bool:
    """Check the types of an answer (S19); in settings.json there is no log, and case counts."""
    types = {**dict.fromkeys(TEXTS, str), "modified_input": dict, "continue": bool}
    if any(out.get(key) is not None and not isinstance(out[key], wanted) for key, wanted in types.items()):
        return False
    word = out.get("decision")
    return word is None or (word if form == SETTINGS else word.lower()) in WORDS


def effects_of(out: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the effects that this kind of event allows."""
    keys = ("additional_context", "system_message", REWRITES[kind])
    return {key: out[key] for key in keys if out.get(key) not in (None, "")}


class Course:
    """One event on its way through the hooks."""

    def __init__(self, hooks: list[Hook], kind: str, tool: str, tool_input: dict[str, Any]) -> None:
        """Start without answers."""
        self.kind, self.tool, self.input = kind, tool, tool_input
        self.order = in_force(hooks)
        sync = [hook for hook in self.order if not hook.background]
        self.stages = [list(stage) for _, stage in groupby(sync, key=lambda hook: hook.place)]
        self.answers: list[tuple[Hook, Reading]] = []
        self.void: set[int] = set()
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self.changes: list[list[Hook]] = []
        self.skipped: list[str] = []
        self.unsettled = False

    def decision(self) -> str:
        """Return the weightiest decision so far (S21)."""
        answer = [one.decision for _, one in self.counting()] + (["block"] if self.unsettled else [])
        return max(answer, key=RANK.index, default="none")

    def counting(self) -> list[tuple[Hook, Reading]]:
        """Return what counts: all but an allow for an input that another hook has since replaced (S15)."""
        return [one for at, one in enumerate(self.answers) if one[1].decision != "allow" or at not in self.void]

    def ended(self) -> bool:
        """Whether a block or a stop ended the event (S14)."""
        return self.decision() in ("block", "stop")

    def ask(self, stage: list[Hook], hooks: list[Hook]) -> None:
        """Run hooks of a stage together; the last rewrite replaces the input, and its author has seen it."""
        before, author = self.input, ""
        for hook in hooks:
            self.seen.setdefault(hook.name, []).append(before)
            answer = read(hook, self.kind)
            self.answers.append((hook, answer))
            rewritten = answer.effects.get("modified_input")
            if rewritten is not None and rewritten != before:
                self.input, author = rewritten, hook.name
        if author:
            self.void |= {at for at, (hook, _) in enumerate(self.answers) if hook.name != author}
            self.changes.append(stage)
            self.seen[author].append(self.input)

    def looks(self, stages: list[list[Hook]]) -> None:
        """Ask those that match the current input and have not seen it so; after the end, name the rest."""
        for stage in stages:
            concerned = once([hook for hook in stage if matches(hook, self.tool, self.input)])
            fresh = [hook for hook in concerned if self.input not in self.seen.get(hook.name, [])]
            if fresh and not self.ended():
                self.ask(stage, fresh)
            elif self.ended():
                self.skipped += [hook.name for hook in fresh if hook.name not in self.seen]

    def go(self) -> None:
        """Take first looks, second looks, and last looks of those before the last change and beside it (S15)."""
        self.looks(self.stages)
        first = len(self.changes)
        if first and not self.ended():
            self.looks(self.stages)
        second = len(self.changes)
        if second > first and not self.ended():
            self.looks(self.stages[: self.stages.index(self.changes[-1]) + 1])
            self.unsettled = not self.ended() and len(self.changes) > second


def verdict(hooks: list[Hook], kind: str, tool: str, tool_input: dict[str, Any]) -> dict[str, Any]:
    """Return what the engine must come to."""
    course = Course(hooks, kind, tool, tool_input)
    course.go()
    quiet = course.ended() and kind.startswith("pre-")
    concerned = [h for h in course.order if matches(h, tool, course.input)]
    late = [h.name for h in once(sorted(concerned, key=lambda h: h.background)) if h.background and not quiet]
    outputs = _effects(course, "modified_output")
    return {
        "decision": course.decision(),
        "reasons": [
            (h.name, s.reason) for h, s in course.counting() if s.decision == course.decision() and s.reason != ""
        ],
        "modified_input": course.input if course.input != tool_input else None,
        "modified_output": outputs[-1] if outputs else None,
        "additional_context": _effects(course, "additional_context"),
        "system_message": _effects(course, "system_message"),
        "runs": [(h.name, h.scope, s.status, h.answer.exit, s.decision) for h, s in course.answers],
        "background": late,
        "skipped": sorted([h.name for h in hooks if not h.valid] + course.skipped),
        "unsettled": course.unsettled,
    }


def _effects(course: Course, key: str) -> list[Any]:
    return [answer.effects[key] for _, answer in course.answers if key in answer.effects]
