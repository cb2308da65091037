"""What `boathook check` found, in the formats of other programs: annotations of GitHub Actions, and SARIF."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from boathook.cli.show import escape_json_text
from boathook.core.hook import ERROR, NOTE, WARNING, Diagnostic
from boathook.version import __version__

# How GitHub calls the levels of its annotations, and SARIF those of its results.
_GITHUB_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}
_SARIF_LEVELS = {ERROR: "error", WARNING: "warning", NOTE: "note"}
_SARIF_SCHEMA, _SARIF_VERSION = "https://json.schemastore.org/sarif-2.1.0.json", "2.1.0"
# Findings are not numbered: each says in words what is wrong.
_RULE = "check"


def write_annotations(diagnostics: Iterable[Diagnostic], warning: str = "") -> list[str]:
    """Return what GitHub Actions shows beside the lines of a change; `warning` is about no file."""
    lines = []
    for diagnostic in diagnostics:
        # An annotation needs a path in the repository, where a workflow runs.
        fields = {"file": os.path.relpath(diagnostic.path), "line": str(diagnostic.line or 1), "title": "boathook"}
        about = ",".join(f"{name}={_escape_annotation(text, ':,')}" for name, text in fields.items())
        text = _escape_annotation(_describe_finding(diagnostic))
        lines.append(f"::{_GITHUB_LEVELS[diagnostic.level]} {about}::{text}")
    lines += [f"::{_GITHUB_LEVELS[WARNING]} title=boathook::{warning}"] if warning else []
    return lines


def _escape_annotation(text: str, more: str = "") -> str:
    """Return a text in which nothing ends the annotation, and no character is hidden."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for char in more:
        escaped = escaped.replace(char, f"%{ord(char):02X}")
    return escape_json_text(escaped)


def write_sarif(diagnostics: Iterable[Diagnostic], warning: str = "") -> list[str]:
    """Return the lines of a SARIF log of one run; `warning` is about no file."""
    results = [_make_result(diagnostic) for diagnostic in diagnostics]
    if warning:
        results.append({"ruleId": _RULE, "level": _SARIF_LEVELS[WARNING], "message": {"text": warning}})
    rule = {"id": _RULE, "shortDescription": {"text": "A mistake in a hook, or in a file that says which hooks run"}}
    driver = {"name": "boathook", "version": __version__, "rules": [rule]}
    run = {"tool": {"driver": driver}, "results": results}
    log = {"$schema": _SARIF_SCHEMA, "version": _SARIF_VERSION, "runs": [run]}
    return json.dumps(log, indent=2).splitlines()


def _make_result(diagnostic: Diagnostic) -> dict[str, Any]:
    # Relative to the folder that the command runs in, which is the top of the repository in a workflow.
    path = quote(os.path.relpath(diagnostic.path).encode("utf-8", "surrogateescape"))
    place = {"artifactLocation": {"uri": path}, "region": {"startLine": diagnostic.line or 1}}
    return {
        "ruleId": _RULE,
        "level": _SARIF_LEVELS[diagnostic.level],
        "message": {"text": _describe_finding(diagnostic)},
        "locations": [{"physicalLocation": place}],
    }


def _describe_finding(diagnostic: Diagnostic) -> str:
    return diagnostic.message + (f"\nfix: {diagnostic.fix}" if diagnostic.fix else "")
