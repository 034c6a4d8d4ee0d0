"""Lines in twenty-two languages through everything a user calls: label, cluster, diagnose, report, files, command."""

import csv
import io
import re
import sys

import pytest

import isthmus
from isthmus.features.languages import NAMES, UNSPACED
from isthmus.shift.diagnose import measure_shift
from isthmus.shift.findings import two_languages, warn_of_two_languages
from isthmus_bench.suites.language_lines import LINES


def sides(language):
    lines = LINES[language]
    source, labels = zip(*lines.source, strict=True)
    target, truth = zip(*lines.target, strict=True)
    return list(source), list(labels), list(target), list(truth)


@pytest.fixture(scope="module")
def labelled():
    kept = {}

    def get(language):
        if language not in kept:
            source, labels, target, _ = sides(language)
            kept[language] = isthmus.label(source, labels, target, method="nbc")
        return kept[language]

    return get


@pytest.mark.parametrize("language", LINES)
def test_label(language, labelled):
    result = labelled(language)
    truth = sides(language)[3]
    assert result.model.members["nbc"].steps[0].words.languages == (language,)
    assert sum(result.labels == truth) >= 3, list(zip(result.texts, result.labels, strict=True))


@pytest.mark.parametrize("language", LINES)
def test_reasons_are_written_words_of_the_text(language, labelled):
    result = labelled(language)
    terms = {row["term"] for row in result.reasons(0)}
    text = re.sub(r"\s" if language in UNSPACED else r"\0", "", result.texts[0].lower())
    assert terms
    assert all(term in text for term in terms if language not in ("tr", "fa")), terms


@pytest.mark.parametrize("language", ["de", "ru", "ar", "hi", "th", "ja", "ko", "zh", "he", "el", "tr", "ta"])
def test_every_recipe_of_auto_reads_it(language):
    source, labels, target, truth = sides(language)
    for method in ("logistic", "cocc", "projection"):
        result = isthmus.label(source * 2, labels * 2, target, method=method)
        assert set(result.labels) <= set(truth)


@pytest.mark.parametrize("language", LINES)
def test_cluster(language):
    source, labels, target, _ = sides(language)
    result = isthmus.cluster(source, labels, target, n_clusters=2, n_init=2)
    assert len(result.labels) == len(target)
    assert all(name for name in result.names)
    words = [word for row in result.clusters() for word in row["words"]]
    assert words
    assert not any("…" in word for word in words)


@pytest.mark.parametrize("language", LINES)
def test_diagnose(language):
    source, labels, target, _ = sides(language)
    result = isthmus.diagnose(source, labels, target)
    assert result["languages"]["finding"] == f"Source: {NAMES[language]} 100%; target: {NAMES[language]} 100%."
    assert result["languages"]["severity"] == 0
    assert result["vocabulary"]["values"]["shared_types"] > 0


def test_two_languages_are_told_apart():
    source, labels, _, _ = sides("de")
    target = sides("uk")[2]
    result = isthmus.diagnose(source, labels, target)
    assert result["languages"]["severity"] == 3
    assert "German" in result.verdict
    assert "Ukrainian" in result.verdict


def test_labels_across_languages_are_warned_of():
    source, labels, _, _ = sides("de")
    target = sides("en")[2] * 2
    with pytest.warns(
        isthmus.exceptions.IsthmusWarning, match="German and the target in English; words do not"
    ) as said:
        isthmus.label(source, labels, [*target, "Suppe Brot Zug Bus"], method="nbc")
    assert said[0].message.code == "two-languages"
    with pytest.warns(isthmus.exceptions.IsthmusWarning, match="through the vectors alone"):
        assert warn_of_two_languages(source, target, vectors=True)
    assert not warn_of_two_languages(source, sides("de")[2])
    assert two_languages(["Jeg kan ikke finde toget i dag"] * 3, ["Jeg kan ikke finne toget i dag"] * 3) is None


