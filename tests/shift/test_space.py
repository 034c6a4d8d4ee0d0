"""The map of documents."""

import numpy as np

from isthmus.shift.space import map_places


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
