"""A person who watches for questions sees each of them, also while a long call is shown; what no person can see does not count."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from boathook.permits.ask_listeners import has_ask_listener
from e2e.terminal import start_at_terminal
from tests.page.page_at_terminal import start_terminal_page
from tests.permits.waiting_calls import (
    WaitingCall,
    list_ask_files,
    make_call,
    make_person_environment,
    set_up,
    wait_until,
)

WAIT = 'ask = "wait"'
LONG_CALL = "\n".join(f"echo {number}" for number in range(300))
# Writes that it runs, then shows nothing and waits for a key, as a pager does.
PAGER = """
import os, sys
lines = sys.stdin.read().count("\\n")
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {lines}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
os.read(os.open("/dev/tty", os.O_RDWR), 1)
"""


class Watcher:
    """`boathook asks --watch` at a terminal of its own; `text` is what it shows."""

    def __init__(self, project) -> None:
        self.pager = project.base / "pager"
        script = project.base / "pager.py"
        script.write_text(PAGER)
        command = f"{sys.executable} -I {script} {self.pager}"
        env = {**make_person_environment(project), "TERM": "dumb", "PAGER": command}
        self.process, self._leader = start_at_terminal(project.make_argv("asks", "--watch"), cwd=project.base, env=env)
        self._shown = b""
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for("Waiting for questions")

    def _read(self) -> None:
        with suppress(OSError):
            while part := os.read(self._leader, 1 << 16):
                self._shown += part

    @property
    def text(self) -> str:
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def wait_for(self, pattern: str) -> re.Match[str]:
        try:
            return wait_until(lambda: re.search(pattern, self.text))
        except AssertionError:
            raise AssertionError(f"{pattern!r} is not in what it shows: {self.text[-2000:]!r}") from None

    def type(self, text: str) -> None:
        os.write(self._leader, text.encode())

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            os.close(self._leader)


@contextmanager
def start_watcher(project) -> Iterator[Watcher]:
    watcher = Watcher(project)
    try:
        yield watcher
    finally:
        watcher.end()


def is_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_long_call_is_allowed_only_after_all_of_it_was_shown(project):
    set_up(project, WAIT)
    with start_watcher(project) as watcher:
        call = WaitingCall(project, event=make_call(project, LONG_CALL))
        digest = watcher.wait_for(r"digest +([0-9a-f]{64})\n[\s\S]*, all to read all of it, or no to deny it: $")[1]
        assert "the call has 309 lines and " in watcher.text
        assert ("echo 1\n" in watcher.text, "echo 299" in watcher.text) == (True, False), watcher.text
        watcher.type(f"{digest[-4:]}\n")
        watcher.wait_for(r"only the beginning was shown\. Type all first\.[\s\S]*or no to deny it: $")
        assert not watcher.pager.exists()
        watcher.type("all\n")
        wait_until(watcher.pager.exists)
        assert int(watcher.pager.read_text().split()[1]) == 309
        watcher.type("\n")
        watcher.wait_for(r"to allow this call, or no to deny it: $")
        watcher.type(f"{digest[-4:]}\n")
        assert call.finish()["decision"] == "allow"


def test_a_question_that_ends_ends_the_pager_and_the_next_one_is_shown(project):
    set_up(project, WAIT)
    with start_watcher(project) as watcher:
        call = WaitingCall(project, event=make_call(project, LONG_CALL))
        watcher.wait_for(r"or no to deny it: $")
        watcher.type("all\n")
        wait_until(watcher.pager.exists)
        # The bell rings for a question that comes while a pager runs.
        rung = watcher.text.count("\a")
        other = WaitingCall(project, event=make_call(project, "deploy-b", session_id="t"))
        wait_until(lambda: watcher.text.count("\a") == rung + 1)
        call.kill("agent")
        watcher.wait_for("The agent stopped waiting for your answer")
        assert is_ended(int(watcher.pager.read_text().split()[0]))
        digest = watcher.wait_for(r"deploy-b[\s\S]*digest +([0-9a-f]{64})\n[\s\S]*call, or no to deny it: $")[1]
        # What is typed is a line again, which is shown.
        watcher.type(f"{digest[-4:]}\n")
        assert other.finish()["decision"] == "allow"


def test_a_short_call_is_shown_as_a_whole(project):
    set_up(project, WAIT)
    with start_watcher(project) as watcher:
        call = WaitingCall(project)
        digest = watcher.wait_for(r"digest +([0-9a-f]{64})\n[\s\S]*to allow this call, or no to deny it: $")[1]
        watcher.type(f"{digest[-4:]}\n")
        assert call.finish()["decision"] == "allow"


@pytest.mark.usefixtures("default_sigint")
def test_a_stopped_listener_does_not_count_until_it_goes_on(project):
    state = str(project.state)
    with start_watcher(project) as watcher:
        for number, counts in ((signal.SIGCONT, True), (signal.SIGSTOP, False), (signal.SIGCONT, True)):
            os.kill(watcher.process.pid, number)
            wait_until(lambda counts=counts: has_ask_listener(state) == counts)
            assert len(list_ask_files(project, ".listener")) == 1


def test_a_page_whose_terminal_is_gone_does_not_count_and_shows_the_reason(project):
    # A shell that ignores the end of the terminal, as `nohup` does.
    argv = ("/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "boathook", "page", "--no-open")
    with start_terminal_page(project, argv=argv) as page, page.follow():
        wait_until(lambda: has_ask_listener(str(project.state)))
        page.close_terminal()
        wait_until(lambda: not has_ask_listener(str(project.state)))
        set_up(project, WAIT)
        call = WaitingCall(project)
        ask_id = call.find_question()
        html = wait_until(lambda: ask_id[:8] in (shown := page.show("now").text) and shown)
        assert "You cannot decide this here: the terminal of the page is closed. Start it again in a terminal" in html
        assert page.process.poll() is None
