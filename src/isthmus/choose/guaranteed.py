"""How many labels may pass unread with a guarantee, from documents that were read at random, and which to read for it.

Documents are ranked by confidence; the sets that may pass are the surest so many. Which sets are asked, and in which
order, is fixed before any answer is known, so that answers decide about each set only whether it holds. Evidence is an
e-value for documents drawn without replacement (:func:`isthmus._math.samples.budget_evidence`), and e-values may be
looked at after every answer: reading may stop, or go on, at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, expit, log_expit, logit

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus._math.samples import budget_evidence, check_confidence
from isthmus._utils import plural, spell_time
from isthmus.choose.sampling import draw_sample
from isthmus.exceptions import DataError, UsageError

CONFIDENCE_LEVEL = 0.95
RUNGS = 40  # sets from none to all
NOMINAL = 120  # documents that a person is assumed to read when the sets are chosen
SHIFTS = np.linspace(-3.0, 3.0, 25)  # how far true log-odds may lie from the confidences'
UNKNOWN = 1.0  # standard deviation of that where no accuracy was estimated
PLAYED = 100  # readings behind one figure of a forecast
STEPS = (25, 50, 100, 150, 200, 400)  # further documents that a forecast speaks of
LOOK = 100  # documents that show how many labels are right where none is marked for review
_FRAMES = 8  # frames that are compared for the next draw
_POINTS = 1_000  # documents by which the confidences are remembered
_EDGE = 1e-4
_LONGEST = 2_000  # signs of a text that are read before it is labelled


@dataclass(frozen=True)
class Belief:
    """What is believed about labels before the guarantee: how far their true log-odds lie from the confidences'."""

    size: int  # documents that may pass
    log_odds: np.ndarray  # of these documents, or of evenly spaced ones, the surest first
    weights: np.ndarray  # how likely each of SHIFTS is

    @classmethod
    def of(cls, confidence: np.ndarray, expected: AccuracyEstimate | None = None) -> Belief:
        spread = UNKNOWN
        if expected is not None and expected.estimate is not None:
            spread = max(0.1, float(clipped_logit(expected.high) - clipped_logit(expected.low)) / (2 * 1.645))
        weights = np.exp(-0.5 * (SHIFTS / spread) ** 2)
        places = np.linspace(0, len(confidence) - 1, min(len(confidence), _POINTS)).round().astype(int)
        log_odds = logit(np.clip(confidence[places], _EDGE, 1 - _EDGE))
        return cls(len(confidence), log_odds, weights / weights.sum())

    def errors(self, sizes: np.ndarray) -> np.ndarray:
        """Share wrong among the surest so many, one row per shift."""
        wrong = np.cumsum(expit(-(self.log_odds[None] + SHIFTS[:, None])), axis=1)
        places = np.clip(np.round(sizes * len(self.log_odds) / self.size).astype(int), 1, None)
        return wrong[:, places - 1] / places

    def after(self, confidence: np.ndarray, right: np.ndarray) -> Belief:
        log_odds = logit(np.clip(confidence, _EDGE, 1 - _EDGE))[None] + SHIFTS[:, None]
        logs = np.log(self.weights) + np.where(right[None], log_expit(log_odds), log_expit(-log_odds)).sum(axis=1)
        weights = np.exp(logs - logs.max())
        return Belief(self.size, self.log_odds, weights / weights.sum())


class Ladder(NamedTuple):
    """The sets that are asked, from small to large, and the error probability that is each one's own."""

    sizes: np.ndarray
    own: np.ndarray


class Reading(NamedTuple):
    """Per set of a ladder, documents read and wrong ones among them; and the frame of the draw."""

    n: np.ndarray
    wrong: np.ndarray
    total: int
    frame: int


