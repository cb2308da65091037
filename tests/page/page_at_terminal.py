"""`boathook page` as a person starts it: a process at a terminal of its own, whose text a test reads; and requests to it."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from e2e.terminal import start_at_terminal
from tests.page.served import Answer, ServedPage
from tests.permits.waiting_calls import make_person_environment, wait_until
from tests.scratch_project import ScratchProject


class TerminalPage(ServedPage):
    """A page that runs in another process; `text` is what its terminal shows."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str, argv: tuple[str, ...] = ()) -> None:
        words = argv or (sys.executable, "-m", "boathook", "page", "--no-open", *arguments)
        env = {**environment, "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        env.pop("SSH_CONNECTION", None)
        self.process, self._leader = start_at_terminal(words, cwd=folder, env=env)
        self._shown, self._known_codes = b"", 0
        self._is_closing, self._reader = False, threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        match = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/#t=([\w-]+)", self.text))
        self.port, self.host, self.token = int(match[1]), f"127.0.0.1:{match[1]}", ""
        # A test gives the address to a browser, or takes the token itself.
        self.address, self._ticket = match[0], match[2]

    def _read(self) -> None:
        with suppress(OSError):
            # A terminal is closed only when nothing reads from it any more.
            while not self._is_closing:
                if select.select([self._leader], [], [], 0.1)[0]:
                    self._shown += os.read(self._leader, 1 << 16)

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
        self.close_terminal()

    def close_terminal(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._reader.join()
            os.close(self._leader)


@contextmanager
def start_terminal_page(
    project: ScratchProject, *arguments: str, is_opened: bool = True, argv: tuple[str, ...] = ()
) -> Iterator[TerminalPage]:
    page = TerminalPage(project.path, make_person_environment(project), *arguments, argv=argv)
    try:
        if is_opened:
            page.open()
        yield page
    finally:
        page.end()
