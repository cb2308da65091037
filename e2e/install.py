"""Puts the pinned agents into a cache folder that is not the repository's, once for each version."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINS = HERE / "pins.txt"
CACHE = "BOATHOOK_E2E_CACHE"
CPUS = {"x86_64": "x64", "aarch64": "arm64"}
PYTHON = (3, 13)  # kimi-cli wants 3.12, but does not start with every 3.12
MINUTES = 8
PATIENCE = (
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
    "--fetch-timeout=60000",
)


class InstallError(Exception):
    """An agent could not be installed."""


class NotPossible(Exception):
    """An agent cannot be installed on this machine, whatever one tries."""


@dataclass(frozen=True)
class Pin:
    """One line of the pins: where a package comes from, its name and its version."""

    source: str
    name: str
    version: str


def pins(text: str | None = None) -> dict[str, Pin]:
    """Give the pins by name."""
    lines = (PINS.read_text() if text is None else text).splitlines()
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {name: Pin(source, name, version) for source, name, version in rows}


@dataclass
class Cache:
    """The folder with what is installed, keyed by name and version."""

    root: Path
    pins: dict[str, Pin]
    _locks: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    @property
    def cpu(self) -> str:
        """Give the processor as npm packages spell it."""
        return CPUS.get(platform.machine(), platform.machine())

    def spelled(self, name: str) -> str:
        """Give the name of a package for this processor."""
        return name.format(cpu=self.cpu)

    def folder(self, name: str) -> Path:
        """Give the folder that a package is installed in."""
        return self.root / f"{self.spelled(name).strip('@').replace('/', '-')}-{self.pins[name].version}"

    def install(self, name: str) -> bool:
        """Install a package unless it is there; say whether anything had to be done."""
        with self._locks[name]:
            done = self.folder(name) / ".installed"
            if done.exists():
                return False
            shutil.rmtree(self.folder(name), ignore_errors=True)
            self.folder(name).mkdir(parents=True)
            (self._by_pip if self.pins[name].source == "pip" else self._by_npm)(self.pins[name])
            done.touch()
            return True

    def _by_npm(self, pin: Pin) -> None:
        # no scripts: they compile or fetch what is not needed; every program lies in a package
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--loglevel=error"]
        wanted = f"{self.spelled(pin.name)}@{pin.version}"
        _run(["npm", "install", *options, *PATIENCE, "--prefix", str(self.folder(pin.name)), wanted], wanted)

    def _by_pip(self, pin: Pin) -> None:
        python = _python()
        if python is None:
            raise NotPossible(f"{pin.name} needs Python 3.13 or newer, and there is none")
        folder, wanted = self.folder(pin.name), f"{pin.name}=={pin.version}"
        _run([python, "-m", "venv", str(folder)], wanted)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--no-compile"]
        _run([*pip, "--disable-pip-version-check", wanted], wanted)


def cache() -> Cache:
    """Give the cache that the environment names, else `.e2e` beside the sources."""
    return Cache(Path(os.environ.get(CACHE) or HERE.parent / ".e2e").resolve(), pins())


def _run(command: list[str], wanted: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=MINUTES * 60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(f"{wanted} could not be installed: {error}") from error
    if done.returncode:
        raise InstallError(f"{wanted} could not be installed:\n{done.stderr.strip()[-2000:]}")


def _python() -> str | None:
    """Give a Python that is new enough for kimi-cli."""
    names = [f"python3.{minor}" for minor in range(PYTHON[1], PYTHON[1] + 3)]
    found = [sys.executable, *(path for path in map(shutil.which, names) if path)]
    found += [str(path) for name in names for path in Path.home().glob(f".pyenv/versions/*/bin/{name}")]
    asks = f"import sys; sys.exit(sys.version_info < {PYTHON})"
    working = (
        path for path in found if subprocess.run([path, "-c", asks], capture_output=True, check=False).returncode == 0
    )
    return next(working, None)
