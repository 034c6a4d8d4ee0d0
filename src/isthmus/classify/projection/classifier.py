"""Classification by term projection: by rule, or by a linear SVM on one feature per class."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from isthmus._math.calibration import fit_temperature
from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus._math.linear import fit_squared_hinge
from isthmus._parameters import FROM_0, POSITIVE, Interval, Options, StrOptions, check_parameters
from isthmus._progress import progress
from isthmus._validation import check_rows, read_labels
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features.projection import (
    TERM_PARAMETERS,
    Projection,
    add_block,
    block_statistics,
    project_terms,
    store_terms,
    term_table,
)
from isthmus.features.weights import smooth_idf

# -- Steps of the projection classifier: hold rows out, adapt to the target, turn scores into probabilities


TEMPERATURES = (math.exp(-3.0), math.exp(6.0))  # where the factor of the class shares is looked for


def held_out_features(
    X, codes: np.ndarray, stats: TermStatistics, build: Callable[[TermStatistics], Projection], folds: int, used: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features of labelled rows by a projection that has not seen them, and the rows in question.

    A rare term of a training document is by itself enough to send that term to the document's class, so features of the
    training documents by their own projection are far too good. Sums can be taken out again: the projection for a fold
    is built from ``stats`` minus that fold's own statistics. ``used`` of the ``folds`` are made.
    """
    parts, rows = [], []
    for fold in range(used):
        own = np.arange(fold, len(codes), folds)
        X_own = X[own]
        without = stats - count_terms(X_own, codes[own], stats.n_classes)
        parts.append(build(without).features(X_own))
        rows.append(own)
        progress("cross-fitting", fold + 1, used)
    return np.concatenate(parts), np.concatenate(rows)


def adapt_statistics(
    X_target,
    n_classes: int,
    build: Callable[[TermStatistics | None], Projection],
    *,
    rounds: int,
    share: float,
) -> tuple[TermStatistics | None, list[dict], str]:
    """Statistics of the surest target rows under their predicted class.

    Each round: project the target, label it by rule, count the rows with the largest margins of each class. The part of
    each class that counts as sure grows in equal steps up to ``share``.

    Parameters
    ----------
    X_target : CSR matrix
    n_classes : int
    build : callable
        Target statistics, None at first, to a projection.
    rounds : int
    share : float

    Returns
    -------
    target, history, termination
        ``history`` has one entry per pass: target rows that changed label, mean share of the winning class.
    """
    target: TermStatistics | None = None
    history: list[dict] = []
    labels = np.full(X_target.shape[0], -1)
    for step in range(rounds + 1):
        shares = class_shares(build(target).features(X_target))
        changed = int(np.sum(shares.argmax(axis=1) != labels))
        labels = shares.argmax(axis=1)
        history.append({"changed": changed, "mean_share": float(shares.max(axis=1).mean())})
        progress("adapting", step, rounds)
        if step < rounds:
            sure = surest_rows(shares, share * (step + 1) / rounds)
            target = count_terms(X_target, np.where(sure, labels, -1), n_classes)
    return target, history, "no_change" if changed == 0 else "max_iter"


def surest_rows(shares: np.ndarray, share: float) -> np.ndarray:
    """Rows among the ``share`` with the largest margins of those given the same class; never rows without a margin.

    Class by class, so that a class that is easy to tell cannot crowd out the others.
    """
    top = np.partition(shares, -2, axis=1)
    margin = top[:, -1] - top[:, -2]
    labels = shares.argmax(axis=1)
    sure = np.zeros(len(shares), dtype=bool)
    for code in np.unique(labels):
        rows = np.flatnonzero(labels == code)
        sure[rows] = margin[rows] >= np.quantile(margin[rows], 1.0 - share)
    return sure & (margin > 0)


def class_shares(features: np.ndarray) -> np.ndarray:
    """Rows of non-negative features to rows that sum to one; a row of zeros stays one."""
    return normalize(features, norm="l1")


