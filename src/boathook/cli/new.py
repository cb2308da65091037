"""`boathook new`: create a hook that passes the strict check and works as it is."""

from __future__ import annotations

import os
import re
import shlex

import click

from boathook.assembly import resolve_start
from boathook.cli.common_options import EVENT, project_option
from boathook.cli.show import echo
from boathook.core.event import EventKind, find_kind
from boathook.core.matcher import compile_pattern
from boathook.core.tool_kinds import TOOL_KINDS, TOOLS_OF_KINDS
from boathook.errors import ConfigError
from boathook.hosts.tool_names import list_known_tools
from boathook.install.host_files import find_project_top
from boathook.sources.conversion import quote_yaml
from boathook.sources.fields import HOOK_NAME, is_hook_name
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder

_BLOCK_SH = """\
#!/bin/sh
# Standard input is the event, one line of JSON. It has matched the matcher in HOOK.md already.
# Exit 2 blocks, with the reason on stderr; exit 0 lets it pass.
echo "blocked by the hook '{name}' (edit scripts/run.sh to change when it blocks)" >&2
exit 2
"""
_NOTE_SH = """\
#!/bin/sh
# Standard input is the event, one line of JSON.
# Exit 0 lets it pass; exit 2 blocks it, with the reason on stderr. Text on standard output becomes context for the agent.
event=$(cat)
echo "{name} saw $AGENT_HOOK_EVENT (${{#event}} characters)" >&2
exit 0
"""
_BLOCK_PY = '''\
#!/usr/bin/env python3
"""Decide about an event: exit 2 blocks, with the reason on stderr; exit 0 lets it pass."""

import json
import sys

event = json.load(sys.stdin)
tool_input = event.get("tool_input", {{}})
print(f"blocked by the hook '{name}' (edit scripts/run.py to change when it blocks)", file=sys.stderr)
sys.exit(2)
'''
_NOTE_PY = '''\
#!/usr/bin/env python3
"""Look at an event: exit 0 lets it pass; exit 2 blocks it, with the reason on stderr."""

import json
import sys

event = json.load(sys.stdin)
print(f"{name} saw {{event['event_type']}}", file=sys.stderr)
sys.exit(0)
'''
_SCRIPTS = {("sh", True): _BLOCK_SH, ("sh", False): _NOTE_SH, ("py", True): _BLOCK_PY, ("py", False): _NOTE_PY}


@click.command("new")
@click.argument("name")
@click.option("--event", required=True, type=EVENT, help="The event it runs on.")
@click.option("--kind", type=click.Choice(TOOL_KINDS), help="Only for tools of this kind, in every agent.")
@click.option("--tool", metavar="REGEX", help="Only for tools whose name matches.")
@click.option("--pattern", metavar="REGEX", help="Only for tool inputs that match; the new hook blocks them.")
@click.option(
    "--lang", type=click.Choice(["sh", "py"]), default="sh", show_default=True, help="Language of the script."
)
@click.option("--user", is_flag=True, help="For all your projects instead of this one.")
@project_option
def create_hook(
    name: str,
    event: str,
    kind: str | None,
    tool: str | None,
    pattern: str | None,
    lang: str,
    user: bool,
    project: str | None,
) -> int:
    """Create a hook that works as it is.

    Existing files are never overwritten.

    \b
    Examples:
      boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'
      boathook new no-env --event pre-tool-call --kind writes --pattern '\\.env'
      boathook new greet --event pre-session --lang py --user
    """
    if not is_hook_name(name):
        raise ConfigError(f"the name must be {HOOK_NAME.expected}")
    found = find_kind(event)
    if (kind or tool or pattern) and not found.has_tool:
        raise ConfigError(f"{found.name} is not about a tool: leave out --kind, --tool and --pattern")
    matcher = {"kind": kind, "tool": tool, "pattern": pattern}
    for source in (tool, pattern):
        compile_pattern(source or "")
        if any(ord(char) < 32 for char in source or ""):
            raise ConfigError("a pattern cannot contain control characters or line breaks: write them as \\n, \\t …")
    folder = f"{_find_hooks_folder(project, user=user)}/{name}"
    if os.path.lexists(folder):
        raise ConfigError(f"{folder} exists already: choose another name, or remove it")
    blocks = pattern is not None and found.is_pre
    script = f"{folder}/scripts/run.{lang}"
    os.makedirs(os.path.dirname(script))
    _write(f"{folder}/HOOK.md", _make_manifest(name, found, event, matcher, blocks=blocks))
    _write(script, _SCRIPTS[lang, blocks].format(name=name))
    os.chmod(script, 0o755)  # noqa: S103
    effect = "blocks every call that matches" if blocks else "blocks nothing and prints what it saw (with run --debug)"
    echo(f"created {os.path.relpath(folder)}: it {effect}", "green")
    echo(f"  edit   {os.path.relpath(script)}")
    echo(f"  check  boathook check {os.path.relpath(folder)}")
    if not user:
        echo(f"  trust  boathook trust {name}")
    echo(f"  try    boathook explain {event}{_list_explain_options(matcher)}")
    return 0


def _list_explain_options(matcher: dict[str, str | None]) -> str:
    tool, kind = matcher["tool"], matcher["kind"]
    names = TOOLS_OF_KINDS[kind] if kind else list_known_tools() if tool else ()
    known_tool = next((known for known in names if re.search(tool or "", known)), tool)
    options = f" --tool {shlex.quote(known_tool)}" if known_tool else ""
    return options + (""" --input '{"command": "…"}'""" if matcher["pattern"] and not kind else "")


def _find_hooks_folder(project: str | None, *, user: bool) -> str:
    if user:
        return f"{resolve_folder(CONFIG_FOLDER, read_environment())}/hooks"
    # Raises an error if it is not a folder.
    resolve_start(project)
    return f"{find_project_top(os.path.abspath(project or os.getcwd()))}/.agents/hooks"


def _make_manifest(name: str, kind: EventKind, event: str, matcher: dict[str, str | None], *, blocks: bool) -> str:
    about = matcher["tool"] or matcher["kind"]
    description = f"{'Blocks' if blocks else 'Watches'} {kind.name}{f' of {about}' if about else ''}"
    shown_name = name if name[0].isalpha() else quote_yaml(name)
    lines = ["---", f"name: {shown_name}", f"description: {quote_yaml(description)}", f"trigger: {event}"]
    if any(matcher.values()):
        lines.append("matcher:")
        lines += [f"  {key}: {quote_yaml(value)}" for key, value in matcher.items() if value]
    lines += ["timeout: 5000", "---", "", f"# {name}", "", "Describe here what the hook is for, and whom to ask."]
    return "\n".join(lines) + "\n"


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
