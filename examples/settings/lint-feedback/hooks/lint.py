#!/usr/bin/env python3
"""Runs ruff on a Python file that was just written, and hands what it finds to the model."""

import json
import shutil
import subprocess
import sys

path = json.load(sys.stdin).get("tool_input", {}).get("file_path", "")
if path.endswith(".py") and shutil.which("ruff"):
    command = ["ruff", "check", "--quiet", "--output-format", "concise", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1:
        answer = {
            "decision": "block",
            "reason": f"ruff has something to say:\n{done.stdout.strip()}",
            "hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "additionalContext": "'ruff check --fix' mends most of it.",
            },
        }
        print(json.dumps(answer))
