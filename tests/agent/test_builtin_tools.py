"""The tools of the agent: what they do, where they may do it, how they fail, and how they are ended."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest

from boathook import Tool, ToolCall
from boathook.agent import builtin_tools as module
from boathook.agent.builtin_tools import BUILTIN_TOOLS, Workplace, make_tool, run_to_end
from boathook.agent.model import BrokenCall

from .builders import Witness, agent_of, call, failing_tool, list_lines, text_tool

NAMED = {tool.name: tool for tool in BUILTIN_TOOLS}
CUT = "\n(cut after 100000 characters)"


def use(work_dir: Path, tool: str, /, **args: Any) -> str:
    """Let an agent call a standard tool; return what its model reads, with `!` before an error."""
    builder, model = agent_of(ToolCall(tool, args), "done")
    builder.with_standard_tools().in_dir(work_dir).build().run("go")
    last = model.requests[-1][-1]
    return f"!{last.text}" if last.is_error else last.text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work dir with a neighbour that is none of its business."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("the secret\n")
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "a.py").write_text("import os\nprint(os.name)\n")
    return tmp_path / "work"


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


# Shell


def test_a_shell_command_runs_in_the_work_dir_and_returns_both_streams(folder: Path) -> None:
    assert use(folder, "Shell", command="pwd; echo oops >&2; cat") == f"{folder}\noops\n"


def test_a_failed_shell_command_returns_its_exit_code_and_its_output(folder: Path) -> None:
    assert use(folder, "Shell", command="echo half; exit 3") == "!exit code 3\nhalf"
    assert use(folder, "Shell", command="kill -9 $$") == "!exit code -9"


@pytest.mark.parametrize("args", [{}, {"command": 3}, {"command": None}, {"command": ["ls"]}])
def test_a_shell_command_is_a_text(folder: Path, args: dict[str, Any]) -> None:
    assert use(folder, "Shell", **args).startswith("!the call of Shell is wrong: 'command' ")


def test_a_shell_in_a_work_dir_that_is_gone_fails_as_a_tool_does(tmp_path: Path) -> None:
    assert "No such file or directory" in use(tmp_path / "gone", "Shell", command="pwd")


def test_a_long_output_is_cut_at_the_end_and_the_cut_is_shown(folder: Path) -> None:
    assert use(folder, "Shell", command="head -c 3000000 /dev/zero | tr '\\0' x") == "x" * 100_000 + CUT


def test_output_that_is_not_text_is_read_as_far_as_it_goes(folder: Path) -> None:
    assert use(folder, "Shell", command=r"printf 'a\377b'") == "a\ufffdb"


class Family:
    """A shell with a child, each of which holds a pipe: what is read from there ends when both have ended."""

    def __init__(self, folder: Path) -> None:
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)

    def command(self, last: str, way: str = "sh -c") -> str:
        child = "exec 3>pipe; echo $$ >&3; exec sleep 1000"
        return f"exec 4>pipe; echo $$ >&4; {way} '{child}' & {last}"

    async def pids(self) -> list[int]:
        return await asyncio.to_thread(self._first)

    def _first(self) -> list[int]:
        self._reader = self.pipe.open()
        return [int(self._reader.readline()) for _ in range(2)]

    async def has_ended(self) -> bool:
        with self._reader as reader:
            return await asyncio.to_thread(reader.read) == ""


def test_a_cancelled_shell_ends_with_its_children_and_leaves_no_zombie(folder: Path) -> None:
    async def go() -> None:
        family = Family(folder)
        task = asyncio.create_task(
            run_to_end(NAMED["Shell"], {"command": family.command("wait")}, Workplace(str(folder)))
        )
        pids = await family.pids()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await family.has_ended()
        assert not {child.pid for child in psutil.Process().children(recursive=True)} & set(pids)

    asyncio.run(go())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the group is found")
@pytest.mark.parametrize("way", ["setsid sh -c", "setsid -f sh -c", "exec env -i setsid /bin/sh -c"])
def test_a_cancelled_shell_ends_with_children_in_sessions_of_their_own(folder: Path, way: str) -> None:
    async def go() -> None:
        family = Family(folder)
        work = run_to_end(NAMED["Shell"], {"command": family.command("wait; sleep 1000", way)}, Workplace(str(folder)))
        task = asyncio.create_task(work)
        pids = await family.pids()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await family.has_ended()
        assert not {child.pid for child in psutil.Process().children(recursive=True)} & set(pids)

    asyncio.run(go())


def test_a_command_that_ends_may_leave_what_does_not_hold_its_output(folder: Path) -> None:
    """Such as a server that the agent starts and uses in its next call."""
    for name in ("pipe", "late"):
        os.mkfifo(folder / name)
    command = "setsid sh -c 'read -r line < pipe; echo $line > late' > /dev/null 2>&1 & echo started"
    assert use(folder, "Shell", command=command) == "started\n"
    (folder / "pipe").write_text("now\n")
    assert (folder / "late").read_text() == "now\n"


def test_a_shell_that_is_cancelled_while_it_starts_is_ended_whole_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        family, cancelled, start = Family(folder), asyncio.Event(), module._start_command

        async def slow_start(*given: str) -> Any:
            found = await start(*given)
            await cancelled.wait()
            return found

        monkeypatch.setattr(module, "_start_command", slow_start)
        task = asyncio.create_task(
            run_to_end(NAMED["Shell"], {"command": family.command("wait")}, Workplace(str(folder)))
        )
        await family.pids()
        task.cancel()
        asyncio.get_running_loop().call_soon(cancelled.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await family.has_ended()

    asyncio.run(go())


@pytest.mark.parametrize("last", ["wait", "exit 0"])
def test_a_shell_that_takes_too_long_is_ended_whole_even_if_only_its_child_goes_on(
    folder: Path, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child holds the output; that the shell itself has ended must not save it."""
    limit = asyncio.Event()

    async def wait_for_limit(work: Any, _: float) -> Any:
        task = asyncio.ensure_future(work)
        await limit.wait()
        task.cancel()
        raise TimeoutError

    async def go() -> None:
        family = Family(folder)
        work = run_to_end(NAMED["Shell"], {"command": family.command(last)}, Workplace(str(folder)))
        monkeypatch.setattr(module.asyncio, "wait_for", wait_for_limit)
        task = asyncio.create_task(work)
        await family.pids()
        limit.set()
        with pytest.raises(module.ToolError, match="did not end within 120 s"):
            await task
        assert await family.has_ended()

    asyncio.run(go())


