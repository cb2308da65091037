"""How each agent is started, headless, against a model on loopback: one row each.

What its hooks look like is not said here: `boathook install` knows that.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from e2e.install import Cache
from e2e.wires import Json, Offer, keys_of

PROMPT = "Please do the three steps of the boathook proof one by one."
KEY = "no-key"
MODEL, GPT = "scripted", "gpt-5.5"  # some agents offer other tools to a model of the second name


@dataclass(frozen=True)
class Place:
    """Where a run takes place."""

    cache: Cache
    home: Path
    project: Path
    port: int
    model: str = MODEL

    @property
    def outside(self) -> Path:
        """Give a folder that is not part of the project."""
        return self.project.parent / "outside"

    @property
    def server(self) -> list[str]:
        """Give the command of the MCP server."""
        return [sys.executable, str(Path(__file__).resolve().parent / "tiny_server.py"), str(self.project)]

    @property
    def server_entry(self) -> Json:
        """Give the MCP server as most agents have it in their settings."""
        command, *arguments = self.server
        return {"command": command, "args": arguments}

    @property
    def url(self) -> str:
        """Give the address of the scripted model."""
        return f"http://127.0.0.1:{self.port}"

    def write(self, path: str, text: str) -> None:
        """Write a file below the home folder."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def add(self, path: str, values: Json) -> None:
        """Put values into a JSON file below the home folder."""
        target = self.home / path
        found = json.loads(target.read_text()) if target.exists() else {}
        self.write(path, json.dumps({**found, **values}, indent=2))


def _command(command: str) -> Json:
    return {"command": command}


def _described(command: str) -> Json:
    return {"command": command, "description": "a step"}


def _nothing(_: Place) -> None:
    return


def _connected(path: str) -> Callable[[Place], None]:
    """Give what adds the MCP server to a JSON file in the usual way."""
    return lambda place: place.add(path, {"mcpServers": {"tiny": place.server_entry}})


def _no_variables(_: Place) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Alias:
    """What hooks get for a tool that the model knows under another name: the name, and the keys that differ."""

    name: str
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Deferred:
    """Tools that a model gets by name alone, in a text, until it looks them up.

    `search`: the tool that does; `text` and `name`: where the names stand; `guarded`: those whose input guards look at, which are
    looked up in the run without hooks; `declared`: where they are declared then, if not among the tools of the next request.
    """

    search: str
    text: str
    name: str
    guarded: tuple[str, ...]
    declared: str = ""

    def names(self, body: object) -> Iterator[str]:
        """Give the names that stand anywhere in a request."""
        for text in _texts(body):
            for found in re.finditer(self.text, text, re.DOTALL):
                yield from re.findall(self.name, found[1], re.MULTILINE)

    def tools(self, body: object) -> Offer:
        """Give the tools that are declared in a text of a request, with their keys."""
        found = [
            json.loads(one) for text in _texts(body) for one in re.findall(self.declared or "(?!)", text, re.DOTALL)
        ]
        return {str(one.get("name")): keys_of(one) for one in found if isinstance(one, dict)}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


@dataclass(frozen=True)
class Agent:
    """One agent: its package, its shell tool, its program and options, and what must be there before it starts.

    `connect` gives it the MCP server; `models` are those that the guards are tried with; `attended` prepares it for a person's
    terminal and gives the options, if it asks persons there.
    """

    name: str
    package: str
    tool: str
    program: Callable[[Cache], list[str]]
    options: Callable[[Place], list[str]]
    connect: Callable[[Place], None] = _nothing
    arguments: Callable[[str], Json] = _command
    variables: Callable[[Place], dict[str, str]] = _no_variables
    prepare: Callable[[Place], None] = _nothing
    before: Callable[[Place], list[str]] | None = None
    needs: tuple[str, ...] = ()
    in_first_set: bool = True
    seconds: int = 90
    aliases: Mapping[str, Alias] = field(default_factory=dict)
    deferred: Deferred | None = None
    models: tuple[str, ...] = (MODEL,)
    attended: Callable[[Place], list[str]] | None = None

    @property
    def packages(self) -> tuple[str, ...]:
        """Give all packages that must be installed."""
        return (*self.needs, self.package)


NODE = "node-linux-{cpu}"


def _with_node(package: str, path: str) -> Callable[[Cache], list[str]]:
    def program(cache: Cache) -> list[str]:
        node = cache.folder(NODE) / "node_modules" / cache.spelled(NODE) / "bin/node"
        return [str(node), str(cache.folder(package) / "node_modules" / package / path)]

    return program


def _binary(package: str, path: str) -> Callable[[Cache], list[str]]:
    def program(cache: Cache) -> list[str]:
        found = sorted((cache.folder(package) / "node_modules").glob(path.format(cpu=cache.cpu)))
        return [str(found[0] if found else cache.folder(package) / path)]

    return program


# Claude Code


FAMILIAR_TOOLS = "Bash,Read,Write,Edit,NotebookEdit,Agent,mcp__tiny"


