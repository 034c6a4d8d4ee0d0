"""Estimate accuracy, class proportions and precision of all labels from a random sample that an annotator labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any

import numpy as np

from isthmus._cards import card
from isthmus._math.confidence import AccuracyEstimate, review_reasons
from isthmus._math.samples import difference_ends, effective_size, two_sided_z, wilson_ends
from isthmus._utils import plural
from isthmus.choose.guaranteed import Guarantee, another_labelling, guarantee, rank_documents
from isthmus.corpus.filled import check_row, find_new_classes, match_classes
from isthmus.corpus.guess import grade_distance, grade_order
from isthmus.exceptions import DataError
from isthmus.wording import cases, interval, percent


@dataclass(frozen=True)
class LabelCheck:
    """Result of checking a random sample of the labels.

    Attributes
    ----------
    right, n, population : int
        Right labels, checked documents, all documents.
    accuracy, low, high : float
        Share of right labels in the sample, and the interval for the share in all documents.
    confidence_level : float
        Share of such intervals that contain the true value.
    shares : list of dict
        Per class: ``labels`` (its proportion by the labels), ``estimate`` (corrected by the sample), ``low``, ``high``.
    precision : list of dict
        Per class: ``checked``, ``right``, and ``precision`` with ``low`` and ``high`` (None if no document was
        checked).
    confusion : list of dict
        ``label``, ``true_label``, ``documents``: the most frequent pair first, without pairs that did not occur.
    new_classes : list
        True labels that are none of the classes; their documents count as wrong.
    blank : int
        Documents of the sample without a true label; they count as not checked.
    grade_distance : float or None
        Mean number of steps between label and truth if the classes are grades (1 to 5, low to high); otherwise None.
    within_one_step : float or None
        Share of labels at most one step from the truth, if the classes are grades.
    expected : AccuracyEstimate or None
        The accuracy that was expected before the check.
    rows, true_labels : list
        The checked documents (numbered from 0) and their labels.
    learned : int
        Checked documents whose answers the model had learned. Each is judged by the label that it gets without its own
        answer; ``accuracy``, ``low`` and ``high`` count all answered documents as right.
    guarantee : Guarantee or None
        The labels that may pass unread, if a budget was given.
    among : int or None
        If the sample was drawn from the most confident documents only, their number; all figures then refer to these
        documents.
    """

    right: int
    n: int
    population: int
    accuracy: float
    low: float
    high: float
    confidence_level: float
    shares: list[dict]
    precision: list[dict]
    confusion: list[dict]
    new_classes: list
    blank: int = 0
    expected: AccuracyEstimate | None = None
    rows: list[int] = field(default_factory=list, repr=False)
    true_labels: list = field(default_factory=list, repr=False)
    grade_distance: float | None = None
    within_one_step: float | None = None
    learned: int = 0
    guarantee: Guarantee | None = None
    among: int | None = None

    @property
    def estimate(self) -> AccuracyEstimate:
        """The result in the form of an expectation, which it replaces."""
        return AccuracyEstimate(self.accuracy, self.low, self.high, confidence_level=self.confidence_level)

    def with_answered(self, wrong: int, answered: int, learned: int) -> LabelCheck:
        """Extend a result about unanswered documents to all documents.

        Parameters
        ----------
        wrong, answered, learned : int
            Checked documents with a wrong answer, all answered documents, and checked documents among these.

        Returns
        -------
        LabelCheck
        """
        # Answered documents were drawn too, so the error of the estimate for the other documents is as large as before:
        # the interval keeps its width.
        part = answered / self.population
        share, low, high = 1.0, 1.0, 1.0
        # A wrong answer in the sample is evidence about the answers that were not checked.
        if wrong:
            share = 1 - wrong / learned
            low, high = wilson_ends(share, learned, two_sided_z(self.confidence_level))
        accuracy = part * share + (1 - part) * self.accuracy
        return replace(
            self,
            accuracy=accuracy,
            low=max(part * low, accuracy - hypot(self.accuracy - self.low, part * (share - low))),
            high=min(1.0, accuracy + hypot(self.high - self.accuracy, part * (high - share))),
            learned=learned,
        )

    def renamed(self, names: Mapping) -> LabelCheck:
        """Return the result with renamed classes.

        Parameters
        ----------
        names : mapping
            New name by old name.

        Returns
        -------
        LabelCheck
        """

        def renamed(row: dict) -> dict:
            return row | {key: names.get(row[key], row[key]) for key in ("class", "label", "true_label") if key in row}

        tables: dict[str, Any] = {
            name: [renamed(row) for row in getattr(self, name)] for name in ("shares", "precision", "confusion")
        }
        return replace(self, **tables, true_labels=[names.get(label, label) for label in self.true_labels])

    def review_reasons(self, labels: Any) -> np.ndarray:
        """Return the reasons why documents need review according to the guarantee.

        Parameters
        ----------
        labels : sequence
            Labels of all documents.

        Returns
        -------
        ndarray of shape (n_documents,)
            A document that was read needs review only if its label is wrong.
        """
        assert self.guarantee is not None
        wrong, read = np.zeros((2, len(self.guarantee.passes)), dtype=bool)
        read[self.rows] = True
        wrong[self.rows] = [labels[row] != truth for row, truth in zip(self.rows, self.true_labels, strict=True)]
        # Labels that the guarantee does not cover and that nobody read.
        left = ~self.guarantee.passes & ~read
        return review_reasons(len(left), found_wrong=wrong, not_guaranteed=left)

    @property
    def expectation(self) -> str | None:
        """Outcome of the expected accuracy: ``held``, ``too high``, ``too low``, ``open`` or None.

        The expectation held if its interval contains the measured accuracy and the measured interval is no wider. It
        was too high (too low) if the whole measured interval lies below (above) it. Otherwise the outcome is open,
        because too few documents were checked. None: there was no expectation.
        """
        if self.expected is None or self.expected.estimate is None:
            return None
        if self._within_expected:
            # A few documents contradict hardly any expectation, so an agreement with them proves nothing.
            exact = self.high - self.low <= self.expected.high - self.expected.low
            return "held" if exact else "open"
        if self.high < self.expected.low:
            return "too high"
        return "too low" if self.low > self.expected.high else "open"

    @property
    def _within_expected(self) -> bool:
        return self.expected is not None and self.expected.low <= self.accuracy <= self.expected.high

    def corrected(self, labels: Any, confidence: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return labels and confidences of all documents, with the checked documents' true labels at confidence 1.

        Parameters
        ----------
        labels, confidence : sequence of length n_documents

        Returns
        -------
        labels : ndarray of shape (n_documents,)
        confidence : ndarray of shape (n_documents,)
        """
        labels, confidence = np.array(labels, dtype=object), np.array(confidence, dtype=float)
        for row, label in zip(self.rows, self.true_labels, strict=True):
            labels[row] = label
        confidence[self.rows] = 1.0
        return labels, confidence

    def to_dict(self) -> dict[str, Any]:
        """Return the result without the documents, ready for JSON.

        Returns
        -------
        dict
        """
        names = ["right", "n", "population", "accuracy", "low", "high", "confidence_level", "expectation"]
        names += ["guarantee"] if self.guarantee is not None else []
        names += [
            "expected",
            "shares",
            "precision",
            "confusion",
            "new_classes",
            "blank",
            "grade_distance",
            "within_one_step",
        ]
        names += [name for name in ("learned", "among") if getattr(self, name)]
        found = {name: getattr(self, name) for name in names}
        found["expected"] = None if self.expected is None else vars(self.expected)
        return found if self.guarantee is None else found | {"guarantee": self.guarantee.to_dict()}

    def __str__(self) -> str:
        """Return the result as lines of text."""
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        facts = [("Checked", f"{self.right:,} of {plural(self.n, 'document')} right")]
        bars = [(str(row["class"]), row["estimate"]) for row in self.shares]
        return card(f"Found to be right: {self.estimate}", facts, bars, about="Checked labels, and the classes' shares")


