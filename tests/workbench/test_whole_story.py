"""One project from the first file to the last export, by three people: the way every request was answered.

``make record`` writes down anew what should come out, after a change that was meant; the difference is read before it
is committed. Of a page stand here its headings, notices, the first two rows of each table and the sentences with
numbers; of JSON and tables the beginning. Names of rows, times, versions and sizes of exports differ from run to run
and are replaced; what is drawn at random is drawn from a fixed seed, and nothing shown is a few seconds old, so that
the speed of the machine does not matter.
"""

import csv
import difflib
import html
import io
import json
import random
import re
import tempfile
import textwrap
import uuid
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.exceptions import IsthmusWarning
from isthmus.workbench import context
from isthmus.workspace import checks, database, open_workspace, worker
from isthmus.workspace.worker import work
from isthmus_bench.shifted import make_shifted_texts

KEPT = Path(__file__).with_name("whole_story.txt")
ROW = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?")
VERSION = re.compile(r"\b\d+\.\d+\.\d+\b")
SIZE = re.compile(r'(?<=<td class="n">)[\d.]+ (B|kB)(?=</td>)')  # of exports: they hold times, some of them packed
HEADERS = ("content-disposition", "location", "hx-redirect", "hx-refresh", "hx-trigger", "allow")
WIDTH = 160
MOST_LINES = 2


class Story:
    """Everything that was asked and answered, line by line."""

    def __init__(self):
        self.lines, self.names = [], {}

    def plain(self, text):
        """A text without what differs from run to run; rows are numbered as they come up."""
        text = ROW.sub(lambda found: self.names.setdefault(found[0], f"row{len(self.names) + 1}"), text)
        return SIZE.sub("SIZE", VERSION.sub("VERSION", TIME.sub("TIME", text)))

    def tell(self, who, answer):
        """Write down an answer and hand it back."""
        request = answer.request
        place = self.plain(request.url.raw_path.decode())
        self.lines.append(f"== {who}: {request.method} {place} {answer.status_code}")
        self.lines += [f"{name}: {self.plain(answer.headers[name])}" for name in HEADERS if name in answer.headers]
        self.lines += list(self.body(answer))
        return answer

    def body(self, answer):
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if kind == "text/html":
            inner = re.search(r"<main.*</main>", answer.text, re.DOTALL)
            yield from outline(self.plain(inner[0] if inner else answer.text))
        elif kind == "application/json":
            text = json.dumps(beginning(rounded(answer.json())), ensure_ascii=False)
            yield from textwrap.wrap(self.plain(text), WIDTH, max_lines=MOST_LINES)
        elif kind in ("text/csv", "application/x-ndjson", "text/plain"):
            lines = self.plain(answer.text).splitlines()
            yield from [line[:WIDTH] for line in (*lines[:2], f"{len(lines)} lines")]


def outline(page):
    """A page's headings and notices, the first two rows of each table, and the sentences that hold a number."""
    page = re.sub(r"\s+", " ", page)
    page = re.sub(r"<(svg|select|button|script|style|nav)\b.*?</\1>", "", page)
    page = re.sub(r'<(?:div|span|p)[^>]*role="(?:alert|status)"[^>]*>', "\n! ", page)
    page = re.sub(r"<tr[^>]*>", "\n| ", page)
    page = re.sub(r"<h[1-3][^>]*>", "\n# ", page)
    page = re.sub(r"</t[dh]>", " | ", page)
    page = re.sub(r"</?(p|li|div|form|label|section|dd|dt|table|fieldset|main|h[1-3])\b[^>]*>", "\n", page)
    rows = 0
    for line in re.sub(r"<[^>]*>", "", page).splitlines():
        line = re.sub(r"[ |]+$", "", re.sub(r" +", " ", html.unescape(line))).strip()
        rows = rows + 1 if line.startswith("| ") else 0
        if line.startswith(("# ", "! ")) or 0 < rows <= 2 or (not rows and re.search(r"\d", line)):
            yield textwrap.shorten(line, WIDTH)


