"""What the page remembers for a moment: made once for several readers, and anew after a decision of a person."""

from __future__ import annotations

import threading

from boathook.page.page_facts import PageFacts


def make_facts():
    return PageFacts(None, None, index=None)


def test_a_value_is_made_once_for_several_readers():
    facts, made = make_facts(), []
    for _ in range(3):
        facts.remember("key", lambda: made.append(1), seconds=60)
    assert len(made) == 1


def test_a_value_that_was_begun_before_a_decision_is_not_kept():
    facts, is_begun, is_decided = make_facts(), threading.Event(), threading.Event()

    def make_slowly():
        is_begun.set()
        is_decided.wait(60)
        return "before"

    reader = threading.Thread(target=lambda: facts.remember("key", make_slowly, seconds=3600))
    reader.start()
    is_begun.wait(60)
    facts.forget()
    is_decided.set()
    reader.join()
    assert facts.remember("key", lambda: "after", seconds=3600) == "after"
    # That one is kept again.
    assert facts.remember("key", lambda: "later", seconds=3600) == "after"
