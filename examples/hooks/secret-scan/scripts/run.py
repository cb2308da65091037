#!/usr/bin/env python3
"""Blocks text with the shape of a known secret."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

SHAPES = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{50,}\b",
    "a GitLab token": r"\bglpat-[\w-]{20,}",
    "a Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{16,}\b",
    "a Google API key": r"\bAIza[\w-]{35}",
    "a model provider's key": r"\bsk-(?:ant-|proj-)?[\w-]{32,}",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----",
}
SHAPE = re.compile("|".join(f"({pattern})" for pattern in SHAPES.values()))
SAMPLE = re.compile(r"EXAMPLE|(.)\1{7}|x{5}", re.IGNORECASE)
EXCUSED = "secret-scan: allow"


def secrets(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        for match in SHAPE.finditer(line):
            if EXCUSED not in line and not SAMPLE.search(match[0].strip("-")):
                yield f"{list(SHAPES)[(match.lastindex or 1) - 1]} (line {number})"


def main() -> int:
    for file in json.load(sys.stdin)["writes"]:
        found = list(secrets(file["text"]))
        if found:
            name = file["path"] or "the file"
            print(f"{name} would hold {', '.join(found)}. Read it from the environment instead.", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
