"""Train on the source only: the baseline without transfer."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from isthmus._math.calibration import fit_temperature
from isthmus.base import Domains, HasMethods, Interval, TransferClassifier
from isthmus.classify.rules import LinearRule, log_of, two_columns
from isthmus.features.blocks import Block, Passes


class SourceOnlyClassifier(TransferClassifier):
    """Train any scikit-learn classifier on the labelled source rows and apply it to the target unchanged.

    It is the baseline of this package: do not use a method that does not beat it.

    Parameters
    ----------
    estimator : classifier, default=LogisticRegression
        A clone is fitted. A classifier that only has ``decision_function`` (a linear SVM) gets probabilities from a
        temperature fitted on out-of-fold source scores.
    cv : int, default=3
        Number of these folds, at most the number of documents of the smallest class. If that is one, the temperature is
        fitted on the training scores.

    Attributes
    ----------
    estimator_ : the fitted classifier
    inverse_temperature_ : float
        Factor on the decision values before they become probabilities; 1 if the classifier has ``predict_proba``.

    See Also
    --------
    isthmus.SelfTrainingTransferClassifier : Adds its most confident target rows.
    isthmus.make_transfer_pipeline : Joins it with a vectoriser.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import SourceOnlyClassifier
    >>> X = np.array([[3, 0], [0, 2], [4, 1], [1, 5]])
    >>> SourceOnlyClassifier().fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, estimator=None, *, cv=3):
        self.estimator = estimator
        self.cv = cv

    def _fit(self, domains: Domains) -> None:
        X, codes = domains.rows(domains.source), domains.source_codes
        prototype = default_estimator(self.estimator)
        self._calibrate(clone(prototype).fit(X, codes), X, codes)

    def fit_passes(self, passes: Passes) -> SourceOnlyClassifier:
        """Fit the chunks of the source; a sample of them determines the temperature.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
        sample = passes.sample
        self.classes_ = passes.classes
        self._calibrate(clone(self.estimator).fit_passes(passes), sample.weighed, sample.codes)
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
        return self._scores(block.weighed), np.diff(block.rows.indptr) == 0

    def _calibrate(self, fitted: Any, X: Any, codes: np.ndarray) -> None:
        self.estimator_ = fitted
        self.inverse_temperature_ = 1.0
        if not hasattr(fitted, "predict_proba"):
            self.inverse_temperature_ = self._held_out_temperature(default_estimator(self.estimator), X, codes)
        self.n_iter_ = 1
        self.history_: list[float] = []
        self.termination_condition_ = "fitted"

    def _held_out_temperature(self, prototype, X, codes) -> float:
        folds = min(self.cv, int(np.bincount(codes).min()))
        if folds < 2:
            return fit_temperature(_decision(self.estimator_, X), codes)
        split = StratifiedKFold(folds, shuffle=True, random_state=0)
        held_out = cross_val_predict(clone(prototype), X, codes, cv=split, method="decision_function")
        return fit_temperature(two_columns(held_out), codes)

    def _scores(self, X) -> np.ndarray:
        rule = self.prediction_rule()
        if rule is not None:
            return rule.scores(X)
        if hasattr(self.estimator_, "predict_proba"):
            return log_probability(self.estimator_, X)
        return self.inverse_temperature_ * _decision(self.estimator_, X)

    def prediction_rule(self) -> LinearRule | None:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        LinearRule or None
            None if the estimator has no rule.
        """
        return linear_rule(self.estimator_, self.inverse_temperature_)


# Attributes of the recipes' classifiers (weights, intercepts) and their link. The keys are names, so that looking up a
# class imports no package.
_LINEAR = {
    "sklearn.linear_model._logistic.LogisticRegression": ("coef_", "intercept_", "logistic"),
    "sklearn.svm._classes.LinearSVC": ("coef_", "intercept_", "margin"),
    "isthmus.classify.naive_bayes.NaiveBayes": ("feature_log_prob_", "class_log_prior_", "bayes"),
}


def linear_rule(estimator: Any, power: float = 1.0) -> LinearRule | None:
    """Return the prediction rule of a fitted linear classifier.

    Parameters
    ----------
    estimator : fitted classifier
    power : float, default=1.0
        Factor on decision values without a probability link.

    Returns
    -------
    LinearRule or None
        None for classifiers without a known rule.
    """
    if hasattr(estimator, "prediction_rule"):
        return estimator.prediction_rule(power)
    kind = type(estimator)
    if f"{kind.__module__}.{kind.__qualname__}" not in _LINEAR:
        return None
    weights, bias, link = _LINEAR[f"{kind.__module__}.{kind.__qualname__}"]
    return LinearRule(getattr(estimator, weights), getattr(estimator, bias), link, power)


def default_estimator(estimator):
    """Return the estimator, or logistic regression if it is None.

    Parameters
    ----------
    estimator : classifier or None

    Returns
    -------
    classifier
    """
    return LogisticRegression(max_iter=1000) if estimator is None else estimator


def log_probability(estimator, X) -> np.ndarray:
    """Return log-probabilities of rows.

    Parameters
    ----------
    estimator : fitted classifier with ``predict_proba``
    X : ndarray or sparse matrix of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    return log_of(estimator.predict_proba(X))


def _decision(estimator, X) -> np.ndarray:
    return two_columns(estimator.decision_function(X))
