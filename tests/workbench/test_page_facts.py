"""Parts of the pages by themselves: sizes and times in words, what is kept at hand and for how long, flows, steps."""

import asyncio
import threading
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from unittest.mock import MagicMock
from urllib.parse import parse_qsl, unquote

import pytest
from fastapi import HTTPException

from isthmus.corpus.limits import given_limit
from isthmus.exceptions import DataError
from isthmus.workbench import api, service
from isthmus.workbench.context import Access, in_bytes, project_in, tinted, when
from isthmus.workbench.pages import data, groups, known_classes, projects, review, runs
from isthmus.workbench.pages.data import next_step
from isthmus.workbench.pages.groups import found_facts, touched_facts
from isthmus.workbench.pages.projects import disputed, steps
from isthmus.workbench.pages.runs import flow_table, time_left
from isthmus.workbench.service import may_create


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (None, "0 B"),
        (0, "0 B"),
        (99, "99 B"),
        (1023, "1023 B"),
        (1024, "1.0 kB"),
        (99 * 1024, "99.0 kB"),
        (100 * 1024, "100 kB"),
        (2**20 - 1, "1024 kB"),
        (2**20, "1.0 MB"),
        (150 * 2**20, "150 MB"),
        (2**30, "1.0 GB"),
        (2_500 * 2**30, "2500.0 GB"),
    ],
)
def test_sizes_are_short(size, said):
    assert in_bytes(size) == said


def test_times_are_told_in_utc():
    east = timezone(timedelta(hours=2))
    assert when(None) == "–"
    assert when(datetime(2026, 3, 1, 1, 5, tzinfo=east)) == "2026-02-28 23:05"
    assert when("2026-03-01T01:05:00+02:00") == "2026-02-28 23:05"
    assert when(datetime(2026, 3, 1, 9, 5, tzinfo=UTC)) == "2026-03-01 09:05"
    assert when("2026-03-01T09:05:00") == "2026-03-01 09:05"  # no zone: taken as it is


def test_a_text_is_tinted_for_classes_that_have_grades():
    words = {"brakes": [3, -3]}
    assert [text for text, kind in tinted("good brakes", words, 0) if kind] == ["brakes"]
    assert [text for text, kind in tinted("good brakes", words, 1) if kind] == ["brakes"]
    assert tinted("good brakes", words, 0) != tinted("good brakes", words, 1)
    for code in (2, -1):  # a class that an answer named; none
        assert tinted("good brakes", words, code) == [("good brakes", "")]
    assert tinted("good brakes", None, 0) == [("good brakes", "")]
    assert tinted("good brakes", {}, 0) == [("good brakes", "")]


@pytest.mark.parametrize(
    ("path", "project"),
    [
        ("/projects/1f", "1f"),
        ("/api/projects/1f/runs/2e", "1f"),
        ("/projects", ""),
        ("/projects/", ""),
        ("/people/1f/role", ""),
        ("/", ""),
    ],
)
def test_which_project_an_address_is_about(path, project):
    assert project_in(path) == project


def test_classes_of_the_run_come_first_and_none_twice():
    run = SimpleNamespace(summary={"classes": ["b", "a"]})
    assert known_classes(run, ["a", "c", "b", "d"]) == ["b", "a", "c", "d"]
    assert known_classes(SimpleNamespace(summary=None), ["x"]) == ["x"]


# ---- numbers above the queue


class Counting:
    """A workspace that says how often it counted."""

    def __init__(self, clock, took=0.0):
        self.times, self.clock, self.took = 0, clock, took
        self.queue = SimpleNamespace(counts=self.counts)
        self.runs = SimpleNamespace(forecast=lambda run, read: None)
        self.answers = SimpleNamespace(
            agreement=lambda project: {"documents": 0},
            counts=lambda project: [{"by": "anna", "answers": 2}, {"by": "bo", "answers": 5}],
            labels=lambda project: ["price", "staff"],
        )

    def counts(self, run):
        self.times += 1
        self.clock.now += self.took
        return {"to_review": 3, "leased": 1}


@pytest.fixture
def clock(monkeypatch):
    told = SimpleNamespace(now=100.0)
    monkeypatch.setattr(service, "time", SimpleNamespace(monotonic=lambda: told.now))
    return told


def reader(workspace, person="anna"):
    bench = SimpleNamespace(workspace=workspace, tallies={}, counting=threading.Lock(), runs={}, grades={})
    return Access(bench, SimpleNamespace(id="p"), SimpleNamespace(id=person), "reviewer")


RUN = SimpleNamespace(id="r", project="p", state="done")


