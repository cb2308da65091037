"""Which paths a program changes, by the words that it is called with: a row for each program."""

# Ways to change: `EXACT`, the file itself; `TREE`, everything at and below the path; `OVERLAY`, files are put below the path, and
# it is not known which ones; `CREATE`, the path is made unless it is there. Paths are as they are written, relative to the
# folder of the program.

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from boathook.core.value import Value
from boathook.shell.interpreters import is_interpreter, remove_version
from boathook.shell.scope import UNKNOWN
from boathook.shell.started import Started, list_found_paths, list_operands, skip_options

EXACT, TREE, OVERLAY, CREATE = "exact", "tree", "overlay", "create"
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-", "")
_ADDS_MODE = re.compile(r"[ugoa]*\+[rwxX]+(,[ugoa]*\+[rwxX]+)*")
_DIFF_FILE = re.compile(
    r"^(?:---|\+\+\+|rename (?:from|to)|\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:) *([^\t\n]+)", re.M
)
_INPLACE = re.compile(r"-[A-Za-z0-9]*i.*")


class PathChange(Value):
    """A path that a program changes; `source` is what is copied over an `OVERLAY`, if it is known."""

    # `takes_link`: if the path is a link, it is the link that is changed.

    path: str
    way: str = EXACT
    source: str = ""
    takes_link: bool = False


Changes = Iterator[PathChange]
Rule = Callable[[Started, list[str]], Changes]


def list_path_changes(started: Started) -> list[PathChange] | None:
    """Return the paths that a program changes, without its redirections; None if the program is not known here."""
    name = remove_version(started.name)
    rule = RULES.get(started.name) or RULES.get(name)
    # What interpreters change is in their code.
    is_known = not {started.name, name}.isdisjoint(_KNOWN_PROGRAMS) or is_interpreter(name)
    if rule is None and not is_known:
        return None
    return list(rule(started, list(started.words[1:]))) if rule else []


def list_redirected_paths(started: Started) -> list[PathChange]:
    return [PathChange(path) for path in started.outputs if path not in _NOWHERE and not path.startswith("/dev/")]


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Whether an option is there, by a letter or by its name, which may be cut short."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    pattern = re.compile(rf"-[A-Za-z]*[{letters}][A-Za-z]*") if letters else None
    if pattern and any(pattern.fullmatch(word) for word in options):
        return True
    longs = [word.partition("=")[0] for word in options if len(word) > 4 and word.startswith("--")]
    return any(name.startswith(word) for word in longs for name in names)


def find_option_values(arguments: list[str], *names: str) -> list[str]:
    """Return the values of options, as the next word, behind `=`, or behind a letter."""
    values: list[str] = []
    for at, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if word in names:
            values += arguments[at + 1 : at + 2]
        elif sign and name in names:
            values.append(value)
        else:
            values += [word[2:] for one in names if len(one) == 2 and word.startswith(one) and len(word) > 2]
    return values


def _has_unknown_option(arguments: list[str]) -> bool:
    return any(word.startswith(UNKNOWN) for word in arguments[:1])


# Rules


def _remove(_: Started, arguments: list[str]) -> Changes:
    is_tree = has_option(arguments, "rR", "--recursive") or _has_unknown_option(arguments)
    for path in list_operands(arguments):
        # It refuses to delete the root, unless an option allows it.
        if path != "/" or "--no-preserve-root" in arguments:
            yield PathChange(path, TREE if is_tree else EXACT, takes_link=not path.endswith("/"))


def _change_exactly(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in list_operands(arguments))


def _change_trees(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(arguments))


def _change_after_first(_: Started, arguments: list[str]) -> Changes:
    """`chmod MODE PATH…`; a mode that only adds rights takes nothing away."""
    operands = list_operands(arguments)
    modes = [word for word in arguments if re.fullmatch(r"-[rwxXst]+", word)]
    paths = operands if modes or any(word.startswith("--reference") for word in arguments) else operands[1:]
    if operands and not modes and _ADDS_MODE.fullmatch(operands[0]):
        return
    way = TREE if has_option(arguments, "R", "--recursive") else EXACT
    yield from (PathChange(path, way) for path in paths)


