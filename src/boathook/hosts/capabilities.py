"""What a hook cannot do in a host: reported when a host is set up and when hooks are checked."""

# A hook names what it wants under `metadata.effects`; without that it counts as a guard where something can be blocked.

from __future__ import annotations

from boathook.core.event import FILE_CHANGES, PATCH_TOOL
from boathook.core.hook import HOOK_MD
from boathook.core.tool_kinds import TOOLS_OF_KINDS, WRITES
from boathook.core.value import Value
from boathook.hosts.host import DERIVED_KINDS, SERVER_IS_UNKNOWN, Host, HostEvent, find_row
from boathook.hosts.tool_names import SERVER_TOOL_MARKS, find_aliases, list_tool_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.hook import Hook
    from boathook.core.matcher import Pattern

# A guard of files that leaves out deletions usually means it.
_COMMON_CHANGES = ("write", "edit")
_SEE_CAPABILITIES = "boathook hosts --capabilities lists what each agent can do"


class Unsupported(Value):
    """What a hook wants and a host does not support, and what to do about it."""

    text: str
    fix: str = _SEE_CAPABILITIES
    # The host never asks the hook.
    is_never_asked: bool = False


_COMMON_WRITES = frozenset(TOOLS_OF_KINDS[WRITES]).difference(FILE_CHANGES["delete"])


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


def find_unsupported(hook: Hook, host: Host) -> tuple[Unsupported, ...]:
    if hook.kind is None:
        return ()
    row = find_row(host, hook.kind.name)
    if row is not None:
        return (*_check_capabilities(hook, host, row), *_check_tools(hook, host))
    stop = next((row for row in host.events if row.kind_name == "pre-agent-turn-stop"), None)
    if stop is None or hook.kind.name not in DERIVED_KINDS:
        text = f"it never runs: {host.title} has no event like {hook.kind.name}"
        return (Unsupported(text, is_never_asked=True),)
    if list_wanted_capabilities(hook):
        text = f"it runs after {stop.name}, but {host.title} cannot receive its answers: you see them instead"
        return (Unsupported(text),)
    return ()


def _check_capabilities(hook: Hook, host: Host, row: HostEvent) -> list[Unsupported]:
    wanted = list_wanted_capabilities(hook)
    refusal = f"in {host.title} a question is a refusal: block instead if you want that, else do not ask"
    fixes = {"ask": refusal} if _can_deny(row) else {}
    found = [
        Unsupported(_describe_substitute(name, host, row), fixes.get(name, _SEE_CAPABILITIES))
        for name in wanted
        if not row.get_template(name)
    ]
    if host.block_side_effect and row.kind_name == "pre-tool-call" and "block" in wanted:
        found.append(Unsupported(host.block_side_effect))
    return found


def describe_limits(host: Host) -> list[str]:
    """Return what hooks cannot do before a tool call in a host, and what happens instead where it matters."""
    row = find_row(host, "pre-tool-call")
    if row is None:
        return ["see tool calls"]
    refused = " (it refuses instead)" if _can_deny(row) else " (you get a message instead)"
    limits = {
        "block": "block",
        "ask": f"ask you{refused}",
        "stop": "end the run",
        "input": f"rewrite an input{refused}",
        "context": "add context for the model",
    }
    return [text for name, text in limits.items() if not row.get_template(name)]


def _can_deny(row: HostEvent) -> bool:
    return bool(row.block) and row.kind.is_pre and not row.continues_agent


def _describe_substitute(capability: str, host: Host, row: HostEvent) -> str:
    where = f"in {host.title} at {row.name}"
    denied = _can_deny(row)
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


def _check_tools(hook: Hook, host: Host) -> list[Unsupported]:
    """Return a finding for each thing that is wrong with tools of a matcher: another name or another shape in the host."""
    tool = hook.matcher.tool
    if tool is None:
        return []
    found: list[Unsupported] = []
    unmatched, is_asked = _find_renamed_tools(tool, host)
    if unmatched:
        about = _describe_names(tool, unmatched, host)
        fix = f"add {' and '.join(unmatched)} to its matcher"
        text = f"it matches no tool that {host.title} is known to have ({about})"
        partly = f"it is not asked about every tool that it names ({about})"
        found.append(Unsupported(partly, fix) if is_asked else Unsupported(text, fix, is_never_asked=True))
    elif not is_asked and not any(mark in tool.source for mark in SERVER_TOOL_MARKS):
        text = f"it matches no tool that {host.title} is known to have (its matcher: {tool.display_text})"
        names = ", ".join(dict.fromkeys(ours for ours, _ in host.tools.values()))
        fix = f"if it is meant for {host.title}, match one of: {names}"
        found.append(Unsupported(text, fix, is_never_asked=True))
    if missing := _find_missing_writes(hook, tool, host, unmatched):
        found.append(Unsupported(f"it misses file changes in {host.title}: {missing}", _make_kind_fix(hook, tool)))
    return [*found, *_check_server_names(tool, host)]


