"""Programs that run code which a file, a command line or their input holds, by their names: the only table of them."""

# An agent's commands are read with it at every event, so it imports nothing.

from __future__ import annotations

# Shells whose language is that of `sh`, and all shells.
SHELL_NAMES = ("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash")
SHELLS = frozenset((*SHELL_NAMES, "fish"))
_PYTHONS = ("python", "pypy", "ipython")
_INTERPRETERS = (
    *(*_PYTHONS, "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "php", "lua", "luajit"),
    *("osascript", "tclsh", "wish", "expect", "guile", "racket", "Rscript", "R", "julia", "raku"),
    *("elixir", "groovy", "scala", "swift", "crystal", "pwsh", "powershell"),
)
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
_DIGITS = "0123456789"


def is_interpreter(name: str) -> bool:
    """Whether a program runs code in another language than that of a shell."""
    return remove_version(name) in _INTERPRETERS


def is_python(name: str) -> bool:
    return remove_version(name) in _PYTHONS


def list_interpreter_names() -> list[str]:
    """Return all names by which interpreters are installed."""
    versions = [f"{name}{version}" for name, found in _INSTALLED_VERSIONS.items() for version in found]
    return [*_INTERPRETERS, *versions]


def remove_version(name: str) -> str:
    """Return a name without the version behind it, as in `python3.12`, and without the `w` of those that open no window."""
    plain = name.removesuffix("w")
    version = plain[len(plain.rstrip(f"{_DIGITS}.")) :].lstrip(".")
    if version:
        return plain[: len(plain) - len(version)].removesuffix("-")
    return plain if plain == "python" else name
