"""The gate: who is source, who is target, and what a method may know."""

import io
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold

import isthmus
from isthmus import SourceOnlyClassifier
from isthmus._progress import Screen, _find_screen, listen, progress, spell_event
from isthmus._validation import check_texts, read_domain, read_labels
from isthmus.base import check_transfer_data
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import CODES, DataError, UsageError
from isthmus.features import TextVectorizer
from isthmus.pipeline import make_transfer_pipeline

X4 = np.arange(8.0).reshape(4, 2)


def gate(X, y, domain=None, **options):
    return check_transfer_data(isthmus.SourceOnlyClassifier(), X, y, domain, **options)


@pytest.mark.parametrize(
    ("y", "known"),
    [
        ([1, -1, 2], [True, False, True]),
        (["a", None, "b"], [True, False, True]),
        ([2, None, 1, -1], [True, False, True, False]),
        (["a", float("nan"), "b"], [True, False, True]),
        ([1.0, float("nan"), 2.0], [True, False, True]),
        (np.array([1, -1, 2], dtype=object), [True, False, True]),
        ([True, False, True], [True, True, True]),
        (np.array(["a", "", "b"]), [True, True, True]),
    ],
)
def test_unlabelled_markers(y, known):
    assert read_labels(y)[1].tolist() == known


def test_pandas_missing_values_are_unlabelled():
    pd = pytest.importorskip("pandas")
    assert read_labels(pd.Series(["a", pd.NA, "b"], dtype=object))[1].tolist() == [True, False, True]


def test_domains_left_out_make_unlabelled_rows_target():
    domains = gate(X4, ["a", None, "b", None])
    assert domains.source.tolist() == [0, 2]
    assert domains.target.tolist() == [1, 3]


def test_target_labels_are_masked_and_name_no_class():
    domains = gate(X4, ["a", "b", "secret", "a"], [1, 2, -1, -3])
    assert domains.codes.tolist() == [0, 1, -1, -1]
    assert domains.classes.tolist() == ["a", "b"]
    assert domains.source_domains.tolist() == [1, 2]


def test_unlabelled_source_rows_are_neither_source_nor_target_but_get_a_label():
    y = np.array(["a", "b", None, None], dtype=object)
    domains = gate(X4, y, [1, 1, 1, -1])
    assert domains.unlabelled_source.tolist() == [2]
    fitted = isthmus.SourceOnlyClassifier().fit(X4, y, sample_domain=[1, 1, 1, -1])
    assert fitted.transduction_[2] in ("a", "b")


@given(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=2, max_size=30))
def test_every_row_has_exactly_one_place(y):
    if len(set(y) - {-1}) < 2:
        return
    domains = gate(np.ones((len(y), 1)), y)
    places = np.concatenate([domains.source, domains.target, domains.unlabelled_source])
    assert sorted(places) == list(range(len(y)))


@pytest.mark.parametrize(
    ("y", "domain", "code"),
    [
        (["a", "a", None, None], None, "one-class"),
        ([None] * 4, None, "no-labels"),
        (["a", "b", "a"], None, "length-mismatch"),
        (["a", "b", "a", "b"], [1, 1, 1, 1], "no-target"),
        (["a", "b", "a", "b"], [1, 1, -1], "length-mismatch"),
        (["a", "b", "a", "b"], [1, 0, -1, -1], "bad-domain"),
        (["a", "b", "a", "b"], [1, 0.5, -1, -1], "bad-domain"),
        (["a", "b", "a", "b"], ["s", "s", "t", "t"], "bad-domain"),
        (["a", 1, None, None], None, "bad-labels"),
        ([0.5, 0.7, 1.5, float("inf")], None, "bad-labels"),
        (None, None, "no-labels"),
    ],
)
def test_refusals_say_what_and_carry_a_code(y, domain, code):
    with pytest.raises(DataError) as caught:
        gate(X4, y, domain)
    assert caught.value.code == code
    assert code in CODES


def test_no_shared_words_is_refused():
    X = sp.csr_matrix([[1.0, 0, 0], [2.0, 0, 0], [0, 1.0, 1.0]])
    with pytest.raises(DataError, match="shares 0 of its 2 words") as caught:
        gate(X, ["a", "b", None])
    assert caught.value.code == "no-shared-words"
    assert len(gate(X, ["a", "b", None], need_overlap=False).target) == 1


@pytest.mark.parametrize("texts", ["one text", [1, 2], [None], np.ones((2, 2)), []])
def test_texts_must_be_texts(texts):
    with pytest.raises(DataError):
        check_texts(texts)


