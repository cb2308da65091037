"""How an optional part is installed, by the program that installed boathook."""

from __future__ import annotations

import shlex
import sys

import pytest

from boathook.system.extras import suggest_packages


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("", f"{shlex.quote(sys.executable)} -m pip install 'httpx>=0.27'"),
        # Its own name with an extra is nothing that pipx injects, because boathook is there already.
        ("pipx_metadata.json", "pipx inject boathook 'httpx>=0.27'"),
        ("uv-receipt.toml", f"uv pip install --python {shlex.quote(sys.executable)} 'httpx>=0.27'"),
    ],
)
def test_an_extra_is_installed_by_the_program_that_installed_boathook(tmp_path, monkeypatch, file, command):
    prefix = tmp_path / "boathook"
    prefix.mkdir()
    if file:
        (prefix / file).write_text("")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert suggest_packages("http") == command


def test_an_unknown_extra_is_named_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "pipx_metadata.json").write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert suggest_packages("nonsense") == f"pipx inject {tmp_path.name} 'boathook[nonsense]'"
