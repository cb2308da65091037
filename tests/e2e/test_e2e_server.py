"""The scripted model plays its script to the agent alone."""

from __future__ import annotations

import json
import threading
import urllib.request

import pytest

from e2e.server import PROJECT_FOLDER, Script, Step, serve

STEPS = (Step("first", "ls"), Step("end", text="done"))
PROMPT = "the prompt"
OWN = {"messages": [{"role": "user", "content": PROMPT}], "tools": [{"name": "Bash"}]}


@pytest.fixture
def script():
    return Script(STEPS, PROMPT, "Bash", lambda command: {"command": command})


def content(script: Script, body: dict) -> dict:
    status, _, data = script.reply("/v1/messages", json.dumps(body).encode())
    assert status == 200
    return json.loads(data)["content"][0]


def test_each_request_of_the_agent_takes_a_step(script):
    assert content(script, OWN)["input"] == {"command": "ls"}
    assert content(script, OWN)["text"] == "done"
    assert [(one.step, one.is_own) for one in script.requests] == [("first", True), ("end", True)]


@pytest.mark.parametrize(
    "aside",
    [{**OWN, "tools": []}, {**OWN, "tools": [{"name": "Memory"}]}, {**OWN, "messages": []}],
    ids=["no tools", "other tools", "another prompt"],
)
def test_other_requests_take_none(script, aside):
    assert content(script, aside) == {"type": "text", "text": "fine"}
    assert content(script, OWN)["name"] == "Bash"
    assert [one.is_own for one in script.requests] == [False, True]


def test_after_the_script_there_are_harmless_texts_that_count_as_no_step(script):
    for _ in range(3):
        last = content(script, OWN)
    assert last["text"] == "fine"
    assert [one.step for one in script.requests] == ["first", "end", ""]


def test_ids_of_calls_differ():
    script = Script((Step("a", "ls"), Step("b", "ls")), PROMPT, "Bash", lambda command: {"command": command})
    assert content(script, OWN)["id"] != content(script, OWN)["id"]


def test_a_step_may_call_another_tool_in_the_folder_of_the_run():
    step = Step("file", tool="create", arguments={"path": f"{PROJECT_FOLDER}/new", "file_text": "x"})
    script = Script((step,), PROMPT, "Bash", lambda command: {"command": command}, "/some/where")
    found = content(script, OWN)
    assert (found["name"], found["input"]) == ("create", {"path": "/some/where/new", "file_text": "x"})


def test_a_step_may_make_several_calls_at_once_of_any_shape():
    more = (Step("", "ls {outside}"), Step("", tool="patch", arguments="in {project}"))
    step = Step("many", tool="edit", arguments={"edit": {"paths": [f"{PROJECT_FOLDER}/a", 1]}}, also=more)
    script = Script((step,), PROMPT, "Bash", lambda command: {"command": command}, "/some/where", "/else")
    _, _, data = script.reply("/v1/messages", json.dumps(OWN).encode())
    found = json.loads(data)["content"]
    assert [(one["name"], one["input"]) for one in found] == [
        ("edit", {"edit": {"paths": ["/some/where/a", 1]}}),
        ("Bash", {"command": "ls /else"}),
        ("patch", "in /some/where"),
    ]
    assert len({one["id"] for one in found}) == 3


def test_a_request_that_is_not_a_question_is_answered_too(script):
    assert script.reply("/v1/messages/count_tokens", b"{}")[0] == 200
    assert script.reply("/v1beta/models/m:countTokens", b"{}")[0] == 200
    assert script.reply("/whatever", b"no json")[0] == 404
    assert script.reply("/v1/messages", b"no json")[0] == 200
    assert script.reply("/v1/messages", b"[1]")[0] == 200


@pytest.fixture
def address(script):
    server = serve(script)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_it_is_served_on_loopback(script, address):
    request = urllib.request.Request(f"{address}/v1/messages?beta=true", json.dumps(OWN).encode())
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["content"][0]["name"] == "Bash"
    with urllib.request.urlopen(f"{address}/v1/models") as answer:
        assert json.load(answer)["data"][0]["id"] == "scripted"
    assert script.requests[0].path == "/v1/messages?beta=true"


def test_a_chunked_body_is_read(script, address):
    request = urllib.request.Request(
        f"{address}/v1/messages", iter([json.dumps(OWN).encode()[:20], json.dumps(OWN).encode()[20:]])
    )
    request.add_header("Transfer-Encoding", "chunked")
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["content"][0]["name"] == "Bash"


def test_what_happens_meanwhile_does_not_hold_up_the_answer_and_its_errors_are_kept():
    is_answered, happened = threading.Event(), []

    def happen() -> None:
        is_answered.wait(60)
        happened.append(1)
        raise RuntimeError("it failed")

    step = Step("one", "ls", meanwhile="something")
    script = Script((step,), PROMPT, "Bash", lambda command: {"command": command}, actions={"something": happen})
    assert content(script, OWN)["input"] == {"command": "ls"}
    assert happened == []
    is_answered.set()
    script.finish()
    assert (happened, script.errors) == ([1], ["something: RuntimeError: it failed"])
