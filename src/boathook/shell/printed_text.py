"""What a command prints: programs that print their words, or change a text, such as `echo`, `rev` and `base64 -d`."""

from __future__ import annotations

import re
from base64 import b32decode, b64decode
from collections.abc import Callable, Mapping
from posixpath import normpath

from boathook.core.shell import decode_escapes
from boathook.shell.arguments import (
    UNKNOWN,
    find_option_values,
    get_program_name,
    has_option,
    list_operands,
    make_absolute_path,
    skip_options,
)

_MAX_PRINTED_WORDS = 64
_MAX_RANGE = 256
_OPEN_DESCRIPTOR = re.compile(r"/proc/(?:self|thread-self|\$\$)/fd/")
_PRINT_PLACE = re.compile(r"%[-0 +#]*\d*(?:\.\d*)?([sbqdixXoc%])")
# `printf` writes at most three octal digits, `echo -e` and `%b` a zero before them.
_ZERO_OCTAL = re.compile(r"(?<!\\)((?:\\\\)*)\\0([0-7]{1,3})")
_ESCAPED_QUOTE = re.compile(r"""(?<!\\)((?:\\\\)*)\\(["'?])""")
_QUOTED_BY_FORMAT = re.compile(r"[^\w@%+=:,./-]")
_TRANSLATED_RANGE = re.compile(r"(.)-(.)|\[:(\w+):\]", re.DOTALL)
_CHARACTER_CLASSES = {
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "digit": "0123456789",
    "space": " \t\n\r\v\f",
    "blank": " \t",
}
_SUBSTITUTE = re.compile(r"s([/|,#:@!%])((?:\\.|(?!\1)[^\\\n])*)\1((?:\\.|(?!\1)[^\\\n])*)\1g?")
_PLAIN_PATTERN = re.compile(r"(?:[^\\.*\[\]^$+?(){}|&]|\\[/|,#:@!%.])*")


def normalize_written(path: str) -> str:
    """Return the path under which a text is noted that is written to a file or a descriptor."""
    return _OPEN_DESCRIPTOR.sub("/dev/fd/", path if path.endswith("/.") else normpath(path))


def find_output(words: list[str] | tuple[str, ...], folder: str, input_text: str, written: Mapping[str, str]) -> str:
    """Return what a command prints that reads a text; `written` are texts of files. `UNKNOWN` is what cannot be known."""
    name = get_program_name(words)
    row = _FILTERS.get(name)
    if row is None:
        return find_printed_text(list(words), folder)
    change, with_value = row
    arguments = list(words[1:])
    if name == "openssl" and arguments[:1] in (["base64"], ["enc"]):
        arguments = [*arguments[1:], *find_option_values(arguments, "-in")]
    operands = skip_options(arguments, with_value)
    count = 0 if name != "tr" else len(operands)
    if name == "sed" and not find_option_values(arguments, "-e"):
        count = 1
    files = [word for word in list_operands(operands)[count:] if word != "-"] if name != "tee" else []
    texts = [written.get(normalize_written(make_absolute_path(path, folder)), UNKNOWN) for path in files]
    text = "".join(texts).strip("\n") if files else input_text or UNKNOWN
    return UNKNOWN if text == UNKNOWN else change(arguments, text)


def find_printed_text(words: list[str], folder: str) -> str:
    """Return what a command prints, if it is one that prints its words, a folder or a path; else `UNKNOWN`."""
    program = get_program_name(words)
    rest = [word for word in words[1:] if not word.startswith("-")]
    if program == "pwd":
        return folder or UNKNOWN
    if program in ("echo", "printf"):
        return print_words(words)
    if program == "mktemp":
        return f"/tmp/tmp.{UNKNOWN}"  # noqa: S108
    if program == "dirname" and rest:
        return rest[0].rstrip("/").rpartition("/")[0] or "."
    if program == "basename" and rest:
        return rest[0].rstrip("/").rpartition("/")[2].removesuffix(rest[1] if len(rest) > 1 else "")
    is_search = program in ("which", "type", "whence") or (program == "command" and words[1:2] in (["-v"], ["-pv"]))
    if rest and program in ("realpath", "readlink"):
        # What a link leads to, not the link.
        return f"{rest[0].rstrip('/')}/"
    return rest[0] if rest and is_search else UNKNOWN


def print_words(words: list[str]) -> str:
    rest = words[1:]
    if get_program_name(words) == "printf":
        return _print_format(rest)
    has_escapes = False
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        has_escapes = has_escapes or "e" in rest[0]
        rest = rest[1:]
    rest = rest[1:] if rest[:1] == ["--"] else rest
    return " ".join(_decode_echo(text) if has_escapes else text for text in rest)


def _decode_echo(text: str) -> str:
    if "\\" not in text:
        return text
    # Quotes are not escaped there.
    return decode_escapes(_ESCAPED_QUOTE.sub(r"\1\\\\\2", _ZERO_OCTAL.sub(r"\1\\\2", text)))


