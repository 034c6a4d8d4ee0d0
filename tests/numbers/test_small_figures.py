"""Numbers that users see, against a calculation by hand on tiny asymmetric inputs.

Each test here fails on one small wrong change that the other tests once let pass (a swapped sign, a wrong quantile, the
wrong end of a list); its docstring names the change.
"""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus import FactorDualClassifier, SelfTrainingTransferClassifier, TermProjection, make_transfer_pipeline
from isthmus._math.dual_kernels import quantile_width
from isthmus._math.kernel_ridge import GrowingRidge
from isthmus.choose import review_mask
from isthmus.classify.cocc.classifier import CoClusteringClassifier
from isthmus.clustering import guidance as choice
from isthmus.evaluate import bootstrap_interval
from isthmus.explain.cocc import bridge_words
from isthmus.features import TextVectorizer
from isthmus.features.contexts import Contexts, pivot_weights
from isthmus.recipes import make_recipe

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike", "kind manager", "great engine"]
LABELS = ["staff", "product"] * 3
TARGET = ["rude staff", "slow bike", "zzz qqq"]


# -- reasons ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["logistic", "svm", "nbc", "tsvm", "projection", "strings", "sgt", "self-training"])
def test_reasons_of_two_classes_point_at_the_right_class(method):
    """Two-class linear methods with −w/2 and +w/2 swapped."""
    result = isthmus.label(SOURCE * 4, LABELS * 4, TARGET * 4, method=method, min_df=1)
    for i, (own, other) in ((0, ("staff", "product")), (1, ("product", "staff"))):
        told = "staff" if own == "staff" else "bike"
        found = {row["class"]: row["contribution"] for row in result.reasons(i, top=None) if row["term"] == told}
        assert result.labels[i] == own
        assert found[own] > 0 > found.get(other, -1.0)  # some methods give a term to one class only


# -- review -----------------------------------------------------------------------------------------------------------


def test_texts_without_a_known_term_need_review_however_sure_the_method_is():
    """``label`` without "texts without a known term need review"."""
    result = isthmus.label(SOURCE, LABELS, [*TARGET, ""], method="nbc", min_df=2, error_budget=1.0)
    assert review_mask(result.confidence, 1.0).tolist() == [False] * 4
    assert result.needs_review.tolist() == [False, False, True, True]
    later = result.label_new(["staff again", "zzz"])
    assert later.needs_review.tolist() == [False, True]


def test_review_takes_the_least_sure_first_and_stops_at_the_budget():
    # doubts of the surest one, two, three, four: 0.1, 0.15, 0.2, 0.275 on average
    confidence = [0.7, 0.9, 0.5, 0.8]
    assert review_mask(confidence, 0.15).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.1999).tolist() == [True, False, True, False]
    assert review_mask(confidence, 0.2).tolist() == [False, False, True, False]


# -- intervals --------------------------------------------------------------------------------------------------------


def test_bootstrap_interval_holds_its_share_of_the_draws():
    """Quantiles (1 − c, c) instead of ((1 − c)/2, (1 + c)/2)."""
    rng = np.random.default_rng(3)
    truth, guess = np.zeros(200, dtype=int), (rng.random(200) < 0.3).astype(int)

    def error(true, given):
        return float(np.mean(true != given))

    interval = bootstrap_interval(error, truth, guess, confidence=0.8, n_resamples=400, random_state=1)
    draws = np.random.RandomState(1)
    values = []
    for _ in range(400):
        rows = draws.randint(200, size=200)
        values.append(error(truth[rows], guess[rows]))
    assert interval.low == pytest.approx(np.quantile(values, 0.1))
    assert interval.high == pytest.approx(np.quantile(values, 0.9))


# -- words ------------------------------------------------------------------------------------------------------------


def test_suggested_words_are_those_whose_class_is_open():
    """``suggest_words`` proposing the surest words; documents × (1 − sureness), by hand."""
    X = np.array([[2, 0, 1, 1], [0, 2, 1, 1], [2, 0, 1, 0], [0, 2, 1, 0], [2, 0, 1, 0], [0, 2, 1, 0]])
    model = FactorDualClassifier(kernel="linear", random_state=0).fit(X, ["a", "b", None, None, None, None])
    rows = model.suggest_words(4)
    for row in rows:
        assert row["expected_use"] == pytest.approx(row["target_documents"] * (1 - row["sureness"]))
    uses = [row["expected_use"] for row in rows]
    assert uses == sorted(uses, reverse=True)
    by_column = {row["column"]: row for row in rows}
    assert by_column[2]["sureness"] < by_column[0]["sureness"]  # word 2 stands in both classes alike
    assert rows[0]["column"] == 2


