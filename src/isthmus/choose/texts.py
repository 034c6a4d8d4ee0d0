"""Represent the collections of one run as one object, sorted by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from isthmus._math.content import content_order, label_ranks
from isthmus.features.languages import NAMES, OTHER, languages_in_use, resolve_language
from isthmus.features.vectorizer import TextVectorizer

SIDE_SAMPLE = 2_000  # documents of each side from which a classifier learns to which side an extra text belongs


@dataclass(frozen=True)
class TransferTexts:
    """Labelled texts of the source, texts of the target, and extra texts of either collection.

    Samples, folds and ties depend on the content of the texts, never on the caller's order. All attributes except
    ``given_*`` therefore refer to one list: source, target, extra texts, each sorted by content.
    """

    given_source: list[str]
    given_labels: np.ndarray  # one per source text, None for an unlabelled text
    given_target: list[str]
    given_extra: list[str]
    order: np.ndarray  # order of all texts (source, target, extra texts) by their content
    given_domain: np.ndarray | None = None  # name of the source of each source text, if there are several

    @classmethod
    def of(
        cls,
        source_texts: Sequence[str],
        source_labels: np.ndarray,
        target_texts: Sequence[str],
        extra_texts: Sequence[str] = (),
        *,
        domain: np.ndarray | None = None,
    ) -> TransferTexts:
        """Sort the collections by content.

        Parameters
        ----------
        source_texts, target_texts, extra_texts : sequence of str
        source_labels : ndarray of object
            None for an unlabelled text. Of equal source texts, those without a label come first.
        domain : ndarray of str, optional
            Name of the source of each source text.

        Returns
        -------
        TransferTexts
        """
        source, target, extra = list(source_texts), list(target_texts), list(extra_texts)
        known = np.array([label is not None for label in source_labels], dtype=bool)
        written = np.array([str(label) for label in source_labels], dtype=object)
        # Labels break ties between equal texts, so that the order does not depend on the caller's order.
        ranks = np.full(len(source) + len(target) + len(extra), -1)
        ranks[: len(source)] = label_ranks(written, known)
        order = content_order([*source, *target, *extra], ranks)
        return cls(source, source_labels, target, extra, order, domain)

    @property
    def n_source(self) -> int:
        """Number of source texts."""
        return len(self.given_source)

    @property
    def n_target(self) -> int:
        """Number of target texts."""
        return len(self.given_target)

    @property
    def _given(self) -> list[str]:
        return [*self.given_source, *self.given_target, *self.given_extra]

    @cached_property
    def _rows(self) -> np.ndarray:
        # Divide the order over all texts into source, target and extra texts.
        parts = np.digitize(self.order, (self.n_source, self.n_source + self.n_target))
        return self.order[np.argsort(parts, kind="stable")]

    @cached_property
    def texts(self) -> list[str]:
        """All texts: source, target, extra texts, each sorted by content."""
        given = self._given
        return [given[row] for row in self._rows]

    @cached_property
    def labels(self) -> np.ndarray:
        """Labels of ``texts``; None for an unlabelled text."""
        labels = np.full(len(self.texts), None, dtype=object)
        labels[: self.n_source] = self.given_labels[self._rows[: self.n_source]]
        return labels

    @cached_property
    def domain(self) -> np.ndarray:
        """1 for ``texts`` of the source, −1 for those of the target; extra texts join the more similar side."""
        domain = np.repeat([1, -1, -1], [self.n_source, self.n_target, len(self.given_extra)])
        if self.given_extra and self.n_source:
            rest = self.n_source + self.n_target
            sides = self.texts[: self.n_source], self.texts[self.target], self.texts[rest:]
            domain[rest:] = np.where(nearer_target(*sides, self.one_language("auto")), -1, 1)
        return domain

    @cached_property
    def known(self) -> list[int]:
        """Rows of the labelled texts."""
        return [row for row in range(self.n_source) if self.labels[row] is not None]

    @property
    def known_texts(self) -> list[str]:
        """Labelled texts of the source."""
        return [self.texts[row] for row in self.known]

    @property
    def known_labels(self) -> list:
        """Labels of ``known_texts``."""
        return [self.labels[row] for row in self.known]

    @property
    def known_domain(self) -> list[str]:
        """Source name of each of ``known_texts``."""
        assert self.given_domain is not None
        return [self.given_domain[self._rows[row]] for row in self.known]

    @property
    def target(self) -> slice:
        """Rows of the target's texts."""
        return slice(self.n_source, self.n_source + self.n_target)

    @property
    def target_numbers(self) -> np.ndarray:
        """Number, in the caller's order, of each text of the target."""
        return self._rows[self.target] - self.n_source

    def as_given(self, values: np.ndarray) -> np.ndarray:
        """Return values of the target's texts in the caller's order.

        Parameters
        ----------
        values : ndarray of shape (n_target, ...)

        Returns
        -------
        ndarray of shape (n_target, ...)
        """
        return values[np.argsort(self.target_numbers)]

    def one_language(self, language: str) -> str:
        """Return the language of all texts if there is only one, so that later steps need not detect it.

        Parameters
        ----------
        language : str
            As given by the caller.

        Returns
        -------
        str
            ``language`` unchanged if it is not "auto", or if the texts have several languages.
        """
        if resolve_language(language) != "auto":
            return language
        given = self._given
        found = languages_in_use([given[row] for row in self.order], in_order=True)
        return found[0] if len(found) == 1 and found[0] in {*NAMES, OTHER} else language

    def without_extra(self) -> TransferTexts:
        """Return the same collections without the extra texts.

        Returns
        -------
        TransferTexts
        """
        rest = self.n_source + self.n_target
        return replace(self, given_extra=[], order=self.order[self.order < rest])

    def keep_source(self, kept: np.ndarray) -> TransferTexts:
        """Return the same collections with some of the source texts only.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_source,)
            Source texts to keep, in the caller's order.

        Returns
        -------
        TransferTexts
        """
        everything = np.r_[kept, np.ones(len(self.order) - self.n_source, dtype=bool)]
        # New number of every remaining text.
        number = np.cumsum(everything) - 1
        return replace(
            self,
            given_source=[text for text, stays in zip(self.given_source, kept, strict=True) if stays],
            given_labels=self.given_labels[kept],
            given_domain=None if self.given_domain is None else self.given_domain[kept],
            order=number[self.order[everything[self.order]]],
        )


def nearer_target(source: list[str], target: list[str], extra: list[str], language: str = "auto") -> np.ndarray:
    """Decide which extra texts are more similar to the target than to the source.

    Parameters
    ----------
    source, target, extra : list of str
    language : str

    Returns
    -------
    ndarray of bool, shape (n_extra,)
    """
    rng = np.random.default_rng(0)
    sample = [[side[i] for i in rng.permutation(len(side))[:SIDE_SAMPLE]] for side in (source, target)]
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True, min_df=1, language=language)
    rows: Any = vectorizer.fit_transform([*sample[0], *sample[1]])
    # Balanced weights: the larger side must not attract the extra texts by its size.
    model = LogisticRegression(C=10.0, class_weight="balanced", solver="newton-cg")
    model.fit(rows, np.repeat([0, 1], [len(part) for part in sample]))
    return model.predict(vectorizer.transform(extra)) == 1
