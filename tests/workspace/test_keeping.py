"""Exports, backups, restoring and checking."""

import csv
import hashlib
import io
import json
import shutil
import tarfile
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

import isthmus
from isthmus.corpus import read_table
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import open_workspace, restore_workspace, work
from isthmus.workspace.backup import _to_json, write_backup
from isthmus.workspace.context import Context
from isthmus.workspace.database import Database
from isthmus.workspace.schema import METADATA, PREDICTIONS


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".jsonl", ".parquet"])
def test_labels_are_exported_with_who_decided(done, ending):
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "=parking", by=done.by)
    made = done.exports.make(done.project.id, "labels", by=done.by, run=done.run.id, ending=ending)
    assert made.name == f"dealers-run-1-labels{ending}"
    table = read_table(done.exports.path(made.id))
    assert list(table)[:4] == ["id", "comment", "label", "confidence"]
    assert len(table["id"]) == 24
    assert (table["label"][0], table["decided_by"][0]) == ("=parking", "local")
    assert not table["decided_by"][1]
    less = done.exports.make(done.project.id, "labels", by=done.by, run=done.run.id, ending=ending, add=["label"])
    assert list(read_table(done.exports.path(less.id))) == ["id", "comment", "label"]
    if ending == ".csv":
        assert b"'=parking" in done.exports.path(made.id).read_bytes()  # a spreadsheet does not run it


def test_answers_and_the_audit_log_are_exported_whole(done):
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by)
    done.answers.undo(by=done.by)
    path = done.exports.path(done.exports.make(done.project.id, "answers", by=done.by, ending=".jsonl").id)
    (row,) = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert (row["true_label"], row["by"], row["holds"], row["undone_by"]) == ("staff", "local", False, "local")
    path = done.exports.path(done.exports.make(done.project.id, "audit", by=done.by).id)
    events = [json.loads(line)["event"] for line in path.read_text("utf-8").splitlines()]
    assert events[0] == "project created"
    assert events[-1] == "exported"


def test_the_worker_makes_reports_and_models(done):
    jobs = [done.exports.start(done.project.id, kind, by=done.by, run=done.run.id) for kind in ("report", "model")]
    work(done, until_idle=True)
    report, model = (done.exports.path(done.jobs.get(job.id).result["export"]) for job in jobs)
    assert "cars.csv" in report.read_text("utf-8")
    assert isthmus.load(model).predict(["kind staff"]).tolist() == ["staff"]
    assert {row.kind for row in done.exports.list(done.project.id)} == {"report", "model"}


def test_the_exported_model_knows_the_ids_of_the_exported_answers(done):
    document = done.runs.predictions(done.run.id, limit=1)[0]
    done.answers.give(document.document, "price", by=done.by, run=done.run.id)
    model, answers = (
        done.exports.path(done.exports.make(done.project.id, kind, by=done.by, run=done.run.id).id)
        for kind in ("model", "answers")
    )
    result = isthmus.load(model)
    assert result.ids[:2] == ["t0", "t1"]
    rows = list(csv.DictReader(io.StringIO(answers.read_text("utf-8"))))
    table = {"id": [row["id"] for row in rows], "true_label": [row["true_label"] for row in rows]}
    assert result.teach(table).labels[0] == "price"


def test_an_export_that_cannot_be_is_refused(done):
    with pytest.raises(UsageError, match="kind of export"):
        done.exports.make(done.project.id, "../etc", by=done.by)
    with pytest.raises(UsageError, match="ending"):
        done.exports.make(done.project.id, "labels", by=done.by, run=done.run.id, ending=".exe")
    other = done.projects.create("Other", by=done.by)
    with pytest.raises(UsageError, match="of this project"):
        done.exports.make(other.id, "labels", by=done.by, run=done.run.id)


# Backup and restore


def rows_of(ws) -> dict:
    with ws._context.db.reading() as connection:
        found = {table.name: connection.execute(table.select()).all() for table in METADATA.sorted_tables}
    return {name: sorted((tuple(row) for row in rows), key=lambda row: repr(row[:2])) for name, rows in found.items()}


