"""Label texts of one domain with a model trained on labelled texts of another domain.

``import isthmus`` loads no other module. A public name loads numpy, scipy and scikit-learn; other packages load on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module that defines it. Documentation and tests read this only list of public names.
_PUBLIC = {
    "TermProjection": "isthmus.features.projection",
    "TermProjectionClassifier": "isthmus.classify.projection.classifier",
    "ManifoldDualClassifier": "isthmus.classify.dual.manifold",
    "FactorDualClassifier": "isthmus.classify.dual.factor",
    "CoClusteringClassifier": "isthmus.classify.cocc.classifier",
    "ClassNameClassifier": "isthmus.classify.names",
    "StringKernel": "isthmus.features.strings",
    "TransductiveCentroidClassifier": "isthmus.classify.vectors",
    "TransductiveKernelClassifier": "isthmus.classify.strings.classifier",
    "CrossGuidedKMeans": "isthmus.clustering.guided",
    "NeighbourSelfTraining": "isthmus.classify.neighbours",
    "SourceOnlyClassifier": "isthmus.classify.source_only",
    "SelfTrainingTransferClassifier": "isthmus.classify.self_training",
    "make_transfer_pipeline": "isthmus.pipeline",
    "label": "isthmus.api.label",
    "load": "isthmus.saving",
    "cluster": "isthmus.api.cluster",
    "diagnose": "isthmus.api.diagnose",
}

# Modules that load on attribute access, so that `isthmus.features.tf_chi2` needs no second import.
_PACKAGES = (
    "base", "choose", "classify", "clustering", "corpus", "evaluate", "exceptions", "explain", "features", "feedback",
    "methods", "papers", "pipeline", "report", "scale", "shift", "workbench", "workspace",
)  # fmt: skip

__all__ = ["__version__", *sorted(_PUBLIC)]

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.api.cluster import cluster
    from isthmus.api.diagnose import diagnose
    from isthmus.api.label import label
    from isthmus.classify.cocc.classifier import CoClusteringClassifier
    from isthmus.classify.dual.factor import FactorDualClassifier
    from isthmus.classify.dual.manifold import ManifoldDualClassifier
    from isthmus.classify.names import ClassNameClassifier
    from isthmus.classify.neighbours import NeighbourSelfTraining
    from isthmus.classify.projection.classifier import TermProjectionClassifier
    from isthmus.classify.self_training import SelfTrainingTransferClassifier
    from isthmus.classify.source_only import SourceOnlyClassifier
    from isthmus.classify.strings.classifier import TransductiveKernelClassifier
    from isthmus.classify.vectors import TransductiveCentroidClassifier
    from isthmus.clustering.guided import CrossGuidedKMeans
    from isthmus.features.projection import TermProjection
    from isthmus.features.strings import StringKernel
    from isthmus.pipeline import make_transfer_pipeline
    from isthmus.saving import load


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"isthmus.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, *_PACKAGES])
