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
    # The programs whose output is in its words: those in `$(…)` and `<(…)`, and those that `xargs` reads from.
    substituted: tuple[Started, ...] = ()
    # The programs that the code comes from which it runs: by a pipe, a substitution, or a file that they wrote before it.
    code_sources: tuple[Started, ...] = ()
    # Why it is started, from the outside in, such as ("sudo", "xargs") or ("$(…)",).
    started_by: tuple[str, ...] = ()
    # The files that it is redirected to read from.
    input_paths: tuple[str, ...] = ()
    # The files that descriptors of its shell are open for, to be written to.
    open_paths: tuple[str, ...] = ()
    # Those of `outputs` that get only its errors, as in `2> FILE`.
    error_outputs: tuple[str, ...] = ()
    # The folder that it runs in if the `cd` before it fails, which the text does not check; "" if it does.
    other_folder: str = ""
    # The other machine that it runs on, as in `ssh MACHINE …`, "" if it is this one.
    machine: str = ""

    @property
    def name(self) -> str:
        return get_program_name(self.words)

    def make_absolute(self, path: str) -> str:
        return make_absolute_path(path, self.folder)

    # Programs refer to each other, and the whole of what they refer to may be long.

    def __repr__(self) -> str:
        return f"Started(words={self.words!r}, folder={self.folder!r})"

    def __hash__(self) -> int:
        return hash((self.words, self.folder))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Started):
            return NotImplemented
        return self is other or _list_plain_fields(self) == _list_plain_fields(other)


def _list_plain_fields(started: Started) -> tuple[object, ...]:
    names = ("words", "folder", "variables", "outputs", "input_text", "read_paths", "script_text", "started_by")
    values = tuple(started.__dict__[name] for name in (*names, "input_paths", "machine"))
    others = (started.feeders, started.substituted, started.code_sources)
    return (*values, *(tuple(one.words for one in programs) for programs in others))
