"""The how-to of every framework is played in the environment of that framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridges.frameworks import choose_adapters, list_frameworks
from tests.docs.test_docs import FRAMEWORKS, RUN, blocks, play_document

CHOSEN = list(dict.fromkeys(adapter.framework for adapter in choose_adapters()))


@pytest.mark.bridge
@pytest.mark.parametrize("framework", CHOSEN)
def test_the_page_of_a_framework_does_what_it_shows(framework: str, tmp_path: Path) -> None:
    page = FRAMEWORKS / f"{framework}.md"
    assert any(language in RUN for language, _ in blocks(page))
    play_document(page, tmp_path)


def test_every_page_is_of_a_framework() -> None:
    pages = {path.stem for path in FRAMEWORKS.glob("*.md")} - {"README"}
    assert pages == set(list_frameworks())