# files


def test_a_file_is_read(folder: Path) -> None:
    assert use(folder, "ReadFile", path="src/a.py") == "import os\nprint(os.name)\n"
    assert use(folder, "ReadFile", path=str(folder / "src" / "a.py")) == "import os\nprint(os.name)\n"


def test_a_long_file_is_cut_at_the_end_and_the_cut_is_shown(folder: Path) -> None:
    (folder / "long").write_text("y" * 100_001)
    assert use(folder, "ReadFile", path="long") == "y" * 100_000 + CUT


def test_a_path_that_cannot_be_read_is_reported(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    found = {path: use(folder, "ReadFile", path=path) for path in ("none", "src", "pipe")}
    assert found == {
        "none": "!none cannot be read: No such file or directory",
        "src": "!src is not a file",
        "pipe": "!pipe is not a file",
    }
    assert use(folder, "ReadFile") == "!the call of ReadFile is wrong: 'path' is missing"


def test_a_file_is_written_with_the_folders_it_needs(folder: Path) -> None:
    assert use(folder, "WriteFile", path="docs/new/b.md", content="hé\r\n") == "wrote 4 characters to docs/new/b.md"
    assert (folder / "docs" / "new" / "b.md").read_bytes() == "hé\r\n".encode()


def test_a_write_that_fails_is_reported_and_leaves_the_file_as_it_was(folder: Path) -> None:
    before = tree(folder)
    assert use(folder, "WriteFile", path="src", content="x") == "!src cannot be written: Is a directory"
    assert use(folder, "WriteFile", path="src/a.py", content="\ud800") == "!'content' cannot be written as UTF-8"
    assert use(folder, "WriteFile", path="src/a.py") == "!the call of WriteFile is wrong: 'content' is missing"
    assert tree(folder) == before


def test_a_passage_is_replaced_and_the_rest_of_the_file_stays_byte_by_byte(folder: Path) -> None:
    (folder / "dos.txt").write_bytes(b"one\r\ntwo\r\n" + b"z" * 200_000)
    assert use(folder, "EditFile", path="dos.txt", old="two", new="zwei") == "wrote 200011 characters to dos.txt"
    assert (folder / "dos.txt").read_bytes() == b"one\r\nzwei\r\n" + b"z" * 200_000


def test_an_edit_that_is_not_clear_is_refused(folder: Path) -> None:
    before = tree(folder)
    found = {old: use(folder, "EditFile", path="src/a.py", old=old, new="x") for old in ("os", "none", "")}
    message = "!'old' occurs {} times in src/a.py; it must occur exactly once"
    assert found == {"os": message.format(2), "none": message.format(0), "": message.format(0)}
    assert use(folder, "EditFile", path="none", old="a", new="b") == "!none cannot be read: No such file or directory"
    assert tree(folder) == before


def test_a_file_that_is_not_text_is_not_edited(folder: Path) -> None:
    (folder / "image").write_bytes(b"\xff\xd8 here")
    assert use(folder, "EditFile", path="image", old="here", new="there") == "!image is not UTF-8, so it is not edited"
    assert (folder / "image").read_bytes() == b"\xff\xd8 here"


# search


def test_lines_are_found_in_order_with_their_places(folder: Path) -> None:
    (folder / "b.txt").write_text("cost\nos x\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("os\n")
    (folder / "binary").write_bytes(b"\xff os")
    (folder / "linked").symlink_to(folder / "b.txt")
    os.mkfifo(folder / "pipe")
    found = "b.txt:2: os x\nsrc/a.py:1: import os\nsrc/a.py:2: print(os.name)"
    assert use(folder, "Search", pattern=r"\bos\b") == found
    assert use(folder, "Search", pattern=r"\bos\b", path="b.txt") == "b.txt:2: os x"
    assert use(folder, "Search", pattern="import", path="src") == "src/a.py:1: import os"
    assert use(folder, "Search", pattern="nowhere") == "no matches"


def test_a_search_that_cannot_be_made_is_reported(folder: Path) -> None:
    assert use(folder, "Search", pattern="(") == "!the pattern '(' does not compile: a parenthesis is not closed"
    assert "negative lookahead" in use(folder, "Search", pattern="(?!x)")
    assert use(folder, "Search", pattern="x", path="none") == "!none does not exist"
    assert use(folder, "Search") == "!the call of Search is wrong: 'pattern' is missing"


@pytest.mark.parametrize(("lines", "more"), [(200, False), (201, True)])
def test_a_search_returns_at_most_200_hits_and_reports_if_there_are_more(folder: Path, lines: int, more: bool) -> None:
    (folder / "many").write_text("hit\n" * lines)
    found = use(folder, "Search", pattern="hit").splitlines()
    assert found == [f"many:{n}: hit" for n in range(1, 201)] + (["(there are more)"] if more else [])


# the folder is the limit


OUT = {
    "by the parent": lambda folder: "../outside/secret.txt",
    "by an absolute path": lambda folder: str(folder.parent / "outside" / "secret.txt"),
    "by a way there and back": lambda folder: "src/../../outside/secret.txt",
    "by a link": lambda folder: link(folder / "linked.txt", folder.parent / "outside" / "secret.txt", "linked.txt"),
    "by a linked folder": lambda folder: link(folder / "link", folder.parent / "outside", "link/secret.txt"),
    "by a link to nothing yet": lambda folder: link(folder / "hole", folder.parent / "outside" / "new", "hole"),
    "by a link to a link": lambda folder: link(
        folder / "two", Path(link(folder / "one", folder.parent / "outside", str(folder / "one"))), "two/secret.txt"
    ),
}


def link(at: Path, to: Path, path: str) -> str:
    at.symlink_to(to)
    return path


@pytest.mark.parametrize("way", OUT)
@pytest.mark.parametrize("tool", ["ReadFile", "WriteFile", "EditFile", "Search"])
def test_file_tools_do_not_leave_the_work_dir(folder: Path, way: str, tool: str) -> None:
    path = OUT[way](folder)
    more = {"WriteFile": {"content": "x"}, "EditFile": {"old": "secret", "new": "x"}, "Search": {"pattern": "."}}
    assert use(folder, tool, path=path, **more.get(tool, {})) == f"!{path} is outside the work dir"
    assert tree(folder.parent / "outside") == {"secret.txt": "the secret\n"}


def test_a_neighbour_with_a_name_that_begins_alike_is_outside_too(folder: Path) -> None:
    (folder.parent / "work-too").mkdir()
    (folder.parent / "work-too" / "x").write_text("x")
    assert use(folder, "ReadFile", path="../work-too/x") == "!../work-too/x is outside the work dir"


def test_a_link_that_stays_inside_is_followed(folder: Path) -> None:
    (folder / "alias").symlink_to("src")
    assert use(folder, "ReadFile", path="alias/a.py") == "import os\nprint(os.name)\n"


def test_a_search_does_not_follow_links_out_of_the_work_dir(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "file").symlink_to(folder.parent / "outside" / "secret.txt")
    assert use(folder, "Search", pattern="secret") == "no matches"


# plain functions


def weigh(item: str, grams: int, /, *_: Any, exact: bool = False, **more: Any) -> str:
    """Weigh an item.

    Twice, if need be.
    """
    raise NotImplementedError


def test_a_plain_function_is_a_tool_with_a_schema() -> None:
    def sort(
        words: list[str],
        key: Literal["size", "name"],
        limit: int | None = None,
        ratio: float = 0.5,
        where: Path | None = None,
        extra: dict[str, Any] | None = None,
        either: int | str = 0,
        anything: Any = None,
        untyped="x",
    ) -> None:
        """Sort words."""

    tool = make_tool(sort, needs_permission=True)
    assert (tool.name, tool.description, tool.needs_permission) == ("sort", "Sort words.", True)
    assert tool.spec.parameters == {
        "type": "object",
        "properties": {
            "words": {"type": "array"},
            "key": {"enum": ["size", "name"]},
            "limit": {"type": "integer"},
            "ratio": {"type": "number"},
            "where": {"type": "string"},
            "extra": {"type": "object"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "anything": {},
            "untyped": {},
        },
        "required": ["words", "key"],
        "additionalProperties": False,
    }


def test_of_a_docstring_the_first_line_counts_and_collecting_parameters_do_not() -> None:
    tool = make_tool(weigh)
    assert (tool.description, tool.parameters) == (
        "Weigh an item.",
        {
            "type": "object",
            "properties": {
                "item": {"type": "string"},
                "grams": {"type": "integer"},
                "exact": {"type": "boolean"},
            },
            "required": ["item", "grams"],
        },
    )


def test_a_function_whose_annotations_cannot_be_resolved_is_a_tool_all_the_same() -> None:
    def odd(at: NotAName) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    assert make_tool(odd).parameters["properties"] == {"at": {}}


def test_functions_are_called_with_their_arguments_by_name() -> None:
    def add(a: int, b: int = 1) -> int:
        return a + b

    async def double(a: int) -> int:
        return a * 2

    builder, model = agent_of((call("add", a=2), call("double", a=4), call("add", c=1)), "done")
    builder.with_tools(add, double).build().run("go")
    results = list_lines(model.requests[-1])[2:]
    assert results[:2] == ["tool: 3", "tool: 8"]
    assert results[2] == "tool!: the call of add is wrong: 'a' is missing; there is no argument 'c'"


WRONG = {
    "missing": ({}, "'path' is missing"),
    "a number for a text": ({"path": 5}, "'path' must be a string"),
    "null": ({"path": None}, "'path' must be a string"),
    "a text for a number": ({"path": "x", "limit": "5"}, "'limit' must be an integer"),
    "a part of a number": ({"path": "x", "limit": 1.5}, "'limit' must be an integer"),
    "a truth for a number": ({"path": "x", "limit": True}, "'limit' must be an integer"),
    "another choice": ({"path": "x", "mode": "x"}, "'mode' must be one of 'r', 'w'"),
    "neither": ({"path": "x", "either": []}, "'either' must be an integer or a string"),
    "a text for a list": ({"path": "x", "parts": "a"}, "'parts' must be an array"),
    "an unknown one": ({"path": "x", "more": 1}, "there is no argument 'more'"),
}


@pytest.mark.parametrize(("args", "error"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_an_error_of_the_model_that_no_hook_sees(args: dict[str, Any], error: str) -> None:
    def read(
        path: str,
        limit: int = 1,
        mode: Literal["r", "w"] = "r",
        either: int | str = 1,
        parts: list[str] | None = None,
        anything=None,
    ) -> str:
        return f"{path} {limit} {mode} {either} {parts} {anything}"

    seen = []
    builder, model = agent_of(call("read", **args), call("read", path="x", limit=2.0, parts=None, anything=7), "done")
    builder = builder.with_tools(read).on_before_tool_use(lambda context: seen.append(context.args["path"]))
    builder.build().run("go")
    assert list_lines(model.requests[1])[-1] == f"tool!: the call of read is wrong: {error}"
    assert list_lines(model.requests[2])[-1] == "tool: x 2.0 r 1 None 7"
    assert seen == ["x"]


def test_a_call_that_cannot_be_read_is_an_error_of_the_model() -> None:
    seen = []
    broken = BrokenCall("work", {}, "c1", "the arguments are not JSON")
    builder, model = agent_of(broken, "done", tools=(text_tool("work"),))
    builder.on_before_tool_use(lambda context: seen.append(context.name)).build().run("go")
    assert list_lines(model.requests[-1])[-1] == "tool!: the call of work is wrong: the arguments are not JSON"
    assert seen == []


# results


class Odd:
    def __str__(self) -> str:
        return "an odd thing"


class Mute:
    def __str__(self) -> str:
        raise ValueError("nothing to say")


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def pieces() -> Any:
    yield "one"
    yield 2


async def slow_pieces() -> Any:
    yield "one"
    yield 2


async def later() -> str:
    return "later"


RESULTS: dict[str, tuple[Any, str]] = {
    "text": (lambda: "plain", "plain"),
    "nothing": (lambda: None, ""),
    "a number": (lambda: 3, "3"),
    "a flag": (lambda: False, "false"),
    "no number": (lambda: float("nan"), '"nan"'),
    "a mapping": (lambda: {"a": [1, {"é": None}]}, '{"a": [1, {"é": null}]}'),
    "bytes": (lambda: b"x", "\"b'x'\""),
    "a path": (lambda: Path("a/b"), '"a/b"'),
    "an object": (lambda: {"it": Odd()}, '{"it": "an odd thing"}'),
    "an object that cannot be shown": (Mute, '"<Mute>"'),
    "a circle": (circle, '["…"]'),
    "a generator": (pieces, '["one", 2]'),
    "an async generator": (slow_pieces, '["one", 2]'),
    "a coroutine": (later, "later"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_the_model_gets_a_result_of_any_type(kind: str) -> None:
    make, text = RESULTS[kind]
    builder, model = agent_of(call("make"), "done", tools=(Tool("make", "", lambda *_: make()),))
    builder.build().run("go")
    assert model.requests[-1][-1].text == text


def test_hooks_see_a_streamed_result_whole_and_may_replace_it() -> None:
    witness = Witness()
    builder, model = agent_of(call("make"), "done", tools=(Tool("make", "", lambda *_: pieces()),))
    builder = builder.with_hooks(witness.stack).on_after_tool_use(lambda context: context.replace(result="all"))
    builder.build().run("go")
    assert [context.result for context in witness.contexts if context.event == "post-tool-call"] == [["one", 2]]
    assert model.requests[-1][-1].text == "all"


def test_a_future_is_waited_for() -> None:
    async def run(*_: Any) -> Any:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "at last")
        return future

    builder, model = agent_of(call("wait"), "done", tools=(Tool("wait", "", run),))
    builder.build().run("go")
    assert model.requests[-1][-1].text == "at last"


# failures


def test_a_missing_tool_is_an_error_that_the_model_and_the_hooks_receive() -> None:
    witness = Witness()
    builder, model = agent_of(call("Shel", command="ls"), call_helper(), "done")
    builder.with_hooks(witness.stack).build().run("go")
    texts = [message.text for message in model.requests[-1] if message.is_error]
    assert texts == ["there is no tool 'Shel'", "there is no tool 'Subagent'"]
    assert [data["error"] for data in witness.of("post-tool-call-failure")] == texts


def call_helper() -> ToolCall:
    return call("Subagent", name="helper", task="look")


def test_a_tool_of_ones_own_may_have_the_name_that_subagents_have() -> None:
    builder, model = agent_of(call_helper(), "done", tools=(failing_tool("Subagent"),))
    builder.build().run("go")
    assert list_lines(model.requests[-1])[-1] == "tool!: it broke"


def test_a_subagent_that_is_not_there_is_an_error_the_model_reads() -> None:
    builder, model = agent_of(call("Subagent", name="nobody", task="x"), "done", helper=("found",), other=("found",))
    builder.build().run("go")
    assert model.requests[-1][-1].text == "the call of Subagent is wrong: 'name' must be one of 'helper', 'other'"


def test_a_subagent_whose_model_fails_is_an_error_the_parents_model_reads() -> None:
    builder, model = agent_of(call_helper(), "done", helper=(RuntimeError("down"),))
    assert builder.build().run("go").status == "done"
    assert model.requests[-1][-1].text == "the subagent failed: RuntimeError: down"


FAULTS: dict[str, tuple[BaseException, str]] = {
    "with words": (ValueError("wrong"), "wrong"),
    "without words": (ValueError(), "ValueError"),
    "the end of an iteration": (StopIteration("x"), "coroutine raised StopIteration"),
    "the end of the program": (SystemExit(2), "the tool tried to end the program: exit 2"),
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("is_async", [False, True])
def test_any_error_that_a_tool_raises_is_the_result_of_its_call(kind: str, is_async: bool) -> None:
    error, text = FAULTS[kind]

    def run(*_: Any) -> Any:
        raise error

    async def arun(*_: Any) -> Any:
        raise error

    builder, model = agent_of(call("raise"), "done", tools=(Tool("raise", "", arun if is_async else run),))
    assert builder.build().run("go").text == "done"
    assert (model.requests[-1][-1].text, model.requests[-1][-1].is_error) == (text, True)


# threads


def test_sync_tools_of_one_step_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(args: Mapping[str, Any], _: Workplace) -> int:
        return both.wait() >= 0

    builder, model = agent_of((call("meet"), call("meet")), "done", tools=(Tool("meet", "", meet),))
    builder.build().run("go")
    assert list_lines(model.requests[-1])[2:] == ["tool: true", "tool: true"]


def test_a_sync_tool_sees_the_context_variables_of_its_caller() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    async def go() -> str:
        who.set("me")
        builder, model = agent_of(call("ask"), "done", tools=(Tool("ask", "", lambda *_: who.get()),))
        await builder.build().arun("go")
        return model.requests[-1][-1].text

    assert asyncio.run(go()) == "me"


def test_a_sync_tool_that_is_left_behind_holds_nothing_up() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def wait(*_: Any) -> str:
        started.set()
        release.wait(60)
        ended.set()
        return "too late"

    async def go() -> None:
        builder, _ = agent_of(call("wait"), "done", tools=(Tool("wait", "", wait),))
        task = asyncio.create_task(builder.build().arun("go"))
        await asyncio.to_thread(started.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert not ended.is_set()
    release.set()
    assert ended.wait(60)


def test_a_tool_knows_where_it_works_and_for_whom(tmp_path: Path) -> None:
    places: list[Workplace] = []
    tool = Tool("look", "", lambda args, folder: places.append(folder))
    builder, _ = agent_of(call("look"), "done", tools=(tool,))
    agent = builder.in_dir(tmp_path).build()
    agent.run("go")
    assert places == [Workplace(str(tmp_path), agent)]
