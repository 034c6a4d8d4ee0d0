"""The bundled sample: synthetic survey comments of a motorcycle dealer (labelled) and of a car dealer (not).

``tools/sample`` in the repository holds the program that wrote the files and the lists it draws from.
"""

from __future__ import annotations

from pathlib import Path

from isthmus.corpus.collection import Collection
from isthmus.corpus.read import read_collection

SAMPLE_FILES = ("motorcycles.csv", "cars.csv", "later.csv")  # without the true labels of the cars
_FOLDER = Path(__file__).parent


def sample_file(name: str) -> bytes:
    """One file of the sample: ``motorcycles.csv``, ``cars.csv``, ``cars_truth.csv`` or ``later.csv``."""
    return (_FOLDER / name).read_bytes()


def load_sample() -> tuple[Collection, Collection, dict[str, str]]:
    """Source comments, target comments, and the target's true categories by id (for scoring only).

    See Also
    --------
    isthmus.corpus.read_collection : Documents of your own.

    Examples
    --------
    >>> from isthmus.corpus import load_sample
    >>> source, target, truth = load_sample()
    >>> len(source), len(target), sorted(set(source.labels))
    (600, 600, ['price', 'product', 'service', 'staff'])
    """
    source = read_collection(_FOLDER / "motorcycles.csv", text="comment", label="category", want_labels=True)
    target = read_collection(_FOLDER / "cars.csv", text="comment", want_labels=False)
    truth = read_collection(_FOLDER / "cars_truth.csv", text="id", label="category", want_labels=True)
    return source, target, dict(zip(truth.texts, map(str, truth.labels), strict=True))


__all__ = ["SAMPLE_FILES", "load_sample", "sample_file"]
