"""The classifier: rule and SVM, adaptation, probabilities, edge cases."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cut_passes import CutPasses

from isthmus import TermProjection, TermProjectionClassifier, make_transfer_pipeline
from isthmus._math.calibration import fit_temperature
from isthmus.classify.projection.classifier import (
    TEMPERATURES,
    WayBack,
    adapt_statistics,
    count_above,
    least_margins,
)
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features import TextVectorizer
from isthmus.features.blocks import Block, RowBlock
from isthmus.shift.shares import likely_shares


def shifted(n=300, d=90, n_classes=3, seed=0):
    """Source and target share a third of each class's words; the rest belongs to one domain."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, size=2 * n)
    domain = np.where(np.arange(2 * n) < n, 1, -1)
    term = np.arange(d)
    group = (term // n_classes) % 3  # 0 shared, 1 source only, 2 target only
    here = (group == 0) * 0.35 + ((group == 1)[None, :] & (domain > 0)[:, None]) * 0.5
    here = here + ((group == 2)[None, :] & (domain < 0)[:, None]) * 0.9
    rate = np.where((term % n_classes)[None, :] == codes[:, None], here, here * 0.35)
    return sp.csr_matrix(rng.poisson(rate).astype(float)), np.array(["x", "y", "z", "w"])[codes], domain


def accuracy(model, y, domain):
    return np.mean(model.transduction_[domain < 0] == y[domain < 0])


@pytest.mark.parametrize("classifier", ["rule", "svm"])
def test_labels_an_easy_target(classifier):
    X, y, domain = shifted()
    model = TermProjectionClassifier(classifier=classifier, random_state=0).fit(X, y, sample_domain=domain)
    assert accuracy(model, y, domain) > 0.8
    np.testing.assert_array_equal(model.predict(X[domain < 0]), model.transduction_[domain < 0])
    probability = model.predict_proba(X[domain < 0])
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.transduction_[domain < 0])


@pytest.mark.parametrize("most", [3_000, 100])
def test_rounds_are_checked_on_source_rows_with_their_own_labels(monkeypatch, most):
    monkeypatch.setattr("isthmus.classify.projection.classifier._BACK_ROWS", most)
    X, y, domain = shifted()
    model = TermProjectionClassifier().fit(X, y, sample_domain=domain)
    assert min(model.leads_back_) > 0.6, "as by chance, a third"


