#!/usr/bin/env python3
"""Asks before a very large, binary or minified file is written."""

from __future__ import annotations

from fnmatch import fnmatch

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard

_MAX_BYTES, _MAX_LINE = 1_000_000, 20_000
_CODE = (".js", ".mjs", ".cjs", ".css", ".html", ".ts", ".py", ".json", ".map")


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first file that is too large or not text."""
    settings = call.settings
    for one in call.writes:
        name = one.path.rpartition("/")[2]
        if one.change == "delete" or any(
            fnmatch(name, free) or fnmatch(one.path, free) for free in call.list_setting("free")
        ):
            continue
        size = len(one.text.encode("utf-8", "replace"))
        if size > settings.get("max_bytes", _MAX_BYTES):
            return ask(
                f"{one.path} would have {size / 1e6:.1f} MB. Make it by a script, or keep it out of git (Git LFS, a release)."
            )
        if "\0" in one.text:
            return ask(
                f"{one.path} would be a binary file. Make it by a program, so that people can see where it comes from."
            )
        longest = max(map(len, one.text.split("\n")), default=0)
        if longest > settings.get("max_line", _MAX_LINE) and name.endswith(_CODE):
            return ask(
                f"{one.path} has a line of {longest} characters, as minified code has. Write its source instead."
            )
    return None


if __name__ == "__main__":
    run_guard(decide)