@pytest.mark.parametrize(
    ("took", "kept_for"),
    [
        (0.0, 2.0),  # two seconds at least
        (0.1, 5.0),  # fifty times what counting took
    ],
)
def test_numbers_are_counted_anew_when_they_are_old(clock, took, kept_for):
    workspace = Counting(clock, took)
    access = reader(workspace)
    service.tally(access, RUN)
    counted_at = clock.now
    clock.now = counted_at + kept_for - 0.01
    service.tally(access, RUN)
    assert workspace.times == 1
    clock.now = counted_at + kept_for
    service.tally(access, RUN)
    assert workspace.times == 2
    assert not access.bench.counting.locked()


def test_while_one_reader_has_them_counted_the_others_go_on_with_the_old_numbers(clock):
    workspace = Counting(clock)
    access = reader(workspace)
    first = service.tally(access, RUN)
    clock.now += 60
    with access.bench.counting:
        assert service.tally(access, RUN) is first
    assert workspace.times == 1
    assert service.tally(access, RUN) is not first


def test_a_count_that_fails_lets_the_next_reader_count(clock):
    workspace = Counting(clock)
    access = reader(workspace)
    service.tally(access, RUN)
    clock.now += 60
    good, workspace.queue.counts = workspace.queue.counts, lambda run: 1 / 0
    with pytest.raises(ZeroDivisionError):
        service.tally(access, RUN)
    workspace.queue.counts = good
    service.tally(access, RUN)
    assert workspace.times == 2


def test_the_numbers_as_one_person_sees_them(clock):
    access = reader(Counting(clock))
    assert service.shown_tally(access, RUN) == {
        "mine": 2, "answers": 7, "waiting": 3, "held": 1, "agreement": None, "forecast": None,
    }  # fmt: skip
    access.bench.tallies["r"].agreement = {"documents": 1, "share": 0.5}
    assert service.shown_tally(access, RUN)["agreement"] == {"documents": 1, "share": 0.5}
    stranger = reader(Counting(clock), "cy")
    assert service.shown_tally(stranger, RUN)["mine"] == 0


def test_an_answer_of_ones_own_is_counted_at_once(clock):
    access = reader(Counting(clock))
    answer = SimpleNamespace(label="new", current=True)
    service.count_own_answer(access, RUN, answer)  # nothing is kept yet
    assert access.bench.tallies == {}
    kept = service.tally(access, RUN)
    for current in (True, True, False, True, True):
        service.count_own_answer(access, RUN, SimpleNamespace(label="new", current=current))
    assert kept.by_person == {"anna": 7, "bo": 5}
    assert kept.counts["to_review"] == 0  # three, less four: never below none
    assert kept.labels == ["new", "price", "staff"]


def test_what_is_kept_at_hand_has_a_bound(clock, monkeypatch):
    monkeypatch.setattr(service, "_TALLIES", 2)
    monkeypatch.setattr(service, "_RUNS", 2)
    workspace = Counting(clock)
    workspace.runs = SimpleNamespace(
        get=lambda run: SimpleNamespace(id=run, project="p", state="running" if run == "busy" else "done"),
        table=lambda run, name: {name: run},
        forecast=workspace.runs.forecast,
    )
    access = reader(workspace)
    for name in "abc":
        service.tally(access, SimpleNamespace(id=name))
        service.queue_run(access, name)
    assert list(access.bench.tallies) == list(access.bench.runs) == ["b", "c"]
    service.queue_run(access, "busy")  # it will change: asked for again each time
    assert "busy" not in access.bench.runs
    for name in "abcdefghi":
        assert service.word_grades(access, SimpleNamespace(id=name)) == {"words": name}
    assert list(access.bench.grades) == list("bcdefghi")


def test_a_run_at_hand_is_not_shown_to_another_project():
    workspace = SimpleNamespace(runs=SimpleNamespace(get={"r": RUN}.__getitem__))
    access = reader(workspace)
    assert service.queue_run(access, "r") is RUN
    access.project = SimpleNamespace(id="another")
    with pytest.raises(HTTPException) as refused:
        service.queue_run(access, "r")
    assert refused.value.status_code == 404


# ---- tables of the pages


