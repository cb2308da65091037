"""Serve the page on this machine, open a browser, and end: at once with Ctrl-C, or when it has had no reader for a while."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.page.access import TICKET_SECONDS, RedirectFile
from boathook.page.new_windows import NewWindows
from boathook.page.page_app import make_app
from boathook.page.page_context import PageContext
from boathook.page.page_terminal import open_page_terminal
from boathook.page.request_check import RequestCheck
from boathook.permits.ask_listeners import register_listener

if TYPE_CHECKING:
    from uvicorn import Server

LOOPBACK = "127.0.0.1"
# Where `ssh -L` leads a browser to, if the page is on a socket and no port is asked for.
TUNNEL_PORT = 8471
UNREAD_SECONDS = 30 * 60.0
# How often the page looks whether it has a reader.
_LOOK_SECONDS = 0.5


class PageOptions(Value):
    project: str | None
    given_state: str | None = None
    port: int = 0
    socket_path: str = ""
    can_open: bool = True
    idle_seconds: float = UNREAD_SECONDS


def open_page_socket(port: int, path: str) -> socket.socket:
    """Return a socket that listens: on the loopback address, or a private one at a path."""
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if path:
            _bind_private(listener, path)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        where = path or f"{LOOPBACK}:{port}"
        other = "another path" if path else "another --port, or none for any free one"
        raise ConfigError(f"the page cannot use {where} ({error.strerror or error}). Choose {other}") from None
    return listener


def _bind_private(listener: socket.socket, path: str) -> None:
    _remove_dead_socket(path)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)


def _remove_dead_socket(path: str) -> None:
    """Remove a socket that a page left which was killed; anything else stays."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            return


def serve_page(options: PageOptions, echo: Callable[[str], None]) -> int:
    """Serve until a person ends it or nobody reads any more; `echo` prints a line for the person."""
    listener = open_page_socket(options.port, options.socket_path)
    port = (options.port or TUNNEL_PORT) if options.socket_path else listener.getsockname()[1]
    terminal = open_page_terminal()
    context = PageContext(f"http://{LOOPBACK}:{port}", options.project, options.given_state, terminal)
    server = make_server(context)
    redirect = RedirectFile()
    context.when_opened(redirect.remove)
    opener = PageOpener(context, redirect, options, port, echo)
    windows = NewWindows(context.state, port, opener.describe_address)
    context.index.start()
    try:
        # The page works without.
        with contextlib.suppress(OSError, ConfigError):
            windows.start(lambda path: open_page_socket(0, path))
        with _handle_signals(), QuestionListener(context) as questions:
            asyncio.run(_serve(server, listener, context, opener, questions, options.idle_seconds))
    except KeyboardInterrupt:
        pass
    finally:
        windows.close()
        context.close()
        redirect.close()
        if options.socket_path:
            with contextlib.suppress(OSError):
                os.unlink(options.socket_path)
    return 0


