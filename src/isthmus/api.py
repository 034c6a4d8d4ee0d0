"""The short way in: texts and labels in, labels with confidence and reasons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isthmus.base import TransferPipeline, check_texts, read_labels
from isthmus.choose.trust import review_mask
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.explain import explain_document
from isthmus.recipes import RECIPES, get_recipe

_FALLBACK = "logistic"
_WITH_WORDS = "dual-manifold"


@dataclass
class LabelResult:
    """Labels for the target, how sure they are, and why.

    Attributes
    ----------
    labels : ndarray
        One label per target text.
    confidence : ndarray
        Probability of that label, by the method's own account.
    needs_review : ndarray of bool
        Texts a person should look at; see :func:`isthmus.choose.review_mask`. Texts without any known word are always
        among them.
    method : str
        The recipe that made the labels.
    decision : list of dict
        Which methods were considered, and why this one was taken.
    probabilities : ndarray
        One column per class, in the order of ``classes``.
    model : TransferPipeline
        The fitted pipeline; :meth:`label_new` asks it about later documents without refitting.
    ids : list of str or None
        Names of the texts, where they came with some.
    """

    labels: np.ndarray
    confidence: np.ndarray
    needs_review: np.ndarray
    method: str
    decision: list[dict]
    classes: np.ndarray
    probabilities: np.ndarray
    model: TransferPipeline
    texts: list[str]
    source_texts: list[str] = field(repr=False)
    source_labels: np.ndarray = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)
    ids: list[str] | None = field(default=None, repr=False)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Label of each later text, without refitting."""
        return self.label_new(texts).labels

    def label_new(self, texts: Sequence[str], *, ids: Sequence[str] | None = None) -> LabelResult:
        """The same model on later texts, without refitting: labels with confidence, review and reasons."""
        texts = check_texts(texts)
        probabilities = self.model.predict_proba(texts)
        codes = np.searchsorted(self.classes, self.model.predict(texts))
        confidence = probabilities[np.arange(len(codes)), codes]
        empty = np.array([not text.strip() for text in texts], dtype=bool)
        return replace(
            self,
            labels=self.classes[codes],
            confidence=confidence,
            needs_review=review_mask(confidence, self.settings.get("error_budget", 0.1)) | empty,
            probabilities=probabilities,
            texts=texts,
            ids=None if ids is None else list(ids),
        )

    def reasons(self, i: int, top: int = 10) -> list[dict]:
        """Terms of target text ``i`` that speak for or against each class: ``class``, ``term``, ``contribution``."""
        return explain_document(self.model, self.texts[i], top=top)

    def columns(self) -> dict[str, list]:
        """The result as columns: text, label, confidence, needs_review."""
        return {
            "text": list(self.texts),
            "label": self.labels.tolist(),
            "confidence": [round(float(value), 4) for value in self.confidence],
            "needs_review": self.needs_review.tolist(),
        }

    def to_frame(self):
        """The result as a polars data frame (extra ``app``)."""
        try:
            import polars
        except ImportError:
            raise MissingExtraError(
                "to_frame() needs polars; install it with: pip install 'isthmus[app]'", code="missing-extra"
            ) from None
        return polars.DataFrame(self.columns())

    def report(self, path, *, force: bool = False):
        """Write one self-contained HTML page about this result; returns its path."""
        from isthmus.report import write_label_report

        return write_label_report(self, path, force=force)

    def save(self, path, *, force: bool = False):
        """Write the model with its texts and labels into one file for :func:`isthmus.load`; returns its path."""
        from isthmus.keep import save_result

        return save_result(self, path, force=force)


def label(
    source_texts: Sequence[str],
    source_labels: Sequence,
    target_texts: Sequence[str],
    method: str = "auto",
    word_labels: Mapping | None = None,
    random_state: int | None = 0,
    *,
    error_budget: float = 0.1,
    analyzer: str = "auto",
    min_df: int | str = "auto",
) -> LabelResult:
    """Label the target texts from labelled source texts.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : sequence
        One label per source text; None where unknown.
    method : str, default="auto"
        A recipe: see :data:`isthmus.recipes.RECIPES`.
    word_labels : mapping, optional
        Labelled words, for the methods that take them.
    random_state : int, default=0
    error_budget : float, default=0.1
        Share of wrong labels to be tolerated among those that need no review.
    analyzer, min_df
        As for :class:`isthmus.features.TextVectorizer`.

    Returns
    -------
    LabelResult

    Examples
    --------
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> result = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")
    >>> result.labels.tolist()
    ['staff', 'product']
    >>> result.reasons(0, top=1)[-1]["term"]
    'staff'
    """
    source_texts, target_texts = check_texts(source_texts), check_texts(target_texts)
    values, known = read_labels(list(source_labels))
    if len(values) != len(source_texts):
        raise DataError(
            f"There are {len(source_texts)} source texts and {len(values)} labels; give one label per text.",
            code="length-mismatch",
        )
    chosen, decision = _decide(method, word_labels)
    recipe = get_recipe(chosen)
    if word_labels and not recipe.takes_words:
        takers = ", ".join(name for name, other in RECIPES.items() if other.takes_words)
        raise UsageError(f"Method {chosen!r} uses no labelled words; use one of {takers}.", code="bad-word-labels")
    pipeline = recipe.build_with(
        random_state=random_state,
        analyzer=analyzer,
        min_df=min_df,
        word_labels=word_labels,
    )
    joint = _joint_labels(values, known, len(target_texts))
    domain = np.concatenate([np.ones(len(source_texts), dtype=int), np.full(len(target_texts), -1)])
    pipeline.fit([*source_texts, *target_texts], joint, sample_domain=domain)
    probabilities = pipeline.predict_proba(target_texts)
    labels = pipeline.transduction_[len(source_texts) :]
    codes = np.searchsorted(pipeline.classes_, labels)
    confidence = probabilities[np.arange(len(labels)), codes]
    empty = np.array([not text.strip() for text in target_texts])
    return LabelResult(
        labels=labels,
        confidence=confidence,
        needs_review=review_mask(confidence, error_budget) | empty,
        method=chosen,
        decision=decision,
        classes=pipeline.classes_,
        probabilities=probabilities,
        model=pipeline,
        texts=target_texts,
        source_texts=source_texts,
        source_labels=np.where(known, values.astype(object), None),
        settings={
            "method": method,
            "random_state": random_state,
            "error_budget": error_budget,
            "analyzer": analyzer,
            "min_df": min_df,
        },
    )


def _joint_labels(values: np.ndarray, known: np.ndarray, n_target: int) -> np.ndarray:
    """Labels of all rows, unknown for the target; numbers stay numbers, which the gate tells from names."""
    natural = np.array(values[known].tolist())
    unknown = {"i": -1, "u": -1, "f": np.nan}.get(natural.dtype.kind)
    if unknown is None:
        joint = np.empty(len(values) + n_target, dtype=object)
        joint[: len(values)] = np.where(known, values.astype(object), None)
        return joint
    joint = np.full(len(values) + n_target, unknown, dtype=natural.dtype)
    joint[: len(values)][known] = natural
    return joint


def _decide(method: str, word_labels: Mapping | None) -> tuple[str, list[dict]]:
    if method != "auto":
        return method, [{"method": method, "chosen": True, "why": "named by the caller"}]
    if word_labels:
        return _WITH_WORDS, [{"method": _WITH_WORDS, "chosen": True, "why": "labelled words were given"}]
    why = (
        "source-only, because this version does not yet weigh the methods against each other for a pair of collections"
    )
    return _FALLBACK, [{"method": _FALLBACK, "chosen": True, "why": why}]