def check_labels(
    labels: Any,
    rows: Any,
    true_labels: Sequence,
    *,
    classes: Any = None,
    expected: AccuracyEstimate | None = None,
    counted: Any = None,
    confidence_level: float = 0.95,
) -> LabelCheck:
    """Estimate accuracy, class proportions and precision of all labels from a labelled random sample.

    The formulas hold for a simple random sample (:func:`isthmus.choose.draw_sample`). Documents that were selected
    because they looked uncertain or easy do not represent the other documents.

    Accuracy and precision have Wilson's interval, class proportions the interval of Bonett and Price for paired counts;
    all with finite population correction. The difference estimator estimates the proportion of a class: its proportion
    among all labels, plus the mean over the sample of [truth is the class] − [label is the class]. The estimates are
    clipped to the possible range and scaled to sum to one.

    Parameters
    ----------
    labels : array-like of shape (n_documents,)
        The label of every document, checked or not.
    rows : array-like of int
        The checked documents, numbered from 0.
    true_labels : sequence
        Their true labels; None, NaN and blanks (-1 among integers) mean not checked. A label that differs from a class
        only by case, surrounding blanks or the form of a number (1.0 for 1) means that class. Any other label is a new
        class, and the document's label is wrong.
    classes : array-like, optional
        Classes of the model, some of which may have no document. Other classes are taken from the labels.
    expected : AccuracyEstimate, optional
        The expected accuracy; see ``LabelCheck.expectation``.
    counted : array-like of bool, optional
        Documents that class proportions cover: those with a text. All if omitted.
    confidence_level : float, default=0.95

    Returns
    -------
    LabelCheck

    Raises
    ------
    DataError
        If no document of the sample has a true label, or if the sample does not fit the labels.

    See Also
    --------
    isthmus.choose.draw_sample : Draws what is to be checked.
    isthmus.choose.LabelCheck : What comes back.

    Examples
    --------
    >>> from isthmus.choose import check_labels
    >>> labels = ["staff"] * 60 + ["price"] * 40
    >>> truth = ["staff", "staff", "price", "staff", "price", "price"]
    >>> found = check_labels(labels, [3, 10, 30, 59, 60, 99], truth)
    >>> found.right, found.n, round(found.low, 2), round(found.high, 2)
    (5, 6, 0.45, 0.97)
    >>> [(row["class"], round(row["estimate"], 2)) for row in found.shares]
    [('price', 0.57), ('staff', 0.43)]
    """
    z = two_sided_z(confidence_level)
    labels = np.asarray(labels)
    found = sorted(set(labels.tolist())) if labels.dtype == object else np.unique(labels).tolist()
    # The model's classes come first; a class without a document keeps its row in the tables.
    known = list(dict.fromkeys([*([] if classes is None else np.asarray(classes).tolist()), *found]))
    truths = match_classes(true_labels, known)
    checked = _checked_rows(rows, truths, len(labels))
    if not checked:
        raise DataError(
            f"None of the {len(truths):,} documents of the sample has a true label; fill in at least one.",
            code="bad-check",
        )
    new = sorted({name for name in checked.values() if name not in known}, key=str)
    names = [*known, *new]
    code = {name: i for i, name in enumerate(names)}
    everything = np.array([code[name] for name in labels.tolist()])
    said = everything[list(checked)]
    # Class proportions cover only documents with a text, in the population and in the sample.
    of_a_class = np.ones(len(labels), dtype=bool) if counted is None else np.asarray(counted, dtype=bool)
    drawn = of_a_class[list(checked)]
    true = np.array([code[name] for name in checked.values()])
    if not drawn.any():  # only documents without a text were checked
        of_a_class, drawn = np.ones(len(labels), dtype=bool), np.ones(len(true), dtype=bool)
    right = int(np.sum(said == true))
    low, high = share_interval(right, len(true), len(labels), z)
    steps = grade_distance([names[i] for i in said], [names[i] for i in true], grade_order(known))
    return LabelCheck(
        right=right,
        n=len(true),
        population=len(labels),
        accuracy=float(np.mean(said == true)),
        low=low,
        high=high,
        confidence_level=confidence_level,
        shares=_share_rows(names, everything[of_a_class], said[drawn], true[drawn], z),
        precision=_precision_rows(known, everything, said, true, z),
        confusion=_confusion_rows(names, said, true),
        new_classes=new,
        blank=sum(name is None for name in truths),
        grade_distance=None if steps is None else steps[0],
        within_one_step=None if steps is None else steps[1],
        expected=expected,
        rows=list(checked),
        true_labels=list(checked.values()),
    )


