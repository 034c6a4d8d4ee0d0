"""What a run of the workspace hands to the labelling: files, further texts, budget, answers with all that is known."""

import inspect
import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

import isthmus
from isthmus.api.label import label
from isthmus.choose import AccuracyEstimate
from isthmus.exceptions import DataError
from isthmus.options import LabelOptions
from isthmus.workspace import work, worker
from isthmus.workspace.running import _summarize, do_run, review_order
from isthmus.workspace.worker import do_job


def model_of(ws, run):
    """The saved labelling of a run, as anybody would take it along."""
    made = ws.exports.make(ws.project.id, "model", by=ws.by, run=run.id, ending=".isthmus")
    return isthmus.load(ws.exports.path(made.id))


def finish(ws, run):
    work(ws, until_idle=True)
    assert ws.runs.get(run.id).state == "done", ws.runs.get(run.id).error
    return ws.runs.get(run.id)


def by_name(ws):
    """Ids of the run's documents by the id in the file."""
    return {ws.documents.get(row.document).name: row.document for row in ws.runs.predictions(ws.run.id, limit=200)}


def test_files_further_texts_and_budget_reach_the_labelling(done, add_file, source_csv):
    add_file(done, done.project.id, "second.csv", source_csv.replace(b"today", b"in autumn"), "source", done.by)
    extra = "id,text\n" + "".join(f"e{i},kind staff of the branch {i}\n" for i in range(9))
    add_file(done, done.project.id, "more.csv", extra, "extra", done.by, text=["text"], label=None)
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False, "error_budget": 0.02}, by=done.by)
    result = model_of(done, finish(done, run))
    assert result.settings["error_budget"] == 0.02
    assert result.settings["extra_texts"] == 9
    assert [row["source"].partition(" (")[0] for row in result.sources] == ["bikes.csv", "second.csv"]
    assert [row["documents"] for row in result.sources] == [30, 30]


def test_answers_reach_the_labelling_with_how_they_were_drawn_and_by_whom(done):
    documents, project = by_name(done), done.project.id
    kim = done.people.create("Kim", "no password", "reviewer")
    done.projects.add_member(project, kim.id, "reviewer", by=done.by)
    done.answers.give(documents["t0"], "staff", by=kim.id, run=done.run.id, drawn="random")
    done.answers.give(documents["t5"], "price", by=done.by, run=done.run.id)
    done.words.assign(project, "tyres", "product", by=done.by)
    first = model_of(done, finish(done, done.runs.teach(done.run.id, by=done.by)))
    assert dict(zip(first.answers.rows, first.answers.drawn, strict=True)) == {0: "random", 5: "picked"}
    assert len(set(first.answers.by)) == 2
    assert list(first.answers.words) == ["tyres"]
    # Taught again, it learns all answers on top of the methods, not on top of what the first ones taught.
    taught = done.runs.list(project)[0]
    done.answers.give(documents["t7"], "staff", by=done.by, run=done.run.id)
    second = model_of(done, finish(done, done.runs.teach(taught.id, by=done.by)))
    assert sorted(second.answers.rows) == [0, 5, 7]
    base = model_of(done, done.run)
    direct = base.teach({"document": [1, 6, 8], "true_label": ["staff", "price", "staff"],
                         "drawn": ["random", "picked", "picked"]}, word_labels={"tyres": "product"})  # fmt: skip
    assert second.probabilities == pytest.approx(direct.probabilities, abs=1e-9)
    assert [row["total"] for row in second.history] == [3]


def test_teaching_a_run_that_began_with_answers_stands_on_its_methods(done):
    documents, project = by_name(done), done.project.id
    done.answers.give(documents["t0"], "staff", by=done.by, run=done.run.id)
    begun = finish(done, done.runs.start(project, {"method": "nbc", "vectors": False}, by=done.by))
    done.answers.give(documents["t5"], "price", by=done.by, run=begun.id)
    taught = model_of(done, finish(done, done.runs.teach(begun.id, by=done.by)))
    assert sorted(taught.answers.rows) == [0, 5]
    assert [row["total"] for row in taught.history] == [2], "all answers are learned at once, on top of the methods"


