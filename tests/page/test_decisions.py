"""Decisions on the page are attacked by raw requests; and a hook is trusted or denied, bound to the bytes that were shown."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from boathook.core.catalog import Settings
from boathook.core.permit import Objection, Question
from boathook.core.waiting_question import CHECKED_CODE, WaitingQuestion
from boathook.errors import ConfigError
from boathook.hosts.setup import list_setups
from boathook.page import decision_rows, person_check
from boathook.page.decision_routes import DECISION_ROUTES
from boathook.page.decision_rows import DECISION_ROWS
from boathook.page.hook_reviews import find_waiting_hook
from boathook.page.page_server import LOOPBACK
from boathook.page.page_terminal import PageTerminal, open_page_terminal
from boathook.page.person_check import (
    CODE_SECONDS,
    MAX_DECISIONS,
    DecisionResult,
    PageDecision,
    PersonCheck,
    PersonProof,
)
from boathook.permits.waiting_questions import write_waiting
from boathook.system.process_facts import read_process_facts
from tests.page.served import Answer, ServedPage, serve_context
from tests.permits.waiting_calls import wait_until
from tests.scratch_project import ScratchProject
from tests.tables import try_each

BEGIN = {"decision": "trust-hook", "about": "", "digest": "", "project": ""}
JSON_TYPE = {"Content-Type": "application/json"}


class ShownLines(PageTerminal):
    """A terminal that keeps what is shown."""

    def __init__(self) -> None:
        super().__init__("")
        self.text = ""

    def show(self, lines: Any) -> None:
        self.text += "".join(f"{line}\n" for line in lines)

    @property
    def code(self) -> str:
        return re.findall(r"type this on the page: (\w{6})", self.text)[-1]


@pytest.fixture
def page(project: ScratchProject) -> Iterator[ServedPage]:
    project.write_hook("guard", "exit 0", scope="project")
    with serve_context(str(project.path)) as served:
        served.context.check.terminal = ShownLines()
        yield served


def post(page: ServedPage, path: str, headers: dict[str, str | None] | None = None, **fields: Any) -> Answer:
    return page.send(path, {**JSON_TYPE, **(headers or {})}, method="POST", body=json.dumps(fields))


def find_button(page: ServedPage, decision: str, **query: str) -> dict[str, str]:
    """Return the fields of a button of the review screen."""
    html = page.show("review", **query).html
    button = next(text for text in re.findall(r"<button[^>]*>", html) if f'data-decision="{decision}"' in text)
    return {key: dict(re.findall(r'data-(\w+)="([^"]*)"', button)).get(key, "") for key in BEGIN}


def find_review(page: ServedPage) -> dict[str, str]:
    from urllib.parse import parse_qsl

    link = re.findall(r'href="#/review\?([^"]*)"', page.show("now").html)[0]
    return dict(parse_qsl(link.replace("&amp;", "&")))


def decide(page: ServedPage, fields: dict[str, str], code: str | None = None) -> dict[str, Any]:
    begun = post(page, "/decide/begin", **fields).fields
    assert begun.get("is_open"), begun
    typed = page.context.check.terminal.code if code is None else code  # type: ignore[attr-defined]
    return post(page, "/decide/finish", id=begun["id"], code=typed).fields


# Requests


@try_each("path", [*DECISION_ROUTES])
def test_a_write_needs_post_the_token_the_origin_and_json(page: ServedPage, path: str) -> None:
    for method in ("GET", "PUT", "HEAD", "DELETE", "OPTIONS"):
        assert page.send(path, JSON_TYPE, method=method).status == 405
    attacks: list[tuple[dict[str, str | None], int]] = [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": f"http://localhost:{page.port}"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Mode": "navigate"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": None}, 413),
        ({"Content-Length": "999999"}, 413),
        ({"Transfer-Encoding": "chunked"}, 413),
    ]
    for headers, status in attacks:
        given = page.send(path, {**JSON_TYPE, **headers}, method="POST", body="{}" if status != 413 else "")
        assert given.status == status, (path, headers)
    assert page.context.check.terminal.text == ""  # type: ignore[attr-defined]


def test_a_body_in_chunks_is_refused_with_any_length(page: ServedPage) -> None:
    head = f"POST /decide/begin HTTP/1.1\r\nHost: {page.host}\r\nOrigin: http://{page.host}\r\n"
    head += f"Authorization: Bearer {page.token}\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
    with socket.create_connection((LOOPBACK, page.port), timeout=30) as raw:
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        assert raw.recv(100).split(b" ")[1] == b"413"


@try_each(
    "body",
    ["", "x", "[]", "{}", "null", '{"decision": "trust-hook"}', json.dumps({**BEGIN, "more": "1"}),
     json.dumps({**BEGIN, "digest": 1}), json.dumps({**BEGIN, "decision": "approve-all"}), "[" * 10_000],
)  # fmt: skip
def test_a_body_that_the_page_would_not_send_is_refused(page: ServedPage, body: str) -> None:
    assert page.send("/decide/begin", JSON_TYPE, method="POST", body=body).status == 400


def test_there_is_no_decision_about_several_things(page: ServedPage) -> None:
    assert not [word for word in DECISION_ROWS if "all" in word.split("-")]


def test_a_get_changes_nothing(page: ServedPage, project: ScratchProject) -> None:
    fields = find_button(page, "trust-hook", **find_review(page))
    query = "&".join(f"{key}={value}" for key, value in fields.items())
    for path in (*DECISION_ROUTES, "/data/screen/review", "/data/screen/now"):
        page.send(f"{path}?{query}")
    assert not (project.state / "trust.json").exists()
    assert page.context.check.terminal.text == ""  # type: ignore[attr-defined]


# Hooks


def test_a_hook_is_trusted_with_the_code_and_recorded_as_a_decision_on_the_page(
    page: ServedPage, project: ScratchProject
) -> None:
    query = find_review(page)
    shown = page.show("review", **query).text
    fields = find_button(page, "trust-hook", **query)
    assert fields["digest"] in shown
    assert "exit 0" in shown
    result = decide(page, fields)
    assert result["message"].startswith("guard is trusted: exactly these bytes"), result
    assert fields["digest"] in page.context.check.terminal.text  # type: ignore[attr-defined]
    rows = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]
    assert [(row["name"], row["state"], row["digest"]) for row in rows] == [("guard", "trusted", fields["digest"])]
    (line,) = [line for line in project.run("log").stdout.splitlines() if "a person trusted guard" in line]
    assert "on the page" in line
    assert "Review it" not in page.show("now").text


def test_a_hook_is_denied_with_the_code(page: ServedPage, project: ScratchProject) -> None:
    fields = find_button(page, "deny-hook", **find_review(page))
    assert not decide(page, fields, "XXXXXX")["is_done"]
    assert decide(page, fields)["message"].startswith("guard is denied")
    assert json.loads(project.run("trust", "--list", "--json").stdout)["hooks"][0]["state"] == "denied"


def test_what_is_trusted_is_what_was_shown(page: ServedPage, project: ScratchProject) -> None:
    fields = find_button(page, "trust-hook", **find_review(page))
    project.write_hook("guard", "echo changed", scope="project")
    refused = post(page, "/decide/begin", **fields).fields
    assert (refused["is_done"], "it has changed since this screen was shown" in refused["message"]) == (False, True)
    # A change between the code and its answer: the bytes that were shown are trusted, and the new ones are not.
    fields = find_button(page, "trust-hook", **find_review(page))
    begun = post(page, "/decide/begin", **fields).fields
    project.write_hook("guard", "echo other", scope="project")
    code = page.context.check.terminal.code  # type: ignore[attr-defined]
    assert post(page, "/decide/finish", id=begun["id"], code=code).fields["is_done"]
    (row,) = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]
    assert (row["state"], row["digest"]) == ("modified", fields["digest"])


def test_a_hook_that_is_too_long_to_be_shown_cannot_be_trusted_here(page: ServedPage, project: ScratchProject) -> None:
    project.write_hook("guard", f"# {'x' * 80}\n" * 30_000, scope="project")
    query = find_review(page)
    html = page.show("review", **query).html
    assert "It cannot be trusted here: not all of guard can be shown" in html
    assert 'data-decision="trust-hook"' not in html
    fields = {**find_button(page, "deny-hook", **query), "decision": "trust-hook"}
    assert "not all of guard can be shown" in post(page, "/decide/begin", **fields).fields["message"]


def test_a_page_that_was_not_started_by_a_person_decides_nothing(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 0", scope="project")
    with serve_context(str(project.path)) as page:
        html = page.show("review", **find_review(page)).html
        assert ("data-decision" in html, "You cannot decide this here" in html) == (False, True)
        fields = {**BEGIN, **{key: value for key, value in find_review(page).items() if key == "project"}}
        digest = re.findall(r"<dd>([0-9a-f]{64})</dd>", html)[0]
        fields |= {"about": find_review(page)["id"], "digest": digest}
        assert "nothing can be decided here" in post(page, "/decide/begin", **fields).fields["message"].lower()


def test_a_page_below_an_agent_has_no_terminal_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(name for setup in list_setups() for name in setup.agent_variables)
    monkeypatch.setenv(name, "1")
    assert "by an agent" in open_page_terminal().obstacle


# Questions


def test_a_question_is_written_by_attackers_and_shown_as_text(page: ServedPage, project: ScratchProject) -> None:
    hostile = (
        '<img src=x onerror=alert(1)> \x1b[31m \u202e </pre><script>alert(2)</script> "\' data-decision="allow-call"'
    )
    waiting = make_hostile_question(hostile)
    write_waiting(str(project.state), waiting)
    html = wait_until(lambda: waiting.id in (shown := page.show("now").html) and shown)
    assert re.findall(r"<(?:img|script|/script)", html) == []
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert len(re.findall(r'<[^>]*data-decision="allow-call"', html)) == 1
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") > 2
    # What the terminal shows has no escape sequence either.
    fields = {**BEGIN, "decision": "allow-call", "about": waiting.id, "digest": waiting.digest}
    assert post(page, "/decide/begin", **fields).fields["is_open"]
    assert set(page.context.check.terminal.text).isdisjoint("\x1b\u202e")  # type: ignore[attr-defined]


def make_hostile_question(text: str) -> WaitingQuestion:
    """Return a question of this very process, in which every text is the same."""
    objection = Objection(*[text] * 7, "seen", text, "normal", text)
    question = Question("a" * 32, time.time(), *[text] * 7, {"command": text, text: [text]}, (objection,))
    own = read_process_facts(os.getpid())
    assert own is not None
    return WaitingQuestion(question.id, question, own.pid, own.start, time.time() + 60)


# Codes


def test_a_code_is_for_one_minute_and_one_use() -> None:
    clock, terminal, done = [0.0], ShownLines(), list[PersonProof]()

    def run(proof: PersonProof) -> DecisionResult:
        done.append(proof)
        return DecisionResult(is_done=True, message="done")

    check = PersonCheck("/nowhere", Settings, terminal, lambda: clock[0])
    decision = PageDecision("Do it", (), "", run)
    begun = check.begin(decision)
    clock[0] = CODE_SECONDS
    assert "too old" in check.finish(begun["id"], terminal.code).message
    begun = check.begin(decision)
    assert check.finish(begun["id"], f" {terminal.code.lower()} ").is_done
    assert not check.finish(begun["id"], terminal.code).is_done
    assert done == [PersonProof(CHECKED_CODE)]
    codes: set[str] = set()
    for _ in range(50):
        clock[0] += CODE_SECONDS
        check.begin(decision)
        codes.add(terminal.code)
    assert len(codes) == 50


def test_a_flood_of_decisions_does_not_fill_the_terminal() -> None:
    clock, terminal = [0.0], ShownLines()
    check = PersonCheck("/nowhere", Settings, terminal, lambda: clock[0])
    decision = PageDecision("Do it", (), "", lambda _: DecisionResult(is_done=True, message="done"))
    begun = [check.begin(decision) for _ in range(MAX_DECISIONS)]
    with pytest.raises(ConfigError, match="wait a minute"):
        check.begin(decision)
    # The one that is open stays open.
    assert check.finish(begun[-1]["id"], terminal.code).is_done
    clock[0] = CODE_SECONDS
    assert check.begin(decision)


def test_a_terminal_that_is_gone_shows_no_code_and_nothing_can_be_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(PageTerminal):
        def show(self, lines: Any) -> None:
            raise ConfigError("the terminal of the page is closed")

    check = PersonCheck("/nowhere", Settings, Gone(""))
    with pytest.raises(ConfigError, match="closed"):
        check.begin(PageDecision("Do it", (), "", lambda _: DecisionResult(is_done=True, message="")))


@pytest.mark.parametrize("factor", ["totp", "askpass"])
def test_a_factor_that_is_removed_before_the_answer_decides_nothing(
    project: ScratchProject, monkeypatch: pytest.MonkeyPatch, factor: str
) -> None:
    monkeypatch.setattr(person_check, "find_factor_problem", lambda *_: "")
    settings, done = [Settings(factor=factor)], list[PersonProof]()

    def run(proof: PersonProof) -> DecisionResult:
        done.append(proof)
        return DecisionResult(is_done=True, message="")

    check = PersonCheck(str(project.state), lambda: settings[0], ShownLines())
    begun = check.begin(PageDecision("Do it", (), "", run, is_passed_on=True))
    settings[0] = Settings()
    assert "the second factor was removed in the meantime" in check.finish(begun["id"], "anything").message
    assert done == []


def test_an_app_that_is_chosen_and_not_connected_decides_nothing(project: ScratchProject) -> None:
    check = PersonCheck(str(project.state), lambda: Settings(factor="totp"), ShownLines())
    with pytest.raises(ConfigError, match="no authenticator app is connected"):
        check.begin(PageDecision("Do it", (), "", lambda _: DecisionResult(is_done=True, message="")))


def test_a_program_is_asked_about_exactly_the_hook_that_was_shown(page: ServedPage, project: ScratchProject) -> None:
    for word in ("trust-hook", "deny-hook"):
        fields = find_button(page, word, **find_review(page))
        text = DECISION_ROWS[word](page.context, fields).factor_text
        assert (fields["digest"] in text, str(project.path) in text) == (True, True)
    candidate, _ = find_waiting_hook(page.context, fields["project"], fields["about"])
    hostile = candidate.place.replace(project="/p\nTrust harmless?\x1b[8m\u202e")
    text = decision_rows._describe_wish("Trust x", candidate.replace(place=hostile))
    assert [line.split()[0] for line in text.split("\n")] == ["Trust", "file", "project", "runs", "digest"]
    assert text.replace("\n", "").isprintable()
