"""The map of documents."""

import numpy as np

from isthmus.shift.space import _ring, map_places


def test_a_class_of_one_document_is_placed_and_moves_nobody():
    rng = np.random.default_rng(0)
    vectors = np.vstack([rng.normal(2.0, 1.0, (20, 4)), rng.normal(-2.0, 1.0, (20, 4)), np.zeros((1, 4))])
    labels = ["a"] * 20 + ["b"] * 20
    places = map_places(vectors, [*labels, "c"], ["a", "b", "c"])  # warnings are errors here
    assert places.shape == (41, 2)
    assert np.isfinite(places).all()
    assert np.allclose(places, map_places(vectors, [*labels, None], ["a", "b", "c"]))
    first, second = places[:20, 0], places[20:40, 0]
    assert max(first.min(), second.min()) > min(first.max(), second.max())  # the two classes lie apart


def test_classes_stand_beside_the_class_most_like_them():
    degrees = np.deg2rad([0, 100, 20, 130])
    weights = np.column_stack([np.cos(degrees), np.sin(degrees)]) * [[1], [5], [2], [3]]  # lengths do not matter
    assert _ring(weights) == [0, 2, 1, 3]
