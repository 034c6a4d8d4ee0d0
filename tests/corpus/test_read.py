"""Reading tables and folders: cells stay exact, guesses are told, bad files are refused with a code."""

import csv
import gzip
import io
import json

import polars as pl
import pytest

from isthmus.corpus import read_collection, write_rows
from isthmus.corpus.decode import decode
from isthmus.corpus.read import read_table
from isthmus.corpus.tables import read_csv
from isthmus.exceptions import DataError, UsageError


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(code, *args, **kwargs):
    with pytest.raises(DataError) as error:
        read_collection(*args, **kwargs)
    assert error.value.code == code
    return str(error.value)


# csv


def test_csv_cells_stay_as_they_are(tmp_path):
    path = put(tmp_path, "a.csv", 'id,text,label,n\n007,"one, two\nthree",NA,1.0\n008," x ",,1e5\n')
    docs = read_collection(path)
    assert docs.ids == ["007", "008"]
    assert docs.texts == ["one, two\nthree", " x "]
    assert docs.labels == ["NA", None]
    assert docs.columns == {"n": ["1.0", "1e5"]}
    assert list(docs.table()) == ["id", "text", "label", "n"]
    assert docs.table()["label"] == ["NA", ""]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path, delimiter):
    rows = [["id", "text", "label"], ["1", "well, that; was | something", "a"], ["2", "x", "b"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    docs = read_collection(put(tmp_path, "a.csv", out.getvalue()))
    assert docs.texts == ["well, that; was | something", "x"]
    assert docs.labels == ["a", "b"]


def test_semicolons_win_over_commas_in_the_text(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", "id;text;label\n1;a, b, c;x\n2;d, e;y\n3;f;x\n"))
    assert docs.texts == ["a, b, c", "d, e", "f"]
    assert any("semicolons" in note for note in docs.notes)


@pytest.mark.parametrize(("between", "inside"), [(",", ";"), (";", ","), ("\t", ",")])
def test_of_separators_that_fit_the_one_with_more_columns_wins(tmp_path, between, inside):
    rows = [
        ["id", f"the text{inside}as said", "label"],
        ["1", f"kind{inside}staff", "x"],
        ["2", f"fast{inside}bike", "y"],
    ]
    docs = read_collection(put(tmp_path, "a.csv", "\n".join(between.join(row) for row in rows)))
    assert list(docs.table().items()) == [(head, list(cells)) for head, *cells in zip(*rows, strict=True)]


def test_a_separator_that_fits_every_row_wins_over_one_with_more_columns(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", "text, as said, in full;label\na, b;x\nd;y\nf, g, h, i;x\n"))
    assert docs.table() == {"text, as said, in full": ["a, b", "d", "f, g, h, i"], "label": ["x", "y", "x"]}


def test_the_hash_of_a_folder_knows_the_names_of_its_files(tmp_path):
    """Without names, the same texts under swapped classes would be taken for the same input."""
    hashes = set()
    for place, folders in enumerate((("price", "staff"), ("staff", "price"), ("price", "service"))):
        for name, text in zip(folders, ("cheap", "kind"), strict=True):
            (tmp_path / str(place) / name).mkdir(parents=True)
            (tmp_path / str(place) / name / "a.txt").write_text(text)
        hashes.add(read_collection(tmp_path / str(place)).sha256)
    assert len(hashes) == 3


def test_the_line_that_excel_writes_first(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", "sep=;\r\nid;text\r\n1;a, b\r\n"))
    assert docs.table() == {"id": ["1"], "text": ["a, b"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path, end):
    docs = read_collection(put(tmp_path, "a.csv", end.join(["text,label", "one,a", "two,b", ""])))
    assert docs.texts == ["one", "two"]


def test_one_column_and_blank_lines(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", 'comment\nfirst one\n\n"second, one"\n'))
    assert docs.texts == ["first one", "second, one"]
    assert docs.ids == ["1", "2"]


def test_ragged_row_is_named_by_its_line(tmp_path):
    message = refused("unreadable-file", put(tmp_path, "a.csv", 'id,text\n1,"a\nb"\n2,c\n3,x,y\n4,d\n5,e\n'))
    assert "line 5" in message
    assert "3 cells" in message


def test_spare_empty_cells_are_dropped(tmp_path):
    assert read_collection(put(tmp_path, "a.csv", "id,text\n1,a b,,\n2,c d\n")).texts == ["a b", "c d"]


def test_open_quotation_is_refused(tmp_path):
    assert "line" in refused("unreadable-file", put(tmp_path, "a.csv", 'id,text\n1,"never closed\n2,b\n'))


def test_tsv_with_lone_quotation_marks(tmp_path):
    docs = read_collection(put(tmp_path, "a.tsv", 'id\ttext\n1\t"5 inch\n2\tfine\n'))
    assert docs.texts == ['"5 inch', "fine"]
    assert any("quotation marks" in note for note in docs.notes)


def test_a_million_characters_and_the_csv_limit_stays(tmp_path):
    before = csv.field_size_limit()
    docs = read_collection(put(tmp_path, "a.csv", "text,label\n" + "word " * 200_000 + ",a\nb,b\n"))
    assert len(docs.texts[0]) == 1_000_000
    assert csv.field_size_limit() == before


def test_header_names_are_made_unique(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", "text,note,note,\nabc def,1,2,3\n"))
    assert list(docs.table()) == ["text", "note", "note_2", "column_4"]
    assert sum("note" in note for note in docs.notes) == 1


# encodings

CHINESE = "编号,文本,标签\n1,今天天气很好我们去公园散步,天气\n2,股票市场上涨了百分之三,财经\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_chinese_encodings(tmp_path, encoding):
    docs = read_collection(put(tmp_path, "a.csv", CHINESE.encode(encoding)))
    assert docs.texts[1] == "股票市场上涨了百分之三"
    assert docs.labels == ["天气", "财经"]
    assert docs.encoding == encoding
    assert next(iter(docs.table())) == "编号"


@pytest.mark.parametrize("text", ["café naïve", "Größe über alles, schön", "“quoted” – it’s 5 €", "Año señor ¿qué?"])
def test_western_text_is_read_with_a_note(tmp_path, text):
    docs = read_collection(put(tmp_path, "a.csv", f'text\n"{text}"\n'.encode("cp1252")), text="text")
    assert docs.texts == [text]
    assert docs.encoding == "cp1252"
    assert "Windows-1252" in docs.notes[0]


@pytest.mark.parametrize(
    "data",
    [
        "text\ncafé très bien\nété déjà\n".encode() + b"caf\xe9\n",  # UTF-8 with one damaged byte
        b"text\nabc \xff\xfe\x81\x8d\x8f\n",
        b"text\n\xff\xfe\xfd\xff\xfe\xfd\n",
        b"\xef\xbb\xbftext\ncaf\xe9\n",
        b"\xff\xfet\x00e\x00x",  # UTF-16 cut in the middle of a character
    ],
    ids=["damaged byte in UTF-8", "no encoding", "unpaired marks", "damaged byte after a mark", "cut UTF-16"],
)
def test_broken_encodings_are_refused(tmp_path, data):
    assert "UTF-8" in refused("bad-encoding", put(tmp_path, "a.csv", data))


def test_broken_encoding_names_the_line():
    with pytest.raises(DataError, match="byte 0xe9 in line 3"):
        decode("é\nü\n".encode() + b"\xe9 ", "a.csv")


def test_nul_bytes_are_refused(tmp_path):
    assert "NUL" in refused("nul-bytes", put(tmp_path, "a.csv", b"text,label\nab\x00c,a\n"))


# other formats

ROWS = [
    {"id": "a1", "text": "one\u2028two", "label": "x", "n": 3},
    {"id": "a2", "text": "b", "label": None, "more": [1]},
]


def test_jsonl_splits_at_line_feeds_only(tmp_path):
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n\n"
    for name, content in (("a.jsonl", lines.encode()), ("a.jsonl.gz", gzip.compress(lines.encode()))):
        docs = read_collection(put(tmp_path, name, content))
        assert docs.texts == ["one\u2028two", "b"]
        assert docs.labels == ["x", None]
        assert docs.columns == {"n": [3, None], "more": [None, [1]]}


def test_json_array(tmp_path):
    docs = read_collection(put(tmp_path, "a.json", json.dumps(ROWS)))
    assert docs.ids == ["a1", "a2"]


def test_one_object_in_a_json_file_is_one_document(tmp_path):
    for indent in (None, 1):  # on one line, and on several
        docs = read_collection(put(tmp_path, "a.json", json.dumps(ROWS[0], indent=indent)))
        assert (docs.ids, docs.texts, docs.labels) == (["a1"], ["one\u2028two"], ["x"])


def test_half_a_surrogate_pair_is_replaced(tmp_path):
    for half in ("ud800", "uD800"):
        docs = read_collection(put(tmp_path, "a.jsonl", f'{{"text": "a \\{half} b"}}\n'))
        assert docs.texts == ["a \ufffd b"]


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "line 2"),
        ("a.jsonl", '["a"]\n', "line 1"),
        ("a.json", '[{"text": "a"}', "line 1"),
        ("a.json", "7", "array"),
        ("a.json", '[{"text": "a"}, 3]', "item 2: a JSON int was found"),
        ("a.csv", '"text,label\nkind,staff\n', "line"),
        ("a.parquet", "no parquet at all", "parquet"),
        ("a.xlsx", "no workbook at all", "xlsx"),
        ("a.csv.gz", gzip.compress(b"text\n" + bytes(range(65, 91)) * 50)[:-9], "gzip"),
    ],
    ids=[
        "cut line",
        "array in a line",
        "cut array",
        "number",
        "number in an array",
        "open header",
        "no parquet",
        "no workbook",
        "cut gzip",
    ],
)
def test_damaged_files(tmp_path, name, content, hint):
    assert hint in refused("unreadable-file", put(tmp_path, name, content))


def test_parquet_numbers_and_missing_values(tmp_path):
    frame = pl.DataFrame({"text": ["a b", None, "c"], "label": [1.0, None, 2.0], "v": [0.5, float("nan"), None]})
    frame.write_parquet(tmp_path / "a.parquet")
    docs = read_collection(tmp_path / "a.parquet")
    assert docs.texts == ["a b", "", "c"]
    assert docs.labels == ["1", None, "2"]


def test_numbers_in_a_text_column(tmp_path):
    pl.DataFrame({"text": [1.5, None, float("nan")], "label": ["a", "b", "a"]}).write_parquet(tmp_path / "a.parquet")
    assert read_collection(tmp_path / "a.parquet", text="text").texts == ["1.5", "", ""]


def test_xlsx_keeps_leading_zeros(tmp_path):
    write_rows(tmp_path / "a.xlsx", {"id": ["007", "008"], "text": ["=1+1", "b\nc"], "label": ["x", None]})
    docs = read_collection(tmp_path / "a.xlsx")
    assert (docs.ids, docs.texts, docs.labels) == (["007", "008"], ["=1+1", "b\nc"], ["x", None])


@pytest.mark.parametrize(
    "content",
    [b"text,label\none,a\ntwo,b\n", b'{"text": "one", "label": "a"}\n{"text": "two", "label": "b"}\n'],
    ids=["csv", "jsonl"],
)
def test_standard_input(content):
    for data in (content, gzip.compress(content)):
        docs = read_collection("-", stdin=io.BytesIO(data))
        assert docs.texts == ["one", "two"]
        assert docs.name == "standard input"
        assert docs.sha256 is not None


# columns


def test_wrong_column_lists_columns_and_the_closest(tmp_path):
    path = put(tmp_path, "a.csv", "id,comment,category\n1,fine,a\n2,bad,b\n")
    message = refused("unknown-column", path, text="coment")
    assert "id, comment, category" in message
    assert "Did you mean 'comment'" in message
    assert "'category'" in refused("unknown-column", path, label="Category")
    refused("unknown-column", path, id="nr")


def test_several_text_columns(tmp_path):
    path = put(tmp_path, "a.csv", "title,text,label\nHi,there,a\n,alone,b\n")
    assert read_collection(path, text="title,text").texts == ["Hi there", "alone"]
    assert read_collection(path, text=["text", "title"]).texts == ["there Hi", "alone"]
    assert read_collection(path).texts == ["there", "alone"]


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("id,comment,category", "comment", "category"),
        ("Review Text,Class,length", "Review Text", "Class"),
        ("text_id,customer comment,topics", "customer comment", "topics"),
        ("code,description,type", "description", "code"),
        ("foo,bar,baz", "bar", "baz"),
    ],
)
def test_guesses(tmp_path, header, text, label):
    rows = [f"a{i % 2},a longer remark number {i} about things,x{i % 2}" for i in range(8)]
    if label == "baz":
        rows = [f"k{i},a longer remark number {i} about things,x{i % 2}" for i in range(8)]
    docs = read_collection(put(tmp_path, "a.csv", "\n".join([header, *rows])), want_labels=True)
    assert any(f"{text!r} is taken as the text" in note for note in docs.notes)
    assert any(f"{label!r} is taken as the label" in note for note in docs.notes)


def test_names_that_only_resemble(tmp_path):
    rows = "".join(f"p{i},A. B.,a long account of matter {i} and more,{i}x\n" for i in range(8))
    docs = read_collection(put(tmp_path, "a.csv", "message id,comment author,Bericht,code\n" + rows))
    assert docs.texts[0].startswith("a long account")
    assert not docs.has_labels  # the codes are all different


def test_lists_are_no_labels(tmp_path):
    rows = [{"text": f"remark {i}", "tags": ["a", "b"], "category": "xy"[i % 2]} for i in range(4)]
    docs = read_collection(put(tmp_path, "a.json", json.dumps(rows)))
    assert docs.labels == ["x", "y", "x", "y"]


def test_no_guess_from_cells_unless_labels_are_wanted(tmp_path):
    path = put(tmp_path, "a.csv", "text,region\n" + "".join(f"remark {i},{'ns'[i % 2]}\n" for i in range(8)))
    assert not read_collection(path).has_labels
    assert read_collection(path, want_labels=True).has_labels


def test_labels_of_a_target_are_never_read(tmp_path):
    docs = read_collection(put(tmp_path, "a.csv", "text,label\none,a\n"), want_labels=False, label="label")
    assert docs.labels == [None]
    assert docs.columns == {"label": ["a"]}
    # The name of the source's label column may be missing in the target.
    assert read_collection(put(tmp_path, "b.csv", "text,n\none,1\n"), want_labels=False, label="label").labels == [None]


def test_no_label_column(tmp_path):
    message = refused("no-label-column", put(tmp_path, "a.csv", "id,text\n1,one two\n2,three\n"), want_labels=True)
    assert "label=COLUMN" in message


def test_all_labels_missing(tmp_path):
    refused("no-labels", put(tmp_path, "a.csv", "text,label\none,\ntwo, \n"), want_labels=True)


@pytest.mark.parametrize("want_labels", [True, "some"])
def test_a_source_whose_labelled_texts_are_all_empty_is_refused(tmp_path, want_labels):
    path = put(tmp_path, "a.csv", "text,label,more\n,x,kind\n \t,y,rude\nwords without a label,,z\n")
    assert "text=COLUMN" in refused("empty-vocabulary", path, text="text", label="label", want_labels=want_labels)
    assert read_collection(path, text="text", label="label").labels == ["x", "y", None]
    assert read_collection(path, text="more", label="label", want_labels=want_labels).texts[:2] == ["kind", "rude"]


def test_no_text_column(tmp_path):
    refused("no-text-column", put(tmp_path, "a.csv", "id,n\n1,2\n3,4\n"))


# files that are not what they should be


def test_empty_and_header_only(tmp_path):
    assert "empty" in refused("empty-file", put(tmp_path, "a.csv", ""))
    assert "empty" in refused("empty-file", put(tmp_path, "b.csv", "\n \n"))
    assert "no rows" in refused("empty-file", put(tmp_path, "c.csv", "id,text,label\n"))
    assert "empty" in refused("empty-file", put(tmp_path, "d.json", "[]"))
    refused("empty-file", put(tmp_path, "e.csv", b"\xef\xbb\xbf"))


def test_missing_file(tmp_path):
    assert "nothing.csv" in refused("missing-file", tmp_path / "nothing.csv")
    assert "does not exist" in refused("missing-file", tmp_path / "no" / "nothing.csv")
    refused("missing-file", put(tmp_path, "a.csv", "text\na b\n") / "b.csv")


def test_unknown_ending(tmp_path):
    path = put(tmp_path, "a.doc", "text,label\none,a\n")
    assert ".doc" in refused("unknown-format", path)
    assert read_collection(path, format="csv").texts == ["one"]
    with pytest.raises(UsageError, match="'word' is unknown"):
        read_collection(path, format="word")


# folders


def test_folder_with_a_sub_folder_per_label(tmp_path):
    for place, content in {
        "rec.autos/1": "bumper",
        "rec.autos/2": "caf\xe9 racer".encode("latin-1"),
        "sci.med/deep/3.txt": "fever",
        ".git/x": "hidden",
        "sci.med/photo.png": b"\x89PNG\x00\x00",
    }.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        put(tmp_path, place, content)
    docs = read_collection(tmp_path, want_labels=True)
    assert docs.ids == ["rec.autos/1", "rec.autos/2", "sci.med/deep/3.txt"]
    assert docs.texts == ["bumper", "café racer", "fever"]
    assert docs.labels == ["rec.autos", "rec.autos", "sci.med"]
    assert any("photo.png" in note for note in docs.notes)
    assert read_collection(tmp_path, want_labels=False).labels == [None] * 3


def test_folder_where_a_file_was_expected(tmp_path):
    assert "is a folder" in refused("not-a-file", tmp_path)
    put(tmp_path, "source.csv", "text,label\na,b\n")
    put(tmp_path, "manifest.json", "{}")  # a run in blocks writes one; no table
    assert "source.csv" in refused("not-a-file", tmp_path)


def test_folder_without_sub_folders_has_no_labels(tmp_path):
    put(tmp_path, "a.txt", "words")
    assert "sub-folder" in refused("no-label-column", tmp_path, want_labels=True)
    assert read_collection(tmp_path).texts == ["words"]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"text": "a", "n": ' + "9" * 5_000 + "}"])
def test_monstrous_json_is_refused_in_a_sentence(tmp_path, line):
    path = tmp_path / "deep.jsonl"
    path.write_text(line)
    with pytest.raises(DataError) as caught:
        read_collection(path)
    assert caught.value.code == "unreadable-file"


@pytest.mark.parametrize("name", ["answers.csv", "answers.xlsx"])
def test_a_table_of_answers_that_is_empty_is_told_so(tmp_path, name):
    (tmp_path / name).write_bytes(b" \n")
    with pytest.raises(DataError, match=f"{name} is empty; a table with a header is expected") as refused:
        read_table(tmp_path / name)
    assert refused.value.code == "empty-file"


def test_damaged_utf8_is_refused_if_more_than_half_of_it_is_sound():
    """As many broken as sound sequences were taken for most."""
    sound, broken = "é".encode(), "ü".encode("cp1252")
    assert decode(b" ".join([sound, broken]), "x")[1] == "cp1252"
    with pytest.raises(DataError) as error:
        decode(b" ".join([sound, sound, broken]), "x")
    assert error.value.code == "bad-encoding"


def test_the_last_character_of_ascii_does_not_count_for_an_encoding():
    """Counted with the letters above ASCII, a few of them would hide that these are Western."""
    assert decode("café \x7f\x7f\x7f\x7f".encode("cp1252"), "x")[1] == "cp1252"


def test_a_sheet_asked_for_in_a_file_without_sheets_is_no_matter(tmp_path):
    """Bytes and name of the file swapped on that way."""
    table = tmp_path / "answers.csv"
    table.write_text("document,label\n1,price\n", encoding="utf-8")
    assert read_table(table, sheet="review") == {"document": ["1"], "label": ["price"]}


def test_a_header_is_found_below_many_empty_rows(tmp_path):
    assert read_collection(put(tmp_path, "a.csv", ",\n" * 60 + "text,label\nkind,staff\n")).texts == ["kind"]
    for text in (",\n" * 60, "\n\n\n", ",\n,\n"):
        assert "empty" in refused("empty-file", put(tmp_path, "a.csv", text))


def test_the_first_byte_may_be_the_one_that_is_no_text():
    with pytest.raises(DataError, match="the first at position 0") as caught:
        decode(b"\0text,label\nkind,staff\n", "a.csv")
    assert caught.value.code == "nul-bytes"


def test_a_cell_that_the_end_of_a_piece_leaves_open_says_nothing_about_quotation_marks():
    text = 'text\tlabel\nrude\tstaff\n"kind\nand'
    assert read_csv(text, "a.tsv", "tsv", cut=True)[0].quotes
    assert not read_csv(text, "a.tsv", "tsv")[0].quotes, "a whole file has a lone mark there"


def test_no_sheet_of_a_workbook_is_filled_in(tmp_path):
    """The first one is read then, whatever the others hold."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "answers.xlsx") as book:
        for title, number in (("one", "7"), ("two", "8")):
            sheet = book.add_worksheet(title)
            sheet.write_row(0, 0, ["id", "true_label"])
            sheet.write_row(1, 0, [number, ""])
            sheet.write_row(2, 0, ["9", ""])
    assert read_table(tmp_path / "answers.xlsx", filled="true_label")["id"] == ["7", "9"]
    assert read_table(tmp_path / "answers.xlsx", sheet="two", filled="true_label")["id"] == ["8", "9"]
    assert read_table(tmp_path / "answers.xlsx", sheet="gone", filled="true_label")["id"] == ["7", "9"]


def test_a_workbook_of_one_sheet_with_a_header_alone_names_no_others(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        book.add_worksheet().write_row(0, 0, ["text", "label"])
    with pytest.raises(DataError) as caught:
        read_collection(tmp_path / "a.xlsx")
    assert caught.value.code == "empty-file"
    assert "sheet" not in str(caught.value)


def test_a_folder_of_no_texts_and_a_closed_standard_input_are_refused(tmp_path, monkeypatch):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_bytes(b"\xff\xd8\0\0")
    assert "no text files can be read from it" in refused("not-a-file", tmp_path / "photos")
    monkeypatch.setattr("sys.stdin", None)
    assert "Standard input is closed" in refused("missing-file", "-")