class QuestionListener(contextlib.ExitStack):
    """Lets hooks wait for answers while a browser shows the page, if a person can answer there: else no one sees them."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context, self._is_listening = context, False

    def update(self) -> None:
        """Begin or stop to listen."""
        is_wanted = self._context.has_reader()
        if is_wanted == self._is_listening or (is_wanted and self._context.check.terminal.obstacle):
            return
        self.close()
        self._is_listening = is_wanted
        if is_wanted:
            # The page works without.
            with contextlib.suppress(OSError):
                self.enter_context(register_listener(self._context.state))


@contextlib.contextmanager
def _handle_signals() -> Iterator[None]:
    """Clean up also if the process is asked to end, and do not let a shell stop it, which reading its terminal would do."""
    wanted: dict[int, Any] = {signal.SIGTERM: signal.default_int_handler, signal.SIGTTIN: signal.SIG_IGN}
    # Nor may it be stopped when it shows a code.
    wanted[signal.SIGTTOU] = signal.SIG_IGN
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_server(context: PageContext) -> Server:
    from uvicorn import Config, Server

    from boathook.page.page_protocol import MAX_PENDING_CONNECTIONS, PageProtocol

    protocol: Any = partial(PageProtocol, untrusted={})
    app: Any = RequestCheck(make_app(context), context.origin, context.is_token, context.note_reader)
    # No log of requests, and nothing in an answer that names the server. `RequestCheck` knows HTTP alone, so that there are no
    # web sockets and no messages about the start and the end.
    return Server(
        Config(
            app,
            http=protocol,
            backlog=MAX_PENDING_CONNECTIONS,
            access_log=False,
            log_level="error",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=1,
            timeout_keep_alive=30,
        )
    )


async def _serve(
    server: Server,
    listener: socket.socket,
    context: PageContext,
    opener: PageOpener,
    questions: QuestionListener,
    idle_seconds: float,
) -> None:
    context.when_closing(lambda: server.should_exit)
    serving = asyncio.ensure_future(_run_server(server, listener))
    # It may take a moment until a browser is there, and somebody may connect before the server does anything.
    threading.Thread(target=opener.start, name="boathook-page-opener", daemon=True).start()
    while not serving.done():
        questions.update()
        if context.find_idle_seconds() > idle_seconds:
            opener.echo(f"Ended: nobody has read the page for {idle_seconds / 60:g} minutes.")
            server.should_exit = True
        await asyncio.wait([serving], timeout=min(_LOOK_SECONDS, max(idle_seconds / 10, 0.05)))
    await serving


async def _run_server(server: Server, listener: socket.socket) -> None:
    # When it has ended, it raises the signals that it got meanwhile once more.
    with contextlib.suppress(KeyboardInterrupt):
        await server.serve(sockets=[listener])


class PageOpener:
    """Shows the person how to open the page, and opens it where there is a browser."""

    def __init__(
        self,
        context: PageContext,
        redirect: RedirectFile,
        options: PageOptions,
        port: int,
        echo: Callable[[str], None],
    ) -> None:
        self._context, self._redirect, self._options, self._port = context, redirect, options, port
        self.echo = echo

    def open(self) -> None:
        if self._options.can_open and can_show_browser(os.environ) and not self._options.socket_path:
            self._open_browser()
        else:
            self._print_address()

    def _open_browser(self) -> None:
        import webbrowser

        path = self._redirect.write(self._context.make_address())
        timer = threading.Timer(TICKET_SECONDS, self._redirect.remove)
        # Nothing waits for it at the end.
        timer.daemon = True
        timer.start()
        self.echo(f"Opening {self._context.origin}/ in your browser (Ctrl-C ends the page).")

        def start_browser() -> None:
            # Some browsers end only when their last window is closed.
            if not webbrowser.open(f"file://{path}"):
                self._print_address()

        threading.Thread(target=start_browser, name="boathook-page-browser", daemon=True).start()

    def _print_address(self) -> None:
        self.echo(self.describe_address())

    def describe_address(self) -> str:
        """Return a new address for the person, and how to reach it from another machine."""
        tunnel = describe_tunnel(os.environ, self._port, self._options.socket_path)
        return "\n".join((*tunnel, f"Open within a minute, once: {self._context.make_address()}"))

    def start(self) -> None:
        """Open the page, and another window whenever the person presses Enter: an address works only once."""
        # The address is the last line: it is what the person needs now.
        self.echo(self._describe_answers())
        self.open()
        if not sys.stdin.isatty():
            return
        self.echo("Press Enter for another window, Ctrl-C to end the page.")
        with contextlib.suppress(OSError, ValueError):
            while sys.stdin.readline():
                self.open()

    def _describe_answers(self) -> str:
        """Return whether a person can answer questions of hooks on the page."""
        if obstacle := self._context.check.terminal.obstacle:
            return f"Nothing can be decided on this page: {obstacle}. Answer in a terminal of your own: boathook asks"
        always = 'with ask = "wait" in your hooks.toml, always'
        return f"Calls that hooks ask about wait for your answer while a browser shows this page ({always})."


def can_show_browser(environ: Mapping[str, str]) -> bool:
    """Whether a browser that is started here is seen by the person."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    has_display = any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return has_display or sys.platform == "darwin"


def describe_tunnel(environ: Mapping[str, str], port: int, socket_path: str) -> list[str]:
    """Return how to reach the page from another machine, if the person is on one; [] if not."""
    words = environ.get("SSH_CONNECTION", "").split()
    if len(words) != 4 and not socket_path:
        return []
    target = os.path.abspath(socket_path) if socket_path else f"{LOOPBACK}:{port}"
    machine = words[2] if len(words) == 4 else socket.gethostname()
    with contextlib.suppress(OSError, KeyError):
        machine = f"{getpass.getuser()}@{machine}"
    return [f"On your own machine, first: ssh -N -L {port}:{target} {machine}"]
