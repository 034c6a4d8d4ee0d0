"""Explain labels: tables computed from fitted attributes.

Every method gives the same form: rows with ``class``, ``term`` and ``contribution``, largest first.
:func:`explain_document` uses the first of these that exists:

1. the estimator's own method ``term_contributions``, see :class:`Accountable`;
2. for the methods of Isthmus, and estimators derived from them, the function of this package for their rule;
3. for anything else, the change of each class's probability when terms are left out one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from isthmus.choose.model import Member
from isthmus.choose.stages.apply import add_contributions
from isthmus.classify.rules import (
    ClusterMapRule,
    CoClusterRule,
    DualRule,
    GaussianDualRule,
    LinearRule,
    ProjectionRule,
    StringRule,
)
from isthmus.exceptions import UsageError
from isthmus.explain import terms
from isthmus.features.embeddings import VectorTable
from isthmus.features.tokens import merge_readable, surface_forms

__all__ = ["Accountable", "explain_document"]


@runtime_checkable
class Accountable(Protocol):
    """An estimator that reports which terms made a label; any estimator may have this method.

    Examples
    --------
    >>> from isthmus.explain import Accountable
    >>> class Linear:
    ...     def term_contributions(self, row):
    ...         return {column: row[0, column] * self.coef_[:, column] for column in row.indices}
    >>> isinstance(Linear(), Accountable)
    True
    """

    def term_contributions(self, row: Any) -> Mapping[Any, Sequence[float]]:
        """Return the contribution of each term of one document to the score of each class.

        Parameters
        ----------
        row : CSR matrix of shape (1, n_columns), or str
            The document as the fitted estimator sees it: a row of the vectoriser, or the text if the estimator
            reads texts.

        Returns
        -------
        mapping
            Column number (for a text: the word) to one number per class, in the order of ``classes_``; a positive
            number supports the class.
        """


def explain_document(pipeline: Any, text: str, *, top: int | None = 10) -> list[dict]:
    """Return the terms of one document that support or oppose each class.

    Parameters
    ----------
    pipeline : TransferPipeline, Member or LabelModel
        Fitted, from raw text to labels.
    text : str
    top : int or None
        Rows per class, by absolute contribution; None for all.

    Returns
    -------
    list of dict
        ``class``, ``term`` (as the text writes it, even if the method sees stems), ``contribution`` (positive supports
        the class), ordered by class as in ``classes_`` and then by absolute contribution. Some methods add more
        keys. If several methods vote, their contributions are added.

    See Also
    --------
    isthmus.api.result.LabelResult.reasons : The same for a labelled text.

    Examples
    --------
    >>> from isthmus.explain import explain_document
    >>> from isthmus.methods import make_method
    >>> texts = ["kind staff", "great bike", "rude staff", "slow bike"]
    >>> pipeline = make_method("nbc", min_df=1).fit(texts, ["staff", "product", None, None])
    >>> [(row["class"], row["term"]) for row in explain_document(pipeline, "rude staff", top=1)]
    [('product', 'staff'), ('staff', 'staff')]
    """
    rows = _document_terms(pipeline, text)
    rank = {label: place for place, label in enumerate(pipeline.classes_.tolist())}
    rows.sort(key=lambda row: (rank[row["class"]], -abs(row["contribution"]), row["term"]))
    return [row for _, of_class in groupby(rows, itemgetter("class")) for row in islice(of_class, top)]


def _document_terms(model: Any, text: str) -> list[dict]:
    if hasattr(model, "stages"):
        # Terms of all members that vote, each once per class; the contributions of a member sum to its weight. The rows
        # of a single member stay as they are, with whatever else they state about a term.
        parts = [(_document_terms(member, text), model.weights[name]) for name, member in model.voters.items()]
        rows = parts[0][0] if len(parts) == 1 else add_contributions(parts)
        for stage in model.stages:
            rows = stage.explain(text, rows)
        return rows
    member = Member.of(model)
    if any(isinstance(getattr(step, "model", None), VectorTable) for step in member.steps):
        return []  # vectors were given: a text with a word left out has none
    names = terms.term_names(member)
    if member.steps and names is None:
        return terms.left_out_words(member, text)
    estimator = getattr(member.rule, "estimator", None)
    if estimator is not None and not isinstance(estimator, Accountable) and hasattr(estimator, "prediction_rule"):
        # An estimator derived from one of Isthmus is explained by the rule that it inherits.
        member = replace(member, rule=estimator.prediction_rule() or member.rule)
    rows = _account_of(member.rule)(member, text)
    # Terms as the text writes them: "warranty", not the stem "warranti".
    forms: dict[str, str] = {}
    for step in member.steps:
        forms |= surface_forms(step, [text], whole=False)
    return merge_readable(rows, forms) if forms else rows


def _account_of(rule: Any) -> Callable[[Member, str], list[dict]]:
    """Return the account of a method: its own, that of its rule, or leaving terms out."""
    from isthmus.explain import cocc, projection, strings

    if isinstance(getattr(rule, "estimator", rule), Accountable):
        return _own_terms
    accounts: dict[type, Callable[[Member, str], list[dict]]] = {
        CoClusterRule: cocc.document_terms,
        ClusterMapRule: cocc.document_terms,
        DualRule: terms.dual_terms,
        GaussianDualRule: terms.dual_terms,
        LinearRule: terms.linear_terms,
        ProjectionRule: projection.document_terms,
        StringRule: strings.document_terms,
    }
    return accounts.get(type(rule), terms.left_out_terms)


def _own_terms(member: Member, text: str) -> list[dict]:
    names = terms.term_names(member) if member.steps else None
    document = text if names is None else terms.text_row(member, text)
    contributions = getattr(member.rule, "estimator", member.rule).term_contributions(document)
    n_classes = len(member.classes_)
    if any(np.shape(values) != (n_classes,) for values in contributions.values()):
        raise UsageError(
            f"term_contributions of {member.kind} must give one number for each of the {n_classes} classes per term.",
            code="bad-parameter",
        )
    shown = list(contributions) if names is None else [names[column] for column in contributions]
    return terms.contribution_rows(member.classes_, shown, list(contributions.values()))
