"""Label: one folder per family of methods; the public classes can be imported from here."""

from importlib import import_module
from typing import Any

# Public name -> module. Lazy, so that one method does not load the others.
_PUBLIC = {
    "ClassNameClassifier": "isthmus.classify.names",
    "CoClusteringClassifier": "isthmus.classify.cocc.classifier",
    "FactorDualClassifier": "isthmus.classify.dual.factor",
    "ManifoldDualClassifier": "isthmus.classify.dual.manifold",
    "NeighbourSelfTraining": "isthmus.classify.neighbours",
    "SelfTrainingTransferClassifier": "isthmus.classify.self_training",
    "SourceOnlyClassifier": "isthmus.classify.source_only",
    "TermProjectionClassifier": "isthmus.classify.projection.classifier",
    "TransductiveCentroidClassifier": "isthmus.classify.vectors",
    "TransductiveKernelClassifier": "isthmus.classify.strings.classifier",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
