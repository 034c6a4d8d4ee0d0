"""Classification by term projection: by rule, or by a linear SVM on one feature per class."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from isthmus._math.calibration import fit_temperature
from isthmus._progress import is_candidate, progress
from isthmus._utils import warn
from isthmus._validation import check_rows
from isthmus.base import FROM_0, POSITIVE, Domains, Interval, StrOptions, TransferClassifier, check_parameters
from isthmus.classify.projection.hinge import fit_squared_hinge
from isthmus.classify.rules import ProjectionRule, class_shares
from isthmus.exceptions import UsageError
from isthmus.features.blocks import Block, ClassCounts, Passes, add_tuples, count_classes
from isthmus.features.projection import Projection, TermProjector
from isthmus.features.term_chi2 import TermStatistics, count_terms
from isthmus.features.weights import as_counts

TEMPERATURES = (math.exp(-3.0), math.exp(6.0))  # bounds of the inverse temperature
_BACK_ROWS = 3_000  # source rows that check a round of adaptation
_BACK_FALL = 0.05  # largest fall of the share of these rows that is labelled rightly
_MAX_TEMPERATURE_ROWS = 4_000  # rows that determine one number well enough
_FOLDS = 5  # every fifth source row is held out to fit the temperature
_BLIND_TEMPERATURE = 10.0  # temperature after partial_fit, which keeps no row to fit it on


class TargetRows:
    """Target rows in chunks that are labelled by rule and counted under their labels, round by round.

    Attributes
    ----------
    history : list of dict
        Per round: the number of rows that changed and the mean winning share.
    """

    def __init__(self, passes: Passes, rounds: int):
        self.passes, self.rounds, self.n_classes = passes, rounds, len(passes.classes)
        self.history: list[dict] = []

    def label(self, projection: Projection, step: int) -> None:
        """Label all target rows by rule with a projection, and store labels and margins of this step.

        Parameters
        ----------
        projection : Projection
        step : int
        """
        self.phase = f"adapting, round {step} of {self.rounds}"
        found = self.passes.sum(label_block, "target", projection, step, phase=self.phase, add=add_tuples)
        self.labels, self.margins = np.concatenate(found[0]), np.concatenate(found[1])
        self.passes.forget(f"labels-{step - 1}")
        self.history.append({"changed": found[2], "mean_share": float(found[3] / max(1, len(self.labels)))})

    def count_surest(self, share: float, step: int) -> TermStatistics:
        """Count the most confident rows under their predicted class, the same share of each class.

        Parameters
        ----------
        share : float
        step : int

        Returns
        -------
        TermStatistics
        """
        least = least_margins(self.labels, self.margins, share, self.n_classes)
        return self.passes.sum(count_above, "target", least, step, phase=self.phase).total()

    def class_sizes(self) -> np.ndarray:
        """Return the number of target rows per predicted class.

        Returns
        -------
        ndarray of int of shape (n_classes,)
        """
        return np.bincount(self.labels, minlength=self.n_classes)


def label_block(
    block: Block, projection: Projection, step: int
) -> tuple[list[np.ndarray], list[np.ndarray], int, float]:
    """Label the rows of a chunk by rule and store the labels and margins.

    Parameters
    ----------
    block : Block
    projection : Projection
    step : int

    Returns
    -------
    tuple
        The labels, the margins, the number of labels that changed since the last step, the sum of the winning shares.
    """
    shares = class_shares(projection.features(block.rows.matrix()))
    labels = shares.argmax(axis=1).astype(np.int32)
    second, first = np.partition(shares, -2, axis=1)[:, -2:].T
    before = block.kept(f"labels-{step - 1}")
    changed = len(labels) if before is None else int(np.sum(before["labels"] != labels))
    block.keep(f"labels-{step}", {"labels": labels, "margins": first - second})
    return [labels], [first - second], changed, float(first.sum())


def least_margins(labels: np.ndarray, margins: np.ndarray, share: float, n_classes: int) -> np.ndarray:
    """Return for each class the margin that this share of its rows reaches.

    Class by class, so that an easy class does not leave the others without rows.

    Parameters
    ----------
    labels : ndarray of int of shape (n_rows,)
    margins : ndarray of shape (n_rows,)
    share : float
    n_classes : int

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    least = np.full(n_classes, np.inf)
    for code in np.unique(labels):
        least[code] = np.quantile(margins[labels == code], 1.0 - share)
    return least


