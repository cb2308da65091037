"""Which tools of programs file hooks recognize by their names, and which names say nothing."""

from __future__ import annotations

import pytest

from boathook.hosts.tool_calls import LIST_MARK
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, list_tool_names
from boathook.inprocess.name_map import NameMap
from boathook.inprocess.tool_guess import TOOL_WORDS, guess_tool

SHELL_NAMES = """
bash Bash shell terminal exec execute run_bash bash_tool run_shell run_command run_commands run_shell_command runShellCommand
execute_command executeCommand execute_bash execute_shell execute_shell_command shell_exec shell_tool exec_command command_exec
run-command run_terminal_command run_in_terminal run_terminal_cmd terminal_execute bash_command cmd run_cmd run_powershell
local_shell run_local_shell ShellTool BashTool run_sh system_command run_command_line run_system_command
"""
GUESSED = {
    "Shell": (SHELL_NAMES, ("command", "cmd", "script", "shell_command", "commands")),
    "ReadFile": (
        "read_file file_read ReadFileTool readFile view_file open_file load_file read_text_file read_file_contents file_reader",
        ("file_path", "path", "filename", "filePath", "file_name"),
    ),
    "WriteFile": (
        (
            "write_file file_write writeFile create_file save_file write_to_file append_to_file save_to_file FileWriterTool "
            "create_new_file write_text_file"
        ),
        ("file_path", "path", "filename"),
    ),
    "EditFile": (
        (
            "edit_file file_edit EditFileTool str_replace string_replace replace_in_file str_replace_editor update_file "
            "modify_file str_replace_based_edit_tool text_editor insert_text multi_edit_file"
        ),
        ("file_path", "path"),
    ),
    "PatchFile": ("apply_patch apply_patch_tool applyPatch", ("patch", "diff", "input")),
    "DeleteFile": ("delete_file file_delete remove_file DeleteFileTool rm_file", ("file_path", "path")),
    "ListDir": (
        "list_directory list_dir list_files ls list_folder ListDirectoryTool",
        ("path", "dir_path", "directory"),
    ),
    "Glob": ("glob glob_files find_files file_glob find_files_by_name", ("pattern",)),
    "Grep": ("grep grep_files grep_search ripgrep grep_tool", ("pattern", "regex")),
    "WebFetch": (
        (
            "web_fetch fetch_url fetch http_request http_get requests_get requests_post get_url visit_webpage load_web_page "
            "scrape_website open_url fetch_webpage FetchUrlTool curl read_web_page"
        ),
        ("url", "uri"),
    ),
    "WebSearch": (
        (
            "web_search search_web websearch internet_search google_search duckduckgo_search tavily_search brave_search "
            "tavily_search_results_json WebSearchTool bing_search"
        ),
        ("query", "q", "search_query"),
    ),
}
# Names of other meanings, each with an input that has the keys of many tools.
NOT_GUESSED = """
run search query get_weather send_command run_tests execute_sql run_query exec_sql python_repl run_python execute_code
python_interpreter code_interpreter run_code run_script start_server command_center send_email read_email write_email
read_database create_issue create_user create_calendar_event update_user delete_user delete_event remove_member list_users
list_issues list_tables search_documents vector_search search_users knowledge_search get_user get_page_rank open_door open_ticket
load_model view_profile edit_message update_record insert_row replace_part str_length string_length file_complaint file_a_claim
file_ticket download_model profile_reader terminal_velocity shell_company bash_jokes glob_trotter fetch_user post_message
browse_products mcp__files__read_file mcp__run__bash server@run_bash files__read_file upload_file copy_file move_file
"""
EVERY_KEY = dict.fromkeys((keys[0] for keys in TOOL_INPUT_KEYS.values()), "x")


def list_guesses() -> list[tuple[str, str, str]]:
    return [(tool, name, key) for tool, (names, keys) in GUESSED.items() for name in names.split() for key in keys]


def test_usual_names_of_tools_are_guessed_with_every_usual_main_key():
    names = NameMap()
    for tool, name, key in list_guesses():
        naming = names.find(name, {key: "x"})
        assert (name, key, None if naming is None else naming.tool) == (name, key, tool)
        assert naming is not None
        assert naming.is_guess
        assert naming.translate({key: "x"})[0][TOOL_INPUT_KEYS[tool][0]] == "x"


def test_a_name_alone_is_not_enough():
    names = NameMap()
    for tool, name, _ in list_guesses():
        assert names.find(name, {"subject": "x"}) is None, (tool, name)


def test_names_of_another_meaning_are_not_guessed():
    names = NameMap()
    assert {name: names.find(name, EVERY_KEY) for name in NOT_GUESSED.split()} == dict.fromkeys(NOT_GUESSED.split())


def test_a_further_key_never_prevents_a_guess():
    names = NameMap()
    for tool, name, key in list_guesses():
        naming = names.find(name, {key: "x", "owner": "x", "description": "x"})
        assert naming is not None, (tool, name)
        assert naming.tool == tool


def test_names_of_agents_mean_what_they_mean_there():
    for tool, others in list_tool_names().items():
        assert {name: guess_tool(name) for name in (tool, *others)} == dict.fromkeys((tool, *others), tool)


def test_no_two_rows_claim_the_same_words():
    for at, row in enumerate(TOOL_WORDS):
        for other in TOOL_WORDS[at + 1 :]:
            if row.tool != other.tool:
                allowed, other_allowed = row.others.union(*row.groups), other.others.union(*other.groups)
                shared = allowed & other_allowed
                has_both = all(group & shared for group in (*row.groups, *other.groups))
                assert not has_both, (row, other)


def test_a_list_of_commands_is_one_text_for_hooks_and_a_list_for_the_program():
    naming = NameMap().find("terminal", {"commands": ["ls", "pwd"]})
    assert naming is not None
    assert naming.keys == ((f"commands{LIST_MARK}", "command"),)
    tool_input, _ = naming.translate({"commands": ["ls", "pwd"]})
    assert tool_input["command"] == "ls\npwd"
    changed = {**tool_input, "command": "ls"}
    assert naming.restore({"commands": ["ls", "pwd"]}, changed) == {"commands": ["ls"]}


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("write_file", {"file_path": "a", "text": "b"}, {"file_path": "a", "content": "b"}),
        (
            "file_edit",
            {"path": "a", "old_str": "b", "new_str": "c"},
            {"file_path": "a", "old_string": "b", "new_string": "c"},
        ),
        ("run_bash", {"command": "cat", "input": "text"}, {"command": "cat", "input": "text"}),
    ],
)
def test_the_other_keys_of_a_guessed_tool_have_the_names_of_file_hooks(name, args, expected):
    naming = NameMap().find(name, args)
    assert naming is not None
    assert (naming.translate(args)[0], naming.find_conflict(args)) == (expected, "")
