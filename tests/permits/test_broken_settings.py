"""Mistakes in the user's hooks.toml: what they hide counts as the strictest that it may have said, and messages name them."""

from __future__ import annotations

import pytest

from boathook.assembly import locate
from boathook.cli.approvals import read_user_settings
from boathook.errors import ConfigError
from boathook.page.page_terminal import PageTerminal
from boathook.page.person_check import DecisionResult, PageDecision, PersonCheck
from boathook.permits.totp import make_secret, write_secret
from tests.page.served import serve_context
from tests.permits.waiting_calls import ASK, WaitingCall, make_call, set_up

# What stays of a file that set the second factor, after a mistake.
WRONG_FACTORS = {
    "a wrong word": '[hooks.approvals]\nfactor = "topt"\n',
    "a wrong key": '[hooks.approvals]\nfacto = "totp"\n',
    "another type": '[hooks]\napprovals = "totp"\n',
    "not TOML": '[hooks.approvals]\nfactor = "totp"\n[oops\n',
    "a wrong table": '[hooks.aproval]\nfactor = "totp"\n',
    "a wrong table above": '[hook.approvals]\nfactor = "totp"\n',
    "no table above": '[approvals]\nfactor = "totp"\n',
    "the table above": '[hooks]\nfactor = "totp"\n',
    "a quoted table": '["hooks.approvals"]\nfactor = "totp"\n',
    "a table of other settings": '[hooks.defaults]\nfactor = "totp"\n',
    "a table below other settings": '[[hooks.override]]\nname = "x"\napprovals = {factor = "totp"}\n',
    "a list below": '[[guards]]\nmore = [{factor = "totp"}]\n',
}
WRONG_ASKS = {
    "a wrong word": '[hooks]\nask = "dney"\n',
    "not TOML": '[hooks\nask = "deny"\n',
    "a wrong key": '[hooks]\naks = "deny"\n',
    "a wrong table": '[hoks]\nask = "deny"\n',
    "no table": 'ask = "deny"\n',
    "another table": '[hooks.approvals]\nask = "deny"\n',
    "the end of another table": '[hooks]\ndebug = false\n[hooks.defaults]\ntimeout = 5000\nask = "deny"\n',
    "a list of tables": '[[hooks.override]]\nname = "x"\nask = "deny"\n',
}


class ShownLines(PageTerminal):
    def show(self, lines) -> None:
        raise AssertionError(list(lines))


@pytest.mark.parametrize("wrong", WRONG_FACTORS)
def test_a_second_factor_that_cannot_be_read_lets_no_answer_of_the_page_count(project, wrong):
    write_secret(str(project.state), make_secret(), 0)
    project.write_hooks_toml("user", WRONG_FACTORS[wrong])
    check = PersonCheck(str(project.state), lambda: read_user_settings(locate(str(project.path))), ShownLines(""))
    with pytest.raises(ConfigError, match=r"cannot be read from your hooks\.toml.*hooks\.toml"):
        check.begin(PageDecision("Trust x", ("x",), "Trust x?", lambda _: DecisionResult(is_done=True, message="")))
    status = project.run("approvals", "status")
    assert (status.returncode, "cannot be read from your hooks.toml" in status.stdout) == (1, True)


def test_a_mistake_after_the_terminal_showed_its_code_refuses_that_code(project):
    shown = []

    class Lines(PageTerminal):
        def show(self, lines) -> None:
            shown.extend(lines)

    check = PersonCheck(str(project.state), lambda: read_user_settings(locate(str(project.path))), Lines(""))
    begun = check.begin(PageDecision("Trust x", ("x",), "", lambda _: DecisionResult(is_done=True, message="done")))
    code = next(line for line in shown if "type this" in line)[-6:]
    project.write_hooks_toml("user", WRONG_FACTORS["a wrong word"])
    assert not check.finish(begun["id"], code).is_done


@pytest.mark.parametrize("wrong", WRONG_ASKS)
def test_a_rule_of_questions_that_cannot_be_read_denies_them_with_the_reason(project, wrong):
    project.write_hooks_toml("user", WRONG_ASKS[wrong])
    for event in ("pre-tool-call", "pre-subagent"):
        project.write_hook("careful", ASK, fields={"trigger": event})
        verdict = WaitingCall(project, event=make_call(project, event_type=event)).finish()
        assert verdict["decision"] == "block"
        assert "Questions to a person are denied until a person corrects hooks.toml: " in verdict["reasons"][1], verdict
        assert "hooks.toml" in verdict["reasons"][1].partition("hooks.toml: ")[2]
    with serve_context(state=str(project.state)) as page:
        assert "hooks.toml has a mistake" in page.show("now").text


def test_other_mistakes_and_those_of_a_project_change_neither(project):
    other_keys = ("max_stop_blocks = -1", "colour = true", "max_timeuot = 5000")
    set_up(project, *other_keys, 'ask = "wait"', "[hooks.approvals]", 'factor = "totp"', '[packs."a/b".c]', "ask = 1")
    for text in ('[hooks]\nask = "dney"\n[hooks.approvals]\nfactor = "topt"\n', "[hooks\n"):
        project.write_hooks_toml("project", text)
        settings = read_user_settings(locate(str(project.path)))
        assert (settings.ask, settings.factor, settings.ask_mistake, settings.factor_mistake) == (
            "wait",
            "totp",
            "",
            "",
        )
        call = WaitingCall(project)
        call.find_question()
        call.end()