def test_flows_between_two_runs_by_hand():
    """Of ten with label a, one went to b and four to c; of six with c, two went to a."""
    found = {
        "flips": [
            {"old": "a", "new": "b", "documents": 1},
            {"old": "a", "new": "c", "documents": 4},
            {"old": "c", "new": "a", "documents": 2},
        ],
        "classes": [
            {"class": "a", "before": 10, "lost": 5},
            {"class": "b", "before": 5, "lost": 0},
            {"class": "c", "before": 6, "lost": 2},
        ],
    }
    table = flow_table(found)
    assert [(row["label"], row["kept"]) for row in table] == [("a", 5), ("b", 5), ("c", 4)]
    assert [[cell["n"] for cell in row["cells"]] for row in table] == [[0, 1, 4], [0, 0, 0], [2, 0, 0]]
    # tints: 1 + 3n // (4 + 1) for what flows at all
    assert [[cell["heat"] for cell in row["cells"]] for row in table] == [[0, 1, 3], [0, 0, 0], [2, 0, 0]]
    assert [[cell["same"] for cell in row["cells"]] for row in table] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
    assert flow_table({"flips": [], "classes": found["classes"][:1]})[0]["cells"][0]["heat"] == 0
    few = [{"old": "a", "new": "b", "documents": 2}, {"old": "c", "new": "a", "documents": 1}]
    table = flow_table({"flips": few, "classes": found["classes"]})
    assert (table[0]["cells"][1]["heat"], table[2]["cells"][0]["heat"]) == (3, 2)


def bench_of(accounts):
    return SimpleNamespace(settings=SimpleNamespace(accounts=accounts))


def test_who_may_make_projects():
    owner, guest = SimpleNamespace(role="owner"), SimpleNamespace(role="reviewer")
    assert [may_create(bench_of(accounts), who) for accounts in (True, False) for who in (owner, guest)] == [
        True, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "run", "answers", "checked", "done", "upcoming"),
    [
        (["source"], None, 0, 0, [], 0),
        (["target"], None, 0, 0, [], 0),
        (["target"], "r", 0, 0, [0, 1], 2),  # the classes were named instead
        (["source", "target"], None, 0, 0, [0], 1),
        (["source", "target"], "r", 0, 0, [0, 1], 2),
        (["source", "target"], "r", 1, 0, [0, 1, 2], 3),
        (["source", "target"], "r", 1, 2, [0, 1, 2, 3], 4),
        (["source", "target"], "r", 0, 2, [0, 1, 3], 2),  # the first that is not done, whatever comes after it
    ],
)
def test_the_next_step_is_the_first_that_is_not_done(files, run, answers, checked, done, upcoming):
    rows = [SimpleNamespace(kind=kind, state="ready") for kind in files]
    rows.append(SimpleNamespace(kind="target", state="new"))  # not read yet: it does not count
    workspace = SimpleNamespace(
        collections=SimpleNamespace(list=lambda project: rows),
        checks=SimpleNamespace(list=lambda run: [SimpleNamespace(answered=0), SimpleNamespace(answered=checked)]),
    )
    access = SimpleNamespace(workspace=workspace, project=SimpleNamespace(id="p"))
    shown = steps(access, run and SimpleNamespace(id=run), answers)
    assert [i for i, row in enumerate(shown) if row["done"]] == done
    assert [i for i, row in enumerate(shown) if row["next"]] == [upcoming]
    ahead = next(i for i in range(upcoming, 5) if i != 2 and i not in done)
    shown = steps(access, run and SimpleNamespace(id=run), answers, check_first=True)
    assert [i for i, row in enumerate(shown) if row["next"]] == [ahead], "no review before the check that is advised"
    assert [row["address"] for row in shown] == [
        f"/projects/p/{part}" for part in ("data", "runs", "review", "check", "export")
    ]


@pytest.mark.parametrize(
    ("kinds", "sent", "title", "part"),
    [
        (["source", "target"], ["source", "target"], "Both files are ready: start a run.", "runs"),
        (["source"], ["source"], "Next, upload the target.", "data"),
        (
            ["target", "extra"],
            ["target"],
            "Next, upload the source. Without labelled texts, start a run and name the classes.",
            "data",
        ),
        (["source"], ["source", "target"], "Next, choose the columns of target.csv.", "data/new-target"),
    ],
)
def test_where_to_go_after_a_file(kinds, sent, title, part):
    rows = [SimpleNamespace(kind=kind, state="ready") for kind in kinds]
    rows += [SimpleNamespace(kind=kind, state="new", name=f"{kind}.csv", id=f"new-{kind}") for kind in sent]
    workspace = SimpleNamespace(collections=SimpleNamespace(list=lambda project: rows))
    access = SimpleNamespace(workspace=workspace, project=SimpleNamespace(id="p"))
    assert next_step(access) == {"title": title, "address": f"/projects/p/{part}"}


