"""Installing in a host and taking that back: first a plan that can be shown, then all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Generator
from typing import TypeVar

from boathook.core.hook import PROJECT
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.command_line import line
from boathook.install.formats import SHAPES, TRUST, VALUES, Part, Taken
from boathook.install.host_files import Place, further, parts_of
from boathook.install.json_edit import TextFault
from boathook.install.registry import LIMIT, Book, Installation, Written, digest
from boathook.install.setups import Setup
from boathook.system.files import FileError, may_be_there, read_regular
from boathook.version import __version__

T = TypeVar("T")

NOTHING = b""
BY_PLACE = (TRUST, VALUES)  # what stands there may be the person's own
STATE = ("hooks", "state")  # where Codex keeps the trust of entries


class Change(Value):
    """One file: as it is, as it shall be, and as it was before boathook; None is no file."""

    part: Part
    path: str
    now: bytes | None
    then: bytes | None
    original: bytes | None

    @property
    def is_one(self) -> bool:
        """Whether anything changes."""
        return self.now != self.then


class Plan(Value):
    """What is to be done in one host."""

    setup: Setup
    place: Place
    changes: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not any(change.is_one for change in self.changes)

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what the book calls it."""
        return (self.setup.name, self.place.scope, self.place.project if self.place.scope == PROJECT else "")


# The plan


def plan_install(setup: Setup, place: Place, book: Book) -> Plan:
    """Return what has to change so that a host calls us; ConfigError if that cannot be done."""
    plan = Plan(setup, place, ())
    old = book.find(*plan.key)
    parts = parts_of(setup, place)
    _refuse_ways_out(parts, place)
    changes = [_change(part, old, book) for part in parts]
    texts = {change.part.path: change.then for change in changes}
    others = _tried(parts[0], lambda: further(setup, place, lambda path: text_of(texts[path] or NOTHING, path)))
    changes += [_change(part, old, book) for part in others]
    return plan.replace(changes=tuple(changes))


def _refuse_ways_out(parts: list[Part], place: Place) -> None:
    """Refuse files of a project that are links out of it: a cloned one could have the person's own files changed by that."""
    top = os.path.realpath(place.project)
    for part in parts:
        real = os.path.realpath(part.path)
        inside = place.scope == PROJECT and part.path.startswith(f"{place.project}/")
        if inside and not real.startswith(f"{top}/"):
            raise ConfigError(f"{part.path} leads out of the project, to {real}. Nothing was written: remove the link")


def plan_removal(setup: Setup, place: Place, book: Book) -> Plan:
    """Return what has to change so that a host does not call us any more."""
    plan = Plan(setup, place, ())
    old = book.find(*plan.key)
    parts = parts_of(setup, place)
    _refuse_ways_out(parts, place)
    if old is None:
        parts += _tried(parts[0], lambda: further(setup, place, _text_at))
    else:
        known = {os.path.realpath(part.path) for part in parts}
        parts += [_part_of(one, setup) for one in old.files if one.path not in known]
        _refuse_ways_out(parts, place)
    return plan.replace(changes=tuple(_restored(part, old, book) for part in parts))


def _text_at(path: str) -> str:
    return text_of(read_file(os.path.realpath(path)) or NOTHING, path)


def _part_of(one: Written, setup: Setup) -> Part:
    """Return a part that is known from the book alone."""
    return Part(one.path, one.shape, setup, dict(one.values) or {"": ""})


def _change(part: Part, old: Installation | None, book: Book) -> Change:
    real = os.path.realpath(part.path)
    now, written = read_file(real), _written(real, old)
    if part.shape == TRUST and written:
        part = part.replace(former={name: one for name, one in written.values if _is_former(name, part)})
    text = text_of(now or NOTHING, real)
    then = _tried(part, lambda: SHAPES[part.shape].put(text, part))
    return Change(part, real, now, then.encode(), _original(part, real, now, old, book))


