"""Judge: which method, and how far to trust its labels, without target labels."""

from isthmus.choose.choice import Choice, choose
from isthmus.choose.combined import CombinedModel
from isthmus.choose.evidence import Evidence, Judge
from isthmus.choose.trust import AccuracyEstimate, estimate_accuracy, review_mask

__all__ = [
    "AccuracyEstimate",
    "Choice",
    "CombinedModel",
    "Evidence",
    "Judge",
    "choose",
    "estimate_accuracy",
    "review_mask",
]