def test_a_backup_restores_everything_into_either_database(done, tmp_path, request, monkeypatch):
    monkeypatch.setattr("isthmus.workspace.backup._BLOCK", 20)  # several statements
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by)
    done.exports.make(done.project.id, "labels", by=done.by, run=done.run.id)
    made = done.backup(tmp_path / "saved.tar")
    assert made["tables"]["documents"] == 54
    with pytest.raises(DataError, match="exists"):
        done.backup(tmp_path / "saved.tar")
    # Into the same kind of database, into the other kind, and from there back.
    other = None if done.database_url.startswith("postgres") else request.getfixturevalue("postgres").make()
    same = request.getfixturevalue("postgres").make() if other is None else None
    before, saved = rows_of(done), tmp_path / "saved.tar"
    for number, url in enumerate((same, other, same and request.getfixturevalue("postgres").make())):
        folder = tmp_path / f"restored{number}"
        restore_workspace(saved, folder, url)
        with open_workspace(folder, url) as copy:
            assert copy.check(thorough=True) == []
            assert rows_of(copy) == before
            saved = tmp_path / f"saved{number}.tar"
            copy.backup(saved)
            copy.answers.give(document, "price", by=done.by)  # the counters go on
            if number == 1:
                taught = copy.runs.teach(done.run.id, by=done.by)
                work(copy, until_idle=True)
                assert copy.runs.get(taught.id).state == "done", copy.runs.get(taught.id).error
        with pytest.raises(UsageError, match="not empty"):
            restore_workspace(saved, folder, url)


def test_a_backup_of_an_earlier_form_is_brought_up_to_date(tmp_path, database, monkeypatch):
    """A workspace as version 0001 of its tables left it: opened, and restored from its backup."""
    url = database or f"sqlite:///{tmp_path / 'old.db'}"
    old = Database(url)
    old.migrate("0001")
    with old.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO people (id, name, folded_name, role, session_key, disabled, created_at)"
            " VALUES ('1', 'Kim', 'kim', 'owner', 'k', false, '2026-01-01 00:00:00')"
        )
        connection.exec_driver_sql(
            "INSERT INTO projects (id, name, created_by, created_at)"
            " VALUES ('2', 'Dealers', '1', '2026-01-02 00:00:00')"
        )
    later = ("ended_sessions", "second_readings", "hands")  # came with later forms
    known = [table for table in METADATA.sorted_tables if table.name not in later]
    monkeypatch.setattr("isthmus.workspace.backup.METADATA", SimpleNamespace(sorted_tables=known))
    monkeypatch.setattr("isthmus.workspace.backup._dump", dump_plainly)
    write_backup(Context(old, tmp_path / "nothing"), tmp_path / "old.tar")
    old.close()
    monkeypatch.undo()
    restore_workspace(tmp_path / "old.tar", tmp_path / "restored")
    for place in ((tmp_path / "opened", url), (tmp_path / "restored", None)):
        with open_workspace(*place) as ws:
            (project,) = ws.projects.list()
            assert (project.name, project.second_reading) == ("Dealers", 0.0)
            assert ws.check() == []


def test_what_an_earlier_queue_drew_at_random_stays_random(tmp_path, database):
    """Before 0005 only the reason told; a workspace of that time keeps its meaning."""
    url = database or f"sqlite:///{tmp_path / 'old.db'}"
    old = Database(url)
    old.migrate("0004")
    at = "'2026-01-01 00:00:00'"
    reasons = ("names alone; drawn at random, to measure labels by names alone", "price (0.5) or staff (0.4)", "")
    with old.writing() as connection:
        for statement in (
            f"people (id, name, folded_name, role, session_key, disabled, created_at)"
            f" VALUES ('1', 'Kim', 'kim', 'owner', 'k', false, {at})",
            f"projects (id, name, created_by, created_at) VALUES ('2', 'Dealers', '1', {at})",
            f"files (sha256, size, created_at) VALUES ('f', 1, {at})",
            "collections (id, project_id, name, ending, kind, sha256, state, preview, documents, labelled, created_by,"
            f" created_at) VALUES ('3', '2', 'a.csv', '.csv', 'target', 'f', 'ready', '{{}}', 3, 0, '1', {at})",
            "runs (id, project_id, number, kind, name, state, target_id, parameters, record, created_by, created_at)"
            f" VALUES ('4', '2', 1, 'label', 'Run 1', 'done', '3', '{{}}', '{{}}', '1', {at})",
        ):
            connection.exec_driver_sql(f"INSERT INTO {statement}")
        for row, reason in enumerate(reasons):
            connection.exec_driver_sql(
                "INSERT INTO documents (id, collection_id, position, name, text)"
                f" VALUES ('d{row}', '3', {row}, '{row}', 'rude')"
            )
            connection.exec_driver_sql(
                "INSERT INTO predictions (run_id, position, document_id, label, confidence, needs_review, second,"
                " second_confidence, novel_group, near, rank, reason, state, asked_at)"
                f" VALUES ('4', {row}, 'd{row}', 'staff', 0.5, true, '', 0, '', '[]', {row}, '{reason}', 'open', {at})"
            )
    old.close()
    with open_workspace(tmp_path / "opened", url) as ws:
        given = [ws.answers.give(f"d{row}", "staff", by="1", run="4").drawn for row in range(len(reasons))]
    assert given == ["random", "asked", "asked"]


