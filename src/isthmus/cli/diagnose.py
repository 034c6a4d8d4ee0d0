"""``isthmus diagnose``: what separates two collections, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus._progress import progress
from isthmus.cli._exit import emit
from isthmus.cli.command import shared
from isthmus.cli.common import describe, one_line, print_json, say, talking
from isthmus.cli.outputs import check_outputs, write_table
from isthmus.corpus import read_collection
from isthmus.exceptions import UsageError
from isthmus.features.languages import resolve_language
from isthmus.request import in_flags

EXAMPLE = "Example: isthmus diagnose motorcycles.csv cars.csv --report shift.html"


def diagnose(
    source: Annotated[str, typer.Argument(help="Labelled documents: csv, tsv, jsonl, parquet, xlsx, a folder, or -.")],
    target: Annotated[str, typer.Argument(help="Documents without labels, in any of these forms.")],
    text: Annotated[str | None, shared("text", "Text column; guessed if omitted.")] = None,
    label_column: Annotated[str | None, shared("label")] = None,
    target_text: Annotated[str | None, shared("target_text")] = None,
    report: Annotated[Path | None, shared("report")] = None,
    review_source: Annotated[
        Path | None,
        typer.Option(
            "--review-source",
            metavar="FILE",
            help="Write the source labels that are probably wrong, for a person to correct.",
        ),
    ] = None,
    seed: Annotated[int, shared("seed")] = 0,
    language: Annotated[str, shared("language")] = "auto",
    as_json: Annotated[bool, shared("as_json", "Print everything as JSON on stdout.")] = False,
    force: Annotated[bool, shared("force", "Replace a report that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Say whether labels can travel from SOURCE to TARGET, and what to watch.

    Findings are printed gravest first, each with advice. No label of TARGET is needed or read. The exit code is 0 even
    when the advice is not to transfer.
    """
    if source == "-" and target == "-":
        raise UsageError("Both SOURCE and TARGET are '-'; only one can be standard input.", code="bad-parameter")
    if str(review_source) == "-":
        raise UsageError("--review-source '-': stdout has the findings; give a file.", code="bad-parameter")
    resolve_language(language)
    check_outputs("-" if review_source is None else str(review_source), report, force, inputs=(source, target))
    with talking(quiet):
        source_docs = read_collection(source, text=text, label=label_column, want_labels=True)
        target_docs = read_collection(target, text=target_text or text, want_labels=False)
        describe(source_docs, "source", quiet)
        describe(target_docs, "target", quiet)
        from isthmus.api.diagnose import diagnose as compare

        result = compare(source_docs.texts, source_docs.labels, target_docs.texts, random_state=seed, language=language)
        result.settings |= {"source": source_docs.name, "target": target_docs.name}
        if report is not None:
            from isthmus.report.diagnosis import write_diagnosis_report

            progress("writing the report", 0, 1)
            write_diagnosis_report(result, report, force=force, source=source_docs, target=target_docs)
            progress("writing the report", 1, 1)
        if review_source is not None:
            write_table(str(review_source), result.review_source(source_docs.texts, source_docs.ids), force=force)
    if as_json:
        print_json(result.to_dict())
    else:
        # Words and labels of hostile data must not steer the terminal; the table's own indents are kept.
        for line in str(result).splitlines():
            emit(" " * (len(line) - len(line.lstrip())) + one_line(in_flags(line)))
    written = [path for path in (report, review_source) if path is not None]
    for path in written if not quiet else ():
        say(one_line(f"wrote {path}"))
    noisy = any(row["topic"] == "source labels" and row["severity"] for row in result)
    if noisy and review_source is None and not quiet:
        say("list the doubtful source labels with --review-source FILE; isthmus teach --source-labels FILE learns them")
