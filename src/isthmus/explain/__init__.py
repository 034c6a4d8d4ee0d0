"""Explain labels: tables computed from fitted attributes.

Every method gives the same form: rows with ``class``, ``term`` and ``contribution``, largest first.
:func:`explain_document` uses the first of these that exists:

1. the estimator's own method ``term_contributions``, see :class:`Accountable`;
2. for the methods of Isthmus, and estimators derived from them, the function of this package for the type;
3. for anything else, the change of each class's probability when terms are left out one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from isthmus.choose.stages.apply import add_contributions
from isthmus.exceptions import UsageError
from isthmus.explain import terms
from isthmus.features.embeddings import VectorTable
from isthmus.features.tokens import merge_readable, surface_forms
from isthmus.pipeline import TransferPipeline

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
    pipeline : TransferPipeline
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
    if any(isinstance(getattr(step, "model", None), VectorTable) for _, step in model.steps[:-1]):
        return []  # vectors were given: a text with a word left out has none
    if not _columns_are_terms(model):
        return terms.left_out_words(model, text)
    rows = _account_of(model.steps[-1][1])(model, text)
    # Terms as the text writes them: "warranty", not the stem "warranti".
    forms: dict[str, str] = {}
    for _, step in model.steps[:-1]:
        forms |= surface_forms(step, [text], whole=False)
    return merge_readable(rows, forms) if forms else rows


def _account_of(model: Any) -> Callable[[TransferPipeline, str], list[dict]]:
    """Return the account of a method: its own, that of its nearest known ancestor, or leaving terms out."""
    if isinstance(model, Accountable):
        return _own_terms
    accounts = _accounts()
    return next((accounts[kind] for kind in type(model).__mro__ if kind in accounts), terms.left_out_terms)


@cache
def _accounts() -> dict[type, Callable[[TransferPipeline, str], list[dict]]]:
    """Return the methods with an account in this package, imported when the first label is explained."""
    from isthmus.classify.cocc.classifier import CoClusteringClassifier
    from isthmus.classify.dual.base import DualClassifier
    from isthmus.classify.projection.classifier import TermProjectionClassifier
    from isthmus.classify.self_training import SelfTrainingTransferClassifier
    from isthmus.classify.source_only import SourceOnlyClassifier
    from isthmus.classify.strings.classifier import TransductiveKernelClassifier
    from isthmus.explain import cocc, projection, strings
    from isthmus.papers.cocc import LiteralCoClustering
    from isthmus.papers.projection import LiteralTermProjection
    from isthmus.papers.strings import LiteralStringKernels

    return {
        CoClusteringClassifier: cocc.document_terms,
        DualClassifier: terms.dual_terms,
        LiteralCoClustering: cocc.document_terms,
        LiteralStringKernels: strings.document_terms,
        LiteralTermProjection: projection.document_terms,
        SelfTrainingTransferClassifier: terms.linear_terms,
        SourceOnlyClassifier: terms.linear_terms,
        TermProjectionClassifier: projection.document_terms,
        TransductiveKernelClassifier: strings.document_terms,
    }


def _own_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    model = pipeline.steps[-1][1]
    document, names = terms.text_row(pipeline, text) if len(pipeline.steps) > 1 else (text, None)
    contributions = model.term_contributions(document)
    n_classes = len(model.classes_)
    if any(np.shape(values) != (n_classes,) for values in contributions.values()):
        raise UsageError(
            f"term_contributions of {type(model).__name__} must give one number for each of the {n_classes} classes "
            "per term.",
            code="bad-parameter",
        )
    shown = list(contributions) if names is None else [names[column] for column in contributions]
    return terms.contribution_rows(model.classes_, shown, list(contributions.values()))


def _columns_are_terms(pipeline: TransferPipeline) -> bool:
    """Return whether columns are terms of the text; after a reduction of dimensions they are not."""
    if len(pipeline.steps) == 1:
        return True  # reads texts: there are no columns
    first = pipeline.steps[0][1]
    if not (hasattr(first, "analyze") or hasattr(first, "build_analyzer")):
        return False
    try:
        known, columns = first.get_feature_names_out(), pipeline[:-1].get_feature_names_out()
    except AttributeError:  # a step that has no names for its columns
        return False
    return len(pipeline.steps) == 2 or set(columns) <= set(known)
