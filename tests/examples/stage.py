"""A project to try hooks in: its own home, and on the path only basic commands and the tools a test puts there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from tests import forked

ROOT = Path(__file__).resolve().parents[2]
BASIC = (
    *("sh", "bash", "env", "cat", "echo", "printf", "grep", "sed", "awk", "head", "tail", "tr", "cut", "wc", "sort"),
    *("mkdir", "mktemp", "mv", "cp", "rm", "touch", "basename", "dirname", "date", "git", "ls", "pwd", "true", "false"),
)
SECONDS = 60.0


class Stage:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.tools = root / "bin"
        for folder in (self.project / ".agents" / "hooks", self.tools, root / "home", root / "tmp"):
            folder.mkdir(parents=True)
        for name in BASIC:
            if found := shutil.which(name):
                (self.tools / name).symlink_to(found)
        (self.tools / "python3").symlink_to(Path(sys.executable).resolve())

    @property
    def environment(self) -> dict[str, str]:
        home = self.root / "home"
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {
            **kept,
            "PATH": str(self.tools),
            "HOME": str(home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            **{f"XDG_{name}_HOME": str(home / f".{name.lower()}") for name in ("CONFIG", "STATE", "CACHE", "DATA")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.root),
            **{f"GIT_{who}_NAME": "Somebody" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "somebody@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    # setting up

    def add_hook(self, folder: Path) -> None:
        shutil.copytree(folder, self.project / ".agents" / "hooks" / folder.name)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def add_tool(self, name: str, script: str) -> None:
        path = self.tools / name
        path.unlink(missing_ok=True)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def make_repository(self, setup: str | dict[str, Any]) -> None:
        """A repository on a branch, with everything that is there so far in one commit."""
        branch, commits = (setup, 1) if isinstance(setup, str) else (setup["branch"], setup.get("commits", 1))
        self.git("init", "-q")
        self.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        if commits:
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "start")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.project, env=self.environment, check=True, capture_output=True)

    # playing

    def boathook(self, *arguments: str, stdin: str = "") -> str:
        command = [sys.executable, "-m", "boathook", *arguments]
        done = forked.run(command, input=stdin, cwd=self.project, env=self.environment, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, event: dict[str, Any], *, compact: bool = False) -> dict[str, Any]:
        """The verdict on an event, after the hooks in the background have ended."""
        text = json.dumps(self.placed(event), separators=(",", ":") if compact else None)
        arguments = ("--trust-all", "--project", str(self.project), "--json")
        verdict: dict[str, Any] = json.loads(self.boathook("run", *arguments, stdin=text))
        for started in verdict["background"]:
            wait_for_end(started["pid"])
        return verdict

    def list(self) -> list[dict[str, Any]]:
        arguments = ("--trust-all", "--project", str(self.project), "--json")
        found: list[dict[str, Any]] = json.loads(self.boathook("list", *arguments))["hooks"]
        return found

    def placed(self, value: Any) -> Any:
        """A value with the project's path for `{project}`."""
        if isinstance(value, str):
            return value.replace("{project}", str(self.project))
        if isinstance(value, dict):
            return {key: self.placed(inner) for key, inner in value.items()}
        return [self.placed(inner) for inner in value] if isinstance(value, list) else value

    def read(self, name: str) -> str | None:
        path = self.project / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def read_when(self, name: str, expected: str | dict[str, str] | None) -> str | None:
        """A file's text, as soon as it is as expected, or as it is when the time is over."""
        limit = time.monotonic() + SECONDS
        while not is_as(self.read(name), expected) and time.monotonic() < limit:
            time.sleep(0.05)
        return self.read(name)


def is_as(text: str | None, expected: str | dict[str, str] | None) -> bool:
    if isinstance(expected, dict):
        return text is not None and expected["contains"] in text
    return text == expected


def wait_for_end(pid: int) -> None:
    limit = time.monotonic() + SECONDS
    while is_alive(pid) and time.monotonic() < limit:
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
