"""Classification by term projection: by rule, or by a linear SVM on one feature per class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isthmus._math.calibration import fit_temperature
from isthmus._progress import is_candidate, progress
from isthmus._utils import warn
from isthmus._validation import check_rows
from isthmus.base import (
    FROM_0,
    POSITIVE,
    Domains,
    Interval,
    Options,
    StrOptions,
    TransferClassifier,
    check_parameters,
    softmax,
)
from isthmus.classify.projection.hinge import fit_squared_hinge
from isthmus.classify.rules import ProjectionRule, class_shares
from isthmus.exceptions import UsageError
from isthmus.features.blocks import Block, ClassCounts, Passes, as_bins, count_classes, histogram, least_bins
from isthmus.features.projection import Projection, TermProjector, block_statistics
from isthmus.features.term_chi2 import TermStatistics, count_terms
from isthmus.features.weights import smooth_idf
from isthmus.shift.shares import likely_shares

# -- Steps of the projection classifier: hold rows out, adapt to the target, turn scores into probabilities


TEMPERATURES = (math.exp(-3.0), math.exp(6.0))  # where the factor of the class shares is looked for


def held_out_features(
    X, codes: np.ndarray, stats: TermStatistics, build: Callable[[TermStatistics], Projection], folds: int, used: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features of labelled rows by a projection that has not seen them, and the rows in question.

    A rare term of a training document is enough to send it to the document's class, so features by the document's own
    projection are far too good. Here each fold's own statistics are subtracted from ``stats``; ``used`` of the
    ``folds`` are made.
    """
    parts, rows = [], []
    for fold in range(used):
        own = np.arange(fold, len(codes), folds)
        X_own = X[own]
        without = stats - count_terms(X_own, codes[own], stats.n_classes)
        parts.append(build(without).features(X_own))
        rows.append(own)
        progress("learning from the source", fold + 1, used)
    return np.concatenate(parts), np.concatenate(rows)


@dataclass
class Adaptation:
    # statistics of the surest target rows, of the last round or of the one gone back to
    target: TermStatistics | None = None
    kept: int = 0  # that round
    # for every round, the share of labelled source rows that its target statistics alone label rightly, mean over the
    # classes
    leads_back: list[float] = field(default_factory=list)
    reverted: bool = False  # whether a round was refused, and the ones after it not made


def adapt_statistics(
    rows: MemoryRows | PassedRows,
    build: Callable[[TermStatistics | None], Projection],
    lead_back: Callable[[TermStatistics], float],
    *,
    source_sizes: np.ndarray,
    rounds: int,
    share: float,
    allowance: Callable[[float], float],
) -> Adaptation:
    """Statistics of the surest target rows under their predicted class.

    Each round: project the target, label it by rule, count the rows with the largest margins of each class. The part of
    each class that counts as sure grows in equal steps up to ``share``. ``build`` makes a projection of the target's
    statistics, None at first.

    Rounds feed on their own labels, so that a class can grow at the cost of another. Right labels lead back to those of
    the source: where a round leads back worse than the best one before by more than ``allowance`` of that one, the
    adaptation ends and goes back to the last round that was within half of it. Labels that come nearer to the source's
    class shares may fall by as much more as they came nearer, up to twice the allowance.
    """
    found = Adaptation()
    target: TermStatistics | None = None
    distances: list[float] = []  # of the class shares from the source's, half the sum of differences
    for step in range(1, rounds + 1):
        rows.label(build(target), step)
        target = rows.count_surest(share * step / rounds, step)
        found.leads_back.append(lead_back(target))
        sizes = rows.class_sizes()
        distances.append(float(np.abs(sizes / sizes.sum() - source_sizes / source_sizes.sum()).sum() / 2))
        best = max(found.leads_back)
        fall, allowed = best - found.leads_back[-1], allowance(best)
        allowed += min(allowed, max(0.0, distances[0] - distances[-1]))
        if fall > allowed:
            found.reverted = True
            return found
        if fall <= allowed / 2:
            found.target = target
            found.kept = step
        progress("adapting", step, rounds)
    found.target = target
    found.kept = rounds
    return found


