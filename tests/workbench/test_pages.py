"""Every page answers, teaches where it is empty, and changes what it says it changes."""

import html
import io
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

import pytest

from isthmus.workbench.context import SITTING

PAGES = (
    "", "/data", "/diagnosis", "/runs", "/documents", "/groups", "/review", "/words", "/check", "/compare", "/export",
    "/history",
)  # fmt: skip


@pytest.mark.parametrize("part", PAGES)
def test_every_page_of_a_labelled_project(client, project, part):
    page = client.get(f"/projects/{project.id}{part}")
    assert page.status_code == 200
    assert "<h1" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<[^>]* style=|<style", page.text)  # which that policy forbids


def test_one_link_at_the_side_is_the_page_one_is_on(client, project, run):
    """A page further in, of one run say, belongs to the link above it; the overview holds no page but itself."""
    start = f"/projects/{project.id}"
    for address, link in [*((part, part) for part in PAGES), (f"/runs/{run.id}", "/runs")]:
        page = client.get(start + address).text
        assert re.findall(r'<a href="([^"]*)" aria-current="page"', page) == [start + link]


def test_the_bars_of_labels_are_shares_of_the_largest_class(client, workspace, project):
    source = next(row for row in workspace.collections.list(project.id) if row.kind == "source")
    counts = sorted(source.facts["classes"].values(), reverse=True)
    assert counts[0] > counts[-1]
    page = client.get(f"/projects/{project.id}/data/{source.id}").text
    labels = page.split("<h2>Labels</h2>")[1].split("</table>")[0]
    widths = [float(width) for width in re.findall(r'class="mark" width="([\d.]+)"', labels)]
    assert widths == pytest.approx([100 * n / counts[0] for n in counts], abs=0.1)


@pytest.fixture(scope="module")
def beginner(serve, empty_workspace):
    return serve(empty_workspace).client()


@pytest.mark.parametrize("part", PAGES)
def test_every_page_of_an_empty_project_says_what_to_do(beginner, part):
    client = beginner
    project = client.post("/api/projects", json={"name": "Empty"}).json()["id"]
    page = client.get(f"/projects/{project}{part}")
    assert page.status_code == 200
    if part not in ("", "/history", "/words"):
        assert 'class="empty"' in page.text


def test_the_target_that_came_last_is_offered_first(client, workspace, untouched):
    project, _ = untouched
    by = workspace.people.local().id
    rows = b"id,comment\n" + b"".join(b"n%d,the new clerk was kind %d times\n" % (i, i) for i in range(30))
    later = workspace.collections.add(project.id, "newer.csv", io.BytesIO(rows), kind="target", by=by)
    workspace.collections.map(later.id, text=["comment"], id_column="id", by=by)
    choice = re.search(
        r'<select[^>]*name="target".*?</select>', client.get(f"/projects/{project.id}/runs").text, re.DOTALL
    )
    assert re.findall(r"(\w+\.csv)", choice[0]) == ["newer.csv", "cars.csv"]


def test_a_sheet_of_a_workbook_is_picked_from_their_names(beginner):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, column in (("May", "comment"), ("June & July", "remark")):
            sheet = book.add_worksheet(name)
            sheet.write_column(0, 0, [column, f"kind staff in {name}", "too dear"])
    project = beginner.post("/api/projects", json={"name": "Sheets"}).json()["id"]
    files = {"file": ("survey.xlsx", buffer.getvalue())}
    sent = beginner.post(f"/api/projects/{project}/collections", files=files, data={"kind": "target"}).json()["id"]
    address = f"/projects/{project}/data/{sent}"
    first = beginner.get(address).text
    picker = re.search(r'<nav[^>]*aria-label="Sheets of the workbook".*?</nav>', first)[0]
    links = re.findall(r'href="([^"]+)"', picker)
    assert re.search(r'aria-current="true"[^>]*>(.*?)</a>', picker)[1] == "May"
    assert '<input name="sheet"' not in first
    other = beginner.get(address + html.unescape(links[1])).text
    assert 'name="text" value="remark" checked' in other
    chosen = html.unescape(re.search(r'<input type="hidden" name="sheet" value="([^"]*)">', other)[1])
    assert chosen == "June & July"
    mapping = {"text": ["remark"], "sheet": chosen}
    assert beginner.post(f"/api/projects/{project}/collections/{sent}/mapping", json=mapping).json()["documents"] == 2
    assert 'name="text" value="remark" checked' in beginner.get(address).text


def texts(page):
    return re.findall(r'<p class="text" dir="auto">(.*?)</p>', page.text, re.DOTALL)


