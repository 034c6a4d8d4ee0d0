"""Load the bundled sample: synthetic survey comments of a motorcycle dealer (labelled) and of a car dealer.

``tools/sample`` in the repository contains the program that wrote the files, and its word lists.
"""

from __future__ import annotations

from pathlib import Path

from isthmus.corpus.collection import Collection
from isthmus.corpus.read import read_collection

SAMPLE_FILES = ("motorcycles.csv", "cars.csv", "later.csv")  # files for users, without the true labels of the cars
_FOLDER = Path(__file__).parent


def sample_file(name: str) -> bytes:
    """Return the content of a file of the sample.

    Parameters
    ----------
    name : str
        ``motorcycles.csv``, ``cars.csv``, ``cars_truth.csv`` or ``later.csv``.

    Returns
    -------
    bytes
    """
    return (_FOLDER / name).read_bytes()


def load_sample() -> tuple[Collection, Collection, dict[str, str]]:
    """Return the comments of both collections and the true categories of the target.

    Returns
    -------
    source : Collection
        Labelled comments about motorcycles.
    target : Collection
        Comments about cars.
    truth : dict of str to str
        True category by id, for scoring only.

    See Also
    --------
    isthmus.corpus.read_collection : Reads your own documents.

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
