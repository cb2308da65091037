"""The handlers that only settings.json has: a line for the shell, a program with arguments, a prompt, a URL."""

from __future__ import annotations

import os
import sys

from boathook.core.hook import Command, Http, Prompt
from boathook.core.json_text import dumps, loads
from boathook.process.spawn import encode_variable
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.programs import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.hook import Hook
    from boathook.process.child import Job

# The process that asks a model or a server (`remote_hooks`).
ASK_COMMAND = (sys.executable, "-I", "-S", HOOK_ENTRY, "--ask")
NO_MODEL = (
    'no model is named for prompt hooks: set model = "provider:name" under [hooks] in your hooks.toml, '
    "or 'model' in the hook"
)


def start_command(
    hook: Hook, job: Job, env: dict[bytes, bytes], project: str, model: str, avoid: tuple[str, ...] = ()
) -> Job:
    """Complete the job of a settings.json hook, and its environment; no shell is taken from the projects to avoid."""
    for name in hook.dialect.empty_variables:
        env.setdefault(name.encode(), b"")
    job = job.replace(cwd=project)
    try:
        return _complete_job(hook, job, env, project, model, avoid or (project,))
    except ValueError as error:
        # text that no program can be given: the other hooks of its stage must not fail with it
        return job.replace(refused=f"it cannot be started: {error}")


def _complete_job(
    hook: Hook, job: Job, env: dict[bytes, bytes], project: str, model: str, avoid: tuple[str, ...]
) -> Job:
    handler = hook.handler
    if isinstance(handler, Command):
        project_variable, root_variable = hook.dialect.folder_variables
        if handler.root:
            env[root_variable.encode()] = encode_variable(handler.root)
        job = job.replace(cwd=os.path.join(project, handler.cwd)) if handler.cwd else job
        folders = {root_variable: handler.root, project_variable: project}
        return _complete_command(handler, job, env, folders, avoid)
    if isinstance(handler, Http):
        headers = {name: fill_header(value, handler.allowed, env) for name, value in handler.headers}
        event = loads(job.stdin.decode())
        return _ask(job, {"type": "http", "url": handler.url, "headers": headers, "event": event})
    if isinstance(handler, Prompt):
        return _complete_prompt(handler, job, model)
    raise TypeError(f"no way to start {handler!r}")


def compute_ask_seconds(timeout: float) -> float:
    """Return the seconds that asking may take, so that it can still report an error before its process is ended."""
    return max(timeout - 1, timeout * 0.75)


def _complete_command(
    handler: Command, job: Job, env: dict[bytes, bytes], folders: dict[str, str], avoid: tuple[str, ...]
) -> Job:
    if handler.words is not None:
        filled = [handler.text, *handler.words]
        for name, value in folders.items():
            filled = [word.replace(f"${{{name}}}", value) for word in filled]
        program, *words = filled
        path = find_program(program, env.get(b"PATH", os.defpath.encode()).decode("utf-8", "surrogateescape"))
        return job.replace(argv=(path or program, *words))
    if handler.shell == "powershell":
        shell = find_program("pwsh", avoid=avoid) or find_program("powershell", avoid=avoid)
        if shell is None:
            return job.replace(refused="its shell is powershell, which is not found on the PATH")
        return job.replace(argv=(shell, "-NoProfile", "-NonInteractive", "-Command", handler.text))
    return job.replace(argv=(find_program("bash", avoid=avoid) or "/bin/sh", "-c", handler.text))


def _complete_prompt(handler: Prompt, job: Job, model: str) -> Job:
    chosen, note = handler.choose_model(model)
    if not chosen:
        return job.replace(refused=NO_MODEL)
    text = job.stdin.decode().rstrip("\n")
    prompt = handler.text.replace("$ARGUMENTS", text) if "$ARGUMENTS" in handler.text else f"{handler.text}\n\n{text}"
    return _ask(job, {"type": "prompt", "model": chosen, "prompt": prompt}).replace(warnings=(note,))


def fill_header(value: str, allowed: tuple[str, ...], env: dict[bytes, bytes]) -> str:
    parts, rest = [], value
    while "$" in rest:
        before, _, rest = rest.partition("$")
        braced = rest.startswith("{") and rest.find("}") > 1
        name = rest[1 : rest.index("}")] if braced else _read_name(rest)
        rest = rest[len(name) + 2 if braced else len(name) :]
        filled = env.get(name.encode(), b"").decode("utf-8", "replace") if name in allowed else ""
        parts += [before, filled if name else "$"]
    return "".join([*parts, rest])


def _read_name(text: str) -> str:
    end = 0
    while end < len(text) and (text[end] == "_" or (text[end].isascii() and text[end].isalnum())):
        end += 1
    # $5 is a price
    return "" if text[:1].isdigit() else text[:end]


def _ask(job: Job, question: dict[str, object]) -> Job:
    question["timeout"] = compute_ask_seconds(job.timeout)
    stdin = dumps(question).encode("utf-8", "surrogatepass")
    return job.replace(argv=ASK_COMMAND, stdin=stdin)
