"""Methods that the papers compare themselves with, by the names that their rows have in the tables."""

from __future__ import annotations

from typing import Any

from isthmus.base import TransferClassifier
from isthmus.methods import make_method as make_own_method
from isthmus.pipeline import TransferPipeline, make_transfer_pipeline
from isthmus_bench.baselines.aligned_features import (
    CorrelationAlignment,
    SpectralFeatureAlignment,
    StructuralCorrespondence,
)
from isthmus_bench.baselines.sgt import SpectralGraphTransducer
from isthmus_bench.baselines.tradaboost import TrAdaBoostClassifier
from isthmus_bench.baselines.tsvm import TransductiveSVM

# Name -> estimator, and the method of Isthmus whose features it reads: a difference in the tables is then due to the
# method and not to the features.
BASELINES: dict[str, tuple[type[TransferClassifier], str]] = {
    "sfa": (SpectralFeatureAlignment, "logistic"),
    "scl": (StructuralCorrespondence, "logistic"),
    "coral": (CorrelationAlignment, "logistic"),
    "tradaboost": (TrAdaBoostClassifier, "logistic"),
    "tsvm": (TransductiveSVM, "svm"),
    "sgt": (SpectralGraphTransducer, "svm"),
}


def make_method(name: str, **options: Any) -> TransferPipeline:
    """Build the unfitted pipeline of a baseline or of a method of Isthmus.

    Parameters
    ----------
    name : str
        A key of ``BASELINES`` or of ``isthmus.methods.METHODS``.
    **options
        As for :func:`isthmus.methods.make_method`.

    Returns
    -------
    TransferPipeline

    Examples
    --------
    >>> texts = ["kind staff", "great bike", "polite staff", "fast bike", "rude staff", "slow bike"]
    >>> labels = ["staff", "product", "staff", "product", None, None]
    >>> make_method("tsvm", min_df=1).fit(texts, labels).transduction_[-2:].tolist()
    ['staff', 'product']
    """
    if name not in BASELINES:
        return make_own_method(name, **options)
    estimator, features = BASELINES[name]
    vectorizer = make_own_method(features, **options).steps[0][1]
    has_seed = "random_state" in estimator._parameter_constraints
    shared = {"random_state": options.get("random_state", 0)} if has_seed else {}
    return make_transfer_pipeline(vectorizer, estimator(**shared))
