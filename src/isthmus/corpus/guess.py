"""What the columns of a table are: text, label, id; and whether labels are classes."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Literal

from isthmus.corpus.cells import cell_text, label_cells, to_float
from isthmus.exceptions import DataError, UsageError

# fmt: off
TEXT_NAMES = [
    "text", "comment", "review", "body", "message", "content", "document", "description", "feedback", "answer",
    "response", "sentence", "remark", "note", "narrative", "complaint", "question", "abstract", "summary", "headline",
    "title", "subject", "文本", "内容", "评论", "正文", "标题",
]
LABEL_NAMES = [
    "label", "class", "category", "topic", "target", "sentiment", "group", "tag", "code", "y", "type",
    "标签", "类别", "分类",
]
# fmt: on
SURE_LABEL_NAMES = ("label", "labels", "class", "category", "topic", "标签", "类别", "分类")
ID_NAMES = ["id", "doc_id", "docid", "document_id", "record_id", "row_id", "uid", "uuid", "key", "number", "no", "nr"]
# A column so named is taken for the id only if it holds no value twice: "review_id", "ticket no", "respondent".
_ID_NOUNS = ("ticket", "case", "reference", "ref", "respondent", "participant", "customer", "client", "user", "member")
ID_WORDS = frozenset({*ID_NAMES, *_ID_NOUNS, "patient", "order", "invoice", "incident", "claim", "编号"})
TITLE_ROWS = 10  # rows above the header that may hold a title, a date, a blank
LOOKED_AT = 2_000  # rows that guesses are made from
SOME: Final = "some"  # of want_labels: labels are needed, and some cells of their column are empty
WantLabels = bool | Literal["some"] | None
_OTHERS = 3  # columns in question for the label
_SHOWN, _COMPARED = 10, 1_000  # column names told to a person, and compared with a misspelt one
_WORDS = re.compile(r"[^\W_]+")


def find_column(given: str, columns: Iterable[str], name: str, what: str) -> str:
    """The column called ``given``, or an error that lists the columns and names the closest."""
    columns = list(columns)
    if given in columns:
        return given
    folded = {column.casefold().strip(): column for column in columns}
    # Comparing long names letter by letter takes time and helps nobody.
    near = [key for key in list(folded)[:_COMPARED] if len(key) <= 100]
    close = difflib.get_close_matches(given.casefold().strip()[:100], near, n=1, cutoff=0.6)
    hint = f" Did you mean {folded[close[0]]!r}?" if close else f" Name one of them as the {what} column."
    raise DataError(
        f"{name} has no column {shorten(given)!r}; its columns are: {list_columns(columns)}.{hint}",
        code="unknown-column",
    )


def list_columns(columns: Iterable[str]) -> str:
    """The first ten names, shortened, for a sentence that a person can read."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shorten, names[:_SHOWN])) + more


def shorten(name: object, width: int = 60) -> str:
    text = str(name)
    return text if len(text) <= width else text[: width - 1] + "…"


def guess_text(columns: Mapping[str, list], taken: Sequence[str | None] = ()) -> str | None:
    """The text column: by its name, else the one with the longest cells on average."""
    free = {key: cells for key, cells in columns.items() if key not in taken and _is_text(cells)}
    named = by_name(free, TEXT_NAMES, exact=True)
    if named is not None:
        return named
    # A label or an id is not a text just because nothing longer is there.
    labels = [by_name(free, LABEL_NAMES), by_name(free, ID_NAMES)]
    lengths = {key: _mean_length(cells) for key, cells in free.items() if key not in labels}
    best = max(lengths, key=lengths.__getitem__, default=None)
    if best is None or lengths[best] < 2:
        return None
    # "customer comment" is a text, "comment author" is not: a name that only resembles must come with long cells.
    return by_name([key for key in lengths if lengths[key] >= lengths[best] / 2], TEXT_NAMES) or best


