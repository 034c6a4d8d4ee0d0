"""Label: one folder per family of methods; the public classes can be imported from here."""

from isthmus._lazy import lazy_names

# Public name -> module. Lazy, so that one method does not load the others.
_PUBLIC = {
    "ClassNameClassifier": "isthmus.classify.names",
    "CoClusteringClassifier": "isthmus.classify.cocc.classifier",
    "FactorDualClassifier": "isthmus.classify.dual.factor",
    "ManifoldDualClassifier": "isthmus.classify.dual.manifold",
    "SelfTrainingTransferClassifier": "isthmus.classify.self_training",
    "SourceOnlyClassifier": "isthmus.classify.source_only",
    "TermProjectionClassifier": "isthmus.classify.projection.classifier",
    "TransductiveCentroidClassifier": "isthmus.classify.vectors",
    "TransductiveKernelClassifier": "isthmus.classify.strings.classifier",
}

__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
