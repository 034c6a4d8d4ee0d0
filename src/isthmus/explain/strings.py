"""Explain string kernels: the n-grams, words and fitted documents that made a label, exactly, from the weights.

A score is Σ_j w_j·φ(k_j) over the fitted documents j, with k_j the normalised kernel, a sum over the n-grams that the
text shares with j, and φ(k) = exp(k − 1). The change from a text that shares nothing is divided in proportion,
(φ(k_j) − φ(0))·k_jg / k_j for n-gram g: the integral of the gradient along the straight line from nothing to the text.
Contributions plus the score of an empty text add up to the score.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from isthmus.choose.model import Member
from isthmus.classify.rules import StringRule
from isthmus.exceptions import UsageError
from isthmus.explain.terms import MARKS, contribution_rows
from isthmus.features.gram import inverse_roots, shared_values
from isthmus.features.strings import StringKernel


def ngram_contributions(model, text: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the contribution of every n-gram of a text to every class, and the scores of an empty text.

    Parameters
    ----------
    model : TransductiveKernelClassifier, LiteralStringKernels or StringRule
        Fitted on texts with a string kernel.
    text : str

    Returns
    -------
    contributions : dict of str to ndarray of shape (n_classes,)
    base : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from isthmus import TransductiveKernelClassifier
    >>> from isthmus.explain.strings import ngram_contributions
    >>> texts = ["kind staff", "great bike", "rude staff", "slow bike"]
    >>> model = TransductiveKernelClassifier(ngram_range=(4, 4)).fit(texts, ["staff", "product", None, None])
    >>> table, base = ngram_contributions(model, "staff")
    >>> sorted(table)
    ['staf', 'taff']
    """
    rule = _rule_of(model)
    kernel = _kernel_of(rule)
    names, own, counts = kernel.counts(text, rule.texts)
    values, size = shared_values(kernel.kind, own, counts.astype(float))
    scale = inverse_roots(np.array([size]))[0] * inverse_roots(rule.diagonal)
    total = scale * np.asarray(values.sum(axis=1)).ravel()
    # Where the text shares nothing, the slope is not used.
    slope = np.ones(len(total))
    touched = total > 0
    slope[touched] = (np.exp(total[touched] - 1) - np.exp(-1)) / total[touched]
    # Centred rows only change the base; their common length divides everything.
    weights = rule.weights / rule.bend.length
    table = dict(zip(names, values.T @ (weights * (slope * scale)[:, None]), strict=True))
    empty = np.full(len(weights), np.exp(-1)) - (0.0 if rule.bend.centre is None else rule.bend.centre)
    return table, empty @ weights + rule.offset


def word_contributions(model, text: str) -> list[tuple[str, np.ndarray]]:
    """Return contributions by word.

    The share of an n-gram goes to the words that it touches, by characters, evenly over its places.

    Parameters
    ----------
    model : TransductiveKernelClassifier, LiteralStringKernels or StringRule
        Fitted.
    text : str

    Returns
    -------
    list of tuple
        Word and its contributions by class, in the order of the text.
    """
    rule = _rule_of(model)
    kernel = _kernel_of(rule)
    shown = kernel.prepare(text)
    table, _ = ngram_contributions(rule, text)
    n_classes = rule.weights.shape[1]
    by_character = np.zeros((len(shown), n_classes))
    lengths = range(kernel.ngram_range[0], kernel.ngram_range[1] + 1)
    places = [slice(i, i + length) for length in lengths for i in range(len(shown) - length + 1)]
    # The contribution of an n-gram is divided among its occurrences.
    counts = Counter(shown[place] for place in places)
    for place in places:
        # White space belongs to no word.
        ink = [k for k in range(place.start, place.stop) if not shown[k].isspace()] or [place.start]
        by_character[ink] += table[shown[place]] / (counts[shown[place]] * len(ink))
    words, i = [], 0
    # Words are found one behind the other, so repeated words keep their own positions.
    for word in shown.split():
        i = shown.index(word, i)
        words.append((word, by_character[i : i + len(word)].sum(axis=0)))
        i += len(word)
    return words


def document_terms(member: Member, text: str) -> list[dict]:
    """Return rows of class, term (a word of the text) and contribution; a word that occurs twice is summed.

    Words are named without the marks around them.

    Parameters
    ----------
    member : Member
        With a ``StringRule``.
    text : str

    Returns
    -------
    list of dict
    """
    total: dict[str, np.ndarray] = {}
    for word, values in word_contributions(member.rule, text):
        name = word.strip(MARKS) or word
        total[name] = total.get(name, 0.0) + values
    return contribution_rows(member.classes_, list(total), list(total.values()))


def nearest_documents(model, text: str, source_texts: list[str], source_labels, *, top: int = 5) -> list[dict]:
    """Return the source documents most similar to a text: ``document``, ``label``, ``similarity``, ``text``.

    Parameters
    ----------
    model : TransductiveKernelClassifier, LiteralStringKernels or StringRule
        Fitted.
    text : str
    source_texts : list of str
    source_labels : sequence
    top : int
        Number of documents.

    Returns
    -------
    list of dict
    """
    similarity = _kernel_of(_rule_of(model)).cross([text], list(source_texts), normalize=True)[0]
    order = np.argsort(-similarity, kind="stable")[:top]
    return [
        {
            "document": int(i),
            "label": source_labels[int(i)],
            "similarity": float(similarity[i]),
            "text": source_texts[int(i)],
        }
        for i in order
    ]


def _rule_of(model) -> StringRule:
    """Return the rule of a fitted estimator, or the rule that was given."""
    rule = model if isinstance(model, StringRule) else model.prediction_rule()
    if not isinstance(rule, StringRule):
        raise UsageError(
            "n-grams explain a label only if the kernel is a string kernel; this model has another kernel.",
            code="bad-parameter",
        )
    return rule


def _kernel_of(rule: StringRule) -> StringKernel:
    return StringKernel(rule.kind, rule.lengths, lowercase=rule.lowercase, squeeze=rule.squeeze, n_jobs=rule.n_jobs)