def count_above(block: Block, least: np.ndarray, step: int) -> ClassCounts:
    """Return the counts of the rows of a chunk whose margin reaches that of their class; never rows without one.

    Parameters
    ----------
    block : Block
    least : ndarray of shape (n_classes,)
    step : int

    Returns
    -------
    ClassCounts
    """
    held = block.kept(f"labels-{step}")
    assert held is not None
    labels, margins = held["labels"], held["margins"]
    rows = np.flatnonzero((margins >= least[labels]) & (margins > 0))
    return ClassCounts.of(block.rows, rows, labels[rows], len(least))


def adapt_statistics(
    rows: TargetRows,
    build: Callable[[TermStatistics | None], Projection],
    lead_back: Callable[[TermStatistics], float],
    *,
    source_sizes: np.ndarray,
    rounds: int,
    share: float,
    allowance: Callable[[float], float],
) -> tuple[TermStatistics | None, int, list[float]]:
    """Return statistics of the most confident target rows under their predicted class.

    Each round: project the target, label it by rule, count the rows with the largest margins of each class. The part of
    each class that counts grows in equal steps up to ``share``. ``build`` makes a projection of the target's
    statistics, None at first.

    Rounds use their own labels, so that a class can grow at the cost of another. Right labels lead back to those of the
    source: where a round leads back worse than the best one before by more than ``allowance`` of that one, the
    adaptation ends and returns to the last round that was within half of it. Labels that come nearer to the source's
    class proportions may fall by as much more as they came nearer, up to twice the allowance.

    Parameters
    ----------
    rows : TargetRows
    build : callable
    lead_back : callable
        Share of source rows that the statistics of a round predict correctly.
    source_sizes : ndarray of shape (n_classes,)
        Source documents by class.
    rounds : int
    share : float
    allowance : callable
        Largest allowed fall below a given share.

    Returns
    -------
    tuple
        The statistics, the round that they are from (the last one unless the adaptation was reverted), and for each
        round the share of labelled source rows that its statistics label rightly, mean over the classes.
    """
    target = good = None
    kept = 0
    leads_back: list[float] = []
    distances: list[float] = []  # of the class proportions from the source's, half the sum of differences
    for step in range(1, rounds + 1):
        rows.label(build(target), step)
        target = rows.count_surest(share * step / rounds, step)
        leads_back.append(lead_back(target))
        sizes = rows.class_sizes()
        distances.append(float(np.abs(sizes / sizes.sum() - source_sizes / source_sizes.sum()).sum() / 2))
        best = max(leads_back)
        fall, allowed = best - leads_back[-1], allowance(best)
        allowed += min(allowed, max(0.0, distances[0] - distances[-1]))
        if fall > allowed:
            return good, kept, leads_back
        if fall <= allowed / 2:
            good, kept = target, step
        progress("adapting", step, rounds)
    return target, rounds, leads_back


class WayBack:
    """Labelled source rows, a few thousand at most, on which statistics of the target are tested."""

    def __init__(self, X: Any, codes: np.ndarray):
        step = 1 + len(codes) // _BACK_ROWS
        self.X = X[::step]
        self.present, self.codes = np.unique(codes[::step], return_inverse=True)
        self.sizes = np.bincount(self.codes)

    def share_right(self, projection: Projection) -> float:
        """Return the share of each class's rows that the projection labels rightly by rule; the mean over the classes.

        Every class counts alike, so that the loss of a small one shows.

        Parameters
        ----------
        projection : Projection

        Returns
        -------
        float
        """
        right = projection.features(self.X).argmax(axis=1) == self.present[self.codes]
        return float(np.mean(np.bincount(self.codes, weights=right) / self.sizes))

    def allowance(self, best: float) -> float:
        """Return the fall below this share that is allowed: five points, or three standard errors if rows are few.

        Parameters
        ----------
        best : float

        Returns
        -------
        float
        """
        error = math.sqrt(best * (1 - best) * float(np.sum(1 / self.sizes))) / len(self.sizes)
        return max(_BACK_FALL, 3 * error)


