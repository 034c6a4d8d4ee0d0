"""What ``isthmus label`` reads: several sources, one half-labelled file, answers that stand in the target."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus._utils import plural
from isthmus.cli.common import describe, say
from isthmus.cli.outputs import describe_input
from isthmus.corpus import Collection, read_collection
from isthmus.corpus.guess import find_column, guess_label
from isthmus.corpus.read import bare_cells, label_cells
from isthmus.exceptions import DataError, IsthmusWarning, UsageError

MACHINE_COLUMNS = {"label", "confidence", "needs_review"}


@dataclass
class Inputs:
    """Documents to learn from and documents to label."""

    source: Collection
    target: Collection
    source_domain: list[str] | None = None  # name of the file of each source document, where there are several
    target_labels: list | None = None  # answers that stand in the target itself
    half_labelled: Collection | None = None  # the one file that both came from
    records: list[dict] = field(default_factory=list)


@dataclass(frozen=True)
class Columns:
    """How the files are to be read."""

    text: Sequence[str] | None = None
    label: str | None = None
    id: str | None = None
    target_text: Sequence[str] | None = None
    target_label: str | None = None
    sheet: str | None = None
    trust_machine_labels: bool = False

    def read(self, path: str, *, target: bool, want_labels: bool | None = None) -> Collection:
        """One file, as source or as target."""
        return read_collection(
            path,
            text=(self.target_text or self.text) if target else self.text,
            label=self.label,
            id=self.id if target else None,
            sheet=self.sheet if _is_workbook(path) else None,
            want_labels=(not target) if want_labels is None else want_labels,
        )


def read_inputs(files: Sequence[str], columns: Columns, quiet: bool) -> Inputs:
    """Read the files: the last one is the target; one alone is both."""
    if columns.sheet is not None and not any(map(_is_workbook, files)):
        raise UsageError(
            f"--sheet {columns.sheet!r} was given and none of the files is a workbook; leave it out.",
            code="bad-parameter",
        )
    if len(files) == 1:
        return _split(files[0], columns, quiet)
    sources = [columns.read(path, target=False) for path in files[:-1]]
    target = columns.read(files[-1], target=True)
    for docs in sources:
        describe(docs, "source", quiet)
        _check_not_machine(docs, columns)
    describe(target, "target", quiet)
    records = [describe_input(path, docs) for path, docs in zip(files, [*sources, target], strict=True)]
    answers = _target_labels(target, columns, quiet)
    if len(sources) == 1:
        return Inputs(sources[0], target, target_labels=answers, records=records)
    _compare_classes(sources)
    source, domain = join_collections(sources)
    return Inputs(source, target, domain, answers, records=records)


def _split(path: str, columns: Columns, quiet: bool) -> Inputs:
    """One file: its labelled rows are the source, the others the target."""
    docs = columns.read(path, target=True, want_labels=True)
    describe(docs, "documents", quiet)
    _check_not_machine(docs, columns)
    known = [label is not None for label in docs.labels]
    if all(known):
        raise DataError(
            f"All {plural(len(docs), 'document')} of {docs.name} have a label, so there is nothing to label; leave "
            "some cells empty, or give the documents to label as a second file.",
            code="no-target",
        )
    target = docs.select([not has for has in known])
    records = [describe_input(path, docs)]
    return Inputs(docs.select(known), target, half_labelled=docs, records=records)


def join_collections(parts: Sequence[Collection]) -> tuple[Collection, list[str]]:
    """Several collections as one, and the name of the one that each document came from."""
    names: dict[str, int] = {}
    domain = []
    for part in parts:
        count = names[part.name] = names.get(part.name, 0) + 1
        domain += [part.name if count == 1 else f"{part.name} ({count})"] * len(part)
    joined = Collection.from_texts(
        [text for part in parts for text in part.texts],
        [label for part in parts for label in part.labels],
        ids=[name for part in parts for name in part.ids],
        domain=domain,
        name=", ".join(dict.fromkeys(part.name for part in parts)),
    )
    return joined, domain


def _compare_classes(sources: Sequence[Collection]) -> None:
    """Tell of classes that not all sources have: often one class under two names."""
    classes = [{label for label in docs.labels if label is not None} for docs in sources]
    everywhere = set.intersection(*classes)
    for docs, own in zip(sources, classes, strict=True):
        only = sorted(own - everywhere)
        if only:
            message = f"{docs.name} has classes that not all sources have: {', '.join(only[:5])}"
            warnings.warn(IsthmusWarning(message + "; check that each class has one name."), stacklevel=3)


def _check_not_machine(docs: Collection, columns: Columns) -> None:
    if columns.trust_machine_labels or columns.label not in (None, "label"):
        return
    if set(docs.table()) >= MACHINE_COLUMNS:
        raise DataError(
            f"The labels of {docs.name} were given by Isthmus (it has the columns label, confidence and needs_review), "
            "and learning from them would repeat their mistakes; name a column of labels that people gave with "
            "--label, or add --trust-machine-labels.",
            code="machine-labels",
        )


def _target_labels(target: Collection, columns: Columns, quiet: bool) -> list | None:
    """Labels that stand in the target: taken where the column is named, told of where it is not."""
    table = target.table()
    if columns.target_label is not None:
        column = find_column(columns.target_label, table, target.name, "target label")
        labels = label_cells(bare_cells(table[column]))
        if all(label is None for label in labels):
            raise DataError(
                f"The column {column!r} of {target.name} is empty; there are no answers in it.", code="no-labels"
            )
        return labels
    if quiet or set(table) >= MACHINE_COLUMNS:
        return None
    used = [key for key, cells in table.items() if key not in target.columns]
    guess = guess_label(table, used, by_cells=False)
    filled = 0 if guess is None else sum(label is not None for label in label_cells(table[guess]))
    if filled:
        say(
            f"  {target.name}: {guess!r} has {plural(filled, 'label')}, which nothing was learned from; "
            f"--target-label {guess} takes them as answers of a person"
        )
    return None


def label_half(half: Collection, result: Any) -> dict[str, list]:
    """Label, confidence and needs_review of every row of a half-labelled file; given labels stay, at confidence 1."""
    found = result.columns()
    places = iter(range(len(result.texts)))
    added: dict[str, list] = {name: [] for name in found if name != "text"}
    for label in half.labels:
        place = next(places) if label is None else None
        given = {"label": label, "confidence": 1.0, "needs_review": False}
        for name, cells in added.items():
            cells.append(found[name][place] if place is not None else given.get(name, ""))
    return added


def _is_workbook(path: str) -> bool:
    return Path(path).suffix.lower() == ".xlsx"
