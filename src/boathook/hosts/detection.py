"""Which agent really calls: several agents run the commands of another agent's configuration."""

# They are recognized by their payloads, because variables are inherited by every program that an agent starts.

from __future__ import annotations

from boathook.hosts.host import list_host_names, load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from boathook.hosts.host import Caller, Host


def detect_caller(host: Host, fields: Mapping[str, Any], env: Mapping[bytes, bytes]) -> str:
    if not any(key in fields for key in host.foreign_keys):
        return ""
    callers: dict[str, Caller] = {}
    for name in list_host_names():
        caller = load_host(name).caller
        if caller is not None and caller.reads == host.name:
            callers[name] = caller
    event, tool = (_get_text(fields, key) for key in (host.event_keys[0], "tool_name"))
    # The surest evidence of all callers comes first: Cursor and Copilot have tools of the same names.
    tests: tuple[Callable[[Caller], bool], ...] = (
        lambda caller: any(key in fields for key in caller.keys),
        lambda caller: event in caller.events,
        lambda caller: tool in caller.tools,
        lambda caller: caller.variable.encode() in env,
        lambda caller: caller.is_assumed,
    )
    # A host that begins to send a key of others is still itself, and its tools have the same names as some of theirs.
    tests = tests[:2] if any(key in fields for key in host.own_keys) else tests
    return next((name for is_caller in tests for name, caller in callers.items() if is_caller(caller)), "")


def _get_text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) else None


def list_own_files(installations: Any, host: str, folder: str) -> list[str]:
    files: list[str] = []
    for installation in _list_objects(installations):
        project = str(installation.get("project") or "").rstrip("/")
        if installation.get("host") == host and f"{folder}/".startswith(f"{project}/"):
            files += [str(file.get("path")) for file in _list_objects(installation.get("files"))]
    return files


def calls_boathook(host: str, text: str, event: str = "") -> bool:
    """Whether a file of a host still has our command: a record alone is not enough, because twice is better than never."""
    words = f"--host {host} --event {event} " if event else f"--host {host} "
    # A plugin has the words as a list.
    is_plugin = not event and f'"--host", "{host}"' in text
    return (words in text or is_plugin) and "hook_entry.py" in text


def calls_warm_engine(text: str) -> bool:
    """Whether a command of ours in a file of a host asks the warm engine."""
    return "--engine warm " in text or '"--engine", "warm"' in text


def _list_objects(value: Any) -> list[dict[str, Any]]:
    values: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return [one for one in values if isinstance(one, dict)]
