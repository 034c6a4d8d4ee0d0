"""Source-only classification: what one gets without any transfer."""

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
    """Train any scikit-learn classifier on the labelled source rows and apply it to the target as it is.

    The yardstick for everything else in this package: a method that does not beat it should not be used.

    Parameters
    ----------
    estimator : classifier, default=LogisticRegression
        Fitted on a clone. One that only has ``decision_function`` (a linear SVM) gets probabilities from a
        temperature fitted on out-of-fold source scores.
    cv : int, default=3
        Folds for that, or as many as the smallest class has documents; if that is one, nothing is held out.

    Attributes
    ----------
    estimator_ : the fitted classifier
    inverse_temperature_ : float
        Factor on the decision values before they become probabilities; 1 where the classifier has its own.

    See Also
    --------
    isthmus.SelfTrainingTransferClassifier : Adds its surest target rows.
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
        """Fit the chunks of the source; a sample of them sets the temperature."""
        sample = passes.sample
        self.classes_ = passes.classes
        self._calibrate(clone(self.estimator).fit_passes(passes), sample.weighed, sample.codes)
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return scores of the documents of a chunk, and which documents have no known word."""
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
        if hasattr(self.estimator_, "predict_proba"):
            return log_probability(self.estimator_, X)
        return self.inverse_temperature_ * _decision(self.estimator_, X)

    def prediction_rule(self) -> LinearRule | None:
        """What labels new documents; see ``isthmus.classify.rules``. None for an estimator of another kind."""
        return linear_rule(self.estimator_, self.inverse_temperature_)


# Classifiers of the recipes, by name so that none is loaded for it: where their numbers stand, and how they are read.
_LINEAR = {
    "sklearn.linear_model._logistic.LogisticRegression": ("coef_", "intercept_", "logistic"),
    "sklearn.svm._classes.LinearSVC": ("coef_", "intercept_", "margin"),
    "isthmus.classify.naive_bayes.NaiveBayes": ("feature_log_prob_", "class_log_prior_", "bayes"),
}


def linear_rule(estimator: Any, power: float = 1.0) -> LinearRule | None:
    """What a fitted linear classifier of a recipe does with new rows; None for others."""
    if hasattr(estimator, "prediction_rule"):
        return estimator.prediction_rule(power)
    kind = type(estimator)
    if f"{kind.__module__}.{kind.__qualname__}" not in _LINEAR:
        return None
    weights, bias, link = _LINEAR[f"{kind.__module__}.{kind.__qualname__}"]
    return LinearRule(getattr(estimator, weights), getattr(estimator, bias), link, power)


def default_estimator(estimator):
    return LogisticRegression(max_iter=1000) if estimator is None else estimator


def log_probability(estimator, X) -> np.ndarray:
    return log_of(estimator.predict_proba(X))


def _decision(estimator, X) -> np.ndarray:
    return two_columns(estimator.decision_function(X))
