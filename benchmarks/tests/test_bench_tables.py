"""Tables, pages, significance, speed rows, packed answers."""

import csv
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.exceptions import DataError
from isthmus_bench import SpeedCase
from isthmus_bench.ceilings import ceilings
from isthmus_bench.engine.harness import run_suite
from isthmus_bench.engine.records import Record, compare, compare_best, contrasts
from isthmus_bench.engine.suite import Study, Suite, pack_correct, unpack_correct
from isthmus_bench.engine.tables import _study_page, grids, table_grid, to_csv, write_pages
from isthmus_bench.speed import everyday
from isthmus_bench.suites.speed import collect_cases, fallen, quick_names, speed_row, speed_suite


def row(task, method, value, seed=0, metric="error", **more):
    return {"task": task, "method": method, "metric": metric, "value": value, "seconds": 1.0, "seed": seed, **more}


def test_grid_shows_mean_and_deviation_over_seeds_and_the_mean_of_tasks():
    rows = [
        row("b", "cocc", 0.1),
        row("b", "cocc", 0.3, seed=1),
        row("a", "cocc", 0.4),
        row("a", "nbc", 0.5, seed=None),
    ]
    (grid,) = grids(rows, tasks=["a", "b"], methods=["nbc", "cocc"], not_run=["sraa"])
    assert grid.title == "error"
    assert grid.header == ["task", "nbc", "cocc"]
    assert grid.body == [
        ["a", "0.5000", "0.4000"],
        ["b", "–", "0.2000 ± 0.1414"],
        ["mean", "0.5000 (1 of 2)", "0.3000"],
        ["sraa", "not run", "not run"],
    ]
    assert grid.text().splitlines()[2].split() == ["a", "0.5000", "0.4000"]
    assert "|---|---:|---:|" in grid.markdown()


def test_means_of_groups_of_tasks():
    rows = [row(task, "m", value) for task, value in (("a", 0.1), ("b", 0.3), ("c", 0.8))]
    (grid,) = grids(rows, means={"ab": ("a", "b"), "all": ("a", "b", "c", "d"), "c": ("c",)})
    assert grid.body[3:] == [["mean ab", "0.2000"], ["mean all", "0.4000 (3 of 4)"]]


def test_rows_of_one_metric_are_told_apart_by_their_names_not_by_measures():
    rows = [
        row("a", "mr", 0.1 * i, part=part, words=w, peak=i / 3)
        for i, (part, w) in enumerate([("test", 0), ("test", 100)])
    ]
    (grid,) = grids(rows)
    assert grid.header == ["task", "mr (words=0)", "mr (words=100)"]


def test_of_fields_that_say_the_same_the_setting_names_the_column():
    # The vocabulary of b ends before the second cut, and bytes are measured: only the cut recurs.
    sizes = {"a": (2, 4), "b": (2, 3)}
    rows = [
        row(task, "svm", 0.5, terms=terms, bytes=terms * weight, cut=cut)
        for (task, found), weight in zip(sizes.items(), (8, 16), strict=True)
        for terms, cut in zip(found, (2, 4), strict=True)
    ]
    scores, terms, bytes_ = grids([*rows, row("a", "rule", 0.6, bytes=3)])
    assert scores.header == ["task", "svm (cut=2)", "svm (cut=4)", "rule"]
    assert (terms.title, bytes_.title) == ("terms", "bytes")
    assert terms.body == [["a", "2", "4"], ["b", "2", "3"]]
    assert bytes_.body == [["a", "16", "32", "3"], ["b", "32", "48", "–"]]
    assert len(grids([row("a", "svm", 0.5, terms=n, cut=n) for n in (2, 4)])) == 1  # nothing of its own to say


def test_a_table_wider_than_long_is_turned():
    rows = [row("a", "mr", i / 100, words=i) for i in range(21)]
    (grid,) = grids([*rows, row("b", "mr", 0.5, words=0)], not_run=["c"])
    assert grid.header == ["method", "a", "b", "mean", "c"]
    assert grid.body[0] == ["mr (words=0)", "0.0000", "–", "0.0000 (1 of 2)", "not run"]
    assert len(grid.body) == 22  # the row of b stands alone, so nothing tells it apart
    (grid,) = grids(rows[:20])
    assert grid.header[0] == "task"


