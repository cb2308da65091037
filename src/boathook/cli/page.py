"""`boathook page`: what hooks do, in a browser."""

from __future__ import annotations

import importlib.util
import os

import click

from boathook.assembly import resolve_start, resolve_state
from boathook.cli.common_options import project_option, state_option
from boathook.cli.person import require_person
from boathook.cli.show import echo_lines
from boathook.errors import ConfigError
from boathook.system.extras import suggest_packages

_PACKAGES = ("starlette", "uvicorn")


@click.command("page")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Use this port; any free one without."
)
@click.option(
    "--socket", "socket_path", type=click.Path(), default="", metavar="PATH", help="Use a private socket for `ssh -L`."
)
@click.option("--open", "is_another", is_flag=True, help="Print another address of the page that runs already.")
@click.option("--no-open", is_flag=True, help="Print the address, and do not open a browser.")
@project_option
@state_option
def open_page(
    port: int, socket_path: str, is_another: bool, no_open: bool, project: str | None, state: str | None
) -> int:
    """Show what hooks do, in a browser.

    It shows what needs you, events as they come, the whole of each record, what each hook does in each agent, sessions,
    and what your hooks of today would decide about recorded events. You can answer questions of hooks and trust hooks
    there, with a code that this terminal shows; for everything else the page shows the command to copy. Without `ask` in
    your hooks.toml, calls wait for your answer only while a browser shows the page.

    It answers on this machine only, to the browser that opened it. The address works once, within a minute; for another
    window press Enter, or run `boathook page --open` in another terminal. The page ends with Ctrl-C, or after 30 minutes
    without a reader. It needs the extra `page`.

    \b
    Examples:
      boathook page
      boathook page --no-open --port 8471
      boathook page --socket ~/.boathook-page.sock
      boathook page --open
    """
    if is_another:
        return _print_another_address(port, socket_path, state)
    if any(importlib.util.find_spec(name) is None for name in _PACKAGES):
        raise ConfigError(
            f"`boathook page` needs packages that are not installed. Install them: {suggest_packages('page')}"
        )
    from boathook.page.page_server import PageOptions, serve_page

    # Raises an error if it is not a folder.
    folder = resolve_start(project) if project is not None else None
    options = PageOptions(folder, state, port, os.path.expanduser(socket_path), can_open=not no_open)
    return serve_page(options, echo_lines)


def _print_another_address(port: int, socket_path: str, state: str | None) -> int:
    from boathook.page.new_windows import request_address

    if socket_path:
        raise click.UsageError("--open is for a page that runs, --socket is for a new one")
    require_person(state, is_answer=True)
    echo_lines(request_address(resolve_state(state), port))
    return 0
