"""Mistakes that type checkers must find: every marked line is an error in mypy and in pyright, and no other line is.

`error in pyright` marks what mypy accepts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from boathook import (
    AgentBuilder,
    AgentState,
    ExecutionContext,
    FailureContext,
    Hooks,
    NotificationContext,
    Outcome,
    SessionContext,
    Stack,
    StepContext,
    StopContext,
    SubagentContext,
    ToolCall,
    ToolContext,
    TurnResult,
    Verdict,
)
from boathook.bridges.pydantic_ai import Guarded

hooks = Hooks()


# The context of another event


@hooks.before_tool  # error
def stop_at_tool(context: StopContext) -> None: ...


@hooks.before_tool(priority=5)  # error
def stop_at_tool_with_fields(context: StopContext) -> None: ...


@hooks.before_stop  # error
def tool_at_stop(context: ToolContext) -> None: ...


@hooks.session_start  # error
def turn_at_session(context: ExecutionContext) -> None: ...


@hooks.turn_end  # error
def session_at_turn(context: SessionContext) -> None: ...


@hooks.on_failure  # error
def notification_at_failure(context: NotificationContext) -> None: ...


@hooks.before_tool  # error
async def awaited_stop_at_tool(context: StopContext) -> None: ...


@hooks.before_tool  # error
def around_another(context: StopContext, next: Callable[..., Outcome]) -> Outcome:
    return next(context)


class Another:
    def handle(self, context: StopContext, next: Callable[..., Outcome]) -> Outcome:
        return next(context)


class AnotherAwaited:
    async def handle(self, context: StopContext, next: Callable[..., Awaitable[Outcome]]) -> Outcome:
        return await next(context)


hooks.before_tool(Another)  # error
hooks.before_tool(Another())  # error
hooks.before_tool(match="bash")(AnotherAwaited)  # error
hooks.notification(Another())  # error


# A wrong answer


@hooks.before_tool  # error
def flag(context: ToolContext) -> bool:
    return True


@hooks.before_tool(match="bash")  # error
def arguments(context: ToolContext) -> dict[str, str]:
    return {}


@hooks.before_tool  # error
def another_context(context: ToolContext) -> StopContext:
    return StopContext.before()


@hooks.before_tool  # error
async def awaited_flag(context: ToolContext) -> bool:
    return True


@hooks.before_tool  # error
def around_flag(context: ToolContext, next: Callable[..., Outcome]) -> bool:
    return next(context).is_blocked


class Flag:
    def handle(self, context: ToolContext, next: Callable[..., Outcome]) -> bool:
        return next(context).is_blocked


hooks.before_tool(Flag)  # error


# A wrong signature


@hooks.before_tool  # error
def nothing() -> None: ...


@hooks.before_tool  # error
def three(context: ToolContext, next: Callable[..., Outcome], more: int) -> None: ...


@hooks.before_tool  # error
def keyword(context: ToolContext, *, wanted: int) -> None: ...


class Short:
    def handle(self, context: ToolContext) -> Outcome:
        return Outcome.proceed(context)


class Without:
    def run(self, context: ToolContext) -> None: ...


hooks.before_tool(Short)  # error
hooks.before_tool(Short())  # error
hooks.before_tool(Without)  # error


@hooks.before_tool  # error
async def awaits_nothing(context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:
    return next(context)


@hooks.before_tool  # error
def awaits_something(context: ToolContext, next: Callable[[ToolContext], Awaitable[Outcome]]) -> None: ...


# Wrong options

hooks.before_tool(prioritty=5)  # error
hooks.before_tool(priority="high")  # error
hooks.before_tool(match=5)  # error
hooks.before_tool(timeout="5 s")  # error
hooks.before_tool(on_failure="ignore")  # error
hooks.add("PreToolUse", nothing, on_failure="ignore")  # error
hooks.befor_tool(nothing)  # error
hooks.on("PreTolUse")  # error
hooks.on("PreToolUse", prioritty=5)  # error


def stop_hook(context: StopContext) -> None: ...
def tool_hook(context: ToolContext) -> None: ...
def flag_hook(context: ToolContext) -> bool:
    return True


hooks.on("PreToolUse")(stop_hook)  # error
hooks.on("Stop", priority=3)(tool_hook)  # error
hooks.add("PreTolUse", tool_hook)  # error
hooks.add("PreToolUse", 3)  # error
Hooks(on_failure="ignore")  # error


@hooks.on_ask  # error
def says_text(context: ToolContext, reason: str) -> str:
    return "yes"


@hooks.on_ask  # error
def is_told_nothing(context: ToolContext) -> bool:
    return True


# Outcomes and contexts

Outcome.block(5)  # error
Outcome.stop()  # error
Outcome.ask(None)  # error
ToolContext.before("bash", {}).name = "other"  # error
ToolContext.before("bash", {}).args["command"] = "other"  # error
StopContext.before().args  # error
text: str = ToolContext.before("bash", {}).replace(args={})  # error
other: StopContext = ToolContext.before("bash", {}).replace(args={})  # error
ToolContext.before("bash", {}).add_context(5)  # error
ToolContext.before("bash")  # error


Outcome.allow(5)  # error
ToolContext.before("bash", {}, sesion_id="a")  # error
ToolContext.before("bash", {}, session_id=5)  # error
ToolContext.before("bash", {}).replace(nam="other")  # error
ToolContext.before("bash", {}).replace(prompt="x")  # error
StopContext.before().replace(reason="x")  # error
StopContext.before(reson="x")  # error
ExecutionContext.on_start({"a": 1})  # error
ExecutionContext.on_start("x").replace(prompt=5)  # error
SessionContext.on_start(modell="x")  # error


# Guards


@hooks.guard
def read(path: str, *, limit: int = 10) -> list[str]:
    return [path] * limit


@hooks.guard(name="write")
async def write(path: str) -> int:
    return len(path)


class Account:
    @hooks.guard
    def deposit(self, amount: int) -> int:
        return amount


@hooks.before_tool
def good(context: ToolContext) -> Outcome:
    return Outcome.block("no")


async def uses() -> None:
    good(StopContext.before())  # error
    good(ToolContext.before("bash", {})).lower()  # error
    read(5)  # error
    read("x", 5)  # error
    read("x", limits=5)  # error
    read("x").lower()  # error
    await write(5)  # error
    (await write("x")).lower()  # error
    Account().deposit("5")  # error
    hooks.stack.run_tool("bash", lambda call: call.name)  # error
    hooks.stack.run_tool(ToolCall("x"), lambda call: call.name) + 5  # error


hooks.guard(name=5)  # error
hooks.guard(5)  # error
hooks.guard(read, on_block="ignore")  # error


# Stacks and builders


def ask_without_reason(context: ToolContext) -> bool:
    return True


Stack().with_(read, priority="high")  # error
Stack().with_(read, prioritty=5)  # error
Stack().process({"tool_name": "bash"})  # error
Stack().with_(tool_hook, on="PreTolUse")  # error
Stack().with_(tool_hook, on_failure="ignore")  # error
Stack().with_(3)  # error
Stack().process(ExecutionContext.on_start("x")).context.args  # error
Stack().with_ask(ask_without_reason)  # error


def other_state(context: ToolContext[str]) -> None: ...
def step_hook(context: StepContext) -> None: ...
def failure_hook(context: FailureContext) -> None: ...
def state_hook(state: AgentState) -> AgentState:
    return state


def wrong_state_hook(state: AgentState) -> str:
    return state.agent_id


AgentBuilder().on_before_tool_use(stop_hook)  # error
AgentBuilder().on_after_tool_use(stop_hook)  # error
AgentBuilder().on_stop(tool_hook)  # error
AgentBuilder().on_subagent_stop(stop_hook)  # error
AgentBuilder().on_execution_start(tool_hook)  # error
AgentBuilder().on_execution_end(stop_hook)  # error
AgentBuilder().on_agent_failed(tool_hook)  # error
AgentBuilder().on_before_step(step_hook)  # error
AgentBuilder().on_after_step(wrong_state_hook)  # error
AgentBuilder().on_before_tool_use(tool_hook, priority="high")  # error
AgentBuilder().on_before_tool_use(tool_hook, match=5)  # error
AgentBuilder().on_before_tool_use()  # error
AgentBuilder().on_before_tool_use(flag_hook)  # error
AgentBuilder().on_before_tool_use(other_state)  # error
AgentBuilder().add_hook("PreTolUse", tool_hook)  # error
AgentBuilder().add_hook("PreToolUse", 3)  # error
AgentBuilder().add_hook("PreToolUse", tool_hook, prioritee=3)  # error
AgentBuilder().add_hook("PreToolUse", tool_hook, on_failure="ignore")  # error
AgentBuilder().on_before_tool_use(tool_hook, matcher="bash")  # error
AgentBuilder().on_stop(stop_hook, match=7)  # error
AgentBuilder().on_before_step(state_hook, match=7)  # error
AgentBuilder().on_agent_failed(failure_hook, match=7)  # error
AgentBuilder().with_hooks(tool_hook)  # error
AgentBuilder().with_permission(ask_without_reason)  # error
failure: FailureContext = FailureContext.of("broken")  # error
kid: SubagentContext = SubagentContext.on_start(5)  # error


# Runs


class MyState:
    mode = "careful"


run = Hooks[MyState]().run("s", state=MyState())
Hooks[MyState]().run(state="text")  # error
run.state.nothing  # error
run.prompt(5)  # error
run.prompt("x").context.args  # error
run.tool("bash", tool_hook)  # error
run.tool(ToolCall("bash"), 5)  # error
run.tool(ToolCall("bash"), lambda call: call.nothing)  # error
run.tool(ToolCall("bash"), tool_hook, can_ask="yes")  # error
run.stop("x").context.result  # error
run.answer("token", "yes")  # error
run.fire({"event": "x"})  # error


def tests_an_outcome() -> int:
    if run.prompt("x"):  # error in pyright
        return 1
    return "checked, too"  # error


result_text: int = run.tool(ToolCall("bash"), lambda call: call.name).text  # error


def reads_state(context: ToolContext[MyState]) -> None:
    context.state.nothing  # error


def fails(verdict: Verdict) -> Literal["ok", "broken"]:
    return verdict.runs[0].status  # error


def ends() -> TurnResult:
    return TurnResult("finished")  # error


# Bridges

Guarded(hooks, name={"bash": "Shell"})  # error
Guarded(hooks, names={"bash": 5})  # error
Guarded([tool_hook])  # error
