"""``isthmus teach``: learn from answers and label again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isthmus._utils import plural
from isthmus.cli.command import argument, check_option, flag, refuse, shared
from isthmus.cli.common import Target, count_cores, print_json, say_outcome, talking
from isthmus.cli.label_run import added_columns, describe_next, describe_outcome, review_layout, summarise
from isthmus.cli.outputs import (
    check_outputs,
    file_records,
    report_and_model,
    run_record,
    target_table,
    write_files,
    write_record,
)
from isthmus.cli.progress import plan_teaching
from isthmus.corpus import read_table, with_columns
from isthmus.corpus.cells import cell_text
from isthmus.corpus.formats import split_sheet
from isthmus.exceptions import DataError, UsageError
from isthmus.saving import check_saved_file
from isthmus.wording import LOOK, percent

if TYPE_CHECKING:
    from isthmus.api.result import LabelResult

# Figures that ``run.json`` contains.
RECORDED = ("learned", "history", "expected_accuracy", "class_shares", "forecast", "novel", "warnings", "sources")
MOVED = 0.02  # smallest change of the expected accuracy that gets an explanation
EXAMPLE = "Example: isthmus teach cars.isthmus answers.xlsx -o labelled.csv --save cars2.isthmus"


def teach(
    result: Annotated[Path, argument("RESULT", "File that isthmus label --save wrote.")],
    answers: Annotated[
        Path | None, argument("ANSWERS", "Table with the columns id (or document) and true_label.")
    ] = None,
    by: Annotated[
        str | None,
        flag("--by NAME", "Name of the annotator who gave ANSWERS, such as a language model."),
    ] = None,
    words: Annotated[Path | None, flag("--words FILE", "Labelled words (columns word, label).")] = None,
    without: Annotated[
        str | None, flag("--without FILE", "Undo the answers or words that came from this file.")
    ] = None,
    rename: Annotated[Path | None, flag("--rename FILE", "Rename or merge classes (columns old, new).")] = None,
    source_labels: Annotated[
        Path | None,
        flag(
            "--source-labels FILE",
            "Corrected source labels, from diagnose --review-source; the target is labelled again.",
        ),
    ] = None,
    name_group: Annotated[
        list[str] | None,
        flag(
            "--name-group GROUP[=CLASS]",
            "Turn a new group into a class, by its name or number; without CLASS, its most typical word.",
        ),
    ] = None,
    target: Target = None,
    add: Annotated[list[str] | None, shared("add")] = None,
    output: Annotated[str, flag("-o --output OUT", "File for the labelled table; - is stdout.")] = "-",
    report: Annotated[Path | None, shared("report")] = None,
    save: Annotated[Path | None, flag("--save FILE", "Save the result after teaching, for the next round.")] = None,
    exact: Annotated[bool, shared("exact")] = False,
    as_json: Annotated[bool, shared("as_json")] = False,
    force: Annotated[bool, shared("force")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Learn from answers of a person, label all documents again, and report what changed.

    Answered documents keep their answer at confidence 1. An answer may name a new class. RESULT stays unchanged;
    save the new result with --save for the next round. Rows without a true label are skipped.
    """
    given = (answers, words, without, rename, source_labels, name_group or None)
    nothing = "There is nothing to learn; give ANSWERS, --words, --without, --rename, --source-labels or --name-group."
    refuse((all(part is None for part in given), nothing))
    check_option("add", add)
    refuse((by is not None and answers is None, "--by names who gave ANSWERS, and there are none; give the file."))
    groups = read_group_names(name_group or [])
    refuse((as_json and output == "-", "--json prints on stdout; name a file for the labels with -o OUT."))
    inputs = (result, answers, words, rename, source_labels, target)
    check_outputs(output, report, force, save, inputs=inputs)
    for path in filter(None, inputs):  # refuse a wrong file before slow packages are loaded
        check_saved_file(split_sheet(path)[0])
    with talking(quiet) as line:
        from isthmus.report.hero import outcome_figures
        from isthmus.saving import load

        before = taught = load(result, kind="label")
        count_cores()
        line.expect(plan_teaching(taught, report=report, save=save, labels_again=source_labels is not None))
        # Rename first, so that answers can use the new names.
        if rename is not None:
            taught = taught.rename_classes(read_renames(rename))
        if source_labels is not None:
            taught = taught.teach(source_labels=source_labels)
        if answers is not None or words is not None or without is not None:
            taught = taught.teach(answers, word_labels=words, without=without, by=by)
        if groups:
            taught = taught.name_groups(groups)
        makers = report_and_model(taught, report, save, files={"saved": str(save or result)})
        added = {"answered": [False] * len(taught.texts)} | added_columns(taught)
        added["answered"] = added.pop("answered")  # keep it the last column, with or without answers
        table = with_columns(target_table(taught, target, quiet), added, add or ())
        layout = review_layout(taught, output, add or ())
        written = write_files(output, table, makers, force=force, exact=exact, layout=layout)
    summary = summarise(taught, len(taught.source_texts), output)
    summary["learned"] = None if taught.learned is None else asdict(taught.learned)
    summary["history"] = taught.history
    found = outcome_figures(taught)
    # The forecast is about as many answers as the next step recommends.
    forecast = taught.forecast(LOOK if found.step is None else found.step.read)
    if forecast is not None and forecast.answers:
        summary["forecast"] = forecast._asdict()
    record = run_record(
        "teach",
        output,
        file_records(inputs),
        settings=taught.settings,
        method=taught.method,
        decision=taught.decision,
        by=by,
        **{name: summary[name] for name in RECORDED if name in summary},
    )
    summary["files"] = write_record(output, record, written)
    if as_json:
        print_json(summary)
    if not quiet:
        notes = []
        if source_labels is not None:
            corrected = taught.settings["source_labels_corrected"]
            notes = [f"labelled again from the source with {plural(corrected, 'label')} corrected"]
        if without is not None and taught.learned is None:
            notes = [f"the answers of {without} were taken back and none is left; labels are as before any answer"]
        notes += describe_better_judge(before, taught)
        table_file = None if output == "-" else output
        step = describe_next(taught, found.step, saved=save, table=table_file, budget=taught.error_budget)
        ahead = [str(forecast)] if "forecast" in summary and summary["needs_review"] else []
        say_outcome(describe_outcome(found, summary, taught.learned, notes, ahead), summary["files"], step)


