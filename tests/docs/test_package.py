"""What the source distribution holds: enough to check, test and document what was downloaded."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.docs.test_docs import ROOT


def test_the_source_distribution_has_what_the_makefile_uses_and_nothing_that_was_made(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {name.partition("/")[0] for name in names}
    folders = {".agents", "bench", "conformance", "docs", "e2e", "examples", "fuzz", "scripts", "src", "tests"}
    files = {"CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "constraints.txt", "hatch_build.py", "mkdocs.yml"}
    assert tops >= folders | files
    assert not {".venv", "build", "dist", ".git"} & tops
    assert {"tests/conftest.py", ".agents/hooks/generated-files/HOOK.md", "docs/images/session.svg"} <= names
    assert [name for name in names if "__pycache__" in name] == []