class WayBack:
    """Labelled source rows, a few thousand at most, that statistics of the target are tried on."""

    def __init__(self, X, codes: np.ndarray):
        step = 1 + len(codes) // _BACK_ROWS
        self.X = X[::step]
        self.present, self.codes = np.unique(codes[::step], return_inverse=True)
        self.sizes = np.bincount(self.codes)

    def share_right(self, projection: Projection) -> float:
        """Share of each class's rows that the projection labels rightly by rule; the mean over the classes.

        Every class counts alike, so that a small one that is lost shows.
        """
        right = projection.features(self.X).argmax(axis=1) == self.present[self.codes]
        return float(np.mean(np.bincount(self.codes, weights=right) / self.sizes))

    def allowance(self, best: float) -> float:
        """How far a round may fall below this share: five points, or three standard errors where rows are few."""
        error = math.sqrt(best * (1 - best) * float(np.sum(1 / self.sizes))) / len(self.sizes)
        return max(_BACK_FALL, 3 * error)


class MemoryRows:
    """Target rows in memory that are labelled by rule and counted under their labels, round by round.

    ``history`` has for each labelling the rows that changed and the mean winning share.
    """

    def __init__(self, X, n_classes: int):
        self.X = X
        self.n_classes = n_classes
        self.labels = np.full(X.shape[0], -1)
        self.history: list[dict] = []

    def label(self, projection: Projection, step: int) -> None:
        self.shares = class_shares(projection.features(self.X))
        before, self.labels = self.labels, self.shares.argmax(axis=1)
        changed = int(np.sum(self.labels != before))
        self.history.append({"changed": changed, "mean_share": float(self.shares.max(axis=1).mean())})

    def count_surest(self, share: float, step: int) -> TermStatistics:
        """Statistics, under their labels, of the rows with the largest margins: this share of each class."""
        sure = surest_rows(self.shares, share)
        return count_terms(self.X, np.where(sure, self.labels, -1), self.n_classes)

    def class_sizes(self) -> np.ndarray:
        return np.bincount(self.labels, minlength=self.n_classes)


class PassedRows:
    """Target rows in blocks. The surest are told by steps of 1/65,536 of their margin, and few of them change."""

    def __init__(self, passes: Passes, rounds: int):
        self.passes = passes
        self.rounds = rounds
        self.n_classes = len(passes.classes)
        self.total: TermStatistics | None = None

    def label(self, projection: Projection, step: int) -> None:
        self.phase = f"adapting, round {step} of {self.rounds}"
        self.margins = self.passes.sum(margin_histogram, "target", projection, phase=self.phase)

    def count_surest(self, share: float, step: int) -> TermStatistics:
        least, n = least_bins(self.margins, share), self.n_classes
        moves = self.passes.sum(move_surest, "target", n, least, step, phase=self.phase).total()
        self.passes.forget(f"sure-{step - 1}")
        came, left = moves.between(0, n), moves.between(n, 2 * n)
        self.total = came if self.total is None else self.total + came - left  # so no count is ever below zero
        return self.total

    def class_sizes(self) -> np.ndarray:
        return self.margins.sum(axis=1)


def margin_histogram(block: Block, projection: Projection) -> np.ndarray:
    """How many rows of each class, by rule, have which margin; both are kept for :func:`move_surest`."""
    features = projection.features(block.rows.matrix())
    labels = features.argmax(axis=1).astype(np.int32)
    second, first = np.partition(features, -2, axis=1)[:, -2:].T
    totals = np.where(first > 0, features.sum(axis=1), 1.0)
    margins = first / totals - second / totals
    leading = np.where(margins > 0, labels, -1)  # where no class leads, the row counts in its class but is never sure
    block.keep("margins", {"labels": leading, "steps": as_bins(margins).astype(np.uint16)})
    return histogram(labels, margins, projection.n_classes)


def move_surest(block: Block, n_classes: int, least: np.ndarray, step: int) -> ClassCounts:
    """Counts of the rows that came to the surest of a class in this round; behind the classes, of those that left.

    What was kept in the round before has its own name, so that a round that is done twice gives the same.
    """
    margins = block.kept("margins")
    assert margins is not None
    labels = margins["labels"]
    now = np.where((labels >= 0) & (margins["steps"] >= least[labels]), labels, -1).astype(np.int32)
    before = (block.kept(f"sure-{step - 1}") or {}).get("labels", np.full(len(now), -1, dtype=np.int32))
    block.keep(f"sure-{step}", {"labels": now})
    came, left = (np.flatnonzero((now != before) & (own >= 0)) for own in (now, before))
    codes = np.concatenate([now[came], before[left] + np.int32(n_classes)])
    return ClassCounts.of(block.rows, np.concatenate([came, left]), codes, 2 * n_classes)


