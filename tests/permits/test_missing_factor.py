"""A hook with `ask: strong` where no second factor is set: one message says what to do, and nothing contradicts it."""

from __future__ import annotations

from boathook.permits.totp import write_secret
from tests.page.served import serve_context
from tests.permits.waiting_calls import ASK, WaitingCall, answer, set_up


def ask_strongly(project, *lines):
    set_up(project, *lines)
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    return WaitingCall(project).finish()


def test_the_reason_names_the_second_factor_and_the_permission_in_one_sentence(project):
    for setting in ("", 'ask = "host"', 'ask = "wait"'):
        verdict = ask_strongly(project, setting)
        assert verdict["decision"] == "block"
        reason = verdict["reasons"][-1]
        assert "Set a second factor first (boathook approvals totp, " in reason
        assert f"), then: boathook allow {verdict['id']}. " in reason
        assert "A person can allow this call once" not in str(verdict)
    story = " ".join(project.run("why", verdict["id"]).stdout.split())
    assert (f"boathook allow {verdict['id']}" in story, "can allow this call once" in story) == (True, False)


def test_with_a_second_factor_a_person_can_allow_the_call(project):
    write_secret(str(project.state), b"12345678901234567890", 0)
    verdict = ask_strongly(project, "[hooks.approvals]", 'factor = "totp"')
    assert verdict["reasons"][-1].startswith(f"A person can allow this call once: boathook allow {verdict['id']}")


def test_a_question_names_the_second_factor_before_the_answer(project):
    write_secret(str(project.state), b"12345678901234567890", 0)
    settings = ('ask = "wait"', "[hooks.approvals]", 'factor = "totp"')
    for is_strong in (True, False):
        set_up(project, *settings)
        project.write_hook("careful", ASK, fields={"ask": "strong"} if is_strong else {})
        call = WaitingCall(project)
        question = call.find_question()
        with serve_context(state=str(project.state)) as page:
            card = page.show("now").text
        _, text = answer(project, question[:8], typed="no")
        assert call.finish()["decision"] == "block"
        assert ("Needs your second factor." in card, "Needs your second factor." in text) == (is_strong, is_strong)
        assert text.find("Needs your second factor.") < text.index("characters of the digest to allow")
