"""One case of a tests.txt as data: what happens, what is there before, and what the hook should answer."""

from __future__ import annotations

from typing import Any

from boathook.core.value import Value

# What a hook decides, for each word that a case begins with: `pass` is no opinion, `skip` that the hook is not asked.
PASS, SKIP, CORPUS, OBJECT = "pass", "skip", "corpus", "object"
DECISION_WORDS = ("block", "ask", "allow", "stop", PASS, SKIP)
# Only entries of a corpus have `object`: any answer that keeps the call from going on by itself.
OBJECTIONS = ("block", "ask", "stop")
TODO_PREFIX = "todo-"
CASE_WORDS = (*DECISION_WORDS, *(f"{TODO_PREFIX}{word}" for word in DECISION_WORDS), CORPUS)
CLEAN, EMPTY, DIRTY = GIT_STATES = ("clean", "empty", "dirty")


class GitSetup(Value):
    """A repository of the scratch project; the first `committed` files of the case are in its commit."""

    branch: str
    state: str = CLEAN
    committed: int = 0


class LeftFile(Value):
    """A file that must be there afterwards: with exactly this text, or with this part of it, or with any text."""

    path: str
    text: str | None = None
    part: str = ""


class Case(Value):
    """One case. `value` is the main field of the event, None if the case does not give it; `line` is where the case begins."""

    # `text` is the rest of the line after the event, with the name of the tool; it is the value if the event has no tool.
    # `event` and `tool` are "" if the hook decides them. `fields` belong to the tool's input, or to the event if it has no tool.
    # `event_fields` replace fields of the event, None removes one. `hook` is the name after the last `hook` line.
    line: int
    word: str
    value: str | None = None
    is_todo: bool = False
    event: str = ""
    tool: str = ""
    text: str = ""
    hook: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    input: Any = None
    event_fields: Any = None
    says: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    becomes: str | None = None
    git: GitSetup | None = None
    files: tuple[tuple[str, str], ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    leaves: tuple[LeftFile, ...] = ()
    hosts: tuple[str, ...] = ()
    settings: Any = None

    @property
    def brings_code(self) -> bool:
        """Whether the case has texts that a hook may run; no trust covers them."""
        return bool(self.programs or self.files or self.variables)

    @property
    def is_plain(self) -> bool:
        """Whether the case needs nothing but the event."""
        return not (self.brings_code or self.git or self.leaves or self.settings or self.word == CORPUS)

    @property
    def title(self) -> str:
        """Return the line of the case, without its word, as people recognize it."""
        event = f"@{self.event} " if self.event else ""
        first_field = self.fields[0][1].partition("\n")[0] if self.fields else ""
        return f"{event}{self.text or first_field}".rstrip()