def _is_former(name: tuple[str, ...], part: Part) -> bool:
    """Whether the trust of an entry is out of date; that of a folder is only taken back with all the rest."""
    return name[: len(STATE)] == STATE and name not in part.wanted


def _original(part: Part, real: str, now: bytes | None, old: Installation | None, book: Book) -> bytes | None:
    """Return the file as it would be without us."""
    if now is None:
        return None
    written = _written(real, old)
    before = book.copy(written.before) if written and written.before else None
    if _is_as_left(now, written, book):
        return before
    text = text_of(now, real)
    if not _tried(part, lambda: SHAPES[part.shape].found(text, part)) or (part.shape in BY_PLACE and not written):
        return now
    return _without(part, now, before, written)


def _restored(part: Part, old: Installation | None, book: Book) -> Change:
    """Return the change back: byte for byte if the file is as it was left, else ours alone goes."""
    real = os.path.realpath(part.path)
    now, written = read_file(real), _written(real, old)
    if now is None:
        return Change(part, real, None, None, None)
    before = book.copy(written.before) if written and written.before else None
    if _is_as_left(now, written, book):
        return Change(part, real, now, before, before)
    then = _without(part, now, before, written)
    return Change(part, real, now, then, then)


def _is_as_left(now: bytes | None, written: Written | None, book: Book) -> bool:
    """Whether a file is as an installation left it, and what it was before can be put back."""
    if written is None or now is None or digest(now) != written.after:
        return False
    return written.before is None or book.copy(written.before) is not None


def _without(part: Part, now: bytes, before: bytes | None, written: Written | None) -> bytes | None:
    text = text_of(now, part.path)
    was = None if written and written.before is None else text_of(before or NOTHING, part.path)
    then = _tried(part, lambda: SHAPES[part.shape].take(text, part, was))
    return None if then is None else then.encode()


def _written(real: str, old: Installation | None) -> Written | None:
    return next((one for one in old.files if one.path == real), None) if old else None


def _tried(part: Part, work: Callable[[], T]) -> T:
    """Do something with a text of a host; ConfigError names file, line, and what to do."""
    try:
        return work()
    except TextFault as error:
        raise ConfigError(
            f"{part.path}, line {error.line}: {error.why}. Nothing was written: mend the file, then do this again"
        ) from None
    except Taken as error:
        raise ConfigError(f"{part.path}: {error}. Nothing was written: move it away, then do this again") from None


def read_file(path: str) -> bytes | None:
    """Read a host's file, None if there is none."""
    if not may_be_there(path):
        return None
    try:
        return read_regular(path, LIMIT)
    except FileError as error:
        raise ConfigError(f"{path} {error}. Nothing was written") from None


def text_of(data: bytes, path: str) -> str:
    """Return bytes as text, a mark at the beginning kept."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line_number}: it is not UTF-8. Nothing was written") from None


# What is done


def apply(plan: Plan, book: Book, *, installed: bool) -> None:
    """Do what a plan says, all of it or nothing, and remember it; ConfigError if a file is not any more as it was planned for."""
    changes = [change for change in plan.changes if change.is_one]
    with book.alone():
        old = book.find(*plan.key)
        whole = [change for change in changes if _is_as_left(change.now, _written(change.path, old), book)]
        for change in changes:
            if read_file(change.path) != change.now:
                raise ConfigError(f"{change.path} was changed meanwhile: nothing was written, do this again")
            _check_writable(change.path)
        folders = tuple(dict.fromkeys((*(old.folders if old else ()), *_missing(changes))))
        with _told_if_not_written(book.path):
            for change in changes:
                if change.now is not None and change not in whole:
                    book.keep(change.now)
            made = _remembered(plan, book, folders) if installed else None
        _write_all(changes, lambda: book.write(plan.key, made) if made or old else None, book.path)
        if not installed:
            _remove_folders(folders)
            book.drop([one.before for change in whole if (one := _written(change.path, old)) and one.before])


@contextlib.contextmanager
def _told_if_not_written(path: str) -> Generator[None, None, None]:
    """Return what could not be written, and that nothing else was."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}. Nothing was changed") from None


