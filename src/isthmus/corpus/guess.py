"""Which column is the text, which the label, which the id: from names first, then from what the cells look like."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from isthmus.exceptions import DataError

TEXT_NAMES = [
    "text",
    "comment",
    "review",
    "body",
    "message",
    "content",
    "document",
    "description",
    "feedback",
    "answer",
    "response",
    "sentence",
    "remark",
    "note",
    "narrative",
    "complaint",
    "question",
    "abstract",
    "summary",
    "headline",
    "title",
    "subject",
    "文本",
    "内容",
    "评论",
    "正文",
    "标题",
]
LABEL_NAMES = [
    "label",
    "class",
    "category",
    "topic",
    "target",
    "sentiment",
    "group",
    "tag",
    "code",
    "y",
    "type",
    "标签",
    "类别",
    "分类",
]
SURE_LABEL_NAMES = ("label", "labels", "class", "category", "topic", "标签", "类别", "分类")
ID_NAMES = ["id", "doc_id", "docid", "document_id", "record_id", "row_id", "uid", "uuid", "key", "number", "no", "nr"]
# A column so named is taken for the id only if it holds no value twice: "review_id", "ticket no", "case".
ID_WORDS = frozenset({*ID_NAMES, "ticket", "case", "reference", "ref", "编号"})
TITLE_ROWS = 10  # rows above the header that may hold a title, a date, a blank
_SAMPLE = 2_000  # rows looked at
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
    """The first ten names, shortened, for a sentence that a person can read.

    Examples
    --------
    >>> from isthmus.corpus.guess import list_columns
    >>> list_columns(["id", "text"])
    'id, text'
    """
    names = list(columns)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(shorten, names[:_SHOWN])) + more


def shorten(name: object, width: int = 60) -> str:
    """A name of at most ``width`` characters."""
    text = str(name)
    return text if len(text) <= width else text[: width - 1] + "…"


def guess_text(columns: dict[str, list], taken: Sequence[str] = ()) -> str | None:
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


def guess_label(columns: dict[str, list], taken: Sequence[str] = (), *, by_cells: bool = True) -> str | None:
    """The label column: by its name, else (``by_cells``) the one with the fewest distinct short values that repeat."""
    # A list of tags names several classes at once; it is no label.
    free = {key: cells for key, cells in columns.items() if key not in taken and not _holds_lists(cells)}
    named = by_name(
        [key for key in free if key.casefold().strip() in SURE_LABEL_NAMES or _repeats(free[key])], LABEL_NAMES
    )
    if named is not None or not by_cells:
        return named
    best, fewest = None, 0
    for key, cells in free.items():
        seen = [cell for cell in _sample(cells) if cell.strip()]
        distinct = len(set(seen))
        # At least two documents a class on average, and no more classes than a person would name.
        few = 2 <= distinct <= min(100, len(seen) // 2)
        if few and max(map(len, seen)) <= 60 and not all(map(_is_number, seen)) and (best is None or distinct < fewest):
            best, fewest = key, distinct
    return best


def guess_id(columns: dict[str, list], taken: Sequence[str] = ()) -> str | None:
    """The id column: by its name, else one that is named like an id and holds no value twice.

    Examples
    --------
    >>> from isthmus.corpus.guess import guess_id
    >>> guess_id({"ticket": ["A-1", "A-2"], "text": ["too dear", "kind staff"]})
    'ticket'
    """
    free = [key for key in columns if key not in taken]
    named = next((key for want in ID_NAMES for key in free if key.casefold().strip() == want), None)
    if named is not None:
        return named
    alike = [key for key in free if set(_WORDS.findall(key.casefold())) & ID_WORDS]
    return next((key for key in alike if _all_different(columns[key])), None)


def _all_different(cells: list) -> bool:
    """Whether every cell is filled, short, and unlike the others."""
    seen = [str(cell) if cell is not None else "" for cell in cells]
    return len(seen) > 1 and all(0 < len(cell.strip()) <= 80 for cell in seen) and len(set(seen)) == len(seen)


def find_header(rows: Sequence[Sequence], *, sure: bool = False) -> int:
    """Where the header stands in the first rows of a table: 0, or further down where titles stand above it.

    A row below is taken for the header if it has more filled cells than every row above it, all of them different, and
    one of them is called like a text, a label or an id; the first row must hold no such name. With ``sure`` (cells
    cannot be cut in the wrong place, as in a workbook) the name is not asked for where the first row has one cell and
    no row further down has more than the header.

    Examples
    --------
    >>> from isthmus.corpus.guess import find_header
    >>> find_header([["Survey 2026"], [], ["id", "comment", "category"], ["1", "kind staff", "staff"]])
    2
    >>> find_header([["remarks"], ["Nice, clean"]])
    0
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
    for rank in (_is_name,) if exact else (_is_name, _ends_with, _begins_with):
        for want in names:
            for key, parts in words.items():
                if parts and rank(parts, want):
                    return key
    return None


def _same(part: str, want: str) -> bool:
    if len(want) == 1:  # "y" has no plural: "yes" is another word
        return part == want
    return part in (want, want + "s") or (want.endswith(("y", "s")) and part in (want[:-1] + "ies", want + "es"))


def _is_name(parts: list[str], want: str) -> bool:
    return len(parts) == 1 and _same(parts[0], want)


def _ends_with(parts: list[str], want: str) -> bool:
    return len(want) > 1 and _same(parts[-1], want)


def _begins_with(parts: list[str], want: str) -> bool:
    # "text_id" and "comment date" speak of the text, they are not the text.
    return len(want) > 1 and _same(parts[0], want) and parts[-1] not in (*ID_NAMES, "date", "time", "length", "count")


def _sample(cells: list) -> list[str]:
    return [
        cell if isinstance(cell, str) else str(cell) for cell in islice((c for c in cells if c is not None), _SAMPLE)
    ]


def _repeats(cells: list) -> bool:
    """Whether values occur twice on average, as labels do and codes of single documents do not."""
    seen = [cell for cell in _sample(cells) if cell.strip()]
    return len(set(seen)) <= max(2, len(seen) // 2)


def _holds_lists(cells: list) -> bool:
    return any(isinstance(cell, (list, dict)) for cell in islice(cells, _SAMPLE))


def _is_text(cells: list) -> bool:
    seen = list(islice((cell for cell in cells if cell not in (None, "")), _SAMPLE))
    return not seen or any(isinstance(cell, str) for cell in seen)


def _mean_length(cells: list) -> float:
    seen = [cell for cell in _sample(cells) if not _is_number(cell)]
    return sum(map(len, seen)) / max(1, min(len(cells), _SAMPLE))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
