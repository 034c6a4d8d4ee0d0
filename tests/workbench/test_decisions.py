"""What people decide on the pages is in the workspace afterwards, and can be taken back."""

import csv
import io
import json
import re

from isthmus.workbench import context
from isthmus.workspace.schema import PREDICTIONS
from isthmus.workspace.worker import work


def here(project, *parts):
    return "/".join([f"/projects/{project.id}", *parts])


def on_the_desk(page):
    return re.search(r'data-document="(\w+)"', page.text)[1]


def answer(client, project, run, document, label, **more):
    """Answer a document as the page does, and return the next desk."""
    address = f"/api/projects/{project.id}/runs/{run.id}/answers"
    sent = client.post(address, json={"document": document, "label": label, **more})
    assert sent.status_code == 200, sent.text
    return client.get(here(project, "review", "desk"), params={"run": run.id})


def undo(client, project):
    """Undo the latest decision and return its answers."""
    return client.post(f"/api/projects/{project.id}/answers/undo").json()


def answer_sample(client, project, sample, document, label):
    sent = client.post(
        f"/api/projects/{project.id}/checks/{sample}/answers", json={"document": document, "label": label}
    )
    assert sent.status_code == 200, sent.text
    return client.get(here(project, "check", sample, "desk"))


def test_answers_undo_and_later(client, workspace, project, run):
    page = client.get(here(project, "review"))
    first = on_the_desk(page)
    assert 'class="choice"' in page.text
    second = on_the_desk(answer(client, project, run, first, "staff"))
    assert second != first
    assert workspace.runs.prediction(run.id, first).answer == "staff"
    assert [row["document"] for row in undo(client, project)] == [first]
    assert on_the_desk(client.get(here(project, "review"))) == first
    assert workspace.runs.prediction(run.id, first).answer is None
    skipped = client.post(f"/api/projects/{project.id}/runs/{run.id}/queue/skip", json={"document": first})
    assert skipped.json() == {"skipped": 1}
    assert on_the_desk(client.get(here(project, "review"))) != first
    new = answer(client, project, run, second, "parking")
    assert ">parking<" in new.text  # a class that somebody named is a choice from now on
    empty = client.post(f"/api/projects/{project.id}/runs/{run.id}/answers", json={"document": second, "label": ""})
    assert empty.status_code == 422


def test_methods_do_not_speak(client, workspace, project, run):
    with workspace._context.db.writing() as connection:
        mine = PREDICTIONS.c.run_id == run.id
        connection.execute(PREDICTIONS.update().where(mine).values(reason="methods disagree: self-training says staff"))
    assert "Asked because: methods disagree: self-training: staff." in client.get(here(project, "review")).text


def test_undo_changes_nothing_in_another_project(client, workspace, project, run, untouched):
    document = on_the_desk(client.get(here(project, "review")))
    answer(client, project, run, document, "staff")
    assert undo(client, untouched[0]) == []
    assert workspace.runs.prediction(run.id, document).answer == "staff"
    undo(client, project)
    assert workspace.runs.prediction(run.id, document).answer is None


def test_a_word_is_given_and_taken_back(client, workspace, project):
    found = client.get(here(project, "words", "search") + "?q=sta").text
    assert ">start<" in found
    touched = client.get(here(project, "words", "touches") + "?word=start").text
    n = int(re.search(r"Occurs in (\d+) document", touched)[1])
    assert n == workspace.words.touches(project.id, "start")["documents"]
    assert f"affects {n} document" in touched
    words = f"/api/projects/{project.id}/words"
    assert client.post(words, json={"word": "start", "label": "staff"}).json()["label"] == "staff"
    assert [row.word for row in workspace.words.list(project.id)] == ["start"]
    assert client.delete(f"{words}/start").status_code == 200
    assert client.delete(f"{words}/and%2For").json()["code"] == "not-found", "a word may contain a slash"
    assert workspace.words.list(project.id) == []


def test_a_sample_is_blind_and_says_how_many_are_right(client, workspace, project, run):
    while workspace.answers.undo(by=workspace.people.local().id):  # what is answered already would not be asked again
        pass
    sample = client.post(f"/api/projects/{project.id}/runs/{run.id}/checks", json={"size": 20}).json()["id"]
    page = client.get(here(project, "check"), params={"check": sample})
    for _ in range(20):
        assert 'aria-pressed="true"' not in page.text
        assert "<span><bdi>" in page.text, "names in any script begin on one side, as in the review"
        document = on_the_desk(page)
        right = workspace.runs.prediction(run.id, document).label
        page = answer_sample(client, project, sample, document, right)
    assert "The sample is done." in page.text
    assert "100%" in page.text
    assert workspace.checks.estimate(sample)["right"] == 20


def test_many_are_accepted_only_after_a_look_at_some(client, workspace, project, run):
    body = {"size": 20, "threshold": 0.6}
    sample = client.post(f"/api/projects/{project.id}/runs/{run.id}/checks", json=body).json()["id"]
    accept = f"/api/projects/{project.id}/checks/{sample}/accept"
    assert client.post(accept).status_code == 422
    page = client.get(here(project, "review", "accept"), params={"check": sample})
    while 'data-document="' in page.text:
        document = on_the_desk(page)
        label = workspace.runs.prediction(run.id, document).label
        page = answer_sample(client, project, sample, document, label)
    before = sum(row["answers"] for row in workspace.answers.counts(project.id))
    assert client.post(accept).json()["accepted"] > 20
    after = sum(row["answers"] for row in workspace.answers.counts(project.id))
    assert after > before + 20
    undo(client, project)
    assert sum(row["answers"] for row in workspace.answers.counts(project.id)) == before


