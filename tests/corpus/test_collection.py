"""Collections: selection, tables, checks with counts."""

import pytest

from isthmus.corpus import Collection
from isthmus.exceptions import DataError


def findings(docs):
    return {finding["check"]: finding for finding in docs.checks()}


def test_select_refuses_a_mask_of_the_wrong_length():
    with pytest.raises(DataError, match="2 values for 3 documents"):
        Collection.from_texts(["a", "b", "c"]).select([True, False])


def test_lengths_must_agree():
    with pytest.raises(DataError) as error:
        Collection.from_texts(["a", "b"], ["x"])
    assert error.value.code == "length-mismatch"


def test_texts_must_be_str():
    with pytest.raises(DataError, match=r"texts\[1\] is float") as error:
        Collection.from_texts(["a", float("nan")])
    assert error.value.code == "not-text"


def test_table_of_a_collection_in_memory():
    docs = Collection.from_texts(["a"], ["x"], columns={"k": [1]})
    assert docs.table() == {"id": ["1"], "text": ["a"], "label": ["x"], "k": [1]}


def test_has_labels():
    assert not Collection.from_texts(["a", "b"]).has_labels
    assert Collection.from_texts(["a", "b"], [None, "x"]).has_labels


def test_sound_data_gives_no_findings():
    assert Collection.from_texts(["a", "b", "c", "d"], ["x", "x", "y", "y"]).checks() == []


def test_checks_count():
    docs = Collection.from_texts(
        ["", "  \n", "same", "same", "same", "other", "x" * 100_001],
        ["a", "a", "a", "b", "a", "A ", "lone"],
        ids=["1", "1", "2", "3", "4", "5", "6"],
    )
    found = findings(docs)
    assert found["empty-texts"]["count"] == 2
    assert found["duplicate-texts"]["count"] == 2
    assert found["duplicate-texts"]["examples"] == ["3", "4"]
    assert found["two-labels"]["count"] == 1
    assert set(found["single-document-classes"]["examples"]) == {"b", "A ", "lone"}
    assert found["similar-labels"]["examples"] == ["'a' / 'A '"]
    assert found["duplicate-ids"]["examples"] == ["1"]
    assert found["long-documents"]["examples"] == ["6"]
    assert all(str(finding["count"]) in finding["message"] for finding in found.values())


def test_examples_are_few():
    docs = Collection.from_texts([""] * 50)
    assert findings(docs)["empty-texts"]["count"] == 50
    assert len(findings(docs)["empty-texts"]["examples"]) == 5


def test_unlabelled_copies_do_not_make_two_labels():
    docs = Collection.from_texts(["t", "t", "u"], ["a", None, "a"])
    assert "two-labels" not in findings(docs)


def test_a_document_of_a_hundred_thousand_characters_is_not_too_long():
    docs = Collection.from_texts(["x" * 100_000, "y" * 100_001, "z"], ids=["1", "2", "3"])
    assert findings(docs)["long-documents"]["examples"] == ["2"]


@pytest.mark.parametrize(("rows", "found"), [(19, False), (20, True), (30, True)])
def test_few_texts_of_many_documents_are_reported(rows, found):
    assert ("equal-texts" in findings(Collection.from_texts((["people", "places"] * rows)[:rows]))) == found
    assert "equal-texts" not in findings(Collection.from_texts(["people", "places", "things"] * 9))
