"""Instance transfer in the manner of TrAdaBoost: source documents that disagree with the target lose weight."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression

from isthmus._progress import progress
from isthmus.base import FROM_1, POSITIVE, Domains, Interval, TransferClassifier
from isthmus_bench.baselines.aligned_features import linear_scores


class TrAdaBoostClassifier(TransferClassifier):
    """TrAdaBoost without target labels: the most confident predictions of a source classifier replace them.

    Source documents that the current classifier gets wrong are taken for foreign and lose weight; target documents it
    gets wrong gain weight, as in AdaBoost. The vote is taken over the second half of the rounds. It assumes that
    enough of the first predictions on the target are right.

    Parameters
    ----------
    max_iter : int, default=10
    n_added : float, default=0.5
        Share of the target whose predicted labels are used, most confident first.
    C : float, default=10.0
        Of the logistic regression.

    See Also
    --------
    isthmus.SelfTrainingTransferClassifier : Adds target rows instead of weighing source rows.
    isthmus.SourceOnlyClassifier : The baseline without the target.

    References
    ----------
    W. Dai, Q. Yang, G.-R. Xue, Y. Yu: Boosting for transfer learning. ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.tradaboost import TrAdaBoostClassifier
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> TrAdaBoostClassifier().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "max_iter": [FROM_1],
        "n_added": [Interval(Real, 0, 1, closed="right")],
        "C": [POSITIVE],
    }

    def __init__(
        self,
        *,
        max_iter: int = 10,
        n_added: float = 0.5,
        C: float = 10.0,
    ):
        self.max_iter = max_iter
        self.n_added = n_added
        self.C = C

    def _fit(self, domains: Domains) -> None:
        source, codes, n_target = domains.rows(domains.source), domains.source_codes, len(domains.target)
        first = self._estimator().fit(source, codes)
        self.estimator_ = first
        self.history_: list[dict] = []
        self.n_iter_, self.termination_condition_ = 1, "no_target"
        if n_target == 0:
            return
        probability = first.predict_proba(domains.rows(domains.target))
        sure = np.argsort(-probability.max(axis=1), kind="stable")[: max(1, round(self.n_added * n_target))]
        rows = np.concatenate([domains.source, domains.target[sure]])
        labels = np.concatenate([codes, first.classes_[probability[sure].argmax(axis=1)]])
        self._boost(domains.rows(rows), labels, len(codes))

    def _boost(self, X, labels: np.ndarray, n_source: int) -> None:
        n = len(labels)
        weights = np.ones(n)
        source_rate = 1.0 / (1.0 + np.sqrt(2.0 * np.log(max(n_source, 2)) / self.max_iter))
        voters, votes = [], []
        self.termination_condition_ = "rounds_done"
        for k in range(self.max_iter):
            progress("weighing the source", k + 1, self.max_iter)
            # Mean weight one: the ridge of the classifier keeps its meaning from round to round.
            model = self._estimator().fit(X, labels, sample_weight=weights * (n / weights.sum()))
            wrong = model.predict(X) != labels
            error = float(weights[n_source:] @ wrong[n_source:] / weights[n_source:].sum())
            self.history_.append({"round": k + 1, "error": error, "source_weight": float(weights[:n_source].mean())})
            rate = min(max(error, 1e-10), 0.49) / (1 - min(max(error, 1e-10), 0.49))
            voters.append(model)
            votes.append(-np.log(rate))
            if error == 0 and not wrong.any():
                self.termination_condition_ = "nothing_wrong"
                break
            weights[:n_source] *= np.where(wrong[:n_source], source_rate, 1.0)
            weights[n_source:] *= np.where(wrong[n_source:], min(1 / rate, 10.0), 1.0)
        self.n_iter_ = len(voters)
        half = len(voters) // 2
        share = np.array(votes[half:]) / np.sum(votes[half:])
        # A weighted sum of log-odds of linear models is the log-odds of one linear model.
        self.estimator_ = voters[-1]
        self.estimator_.coef_ = np.tensordot(share, [model.coef_ for model in voters[half:]], axes=1)
        self.estimator_.intercept_ = np.tensordot(share, [model.intercept_ for model in voters[half:]], axes=1)

    def _estimator(self) -> LogisticRegression:
        return LogisticRegression(C=self.C, max_iter=1000)

    def _scores(self, X) -> np.ndarray:
        return linear_scores(self.estimator_, X)
