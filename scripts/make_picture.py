"""Make the picture of the README from what real commands print in a terminal; with --check, say whether it is up to date.

The commands run in a pseudo terminal, in a scratch home. Times and the name of the scratch folder are replaced,
so that the same commands make the same picture.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

TOP = Path(__file__).resolve().parent.parent
PICTURE = TOP / "docs/images/session.svg"
COLUMNS = 100
# The commands see a wide terminal: where they fold a line would depend on the digits of a time.
WIDE_COLUMNS = 1000
# Lines are folded as the agent folds them: beside its labels.
LABEL_COLUMNS = 10
# Everything that happens, and whether the picture shows it.
SESSION = (
    ("git init -q -b main", False),
    ("boathook pack add boathook/standard --yes", False),
    (f"cp {TOP}/examples/scripts/make-room.json .", False),
    ('boathook agent "Make room on the disk" --script make-room.json --yes', True),
)
THEME = TerminalTheme(
    (24, 27, 33),
    (208, 212, 220),
    [
        *((24, 27, 33), (240, 113, 120), (152, 195, 121), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 182, 194), (208, 212, 220)),
    ],
)
# rich's own frame, without the fonts that it would load from elsewhere.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<!-- made by scripts/make_picture.py: run `make picture` -->
<title>An agent under hooks</title>
<desc>%s</desc>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> int:
    """Write or check the picture; return the exit code."""
    text = draw_session(record_session())
    if "--check" not in sys.argv:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(text, encoding="utf-8")
        return 0
    is_current = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == text
    if not is_current:
        print(f"{PICTURE.relative_to(TOP)} does not show what the commands print today: run `make picture`")
    return 0 if is_current else 1


def record_session() -> str:
    """Run the commands; return what a person would see, with the codes of the terminal."""
    parts = []
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, "home/app")
        project.mkdir(parents=True)
        environment = {
            "HOME": str(project.parent),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        for command, is_shown in SESSION:
            printed = run_in_terminal(command, project, environment)
            if is_shown:
                parts.append(f"\x1b[1m$ {command}\x1b[0m\n{replace_chance(printed, str(project.parent))}")
    return "".join(parts)


def run_in_terminal(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a command in a pseudo terminal; return what it printed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDE_COLUMNS, 0, 0))
    with subprocess.Popen(
        ["bash", "-euc", command], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        printed = b""
        # At the end of the last process, Linux reports an error and macOS the end of the file.
        try:
            while data := os.read(ours, 65536):
                printed += data
        except OSError:
            pass
        os.close(ours)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {command}\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def replace_chance(text: str, home: str) -> str:
    """Return the text without what differs from run to run: times, and the scratch home."""
    return re.sub(r"\b\d+(?:\.\d+)? (m?s)\b", r"… \1", text).replace(home, "/home/you")


def draw_session(recorded: str) -> str:
    """Return the picture of a session, as SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    text = fold_lines(console, Text.from_ansi(recorded))
    console.print(text)
    frame = FRAME % html.escape(text.plain).replace("{", "{{").replace("}", "}}")
    drawn = console.export_svg(title="boathook", theme=THEME, code_format=frame, unique_id="session")
    return "".join(f"{line.rstrip()}\n" for line in drawn.splitlines())


def fold_lines(console: Console, text: Text) -> Text:
    """Return the text with lines of at most COLUMNS characters."""
    lines = []
    for line in text.split("\n", allow_blank=True):
        label, rest = line.divide([LABEL_COLUMNS]) if len(line) > COLUMNS else (line, Text())
        first, *others = rest.wrap(console, COLUMNS - LABEL_COLUMNS) or [Text()]
        lines += [label + first, *(Text(" " * LABEL_COLUMNS) + other for other in others)]
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def read_transcript(picture: str) -> str:
    """Return the text of a picture."""
    match = re.search(r"<desc>(.*?)</desc>", picture, re.DOTALL)
    return html.unescape(match[1]) if match else ""


if __name__ == "__main__":
    sys.exit(main())
