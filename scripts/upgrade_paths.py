"""Try what happens to an installation when pipx and uv upgrade, reinstall and remove boathook: real runs, which need an index.

    python -m venv /tmp/tools && /tmp/tools/bin/pip install pipx uv
    python scripts/upgrade_paths.py /tmp/tools/bin

It is not among the tests, because it installs packages and takes minutes. `tests/install/test_environments.py` has the layouts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN, GONE = "no by the guard", "boathook cannot start"
# For each tool: its name, how it installs, what is done then, and what refuses a tool call afterwards.
PATHS = (
    (
        "pipx",
        ["pipx", "install", "--python", sys.executable, str(ROOT)],
        (
            (["pipx", "upgrade", "--force", "boathook"], OWN),
            (["pipx", "reinstall", "--python", sys.executable, "boathook"], OWN),
            (["pipx", "uninstall", "boathook"], GONE),
        ),
    ),
    (
        "uv tool",
        ["uv", "tool", "install", "--python", sys.executable, str(ROOT)],
        (
            (["uv", "tool", "upgrade", "--reinstall", "boathook"], OWN),
            (["uv", "tool", "uninstall", "boathook"], GONE),
        ),
    ),
)


def main() -> int:
    """Try all of them; give the exit code."""
    tools, failed = sys.argv[1], 0
    for name, install, steps in PATHS:
        with tempfile.TemporaryDirectory(prefix="boathook-upgrade-", ignore_cleanup_errors=True) as home:
            env = _make_home(Path(home), tools)
            _must(install, env)
            _must([f"{home}/.local/bin/boathook", "install", "claude", "--yes"], env)
            for words, reason in (([], OWN), *steps):
                if words:
                    _must(words, env)
                call, prompt = (_ask(Path(home), env, event) for event in ("PreToolUse", "UserPromptSubmit"))
                is_right = reason in call and '"deny"' in call and '"block"' not in prompt
                failed += not is_right
                about = " ".join(word for word in words if not word.startswith("/")) or "installed"
                print(f"{'ok    ' if is_right else 'FAILED'} {name}: {about}: {call[-200:]!r}")
    return int(bool(failed))


def _make_home(home: Path, tools: str) -> dict[str, str]:
    scripts = home / ".config/agents/hooks/guard/scripts"
    scripts.mkdir(parents=True)
    manifest = "---\nname: guard\ndescription: Blocks all.\ntrigger: pre-tool-call\n---\n"
    (scripts.parent / "HOOK.md").write_text(manifest)
    (scripts / "run.sh").write_text(f"#!/bin/sh\necho {OWN} >&2\nexit 2\n")
    (scripts / "run.sh").chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_", "SSL_", "LANG"))}
    path = f"{home}/.local/bin{os.pathsep}{tools}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "HOME": str(home), "PATH": path, "UV_PYTHON_DOWNLOADS": "never"}


def _must(command: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, cwd=env["HOME"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-1000:]}")


def _ask(home: Path, env: dict[str, str], event: str) -> str:
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    line = hooks[event][0]["hooks"][0]["command"]
    payload = json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "hello", "cwd": str(home)})
    done = subprocess.run(["sh", "-c", line], input=payload, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
