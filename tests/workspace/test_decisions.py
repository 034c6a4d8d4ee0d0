"""Words, groups, checks and what is accepted unread."""

import io
import json
from dataclasses import replace
from itertools import combinations

import pytest
import sqlalchemy as sa

from isthmus.choose import AccuracyEstimate
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import work
from isthmus.workspace.answers import add_batch, check_threshold
from isthmus.workspace.documents import TermIndex, read_query
from isthmus.workspace.schema import PREDICTIONS, RUN_TABLES, RUNS

# Words


def test_a_word_is_found_by_its_beginning_and_shows_what_it_touches(done):
    found = done.words.search(done.project.id, "sta")
    assert found == [{"word": "staff", "documents": 8, "label": None}]
    touched = done.words.touches(done.project.id, "Engines")  # another form, another case
    assert touched["documents"] == 8
    assert sum(touched["labels"].values()) == 8
    assert all("engine" in document.text for document in touched["examples"])
    assert done.words.touches(done.project.id, "nowhere")["documents"] == 0


def test_what_a_word_touches_is_not_counted_by_labels_of_an_earlier_collection(done):
    rows = b"comment\na weak engine\na strong engine\n"
    later = done.collections.add(done.project.id, "later.csv", io.BytesIO(rows), kind="target", by=done.by)
    done.collections.map(later.id, text=["comment"], by=done.by)
    touched = done.words.touches(done.project.id, "engine")
    assert (touched["documents"], touched["labels"]) == (2, {}), "no run has labelled the collection that is searched"


def test_a_word_is_assigned_reassigned_and_taken_back(done):
    project, by = done.project.id, done.by
    done.words.assign(project, "Tyres", "product", by=by)
    done.words.assign(project, "tyres", "price", by=by)
    assert [(word.word, word.label) for word in done.words.list(project)] == [("tyres", "price")]
    assert done.words.search(project, "tyre")[0]["label"] == "price"
    done.words.remove(project, "tyres", by=by)
    assert done.words.list(project) == []
    history = done.words.list(project, everything=True)
    assert [(word.label, word.removed_by) for word in history] == [("product", by), ("price", by)]
    with pytest.raises(DataError, match="nothing to take back"):
        done.words.remove(project, "tyres", by=by)


def test_words_teach(done):
    done.words.assign(done.project.id, "workshop", "service", by=done.by)
    taught = done.runs.teach(done.run.id, by=done.by)
    work(done, until_idle=True)
    assert done.runs.get(taught.id).state == "done", done.runs.get(taught.id).error
    assert "service" in done.runs.get(taught.id).summary["classes"]


def predictions(workspace, run):
    """Label and confidence of every document by a run."""
    columns = PREDICTIONS.c.position, PREDICTIONS.c.label, PREDICTIONS.c.confidence
    with workspace._context.db.reading() as connection:
        return connection.execute(sa.select(*columns).where(PREDICTIONS.c.run_id == run).order_by(columns[0])).all()


@pytest.mark.parametrize("then", [None, "price"])
def test_words_that_the_fit_used_can_be_taken_back(done, then):
    """A run whose record says no words reused the fit with words."""
    by, project = done.by, done.project.id
    done.words.assign(project, "workshop", "product", by=by)
    run = done.runs.start(project, {"method": "dual-factor", "vectors": False}, by=by)
    work(done, until_idle=True)
    assert done.runs.teach(run.id, by=by).base == run.id, "nothing was taken back: the fit is used again"
    if then is None:
        done.words.remove(project, "workshop", by=by)
    else:
        done.words.assign(project, "workshop", then, by=by)
    taught = done.runs.teach(run.id, by=by)
    fresh = done.runs.start(project, {"method": "dual-factor", "vectors": False}, by=by)
    assert taught.base is None, "the methods are fitted again"
    work(done, until_idle=True)
    found = [predictions(done, id) for id in (taught.id, fresh.id)]
    assert found[0] == found[1]


def test_the_latest_run_suggests_words(done):
    found = done.words.suggestions(done.project.id)
    assert all({"word", "suggestion", "documents", "settles"} == set(row) for row in found)


