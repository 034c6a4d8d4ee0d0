"""Define the collection of documents that readers return and commands accept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isthmus._utils import plural
from isthmus.corpus.guess import FEWEST, shorten
from isthmus.exceptions import DataError

LONG_DOCUMENT = 100_000  # characters, about a short book; longer documents are read in full and reported
_EXAMPLES = 5  # documents listed per finding
# So many documents per distinct text are reported, because a column of labels was probably read as text.
_EQUAL_DOCUMENTS = 10


@dataclass
class Collection:
    """Hold the documents of one file or data set, row by row.

    Attributes
    ----------
    ids : list of str
        The id column, or the row numbers from 1.
    texts : list of str
        Missing texts are empty strings.
    labels : list of (str or None)
        None where a document has no label.
    domain : list or None
        Name of each document's domain, if the data contains it.
    columns : dict of str to list
        All other columns in their order, with unchanged cells.
    name : str
        Origin of the documents, such as a file name.
    notes : list of str
        Guesses and observations of the reader, one sentence each.
    encoding : str or None
        Encoding of a text file.
    sha256 : str or None
        Hash of the bytes that were read.
    cells : dict of str to list, or None
        Every input column, unchanged and in the order of the file; see :meth:`table`.

    See Also
    --------
    isthmus.corpus.read_collection : Reads a collection from a file or folder.
    isthmus.corpus.write_rows : Writes the table of a collection.

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
        """Refuse columns of different lengths."""
        # Columns of different lengths would silently assign cells to wrong documents.
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
        """Return a collection of sequences in memory.

        Parameters
        ----------
        texts : iterable of str
            Documents.
        labels : sequence, optional
            One label per document; None if unknown.
        ids : sequence, optional
            One id per document; the row numbers from 1 if omitted.
        domain : sequence, optional
            Name of each document's domain.
        columns : mapping of str to sequence, optional
            Other columns.
        name : str
            Origin of the documents.

        Returns
        -------
        Collection

        Raises
        ------
        DataError
            A text is not a str, or the lengths differ.
        """
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
        """Return the number of documents."""
        return len(self.texts)

    @property
    def has_labels(self) -> bool:
        """Whether at least one document has a label."""
        return any(label is not None for label in self.labels)

    def select(self, rows: Any) -> Collection:
        """Return the collection of some documents.

        Parameters
        ----------
        rows : ndarray of bool, slice or sequence of int
            Mask, slice or row numbers.

        Returns
        -------
        Collection
        """
        import numpy as np  # only this function needs it: files are read, checked and written without numpy

        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.dtype == bool and len(rows) != len(self):
                raise DataError(
                    f"The mask has {len(rows)} values for {len(self)} documents; give one per document.",
                    code="length-mismatch",
                )
            rows = rows if rows.dtype == bool else rows.astype(np.int64)
        index = np.arange(len(self))[rows].tolist()

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
        """Return every column in order, with unchanged cells.

        Returns
        -------
        dict of str to list
            Without a file: id, text, label, domain and the other columns.
        """
        # Output tables repeat the input columns, so that users find their own data unchanged.
        if self.cells is not None:
            return dict(self.cells)
        table: dict[str, list] = {"id": self.ids, "text": self.texts}
        if self.has_labels:
            table["label"] = self.labels
        if self.domain is not None:
            table["domain"] = self.domain
        return {**table, **{key: values for key, values in self.columns.items() if key not in table}}

    def checks(self) -> list[dict]:
        """Return unusual properties of the documents that deserve attention; change nothing.

        Returns
        -------
        list of dict
            ``check`` (name), ``count``, ``examples`` and ``message`` of each finding.
        """
        # Row of the first document with each text; later rows repeat it. Empty documents have their own finding.
        first: dict[str, int] = {}
        empty, repeats = [], []
        labels_of: dict[int, set] = defaultdict(set)
        for i, (name, text, label) in enumerate(zip(self.ids, self.texts, self.labels, strict=True)):
            if not text.strip():
                empty.append(name)
                continue
            origin = first.setdefault(text, i)
            if origin != i:
                repeats.append(name)
            if label is not None:
                labels_of[origin].add(label)
        torn = [self.ids[i] for i, labels in labels_of.items() if len(labels) > 1]
        # Names that differ only by case or blanks probably denote one class.
        sizes = Counter(label for label in self.labels if label is not None)
        forms: dict[str, list[str]] = defaultdict(list)
        for label in sizes:
            forms["".join(str(label).split()).casefold()].append(label)
        similar = [" / ".join(repr(name) for name in names) for names in forms.values() if len(names) > 1]
        single = [label for label, size in sizes.items() if size == 1]
        twice = [name for name, size in Counter(self.ids).items() if size > 1]
        filled = len(self) - len(empty)
        few = list(map(shorten, first)) if filled >= max(FEWEST, _EQUAL_DOCUMENTS * len(first)) else []
        advice = f"in {filled:,} documents: the column may hold labels; name another with text=COLUMN."
        long = [name for name, text in zip(self.ids, self.texts, strict=True) if len(text) > LONG_DOCUMENT]
        findings = {
            "empty-texts": (empty, "document", "without text: their label is a guess from the other documents."),
            "duplicate-texts": (repeats, "document", "with exactly the text of an earlier one: they count twice."),
            "equal-texts": (few, "distinct text", advice),
            "two-labels": (torn, "text", "with more than one label: no method can get all of them right."),
            "single-document-classes": (single, "class", "with a single document: too little to learn from."),
            "similar-labels": (
                similar,
                "group",
                "of label names that differ only by case or blanks: counted as different classes.",
            ),
            "duplicate-ids": (twice, "id", "used for more than one document: rows are identified by position."),
            "long-documents": (long, "document", f"longer than {LONG_DOCUMENT:,} characters: read in full."),
        }
        return [
            {
                "check": check,
                "count": len(examples),
                "examples": examples[:_EXAMPLES],
                "message": f"{plural(len(examples), what, 'classes' if what == 'class' else None)} {sentence}",
            }
            for check, (examples, what, sentence) in findings.items()
            if examples
        ]
