"""Rules of the server that no page would show."""

import asyncio
import inspect
from types import SimpleNamespace

import pytest
from fastapi import HTTPException

from isthmus.cli.serve import serve as serve_command
from isthmus.workbench.api import remove_member
from isthmus.workbench.app import PlainJson
from isthmus.workbench.gate import Gate
from isthmus.workbench.pages.runs import progress_facts
from isthmus.workbench.server import serve
from isthmus.workbench.service import TooManyTries
from isthmus.workbench.settings import Settings


def test_any_text_can_be_sent_even_half_a_pair():
    assert PlainJson({"text": "é \ud800"}).body == b'{"text":"\\u00e9 \\ud800"}'


@pytest.mark.parametrize(
    ("seconds", "minutes", "header"),
    [
        (0.5, "1 minute", "1"),
        (60.0, "1 minute", "60"),
        (61.0, "2 minutes", "61"),
        (599.5, "10 minutes", "600"),
    ],
)
def test_who_guesses_is_told_for_how_long(seconds, minutes, header):
    refusal = TooManyTries(seconds)
    assert f"try again in {minutes}." in refusal.detail
    assert refusal.headers == {"Retry-After": header}


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


def test_the_gate_lets_the_server_start_the_application_():
    met = []

    async def app(scope, receive, send):
        met.append(scope["type"])

    gate = Gate(app, settings=None, cookies=None, who=None)
    asyncio.run(gate({"type": "lifespan"}, None, None))
    assert met == ["lifespan"]


def test_one_port_however_it_is_opened():
    ports = [inspect.signature(opened).parameters["port"].default for opened in (serve, serve_command)]
    assert [*ports, Settings().port] == [8765] * 3


@pytest.mark.parametrize(
    ("told", "share", "detail"),
    [
        ({"done": 1, "total": 4}, 0.25, "1 of 4"),
        ({"done": 5, "total": 4}, 1.0, "5 of 4"),  # counted anew after a restart: the bar stays within its frame
        ({"done": 0, "total": 4}, 0.0, "0 of 4"),
        ({"done": 0, "total": 0}, None, ""),
        (None, None, ""),
    ],
)
def test_how_far_a_run_is(told, share, detail):
    job = SimpleNamespace(progress=told, cancel=False)
    access = SimpleNamespace(workspace=SimpleNamespace(runs=SimpleNamespace(job={"r1": job}.__getitem__)))
    facts = progress_facts(access, SimpleNamespace(id="r1", state="running"))
    assert (facts["share"], facts["detail"], facts["live"]) == (share, detail, True)