def _print_format(rest: list[str]) -> str:
    rest = rest[2:] if rest[:1] == ["-v"] else rest[1:] if rest[:1] == ["--"] else rest
    if not rest:
        return ""
    template, values = rest[0], rest[1:][:_MAX_PRINTED_WORDS]
    places = [match for match in _PRINT_PLACE.finditer(template) if match[1] != "%"]
    printed = ""
    at = 0
    # The format is used again as long as there are words.
    while True:
        last = 0
        for match in _PRINT_PLACE.finditer(template):
            printed += decode_escapes(template[last : match.start()])
            last = match.end()
            if match[1] == "%":
                printed += "%"
            else:
                printed += _print_value(match[1], values[at] if at < len(values) else "")
                at += 1
        printed += decode_escapes(template[last:])
        if not places or at >= len(values):
            return printed


def _print_value(kind: str, value: str) -> str:
    if kind == "b":
        return _decode_echo(value)
    if kind == "c":
        return value[:1]
    if kind == "q" and UNKNOWN not in value:
        return _QUOTED_BY_FORMAT.sub(lambda match: f"\\{match[0]}", value) or "''"
    if kind in "dixXo" and UNKNOWN not in value:
        number = int(value) if re.fullmatch(r"-?\d{1,18}", value) else 0
        number = ord(value[1]) if len(value) > 1 and value[0] in "'\"" else number
        return f"{number:{kind.replace('i', 'd')}}"
    return value


# Programs that change a text


def _decode_base(arguments: list[str], text: str) -> str:
    if not has_option(arguments, "dD", "--decode"):
        return UNKNOWN
    return _decode_bytes(b64decode, text)


def _decode_base32(arguments: list[str], text: str) -> str:
    return _decode_bytes(b32decode, text) if has_option(arguments, "dD", "--decode") else UNKNOWN


def _decode_openssl(arguments: list[str], text: str) -> str:
    is_base = "-base64" in arguments or "-a" in arguments or not any(word.startswith("-aes") for word in arguments)
    return _decode_bytes(b64decode, text) if "-d" in arguments and is_base else UNKNOWN


def _decode_hex(arguments: list[str], text: str) -> str:
    return _decode_bytes(bytes.fromhex, text) if has_option(arguments, "r", "--revert") else UNKNOWN


def _decode_bytes(decode: Callable[[str], bytes], text: str) -> str:
    try:
        return decode("".join(text.split())).decode()
    except ValueError:
        return UNKNOWN


def _reverse(_: list[str], text: str) -> str:
    return "\n".join(line[::-1] for line in text.split("\n"))


def _translate(arguments: list[str], text: str) -> str:
    sets = [_expand_set(word) for word in list_operands(arguments)]
    if has_option(arguments, "cCs", "--complement", "--squeeze-repeats") or not sets or "" in sets:
        return UNKNOWN
    if has_option(arguments, "d", "--delete"):
        return text.translate(dict.fromkeys(map(ord, sets[0])))
    if len(sets) < 2:
        return UNKNOWN
    target = sets[1] + sets[1][-1] * len(sets[0])
    # The last of several that are the same counts.
    return text.translate({ord(sign): new for sign, new in zip(sets[0], target, strict=False)})


def _expand_set(word: str) -> str:
    def expand(match: re.Match[str]) -> str:
        if match[3]:
            return _CHARACTER_CLASSES.get(match[3], "")
        first, last = ord(match[1]), ord(match[2])
        return "".join(map(chr, range(first, min(last, first + _MAX_RANGE) + 1)))

    return _TRANSLATED_RANGE.sub(expand, decode_escapes(word) if "\\" in word else word)


def _edit_text(arguments: list[str], text: str) -> str:
    """`sed 's/a/b/'`, if `a` has no signs that mean something else."""
    scripts = find_option_values(arguments, "-e", "--expression") or list_operands(arguments)[:1]
    for script in scripts:
        match = _SUBSTITUTE.fullmatch(script.strip())
        if match is None or not _PLAIN_PATTERN.fullmatch(match[2]) or not _PLAIN_PATTERN.fullmatch(match[3]):
            return UNKNOWN
        pattern, new = (re.sub(r"\\(.)", r"\1", part) for part in (match[2], match[3]))
        text = text.replace(pattern, new) if pattern else UNKNOWN
    return text


def _pass_on(_: list[str], text: str) -> str:
    return text


# How a program changes a text, and its options that take a value.
_FILTERS: dict[str, tuple[Callable[[list[str], str], str], str]] = {
    **dict.fromkeys(("cat", "tee", "uniq", "bat", "sponge", "pv"), (_pass_on, "")),
    **dict.fromkeys(("head", "tail"), (_pass_on, "-n -c --lines --bytes")),
    "sort": (_pass_on, "-k -t -o -T"),
    "base64": (_decode_base, "-w --wrap -i -o --input"),
    "base32": (_decode_base32, "-w --wrap"),
    "openssl": (_decode_openssl, "-in -out -k -K -pass"),
    "xxd": (_decode_hex, "-c -g -l -n -o -R -s"),
    "rev": (_reverse, ""),
    "tr": (_translate, ""),
    "sed": (_edit_text, "-e -f"),
}