def estimate_prior(probabilities: np.ndarray, source_prior: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Class prior of unlabelled rows by expectation-maximisation (Saerens, Latinne and Decaestecker, 2002).

    ``probabilities`` were made under ``source_prior``; the result is the prior under which re-weighted probabilities
    average to the prior itself.
    """
    prior = source_prior.copy()
    for _ in range(max_iter):
        weighted = probabilities * (prior / source_prior)
        weighted /= weighted.sum(axis=1, keepdims=True)
        new = weighted.mean(axis=0)
        if np.abs(new - prior).max() < 1e-6:
            return new
        prior = new
    return prior


_MAX_TEMPERATURE_ROWS = 4_000  # enough to place one number
_TEMPERATURE_FOLDS = 5  # every fifth source row is held out to place it
_BLIND_TEMPERATURE = 10.0  # where only sums are at hand and no row to place it by


class TermProjectionClassifier(TransferClassifier):
    """Term projection with a rule or a linear SVM on top.

    Assumes that classes have their own vocabulary and that it holds across the domains: a word that speaks for a class
    in the source speaks for it in the target. Cheap: one pass over the rows, and prediction looks up one class per
    term. Weak where classes share their words and differ in proportions only (opinions), and where a class has very few
    source documents.

    Parameters
    ----------
    classifier : {"rule", "svm"}, default="rule"
        "rule": the class with the largest feature. "svm": a linear SVM on the features, rows that sum to one.
    n_terms : int or None, default=None
        Number of terms to keep, by χ²max; None keeps all.
    purity : float, default=0.5
        Share of χ²total that a term's class must hold.
    weighting : str, default="tf-pr"
        As for :class:`isthmus.TermProjection`.
    smoothing : float, default=0.5
        Documents added to both sides of the probability ratio.
    max_iter : int, default=8
        Rounds in which the surest target rows are counted under their predicted class. 0: the paper's way, the target's
        rows are not looked at before they are labelled.
    adapt_share : float, default=0.8
        Share of the target rows of each predicted class that counts as sure in the last round; it grows up to there in
        equal steps.
    target_idf : bool, default=False
        Inverse document frequencies from the target's rows instead of the source's, for weightings with idf.
    target_prior : bool, default=False
        Re-estimate the class prior on the target by expectation-maximisation and re-weigh the scores with it.
    cross_fit : int, default=0
        Folds by which the features of the source rows are made for the SVM, so that no row is projected by terms it
        sent to its own class. 0: the paper's way, every row by the one projection.
    C : float, default=1.0
        Penalty of the SVM.
    random_state : int, RandomState or None, default=None
        Nothing is random here; taken so that all classifiers of the package can be built alike.

    Attributes
    ----------
    classes_ : ndarray
    transduction_ : ndarray
        Label of every fitted row.
    term_class_, term_chi2_, term_purity_, term_discriminability_, term_weight_ : ndarray
        As for :class:`isthmus.TermProjection`.
    empty_classes_ : ndarray
        Classes no term was left for; no document is given such a class by rule.
    statistics_, target_statistics_ : TermStatistics
        The sums the projection was made from: over the labelled source rows and, with ``max_iter`` above 0, over the
        surest target rows (otherwise None).
    coef_, intercept_ : ndarray of shape (n_classes, n_classes) and (n_classes,)
        Of the SVM, with ``classifier="svm"``.
    prior_ : ndarray
        Class prior: of the source, or re-estimated with ``target_prior``.
    n_iter_ : int
        Passes over the target: 1, and 1 more for each round of adaptation.
    history_ : list of dict
        For each pass the target rows that changed label and the mean share of the winning class.
    termination_condition_ : {"one_pass", "no_change", "max_iter"}

    See Also
    --------
    isthmus.TermProjection : the features alone.

    References
    ----------
    Zheng, Liu, Teng and Sun, "Efficient text classification using term projection", AIRS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TermProjectionClassifier
    >>> X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2], [2, 0, 0], [0, 1, 4]])
    >>> y = ["red", "red", "blue", "blue", None, None]
    >>> TermProjectionClassifier().fit(X, y).transduction_[-2:].tolist()
    ['red', 'blue']
    """

    __metadata_request__partial_fit = {"sample_domain": True}
    _row_kind = "counts"
    _parameter_constraints = {
        **TERM_PARAMETERS,
        "classifier": [StrOptions({"rule", "svm"})],
        "max_iter": [FROM_0],
        "adapt_share": [Interval(Real, 0, 1, closed="right")],
        "target_idf": ["boolean"],
        "target_prior": ["boolean"],
        "cross_fit": [Options(Integral, {0}), Interval(Integral, 2, None, closed="left")],
        "C": [POSITIVE],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        classifier="rule",
        n_terms=None,
        purity=0.5,
        weighting="tf-pr",
        smoothing=0.5,
        max_iter=8,
        adapt_share=0.8,
        target_idf=False,
        target_prior=False,
        cross_fit=0,
        C=1.0,
        random_state=None,
    ):
        self.classifier = classifier
        self.n_terms = n_terms
        self.purity = purity
        self.weighting = weighting
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.adapt_share = adapt_share
        self.target_idf = target_idf
        self.target_prior = target_prior
        self.cross_fit = cross_fit
        self.C = C
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        X_target = domains.rows(domains.target)
        idf = None
        if self.target_idf and len(domains.target):
            frequency = count_terms(X_target, np.zeros(len(domains.target)), 1).document_frequency
            idf = smooth_idf(frequency, len(domains.target))
        self.statistics_, self.target_statistics_ = block_statistics(domains), None
        self.history_: list[dict] = []
        self.termination_condition_ = "one_pass"
        if self.max_iter and len(domains.target):
            self.target_statistics_, self.history_, self.termination_condition_ = adapt_statistics(
                X_target,
                domains.n_classes,
                lambda target: self._build(self.statistics_, target, idf),
                rounds=self.max_iter,
                share=self.adapt_share,
            )
        self.n_iter_ = max(len(self.history_), 1)
        self.projection_ = self._build(self.statistics_, self.target_statistics_, idf)
        self._store()
        self._fit_top(
            domains.rows(domains.source),
            domains.source_codes,
            lambda stats: self._build(stats, self.target_statistics_, idf),
        )
        if not len(domains.target):
            return np.zeros(0, dtype=int)
        if self.target_prior:
            self.prior_ = estimate_prior(softmax(self._scores(X_target)), self.source_prior_)
        return self._scores(X_target).argmax(axis=1)

    def partial_fit(self, X, y, classes=None, sample_domain=None):
        """Add a block of labelled rows; blocks in any order give the same model (classifier "rule").

        Target rows in a block are left out: adaptation needs all of them together, so use :meth:`fit`, or
        :func:`isthmus.scale.label_files` for files larger than memory.

        Parameters
        ----------
        X, y, sample_domain
            As for :meth:`fit`.
        classes : array-like, optional
            Classes to come; a first block that holds one class only needs it.
        """
        check_parameters(self)
        if self.classifier != "rule":
            raise UsageError(
                "partial_fit takes classifier='rule'; an SVM needs all features at once: use fit, or fit_blocks.",
                code="bad-parameter",
            )
        add_block(self, X, y, classes, sample_domain)
        self.finish_statistics(self.statistics_, self.classes_)
        return self

    def finish_statistics(self, stats: TermStatistics, classes: np.ndarray):
        """Make the rule from sums alone: how fits from blocks end."""
        self.classes_, self.statistics_ = classes, stats
        self.target_statistics_ = None
        self.projection_ = self._build(stats)
        self.history_, self.n_iter_, self.termination_condition_ = [], 1, "one_pass"
        self._store()
        self.inverse_temperature_ = _BLIND_TEMPERATURE
        return self

    def predict(self, X):
        """Class of each new target document, without refitting."""
        check_is_fitted(self)
        X = self._check_new(X)
        if self.classifier != "rule" or self.prior_ is not self.source_prior_:
            return self.classes_[self._scores(X).argmax(axis=1)]
        # The rule alone: shares and temperature do not move the largest feature.
        features = self.projection_.features(X)
        codes = features.argmax(axis=1)
        empty = np.flatnonzero(codes == 0)
        codes[empty[features[empty, 0] == 0]] = self.prior_.argmax()
        return self.classes_[codes]

    def class_scores(self, X) -> np.ndarray:
        """Score of each class before it becomes a probability: the class features, or the SVM's decision values.

        :func:`isthmus.explain.projection.explain_projection` splits these scores into terms exactly.
        """
        check_is_fitted(self)
        features = self.projection_.features(check_rows(self, X, kind=self._row_kind))
        return features if self.classifier == "rule" else self._decision(features)

    def terms(self, label=None, n=20, names=None):
        """The terms of each class; see :meth:`isthmus.TermProjection.terms`."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if names is None else names
        return term_table(self.projection_, self.statistics_, self.classes_, label=label, n=n, names=names)

    def _build(self, stats, target=None, idf=None) -> Projection:
        return project_terms(
            stats,
            target,
            n_terms=self.n_terms,
            purity=self.purity,
            weighting=self.weighting,
            smoothing=self.smoothing,
            idf=idf,
        )

    def _fit_top(self, X, codes, build):
        """The SVM, and the temperature of the probabilities."""
        svm, n_classes = self.classifier == "svm", len(self.classes_)
        folds = self.cross_fit or _TEMPERATURE_FOLDS
        enough = len(codes) >= 2 * folds
        used = self.cross_fit if svm and self.cross_fit else 1  # one number, the temperature, needs one fold only
        unseen, rows = self.projection_.features(X), np.arange(len(codes))
        if svm and not (self.cross_fit and enough):
            self.coef_, self.intercept_, _ = fit_squared_hinge(class_shares(unseen), codes, n_classes, C=self.C)
        if enough:
            unseen, rows = held_out_features(X, codes, self.statistics_, build, folds, used)
        if svm and self.cross_fit and enough:
            self.coef_, self.intercept_, _ = fit_squared_hinge(class_shares(unseen), codes[rows], n_classes, C=self.C)
        step = 1 + len(rows) // _MAX_TEMPERATURE_ROWS
        evidence = self._decision(unseen[::step]) if svm else class_shares(unseen[::step])
        self.inverse_temperature_ = fit_temperature(evidence, codes[rows[::step]], bounds=TEMPERATURES)

    def _store(self):
        store_terms(self, self.projection_)
        documents = self.statistics_.class_documents
        # One document more in every class: a class without documents in the blocks so far must not have the prior zero.
        self.source_prior_ = (documents + 1.0) / (documents + 1.0).sum()
        self.prior_ = self.source_prior_
        if len(self.empty_classes_):
            names = ", ".join(str(name) for name in self.empty_classes_[:5])
            warnings.warn(
                IsthmusWarning(
                    f"{len(self.empty_classes_)} of {len(self.classes_)} classes have no term left at "
                    f"purity={self.purity:g} ({names}); no document gets them by rule. Lower purity or raise n_terms.",
                    code="fallback",
                ),
                stacklevel=5,
            )

    def _decision(self, features: np.ndarray) -> np.ndarray:
        return class_shares(features) @ self.coef_.T + self.intercept_

    def _scores(self, X) -> np.ndarray:
        features = self.projection_.features(X)
        change = np.log(self.prior_ / self.source_prior_)
        if self.classifier == "svm":
            return self.inverse_temperature_ * self._decision(features) + change
        scores = self.inverse_temperature_ * class_shares(features) + change
        empty = ~features.any(axis=1)
        scores[empty] = np.log(self.prior_)  # no term speaks for any class: the commonest one
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A column serves one class: fewer columns than classes, as in scikit-learn's toy data, cannot be learned.
        tags.classifier_tags.poor_score = True
        return tags