def test_one_grid_per_metric_and_one_for_speed():
    speed = row("gram", "tkc", 16.0, metric="ratio", ours_s=1.0, peer="sklearn", peer_s=16.0, ratio=16.0, n=4000)
    found = grids([row("a", "x", 1.0), row("a", "x", 2.0, metric="ari"), speed])
    assert [grid.title for grid in found] == ["", "error", "ari"]
    assert found[0].header == ["task", "method", "ours_s", "peer", "peer_s", "ratio", "n"]
    assert found[0].body == [["gram", "tkc", "1", "sklearn", "16", "16", "4000"]]


def test_csv_keeps_all_digits_and_odd_texts():
    rows = [{"a": 1 / 3, "b": 'x, "y"\nz'}, {"a": 2, "c": "late"}]
    back = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert float(back[0]["a"]) == 1 / 3
    assert back[0]["b"] == 'x, "y"\nz'
    assert back[1] == {"a": "2", "b": "", "c": "late"}
    assert table_grid(rows).header == ["a", "b", "c"]


@given(st.lists(st.booleans(), max_size=40))
def test_packing_answers_loses_nothing(right):
    packed = pack_correct([1] * len(right), [int(value) for value in right])
    np.testing.assert_array_equal(unpack_correct(packed), np.array(right, dtype=bool))


def test_compare_counts_the_documents_only_one_got_right():
    truth = ["x"] * 20
    correct = {
        ("t", "ours", 0): pack_correct(truth, ["x"] * 18 + ["y"] * 2),
        ("t", "ours", 1): pack_correct(truth, ["y"] * 20),
        ("t", "good", None): pack_correct(truth, ["x"] * 9 + ["y"] * 10 + ["x"]),
        ("t", "bad", None): pack_correct(truth, ["y"] * 20),
        ("t", "short", None): pack_correct(["x"], ["x"]),
    }
    result = compare(correct, "t", "ours", "good")
    assert (result["only_method"], result["only_other"]) == (9, 1)
    assert result["p_value"] == pytest.approx(22 / 1024)
    assert compare(correct, "t", "ours", "good", seed=1)["only_method"] == 0
    assert compare_best(correct, "t", "ours", ["bad", "good", "ours"])["other"] == "good"
    with pytest.raises(DataError, match="answered 20 documents"):
        compare(correct, "t", "ours", "short")
    with pytest.raises(DataError, match="kept no answers"):
        compare(correct, "t", "ours", "absent")


def test_pages_name_command_versions_hashes_and_no_place(suite, folder, tmp_path):
    run = run_suite(suite, folder, record_dir=tmp_path / "rec", command="isthmus bench tiny")
    run_suite(suite, folder, studies=["sweep"], record_dir=tmp_path / "rec", command="isthmus bench tiny --study sweep")
    run = run_suite(suite, folder, methods=["first", "second", "broken"], record_dir=tmp_path / "rec")
    tests = contrasts(suite, run.record)
    assert [test["task"] for test in tests] == ["one", "two"]
    written = write_pages(suite, run.record, run.not_run)
    assert {path.name for path in written} == {
        "results.json",
        "results.md",
        "significance.csv",
        "sweep.csv",
        "sweep.md",
        "wrong.csv",
    }
    page = (tmp_path / "rec" / "tiny" / "results.md").read_text()
    for part in (
        "isthmus bench tiny\nisthmus bench tiny --study sweep",
        "| one | 0.1667 ± 0.2357 | 0.6667 |",
        "scikit-learn ",
        "SHA-256",
        "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",  # of "one"
        "gone: not run, the corpus cannot be had",
        "broken: failed, RuntimeError: no luck",
    ):
        assert part in page
    texts = [path.read_text() for path in written]
    assert not any(str(tmp_path) in text or str(folder) in text for text in texts)


def test_speed_suite_runs_only_its_pairs_and_fills_in_the_ratio(cache, tmp_path):
    cases = [
        SpeedCase("gram-10", "tkc", lambda folder: {"ours_s": 0.5, "peer": "sklearn", "peer_s": 8.0, "n": 10}),
        SpeedCase("fit-10", "cocc", lambda folder: {"ours_s": 1.0, "peer": "dense", "peer_s": 2.0, "ratio": 2.0}),
    ]
    run = run_suite(speed_suite(cases), tmp_path)
    assert [(r["task"], r["method"], r["ours_s"], r["peer"], r["peer_s"], r["ratio"]) for r in run.rows] == [
        ("gram-10", "tkc", 0.5, "sklearn", 8.0, 16.0),
        ("fit-10", "cocc", 1.0, "dense", 2.0, 2.0),
    ]
    assert run.rows[0]["n"] == 10
    assert run.rows[0]["seconds"] == 0.5
    assert speed_row({"ours_s": 0.0, "peer": "p", "peer_s": 1.0})["ratio"] == float("inf")


