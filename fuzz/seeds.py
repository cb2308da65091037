"""What fuzzing begins with.

The files of this repository, the faults known from others (rows 35 to 62 of our list), the words that mean something, and
families of inputs that have brought other readers down.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.shapes import Family

ROOT = Path(__file__).resolve().parent.parent


def _files(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


@cache
def _vectors() -> tuple[dict[str, Any], ...]:
    return tuple(vector for data in _files("conformance/vectors/*.json") for vector in json.loads(data))


def _vector_files(ending: str) -> Iterator[bytes]:
    for vector in _vectors():
        for name, content in vector.get("files", {}).items():
            found = content.get("json", content.get("text")) if isinstance(content, dict) else content
            if name.endswith(ending) and found is not None:
                yield found.encode() if isinstance(found, str) else json.dumps(found).encode()


def _vector_events() -> Iterator[bytes]:
    return (json.dumps(vector["event"]).encode() for vector in _vectors() if isinstance(vector.get("event"), dict))


@cache
def _collected(kind: str) -> tuple[bytes, ...]:
    found: list[bytes] = [*NASTY[kind]]
    if kind == "manifest":
        found += [*_files("tests/fixtures/seeds/*/HOOK.md", "examples/hooks/*/HOOK.md"), *_vector_files("/HOOK.md")]
    elif kind == "settings":
        found += [*_files("examples/settings/*/settings.json"), *_vector_files("settings.json")]
    elif kind == "plugins":
        found += _vector_files("installed_plugins.json")
    elif kind == "tests-file":
        found += _files("examples/hooks/*/tests.txt")
    elif kind == "config":
        found += _vector_files("hooks.toml")
    elif kind == "claude-event":
        found += _files("tests/fixtures/claude-code/*.json")
    elif kind == "hosts-event":
        found += _files("tests/fixtures/hosts/*/*.json")
    elif kind == "native-event":
        found += _vector_events()
    return tuple(dict.fromkeys(found))


def of(kind: str) -> list[bytes]:
    """Give the seeds of a kind of input."""
    return list(_collected(kind))


def _manifest(*lines: bytes) -> bytes:
    return (
        b"---\nname: guard\ndescription: d\ntrigger: pre-tool-call\n"
        + b"".join(line + b"\n" for line in lines)
        + b"---\n"
    )


def _hooks(entry: bytes, matcher: bytes = b'"Bash"', event: bytes = b"PreToolUse") -> bytes:
    return b'{"hooks": {"%s": [{"matcher": %s, "hooks": [%s]}]}}' % (event, matcher, entry)


def _command(text: str, **more: object) -> bytes:
    return _hooks(json.dumps({"type": "command", "command": text, **more}).encode())


ANY_JSON = (
    b"[" * 5000,  # 35
    b'{"a":' * 300 + b"1" + b"}" * 300,
    b'{"decision": ' + b"9" * 5000 + b"}",  # 36
    b'{"timeout": NaN, "a": Infinity, "b": -Infinity, "c": 1e400, "d": -0}',  # 37
    b'{"decision": "deny", "decision": "allow"}',  # 38
    b'{"reason": "\\ud800", "decision": "deny", "\\udc00": 1}',  # 39
    b'\xef\xbb\xbf{"decision": "deny"}',  # 40
    '{"decision": "deny"}'.encode("utf-16"),
    b'log\n{"decision": "deny"}',  # 41
    b'{"decision": "deny"}\ntrailing',
    b'{"a": 1}{"b": 2}',
    b"[]",  # 42
    b'"text"',
    b"null",
    b"7",
    b'{"decision": ["deny"]}',
    b'{"decision": "DENY"}',  # 43
    b'{"decision": "perhaps"}',
    b'{"reason": "\x1b]0;title\x07\x1b[31mred\\u001b[2J\\u0007\\u009b"}',  # 47
    b'{"a": "\0"}',
    b"",
    b" \n",
    b"\xff\xfe",
    b"{",
    b'{"a": "\\',
)
EVERY_FIELD = json.dumps(
    {
        "decision": "ask",
        "reason": "r",
        "log": "l",
        "additional_context": "c",
        "system_message": "m",
        "stop_reason": "s",
        "continue": False,
        "modified_input": {"command": "ls"},
        "modified_output": [1],
    }
).encode()
EVERY_CLAUDE_FIELD = json.dumps(
    {
        "continue": False,
        "stopReason": "s",
        "suppressOutput": True,
        "systemMessage": "m",
        "decision": "block",
        "reason": "r",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "r",
            "updatedInput": {"command": "ls"},
            "additionalContext": "c",
            "updatedToolOutput": 1,
            "decision": {"behavior": "deny", "message": "m", "interrupt": True, "updatedInput": {}},
        },
    }
).encode()

NASTY: dict[str, tuple[bytes, ...]] = {
    "tests-file": (
        b'block  rm -rf "/"\n       says root\n       on codex\n\npass   Bash: ls # x\nskip\n',
        b"pass\n with command\n   a\n\n  b\n\tc\n#\n   d\n with x\n",
        b'todo-ask @Stop\n git main dirty\n file "a b" c\n file ~/x/\n program p\n   #!/bin/sh\n leaves x\n',
        b'hook a.py:b\npass x\n input {}\n event {"a": null, "tool_name": 1}\n settings {"a": [[]]}\ncorpus ../c\n',
        b"pass @pre-session " + b"\xff\n",
        b"\xef\xbb\xbfpass x\r\n  says y\r\n",
        b"pass \0\n",
        b"pass\n  input " + b"[" * 5000 + b"\n",
        b'pass\n  file "' + b"\\" * 999 + b"\n",
        b"pass\n  input " + b"9" * 5000 + b"\n",
    ),
    "manifest": (
        _manifest(b"metadata: &a [x,x]", b"b: &b [*a,*a]", b"c: [*b,*b]"),  # 48
        _manifest(b"a: &a {x: 1}", b"b: {<<: [*a, *a]}"),  # 49
        _manifest(b"metadata: " + b"[" * 2000),  # 50, 51
        _manifest(b"- " * 3000),
        _manifest(b"metadata: {" + b"? " * 500 + b"}"),
        _manifest(*(b"k%d: 1" % n for n in range(2100))),  # 52
        _manifest(b"metadata: !!python/object/apply:os.system [true]"),  # 53
        _manifest(b"async: false", b"async: true"),  # 54
        b"---\nname: no\ntrigger: on\ntimeout: 1:30\npriority: 0100\nasync: .inf\nenv: 1e4\ndescription: 2001-01-01\n---\n",  # 55
        _manifest(b"timeout: " + b"9" * 5000),
        _manifest(b'matcher: {tool: "Shell", pattern: "\\.py$"}'),  # 56
        _manifest(b'matcher:\n  pattern: "\\bsudo\\b"'),
        _manifest(b"matcher:\n  tool: *"),  # 57
        _manifest(b"matcher: {tool: *, pattern: *}"),
        b"\xef\xbb\xbf\r\n---\r\nname: x\r\n\ttrigger: y\r\n---",  # 58
        b"---\nname: |\n  ---\n---\n",
        b"---\n---\n",
        b"---\nname: a\0b\n---\n",
        b"---" + b"\n" * 3000 + b"---",  # 59
        b"--- \n" * 50,
        _manifest(b"matcher: {pattern: '(a+)+$', tool: '(?=x)'}"),
        _manifest(b"matcher: {pattern: '[[:alpha:]\\pL{1000}(?i:x|y)*?'}"),
        _manifest(
            b"requires: {bins: [git], env: A, os: [linux]}", b"env: [A, B]", b"dialect: claude", b"on_failure: block"
        ),
        b"---\n%TAG ! x\n%YAML 1.1\nname: x\n---\n",
        _manifest(b'name: "\\UFFFFFFFF"'),
        _manifest(b"? [a]\n: b", b"? a\n? b"),
        _manifest(b"description: >\n  a\n\n  b", b"metadata:\n  - a\n  -\n   - b: {c: [d]}"),
    ),
    "settings": (
        *ANY_JSON,
        _hooks(b'{"type": "command", "command": "./x.sh", "timeout": 5, "if": "Bash(git *)", "async": true}'),
        _hooks(b'{"type": "http", "url": "https://a:b@x/y?z", "headers": {"A": "$B ${C}"}, "allowedEnvVars": ["B"]}'),
        _hooks(b'{"type": "prompt", "prompt": "ok?", "model": "claude-x"}'),
        _hooks(b'{"type": "agent"}, {"type": "mcp_tool"}, {}, 5, null, {"type": []}, {"command": "x"}'),
        _hooks(b'{"type": "http", "url": "http://[::1"}, {"type": "http", "url": "https://\\ufe0f\\u2100"}'),
        _hooks(b'{"type": "command", "command": "x", "timeout": 1e400}', b'"(?=x)"'),
        _hooks(b'{"type": "command", "command": "x", "timeout": -%s}' % (b"9" * 4000), b'"^(Bash|Edit)$"'),
        _hooks(b'{"type": "command", "command": "x", "if": "Edit(/src/{a,b}/**/[a-z]?.\\\\*)"}', b'"\\ud800"'),
        _command("if ! env A=1 -u B uv run --with x boathook run; then exit 1; fi >&2"),
        _command("sh -c 'bash -c \"eval boathook run\" `boathook run` $(boathook run)'"),
        _command("python3 -X dev -m boathook run --host claude; boathook[all]@1 run"),
        _command('A="x\\"y" B=\'z\' "$CLAUDE_PROJECT_DIR"/a.sh && echo "no" >&2 && exit 1'),
        _command("~/x.sh | tee $HOME/log 2>&1 <(cat) ${A:-b} \\\n # c"),
        _command("timeout 5 node x.mjs", args=["a", "b"], shell="bash", statusMessage="s", once=True),
        b'{"disableAllHooks": "yes", "hooks": [], "enabledPlugins": {"p@m": true, "q": false, "r": 1}}',
        b'{"hooks": {"PreTolUse": [], "Setup": [], "PreToolUse": {}, "Stop": [[], {"hooks": {}}, {"type": 1}]}}',
        b"// comment\n{}",
    ),
    "plugins": (
        b'{"version": 1, "plugins": {"p@m": {"installPath": "/nowhere"}}}',
        b'{"version": 2, "plugins": {"p@m": [{"installPath": "/nowhere/", "projectPath": "/p"}, 5]}}',
        b'{"plugins": {"p@m": [{"installPath": "/a\\u0000b", "projectPath": null}]}}',
        b'{"plugins": {"p@m": {"installPath": "/\\ud800"}}}',
        b'{"plugins": []}',
        *ANY_JSON,
    ),
    "config": (
        b"[hooks]\nenabled = true\ndebug = true\nstrict_exit_codes = false\nmax_stop_blocks = 3\nmodel = 'a:b'\n",
        b"[hooks.defaults]\ntimeout = 1000\npriority = 5\nasync = true\non_failure = 'block'\n",
        b"[[hooks.disable]]\nname = 'n-pre-tool-call'\n[[hooks.override]]\nname = 'c-notification'\npriority = 9\n",
        b"[hooks.defaults]\ntimeout = 0x" + b"f" * 5000 + b"\n",
        b"a = " + b"[" * 3000,
        b"a = " + b"{a=" * 500,
        b".".join([b"a"] * 40) + b" = 1\n",
        b"a = 1979-05-27T07:32:00-99:99\nb = 99:99:99\nc = 1e400\nd = nan\ne = 0b1\nf = 1_0\n",
        b'a = """\\\n\n  x\\u0041\\U00110000"""\n',
        b"[a]\n[a]\n",
        b"a.b = 1\na = 2\n",
        b"\xef\xbb\xbf[hooks]\r\nenabled = 'no'\r\n",
        b"[hooks]\nmax_stop_blocks = %s\n" % (b"9" * 5000),
        b"[hooks]\ndisable = 5\noverride = [[1]]\ndefaults = []\n",
    ),
    "exports": (
        b"export A=1 B=\"$A x\" C='y'; declare -x D=${B}\n# comment\ntypeset -x E=a\\ b\n",
        b"A=x\n" + b"A=$A$A\n" * 30,
        b"A=`date`\nB=$(date)\nC=${D:-x}\n=x\nA-B=1\n'A=1'\n",
        b'A="\n',
        b"\\\n" * 50 + b"(",
        b"A=$'x'\n" * 5,
        b"BOATHOOK_X=1\nA=\xf0\x9f\x98\x80\n",
    ),
    "shell": (
        b'A=1 timeout 5 boathook run --host claude 2>&1 | tee "$HOME/a b" && exit 2 # comment\n',
        b'if [ -n "$(git status)" ]; then echo `date` ${A:-$(b)} >&2; fi\n',
        b"cat <<E <<-'F'\n$(a) `b`\nE\n\tc\n\tF\nsh -c 'boathook run'\n",
        b"case a in (b) c;; d) e;; esac; f() { g; }; x=$((1<<2)); diff <(a) >(b)\n",
        b"a 'open; boathook run",
        b"a $'\\n' $\"b\" \\\n c",
    ),
    "command": (
        b"echo a | sudo xargs -I{} sh -c 'b {}' _ > log; parallel c {} ::: d e\n",
        b"curl -o x u; cp x y; sh y; exec 3<<<z; source /dev/fd/3; read -u 3 w; eval $w\n",
        b"python3 -c 'import os; os.system(\"a b\")'; awk 'BEGIN{system(\"a\")}'; sed '1e a' f; vim -c '!a' f\n",
        b"ssh -oProxyCommand='a b' h c; tar -I 'a b' -cf d e; git -c alias.x='!a' x; env -S 'a b' kubectl exec p -- c\n",
        b"printf '\\x61%b' '\\0141' | rev | tr a-z b-za | base64 -d | bash -euo pipefail > >(sh)\n",
        b"IFS=,; x=a,b; $x ${x:1:2} ${x,,} ${!x} ${y:=z}; declare -n q=x; hash -p /a b; b; f() { $1; }; f c\n",
    ),
    "native-answer": (
        *ANY_JSON,
        EVERY_FIELD,
        b'{"modified_input": [1]}',
        b'{"modified_input": {"command": "rm -rf /"}}',
    ),  # 46
    "claude-answer": (
        *ANY_JSON,
        EVERY_CLAUDE_FIELD,
        b'{"ok": false, "reason": "no"}',
        b'{"ok": true}',
        b'{"hookSpecificOutput": {"permissionDecision": "deny"}}',
        b'{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"a": 1}}}}',
    ),
    "reason": (
        b"\x1b[31mno\x1b[0m",
        b"\x1b]0;t\x07x",
        b"x" * 9000,
        b"\xff\xfe\0\r\n\t",
        b"\xc2\x9b31m",
        b"\x1bP\x1b\\",
    ),
    "native-event": (
        b'{"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}, "work_dir": "/"}',
        b'{"event_type": "PreToolUse", "context": {}, "timestamp": "", "session_id": "\\ud800", "work_dir": "\\udc80/\\u0000"}',
        b'{"event_type": "Stop", "stop_block_count": 1e3, "stop_reason": [], "final_message": {}}',
        b'{"event_type": "pre-toll-call"}',
        b'{"event_type": "pre-tool-call", "work_dir": "' + b"/a" * 3000 + b'"}',
        *ANY_JSON,
    ),
    "claude-event": (
        b'{"hook_event_name": "Stop", "last_assistant_message": "x", "stop_hook_active": "no"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": 5}',
        b'{"hook_event_name": "Setup", "cwd": "' + b"/a" * 3000 + b'"}',
        b'{"hook_event_name": "PostToolUse", "tool_response": 1, "tool_output": 2, "context": [], "event_type": {}}',
        *ANY_JSON,
    ),
    "hosts-event": (
        b'{"toolName": "bash", "toolArgs": "{\\"command\\": \\"ls\\"}", "sessionId": 5}',
        b'{"preToolUse": {"toolName": "run_commands", "parameters": {"commands": ["ls", 1], "command": "x"}}}',
        b'{"tool_name": "replace", "tool_input": {"file_path": 1, "host_file_path": 2}, "workspace_roots": [[]]}',
        b'{"tool_name": "Shell", "tool_input": {"command": "ls", "working_directory": "/", "cwd": "/x"}, "host_tool_name": {}}',
        *ANY_JSON,
    ),
}

JSON_WORDS = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b'"',
        b"\\",
        b"null",
        b"true",
        b"false",
        b"0",
        b"-1",
        b"1e400",
        b"NaN",
        b"{}",
        b"[]",
    ),
    *(
        b'""',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"\\',
        b"\\u",
        b"\xef\xbb\xbf",
        b"\x00",
        b"\n",
        b" ",
        b"\x1b[",
        b"\xc2\x9b",
        b"\xff",
    ),
    *(b"9" * 4301, b'{"a":', b'"a":1,', b"\xe2\x80\xa8"),
)
SHELL_WORDS = (
    *(
        b"boathook run",
        b"boathook",
        b"sh -c ",
        b"eval ",
        b"env ",
        b"! ",
        b"-a ",
        b"uv run ",
        b"python3 -m ",
        b"exit 1",
        b">&2",
    ),
    *(
        b"$(",
        b"`",
        b"'",
        b'\\"',
        b"A=",
        b";",
        b"|",
        b"&&",
        b"<<",
        b"${A}",
        b"$CLAUDE_PROJECT_DIR",
        b"/x.sh",
        b"\\n",
        b"#",
        b"if ",
    ),
)
PATTERN_WORDS = (
    *(
        b"(",
        b")",
        b"(?:",
        b"(?i)",
        b"(?=",
        b"|",
        b"*",
        b"+",
        b"?",
        b"{1000}",
        b"[^x]",
        b"[[:alpha:]]",
        b"\\\\pL",
        b"\\\\b",
        b"^",
        b"$",
    ),
    *(b"(a+)+$", b".*"),
)


def _keys(*names: str) -> tuple[bytes, ...]:
    return tuple(f'"{name}"'.encode() for name in names)


ANSWER_KEYS = _keys(
    *("decision", "reason", "log", "additional_context", "system_message", "stop_reason", "continue", "modified_input"),
    *("modified_output", "allow", "approve", "ask", "deny", "block", "DENY"),
)
CLAUDE_KEYS = _keys(
    *(
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "decision",
        "reason",
        "hookSpecificOutput",
        "hookEventName",
    ),
    *(
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
        "updatedToolOutput",
        "behavior",
    ),
    *("message", "interrupt", "ok", "allow", "deny", "ask", "defer", "approve", "block", "PreToolUse"),
)
EVENT_KEYS = _keys(
    *(
        "event_type",
        "timestamp",
        "session_id",
        "work_dir",
        "context",
        "tool_name",
        "tool_input",
        "tool_output",
        "stop_reason",
    ),
    *(
        "stop_block_count",
        "stop_hook_active",
        "final_message",
        "pre-tool-call",
        "Stop",
        "pre-session",
        "notification",
        "Shell",
    ),
)
CLAUDE_EVENT_KEYS = _keys(
    *(
        "hook_event_name",
        "session_id",
        "cwd",
        "tool_name",
        "tool_input",
        "tool_response",
        "last_assistant_message",
        "prompt",
    ),
    *(
        "transcript_path",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionStart",
        "UserPromptSubmit",
        "Notification",
        "Setup",
        "Bash",
    ),
)
SETTINGS_KEYS = _keys(
    *(
        "hooks",
        "matcher",
        "type",
        "command",
        "args",
        "shell",
        "async",
        "asyncRewake",
        "prompt",
        "model",
        "http",
        "url",
        "headers",
    ),
    *(
        "allowedEnvVars",
        "timeout",
        "if",
        "statusMessage",
        "once",
        "disableAllHooks",
        "enabledPlugins",
        "description",
        "PreToolUse",
    ),
    *(
        "PostToolUse",
        "Stop",
        "SessionStart",
        "Notification",
        "agent",
        "https://x",
        "Bash(git *)",
        "Edit(src/**)",
        "Edit({a",
    ),
    *("plugins", "installPath", "projectPath", "/nowhere", "p@m"),
)
YAML_WORDS = (
    *(
        b"---\n",
        b"\n",
        b"\r\n",
        b": ",
        b"- ",
        b"? ",
        b"[",
        b"]",
        b"{",
        b"}",
        b", ",
        b"'",
        b'"',
        b'"\\',
        b"\\",
        b"#",
        b"|\n",
        b">\n",
        b"\t",
    ),
    *(
        b"&a ",
        b"*a",
        b"*",
        b": *\n",
        b": *#",
        b"!x ",
        b"!!str ",
        b"%TAG ! x\n",
        b"<<: ",
        b"~",
        b"null",
        b"true",
        b"1:30",
        b"  ",
    ),
    *(b"\xef\xbb\xbf", b"\x00", b"\xe2\x80\xa8", b"\xc2\x85", b"\x1b", b"'\\.py$'", b"...\n"),
    *(
        f"{name}: ".encode()
        for name in ("name", "description", "trigger", "matcher", "tool", "pattern", "timeout", "async")
    ),
    *(
        f"{name}: ".encode()
        for name in ("priority", "on_failure", "protected", "requires", "env", "dialect", "metadata")
    ),
)
TOML_WORDS = (
    *(
        b"[hooks]\n",
        b"[hooks.defaults]\n",
        b"[[hooks.override]]\n",
        b"[[hooks.disable]]\n",
        b"[",
        b"]",
        b"[[",
        b"{",
        b"}",
        b"= ",
        b".",
    ),
    *(
        b"\n",
        b"'",
        b'"',
        b'"""',
        b"'''",
        b"\\",
        b"\\u",
        b"#",
        b"a.",
        b'"\xe2\x80\xa8".',
        b"0x",
        b"_",
        b"1979-05-27T",
        b"inf",
        b",",
    ),
    *(
        f"{name} = ".encode()
        for name in ("enabled", "debug", "max_stop_blocks", "model", "name", "timeout", "priority", "async")
    ),
    *(b"on_failure = 'block'\n", b"true", b"1", b"'x'", b"\r\n", b"\x00"),
)
EXPORT_WORDS = (
    *(
        b"export ",
        b"declare -x ",
        b"A=",
        b"B=$A$A",
        b"$A",
        b"${A}",
        b"${",
        b"}",
        b"$(",
        b"`",
        b"'",
        b'"',
        b"\\",
        b"\\\n",
        b"\n",
        b";",
    ),
    *(b"#", b"(", b"|", b" ", b"\t", b"\x00", b"\xff", b"A={n}\n"),
)
# Words of programs that start others, or that carry text from one to the next.
STARTING_WORDS = (
    *(b"sudo ", b"env -S ", b"xargs -I{} ", b"parallel ", b"::: ", b"find . -exec ", b"ssh h ", b"kubectl exec p -- "),
    *(b"curl -o x ", b"sh x", b"exec 3", b"<<<", b"<&3", b">&3", b"> >(sh)", b"read -u 3 x;", b"source /dev/fd/3"),
    *(b"python3 -c ", b"system(", b"awk ", b"sed ", b"vim -c '!", b"git -c alias.x='!", b"tar -I ", b"tmux a "),
    *(b"printf ", b"%b", b"\\x61", b"base64 -d", b"rev", b"tr a b", b"| sh", b"IFS=", b"declare -n ", b"hash -p "),
)
SHELL_SYNTAX = (
    *(
        b"$((",
        b"((",
        b"))",
        b"<(",
        b">(",
        b"<<E\n",
        b"<<-E\n",
        b"\nE\n",
        b"<<<",
        b"2>&1",
        b"&>",
        b"&&",
        b"||",
        b"|&",
        b";;",
    ),
    *(
        b"case a in a) ",
        b" esac",
        b"$'",
        b'$"',
        b"${A:-",
        b"~",
        b"*",
        b"boathook",
        b" run",
        b"sh -c '",
        b"eval ",
        b"env ",
    ),
)

