import csv
import json

import pytest
import typer

import isthmus
from isthmus.cli import cluster as command
from isthmus.cli.app import run_command
from isthmus.exceptions import DataError, UsageError

SOURCE = [
    ("staff", "kind staff helped"),
    ("staff", "polite staff smiled"),
    ("bikes", "great bike engine"),
    ("bikes", "loud engine"),
]
TARGET = ["friendly staff helped", "kind staff", "car engine loud", "great car engine"]


@pytest.fixture
def files(tmp_path):
    source, target = tmp_path / "source.csv", tmp_path / "target.csv"
    with open(source, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("label", "text"), *(SOURCE * 3)])
    with open(target, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("id", "text"), *((i, text) for i, text in enumerate(TARGET * 3))])
    return source, target, tmp_path


def run(*arguments):
    app = typer.Typer()
    app.callback()(lambda: None)
    app.command("cluster")(command.cluster)
    return app(["cluster", *map(str, arguments)], standalone_mode=False)


def test_columns_are_added_and_the_rest_is_kept(files):
    source, target, folder = files
    out = folder / "out.csv"
    run(source, target, "--clusters", 2, "-o", out, "--quiet")
    with open(out, newline="", encoding="utf-8") as rows:
        table = list(csv.DictReader(rows))
    assert list(table[0]) == ["id", "text", "cluster", "cluster_name", "aligned_to", "strength"]
    assert [row["cluster_name"] for row in table[:4]] == ["staff", "staff", "bikes", "bikes"]
    assert all(0 < float(row["strength"]) <= 1 for row in table)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["command"] == "isthmus cluster"
    assert record["n_clusters"] == 2


def test_summary_and_report(files, capsys):
    source, target, folder = files
    run(source, target, "-o", folder / "out.jsonl", "--report", folder / "page.html", "--json")
    talk = capsys.readouterr()
    summary = json.loads(talk.out)
    assert summary["target_documents"] == 12
    assert {row["aligned_to"] for row in summary["clusters"]} >= {"staff"}
    assert "cluster 0" in talk.err
    assert (folder / "page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_too_many_clusters_are_refused_and_nothing_is_written(files):
    source, target, folder = files
    with pytest.raises(DataError, match="only 12 documents"):
        run(source, target, "--clusters", 40, "-o", folder / "out.csv", "--report", folder / "page.html", "--quiet")
    assert not (folder / "out.csv").exists()
    assert not (folder / "page.html").exists()


def test_saved_clusters_come_back_and_are_no_labelling(files):
    source, target, folder = files
    saved = folder / "groups.isthmus"
    run(source, target, "--clusters", 2, "-o", folder / "out.jsonl", "--save", saved, "--quiet")
    back = isthmus.load(saved)
    assert set(back.names) == {"staff", "bikes"}
    found = [json.loads(line)["cluster"] for line in (folder / "out.jsonl").read_text().splitlines()]
    assert back.labels.tolist() == found
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for arguments in (["label", "--model", str(saved), str(target)], ["explain", str(saved), "--document", "1"]):
        assert run_command(arguments) == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(UsageError, match="same name"):
        run(source, target, "-o", folder / "x.csv", "--save", folder / "x.csv")


def test_report_says_what_was_read(files):
    source, target, folder = files
    run(source, target, "--clusters", 2, "-o", folder / "out.jsonl", "--report", folder / "page.html", "--quiet")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "SHA-256 of the target" in page
    assert "source: source.csv" in page


def test_a_failed_run_leaves_an_older_report_alone(files):
    source, target, folder = files
    (folder / "page.html").write_text("old")
    with open(target, "a", encoding="utf-8") as out:
        out.write(f"99,{'engine ' * 6_000}\n")
    with pytest.raises(DataError, match="cannot hold a cell"):
        run(
            source,
            target,
            "--clusters",
            2,
            "-o",
            folder / "o.xlsx",
            "--report",
            folder / "page.html",
            "--force",
            "--quiet",
        )
    assert (folder / "page.html").read_text() == "old"


@pytest.mark.parametrize(("helps", "said"), [(True, False), (False, True), (None, False)])
def test_the_note_on_the_source_is_printed_only_where_it_does_not_help(helps, said):
    """The cluster note printed when the source helps."""
    from isthmus.cli.cluster import describe_outcome

    lines = describe_outcome({"clusters": [], "source_helps": helps, "guidance_estimate": "too far apart"})
    assert lines == ["note: too far apart"] * said


def test_groups_of_several_sources_are_matched_one_by_one(files, capsys):
    source, target, folder = files
    other = folder / "other.csv"
    other.write_text("label,text\n" + "people,kind staff helped\nmachines,loud engine\n" * 3, encoding="utf-8")
    run(source, other, target, "--clusters", 2, "-o", folder / "out.csv", "--json")
    talk = capsys.readouterr()
    rows = json.loads(talk.out)["clusters"]
    assert {row["source"] for row in rows} <= {"source.csv", "other.csv"}
    assert all(f"aligned with {row['aligned_to']} of {row['source']}" in talk.err for row in rows)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert [entry["path"] for entry in record["inputs"]] == [str(source), str(other), str(target)]
    with pytest.raises(UsageError, match="one by one"):
        run(source, other, target, "-o", folder / "blocks.csv", "--engine", "local")


def test_pivots_are_typed_as_word_and_weight(files, capsys):
    source, target, folder = files
    run(source, target, "--clusters", 2, "-o", folder / "out.csv", "--pivot", "staff=0", "--json")
    rows = json.loads(capsys.readouterr().out)["clusters"]
    assert rows[0]["pivots"]
    assert all("staff" not in row["pivots"] for row in rows)
    for wrong in ("staff", "staff=", "=1", "staff=much"):
        with pytest.raises(UsageError, match="a word and a weight"):
            run(source, target, "--pivot", wrong)


def test_help_names_the_methods_of_this_command(capsys):
    assert run_command(["cluster", "--help-all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "guided, or guided-" in shown
    assert "self-training" not in shown


def test_a_cluster_that_no_source_has_names_none(files, capsys):
    source, target, folder = files
    other = folder / "other.csv"
    other.write_text("label,text\n" + "people,kind staff helped\nmachines,loud engine\n" * 3, encoding="utf-8")
    with open(target, "a", encoding="utf-8") as out:
        out.write("".join(f"n{i},garage parking barrier ticket\n" for i in range(6)))
    run(source, other, target, "--clusters", 3, "-o", folder / "out.csv", "--json")
    talk = capsys.readouterr()
    rows = json.loads(talk.out)["clusters"]
    new = [row for row in rows if row["aligned_to"] is None]
    assert [row["size"] for row in new] == [6], "the texts about parking"
    assert new[0]["source"] is None
    assert all(row["source"] in ("source.csv", "other.csv") for row in rows if row not in new)
    assert "6 documents (new)" in talk.err
