"""The list of what a tool call writes: complete, whatever the input looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import Event
from boathook.core.file_writes import add_writes, list_writes
from tests.core.builders import json_objects

PATCH = "*** Begin Patch\n*** Add File: z\n+q\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch"
PATCHED = [("z", "q\n", "write"), ("a", "", "delete"), ("b", "y\n", "write")]
CALLS = {
    "a file": ("WriteFile", {"file_path": "a", "content": "x"}, [("a", "x", "write")]),
    "an empty file": ("WriteFile", {"file_path": "a", "content": ""}, [("a", "", "write")]),
    "an edit": ("EditFile", {"file_path": "a", "old_string": "o", "new_string": "n"}, [("a", "n", "edit")]),
    "an edit that removes": ("EditFile", {"file_path": "a", "old_string": "o", "new_string": ""}, [("a", "", "edit")]),
    "edits": (
        "MultiEdit",
        {"file_path": "a", "edits": [{"old_string": "o", "new_string": "n"}, {"old_string": "p", "new_string": "q"}]},
        [("a", "n", "edit"), ("a", "q", "edit")],
    ),
    "one edit inside": ("EditFile", {"file_path": "a", "edit": {"old": "o", "new": "n"}}, [("a", "n", "edit")]),
    "edits of several files": (
        "EditFile",
        {"replacements": [{"filePath": "a", "newString": "n"}, {"filePath": "b", "newString": "m"}]},
        [("a", "n", "edit"), ("b", "m", "edit")],
    ),
    "a cell": ("NotebookEdit", {"file_path": "a", "new_string": "s", "cell_id": "c"}, [("a", "s", "edit")]),
    "a deletion": ("DeleteFile", {"file_path": "a"}, [("a", "", "delete")]),
    "a patch": ("PatchFile", {"patch": PATCH}, PATCHED),
    "a patch in a command": ("Shell", {"command": f"apply_patch <<E\n{PATCH}\nE"}, PATCHED),
    "a patch for a server": ("mcp__x__apply_patch", {"input": PATCH}, PATCHED),
    "no patch": ("PatchFile", {"patch": "--- a\n+++ b"}, [("", "--- a\n+++ b", "edit")]),
    "a command": ("Shell", {"command": "echo > a"}, []),
    "reading": ("ReadFile", {"file_path": "a"}, []),
    "a move": ("mcp__fs__move_file", {"source": "a", "destination": "b"}, [("a", "", "delete"), ("b", "", "write")]),
    "a renaming": ("mcp__fs__rename", {"oldPath": "a", "newPath": "b"}, [("a", "", "delete"), ("b", "", "write")]),
    "a copy": ("mcp__fs__copy_file", {"source": "a", "destination": "b"}, [("b", "", "write")]),
    "a move by other keys": ("mcp__fs__mv", {"from": "a", "to": "b"}, [("a", "", "delete"), ("b", "", "write")]),
    "moves by several keys": (
        "mcp__fs__move_file",
        {"src": "a", "dst": "b", "from": "c", "to": "d"},
        [("a", "", "delete"), ("c", "", "delete"), ("b", "", "write"), ("d", "", "write")],
    ),
    "a copy by a short name": ("mcp__fs__cp", {"src": "a", "dest": "b"}, [("b", "", "write")]),
    "a deletion by a short name": ("mcp__fs__rm", {"path": "a"}, [("a", "", "delete")]),
    "a patch beside a path": ("mcp__fs__apply_patch", {"path": "p", "patch": PATCH}, [("p", PATCH, "edit"), *PATCHED]),
    "a patch beside a path and a text": (
        "mcp__fs__apply",
        {"path": "p", "content": "x", "patch_input": PATCH},
        [("p", "x", "edit"), *PATCHED],
    ),
    "edits as a text": (
        "MultiEdit",
        {"file_path": "a", "new_string": "x", "edits": '[{"new_string": "n"}]'},
        [("a", 'x\n[{"new_string": "n"}]', "edit")],
    ),
    "edits and another text": (
        "MultiEdit",
        {"file_path": "a", "new_string": "x", "edits": [{"old_string": "o", "new_string": "n"}]},
        [("a", "x", "edit"), ("a", "n", "edit")],
    ),
    "files": (
        "mcp__github__push_files",
        {"message": "m", "files": [{"path": "a", "content": "x"}, {"path": "b", "content": "y"}]},
        [("a", "x", "write"), ("b", "y", "write")],
    ),
    "files without texts": ("mcp__fs__delete_files", {"paths": ["a", "b"]}, [("a", "", "delete"), ("b", "", "delete")]),
    "an unknown key of the text": ("mcp__x__append", {"file": "a", "note": "n"}, [("a", "n", "edit")]),
    "an unknown key of the path": ("WriteFile", {"where": "a", "content": "x"}, [("", "x", "write")]),
    "nothing": ("WriteFile", {}, [("", "", "write")]),
    "a text": ("PatchFile", "junk", [("", "junk", "edit")]),
}


@pytest.mark.parametrize(("tool", "tool_input", "expected"), CALLS.values(), ids=CALLS)
def test_what_a_call_writes(tool, tool_input, expected):
    event = Event.of("pre-tool-call", tool_name=tool, tool_input=tool_input)
    assert [(one.path, one.text, one.change) for one in list_writes(event)] == expected
    assert add_writes(event).data["writes"] == [
        {"path": path, "text": text, "change": change} for path, text, change in expected
    ]


DECOYS = {
    "another place inside": {"x": {"path": "harmless"}},
    "a move": {"source": "harmless", "destination": "b"},
    "a move to the same file": {"source": "harmless", "destination": ".env"},
    "another spelling of the key": {"filePath": "harmless"},
    "another text": {"text": "harmless"},
    "a patch as text": {"patch": PATCH},
    "edits": {"edits": [{"new_string": "harmless"}]},
}


@pytest.mark.parametrize("more", DECOYS.values(), ids=DECOYS)
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("content", ["SECRET", PATCH])
def test_keys_that_a_model_adds_hide_neither_the_path_nor_the_text(more, is_first, content):
    own = {"file_path": ".env", "content": content}
    given = {**more, **own} if is_first else {**own, **more}
    found = list_writes(Event.of("pre-tool-call", tool_name="WriteFile", tool_input=given))
    assert any(one.path == ".env" and content in one.text for one in found)


@given(json_objects, st.text(min_size=1, max_size=5), st.text(max_size=5))
def test_the_path_and_the_text_are_listed_with_any_other_keys_beside_them(more, path, text):
    given = {**more, "file_path": path, "content": text}
    found = list_writes(Event.of("pre-tool-call", tool_name="Write", tool_input=given))
    assert any(one.path == path and text in one.text for one in found)
