"""The benchmark of the string kernels on a GPU, with numpy in CuPy's place and texts of a few words."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from isthmus.exceptions import MissingExtraError, UsageError
from isthmus.features import gram_gpu
from isthmus_bench.engine.suite import Task
from isthmus_bench.speed import gpu
from isthmus_bench.suites.speed import SUITE, case_names


@pytest.fixture
def folder(tmp_path):
    rng = np.random.RandomState(0)
    words = {"positive": ["good", "fine", "superb"], "negative": ["bad", "poor", "awful"]}

    def record(number, domain, label, **more):
        text = " ".join(rng.choice([*words[label], domain, "thing", "story"], 9))
        return {"id": f"{domain}-{number}", "text": text, "label": label, "domain": domain, **more}

    reviews = [
        record(i, domain, ("positive", "negative")[i % 2], title="a title", rating=5.0, product="p", asin="0")
        for i in range(10)
        for domain in ("books", "dvd", "electronics", "kitchen")
    ]
    unlabelled = [
        {**review, "id": f"u{review['id']}", "true_label": review["label"], "label": "unlabeled"} for review in reviews
    ]
    headlines = [
        {**record(i, domain, ("positive", "negative")[i % 2]), "topic": (("sports", "tech")[i % 2] if i % 7 else None)}
        for i in range(30)
        for domain in ("thucnews_title", "nlpcc2017", "toutiao")
    ]
    for name, records in (
        (gpu.AMAZON_FILE, reviews),
        (gpu.AMAZON_UNLABELLED_FILE, unlabelled),
        (gpu.HEADLINES_FILE, headlines),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record) + "\n" for record in records)
    return tmp_path


def test_texts_repeat_with_noise_only_where_they_must(folder):
    data = gpu.reviews(folder, 80)
    assert len(data.source_texts) == len(data.target_texts) == 40
    more = gpu.reviews(folder, 120)
    assert more.source_texts[:40] == data.source_texts
    assert sum(len(text.split()) for text in more.source_texts[40:]) < 0.95 * sum(
        len(t.split()) for t in data.source_texts[:20]
    )
    assert more.source_labels[40:] == data.source_labels[:20]
    headlines = gpu.headlines(folder, 60)
    assert set(headlines.target_labels) <= set(headlines.source_labels)
    assert len(headlines.source_texts) + len(headlines.target_texts) == 60


def test_stages_are_timed_and_everything_is_put_back(folder, monkeypatch):
    from isthmus.classify.strings import classifier

    monkeypatch.setattr("isthmus.features.strings.array_module", lambda device, n: np)
    before = classifier.solve_ridge
    row = gpu.fit_seconds(gpu.reviews(folder, 60), (3, 5), np)
    assert classifier.solve_ridge is before
    assert {"read", "sort", "gram", "solve", "calibrate", "predict_2000"} <= row.keys()
    assert row["total_s"] >= row["solve_s"] > 0
    assert gpu.shares({**row, "int8_ops": 1e15, "copy_bytes": 4e12})["gram_share"] > 0


def test_ceilings_are_rates():
    assert all(value > 0 for value in gpu.ceilings(np, 64).values())


def test_sizes_without_a_gpu_are_those_of_landmarks(folder, monkeypatch):
    monkeypatch.setattr(gpu, "SIZES", (40,))
    monkeypatch.setattr(gpu, "LENGTHS", {"reviews": (3, 4), "headlines": (3, 4)})
    monkeypatch.setattr("isthmus.features.gram_gpu.array_module", lambda device, n: None)
    rows = gpu.sizes(folder, (0,))
    assert [(row["corpus"], row["method"]) for row in rows] == [
        ("reviews", "2,000 landmarks, CPU"),
        ("headlines", "2,000 landmarks, CPU"),
    ]
    assert all(0 <= row["accuracy"] <= 1 for row in rows)


def test_the_cases_run_when_they_are_named(folder, monkeypatch):
    names = case_names("gpu")
    assert names == [f"gpu-{corpus}-{n}" for corpus in ("reviews", "headlines") for n in (10_000, 30_000, 100_000)]
    assert set(names) <= set(SUITE.tasks)
    assert not set(names) & set(SUITE.default_tasks)
    with pytest.raises(UsageError, match=r"no part 'gpus'; there are: .*gpu"):
        case_names("gpus")
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(MissingExtraError, match="needs CuPy"):
        gpu.CASES[0].run(folder)


def test_agreement_counts_every_difference(folder, monkeypatch):
    """numpy against numpy agrees; one wrong integer, one wrong label and one wrong product are counted."""
    for room in ("features.strings", "features.gram_gpu"):
        monkeypatch.setattr(f"isthmus.{room}.array_module", lambda device, n: np if device == "cuda" else None)
    monkeypatch.setattr(gpu, "LENGTHS", {"reviews": (3, 4), "headlines": (3, 4)})
    task = Task("small", lambda where: gpu.reviews(where, 60))
    study = gpu.agreement({"small": task})
    rows = study(folder, (0,))
    assert {row["what"].split(",")[0] for row in rows} == {
        "add_products", "add_lists", "integers", "labels", "scores",
    }  # fmt: skip
    assert all(row["compared"] > 0 for row in rows), "a row that compares nothing shows nothing"
    assert [row for row in rows if row["differ"] and not row["what"].startswith("scores")] == []

    whole = gram_gpu.GramIndex.tile

    def one_more(index, a, b):
        tile = whole(index, a, b)
        tile[-1, 0] += 1
        return tile

    monkeypatch.setattr(gram_gpu.GramIndex, "tile", one_more)
    wrong = {row["what"]: row["differ"] for row in gpu.same_integers(task.load(folder), (3, 4))}
    assert wrong["integers, presence"] == 2, "the entry and its mirror image"
    assert wrong["integers, presence, across"] == 1
