"""Hostile file names and cells through the commands: they stay text everywhere, and nothing breaks."""

import base64
import csv
import hashlib
import html
import io
import json
import os
import re
from pathlib import Path

import pytest
from made_texts import COMMENTS as ROWS

from isthmus.cli import blocks
from isthmus.cli.app import run_command
from isthmus.corpus import read_collection, write_rows

STEMS = {
    "markup": "<script>alert(1)<b>",
    "quotes": "\"quoted' & name",
    "formula": "=cmd|' calc'!A0",
    "line breaks": "two\nlines\r\there",
    "control": "bell\x07\x1b[31mred\u202e",
    "not UTF-8": os.fsdecode(b"caf\xe9"),
    "long": "日" * 75,
}
SOURCE = "id,comment,category\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(ROWS * 3))
TARGET = "id,comment\n" + "".join(f"{i},{text} today\n" for i, (text, _) in enumerate(ROWS * 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_harmless(text):
    """Whether a terminal shows the text and does nothing else."""
    return all(char.isprintable() or char == "\n" for char in text)


def check_page(path):
    page = path.read_text(encoding="utf-8")
    # One known script, allowed by its hash, and the data as JSON in which no markup can begin; nothing else.
    code = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    assert len(code) == 1
    allowed = base64.b64encode(hashlib.sha256(code[0].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{allowed}&#39;" in page or f"script-src 'sha256-{allowed}'" in page
    data = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.S)
    assert page.count("<script") == 1 + len(data)
    assert not any("<" in part for part in data)
    shown = re.sub(r"<script.*?</script>", "", page.partition("</style>")[2], flags=re.S)
    assert not re.search(r"<b>|\son\w+=", shown.replace("style=", ""))
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", page)
    return html.unescape(page)


@pytest.fixture(params=list(STEMS))
def names(request, folder):
    stem = STEMS[request.param]
    try:
        Path(f"{stem}.csv").write_text(SOURCE)
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    Path(f"{stem} t.csv").write_text(TARGET)
    return stem


def test_label(names, capsys):
    files = [f"{names}.csv", f"{names} t.csv"]
    options = ["--method", "nbc", "-o", f"./{names} o.csv", "--report", f"./{names}.html", "--json"]
    assert run_command(["label", *files, *options]) == 0
    talk = capsys.readouterr()
    assert is_harmless(talk.err)
    assert "18 documents" in talk.err
    summary = json.loads(talk.out)
    assert len(summary["files"]) == 3
    talk.out.encode()
    record = json.loads(Path("run.json").read_text(encoding="utf-8"))
    assert [len(entry["sha256"]) for entry in record["inputs"]] == [64, 64]
    page = check_page(Path(f"{names}.html"))
    if names.isprintable():
        assert f"Isthmus: labels of {names} t.csv" in page
        assert record["inputs"][0]["path"] == files[0]
        assert record["output"] == f"{names} o.csv"
    assert len(list(csv.DictReader(io.StringIO(Path(f"{names} o.csv").read_text())))) == 12


def test_cluster(names, capsys):
    options = ["--clusters", "2", "-o", f"./{names} o.jsonl", "--report", f"./{names}.html", "--json"]
    assert run_command(["cluster", f"{names}.csv", f"{names} t.csv", *options]) == 0
    talk = capsys.readouterr()
    assert is_harmless(talk.err)
    assert json.loads(talk.out)["target_documents"] == 12
    check_page(Path(f"{names}.html"))


def test_diagnose(names, capsys):
    files = [f"{names}.csv", f"{names} t.csv"]
    assert run_command(["diagnose", *files, "--report", f"./{names}.html", "--json"]) == 0
    talk = capsys.readouterr()
    assert is_harmless(talk.err)
    assert json.loads(talk.out)["settings"]["source"]
    check_page(Path(f"{names}.html"))
    assert run_command(["diagnose", *files]) == 0
    assert is_harmless(capsys.readouterr().out)


def test_saved_models_and_words(names, capsys):
    Path(f"{names} w.csv").write_text("word,label\nfriendly,staff\n")
    model = f"./{names}.isthmus"
    options = ["--method", "dual-factor", "--words", f"{names} w.csv", "-o", "o.csv", "--save", model]
    assert run_command(["label", f"{names}.csv", f"{names} t.csv", *options]) == 0
    assert run_command(["label", "--model", model, f"{names} t.csv", "-o", "p.csv", "--report", "p.html"]) == 0
    assert run_command(["explain", model, "--document", "1", "--json"]) == 0
    check_page(Path("p.html"))
    talk = capsys.readouterr()
    assert is_harmless(talk.err)


def test_refusals_name_the_file_in_one_line(names, capsys):
    Path(f"{names}.csv").write_bytes(b"id,comment,category\n1,a\0b,x\n")
    for command in ("label", "cluster", "diagnose"):
        assert run_command([command, f"{names}.csv", f"{names} t.csv"]) == 1
        talk = capsys.readouterr().err
        assert is_harmless(talk)
        assert "[nul-bytes]" in talk.splitlines()[-1]
        assert run_command([command, f"no {names}.csv", f"{names} t.csv"]) == 1
        talk = capsys.readouterr().err
        assert is_harmless(talk)
        assert "[missing-file]" in talk.splitlines()[-1]


def test_folders_with_hostile_names(folder, capsys):
    for number, (text, _) in enumerate(ROWS * 2):
        place = Path("source", [STEMS["not UTF-8"], STEMS["markup"]][number % 2])
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}{STEMS['line breaks']}").write_text(text)
    Path("target.csv").write_text(TARGET)
    options = ["--method", "nbc", "-o", "out.xlsx", "--report", "page.html", "--json"]
    assert run_command(["label", "source", "target.csv", *options]) == 0
    talk = capsys.readouterr()
    assert set(json.loads(talk.out)["labels"]) == {"caf\ufffd", STEMS["markup"]}
    assert is_harmless(talk.err)
    check_page(Path("page.html"))


# Cells


FORMULAS = ["=1+1", "+2 staff", "-price", "@price", "\tstaff", "-1"]


@pytest.fixture
def hostile_cells(folder):
    write_rows("source.csv", {"id": list("123456"), "comment": [text for text, _ in ROWS],
                              "category": ["=staff()", "-price"] * 3})  # fmt: skip
    texts = [f"=friendly staff {number}" if number % 2 else f"=high price {number}" for number in range(len(FORMULAS))]
    write_rows("target.csv", {"id": FORMULAS, "comment": texts, "+extra": FORMULAS})
    return folder


GUARDED = 1 + 5 + 6 + 5 + 6  # a column name, ids, texts, the extra column, the labels


def label(*more, method="nbc"):
    return run_command(["label", "source.csv", "target.csv", "--method", method, *more])


def started_by(cells):
    return [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and not re.fullmatch(r"-[0-9.]+", cell)]


def cells_of(text, delimiter=","):
    return [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for cell in row]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz"])
def test_tables_are_safe_for_spreadsheets_and_say_so(hostile_cells, capsys, name):
    assert label("-o", name) == 0
    talk = capsys.readouterr().err
    assert f"note: {GUARDED} cells" in talk
    assert "--exact" in talk
    assert "[guarded-cells]" in talk
    docs = read_collection(name, text="comment", label="label")
    cells = [*docs.table(), *(cell for column in docs.table().values() for cell in column)]
    assert started_by(cells) == ["+extra"]  # the reader gives the column its own name back
    assert docs.ids == FORMULAS
    assert set(docs.labels) <= {"=staff()", "-price"}


def test_standard_output_is_safe_too_and_quiet_is_quiet(hostile_cells, capfdbinary):
    assert label("--quiet") == 0
    out, err = capfdbinary.readouterr()
    assert started_by(cells_of(out.decode())) == []
    assert err == b""


def test_exact_keeps_texts_byte_for_byte(hostile_cells, capsys):
    assert label("-o", "out.csv", "--exact") == 0
    assert "apostrophe" not in capsys.readouterr().err
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_bytes().decode(), newline="")))
    assert [row["id"] for row in rows] == [row["+extra"] for row in rows] == FORMULAS
    assert json.loads(Path("run.json").read_text())["options"]["exact"] is True


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.xlsx"])
def test_other_formats_hold_the_texts_as_they_are(hostile_cells, capsys, name):
    assert label("-o", name) == 0
    assert "apostrophe" not in capsys.readouterr().err
    table = read_collection(name, text="comment").table()
    assert table["id"] == table["+extra"] == FORMULAS
    assert set(table["label"]) <= {"=staff()", "-price"}


