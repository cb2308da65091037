#!/usr/bin/env python3
"""Holds shell commands against a list of house rules; exit code 2 refuses, and the agent reads why."""

import json
import re
import sys

RULES = (
    (r"^grep\b(?!.*\|)", "use rg instead of grep: it is faster and skips what git ignores"),
    (r"^find\s+\S+\s+-name\b", "use 'rg --files -g PATTERN' instead of 'find -name'"),
    (r"\bcurl\b[^|]*\|\s*(?:ba)?sh\b", "download a script and read it before you run it"),
)


def broken_rules(command: str) -> list[str]:
    return [advice for rule, advice in RULES if re.search(rule, command)]


def main() -> int:
    try:
        event = json.load(sys.stdin)
    except json.JSONDecodeError as error:
        print(f"this is no event: {error}", file=sys.stderr)
        return 1
    found = broken_rules(event.get("tool_input", {}).get("command", ""))
    for advice in found:
        print(f"- {advice}", file=sys.stderr)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
