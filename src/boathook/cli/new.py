"""`boathook new`: create a hook that passes the strict check and works as it is."""

from __future__ import annotations

import os
import shlex

import click

from boathook.assembly import resolve_start
from boathook.cli.common_options import EVENT, project_option
from boathook.cli.example_hooks import copy_example, list_examples
from boathook.cli.person import require_person
from boathook.cli.sample_input import SHELL_TOOL
from boathook.cli.show import echo
from boathook.core.event import PRE_TOOL, EventKind, find_kind
from boathook.core.hook import PROJECT, USER, Hook
from boathook.core.json_text import dumps
from boathook.core.matcher import compile_pattern
from boathook.core.near_words import suggest
from boathook.core.tool_kinds import KIND_WORDS, TOOL_KINDS, TOOLS_OF_KINDS
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.case_event import find_main_key
from boathook.hook_tests.case_file import TESTS_FILE
from boathook.hook_tests.first_tests import write_first_tests
from boathook.hosts.tool_names import list_known_tools
from boathook.install.host_files import find_project_top
from boathook.sources.conversion import quote_yaml
from boathook.sources.fields import HOOK_NAME, is_hook_name, join_words
from boathook.sources.hook_md.folder import read_hook
from boathook.sources.samples import find_matching_text
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
_SERVER_TOOL = "mcp__server__tool"
_SCRIPTS = {("sh", True): _BLOCK_SH, ("sh", False): _NOTE_SH, ("py", True): _BLOCK_PY, ("py", False): _NOTE_PY}


class NewMatcher(Value):
    """What the options of `new` say about tools and fields; an empty text means all."""

    kinds: tuple[str, ...] = ()
    tool: str = ""
    pattern: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@click.command("new")
@click.argument("name", required=False)
@click.option("--event", type=EVENT, help="The event it runs on.")
@click.option(
    "--from", "example", metavar="EXAMPLE", help="Copy an example of boathook instead; `--from list` names them."
)
@click.option(
    "--kind",
    "tool_kinds",
    multiple=True,
    type=click.Choice(TOOL_KINDS),
    help="Only for tools of this kind, in every agent. Can be repeated.",
)
@click.option("--tool", metavar="REGEX", help="Only for tools whose name matches.")
@click.option("--pattern", metavar="REGEX", help="Only for tool inputs that match; the new hook blocks them.")
@click.option(
    "--field",
    "field_patterns",
    multiple=True,
    metavar="NAME=REGEX",
    help="Only for events in which this field matches. Can be repeated.",
)
@click.option(
    "--lang", type=click.Choice(["sh", "py"]), default="sh", show_default=True, help="Language of the script."
)
@click.option("--user", is_flag=True, help="For all your projects instead of this one.")
@project_option
def create_hook(
    name: str | None,
    event: str | None,
    example: str | None,
    tool_kinds: tuple[str, ...],
    tool: str | None,
    pattern: str | None,
    field_patterns: tuple[str, ...],
    lang: str,
    user: bool,
    project: str | None,
) -> int:
    """Create a hook that works as it is.

    Existing files are never overwritten. With --from, NAME is the name of the copy; without NAME it keeps its own.

    \b
    Examples:
      boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'
      boathook new no-env --event pre-tool-call --kind writes --pattern '\\.env'
      boathook new greet --event pre-session --field source=startup --lang py --user
      boathook new --from branch-guard
    """
    if example == "list":
        for one, description in list_examples().items():
            echo(f"{one:26}{description}")
        return 0
    name = name or example
    if not name:
        raise ConfigError("name the new hook, or copy an example: boathook new --from list")
    if not is_hook_name(name):
        raise ConfigError(f"the name must be {HOOK_NAME.expected}")
    matches = (*tool_kinds, *field_patterns, tool or "", pattern or "")
    if example and (event or any(matches)):
        raise ConfigError("an example has its own event and matcher: leave out --event and the options of a matcher")
    if example:
        folder = _prepare_folder(name, project, user=user)
        copy_example(example, name, folder)
        hook, _ = read_hook(f"{folder}/HOOK.md", folder, USER if user else PROJECT)
        echo(f"created {os.path.relpath(folder)}: {hook.description}", "green")
        _print_next_steps(hook, f"{folder}/HOOK.md")
        return 0
    if not event:
        raise ConfigError(
            "name the event: --event pre-tool-call (boathook events lists them), or copy an example: --from"
        )
    matcher = _make_matcher(find_kind(event), tool_kinds, tool or "", pattern or "", field_patterns)
    _create_hook(_prepare_folder(name, project, user=user), event, matcher, lang, USER if user else PROJECT)
    return 0


def _make_matcher(
    kind: EventKind, tool_kinds: tuple[str, ...], tool: str, pattern: str, field_patterns: tuple[str, ...]
) -> NewMatcher:
    if (tool_kinds or tool or pattern) and not kind.has_tool:
        raise ConfigError(f"{kind.name} is not about a tool: leave out --kind, --tool and --pattern")
    matcher = NewMatcher(tuple(dict.fromkeys(tool_kinds)), tool, pattern, _read_field_patterns(kind, field_patterns))
    _check_patterns(matcher)
    return matcher


def _prepare_folder(name: str, project: str | None, *, user: bool) -> str:
    """Return the folder of the new hook, which must not exist yet."""
    folder = f"{_find_hooks_folder(project, user=user)}/{name}"
    if user:
        require_person(files=[folder])
    if os.path.lexists(folder):
        raise ConfigError(f"{folder} exists already: choose another name, or remove it")
    return folder