def test_errors_survive_pickling():
    import pickle

    error = pickle.loads(pickle.dumps(DataError("No.", code="one-class")))
    assert (str(error), error.code) == ("No.", "one-class")


def text_pipeline():
    return make_transfer_pipeline(TextVectorizer(min_df=1), isthmus.SourceOnlyClassifier())


@pytest.mark.parametrize("routing", [False, True])
def test_pipeline_takes_sample_domain_with_and_without_routing(routing):
    texts, labels, domain = example_texts()
    with sklearn.config_context(enable_metadata_routing=routing):
        pipeline = text_pipeline().fit(texts, labels, sample_domain=domain)
    assert np.mean(pipeline.transduction_[domain < 0] == labels[domain < 0]) > 0.9
    assert not sklearn.get_config()["enable_metadata_routing"]


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search_hands_sample_domain_on(routing):
    texts, labels, domain = example_texts()
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            text_pipeline(), {"sourceonlyclassifier__cv": [2, 3]}, cv=KFold(2, shuffle=True, random_state=0)
        )
        search.fit(texts, labels, sample_domain=domain)
    assert search.best_score_ > 0.9


def test_pipeline_does_not_invent_attributes():
    with pytest.raises(AttributeError):
        _ = text_pipeline().transduction_
    with pytest.raises(AttributeError):
        _ = text_pipeline().no_such_thing


def test_works_inside_a_skada_pipeline():
    skada = pytest.importorskip("skada", reason="skada is not installed: the interoperability test needs it")
    texts, labels, domain = example_texts()
    X = TextVectorizer(min_df=1).fit_transform(texts).toarray()
    codes = np.where(domain < 0, -1, np.searchsorted(np.unique(labels), labels))
    try:
        pipeline = skada.make_da_pipeline(isthmus.SelfTrainingTransferClassifier(LogisticRegression()))
        pipeline.fit(X, codes, sample_domain=domain)
        predicted = pipeline.predict(X[domain < 0], sample_domain=domain[domain < 0])
    finally:
        sklearn.set_config(enable_metadata_routing=False)  # skada switches it on when imported
    assert np.mean(np.unique(labels)[predicted] == labels[domain < 0]) > 0.9


def test_progress_reaches_only_listeners():
    heard = []
    progress("before", 1)
    with listen(heard.append):
        progress("inside", 1, 2)
    progress("after", 1)
    assert [event["phase"] for event in heard] == ["inside"]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([1, 0] * 3, "i"),
        ([True, False] * 3, "b"),
        ([1.0, 0.0] * 3, "f"),
        ([1, 0, None, 0, 1, 0], "i"),
        (["a", "b"] * 3, "O"),
    ],
)
def test_labels_of_every_kind_come_back_in_their_kind(labels, kind):
    result = isthmus.label(["kind staff", "fast bike"] * 3, labels, ["staff here", "bike there"], method="nbc")
    assert result.labels.tolist() == labels[:2]
    assert result.labels.dtype.kind == kind


@pytest.mark.parametrize("call", [isthmus.label, isthmus.cluster])
@pytest.mark.parametrize("labels", [None, 3, "ab", {"a": 1, "b": 2}])
def test_what_is_no_sequence_of_labels_is_refused(call, labels):
    with pytest.raises(DataError, match="of the source; give a sequence with one") as caught:
        call(["kind staff", "fast bike"], labels, ["staff here", "bike there"])
    assert caught.value.code == "bad-labels"


@pytest.mark.parametrize("call", [isthmus.label, isthmus.cluster])
@pytest.mark.parametrize("seed", [-1, 2**32, "seed", 0.5])
def test_seeds_that_cannot_be_are_refused(call, seed):
    with pytest.raises(UsageError, match=r"random_state is .* give a whole number") as caught:
        call(["kind staff", "fast bike"], ["a", "b"], ["staff here", "bike there"], random_state=seed)
    assert caught.value.code == "bad-parameter"


def test_chance_may_be_left_to_itself():
    result = isthmus.label(["kind staff", "fast bike"], ["a", "b"], ["staff"], method="svm", random_state=None)
    assert result.labels.tolist() == ["a"]


def test_a_tuple_with_nan_and_a_string_array_are_read_like_a_list():
    assert read_labels(("a", float("nan"), "b"))[1].tolist() == [True, False, True]
    fitted = isthmus.SourceOnlyClassifier().fit(np.eye(3) + 1, ("a", "b", float("nan")))
    assert set(fitted.classes_) == {"a", "b"}


