"""Hooks that ask a model or a server, through the whole engine: in a process and by command, against loopback."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

import boathook
from tests import forked

from .scripted_model import Refusal, ScriptedModel

pytestmark = [pytest.mark.one_at_a_time, pytest.mark.remote]
CHAT, OTHER_CHAT = "openai-chat:gpt-4o", "openai-chat:gpt-4o-mini"
TOOL = {"event_type": "pre-tool-call", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
TURN = {"event_type": "pre-agent-turn", "prompt": "héllo", "session_id": "s"}
START = {"event_type": "pre-session", "session_id": "s"}
STOP = {"event_type": "pre-agent-turn-stop", "session_id": "s", "stop_reason": "no_tool_calls"}
NO_MODEL = (
    'no model is named for prompt hooks: set model = "provider:name" under [hooks] in your hooks.toml, '
    "or 'model' in the hook"
)
PATIENCE = 60.0
# The tests in which a command starts the real program that asks.
REAL_BY_COMMAND = ("test_a_server_blocks_and_its_reason_is_reported", "test_a_model_sends_the_agent_back_to_work")
WITH_STAND_IN = """
import runpy
from boathook.process import command
command.HOOK_ENTRY = {stand_in!r}
runpy.run_module("boathook", run_name="__main__", alter_sys=True)
"""


# servers


@dataclass(frozen=True)
class Posted:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """What a server on loopback was sent, and where it is."""

    where: str = ""
    posted: list[Posted] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"{self.where}/hook"


Reply = Callable[[Server, BaseHTTPRequestHandler], tuple[int, str] | None]


@contextmanager
def serving(reply: Reply):
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.posted.append(Posted(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            answer = reply(found, self)
            if answer is not None:
                data = answer[1].encode()
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # clients of these tests hang up
    found.where = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


def answers(answer: object, status: int = 200) -> Reply:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return lambda *_: (status, text)


def waits_for_the_end(server: Server, handler: BaseHTTPRequestHandler) -> None:
    """Answer nothing, and note when the other side has gone."""
    while handler.rfile.read(1):
        pass
    server.hung_up.set()


# ways in


def in_process(project, event) -> dict:
    """Dispatch in this process."""
    with pytest.MonkeyPatch.context() as patch:
        if stand_in := make_stand_in(project):
            patch.setattr("boathook.process.command.HOOK_ENTRY", stand_in)
        return dispatched(project, event)


def make_stand_in(project) -> str:
    """Return a program that hands a question to a warm process, because the libraries take seconds; "" for tests without one."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    is_real = forked.goes_apart() or ("by command" in test and any(name in test for name in REAL_BY_COMMAND))
    server = None if is_real else forked.server_for({}, preloaded=forked.LIBRARIES_OF_ASKERS)
    return server.stand_in(project.base / "stand_in.py", forked.ASK) if server else ""


def dispatched(project, event) -> dict:
    with boathook.load(project.path, trust_all=True) as engine:
        return engine.dispatch({"work_dir": str(project.path), **event}).to_json()


