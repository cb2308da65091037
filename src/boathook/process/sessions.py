"""What is kept for a session: variables that early hooks export for later ones, refused stops, and what was said once."""

from __future__ import annotations

import os
import stat
import time

from boathook.system.files import FileError, read_text, write_private

MAX_EXPORTS_BYTES = 64 * 1024
_TRUSTED_KIND = "trusted-"
_UNANSWERED_KIND = "unanswered"
# How long a refusal that was not reported waits for its session to go on, and how long a session that does not end is known.
_REFUSAL_SECONDS = 7 * 24 * 3600


class Sessions:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def make_env_file(self, session: str) -> str | None:
        path = self._find_path(session)
        if path is None:
            return None
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            mode = os.lstat(path).st_mode if os.path.lexists(path) else stat.S_IFREG
            if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                # a hook replaced it, for example by a FIFO that we would wait for
                os.unlink(path)
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            os.close(os.open(path, flags, 0o600))
        except OSError:
            return None
        return path

    def load_variables(self, session: str) -> dict[bytes, bytes]:
        text = self.read_exports_text(session)
        if not text:
            return {}
        from boathook.core.shell_exports import read_exports

        environment = {_decode(key): _decode(value) for key, value in os.environb.items()}
        exports, _ = read_exports(text, environment)
        variables = {name: value for name, value in exports.items() if not name.startswith("BOATHOOK_")}
        return {name.encode(): value.encode("utf-8", "surrogateescape") for name, value in variables.items()}

    def read_exports_text(self, session: str) -> str:
        """Return what hooks of a session have written to its file so far, as they wrote it."""
        path = self._find_path(session)
        if path is None or not os.path.exists(path):
            return ""
        try:
            return read_text(path, MAX_EXPORTS_BYTES)
        except FileError:
            return ""

    def stop_blocks(self, session: str) -> int:
        path = self._find_path(session, "stops")
        try:
            text = read_text(path, 16) if path is not None else ""
        except FileError:
            return 0
        return int(text) if text.isascii() and text.isdigit() else 0

    def count_stop(self, session: str, *, blocked: bool) -> bool:
        """Count a stop, or start anew; return False if that cannot be kept, so that nothing would end the refusals."""
        path = self._find_path(session, "stops")
        if path is None or (not blocked and not os.path.exists(path)):
            return True
        try:
            if blocked:
                write_private(path, str(self.stop_blocks(session) + 1).encode())
            else:
                os.unlink(path)
        except OSError:
            return False
        return True

    def note_subagent(self, session: str, agent_type: str, text: str) -> None:
        """Remember that hooks were asked about a subagent that is about to start, and a text for its own event."""
        text = f"{_join_words(agent_type)}\n{text}"
        path = self._find_path(session, "subagent") if session else None
        if path is None:
            return
        try:
            write_private(f"{path}.{time.time_ns()}-{os.getpid()}", text.encode("utf-8", "backslashreplace"))
        except OSError:
            # Its own event comes, and asks the hooks again.
            return

    def take_subagent(self, session: str, agent_type: str) -> str | None:
        """Return the oldest text that was remembered for this type of subagent, once; None if there is none."""
        # Of a subagent whose type is not known, only the number counts.
        wanted = _join_words(agent_type)
        for path in self._list_subagents(session):
            try:
                found, _, text = read_text(path, MAX_EXPORTS_BYTES).partition("\n")
                if found and wanted and found != wanted:
                    continue
                os.unlink(path)
            except (FileError, OSError):
                continue
            return text
        return None

    def _list_subagents(self, session: str) -> list[str]:
        return self._list_session_files(session, "subagent.")

    def _list_session_files(self, session: str, kind: str) -> list[str]:
        """Return the files of a session whose kinds begin so."""
        start = self._find_path(session, kind) if session else None
        names = [path for path in self._list_files() if start is not None and path.startswith(start)]
        return [name for name in names if not name.endswith(".new")]

    def _list_files(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        return [f"{self._folder}/{name}" for name in names]

    def load_reported(self, session: str) -> frozenset[str]:
        """Return the names of what was reported in a session already. A session without a name is always new."""
        path = self._find_path(session, "reported") if session else None
        try:
            return frozenset(read_text(path, MAX_EXPORTS_BYTES).split()) if path is not None else frozenset()
        except FileError:
            return frozenset()

    def note_reported(self, session: str, names: frozenset[str]) -> None:
        self._write(session, "reported", " ".join(sorted(self.load_reported(session) | names)))

    def has_trusted_note(self, session: str, digest: str) -> bool:
        path = self._find_path(session, _TRUSTED_KIND + digest) if session else None
        return path is not None and os.path.exists(path)

    def note_trusted_hooks(self, session: str, digest: str, keys: tuple[str, ...]) -> None:
        """Remember which trusted hooks a session has; `digest` identifies this set of them, also for the fast path."""
        self._write(session, _TRUSTED_KIND + digest, "\n".join(keys))
        self._remove_old(f".{_TRUSTED_KIND}")

    def read_trusted_keys(self, session: str) -> frozenset[str]:
        """Return the keys of all trusted hooks that a session has or had."""
        keys: set[str] = set()
        for path in self._list_session_files(session, _TRUSTED_KIND):
            try:
                keys |= set(read_text(path).split())
            except FileError:
                continue
        return frozenset(keys)

    def read_gone(self, session: str) -> frozenset[str]:
        """Return the keys of the trusted hooks that were reported in a session as not in the checkout."""
        path = self._find_path(session, "gone") if session else None
        try:
            return frozenset(read_text(path).split()) if path is not None else frozenset()
        except FileError:
            return frozenset()

    def note_gone(self, session: str, keys: frozenset[str]) -> None:
        self._write(session, "gone", "\n".join(sorted(self.read_gone(session) | keys)))

    def count_failures(self, session: str, new: int) -> int:
        """Add to the failures that were not yet reported to the model of a session, and return how many there are."""
        path = self._find_path(session, "failing") if session else None
        try:
            text = read_text(path, 16) if path is not None else ""
        except FileError:
            text = ""
        count = new + (int(text) if text.isascii() and text.isdigit() else 0)
        if new:
            self._write(session, "failing", str(count))
        return count

    def forget_failures(self, session: str) -> None:
        self._remove(session, "failing")

    def note_refusal(self, session: str, text: str) -> None:
        """Remember why a call was refused, for the model of a session that goes on after the host ended its task."""
        self._write(session, "refused", text)
        self._remove_old(".refused")

    def note_unanswered(self, session: str) -> None:
        """Remember that no person answered a question of a session."""
        self._write(session, _UNANSWERED_KIND, "1")
        self._remove_old(f".{_UNANSWERED_KIND}")

    def is_unanswered(self, session: str) -> bool:
        path = self._find_path(session, _UNANSWERED_KIND) if session else None
        return path is not None and os.path.exists(path)

    def forget_unanswered(self, session: str) -> None:
        self._remove(session, _UNANSWERED_KIND)

    def _remove_old(self, kind: str) -> None:
        oldest = time.time() - _REFUSAL_SECONDS
        for path in self._list_files():
            try:
                if kind in os.path.basename(path) and os.lstat(path).st_mtime < oldest:
                    os.unlink(path)
            except OSError:
                continue

    def take_refusal(self, session: str) -> str:
        """Return the last refusal that was remembered, once; "" if there is none."""
        path = self._find_path(session, "refused") if session else None
        try:
            text = read_text(path, MAX_EXPORTS_BYTES) if path is not None and os.path.exists(path) else ""
        except FileError:
            text = ""
        if path is not None:
            self._remove(session, "refused")
        return text

    def _write(self, session: str, kind: str, text: str) -> None:
        path = self._find_path(session, kind) if session else None
        try:
            if path is not None:
                write_private(path, text.encode("utf-8", "backslashreplace"))
        except OSError:
            # It is said once more.
            return

    def forget(self, session: str) -> None:
        # A refusal stays: Cline reports the end of a session when it ends a task, and the person can still go on with it. So do the
        # notes about trusted hooks: a guard that is removed is missed even if somebody sends a false end of the session.
        for mark in self._list_subagents(session):
            try:
                os.unlink(mark)
            except OSError:
                continue
        for kind in ("env", "stops", "reported", "failing", "gone", _UNANSWERED_KIND):
            self._remove(session, kind)

    def _remove(self, session: str, kind: str) -> None:
        path = self._find_path(session, kind)
        try:
            if path is not None:
                os.unlink(path)
        except OSError:
            return

    def _find_path(self, session: str, kind: str = "env") -> str | None:
        """Return the file of a session. One without a name has counts, but no variables: others must not get those."""
        if not session and kind == "env":
            return None
        name = "".join(c if c.isalnum() or c in "-_" else f"%{ord(c):02x}" for c in session) or "%"
        if not name.isascii() or len(name) > 128:
            import hashlib

            name = "%" + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
        return f"{self._folder}/{name}.{kind}"


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _join_words(text: str) -> str:
    return " ".join(text.split())
