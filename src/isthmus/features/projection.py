"""Term projection: documents as one feature per class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from isthmus._validation import check_rows
from isthmus.base import FROM_1, POSITIVE, SHARE, StrOptions, check_parameters, check_transfer_data
from isthmus.exceptions import UsageError
from isthmus.features.blocks import project_rows
from isthmus.features.term_chi2 import (
    TermStatistics,
    TermSummary,
    count_terms,
    discriminability,
    summarise,
)
from isthmus.features.weights import smooth_idf

# Weight of a term from its probability ratio PR. The paper's own formula is lost; docs/measured/projection.md compares.
_RATIO_WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "": np.ones_like,
    "logpr": np.log,
    "sqrtpr": np.sqrt,
    "logpr2": lambda ratio: np.log(ratio) ** 2,
    "pr": lambda ratio: ratio,
}
WEIGHTINGS = tuple("-".join(filter(None, ["tf", idf, ratio])) for ratio in _RATIO_WEIGHTS for idf in ("", "idf"))

_PURITY_SLACK = 1e-9  # with two classes every term has purity 1/2 exactly, but for rounding


@dataclass(frozen=True)
class Projection:
    """Where each term goes and with what weight."""

    term_class: np.ndarray  # class of each term; -1 for terms left out
    weight: np.ndarray  # weight of each term
    ratio: np.ndarray  # discriminability of each term (probability ratio, smoothed)
    summary: TermSummary  # χ² values of all terms
    n_classes: int

    def features(self, X) -> np.ndarray:
        """Return one feature per class for each row."""
        return project_rows(X, self.term_class, self.weight, self.n_classes)


def project_terms(
    stats: TermStatistics,
    target: TermStatistics | None = None,
    *,
    n_terms: int | None = None,
    purity: float = 0.5,
    weighting: str = "tf-pr",
    smoothing: float = 0.5,
) -> Projection:
    """Send each term to a class and weigh it; the parameters are those of :class:`isthmus.TermProjection`.

    With ``target``, sums over target documents under predicted classes, classes are compared within each domain only,
    so that a word of the target's own style is not taken for a word of the class with the most target documents.
    """
    summary = summarise(stats, target)
    term_class = np.where(summary.purity >= purity - _PURITY_SLACK, summary.klass, -1).astype(np.int32)
    if n_terms is not None and n_terms < stats.n_terms:
        # Stable, so that ties go to the earlier column whatever the machine.
        out = np.argsort(-summary.largest, kind="stable")[n_terms:]
        term_class[out] = -1
    ratio = np.maximum(discriminability(stats, term_class, target, smoothing=smoothing), 1.0)
    # For example "tf-idf-logpr": idf and the function of the ratio are optional.
    parts = weighting.split("-")
    weight = _RATIO_WEIGHTS[parts[-1] if parts[-1] in _RATIO_WEIGHTS else ""](ratio)
    if "idf" in parts:
        weight = weight * smooth_idf(stats.document_frequency, stats.n_documents)
    return Projection(term_class, np.ascontiguousarray(weight), ratio, summary, stats.n_classes)


class TermProjector:
    """What the transformer and the classifier have in common: parameters, sums over blocks, the terms of each class."""

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_terms": [FROM_1, None],
        "purity": [SHARE],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "smoothing": [POSITIVE],  # with 0, a term of only one class would have an infinite weight
    }

    def __init__(
        self,
        *,
        n_terms: int | None = None,
        purity: float = 0.5,
        weighting: str = "tf-pr",
        smoothing: float = 0.5,
    ):
        self.n_terms = n_terms
        self.purity = purity
        self.weighting = weighting
        self.smoothing = smoothing

    def terms(self, label=None, n=20, names=None):
        """List the terms of each class, largest χ² first: the way back from features to words.

        Parameters
        ----------
        label : class, optional
            One class; None gives all.
        n : int or None
            Terms per class; None gives all.
        names : sequence of str, optional
            Names of the columns; ``feature_names_in_`` or column numbers if omitted.

        Returns
        -------
        list of dict
            ``class``, ``term``, ``chi2``, ``purity``, ``discriminability``, ``weight``, ``documents``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if names is None else names
        classes, projection = self.classes_, self.projection_
        wanted = range(len(classes)) if label is None else np.flatnonzero(classes == label)
        if len(wanted) == 0:
            raise UsageError(f"label={label!r} is not one of the {len(classes)} classes.", code="unknown-name")
        frequency = self.statistics_.document_frequency
        rows = []
        for code in wanted:
            terms = np.flatnonzero(projection.term_class == code)
            terms = terms[np.argsort(-projection.summary.chi2[terms], kind="stable")][:n]
            for term, share in zip(terms, projection.summary.purity[terms], strict=True):
                rows.append(
                    {
                        "class": classes[code],
                        "term": int(term) if names is None else names[term],
                        "chi2": float(projection.summary.chi2[term]),
                        "purity": float(share),
                        "discriminability": float(projection.ratio[term]),
                        "weight": float(projection.weight[term]),
                        "documents": int(frequency[term]),
                    }
                )
        return rows

    def _add_block(self, X, y, classes, sample_domain) -> None:
        """Add a block of rows to ``statistics_``; new classes may appear at any time."""
        # The first block decides the number of columns.
        first = not hasattr(self, "statistics_")
        known = [] if first else list(self.classes_)
        if classes is not None:
            known = sorted({*known, *np.asarray(classes).tolist()})
        domains = check_transfer_data(self, X, y, sample_domain, kind="counts", extra_classes=known, reset=first)
        stats = count_terms(domains.X, domains.codes, domains.n_classes)
        if not first:
            # New classes may sort before known ones.
            place = np.searchsorted(domains.classes, self.classes_)
            stats = self.statistics_.relabelled(place, domains.n_classes) + stats
        self.classes_: np.ndarray = domains.classes
        self.statistics_: TermStatistics = stats

    def _build(self, stats: TermStatistics, target: TermStatistics | None = None) -> Projection:
        names = ("n_terms", "purity", "weighting", "smoothing")
        return project_terms(stats, target, **{name: getattr(self, name) for name in names})

    def _store_terms(self, projection: Projection) -> None:
        self.projection_ = projection
        self.term_class_ = projection.term_class
        self.term_chi2_ = projection.summary.chi2
        self.term_purity_ = projection.summary.purity
        self.term_discriminability_ = projection.ratio
        self.term_weight_ = projection.weight
        present = np.bincount(projection.term_class[projection.term_class >= 0], minlength=projection.n_classes)
        self.empty_classes_ = self.classes_[present == 0]


