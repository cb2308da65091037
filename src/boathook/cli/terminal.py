"""Questions to a person at the controlling terminal. Standard input does not count: it may be a file, or what a program types."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from collections.abc import Callable, Iterator, Sequence

import click

from boathook.core.text import reveal_text
from boathook.sources.fields import join_words

_TERMINAL = "/dev/tty"
_MAX_LINE_BYTES = 4096
_LOOK_SECONDS = 0.5


class Terminal:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    def ask(self, question: str, is_open: Callable[[], bool] | None = None) -> str:
        """Ask a question and return the line that was typed; what was typed before it does not count.

        If `is_open` no longer returns true before something is typed, return "" at once.
        """
        sys.stdout.flush()
        termios.tcflush(self._handle, termios.TCIFLUSH)
        self.write(f"{question}: ")
        while is_open is not None and not select.select([self._handle], [], [], _LOOK_SECONDS)[0]:
            if not is_open():
                self.write("\n")
                return ""
        data = os.read(self._handle, _MAX_LINE_BYTES)
        if not data:
            raise click.Abort
        return data.decode("utf-8", "replace").strip()

    def make_sound(self) -> None:
        os.write(self._handle, b"\a")

    def write(self, text: str) -> None:
        os.write(self._handle, reveal_text(text, "\n").encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def open_terminal() -> Iterator[Terminal | None]:
    """Open the controlling terminal; None if there is none."""
    try:
        handle = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield Terminal(handle)
    except (OSError, termios.error):
        # It was closed while we asked.
        raise click.Abort from None
    finally:
        os.close(handle)


def confirm_action(question: str, *, default: bool) -> bool | None:
    """Ask a person until the answer is yes or no; an empty answer is the default. None if there is no terminal."""
    words = ("yes", "no")
    answer = ask_choice(f"{question} [{'Y/n' if default else 'y/N'}]", words, default=words[not default])
    return None if answer is None else answer == "yes"


def ask_choice(question: str, words: Sequence[str], *, default: str) -> str | None:
    """Ask a person until the answer is one of the words or its first letter. None if there is no terminal."""
    choices = {"": default, **{word: word for word in words}, **{word[0]: word for word in words}}
    with open_terminal() as terminal:
        while terminal is not None:
            answer = choices.get(terminal.ask(question).lower())
            if answer is not None:
                return answer
            terminal.write(f"Answer {join_words([word[0] for word in words])}.\n")
    return None
