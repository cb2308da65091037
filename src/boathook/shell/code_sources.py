"""Which programs code comes from: what is in files, variables and descriptors that a command line fills before it runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from boathook.shell.arguments import UNKNOWN, find_option_values, has_option, list_operands
from boathook.shell.code_input import CODE_FILE, CODE_WORD, find_code_use, reads_code_from_stdin
from boathook.shell.printed_text import normalize_written
from boathook.shell.started_program import Started

MAX_SOURCES = 32
_MAX_PATH_PARTS = 64
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_ADDRESS_VALUES = (
    *(
        "-H",
        "--header",
        "-d",
        "--data",
        "-X",
        "--request",
        "-u",
        "--user",
        "-A",
        "--user-agent",
        "-b",
        "-e",
        "-T",
        "-m",
    ),
    *("-x", "--proxy", "--retry", "--max-time", "--connect-timeout", "--data-binary", "--cacert", "--cert", "--key"),
)
Paths = list[str]


def _list_downloads(arguments: list[str]) -> Paths:
    """`curl`: a file for each address with `-O`, or as `-o` says."""
    paths = find_option_values(arguments, "-o", "--output", "--out")
    folders = find_option_values(arguments, "--output-dir", "-P", "--directory-prefix", "-d", "--dir")
    names = [_name_address(word) for word in _list_addresses(arguments)] if _keeps_names(arguments) else []
    return [*paths, *names, *(f"{folder}/{name}" for folder in folders for name in (*names, *paths))]


def _list_wget_files(arguments: list[str]) -> Paths:
    """`wget`: a file with the name of the address, unless `-O` names another."""
    pairs = [word.partition("=") for word in arguments if word.startswith("--output-d")]
    named = [*find_option_values(arguments, "-O"), *(value for _, sign, value in pairs if sign)]
    named += find_option_values(arguments, "--output-document")
    # The letter may be the last of several.
    named += [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if re.fullmatch(r"-[a-zA-Z]+O", word)]
    names = named or [_name_address(word) for word in _list_addresses(arguments)]
    folders = find_option_values(arguments, "-P", "--directory-prefix")
    return [*names, *(f"{folder}/{name}" for folder in folders for name in names)]


def _keeps_names(arguments: list[str]) -> bool:
    return has_option(arguments, "OJ", "--remote-name", "--remote-name-all", "--remote-header-name")


def _list_addresses(arguments: list[str]) -> Paths:
    before = ["", *arguments]
    operands = [word for word, last in zip(arguments, before, strict=False) if last not in _ADDRESS_VALUES]
    return list_operands(operands)


def _name_address(address: str) -> str:
    return re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/").rpartition("/")[2]


def _list_last(arguments: list[str]) -> Paths:
    """`cp`, `mv` and their like: the last operand, or a file with the same name in it."""
    operands = list_operands(arguments)
    targets = find_option_values(arguments, "-t", "--target-directory") or operands[-1:]
    names = [word.rstrip("/").rpartition("/")[2].rpartition(":")[2] for word in operands]
    return [*targets, *(f"{target.rstrip('/')}/{name}" for target in targets for name in names[:8])]


def _list_clones(arguments: list[str]) -> Paths:
    operands = list_operands(arguments)
    if "clone" not in operands:
        return []
    behind = operands[operands.index("clone") + 1 :]
    return behind[1:2] or [_name_address(word).removesuffix(".git") for word in behind[:1]]


def _list_unpacked_files(arguments: list[str]) -> Paths:
    """`tar`, `unzip`: anything in a folder."""
    return find_option_values(arguments, "-C", "--directory", "-d") or ["."]


def _list_raw(arguments: list[str]) -> Paths:
    return [word[3:] for word in arguments if word.startswith("of=")]


_WRITERS: dict[str, Callable[[list[str]], Paths]] = {
    **dict.fromkeys(("curl", "aria2c", "http", "https", "xh", "axel", "fetch"), _list_downloads),
    "wget": _list_wget_files,
    **dict.fromkeys(
        ("cp", "mv", "install", "ln", "link", "scp", "rsync", "gsutil", "aws", "rclone", "ditto"), _list_last
    ),
    **dict.fromkeys(("tee", "sponge"), list_operands),
    **dict.fromkeys(("git", "hg", "gh"), _list_clones),
    **dict.fromkeys(("tar", "bsdtar", "gtar", "unzip", "7z", "bsdcpio", "cpio"), _list_unpacked_files),
    **dict.fromkeys(("openssl", "gpg", "base64"), lambda words: find_option_values(words, "-out", "-o", "--output")),
    "dd": _list_raw,
}
# Programs whose operands are what they copy.
_COPIERS = frozenset(
    ("cp", "mv", "install", "ln", "link", "rsync", "ditto", "cat", "dd", "sed", "tar", "unzip", "gunzip")
)


class CodeSources:
    """Notes where texts in files, variables and descriptors come from. All paths are from the root."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Started, ...]] = {}
        self._variables: dict[str, tuple[Started, ...]] = {}
        # Files and programs that a descriptor is open for.
        self.open_files: dict[str, str] = {}
        # A shell chooses numbers from ten on.
        self._descriptors = 9
        self.open_programs: dict[str, tuple[Started, ...]] = {}

    def note_variable(self, name: str, programs: Iterable[Started]) -> None:
        if found := tuple(programs)[-MAX_SOURCES:]:
            self._variables[name] = found
        else:
            self._variables.pop(name, None)

    def add_descriptor(self) -> int:
        """Return the number of a descriptor that a shell opens and puts into a variable: `exec {name}< FILE`."""
        self._descriptors += 1
        return self._descriptors

    def close_descriptor(self, number: str) -> None:
        for known in (self.open_files, self.open_programs):
            known.pop(number, None)
        self._files.pop(f"/dev/fd/{number}", None)

    def copy_descriptor(self, number: str, other: str) -> None:
        """Note that a descriptor is another one from now on: `exec 4<&3`."""
        self.open_files |= {number: self.open_files[other]} if other in self.open_files else {}
        self.open_programs |= {number: self.open_programs[other]} if other in self.open_programs else {}
        self.note_file(f"/dev/fd/{number}", self.find_file(f"/dev/fd/{other}"))

    def note_file(self, path: str, programs: Iterable[Started]) -> None:
        if found := tuple(programs)[-MAX_SOURCES:]:
            self._files[normalize_written(path)] = found

    def note_written(self, started: Started) -> None:
        """Note the files that a program writes."""
        writer = _WRITERS.get(started.name)
        if writer is None and not started.outputs:
            return
        paths = [*started.outputs, *(writer(list(started.words[1:])) if writer else ())]
        origins = _join_programs(self._list_copies(started), started.feeders, started.substituted, (started,))
        for path in paths[:MAX_SOURCES]:
            if path and path != "-":
                self.note_file(started.make_absolute(path), origins)

    def find_words(self, raws: Iterable[str]) -> tuple[Started, ...]:
        """Return the programs whose output variables in some words have."""
        if not self._variables:
            return ()
        names = {name for raw in raws if "$" in raw for name in _VARIABLE.findall(raw)}
        return _join_programs(*(self._variables.get(name, ()) for name in sorted(names)))

    def find_file(self, path: str) -> tuple[Started, ...]:
        """Return the programs that wrote a file, or the folder that it is in."""
        path = normalize_written(path)
        for _ in range(_MAX_PATH_PARTS):
            if path in self._files:
                return self._files[path]
            path = path.rpartition("/")[0]
            if not path:
                break
            if self._files.get(f"{path}/."):
                return self._files[f"{path}/."]
        return ()

    def find(self, started: Started) -> tuple[Started, ...]:
        """Return the programs that the code comes from which a program runs."""
        if not (started.feeders or started.substituted or self._files):
            return ()
        sources: list[tuple[Started, ...]] = []
        if reads_code_from_stdin(started):
            sources.append(started.feeders)
            sources += [self.find_file(started.make_absolute(path)) for path in started.input_paths]
        use = find_code_use(started.words)
        if use.kind == CODE_WORD or started.name == "eval" or UNKNOWN in started.words[0]:
            sources.append(started.substituted)
        own = [started.words[0]] if "/" in started.words[0] else []
        for path in dict.fromkeys((*own, *list_script_paths(started))):
            sources.append(started.substituted if UNKNOWN in path else ())
            if self._files:
                sources.append(self.find_file(started.make_absolute(path)))
        if use.kind == CODE_FILE and UNKNOWN in use.text:
            sources.append(started.feeders)
        return _join_programs(*sources)

    def _list_copies(self, started: Started) -> tuple[Started, ...]:
        if started.name not in _COPIERS or not self._files:
            return ()
        words = [word.removeprefix("if=") for word in list_operands(started.words[1:])]
        return _join_programs(*(self.find_file(started.make_absolute(word)) for word in words[:MAX_SOURCES]))


def list_script_paths(started: Started) -> Paths:
    """Return the files that a program runs as code: itself if it is named by a path."""
    name, arguments = started.name, list(started.words[1:])
    use = find_code_use(started.words)
    if use.kind:
        return [use.text] if use.kind == CODE_FILE else []
    if name in ("source", "."):
        return list_operands(arguments)[:1]
    if name in ("at", "batch", "expect", "awk", "gawk", "sed"):
        return find_option_values(arguments, "-f", "--file")
    if name in ("make", "gmake"):
        return find_option_values(arguments, "-f", "--file", "--makefile") or ["GNUmakefile", "makefile", "Makefile"]
    return [started.words[0]] if "/" in started.words[0] else []


def _join_programs(*groups: tuple[Started, ...]) -> tuple[Started, ...]:
    """Return the programs of all groups, each once, by identity."""
    programs = {id(program): program for group in groups for program in group}
    return tuple(programs.values())[-MAX_SOURCES:]
