"""Addresses that open the page: one use, one minute, and never in the arguments of a program."""

from __future__ import annotations

import os
import stat

from boathook.page.access import TICKET_SECONDS, PageAccess, RedirectFile


def read_ticket(address: str) -> str:
    return address.partition("#t=")[2]


def test_a_ticket_is_too_old_after_a_minute() -> None:
    now = [100.0]
    access = PageAccess("http://127.0.0.1:1", now=lambda: now[0])
    first, second = read_ticket(access.make_address()), read_ticket(access.make_address())
    now[0] += TICKET_SECONDS - 1
    token = access.exchange_ticket(first)
    assert access.is_token(token)
    now[0] += 1
    assert access.exchange_ticket(second) == ""


def test_only_a_whole_ticket_counts() -> None:
    access = PageAccess("http://127.0.0.1:1")
    ticket = read_ticket(access.make_address())
    for wrong in ("", ticket[:-1], f"{ticket}x", "\ud800", "é", ticket.swapcase()):
        assert access.exchange_ticket(wrong) == ""
    assert access.exchange_ticket(ticket) != ""
    assert not access.is_token("\ud800")


def test_the_file_that_leads_to_the_page_is_private_and_goes_when_it_was_used() -> None:
    redirect = RedirectFile()
    path = redirect.write("http://127.0.0.1:1/#t=abc")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    with open(path) as file:
        assert "http://127.0.0.1:1/#t=abc" in file.read()
    assert redirect.write("http://127.0.0.1:1/#t=def") == path
    redirect.remove()
    assert not os.path.exists(path)
    redirect.remove()
    redirect.close()
    assert not os.path.exists(os.path.dirname(path))
