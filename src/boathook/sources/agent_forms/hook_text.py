"""The text of hook files: JSON with comments, and TOML."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from boathook.sources.hooks_toml import MAX_DOTS_PER_LINE

# A string, or a comment; in a string nothing is a comment. One without an end is read once, not from each of its quotes again.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


def blank_comments(text: str) -> str:
    """Return JSON with spaces instead of comments, so that every character stays in its line and column."""
    return _STRING_OR_COMMENT.sub(_blank_comment, text)


def _blank_comment(found: re.Match[str]) -> str:
    token = found.group()
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)


def parse_toml_text(text: str) -> tuple[dict[str, Any], str]:
    """Return the tables of a file, and an error or ""."""
    # Keys of many dots take the parser very long.
    if any(line.count(".") > MAX_DOTS_PER_LINE and "=" not in line.partition(".")[0] for line in text.split("\n")):
        return {}, f"a key of this file has more than {MAX_DOTS_PER_LINE} dots"
    try:
        return tomllib.loads(text), ""
    except RecursionError:
        return {}, "it is nested too deep"
    # A TOMLDecodeError, or a number beyond the interpreter's limit.
    except ValueError as error:
        return {}, f"not valid TOML: {error}"
