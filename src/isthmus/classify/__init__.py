"""Label: one folder per family of methods; the public classes can be imported from here."""

from isthmus._lazy import lazy_names

# Public name -> module. Lazy, so that one method does not load the others.
_PUBLIC = {
    "AlignedFeaturesClassifier": "isthmus.classify.baselines.aligned_features",
    "ClassNameClassifier": "isthmus.classify.names.classifier",
    "CoClusteringClassifier": "isthmus.classify.cocc.classifier",
    "CorrelationAlignment": "isthmus.classify.baselines.aligned_features",
    "FactorDualClassifier": "isthmus.classify.dual.factor",
    "ManifoldDualClassifier": "isthmus.classify.dual.manifold",
    "SelfTrainingTransferClassifier": "isthmus.classify.self_training",
    "SourceOnlyClassifier": "isthmus.classify.source_only",
    "SpectralFeatureAlignment": "isthmus.classify.baselines.aligned_features",
    "SpectralGraphTransducer": "isthmus.classify.baselines.sgt",
    "StructuralCorrespondence": "isthmus.classify.baselines.aligned_features",
    "TermProjectionClassifier": "isthmus.classify.projection.classifier",
    "TrAdaBoostClassifier": "isthmus.classify.baselines.tradaboost",
    "TransductiveCentroidClassifier": "isthmus.classify.vectors",
    "TransductiveKernelClassifier": "isthmus.classify.strings.classifier",
    "TransductiveSVM": "isthmus.classify.baselines.tsvm",
}

__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
