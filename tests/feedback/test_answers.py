"""Properties of answers: which of them count after tables are added and undone, their order, and their folds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isthmus.feedback import Answers
from isthmus.feedback.asking import doubt_of
from isthmus.feedback.correction import make_folds, order_answers

KINDS = ("random", "asked", "picked", "group")


@st.composite
def tables(draw):
    """A few tables of answers about six documents."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        rows = draw(st.lists(st.integers(0, 5), unique=True, min_size=1))
        given_answers = [
            {
                "row": row,
                "label": draw(st.sampled_from("abc")),
                "drawn": draw(st.sampled_from(KINDS)),
                "by": draw(st.sampled_from(["", "kim"])),
                "batch": f"table {number}",
                "counts": draw(st.booleans()),
            }
            for row in rows
        ]
        word = (draw(st.sampled_from(["red", "rude"])), draw(st.sampled_from("ab")), f"table {number}")
        blank = draw(st.lists(st.integers(0, 5), unique=True, min_size=1))
        found.append(Answers(given_answers, [word], {f"table {number}": sorted(blank)}))
    return found


def joined(parts):
    together = Answers()
    for part in parts:
        together = together.plus(part)
    return together


@given(tables(), st.data())
def test_undoing_a_table_leaves_what_the_others_give(parts, data):
    undone = data.draw(st.integers(0, len(parts) - 1))
    left = joined(parts).without(f"table {undone}")
    assert left == joined([part for number, part in enumerate(parts) if number != undone])


@given(tables())
def test_the_latest_answer_that_counts_is_the_answer(parts):
    known = joined(parts)
    latest = {entry["row"]: entry for part in parts for entry in part.given if entry["counts"]}
    assert dict(zip(known.rows, known.labels, strict=True)) == {row: entry["label"] for row, entry in latest.items()}
    assert set(known.disputed) == {entry["row"] for part in parts for entry in part.given} - set(latest)
    assert set(known.blank) == {row for rows in known.blank_in.values() for row in rows} - set(latest)
    assert known.words == {word: label for part in parts for word, label, _ in part.word_log}
    for entry in known.entries:
        # A random draw stays one, until the document gets a class with its whole group.
        drawn = [one["drawn"] for part in parts for one in part.given if one["row"] == entry["row"] and one["counts"]]
        since_group = drawn[max((i for i, kind in enumerate(drawn) if kind == "group"), default=0) :]
        assert entry["drawn"] == ("random" if "random" in since_group else drawn[-1])


@given(tables())
def test_renaming_back_gives_the_same_answers(parts):
    known = joined(parts)
    assert known.renamed({"a": "z"}).renamed({"z": "a"}) == known


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 3)), max_size=12), st.randoms())
def test_answers_are_ordered_by_text_and_class_whatever_their_order(answers, random):
    shuffled = list(answers)
    random.shuffle(shuffled)
    texts, codes = [text for text, _ in shuffled], np.array([code for _, code in shuffled], dtype=int)
    assert [shuffled[i] for i in order_answers(texts, codes).tolist()] == sorted(answers)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 5))
def test_folds_are_even_and_divide_every_class(codes, seed):
    codes = np.array(codes)
    folds = make_folds(codes, seed)
    n_folds = min(5, max(2, len(codes)))
    for rows in (np.ones(len(codes), dtype=bool), *(codes == code for code in np.unique(codes))):
        sizes = np.bincount(folds[rows], minlength=n_folds)
        assert len(sizes) == n_folds
        assert sizes.max() - sizes.min() <= 1


@given(st.integers(1, 5), st.integers(0, 1_000))
def test_doubt_is_what_separates_the_two_most_probable_classes(n_classes, seed):
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(n_classes), 4)
    ordered = np.sort(probabilities, axis=1)[:, ::-1]
    expected = 1 - ordered[:, 0] + ordered[:, 1] if n_classes > 1 else np.zeros(4)
    np.testing.assert_allclose(doubt_of(probabilities), expected)
