"""What people decide on the pages is in the workspace afterwards, and can be taken back."""

import csv
import io
import json
import re

import pytest

from isthmus.workbench import service
from isthmus.workspace.schema import PREDICTIONS
from isthmus.workspace.worker import work


def here(project, *parts):
    return "/".join([f"/projects/{project.id}", *parts])


def on_the_desk(page):
    return re.search(r'data-document="(\w+)"', page.text)[1]


def test_answers_undo_and_later(client, workspace, project, run):
    page = client.get(here(project, "review"))
    first = on_the_desk(page)
    assert 'class="choice"' in page.text
    page = client.post(here(project, "review", "answers"), data={"document": first, "run": run.id, "label": "staff"})
    assert page.status_code == 200
    second = on_the_desk(page)
    assert second != first
    assert workspace.runs.prediction(run.id, first).answer == "staff"
    page = client.post(here(project, "review", "undo"), data={"run": run.id})
    assert on_the_desk(page) == first
    assert workspace.runs.prediction(run.id, first).answer is None
    page = client.post(here(project, "review", "skip"), data={"document": first, "run": run.id})
    assert on_the_desk(page) != first
    new = client.post(here(project, "review", "answers"), data={"document": second, "run": run.id, "other": "parking"})
    assert ">parking<" in new.text  # a class that somebody named is a choice from now on
    empty = client.post(here(project, "review", "answers"), data={"document": second, "run": run.id})
    assert empty.status_code == 422


def test_methods_do_not_speak(client, workspace, project, run):
    with workspace._context.db.writing() as connection:
        mine = PREDICTIONS.c.run_id == run.id
        connection.execute(PREDICTIONS.update().where(mine).values(reason="methods disagree: self-training says staff"))
    assert "Asked because: methods disagree: self-training: staff." in client.get(here(project, "review")).text


def test_undo_takes_nothing_back_in_another_project(client, workspace, project, run, untouched):
    document = on_the_desk(client.get(here(project, "review")))
    client.post(here(project, "review", "answers"), data={"document": document, "run": run.id, "label": "staff"})
    client.post(here(untouched[0], "review", "undo"), data={"run": untouched[1].id})
    assert workspace.runs.prediction(run.id, document).answer == "staff"
    client.post(here(project, "review", "undo"), data={"run": run.id})
    assert workspace.runs.prediction(run.id, document).answer is None


def test_a_word_is_given_and_taken_back(client, workspace, project):
    found = client.get(here(project, "words", "search") + "?q=sta").text
    assert ">start<" in found
    touched = client.get(here(project, "words", "touches") + "?word=start").text
    n = int(re.search(r"Occurs in (\d+) document", touched)[1])
    assert n == workspace.words.touches(project.id, "start")["documents"]
    assert f"affects {n} document" in touched
    assert client.post(here(project, "words"), data={"word": "start", "label": "staff"}).status_code == 303
    assert [row.word for row in workspace.words.list(project.id)] == ["start"]
    assert client.post(here(project, "words", "remove"), data={"word": "start"}).status_code == 303
    assert workspace.words.list(project.id) == []


def test_a_sample_is_blind_and_says_how_many_are_right(client, workspace, project, run):
    while workspace.answers.undo(by=workspace.people.local().id):  # what is answered already would not be asked again
        pass
    drawn = client.post(here(project, "check"), data={"run": run.id, "size": "20"})
    page = client.get(drawn.headers["location"])
    sample = re.search(r"check=(\w+)", drawn.headers["location"])[1]
    for _ in range(20):
        assert 'aria-pressed="true"' not in page.text
        assert "<span><bdi>" in page.text, "names in any script begin on one side, as in the review"
        document = on_the_desk(page)
        right = workspace.runs.prediction(run.id, document).label
        page = client.post(here(project, "check", sample, "answers"), data={"document": document, "label": right})
        assert page.status_code == 200
    assert "The sample is done." in page.text
    assert "100 %" in page.text
    assert workspace.checks.estimate(sample)["right"] == 20


def test_many_are_accepted_only_after_a_look_at_some(client, workspace, project, run):
    location = client.post(
        here(project, "review", "accept", "sample"), data={"run": run.id, "threshold": "0.6"}
    ).headers["location"]
    sample = re.search(r"check=(\w+)", location)[1]
    assert client.post(here(project, "review", "accept"), data={"check": sample}).status_code == 422
    page = client.get(location)
    while 'data-document="' in page.text:
        document = on_the_desk(page)
        label = workspace.runs.prediction(run.id, document).label
        page = client.post(here(project, "check", sample, "answers"), data={"document": document, "label": label})
    before = sum(row["answers"] for row in workspace.answers.counts(project.id))
    assert client.post(here(project, "review", "accept"), data={"check": sample}).status_code == 303
    after = sum(row["answers"] for row in workspace.answers.counts(project.id))
    assert after > before + 20
    client.post(here(project, "review", "undo"), data={"run": run.id})
    assert sum(row["answers"] for row in workspace.answers.counts(project.id)) == before


def test_teaching_comparing_and_exporting(client, workspace, project, run):
    document = on_the_desk(client.get(here(project, "review")))  # an answer of its own: this test may run alone
    client.post(here(project, "review", "answers"), data={"document": document, "run": run.id, "label": "staff"})
    taught = client.post(here(project, "runs", "teach"))
    work(workspace, until_idle=True)
    later = workspace.runs.get(taught.headers["location"].rpartition("/")[2])
    assert later.state == "done"
    compared = client.get(here(project, "compare") + f"?a={run.id}&b={later.id}")
    assert "Which labels changed, and to what?" in compared.text
    for kind, form in (
        ("labels", "csv"), ("labels", "xlsx"), ("labels", "jsonl"), ("answers", "csv"), ("audit", "jsonl"),
        ("report", "html"), ("model", "isthmus"),
    ):  # fmt: skip
        sent = client.post(here(project, "export"), data={"run": later.id, "kind": kind, "format": form})
        assert sent.status_code == 200, (kind, sent.text[:200])
        assert sent.content
        if (kind, form) == ("labels", "csv"):
            rows = list(csv.DictReader(io.StringIO(sent.text)))
            assert len(rows) == workspace.collections.get(run.target).documents
        if kind == "audit":
            kinds = {json.loads(line)["event"] for line in sent.text.splitlines()}
            assert {"answer given", "run started", "exported"} <= kinds


