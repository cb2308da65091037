"""Conformance vectors: reading them, and laying out what each needs in a folder of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[3] / "conformance" / "vectors"
OURS = ("XDG_", "AGENT_", "KIMI_", "CLAUDE_", "MONOCO_", "BOATHOOK_")

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Vector:
    """One case: what lies on the disk, what happens, and what must come of it."""

    id: str
    clause: str
    title: str
    data: Fields

    @property
    def expect(self) -> Fields:
        """Return what is expected, by the part of the contract that shows it."""
        found: Fields = self.data["expect"]
        return found

    @property
    def run(self) -> Fields:
        """Return the circumstances of the run: argument, directory, environment, flags."""
        found: Fields = self.data.get("run", {})
        return found

    @property
    def asks_for_trust(self) -> bool:
        """Whether nothing of the project may run before it is trusted; most vectors are about something else."""
        return self.run.get("trust") == "asked"


def load_vectors(folder: Path = VECTORS, pattern: str = "") -> list[Vector]:
    """Read all vectors whose id, clause or title contains a pattern."""
    found = []
    for path in sorted(folder.glob("*.json")):
        for data in json.loads(path.read_text(encoding="utf-8")):
            vector = Vector(data["id"], data["clause"], data["title"], data)
            if pattern.lower() in f"{vector.id} {vector.clause} {vector.title}".lower():
                found.append(vector)
    return found


# The box: a vector's files in a folder of their own


class Box:
    """The disk of one vector: `user`, `project` and `home` below a root."""

    def __init__(self, root: Path, vector: Vector) -> None:
        """Lay out the vector's files below a root."""
        self.root = root
        self.project, self.home = root / "project", root / "home"
        self.user = root / "config" / "agents"
        self.vector = vector
        for folder in (self.project, self.home, self.user.parent):
            folder.mkdir()
        for name, content in vector.data.get("files", {}).items():
            self._put(self.place(name), content)

    def place(self, name: str) -> Path:
        """Return the path that a name in a vector stands for."""
        top, _, rest = name.partition("/")
        return {"user": self.user, "project": self.project, "home": self.home}[top] / rest

    def fill(self, value: Any) -> Any:
        """Replace `${PROJECT}`, `${USER}`, `${HOME}`, `$repeat` and `$join` in a value of a vector."""
        if isinstance(value, str):
            for name, path in (("PROJECT", self.project), ("USER", self.user), ("HOME", self.home)):
                value = value.replace(f"${{{name}}}", str(path))
            return value
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        if set(value) == {"$join"}:
            return "".join(self.fill(value["$join"]))
        return {key: self.fill(item) for key, item in value.items()}

    @property
    def cwd(self) -> Path:
        """Return the directory in which the vector wants to be run."""
        return self.place(self.vector.run.get("cwd", "project"))

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment: ours without traces of any agent, all folders inside the box."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        env |= {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.user.parent)}
        env |= {f"XDG_{kind}_HOME": str(self.root / kind.lower()) for kind in ("STATE", "CACHE", "DATA")}
        for key, value in self.vector.run.get("env", {}).items():
            env.pop(key, None)
            if value is not None:
                env[key] = self.fill(value)
        return env

    def _put(self, path: Path, content: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict) and "link" in content:
            path.symlink_to(self.fill(content["link"]))
        elif isinstance(content, dict) and "base64" in content:
            path.write_bytes(base64.b64decode(content["base64"]))
        elif isinstance(content, dict) and "json" in content:
            path.write_text(json.dumps(self.fill(content["json"]), indent=2) + "\n", encoding="utf-8")
        else:
            text = content["text"] if isinstance(content, dict) and "text" in content else content
            path.write_bytes(self.fill(text).encode())
        if isinstance(content, dict) and "mode" in content:
            path.chmod(int(content["mode"], 8))


@contextlib.contextmanager
def box(vector: Vector) -> Iterator[Box]:
    """Lay out a vector in a temporary folder that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="vector-", ignore_cleanup_errors=True) as root:
        yield Box(Path(root).resolve(), vector)


# Comparing
