"""Learn a correction of the vote from answers, without overfitting to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from isthmus._math.fitted import fitted
from isthmus._progress import progress
from isthmus.feedback.softmax_ridge import MOST_EXACT, fit_softmax_ridge, span_rows
from isthmus.feedback.views import centred_logs

# Fitted constants; ``choose/trust.json`` states their units and origin.
CORRECTION = fitted("correction")

FOLDS = 5  # folds of the cross-fitting


@dataclass(frozen=True)
class Correction:
    """A correction of the vote: scores ``trust`` · (centred log-probabilities of the vote) + rows @ ``coef``.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Classes of the vote, then those that only answers name, each part in its order.
    coef : ndarray of shape (n_features, n_classes)
    trust : float
        Weight of the vote.
    sharpness : float
        Power of the probabilities, fitted to held-out answers.
    new_shares : ndarray of shape (n_new_classes,)
        Prior proportion of each class that only answers name.
    doubt : float
        Mean uncertainty of the vote about the answered documents; see :func:`widen_vote`.
    held_out : ndarray of shape (n_answers, n_classes)
        Probabilities of each answered document by a correction that was not trained on its answer.
    table : list of dict
        Settings that were compared (``trust``, ``strength``, mean held-out ``loss``, ``weight``).
    """

    classes: np.ndarray
    coef: np.ndarray
    trust: float
    sharpness: float
    new_shares: np.ndarray
    doubt: float
    held_out: np.ndarray
    table: list[dict]

    def probabilities(self, rows: Any, vote: np.ndarray) -> np.ndarray:
        """Return the corrected probabilities.

        Parameters
        ----------
        rows : CSR matrix of shape (n_documents, n_features)
        vote : ndarray of shape (n_documents, n_vote_classes)

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        offset = centred_logs(widen_vote(vote, self.new_shares, self.doubt))
        return softmax(self.sharpness * (self.trust * offset + rows @ self.coef), axis=1)