def test_large_files_obey_the_same_rule(hostile_cells, capsys, monkeypatch):
    monkeypatch.setattr(blocks, "STREAM_BYTES", 0)
    assert label("-o", "out.csv", method="projection") == 0
    talk = capsys.readouterr().err
    assert "Reading in blocks" in talk
    assert f"note: {GUARDED} cells" in talk
    assert started_by(cells_of(Path("out.csv").read_bytes().decode())) == []
    assert label("-o", "exact.csv", "--exact", method="projection") == 0
    assert "apostrophe" not in capsys.readouterr().err
    assert len(started_by(cells_of(Path("exact.csv").read_bytes().decode()))) == GUARDED


def test_clusters_obey_the_same_rule(hostile_cells, capsys):
    arguments = ["cluster", "source.csv", "target.csv", "--clusters", "2", "--text", "comment"]
    assert run_command([*arguments, "-o", "out.csv"]) == 0
    assert "[guarded-cells]" in capsys.readouterr().err
    assert started_by(cells_of(Path("out.csv").read_bytes().decode())) == []
    assert run_command([*arguments, "-o", "exact.csv", "--exact"]) == 0
    assert "[guarded-cells]" not in capsys.readouterr().err
    assert len(started_by(cells_of(Path("exact.csv").read_bytes().decode()))) > 10


def test_explanations_obey_the_same_rule(hostile_cells, capsys):
    assert label("-o", "out.csv", "--save", "m.isthmus", "--quiet") == 0
    for more, safe in (([], True), (["--exact"], False)):
        assert run_command(["explain", "m.isthmus", "--document", "=1+1", *more]) == 0
        talk = capsys.readouterr()
        assert ("[guarded-cells]" in talk.err) == safe
        assert (started_by(cells_of(talk.out)) == []) == safe


def test_our_own_output_can_be_the_source_of_another_run(hostile_cells):
    assert label("-o", "out.csv", "--quiet") == 0
    write_rows("later.csv", {"comment": ["high price", "rude staff"]})
    options = ["--method", "nbc", "--text", "comment", "--label", "label", "-o", "again.jsonl", "--quiet"]
    assert run_command(["label", "out.csv", "later.csv", *options]) == 1  # machine labels are not truth
    assert run_command(["label", "out.csv", "later.csv", *options, "--trust-machine-labels"]) == 0
    found = [json.loads(line)["label"] for line in Path("again.jsonl").read_text().splitlines()]
    assert found == ["-price", "=staff()"]
