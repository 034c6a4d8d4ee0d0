"""Train on the most confident target labels, round by round (self-training)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from isthmus._progress import progress
from isthmus.base import FROM_1, NON_NEGATIVE, Domains, HasMethods, TransferClassifier
from isthmus.classify.rules import LinearRule
from isthmus.classify.source_only import default_estimator, linear_rule, log_probability
from isthmus.exceptions import UsageError
from isthmus.features.blocks import Block, Passes, as_bins, histogram, least_bins


class SelfTrainingTransferClassifier(TransferClassifier):
    """Grow the training set by the most confident target rows, class by class, round by round.

    Round i adds the share i/max_iter of the target: the most confident rows of each predicted class, so that no class
    dominates. Labels of added rows are predicted again in each round, so a wrong row can leave. Self-training may
    amplify early mistakes: compare with :class:`SourceOnlyClassifier`.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=LogisticRegression
        An estimator with ``warm_start=True`` begins each round at the last solution, which saves about half the time.
    max_iter : int, default=10
        Number of rounds.
    target_weight : float, default=1.0
        Weight of an added target row relative to a source row; a value other than 1 needs an estimator that takes
        ``sample_weight``.

    Attributes
    ----------
    estimator_ : the fitted classifier
    history_ : list of float
        Share of target labels that changed in each round.

    See Also
    --------
    isthmus.SourceOnlyClassifier : Trains on the source only.
    isthmus.CoClusteringClassifier : Uses all target rows at once, through their words.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import SelfTrainingTransferClassifier
    >>> X = np.array([[3, 0, 0], [0, 2, 0], [2, 0, 1], [0, 2, 2]])
    >>> SelfTrainingTransferClassifier().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "max_iter": [FROM_1],
        "target_weight": [NON_NEGATIVE],
    }
    history_measure = "share of labels changed"

    def __init__(self, estimator=None, *, max_iter=10, target_weight=1.0):
        self.estimator = estimator
        self.max_iter = max_iter
        self.target_weight = target_weight

    def _fit(self, domains: Domains) -> np.ndarray | None:
        prototype = default_estimator(self.estimator)
        if not hasattr(prototype, "predict_proba"):
            raise UsageError(
                f"{type(prototype).__name__} has no predict_proba, so its surest labels are unknown; use "
                "LogisticRegression, naive Bayes, or wrap it in CalibratedClassifierCV.",
                code="bad-parameter",
            )
        if self.target_weight != 1.0 and not has_fit_parameter(prototype, "sample_weight"):
            raise UsageError(
                f"target_weight={self.target_weight!r}, but {type(prototype).__name__} takes no sample_weight; leave "
                "it at 1.",
                code="bad-parameter",
            )
        source, target = domains.rows(domains.source), domains.rows(domains.target)
        codes = domains.source_codes
        self.estimator_ = clone(prototype).fit(source, codes)
        del source
        self.history_ = []
        self.n_iter_ = 1  # without a target, the source is fitted once
        self.termination_condition_ = "no_target" if not len(domains.target) else "max_iter"
        if not len(domains.target):
            return None
        scores = self._scores(target)
        labels = scores.argmax(axis=1)
        for round_ in range(1, self.max_iter + 1):
            chosen = surest_rows(scores, round_ / self.max_iter)
            rows = domains.rows(np.r_[domains.source, domains.target[chosen]])
            weights = {}
            if self.target_weight != 1.0:
                weights["sample_weight"] = np.r_[np.ones(len(codes)), np.full(len(chosen), self.target_weight)]
            if not getattr(prototype, "warm_start", False):
                self.estimator_ = clone(prototype)
            self.estimator_.fit(rows, np.r_[codes, labels[chosen]], **weights)
            del rows  # up to the size of all documents; free it before the next round allocates its rows
            scores = self._scores(target)
            changed = float(np.mean(scores.argmax(axis=1) != labels))
            labels = scores.argmax(axis=1)
            self.history_.append(changed)
            self.n_iter_ = round_
            progress("self-training", round_, self.max_iter)
        if changed == 0:
            self.termination_condition_ = "no_change"
        return labels

    def fit_passes(self, passes: Passes) -> SelfTrainingTransferClassifier:
        """Fit the chunks of both domains.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
            The estimator must be a ``LinearClassifier`` with ``warm_start``.
        """
        self.classes_ = passes.classes
        self.estimator_ = clone(self.estimator).fit_passes(passes)
        for number in range(1, self.max_iter + 1):
            name, share = f"round {number} of {self.max_iter}", number / self.max_iter
            phase = f"self-training, {name}"
            counts = passes.sum(_guess, "target", self.estimator_, name, phase=phase)
            self.estimator_.fit_passes(passes, (name, least_bins(counts, share)), int(share * passes.n_target))
            passes.forget(name)
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores of the documents of a chunk, and which documents have no known word.

        Parameters
        ----------
        block : Block

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes)
        unknown : ndarray of bool of shape (n_documents,)
        """
        return self._scores(block.weighed), np.diff(block.rows.indptr) == 0

    def _scores(self, X) -> np.ndarray:
        rule = self.prediction_rule()
        return log_probability(self.estimator_, X) if rule is None else rule.scores(X)

    def prediction_rule(self) -> LinearRule | None:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        LinearRule or None
            None if the estimator has no rule.
        """
        return linear_rule(self.estimator_)


def _guess(block: Block, estimator: Any, name: str) -> np.ndarray:
    """Store label and confidence of each document of a chunk; return how many of each label have which confidence."""
    scores = log_probability(estimator, block.weighed)
    labels, confidence = scores.argmax(axis=1).astype(np.int32), np.exp(scores.max(axis=1))
    block.keep(name, {"labels": labels, "steps": as_bins(confidence).astype(np.uint16)})
    return histogram(labels, confidence, len(estimator.classes_))


def surest_rows(scores: np.ndarray, share: float) -> np.ndarray:
    """Return the rows with the most confident ``share`` of each predicted class, at least one row of each.

    Confidences are compared in steps of 1/65,536, as in chunks, whose documents cannot be sorted.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Log-probabilities.
    share : float

    Returns
    -------
    ndarray of int
        Row numbers.
    """
    labels, confidence = scores.argmax(axis=1), np.exp(scores.max(axis=1))
    least = least_bins(histogram(labels, confidence, scores.shape[1]), share)
    return np.flatnonzero(as_bins(confidence) >= least[labels])
