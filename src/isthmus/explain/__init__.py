"""Account: why this label. Tables only, computed from fitted attributes.

Every method gives the same form: rows with ``class``, ``term`` and ``contribution``, largest first.
:func:`explain_document` finds the right module for a fitted pipeline.
"""

from __future__ import annotations

import importlib

from isthmus.exceptions import UsageError
from isthmus.features.surface import merge_readable, surface_forms
from isthmus.pipeline import TransferPipeline

# Type of a pipeline's last step -> module of this room with ``document_terms(pipeline, text)``.
_ACCOUNTS = {
    "TermProjectionClassifier": "isthmus.explain.projection",
    "SourceOnlyClassifier": "isthmus.explain.linear",
    "SelfTrainingTransferClassifier": "isthmus.explain.linear",
    "TransductiveSVM": "isthmus.explain.linear",
    "SpectralGraphTransducer": "isthmus.explain.graph",
    "CoClusteringClassifier": "isthmus.explain.cocc",
    "ManifoldDualClassifier": "isthmus.explain.dual",
    "FactorDualClassifier": "isthmus.explain.dual",
    "TransductiveKernelClassifier": "isthmus.explain.strings",
    "SpectralFeatureAlignment": "isthmus.explain.occlusion",
    "StructuralCorrespondence": "isthmus.explain.occlusion",
    "CorrelationAlignment": "isthmus.explain.occlusion",
    "TrAdaBoostClassifier": "isthmus.explain.occlusion",
}


def explain_document(pipeline: TransferPipeline, text: str, *, top: int | None = 10) -> list[dict]:
    """Terms of one document that speak for and against each class.

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
        ``class``, ``term`` (as the text writes it, where the method sees stems), ``contribution`` (positive speaks for
        the class), ordered by class as in ``classes_`` and then by absolute contribution. Some methods say more about
        a term, in further keys; where several methods vote, what they say about a term is added up.

    Examples
    --------
    >>> from isthmus.explain import explain_document
    >>> from isthmus.recipes import make_recipe
    >>> texts = ["kind staff", "great bike", "rude staff", "slow bike"]
    >>> pipeline = make_recipe("nbc", min_df=1).fit(texts, ["staff", "product", None, None])
    >>> [(row["class"], row["term"]) for row in explain_document(pipeline, "rude staff", top=1)]
    [('product', 'staff'), ('staff', 'staff')]
    """
    rows = _document_terms(pipeline, text)
    rank = {label: place for place, label in enumerate(pipeline.classes_.tolist())}
    rows.sort(key=lambda row: (rank[row["class"]], -abs(row["contribution"]), row["term"]))
    if top is None:
        return rows
    kept: list[dict] = []
    seen: dict = {}
    for row in rows:
        seen[row["class"]] = seen.get(row["class"], 0) + 1
        if seen[row["class"]] <= top:
            kept.append(row)
    return kept


def _document_terms(model, text: str) -> list[dict]:
    if hasattr(model, "members"):
        return _vote_terms(model, text)
    if hasattr(model, "document_terms"):  # a model that gives its own account
        return model.document_terms(text, _document_terms)
    kind = type(model.steps[-1][1]).__name__
    if kind not in _ACCOUNTS:
        raise UsageError(
            f"{kind} has no account of its labels; use one of {', '.join(_ACCOUNTS)}.", code="bad-parameter"
        )
    rows = importlib.import_module(_ACCOUNTS[kind]).document_terms(model, text)
    return as_written(rows, model, text)


def as_written(rows: list[dict], pipeline: TransferPipeline, text: str) -> list[dict]:
    """The same rows with every term as the text writes it: "warranty", not the stem "warranti"."""
    forms: dict[str, str] = {}
    for _, step in pipeline.steps[:-1]:
        forms |= surface_forms(step, [text], whole=False)
    return merge_readable(rows, forms) if forms else rows


def _vote_terms(model, text: str) -> list[dict]:
    """Terms of all methods that vote, each once per class.

    Each method's contributions are made to sum to its weight, since scales differ, and then added up.
    """
    shares: dict[tuple, float] = {}
    for name, member in model.members.items():
        found = _document_terms(member, text)
        total = sum(abs(row["contribution"]) for row in found) or 1.0
        for row in found:
            place = row["class"], row["term"]
            shares[place] = shares.get(place, 0.0) + model.weights[name] * row["contribution"] / total
    return [{"class": label, "term": term, "contribution": share} for (label, term), share in shares.items()]
