"""The programs that may change something or start others: a call without any of them, and without a redirection, only reads."""

from __future__ import annotations

from boathook.core.interpreters import SHELLS, list_interpreter_names
from boathook.shell.git_changes import REPORT_OPTION
from boathook.shell.path_changes import RULES
from boathook.shell.wrappers import WRAPPERS

# Programs that are called all day, and change something only with one of these words.
BY_WORD = frozenset(("git", "find"))
_WORDS = (
    *("checkout", "restore", "clean", "stash", "apply", "am", "archive", "worktree", "sparse-checkout", "format-patch"),
    *("bundle", "checkout-index", REPORT_OPTION),
    *("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fprint0", "-fls"),
)
_STREAM_EDITORS = ("awk", "gawk", "mawk", "nawk", "sed", "gsed")
_STARTERS = (
    "xargs",
    "parallel",
    "ssh",
    "watch",
    "su",
    "script",
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "at",
    "batch",
    "uv",
    # Of `pnpm dlx`, `npm x`: a program is named with its version behind it.
    "dlx",
    "x",
)
CHANGING_PROGRAMS = frozenset(
    word.lower()
    for word in (
        *(name for name in RULES if name not in BY_WORD),
        *_WORDS,
        *list_interpreter_names(),
        *_STREAM_EDITORS,
        *_STARTERS,
        *SHELLS,
        *WRAPPERS,
    )
)