def test_a_run_can_be_cancelled_and_goes_on(client, workspace, project):
    started = client.post(here(project, "runs"), data={"method": "nbc", "seed": "3"})
    address = started.headers["location"]
    assert "Waiting" in client.get(address).text
    assert "progress" in client.get(address + "/progress").text
    part = client.post(address + "/cancel", headers={"hx-request": "true"})  # the page's script wants this part alone
    assert part.text.startswith("<section")
    assert "The run was cancelled." in part.text
    assert client.post(address + "/resume").status_code == 303
    assert client.post(address + "/cancel").status_code == 303
    assert "The run was cancelled." in client.get(address).text
    assert client.post(address + "/resume").status_code == 303
    work(workspace, until_idle=True)
    run = address.rpartition("/")[2]
    assert workspace.runs.get(run).state == "done"
    by_api = client.get(f"/api/projects/{project.id}/runs/{run}").json()
    assert (by_api["id"], by_api["state"]) == (run, "done")


def test_a_diagnosis(client, workspace, project):
    assert client.post(here(project, "diagnosis")).status_code == 303
    work(workspace, until_idle=True)
    assert "What to look at" in client.get(here(project, "diagnosis")).text


def owners(team, workspace, project, *names):
    local = workspace.people.local().id
    for name in names:
        workspace.projects.add_member(project.id, team.account(name, "reviewer").id, "owner", by=local)
        yield team.signed_in(name)


def test_numbers_above_the_queue_follow_ones_own_answers_between_two_counts(serve, workspace, untouched, monkeypatch):
    project, run = untouched
    monkeypatch.setattr(service, "_FRESH", 3600.0)
    team = serve(workspace, accounts=True)
    kim, lee = owners(team, workspace, project, "kai", "lou")
    kim.post(here(project, "second-reading"), data={"share": "1"})

    def shown(page):
        return [int(number) for number in re.findall(r"<b>(\d+)</b> (?:answered by you|to read)<", page.text)]

    def answer(client, page, **said):
        sent = {"document": on_the_desk(page), "run": run.id, **said}
        return client.post(here(project, "review", "answers"), data=sent)

    page = kim.get(here(project, "review"))
    none, waiting = shown(page)
    assert none == 0
    page = answer(kim, page, label="staff")
    assert shown(page) == [1, waiting - 1]
    page = answer(lee, lee.get(here(project, "review")), other="parking")
    assert shown(page) == [1, waiting - 1]  # a second reading: the queue is as long as before
    assert 'value="parking"' in page.text
    team.bench.tallies.clear()
    page = lee.get(here(project, "review"))
    assert shown(page) == [1, waiting - 1]  # so it is when counted
    assert 'value="parking"' in page.text
    kim.patch(f"/api/projects/{project.id}", json={"second_reading": 0}).raise_for_status()


def test_a_second_reader_does_not_see_the_first_answer(serve, workspace, untouched):
    project, run = untouched
    team = serve(workspace, accounts=True)
    kim, lee = owners(team, workspace, project, "kim", "lee")
    assert kim.post(here(project, "second-reading"), data={"share": "2"}).status_code == 422
    assert kim.post(here(project, "second-reading"), data={"share": "1"}).status_code == 303
    assert kim.get(f"/api/projects/{project.id}").json()["second_reading"] == 1.0
    first = on_the_desk(kim.get(here(project, "review")))
    answer = {"document": first, "run": run.id}
    assert kim.post(here(project, "review", "answers"), data={**answer, "label": "staff"}).status_code == 200
    page = lee.get(here(project, "review"))
    assert on_the_desk(page) == first
    assert "Answered:" not in page.text
    page = lee.post(here(project, "review", "answers"), data={**answer, "label": "price"})
    assert on_the_desk(page) != first
    page = lee.post(here(project, "review", "undo"), data={"run": run.id})
    assert on_the_desk(page) == first
    assert "staff</bdi>. Another answer" not in page.text  # still blind
    assert lee.post(here(project, "review", "answers"), data={**answer, "label": "price"}).status_code == 200
    assert workspace.runs.prediction(run.id, first).answer == "staff"
    team.bench.tallies.clear()  # they are some seconds old
    assert f"review?document={first}" in kim.get(here(project)).text  # where people differ
    kim.patch(f"/api/projects/{project.id}", json={"second_reading": 0}).raise_for_status()


@pytest.mark.parametrize("api", [False, True])
def test_a_request_that_comes_twice_gives_one_answer(client, workspace, untouched, api):
    project, run = untouched
    place = f"/projects/{project.id}"
    desk = client.get(f"{place}/review")
    document = on_the_desk(desk)
    form = {"document": document, "label": "price", "token": re.search(r'name="token" value="([^"]+)"', desk.text)[1]}
    for _ in range(2):
        if api:
            sent = client.post(f"/api{place}/runs/{run.id}/answers", json=form)
        else:
            sent = client.post(f"{place}/review/answers", data={**form, "run": run.id})
        assert sent.status_code == 200
    assert len(workspace.answers.history(document)) == 1
