"""Exports, backups, restoring and checking."""

import csv
import hashlib
import io
import json
import shutil
import tarfile

import pytest
import sqlalchemy as sa

import isthmus
from isthmus.corpus import read_table
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import open_workspace, restore_workspace, work
from isthmus.workspace.database import _MIGRATIONS as MIGRATIONS
from isthmus.workspace.database import utc_now
from isthmus.workspace.exports import _slug
from isthmus.workspace.schema import ANSWERS, COLLECTIONS, METADATA, PREDICTIONS


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
    assert less.name == made.name, "columns that are left out change the table, not its name"
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


LATER = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade():
    op.add_column("projects", sa.Column("colour", sa.String(20), server_default="red", nullable=False))
    op.execute("UPDATE projects SET colour = 'blue' WHERE name = 'Dealers'")
    op.create_table("notes", sa.Column("id", sa.String(32), primary_key=True))
"""


def test_a_workspace_of_an_earlier_form_is_brought_up_to_date(tmp_path, database, monkeypatch):
    """Made before the tables got a further form: opened, and restored from its backup, with its rows."""
    url = database or f"sqlite:///{tmp_path / 'old.db'}"
    with open_workspace(tmp_path / "old", url) as ws:
        kim = ws.people.create("Kim", None)
        ws.projects.create("Dealers", by=kim.id)
        ws.backup(tmp_path / "old.tar")
    later = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, later)
    (later / "versions" / "v0002_later.py").write_text(LATER)
    monkeypatch.setattr("isthmus.workspace.database._MIGRATIONS", later)
    restore_workspace(tmp_path / "old.tar", tmp_path / "restored")
    for place in ((tmp_path / "opened", url), (tmp_path / "restored", None)):
        with open_workspace(*place) as ws:
            assert [project.name for project in ws.projects.list(kim.id)] == ["Dealers"]
            assert ws.check() == []
            assert ws._context.db.revision() == "0002"
            with ws._context.db.reading() as connection:
                assert connection.connection().exec_driver_sql("SELECT colour FROM projects").scalar() == "blue"
                assert "notes" in sa.inspect(connection.connection()).get_table_names()
    monkeypatch.undo()
    with pytest.raises(DataError, match="newer version"):
        open_workspace(tmp_path / "opened", url)


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


def _forge(data, path, change):
    """A backup like this one but for a change, with the right sums."""
    with tarfile.open(fileobj=io.BytesIO(data)) as old:
        parts = {member.name: old.extractfile(member).read() for member in old.getmembers()}
    manifest = json.loads(parts["manifest.json"])
    change(manifest, parts)
    for table, kept in manifest["tables"].items():
        kept["sha256"] = hashlib.sha256(parts[f"tables/{table}.jsonl"]).hexdigest()
    parts["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(path, "w") as new:
        for part, content in parts.items():
            entry = tarfile.TarInfo(part)
            entry.size = len(content)
            new.addfile(entry, io.BytesIO(content))
    return path


def _made_up(data, folder):
    """Backups whose sums are right and whose content is not: tables of the future, a strange column, a wrong value."""

    def forge(name, change):
        return _forge(data, folder / name, change)

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


def test_an_export_is_named_by_its_project_and_run_and_is_told_when_its_file_is_gone(done):
    names = [
        done.exports.make(done.project.id, kind, by=done.by, run=run).name
        for kind, run in (("answers", None), ("answers", done.run.id), ("codebook", done.run.id))
    ]
    assert names == ["dealers-answers.csv", "dealers-run-1-answers.csv", "dealers-run-1-codebook.csv"]
    assert _slug("x" * 81) == "x" * 80
    made = done.exports.list(done.project.id)[0]
    done.exports.path(made.id).unlink()
    with pytest.raises(DataError, match="The file of this export is gone; make it again"):
        done.exports.path(made.id)


def test_a_backup_is_for_its_owner_and_replaces_another_only_by_force(done, tmp_path):
    path = tmp_path / "saved.tar"
    done.backup(path)
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by)
    assert done.backup(path, force=True)["tables"]["answers"] == 1
    assert path.stat().st_mode & 0o777 == 0o600, "it holds every text and every password's hash"
    (tmp_path / "new").mkdir()
    assert restore_workspace(path, tmp_path / "new")["tables"]["answers"] == 1, "into a folder that is empty"


def test_what_cannot_be_restored_leaves_what_was_there(done, tmp_path):
    done.backup(tmp_path / "saved.tar")
    data = (tmp_path / "saved.tar").read_bytes()
    with pytest.raises(DataError, match="There is no file") as error:
        restore_workspace(tmp_path / "none.tar", tmp_path / "new")
    assert error.value.code == "missing-file"
    newer = _forge(data, tmp_path / "newer.tar", lambda manifest, parts: manifest.update(format=2))
    with pytest.raises(DataError, match="was written by a newer version of isthmus; update isthmus"):
        restore_workspace(newer, tmp_path / "new")
    before = rows_of(done)
    with pytest.raises(UsageError, match="The database is not empty"):
        restore_workspace(tmp_path / "saved.tar", tmp_path / "new", done.database_url)
    assert rows_of(done) == before
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").mkdir()
    with pytest.raises(DataError, match="rows that do not fit"):
        restore_workspace(_made_up(data, tmp_path)[2], tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == [], "a folder that was there stays, as empty as it was"
    with pytest.raises(UsageError, match="is a file; a workspace is a folder"):
        open_workspace(tmp_path / "saved.tar")


def test_the_check_tells_what_is_gone_and_what_does_not_add_up(done):
    document = done.runs.predictions(done.run.id, limit=1)[0].document
    done.answers.give(document, "staff", by=done.by)
    made = done.exports.make(done.project.id, "labels", by=done.by, run=done.run.id)
    assert done.check() == []
    done.exports.path(made.id).unlink()
    with done._context.db.writing() as connection:
        connection.execute(COLLECTIONS.update().where(COLLECTIONS.c.kind == "target").values(documents=1_025))
        connection.execute(ANSWERS.update().values(undone_at=utc_now()))
    assert done.check() == [
        "The export 'dealers-run-1-labels.csv' is missing; it can be made again.",
        "'cars.csv' should have 1,025 documents and has 24.",
        "1 answer taken back and holding at once.",
    ]


def test_the_worker_makes_an_export_in_the_form_and_under_the_name_it_was_asked_for(done):
    lee, project = done.people.create("Lee", None, "reviewer").id, done.project.id
    asked = [("labels", done.run.id, ".jsonl"), ("answers", None, ".xlsx"), ("codebook", done.run.id, "")]
    jobs = [done.exports.start(project, kind, run=run, ending=ending, by=lee) for kind, run, ending in asked]
    work(done, until_idle=True)
    made = [done.exports.get(done.jobs.get(job.id).result["export"]) for job in jobs]
    found = [(row.kind, row.run, row.ending, row.created_by) for row in made]
    assert found == [(kind, run, ending or ".csv", lee) for kind, run, ending in asked]
    for wrong in (("labels", None, ""), ("report", done.run.id, ".csv"), ("nonsense", None, "")):
        with pytest.raises((DataError, UsageError)):
            done.exports.start(project, wrong[0], run=wrong[1], ending=wrong[2], by=lee)
    assert done.jobs.claim() is None, "what is refused does not wait for the worker"


def test_a_workspace_on_a_read_only_disk_is_read_and_backed_up(tmp_path, monkeypatch):
    with open_workspace(tmp_path / "w") as ws:
        ws.people.create("Kim", None)
    monkeypatch.setattr("isthmus.workspace.database.os.access", lambda path, mode: "workspace.db" not in str(path))
    with open_workspace(tmp_path / "w") as ws:
        assert ws.backup(tmp_path / "saved.tar")["tables"]["people"] == 1
        with pytest.raises(DataError, match="read-only"):
            ws.people.create("Lee", None)
    # Transactions that only the write-ahead log holds would be missing from the backup.
    (tmp_path / "w" / "workspace.db-wal").write_bytes(b"x")
    with pytest.raises(DataError, match="read-only"):
        open_workspace(tmp_path / "w")
