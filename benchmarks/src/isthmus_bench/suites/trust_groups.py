"""How the limits for new groups were set: draws of some classes of the study's pairs, with one of them missing from the
source, with none missing, and with none missing and a quarter of the source's labels wrong.

None of the pairs is a directory of web pages, a German newspaper or university pages, which the suite reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from isthmus._math.content import content_order
from isthmus._progress import progress
from isthmus.choose.evidence import LabelScorer
from isthmus.features.embeddings import embed_texts, has_static_vectors
from isthmus.shift.novelty import (
    compare_pair,
    further_groups,
    group_facts,
    is_novel,
    leave_out,
    second_gain,
    start_points,
)
from isthmus_bench.suites.trust_tune import BINARY, LENGTH, PAIRS, SIZE, Rows

KINDS = ("missing", "plain", "missing", "noisy")  # of the draws of a pair, in turn
DRAWS = 8
LIMITS = (np.inf, 0.04, 0.02, 0.005, -0.02, -0.04)
WITHOUT_VECTORS = ("Chinese texts", "headlines")  # the packaged vectors know English
_CUT = 400  # characters of a Chinese text: cutting words takes longest


def draw_classes(sides: list[Rows], kind: str, rng: np.random.Generator) -> tuple[Rows, Rows, str | None]:
    """Three to eight classes of a pair in uneven shares; the class that the source lacks, or None."""
    found = [{label for _, label in side} for side in sides]
    members = [
        {name: [text for text, label in side if label == name] for name in found[0] & found[1]} for side in sides
    ]
    names = sorted(name for name in members[0] if min(len(side[name]) for side in members) >= 20)
    least = 4 if kind == "missing" else 3
    kept = rng.permutation(names)[: rng.integers(min(least, len(names)), min(8, len(names)) + 1)].tolist()
    lost = kept[0] if kind == "missing" else None
    drawn: list[Rows] = []
    for side, classes in zip(members, ([name for name in kept if name != lost], kept), strict=True):
        shares = rng.uniform(0.4, 1.5, len(classes))
        counts = np.maximum(8, SIZE * shares / shares.sum()).astype(int)
        rows = [
            (side[name][i], name)
            for name, count in zip(classes, counts, strict=True)
            for i in rng.permutation(len(side[name]))[:count]
        ]
        drawn.append([rows[i] for i in rng.permutation(len(rows))])
    source, target = drawn
    if kind == "noisy":
        source = [
            (text, label if rng.random() > 0.25 else str(rng.choice([name for name in kept if name != label])))
            for text, label in source
        ]
    return source, target, lost


def candidates(source: Rows, target: Rows, lost: str | None, *, vectors: bool) -> Iterator[dict]:
    """Every further group of a pair, the strongest first: its figures, and what it holds of the missing class."""
    texts = [[text for text, _ in side] for side in (source, target)]
    scorer = LabelScorer(texts[0], [label for _, label in source], texts[1])
    new = np.array([label == lost for _, label in target])[scorer.target]
    rows = scorer.words.source_rows, scorer.source_labels, scorer.words.target_rows
    chosen = [[side[i] for i in places] for side, places in zip(texts, (scorer.source, scorer.target), strict=True)]
    beside = (embed_texts(chosen[0]), embed_texts(chosen[1])) if vectors else None
    pair = compare_pair(*rows, vectors=beside)
    starts = start_points(pair.target[content_order(pair.target)], len(pair.classes), 0)
    left_out = leave_out(pair)
    for gain, fit in further_groups(pair.source, pair.codes, pair.target, starts):
        inside = fit.assigned == len(pair.classes)
        facts = group_facts(pair, left_out, gain, fit) | {"second_gain": second_gain(pair, starts, fit)}
        recall = float(inside[new].mean()) if new.any() else 0.0
        yield {"facts": facts, "recall": recall, "marked": float(inside[~new].mean())}


def draw_all(folder: Path) -> Iterator[dict]:
    """One row per draw, seen by words and, where they know the language, beside vectors."""
    pairs = [name for name in PAIRS if name not in BINARY]
    for step, name in enumerate(pairs):
        group, load = PAIRS[name]
        cut = _CUT if group in WITHOUT_VECTORS else LENGTH
        sides = [[(text[:cut], str(label)) for text, label in dict.fromkeys(side)] for side in load(Path(folder))]
        for draw in range(DRAWS):
            progress(f"pair {name}, draw {draw + 1} of {DRAWS}", step, len(pairs))
            kind = KINDS[draw % len(KINDS)]
            source, target, lost = draw_classes(sides, kind, np.random.default_rng([step, draw]))
            for vectors in (False, True) if has_static_vectors() and group not in WITHOUT_VECTORS else (False,):
                found = list(candidates(source, target, lost, vectors=vectors))
                yield {"kind": kind, "seen by": "vectors" if vectors else "words", "found": found}


def limits_table(draws: list[dict]) -> list[dict]:
    """What is announced by each limit for mixed neighbours, the first group that passes being taken.

    ``first only`` asks the strongest group alone, and of its neighbours nothing.
    """
    table = []
    for seen_by in ("words", "vectors"):
        own = [draw for draw in draws if draw["seen by"] == seen_by]
        for limit in ("first only", *LIMITS) if own else ():
            row: dict = {"seen by": seen_by, "limit": limit if isinstance(limit, str) else str(limit)}
            for kind in dict.fromkeys(KINDS):
                taken = [_announced(draw["found"], limit) for draw in own if draw["kind"] == kind]
                row[f"{kind} announced"] = round(float(np.mean([found is not None for found in taken])), 3)
                if kind == "missing":
                    row["recall"], row["known marked"] = (
                        round(float(np.mean([found[name] if found else 0.0 for found in taken])), 3)
                        for name in ("recall", "marked")
                    )
            table.append(row | {"draws": len(own)})
    return table


def _announced(found: list[dict], limit: float | str) -> dict | None:
    asked = found[:1] if isinstance(limit, str) else [group for group in found if group["facts"]["mixed"] <= limit]
    return next((group for group in asked if is_novel(group["facts"])), None)


def choose_limits(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The table of the study."""
    return limits_table(list(draw_all(folder)))
