"""Statistics of a block for cross-guided k-means, on a handful of documents."""

import numpy as np

from isthmus.clustering import blocks
from isthmus.features.blocks import MemoryBlock, RowBlock


def test_rows_of_a_block_are_added_up_by_the_nearest_centre():
    # Two documents of the first word, one of the second, one without a word.
    rows = RowBlock(np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1], np.int32), np.array([1, 3, 2], np.int32), 2)
    idf, directions = np.ones(2), np.eye(2)
    target = MemoryBlock("target", lambda: rows)
    sums, counts = blocks.assign_rows(target, idf, directions)
    assert counts.tolist() == [2, 1]
    assert (sums / blocks.ONE).tolist() == [[2.0, 0.0], [0.0, 1.0]]
    total, documents = blocks.group_sums(target, idf, 1)  # a target: all in one
    assert (total / blocks.ONE).tolist() == [[2.0], [1.0]]
    assert documents.tolist() == [4]
    source = MemoryBlock("source", lambda: rows, codes=np.array([1, -1, 0, 1]))
    by_label, labelled = blocks.group_sums(source, idf, 2)
    assert (by_label / blocks.ONE).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert labelled.tolist() == [1, 2]
