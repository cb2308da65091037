"""Conformance vectors: read them, and write the files of each into its own folder."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boathook.hosts.host import list_host_names

_HERE = Path(__file__).resolve()
# In the wheel the vectors are part of the package; a clone has them beside `src`.
_VECTOR_FOLDERS = (_HERE.parent / "conformance_vectors", _HERE.parents[3] / "conformance" / "vectors")
VECTORS_FOLDER = next((folder for folder in _VECTOR_FOLDERS if folder.is_dir()), _VECTOR_FOLDERS[0])
# Variables with these prefixes could lead an engine out of the workspace.
_HOST_PREFIXES = [f"{name.split('-')[0].upper()}_" for name in list_host_names()]
_REMOVED_PREFIXES = ("XDG_", "AGENT_", "MONOCO_", "BOATHOOK_", *_HOST_PREFIXES)

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Vector:
    id: str
    clause: str
    title: str
    data: Fields

    @property
    def expect(self) -> Fields:
        """What is expected, by the part of the contract that shows it."""
        return dict(self.data["expect"])

    @property
    def run(self) -> Fields:
        return dict(self.data.get("run", {}))

    @property
    def changes(self) -> list[Fields]:
        """The changes of files among what comes before the event."""
        return list(filter(is_file_change, self.data.get("before", ())))

    @property
    def needs_trust(self) -> bool:
        """Whether project hooks need trust; most vectors are about something else."""
        return self.run.get("trust") == "asked"


def is_file_change(step: Fields) -> bool:
    """Whether something that comes before the event is a change of files, and not an event."""
    return step.keys() in ({"remove"}, {"move"})


def load_vectors(folder: Path = VECTORS_FOLDER, pattern: str = "") -> list[Vector]:
    vectors = []
    for path in sorted(folder.glob("*.json")):
        for data in json.loads(path.read_text(encoding="utf-8")):
            vector = Vector(data["id"], data["clause"], data["title"], data)
            if pattern.lower() in f"{vector.id} {vector.clause} {vector.title}".lower():
                vectors.append(vector)
    return vectors


class Workspace:
    """The files of one vector: `user`, `project` and `home` below a root."""

    def __init__(self, root: Path, vector: Vector) -> None:
        self.root, self.vector = root, vector
        self.project, self.home, self.user = root / "project", root / "home", root / "config" / "agents"
        for folder in (self.project, self.home, self.user.parent):
            folder.mkdir()
        for name, content in vector.data.get("files", {}).items():
            self._write(self.resolve(name), content)

    def resolve(self, name: str) -> Path:
        top, _, rest = name.partition("/")
        return {"user": self.user, "project": self.project, "home": self.home}[top] / rest

    def fill_placeholders(self, value: Any) -> Any:
        """Replace `${PROJECT}`, `${USER}`, `${HOME}`, `$repeat` and `$join` in a value of a vector."""
        if isinstance(value, str):
            for name, path in (("PROJECT", self.project), ("USER", self.user), ("HOME", self.home)):
                value = value.replace(f"${{{name}}}", str(path))
            return value
        if isinstance(value, list):
            return [self.fill_placeholders(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        if set(value) == {"$join"}:
            return "".join(self.fill_placeholders(value["$join"]))
        return {key: self.fill_placeholders(item) for key, item in value.items()}

    def change_files(self, change: Fields) -> None:
        """Remove something, or move it; a second time this does nothing."""
        if "move" in change:
            source, target = map(self.resolve, change["move"])
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                source.rename(target)
            return
        path = self.resolve(change["remove"])
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    @property
    def cwd(self) -> Path:
        return self.resolve(self.vector.run.get("cwd", "project"))

    @property
    def environment(self) -> dict[str, str]:
        """The environment: this one without variables of agents, and all folders inside the workspace."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(_REMOVED_PREFIXES)}
        env |= {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.user.parent)}
        env |= {f"XDG_{kind}_HOME": str(self.root / kind.lower()) for kind in ("STATE", "CACHE", "DATA")}
        for key, value in self.vector.run.get("env", {}).items():
            env.pop(key, None)
            if value is not None:
                env[key] = self.fill_placeholders(value)
        return env

    def _write(self, path: Path, content: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = content if isinstance(content, dict) else {"text": content}
        if "link" in fields:
            path.symlink_to(self.fill_placeholders(fields["link"]))
        elif "base64" in fields:
            path.write_bytes(base64.b64decode(fields["base64"]))
        elif "json" in fields:
            path.write_text(json.dumps(self.fill_placeholders(fields["json"]), indent=2) + "\n", encoding="utf-8")
        else:
            # What has none of these keys is a placeholder, such as `$repeat`.
            path.write_bytes(self.fill_placeholders(fields.get("text", content)).encode())
        if "mode" in fields:
            path.chmod(int(fields["mode"], 8))


@contextlib.contextmanager
def open_workspace(vector: Vector) -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory(prefix="vector-", ignore_cleanup_errors=True) as root:
        yield Workspace(Path(root).resolve(), vector)