def remember(plan: Plan, book: Book) -> None:
    """Take an installation that is there, and that nobody remembers, for ours."""
    with book.alone():
        if book.find(*plan.key) is None:
            book.write(plan.key, _remembered(plan, book, ()))


def forget(plan: Plan, book: Book) -> bool:
    """Forget an installation that somebody took out by hand; say whether there was one."""
    known = book.find(*plan.key) is not None
    if known:
        apply(plan, book, installed=False)
    return known


def _remembered(plan: Plan, book: Book, folders: tuple[str, ...]) -> Installation:
    old = book.find(*plan.key)
    files = [
        Written(
            change.path,
            change.part.shape,
            None if change.original is None else book.keep(change.original),
            digest(change.then or NOTHING),
            _values(change, old),
        )
        for change in plan.changes
    ]
    paths = {one.path for one in files}
    files += [one for one in (old.files if old else ()) if one.shape in BY_PLACE and one.path not in paths]
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    command = line(plan.setup, plan.setup.events[0], plan.place.folders)
    return Installation(*plan.key, __version__, when, command, tuple(files), folders)


def _values(change: Change, old: Installation | None) -> tuple[tuple[tuple[str, ...], object], ...]:
    """Return what is ours by its place, what an earlier installation wrote included."""
    part, written = change.part, _written(change.path, old)
    if part.shape not in BY_PLACE:
        return ()
    earlier = {name: one for name, one in written.values if name not in part.former} if written else {}
    return tuple({**earlier, **part.wanted}.items())


def _missing(changes: list[Change]) -> list[str]:
    """Return the folders that have to be made, the outermost first."""
    found: list[str] = []
    for change in changes:
        at = os.path.dirname(change.path)
        made: list[str] = []
        while change.then is not None and not os.path.isdir(at):
            made.append(at)
            at = os.path.dirname(at)
        found += [folder for folder in reversed(made) if folder not in found]
    return found


def _check_writable(path: str) -> None:
    """Find out before anything is done whether a file can be replaced."""
    at = os.path.dirname(path)
    while not may_be_there(at):
        at = os.path.dirname(at)
    if not os.path.isdir(at):
        raise ConfigError(f"{at} is not a folder: {path} cannot be written. Nothing was written")
    blocked = path if os.path.exists(path) and not os.access(path, os.W_OK) else at
    if not os.access(blocked, os.W_OK):
        raise ConfigError(f"{blocked} is read-only: {path} cannot be written. Nothing was written")


def _write_all(changes: list[Change], remember_it: Callable[[], None], book: str) -> None:
    """Write all files and then the record of them; if one cannot be written, all are again as they were."""
    done: list[Change] = []
    made = _missing(changes)
    modes = {change.path: _mode_of(change.path, change.part.mode) for change in changes}
    at = book
    try:
        for change in changes:
            at = change.path
            _write(change.path, change.then, modes[change.path])
            done.append(change)
        at = book
        remember_it()
    except BaseException as error:
        stuck = [change.path for change in reversed(done) if not _is_undone(change, modes[change.path])]
        _remove_folders(tuple(made))
        if not isinstance(error, OSError):
            raise
        told = f"; {', '.join(stuck)} could not be put back" if stuck else ". Nothing was changed"
        raise ConfigError(f"{at} cannot be written: {error.strerror}{told}") from None


def _is_undone(change: Change, mode: int) -> bool:
    """Put a file back as it was; say whether that went well."""
    try:
        _write(change.path, change.now, mode)
    except OSError:
        return False
    return True


def _mode_of(path: str, otherwise: int) -> int:
    """Return the mode of a file, for one that is not there what the person's umask leaves."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return otherwise & ~mask


def _write(path: str, data: bytes | None, mode: int) -> None:
    """Replace a file by another, or by none, in one step; until it is whole nobody else can read it."""
    if data is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.boathook"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_folders(folders: tuple[str, ...]) -> None:
    """Remove folders that were made for us, if nothing else is in them."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