def test_documents_are_searched_by_all_words_of_a_query(done):
    def found(query, **page):
        return done.runs.predictions(done.run.id, search=query, **page)

    first = found("impolite staffs", limit=3)
    assert len(first) == 3
    assert len(found("impolite staffs", after=first[-1].position)) == 1
    for nothing in ("impolite engine", "%_'\"", ""):
        assert found(nothing) == [], "no word is not every document"
    assert len(found("staff" + " " * 195 + "engine")) == 8, "200 characters are read"


# Groups


@pytest.fixture
def grouped(done):
    """The run, as if it had found two groups that fit no class."""
    novel = [
        {"group": "new: tyres", "words": "tyres", "documents": 3},
        {"group": "new: car", "words": "car", "documents": 2},
    ]
    run = done.run.id
    with done._context.db.writing() as connection:
        connection.execute(
            RUN_TABLES.update().where(RUN_TABLES.c.run_id == run, RUN_TABLES.c.name == "novel").values(content=novel)
        )
        for name, places in (("new: tyres", [4, 10, 16]), ("new: car", [2, 3])):
            connection.execute(
                PREDICTIONS.update()
                .where(PREDICTIONS.c.run_id == run, PREDICTIONS.c.position.in_(places))
                .values(novel_group=name)
            )
    return done


def test_what_several_filters_leave_is_what_each_of_them_leaves(grouped):
    """Label, review, group and words, in every combination and both orders, against the whole list; pages of three."""
    run = grouped.run.id
    with grouped._context.db.writing() as connection:
        mine = PREDICTIONS.c.run_id == run
        connection.execute(PREDICTIONS.update().where(mine).values(needs_review=PREDICTIONS.c.position % 4 == 2))
    everything = grouped.runs.predictions(run, limit=100)
    filters = {
        "label": ("product", lambda row: row.label == "product"),
        "review": (True, lambda row: row.needs_review),
        "group": ("new: car", lambda row: row.novel_group == "new: car"),
        "search": ("car", lambda row: "car" in row.text.split()),
    }
    for number in range(1, 5):
        for names in combinations(filters, number):
            left = [row for row in everything if all(filters[name][1](row) for name in names)]
            for order in ("position", "confidence"):
                left.sort(key=lambda row: (row.confidence if order == "confidence" else 0, row.position))
                pages, after = [], None
                asked = {name: filters[name][0] for name in names}
                while page := grouped.runs.predictions(run, **asked, order=order, after=after, limit=3):
                    pages += [row.position for row in page]
                    after = pages[-1]
                assert pages == [row.position for row in left], f"{asked} by {order}"


def test_groups_are_renamed_merged_and_made_a_class(grouped):
    run, by = grouped.run.id, grouped.by
    grouped.groups.merge(run, ["new: tyres"], "tyres", by=by)
    assert [row["name"] for row in grouped.groups.list(run)] == ["tyres", "new: car"]
    grouped.groups.merge(run, ["tyres", "new: car"], "parts", by=by)
    (merged,) = grouped.groups.list(run)
    assert (merged["name"], merged["documents"], merged["parts"]) == ("parts", 5, ["new: tyres", "new: car"])
    told = [event.kind for event in grouped.audit.events(grouped.project.id)]
    assert [kind for kind in told if kind.startswith("group")] == ["group renamed", "groups merged"]
    known = grouped.runs.predictions(run, group="new: car", limit=1)[0].document
    grouped.answers.give(known, "product", by=by)
    assert grouped.groups.make_class(run, "parts", "parts", by=by) == 4  # the answered one keeps its answer
    assert grouped.runs.prediction(run, known).answer == "product"
    taught = grouped.runs.teach(run, by=by)
    work(grouped, until_idle=True)
    assert "parts" in grouped.runs.get(taught.id).summary["classes"]
    assert len(grouped.answers.undo(by=by)) == 4  # one decision, taken back at once
    assert grouped.queue.counts(run)["done"] == 1
    assert grouped.check() == []
    with pytest.raises(DataError, match="no such group"):
        grouped.groups.make_class(run, "nothing", "parts", by=by)


