"""What a hook cannot do in a host: reported when a host is set up and when hooks are checked."""

# A hook names what it wants under `metadata.effects`; without that it counts as a guard where something can be blocked.

from __future__ import annotations

from boathook.core.matcher import TOOL_NAME
from boathook.hosts.host import DERIVED_KINDS, Host, HostEvent, find_row
from boathook.hosts.tool_names import SERVER_TOOL_MARKS, find_claude_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.hook import Hook


def list_wanted_capabilities(hook: Hook) -> tuple[str, ...]:
    if hook.background:
        return ()
    metadata: Any = hook.metadata
    effects: Any = metadata.get("effects") if isinstance(hook.metadata, dict) else None
    if effects is None:
        can_block = hook.kind is not None and not hook.kind.block.startswith(("recorded", "none"))
        return ("block",) if can_block else ()
    words: Any = effects.replace(",", " ").split() if isinstance(effects, str) else effects
    rewritten = "output" if hook.kind and hook.kind.rewrites_output else "input"
    # Not `allow`: without it the host decides as it would without the hook.
    effect_names = {"block": "block", "ask": "ask", "stop": "stop", rewritten: "rewrite", "context": "context"}
    return tuple(name for name, word in effect_names.items() if isinstance(words, list) and word in words)


def find_unsupported(hook: Hook, host: Host) -> tuple[str, ...]:
    """Return what a hook wants and the host does not support, as messages."""
    if hook.kind is None:
        return ()
    row = find_row(host, hook.kind.name)
    if row is not None:
        return (*_check_capabilities(hook, host, row), *_check_tools(hook, host))
    stop = next((row for row in host.events if row.kind_name == "pre-agent-turn-stop"), None)
    if stop is None or hook.kind.name not in DERIVED_KINDS:
        return (f"it never runs: {host.title} has no event like {hook.kind.name}",)
    if list_wanted_capabilities(hook):
        return (f"it runs after {stop.name}, but {host.title} cannot receive its answers: you see them instead",)
    return ()


def _check_capabilities(hook: Hook, host: Host, row: HostEvent) -> list[str]:
    wanted = list_wanted_capabilities(hook)
    messages = [_describe_substitute(name, host, row) for name in wanted if not row.get_template(name)]
    if host.block_side_effect and row.kind_name == "pre-tool-call" and "block" in wanted:
        messages.append(host.block_side_effect)
    return messages


def _describe_substitute(capability: str, host: Host, row: HostEvent) -> str:
    where = f"in {host.title} at {row.name}"
    denied = bool(row.block) and row.kind.is_pre and not row.continues_agent
    rewrite = f"it cannot rewrite anything {where}"
    dropped = "its change is dropped, and you get a message"
    refused = "what it changes is refused, and the reason names the new input"
    return {
        "block": f"it cannot block {where}: you get a message instead",
        "ask": f"it cannot ask {where}: {'what it asks about is denied' if denied else 'you get a message'} instead",
        "stop": f"it cannot end the run {where}: {_describe_stop(row)} instead",
        "input": f"{rewrite}: {refused if denied and row.kind_name != 'permission-request' else dropped}",
        "output": f"{rewrite}: {dropped}",
        "context": f"the model cannot receive context {where}: you see it instead",
    }[capability]


def _describe_stop(row: HostEvent) -> str:
    if not row.block or row.continues_agent:
        return "you get a message"
    return "the call is blocked" if row.kind.is_pre else "the model receives the reason"


def _check_tools(hook: Hook, host: Host) -> list[str]:
    """Return that no tool of the host has a name that a hook matches, unless it may be one of a server that people add."""
    tool, subject = hook.matcher.tool, hook.matcher.subject
    if tool is None or subject != TOOL_NAME or any(mark in tool.source for mark in SERVER_TOOL_MARKS):
        return []
    for theirs, (ours, _) in host.tools.items():
        if any(map(tool.search, (ours, theirs, find_claude_name(ours, theirs)))):
            return []
    return [f"it matches no tool that {host.title} is known to have (its matcher: {tool.display_text})"]