WORDS: dict[str, tuple[bytes, ...]] = {
    "tests-file": (
        *(b"block ", b"ask ", b"allow ", b"stop ", b"pass", b"skip ", b"todo-", b"corpus ", b"hook ", b"Shell: ", b"@"),
        *(b"\n  says ", b"\n  adds ", b"\n  becomes ", b"\n  with a ", b"\n  input {", b"\n  event {", b"\n  git main"),
        *(b"\n  file ", b"\n  program p ", b"\n  variable A ", b"\n  leaves ", b"\n  on codex", b"\n  settings {}"),
        *(b"\n", b"\n    ", b"\n\t", b"\n#", b"\r\n", b'"', b"mcp__a__b: "),
    ),
    "manifest": (*YAML_WORDS, *PATTERN_WORDS),
    "settings": (*JSON_WORDS, *SETTINGS_KEYS, *SHELL_WORDS, *PATTERN_WORDS),
    "plugins": (*JSON_WORDS, *SETTINGS_KEYS),
    "config": TOML_WORDS,
    "exports": EXPORT_WORDS,
    "shell": (*SHELL_WORDS, *EXPORT_WORDS, *SHELL_SYNTAX),
    "command": (*SHELL_WORDS, *SHELL_SYNTAX, *STARTING_WORDS),
    "native-answer": (*JSON_WORDS, *ANSWER_KEYS),
    "claude-answer": (*JSON_WORDS, *CLAUDE_KEYS),
    "reason": (
        b"\x1b[",
        b"\x1b]",
        b"\x07",
        b"\x1b",
        b"\r\n",
        b"\xc2\x9b",
        b"\xff",
        b"\n",
        b"x",
        b"\x00",
        b"\xe2\x80\xa8",
    ),
    "native-event": (*JSON_WORDS, *EVENT_KEYS, b"/a", b"../"),
    "claude-event": (*JSON_WORDS, *CLAUDE_EVENT_KEYS, b"/a", b"../"),
    "hosts-event": (
        *JSON_WORDS,
        *CLAUDE_EVENT_KEYS,
        *(
            b'"toolName"',
            b'"toolArgs"',
            b'"preToolUse"',
            b'"parameters"',
            b'"bash"',
            b'"run_shell_command"',
            b'"sessionId"',
        ),
    ),
}


