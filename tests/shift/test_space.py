"""The map of documents."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.shift import space
from isthmus.shift.space import _ring, map_places, shifted_words


def test_a_class_of_one_document_is_placed_and_moves_nobody():
    rng = np.random.default_rng(0)
    vectors = np.vstack([rng.normal(2.0, 1.0, (20, 4)), rng.normal(-2.0, 1.0, (20, 4)), np.zeros((1, 4))])
    labels = ["a"] * 20 + ["b"] * 20
    places = map_places(vectors, [*labels, "c"], ["a", "b", "c"])  # warnings are errors here
    assert places.shape == (41, 2)
    assert np.isfinite(places).all()
    np.testing.assert_allclose(places, map_places(vectors, [*labels, None], ["a", "b", "c"]), rtol=1e-5, atol=1e-8)
    first, second = places[:20, 0], places[20:40, 0]
    assert max(first.min(), second.min()) > min(first.max(), second.max())  # the two classes lie apart


def test_classes_stand_beside_the_class_most_like_them():
    degrees = np.deg2rad([0, 100, 20, 130])
    weights = np.column_stack([np.cos(degrees), np.sin(degrees)]) * [[1], [5], [2], [3]]  # lengths do not matter
    assert _ring(weights) == [0, 2, 1, 3]


def test_words_that_moved_stand_at_both_ends_and_the_others_are_left_out():
    """One end only, or words that did not move at all. Shares: old 1 and 0, fading 1 and 1/2, new 0 and 1/2."""
    #                      same, new, old, fading
    counts = sp.csr_matrix([[1, 0, 2, 1], [1, 0, 1, 1], [3, 1, 0, 1], [1, 0, 0, 0]])
    made = SimpleNamespace(counts=counts, n_source=2, names=np.array(["same", "new", "old", "fading"]))
    rows = [
        (row["word"], row["source"], row["target"]) for row in shifted_words(made.counts, made.names, made.n_source)
    ]
    assert rows == [("old", 1.0, 0.0), ("fading", 1.0, 0.5), ("new", 0.0, 0.5)]
    assert [row["word"] for row in shifted_words(made.counts, made.names, made.n_source, top=1)] == ["old", "new"]


def test_directions_are_those_of_the_documents_drawn(monkeypatch):
    """Words that none of them holds point nowhere; one word alone has no direction."""
    monkeypatch.setattr(space, "_FITTED", 3)
    monkeypatch.setattr(space, "spread", lambda n, size: np.arange(size))
    source = ["staff kind", "bike fast", "staff bike", "zebra kind"]
    target = ["kind bike", "staff fast", "fast kind bike", "zebra fast"]
    found = space.joint_space(source, target, language="other")
    sizes = dict(zip(found.names.tolist(), np.abs(found.components).max(axis=0), strict=True))
    assert sizes.pop("zebra") == pytest.approx(0, abs=1e-9)
    assert min(sizes.values()) > 0.05
    monkeypatch.undo()
    assert space.joint_space(["staff"], ["staff"]) is None


@pytest.mark.parametrize(("shape", "places"), [((3, 4), (3, 2)), ((4, 3), (4, 2)), ((2, 4), None), ((4, 2), None)])
def test_two_directions_take_three_documents_of_three_words(shape, places):
    rows = sp.csr_matrix(np.random.default_rng(0).random(shape))
    found = space.latent_rows(rows)
    assert (None if found is None else found.shape) == places
