"""Small rules that no other test looks at; each docstring names the wrong change that once went unnoticed."""

import io
import zipfile
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import CoClusteringClassifier, FactorDualClassifier, TermProjection
from isthmus._math.calibration import fit_affine
from isthmus._math.dual_kernels import make_kernel
from isthmus._math.gram import ngram_gram
from isthmus._math.kmeans import Pull
from isthmus.choose.combined import pool
from isthmus.classify.baselines.aligned_features import top_singular
from isthmus.classify.dual import base as dual_base
from isthmus.classify.dual.base import label_negations
from isthmus.corpus import make_shifted_texts
from isthmus.corpus.decode import _looks_western, _mostly_utf8
from isthmus.corpus.guess import _repeats, _several
from isthmus.corpus.limits import _sheet_file
from isthmus.corpus.read import read_table
from isthmus.corpus.sheets import Layout, _write_sheet
from isthmus.evaluate import bootstrap_interval, macro_f1
from isthmus.exceptions import UsageError
from isthmus.features import TextVectorizer, languages
from isthmus.features.counting import _sequences
from isthmus.feedback.views import centred_logs
from isthmus.scale.methods.base import VotingModel
from isthmus.scale.views import _least_documents
from isthmus.shift.bridges import _log_odds
from isthmus.shift.findings import duplicate_finding
from isthmus.shift.shares import _prior


def test_values_repeat_when_there_are_two_or_at_most_half_as_many_as_rows():
    """Three different values in three rows taken for labels."""
    assert _repeats(["a", "b"])
    assert not _repeats(["a", "b", "c"])
    assert _repeats(["a", "b", "c"] * 2)
    assert not _repeats(["a", "b", "c", "c", "d"])


def test_made_texts_may_be_one_word_long_and_never_empty():
    """Texts of at least two words."""
    made = make_shifted_texts(60, 60, length=1, random_state=0)
    lengths = {len(text.split()) for text in [*made.source_texts, *made.target_texts]}
    assert min(lengths) == 1


def test_directions_point_where_their_largest_entry_is_positive():
    """Signs left as the solver gave them."""
    M = sp.random(80, 60, density=0.2, random_state=1, format="csr")
    for k in (5, 60):
        U, values = top_singular(M, k)
        assert np.all(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])] > 0)
        assert np.all(np.diff(values) <= 0)


def test_a_negated_word_speaks_against_its_own_class_among_three():
    """A negated word speaking for its class."""
    found = label_negations({0: {"good": 2.0}}, ["nice", "not-nice"], ["bad", "good", "other"])
    assert found == {0: {"good": 2.0}, 1: {"good": -2.0}}


@pytest.mark.parametrize(("kind", "expected"), [("presence", np.int32), ("spectrum", np.int64)])
def test_kernel_matrices_of_counts_are_whole_numbers(kind, expected):
    """Any type but the one that is asked for."""
    codes, offsets = np.array([1, 2, 1, 2, 3], dtype=np.int32), np.array([0, 3, 5])
    assert ngram_gram(codes, offsets, 1, 2, kind)[0].dtype == expected
    assert ngram_gram(codes, offsets, 1, 2, kind, normalize=True)[0].dtype == np.float64
    assert ngram_gram(codes, offsets, 1, 2, kind, dtype=np.float32)[0].dtype == np.float32


def test_centres_are_drawn_only_to_anchors_with_weight():
    """Every anchor drawing every centre."""
    assert Pull(np.array([[0.5, 0.0], [0.0, 0.0]]), np.eye(2)).pairs.tolist() == [[True, False], [False, False]]


def test_a_small_vocabulary_is_tried_with_two_word_clusters():
    """At least three word clusters, however few the words."""
    X = np.array([[3, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 1], [0, 0, 2, 1], [2, 2, 0, 0], [0, 0, 1, 3]])
    model = CoClusteringClassifier(n_word_clusters="auto", random_state=0).fit(X, ["a", "a", "b", "b", None, None])
    assert {row["n_word_clusters"] for row in model.choice_} == {2}


