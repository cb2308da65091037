"""`boathook page` as a person starts it: a process at a terminal of its own, whose text a test reads; and requests to it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.page.served import Answer, ServedPage
from tests.permits.waiting_calls import make_person_environment, wait_until
from tests.scratch_project import ScratchProject

# Its standard input becomes the controlling terminal of its session.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class TerminalPage(ServedPage):
    """A page that runs in another process; `text` is what its terminal shows."""

    def __init__(self, project: ScratchProject, *arguments: str, argv: tuple[str, ...] = ()) -> None:
        self._leader, follower = pty.openpty()
        words = argv or (sys.executable, "-m", "boathook", "page", "--no-open", *arguments)
        env = {**make_person_environment(project), "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        env.pop("SSH_CONNECTION", None)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *words],
            stdin=follower, stdout=follower, stderr=follower, cwd=project.path, env=env, start_new_session=True,
        )  # fmt: skip
        os.close(follower)
        self._shown, self._known_codes = b"", 0
        threading.Thread(target=self._read, daemon=True).start()
        match = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/#t=([\w-]+)", self.text))
        self.port, self.host, self.token = int(match[1]), f"127.0.0.1:{match[1]}", ""
        # A test gives the address to a browser, or takes the token itself.
        self.address, self._ticket = match[0], match[2]

    def _read(self) -> None:
        with suppress(OSError):
            while part := os.read(self._leader, 1 << 16):
                self._shown += part

    @property
    def text(self) -> str:
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def open(self) -> str:
        self.token = self.send("/session", method="POST", body=self._ticket).fields["token"]
        return self.token

    def type(self, text: str) -> None:
        os.write(self._leader, text.encode())

    def post(self, path: str, **fields: Any) -> Answer:
        headers = {"Content-Type": "application/json"}
        return self.send(path, headers, method="POST", body=json.dumps(fields))

    def begin(self, decision: str, about: str, digest: str, project: str = "") -> dict[str, Any]:
        self._known_codes = len(self._find_codes())
        return self.post("/decide/begin", decision=decision, about=about, digest=digest, project=project).fields

    def _find_codes(self) -> list[str]:
        return re.findall(r"type this on the page: ([0-9A-Z]{6})\n", self.text)

    def read_code(self) -> str:
        """Return the code that the terminal shows for the decision that was begun last."""
        return wait_until(lambda: self._find_codes()[self._known_codes :])[-1]

    def finish(self, begun: dict[str, Any], code: str | None = None) -> dict[str, Any]:
        typed = self.read_code() if code is None else code
        return self.post("/decide/finish", id=begun["id"], code=typed).fields

    def find_digest(self, ask_id: str) -> str:
        """Return the digest of a question as the screen Now shows it."""
        html = wait_until(lambda: ask_id in (shown := self.show("now").html) and shown)
        return re.findall(rf'data-about="{ask_id}" data-digest="(\w+)"', html)[0]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._leader)


@contextmanager
def start_terminal_page(project: ScratchProject, *arguments: str, is_opened: bool = True) -> Iterator[TerminalPage]:
    page = TerminalPage(project, *arguments)
    try:
        if is_opened:
            page.open()
        yield page
    finally:
        page.end()
