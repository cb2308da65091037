"""Fixtures of the page: a machine with records, the page that is served for it, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.browser_window import ARGUMENTS, CHROMIUM
from tests.page.recorded_calls import GUARD, HOSTILE, REWRITE, call
from tests.page.served import ServedPage, serve_context
from tests.permits.conftest import no_call_stays  # noqa: F401  (calls wait for answers of the page, too)
from tests.scratch_project import ScratchProject


@pytest.fixture
def machine_with_records(project: ScratchProject) -> ScratchProject:
    project.write_hooks_toml("user", '[hooks]\nrecord = "whole"\n')
    project.write_hook("no-force", GUARD, fields={"matcher": "{tool: Shell, pattern: push}"})
    project.write_hook("lister", REWRITE, fields={"matcher": "{tool: Shell, pattern: '^\\W+command\\W+ls'}"})
    project.write_hook("not-yet", "exit 0", scope="project")
    call(project, "git push --force origin main")
    call(project, "ls")
    call(project, HOSTILE, session="s2")
    return project


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def served(machine_with_records: ScratchProject) -> Iterator[ServedPage]:
    for agent in ("claude", "codex"):
        assert machine_with_records.run("install", agent, "--yes").returncode == 0
    with serve_context() as page:
        yield page
