#!/usr/bin/env python3
"""Blocks shell commands that would destroy the machine, a disk or a home folder.

`judge` is the whole decision: it takes the command and the folder it would run in, and gives a `Finding` or None.
The rules are the functions named in `RULES`; `shellwords` does the reading. To protect more folders, change the sets below.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, NamedTuple

sys.dont_write_bytecode = True  # leave the hook's folder as it was copied

from shellwords import ASSIGNMENT, Command, Part, ShellError, Word, parse  # noqa: E402

TOP_FOLDERS = set(
    "bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin snap srv sys usr var"
    " Applications Library System Users Volumes private".split()
)
SYSTEM_FOLDERS = set("bin boot dev etc lib lib32 lib64 libx32 proc sbin sys usr Library System".split())
FREE_FOLDERS = (("dev", "shm"), ("usr", "local"), ("usr", "src"))  # below these is not the system's
STATE_FOLDERS = (("var", "lib"), ("var", "log"), ("var", "spool"), ("private", "etc"), ("private", "var"))
HARMLESS_DEVICE = re.compile(
    r"/dev/(null|zero|full|u?random|std(in|out|err)|tty.*|cu\..*|console|ptmx|log|dsp|(shm|pts|fd|tcp|udp|snd|input)(/.*)?)"
)
SUSPECT = re.compile(
    r"\b(rm|dd|mv|find|shred|wipefs|blkdiscard|chmod|chown|truncate|rsync)\b|mkfs|mke2fs|newfs|/dev/|\(\s*\)\s*\{|rmtree"
)
MAX_LENGTH = 400_000
MAX_DEPTH = 12
MAX_VALUES = 256
MAX_VALUE = 4096

HOME, UNKNOWN, SURELY = "\x01", "\x00", "\x02"  # in an expanded word: the home folder, anything, anything but nothing
WRITTEN = {HOME: "$HOME", UNKNOWN: "$UNKNOWN", SURELY: "${UNKNOWN:?}"}

# Commands that start another one: their options that take a value, and how many words stand before the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-C -D -g -h -p -R -r -T -t -U -u --user --group --host --prompt --chdir --role --type --other-user", 0),
    "doas": ("-C -u", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n", 0),
    "time": ("-f -o", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "stdbuf": ("-i -o -e", 0),
    "exec": ("-a", 0),
    "strace": ("-e -o -p -s", 0),
    "chroot": ("", 1),
    "chrt": ("", 1),
    "taskset": ("", 1),
    "flock": ("-w -E", 1),
    **dict.fromkeys(
        ("{", "!", "command", "builtin", "nohup", "setsid", "busybox", "toybox", "caffeinate", "unbuffer"), ("", 0)
    ),
}
XARGS_VALUES = "-I -n -P -L -l -d -E -s -a --max-args --max-procs --delimiter --replace --arg-file"
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"}
READERS = SHELLS | {"at", "batch"}  # they run what they read
DOWNLOADERS = {"curl", "wget", "fetch", "aria2c", "lynx"}
DECODERS = {"base64", "base32", "xxd", "uudecode", "openssl", "gunzip", "zcat"}
OWN_LISTS = {"git", "fd", "fdfind", "rg"}  # what these print lies in the project
EXPORTERS = {"export", "declare", "local", "readonly", "typeset"}
INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|php)[\d.]*")
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
CODE_DELETES = re.compile(r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf")
CODE_RUNS = re.compile(r"system|popen|subprocess|exec|spawn|shell")
CODE_STRING = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"")


class Finding(NamedTuple):
    decision: str
    reason: str


class Scene:
    """What is known at a place in the script: variables, and the folder one is in."""

    def __init__(self, folder: str | None, project: str | None, depth: int = 0) -> None:
        self.depth = depth
        self.project = project
        self.names: dict[str, list[str]] = {}
        self.folders: dict[tuple[int, ...], str | None] = {(): folder}
        self.scope: tuple[int, ...] = ()

    def enter(self, scope: tuple[int, ...]) -> None:
        for size in range(1, len(scope) + 1):
            self.folders.setdefault(scope[:size], self.folders[scope[: size - 1]])
        self.scope = scope

    @property
    def folder(self) -> str | None:
        return self.folders[self.scope]

    @folder.setter
    def folder(self, folder: str | None) -> None:
        self.folders[self.scope] = folder

    def inner(self) -> Scene:
        scene = Scene(self.folder, self.project, self.depth + 1)
        scene.names = dict(self.names)
        return scene


Findings = Iterator[Finding]
Rule = Callable[[str, list[str], Scene], Findings]


def judge(command: str, work_dir: str = "") -> Finding | None:
    """The heaviest finding about a command, or None if there is nothing to say."""
    if len(command) > MAX_LENGTH:
        return unreadable(command, "it is too long")
    try:
        findings = list(examine(command, Scene(work_dir or None, work_dir or None)))
    except (ShellError, RecursionError) as error:
        return unreadable(command, str(error))
    return max(findings, key=lambda finding: finding.decision == "block", default=None)


def unreadable(command: str, why: str) -> Finding | None:
    """A command that cannot be read is let through only if it has no word in it that could do harm."""
    if not SUSPECT.search(command):
        return None
    return Finding("block", f"this command cannot be read ({why}), and it contains words that can destroy data")


def examine(script: str, scene: Scene) -> Findings:
    if scene.depth > MAX_DEPTH:
        raise ShellError("nested too deep")
    pipeline: list[Command] = []
    before: Command | None = None
    for command in parse(script):
        scene.enter(command.scope)
        for inner in command.scripts:
            yield from examine(inner, scene.inner())
        pipeline = pipeline if command.joint in ("|", "|&") else []
        yield from fork_bomb(command, before)
        yield from examine_command(command, pipeline, scene)
        pipeline.append(command)
        before = command


def fork_bomb(command: Command, before: Command | None) -> Findings:
    if not before or not before.words or not command.words or command.joint not in ("|", "|&", "&"):
        return
    if before.words[0].text == command.words[0].text and command.words[0].text in before.functions:
        yield Finding("block", "a function that starts itself twice is a fork bomb")


def examine_command(command: Command, pipeline: list[Command], scene: Scene) -> Findings:
    for redirect in command.redirects:
        for target in expand(redirect.target, scene) if ">" in redirect.operator else ():
            yield from writes_device("a redirection", [target])
    if not command.words:
        for word in command.assignments:
            assign(word, scene)
        return
    if command.words[0].text == "for":
        remember_loop(command, scene)
        return
    arguments = [value for word in command.words for value in expand(word, scene)]
    if any(ASSIGNMENT.match(word.raw) for word in command.words[1:]) and command.words[0].text in EXPORTERS:
        for word in command.words[1:]:
            assign(word, scene)
    yield from examine_arguments(arguments, Feed(command, pipeline, scene), scene)


class Feed:
    """Where a command's standard input comes from."""

    def __init__(self, command: Command, pipeline: list[Command], scene: Scene) -> None:
        self.command, self.pipeline, self.scene = command, pipeline, scene

    @property
    def source(self) -> list[str]:
        return self._arguments(self.pipeline[0]) if self.pipeline else []

    def programs(self) -> list[str]:
        return [program_of(unwrap(self._arguments(command))) for command in self.pipeline]

    def _arguments(self, command: Command) -> list[str]:
        return [value for word in command.words for value in expand(word, self.scene)]

    def text(self) -> str | None:
        """The text that is fed in, where it stands in the script itself."""
        for command in (self.command, *self.pipeline[:1]):
            for redirect in command.redirects:
                if redirect.feeds_text:
                    return redirect.target.text
        return written(" ".join(printed(self.source))) if program_of(self.source) in ("echo", "printf") else None

    def paths(self) -> list[str] | None:
        """The paths that are fed in, or None if one cannot know."""
        program = program_of(self.source)
        if program in ("echo", "printf"):
            paths = " ".join(printed(self.source)).split()
            return None if any(UNKNOWN in path for path in paths) else paths
        if program == "find":
            return find_starts(self.source[1:])
        if program == "ls":
            return operands(self.source[1:]) or ["."]
        text = self.text()
        return text.split() if text is not None else [] if program in OWN_LISTS else None