def check_sample(
    labels: Any,
    confidence: Any,
    rows: Any,
    true_labels: Sequence,
    *,
    budget: float | None = None,
    among: int | None = None,
    eligible: Any = None,
    classes: Any = None,
    expected: AccuracyEstimate | None = None,
    counted: Any = None,
) -> LabelCheck:
    """Check a sample as :func:`check_labels` does, and compute a guarantee for a budget.

    Parameters
    ----------
    labels, confidence : array-like of shape (n_documents,)
    rows, true_labels, classes, expected, counted
        See :func:`check_labels`.
    budget : float, optional
        Share of wrong labels that is tolerated; without it there is no guarantee.
    among : int, optional
        The sample was drawn from this number of most confident documents; from all if omitted.
    eligible : array-like of bool, optional
        Documents that may pass unread; all if omitted.

    Returns
    -------
    LabelCheck

    Raises
    ------
    DataError
        If the sample does not fit the labels, or does not support a guarantee.
    """
    labels, rows = np.asarray(labels), np.asarray(rows)
    if among is None:
        found = check_labels(labels, rows, true_labels, classes=classes, expected=expected, counted=counted)
    else:
        # The sample represents only the most confident documents, so these are the population of the check.
        order, rank = rank_documents(np.asarray(confidence, dtype=float), eligible)
        if len(rows) and rank[rows].max() >= among:
            raise another_labelling(among)
        surest = order[:among]
        counts = None if counted is None else np.asarray(counted)[surest]
        found = check_labels(labels[surest], rank[rows], true_labels, classes=classes, counted=counts)
        found = replace(found, rows=order[found.rows].tolist(), among=among)
    if budget is None:
        return found
    right = labels[found.rows] == np.array(found.true_labels, dtype=object)
    passing = guarantee(confidence, found.rows, right, budget, among=among, eligible=eligible, expected=expected)
    if not passing.read:
        raise DataError(
            "All checked documents were answered before or need review anyway, and say nothing about the others; for a "
            "guarantee check documents that nobody answered.",
            code="bad-check",
        )
    return replace(found, guarantee=passing)


