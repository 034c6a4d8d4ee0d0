"""Are these labels classes? Cells with several labels, dates, ids, free text and measurements are not; grades are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from isthmus.exceptions import DataError

FEWEST = 20  # labelled documents below which a column looks like anything
MOST_GRADES = 11  # 0 to 10
_SEPARATORS = (";", "|", ",", "/")
_PATHS = ("/", ",")  # "hardware/printer" is one name unless its parts also stand in other places
_SEVERAL = 0.05  # share of cells with several labels from which the column holds them on purpose
_MOSTLY = 0.8
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ].*)?"
    r"|\d{4}年\d{1,2}月(\d{1,2}日)?"
)
_SCALES = (
    ("low", "medium", "high"),
    ("small", "medium", "large"),
    ("bad", "fair", "good"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
)


@dataclass(frozen=True)
class LabelKind:
    """What a column of labels holds.

    Attributes
    ----------
    kind : {"classes", "grades", "several", "dates", "ids", "free-text", "measurements"}
    message : str
        One sentence: what was found and what to do; empty for classes.
    order : tuple
        The grades from low to high; empty for anything else.
    """

    kind: str
    message: str = ""
    order: tuple = ()

    @property
    def are_classes(self) -> bool:
        """Whether the labels can be learned as classes (grades can, without their order)."""
        return self.kind in ("classes", "grades")


def label_kind(labels: Any) -> LabelKind:
    """What kind of labels these are; ``None`` means unknown and is passed over.

    Fewer than 20 labelled documents are always classes.

    Examples
    --------
    >>> from isthmus.corpus.label_kinds import label_kind
    >>> label_kind(["staff", "price"] * 20).kind
    'classes'
    >>> label_kind(["staff;price", "staff", "price", "price;staff"] * 10).kind
    'several'
    >>> label_kind([1, 5, 3, 4] * 10).order
    (1, 3, 4, 5)
    """
    known = [label for label in labels if label is not None and label == label]
    names = [str(label).strip() for label in known]
    sizes = Counter(names)
    if len(names) < FEWEST or len(sizes) < 2:
        return LabelKind("classes")
    order = grade_order(known)
    if order:
        return LabelKind("grades", _grades_message(order), order)
    if _share(names, _is_date) >= _MOSTLY:
        return _refuse("dates", f"{len(sizes):,} dates such as {names[0]!r}", "name the column of the classes")
    several = _several(sizes)
    if several:
        cell, n_parts = several
        return _refuse(
            "several",
            f"several labels in one cell ({cell!r}): {len(sizes):,} combinations of {n_parts:,} labels",
            "split them into one row per label or keep the first",
        )
    return _odd_values(names, sizes)


def _odd_values(names: list[str], sizes: Counter) -> LabelKind:
    per_value = len(names) / len(sizes)
    if _share(names, _is_number) >= _MOSTLY and per_value < 5 and len(sizes) > MOST_GRADES:
        sentence = f"{len(sizes):,} different numbers such as {names[0]!r}"
        return _refuse("measurements", sentence, "put them into a few ranges")
    if per_value >= 2:
        return LabelKind("classes")
    words = sum(len(name.split()) for name in sizes) / len(sizes)
    if words >= 3:
        return _refuse("free-text", f"{len(sizes):,} different sentences", "name the column of the classes")
    sentence = f"{len(sizes):,} different values for {len(names):,} documents, as ids have ({names[0]!r})"
    return _refuse("ids", sentence, "name the column of the classes")


def check_label_kind(labels: Any, *, name: str = "The labels", force_classes: bool = False) -> LabelKind:
    """The kind of the labels; refuses those that are not classes unless ``force_classes``.

    Raises
    ------
    DataError
        With code ``labels-not-classes``.
    """
    kind = label_kind(labels)
    if not kind.are_classes and not force_classes:
        raise DataError(f"{name} {kind.message}", code="labels-not-classes")
    return kind


def grade_order(labels: Sequence) -> tuple:
    """Labels that are steps of one scale, from low to high; empty where they are not.

    Three to eleven whole numbers no further apart than eleven, or the words of a common scale.

    Examples
    --------
    >>> from isthmus.corpus.label_kinds import grade_order
    >>> grade_order(["low", "high", "medium", "low"]), grade_order(["red", "high"])
    (('low', 'medium', 'high'), ())
    """
    values = list(dict.fromkeys(label for label in labels if label is not None and label == label))
    if not 3 <= len(values) <= MOST_GRADES:
        return ()
    numbers = [number for number in map(_whole, values) if number is not None]
    if len(numbers) == len(values):
        pairs = sorted(zip(numbers, values, strict=True), key=lambda pair: pair[0])
        return tuple(value for _, value in pairs) if pairs[-1][0] - pairs[0][0] < MOST_GRADES else ()
    folded = {" ".join(str(value).casefold().replace("_", " ").split()): value for value in values}
    for scale in _SCALES:
        if set(folded) <= set(scale):
            return tuple(folded[step] for step in scale if step in folded)
    return ()


def grade_distance(labels: Sequence, truths: Sequence, order: Sequence) -> float | None:
    """Mean number of steps between label and truth on a scale; None where no pair is on it.

    Examples
    --------
    >>> from isthmus.corpus.label_kinds import grade_distance
    >>> grade_distance(["1", "4", "5"], ["1", "5", "2"], ("1", "2", "3", "4", "5"))
    1.3333333333333333
    """
    place = {str(grade): step for step, grade in enumerate(order)}
    steps = [
        abs(place[str(said)] - place[str(true)])
        for said, true in zip(labels, truths, strict=True)
        if str(said) in place and str(true) in place
    ]
    return sum(steps) / len(steps) if steps else None


def _grades_message(order: tuple) -> str:
    return (
        f"are grades from {order[0]!r} to {order[-1]!r}: they are learned as {len(order)} classes without their order; "
        "a check also counts the steps between label and truth."
    )


def _refuse(kind: str, what: str, remedy: str) -> LabelKind:
    way_out = "or learn them as they are (--force-classes, in Python force_classes=True)"
    return LabelKind(kind, f"hold {what}, not classes; {remedy} (--label COL), {way_out}.")


def _several(sizes: Counter) -> tuple[str, int] | None:
    """A cell with several labels and how many labels there are, where cells hold several on purpose."""
    for separator in _SEPARATORS:
        cells = {name: _parts(name, separator) for name in sizes if separator in name}
        cells = {name: parts for name, parts in cells.items() if len(parts) > 1}
        share = sum(sizes[name] for name in cells) / sum(sizes.values())
        if len(cells) < 2 or share < _SEVERAL:
            continue
        places: dict[str, set] = {}
        holders: Counter = Counter()
        for parts in [*cells.values(), *([name] for name in sizes if separator not in name)]:
            for place, part in enumerate(parts):
                places.setdefault(part, set()).add(place if len(parts) > 1 else "alone")
                holders[part] += 1
        free = [len(places[part]) > 1 if separator in _PATHS else holders[part] > 1 for part in places]
        if sum(free) >= len(free) / 2:
            return next(iter(cells)), len(places)
    return None


def _parts(name: str, separator: str) -> list[str]:
    bare = name.strip("[]{}()")
    return [part.strip(" '\"") for part in bare.split(separator) if part.strip(" '\"")]


def _share(names: list[str], test: Any) -> float:
    return sum(map(test, names)) / len(names)


def _is_date(name: str) -> bool:
    return _DATE.fullmatch(name) is not None


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _whole(value: Any) -> int | None:
    """The value as a whole number ("4", 4, 4.0), or None."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number == number and abs(number) < 1e6 and number == int(number) else None
