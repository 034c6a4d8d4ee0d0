"""Explain term projection: the contribution of each term of a document to the score of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from isthmus._validation import check_rows
from isthmus.choose.model import Member
from isthmus.classify.rules import ProjectionRule
from isthmus.explain.terms import term_names, text_row
from isthmus.features.weights import as_counts

if TYPE_CHECKING:  # the rule of a saved result needs no estimator
    from isthmus.classify.projection.classifier import TermProjectionClassifier
    from isthmus.papers.projection import LiteralTermProjection

INTERCEPT = "(class as such)"
_COLUMNS = ("class", "term", "contribution", "count", "term_class")


def explain_projection(model: TermProjectionClassifier | LiteralTermProjection, row, names=None) -> list[dict]:
    """Return the contributions of one document's terms to the score of every class.

    By rule a term supports only its own class, with count · weight. With the SVM it supports or opposes every
    class, by the SVM's coefficient for the feature it goes to; the intercept is a row of its own. For each class the
    contributions add up to :meth:`~isthmus.TermProjectionClassifier.class_scores`.

    Parameters
    ----------
    model : TermProjectionClassifier or LiteralTermProjection
        Fitted.
    row : {sparse matrix, ndarray} of shape (1, n_terms)
        Counts of the document.
    names : sequence of str, optional
        Names of the columns; column numbers if omitted.

    Returns
    -------
    list of dict
        ``class``, ``term``, ``contribution``, ``count``, ``term_class`` (the class the term is projected to).

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TermProjectionClassifier
    >>> from isthmus.explain.projection import explain_projection
    >>> X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2]])
    >>> model = TermProjectionClassifier().fit(X, ["red", "red", "blue", "blue"])
    >>> rows = explain_projection(model, np.array([[0, 0, 2]]), names=["rose", "and", "sky"])
    >>> [(row["class"], row["term"], round(row["contribution"], 6)) for row in rows]
    [('blue', 'sky', 10.0)]
    """
    counts = as_counts(check_rows(model, row, kind="counts"))
    return term_rows(model.prediction_rule(), model.classes_.tolist(), counts, names)


def term_rows(rule: ProjectionRule, classes: list, counts: sp.csr_matrix, names=None) -> list[dict]:
    """Return the rows of :func:`explain_projection`.

    Parameters
    ----------
    rule : ProjectionRule
    classes : list
    counts : csr_matrix of shape (1, n_terms)
    names : sequence of str, optional

    Returns
    -------
    list of dict
    """
    # Terms that were left out have no class.
    known = (rule.term_class[counts.indices] >= 0) & (counts.data > 0)
    terms, count = counts.indices[known], counts.data[known]
    goes_to, amount = rule.term_class[terms], count * rule.weight[terms]
    share = np.eye(len(classes))[goes_to]  # by rule, each term counts for its own class only
    intercept = np.zeros(len(classes)) if rule.intercept is None else rule.intercept
    if rule.coef is not None:
        share = rule.coef[:, goes_to].T / amount.sum() if len(terms) else np.zeros((0, len(classes)))
    rows: list[tuple] = []
    for code, label in enumerate(classes):
        for place in np.flatnonzero(share[:, code]):
            term = int(terms[place]) if names is None else names[terms[place]]
            contribution = float(amount[place] * share[place, code])
            rows.append((label, term, contribution, float(count[place]), classes[goes_to[place]]))
        if intercept[code]:
            rows.append((label, INTERCEPT, float(intercept[code]), 0.0, None))
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


def document_terms(member: Member, text: str) -> list[dict]:
    """Return the rows of :func:`explain_projection` for a text.

    Parameters
    ----------
    member : Member
        With a ``ProjectionRule``.
    text : str

    Returns
    -------
    list of dict
    """
    counts = as_counts(text_row(member, text))
    return term_rows(member.rule, member.classes_.tolist(), counts, term_names(member))
