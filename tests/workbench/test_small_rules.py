"""Rules of the server that no page would show."""

import asyncio
from types import SimpleNamespace

import pytest
from fastapi import HTTPException

from isthmus.workbench.api import remove_member
from isthmus.workbench.app import PlainJson
from isthmus.workbench.gate import Gate
from isthmus.workbench.pages.accounts import TooManyTries, refuse_self


def test_any_text_can_be_sent_even_half_a_pair():
    assert PlainJson({"text": "é \ud800"}).body == b'{"text":"\\u00e9 \\ud800"}'


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(0.5, "1 minute"), (60.0, "1 minute"), (61.0, "2 minutes"), (599.5, "10 minutes")]
)
def test_who_guesses_is_told_for_how_many_whole_minutes(seconds, minutes):
    assert f"try again in {minutes}." in TooManyTries(seconds).detail


def test_nobody_locks_themselves_out():
    with pytest.raises(HTTPException, match="Another owner"):
        refuse_self(SimpleNamespace(id="anna"), "anna")
    refuse_self(SimpleNamespace(id="anna"), "boris")


def test_an_owner_shuts_out_others_but_not_herself():
    removed = []
    projects = SimpleNamespace(
        remove_member=lambda project, person, by: removed.append((project, person, by)),
        members=lambda project: ["those who are left"],
    )
    access = SimpleNamespace(
        by="anna", project=SimpleNamespace(id="bikes"), workspace=SimpleNamespace(projects=projects)
    )
    assert remove_member(access, "boris") == ["those who are left"]
    with pytest.raises(HTTPException, match="Another owner"):
        remove_member(access, "anna")
    assert removed == [("bikes", "boris", "anna")]


def test_the_gate_lets_the_server_start_the_application_and_speaks_nothing_but_http():
    met = []

    async def app(scope, receive, send):
        met.append(scope["type"])

    gate = Gate(app, settings=None, cookies=None, who=None)
    for kind in ("lifespan", "websocket"):
        asyncio.run(gate({"type": kind}, None, None))
    assert met == ["lifespan"]