def examine_arguments(arguments: list[str], feed: Feed, scene: Scene) -> Findings:
    arguments = unwrap(arguments)
    if not arguments:
        return
    program, rest = program_of(arguments), arguments[1:]
    if program in ("cd", "pushd"):
        change_folder(rest, scene)
    elif program == "xargs":
        yield from through_xargs(rest, feed, scene)
    elif program in READERS:
        yield from through_shell(rest if program in SHELLS else [], feed, scene)
    elif INTERPRETER.fullmatch(program):
        yield from through_interpreter(rest, feed, scene)
    elif program in ("eval", "source", "."):
        yield from downloaded(feed)
        yield from through_text(rest, scene)
    else:
        rule = RULES.get(program) or (makes_file_system if program.startswith(("mkfs.", "newfs_")) else None)
        if rule is None and UNKNOWN in arguments[0]:
            rule = removes  # a command whose name is hidden is taken for the worst
        if rule:
            yield from rule(program, rest, scene)


# words and their values


def expand(word: Word, scene: Scene) -> list[str]:
    """Every value the word may have, as far as the script itself tells."""
    choices = [part_values(part, scene) for part in word.parts]
    values = ["".join(value)[:MAX_VALUE] for _, value in zip(range(MAX_VALUES), product(*choices), strict=False)]
    if word.raw.startswith("~"):
        values = [re.sub(r"^~[^/]*", HOME, value) for value in values]
    if any(not part.quoted and part.kind == "text" and "{" in part.value for part in word.parts):
        values = [piece for value in values for piece in braces(value)]
    if any(not part.quoted and part.kind != "text" for part in word.parts):
        values = [piece for value in values for piece in value.split()]
    return values[:MAX_VALUES]


