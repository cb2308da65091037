"""One run of one agent: a scratch home and project, the scripted model, the agent, and what was to be seen afterwards.

It is a program of its own since it runs in a network namespace of its own, in which there is nothing but loopback.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from e2e import guards
from e2e.asked_calls import ASK_SESSIONS, prepare_questions
from e2e.hosts import MODEL, PROMPT, Agent, Place, agent
from e2e.install import cache
from e2e.people import DeedError, attend_agent, make_deeds
from e2e.scenes import SCENES
from e2e.server import Request, Script, Step, serve

HERE = Path(__file__).resolve().parent
HOOKS = HERE / "hooks"
BACKGROUND = "background-finished"
BACKGROUND_SECONDS = 20
MARK = "BOATHOOK_E2E_RUN"
BOATHOOK = (sys.executable, "-m", "boathook")
TAIL = 3000
STEPS = (
    Step("rewrite", "touch before-word"),
    Step("plain", "echo plain-word > plain"),
    Step("block", "touch forbidden-word"),
    Step("stop", text="All is done."),
    Step("again", text="Now all is done."),
)
LOOK_UP = "look-up"
HOOKED, CONTROL, PROJECT = "hooks", "control", "project"


@dataclass
class Observation:
    """What was to be seen of one run: the requests that the model got, the files that are there, and the records."""

    host: str
    variant: str
    version: str = ""
    code: int | None = None
    seconds: float = 0.0
    requests: list[Request] = field(default_factory=list)
    files: dict[str, float] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    ledger: list[dict[str, Any]] = field(default_factory=list)
    said: str = ""
    error: str = ""

    @property
    def own(self) -> list[Request]:
        """Give the requests of the agent itself."""
        return [request for request in self.requests if request.is_own]

    def to_json(self) -> dict[str, Any]:
        """Give it for a file."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Observation:
        """Read it from a file."""
        return cls(**{**data, "requests": [Request(**one) for one in data["requests"]]})


class StageError(Exception):
    """A run could not take place."""


def play(who: Agent, variant: str) -> Observation:
    """Run an agent once, and say what was to be seen."""
    seen = Observation(who.name, variant)
    scratch = Path(tempfile.mkdtemp(prefix=f"boathook-e2e-{who.name}-"))
    mark = uuid.uuid4().hex
    session = guards.find_session(who, variant)
    steps = session.steps(who) if session else _steps(who, variant)
    script = Script(steps, PROMPT, who.tool, who.arguments, str(scratch / "project"), str(scratch / "outside"))
    server = serve(script)
    try:
        model = session.model if session else MODEL
        place = Place(cache(), scratch / "home", scratch / "project", server.server_port, model)
        env = _environment(who, place, scratch, mark)
        settings = ASK_SESSIONS[variant].settings if variant in ASK_SESSIONS else ()
        script.actions = guards.make_actions(place, env) | make_deeds(place, env, settings)
        _prepare(who, place, variant, env)
        before = guards.contents(place)
        _start(who, place, env, seen, script)
        script.finish()
        _look(place, variant, env, seen)
        seen.changed = guards.differing(before, guards.contents(place))
    except StageError as error:
        seen.error = str(error)
    finally:
        _end_all(mark)
        server.shutdown()
        server.server_close()
        seen.requests = list(script.requests)
        seen.error = "; ".join(filter(None, [seen.error, *script.errors]))
        shutil.rmtree(scratch, ignore_errors=True)
    return seen


def _steps(who: Agent, variant: str) -> Sequence[Step]:
    if asks := ASK_SESSIONS.get(variant):
        return asks.list_steps(who.name)
    scene = SCENES.get(variant)
    return scene.steps if scene else (*_look_up(who, variant), *STEPS)


def _look_up(who: Agent, variant: str) -> list[Step]:
    """Give the step that has an agent declare tools that it only named."""
    if who.deferred is None or variant != CONTROL:
        return []
    query = f"select:{','.join(who.deferred.guarded)}"
    return [Step(LOOK_UP, tool=who.deferred.search, arguments={"query": query})]


def _environment(who: Agent, place: Place, scratch: Path, mark: str) -> dict[str, str]:
    for folder in (place.home, place.project, place.outside, scratch / "tmp"):
        folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = {"PATH": path, "HOME": str(place.home), "TMPDIR": str(scratch / "tmp"), "LANG": "C.UTF-8", "TERM": "dumb"}
    return {**env, MARK: mark, **who.variables(place)}


