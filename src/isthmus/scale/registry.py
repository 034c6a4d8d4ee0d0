"""The methods that run on large inputs, and how each reads texts."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from isthmus.exceptions import UsageError


@dataclass(frozen=True)
class LargeMethod:
    """An estimator with ``fit_passes``, set as its recipe, and the words it reads.

    ``sentiment``: it reads negations and pairs of words. ``texts``: it makes its features of the texts and needs no
    vocabulary.
    """

    name: str
    module: str
    estimator: str
    options: Mapping[str, Any] = field(default_factory=dict)
    sentiment: bool = False
    texts: bool = False

    def reading(self, topic: Any) -> Any:
        """The :class:`isthmus.scale.reading.Reading` of this method, from that of topics."""
        return replace(topic, sentiment=self.sentiment, pairs=self.sentiment)

    def make(self, random_state: int | None) -> Any:
        made = getattr(import_module(f"isthmus.classify.{self.module}"), self.estimator)(**self.options)
        if "random_state" in made.get_params():
            made.set_params(random_state=random_state)
        return made


METHODS = {
    method.name: method
    for method in (
        LargeMethod("nbc", "naive_bayes", "NaiveBayes"),
        LargeMethod("projection", "projection.classifier", "TermProjectionClassifier"),
        LargeMethod("logistic", "linear", "LinearClassifier", {"C": 10.0, "sublinear": True}, sentiment=True),
        LargeMethod("svm", "linear", "LinearClassifier", {"loss": "squared_hinge"}),
        LargeMethod("cocc", "cocc.classifier", "CoClusteringClassifier"),
        LargeMethod("strings", "strings.landmarks", "LandmarkKernelClassifier", texts=True),
        LargeMethod("vectors", "vectors", "TransductiveCentroidClassifier", texts=True),
        LargeMethod("self-training", "self_training", "SelfTrainingTransferClassifier", sentiment=True),
    )
}


def get_method(name: str) -> LargeMethod:
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(str(name), METHODS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(
        f"Method {name!r} does not run on large inputs; use auto or one of {', '.join(METHODS)}.{hint}",
        code="unknown-method",
    )
