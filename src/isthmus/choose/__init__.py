"""Judge: which method, and how far to trust its labels, without target labels."""

from isthmus._math.confidence import REVIEW_REASONS, AccuracyEstimate, review_mask
from isthmus.choose.budgets import budget_curve
from isthmus.choose.checking import LabelCheck, check_labels
from isthmus.choose.choice import Choice, choose
from isthmus.choose.combined import CombinedModel
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.guaranteed import Guarantee, guarantee, reading_frame
from isthmus.choose.prevalence import estimate_shares
from isthmus.choose.sampling import draw_sample, sample_margin, sample_size, sample_table
from isthmus.choose.trust import estimate_accuracy
from isthmus.choose.voting import VotingRule
from isthmus.corpus.filled import read_sample

__all__ = [
    "REVIEW_REASONS",
    "AccuracyEstimate",
    "Choice",
    "CombinedModel",
    "Evidence",
    "Guarantee",
    "LabelCheck",
    "LabelScorer",
    "VotingRule",
    "budget_curve",
    "check_labels",
    "choose",
    "draw_sample",
    "estimate_accuracy",
    "estimate_shares",
    "guarantee",
    "read_sample",
    "reading_frame",
    "review_mask",
    "sample_margin",
    "sample_size",
    "sample_table",
]
