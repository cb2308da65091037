"""The input of a tool, as people write it on a command line."""

from __future__ import annotations

from typing import Any

from boathook.core.json_text import JsonError, loads
from boathook.errors import ConfigError
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_canonical_name

SHELL_TOOL = "Shell"


def parse_json_option(option: str, text: str, example: str = "") -> Any:
    try:
        return loads(text)
    except JsonError as error:
        raise ConfigError(f"{option} is not JSON: {error}.{example}") from None


def parse_tool_input(text: str, tool: str | None) -> Any:
    """Return the input of a tool from JSON; a text that is not JSON is the command of a shell."""
    name = SHELL_TOOL if tool is None else find_canonical_name(tool)
    if name == SHELL_TOOL and text.lstrip()[:1] not in ("{", "[", '"'):
        return {"command": text}
    key = TOOL_INPUT_KEYS.get(name, ("key",))[0]
    return parse_json_option("--input", text, f""" Example: --input '{{"{key}": "…"}}'""")
