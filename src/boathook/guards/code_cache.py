"""Compiled scripts, kept in the user's private cache: compiling the guards of a pack takes longer than asking them."""

# No compiled file beside a script counts, because nobody has reviewed it. What is kept here is found by the hash of the source,
# so a script that changed is compiled again, and it is read only if nobody else can have written it.

from __future__ import annotations

import marshal
import os
import sys

from boathook.core.hashing import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

_MAX_BYTES, _MAX_FILES = 8 << 20, 64
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_REGULAR, _FILE_TYPE, _WRITABLE_BY_OTHERS = 0o100000, 0o170000, 0o022
_VERSION = f"1 {sys.hexversion:x} {sys.implementation.cache_tag}"


class CodeCache:
    """The compiled scripts of one pack; without a folder nothing is kept."""

    def __init__(self, folder: str, pack: str) -> None:
        self._path = f"{folder}/{hexdigest(f'{_VERSION} {pack}'.encode())[:32]}.code" if folder else ""
        self._codes = self._read() if folder else {}
        self._used: dict[str, CodeType] = {}
        self._sources: dict[str, bytes] = {}

    def compile(self, path: str) -> CodeType | Exception:
        """Return the code of a script, or why there is none."""
        try:
            source = self.read_source(path)
            key = hexdigest(f"{path}\0".encode("utf-8", "surrogateescape") + source)
            code = self._codes.get(key)
            if code is None:
                code = compile(source, path, "exec", dont_inherit=True)
        except Exception as error:  # noqa: BLE001  (the script reports it when it runs)
            return error
        self._used[key] = code
        return code

    def read_source(self, path: str) -> bytes:
        """Return the text of a script, read once: what is compiled is what others have looked at."""
        source = self._sources.get(path)
        if source is None:
            with open(path, "rb") as file:
                source = self._sources[path] = file.read()
        return source

    def save(self) -> None:
        """Keep what was compiled, completely or not at all."""
        if not self._path or self._used.keys() <= self._codes.keys():
            return
        temporary = f"{self._path}.{os.getpid()}.new"
        try:
            folder = os.path.dirname(self._path)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _remove_oldest(folder)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with open(handle, "wb") as file:
                file.write(marshal.dumps({**self._codes, **self._used}))
            os.replace(temporary, self._path)
        except (OSError, ValueError):
            return

    def _read(self) -> dict[str, CodeType]:
        try:
            handle = os.open(self._path, _FLAGS)
        except OSError:
            return {}
        try:
            found = os.fstat(handle)
            is_private = found.st_uid == os.getuid() and not found.st_mode & _WRITABLE_BY_OTHERS
            if found.st_mode & _FILE_TYPE != _REGULAR or not is_private or found.st_size > _MAX_BYTES:
                return {}
            codes = marshal.loads(os.read(handle, found.st_size))
            return codes if isinstance(codes, dict) else {}
        except (OSError, ValueError, EOFError, TypeError):
            return {}
        finally:
            os.close(handle)


def _remove_oldest(folder: str) -> None:
    """Keep the files of few packs: private copies of changed hooks have other paths each time."""
    with os.scandir(folder) as entries:
        files = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime)
    for entry in files[: max(len(files) - _MAX_FILES, 0)]:
        os.unlink(entry.path)