def test_the_latest_twenty_documents_on_which_people_differ_with_their_names():
    said = [{"by": "1", "label": "staff"}, {"by": "gone", "label": "price"}]
    rows = [{"document": f"d{i}", "answers": said} for i in range(25)]
    workspace = SimpleNamespace(
        documents=SimpleNamespace(many=lambda ids: [SimpleNamespace(id=id, text=f"text {id}") for id in ids[1:]]),
        people=SimpleNamespace(list=lambda: [SimpleNamespace(id="1", name="Ann")]),
    )
    access = SimpleNamespace(workspace=workspace)
    shown = disputed(access, {"disputed": rows})
    assert [row["document"] for row in shown] == [f"d{i}" for i in range(20)]
    assert [row["text"] for row in shown[:2]] == ["", "text d1"]
    assert shown[0]["answers"] == [{"name": "Ann", "label": "staff"}, {"name": "?", "label": "price"}]
    assert disputed(access, None) == []


def test_words_are_suggested_until_somebody_types():
    asked = []
    words = SimpleNamespace(
        suggestions=lambda project: [f"s{i}" for i in range(20)] if project == "p" else [],
        search=lambda project, query, limit: asked.append((query, limit)) or ["found"],
    )
    access = SimpleNamespace(workspace=SimpleNamespace(words=words), project=SimpleNamespace(id="p"))
    assert found_facts(access, "") == {"query": "", "found": [f"s{i}" for i in range(12)], "suggested": True}
    assert found_facts(access, "st") == {"query": "st", "found": ["found"], "suggested": False}
    access.project.id = "nothing to suggest"
    assert found_facts(access, "") == {"query": "", "found": ["found"], "suggested": False}
    assert asked == [("st", 30), ("", 30)]


def test_what_a_word_touches_is_drawn_against_the_most_frequent_label():
    touched = {"documents": 5, "labels": {"staff": 4, "price": 1}}
    workspace = SimpleNamespace(
        words=SimpleNamespace(touches=lambda project, word: touched),
        runs=SimpleNamespace(latest=lambda project: None),
    )
    access = SimpleNamespace(workspace=workspace, project=SimpleNamespace(id="p"))
    shown = touched_facts(access, "start")
    assert shown["touched"]["labels"] == [
        {"label": "staff", "n": 4, "share": 1.0},
        {"label": "price", "n": 1, "share": 0.25},
    ]
    assert shown["classes"] == []
    assert touched_facts(access, "  ")["touched"] is None


@pytest.mark.parametrize(
    "decide",
    [
        lambda access: api.undo(access),
        lambda access: service.make_class(access, "run", "group", "parking"),
        lambda access: service.name_subtopics(access, "run", "staff", 2, {"1": "parking"}),
        lambda access: api.accept(access, "sample"),
        lambda access: service.answer_sample(access, "sample", "document", "staff", None),
    ],
    ids=["undo", "group", "subtopics", "accept", "sample"],
)
def test_after_every_decision_the_numbers_are_counted_anew(monkeypatch, decide):
    run, workspace = SimpleNamespace(id="run", project="project"), MagicMock()
    workspace.runs.get.return_value = run
    workspace.checks.get.return_value = SimpleNamespace(id="sample", run="run")
    workspace.answers.undo.return_value = ["an answer"]
    workspace.groups.label_documents.return_value = 1
    named = {"document": [1], "true_label": ["parking"]}
    monkeypatch.setattr(service, "split_class", lambda *given: SimpleNamespace(name=lambda names: named))
    bench = SimpleNamespace(tallies={"run": "old numbers"})
    decide(SimpleNamespace(workspace=workspace, bench=bench, project=SimpleNamespace(id="project"), by="me"))
    assert bench.tallies == {}


@pytest.mark.parametrize(
    ("take", "most"),
    [
        (lambda access, file: api.add_collection(access, file, "source"), 10),
        (lambda access, file: service.map_file(access, "file", text=["text"]), None),  # the file is here already
        (lambda access, file: api.add_hands(access, "run", file, ""), 10),
    ],
    ids=["add", "map", "hands"],
)
def test_every_file_is_unpacked_within_the_limit_of_the_server(monkeypatch, take, most):
    workspace, seen = MagicMock(), []
    workspace.runs.get.return_value = workspace.collections.get.return_value = SimpleNamespace(
        id="1", project="project"
    )
    for name in ("add", "map", "read_columns"):
        read = getattr(workspace.collections, name)
        read.side_effect = lambda *given, **named: seen.append((given_limit(), named.get("limit")))
    monkeypatch.setattr(service, "saved_result", MagicMock())
    monkeypatch.setattr(api, "read_votes", MagicMock())
    bench = SimpleNamespace(settings=SimpleNamespace(max_unpacked=12_345, max_upload=10))
    access = SimpleNamespace(workspace=workspace, bench=bench, project=SimpleNamespace(id="project"), by="me")
    take(access, SimpleNamespace(filename="a.csv.gz", file=None))
    assert seen == [(12_345, most)], "what a file may unpack to, and how many bytes are taken"


