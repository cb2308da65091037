"""Run the scripts of hooks with `process: shared`: one interpreter starts, and the scripts run in forks of it.

So the start and the imports are paid once, and what a script does to its memory, environment, streams or process no other one
sees. See docs/adr/0032-shared-process.md.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports]
import gc
import os
import sys

from boathook.core.json_text import loads
from boathook.guards.code_cache import CodeCache
from boathook.guards.known_scripts import NAME_VARIABLE, find_known_scripts
from boathook.guards.run_guard import prepare_call
from boathook.guards.script_run import end_process, run_script
from boathook.guards.shared_modules import SharedModules, find_module_file, is_known_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.guards.script_forks import SharedHook

_SIGTERM = 15
_PLAIN_MODE = "plain"


def run_alone(cache: str, script: str, shared_code: str, *, only_known: bool = False) -> None:
    """Run one script in this process: what a hook does that shares its process with no other.

    `only_known`: a script that is not boathook's own gets an interpreter of its own.
    """
    compiled = CodeCache(cache, shared_code or script)
    if only_known:
        names = {script: os.environ.get(NAME_VARIABLE, "")}
        _use_preloaded(names, find_known_scripts(names, shared_code, compiled), shared_code)
    _prepare_interpreter(compiled, shared_code)
    code = run_script(script, compiled.compile(script))
    compiled.save()
    end_process(code)


def run_shared(cache: str, mode: str = "", *, only_known: bool = False) -> None:
    """Run the scripts that the first line of standard input names, one after another, until one blocks; events follow it.

    `only_known`: scripts that are not all boathook's own get an interpreter of their own.
    """
    from boathook.guards.script_forks import ScriptForks, SharedInput, ends_round, read_bytes, write_bytes

    hooks, events = _read_head(read_bytes(0))
    is_ending: list[int] = []
    # The engine ends the process because a script is late: that one may still answer by its exit code.
    _signal.signal(_SIGTERM, lambda *_: is_ending.append(1))
    shared_code = hooks[0][1]
    compiled = CodeCache(cache, shared_code)
    names = {script: variables.get(NAME_VARIABLE, "") for script, _, _, variables, _ in hooks}
    known = find_known_scripts(names, shared_code, compiled)
    if only_known:
        _use_preloaded(names, known, shared_code)
    _prepare_interpreter(compiled, shared_code)
    codes = {hook[0]: compiled.compile(hook[0]) for hook in hooks}
    own_names = _import_for(
        [compiled.read_source(path) for path, code in codes.items() if not isinstance(code, OSError)]
    )
    if mode != _PLAIN_MODE and own_names and not _import_shared_code(own_names):
        _start_again(_PLAIN_MODE)
    for event in events:
        prepare_call(event)
    report = os.dup(1)
    forks = ScriptForks(codes, [SharedInput(event) for event in events], report, known, is_ending)
    # A collection would write to every page that the forks share with this process.
    gc.freeze()
    for hook, frame in forks.run(hooks):
        write_bytes(report, frame.replace(is_late=bool(is_ending)).to_bytes())
        if is_ending or ends_round(frame, blocks_on_failure=hook[2]):
            break
    compiled.save()
    os._exit(0)


def _read_head(data: bytes) -> tuple[list[SharedHook], list[bytes]]:
    line, _, rest = data.partition(b"\n")
    head = loads(line.decode())
    events: list[bytes] = []
    for size in head["sizes"]:
        events.append(rest[:size])
        rest = rest[size:]
    return [tuple(one) for one in head["hooks"]], events


def _prepare_interpreter(compiled: CodeCache, shared_code: str) -> None:
    sys.dont_write_bytecode = True
    if shared_code:
        finder: Any = SharedModules(compiled, shared_code)
        sys.meta_path.insert(0, finder)


def _import_for(sources: list[bytes]) -> list[str]:
    """Import once what scripts name of the standard library and of boathook; return the other names."""
    names: dict[str, None] = {}
    for source in sources:
        lines = [line.split() for line in source.split(b"\n") if line.startswith((b"import ", b"from "))]
        names |= dict.fromkeys(words[1].decode("ascii", "replace").strip(",") for words in lines if len(words) > 1)
    for name in names:
        if is_known_module(name.partition(".")[0]):
            try:
                __import__(name)
            except Exception:  # noqa: BLE001, S112  (the script reports it)
                continue
    return [name for name in names if not is_known_module(name.partition(".")[0])]


def _import_shared_code(names: list[str]) -> bool:
    """Import the modules of `lib` once for all scripts; return False if one of them did more than to define things.

    Then every script must import them for itself, because each would have seen what they print, raise or change.
    """
    from boathook.guards.script_forks import open_memory_file

    files = [open_memory_file(b"") for _ in "oe"]
    kept = [os.dup(number) for number in (1, 2)]
    before = _describe_interpreter()
    for handle, number in zip(files, (1, 2), strict=True):
        os.dup2(handle, number)
    try:
        for name in names:
            if find_module_file(name):
                __import__(name)
        sys.stdout.flush()
        is_quiet = _describe_interpreter() == before and not any(os.fstat(handle).st_size for handle in files)
    except BaseException:  # noqa: BLE001  (a script that needs it meets the error itself)
        is_quiet = False
    for handle, number in zip(kept, (1, 2), strict=True):
        os.dup2(handle, number)
    for handle in (*files, *kept):
        os.close(handle)
    return is_quiet


def _describe_interpreter() -> tuple[object, ...]:
    """Return what a module could change for others besides itself."""
    threads = sys.modules["threading"].active_count() if "threading" in sys.modules else 1
    return dict(os.environ), os.getcwd(), list(sys.path), list(sys.meta_path), sys.stdout, sys.stderr, threads


def _use_preloaded(names: Mapping[str, str], known: frozenset[str], shared_code: str) -> None:
    """Take the code that scripts share from memory, if they are all boathook's own; if not, start as a new interpreter."""
    from boathook.guards.preloaded_code import use_preloaded_code

    if names.keys() - known or not use_preloaded_code(next(iter(names.values())), shared_code):
        _start_again()


def _start_again(*mode: str) -> None:
    """Replace this process by the one that was to be started; in plain mode it imports nothing of the scripts."""
    os.lseek(0, 0, os.SEEK_SET)
    os.execv(sys.orig_argv[0], [*sys.orig_argv, *mode])
