"""``isthmus explain``: list the terms of a document that support or oppose each class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isthmus.cli.command import argument, flag, refuse, shared
from isthmus.cli.common import note_guarded, one_line, print_json, say, talking
from isthmus.cli.outputs import check_output_is_not_input
from isthmus.corpus import check_output, write_rows
from isthmus.exceptions import DataError
from isthmus.saving import check_saved_file
from isthmus.wording import percent

EXAMPLE = "Example: isthmus explain dealer.isthmus --document c0002 --top 3"
# Columns of the output.
_COLUMNS = ("document", "class", "term", "contribution")


def explain(
    result: Annotated[Path, argument("RESULT", "A file written by: isthmus label --save.")],
    document: Annotated[list[str] | None, flag("--document ID", "Id of a labelled document; may be repeated.")] = None,
    text: Annotated[list[str] | None, flag("--text TEXT", "A text of your own instead; may be repeated.")] = None,
    top: Annotated[int, flag("--top N", "Terms per class, by size of contribution.", min=1)] = 10,
    output: Annotated[str, flag("-o --output OUT", "File for the table; - is stdout.")] = "-",
    exact: Annotated[bool, shared("exact")] = False,
    as_json: Annotated[bool, shared("as_json", "Print JSON instead of csv.")] = False,
    force: Annotated[bool, shared("force", "Replace an output that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Show which words count for and against each class of a document: document, class, term, contribution."""
    refuse(
        (not document and not text, "Name a document with --document ID, or give a text with --text TEXT."),
        (as_json and output != "-", "--json prints on stdout; leave out -o, or leave out --json."),
    )
    check_output(output, force=force)
    check_output_is_not_input(output, (result,))
    check_saved_file(result)
    from isthmus.saving import load

    with talking(quiet):
        saved = load(result, kind="label")
        # Typed texts are labelled as later texts, by the same model.
        typed = []
        if text:
            fresh = saved.label_new(text, ids=[f"text {number + 1}" for number in range(len(text))])
            typed = [(fresh, row) for row in range(len(text))]
        asked = [(saved, row) for row in find_documents(saved, document or [], result)] + typed
        rows = [entry for found, row in asked for entry in account(found, row, top)]
    if not quiet:
        for found, row in asked:
            tell(found, row)
    if as_json:
        print_json(rows)
        return
    table = {name: [entry[name] for entry in rows] for name in _COLUMNS}
    with talking(quiet):
        note_guarded(write_rows(output, table, force=force, spreadsheet_safe=not exact))


def find_documents(saved, wanted: list[str], path: Path) -> list[int]:
    """Return the rows of documents by their ids, in the same order; a shared id returns all of its rows.

    Parameters
    ----------
    saved
        Saved result.
    wanted : list[str]
        Ids of documents.
    path : Path
        Path of the saved result, for error messages.

    Returns
    -------
    list[int]
        Rows.

    Raises
    ------
    DataError
        If an id does not exist.
    """
    ids = saved.document_ids
    found = []
    for name in wanted:
        rows = [row for row, known in enumerate(ids) if known == name]
        # An unknown id is refused with examples, because ids and row numbers are easily confused.
        if not rows:
            shown = ", ".join(repr(known) for known in ids[:3])
            raise DataError(
                f"No document of {path.name!r} has the id {name!r}; it holds {len(ids):,} ({shown}, …).",
                code="unknown-name",
            )
        found += rows
    return found


def name_of(saved, row: int) -> str:
    """Return the id of a document, with its number if several documents share the id.

    Parameters
    ----------
    saved
        Saved result.
    row : int
        Row of the document.

    Returns
    -------
    str
        Name for people.
    """
    ids = saved.document_ids
    return ids[row] if ids.count(ids[row]) == 1 else f"{ids[row]} (document {row + 1})"


def account(saved, row: int, top: int) -> list[dict]:
    """Return the contributions of a document's terms.

    Parameters
    ----------
    saved
        Saved result.
    row : int
        Row of the document.
    top : int
        Number of terms per class.

    Returns
    -------
    list[dict]
        Dicts with ``document``, ``class``, ``term`` and ``contribution``.
    """
    name = name_of(saved, row)
    found = saved.reasons(row, top=top)
    # Six digits suffice to compare contributions.
    cells = [(name, entry["class"], entry["term"], round(float(entry["contribution"]), 6)) for entry in found]
    return [dict(zip(_COLUMNS, row_cells, strict=True)) for row_cells in cells]


def tell(saved, row: int) -> None:
    """Print the label, the confidence and the beginning of a document.

    Parameters
    ----------
    saved
        Saved result.
    row : int
        Row of the document.
    """
    text = saved.texts[row]
    label = f"{saved.labels[row]}, confidence {percent(saved.confidence[row])}, by {saved.method}"
    say(one_line(f"{name_of(saved, row)}: {label}: {text[:200]}{'…' if len(text) > 200 else ''}"))
