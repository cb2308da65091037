"""Programs that change no path that they are called with, or not by themselves."""

from __future__ import annotations

from boathook.core.interpreters import SHELLS

# Programs that have no option to change a file.
_READERS = (
    *("cat", "ls", "grep", "egrep", "fgrep", "head", "tail", "more", "wc", "diff", "stat", "file", "jq", "cmp"),
    *("du", "df", "bat", "cut", "tr", "nl", "tac", "rev", "column", "comm", "join", "paste", "fold"),
    *("fmt", "od", "hexdump", "strings", "md5sum", "sha1sum", "sha256sum", "shasum", "cksum", "b2sum", "basename"),
    *("dirname", "realpath", "readlink", "which", "whereis", "lsattr", "getfacl", "exa", "eza", "ag", "ack"),
    *("shellcheck", "yamllint", "sleep", "date", "id", "whoami", "printenv", "uname", "hostname", "ps", "kill"),
    *("lsof", "pgrep", "fuser", "namei", "tokei", "look", "apropos", "delta", "difft"),
)
# Words of the shell itself.
SHELL_WORDS = (
    *("for", "case", "select", "function", "then", "else", "while", "until", "if", "do", "done", "fi", "esac"),
    *("echo", "printf", "test", "[", "[[", "cd", "pushd", "popd", "pwd", "true", "false", ":", "type", "command"),
    *("export", "declare", "local", "readonly", "typeset", "set", "unset", "shopt", "exit", "return", "read"),
    *("alias", "trap", "wait", "jobs", "help", "let", "mapfile", "readarray", "getopts"),
)
# Programs that start what they are called with: that is read as a program of its own (see `started`).
_STARTERS = (
    *(
        "eval",
        "source",
        ".",
        "exec",
        "env",
        "xargs",
        "parallel",
        "ssh",
        "watch",
        "su",
        "tmux",
        "screen",
        "entr",
        "fd",
        "fdfind",
        "rg",
    ),
    *("at", "batch"),
    *SHELLS,
)
# Programs that can change files, and are called with paths all day to do something else. What boathook and package managers
# change is found by their subcommands.
_FREE_PROGRAMS = (
    *("boathook", "pip", "pip3", "pipx", "gh", "git-lfs", "npm", "pnpm", "yarn", "make", "cargo"),
    *("pytest", "mypy", "pyright", "open", "xdg-open", "man"),
)
KNOWN_PROGRAMS = frozenset((*_READERS, *SHELL_WORDS, *_STARTERS, *_FREE_PROGRAMS))
