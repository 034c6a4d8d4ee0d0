"""``isthmus convert``: convert a table into files of other labelling tools, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isthmus._utils import plural
from isthmus.cli.command import argument, flag, shared
from isthmus.cli.common import describe, say, talking
from isthmus.cli.outputs import check_output_is_not_input, write_table
from isthmus.corpus import Collection, check_output, read_collection
from isthmus.corpus.cells import as_number, cell_text
from isthmus.corpus.exchange import TOOLS, Labelled, write_tool_file
from isthmus.corpus.formats import format_of
from isthmus.exceptions import DataError, UsageError

# Formats to write, and the endings that some tools require.
_TO = (*TOOLS, "fasttext", "table")
_ENDINGS = {"label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl", "doccano": ".jsonl"}
EXAMPLE = "Example: isthmus convert labelled.csv tasks.json --to label-studio"


def convert(
    source: Annotated[str, argument("INPUT", "A table, or a file of one of the tools.")],
    output: Annotated[str, argument("OUTPUT", "The file to write.")],
    to: Annotated[str | None, flag("--to TOOL", f"{', '.join(_TO)}; by OUTPUT's ending if omitted.")] = None,
    text: Annotated[str | None, shared("text", "Text column; guessed if omitted.")] = None,
    label_column: Annotated[str | None, shared("label")] = None,
    id_column: Annotated[str | None, shared("id")] = None,
    by_people: Annotated[
        bool | None,
        flag(
            "--by-people/--by-model",
            "Who gave the labels; if omitted, a model where the table has a column confidence.",
        ),
    ] = None,
    review: Annotated[bool, flag("--review", "Only rows that need review (column needs_review).")] = False,
    exact: Annotated[bool, shared("exact")] = False,
    force: Annotated[bool, shared("force", "Replace an output that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Write labelled documents for another labelling tool, or make a table of that tool's file.

    Labels of a model become predictions or suggestions for people to confirm, with their confidence. Export people's
    answers from the tool and give them to isthmus teach without changes.
    """
    tool = _tool(to, output)
    check_output(output, force=force, table=tool == "table")
    check_output_is_not_input(output, (source,))
    with talking(quiet):
        docs = read_collection(source, text=text, label=label_column, id=id_column)
        describe(docs, "input", quiet)
        if review:
            docs = docs.select([row for row, cell in enumerate(_column(docs, "needs_review")) if _is_true(cell)])
        if tool == "table":
            write_table(output, docs.table(), force=force, exact=exact)
        else:
            write_tool_file(output, tool, _labelled(docs, by_people), force=force)
    if not quiet:
        say(f"wrote {plural(len(docs), 'document')} to {output}")


def _tool(to: str | None, output: str) -> str:
    """Return the tool to write for, by the option or by the ending of the output."""
    # The ending decides only where it is unambiguous; .json could be several tools.
    if to is None:
        format = format_of(output)
        if format is not None and format.name == "fasttext":
            return "fasttext"
        if format is not None and format.written:
            return "table"
        raise UsageError(f"The ending of {Path(output).name!r} names no tool; add --to TOOL ({', '.join(_TO)}).")
    if to not in _TO:
        raise UsageError(f"--to {to!r} is unknown; use one of {', '.join(_TO)}.")
    # Some tools reject a file with another ending.
    ending = _ENDINGS.get(to)
    if ending is not None and not output.lower().endswith(ending):
        raise UsageError(f"{to} reads files that end in {ending}; {output!r} does not.")
    return to


def _column(docs: Collection, name: str) -> list:
    """Return a column of the table, or raise an error if it does not exist."""
    if name not in docs.columns:
        raise DataError(
            f"{docs.name} has no column {name!r}; give a table that isthmus label wrote, or leave out --review.",
            code="unknown-column",
        )
    return docs.columns[name]


def _is_true(cell: object) -> bool:
    """Return whether a cell means yes."""
    return cell_text(cell).strip().casefold() in ("true", "1", "yes")


def _labelled(docs: Collection, by_people: bool | None) -> Labelled:
    """Return documents with labels in the form that tools get."""
    confidence = docs.columns.get("confidence")
    # A column with confidence shows that a model gave the labels.
    guesses = not by_people if by_people is not None else confidence is not None
    # The confidence has its own field in these formats.
    others = {name: cells for name, cells in docs.columns.items() if name != "confidence"}
    numbers = None if confidence is None else [as_number(cell_text(cell)) for cell in confidence]
    return Labelled(docs.ids, docs.texts, docs.labels, guesses=guesses, confidence=numbers, others=others)