def test_what_was_decided_is_exported_under_its_class_and_needs_no_review(done):
    careful = {"method": "nbc", "vectors": False, "error_budget": 0}
    run = finish(done, done.runs.start(done.project.id, careful, by=done.by))
    documents = by_name(done)
    rows = done.runs.predictions(run.id, limit=200)
    assert all(row.needs_review for row in rows)
    done.answers.give(documents["t3"], "staff", by=done.by, run=run.id)
    made = done.exports.make(done.project.id, "labels", by=done.by, run=run.id, ending=".jsonl")
    exported = [json.loads(line) for line in done.exports.path(made.id).read_text("utf-8").splitlines()]
    assert [row["id"] for row in exported if not row["needs_review"]] == ["t3"]
    assert exported[3]["label"] == "staff"


def test_what_is_put_back_is_put_back_in_one_run_alone(done):
    other = finish(done, done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by))
    for run in (done.run, other):
        done.queue.next(run.id, done.by, 2)
    assert done.queue.release(other.id, done.by) == 2
    assert done.queue.counts(done.run.id)["leased"] == 2
    assert done.queue.counts(other.id)["leased"] == 0


@pytest.mark.parametrize("asked", [500, 3])
def test_every_document_has_one_place_in_the_queue(done, monkeypatch, asked):
    monkeypatch.setattr("isthmus.workspace.running._ASKED", asked)
    result = model_of(done, done.run)
    rank, reasons = review_order(result)
    assert sorted(rank.tolist()) == [*range(24)]
    assert len(reasons) == min(asked, 24)
    assert sorted(rank[list(reasons)].tolist()) == [*range(len(reasons))], "what is asked comes first"


def test_the_language_that_was_chosen_reaches_the_labelling(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False, "language": "de"}, by=done.by)
    assert model_of(done, finish(done, run)).settings["language"] == "de"


def test_the_codebook_knows_no_class_of_an_answer_that_was_taken_back(done):
    done.answers.give(by_name(done)["t0"], "parking", by=done.by, run=done.run.id)
    for answered in (True, False):
        made = done.exports.make(done.project.id, "codebook", by=done.by, run=done.run.id, ending=".jsonl")
        rows = map(json.loads, done.exports.path(made.id).read_text(encoding="utf-8").splitlines())
        assert ("parking" in {row["class"] for row in rows}) is answered
        done.answers.undo(by=done.by)


def test_a_repeated_run_is_the_old_one_in_all_but_its_number(done):
    """On top of the same fit, too: methods fitted again would learn words that the old run added to a fit without."""
    taught = done.runs.teach(done.run.id, by=done.by)
    again = done.runs.repeat(taught.id, by=done.by)
    assert taught.base == done.run.id
    for name in ("project", "kind", "target", "base", "parameters"):
        assert getattr(again, name) == getattr(taught, name), name
    assert again.record == taught.record | {"repeats": taught.id}
    assert (again.parent, again.number) == (taught.id, taught.number + 1)


def test_the_sentence_of_a_job_that_failed_does_not_say_where_the_workspace_lies():
    ws = MagicMock(folder=Path("/srv/hidden"))
    ws.perform.side_effect = DataError("'/srv/hidden/models/1.isthmus' is gone; start again.", code="not-found")
    do_job(ws, SimpleNamespace(id="1", kind="run", attempts=1))
    assert ws.jobs.fail.call_args.args == ("1", "'the workspace/models/1.isthmus' is gone; start again.", "not-found")


