"""An interpreter that starts quickly, as `python3` of the hooks that tests run."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

CONFIGURATION = "home = {}/bin\ninclude-system-site-packages = false\n"


def pass_by_shims() -> None:
    """If `python3` is a script that looks for an interpreter, as pyenv has it, put an interpreter before it."""
    found = shutil.which("python3")
    if found is None or not os.access(sys.prefix, os.W_OK) or Path(found).read_bytes()[:2] != b"#!":
        return
    # An environment without packages, because those of the interpreter may do more at every start.
    folder = Path(sys.prefix, "bare")
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (folder / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(CONFIGURATION.format(sys.base_prefix), encoding="utf-8")
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
