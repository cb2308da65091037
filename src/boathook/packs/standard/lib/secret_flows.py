"""Where secrets go in a command: which programs read them, which files get them, which programs send them away."""

# This is about what a text says plainly, in the order of its programs. A file that a secret is copied to holds a secret, too.

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from program_list import list_all_programs
from secret_paths import (
    CREDENTIAL,
    SETTINGS,
    SecretPath,
    find_linked_secret,
    find_secret_path,
    show_path,
)
from secret_printers import is_named_secret, is_secret_printer
from written_commands import SCREEN, list_pipes

from boathook.core.interpreters import is_interpreter
from boathook.guards import GuardedCall
from boathook.shell.arguments import UNKNOWN, find_option_values, list_operands, skip_options
from boathook.shell.path_changes import list_path_changes
from boathook.shell.started import SUBSTITUTION
from boathook.shell.started_program import Started

# Programs that print the files that they are called with, or parts of them.
_PRINTERS = frozenset(
    (
        *("cat", "tac", "head", "tail", "less", "more", "most", "bat", "batcat", "nl", "strings", "xxd", "od"),
        *("hexdump", "hd", "base64", "base32", "basenc", "uuencode", "sort", "uniq", "cut", "column", "paste"),
        *("fold", "fmt", "rev", "diff", "colordiff", "sdiff", "comm", "join", "jq", "yq", "gron", "xmllint", "view"),
        *("pr", "expand", "iconv", "split", "csplit", "tee", "pv", "bzcat", "zcat", "xzcat", "gzcat", "look", "date"),
        *("xargs", "type", "ul", "ccat", "glow", "hexyl", "dos2unix", "pygmentize", "highlight", "source-highlight"),
        *("rich", "dasel", "miller", "mlr", "pbcopy", "xclip", "xsel", "wl-copy", "clip.exe", "openssl", "gpg"),
        *("age", "envsubst", "lolcat", "Get-Content", "gc", "dotenv-linter", "cpio", "shasum-c", "tr", "crontab"),
    )
)
# Programs that search in files: the first operand is what they search for, unless an option has it.
_SEARCHERS = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"), "-e -f -m -A -B -C --regexp"),
    **dict.fromkeys(("sed", "gsed", "awk", "gawk", "mawk", "nawk", "perl"), "-e -f -v -F --expression --file -i -l"),
}
_PATTERN_OPTIONS = ("-e", "-f", "--regexp", "--expression", "--file")
_QUIET_SEARCH = re.compile(
    r"-[A-Za-z]*[qclLZ][A-Za-z]*|--(?:quiet|silent|count|files-with-matches|files-without-match)"
)
_ARCHIVERS = frozenset(
    (
        *("tar", "bsdtar", "gtar", "zip", "7z", "7za", "gzip", "bzip2", "xz", "zstd", "lz4", "pigz", "brotli"),
        *("compress", "ar", "rar"),
    )
)
_COMPRESSED_ENDINGS = {"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lz4": ".lz4"}
# Words of the shell that take a text by `<`, and shells.
_TEXT_TAKERS = ("read", "mapfile", "readarray", "sh", "bash", "zsh", "dash", "source")
_COPIERS = frozenset(("cp", "gcp", "install", "ln", "link", "rsync", "scp", "ditto", "rclone", "sftp", "pax"))
# Programs that show what they read, or a part of it. What goes into others is not seen.
_SHOWING = frozenset(
    (
        *("cat", "tac", "head", "tail", "less", "more", "bat", "nl", "jq", "yq", "gron", "base64", "base32", "xxd"),
        *("od", "hexdump", "cut", "tr", "sort", "uniq", "column", "fold", "rev", "tee", "strings", "grep", "egrep"),
        *("rg", "sed", "gsed", "awk", "gawk", "perl", "echo", "printf", "xargs", "dd", "pv", "iconv", "fmt", "pr"),
        *("expand", "paste", "comm", "join", "diff", "basenc", "uuencode", "hd", "hexyl", "ul", "lolcat", "batcat"),
    )
)
_CODE_PRINTS = re.compile(r"\b(?:print(?:_r|ln)?|puts|pp?|echo|log|write|pipe|dump)\b")
_NAMES_ONLY = re.compile(r"s([/|#,])=\.\*\1|\{\s*print \$1\s*\}|\^\[[\w-]+\][*+]=?|\[\^=\]")
_QUOTED = re.compile(r"'([^'\n]{1,300})'|\"([^\"\n]{1,300})\"")
_CODE_READS = re.compile(
    r"\bopen\(|\.read|read_text|readFile|readlines|File\.|file_get_contents|slurp|IO\.|Path\(|system\(|exec|cat |createReadStream"
)
_CODE_USES = re.compile(r"dotenv|existsSync|\.exists\(|\.is_file\(|isfile\(|statSync|os\.stat|unlink|os\.remove")


