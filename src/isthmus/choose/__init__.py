"""LabelScorer: which method, and how far to trust its labels, without target labels."""

from isthmus.choose.budgets import budget_curve, review_mask
from isthmus.choose.checking import LabelCheck, check_labels, estimate_shares
from isthmus.choose.choice import Choice, choose
from isthmus.choose.combined import CombinedModel
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.sampling import draw_sample, read_sample, sample_margin, sample_size, sample_table
from isthmus.choose.trust import AccuracyEstimate, estimate_accuracy
from isthmus.choose.voting import VotingRule

__all__ = [
    "AccuracyEstimate",
    "Choice",
    "CombinedModel",
    "Evidence",
    "LabelCheck",
    "LabelScorer",
    "VotingRule",
    "budget_curve",
    "check_labels",
    "choose",
    "draw_sample",
    "estimate_accuracy",
    "estimate_shares",
    "read_sample",
    "review_mask",
    "sample_margin",
    "sample_size",
    "sample_table",
]
