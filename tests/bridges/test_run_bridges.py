"""`make bridges` for a framework that is new: it has an extra in pyproject.toml, and no pins yet."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, in a repository with the extra `toy`."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import run_bridges

    (tmp_path / "pyproject.toml").write_text('[project.optional-dependencies]\ntoy = ["toy-agents>=1"]\n')
    (tmp_path / "hatch_build.py").write_text("")
    (tmp_path / "pins").mkdir()
    monkeypatch.setattr(run_bridges, "ROOT", tmp_path)
    monkeypatch.setattr(run_bridges, "PINS", tmp_path / "pins")
    return run_bridges


def test_a_new_framework_is_run_with_its_newest_release_and_gets_pins(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["run_bridges.py", "--framework", "toy", "--newest", "--pin"])
    assert script.read_options().framework == ["toy"]
    before = script.make_stamp("toy")
    monkeypatch.setattr(script, "run", lambda *command: "zlib==1\ntoy-agents==2\n-e somewhere\n")
    script.write_pins("toy", Path("python"))
    assert (script.PINS / "toy.txt").read_text() == "toy-agents==2\nzlib==1\n"
    assert script.make_stamp("toy") != before


def test_a_framework_without_pins_is_an_error_that_shows_how_to_write_them(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run_bridges.py", "--framework", "toy"])
    with pytest.raises(SystemExit):
        script.read_options()
    assert "no pins of toy in tests/bridges/pins yet: write them with --newest --pin" in capsys.readouterr().err


def test_figures_and_their_conditions_stay_until_they_are_measured_again(
    script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = {"conditions": {"rounds": 40, "is_idle": True}, "overhead": {"toy": {"one Python hook": 1.1}}}
    new = {"conditions": {"rounds": 60, "is_idle": False}, "overhead": {"toy": {"one Python hook": 1.2}}}
    written = tmp_path / "toy.json"
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    monkeypatch.setattr(script, "read_results", lambda: [json.loads(written.read_text())])
    monkeypatch.setattr(script, "run", lambda *command: "")
    written.write_text(json.dumps({"framework": "toy", **old}))
    script.write_results([{"framework": "toy"}])
    assert json.loads(written.read_text()) == {"framework": "toy", **old}
    script.write_results([{"framework": "toy", **new}])
    assert json.loads(written.read_text()) == {"framework": "toy", **new}
