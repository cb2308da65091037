"""Questions that live processes wait for, and answers to them: for `boathook asks` and for the page.

`list_waiting(state)` returns all of them, the oldest first, `read_waiting(state, id)` one by its whole id. `send_answer(state,
waiting, answer)` passes a person's answer to the process that waits, and returns what that process said about it. Nothing here
authorises anything: only the process that waits can take an answer, and it looks at who sends it.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import time
from contextlib import suppress
from itertools import islice

from boathook.core.json_text import JsonError, decode, dump_line, dumps, loads
from boathook.core.text import clean_text, reveal_text
from boathook.core.value import Value
from boathook.core.verdict import KILLED
from boathook.core.waiting_question import MAX_ANSWER_BYTES, PersonAnswer, WaitingQuestion
from boathook.ledger.record import make_answered_record
from boathook.ledger.redact import redact
from boathook.ledger.writer import Ledger, make_local_record
from boathook.permits.ask_folder import ASK_FOLDER, list_ask_files, open_ask_folder
from boathook.permits.askpass import ASKPASS_SECONDS
from boathook.permits.call_permits import MAX_QUESTION_BYTES
from boathook.system.files import FileError, is_private, read_regular, write_private
from boathook.system.process_facts import is_process_alive

FILE_ENDING, SOCKET_ENDING = ".json", ".sock"
ID_CHARS = 32
# How long the process that waits may take to look at an answer: a program may ask the person.
ANSWER_CHECK_SECONDS = ASKPASS_SECONDS + 15
_CONNECT_SECONDS, _PLACE_SECONDS = 1.0, 10
_HEX_DIGITS = frozenset("0123456789abcdef")
_MAX_DEPTH = 1024
_MAX_TEXT_CHARS = 200
_MAX_SEARCHED_CHARS = 1 << 14
# How late the process that waits may be to remove its question.
_LATE_SECONDS = 10.0
# So many files of questions are more than can be waited for.
_MANY_FILES = 64
# A file that is being written, or that cannot be read, is left alone for this long.
_UNREADABLE_SECONDS = 3600.0


class AnswerResult(Value):
    """Whether the process that waits took an answer, and why not."""

    is_taken: bool
    reason: str = ""


def make_ask_id() -> str:
    return os.urandom(ID_CHARS // 2).hex()


def describe_waiting_call(waiting: WaitingQuestion) -> str:
    """Return one line about the call of a question, without secrets."""
    question, shown = waiting.question, dumps(waiting.question.tool_input)[:_MAX_SEARCHED_CHARS]
    return reveal_text(clean_text(f"{question.host_tool or question.tool} {redact(shown)}", _MAX_TEXT_CHARS))


def write_waiting(state: str, waiting: WaitingQuestion) -> None:
    """Write the file of a question; OSError if it cannot be written, or if it is too long to be reviewed."""
    data = dump_line(waiting.to_json())
    if len(data) > MAX_QUESTION_BYTES * 2:
        raise OSError("the call is too long to be reviewed")
    os.close(open_ask_folder(state))
    write_private(f"{state}/{ASK_FOLDER}/{waiting.id}{FILE_ENDING}", data)


def remove_waiting(state: str, ask_id: str) -> None:
    """Remove a question; its file last, because that says whose the socket is."""
    for ending in (SOCKET_ENDING, FILE_ENDING):
        with suppress(OSError):
            os.unlink(f"{state}/{ASK_FOLDER}/{ask_id}{ending}")


def list_waiting(state: str) -> list[WaitingQuestion]:
    """Return the questions that live processes wait for, the oldest first; what killed ones left behind is removed."""
    found = [read_waiting(state, name.removesuffix(FILE_ENDING)) for name in list_ask_files(state, FILE_ENDING)]
    _remove_leftovers(state)
    return sorted((one for one in found if one is not None), key=lambda one: (one.question.time, one.id))


def count_waiting(state: str, limit: int) -> int:
    """Return how many processes wait for an answer, up to a limit.

    What killed ones left stays, because to remove it takes time. If there is much of it, to read it takes longer.
    """
    names = list_ask_files(state, FILE_ENDING)
    if len(names) > _MANY_FILES:
        return min(limit, len(list_waiting(state)))
    found = (_load_waiting(state, name.removesuffix(FILE_ENDING)) for name in names)
    return sum(1 for _ in islice((one for one in found if one is not None and _is_waited_for(one)), limit))


def read_waiting(state: str, ask_id: str) -> WaitingQuestion | None:
    """Return a question by its whole id, None if no live process waits for an answer to it any more."""
    waiting = _load_waiting(state, ask_id)
    if waiting is None:
        return None
    if not _is_waited_for(waiting):
        # In a container that shares the folder, a process has another number.
        if not _is_listened_to(state, ask_id):
            _close_killed(state, waiting)
        return None
    # A time far in the future is one that no process of ours writes, and such a question would stay for ever.
    is_current = waiting.question.time - _UNREADABLE_SECONDS < time.time() <= waiting.deadline + _LATE_SECONDS
    if not _is_own_process(waiting.pid) or not is_current:
        remove_waiting(state, ask_id)
        return None
    return waiting


def _is_waited_for(waiting: WaitingQuestion) -> bool:
    return is_process_alive(waiting.pid, waiting.start)


def _load_waiting(state: str, ask_id: str) -> WaitingQuestion | None:
    """Return the question of a private file; None if there is none, or another."""
    if len(ask_id) != ID_CHARS or not _HEX_DIGITS.issuperset(ask_id):
        return None
    path = f"{state}/{ASK_FOLDER}/{ask_id}{FILE_ENDING}"
    try:
        if not is_private(os.lstat(os.path.dirname(path)), stat.S_IFDIR) or not is_private(
            os.lstat(path), stat.S_IFREG
        ):
            return None
        waiting = WaitingQuestion.parse(loads(decode(read_regular(path, MAX_QUESTION_BYTES * 2)), _MAX_DEPTH))
    except (OSError, FileError, JsonError, TypeError, ValueError):
        return None
    return waiting if waiting.id == ask_id else None


def _is_listened_to(state: str, ask_id: str) -> bool:
    """Whether any process listens at the socket of a question."""
    folder = open_ask_folder(state)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as connection:
            error = connection.connect_ex(f"/proc/self/fd/{folder}/{ask_id}{SOCKET_ENDING}")
    finally:
        os.close(folder)
    return error not in (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTSOCK)


def _is_own_process(pid: int) -> bool:
    """Whether a process is one of this user, and not the first of the system."""
    try:
        return pid > 1 and os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _close_killed(state: str, waiting: WaitingQuestion) -> None:
    """Remove the question of a process that was killed, and record that; of several that look, one does."""
    try:
        os.unlink(f"{state}/{ASK_FOLDER}/{waiting.id}{FILE_ENDING}")
    except OSError:
        return
    remove_waiting(state, waiting.id)
    about = waiting.question, max(0.0, time.time() - waiting.question.time), ()
    record = make_local_record(state, make_answered_record, *about, result=KILLED, via="")
    Ledger(state).append(record, sync=True)


def _remove_leftovers(state: str) -> None:
    """Remove files that a killed process has not finished, and sockets whose question is gone."""
    names = list_ask_files(state, "")
    questions = {name.removesuffix(FILE_ENDING) for name in names if name.endswith(FILE_ENDING)}
    for name in names:
        path = f"{state}/{ASK_FOLDER}/{name}"
        is_lone_socket = name.endswith(SOCKET_ENDING) and name.removesuffix(SOCKET_ENDING) not in questions
        if is_lone_socket or name.endswith((FILE_ENDING, ".new")):
            with suppress(OSError):
                # A time in the future is one that no process of ours writes.
                if abs(time.time() - os.lstat(path).st_mtime) > _UNREADABLE_SECONDS:
                    os.unlink(path)


def send_answer(state: str, waiting: WaitingQuestion, answer: PersonAnswer) -> AnswerResult:
    """Pass a person's answer to the process that waits, and return what it said; one that has ended took nothing."""
    try:
        with _connect(state, waiting) as connection:
            connection.settimeout(ANSWER_CHECK_SECONDS)
            # A process that may not answer is refused before it has sent anything.
            with suppress(BrokenPipeError):
                connection.sendall(dump_line(answer.to_dict()))
            return _read_result(connection)
    except (OSError, JsonError, TypeError, ValueError):
        return AnswerResult(is_taken=False, reason="the call does not wait for an answer any more")


