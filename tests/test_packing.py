"""Names and texts that come back from a few pieces as they were."""

import pickle

import numpy as np
import pytest

from isthmus import SourceOnlyClassifier
from isthmus._packing import pack_names, pack_texts, unpack_names, unpack_texts


@pytest.mark.parametrize("values", [["a", "b", None, "a"], ["", "x\0"], ["a", 1, True, 1.0], [None, None], []])
def test_arrays_come_back_with_their_types(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    found = unpack_names(pack_names({"labels": array, "n": 1}))
    assert found["n"] == 1
    assert found["labels"].dtype == object
    assert [(type(one), one) for one in found["labels"]] == [(type(one), one) for one in values]


def test_only_arrays_of_names_are_packed():
    names, texts = np.array(["b", "a", "b"], dtype=object), np.array(["b", "a"])
    packed = pack_names({"names": names, "texts": texts})
    assert packed["texts"] is texts
    assert "names" not in packed
    assert packed["_packed"]["names"]["names"] == ["b", "a"]
    assert packed["_packed"]["names"]["codes"].tolist() == [0, 1, 0]
    assert pack_names({"texts": texts}) == {"texts": texts}
    table = np.array([["a", "b"], ["c", None]], dtype=object)
    assert unpack_names(pack_names({"table": table}))["table"] is table, "a table of names keeps its two dimensions"


def test_texts_come_back():
    for texts in ([], [""], ["a", "", "b\ud800", "ü"]):
        assert unpack_texts(pack_texts(texts)) == texts


def test_a_pickled_classifier_knows_its_labels():
    rows = np.array([[3, 0], [0, 2], [2, 1], [1, 2]])
    model = SourceOnlyClassifier().fit(rows, np.array(["a", "b", None, None], dtype=object))
    again = pickle.loads(pickle.dumps(model))
    assert again.transduction_.tolist() == model.transduction_.tolist()
