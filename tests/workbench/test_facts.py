"""Small computations behind the pages: figures by hand, without a server."""

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from isthmus.cli.serve import serve as serve_command
from isthmus.workbench import context
from isthmus.workbench.app import PlainJson
from isthmus.workbench.context import Tally, project_in
from isthmus.workbench.render import in_bytes, tinted, when
from isthmus.workbench.routes.accounts import TooManyTries
from isthmus.workbench.routes.data import next_step
from isthmus.workbench.routes.projects import steps
from isthmus.workbench.routes.runs import flow_table, next_address, progress_facts, time_left
from isthmus.workbench.settings import Settings

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(None, "0 B"), (999, "999 B"), (1536, "1.5 kB"), (200 * 1024, "200 kB"), (5 * 2**20, "5.0 MB"), (2**31, "2.0 GB")],
)
def test_sizes_are_short(size, shown):
    assert in_bytes(size) == shown


def test_times_are_in_utc():
    assert when(datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))) == "2025-12-31 23:30"
    assert when(None) == "–"


@pytest.mark.parametrize(
    ("path", "project"),
    [("/projects/p1", "p1"), ("/api/projects/p1/runs", "p1"), ("/projects", ""), ("/people/p1", ""), ("/", "")],
)
def test_the_project_of_an_address(path, project):
    assert project_in(path) == project


def test_a_text_is_tinted_only_for_classes_with_weights():
    assert tinted("kind staff", {"staff": [0, 3]}, 2) == [("kind staff", "")]
    assert tinted("kind staff", None, 0) == [("kind staff", "")]
    assert len(tinted("kind staff", {"staff": [0, 3]}, 1)) > 1


def test_any_text_can_be_sent_as_json_even_half_a_pair():
    assert PlainJson({"text": "é \ud800"}).body == b'{"text":"\\u00e9 \\ud800"}'


@pytest.mark.parametrize(
    ("seconds", "minutes", "header"), [(0.5, "1 minute", "1"), (60.0, "1 minute", "60"), (61.0, "2 minutes", "61")]
)
def test_a_refusal_of_guesses_names_the_time(seconds, minutes, header):
    refusal = TooManyTries(seconds)
    assert f"try again in {minutes}." in refusal.detail
    assert refusal.headers == {"Retry-After": header}


@pytest.mark.parametrize(
    ("done", "since", "left"),
    [
        (1, 120, "about 4 minutes left in this step"),
        (1, 2, ""),  # the first seconds of a step include its preparation
        (0, 120, ""),
        (None, 120, ""),
    ],
)
def test_the_time_left_follows_the_progress(done, since, left):
    progress = {"done": done, "total": 3, "since": (NOW - timedelta(seconds=since)).isoformat()}
    assert time_left(progress, NOW) == left


@pytest.mark.parametrize(
    ("told", "share", "detail"),
    [
        ({"done": 1, "total": 4}, 0.25, "1 of 4"),
        ({"done": 5, "total": 4}, 1.0, "5 of 4"),  # counted anew after a restart: the bar stays within its frame
        ({"done": 0, "total": 0}, None, ""),
        (None, None, ""),
    ],
)
def test_how_far_a_run_is(told, share, detail):
    job = SimpleNamespace(progress=told, cancel=False)
    access = SimpleNamespace(workspace=SimpleNamespace(runs=SimpleNamespace(job={"r1": job}.__getitem__)))
    facts = progress_facts(access, SimpleNamespace(id="r1", state="running"))
    assert (facts["share"], facts["detail"], facts["live"]) == (share, detail, True)


def test_flows_between_two_runs_by_hand():
    found = {
        "flips": [{"old": "a", "new": "b", "documents": 9}, {"old": "b", "new": "a", "documents": 1}],
        "classes": [{"class": "a", "before": 20, "lost": 9}, {"class": "b", "before": 5, "lost": 1}],
    }
    first, second = flow_table(found)
    assert (first["label"], first["kept"], second["kept"]) == ("a", 11, 4)
    assert [(cell["n"], cell["heat"], cell["same"]) for cell in first["cells"]] == [(0, 0, True), (9, 3, False)]
    assert [cell["heat"] for cell in second["cells"]] == [1, 0]


