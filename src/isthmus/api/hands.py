"""Measure how reliable each annotator is and how far annotators agree."""

from __future__ import annotations

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
from isthmus.feedback.hands import dawid_skene

METHODS = "isthmus"  # the model takes part as one more annotator


@dataclass(frozen=True)
class HandCheck:
    """Reliability and agreement of several annotators.

    Attributes
    ----------
    hands : list of dict
        ``hand``, ``answers``, ``shared`` (documents that another annotator answered too), ``right`` (share, estimated
        from all annotators).
    pairs : list of dict
        ``first``, ``second``, ``documents`` that both answered, ``agreed`` (share), ``kappa`` (Cohen's).
    documents : int
        Number of documents with answers of at least two annotators.
    fleiss_kappa, krippendorff_alpha : float or None
        Agreement beyond chance over all annotators; 1 is full agreement, 0 is chance.
    """

    hands: list[dict]
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
        """Return the reliability of each annotator and the agreement of each pair as text."""
        lines = [f"{plural(self.documents, 'document')} answered by two hands or more; {self._agreement()}"]
        lines += [
            f"  {row['hand']}: {plural(row['answers'], 'answer')}, right in about {row['right']:.0%}"
            for row in self.hands
        ]
        for row in self.pairs:
            kappa = "" if row["kappa"] is None else f" (kappa {row['kappa']:.2f})"
            lines.append(
                f"  {row['first']} and {row['second']}: agree in {row['agreed']:.0%} of "
                f"{plural(row['documents'], 'document')}{kappa}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title = f"{plural(self.documents, 'document')} answered by two hands or more"
        bars = [(row["hand"], row["right"]) for row in self.hands]
        return card(title, [("Agreement", self._agreement())], bars, about="Hands, and how often each is right")

    def _agreement(self) -> str:
        shown = [("Fleiss' kappa", self.fleiss_kappa), ("Krippendorff's alpha", self.krippendorff_alpha)]
        return ", ".join(f"{name} {'unknown' if value is None else f'{value:.2f}'}" for name, value in shown)


def compare_hands(entries: Sequence[Mapping[str, Any]], labels: Sequence | np.ndarray) -> HandCheck:
    """Estimate reliability and agreement of annotators.

    The model takes part with its ``labels``, as an annotator called "isthmus".

    Parameters
    ----------
    entries : sequence of mapping
        ``row``, ``label`` and ``by`` of each answer.
    labels : sequence
        Label of each text by the model.

    Returns
    -------
    HandCheck

    Raises
    ------
    DataError
        With code ``bad-answers`` if all answers come from one annotator.
    """
    votes = {(entry["row"], entry["by"] or "unnamed"): entry["label"] for entry in entries}
    if len({by for _, by in votes}) < 2:
        raise DataError("The answers come from one hand; name who gave each in the column by.", code="bad-answers")
    votes |= {(row, METHODS): labels[row] for row in {row for row, _ in votes}}
    names = sorted({by for _, by in votes}, key=lambda name: (name == METHODS, name))
    classes = sorted({str(label) for label in votes.values()})
    rows = sorted({row for row, _ in votes})
    places = {row: place for place, row in enumerate(rows)}
    documents = np.array([places[row] for row, _ in votes])
    hands = np.array([names.index(by) for _, by in votes])
    said = np.array([classes.index(str(label)) for label in votes.values()])
    fit = dawid_skene(documents, hands, said, len(classes))
    people = hands != names.index(METHODS)
    counts = count_labels(documents[people], said[people])
    shared = counts.sum(axis=1) > 1
    of_hand = {name: {documents[i]: said[i] for i in np.flatnonzero(hands == hand)} for hand, name in enumerate(names)}
    return HandCheck(
        hands=[
            {
                "hand": name,
                "answers": len(own),
                "shared": int(sum(shared[place] for place in own)),
                "right": float(fit.right[hand]),
            }
            for hand, (name, own) in enumerate(of_hand.items())
        ],
        pairs=[_compare(first, second, of_hand) for first, second in combinations(names, 2)],
        documents=int(shared.sum()),
        fleiss_kappa=fleiss_kappa(counts),
        krippendorff_alpha=krippendorff_alpha(counts),
    )


def _compare(first: str, second: str, of_hand: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    both = sorted(of_hand[first].keys() & of_hand[second].keys())
    said = [[of_hand[name][place] for place in both] for name in (first, second)]
    agreed = float(np.mean(np.array(said[0]) == np.array(said[1]))) if both else 0.0
    one_label = len({*said[0], *said[1]}) < 2
    kappa = None if not both or one_label else float(cohen_kappa_score(*said))
    return {"first": first, "second": second, "documents": len(both), "agreed": agreed, "kappa": kappa}
