"""Files that come in: good, odd and hostile."""

import gzip
import io
import os
import time
import zipfile

import pytest
import xlsxwriter

from isthmus.corpus.limits import unpacking_at_most
from isthmus.corpus.read import read_whole
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


def test_columns_that_are_refused_leave_the_earlier_choice(place, source_csv):
    ws, project, by = place
    found = ws.collections.add(project, "bikes.csv", io.BytesIO(source_csv), kind="source", by=by)
    ready = ws.collections.map(found.id, text=["text"], label="label", id_column="id", by=by)
    events = ws.audit.events(project)
    for wrong in ({"text": ["text"], "label": "text"}, {"text": ["text"], "label": "nope"}):
        with pytest.raises((DataError, UsageError)):
            ws.collections.map(found.id, by=by, **wrong)
        assert ws.collections.get(found.id) == ready, "still ready to be labelled from, with the columns of before"
        assert ws.audit.events(project) == events, "nothing was mapped"


def test_a_method_that_reads_no_names_is_refused_before_the_run(done):
    with pytest.raises(UsageError, match="'nbc' does not read names of classes"):
        done.runs.start(done.project.id, {"method": "nbc", "classes": ["parking: garage"]}, by=done.by)


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
    stored = {path for path in made if "workspace.db" not in path.name}
    assert stored == {ws.files.path(found.sha256)}


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
    assert [path for path in ws.files.folder.rglob("*") if path.is_file()] == []


def test_files_that_nothing_refers_to_are_counted_left_out_of_backups_and_swept(place, source_csv, tmp_path):
    ws, project, by = place
    kept = ws.collections.add(project, "kept.csv", io.BytesIO(source_csv), kind="source", by=by)
    for age, name in ((2 * 86_400, "aa" * 32), (0, "bb" * 32)):
        orphan = ws.files.path(name)
        orphan.parent.mkdir(exist_ok=True)
        orphan.write_bytes(b"x" * 2**20)
        os.utime(orphan, (time.time() - age,) * 2)
    assert ws.check() == [
        "1 file of uploads that were refused or interrupted (1.0 MiB); they are removed when isthmus serve starts."
    ]
    assert ws.backup(tmp_path / "saved.tar")["files"] == 1
    assert (tmp_path / "saved.tar").stat().st_mode & 0o777 == 0o600
    ws.sweep()
    assert ws.check() == []
    assert ws.files.path(kept.sha256).exists()
    assert ws.files.path("bb" * 32).exists()  # perhaps on its way into a collection


def test_texts_that_a_database_cannot_hold_are_mended(place, add_file):
    ws, project, by = place
    data = b'{"text": "half \\ud800 a pair \\u0000 and nul"}\n{"text": "plain"}\n'
    found = add_file(ws, project, "odd.jsonl", data, "target", by)
    text = ws.documents.page(found.id)[0].text
    assert "\x00" not in text
    text.encode()


def workbook(**sheets):
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                sheet.write_row(i, 0, row)
    return buffer.getvalue()


def test_the_sheets_of_a_workbook_can_be_looked_at_and_one_is_read(place):
    ws, project, by = place
    book = workbook(
        Notes=[["nothing here"]],
        May=[["respondent", "comment"], ["r1", "kind staff in May"], ["r2", "dear"]],
        June=[["who", "remark"], ["r2", "rude clerk in June"]],
    )
    found = ws.collections.add(project, "survey.xlsx", io.BytesIO(book), kind="target", by=by)
    first = ws.collections.preview(found.id)
    assert (first["sheets"], first["sheet"]) == (["Notes", "May", "June"], "May")  # the first holds no documents
    assert first["guesses"] == {"text": ["comment"], "label": None, "id": "respondent"}
    assert ws.collections.preview(found.id, sheet="June")["guesses"]["text"] == ["remark"]
    with pytest.raises(DataError, match="its sheets are: Notes, May, June"):
        ws.collections.preview(found.id, sheet="July")
    ws.collections.map(found.id, text=["remark"], sheet="June", by=by)
    assert [row.text for row in ws.documents.page(found.id)] == ["rude clerk in June"]
    ws.collections.map(found.id, text=["comment"], id_column="respondent", by=by)
    assert [row.name for row in ws.documents.page(found.id)] == ["r1", "r2"]
    assert ws.collections.table(found.id)["comment"] == ["kind staff in May", "dear"]