def _claude_options(_: Place) -> list[str]:
    return ["-p", PROMPT, "--allowedTools", FAMILIAR_TOOLS, "--output-format", "json"]


def _claude_attended(place: Place) -> list[str]:
    """Answer beforehand what it asks a person at the first start."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    key = {"customApiKeyResponses": {"approved": [KEY], "rejected": []}}
    place.add(".claude.json", {"hasCompletedOnboarding": True, "projects": {str(place.project): project}, **key})
    return [PROMPT, "--allowedTools", FAMILIAR_TOOLS]


def _claude_variables(place: Place) -> dict[str, str]:
    off = (
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )
    return {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": KEY} | dict.fromkeys(off, "1")


CLAUDE_DEFERRED = Deferred(
    "ToolSearch",
    r"deferred tools are now available via ToolSearch\.[^\n]*\n((?:[\w-]+\n?)+)",
    r"^[\w-]+",
    ("Monitor", "NotebookEdit"),
)

# Codex

# hooks get the shell as Claude Code has it; all other tools of the main agent keep their names
CODEX_ALIASES = {"exec_command": Alias("Bash", {"cmd": "command"})}


def _codex_prepare(place: Place) -> None:
    place.write(
        ".codex/config.toml",
        f"""model = "{place.model}"
model_provider = "e2e"
check_for_update_on_startup = false

[model_providers.e2e]
name = "e2e"
base_url = "{place.url}/v1"
wire_api = "responses"
env_key = "E2E_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[projects."{place.project}"]
trust_level = "trusted"
""",
    )


def _codex_connect(place: Place) -> None:
    command, *arguments = map(json.dumps, place.server)
    config = (place.home / ".codex/config.toml").read_text()
    entry = f"[mcp_servers.tiny]\ncommand = {command}\nargs = [{', '.join(arguments)}]\n"
    place.write(".codex/config.toml", f"{config}\n{entry}")


def _codex_options(_: Place) -> list[str]:
    return ["exec", "-s", "danger-full-access", "--json", PROMPT]


def _codex_variables(_: Place) -> dict[str, str]:
    return {"E2E_KEY": KEY}


# Copilot CLI


def _copilot_options(_: Place) -> list[str]:
    return ["-p", PROMPT, "--allow-all-tools", "--allow-all-paths", "--no-auto-update"]


def _copilot_variables(place: Place) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": place.model,
        "COPILOT_AUTO_UPDATE": "false",
    }


def _copilot_connect(place: Place) -> None:
    entry = {"type": "local", "tools": ["*"], **place.server_entry}
    place.add(".copilot/mcp-config.json", {"mcpServers": {"tiny": entry}})


# Gemini CLI


def _gemini_prepare(place: Place) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    }
    place.write(".gemini/settings.json", json.dumps(settings, indent=2))


def _gemini_options(place: Place) -> list[str]:
    options = ["--approval-mode", "yolo", "-m", "gemini-2.5-flash", "--output-format", "json"]
    return ["-p", PROMPT, *options, "--include-directories", str(place.outside)]


def _gemini_variables(place: Place) -> dict[str, str]:
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}


# Kimi Code and kimi-cli


def _kimi_config(place: Place, kind: str) -> str:
    return f"""default_model = "scripted"
telemetry = false

[models.scripted]
provider = "e2e"
model = "scripted"
max_context_size = 200000

