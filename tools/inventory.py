"""Everything other programs may rely on, as one sorted list: public names, options, routes, error codes, methods.

``python tools/inventory.py > before.txt``, the same after a change, and ``diff`` says what a user would miss.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import tempfile
from collections.abc import Iterator

ROOMS = ("base", "choose", "classify", "clustering", "corpus", "evaluate", "explain", "features", "feedback", "methods")
ROOMS += ("report", "scale", "shift", "workspace", "workbench", "api")


def public_names() -> Iterator[str]:
    """Public names with their parameters, and the methods and fields of what the short way in gives back."""
    import isthmus

    for name in isthmus.__all__:
        thing = getattr(isthmus, name)
        parameters = f"({', '.join(inspect.signature(thing).parameters)})" if callable(thing) else ""
        yield f"name isthmus.{name}{parameters}"
    for room in ROOMS:
        module = importlib.import_module(f"isthmus.{room}")
        for name in getattr(module, "__all__", ()):
            yield f"name isthmus.{room}.{name}"
    for room, name in (("api.result", "LabelResult"), ("api.cluster", "ClusterResult"), ("api.diagnose", "Diagnosis")):
        thing = getattr(importlib.import_module(f"isthmus.{room}"), name, None)
        if thing is None:
            continue
        fields = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
        members = {member for member in dir(thing) if not member.startswith("_")} | set(fields)
        yield from (f"member {name}.{member}" for member in members)


def options() -> Iterator[str]:
    """Every command with its arguments and options."""
    from typer.main import get_command

    from isthmus.cli.app import make_app

    def walk(command, path: str) -> Iterator[str]:
        for parameter in command.params:
            names = "/".join([*parameter.opts, *parameter.secondary_opts])
            yield f"option {path} {names} default={parameter.default!r}"
        for name, child in getattr(command, "commands", {}).items():
            yield from walk(child, f"{path} {name}")

    yield from walk(get_command(make_app()), "isthmus")


def all_routes(given: list) -> Iterator:
    """Routes, with those of routers that were included."""
    for route in given:
        if hasattr(route, "original_router"):
            yield from all_routes(route.original_router.routes)
        else:
            yield route


def routes() -> Iterator[str]:
    """Every address of the workbench with its verbs, and the fields its JSON interface takes."""
    from isthmus.workbench.app import make_app
    from isthmus.workspace import open_workspace

    with tempfile.TemporaryDirectory() as folder:
        app = make_app(open_workspace(folder))
        while not hasattr(app, "routes"):
            app = app.app
        for route in all_routes(app.routes):
            yield f"route {','.join(sorted(getattr(route, 'methods', None) or ()))} {route.path}"
        for name, schema in app.openapi().get("components", {}).get("schemas", {}).items():
            yield from (f"schema {name}.{field}" for field in schema.get("properties", {}))


def codes_and_methods() -> Iterator[str]:
    """Error codes and the names of methods."""
    from isthmus.exceptions import CODES
    from isthmus.methods import METHODS

    yield from (f"code {code}" for code in CODES)
    yield from (f"recipe {name}" for name in METHODS)


if __name__ == "__main__":
    for line in sorted({*public_names(), *options(), *routes(), *codes_and_methods()}):
        print(line)