def test_a_group_that_got_a_class_promises_the_same_as_in_python(grouped):
    """Its documents counted as read: right, out of the queue, and in the expectation."""
    run, by, project = grouped.run.id, grouped.by, grouped.project.id
    rows = grouped.runs.predictions(run, limit=100)
    group = [row for row in rows if row.novel_group == "new: tyres"]
    assert grouped.groups.make_class(run, "new: tyres", "tyres", by=by) == 3
    assert grouped.groups.list(run)[0]["given"] == ["tyres"]
    others = [row for row in rows if not row.novel_group][:11]
    read = [*others, group[0]]
    for row in read:
        grouped.answers.give(row.document, "tyres" if row is group[0] else row.label, by=by)
    taught = grouped.runs.teach(run, by=by)
    work(grouped, until_idle=True)

    wholes = {"document": [row.position + 1 for row in group], "true_label": ["tyres"] * 3, "drawn": ["group"] * 3}
    labels = ["tyres" if row is group[0] else row.label for row in read]
    answers = {"document": [row.position + 1 for row in read], "true_label": labels}
    wanted = grouped.exports.load(run).teach(wholes).teach(answers)
    found, there = grouped.runs.get(taught.id).summary, grouped.exports.load(taught.id)
    assert found["expected"] == pytest.approx(wanted.expected_accuracy.estimate)
    assert (found["low"], found["high"]) == pytest.approx((wanted.expected_accuracy.low, wanted.expected_accuracy.high))
    assert there.needs_review.tolist() == wanted.needs_review.tolist()
    assert there.forecast(5) == wanted.forecast(5)
    assert there.ask(24)["document"] == wanted.ask(24)["document"]
    waiting = grouped.runs.predictions(taught.id, review=True)
    assert {row.document for row in group[1:]} <= {row.document for row in waiting}, "nobody has read them"
    assert {row.state for row in waiting} == {"open"}
    assert grouped.queue.counts(taught.id)["to_review"] == len(waiting)
    export = grouped.exports.make(project, "labels", by=by, run=taught.id, ending=".jsonl")
    lines = [json.loads(line) for line in grouped.exports.path(export.id).read_text("utf-8").splitlines()]
    assert [line["needs_review"] for line in lines] == wanted.needs_review.tolist()
    assert [line["confidence"] for line in lines] == pytest.approx(wanted.confidence.tolist(), abs=1e-4)
    export = grouped.exports.make(project, "answers", by=by, ending=".jsonl")
    lines = [json.loads(line) for line in grouped.exports.path(export.id).read_text("utf-8").splitlines()]
    assert sum(line["drawn"] == "group" for line in lines) == 3
    assert grouped.compare.of(run, taught.id)["answers"]["documents"] == 12, "answers are what somebody read"
    assert grouped.answers.counts(project) == [{"by": by, "answers": 12}]
    grouped.answers.undo(by=by)
    assert grouped.runs.prediction(run, group[0].document).state == "leased", "what was taken back is read again"
    assert grouped.check() == []


# Forecasts


def test_the_queue_forecasts_as_python_does_and_counts_what_was_answered_since(done):
    run, by = done.run.id, done.by
    assert done.runs.forecast(run, 5) is None, "nothing is forecast where nothing is expected"
    with done._context.db.writing() as connection:
        summary = {**done.runs.get(run).summary, "expected": 0.8}
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(summary=summary))
    saved = replace(done.exports.load(run), expected_accuracy=AccuracyEstimate(0.8, 0.7, 0.9))
    found = done.runs.forecast(run, 5)
    assert found == saved.forecast(saved.ask(5))
    (first,) = done.queue.next(run, by)
    done.answers.give(first.document, first.label, by=by, run=run)
    later = done.runs.forecast(run, 4)
    assert (later.answers, later.then, later.right) == (4, found.then, pytest.approx(found.right))
    assert later.now == found.now - first.needs_review
    with pytest.raises(UsageError, match="read is '0'"):
        done.runs.forecast(run, 0)


# Checks


def test_a_blind_sample_measures_the_accuracy(done):
    run, lee = done.run.id, done.people.create("Lee", None, "reviewer").id
    check = done.checks.draw(run, 10, by=done.by, seed=3)
    assert done.checks.estimate(check.id) is None
    first, second = done.checks.next(check.id, done.by), done.checks.next(check.id, lee)
    assert first.id != second.id
    assert not hasattr(first, "confidence")  # blind
    done.checks.answer(check.id, second.id, "nonsense", by=lee)
    while document := done.checks.next(check.id, done.by):
        done.checks.answer(check.id, document.id, done.runs.prediction(run, document.id).label, by=done.by)
    found = done.checks.estimate(check.id)
    assert (found["right"], found["n"], found["population"]) == (9, 10, 24)
    assert found["low"] < 0.9 < found["high"]
    assert done.checks.get(check.id).answered == 10
    assert {answer.drawn for answer in done.answers.list(done.project.id)} == {"random"}
    done.answers.undo(by=lee)  # takes the document back into the sample as well
    assert done.checks.get(check.id).answered == 9
    assert done.checks.next(check.id, lee).id == second.id


