"""Whether the constants for one method hold on short texts: development pairs cut to 25 words, beside the long ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import methods
from isthmus._math.confidence import clipped_logit
from isthmus._progress import progress
from isthmus.choose.candidates import fit_candidate, make_scorer
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import ACCURACY, log_odds
from isthmus_bench.suites import trust_tune

WORDS = 25
CANDIDATES = ("nbc", "projection", "logistic", "cocc")
RECORD = Path("benchmarks", "records", "trust", "pairs.csv")  # the long texts, as trust_tune measured them
_WORD = re.compile(r"[\u3400-\u9fff]{1,2}|[^\s\u3400-\u9fff]+")


def cut(text: str) -> str:
    """The first 25 words of a text; two Chinese characters are about one.

    >>> cut("one two " * 30).count("two"), len(cut("短" * 100))
    (12, 50)
    """
    ends = [found.end() for _, found in zip(range(WORDS), _WORD.finditer(text), strict=False)]
    return text[: ends[-1]] if ends else ""


def measure_all(folder: Path) -> Iterator[dict]:
    """The figures of each method on each plain pair, cut."""
    for step, pair in enumerate(trust_tune.PAIRS):
        progress(f"pair {pair}", step, len(trust_tune.PAIRS))
        data = trust_tune.draw_task(f"{pair}/plain", folder)
        sides = [[cut(text) for text in side] for side in (data.source_texts, data.target_texts)]
        texts = TransferTexts.of(sides[0], np.array(data.source_labels, dtype=object), sides[1])
        scorer = make_scorer(texts, {"random_state": 0})
        assert scorer is not None
        fitted = [fit_candidate(name, methods.METHODS[name].build_with(random_state=0), texts) for name in CANDIDATES]
        yield from trust_tune.measure_methods(f"{pair}/short", scorer, fitted, data.target_labels)


def compare(long: list[dict], short: list[dict]) -> list[dict[str, Any]]:
    """Mean errors by length, with the constants as they are and fitted again with short texts, corpora left out.

    ``held``: share of intervals that hold, at the present half-width.
    """
    long = [row for row in long if trust_tune.part_of(row) == "SINGLE"]
    lengths = {"long": [row for row in long if row["method"] in CANDIDATES], "short": short}
    width = ACCURACY["spread"]["constant"] + ACCURACY["spread"]["single"]
    table = []
    for constants, rows in (("long texts alone", long), ("with short texts", [*long, *short])):
        for length, own in lengths.items():
            errors, held = [], []
            for group in sorted({trust_tune.group_of(row) for row in own}):
                others = [row for row in rows if trust_tune.group_of(row) != group]
                weights = trust_tune.fit_weights(others, "SINGLE")
                for row in (row for row in own if trust_tune.group_of(row) == group):
                    miss = log_odds(row, weights) - clipped_logit(row["accuracy"])
                    errors.append(_share(log_odds(row, weights)) - row["accuracy"])
                    held.append(abs(miss) <= width)
            table.append(_row(constants, length, errors, held))
    for length, own in lengths.items():
        errors = [_share(log_odds(row, ACCURACY["single"])) - row["accuracy"] for row in own]
        held = [abs(log_odds(row, ACCURACY["single"]) - clipped_logit(row["accuracy"])) <= width for row in own]
        table.append(_row("as they are, none left out", length, errors, held))
    return table


def _row(constants: str, length: str, errors: list[float], held: list[bool]) -> dict[str, Any]:
    return {
        "constants": constants,
        "length": length,
        "rows": len(errors),
        "error": round(float(np.mean(np.abs(errors))), 4),
        "bias": round(float(np.mean(errors)), 4),
        "held": round(float(np.mean(held)), 3),
    }


def _share(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def compare_all(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All pairs cut, beside what was measured of them at full length."""
    return compare(trust_tune.read_rows(RECORD), list(measure_all(folder)))