def share_interval(count: int, n: int, population: int, z: float) -> tuple[float, float]:
    """Return Wilson's interval with finite population correction, clipped to the range that the counts allow.

    Parameters
    ----------
    count, n, population : int
        Documents with the property, counted documents, all documents.
    z : float
        Quantile of the normal distribution.

    Returns
    -------
    low, high : float
    """
    low, high = wilson_ends(count / n, effective_size(n, population), z)
    low, high = max(low, count / population), min(high, 1 - (n - count) / population)
    # If all documents were counted, rounding errors could move an end beyond the share.
    return min(low, count / n), max(high, count / n)


def _checked_rows(rows: Any, truths: list, n_documents: int) -> dict[int, Any]:
    """Return the true label by row, and refuse a row with two different labels."""
    rows = np.asarray(rows)
    if rows.ndim != 1 or len(rows) != len(truths):
        raise DataError(
            f"There are {rows.size:,} documents and {len(truths):,} true labels; give one label per document.",
            code="length-mismatch",
        )
    if len(rows) and rows.dtype.kind not in "iu":
        raise DataError(f"Rows are of type {rows.dtype}; give whole numbers.", code="bad-check")
    checked: dict[int, Any] = {}
    for row, truth in zip(rows.tolist(), truths, strict=True):
        check_row(row, n_documents)
        if truth is not None and checked.setdefault(row, truth) != truth:
            raise DataError(
                f"Document {row + 1:,} is in the sample twice, as {checked[row]!r} and as {truth!r}; keep one.",
                code="bad-check",
            )
    return checked


