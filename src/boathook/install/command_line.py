"""The command that an agent runs for each event."""

from __future__ import annotations

import sys

from boathook.core.value import Value
from boathook.core.verdict import Exit
from boathook.dialects.agent_host import AgentHost
from boathook.errors import ConfigError
from boathook.hosts.setup import Setup
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.installed_line import HOOK_ENTRY_PATH, parse_command, write_installed_line
from boathook.sources.own_commands import find_own_path, has_own_command

# What `hook_entry` replaces by the reason, in the answer that the command has for it.
_REASON = "REASON"


class CallContext(Value):
    """What every command contains: the user's folders by their options, and what to do if boathook cannot start."""

    folders: dict[str, str]
    repair: str
    # Whether tool calls are refused then.
    refuses: bool = True
    # The client of the warm engine, if that is on.
    client: str = ""
    is_warm: bool = False


def make_command(setup: Setup, event: str, context: CallContext) -> list[str]:
    """Return the command; it names the user's folders by their options, so that no variable of a host moves them."""
    words = [
        *(sys.executable, "-I", "-S", HOOK_ENTRY, "--host", setup.name, "--event", event),
        *[word for option, path in context.folders.items() for word in (f"--{option}", path)],
        *[word for source in setup.runs_itself for word in ("--without", source)],
        *(("--engine", "warm") if context.is_warm else ()),
        *("--repair", context.repair, "--broken", make_broken_form(setup, event, context)),
    ]
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        error = "a path of this installation is not UTF-8, so the configuration of an agent cannot hold it"
        raise ConfigError(error) from None
    return words


def make_broken_form(setup: Setup, event: str, context: CallContext) -> str:
    """Return how `hook_entry` answers an event if it cannot start: an exit code, or JSON in which it replaces REASON."""
    answer = _answer_broken(setup, event, _REASON, context)
    return str(answer.code) if answer.code else answer.stdout.decode().rstrip("\n")


def describe_missing(context: CallContext) -> str:
    cause = f"{sys.executable} or its package is missing"
    return f"boathook cannot start ({cause}), so no hook was asked. Fix: {context.repair}"


def make_command_line(setup: Setup, event: str, context: CallContext) -> str:
    words = make_command(setup, event, context)
    fallback = _answer_broken(setup, event, describe_missing(context), context)
    return write_installed_line(words, fallback, setup.unless_variable, context.client)


def _answer_broken(setup: Setup, event: str, reason: str, context: CallContext) -> Exit:
    return AgentHost(setup.name).answer_broken(event, reason, refuses=context.refuses)


def is_installed_command(text: object, host: str) -> bool:
    command = parse_command(text)
    return command is not None and command.host == host


def is_unmanaged_command(text: str, host: str) -> bool:
    """Whether a command calls boathook but was not installed for a host, or does more than an installed one."""
    if is_installed_command(text, host):
        return False
    return has_own_command(text) or (" --host " in text and bool(HOOK_ENTRY_PATH.search(find_own_path(text))))