@pytest.mark.parametrize("data", [b"", b" \n"], ids=["nothing", "blanks"])
def test_a_workbook_without_content_is_refused_and_not_searched_for_ever(place, data, monkeypatch):
    """Every sheet of it was called empty, so the search for the first that holds anything never ended."""
    ws, project, by = place
    tried = []

    def counted(*args, **options):
        tried.append(options["sheet"])
        assert len(tried) < 1_000, "sheets are looked at without end"
        return read_whole(*args, **options)

    monkeypatch.setattr("isthmus.workspace.collections.read_whole", counted)
    with pytest.raises(DataError, match="is empty") as refused:
        ws.collections.add(project, "survey.xlsx", io.BytesIO(data), kind="target", by=by)
    assert refused.value.code == "empty-file"


def test_a_file_of_the_size_that_is_read_at_once_is_read_at_once(place, source_csv, monkeypatch):
    ws, project, by = place
    found = ws.collections.add(project, "a.csv", io.BytesIO(source_csv), kind="source", by=by, limit=len(source_csv))
    monkeypatch.setattr("isthmus.workspace.collections.INLINE", len(source_csv))
    assert ws.collections.map(found.id, text=["text"], label="label", by=by).state == "ready"
    monkeypatch.setattr("isthmus.workspace.collections.INLINE", len(source_csv) - 1)
    assert ws.collections.map(found.id, text=["text"], label="label", by=by).state == "reading"
    with pytest.raises(DataError) as error:
        ws.collections.add(project, "b.csv", io.BytesIO(source_csv), kind="source", by=by, limit=len(source_csv) - 1)
    assert error.value.code == "too-large"


def test_a_file_can_be_given_another_part_with_its_columns(place, source_csv):
    ws, project, by = place
    found = ws.collections.add(project, "bikes.csv", io.BytesIO(source_csv), kind="source", by=by)
    assert ws.collections.map(found.id, text=["text"], label="label", by=by).kind == "source"
    turned = ws.collections.map(found.id, text=["text"], kind="target", by=by)
    assert (turned.kind, turned.labelled) == ("target", 0)
    assert ws.words.touches(project, "clerk")["documents"] == 5, "the texts of a target can be searched"
    for nothing in ([], [1], ["text", 1]):
        with pytest.raises(UsageError, match="No text column is named"):
            ws.collections.map(found.id, text=nothing, by=by)
    with pytest.raises(UsageError, match="kind of the collection"):
        ws.collections.map(found.id, text=["text"], kind="both", by=by)


def test_of_a_very_wide_file_two_hundred_columns_are_shown_and_all_can_be_named(place):
    ws, project, by = place
    names = [f"c{i}" for i in range(203)]
    rows = [",".join(names), ",".join([*(str(i) for i in range(202)), "kind staff of the shop"])]
    found = ws.collections.add(project, "wide.csv", io.BytesIO("\n".join(rows).encode()), kind="target", by=by)
    preview = ws.collections.preview(found.id)
    assert [column["name"] for column in preview["columns"]] == names[:200]
    assert preview["more_columns"] == 3
    assert len(preview["rows"][0]) == 200
    ws.collections.map(found.id, text=["c202"], by=by)
    assert ws.documents.page(found.id)[0].text == "kind staff of the shop"


def test_a_name_of_a_document_is_cut_to_what_the_database_takes(place, add_file):
    ws, project, by = place
    names = ["n" * 501, "m" * 500]
    table = "id,text\n" + "".join(f"{name},kind staff of the shop {i}\n" for i, name in enumerate(names))
    found = add_file(ws, project, "long.csv", table, "target", by, id_column="id", text=["text"], label=None)
    assert [row.name for row in ws.documents.page(found.id)] == ["n" * 500, "m" * 500]