def _prepare(who: Agent, place: Place, variant: str, env: dict[str, str]) -> None:
    (place.project / "README.md").write_text("A project for a proof.\n")
    _must(["git", "init", "-q"], place, env)
    who.prepare(place)
    if who.before is not None:
        _must([*who.program(place.cache), *who.before(place)], place, env)
    if variant == CONTROL:
        return

    def boathook(*words: str) -> str:
        return _must([*BOATHOOK, *words], place, env)

    if session := guards.find_session(who, variant):
        who.connect(place)
        guards.prepare(place, session, boathook, who.name)
        return
    if asks := ASK_SESSIONS.get(variant):
        prepare_questions(who.name, place, asks, boathook)
        return
    if scene := SCENES.get(variant):
        scene.prepare(place, env, boathook)
        return
    top = place.project / ".agents" if variant == PROJECT else place.home / ".config/agents"
    shutil.copytree(HOOKS, top / "hooks")
    if variant == PROJECT:
        boathook("trust", "--all", "--yes")
    boathook("install", who.name, "--yes")


def _must(command: list[str], place: Place, env: dict[str, str]) -> str:
    """Run a command that has to succeed; give what it prints."""
    try:
        done = subprocess.run(
            command,
            cwd=place.project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StageError(str(error)) from error
    if done.returncode:
        words = " ".join(command[1:])
        raise StageError(f"{words}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-TAIL:]}")
    return done.stdout


def _start(who: Agent, place: Place, env: dict[str, str], seen: Observation, script: Script) -> None:
    program = who.program(place.cache)
    seen.version = _must([*program, "--version"], place, env).strip()
    wanted = place.cache.pins[who.package].version
    if wanted not in seen.version:
        raise StageError(f"version {wanted} is pinned, this is {seen.version[:100]!r}")
    seen.version = wanted
    started = time.monotonic()
    asks = ASK_SESSIONS.get(seen.variant)
    if asks and asks.is_attended and who.attended:
        _attend([*program, *who.attended(place)], place, env, seen, script)
        seen.seconds = round(time.monotonic() - started, 2)
        return
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [*program, *who.options(place)],
            cwd=place.project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            seen.code = process.wait(who.seconds)
        except subprocess.TimeoutExpired:
            seen.error = f"it did not end within {who.seconds} s"
        seen.seconds = round(time.monotonic() - started, 2)
        if seen.code is None:
            _end_all(env[MARK])
            process.wait()
        out.seek(0)
        seen.said = out.read().decode("utf-8", "replace")[-TAIL:]


def _attend(command: list[str], place: Place, env: dict[str, str], seen: Observation, script: Script) -> None:
    try:
        seen.said = attend_agent(command, place, env, len(script.steps), lambda: script.served)[-TAIL:]
    except (DeedError, OSError) as error:
        raise StageError(str(error)) from error
    seen.code = -signal.SIGKILL


def _look(place: Place, variant: str, env: dict[str, str], seen: Observation) -> None:
    """Look at what is there; what runs in the background has a while to come to its end."""
    end = time.monotonic() + (BACKGROUND_SECONDS if (place.project / "background-started").exists() else 0)
    while not (place.project / BACKGROUND).exists() and time.monotonic() < end:
        time.sleep(0.1)
    seen.files = {path.name: path.stat().st_mtime for path in place.project.iterdir()}
    if variant != CONTROL:
        lines = _must([*BOATHOOK, "log", "--json"], place, env).splitlines()
        seen.ledger = [json.loads(line) for line in lines if line.startswith("{")]


def _end_all(mark: str) -> None:
    """End every process that bears the mark of this run: all of them were started by it, whatever became of their parents."""
    for _ in range(20):
        found = _marked(mark)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.05)


def _marked(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def only_loopback() -> None:
    """Bring loopback up, and make sure that there is nothing else."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise StageError(f"this is no empty network namespace: {', '.join(names)}")
    up, get_flags, set_flags = 1, 0x8913, 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(link, get_flags, request))[1]
        fcntl.ioctl(link, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def main() -> None:
    """Play one run, and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument(
        "variant", help="hooks, control, project, a scene, a run with questions, or one with or without guards"
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--open", action="store_true", help="the network is not empty, by wish")
    given = parser.parse_args()
    if not given.open:
        only_loopback()
    given.out.write_text(json.dumps(play(agent(given.host), given.variant).to_json()))


if __name__ == "__main__":
    main()