def _make_kind_fix(hook: Hook, tool: Pattern) -> str:
    if hook.source != HOOK_MD:
        return "name them in its matcher, too"
    kinds = [kind for kind, names in TOOLS_OF_KINDS.items() if any(map(tool.search, names))]
    wanted = kinds[0] if len(kinds) == 1 else f"[{', '.join(kinds)}]"
    return f"replace `tool: {tool.display_text}` by `kind: {wanted}`"


def _list_names(ours: str, theirs: str) -> tuple[str, ...]:
    """Return the names by which a matcher may mean a tool of a host; a patch is asked about as the files in it."""
    in_patch = (name for names in FILE_CHANGES.values() for name in names) if ours == PATCH_TOOL else ()
    return (ours, *find_aliases(ours, theirs), *in_patch)


def _find_renamed_tools(tool: Pattern, host: Host) -> tuple[list[str], bool]:
    """Return the canonical tools that a pattern means by names of others only, and whether it matches any tool of the host."""
    rows = [(ours, any(map(tool.search, _list_names(ours, theirs)))) for theirs, (ours, _) in host.tools.items()]
    matched = {ours for ours, is_match in rows if is_match}
    meant = [ours for ours, others in list_tool_names().items() if any(map(tool.search, (ours, *others)))]
    known = {ours for ours, _ in rows}
    return [ours for ours in meant if ours in known and ours not in matched], bool(matched)


def _describe_names(tool: Pattern, unmatched: list[str], host: Host) -> str:
    names = [theirs for theirs, (ours, _) in host.tools.items() if ours in unmatched]
    there = f"there it would be {', '.join(names)}"
    return f"its matcher: {tool.display_text}; {there}; {' and '.join(unmatched)} holds in every agent"


def _find_missing_writes(hook: Hook, tool: Pattern, host: Host, renamed: list[str]) -> str:
    """Return the tools that write files in the host and that a guard of files does not match nor name otherwise, as text."""
    is_guard = hook.kind is not None and hook.kind.is_pre and not hook.matcher.tool_kinds
    if not is_guard or not any(tool.search(name) for change in _COMMON_CHANGES for name in FILE_CHANGES[change]):
        return ""
    missing: list[str] = []
    for theirs, (ours, _) in host.tools.items():
        if ours in renamed or any(map(tool.search, (ours, *find_aliases(ours, theirs)))):
            continue
        if ours == PATCH_TOOL:
            changes = [change for change in _COMMON_CHANGES if not any(map(tool.search, FILE_CHANGES[change]))]
            missing += [f"{change}s by {theirs}" for change in changes]
        elif ours in _COMMON_WRITES:
            missing.append(theirs)
    return ", ".join(missing)


def _check_server_names(tool: Pattern, host: Host) -> list[Unsupported]:
    separator = host.server_tool.partition("}")[2].partition("{")[0]
    _, prefix, rest = tool.source.partition("mcp__")
    if host.server_places or not prefix:
        return []
    if host.server_tool == SERVER_IS_UNKNOWN and not _matches_own_name(tool, host):
        unknown = f"{host.title} does not tell hooks which server a tool is of, so `mcp__` never matches there"
        return [Unsupported(unknown, f"match the tool's own name as well (its matcher: {tool.display_text})")]
    if separator not in ("_", "-") or not rest[:1].isalnum():
        return []
    joined = f"{host.title} joins the names of a server and of its tool by '{separator}', and every split is tried"
    text = f"{joined}: it may also be asked about tools of another server (its matcher: {tool.display_text})"
    return [Unsupported(text)]


def _matches_own_name(tool: Pattern, host: Host) -> bool:
    """Whether a pattern that names the tool of a server also matches a name in it that is without the server."""
    words = "".join(char if char.isalnum() or char in "_-" else " " for char in tool.source).split()
    names = {word.rpartition("__")[2] for word in words} - {"", *host.tools, *(ours for ours, _ in host.tools.values())}
    return any(map(tool.search, names))
