"""Programs that send data to other machines: which files, which texts, and whether what they read from a pipe."""

from __future__ import annotations

import re
from collections.abc import Callable

from boathook.shell.arguments import UNKNOWN, find_option_values, list_operands, skip_options
from boathook.shell.started_program import Started

NETWORK_FILE = re.compile(r"/dev/(?:tcp|udp)/")
_REMOTE_PATH = re.compile(r"(?:[\w.-]+@)?[\w.-]*[\w" + UNKNOWN + r"]:(?!\\)(?!//)|[a-z0-9]+://")
_CURL_FILES = ("-T", "--upload-file", "-K", "--config")
_CURL_DATA = (
    *("-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--data-ascii", "-F", "--form", "--json"),
    *("--form-string", "--url-query"),
)
# Options whose value stays here.
_CURL_LOCAL = "-o --output -D --dump-header -c --cookie-jar -w --write-out -m --max-time --connect-timeout --output-dir"
_CURL_DATA_LETTERS = re.compile(r"-[a-zA-Z]*?[dFT](.*)", re.DOTALL)
_FORM_FILE = re.compile(r"(?:^|=)[@<]([^;,]+)")


_MAX_WORDS = 500


class NetworkSink:
    """What a program sends: the paths of files, texts (with unknown parts), and whether it sends what it reads."""

    def __init__(
        self, files: list[str] | None = None, texts: list[str] | None = None, *, sends_input: bool = False
    ) -> None:
        self.files, self.texts, self.sends_input = files or [], texts or [], sends_input

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.texts or self.sends_input)


def find_network_sink(program: Started) -> NetworkSink | None:
    """Return what a program sends to another machine, or None if it sends nothing."""
    rule = _SINKS.get(program.name)
    if len(program.words) > _MAX_WORDS:
        program = program.replace(words=program.words[:_MAX_WORDS])
    if any(NETWORK_FILE.match(path) for path in program.outputs):
        return NetworkSink(sends_input=True)
    sink = rule(program, list(program.words[1:])) if rule else None
    return None if sink is None or sink.is_empty else sink


def _drop_values(rest: list[str], names: str) -> list[str]:
    """Return words without some options that take a value, and without these values."""
    taken = {at + 1 for at, word in enumerate(rest) if word in names.split()}
    return [word for at, word in enumerate(rest) if at not in taken and at + 1 not in taken]


def _read_curl(program: Started, rest: list[str]) -> NetworkSink:
    rest = _drop_values(rest, _CURL_LOCAL)
    values = [value for name in _CURL_DATA for value in find_option_values(rest, name)]
    uploads = [value for name in _CURL_FILES[:2] for value in find_option_values(rest, name)]
    # Several letters may be written as one word.
    for at, word in enumerate(rest):
        if (match := _CURL_DATA_LETTERS.fullmatch(word)) and not word.startswith("--"):
            values += [match[1]] if match[1] else rest[at + 1 : at + 2]
    files = [match[1] for value in values for match in _FORM_FILE.finditer(value)]
    reads_input = "-" in (*files, *uploads) or (program.name == "curl" and "." in uploads)
    addresses = [word for word in list_operands(rest) if UNKNOWN in word.partition("?")[2]]
    return NetworkSink([*files, *uploads], [*values, *addresses], sends_input=reads_input)


def _read_wget(_: Started, rest: list[str]) -> NetworkSink:
    files = [word.partition("=")[2] for word in rest if re.match(r"--(?:post-f|body-f)[a-z]*=", word)]
    files += find_option_values(rest, "--post-file", "--body-file")
    texts = find_option_values(rest, "--post-data", "--body-data")
    addresses = [word for word in list_operands(rest) if UNKNOWN in word.partition("?")[2]]
    return NetworkSink(files, [*texts, *addresses], sends_input="-" in files)


def _read_http(_: Started, rest: list[str]) -> NetworkSink:
    """`http`, `https`, `xh`: `field@file`, `field=@file`, or what they read."""
    files = [word.partition("@")[2] for word in list_operands(rest) if re.search(r"^[\w.-]*(?:=|:=)?@", word)]
    return NetworkSink(files, [word for word in rest if "=" in word], sends_input="--ignore-stdin" not in rest)


def _read_copy(_: Started, rest: list[str]) -> NetworkSink | None:
    """`scp`, `rsync`, `rclone`: from this machine to another one."""
    operands = list_operands(rest)
    lists = find_option_values(rest, "--files-from", "-T")
    values = find_option_values(rest, "-e", "--rsh", "-i", "-P", "-F", "-o", "-l")
    operands = [word for word in operands if word not in values]
    if len(operands) > 1 and operands[0] in ("copy", "copyto", "sync", "move", "moveto"):
        operands = operands[1:]
    if len(operands) < 2 or not _REMOTE_PATH.match(operands[-1]):
        return None
    if not {"--no-recursive", "--no-r"}.isdisjoint(rest) and {"-d", "--dirs", "-r", "--recursive"}.isdisjoint(rest):
        operands = [word for word in operands if not word.endswith("/")]
    return NetworkSink([*(word for word in operands[:-1] if not _REMOTE_PATH.match(word)), *lists])


def _read_bucket(_: Started, rest: list[str]) -> NetworkSink | None:
    """`aws s3 cp`, `gsutil cp`, `gcloud storage cp`, `az storage blob upload`, `mc cp`, `s3cmd put`."""
    operands = list_operands(rest)
    verbs = {"cp", "mv", "sync", "put", "upload", "rsync", "upload-batch", "put-object", "upload-file", "copy"}
    at = next((at for at, word in enumerate(operands[:4]) if word in verbs), -1)
    if at < 0:
        return None
    files = [word for word in operands[at + 1 :][:-1] if "://" not in word]
    files += find_option_values(rest, "--file", "-f", "--body", "--source", "-s")
    return NetworkSink(files, sends_input="-" in operands)