# What a secret manager or a cloud hands out if it is asked for by its name.
HANDED_OUT = "a secret that is asked for by its name"
_ALL_VARIABLES = "all variables of the environment"

# Longer commands are followed in part: their beginnings are judged, and nothing takes long.
_MAX_PROGRAMS, _MAX_FEEDERS, _MAX_WORDS = 400, 20, 200


class SecretRead:
    """A program that prints or copies a secret."""

    def __init__(self, program: Started, secret: SecretPath, *, is_copy: bool = False) -> None:
        self.program, self.secret, self.is_copy = program, secret, is_copy


class SecretFlows:
    """The secrets that the programs of a call read, and the files that they put them into."""

    def __init__(self, call: GuardedCall, *, sends: bool = False) -> None:
        self.call, self.sends = call, sends
        self.reads: list[SecretRead] = []
        # Files that hold a secret now, and what it was.
        self.files: dict[str, SecretPath] = {}
        self.programs = list_all_programs(call)[:_MAX_PROGRAMS]
        self._redirected = [one for pipe in list_pipes(call) for one in pipe if one.inputs][:_MAX_WORDS]
        self._secrets: dict[int, list[SecretPath]] = {}
        # What reads the output of a program, by the identity of the program.
        self.consumers: dict[int, list[Started]] = {}
        # The last program of each name: it may have started the next one.
        last: dict[str, Started] = {}
        self._starters: dict[int, Started] = {}
        # The programs that print the words which another one is substituted in.
        self._printers: dict[int, list[Started]] = {}
        self._shown: dict[int, bool] = {}
        for program in self.programs:
            if program.started_by and program.started_by[-1] in last:
                self._starters[id(program)] = last[program.started_by[-1]]
            last[program.name] = program
            for source in program.substituted if _prints_words(program) else ():
                self._printers.setdefault(id(source), []).append(program)
            for feeder in program.feeders[-_MAX_FEEDERS:]:
                self.consumers.setdefault(id(feeder), []).append(program)
            self._follow(program)

    def _follow(self, program: Started) -> None:
        secrets = self.list_secrets(program)
        if not secrets and (program.name in (*_PRINTERS, *_SEARCHERS, *_TEXT_TAKERS) or is_interpreter(program.name)):
            secrets = [*self._list_by_input(program)][:1]
        self._secrets[id(program)] = secrets
        is_copy = program.name in (*_COPIERS, *_ARCHIVERS)
        self.reads += [SecretRead(program, secret, is_copy=is_copy) for secret in secrets]
        secrets = secrets or [*self.list_fed(program)][:1]
        if not secrets and is_dump(program):
            secrets = [SecretPath(program.name, SETTINGS, _ALL_VARIABLES)]
        if not secrets and program.name == "mv":
            secrets = [
                secret for word in list_operands(program.words[1:])[:-1] if (secret := self.judge(program, word))
            ]
        for path in self._list_targets(program) if secrets else ():
            self.files.setdefault(path, SecretPath(secrets[0].path, secrets[0].level, secrets[0].kind))

    def _list_targets(self, program: Started) -> Iterator[str]:
        changes = list_path_changes(program) if program.name not in ("rsync", "scp") else None
        for path in (*program.outputs, *(change.path for change in changes or ())):
            if path != "-":
                yield self.normalize(program, path)
        if ending := _COMPRESSED_ENDINGS.get(program.name):
            endings = [*find_option_values(list(program.words[1:]), "-S", "--suffix"), ending]
            for word in list_operands(program.words[1:]):
                yield from (self.normalize(program, word + one) for one in endings)

    def normalize(self, program: Started, path: str) -> str:
        absolute = program.make_absolute(path)
        return absolute if UNKNOWN in absolute else os.path.normpath(absolute)

    def judge(self, program: Started, word: str, *, whole_folder: bool = False) -> SecretPath | None:
        """Return the secret that a word of a program is the path of."""
        if not word or word.startswith("-") or "\n" in word or len(word) > 1000:
            return None
        found = find_secret_path(word, self.call.home, whole_folder=whole_folder, sends=self.sends)
        if found or UNKNOWN in word:
            return found
        path = self.normalize(program, word)
        return (
            self.files.get(path)
            or find_secret_path(path, self.call.home, sends=self.sends)
            or find_linked_secret(path, self.call.home)
        )

    def list_secrets(self, program: Started) -> list[SecretPath]:
        """Return the secrets that a program prints, copies or packs."""
        if is_secret_printer(program):
            kind = HANDED_OUT if is_named_secret(program) else "a secret that it prints"
            return [SecretPath(" ".join(map(show_path, program.words[:3])), SETTINGS, kind)]
        takes_folders = takes_whole_folders(program)
        words = list(dict.fromkeys(list_source_words(program)))[:_MAX_WORDS]
        secrets = [found for word in words if (found := self.judge(program, word, whole_folder=takes_folders))]
        if program.name in _COPIERS and not self.sends:
            secrets = [one for one in secrets if not self._stays_recognizable(program)]
        return secrets or [*self._list_code_secrets(program)]

    def _stays_recognizable(self, program: Started) -> bool:
        """Whether a copy of a file of settings is still known as one by its name, or is in a folder of this machine."""
        operands = list_operands(program.words[1:])
        target = operands[-1] if len(operands) > 1 else ""
        found = self.judge(program, target)
        is_settings = all(
            one is None or one.level != CREDENTIAL for one in (self.judge(program, word) for word in operands[:-1])
        )
        return (
            is_settings and ":" not in target and (found is not None or target.endswith("/") or target in (".", ".."))
        )

    def _list_code_secrets(self, program: Started) -> Iterator[SecretPath]:
        """Yield the secrets that code in the words of an interpreter opens."""
        if not is_interpreter(program.name):
            return
        for text in (*program.words[1:], program.input_text, program.script_text):
            if len(text) < 100_000 and _CODE_READS.search(text) and not _CODE_USES.search(text):
                for match in islice(_QUOTED.finditer(text), _MAX_WORDS):
                    literal = (match[1] or match[2]).replace("~", self.call.home, 1)
                    if found := find_secret_path(literal.rpartition(" ")[2], self.call.home, sends=self.sends):
                        yield found

    def list_fed(self, program: Started) -> Iterator[SecretPath]:
        """Yield the secrets that a program reads from those before it in a pipe, or by `<`."""
        for feeder in program.feeders[-_MAX_FEEDERS:]:
            if is_dump(feeder):
                yield SecretPath(feeder.name, SETTINGS, _ALL_VARIABLES)
            known = self._secrets.get(id(feeder))
            yield from self.list_secrets(feeder) if known is None else known
        yield from self._list_by_input(program)

    def _list_by_input(self, program: Started) -> Iterator[SecretPath]:
        for word in self.list_inputs(program.name):
            if found := self.judge(program, word):
                yield found

    def is_shown(self, program: Started) -> bool:
        """Whether what a program prints is seen: it goes into no file, no variable, and no program that keeps it."""
        key = id(program)
        if key not in self._shown:
            # A program that comes back to itself shows nothing.
            self._shown[key] = False
            starter = self._starters.get(key)
            is_printed = any(map(self.is_shown, self._printers.get(key, [])))
            consumers = self.consumers.get(key, [])
            if SUBSTITUTION in program.started_by:
                is_shown = any(map(self.is_shown, consumers))
            else:
                is_shown = starter is None or self.is_shown(starter)
            is_kept = keeps_output(program) or not all(map(_shows_input, consumers))
            self._shown[key] = is_printed or (is_shown and not is_kept)
        return self._shown[key]

    def list_inputs(self, name: str) -> list[str]:
        """Return the files that programs of a name read by `<`."""
        return [path for one in self._redirected if name in one.words for path in one.inputs]