class TermProjectionClassifier(TermProjector, TransferClassifier):
    """Term projection with a rule or a linear SVM on top.

    Assumes that classes have their own vocabulary and that it holds across the domains: a word that supports a class in
    the source supports it in the target. Cheap: one pass over the rows, and prediction looks up one class per
    term. Weak where classes share their words and differ in proportions only (opinions), and where a class has very few
    source documents.

    Parameters
    ----------
    classifier : {"rule", "svm"}, default="rule"
        "rule": the class with the largest feature. "svm": a linear SVM on the features, rows that sum to one.
    n_terms, purity, weighting, smoothing
        As for :class:`isthmus.TermProjection`.
    max_iter : int, default=8
        Rounds in which the most confident target rows are counted under their predicted class. 0, as in the paper, uses
        no target row before it is labelled.
    adapt_share : float, default=0.8
        Share of the target rows of each predicted class that is counted in the last round; it grows in equal steps.
    C : float, default=1.0
        Penalty of the SVM.
    random_state : int, RandomState or None, default=None
        Unused; all classifiers of the package accept it.

    Attributes
    ----------
    term_class_, term_chi2_, term_purity_, term_discriminability_, term_weight_ : ndarray
        As for :class:`isthmus.TermProjection`.
    empty_classes_ : ndarray
        Classes without a term; no document gets such a class by rule.
    statistics_, target_statistics_ : TermStatistics
        The sums behind the projection: over the labelled source rows and, with ``max_iter`` above 0, over the most
        confident target rows (otherwise None).
    coef_, intercept_ : ndarray of shape (n_classes, n_classes) and (n_classes,)
        Of the SVM, with ``classifier="svm"``.
    prior_ : ndarray
        Class proportions of the source, which label documents without a known term.
    n_iter_ : int
        Passes over the target: 1, and 1 more for each round of adaptation.
    history_ : list of dict
        For each pass the target rows that changed label and the mean share of the winning class.
    leads_back_ : list of float
        For each round of adaptation the share of source rows (a few thousand at most) that the target's statistics
        under the labels of that round predict correctly; mean over the classes.
    termination_condition_ : {"one_pass", "no_change", "max_iter", "reverted"}
        "reverted": a round led back to the source's labels clearly worse than one before it, so the adaptation
        stopped and went back to the last good round; a warning says so.

    See Also
    --------
    isthmus.TermProjection : Computes only the features.

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
        C: float = 1.0,
        random_state: Any = None,
    ):
        super().__init__(n_terms=n_terms, purity=purity, weighting=weighting, smoothing=smoothing)
        self.classifier = classifier
        self.max_iter = max_iter
        self.adapt_share = adapt_share
        self.C = C
        self.random_state = random_state

    def _fit(self, domains: Domains) -> None:
        source, target = (as_counts(domains.rows(rows)) for rows in (domains.source, domains.target))
        self.fit_passes(Passes(source, target, domains.source_codes, domains.classes))

    def fit_passes(self, passes: Passes) -> TermProjectionClassifier:
        """Fit the chunks of both domains.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
        self.classes_, n_classes = passes.classes, len(passes.classes)
        phase = "counting words per class"
        self.statistics_ = passes.sum(count_classes, "source", n_classes, phase=phase).total()
        rows, codes = as_counts(passes.sample.rows.matrix()), passes.sample.codes
        self.target_statistics_: TermStatistics | None = None
        self.leads_back_: list[float] = []
        self.history_: list[dict] = []
        self.termination_condition_ = "one_pass"
        if passes.n_target and self.max_iter:
            self._adapt(TargetRows(passes, self.max_iter), WayBack(rows, codes))
        self.n_iter_ = max(len(self.history_), 1)
        self._store(self._build(self.statistics_, self.target_statistics_))
        self._fit_top(rows, codes)
        return self

    def _adapt(self, rows: TargetRows, back: WayBack) -> None:
        self.target_statistics_, kept, self.leads_back_ = adapt_statistics(
            rows,
            partial(self._build, self.statistics_),
            lambda found: back.share_right(self._build(found)),
            source_sizes=self.statistics_.class_documents,
            rounds=self.max_iter,
            share=self.adapt_share,
            allowance=back.allowance,
        )
        rows.label(self._build(self.statistics_, self.target_statistics_), len(rows.history) + 1)
        self.history_ = rows.history
        if kept == self.max_iter:
            self.termination_condition_ = "max_iter" if rows.history[-1]["changed"] else "no_change"
            return
        self.termination_condition_ = "reverted"
        if not is_candidate():  # the comparison of methods looks at the labels themselves
            last, best = self.leads_back_[-1], max(self.leads_back_)
            warn(
                f"Adaptation to the target stopped in round {len(self.leads_back_)} of {self.max_iter}: its labels "
                f"lead back to {last:.0%} of the source's, {best:.0%} before, so classes were growing at the cost of "
                f"others. Round {kept} was kept; max_iter=0 does not adapt at all.",
                code="adaptation-stopped",
            )

    def partial_fit(self, X, y, classes=None, sample_domain=None):
        """Add a chunk of labelled rows; chunks in any order give the same model (classifier "rule").

        Target rows in a chunk are left out: adaptation needs all of them together, so use :meth:`fit`, or
        :func:`isthmus.scale.label_files` for files larger than memory.

        Parameters
        ----------
        X, y, sample_domain
            As for :meth:`fit`.
        classes : array-like, optional
            Classes to come; a first chunk that has one class only needs it.
        """
        check_parameters(self)
        if self.classifier != "rule":
            raise UsageError(
                "partial_fit takes classifier='rule'; an SVM needs all features at once: use fit.",
                code="bad-parameter",
            )
        self._add_block(X, y, classes, sample_domain)
        self.target_statistics_, self.leads_back_, self.history_, self.n_iter_ = None, [], [], 1
        self.termination_condition_ = "one_pass"
        self._store(self._build(self.statistics_))
        self.inverse_temperature_ = _BLIND_TEMPERATURE
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores of the documents of a chunk, and which documents have no known word.

        Parameters
        ----------
        block : Block

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes)
            Their softmax are probabilities.
        unknown : ndarray of bool of shape (n_documents,)
        """
        return self.prediction_rule().scores(block.rows.matrix()), np.diff(block.rows.indptr) == 0

    def class_scores(self, X) -> np.ndarray:
        """Return the score of each class before it becomes a probability: its feature, or the SVM's decision value.

        :func:`isthmus.explain.projection.explain_projection` splits these scores into terms exactly.

        Parameters
        ----------
        X : sparse matrix or ndarray of shape (n_rows, n_terms)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        features = self.projection_.features(check_rows(self, X, kind=self._row_kind))
        return features if self.classifier == "rule" else self._decision(class_shares(features))

    def _fit_top(self, X: sp.csr_matrix, codes: np.ndarray) -> None:
        """Fit the SVM, and the temperature of the probabilities on rows that the projection has not seen.

        A rare term of a training document is enough to send it to the document's class, so features by the document's
        own projection are far too good. The statistics of a fifth of the rows are subtracted.
        """
        unseen, rows = self.projection_.features(X), np.arange(len(codes))
        if self.classifier == "svm":
            n_classes = len(self.classes_)
            self.coef_, self.intercept_, _ = fit_squared_hinge(class_shares(unseen), codes, n_classes, C=self.C)
        if len(codes) >= 2 * _FOLDS:
            rows = rows[::_FOLDS]
            without = self.statistics_ - count_terms(X[rows], codes[rows], len(self.classes_))
            unseen = self._build(without, self.target_statistics_).features(X[rows])
        step = 1 + len(rows) // _MAX_TEMPERATURE_ROWS
        shares = class_shares(unseen[::step])
        evidence = shares if self.classifier == "rule" else self._decision(shares)
        self.inverse_temperature_ = fit_temperature(evidence, codes[rows[::step]], bounds=TEMPERATURES)

    def _store(self, projection: Projection) -> None:
        self._store_terms(projection)
        documents = self.statistics_.class_documents
        # One document more in every class: a class without documents in the chunks so far must not have the prior zero.
        self.prior_ = (documents + 1.0) / (documents + 1.0).sum()
        if len(self.empty_classes_):
            names = ", ".join(str(name) for name in self.empty_classes_[:5])
            warn(
                f"{len(self.empty_classes_)} of {len(self.classes_)} classes have no term left at "
                f"purity={self.purity:g} ({names}); no document gets them by rule. Lower purity or raise n_terms.",
                code="fallback",
            )

    def _decision(self, shares: np.ndarray) -> np.ndarray:
        return shares @ self.coef_.T + self.intercept_

    def prediction_rule(self) -> ProjectionRule:
        """Return the arrays that label new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        ProjectionRule
        """
        terms = self.projection_.term_class, self.projection_.weight
        svm = (self.coef_, self.intercept_) if self.classifier == "svm" else ()
        return ProjectionRule(*terms, self.inverse_temperature_, self.prior_, *svm)

    def __sklearn_tags__(self):
        """Return the tags; scikit-learn's toy data have too few columns, so scores on them are poor."""
        tags = super().__sklearn_tags__()
        # A column serves one class: fewer columns than classes, as in scikit-learn's toy data, cannot be learned.
        tags.classifier_tags.poor_score = True
        return tags