def _read_gist(_: Started, rest: list[str]) -> NetworkSink | None:
    """`gh gist create`, `glab snippet create`, and texts of issues and comments from files."""
    operands = list_operands(rest)
    files = find_option_values(rest, "--body-file", "-F", "--notes-file", "--input")
    if operands[:2] in (["gist", "create"], ["snippet", "create"], ["gist", "edit"]):
        return NetworkSink([*operands[2:], *files], sends_input=operands[2:] in ([], ["-"]))
    is_text = operands[:1] in (["issue"], ["pr"], ["release"], ["api"], ["mr"])
    texts = find_option_values(rest, "--body", "-b", "--notes", "--message", "-m")
    return NetworkSink(files, texts) if is_text and (files or texts) else None


def _read_streams(program: Started, rest: list[str]) -> NetworkSink | None:
    """`nc`, `telnet`, `ssh` with a command, `mail`: they send what they read."""
    operands = list_operands(rest)
    if program.name in ("ssh", "sshpass"):
        behind = skip_options(rest, "-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w -B -I")
        # With `-n` it reads nothing.
        is_reading = not any(
            re.fullmatch(r"-[1246AaCfGgKkMNnqsTtVvXxYy]*n[1246AaCfGgKkMNnqsTtVvXxYy]*", one) for one in rest
        )
        return NetworkSink([], behind[1:], sends_input=is_reading) if operands else None
    files = find_option_values(rest, "-a", "--attach", "-A")
    texts = find_option_values(rest, "-s") if program.name in _MAIL else []
    return NetworkSink(files, texts, sends_input=bool(operands) or "-l" in rest)


def _read_socat(_: Started, rest: list[str]) -> NetworkSink | None:
    addresses = list_operands(rest)
    if not any(
        re.search(r"(?i)\b(?:tcp|udp|openssl|ssl|vsock|sctp|socks|proxy|fd|exec|dccp)\w*[-\w]*:", one)
        for one in addresses
    ):
        return None
    parts = [part.strip("'\"") for one in addresses for part in re.split(r"[:,!\s]+", one)]
    folders = [one.partition("=")[2] for one in parts if one.startswith(("chdir=", "cd="))]
    plain = [part for part in parts if part]
    return NetworkSink([*plain, *(f"{folder}/{part}" for folder in folders for part in plain)], sends_input=True)


def _read_lookup(_: Started, rest: list[str]) -> NetworkSink:
    """`dig`, `nslookup`, `ping`: a name that is asked for goes to other machines."""
    return NetworkSink([], [word for word in list_operands(rest) if UNKNOWN in word])


def _read_send(_: Started, rest: list[str]) -> NetworkSink:
    """`croc send`, `wormhole send`, `transfer`: the files behind the verb."""
    operands = list_operands(rest)
    return NetworkSink(operands[1:] if operands[:1] in (["send"], ["put"], ["share"]) else operands, sends_input=True)


def _read_tape(program: Started, rest: list[str]) -> NetworkSink | None:
    """`tar` to the tape of another machine, by its option or by the variables that it reads."""
    scope = program.scope
    own = dict(program.variables)
    files = find_option_values(rest, "-f", "--file")
    files += [rest[at + 1] for at, word in enumerate(rest[:-1]) if re.fullmatch(r"-?[A-Za-z]*f", word)]
    names = ("TAR_OPTIONS",) if files or "--force-local" in rest else ("TAR_OPTIONS", "TAPE")
    values = [own.get(name) or (scope.look_up(name) if scope else "") for name in names]
    texts = [word for value in values if value and value != UNKNOWN for word in value.split()]
    was_set = scope is not None and any(name in scope.variables or name in scope.choices for name in names)
    targets = [*files, *texts, *find_option_values(texts, "--file")]
    is_remote = any(_REMOTE_PATH.match(one) and "/" in one for one in targets)
    return NetworkSink(list_operands(rest)) if is_remote or was_set else None


_MAIL = ("mail", "mailx", "mutt", "sendmail", "s-nail", "msmtp", "swaks")
_SINKS: dict[str, Callable[[Started, list[str]], NetworkSink | None]] = {
    **dict.fromkeys(("curl", "curlie"), _read_curl),
    "wget": _read_wget,
    **dict.fromkeys(("http", "https", "xh", "xhs"), _read_http),
    **dict.fromkeys(("scp", "rsync", "rclone", "pscp"), _read_copy),
    **dict.fromkeys(("aws", "gsutil", "gcloud", "az", "mc", "s3cmd", "s5cmd", "b2", "azcopy", "ossutil"), _read_bucket),
    **dict.fromkeys(("gh", "glab"), _read_gist),
    **dict.fromkeys(
        ("nc", "ncat", "netcat", "telnet", "ssh", "sshpass", "ftp", "lftp", "tftp", "sftp", *_MAIL), _read_streams
    ),
    **dict.fromkeys(("websocat", "pastebinit", "gist", "ix", "termbin", "wgetpaste"), _read_send),
    "socat": _read_socat,
    **dict.fromkeys(("dig", "nslookup", "host", "ping", "drill", "getent"), _read_lookup),
    **dict.fromkeys(("croc", "wormhole", "transfer", "magic-wormhole", "ffsend", "ipfs"), _read_send),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _read_tape),
}