@pytest.mark.parametrize(("many", "asked"), [(24, 10), (23, 5)])
def test_of_a_large_target_fewer_documents_are_put_in_order_by_what_they_teach(done, monkeypatch, many, asked):
    for name, value in (("_MANY", many), ("_ASKED", 10), ("_ASKED_OF_MANY", 5)):
        monkeypatch.setattr(f"isthmus.workspace.running.{name}", value)
    assert len(review_order(model_of(done, done.run))[1]) == asked


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        (None, (None, None, None)),
        (AccuracyEstimate(None, None, None, reason="too few"), (None, None, None)),
        (AccuracyEstimate(0.8, 0.7, 0.9), (0.8, 0.7, 0.9)),
    ],
)
def test_what_a_run_expects_is_in_its_summary(expected, told):
    result = SimpleNamespace(
        texts=["x", "y"], needs_review=np.array([True, False]), method="nbc", classes=np.array(["a"]), novel=[],
        expected_accuracy=expected, answers=None,
    )  # fmt: skip
    found = _summarize(result)
    assert (found["expected"], found["low"], found["high"]) == told
    assert (found["documents"], found["review"], found["answers"]) == (2, 1, 0)


def test_the_language_and_the_seed_that_were_chosen_reach_the_diagnosis(done, monkeypatch):
    given = {}
    found = SimpleNamespace(verdict="fine", level="fine", findings=[], tables={})
    monkeypatch.setattr(
        "isthmus.workspace.running.diagnose", lambda *sides, **options: given.update(options, sides=sides) or found
    )
    chosen = {"language": "de", "random_state": 7}
    run = done.runs.start(done.project.id, chosen, by=done.by, kind="diagnose")
    assert do_run(done._context, run) == {"verdict": "fine", "level": "fine"}
    source, labels, target = given.pop("sides")
    assert given == chosen
    assert (len(source), len(labels), len(target)) == (30, 30, 24)
    assert set(labels) == {"staff", "product", "price"}


class Told(Exception):
    """The labelling was told everything; it need not be done."""


@pytest.mark.parametrize(
    "chosen",
    [
        {"method": "cocc", "parameters": ["max_iter=2"], "error_budget": 0.02, "random_state": 7, "language": "de"},
        {"method": "auto", "classes": ["parking: garage"], "random_state": 9, "vectors": False},
    ],
    ids=["one method", "names"],
)
def test_every_option_of_a_run_reaches_the_labelling(done, add_file, source_csv, monkeypatch, chosen):
    """Also the words of its classes, the files that its documents came from, and further texts."""
    given = {}

    def told(*sides, **options):
        given.update(inspect.signature(label).bind(*sides, **options).arguments)
        raise Told

    add_file(done, done.project.id, "second.csv", source_csv.replace(b"today", b"in autumn"), "source", done.by)
    extra = "id,text\n" + "".join(f"e{i},kind staff of the branch {i}\n" for i in range(9))
    add_file(done, done.project.id, "more.csv", extra, "extra", done.by, text=["text"], label=None)
    for word, name in (("tyres", "product"), ("garage", "unknown to the source")):
        done.words.assign(done.project.id, word, name, by=done.by)
    run = done.runs.start(done.project.id, chosen, by=done.by)
    monkeypatch.setattr("isthmus.workspace.running.label", told)
    with pytest.raises(Told):
        do_run(done._context, run)
    spec = LabelOptions.form()
    wanted = {one.key: one.start for one in spec} | chosen
    for key in ("method", "error_budget", "random_state", "language"):
        assert given[key] == wanted[key], key
    assert {one.key for one in spec} == {"method", "error_budget", "random_state", "language", "classes", "parameters"}
    assert given["classes"] == (wanted["classes"] or None)
    assert given["parameters"] == ({"max_iter": 2} if wanted["parameters"] else {})
    assert given["embed"] is (None if wanted.get("vectors", True) else False)
    takes_words = {"cocc": False, "auto": True}[chosen["method"]]
    assert given["word_labels"] == ({"tyres": "product"} if takes_words else None)
    assert (len(given["source_texts"]), len(given["source_labels"]), len(given["target_texts"])) == (60, 60, 24)
    files = [name.partition(" (")[0] for name in given["source_domain"]]
    assert files == ["bikes.csv"] * 30 + ["second.csv"] * 30
    assert given["extra_texts"] == [f"kind staff of the branch {i}" for i in range(9)]


