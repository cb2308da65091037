"""`boathook asks --watch` stays until a person ends it."""

from __future__ import annotations

from e2e.terminal import run_at_terminal
from tests.permits.waiting_calls import list_ask_files, make_person_environment


def test_ctrl_c_ends_the_watch_quietly_and_nothing_listens_any_more(project):
    argv, env = project.make_argv("asks", "--watch"), make_person_environment(project)
    code, text = run_at_terminal(argv, ["\x03"], cwd=project.path, env=env, prompt=r"Ctrl-C ends this\.\n$")
    assert (code, "Aborted" in text) == (0, False), text
    assert list_ask_files(project) == []
