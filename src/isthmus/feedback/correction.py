"""Learn from answers: what has to be added to the vote so that it agrees with them, without believing them too much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from isthmus._progress import progress
from isthmus.feedback.softmax_ridge import MOST_EXACT, fit_softmax_ridge, span_rows
from isthmus.feedback.views import centred_logs

FOLDS = 5
FEWEST = 10  # answers below which nothing is compared, and corrections are held back as far as possible
MANY = 1_000  # answers beyond which a random part of them chooses how they are learned from
# How far the vote is believed, and how strongly corrections are held back: tried by cross-fitting over the answers.
TRUSTS = (0.4, 1.0)
STRENGTHS = (1.0, 4.0, 16.0)
CAUTION = 1.0
_SHARPNESS = (0.2, 5.0)
_FACTORS = (0.05, 2.0)  # of the share of a new class, where the vote is sure and where it is in doubt
_MOST_NEW = 0.9
_OTHERS = 10  # answers with other classes that are thrown in when the share of a new class is guessed
_SHARPNESS_PRIOR = 10.0  # as many answers as speak for a sharpness of one before any was given
# A class that nobody named counts as if so many answers had been given at the vote's shares; set on development tasks
# and on pairs with turned shares that suite "listen" does not have (docs/measured/listen.md).
PSEUDO_ANSWERS = 20
_PSEUDO_DOCUMENTS = 10  # documents that stand for such a class


@dataclass(frozen=True)
class Correction:
    """Scores of a document: ``trust`` · (centred log-probabilities of the vote) + rows @ ``coef``.

    - ``classes``: those of the vote, then those that only answers name, each part in its order.
    - ``sharpness``: power of the probabilities that fits held-out answers.
    - ``new_shares``: prior share of each class that only answers name.
    - ``doubt``: mean doubt of the vote about the answered documents; see :func:`widen_vote`.
    - ``held_out``: probabilities of each answered document by a correction that had not seen its answer.
    - ``table``: what was tried (``trust``, ``strength``, mean held-out ``loss``, ``weight``).
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
    weighed: tuple[Any, np.ndarray, np.ndarray] | None = None,
    picked: np.ndarray | None = None,
    trusts: Sequence[float] = TRUSTS,
    strengths: Sequence[float] = STRENGTHS,
    caution: float = CAUTION,
) -> Correction:
    """Fit a correction on answered documents.

    Every pair of a trust in the vote and a strength of the ridge is fitted on four fifths of the answers and judged on
    the others. The pairs are averaged, each with weight exp(−its loss over all held-out answers − ``caution`` for every
    step away from the most careful pair): safer than picking the best of six from twenty answers, and without evidence
    the vote is believed.

    - ``rows``: of :class:`isthmus.feedback.DocumentViews`; ``codes``: the answers, as places in ``classes``, which
      begin with those of the vote.
    - ``extra``: rows and codes that are always learned from and that no vote speaks of (labelled words).
    - ``unnamed``: rows, vote and weights of :func:`pseudo_answers`. They are answered as the vote would, and judge the
      pairs too: otherwise a pair that gives such a class away to its neighbours looks as good as any other.
    - ``weighed``: rows, vote and probabilities of documents whose answers are weighed; each row of the probabilities
      sums to what the answers are worth.
    - ``picked``: see :func:`prior_shares`.
    - ``trusts``, ``strengths``: the most careful last, which alone is tried with few answers.
    """
    standing = 0.0 if unnamed is None else float(unnamed[2].sum())
    new_shares = prior_shares(codes, vote.shape[1], len(classes), standing, picked)
    doubt = float(np.mean(1.0 - vote.max(axis=1))) if len(vote) else 0.0
    offset = centred_logs(widen_vote(vote, new_shares, doubt))
    folds = make_folds(codes, random_state)
    targets = np.eye(len(classes))[codes]
    all_rows = rows
    further = [] if weighed is None else [weighed]
    if unnamed is not None:
        own, said, weights = unnamed
        known = np.hstack([said, np.zeros((len(said), len(new_shares)))])
        further.insert(0, (own, said, weights[:, None] * known))
    for own, said, wanted in further:
        all_rows = sp.vstack([all_rows, own], format="csr")
        targets = np.vstack([targets, wanted])
        offset = np.vstack([offset, centred_logs(widen_vote(said, new_shares, doubt))])
        folds = np.concatenate([folds, np.arange(len(said)) % FOLDS])
    pairs = [(trust, strength) for trust in trusts for strength in strengths]
    if len(codes) < FEWEST:  # nothing to compare the pairs by
        # Of a class that is new the vote says nothing, so there is less reason to hold back what they teach about it.
        pairs = [(trusts[-1], strengths[len(strengths) // 2 if codes.max(initial=0) >= vote.shape[1] else -1])]
    elif len(codes) > MANY:  # a thousand answers choose the pair as well as ten thousand, in a fraction of the time
        part = np.sort(np.random.default_rng(random_state).permutation(len(codes))[:MANY])
        chosen = learn_correction(
            rows[part],
            vote[part],
            codes[part],
            classes,
            random_state,
            extra=extra,
            unnamed=unnamed,
            weighed=weighed,
            picked=None if picked is None else picked[part],
            trusts=trusts,
            strengths=strengths,
            caution=caution,
        )
        best = max(chosen.table, key=lambda row: row["weight"])
        pairs = [(best["trust"], best["strength"])]
    learn, widen = _reduced(all_rows, extra)
    fits = []
    for step, (trust, strength) in enumerate(pairs):
        progress("learning from answers", step, len(pairs))
        coef, held_out = _cross_fit(*learn, targets, trust * offset, strength, folds, extra)
        loss = -float(np.sum(targets * log_softmax(held_out, axis=1)))
        fits.append(_Fit(trust, strength, loss, held_out[: len(codes)], coef))
    progress("learning from answers", len(pairs), len(pairs))
    steps = [len(trusts) - 1 - trusts.index(trust) + len(strengths) - 1 - strengths.index(s) for trust, s in pairs]
    averaged = _average(fits, caution * np.array(steps), codes, classes, widen)
    return replace(averaged, new_shares=new_shares, doubt=doubt)


def _reduced(rows: Any, extra: Any) -> tuple[tuple[Any, Any], Callable[[np.ndarray], np.ndarray]]:
    """Rows of answers and of words in a basis of their span, where that is smaller, and the way back."""
    both = rows if extra is None else sp.vstack([rows, extra[0]], format="csr")
    widen: Callable[[np.ndarray], np.ndarray] = np.asarray
    if both.shape[0] < min(MOST_EXACT, both.shape[1]):
        both, widen = span_rows(both)
    return (both[: rows.shape[0]], both[rows.shape[0] :]), widen


def _cross_fit(
    rows: Any, words: Any, targets: np.ndarray, offset: np.ndarray, strength: float, folds: np.ndarray, extra: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients from all answers, and held-out scores of each."""

    def fit(part: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        own, wanted, shift = rows[part], targets[part], offset[part]
        if extra is not None:
            stack = sp.vstack if sp.issparse(rows) else np.vstack
            own, wanted = stack([own, words]), np.vstack([wanted, np.eye(offset.shape[1])[extra[1]]])
            shift = np.vstack([shift, np.zeros((words.shape[0], offset.shape[1]))])
        return fit_softmax_ridge(own, wanted, shift, strength, start=start)

    coef = fit(np.arange(len(targets)), np.zeros((rows.shape[1], offset.shape[1])))
    held_out = offset.copy()
    for fold in np.unique(folds):
        out = np.flatnonzero(folds == fold)
        held_out[out] += rows[out] @ fit(np.flatnonzero(folds != fold), coef)
    return coef, held_out


@dataclass(frozen=True)
class _Fit:
    trust: float
    strength: float
    loss: float
    held_out: np.ndarray
    coef: np.ndarray


def _average(
    fits: list[_Fit],
    penalties: np.ndarray,
    codes: np.ndarray,
    classes: np.ndarray,
    widen: Callable[[np.ndarray], np.ndarray],
) -> Correction:
    losses = np.array([fit.loss for fit in fits]) + penalties
    weights = np.exp(losses.min() - losses)
    weights /= weights.sum()

    def mean(name: str) -> Any:
        return sum(weight * getattr(fit, name) for weight, fit in zip(weights, fits, strict=True))

    scores = mean("held_out")
    sharpness = fit_sharpness(scores, codes)
    table = [
        {"trust": fit.trust, "strength": fit.strength, "loss": fit.loss / max(1, len(codes)), "weight": float(weight)}
        for fit, weight in zip(fits, weights, strict=True)
    ]
    return Correction(
        classes=classes,
        coef=widen(mean("coef")),
        trust=float(mean("trust")),
        sharpness=sharpness,
        new_shares=np.zeros(0),
        doubt=0.0,
        held_out=softmax(sharpness * scores, axis=1),
        table=table,
    )


def pseudo_answers(
    vote: np.ndarray, texts: Sequence[str], answered: np.ndarray, codes: np.ndarray, picked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Documents that stand for classes of the vote which too few answers name, and their weights; None if none do.

    Every answer that names another class pushes such a class down a little, most of all where it is like that one. So
    up to ten documents that the vote gives to it, from sure to doubtful, are put beside the answers, as if it had been
    named as often among the first twenty answers as the vote says. One answer that names the class takes their place.

    Picking documents of one class says nothing about how common the others are, so ``picked`` answers count on beyond
    the twenty. Where they name a class which the vote does not know (a whole group made a class), documents stay in
    place for a known class that is named, too: as many as its share of these answers exceeds the answers that name it.
    """
    best = vote.argmax(axis=1)
    open_ = np.ones(len(vote), dtype=bool)
    open_[answered] = False
    rounded = vote.round(9)
    total = min(len(codes), PSEUDO_ANSWERS)
    if picked is not None:
        total = min(int(np.sum(~picked)), PSEUDO_ANSWERS) + int(np.sum(picked))
    places: list[int] = []
    weights: list[float] = []
    new = 0 if picked is None else int(np.sum(picked & (codes >= vote.shape[1])))
    named = np.bincount(codes, minlength=vote.shape[1])
    for code in range(vote.shape[1]):
        share = float(vote[:, code].mean())
        weight = new * share - named[code] if named[code] else total * share
        if weight <= 0:
            continue
        own = sorted(np.flatnonzero(open_ & (best == code)).tolist(), key=lambda i: (rounded[i, code], texts[i]))
        if not own:  # the vote gives it no document: nothing can stand for it
            continue
        count = min(_PSEUDO_DOCUMENTS, len(own))
        places += [own[int((step + 0.5) * len(own) / count)] for step in range(count)]
        weights += [weight / count] * count
    return (np.array(places), np.array(weights)) if places and total else None


def prior_shares(
    codes: np.ndarray, n_known: int, n_classes: int, standing: float = 0.0, picked: np.ndarray | None = None
) -> np.ndarray:
    """Share of each class that only answers name: its count among the answers and ten more that name other classes.

    ``standing`` is the weight of the documents that stand for classes which no answer names; they count as answers. Of
    ``picked`` answers a new class counts at most one more than all known classes together: picking documents of a new
    class says nothing about how common it is.
    """
    picked = np.zeros(len(codes), dtype=bool) if picked is None else picked
    counts = np.bincount(codes[~picked], minlength=n_classes)
    most = 1 + int(np.sum(codes[picked] < n_known))
    new = counts[n_known:] + np.minimum(np.bincount(codes[picked], minlength=n_classes)[n_known:], most)
    return new / (len(codes) + standing + _OTHERS)


def widen_vote(vote: np.ndarray, new_shares: np.ndarray, doubt: float = 0.0) -> np.ndarray:
    """The vote with a column for every class it does not know.

    The share of a new class is proportional to the vote's doubt about a document, one minus its largest probability: it
    has its share in ``new_shares`` where that equals ``doubt``, the mean over the answers. So answers to doubtful
    documents do not speak of the sure ones. With ``doubt`` 0 the share is the same everywhere.
    """
    if not len(new_shares):
        return vote
    factor = np.ones(len(vote)) if doubt <= 0 else np.clip((1.0 - vote.max(axis=1)) / doubt, *_FACTORS)
    new = np.minimum(factor, _MOST_NEW / new_shares.sum() if new_shares.any() else 1.0)[:, None] * new_shares
    return np.hstack([vote * (1 - new.sum(axis=1, keepdims=True)), new])


def make_folds(codes: np.ndarray, random_state: int | None) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=int)
    folds[order] = np.arange(len(codes)) % min(FOLDS, max(2, len(codes)))
    return folds


def fit_sharpness(scores: np.ndarray, codes: np.ndarray) -> float:
    """Power of the probabilities that makes held-out answers most likely, drawn towards 1 where there are few."""
    at = np.arange(len(codes)), codes

    def loss(log_power: float) -> float:
        logs = log_softmax(np.exp(log_power) * scores, axis=1)
        return -float(logs[at].sum()) + _SHARPNESS_PRIOR * log_power**2

    return float(np.exp(minimize_scalar(loss, bounds=np.log(_SHARPNESS), method="bounded").x))


def order_answers(texts: Sequence[str], codes: np.ndarray) -> np.ndarray:
    """An order by text, then by class, that does not depend on the one in which answers came."""
    return np.array(sorted(range(len(codes)), key=lambda i: (texts[i], codes[i])), dtype=int)
