import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus.api import cluster as cluster_module
from isthmus.clustering.guidance import GuidanceEstimate
from isthmus.corpus import load_sample
from isthmus.exceptions import DataError, MissingExtraError, UsageError

STAFF = ["kind staff helped", "polite staff smiled", "rude manager shouted", "staff was friendly"]
BIKES = ["great bike engine", "fast bike gears", "loud engine noise", "bike brakes squeak"]
TARGET_STAFF = ["friendly staff again", "rude staff today", "manager helped staff", "polite manager"]
TARGET_CARS = ["loud car engine", "car gears jam", "car brakes fine", "great car engine"]
TARGET_BILL = ["invoice twice charged", "invoice amount wrong", "charged wrong amount", "invoice charged again"]
PAIR = STAFF + BIKES, ["staff"] * 4 + ["bikes"] * 4, TARGET_STAFF + TARGET_CARS + TARGET_BILL


@pytest.fixture(scope="module")
def result():
    return isthmus.cluster(*PAIR, n_clusters=3)


def test_clusters_are_named_after_groups_or_words(result):
    names = [result.names[label] for label in result.labels]
    assert set(names[:4]) == {"staff"}
    assert set(names[4:8]) == {"bikes"}
    assert "invoice" in names[8]  # the word, not its stem
    assert [match.group for match in result.alignment].count(None) == 1


def test_columns_and_frame(result):
    columns = result.columns()
    assert list(columns) == ["text", "cluster", "cluster_name", "aligned_to", "strength"]
    assert columns["aligned_to"][0] == "staff"
    assert columns["aligned_to"][-1] is None
    assert columns["strength"][-1] == 0
    assert result.to_frame().shape == (12, 5)


def test_clusters_tell_words_pivots_and_documents(result):
    rows = {row["name"]: row for row in result.clusters(documents=2)}
    assert "staff" in rows["staff"]["pivots"]
    assert rows["bikes"]["size"] == 4
    assert len(rows["bikes"]["documents"]) == 2
    assert set(rows["bikes"]["documents"]) <= set(TARGET_CARS)


def test_same_seed_same_names_and_numbers(result):
    again = isthmus.cluster(
        STAFF + BIKES, ["staff"] * 4 + ["bikes"] * 4, TARGET_STAFF + TARGET_CARS + TARGET_BILL, n_clusters=3
    )
    assert again.names == result.names
    np.testing.assert_array_equal(again.labels, result.labels)


def test_new_texts_are_grouped_without_refitting(result):
    found = result.predict(["the staff smiled", "engine and brakes"])
    assert [result.names[cluster] for cluster in found] == ["staff", "bikes"]


def test_report_is_one_page_without_network(result, tmp_path):
    path = result.report(tmp_path / "clusters.html")
    page = path.read_text(encoding="utf-8")
    assert "staff" in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//|url\(\s*["']?(https?:)?//|@import""", page)
    with pytest.raises(DataError) as caught:
        result.report(path)
    assert caught.value.code == "output-exists"


@pytest.mark.parametrize("helps", [True, False])
def test_the_page_warns_of_the_source_only_where_it_does_not_help(result, helps, tmp_path):
    foreseen = GuidanceEstimate(helps, 0.1 if helps else -0.1, 0.5, 0.5, 0.5, 0.5, "as foreseen")
    page = replace(result, guidance_estimate=foreseen).report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert ("The source may not help here" in page) is not helps
    assert page.count("as foreseen") == 1


def test_hostile_texts_stay_text_in_the_report(tmp_path):
    target = ["<script>alert(1)</script> staff", "kind staff", "bike engine", "fast bike"]
    found = isthmus.cluster(STAFF + BIKES, ["<b>staff</b>"] * 4 + ["bikes"] * 4, target, n_clusters=2)
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<b>staff" not in page


def test_lengths_must_agree():
    with pytest.raises(DataError) as caught:
        isthmus.cluster(STAFF, ["staff"], TARGET_CARS)
    assert caught.value.code == "length-mismatch"


def test_the_number_may_be_left_out():
    found = isthmus.cluster((STAFF + BIKES) * 5, (["staff"] * 4 + ["bikes"] * 4) * 5, (TARGET_STAFF + TARGET_CARS) * 5)
    assert 2 <= len(found.names) <= 5


def test_collections_of_the_source_stay_apart():
    target, groups = TARGET_STAFF + TARGET_CARS, ["staff"] * 4 + ["bikes"] * 4
    result = isthmus.cluster(STAFF + BIKES, groups, target, n_clusters=2, source_collections=[1] * 4 + [2] * 4)
    assert {match.group: match.collection for match in result.alignment} == {"staff": 1, "bikes": 2}


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_the_worth_of_several_sources_is_estimated_wherever_texts_without_a_group_stand():
    """Each text that has a group is compared within its own collection, also where others stand before it."""
    source, target, _ = load_sample()
    texts, groups = source.texts[:240], list(source.labels[:240])
    collections = [1 + (group in set(groups[:3])) for group in groups]
    alone = {"texts": texts[:40], "groups": [None] * 40, "collections": [2] * 40}
    grouped = {"texts": texts[40:], "groups": groups[40:], "collections": collections[40:]}
    found = []
    for first, last in ((grouped, alone), (alone, grouped)):
        given = {name: first[name] + last[name] for name in first}
        where = {"source_collections": given.pop("collections")}
        result = isthmus.cluster(*given.values(), target.texts[:200], **where)
        assert result.guidance_estimate is not None
        found.append(result.guidance_estimate)
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_groups_of_one_name_in_two_sources_make_no_more_clusters():
    source, target, _ = load_sample()
    texts = source.texts[:300], source.labels[:300], target.texts[:300]
    apart = isthmus.cluster(*texts, source_collections=1 + np.arange(300) % 2)
    assert len(apart.names) == len(isthmus.cluster(*texts).names)


