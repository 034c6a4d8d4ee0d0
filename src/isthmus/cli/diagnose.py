"""``isthmus diagnose``: compare two collections and advise whether labels transfer."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isthmus._streams import emit
from isthmus.cli.command import argument, flag, refuse, shared
from isthmus.cli.common import MOST_LINES, count_cores, describe, fit_lines, one_line, print_json, say_outcome, talking
from isthmus.cli.outputs import announced, check_outputs, write_table
from isthmus.cli.progress import plan_stages
from isthmus.corpus import read_collection
from isthmus.features.languages import resolve_language
from isthmus.options import in_flags

if TYPE_CHECKING:
    from isthmus.api.diagnose import Diagnosis

EXAMPLE = "Example: isthmus diagnose motorcycles.csv cars.csv --report shift.html"


def diagnose(
    source: Annotated[str, argument("SOURCE", "Labelled documents: csv, tsv, jsonl, parquet, xlsx, a folder, or -.")],
    target: Annotated[str, argument("TARGET", "Documents without labels, in any of these forms.")],
    text: Annotated[str | None, shared("text", "Text column; guessed if omitted.")] = None,
    label_column: Annotated[str | None, shared("label")] = None,
    target_text: Annotated[str | None, shared("target_text")] = None,
    report: Annotated[Path | None, shared("report")] = None,
    review_source: Annotated[
        Path | None,
        flag("--review-source FILE", "Write the source labels that are probably wrong, for a person to correct."),
    ] = None,
    full: Annotated[bool, flag("--full", "Print every finding with its figures, also those that are fine.")] = False,
    seed: Annotated[int, shared("seed")] = 0,
    language: Annotated[str, shared("language")] = "auto",
    as_json: Annotated[bool, shared("as_json", "Print everything as JSON on stdout.")] = False,
    force: Annotated[bool, shared("force", "Replace a report that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Report whether labels can transfer from SOURCE to TARGET, and which problems to expect.

    Problems are printed with the most serious first; --full prints all findings with their figures. The command neither
    needs nor reads labels of TARGET. The exit code is 0 even if the advice is not to transfer.
    """
    refuse(
        (source == "-" and target == "-", "Both SOURCE and TARGET are '-'; only one can be standard input."),
        (str(review_source) == "-", "--review-source '-': stdout has the findings; give a file."),
    )
    resolve_language(language)
    check_outputs("-" if review_source is None else str(review_source), report, force, inputs=(source, target))
    with talking(quiet) as progress_line:
        source_docs = read_collection(source, text=text, label=label_column, want_labels=True)
        target_docs = read_collection(target, text=target_text or text, want_labels=False)
        describe(source_docs, "source", quiet)
        describe(target_docs, "target", quiet)
        progress_line.expect(plan_stages("diagnose", source_docs, target_docs, report=report))
        from isthmus.api.diagnose import diagnose as compare

        count_cores()

        result = compare(source_docs.texts, source_docs.labels, target_docs.texts, random_state=seed, language=language)
        result.findings = [
            {**row, **{name: in_flags(row[name]) for name in ("finding", "advice")}} for row in result.findings
        ]
        # The report names the files.
        result.settings |= {"source": source_docs.name, "target": target_docs.name}
        if report is not None:
            from isthmus.report.diagnosis import write_diagnosis_report

            write = partial(write_diagnosis_report, result, force=force, source=source_docs, target=target_docs)
            announced("writing the report", write)(report)
        if review_source is not None:
            write_table(str(review_source), result.review_source(source_docs.texts, source_docs.ids), force=force)
    if as_json:
        print_json(result.to_dict())
    else:
        # Words and labels of malicious data must not control the terminal; only the indentation of our own table stays.
        for line in str(result).splitlines() if full else short_lines(result):
            emit(" " * (len(line) - len(line.lstrip())) + one_line(in_flags(line)))
    if not quiet:
        written = [str(path) for path in (report, review_source) if path is not None]
        say_outcome([], written, describe_next(result, source, target, review_source))


def short_lines(result: Diagnosis) -> list[str]:
    """Return the verdict and the problems that need attention.

    Parameters
    ----------
    result : Diagnosis
        The comparison.

    Returns
    -------
    list[str]
        Lines.
    """
    from isthmus.shift.diagnose import SEVERITIES  # imported here, so that a missing file is reported without delay

    grave = []
    for row in result:
        names_words = row["topic"] == "moved words"  # the advice refers to words that only the finding names
        figures = f"{row['finding']} " if row["severity"] > 1 or names_words else ""
        if row["severity"]:
            grave.append(f"[{SEVERITIES[row['severity']]}] {row['topic']}: {figures}{row['advice']}")
    return [result.verdict, *fit_lines(grave, MOST_LINES - 3, "with --full")]


def describe_next(result: Diagnosis, source: str, target: str, review_source: Path | None) -> str:
    """Return what to do after the comparison.

    Parameters
    ----------
    result : Diagnosis
        The comparison.
    source : str
        Name of the source.
    target : str
        Name of the target.
    review_source : Path or None
        File with uncertain source labels, if it was written.

    Returns
    -------
    str
        One sentence.
    """
    if review_source is not None:
        return (
            f"Fill in true_label where a label of {review_source} is wrong; after isthmus label --save FILE, isthmus "
            f"teach FILE --source-labels {shlex.quote(str(review_source))} learns them."
        )
    # Wrong source labels come first, because they spoil every later step.
    if any(row["topic"] == "source labels" and row["severity"] for row in result):
        return "List the doubtful source labels: the same command with --review-source doubtful.csv"
    if result.level == "no-transfer":
        return "Find a source nearer to the target, or name the classes: isthmus label TARGET --class NAME --class NAME"
    return f"Label the target: isthmus label {shlex.quote(source)} {shlex.quote(target)} -o labelled.csv"
