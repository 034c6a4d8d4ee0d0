"""Represent a pair of collections in views in which labels are judged: words, and vectors if available."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import normalize

from isthmus._math.fitted import fitted

# Fitted constants; ``choose/trust.json`` states their units and origin.
VECTOR_VIEWS = fitted("vectors")


@dataclass
class View:
    """Vectors of the source's and the target's texts, and a function for vectors of other texts (None: no function)."""

    source: np.ndarray
    target: np.ndarray
    make: Callable[[list[str]], np.ndarray] | None = None


class JudgedView(ABC):
    """Compute the evidence about labels in one view; results that do not depend on the labels are computed once."""

    source_labels: np.ndarray
    source_table: np.ndarray

    @abstractmethod
    def held_out(self, target: np.ndarray) -> np.ndarray:
        """Count the target's labels by out-of-fold predictions.

        Parameters
        ----------
        target : ndarray of shape (n_target,)
            Labels of the target.

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """

    @abstractmethod
    def answer(self, target: np.ndarray) -> np.ndarray:
        """Predict the source's labels with a model trained on the labelled target.

        Parameters
        ----------
        target : ndarray of shape (n_target,)
            Labels of the target.

        Returns
        -------
        ndarray of shape (n_source,)
        """

    def tables(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Count labels by predictions within the target, within the source, and from the target to the source.

        Parameters
        ----------
        labels : ndarray of shape (n_target,)
            Labels of the target.

        Returns
        -------
        tuple of three ndarray of shape (n_classes, n_classes)
        """
        # Class names are replaced by numbers, because scikit-learn spends more time on names than on the classifier.
        codes = np.unique(np.concatenate([self.source_labels, labels]), return_inverse=True)[1]
        source, target = codes[: len(self.source_labels)], codes[len(self.source_labels) :]
        back = self.answer(target) if len(np.unique(target)) > 1 else np.full(len(source), target[0])
        return self.held_out(target), self.source_table, count_pairs(source, back)


class DenseView(JudgedView):
    """Judge labels by ridge regression in one view of vectors."""

    def __init__(self, source: np.ndarray, source_labels: np.ndarray, target: np.ndarray):
        self.source, self.target = Ridge.of(source), Ridge.of(target)
        # Rows that are not centred, as source-only methods read them.
        self.plain = normalize(source), normalize(target)
        self.source_labels = source_labels
        self.source_table = self.source.held_out(source_labels)

    def held_out(self, target: np.ndarray) -> np.ndarray:
        """Count the target's labels by leave-one-out predictions of ridge regression.

        Parameters
        ----------
        target : ndarray of shape (n_target,)

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """
        return self.target.held_out(target)

    def answer(self, target: np.ndarray) -> np.ndarray:
        """Predict the source's labels with ridge regression on the labelled target.

        Parameters
        ----------
        target : ndarray of shape (n_target,)

        Returns
        -------
        ndarray of shape (n_source,)
        """
        return self.target.answer(target, self.source.rows)


@dataclass
class Ridge:
    """Ridge regression on fixed rows, for many sets of labels."""

    rows: np.ndarray
    # Unit rows after centring.
    solved: np.ndarray  # (RᵀR + λI)⁻¹Rᵀ
    leverage: np.ndarray

    @classmethod
    def of(cls, vectors: np.ndarray) -> Ridge:
        """Prepare the regression on vectors, which are normalised, centred and normalised again.

        Parameters
        ----------
        vectors : ndarray of shape (n_documents, n_dimensions)

        Returns
        -------
        Ridge
        """
        rows = normalize(np.asarray(vectors, dtype=np.float64))
        rows = normalize(rows - rows.mean(axis=0))
        gram = rows.T @ rows
        gram[np.diag_indices_from(gram)] += VECTOR_VIEWS["ridge"] * max(float(np.trace(gram)), 1e-12) / len(gram)
        solved = np.linalg.solve(gram, rows.T)
        leverage = np.einsum("ij,ji->i", rows, solved) + 1 / len(rows)
        return cls(rows, solved, np.minimum(leverage, 1 - 1e-6))

    def held_out(self, labels: np.ndarray) -> np.ndarray:
        """Count labels by leave-one-out predictions.

        Parameters
        ----------
        labels : ndarray of shape (n_documents,)

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """
        names, codes = np.unique(labels, return_inverse=True)
        if len(names) < 2:
            return np.array([[len(labels)]])
        wanted = np.eye(len(names))[codes]
        mean = wanted.mean(axis=0)
        fitted = self.rows @ (self.solved @ (wanted - mean)) + mean
        # Closed form of leave-one-out prediction: no model is fitted again.
        left_out = (fitted - self.leverage[:, None] * wanted) / (1 - self.leverage)[:, None]
        return count_pairs(codes, left_out.argmax(axis=1))

    def answer(self, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Predict the classes of other rows.

        Parameters
        ----------
        labels : ndarray of shape (n_documents,)
        rows : ndarray of shape (n_rows, n_dimensions)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        names, codes = np.unique(labels, return_inverse=True)
        wanted = np.eye(len(names))[codes]
        mean = wanted.mean(axis=0)
        return names[(rows @ (self.solved @ (wanted - mean)) + mean).argmax(axis=1)]


def count_pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return a table of counts with a row and a column for every number that occurs in either array.

    Parameters
    ----------
    first, second : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n_numbers, n_numbers)
    """
    names, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    pairs = places[: len(first)] * len(names) + places[len(first) :]
    return np.bincount(pairs, minlength=len(names) ** 2).reshape(len(names), len(names))


def even_lengths(source: Sequence[str], target: Sequence[str]) -> tuple[list[str], list[str]]:
    """Shorten the texts of the longer side to the lengths of the shorter side, if the lengths differ much.

    Long texts are easier to distinguish than short texts, so learnability is compared at equal length. The text at a
    quantile of lengths keeps as many words, evenly spaced, as the text of the other side at that quantile. Texts
    without spaces do not change.

    Parameters
    ----------
    source, target : sequence of str

    Returns
    -------
    source, target : list of str
    """
    lengths = [np.array([len(text.split()) for text in side]) for side in (source, target)]
    middle = [max(1.0, float(np.median(side))) for side in lengths]
    if max(middle) / min(middle) <= VECTOR_VIEWS["uneven"]:
        return list(source), list(target)
    longer = int(middle[1] > middle[0])
    own, other = lengths[longer], np.sort(lengths[1 - longer])
    rank = np.empty(len(own), dtype=int)
    rank[np.argsort(own, kind="stable")] = np.arange(len(own))
    allowed = np.maximum(1, other[rank * len(other) // len(own)])
    sides = [list(source), list(target)]
    sides[longer] = [_thin(text, size) for text, size in zip(sides[longer], allowed.tolist(), strict=True)]
    return sides[0], sides[1]


def _thin(text: str, size: int) -> str:
    words = text.split()
    if len(words) <= size:
        return text
    return " ".join(words[place * len(words) // size] for place in range(size))
