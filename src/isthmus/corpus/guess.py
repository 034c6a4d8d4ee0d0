"""Guess the roles of columns (text, label, id), and test whether labels are classes."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
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
    "response", "sentence", "remark", "note", "narrative", "complaint", "question", "abstract", "summary",
    "文本", "内容", "评论", "正文",
]
# A title often stands next to the text that it belongs to, which says more.
TITLE_NAMES = ["headline", "title", "subject", "标题"]
LABEL_NAMES = [
    "label", "class", "category", "topic", "target", "sentiment", "group", "tag", "code", "y", "type",
    "rating", "star", "grade", "标签", "类别", "分类",
]
# fmt: on
# Names of columns that are the label even if no value repeats.
SURE_LABEL_NAMES = ("label", "labels", "class", "category", "topic", "标签", "类别", "分类")
ID_NAMES = ["id", "doc_id", "docid", "document_id", "record_id", "row_id", "uid", "uuid", "key", "number", "no", "nr"]
# A column with such a name is the id only if no value occurs twice: "review_id", "ticket no", "respondent".
_ID_NOUNS = ("ticket", "case", "reference", "ref", "respondent", "participant", "customer", "client", "user", "member")
ID_WORDS = frozenset({*ID_NAMES, *_ID_NOUNS, "patient", "order", "invoice", "incident", "claim", "编号"})
TITLE_ROWS = 10  # most rows above the header with a title, a date or nothing
LOOKED_AT = 2_000  # rows that a guess uses
LABEL_LENGTH = 60  # most characters of a label
_PROSE_WORDS = 2  # least mean number of words in the cells of a text column without a typical name
_BEGINNING = 500  # characters of a cell that count
SOME: Final = "some"  # value of want_labels: labels are required, and some cells of their column are empty
WantLabels = bool | Literal["some"] | None
_OTHERS = 3  # most columns that are considered for partly filled labels
_SHOWN, _COMPARED = 10, 1_000  # most column names in a message, and most that are compared with a misspelled name
_WORDS = re.compile(r"[^\W_]+")
# Words of prose: two letters of a script without blanks, or letters after a blank or a comma. A number, a date, a
# path and an address on the web contain at most one.
_PROSE = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u9fff]{2}|(?<![^\s,;!?])[^\w\s]*[^\W\d_]{2,}")


def find_column(given: str, columns: Iterable[str], name: str, what: str) -> str:
    """Return the name of the column that the user named.

    Parameters
    ----------
    given : str
        Name as the user wrote it.
    columns : iterable of str
    name : str
        Name of the file in error messages.
    what : str
        Role of the column in error messages.

    Returns
    -------
    str

    Raises
    ------
    DataError
        No column has this name; the message suggests the most similar name.
    """
    columns = list(columns)
    if given in columns:
        return given
    folded = {column.casefold().strip(): column for column in columns}
    # The comparison of very long names is slow and finds no misspelling.
    near = [key for key in list(folded)[:_COMPARED] if len(key) <= 100]
    close = difflib.get_close_matches(given.casefold().strip()[:100], near, n=1, cutoff=0.6)
    hint = f" Did you mean {folded[close[0]]!r}?" if close else f" Name one of them as the {what} column."
    raise DataError(
        f"{name} has no column {shorten(given)!r}; its columns are: {list_columns(columns)}.{hint}",
        code="unknown-column",
    )


def list_columns(columns: Iterable[str]) -> str:
    """Return the first ten names, shortened, for a message.

    Parameters
    ----------
    columns : iterable of str

    Returns
    -------
    str
    """
    names = list(columns)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shorten, names[:_SHOWN])) + more


def shorten(name: object, width: int = 60) -> str:
    """Return the text of a name, cut to a maximum length.

    Parameters
    ----------
    name : object
    width : int
        Maximum length in characters.

    Returns
    -------
    str
    """
    # Names come from user data and may be very long.
    text = str(name)
    return text if len(text) <= width else text[: width - 1] + "…"


def guess_texts(columns: Mapping[str, list], taken: Sequence[str | None] = ()) -> list[str]:
    """Return the columns that look like text, the best first.

    A column with a typical name is better than other columns, unless its cells are much shorter. A column without such
    a name looks like text if its cells have two words on average and are not a few short values that repeat.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column.
    taken : sequence of (str or None)
        Columns with another role.

    Returns
    -------
    list of str
        Empty if no column looks like text.
    """
    lengths: dict[str, float] = {}  # mean number of characters, of long cells at most _BEGINNING
    prose: dict[str, float] = {}  # the same of the columns whose cells look like text
    named = [key for key in columns if key not in taken]
    labels = [by_name(named, LABEL_NAMES), by_name(named, ID_NAMES)]
    for key in named:
        filled = list(islice((cell for cell in columns[key] if cell is not None and cell != ""), LOOKED_AT))
        # A few very long cells must not decide.
        seen = [cell[:_BEGINNING] for cell in filled if isinstance(cell, str) and not _is_number(cell)]
        # Numbers are no text, unless a text file calls them so. An empty column may be the text by its name.
        named_text = key.casefold().strip() == "text" and str in map(type, filled)
        if key in labels or (filled and not seen and not named_text):
            continue
        lengths[key] = sum(map(len, seen)) / max(1, min(len(columns[key]), LOOKED_AT))
        words = sum(len(_PROSE.findall(cell)) for cell in seen)
        few = 2 * len(set(seen)) <= len(seen) and max(map(len, seen), default=0) <= LABEL_LENGTH
        if seen and words >= _PROSE_WORDS * len(seen) and not few:
            prose[key] = lengths[key]
    longest = max(prose.values(), default=0)
    # "text" is the text next to longer descriptions of an author. "customer comment" is a text and "comment author" is
    # not, so a similar name also needs long cells.
    best = (
        by_name([key for key in lengths if 4 * lengths[key] >= longest], TEXT_NAMES, exact=True)
        or by_name([key for key in lengths if 2 * lengths[key] >= longest], TEXT_NAMES)
        or max(prose, key=prose.__getitem__, default=None)
        or by_name(lengths, TITLE_NAMES)
    )
    return [] if best is None else list(dict.fromkeys([best, *sorted(prose, key=prose.__getitem__, reverse=True)]))


def guess_labels(columns: Mapping[str, list], taken: Sequence[str | None], want_labels: WantLabels) -> list[str]:
    """Return the label column, and other columns that the user might mean if some labels are missing.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column.
    taken : sequence of (str or None)
        Columns with another role.
    want_labels : bool, "some" or None
        As for :func:`resolve_columns`. With "some", partly filled columns come first.

    Returns
    -------
    list of str
        Empty if no column looks like labels.
    """
    guesses: list[str | None] = []
    unfilled = {key: cells for key, cells in columns.items() if want_labels == SOME and None in label_cells(cells)}
    for _ in range(_OTHERS):
        guesses.append(guess_label(unfilled, [*taken, *guesses]))
    guesses.append(guess_label(columns, taken, by_cells=bool(want_labels) and not any(guesses)))
    return [name for name in dict.fromkeys(guesses) if name is not None]


def guess_label(columns: Mapping[str, list], taken: Sequence[str | None] = (), *, by_cells: bool = True) -> str | None:
    """Return the label column: by its name, otherwise by its cells.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column.
    taken : sequence of (str or None)
        Columns with another role.
    by_cells : bool
        Whether to consider the cells: the column with the fewest distinct short values that repeat.

    Returns
    -------
    str or None
        None if no column looks like labels.
    """
    # A list of tags is no label, because it names several classes at once.
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
        # At least two documents per class on average, and at most 100 classes, since people rarely define more.
        few = 2 <= distinct <= min(100, len(seen) // 2)
        if (
            few
            and max(map(len, seen)) <= LABEL_LENGTH
            and not all(map(_is_number, seen))
            and (best is None or distinct < fewest)
        ):
            best, fewest = key, distinct
    return best


def guess_id(columns: Mapping[str, list], taken: Sequence[str | None] = ()) -> str | None:
    """Return the id column: by its name, otherwise a column with a similar name in which no value repeats.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column.
    taken : sequence of (str or None)
        Columns with another role.

    Returns
    -------
    str or None
        None if no column looks like ids.
    """
    free = [key for key in columns if key not in taken]
    named = next((key for want in ID_NAMES for key in free if key.casefold().strip() == want), None)
    if named is not None:
        return named
    for key in free:
        words = _WORDS.findall(key.casefold())
        # "ticket" and "customer no" name an id, "customer comment" does not.
        if ID_WORDS.isdisjoint(words) or words[-1] in _TEXT_WORDS:
            continue
        seen = ["" if cell is None else str(cell) for cell in columns[key]]
        if len(seen) > 1 and len(set(seen)) == len(seen) and all(0 < len(cell.strip()) <= 80 for cell in seen):
            return key
    return None


@dataclass(frozen=True)
class ColumnRoles:
    """Name the columns with the text, the label and the id; ``notes`` report each guess."""

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
    """Guess the roles of columns that the user did not name.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column.
    name : str
        Name of the file in notes.
    text, label, id : sequence of str, str, str
        Named columns, which must exist.
    want_labels : bool, "some" or None
        As for :func:`resolve_columns`.

    Returns
    -------
    ColumnRoles
        A role without a suitable column is empty.
    """
    notes = []
    if not text:
        taken = [id, label, id or guess_id(columns)]
        guesses = guess_texts(columns, taken)
        if guesses:
            text = guesses[:1]
            more = f"; {list_columns(map(repr, guesses[1:]))} also looks like text" if guesses[1:] else ""
            several = ". Name several with text=COLUMN,COLUMN" if more else ""
            notes.append(f"{name}: {shorten(text[0])!r} is taken as the text{more}{several}.")
    taken = [*text, id]
    if want_labels is not False and label is None:
        guessed_labels = guess_labels(columns, [*taken, guess_id(columns, taken)], want_labels)
        if guessed_labels:
            label, *others = guessed_labels
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
    """Return the role of each column: named columns first, guesses for the other roles.

    Parameters
    ----------
    columns : mapping of str to list
        Cells by column, or those of the first rows.
    name : str
        Name of the file in messages.
    text : str or sequence of str, optional
        Text columns; a str may contain several names with commas.
    label, id : str, optional
        Label and id columns.
    want_labels : bool, "some" or None
        True: a label column is required. "some": required, and some of its cells should be empty. False: no column is
        the label, even a named one. None: a column is the label if its name indicates this.

    Returns
    -------
    ColumnRoles

    Raises
    ------
    DataError
        A named column does not exist, or a required column was not found.
    UsageError
        One column is named both as text and as label.
    """
    id = find_column(id, columns, name, "id") if id else None
    if isinstance(text, str):
        text = [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    texts = [find_column(part, columns, name, "text") for part in text or ()]
    label = find_column(label, columns, name, "label") if label and want_labels is not False else None
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


def find_header(rows: Sequence[Sequence], *, sure: bool = False) -> int:
    """Return the index of the header row.

    A row below the first row is the header if it has more filled cells than every row above it, all of them different,
    and one has a typical name of a text, label or id column. The first row must not contain such a name.

    Parameters
    ----------
    rows : sequence of sequence
        First rows of a table.
    sure : bool
        Whether cells are certainly separated correctly, as in a workbook. Then a header needs no typical name if the
        first row has one cell and no later row has more cells than the header.

    Returns
    -------
    int
        0 without rows of titles.
    """
    filled = [[str(cell).strip() for cell in row if cell is not None and str(cell).strip()] for row in rows]
    first = next((i for i, cells in enumerate(filled) if cells), 0)
    if not filled or _has_known_name(filled[first]):
        return first
    full = max(map(len, filled))
    widest = len(filled[first])
    nameless = sure and widest == 1
    for index, cells in enumerate(filled[first + 1 : first + TITLE_ROWS + 1], first + 1):
        different = len(cells) > max(1, widest) and len(set(cells)) == len(cells)
        stands_above_all = nameless and len(cells) == full and not any(map(_is_number, cells))
        if different and (_has_known_name(cells) or stands_above_all):
            return index
        widest = max(widest, len(cells))
    return first


def _has_known_name(cells: list[str]) -> bool:
    """Return whether one of the cells is a typical column name."""
    return (
        by_name([cell for cell in cells if len(cell) <= 40], [*TEXT_NAMES, *TITLE_NAMES, *LABEL_NAMES, *ID_NAMES])
        is not None
    )


def by_name(columns: Iterable[str], names: Sequence[str], *, exact: bool = False) -> str | None:
    """Return the column with a typical name.

    Parameters
    ----------
    columns : iterable of str
        Names of the columns.
    names : sequence of str
        Typical names; earlier names have priority.
    exact : bool
        Accept only columns whose whole name is typical, not only its last or first word.

    Returns
    -------
    str or None
    """
    words = {key: _WORDS.findall(key.casefold()) for key in columns}
    for pick in (_only_word,) if exact else (_only_word, itemgetter(-1), _first_word):
        first: dict[str, tuple[int, str]] = {}
        for position, (key, parts) in enumerate(words.items()):
            if parts:
                first.setdefault(pick(parts), (position, key))
        for want in names:
            if len(want) == 1 and pick is not _only_word:
                continue
            matches = [first[form] for form in _forms(want) if form in first]
            if matches:
                return min(matches)[1]
    return None


def _forms(want: str) -> set[str]:
    """Return the singular and plural forms of a name."""
    if len(want) == 1:  # "y" has no plural: "yes" is another word
        return {want}
    forms = {want, want + "s"}
    return forms | {want[:-1] + "ies", want + "es"} if want.endswith(("y", "s")) else forms


def _only_word(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ""


def _first_word(parts: list[str]) -> str:
    # "text_id" and "comment date" describe the text, but they are not the text.
    return "" if parts[-1] in (*ID_NAMES, "date", "time", "length", "count") else parts[0]


_TEXT_WORDS = frozenset(form for name in (*TEXT_NAMES, *TITLE_NAMES) for form in _forms(name))


def _filled(cells: list) -> list[str]:
    """Return the first filled cells; in a partly labelled column they may be far down."""
    return list(islice((text for text in map(cell_text, cells) if text.strip()), LOOKED_AT))


def _repeats(cells: list) -> bool:
    """Return whether at most half of the filled cells are distinct, as in a column of classes."""
    seen = _filled(cells)
    return len(set(seen)) <= max(2, len(seen) // 2)


def _is_number(cell: str) -> bool:
    return to_float(cell.replace(",", ".")) is not None


# -- Test whether labels are classes: grades are, but dates, ids, free text, measurements and lists of labels are not


FEWEST = 20  # labelled documents; fewer do not show what kind of labels a column contains
MOST_GRADES = 11  # steps of the longest scale, from 0 to 10
_SEPARATORS = (";", "|", ",", "/")
_PATHS = ("/", ",")  # "hardware/printer" is one name unless its parts also occur elsewhere
_SEVERAL = 0.05  # share of cells; a larger share of cells with several labels is intended
_MOSTLY = 0.8  # share of labels of one kind that decides about the column
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
    """Describe the kind of some labels."""

    kind: str  # classes, grades, several, dates, ids, free-text or measurements
    message: str = ""  # observation and advice; empty for classes
    order: tuple = ()  # grades from low to high

    @property
    def are_classes(self) -> bool:
        """Whether the labels can be learned as classes; grades can, without their order."""
        return self.kind in ("classes", "grades")


def label_kind(labels: Any) -> LabelKind:
    """Return the kind of some labels; fewer than 20 labelled documents are always classes.

    Parameters
    ----------
    labels : iterable
        Labels; None and NaN are unknown and are skipped.

    Returns
    -------
    LabelKind
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
    if sum(bool(_DATE.fullmatch(name)) for name in names) >= _MOSTLY * len(names):
        return _refuse("dates", f"{len(sizes):,} dates such as {names[0]!r}", "name the column of the classes")
    several = _several(sizes)
    if several:
        cell, n_parts = several
        return _refuse(
            "several",
            f"several labels in one cell ({cell!r}): {len(sizes):,} combinations of {n_parts:,} labels",
            "split them into one row per label or keep the first",
        )
    per_value = len(names) / len(sizes)
    numbers = sum(to_float(name) is not None for name in names)
    if numbers >= _MOSTLY * len(names) and per_value < 5 and len(sizes) > MOST_GRADES:
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
    """Return the kind of the labels, and refuse labels that are not classes.

    Parameters
    ----------
    labels : iterable
        Labels; None is unknown.
    name : str
        Name of the labels in error messages.
    force_classes : bool
        Accept all labels.

    Returns
    -------
    LabelKind

    Raises
    ------
    DataError
        The labels are not classes.
    """
    kind = label_kind(labels)
    if not kind.are_classes and not force_classes:
        raise DataError(f"{name} {kind.message}", code="labels-not-classes")
    return kind


