#!/usr/bin/env python3
"""Asks before code runs that nobody has read: from the network, out of an encoding, or from the other end of a socket."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argument_list import ArgumentList
from call_programs import list_powershell_programs
from lazy_pattern import LazyPattern
from network_sources import (
    find_unknown_code,
    is_code_runner,
    list_saved_files,
    prints_decoded,
    prints_network,
    reads_code_from_input,
)

from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.core.shell import ShellReader
from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.protection.code_texts import find_code
from boathook.shell.arguments import UNKNOWN, get_program_name, list_operands
from boathook.shell.command_reading import read_command
from boathook.shell.started_program import Started

_READ_FIRST = "Save it to a file, read it, and then run the file"
_READ_FILE = "Read it first, and run it in a command of its own"
_DECODE_FIRST = "Decode it to a file, read it, and then run the file"
_GIVES_SHELL = "gives somebody on the network a shell on this machine. Use ssh with an account of its own"
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/")
_NETWORK_TOOLS = frozenset(("nc", "ncat", "netcat", "nc.traditional"))
_SOCAT_RUN = LazyPattern(r"(?:EXEC|SYSTEM|SHELL)(?::(.*))?", re.IGNORECASE | re.DOTALL)
_SOCAT_NETWORK = LazyPattern(r"(?:TCP|UDP|SCTP|DCCP|OPENSSL|SSL|PROXY|SOCKS|QUIC|VSOCK|IP\d?)[\w-]*:", re.IGNORECASE)
_CODE_DECODES = LazyPattern(
    r"b(?:64|32|16|85)decode|urlsafe_b64|fromhex|unhexlify|atob\s*\(|FromBase64String|base64_decode|decode64|Buffer\.from\([^)]*base64|decompress|rot_?13",
    re.IGNORECASE,
)
_CODE_FETCHES = LazyPattern(
    r"urlopen|urlretrieve|requests\.get|httpx\.get|http\.get|https\.get|\bfetch\s*\(|DownloadString|DownloadFile"
    r"|Invoke-WebRequest|\biwr\b|\birm\b|LWP::Simple|open-uri|Net::HTTP|file_get_contents\(.https?:",
    re.IGNORECASE,
)
_CODE_RUNS = LazyPattern(
    r"\bexec\s*\(|\beval\s*\(|os\.system|os\.popen|shell\s*=\s*True|execSync|child_process"
    r"|\biex\b|Invoke-Expression|\bsystem\s*\(|shell_exec|passthru|runpy|new Function",
    re.IGNORECASE,
)
# In Python, nothing has this name before it is imported.
_MODULE_CALL = LazyPattern(r"\bsubprocess\s*\.\s*\w+\s*\([^;\n]*")
_MODULE_IMPORT = LazyPattern(
    r"\b(?:import|from)\b[^;=]*\bsubprocess\b|__import__|import_module|__builtins__|sys\.modules"
)
_CODE_SOCKET = LazyPattern(
    r"socket|fsockopen|TCPSocket|net\.connect|TcpClient|IO::Socket|createConnection", re.IGNORECASE
)
_CODE_SHELL = LazyPattern(
    r"dup2|pty\.spawn|/bin/(?:ba|da|z|k)?sh\b|cmd\.exe|exec\s*[\"'(]|proc_open|\.pipe\(", re.IGNORECASE
)
_COPIERS = frozenset(("cp", "mv", "ln", "install", "rsync", "dd", "gunzip", "base64", "tar", "unzip", "cat"))
_OWN_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?:self|thread-self|\$[\w${}]+))/fd/")
_BRANCHES = re.compile(r"(?<![<>$])\(|[{}]\s|&&|\|\||\b(?:if|while|until|for|case|trap|eval)\b")
_ENCODED_OPTION = re.compile(r"[-/](?:e|ec|en\w*)$", re.IGNORECASE)


def decide(call: GuardedCall) -> GuardAnswer | None:
    reason = next(_iter_reasons(call), "")
    return ask(reason) if reason else None


def _iter_reasons(call: GuardedCall) -> Iterator[str]:
    programs = [*call.programs, *(one for program in call.programs for one in list_powershell_programs(program))]
    programs += [Started(("pwsh", "-Command", text), call.work_dir) for text in call.commands if call.is_powershell]
    has_fetched = has_decoded = False
    # Somebody can only give orders to a shell that reads: `<&1`, `0>&1`.
    has_input = any(sign in text for text in call.commands for sign in ("<", "0>"))
    for program in programs:
        yield from _judge_input(program, has_fetched=has_fetched, has_decoded=has_decoded)
        yield from _judge_socket(program, has_input=has_input)
        yield from _judge_code(program)
        has_fetched = has_fetched or prints_network(program)
        has_decoded = has_decoded or prints_decoded(program)
    yield from _judge_saved_files(programs)
    yield from _judge_descriptors(call, has_fetched=has_fetched, has_decoded=has_decoded)


def _judge_input(program: Started, *, has_fetched: bool, has_decoded: bool) -> Iterator[str]:
    """Yield a reason if a shell or an interpreter runs what comes from the network or from a decoder."""
    reads_code = reads_code_from_input(program)
    is_unknown = find_unknown_code(program)
    if not reads_code and not is_unknown:
        return
    is_fed_by_network = any(prints_network(feeder) for feeder in program.feeders)
    # `cat <(curl …) | sh`
    is_fed_unknown = reads_code and any(UNKNOWN in feeder.words[1:] for feeder in program.feeders)
    is_unknown = is_unknown or is_fed_unknown
    is_fed_by_decoder = any(prints_decoded(feeder) for feeder in program.feeders)
    name = program.name
    # Of a text that is not known, the part of the same command that fetches something is taken for its source.
    if is_fed_by_network or (is_unknown and has_fetched):
        yield f"`{name}` would run code straight from the network that nobody has read. {_READ_FIRST}."
    if is_fed_by_decoder or (is_unknown and has_decoded):
        yield f"`{name}` would run code that is hidden in encoded text. {_DECODE_FIRST}."


def _judge_socket(program: Started, *, has_input: bool) -> Iterator[str]:
    """Yield a reason if a shell is connected to a socket."""
    arguments = ArgumentList(program.words[1:], "-e -c -p -w -s -i -q --exec --sh-exec --lua-exec")
    reason = f"`{program.name}` {_GIVES_SHELL}"
    if program.name in _NETWORK_TOOLS:
        commands = arguments.get("-e", "-c", "--exec", "--sh-exec")
        has_address = bool(arguments.operands) or arguments.has("-l", "--listen", "-p")
        if has_address and any(_starts_shell(command) for command in commands):
            yield f"{reason}."
        if any(is_code_runner(feeder.name) and feeder.feeders for feeder in program.feeders):
            yield f"{reason}."
    elif program.name == "socat":
        runs = [match for word in program.words[1:] if (match := _SOCAT_RUN.fullmatch(word))]
        has_network = any(_SOCAT_NETWORK.match(word) for word in program.words[1:])
        is_shell = any(not match[1] or _starts_shell(match[1].partition(",")[0]) for match in runs)
        if has_network and is_shell:
            yield f"{reason}."
    elif has_input and is_code_runner(program.name) and any(_SOCKET.match(path) for path in program.outputs):
        yield f"{reason}."


def _starts_shell(command: str) -> bool:
    return any(
        one.name in SHELLS or is_interpreter(one.name) for one in read_command(command.replace("\\ ", " ")).programs
    )


def _judge_code(program: Started) -> Iterator[str]:
    """Yield a reason if the code of an interpreter runs what it decodes or fetches, or connects a shell to a socket."""
    if not is_interpreter(program.name):
        return
    name = program.name.lower().removesuffix(".exe")
    if name in ("pwsh", "powershell"):
        for at, word in enumerate(program.words[1:-1], start=1):
            if _ENCODED_OPTION.match(word) and not program.words[at + 1].startswith("-"):
                yield f"`{program.name} {word}` would run code that is hidden in encoded text. {_DECODE_FIRST}."
    if name in ("deno", "bun") and any(re.match(r"https?://", word) for word in program.words[1:4]):
        yield f"`{program.name}` would run code straight from the network that nobody has read. {_READ_FIRST}."
    code = find_code(program)
    if name.startswith("python") and not _MODULE_IMPORT.search(code):
        code = _MODULE_CALL.sub("", code)
    if _CODE_RUNS.search(code):
        if _CODE_FETCHES.search(code):
            yield f"The code for `{program.name}` would run what it fetches from the network. {_READ_FIRST}."
        if _CODE_DECODES.search(code):
            yield f"The code for `{program.name}` would run what is hidden in encoded text. {_DECODE_FIRST}."
    if _CODE_SOCKET.search(code) and _CODE_SHELL.search(code):
        yield f"The code for `{program.name}` {_GIVES_SHELL}."


def _judge_saved_files(programs: list[Started]) -> Iterator[str]:
    """Yield a reason if a file is run that the same command has fetched or decoded."""
    fetched: set[str] = set()
    for program in programs:
        arguments = [_make_plain(program, word) for word in list_operands(program.words[1:])]
        run = [_make_plain(program, program.words[0])] if "/" in program.words[0] else []
        if is_code_runner(program.name) or program.name in ("source", "."):
            run += [_make_plain(program, path) for path in _list_scripts(program)]
        if any(path in fetched for path in run):
            yield f"`{program.name}` would run a file that the same command has just fetched. {_READ_FILE}."
        outputs = [_make_plain(program, path) for path in program.outputs]
        outputs += arguments if program.name == "tee" else []
        sources = (program, *program.feeders)
        is_fetching = any(prints_network(one) or prints_decoded(one) for one in sources)
        fetched = fetched | {*outputs} if is_fetching else fetched - {*outputs}
        fetched |= {_make_plain(program, path) for path in list_saved_files(program)}
        if program.name in _COPIERS:
            words = [_make_plain(program, word.removeprefix("if=").removeprefix("of=")) for word in program.words[1:]]
            if any(word in fetched for word in words[:-1]):
                fetched.add(words[-1])
        elif program.name in ("rm", "unlink"):
            fetched -= {*arguments}


def _list_scripts(program: Started) -> list[str]:
    files = [word for at, word in enumerate(program.words[1:]) if program.words[at].lower() in ("-file", "-f")]
    return [
        *files,
        *list_operands(program.words[1:])[:1],
        *(word for word in program.words[1:] if word.startswith("./")),
    ]


def _make_plain(program: Started, path: str) -> str:
    absolute = program.make_absolute(path.removeprefix("./") if not path.startswith("/") else path)
    return absolute.replace("/./", "/")


def _judge_descriptors(call: GuardedCall, *, has_fetched: bool, has_decoded: bool) -> Iterator[str]:
    """Yield a reason if a shell reads from a socket, or from a descriptor that something was fetched into."""
    for text in call.commands:
        if "<" not in text and ">" not in text:
            continue
        for command in ShellReader(text).read_all():
            words = [word.text for word in command.words if "=" not in word.raw]
            name = get_program_name([word for word in words if word not in ("exec", "command", "{", "do", "then")])
            is_running = is_code_runner(name) or name in ("source", ".")
            targets = [(one, one.target.text) for one in command.redirections if one.target is not None]
            raws = [*(word.raw for word in command.words), *(one.target.raw for one, _ in targets if one.target)]
            if (has_fetched or has_decoded) and any(_feeds_shell(raw) for raw in raws):
                yield f"A shell would run what the same command has fetched. {_READ_FIRST}."
            inputs = [
                target for one, target in targets if one.operator in ("<", "<>", "<&") and one.descriptor in ("", "0")
            ]
            if is_running and any(_SOCKET.match(target) for target in inputs):
                yield f"`{name}` would run what somebody sends over the network. {_READ_FIRST}."
            from_descriptor = any(
                one.operator == "<&" and one.target and one.target.text not in ("0", "-")
                for one in command.redirections
            )
            from_descriptor = from_descriptor and not _reads_nothing_fetched(call, name)
            is_descriptor = any(_OWN_DESCRIPTOR.match(word) for word in words[1:])
            if is_running and (has_fetched or has_decoded) and (from_descriptor or is_descriptor):
                yield f"`{name}` would run what the same command has fetched. {_READ_FIRST}."


def _reads_nothing_fetched(call: GuardedCall, name: str) -> bool:
    """Whether it is known of all programs of a name that read from a descriptor that nothing was fetched into it."""
    # What is closed in a branch or in a shell of its own may be open here.
    if any(map(_BRANCHES.search, call.commands)):
        return False
    paths = [(one, path) for one in call.programs if one.name == name for path in one.input_paths]
    readers = [one for one, path in paths if re.fullmatch(r"/dev/fd/\d+", path)]
    return bool(readers) and not any(one.code_sources for one in readers)


def _feeds_shell(raw: str) -> bool:
    """Whether a word is `>(…)` with a shell in it that runs what is written to it."""
    return raw.startswith(">(") and any(map(reads_code_from_input, read_command(raw[2:-1]).programs))


if __name__ == "__main__":
    run_guard(decide)