def test_the_next_page_keeps_all_that_was_asked_for():
    assert next_address({"run": "r", "q": "a b", "label": "", "order": "position"}) == "?run=r&q=a+b&order=position&"


def place(*files, checks=()):
    """Access to a project with files as pairs of kind and state."""
    rows = [SimpleNamespace(kind=kind, state=state, id=kind, name=f"{kind}.csv") for kind, state in files]
    store = {
        "collections": SimpleNamespace(list=lambda project: rows),
        "checks": SimpleNamespace(list=lambda run: checks),
    }
    return SimpleNamespace(id="p", workspace=SimpleNamespace(**store))


@pytest.mark.parametrize(
    ("files", "title", "part"),
    [
        ([("source", "ready"), ("target", "ready")], "start a run", "/projects/p/runs"),
        ([("source", "ready")], "upload the target", "/projects/p/data"),
        ([("source", "ready"), ("target", "new")], "columns of target.csv", "/projects/p/data/target"),
        ([("target", "ready")], "name the classes", "/projects/p/data"),
    ],
)
def test_where_to_continue_after_a_file(files, title, part):
    found = next_step(place(*files))
    assert title in found["title"]
    assert found["address"] == part


@pytest.mark.parametrize(
    ("files", "run", "answers", "answered", "upcoming"),
    [
        ([], False, 0, 0, "Add two files"),
        ([("source", "ready"), ("target", "ready")], False, 0, 0, "Label"),
        ([("target", "ready")], True, 0, 0, "Review"),
        ([("target", "ready")], True, 3, 0, "Check"),
        ([("target", "ready")], True, 3, 20, "Export"),
    ],
)
def test_the_next_step_is_the_first_that_is_not_done(files, run, answers, answered, upcoming):
    access = place(*files, checks=[SimpleNamespace(answered=answered)])
    rows = steps(access, SimpleNamespace(id="r") if run else None, answers)
    assert [row["title"] for row in rows if row["next"]] == [upcoming]


def test_a_check_comes_first_where_that_is_the_advice():
    rows = steps(place(("target", "ready")), SimpleNamespace(id="r"), 0, check_first=True)
    assert [row["title"] for row in rows if row["next"]] == ["Check"]


def counting(monkeypatch):
    """A project whose numbers are counted by a clock of our own, and how often they were."""
    clock, counted = SimpleNamespace(now=100.0), []

    def counts(run):
        counted.append(run)
        return {"to_review": 5, "leased": 1}

    monkeypatch.setattr(context, "time", SimpleNamespace(monotonic=lambda: clock.now))
    answers = SimpleNamespace(
        agreement=lambda project: {"documents": 0}, counts=lambda project: [{"by": "kim", "answers": 2}],
        labels=lambda project: ["a"],
    )  # fmt: skip
    runs = SimpleNamespace(forecast=lambda run, read: None)
    workspace = SimpleNamespace(answers=answers, queue=SimpleNamespace(counts=counts), runs=runs)
    bench = SimpleNamespace(tallies={}, counting=context.threading.Lock())
    return SimpleNamespace(bench=bench, id="p", workspace=workspace), clock, counted


def test_numbers_are_counted_again_when_they_are_old_and_by_one_reader(monkeypatch):
    access, clock, counted = counting(monkeypatch)
    run = SimpleNamespace(id="r")
    first = context.tally(access, run)
    assert context.tally(access, run) is first
    clock.now += 3.0
    with access.bench.counting:  # another request counts
        assert context.tally(access, run) is first
    assert context.tally(access, run) is not first
    assert counted == ["r", "r"]


def test_the_numbers_as_one_person_sees_them_follow_their_own_answer():
    found = Tally(0.0, {"to_review": 1, "leased": 2}, {"documents": 0}, {"kim": 2, "lee": 3}, ["a"], None)
    given = SimpleNamespace(by="kim", current=True, label="b")
    for _ in range(2):
        found.add(given)
    shown = found.shown_to("kim")
    assert (shown["mine"], shown["answers"], shown["waiting"], shown["held"]) == (4, 7, 0, 2)
    assert (shown["agreement"], found.labels) == (None, ["a", "b"])


def test_one_default_port():
    import inspect

    from isthmus.workbench.server import serve

    ports = [inspect.signature(opened).parameters["port"].default for opened in (serve, serve_command)]
    assert [*ports, Settings().port] == [8765] * 3
