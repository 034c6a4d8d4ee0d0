"""The shared tasks: splits are disjoint, texts are cut as documented, sizes on the real files."""

from collections import Counter
from pathlib import Path

import pytest

from isthmus_bench import tasks
from isthmus_bench.tasks import (
    AMAZON_MULTI,
    AMAZON_PAIRS,
    CHINESE_TASKS,
    NEWSGROUP_SPLITS,
    NEWSGROUP_TASKS,
    REUTERS_TASKS,
    REUTERS_WIDE,
    SRAA_TASKS,
    _wide_halves,
    amazon_task,
    amazon_unlabelled,
    chinese_task,
    halve_categories,
    message_text,
    spread,
)


@pytest.mark.parametrize("name", NEWSGROUP_SPLITS)
def test_no_newsgroup_is_on_both_sides(name):
    groups = [group for sides in NEWSGROUP_SPLITS[name].values() for side in sides for group in side]
    assert len(groups) == len(set(groups))
    for label, sides in NEWSGROUP_SPLITS[name].items():
        assert all(group.startswith(f"{label}.") for side in sides for group in side)


def test_names_are_those_of_the_contract():
    assert set(NEWSGROUP_TASKS) == {
        "rec-talk",
        "rec-sci",
        "comp-talk",
        "comp-sci",
        "comp-rec",
        "sci-talk",
        "four-class",
    }
    assert set(REUTERS_TASKS) == {"orgs-people", "orgs-places", "people-places"}
    assert len(AMAZON_PAIRS) == 12
    assert "books-dvd" in AMAZON_PAIRS
    assert set(AMAZON_MULTI) == {"multi-books", "multi-dvd", "multi-electronics", "multi-kitchen"}
    assert {"fudan-sogou", "fudan-csl", "thucnews_title-toutiao", "sogou-fudan"} <= set(CHINESE_TASKS)
    assert all(task.name == name for name, task in (NEWSGROUP_TASKS | AMAZON_PAIRS | CHINESE_TASKS).items())
    assert all(task.optional for task in SRAA_TASKS.values())


def test_a_message_keeps_from_subject_and_body():
    message = "From: a@b\nOrganization: X\nSubject: Re: cars\nLines: 2\n\nbody\n\nSubject: not a header"
    assert message_text(message) == "From: a@b\nSubject: Re: cars\nbody\n\nSubject: not a header"
    assert message_text("Subject: only a head") == "Subject: only a head\n"


def test_categories_are_halved_by_weight_and_the_answer_is_fixed():
    sizes = Counter({"a": 5, "b": 5, "c": 3, "d": 2, "e": 1})
    source, target = halve_categories(sizes)
    assert (source, target) == (frozenset("ac"), frozenset("bde"))
    assert halve_categories(Counter(dict(reversed(sizes.items())))) == (source, target)


def test_spread_takes_evenly():
    assert spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert spread([1, 2], 5) == [1, 2]


def test_sraa_is_read_from_its_imported_file(tmp_path):
    from isthmus_bench.importers import import_dataset

    for group in ("realauto", "realaviation", "simauto", "simaviation"):
        (tmp_path / "sraa" / group).mkdir(parents=True)
        (tmp_path / "sraa" / group / "1001").write_text(f"Subject: x\n\nabout {group}\n")
    import_dataset("sraa", tmp_path / "sraa", tmp_path / "sraa.jsonl.gz")
    data = SRAA_TASKS["real-simulated"].load(tmp_path)
    assert sorted(zip(data.source_labels, data.target_labels, strict=True)) == [
        ("real", "real"),
        ("simulated", "simulated"),
    ]
    assert all("aviation" in text for text in data.source_texts)
    data = SRAA_TASKS["auto-aviation"].load(tmp_path)
    assert sorted(data.target_labels) == ["auto", "aviation"]
    assert all("about sim" in text for text in data.source_texts)


