"""Find the labels that may pass unread with a guarantee, and the documents to read at random for it.

The budget is for the finished file: at most this share of all its labels may be wrong, after the documents outside the
passing set were read and corrected. Documents are ranked by confidence; each set that may pass consists of the most
confident documents. The sets and their order are fixed before any answer is known. A larger set contains every wrong
label of a smaller one, so the sets are tested from small to large, each with the whole error probability (a fixed
sequence): the first set that breaks the budget is the only one whose test could err. PAC labels (Candès, Ilyas and
Zrnic 2025, arXiv 2506.10908) use the same argument. The evidence is an e-value for documents drawn without replacement
(:func:`isthmus._math.samples.budget_evidence`). E-values may be inspected after every answer: reading may stop, or
continue, at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, expit, log_expit, logit

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus._math.fitted import fitted
from isthmus._math.samples import budget_evidence, check_confidence
from isthmus._utils import plural
from isthmus.choose.sampling import draw_sample
from isthmus.exceptions import DataError, UsageError
from isthmus.wording import LOOK, Step, exact_percent

# Fitted constants; ``choose/trust.json`` states their units and origin.
FORECAST = fitted("forecast")

CONFIDENCE_LEVEL = 0.95  # probability that the guarantee holds
RUNGS = 40  # number of sets from no document to all documents
NOMINAL = 120  # documents that an annotator is assumed to read when the sets are chosen
SHIFTS = np.linspace(-3.0, 3.0, 25)  # possible differences between the true log-odds and those of the confidences
PLAYED = 100  # simulated readings behind one figure of a forecast
STEPS = (25, 50, 100, 150, 200, 400)  # numbers of additional documents in a forecast
_FRAMES = 8  # frames that are compared for the next draw
_POINTS = 1_000  # documents at which the confidences are sampled
_EDGE = 1e-4  # smallest distance of a confidence from 0 and 1, so that its log-odds are finite
_LONGEST = 2_000  # characters of a text that an annotator reads before the decision


@dataclass(frozen=True)
class Belief:
    """Prior about the labels: how far their true log-odds differ from those of the confidences."""

    size: int  # number of documents that may pass
    log_odds: np.ndarray  # log-odds of these documents, or of evenly spaced ones, the most confident first
    weights: np.ndarray  # probability of each of SHIFTS

    @classmethod
    def of(cls, confidence: np.ndarray, expected: AccuracyEstimate | None = None) -> Belief:
        """Return the prior from confidences and the expected accuracy.

        Parameters
        ----------
        confidence : ndarray of shape (n_documents,)
            The most confident document first.
        expected : AccuracyEstimate, optional
            Its interval determines the spread of the shifts.

        Returns
        -------
        Belief
        """
        spread = FORECAST["unknown"]
        if expected is not None and expected.estimate is not None:
            # The interval covers 90%, which is 1.645 standard deviations on either side.
            spread = max(0.1, float(clipped_logit(expected.high) - clipped_logit(expected.low)) / (2 * 1.645))
        weights = np.exp(-0.5 * (SHIFTS / spread) ** 2)
        places = np.linspace(0, len(confidence) - 1, min(len(confidence), _POINTS)).round().astype(int)
        log_odds = logit(np.clip(confidence[places], _EDGE, 1 - _EDGE))
        return cls(len(confidence), log_odds, weights / weights.sum())

    def errors(self, sizes: np.ndarray) -> np.ndarray:
        """Return the expected share of wrong labels in each set.

        Parameters
        ----------
        sizes : ndarray of int, shape (n_sets,)

        Returns
        -------
        ndarray of shape (n_shifts, n_sets)
        """
        wrong = np.cumsum(expit(-(self.log_odds[None] + SHIFTS[:, None])), axis=1)
        places = np.clip(np.round(sizes * len(self.log_odds) / self.size).astype(int), 1, None)
        return wrong[:, places - 1] / places

    def after(self, confidence: np.ndarray, right: np.ndarray) -> Belief:
        """Return the posterior after some documents were read.

        Parameters
        ----------
        confidence : ndarray of shape (n_read,)
        right : ndarray of bool, shape (n_read,)

        Returns
        -------
        Belief
        """
        log_odds = logit(np.clip(confidence, _EDGE, 1 - _EDGE))[None] + SHIFTS[:, None]
        logs = np.log(self.weights) + np.where(right[None], log_expit(log_odds), log_expit(-log_odds)).sum(axis=1)
        weights = np.exp(logs - logs.max())
        return Belief(self.size, self.log_odds, weights / weights.sum())


class Ladder(NamedTuple):
    """The sizes of the sets that are tested, from small to large, and the wrong labels that the budget allows."""

    sizes: np.ndarray
    allowed: int
    level: float = CONFIDENCE_LEVEL


class Reading(NamedTuple):
    """Number of documents read and wrong labels per set of a ladder, and the frame of the draw."""

    n: np.ndarray
    wrong: np.ndarray
    total: int
    frame: int


@dataclass(frozen=True)
class Guarantee:
    """The labels that may pass unread: at most ``budget`` of the finished file is wrong, with ``confidence_level``.

    The finished file contains all documents, with corrected labels where a person read the document. Documents outside
    the set must be read.

    Attributes
    ----------
    budget, confidence_level : float
    passes : ndarray of bool, shape (n_documents,)
        Whether each document is in the set of labels that may pass.
    eligible : int
        Documents that could pass: neither answered before, nor in a new group.
    read, wrong : int
        Documents that were read, and wrong labels among them.
    more : list of dict
        ``read`` (additional documents) and ``documents`` (that will then pass, according to the forecast).
    among : int
        Number of most confident documents from which the documents to read were drawn.
    unread : int
        Labels of the set that nobody read.
    """

    budget: float
    passes: np.ndarray
    eligible: int
    read: int
    wrong: int
    more: list[dict]
    among: int
    unread: int
    confidence_level: float = CONFIDENCE_LEVEL

    @property
    def documents(self) -> int:
        """Size of the set."""
        return int(np.count_nonzero(self.passes))

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee without the documents, ready for JSON.

        Returns
        -------
        dict
        """
        names = ("budget", "confidence_level", "documents", "unread", "eligible", "among", "read", "wrong", "more")
        return {name: getattr(self, name) for name in names}

    @property
    def next_step(self) -> dict | None:
        """The fewest additional documents with which a tenth more labels pass; None if reading would change little."""
        worth = 1.1 * max(self.documents, 1)
        return next((row for row in self.more if row["documents"] > worth), None)

    def __str__(self) -> str:
        """Return the guarantee and the next step as a sentence."""
        wrong = f"at most {exact_percent(self.budget)} of the finished file wrong"
        sure = f"with {exact_percent(self.confidence_level)} confidence"
        first = f"guaranteed: no label yet ({wrong}, {sure})"
        if self.documents:
            read = f" ({self.unread:,} unread)" if self.unread < self.documents else ""
            passing = f"{self.documents:,} of {plural(self.eligible, 'label')} can pass{read}"
            first = f"guaranteed: {passing}, {wrong}, {sure}"
        step = self.next_step
        if step is None:
            return f"{first}; reading more would change little"
        return f"{first}; read {step['read']:,} more, and about {step['documents']:,} should pass"