def beginning(value, most=2):
    """Lists cut to their first entries, with the number of all."""
    if isinstance(value, dict):
        return {name: beginning(part, most) for name, part in value.items()}
    if isinstance(value, list):
        cut = [beginning(part, most) for part in value[:most]]
        return [*cut, f"{len(value)} in all"] if len(value) > most else cut
    return value


def rounded(value):
    """Numbers as far as every machine agrees on them."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


class Person:
    """Somebody at a browser whose every answer is written down."""

    def __init__(self, story, name, client, project=""):
        self.story, self.name, self.client, self.home = story, name, client, f"/projects/{project}"

    def open(self, place="", **query):
        return self.story.tell(self.name, self.client.get(self.home + place, params=query or None))

    def ask(self, method, place, body=None, *, told=True, **query):
        """Call the JSON interface; an answer like an earlier one need not be written down."""
        sent = self.client.request(method, "/api" + self.home + place, json=body, params=query or None)
        return self.story.tell(self.name, sent) if told else sent

    def send(self, place="", *, told=True, **body):
        """Send what a form of a page sends."""
        return self.ask("POST", place, body, told=told)


def texts_of_both():
    """Three classes and one that the source lacks, as two files."""
    made = make_shifted_texts(
        90, 70, n_classes=3, n_novel=1, shared=0.7, class_shares=[0.5, 0.3, 0.2], random_state=5, length=16
    )
    source, target = io.StringIO(), io.StringIO()
    csv.writer(source).writerows(
        [("id", "text", "label"), *zip(range(1, 91), made.source_texts, made.source_labels, strict=True)]
    )
    csv.writer(target).writerows(
        [("id", "text", "shop"), *((i, text, "ab"[i % 2]) for i, text in enumerate(made.target_texts))]
    )
    return source.getvalue().encode(), target.getvalue().encode(), list(made.target_labels)


def on_the_desk(page):
    return re.search(r'data-document="(\w+)"', page.text)[1]


def let_work(workspace):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        work(workspace, until_idle=True)


def live_through(server, workspace):
    """The story."""
    story = Story()
    source, target, truth = texts_of_both()
    server.account("Ann")
    ann = Person(story, "Ann", server.signed_in("Ann"))
    story.tell("Ann", ann.client.get("/projects"))
    made = story.tell("Ann", ann.client.post("/api/projects", json={"name": "Two shops"}))
    project = made.json()["id"]
    ann.home = f"/projects/{project}"
    ann.open()
    # two files
    rows = {}
    for name, content, kind in (
        ("old.csv", source, "source"),
        ("new.csv", target, "target"),
        ("more.csv", target, "extra"),
    ):
        files = {"file": (name, content, "text/csv")}
        sent = ann.client.post(f"/api{ann.home}/collections", data={"kind": kind}, files=files)
        rows[kind] = story.tell("Ann", sent).json()["id"]
        ann.open(f"/data/{rows[kind]}")
    ann.send(f"/collections/{rows['source']}/mapping", text=["text"], label="label", id_column="id")
    ann.send(f"/collections/{rows['target']}/mapping", text=["text"], id_column="nothing of the sort")
    ann.send(f"/collections/{rows['target']}/mapping", text=["text"], id_column="id")
    ann.ask("GET", f"/collections/{rows['source']}/preview")
    ann.ask("GET", f"/collections/{rows['source']}/documents", after=3, limit=2)
    ann.ask("DELETE", f"/collections/{rows['extra']}")
    ann.open("/data")
    ann.open(f"/data/{rows['source']}")
    ann.open("/runs")
    # look first, then label
    ann.send("/diagnoses")
    ann.open("/diagnosis")
    let_work(workspace)
    ann.open("/diagnosis")
    run = ann.send("/runs", method="nbc", random_state=1, name="first", target=rows["target"]).json()["id"]
    ann.open(f"/runs/{run}")
    ann.open(f"/runs/{run}/progress")
    ann.ask("GET", f"/runs/{run}/job")
    let_work(workspace)
    ann.open(f"/runs/{run}/progress")
    ann.open(f"/runs/{run}")
    ann.open("/documents", order="confidence", show="review")
    ann.open("/documents", label="class 1", q="the", after=9)
    ann.open("/groups")
    # people
    people = {}
    for name, role in (("Bo", "reviewer"), ("Cy", "viewer")):
        token = ann.client.post("/api/people/invitations", json={"role": role, "project": project}).json()["token"]
        guest = server.client()
        story.tell(name, guest.get("/join/none"))
        guest.post(f"/api/join/{token}", json={"name": name, "password": "correct horse battery"}).raise_for_status()
        people[name] = Person(story, name, server.signed_in(name), project)
    bo, cy = people["Bo"], people["Cy"]
    ann.ask("PATCH", "", {"second_reading": 0.5})
    story.tell("Ann", ann.client.get("/people"))
    cy.open()
    cy.open("/review")
    cy.send(f"/runs/{run}/answers", document="none", label="class 0")
    # review
    documents = ann.client.get(f"/api{ann.home}/collections/{rows['target']}/documents", params={"limit": 500}).json()
    numbers = {row["id"]: row["position"] for row in documents}
    page, given = bo.open("/review"), 0
    while given < 4:
        document = on_the_desk(page)
        label = str(truth[numbers[document]])
        given += 1
        bo.send(f"/runs/{run}/answers", document=document, label=label, told=given in (1, 4))
        page = bo.open("/review/desk", run=run)
    bo.send(f"/runs/{run}/queue/skip", document=on_the_desk(page))
    page = ann.open("/review")
    for label in ("class 0", "class 2", "wholly new", "class 1"):
        told = label in ("wholly new", "class 1")
        ann.send(f"/runs/{run}/answers", document=on_the_desk(page), label=label, told=told)
        page = ann.open("/review/desk", run=run)
    ann.send("/answers/undo")
    ann.send(f"/runs/{run}/answers", document=on_the_desk(page))
    ann.ask("GET", "/agreement")
    ann.ask("GET", "/answers", limit=5)
    ann.ask("GET", f"/runs/{run}/queue")
    ann.ask("GET", f"/runs/{run}/predictions", order="confidence", limit=3)
    ann.ask("GET", f"/runs/{run}/tables/curve")
    ann.ask("GET", f"/runs/{run}/tables/none")
    # words
    ann.open("/words", q="c")
    word = ann.ask("GET", "/words/search", q="", limit=3).json()[0]["word"]
    ann.open("/words/touches", word=word)
    ann.send("/words", word=word, label="class 2")
    bo.open("/words")
    # groups
    group = ann.ask("GET", f"/runs/{run}/groups").json()[0]["group"]
    ann.send(f"/runs/{run}/groups/rename", group=group, name="late parcels")
    bo.open("/groups", run=run)
    bo.send(f"/runs/{run}/groups/class", group=group, name="parcels")
    ann.open("/groups")
    # a check
    sample = bo.send(f"/runs/{run}/checks", size=6).json()["id"]
    page, read = bo.open("/check", check=sample), 0
    while 'data-document="' in page.text:
        document = on_the_desk(page)
        read += 1
        label = str(truth[numbers[document]])
        bo.send(f"/checks/{sample}/answers", document=document, label=label, told=read in (1, 4))
        page = bo.open(f"/check/{sample}/desk")
    bo.open("/check")
    bo.ask("GET", f"/checks/{sample}/estimate")
    bo.open("/review/accept", threshold="0.7")
    # teach, compare, take along
    taught = bo.send(f"/runs/{run}/teach").json()["id"]
    let_work(workspace)
    bo.open(f"/runs/{taught}")
    bo.open("/compare", a=run, b=taught)
    bo.ask("GET", "/compare", a=run, b=taught)
    bo.open("/export")
    for kind, form in (("labels", "csv"), ("labels", "jsonl"), ("answers", "csv"), ("audit", "csv"), ("labels", "pdf")):
        bo.send("/exports", run=taught, kind=kind, format=form)
    ask_for_everything(ann, bo, run, taught, rows)
    refuse_nonsense(ann, bo, cy, run, rows)
    # the house
    ann.ask("PATCH", "", {"name": "Three shops"})
    ann.ask("DELETE", f"/members/{cy_id(ann)}")
    cy.open()
    ann.open()
    ann.open("/history")
    ann.ask("DELETE", "")
    story.tell("Ann", ann.client.get("/projects"))
    story.tell("Ann", ann.client.delete("/api/session"))
    story.tell("Ann", ann.client.get("/projects"))
    return story.lines


def ask_for_everything(ann, bo, run, taught, rows):
    """What scripts may ask, and what the pages ask in the background."""
    for place in (
        "",
        "/members",
        "/collections",
        f"/collections/{rows['target']}",
        "/runs",
        f"/runs/{taught}",
        "/words",
    ):
        ann.ask("GET", place)
    ann.ask("GET", "/runs", kind="diagnose")
    ann.ask("GET", "/events", after=3, limit=4)
    ann.ask("GET", "/answers", after=2, limit=2)
    ann.ask("PATCH", "", {"name": "Two shops again", "second_reading": 0.2})
    ann.ask("PATCH", f"/runs/{taught}", {"name": "taught"})
    ann.ask("GET", f"/runs/{taught}/predictions", label="class 1", review=True, limit=2)
    ann.ask("GET", f"/runs/{taught}/predictions", search="a", after=11, limit=2)
    ann.ask("GET", "/compare/flips", a=run, b=taught, limit=3)
    ann.ask("GET", "/words/search", q="z", limit=2)
    word = ann.client.get(f"/api{ann.home}/words/search", params={"q": "z", "limit": 2}).json()[1]["word"]
    ann.ask("POST", "/words", {"word": word, "label": "class 1"})
    ann.ask("GET", "/words/touches", word=word)
    ann.ask("DELETE", f"/words/{word}")
    taken = bo.ask("POST", f"/runs/{taught}/queue", {"n": 2}).json()
    bo.ask("POST", f"/runs/{taught}/queue/skip", {"document": taken[0]["document"]})
    bo.ask("GET", f"/runs/{taught}/queue")
    bo.ask("DELETE", f"/runs/{taught}/queue")
    bo.ask("POST", f"/runs/{taught}/answers", {"document": taken[1]["document"], "label": "class 2"})
    bo.ask("POST", "/answers/undo")
    bo.ask("GET", f"/runs/{run}/checks")
    drawn = bo.ask("POST", f"/runs/{taught}/checks", {"size": 2, "threshold": 0.6}).json()
    bo.ask("POST", f"/checks/{drawn['id']}/accept")
    while (shown := bo.ask("POST", f"/checks/{drawn['id']}/next").json()) is not None:
        bo.ask("POST", f"/checks/{drawn['id']}/answers", {"document": shown["id"], "label": "class 0"})
    bo.ask("POST", f"/checks/{drawn['id']}/accept")
    bo.open("/review/accept", check=drawn["id"])
    bo.ask("POST", "/answers/undo")
    bo.open("/review/desk", run=run)
    bo.open("/documents", run=run, label="class 2", show="sure", after=60)
    bo.open("/documents", run=taught, group="late parcels")
    bo.open("/compare", a=taught, b=run, before="class 1")
    for kind, form in (("report", "html"), ("model", "isthmus"), ("audit", "jsonl"), ("answers", "xlsx")):
        sent = bo.client.post(f"/api{bo.home}/exports", json={"run": taught, "kind": kind, "format": form})
        bo.story.lines += [f"== Bo: export {kind} {form} {sent.status_code}", sent.headers["content-type"]]
        bo.story.lines.append(bo.story.plain(sent.headers.get("content-disposition", "")))
    begun = ann.ask(
        "POST", "/runs", {"method": "logistic", "vectors": False, "random_state": 4, "name": "third"}
    ).json()
    ann.ask("POST", f"/runs/{begun['id']}/cancel")
    ann.open(f"/runs/{begun['id']}")
    ann.ask("POST", f"/runs/{begun['id']}/resume")
    ann.ask("POST", f"/runs/{begun['id']}/cancel")
    ann.open("/runs")


def refuse_nonsense(ann, bo, cy, run, rows):
    """What is refused, in which words."""
    story = ann.story
    ann.ask("POST", "/runs", {"method": "magic"})
    ann.ask("POST", "/runs", {"error_budget": 2})
    ann.ask("POST", "/runs", {"sources": [rows["target"]]})
    ann.ask("POST", "/runs", {"unknown": 1})
    ann.ask("PATCH", "", {"second_reading": 1.5})
    ann.ask("GET", "/runs/none")
    ann.ask("GET", "/collections/none/preview")
    ann.ask("POST", f"/runs/{run}/checks", {"size": 0})
    ann.ask("POST", f"/runs/{run}/answers", {"document": "none", "label": "class 0"})
    ann.ask("POST", f"/runs/{run}/groups/rename", {"group": "none", "name": "x"})
    ann.ask("POST", "/words", {"word": " ", "label": "class 0"})
    ann.ask("DELETE", "/words/never-given")
    ann.ask("POST", "/exports", {"run": run, "kind": "labels", "format": "pdf"})
    ann.ask("POST", "/exports", {"run": run, "kind": "nothing"})
    ann.ask("DELETE", f"/collections/{rows['source']}")
    ann.ask("PATCH", "", {"name": ""})
    ann.send("/runs", method="nbc", target="none")
    ann.send("/words", word="", label="class 0")
    ann.send(f"/collections/{rows['target']}/mapping", id_column="id")
    ann.open("/compare", a=run, b="none")
    ann.open("/check", check="none")
    files = {"file": ("x.exe", b"MZ\0\0", "text/csv")}
    story.tell("Ann", ann.client.post(f"/api{ann.home}/collections", data={"kind": "source"}, files=files))
    wrong = {"x-csrf-token": "wrong"}
    story.tell("Ann", ann.client.patch(f"/api{ann.home}", json={"name": "x"}, headers=wrong))
    story.tell("Ann", ann.client.put(ann.home))
    story.tell("Ann", ann.client.get("/nowhere"))
    story.tell("Ann", ann.client.post("/api/session", json={"name": "Ann", "password": "wrong"}))
    mine = ann.client.get("/api/session").json()["person"]
    story.tell("Ann", ann.client.patch(f"/api/people/{mine}", json={"role": "viewer"}))
    story.tell("Ann", ann.client.delete(f"/api/people/{mine}"))
    story.tell("Ann", ann.client.get("/api/people"))
    bo.ask("PATCH", "", {"name": "Bo's"})
    bo.ask("POST", "/members", {"person": mine, "role": "viewer"})
    bo.ask("POST", "/runs", {"method": "nbc"})
    story.tell("Bo", bo.client.get("/people"))
    story.tell("Bo", bo.client.post("/api/projects", json={"name": "Bo's"}))
    cy.ask("POST", f"/runs/{run}/queue", {"n": 1})
    cy.ask("POST", "/exports", {"run": run})
    cy.open("/export")
    cy.open("/history")


def cy_id(ann):
    return next(row["person"] for row in ann.client.get(f"/api{ann.home}/members").json() if row["name"] == "Cy")


def fix_chance(patch):
    """Names of rows and seeds of samples are drawn the same way every time, and every number is counted anew."""
    drawn, new = random.Random(3), np.random.default_rng
    names = SimpleNamespace(uuid4=lambda: uuid.UUID(int=drawn.getrandbits(128), version=4))
    patch.setattr(database, "uuid", names)
    seeds = SimpleNamespace(default_rng=lambda: new(3))
    patch.setattr(checks, "np", SimpleNamespace(**{**vars(np), "random": seeds}))
    patch.setattr(context, "_FRESH", 0.0)
    patch.setattr(context, "_RATIO", 0.0)
    patch.setattr(worker, "_TELL", 0.0)


def test_nothing_that_is_shown_has_changed(serve, tmp_path, monkeypatch):
    fix_chance(monkeypatch)
    with open_workspace(tmp_path / "w") as workspace:
        found = live_through(serve(workspace, accounts=True), workspace)
    kept = KEPT.read_text(encoding="utf-8").splitlines()
    assert found == kept, "\n".join(list(difflib.unified_diff(kept, found, "kept", "found", n=2, lineterm=""))[:60])


if __name__ == "__main__":
    from workbench_server import Running

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        fix_chance(patch)
        with open_workspace(folder) as workspace, Running(workspace, accounts=True) as server:
            KEPT.write_text("\n".join(live_through(server, workspace)) + "\n", encoding="utf-8")
