"""Python in shell lines: with `-c`, `-m` or `-` it looks for modules in the folder it runs in, which is the project."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from boathook.core.hook import HOOK_MD, PROJECT_IMPORTS, Hook
from boathook.core.value import Value

_MAX_STARTS = 50
_MAX_CODE_CHARS = 1 << 14
# Only where a command can begin: the start of a line, an operator, a bracket, or a word that a command follows.
_START = re.compile(
    r"(?m)(?:^|[|;&(`!]|\b(?:then|do|else|elif|if|while|until|exec|command|time)[ \t])[ \t]*"
    r"(?:\w+=[^\s'\"]*[ \t]+)*(?:[^\s'\"|;&()<>]*/)?"
    r"(?P<program>python[\d.]*)(?P<options>(?:[ \t]+-[A-Za-z]+)*?)[ \t]+"
    r"(?P<mode>-[A-Za-z]*[cm](?=[\s'\"])|-(?=[\s<|;&)]|$)|(?=<<))"
)
_IS_SAFE = re.compile(r"-[A-Za-z]*[IP][A-Za-z]*")
_IMPORT = re.compile(r"(?:^|[;\n:])\s*(?:import\s+([\w., \t]+)|from\s+([\w.]+)\s+import)")
_MODULE = re.compile(r"\s*([A-Za-z_]\w*)")
_QUOTED_CODE = re.compile(r"\s*(?:'([^']*)'|\"((?:\\.|[^\"\\])*)\")", re.DOTALL)
_HERE_DOCUMENT = re.compile(r"[^\n]*<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(.*?)^\s*\1\s*$", re.DOTALL | re.MULTILINE)


class PythonStart(Value):
    """A place where Python is started without a script; `modules` are those that its code plainly imports."""

    line: int
    words: str
    modules: tuple[str, ...] = ()


def find_python_starts(text: str) -> list[PythonStart]:
    """Return where shell text starts Python so that it looks for modules in the work dir."""
    starts: list[PythonStart] = []
    for match in _START.finditer(text):
        begin = text.rfind("\n", 0, match.start("program")) + 1
        mode = match["mode"] or "-"
        is_comment = text[begin : match.start("program")].lstrip().startswith("#")
        if is_comment or any(_IS_SAFE.fullmatch(word) for word in (*match["options"].split(), mode)):
            continue
        line = text.count("\n", 0, match.start("program")) + 1
        modules = tuple(dict.fromkeys(_find_modules(mode[-1], text[match.end() : match.end() + _MAX_CODE_CHARS])))
        starts.append(PythonStart(line, f"{match['program']} {mode}", modules))
        if len(starts) == _MAX_STARTS:
            break
    return starts


def _find_modules(mode: str, rest: str) -> Iterator[str]:
    if mode == "m":
        if module := _MODULE.match(rest):
            yield module[1]
        return
    code = _QUOTED_CODE.match(rest) if mode == "c" else _HERE_DOCUMENT.match(rest)
    for names, name in _IMPORT.findall(code[code.lastindex or 0] if code else ""):
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