def test_the_next_page_of_documents_keeps_all_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(runs, "chosen_run", lambda access, run: SimpleNamespace(id=run))
    monkeypatch.setattr(runs, "classes_of", lambda access, run: [])
    monkeypatch.setattr(runs, "project_page", lambda access, template, **facts: facts["next_address"])
    asked = {"run": "r", "q": "late", "label": "staff", "show": "review", "group": "new: tyres", "order": "confidence"}
    assert dict(parse_qsl(runs.documents(MagicMock(), **asked).strip("?&"))) == asked


@pytest.mark.parametrize("unknown", ["done", "total", "since"])
def test_no_time_is_told_where_nobody_knows_how_far_the_work_is(unknown):
    progress = {"done": 2, "total": 10, "since": "2026-03-01T09:00:00+00:00"}
    later = datetime(2026, 3, 1, 9, 1, tzinfo=UTC)
    assert time_left(progress, later) == "about 4 minutes left in this step"
    assert time_left(progress | {unknown: None}, later) == ""


def test_the_page_of_accepting_many_counts_above_the_threshold_of_its_sample(monkeypatch):
    """The address of the page names the sample, and not how sure its labels are."""
    sample, run = SimpleNamespace(id="sample", threshold=0.7), SimpleNamespace(id="run")
    monkeypatch.setattr(review, "chosen_run", lambda *given: run)
    monkeypatch.setattr(review, "find_check", lambda *given: (sample, run))
    monkeypatch.setattr(review, "sample_facts", lambda *given: {})
    monkeypatch.setattr(review, "project_page", lambda access, name, **facts: facts)
    access = MagicMock()
    assert review.accept_page(access, check="sample")["threshold"] == 0.7
    access.workspace.checks.above.assert_called_once_with("run", 0.7)


@pytest.mark.parametrize(
    "guess",
    [
        lambda request: service.use_password_link(request, "x", "password"),
        lambda request: service.join(request, *"xyz"),
    ],
    ids=["password", "invitation"],
)
def test_a_link_that_is_wrong_counts_as_a_guess_of_its_address(guess):
    bench = MagicMock()
    bench.by_address.wait.return_value, bench.links.read.return_value = 0, None
    bench.workspace.people.accept.side_effect = DataError("There is no such invitation.", code="not-found")
    state = SimpleNamespace(bench=bench)
    with pytest.raises((HTTPException, DataError)):
        guess(SimpleNamespace(app=SimpleNamespace(state=state), client=SimpleNamespace(host="198.51.100.7")))
    bench.by_address.failed.assert_called_once_with("198.51.100.7")


# ---- what a role may do on a page, and what a page does with what it was asked


def seen_as(role, **workspace):
    bench = SimpleNamespace(workspace=MagicMock(**workspace), tallies={}, settings=MagicMock())
    return Access(bench, SimpleNamespace(id="p"), SimpleNamespace(id="me"), role)


@pytest.fixture
def shown(monkeypatch):
    """Pages give back their facts instead of being filled in."""
    for module in (data, groups, review, runs, projects):
        monkeypatch.setattr(module, "project_page", lambda access, name, **facts: facts)
        if hasattr(module, "classes_of"):
            monkeypatch.setattr(module, "classes_of", lambda access, run: ["a"])
    return monkeypatch


@pytest.mark.parametrize(("role", "asked"), [("viewer", []), ("reviewer", [("run", "price", 3)])])
def test_a_class_is_split_for_who_may_review(shown, role, asked):
    split = []
    shown.setattr(groups, "chosen_run", lambda access, run: SimpleNamespace(id=run))
    shown.setattr(service, "split_class", lambda access, *given: split.append(given) or "parts")
    facts = groups.groups(seen_as(role), "run", within="price", clusters=3)
    assert split == asked
    assert facts["subtopics"] == ("parts" if asked else None)


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_only_look_takes_no_document_out_of_anybodys_hands(shown, role):
    """To be shown the next document of a queue or of a sample is to hold it for ten minutes."""
    access, run = seen_as(role), SimpleNamespace(id="run", summary={"expected": 0.8})
    workspace = access.workspace
    document = SimpleNamespace(label="z", near=["n"])
    workspace.queue.next.return_value = [document]
    workspace.runs.predictions.return_value = [document]
    workspace.checks.next.return_value = "the next"
    workspace.checks.estimate.return_value = {"answered": 9, "right": 7}
    shown.setattr(review, "shown_tally", lambda *given: "numbers")
    shown.setattr(review, "tally", lambda *given: SimpleNamespace(labels=["b"]))
    shown.setattr(review, "known_classes", lambda run, labels: ["a", *labels])
    for name in ("word_grades", "descriptions"):
        shown.setattr(review, name, lambda access, run, name=name: name)
    sample, desk = review.sample_facts(access, SimpleNamespace(id="c"), run), review.desk_facts(access, run)
    assert (sample["wrong"], sample["expected"]) == (2, 0.8)
    assert (desk["shown"], desk["code"], desk["classes"]) == (document, -1, ["a", "b"]), "a class that no run knows"
    assert desk["may_teach"] is (role == "reviewer")
    if role == "viewer":
        assert sample["shown"] is None
        workspace.checks.next.assert_not_called()
        workspace.queue.next.assert_not_called()
        workspace.runs.predictions.assert_called_once_with("run", limit=1, review=True)
    else:
        assert sample["shown"] == "the next"
        workspace.checks.next.assert_called_once_with("c", "me")
        workspace.queue.next.assert_called_once_with("run", "me")
    document.label = "b"
    assert review.desk_facts(access, run)["code"] == 1
    workspace.queue.next.return_value = workspace.runs.predictions.return_value = []
    left = review.desk_facts(access, run)
    assert (left["shown"], left["tally"], "classes" in left) == (None, "numbers", False), "everything is read"
    assert review.desk_facts(access, None)["shown"] is None


