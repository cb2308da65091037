"""Programs that bring code from the network or out of an encoding, and programs that run what they read."""

from __future__ import annotations

import re

from argument_list import ArgumentList

from boathook.core.interpreters import SHELLS, is_interpreter, remove_version
from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started

_CURL_VALUES = (
    "-o --output -H --header -d --data --data-binary --data-raw --data-urlencode -X --request -A --user-agent -u --user -e"
    " --referer -x --proxy -b --cookie -c --cookie-jar -D --dump-header -F --form -T --upload-file -K --config -m --max-time"
    " --connect-timeout --retry --retry-delay --cacert --cert -E --key --resolve --proxy-header --proxy-user -U -w --write-out"
    " --url -r --range --limit-rate --interface --output-dir -y -Y -z -C -t --cert-type --capath --ciphers --tls-max"
)
_WGET_VALUES = (
    "-O --output-document -P --directory-prefix -U --user-agent -o --output-file -a --append-output -T --timeout -t --tries"
    " --header --user --password --post-data --post-file --referer -i --input-file -e --execute -w --wait --ca-certificate"
)
FETCHERS = frozenset(
    (
        *(
            "curl",
            "curlie",
            "wget",
            "wget2",
            "fetch",
            "aria2c",
            "lynx",
            "w3m",
            "links",
            "http",
            "https",
            "xh",
            "xhs",
            "httpie",
        ),
        *("iwr", "irm", "invoke-webrequest", "invoke-restmethod", "axel", "ftp", "lwp-request", "get"),
    )
)
_SOCKETS = frozenset(("nc", "ncat", "netcat", "socat", "telnet", "nc.traditional", "nc.openbsd"))
_DECODERS = {
    **dict.fromkeys(("base64", "gbase64", "base32", "basenc"), ("-d", "-D", "--decode")),
    "xxd": ("-r", "-revert"),
    "openssl": ("-d",),
    "tar": ("-O", "--to-stdout"),
    "unzip": ("-p",),
    "gpg": ("-d", "--decrypt"),
}
_ALWAYS_DECODING = frozenset(("uudecode", "uuencode"))
_EVALUATORS = frozenset(("eval", "source", ".", "iex", "invoke-expression"))
_STANDARD_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_CODE_OPTIONS = ("-c", "-e", "-E", "-r", "--eval", "--execute", "-p", "--print", "-Command", "-command", "/c")
_SHELL_VALUES = "-o +o -O +O --rcfile --init-file"
_INTERPRETER_VALUES = "-W -X -m -I -M -x -d -l"
_LOCAL_ADDRESS = re.compile(r"file:|(?:https?://)?(?:localhost|127\.|\[?::1)", re.IGNORECASE)


def is_code_runner(name: str) -> bool:
    """Whether a program runs code: a shell or an interpreter."""
    return name in SHELLS or is_interpreter(name)


def prints_network(program: Started) -> bool:
    """Whether a program prints what another machine sends."""
    name, arguments = program.name.lower(), _read(program)
    if any(option.name in ("--help", "--version", "--offline") for option in arguments.options):
        return False
    if name in _SOCKETS:
        return (bool(arguments.operands) or arguments.has("-l", "-p")) and not arguments.has("-z")
    if name == "ssh":
        return len(arguments.operands) > 1 or not program.feeders
    if name not in FETCHERS or not _has_remote_address(arguments):
        return False
    if name.startswith("wget"):
        return any(value in _STANDARD_INPUT for value in arguments.get("-O", "--output-document"))
    if arguments.has("--download"):
        return False
    return not arguments.has("-o", "--output", "-O", "--remote-name") or "-" in arguments.get("-o", "--output")


def _has_remote_address(arguments: ArgumentList) -> bool:
    addresses = [*arguments.operands, *arguments.get("--url")]
    return any(not _LOCAL_ADDRESS.match(address) for address in addresses)


def _read(program: Started) -> ArgumentList:
    name = program.name.lower()
    values = {
        **dict.fromkeys(("wget", "wget2"), _WGET_VALUES),
        **dict.fromkeys(_SOCKETS, "-e -c -s -w -q -i -g -x -X -I -O --exec --sh-exec --source --wait --proxy"),
        "ssh": "-p -i -l -o -F -J -L -R -D -b -c -E -e -m",
    }
    return ArgumentList(program.words[1:], values.get(name, _CURL_VALUES if name in FETCHERS else ""))


