"""The manual pages: one per command, with all its options, and nothing that troff misreads."""

from __future__ import annotations

import re

import click

from boathook.cli.commands import cli
from boathook.command_rows import COMMANDS
from scripts.generate_man import write_man_pages

MACROS = (".TH", ".SH", ".PP", ".TP", ".nf", ".fi", '.\\"')
PAGES = {path.stem: text for path, text in write_man_pages()}


def test_every_command_has_a_page_and_the_main_page_names_it():
    assert set(PAGES) == {"boathook", *(f"boathook-{name}" for name in COMMANDS)}
    for name in COMMANDS:
        assert f"\\fBboathook\\-{name}\\fR(1)" in PAGES["boathook"]


def test_every_option_of_a_command_is_in_its_page():
    for name in COMMANDS:
        command = cli.commands[name]
        inner = command.commands.values() if isinstance(command, click.Group) else (command,)
        plain = PAGES[f"boathook-{name}"].replace("\\-", "-")
        for option in (option for one in inner for parameter in one.params for option in parameter.opts):
            if option.startswith("-"):
                assert option in plain, (name, option)


def test_troff_finds_nothing_in_a_text_to_act_on():
    for name, text in PAGES.items():
        assert text.isascii(), name
        for line in text.splitlines():
            assert not line.startswith("'"), (name, line)
            assert not line.startswith(".") or line.startswith(MACROS), (name, line)
            assert re.sub(r"\\(?:e|-|&|f[BR]|\[u[0-9A-F]+\]|\")", "", line).count("\\") == 0, (name, line)