def learn_correction(
    rows: Any,
    vote: np.ndarray,
    codes: np.ndarray,
    classes: np.ndarray,
    random_state: int | None = 0,
    *,
    extra: tuple[Any, np.ndarray] | None = None,
    unnamed: tuple[Any, np.ndarray, np.ndarray] | None = None,
    picked: np.ndarray | None = None,
    trusts: Sequence[float] = CORRECTION["trusts"],
    strengths: Sequence[float] = CORRECTION["strengths"],
    caution: float = CORRECTION["caution"],
) -> Correction:
    """Fit a correction on answered documents.

    Every pair of a trust in the vote and a strength of the ridge is fitted on four fifths of the answers and evaluated
    on the others. The results are averaged with weights exp(−loss over all held-out answers − ``caution`` for every
    step away from the most careful pair). The average is safer than the selection of the best of six pairs from twenty
    answers. Without evidence, the vote is trusted.

    Parameters
    ----------
    rows : CSR matrix of shape (n_answers, n_features)
        Rows of :class:`isthmus.feedback.DocumentViews`.
    vote : ndarray of shape (n_answers, n_vote_classes)
    codes : ndarray of int, shape (n_answers,)
        The answers, as indices of ``classes``.
    classes : ndarray of shape (n_classes,)
        Classes of the vote first.
    random_state : int or None
    extra : tuple of (rows, codes), optional
        Training rows that are in every fold and have no vote (labelled words).
    unnamed : tuple of (rows, vote, weights), optional
        Result of :func:`pseudo_answers`. These documents are answered as the vote predicts, and they evaluate the
        pairs, too. Without them, a pair that assigns documents of such a class to other classes would look as good as
        any other.
    picked : ndarray of bool, shape (n_answers,), optional
        See :func:`prior_shares`.
    trusts, strengths : sequence of float
        The most careful value last; with few answers, only the most careful pair is used.
    caution : float

    Returns
    -------
    Correction
    """
    pseudo_weight = 0.0 if unnamed is None else float(unnamed[2].sum())
    new_shares = prior_shares(codes, vote.shape[1], len(classes), pseudo_weight, picked)
    doubt = float(np.mean(1.0 - vote.max(axis=1))) if len(vote) else 0.0
    offset = centred_logs(widen_vote(vote, new_shares, doubt))
    # Each answer is held out once.
    folds = make_folds(codes, random_state)
    targets = np.eye(len(classes))[codes]
    all_rows = rows
    if unnamed is not None:
        added, added_vote, weights = unnamed
        known = np.hstack([added_vote, np.zeros((len(added_vote), len(new_shares)))])
        all_rows = sp.vstack([rows, added], format="csr")
        targets = np.vstack([targets, weights[:, None] * known])
        offset = np.vstack([offset, centred_logs(widen_vote(added_vote, new_shares, doubt))])
        # Added documents are held out in turn, too, so that they evaluate the pairs.
        folds = np.concatenate([folds, np.arange(len(added_vote)) % FOLDS])
    pairs = [(trust, strength) for trust in trusts for strength in strengths]
    if len(codes) < CORRECTION["fewest"]:  # too few answers to compare the pairs
        # The vote contains no evidence about a new class, so there is less reason to penalise corrections.
        pairs = [(trusts[-1], strengths[len(strengths) // 2 if codes.max(initial=0) >= vote.shape[1] else -1])]
    elif len(codes) > CORRECTION["many"]:
        # A thousand answers select the pair as well as ten thousand, in a fraction of the time.
        part = np.sort(np.random.default_rng(random_state).permutation(len(codes))[: CORRECTION["many"]])
        chosen = learn_correction(
            rows[part],
            vote[part],
            codes[part],
            classes,
            random_state,
            extra=extra,
            unnamed=unnamed,
            picked=None if picked is None else picked[part],
            trusts=trusts,
            strengths=strengths,
            caution=caution,
        )
        best = max(chosen.table, key=lambda row: row["weight"])
        pairs = [(best["trust"], best["strength"])]
    n_scored = len(targets)
    if extra is not None:
        # Labelled words are in the training rows of every fold, so they have none of their own.
        words, word_codes = extra
        all_rows = sp.vstack([all_rows, words], format="csr")
        targets = np.vstack([targets, np.eye(len(classes))[word_codes]])
        offset = np.vstack([offset, np.zeros((len(word_codes), len(classes)))])
        folds = np.concatenate([folds, np.full(len(word_codes), -1)])
    widen: Callable[[np.ndarray], np.ndarray] = np.asarray
    if all_rows.shape[0] < min(MOST_EXACT, all_rows.shape[1]):
        all_rows, widen = span_rows(all_rows)
    losses, held_out, coefs = [], [], []
    for step, (trust, strength) in enumerate(pairs):
        progress("learning from answers", step, len(pairs))
        coef, scores = _cross_fit(all_rows, targets, trust * offset, strength, folds)
        losses.append(-float(np.sum(targets[:n_scored] * log_softmax(scores[:n_scored], axis=1))))
        held_out.append(scores[: len(codes)])
        coefs.append(coef)
    progress("learning from answers", len(pairs), len(pairs))
    # Steps away from the most careful pair, whose values come last.
    steps = [len(trusts) - 1 - trusts.index(trust) + len(strengths) - 1 - strengths.index(s) for trust, s in pairs]
    penalized = np.array(losses) + caution * np.array(steps)
    # Subtracting the minimum avoids an underflow.
    weights = np.exp(penalized.min() - penalized)
    weights /= weights.sum()
    scores = _mean(weights, held_out)
    sharpness = fit_sharpness(scores, codes)
    table = [
        {"trust": trust, "strength": strength, "loss": loss / max(1, len(codes)), "weight": float(weight)}
        for (trust, strength), loss, weight in zip(pairs, losses, weights, strict=True)
    ]
    return Correction(
        classes=classes,
        coef=widen(_mean(weights, coefs)),
        trust=float(_mean(weights, [trust for trust, _ in pairs])),
        sharpness=sharpness,
        new_shares=new_shares,
        doubt=doubt,
        held_out=softmax(sharpness * scores, axis=1),
        table=table,
    )


def _mean(weights: np.ndarray, values: Sequence[Any]) -> Any:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def _cross_fit(
    rows: Any, targets: np.ndarray, offset: np.ndarray, strength: float, folds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients fitted on all rows, and the scores of each row by a fit without its fold."""
    start = np.zeros((rows.shape[1], offset.shape[1]))
    coef = fit_softmax_ridge(rows, targets, offset, strength, start=start)
    held_out = offset.copy()
    for fold in np.unique(folds[folds >= 0]):
        out, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        # The fit on all answers is a good start for the fits on the folds.
        held_out[out] += rows[out] @ fit_softmax_ridge(rows[rest], targets[rest], offset[rest], strength, start=coef)
    return coef, held_out


def pseudo_answers(
    vote: np.ndarray, texts: Sequence[str], answered: np.ndarray, codes: np.ndarray, picked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return documents that represent classes of the vote which too few answers name, and their weights.

    Every answer that names another class lowers such a class a little, most of all for similar documents. Up to ten
    documents that the vote assigns to the class, from confident to uncertain, are therefore added to the answers. Their
    weight is the number of answers that would name the class among the first twenty answers in the proportions of the
    vote. One answer that names the class replaces them.

    An annotator who picks documents of one class provides no evidence about the proportions of other classes, so
    ``picked`` answers count in addition to the twenty. If picked answers name a class that the vote lacks (for example
    when a whole group becomes a class), documents also represent known classes that answers name. Their weight is the
    class's proportion of these answers minus the number of answers that name it.

    Parameters
    ----------
    vote : ndarray of shape (n_documents, n_vote_classes)
    texts : sequence of str
    answered : ndarray of int, shape (n_answers,)
    codes : ndarray of int, shape (n_answers,)
    picked : ndarray of bool, shape (n_answers,), optional

    Returns
    -------
    tuple of (ndarray of int, ndarray of float) or None
        Documents and weights; None if no class needs them.
    """
    best = vote.argmax(axis=1)
    unanswered = np.ones(len(vote), dtype=bool)
    unanswered[answered] = False
    # Rounding removes differences by the order of a sum, which must not decide the order.
    rounded = vote.round(9)
    total = min(len(codes), CORRECTION["pseudo_answers"])
    if picked is not None:
        total = min(int(np.sum(~picked)), CORRECTION["pseudo_answers"]) + int(np.sum(picked))
    indices: list[int] = []
    weights: list[float] = []
    new = 0 if picked is None else int(np.sum(picked & (codes >= vote.shape[1])))
    named = np.bincount(codes, minlength=vote.shape[1])
    for code in range(vote.shape[1]):
        share = float(vote[:, code].mean())
        weight = new * share - named[code] if named[code] else total * share
        if weight <= 0:
            continue
        candidates = sorted(
            np.flatnonzero(unanswered & (best == code)).tolist(), key=lambda i: (rounded[i, code], texts[i])
        )
        if not candidates:  # the vote assigns no open document to the class, so no document can represent it
            continue
        count = min(CORRECTION["pseudo_documents"], len(candidates))
        indices += [candidates[int((step + 0.5) * len(candidates) / count)] for step in range(count)]
        weights += [weight / count] * count
    return (np.array(indices), np.array(weights)) if indices and total else None


def prior_shares(
    codes: np.ndarray, n_known: int, n_classes: int, pseudo_weight: float = 0.0, picked: np.ndarray | None = None
) -> np.ndarray:
    """Return the proportion of each class that only answers name: its answers, divided by all answers plus ten.

    Parameters
    ----------
    codes : ndarray of int, shape (n_answers,)
    n_known, n_classes : int
        Classes of the vote, and all classes.
    pseudo_weight : float
        Weight of the documents from :func:`pseudo_answers`; they count as answers.
    picked : ndarray of bool, shape (n_answers,), optional
        Answers to documents that the annotator picked, which provide no evidence about proportions. Of these, a new
        class counts at most one more than all known classes together.

    Returns
    -------
    ndarray of shape (n_classes − n_known,)
    """
    picked = np.zeros(len(codes), dtype=bool) if picked is None else picked
    counts = np.bincount(codes[~picked], minlength=n_classes)
    most = 1 + int(np.sum(codes[picked] < n_known))
    new = counts[n_known:] + np.minimum(np.bincount(codes[picked], minlength=n_classes)[n_known:], most)
    return new / (len(codes) + pseudo_weight + CORRECTION["others"])


def widen_vote(vote: np.ndarray, new_shares: np.ndarray, doubt: float = 0.0) -> np.ndarray:
    """Return the vote with a column for every class that it does not know.

    The share of a new class in a document is proportional to the uncertainty of the vote, one minus its largest
    probability. It equals the class's value in ``new_shares`` if the uncertainty equals ``doubt``, the mean over the
    answers. Answers to uncertain documents therefore do not affect confident documents. If ``doubt`` is 0, the share is
    the same for all documents.

    Parameters
    ----------
    vote : ndarray of shape (n_documents, n_vote_classes)
    new_shares : ndarray of shape (n_new_classes,)
    doubt : float

    Returns
    -------
    ndarray of shape (n_documents, n_vote_classes + n_new_classes)
    """
    if not len(new_shares):
        return vote
    factor = (
        np.ones(len(vote))
        if doubt <= 0
        else np.clip((1.0 - vote.max(axis=1)) / doubt, *CORRECTION["new_class_factors"])
    )
    new = (
        np.minimum(factor, CORRECTION["most_new"] / new_shares.sum() if new_shares.any() else 1.0)[:, None] * new_shares
    )
    return np.hstack([vote * (1 - new.sum(axis=1, keepdims=True)), new])


def make_folds(codes: np.ndarray, random_state: int | None) -> np.ndarray:
    """Divide answers into folds with similar class proportions.

    Parameters
    ----------
    codes : ndarray of int, shape (n_answers,)
    random_state : int or None

    Returns
    -------
    ndarray of int, shape (n_answers,)
    """
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(len(codes))
    # Consecutive answers of a class go to different folds.
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=int)
    folds[order] = np.arange(len(codes)) % min(FOLDS, max(2, len(codes)))
    return folds


def fit_sharpness(scores: np.ndarray, codes: np.ndarray) -> float:
    """Return the power of the probabilities that maximises the likelihood of held-out answers, with a prior near 1.

    Parameters
    ----------
    scores : ndarray of shape (n_answers, n_classes)
        Held-out scores.
    codes : ndarray of int, shape (n_answers,)

    Returns
    -------
    float
    """
    at = np.arange(len(codes)), codes

    from scipy.optimize import minimize_scalar  # imported here, because applying a correction does not need it

    def loss(log_power: float) -> float:
        logs = log_softmax(np.exp(log_power) * scores, axis=1)
        return -float(logs[at].sum()) + CORRECTION["sharpness_prior"] * log_power**2

    return float(np.exp(minimize_scalar(loss, bounds=np.log(CORRECTION["sharpness"]), method="bounded").x))


def order_answers(texts: Sequence[str], codes: np.ndarray) -> np.ndarray:
    """Return an order by text, then by class, which does not depend on the order of the answers.

    Parameters
    ----------
    texts : sequence of str
    codes : ndarray of int, shape (n_answers,)

    Returns
    -------
    ndarray of int, shape (n_answers,)
    """
    return np.array(sorted(range(len(codes)), key=lambda i: (texts[i], codes[i])), dtype=int)
