"""A part of a collection is a collection: every column, cell and domain of its rows, and nothing of the others."""

import numpy as np

from isthmus.corpus import read_collection
from isthmus.corpus.collection import Collection


def test_a_part_of_a_file_keeps_every_cell_of_its_rows(tmp_path):
    rows = ["id,comment,topic,stars", "a,good staff,staff,5", "b,high price,price,2", "c,,,", "d,rude staff,staff,1"]
    (tmp_path / "x.csv").write_text("\n".join(rows), encoding="utf-8")
    whole = read_collection(tmp_path / "x.csv", text="comment", label="topic", id="id")
    mask = np.array([False, True, False, True])
    for chosen, places in (([3, 1], [3, 1]), (mask, [1, 3]), (slice(1, None, 2), [1, 3])):
        part = whole.select(chosen)
        table = part.table()
        assert list(table) == ["id", "comment", "topic", "stars"]
        for name, cells in whole.table().items():
            assert (name, table[name]) == (name, [cells[place] for place in places])
        assert part.texts == [whole.texts[place] for place in places]
        assert part.labels == [whole.labels[place] for place in places]
        assert (part.name, part.encoding, part.sha256) == (whole.name, whole.encoding, whole.sha256)
    assert whole.select([]).table() == {name: [] for name in whole.table()}


def test_a_part_keeps_its_domains_and_its_own_notes():
    whole = Collection.from_texts(["x", "y", "z"], domain=["p", "q", "p"], columns={"n": [1, 2, 3]})
    part = whole.select([2, 0])
    assert (part.domain, part.columns, part.ids) == (["p", "p"], {"n": [3, 1]}, ["3", "1"])
    part.notes.append("of the part alone")
    assert whole.notes == []
