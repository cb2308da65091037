"""`hooks.guard`: any function as a tool, called as before."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.outcome import Outcome
from boathook.errors import Blocked, HookError, Stopped
from boathook.inprocess.guard import bind_arguments, unbind_arguments
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.operations import ToolCall


def listening(hooks: Hooks) -> list:
    """What hooks get to know of calls."""
    calls: list = []
    hooks.before_tool(lambda context: calls.append((context.name, dict(context.args))))
    return calls


def rewriting(**args) -> Hooks:
    """Hooks that put other arguments in place of those they are given."""
    hooks = Hooks()
    hooks.before_tool(lambda context: context.replace(args=args))
    return hooks


# As they are called


def simple(a, b=2): ...
def positional(a, b=2, /, c=3): ...
def keyword(a, *, b, c=3): ...
def many(a, *rest, b=2): ...
def named(a, **more): ...
def everything(a, b=2, /, c=3, *rest, d, e=5, **more): ...
def swallowing(a, /, **more): ...
def only_many(*args, **kwargs): ...


CALLS = {
    "positions": (simple, (1,), {}, {"a": 1, "b": 2}),
    "names": (simple, (), {"b": 1, "a": 2}, {"a": 2, "b": 1}),
    "positional only": (positional, (1,), {}, {"a": 1, "b": 2, "c": 3}),
    "positional only, all": (positional, (1, 5), {"c": 6}, {"a": 1, "b": 5, "c": 6}),
    "keyword only": (keyword, (1,), {"b": 2}, {"a": 1, "b": 2, "c": 3}),
    "many": (many, (1, 2, 3), {"b": 4}, {"a": 1, "rest": (2, 3), "b": 4}),
    "none of many": (many, (), {"a": 1}, {"a": 1, "rest": (), "b": 2}),
    "more": (named, (1,), {"x": 2, "y": 3}, {"a": 1, "x": 2, "y": 3}),
    "no more": (named, (1,), {}, {"a": 1}),
    "everything": (
        everything,
        (1, 2, 3, 4, 5),
        {"d": 6, "x": 7},
        {"a": 1, "b": 2, "c": 3, "rest": (4, 5), "d": 6, "e": 5, "x": 7},
    ),
    "a name twice": (swallowing, (1,), {"a": 2}, {"a": 1, "more": {"a": 2}}),
    "the name of the others": (swallowing, (1,), {"more": 2}, {"a": 1, "more": {"more": 2}}),
    "others as an object": (swallowing, (1,), {"more": {"a": 5}}, {"a": 1, "more": {"more": {"a": 5}}}),
    "the name of the many": (only_many, (1,), {"args": 2}, {"args": (1,), "kwargs": {"args": 2}}),
}


@pytest.mark.parametrize(("function", "args", "kwargs", "seen"), CALLS.values(), ids=CALLS)
def test_hooks_see_arguments_by_name_and_the_function_gets_them_as_they_were(function, args, kwargs, seen):
    hooks = Hooks()
    calls = listening(hooks)
    got = []

    @hooks.guard
    @functools.wraps(function)
    def tool(*args, **kwargs):
        got.append((args, kwargs))

    tool(*args, **kwargs)
    assert calls == [(function.__name__, seen)]
    signature = inspect.signature(function)
    as_called, as_got = signature.bind(*args, **kwargs), signature.bind(*got[0][0], **got[0][1])
    as_called.apply_defaults()
    as_got.apply_defaults()
    assert as_got == as_called


FUNCTIONS = st.sampled_from([simple, positional, keyword, many, named, everything, swallowing, only_many])


@given(
    FUNCTIONS,
    st.lists(st.integers(), max_size=5),
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "d", "e", "x", "rest", "more", "args", "kwargs"]), st.integers(), max_size=5
    ),
)
def test_any_bound_arguments_are_unbound_the_same(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except TypeError:
        return  # no such call
    signature = inspect.signature(function)
    expected = signature.bind(*args, **kwargs)
    expected.apply_defaults()
    found = unbind_arguments(signature, bind_arguments(signature, tuple(args), kwargs))
    found.apply_defaults()
    assert (found.args, found.kwargs) == (expected.args, expected.kwargs)


def test_a_call_that_does_not_fit_is_a_type_error_as_ever():
    hooks = Hooks()
    calls = listening(hooks)
    tool = hooks.guard(simple)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        tool()
    assert calls == []


# Results, objections, errors


def test_a_guarded_function_returns_its_result_and_raises_its_errors():
    hooks = Hooks()
    heard = []
    hooks.after_tool(lambda context: heard.append(context.result))
    hooks.tool_failed(lambda context: heard.append(str(context.error)))

    @hooks.guard
    def divide(a, b):
        return a / b

    assert divide(6, b=3) == 2
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert heard == [2.0, "division by zero"]


def test_a_guarded_function_is_blocked_stopped_and_rewritten():
    hooks = Hooks()

    @hooks.guard
    def run(command):
        return f"ran {command}"

    hooks.before_tool(match=lambda context: "rm" in context.args["command"])(lambda context: Outcome.block("no"))
    hooks.before_tool(match=lambda context: "end" in context.args["command"])(lambda context: Outcome.stop("enough"))
    hooks.before_tool(lambda context: context.replace(args={"command": context.args["command"] + "!"}))
    assert run("ls") == "ran ls!"
    with pytest.raises(Blocked, match="no"):
        run("rm")
    with pytest.raises(Stopped, match="enough"):
        run("end")


def test_hooks_that_are_added_later_count():
    hooks = Hooks()
    run = hooks.guard(lambda: "ran")
    assert run() == "ran"
    hooks.before_tool(lambda context: Outcome.block("no"))
    with pytest.raises(Blocked):
        run()


def test_a_tool_may_have_another_name():
    hooks = Hooks()
    calls = listening(hooks)

    @hooks.guard(name="mcp__files__read")
    def read(path): ...

    read("/x")
    assert calls == [("mcp__files__read", {"path": "/x"})]


def test_a_callable_without_a_name_has_that_of_its_class():
    hooks = Hooks()
    calls = listening(hooks)

    class Reader:
        def __call__(self, path):
            return path

    class AsyncReader:
        async def __call__(self, path):
            return path

    assert hooks.guard(Reader())("/x") == "/x"
    assert hooks.guard(functools.partial(simple, b=5))(1) is None
    assert asyncio.run(hooks.guard(AsyncReader())("/y")) == "/y"
    assert calls == [("Reader", {"path": "/x"}), ("partial", {"a": 1, "b": 5}), ("AsyncReader", {"path": "/y"})]


def test_a_guarded_function_looks_like_the_one_it_guards():
    hooks = Hooks()

    def run(command: str, *, quiet: bool = False) -> str:
        """Run a command."""
        return command

    async def arun(command: str) -> str:
        """Run a command later."""
        return command

    async def stream(command: str):
        """Yield a command."""
        yield command

    for function in (run, arun, stream):
        guarded = hooks.guard(function)
        assert (guarded.__name__, guarded.__doc__, guarded.__wrapped__) == (
            function.__name__,
            function.__doc__,
            function,
        )
        assert inspect.signature(guarded) == inspect.signature(function)
        for question in (inspect.iscoroutinefunction, inspect.isasyncgenfunction):
            assert question(guarded) == question(function)


# What hooks leave that does not fit

UNFIT = {
    "an unknown argument": (simple, (1,), {"a": 1, "z": 2}, "got an unexpected keyword argument 'z'"),
    "a missing argument": (simple, (1,), {"b": 2}, "missing a required argument: 'a'"),
    "a missing positional": (positional, (1,), {"c": 2}, "missing a required argument: 'a'"),
    "a missing one before many": (many, (1, 2), {"rest": [2]}, "missing a required argument: 'a'"),
    "many that are none": (many, (1, 2), {"a": 1, "rest": "ab"}, "'*rest' takes a list, not str"),
    "more that is none": (swallowing, (1,), {"a": 1, "more": "ab"}, "'**more' takes an object, not str"),
    "nothing": (simple, (1,), {}, "missing a required argument: 'a'"),
}


@pytest.mark.parametrize(("function", "args", "left", "message"), UNFIT.values(), ids=UNFIT)
def test_arguments_that_do_not_fit_are_the_error_of_the_call(function, args, left, message):
    hooks = rewriting(**left)
    heard = []
    hooks.tool_failed(lambda context: heard.append(type(context.error)))
    with pytest.raises(TypeError) as error:
        hooks.guard(function)(*args)
    assert str(error.value) == message
    assert heard == [TypeError]


FILLED = {
    "a default": (simple, {"a": 5}, ((5,), {})),
    "a default before a positional": (positional, {"a": 5, "c": 6}, ((5, 2, 6), {})),
    "a list for many": (many, {"a": 5, "rest": [6, 7]}, ((5, 6, 7), {})),
    "more names": (named, {"a": 5, "new": 6}, ((5,), {"new": 6})),
}


@pytest.mark.parametrize(("function", "left", "expected"), FILLED.values(), ids=FILLED)
def test_what_hooks_leave_out_has_its_default(function, left, expected):
    bound = unbind_arguments(inspect.signature(function), left)
    again = inspect.signature(function).bind(*expected[0], **expected[1])
    bound.apply_defaults()
    again.apply_defaults()
    assert bound == again


# Other sorts of functions


def test_methods_are_guarded_too():
    hooks = Hooks()
    calls = listening(hooks)

    class Account:
        def __init__(self):
            self.balance = 0

        @hooks.guard
        def deposit(self, amount):
            self.balance += amount
            return self.balance

    hooks.before_tool(lambda context: context.replace(args={**context.args, "amount": context.args["amount"] * 2}))
    account = Account()
    assert account.deposit(5) == 10
    other = Hooks()
    heard = listening(other)
    assert other.guard(account.deposit)(1) == 12
    assert heard == [("deposit", {"amount": 1})]
    assert calls[0] == ("deposit", {"self": account, "amount": 5})


def test_async_functions_are_guarded_too():
    hooks = Hooks()
    heard = []

    @hooks.after_tool
    async def after(context):
        await asyncio.sleep(0)
        heard.append(context.result)

    @hooks.guard
    async def run(command):
        await asyncio.sleep(0)
        return f"ran {command}"

    hooks.before_tool(match=lambda context: context.args["command"] == "rm")(lambda context: Outcome.block("no"))
    assert asyncio.run(run("ls")) == "ran ls"
    with pytest.raises(Blocked):
        asyncio.run(run("rm"))
    assert heard == ["ran ls"]


def test_generators_are_guarded_too():
    hooks = Hooks()
    heard = []
    hooks.after_tool(lambda context: heard.append(context.result))

    @hooks.guard
    def count(n):
        yield from range(n)
        return "end"

    def all_of(stream):
        return (yield from stream)

    assert list(count(3)) == [0, 1, 2]
    short = count(3)
    assert next(short) == 0
    short.close()
    whole = all_of(count(1))
    next(whole)
    with pytest.raises(StopIteration) as end:
        next(whole)
    assert end.value.value == "end"
    assert heard == [(0, 1, 2), (0,), (0,)]


def test_async_generators_are_guarded_too():
    hooks = Hooks()
    heard, closed = [], []
    hooks.after_tool(lambda context: heard.append(context.result))

    @hooks.guard
    async def count(n):
        try:
            for item in range(n):
                yield item
        finally:
            closed.append(n)

    async def main():
        found = [item async for item in count(3)]
        async with aclosing(count(4)) as items:
            async for item in items:
                found.append(item)
                break
        assert (heard, closed) == ([(0, 1, 2), (0,)], [3, 4])
        return found

    assert asyncio.run(main()) == [0, 1, 2, 0]


def test_a_blocked_async_generator_raises_when_it_is_begun():
    hooks = Hooks()
    hooks.before_tool(lambda context: Outcome.block("no"))

    @hooks.guard
    async def count():
        yield 1

    async def main():
        async for _ in count():
            pytest.fail("it was blocked")

    with pytest.raises(Blocked, match="no"):
        asyncio.run(main())


def test_a_block_is_returned_where_that_is_wanted():
    hooks = Hooks()
    hooks.before_tool(match="send|asend|parts|aparts")(lambda _: Outcome.block("not today"))
    hooks.after_tool(match="odd")(lambda _: Outcome.block("that looks odd"))

    @hooks.guard(on_block="return")
    def send() -> int:
        raise AssertionError

    @hooks.guard(on_block="return")
    async def asend() -> int:
        raise AssertionError

    @hooks.guard(on_block="return")
    def parts():
        raise AssertionError
        yield

    @hooks.guard(on_block="return")
    async def aparts():
        raise AssertionError
        yield

    async def read_parts():
        return [part async for part in aparts()]

    assert send() == asyncio.run(asend()) == "not today"
    assert list(parts()) == asyncio.run(read_parts()) == ["not today"]
    assert hooks.guard(lambda: "done", name="odd", on_block="return")() == "done\nthat looks odd"
    assert hooks.guard(lambda: "done", name="fine", on_block="return")() == "done"


def test_errors_and_stops_are_raised_in_any_case():
    hooks = Hooks()
    hooks.before_tool(match="end")(lambda _: Outcome.stop("enough"))
    hooks.tool_failed(lambda _: Outcome.block("objection"))
    with pytest.raises(Stopped, match="enough"):
        hooks.guard(lambda: 1, name="end", on_block="return")()
    with pytest.raises(ZeroDivisionError) as raised:
        hooks.guard(lambda: 1 / 0, name="fail", on_block="return")()
    assert raised.value.__notes__ == ["objection"]
    with pytest.raises(HookError, match="on_block must be raise or return"):
        hooks.guard(lambda: 1, on_block="ignore")


def test_guarded_calls_belong_to_the_session_in_whose_block_they_are():
    hooks, seen = Hooks(), []
    hooks.session_start(lambda context: context.with_metadata("k", "v"))

    @hooks.before_tool
    def look(context):
        seen.append((context.session_id, context.work_dir, context.get("k"), context.get("calls", 0)))
        return context.with_metadata("calls", context.get("calls", 0) + 1)

    ends = []
    hooks.session_end(lambda context: ends.append(context.get("calls")))
    tool = hooks.guard(lambda: None, name="tool")

    @hooks.guard
    async def atool():
        return None

    async def main():
        async with hooks.asession("s2", work_dir="/w"):
            await asyncio.gather(atool(), asyncio.to_thread(tool))

    with hooks.session("s1", work_dir="/w"):
        tool()
        tool()
    asyncio.run(main())
    tool()
    assert seen[:2] == [("s1", "/w", "v", 0), ("s1", "/w", "v", 1)]
    assert {one[:3] for one in seen[2:4]} == {("s2", "/w", "v")}
    assert seen[4] == ("", "", None, 0)
    assert ends[0] == 2


def test_guarded_calls_belong_to_the_run_in_whose_block_they_are():
    hooks, others = Hooks(), Hooks()
    hooks.before_tool(match="Shell")(lambda context: context.add_context(f"in {context.session_id}"))
    hooks.before_tool(match="end")(lambda _: Outcome.stop("enough"))
    bash = hooks.guard(lambda command: command, name="bash")
    with others.run("other"), hooks.run("s1") as run:
        assert hooks.find_active_run() is run
        assert others.find_active_run() is None
        bash("ls")
        # A name that file hooks know counts here as well.
        assert run.take_context() == ("in s1",)
        with pytest.raises(Stopped):
            hooks.guard(lambda: 1, name="end")()
        with pytest.raises(Stopped, match="enough"):
            bash("ls")
    assert hooks.find_active_run() is None


def test_a_guarded_call_in_a_thread_outside_of_an_open_run_is_reported_once(caplog):
    hooks, others = Hooks(), Hooks()
    for each in (hooks, others):
        each.before_tool(lambda _: None)
    bash, other = hooks.guard(lambda command: command, name="bash"), others.guard(lambda: 1, name="other")
    bash("no run is open")
    with hooks.run("s1"), ThreadPoolExecutor(1) as pool:
        pool.submit(contextvars.copy_context().run, bash, "in the run").result()
        pool.submit(other).result()
        assert not caplog.records
        for _ in range(2):
            pool.submit(bash, "ls").result()
    bash("the run has ended")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("the guarded function 'bash' was called outside of every run")
    assert "copy_context().run" in caplog.messages[0]


def test_an_async_guarded_call_outside_of_an_open_run_is_reported_too(caplog):
    hooks = Hooks()
    hooks.before_tool(lambda _: None)

    @hooks.guard(name="bash")
    async def bash():
        return 1

    async def go():
        outside = contextvars.copy_context()
        async with hooks.run("s1"):
            await asyncio.create_task(bash())
            assert not caplog.records
            await asyncio.create_task(bash(), context=outside)

    asyncio.run(go())
    assert len(caplog.records) == 1


def test_a_run_keeps_its_texts_back_while_a_guarded_call_is_open():
    hooks = Hooks()
    hooks.before_tool(lambda context: context.add_context(f"about {context.name}"))
    quick = hooks.guard(lambda: None, name="quick")
    seen = []

    @hooks.guard
    def slow():
        quick()
        seen.append(run.take_context())

    with hooks.run() as run:
        slow()
        assert (seen, run.take_context()) == ([()], ("about quick", "about slow"))


@pytest.mark.parametrize("error", [ValueError("broken"), Stopped("enough"), KeyboardInterrupt()], ids=repr)
def test_a_guarded_call_that_raises_is_not_open_any_more(error):
    hooks = Hooks()

    @hooks.guard
    def tool():
        raise error

    with hooks.run() as run:
        run.add_context("read this")
        with pytest.raises(type(error)):
            tool()
        assert run.take_context() == ("read this",)


def test_an_async_guarded_call_is_open_until_it_ends_or_is_cancelled():
    hooks = Hooks()

    async def main():
        has_begun, may_end = asyncio.Event(), asyncio.Event()

        @hooks.guard
        async def tool():
            has_begun.set()
            await may_end.wait()

        async with hooks.run() as run:
            run.add_context("read this")
            for is_cancelled in (True, False):
                has_begun.clear()
                task = asyncio.ensure_future(tool())
                await has_begun.wait()
                assert run.take_context() == ()
                task.cancel() if is_cancelled else may_end.set()
                await asyncio.wait([task])
                assert task.cancelled() is is_cancelled
                assert run.take_context() == ("read this",)
                run.add_context("read this")

    asyncio.run(main())


@pytest.mark.parametrize("can_ask", [True, False])
def test_a_question_about_a_guarded_call_is_a_block_with_a_hint_that_fits(caplog, can_ask):
    hooks = Hooks()
    hooks.before_tool(lambda _: Outcome.ask("sure?"))
    tool = hooks.guard(lambda: "ran", name="tool")
    with hooks.run(can_ask=can_ask) as run:
        with pytest.raises(Blocked, match=r"sure\? \(no person can be asked\)"):
            tool()
        hint = "make the call with run.tool(…) in a run of hooks.run(can_ask=True) (a guarded function cannot return a question)"
        assert hint in caplog.text
        # As the hint says.
        assert (run.tool(ToolCall("tool"), lambda _: "ran").ask is not None) is can_ask
    hooks.on_ask(lambda context, reason: True)
    with hooks.run(can_ask=can_ask):
        assert tool() == "ran"


def test_guarded_calls_do_not_run_in_a_session_that_hooks_refused():
    hooks, ran = Hooks(), []
    hooks.session_start(lambda _: Outcome.block("no sessions today"))
    with hooks.run() as run:
        assert not run.prompt("go").proceeds
        with pytest.raises(Blocked, match="no sessions today"):
            hooks.guard(ran.append, name="tool")(1)
        assert hooks.guard(ran.append, name="tool", on_block="return")(1) == "no sessions today"
    assert ran == []


def test_a_function_is_guarded_by_the_same_hooks_only_once():
    hooks, other = Hooks(), Hooks()
    guarded = other.guard(hooks.guard(simple))
    for again in (hooks, other):
        with pytest.raises(HookError, match="simple is guarded by these hooks already, and they would run twice"):
            again.guard(guarded)


def make_write(hooks):
    @hooks.guard
    def write(path, text="", **more):
        return f"{path}: {text}"

    return write


@pytest.mark.parametrize("is_loop", [False, True])
def test_a_guarded_function_in_the_operation_of_its_call_does_not_ask_hooks_again(is_loop):
    hooks = Hooks()
    calls = listening(hooks)
    hooks.before_tool(lambda context: context.replace(args={**context.args, "text": f"{context.args['text']}!"}))
    write = make_write(hooks)

    @hooks.guard(name="write")
    async def awrite(path, text=""):
        return write(path, text=text)

    async def run_async(run, call):
        return await run.atool(call, lambda call: awrite(**call.args))

    with hooks.run() as run:
        call = ToolCall("write", {"path": "a", "text": "b"})
        outcome = asyncio.run(run_async(run, call)) if is_loop else run.tool(call, lambda call: write(**call.args))
        assert outcome.unwrap() == "a: b!"
        assert calls == [("write", {"path": "a", "text": "b"})]
        # The call is over.
        assert write("c", "d") == "c: d!"
        assert calls[1:] == [("write", {"path": "c", "text": "d"})]


def test_a_guarded_function_in_another_call_or_with_other_arguments_asks_hooks():
    hooks = Hooks()
    calls = listening(hooks)
    write, other = make_write(hooks), hooks.guard(lambda path: path, name="other")

    def change(call):
        call.args["path"] = "b"
        return write(**call.args)

    operations = (change, lambda call: write("a", mode="x"), lambda call: other("a"), lambda call: write("a", "x"))
    with hooks.run() as run:
        for operation in operations:
            run.tool(ToolCall("write", {"path": "a"}), operation).unwrap()
            assert len(calls) == 2
            calls.clear()
    added = Hooks()
    added.include(hooks)
    run = added.run()
    run.tool(ToolCall("write", {"path": "a"}), lambda call: write(**call.args)).unwrap()
    assert len(calls) == 1
    added_calls = listening(hooks)
    run.tool(ToolCall("write", {"path": "a"}), lambda call: write(**call.args)).unwrap()
    assert len(added_calls) == 1


@pytest.mark.parametrize("is_loop", [False, True])
def test_a_decision_about_a_call_counts_for_one_guarded_function_in_its_operation(is_loop):
    hooks, other = Hooks(), Hooks()
    calls = listening(hooks)
    other.include(hooks)

    def write(path):
        return path

    # Twice guarded, but one call.
    write = other.guard(hooks.guard(write))

    @hooks.guard(name="write")
    async def awrite(path):
        return [write(path), write(path)]

    async def operate(call):
        return [await awrite(**call.args), await awrite(**call.args)]

    call = ToolCall("write", {"path": "a"})
    if is_loop:
        asyncio.run(other.run().atool(call, operate))
        # The call itself, the second one in its operation, and in both the second one of these.
        assert len(calls) == 4
    else:
        other.run().tool(call, lambda call: [write(**call.args), write(**call.args)])
        assert len(calls) == 2


def test_hooks_after_an_operation_may_call_a_guarded_function_of_the_same_name():
    hooks = Hooks()
    write = make_write(hooks)
    calls = []

    @hooks.after_tool
    @hooks.tool_failed
    def write_again(context):
        calls.append(context.event)
        if len(calls) == 1:
            write("a")

    run = hooks.run()
    run.tool(ToolCall("write", {"path": "a"}), lambda call: 1 / 0)
    assert calls == ["post-tool-call-failure", "post-tool-call"]


def test_a_task_that_outlives_the_operation_asks_hooks_again():
    hooks, asked = Hooks(), []
    hooks.before_tool(match="write")(lambda context: asked.append(context.args["name"]))

    @hooks.guard
    async def write(name):
        return name

    async def main():
        is_over = asyncio.Event()

        async def write_later():
            await is_over.wait()
            await write("plan")

        async with hooks.run() as run:
            tasks = []
            await run.atool(
                ToolCall("write", {"name": "plan"}), lambda _: tasks.append(asyncio.create_task(write_later()))
            )
            is_over.set()
            await asyncio.gather(*tasks)

    asyncio.run(main())
    assert asked == ["plan", "plan"]
