"""The classifier: rule and SVM, adaptation, probabilities, edge cases."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import TermProjection, TermProjectionClassifier, make_transfer_pipeline
from isthmus._math.calibration import fit_temperature
from isthmus.classify.projection.classifier import TEMPERATURES, WayBack, adapt_statistics, surest_rows
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features import TextVectorizer
from isthmus.features.blocks import MemoryPasses
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
    assert (within.reverted, within.kept, within.target) == (False, 3, 3)
    assert (beyond.reverted, beyond.kept, beyond.target) == (True, 2, 2)


def test_the_way_back_counts_every_class_alike():
    X = np.eye(3)[[0, 0, 0, 0, 1, 1]]
    back = WayBack(X, np.array([0, 0, 0, 0, 2, 2]))
    projection = TermProjection().fit(X, [0, 0, 0, 0, 1, 1]).projection_
    assert back.share_right(projection) == 0.5  # class 2 is never found, however few its rows
    assert back.allowance(0.5) == pytest.approx(3 * np.sqrt(0.25 * (1 / 4 + 1 / 2)) / 2)
    many = WayBack(np.zeros((20_000, 1)), np.arange(20_000) % 2)
    assert len(many.codes) <= 3_000
    assert many.allowance(0.9) == 0.05


def test_surest_rows_are_taken_from_every_class():
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.45, 0.55], [0.4, 0.6], [0.5, 0.5]])
    assert surest_rows(shares, 0.5).tolist() == [True, True, False, True, False]
    assert surest_rows(shares, 1.0).tolist() == [True, True, True, True, False]


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


def test_target_prior_moves_towards_the_target():
    X, y, domain = shifted(n=600)
    target = np.flatnonzero(domain < 0)
    target = np.concatenate([target[y[target] == "x"], target[y[target] != "x"][:40]])
    rows = np.concatenate([np.flatnonzero(domain > 0), target])
    model = TermProjectionClassifier(target_prior=True).fit(X[rows], y[rows], sample_domain=domain[rows])
    assert model.prior_[0] > 0.6 > 0.45 > model.source_prior_[0]
    assert model.source_prior_.argmax() > 0
    assert model.predict(X[:1] * 0).tolist() == ["x"], "no word speaks: the commonest class of the target"
    assert model.prior_.sum() == pytest.approx(1.0)


def test_target_idf_changes_weights():
    X, y, domain = shifted()
    plain = TermProjectionClassifier(weighting="tf-idf-pr", max_iter=0).fit(X, y, sample_domain=domain)
    target = TermProjectionClassifier(weighting="tf-idf-pr", max_iter=0, target_idf=True).fit(
        X, y, sample_domain=domain
    )
    np.testing.assert_array_equal(plain.term_class_, target.term_class_)
    assert not np.allclose(plain.term_weight_, target.term_weight_)


@pytest.mark.parametrize("classifier", ["rule", "svm"])
def test_target_idf_weighs_every_projection_of_a_fit(monkeypatch, classifier):
    """Also those on which the temperature and the SVM's features are made."""
    given, build = [], TermProjectionClassifier._build
    monkeypatch.setattr(
        TermProjectionClassifier,
        "_build",
        lambda self, stats, target=None, idf=None: given.append(idf) or build(self, stats, target, idf),
    )
    X, y, domain = shifted()
    model = TermProjectionClassifier(classifier=classifier, weighting="tf-idf-pr", max_iter=1, target_idf=True)
    model.set_params(cross_fit=3).fit(X, y, sample_domain=domain)
    frequency = np.diff(X[domain < 0].tocsc().indptr)
    expected = np.log((1 + 300) / (1 + frequency)) + 1
    assert all(idf is not None for idf in given), "made without the target's document frequencies"
    for idf in given:
        np.testing.assert_allclose(idf, expected, err_msg="document frequencies of the target alone")


@pytest.mark.parametrize("option", [{"target_idf": True}, {"target_prior": True}, {"adapt_share": 0.3}])
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
    [{"classifier": "tree"}, {"max_iter": -1}, {"adapt_share": 0.0}, {"adapt_share": 1.5}, {"cross_fit": 1}],
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


def test_the_svm_learns_from_held_out_rows_with_the_strength_that_was_asked_for():
    X, y, domain = shifted(n=60)
    lengths = []
    for C in (1.0, 1e-3):
        model = TermProjectionClassifier(classifier="svm", cross_fit=3, C=C, max_iter=0, random_state=0)
        lengths.append(np.linalg.norm(model.fit(X, y, sample_domain=domain).coef_))
    assert lengths[1] < 0.2 * lengths[0], f"lengths {lengths} for C of 1 and 0.001"


@pytest.mark.parametrize(("n", "placed"), [(99, False), (100, True)])
def test_the_temperature_is_placed_by_a_sample_of_a_hundred(n, placed):
    X, y, domain = shifted(n=n)
    codes = np.unique(y, return_inverse=True)[1]
    passes = MemoryPasses(X[domain > 0].astype(int), X[domain < 0].astype(int), codes[domain > 0], np.unique(y))
    found = TermProjectionClassifier(max_iter=0).fit_passes(passes).inverse_temperature_
    assert (found != 10.0) is placed, f"{n} documents: {found}"


def test_five_of_many_classes_without_a_term_are_named():
    model = TermProjectionClassifier()
    model.statistics_, model.classes_ = SimpleNamespace(class_documents=np.ones(9)), np.array([*"abcdefghi"])
    model.empty_classes_ = model.classes_[2:]
    with pytest.warns(IsthmusWarning) as caught:
        model._store()
    said = str(caught[0].message)
    assert "7 of 9 classes have no term left" in said
    assert "(c, d, e, f, g)" in said


@pytest.mark.parametrize("classifier", ["rule", "svm"])
def test_new_documents_get_the_likeliest_class_under_the_shares_of_the_target(classifier):
    """Where one class is nearly all of the target, doubtful documents go to it, in labels as in probabilities."""
    X, y, domain = shifted(120)
    model = TermProjectionClassifier(classifier=classifier).fit(X, y, sample_domain=domain)
    before = model.predict(X)
    model.prior_ = np.array([0.98, 0.01, 0.01])
    likeliest = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert (likeliest != before).any(), "these shares would not tell the two apart"
    np.testing.assert_array_equal(model.predict(X), likeliest, err_msg="labels follow the probabilities")