def _move(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    yield from (PathChange(path, TREE, takes_link=not path.endswith("/")) for path in sources)
    yield from _put_files(sources, target, TREE)


def _copy(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    is_tree = has_option(arguments, "rRa", "--recursive", "--archive") or not arguments
    if target is None:
        return
    yield from _put_files(sources, target, EXACT)
    if is_tree:
        for source in sources:
            is_inside = source.endswith(("/.", "/", "/*")) or source in (".", "*")
            name = "" if is_inside else source.rstrip("/").rpartition("/")[2]
            plain = source.removesuffix("/.").removesuffix("/*").removesuffix("/")
            yield PathChange(f"{target}/{name}" if name else target, OVERLAY, plain)
            yield PathChange(target, OVERLAY, plain)


def _put_files(sources: list[str], target: str | None, way: str) -> Changes:
    if target is None:
        return
    yield PathChange(target, EXACT)
    for source in sources:
        name = source.rstrip("/").rpartition("/")[2]
        if name not in ("", ".", ".."):
            yield PathChange(f"{target.rstrip('/')}/{name}", way)


def _split_target(arguments: list[str]) -> tuple[list[str], str | None]:
    operands = list_operands(arguments)
    targets = find_option_values(arguments, "-t", "--target-directory")
    if targets:
        return [word for word in operands if word != targets[0]], targets[0]
    return (operands[:-1], operands[-1]) if len(operands) > 1 else (operands, None)


def _link(_: Started, arguments: list[str]) -> Changes:
    sources, target = _split_target(arguments)
    if target is None:
        target = sources[0].rstrip("/").rpartition("/")[2] if sources else None
    yield from _put_files(sources, target, EXACT)


def _synchronize(_: Started, arguments: list[str]) -> Changes:
    operands = [word for word in list_operands(arguments) if ":" not in word.partition("/")[0]]
    is_remote = len(operands) < len(list_operands(arguments))
    if not operands or (len(operands) < 2 and not is_remote):
        return
    if list_operands(arguments)[-1] == operands[-1]:
        deletes = any(word.startswith(("--delete", "--del")) for word in arguments)
        yield PathChange(operands[-1], TREE if deletes else OVERLAY, "" if is_remote else operands[0].rstrip("/"))
        yield from _put_files(operands[:-1], operands[-1], EXACT)
    if any(word.startswith("--remove-s") for word in arguments):
        yield from (PathChange(path, TREE) for path in operands[:-1])
    yield from (PathChange(path) for path in find_option_values(arguments, "--log-file", "--backup-dir"))


def _edit_stream(_: Started, arguments: list[str]) -> Changes:
    """`sed -i`, `perl -i`, `ruby -i`, `yq -i`: without the option nothing is changed."""
    is_inplace = any(_INPLACE.fullmatch(word) and not word.startswith("--") for word in arguments) or has_option(
        arguments, "", "--in-place", "--inplace"
    )
    if is_inplace:
        # The script is an operand that is not a path, or hardly one.
        yield from (PathChange(path) for path in list_operands(arguments))


def _edit_records(_: Started, arguments: list[str]) -> Changes:
    """`awk -i inplace`."""
    if any("inplace" in value for value in find_option_values(arguments, "-i", "--include")):
        yield from (PathChange(path) for path in list_operands(arguments))


def _write_second(started: Started, arguments: list[str]) -> Changes:
    """`uniq INPUT OUTPUT`, `xxd INPUT OUTPUT`."""
    with_value = "-c -g -l -n -o -R -s" if started.name == "xxd" else "-f -s -w"
    paths: list[str] = []
    while rest := skip_options(arguments, with_value):
        paths.append(rest[0])
        arguments = rest[1:]
    yield from (PathChange(path) for path in paths[1:])


def _write_raw(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(word[3:]) for word in arguments if word.startswith("of="))


def _search(_: Started, arguments: list[str]) -> Changes:
    if "-delete" in arguments:
        yield from (PathChange(path, TREE) for path in list_found_paths(arguments))
    for option in ("-fprint", "-fprintf", "-fprint0", "-fls"):
        yield from (PathChange(path) for path in find_option_values(arguments, option))


def _unpack(_: Started, arguments: list[str]) -> Changes:
    first = arguments[0] if arguments else ""
    letters = first if not first.startswith("--") else ""
    targets = find_option_values(arguments, "-C", "--directory", "--cd")
    is_extracting = "x" in letters or has_option(arguments, "x", "--extract", "--get")
    if is_extracting:
        yield from (PathChange(path, OVERLAY) for path in targets)
        yield from (PathChange(path) for path in list_operands(arguments[1:])[1:] if not targets)
        if "P" in letters or has_option(arguments, "P", "--absolute-names"):
            yield PathChange("/", OVERLAY)
        return
    files = find_option_values(arguments, "-f", "--file")
    operands = list_operands(arguments if first.startswith("-") else arguments[1:])
    if re.search(r"[cru]", letters) and "f" in letters:
        yield from (PathChange(path) for path in operands[:1])
    yield from (PathChange(path) for path in files)
    if "--remove-files" in arguments:
        folder = f"{targets[0]}/" if targets else ""
        yield from (PathChange(folder + path, TREE) for path in operands)


def _unzip(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, OVERLAY) for path in find_option_values(arguments, "-d"))
    yield from (PathChange(word[2:], OVERLAY) for word in arguments if re.match(r"-o[^-]", word))


def _zip(_: Started, arguments: list[str]) -> Changes:
    operands = list_operands(arguments)
    yield from (PathChange(path) for path in operands[:1])
    if has_option(arguments, "m", "--move"):
        yield from (PathChange(path, TREE) for path in operands[1:])


def _download(_: Started, arguments: list[str]) -> Changes:
    names = ("-o", "--output", "-O", "--output-document", "--dump-header", "-D", "--cookie-jar", "--append-output")
    yield from (PathChange(path) for path in find_option_values(arguments, *names))
    folders = find_option_values(arguments, "-P", "--directory-prefix", "--output-dir", "-d", "--dir")
    yield from (PathChange(path, OVERLAY) for path in folders if not path.startswith(("{", "[")) and "=" not in path)


def _patch(started: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in list_operands(arguments)[:1])
    yield from _read_diff(started.input_text)


def _read_diff(text: str) -> Changes:
    for match in _DIFF_FILE.finditer(text):
        path = match[1].strip().strip("\"'")
        yield PathChange(path)
        if path.startswith(("a/", "b/")):
            yield PathChange(path[2:])


def _make_folder(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, CREATE) for path in list_operands(skip_options(arguments, "-m --mode")))


