#!/usr/bin/env python3
"""Objects to commands that send secrets to other machines."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from lazy_pattern import LazyPattern
from network_sinks import NETWORK_FILE, NetworkSink, find_network_sink
from secret_flows import SecretFlows, packs_folders_empty, takes_whole_folders
from secret_paths import PRIVATE, SecretPath, find_secret_below, find_secret_path
from written_commands import is_name_of_secret, list_assignments, list_pipes, list_variables

from boathook.core.interpreters import is_interpreter
from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard
from boathook.shell.arguments import UNKNOWN, find_option_values, list_operands
from boathook.shell.started_program import Started

_THIS_MACHINE = re.compile(r"(?:https?://)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker\.internal)")
# Texts that secrets begin with: who searches for them in files and sends what is found, sends secrets.
_SEARCHED = LazyPattern(r"AKIA|PRIVATE KEY|password|passwd|secret|api_?key|ghp_|sk-|xox[bp]|token", re.IGNORECASE)
_CODE_SENDS = LazyPattern(
    r"requests\.(?:post|put)|urlopen|fetch\(|axios|http\.client|socket\.|Net::HTTP|XMLHttpRequest|file_get_contents\(.http"
)
_WIDE_SENDERS = ("curl", "wget", "nc", "ncat", "netcat", "http", "xh", "socat", "mail", "telnet", ":")
_SAFE_WAY = (
    "Let the program that needs the secret read it on the machine that has it, or hand it over by a secret store "
    "(`gh secret set`, `vault`, `op`)."
)


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return the first objection to what a call sends."""
    flows = SecretFlows(call, sends=True)
    for program in flows.programs:
        sink = find_network_sink(program)
        if sink and not _goes_to_free_host(call, program):
            if answer := _judge_sink(call, flows, program, sink):
                return answer
        elif is_interpreter(program.name) and any(_CODE_SENDS.search(word) for word in program.words[1:]):
            for read in flows.reads:
                if read.program is program:
                    return _object_to(read.secret)
        elif program.name == "git" and (answer := _judge_git(flows, program)):
            return answer
    return _judge_variables(call)


def _goes_to_free_host(call: GuardedCall, program: Started) -> bool:
    hosts = call.list_setting("hosts")
    addresses = [re.sub(r"^[a-z]+://|^[^@/]*@", "", word).split("/")[0].split(":")[0] for word in program.words[1:]]
    return any(_THIS_MACHINE.match(word) for word in program.words[1:]) or any(
        fnmatch(address, host) for address in addresses for host in hosts
    )


def _judge_sink(call: GuardedCall, flows: SecretFlows, program: Started, sink: NetworkSink) -> GuardAnswer | None:
    is_wide = takes_whole_folders(program)
    sent = [found for path in sink.files if (found := flows.judge(program, path, whole_folder=is_wide))]
    if sink.sends_input:
        sent += flows.list_fed(program)
        sent += _list_searched_files(program)
        # What other programs write to a descriptor or a pipe with a name cannot be followed.
        sent += _list_read_while_connected(flows)
    if any(UNKNOWN in text for text in (*sink.texts, *sink.files)):
        sent += [read.secret for read in flows.reads if not read.is_copy and id(read.program) not in flows.consumers]
        sent += _list_substitutions(call, flows, program)
    if sink.files or sink.sends_input:
        sent += flows.files.values()
    if sent:
        return _object_to(sent[0])
    return _judge_folders(call, flows, program, sink)


def _list_read_while_connected(flows: SecretFlows) -> list[SecretPath]:
    """Return the secrets that are read before the last program that can still write to another machine by a descriptor."""
    if any(one.name != ":" and any(map(NETWORK_FILE.match, one.outputs)) for one in flows.programs):
        return [read.secret for read in flows.reads]
    connected = [
        at for at, one in enumerate(flows.programs) if any(map(NETWORK_FILE.match, (*one.outputs, *one.open_paths)))
    ]
    known = set(map(id, flows.programs[: connected[-1] + 1] if connected else ()))
    return [read.secret for read in flows.reads if id(read.program) in known]


def _list_searched_files(program: Started) -> list[SecretPath]:
    """Return what is sent if a search for secrets is before a program in a pipe."""
    for feeder in program.feeders:
        operands = list_operands(feeder.words[1:])
        if feeder.name in ("grep", "rg", "egrep", "ag") and operands and _SEARCHED.search(operands[0]):
            return [SecretPath("what it finds", PRIVATE, "perhaps a secret")]
    return []