def test_every_row_of_a_run_is_what_its_model_says_of_that_document(done, monkeypatch):
    """Labels, the next best class, reasons, places in the queue and like documents; the list holds some rows alone."""
    whole = {row.position: row.near for row in done.runs.predictions(done.run.id, limit=100)}
    monkeypatch.setattr("isthmus.report.listing.listed_rows", lambda result: np.array([3, 7, 20]))
    careful = {"method": "nbc", "vectors": False, "error_budget": 0}
    run = finish(done, done.runs.start(done.project.id, careful, by=done.by))
    rows, result = done.runs.predictions(run.id, limit=100), model_of(done, run)
    assert result.needs_review.all(), "a budget of nothing leaves everything to be read"
    asked = result.ask(24, suggest=True)
    why = dict(zip(asked["document"], asked["reason"], strict=True))
    for i, row in enumerate(rows):
        chances = dict(zip(result.classes.tolist(), result.probabilities[i].tolist(), strict=True))
        assert row.label == result.labels[i]
        assert row.confidence == pytest.approx(result.confidence[i])
        del chances[row.label]
        assert row.second == max(chances, key=chances.get), row.text
        assert row.second_confidence == pytest.approx(max(chances.values()))
        assert row.reason == "; ".join(filter(None, (result.review_reason[i], why[i + 1]))), row.text
        assert row.near == (whole[i] if i in (3, 7, 20) else []), row.text
    in_order = sorted(rows, key=lambda row: row.rank)
    assert [row.position + 1 for row in in_order] == list(asked["document"]), "first what is worth asking"
    made = done.exports.make(done.project.id, "labels", by=done.by, run=run.id, ending=".jsonl")
    lines = [json.loads(line) for line in done.exports.path(made.id).read_text("utf-8").splitlines()]
    assert [line["review_reason"] for line in lines] == result.review_reason.tolist()
    assert [line["label"] for line in lines] == result.labels.tolist()


def test_reasons_and_draws_stay_with_the_documents_that_are_asked():
    """First what is asked, in its order, then what needs review, then the rest, the least sure first."""
    asked = {"document": [3, 1], "reason": ["a new group", "methods differ"], "drawn": ["random", "asked"]}
    result = SimpleNamespace(texts=list("abcd"), confidence=np.array([0.9, 0.8, 0.7, 0.2]))
    result.needs_review, result.ask = np.array([False, True, False, False]), lambda n, suggest: asked
    rank, why = review_order(result)
    assert rank.tolist() == [1, 2, 0, 3]
    assert why == {2: ("a new group", "random"), 0: ("methods differ", "asked")}
    asked = {key: [] for key in asked}
    rank, why = review_order(result)
    assert (rank.tolist(), why) == ([3, 0, 2, 1], {}), "nothing is asked"
    nothing = SimpleNamespace(texts=[], confidence=np.zeros(0), needs_review=np.zeros(0, dtype=bool), ask=None)
    assert review_order(nothing)[0].tolist() == [], "a target without a document"


def test_progress_is_noted_twice_a_second_and_with_every_new_phase(monkeypatch):
    """Each note is written into the database: a run tells a thousand times how far it is."""
    noted, clock = [], iter([100.0, 100.1, 100.49, 100.5, 100.6, 100.7, 101.5])
    jobs = SimpleNamespace(progress=lambda job, said: noted.append((said["phase"], said["done"])))
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    told = worker._Listener(SimpleNamespace(jobs=jobs), SimpleNamespace(id="job"), lambda: False)
    for phase, done in [("read", 1), ("read", 2), ("read", 3), ("read", 4), ("fit", 1), ("fit", 2), ("fit", 3)]:
        told({"phase": phase, "done": done, "total": 9})
    assert noted == [("read", 1), ("read", 4), ("fit", 1), ("fit", 3)]
