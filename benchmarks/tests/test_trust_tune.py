"""How the constants of the accuracy estimate are set: draws, fits with known answers, and the recorded figures."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from isthmus._math.fitted import FILE, fitted
from isthmus.choose import trust
from isthmus_bench import tasks
from isthmus_bench.suites import trust_tune

ACCURACY = fitted("expected_accuracy")
FIGURES = {*ACCURACY["vote"], *ACCURACY["single"]} - {"constant"}
RECORD = Path(__file__).parents[1] / "records" / "trust" / "pairs.csv"


def made_rows(weights, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for pair in trust_tune.PAIRS:
        for kind in ("plain", "turned", "noisy"):
            shares = {name: float(rng.uniform(0.3, 0.9)) for name in FIGURES}
            shares |= {"excess": float(rng.normal()), "moved": float(rng.uniform(0, 0.4))}
            right = 1 / (1 + np.exp(-trust.log_odds(shares, weights)))
            rows.append({"task": f"{pair}/{kind}", "method": "auto", "n_source": 500, "accuracy": right, **shares})
    return rows


@pytest.fixture
def pretend_pairs(monkeypatch):
    source = [(f"source {name} {i}", name) for name in "abcd" for i in range(200)]
    target = [(f"target {name} {i}", name) for name in "abcd" for i in range(200)]
    monkeypatch.setitem(trust_tune.PAIRS, "ng4", ("newsgroups", lambda folder: [source, target]))


def test_draws_are_repeatable_and_spoil_as_they_say(pretend_pairs):
    plain = trust_tune.draw_task("ng4/plain", Path())
    assert plain == trust_tune.draw_task("ng4/plain", Path())
    assert len(plain.source_texts) == len(plain.target_texts) == trust_tune.SIZE
    missing = trust_tune.draw_task("ng4/missing0", Path())
    assert len(set(missing.target_labels) - set(missing.source_labels)) == 1
    thin = trust_tune.draw_task("ng4/thin40", Path())
    assert len(thin.source_labels) == 40
    noisy = trust_tune.draw_task("ng4/noisy", Path())
    pairs = zip(noisy.source_texts, noisy.source_labels, strict=True)
    wrong = np.mean([text.split()[1] != label for text, label in pairs])
    assert wrong == pytest.approx(0.25, abs=0.06)
    turned = trust_tune.draw_task("ng4/turned", Path())
    counts = [[list(labels).count(name) for name in "abcd"] for labels in (turned.source_labels, turned.target_labels)]
    assert np.argsort(counts[0]).tolist() == np.argsort(counts[1])[::-1].tolist()


def test_turned_shares_fall_by_a_factor_and_not_below_three_per_cent(monkeypatch):
    rows = [(f"{name} {i}", name) for name in "abcdefg" for i in range(400)]
    monkeypatch.setitem(trust_tune.PAIRS, "ng4", ("newsgroups", lambda folder: [rows, rows]))
    turned = trust_tune.draw_task("ng4/turned", Path())
    falling = 0.55 ** np.arange(7) / np.sum(0.55 ** np.arange(7))
    floored = [*falling[:5], 0.03, 0.03]  # the last two would have 2.3 and 1.3 per cent
    expected = [round(trust_tune.SIZE * share / sum(floored)) for share in floored]
    for labels in (turned.source_labels, turned.target_labels):
        assert sorted(map(list(labels).count, "abcdefg"), reverse=True) == expected


def test_chinese_pairs_keep_the_topics_that_both_sides_have_often(monkeypatch):
    counts = {"fudan": {"war": 3, "law": 2, "art": 5}, "csl": {"law": 3, "war": 1, "tax": 9, "art": 2}}
    monkeypatch.setattr(
        tasks,
        "read_records",
        lambda path: [
            {"text": f"{topic} {i}", "topic": topic}
            for topic, n in counts[path.name.split(".")[0]].items()
            for i in range(n)
        ],
    )
    sides = trust_tune._chinese("fudan", "csl", least=2)(Path())
    found = [{topic: [label for _, label in side].count(topic) for _, topic in side} for side in sides]
    assert found == [{"law": 2, "art": 5}, {"law": 3, "art": 2}]


def test_the_fit_finds_the_weights_that_made_the_rows(monkeypatch):
    for part, (figures, _) in trust_tune.PARTS.items():
        monkeypatch.setitem(trust_tune.PARTS, part, (figures, 1e-6))
    weights = {"constant": -0.3, "repeated": 0.3, "agreement": 0.4, "confidence": 0.2, "source": 0.1, "excess": 0.1}
    rows = made_rows(weights)
    assert trust_tune.fit_weights(rows, "VOTE") == pytest.approx(weights, abs=1e-3)
    assert max(abs(miss) for _, miss in trust_tune.misses(rows, single=False)) < 0.01
    few = {"constant": -0.2, "ridge": 1.0, "excess": 0.3}
    thin = made_rows(few)
    for row in thin:
        row["n_source"] = 40
    assert trust_tune.fit_weights(thin, "FEW") == pytest.approx(few, abs=1e-3)
    both = trust_tune.misses([*rows, *thin], single=False)
    assert len(both) == len(rows) + len(thin)
    assert max(abs(miss) for row, miss in both if row["n_source"] == 40) < 0.01


def test_no_doubt_makes_the_interval_narrower():
    rng = np.random.default_rng(1)
    rows = made_rows(dict.fromkeys(ACCURACY["vote"], 0.2))
    rows += [row | {"method": "cocc"} for row in made_rows(dict.fromkeys(ACCURACY["vote"], 0.2), seed=2)]
    for row in rows:
        row["accuracy"] = float(np.clip(row["accuracy"] + rng.normal(scale=0.05), 0.05, 0.95))
    spread = trust_tune.fit_spread(rows)
    assert set(spread) == set(ACCURACY["spread"])
    assert min(spread.values()) >= 0
    assert spread["constant"] > 0


def test_the_constants_are_those_that_the_recorded_figures_give():
    found = trust_tune.fit_constants(trust_tune.read_rows(RECORD))
    for name, constants in found.items():
        assert constants == pytest.approx(ACCURACY[name.lower()], abs=2e-3), name


def test_a_fit_changes_only_its_own_values_in_the_file(tmp_path):
    """Written back as they are, the values leave the file as it is, byte by byte."""
    copy = tmp_path / FILE.name
    copy.write_bytes(FILE.read_bytes())
    parts = {part: ACCURACY[part.lower()] for part in (*trust_tune.PARTS, "SPREAD")}
    trust_tune.write_constants(parts, copy)
    trust_tune.write_values("budget", {"slope": fitted("budget")["slope"]}, copy)
    trust_tune.write_values("class_proportions", {"reach": fitted("class_proportions")["reach"]}, copy)
    assert copy.read_bytes() == FILE.read_bytes()
    trust_tune.write_constants({"SPREAD": ACCURACY["spread"] | {"constant": 0.5}}, copy)
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (FILE, copy))
    assert after["expected_accuracy"]["values"]["spread"].pop("constant") == 0.5
    before["expected_accuracy"]["values"]["spread"].pop("constant")
    assert after == before


def test_the_table_holds_every_constant_and_every_kind():
    rows = trust_tune.read_rows(RECORD)
    table = trust_tune.constants_table(rows)
    named = [row["name"] for row in table if row["part"] == "constant"]
    assert len(named) == sum(len(ACCURACY[part]) for part in ("vote", "few", "single", "spread"))
    errors = {row["name"]: row["value"] for row in table if row["part"] == "error"}
    assert errors["left out, vote, plain"] < 0.06


@pytest.mark.parametrize("known", ["all", "some", "none"])
def test_pairs_with_vectors_of_encoders_are_measured_where_every_text_has_one(monkeypatch, tmp_path, capsys, known):
    sides = [
        [(f"{name} {name}{i % 9} {side} {i}", name) for name in ("price", "staff") for i in range(40)] for side in "st"
    ]
    monkeypatch.setattr(trust_tune, "PAIRS", {"ng4": ("newsgroups", lambda folder: sides)})
    monkeypatch.setattr(trust_tune, "task_names", lambda: ["ng4/plain"])
    rows = [row for side in sides for row in side][: None if known == "all" else 50]
    keys = [hashlib.sha1(text.encode()).hexdigest().encode() for text, _ in rows]
    noise = np.random.default_rng(0).normal(scale=0.2, size=(len(rows), 4))
    vectors = noise + np.array([[label == "price", label == "staff", 0, 0] for _, label in rows])
    (tmp_path / "tiny").mkdir()
    np.savez(tmp_path / "tiny" / "0.npz", keys=np.array(keys), vectors=vectors.astype(np.float16))
    monkeypatch.setenv(trust_tune.VECTORS, "" if known == "none" else str(tmp_path))
    found = list(trust_tune.measure_encoders(Path()))
    said = capsys.readouterr().err
    assert [(row["task"], row["method"]) for row in found] == ([("ng4/plain@tiny", "auto")] if known == "all" else [])
    if known == "all":
        assert found[0]["accuracy"] > 0.9
        assert trust_tune.group_of(found[0]) == "newsgroups"
    else:
        assert ("ng4/plain" if known == "some" else trust_tune.VECTORS) in said
