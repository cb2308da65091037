"""Variables that a session's first hooks leave for its later ones, through the file named by CLAUDE_ENV_FILE."""

from __future__ import annotations

import os

from boathook.files import FileFault, read_text

LIMIT = 64 * 1024


class Sessions:
    """One small file per session below a folder."""

    def __init__(self, folder: str) -> None:
        """Take the folder; it is made when needed."""
        self._folder = folder

    def env_file(self, session: str) -> str | None:
        """Make the file of a session and give its path; None if there is no session or no room."""
        path = self._path(session)
        if path is None:
            return None
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except OSError:
            return None
        return path

    def exports(self, session: str) -> dict[bytes, bytes]:
        """Give the variables that a session's hooks exported."""
        path = self._path(session)
        if path is None or not os.path.exists(path):
            return {}
        try:
            text = read_text(path, LIMIT)
        except FileFault:
            return {}
        found: dict[bytes, bytes] = {}
        for line in text.splitlines():
            pair = _exported(line)
            if pair:
                found[pair[0].encode()] = pair[1].encode("utf-8", "surrogateescape")
        return found

    def forget(self, session: str) -> None:
        """Remove the file of a session that ended."""
        path = self._path(session)
        if path is not None:
            try:
                os.unlink(path)
            except OSError:
                return

    def _path(self, session: str) -> str | None:
        if not session or not session.isascii() or len(session) > 128:
            return None
        name = "".join(c if c.isalnum() or c in "-_" else f"%{ord(c):02x}" for c in session)
        return f"{self._folder}/{name}.env"


def _exported(line: str) -> tuple[str, str] | None:
    """Read `export NAME=value` or `NAME=value`, quoted as a shell would; None for any other line."""
    import shlex

    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    if words[:1] == ["export"]:
        words = words[1:]
    if len(words) != 1 or "=" not in words[0]:
        return None
    name, _, value = words[0].partition("=")
    return (name, value) if name.isidentifier() and name.isascii() and not name.startswith("BOATHOOK_") else None
