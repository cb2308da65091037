"""`boathook new`: a hook that passes the strict check and works as it is."""

from __future__ import annotations

import os
import re
import shlex

import click

from boathook.assembly import project_of
from boathook.cli.common_options import EVENT, project_option
from boathook.cli.show import say
from boathook.core.event import EventKind, find_kind
from boathook.core.matcher import compile_pattern
from boathook.core.tool_names import KNOWN_TOOLS
from boathook.errors import ConfigError
from boathook.sources.hook_md.manifest import name_fault
from boathook.system.locations import agents_dir, read_environment

BLOCK_SH = """\
#!/bin/sh
# The event comes as one line of JSON on standard input. The matcher in HOOK.md has picked it already.
# exit 2 blocks, with the reason on stderr; exit 0 lets it pass.
echo "blocked by the hook '{name}': edit scripts/run.sh to decide more finely" >&2
exit 2
"""
NOTE_SH = """\
#!/bin/sh
# The event comes as one line of JSON on standard input.
# exit 0 lets it pass; exit 2 blocks it, with the reason on stderr. Text on standard output becomes context for the agent.
event=$(cat)
echo "{name} saw $AGENT_HOOK_EVENT (${{#event}} characters)" >&2
exit 0
"""
BLOCK_PY = '''\
#!/usr/bin/env python3
"""Decides about an event: exit 2 blocks, with the reason on stderr; exit 0 lets it pass."""

import json
import sys

event = json.load(sys.stdin)
tool_input = event.get("tool_input", {{}})
print(f"blocked by the hook '{name}': edit scripts/run.py to decide more finely", file=sys.stderr)
sys.exit(2)
'''
NOTE_PY = '''\
#!/usr/bin/env python3
"""Looks at an event: exit 0 lets it pass; exit 2 blocks it, with the reason on stderr."""

import json
import sys

event = json.load(sys.stdin)
print(f"{name} saw {{event['event_type']}}", file=sys.stderr)
sys.exit(0)
'''
SCRIPTS = {("sh", True): BLOCK_SH, ("sh", False): NOTE_SH, ("py", True): BLOCK_PY, ("py", False): NOTE_PY}


@click.command("new")
@click.argument("name")
@click.option("--event", required=True, type=EVENT, help="The event it runs on.")
@click.option("--tool", metavar="REGEX", help="Only for tools whose name matches.")
@click.option("--pattern", metavar="REGEX", help="Only for tool inputs that match; the new hook blocks them.")
@click.option(
    "--lang", type=click.Choice(["sh", "py"]), default="sh", show_default=True, help="Language of the script."
)
@click.option("--user", is_flag=True, help="For all your projects instead of this one.")
@project_option
def create_hook(
    name: str, event: str, tool: str | None, pattern: str | None, lang: str, user: bool, project: str | None
) -> int:
    """Create a hook that works as it is.

    Existing files are never overwritten.

    \b
    Examples:
      boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'
      boathook new greet --event pre-session --lang py --user
    """
    if wrong := name_fault(name):
        raise ConfigError(f"the name {wrong}")
    kind = find_kind(event)
    if (tool or pattern) and not kind.has_tool:
        raise ConfigError(f"{kind.name} has no tool, so --tool and --pattern cannot be used with it")
    for source in (tool, pattern):
        compile_pattern(source or "")
        if any(ord(char) < 32 for char in source or ""):
            raise ConfigError("a pattern cannot hold control characters or line breaks; write them as \\n, \\t …")
    folder = f"{_root(project, user=user)}/{name}"
    if os.path.lexists(folder):
        raise ConfigError(f"{folder} exists already")
    blocks = pattern is not None and kind.is_pre
    script = f"{folder}/scripts/run.{lang}"
    os.makedirs(os.path.dirname(script))
    _write(f"{folder}/HOOK.md", manifest_text(name, kind, event, tool, pattern, blocks=blocks))
    _write(script, SCRIPTS[lang, blocks].format(name=name))
    os.chmod(script, 0o755)  # noqa: S103
    does = (
        "blocks what its matcher picks"
        if blocks
        else "lets everything pass and notes what it saw (run --debug shows it)"
    )
    say(f"made {os.path.relpath(folder)}: it {does}", "green")
    say(f"  edit   {os.path.relpath(script)}")
    say(f"  check  boathook check {os.path.relpath(folder)}")
    if not user:
        say(f"  trust  boathook trust {name}")
    say(f"  try    boathook explain {event}{_example(tool, pattern)}")
    return 0


def _example(tool: str | None, pattern: str | None) -> str:
    """Return options that show the hook at work, as far as they can be guessed."""
    name = next((known for known in KNOWN_TOOLS if tool and re.search(tool, known)), tool)
    said = f" --tool {shlex.quote(name)}" if name else ""
    return said + (""" --input '{"command": "…"}'""" if pattern else "")


def _root(project: str | None, *, user: bool) -> str:
    if user:
        return f"{agents_dir(read_environment())}/hooks"
    project_of(project)  # refuses what is no folder
    at = here = os.path.abspath(project or os.getcwd())
    while not any(os.path.exists(f"{at}/{sign}") for sign in (".agents/hooks", ".git")):
        if at == os.path.dirname(at):
            return f"{here}/.agents/hooks"
        at = os.path.dirname(at)
    return f"{at}/.agents/hooks"


def manifest_text(
    name: str, kind: EventKind, event: str, tool: str | None, pattern: str | None, *, blocks: bool
) -> str:
    """Return the HOOK.md of a new hook."""
    does = "Blocks" if blocks else "Watches"
    about = f" of {tool}" if tool else ""
    lines = ["---", f"name: {name}", f"description: {does} {kind.name}{about}", f"trigger: {event}"]
    lines[2] = f"description: {_quoted(lines[2].removeprefix('description: '))}"
    lines[1] = f"name: {_quoted(name)}" if not name[0].isalpha() else lines[1]
    if tool or pattern:
        lines.append("matcher:")
        lines += [f"  {key}: {_quoted(value)}" for key, value in (("tool", tool), ("pattern", pattern)) if value]
    lines += ["timeout: 5000", "---", "", f"# {name}", ""]
    lines.append("Say here what the hook is for, and whom to ask.")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as a single-quoted YAML scalar: backslashes stay what they are."""
    return "'" + text.replace("'", "''") + "'"


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
