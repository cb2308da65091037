"""Keeps what looks like a key or a password out of prompts: what was sent cannot be taken back."""

import json
import re
import sys

LOOKS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "an AWS access key": r"\bAKIA[0-9A-Z]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    "a password": r"(?i)\b(?:password|passwd|secret)\s*[:=]\s*\S{6,}",
}

prompt = json.load(sys.stdin).get("prompt", "")
found = [name for name, look in LOOKS.items() if re.search(look, prompt)]
if found:
    reason = f"The prompt was not sent, for it seems to hold {' and '.join(found)}."
    print(json.dumps({"decision": "block", "reason": reason}))