def test_documents_come_fifty_at_a_time_and_the_last_page_leads_no_further(client, workspace, project, run):
    address, seen, pages = f"/projects/{project.id}/documents", [], 0
    link = f"?order=position&run={run.id}"
    while link:
        page = client.get(address + link)
        shown = texts(page)
        assert len(shown) <= 50
        seen, pages = seen + shown, pages + 1
        found = re.search(r'rel="next" href="([^"]+)"', page.text)
        assert (found is not None) == (len(shown) == 50)
        link = found and html.unescape(found[1])
    whole = [row.text for row in workspace.runs.predictions(run.id, limit=500)]
    assert len(seen) == len(whole) == 199  # one comment has two lines
    assert pages == 4
    assert [html.unescape(text)[:40] for text in seen] == [text[:40] for text in whole]


@pytest.mark.parametrize(
    "wanted", [{"q": "the", "order": "confidence"}, {"show": "review", "order": "position"}, {"label": ""}]
)
def test_the_filters_of_a_list_are_kept_on_the_next_page(client, workspace, project, run, wanted):
    if "label" in wanted:
        wanted = {
            "label": Counter(row.label for row in workspace.runs.predictions(run.id, limit=500)).most_common(1)[0][0]
        }
    page = client.get(f"/projects/{project.id}/documents", params=wanted)
    assert len(texts(page)) == 50
    link = dict(parse_qsl(html.unescape(re.search(r'rel="next" href="\?([^"]+)"', page.text)[1])))
    assert link.pop("after")
    assert link == {"run": run.id, "order": "position", **wanted}


def test_predictions_come_as_they_were_asked_for(client, workspace, project, run):
    label = workspace.runs.predictions(run.id, limit=1)[0].label
    asked = {"label": label}, {"review": True}, {"review": False}, {"search": "staff"}, {"order": "confidence"}
    for wanted in asked:
        expected = [row.document for row in workspace.runs.predictions(run.id, limit=30, **wanted)]
        found = client.get(
            f"/api/projects/{project.id}/runs/{run.id}/predictions", params={"limit": 30, **wanted}
        ).json()
        assert [row["document"] for row in found] == expected, wanted


@pytest.mark.parametrize(("row", "first"), [(1, 0), (2, 1), (51, 50), (0, 0), (-5, 0)])
def test_a_mark_on_the_map_opens_the_list_at_its_document(client, workspace, project, run, row, first):
    """Marks are numbered from one, as the rows of the table are."""
    page = client.get(f"/projects/{project.id}/documents", params={"row": row})
    whole = workspace.runs.predictions(run.id, limit=500)
    assert html.unescape(texts(page)[0])[:40] == whole[first].text[:40]


def test_the_history_comes_fifty_events_at_a_time_the_latest_first(client, workspace, untouched):
    project, _ = untouched
    by, events = workspace.people.local().id, workspace.audit.events
    already = len(events(project.id, limit=500))
    for i in range(51 - already):
        workspace.projects.rename(project.id, f"Name {i}", by=by)
    address = f"/projects/{project.id}/history"
    first = client.get(address).text
    assert first.count("<tr><td") == 50
    link = re.search(r'rel="next" href="([^"]+)"', first)[1]
    assert link.endswith(f"after={events(project.id, limit=500)[1].number}")
    last = client.get(address + html.unescape(link)).text
    assert last.count("<tr><td") == 1
    assert 'rel="next"' not in last


@pytest.mark.parametrize(
    ("path", "headers", "kind"),
    [
        ("/projects/none", {}, "text/html"),
        ("/projects/none", {"hx-request": "true"}, "text/plain"),
        ("/api/projects/none", {}, "application/json"),
        ("/api/projects/none", {"hx-request": "true"}, "application/json"),
    ],
)
def test_an_error_has_the_form_that_the_asker_can_read(client, path, headers, kind):
    answer = client.get(path, headers=headers)
    assert answer.status_code == 404
    assert answer.headers["content-type"].partition(";")[0] == kind
    words = "There is no such project here."
    if kind == "application/json":
        assert answer.json() == {"detail": words, "code": "refused"}
    elif kind == "text/plain":
        assert answer.text == words
    else:
        assert "<h1>Not found</h1>" in answer.text
        assert words in answer.text


def test_what_cannot_be_read_is_named_and_codes_have_their_status(client, project, run):
    wrong = client.get(f"/api/projects/{project.id}/runs/{run.id}/predictions", params={"limit": "many"})
    assert wrong.status_code == 422
    assert wrong.json()["code"] == "bad-parameter"
    assert wrong.json()["detail"].startswith("limit: ")
    missing = client.get(f"/api/projects/{project.id}/runs/none")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")


