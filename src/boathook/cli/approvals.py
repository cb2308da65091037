"""`boathook approvals`: the second factor of a person's answers."""

from __future__ import annotations

import getpass
import socket
import time
from contextlib import suppress

import click

from boathook.assembly import locate
from boathook.cli.common_options import state_option
from boathook.cli.person import NO_TERMINAL, require_person
from boathook.cli.show import echo
from boathook.cli.terminal import Terminal, open_terminal
from boathook.core.catalog import Settings
from boathook.core.hook import USER
from boathook.errors import ConfigError
from boathook.loader import UNTRUSTED_FOLDER, UNTRUSTED_FOLDER_FIX
from boathook.permits.factors import (
    FactorAnswer,
    check_factor,
    describe_no_factor,
    find_factor_problem,
    has_factor,
    is_code_needed,
)
from boathook.permits.totp import (
    FactorError,
    encode_secret,
    find_step,
    has_secret,
    make_app_address,
    make_secret,
    read_code,
    use_code,
    write_secret,
)
from boathook.sources.hooks_toml import build_settings, read_hooks_toml
from boathook.system.locations import Locations

_MAX_TRIES = 3
_CODE_QUESTION = "The code that your authenticator app shows"
_NOTHING_CHANGED = "Nothing was changed"


@click.group("approvals")
def approvals_group() -> None:
    """Set up the second factor of your answers.

    Hooks with `ask: strong` want more than a yes at a terminal: a code of an authenticator app, or a program of yours
    that asks. You choose it in your hooks.toml, under [hooks.approvals].
    """


@approvals_group.command("status")
@state_option
def show_approvals(state: str | None) -> int:
    """Show which second factor is set, and whether it works.

    \b
    Exit codes: 0 it works, 1 it does not, or none is set.
    """
    locations = locate(state=state)
    settings = read_user_settings(locations)
    problem = find_factor_problem(settings, locations.state) if has_factor(settings) else describe_no_factor()
    if problem:
        echo(f"{problem[0].upper()}{problem[1:]}", "yellow")
        return 1
    echo(f"The second factor is {settings.factor}, and it can be used.", "green")
    return 0


@approvals_group.command("totp")
@state_option
def connect_app(state: str | None) -> int:
    """Connect an authenticator app, whose codes are the second factor.

    You are shown a secret once, for the app, and type a code of it to confirm. If an app is connected already, you type
    a code of that one first. The secret is kept in a file that only you can read: this stops mistakes, and an agent
    that helps itself, but not a program that reads your files.

    You need a terminal of your own: an agent cannot do it, and there is no --yes.

    \b
    Exit codes: 0 the app is connected, 1 it is not.
    """
    require_person(state)
    locations = locate(state=state)
    with open_terminal() as terminal:
        if terminal is None:
            raise ConfigError(f"{_NOTHING_CHANGED}: {NO_TERMINAL}. Run this in a terminal of your own")
        if has_secret(locations.state) and (reason := _ask_old_code(terminal, locations.state)):
            raise ConfigError(f"{_NOTHING_CHANGED}: {reason}")
        is_connected = _connect(terminal, locations.state)
    if not is_connected:
        echo(f"{_NOTHING_CHANGED}: no code was right.", err=True)
        return 1
    echo("The app is connected. Each of its codes counts once.", "green")
    if read_user_settings(locations).factor != "totp":
        where = f"{locations.config or '~/.config/agents'}/hooks.toml"
        echo(f'To use it, write factor = "totp" under [hooks.approvals] in {where}')
    return 0


def _ask_old_code(terminal: Terminal, state: str) -> str:
    terminal.write("An app is connected already. To replace it, type a code of that one first.\n")
    return use_code(state, terminal.ask("The code of the app that is connected now"))


def _connect(terminal: Terminal, state: str) -> bool:
    """Show a new secret and ask for a code of it; return whether it is kept."""
    secret = make_secret()
    # Only at the terminal: standard output may be a file.
    terminal.write(f"Add this to your authenticator app; it is shown only now:\n\n  {encode_secret(secret)}\n\n")
    terminal.write(f"or as an address:\n\n  {make_app_address(secret, _name_account())}\n\n")
    for _ in range(_MAX_TRIES):
        step = find_step(secret, read_code(terminal.ask(_CODE_QUESTION)), time.time())
        if step is not None:
            try:
                write_secret(state, secret, step)
            except (OSError, FactorError) as error:
                raise ConfigError(f"{_NOTHING_CHANGED}: the secret could not be kept ({error})") from None
            return True
        terminal.write("That is not its code. Check the clock of this machine and of the app.\n")
    return False


def _name_account() -> str:
    with suppress(OSError, KeyError):
        return f"{getpass.getuser()}@{socket.gethostname()}"
    return socket.gethostname()


def read_user_settings(locations: Locations) -> Settings:
    """Return the settings of the user's hooks.toml. One that is ignored hides whether a second factor is set."""
    if not locations.config:
        return Settings(factor_mistake=f"{UNTRUSTED_FOLDER}. Fix: {UNTRUSTED_FOLDER_FIX}")
    return build_settings(read_hooks_toml(f"{locations.config}/hooks.toml", USER))


def ask_code(terminal: Terminal, settings: Settings) -> str:
    """Ask for the code of the second factor, if it has one; "" if not."""
    return terminal.ask(_CODE_QUESTION) if is_code_needed(settings) else ""


def ask_factor(terminal: Terminal, state: str | None, question_text: str) -> tuple[str, str]:
    """Check the second factor of a person at a terminal; return "" if it holds, else the reason, and what identifies it."""
    locations = locate(state=state)
    settings = read_user_settings(locations)
    code = ask_code(terminal, settings)
    return check_factor(settings, locations.state, FactorAnswer(question_text, code)), settings.factor_id
