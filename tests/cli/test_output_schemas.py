"""Every `--json` output has a schema with a version, and matches its schema."""

from __future__ import annotations

import json

import click
import pytest
from jsonschema import Draft202012Validator, ValidationError

from boathook.cli.commands import cli
from scripts.output_schemas import OUTPUT_SCHEMAS
from tests.output_validation import LINES, make_validator, validate_output
from tests.packs.toy_packs import write_pack

EVENT = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "rm"}}
CALL = json.dumps(EVENT)
# What comes before --json in a command line whose output is not empty.
ARGUMENTS = {
    "run": "run",
    "list": "list --trust-all",
    "show": "show guard",
    "check": "check",
    "test": "test --no-sandbox",
    "explain": "explain pre-tool-call --tool Shell",
    "doctor": "doctor",
    "setup": "setup --agent codex --dry-run",
    "install": "install codex --dry-run",
    "uninstall": "uninstall codex --dry-run",
    "status": "status",
    "hosts": "hosts",
    "events": "events",
    "convert": "convert to-hookmd --dry-run",
    "agent": "agent hello --script moves.json --yes",
    "trust": "trust --list",
    "asks": "asks",
    "log": "log",
    "why": "why {id}",
    "stats": "stats",
    "replay": "replay --unconfined",
    "ledger verify": "ledger verify",
    "shell explain": "shell explain ls",
    "pack list": "pack list",
    "pack add": "pack add ./guards --yes",
}


def list_commands(group, prefix=()):
    """Return all commands that have an option --json, each as its words."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from list_commands(command, (*prefix, name))
        elif any("--json" in option.opts for option in command.params):
            yield " ".join((*prefix, name))


def test_every_output_has_a_schema_and_every_schema_an_output():
    assert sorted(list_commands(cli)) == sorted(OUTPUT_SCHEMAS) == sorted(ARGUMENTS)


@pytest.mark.parametrize("command", OUTPUT_SCHEMAS)
def test_a_schema_is_a_schema_and_wants_a_version(command):
    schema = OUTPUT_SCHEMAS[command]
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["version"] == {"const": 1}
    assert "version" in schema["required"]


@pytest.fixture
def used(project):
    """A project with hooks of every form and level, one of them broken, and some records."""
    project.write_hook("guard", script="echo no >&2; exit 2", fields={"matcher": "{tool: Shell, pattern: rm}"})
    (project.hooks_folder("user") / "guard/tests.txt").write_text("block rm x\npass rm x\ncorpus c.jsonl\n")
    (project.hooks_folder("user") / "guard/c.jsonl").write_text('{"command": "rm", "expect": "pass"}\n')
    project.write_hook("later", fields={"async": "true"})
    project.write_hook("theirs", scope="project")
    project.write_hook("broken", manifest="---\nname: broken\n---\n")
    entries = [
        {"type": "command", "command": "true"},
        {"type": "prompt", "prompt": "fine?"},
        {"type": "http", "url": "x"},
    ]
    project.write_settings("project", {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": entries}]}})
    project.write_hooks_toml("user", '[hooks]\nrecord = "whole"\n')
    (project.path / "moves.json").write_text(
        json.dumps([{"calls": [{"name": "Shell", "args": {"command": "rm"}}]}, "Done."])
    )
    write_pack(project.path / "guards", {"a": "return None"})
    assert project.run("run", stdin=CALL).returncode == 2
    return project


@pytest.mark.parametrize("command", OUTPUT_SCHEMAS)
def test_an_output_matches_its_schema(used, command):
    record = json.loads(used.run("log", "--json", stdin=CALL).stdout.splitlines()[0])
    words = ARGUMENTS[command].format(id=record["id"]).split()
    done = used.run(*words, "--json", stdin=CALL)
    assert done.stdout, done.stderr
    outputs = [json.loads(text) for text in (done.stdout.splitlines() if command in LINES else [done.stdout])]
    for output in outputs:
        make_validator(command).validate(output)
        with pytest.raises(ValidationError):
            make_validator(command).validate({**output, "unknown": 1})
        with pytest.raises(ValidationError):
            make_validator(command).validate({**output, "version": 2})


def test_an_output_without_a_schema_fails():
    with pytest.raises(AssertionError, match="no schema for: boathook new --json"):
        validate_output(["new", "--json"], "{}")