def _share_rows(names: list, everything: np.ndarray, said: np.ndarray, true: np.ndarray, z: float) -> list[dict]:
    n, population = len(true), len(everything)
    rows = []
    for code, name in enumerate(names):
        by_labels = float(np.mean(everything == code))
        # Difference estimator: documents that the labels miss, and documents that they wrongly assign to the class.
        more = float(np.mean((true == code) & (said != code)))
        fewer = float(np.mean((true != code) & (said == code)))
        low, high = difference_ends(more, fewer, effective_size(n, population), z)
        count = int(np.sum(true == code))
        # The counted documents limit the possible proportions.
        possible = count / population, 1 - (n - count) / population
        estimate, low, high = np.clip([by_labels + more - fewer, by_labels + low, by_labels + high], *possible).tolist()
        rows.append({"class": name, "labels": by_labels, "estimate": estimate, "low": low, "high": high})
    # Each proportion is estimated separately, so their sum may differ from one.
    total = sum(row["estimate"] for row in rows)
    for row in rows:
        row["estimate"] /= total
        row["low"], row["high"] = min(row["low"], row["estimate"]), max(row["high"], row["estimate"])
    return rows


def _precision_rows(names: list, everything: np.ndarray, said: np.ndarray, true: np.ndarray, z: float) -> list[dict]:
    rows = []
    for code, name in enumerate(names):
        checked, right = int(np.sum(said == code)), int(np.sum((said == code) & (true == code)))
        row: dict[str, Any] = {"class": name, "checked": checked, "right": right}
        row |= dict.fromkeys(("precision", "low", "high"))
        if checked:
            # Within a class the sample is again a simple random sample, of the documents with that label.
            low, high = share_interval(right, checked, int(np.sum(everything == code)), z)
            row |= {"precision": right / checked, "low": low, "high": high}
        rows.append(row)
    return rows


def _confusion_rows(names: list, said: np.ndarray, true: np.ndarray) -> list[dict]:
    pairs = Counter(zip(said.tolist(), true.tolist(), strict=True))
    return [
        {"label": names[label], "true_label": names[truth], "documents": count}
        for (label, truth), count in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    ]


# Outcomes of LabelCheck.expectation in words.
_EXPECTATIONS = {
    "held": "held",
    "too high": "too high, fewer labels are right",
    "too low": "too low, more labels are right",
    "open": "but too few documents were checked to say",
}


def _lines(found: LabelCheck) -> list[str]:
    whole = f"{found.population:,} in all" if found.among is None else f"drawn from the {found.among:,} most confident"
    lines = [] if found.guarantee is None else [str(found.guarantee)]
    lines.append(
        f"accuracy {interval(found.accuracy, found.low, found.high)} in {cases(found.confidence_level)}: "
        f"{found.right:,} of {found.n:,} checked documents are right, {whole}"
    )
    if found.learned:
        lines.append(
            f"{plural(found.learned, 'checked document')} had been learned from: each counts by the label it gets "
            "without its own answer, and those that a person answered count as right"
        )
    if found.expected is not None and found.expectation is not None:
        was, outcome = found.expected, _EXPECTATIONS[found.expectation]
        if found.expectation == "open":
            outcome = ("not contradicted" if found._within_expected else "perhaps not") + f", {outcome}"
        lines.append(f"expected {was}: {outcome}")
    right = {row["class"]: row for row in found.precision}
    meant = find_new_classes(found.new_classes, list(right))
    for row in found.shares:
        said = []
        # Proportions among the most confident documents do not describe all documents.
        if found.among is None:
            said.append(f"proportion {interval(row['estimate'], row['low'], row['high'])}")
        part = right.get(row["class"])
        if part is None:
            known = meant.get(str(row["class"]))
            said.append("none of the classes, so every such document counts as wrong")
            said += [f"did you mean {known}? Correct the table and check again"] if known else []
        elif part["checked"]:
            ends = f"{100 * part['low']:.0f}–{percent(part['high'])}"
            said.append(f"{part['right']:,} of {part['checked']:,} so labelled are right ({ends})")
        if said:
            lines.append(f"{' '.join(str(row['class']).split())}: {'; '.join(said)}")
    if found.grade_distance is not None:
        near = f", {found.within_one_step:.0%} at most one step"
        lines.append(f"the labels are {found.grade_distance:.2f} steps from the true grade on average{near}")
    if found.blank:
        lines.append(
            f"{plural(found.blank, 'document')} of the sample without a true label left out; if they were the hard "
            "ones, the accuracy is lower than it looks"
        )
    return lines
