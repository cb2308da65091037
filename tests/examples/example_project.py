"""A scratch project for the examples, and its repositories, tools and files."""

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

from tests.scratch_project import ScratchProject

ROOT = Path(__file__).resolve().parents[2]
BASIC = (
    *("sh", "bash", "env", "cat", "echo", "printf", "grep", "sed", "awk", "head", "tail", "tr", "cut", "wc", "sort"),
    *("mkdir", "mktemp", "mv", "cp", "rm", "touch", "basename", "dirname", "date", "git", "ls", "pwd", "true", "false"),
)
SECONDS = 60.0


class ExampleProject(ScratchProject):
    """A project to try examples in: only basic commands and the tools of a test are on its PATH."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, trust_all=True)
        self.make_folders()
        self.tools = base / "bin"
        for folder in (self.hooks_folder("project"), self.tools, base / "tmp"):
            folder.mkdir(parents=True)
        for name in BASIC:
            if program := shutil.which(name):
                (self.tools / name).symlink_to(program)
        (self.tools / "python3").symlink_to(Path(sys.executable).resolve())

    @property
    def environment(self) -> dict[str, str]:
        passed_on = {name: os.environ[name] for name in ("PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {
            **passed_on,
            **self.variables,
            "PATH": str(self.tools),
            "TMPDIR": str(self.base / "tmp"),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.base),
            **{f"GIT_{who}_NAME": "Somebody" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "somebody@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    # setting up

    def copy_hook(self, folder: Path) -> None:
        shutil.copytree(folder, self.hooks_folder("project") / folder.name)

    def write_files(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def write_tool(self, name: str, script: str) -> None:
        path = self.tools / name
        path.unlink(missing_ok=True)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def make_repository(self, setup: str | dict[str, Any]) -> None:
        """Make a repository on a branch, with everything that is there so far in one commit."""
        branch, commits = (setup, 1) if isinstance(setup, str) else (setup["branch"], setup.get("commits", 1))
        self.git("init", "-q")
        self.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        if commits:
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "start")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.path, env=self.environment, check=True, capture_output=True)

    # events

    def fire(self, event: dict[str, Any], *, compact: bool = False) -> dict[str, Any]:
        """Return the verdict on an event, after the hooks in the background have ended."""
        text = json.dumps(self.fill_in_path(event), separators=(",", ":") if compact else None)
        done = self.run("run", "--project", str(self.path), "--json", stdin=text)
        assert done.returncode == 0, done.stderr
        verdict: dict[str, Any] = json.loads(done.stdout)
        for started in verdict["background"]:
            wait_for_end(started["pid"])
        return verdict

    def fill_in_path(self, value: Any) -> Any:
        """Return a value with the path of the project for `{project}`."""
        if isinstance(value, str):
            return value.replace("{project}", str(self.path))
        if isinstance(value, dict):
            return {key: self.fill_in_path(inner) for key, inner in value.items()}
        return [self.fill_in_path(inner) for inner in value] if isinstance(value, list) else value

    def read_file(self, name: str) -> str | None:
        path = self.path / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def wait_for_file(self, name: str, expected: str | dict[str, str] | None) -> str | None:
        """Return the text of a file as soon as it is as expected, or as it is when the time is over."""
        limit = time.monotonic() + SECONDS
        while not is_as_expected(self.read_file(name), expected) and time.monotonic() < limit:
            time.sleep(0.05)
        return self.read_file(name)


def is_as_expected(text: str | None, expected: str | dict[str, str] | None) -> bool:
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