def test_adaptation_learns_words_of_the_target():
    X, y, domain = shifted()
    before = TermProjectionClassifier(max_iter=0).fit(X, y, sample_domain=domain)
    after = TermProjectionClassifier().fit(X, y, sample_domain=domain)
    assert accuracy(after, y, domain) > accuracy(before, y, domain) + 0.03
    target_only = (np.arange(90) // 3) % 3 == 2
    np.testing.assert_array_equal(before.term_class_[target_only & (before.term_chi2_ == 0)], -1)
    assert after.n_iter_ == 9
    assert len(after.history_) == 9
    assert after.termination_condition_ in ("no_change", "max_iter")
    assert before.termination_condition_ == "one_pass"


def test_adaptation_does_not_run_away():
    """Words of the target's own style must not drag all rows to one class: classes are compared within domains."""
    for seed in range(4):
        X, y, domain = shifted(seed=seed)
        before = TermProjectionClassifier(max_iter=0).fit(X, y, sample_domain=domain)
        after = TermProjectionClassifier().fit(X, y, sample_domain=domain)
        assert accuracy(after, y, domain) > accuracy(before, y, domain)
        assert np.unique(after.transduction_[domain < 0], return_counts=True)[1].max() < 0.6 * 300


def test_adaptation_that_leads_astray_goes_back_to_the_last_good_round():
    X, y, domain = shifted(n=60)
    before = TermProjectionClassifier(max_iter=0).fit(X, y, sample_domain=domain)
    with pytest.warns(IsthmusWarning, match="stopped in round 6 of 8") as caught:
        after = TermProjectionClassifier().fit(X, y, sample_domain=domain)
    assert caught[0].message.code == "adaptation-stopped"
    assert after.termination_condition_ == "reverted"
    assert after.leads_back_[-1] == min(after.leads_back_)
    assert accuracy(after, y, domain) > accuracy(before, y, domain) - 0.02  # all eight rounds lose ten points
    np.testing.assert_array_equal(after.predict(X[domain < 0]), after.transduction_[domain < 0])


class ScriptedRows:
    """Target rows whose class sizes, round by round, are told beforehand; statistics are the round's number."""

    def __init__(self, sizes):
        self.sizes = sizes

    def label(self, projection, step):
        self.step = step

    def count_surest(self, share, step):
        return step

    def class_sizes(self):
        return np.array(self.sizes[self.step - 1])


@pytest.mark.parametrize(
    ("sizes", "allowed"),
    [
        pytest.param([(50, 50), (60, 40), (70, 30)], 0.05, id="away from the source's shares"),
        pytest.param([(90, 10), (89, 11), (87, 13)], 0.08, id="three points nearer, three more"),
        pytest.param([(90, 10), (75, 25), (50, 50)], 0.10, id="nearer by far, twice at most"),
    ],
)
def test_labels_that_come_nearer_to_the_source_s_shares_may_lead_back_worse(sizes, allowed):
    def adapted(fall):
        backs = [0.8, 0.8, 0.8 - fall]
        return adapt_statistics(
            ScriptedRows(sizes),
            lambda target: None,
            lambda target: backs[target - 1],
            source_sizes=np.array([200, 200]),
            rounds=3,
            share=1.0,
            allowance=lambda best: 0.05,
        )

    within, beyond = adapted(allowed - 0.001), adapted(allowed + 0.001)
    assert within[:2] == (3, 3)
    assert beyond[:2] == (2, 2)


def test_the_way_back_counts_every_class_alike():
    X = np.eye(3)[[0, 0, 0, 0, 1, 1]]
    back = WayBack(X, np.array([0, 0, 0, 0, 2, 2]))
    projection = TermProjection().fit(X, [0, 0, 0, 0, 1, 1]).projection_
    assert back.share_right(projection) == 0.5  # class 2 is never found, however few its rows
    assert back.allowance(0.5) == pytest.approx(3 * np.sqrt(0.25 * (1 / 4 + 1 / 2)) / 2)
    many = WayBack(np.zeros((20_000, 1)), np.arange(20_000) % 2)
    assert len(many.codes) <= 3_000
    assert many.allowance(0.9) == 0.05


def test_the_most_confident_rows_are_taken_from_every_class():
    margins, labels = np.array([0.8, 0.6, 0.1, 0.2, 0.0]), np.array([0, 0, 1, 1, 0])
    rows = RowBlock.of(sp.csr_matrix(np.eye(5)))
    for share, taken in ((0.5, [0, 1, 3]), (1.0, [0, 1, 2, 3])):
        block = Block("target", lambda: rows)
        block.keep("labels-1", {"labels": labels, "margins": margins})
        found = count_above(block, least_margins(labels, margins, share, 2), 1).total()
        assert np.flatnonzero(found.document_frequency).tolist() == taken


@pytest.mark.parametrize("cuts", [3, [1, 1, 50]])
def test_chunks_give_the_labels_and_rounds_of_rows_in_memory(cuts):
    X, y, domain = shifted()
    codes = np.unique(y, return_inverse=True)[1]
    memory = TermProjectionClassifier().fit(X, y, sample_domain=domain)
    passes = CutPasses(X[domain > 0], X[domain < 0], codes[domain > 0], np.unique(y), cuts)
    chunks = TermProjectionClassifier().fit_passes(passes)
    scores, _ = chunks.block_scores(passes.target_sample)
    assert chunks.classes_[scores.argmax(axis=1)].tolist() == memory.transduction_[domain < 0].tolist()
    np.testing.assert_array_equal(chunks.term_weight_, memory.term_weight_)
    assert [row["changed"] for row in chunks.history_] == [row["changed"] for row in memory.history_]


def test_source_alone_is_what_adapt_zero_sees():
    X, y, domain = shifted()
    with_target = TermProjectionClassifier(max_iter=0).fit(X, y, sample_domain=domain)
    alone = TermProjectionClassifier().fit(X[domain > 0], y[domain > 0])
    np.testing.assert_array_equal(with_target.term_weight_, alone.term_weight_)
    np.testing.assert_array_equal(with_target.predict(X), alone.predict(X))


def test_row_order_changes_nothing():
    X, y, domain = shifted(n=80)
    order = np.random.default_rng(3).permutation(len(y))
    one = TermProjectionClassifier().fit(X, y, sample_domain=domain)
    two = TermProjectionClassifier().fit(X[order], y[order], sample_domain=domain[order])
    np.testing.assert_array_equal(one.transduction_[order], two.transduction_)
    np.testing.assert_array_equal(one.term_weight_, two.term_weight_)


def test_partial_fit_equals_fit_on_the_source():
    X, y, domain = shifted()
    X, y = X[domain > 0], y[domain > 0]
    whole = TermProjectionClassifier().fit(X, y)
    parts = TermProjectionClassifier()
    for rows in (slice(200, 300), slice(0, 120), slice(120, 200)):
        parts.partial_fit(X[rows], y[rows], classes=["x", "y", "z"])
    np.testing.assert_array_equal(parts.term_weight_, whole.term_weight_)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    with pytest.raises(UsageError, match="rule"):
        TermProjectionClassifier(classifier="svm").partial_fit(X, y)


def test_a_document_without_known_terms_gets_the_commonest_class():
    X, y, domain = shifted(n_classes=3)
    source = np.flatnonzero(domain > 0)
    rows = np.concatenate([source[y[source] == "z"], source[y[source] != "z"][:60]])
    model = TermProjectionClassifier().fit(X[rows], y[rows])
    assert model.predict(sp.csr_matrix((1, X.shape[1]))).tolist() == ["z"]
    np.testing.assert_allclose(model.predict_proba(sp.csr_matrix((1, X.shape[1])))[0], model.prior_)


def test_a_class_without_terms_is_reported_and_every_document_still_gets_a_label():
    X = np.array([[8, 0], [9, 0], [0, 8], [0, 9], [4, 4], [4, 4]])
    y = ["a", "a", "b", "b", "c", "c"]
    with pytest.warns(IsthmusWarning, match=r"1 of 3 classes .*\(c\)") as caught:
        model = TermProjectionClassifier(purity=0.5).fit(X, y)
    assert caught[0].message.code == "fallback"
    assert model.empty_classes_.tolist() == ["c"]
    assert set(model.predict(X)) == {"a", "b"}


@pytest.mark.parametrize("option", [{"max_iter": 3}, {"adapt_share": 0.3}])
def test_options_about_the_target_change_nothing_where_there_is_none(option):
    X, y, _ = shifted()
    plain, other = (
        TermProjectionClassifier(weighting="tf-idf-pr", **given).fit(X, y).predict_proba(X) for given in ({}, option)
    )
    np.testing.assert_array_equal(plain, other)


def test_probabilities_are_calibrated_on_rows_the_projection_has_not_seen():
    X, y, _ = shifted(n=1200)
    source, fresh = slice(0, 600), slice(600, 1200)
    model = TermProjectionClassifier().fit(X[source], y[source])
    probability = model.predict_proba(X[fresh])
    right = model.predict(X[fresh]) == y[fresh]
    assert abs(probability.max(axis=1).mean() - right.mean()) < 0.08


def test_temperature_and_prior_recover_known_values():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 3))
    odds = np.exp(2.5 * scores)
    codes = np.array([rng.choice(3, p=row / row.sum()) for row in odds])
    assert fit_temperature(scores, codes, bounds=TEMPERATURES) == pytest.approx(2.5, rel=0.1)
    prior = np.array([0.7, 0.2, 0.1])
    truth = rng.choice(3, size=5000, p=prior)
    density = np.exp(3 * (np.eye(3)[truth] + rng.normal(scale=0.3, size=(5000, 3))))
    np.testing.assert_allclose(
        likely_shares(density / density.sum(axis=1, keepdims=True), np.full(3, 1 / 3))[0], prior, atol=0.06
    )


