"""Run `boathook test` for every hook that is shipped: the standard pack, added in a scratch home, and the examples."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples" / "hooks"
PACK = "boathook/standard"


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, "project")
        project.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        environment = {**kept, "HOME": scratch}

        def run(*arguments: str) -> int:
            argv = [sys.executable, "-m", "boathook", *arguments]
            return subprocess.run(argv, cwd=project, env=environment, check=False).returncode

        # The hooks are those of this repository, so they need no sandbox.
        return (
            run("pack", "add", PACK, "--yes")
            or run("test", PACK, "--fail-only")
            or run("test", str(EXAMPLES), "--fail-only", "--no-sandbox")
        )


if __name__ == "__main__":
    sys.exit(main())
