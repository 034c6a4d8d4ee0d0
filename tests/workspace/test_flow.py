"""From a file to answers: what a team does all day."""

import alembic.autogenerate
import alembic.migration
import pytest
import sqlalchemy as sa

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import open_workspace, work
from isthmus.workspace.answers import summarize_agreement
from isthmus.workspace.schema import METADATA, PREDICTIONS, RUNS


def test_migrations_make_exactly_the_tables(ws):
    with ws._context.db.engine.connect() as connection:
        context = alembic.migration.MigrationContext.configure(connection, opts={"compare_type": True})
        assert alembic.autogenerate.compare_metadata(context, METADATA) == []


def test_a_run_labels_every_document_and_leaves_tables(done):
    predictions = done.runs.predictions(done.run.id, limit=100)
    assert [found.position for found in predictions] == list(range(24))
    truth = ["staff" if "staff" in row.text else "product" if "engine" in row.text else "price" for row in predictions]
    assert sum(row.label == true for row, true in zip(predictions, truth, strict=True)) >= 20
    assert sorted(row.rank for row in predictions) == list(range(24))
    assert all(row.label != row.second and 0 <= row.second_confidence <= 1 for row in predictions)
    near = done.documents.many(predictions[0].near)
    assert near
    assert all(document.label for document in near)
    hero = done.runs.table(done.run.id, "hero")
    assert [row["class"] for row in hero["classes"]] == ["price", "product", "staff"]
    assert done.run.summary["documents"] == 24
    assert {part["name"] for part in done.run.record["collections"]} == {"bikes.csv", "cars.csv"}
    assert done.run.record["versions"]["isthmus"]


def test_pages_follow_each_other_by_key(done):
    pages, after = [], None
    while page := done.runs.predictions(done.run.id, after=after, limit=7):
        pages += page
        after = page[-1].position
    assert [found.position for found in pages] == list(range(24))
    target = done.collections.list(done.project.id, kind="target")[0]
    assert [found.name for found in done.documents.page(target.id, after=19)] == ["t20", "t21", "t22", "t23"]
    staff = done.runs.predictions(done.run.id, label="staff", limit=100)
    assert {row.label for row in staff} == {"staff"}
    unsure, after = [], None
    while page := done.runs.predictions(done.run.id, order="confidence", after=after, limit=10):
        unsure += page
        after = page[-1].position
    assert len(unsure) == 24
    assert [row.confidence for row in unsure] == sorted(row.confidence for row in unsure)
    found = done.runs.predictions(done.run.id, search="engines", label="product", limit=100)
    assert len(found) == 8
    doubtful = done.runs.predictions(done.run.id, review=True, limit=100)
    assert len(doubtful) == done.run.summary["review"]


def test_answers_are_kept_taught_and_outlive_a_new_run(done):
    for _ in range(6):
        (question,) = done.queue.next(done.run.id, done.by)
        done.answers.give(question.document, "parking", by=done.by, run=done.run.id)
    counts = done.queue.counts(done.run.id)
    assert (counts["open"], counts["leased"], counts["done"]) == (18, 0, 6)
    assert counts["to_review"] <= done.run.summary["review"]
    assert done.answers.labels(done.project.id) == ["parking"]
    assert {answer.drawn for answer in done.answers.list(done.project.id)} == {"asked"}
    taught = done.runs.teach(done.run.id, by=done.by)
    again = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    work(done, until_idle=True)
    for found in (done.runs.get(taught.id), done.runs.get(again.id)):
        assert found.state == "done", found.error
        assert found.summary["answers"] == 6
        rows = done.runs.predictions(found.id, limit=100)
        assert sum(row.answer == "parking" and row.label == "parking" for row in rows) == 6
        assert done.queue.counts(found.id)["done"] == 6
    assert len(done.answers.list(done.project.id)) == 6
    assert done.check() == []