def _mount(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(skip_options(arguments, "-t -o"))[-1:])


def _contain(_: Started, arguments: list[str]) -> Changes:
    """`docker run -v PATH:…`: what is in the container can change the path, unless it is only read."""
    for value in find_option_values(arguments, "-v", "--volume", "--mount"):
        if value.endswith((":ro", ",ro", ",readonly")):
            continue
        source = re.search(r"(?:source|src)=([^,]+)", value)
        yield PathChange(source[1] if source else value.partition(":")[0], OVERLAY)
    for at, word in enumerate(arguments[:-1]):
        if word in ("--bind", "--dev-bind", "--bind-try"):
            yield PathChange(arguments[at + 1], OVERLAY)


def _query(_: Started, arguments: list[str]) -> Changes:
    operands = list_operands(arguments)
    is_reading = "-readonly" in arguments or (
        len(operands) > 1 and re.match(r"\s*(select|\.schema|\.tables|\.dump)\b", operands[1], re.I)
    )
    if not is_reading:
        yield from (PathChange(path) for path in operands[:1])


def _write_output(_: Started, arguments: list[str]) -> Changes:
    names = ("-o", "--output", "--out", "-w", "-O", "--log-file", "--report-file", "-out", "-keyout", "-coverprofile")
    yield from (PathChange(path) for path in find_option_values(arguments, *names))
    # The letter may be the last of several.
    behind = pairwise(arguments)
    yield from (PathChange(path) for word, path in behind if re.fullmatch(r"-[A-Za-z]+o", word))


