"""Commands that program code runs, and that programs run which have commands of their own: `awk`, `sed`, `vim`, `python -c`."""

from __future__ import annotations

import re
from itertools import islice

from boathook.core.interpreters import is_interpreter, remove_version
from boathook.shell.arguments import find_option_values, get_program_name, list_operands
from boathook.shell.code_input import CODE_INPUT, CODE_WORD, find_code_use
from boathook.shell.started_program import Started

_MAX_FOUND = 32
_MAX_CODE_CHARS = 64_000
_STRING = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`"
# Functions that run a command, up to the strings that they are called with.
_CALL = re.compile(
    r"\b(?:system|popen[234]?|Popen|run|call|check_call|check_output|getoutput|getstatusoutput|exec[a-zA-Z]*|spawn[a-zA-Z]*"
    r"|shell_exec|passthru|proc_open|posix_spawn|Command|shell-command(?:-to-string)?|shell script|systemlist)"
    r"[\s(\[{]{0,8}((?:" + _STRING + r")(?:[\s,\[]{1,8}(?:" + _STRING + r"))*)",
    re.DOTALL,
)
_STRINGS = re.compile(_STRING, re.DOTALL)
_BACKTICKS = re.compile(r"`([^`]+)`|(?:\bqx|%x)\s*(?:\(([^()]*)\)|\{([^{}]*)\}|\[([^\[\]]*)\]|/([^/]*)/)")
_BACKTICK_LANGUAGES = frozenset(("perl", "ruby", "php", "raku"))
_AWK_COMMANDS = re.compile(
    r"\bsystem\s*\(\s*\"((?:[^\"\\]|\\.)*)\"|\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline|\|&?\s*\"((?:[^\"\\]|\\.)*)\""
)
_SED_COMMAND = re.compile(r"(?:^|[;{}\n])[ \t\d,$~+!]*(?:/[^/\n]*/[ \t,!]*)?e[ \t]+([^\n]+)")
_SED_SUBSTITUTE = re.compile(
    r"(?:^|[;{}\n\s\d$])s([/|,#:@!%])(?:\\.|(?!\1)[^\\\n])*\1((?:\\.|(?!\1)[^\\\n])*)\1[gpiIm\d]*e"
)
# What programs with commands of their own hand to a shell: `:!…`, `:r !…`, `\! …`, `.shell …`, `shell …`.
_ESCAPED_COMMAND = re.compile(
    r"^[ \t:+]*(?:sil(?:ent)?!?[ \t]+)?(?:exe(?:cute)?[ \t]+[\"'])?"
    r"(?:[%.,$\d]*!|r(?:ead)?\s+!|w(?:rite)?\s+!|\\!|\.(?:shell|system)\s|(?:system|shell)\s)\s*([^\n]+)",
    re.MULTILINE,
)
_AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))
_SEDS = frozenset(("sed", "gsed"))
# The options of such programs whose value is one of their commands; `+` begins one, too.
_ESCAPING_OPTIONS = {
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "view", "vimdiff", "rvim"), ("-c", "--cmd", "-S")),
    **dict.fromkeys(("ex", "ed"), ("-c",)),
    **dict.fromkeys(("less", "more", "most"), ()),
    **dict.fromkeys(("gdb", "lldb"), ("-ex", "-iex", "--ex", "-o", "--eval-command", "--one-line")),
    **dict.fromkeys(("psql", "mysql", "mariadb"), ("-c", "--command", "-e", "--execute")),
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb"), ("-cmd",)),
    **dict.fromkeys(("mutt", "neomutt"), ("-e",)),
    **dict.fromkeys(("emacs", "emacsclient"), ("--eval", "-eval", "-e", "--execute")),
    **dict.fromkeys(("ftp", "sftp", "lftp", "telnet"), ("-e", "-c")),
}
_OPERAND_IS_COMMAND = frozenset(("sqlite3", "sqlite", "duckdb"))
# Programs whose input are commands of their own, or texts that they work on.
READS_OWN_COMMANDS = frozenset((*_AWKS, *_SEDS, *_ESCAPING_OPTIONS))


def list_code_commands(started: Started) -> list[tuple[str, ...]]:
    """Return the commands that code in the words or the input of a program runs: a text alone is for a shell."""
    name, arguments = started.name, list(started.words[1:])
    if name in _AWKS or name in _SEDS:
        scripts = find_option_values(arguments, "-e", "--expression", "--source") or list_operands(arguments)[:1]
        code = "\n".join((*scripts, started.script_text))
        return [(text,) for text in (_list_awk_texts(code) if name in _AWKS else _list_sed_texts(code))]
    if name in _ESCAPING_OPTIONS:
        return _list_escaped(started, arguments)
    if not is_interpreter(name):
        return []
    use = find_code_use(started.words)
    code = use.text if use.kind == CODE_WORD else started.input_text if use.kind == CODE_INPUT else started.script_text
    if get_program_name([name]).lower() in ("pwsh", "powershell") and code:
        return [(code,)]
    return list_called_commands(code, has_backticks=remove_version(name) in _BACKTICK_LANGUAGES)


def list_called_commands(code: str, *, has_backticks: bool) -> list[tuple[str, ...]]:
    """Return the commands that calls such as `os.system("…")` and `run(["…", "…"])` in code run."""
    code = code[:_MAX_CODE_CHARS]
    commands: list[tuple[str, ...]] = []
    for match in islice(_CALL.finditer(code), _MAX_FOUND):
        commands.append(tuple(_unquote(text) for text in _STRINGS.findall(match[1])))
    if has_backticks:
        texts = (next(filter(None, match.groups()), "") for match in islice(_BACKTICKS.finditer(code), _MAX_FOUND))
        commands += [(text,) for text in texts]
    return commands


def _unquote(text: str) -> str:
    return re.sub(r"\\([\"'\\`])", r"\1", text[1:-1])


def _list_awk_texts(code: str) -> list[str]:
    matches = islice(_AWK_COMMANDS.finditer(code[:_MAX_CODE_CHARS]), _MAX_FOUND)
    return [next(filter(None, match.groups()), "").replace('\\"', '"') for match in matches]


def _list_sed_texts(code: str) -> list[str]:
    code = code[:_MAX_CODE_CHARS]
    texts = [match[1] for match in islice(_SED_COMMAND.finditer(code), _MAX_FOUND)]
    # With `e`, what is put in place of the text is run.
    texts += [re.sub(r"\\(\W)", r"\1", match[2]) for match in islice(_SED_SUBSTITUTE.finditer(code), _MAX_FOUND)]
    return texts


def _list_escaped(started: Started, arguments: list[str]) -> list[tuple[str, ...]]:
    values = find_option_values(arguments, *_ESCAPING_OPTIONS[started.name])
    values += [word[1:] for word in arguments if word.startswith("+")]
    values += list_operands(arguments)[1:] if started.name in _OPERAND_IS_COMMAND else []
    texts = "\n".join((*values, started.input_text))[:_MAX_CODE_CHARS]
    found = [(match[1].rstrip("\"'"),) for match in islice(_ESCAPED_COMMAND.finditer(texts), _MAX_FOUND)]
    called = list_called_commands(texts, has_backticks=False) if "(" in texts else []
    return [*found, *called]
