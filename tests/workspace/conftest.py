"""Workspaces for tests: the same tests on SQLite and on PostgreSQL."""

import io

import pytest

pytest.importorskip("sqlalchemy", reason="a workspace needs the extra 'workbench'")

from isthmus.workspace import open_workspace, work

SOURCE = "id,text,label\n" + "".join(
    f"s{i},{text} {extra},{label}\n"
    for i, (text, label, extra) in enumerate(
        (text, label, extra)
        for extra in ("today", "again", "last week", "in spring", "at the counter")
        for text, label in (
            ("kind helpful staff", "staff"),
            ("rude clerk and impolite staff", "staff"),
            ("great fast bike with a strong engine", "product"),
            ("slow bike with a weak engine", "product"),
            ("the price was high and the bill dear", "price"),
            ("cheap offer and a fair price", "price"),
        )
    )
)
TARGET = "id,comment\n" + "".join(
    f"t{i},{text} {extra}\n"
    for i, (text, extra) in enumerate(
        (text, extra)
        for extra in ("here", "now", "twice", "as always")
        for text in (
            "the staff was kind",
            "impolite staff in the car workshop",
            "the car has a strong engine",
            "engine too weak for such a car",
            "a fair price for the tyres",
            "bill too high and price dear",
        )
    )
)


@pytest.fixture(params=["sqlite"])
def ws(request, tmp_path):
    """An empty workspace."""
    with open_workspace(tmp_path / "workspace") as workspace:
        yield workspace


def add_file(ws, project, name, content, kind, by, **mapping):
    """Add and map a file; columns as guessed, unless they are named."""
    data = content if isinstance(content, bytes) else content.encode()
    found = ws.collections.add(project, name, io.BytesIO(data), kind=kind, by=by)
    guesses = ws.collections.preview(found.id)["guesses"]
    columns = {"text": guesses["text"], "label": guesses["label"], "id_column": guesses["id"], **mapping}
    return ws.collections.map(found.id, by=by, **columns)


@pytest.fixture
def project(ws):
    """A project with a source and a target; ``by`` is its owner."""
    by = ws.people.local().id
    made = ws.projects.create("Dealers", by=by)
    add_file(ws, made.id, "bikes.csv", SOURCE, "source", by)
    add_file(ws, made.id, "cars.csv", TARGET, "target", by)
    return made


@pytest.fixture
def run(ws, project):
    """A labelling that is done."""
    made = ws.runs.start(project.id, {"method": "nbc", "vectors": False}, by=project.created_by)
    work(ws, until_idle=True)
    made = ws.runs.get(made.id)
    assert made.state == "done", made.error
    return made