def test_three_texts_make_a_language_common(monkeypatch):
    """Four texts asked for: an unsure text among three English ones then counted as Dutch."""
    said = {"one": ("en", 1.0), "two": ("en", 1.0), "three": ("en", 1.0), "odd": ("nl", 0.6)}
    monkeypatch.setattr(languages, "_identify", said.__getitem__)
    languages._shares.cache_clear()
    assert languages.guess_languages(["one", "two", "three", "odd"]) == {"en": 1.0}
    languages._shares.cache_clear()
    assert languages.guess_languages(["one", "two", "odd"]) == {"en": 2 / 3, "nl": 1 / 3}
    languages._shares.cache_clear()


def test_half_english_is_not_plainly_english():
    """The share of English texts divided by their number instead of multiplied."""
    english, german = "the engine is loud and the seat was hard", "der Motor ist laut und der Sitz war hart"
    assert languages.plainly_english([english] * 10)
    assert not languages.plainly_english([english] * 5 + [german] * 5)


def test_one_draw_is_enough_for_a_bootstrap_and_none_is_refused():
    """Two draws asked for."""
    once = bootstrap_interval(macro_f1, ["a", "b"] * 5, ["a"] * 10, n_resamples=1)
    assert once.low == once.high
    with pytest.raises(UsageError, match="at least one draw"):
        bootstrap_interval(macro_f1, ["a", "b"], ["a", "b"], n_resamples=0)


def test_log_odds_of_a_word_and_their_variance_by_hand():
    """The variance with 2 / no instead of 1 / no."""
    votes, base = np.array([[3.0], [1.0]]), np.array([10.0, 20.0])
    odds, variance = _log_odds(votes, base)
    np.testing.assert_allclose(variance[:, 0], [1 / 3.5 + 1 / 1.5, 1 / 1.5 + 1 / 3.5])
    np.testing.assert_allclose(
        odds[:, 0], [np.log(3.5 / 1.5) - np.log(10.5 / 20.5), np.log(1.5 / 3.5) - np.log(20.5 / 10.5)]
    )


def test_no_repeated_document_is_said_so():
    """Without the guard: "0 target documents repeat"."""
    told = duplicate_finding([], 10)
    assert "No target document repeats a source document." in told.values()
    assert "1 target document repeats" in " ".join(map(str, duplicate_finding([{}], 10).values()))


def test_as_many_broken_runs_as_sound_ones_are_not_mostly_utf8():
    """A tie taken for most."""
    sound, broken = "é".encode(), b"\xff"
    assert _mostly_utf8(b" ".join([sound, sound, broken]))
    assert not _mostly_utf8(b" ".join([sound, broken]))


def test_columns_to_fill_in_are_coloured_and_long_texts_wrap():
    """Colours on every column but those a person fills in."""
    styles = {}

    class Sheet:
        def set_column(self, first, last, width, style):
            styles[first] = style

        def __getattr__(self, name):
            return lambda *given: None

    formats = {name: name for name in ("header", "text", "fill", "doubt")}
    columns = {"id": ["1"], "answer": [""], "text": ["word " * 30]}
    _write_sheet(Sheet(), columns, Layout(choices={"answer": ["a", "b"]}), formats, lambda *given: None)
    assert styles == {0: None, 1: "fill", 2: "text"}


def test_a_separator_at_the_end_does_not_make_several_labels():
    """One part counted as several."""
    assert _several(Counter({"price;": 5, "price": 5, "staff;": 5, "staff": 5})) is None
    assert _several(Counter({"price; staff": 5, "staff; price": 5, "price": 5, "staff": 5})) is not None


def test_a_sheet_asked_for_in_a_file_without_sheets_is_no_matter(tmp_path):
    """Bytes and name of the file swapped on that way."""
    table = tmp_path / "answers.csv"
    table.write_text("document,label\n1,price\n", encoding="utf-8")
    assert read_table(table, sheet="review") == {"document": ["1"], "label": ["price"]}


def test_no_method_vetoes_a_class_by_calling_it_impossible():
    """Without the floor of one in a thousand a single method would decide."""
    undecided, sure = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    odds = np.sqrt(1000.0)  # half of log 1000: two methods of equal weight
    pooled = pool({"a": undecided, "b": sure}, {"a": 0.5, "b": 0.5})
    assert pooled[0] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    scores = {"a": np.zeros((1, 2)), "b": np.array([[0.0, -1000.0]])}
    found = VotingModel({}, {"a": 0.5, "b": 0.5})._pool(scores)
    assert found[0, 0] - found[0, 1] == pytest.approx(np.log(odds))
    assert centred_logs(sure)[0] == pytest.approx([np.log(odds), -np.log(odds)])


