"""Labelled words, and the base class of the classifiers that learn from labelled documents and labelled words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from isthmus._utils import as_python, warn
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.rules import DualRule, GaussianDualRule, comparable
from isthmus.exceptions import DataError, UsageError
from isthmus.features.tokens import NEGATED

# -- Labelled words: read them, and find their columns


Weights = dict[Any, float]  # class -> weight; a negative weight counts against the class


def read_word_labels(word_labels: Mapping | None) -> dict[Any, Weights]:
    """Convert every accepted form of ``word_labels`` to {word: {class: weight}} and refuse contradictions.

    Parameters
    ----------
    word_labels : mapping or None

    Returns
    -------
    dict
        Word or column number to {class: weight}.
    """
    if word_labels is None:
        return {}
    if not isinstance(word_labels, Mapping):
        raise UsageError(
            f"word_labels is {type(word_labels).__name__}; a mapping is expected: word or column number to a class, "
            "or to {class: weight}.",
            code="bad-word-labels",
        )
    read: dict[Any, Weights] = {}
    spelled: dict[Any, Any] = {}
    for word, given in word_labels.items():
        if not isinstance(word, (str, Integral)) or isinstance(word, bool):
            raise UsageError(
                f"word_labels has the key {word!r}; keys are words (str) or column numbers.", code="bad-word-labels"
            )
        weights = _read_weights(word, given)
        key = word.strip().casefold() if isinstance(word, str) else int(word)
        if key in spelled and read[spelled[key]] != weights:
            raise _contradiction(word, [*read[spelled[key]], *weights])
        spelled.setdefault(key, word)
        read[word] = weights
    return read


def _read_weights(word: Any, given: Any) -> Weights:
    pairs = dict(given) if isinstance(given, Mapping) else {given: 1.0}
    for label, weight in pairs.items():
        if label is None or (isinstance(label, float) and np.isnan(label)):
            raise UsageError(f"The labelled word {word!r} has no class; name one.", code="bad-word-labels")
        if isinstance(weight, bool) or not isinstance(weight, Real) or not np.isfinite(float(weight)):
            raise UsageError(
                f"The labelled word {word!r} has weight {weight!r} for class {label!r}; a finite number is expected, "
                "negative if the word counts against the class.",
                code="bad-word-labels",
            )
    full = [label for label, weight in pairs.items() if weight >= 1]
    if len(full) > 1:
        raise _contradiction(word, full)
    return {label: float(weight) for label, weight in pairs.items() if weight != 0}


def _contradiction(word: Any, labels: Iterable) -> DataError:
    names = ", ".join(dict.fromkeys(repr(label) for label in labels))
    return DataError(
        f"The word {word!r} is labelled in contradictory ways ({names}); keep one label, or give weights below 1.",
        code="bad-word-labels",
    )


def place_words(
    given: Mapping[Any, Weights], n_columns: int, names: Sequence[str] | None, terms: Mapping[str, str | None] | None
) -> tuple[dict[int, Weights], list]:
    """Find the column of every labelled word.

    Parameters
    ----------
    given : mapping
        Words or column numbers with their weights, from :func:`read_word_labels`.
    n_columns : int
    names : sequence of str or None
        Names of the columns.
    terms : mapping or None
        Column name of each written word (its stem, for example); the word itself if omitted.

    Returns
    -------
    columns : dict
        Weights of each labelled column; weights of words that share a column are averaged.
    unknown : list
        Labelled words without a column.
    """
    index = {} if names is None else {str(name): column for column, name in enumerate(names)}
    placed: dict[int, list[Weights]] = {}
    unknown = []
    for word, weights in given.items():
        if isinstance(word, str):
            if names is None:
                raise UsageError(
                    f"word_labels names words such as {word!r}, but the columns have no names; give feature_names, a "
                    "data frame, or column numbers instead of words.",
                    code="bad-word-labels",
                )
            column = index.get(word if terms is None else terms.get(word) or "", -1)
        else:
            column = int(word)
        if weights and 0 <= column < n_columns:
            placed.setdefault(column, []).append(weights)
        elif weights:
            unknown.append(word)
    columns: dict[int, Weights] = {}
    for column, several in sorted(placed.items()):
        labels = dict.fromkeys(label for weights in several for label in weights)
        columns[column] = {
            label: sum(weights.get(label, 0.0) for weights in several) / len(several) for label in labels
        }
    return columns, unknown


def label_negations(columns: Mapping[int, Weights], names: Any, classes: Sequence) -> dict[int, Weights]:
    """Add labels of the negated forms of labelled words, if the vectoriser counts negated words separately.

    A negated word counts for the other of two classes, and against its own class if there are several.

    Parameters
    ----------
    columns : mapping
        Weights of each labelled column.
    names : sequence of str
        Names of the columns.
    classes : sequence

    Returns
    -------
    dict
    """
    index = {str(name): column for column, name in enumerate(names)}
    other = dict(zip(classes, reversed(classes), strict=True)) if len(classes) == 2 else {}
    found = {}
    for column, weights in columns.items():
        negated = index.get(f"{NEGATED}{names[column]}")
        if negated is not None and negated not in columns:
            found[negated] = {
                other.get(label, label): weight if label in other else -weight for label, weight in weights.items()
            }
    return dict(sorted({**columns, **found}.items()))


def find_terms(words: Iterable, analyze: Callable[[str], Sequence[str]]) -> dict[str, str | None]:
    """Return the term that a vectoriser makes of each written word, or None if it makes no single term.

    A phrase is found if the vectoriser counts word sequences of its length, or that phrase (``phrases``).

    Parameters
    ----------
    words : iterable of str
    analyze : callable
        Returns the terms of a text.

    Returns
    -------
    dict
    """
    found: dict[str, str | None] = {}
    for word in words:
        if not isinstance(word, str):
            continue
        terms = list(analyze(word))
        longest = max(terms, key=len, default=None)
        whole = sum(" " not in term for term in terms) <= (longest or "").count(" ") + 1
        found[word] = longest if whole else None
    return found


# -- The base class


class DualClassifier(TransferClassifier):
    """Base of the classifiers that learn from labelled documents and labelled words.

    A subclass writes ``_fit``, which calls :meth:`_read_sides` and :meth:`_finish`, and sets ``_document_weights`` and
    ``_word_weights``, or computes scores of new rows and of new columns in its own way.
    """

    _row_kind = "counts"
    _balances_labels = True  # labels of rare classes weigh more, so that all classes have the same sum
    word_labels: Mapping | None
    feature_names: Any

    def _extra_classes(self):
        return list(
            dict.fromkeys(label for weights in read_word_labels(self.word_labels).values() for label in weights)
        )

    def _refuse_kinds(self, extras: list) -> DataError:
        return DataError(
            f"word_labels names classes such as {extras[0]!r} ({type(extras[0]).__name__}), which are of another kind "
            "than the labels in y; use one kind for both.",
            code="bad-word-labels",
        )

    def read_names(self, vectorizer: Any):
        """Take column names and terms of the labelled words from a fitted vectoriser; a pipeline calls this.

        Parameters
        ----------
        vectorizer : fitted vectoriser
        """
        names = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        analyze = vectorizer.analyze if hasattr(vectorizer, "analyze") else vectorizer.build_analyzer()
        self._pipeline_names = (names, find_terms(self.word_labels or {}, analyze))
        return self

    def predict_words(self, columns):
        """Return the class of each new word from its weights in the fitted documents, one row per word.

        Parameters
        ----------
        columns : sparse matrix of shape (n_words, n_documents)

        Returns
        -------
        ndarray of shape (n_words,)
        """
        check_is_fitted(self)
        columns = sp.csr_matrix(columns, dtype=np.float64)
        if columns.shape[1] != self.document_scores_.shape[0]:
            raise DataError(
                f"Each new word has {columns.shape[1]} weights; {self.document_scores_.shape[0]} are expected, one per "
                "document of the fit.",
                code="length-mismatch",
            )
        scores = comparable(self._word_values(columns[:, self._row_order]), self._word_moments)
        return self.classes_[scores.argmax(axis=1)]

    def suggest_words(self, n_words=20):
        """Return unlabelled words worth labelling next: in many target documents, with an uncertain class.

        Parameters
        ----------
        n_words : int
            Length of the list.

        Returns
        -------
        list of dict
            ``word``, ``column``, ``likely`` (class), ``sureness`` (its probability), ``target_documents`` that contain
            the word, and ``expected_use``: their number times the probability that the likely class is wrong.
        """
        check_is_fitted(self)
        rows = self.fitted_rows_[self._target] if len(self._target) else self.fitted_rows_
        holds = np.bincount(rows.indices[rows.data > 0], minlength=rows.shape[1])
        chances = word_chances(self.word_scores_)
        use = holds * (1.0 - chances.max(axis=1))
        use[self.labelled_words_] = 0.0
        order = np.argsort(-use, kind="stable")[: min(n_words, int((use > 0).sum()))]
        return [
            {
                "word": as_python(self.word_names_[column]),
                "column": int(column),
                "likely": as_python(self.classes_[chances[column].argmax()]),
                "sureness": float(chances[column].max()),
                "target_documents": int(holds[column]),
                "expected_use": float(use[column]),
            }
            for column in order
        ]

    def _read_sides(self, domains: Domains) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """Return the matrix, and the targets ``Y`` and label weights ``J`` of its rows and then of its columns."""
        X = sp.csr_matrix(domains.X)
        n, d = X.shape
        targets, weights = np.zeros((n + d, domains.n_classes)), np.zeros(n + d)
        targets[domains.source, domains.source_codes] = 1.0
        weights[domains.source] = 1.0
        targets[n:], weights[n:] = self._label_columns(d)
        if not weights.any():
            raise DataError(
                f"No document is labelled and none of the {len(self.unknown_words_)} labelled words occurs in the "
                f"documents (for example {self.unknown_words_[0]!r}); label words that occur.",
                code="no-labels",
            )
        seen = np.unique(domains.source_codes)
        bare = [repr(label) for code, label in enumerate(domains.classes.tolist()) if code not in seen]
        if len(seen) and bare:
            warn(
                f"Labelled words name {', '.join(bare)}, for which no document is labelled; that class is learned from "
                "its words only. Check the spelling if this is not intended.",
                code="data-checks",
            )
        if self._balances_labels:
            weights[:n] = balance(targets[:n], weights[:n])
            weights[n:] = balance(targets[n:], weights[n:])
        return X, targets, weights

    def _label_columns(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Return targets and weights of the labelled words, and store names of columns and unknown words."""
        handed = getattr(self, "_pipeline_names", None)
        if handed is not None and len(handed[0]) == d:
            names, terms = handed
        else:
            names, terms = self.feature_names, None
            names = names if names is not None else getattr(self, "feature_names_in_", None)
            if names is not None and len(names) != d:
                raise UsageError(f"feature_names has {len(names)} names for {d} columns.", code="length-mismatch")
        given = read_word_labels(self.word_labels)
        columns, self.unknown_words_ = place_words(given, d, names, terms)
        self.word_names_ = np.arange(d) if names is None else np.asarray(names, dtype=object)
        if names is not None:
            columns = label_negations(columns, self.word_names_, self.classes_.tolist())
        self.labelled_words_ = np.array(list(columns), dtype=np.int64)
        if self.unknown_words_:
            shown = ", ".join(repr(word) for word in self.unknown_words_[:5])
            more = f" and {len(self.unknown_words_) - 5} more" if len(self.unknown_words_) > 5 else ""
            warn(
                f"{len(self.unknown_words_)} of {len(given)} labelled words occur in no document ({shown}{more}); they "
                "are kept for later documents.",
                code="unknown-words",
            )
        place = {label: code for code, label in enumerate(self.classes_.tolist())}
        targets, weights = np.zeros((d, len(place))), np.zeros(d)
        for column, of_classes in columns.items():
            for label, weight in of_classes.items():
                targets[column, place[label]] = weight
            # J·Y is then the weights as given: their sum is the confidence in the label, their proportions its content.
            weights[column] = np.abs(targets[column]).sum()
            if weights[column] > 0:
                targets[column] /= weights[column]
        return targets, weights

    def _finish(self, domains: Domains, sides: tuple[sp.csr_matrix, np.ndarray, np.ndarray], values: np.ndarray):
        """Store scores of documents and words from the fitted ``values``; return class codes of the target rows."""
        X, targets, weights = sides
        n = X.shape[0]
        rows, columns = values[:n], values[n:]
        free = np.flatnonzero(weights[:n] == 0)
        # Scores are normalised over unlabelled documents, unless these are too few for a mean.
        chosen = free if len(free) >= 10 * rows.shape[1] else np.arange(n)
        self._document_moments, self._word_moments = moments(rows[chosen]), moments(columns[weights[n:] == 0])
        scores = comparable(rows, self._document_moments)
        self.word_scores_ = comparable(columns, self._word_moments)
        self._sharpness = 2.0 / max(mean_margin(scores[chosen]), 1e-12)
        codes = self.word_scores_.argmax(axis=1)
        labelled = (targets[n:] > 0).any(axis=1)
        codes[labelled] = targets[n:][labelled].argmax(axis=1)
        self.word_transduction_ = self.classes_[codes]
        self.fitted_rows_, self._target, self._row_order = X, domains.target, domains.order
        self.document_scores_ = domains.restore_rows(scores)
        return scores[domains.target].argmax(axis=1)

    def _word_values(self, columns: sp.csr_matrix) -> np.ndarray:
        """Return values of new words, whose weights are in the order of the fitted rows."""
        return np.asarray(columns @ self._word_weights)

    def prediction_rule(self) -> DualRule | GaussianDualRule:
        """Return the arrays that label new documents.

        Returns
        -------
        DualRule
        """
        words = self.labelled_words_, self.word_scores_
        return DualRule(self._document_weights, self._document_moments, self._sharpness, *words)