def describe_better_judge(before: LabelResult, after: LabelResult) -> list[str]:
    """Explain a change of the expected accuracy that comes from a better estimate and not from worse labels.

    Parameters
    ----------
    before : LabelResult
        Result before teaching.
    after : LabelResult
        Result after teaching.

    Returns
    -------
    list[str]
        One line if the estimate is now based on random answers and has changed, else none.
    """
    # Answers that were asked for are weighted; random ones estimate the accuracy directly.
    judges = [None if one.learned is None else one.learned.basis for one in (before, after)]
    was, now = (None if one.expected_accuracy is None else one.expected_accuracy.estimate for one in (before, after))
    if judges != ["weighted", "random"] or was is None or now is None or abs(was - now) < MOVED:
        return []
    return [
        f"the expected accuracy was {percent(was)} by answers that were asked for; those drawn at random are the "
        "better judge"
    ]


def read_group_names(given: list[str]) -> dict[str, str | None]:
    """Parse the classes of groups, such as GROUP=CLASS.

    Parameters
    ----------
    given : list[str]
        Names of groups with or without a class.

    Returns
    -------
    dict[str, str or None]
        Class by group; None without a class.

    Raises
    ------
    UsageError
        If a pair has another form.
    """
    names: dict[str, str | None] = {}
    for pair in given:
        if pair.strip() and "=" not in pair:
            names[pair.strip()] = None
            continue
        group, _, name = pair.rpartition("=")
        if not group.strip() or not name.strip():
            raise UsageError(f"--name-group {pair[:60]!r}; give GROUP=CLASS, such as --name-group 1=parking.")
        names[group.strip()] = name.strip()
    return names


def read_renames(path: Path) -> dict[str, str]:
    """Read old and new names of classes from a table with the columns old and new.

    Parameters
    ----------
    path : Path
        Path of the table.

    Returns
    -------
    dict[str, str]
        New name by old name.

    Raises
    ------
    DataError
        If a column is missing, or a class has two new names.
    """
    table = read_table(path)
    if not {"old", "new"} <= set(table):
        raise DataError(
            f"{path.name} has the columns {', '.join(table)}; old and new are needed.", code="unknown-column"
        )
    names: dict[str, str] = {}
    for cells in zip(table["old"], table["new"], strict=True):
        old, new = (cell_text(cell).strip() for cell in cells)
        if not old or not new:
            continue
        # The same renaming twice is harmless; two different ones are not.
        if names.setdefault(old, new) != new:
            raise DataError(
                f"{path.name} renames {old[:40]!r} twice, to {names[old][:40]!r} and to {new[:40]!r}; keep one.",
                code="bad-answers",
            )
    return names