def test_a_class_of_no_source_documents_may_have_a_share_in_the_target():
    """Learned with a share of nought, it would keep it whatever the documents say."""
    assert _prior([1.0, 0.0]) == pytest.approx([1 / 1.001, 0.001 / 1.001])


def test_of_terms_with_the_same_chi2_the_first_are_kept():
    """The last ones kept."""
    # the last term is all that the second class has and tells most; the other three tell alike
    X = np.array([[2, 2, 2, 1]] * 3 + [[0, 0, 0, 9]] * 3)
    kept = TermProjection(n_terms=2, purity=0.0).fit(X, [0, 0, 0, 1, 1, 1])
    assert np.flatnonzero(kept.term_class_ >= 0).tolist() == [0, 3]


@pytest.mark.parametrize(("n_documents", "least"), [(199, 1), (200, 2), (999, 2), (1_000, 3)])
def test_in_how_many_documents_a_term_must_be(n_documents, least):
    """One document more or less at the bounds, in memory or over blocks."""
    vectorizer = TextVectorizer()
    vectorizer._most_documents = 1.0
    assert vectorizer._kept(np.array([1, 2, 3, 4]), n_documents).tolist() == list(range(least - 1, 4))
    assert _least_documents(n_documents) == least


def test_directions_that_a_matrix_does_not_have_are_left_out():
    """Kept, what rounding leaves there would be scaled up and decide labels."""
    U, values = top_singular(np.outer([1.0, 2.0, 2.0], [3.0, 4.0]), 2)
    assert values == pytest.approx([15.0])  # lengths 3 and 5
    assert U.ravel() == pytest.approx([1 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_kernels_width_is_asked_for_by_the_number_of_classes(n_classes, monkeypatch):
    """One half, however many classes."""
    asked = []

    def watched(*given, quantile, **settings):
        asked.append(quantile)
        return make_kernel(*given, quantile=quantile, **settings)

    monkeypatch.setattr(dual_base, "make_kernel", watched)
    X = np.eye(n_classes).repeat(2, axis=0) + 0.1
    FactorDualClassifier(kernel="gaussian", random_state=0).fit(X, [*range(n_classes), *[-1] * n_classes])
    assert asked == [1 / n_classes] * 2


def test_the_penalty_of_an_affine_calibration():
    """Twice the penalty in the loss, once in its gradient. Without one two sure answers would have no best slope."""
    d = np.log(9.0)
    slope, offsets = fit_affine(np.log([[0.9, 0.1], [0.1, 0.9]]), np.array([0, 1]))
    grid = np.linspace(-1.0, 4.0, 50_001)
    best = grid[np.argmin(np.log1p(np.exp(-np.exp(grid) * d)) + 1e-4 * grid**2)]
    assert slope == pytest.approx(np.exp(best), rel=0.01)
    assert offsets == pytest.approx([0.0, 0.0], abs=1e-9)


def test_pairs_of_texts_and_sequences_are_kept_in_four_bytes():
    """Eight bytes where four are enough: twice the memory while a large collection is counted."""
    # texts "0 1 0" and "1 1"
    single, double = _sequences(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 1]), 2, range(1, 3))
    for found in (single, double):
        assert {part.dtype for part in (found.rows, found.codes, found.counts)} == {np.dtype(np.int32)}
    assert (single.rows.tolist(), single.codes.tolist(), single.counts.tolist()) == ([0, 0, 1], [0, 1, 1], [2, 1, 2])
    assert double.spelling.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert (double.rows.tolist(), double.codes.tolist(), double.counts.tolist()) == ([0, 0, 1], [0, 1, 2], [1, 1, 1])


def test_the_last_sign_of_ascii_says_nothing_about_an_encoding():
    """Counted with the letters above ASCII, a few of them would hide that these are Western."""
    assert _looks_western("café \x7f\x7f\x7f\x7f")


def test_a_workbook_that_lists_no_sheet_is_looked_up_by_number():
    """One sheet more asked for than are listed: an error of Python's instead of the usual place."""
    with zipfile.ZipFile(io.BytesIO(), "w") as book:
        book.writestr("xl/workbook.xml", "<workbook><sheets/></workbook>")
        book.writestr(
            "xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="rId1" Target="styles.xml"/></Relationships>'
        )
        assert _sheet_file(book, 0) == "xl/worksheets/sheet1.xml"
