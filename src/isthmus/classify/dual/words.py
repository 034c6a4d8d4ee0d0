"""Labelled words: reading them, and finding their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from isthmus.exceptions import DataError, UsageError
from isthmus.features.tokens import NEGATED

Weights = dict[Any, float]


@dataclass
class WordLabels:
    """Labelled words by column.

    Attributes
    ----------
    columns : dict of int to dict of class to float
        Weight of each class for each labelled column; a negative weight speaks against the class.
    unknown : list
        Labelled words that no document holds.
    contested : list of int
        Columns on which several labelled words meet (they share a stem) that name different classes.
    given : int
        How many words were labelled.
    """

    columns: dict[int, Weights]
    unknown: list = field(default_factory=list)
    contested: list[int] = field(default_factory=list)
    given: int = 0


def read_word_labels(word_labels: Mapping | None) -> dict[Any, Weights]:
    """Every accepted form of ``word_labels`` as word → {class: weight}; refuses contradictions.

    Parameters
    ----------
    word_labels : mapping of word or column number to class, or to {class: weight}

    Examples
    --------
    >>> from isthmus.classify.dual.words import read_word_labels
    >>> read_word_labels({"superb": "positive", "dull": {"positive": -0.5}})
    {'superb': {'positive': 1.0}, 'dull': {'positive': -0.5}}
    """
    if word_labels is None:
        return {}
    if not isinstance(word_labels, Mapping):
        raise UsageError(
            f"word_labels is {type(word_labels).__name__}; a mapping is expected: word or column number to a "
            f"class, or to "
            "{class: weight}.",
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
                "negative if the word speaks against the class.",
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


def classes_of(word_labels: Mapping | None) -> list:
    """Classes that word labels name, in order of first use."""
    return list(dict.fromkeys(label for weights in read_word_labels(word_labels).values() for label in weights))


def place_words(
    word_labels: Mapping | None, n_columns: int, names: Sequence[str] | None, terms: Mapping[str, str | None] | None
) -> WordLabels:
    """Find the column of every labelled word.

    Parameters
    ----------
    word_labels : mapping
    n_columns : int
    names : sequence of str, optional
        Names of the columns; needed where words are given as text.
    terms : mapping, optional
        Column name that stands for each written word (its stem, say). If omitted, words are names already.

    Notes
    -----
    Several words may share a column. Their weights are averaged, so that three forms of one stem count as one word.
    """
    index = {} if names is None else {str(name): column for column, name in enumerate(names)}
    placed: dict[int, list[Weights]] = {}
    unknown = []
    given = read_word_labels(word_labels)
    for word, weights in given.items():
        if isinstance(word, str):
            if names is None:
                raise UsageError(
                    f"word_labels names words such as {word!r}, but the columns have no names; give "
                    f"feature_names, a data "
                    "frame, or column numbers instead of words.",
                    code="bad-word-labels",
                )
            column = index.get(word if terms is None else terms.get(word) or "", -1)
        else:
            column = int(word)
        if weights and 0 <= column < n_columns:
            placed.setdefault(column, []).append(weights)
        elif weights:
            unknown.append(word)
    columns = {column: _average(several) for column, several in sorted(placed.items())}
    contested = [column for column, several in sorted(placed.items()) if len({_side(one) for one in several}) > 1]
    return WordLabels(columns, unknown, contested, len(given))


def label_negations(columns: Mapping[int, Weights], names: Any, classes: Sequence) -> dict[int, Weights]:
    """Labelled columns with those of the same words negated, where the vectoriser counts these apart.

    Of two classes the other one is meant; of several, the word speaks against its own.

    Examples
    --------
    >>> from isthmus.classify.dual.words import label_negations
    >>> label_negations({0: {"good": 1.0}}, ["nice", "not-nice"], ["bad", "good"])
    {0: {'good': 1.0}, 1: {'bad': 1.0}}
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


def _average(several: list[Weights]) -> Weights:
    labels = dict.fromkeys(label for weights in several for label in weights)
    return {label: sum(weights.get(label, 0.0) for weights in several) / len(several) for label in labels}


def _side(weights: Weights) -> tuple:
    label = max(weights, key=lambda name: abs(weights[name]))
    return label, weights[label] > 0


def find_terms(words: Iterable, analyze: Callable[[str], Sequence[str]]) -> dict[str, str | None]:
    """The term a vectoriser makes of each written word; None where it makes none, or several that do not join.

    A phrase is found where the vectoriser counts word sequences of its length, or that phrase (``phrases``).
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
