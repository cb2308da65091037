"""Requests to models and their answers, without a network."""

from __future__ import annotations

import json

import pytest

from boathook.core.model_protocols import MODEL_PROTOCOLS, find_model_protocol

CHAT, RESPONSES, MESSAGES = (MODEL_PROTOCOLS[name] for name in ("openai-chat", "openai", "anthropic"))
CALL = {"ok": False, "reason": "no"}


def wrap_chat(arguments, name="final_result"):
    call = {"function": {"name": name, "arguments": arguments}}
    return {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}


def wrap_responses(arguments, name="final_result"):
    return {"output": [{"type": "reasoning"}, {"type": "function_call", "name": name, "arguments": arguments}]}


def wrap_messages(arguments, name="final_result"):
    block = {"type": "tool_use", "name": name, "input": json.loads(arguments)}
    return {"content": [{"type": "text", "text": "Hm."}, block]}


WRAPPERS = [(CHAT, wrap_chat), (RESPONSES, wrap_responses), (MESSAGES, wrap_messages)]


@pytest.mark.parametrize(("protocol", "wrap"), WRAPPERS)
@pytest.mark.parametrize(
    ("arguments", "judgement"),
    [
        ({"ok": True}, {"ok": True, "reason": ""}),
        ({"ok": False, "reason": "nö"}, {"ok": False, "reason": "nö"}),
        ({"ok": "False", "reason": None}, {"ok": False, "reason": ""}),
        ({"ok": 1, "more": []}, {"ok": True, "reason": ""}),
        ({"ok": "maybe"}, None),
        ({"ok": None}, None),
        ({"ok": []}, None),
        ({"ok": True, "reason": {"a": 1}}, None),
        ({"reason": "no"}, None),
        ([True], None),
        (True, None),
        ("true", None),
    ],
)
def test_the_judgement_is_read_from_the_call_in_every_protocol(protocol, wrap, arguments, judgement):
    assert protocol.read_judgement(json.dumps(wrap(json.dumps(arguments)))) == judgement


@pytest.mark.parametrize(("protocol", "wrap"), WRAPPERS)
def test_a_call_of_something_else_is_not_a_judgement(protocol, wrap):
    assert protocol.read_judgement(json.dumps(wrap(json.dumps(CALL), name="other"))) is None


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "{",
            "[]",
            "null",
            "1",
            '"x"',
            "{}",
            '{"choices": []}',
            '{"choices": [{"message": {"tool_calls": null}}]}',
        ),
        *('{"choices": [{"message": {"tool_calls": [{"function": {"name": "final_result", "arguments": "{"}}]}}]}',),
        *('{"output": [1]}', '{"output": [{}]}', '{"content": "text"}', '{"content": [{"type": "tool_use"}]}'),
        "[" * 100_000,
    ],
)
def test_an_answer_of_any_other_form_is_not_a_judgement(protocol, text):
    assert protocol.read_judgement(text) is None


@pytest.mark.parametrize(
    ("name", "environment", "expected"),
    [
        ("openai:gpt-5-mini", {}, RESPONSES),
        ("openai-responses:gpt-5-mini", {}, RESPONSES),
        ("openai-chat:gpt-4o", {"OPENAI_CUSTOM_HEADERS": ""}, CHAT),
        ("openai-chat:gpt-4o", {"OPENAI_CUSTOM_HEADERS": "X-A: b"}, None),
        ("anthropic:claude-haiku-4-5", {"OPENAI_CUSTOM_HEADERS": "X-A: b"}, MESSAGES),
        ("anthropic:claude-haiku-4-5", {"ANTHROPIC_CUSTOM_HEADERS": "X-A: b"}, None),
        ("groq:x", {}, None),
        ("openai", {}, None),
        ("openai:", {}, None),
        ("test", {}, None),
    ],
)
def test_a_model_has_a_protocol_here_or_is_left_to_the_library(name, environment, expected):
    assert find_model_protocol(name, environment) is expected


def test_the_organization_and_the_project_are_sent_if_they_are_set():
    environment = {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": ""}
    assert CHAT.make_headers(environment) == {"Authorization": "Bearer k", "OpenAI-Organization": "o"}


def test_a_key_may_be_missing_only_for_a_model_of_ones_own():
    assert CHAT.lacks_key({})
    assert CHAT.lacks_key({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""})
    assert not CHAT.lacks_key({"OPENAI_BASE_URL": "http://127.0.0.1:8000"})
    assert MESSAGES.lacks_key({"ANTHROPIC_BASE_URL": "http://127.0.0.1:8000"})