def _json_families(head: bytes, tail: bytes) -> tuple[Family, ...]:
    """Give the families of any JSON reader; `head` and `tail` are around a value."""
    return (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (b"[", b'{"a":', b'"', b'"\\', b"\n", b"{", b"\x1b[", b"\xf0\x9f\x98\x80")
        ),
        Family("deep lists", head, b"[", tail),
        Family("deep objects", head, b'{"a":', tail),
        Family("nested within limits", head + b"[", b"[" * 50 + b"]" * 50 + b",", b"1]" + tail),
        Family("many keys", head + b'{"a":1', b',"k{n}":1', b"}" + tail),
        Family("a key again and again", head + b'{"a":1', b',"a":1', b"}" + tail),
        Family("many numbers", head + b"[1", b",-1.5e9", b"]" + tail),
        Family("long numbers", head + b"[1", b"," + b"9" * 4000, b"]" + tail),
        Family("one long text", head + b'"', b"x", b'"' + tail),
        Family("text of escapes", head + b'"', b"\\u001b[31m\\ud800", b'"' + tail),
        Family("text of quotes", head + b'"', b'\\"', b'"' + tail),
        Family("many texts", head + b'[""', b',"rm"', b"]" + tail),
        Family("text, then JSON", b"log ", b'{"a": ', b"}"),
    )


