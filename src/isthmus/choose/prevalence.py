"""How common each class is in the target, with intervals: by labels alone, after answers, after a check; by column.

Without a true label the error of a share is what mistakes of the labels make of it. How far they can carry it is known
from pairs whose truth is known (``REACH``; docs/measured/trust.md). With documents drawn at random whose class a person
said, the share is corrected by them, and the interval is that of the sampling alone.
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
from isthmus._math.samples import effective_size, two_sided_z
from isthmus._utils import plural
from isthmus.corpus.cells import cell_content
from isthmus.exceptions import UsageError

# How far a share can lie off, as a part of the mistakes that would touch the class if the accuracy lay at the low end
# of its interval: nine errors in ten on development pairs (``isthmus bench trust --study shares``).
REACH = 0.525
FEWEST = 30  # documents drawn at random from which a share is corrected by them
ROWS = 40  # values, or periods, that have a row of their own
BLANK = "(blank)"
_DATED = 0.9  # share of the filled cells that must be dates
# Coarser and coarser; the first that gives at most ROWS periods is taken.
_PERIODS: dict[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04} Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
}


@dataclass(frozen=True)
class ShareFacts:
    """What is known about the class of every document, from which class shares follow."""

    classes: list
    labels: np.ndarray
    probabilities: np.ndarray  # calibrated: their largest is the confidence
    confidence: np.ndarray  # lower where a document may be of no class at all (new groups)
    expected: AccuracyEstimate | None = None  # without an estimate, shares of labels alone have no interval
    known: Mapping[int, Any] = field(default_factory=dict)  # documents whose class a person said
    drawn: Sequence[int] = ()  # those of them that were drawn at random
    before: np.ndarray | None = None  # probabilities that no answer has touched, where others were
    level: float = CONFIDENCE_LEVEL  # share of intervals that should hold the true share
    counted: np.ndarray | None = None  # documents that count, those with a text; None: all

    def shares(self, within: np.ndarray | None = None) -> list[dict[str, Any]]:
        """Per class ``labels``, ``estimate``, ``low``, ``high`` and ``basis``; ``within``: of these documents alone."""
        chosen = np.ones(len(self.labels), dtype=bool) if within is None else np.asarray(within, dtype=bool)
        chosen = chosen if self.counted is None else chosen & self.counted
        named = [name for row, name in self.known.items() if chosen[row]]
        new = sorted({name for name in named if name not in set(self.classes)}, key=str)
        sample = np.array([row for row in self.drawn if chosen[row]], dtype=int)
        corrected = len(sample) >= FEWEST
        rows = []
        for code, name in enumerate([*self.classes, *new]):
            given = self.labels[chosen] == name
            # Documents whose class is known leave so much possible.
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
        """Share of a class by the probabilities, of mistakes that would touch it, and the standard error of chance.

        Mistakes are counted as if the accuracy lay at the low end of its interval; None where nothing is expected.
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
        """By the regression estimator: what the sample says about the mistakes of probabilities that it never touched.

        Documents that are known without having been drawn count as they are; the sample speaks for the others.
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
        # One document more on either side, as for counted shares (Bonett and Price 2012): the interval must not
        # collapse where the sample shows no mistake.
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
    """Estimate, low and high of a share, as far as mistakes of the labels can carry it."""
    if touched is None:
        return share, None, None
    reach = hypot(REACH * touched, two_sided_z(level) * chance)
    return share, share - reach, share + reach


UNITS = 10**9  # sums over blocks are of integers, so that they do not depend on where the blocks end


def share_sums(probabilities: np.ndarray, codes: np.ndarray, confidence: np.ndarray, caution: float) -> np.ndarray:
    """Per class, sums over documents in units of 1 / ``UNITS``, for :func:`shares_of_sums`.

    How likely each is of the class, the variance of that, and how likely a mistake touches it.
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
    """As :func:`estimate_shares`, from sums over blocks and the labels' counts."""
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
    """Per class: its share in the source, among the labels, and by the mean of the probabilities, with an interval.

    Counting labels tends to overstate large classes where a method is unsure; the mean of the probabilities does so
    less, as far as they are calibrated. The interval should hold the true share in nine cases of ten: it goes as far as
    the mistakes of the labels carried the share on pairs whose truth is known. :func:`check_labels` measures instead.

    Parameters
    ----------
    probabilities : array-like of shape (n_documents, n_classes)
        Calibrated to the accuracy that is expected.
    labels : array-like of shape (n_documents,)
    classes : array-like of shape (n_classes,)
        What the columns of ``probabilities`` stand for.
    source_labels : sequence, optional
        None where unknown.
    expected : AccuracyEstimate, optional
        How many labels are expected to be right; without it there is no interval.

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
    counts = Counter([] if source_labels is None else [name for name in source_labels if name is not None])
    total = sum(counts.values())
    return [{"class": row["class"], "source": counts[row["class"]] / total if total else None} | row for row in rows]


def share_text(row: Mapping[str, Any]) -> str:
    """A share in whole percent, with its interval where there is one.

    >>> share_text({"estimate": 0.337, "low": 0.28, "high": 0.412}), share_text({"estimate": 0.5, "low": None})
    ('34 % (28–41)', '50 %')
    """
    said = f"{100 * row['estimate']:.0f} %"
    return said if row["low"] is None else f"{said} ({100 * row['low']:.0f}–{100 * row['high']:.0f})"


# -- Values of a column


def value_masks(values: Sequence, n_documents: int) -> tuple[str | None, list[tuple[str, np.ndarray]]]:
    """The period where a column holds dates, and per value, or period, which documents have it.

    The values beyond the commonest come together; documents without a date are left out.
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
    """The period of each value, in the finest unit that gives few enough; None where the column holds no dates."""
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
    if len(text) < 8 or not text[:4].isdigit():  # a bare number is no date
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