def part_values(part: Part, scene: Scene) -> list[str]:
    if part.kind == "text":
        return [part.value]
    if part.kind == "script":
        return [printed_by(part.value, scene)]
    return name_values(part.value, scene)


def name_values(inner: str, scene: Scene) -> list[str]:
    """The values of `$X`, `${X}`, `${X:-other}` or `${X:?}`."""
    match = re.fullmatch(r"([A-Za-z_]\w*)(?:(:?[-=?+])(.*))?", inner, re.DOTALL)
    if not match:
        return [UNKNOWN]
    name, operator, other = match[1], match[2] or "", match[3] or ""
    fixed = {"HOME": HOME, "PWD": scene.folder or UNKNOWN, "TMPDIR": "/tmp", "IFS": " "}
    values = scene.names.get(name) or ([fixed[name]] if name in fixed else [])
    if operator.endswith("?"):
        return values or [SURELY]
    if operator.endswith(("-", "=")) and not values:
        return [UNKNOWN] if "$" in other or "`" in other else [UNKNOWN, other.strip("\"'")]
    return values or [UNKNOWN]


def printed_by(script: str, scene: Scene) -> str:
    """What a substitution would print, if it is only an echo, a printf or a pwd."""
    commands = parse(script)
    if len(commands) != 1:
        return UNKNOWN
    arguments = [value for word in commands[0].words for value in expand(word, scene)]
    if program_of(arguments) == "pwd":
        return scene.folder or UNKNOWN
    return " ".join(printed(arguments)) if program_of(arguments) in ("echo", "printf") else UNKNOWN


def printed(arguments: list[str]) -> list[str]:
    words = arguments[1:]
    while words and re.fullmatch(r"-[neE]+", words[0]):
        words = words[1:]
    if program_of(arguments) != "printf" or not words:
        return words
    pieces = [piece.replace("\\n", "\n") for piece in words]
    return pieces[1:] if "%" in pieces[0] and len(pieces) > 1 else pieces


