"""Isthmus: labels in one domain of text, none in another.

``import isthmus`` loads numpy, scipy and scikit-learn only; everything else arrives when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Public name -> module it lives in. The one list of public names: docs and tests read it.
_PUBLIC = {
    "TermProjection": "isthmus.features.projection",
    "TermProjectionClassifier": "isthmus.classify.projection",
    "ManifoldDualClassifier": "isthmus.classify.dual",
    "FactorDualClassifier": "isthmus.classify.dual_factor",
    "CoClusteringClassifier": "isthmus.classify.cocc",
    "StringKernel": "isthmus.features.strings",
    "SpectralFeatureAlignment": "isthmus.classify.baselines.sfa",
    "StructuralCorrespondence": "isthmus.classify.baselines.scl",
    "CorrelationAlignment": "isthmus.classify.baselines.coral",
    "BoostedTransfer": "isthmus.classify.baselines.tradaboost",
    "TransductiveKernelClassifier": "isthmus.classify.kernels",
    "SpectralGraphTransducer": "isthmus.classify.baselines.sgt",
    "TransductiveSVM": "isthmus.classify.baselines.tsvm",
    "CrossGuidedKMeans": "isthmus.cluster.guided",
    "SourceOnlyClassifier": "isthmus.classify.baselines.source_only",
    "SelfTrainingTransfer": "isthmus.classify.baselines.self_training",
    "make_transfer_pipeline": "isthmus.base",
    "label": "isthmus.api",
    "load": "isthmus.keep",
    "cluster": "isthmus.grouping",
    "diagnose": "isthmus.shift.diagnose",
}

__all__ = ["__version__", *sorted(_PUBLIC)]

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.api import label
    from isthmus.base import make_transfer_pipeline
    from isthmus.classify.baselines.coral import CorrelationAlignment
    from isthmus.classify.baselines.scl import StructuralCorrespondence
    from isthmus.classify.baselines.self_training import SelfTrainingTransfer
    from isthmus.classify.baselines.sfa import SpectralFeatureAlignment
    from isthmus.classify.baselines.sgt import SpectralGraphTransducer
    from isthmus.classify.baselines.source_only import SourceOnlyClassifier
    from isthmus.classify.baselines.tradaboost import BoostedTransfer
    from isthmus.classify.baselines.tsvm import TransductiveSVM
    from isthmus.classify.cocc import CoClusteringClassifier
    from isthmus.classify.dual import ManifoldDualClassifier
    from isthmus.classify.dual_factor import FactorDualClassifier
    from isthmus.classify.kernels import TransductiveKernelClassifier
    from isthmus.classify.projection import TermProjectionClassifier
    from isthmus.cluster.guided import CrossGuidedKMeans
    from isthmus.features.projection import TermProjection
    from isthmus.features.strings import StringKernel
    from isthmus.grouping import cluster
    from isthmus.keep import load
    from isthmus.shift.diagnose import diagnose


def __getattr__(name):
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'isthmus' has no attribute {name!r}")


def __dir__():
    return __all__
