#!/usr/bin/env python3
"""Masks secrets in the output of a tool."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from secret_kinds import mask_secrets


def _mask_value(value: Any, ignored: list[str], names: list[str]) -> Any:
    """Return a value with the secrets in all of its texts masked; adds what they were to `names`."""
    if isinstance(value, str):
        text, found = mask_secrets(value, ignored)
        names += found
        return text
    if isinstance(value, dict):
        return {_mask_value(key, ignored, names): _mask_value(one, ignored, names) for key, one in value.items()}
    return [_mask_value(one, ignored, names) for one in value] if isinstance(value, list) else value


def main() -> None:
    """Read the event, and print the masked output if there is something to mask."""
    event = json.load(sys.stdin)
    settings = json.loads(os.environ.get("AGENT_HOOK_SETTINGS") or "{}")
    names: list[str] = []
    masked = _mask_value(event.get("tool_output"), settings.get("ignored", []), names)
    if names:
        what = ", ".join(dict.fromkeys(names))
        note = (
            f"Parts of the output are masked, because they have the form of secrets: {what}. Work without their values."
        )
        sys.stdout.write(json.dumps({"modified_output": masked, "additional_context": note}) + "\n")


if __name__ == "__main__":
    main()