def test_unlabelled_source_texts_and_a_sampled_target(monkeypatch):
    """Pivots of labelled rows, or of a sample, are fewer than the words whose contexts were counted."""
    monkeypatch.setattr(cluster_module, "_SAMPLE", 6)
    source = [*STAFF, *BIKES, "invoice amount", "charged twice", "wrong invoice"]
    groups = ["staff"] * 4 + ["bikes"] * 4 + [None] * 3
    result = isthmus.cluster(source, groups, TARGET_STAFF + TARGET_CARS + TARGET_BILL, n_clusters=3, min_df=1)
    assert len(result.labels) == 12
    names = [result.names[label] for label in result.labels]
    assert set(names[:4]) == {"staff"}
    assert "invoice" in names[8]


def test_a_shared_word_can_be_left_out_of_the_comparison(result):
    word = next(row["pivots"][0] for row in result.clusters() if row["pivots"])
    again = isthmus.cluster(*PAIR, 3, pivots={word: 0})
    assert all(word not in row["pivots"] for row in again.clusters())
    assert again.settings["pivots"] == {word: 0}


@pytest.mark.parametrize("pivots", [{"xylophone": 1}, {"staff": 2}, {"staff": "much"}, {"kind staff": 0.5}])
def test_pivots_that_cannot_be_weighed_are_refused(pivots):
    with pytest.raises(UsageError, match="The pivot '"):
        isthmus.cluster(*PAIR, 3, pivots=pivots)


def test_the_weight_of_the_source_is_chosen_unless_it_is_given(result):
    assert result.settings["guidance"] is None
    assert isthmus.cluster(*PAIR, 3, guidance=0.25).model.guidance_ == 0.25
    assert isthmus.cluster(*PAIR, 3, method="guided-paper").model.guidance_ == 0.5


@pytest.mark.parametrize("guidance", [0.25, 0.75])
def test_the_source_is_judged_at_the_weight_that_it_has(guidance):
    """By hand: α·Mab + (1 − α)·Cab, equation (5) of the paper, less Cab."""
    ahead = isthmus.cluster(*PAIR, 3, guidance=guidance).guidance_estimate
    assert ahead.expected == pytest.approx(guidance * (ahead.matchability - ahead.clusterability))


@pytest.mark.parametrize("judged", [True, False])
def test_the_plain_card_names_what_is_new_and_what_the_source_is_worth(result, judged, monkeypatch):
    def missing(result):
        raise MissingExtraError("A card needs jinja2.", code="missing-extra")

    monkeypatch.setattr("isthmus.report.cluster_card", missing)
    estimate = GuidanceEstimate(True, 0.1, 0.2, 0.3, 0.3, 0.3, "The source is worth it.")
    card = replace(result, guidance_estimate=estimate if judged else None)._repr_html_()
    (new,) = [name for name, match in zip(result.names, result.alignment, strict=True) if match.group is None]
    known = next(name for name in result.names if name != new)
    facts = card.partition("</bdi> ")[0]
    assert new in facts, "the new group is named"
    assert ("The source is worth it." in card) is judged
    alone = replace(result, alignment=[result.alignment[result.names.index(known)]] * 3, guidance_estimate=None)
    assert "none" in alone._repr_html_(), "no group is new"


def test_a_page_and_a_grouping_are_replaced_where_that_is_asked_for(result, tmp_path):
    path = result.report(tmp_path / "clusters.html")
    path.write_text("old", encoding="utf-8")
    with pytest.raises(DataError, match=r"clusters\.html"):
        result.report(path)
    assert result.report(path, force=True) == path
    assert "staff" in path.read_text(encoding="utf-8")


def look_ahead(monkeypatch, *, filled=6, guidance=0.5, clusters=3, aligner="aligner", shared="aligner", seed=7):
    """What the estimate of the source's worth is asked for; None where it is not asked."""
    asked = []

    def estimate(prepared, **options):
        asked.append(options)
        return "worth it"

    monkeypatch.setattr(cluster_module, "estimate_guidance_gain", estimate)
    model = SimpleNamespace(
        guidance_=guidance,
        _aligner=aligner,
        n_clusters_=clusters,
        classes_=np.array(["a", "b"]),
        contexts=None,
        _prepare_rows=lambda *given, **kept: SimpleNamespace(aligner=shared),
    )
    rows = sp.csr_matrix(np.vstack([np.eye(4), np.eye(8)[:, :4][:filled] + 1, np.zeros((2, 4))]))
    groups = np.array(["a", "b", "a", None, *[None] * (filled + 2)], dtype=object)
    found = cluster_module._look_ahead(model, rows, groups, np.ones(4, dtype=int), seed)
    assert (found == "worth it") == bool(asked)
    return asked[0] if asked else None


def test_the_worth_of_the_source_is_estimated_as_the_grouping_was_made(monkeypatch):
    asked = look_ahead(monkeypatch)
    assert asked == {"n_clusters": 3, "guidance": 0.5, "n_init": 3, "random_state": 7}


@pytest.mark.parametrize(
    "what",
    [{"guidance": 0}, {"aligner": None}, {"clusters": 1}, {"filled": 2}, {"shared": None}],
    ids=["no guidance", "no shared word", "one cluster", "fewer texts than clusters", "none among labelled texts"],
)
def test_where_the_source_takes_no_part_its_worth_is_not_estimated(monkeypatch, what):
    assert look_ahead(monkeypatch, **what) is None
    assert look_ahead(monkeypatch, filled=3) is not None, "as many texts as clusters are enough"