# -- Term projection from blocks of rows, each read once: the sums of the blocks are the sums of the whole


class PairwiseSum:
    """Sums of blocks, added in pairs of like size, so that many small blocks do not each copy the whole."""

    def __init__(self):
        self._waiting: list[TermStatistics] = []

    def add(self, block: TermStatistics) -> None:
        self._waiting.append(block)
        while len(self._waiting) > 1 and len(self._waiting[-2].klass) <= 2 * len(self._waiting[-1].klass):
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last

    def total(self) -> TermStatistics:
        """The sum of all blocks so far."""
        while len(self._waiting) > 1:
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last
        return self._waiting[0]


class _Classes:
    """Classes in order of first sight; codes never change, the sorted order comes at the end."""

    def __init__(self):
        self.index: dict[Any, int] = {}

    def codes(self, labels: Iterable) -> np.ndarray:
        values, known = read_labels(list(labels))
        codes = np.full(len(values), -1, dtype=np.int32)
        for i in np.flatnonzero(known):
            codes[i] = self.index.setdefault(values[i], len(self.index))
        return codes

    def sorted(self, stats: TermStatistics) -> tuple[np.ndarray, TermStatistics]:
        """Sorted classes and the statistics with codes to match."""
        names = np.array(list(self.index))
        order = np.argsort(names)
        place = np.argsort(order)
        table = stats.per_class(stats.occurrences), stats.per_class(stats.documents)
        moved = [matrix[:, order].tocsr() for matrix in table]
        for matrix in moved:
            matrix.sort_indices()
        documents = np.zeros(len(names))
        documents[place] = stats.class_documents
        starts = moved[0].indptr.astype(np.int64)
        klass = moved[0].indices.astype(np.int32)
        return names[order], TermStatistics(starts, klass, moved[0].data, moved[1].data.astype(np.int32), documents)