def _connect(state: str, waiting: WaitingQuestion) -> socket.socket:
    """Return a connection to the process that waits; OSError if it has ended."""
    folder, end = open_ask_folder(state), time.monotonic() + _CONNECT_SECONDS
    try:
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            # If that process is stopped, and others have taken all places, a place would never come. The system lets this process
            # wait for one, which a timeout of Python's would not do: in a crowd it would never get one.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _PLACE_SECONDS, 0))
            try:
                # Through a handle, because the path of a socket may not be long.
                connection.connect(f"/proc/self/fd/{folder}/{waiting.id}{SOCKET_ENDING}")
            except OSError:
                connection.close()
                # Its file is there a moment before it listens.
                if time.monotonic() > end or not is_process_alive(waiting.pid, waiting.start):
                    raise
                time.sleep(0.02)
                continue
            return connection
    finally:
        os.close(folder)


def _read_result(connection: socket.socket) -> AnswerResult:
    data = b""
    while not data.endswith(b"\n") and len(data) < MAX_ANSWER_BYTES:
        part = connection.recv(MAX_ANSWER_BYTES)
        if not part:
            raise OSError("no result")
        data += part
    fields = loads(decode(data))
    is_taken, reason = fields["is_taken"], fields["reason"]
    if not isinstance(is_taken, bool) or not isinstance(reason, str):
        raise TypeError("another type")
    return AnswerResult(is_taken, reason)
