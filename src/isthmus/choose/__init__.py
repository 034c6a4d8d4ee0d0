"""Select and combine methods, and estimate how many labels are right, without target labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Public name -> module. A module is imported on first use, so that a saved model labels a text without importing the
# modules that selected it.
_PUBLIC = {
    "AccuracyEstimate": "isthmus._math.confidence",
    "Choice": "isthmus.choose.choice",
    "LabelModel": "isthmus.choose.model",
    "Evidence": "isthmus.choose.evidence",
    "ExpectedErrors": "isthmus._math.confidence",
    "Guarantee": "isthmus.choose.guaranteed",
    "LabelCheck": "isthmus.choose.checking",
    "LabelScorer": "isthmus.choose.evidence",
    "REVIEW_REASONS": "isthmus._math.confidence",
    "VotingRule": "isthmus.choose.voting",
    "budget_curve": "isthmus.choose.budgets",
    "check_labels": "isthmus.choose.checking",
    "choose": "isthmus.choose.choice",
    "draw_sample": "isthmus.choose.sampling",
    "estimate_accuracy": "isthmus.choose.trust",
    "estimate_shares": "isthmus.choose.prevalence",
    "guarantee": "isthmus.choose.guaranteed",
    "read_sample": "isthmus.corpus.filled",
    "reading_frame": "isthmus.choose.guaranteed",
    "review_mask": "isthmus._math.confidence",
    "sample_margin": "isthmus.choose.sampling",
    "sample_size": "isthmus.choose.sampling",
    "sample_table": "isthmus.choose.sampling",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ imports the names
    from isthmus._math.confidence import REVIEW_REASONS, AccuracyEstimate, ExpectedErrors, review_mask
    from isthmus.choose.budgets import budget_curve
    from isthmus.choose.checking import LabelCheck, check_labels
    from isthmus.choose.choice import Choice, choose
    from isthmus.choose.evidence import Evidence, LabelScorer
    from isthmus.choose.guaranteed import Guarantee, guarantee, reading_frame
    from isthmus.choose.model import LabelModel
    from isthmus.choose.prevalence import estimate_shares
    from isthmus.choose.sampling import draw_sample, sample_margin, sample_size, sample_table
    from isthmus.choose.trust import estimate_accuracy
    from isthmus.choose.voting import VotingRule
    from isthmus.corpus.filled import read_sample


def __getattr__(name: str) -> Any:
    """Import and return a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