def test_pages_of_a_project_without_a_run_say_so(shown):
    for module in (review, runs):
        shown.setattr(module, "chosen_run", lambda access, run: None)
    shown.setattr(runs, "latest_run", lambda access: None)
    access = seen_as("owner")
    assert review.accept_page(access)["above"] == 0
    assert runs.documents(access)["run"] is None
    with pytest.raises(HTTPException, match="no finished run to teach"):
        runs.teach(access)
    assert not access.workspace.runs.teach.called


def test_a_diagnosis_has_a_page_of_its_own(shown):
    shown.setattr(runs, "find_run", lambda access, run: SimpleNamespace(id=run, kind="diagnose", state="done"))
    shown.setattr(runs, "go_to", lambda access, *parts: parts)
    assert runs.result(seen_as("viewer"), "run") == ("diagnosis",)


@pytest.mark.parametrize(("answered", "told"), [(19, None), (20, "estimate")])
def test_twenty_answers_of_a_sample_are_enough_to_be_told(answered, told):
    access = seen_as("viewer")
    access.workspace.checks.list.return_value = [
        SimpleNamespace(id="few", answered=3, threshold=None),
        SimpleNamespace(id="most", answered=answered, threshold=None),
        SimpleNamespace(id="sure ones", answered=50, threshold=0.9),
    ]
    access.workspace.checks.estimate.side_effect = lambda check: "estimate" if check == "most" else check
    assert review.measured(access, SimpleNamespace(id="run")) == told


def test_the_end_of_a_step_is_not_guessed_in_its_first_seconds():
    progress = {"done": 1, "total": 2, "since": "2026-03-01T09:00:00+00:00"}
    start = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    assert time_left(progress, start + timedelta(seconds=2.9)) == ""
    assert time_left(progress, start + timedelta(seconds=3)) == "about 3 s left in this step"


@pytest.mark.parametrize(("rows", "after"), [(2, 8), (1, None), (0, None)])
def test_a_full_page_leads_on_and_one_that_is_not_full_does_not(shown, rows, after):
    """Of documents, and of what flipped between two runs: pages of two here, the second at position 8."""
    shown.setattr(runs, "PAGE", 2)
    shown.setattr(runs, "chosen_run", lambda access, run: SimpleNamespace(id="run"))
    access, run = seen_as("viewer"), SimpleNamespace(id="b")
    access.workspace.runs.predictions.return_value = [SimpleNamespace(position=5), SimpleNamespace(position=8)][:rows]
    assert runs.documents(access, after=1)["after"] == after
    _, asked = access.workspace.runs.predictions.call_args
    assert (asked["limit"], asked["after"]) == (2, 1)
    access.workspace.compare.of.return_value = {"flips": [], "classes": []}
    access.workspace.compare.flips.return_value = [{"position": 5}, {"position": 8}][:rows]
    facts = runs.compared(access, SimpleNamespace(id="a"), run, "price", "staff", 3)
    access.workspace.compare.flips.assert_called_once_with("a", "b", old="price", new="staff", after=3, limit=2)
    assert facts["after"] == after
    kept = {"a": "a", "b": "b", "before": "price", "after_label": "staff"}
    assert dict(parse_qsl(facts["next_address"].strip("?&"))) == kept
    runs.compared(access, run, run, "", "", None)
    access.workspace.compare.flips.assert_called_with("b", "b", old=None, new=None, after=None, limit=2)