def balance(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rescale label weights so that each labelled class has the same sum and the total stays equal.

    Parameters
    ----------
    targets, weights : ndarray

    Returns
    -------
    ndarray
        The rescaled weights.
    """
    mass = (weights[:, None] * np.maximum(targets, 0.0)).sum(axis=0)
    named = mass > 0
    if not named.any():
        return weights
    factor = np.ones(len(mass))
    factor[named] = mass.sum() / named.sum() / mass[named]
    share = np.maximum(targets, 0.0)
    total = share.sum(axis=1)
    return np.where(total > 0, weights * (share @ factor) / np.where(total > 0, total, 1.0), weights)


def moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of each class's scores (Huang and Kecman 2004); 0 and 1 for fewer than two rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    mean, deviation : ndarray of shape (n_classes,)
    """
    if len(values) < 2:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    deviation = values.std(axis=0)
    # A class that no label reaches has the same score everywhere; do not divide by rounding errors.
    flat = deviation <= 1e-12 * max(float(np.abs(values).max()), 1e-300)
    return values.mean(axis=0), np.where(flat, 1.0, deviation)


def mean_margin(scores: np.ndarray) -> float:
    """Return the mean distance between the best and the second-best class.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    float
    """
    top = np.sort(scores, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) if len(top) else 1.0


def word_chances(scores: np.ndarray) -> np.ndarray:
    """Return class probabilities of words: at the mean margin the better of two classes has 0.88.

    Parameters
    ----------
    scores : ndarray of shape (n_words, n_classes)

    Returns
    -------
    ndarray of shape (n_words, n_classes)
    """
    return softmax(scores * (2.0 / max(mean_margin(scores), 1e-12)))