def test_a_run_is_repeated_from_its_record(done):
    (question,) = done.queue.next(done.run.id, done.by)
    done.answers.give(question.document, "price", by=done.by, run=done.run.id)
    done.words.assign(done.project.id, "tyres", "product", by=done.by)
    asked = {"random_state": 7, "error_budget": 0.2, "language": "en"}
    first = done.runs.start(done.project.id, {"method": "nbc", "vectors": False, **asked}, by=done.by)
    done.answers.undo(by=done.by)  # after the record was written
    done.words.remove(done.project.id, "tyres", by=done.by)
    second = done.runs.repeat(first.id, by=done.by)
    work(done, until_idle=True)
    assert done.runs.get(first.id).state == "done", done.runs.get(first.id).error
    assert done.runs.get(first.id).record["words"] == {"tyres": "product"}
    rows = [done.runs.predictions(run.id, limit=100) for run in (first, second)]
    said = [[(row.position, row.label, row.confidence, row.rank) for row in page] for page in rows]
    assert said[0] == said[1]
    assert len(said[0]) == 24
    assert done.runs.get(second.id).parameters["random_state"] == 7
    for run in (first, second):
        settings = done.exports.load(run.id).settings
        assert {name: settings[name] for name in asked} == asked, "what the labelling was made with"


def test_an_answer_can_be_changed_and_taken_back_and_nothing_is_forgotten(done):
    by, lee, run = done.by, done.people.create("Lee", None, "reviewer").id, done.run.id
    document = done.queue.next(run, by)[0].document
    done.answers.give(document, "staff", by=by, run=run)
    done.answers.give(document, "price", by=lee, run=run)
    assert done.runs.prediction(run, document).answer == "price"
    (taken,) = done.answers.undo(by=lee)
    assert taken.undone_by == lee
    assert done.runs.prediction(run, document).answer == "staff"
    done.answers.undo(by=by)
    assert done.runs.prediction(run, document).answer is None
    assert done.queue.next(run, by)[0].document == document  # back in the hands of whoever took it back
    assert done.answers.undo(by=by) == []
    said = [(found.label, found.by, found.undone_at is not None) for found in done.answers.history(document)]
    assert said == [("staff", by, True), ("price", lee, True)]
    kinds = [event.kind for event in done.audit.events(done.project.id)]
    assert kinds.count("answer given") == 2
    assert kinds.count("answers taken back") == 2


def test_taking_back_an_answer_under_a_later_one_leaves_the_later_one(done):
    kim, lee = done.by, done.people.create("Lee", None, "reviewer").id
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=kim)
    done.answers.give(document, "price", by=lee)
    done.answers.undo(by=kim)
    assert done.runs.prediction(done.run.id, document).answer == "price"
    assert done.check() == []


@pytest.mark.parametrize("name", ["\x00", "a\x00b", "\ud800", "x" * 10_000, "' OR 1=1 --"], ids=range(5))
def test_an_id_that_cannot_be_is_not_found(done, name):
    """Ids come from addresses: whatever stands there, the database is not asked for what it cannot hold."""
    calls = [
        done.projects.get, done.collections.get, done.documents.get, done.runs.get, done.jobs.get, done.checks.get,
        done.people.get, lambda id: done.runs.prediction(done.run.id, id), lambda id: done.runs.prediction(id, id),
        lambda id: done.queue.next(id, done.by), lambda id: done.answers.give(id, "staff", by=done.by),
        lambda id: done.checks.next(id, done.by), lambda id: done.answers.give(id, "staff", by=done.by, run=id),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(DataError) as error:
            call(name)
        assert error.value.code == "not-found"
    assert done.projects.seen_by(name, done.by) is None
    assert done.people.behind(name, name, name) is None


def test_agreement_is_of_the_latest_answer_of_each_person(done):
    kim, lee = done.by, done.people.create("Lee", None, "reviewer").id
    first, second, third = (found.document for found in done.runs.predictions(done.run.id, limit=3))
    for document, label in ((first, "staff"), (second, "price"), (third, "staff")):
        done.answers.give(document, label, by=kim)
    done.answers.give(first, "staff", by=lee)
    done.answers.give(second, "staff", by=lee)
    found = done.answers.agreement(done.project.id)
    assert (found["documents"], found["agreed"]) == (2, 1)
    assert found["disputed"][0]["document"] == second
    done.answers.give(second, "price", by=lee)
    assert done.answers.agreement(done.project.id)["agreed"] == 2


def test_an_answer_drawn_at_random_stays_so(done):
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by, drawn="random")
    assert done.answers.give(document, "price", by=done.by).drawn == "random"


