"""What is asked of the interface reaches the workspace: every parameter of every address that is read from."""

import inspect
from unittest.mock import MagicMock

import pytest

from isthmus.workbench import api

GIVEN = {"access", "bench", "person", "request"}  # by the server, not by who asks
NUMBERS = {"after", "limit", "read", "clusters"}
ROUTES = [route for route in api.router.routes if "GET" in route.methods]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_parameter_of_an_address_is_handed_on(route, monkeypatch):
    names = [name for name in inspect.signature(route.endpoint).parameters if name != "request"]
    if route.path == "/api/session":
        pytest.skip("it takes no parameter and says who is signed in")
    world = MagicMock()
    finders = [name for name in dir(api) if name.startswith("find_")]
    for name in finders:
        monkeypatch.setattr(api, name, getattr(world, name))
        getattr(world, name).side_effect = lambda access, id: MagicMock(id=id)
    monkeypatch.setattr(api, "service", world.service)
    asked = {name: 900 + place if name in NUMBERS else f"<{name}>" for place, name in enumerate(names)}
    route.endpoint(**{name: getattr(world, name) if name in GIVEN else value for name, value in asked.items()})
    calls = repr(world.mock_calls)
    lost = [name for name, value in asked.items() if name not in GIVEN and repr(value) not in calls]
    assert not lost, f"{route.path} does nothing with {lost}"