def _list_substitutions(call: GuardedCall, flows: SecretFlows, program: Started) -> list[SecretPath]:
    """Return secrets that `$(<FILE)` puts into a word."""
    paths = [path for pipe in list_pipes(call) for one in pipe if one.is_nested for path in one.inputs]
    return [found for path in paths if (found := flows.judge(program, path))]


def _judge_folders(call: GuardedCall, flows: SecretFlows, program: Started, sink: NetworkSink) -> GuardAnswer | None:
    """Object to whole folders that have secrets in them, or go to where nothing is known about them."""
    packers = [one for one in program.feeders if _is_packer(one)]
    folders = [(one, word) for one in packers for word in list_operands(one.words[1:]) if word not in ("-", one.name)]
    folders += [(program, path) for path in sink.files if takes_whole_folders(program)]
    for one, word in folders:
        path = flows.normalize(one, word)
        if UNKNOWN not in path and os.path.isdir(path) and (found := find_secret_below(path)):
            return _object_to(find_secret_path(found, call.home, sends=True) or SecretPath(found, PRIVATE, "a secret"))
    lists = [word for word in program.words if word.startswith("--files-from")]
    if (packers and sink.sends_input and program.name in _WIDE_SENDERS) or lists:
        return ask(
            "This sends a whole folder, or a list of files, and it is not known whether secrets are among them. "
            "Send the files that are needed by their names."
        )
    return None


def _is_packer(program: Started) -> bool:
    return program.name in ("tar", "bsdtar", "gtar", "zip", "7z", "cpio") and not packs_folders_empty(program)


def _judge_git(flows: SecretFlows, program: Started) -> GuardAnswer | None:
    rest = list(program.words[1:])
    operands = list_operands(rest)
    if operands[:1] != ["add"] or "-n" in rest or "--dry-run" in rest:
        return None
    for word in operands[1:]:
        secret = flows.judge(program, word)
        if secret and secret.level != PRIVATE:
            return ask(
                f"{secret.path} holds {secret.kind}: a commit keeps it in the history for good, and a push sends it. "
                "Add it to .gitignore, and commit an example without values."
            )
    return None


def _judge_variables(call: GuardedCall) -> GuardAnswer | None:
    """Object to variables with secrets in the text or the address of a request."""
    assigned = list_assignments(call)
    for pipe in list_pipes(call):
        for at, one in enumerate(pipe):
            names = {name for raw in one.raws[1:] for name in list_variables(raw)}
            secrets = sorted(name for name in names if is_name_of_secret(name) and name not in assigned)
            if not secrets:
                continue
            sender = next(
                (other for other in pipe[at + 1 :] if other.name in ("nc", "ncat", "netcat", "telnet", "mail")), None
            )
            is_printed = one.name in ("echo", "printf") and sender
            if is_printed or (
                one.name in ("curl", "wget", "dig", "nslookup", "ping") and _sends_variable(one.raws, secrets)
            ):
                if any(_THIS_MACHINE.match(word) for word in one.words):
                    continue
                return ask(
                    f"This puts the value of {secrets[0]} into what is sent. "
                    'If the service wants it, send it in a header: -H "Authorization: Bearer $NAME".'
                )
    return None


def _sends_variable(raws: list[str], names: list[str]) -> bool:
    """Whether a variable is in the text or the address of a request, and the address is not its own service."""
    texts = find_option_values(
        raws, "-d", "--data", "--data-raw", "--data-binary", "-F", "--form", "--data-urlencode", "--post-data", "--json"
    )
    headers = find_option_values(
        raws, "-H", "--header", "-u", "--user", "-b", "--cookie", "--oauth2-bearer", "-E", "--cert", "--key", "-o"
    )
    addresses = [word for word in list_operands(raws[1:]) if word not in headers]
    used = [name for name in names if any(name in word for word in (*texts, *addresses))]
    services = [
        part.lower() for name in used for part in name.split("_") if len(part) > 3 and not is_name_of_secret(part)
    ]
    hosts = " ".join(addresses).lower().partition("?")[0]
    return bool(used) and not any(service in hosts for service in services)


def _object_to(secret: SecretPath) -> GuardAnswer:
    text = f"This sends {secret.path} away, which holds {secret.kind}. {_SAFE_WAY}"
    return ask(text) if secret.level == PRIVATE else block(text)


if __name__ == "__main__":
    run_guard(decide)
