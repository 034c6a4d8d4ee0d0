"""Estimate how common each class is in the target, with intervals, for all documents and by the values of a column.

Without a true label, the error of a class proportion results from mistakes of the labels. Pairs with known truth show
how far these mistakes shift a proportion (``reach``; docs/measured/trust.md). If annotators labelled documents drawn at
random, these correct the proportion, and the interval covers the sampling error only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import hypot, sqrt
from typing import Any

import numpy as np

from isthmus._math.confidence import CONFIDENCE_LEVEL, AccuracyEstimate, with_caution
from isthmus._math.fitted import fitted
from isthmus._math.samples import effective_size, two_sided_z
from isthmus._utils import plural
from isthmus.corpus.cells import cell_content
from isthmus.exceptions import UsageError

# Fitted constants; ``choose/trust.json`` states their units and origin.
PROPORTIONS = fitted("class_proportions")

ROWS = 40  # values, or periods, that have a row of their own; others share one row
# Name of empty cells.
BLANK = "(blank)"
_DATED = 0.9  # share of the filled cells that must be dates for a column of dates
# From fine to coarse. The first unit that gives at most ROWS periods is used.
_PERIODS: dict[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04} Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
}


@dataclass(frozen=True)
class ShareFacts:
    """Knowledge about the class of every document, from which class proportions are estimated."""

    classes: list
    labels: np.ndarray
    probabilities: np.ndarray  # calibrated: the largest is the confidence
    confidence: np.ndarray  # lower for a document that may belong to no class (new groups)
    # Without it, proportions have no interval unless documents were drawn at random.
    expected: AccuracyEstimate | None = None
    known: Mapping[int, Any] = field(default_factory=dict)  # documents whose class an annotator gave
    drawn: Sequence[int] = ()  # known documents that were drawn at random
    before: np.ndarray | None = None  # probabilities before answers were learned; None: the same
    level: float = CONFIDENCE_LEVEL  # share of intervals that should contain the true proportion
    counted: np.ndarray | None = None  # documents that count, those with a text; None: all

    def shares(self, within: np.ndarray | None = None) -> list[dict[str, Any]]:
        """Estimate the proportion of each class.

        Parameters
        ----------
        within : ndarray of bool, shape (n_documents,), optional
            Documents to include; all if omitted.

        Returns
        -------
        list of dict
            ``class``, ``labels`` (proportion among the labels), ``estimate``, ``low``, ``high`` and ``basis``.
        """
        chosen = np.ones(len(self.labels), dtype=bool) if within is None else np.asarray(within, dtype=bool)
        chosen = chosen if self.counted is None else chosen & self.counted
        named = [name for row, name in self.known.items() if chosen[row]]
        new = sorted({name for name in named if name not in set(self.classes)}, key=str)
        sample = np.array([row for row in self.drawn if chosen[row]], dtype=int)
        corrected = len(sample) >= PROPORTIONS["fewest"]
        rows = []
        for code, name in enumerate([*self.classes, *new]):
            given = self.labels[chosen] == name
            # Documents of known class limit the possible proportions.
            count, possible = named.count(name), (0.0, 1.0)
            if len(given):
                possible = count / len(given), 1 - (len(named) - count) / len(given)
            share = float(np.mean(given)) if len(given) else 0.0
            if corrected:
                rows.append(_share_row(name, share, self._corrected(name, code, chosen, sample), possible, "sample"))
            else:
                ends = _expected_ends(*self.doubt(name, code, chosen), self.level)
                rows.append(_share_row(name, share, ends, possible))
        total = sum(row["estimate"] for row in rows)
        if corrected and total > 0:
            for row in rows:
                row["estimate"] = float(np.clip(row["estimate"] / total, row["low"], row["high"]))
        return rows

    def doubt(self, name: Any, code: int, chosen: np.ndarray) -> tuple[float, float | None, float]:
        """Return the figures behind the proportion of a class.

        Parameters
        ----------
        name : object
            Class.
        code : int
            Column of the class; beyond the last column for a class that only answers name.
        chosen : ndarray of bool, shape (n_documents,)

        Returns
        -------
        share : float
            Mean probability of the class.
        touched : float or None
            Share of mistakes that would affect the class, if the accuracy were the low end of its interval. None
            without an expected accuracy.
        chance : float
            Standard error of the share.
        """
        n = max(1, int(chosen.sum()))
        member = np.zeros(len(self.labels))
        if code < self.probabilities.shape[1]:
            member = _membership(self.probabilities, code, self.confidence)
        for row, said in self.known.items():
            member[row] = said == name
        share = float(member[chosen].sum()) / n
        chance = sqrt(float(np.sum((member * (1 - member))[chosen]))) / n
        if self.expected is None or self.expected.estimate is None:
            return share, None, chance
        touched = _touched(member, self.labels == name, self.confidence, self.expected.caution)
        touched[list(self.known)] = 0
        return share, float(touched[chosen].sum()) / n, chance

    def _corrected(self, name: Any, code: int, chosen: np.ndarray, sample: np.ndarray) -> list[float]:
        """Return estimate and interval by the regression estimator.

        The sample measures the mistakes of probabilities that no answer has influenced. Known documents that were not
        drawn at random count with their class; the sample represents the others.
        """
        settled = np.array([row for row in self.known if chosen[row]], dtype=int)
        settled = settled[~np.isin(settled, sample)]
        open_ = chosen.copy()
        open_[settled] = False
        guess = np.zeros(len(self.labels))
        before = self.probabilities if self.before is None else self.before
        if code < before.shape[1]:
            guess = before[:, code]
        truth = np.array([self.known[row] == name for row in sample], dtype=float)
        spread = float(np.var(guess[sample]))
        slope = float(np.clip(np.mean((truth - truth.mean()) * guess[sample]) / spread, 0, 1)) if spread > 1e-9 else 0.0
        off = truth - slope * guess[sample]
        share = slope * float(guess[open_].mean()) + float(off.mean())
        n, population = len(sample), int(open_.sum())
        # One more document on either side, as for counted proportions (Bonett and Price 2012): the interval must keep a
        # positive length if the sample shows no mistake.
        size = effective_size(n, population)
        variance = (float(np.mean((off - off.mean()) ** 2)) + 2 / n) / (1 + 2 / n)
        reach = two_sided_z(self.level) * sqrt(variance / (size + 2))
        part, rest = population / int(chosen.sum()), sum(self.known[row] == name for row in settled)
        return [rest / int(chosen.sum()) + part * end for end in (share, share - reach, share + reach)]


def _share_row(
    name: Any, labels: float, ends: Sequence, possible: tuple[float, float] = (0.0, 1.0), basis: str = "expected"
) -> dict[str, Any]:
    estimate, low, high = (None if end is None else float(np.clip(end, *possible)) for end in ends)
    row = {"class": name, "labels": labels, "estimate": estimate, "low": low, "high": high}
    return row | {"basis": "" if low is None else basis}


def _membership(probabilities: np.ndarray, code: int, confidence: np.ndarray) -> np.ndarray:
    return probabilities[:, code] * np.minimum(1, confidence / np.maximum(probabilities.max(axis=1), 1e-12))


def _touched(member: np.ndarray, given: np.ndarray, confidence: np.ndarray, caution: float) -> np.ndarray:
    sure = np.clip(confidence, 1e-9, 1 - 1e-9)
    worse = (1 - with_caution(sure, caution)) / (1 - sure)
    return np.minimum(np.where(given, 1 - member, member) * worse, 1)


def _expected_ends(share: float, touched: float | None, chance: float, level: float) -> Sequence[float | None]:
    """Return estimate, low and high of a proportion, given the share of mistakes that would affect it."""
    if touched is None:
        return share, None, None
    reach = hypot(PROPORTIONS["reach"] * touched, two_sided_z(level) * chance)
    return share, share - reach, share + reach


# Unit of integer sums over blocks: 1 / UNITS documents. Integer sums do not depend on the boundaries of the blocks.
UNITS = 10**9


def share_sums(probabilities: np.ndarray, codes: np.ndarray, confidence: np.ndarray, caution: float) -> np.ndarray:
    """Return the sums over documents from which :func:`shares_of_sums` estimates the proportions.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    codes : ndarray of int, shape (n_documents,)
        Class of each label.
    confidence : ndarray of shape (n_documents,)
    caution : float
        Log-odds from the expected accuracy to the low end of its interval.

    Returns
    -------
    ndarray of int64, shape (3, n_classes)
        In units of 1 / ``UNITS``: probability of the class, its variance, and probability that a mistake affects the
        class.
    """
    columns = []
    for code in range(probabilities.shape[1]):
        member = _membership(probabilities, code, confidence)
        parts = member, member * (1 - member), _touched(member, codes == code, confidence, caution)
        columns.append([np.rint(part * UNITS).astype(np.int64).sum() for part in parts])
    return np.array(columns, dtype=np.int64).T


def shares_of_sums(
    sums: np.ndarray, counts: Sequence[int], classes: Sequence, expected: AccuracyEstimate
) -> list[dict[str, Any]]:
    """Estimate the proportions as :func:`estimate_shares` does, from sums over blocks and counts of the labels.

    Parameters
    ----------
    sums : ndarray of int64, shape (3, n_classes)
        Sum of the results of :func:`share_sums`.
    counts : sequence of int
        Labels of each class.
    classes : sequence
    expected : AccuracyEstimate

    Returns
    -------
    list of dict
    """
    n = max(1, int(sum(counts)))
    rows = []
    for name, count, (share, variance, touched) in zip(classes, counts, (sums / UNITS / n).T.tolist(), strict=True):
        reach = None if expected.estimate is None else touched
        ends = _expected_ends(share, reach, sqrt(variance / n), CONFIDENCE_LEVEL)
        rows.append(_share_row(name, count / n, ends))
    return rows


def estimate_shares(
    probabilities: Any,
    labels: Any,
    classes: Any,
    source_labels: Any = None,
    *,
    expected: AccuracyEstimate | None = None,
) -> list[dict[str, Any]]:
    """Estimate the proportion of each class in the target, with an interval.

    Counted labels overstate large classes where a method is uncertain. The mean of the probabilities overstates them
    less, if the probabilities are calibrated. The interval should contain the true proportion in nine cases of ten: its
    width is the error that mistakes of the labels caused on pairs with known truth. :func:`check_labels` measures the
    proportions instead.

    Parameters
    ----------
    probabilities : array-like of shape (n_documents, n_classes)
        Calibrated to the expected accuracy.
    labels : array-like of shape (n_documents,)
    classes : array-like of shape (n_classes,)
        Classes of the columns of ``probabilities``.
    source_labels : sequence, optional
        None for an unlabelled text.
    expected : AccuracyEstimate, optional
        Expected share of right labels; without it there is no interval.

    Returns
    -------
    list of dict
        Per class: ``source`` and ``labels`` (proportions in the source and among the labels), ``estimate``, ``low``,
        ``high`` and ``basis``.

    Examples
    --------
    >>> from isthmus.choose import AccuracyEstimate, estimate_shares
    >>> expected = AccuracyEstimate(0.75, 0.6, 0.9)
    >>> for row in estimate_shares([[0.9, 0.1], [0.6, 0.4]] * 50, ["a"] * 100, ["a", "b"], expected=expected):
    ...     print(row["class"], row["labels"], *(round(row[name], 2) for name in ("estimate", "low", "high")))
    a 1.0 0.75 0.54 0.96
    b 0.0 0.25 0.04 0.46
    """
    rows = np.asarray(probabilities, dtype=float)
    names = np.asarray(classes).tolist()
    facts = ShareFacts(names, np.asarray(labels), rows, rows.max(axis=1), expected)
    return with_source(facts.shares(), source_labels)


def with_source(rows: list[dict[str, Any]], source_labels: Any = None) -> list[dict[str, Any]]:
    """Add the class proportions of the source to the rows.

    Parameters
    ----------
    rows : list of dict
    source_labels : sequence, optional
        None for an unlabelled text.

    Returns
    -------
    list of dict
    """
    counts = Counter([] if source_labels is None else [name for name in source_labels if name is not None])
    total = sum(counts.values())
    return [{"class": row["class"], "source": counts[row["class"]] / total if total else None} | row for row in rows]


# -- Values of a column


def value_masks(values: Sequence, n_documents: int) -> tuple[str | None, list[tuple[str, np.ndarray]]]:
    """Return the documents with each value of a column, or of each period for a column of dates.

    The least frequent values share one entry. Documents without a date are left out of a column of dates.

    Parameters
    ----------
    values : sequence
        One per document.
    n_documents : int

    Returns
    -------
    unit : str or None
        Unit of the periods; None for a column without dates.
    masks : list of (str, ndarray of bool)

    Raises
    ------
    UsageError
        If the number of values differs from the number of documents.
    """
    if len(values) != n_documents:
        raise UsageError(
            f"The column to break down by has {len(values):,} values for {plural(n_documents, 'document')}; "
            "give one for each.",
            code="length-mismatch",
        )
    unit, periods = time_periods(values) or (None, [])
    if unit is not None:
        cells = np.array(periods, dtype=object)
        return unit, [(name, cells == name) for name in sorted(set(periods) - {BLANK})]
    said = [cell_content(value) or BLANK for value in values]
    counts = Counter(said)
    shown = sorted((value for value, _ in counts.most_common(ROWS)), key=_by_number)
    cells = np.array(said, dtype=object)
    masks = [(value, cells == value) for value in shown]
    if len(counts) > len(shown):
        masks.append((f"{len(counts) - len(shown):,} other values", ~np.isin(cells, shown)))
    return None, masks


def time_periods(values: Sequence) -> tuple[str, list[str]] | None:
    """Return the period of each value, in the finest unit that gives few enough periods.

    Parameters
    ----------
    values : sequence

    Returns
    -------
    tuple of (str, list of str) or None
        Unit and periods; None if the column contains no dates.
    """
    days = [_as_day(value) for value in values]
    filled = sum(bool(cell_content(value)) for value in values)
    found = sum(day is not None for day in days)
    if not found or found < _DATED * filled:
        return None
    said = {name: [BLANK if day is None else period(day) for day in days] for name, period in _PERIODS.items()}
    fits = [name for name in said if len(set(said[name]) - {BLANK}) <= ROWS]
    unit = fits[0] if fits else list(said)[-1]
    return unit, said[unit]


def _as_day(value: Any) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = str(value).strip() if isinstance(value, str) else ""
    if len(text) < 8 or not text[:4].isdigit():  # a bare number is not a date
        return None
    try:
        return datetime.fromisoformat(text.replace("/", "-")).date()
    except ValueError:
        return None


def _by_number(value: str) -> tuple:
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)
