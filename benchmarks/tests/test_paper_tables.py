"""One table per paper from the records, and tests of earlier runs that still hold."""

import json

import pytest

from isthmus_bench.engine.papers import paper_tables
from isthmus_bench.engine.records import Record
from isthmus_bench.engine.suite import Method, Suite, Task
from isthmus_bench.engine.tables import with_earlier


def row(task, method, value, metric="error", seed=0, **more):
    return {"task": task, "method": method, "seed": seed, "metric": metric, "value": value, **more}


@pytest.fixture
def records(tmp_path):
    def write(suite, rows, **tables):
        place = tmp_path / suite
        place.mkdir()
        (place / "results.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
        for name, text in tables.items():
            (place / f"{name}.csv").write_text(text, encoding="utf-8")

    write(
        "cocc",
        [
            row("rec-talk", "cocc", 0.01),
            row("rec-talk", "cocc", 0.03, seed=1),
            row("rec-talk", "nbc", 0.2),
            row("rec-talk", "sgt", 0.1),
            row("rec-talk", "cocc-paper", 0.5),
        ],
        significance="task,method,other,p_value\nrec-talk,cocc,sgt,1e-200\n",
    )
    words = [row("five-newsgroups", "dual-manifold", 0.85, "pair_f1", words=0, part="test")]
    write("dual", [*words, row("five-newsgroups", "rls", 0.7, "pair_f1", words=0, part="test")])
    selected = [row("csl", "svm-selected", v, "micro_f1", cut=c) for v, c in ((0.5, 2000), (0.6, 4000))]
    write("projection", [*selected, row("csl", "projection-paper", 0.4, "micro_f1", cut="rule")])
    return tmp_path


def test_cells_come_from_the_records(records):
    tables = paper_tables(records)
    assert "| rec-talk | – | 0.500 | – | 0.020 | 0.100 (sgt) | below 1e-99 |" in tables["cocc"]
    assert "| comp-sci | – | – | – | – | – | – |" in tables["cocc"]
    assert "| MR, 0 words, test | 0.571 | – | 0.850 | 0.700 (rls) |" in tables["dual"]
    assert "| csl, rule | – | 0.400 | – | 0.600 (svm-selected 4000) | – |" in tables["projection"]
    assert tables["strings"].count("\n") == 17  # no record: sixteen empty rows below the head


def test_p_belongs_to_the_baseline_shown(records):
    test = "task,method,other,p_value\nrec-talk,cocc,nbc,0.001\n"
    (records / "cocc" / "significance.csv").write_text(test, encoding="utf-8")
    assert "0.100 (sgt) | – |" in paper_tables(records)["cocc"], "sgt is shown, and the test is against nbc"
    rows = [row("fudan-sogou", "svm-selected", v, "micro_f1", cut=c) for v, c in ((0.5, 2000), (0.6, 4000))]
    (records / "projection" / "results.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    for other, p in (("svm", "–"), ("svm-selected", "0.001")):
        test = f"task,method,other,p_value\nfudan-sogou,projection-rule,{other},0.001\n"
        (records / "projection" / "significance.csv").write_text(test, encoding="utf-8")
        assert (
            f"fudan-sogou, rule | – | – | – | 0.600 (svm-selected 4000) | {p} |" in paper_tables(records)["projection"]
        )


def test_recorded_tests_stay_while_their_accuracies_do(tmp_path):
    names = ("a", "b", "c")
    suite = Suite(
        "s",
        "",
        {name: Task(name, lambda folder: None) for name in names},
        {m: Method(m, lambda data, seed: []) for m in ("x", "y")},
        contrasts={"x": ("y",)},
    )
    record = Record(tmp_path / "s" / "results.json", "s")
    for task, x in (("a", 0.1), ("b", 0.2), ("c", 0.3)):
        record.add((task, "x", 0), "", [row(task, "x", x)], None)
        record.add((task, "y", None), "", [row(task, "y", 0.5, seed=None)], None)
    head = "task,method,other,accuracy,other_accuracy,only_method,only_other,p_value\n"
    path = tmp_path / "significance.csv"
    path.write_text(head + "a,x,y,0.9,0.5,8,0,0.01\nb,x,y,0.7,0.5,4,0,0.1\nc,x,y,0.7,0.5,1,1,1.0\n", encoding="utf-8")
    fresh = [{"task": "c", "method": "x", "other": "y", "p_value": 0.5}]
    kept = with_earlier(fresh, path, suite, record)
    assert [(test["task"], test["p_value"]) for test in kept] == [("a", 0.01), ("c", 0.5)]  # b has another accuracy now
    assert with_earlier(fresh, tmp_path / "none.csv", suite, record) == fresh
