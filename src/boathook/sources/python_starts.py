"""Python in shell lines: with `-c`, `-m` or `-` it looks for modules in the folder it runs in, which is the project."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from boathook.core.hook import HOOK_MD, PROJECT_IMPORTS, Hook
from boathook.core.shell import ShellReader, ShellWord
from boathook.core.value import Value
from boathook.sources.shell_scripts import find_python_run, remove_keywords, remove_prefix

_MAX_STARTS = 50
_MAX_CODE_CHARS = 1 << 14
_IMPORT = re.compile(r"(?:^|[;\n:])\s*(?:import\s+([\w., \t]+)|from\s+([\w.]+)\s+import)")
_MODULE = re.compile(r"[A-Za-z_]\w*")


class PythonStart(Value):
    """A place where Python is started without a script; `modules` are those that its code plainly imports."""

    line: int
    words: str
    modules: tuple[str, ...] = ()


def find_python_starts(text: str) -> list[PythonStart]:
    """Return where shell text starts Python so that it looks for modules in the work dir."""
    starts: list[PythonStart] = []
    if "py" not in text:
        return starts
    for command in ShellReader(text).read_all():
        python = find_python_run(command, remove_prefix(remove_keywords(command.words)))
        if python is not None and not python.is_safe and len(starts) < _MAX_STARTS:
            modules = tuple(dict.fromkeys(_find_modules(python.option[-1], python.value[:_MAX_CODE_CHARS])))
            starts.append(PythonStart(_find_line(text, python.program), python.words, modules))
    return starts


def _find_line(text: str, word: ShellWord) -> int:
    # The place of a word in backticks is the one within them.
    is_place = text.startswith(word.raw, word.start)
    return text.count("\n", 0, word.start if is_place else text.find(f"{word.raw} ")) + 1


def _find_modules(mode: str, value: str) -> Iterator[str]:
    if mode == "m":
        if module := _MODULE.match(value):
            yield module[0]
        return
    for names, name in _IMPORT.findall(value):
        yield from (word.strip().split()[0].partition(".")[0] for word in (names or name).split(",") if word.strip())


def describe_python_starts(hook: Hook, text: str, project: str) -> Iterator[tuple[int, str, str]]:
    """Yield a line, a warning and a fix for every start of Python that may get modules of the project, or misses them."""
    if hook.imports == PROJECT_IMPORTS:
        return
    for start in find_python_starts(text):
        missed = next((name for name in start.modules if project and _is_module_in(project, name)), "")
        if missed:
            message = f"'{start.words}' imports '{missed}' from the project, which hooks cannot do by default"
            where = "in HOOK.md" if hook.source == HOOK_MD else "under [[hooks.override]] in your hooks.toml"
            yield start.line, message, f"imports: project ({where})"
            continue
        message = (
            f"'{start.words}' looks for modules in the project first, so that a json.py there would run in this hook;"
            " boathook prevents it with PYTHONSAFEPATH, other callers do not"
        )
        yield start.line, message, f"{start.words.partition(' ')[0]} -I {start.words.partition(' ')[2]}"


def _is_module_in(project: str, name: str) -> bool:
    if name in sys.stdlib_module_names:
        return False
    files = (f"{name}.py", f"{name}/__init__.py", f"{name}/__main__.py")
    return any(os.path.isfile(f"{project}/{file}") for file in files)