def surest_rows(shares: np.ndarray, share: float) -> np.ndarray:
    """Rows among the ``share`` with the largest margins of those given the same class; never rows without a margin.

    Class by class, so that an easy class cannot crowd out the others.
    """
    top = np.partition(shares, -2, axis=1)
    margin = top[:, -1] - top[:, -2]
    labels = shares.argmax(axis=1)
    sure = np.zeros(len(shares), dtype=bool)
    for code in np.unique(labels):
        rows = np.flatnonzero(labels == code)
        sure[rows] = margin[rows] >= np.quantile(margin[rows], 1.0 - share)
    return sure & (margin > 0)


_BACK_ROWS = 3_000  # source rows that a round of adaptation is checked on
_BACK_FALL = 0.05  # by how much the share it labels rightly may fall
_MAX_TEMPERATURE_ROWS = 4_000  # enough to place one number
_TEMPERATURE_FOLDS = 5  # every fifth source row is held out to place it
_BLIND_TEMPERATURE = 10.0  # where only sums are at hand and no row to place it by
_ENOUGH = 100  # documents of the sample from which it is placed


class TermProjectionClassifier(TermProjector, TransferClassifier):
    """Term projection with a rule or a linear SVM on top.

    Assumes that classes have their own vocabulary and that it holds across the domains: a word that speaks for a class
    in the source speaks for it in the target. Cheap: one pass over the rows, and prediction looks up one class per
    term. Weak where classes share their words and differ in proportions only (opinions), and where a class has very few
    source documents.

    Parameters
    ----------
    classifier : {"rule", "svm"}, default="rule"
        "rule": the class with the largest feature. "svm": a linear SVM on the features, rows that sum to one.
    n_terms, purity, weighting, smoothing
        As for :class:`isthmus.TermProjection`.
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
    leads_back_ : list of float
        For each round of adaptation the share of source rows (a few thousand at most) that the target's statistics
        alone, under the labels of that round, label rightly; mean over the classes.
    termination_condition_ : {"one_pass", "no_change", "max_iter", "reverted"}
        "reverted": a round led back to the source's labels clearly worse than one before it, so the adaptation
        stopped and went back to the last good round; a warning says so.

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
    _parameter_constraints: ClassVar[dict[str, list]] = {
        **TermProjector._parameter_constraints,
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
        n_terms: int | None = None,
        purity: float = 0.5,
        weighting: str = "tf-pr",
        smoothing: float = 0.5,
        classifier: str = "rule",
        max_iter: int = 8,
        adapt_share: float = 0.8,
        target_idf: bool = False,
        target_prior: bool = False,
        cross_fit: int = 0,
        C: float = 1.0,
        random_state: Any = None,
    ):
        super().__init__(n_terms=n_terms, purity=purity, weighting=weighting, smoothing=smoothing)
        self.classifier = classifier
        self.max_iter = max_iter
        self.adapt_share = adapt_share
        self.target_idf = target_idf
        self.target_prior = target_prior
        self.cross_fit = cross_fit
        self.C = C
        self.random_state = random_state

    def _fit(self, domains: Domains) -> None:
        X_target = domains.rows(domains.target)
        idf = None
        if self.target_idf and len(domains.target):
            frequency = count_terms(X_target, np.zeros(len(domains.target)), 1).document_frequency
            idf = smooth_idf(frequency, len(domains.target))
        rows = MemoryRows(X_target, domains.n_classes)
        back = WayBack(domains.rows(domains.source), domains.source_codes)
        self.finish(block_statistics(domains), domains.classes, rows if len(domains.target) else None, back, idf)
        if self.max_iter and len(domains.target):
            rows.label(self.projection_, self.max_iter + 1)
            reverted: bool = getattr(self, "termination_condition_", "") == "reverted"
            if not reverted:
                self.termination_condition_ = "no_change" if rows.history[-1]["changed"] == 0 else "max_iter"
        self.history_: list[dict] = rows.history
        self.n_iter_ = max(len(self.history_), 1)
        self._fit_top(
            domains.rows(domains.source),
            domains.source_codes,
            lambda stats: self._build(stats, self.target_statistics_, idf),
        )
        if self.target_prior and len(domains.target):
            self.prior_, _ = likely_shares(softmax(self._scores(X_target)), self.source_prior_)

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
                "partial_fit takes classifier='rule'; an SVM needs all features at once: use fit.",
                code="bad-parameter",
            )
        self._add_block(X, y, classes, sample_domain)
        return self.finish(self.statistics_, self.classes_)

    block_statistics = staticmethod(count_classes)

    def finish(
        self,
        statistics: TermStatistics,
        classes: np.ndarray,
        target: MemoryRows | PassedRows | None = None,
        back: WayBack | None = None,
        idf: np.ndarray | None = None,
    ) -> TermProjectionClassifier:
        """The rule from the sum of all blocks' statistics, adapted to target rows where there are some.

        ``target`` comes with ``back``, the source rows on which each round is checked.
        """
        self.classes_ = classes
        self.statistics_ = statistics
        adapted = Adaptation()
        if target is not None:
            assert back is not None
            adapted = adapt_statistics(
                target,
                partial(self._build, statistics, idf=idf),
                lambda found: back.share_right(self._build(found, idf=idf)),
                source_sizes=statistics.class_documents,
                rounds=self.max_iter,
                share=self.adapt_share,
                allowance=back.allowance,
            )
        self.target_statistics_ = adapted.target
        self.leads_back_ = adapted.leads_back
        self._store_terms(self._build(statistics, self.target_statistics_, idf))
        self.history_ = []
        self.n_iter_ = 1
        self.termination_condition_ = "one_pass"
        if adapted.reverted:
            self.termination_condition_ = "reverted"
            self._warn_of_reversal(adapted)
        self._store()
        self.inverse_temperature_ = _BLIND_TEMPERATURE
        return self

    def fit_passes(self, passes: Passes) -> TermProjectionClassifier:
        """Fit the rule on the blocks of both domains; the temperature is placed by the sample of the source."""
        n_classes = len(passes.classes)
        phase = "counting words per class"
        statistics = passes.sum(self.block_statistics, "source", n_classes, phase=phase).total()
        codes = passes.sample.codes
        back = WayBack(passes.sample.rows.matrix(), codes)
        self.finish(statistics, passes.classes, PassedRows(passes, self.max_iter), back)
        if len(codes) >= _ENOUGH:
            # The sample is taken out of the sums again, so that its rows are new to the projection.
            rows = passes.sample.rows.matrix()
            without = self._build(statistics - count_terms(rows, codes, n_classes), self.target_statistics_)
            shares = class_shares(without.features(rows))
            self.inverse_temperature_ = fit_temperature(shares, codes, bounds=TEMPERATURES)
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Scores of a block's documents, whose softmax are probabilities, and which documents hold no known word."""
        rows = block.rows
        return self.prediction_rule().of_features(self.projection_.features(rows.matrix())), np.diff(rows.indptr) == 0

    def predict(self, X):
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

    def _fit_top(self, X, codes, build):
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

    def _warn_of_reversal(self, adapted: Adaptation) -> None:
        if is_candidate():  # what compares methods looks at the labels themselves
            return
        last, best = adapted.leads_back[-1], max(adapted.leads_back)
        warn(
            f"Adaptation to the target stopped in round {len(adapted.leads_back)} of {self.max_iter}: its labels "
            f"lead back to {last:.0%} of the source's, {best:.0%} before, so classes were growing at the cost of "
            f"others. Round {adapted.kept} was kept; max_iter=0 does not adapt at all.",
            code="adaptation-stopped",
        )

    def _store(self):
        documents = self.statistics_.class_documents
        # One document more in every class: a class without documents in the blocks so far must not have the prior zero.
        self.source_prior_ = (documents + 1.0) / (documents + 1.0).sum()
        self.prior_ = self.source_prior_
        if len(self.empty_classes_):
            names = ", ".join(str(name) for name in self.empty_classes_[:5])
            warn(
                f"{len(self.empty_classes_)} of {len(self.classes_)} classes have no term left at "
                f"purity={self.purity:g} ({names}); no document gets them by rule. Lower purity or raise n_terms.",
                code="fallback",
            )

    def _decision(self, features: np.ndarray) -> np.ndarray:
        return class_shares(features) @ self.coef_.T + self.intercept_

    def prediction_rule(self) -> ProjectionRule:
        """What labels new documents; see ``isthmus.classify.rules``."""
        svm = self.classifier == "svm"
        return ProjectionRule(
            term_class=self.projection_.term_class,
            weight=self.projection_.weight,
            power=self.inverse_temperature_,
            prior=self.prior_,
            source_prior=self.source_prior_,
            coef=self.coef_ if svm else None,
            intercept=self.intercept_ if svm else None,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A column serves one class: fewer columns than classes, as in scikit-learn's toy data, cannot be learned.
        tags.classifier_tags.poor_score = True
        return tags
