"""Terms as bytes: numbered exactly, in whatever portions they come; sums that wait."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.features import blocks, token_kernels
from isthmus.features.blocks import ClassCounts, RowBlock
from isthmus.features.counting import take_runs
from isthmus.features.term_chi2 import count_terms
from isthmus.features.term_table import TermTable, pack_texts, packed_starts, unpack_texts


def test_a_table_of_terms_numbers_as_a_dict_does():
    rng = np.random.default_rng(0)
    index: dict[str, int] = {}
    table = TermTable()
    for size in (1, 0, 700, 3_000):
        terms = [chr(0x4E00 + a) + ("" if b % 3 else "é") + str(b) for a, b in rng.integers(0, 60, (size, 2))]
        expected = [index.setdefault(term, len(index)) for term in terms]
        assert table.add(pack_texts(terms)).tolist() == expected
    assert table.size == len(index)
    asked = [*list(index)[::7], "none of them", ""]
    assert table.find(pack_texts(asked)).tolist() == [index.get(term, -1) for term in asked]
    kept = np.arange(table.size) % 3 == 0
    assert unpack_texts(table.packed(kept)) == list(index)[::3]


def test_terms_of_one_hash_are_told_apart():
    """The compiled loop is given a table in which two terms have the same hash."""
    table = TermTable()
    first, second = table.add(pack_texts(["alpha", "omega"])).tolist()
    table._hashes[first] = table._hashes[second]
    table._slots[:] = -1
    token_kernels.place_hashes(table._hashes[:2], table._slots)
    assert table.find(pack_texts(["omega"])).tolist() == [second]


def test_packed_terms_in_another_order():
    packed = pack_texts(["a", "bcd", "", "é"])
    taken = packed[take_runs(packed_starts(packed), np.array([3, 1, 2, 0]))[0]]
    assert unpack_texts(taken) == ["é", "bcd", "", "a"]


@pytest.mark.parametrize("fewest", [1, 40, 10**6])
def test_sums_of_blocks_that_wait_are_those_of_all_rows(monkeypatch, fewest):
    monkeypatch.setattr(blocks, "_FEWEST", fewest)
    monkeypatch.setattr(blocks, "_PER_COLUMN", 0)
    rng = np.random.default_rng(1)
    matrix = sp.csr_matrix(rng.poisson(0.3, (60, 30)))
    codes = rng.integers(-1, 3, 60).astype(np.int32)
    parts = []
    for rows in np.array_split(np.arange(60), 7):
        own = matrix[rows]
        block = RowBlock(own.indptr.astype(np.int64), own.indices, own.data.astype(np.int32), 30)
        kept = np.flatnonzero(codes[rows] >= 0)
        parts.append(ClassCounts.of(block, kept, codes[rows][kept], 3))
    total = sum(parts[3:], parts[2]) + (parts[1] + parts[0])
    expected = count_terms(matrix, codes, 3)
    for name in ("starts", "klass", "occurrences", "documents", "class_documents"):
        np.testing.assert_array_equal(getattr(total.total(), name), getattr(expected, name))
    assert not total.__getstate__()["rows"]
