"""Runs in which guards in the files of other agents refuse calls, and the agent runs its own file once for each call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from boathook.hosts.host import load_host
from boathook.install.codex import compute_trust_hash, make_event_label
from boathook.sources.agent_forms.hook_form import find_form
from e2e.hosts import Place
from e2e.server import Step

if TYPE_CHECKING:
    from e2e.stage import Observation

# The agent, a title, the script, what is done before, and what is wrong with what was seen.
SceneRow = tuple[str, str, tuple[Step, ...], Callable[..., None], Callable[..., Iterator[str]]]
OWN_CALL = "own-call-"
PLAIN = "plain"
OWN_ENTRY = {"type": "command", "command": f"cat > /dev/null; mktemp {OWN_CALL}XXXXXX > /dev/null", "timeout": 30}
END = Step("stop", text="All is done.")
# Each guard reads the event and answers as the agent of its file says.
_READ = "import json, sys\nevent = json.load(sys.stdin)\n"
_NESTED = 'command = event["tool_input"]["command"]\n'
_CLAUDES = (
    '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", '
    '"permissionDecisionReason": REASON}}'
)


@dataclass(frozen=True)
class FormGuard:
    """A guard in one form: its file in a project, what an event has there, and the end of its script."""

    path: str
    event: str
    matcher: str
    script: str


GUARDS = {
    "settings": FormGuard(
        ".claude/settings.json",
        "PreToolUse",
        "Bash",
        f"{_READ}{_NESTED}if WORD in command: print(json.dumps({_CLAUDES}))",
    ),
    "codex": FormGuard(
        ".codex/hooks.json",
        "PreToolUse",
        "Bash",
        f"{_READ}{_NESTED}if WORD in command:\n    print(REASON, file=sys.stderr)\n    sys.exit(2)",
    ),
    "gemini": FormGuard(
        ".gemini/settings.json",
        "BeforeTool",
        "run_shell_command",
        f'{_READ}{_NESTED}if WORD in command: print(json.dumps({{"decision": "deny", "reason": REASON}}))',
    ),
    "cursor": FormGuard(
        ".cursor/hooks.json",
        "beforeShellExecution",
        "touch",
        f'{_READ}answer = {{"permission": "deny", "agent_message": REASON}}\n'
        'print(json.dumps(answer if WORD in event["command"] else {"permission": "allow"}))',
    ),
}
# Which guards are tried in which agent.
TRIED = {"claude": ("cursor", "codex"), "codex": ("settings", "gemini")}


def make_word(name: str) -> str:
    """Give the file that a guard does not let be made."""
    return f"refused-by-{name}"


def make_reason(name: str) -> str:
    """Give the reason of a guard, which is in no command."""
    return f"marker-{name}-7e42"


def make_steps(names: tuple[str, ...]) -> tuple[Step, ...]:
    """Give the script of a run: a call for each guard, and one that none refuses."""
    return (*(Step(name, f"touch {make_word(name)}") for name in names), Step(PLAIN, f"touch {PLAIN}"), END)


def prepare(host: str, place: Place, _: dict[str, str], boathook: Callable[..., str]) -> None:
    """Put the guards into the project, the agent's own hook into its own file, and enable all these forms."""
    for name in TRIED[host]:
        _write_guard(place, name)
    _OWN_FILES[host](place)
    own = "settings" if host == "claude" else host
    sources = list(dict.fromkeys(("hook-md", "settings", *TRIED[host], own)))
    place.write(".config/agents/hooks.toml", f"[hooks]\nsources = {json.dumps(sources)}\n")
    boathook("trust", "--all", "--yes")
    boathook("install", host, "--yes")


def _write_guard(place: Place, name: str) -> None:
    guard, form = GUARDS[name], find_form("settings.json" if name == "settings" else name)
    script, path = place.project / f"guards/{name}.py", place.project / guard.path
    for folder in (script.parent, path.parent):
        folder.mkdir(exist_ok=True)
    script.write_text(f"WORD, REASON = {make_word(name)!r}, {make_reason(name)!r}\n{guard.script}\n")
    entry: dict[str, Any] = {"type": "command", "command": f"python3 '{script}'"}
    item = {**entry, "matcher": guard.matcher} if form.is_flat else {"matcher": guard.matcher, "hooks": [entry]}
    path.write_text(json.dumps({"hooks": {guard.event: [item]}}))


def _write_claudes(place: Place) -> None:
    path = place.project / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [OWN_ENTRY]}]}}))


def _write_codexs(place: Place) -> None:
    """Write the user's file: Codex runs the entries whose hash it finds in its settings."""
    place.add(".codex/hooks.json", {"hooks": {"PreToolUse": [{"hooks": [OWN_ENTRY]}]}})
    path, event = place.home / ".codex/hooks.json", "PreToolUse"
    key = json.dumps(f"{path}:{make_event_label(event)}:0:0")
    trust = f"[hooks.state.{key}]\ntrusted_hash = {json.dumps(compute_trust_hash(event, OWN_ENTRY))}\n"
    place.write(".codex/config.toml", (place.home / ".codex/config.toml").read_text() + "\n" + trust)


_OWN_FILES: dict[str, Callable[[Place], None]] = {"claude": _write_claudes, "codex": _write_codexs}


def find_complaints(host: str, seen: Observation) -> Iterator[str]:
    """Say what is wrong with a run."""
    names = TRIED[host]
    for name in names:
        if make_word(name) in seen.files:
            yield f"the guard of {name} did not refuse its call"
        following = [after for before, after in zip(seen.own, seen.own[1:], strict=False) if before.step == name]
        if not any(make_reason(name) in request.body for request in following):
            yield f"the reason of the guard of {name} is not in the next request"
    if PLAIN not in seen.files:
        yield "the call that no guard refuses did not happen"
    own = sum(name.startswith(OWN_CALL) for name in seen.files)
    if own != len(names) + 1:
        yield f"the hook in the agent's own file ran {own} times at {len(names) + 1} calls"
    decisions = [one["decision"] for one in seen.ledger if one.get("event") == "pre-tool-call"]
    if [one == "block" for one in decisions] != [*[True] * len(names), False]:
        yield f"the ledger has {decisions} for the calls"


def describe(host: str) -> str:
    """Give the title of a run."""
    titles = [find_form("settings.json" if name == "settings" else name).title for name in TRIED[host]]
    own = load_host(host).title
    return f"guards in the files of {' and '.join(titles)} block, and {own} runs its own file once for each call"


def list_form_scenes() -> Iterator[tuple[str, SceneRow]]:
    """Give a run for each agent, by a name that has the forms in it: scripts/generate_forms.py reads these names."""
    for host, names in TRIED.items():
        row = (host, describe(host), make_steps(names), partial(prepare, host), partial(find_complaints, host))
        yield "-".join(("forms", *names)), row