def _export_results(_: Started, arguments: list[str]) -> Changes:
    names = {word.partition("=")[0] for word in arguments if word.startswith("--export-")}
    yield from (PathChange(path) for path in find_option_values(arguments, *names, "--output"))


def _write_history(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in find_option_values(arguments, "-a", "-w"))


def _run_module(started: Started, arguments: list[str]) -> Changes:
    if "-m" in arguments and "venv" in arguments and has_option(arguments, "", "--clear", "--upgrade"):
        yield from _make_environment(started, arguments[arguments.index("venv") + 1 :])


def _run_uv(started: Started, arguments: list[str]) -> Changes:
    if list_operands(arguments)[:1] == ["venv"]:
        paths = list_operands(arguments)[1:]
        yield from _make_environment(started, paths or [".venv"])


def _make_environment(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(arguments)[:1])


def _handle_git(started: Started, arguments: list[str]) -> Changes:
    folder = ""
    while arguments and arguments[0].startswith("-"):
        if arguments[0] in ("-C", "--work-tree"):
            folder = f"{arguments[1]}/" if len(arguments) > 1 else ""
        arguments = arguments[2 if arguments[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1 :]
    if not arguments or any(word in ("-n", "--dry-run", "--help", "-h") for word in arguments):
        return
    rule = GIT_RULES.get(arguments[0])
    if rule is None:
        return
    for change in rule(started, arguments[1:]):
        path = change.path.removeprefix(":/").removeprefix(":(top)")
        yield change.replace(path=path if path.startswith(("/", UNKNOWN)) or not folder else folder + path)


def _checkout(_: Started, arguments: list[str]) -> Changes:
    """`git checkout [TREE] [--] PATH…`: all of a folder is put back every day, if no other version is named."""
    if has_option(arguments, "bB", "--orphan", "--detach", "--track"):
        return
    behind = arguments[arguments.index("--") + 1 :] if "--" in arguments else list_operands(arguments)
    before = list_operands(arguments[: arguments.index("--")]) if "--" in arguments else behind[:1]
    has_tree = bool(before) and (("--" in arguments) or len(behind) > 1)
    yield from (PathChange(path, TREE if has_tree and before[0] != "HEAD" else EXACT) for path in behind)


def _restore(_: Started, arguments: list[str]) -> Changes:
    sources = find_option_values(arguments, "-s", "--source")
    if has_option(arguments, "S", "--staged") and not has_option(arguments, "W", "--worktree"):
        return
    paths = [path for path in list_operands(arguments) if path not in sources]
    yield from (PathChange(path, TREE if sources and sources[0] != "HEAD" else EXACT) for path in paths)


def _clean(_: Started, arguments: list[str]) -> Changes:
    excluded = find_option_values(arguments, "-e", "--exclude")
    if has_option(arguments, "f", "--force"):
        paths = [path for path in list_operands(arguments) if path not in excluded]
        yield from (PathChange(path, TREE) for path in paths or ["."])


def _stash(_: Started, arguments: list[str]) -> Changes:
    operands = list_operands(arguments)
    if operands[:1] and operands[0] not in ("push", "save"):
        return
    paths = operands[1:] if operands[:1] == ["push"] else []
    messages = find_option_values(arguments, "-m", "--message")
    yield from (PathChange(path, TREE) for path in paths if path not in messages)
    if not paths and has_option(arguments, "ua", "--include-untracked", "--all"):
        yield PathChange(".", TREE)


def _remove_tracked_files(_: Started, arguments: list[str]) -> Changes:
    if "--cached" not in arguments:
        yield from _remove(_, arguments)


def _apply_patch(started: Started, arguments: list[str]) -> Changes:
    if not has_option(arguments, "", "--check", "--stat", "--numstat", "--summary"):
        yield from _read_diff(started.input_text)


GIT_RULES: dict[str, Rule] = {
    "checkout": _checkout,
    "restore": _restore,
    "clean": _clean,
    "stash": _stash,
    "rm": _remove_tracked_files,
    "mv": _move,
    "apply": _apply_patch,
    "am": _apply_patch,
    "archive": _write_output,
}
RULES: dict[str, Rule] = {
    **dict.fromkeys(("rm", "srm", "del"), _remove),
    **dict.fromkeys(("unlink", "rmdir", "tee", "truncate", "touch", "sponge", "mkfifo", "mknod"), _change_exactly),
    **dict.fromkeys(
        ("ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "pico", "micro", "code", "code-insiders", "cursor"),
        _change_exactly,
    ),
    **dict.fromkeys(("shred", "wipe", "trash", "trash-put", "trash-rm", "gio", "rimraf"), _change_trees),
    **dict.fromkeys(
        ("chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "setfattr", "xattr"), _change_after_first
    ),
    **dict.fromkeys(("mv", "gmv", "rename"), _move),
    **dict.fromkeys(("cp", "gcp", "scp", "ditto"), _copy),
    **dict.fromkeys(("ln", "link"), _link),
    **dict.fromkeys(("rsync", "rclone"), _synchronize),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby", "yq"), _edit_stream),
    **dict.fromkeys(("tar", "bsdtar", "gtar", "cpio", "pax"), _unpack),
    **dict.fromkeys(("unzip", "7z", "7za", "unrar", "unar"), _unzip),
    **dict.fromkeys(("curl", "wget", "aria2c", "http", "xh"), _download),
    **dict.fromkeys(("docker", "podman", "nerdctl", "bwrap"), _contain),
    **dict.fromkeys(("mount", "umount", "fusermount"), _mount),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _query),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _edit_records),
    **dict.fromkeys(("uniq", "xxd"), _write_second),
    **dict.fromkeys(
        (
            *("sort", "gcc", "cc", "g++", "clang", "clang++", "go", "rustc", "ld", "pandoc", "gpg", "openssl"),
            *("tree", "xmllint", "less", "cloc", "scc"),
        ),
        _write_output,
    ),
    **dict.fromkeys(("python", "python3"), _run_module),
    "virtualenv": _make_environment,
    "uv": _run_uv,
    "install": _copy,
    "dd": _write_raw,
    "hyperfine": _export_results,
    "history": _write_history,
    "find": _search,
    "zip": _zip,
    "patch": _patch,
    "mkdir": _make_folder,
    "git": _handle_git,
}
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
_SHELL_WORDS = (
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
    *("at", "batch", "bash", "sh", "zsh", "dash", "ksh", "fish", "mksh", "ash", "rbash"),
)
# Programs that can change files, and are called with paths all day to do something else. What boathook and package managers
# change is found by their subcommands.
_FREE_PROGRAMS = (
    *("boathook", "pip", "pip3", "pipx", "gh", "git-lfs", "npm", "pnpm", "yarn", "make", "cargo"),
    *("pytest", "mypy", "pyright", "open", "xdg-open", "man"),
)
_KNOWN_PROGRAMS = frozenset((*_READERS, *_SHELL_WORDS, *_STARTERS, *_FREE_PROGRAMS))