def guess_labels(columns: Mapping[str, list], taken: Sequence[str | None], want_labels: WantLabels) -> list[str]:
    """The label column, if one is found; where some labels are missing, other columns that might be meant follow it.

    Then columns in which some cells are empty come before others.
    """
    found: list[str | None] = []
    if want_labels == SOME:
        unfilled = {key: cells for key, cells in columns.items() if None in label_cells(cells)}
        for _ in range(_OTHERS):
            found.append(guess_label(unfilled, [*taken, *found]))
    found.append(guess_label(columns, taken, by_cells=bool(want_labels) and not any(found)))
    return [name for name in dict.fromkeys(found) if name is not None]


def guess_label(columns: Mapping[str, list], taken: Sequence[str | None] = (), *, by_cells: bool = True) -> str | None:
    """The label column: by its name, else (``by_cells``) the one with the fewest distinct short values that repeat."""
    # A list of tags names several classes at once; it is no label.
    free = {
        key: cells
        for key, cells in columns.items()
        if key not in taken and not any(isinstance(cell, (list, dict)) for cell in islice(cells, LOOKED_AT))
    }
    named = by_name(
        [key for key in free if key.casefold().strip() in SURE_LABEL_NAMES or _repeats(free[key])], LABEL_NAMES
    )
    if named is not None or not by_cells:
        return named
    best, fewest = None, 0
    for key, cells in free.items():
        seen = _filled(cells)
        distinct = len(set(seen))
        # At least two documents a class on average, and no more classes than a person would name.
        few = 2 <= distinct <= min(100, len(seen) // 2)
        if few and max(map(len, seen)) <= 60 and not all(map(_is_number, seen)) and (best is None or distinct < fewest):
            best, fewest = key, distinct
    return best


def guess_id(columns: Mapping[str, list], taken: Sequence[str | None] = ()) -> str | None:
    """The id column: by its name, else one that is named like an id and holds no value twice."""
    free = [key for key in columns if key not in taken]
    named = next((key for want in ID_NAMES for key in free if key.casefold().strip() == want), None)
    if named is not None:
        return named
    alike = [key for key in free if _names_id(_WORDS.findall(key.casefold()))]
    return next((key for key in alike if _all_different(columns[key])), None)


def _names_id(words: list[str]) -> bool:
    """Whether a name speaks of an id: "ticket", "customer no"; not "customer comment", which is a text."""
    return bool(ID_WORDS & set(words)) and words[-1] not in _TEXT_WORDS


def _all_different(cells: list) -> bool:
    """Whether every cell is filled, short, and unlike the others."""
    seen = [str(cell) if cell is not None else "" for cell in cells]
    return len(seen) > 1 and all(0 < len(cell.strip()) <= 80 for cell in seen) and len(set(seen)) == len(seen)


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns hold the text, the label and the id, by name; and a note for each that was guessed."""

    text: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    notes: tuple[str, ...] = ()


def guess_roles(
    columns: Mapping[str, list],
    name: str,
    *,
    text: Sequence[str] = (),
    label: str | None = None,
    id: str | None = None,
    want_labels: WantLabels = None,
) -> ColumnRoles:
    """As :func:`resolve_columns`, of columns named exactly; what cannot be guessed is left empty."""
    notes = []
    if not text:
        taken = [id, label, id or guess_id(columns)]
        guess = guess_text(columns, [column for column in taken if column])
        if guess is not None:
            text = [guess]
            notes.append(f"{name}: {shorten(guess)!r} is taken as the text.")
    taken = [*text, id]
    if want_labels is not False and label is None:
        found = guess_labels(columns, [*taken, guess_id(columns, taken)], want_labels)
        if found:
            label, *others = found
            meant = " or ".join(repr(shorten(other)) for other in others)
            or_else = f"; if {meant} is meant, name it with label=COLUMN" if others else ""
            notes.append(f"{name}: {shorten(label)!r} is taken as the label{or_else}.")
    return ColumnRoles(tuple(text), label, id or guess_id(columns, [*taken, label]), tuple(notes))


def resolve_columns(
    columns: Mapping[str, list],
    name: str,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    want_labels: WantLabels = None,
) -> ColumnRoles:
    """Which columns of a table (or of its first rows) hold what: those that are named, and guesses for the others.

    Several text columns come as a sequence or joined by commas. ``want_labels``: True where a label column is needed,
    ``SOME`` where some of its cells should be empty, False where none is read, even if one is named, None where one is
    read if it is called so.
    """
    id = find_column(id, columns, name, "id") if id else None
    texts = _named_texts(text, columns, name)
    if label and want_labels is not False:
        label = find_column(label, columns, name, "label")
    else:
        label = None
    if label is not None and label in texts:
        raise UsageError(
            f"{label!r} is named both as the text and as the label; a label cannot be learned from itself."
        )
    roles = guess_roles(columns, name, text=texts, label=label, id=id, want_labels=want_labels)
    if not roles.text:
        raise DataError(
            f"No column of {name} looks like text (columns: {list_columns(columns)}); name it with text=COLUMN.",
            code="no-text-column",
        )
    if want_labels and roles.label is None:
        raise DataError(
            f"No column of {name} looks like labels (columns: {list_columns(columns)}); name it with label=COLUMN.",
            code="no-label-column",
        )
    return roles


def _named_texts(text: str | Sequence[str] | None, columns: Mapping[str, list], name: str) -> list[str]:
    if text is None:
        return []
    if isinstance(text, str):
        text = [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    return [find_column(part, columns, name, "text") for part in text]


def find_header(rows: Sequence[Sequence], *, sure: bool = False) -> int:
    """Row of the header: 0, or further down where titles stand above it.

    A row below is the header if it has more filled cells than every row above it, all of them different, and one is
    called like a text, a label or an id; the first row must hold no such name. With ``sure`` (cells cannot be cut in
    the wrong place) the name is not asked for where the first row has one cell and no later row more than the header.
    """
    filled = [[str(cell).strip() for cell in row if cell is not None and str(cell).strip()] for row in rows]
    first = next((i for i, cells in enumerate(filled) if cells), 0)
    if not filled or _has_known_name(filled[first]):
        return first
    full = max(map(len, filled))
    widest = len(filled[first])
    nameless = sure and widest == 1
    for place, cells in enumerate(filled[first + 1 : first + TITLE_ROWS + 1], first + 1):
        different = len(cells) > max(1, widest) and len(set(cells)) == len(cells)
        stands_above_all = nameless and len(cells) == full and not any(map(_is_number, cells))
        if different and (_has_known_name(cells) or stands_above_all):
            return place
        widest = max(widest, len(cells))
    return first


def _has_known_name(cells: list[str]) -> bool:
    return by_name([cell for cell in cells if len(cell) <= 40], [*TEXT_NAMES, *LABEL_NAMES, *ID_NAMES]) is not None


def by_name(columns: Iterable[str], names: Sequence[str], *, exact: bool = False) -> str | None:
    """The column whose name is one of ``names`` (earlier ones first), else one that ends or begins with one of them."""
    words = {key: _WORDS.findall(key.casefold()) for key in columns}
    for pick in (_only_word,) if exact else (_only_word, itemgetter(-1), _first_word):
        first: dict[str, tuple[int, str]] = {}
        for place, (key, parts) in enumerate(words.items()):
            if parts:
                first.setdefault(pick(parts), (place, key))
        for want in names:
            if len(want) == 1 and pick is not _only_word:
                continue
            found = [first[form] for form in _forms(want) if form in first]
            if found:
                return min(found)[1]
    return None


def _forms(want: str) -> set[str]:
    if len(want) == 1:  # "y" has no plural: "yes" is another word
        return {want}
    forms = {want, want + "s"}
    return forms | {want[:-1] + "ies", want + "es"} if want.endswith(("y", "s")) else forms


def _only_word(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ""


def _first_word(parts: list[str]) -> str:
    # "text_id" and "comment date" speak of the text, they are not the text.
    return "" if parts[-1] in (*ID_NAMES, "date", "time", "length", "count") else parts[0]


_TEXT_WORDS = frozenset(form for name in TEXT_NAMES for form in _forms(name))


def _sample(cells: list) -> list[str]:
    return [str(cell) for cell in islice((cell for cell in cells if cell is not None), LOOKED_AT)]


def _filled(cells: list) -> list[str]:
    """The first filled cells: in a column labelled in part, these may be far down."""
    return list(islice((text for text in map(cell_text, cells) if text.strip()), LOOKED_AT))


def _repeats(cells: list) -> bool:
    seen = _filled(cells)
    return len(set(seen)) <= max(2, len(seen) // 2)


def _is_text(cells: list) -> bool:
    seen = list(islice((cell for cell in cells if cell not in (None, "")), LOOKED_AT))
    return not seen or any(isinstance(cell, str) for cell in seen)


def _mean_length(cells: list) -> float:
    seen = [cell for cell in _sample(cells) if not _is_number(cell)]
    return sum(map(len, seen)) / max(1, min(len(cells), LOOKED_AT))


def _is_number(cell: str) -> bool:
    return to_float(cell.replace(",", ".")) is not None


# -- Are these labels classes? Cells with several labels, dates, ids, free text and measurements are not; grades are


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
    kind: str  # classes, grades, several, dates, ids, free-text or measurements
    message: str = ""  # what was found and what to do; empty for classes
    order: tuple = ()  # the grades from low to high

    @property
    def are_classes(self) -> bool:
        """Whether the labels can be learned as classes (grades can, without their order)."""
        return self.kind in ("classes", "grades")


def label_kind(labels: Any) -> LabelKind:
    """What kind of labels these are; ``None`` means unknown and is passed over.

    Fewer than 20 labelled documents are always classes.
    """
    known = [label for label in labels if label is not None and label == label]
    names = [str(label).strip() for label in known]
    sizes = Counter(names)
    if len(names) < FEWEST or len(sizes) < 2:
        return LabelKind("classes")
    order = grade_order(known)
    if order:
        message = (
            f"are grades from {order[0]!r} to {order[-1]!r}: they are learned as {len(order)} classes without their "
            "order; a check also counts the steps between label and truth."
        )
        return LabelKind("grades", message, order)
    if _share(names, _DATE.fullmatch) >= _MOSTLY:
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
    if _share(names, lambda name: to_float(name) is not None) >= _MOSTLY and per_value < 5 and len(sizes) > MOST_GRADES:
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
    """The kind of the labels; refuses those that are not classes unless ``force_classes``."""
    kind = label_kind(labels)
    if not kind.are_classes and not force_classes:
        raise DataError(f"{name} {kind.message}", code="labels-not-classes")
    return kind


def grade_order(labels: Sequence) -> tuple:
    """Labels that are steps of one scale, from low to high; empty where they are not.

    Three to eleven whole numbers no further apart than eleven, or the words of a common scale.
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
    """Mean number of steps between label and truth on a scale; None where no pair is on it."""
    place = {str(grade): step for step, grade in enumerate(order)}
    steps = [
        abs(place[str(said)] - place[str(true)])
        for said, true in zip(labels, truths, strict=True)
        if str(said) in place and str(true) in place
    ]
    return sum(steps) / len(steps) if steps else None


def _refuse(kind: str, what: str, remedy: str) -> LabelKind:
    return LabelKind(kind, f"hold {what}, not classes; {remedy}, or learn them as they are (force_classes=True).")


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
        for parts in (_parts(name, separator) for name in sizes):  # "['a']" too, which is the a of "['a', 'b']"
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
    return sum(bool(test(name)) for name in names) / len(names)


def _whole(value: Any) -> int | None:
    number = None if isinstance(value, bool) else to_float(value)
    return int(number) if number is not None and abs(number) < 1e6 and number.is_integer() else None