def _answer_families(key: bytes, nested: bytes) -> tuple[Family, ...]:
    return (
        *_json_families(b'{"%s": ' % key, b"}"),
        Family("unknown keys", b'{"decision": null', b',"k{n}":1', b"}"),
        Family("buried keys", b"x {", b'"decision" ', b"}"),
        Family("a buried answer at the end", b"x " + b"{" * 99, b'"decision" ', b'"decision": 1}'),
        Family("a long reason", b'{"reason": "', b"\\u001b[", b'"}'),
        Family("a text that is plain", b"", b"line \x1b[1m\xc2\x9b\n"),
        Family("a rewritten input", b'{%s{"command": "' % nested, b"sudo rm ", b'"}}' + b"}" * nested.count(b"{")),
        Family("a rewritten input of many", b'{%s{"a": [1' % nested, b',"rm"', b"]}}" + b"}" * nested.count(b"{")),
    )


def _in_command(name: str, head: bytes, unit: bytes, tail: bytes = b"", key: bytes = b"command") -> Family:
    """Give a family within a text of an entry in settings.json."""
    before, after = _hooks(b'{"type": "command", "command": "x", "%s": "\v"}' % key).split(b"\v")
    return Family(name, before + head, unit, tail + after)


GROUP = b'{"type":"command","command":"x"}'
SETTINGS_FAMILIES = (
    *_json_families(b'{"hooks": {"PreToolUse": ', b"}}"),
    Family("unknown events", b'{"hooks": {"a": 1', b',"PreTool{n}":1', b"}}"),
    Family("many groups", b'{"hooks": {"PreToolUse": [{}', b",{}", b"]}}"),
    Family("many hooks", b'{"hooks": {"PreToolUse": [{"hooks": [{}', b',{"type":"command","command":"x{n}"}', b"]}]}}"),
    Family("the same hook", b'{"hooks": {"PreToolUse": [{"hooks": [{}', b"," + GROUP, b"]}]}}"),
    Family("empty hooks", b'{"hooks": {"PreToolUse": [{"hooks": [{}', b",{}", b"]}]}}"),
    Family("hooks of a wrong shape", b'{"hooks": {"PreToolUse": [{"hooks": [1', b",1", b"]}]}}"),
    Family(
        "keys and hooks",
        b'{"hooks": {"PreToolUse": [{"a": 1' + b"".join(b',"k%d":1' % n for n in range(800)) + b',"hooks": [{}',
        b"," + GROUP,
        b"]}]}}",
    ),
    Family(
        "unknown keys", b'{"hooks": {"PreToolUse": [{"hooks": [{"type":"command","command":"x"', b',"k{n}":1', b"}]}]}}"
    ),
    Family(
        "a long matcher for many",
        b'{"hooks": {"PreToolUse": [{"matcher": "' + b"a.b|" * 700 + b'", "hooks": [{}',
        b"," + GROUP,
        b"]}]}}",
    ),
    Family("alternatives", b'{"hooks": {"PreToolUse": [{"matcher": "x.', b"|a{n}", b'", "hooks": [' + GROUP + b"]}]}}"),
    Family("names", b'{"hooks": {"PreToolUse": [{"matcher": "x', b"|a{n}", b'", "hooks": [' + GROUP + b"]}]}}"),
    Family(
        "costly patterns",
        b'{"hooks": {"PreToolUse": [{}',
        b',{"matcher":"[^x]{900}.{n}","hooks":[' + GROUP + b"]}",
        b"]}}",
    ),
    Family(
        "costly classes",
        b'{"hooks": {"PreToolUse": [{}',
        b',{"matcher":"(\\\\pL{30}){30}.{n}","hooks":[' + GROUP + b"]}",
        b"]}}",
    ),
    Family(
        "matchers of wrong patterns",
        b'{"hooks": {"PreToolUse": [{}',
        b',{"matcher":"(?=","hooks":[' + GROUP + b"]}",
        b"]}}",
    ),
    Family(
        "rules",
        b'{"hooks": {"PreToolUse": [{"hooks": [{}',
        b',{"type":"command","command":"x","if":"Edit(' + b"{" * 1900 + b')"}',
        b"]}]}}",
    ),
    Family(
        "short rules",
        b'{"hooks": {"PreToolUse": [{"hooks": [{}',
        b',{"type":"command","command":"x","if":"Bash(git *:{n})"}',
        b"]}]}}",
    ),
    Family(
        "headers",
        b'{"hooks": {"PreToolUse": [{"hooks": [{"type":"http","url":"https://x","allowedEnvVars":["a"'
        + b',"zz"' * 5000
        + b'],"headers":{"A":"',
        b"$b{n}",
        b'"}}]}]}}',
    ),
    Family("plugins", b'{"enabledPlugins": {"a": true', b',"p{n}":true', b"}}"),
    _in_command("an if", b"Bash(", b"a* ", b")", key=b"if"),
    *(
        _in_command(f"a command: {head + unit!r}", head, unit, tail)
        for head, unit, tail in (
            (b"boathook ; ", b"! ", b""),
            (b"boathook ; env ", b"-a ", b""),
            (b"boathook ; python ", b"-a ", b""),
            (b"boathook ; ", b"A=1 ", b""),
            (b"boathook ; ", b"env ", b""),
            (b"boathook ", b"a", b""),
            (b"boathook ", b";", b""),
            (b"boathook ", b"$(", b""),
            (b"", b"$(boathook ", b""),
            (b"", b"`boathook ", b""),
            (b"", b"sh -c 'boathook ", b""),
            (b"", b"eval boathook ", b""),
            (b"boathook '", b"a\\n", b""),
            (b"boathook ", b"'\\n", b"'"),
            (b"boathook ", b"a\\\\\\n", b""),
            (b"boathook ", b"#\\n", b""),
            (b"", b"a=' ", b""),
            (b"", b'A=\\"\\\\\\" ', b""),
            (b"", b"a.sh", b""),
            (b"", b"a", b"="),
            (b"", b"a ", b""),
            (b'\\"', b'\\\\\\"', b""),
            (b"", b"'", b""),
            (b"", b"exit 1\\n", b""),
            (b"", b"$A", b""),
            (b"", b"| a ", b""),
            (b"env ", b"A=1 ", b""),
            (b"", b">a ", b""),
            (b"", b"~/", b""),
            (b"", b"/", b""),
        )
    ),
)

