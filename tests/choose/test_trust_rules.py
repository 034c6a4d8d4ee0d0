"""Intervals and warnings by hand, at the very ends."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.choose import trust
from isthmus.choose.trust import ACCURACY, LABEL_SHIFT, _with_groups, source_warnings

THIN, NOISE, MOVED = ACCURACY["thin"], ACCURACY["noise"], LABEL_SHIFT["moved"]


def judge_of(n_source=THIN, groups=(), power=1.0):
    novelty = SimpleNamespace(groups=list(groups))
    recall = {"power": power, "false_alarm": 0.0}
    return SimpleNamespace(novelty=novelty, source_labels=["a"] * n_source, simulated_recall=recall)


def calm(**more):
    return {"moved": 0.0, "agreement": 0.6, **more}


def odds(share):
    return float(np.log(share / (1 - share)))


def test_the_interval_never_gets_narrower_than_chance_among_so_many_labels():
    sure = _with_groups(judge_of(), calm(), odds(0.999), 1e-9, 100)
    margin = 1.645 * np.sqrt(0.01 / 100)  # not of .999 · .001, which chance would not keep to
    assert (sure.estimate, sure.low, sure.high) == pytest.approx((0.999, 0.999 - margin, 1.0))
    middling = _with_groups(judge_of(), calm(), odds(0.7), 1e-9, 100)
    margin = 1.645 * np.sqrt(0.21 / 100)
    assert (middling.low, middling.high) == pytest.approx((0.7 - margin, 0.7 + margin))
    assert middling.outside_groups is None
    poor = _with_groups(judge_of(), calm(), odds(0.001), 1e-9, 100)
    assert (poor.estimate, poor.low) == pytest.approx((0.001, 0.0))


@pytest.mark.parametrize(("power", "least"), [(0.5, 0.1), (0.49, 0.0)])  # a test of little worth: perhaps no group
def test_both_sources_of_doubt_add_up_and_groups_count_as_wrong(power, least):
    group = SimpleNamespace(low=0.1, share=0.2, high=0.3)
    told = _with_groups(judge_of(groups=[group], power=power), calm(), odds(0.8), 0.5, 400)
    centre = 0.8 * 0.8
    ends = [trust._share(odds(0.8) - 0.5) * 0.7, trust._share(odds(0.8) + 0.5) * (1 - least)]
    margin = 1.645 * np.sqrt(centre * (1 - centre) / 400)
    assert told.estimate == pytest.approx(centre)
    assert told.low == pytest.approx(centre - np.hypot(centre - ends[0], margin))
    assert told.high == pytest.approx(centre + np.hypot(ends[1] - centre, margin))
    assert told.outside_groups == pytest.approx(0.8)
    assert told.reason == "a group belongs to no class"


@pytest.mark.parametrize(
    ("n_source", "facts", "reason"),
    [
        (THIN, calm(), ""),
        (THIN - 1, calm(), "the source is thin"),
        (THIN, calm(moved=MOVED), "class shares moved"),
        (THIN, calm(agreement=0.59), "methods disagree"),
        (THIN - 1, calm(moved=MOVED, agreement=0.5), "class shares moved, the source is thin, methods disagree"),
    ],
)
def test_why_an_interval_is_wide(n_source, facts, reason):
    assert _with_groups(judge_of(n_source), facts, 0.0, 0.1, 50).reason == reason


@pytest.mark.parametrize(("share", "noisy"), [(NOISE, True), (NOISE - 1e-9, False)])
def test_a_noisy_source_is_told_from_a_share_on(monkeypatch, share, noisy):
    monkeypatch.setattr(trust, "contradicted", lambda table: share)
    monkeypatch.setattr(trust, "detected_noise", lambda scorer, share: 0.9)
    scorer = SimpleNamespace(words=SimpleNamespace(source_table=None))
    labels = ["a"] * (THIN - 10) + ["b"] * 10
    told = source_warnings(scorer, labels)
    assert [row["topic"] for row in told] == (["noisy source"] if noisy else [])
    monkeypatch.setattr(trust, "detected_noise", lambda scorer, share: 0.4)
    assert source_warnings(scorer, labels) == [], "weak texts hide wrong labels"
    assert source_warnings(scorer, labels[1:])[0]["message"].startswith(f"Only {THIN - 1} labelled source documents")
    few = source_warnings(None, [*labels, *"cdefgh"])
    assert [row["message"] for row in few] == [
        "Fewer than ten source documents of c, d, e, f, g and 1 more: next to nothing is known of such a class."
    ]


def test_five_small_classes_are_all_named():
    labels = ["a"] * THIN + [*"bcdef"]
    assert [row["message"] for row in source_warnings(None, labels)] == [
        "Fewer than ten source documents of b, c, d, e, f: next to nothing is known of such a class."
    ]


@pytest.mark.parametrize(
    ("n_source", "n_others", "weights"),
    [(THIN, 3, "vote"), (THIN - 1, 3, "few"), (THIN, 2, "single"), (THIN - 1, 0, "single")],
)
def test_which_weights_speak_for_labels(monkeypatch, n_source, n_others, weights):
    """Three others make a vote, and of a thin source its agreement says little."""
    seen = []
    features = dict.fromkeys({*ACCURACY["vote"], *ACCURACY["few"], *ACCURACY["single"]} - {"constant"}, 0.7)

    def note(scorer, labels, confidence, evidence, others, known):
        seen.append(len(others))
        return features

    monkeypatch.setattr(trust, "trust_features", note)
    scorer = judge_of(n_source)
    scorer.score = lambda labels: SimpleNamespace(source_learned=True, learned=True)
    found = trust.estimate_accuracy(scorer, ["a"] * 50, 0.9, others=[["a"] * 50] * n_others)
    logit = odds(0.7)
    named = ACCURACY[weights]
    centre = named["constant"] + sum(
        weight * (0.7 if name in ("excess", "moved") else logit) for name, weight in named.items() if name != "constant"
    )
    assert found.estimate == pytest.approx(1 / (1 + np.exp(-centre)))
    assert seen == [n_others if weights != "single" else 0], "two others are not asked"


def test_classes_that_were_added_join_the_figure_outside_groups_too():
    before = trust.AccuracyEstimate(0.8, 0.7, 0.9, reason="the source is thin", outside_groups=0.9)
    found = trust.with_added(before, 0.25, 0.6)
    assert found.estimate == pytest.approx(0.75 * 0.8 + 0.25 * 0.6)
    assert found.outside_groups == pytest.approx(0.75 * 0.9 + 0.25 * 0.6)
    assert found.reason == "the source is thin, classes were added by their names"
    assert trust.with_added(trust.replace(before, outside_groups=None), 0.25, 0.6).outside_groups is None


@pytest.mark.parametrize(
    ("sizes", "said"), [((97, 3), True), ((96, 3), False), ((98, 2), False)], ids=["enough", "thin", "a small class"]
)
def test_sureness_is_compared_from_a_hundred_documents_and_three_of_each_class(sizes, said):
    rng = np.random.default_rng(0)
    rows, codes = rng.normal(size=(sum(sizes), 3)), np.repeat([0, 1], sizes)
    words = SimpleNamespace(source_decisions=rng.normal(size=len(codes)), source_rows=rows, target_rows=rows[:20])
    found = trust.carried_over(SimpleNamespace(source_labels=np.array(["a", "b"])[codes], words=words))
    assert (found is not None) is said