def prints_decoded(program: Started) -> bool:
    """Whether a program prints what it decodes or unpacks."""
    arguments = ArgumentList(program.words[1:])
    if program.name in _ALWAYS_DECODING:
        return True
    options = _DECODERS.get(program.name)
    return options is not None and arguments.has(*options)


def list_saved_files(program: Started) -> list[str]:
    """Return the files that a program saves from the network, as it names them."""
    name, arguments = program.name.lower(), _read(program)
    if name in ("scp", "rsync", "sftp"):
        is_remote = any(re.match(r"[\w.@-]+:", path) for path in arguments.operands[:-1])
        return arguments.operands[-1:] if is_remote and len(arguments.operands) > 1 else []
    if name not in FETCHERS or not _has_remote_address(arguments):
        return []
    addresses = [*arguments.operands, *arguments.get("--url")]
    names = [address.partition("?")[0].rstrip("/").rpartition("/")[2] for address in addresses]
    if name.startswith("wget"):
        given = arguments.get("-O", "--output-document")
        return [path for path in given if path not in _STANDARD_INPUT] if given else names
    given = arguments.get("-o", "--output", "-OutFile")
    if arguments.has("-O", "--remote-name", "--remote-name-all") or name in ("aria2c", "axel"):
        given += names
    return given


def reads_code_from_input(program: Started) -> bool:
    """Whether a shell or an interpreter runs what it reads from its standard input."""
    name = program.name
    if name.lower() in ("iex", "invoke-expression"):
        return True
    if name in ("source", "."):
        return any(word in _STANDARD_INPUT for word in program.words[1:2])
    if not is_code_runner(name):
        return False
    if name in SHELLS:
        return _reads_shell_code(program)
    plain = remove_version(name)
    for at, word in enumerate(program.words[1:], start=1):
        if word.lower() in ("-command", "-c") and plain in ("pwsh", "powershell"):
            return program.words[at + 1 : at + 2] == ("-",)
        if word in _CODE_OPTIONS or (plain in ("python", "pypy") and word == "-m"):
            return False
        if word == "-" or word in _STANDARD_INPUT:
            return True
    arguments = ArgumentList(program.words[1:], _INTERPRETER_VALUES)
    if plain in ("pwsh", "powershell"):
        return not any(option.name.lower() in ("-file", "-encodedcommand") for option in arguments.options)
    is_awaiting = plain not in ("deno", "bun") or arguments.operands[:2] == ["run", "-"]
    return is_awaiting and not arguments.operands


def _reads_shell_code(program: Started) -> bool:
    arguments = ArgumentList(_merge_values(program.words[1:]), _SHELL_VALUES)
    is_checking = False
    for word in program.words[1:]:
        if re.fullmatch(r"-\w*n\w*", word):
            is_checking = True
        elif re.fullmatch(r"\+\w*n\w*", word):
            is_checking = False
    if is_checking or arguments.has("-c", "--help", "--version"):
        return False
    operands = [word for word in arguments.operands if not word.startswith("+")]
    return arguments.has("-s") or not operands or operands[0] in _STANDARD_INPUT


def _merge_values(words: tuple[str, ...]) -> list[str]:
    """Return options of a shell with the value of `-euo pipefail` behind its letter."""
    merged: list[str] = []
    for word in words:
        if merged and re.fullmatch(r"-\w+o", merged[-1]):
            merged[-1] = f"{merged[-1]}{word}"
        else:
            merged.append(word)
    return merged


def find_unknown_code(program: Started) -> bool:
    """Whether a program runs a text or a file of which nothing is known: `bash -c "$(…)"`, `source <(…)`, `eval "$X"`."""
    words = program.words[1:]
    if program.name.lower() in _EVALUATORS:
        return bool(words) and all(_is_unknown(word) for word in words)
    if not is_code_runner(program.name):
        return False
    for at, word in enumerate(words):
        if word in _CODE_OPTIONS or re.fullmatch(r"-\w*c", word):
            behind = [text for text in words[at + 1 :] if text != "--"]
            return not behind or _is_unknown(behind[0])
        if not word.startswith(("-", "+")):
            return _is_unknown(word)
    return False


def _is_unknown(word: str) -> bool:
    return UNKNOWN in word and not word.replace(UNKNOWN, "").strip()
