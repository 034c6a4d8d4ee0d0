"""Whether intervals of class shares hold: label-free, after 100 answers at random, after a check, and within parts.

Development pairs, plain and with turned shares, each labelled once. How far mistakes of labels carry a share (``reach``
in ``trust.json``) is fitted on all of them; what held is said with the reach of the other groups of
corpora. Answers and checks are drawn many times: the estimate after answers rests on probabilities that no answer
touched, so that nothing has to be taught for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import NamedTuple

import numpy as np

import isthmus
from isthmus._math.samples import two_sided_z
from isthmus._progress import progress
from isthmus.choose.checking import check_labels
from isthmus.choose.prevalence import ShareFacts
from isthmus_bench.suites import trust_tune

PAIRS = (
    *("ng4", "ng5", "ng5r", "ngdate", "rec-sci"),
    *("books-kitchen", "electronics-dvd", "kitchen-electronics", "dvd-books", "kitchen-books"),
    *("thuct-toutiao", "toutiao-thuct", "thuct-nlpcc", "toutiao-nlpcc"),
    *("orgs-people", "people-places", "reuters-usa", "rcv1", "sogou-thucf"),
)
KINDS = ("plain", "turned")
READ, DRAWS, PARTS = 100, 200, 3
LEVEL = 0.9


class Shares(NamedTuple):
    """A labelling whose truth is known."""

    pair: str
    kind: str
    facts: ShareFacts
    truth: np.ndarray
    parts: list[np.ndarray]  # documents by length: short, middling, long

    @property
    def corpora(self) -> str:
        return trust_tune.PAIRS[self.pair][0]


def label_pairs(folder: Path) -> Iterator[Shares]:
    """Every pair, fitted anew: a few seconds each."""
    names = [f"{pair}/{kind}" for pair in PAIRS for kind in KINDS]
    for step, name in enumerate(names):
        progress(f"pair {name}", step, len(names))
        data = trust_tune.draw_task(name, folder)
        result = isthmus.label(data.source_texts, data.source_labels, data.target_texts)
        yield known_shares(name, result, data.target_labels)


def known_shares(name: str, result, truth: list) -> Shares:
    """What the study needs of one labelling."""
    lengths = np.argsort(np.argsort([len(text) for text in result.texts], kind="stable"))
    parts = [lengths * PARTS // len(lengths) == part for part in range(PARTS)]
    pair, kind = name.split("/")
    return Shares(pair, kind, result.share_facts(), np.array(truth, dtype=object), parts)


class Miss(NamedTuple):
    """One class of one labelling: how far its share is off, mistakes that would touch it, and chance."""

    off: float
    touched: float
    chance: float

    def held(self, reach: float) -> bool:
        return abs(self.off) <= hypot(reach * self.touched, two_sided_z(LEVEL) * self.chance)

    @property
    def needed(self) -> float:
        """The reach with which the interval just holds."""
        beyond = max(0.0, self.off**2 - (two_sided_z(LEVEL) * self.chance) ** 2)
        return beyond**0.5 / max(self.touched, 1e-9)


def misses(known: Shares, within: np.ndarray | None = None) -> list[Miss]:
    """Every class, label-free; nothing where no accuracy is expected."""
    chosen = np.ones(len(known.truth), dtype=bool) if within is None else within
    found = []
    for code, name in enumerate(known.facts.classes):
        share, touched, chance = known.facts.doubt(name, code, chosen)
        if touched is not None:
            found.append(Miss(share - float(np.mean(known.truth[chosen] == name)), touched, chance))
    return found


def fit_reach(pairs: list[Shares]) -> float:
    """The reach with which nine intervals in ten hold; every labelling counts alike, whatever its number of classes."""
    needed, weights = [], []
    for pair in pairs:
        own = misses(pair)
        needed += [miss.needed for miss in own]
        weights += [1 / max(1, len(own))] * len(own)
    order = np.argsort(needed)
    reached = np.cumsum(np.array(weights)[order]) / sum(weights)
    return float(np.array(needed)[order][np.searchsorted(reached, LEVEL)])


def after_reading(known: Shares) -> dict[str, float]:
    """How often intervals held over many draws, and how wide they were: after answers, and after a check."""
    rng = np.random.default_rng(0)
    true = {name: float(np.mean(known.truth == name)) for name in known.facts.classes}
    held: dict[str, list] = {"answers": [], "check": []}
    width: dict[str, list] = {"answers": [], "check": []}
    for _ in range(DRAWS):
        rows = rng.permutation(len(known.truth))[:READ]
        said = dict(zip(rows.tolist(), known.truth[rows].tolist(), strict=True))
        found = {
            "answers": replace(known.facts, known=said, drawn=list(said)).shares(),
            "check": check_labels(known.facts.labels, rows, list(said.values()), classes=known.facts.classes).shares,
        }
        for kind, shares in found.items():
            shares = [row for row in shares if row["class"] in true]
            held[kind] += [row["low"] - 1e-9 <= true[row["class"]] <= row["high"] + 1e-9 for row in shares]
            width[kind] += [row["high"] - row["low"] for row in shares]
    return {
        f"{kind}: {what}": round(float(np.mean(values[kind])), 3)
        for kind in held
        for what, values in (("held", held), ("width", width))
    }


def shares_table(pairs: list[Shares]) -> list[dict]:
    """Reaches, then one row a labelling."""
    groups = sorted({pair.corpora for pair in pairs})
    reach = {group: fit_reach([pair for pair in pairs if pair.corpora != group]) for group in groups}
    rows: list[dict] = [{"pair": "reach of all", "reach": round(fit_reach(pairs), 3)}]
    rows += [{"pair": f"reach without {group}", "reach": round(reach[group], 3)} for group in groups]
    for pair in pairs:
        own, parts = misses(pair), [miss for part in pair.parts for miss in misses(pair, part)]
        if not own:
            continue
        widths = [2 * hypot(reach[pair.corpora] * miss.touched, two_sided_z(LEVEL) * miss.chance) for miss in own]
        rows.append(
            {
                "pair": pair.pair,
                "kind": pair.kind,
                "classes": len(own),
                "right": round(float(np.mean(pair.facts.labels == pair.truth)), 3),
                "off": round(float(np.mean([abs(miss.off) for miss in own])), 3),
                "held": round(float(np.mean([miss.held(reach[pair.corpora]) for miss in own])), 3),
                "width": round(float(np.mean(widths)), 3),
                "parts: held": round(float(np.mean([miss.held(reach[pair.corpora]) for miss in parts])), 3),
                **after_reading(pair),
            }
        )
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        own_rows = [row for row in rows if row.get("kind") == kind]
        means = {name: round(float(np.mean([row[name] for row in own_rows])), 3) for name in list(own_rows[0])[3:]}
        rows.append({"pair": f"mean of {len(own_rows)}", "kind": kind, **means})
    return rows


def measure_shares(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Return the table, and write the reach to ``trust.json``."""
    pairs = list(label_pairs(folder))
    trust_tune.write_values("class_proportions", {"reach": fit_reach(pairs)})
    return shares_table(pairs)
