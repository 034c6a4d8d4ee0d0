"""What is asked of the interface reaches the workspace: every parameter of every address that is read from."""

import asyncio
import inspect
import types
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from fastapi import UploadFile
from pydantic import BaseModel

from isthmus.workbench import api, app

GIVEN = {"access", "bench", "person", "request", "response"}  # by the server, not by who asks
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


# What an address takes and does not hand on as it came, and where that is tested.
ELSEWHERE = {
    ("GET", "/join/{token}"): {"token"},  # the form sends it on
    ("GET", "/password/{token}"): {"token"},
    ("POST", "/sign-out"): {"everywhere"},  # as true or false: test_signing_out_ends_this_session_or_all_of_them
    ("PATCH", "/api/people/{other}"): {"disabled"},  # closes or opens: test_an_account_is_closed_...
    ("GET", "/projects/{project}/check"): {"run"},  # that of the sample which was named
    ("POST", "/projects/{project}/review/answers"): {"other"},  # where no label was chosen
    ("POST", "/projects/{project}/check/{check}/answers"): {"other"},
    ("GET", "/projects/{project}/documents"): {"after", "row", "show"},  # test_a_mark_on_the_map_...
    ("POST", "/projects/{project}/runs"): {"answers", "words", "vectors"},  # as true or false
}
OPEN = {"/api/session", "/api/label"}  # what they answer is made of more than a call: test_security, test_label_texts
EVERY = [
    pytest.param(module, route, method, id=f"{method} {route.path}")
    for module in (api, *app.PAGES)
    for route in module.router.routes
    for method in sorted(route.methods - {"HEAD"})
    if route.path not in OPEN
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # every field is a text here
@pytest.mark.parametrize(("module", "route", "method"), EVERY)
def test_every_field_that_an_address_takes_is_handed_on(module, route, method, monkeypatch):
    """Pages and interface, questions and changes: everything that a route calls is watched."""
    world = MagicMock()
    for name, value in list(vars(module).items()):
        module_or_function = isinstance(value, types.ModuleType) or inspect.isfunction(value)
        ours = module_or_function and (getattr(value, "__module__", None) or value.__name__).startswith("isthmus")
        if ours and value is not route.endpoint and name != "next_address":
            monkeypatch.setattr(module, name, getattr(world, name))
    for finder in ("find_run", "find_collection", "chosen_run", "queue_run"):
        getattr(world, finder).side_effect = lambda access, id: MagicMock(id=id)
    world.find_check.side_effect = lambda access, id: (MagicMock(id=id), MagicMock())
    for pair in (world.answer_sample, world.add_sample, world.service.make_password_link):
        pair.return_value = MagicMock(), MagicMock()
    world.done_runs.return_value = [MagicMock(), MagicMock()]
    world.access.project.second_reading = 0.1
    kinds = inspect.get_annotations(route.endpoint, eval_str=True)
    asked, sent = {}, {}
    for place, name in enumerate(inspect.signature(route.endpoint).parameters):
        kind = kinds.get(name)
        if name in GIVEN:
            asked[name] = getattr(world, name)
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = {field: f"given_{field}" for field in kind.model_fields}
            asked[name] = kind.model_construct(**fields)
            sent |= fields
        elif name == "options":
            asked[name] = {"given_options": "given_options"}
            sent[name] = "given_options"
        elif UploadFile in getattr(kind, "__args__", (kind,)) or getattr(kind, "__origin__", None) is UploadFile:
            asked[name] = SimpleNamespace(filename=f"given_{name}", file="content")
            sent[name] = f"given_{name}"
        else:
            asked[name] = sent[name] = 900 + place if name in NUMBERS | {"row"} else f"given_{name}"
    answer = route.endpoint(**asked)
    if inspect.iscoroutine(answer):
        asyncio.run(answer)
    calls = repr(world.mock_calls)
    lost = {name for name, value in sent.items() if str(value) not in calls}
    assert lost <= ELSEWHERE.get((method, route.path), set()), f"{method} {route.path} does nothing with {lost}"
