"""How sure labels are by their margin, and how cautiously a budget is kept: ``slope``, ``caution``, ``caution_thin``.

The slope is fitted on the plain development pairs, every pair with a shift of its own and every group of corpora
counting alike. The table has the slope with each group left out, and then, with the slope of the other groups, what
passes a budget of 10 % of the finished file and on how many pairs it is kept, by how cautiously it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

from isthmus._math.confidence import AccuracyEstimate, lower_confidence_in_groups, review_mask, with_caution
from isthmus._progress import progress
from isthmus.choose.candidates import try_methods
from isthmus.choose.choice import Choice, decide
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import BUDGET as FITTED
from isthmus.choose.stages.apply import Margin
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import novel_names
from isthmus_bench.suites import trust_tune

BUDGET = 0.1
CAUTIONS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
KINDS = ("plain", "thin40")


class Margins(NamedTuple):
    """A labelling whose truth is known: margins of the labels over the next class, in log-odds."""

    pair: str
    kind: str
    margins: np.ndarray
    right: np.ndarray
    groups: np.ndarray
    expected: AccuracyEstimate

    @property
    def corpora(self) -> str:
        return trust_tune.PAIRS[self.pair][0]


def margins_of(name: str, choice: Choice, texts: list[str], truth: list) -> Margins | None:
    """What the study needs of one vote; None where nothing is expected of it."""
    model = choice.model
    margin = model.stage(Margin) if isinstance(model, LabelModel) else None
    if margin is None:
        return None
    sure = np.clip(choice.probabilities.max(axis=1), 1e-6, 1 - 1e-6)
    pair, kind = name.split("/")
    return Margins(
        pair,
        kind,
        (logit(sure) - margin.shift) / FITTED["slope"],
        choice.labels.astype(str) == np.array(truth, dtype=str),
        novel_names(choice.scorer, texts),
        choice.accuracy,
    )


def measure_all(folder: Path) -> Iterator[Margins]:
    """The plain pairs, and those with forty source documents, fitted anew."""
    names = [name for name in trust_tune.task_names() if name.split("/")[1] in KINDS]
    for step, name in enumerate(names):
        progress(f"pair {name}", step, len(names))
        data = trust_tune.draw_task(name, folder)
        texts = TransferTexts.of(data.source_texts, np.array(data.source_labels, dtype=object), data.target_texts)
        found = margins_of(name, decide(try_methods(texts, random_state=0)), data.target_texts, data.target_labels)
        if found is not None:
            yield found


def _shifted(values: np.ndarray, mean: float) -> np.ndarray:
    """Shares with these log-odds plus one number, so that their mean is as given."""
    return expit(values + brentq(lambda shift: float(expit(values + shift).mean()) - mean, -50, 50))


def fit_slope(pairs: list[Margins]) -> float:
    """The slope that makes right and wrong labels most likely; groups of corpora count alike."""
    groups = [pair.corpora for pair in pairs]

    def loss(slope: float) -> float:
        total = 0.0
        for pair in pairs:
            share = float(np.clip(pair.right.mean(), 0.02, 0.98))
            sure = np.clip(_shifted(slope * pair.margins, share), 1e-9, 1 - 1e-9)
            total -= float(np.mean(np.log(np.where(pair.right, sure, 1 - sure)))) / groups.count(pair.corpora)
        return total

    return float(minimize_scalar(loss, bounds=(0.1, 3.0), method="bounded").x)


def judge(pair: Margins, slope: float, caution: float) -> tuple[float, float]:
    """Share that passes, and share of all labels that pass and are wrong: the errors of the finished file."""
    outside = pair.groups == ""
    shift = brentq(
        lambda value: (
            float(expit(value + slope * pair.margins[outside]).mean()) - float(pair.expected.for_calibration or 0.5)
        ),
        -50,
        50,
    )
    confidence = lower_confidence_in_groups(expit(shift + slope * pair.margins), pair.groups)
    cautious = with_caution(confidence, caution * pair.expected.caution)
    passed = ~review_mask(cautious, BUDGET, must_read=~outside)
    return float(passed.mean()), float(np.mean(passed & ~pair.right))


def order_table(pairs: list[Margins]) -> list[dict]:
    """Slopes, and what each caution lets pass, with the slope of the other groups of corpora."""

    def without(group: str) -> Callable[[Margins], bool]:
        return lambda pair: pair.kind == "plain" and pair.corpora != group

    groups = sorted({pair.corpora for pair in pairs})
    slopes = {group: fit_slope([pair for pair in pairs if without(group)(pair)]) for group in groups}
    rows: list[dict] = [{"part": "slope", "name": "all", "value": round(fit_slope(_plain(pairs)), 3)}]
    rows += [{"part": "slope", "name": f"without {group}", "value": round(slopes[group], 3)} for group in groups]
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        own = [pair for pair in pairs if pair.kind == kind]
        for caution in CAUTIONS:
            found = [judge(pair, slopes[pair.corpora], caution) for pair in own]
            rows.append(
                {
                    "part": kind,
                    "name": f"caution {caution:g}",
                    "value": round(float(np.mean([passed for passed, _ in found])), 3),
                    "wrong": round(float(np.mean([wrong for _, wrong in found])), 3),
                    "kept": sum(wrong <= BUDGET for _, wrong in found),
                    "pairs": len(found),
                }
            )
    return rows


def _plain(pairs: list[Margins]) -> list[Margins]:
    return [pair for pair in pairs if pair.kind == "plain"]


def choose_order(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Return the table, and write the slope to ``trust.json``."""
    pairs = list(measure_all(folder))
    trust_tune.write_values("budget", {"slope": fit_slope(_plain(pairs))}, digits=2)
    return order_table(pairs)