def keeps_output(program: Started) -> bool:
    """Whether what a program prints goes into a file, and is not seen."""
    return any(path not in program.error_outputs and not SCREEN.fullmatch(path) for path in program.outputs)


def _prints_words(program: Started) -> bool:
    """Whether a program prints its words, or the files that they name."""
    is_editing = any(re.fullmatch(r"-[a-z]*i.*|--in-place.*", word) for word in program.words[1:])
    is_editor = program.name in ("sed", "gsed", "perl", "yq")
    return program.name in _SHOWING and program.name not in ("xargs", "tee") and not (is_editor and is_editing)


def _shows_input(program: Started) -> bool:
    is_code = is_interpreter(program.name) and any(map(_CODE_PRINTS.search, program.words[1:]))
    is_showing = program.name in _SHOWING or "json.tool" in program.words or is_code
    if "grep" in program.name or program.name == "rg":
        is_showing = not any(map(_QUIET_SEARCH.fullmatch, program.words[1:]))
    return is_showing and not is_names_only(program) and not keeps_output(program)


def is_dump(program: Started) -> bool:
    """Whether a program prints all variables of the environment."""
    words = program.words
    return words in (
        ("env",),
        ("printenv",),
        ("set",),
        ("export",),
        ("export", "-p"),
        ("declare", "-x"),
        ("declare", "-p"),
    )


