"""Which programs hand the input that they read on to what they start, such as `docker exec -i` and `ssh`."""

from __future__ import annotations

import re

from boathook.core.value import Value
from boathook.shell.code_commands import READS_OWN_COMMANDS
from boathook.shell.code_input import reads_code_from_stdin
from boathook.shell.inner_commands import InnerCommand
from boathook.shell.replaced_words import PARALLEL_PIPES
from boathook.shell.started_program import Started


class InputRow(Value):
    """A program hands its input on with one of the options that it `needs`, and without those with which it `refuses`."""

    needs: str = ""
    refuses: str = ""


_NEVER = InputRow(needs=r"(?!)")
# Letters of options that take no value may be together in one word.
_CONTAINER = InputRow(needs=r"-[ditPq]*i[ditPq]*|--interactive(?:=true)?")
_CLUSTER = InputRow(needs=r"-[itq]*i[itq]*|--stdin(?:=true)?")
# All other programs hand their input on.
_ROWS: dict[str, InputRow] = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), _CONTAINER),
    **dict.fromkeys(("kubectl", "oc", "k3s", "microk8s"), _CLUSTER),
    "ssh": InputRow(refuses=r"-[46AaCfGgKkMNnqsTtVvXxYy]*[fn][46AaCfGgKkMNnqsTtVvXxYy]*"),
    "adb": InputRow(refuses=r"-[nTtx]*n[nTtx]*"),
    "parallel": InputRow(needs=PARALLEL_PIPES),
    **dict.fromkeys(("pssh", "parallel-ssh"), InputRow(needs=r"-I|--send-input")),
    **dict.fromkeys(("xargs", "gxargs"), _NEVER),
}
# What these start reads something else, which may come from the same programs, or is started later.
_CHANGES_INPUT = frozenset(
    (
        *("fd", "fdfind", "rg", "entr", "watch", "watchexec", "onchange", "nodemon", "fzf", "tmux", "screen", "trap"),
        *("tar", "bsdtar", "gtar", "rsync", "scp", "sftp", "zip", "split", "sort", "man", "less", "wget", "rclone"),
        *("nc", "ncat", "netcat", "socat", "expect", "start-stop-daemon", "at", "batch", "crontab", "alias"),
        *("pdsh", "salt", "clush", "ansible", "mosh"),
        *READS_OWN_COMMANDS,
    )
)
# Compose hands the input on by itself.
_COMPOSE = "compose"


def hands_input_on(started: Started, command: InnerCommand) -> bool:
    """Whether what a program starts reads what the program itself is connected to."""
    if started.input_text and command.text == started.input_text:
        return False
    row = _ROWS.get(started.name)
    if row is None:
        return True
    own = _list_own_words(started, command)
    if row is _CONTAINER and _COMPOSE in own:
        return True
    is_refused = bool(row.refuses) and any(re.fullmatch(row.refuses, word) for word in own)
    return not is_refused and (not row.needs or any(re.fullmatch(row.needs, word) for word in own))


def hands_text_on(started: Started, command: InnerCommand) -> bool:
    """Whether what a program starts reads the same text that was meant for the program itself."""
    is_used = started.name in _CHANGES_INPUT or reads_code_from_stdin(started)
    return not is_used and hands_input_on(started, command)


def _list_own_words(started: Started, command: InnerCommand) -> tuple[str, ...]:
    """Return the words of a program that are before the command that it starts."""
    words = started.words[1:]
    if "--" in words:
        return words[: words.index("--")]
    count = len(command.words)
    if count and words[-count:] == command.words:
        return words[:-count]
    # The last words may be a text together.
    chars = len(command.text) if " ".join(words).endswith(command.text) else 0
    end = len(words)
    while end and chars > 0:
        end -= 1
        chars -= len(words[end]) + 1
    return words[:end]