def test_a_part_of_many_rows_places_the_temperature_about_where_all_of_them_do(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.arange(2_000) % 2
    rates = np.where(codes[:, None] == np.arange(6) % 2, 0.7, 0.4)
    X = rng.poisson(rates)
    found = []
    for most in (4_000, 100):
        monkeypatch.setattr("isthmus.classify.projection.classifier._MAX_TEMPERATURE_ROWS", most)
        found.append(TermProjectionClassifier(max_iter=0).fit(X, codes).inverse_temperature_)
    assert found[1] == pytest.approx(found[0], rel=0.5)


def test_in_a_pipeline_from_text_words_and_bigrams():
    for texts in (
        ["kind staff", "cheap price", "polite staff", "fair price", "rude staff here", "high price there"],
        ["球队比赛胜利", "股票市场上涨", "球队训练比赛", "股票价格下跌", "比赛球队输了", "股票市场价格"],
    ):
        pipeline = make_transfer_pipeline(TextVectorizer(min_df=1), TermProjectionClassifier())
        fitted = pipeline.fit(texts, ["s", "p", "s", "p", None, None])
        assert fitted.transduction_.tolist() == ["s", "p"] * 3


@pytest.mark.parametrize(
    "parameters",
    [{"classifier": "tree"}, {"max_iter": -1}, {"adapt_share": 0.0}, {"adapt_share": 1.5}],
)
def test_bad_parameters(parameters):
    X, y, domain = shifted(n=30)
    with pytest.raises(UsageError) as error:
        TermProjectionClassifier(**parameters).fit(X, y, sample_domain=domain)
    assert error.value.code == "bad-parameter"


def test_bad_data():
    X, y, domain = shifted(n=30)
    with pytest.raises(DataError) as error:
        TermProjectionClassifier().fit(-X, y, sample_domain=domain)
    assert error.value.code == "negative-counts"
    with pytest.raises(DataError) as error:
        TermProjectionClassifier().fit(X, np.full(60, "x"), sample_domain=domain)
    assert error.value.code == "one-class"


def test_no_warning_on_ordinary_data():
    X, y, domain = shifted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TermProjectionClassifier().fit(X, y, sample_domain=domain)


def test_the_svm_learns_with_the_strength_that_was_asked_for():
    X, y, domain = shifted(n=60)
    lengths = []
    for C in (1.0, 1e-3):
        model = TermProjectionClassifier(classifier="svm", C=C, max_iter=0, random_state=0)
        lengths.append(np.linalg.norm(model.fit(X, y, sample_domain=domain).coef_))
    assert lengths[1] < 0.2 * lengths[0], f"lengths {lengths} for C of 1 and 0.001"


def test_five_of_many_classes_without_a_term_are_named():
    X = np.vstack([np.eye(2, dtype=int) * 9, *[[4, 4]] * 7])
    with pytest.warns(IsthmusWarning) as caught:
        TermProjectionClassifier().fit(X, [*"abcdefghi"])
    assert "7 of 9 classes have no term left" in str(caught[0].message)
    assert "(c, d, e, f, g)" in str(caught[0].message)
