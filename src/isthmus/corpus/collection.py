"""A collection of documents: what every reader gives and every command takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isthmus._utils import plural
from isthmus.exceptions import DataError

LONG_DOCUMENT = 100_000  # characters; about a book. Longer is read all the same, but worth a look.
_EXAMPLES = 5


@dataclass
class Collection:
    """Documents of one file or data set, row by row.

    Attributes
    ----------
    ids : list of str
        The id column, or the row numbers from 1.
    texts : list of str
        Missing texts are empty strings.
    labels : list of (str or None)
        None where a document has no label.
    domain : list or None
        Name of each document's domain, where the data says so.
    columns : dict of str to list
        All other columns, in their order, cells as read.
    name : str
        Where the documents came from (a file name, a data set).
    notes : list of str
        What a reader guessed or noticed, one sentence each.
    encoding : str or None
        How the bytes of a text file were read.
    sha256 : str or None
        Hash of the bytes that were read.
    cells : dict of str to list, or None
        Every input column as it was read, in its place; see :meth:`table`.

    See Also
    --------
    isthmus.corpus.read_collection : Reads one from a file or folder.
    isthmus.corpus.write_rows : Writes its table.

    Examples
    --------
    >>> from isthmus.corpus import Collection
    >>> docs = Collection.from_texts(["kind staff", "fast bike", "fast bike"], ["staff", "product", "Product"])
    >>> len(docs), docs.has_labels
    (3, True)
    >>> [finding["check"] for finding in docs.checks()]
    ['duplicate-texts', 'two-labels', 'single-document-classes', 'similar-labels']
    """

    ids: list[str]
    texts: list[str]
    labels: list[str | None]
    domain: list[Any] | None = None
    columns: dict[str, list] = field(default_factory=dict)
    name: str = ""
    notes: list[str] = field(default_factory=list)
    encoding: str | None = None
    sha256: str | None = None
    cells: dict[str, list] | None = field(default=None, repr=False)

    def __post_init__(self):
        parts = {"ids": self.ids, "labels": self.labels, "domain": self.domain, **self.columns, **(self.cells or {})}
        for name, values in parts.items():
            if values is not None and len(values) != len(self.texts):
                raise DataError(
                    f"The collection has {len(self.texts)} texts and {len(values)} values in {name!r}; "
                    "give one value per text.",
                    code="length-mismatch",
                )

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        labels: Sequence | None = None,
        *,
        ids: Sequence | None = None,
        domain: Sequence | None = None,
        columns: Mapping[str, Sequence] | None = None,
        name: str = "",
    ) -> Collection:
        """A collection from sequences in memory; ids are the row numbers from 1 where none are given."""
        texts = list(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(
                    f"texts[{i}] is {type(text).__name__}; texts must be str. Replace missing texts by ''.",
                    code="not-text",
                )
        return cls(
            ids=[str(value) for value in ids] if ids is not None else [str(i + 1) for i in range(len(texts))],
            texts=texts,
            labels=list(labels) if labels is not None else [None] * len(texts),
            domain=list(domain) if domain is not None else None,
            columns={key: list(values) for key, values in (columns or {}).items()},
            name=name,
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def has_labels(self) -> bool:
        """Whether at least one document carries a label."""
        return any(label is not None for label in self.labels)

    def select(self, rows: Any) -> Collection:
        """The documents at ``rows``: a boolean mask, a slice or row numbers."""
        index = _row_numbers(rows, len(self))

        def take(values: list) -> list:
            return [values[i] for i in index]

        return replace(
            self,
            ids=take(self.ids),
            texts=take(self.texts),
            labels=take(self.labels),
            domain=None if self.domain is None else take(self.domain),
            columns={key: take(values) for key, values in self.columns.items()},
            notes=list(self.notes),
            cells=None if self.cells is None else {key: take(values) for key, values in self.cells.items()},
        )

    def table(self) -> dict[str, list]:
        """Every column in order, as it was read; without a file: id, text, label, domain and the rest."""
        if self.cells is not None:
            return dict(self.cells)
        table: dict[str, list] = {"id": self.ids, "text": self.texts}
        if self.has_labels:
            table["label"] = self.labels
        if self.domain is not None:
            table["domain"] = self.domain
        return {**table, **{key: values for key, values in self.columns.items() if key not in table}}

    def checks(self) -> list[dict]:
        """Oddities worth a look, each with a count, examples and one sentence; nothing is changed."""
        repeats, torn = _repeated_texts(self)
        single, similar = _odd_labels(self)
        empty = [name for name, text in zip(self.ids, self.texts, strict=True) if not text.strip()]
        twice = [name for name, size in Counter(self.ids).items() if size > 1]
        long = [name for name, text in zip(self.ids, self.texts, strict=True) if len(text) > LONG_DOCUMENT]
        found = {
            "empty-texts": (empty, "document", "without text: kept, but a label for them is a guess from the rest."),
            "duplicate-texts": (repeats, "document", "with exactly the text of an earlier one: they count twice."),
            "two-labels": (torn, "text", "with more than one label: no method can get all of them right."),
            "single-document-classes": (single, "class", "with a single document: too little to learn from."),
            "similar-labels": (similar, "group", "of label names that differ only by case or blanks: counted apart."),
            "duplicate-ids": (twice, "id", "used for more than one document: rows are kept apart by position."),
            "long-documents": (long, "document", f"longer than {LONG_DOCUMENT:,} characters: read in full."),
        }
        return [
            {
                "check": check,
                "count": len(examples),
                "examples": examples[:_EXAMPLES],
                "message": f"{plural(len(examples), what, 'classes' if what == 'class' else None)} {sentence}",
            }
            for check, (examples, what, sentence) in found.items()
            if examples
        ]


def _row_numbers(rows: Any, n: int) -> list[int]:
    import numpy as np  # here alone: a file is read, checked and written without it

    if isinstance(rows, slice):
        return list(range(n))[rows]
    index = np.asarray(rows)
    if index.dtype == bool and len(index) != n:
        raise DataError(
            f"The mask has {len(index)} values for {n} documents; give one per document.", code="length-mismatch"
        )
    return np.arange(n)[index if index.dtype == bool else index.astype(np.int64)].tolist()


def _repeated_texts(docs: Collection) -> tuple[list[str], list[str]]:
    """Ids of documents with an earlier one's text, and of texts with more than one label."""
    first: dict[str, int] = {}
    repeats: list[str] = []
    labels_of: dict[int, set] = defaultdict(set)
    for i, text in enumerate(docs.texts):
        if not text.strip():
            continue
        origin = first.setdefault(text, i)
        if origin != i:
            repeats.append(docs.ids[i])
        if docs.labels[i] is not None:
            labels_of[origin].add(docs.labels[i])
    return repeats, [docs.ids[i] for i, labels in labels_of.items() if len(labels) > 1]


def _odd_labels(docs: Collection) -> tuple[list[str], list[str]]:
    """Labels of a single document, and groups of labels that are written almost alike."""
    sizes = Counter(label for label in docs.labels if label is not None)
    forms: dict[str, list[str]] = defaultdict(list)
    for label in sizes:
        forms["".join(str(label).split()).casefold()].append(label)
    similar = [" / ".join(repr(name) for name in names) for names in forms.values() if len(names) > 1]
    return [label for label, size in sizes.items() if size == 1], similar
