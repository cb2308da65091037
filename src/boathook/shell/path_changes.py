"""Which paths a program changes, by the words that it is called with: a row for each program."""

from __future__ import annotations

import re

from boathook.core.interpreters import is_interpreter, remove_version
from boathook.shell.arguments import find_option_values, has_option, list_operands, skip_options
from boathook.shell.containers import CONTAINER_PROGRAMS, list_shared_folders
from boathook.shell.file_changes import (
    change_access,
    change_exactly,
    change_trees,
    copy_paths,
    link_paths,
    move_paths,
    read_diff,
    remove_paths,
    synchronize_folders,
    write_output,
)
from boathook.shell.find_search import list_found_paths
from boathook.shell.found_paths import remove_prefix_of_path
from boathook.shell.git_changes import list_diffed_paths, list_git_changes
from boathook.shell.known_programs import KNOWN_PROGRAMS
from boathook.shell.path_change import CREATE, EXACT, OVERLAY, TREE, Changes, PathChange, Rule
from boathook.shell.started_program import Started

_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-", "")
# Where the results of a query go, or a copy of a database.
_QUERY_OUTPUT = re.compile(
    r"^\s*\.(?:output|once|backup|save|clone|log)\s+['\"]?([^'\"\n]+)|\binto\s+['\"]([^'\"\n]+)",
    re.IGNORECASE | re.MULTILINE,
)
_INPLACE = re.compile(r"-[A-Za-z0-9]*i.*")


def list_path_changes(started: Started) -> list[PathChange] | None:
    """Return the paths that a program changes, without its redirections; None if the program is not known here."""
    rule = RULES.get(started.name) or RULES.get(remove_version(started.name))
    if rule is None and not is_known_program(started.name):
        return None
    return list(rule(started, list(started.words[1:]))) if rule else []


def is_known_program(name: str) -> bool:
    plain = remove_version(name)
    # What interpreters change is in their code.
    return not {name, plain}.isdisjoint((*RULES, *KNOWN_PROGRAMS)) or is_interpreter(plain)


def list_redirected_paths(started: Started) -> list[PathChange]:
    return [PathChange(path) for path in started.outputs if path not in _NOWHERE and not path.startswith("/dev/")]


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
    yield from (PathChange(remove_prefix_of_path(word, "of=")) for word in arguments if word.startswith("of="))


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
    folders = find_option_values(arguments, "-d", "--directory")
    yield from (PathChange(path, OVERLAY) for path in folders)
    yield from (PathChange(path) for path in find_option_values(arguments, "-o", "--output", "-r", "--reject-file"))
    yield from (PathChange(path) for path in [one for one in list_operands(arguments) if one not in folders][:1])
    yield from read_diff(started.input_text)
    yield from list_diffed_paths(started)


def _copy_archive(started: Started, arguments: list[str]) -> Changes:
    """`cpio`, `pax`: into a folder that an option names, or that is the last word."""
    yield from _unpack(started, arguments)
    yield from (PathChange(path, OVERLAY) for path in find_option_values(arguments, "-D", "--directory"))
    yield from (PathChange(path) for path in find_option_values(arguments, "-O", "-F", "-f", "--file"))
    if has_option(arguments, "pw", "--pass-through"):
        yield from (PathChange(path, OVERLAY) for path in list_operands(arguments)[-1:])


def _make_folder(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, CREATE) for path in list_operands(skip_options(arguments, "-m --mode")))


def _mount(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(skip_options(arguments, "-t -o"))[-1:])


def _contain(started: Started, arguments: list[str]) -> Changes:
    """What is in a container can change the folders that it shares with this machine."""
    shared = list_shared_folders(started.name, arguments)
    yield from (PathChange(source, OVERLAY) for source, _ in shared)
    operands = list_operands(arguments)
    if "cp" in operands[:2] and ":" not in operands[-1]:
        yield from (PathChange(operands[-1], way) for way in (EXACT, OVERLAY))