@pytest.mark.parametrize(
    ("asked", "pair"),
    [
        ({}, ("2", "3")),  # the latest with the one before it
        ({"b": "2"}, ("3", "2")),
        ({"a": "1"}, ("1", "3")),
        ({"a": "2", "b": "1"}, ("2", "1")),
        ({"a": "3"}, ("3", "3")),
    ],
)
def test_which_two_runs_are_compared(shown, asked, pair):
    shown.setattr(runs, "done_runs", lambda access: [SimpleNamespace(id=id) for id in "321"])
    shown.setattr(runs, "find_run", lambda access, id: SimpleNamespace(id=id))
    shown.setattr(runs, "compared", lambda access, a, b, *more: {"compared": (a.id, b.id, *more)})
    facts = runs.compare(seen_as("viewer"), before="price", after_label="staff", after=7, **asked)
    assert facts["compared"] == (*pair, "price", "staff", 7)


def test_the_latest_twenty_exports_are_listed(shown):
    access = seen_as("viewer")
    access.workspace.exports.list.return_value = list(range(30))
    shown.setattr(runs, "done_runs", lambda access: [])
    shown.setattr(runs, "people_names", lambda access: {})
    assert runs.exports(access)["exports"] == list(range(20))


def test_fields_of_the_form_that_were_left_empty_are_no_options():
    async def form():
        return {"error_budget": " 20 ", "language": "  ", "classes": object(), "unknown": "x"}

    found = asyncio.run(runs.read_options(SimpleNamespace(form=form)))
    assert found == {"error_budget": 0.2}, "twenty of a hundred; what is not a text was not typed"


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ({}, {"extras": []}),
        ({"source": ["s"], "extra": ["e"], "target": "t"}, {"extras": ["e"], "sources": ["s"], "target": "t"}),
        ({"options": {"classes": ["a: b"]}}, {"extras": [], "sources": [], "classes": ["a: b"]}),
        ({"answers": "on", "vectors": "on"}, {"extras": [], "use_answers": True, "vectors": True}),
        ({"words": "on", "name": "mine"}, {"extras": [], "use_words": True}),
    ],
)
def test_what_was_ticked_is_what_a_run_is_made_of(shown, sent, wanted):
    access = seen_as("owner")
    shown.setattr(runs, "go_to", lambda access, *parts: parts)
    runs.start(access, **{"options": {}, **sent})
    nothing = {"use_answers": False, "use_words": False, "vectors": False}
    access.workspace.runs.start.assert_called_once_with("p", nothing | wanted, by="me", name=sent.get("name", ""))


@pytest.mark.parametrize(
    ("mapping", "sheet", "chosen"),
    [
        (None, None, "guesses"),
        ({"sheet": "May"}, None, "mapping"),
        ({"sheet": "May"}, "May", "mapping"),
        ({"sheet": "May"}, "June", "guesses"),  # another sheet has other columns
    ],
)
def test_the_columns_that_are_offered_are_those_of_the_sheet_on_show(shown, mapping, sheet, chosen):
    many = {f"class {i:02}": 1 for i in range(45)} | {"most": 4}
    facts = {"classes": many, "findings": [{"message": "said of the documents"}], "notes": ["noted"]}
    docs = SimpleNamespace(id="f", mapping=mapping, facts=facts if mapping else None, state="reading")
    preview = {"guesses": "guesses", "findings": [{"message": "said before"}], "notes": ["guessed"], "problem": "none"}
    shown.setattr(data, "find_collection", lambda access, id: docs)
    shown.setattr(data, "next_step", lambda access: None)
    shown.setattr(data, "unpacking_at_most", lambda most: nullcontext())
    access = seen_as("viewer")
    access.workspace.collections.preview.return_value = preview
    page = data.collection(access, "f", sheet=sheet)
    assert page["chosen"] == (mapping if chosen == "mapping" else "guesses")
    access.workspace.collections.preview.assert_called_once_with("f", sheet=sheet or (mapping and "May"))
    assert page["findings"] == (["said of the documents"] if mapping else ["said before"])
    assert page["notes"] == (["noted"] if mapping else ["guessed"])
    assert page["trouble"] == "", "the trouble of guessing is told until a file is read"
    if mapping:
        assert len(page["labels"]) == 40
        assert page["labels"][:2] == [
            {"label": "most", "n": 4, "share": 1.0},
            {"label": "class 00", "n": 1, "share": 0.25},
        ]
    docs.state = "new"
    assert data.collection(access, "f")["trouble"] == "none"


def test_a_page_waits_for_its_file_and_is_loaded_when_it_is_read(monkeypatch):
    for state, status in (("reading", 204), ("ready", 200), ("new", 200)):
        monkeypatch.setattr(data, "find_collection", lambda access, id, state=state: SimpleNamespace(state=state))
        answer = data.reading(seen_as("viewer"), "f")
        assert (answer.status_code, "hx-refresh" in answer.headers) == (status, status == 200), state