def test_vectors_take_the_verdict_from_words():
    source, labels, _, _ = sides("de")
    target = sides("ru")[2] * 3
    by_words = measure_shift(source, labels, target)
    by_vectors = measure_shift(source, labels, target, vectors=True)
    assert by_words["level"] == "no-transfer"
    assert by_vectors["level"] != "no-transfer"
    row = next(row for row in by_vectors["findings"] if row["topic"] == "languages")
    assert "through the vectors alone" in row["advice"]


@pytest.mark.parametrize("language", ["ar", "he", "fa", "hi", "th", "ja", "ko", "zh", "ta", "el", "ru", "de"])
def test_report(language, labelled, tmp_path):
    pytest.importorskip("altair")
    page = labelled(language).report(tmp_path / "page.html").read_text("utf-8")
    lines = LINES[language]
    for text, label in lines.target:
        assert text in page
        assert label in page
    assert re.search(rf'dir="auto" lang="{language}">{re.escape(lines.target[0][0])}', page)


def test_cluster_report_in_a_right_to_left_script(tmp_path):
    pytest.importorskip("altair")
    source, labels, target, _ = sides("he")
    result = isthmus.cluster(source, labels, target, n_clusters=2, n_init=2)
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert '<blockquote dir="auto" lang="he">' in page
    assert "<bdi>" in page


# -- files and the command ---------------------------------------------------------------------------------------------


def write_csv(path, rows, columns, encoding="utf-8"):
    with open(path, "w", encoding=encoding, newline="") as file:
        csv.writer(file).writerows([columns, *rows])


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl"])
def test_class_names_in_any_script_through_files(ending, tmp_path):
    polars = pytest.importorskip("polars")
    from typer.testing import CliRunner

    from isthmus.cli.app import make_app

    languages = ("ar", "he", "hi", "th", "ja", "ko", "zh", "ta", "el", "ru", "de", "tr")
    for language in languages:
        lines = LINES[language]
        write_csv(tmp_path / "source.csv", lines.source, ["text", "label"])
        write_csv(tmp_path / "target.csv", [(text,) for text, _ in lines.target], ["text"])
        out = tmp_path / f"{language}.{ending}"
        arguments = ["label", "source.csv", "target.csv", "--method", "nbc", "--language", language, "--quiet"]
        arguments[1:3] = [str(tmp_path / name) for name in arguments[1:3]]
        done = CliRunner().invoke(make_app(), [*arguments, "-o", str(out)])
        assert done.exit_code == 0, done.output
        read = {"csv": polars.read_csv, "xlsx": polars.read_excel, "jsonl": polars.read_ndjson}[ending](out)
        assert read["text"].to_list() == [text for text, _ in lines.target]
        assert set(read["label"].to_list()) <= set(lines.classes)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_that_cannot_write_the_script_does_not_stop_the_command(encoding, tmp_path, monkeypatch):
    from isthmus.cli.app import run_command

    lines = LINES["he"]
    monkeypatch.chdir(tmp_path)
    write_csv("quelle-מקור.csv", lines.source, ["text", "label"])
    write_csv("target.csv", [(text,) for text, _ in lines.target], ["text"])
    # As Python makes it: standard error writes what its encoding lacks as escapes.
    talk = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", talk)
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
        assert run_command(["label", "quelle-מקור.csv", "target.csv", "--method", "nbc", "-o", "out.csv"]) == 0
    assert "quelle-" in talk.buffer.getvalue().decode(encoding)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text("utf-8-sig"))))
    assert {row["label"] for row in rows} <= set(lines.classes)


def test_an_unknown_language_is_refused_before_anything_is_read(tmp_path):
    from typer.testing import CliRunner

    from isthmus.cli.app import make_app

    done = CliRunner().invoke(make_app(), ["label", "none.csv", "none.csv", "--language", "klingon"])
    assert done.exit_code != 0
    source, labels, target, _ = sides("en")
    with pytest.raises(isthmus.exceptions.UsageError, match="klingon"):
        isthmus.label(source, labels, target, language="klingon")
