"""The program behind the bundled sample: survey comments of two dealers, drawn from lists of templates.

A comment is one to four clauses of its category, sometimes with an opener, a clause of another category, an aside that
belongs to none, and a closer; then punctuation and typing errors. Clauses come from three lists: what customers of both
dealers write, and what only customers of one write. Everything is drawn from one seeded generator.

``python tools/sample/make.py`` writes the files anew into the package; a test compares them byte for byte.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import phrases

from isthmus.corpus import write_rows

FOLDER = Path(__file__).resolve().parents[2] / "src" / "isthmus" / "corpus" / "sample"

SEED = 20080824
SIZE = 600
SHARED = 0.5  # how often a clause is one that both dealers' customers write
OTHER = 0.22  # how often a clause of another category is mixed in
CATEGORIES = {"staff": 0.27, "product": 0.29, "service": 0.24, "price": 0.20}
CATEGORIES_CARS = {"staff": 0.22, "product": 0.26, "service": 0.29, "price": 0.23}
# Ten more comments of the car dealer, written by hand: what a saved model is tried on.
LATER = (
    "The receptionist greeted us by name and offered coffee.",
    "Monthly payments were higher than the advert promised.",
    "Brakes squeak since the last inspection and nobody calls back.",
    "The new hatchback is quiet on the motorway, love the seats.",
    "Fair price for my old estate car.",
    "They finished the oil change while we waited.",
    "Salesman pushed a warranty on us, very rude.",
    "Boot space is huge and the camera is sharp.",
    "Paid twice for the same service plan.",
    "Courtesy car was ready at eight as agreed.",
)

_CHOICE = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"<(\w+)>")


class Dealer(NamedTuple):
    """What only the customers of one dealer write."""

    slots: Mapping[str, str]
    clauses: Mapping[tuple[str, str], list[str]]


def make_tables() -> dict[str, dict[str, list[str]]]:
    """Columns of ``motorcycles.csv``, ``cars.csv``, ``cars_truth.csv`` and ``later.csv``: the same in every run."""
    rng = random.Random(SEED)
    motorcycles = make_comments(rng, Dealer(phrases.MOTORCYCLES_SLOTS, phrases.MOTORCYCLES), CATEGORIES, SIZE)
    cars = make_comments(rng, Dealer(phrases.CARS_SLOTS, phrases.CARS), CATEGORIES_CARS, SIZE)
    moto_ids, car_ids = ([f"{letter}{i:04d}" for i in range(1, SIZE + 1)] for letter in "mc")
    return {
        "motorcycles.csv": {
            "id": moto_ids,
            "comment": [text for text, _ in motorcycles],
            "category": [name for _, name in motorcycles],
        },
        "cars.csv": {"id": car_ids, "comment": [text for text, _ in cars]},
        "cars_truth.csv": {"id": car_ids, "category": [name for _, name in cars]},
        "later.csv": {"id": [f"l{i:03d}" for i in range(1, len(LATER) + 1)], "comment": list(LATER)},
    }


def make_comments(rng: random.Random, dealer: Dealer, shares: dict[str, float], size: int) -> list[tuple[str, str]]:
    """``size`` pairs of comment and category, no comment twice."""
    seen: set[str] = set()
    comments: list[tuple[str, str]] = []
    names, weights = list(shares), list(shares.values())
    while len(comments) < size:
        category = rng.choices(names, weights)[0]
        text = _comment(rng, dealer, category)
        if len(text.split()) >= 3 and text.casefold() not in seen:
            seen.add(text.casefold())
            comments.append((text, category))
    return comments


def _comment(rng: random.Random, dealer: Dealer, category: str) -> str:
    mood = rng.choices(["+", "-", "mixed"], [0.42, 0.42, 0.16])[0]
    clauses = _clauses(rng, dealer, category, mood, rng.choices([1, 2, 3, 4], [0.46, 0.32, 0.16, 0.06])[0])
    if rng.random() < OTHER:
        other = rng.choice([name for name in CATEGORIES if name != category])
        clauses += _clauses(rng, dealer, other, rng.choice("+-"), 1)
        if rng.random() < 0.3:
            rng.shuffle(clauses)
    if rng.random() < 0.14:
        clauses.insert(rng.randrange(len(clauses) + 1), _expand(rng, rng.choice(phrases.ASIDES), dealer))
    if rng.random() < 0.18:
        clauses.append(_expand(rng, rng.choice(phrases.CLOSERS[mood]), dealer))
    text = _join(rng, clauses)
    if rng.random() < 0.16:
        text = _expand(rng, rng.choice(phrases.OPENERS), dealer) + rng.choice([", ", ", ", ": ", " - "]) + text
    return _finish(rng, text)


def _clauses(rng: random.Random, dealer: Dealer, category: str, mood: str, count: int) -> list[str]:
    """``count`` different clauses of a category, each positive or negative as the mood says."""
    found: list[str] = []
    used: set[str] = set()
    while len(found) < count:
        sign = mood if mood != "mixed" else rng.choice("+-")
        clauses = phrases.SHARED if rng.random() < SHARED else dealer.clauses
        template = rng.choice(clauses[category, sign])
        if template not in used:
            used.add(template)
            found.append(_expand(rng, template, dealer))
    return found


def _expand(rng: random.Random, template: str, dealer: Dealer) -> str:
    """Fill the slots, then choose among alternatives from the inside out."""
    text = _SLOT.sub(lambda match: dealer.slots[match.group(1)], template)
    while _CHOICE.search(text):
        text = _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), text)
    return re.sub(r"\s+([,.]|$)", r"\1", re.sub(r" {2,}", " ", text)).strip()


def _join(rng: random.Random, clauses: list[str]) -> str:
    text = clauses[0]
    for clause in clauses[1:]:
        link = rng.choices([". ", ", ", " and ", "; ", "! ", " but ", ", also ", "\n"], [46, 20, 8, 4, 6, 6, 4, 1])[0]
        text += link + (clause[0].upper() + clause[1:] if link[0] in ".!\n" else clause)
    return text


def _finish(rng: random.Random, text: str) -> str:
    """Capitals, the end mark and typing errors, as people leave them."""
    if rng.random() < 0.78:
        text = text[0].upper() + text[1:]
    elif rng.random() < 0.1:
        text = text.upper()
    text += rng.choices([".", "", "!", "!!", "...", " :-)"], [48, 36, 9, 3, 3, 1])[0]
    if rng.random() < 0.12:
        text = text.replace("'", "")
    if rng.random() < 0.18:
        for _ in range(rng.choice([1, 1, 2])):
            text = _mistype(rng, text)
    return text


def _mistype(rng: random.Random, text: str) -> str:
    places = [match.start() for match in re.finditer(r"(?<=[a-z])[a-z](?=[a-z]{2})", text)]
    if not places:
        return text
    at = rng.choice(places)
    kind = rng.randrange(3)
    if kind == 0:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + text[at + 1 :] if kind == 1 else text[:at] + text[at] + text[at:]


def main(folder: Path = FOLDER) -> None:
    """Write every file of the sample into ``folder``."""
    for name, columns in make_tables().items():
        write_rows(folder / name, columns, force=True)


if __name__ == "__main__":
    main()