@dataclass(frozen=True)
class Guarantee:
    """The labels that may pass unread: at most ``budget`` of them are wrong, with ``confidence_level``.

    Labels that were read and found wrong do not count among them: they are known.

    Attributes
    ----------
    budget, confidence_level : float
    passes : ndarray of bool
        Per document, whether it is in the set of labels that may pass.
    eligible : int
        Documents that could pass: neither answered before, nor in a new group.
    read, wrong : int
        Documents that were read, and how many of their labels are wrong.
    more : list of dict
        ``read`` (documents more) and ``documents`` (that may pass then, as things look now).
    among : int
        The number of surest documents from which those read were drawn.
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
        """Everything but the documents, ready for JSON."""
        names = ("budget", "confidence_level", "documents", "unread", "eligible", "among", "read", "wrong", "more")
        return {name: getattr(self, name) for name in names}

    @property
    def next_step(self) -> dict | None:
        """The fewest further documents that let a tenth more pass; None where reading would change little."""
        worth = 1.1 * max(self.documents, 1)
        return next((row for row in self.more if row["documents"] > worth), None)

    def __str__(self) -> str:
        wrong = f"at most {100 * self.budget:g} %"
        sure = f"with {100 * self.confidence_level:g} % confidence"
        first = f"guaranteed: no label yet ({wrong} wrong, {sure})"
        if self.documents:
            read = f" ({self.unread:,} unread)" if self.unread < self.documents else ""
            passing = f"{self.documents:,} of {plural(self.eligible, 'label')} can pass{read}"
            first = f"guaranteed: {passing}, {wrong} of them wrong, {sure}"
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
    """The largest set of labels of which, with 95 % confidence, at most ``budget`` is wrong.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
        Ranks the documents. It need not be right: a confidence that says nothing lets fewer pass.
    rows : array-like of int
        Documents that were drawn at random and read, numbered from 0.
    right : array-like of bool
        Whether their labels are right.
    budget : float
        Share of wrong labels that is tolerated.
    among : int, optional
        The number of surest eligible documents from which they were drawn; all if omitted.
    eligible : array-like of bool, optional
        Which documents may pass; all if omitted. Rows that are not among them are left out.
    expected : AccuracyEstimate, optional
        What was expected. It decides which sets are asked, and the forecast; never whether a set holds.
    confidence_level : float, default=0.95

    See Also
    --------
    isthmus.choose.reading_frame : From which documents to draw, so that reading decides most.

    Notes
    -----
    Sets are asked from the smallest up (the fallback procedure of Wiens, *Pharmaceutical Statistics* 2, 2003): the
    error probability belongs to a few sets at first, and one that holds hands its own on to the next. The chance that
    a set which is said to hold does not is at most 1 − ``confidence_level``, whenever one stops.

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
    kept = rank[rows] < len(order)
    rows, right = rows[kept], right[kept]
    frame = len(order) if among is None else among
    if np.any(rank[rows] >= frame):
        raise another_labelling(frame)
    passes = np.zeros(len(confidence), dtype=bool)
    more: list[dict] = []
    if len(order):
        belief = Belief.of(confidence[order], expected)
        ladder = make_ladder(belief, budget, confidence_level)
        reading = count_reading(ladder, rank[rows], right, frame)
        passed = int(climb(ladder, budget_evidence(reading.wrong, reading.n, ladder.sizes, budget)))
        passes[order[:passed]] = True
        more = forecast(belief.after(confidence[rows], right), ladder, budget, reading, passed)
    unread = int(passes.sum()) - int(passes[np.unique(rows)].sum())
    wrong = int(np.sum(~right))
    return Guarantee(budget, passes, len(order), len(rows), wrong, more, frame, unread, confidence_level)


def another_labelling(among: int) -> DataError:
    return DataError(
        f"The sample was drawn from the {among:,} surest documents of another labelling; give the one it was drawn "
        "from.",
        code="bad-check",
    )


def check_budget(budget: float) -> None:
    if not 0 < budget < 1:
        raise UsageError(f"budget is {budget}; give a share between 0 and 1, such as 0.1.", code="bad-parameter")