def test_bridge_words_are_the_commonest_of_the_unknown_and_name_known_companions():
    """``bridge_words`` in reverse order."""
    # words 0, 1 are the source's; 2, 3 (class a) and 4 (class b) are the target's own; 3 is commoner than 2
    X = np.array(
        [
            *([3, 0, 0, 0, 0], [2, 0, 0, 0, 0], [0, 3, 0, 0, 0], [0, 2, 0, 0, 0]),  # source
            *([2, 0, 1, 3, 0], [1, 0, 1, 3, 0], [0, 2, 0, 0, 2], [0, 1, 0, 0, 2]),
        ]
    )
    y = ["a", "a", "b", "b", None, None, None, None]
    model = CoClusteringClassifier(n_word_clusters=2, random_state=0).fit(X, y)
    rows = bridge_words(model, ["a0", "b0", "rare", "common", "other"])
    shares = [row["share"] for row in rows]
    assert {row["word"] for row in rows} == {"rare", "common", "other"}
    assert shares == sorted(shares, reverse=True)
    assert rows[0]["word"] == "common"
    assert {row["word"]: row["class"] for row in rows} == {"rare": "a", "common": "a", "other": "b"}
    assert {row["word"]: row["companions"] for row in rows}["common"] == ["a0"]


# -- methods ----------------------------------------------------------------------------------------------------------


