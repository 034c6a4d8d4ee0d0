"""Self-training on dense rows centred by domain, followed by spreading over the target's nearest neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from isthmus._progress import progress
from isthmus.base import FROM_0, FROM_1, POSITIVE, SHARE, Domains, TransferClassifier
from isthmus.classify.rules import LinearRule, NeighbourRule, centred_rows

MOST_REFERENCES = 10_000  # target rows among which neighbours are searched; more take minutes and are no more accurate


class NeighbourSelfTraining(TransferClassifier):
    """Self-training on rows centred by domain, then spreading of the probabilities to similar target rows.

    The method is meant for vectors of a sentence encoder. Every row is scaled to length one, centred about the mean of
    its domain and scaled again, which removes differences between the domains as a whole. Logistic regression is fitted
    on the source. In each round, it is fitted again on the source and on the most confident target rows, weighted by
    their confidence. Finally, target rows exchange probabilities with their nearest neighbours in the target.

    The method assumes that classes are linearly separable in the space of the rows and that similar target rows mostly
    have the same class. The classes need similar proportions in both domains, because rows are centred by domain.

    Parameters
    ----------
    C : float, default=10.0
        Inverse strength of the penalty of logistic regression.
    max_iter : int, default=5
        Number of self-training rounds; with 0, only the source is learned.
    first_share, last_share : float, default=0.3 and 0.86
        Shares of the target that join the training rows in the first and in the last round.
    source_weight : float, default=0.5
        Weight of a source row in these rounds, relative to a target row whose label is certain.
    n_neighbors : int, default=10
        Number of neighbours of each row; with 0, nothing is spread.
    n_steps : int, default=10
        Number of spreading steps.
    spread : float, default=0.5
        Weight of the neighbours in each step, relative to the row itself.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_``: share of target labels that changed in each round.
    estimator_ : LogisticRegression
        The classifier of the last round, for centred rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the target rows of length one.

    See Also
    --------
    isthmus.TransductiveCentroidClassifier : Class centroids on the same rows; works on files larger than memory.
    isthmus.SelfTrainingTransferClassifier : Self-training with any classifier, for rows of words.

    Notes
    -----
    A new row is centred about the mean of the target and exchanges probabilities with its neighbours among the fitted
    target rows. Copies of a row are no neighbours. With more than 10,000 target rows, neighbours are searched in a
    random sample of 10,000.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import NeighbourSelfTraining
    >>> source = np.array([[4, 1], [5, 1], [1, 4], [1, 5.0]])
    >>> target = source + [9, 0]  # the same two groups, moved
    >>> model = NeighbourSelfTraining().fit(np.vstack([source, target]), ["a", "a", "b", "b"] + [None] * 4)
    >>> model.transduction_[4:].tolist()
    ['a', 'a', 'b', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "C": [POSITIVE],
        "max_iter": [FROM_0],
        "first_share": [SHARE],
        "last_share": [SHARE],
        "source_weight": [POSITIVE],
        "n_neighbors": [FROM_0],
        "n_steps": [FROM_1],
        "spread": [SHARE],
    }

    _need_overlap = False
    history_measure = "share of labels changed"

    def __init__(
        self,
        *,
        C=10.0,
        max_iter=5,
        first_share=0.3,
        last_share=0.86,
        source_weight=0.5,
        n_neighbors=10,
        n_steps=10,
        spread=0.5,
    ):
        self.C = C
        self.max_iter = max_iter
        self.first_share = first_share
        self.last_share = last_share
        self.source_weight = source_weight
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.spread = spread

    def _fit(self, domains: Domains) -> np.ndarray | None:
        source, codes = np.empty((len(domains.source), domains.X.shape[1])), domains.source_codes
        for number in domains.source_domains:
            own = domains.domain[domains.source] == number
            source[own], self.mean_ = centred_rows(_dense(domains.rows(domains.source[own])))
        target = source[:0]
        if len(domains.target):
            target, self.mean_ = centred_rows(_dense(domains.rows(domains.target)))
        linear = self._learn(source, codes)
        self.history_, self.n_iter_ = [], 1
        self.termination_condition_ = "max_iter" if len(target) else "no_target"
        shares = np.linspace(self.first_share, self.last_share, self.max_iter) if len(target) else ()
        for round_, share in enumerate(shares, 1):
            proba = np.exp(linear.scores(target))
            labels, confidence = proba.argmax(axis=1), proba.max(axis=1)
            chosen = np.sort(np.argsort(-confidence, kind="stable")[: round(share * len(target))])
            weights = np.concatenate([np.full(len(codes), self.source_weight), confidence[chosen]])
            linear = self._learn(np.vstack([source, target[chosen]]), np.concatenate([codes, labels[chosen]]), weights)
            self.history_.append(float(np.mean(linear.scores(target).argmax(axis=1) != labels)))
            self.n_iter_ = round_
            progress("self-training", round_, self.max_iter)
        if self.history_ and self.history_[-1] == 0:
            self.termination_condition_ = "no_change"
        # The rows are in content order, by a hash of their contents, so the first of them are a random sample.
        reference = target[:MOST_REFERENCES].astype(np.float32)
        own_opinions = np.exp(linear.scores(reference))
        self._rule = NeighbourRule(linear, self.mean_, reference, own_opinions, self.n_neighbors, self.spread)
        neighbours = self._rule.nearest(reference)
        for _ in range(self.n_steps - 1):  # the rule itself is the last step
            opinions = self._rule.mixed(own_opinions, *neighbours)
            self._rule = replace(self._rule, opinions=opinions)
        return None

    def _learn(self, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> LinearRule:
        self.estimator_ = LogisticRegression(C=self.C, max_iter=1000).fit(rows, codes, sample_weight=weights)
        return LinearRule(self.estimator_.coef_, self.estimator_.intercept_, "logistic")

    def prediction_rule(self) -> NeighbourRule:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        NeighbourRule
        """
        return self._rule

    def _scores(self, X) -> np.ndarray:
        return self._rule.scores(_dense(X))


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows
