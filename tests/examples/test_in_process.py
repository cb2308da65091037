"""The middleware in examples/in_process: what each does to calls, in a plain program and in an agent. No clock runs here."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from boathook import AgentBuilder, Blocked, Hooks, Outcome, ScriptedModel, Stopped, ToolCall, ToolContext
from tests.examples.example_project import ROOT

FOLDER = ROOT / "examples" / "in_process"
SHOWN = {
    "audit": """\
{"time": 0, "session": "", "tool": "send", "asked": {"to": "Ann"}, "args": {"to": "ann"}, "status": "ran", "reason": ""}
{"time": 0, "session": "", "tool": "send", "asked": {"to": "everyone"}, "args": {"to": "everyone"}, \
"status": "blocked", "reason": "not to everyone"}
""",
    "budget": """\
a picture of a boat
a picture of a hook
stopped: draw costs 4, and 8 of 10 are spent
""",
    "rate_limit": """\
results for ropes
results for knots
blocked: 2 calls in 60 s are enough; try again in 60 s
""",
    "retry": """\
waiting 0.5 s
waiting 1.0 s
https://example.org/weather: the weather is fine
""",
    "timing": "count: 2 calls, the longest under a second: True\n",
}


def example(name: str) -> ModuleType:
    """Import an example by its path."""
    known = f"examples_in_process_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def hooked(hook: Any, **fields: Any) -> Hooks:
    """Hooks with one middleware around tool calls."""
    hooks = Hooks()
    hooks.add("pre-tool-call", hook, **fields)
    return hooks


def echo(text: str = "") -> str:
    """Return the text."""
    return text


def refusal(call: Callable[[], Any]) -> str:
    """Why a call was blocked, or an empty text."""
    try:
        call()
    except Blocked as blocked:
        return blocked.reason
    return ""


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_every_example_shows_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example(name).main()
    assert capsys.readouterr().out == SHOWN[name]


# rate_limit


def test_a_call_beyond_the_rate_is_blocked_and_one_after_a_while_is_not() -> None:
    clock = Clock()
    tool = hooked(example("rate_limit").RateLimit(2, 60, clock)).guard(echo)
    assert [refusal(tool), refusal(tool)] == ["", ""]
    clock.now = 50.0
    assert refusal(tool) == "2 calls in 60 s are enough; try again in 10 s"
    clock.now = 60.0
    assert [refusal(tool), refusal(tool)] == ["", ""]
    assert refusal(tool) != ""


def test_the_rate_holds_for_calls_that_an_agent_makes_at_the_same_time() -> None:
    hooks = hooked(example("rate_limit").RateLimit(3, 60, Clock()))
    model = ScriptedModel([[ToolCall("echo", {"text": "x"})] * 5, "done"])
    step = AgentBuilder().with_model(model).with_tools(echo).with_hooks(hooks).build().run("go").steps[0]
    assert sorted(result.is_error for result in step.results) == [False, False, False, True, True]


# timing


def test_times_are_kept_by_tool_also_of_calls_that_fail_or_are_blocked() -> None:
    clock = Clock()
    timing = example("timing").Timing(clock)
    hooks = hooked(timing, priority=1000)

    @hooks.before_tool(match="never")
    def no(context: ToolContext) -> Outcome:
        return Outcome.block("no")

    @hooks.guard
    def work(seconds: float) -> None:
        clock.now += seconds
        if seconds > 5:
            raise TimeoutError

    @hooks.guard
    def never() -> None: ...

    work(1.0)
    work(3.0)
    with pytest.raises(TimeoutError):
        work(6.0)
    with pytest.raises(Blocked):
        never()
    found = {name: (times.count, times.total, times.longest) for name, times in timing.tools.items()}
    assert found == {"work": (3, 10.0, 6.0), "never": (1, 0.0, 0.0)}


# budget


def test_a_call_beyond_the_budget_ends_the_run_before_it_happens() -> None:
    budget = example("budget").Budget(limit=10, prices={"echo": 4})
    model = ScriptedModel([ToolCall("echo", {"text": str(n)}) for n in range(5)])
    agent = AgentBuilder().with_model(model).with_tools(echo).with_hooks(hooked(budget)).build()
    result = agent.run("go")
    assert (result.status, result.reason) == ("stopped", "echo costs 4, and 8 of 10 are spent")
    assert [len(result.steps), len(model.requests), budget.spent] == [2, 3, 8]


def test_a_call_that_was_blocked_costs_nothing_and_one_that_failed_does() -> None:
    budget = example("budget").Budget(limit=10, prices={}, default=3)
    hooks = hooked(budget, priority=10)

    @hooks.before_tool
    def no_empty_text(context: ToolContext) -> Outcome | None:
        return None if context.args["text"] else Outcome.block("there is no text")

    assert refusal(lambda: hooks.guard(echo)("")) == "there is no text"
    assert budget.spent == 0
    with pytest.raises(ZeroDivisionError):
        hooks.guard(lambda text: 1 / 0)("x")
    assert budget.spent == 3


# retry


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    """A tool that fails some times, and its calls."""
    calls: list[int] = []

    def flaky() -> str:
        calls.append(len(calls))
        if len(calls) <= times:
            raise error
        return "there"

    return flaky, calls


def test_a_tool_that_fails_for_a_passing_reason_is_called_again_after_longer_and_longer_waits() -> None:
    waits: list[float] = []
    tool, calls = failing(2, ConnectionError("down"))
    retry = example("retry").Retry(times=3, wait=0.5, sleep=waits.append)
    assert hooked(retry).guard(tool)() == "there"
    assert (len(calls), waits) == (3, [0.5, 1.0])


def test_the_last_failure_is_the_result_when_all_tries_fail() -> None:
    tool, calls = failing(9, ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        hooked(example("retry").Retry(times=3, sleep=lambda _: None)).guard(tool)()
    assert len(calls) == 3


def test_a_failure_for_another_reason_and_a_block_are_not_tried_again() -> None:
    retry = example("retry").Retry(sleep=pytest.fail)
    tool, calls = failing(1, ValueError("wrong"))
    with pytest.raises(ValueError, match="wrong"):
        hooked(retry).guard(tool)()
    assert len(calls) == 1
    hooks = hooked(retry, priority=10)
    asked: list[str] = []

    @hooks.before_tool
    def no(context: ToolContext) -> Outcome:
        asked.append(context.name)
        return Outcome.block("no")

    assert refusal(hooks.guard(tool)) == "no"
    assert (asked, len(calls)) == (["flaky"], 1)


def test_an_agent_waits_for_a_tool_that_is_tried_again() -> None:
    tool, calls = failing(1, ConnectionError("down"))
    model = ScriptedModel([ToolCall("flaky"), "done"])
    hooks = hooked(example("retry").Retry(sleep=lambda _: None))
    step = AgentBuilder().with_model(model).with_tools(tool).with_hooks(hooks).build().run("go").steps[0]
    assert [(result.text, result.is_error) for result in step.results] == [("there", False)]
    assert len(calls) == 2


# audit


def test_the_audit_has_a_line_for_every_end_of_a_call() -> None:
    lines: list[str] = []
    hooks = hooked(example("audit").Audit(lines.append, clock=lambda: 7), priority=1000)
    ends: dict[str, Any] = {
        "block": Outcome.block("no"),
        "stop": Outcome.stop("enough"),
        "raise": ZeroDivisionError("oh"),
    }

    @hooks.before_tool
    def decide(context: ToolContext) -> Any:
        end = ends.get(context.args["text"])
        if isinstance(end, Exception):
            raise end
        return end or context.replace(args={"text": context.args["text"].upper()})

    @hooks.guard
    def say(text: str) -> str:
        if text == "FAIL":
            raise OSError("no paper")
        return text

    assert say("hello") == "HELLO"
    with pytest.raises(OSError, match="no paper"):
        say("fail")
    with pytest.raises(Blocked):
        say("block")
    with pytest.raises(Stopped):
        say("stop")
    with pytest.raises(ZeroDivisionError):
        say("raise")
    found = [json.loads(line) for line in lines]
    assert {(one["time"], one["tool"]) for one in found} == {(7, "say")}
    assert [(one["asked"]["text"], one.get("args", {}).get("text"), one["status"], one["reason"]) for one in found] == [
        ("hello", "HELLO", "ran", ""),
        ("fail", "FAIL", "failed", "no paper"),
        ("block", "block", "blocked", "no"),
        ("stop", "stop", "stopped", "enough"),
        ("raise", None, "broken", "ZeroDivisionError: oh"),
    ]


def test_the_audit_sees_what_middleware_behind_it_refuses() -> None:
    lines: list[str] = []
    hooks = hooked(example("audit").Audit(lines.append), priority=1000)
    hooks.add("pre-tool-call", example("rate_limit").RateLimit(1, 60, Clock()))
    tool = hooks.guard(echo)
    assert [refusal(tool) == "", refusal(tool) == ""] == [True, False]
    assert [json.loads(line)["status"] for line in lines] == ["ran", "blocked"]


def test_the_audit_knows_the_session_of_an_agent() -> None:
    lines: list[str] = []
    hooks = hooked(example("audit").Audit(lines.append), priority=1000)
    model = ScriptedModel([ToolCall("echo", {"text": "x"}), "done"])
    with AgentBuilder().with_model(model).with_tools(echo).with_hooks(hooks).build().session("s1") as session:
        session.run("go")
    assert [json.loads(line)["session"] for line in lines] == ["s1"]