class TermProjection(TermProjector, TransformerMixin, BaseEstimator):
    """Documents to one feature per class, by the class each term is most associated with.

    Assumes that classes have their own vocabulary and that this vocabulary holds across the domains. Fails where
    classes differ by word order or by how often they use the same words, as opinions do.

    Parameters
    ----------
    n_terms : int or None, default=None
        Number of terms to keep, by χ²max; None keeps all.
    purity : float, default=0.5
        Share of χ²total that the term's class must hold (θ of the paper); terms of several classes are dropped.
    weighting : str, default="tf-pr"
        Weight of a term: "tf" or "tf-idf", alone or followed by "-pr", "-logpr", "-logpr2" or "-sqrtpr", a function of
        the probability ratio (discriminability).
    smoothing : float, default=0.5
        Documents added to both sides of the probability ratio.
    norm : {None, "l1", "l2"}, default=None
        Length of the rows; None leaves the plain sums.

    Attributes
    ----------
    classes_ : ndarray
        The classes, in the order of the features.
    statistics_ : TermStatistics
        Sums over the labelled documents; sums of blocks may be added in any order.
    term_class_ : ndarray of int
        Position of each term's class in ``classes_``; -1 for terms left out.
    term_chi2_, term_purity_, term_discriminability_, term_weight_ : ndarray
        χ² with that class, its share of χ²total, smoothed probability ratio, and weight.
    empty_classes_ : ndarray
        Classes no term was left for.

    See Also
    --------
    isthmus.TermProjectionClassifier : The classifier built on it.
    isthmus.features.tf_chi2 : The statistic for ``SelectKBest``.

    References
    ----------
    Zheng, Liu, Teng and Sun, "Efficient text classification using term projection", AIRS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TermProjection
    >>> X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2]])
    >>> projection = TermProjection(norm="l1").fit(X, ["red", "red", "blue", "blue"])
    >>> projection.transform(np.array([[2, 0, 0], [0, 0, 4]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> projection.get_feature_names_out().tolist()
    ['blue', 'red']
    """

    __metadata_request__fit = {"sample_domain": True}
    __metadata_request__partial_fit = {"sample_domain": True}

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **TermProjector._parameter_constraints,
        "norm": [StrOptions({"l1", "l2"}), None],
    }

    def __init__(
        self,
        *,
        n_terms: int | None = None,
        purity: float = 0.5,
        weighting: str = "tf-pr",
        smoothing: float = 0.5,
        norm: str | None = None,
    ):
        super().__init__(n_terms=n_terms, purity=purity, weighting=weighting, smoothing=smoothing)
        self.norm = norm

    def fit(self, X, y, sample_domain=None):
        """Learn where each term goes from the labelled source rows.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_terms)
            Non-negative counts.
        y : array-like
            Labels; -1 (integers) or None/NaN (anything else) where unknown.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows, whose labels are ignored.
        """
        check_parameters(self)
        domains = check_transfer_data(self, X, y, sample_domain, kind="counts")
        self.classes_ = domains.classes
        self.statistics_ = count_terms(domains.X, domains.codes, domains.n_classes)
        return self._finish()

    def partial_fit(self, X, y, classes=None, sample_domain=None):
        """Add a block of rows; blocks in any order give the same model.

        ``classes`` names the classes to come; a first block that holds one class only needs it.
        """
        check_parameters(self)
        self._add_block(X, y, classes, sample_domain)
        return self._finish()

    def transform(self, X):
        """One feature per class for each row, an array of shape (n_rows, n_classes)."""
        check_is_fitted(self)
        features = self.projection_.features(check_rows(self, X, kind="counts"))
        return features if self.norm is None else normalize(features, norm=self.norm, copy=False)

    def get_feature_names_out(self, input_features=None):
        """Return the classes as strings."""
        check_is_fitted(self)
        return np.array([str(name) for name in self.classes_], dtype=object)

    def _finish(self):
        self._store_terms(self._build(self.statistics_))
        return self

    def __sklearn_tags__(self):
        """Return the tags of an estimator that reads sparse counts and needs labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags
