"""What a shell word may stand for, as far as the script itself tells: variables, loops, `$(echo …)`, `~`, braces."""

from __future__ import annotations

import os
import re
from itertools import product
from math import prod

from shellwords import ASSIGNMENT, Command, Part, ShellError, Word, parse

HOME, UNKNOWN, SURELY = "\x01", "\x00", "\x02"  # in a value: the home folder, anything, anything but nothing
WRITTEN = {HOME: "$HOME", UNKNOWN: "$UNKNOWN", SURELY: "${UNKNOWN:?}"}
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MAX_VALUES = 10_000
MAX_LENGTH = 400_000


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


def expand(word: Word, scene: Scene) -> list[str]:
    """Every value the word may have, as far as the script itself tells."""
    choices = [part_values(part, scene) for part in word.parts]
    at_most(MAX_VALUES, prod(len(values) for values in choices))
    at_most(MAX_LENGTH, sum(max((len(value) for value in values), default=0) for values in choices))
    values = ["".join(value) for value in product(*choices)]
    if word.raw.startswith("~"):
        values = [re.sub(r"^~[^/]*", HOME, value) for value in values]
    if any(not part.quoted and part.kind == "text" and "{" in part.value for part in word.parts):
        values = [piece for value in values for piece in braces(value)]
    if any(not part.quoted and part.kind != "text" for part in word.parts):
        values = [piece for value in values for piece in value.split()]
    return values


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
    """`a{b,c}` as `ab` and `ac`."""
    done, rest = [], [value]
    while rest:
        text = rest.pop()
        if match := BRACES.search(text):
            rest.extend(text[: match.start()] + choice + text[match.end() :] for choice in match[1].split(","))
        else:
            done.append(text)
        at_most(MAX_VALUES, len(done) + len(rest))
    return done[::-1]


def at_most(limit: int, size: int) -> None:
    if size > limit:
        raise ShellError("it stands for too much text")


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


def change_folder(target: str, scene: Scene) -> None:
    if target == "-" or UNKNOWN in target or SURELY in target:
        scene.folder = None
    elif target.startswith(("/", HOME)) or scene.folder:
        scene.folder = os.path.join(scene.folder or "", target) if not target.startswith(HOME) else target


def program_of(arguments: list[str]) -> str:
    return arguments[0].rsplit("/", 1)[-1] if arguments else ""
