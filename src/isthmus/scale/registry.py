"""The methods that run on large inputs, and how each reads texts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from isthmus.exceptions import UsageError
from isthmus.methods import METHODS as METHODS_IN_MEMORY


@dataclass(frozen=True)
class LargeMethod:
    """A method with ``fit_passes``, and what it reads; ``texts``: it needs no vocabulary."""

    name: str
    estimator: str = ""  # below isthmus.classify; if empty, that of the registry
    texts: bool = False

    def vectorizer(self) -> Any:
        return None if self.texts else METHODS_IN_MEMORY[self.name].build_with()[0]

    def reading(self, topic: Any) -> Any:
        """The :class:`isthmus.scale.reading.Reading` of this method, from that of topics."""
        if self.texts:
            return topic
        sentiment = self.vectorizer().sentiment
        return replace(topic, sentiment=sentiment, pairs=sentiment and topic.analyzer == "words")

    def make(self, random_state: int | None) -> Any:
        if not self.estimator:
            return METHODS_IN_MEMORY[self.name].build_with(random_state=random_state)[-1]
        module, _, name = self.estimator.rpartition(".")
        return getattr(import_module(f"isthmus.classify.{module}"), name)()


METHODS = {
    method.name: method
    for method in (
        LargeMethod("nbc"),
        LargeMethod("projection"),
        LargeMethod("logistic"),
        LargeMethod("svm"),
        LargeMethod("cocc"),
        LargeMethod("strings", "strings.landmarks.LandmarkKernelClassifier", texts=True),
        LargeMethod("vectors", "vectors.TransductiveCentroidClassifier", texts=True),
        LargeMethod("self-training"),
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