def test_the_queue_hands_out_what_is_released_skipped_or_overdue(done, monkeypatch):
    lee = done.people.create("Lee", None, "reviewer").id
    first = done.queue.next(done.run.id, done.by)[0]
    assert done.queue.next(done.run.id, done.by)[0].document == first.document  # a reload shows the same
    assert done.queue.next(done.run.id, lee)[0].document != first.document
    done.queue.release(done.run.id, lee)
    assert done.queue.release(done.run.id, done.by) == 1
    assert done.queue.next(done.run.id, lee)[0].document == first.document
    done.queue.skip(done.run.id, lee, first.document)
    order = [row.document for row in done.queue.next(done.run.id, done.by, 24)]
    assert order[-1] == first.document
    assert done.queue.next(done.run.id, lee) == []
    later = done.queue.next(done.run.id, done.by)[0].leased_until
    monkeypatch.setattr("isthmus.workspace.queue.utc_now", lambda: later.replace(year=later.year + 1))
    assert done.queue.next(done.run.id, lee)[0].document == order[0]


def test_what_does_not_exist_is_not_found(ws):
    for ask in (ws.projects.get, ws.runs.get, ws.collections.get, ws.documents.get, ws.jobs.get, ws.people.get):
        with pytest.raises(DataError) as error:
            ask("nothing")
        assert error.value.code == "not-found"


def test_a_run_without_a_target_is_refused(ws):
    by = ws.people.local().id
    empty = ws.projects.create("Empty", by=by)
    with pytest.raises(DataError, match="no documents to label"):
        ws.runs.start(empty.id, {"classes": ["staff", "price"]}, by=by)
    with pytest.raises(UsageError, match="no parameter"):
        ws.runs.start(empty.id, {"metod": "nbc"}, by=by)


def test_a_diagnosis_leaves_its_findings(done):
    run = done.runs.start(done.project.id, {}, by=done.by, kind="diagnose")
    work(done, until_idle=True)
    found = done.runs.get(run.id)
    assert found.state == "done", found.error
    assert done.runs.table(run.id, "diagnosis")["findings"]
    assert [row.id for row in done.runs.list(done.project.id)] == [done.run.id]


def test_a_workspace_of_a_newer_version_is_refused(tmp_path):
    with open_workspace(tmp_path) as ws, ws._context.db.writing() as connection:
        connection.connection().exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DataError, match="newer version"):
        open_workspace(tmp_path)


@pytest.mark.parametrize("ready", ["sqlite"], indirect=True)
def test_answers_are_written_through_to_the_disk_and_leases_need_not_be(done):
    levels = []

    def hear(connection):
        levels.append(connection.connection.cursor().execute("PRAGMA synchronous").fetchone()[0])

    sa.event.listen(done._context.db.engine, "commit", hear)
    (question,) = done.queue.next(done.run.id, done.by)
    done.answers.give(question.document, "price", by=done.by, run=done.run.id)
    done.queue.next(done.run.id, done.by)
    assert levels == [1, 2, 1]  # NORMAL, FULL, NORMAL


def test_an_answer_that_is_sent_twice_is_one_answer(done):
    run, by = done.run.id, done.by
    document = done.queue.next(run, by)[0].document
    first = done.answers.give(document, "staff", by=by, run=run, token="once")
    again = done.answers.give(document, "staff", by=by, run=run, token="once")
    assert again.id == first.id
    assert len(done.answers.history(document)) == 1
    assert [row.id for row in done.answers.undo(by=by)] == [first.id]
    assert done.runs.prediction(run, document).answer is None  # one undo takes it back
    done.answers.give(document, "staff", by=by, run=run, token="once")  # a late copy of a request that was taken back
    assert done.runs.prediction(run, document).answer is None
    done.answers.give(document, "price", by=by, run=run, token="meant")
    assert done.runs.prediction(run, document).answer == "price"


def test_an_answer_of_a_sample_that_is_sent_twice_is_one_answer(done):
    check = done.checks.draw(done.run.id, 5, by=done.by)
    document = done.checks.next(check.id, done.by).id
    for _ in range(2):
        done.checks.answer(check.id, document, "staff", by=done.by, token="once")
    assert len(done.answers.history(document)) == 1
    assert done.checks.get(check.id).answered == 1


def test_one_answer_is_taken_back_by_who_gave_it_and_by_nobody_else(done):
    kim, lee, project = done.by, done.people.create("Lee", None, "reviewer").id, done.project.id
    first, second = (row.document for row in done.runs.predictions(done.run.id, limit=2))
    early, late = done.answers.give(first, "staff", by=kim), done.answers.give(second, "price", by=kim)
    for wrong in (
        {"by": lee, "answer": early.id},
        {"by": kim, "answer": early.id, "project": "another"},
        {"by": kim, "answer": "nothing"},
    ):
        assert done.answers.undo(**wrong) == [], f"{wrong} took something back"
    assert [row.id for row in done.answers.undo(by=kim, answer=early.id)] == [early.id], "the one named, not the latest"
    assert done.answers.undo(by=kim, answer=early.id) == [], "it was taken back already"
    assert [row.id for row in done.answers.list(project)] == [early.id, late.id]
    assert [row.id for row in done.answers.list(project, everything=False)] == [late.id], "those that hold"


