"""`boathook approvals`, and `boathook allow` of hooks that want a second factor, at a terminal."""

from __future__ import annotations

import base64
import json
import time

import pytest

from boathook.permits.totp import STEP_SECONDS, compute_code, read_secret, write_secret
from e2e.terminal import DIGEST_PROMPT, TYPED
from tests.scratch_project import CALL, ScratchProject
from tests.terminal import run_boathook

SECRET = b"12345678901234567890"
# The first group is the new secret, where it is shown.
CODE_PROMPT = r"(?:only now:\n\n  ([A-Z2-7]{32})\n[\s\S]*)?(?:app shows|connected now): $"
FACTOR = '[hooks.approvals]\nfactor = "totp"\n'


class NewestCode(str):
    """An answer that is the code of the secret which the prompt showed, or else of the one that is connected."""

    __slots__ = ()

    def replace(self, old: str, new: str | None, count: int = -1) -> str:  # type: ignore[override]
        secret = base64.b32decode(new) if new else SECRET
        # Of the next step, which counts for at least a minute.
        return compute_code(secret, int(time.time()) // STEP_SECONDS + 1)


class PlainAnswer(str):
    """An answer that is typed as it is."""

    __slots__ = ()

    def replace(self, old: str, new: str | None, count: int = -1) -> str:  # type: ignore[override]
        return str(self)


def connect(project: ScratchProject, *answers: str, **options) -> tuple[int | None, str]:
    return run_boathook(project, ["approvals", "totp"], answers, prompt=CODE_PROMPT, **options)


def test_an_app_is_connected_by_a_code_of_the_secret_that_is_shown_once(project: ScratchProject) -> None:
    assert project.run("approvals", "status").returncode == 1
    code, text = connect(project, NewestCode())
    assert (code, "The app is connected" in text, "otpauth://totp/boathook:" in text) == (0, True, True), text
    assert f'write factor = "totp" under [hooks.approvals] in {project.config}/hooks.toml' in text
    project.write_hooks_toml("user", FACTOR)
    done = project.run("approvals", "status")
    assert (done.returncode, done.stdout) == (0, "The second factor is totp, and it can be used.\n")
    secret = base64.b32encode(read_secret(str(project.state))).decode()
    assert (secret in text, secret in done.stdout) == (True, False)


def test_without_a_right_code_nothing_is_kept(project: ScratchProject) -> None:
    code, text = connect(project, *map(PlainAnswer, ("000000x", "", "12")))
    assert (code, "Nothing was changed: no code was right." in text) == (1, True)
    assert not (project.state / "factor/totp-secret").exists()


def test_to_replace_an_app_a_code_of_the_old_one_is_needed(project: ScratchProject) -> None:
    write_secret(str(project.state), SECRET, 0)
    code, text = connect(project, PlainAnswer("12"))
    assert (code, "Nothing was changed: a code has 6 digits" in text, "otpauth" in text) == (1, True, False)
    assert read_secret(str(project.state)) == SECRET
    code, text = connect(project, NewestCode(), NewestCode())
    assert (code, read_secret(str(project.state)) == SECRET) == (0, False), text


def test_it_needs_a_terminal_and_there_is_no_option_that_answers(project: ScratchProject) -> None:
    done = project.run("approvals", "totp")
    assert (done.returncode, "there is no terminal to ask at" in done.stderr) == (1, True)
    assert "No such option" in project.run("approvals", "totp", "--yes").stderr


@pytest.fixture
def question(project: ScratchProject) -> str:
    """The id of a call that a hook with `ask: strong` refuses. If it asked, boathook would wait for the answer."""
    project.write_hook("guard", 'echo \'{"decision": "block", "reason": "no"}\'', fields={"ask": "strong"})
    return ask_hooks(project)["id"]


def ask_hooks(project: ScratchProject) -> dict:
    event = {**CALL, "work_dir": str(project.path)}
    return json.loads(project.run("run", "--json", stdin=json.dumps(event)).stdout)


def allow(project: ScratchProject, question: str, *answers: str) -> tuple[int | None, str]:
    prompt = rf"{DIGEST_PROMPT}|{CODE_PROMPT}"
    return run_boathook(project, ["allow", question], [TYPED, *answers], prompt=prompt)


def test_a_strong_hook_is_not_answered_without_a_second_factor(project: ScratchProject, question: str) -> None:
    code, text = allow(project, question)
    assert (code, "Nothing was allowed: this answer needs a second factor, and none is set" in text) == (1, True), text
    assert ask_hooks(project)["decision"] == "block"


def test_a_strong_hook_is_answered_with_a_code_and_not_without(project: ScratchProject, question: str) -> None:
    project.write_hooks_toml("user", FACTOR)
    write_secret(str(project.state), SECRET, 0)
    code, text = allow(project, question, PlainAnswer("12"))
    assert (code, "Nothing was allowed: a code has 6 digits" in text) == (1, True), text
    code, text = allow(project, question, NewestCode())
    assert code == 0, text
    assert ask_hooks(project)["decision"] == "none"


def test_a_hook_without_ask_strong_needs_no_second_factor(project: ScratchProject) -> None:
    project.write_hooks_toml("user", FACTOR)
    project.write_hook("guard", 'echo \'{"decision": "ask"}\'')
    code, text = allow(project, ask_hooks(project)["id"])
    assert code == 0, text


def test_doctor_reports_a_factor_that_a_hook_wants_and_that_does_not_work(project: ScratchProject) -> None:
    def examine() -> list[str]:
        return [line for line in project.run("doctor").stdout.splitlines() if "second factor" in line]

    assert examine() == []
    project.write_hook("guard", fields={"ask": "strong"})
    [line] = examine()
    assert "needs a second factor, and none is set" in " ".join(project.run("doctor").stdout.split())
    assert "warning" in line
    project.write_hooks_toml("user", FACTOR)
    write_secret(str(project.state), SECRET, 0)
    [line] = examine()
    assert ("ok" in line, line.endswith("totp")) == (True, True)


def test_a_wrong_word_for_ask_is_an_error_and_counts_as_strong(project: ScratchProject) -> None:
    project.write_hook("guard", fields={"ask": "strongest"})
    [hook] = project.list_hooks()
    assert (hook["ask"], hook["state"]) == ("strong", "armed")
    assert "'ask' must be normal or strong" in hook["diagnostics"][0]["message"]


def test_a_project_cannot_choose_the_factor(project: ScratchProject) -> None:
    project.write_hook("guard", scope="project")
    project.write_hooks_toml("project", FACTOR)
    assert "'approvals' can only be set by the user" in project.run("check").stdout
    assert project.run("approvals", "status").returncode == 1


def test_the_status_names_an_unknown_factor_and_what_does_not_work_without_one(project):
    text = project.run("approvals", "status").stdout
    assert text.startswith("No second factor is set (known: totp, askpass), so calls that hooks with `ask: strong`"), (
        text
    )
    project.write_hooks_toml("user", '[hooks.approvals]\nfactor = "topt"\n')
    done = project.run("approvals", "status")
    assert (done.returncode, "topt" in done.stdout) == (1, True), done
