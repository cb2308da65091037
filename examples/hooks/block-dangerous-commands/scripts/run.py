#!/usr/bin/env python3
"""Blocks shell commands that would destroy the machine, a disk or a home folder.

`judge` is the whole decision: it takes the command and the folder it would run in, and gives a `Finding` or None.
The rules are the functions named in `RULES`. `shellwords` does the reading, `values` says what words may stand for, `places`
which paths are to be protected.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

sys.dont_write_bytecode = True  # leave the hook's folder as it was copied

from places import is_device, places, protected, whole  # noqa: E402
from shellwords import ASSIGNMENT, Command, ShellError, parse  # noqa: E402
from values import (  # noqa: E402
    HOME,
    MAX_LENGTH,
    UNKNOWN,
    Scene,
    assign,
    change_folder,
    expand,
    printed,
    program_of,
    remember_loop,
    written,
)

SUSPECT = re.compile(
    r"\b(rm|dd|mv|find|shred|wipefs|blkdiscard|chmod|chown|truncate|rsync)\b|mkfs|mke2fs|newfs|/dev/|\(\s*\)\s*\{|rmtree"
)
MAX_DEPTH = 12

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
CODE_DELETES = re.compile(r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf")
CODE_RUNS = re.compile(r"system|popen|subprocess|exec|spawn|shell")
CODE_STRING = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"")


class Finding(NamedTuple):
    decision: str
    reason: str


Findings = Iterator[Finding]


class Call(NamedTuple):
    """A program about to be started."""

    program: str
    arguments: list[str]
    scene: Scene


Rule = Callable[[Call], Findings]


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
        change_folder((operands(rest) or [HOME])[0], scene)
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
            yield from rule(Call(program, rest, scene))


# commands that start commands


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
    for option, script in pairwise(arguments):
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
    given = [code for option, code in pairwise(arguments) if re.fullmatch(r"-\w*[cer]", option)]
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


def on_protected(what: str, paths: list[str], scene: Scene) -> Findings:
    for path in paths:
        if why := protected(path, scene):
            yield Finding("block", f"{what} {why} ({written(path)})")
        elif re.fullmatch(r"\x00(/+[.*]*)+", path):
            yield Finding("ask", f"{what} the root of the file system if the variable before {path[1:]} is empty")


def writes_device(what: str, paths: list[str]) -> Findings:
    for path in paths:
        if is_device(path):
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


def removes(call: Call) -> Findings:
    if "--no-preserve-root" in call.arguments:
        yield Finding("block", "--no-preserve-root has no other use than to delete the root of the file system")
    if is_recursive(call.arguments):
        yield from on_protected(f"{written(call.program)} would delete", operands(call.arguments), call.scene)


def finds(call: Call) -> Findings:
    starts = find_starts(call.arguments)
    if "-delete" in call.arguments:
        yield from on_protected("find would delete what it finds in", starts, call.scene)
    for at, word in enumerate(call.arguments):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            started = unwrap(call.arguments[at + 1 :])
            yield from found_by_find(started[: end_of_exec(started)], starts, call.scene)


def end_of_exec(arguments: list[str]) -> int:
    return next((at for at, word in enumerate(arguments) if word in (";", "+")), len(arguments))


def found_by_find(started: list[str], starts: list[str], scene: Scene) -> Findings:
    program = program_of(started)
    placed = [path for word in started for path in (starts if word == "{}" else [word])]
    if program in ("rm", "shred", "unlink"):
        yield from on_protected(f"find would hand {program}", [word for word in placed[1:] if word[:1] != "-"], scene)
    elif program in ("chmod", "chown", "chgrp"):
        yield from RULES[program](Call(program, ["-R", *placed[1:]], scene))
    elif program:
        yield from examine(shlex.join(written(word) for word in placed), scene.inner())


def find_starts(arguments: list[str]) -> list[str]:
    while arguments and re.fullmatch(r"-([HLP]|O\d|D)", arguments[0]):
        arguments = arguments[1:]
    ends = [at for at, word in enumerate(arguments) if word[:1] in ("-", "(", "!", ",")]
    return arguments[: ends[0]] if ends and ends[0] else (["."] if ends else arguments or ["."])


def copies_raw(call: Call) -> Findings:
    yield from writes_device(call.program, [word[3:] for word in call.arguments if word.startswith("of=")])


def writes_operands(call: Call) -> Findings:
    yield from writes_device(call.program, operands(call.arguments))


def writes_last(call: Call) -> Findings:
    yield from writes_device(call.program, operands(call.arguments)[-1:])


def makes_file_system(call: Call) -> Findings:
    if operands(call.arguments):
        yield Finding("block", f"{call.program} would erase what is on the disk it is given")


def wipes(call: Call) -> Findings:
    if operands(call.arguments) and not has_option(call.arguments, "n", "--no-act"):
        yield Finding("block", f"{call.program} would erase what is on the disk it is given")


def erases_with(*words: str) -> Rule:
    def rule(call: Call) -> Findings:
        for word in call.arguments:
            if any(word.lower().startswith(name.lower()) for name in words):
                yield Finding("block", f"{call.program} {word} would erase a disk")

    return rule


def changes_mode(call: Call) -> Findings:
    paths = operands(call.arguments)[1:] or operands(call.arguments)
    if has_option(call.arguments, "R", "--recursive"):
        yield from on_protected(f"{call.program} -R would change every file of", paths, call.scene)
    elif any(places(path, call.scene) == () for path in paths):
        yield Finding("block", f"{call.program} would change the root of the file system")


def changes_owner(call: Call) -> Findings:
    for finding in changes_mode(call):
        if "home folder" not in finding.reason:  # to take one's own files back is usual
            yield finding


def moves(call: Call) -> Findings:
    paths = operands(call.arguments)
    sources = paths if has_option(call.arguments, "t", "--target-directory") else paths[:-1]
    for path in sources:
        found = places(path, call.scene)
        if found is not None and whole(found):
            yield Finding("block", f"mv would move away {whole(found)} ({written(path)})")
    yield from writes_device(call.program, paths[-1:])


def mirrors(call: Call) -> Findings:
    if any(word.startswith("--delete") for word in call.arguments):
        yield from on_protected("rsync --delete would empty", operands(call.arguments)[-1:], call.scene)


def keeps_for_later(call: Call) -> Findings:
    """`trap SCRIPT SIGNAL`, `alias NAME=SCRIPT`."""
    for word in operands(call.arguments)[:1]:
        yield from through_text([ASSIGNMENT.sub("", word) if call.program == "alias" else word], call.scene)


def joins_after(options: str, skipped: int) -> Rule:
    """`ssh HOST COMMAND`, `watch COMMAND`. Another machine is worth as much as this one."""

    def rule(call: Call) -> Findings:
        yield from through_text(after_options(call.arguments, options)[skipped:], call.scene)

    return rule


def runs_option(call: Call) -> Findings:
    """`su -c COMMAND`, `script -c COMMAND`."""
    for option, value in pairwise(call.arguments):
        if option in ("-c", "--command"):
            yield from through_text([value], call.scene)


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
