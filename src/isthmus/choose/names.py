"""Names of classes as a voter: when they may count, how much, and how classes that only have a name join a vote.

The names know nothing of the source's labels, so the labelled source itself says how far they mean something. In the
target their labels must lead back to the source about as well as the vote's own; a source of a few documents cannot
show that, and there names count anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus.choose.combined import pool, spread_columns
from isthmus.choose.evidence import Evidence
from isthmus.choose.trust import THIN
from isthmus.features.lexicons import read_polarity

LEAST_AGREEMENT = 0.1  # Cohen's kappa of the names alone with the source's labels
LEAST_PART = 1 / 3  # of the names in what names and labelled documents tell apart
LEAST_WAY_BACK = -0.2  # log-odds by which the way back to the source may be worse than the vote's
NAMES_SHARE = 1 / 3  # of the names in the vote


def why_names_stay_out(
    classes: Iterable, agreement: Any, named: Evidence | None, vote: Evidence | None, n_labelled: int
) -> str:
    """Why names do not vote on a pair, in one sentence; empty where they may.

    Parameters
    ----------
    classes : iterable
        Classes of the source.
    agreement : NameAgreement or None
        ``agreement_`` of a fitted :class:`isthmus.ClassNameClassifier`.
    named, vote : Evidence or None
        About the labels of that classifier, and about those of the vote without it.
    n_labelled : int
        Labelled source documents.

    Examples
    --------
    >>> from isthmus.choose import Evidence
    >>> from isthmus.choose.names import why_names_stay_out
    >>> from isthmus.classify.names.settling import NameAgreement
    >>> back = Evidence(0.6, 0.6, 0.7, 0.8)
    >>> why_names_stay_out(["sport", "business"], NameAgreement(names=0.5, documents=0.7), back, back, 500)
    ''
    >>> why_names_stay_out(["sport", "business"], NameAgreement(names=0.1, documents=0.7), back, back, 500)
    "the names alone agree too little with the source's labels"
    """
    if read_polarity(classes) is not None:
        return "the classes are verdicts, which names of classes do not tell apart"
    if agreement is None:
        return "fewer than two classes have both a name that means something and labelled documents"
    if agreement.names < LEAST_AGREEMENT or agreement.weight < LEAST_PART:
        return "the names alone agree too little with the source's labels"
    if n_labelled >= THIN and named is not None and vote is not None and _way_back(named, vote) < LEAST_WAY_BACK:
        return "trained on their labels, a classifier gets fewer of the source's right than with those of the vote"
    return ""


def _way_back(named: Evidence, vote: Evidence) -> float:
    """By how much, in log-odds over all views, the names' labels lead back to the source better than the vote's."""
    pairs = zip(named.views, vote.views, strict=True)
    return float(
        np.mean([clipped_logit(one.reverse_accuracy) - clipped_logit(other.reverse_accuracy) for one, other in pairs])
    )


def add_names(vote: np.ndarray, named: np.ndarray, share: float = NAMES_SHARE) -> np.ndarray:
    """Probabilities of a vote and of names over the same classes, together.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.names import add_names
    >>> add_names(np.array([[0.6, 0.4]]), np.array([[0.1, 0.9]])).round(2).tolist()
    [[0.39, 0.61]]
    """
    return pool({"vote": vote, "names": named}, {"vote": 1 - share, "names": share})


def add_named_classes(vote: np.ndarray, known: np.ndarray, named: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Probabilities of a vote over the source's classes, with the classes added that only have a name.

    An added class has the probability that names give it, and the vote shares out the rest: those who do not know a
    class cannot speak against it.

    Parameters
    ----------
    vote : ndarray of shape (n_documents, n_known)
    known : ndarray
        Classes of the vote, in order.
    named : ndarray of shape (n_documents, n_classes)
        Probabilities by the classifier of names, which knows all classes.
    classes : ndarray
        Its classes, in order.

    Returns
    -------
    ndarray of shape (n_documents, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.names import add_named_classes
    >>> vote, named = np.array([[0.75, 0.25]]), np.array([[0.1, 0.6, 0.3]])
    >>> add_named_classes(vote, np.array(["a", "c"]), named, np.array(["a", "b", "c"])).round(2).tolist()
    [[0.3, 0.6, 0.1]]
    """
    own = spread_columns(vote, known, classes)
    added = ~np.isin(classes, known)
    rest = 1 - named[:, added].sum(axis=1, keepdims=True)
    return np.where(added, named, rest * own)
