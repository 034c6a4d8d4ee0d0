"""The suite "scale": what it makes, and what it measures, on a few hundred documents."""

import json

import pytest

from isthmus_bench.suites import scale, scale_data

POOLS = {
    "sport": ["a match, a goal and a coach", "the team: a penalty", "striker, league and score"],
    "money": ["a bank, a loan and a bond", "the market: a share", "budget, profit and price"],
}


@pytest.fixture
def folder(tmp_path):
    scale_data.write_shards(
        tmp_path / "source", scale_data.make_headlines(POOLS, 300, 0), labelled=True, shard_rows=100
    )
    scale_data.write_shards(
        tmp_path / "target", scale_data.make_headlines(POOLS, 250, 1), labelled=False, shard_rows=100
    )
    return tmp_path


def test_made_texts_are_the_same_every_time_and_hold_parts_of_real_ones():
    first, second = (list(scale_data.make_headlines(POOLS, 50, 7)) for _ in range(2))
    assert first == second
    assert len({text for text, _ in first}) > 5
    for text, topic in first:
        assert any(text.startswith(one[:5]) for one in POOLS[topic])
    reviews = list(scale_data.make_reviews({"good": ["One. Two. Three."], "bad": ["Four! Five!"]}, 20, 0))
    assert {label for _, label in reviews} == {"good", "bad"}
    assert all(set(text.split()) <= {"One.", "Two.", "Three.", "Four!", "Five!"} for text, _ in reviews)


def test_shards_and_truth(folder):
    assert [path.name for path in sorted((folder / "target").iterdir())] == [f"part-000{i}.csv" for i in range(3)]
    assert len((folder / "target-truth.txt").read_text().splitlines()) == 250
    assert "label" not in (folder / "target" / "part-0000.csv").read_text().splitlines()[0]


def test_a_run_is_measured_in_a_process_of_its_own(folder):
    facts = scale.measured(scale.run_ours, str(folder), str(folder / "out"), "nbc", {"sample": 60})
    assert facts["documents"] == 550
    assert 0 < facts["pass_s"] <= facts["seconds"]
    assert facts["peak_mb"] > 50
    right = scale.accuracy(folder, folder / "out")
    assert right > 0.95
    rows = scale.rows_of(facts, right)
    shown = {row["metric"] for row in rows} - set(scale.SUITE.hidden)
    assert shown == {"accuracy", "us_per_document", "peak_mb", "wall_s", "cpu_s"}
    json.dumps(rows)
    rows = [{**row, "task": "headlines-100k", "method": "nbc"} for row in rows]
    (point,) = scale.growth(rows)
    assert point["documents"] == 550
    assert 0 < point["pass_us"] <= point["us_per_document"]
    assert {"reading", "numbering words", "writing"} <= {row["pass"] for row in scale.passes(rows)}


def test_the_peer_and_the_digest(folder):
    facts = scale.run_peer(str(folder), str(folder / "peer"), "reviews")
    assert facts["documents"] == 550
    assert scale.accuracy(folder, folder / "peer") > 0.9
    assert len({scale._digest(str(folder), "nbc", block_rows=rows) for rows in (70, 1_000)}) == 1


def test_an_error_of_the_measured_process_is_raised_here(folder):
    with pytest.raises(ValueError, match="does not run on large files"):
        scale.measured(scale.run_ours, str(folder), str(folder / "out"), "lsa", {})
