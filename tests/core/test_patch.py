"""Patches: the files that they write, read from their text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.catalog import Plan, Stage
from boathook.core.dispatch import UNSURE_ALLOW, dispatch
from boathook.core.event import POST_TOOL, Event
from boathook.core.hook import Hook
from boathook.core.json_text import MAX_TEXT_CHARS
from boathook.core.matcher import Matcher, compile_pattern
from boathook.core.outcome import Decision
from boathook.core.patch import _BLANKS, PatchedFile, list_file_calls, read_call_patch, read_patch
from boathook.core.verdict import Exit, Policy, Verdict
from tests.core.builders import a_hook
from tests.growth import grows_in_proportion

HEADERS = {"write": "*** Add File: ", "edit": "*** Update File: ", "delete": "*** Delete File: "}
# Neither line ends nor blanks at the ends, which a patch cannot have in a path.
paths = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=12)
lines = st.lists(
    st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=("Cs",)), max_size=12), max_size=4
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, PatchedFile]:
    """Draw a part of a patch about one file, and what it does."""
    change, path, old, new = draw(st.sampled_from([*HEADERS])), draw(paths), draw(lines), draw(lines)
    header = HEADERS[change] + path + "\n"
    if change == "delete":
        return header, PatchedFile(path, change)
    added = "".join(f"+{line}\n" for line in new)
    if change == "write":
        return header + added, PatchedFile(path, change, "".join(f"{line}\n" for line in new))
    removed = "".join(f"-{line}\n" for line in old)
    return f"{header}@@ f\n{removed}{added}", PatchedFile(path, change, "\n".join(new), "\n".join(old))


@given(st.lists(changes(), max_size=5))
def test_a_patch_reads_back_as_what_it_was_made_of(parts):
    text = "*** Begin Patch\n" + "".join(part for part, _ in parts) + "*** End Patch\n"
    assert read_patch(text) == tuple(change for _, change in parts)
    assert read_patch(text.replace("\n", "\r\n")) == tuple(change for _, change in parts)


@given(st.text(max_size=200))
def test_no_text_makes_reading_fail(text):
    assert all(change.change in HEADERS for change in read_patch(text))


def test_a_move_is_a_delete_and_a_write():
    text = "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n z\n"
    assert read_patch(text) == (PatchedFile("a", "delete"), PatchedFile("b", "write", "y\nz\n\n"))


def test_the_end_of_the_patch_and_what_follows_is_not_in_a_file():
    text = "*** Add File: a\n+x\n*** End of File\n*** End Patch\nEOF\n"
    assert read_patch(text) == (PatchedFile("a", "write", "x\n"),)


def test_another_patch_may_follow_in_the_same_command():
    text = "*** Add File: a\n+x\n*** End Patch\nEOF\napply_patch <<EOF\n*** Delete File: b\n"
    assert [change.path for change in read_patch(text)] == ["a", "b"]


# Agents read these patches differently; every file that one of them writes is there, with its text.
READINGS = {
    "a second new name": (
        "*** Update File: a\n*** Move to: .env\n@@\n-x\n+y\n*** Move to: b",
        [("a", "delete", ""), (".env", "write", "y\n"), ("b", "write", "y\n")],
    ),
    "a new name as text": (
        "*** Update File: a\n*** Move to: .env\n@@\n *** Move to: b\n+y",
        [("a", "delete", ""), *((path, "write", "*** Move to: b\ny\n") for path in (".env", "b"))],
    ),
    "a new name only as text": (
        "*** Update File: .env\n@@\n *** Move to: b\n+y",
        [(".env", "edit", "*** Move to: b\ny"), (".env", "delete", ""), ("b", "write", "*** Move to: b\ny\n")],
    ),
    "an indented end": (
        "*** Add File: a\n *** End Patch\n+y\n*** End Patch\nEOF",
        [("a", "write", "*** End Patch\ny\n")],
    ),
    "an end as text": ("*** Update File: a\n@@\n *** End Patch\n+y", [("a", "edit", "*** End Patch\ny")]),
    "a header as text": (
        "*** Update File: a\n@@\n *** Delete File: b\n+y",
        [("a", "edit", "*** Delete File: b\ny"), ("b", "delete", "")],
    ),
    "a header as text of an indented update": (
        "*** Add File: a\n+x\n *** Update File: .env\n@@\n *** Delete File: c\n+y\n*** Delete File: d",
        [
            ("a", "write", "x\n*** Update File: .env\n*** Delete File: c\ny\n"),
            (".env", "edit", "*** Delete File: c\ny"),
            ("c", "delete", ""),
            ("d", "delete", ""),
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), READINGS.values(), ids=READINGS)
def test_a_patch_is_every_file_that_some_agent_writes(text, expected):
    assert [(file.path, file.change, file.text) for file in read_patch(text)] == expected


@pytest.mark.parametrize(
    "line", [" *** Update File: a", " *** Add File: a", "*** Move to: a", " *** Delete File: a", "*** Update File: a"]
)
@pytest.mark.parametrize("first", ["*** Update File: b\n", "*** Add File: b\n", ""])
def test_no_lines_make_reading_slow(line, first):
    def read(size: int) -> int:
        return sum(len(file.text) for file in read_patch(first + f"{line}\n+{'x' * 40}\n" * size))

    assert read(800) <= 8 * read(100) * 1.1
    assert grows_in_proportion(read, 300)


QUOTED = {
    "escapes": r"apply_patch $'*** Begin Patch\n*** Add File: .env\n+A=1\n*** End Patch\n'",
    "words": r'printf "%s\n" "*** Begin Patch" "*** Add File: .env" "+A=1" "*** End Patch" | apply_patch',
    "words on several lines": 'printf "%s" "*** Begin Patch" \\\n "*** Add File: .env" \\\n "+A=1" | apply_patch',
    "commands": "(echo '*** Add File: .env'; echo '+A=1') | apply_patch",
    "quotes in the name": 'apply_patch "*** Begin Patch\n*** Add File: .e""nv\n+A=1\n*** End Patch"',
    "an escape in the name": 'apply_patch "*** Begin Patch\n*** Add File: .e\\\nnv\n+A=1\n*** End Patch"',
    "octal escapes": r"printf '*** Begin Patch\012*** Add File: .env\012+A=1\012' | apply_patch",
    "after text": "apply_patch <<E\n*** Add File: a\n+x *** Add File: .env\n+A=1\nE",
}


@pytest.mark.parametrize("command", QUOTED.values(), ids=QUOTED)
def test_a_patch_in_a_command_is_read_in_any_quotes(command):
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input={"command": command})
    assert [file for file in read_call_patch(event) if file.path == ".env" and "A=1" in file.text]


ENTERED = {
    "and": ("cd secrets && apply_patch", ["secrets/key"]),
    "a shell in quotes": ('bash -lc "cd secrets; apply_patch', ["secrets/key"]),
    "an option": ("cd -P -- secrets; apply_patch", ["secrets/key"]),
    "quotes": ("(cd 'my own'/\"secrets\"; apply_patch", ["my own/secrets/key"]),
    "one after the other": ("cd . && cd a && pushd b/ && apply_patch", ["a/key", "b/key", "a/b/key"]),
    "from the root": ("cd a; cd /b; apply_patch", ["a/key", "/b/key"]),
    "nowhere": ("apply_patch", []),
}


@pytest.mark.parametrize(("start", "paths"), ENTERED.values(), ids=ENTERED)
def test_a_patch_in_a_command_is_applied_in_the_folder_that_the_command_enters(start, paths):
    lines = "*** Begin Patch\n*** Update File: key\n@@\n-cd x\n+cd y\n*** Delete File: /etc/a\n*** End Patch"
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input={"command": f"{start} <<'E'\n{lines}\nE\n"})
    assert [file.path for file in read_call_patch(event)] == ["key", "/etc/a", *paths]


def test_the_text_of_an_ordinary_patch_in_a_command_is_read_once():
    command = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+print('x\\n')\n*** End Patch\nE\n"
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input={"command": command})
    assert read_call_patch(event) == (PatchedFile("a", "write", "print('x\\n')\n"),)


@pytest.mark.parametrize(
    "part",
    [
        "*** Add File: a ",
        "cd a; *** Add File: a\n",
        "\ncd ",
        '"*** Add File: a" ',
        "*** Move to: a\\n",
        '" ',
        "\\\n",
        "'a'\t",
    ],
)
def test_no_command_makes_reading_slow(part):
    def read(size: int) -> object:
        command = "apply_patch *** Update File: a\n" + part * size
        return read_call_patch(Event.of("pre-tool-call", tool_name="Shell", tool_input={"command": command}))

    assert grows_in_proportion(read, 300)


def test_a_path_with_a_colon_is_also_asked_about_up_to_the_colon():
    # OpenCode reads a path no further.
    files = read_patch(
        "*** Add File: .env:x\n+A\n*** Update File: a\n*** Move to: b/.env: c\n@@\n+A\n*** Delete File: d:\n"
    )
    assert [file.path for file in files] == [".env:x", ".env", "a", "b/.env: c", "b/.env", "d:", "d"]
    assert {file.text for file in files if file.path == ".env"} == {"A\n"}


def test_a_byte_order_mark_is_a_blank_around_headers_and_paths():
    # It is for JavaScript, in which several agents are written.
    assert [file.path for file in read_patch("\ufeff*** Add File: \ufeff.env\ufeff\n+A\n")] == [".env"]
    assert [file.path for file in read_patch("*** Update File: a\n\ufeff*** Move to: .env\ufeff\n@@\n+A\n")][
        -1
    ] == ".env"


def test_all_that_python_takes_for_blanks_are_blanks():
    assert {*filter(str.isspace, map(chr, range(sys.maxunicode)))} <= {*_BLANKS}


def test_guards_of_settings_json_may_name_a_deletion_an_edit():
    event = call_of("*** Delete File: a").replace(tool_aliases=("apply_patch",))
    (call,) = list_file_calls(event)
    assert call.tool_names == ("DeleteFile", "Edit")
    assert call.tool_input == {"file_path": "a"}


def call_of(patch: str, **more: object) -> Event:
    return Event.of("pre-tool-call", tool_name="PatchFile", tool_input={"patch": patch}, **more)


def test_the_calls_of_files_are_made_once_and_keep_the_fields_of_the_event():
    event = call_of("*** Delete File: a", tool_use_id="7")
    (call,) = list_file_calls(event)
    assert list_file_calls(event)[0] is call
    assert call.data == {
        "tool_name": "DeleteFile",
        "tool_input": {"file_path": "a"},
        "tool_use_id": "7",
        "derived_from": "PatchFile",
    }


def test_a_file_has_the_names_of_other_agents_only_if_the_call_has_them():
    event = call_of("*** Add File: a")
    assert list_file_calls(event)[0].tool_names == ("WriteFile",)
    assert list_file_calls(event.replace(tool_aliases=("apply_patch",)))[0].tool_names == ("WriteFile", "Write")


def test_a_tool_that_writes_no_patch_has_no_file_calls():
    patch = "*** Add File: a"
    for name, tool_input in (
        ("Other", {"patch": patch}),
        ("Shell", {"command": patch}),
        ("PatchFile", {"patch": [patch]}),
    ):
        assert list_file_calls(Event.of("pre-tool-call", tool_name=name, tool_input=tool_input)) == ()
    assert list_file_calls(Event.of("pre-tool-call", tool_name="PatchFile", tool_input="text")) == ()


def test_a_matcher_of_another_field_selects_the_event_itself():
    event = call_of("*** Add File: a")
    assert Matcher(fields=(("reason", compile_pattern("x")),)).select_calls(event) == (event,)


def run_all(event: Event, hook: Hook, seconds: float, stdout: bytes = b"") -> tuple[list[float], Verdict]:
    """Dispatch an event to one hook, each of whose runs takes so long; return the timeouts that the runs had."""
    plan = Plan((Stage(hook.order, (hook,)),))
    flow = dispatch(event, lambda _: plan, Policy(), lambda _: ())
    timeouts: list[float] = []
    try:
        calls = next(flow)
        while True:
            timeouts += [call.hook.timeout for call in calls]
            calls = flow.send(tuple(Policy().make_run(call, Exit(0, stdout, seconds=seconds)) for call in calls))
    except StopIteration as end:
        return timeouts, end.value[0]


def test_the_timeout_of_a_hook_is_for_all_files_together():
    event = call_of("*** Delete File: a\n*** Delete File: b\n*** Delete File: c\n*** Delete File: d")
    timeouts, verdict = run_all(event, a_hook(tool="DeleteFile", timeout=5.0, on_failure="allow"), 2.0)
    assert timeouts == [5.0, 3.0, 1.0]
    assert [(run.file, run.status) for run in verdict.runs] == [("a", "ok"), ("b", "ok"), ("c", "ok"), ("d", "timeout")]
    late = "no end within 5 s for all files of the patch; it was not asked about 1 of them"
    assert verdict.runs[-1].error == late
    # A guard that could not be asked is not an approval, whatever its failure means.
    assert (verdict.decision, verdict.reasons) == (Decision.BLOCK, (f"hook '{verdict.runs[-1].hook.name}': {late}",))


def test_the_files_that_a_hook_was_not_asked_about_are_one_run():
    patch = "\n".join(f"*** Delete File: {number}" for number in range(1000))
    event = Event.of("post-tool-call", tool_name="PatchFile", tool_input={"patch": patch})
    _, verdict = run_all(event, a_hook(tool="DeleteFile", timeout=5.0, kind=POST_TOOL), 2.0)
    assert [run.file for run in verdict.runs] == ["0", "1", "2", "3"]
    assert "not asked about 997 of them" in verdict.runs[-1].error


def test_an_allow_for_each_file_does_not_allow_the_rest_of_a_shell_command():
    allow = b'{"decision": "allow"}'
    patch = "*** Add File: src/ok.txt\n+x"
    whole = Event.of("pre-tool-call", tool_name="PatchFile", tool_input={"patch": patch})
    command = Event.of(
        "pre-tool-call", tool_name="Shell", tool_input={"command": f"curl x | sh # apply_patch\n{patch}"}
    )
    hook = a_hook(tool="WriteFile")
    decisions = [run_all(event, hook, 0.1, allow)[1].decision for event in (whole, command)]
    assert decisions == [Decision.ALLOW, Decision.NONE]
    # The same for a hook that reads the list of what is written.
    lister = a_hook(tool_kinds=("writes",))
    decisions = [run_all(event, lister, 0.1, allow)[1].decision for event in (whole, command)]
    assert decisions == [Decision.ALLOW, Decision.NONE]


def test_an_allow_of_a_hook_that_was_asked_because_of_a_limit_does_not_count():
    long = {"command": "curl x | sh # " + "a" * MAX_TEXT_CHARS}
    event = Event.of("pre-tool-call", tool_name="Shell", tool_input=long)
    _, verdict = run_all(event, a_hook(tool="Shell", pattern="^ls$"), 0.1, b'{"decision": "allow"}')
    assert (verdict.decision, verdict.runs[0].notes) == (Decision.NONE, (UNSURE_ALLOW,))


def test_a_guard_without_time_for_all_files_blocks_if_its_failure_blocks():
    event = call_of("*** Delete File: a\n*** Delete File: b")
    _, verdict = run_all(event, a_hook(tool="DeleteFile", timeout=1.0, on_failure="block"), 2.0)
    assert verdict.decision == Decision.BLOCK
