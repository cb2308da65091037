"""The command `boathook`: `run` takes the fast path, everything else goes through click."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    args = sys.argv[1:]
    if args[:1] == ["run"] and not {"-h", "--help"} & set(args):
        from boathook.entry.fast_path import enter

        enter(args[1:])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    from boathook.cli.commands import cli

    if "_BOATHOOK_COMPLETE" in os.environ:
        # A shell asks for completions: they are split as our own script wants it.
        import boathook.cli.completion  # noqa: F401

    cli(prog_name="boathook")
    raise SystemExit(0)