def _create_hook(folder: str, event: str, matcher: NewMatcher, lang: str, scope: str) -> None:
    name = os.path.basename(folder)
    blocks = bool(matcher.pattern) and find_kind(event).is_pre
    script = f"{folder}/scripts/run.{lang}"
    os.makedirs(os.path.dirname(script))
    _write(script, _SCRIPTS[lang, blocks].format(name=name))
    os.chmod(script, 0o755)  # noqa: S103
    _write(f"{folder}/HOOK.md", _make_manifest(name, event, matcher, blocks=blocks))
    hook, _ = read_hook(f"{folder}/HOOK.md", folder, scope)
    _write(f"{folder}/{TESTS_FILE}", write_first_tests(hook, blocks=blocks))
    effect = "blocks every call that matches" if blocks else "blocks nothing and prints what it saw (with run --debug)"
    echo(f"created {os.path.relpath(folder)}: it {effect}", "green")
    _print_next_steps(hook, script)
    echo(f"  try    boathook explain {event}{_list_explain_options(matcher, hook)}")


def _print_next_steps(hook: Hook, script: str) -> None:
    folder = hook.folder
    echo(f"  edit   {os.path.relpath(script)}")
    echo(f"  check  boathook check {os.path.relpath(folder)}")
    echo(f"  test   boathook test {hook.name}    (edit {os.path.relpath(folder)}/{TESTS_FILE})")
    if hook.scope != USER:
        echo(f"  trust  boathook trust {hook.name}")


def _check_patterns(matcher: NewMatcher) -> None:
    for source in (matcher.tool, matcher.pattern, *(source for _, source in matcher.fields)):
        compile_pattern(source)
        if any(ord(char) < 32 for char in source):
            raise ConfigError("a pattern cannot contain control characters or line breaks: write them as \\n, \\t …")


def _read_field_patterns(kind: EventKind, written: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = {name: source for name, _, source in (text.partition("=") for text in written)}
    for name in pairs:
        if name not in kind.matched_fields:
            fix = suggest(name, kind.matched_fields) if kind.matched_fields else "leave out --field"
            raise ConfigError(f"a matcher of {kind.name} cannot ask about the field '{name}': {fix}")
    return tuple(pairs.items())


def _list_explain_options(matcher: NewMatcher, hook: Hook) -> str:
    """Return options of `explain` for a call that the matcher accepts, as far as one is found."""
    tool = _choose_tool(matcher)
    options = f" --tool {shlex.quote(tool)}" if tool else ""
    data = {name: find_matching_text(compile_pattern(source)) or "…" for name, source in matcher.fields}
    options += f" --data {shlex.quote(dumps(data))}" if data else ""
    if not matcher.pattern:
        return options
    key = KIND_WORDS[matcher.kinds[0]][1] if matcher.kinds else find_main_key(tool or SHELL_TOOL, hook)
    text = find_matching_text(compile_pattern(matcher.pattern)) or "…"
    return f"{options} --input {shlex.quote(dumps({key: text}))}"


def _choose_tool(matcher: NewMatcher) -> str:
    if not (matcher.kinds or matcher.tool):
        return ""
    names = [name for kind in matcher.kinds for name in (*TOOLS_OF_KINDS[kind], _SERVER_TOOL)]
    pattern = compile_pattern(matcher.tool)
    accepted = (name for name in names or list_known_tools() if pattern is None or pattern.search(name))
    return next(accepted, "") or find_matching_text(pattern) or matcher.tool


def _find_hooks_folder(project: str | None, *, user: bool) -> str:
    if user:
        return f"{resolve_folder(CONFIG_FOLDER, read_environment())}/hooks"
    # Raises an error if it is not a folder.
    resolve_start(project)
    return f"{find_project_top(os.path.abspath(project or os.getcwd()))}/.agents/hooks"


def _make_manifest(name: str, event: str, matcher: NewMatcher, *, blocks: bool) -> str:
    description = f"{'Blocks' if blocks else 'Watches'} {_describe_calls(find_kind(event), matcher)}"
    shown_name = name if name[0].isalpha() else quote_yaml(name)
    lines = ["---", f"name: {shown_name}", f"description: {quote_yaml(description)}", f"trigger: {event}"]
    kinds = matcher.kinds
    shown_kinds = kinds[0] if len(kinds) == 1 else f"[{', '.join(kinds)}]" if kinds else ""
    texts = {"kind": shown_kinds, "tool": _quote(matcher.tool), "pattern": _quote(matcher.pattern)}
    texts |= {name: _quote(source) for name, source in matcher.fields}
    if any(texts.values()):
        lines.append("matcher:")
        lines += [f"  {key}: {text}" for key, text in texts.items() if text]
    lines += ["timeout: 5000", "---", "", f"# {name}", "", "Describe here what the hook is for, and whom to ask."]
    return "\n".join(lines) + "\n"


def _describe_calls(kind: EventKind, matcher: NewMatcher) -> str:
    if matcher.tool or not matcher.kinds:
        return kind.name + (f" of {matcher.tool}" if matcher.tool else "")
    calls = "tool calls" if kind is PRE_TOOL else f"{kind.name} of tools"
    return f"{calls} that {join_words(KIND_WORDS[name][0] for name in matcher.kinds)}"


def _quote(text: str) -> str:
    return quote_yaml(text) if text else ""


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
