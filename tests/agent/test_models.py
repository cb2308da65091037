"""Models: one that plays a script, and those of providers, against a scripted server on loopback."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from boathook import AgentBuilder, ConfigError, Outcome, ScriptedModel, ToolCall
from boathook.agent.model import BrokenCall, Message, Reply, ToolSpec, estimate_tokens
from boathook.agent.providers import load_model, read_model_call, to_provider_messages
from boathook.agent.scripted import read_script
from tests.process.scripted_model import Refusal
from tests.process.scripted_model import ScriptedModel as Server

from .builders import agent_of, call, text_tool

HELLO = (Message("user", "hello"),)


# scripted


def replies(model: ScriptedModel, count: int) -> list[Reply]:
    async def ask() -> list[Reply]:
        return [await model.reply(HELLO, ()) for _ in range(count)]

    return asyncio.run(ask())


async def later(messages: Any) -> str:
    return f"later: {messages[-1].text}"


def test_a_script_plays_texts_calls_replies_and_callables_and_then_nothing() -> None:
    given = ToolCall("c", {}, "mine")
    model = ScriptedModel(
        [
            "text",
            ToolCall("a", {"n": 1}),
            (ToolCall("b"), given),
            [],
            Reply("both", (ToolCall("d"),), 7),
            lambda messages: messages[-1].text,
            lambda _: lambda _: ToolCall("e"),
            later,
        ]
    )
    assert replies(model, 10) == [
        Reply("text"),
        Reply("", (ToolCall("a", {"n": 1}, "call-1"),)),
        Reply("", (ToolCall("b", {}, "call-2"), given)),
        Reply(""),
        Reply("both", (ToolCall("d", {}, "call-4"),), 7),
        Reply("hello"),
        Reply("", (ToolCall("e", {}, "call-5"),)),
        Reply("later: hello"),
        Reply(""),
        Reply(""),
    ]
    assert model.requests == [HELLO] * 10


def test_an_error_in_a_script_is_raised_and_the_script_goes_on() -> None:
    model = ScriptedModel([ValueError("down"), lambda _: OSError("gone"), "up"])
    for error in (ValueError, OSError):
        with pytest.raises(error):
            replies(model, 1)
    assert replies(model, 1) == [Reply("up")]


def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    moves = ["hello", {"text": "on it", "calls": [{"name": "Shell", "args": {"command": "ls"}, "id": "x"}]}, ""]
    path.write_text(json.dumps([*moves, {"calls": [{"name": "look"}]}]))
    model = read_script(str(path))
    assert model.name == "script script.json"
    assert replies(model, 4) == [
        Reply("hello"),
        Reply("on it", (ToolCall("Shell", {"command": "ls"}, "x"),)),
        Reply(""),
        Reply("", (ToolCall("look", {}, "call-2"),)),
    ]


MOVE = '(a move is a text, or {"text": …, "calls": [{"name": …, "args": {…}}]})'
BROKEN_SCRIPTS = {
    "no JSON": ("[", "cannot be read: Expecting value"),
    "no list": ('{"a": 1}', "must be a list of moves"),
    "a number": ("[3]", MOVE),
    "nothing": ("[null]", MOVE),
    "calls that are not a list": ('[{"calls": {}}]', MOVE),
    "a call without a name": ('[{"calls": [{"args": {}}]}]', MOVE),
    "a call that is a text": ('[{"calls": ["ls"]}]', MOVE),
    "arguments that are not an object": ('[{"calls": [{"name": "x", "args": []}]}]', MOVE),
    "a text that is none": ('[{"text": 3}]', MOVE),
    "no move": ("[]", "must be a list of moves, with at least one"),
    "neither text nor calls": ("[{}]", "it has neither text nor calls"),
    "no calls": ('[{"calls": []}]', "it has neither text nor calls"),
    "a call in place of a move": ('[{"tool": "Shell"}]', "there is no key 'tool', did you mean 'calls'?"),
    "a typing error": ('[{"text": "x", "call": []}]', "there is no key 'call', did you mean 'calls'?"),
    "another key of a call": ('[{"calls": [{"tool": "x"}]}]', "there is no key 'tool', did you mean 'name'?"),
    "bytes that are not text": (b"\xff", "cannot be read: 'utf-8' codec"),
}


@pytest.mark.parametrize("kind", BROKEN_SCRIPTS)
def test_a_script_that_cannot_be_played_raises_an_error_with_the_cause(tmp_path: Path, kind: str) -> None:
    content, reported = BROKEN_SCRIPTS[kind]
    path = tmp_path / "script.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as error:
        read_script(str(path))
    assert str(path) in str(error.value)
    assert reported in str(error.value)


def test_the_second_move_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('["fine", 3]')
    with pytest.raises(ConfigError, match=r"^move 2 of the script"):
        read_script(str(path))


def test_a_missing_script_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: .*No such file"):
        read_script(str(tmp_path / "none.json"))


def test_tokens_are_guessed_from_characters_of_texts_and_calls() -> None:
    messages = [Message("user", "12345678"), Message("assistant", "", (ToolCall("1234", {"a": 1}),))]
    assert estimate_tokens(messages) == (8 + 4 + len("{'a': 1}")) // 4


# of providers


PROVIDERS = ("openai-chat:gpt-4o", "openai:gpt-4o", "anthropic:claude-haiku-4-5")


@pytest.fixture
def library() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra 'agent' is not installed: pip install 'boathook[agent]'")


@pytest.fixture
def serving(library: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start a server that plays answers; the environment points at it."""
    started: list[Server] = []

    def start(*answers: Any) -> Server:
        server = Server(*answers)
        server.__enter__()
        started.append(server)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return server

    yield start
    for server in started:
        server.__exit__()