@pytest.mark.parametrize("sheet", ["", "June"])
def test_columns_that_were_not_chosen_are_none(monkeypatch, sheet):
    given = {}
    monkeypatch.setattr(data, "map_file", lambda access, id, **mapping: given.update(mapping))
    monkeypatch.setattr(data, "go_to", lambda *given: given)
    data.mapping(seen_as("owner"), "f", ["text"], "", "", sheet)
    assert given == {"text": ["text"], "label": None, "id_column": None, "sheet": sheet or None}
    data.mapping(seen_as("owner"), "f", None, "label", "id", sheet)
    assert given == {"text": [], "label": "label", "id_column": "id", "sheet": sheet or None}


@pytest.mark.parametrize("may", [True, False])
def test_the_sample_is_made_for_who_may_make_projects(monkeypatch, may):
    made = []

    def add(workspace, *, by):
        made.append(by)
        return SimpleNamespace(id="p"), SimpleNamespace(id="r")

    monkeypatch.setattr(projects, "add_sample", add)
    request = SimpleNamespace(headers={})
    bench = SimpleNamespace(settings=SimpleNamespace(accounts=True), workspace="workspace")
    person = SimpleNamespace(id="anna", role="owner" if may else "reviewer")
    if may:
        assert projects.sample(request, bench, person).headers["location"] == "/projects/p/runs/r"
    else:
        with pytest.raises(HTTPException, match="Only owners"):
            projects.sample(request, bench, person)
    assert made == (["anna"] if may else [])


def test_an_answer_of_a_sample_is_given_with_its_token_under_the_readers_name():
    access = seen_as("reviewer")
    access.workspace.checks.get.return_value = SimpleNamespace(id="c", run="r")
    access.workspace.runs.get.return_value = SimpleNamespace(id="r", project="p")
    service.answer_sample(access, "c", "d", "staff", "token")
    access.workspace.checks.answer.assert_called_once_with("c", "d", "staff", by="me", token="token")
    access.workspace.runs.get.return_value = SimpleNamespace(id="r", project="another")
    with pytest.raises(HTTPException, match="no such sample"):
        service.answer_sample(access, "c", "d", "staff", "token")


def test_where_no_further_answer_is_forecast_nothing_is_told():
    access, run = seen_as("viewer"), SimpleNamespace(id="r")
    access.workspace.runs.forecast.return_value = SimpleNamespace(answers=0)
    assert service.forecast(access, run, 7) is None
    access.workspace.runs.forecast.assert_called_once_with("r", 7)


def test_an_answer_is_given_under_the_readers_name_with_its_run_and_its_token():
    access, run = seen_as("reviewer"), SimpleNamespace(id="r", project="p", state="done")
    access.bench.runs = {"r": run}
    access.workspace.answers.give.return_value = SimpleNamespace(label="staff", current=True)
    access.bench.tallies["r"] = SimpleNamespace(by_person={}, counts={"to_review": 3}, labels=[])
    assert service.give_answer(access, "r", "d", "staff", "token").label == "staff"
    access.workspace.answers.give.assert_called_once_with("d", "staff", by="me", run="r", token="token")
    kept = access.bench.tallies["r"]
    assert (kept.by_person, kept.counts["to_review"], kept.labels) == ({"me": 1}, 2, ["staff"])


@pytest.mark.parametrize(
    ("name", "plain"),
    [("dealers-run-1-labels.csv", "dealers-run-1-labels.csv"), ("händler-labels.csv", "h-ndler-labels.csv"),
     ("店", "labels.csv")],
)  # fmt: skip
def test_a_download_is_made_as_it_was_asked_for_and_keeps_its_name(tmp_path, name, plain):
    access = seen_as("reviewer")
    access.workspace.runs.get.return_value = SimpleNamespace(id="r", project="p")
    access.workspace.exports.make.return_value = SimpleNamespace(id="e", name=name)
    access.workspace.exports.path.side_effect = lambda id: tmp_path / id
    answer = service.make_export(access, "r", "labels", "csv", ["label"])
    access.workspace.exports.make.assert_called_once_with("p", "labels", by="me", run="r", ending=".csv", add=["label"])
    assert answer.path == tmp_path / "e"
    said = answer.headers["content-disposition"]
    assert said.startswith(f'attachment; filename="{plain}"; ')
    assert unquote(said.partition("UTF-8''")[2]) == name
    for kind, form in (("labels", "exe"), ("../etc", "csv"), ("report", "csv")):
        with pytest.raises(HTTPException, match="no such export"):
            service.make_export(access, "r", kind, form)