def test_teaching_comparing_and_exporting(client, workspace, project, run):
    document = on_the_desk(client.get(here(project, "review")))  # an answer of its own: this test may run alone
    answer(client, project, run, document, "staff")
    taught = client.post(f"/api/projects/{project.id}/runs/{run.id}/teach").json()
    work(workspace, until_idle=True)
    later = workspace.runs.get(taught["id"])
    assert later.state == "done"
    compared = client.get(here(project, "compare") + f"?a={run.id}&b={later.id}")
    assert "Which labels changed, and to what?" in compared.text
    for kind, form in (
        ("labels", "csv"), ("labels", "xlsx"), ("labels", "jsonl"), ("answers", "csv"), ("audit", "jsonl"),
        ("report", "html"), ("model", "isthmus"),
    ):  # fmt: skip
        sent = client.post(f"/api/projects/{project.id}/exports", json={"run": later.id, "kind": kind, "format": form})
        assert sent.status_code == 200, (kind, sent.text[:200])
        assert sent.content
        if (kind, form) == ("labels", "csv"):
            rows = list(csv.DictReader(io.StringIO(sent.text)))
            assert len(rows) == workspace.collections.get(run.target).documents
        if kind == "audit":
            kinds = {json.loads(line)["event"] for line in sent.text.splitlines()}
            assert {"answer given", "run started", "exported"} <= kinds


def test_a_run_can_be_cancelled_and_resumed(client, workspace, project):
    run = client.post(f"/api/projects/{project.id}/runs", json={"method": "nbc", "random_state": 3}).json()["id"]
    page, api = here(project, "runs", run), f"/api/projects/{project.id}/runs/{run}"
    assert "Waiting" in client.get(page).text
    assert client.post(f"{api}/cancel").json()["state"] == "cancelled"
    part = client.get(page + "/progress").text
    assert part.startswith("<section")
    assert "The run was cancelled." in part
    assert client.post(f"{api}/resume").json()["state"] == "queued"
    work(workspace, until_idle=True)
    assert client.get(api).json()["state"] == "done"
    assert client.get(page + "/progress").headers["hx-refresh"] == "true"


def test_a_diagnosis(client, workspace, project):
    assert client.post(f"/api/projects/{project.id}/diagnoses").json()["kind"] == "diagnose"
    work(workspace, until_idle=True)
    assert "What to look at" in client.get(here(project, "diagnosis")).text


def owners(team, workspace, project, *names):
    local = workspace.people.local().id
    for name in names:
        workspace.projects.add_member(project.id, team.account(name, "reviewer").id, "owner", by=local)
        yield team.signed_in(name)


def test_numbers_above_the_queue_follow_ones_own_answers_between_two_counts(serve, workspace, untouched, monkeypatch):
    project, run = untouched
    monkeypatch.setattr(context, "_FRESH", 3600.0)
    team = serve(workspace, accounts=True)
    kim, lee = owners(team, workspace, project, "kai", "lou")
    kim.patch(f"/api/projects/{project.id}", json={"second_reading": 1}).raise_for_status()

    def shown(page):
        return [int(number) for number in re.findall(r"<b>(\d+)</b> (?:answered by you|to read)<", page.text)]

    page = kim.get(here(project, "review"))
    none, waiting = shown(page)
    assert none == 0
    page = answer(kim, project, run, on_the_desk(page), "staff")
    assert shown(page) == [1, waiting - 1]
    page = answer(lee, project, run, on_the_desk(lee.get(here(project, "review"))), "parking")
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
    assert kim.patch(f"/api/projects/{project.id}", json={"second_reading": 2}).status_code == 422
    assert kim.patch(f"/api/projects/{project.id}", json={"second_reading": 1}).json()["second_reading"] == 1.0
    first = on_the_desk(kim.get(here(project, "review")))
    answer(kim, project, run, first, "staff")
    page = lee.get(here(project, "review"))
    assert on_the_desk(page) == first
    assert "Answered: <bdi>" not in page.text
    assert on_the_desk(answer(lee, project, run, first, "price")) != first
    assert [row["kind"] for row in undo(lee, project)] == ["second"]
    page = lee.get(here(project, "review"))
    assert on_the_desk(page) == first
    assert "staff</bdi>. Another answer" not in page.text  # still blind
    answer(lee, project, run, first, "price")
    assert workspace.runs.prediction(run.id, first).answer == "staff"
    team.bench.tallies.clear()  # they are some seconds old
    assert f"review?document={first}" in kim.get(here(project)).text  # where people differ
    kim.patch(f"/api/projects/{project.id}", json={"second_reading": 0}).raise_for_status()


def test_a_request_that_comes_twice_gives_one_answer(client, workspace, untouched):
    project, run = untouched
    desk = client.get(here(project, "review"))
    document, token = on_the_desk(desk), re.search(r'name="token" value="([^"]+)"', desk.text)[1]
    for _ in range(2):
        answer(client, project, run, document, "price", token=token)
    assert len(workspace.answers.history(document)) == 1
