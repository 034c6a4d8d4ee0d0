"""From a file to answers: what a team does all day."""

import alembic.autogenerate
import alembic.migration
import pytest

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import work
from isthmus.workspace.schema import METADATA


def test_migrations_make_exactly_the_tables(ws):
    with ws._context.db.engine.connect() as connection:
        context = alembic.migration.MigrationContext.configure(connection, opts={"compare_type": True})
        assert alembic.autogenerate.compare_metadata(context, METADATA) == []


def test_a_run_labels_every_document_and_leaves_tables(ws, project, run):
    predictions = ws.runs.predictions(run.id, limit=100)
    assert [found.position for found in predictions] == list(range(24))
    right = sum(
        found.label in ("staff" if "staff" in found.text else "product" if "engine" in found.text else "price")
        for found in predictions
    )
    assert right >= 20
    assert sorted(found.rank for found in predictions) == list(range(24))
    hero = ws.runs.table(run.id, "hero")
    assert [row["class"] for row in hero["classes"]] == ["price", "product", "staff"]
    assert run.summary["documents"] == 24
    assert {part["name"] for part in run.record["collections"]} == {"bikes.csv", "cars.csv"}
    assert run.record["versions"]["isthmus"]


def test_pages_follow_each_other_by_key(ws, project, run):
    pages, after = [], None
    while page := ws.runs.predictions(run.id, after=after, limit=7):
        pages += page
        after = page[-1].position
    assert [found.position for found in pages] == list(range(24))
    target = ws.collections.list(project.id, kind="target")[0]
    assert [found.name for found in ws.documents.page(target.id, after=19)] == ["t20", "t21", "t22", "t23"]


def test_answers_are_kept_taught_and_outlive_a_new_run(ws, project, run):
    by = project.created_by
    for _ in range(6):
        (question,) = ws.queue.next(run.id, by)
        ws.answers.give(question.document, "parking", by=by, run=run.id)
    assert ws.queue.counts(run.id) == {"open": 18, "leased": 0, "done": 6}
    taught = ws.runs.teach(run.id, by=by)
    again = ws.runs.start(project.id, {"method": "nbc", "vectors": False}, by=by)
    work(ws, until_idle=True)
    for found in (ws.runs.get(taught.id), ws.runs.get(again.id)):
        assert found.state == "done", found.error
        assert found.summary["answers"] == 6
        rows = ws.runs.predictions(found.id, limit=100)
        assert sum(row.answer == "parking" and row.label == "parking" for row in rows) == 6
        assert ws.queue.counts(found.id)["done"] == 6
    assert len(ws.answers.list(project.id)) == 6


def test_an_answer_can_be_changed_and_taken_back_and_nothing_is_forgotten(ws, project, run):
    by, lee = project.created_by, ws.people.create("Lee", None, "reviewer").id
    document = ws.queue.next(run.id, by)[0].document
    ws.answers.give(document, "staff", by=by, run=run.id)
    ws.answers.give(document, "price", by=lee, run=run.id)
    assert ws.runs.prediction(run.id, document).answer == "price"
    (taken,) = ws.answers.undo(by=lee)
    assert taken.undone_by == lee
    assert ws.runs.prediction(run.id, document).answer == "staff"
    ws.answers.undo(by=by)
    assert ws.runs.prediction(run.id, document).answer is None
    assert ws.queue.next(run.id, by)[0].document == document  # back in the hands of whoever took it back
    assert ws.answers.undo(by=by) == []
    said = [(found.label, found.by, found.undone_at is not None) for found in ws.answers.history(document)]
    assert said == [("staff", by, True), ("price", lee, True)]
    kinds = [event.kind for event in ws.audit.events(project.id)]
    assert kinds.count("answer given") == 2
    assert kinds.count("answers taken back") == 2


def test_agreement_is_of_the_latest_answer_of_each_person(ws, project, run):
    kim, lee = project.created_by, ws.people.create("Lee", None, "reviewer").id
    first, second, third = (found.document for found in ws.runs.predictions(run.id, limit=3))
    for document, label in ((first, "staff"), (second, "price"), (third, "staff")):
        ws.answers.give(document, label, by=kim)
    ws.answers.give(first, "staff", by=lee)
    ws.answers.give(second, "staff", by=lee)
    found = ws.answers.agreement(project.id)
    assert (found["documents"], found["agreed"]) == (2, 1)
    assert found["disputed"][0]["document"] == second
    ws.answers.give(second, "price", by=lee)
    assert ws.answers.agreement(project.id)["agreed"] == 2


def test_what_does_not_exist_is_not_found(ws):
    for ask in (ws.projects.get, ws.runs.get, ws.collections.get, ws.documents.get, ws.jobs.get, ws.people.get):
        with pytest.raises(DataError) as error:
            ask("nothing")
        assert error.value.code == "not-found"


def test_a_run_without_a_target_is_refused(ws):
    by = ws.people.local().id
    empty = ws.projects.create("Empty", by=by)
    with pytest.raises(DataError, match="no labelled documents"):
        ws.runs.start(empty.id, {}, by=by)
    with pytest.raises(UsageError, match="no parameter"):
        ws.runs.start(empty.id, {"metod": "nbc"}, by=by)
