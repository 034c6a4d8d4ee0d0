"""The benchmark corpora, by name. They are not part of the package: a folder holds them, ``ISTHMUS_DATA`` names it."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from isthmus.corpus.collection import Collection
from isthmus.corpus.tables import record_names
from isthmus.exceptions import DataError

ENVIRONMENT = "ISTHMUS_DATA"


@dataclass(frozen=True)
class Dataset:
    """A corpus: its file below the data folder, its size, what it is."""

    name: str
    file: str
    documents: int | None
    summary: str


DATASETS = {
    data.name: data
    for data in (
        Dataset("amazon_reviews", "amazon_reviews.jsonl.gz", 8_000, "product reviews, 4 domains, positive/negative"),
        Dataset("amazon_unlabeled", "amazon_unlabeled.jsonl.gz", 22_390, "more reviews of these domains, unlabelled"),
        Dataset("newsgroups20", "newsgroups20.jsonl.gz", 18_846, "20 Newsgroups, bydate, whole messages"),
        Dataset("reuters21578", "reuters21578.jsonl.gz", 21_578, "Reuters-21578 with topics, places, people, orgs"),
        Dataset("sraa", "sraa.jsonl.gz", None, "SRAA: auto/aviation, real/simulated (made by `isthmus data import`)"),
        Dataset("fudan", "zh/fudan.jsonl.gz", 9_810, "Chinese articles, 20 classes"),
        Dataset("sogou", "zh/sogou.jsonl.gz", 3_368, "Chinese web news pages, 10 classes"),
        Dataset("csl", "zh/csl.jsonl.gz", 7_864, "abstracts of Chinese papers, 67 disciplines"),
        Dataset("thucnews_full_small", "zh/thucnews_full_small.jsonl.gz", 1_000, "Chinese news articles, 10 classes"),
        Dataset("headlines", "zh/headlines.jsonl.gz", 119_714, "Chinese news headlines, 3 domains"),
        Dataset("dmoz_pages", "dmoz/dmoz_pages.jsonl.gz", 2_362, "web pages of the Open Directory, 14 categories"),
        Dataset("webkb", "webkb/webkb.jsonl.gz", 8_162, "university web pages, 7 kinds, 5 groups"),
        Dataset("gnad_test", "de/gnad_test.jsonl.gz", 1_028, "German news articles, 9 classes"),
        Dataset("rcv1_topics_subset", "rcv1/rcv1_topics_subset.jsonl.gz", 2_306, "Reuters stories as bags of words"),
    )
}
_LEXICONS = {
    "hu_liu": ("lexicons/positive-words.txt", "lexicons/negative-words.txt"),
    "afinn": ("lexicons/AFINN-en-165.txt",),
}


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder with the corpora: the argument, else the environment variable ``ISTHMUS_DATA``."""
    given = folder or os.environ.get(ENVIRONMENT)
    if not given:
        raise DataError(
            f"No data folder is known; set the environment variable {ENVIRONMENT} (the command: --data FOLDER).",
            code="missing-data",
        )
    path = Path(given).expanduser()
    if not path.is_dir():
        raise DataError(f"The data folder {str(path)!r} does not exist; check its name.", code="missing-data")
    return path


def list_datasets(folder: str | Path | None = None) -> list[dict]:
    """List every known corpus with its file, number of documents and summary, and whether the file exists.

    Examples
    --------
    >>> from isthmus_bench.datasets import list_datasets
    >>> list_datasets()[0]["name"]
    'amazon_reviews'
    """
    try:
        path = data_folder(folder)
    except DataError:
        if folder is not None:
            raise
        path = None
    return [asdict(data) | {"present": path is not None and (path / data.file).is_file()} for data in DATASETS.values()]


def load_dataset(name: str, folder: str | Path | None = None) -> Collection:
    """Load a benchmark corpus.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.
    folder : path, optional
        Where the corpora are; ``ISTHMUS_DATA`` if omitted.

    Returns
    -------
    Collection
        Labels are None where the file has none (or an empty one); ``amazon_unlabeled`` has none at all, its true labels
        stay in the column ``true_label`` for diagnosis. All other fields are columns, with None if a record lacks them.

    See Also
    --------
    isthmus_bench.datasets.list_datasets : What can be loaded.
    isthmus.corpus.load_sample : Texts that come with the package.
    """
    if name not in DATASETS:
        raise DataError(f"No data set is called {name!r}; use one of {', '.join(DATASETS)}.", code="unknown-name")
    path = _present(data_folder(folder), DATASETS[name].file)
    try:
        with gzip.open(path, "rb") as file:
            lines = file.read().split(b"\n")  # only line feeds end a record; texts may hold other separators
        records = [json.loads(line) for line in lines if line]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(
            f"{path.name} cannot be read ({error}); fetch the file again.", code="unreadable-file"
        ) from None
    return _to_collection(records, name)


def _to_collection(records: list[dict], name: str) -> Collection:
    keys = record_names(records, name)
    labels = [record["label"] or None for record in records]
    if name == "amazon_unlabeled":
        labels = [None] * len(records)
    return Collection(
        ids=[record["id"] for record in records],
        texts=[record["text"] for record in records],
        labels=labels,
        domain=[record["domain"] for record in records],
        columns={
            key: [record.get(key) for record in records] for key in keys if key not in ("id", "text", "label", "domain")
        },
        name=name,
        encoding="utf-8",
    )


def load_lexicon(name: str, folder: str | Path | None = None) -> dict[str, int]:
    """Opinion words and their scores.

    Parameters
    ----------
    name : {"hu_liu", "afinn"}
        ``hu_liu``: +1 or -1; the three words in both lists are left out. ``afinn``: -5 to +5; phrases are included.
    folder : path, optional
        As for :func:`load_dataset`.
    """
    if name not in _LEXICONS:
        raise DataError(f"No lexicon is called {name!r}; use one of {', '.join(_LEXICONS)}.", code="unknown-name")
    root = data_folder(folder)
    files = [_present(root, file).read_text(encoding="utf-8").split("\n") for file in _LEXICONS[name]]
    if name == "afinn":
        pairs = (line.rstrip("\r").split("\t") for line in files[0] if "\t" in line)
        return {term: int(score) for term, score in pairs}
    positive, negative = (
        [line.strip() for line in lines if line.strip() and not line.startswith(";")] for lines in files
    )
    both = set(positive) & set(negative)
    scores = dict.fromkeys(positive, 1) | dict.fromkeys(negative, -1)
    return {word: score for word, score in scores.items() if word not in both}


def _present(folder: Path, file: str) -> Path:
    path = folder / file
    if not path.is_file():
        raise DataError(
            f"The data folder {str(folder)!r} has no file {file}; the documentation of the corpora names its origin.",
            code="missing-data",
        )
    return path