def takes_whole_folders(program: Started) -> bool:
    """Whether a program reads everything in a folder that it is called with."""
    if program.name in (*_ARCHIVERS, "rsync", "rclone", "rg", "ag", "ack", "ditto"):
        return not packs_folders_empty(program)
    letters = "".join(word for word in program.words[1:] if re.fullmatch(r"-[A-Za-z]+", word))
    return ("r" in letters.lower() or "a" in letters or "--recursive" in program.words) and program.name in (
        *_COPIERS,
        *_SEARCHERS,
        "diff",
    )


def packs_folders_empty(program: Started) -> bool:
    """Whether a program packs folders without what is in them: `tar --no-recursion`."""
    return "--no-recursion" in program.words and "--recursion" not in program.words


def list_source_words(program: Started) -> list[str]:
    """Return the words of a program that name files whose content it prints, copies or packs."""
    name, rest = program.name, list(program.words[1:])
    if any(word in ("--help", "--version") for word in rest):
        return []
    if name in _SEARCHERS:
        return _list_searched_files(program, rest)
    if name in _COPIERS:
        sources = [word for word in list_operands(rest) if "--attributes-only" not in rest]
        targets = find_option_values(rest, "-t", "--target-directory")
        return [word for word in sources if word not in targets] if targets else sources[:-1] or sources
    if name == "dd":
        return [word[3:] for word in rest if word.startswith("if=")]
    if name in ("curl", "wget"):
        return [word for word in rest if word.startswith("file:")]
    if name == "git":
        return _list_git_words(rest)
    if name in _ARCHIVERS:
        read = program.read_paths if "-@" in rest or "-T" in rest else ()
        return [*(word for word in list_operands(rest) if word != "-"), *read]
    if name in _PRINTERS and not (name in ("less", "more") and rest[:1] == ["-p"] and len(rest) == 2):
        if name == "tee" or is_names_only(program):
            return []
        targets = find_option_values(rest, "-o", "--output", "-out")
        rest = [word for word in rest if word not in targets and not word.startswith("--output=")]
        values = [word.partition("=")[2] for word in rest if word.startswith("--") and "=" in word]
        return [*(word[1:] if word.startswith("@") else word for word in list_operands(rest)), *values]
    return []


def _list_searched_files(program: Started, rest: list[str]) -> list[str]:
    is_editing = any(re.fullmatch(r"-[A-Za-z]*i.*|--in-place.*", word) for word in rest) and program.name not in (
        *("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"),
    )
    is_quiet = program.name not in ("sed", "gsed", "awk", "gawk", "perl") and any(map(_QUIET_SEARCH.fullmatch, rest))
    if is_editing or is_quiet or is_names_only(program):
        return []
    operands: list[str] = []
    waiting = rest
    while waiting := skip_options(waiting, _SEARCHERS[program.name]):
        operands.append(waiting[0])
        waiting = waiting[1:]
    has_pattern = any(word.partition("=")[0] in _PATTERN_OPTIONS for word in rest)
    values = [word.partition("=")[2] for word in rest if word.startswith("--") and "=" in word and "color" not in word]
    return [*(operands if has_pattern else operands[1:]), *values, *find_option_values(rest, "--exclude-from", "-f")]


def _list_git_words(rest: list[str]) -> list[str]:
    """`git show REVISION:PATH`, `git cat-file`, `git diff --no-index`."""
    behind = skip_options(rest, "-C -c --git-dir --work-tree")
    if behind[:1] in (["show"], ["cat-file"]):
        return [word.partition(":")[2] for word in behind[1:] if ":" in word]
    return list_operands(behind[1:]) if behind[:1] == ["diff"] and "--no-index" in behind else []


def is_names_only(program: Started) -> bool:
    """Whether a program prints only the names of variables, or only counts."""
    rest = list(program.words[1:])
    if program.name == "cut":
        # `-d=` is an option with its value, or with an empty one behind `=`.
        is_at_sign = find_option_values(rest, "-d", "--delimiter") in (["="], [""])
        return is_at_sign and find_option_values(rest, "-f", "--fields") == ["1"]
    if program.name in ("wc", "md5sum", "sha256sum", "sha1sum", "shasum", "cksum", "test", "true", ":"):
        return True
    if program.name in ("sed", "gsed", "awk", "gawk", "grep", "egrep", "rg"):
        return any(_NAMES_ONLY.search(word) for word in rest) and ("-o" in rest or "grep" not in program.name)
    return False
