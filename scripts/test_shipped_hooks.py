"""Run `boathook test` for the standard pack, added in a scratch home, the examples, and the hooks of this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bare_python import pass_by_shims
from memory_folder import keep_scratch_files_in_memory

TOP = Path(__file__).resolve().parent.parent
EXAMPLES = TOP / "examples" / "hooks"
OWN_HOOKS = TOP / ".agents" / "hooks"
PACK = "boathook/standard"


def main() -> int:
    keep_scratch_files_in_memory()
    pass_by_shims()
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
            or run("test", str(OWN_HOOKS), "--fail-only", "--no-sandbox")
        )


if __name__ == "__main__":
    sys.exit(main())
