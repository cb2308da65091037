"""Code that users write: all of it must type-check, in mypy and in pyright."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, assert_type

from boathook import (
    AgentBuilder,
    AgentRun,
    AgentState,
    AskRequest,
    CompactionContext,
    Context,
    ExecutionContext,
    FailureContext,
    Hooks,
    NotificationContext,
    Outcome,
    RunOutcome,
    SessionContext,
    Stack,
    StepContext,
    StopContext,
    SubagentContext,
    ToolCall,
    ToolContext,
    ToolOutcome,
    TurnStatus,
    Verdict,
    all_of,
    event_is,
    tool_kind,
    tool_name,
    where,
)
from boathook.bridges.pydantic_ai import Guarded
from boathook.shell import UNKNOWN, CommandReading, Started, read_command, reads_code_from_stdin

C = TypeVar("C", bound=Context)
hooks = Hooks(on_failure="allow")


# Plain hooks with every kind of answer


@hooks.before_tool
def silent(context: ToolContext) -> None:
    print(context.name, context.args)


@hooks.before_tool
def blocking(context: ToolContext) -> Outcome:
    return Outcome.block("no")


@hooks.before_tool
def undecided(context: ToolContext) -> Outcome | None:
    return Outcome.proceed(context) if context.is_before else None


@hooks.before_tool
def changing(context: ToolContext) -> ToolContext:
    return context.replace(args={**context.args, "safe": True})


@hooks.before_tool
def everything(context: ToolContext) -> Outcome | ToolContext | None:
    return context.add_message("seen") if context.args else Outcome.ask("sure?")


@hooks.before_tool(match="bash*", priority=100, timeout=1.5, on_failure="block")
async def awaited(context: ToolContext) -> Outcome | None:
    return None


@hooks.before_tool(match=tool_name("bash") | "sh*" | tool_kind("writes", "mcp"))
async def awaited_change(context: ToolContext) -> ToolContext:
    print([(one.path, one.text, one.change) for one in context.writes])
    return context


@hooks.before_tool
@hooks.after_tool(match=all_of("bash", where(lambda context: bool(context.get("safe")))))
@hooks.session_start
@hooks.on("Stop")
def anywhere(context: Context) -> None:
    print(context.event)


@hooks.before_tool
def any_kind(context: C) -> C:
    return context.with_metadata("seen", True)


@hooks.before_tool
def unannotated(context):  # type: ignore[no-untyped-def]
    return None


hooks.before_tool(lambda context: Outcome.block(context.name))
hooks.before_stop(max_rounds=5)(lambda context: Outcome.block(str(context.step_count)))


# Middleware


@hooks.before_tool
def around(context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:
    return next(context)


@hooks.before_tool
def around_anything(context: Context, next: Callable[..., Any]) -> Outcome | None:
    return None


@hooks.before_tool
async def around_awaited(context: ToolContext, next: Callable[[ToolContext], Awaitable[Outcome]]) -> Outcome:
    return await next(context)


@hooks.before_tool
class Guard:
    def __init__(self, limit: int = 3) -> None:
        self.limit = limit

    def handle(self, context: ToolContext, next: Callable[[ToolContext], Outcome]) -> Outcome:
        return next(context)


@hooks.before_tool(priority=5)
class AsyncGuard:
    async def handle(self, context: ToolContext, next: Callable[[ToolContext], Awaitable[Outcome]]) -> Outcome:
        return await next(context)


class Limit:
    def __init__(self, most: int) -> None:
        self.most = most

    def handle(self, context: Context, next: Callable[..., Outcome]) -> Outcome | None:
        return next(context) if self.most else None


limit = hooks.before_tool(Limit(3))
hooks.session_start(priority=5)(limit)


# Decorators keep the type of a hook

assert_type(blocking(context=ToolContext.before("bash", {})), Outcome)
assert_type(changing(ToolContext.before("bash", {})), ToolContext)
assert_type(any_kind(StopContext.before()), StopContext)
assert_type(Guard(limit=5).limit, int)
assert_type(limit.most, int)


# Every event with its context


@hooks.session_start
@hooks.session_end
def session(context: SessionContext) -> None: ...


@hooks.turn_start
@hooks.turn_end
def turn(context: ExecutionContext) -> None: ...


@hooks.before_stop
@hooks.after_stop
def stop(context: StopContext) -> None: ...


@hooks.after_tool
@hooks.tool_failed
@hooks.permission
def tool(context: ToolContext) -> None: ...


@hooks.subagent_start
@hooks.subagent_stop
def subagent(context: SubagentContext) -> None: ...


@hooks.before_compact
@hooks.after_compact
def compaction(context: CompactionContext) -> None: ...


@hooks.before_step
@hooks.after_step
def step(context: StepContext) -> None: ...


@hooks.notification
def notification(context: NotificationContext) -> None: ...


@hooks.on_failure
def failure(context: FailureContext) -> None: ...


@hooks.on("PreToolUse", priority=5)
def by_name(context: ToolContext) -> None: ...


@hooks.on_ask
def ask(context: ToolContext, reason: str) -> bool:
    return reason == ""


@hooks.on_ask
async def ask_later(context: ToolContext, reason: str) -> bool:
    return reason == ""


# Methods of a context return its own class

assert_type(ToolContext.before("bash", {}).replace(args={}), ToolContext)
assert_type(ToolContext.before("bash", {}).after("done").add_context("x").with_metadata("k", 1), ToolContext)
assert_type(StopContext.before().add_message("x"), StopContext)
assert_type(ExecutionContext.on_start("hello").replace(prompt="bye"), ExecutionContext)
assert_type(StepContext.before(1).replace(state=None), StepContext)


# Guards keep the signature of a function


@hooks.guard
def read(path: str, *, limit: int = 10) -> list[str]:
    return [path] * limit


@hooks.guard(name="mcp__files__write")
async def write(path: str, text: str) -> int:
    return len(path + text)


@hooks.guard
def lines(path: str) -> Iterator[str]:
    yield path


@hooks.guard
async def later_lines(path: str) -> AsyncIterator[str]:
    yield path


class Account:
    @hooks.guard
    def deposit(self, amount: int) -> int:
        return amount


async def uses() -> None:
    assert_type(read("x", limit=3), list[str])
    assert_type(await write("x", "y"), int)
    assert_type(lines("x"), Iterator[str])
    assert_type(later_lines("x"), AsyncIterator[str])
    assert_type(Account().deposit(5), int)
    assert_type(hooks.stack.run_tool(ToolCall("x"), lambda call: call.name), str)
    with hooks.session("s") as begun:
        assert_type(begun, SessionContext)
    async with hooks.asession("s") as begun_later:
        assert_type(begun_later, SessionContext)
    assert_type(await hooks.stack.aprocess(ToolContext.before("x", {})), Outcome[ToolContext])
    assert_type(hooks.stack.process(ExecutionContext.on_start("x")).context.additional_context, tuple[str, ...])


# Stacks and builders


stack = Stack().with_(silent, on="PreToolUse", priority=5, match="bash", timeout=2, on_failure="block")
stack = stack.with_(around).with_(Limit(3), match=event_is("Stop")).with_ask(ask)


def grown(state: AgentState) -> AgentState:
    return state.with_metadata("seen", True)


def watched(state: AgentState) -> None: ...


builder = (
    AgentBuilder()
    .on_before_tool_use(blocking, priority=100, match="bash")
    .on_before_tool_use(lambda context: Outcome.block(context.name))
    .on_before_tool_use(awaited)
    .on_after_tool_use(changing)
    .on_before_step(grown)
    .on_after_step(watched)
    .on_execution_start(turn)
    .on_execution_end(turn)
    .on_stop(stop, max_rounds=2)
    .on_subagent_stop(subagent)
    .on_agent_failed(failure)
    .with_permission(ask)
    .with_hooks(hooks)
    .with_tools(read, write)
)
assert_type(builder, AgentBuilder)


# States with a class


class MyState:
    mode = "careful"


typed = Hooks[MyState]()


@typed.before_tool(match="bash|shell")
def by_mode(context: ToolContext[MyState]) -> Outcome | None:
    assert_type(context.state, MyState)
    return Outcome.block("no") if context.state.mode == "careful" else Outcome.allow()


@typed.on("turn_start")
def at_turn(context: ExecutionContext[MyState]) -> ExecutionContext[MyState]:
    assert_type(context.state.mode, str)
    return context.replace(prompt=context.prompt.strip())


typed.on("Stop")(lambda context: Outcome.block(context.final_message or ""))
typed.on("tool_failed", match="bash")(lambda context: Outcome.block(str(context.error)))
typed.add("permission", by_mode, priority=3)
stack.with_(by_mode, on="before_tool")
event_is("before_step", "on_failure", "PostToolUse")

with_state = AgentBuilder().on_before_tool_use(lambda context: Outcome.block(str(context.state.step_count)))
with_state = with_state.on_before_tool_use(around, match="bash").on_stop(around_anything)
with_state = with_state.add_hook("before_step", step, priority=3, match=where(bool))
assert_type(with_state.build().run("go").status, TurnStatus)


def read_status(verdict: Verdict) -> None:
    assert_type(verdict.runs[0].status, Literal["ok", "failed", "timeout", "unreadable", "refused"])


with_match = (
    AgentBuilder()
    .on_before_tool_use(silent, match="bash|shell")
    .on_after_tool_use(silent, match=tool_kind("writes"))
    .on_before_step(grown, match=where(bool))
    .on_after_step(watched, match=where(bool))
    .on_execution_start(turn, match=where(bool))
    .on_execution_end(turn, match=where(bool))
    .on_stop(stop, match=where(bool))
    .on_subagent_stop(subagent, match=where(bool))
    .on_agent_failed(failure, match=where(bool))
)
assert_type(with_match, AgentBuilder)


# Bridges

Guarded()
Guarded(hooks, names={"bash": "Shell"}, arguments={"bash": {"cmd": "command"}}, session_id="s", work_dir=Path())
Guarded(typed, allow_unguarded=True)


# Runs


def operate(call: ToolCall) -> str:
    return call.name


async def uses_runs() -> None:
    run = typed.run("s", state=MyState(), names={"bash": "Shell"}, can_ask=True)
    assert_type(run, AgentRun[MyState])
    assert_type(run.state, MyState)
    assert_type(run.prompt("go").context, ExecutionContext[MyState])
    assert_type(run.prompt("go").context.additional_context, tuple[str, ...])
    outcome = run.tool(ToolCall("bash", {}), operate)
    assert_type(outcome, ToolOutcome)
    assert_type(outcome.context, ToolContext)
    assert_type(outcome.ask, AskRequest | None)
    assert_type(outcome.proceeds, bool)
    assert_type((await run.atool(ToolCall("bash"), operate)).text, str)
    assert_type((await run.afire(StepContext.before(0))).context, StepContext)
    assert_type(run.fire(NotificationContext.of("look")), RunOutcome[NotificationContext])
    assert_type(run.take_context(), tuple[str, ...])
    assert_type(hooks.find_run("token"), AgentRun[Any] | None)
    async with run as same:
        assert_type(same, AgentRun[MyState])


# The shell reader
reading = read_command("echo a | sh", "/work", {"HOME": "/home/me"})
assert_type(reading, CommandReading)
assert_type(reading.programs, tuple[Started, ...])
assert_type(reading.programs[0].words, tuple[str, ...])
assert_type(reading.programs[0].code_sources, tuple[Started, ...])
assert_type(reads_code_from_stdin(reading.programs[0]), bool)
hidden: str = UNKNOWN


# Collections


@hooks.guard(on_block="return")
def count(path: str) -> int:
    return len(path)


assert_type(count("x"), int | str)
assert_type(hooks.guard(operate, on_block="return")(ToolCall("x")), str)
assert_type(hooks.guard(operate, name="other")(ToolCall("x")), str)
hooks.include(typed)
hooks.include(stack)
assert_type(hooks.include_installed("guards"), tuple[str, ...])
assert_type(hooks.find_active_run(), AgentRun[Any] | None)