@pytest.mark.data
def test_newsgroup_and_amazon_tasks_on_the_real_files(data_dir):
    data = NEWSGROUP_TASKS["rec-talk"].load(data_dir)
    assert Counter(data.source_labels) == {"rec": 1986, "talk": 1685}
    assert Counter(data.target_labels) == {"rec": 1993, "talk": 1568}
    assert all(text.startswith(("From:", "Subject:")) for text in data.source_texts)
    heads = Counter(line.split(":")[0] for text in data.source_texts for line in text.split("\n")[:2])
    assert heads["From"] > 3600
    assert heads["Subject"] > 3600
    data = AMAZON_MULTI["multi-books"].load(data_dir)
    assert len(data.source_texts) == 6000
    assert Counter(data.source_domain.tolist()) == {1: 2000, 2: 2000, 3: 2000}
    with_title = AMAZON_PAIRS["books-dvd"].load(data_dir).source_texts[0]
    plain = amazon_task("books", "dvd", title=False).load(data_dir).source_texts[0]
    assert with_title.endswith(plain)
    assert len(with_title) > len(plain)
    texts, labels, domain = data.joined()
    assert len(texts) == len(labels) == len(domain) == 8000
    assert set(labels[domain < 0]) == {None}
    assert len(amazon_unlabelled(data_dir, "dvd")) == 5383


@pytest.mark.data
def test_reuters_tasks_are_balanced_and_disjoint_on_the_real_file(data_dir):
    sizes = {}
    for name, task in REUTERS_TASKS.items():
        data = task.load(data_dir)
        assert len(set(Counter(data.source_labels).values())) == 1
        assert len(set(Counter(data.target_labels).values())) == 1
        sizes[name] = (len(data.source_texts), len(data.target_texts))
    assert sizes == {"orgs-people": (718, 672), "orgs-places": (98, 92), "people-places": (366, 384)}


@pytest.mark.data
def test_the_other_reading_of_reuters_has_sets_of_the_paper_s_size(data_dir):
    sizes = {}
    for name, task in REUTERS_WIDE.items():
        data = task.load(data_dir)
        assert len(set(Counter(data.target_labels).values())) == 1
        sizes[name] = (len(data.source_texts), len(data.target_texts))
    assert sizes == {
        "orgs-people-wide": (876, 796),
        "orgs-places-wide": (876, 796),
        "people-places-wide": (1094, 1024),
    }


@pytest.mark.data
def test_chinese_tasks_hold_the_shared_classes_on_the_real_files(data_dir):
    data = CHINESE_TASKS["sogou-thucnews_full_small"].load(data_dir)
    assert Counter(data.target_labels) == dict.fromkeys(("finance", "tech", "sports", "education"), 100)
    data = chinese_task("thucnews_title", "toutiao", per_class=100).load(data_dir)
    assert set(Counter(data.source_labels).values()) == {100}
    assert Counter(data.target_labels)["stocks"] == 71
    assert len(set(data.source_labels)) == 8


def test_the_larger_class_of_each_side_of_a_reuters_task_is_thinned(monkeypatch):
    kinds = [("orgs", "opec", 4), ("orgs", "ec", 2), ("people", "reagan", 3), ("people", "volcker", 1)]
    records = [
        {"title": f"{name} {i}", "text": "", "orgs": [], "people": [], "places": [], field: [name]}
        for field, name, n in kinds
        for i in range(n)
    ]
    monkeypatch.setattr(tasks, "read_records", lambda path: records)
    data = tasks.reuters_task("orgs", "people").load(Path())
    assert data.source_texts == ["opec 0", "opec 1", "opec 2", "reagan 0", "reagan 1", "reagan 2"]
    assert data.source_labels == ["orgs"] * 3 + ["people"] * 3
    assert list(zip(data.target_texts, data.target_labels, strict=True)) == [("ec 0", "orgs"), ("volcker 0", "people")]


def test_wide_reuters_halves_by_hand():
    def story(orgs=(), places=()):
        return {"orgs": list(orgs), "places": list(places), "people": []}

    first, second = story(["opec"], ["uk"]), story(["ec"])
    abroad, home, both = story([], ["uk", "usa"]), story([], ["usa"]), story([], ["japan"])
    records = [first, second, abroad, home, both]
    source, target = _wide_halves(records, "orgs", None)
    assert [source, target] in ([[first], [second]], [[second], [first]])
    halves = _wide_halves(records, "places", "orgs")  # a story of the usa alone has no place left
    assert sorted(map(len, halves)) == [1, 1]
    assert all(r in (abroad, both) for half in halves for r in half)