def weigh(item: str) -> str:
    """Weigh an item."""
    return f"{item} weighs 3 g"


CONVERSATIONS: dict[str, list[Any]] = {
    "openai-chat:gpt-4o": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weigh", "arguments": '{"item":"pen"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "pen weighs 3 g"},
    ],
    "openai:gpt-4o": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"name": "weigh", "arguments": '{"item":"pen"}', "call_id": "call_1", "type": "function_call"},
        {"type": "function_call_output", "call_id": "call_1", "output": "pen weighs 3 g"},
    ],
    "anthropic:claude-haiku-4-5": [
        {"role": "user", "content": [{"text": "go", "type": "text"}]},
        {
            "role": "assistant",
            "content": [{"id": "tool_1", "type": "tool_use", "name": "weigh", "input": {"item": "pen"}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "tool_use_id": "tool_1",
                    "type": "tool_result",
                    "content": [{"text": "pen weighs 3 g", "type": "text"}],
                    "is_error": False,
                }
            ],
        },
    ],
}


def sent(server: Server, at: int) -> list[Any]:
    body = server.requests[at].body
    found: list[Any] = body["messages"] if "messages" in body else body["input"]
    return found


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_call_goes_to_the_tool_and_its_result_back_to_the_model(serving: Any, name: str) -> None:
    server = serving({"item": "pen"}, "it is light")
    agent = AgentBuilder().with_model(name).with_tools(weigh).with_system("be brief").build()
    result = agent.run("go")
    assert (result.text, [one.text for one in result.steps[0].results]) == ("it is light", ["pen weighs 3 g"])
    assert agent.model.name == name
    assert sent(server, 1) == CONVERSATIONS[name]


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_model_gets_the_tools(serving: Any, name: str) -> None:
    server = serving("fine")
    AgentBuilder().with_model(name).with_tools(weigh).build().run("go")
    reported = server.requests[0].body["tools"][0]
    reported = reported.get("function", reported)
    schema = reported.get("parameters") or reported["input_schema"]
    assert (reported["name"], reported["description"]) == ("weigh", "Weigh an item.")
    assert (schema["properties"], schema["required"]) == ({"item": {"type": "string"}}, ["item"])


def test_a_blocked_call_is_an_error_for_the_provider(serving: Any) -> None:
    server = serving({"item": "pen"}, "a pity")
    builder = AgentBuilder().with_model("anthropic:claude-haiku-4-5").with_tools(weigh)
    builder.on_before_tool_use(lambda _: Outcome.block("not today")).build().run("go")
    assert sent(server, 1)[-1]["content"] == [
        {
            "tool_use_id": "tool_1",
            "type": "tool_result",
            "content": [{"text": "error: not today", "type": "text"}],
            "is_error": True,
        }
    ]


def test_the_model_reports_how_many_tokens_there_are_or_does_not(serving: Any) -> None:
    serving("fine", "fine", "fine")
    found = {name: AgentBuilder().with_model(name).build().run("go").steps[0].reply.tokens for name in PROVIDERS}
    assert found == {"openai-chat:gpt-4o": 2, "openai:gpt-4o": None, "anthropic:claude-haiku-4-5": 2}