def test_agreement_by_hand():
    """Of three documents two are agreed on, each class is named three times of six: 2/3 against 1/2 by chance."""
    said = {"1": {"kim": "a", "lee": "a"}, "2": {"kim": "b", "lee": "b"}, "3": {"kim": "a", "lee": "b"}}
    found = summarize_agreement(said)
    assert (found["documents"], found["agreed"], found["share"]) == (3, 2, pytest.approx(2 / 3))
    assert found["kappa"] == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))
    same = summarize_agreement({name: {"kim": "a", "lee": "a"} for name in "12"})
    assert (same["kappa"], same["share"]) == (None, 1.0), "where everybody says one class, chance explains all"
    assert summarize_agreement({})["share"] is None
    many = summarize_agreement({str(i): {"kim": "a", "lee": "b"} for i in range(60)})
    assert [row["document"] for row in many["disputed"]] == [str(i) for i in range(59, 9, -1)], "the latest fifty"


@pytest.mark.parametrize("kind", ["label", "diagnose"])
def test_only_a_labelling_that_is_done_has_results(done, kind):
    """Neither one that still stores its labels nor a diagnosis, whatever lies in the tables."""
    by, project = done.by, done.project.id
    run = done.runs.start(project, {"method": "nbc", "vectors": False}, by=by, kind=kind).id
    with done._context.db.writing() as connection:
        one = connection.execute(PREDICTIONS.select().where(PREDICTIONS.c.run_id == done.run.id).limit(1)).one()
        connection.execute(PREDICTIONS.insert().values({**one._mapping, "run_id": run}))
        if kind == "diagnose":
            connection.execute(RUNS.update().where(RUNS.c.id == run).values(state="done"))
    assert done.runs.predictions(run) == []
    assert done.runs.predictions(run, order="confidence") == []
    for ask in (
        lambda: done.runs.teach(run, by=by),
        lambda: done.exports.load(run),
        lambda: done.exports.make(project, "model", run=run, by=by),
        lambda: done.exports.start(project, "labels", run=run, by=by),
        lambda: done.compare.of(done.run.id, run),
        lambda: done.compare.flips(run, done.run.id),
    ):
        with pytest.raises(UsageError, match="Only"):
            ask()
    if kind == "label":
        assert done.queue.next(run, by) == [], "nobody reads for a run that is under way"
        with pytest.raises(UsageError, match="The run is not done"):
            done.checks.draw(run, 1, by=by)
    assert [row.kind for row in done.runs.list(project, kind=None)] == [kind, "label"]
    assert {row.kind for row in done.runs.list(project)} == {"label"}


def test_the_target_that_came_last_is_labelled_unless_another_is_named(done, add_file):
    project, by, nbc = done.project.id, done.by, {"method": "nbc", "vectors": False}
    later = add_file(done, project, "later.csv", "id,comment\nx1,the staff was kind here\n", "target", by)
    assert done.runs.start(project, nbc, by=by).target == later.id
    for named in (done.run.target, [done.run.target]):
        assert done.runs.start(project, {**nbc, "target": named}, by=by).target == done.run.target
    other = done.runs.start(project, nbc, by=by).id
    with done._context.db.writing() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == other).values(state="done"))
    with pytest.raises(UsageError, match="of the same documents"):
        done.compare.of(done.run.id, other)
    elsewhere = done.projects.create("Other", by=by).id
    with pytest.raises(DataError, match="A target of the run is not in this project"):
        done.runs.start(elsewhere, {**nbc, "target": later.id}, by=by)
    with pytest.raises(UsageError, match="language must be a text"):
        done.runs.start(project, {**nbc, "language": 7}, by=by)


def test_a_class_that_nothing_has_and_a_page_behind_the_end_are_empty(done):
    run = done.run.id
    assert done.runs.predictions(run, label="nothing") == []
    assert done.runs.predictions(run, order="confidence", after=10_000) == []
    assert done.runs.predictions(run, order="position", review=False, after=10_000) == []
    assert set(done.runs.tables(run, ["hero", "cards"])) == {"hero", "cards"}
    assert {"hero", "cards", "codebook", "ask_words", "answers"} <= set(done.runs.tables(run)), "all"
