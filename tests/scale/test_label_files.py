"""Runs in blocks: the same bytes whatever the blocks, faults in one sentence, stopped runs that go on."""

import csv
import gzip
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus._math.confidence import with_caution
from isthmus.choose import AccuracyEstimate, candidates, review_mask
from isthmus.cli.app import run_command
from isthmus.corpus import limits, read_collection, read_table, write_rows
from isthmus.corpus.shards import cut_shard
from isthmus.corpus.write import this_host
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features.embeddings import has_static_vectors
from isthmus.methods import METHODS
from isthmus.scale import cluster_files, label, label_files, run
from isthmus.scale.output import work_folder
from isthmus.scale.trust import review_limits
from isthmus_bench.shifted import make_shifted_texts

IN_CHUNKS = [name for name, method in METHODS.items() if method.chunks]
FAST = {"sample": 60, "text": "text"}


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "manifest.json"}


def given_labels(folder):
    rows = []
    for name in ("a.csv", "b.csv.gz", "c.jsonl", "d.parquet"):
        table = read_collection(Path(folder, name), text="text").table()
        rows += list(zip(table["id"], table["label"], strict=True))
    return dict(rows)


@pytest.mark.parametrize("method", sorted(IN_CHUNKS))
def test_same_bytes_whatever_the_blocks_and_processes(corpus, tmp_path, truth, method, two_processes):
    if method == "vectors" and not has_static_vectors():
        pytest.skip("needs the extra embed")
    outputs = []
    for number, (rows, engine, workers) in enumerate([(10**6, "memory", None), (190, "local", 1), (457, "local", 2)]):
        place = tmp_path / str(number)
        how = {"method": method, "block_rows": rows, "engine": engine, "workers": workers}
        result = label_files(corpus / "source.csv", corpus / "target", place, **how, **FAST)
        outputs.append(contents(place))
        assert not (place / ".isthmus-run").exists()
    assert outputs[0] == outputs[1] == outputs[2]
    labels = given_labels(tmp_path / "0")
    assert np.mean([labels[f"d{i}"] == topic for i, topic in enumerate(truth)]) > 0.9
    assert result.target_documents == 1_300
    assert sum(result.labels.values()) == 1_300


def test_pairs_of_words_are_those_of_one_count_and_the_commonest_of_too_many(corpus, tmp_path, monkeypatch):
    views, build = [], run.build_view

    def keep(*arguments):
        views.append(build(*arguments))
        return views[-1]

    monkeypatch.setattr(run, "build_view", keep)
    for number, limits_ in enumerate(({}, {"_PAIRS": 300}, {"MAX_TERMS": 100})):
        for name, most in limits_.items():
            monkeypatch.setattr(f"isthmus.scale.views.{name}", most)
        files = corpus / "source.csv", corpus / "target", tmp_path / str(number)
        label_files(*files, method="logistic", engine="memory", **FAST)
    whole, in_parts, few = views
    np.testing.assert_array_equal(in_parts.pairs, whole.pairs)
    np.testing.assert_array_equal(in_parts.frequency, whole.frequency)
    n_terms, room = len(whole.terms), 100 - len(whole.terms)
    assert 0 < room < len(whole.pairs) == few.left_out + room
    most = np.sort(whole.frequency[n_terms:])[::-1]
    np.testing.assert_array_equal(np.sort(few.frequency[n_terms:])[::-1], most[:room])


@pytest.mark.parametrize("method", ["nbc", "logistic"])
def test_new_groups_are_the_same_whatever_the_blocks(with_new_topic, tmp_path, method):
    """Of both kinds: a method whose words tell the groups too, and one that reads other words than the sample does."""
    source, target, topics = with_new_topic
    found = []
    for rows in (10**6, 170):
        place = tmp_path / f"{rows}.csv"
        result = label_files(source, target, place, method=method, block_rows=rows, text="text", sample=400)
        assert len(result.novel) == 1
        found.append(read_collection(place, text="text").table())
    assert found[0] == found[1]
    marked = np.array(found[0]["novel_group"]) != ""
    new = topics == "health"
    assert np.mean(marked[new]) > 0.8
    assert np.mean(marked[~new]) < 0.1
    np.testing.assert_array_equal(np.array(found[0]["needs_review"])[marked], "True")


