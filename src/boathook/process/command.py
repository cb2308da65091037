"""What settings.json has beside scripts: a line for the shell, a program with arguments, a question, an address.

Questions and posts are put by a process as well (`runners.asker`), so that every hook has the same deadline, the same limits
and the same end.
"""

from __future__ import annotations

import os
import sys

from boathook.core.hook import Command, Http, Prompt
from boathook.core.json_text import dumps, loads
from boathook.process.hook_runner import Start, to_bytes
from boathook.process.supervisor import DOOR
from boathook.system.programs import which

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.hook import Hook

ASK = "--ask"
REMOTE = b"CLAUDE_CODE_REMOTE"
ROOT = "CLAUDE_PLUGIN_ROOT"
NO_MODEL = (
    'no model is named for prompt hooks: set model = "provider:name" under [hooks] in your hooks.toml, '
    "or 'model' in the hook"
)


def start(
    hook: Hook, data: bytes, env: dict[bytes, bytes], project: str, model: str, avoid: tuple[str, ...] = ()
) -> Start:
    """Work out how a hook of settings.json is started; adds to its environment what it may count on.

    No shell is taken from the projects to avoid.
    """
    env.setdefault(REMOTE, b"")
    try:
        begun = _start(hook, data, env, project, model, avoid or (project,))
    except ValueError as error:  # text that no program can be given: the others of its stage must not fall with it
        begun = Start(refused=f"it cannot be started: {error}")
    return begun.replace(cwd=project)


def _start(hook: Hook, data: bytes, env: dict[bytes, bytes], project: str, model: str, avoid: tuple[str, ...]) -> Start:
    handler = hook.handler
    if isinstance(handler, Command):
        return _command(handler, data, env, project, avoid)
    if isinstance(handler, Http):
        return _http(handler, data, env, patience(hook.timeout))
    if isinstance(handler, Prompt):
        return _prompt(handler, data, patience(hook.timeout), model)
    raise TypeError(f"no way to start {handler!r}")


def patience(timeout: float) -> float:
    """Return the seconds that the asking may take, so that it can still say what went wrong before its process is ended."""
    return max(timeout - 1, timeout * 0.75)


def _command(handler: Command, data: bytes, env: dict[bytes, bytes], project: str, avoid: tuple[str, ...]) -> Start:
    if handler.root:
        env[ROOT.encode()] = to_bytes(handler.root)
    if handler.words is not None:
        named = {ROOT: handler.root, "CLAUDE_PROJECT_DIR": project}
        program, *words = (_filled(word, named) for word in (handler.text, *handler.words))
        found = which(program, env.get(b"PATH", os.defpath.encode()).decode("utf-8", "surrogateescape"))
        return Start((found or program, *words), data)
    if handler.shell == "powershell":
        shell = which("pwsh", avoid=avoid) or which("powershell", avoid=avoid)
        if shell is None:
            return Start(refused="its shell is powershell, which is not found on the PATH")
        return Start((shell, "-NoProfile", "-NonInteractive", "-Command", handler.text), data)
    return Start((which("bash", avoid=avoid) or "/bin/sh", "-c", handler.text), data)


def _filled(word: str, named: dict[str, str]) -> str:
    """Put the folders a hook may name into a word that no shell will look at."""
    for name, value in named.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _http(handler: Http, data: bytes, env: dict[bytes, bytes], timeout: float) -> Start:
    headers = {name: fill_header(value, handler.allowed, env) for name, value in handler.headers}
    return _ask({"type": "http", "url": handler.url, "headers": headers, "timeout": timeout, "event": _event(data)})


def _prompt(handler: Prompt, data: bytes, timeout: float, model: str) -> Start:
    chosen, note = handler.choose(model)
    if not chosen:
        return Start(refused=NO_MODEL)
    text = data.decode().rstrip("\n")
    prompt = handler.text.replace("$ARGUMENTS", text) if "$ARGUMENTS" in handler.text else f"{handler.text}\n\n{text}"
    begun = _ask({"type": "prompt", "model": chosen, "prompt": prompt, "timeout": timeout})
    return begun.replace(warnings=(note,))


def fill_header(value: str, allowed: tuple[str, ...], env: dict[bytes, bytes]) -> str:
    """Put variables into a header, the allowed ones alone; any other becomes nothing."""
    parts, rest = [], value
    while "$" in rest:
        before, _, rest = rest.partition("$")
        braced = rest.startswith("{") and rest.find("}") > 1
        name = rest[1 : rest.index("}")] if braced else _name_at(rest)
        rest = rest[len(name) + 2 if braced else len(name) :]
        known = env.get(name.encode(), b"").decode("utf-8", "replace") if name in allowed else ""
        parts += [before, known if name else "$"]
    return "".join([*parts, rest])


def _name_at(text: str) -> str:
    end = 0
    while end < len(text) and (text[end] == "_" or (text[end].isascii() and text[end].isalnum())):
        end += 1
    return "" if text[:1].isdigit() else text[:end]  # $5 is a price


def _ask(job: dict[str, object]) -> Start:
    return Start((sys.executable, "-I", "-S", DOOR, ASK), dumps(job).encode("utf-8", "surrogatepass"))


def _event(data: bytes) -> object:
    return loads(data.decode())