def by_command(project, event) -> dict:
    done = run(project, event, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def run(project, event, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    stand_in = make_stand_in(project) if python == sys.executable else ""
    program = ["-c", WITH_STAND_IN.format(stand_in=stand_in)] if stand_in else ["-m", "boathook"]
    return forked.run(
        [python, *program, "run", "--trust-all", *arguments],
        input=json.dumps({"work_dir": str(project.path), **event}),
        text=True,
        cwd=project.base,
        env=project.environment,
        timeout=60,
    )


WAYS = {"in process": in_process, "by command": by_command}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def fire(request, project, monkeypatch):
    """Send an event in one of two ways and get the verdict as JSON."""
    monkeypatch.setenv("NO_PROXY", "*")
    return lambda event: request.param(project, event)


@pytest.fixture
def ask(project):
    """Send an event in process; who asks a model takes seconds to start, so the other way is left to a few tests."""
    return lambda event: in_process(project, event)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    """No real keys: a slip in a test must not ask a real model."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model(monkeypatch):
    """Make a model that sends the answers of a script, and point both libraries at it."""

    @contextmanager
    def made(*script):
        with ScriptedModel(*script) as found:
            for name, value in found.environment.items():
                monkeypatch.setenv(name, value)
            yield found

    return made


def settings(project, *entries: dict, event: str = "PreToolUse") -> None:
    project.write_settings("project", {"hooks": {event: [{"hooks": list(entries)}]}})


def http(url: str, **more) -> dict:
    return {"type": "http", "url": url, **more}


def prompt(text: str = "May it?", **more) -> dict:
    return {"type": "prompt", "prompt": text, **more}


def command(text: str) -> dict:
    return {"type": "command", "command": text, "timeout": PATIENCE}


def use_model(project, name: str) -> None:
    project.write_hooks_toml("user", f'[hooks]\nmodel = "{name}"\n')


def ends(verdict: dict) -> list[tuple[str, int | None, str, str | None]]:
    """Status, exit code, decision and reason of every run, in an order of their own."""
    found = [(run["status"], run["exit_code"], run["decision"], run["reason"]) for run in verdict["runs"]]
    return sorted(found, key=str)


# http hooks


def test_a_server_blocks_and_its_reason_is_reported(project, fire):
    with serving(answers({"decision": "block", "reason": "not today"})) as server:
        settings(project, http(server.url))
        verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["not today"])
    assert ends(verdict) == [("ok", 0, "block", "not today")]


@pytest.mark.parametrize("body", ["", "{}", '{"continue": true}', "fine"])
def test_a_server_without_an_opinion_lets_the_call_pass(project, fire, body):
    with serving(answers(body)) as server:
        settings(project, http(server.url))
        verdict = fire(TOOL)
    assert (verdict["decision"], verdict["additional_context"], ends(verdict)) == (
        "none",
        [],
        [("ok", 0, "none", None)],
    )


def test_a_server_may_rewrite_and_allow_like_any_hook(project, fire):
    nested = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "ls -a"}}
    with serving(answers({"hookSpecificOutput": nested, "systemMessage": "changed"})) as server:
        settings(project, http(server.url))
        verdict = fire(TOOL)
    assert (verdict["decision"], verdict["modified_input"], verdict["system_message"]) == (
        "allow",
        {"command": "ls -a"},
        ["changed"],
    )


def test_plain_words_of_a_server_are_context_where_those_of_a_command_are(project, fire):
    with serving(answers("the sun shines – today")) as server:
        settings(project, http(server.url), event="UserPromptSubmit")
        verdict = fire(TURN)
    assert verdict["additional_context"] == ["the sun shines – today"]


@pytest.mark.parametrize("event", [TOOL, TURN, STOP], ids=lambda event: event["event_type"])
def test_a_server_is_posted_what_a_command_reads(project, fire, event):
    name = {"pre-tool-call": "PreToolUse", "pre-agent-turn": "UserPromptSubmit", "pre-agent-turn-stop": "Stop"}
    read = project.base / "read"
    with serving(answers("")) as server:
        settings(project, http(server.url), command(f"cat > {read}"), event=name[event["event_type"]])
        fire(event)
    [posted] = server.posted
    assert (posted.path, posted.headers["content-type"]) == ("/hook", "application/json")
    assert posted.body == json.loads(read.read_text())


STRANGE = {
    "large": "x" * 2_000_000,
    "nul": "a\0b",
    "half a character": "a\ud800b",
    "a line break and quotes": 'a\n"\\\u2028',
    "another script": "Ελληνικά 😀",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_any_text_of_an_event_reaches_a_server_and_its_block_comes_back(project, fire, text):
    with serving(answers({"decision": "block", "reason": "no"})) as server:
        settings(project, http(server.url))
        verdict = fire({**TOOL, "tool_input": {"command": text}})
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["no"])
    assert [posted.body["tool_input"] for posted in server.posted] == [{"command": text}]


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_a_model_can_be_asked_about_any_text_of_an_event(project, ask, model, text):
    use_model(project, CHAT)
    settings(project, prompt())
    with model({"ok": False, "reason": "no"}) as asked:
        verdict = ask({**TOOL, "tool_input": {"command": text}})
    assert (verdict["decision"], verdict["reasons"], len(asked.requests)) == ("block", ["no"], 1)


def test_only_variables_that_are_allowed_reach_a_header(project, fire, monkeypatch):
    monkeypatch.setenv("POLICY_TOKEN", "t-1234567")
    monkeypatch.setenv("OTHER_TOKEN", "never-sent")
    headers = {
        "Authorization": "Bearer $POLICY_TOKEN",
        "X-Braced": "<${POLICY_TOKEN}>",
        "X-Other": "<$OTHER_TOKEN${OTHER_TOKEN}>",
        "X-Unset": "<$UNSET_TOKEN>",
        "X-Plain": "$5 or $",
    }
    with serving(answers("")) as server:
        settings(project, http(server.url, headers=headers, allowedEnvVars=["POLICY_TOKEN", "UNSET_TOKEN"]))
        fire(TOOL)
    [posted] = server.posted
    assert {name: posted.headers[name.lower()] for name in headers} == {
        "Authorization": "Bearer t-1234567",
        "X-Braced": "<t-1234567>",
        "X-Other": "<>",
        "X-Unset": "<>",
        "X-Plain": "$5 or $",
    }
    assert "never-sent" not in str(posted)


def test_a_variable_that_the_session_exported_reaches_a_header(project, fire):
    with serving(answers("")) as server:
        asks = http(server.url, headers={"X-Key": "$SESSION_KEY"}, allowedEnvVars=["SESSION_KEY"])
        exports = command("""echo 'export SESSION_KEY="of this session"' >> "$CLAUDE_ENV_FILE" """)
        groups = {"SessionStart": [{"hooks": [exports]}], "PreToolUse": [{"hooks": [asks]}]}
        project.write_settings("project", {"hooks": groups})
        for event in (TOOL, START, TOOL, {**TOOL, "session_id": "other"}):
            fire(event)
    assert [posted.headers["x-key"] for posted in server.posted] == ["", "of this session", ""]


def test_a_server_that_fails_is_reported_in_the_verdict_and_the_call_passes(project, fire):
    with serving(answers("out of order", 503)) as server:
        settings(project, http(server.url))
        verdict = fire(TOOL)
    why = f"{server.where} answered 503 Service Unavailable: out of order"
    assert (verdict["decision"], ends(verdict)) == ("none", [("failed", 3, "none", why)])


def test_a_server_that_fails_is_reported_on_stderr_and_to_claude_code(project):
    with serving(answers("out of order", 503)) as server:
        settings(project, http(server.url))
        name = by_command(project, TOOL)["runs"][0]["hook"]
        done = run(project, TOOL)
        payload = {"hook_event_name": "PreToolUse", "cwd": str(project.path), **TOOL}
        claude = run(project, payload, "--host", "claude")
    message = f"hook '{name}' failed: {server.where} answered 503 Service Unavailable: out of order"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"boathook: {message}\n")
    assert (claude.returncode, json.loads(claude.stdout)) == (0, {"systemMessage": message})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ('{"decision": "deny"}', "unknown 'decision' 'deny'"),
        ("{", "Expecting property name"),
        ('{"decision": "block", "decision": "approve"}', "'decision'"),
        ('[{"decision": "block"}]', "text before the JSON object"),
    ],
)
def test_an_answer_of_a_server_that_cannot_be_read_is_not_an_approval(project, fire, answer, why):
    with serving(answers(answer)) as server:
        settings(project, http(server.url))
        verdict = fire(TOOL)
    [(status, code, decision, reported)] = ends(verdict)
    assert (verdict["decision"], status, code, decision) == ("none", "unreadable", 0, "none")
    assert reported is not None
    assert reported.startswith("the answer is not valid: ")
    assert why.partition(" (")[0] in reported


def test_a_failure_of_a_server_blocks_where_the_user_wants_that(project, fire):
    with serving(answers("", 500)) as server:
        settings(project, http(server.url))
        name = fire(TOOL)["runs"][0]["hook"]
        project.write_hooks_toml("user", f'[[hooks.override]]\nname = "{name}"\non_failure = "block"\n')
        verdict = fire(TOOL)
    assert verdict["reasons"] == [f"hook '{name}' failed: {server.where} answered 500 Internal Server Error"]


def test_a_secret_that_a_server_repeats_is_not_shown(project, monkeypatch):
    monkeypatch.setenv("POLICY_TOKEN", "t-1234567")
    with serving(lambda _, handler: (401, f"{handler.headers['Authorization']} is wrong")) as server:
        headers = {"Authorization": "Bearer $POLICY_TOKEN"}
        settings(project, http(server.url, headers=headers, allowedEnvVars=["POLICY_TOKEN"]))
        done, plain = run(project, TOOL, "--json"), run(project, TOOL, "--debug")
    assert "t-1234567" not in done.stdout + done.stderr + plain.stdout + plain.stderr
    assert "answered 401 Unauthorized: [hidden] is wrong" in plain.stderr


def test_the_same_address_is_posted_to_once(project, fire):
    with serving(answers("")) as server:
        settings(project, http(server.url), http(server.url, timeout=30), http(server.url, headers={"X": "1"}))
        verdict = fire(TOOL)
    assert (len(verdict["runs"]), len(server.posted)) == (2, 2)


# prompt hooks


@pytest.mark.parametrize("name", [CHAT, "openai:gpt-5-mini", "anthropic:claude-haiku-4-5"])
def test_a_model_blocks_with_its_reason(project, ask, model, name):
    use_model(project, name)
    settings(project, prompt())
    with model({"ok": False, "reason": "it lists"}) as asked:
        verdict = ask(TOOL)
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["it lists"])
    assert ends(verdict) == [("ok", 0, "block", "it lists")]
    assert [request.body["model"] for request in asked.requests] == [name.partition(":")[2]]


def test_a_model_that_is_content_has_no_opinion(project, ask, model):
    use_model(project, CHAT)
    settings(project, prompt())
    with model({"ok": True, "reason": "harmless"}):
        verdict = ask(TOOL)
    assert (verdict["decision"], verdict["reasons"], ends(verdict)) == ("none", [], [("ok", 0, "none", None)])


def test_a_model_without_a_reason_blocks_in_the_name_of_the_hook(project, ask, model):
    use_model(project, CHAT)
    settings(project, prompt())
    with model({"ok": False}):
        verdict = ask(TOOL)
    assert verdict["reasons"] == [f"blocked by hook '{verdict['runs'][0]['hook']}'"]


def test_a_model_sends_the_agent_back_to_work(project, fire, model):
    use_model(project, CHAT)
    settings(project, prompt("All done? $ARGUMENTS"), event="Stop")
    with model({"ok": False, "reason": "the tests are missing"}):
        verdict = fire(STOP)
    assert (verdict["decision"], verdict["feedback"]) == ("block", "[Hook blocked stop: the tests are missing]")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("May it?", "May it?\n\n{event}"),
        ("First $ARGUMENTS, then $ARGUMENTS.", "First {event}, then {event}."),
    ],
)
def test_a_model_is_asked_about_the_event(project, ask, model, text, shape):
    use_model(project, CHAT)
    read = project.base / "read"
    settings(project, prompt(text), command(f"cat > {read}"), event="UserPromptSubmit")
    with model({"ok": True}) as asked:
        ask(TURN)
    [request] = asked.requests
    messages = [message["content"] for message in request.body["messages"] if message["role"] == "user"]
    assert messages == [shape.replace("{event}", read.read_text().rstrip("\n"))]


@pytest.mark.parametrize(
    ("own", "configured", "asked_for", "notes"),
    [
        (OTHER_CHAT, CHAT, "gpt-4o-mini", []),
        (OTHER_CHAT, "", "gpt-4o-mini", []),
        ("claude-haiku-4-5", CHAT, "claude-haiku-4-5", []),
        ("fast", CHAT, "gpt-4o", [f"the model 'fast' names no provider; {CHAT} was asked"]),
    ],
)
def test_a_hook_may_name_its_model(project, ask, model, own, configured, asked_for, notes):
    if configured:
        use_model(project, configured)
    settings(project, prompt(model=own))
    with model({"ok": False, "reason": "no"}) as asked:
        verdict = ask(TOOL)
    assert [request.body["model"] for request in asked.requests] == [asked_for]
    assert (verdict["decision"], verdict["runs"][0]["notes"]) == ("block", notes)


@pytest.mark.parametrize("own", [None, "fast"])
def test_a_prompt_hook_without_a_model_asks_nothing_and_shows_how_to_name_one(project, ask, model, own):
    settings(project, prompt(model=own) if own else prompt())
    with model() as asked:
        verdict = ask(TOOL)
    assert (verdict["decision"], ends(verdict)) == ("none", [("refused", None, "none", NO_MODEL)])
    assert asked.requests == []


def test_a_project_cannot_name_the_model(project, ask, model):
    project.write_hooks_toml("project", f'[hooks]\nmodel = "{CHAT}"\n')
    project.hooks_folder("project").mkdir()
    settings(project, prompt())
    with model() as asked:
        verdict = ask(TOOL)
    assert (ends(verdict), asked.requests) == ([("refused", None, "none", NO_MODEL)], [])


def test_a_missing_key_is_reported(project, ask):
    use_model(project, CHAT)
    settings(project, prompt())
    assert ends(ask(TOOL)) == [("failed", 3, "none", f"no API key for {CHAT}: set OPENAI_API_KEY")]


def test_an_error_of_the_provider_is_reported_in_the_verdict_and_on_stderr(project, model):
    use_model(project, CHAT)
    settings(project, prompt())
    with model(Refusal(429, "slow down"), Refusal(429, "slow down")):
        verdict, done = in_process(project, TOOL), run(project, TOOL)
    why = f"{CHAT} answered 429 Too Many Requests: slow down (wait, or raise the provider's limit)"
    assert (verdict["decision"], ends(verdict)) == ("none", [("failed", 3, "none", why)])
    message = f"boathook: hook '{verdict['runs'][0]['hook']}' failed: {why}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", message)


def test_an_answer_of_another_shape_is_reported_after_one_more_try(project, ask, model):
    use_model(project, CHAT)
    settings(project, prompt())
    with model("perhaps", "perhaps not") as asked:
        [(status, code, decision, why)] = ends(ask(TOOL))
    assert (status, code, decision, len(asked.requests)) == ("failed", 3, "none", 2)
    assert why is not None
    assert why.startswith(f"{CHAT} gave no answer of the right form")


def test_an_event_at_which_no_model_can_be_asked_makes_the_entry_invalid(project, ask, model):
    use_model(project, CHAT)
    settings(project, prompt(), command('echo \'{"systemMessage": "seen"}\''), event="PostToolUse")
    with model() as asked:
        verdict = ask({**TOOL, "event_type": "post-tool-call"})
    [skip] = verdict["skipped"]
    events = "UserPromptSubmit, PreToolUse, PermissionRequest, Stop, SubagentStop"
    why = f"hooks.PostToolUse[0].hooks[0]: prompt hooks cannot run at PostToolUse (possible at: {events})"
    assert (skip["why"], verdict["system_message"], asked.requests) == (why, ["seen"], [])


# together


def until(condition) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


class Meeting(ScriptedModel):
    """A model that answers when all others have come."""

    def __init__(self, place: Path, many: int) -> None:
        super().__init__({"ok": False, "reason": "the model: no"})
        self.place, self.many = place, many

    def play(self, request):
        come_together(self.place, "model", self.many)
        return super().play(request)


def come_together(place: Path, name: str, many: int) -> bool:
    (place / name).touch()
    return until(lambda: len(list(place.iterdir())) >= many)


def test_a_model_a_server_and_commands_are_asked_at_the_same_time(project, fire, monkeypatch):
    place = project.base / "place"
    place.mkdir()
    use_model(project, CHAT)
    loop = f"i=0; until [ $(ls {place} | wc -l) -ge 4 ]; do i=$((i+1)); [ $i -lt 1500 ] || exit 3; sleep 0.02; done"

    def meets(*_):
        met = come_together(place, "server", 4)
        return (200, json.dumps({"decision": "block", "reason": "the server: no"})) if met else (500, "nobody came")

    with serving(meets) as server, Meeting(place, 4) as asked:
        for name, value in asked.environment.items():
            monkeypatch.setenv(name, value)
        settings(
            project,
            http(server.url, timeout=60),
            prompt(timeout=60),
            command(f"touch {place}/one; {loop}; echo 'a command: no' >&2; exit 2"),
            command(f"touch {place}/two; {loop}; echo '{{}}'"),
        )
        verdict = fire(TOOL)
    assert verdict["decision"] == "block"
    assert sorted(verdict["reasons"]) == ["a command: no", "the model: no", "the server: no"]
    assert [end[0] for end in ends(verdict)] == ["ok"] * 4


def test_a_server_that_hangs_costs_its_neighbours_nothing_and_is_ended_in_time(project, fire):
    with serving(waits_for_the_end) as server:
        settings(project, http(server.url, timeout=1.5), command("echo no >&2; exit 2"))
        verdict = fire(TOOL)
        assert (verdict["decision"], verdict["reasons"]) == ("block", ["no"])
        assert [run["status"] for run in verdict["runs"] if run["decision"] == "none"] in (["timeout"], ["failed"])
        assert not server.posted or server.hung_up.wait(PATIENCE)


def test_cancelling_a_dispatch_ends_who_asks(project, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")

    async def cancelled(server):
        with boathook.load(project.path, trust_all=True) as engine:
            work = asyncio.ensure_future(engine.adispatch({"work_dir": str(project.path), **TOOL}))
            for _ in range(3000):
                if server.posted:
                    break
                await asyncio.sleep(0.01)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

    with serving(waits_for_the_end) as server:
        settings(project, http(server.url, timeout=60))
        asyncio.run(cancelled(server))
        assert (len(server.posted), server.hung_up.wait(PATIENCE)) == (1, True)


# without the extras


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """An interpreter with the engine and what it always needs, and nothing else: no httpx, no library for models."""
    root = tmp_path_factory.mktemp("bare")
    packages = root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin" / "python").symlink_to(sys._base_executable)
    (root / "pyvenv.cfg").write_text(f"home = {Path(sys._base_executable).parent}\n")
    (packages / "boathook").symlink_to(Path(boathook.__file__).parent)
    for name in ("click", "google-re2", "PyYAML", "regex"):
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or () if ".." not in file.parts}:
            if not (packages / top).exists():  # such as __pycache__
                (packages / top).symlink_to(found.locate_file(top))
    return str(root / "bin" / "python")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (http("http://127.0.0.1:9/hook"), "http hooks need httpx: "),
        (prompt(model=CHAT), "prompt hooks need httpx: "),
        (prompt(model="groq:x"), "groq:x needs a library for models: "),
    ],
    ids=["http", "prompt", "prompt for a library"],
)
def test_what_must_be_installed_is_reported(project, bare_python, entry, why):
    settings(project, entry, command("echo no >&2; exit 2"))
    done = run(project, TOOL, python=bare_python)
    assert (done.returncode, done.stdout) == (2, "")
    reason, reported = done.stderr.splitlines()
    message, _, fix = reported.partition("' ")[2].partition(why)
    assert (reason, message) == ("no", "failed: ")
    assert " -m pip install " in fix