def test_self_training_adds_its_target_documents_little_by_little():
    """Everything added in round 1: then the first round would already train on all of the target."""
    seen = []

    class Watching:
        def __init__(self):
            from sklearn.linear_model import LogisticRegression

            self.inner = LogisticRegression()

        def get_params(self, deep=True):
            return {}

        def __sklearn_clone__(self):
            return Watching()

        def fit(self, X, y):
            seen.append(X.shape[0])
            self.inner.fit(X, y)
            self.classes_, self.coef_, self.intercept_ = self.inner.classes_, self.inner.coef_, self.inner.intercept_
            return self

        def predict_proba(self, X):
            return self.inner.predict_proba(X)

        def predict(self, X):
            return self.inner.predict(X)

        def decision_function(self, X):
            return self.inner.decision_function(X)

    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.random((60, 5)) + np.repeat([[2, 0, 0, 0, 0], [0, 2, 0, 0, 0]], 30, axis=0))
    y = np.where(np.arange(60) % 30 < 10, np.arange(60) // 30, -1)
    SelfTrainingTransferClassifier(Watching(), max_iter=4).fit(X, y)
    assert seen[0] == 20  # the source alone
    assert seen[1:] == sorted(seen[1:])
    assert 20 < seen[1] <= 20 + 40 // 4 + 2
    assert seen[-1] == 60


def test_pivot_weight_is_a_cosine_of_both_sides():
    """The cosine without the target's length: twice the counts would then weigh twice as much."""
    one = sp.csr_matrix([[0, 2, 1], [2, 0, 3], [1, 3, 0.0]])
    other = sp.csr_matrix([[0, 1, 4], [5, 0, 1], [2, 2, 0.0]])
    pivots = np.arange(3)

    def weighed(side):
        side = side.toarray()
        idf = np.log((1 + np.count_nonzero(side.any(axis=1))) / (1 + np.count_nonzero(side, axis=0))) + 1
        return np.log1p(side) * idf

    a, b = weighed(one), weighed(other)
    cosine = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    found = pivot_weights(Contexts(pivots, one, other, "window"), pivots, smoothing=0.1)
    assert found == pytest.approx((cosine + 0.1) / 1.1)
    assert found.max() <= 1


def test_ridge_drops_directions_without_weight():
    """The eigenvalue cut: a kernel of rank one must not be inverted in its null space."""
    row = np.array([1.0, 2.0, 2.0])
    K = np.outer(row, row)
    ridge = GrowingRidge(K, 0.0, linear=False)
    ridge.extend(np.arange(3))
    ridge._factor = None  # as after a failed Cholesky factorisation
    weights = ridge.dual(np.array([[1.0], [0.0], [0.0]]))
    assert weights.ravel() == pytest.approx(row / 81)  # the pseudo-inverse, by hand: 1/9 · u·uᵀ/9 with |row|² = 9
    assert np.abs(weights).max() < 1


def test_terms_are_kept_by_their_largest_chi2_not_by_the_sum_over_classes():
    """``n_terms`` by χ²total: a term tied a little to every class would push out one tied to a single class."""
    # term 0 belongs to class 0 alone; term 1 parts classes {0, 1} from {2, 3}; term 2 is everywhere, and so a larger
    # part of the shorter documents
    X = np.array([[9, 6, 9]] * 3 + [[0, 6, 9]] * 3 + [[0, 0, 9]] * 3 + [[0, 0, 9]] * 3)
    y = np.repeat([0, 1, 2, 3], 3)
    from isthmus._math.chi2 import count_terms, summarise

    summary = summarise(count_terms(X, y, 4))
    assert (summary.largest.argmax(), summary.total.argmax()) == (0, 2)
    kept = TermProjection(n_terms=1, purity=0.0).fit(X, y)
    assert np.flatnonzero(kept.term_class_ >= 0).tolist() == [0]


def test_the_width_follows_the_quantile_that_is_asked_for():
    """The quantile fixed at one half."""
    X = sp.csr_matrix([[0.0], [1.0], [3.0], [7.0]])
    distances = [1, 3, 7, 2, 6, 4]
    for quantile in (0.2, 0.5, 0.9):
        width = quantile_width(X, quantile, np.random.RandomState(0))
        assert width == pytest.approx(np.quantile(distances, quantile))


def test_the_price_of_a_cluster_is_the_slope_of_the_sources_own_curve(monkeypatch):
    """A wrong price: J(k) + λ·k with λ from the source at its own number of groups."""
    asked = []

    def curve(rows, numbers, rng, cosine):
        asked.append((rows.sum(), numbers.tolist()))
        return 10.0 / np.asarray(numbers, dtype=float)

    monkeypatch.setattr(choice, "_divergences", curve)
    target, source = sp.csr_matrix(np.eye(40)), sp.csr_matrix(2 * np.eye(40))
    best, table = choice.choose_n_clusters(target, source, 4)
    (of_target, grid), (of_source, around) = asked
    assert (of_target, of_source) == (40, 80)
    low, high = around
    assert low < 4 < high
    price = (10 / low - 10 / high) / (high - low)
    for row in table:
        divergence = np.interp(np.log(row["n_clusters"]), np.log(grid), 10 / np.array(grid))
        assert row["score"] == pytest.approx(divergence + price * row["n_clusters"])
    assert best == min(table, key=lambda row: row["score"])["n_clusters"]


@pytest.mark.parametrize(("n_target", "n_source"), [(60, 40), (40, 60), (40, 40)])
def test_both_curves_are_taken_on_as_many_rows(monkeypatch, n_target, n_source):
    """The larger side in full: chance alone lowers the curve more in few rows."""
    asked = []

    def curve(rows, numbers, rng, cosine):
        asked.append(rows.shape[0])
        return 10.0 / np.asarray(numbers, dtype=float)

    monkeypatch.setattr(choice, "_divergences", curve)
    choice.choose_n_clusters(sp.csr_matrix(np.eye(n_target)), sp.csr_matrix(np.eye(n_source)), 4)
    assert asked == [40, 40]


# -- symmetric changes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["nbc", "projection", "strings"])
def test_names_of_classes_do_not_matter(method):
    """Renaming classes, also so that their order turns round, renames the labels and nothing else."""
    plain = isthmus.label(SOURCE * 3, LABELS * 3, TARGET, method=method, min_df=1)
    new = {"staff": "a", "product": "z"}  # alphabetical order was product, staff
    renamed = isthmus.label(SOURCE * 3, [new[label] for label in LABELS] * 3, TARGET, method=method, min_df=1)
    assert [new[label] for label in plain.labels[:2]] == renamed.labels[:2].tolist()
    assert renamed.probabilities[:, ::-1] == pytest.approx(plain.probabilities, abs=1e-9)


def test_naive_bayes_of_documents_written_twice_is_the_same():
    once = make_recipe("nbc", min_df=1).fit([*SOURCE, *TARGET], [*LABELS, None, None, None])
    twice = make_recipe("nbc", min_df=1).fit([*SOURCE * 2, *TARGET], [*LABELS * 2, None, None, None])
    assert np.array_equal(once.predict(TARGET[:2]), twice.predict(TARGET[:2]))


def test_scaling_all_counts_changes_no_chi2_class():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (40, 12)), np.arange(40) % 3
    one, three = (TermProjection(purity=0.0).fit(k * X, y).term_class_ for k in (1, 3))
    assert np.array_equal(one, three)


