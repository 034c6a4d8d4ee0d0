"""The command ``isthmus diagnose``: findings on stdout, exit code 0 whatever the advice, refusals as one sentence."""

import json
from pathlib import Path

import pytest

from isthmus.cli.app import run_command
from isthmus.cli.diagnose import describe_next

ENGLISH = [("the staff was friendly and kind", "staff"), ("the price was high for what it is", "price")] * 30
SOURCE = "id,comment,category\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(ENGLISH))
TARGET = "id,comment\n" + "".join(f"{i},{text}\n" for i, (text, _) in enumerate(ENGLISH))
FOREIGN = "id,comment\n" + "".join(f"{i},服务员非常友好价格太高{i}\n" for i in range(60))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("source.csv", SOURCE), ("target.csv", TARGET), ("foreign.csv", FOREIGN)):
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def test_findings_go_to_stdout_and_talk_to_stderr(folder, capsys):
    assert run_command(["diagnose", "source.csv", "target.csv"]) == 0
    talk = capsys.readouterr()
    assert talk.out.startswith("Same domain: an ordinary classifier will do.")
    assert len(talk.out.splitlines()) <= 6
    assert "[fine]" not in talk.out, "what is fine needs no line"
    assert talk.err.splitlines()[-1].startswith("next: ")
    assert "source: source.csv, 60 documents" in talk.err


def test_full_findings_have_their_figures(folder, capsys):
    assert run_command(["diagnose", "source.csv", "target.csv", "--full", "--quiet"]) == 0
    found = capsys.readouterr().out
    assert "\n  → " in found
    assert "[fine] distance\n  Source and target are hard to tell apart by their words" in found


def test_advice_names_options_of_the_command_wherever_it_stands(folder, capsys):
    moved = "".join(f"{i},the garage was {word} and full\n" for i, word in enumerate(["parking", "tyres", "rims"] * 20))
    Path("moved.csv").write_text("id,comment\n" + moved, encoding="utf-8")
    files = ["source.csv", "moved.csv", "--quiet", "--force", "--report"]
    assert run_command(["diagnose", *files, "page.html", "--json"]) == 0
    page, printed = Path("page.html").read_text(encoding="utf-8"), capsys.readouterr().out
    assert "(--words FILE)" in page
    assert "(--words FILE)" in printed
    assert run_command(["label", *files, "labels.html"]) == 0
    assert "(--words FILE)" in Path("labels.html").read_text(encoding="utf-8")


def test_do_not_transfer_is_an_answer_not_an_error(folder, capsys):
    assert run_command(["diagnose", "source.csv", "foreign.csv", "--quiet", "--report", "page.html"]) == 0
    talk = capsys.readouterr()
    assert talk.out.startswith("Do not transfer: different languages (English, Chinese), no shared words.")
    assert talk.err == ""
    assert "Do not transfer" in Path("page.html").read_text(encoding="utf-8")


