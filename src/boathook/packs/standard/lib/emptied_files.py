"""Files that a program leaves empty or worthless, and files that it writes an older version over."""

from __future__ import annotations

import re

from argument_list import ArgumentList
from git_call import GitCall

from boathook.core.interpreters import is_interpreter
from boathook.protection.code_texts import find_code, list_code_strings
from boathook.shell.arguments import list_operands
from boathook.shell.started_program import Started

_NOTHING = frozenset(("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"))
_COPIERS = frozenset(("cp", "gcp", "install", "mv"))
# Scripts of `sed` and of `ex` that delete every line.
_SED_DELETES = re.compile(r"\s*(?:1\s*,\s*\$|/\.?\*?/|/\^/)?\s*d\s*;?\s*")
_EX_DELETES = re.compile(r"[+:]?(?:%|1,\$)\s*d(?:elete)?(?:\s*\|.*)?")
_EDITORS = frozenset(("vi", "vim", "nvim", "ex"))
# Code that empties the file which it names.
_CODE_EMPTIES = re.compile(
    r"write(?:_text|_bytes|FileSync|File)\((?:[^,()]*,)?\s*b?(?:''|\"\")\s*[,)]|\btruncate(?:Sync)?\("
    r"|open\([^()]*[\"']w[b+]*[\"']\)\s*(?:\.close\(\s*\))?\s*;?\s*$"
)


def list_emptied_files(program: Started) -> list[str]:
    """Return the files that a program leaves empty, or full of zeros or noise."""
    words = [*program.words[1:]]
    if program.name == "truncate":
        arguments = ArgumentList(words, "-s --size -r --reference")
        is_emptied = any(size.strip("=<") in ("0", "0K", "0M") for size in arguments.get("-s", "--size"))
        return arguments.operands if is_emptied and not arguments.is_harmless else []
    if program.name == "dd":
        inputs = [word[3:] for word in words if word.startswith("if=")]
        return [word[3:] for word in words if word.startswith("of=") and not _NOTHING.isdisjoint(inputs)]
    if program.name in _COPIERS - {"mv"} and not _NOTHING.isdisjoint(words):
        return [word for word in list_operands(words) if word not in _NOTHING]
    if program.name in ("sed", "gsed"):
        return _list_files_of_sed(words)
    if program.name in _EDITORS:
        arguments = ArgumentList(words, "-c")
        commands = [*arguments.get("-c"), *(word for word in words if word.startswith("+"))]
        return arguments.operands if any(map(_EX_DELETES.fullmatch, commands)) else []
    if is_interpreter(program.name):
        code = find_code(program)
        return [*list_code_strings(code)] if _CODE_EMPTIES.search(code) else []
    if program.name.lower() in ("clear-content", "clc"):
        return list_operands(words)
    has_no_input = program.input_paths == ("/dev/null",)
    if program.name == "tee" and has_no_input:
        return list_operands(words) if not ArgumentList(words).has("-a", "--append") else []
    is_silent = program.name in (":", "true") or words == ["/dev/null"] or _prints_blank(program)
    is_silent = is_silent or (program.name in ("cat", "dd") and has_no_input)
    return [*program.outputs] if is_silent else []


def _list_files_of_sed(words: list[str]) -> list[str]:
    """`sed -i d FILE`, and `sed -n -i '' FILE`, which prints nothing."""
    arguments = ArgumentList(words, "-e --expression -f --file -l")
    # On macOS, the ending of a copy is a word of its own.
    operands = [word for word in arguments.operands if word]
    scripts = arguments.get("-e", "--expression") or operands[:1]
    is_editing = arguments.has("-i", "--in-place") or any(re.match(r"-[a-zA-Z]*i", word) for word in words)
    has_copy = any(re.fullmatch(r"-[nEr]*i\.\w+|--in-place=.+", word) for word in words)
    if not is_editing or has_copy or not any(map(_SED_DELETES.fullmatch, scripts)):
        return []
    return operands if arguments.get("-e", "--expression") else operands[1:]


def _prints_blank(program: Started) -> bool:
    words = [word for word in program.words[1:] if word != "-n"]
    return program.name in ("echo", "printf") and words in ([], [""])


class OlderVersions:
    """The files of a call that get an older version of a file, by a redirection, a pipe, or a file in between."""

    def __init__(self) -> None:
        # Files that an earlier program wrote an older version to.
        self._copies: set[str] = set()

    def list_replaced_files(self, program: Started) -> list[str]:
        """Return the files that get an older version by a program."""
        words = [*program.words[1:]]
        sources = [program, *program.feeders]
        replaced: list[str] = []
        if any(map(_prints_version, sources)):
            replaced += program.outputs
            replaced += list_operands(words) if program.name in ("tee", "sponge") else []
            replaced += [word[3:] for word in words if program.name == "dd" and word.startswith("of=")]
        if any(map(_packs_version, sources)) and _unpacks(program):
            replaced += ArgumentList(words, "-C --directory -f --file").get("-C", "--directory") or ["."]
        if (
            program.name == "patch"
            and ArgumentList(words).has("-R", "--reverse")
            and any(map(_prints_changes, sources))
        ):
            replaced.append(".")
        if program.name in _COPIERS:
            *copied, target = list_operands(words) or [""]
            replaced += [target] if any(program.make_absolute(path) in self._copies for path in copied) else []
        self._copies |= {program.make_absolute(path) for path in replaced}
        return replaced


def _prints_version(program: Started) -> bool:
    """Whether git prints a file as it is in a commit: `git show HEAD:FILE`."""
    if program.name != "git":
        return False
    git = GitCall(program)
    return git.subcommand in ("show", "cat-file") and any(":" in word for word in git.operands)


def _prints_changes(program: Started) -> bool:
    """Whether git prints what is in no commit, so that it could be taken back: `git diff`."""
    return program.name == "git" and GitCall(program).subcommand == "diff"


def _packs_version(program: Started) -> bool:
    """Whether git packs all files as they are in a commit: `git archive HEAD`."""
    return program.name == "git" and GitCall(program).subcommand == "archive"


def _unpacks(program: Started) -> bool:
    words = program.words[1:]
    return program.name in ("tar", "bsdtar", "gtar") and any(
        re.match(r"-?[a-zA-Z]*x|--extract", word) for word in words[:2]
    )