def guarantee(
    confidence: Any,
    rows: Any,
    right: Any,
    budget: float,
    *,
    among: int | None = None,
    eligible: Any = None,
    expected: AccuracyEstimate | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Guarantee:
    """Find the largest set of labels that can pass, such that at most ``budget`` of the finished file is wrong.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
        Ranks the documents. It need not be correct: with an uninformative confidence fewer labels pass.
    rows : array-like of int
        Documents that were drawn at random and read, numbered from 0.
    right : array-like of bool
        Whether their labels are right.
    budget : float
        Share of wrong labels that is tolerated among all documents, after the documents that do not pass were read.
    among : int, optional
        Number of most confident eligible documents from which the rows were drawn; all if omitted.
    eligible : array-like of bool, optional
        Documents that may pass; all if omitted. Other rows are ignored.
    expected : AccuracyEstimate, optional
        The expected accuracy. It determines the sets that are tested and the forecast, but not whether a set passes.
    confidence_level : float, default=0.95

    Returns
    -------
    Guarantee

    Raises
    ------
    DataError
        If the rows were not drawn from the ``among`` most confident documents.

    See Also
    --------
    isthmus.choose.reading_frame : From which documents to draw, so that reading decides most.

    Notes
    -----
    Sets are tested from the smallest to the largest, and the first set without enough evidence ends the sequence. The
    probability that the reported set exceeds the budget is at most 1 − ``confidence_level``, whenever reading stops. A
    set with no more documents than the budget allows wrong labels passes without reading.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose import guarantee
    >>> confidence = np.linspace(0.99, 0.6, 1000)
    >>> found = guarantee(confidence, np.arange(0, 1000, 10), np.ones(100, dtype=bool), 0.1)
    >>> found.documents, found.read, found.wrong
    (1000, 100, 0)
    """
    check_budget(budget)
    check_confidence(confidence_level)
    confidence = np.asarray(confidence, dtype=float)
    order, rank = rank_documents(confidence, eligible)
    rows, right = np.asarray(rows, dtype=int), np.asarray(right, dtype=bool)
    # Documents that may not pass have the largest rank.
    kept = rank[rows] < len(order)
    rows, right = rows[kept], right[kept]
    frame = len(order) if among is None else among
    if np.any(rank[rows] >= frame):
        raise another_labelling(frame)
    passes = np.zeros(len(confidence), dtype=bool)
    more: list[dict] = []
    if len(order):
        belief = Belief.of(confidence[order], expected)
        ladder = make_ladder(len(order), allowed_errors(budget, len(confidence)), confidence_level)
        reading = count_reading(ladder, rank[rows], right, frame)
        passed = int(climb(ladder, reading.n, reading.wrong))
        passes[order[:passed]] = True
        more = forecast(belief.after(confidence[rows], right), ladder, reading, passed)
    unread = int(passes.sum()) - int(passes[np.unique(rows)].sum())
    wrong = int(np.sum(~right))
    return Guarantee(budget, passes, len(order), len(rows), wrong, more, frame, unread, confidence_level)


def another_labelling(among: int) -> DataError:
    """Return the error for a sample that was drawn for another result.

    Parameters
    ----------
    among : int

    Returns
    -------
    DataError
    """
    return DataError(
        f"The sample was drawn from the {among:,} most confident documents of another labelling; give the one it was "
        "drawn from.",
        code="bad-check",
    )


def check_budget(budget: float) -> None:
    """Refuse a budget outside 0 to 1.

    Parameters
    ----------
    budget : float

    Raises
    ------
    UsageError
    """
    if not 0 < budget < 1:
        raise UsageError(f"budget is {budget}; give a share between 0 and 1, such as 0.1.", code="bad-parameter")


def rank_documents(confidence: np.ndarray, eligible: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Rank the documents that may pass by confidence.

    Parameters
    ----------
    confidence : ndarray of shape (n_documents,)
    eligible : array-like of bool, optional

    Returns
    -------
    order : ndarray of int
        Documents that may pass, the most confident first.
    rank : ndarray of int, shape (n_documents,)
        Position of every document in ``order``; ``n_documents`` for a document that may not pass.
    """
    order = np.argsort(-confidence, kind="stable")
    if eligible is not None:
        order = order[np.asarray(eligible, dtype=bool)[order]]
    rank = np.full(len(confidence), len(confidence))
    rank[order] = np.arange(len(order))
    return order, rank


def allowed_errors(budget: float, n_documents: int) -> int:
    """Return the largest number of wrong labels in a finished file that the budget allows.

    Parameters
    ----------
    budget : float
    n_documents : int
        All documents of the file.

    Returns
    -------
    int
    """
    return int(np.floor(budget * n_documents + 1e-9))


def make_ladder(size: int, allowed: int, level: float = CONFIDENCE_LEVEL) -> Ladder:
    """Return the sets to test, which do not depend on any answer: evenly spaced sizes up to all documents.

    The smallest set has as many documents as wrong labels are allowed, so it needs no evidence.

    Parameters
    ----------
    size : int
        Documents that may pass.
    allowed : int
        Wrong labels that the budget allows.
    level : float

    Returns
    -------
    Ladder
    """
    even = np.linspace(size / RUNGS, size, RUNGS).round().astype(int).clip(1)
    free = min(allowed, size)
    return Ladder(np.unique(np.r_[[free] if free else [], even[even > free]].astype(int)), allowed, level)


def best_set(belief: Belief, ladder: Ladder, reading: int, least: int = 1) -> int:
    """Return the size of the set from which most labels can be expected to pass.

    Parameters
    ----------
    belief : Belief
    ladder : Ladder
    reading : int
        Documents of the set that will be read.
    least : int
        Smallest size.

    Returns
    -------
    int
    """
    sizes = ladder.sizes[ladder.sizes >= least]
    n = np.minimum(reading, sizes)
    wrong = np.arange(int(n.max()) + 1)[:, None]
    evidence = budget_evidence(np.minimum(wrong, n), n, sizes, ladder.allowed)
    holds = (wrong <= n) & (evidence >= -np.log(1 - ladder.level))
    tolerated = holds.sum(axis=0) - 1  # −1 if the set would not pass even without a wrong label
    at_most = np.where(tolerated < 0, 0.0, bdtr(np.maximum(tolerated, 0), n, belief.errors(sizes)))
    chances = belief.weights @ at_most
    return int(sizes[np.argmax(sizes * chances)])


def reading_frame(
    confidence: Any,
    budget: float,
    n: int,
    *,
    eligible: Any = None,
    expected: AccuracyEstimate | None = None,
) -> int:
    """Return the number of most confident documents from which to draw ``n``, so that reading them decides most.

    The result depends on the confidences and the interval of the expected accuracy, but not on any answer.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
    budget : float
        Share of wrong labels that is tolerated.
    n : int
        Documents to read.
    eligible : array-like of bool, optional
        Documents that may pass; all if omitted.
    expected : AccuracyEstimate, optional

    Returns
    -------
    int

    Raises
    ------
    DataError
        If no document may pass.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose import reading_frame
    >>> [reading_frame(np.linspace(0.999, 0.5, 2000), 0.1, n) for n in (100, 400)]
    [750, 900]
    """
    check_budget(budget)
    confidence = np.asarray(confidence, dtype=float)
    order, _ = rank_documents(confidence, eligible)
    if not len(order):
        raise DataError("No label could pass: all documents were answered or need review anyway.", code="no-rows")
    belief = Belief.of(confidence[order], expected)
    ladder = make_ladder(len(order), allowed_errors(budget, len(confidence)))
    return best_set(belief, ladder, max(n, NOMINAL), least=min(n, len(order)))


def draw_to_decide(
    confidence: Any,
    texts: Sequence[str],
    budget: float,
    n: int,
    *,
    random_state: int | None = 0,
    eligible: Any = None,
    expected: AccuracyEstimate | None = None,
    read: tuple[Any, Any, int] | None = None,
) -> tuple[np.ndarray, int]:
    """Draw the documents that decide most about a budget.

    The draw does not depend on the documents' order. With the same seed, a larger draw begins with the smaller one.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
    texts : sequence of str
    budget : float
    n : int
        Documents to read.
    random_state : int or None
    eligible : array-like of bool, optional
    expected : AccuracyEstimate, optional
    read : tuple of (rows, right, among), optional
        Documents that were read before. They come first, and ``n`` documents complete them to a random sample of a
        frame that may be wider.

    Returns
    -------
    rows : ndarray of int
    frame : int
        Number of most confident documents from which the rows were drawn.
    """
    confidence = np.asarray(confidence, dtype=float)
    order, rank = rank_documents(confidence, eligible)
    frame = reading_frame(confidence, budget, n, eligible=eligible, expected=expected)
    drawn = draw_sample(len(confidence), len(confidence), random_state, texts=texts)
    if read is None:
        return drawn[rank[drawn] < frame][:n], frame
    rows, right, among = np.asarray(read[0], dtype=int), np.asarray(read[1], dtype=bool), read[2]
    kept = rank[rows] < len(order)
    rows, right = rows[kept], right[kept]
    belief = Belief.of(confidence[order], expected)
    ladder = make_ladder(len(order), allowed_errors(budget, len(confidence)))
    reading = count_reading(ladder, rank[rows], right, among)
    passed = int(climb(ladder, reading.n, reading.wrong))
    frame, _ = wider_frame(belief.after(confidence[rows], right), ladder, reading, n, passed)
    wider = drawn[rank[drawn] < frame][: len(rows) + n]
    # The rows were drawn in another order, so no wider frame would complete them to a random sample.
    if not np.isin(rows, wider).all():
        frame, wider = among, drawn[rank[drawn] < among]
    return np.r_[rows, wider[~np.isin(wider, rows)][:n]], frame


def next_step(
    confidence: Any,
    needs_review: Any,
    budget: float,
    texts: Sequence[str],
    *,
    eligible: Any = None,
    expected: AccuracyEstimate | None = None,
) -> Step | None:
    """Return the reading that saves most, by a forecast from the confidences and the expected guarantee.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
    needs_review : array-like of bool, shape (n_documents,)
    budget : float
    texts : sequence of str
    eligible : array-like of bool, optional
    expected : AccuracyEstimate, optional

    Returns
    -------
    Step or None
        None if the list would not become shorter by at least 1.1 times the number of documents read. If there is no
        list, the result of :func:`look_at_random`.
    """
    check_budget(budget)
    confidence = np.asarray(confidence, dtype=float)
    now = int(np.count_nonzero(needs_review))
    if not now:
        return look_at_random(texts)
    order, _ = rank_documents(confidence, eligible)
    if not len(order):
        return None
    belief = Belief.of(confidence[order], expected)
    ladder = make_ladder(len(order), allowed_errors(budget, len(confidence)))
    steps = []
    for n in (n for n in STEPS if n < len(order)):
        frame = reading_frame(confidence, budget, n, eligible=eligible, expected=expected)
        nothing = count_reading(ladder, np.zeros(0, dtype=int), np.zeros(0, dtype=bool), frame)
        passing = expected_to_pass(belief, ladder, nothing, n, frame)
        known = passing + n * max(0.0, 1 - passing / frame)  # documents that were read outside the set are known, too
        steps.append(Step(n, now, round(len(confidence) - known), reading_minutes(texts, n)))
    best = max(steps, key=lambda step: step.now - step.then - step.read, default=None)
    return None if best is None or best.now - best.then < 1.1 * best.read else best


def look_at_random(texts: Sequence[str]) -> Step | None:
    """Recommend to read a hundred documents, which show whether it is right that no label needs review.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    Step or None
    """
    n = min(LOOK, len(texts))
    return Step(n, 0, 0, reading_minutes(texts, n)) if n else None


def read_list(needs_review: Any, texts: Sequence[str], forecast: Any = None) -> Step:
    """Recommend to read the review list, or the least confident hundred documents of a long list.

    Parameters
    ----------
    needs_review : array-like of bool, shape (n_documents,)
    texts : sequence of str
    forecast : AnswerForecast, optional
        Expected effect of a hundred answers.

    Returns
    -------
    Step
    """
    rows = np.flatnonzero(needs_review).tolist()
    n = now = len(rows)
    why = "so that the rest can pass unread" if now < len(texts) else ""
    if now > LOOK and forecast is None:
        n, why = LOOK, "so that the accuracy can be estimated"
    elif now > LOOK and forecast.then < now:
        return Step(LOOK, now, forecast.then, forecast.minutes, at_random=False)
    return Step(n, now, now - n, reading_minutes([texts[row] for row in rows], n), at_random=False, why=why)


def reading_minutes(texts: Sequence[str], n: int) -> int:
    """Estimate the time to label texts: five seconds each, plus a second per four words or per 24 characters.

    Parameters
    ----------
    texts : sequence of str
    n : int
        Number of these texts that will be labelled.

    Returns
    -------
    int
        Minutes.
    """
    some = [text[:_LONGEST] for text in texts[:: max(1, len(texts) // 500)]]
    signs = sum(map(len, some)) / max(1, len(some))
    words = sum(len(text.split()) for text in some) / max(1, len(some))
    return max(1, round(n * (5 + max(words / 4, signs / 24)) / 60))


def wider_frame(belief: Belief, ladder: Ladder, reading: Reading, more: int, passed: int) -> tuple[int, int]:
    """Return the frame with which most labels should pass, and how many should pass.

    A wider frame must first be read as densely as the present one. The result may be the present frame.

    Parameters
    ----------
    belief : Belief
    ladder : Ladder
    reading : Reading
    more : int
        Additional documents to read.
    passed : int
        Labels that pass now.

    Returns
    -------
    frame, passed : int
    """
    frames = ladder.sizes[ladder.sizes > reading.frame]
    frames = frames[(reading.total + more) / frames >= reading.total / reading.frame]
    places = np.linspace(0, len(frames) - 1, min(len(frames), _FRAMES)).round().astype(int)
    candidates = [reading.frame, *frames[places].tolist()]
    found = [expected_to_pass(belief, ladder, reading, more, frame, passed) for frame in candidates]
    best = int(np.argmax(found))
    return candidates[best], found[best]


def climb(ladder: Ladder, n: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the size of the largest set that passes, per row of counts; 0 if none does.

    A set passes if its evidence and that of all smaller sets reach the confidence level.

    Parameters
    ----------
    ladder : Ladder
    n, wrong : ndarray of int, shape (..., n_sets)
        Documents that were read, and wrong labels among them.

    Returns
    -------
    ndarray of int, shape (...)
    """
    holds = budget_evidence(wrong, n, ladder.sizes, ladder.allowed) >= -np.log(1 - ladder.level) - 1e-9
    steps = np.cumprod(holds, axis=-1).sum(axis=-1)
    return np.r_[0, ladder.sizes][steps]


def count_reading(ladder: Ladder, ranks: np.ndarray, right: np.ndarray, frame: int) -> Reading:
    """Count documents read and wrong labels in each set; sets larger than the frame have no counts.

    Parameters
    ----------
    ladder : Ladder
    ranks : ndarray of int, shape (n_read,)
    right : ndarray of bool, shape (n_read,)
    frame : int

    Returns
    -------
    Reading
    """
    inside = (ranks[None] < ladder.sizes[:, None]) & (ladder.sizes <= frame)[:, None]
    return Reading(inside.sum(axis=1), (inside & ~right[None]).sum(axis=1), len(ranks), frame)


def forecast(belief: Belief, ladder: Ladder, reading: Reading, passed: int) -> list[dict]:
    """Forecast how many labels pass after more reading.

    Parameters
    ----------
    belief : Belief
    ladder : Ladder
    reading : Reading
    passed : int

    Returns
    -------
    list of dict
        ``read`` (additional documents) and ``documents`` (that will then pass).
    """
    left = belief.size - reading.total
    steps = [step for step in STEPS if step < left] + ([left] if left else [])
    return [{"read": n, "documents": wider_frame(belief, ladder, reading, n, passed)[1]} for n in steps]


def expected_to_pass(belief: Belief, ladder: Ladder, reading: Reading, more: int, frame: int, passed: int = 0) -> int:
    """Return the expected number of passing labels after ``more`` documents are read evenly over the frame.

    The reading is simulated ``PLAYED`` times, each time with one shift drawn from the belief.

    Parameters
    ----------
    belief : Belief
    ladder : Ladder
    reading : Reading
    more, frame, passed : int

    Returns
    -------
    int
    """
    rng = np.random.default_rng(0)
    shift = rng.choice(len(SHIFTS), size=PLAYED, p=belief.weights)
    sizes = ladder.sizes[ladder.sizes <= frame]
    # A ring contains the documents between one set and the next.
    rings = np.diff(sizes, prepend=0)
    wrong_by_shift = np.diff(belief.errors(sizes) * sizes, prepend=0, axis=1)
    rates = np.clip(wrong_by_shift[shift] / rings, 0, 1)
    known = sizes <= reading.frame
    n, wrong = (np.diff(np.where(known, part[: len(sizes)], part.max()), prepend=0) for part in reading[:2])
    before, after = reading.total / reading.frame, min(1.0, (reading.total + more) / frame)
    dense = np.where(known, max(0.0, after - before) / max(1 - before, 1e-9), after)
    added = rng.binomial(rings - n, np.minimum(dense, 1), size=(PLAYED, len(sizes)))
    wrong = wrong + rng.binomial(added, rates)
    reached = climb(ladder._replace(sizes=sizes), np.cumsum(n + added, axis=1), np.cumsum(wrong, axis=1))
    return round(float(np.mean(np.maximum(passed, reached))))