def test_naive_bayes_is_that_of_texts_in_memory(corpus, tmp_path):
    source = read_collection(corpus / "source.csv", text="text", label="topic")
    target = read_collection(corpus / "target" / "a.csv", text="text")
    label_files(corpus / "source.csv", corpus / "target" / "a.csv", tmp_path / "out.csv", method="nbc", **FAST)
    table = read_collection(tmp_path / "out.csv", text="text").table()
    expected = isthmus.label(source.texts, source.labels, target.texts, method="nbc")
    assert table["label"] == expected.labels.tolist()


def test_every_column_is_kept_and_a_name_that_is_taken_is_changed(corpus, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,text\nold,the team and the coach\nold,=bank(share)\n")
    place = tmp_path / "out.csv"
    label_files(corpus / "source.csv", path, place, method="nbc", text="text", spreadsheet_safe=True, sample=60)
    rows = list(csv.reader(place.read_text().splitlines()))
    assert rows[0] == ["label_input", "text", "label", "confidence", "needs_review", "novel_group", "review_reason"]
    assert [row[:3] for row in rows[1:]] == [
        ["old", "the team and the coach", "sport"],
        ["old", "'=bank(share)", "money"],
    ]
    for output in ("less.csv", "less.parquet", "less.jsonl"):
        label_files(corpus / "source.csv", path, tmp_path / output, method="nbc", text="text", sample=60, add="label")
        assert list(read_table(tmp_path / output)) == ["label_input", "text", "label"]


def test_jsonl_records_keep_what_they_hold(corpus, tmp_path):
    result = label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", method="nbc", **FAST)
    first = json.loads((tmp_path / "out" / "c.jsonl").read_text().splitlines()[0])
    assert list(first) == ["id", "text", "more", "label", "confidence", "needs_review", "novel_group", "review_reason"]
    assert first["more"] == [1]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [row["output"] for row in manifest["files"]] == ["a.csv", "b.csv.gz", "c.jsonl", "d.parquet"]
    assert manifest["target_documents"] == result.target_documents == 1_300


def test_a_nul_byte_is_set_aside_with_its_row(corpus, tmp_path, capsys):
    lines = (corpus / "target" / "a.csv").read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b" ", b"\0", 1)
    (tmp_path / "t.csv").write_bytes(b"".join(lines))
    arguments = ["label", str(corpus / "source.csv"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")]
    arguments += ["--text", "text", "--method", "nbc", "--engine", "local", "--quiet"]
    assert run_command(arguments) == 1
    assert "row 4: a NUL byte" in capsys.readouterr().err  # the record before it stands on two lines
    bad_rows = tmp_path / "bad.jsonl"
    assert run_command([*arguments, "--force", "--bad-rows", str(bad_rows)]) == 0
    assert [json.loads(line)["row"] for line in bad_rows.read_text().splitlines()] == [4]
    assert len((tmp_path / "o.csv").read_bytes().splitlines()) == len(lines) - 1


def test_chinese_and_unreadable_rows(tmp_path, capsys):
    topics = {"车": "发动机轮胎汽车驾驶", "球": "足球比赛进球联赛"}
    rng = np.random.default_rng(0)
    with open(tmp_path / "s.jsonl", "wb") as out:
        for i in range(300):
            name = "车球"[i % 2]
            text = "".join(rng.choice(list(topics[name]), 12))
            out.write(json.dumps({"text": text, "label": name}, ensure_ascii=False).encode() + b"\n")
    with open(tmp_path / "t.jsonl", "wb") as out:
        for i in range(100):
            text = "".join(rng.choice(list(topics["车球"[i % 2]]), 12))
            out.write(b"{broken\n" if i == 50 else json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
    arguments = ["label", str(tmp_path / "s.jsonl"), str(tmp_path / "t.jsonl"), "-o", str(tmp_path / "o.jsonl")]
    arguments += ["--method", "projection", "--engine", "local", "--block-rows", "30"]
    assert run_command(arguments) == 1
    assert "row 51: not a JSON object" in capsys.readouterr().err
    assert not (tmp_path / "o.jsonl").exists()
    assert run_command([*arguments, "--bad-rows", str(tmp_path / "bad.jsonl"), "--force", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["bad_rows"] == 1
    assert summary["target_documents"] == 99
    (bad,) = map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())
    assert (bad["row"], bad["content"]) == (51, "{broken")
    labels = [json.loads(line)["label"] for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert labels == ["车球"[i % 2] for i in range(100) if i != 50]


# -- stopped runs ------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop_after(monkeypatch, function, calls):
    """Make a function of the run fail from its n-th call on."""
    module = run if hasattr(run, function) else label
    real, seen = getattr(module, function), []

    def fail(*arguments):
        seen.append(1)
        if len(seen) > calls:
            raise Stopped
        return real(*arguments)

    monkeypatch.setattr(module, function, fail)


@pytest.mark.parametrize(
    ("function", "calls"), [("survey", 5), ("make_rows", 3), ("take_census", 2), ("write_labels", 4)]
)
def test_a_stopped_run_goes_on_to_the_same_bytes(corpus, tmp_path, monkeypatch, function, calls):
    settings = {"method": "nbc", "block_rows": 200, "error_budget": 0.0, **FAST}
    whole = label_files(corpus / "source.csv", corpus / "target", tmp_path / "whole", **settings)
    with monkeypatch.context() as patch:
        stop_after(patch, function, calls)
        with pytest.raises(Stopped):
            label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", **settings)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".isthmus-run"]
    with pytest.raises(DataError, match="resume=True continues it") as error:
        label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", **settings)
    assert error.value.code == "other-run"
    with pytest.raises(DataError, match=r"differs from this one in: settings \(random_state\)") as error:
        label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", resume=True, random_state=1, **settings)
    assert error.value.code == "other-run"
    again = label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", resume=True, **settings)
    assert 0 < whole.needs_review == again.needs_review
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("other", [{"n_clusters": 2}, {"guidance": 0.25}, {"max_iter": 3}], ids=str)
def test_a_stopped_grouping_goes_on_with_its_own_options_alone(corpus, tmp_path, monkeypatch, other):
    def stop(stopped):
        raise Stopped

    monkeypatch.setattr(run.Run, "look", stop)
    files = corpus / "source.csv", corpus / "target" / "a.csv", tmp_path / "out.csv"
    options = {"n_clusters": 3, "guidance": 0.5, "max_iter": 5}
    with pytest.raises(Stopped):
        cluster_files(*files, **options, **FAST)
    with pytest.raises(DataError, match="differs from this one in: settings"):
        cluster_files(*files, resume=True, **options | other, **FAST)
    with pytest.raises(Stopped):
        cluster_files(*files, resume=True, **options, **FAST)


def test_a_changed_input_is_another_run(corpus, tmp_path, monkeypatch):
    target = tmp_path / "t.csv"
    target.write_bytes((corpus / "target" / "a.csv").read_bytes())
    settings = {"method": "nbc", "block_rows": 200, **FAST}
    with monkeypatch.context() as patch:
        stop_after(patch, "write_labels", 1)
        with pytest.raises(Stopped):
            label_files(corpus / "source.csv", target, tmp_path / "out.csv", **settings)
    os.utime(target, (1, 1))
    with pytest.raises(DataError, match="in: target"):
        label_files(corpus / "source.csv", target, tmp_path / "out.csv", resume=True, **settings)


def test_two_runs_on_one_output(corpus, tmp_path, monkeypatch):
    place = str(tmp_path / "out.csv")
    work = work_folder(place)
    work.mkdir()
    (work / "lock").write_text(f"{this_host()} {os.getppid()}")
    with pytest.raises(DataError, match="Another run") as error:
        label_files(corpus / "source.csv", corpus / "target" / "a.csv", place, method="nbc", **FAST)
    assert error.value.code == "other-run"


# -- faults ------------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_one_sentence_and_the_run_goes_on(corpus, tmp_path, monkeypatch):
    real = np.savez

    def full(out, **arrays):
        if "steps" in arrays:
            out.write(b"half")
            raise OSError(28, "No space left on device")
        real(out, **arrays)

    settings = {"method": "nbc", "block_rows": 200, **FAST}
    arguments = (corpus / "source.csv", corpus / "target" / "a.csv", tmp_path / "out.csv")
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(DataError, match=r"No space left on device.*resume=True") as error:
            label_files(*arguments, **settings)
    assert error.value.code == "file-trouble"
    assert not (tmp_path / "out.csv").exists()
    assert not list(tmp_path.rglob("*.part"))
    label_files(*arguments, resume=True, **settings)
    assert len((tmp_path / "out.csv").read_text().splitlines()) > 500


def test_an_unreadable_file_stops_the_run_before_anything_is_written(corpus, tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "a.csv").write_bytes((corpus / "target" / "a.csv").read_bytes())
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"id,text\n" + b"1,some words\n" * 99_999)[:-500])
    with pytest.raises(DataError) as error:
        label_files(corpus / "source.csv", folder, tmp_path / "out", method="nbc", **FAST)
    assert error.value.code == "unreadable-file"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".isthmus-run"]


def test_a_packed_file_keeps_within_the_limit(corpus, tmp_path, capsys):
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"id,text\n" + b"1,a team and its coach\n" * 100_000))
    arguments = ["label", str(corpus / "source.csv"), str(packed), "-o", str(tmp_path / "out"), "--method", "nbc"]
    arguments += ["--engine", "local", "--text", "text"]
    assert run_command(["--max-unpacked", "1M", *arguments]) == 1
    assert "too-large" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("unpacked/*"))


