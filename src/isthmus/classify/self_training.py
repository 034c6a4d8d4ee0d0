"""Self-training: believe the surest target labels, train again, believe some more."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from isthmus._parameters import FROM_1, NON_NEGATIVE, HasMethods, parameter, parameters
from isthmus._progress import progress
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.linear import LinearClassifier, Objective, WeighedRows, spread_classes
from isthmus.classify.rules import LinearRule
from isthmus.classify.source_only import default_estimator, linear_rule, log_probability
from isthmus.exceptions import UsageError
from isthmus.features.blocks import Block, Passes, as_bins, histogram, least_bins


@parameters
class SelfTrainingTransferClassifier(TransferClassifier):
    """Grow the training set by the most confident target rows, class by class, round by round.

    In round i the share i/max_iter of the target is added: of each predicted class its surest rows, so that no class
    can swamp the others. Labels of added rows are predicted anew each round; a wrong one can leave again. Naive
    self-training may amplify early mistakes: compare with :class:`SourceOnlyClassifier`.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, default=LogisticRegression
        One with ``warm_start=True`` begins each round at the last round's solution, which saves about half the time.
    max_iter : int, default=10
    target_weight : float, default=1.0
        Weight of an added target row against a source row; needs an estimator that takes ``sample_weight`` if not 1.

    Attributes
    ----------
    estimator_ : the fitted classifier
    history_ : list of float
        Share of target labels that changed in each round.

    See Also
    --------
    isthmus.SourceOnlyClassifier : The same without the target.
    isthmus.CoClusteringClassifier : Uses all target rows at once, through their words.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import SelfTrainingTransferClassifier
    >>> X = np.array([[3, 0, 0], [0, 2, 0], [2, 0, 1], [0, 2, 2]])
    >>> SelfTrainingTransferClassifier().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    estimator: Any = parameter(HasMethods(["fit", "predict"]), None, default=None, positional=True)
    max_iter: int = parameter(FROM_1, default=10)
    target_weight: float = parameter(NON_NEGATIVE, default=1.0)

    history_measure = "share of labels changed"

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
        self.n_iter_ = 1  # without a target, one fit on the source is all there is
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
            del rows  # as large as all documents in the last rounds, and the next are taken before these would go
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
        """Fit blocks, as in memory, but for the surest rows, which are told by steps of 1/65,536 of their confidence.

        The estimator is a ``LinearClassifier``; if None, one set as the recipe.
        """
        n_rows = passes.n_source + passes.n_target
        prototype = LinearClassifier(C=10.0, sublinear=True) if self.estimator is None else self.estimator
        self.estimator_ = clone(prototype)
        solver = self.estimator_.solver(passes, n_rows, "self-training, source")
        point = solver.minimise(solver.start())
        for number in range(1, self.max_iter + 1):
            phase = f"self-training, round {number} of {self.max_iter}"
            guesses = f"pseudo-{number}"
            counts = passes.sum(guess, "target", solver.objective, point, guesses, phase=phase)
            passes.forget(f"pseudo-{number - 1}")
            share = number / self.max_iter
            among = solver.with_pseudo(guesses, least_bins(counts, share), int(share * passes.n_target), phase)
            point = among.minimise(point)
        self.estimator_.finish(passes, point)
        self.classes_ = passes.classes
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Scores of a block's documents, whose softmax are probabilities, and which documents hold no known word."""
        return self.estimator_.block_scores(block)

    def _scores(self, X) -> np.ndarray:
        return log_probability(self.estimator_, X)

    def prediction_rule(self) -> LinearRule | None:
        """What labels new documents; see ``isthmus.classify.rules``. None for an estimator of another kind."""
        return linear_rule(self.estimator_)


def guess(block: Block, objective: Objective, point: np.ndarray, name: str) -> np.ndarray:
    """Keep the labels of a block's documents and how sure they are; how many of each label have which confidence."""
    rows = WeighedRows.of(block, objective.idf, objective.sublinear)
    weights = spread_classes(point)
    every = np.zeros(len(block.rows), dtype=np.int32)
    scores = rows.scores(every, weights[:-1] * objective.idf[:, None], weights[-1])
    labels, confidence = scores.argmax(axis=1).astype(np.int32), softmax(scores).max(axis=1)
    block.keep(name, {"labels": labels, "steps": as_bins(confidence).astype(np.uint16)})
    return histogram(labels, confidence, objective.n_classes)


def surest_rows(scores: np.ndarray, share: float) -> np.ndarray:
    """Row numbers of the surest ``share`` of each predicted class (at least one row of each)."""
    labels = scores.argmax(axis=1)
    sureness = scores.max(axis=1)
    chosen = []
    for code in np.unique(labels):
        rows = np.flatnonzero(labels == code)
        count = max(1, int(np.ceil(share * len(rows))))
        chosen.append(rows[np.argsort(-sureness[rows], kind="stable")[:count]])
    return np.sort(np.concatenate(chosen))
