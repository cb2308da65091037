"""Programs that run code which a command line or their input holds, by their names."""

from __future__ import annotations

import re

_PYTHONS = ("python", "pypy", "ipython")
_INTERPRETERS = (
    *(*_PYTHONS, "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "tsx", "php", "lua", "luajit"),
    *("osascript", "tclsh", "wish", "expect", "guile", "racket", "Rscript", "R", "julia", "raku"),
    *("elixir", "groovy", "scala", "swift", "crystal", "pwsh", "powershell"),
)
# Names have the version that is installed behind them, as in `python3.12`, and `w` if they open no window.
_VERSION = re.compile(r"-?\d[\d.]*w?$|(?<=python)w$")
# The versions that systems install beside others.
_INSTALLED_VERSIONS = {
    "python": (*"23", "2.7", *(f"3.{minor}" for minor in range(6, 30))),
    "pypy": ("3", *(f"3.{minor}" for minor in range(6, 20))),
    "ipython": ("3",),
    "perl": ("5", "6", *(f"5.{minor}" for minor in range(8, 60, 2))),
    "ruby": (*(f"2.{minor}" for minor in range(8)), *(f"3.{minor}" for minor in range(10)), "4.0"),
    "php": (*"578", *(f"{major}.{minor}" for major in (5, 7, 8) for minor in range(7))),
    "lua": ("5.1", "5.2", "5.3", "5.4", "5.5", "51", "52", "53", "54"),
    "tclsh": ("8.5", "8.6", "8.7", "9.0", "9.1"),
    "wish": ("8.5", "8.6", "9.0"),
    "guile": ("2.0", "2.2", "3.0"),
    "node": tuple(str(major) for major in range(10, 40)),
}
INTERPRETER_NAMES = frozenset(
    (*_INTERPRETERS, *(f"{name}{version}" for name, versions in _INSTALLED_VERSIONS.items() for version in versions))
)


def is_interpreter(name: str) -> bool:
    return remove_version(name) in _INTERPRETERS


def is_python(name: str) -> bool:
    return remove_version(name) in _PYTHONS


def remove_version(name: str) -> str:
    return _VERSION.sub("", name)
