"""Ask a person by a program of their own, as ssh does with SSH_ASKPASS: exit code 0 is a yes, and everything else a no."""

from __future__ import annotations

import os
import pwd
import signal
import stat
import subprocess
from contextlib import suppress

from boathook.core.text import reveal_text

ASKPASS_SECONDS = 60.0
_MAX_TEXT_CHARS = 4096
_OTHER_PLACE = "Fix: put the program in a folder that only you or root can write to, such as one in your home"
_SAFE_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
# How the program reaches the screen of the person. Everything else of the environment is the agent's, which started us.
_PASSED_ON = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")


def find_askpass_problem(path: str) -> str:
    """Return why a program may not be asked, or "": it and all its folders must be safe from other users."""
    if not path:
        return 'hooks.toml names no program. Add to [hooks.approvals]: askpass = "/path/to/program"'
    if not os.path.isabs(path):
        return f"askpass = {path!r} is not an absolute path: write it from / on, without ~"
    try:
        real = os.path.realpath(path, strict=True)
        for place in dict.fromkeys((*_list_folders(path), *_list_folders(real), real)):
            if problem := _find_place_problem(place):
                return problem
        if not stat.S_ISREG(os.stat(real).st_mode) or not os.access(real, os.X_OK):
            return f"{path} is not a program. Fix: chmod u+x {path}"
    except (OSError, ValueError) as error:
        return f"{path} cannot be used ({getattr(error, 'strerror', None) or error})"
    return ""


def _list_folders(path: str) -> list[str]:
    folders, folder = [], os.path.dirname(path)
    while folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def _find_place_problem(place: str) -> str:
    status = os.stat(place)
    if status.st_uid not in (0, os.geteuid()):
        return f"{place} belongs to another user, who could replace the program. {_OTHER_PLACE}"
    if status.st_mode & 0o022:
        what = f"others can write to {place}, and so replace the program"
        is_own_folder = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX
        # Folders such as /tmp are for everybody.
        return f"{what}. {f'Fix: chmod go-w {place}' if is_own_folder else _OTHER_PLACE}"
    return ""


class AskpassError(Exception):
    """The program could not be started: why."""


class AskpassRun:
    """A program that asks the person, beside what else this process does. `end` it in any case."""

    def __init__(self, path: str, text: str) -> None:
        """Start it; AskpassError if that is impossible."""
        self._path = path
        if problem := find_askpass_problem(path):
            raise AskpassError(f"the askpass program was not started: {problem}")
        question = reveal_text(text[:_MAX_TEXT_CHARS].replace("\0", ""), "\n")
        try:
            self._process = subprocess.Popen(
                [path, question],
                env=make_askpass_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise AskpassError(f"the askpass program {path} could not be started ({reason})") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, seconds: float) -> str | None:
        """Wait for its answer; return "" if that is a yes, else why not, and None if there is none yet."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return "" if code == 0 else f"the person said no (the askpass program {self._path} ended with {code})"

    def describe_silence(self, seconds: float) -> str:
        return f"the askpass program {self._path} had no answer after {seconds:.0f} s"

    def end(self) -> None:
        """End it with all it started: no dialog may stay whose answer does not count."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def ask_by_program(path: str, text: str, seconds: float = ASKPASS_SECONDS) -> str:
    """Ask by a program; return "" if it says yes, else why not."""
    try:
        run = AskpassRun(path, text)
    except AskpassError as error:
        return str(error)
    try:
        answer = run.wait(seconds)
        return run.describe_silence(seconds) if answer is None else answer
    finally:
        # Also if something interrupts us.
        run.end()


def make_askpass_environment() -> dict[str, str]:
    """Return the environment of the program: the account's own home, a fixed PATH, and where the screen is."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if os.environ.get(name)}
    home = pwd.getpwuid(os.geteuid()).pw_dir
    # Programs that know this variable show yes and no instead of a field for a password.
    return {"HOME": home, "PATH": _SAFE_PATH, "SSH_ASKPASS_PROMPT": "confirm", **passed_on}