@pytest.mark.parametrize("name", PROVIDERS)
def test_one_agent_serves_one_event_loop_after_the_other(
    serving: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are kept, and those of a loop that is closed can be used no more."""
    server = serving("one", "two", "three")
    monkeypatch.setattr(server._server.RequestHandlerClass, "protocol_version", "HTTP/1.1")
    agent = AgentBuilder().with_model(name).build()
    assert [agent.run("go").text, agent.run("go").text, asyncio.run(agent.arun("go")).text] == ["one", "two", "three"]


def test_a_provider_that_refuses_is_a_failure_of_the_turn(serving: Any) -> None:
    serving(Refusal(400, "too much"), "better")
    heard: list[str] = []
    builder = AgentBuilder().with_model("openai-chat:gpt-4o")
    agent = builder.on_agent_failed(lambda context: heard.append(context.error_message)).build()
    with agent.session() as session:
        with pytest.raises(Exception, match="too much"):
            session.run("go")
        assert session.run("go").text == "better"
    assert len(heard) == 1
    assert "too much" in heard[0]


def test_what_hooks_note_comes_after_all_results_in_one_request(library: None) -> None:
    builder, model = agent_of((call("work", n=1), call("work", n=2)), "done", tools=(text_tool("work"),))
    builder.on_after_tool_use(lambda context: context.add_context(f"note {context.args['n']}")).build().run("go")
    kinds = [[part.part_kind for part in message.parts] for message in to_provider_messages(model.requests[-1])]
    assert kinds == [
        ["user-prompt"],
        ["tool-call", "tool-call"],
        ["tool-return", "tool-return", "user-prompt", "user-prompt"],
    ]


def test_an_empty_answer_is_not_sent_back(library: None) -> None:
    messages = [Message("user", "go"), Message("assistant"), Message("user", "go on")]
    assert [[part.content for part in message.parts] for message in to_provider_messages(messages)] == [["go", "go on"]]


def test_calls_text_and_system_are_kept_apart(library: None) -> None:
    messages = [
        Message("system", "be brief"),
        Message("user", "go"),
        Message("assistant", "on it", (ToolCall("look", {"at": 1}, "x"),)),
        Message("tool", "seen", (), "x", "look"),
    ]
    found = [
        [(part.part_kind, getattr(part, "content", None)) for part in one.parts]
        for one in to_provider_messages(messages)
    ]
    assert found == [
        [("system-prompt", "be brief"), ("user-prompt", "go")],
        [("text", "on it"), ("tool-call", None)],
        [("tool-return", "seen")],
    ]


# names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "write the model as provider:name, such as openai:gpt-5-mini, not 'gpt-4o'"),
        ("", "write the model as provider:name, such as openai:gpt-5-mini, not ''"),
        ("nobody:nothing", "the model nobody:nothing cannot be used: "),
        ("openai-chat:gpt-4o", "the model openai-chat:gpt-4o cannot be used: "),
    ],
)
def test_a_model_that_is_not_available_raises_an_error_with_the_reason(
    library: None, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError) as error:
        AgentBuilder().with_model(name)
    assert str(error.value).startswith(message)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.models", None)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(
        ConfigError, match=r"a library for models is missing. Install it with: .* -m pip install .*pydantic"
    ):
        load_model("openai:gpt-4o")


def test_a_model_is_any_object_that_answers() -> None:
    class Parrot:
        name = "parrot"

        async def reply(self, messages: Any, tools: tuple[ToolSpec, ...]) -> Reply:
            return Reply(f"{messages[-1].text}, {[tool.name for tool in tools]}")

    agent = AgentBuilder().with_model(Parrot()).with_tools(weigh).build()
    assert agent.run("hello").text == "hello, ['weigh']"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ('{"path": ', "the arguments are not JSON: "),
        ('["x"]', "the arguments must be a JSON object, not a list"),
        ('"x"', "the arguments must be a JSON object, not text"),
    ],
)
def test_arguments_that_are_not_an_object_are_a_broken_call(args: str, problem: str) -> None:
    part = pytest.importorskip("pydantic_ai.messages").ToolCallPart("read", args, "c1")
    broken = read_model_call(part)
    assert isinstance(broken, BrokenCall)
    assert (broken.name, broken.args, broken.id) == ("read", {}, "c1")
    assert broken.problem.startswith(problem)


@pytest.mark.parametrize("args", ['{"path": "x"}', {"path": "x"}])
def test_arguments_are_read_as_text_or_as_an_object(args: Any) -> None:
    part = pytest.importorskip("pydantic_ai.messages").ToolCallPart("read", args, "c1")
    assert read_model_call(part) == ToolCall("read", {"path": "x"}, "c1")
    part = pytest.importorskip("pydantic_ai.messages").ToolCallPart("read", "", "c1")
    assert read_model_call(part) == ToolCall("read", {}, "c1")
