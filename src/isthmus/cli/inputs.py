"""Read the files of ``isthmus label``: several sources, one half-labelled file, and answers in the target."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from isthmus._utils import plural, warn
from isthmus.cli.common import describe, say
from isthmus.cli.outputs import describe_input
from isthmus.corpus import Collection, list_sheets, read_collection
from isthmus.corpus.binary import find_sheet
from isthmus.corpus.cells import bare_cells, label_cells
from isthmus.corpus.formats import is_workbook, split_sheet
from isthmus.corpus.guess import SOME, WantLabels, check_label_kind, find_column, guess_label, list_columns
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.options import LabelOptions

# Columns by which a table with labels from Isthmus is recognised.
MACHINE_COLUMNS = {"label", "confidence", "needs_review"}


@dataclass
class Inputs:
    """Documents to learn from and documents to label."""

    source: Collection
    target: Collection
    source_domain: list[str] | None = None  # file name of each source document, if there are several files
    target_labels: list | None = None  # answers from a column of the target
    half_labelled: Collection | None = None  # the file that contained both, if there is only one
    records: list[dict] = field(default_factory=list)

    @property
    def by_names_alone(self) -> bool:
        """Whether no document has a label, so that only the names of the classes are known."""
        return not len(self.source)


def read_as(
    request: LabelOptions, path: str, *, target: bool, has_ids: bool | None = None, **want_labels: WantLabels
) -> Collection:
    """Read a file as source, which needs labels, or as target, which needs none.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    path : str
        Path of the file.
    target : bool
        Whether the file is the target.
    has_ids : bool, optional
        Whether to look for the column of ``--id``; only in a target if omitted.
    **want_labels : WantLabels
        Whether labels are needed; replaces the default.

    Returns
    -------
    Collection
        The documents.
    """
    wanted: Any = {"want_labels": not target} | want_labels
    # Two workbooks rarely have sheets of the same name: one without the named sheet is read like any workbook.
    has_sheet = request.sheet is not None and has_named_sheet(path, request.sheet)
    docs = read_collection(
        path,
        text=(request.target_text or request.text) if target else request.text,
        label=request.label,
        id=request.id if (target if has_ids is None else has_ids) else None,
        sheet=request.sheet if has_sheet else None,
        **wanted,
    )
    if request.sheet is not None and not has_sheet and split_sheet(path)[1] is None and is_workbook(path):
        docs.notes.insert(0, f"{docs.name} has no sheet {request.sheet!r}, which another file has.")
    return docs


def read_inputs(request: LabelOptions) -> Inputs:
    """Read the files: the last one is the target; a single file contains both.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.

    Returns
    -------
    Inputs
        Documents to learn from and to label.
    """
    files, quiet = request.files, request.quiet
    check_sheet(files, request.sheet)
    warn_of_same_file(files[:-1], request.sheet)
    # One file alone contains labelled and unlabelled rows.
    if len(files) == 1:
        return _split(files[0], request)
    try:
        sources = [read_as(request, path, target=False) for path in files[:-1]]
    except DataError as error:
        swapped = False
        if len(files) == 2 and error.code in ("no-label-column", "no-labels", "unknown-column"):
            with suppress(DataError):
                swapped = read_as(request, files[-1], target=False, want_labels=None).has_labels
        if not swapped:
            raise
        question = f"{files[-1]} has labels: were the two files swapped? The file with labels comes first."
        raise DataError(f"{error} {question}", code=error.code) from None
    target = read_as(request, files[-1], target=True)
    for docs in sources:
        describe(docs, "source", quiet)
        check_not_machine(docs.name, docs.table(), request)
    describe(target, "target", quiet)
    records = [describe_input(path, docs) for path, docs in zip(files, [*sources, target], strict=True)]
    answers = _target_labels(target, sources, request)
    if len(sources) == 1:
        return Inputs(sources[0], target, target_labels=answers, records=records)
    _compare_classes(sources)
    source, domain = join_collections(sources)
    return Inputs(source, target, domain, answers, records=records)


def check_sheet(files: Sequence[str], sheet: str | None) -> None:
    """Raise an error if a worksheet is named but no file has it.

    Parameters
    ----------
    files : Sequence[str]
        Paths of the files.
    sheet : str or None
        Name of the worksheet, or None.

    Raises
    ------
    UsageError
        If no file is a workbook.
    DataError
        If no workbook has the sheet.
    """
    if sheet is None:
        return
    books = [path for path in files if is_workbook(split_sheet(path)[0])]
    if not books:
        raise UsageError(f"--sheet {sheet!r} was given and none of the files is a workbook; leave it out.")
    # A damaged workbook lists no sheets, and its reader reports the damage.
    listed = {path: list_sheets(split_sheet(path)[0]) for path in books}
    if all(listed.values()) and not any(has_named_sheet(path, sheet) for path in books):
        sheets = "; ".join(f"{path}: {list_columns(names)}" for path, names in listed.items())
        raise DataError(f"No file has the sheet {sheet!r}; the sheets are {sheets}.", code="unknown-column")


def has_named_sheet(path: str, sheet: str) -> bool:
    """Return whether a file is a workbook with a sheet of a name or number, unless the path names another sheet.

    Parameters
    ----------
    path : str
        Path of the file.
    sheet : str
        Name or number of the worksheet.

    Returns
    -------
    bool
        Whether the worksheet exists.
    """
    if not is_workbook(path):
        return False
    try:
        return find_sheet(list_sheets(path), sheet, path) >= 0
    except DataError:
        return False


def check_not_machine(name: str, table: Iterable[str], request: LabelOptions) -> None:
    """Raise an error if labels to learn from were given by Isthmus.

    Parameters
    ----------
    name : str
        Name of the file.
    table : Iterable[str]
        Names of its columns.
    request : LabelOptions
        Options of the command.

    Raises
    ------
    DataError
        If the labels come from Isthmus and the user has not allowed it.
    """
    # A named column is the user's own decision.
    if request.trust_machine_labels or request.label not in (None, "label"):
        return
    if set(table) >= MACHINE_COLUMNS:
        raise DataError(
            f"The labels of {name} were given by Isthmus (it has the columns label, confidence and needs_review), "
            "and learning from them would repeat their mistakes; name a column of labels that people gave with "
            "--label, or add --trust-machine-labels.",
            code="machine-labels",
        )


def warn_of_same_file(files: Sequence[str], sheet: str | None = None) -> None:
    """Warn if a file or a worksheet is given twice, because its documents would count double.

    Parameters
    ----------
    files : Sequence[str]
        Paths of the sources.
    sheet : str, optional
        Worksheet of all workbooks.
    """
    for place, path in enumerate(files):
        for other in files[place + 1 :]:
            if _is_same(path, other, sheet):
                message = f"{path} was given twice as a source, so its documents count double; name it once."
                warn(message, code="data-checks")


def warn_of_own_target(files: Sequence[str]) -> None:
    """Warn if the target is also a source. In memory, ``isthmus.label`` compares the texts themselves.

    Parameters
    ----------
    files : Sequence[str]
        Paths of the sources, then of the target.
    """
    if any(_is_same(path, files[-1]) for path in files[:-1]):
        message = (
            f"{files[-1]} is both source and target, so its documents are labelled from themselves and the expected "
            "accuracy says nothing about others; give the documents to label as the last file."
        )
        warn(message, code="data-checks")


def _is_same(first: str, second: str, sheet: str | None = None) -> bool:
    """Return whether two names mean the same file and worksheet."""
    (first_file, first_sheet), (second_file, second_sheet) = split_sheet(first), split_sheet(second)
    if not (first_file.exists() and second_file.exists() and os.path.samefile(first_file, second_file)):
        return False
    return (first_sheet or sheet) == (second_sheet or sheet)


def _split(path: str, request: LabelOptions) -> Inputs:
    """Read one file: its labelled rows become the source, the others the target."""
    if request.target_label is not None:
        raise UsageError(
            f"--target-label {request.target_label!r} names labels of TARGET; of one file alone the labelled rows are "
            "the source, named by --label."
        )
    named = bool(request.classes or request.class_table)
    docs = read_as(request, path, target=True, want_labels=None if named else SOME)
    describe(docs, "documents", request.quiet)
    known = [label is not None for label in docs.labels]
    # Without any label, the classes are known only by their names.
    if named and not any(known):
        return Inputs(Collection.from_texts([], [], name=""), docs, records=[describe_input(path, docs)])
    check_not_machine(docs.name, docs.table(), request)
    if all(known):
        raise DataError(
            f"All {plural(len(docs), 'document')} of {docs.name} have a label, so there is nothing to label; leave "
            "some cells empty, name another column of labels with --label, or give the documents to label as a "
            "second file.",
            code="no-target",
        )
    target = docs.select([not has for has in known])
    return Inputs(docs.select(known), target, half_labelled=docs, records=[describe_input(path, docs)])


def join_collections(parts: Sequence[Collection]) -> tuple[Collection, list[str]]:
    """Join several collections into one.

    Parameters
    ----------
    parts : Sequence[Collection]
        The collections.

    Returns
    -------
    tuple[Collection, list[str]]
        The joined collection, and the name of the collection that each document came from.
    """
    names: dict[str, int] = {}
    domain = []
    for part in parts:
        # Collections with the same name get a number.
        count = names[part.name] = names.get(part.name, 0) + 1
        domain += [part.name if count == 1 else f"{part.name} ({count})"] * len(part)
    # Columns that only some files have would contain gaps.
    shared = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    joined = Collection.from_texts(
        [text for part in parts for text in part.texts],
        [label for part in parts for label in part.labels],
        ids=[name for part in parts for name in part.ids],
        domain=domain,
        columns={name: [cell for part in parts for cell in part.columns[name]] for name in shared},
        name=", ".join(dict.fromkeys(part.name for part in parts)),
    )
    return joined, domain


def _compare_classes(sources: Sequence[Collection]) -> None:
    """Warn about classes that not all sources have: often one class has two names."""
    classes = [{label for label in docs.labels if label is not None} for docs in sources]
    everywhere = set.intersection(*classes)
    for docs, own in zip(sources, classes, strict=True):
        only = sorted(own - everywhere)
        if only:
            message = f"{docs.name} has classes that not all sources have: {', '.join(only[:5])}"
            warnings.warn(IsthmusWarning(message + "; check that each class has one name."), stacklevel=3)


def _target_labels(target: Collection, sources: Sequence[Collection], request: LabelOptions) -> list | None:
    """Return labels of the target from a named column, or report a column that looks like labels."""
    table = target.table()
    if request.target_label is not None:
        column = find_column(request.target_label, table, target.name, "target label")
        labels = label_cells(bare_cells(table[column]))
        if all(label is None for label in labels):
            raise DataError(
                f"The column {column!r} of {target.name} is empty; there are no answers in it.", code="no-labels"
            )
        name = f"The labels in the column {column!r} of {target.name}"
        check_label_kind(labels, name=name, force_classes=request.force_classes)
        return labels
    if request.quiet or set(table) >= MACHINE_COLUMNS:
        return None
    used = [key for key, cells in table.items() if key not in target.columns]
    guess = guess_label(table, used, by_cells=False)
    labels = [] if guess is None else label_cells(table[guess])
    filled = sum(label is not None for label in labels)
    if not filled:
        return None
    # Imported here, because it loads numpy, which a refusal does not need.
    from isthmus.corpus.filled import names_a_class

    # Only a column with the source's classes is worth a message.
    if names_a_class(labels, [label for docs in sources for label in docs.labels]):
        say(
            f"  {target.name}: {guess!r} has {plural(filled, 'label that was', 'labels that were')} not used; "
            f"--target-label {guess} uses them as a person's answers"
        )
    return None


def label_half(half: Collection, result: Any) -> dict[str, list]:
    """Return the added columns of every row of a half-labelled file.

    Rows with a given label keep it, with confidence 1.

    Parameters
    ----------
    half : Collection
        The half-labelled file.
    result : Any
        Result for its rows without a label.

    Returns
    -------
    dict[str, list]
        Cells by column.
    """
    found = result.columns()
    if result.answers is not None:
        answered = set(result.answers.read.rows)
        found["answered"] = [row in answered for row in range(len(result.texts))]
    found["given"] = [False] * len(result.texts)
    # The result has only the rows without a label, in the order of the file.
    places = iter(range(len(result.texts)))
    added: dict[str, list] = {name: [] for name in found if name != "text"}
    for label in half.labels:
        place = next(places) if label is None else None
        given = {"label": label, "confidence": 1.0, "needs_review": False, "given": True}
        for name, cells in added.items():
            empty = False if name == "answered" else ""
            cells.append(found[name][place] if place is not None else given.get(name, empty))
    return added
