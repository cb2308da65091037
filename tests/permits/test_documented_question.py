"""The page about questions leads to a first question: its steps are taken, and a person answers."""

from __future__ import annotations

from tests.docs.test_docs import ROOT, blocks
from tests.permits.waiting_calls import WaitingCall, answer, list_ask_files, wait_until

PAGE = ROOT / "docs/how-to/answer-a-question.md"


def find_block(text: str) -> str:
    (found,) = [block for _, block in blocks(PAGE) if text in block]
    return found


def test_the_page_leads_to_a_question_that_a_person_answers(project):
    for start in ("boathook new --from", "boathook trust"):
        (line,) = [line for line in find_block("boathook new --from").splitlines() if line.startswith(start)]
        done = project.run(*line.partition(" > ")[0].split()[1:])
        assert done.returncode == 0, done
    setting = find_block("TOML").partition("<<'TOML'\n")[2].partition("TOML")[0]
    project.write_hooks_toml("user", setting)
    program = find_block("| boathook run").replace("boathook run", " ".join(project.make_argv("run")))
    call = WaitingCall(project, argv=("bash", "-c", program))
    # It is below the shell, so its process is another one than that of the call.
    wait_until(lambda: list_ask_files(project, ".sock"))
    code, text = answer(project)
    assert (code, "make deploy" in text) == (0, True), text
    assert '"decision": "allow"' in call.finish()["end"]["stdout"]
