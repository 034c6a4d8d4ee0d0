"""Make the bundled sample: ``python tools/sample/make_sample.py [FOLDER]``.

A comment is one to four clauses of its category, sometimes with an opener, a clause of another category, an aside that
belongs to none, and a closer; then punctuation and typing errors. Clauses come from three lists: what customers of both
dealers write, and what only customers of one write. Everything is drawn from one seeded generator.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import phrases_cars
import phrases_motorcycles
import phrases_shared

from isthmus.corpus.sample import SAMPLE_FOLDER
from isthmus.corpus.write import write_rows

SEED = 20080824
SIZE = 600
SHARED = 0.5  # how often a clause is one that both dealers' customers write
OTHER = 0.22  # how often a clause of another category is mixed in
CATEGORIES = {"staff": 0.27, "product": 0.29, "service": 0.24, "price": 0.20}
CATEGORIES_CARS = {"staff": 0.22, "product": 0.26, "service": 0.29, "price": 0.23}

_CHOICE = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"<(\w+)>")


def make_sample(folder: str | Path, *, force: bool = True) -> None:
    """Write motorcycles.csv, cars.csv and cars_truth.csv into ``folder``."""
    folder = Path(folder)
    rng = random.Random(SEED)
    motorcycles = make_comments(rng, phrases_motorcycles, CATEGORIES, SIZE)
    cars = make_comments(rng, phrases_cars, CATEGORIES_CARS, SIZE)
    moto_ids = [f"m{i:04d}" for i in range(1, SIZE + 1)]
    car_ids = [f"c{i:04d}" for i in range(1, SIZE + 1)]
    write_rows(
        folder / "motorcycles.csv",
        {"id": moto_ids, "comment": [text for text, _ in motorcycles], "category": [name for _, name in motorcycles]},
        force=force,
    )
    write_rows(folder / "cars.csv", {"id": car_ids, "comment": [text for text, _ in cars]}, force=force)
    write_rows(folder / "cars_truth.csv", {"id": car_ids, "category": [name for _, name in cars]}, force=force)


def make_comments(rng: random.Random, domain, shares: dict[str, float], size: int) -> list[tuple[str, str]]:
    """``size`` pairs of comment and category, no comment twice."""
    seen: set[str] = set()
    comments: list[tuple[str, str]] = []
    names, weights = list(shares), list(shares.values())
    while len(comments) < size:
        category = rng.choices(names, weights)[0]
        text = _comment(rng, domain, category)
        if len(text.split()) >= 3 and text.casefold() not in seen:
            seen.add(text.casefold())
            comments.append((text, category))
    return comments


def _comment(rng: random.Random, domain, category: str) -> str:
    mood = rng.choices(["+", "-", "mixed"], [0.42, 0.42, 0.16])[0]
    clauses = _clauses(rng, domain, category, mood, rng.choices([1, 2, 3, 4], [0.46, 0.32, 0.16, 0.06])[0])
    if rng.random() < OTHER:
        other = rng.choice([name for name in CATEGORIES if name != category])
        clauses += _clauses(rng, domain, other, rng.choice("+-"), 1)
        if rng.random() < 0.3:
            rng.shuffle(clauses)
    if rng.random() < 0.14:
        clauses.insert(rng.randrange(len(clauses) + 1), _expand(rng, rng.choice(phrases_shared.ASIDES), domain))
    if rng.random() < 0.18:
        clauses.append(_expand(rng, rng.choice(phrases_shared.CLOSERS[mood]), domain))
    text = _join(rng, clauses)
    if rng.random() < 0.16:
        text = _expand(rng, rng.choice(phrases_shared.OPENERS), domain) + rng.choice([", ", ", ", ": ", " - "]) + text
    return _finish(rng, text)


def _clauses(rng: random.Random, domain, category: str, mood: str, count: int) -> list[str]:
    """``count`` different clauses of a category, each positive or negative as the mood says."""
    found: list[str] = []
    used: set[str] = set()
    while len(found) < count:
        sign = mood if mood != "mixed" else rng.choice("+-")
        source = phrases_shared if rng.random() < SHARED else domain
        template = rng.choice(source.CLAUSES[category, sign])
        if template not in used:
            used.add(template)
            found.append(_expand(rng, template, domain))
    return found


def _expand(rng: random.Random, template: str, domain) -> str:
    """Fill the slots, then choose among alternatives from the inside out."""
    text = _SLOT.sub(lambda match: domain.SLOTS[match.group(1)], template)
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


if __name__ == "__main__":
    make_sample(sys.argv[1] if len(sys.argv) > 1 else SAMPLE_FOLDER)