def rank_documents(confidence: np.ndarray, eligible: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Documents that may pass from the surest down, and the place of every document among them (beyond: none)."""
    order = np.argsort(-confidence, kind="stable")
    if eligible is not None:
        order = order[np.asarray(eligible, dtype=bool)[order]]
    rank = np.full(len(confidence), len(confidence))
    rank[order] = np.arange(len(order))
    return order, rank


def make_ladder(belief: Belief, budget: float, level: float = CONFIDENCE_LEVEL) -> Ladder:
    """The sets to ask; nothing here depends on an answer.

    Half of the error probability belongs to the set from which most is to be expected (:func:`best_set`), a quarter to
    one half as large, from which the sets begin, and a quarter to sets twice, four times as large, and so on to all
    documents, for the case that the labels are much better than was expected.
    """
    even = np.unique(np.linspace(belief.size / RUNGS, belief.size, RUNGS).round().astype(int).clip(1))
    anchor = best_set(belief, budget, even, NOMINAL, level)
    sizes = np.unique(np.r_[max(1, anchor // 2), even[even > anchor // 2]])
    doubled = int(np.ceil(np.log2(belief.size / anchor)))
    larger = [min(belief.size, anchor * 2**times) for times in range(1, doubled + 1)] or [anchor]
    own = np.zeros(len(sizes))
    for size, share in ((sizes[0], 0.25), (anchor, 0.5), *((size, 0.25 / len(larger)) for size in larger)):
        own[np.searchsorted(sizes, size)] += share * (1 - level)
    return Ladder(sizes, own)


def best_set(belief: Belief, budget: float, sizes: np.ndarray, reading: int, level: float = CONFIDENCE_LEVEL) -> int:
    """The set of which most labels can be expected to pass after so much reading in it."""
    n = np.minimum(reading, sizes)
    wrong = np.arange(int(np.ceil(budget * n.max())) + 2)[:, None]
    holds = (wrong <= n) & (budget_evidence(np.minimum(wrong, n), n, sizes, budget) >= -np.log(1 - level))
    tolerated = holds.sum(axis=0) - 1  # -1 where not even none would do
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
    """From how many of the surest documents to draw ``n``, so that reading them decides most about a budget.

    It goes by the confidences and the interval of the expectation, and by no answer.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose import reading_frame
    >>> [reading_frame(np.linspace(0.999, 0.5, 2000), 0.1, n) for n in (100, 400)]
    [300, 800]
    """
    check_budget(budget)
    confidence = np.asarray(confidence, dtype=float)
    order, _ = rank_documents(confidence, eligible)
    if not len(order):
        raise DataError("No label could pass: all documents were answered or need review anyway.", code="no-rows")
    belief = Belief.of(confidence[order], expected)
    ladder = make_ladder(belief, budget)
    least = max(int(ladder.sizes[np.argmax(ladder.own)]), min(n, len(order)))
    return best_set(belief, budget, ladder.sizes[ladder.sizes >= least], max(n, NOMINAL))


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
    """Documents to read so that most can be said about a budget, and from how many of the surest they were drawn.

    The draw does not depend on the documents' order, and a larger draw with the same number begins with the smaller
    one. ``read`` (rows, right, among) is what was read already: it comes first, and ``n`` more complete it to a random
    sample of a frame that may be wider.
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
    ladder = make_ladder(belief, budget)
    reading = count_reading(ladder, rank[rows], right, among)
    passed = int(climb(ladder, budget_evidence(reading.wrong, reading.n, ladder.sizes, budget)))
    frame, _ = wider_frame(belief.after(confidence[rows], right), ladder, budget, reading, n, passed)
    wider = drawn[rank[drawn] < frame][: len(rows) + n]
    if not np.isin(rows, wider).all():  # read in another order, which a wider frame would not complete
        frame, wider = among, drawn[rank[drawn] < among]
    return np.r_[rows, wider[~np.isin(wider, rows)][:n]], frame


class Step(NamedTuple):
    """What reading so many documents should bring: from how many to read the list shrinks to about how many.

    If ``now`` is 0, no document needs review, and reading some at random shows whether that is right. Not
    ``at_random``: the documents are those of the list, or the least sure of a long one.
    """

    read: int
    now: int
    then: int
    minutes: int
    at_random: bool = True
    why: str = ""  # what reading the list is good for

    def __str__(self) -> str:
        which = f"{self.read:,} drawn at random" if self.at_random else plural(self.read, "document")
        if not self.at_random and self.read == self.now:
            which = f"the {which} to review"
        first = f"Read {which} (about {spell_time(60 * self.minutes)})"
        if not self.now:
            return f"{first}: they show how many labels are right, and whether a class is missing."
        if self.at_random or (self.read < self.now and not self.why):
            return f"{first}: the list to read should shrink from {self.now:,} to about {self.then:,}."
        return f"{first}, {self.why}." if self.why else f"{first}."


def next_step(
    confidence: Any,
    needs_review: Any,
    budget: float,
    texts: Sequence[str],
    *,
    eligible: Any = None,
    expected: AccuracyEstimate | None = None,
) -> Step | None:
    """The reading that saves most, forecast from the confidences and the guarantee that it should bring.

    None where reading for a guarantee would not shorten the list by a tenth more than what is read for it. Where there
    is no list: :func:`look_at_random`.
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
    ladder = make_ladder(belief, budget)
    steps = []
    for n in (n for n in STEPS if n < len(order)):
        frame = reading_frame(confidence, budget, n, eligible=eligible, expected=expected)
        nothing = count_reading(ladder, np.zeros(0, dtype=int), np.zeros(0, dtype=bool), frame)
        passing = expected_to_pass(belief, ladder, budget, nothing, n, frame)
        known = passing + n * max(0.0, 1 - passing / frame)  # what was read outside the set is known, too
        steps.append(Step(n, now, round(len(confidence) - known), reading_minutes(texts, n)))
    best = max(steps, key=lambda step: step.now - step.then - step.read, default=None)
    return None if best is None or best.now - best.then < 1.1 * best.read else best


def look_at_random(texts: Sequence[str]) -> Step | None:
    """A hundred documents that show whether it is right that no label needs review."""
    n = min(LOOK, len(texts))
    return Step(n, 0, 0, reading_minutes(texts, n)) if n else None


def read_list(needs_review: Any, texts: Sequence[str], forecast: Any = None) -> Step:
    """The documents to review, all at once; of more than a hundred the least sure, if answers should shorten the list.

    ``forecast`` is what a hundred answers should bring.
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
    """Time to label ``n`` of these: five seconds each, and four words or 24 signs a second."""
    some = [text[:_LONGEST] for text in texts[:: max(1, len(texts) // 500)]]
    signs = sum(map(len, some)) / max(1, len(some))
    words = sum(len(text.split()) for text in some) / max(1, len(some))
    return max(1, round(n * (5 + max(words / 4, signs / 24)) / 60))


def wider_frame(
    belief: Belief, ladder: Ladder, budget: float, reading: Reading, more: int, passed: int
) -> tuple[int, int]:
    """The frame that lets most labels pass, maybe the same one, and how many should pass then.

    A wider one must first be read as densely as the present one.
    """
    frames = ladder.sizes[ladder.sizes > reading.frame]
    frames = frames[(reading.total + more) / frames >= reading.total / reading.frame]
    places = np.linspace(0, len(frames) - 1, min(len(frames), _FRAMES)).round().astype(int)
    candidates = [reading.frame, *frames[places].tolist()]
    found = [expected_to_pass(belief, ladder, budget, reading, more, frame, passed) for frame in candidates]
    best = int(np.argmax(found))
    return candidates[best], found[best]


def climb(ladder: Ladder, evidence: np.ndarray) -> np.ndarray:
    """The largest set that holds, per row of evidence.

    Each set needs evidence for its own error probability and for what smaller ones hand on.
    """
    handed = np.zeros(evidence.shape[:-1])
    passed = np.zeros(evidence.shape[:-1], dtype=int)
    for place, size in enumerate(ladder.sizes.tolist()):
        share = ladder.own[place] + handed
        holds = (share > 0) & (np.exp(-np.minimum(evidence[..., place], 700)) <= share * (1 + 1e-9))
        handed, passed = np.where(holds, share, 0.0), np.where(holds, size, passed)
    return passed


def count_reading(ladder: Ladder, ranks: np.ndarray, right: np.ndarray, frame: int) -> Reading:
    """Documents read in each set, and wrong ones; nothing is known of sets larger than the frame."""
    inside = (ranks[None] < ladder.sizes[:, None]) & (ladder.sizes <= frame)[:, None]
    return Reading(inside.sum(axis=1), (inside & ~right[None]).sum(axis=1), len(ranks), frame)


def forecast(belief: Belief, ladder: Ladder, budget: float, reading: Reading, passed: int) -> list[dict]:
    left = belief.size - reading.total
    steps = [step for step in STEPS if step < left] + ([left] if left else [])
    return [{"read": n, "documents": wider_frame(belief, ladder, budget, reading, n, passed)[1]} for n in steps]


def expected_to_pass(
    belief: Belief, ladder: Ladder, budget: float, reading: Reading, more: int, frame: int, passed: int = 0
) -> int:
    """Labels that can be expected to pass once ``more`` documents were read, all in all evenly over the frame.

    The reading is played out ``PLAYED`` times, each time with one shift of what is believed.
    """
    rng = np.random.default_rng(0)
    shift = rng.choice(len(SHIFTS), size=PLAYED, p=belief.weights)
    sizes = ladder.sizes[ladder.sizes <= frame]
    # Between one set and the next lies a ring of documents.
    rings = np.diff(sizes, prepend=0)
    wrong_by_shift = np.diff(belief.errors(sizes) * sizes, prepend=0, axis=1)
    rates = np.clip(wrong_by_shift[shift] / rings, 0, 1)
    known = sizes <= reading.frame
    n, wrong = (np.diff(np.where(known, part[: len(sizes)], part.max()), prepend=0) for part in reading[:2])
    before, after = reading.total / reading.frame, min(1.0, (reading.total + more) / frame)
    dense = np.where(known, max(0.0, after - before) / max(1 - before, 1e-9), after)
    added = rng.binomial(rings - n, np.minimum(dense, 1), size=(PLAYED, len(sizes)))
    wrong = wrong + rng.binomial(added, rates)
    found = budget_evidence(np.cumsum(wrong, axis=1), np.cumsum(n + added, axis=1), sizes, budget)
    return round(float(np.mean(np.maximum(passed, climb(Ladder(sizes, ladder.own[: len(sizes)]), found)))))