@pytest.mark.parametrize("target_labels", [[3.7, 9.9], [1, 2], ["x", None]])
def test_the_kind_of_target_labels_does_not_matter(target_labels):
    y = np.array(["a", "b", *target_labels], dtype=object)
    domains = gate(X4, y, [1, 1, -1, -1])
    assert domains.codes.tolist() == [0, 1, -1, -1]


class Memoriser(LogisticRegression):
    """A scikit-learn classifier that knows nothing of domains: it would learn target labels if it saw them."""


def test_no_step_of_a_pipeline_sees_target_labels():
    texts, labels, domain = example_texts()
    seen = {}

    class Spy(TextVectorizer):
        def fit_transform(self, X, y=None):
            seen["y"] = y
            return super().fit_transform(X)

    make_transfer_pipeline(Spy(min_df=1), isthmus.SourceOnlyClassifier()).fit(texts, labels, sample_domain=domain)
    assert all(value is None for value in np.asarray(seen["y"], dtype=object)[domain < 0])
    with pytest.raises(UsageError, match="takes sample_domain"):
        make_transfer_pipeline(TextVectorizer(min_df=1), Memoriser()).fit(texts, labels, sample_domain=domain)


@pytest.mark.parametrize("way", ["fit", "fit_rows", "fit_transform", "fit_predict"])
def test_no_last_step_of_a_pipeline_sees_target_labels(way):
    texts, labels, domain = example_texts()
    seen = []

    class Spy(isthmus.SourceOnlyClassifier):
        def fit(self, X, y, sample_domain=None):
            seen.extend(np.asarray(y, dtype=object)[domain < 0])
            return super().fit(X, y, sample_domain)

        fit_transform = fit_predict = fit

    getattr(make_transfer_pipeline(TextVectorizer(min_df=1), Spy()), way)(texts, labels, sample_domain=domain)
    assert seen == [None] * int((domain < 0).sum()), f"{way} hands them on"


def test_wide_indices_are_narrowed():
    texts, labels, domain = example_texts()
    X = TextVectorizer(min_df=1).fit_transform(texts)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    fitted = isthmus.SourceOnlyClassifier().fit(wide, labels, sample_domain=domain)
    np.testing.assert_array_equal(
        fitted.predict(wide), isthmus.SourceOnlyClassifier().fit(X, labels, domain).predict(X)
    )
    read = gate(wide, labels, domain).X
    assert (read.indices.dtype, read.indptr.dtype) == (np.int32, np.int32)
    assert (read != X).nnz == 0


@pytest.mark.parametrize("texts", [{"x": "text"}, {"text"}, None, 3])
def test_mappings_sets_and_numbers_are_no_texts(texts):
    with pytest.raises(DataError) as caught:
        check_texts(texts)
    assert caught.value.code == "not-text"


def test_a_table_is_no_text():
    pd = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="one column"):
        check_texts(pd.DataFrame({"text": ["a"]}))
    assert check_texts(pd.Series(["a"])) == ["a"]


def test_entries_stored_in_parts_are_one_entry_of_their_sum():
    parts = np.array([1.0, 2.0, 5.0, 0.0, 4.0]), np.array([0, 0, 1, 1, 1]), np.array([0, 3, 4, 5])
    split = sp.csr_matrix(parts, shape=(3, 2))
    rows = check_transfer_data(isthmus.SourceOnlyClassifier(), split, ["a", None, "b"], [1, -1, 1]).X
    assert (rows.toarray().tolist(), rows.nnz) == ([[3.0, 5.0], [0.0, 0.0], [0.0, 4.0]], 3)
    assert split.nnz == 5  # the caller's own stays as it is


def test_unlabelled_source_rows_get_the_label_that_their_own_words_speak_for():
    X, domain = np.array([[3.0, 0], [0, 2], [5, 0], [4, 1]]), [1, 1, 1, -1]
    y = np.array(["a", "b", None, None], dtype=object)
    assert SourceOnlyClassifier().fit(X, y, sample_domain=domain).transduction_.tolist() == ["a", "b", "a", "a"]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([(1,), (2,)], "labels of kind tuple; use names or whole numbers"),
        ([b"a", b"b"], "labels of kind bytes; decode them first"),
        ([object(), object()], "labels of kind object, which have no order"),
        (["a", 1], "mixes labels of kinds int, str; use one kind"),
        ([1j, 2j], "labels of kind complex"),
    ],
    ids=["tuples", "bytes", "objects", "two kinds", "complex"],
)
def test_labels_that_no_table_could_hold_are_refused(labels, said):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    with pytest.raises(DataError, match=said) as caught:
        read_labels(array)
    assert caught.value.code == "bad-labels"


