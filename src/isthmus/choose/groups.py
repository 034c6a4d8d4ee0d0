"""Assign later texts to the new groups of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.rows import unit_rows
from isthmus.classify.centroids import CentredRows
from isthmus.features.term_rows import TermRows


@dataclass(frozen=True)
class NovelGroups:
    """Centres of the new groups and of the classes; a later text belongs to the nearest centre.

    Attributes
    ----------
    rows : TermRows
        Computes rows of texts.
    mean : ndarray of shape (n_terms,)
        Mean of the rows of the labelled texts.
    centres : ndarray of shape (n_centres, n_terms)
    names : sequence of str
        New group of each centre; '' for the centre of a class.
    """

    rows: TermRows
    mean: np.ndarray
    centres: np.ndarray
    names: Sequence[str]

    @classmethod
    def of(cls, rows: TermRows, X: Any, groups: np.ndarray, labels: np.ndarray) -> NovelGroups:
        """Compute the centres from labelled texts.

        Parameters
        ----------
        rows : TermRows
        X : CSR matrix of shape (n_texts, n_terms)
            Rows of the texts.
        groups : ndarray of str, shape (n_texts,)
            New group of each text, '' for none.
        labels : ndarray of shape (n_texts,)

        Returns
        -------
        NovelGroups
        """
        marked = groups != ""
        kinds = np.where(marked, 1, 0), np.where(marked, groups, labels.astype(object))
        names, codes = np.unique([f"{kind} {name}" for kind, name in zip(*kinds, strict=True)], return_inverse=True)
        centred = CentredRows.about(X)
        centres = unit_rows(centred.sums(np.eye(len(names))[codes]))
        return cls(rows, centred.mean, centres, [name[2:] if name.startswith("1 ") else "" for name in names.tolist()])

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the new group of each text.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of str, shape (n_texts,)
            '' for a text in no new group.
        """
        nearest = CentredRows.about(self.rows(texts), self.mean).dot(self.centres).argmax(axis=1)
        return np.array([self.names[place] for place in nearest], dtype=object)