def test_no_id_of_a_client_becomes_a_path(done):
    before = sorted(done.folder.parent.rglob("*"))
    for run in ("../../x", "x" * 32, "", "0" * 32):
        with pytest.raises(DataError) as error:
            done.checks.above(run, 0.5)
        assert error.value.code == "not-found"
    assert sorted(done.folder.parent.rglob("*")) == before


def test_what_people_answered_before_is_known_in_a_sample(done, monkeypatch):
    monkeypatch.setattr("isthmus.workspace.checks._NAMED", 7)  # several statements
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by)
    check = done.checks.draw(done.run.id, 24, by=done.by)
    assert (check.size, check.answered) == (24, 1)


def test_what_was_decided_for_many_at_once_is_not_known_in_a_sample(grouped):
    run, by = grouped.run.id, grouped.by
    assert grouped.groups.make_class(run, "new: tyres", "tyres", by=by) == 3
    check = grouped.checks.draw(run, 24, by=by)
    assert (check.size, check.answered) == (24, 0)
    assert grouped.checks.estimate(check.id) is None


def test_labels_are_accepted_unread_only_after_a_sample(done):
    run, by = done.run.id, done.by
    everything = done.runs.predictions(run, limit=100)
    threshold = sorted(row.confidence for row in everything)[12]
    sure = [row for row in everything if row.confidence >= threshold]
    plain = done.checks.draw(run, 5, by=by)
    with pytest.raises(UsageError, match="no threshold"):
        done.checks.accept(plain.id, by=by)
    check = done.checks.draw(run, 5, by=by, threshold=threshold)
    with pytest.raises(UsageError, match="answer all"):
        done.checks.accept(check.id, by=by)
    check = done.checks.draw(run, 100, by=by, threshold=threshold)
    assert check.size == len(sure)
    for _ in range(check.size):
        document = done.checks.next(check.id, by)
        done.checks.answer(check.id, document.id, done.runs.prediction(run, document.id).label, by=by)
    assert done.checks.accept(check.id, by=by) == 0  # the sample was all of them
    assert done.checks.estimate(check.id)["accuracy"] == 1.0


def test_accepting_is_one_decision_and_teaches_nothing(done, monkeypatch):
    run, by = done.run.id, done.by
    monkeypatch.setattr("isthmus.workspace.checks.LEAST_CHECKED", 3)
    monkeypatch.setattr("isthmus.workspace.checks._BLOCK", 4)  # several transactions
    check = done.checks.draw(run, 3, by=by, threshold=0.01)
    while document := done.checks.next(check.id, by):
        done.checks.answer(check.id, document.id, "staff", by=by)
    held = done.queue.next(run, done.people.create("Lee", None, "reviewer").id)[0]
    assert done.checks.accept(check.id, by=by) == 24 - 3 - 1
    noted = [event for event in done.audit.events(done.project.id) if event.kind == "labels accepted"]
    assert [event.detail["accuracy"] for event in noted] == [done.checks.estimate(check.id)["accuracy"]]
    assert done.runs.prediction(run, held.document).answer is None  # somebody is reading it
    taught = done.runs.teach(run, by=by)
    work(done, until_idle=True)
    assert done.runs.get(taught.id).summary["answers"] == 3
    assert len(done.answers.undo(by=by)) == 20
    counts = done.queue.counts(run)
    assert (counts["open"], counts["leased"], counts["done"]) == (20, 1, 3)
    assert done.check() == []


# Comparing


