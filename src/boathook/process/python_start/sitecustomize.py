"""Python runs this file at the start of every interpreter of a hook: it makes PYTHONSAFEPATH fit for hooks."""

# PYTHONSAFEPATH keeps `python -c`, `-m` and `-` from importing modules of the folder they run in, which is the project: its
# `json.py` would run within a guard. It also hides the folder of a script from that script, so that its helpers are not found:
# that folder comes back here. Pythons before 3.11 do not know the variable: they get the same rule from here. Any version may
# read this file (tried with 2.7 and 3.6 to 3.13), hence the plain syntax.

import os
import sys

_OUR_FOLDER = os.path.dirname(os.path.abspath(__file__))
# What `sys.argv` begins with if no script is run.
_NO_SCRIPT = ("", "-", "-c", "-m")
_KNOWS_SAFE_PATH = sys.version_info >= (3, 11)
_ZIP_END = b"PK\5\6"
_ZIP_END_BYTES = 22


def add_script_folder(script):
    # type: (str) -> None
    path = os.path.realpath(script)
    if os.path.isfile(path) and not _is_zip(path) and not _is_safe_by_option():
        sys.path.insert(0, os.path.dirname(path))


def _is_zip(path):
    # type: (str) -> bool
    """Whether a script is an archive: it is its own folder of modules, which Python never hides."""
    try:
        with open(path, "rb") as file:
            file.seek(-_ZIP_END_BYTES, os.SEEK_END)
            return file.read(len(_ZIP_END)) == _ZIP_END
    except (OSError, ValueError):
        return False


def _is_safe_by_option():
    # type: () -> bool
    """Whether `python -P` was written, which asks for a script without its folder."""
    words = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    return any(word[:1] == "-" and word[1:2] not in ("-", "W", "X") and "P" in word for word in words)


class WorkDirRemover(object):  # noqa: UP004
    """Takes the work dir from the front of `sys.path` before the first import after Python has put it there."""

    def __init__(self):
        # type: () -> None
        self.first = sys.path[:1]

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        # type: (str, object, object) -> None
        self._remove_work_dir()

    def find_module(self, name, path=None):  # noqa: ARG002
        # type: (str, object) -> None
        self._remove_work_dir()

    def _remove_work_dir(self):
        # type: () -> None
        script = getattr(sys, "argv", None)
        if not script:
            return
        is_added = sys.path[1:2] == self.first and sys.path[0] in ("", os.getcwd())
        if script[0] in _NO_SCRIPT and is_added:
            del sys.path[0]
        if script[0] not in _NO_SCRIPT or is_added:
            sys.meta_path.remove(self)


def run_next_sitecustomize():
    # type: () -> None
    """Run the file of this name that Python would have run without ours."""
    ours = sys.modules.pop(__name__)
    # Python 2 would empty a module that nothing holds.
    sys.modules["boathook_python_start"] = ours
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        # Python 2 has only the text.
        error = sys.exc_info()[1]
        if getattr(error, "name", str(error).rpartition(" ")[2]) != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, ours)


if __name__ == "sitecustomize":
    sys.path[:] = [path for path in sys.path if path != _OUR_FOLDER]
    if os.environ.get("PYTHONSAFEPATH"):
        if not _KNOWS_SAFE_PATH:
            sys.meta_path.insert(0, WorkDirRemover())
        elif sys.flags.safe_path and sys.argv and sys.argv[0] not in _NO_SCRIPT:
            add_script_folder(sys.argv[0])
    run_next_sitecustomize()
