"""Files that come in: good, odd and hostile."""

import gzip
import io
import zipfile

import pytest

from isthmus.corpus.limits import unpacking_at_most
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace import work


@pytest.fixture
def place(ws):
    by = ws.people.local().id
    return ws, ws.projects.create("Files", by=by).id, by


def test_a_file_is_previewed_mapped_and_kept_once(place, source_csv):
    ws, project, by = place
    first = ws.collections.add(project, "bikes.csv", io.BytesIO(source_csv), kind="source", by=by)
    preview = ws.collections.preview(first.id)
    assert preview["guesses"] == {"text": ["text"], "label": "label", "id": "id"}
    assert [column["name"] for column in preview["columns"]] == ["id", "text", "label"]
    assert preview["n_rows"] == 30
    assert len(preview["rows"]) == 10
    assert first.state == "new"
    second = ws.collections.add(project, "again.csv", io.BytesIO(source_csv), kind="extra", by=by)
    assert second.sha256 == first.sha256
    assert len([path for path in ws.files.folder.rglob("*") if path.is_file()]) == 1
    ready = ws.collections.map(first.id, text=["text"], label="label", id_column="id", by=by)
    assert (ready.state, ready.documents, ready.labelled) == ("ready", 30, 30)
    assert ready.facts["classes"] == {"staff": 10, "product": 10, "price": 10}


def test_a_large_file_is_read_by_the_worker(place, add_file, source_csv, monkeypatch):
    ws, project, by = place
    monkeypatch.setattr("isthmus.workspace.collections.INLINE", 10)
    found = add_file(ws, project, "bikes.csv", source_csv, "source", by)
    assert found.state == "reading"
    assert work(ws, until_idle=True) == 1
    assert ws.collections.get(found.id).documents == 30


def test_other_columns_can_be_mapped_until_a_run_uses_them(done, add_file):
    found = add_file(done, done.project.id, "more.csv", "a,b\none text here,other words\n", "extra", done.by)
    again = done.collections.map(found.id, text=["a", "b"], by=done.by)
    assert done.documents.page(again.id)[0].text == "one text here other words"
    target = done.collections.list(done.project.id, kind="target")[0]
    with pytest.raises(UsageError, match="used in a run"):
        done.collections.map(target.id, text=["comment"], by=done.by)


def test_a_file_without_a_text_column_can_be_looked_at(place):
    ws, project, by = place
    found = ws.collections.add(project, "numbers.csv", io.BytesIO(b"n,m\n1,2\n3,4\n"), kind="target", by=by)
    preview = ws.collections.preview(found.id)
    assert "numbers.csv" in preview["problem"]
    assert [column["name"] for column in preview["columns"]] == ["n", "m"]
    with pytest.raises(DataError) as error:
        ws.collections.map(found.id, text=["k"], by=by)
    assert error.value.code == "unknown-column"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.csv", "/etc/passwd.csv", "..\\x.csv", "a\x00b.csv", "é" * 200 + ".csv"]
)
def test_no_name_of_a_client_becomes_a_path(place, name):
    ws, project, by = place
    before = {path for path in ws.folder.parent.rglob("*") if path.is_file()}
    found = ws.collections.add(project, name, io.BytesIO(b"text\na b c\n"), kind="target", by=by)
    assert "/" not in found.name
    assert "\x00" not in found.name
    made = {path for path in ws.folder.parent.rglob("*") if path.is_file()} - before
    assert {path for path in made if "workspace.db" not in path.name} == {ws.files.path(found.sha256)}


def test_what_cannot_be_read_is_refused_and_leaves_nothing(place):
    ws, project, by = place
    bomb = gzip.compress(b"text\n" + b"a" * 5_000_000)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 50_000_000)
    cases = [
        ("bomb.csv.gz", bomb, "too-large"),
        ("bomb.xlsx", book.getvalue(), None),
        ("program.exe", b"MZ", "unknown-format"),
        ("none", b"text\na\n", "unknown-format"),
        ("empty.csv", b"", "empty-file"),
        ("nul.csv", b"text\na\x00b\n", "nul-bytes"),
        ("long.csv", b"x" * 1001, "too-large"),
    ]
    for name, data, code in cases:
        limit = 1000 if name == "long.csv" else 10**8
        with unpacking_at_most(1_000_000), pytest.raises(DataError) as error:
            ws.collections.add(project, name, io.BytesIO(data), kind="target", by=by, limit=limit)
        assert code is None or error.value.code == code
        assert "upload" not in str(error.value)  # the name that people know
    assert ws.collections.list(project) == []
    assert not list(ws.files.folder.glob("incoming-*"))


def test_texts_that_a_database_cannot_hold_are_mended(place, add_file):
    ws, project, by = place
    data = b'{"text": "half \\ud800 a pair \\u0000 and nul"}\n{"text": "plain"}\n'
    found = add_file(ws, project, "odd.jsonl", data, "target", by)
    text = ws.documents.page(found.id)[0].text
    assert "\x00" not in text
    text.encode()
