"""An MCP server on stdin and stdout with two tools, which leave a file each: `tiny_server.py FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
NAME = "tiny"
# each tool, and the file that it leaves
TOOLS = {"delete_note": "deleted-note", "keep_note": "kept-note"}
SCHEMA: Json = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}


def answer(message: Json, folder: Path) -> Json | None:
    """Give the answer to a message of a client; None for a notification, which has none."""
    if "id" not in message:
        return None
    method, given = message.get("method"), message.get("params") or {}
    reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        version = given.get("protocolVersion", "2025-06-18")
        about: Json = {"serverInfo": {"name": NAME, "version": "1"}, "capabilities": {"tools": {}}}
        return {**reply, "result": {"protocolVersion": version, **about}}
    if method == "tools/list":
        tools = [{"name": name, "description": f"{name} of a note", "inputSchema": SCHEMA} for name in TOOLS]
        return {**reply, "result": {"tools": tools}}
    if method == "tools/call" and given.get("name") in TOOLS:
        (folder / TOOLS[given["name"]]).touch()
        return {**reply, "result": {"content": [{"type": "text", "text": f"{given['name']} ran"}], "isError": False}}
    if method == "ping":
        return {**reply, "result": {}}
    return {**reply, "error": {"code": -32601, "message": f"no method {method}"}}


def main() -> None:
    """Answer every line until there is none."""
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        found = answer(json.loads(line), folder) if line.strip() else None
        if found is not None:
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