def grade_order(labels: Sequence) -> tuple:
    """Return the grades of one scale from low to high.

    Grades are three to eleven whole numbers with a range below eleven, or the words of a common scale.

    Parameters
    ----------
    labels : sequence
        Labels; None and NaN are skipped.

    Returns
    -------
    tuple
        Empty if the labels are not grades.
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


def grade_distance(labels: Sequence, truths: Sequence, order: Sequence) -> tuple[float, float] | None:
    """Return the mean number of steps between labels and true labels on a scale, and the share at most one step off.

    Parameters
    ----------
    labels : sequence
        Predicted labels.
    truths : sequence
        True labels.
    order : sequence
        Grades from low to high.

    Returns
    -------
    tuple of (float, float) or None
        None if no pair is on the scale.
    """
    step_of = {str(grade): step for step, grade in enumerate(order)}
    steps = [
        abs(step_of[str(label)] - step_of[str(truth)])
        for label, truth in zip(labels, truths, strict=True)
        if str(label) in step_of and str(truth) in step_of
    ]
    return (sum(steps) / len(steps), sum(step <= 1 for step in steps) / len(steps)) if steps else None


def _refuse(kind: str, what: str, remedy: str) -> LabelKind:
    """Return a kind of labels that are not classes, with its message."""
    return LabelKind(kind, f"hold {what}, not classes; {remedy}, or learn them as they are (force_classes=True).")


def _several(sizes: Counter) -> tuple[str, int] | None:
    """Return a cell with several labels and the number of labels; None if cells contain one label each."""
    for separator in _SEPARATORS:
        # Single labels count too: the cell "['a']" has the same label as "['a', 'b']".
        parts_of = {name: _parts(name, separator) for name in sizes}
        cells = [name for name, parts in parts_of.items() if len(parts) > 1]
        if len(cells) < 2 or sum(sizes[name] for name in cells) < _SEVERAL * sizes.total():
            continue
        # A part is a label of its own if it occurs in several cells, or in a path at several positions.
        positions: dict[str, list] = defaultdict(list)
        for parts in parts_of.values():
            for position, part in enumerate(parts):
                positions[part].append(position if len(parts) > 1 else "only")
        free = sum(len(set(where) if separator in _PATHS else where) > 1 for where in positions.values())
        if 2 * free >= len(positions):
            return cells[0], len(positions)
    return None


def _parts(name: str, separator: str) -> list[str]:
    """Return the labels in a cell, without brackets and quotes."""
    bare = name.strip("[]{}()")
    return [part.strip(" '\"") for part in bare.split(separator) if part.strip(" '\"")]


def _whole(value: Any) -> int | None:
    """Return a value as a small whole number, or None."""
    number = None if isinstance(value, bool) else to_float(value)
    return int(number) if number is not None and abs(number) < 1e6 and number.is_integer() else None