def fit_blocks(blocks: Iterable[tuple[Any, Iterable]], model: TermProjectionClassifier | None = None):
    """Fit the rule from an iterable of ``(X, y)`` blocks, each read once.

    Columns may be added from block to block (never moved), classes may appear at any time, and the order of blocks
    changes nothing.

    Parameters
    ----------
    blocks : iterable of (CSR matrix, labels)
        Unlabelled rows (None, -1, NaN) are left out.
    model : TermProjectionClassifier, optional
        Its parameters are used; ``classifier`` must be "rule".

    Returns
    -------
    TermProjectionClassifier
        Fitted; ``n_features_in_`` is the number of columns of the widest block.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.projection.classifier import fit_blocks
    >>> blocks = [(np.array([[4, 0], [3, 1]]), ["red", "red"]), (np.array([[0, 2, 5]]), ["blue"])]
    >>> fit_blocks(blocks).predict(np.array([[1, 0, 0], [0, 0, 1]])).tolist()
    ['red', 'blue']
    """
    model = TermProjectionClassifier() if model is None else model
    check_parameters(model)
    if model.classifier != "rule":
        raise UsageError("fit_blocks makes the rule; use classifier='rule', or fit for an SVM.", code="bad-parameter")
    classes, sums = _Classes(), PairwiseSum()
    for number, (X, y) in enumerate(blocks, 1):
        codes = classes.codes(y)
        sums.add(count_terms(X, codes, max(len(classes.index), 1)))
        progress("counting blocks", number)
    if len(classes.index) < 2:
        raise DataError(
            f"The blocks name {len(classes.index)} classes; a classifier needs at least two.", code="one-class"
        )
    names, stats = classes.sorted(sums.total())
    model.n_features_in_ = stats.n_terms
    return model.finish_statistics(stats, names)