def test_two_runs_are_compared_by_what_flipped(done):
    run, by = done.run.id, done.by
    for row in done.runs.predictions(run, label="price", limit=3):
        done.answers.give(row.document, "parking", by=by, run=run)
    taught = done.runs.teach(run, by=by)
    work(done, until_idle=True)
    found = done.compare.of(run, taught.id)
    assert found["documents"] == 24
    assert found["changed"] == sum(row["documents"] for row in found["flips"]) >= 3
    assert found["answers"] == {"documents": 3, "before": 0, "after": 3}
    parking = next(row for row in found["classes"] if row["class"] == "parking")
    assert (parking["before"], parking["lost"]) == (0, 0)
    assert parking["after"] == parking["gained"] >= 3
    flips = done.compare.flips(run, taught.id, new="parking", limit=2)
    assert [row["new"] for row in flips] == ["parking", "parking"]
    more = done.compare.flips(run, taught.id, new="parking", after=flips[-1]["position"])
    assert len(more) == parking["gained"] - 2
    everything = done.compare.flips(run, taught.id, limit=100)
    for side in ("old", "new"):
        for name in {row[side] for row in everything} | {"nothing"}:
            left = [row for row in everything if row[side] == name]
            assert done.compare.flips(run, taught.id, **{side: name}, limit=100) == left, f"{side} label {name}"


def test_only_labellings_that_are_done_are_compared(done):
    waiting = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    diagnosis = done.runs.start(done.project.id, {}, by=done.by, kind="diagnose")
    for other in (waiting, diagnosis):
        for pair in ((done.run.id, other.id), (other.id, done.run.id)):
            with pytest.raises(UsageError, match="Only two finished labelling runs"):
                done.compare.of(*pair)


def test_answers_stay_where_many_documents_are_decided_at_once(done, monkeypatch):
    monkeypatch.setattr("isthmus.workspace.answers._BLOCK", 2)  # several statements
    names = [row.document for row in done.runs.predictions(done.run.id, limit=6)]
    for name in names[:3]:
        done.answers.give(name, "staff", by=done.by, run=done.run.id)
    decision = {"project": done.project.id, "run": done.run.id, "by": done.by, "kind": "group", "drawn": "picked"}
    with done._context.db.writing() as connection:
        assert add_batch(connection, [(name, "price") for name in names], **decision) == 3
    said = [[answer.label for answer in done.answers.history(name)] for name in names]
    assert said == [["staff"]] * 3 + [["price"]] * 3


def test_words_of_two_hundred_characters_are_found_and_longer_ones_left_out():
    index = TermIndex([f"kind {'x' * 200} {'y' * 201}"] * 2)
    assert {row["term"] for row in index.rows("c")} == {"kind", "x" * 200}
    assert read_query("kind", {}) == [], "a collection without a word has no settings"


@pytest.mark.parametrize("wrong", [True, "0.5", None, 0, -0.1, 1.01, float("nan")])
def test_a_threshold_is_a_confidence(wrong):
    assert (check_threshold(1), check_threshold(0.5)) == (1.0, 0.5)
    with pytest.raises(UsageError, match="give a confidence between 0 and 1"):
        check_threshold(wrong)


def test_a_sample_has_a_hundred_documents_and_promises_within_the_budget(done):
    """The project has 24, so all of them; a budget of nothing can promise nothing."""
    run, by = done.run.id, done.by
    check = done.checks.draw(run, by=by)
    assert check.size == 24
    for wrong in (0, True, "5"):
        with pytest.raises(UsageError, match="give a number of at least 1"):
            done.checks.draw(run, wrong, by=by)
    with pytest.raises(DataError, match="No label reaches this confidence"):
        done.checks.draw(run, 5, by=by, threshold=1)
    document = done.checks.next(check.id, by)
    done.checks.answer(check.id, document.id, "staff", by=by)
    assert done.checks.estimate(check.id).get("guarantee") is not None
    with done._context.db.writing() as connection:
        none = {**done.run.parameters, "error_budget": 0}
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(parameters=none))
    assert done.checks.estimate(check.id).get("guarantee") is None
    above = done.checks.draw(run, 5, by=by, threshold=0.01)
    done.checks.answer(above.id, done.checks.next(above.id, by).id, "staff", by=by)
    with done._context.db.writing() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == run).values(parameters=done.run.parameters))
    assert done.checks.estimate(above.id).get("guarantee") is None, "the surest labels say nothing about the others"


def test_no_group_is_merged_by_nobody_and_no_class_gets_its_own_name(grouped):
    events = grouped.audit.events(grouped.project.id)
    with pytest.raises(UsageError, match="No group is named"):
        grouped.groups.merge(grouped.run.id, [], "x", by=grouped.by)
    assert grouped.audit.events(grouped.project.id) == events, "nothing was done, so nothing is noted"