def test_dates_are_no_labels():
    with pytest.raises(DataError, match=r"y has dtype datetime64\[D\]; labels must be") as caught:
        read_labels(np.array(["2024-01-02", "2025-01-02"], dtype="datetime64[D]"))
    assert caught.value.code == "bad-labels"


@pytest.mark.parametrize(
    "domain",
    [[1, 2, -1], np.array([1, 2, -1], dtype=object), [np.int8(1), np.int64(2), -1], [1.0, 2.0, -1.0]],
    ids=["integers", "objects", "numpy's", "whole floats"],
)
def test_domains_are_read_in_every_form(domain):
    assert read_domain(domain, 3).tolist() == [1, 2, -1]
    assert read_domain(np.array([1, 2], dtype=np.uint16), 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("domain", "said", "code"),
    [
        ([1, 2], r"has shape \(2,\) for 3 rows", "length-mismatch"),
        ([[1, 2, -1]], r"has shape \(1, 3\) for 3 rows", "bad-domain"),
        ([[1], [2], [-1]], r"has shape \(3, 1\) for 3 rows", "bad-domain"),
        ([[1], [2, -1], 3], "ragged", "bad-domain"),
        ([1, 2, -(2**70)], "at most 63 bits", "bad-domain"),
        (np.array([1, 2, 2**63], dtype=np.uint64), "at most 63 bits", "bad-domain"),
        ([1.5, 2, -1], "dtype float64; integers are expected", "bad-domain"),
        (["a", "b", "c"], "integers are expected", "bad-domain"),
        ([1, 0, 0], "is 0 for 2 rows", "bad-domain"),
    ],
    ids=["short", "a row", "a column", "ragged", "long", "unsigned", "halves", "names", "zeros"],
)
def test_domains_that_say_nothing_are_refused(domain, said, code):
    with pytest.raises(DataError, match=said) as caught:
        read_domain(domain, 3)
    assert caught.value.code == code


def test_a_pipeline_transforms_the_rows_it_is_fitted_on():
    texts, labels, domain = example_texts()

    def made():
        return make_transfer_pipeline(TextVectorizer(min_df=1), isthmus.TermProjection())

    once = made().fit_transform(texts, labels, sample_domain=domain)
    again = made().fit(texts, labels, sample_domain=domain)
    np.testing.assert_allclose(np.asarray(once), np.asarray(again.transform(texts)))


def test_a_screen_passes_over_notes_and_draws_what_takes_long():
    drawn, cleared = [], []
    screen = Screen(lambda *event: drawn.append(event), lambda: cleared.append(True))
    screen.clear()
    assert not cleared, "nothing was drawn that could be taken away"
    later = time.monotonic() + 60
    screen({"what": "memory", "phase": "reading", "done": 1, "total": 2, "time": later})
    assert not drawn
    screen({"phase": "reading", "done": 1, "total": None, "time": later})
    screen({"phase": "reading", "done": 2, "total": None, "time": later + 0.01})
    assert drawn == [("reading: 1", 1, None)], "at most five times a second"
    screen.clear()
    assert cleared == [True]


def test_the_time_left_is_that_of_what_is_not_done():
    event = {"phase": "reading", "done": 2, "total": 8, "time": 10.0}
    assert spell_event(event, 0.0) == "reading: 2 of 8, about 30 s left"
    assert spell_event(event, 10.0) == "reading: 2 of 8", "no time has passed"
    assert spell_event(event | {"total": None}, 0.0) == "reading: 2"
    assert spell_event(event | {"done": 0}, 0.0) == "reading: 0 of 8"
    assert spell_event(event | {"done": 8}, 0.0) == "reading: 8 of 8"
    assert spell_event(event | {"total": 1, "done": 0}, 0.0) == "reading"
    assert spell_event(event | {"total": 1, "done": 1}, 0.0) == "reading: done"


def test_progress_is_drawn_where_somebody_would_see_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr(sys, "stderr", None)
    assert _find_screen() is None
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert _find_screen() is None, "a file is no screen"
    terminal.isatty = lambda: True
    screen = _find_screen()
    screen({"phase": "reading", "done": 1, "total": 2, "time": time.monotonic() + 60})
    assert terminal.getvalue() == "\r\033[Kreading: 1 of 2"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: object(), display=None))
    assert _find_screen() is not None, "IPython on a terminal has no cells"
    monkeypatch.setenv("ISTHMUS_PROGRESS", "off")
    assert _find_screen() is None
