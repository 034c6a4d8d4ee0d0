"""What the command ``label`` writes is its own: record, hashes, columns."""

import json

import pytest

import isthmus

LABELS = ["staff", "product"] * 3
TARGET = ["rude staff", "slow bike", "zzz qqq"]
SOURCE = ["kind staff", "great bike", "polite staff", "fast bike", "kind manager", "great engine"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{text},{label}" for text, label in zip(SOURCE, LABELS, strict=True))
    (tmp_path / "source.csv").write_text(f"comment,category\n{rows}\n")
    (tmp_path / "target.csv").write_text("comment\n" + "\n".join(TARGET) + "\n")
    return tmp_path


def test_a_second_run_leaves_no_record_of_the_first(files):
    """A re-run leaving the old run.json."""
    from isthmus.cli.app import run_command

    common = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet"]
    assert run_command([*common, "--seed", "1"]) == 0
    assert run_command([*common, "--seed", "2", "--force"]) == 0
    assert json.loads((files / "run.json").read_text())["settings"]["random_state"] == 2
    assert [path.name for path in files.glob("*run.json")] == ["run.json"]


def test_the_record_names_every_file_that_was_read(files):
    from isthmus.cli.app import run_command

    given = {"--extra": "comment\nkind bike\n", "--answers": "document,true_label\n1,staff\n"}
    command = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet"]
    for option, content in given.items():
        (files / f"{option[2:]}.csv").write_text(content)
        command += [option, f"{option[2:]}.csv"]
    assert run_command(command) == 0
    read = {row["path"] for row in json.loads((files / "run.json").read_text())["inputs"]}
    assert {"extra.csv", "answers.csv"} <= read


def test_further_texts_need_no_id_column(files):
    from isthmus.cli.app import run_command

    (files / "extra.csv").write_text("comment\nkind bike\n")
    (files / "target.csv").write_text("comment,number\n" + "".join(f"{text},{text[0]}\n" for text in TARGET))
    command = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet", "--id", "number"]
    assert run_command([*command, "--extra", "extra.csv"]) == 0


def test_the_hash_of_a_folder_knows_the_names_of_its_files(tmp_path):
    """Folder hash without names: swapping two files' contents between classes would go unnoticed."""
    from isthmus.cli.common import file_hash

    hashes = set()
    for place, (first, second) in enumerate((("staff", "price"), ("price", "staff"), ("staff", "service"))):
        folder = tmp_path / str(place)
        for name, text in ((first, "kind"), (second, "cheap")):
            (folder / name).mkdir(parents=True)
            (folder / name / "a.txt").write_text(text)
        hashes.add(file_hash(folder))
    assert len(hashes) == 3


def test_every_column_that_the_command_adds_is_the_result_s_own(files):
    import csv

    from isthmus.cli.app import run_command

    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet"]) == 0
    result = isthmus.label(SOURCE, LABELS, TARGET, method="nbc")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["comment"] for row in rows] == TARGET
    assert [row["label"] for row in rows] == result.labels.tolist()
    assert [float(row["confidence"]) for row in rows] == pytest.approx(result.confidence, abs=1e-4)
    assert [row["needs_review"].lower() for row in rows] == [str(flag).lower() for flag in result.needs_review]