def test_json_is_everything(folder, capsys):
    assert run_command(["diagnose", "source.csv", "foreign.csv", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["level"] == "no-transfer"
    assert found["findings"][0]["severity"] == 3
    assert {"severity", "topic", "finding", "advice", "values"} == set(found["findings"][0])
    assert found["settings"]["source"] == "source.csv"


def test_one_class_is_a_finding(folder, capsys):
    Path("one.csv").write_text("id,comment,category\n1,kind staff here,a\n2,rude staff there,a\n", encoding="utf-8")
    assert run_command(["diagnose", "one.csv", "target.csv", "--label", "category", "--quiet"]) == 0
    assert "name one class, a" in capsys.readouterr().out


def test_labels_of_hostile_data_do_not_steer_the_terminal(folder, capsys):
    Path("bad.csv").write_text(SOURCE.replace(",staff\n", ",\x1b[31mstaff\n"), encoding="utf-8")
    assert run_command(["diagnose", "bad.csv", "target.csv", "--label", "category"]) == 0
    talk = capsys.readouterr()
    assert "\x1b" not in talk.out + talk.err


REFUSALS = [
    ("missing file", ["no.csv", "target.csv"], 1, "missing-file"),
    ("wrong column", ["source.csv", "target.csv", "--text", "coment"], 1, "unknown-column"),
    ("report exists", ["source.csv", "target.csv", "--report", "foreign.csv"], 1, "output-exists"),
    ("report on an input", ["source.csv", "target.csv", "--report", "./source.csv", "--force"], 2, "output-unwritable"),
    ("unwritable report", ["source.csv", "target.csv", "--report", "no/such/page.html"], 1, "output-unwritable"),
    ("two standard inputs", ["-", "-"], 2, "bad-parameter"),
    ("doubtful labels on stdout", ["source.csv", "target.csv", "--review-source", "-"], 2, "bad-parameter"),
    ("doubtful labels exist", ["source.csv", "target.csv", "--review-source", "foreign.csv"], 1, "output-exists"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=[case[0] for case in REFUSALS])
def test_refusals_are_one_sentence_and_leave_nothing(folder, capsys, case):
    _, arguments, exit_code, code = case
    before = sorted(path.name for path in folder.iterdir())
    assert run_command(["diagnose", *arguments]) == exit_code
    talk = capsys.readouterr()
    assert talk.out == ""
    lines = [line for line in talk.err.splitlines() if line.startswith("isthmus: ")]
    assert len(lines) == 1
    assert lines[0].endswith(f"[{code}]")
    assert sorted(path.name for path in folder.iterdir()) == before
    assert Path("source.csv").read_text(encoding="utf-8") == SOURCE


def test_doubtful_source_labels_go_out_to_a_person_and_back(folder, capsys):
    rows = [f"{i},{text} {'again' * (i % 7 == 0)},{label}" for i, (text, label) in enumerate(ENGLISH)]
    rows[4] = rows[4].replace(",staff", ",price").replace("4,", "4,=", 1)
    Path("noisy.csv").write_text("id,comment,category\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert run_command(["diagnose", "noisy.csv", "target.csv", "--review-source", "doubt.csv"]) == 0
    talk = capsys.readouterr()
    assert "wrote doubt.csv" in talk.err
    header, *listed = Path("doubt.csv").read_text(encoding="utf-8").splitlines()
    assert header == "document,id,text,label,suggested,support,for_label,for_suggested,true_label"
    assert [line.split(",")[0] for line in listed] == ["5"], "one label was put wrong, that of the fifth document"
    assert "'=the staff" in listed[0], "a spreadsheet would run it"
    Path("doubt.csv").write_text(f"{header}\n{listed[0]}staff\n", encoding="utf-8")
    label = ["label", "noisy.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--save", "run.isthmus", "--quiet"]
    assert run_command(label) == 0
    teach = ["teach", "run.isthmus", "--source-labels", "doubt.csv", "-o", "taught.csv", "--save", "taught.isthmus"]
    assert run_command(teach) == 0
    assert "labelled again from the source with 1 label corrected" in capsys.readouterr().err
    read = [row["path"] for row in json.loads(Path("taught.csv.run.json").read_text())["inputs"]]
    assert read == ["run.isthmus", "doubt.csv"]
    filled_in = Path("doubt.csv").read_text(encoding="utf-8")
    assert run_command([*teach[:4], "-o", "doubt.csv", "--force"]) == 2
    assert "'doubt.csv' is an input of this run" in capsys.readouterr().err
    assert Path("doubt.csv").read_text(encoding="utf-8") == filled_in
    from isthmus import load

    assert load("taught.isthmus").source_labels[4] == "staff"


@pytest.mark.parametrize(
    ("rows", "level", "review_source", "said"),
    [
        ([], "transfer", None, "Label the target: isthmus label 'my source.csv' b.csv -o"),
        ([("distance", 2), ("source labels", 0)], "transfer", None, "Label the target"),
        ([("source labels", 1)], "no-transfer", None, "with --review-source doubtful.csv"),
        ([("distance", 3)], "no-transfer", None, "isthmus label TARGET --class NAME --class NAME"),
        ([("source labels", 1)], "transfer", Path("doubt.csv"), "isthmus teach FILE --source-labels doubt.csv"),
    ],
)
def test_what_is_next_goes_by_what_was_found(rows, level, review_source, said):
    class Found(list):
        pass

    found = Found({"topic": topic, "severity": severity} for topic, severity in rows)
    found.level = level
    assert said in describe_next(found, "my source.csv", "b.csv", review_source)


def test_doubtful_labels_are_numbered_by_all_rows_of_the_file(folder):
    """Rows without a label are passed over when labels are compared, not when documents are counted."""
    rows = [(f"n{i}", f"{text} {'again' * (i % 7 == 0)}", label) for i, (text, label) in enumerate(ENGLISH)]
    rows[4] = (rows[4][0], rows[4][1], "price")
    for place in (0, 2, 9):
        rows.insert(place, (f"gap{place}", "nobody said what this is", ""))
    Path("gaps.csv").write_text(
        "id,comment,category\n" + "".join(",".join(row) + "\n" for row in rows), encoding="utf-8"
    )
    assert run_command(["diagnose", "gaps.csv", "target.csv", "--review-source", "doubt.csv", "--quiet"]) == 0
    header, *listed = Path("doubt.csv").read_text(encoding="utf-8").splitlines()
    number = [row[0] for row in rows].index("n4") + 1
    assert number == 7
    assert [line.split(",")[:2] for line in listed] == [[str(number), "n4"]]
    taught = ["teach", "run.isthmus", "--source-labels", "doubt.csv", "-o", "taught.csv", "--save", "taught.isthmus"]
    label = ["label", "gaps.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--save", "run.isthmus"]
    Path("doubt.csv").write_text(f"{header}\n{listed[0]}staff\n", encoding="utf-8")
    assert run_command([*label, "--quiet"]) == 0
    assert run_command([*taught, "--quiet"]) == 0
    from isthmus import load

    assert load("taught.isthmus").source_labels[number - 1] == "staff"
