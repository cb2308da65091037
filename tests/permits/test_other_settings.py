"""Who answers and who waits may read different hooks.toml files: what counts is the second factor of the one that waits."""

from __future__ import annotations

import sys
import time

from boathook.assembly import locate
from boathook.cli.approvals import read_user_settings
from boathook.permits.factors import find_factor_problem
from boathook.permits.totp import STEP_SECONDS, compute_code, write_secret
from e2e.terminal import DIGEST_PROMPT, TYPED, run_at_terminal
from tests.page.page_at_terminal import start_terminal_page
from tests.permits.test_allow import NO, allow, send
from tests.permits.waiting_calls import ASK, WaitingCall, make_person_environment, read_records, set_up

WAIT, FACTOR = 'ask = "wait"', ("[hooks.approvals]", 'factor = "totp"')
SECRET = b"12345678901234567890"


def start_other_page(project, *lines):
    """Start a page with the same state folder, and a hooks.toml of its own."""
    config = project.base / "other" / "agents"
    config.mkdir(parents=True, exist_ok=True)
    (config / "hooks.toml").write_text("\n".join(["[hooks]", *lines, ""]))
    variables = ("env", f"XDG_CONFIG_HOME={config.parent}")
    return start_terminal_page(project, argv=(*variables, sys.executable, "-m", "boathook", "page", "--no-open"))


def begin(page, call):
    ask_id = call.find_question()
    return page.begin("allow-call", ask_id, page.find_digest(ask_id))


def compute_now():
    return compute_code(SECRET, int(time.time()) // STEP_SECONDS)


def test_a_yes_for_which_the_page_checked_nothing_does_not_count_where_no_factor_is_set(project):
    set_up(project, WAIT)
    write_secret(str(project.state), SECRET, 0)
    with start_other_page(project, *FACTOR) as page:
        call = WaitingCall(project)
        begun = begin(page, call)
        assert begun["way"] == "app"
        for code in ("", "123456", compute_now()):
            result = page.finish(begun, code)
            assert (result["is_done"], "the agent has other settings than the page" in result["message"]) == (
                False,
                True,
            ), result
        assert read_records(project, "answered") == []
        call.end()


def test_the_code_of_the_page_does_not_replace_a_second_factor(project):
    set_up(project, WAIT, *FACTOR)
    write_secret(str(project.state), SECRET, 0)
    with start_other_page(project) as page:
        for is_strong in (False, True):
            project.write_hook("careful", ASK, fields={"ask": "strong"} if is_strong else {})
            call = WaitingCall(project)
            begun = begin(page, call)
            if is_strong:
                assert "needs a second factor, and none is set" in begun["message"]
            else:
                result = page.finish(begun)
                assert (result["is_done"], "the agent has other settings than the page" in result["message"]) == (
                    False,
                    True,
                ), result
            call.end()
        assert {record["result"] for record in read_records(project, "answered")} <= {"killed"}


def test_a_permit_counts_only_with_the_second_factor_of_the_process_that_uses_it(project):
    project.write_hook("guard", NO, fields={"ask": "strong"})
    project.write_hooks_toml("user", "\n".join(["[hooks]", *FACTOR]))
    write_secret(str(project.state), SECRET, 0)
    config = project.base / "other" / "agents"
    config.mkdir(parents=True)
    (config / "hooks.toml").write_text('[hooks.approvals]\nfactor = "askpass"\naskpass = "/bin/true"\n')
    code, text = allow(project, send(project), env={"XDG_CONFIG_HOME": str(config.parent)})
    assert (code, "This call is allowed once" in text) == (0, True), text
    assert send(project)["decision"] == "block"
    argv = project.make_argv("allow", send(project)["id"])
    prompt = rf"{DIGEST_PROMPT}|authenticator app shows: $"
    env = make_person_environment(project)
    code, text = run_at_terminal(argv, [TYPED, compute_now()], cwd=project.path, env=env, prompt=prompt)
    assert (code, "This call is allowed once" in text) == (0, True), text
    assert send(project)["decision"] == "none"


def test_a_hooks_toml_that_is_ignored_hides_which_factor_is_set(project, monkeypatch):
    folder = project.path / "config"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "hooks.toml").write_text('[hooks.approvals]\nfactor = "askpass"\naskpass = "/bin/true"\n')
    for name, value in {**project.variables, "XDG_CONFIG_HOME": str(folder)}.items():
        monkeypatch.setenv(name, value)
    (project.path / ".git").mkdir()
    settings = read_user_settings(locate(str(project.path)))
    assert "inside a project" in find_factor_problem(settings, str(project.state))