def dump_plainly(connection, table):
    """Rows of a table that may lack columns of today."""
    columns = [column["name"] for column in sa.inspect(connection).get_columns(table.name)]
    for row in connection.execute(sa.select(*(table.c[name] for name in columns))):
        cells = {name: _to_json(row._mapping[name]) for name in columns}
        yield json.dumps(cells).encode() + b"\n"


def test_a_damaged_backup_is_refused_and_writes_nothing(done, tmp_path):
    done.backup(tmp_path / "saved.tar")
    data = (tmp_path / "saved.tar").read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(data[: len(data) // 2])
    changed = tmp_path / "changed.tar"
    changed.write_bytes(data.replace(b"impolite staff in the car", b"impolite staff in the cat", 1))
    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w") as archive:
        manifest = {"format": 1, "revision": "0001", "tables": {}, "files": {"../../escaped": "0" * 64}}
        for name, content in (("manifest.json", json.dumps(manifest).encode()), ("../../escaped", b"x")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    for path in (cut, changed, evil, *_made_up(data, tmp_path)):
        with pytest.raises(DataError) as error:
            restore_workspace(path, tmp_path / "new")
        assert error.value.code == "bad-workspace"
        assert not (tmp_path / "new").exists(), f"{path.name} left something behind"


def _made_up(data, folder):
    """Backups whose sums are right and whose content is not: tables of the future, a strange column, a wrong value."""

    def forge(name, change):
        with tarfile.open(fileobj=io.BytesIO(data)) as old:
            parts = {member.name: old.extractfile(member).read() for member in old.getmembers()}
        manifest = json.loads(parts["manifest.json"])
        change(manifest, parts)
        for table, kept in manifest["tables"].items():
            kept["sha256"] = hashlib.sha256(parts[f"tables/{table}.jsonl"]).hexdigest()
        parts["manifest.json"] = json.dumps(manifest).encode()
        with tarfile.open(folder / name, "w") as new:
            for part, content in parts.items():
                entry = tarfile.TarInfo(part)
                entry.size = len(content)
                new.addfile(entry, io.BytesIO(content))
        return folder / name

    def rows(old, new):
        def change(manifest, parts):
            assert old in parts["tables/documents.jsonl"]
            parts["tables/documents.jsonl"] = parts["tables/documents.jsonl"].replace(old, new)

        return change

    return [
        forge("future.tar", lambda manifest, parts: manifest.update(revision="ffff")),
        forge("column.tar", rows(b'"position"', b'"place"')),
        forge("value.tar", rows(b'"position":1,', b'"position":null,')),
        forge("json.tar", rows(b"}", b"")),
    ]


def test_the_check_finds_what_is_broken(done):
    assert done.check(thorough=True) == []
    target = done.collections.list(done.project.id, kind="target")[0]
    done.files.path(target.sha256).write_bytes(b"something else")
    shutil.rmtree(done.folder / "models")
    with done._context.db.writing() as connection:
        connection.execute(PREDICTIONS.delete().where(PREDICTIONS.c.position == 23))
        connection.execute(PREDICTIONS.update().where(PREDICTIONS.c.position == 3).values(state="done"))
    found = " ".join(done.check())
    for part in (
        "has changed since it was uploaded",
        "model of 'Run 1' is missing",
        "labels 23 of 24",
        "in a queue and answered",
    ):
        assert part in found