[providers.e2e]
type = "{kind}"
base_url = "{place.url}/v1"
api_key = "{KEY}"
"""


def _kimi_code_prepare(place: Place) -> None:
    place.write(".kimi-code/config.toml", _kimi_config(place, "openai"))


def _kimi_code_options(_: Place) -> list[str]:
    return ["-p", PROMPT]


def _kimi_code_variables(_: Place) -> dict[str, str]:
    return {"KIMI_CODE_NO_AUTO_UPDATE": "1"}


def _kimi_cli_prepare(place: Place) -> None:
    place.write(".kimi/config.toml", _kimi_config(place, "openai_legacy"))


def _kimi_cli_program(cache: Cache) -> list[str]:
    return [str(cache.folder("kimi-cli") / "bin/kimi")]


def _kimi_cli_options(_: Place) -> list[str]:
    return ["--print", "-c", PROMPT]


def _kimi_cli_variables(_: Place) -> dict[str, str]:
    return {"KIMI_CLI_NO_AUTO_UPDATE": "1"}


# Qwen Code

QWEN_DEFERRED = Deferred(
    "tool_search",
    r"reachable through `tool_search` and `tool_call`(.*?)(?:</system-reminder>|$)",
    r'^- "([\w-]+)"',
    ("monitor", "zoom_image"),
    r"<function>(\{.*?\})</function>",
)


def _qwen_prepare(place: Place) -> None:
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    place.write(".qwen/settings.json", json.dumps(settings, indent=2))


def _qwen_options(place: Place) -> list[str]:
    options = ["--auth-type", "openai", "-m", "scripted", "--approval-mode", "yolo"]
    return ["-p", PROMPT, *options, "--include-directories", str(place.outside)]


def _qwen_variables(place: Place) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_MODEL": "scripted"}


def _in_foreground(command: str) -> Json:
    return {"command": command, "is_background": False}


# Cline


def _cline_before(place: Place) -> list[str]:
    return ["auth", "-p", "openai", "-k", KEY, "-m", place.model, "-b", f"{place.url}/v1"]


def _cline_options(place: Place) -> list[str]:
    return ["--json", "-P", "openai", "-m", place.model, "-k", KEY, PROMPT]


def _commands(command: str) -> Json:
    return {"commands": [command]}


# OpenCode


def _opencode_prepare(place: Place) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
        "models": {place.model: {"name": place.model}},
    }
    config = {"model": f"e2e/{place.model}", "autoupdate": False, "share": "disabled", "provider": {"e2e": provider}}
    config["permission"] = {"external_directory": "allow"}
    place.write(".config/opencode/opencode.json", json.dumps(config, indent=2))


def _opencode_connect(place: Place) -> None:
    entry = {"type": "local", "command": place.server, "enabled": True}
    place.add(".config/opencode/opencode.json", {"mcp": {"tiny": entry}})


def _opencode_options(place: Place) -> list[str]:
    return ["run", "-m", f"e2e/{place.model}", PROMPT]


def _opencode_variables(place: Place) -> dict[str, str]:
    # it installs a package at every start, and waits: a quick no spares a minute
    return {"npm_config_registry": place.url, "npm_config_fetch_retries": "0"}


AGENTS = (
    Agent(
        "claude",
        "@anthropic-ai/claude-code",
        "Bash",
        _binary("@anthropic-ai/claude-code", "@anthropic-ai/claude-code-linux-{cpu}/claude"),
        _claude_options,
        _connected(".claude.json"),
        _described,
        _claude_variables,
        deferred=CLAUDE_DEFERRED,
        attended=_claude_attended,
    ),
    Agent(
        "codex",
        "@openai/codex",
        "exec_command",
        _binary("@openai/codex", "@openai/codex-linux-{cpu}/vendor/*/bin/codex"),
        _codex_options,
        _codex_connect,
        lambda command: {"cmd": command},
        _codex_variables,
        _codex_prepare,
        aliases=CODEX_ALIASES,
        models=(GPT,),
    ),
    Agent(
        "copilot",
        "@github/copilot",
        "bash",
        _binary("@github/copilot", "@github/copilot-linux-{cpu}/copilot"),
        _copilot_options,
        _copilot_connect,
        _described,
        _copilot_variables,
        models=(MODEL, GPT),
    ),
    Agent(
        "gemini",
        "@google/gemini-cli",
        "run_shell_command",
        _with_node("@google/gemini-cli", "bundle/gemini.js"),
        _gemini_options,
        _connected(".gemini/settings.json"),
        _described,
        _gemini_variables,
        _gemini_prepare,
        needs=(NODE,),
    ),
    Agent(
        "kimi-code",
        "@moonshot-ai/kimi-code",
        "Bash",
        _with_node("@moonshot-ai/kimi-code", "dist/main.mjs"),
        _kimi_code_options,
        _connected(".kimi-code/mcp.json"),
        _described,
        _kimi_code_variables,
        _kimi_code_prepare,
        needs=(NODE,),
    ),
    Agent(
        "kimi-cli",
        "kimi-cli",
        "Shell",
        _kimi_cli_program,
        _kimi_cli_options,
        _connected(".kimi/mcp.json"),
        _command,
        _kimi_cli_variables,
        _kimi_cli_prepare,
        in_first_set=False,
    ),
    Agent(
        "qwen",
        "@qwen-code/qwen-code",
        "run_shell_command",
        _with_node("@qwen-code/qwen-code", "cli-entry.js"),
        _qwen_options,
        _connected(".qwen/settings.json"),
        _in_foreground,
        _qwen_variables,
        _qwen_prepare,
        needs=(NODE,),
        in_first_set=False,
        seconds=150,
        deferred=QWEN_DEFERRED,
    ),
    Agent(
        "cline",
        "cline",
        "run_commands",
        _binary("cline", "@cline/cli-linux-{cpu}/bin/cline"),
        _cline_options,
        _connected(".cline/data/settings/cline_mcp_settings.json"),
        _commands,
        before=_cline_before,
        in_first_set=False,
        seconds=150,
        models=(MODEL, GPT),
    ),
    Agent(
        "opencode",
        "opencode-ai",
        "bash",
        _binary("opencode-ai", "opencode-linux-{cpu}/bin/opencode"),
        _opencode_options,
        _opencode_connect,
        _described,
        _opencode_variables,
        _opencode_prepare,
        in_first_set=False,
        seconds=200,
        models=(MODEL, GPT),
    ),
)


def agent(name: str) -> Agent:
    """Give the row of an agent."""
    return next(one for one in AGENTS if one.name == name)