def test_without_a_limit_a_file_may_unpack_to_a_hundred_times_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "DEFAULT_LIMIT", 1_000)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"text": "words"}\n' * 50_000))
    with pytest.raises(DataError) as error:
        cut_shard(str(packed), 100, str(tmp_path / "u"))
    assert error.value.code == "too-large"
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl.gz"]


def test_what_cannot_work_is_refused(corpus, tmp_path):
    source, target, out = corpus / "source.csv", corpus / "target", tmp_path / "out"
    for options, code in (
        ({"method": "dual-factor"}, "unknown-method"),
        ({"engine": "spark"}, "bad-parameter"),
        ({"block_rows": 0}, "bad-parameter"),
        ({"engine": "memory", "workers": 2}, "bad-parameter"),
        ({"analyzer": "chars"}, "bad-parameter"),
    ):
        with pytest.raises(UsageError) as error:
            label_files(source, target, out, **{"method": "nbc", **options})
        assert error.value.code == code
    (tmp_path / "one.csv").write_text("text,label\n" + "a b c d,x\n" * 30)
    with pytest.raises(DataError) as refused:
        label_files(tmp_path / "one.csv", target, out, method="nbc", label="label", text="text", force=True)
    assert refused.value.code == "one-class"
    with pytest.raises(UsageError) as error:
        label_files(source, target, target, method="nbc")
    assert error.value.code == "output-unwritable"
    with pytest.raises(UsageError, match="names neither a folder nor a file") as error:
        label_files(source, target, tmp_path / "out.docx", method="nbc")
    assert error.value.code == "unknown-format"
    assert not (tmp_path / "out.docx").exists()