def test_a_loop_is_set_against_what_the_machine_can_do(monkeypatch):
    """Ten operations and four bytes a second: 40 operations take 4 s at least, 20 bytes 5 s."""
    monkeypatch.setattr("isthmus_bench.ceilings.ceilings", lambda: (10.0, 4.0))
    measured = {"ours_s": 20.0, "peer": "p", "peer_s": 40.0, "operations": 40}
    found = speed_row({**measured, "moved_bytes": 20})
    assert (found["least_s"], found["of_ceiling"], found["bound"]) == (5.0, 0.25, "memory")
    found = speed_row({**measured, "moved_bytes": 12})
    assert (found["least_s"], found["of_ceiling"], found["bound"]) == (4.0, 0.2, "arithmetic")
    assert "bound" not in speed_row({"ours_s": 20.0, "peer": "p", "peer_s": 40.0})


def test_the_machine_multiplies_faster_than_a_loop_could():
    operations, moved = ceilings()
    assert operations > 1e8, "operations a second"
    assert moved > 1e8, "bytes a second"


def test_a_row_of_speed_says_what_it_should_reach(cache, tmp_path):
    cases = [SpeedCase("fit", "cocc", lambda folder: {"ours_s": 1.0, "peer": "dense", "peer_s": 2.0}, limit=15)]
    assert run_suite(speed_suite(cases), tmp_path).rows[0]["limit"] == 15


@pytest.mark.parametrize(("ratio", "said"), [(6.7, []), (6.6, ["fit cocc: ratio 6.6, 10 in the record"]), (30.0, [])])
def test_a_ratio_that_fell_by_a_third_is_named(ratio, said):
    recorded = [{"task": "fit", "method": "cocc", "ratio": 10.0}]
    new = {"task": "new", "method": "cocc", "ratio": 0.1}  # not in the record
    assert fallen([{"task": "fit", "method": "cocc", "ratio": ratio}, new], recorded) == said


def test_a_command_that_fails_is_told_by_what_it_said(tmp_path):
    cost = everyday.run_process([sys.executable, "-c", "sum(range(10**6))"], tmp_path)
    assert 0 < cost.cpu_s < 20
    assert cost.peak_mb > 1
    with pytest.raises(RuntimeError, match="no luck"):
        everyday.run_process([sys.executable, "-c", "raise SystemExit('no luck')"], tmp_path)


def test_the_quick_cases_of_speed_have_a_limit_or_a_peer():
    names = quick_names()
    assert {"first-run", "import", "help", "cocc-iteration"} <= set(names)
    assert not {"label-6000-22390", "manifold-5000x10000"} & set(names), "these take minutes"


def test_collected_speed_cases_have_distinct_names():
    cases = collect_cases()
    assert len({(case.name, case.method) for case in cases}) == len(cases)


@pytest.mark.parametrize(("points", "chart", "listed"), [(300, True, True), (301, True, False), (301, False, True)])
def test_a_page_beside_its_chart_lists_no_cloud_of_points(points, chart, listed):
    study = Study("cloud", "Points.", lambda folder, seeds: [], chart={"kind": "scatter", "x": "x"} if chart else None)
    suite = Suite(name="made", summary="", tasks={}, methods={}, studies={"cloud": study})
    page = _study_page(suite, "cloud", {"rows": [{"x": i} for i in range(points)], "seconds": 1.0})
    assert ("| 299 |" in page) is listed
    assert (f"The {points} points are in `cloud.csv`." in page) is not listed


@pytest.mark.parametrize(
    ("load", "said"), [(1.5, False), (40.0, True), (None, False)], ids=["quiet", "busy", "unknown"]
)
def test_a_record_says_that_the_machine_had_other_work(tmp_path, monkeypatch, load, said):
    monkeypatch.setattr("isthmus_bench.engine.records.load_average", lambda: load)
    record = Record(tmp_path / "s" / "results.json", "s")
    record.add(("a", "x", 0), "", [], None)
    record.save()
    kept = Record.open(tmp_path, "s").busy_sentence()
    assert kept.startswith("The machine had other work (a load of up to 40)") == said, f"a load of {load}: {kept!r}"