def test_pages_are_not_kept_and_files_of_the_pages_are_asked_for_again(client, project):
    kept = {
        place: client.get(place).headers["cache-control"]
        for place in (f"/projects/{project.id}", "/static/report.css", "/static/workbench.js", "/health")
    }
    assert list(kept.values()) == ["no-store", "no-cache", "no-cache", "no-store"]


def test_the_overview_says_what_reading_so_many_brings(server, client, workspace, project, run):
    server.bench.tallies.clear()  # they are some seconds old
    wanted = workspace.runs.forecast(run.id, 7)
    assert wanted.answers == 7
    page = client.get(f"/projects/{project.id}", params={"read": 7}).text
    assert str(wanted) in page
    found = client.get(f"/api/projects/{project.id}/runs/{run.id}/forecast", params={"read": 7}).json()
    assert found == {**wanted._asdict(), "sentence": str(wanted)}
    assert str(workspace.runs.forecast(run.id, SITTING)) in client.get(f"/projects/{project.id}/review").text
    assert client.get(f"/projects/{project.id}", params={"read": 0}).status_code == 422


def test_both_files_are_sent_from_one_page(client, workspace):
    project = client.post("/api/projects", json={"name": "Two files"}).json()["id"]
    page = client.get(f"/projects/{project}/data").text
    assert f'data-send="/api/projects/{project}/collections/pair"' in page
    files = {
        "source": ("a.csv", b"text,label\nkind staff,staff\nfast bike,product\n"),
        "target": ("b.csv", b"text\nx\n"),
    }
    sent = client.post(f"/api/projects/{project}/collections/pair", files=files).json()
    rows = workspace.collections.list(project)
    assert [(row.kind, row.name) for row in rows] == [("source", "a.csv"), ("target", "b.csv")]
    assert [row["id"] for row in sent] == [row.id for row in rows]


def test_the_form_of_a_run_shows_the_error_budget_in_percent(client, untouched):
    page = client.get(f"/projects/{untouched[0].id}/runs").text
    assert 'name="error_budget" data-percent type="number" step="any" min="0" max="100" value="10"' in page


def test_the_state_above_a_run_and_the_time_left_follow_its_progress(client, workspace, untouched):
    project, _ = untouched
    run = workspace.runs.start(project.id, {"method": "nbc"}, by=workspace.people.local().id)
    place = f"/projects/{project.id}/runs/{run.id}"
    assert '<span id="run-state">' in client.get(place).text
    job = workspace.jobs.claim()
    while job.run != run.id:  # of other tests of this file
        job = workspace.jobs.claim()
    since = (datetime.now(UTC) - timedelta(minutes=2)).isoformat()
    workspace.jobs.progress(job.id, {"phase": "storing", "done": 1, "total": 3, "since": since})
    part = client.get(f"{place}/progress").text
    assert re.search(r'<span id="run-state"><span[^>]*>running<', part)
    assert "about 4 minutes left in this step" in part
    workspace.jobs.finish(job.id)


def test_a_sample_is_counted_in_the_list_and_on_the_overview(client, workspace, untouched):
    project, run = untouched
    place, by = f"/projects/{project.id}", workspace.people.local().id
    assert "Expected right" in client.get(place).text
    check = workspace.checks.draw(run.id, 30, by=by)
    for n in range(1, 23):
        document = workspace.checks.next(check.id, by)
        label = workspace.runs.prediction(run.id, document.id).label
        body = {"document": document.id, "label": label}
        client.post(f"/api{place}/checks/{check.id}/answers", json=body).raise_for_status()
        part = client.get(f"{place}/check/{check.id}/desk").text
        assert re.search(rf'<div id="samples">.*>{n} answered<', part)
    page = client.get(place).text
    assert "Right, measured" in page
    own = " ".join(client.get(f"/projects/{project.id}/runs/{run.id}").text.split())
    found = re.search(r"blind sample</a> of \d+ documents found \d+% \(\d+–\d+%\) of all labels right", own)
    assert found, "as the overview says"
    assert "of 22 documents" in page
    assert "Expected right" not in page
    waiting = workspace.queue.counts(run.id)["to_review"]
    assert f"{run.summary['review']:,} needed reading, {waiting:,} still" in page


def test_the_history_names_documents_and_runs_as_people_know_them(client, workspace, untouched):
    project, run = untouched
    by = workspace.people.local().id
    shown = workspace.runs.predictions(run.id, limit=1)[0]
    workspace.answers.give(shown.document, "price", by=by, run=run.id)
    page = client.get(f"/projects/{project.id}/history").text
    table = page.split("<tbody>")[1].split("</tbody>")[0]
    assert f"document: {shown.name}; label: price" in table
    assert not re.search(r"\b[0-9a-f]{32}\b", table)