def test_a_folder_that_holds_something_else_is_left_alone(corpus, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "mine.txt").write_text("keep", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(DataError, match="is not empty; give an empty or a new one") as error:
            label_files(corpus / "source.csv", corpus / "target", folder, method="nbc", force=force, **FAST)
        assert error.value.code == "output-exists"
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_the_command(corpus, tmp_path, capsys):
    out = tmp_path / "out.csv"
    arguments = ["label", str(corpus / "source.csv"), str(corpus / "target" / "[ab].csv*"), "-o", str(out)]
    assert run_command([*arguments, "--method", "nbc", "--text", "text"]) == 0
    talk = capsys.readouterr().err
    assert "Reading in blocks" in talk
    assert re.search(r"need review|marked for review|Read th|labels are right", talk)
    assert "next: Check 100 at random, so that the accuracy is known: isthmus check " in talk, "as memory says it"
    assert len(read_collection(out, text="text")) == 900
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["method"] == "nbc"
    assert run_command([*arguments, "--method", "nbc"]) == 1
    assert "output-exists" in capsys.readouterr().err
    assert run_command([*arguments, "--engine", "local", "--report", "x.html", "--force"]) == 2
    assert "--report" in capsys.readouterr().err
    assert run_command([*arguments, "--engine", "spark", "--force"]) == 2
    assert run_command([*arguments, "--tls", "ca=x", "--force"]) == 2


def test_methods_are_weighed_on_the_sample_with_the_options_of_the_run(corpus, tmp_path, monkeypatch):
    def note(texts, **options):
        assert options == {"analyzer": "bigrams", "language": "de", "random_state": 7, "min_df": "auto"}
        raise Stopped

    monkeypatch.setattr(label, "try_methods", note)
    options = {"analyzer": "bigrams", "language": "de", "random_state": 7, **FAST}
    with pytest.raises(Stopped):
        label_files(corpus / "source.csv", corpus / "target", tmp_path / "out", **options)


def test_documents_without_a_label_take_no_place_of_the_sample(corpus, tmp_path, monkeypatch):
    def note(texts, **options):
        raise Stopped(len(texts.given_source))

    with open(corpus / "source.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with open(tmp_path / "half.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([rows[0], *([text, label * (i % 2)] for i, (text, label) in enumerate(rows[1:301]))])
    monkeypatch.setattr(label, "try_methods", note)
    with pytest.raises(Stopped) as seen:
        label_files(tmp_path / "half.csv", corpus / "target" / "a.csv", tmp_path / "o.csv", label="topic", **FAST)
    assert seen.value.args == (60,), "as many labelled documents as were asked for"


def test_auto_chooses_on_a_sample_and_fits_on_everything(corpus, tmp_path):
    outputs = []
    for rows in (200, 10**6):
        place = tmp_path / f"{rows}.csv"
        target = corpus / "target" / "a.csv"
        result = label_files(corpus / "source.csv", target, place, block_rows=rows, sample=150, text="text")
        outputs.append(place.read_bytes())
    assert outputs[0] == outputs[1]
    chosen = [row for row in result.decision if row["chosen"]]
    assert result.method.split("+") == [row["method"] for row in chosen]
    for row in chosen:
        assert "on 150 source and 150 target documents of the sample" in row["why"]
        assert "fitted on all 1,200 and 500" in row["why"]
    assert {row["method"] for row in result.decision} > set(IN_CHUNKS) - {"nbc", "svm", "vectors"}


def test_groups_are_the_same_whatever_the_blocks_and_follow_the_source(corpus, tmp_path, truth):
    outputs = []
    for rows, engine in ((10**6, "memory"), (150, "local"), (333, "local")):
        place = tmp_path / str(rows)
        result = cluster_files(
            corpus / "source.csv",
            corpus / "target",
            place,
            n_clusters=3,
            block_rows=rows,
            engine=engine,
            label="topic",
            sample=300,
            text="text",
        )
        outputs.append(contents(place))
    assert outputs[0] == outputs[1] == outputs[2]
    assert sorted(result.aligned_to) == ["health", "money", "sport"]
    assert sum(result.sizes) == 1_300
    assert (result.termination, result.guidance) == ("stable", 0.5)
    table = read_collection(tmp_path / "150" / "a.csv", text="text").table()
    assert np.mean([name == topic for name, topic in zip(table["aligned_to"], truth, strict=False)]) > 0.9
    assert list(table)[-4:] == ["cluster", "cluster_name", "aligned_to", "strength"]


@pytest.mark.parametrize("loose", ["sport", "money"])
def test_documents_without_a_word_are_grouped_with_the_least_specific_ones(tmp_path, loose):
    words = {"sport": ["match", "team", "goal", "coach"], "money": ["bank", "stock", "share", "bond"]}
    source = {"text": [" ".join(own) for own in words.values()] * 10, "topic": [*words] * 10}
    texts = ["!?"] + [f"{own[i % 4]} {own[i % 3]}" if name == loose else " ".join(own[:2])
                      for i in range(30) for name, own in words.items()]  # fmt: skip
    write_rows(tmp_path / "s.csv", source)
    write_rows(tmp_path / "t.csv", {"text": texts})
    files = tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "out.csv"
    with pytest.warns(IsthmusWarning, match="no known word"):
        cluster_files(*files, n_clusters=2, label="topic", text="text", engine="memory")
    assert read_collection(tmp_path / "out.csv", text="text").table()["aligned_to"][0] == loose


@pytest.mark.parametrize(("n_clusters", "found"), [(5, 5), (None, 3)])
def test_as_many_groups_as_were_asked_for(corpus, tmp_path, n_clusters, found):
    """Three topics: five groups only where five are asked for."""
    settings = {"sample": 300, "text": "text", "label": "topic"}
    result = cluster_files(corpus / "source.csv", corpus / "target", tmp_path / "o", n_clusters=n_clusters, **settings)
    assert len(result.sizes) == found
    assert min(result.sizes) > 0


@pytest.mark.parametrize("function", [label_files, cluster_files])
@pytest.mark.parametrize("output", ["out.csv", "folder"])
def test_an_output_is_replaced_only_where_that_is_asked_for(corpus, tmp_path, function, output):
    place, target = tmp_path / output, corpus / "target" / "a.csv"
    settings = {"sample": 60, "text": "text", "label": "topic"}
    settings |= {"method": "nbc"} if function is label_files else {"n_clusters": 2}
    function(corpus / "source.csv", target, place, **settings)
    first = place.read_bytes() if place.is_file() else contents(place)
    with pytest.raises(DataError) as error:
        function(corpus / "source.csv", target, place, **settings)
    assert error.value.code == "output-exists"
    for path in [place] if place.is_file() else place.iterdir():
        path.write_text("{}", encoding="utf-8")
    function(corpus / "source.csv", target, place, force=True, **settings)
    assert (place.read_bytes() if place.is_file() else contents(place)) == first


def test_the_command_groups_in_blocks(corpus, tmp_path, capsys):
    out = tmp_path / "out.csv"
    arguments = ["cluster", str(corpus / "source.csv"), str(corpus / "target" / "a.csv"), "-o", str(out)]
    arguments += ["--text", "text", "--label", "topic", "--clusters", "3", "--engine", "local"]
    assert run_command([*arguments, "--block-rows", "200", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert sum(row["size"] for row in summary["clusters"]) == 500
    assert {row["aligned_to"] for row in summary["clusters"]} == {"sport", "money", "health"}
    assert len(read_collection(out, text="text")) == 500
    assert json.loads((tmp_path / "run.json").read_text())["settings"]["blocks"] is True
    assert run_command([*arguments, "--report", "x.html", "--force"]) == 2
    assert "--report" in capsys.readouterr().err
    assert run_command([*arguments, "--force"]) == 0
    said = capsys.readouterr().err
    assert "out.csv, those with the highest strength first" in said
    assert "--report" not in said, "a step that a run in blocks refuses"


def test_the_sample_says_that_shares_turned(turned, tmp_path):
    settings = {"text": "text", "label": "topic", "sample": 400}
    named = label_files(*turned, tmp_path / "n.csv", method="nbc", **settings)
    (said,) = [row["message"] for row in named.warnings if row["topic"] == "class shares"]
    assert "those of a sample, 400 documents of the source and 400 of the target; the labels do not follow" in said
    assert any("rest on a sample of 400 source and 400 target documents" in note for note in named.notes)


@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3])
def test_review_by_counts_is_that_of_the_mask(budget):
    """Documents in dispute come last and count as wrong, the surest of them first."""
    rng = np.random.default_rng(0)
    steps = rng.integers(3_000, 10_001, size=400)
    disputed = rng.random(400) < 0.2
    expected = AccuracyEstimate(0.9, 0.85, 0.95)
    counts = np.array([np.bincount(steps[disputed == kind], minlength=10_001) for kind in (False, True)])
    limits = review_limits(counts, 400, budget, expected.caution, expected.surest_alone)
    cautious = with_caution(steps / 10_000, expected.caution, expected.surest_alone)
    mask = review_mask(np.where(disputed, 0.0, cautious), budget, among_equals=steps)
    differ = np.sum((steps < limits[disputed.astype(int)]) != mask)
    assert differ <= 2, f"{differ} of 400 marks differ beyond what rounding to 1/10,000 explains"
    assert review_limits(np.zeros((2, 10_001), int), 0, budget, expected.caution).tolist() == [10_001, 10_001]


@pytest.fixture
def in_both(monkeypatch):
    """The methods that vote are the same in blocks and in memory."""
    monkeypatch.setattr(candidates, "CANDIDATES", ("logistic", "nbc", "cocc"))
    monkeypatch.setattr(candidates, "has_static_vectors", lambda: False)


def write_made(made, folder):
    write_rows(folder / "s.csv", {"text": made.source_texts, "label": made.source_labels})
    write_rows(folder / "t.csv", {"text": made.target_texts})
    return folder / "s.csv", folder / "t.csv"


def test_a_vote_beyond_the_sample_promises_about_what_it_does_in_memory(tmp_path, in_both):
    made = make_shifted_texts(200, 240, shared=0.2, noise=0.2, random_state=0)
    files = write_made(made, tmp_path)
    memory = isthmus.label(made.source_texts, made.source_labels, made.target_texts)
    blocks = label_files(*files, tmp_path / "o.csv", text="text", label="label", sample=120)
    labels = np.array(read_collection(tmp_path / "o.csv", text="text").table()["label"])
    assert np.mean(labels == memory.labels) >= 0.97
    assert blocks.expected_accuracy.estimate == pytest.approx(memory.expected_accuracy.estimate, abs=0.05)
    assert abs(blocks.needs_review - memory.needs_review.sum()) <= 0.1 * len(labels)
    for found, wanted in zip(blocks.class_shares, memory.class_shares(), strict=True):
        assert found["estimate"] == pytest.approx(wanted["estimate"], abs=0.03)
        assert found["high"] - found["low"] == pytest.approx(wanted["high"] - wanted["low"], abs=0.1)


@pytest.mark.parametrize("method", ["nbc", "auto"])
def test_documents_without_text_count_for_no_class_in_blocks_nor_in_memory(tmp_path, in_both, method):
    made = make_shifted_texts(150, 200, shared=0.2, noise=0.2, random_state=0)
    texts = [*made.target_texts[:100], *[""] * 30, *made.target_texts[100:], *["  "] * 20]
    write_rows(tmp_path / "s.csv", {"text": made.source_texts, "label": made.source_labels})
    write_rows(tmp_path / "t.csv", {"text": texts, "row": [str(i) for i in range(len(texts))]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        memory = isthmus.label(made.source_texts, made.source_labels, texts, method=method)
        blocks = label_files(
            tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "o.csv", method=method, text="text", block_rows=70
        )
    counted = dict(Counter(memory.labels[np.r_[:100, 130:230]].tolist()))
    assert (blocks.target_documents, blocks.without_text, blocks.labels) == (250, 50, counted)
    assert blocks.needs_review == memory.needs_review.sum(), "blocks and memory send other documents to review"
    assert [row["topic"] for row in blocks.warnings] == [row["topic"] for row in memory.warnings]
    for found, wanted in zip(blocks.class_shares, memory.class_shares(), strict=True):
        assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("method", ["nbc", "cocc", "auto"])
@pytest.mark.parametrize("budget", [0.02, 0.1, 0.3])
def test_blocks_and_memory_mark_the_same_documents(tmp_path, in_both, method, budget):
    """Where the sample holds everything, and the methods that vote run in blocks as they do in memory.

    Blocks knew no dispute (302 documents to review against 320 in memory), and judged a vote as if it were one method.
    """
    made = make_shifted_texts(150, 200, shared=0.2, noise=0.2, random_state=0)
    write_made(made, tmp_path)
    options = {"method": method, "error_budget": budget}
    memory = isthmus.label(made.source_texts, made.source_labels, made.target_texts, **options)
    columns = {"text": "text", "label": "label", "block_rows": 70}
    blocks = label_files(tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "o.csv", **options, **columns)
    table = read_collection(tmp_path / "o.csv", text="text").table()
    assert table["label"] == memory.labels.tolist()
    assert [float(cell) for cell in table["confidence"]] == pytest.approx(memory.confidence.tolist(), abs=6e-5)
    marks = np.array(table["needs_review"]) == "True"
    assert marks.sum() == memory.needs_review.sum(), "blocks and memory send other numbers of documents to review"
    np.testing.assert_array_equal(marks, memory.needs_review)
    assert table["review_reason"] == memory.review_reason.tolist()
    assert [row["topic"] for row in blocks.warnings] == [row["topic"] for row in memory.warnings]
    assert blocks.expected_accuracy == memory.expected_accuracy
    for found, wanted in zip(blocks.class_shares, memory.class_shares(), strict=True):
        assert found == pytest.approx(wanted, abs=1e-6)


def test_turned_shares_do_not_erase_a_class(turned, tmp_path):
    """All 500 documents were given to one class, 98% of them expected to be right."""
    blocks = label_files(*turned, tmp_path / "o.csv", text="text", label="topic", sample=300)
    assert len(blocks.labels) == 2, f"one class swallowed the other: {blocks.labels}"
    right = (
        np.array(read_collection(tmp_path / "o.csv", text="text").table()["label"]) == ["sport"] * 50 + ["money"] * 450
    )
    assert right.mean() > 0.95


@pytest.fixture
def two_files(tmp_path):
    """A labelled file and one to be labelled, or grouped."""
    kinds = {"staff": "kind polite staff", "bike": "fast red bike"}
    rows = [f"{kinds[topic]} {i % 5},{topic}\n" for i in range(30) for topic in kinds]
    (tmp_path / "s.csv").write_text("text,topic\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "t.csv").write_text("text\n" + "".join(row.partition(",")[0] + "\n" for row in rows), encoding="utf-8")
    return tmp_path / "s.csv", tmp_path / "t.csv"


SMALL = {"text": "text", "label": "topic", "method": "nbc", "sample": 60}


@pytest.mark.parametrize("which", [0, 1])
def test_no_run_writes_over_its_own_inputs(two_files, which):
    before = two_files[which].read_bytes()
    with pytest.raises(UsageError, match="is an input of this run") as caught:
        label_files(*two_files, two_files[which], force=True, **SMALL)
    assert caught.value.code == "output-unwritable"
    assert two_files[which].read_bytes() == before


def test_a_folder_may_be_named_like_a_file(two_files, tmp_path):
    (tmp_path / "out.csv").mkdir()
    label_files(*two_files, tmp_path / "out.csv", **SMALL)
    assert (tmp_path / "out.csv" / "t.csv").is_file(), "one file for each input, in the folder"


@pytest.mark.parametrize("place", ["out.csv", "out.jsonl", "out"])
def test_files_with_other_columns_do_not_go_into_one_table(two_files, tmp_path, place):
    source, target = two_files
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.csv").write_bytes(target.read_bytes())
    (tmp_path / "more" / "b.csv").write_text("id,text\n1,kind staff\n2,red bike\n", encoding="utf-8")
    if place == "out.csv":
        with pytest.raises(DataError, match="2 different sets of columns") as caught:
            label_files(source, tmp_path / "more", tmp_path / place, **SMALL)
        assert caught.value.code == "length-mismatch"
        return
    label_files(source, tmp_path / "more", tmp_path / place, **SMALL)
    if place == "out.jsonl":
        records = [json.loads(line) for line in (tmp_path / place).read_text(encoding="utf-8").splitlines()]
        assert [("id" in row, row["label"]) for row in records[-2:]] == [(True, "staff"), (True, "bike")]


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        (None, "text\n", "empty-file"),
        ("text,topic\n", None, "empty-file"),
        ("text,topic\n" + "kind staff,\n" * 9, None, "no-labels"),
    ],
)
def test_files_without_rows_or_labels_are_refused(two_files, tmp_path, source, target, code):
    for path, content in zip(two_files, (source, target), strict=True):
        if content is not None:
            path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        label_files(*two_files, tmp_path / "out.csv", **SMALL)
    assert caught.value.code == code, str(caught.value)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("guidance", [0.0, 0.3])
def test_groups_in_blocks_follow_the_source_as_far_as_was_asked(two_files, tmp_path, guidance):
    found = cluster_files(
        *two_files, tmp_path / "out.csv", n_clusters=2, guidance=guidance, text="text", label="topic", sample=60
    )
    assert found.guidance == guidance
    assert sorted(found.aligned_to, key=str) == ([None, None] if guidance == 0 else ["bike", "staff"])
    assert found.sizes == [30, 30]
