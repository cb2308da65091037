"""The project of the demo: its files, its hooks, and the moves of the scripted model."""

from __future__ import annotations

import json

from boathook.agent.model import Reply
from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.operations import ToolCall

_GUARD = """\
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
_GUARD_SCRIPT = """\
#!/bin/sh
echo "that would wipe the disk" >&2
exit 2
"""
_QUIET = """\
---
name: quiet-tests
description: Shortens test reports, so that they do not fill the agent's context
trigger: pre-tool-call
matcher:
  tool: Shell
  pattern: '^sh run-tests\\.sh$'
timeout: 5000
---
"""
_QUIET_SCRIPT = """\
#!/bin/sh
echo '{"decision": "allow", "modified_input": {"command": "sh run-tests.sh --quiet"}, "log": "added --quiet"}'
"""
_CONTEXT = """\
---
name: add-context
description: Tells the agent which files there are
trigger: pre-agent-turn
timeout: 5000
---
"""
_CONTEXT_SCRIPT = """\
#!/bin/sh
echo "Files here: $(ls | tr '\\n' ' ')"
"""
_TIDY = """\
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
_TIDY_SCRIPT = """\
#!/bin/sh
path=$(sed -n 's/.*"path": "\\([^"]*\\)".*/\\1/p')
sed 's/[[:space:]]*$//' "$path" > "$path.tidy" && mv "$path.tidy" "$path"
echo "tidied $path"
"""
_GATE = """\
---
name: tests-pass
description: Refuses to stop before the tests pass
trigger: pre-agent-turn-stop
timeout: 30000
priority: 999
---
"""
_GATE_SCRIPT = """\
#!/bin/sh
sh run-tests.sh --quiet > /dev/null 2>&1 && exit 0
echo "the tests do not pass yet" >&2
exit 2
"""
DEMO_HOOKS = {
    "guard": (_GUARD, _GUARD_SCRIPT),
    "quiet-tests": (_QUIET, _QUIET_SCRIPT),
    "add-context": (_CONTEXT, _CONTEXT_SCRIPT),
    "tidy": (_TIDY, _TIDY_SCRIPT),
    "tests-pass": (_GATE, _GATE_SCRIPT),
}
_STYLE_RULE = {"type": "command", "command": "echo 'Style rule: write greetings in lower case.'"}
DEMO_SETTINGS = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [_STYLE_RULE]}]}}, indent=2)
_TEST_SCRIPT = """\
[ "$1" = --quiet ] || echo "a very long test report"
grep -q "^hello$" greeting.txt && echo "1 passed" && exit 0
echo "1 failed"
exit 1
"""
DEMO_FILES = {"greeting.txt": "helo\n", "run-tests.sh": _TEST_SCRIPT}


def block_promises(context: ToolContext) -> Outcome | None:
    """Block files with a TODO. An in-process hook is a function."""
    if "TODO" in str(context.args.get("content", "")):
        return Outcome.block("do it now instead of leaving a TODO")
    return None


DEMO_TASK = "Fix greeting.txt so that the tests pass."
DEMO_TEST_COMMANDS = ("sh run-tests.sh", "sh run-tests.sh --quiet")


def _make_call(text: str, tool: str, **args: str) -> Reply:
    return Reply(text, (ToolCall(tool, args),))


DEMO_MOVES = (
    _make_call("First I free some disk space.", "Shell", command="rm -rf /"),
    _make_call("All right. What do the tests say?", "Shell", command=DEMO_TEST_COMMANDS[0]),
    _make_call("I will leave a note for later.", "WriteFile", path="greeting.txt", content="TODO: say hello\n"),
    "Done.",
    _make_call("Then I fix the greeting.", "WriteFile", path="greeting.txt", content="hello   \n"),
)
LAST_REPLY = "Now the tests pass."
