"""Each host has a page that shows how to install, check and remove; its commands leave a person's configuration as it was."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.setup import FILES, PLUGIN, TABLES, load_setup
from tests import forked
from tests.docs.test_docs import ROOT, RUN, blocks, environment, make_quick_command

PAGES = ROOT / "docs/how-to/hosts"
JSON = '{"mine":   [1,2],\n\t"other": {"a": "é"}}\n'
TOML = '# mine\nmodel = "m"   # and so on\n\n[other]\na = 1\n'


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def commands(name: str) -> list[str]:
    return [line for language, text in blocks(PAGES / f"{name}.md") if language == "sh" for line in text.splitlines()]


def snapshot(home: Path) -> dict[str, bytes | None]:
    """Return all that lies in a home, but for what is boathook's own."""
    found = {str(path.relative_to(home)): path for path in home.rglob("*")}
    return {
        name: path.read_bytes() if path.is_file() else None
        for name, path in found.items()
        if not name.startswith((".local", ".cache"))
    }


def furnish(name: str, home: Path) -> None:
    """Put something of a person's own where a host has its settings, or beside it."""
    setup = load_setup(name)
    path = home / setup.home[1] / setup.user_file
    if setup.format in (FILES, PLUGIN):
        path = path / "Mine" if setup.format == FILES else path.with_name("mine.js")
    path.parent.mkdir(parents=True)
    path.write_text(TOML if setup.format == TABLES else JSON, encoding="utf-8")


@pytest.mark.parametrize("name", list_host_names())
def test_a_page_of_a_host_shows_how_to_install_check_and_remove(name: str) -> None:
    answer = commands(name)
    starts = ("boathook install", "boathook status", "boathook doctor", "echo", "boathook log", "boathook uninstall")
    assert [start for start in starts if not any(line.startswith(start) for line in answer)] == []
    assert page(name).startswith(f"# {load_host(name).title}\n")
    assert re.findall(r"<!-- generated: ([a-z]+) of ([a-z-]+); `make docs` -->", page(name)) == [
        ("files", name),
        ("capabilities", name),
    ]


@pytest.mark.parametrize("name", list_host_names())
def test_the_commands_of_a_page_leave_the_configuration_as_it_was(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    furnish(name, home)
    before = snapshot(home)

    def play(word: str) -> None:
        lines = [line for line in commands(name) if line.startswith(f"boathook {word} {name} ")]
        assert len(lines) == 1
        subprocess.run([*RUN["sh"], lines[0]], cwd=tmp_path, env=environment(tmp_path), check=True, timeout=60)

    if not forked.goes_apart():
        make_quick_command(tmp_path)
    play("install")
    assert snapshot(home) != before
    play("uninstall")
    assert snapshot(home) == before


@pytest.mark.parametrize("name", list_host_names())
def test_the_page_of_a_host_that_was_never_run_warns_that_it_is_not_tested(name: str) -> None:
    was_run = bool(load_host(name).version)
    assert ("This has not been tested" in page(name)) is not was_run
    assert (f"make e2e HOST={name}" in page(name)) is was_run