def braces(value: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`; no more than MAX_VALUES of them."""
    values = [value]
    while len(values) < MAX_VALUES:
        matches = [(text, match) for text in values if (match := BRACES.search(text))]
        if not matches:
            break
        text, match = matches[0]
        at = values.index(text)
        values[at : at + 1] = [text[: match.start()] + choice + text[match.end() :] for choice in match[1].split(",")]
    return values


def written(value: str) -> str:
    """An expanded value, as script text again."""
    return re.sub("[\x00-\x02]", lambda mark: WRITTEN[mark[0]], value)


def assign(word: Word, scene: Scene) -> None:
    for value in expand(word, scene):
        if match := ASSIGNMENT.match(value):
            scene.names[match[1]] = [re.sub("^~(?=/|$)", HOME, value[match.end() :])]


def remember_loop(command: Command, scene: Scene) -> None:
    words = command.words
    if len(words) > 3 and words[2].text == "in":
        scene.names[words[1].text] = [value for word in words[3:] for value in expand(word, scene)]


def change_folder(arguments: list[str], scene: Scene) -> None:
    target = (operands(arguments) or [HOME])[0]
    if target == "-" or UNKNOWN in target or SURELY in target:
        scene.folder = None
    elif target.startswith(("/", HOME)) or scene.folder:
        scene.folder = os.path.join(scene.folder or "", target) if not target.startswith(HOME) else target


# commands that start commands


def program_of(arguments: list[str]) -> str:
    return arguments[0].rsplit("/", 1)[-1] if arguments else ""


def unwrap(arguments: list[str]) -> list[str]:
    """The command that `sudo`, `env`, `timeout` and their like would start."""
    while (program := program_of(arguments)) in WRAPPERS:
        options, skipped = WRAPPERS[program]
        rest = arguments[1:]
        if program == "command" and rest[:1] and re.fullmatch("-p?[vV]", rest[0]):
            return []
        if program == "env" and rest[:1] and rest[0] in ("-S", "--split-string"):
            return unwrap(words_of(" ".join(rest[1:])))
        rest = after_options(rest, options)
        while rest and program in ("sudo", "doas", "env") and ASSIGNMENT.match(rest[0]):
            rest = rest[1:]
        arguments = rest[skipped:]
    return arguments


def words_of(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ShellError(str(error)) from None


def after_options(arguments: list[str], with_value: str) -> list[str]:
    takes_value = with_value.split()
    while arguments and arguments[0].startswith("-") and arguments[0] != "-":
        if arguments[0] == "--":
            return arguments[1:]
        arguments = arguments[2 if arguments[0] in takes_value else 1 :]
    return arguments


def through_shell(arguments: list[str], feed: Feed, scene: Scene) -> Findings:
    """`sh -c SCRIPT`, `… | sh`, `sh <<< SCRIPT`."""
    yield from downloaded(feed)
    for option, script in zip(arguments, arguments[1:], strict=False):
        if re.fullmatch(r"-\w*c", option):
            yield from through_text([script], scene)
            return
    if operands(arguments) in ([], ["-"]) or "-s" in arguments:
        if set(feed.programs()) & DOWNLOADERS:
            yield Finding("ask", "this runs a script straight from the network without anybody having read it")
        elif set(feed.programs()) & DECODERS:
            yield Finding("ask", "this runs a script that is hidden in encoded text")
        text = feed.text()
        if text is not None:
            yield from through_text([text], scene)


def through_text(words: list[str], scene: Scene) -> Findings:
    """Words that together are a script: of `sh -c`, `eval`, `ssh HOST`."""
    yield from examine(written(" ".join(words)), scene.inner())


def downloaded(feed: Feed) -> Findings:
    for script in feed.command.scripts:
        if any(program_of(unwrap([word.text for word in inner.words])) in DOWNLOADERS for inner in parse(script)):
            yield Finding("ask", "this runs a script straight from the network without anybody having read it")


def through_xargs(arguments: list[str], feed: Feed, scene: Scene) -> Findings:
    started = unwrap(after_options(arguments, XARGS_VALUES))
    paths = feed.paths()
    if paths is None and program_of(started) == "rm" and is_recursive(started[1:]):
        yield Finding(
            "block", "xargs would delete whole folders from a list that cannot be seen here; name them instead"
        )
    paths = [UNKNOWN] if paths is None else paths
    placed = [path for word in started for path in (paths if word == "{}" else [word])]
    yield from examine_arguments(placed if "{}" in started else started + paths, feed, scene)


def through_interpreter(arguments: list[str], feed: Feed, scene: Scene) -> Findings:
    """`python -c CODE`: deleting calls on a protected path, and strings that are shell commands."""
    given = [code for option, code in zip(arguments, arguments[1:], strict=False) if re.fullmatch(r"-\w*[cer]", option)]
    code = written(given[0]) if given else feed.text() or ""
    strings = [single or double for single, double in CODE_STRING.findall(code)]
    if CODE_DELETES.search(code):
        yield from on_protected("this code would delete", strings, scene)
    if CODE_RUNS.search(code):
        yield from in_code(strings, scene)


def in_code(strings: list[str], scene: Scene) -> Findings:
    for script in (*strings, " ".join(strings)):
        try:
            yield from examine(script, scene.inner())
        except ShellError:
            continue  # not every string of a program is a shell command


# paths


def places(path: str, scene: Scene) -> tuple[str, ...] | None:
    """The folders from the root (or from `~`) down to a path, or None if that cannot be said."""
    if UNKNOWN in path or SURELY in path:
        return None
    if not path.startswith(("/", HOME)):
        if scene.folder is None:
            return None
        path = f"{scene.folder}/{path}"
    found: list[str] = []
    for name in path.split("/"):
        if name == "..":
            found = found[:-1] if found != [HOME] else found
        elif name not in ("", "."):
            found.append(name)
    while found and re.fullmatch(r"[.?!^\[\]*]*\*[.?!^\[\]*]*", found[-1]):  # all of a folder is the folder
        found.pop()
    return at_home(tuple(found))


def at_home(found: tuple[str, ...]) -> tuple[str, ...]:
    home = tuple(os.path.expanduser("~").strip("/").split("/"))
    return (HOME, *found[len(home) :]) if home != ("",) and found[: len(home)] == home else found


def same(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern)


def whole(found: tuple[str, ...]) -> str:
    """What a path is, if it is the root, a folder right below it, or somebody's home."""
    if not found:
        return "the root of the file system"
    if found == (HOME,) or (len(found) == 2 and found[0] in ("home", "Users")):
        return "a whole home folder"
    if len(found) == 1 and any(same(found[0], top) for top in TOP_FOLDERS):
        return f"the system folder /{found[0]}"
    return ""


def inside(found: tuple[str, ...]) -> str:
    """What a path is, if it lies in a folder of the system."""
    if found in STATE_FOLDERS or (found in FREE_FOLDERS and found[0] == "usr"):
        return f"the system folder /{'/'.join(found)}"
    if len(found) > 1 and found[:2] not in FREE_FOLDERS and any(same(found[0], top) for top in SYSTEM_FOLDERS):
        return f"a part of the system folder /{found[0]}"
    return ""


def protected(path: str, scene: Scene) -> str:
    found = places(path, scene)
    if found is None:
        return ""
    if not whole(found) and in_project(found, scene):
        return ""
    return whole(found) or inside(found)


def in_project(found: tuple[str, ...], scene: Scene) -> bool:
    project = places(scene.project, scene) if scene.project else None
    if not project or whole(project):
        return False
    return len(found) > len(project) and found[: len(project)] == project


def on_protected(what: str, paths: list[str], scene: Scene) -> Findings:
    for path in paths:
        if why := protected(path, scene):
            yield Finding("block", f"{what} {why} ({written(path)})")
        elif re.fullmatch(r"\x00(/+[.*]*)+", path):
            yield Finding("ask", f"{what} the root of the file system if the variable before {path[1:]} is empty")


def is_device(path: str) -> bool:
    path = re.sub("/+", "/", path)
    return path.startswith("/dev/") and path != "/dev/" and not HARMLESS_DEVICE.fullmatch(path)


def writes_device(what: str, paths: list[str]) -> Findings:
    for path in paths:
        if is_device(path) or path == "/proc/sysrq-trigger":
            yield Finding("block", f"{what} would write straight to the device {written(path)}")


# options


def operands(arguments: list[str]) -> list[str]:
    if "--" in arguments:
        at = arguments.index("--")
        return operands(arguments[:at]) + arguments[at + 1 :]
    return [word for word in arguments if word and (word == "-" or not word.startswith("-"))]


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Long names may be cut short, as the C library allows."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if any(re.fullmatch(rf"-[A-Za-z]*[{letters}][A-Za-z]*", word) for word in options):
        return True
    longs = [word.partition("=")[0] for word in options if len(word) > 4 and word.startswith("--")]
    return any(name.startswith(word) for word in longs for name in names)


def is_recursive(arguments: list[str]) -> bool:
    """A first word that is not known may be the option."""
    return has_option(arguments, "rR", "--recursive") or any(UNKNOWN in word for word in arguments[:1])


# rules: what each program must not do


def removes(program: str, arguments: list[str], scene: Scene) -> Findings:
    if "--no-preserve-root" in arguments:
        yield Finding("block", "--no-preserve-root has no other use than to delete the root of the file system")
    if is_recursive(arguments):
        yield from on_protected(f"{written(program)} would delete", operands(arguments), scene)


def finds(program: str, arguments: list[str], scene: Scene) -> Findings:
    starts = find_starts(arguments)
    if "-delete" in arguments:
        yield from on_protected("find would delete what it finds in", starts, scene)
    for at, word in enumerate(arguments):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            started = unwrap(arguments[at + 1 :])
            yield from found_by_find(started[: end_of_exec(started)], starts, scene)


def end_of_exec(arguments: list[str]) -> int:
    return next((at for at, word in enumerate(arguments) if word in (";", "+")), len(arguments))


def found_by_find(started: list[str], starts: list[str], scene: Scene) -> Findings:
    program = program_of(started)
    placed = [path for word in started for path in (starts if word == "{}" else [word])]
    if program in ("rm", "shred", "unlink"):
        yield from on_protected(f"find would hand {program}", [word for word in placed[1:] if word[:1] != "-"], scene)
    elif program in ("chmod", "chown", "chgrp"):
        yield from RULES[program](program, ["-R", *placed[1:]], scene)
    elif program:
        yield from examine(shlex.join(written(word) for word in placed), scene.inner())


def find_starts(arguments: list[str]) -> list[str]:
    while arguments and re.fullmatch(r"-([HLP]|O\d|D)", arguments[0]):
        arguments = arguments[1:]
    ends = [at for at, word in enumerate(arguments) if word[:1] in ("-", "(", "!", ",")]
    return arguments[: ends[0]] if ends and ends[0] else (["."] if ends else arguments or ["."])


def copies_raw(program: str, arguments: list[str], scene: Scene) -> Findings:
    yield from writes_device(program, [word[3:] for word in arguments if word.startswith("of=")])


def writes_operands(program: str, arguments: list[str], scene: Scene) -> Findings:
    yield from writes_device(program, operands(arguments))


def writes_last(program: str, arguments: list[str], scene: Scene) -> Findings:
    yield from writes_device(program, operands(arguments)[-1:])


def makes_file_system(program: str, arguments: list[str], scene: Scene) -> Findings:
    if operands(arguments):
        yield Finding("block", f"{program} would erase what is on the disk it is given")


def wipes(program: str, arguments: list[str], scene: Scene) -> Findings:
    if operands(arguments) and not has_option(arguments, "n", "--no-act"):
        yield Finding("block", f"{program} would erase what is on the disk it is given")


def erases_with(*words: str) -> Rule:
    def rule(program: str, arguments: list[str], scene: Scene) -> Findings:
        for word in arguments:
            if any(word.lower().startswith(name.lower()) for name in words):
                yield Finding("block", f"{program} {word} would erase a disk")

    return rule


def changes_mode(program: str, arguments: list[str], scene: Scene) -> Findings:
    paths = operands(arguments)[1:] or operands(arguments)
    if has_option(arguments, "R", "--recursive"):
        yield from on_protected(f"{program} -R would change every file of", paths, scene)
    elif any(places(path, scene) == () for path in paths):
        yield Finding("block", f"{program} would change the root of the file system")


def changes_owner(program: str, arguments: list[str], scene: Scene) -> Findings:
    for finding in changes_mode(program, arguments, scene):
        if "home folder" not in finding.reason:  # to take one's own files back is usual
            yield finding


def moves(program: str, arguments: list[str], scene: Scene) -> Findings:
    paths = operands(arguments)
    sources = paths if has_option(arguments, "t", "--target-directory") else paths[:-1]
    for path in sources:
        found = places(path, scene)
        if found is not None and whole(found):
            yield Finding("block", f"mv would move away {whole(found)} ({written(path)})")
    yield from writes_device(program, paths[-1:])


def mirrors(program: str, arguments: list[str], scene: Scene) -> Findings:
    if any(word.startswith("--delete") for word in arguments):
        yield from on_protected("rsync --delete would empty", operands(arguments)[-1:], scene)


def keeps_for_later(program: str, arguments: list[str], scene: Scene) -> Findings:
    """`trap SCRIPT SIGNAL`, `alias NAME=SCRIPT`."""
    for word in operands(arguments)[:1]:
        yield from through_text([ASSIGNMENT.sub("", word) if program == "alias" else word], scene)


def joins_after(options: str, skipped: int) -> Rule:
    """`ssh HOST COMMAND`, `watch COMMAND`. Another machine is worth as much as this one."""

    def rule(program: str, arguments: list[str], scene: Scene) -> Findings:
        yield from through_text(after_options(arguments, options)[skipped:], scene)

    return rule


def runs_option(program: str, arguments: list[str], scene: Scene) -> Findings:
    """`su -c COMMAND`, `script -c COMMAND`."""
    for option, value in zip(arguments, arguments[1:], strict=False):
        if option in ("-c", "--command"):
            yield from through_text([value], scene)


RULES: dict[str, Rule] = {
    "rm": removes,
    "find": finds,
    "dd": copies_raw,
    **dict.fromkeys(("mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs"), makes_file_system),
    **dict.fromkeys(("wipefs", "blkdiscard"), wipes),
    **dict.fromkeys(("shred", "tee", "truncate"), writes_operands),
    "cp": writes_last,
    "diskutil": erases_with("erase", "partitionDisk", "zeroDisk", "secureErase"),
    "cryptsetup": erases_with("luksFormat", "luksErase", "erase"),
    "sgdisk": erases_with("-Z", "--zap", "-o", "--clear"),
    "parted": erases_with("mklabel", "mktable"),
    "zpool": erases_with("destroy", "labelclear"),
    "chmod": changes_mode,
    **dict.fromkeys(("chown", "chgrp"), changes_owner),
    "mv": moves,
    "rsync": mirrors,
    **dict.fromkeys(("trap", "alias"), keeps_for_later),
    "ssh": joins_after("-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w", 1),
    "watch": joins_after("-n --interval", 0),
    **dict.fromkeys(("su", "runuser", "script"), runs_option),
}


# the hook


def command_of(event: dict[str, Any]) -> str:
    tool_input = event.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if isinstance(command, list):
        return shlex.join(str(word) for word in command)
    return command if isinstance(command, str) else ""


def main() -> int:
    event = json.load(sys.stdin)
    finding = judge(command_of(event), str(event.get("work_dir") or ""))
    if finding is None:
        return 0
    if finding.decision == "ask":
        print(json.dumps({"decision": "ask", "reason": f"Dangerous command: {finding.reason}"}))
        return 0
    print(f"Dangerous command blocked: {finding.reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
