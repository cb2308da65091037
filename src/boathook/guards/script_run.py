"""Run the script of a hook as the main program, and end the process as the interpreter would."""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType
    from typing import Any


def run_script(path: str, code: CodeType | Exception) -> int:
    """Run a script as the main program and return its exit code, as the interpreter would."""
    module: ModuleType = type(sys)("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"], sys.argv = module, [path]
    sys.path.insert(0, path.rpartition("/")[0])
    try:
        if isinstance(code, Exception):
            raise code
        exec(code, module.__dict__)  # noqa: S102  (this is what the hook is)
    except SystemExit as error:
        return _read_exit_code(error.code)
    except BaseException as error:  # noqa: BLE001
        # What is printed is the traceback of the exception, whatever the hook is given.
        error = error.with_traceback(_skip_own_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _read_exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _skip_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def end_process(code: int, status: int = -1) -> None:
    """End this process as the interpreter would: wait for threads, call exit functions, write what is left.

    `status` is where a fork says its exit code: the system needs longer to end it than most scripts need to decide.
    """
    try:
        if "threading" in sys.modules:
            shut_down: Any = getattr(sys.modules["threading"], "_shutdown")  # noqa: B009
            shut_down()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001
        code = code or 120
    try:
        sys.stderr.flush()
        if status >= 0:
            os.write(status, bytes((code,)))
            os.close(1)
            os.close(2)
    finally:
        os._exit(code)
