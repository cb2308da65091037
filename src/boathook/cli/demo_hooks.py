"""The project of the demo: its files, its hooks, and the moves of the scripted model."""

from __future__ import annotations

import json

from boathook.agent.model import Reply
from boathook.core.outcome import Outcome
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.operations import ToolCall
from boathook.sources.source import SETTINGS_JSON_SOURCE

# Name, description, trigger, the other lines of the frontmatter, and the script.
_HOOKS = (
    (
        *("guard", "Blocks commands that would wipe a disk", "pre-tool-call"),
        r"""matcher:
  tool: Shell
  pattern: 'rm\s+-(rf|fr)\s+/(\s|$|\*)|mkfs'
timeout: 5000
priority: 999
on_failure: block""",
        'echo "that would wipe the disk" >&2\nexit 2\n',
    ),
    (
        *("quiet-tests", "Shortens test reports, so that they do not fill the agent's context", "pre-tool-call"),
        r"""matcher:
  tool: Shell
  pattern: '^sh run-tests\.sh$'
timeout: 5000""",
        """\
echo '{"decision": "allow", "modified_input": {"command": "sh run-tests.sh --quiet"}, "log": "added --quiet"}'
""",
    ),
    (
        *("add-context", "Tells the agent which files there are", "pre-agent-turn", "timeout: 5000"),
        """echo "Files here: $(ls | tr '\\n' ' ')"\n""",
    ),
    (
        *("tidy", "Removes white space at line ends of written files", "post-tool-call"),
        "matcher:\n  tool: WriteFile\ntimeout: 10000\nasync: true",
        r"""path=$(sed -n 's/.*"tool_input": {[^}]*"file_path": "\([^"]*\)".*/\1/p')
sed 's/[[:space:]]*$//' "$path" > "$path.tidy" && mv "$path.tidy" "$path"
echo "tidied $path"
""",
    ),
    (
        *("tests-pass", "Refuses to stop before the tests pass", "pre-agent-turn-stop"),
        "timeout: 30000\npriority: 999",
        """\
sh run-tests.sh --quiet > /dev/null 2>&1 && exit 0
echo "the tests do not pass yet" >&2
exit 2
""",
    ),
)
DEMO_HOOK_NAMES = [name for name, *_ in _HOOKS]
_STYLE_RULE = {"type": "command", "command": "echo 'Style rule: write greetings in lower case.'"}
_TEST_SCRIPT = """\
[ "$1" = --quiet ] || echo "a very long test report"
grep -q "^hello$" greeting.txt && echo "1 passed" && exit 0
echo "1 failed"
exit 1
"""
DEMO_FILES = {
    "greeting.txt": "helo\n",
    "run-tests.sh": _TEST_SCRIPT,
    SETTINGS_JSON_SOURCE.markers[0][1:]: json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [_STYLE_RULE]}]}}),
}
for _name, _description, _trigger, _fields, _script in _HOOKS:
    DEMO_FILES |= {
        f".agents/hooks/{_name}/HOOK.md": (
            f"---\nname: {_name}\ndescription: {_description}\ntrigger: {_trigger}\n{_fields}\n---\n"
        ),
        f".agents/hooks/{_name}/scripts/run.sh": f"#!/bin/sh\n{_script}",
    }


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
