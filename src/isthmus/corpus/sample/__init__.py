"""The bundled sample: synthetic survey comments of a motorcycle dealer (labelled) and of a car dealer (not).

The package holds the program that made them and the lists it draws from, a third of the size of what it makes; tests
compare the files byte for byte with the ones that were published.
"""

from __future__ import annotations

import io
from functools import lru_cache

from isthmus.corpus.collection import Collection
from isthmus.corpus.read import read_collection
from isthmus.corpus.write import write_rows

SAMPLE_FILES = ("motorcycles.csv", "cars.csv", "later.csv")  # without the true labels of the cars


@lru_cache(maxsize=1)
def _files() -> dict[str, bytes]:
    from isthmus.corpus.sample.maker import make_tables

    files = {}
    for name, columns in make_tables().items():
        written = io.BytesIO()
        write_rows("-", columns, stdout=written)
        files[name] = written.getvalue()
    return files


def sample_file(name: str) -> bytes:
    """One file of the sample: ``motorcycles.csv``, ``cars.csv``, ``cars_truth.csv`` or ``later.csv``.

    Examples
    --------
    >>> from isthmus.corpus.sample import sample_file
    >>> sample_file("cars.csv").decode().splitlines()[0]
    'id,comment'
    """
    return _files()[name]


def load_sample() -> tuple[Collection, Collection, dict[str, str]]:
    """Source comments, target comments, and the target's true categories by id (for scoring only).

    See Also
    --------
    isthmus.corpus.make_shifted_texts : Texts with as much shift as you like.
    isthmus.corpus.load_dataset : The benchmark corpora.

    Examples
    --------
    >>> from isthmus.corpus import load_sample
    >>> source, target, truth = load_sample()
    >>> len(source), len(target), sorted(set(source.labels))
    (600, 600, ['price', 'product', 'service', 'staff'])
    """
    source = _read("motorcycles.csv", text="comment", label="category", want_labels=True)
    target = _read("cars.csv", text="comment", want_labels=False)
    truth = _read("cars_truth.csv", text="id", label="category", want_labels=True)
    return source, target, dict(zip(truth.texts, map(str, truth.labels), strict=True))


def _read(name: str, **columns) -> Collection:
    docs = read_collection("-", stdin=io.BytesIO(sample_file(name)), **columns)
    docs.name = name
    return docs


__all__ = ["SAMPLE_FILES", "load_sample", "sample_file"]
