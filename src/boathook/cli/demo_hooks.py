"""The project of the demo: its files, its hooks, real ones, laid out as any project would have them, and its agent's moves."""

from __future__ import annotations

import json

from boathook.agent.model import Reply
from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.operations import ToolCall

GUARD = """\
---
name: guard
description: Blocks commands that would wipe a disk
trigger: pre-tool-call
matcher:
  tool: Shell
  pattern: 'rm\\s+-(rf|fr)\\s+/(\\s|$|\\*)|mkfs'
timeout: 5000
priority: 999
on_failure: block
---
"""
GUARD_SCRIPT = """\
#!/bin/sh
echo "that would wipe the disk" >&2
exit 2
"""
QUIET = """\
---
name: quiet-tests
description: Makes test runs short, so that they do not fill the agent's context
trigger: pre-tool-call
matcher:
  tool: Shell
  pattern: '^sh run-tests\\.sh$'
timeout: 5000
---
"""
QUIET_SCRIPT = """\
#!/bin/sh
echo '{"decision": "allow", "modified_input": {"command": "sh run-tests.sh --quiet"}, "log": "added --quiet"}'
"""
CONTEXT = """\
---
name: add-context
description: Tells the agent which files there are
trigger: pre-agent-turn
timeout: 5000
---
"""
CONTEXT_SCRIPT = """\
#!/bin/sh
echo "Files here: $(ls | tr '\\n' ' ')"
"""
TIDY = """\
---
name: tidy
description: Removes white space at line ends of written files
trigger: post-tool-call
matcher:
  tool: WriteFile
timeout: 10000
async: true
---
"""
TIDY_SCRIPT = """\
#!/bin/sh
path=$(sed -n 's/.*"path": "\\([^"]*\\)".*/\\1/p')
sed 's/[[:space:]]*$//' "$path" > "$path.tidy" && mv "$path.tidy" "$path"
echo "tidied $path"
"""
GATE = """\
---
name: tests-pass
description: Refuses to stop before the tests pass
trigger: pre-agent-turn-stop
timeout: 30000
priority: 999
---
"""
GATE_SCRIPT = """\
#!/bin/sh
sh run-tests.sh --quiet > /dev/null 2>&1 && exit 0
echo "the tests do not pass yet" >&2
exit 2
"""
HOOKS = {
    "guard": (GUARD, GUARD_SCRIPT),
    "quiet-tests": (QUIET, QUIET_SCRIPT),
    "add-context": (CONTEXT, CONTEXT_SCRIPT),
    "tidy": (TIDY, TIDY_SCRIPT),
    "tests-pass": (GATE, GATE_SCRIPT),
}
HOUSE_RULE = {"type": "command", "command": "echo 'House rule: greetings are written in lower case.'"}
SETTINGS = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [HOUSE_RULE]}]}}, indent=2)
TESTS = """\
[ "$1" = --quiet ] || echo "a very long test report"
grep -q "^hello$" greeting.txt && echo "1 passed" && exit 0
echo "1 failed"
exit 1
"""
FILES = {"greeting.txt": "helo\n", "run-tests.sh": TESTS}


def no_promises(context: ToolContext) -> Outcome | None:
    """Block files that promise what they should do; a hook in process is a function."""
    if "TODO" in str(context.args.get("content", "")):
        return Outcome.block("do it now instead of promising it")
    return None


TASK = "Fix greeting.txt so that the tests pass."
COMMANDS = ("sh run-tests.sh", "sh run-tests.sh --quiet")


def _call(text: str, tool: str, **args: str) -> Reply:
    return Reply(text, (ToolCall(tool, args),))


MOVES = (
    _call("First I make some room.", "Shell", command="rm -rf /"),
    _call("Well, then not. What do the tests say?", "Shell", command=COMMANDS[0]),
    _call("I leave a note for later.", "WriteFile", path="greeting.txt", content="TODO: say hello\n"),
    "Done.",
    _call("All right, I write the greeting.", "WriteFile", path="greeting.txt", content="hello   \n"),
)
LAST_WORDS = "Now the tests pass."