def _query(started: Started, arguments: list[str]) -> Changes:
    operands = list_operands(arguments)
    for text in (*operands[1:], *find_option_values(arguments, "-cmd"), started.input_text):
        yield from (PathChange(match[1] or match[2]) for match in _QUERY_OUTPUT.finditer(text))
    is_reading = "-readonly" in arguments or (
        len(operands) > 1 and re.match(r"\s*(select|\.schema|\.tables|\.dump)\b", operands[1], re.I)
    )
    if not is_reading:
        yield from (PathChange(path) for path in operands[:1])


def _export_results(_: Started, arguments: list[str]) -> Changes:
    names = {word.partition("=")[0] for word in arguments if word.startswith("--export-")}
    yield from (PathChange(path) for path in find_option_values(arguments, *names, "--output"))


def _write_history(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path) for path in find_option_values(arguments, "-a", "-w"))


def _run_module(started: Started, arguments: list[str]) -> Changes:
    words = arguments[arguments.index("-m") + 1 :] if "-m" in arguments else []
    module, behind = next(iter(words), ""), words[1:]
    if module == "venv" and has_option(behind, "", "--clear", "--upgrade"):
        yield from _make_environment(started, behind)
    if module in ("zipfile", "tarfile"):
        is_extracting = has_option(behind, "e", "--extract")
        yield from (PathChange(path, OVERLAY) for path in list_operands(behind)[1:] if is_extracting)
        yield from (PathChange(path) for path in find_option_values(behind, "-c", "--create"))
    if module == "json.tool":
        yield from (PathChange(path) for path in list_operands(behind)[1:])


def _run_uv(started: Started, arguments: list[str]) -> Changes:
    if list_operands(arguments)[:1] == ["venv"]:
        paths = list_operands(arguments)[1:]
        yield from _make_environment(started, paths or [".venv"])


def _make_environment(_: Started, arguments: list[str]) -> Changes:
    yield from (PathChange(path, TREE) for path in list_operands(arguments)[:1])


RULES: dict[str, Rule] = {
    **dict.fromkeys(("rm", "srm", "del"), remove_paths),
    **dict.fromkeys(("unlink", "rmdir", "tee", "truncate", "touch", "sponge", "mkfifo", "mknod"), change_exactly),
    **dict.fromkeys(
        ("ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "pico", "micro", "code", "code-insiders", "cursor"),
        change_exactly,
    ),
    **dict.fromkeys(
        ("shred", "wipe", "trash", "trash-put", "trash-rm", "gio", "rimraf", "rename", "prename"), change_trees
    ),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "setfattr", "xattr"), change_access),
    **dict.fromkeys(("mv", "gmv"), move_paths),
    **dict.fromkeys(("cp", "gcp", "scp", "ditto"), copy_paths),
    **dict.fromkeys(("ln", "link"), link_paths),
    **dict.fromkeys(("rsync", "rclone"), synchronize_folders),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby", "yq"), _edit_stream),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _unpack),
    **dict.fromkeys(("cpio", "pax"), _copy_archive),
    **dict.fromkeys(("unzip", "7z", "7za", "unrar", "unar"), _unzip),
    **dict.fromkeys(("curl", "wget", "aria2c", "http", "xh"), _download),
    **dict.fromkeys(CONTAINER_PROGRAMS, _contain),
    **dict.fromkeys(("mount", "umount", "fusermount"), _mount),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), _query),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _edit_records),
    **dict.fromkeys(("uniq", "xxd"), _write_second),
    **dict.fromkeys(
        (
            *("sort", "gcc", "cc", "g++", "clang", "clang++", "go", "rustc", "ld", "pandoc", "gpg", "openssl"),
            *("tree", "xmllint", "less", "cloc", "scc"),
        ),
        write_output,
    ),
    **dict.fromkeys(("python", "python3"), _run_module),
    "virtualenv": _make_environment,
    "uv": _run_uv,
    "install": copy_paths,
    "dd": _write_raw,
    "hyperfine": _export_results,
    "history": _write_history,
    "find": _search,
    "zip": _zip,
    "patch": _patch,
    "mkdir": _make_folder,
    "git": list_git_changes,
}
