"""Split one class of a result, or one group that fits no class, into subtopics that can become classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._cards import card
from isthmus._utils import plural
from isthmus.api.cluster import GroupingResult, cluster
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.answers import GROUP, PICKED
from isthmus.feedback.labelling import Labelling

_FEWEST = 10  # documents that a class must have to be split
_MOST, _EACH = 8, 50  # default number of groups: at most _MOST, and one per _EACH documents


@dataclass(frozen=True, repr=False)
class Subtopics:
    """Groups within a class, or within a group that fits no class.

    Attributes
    ----------
    within : str
        Name of the class or group.
    rows : ndarray of int
        Its documents among all texts, from 0.
    numbers : ndarray of int
        Group of each of these documents, from 1.
    groups : list of dict
        ``number``, ``name`` (the words that distinguish the group), ``size``, ``words`` and typical ``documents``.
    texts, ids : list of str
        The documents and their ids.
    """

    within: str
    rows: np.ndarray
    numbers: np.ndarray
    groups: list[dict[str, Any]]
    texts: list[str]
    ids: list[str]

    def __repr__(self) -> str:
        """Return a summary with the number of texts and groups."""
        return f"Subtopics({self.within!r}, {len(self.rows):,} texts, {len(self.groups)} groups)"

    def __str__(self) -> str:
        """Return one line per group: number, name, size and words."""
        return "\n".join(
            f"{row['number']}: {row['name']}, {plural(row['size'], 'document')}: {', '.join(row['words'])}"
            for row in self.groups
        )

    def _repr_html_(self) -> str:
        facts = [(f"{row['number']}", ", ".join(row["words"])) for row in self.groups]
        bars = [(row["name"], row["size"] / len(self.rows)) for row in self.groups]
        return card(f"Within {self.within}: {plural(len(self.rows), 'text')}", facts, bars, about="Subtopics")

    def columns(self) -> dict[str, list]:
        """Return the documents with their groups as columns.

        Returns
        -------
        dict of str to list
            ``document`` (numbered from 1), ``id``, ``text``, ``subtopic``, ``subtopic_name``, ``true_label`` (empty,
            for ``teach``) and ``drawn``.
        """
        names = {row["number"]: row["name"] for row in self.groups}
        return {
            "document": (self.rows + 1).tolist(),
            "id": list(self.ids),
            "text": list(self.texts),
            "subtopic": self.numbers.tolist(),
            "subtopic_name": [names[number] for number in self.numbers.tolist()],
            "true_label": [""] * len(self.rows),
            "drawn": [PICKED] * len(self.rows),
        }

    def name(self, names: Mapping[int | str, str]) -> dict[str, list]:
        """Return answers for ``teach`` that make classes of groups.

        Nobody has read these documents (``drawn`` is "group"), so they still need review.

        Parameters
        ----------
        names : mapping of int or str to str
            ``{number: class}``; documents of other groups are left out.

        Returns
        -------
        dict of str to list

        Raises
        ------
        UsageError
            With code ``bad-parameter`` if a number is unknown or a name is empty.
        """
        wanted = {str(number).strip(): str(name).strip() for number, name in names.items()}
        known = [str(row["number"]) for row in self.groups]
        for number, name in wanted.items():
            if number not in known or not name:
                raise UsageError(
                    f"{number}={name}: give the number of a group ({', '.join(known)}) and the name of its class.",
                    code="bad-parameter",
                )
        table = self.columns() | {"drawn": [GROUP] * len(self.rows)}
        table["true_label"] = [wanted.get(str(number), "") for number in self.numbers.tolist()]
        kept = [place for place, name in enumerate(table["true_label"]) if name]
        return {column: [cells[place] for place in kept] for column, cells in table.items()}


def split_label(labelling: Labelling, within: str, n_clusters: int | None = None) -> Subtopics:
    """Split a class or a group of a result into subtopics; see :meth:`isthmus.api.result.LabelResult.split`.

    Parameters
    ----------
    labelling : Labelling
    within : str
        Name of the class, or of the group that fits no class.
    n_clusters : int, optional
        Number of subtopics; if omitted, about one for fifty documents, from 2 to 8.

    Returns
    -------
    Subtopics

    Raises
    ------
    UsageError
        With code ``bad-parameter`` if no document has this label.
    DataError
        With code ``no-rows`` if the class has too few documents.
    """
    mask = np.asarray(labelling.novel_group == within, dtype=bool)
    if not mask.any():
        mask = np.asarray(labelling.labels.astype(str) == str(within), dtype=bool)
    rows = np.flatnonzero(mask)
    if not len(rows):
        known = [*map(str, labelling.classes.tolist()), *(group["group"] for group in labelling.novel)]
        raise UsageError(
            f"No document is labelled {str(within)[:60]!r}; split one of: {', '.join(known)}.", code="bad-parameter"
        )
    if len(rows) < _FEWEST:
        raise DataError(
            f"{within} has {plural(len(rows), 'document')}; at least {_FEWEST} are needed to split it.", code="no-rows"
        )
    size = n_clusters if n_clusters is not None else int(np.clip(round(len(rows) / _EACH), 2, _MOST))
    texts = [labelling.texts[row] for row in rows]
    others = np.flatnonzero(~mask)
    source = [labelling.texts[row] for row in others] or texts
    groups = labelling.labels[others].astype(str).tolist() or [str(within)] * len(texts)
    found = cluster(source, groups, texts, size, guidance=0.0, random_state=labelling.seed)
    return _as_subtopics(labelling, str(within), rows, texts, found)


def _as_subtopics(
    labelling: Labelling, within: str, rows: np.ndarray, texts: list[str], found: GroupingResult
) -> Subtopics:
    sizes = np.bincount(found.labels, minlength=len(found.names))
    order = [code for code in np.argsort(-sizes, kind="stable").tolist() if sizes[code]]
    number = {code: place for place, code in enumerate(order, 1)}
    described = {row["cluster"]: row for row in found.clusters(top=6)}
    groups = [
        {
            "number": number[code],
            "name": ", ".join(described[code]["words"][:3]) or found.names[code],
            "size": int(sizes[code]),
            "words": described[code]["words"],
            "documents": described[code]["documents"],
        }
        for code in order
    ]
    numbers = np.array([number[code] for code in found.labels.tolist()])
    return Subtopics(within, rows, numbers, groups, texts, [labelling.document_ids[row] for row in rows])
