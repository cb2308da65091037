"""Stand-ins for the parts that an engine takes: runners that answer without starting anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from boathook.core.catalog import Catalog
from boathook.core.hook import Hook
from boathook.core.verdict import Call, Exit, Policy, StartedHook
from boathook.engine import Engine, EngineParts

Answer = Exit | Callable[[Call], Exit]


def make_answer(**answer: Any) -> Exit:
    return Exit(0, json.dumps(answer).encode())


class Runner:
    """Answers by the hook's name, and remembers what it was asked."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        self.calls: list[Call] = []

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        self.calls += calls
        return tuple(map(self._answer, calls))

    def _answer(self, call: Call) -> Exit:
        answer = self.answers.get(call.hook.name, Exit(0))
        return answer(call) if callable(answer) else answer


class Background:
    """Starts nothing, and remembers in which order it was asked to do what."""

    def __init__(self, left: int = 0) -> None:
        self.did: list[Any] = []
        self.left = left

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook, ...]:
        self.did.append(calls)
        return tuple(StartedHook(call.hook.name, 4711) for call in calls)

    def drain(self, seconds: float) -> int:
        self.did.append(("drain", seconds))
        return self.left

    def close(self) -> None:
        self.did.append("close")


def an_engine(hooks: list[Hook], answers: Mapping[str, Answer], **parts: Any) -> Engine:
    catalog = Catalog(tuple(sorted(hooks, key=lambda hook: hook.order)))
    known = {"runner": Runner(answers), "background": Background(), "policy": Policy()}
    return Engine(catalog, EngineParts(**{**known, **parts}))
