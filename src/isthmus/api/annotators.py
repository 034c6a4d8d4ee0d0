"""Measure how far annotators agree with each other and with the methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from isthmus._cards import card
from isthmus._utils import plural, to_plain
from isthmus.evaluate.agreement import count_labels, fleiss_kappa, krippendorff_alpha
from isthmus.exceptions import DataError

METHODS = "isthmus"  # the methods take part as one more annotator


@dataclass(frozen=True)
class AnnotatorCheck:
    """Agreement of several annotators.

    Attributes
    ----------
    annotators : list of dict
        ``annotator``, ``answers``, ``shared`` (documents that another annotator answered too).
    pairs : list of dict
        ``first``, ``second``, ``documents`` that both answered, ``agreed`` (share), ``kappa`` (Cohen's).
    documents : int
        Number of documents with answers of at least two annotators.
    fleiss_kappa, krippendorff_alpha : float or None
        Agreement beyond chance over all annotators; 1 is full agreement, 0 is chance.
    """

    annotators: list[dict]
    pairs: list[dict]
    documents: int
    fleiss_kappa: float | None
    krippendorff_alpha: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON.

        Returns
        -------
        dict
        """
        return to_plain(vars(self))

    def __str__(self) -> str:
        """Return the number of answers of each annotator and the agreement of each pair as text."""
        lines = [f"{self._title()}; {self._agreement()}"]
        lines += [f"  {row['annotator']}: {plural(row['answers'], 'answer')}" for row in self.annotators]
        for row in self.pairs:
            kappa = "" if row["kappa"] is None else f" (kappa {row['kappa']:.2f})"
            lines.append(
                f"  {row['first']} and {row['second']}: agree in {row['agreed']:.0%} of "
                f"{plural(row['documents'], 'document')}{kappa}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        bars = [(f"{row['first']} and {row['second']}", row["agreed"]) for row in self.pairs]
        return card(self._title(), [("Agreement", self._agreement())], bars, about="How far annotators agree")

    def _title(self) -> str:
        return f"{plural(self.documents, 'document')} answered by two annotators or more"

    def _agreement(self) -> str:
        shown = [("Fleiss' kappa", self.fleiss_kappa), ("Krippendorff's alpha", self.krippendorff_alpha)]
        return ", ".join(f"{name} {'unknown' if value is None else f'{value:.2f}'}" for name, value in shown)


def compare_annotators(entries: Sequence[Mapping[str, Any]], labels: Sequence | np.ndarray) -> AnnotatorCheck:
    """Measure the agreement of annotators.

    The methods take part with their ``labels``, as an annotator called "isthmus".

    Parameters
    ----------
    entries : sequence of mapping
        ``row``, ``label`` and ``by`` of each answer. Of two answers of an annotator to a document, the later counts.
    labels : sequence
        Label of each text by the methods.

    Returns
    -------
    AnnotatorCheck

    Raises
    ------
    DataError
        With code ``bad-answers`` if all answers come from one annotator.
    """
    answers: dict[str, dict[int, str]] = {}
    for entry in entries:
        answers.setdefault(entry["by"] or "unnamed", {})[entry["row"]] = str(entry["label"])
    if len(answers) < 2:
        raise DataError("The answers come from one annotator; name who gave each in the column by.", code="bad-answers")
    people = [(row, label) for own in answers.values() for row, label in own.items()]
    counts = count_labels(*zip(*people, strict=True))
    shared = {row for row, number in Counter(row for row, _ in people).items() if number > 1}
    answers = dict(sorted(answers.items()))
    answers[METHODS] = {row: str(labels[row]) for row, _ in people}
    return AnnotatorCheck(
        annotators=[
            {"annotator": name, "answers": len(own), "shared": len(shared & own.keys())}
            for name, own in answers.items()
        ],
        pairs=[_compare(first, second, answers) for first, second in combinations(answers, 2)],
        documents=len(shared),
        fleiss_kappa=fleiss_kappa(counts),
        krippendorff_alpha=krippendorff_alpha(counts),
    )


def _compare(first: str, second: str, answers: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    both = sorted(answers[first].keys() & answers[second].keys())
    labels = [[answers[name][row] for row in both] for name in (first, second)]
    agreed = float(np.mean(np.array(labels[0]) == np.array(labels[1]))) if both else 0.0
    one_label = len({*labels[0], *labels[1]}) < 2
    kappa = None if not both or one_label else float(cohen_kappa_score(*labels))
    return {"first": first, "second": second, "documents": len(both), "agreed": agreed, "kappa": kappa}
