"""A program that is about to be started, as far as it is known."""

from __future__ import annotations

from boathook.core.value import Value
from boathook.shell.arguments import get_program_name, make_absolute_path
from boathook.shell.scope import ShellScope


class Started(Value):
    """A program that is about to be started; `words` are what it is called with, and may have `UNKNOWN` and patterns in them."""

    # `variables` are set for it alone; `outputs` are the paths that it is redirected to; `input_text` is what it reads, if the
    # text says it; `read_paths` are the words that it reads, as far as they are known.
    words: tuple[str, ...]
    folder: str
    variables: tuple[tuple[str, str], ...] = ()
    outputs: tuple[str, ...] = ()
    input_text: str = ""
    read_paths: tuple[str, ...] = ()
    scope: ShellScope | None = None
    # The script that it runs, if the same text wrote it to a file before.
    script_text: str = ""
    # The programs before it in a pipe, whose output it reads.
    feeders: tuple[Started, ...] = ()

    @property
    def name(self) -> str:
        return get_program_name(self.words)

    def make_absolute(self, path: str) -> str:
        return make_absolute_path(path, self.folder)