def test_min_df_counts_documents_not_occurrences():
    texts = ["rare rare rare common", "common wheel", "common wheel"]
    assert TextVectorizer(min_df=2, stem=False).fit(texts).get_feature_names_out().tolist() == ["common", "wheel"]


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{text},{label}" for text, label in zip(SOURCE, LABELS, strict=True))
    (tmp_path / "source.csv").write_text(f"comment,category\n{rows}\n")
    (tmp_path / "target.csv").write_text("comment\n" + "\n".join(TARGET) + "\n")
    return tmp_path


def test_a_second_run_leaves_no_record_of_the_first(files):
    """A re-run leaving the old run.json."""
    from isthmus.cli.app import run_command

    common = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet"]
    assert run_command([*common, "--seed", "1"]) == 0
    assert run_command([*common, "--seed", "2", "--force"]) == 0
    assert json.loads((files / "run.json").read_text())["settings"]["random_state"] == 2
    assert [path.name for path in files.glob("*run.json")] == ["run.json"]


def test_the_hash_of_a_folder_knows_the_names_of_its_files(tmp_path):
    """Folder hash without names: swapping two files' contents between classes would go unnoticed."""
    from isthmus.cli.common import file_hash

    hashes = set()
    for place, (first, second) in enumerate((("staff", "price"), ("price", "staff"), ("staff", "service"))):
        folder = tmp_path / str(place)
        for name, text in ((first, "kind"), (second, "cheap")):
            (folder / name).mkdir(parents=True)
            (folder / name / "a.txt").write_text(text)
        hashes.add(file_hash(folder))
    assert len(hashes) == 3


@pytest.mark.parametrize(("helps", "said"), [(True, False), (False, True), (None, False)])
def test_the_note_on_the_source_is_printed_only_where_it_does_not_help(helps, said, capsys):
    """The cluster note printed when the source helps."""
    from isthmus.cli.cluster import tell

    tell(
        {
            "clusters": [],
            "source_helps": helps,
            "guidance_estimate": "too far apart",
            "groups_not_used": [],
            "files": [],
        }
    )
    assert ("note: too far apart" in capsys.readouterr().err) is said


def test_every_column_that_the_command_adds_is_the_result_s_own(files):
    import csv

    from isthmus.cli.app import run_command

    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv", "--quiet"]) == 0
    result = isthmus.label(SOURCE, LABELS, TARGET, method="nbc")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["comment"] for row in rows] == TARGET
    assert [row["label"] for row in rows] == result.labels.tolist()
    assert [float(row["confidence"]) for row in rows] == pytest.approx(result.confidence, abs=1e-4)
    assert [row["needs_review"].lower() for row in rows] == [str(flag).lower() for flag in result.needs_review]


def test_pipelines_hand_words_through(files):
    model = make_transfer_pipeline(TextVectorizer(min_df=1), SelfTrainingTransferClassifier(max_iter=2))
    model.fit([*SOURCE, *TARGET], [*LABELS, None, None, None])
    assert model.transduction_[:6].tolist() == LABELS


def test_the_source_pulls_from_the_iteration_after_the_warm_up():
    """Warm-up one short."""
    from isthmus.clustering.run import prepare

    source = sp.csr_matrix([[3.0, 0, 1], [2, 0, 1], [0, 3, 1], [0, 2, 1]])
    prepared = prepare(source, np.array([0, 0, 1, 1]), np.ones(4, dtype=int), source, warmup=2)
    centers = source[[0, 2]].toarray()
    assert [prepared.aligner(centers, iteration) is None for iteration in (1, 2, 3)] == [True, True, False]


def test_entries_stored_in_unequal_parts_are_added_up():
    """``sum_duplicates`` dropped: the fixture elsewhere halves every entry, which lengths of one hide."""
    from isthmus.clustering.run import clean_rows

    split = sp.csr_matrix((np.array([1.0, 2.0, 5.0, 0.0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2))
    clean = clean_rows(split)
    assert clean.toarray().tolist() == [[3.0, 5.0], [0.0, 0.0]]
    assert clean.nnz == 2
    assert float((clean.data**2).sum()) == 34.0