FAMILIES: dict[str, tuple[Family, ...]] = {
    "tests-file": (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (
                *(
                    b"pass\n",
                    b"pass x\n",
                    b"x\n",
                    b"\n",
                    b"#\n",
                    b" ",
                    b" \n",
                    b"pass\n a\n",
                    b"pass\n says\n  x\n",
                    b"hook a\n",
                ),
                *(
                    b"blocks ",
                    b"todo-",
                    b"pass @x\n",
                    b"pass A: b\n",
                    b"pass @Stop x\n on codex\n",
                    b"pass\n with a\n  b\n\n\n",
                ),
            )
        ),
        *(
            Family(f"one case with a run of {unit!r}", b"pass x\n", unit)
            for unit in (
                b" says a\n",
                b" file a b\n",
                b" with a b\n",
                b" x\n",
                b" program p q\n",
                b" on codex\n",
                b" leaves a\n",
            )
        ),
        Family("a long text", b"pass\n with a\n", b"  b\n"),
        Family("a text with empty lines", b"pass\n with a\n  b\n", b"\n"),
        Family("a long name", b'pass x\n file "', b"a"),
        Family("a deep input", b"pass\n input ", b'{"a":'),
        Family("a long word", b"", b"blo"),
    ),
    "manifest": (
        *(
            Family(f"a run of {unit!r}", b"---\n", unit, b"\n---\n")
            for unit in (
                *(
                    b"[",
                    b"{",
                    b"{a: ",
                    b"- ",
                    b"? ",
                    b"\n",
                    b'"',
                    b"'",
                    b'"\\',
                    b"a: *\n",
                    b"a: *#",
                    b'a: "\\."\n',
                    b"#\n",
                    b"# ",
                    b"|",
                    b">",
                ),
                *(
                    b"a: |\n ",
                    b": ",
                    b":",
                    b" ",
                    b"\t",
                    b"\r\n",
                    b"&a ",
                    b"!a ",
                    b"%TAG !a! b\n",
                    b"%a\n",
                    b"~",
                    b"\xe2\x80\xa8",
                    b"\xf0\x9f\x98\x80",
                ),
                *(
                    b"a",
                    b"a ",
                    b"a\n\n",
                    b"...\n",
                    b"--- \n",
                    b"-",
                    b",",
                    b"[]",
                    b"{}",
                    b"x: [\n",
                    b"k{n}: 1\n",
                    b"prior{n}: 1\n",
                    b'k{n}: "\\d"\n',
                ),
            )
        ),
        *(
            Family(f"outside: {unit!r}", b"", unit)
            for unit in (b"\n", b"---\n", b"--- ", b" ", b"\xef\xbb\xbf", b"\r\n")
        ),
        Family("a long body", _manifest(), b"\n---\n"),
        *(
            Family(f"metadata: {unit!r}", _manifest()[:-4] + b"metadata:\n", unit, b"---\n")
            for unit in (b" k{n}: 1\n", b" - a\n", b" - {a: b}\n", b" a{n}: 'x\n\n  x'\n")
        ),
        *(
            Family(f"{key.decode()}: {unit!r}", _manifest()[:-4] + key + b": " + head, unit, tail + b"\n---\n")
            for key, head, unit, tail in (
                (b"name", b"", b"a", b""),
                (b"name", b"", b"e\xcc\x81", b""),
                (b"description", b"'", b"''", b"'"),
                (b"description", b'"', b"\\x1b", b'"'),
                (b"description", b'"', b"\\ ", b'"'),
                (b"description", b">\n", b"  a\n\n", b""),
                (b"trigger2", b"", b"pre-tool", b""),
                (b"metadata", b"[", b"a,", b"]"),
                (b"metadata", b"{", b"a{n}: b,", b"}"),
                (b"env", b"[", b"a,", b"]"),
                (b"requires", b"{", b"a{n}: b,", b"}"),
                (b"matcher", b"{", b"tol{n}: b,", b"}"),
                *(
                    (b"matcher", b"{pattern: '", unit, b"'}")
                    for unit in (b"a|", b"a{n}|", b"(", b"(a", b"[", b"[^x]{900}", b".*", b"(?i:", b"\\pL")
                ),
                *(
                    (b"matcher", b"{pattern: '", unit, b"'}")
                    for unit in (b"(a|b)", b"x{1000}", b"a?", b"[[:", b"[[:alpha:]]", b"\xe2\x82\xac", b"\\")
                ),
                (b"matcher", b'{pattern: "', b"\\b", b'"}'),
            )
        ),
        Family("an unknown trigger", b"---\ntrigger: ", b"pre-tool-", b"\n---\n"),
    ),
    "settings": SETTINGS_FAMILIES,
    "plugins": (
        *_json_families(b'{"plugins": {"p@m": ', b"}}"),
        Family("many rows", b'{"plugins": {"p@m": [{}', b',{"projectPath":"/p","installPath":"/nowhere"}', b"]}}"),
    ),
    "config": (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (
                *(
                    b"[",
                    b"[[",
                    b"a=[",
                    b"a={",
                    b"{",
                    b"a.",
                    b"\n",
                    b"#\n",
                    b"# ",
                    b'"',
                    b"'",
                    b'"""',
                    b"=",
                    b"[a{n}]\n",
                    b"[[a]]\n",
                    b"a{n}=1\n",
                ),
                *(
                    b"[a.b{n}]\n",
                    b"[[a.b]]\n",
                    b"[hooks.a{n}]\n",
                    b"[[hooks.override]]\n",
                    b"[[hooks.disable]]\nname='{n}'\n",
                    b"\r\n",
                    b"\xe2\x80\xa8",
                ),
                *(b"[[hooks.override]]\nname='{n}'\npriority=1\n", b"[[hooks.override]]\nname='n-notification'\n"),
            )
        ),
        Family("dots, all on a line", b"a={b=", b".", b"}"),
        Family("dots on many lines", b"", b"a." * 31 + b"b{n}=1\n"),
        Family("dotted tables", b"", b"[" + b"a." * 31 + b"b{n}]\n"),
        Family("dotted lists of tables", b"", b"[[" + b"a." * 31 + b"b]]\n"),
        Family("dots and other line ends", b"", b"a." * 30 + b'"\xe2\x80\xa8".', b"a=1\n"),
        Family("dots and next lines", b"", b"a." * 30 + b'"\xc2\x85".', b"a=1\n"),
        Family("an inline table", b"a={b=1", b",a{n}=1", b"}"),
        Family("a dotted inline table", b"a={b=1", b",a.b{n}=1", b"}"),
        Family("inline tables", b"a=[", b"{a=1},", b"]"),
        Family("a list", b"a=[", b"1,", b"]"),
        Family("dates", b"a=[", b"1979-05-27T07:32:00.999999Z,", b"]"),
        Family("a number", b"a=", b"9"),
        Family("a number of bits", b"[hooks.defaults]\ntimeout=0x", b"f"),
        Family("a number with lines", b"a=1", b"_1"),
        Family("escapes", b'a="', b"\\u0041", b'"'),
        Family("a long text", b'a="""', b"\\\n ", b'"""'),
        Family("quotes in a long text", b'a="""', b'"" ', b'"""'),
        Family("a literal text", b"a='''", b"'' ", b"'''"),
        Family("unknown keys", b"[hooks]\n", b"k{n}=1\n"),
        Family("unknown tuning", b"[hooks.defaults]\n", b"k{n}=1\n"),
    ),
    "exports": (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (
                *(
                    b"\n",
                    b";",
                    b"A=1\n",
                    b"A{n}=1\n",
                    b"A{n}=1;",
                    b"\\\n",
                    b"'",
                    b'"',
                    b'"\n',
                    b"'\n",
                    b"$",
                    b"${",
                    b"${\n",
                    b"${A}",
                    b"A=$A$A\n",
                ),
                *(
                    b"`",
                    b"(",
                    b"#",
                    b"#\n",
                    b" ",
                    b"a",
                    b"\\",
                    b"x=$x ",
                    b"A=\xf0\x9f\x98\x80\n",
                    b"export ",
                    b"A=1 ",
                    b"A{n}=1 ",
                ),
            )
        ),
        Family("continued, then odd", b"", b"\\\n", b"("),
        Family("open braces", b"", b"${\n", b"}"),
        Family("laughs", b"A=xxxxxxxxxx\n", b"A=$A$A\n"),
        Family("laughs in quotes", b"A=xxxxxxxxxx\n", b'A="$A$A"\n'),
        Family("a large one again and again", b"A=" + b"x" * 8000 + b"\n", b"B=$A\n"),
        Family("a large one in one", b"A=" + b"x" * 8000 + b"\nB=", b"$A"),
        Family("an open text", b'A="', b"x\n"),
        Family("an open text that ends oddly", b"", b'"\\""\n', b"`"),
        Family("an open literal", b"", b"a\n", b"'"),
        Family("open texts", b"", b"\"'\n"),
    ),
    "shell": (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (
                *(
                    b"a",
                    b"a ",
                    b"a\n",
                    b";",
                    b"\n",
                    b"a;",
                    b"'",
                    b'"',
                    b"\\",
                    b"\\\n",
                    b"#\n",
                    b"$",
                    b"$a",
                    b"${a}",
                    b"~",
                    b"*",
                    b"a=*",
                ),
                *(
                    b"$(",
                    b'"$(',
                    b"$(a)",
                    b"${",
                    b"${a:-",
                    b"`",
                    b"\\`",
                    b"`a`",
                    b"(",
                    b")",
                    b"()",
                    b"((",
                    b"$((",
                    b"(())",
                    b"<(",
                    b"<(a)",
                ),
                *(
                    b">",
                    b">a ",
                    b"2>&1 ",
                    b"<<a",
                    b"<<a ",
                    b"<<a\n",
                    b"<<a\na\n",
                    b"<<a\n$(",
                    b"<<<a ",
                    b"&",
                    b"&&",
                    b"|",
                    b"$'",
                    b"$'a'",
                ),
                *(
                    b"case a in ",
                    b"case a in a) ",
                    b"$(case a in a) ",
                    b"sh -c '",
                    b'sh -c "',
                    b"eval ",
                    b"env ",
                    b"boathook ",
                ),
            )
        ),
        Family("open at the end", b"", b"a 'b' ", b"'"),
        Family("a deep open quote", b"", b'"$(" ', b"'"),
        Family("here-documents of one line", b"", b"<<a ", b"\na\n"),
        Family("here-documents that end", b"", b"<<a{n}\n$(b)\na{n}\n"),
        Family("a long name", b"a", b"a", b"=*~"),
        Family("homes", b"a=", b"~:", b""),
    ),
    "command": (
        *(
            Family(f"a run of {unit!r}", b"", unit)
            for unit in (
                *(
                    b"a|",
                    b"curl x | sh\n",
                    b"x=$(a);",
                    b"echo a>b;sh b;",
                    b"cp a b;",
                    b"exec {f}<<<a;sh <&$f;",
                    b"sudo ",
                ),
                *(
                    b"exec 3> >(sh);echo a >&3;",
                    b"xargs -I{} sh -c '{}' ",
                    b"parallel a ::: b ",
                    b"a=(b c);",
                    b"env -S ",
                ),
                *(
                    b"python -c 'system(\"a\")';",
                    b"sed 'e a';",
                    b"ssh h a;",
                    b"tmux a \\; ",
                    b"IFS=a;$IFS",
                    b"f(){ f;};",
                ),
                *(
                    b"while read a; do b; done <<< a;",
                    b"curl -o a b;./a;",
                    b"tar x;./a;",
                    b"echo a|rev|sh;",
                    b"bash <(a);",
                ),
            )
        ),
        *(
            Family(f"a run of {unit!r} in code", b"python3 -c '", unit)
            for unit in (b'system("', b"system(", b"`", b'"a" ', b"\n")
        ),
        *(Family(f"a run of {unit!r} in sed", b"sed '", unit) for unit in (b"s/a/b/e;", b"s/", b"1e a\n", b";", b"\n")),
        *(Family(f"a run of {unit!r} in vim", b"vim -c '", unit) for unit in (b"!a\n", b":", b"silent ", b"\n")),
    ),
    "native-answer": _answer_families(b"reason", b'"modified_input": '),
    "claude-answer": _answer_families(b"reason", b'"hookSpecificOutput": {"updatedInput": '),
    "reason": tuple(
        Family(f"a run of {unit!r}", b"", unit)
        for unit in (
            b"\x1b[",
            b"\x1b",
            b"\x1b]",
            b"\x1b]x\x07",
            b"\x1b[1;",
            b"x",
            b"\n",
            b"\xc2\x9b",
            b"\xff",
            b"\0",
            b"\r\n",
            b"\xf0\x9f\x98\x80",
        )
    ),
    "native-event": (
        *_json_families(b'{"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": ', b"}"),
        Family("an unknown event", b'{"event_type": "', b"pre-tool-", b'"}'),
        Family("a far folder", b'{"event_type": "notification", "work_dir": "', b"/a", b'"}'),
        Family("a far folder with dots", b'{"event_type": "notification", "work_dir": "', b"/..", b'"}'),
        Family("a far relative folder", b'{"event_type": "notification", "work_dir": "', b"a/", b'"}'),
        Family("a folder of slashes", b'{"event_type": "notification", "work_dir": "', b"/", b'"}'),
        Family("a folder with a long name", b'{"event_type": "notification", "work_dir": "/', b"a", b'"}'),
        Family("a long session", b'{"event_type": "Stop", "session_id": "', b"/", b'"}'),
        Family(
            "a text for the pattern",
            b'{"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": "',
            b"rm-r",
            b'"}',
        ),
    ),
    "claude-event": (
        *_json_families(b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": ', b"}"),
        Family("an unknown event", b'{"hook_event_name": "', b"PreTool", b'"}'),
        Family("a far folder", b'{"hook_event_name": "Notification", "cwd": "', b"/a", b'"}'),
        Family("fields", b'{"hook_event_name": "Stop"', b',"k{n}":1', b"}"),
    ),
    "hosts-event": (
        *_json_families(b'{"tool_name": "Bash", "toolName": "bash", "tool_input": ', b"}"),
        Family("keys that move", b'{"tool_name": "replace", "tool_input": {"path": 1', b',"host_path{n}":1', b"}}"),
        Family(
            "lines of a command", b'{"tool_name": "run_commands", "tool_input": {"commands": ["ls"', b',"ls"', b"]}}"
        ),
    ),
}
