"""The work of ``isthmus label`` after its options are checked: three ways to get labels, one way to write them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from isthmus._utils import plural, warn
from isthmus.cli.blocks import NOT_IN_MEMORY, check_blocks, files_written, read_tls, resumable
from isthmus.cli.common import (
    MOST_LINES,
    count_cores,
    describe,
    fit_lines,
    free_name,
    note_guarded,
    print_json,
    say,
    say_outcome,
    talking,
    taught_files,
)
from isthmus.cli.inputs import (
    Inputs,
    check_not_machine,
    join_collections,
    label_half,
    read_as,
    read_inputs,
    warn_of_own_target,
    warn_of_same_file,
)
from isthmus.cli.outputs import (
    describe_input,
    file_records,
    keeping,
    questions_file,
    remember_table,
    report_and_model,
    run_record,
    write_files,
    write_record,
)
from isthmus.cli.progress import plan_labelling
from isthmus.corpus import Collection, with_columns
from isthmus.corpus.decode import shown_name
from isthmus.corpus.guess import check_label_kind, list_columns, shorten
from isthmus.corpus.sheets import Layout
from isthmus.corpus.words import read_class_table, read_vectors, read_words
from isthmus.corpus.write import check_table
from isthmus.exceptions import DataError, UsageError
from isthmus.features.class_names import class_texts
from isthmus.options import ADDED, BUDGET_OF, NONE, LabelOptions, in_flags
from isthmus.wording import LOOK, ClassShare, Outcome, Share, describe_sources, interval, list_classes, why_this_method

SHOWN = 12  # largest number of classes shown on the terminal
# File names of a run's record.
RECORD_NAME = re.compile(r"(^|\W)run(\.\d+)?\.json$")


def label_files(request: LabelOptions) -> None:
    """Label documents in memory and write all outputs.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    """
    with talking(request.quiet) as line, ExitStack() as work:
        inputs = read_inputs(request)
        source, target = inputs.source, inputs.target
        line.expect(plan_labelling(request, source, target))
        if request.by is not None:
            find_column(target, request.by)  # report a wrong name before the work
        check_table(request.output, target.table(), added=len(ADDED))
        # Imported here, because it loads numpy, which a refusal does not need.
        from isthmus.features.counting import sharing

        work.enter_context(sharing())  # the report counts words that the methods have already counted
        result = label_collections(request, inputs)
        if request.embed is None and result.advice is not None:
            warn(result.advice["message"], code=result.advice["code"])
        result.settings["collection"] = shown_name(target.name)  # named when later files are compared with it
        whole = inputs.half_labelled
        remember_table(result, source, target, request.target_text or request.text, half_labelled=whole is not None)
        if request.answers is not None:
            result = result.teach(request.answers)
        table = None if whole is None else with_columns(whole.table(), label_half(whole, result), request.add)
        questions = None if request.read is None else result.ask(request.read)
        written = write_outputs(request, result, source, target, table=table, questions=questions)
    words = None if str(request.words) == NONE else request.words
    # The record names every file that influenced the labels.
    inputs.records += file_records((words, request.class_table, request.answers, *request.extra))
    conclude(request, result, len(source), inputs.records, written, by_column(request, target), questions)


def label_with_model(request: LabelOptions) -> None:
    """Label documents with a saved model and write all outputs.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    """
    from isthmus.saving import load

    with talking(request.quiet):
        saved = load(request.model, kind="label")
        # The budget decides what needs review, which does not require learning again.
        if request.error_budget is not None:
            saved.settings = {**saved.settings, "error_budget": request.error_budget}
        target = read_as(request, request.target, target=True)
        describe(target, "target", request.quiet)
        check_table(request.output, target.table(), added=len(ADDED))
        vectors = None if request.vectors is None else column_vectors(target, request.vectors)
        result = saved.label_new(target.texts, ids=target.ids, vectors=vectors)
        source = _source_of(saved, request)
        written = write_outputs(request, result, source, target)
    inputs = [*file_records([request.model]), describe_input(request.target, target)]
    conclude(request, result, saved.n_source, inputs, written, by_column(request, target))


def _source_of(saved: Any, request: LabelOptions) -> Collection:
    """Return the source of a saved result, for its report."""
    name = f"source of {shown_name(Path(str(request.model)).name)}"
    return Collection.from_texts(saved.source_texts, list(saved.source_labels), name=name)


def label_collections(request: LabelOptions, inputs: Inputs):
    """Call :func:`isthmus.label` with the options of the command.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    inputs : Inputs
        Documents to learn from and to label.

    Returns
    -------
    object
        The result.
    """
    count_cores()
    from isthmus.api.label import label as label_texts
    from isthmus.api.methods import read_parameters

    source, target = inputs.source, inputs.target
    classes = read_class_options(request, source)
    if not inputs.by_names_alone:
        _check_classes(source, request.force_classes, added=classes)
    extra = [read_as(request, str(path), target=True, has_ids=False) for path in request.extra]
    vectors = None
    if request.vectors is not None:
        # Additional texts need no vectors: use theirs only if all their files have some.
        further = extra if all(request.vectors in part.table() for part in extra) else []
        vectors = [column_vectors(part, request.vectors) for part in _parts(source, target, further)]
    result = label_texts(
        source.texts or None,
        source.labels or None,
        target.texts,
        method=_read_labeller(request) or request.method,
        word_labels=_read_words_option(request),
        random_state=request.seed,
        error_budget=request.budget,
        analyzer=request.analyzer,
        force_classes=True,  # _check_classes has checked the classes, with the file's name in its message
        language=request.language,
        classes=classes,
        source_domain=inputs.source_domain,
        target_labels=inputs.target_labels,
        extra_texts=[text for part in extra for text in part.texts],
        embed=request.embed,
        vectors=vectors,
        parameters=read_parameters(request.parameters),
    )
    # Answers and checks refer to documents by the ids of the file.
    result.ids = list(target.ids)
    return result


def _read_labeller(request: LabelOptions) -> Any:
    """Return the command that labels texts as one candidate, or None."""
    if request.labeller is None:
        return None
    if request.method != "auto":
        raise UsageError(
            f"--labeller is one candidate of auto, and --method {request.method} was given; leave one out."
        )
    from isthmus.classify.labeller import CommandLabeller

    return CommandLabeller(request.labeller)


def _read_words_option(request: LabelOptions) -> Any:
    """Return the words with classes of ``--words``, or "none"."""
    return request.words and (NONE if str(request.words) == NONE else read_words(request.words))


def read_class_options(request: LabelOptions, source: Collection) -> dict | None:
    """Return the classes of ``--class`` and ``--classes`` with their descriptions.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    source : Collection
        Documents to learn from.

    Returns
    -------
    dict or None
        Description by class, or None if neither option was given.

    Raises
    ------
    UsageError
        If both options describe a class differently.
    """
    if not request.classes and request.class_table is None:
        return None
    known = {name for name in source.labels if name is not None}
    table = {} if request.class_table is None else read_class_table(request.class_table)
    typed = class_texts(list(request.classes), known)
    # One of two different descriptions would be lost without a message.
    twice = [name for name in typed if name in table and typed[name] and table[name] and typed[name] != table[name]]
    if twice:
        raise UsageError(
            f"The class {twice[0]!r} has words in --class and in {request.class_table}; give them in one place."
        )
    return typed | {name: words or typed.get(name, "") for name, words in table.items()}


def _check_classes(source: Collection, force_classes: bool, added: dict | None = None) -> None:
    """Raise an error if the labels have one class or do not look like classes; warn if they might not be classes."""
    names = {name for name in source.labels if name is not None}
    if len(names) < 2 and not set(added or ()) - names:
        raise DataError(
            f"All labelled documents of {source.name} carry the label {names.pop()!r}; at least two classes are "
            "needed. Check --label.",
            code="one-class",
        )
    kind = check_label_kind(source.labels, name=f"The labels of {source.name}", force_classes=force_classes)
    if kind.message:
        warn(f"The labels of {source.name} {kind.message}", code="data-checks")


def column_vectors(collection: Collection, column: str) -> Any:
    """Read the vectors of a column.

    Parameters
    ----------
    collection : Collection
        Documents with the column.
    column : str
        Name of the column.

    Returns
    -------
    Any
        One row per document.
    """
    return read_vectors(find_column(collection, column, option="--vectors"), column, collection.name)


def _parts(source: Collection, target: Collection, extra: Sequence[Collection]) -> list[Collection]:
    """Return the collections in the order of their vectors; additional ones are joined."""
    return [source, target, join_collections(extra)[0]] if extra else [source, target]


def questions_place(request: LabelOptions) -> Path | None:
    """Return the path of the list of documents that a person should read.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.

    Returns
    -------
    Path or None
        Path next to the output, or None if no list was requested.
    """
    output = Path(request.output)
    return None if request.read is None else output.with_name(f"{output.name.split('.')[0]}-to_read.csv")


def write_outputs(
    request: LabelOptions,
    result,
    source: Collection,
    target: Collection,
    *,
    table: dict[str, list] | None = None,
    questions: dict[str, list] | None = None,
) -> list[str]:
    """Write the labelled table, the report, the model and the documents to read.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    result
        Result of the run.
    source : Collection
        Documents to learn from.
    target : Collection
        Labelled documents.
    table : dict[str, list], optional
        Table to write, if its rows are not only the target's.
    questions : dict[str, list], optional
        Documents to read.

    Returns
    -------
    list[str]
        Names of the written files.
    """
    output, report, save = request.output, request.report, request.save
    added = added_columns(result)
    places = {"table": None if output == "-" else output, "saved": save}
    files = {name: str(place) for name, place in places.items() if place is not None}
    by = by_column(request, target)
    makers = {**report_and_model(result, report, save, source=source, target=target, files=files, by=by)}
    if questions is not None:
        makers[questions_place(request)] = questions_file(questions, exact=request.exact)
    table = with_columns(target.table(), added, request.add) if table is None else table
    layout = review_layout(result, output, request.add)
    with keeping(added, target.ids, output):
        return write_files(output, table, makers, force=request.force, exact=request.exact, layout=layout)


def added_columns(result) -> dict[str, list]:
    """Return the columns that are added to the target's; with answers also which documents were answered.

    Parameters
    ----------
    result
        Result of the run.

    Returns
    -------
    dict[str, list]
        Cells by column.
    """
    columns = result.columns()
    added = {name: columns[name] for name in ADDED}
    if result.answers is None:
        return added
    answered = set(result.answers.read.rows)
    return added | {"answered": [row in answered for row in range(len(result.texts))]}


def review_layout(result, output: str, only: Sequence[str] = ()) -> Layout | None:
    """Return the second worksheet of a workbook, which lists the most uncertain documents first.

    Parameters
    ----------
    result
        Result of the run.
    output : str
        Path of the output.
    only : Sequence[str], default=()
        Names of the added columns; all of them if empty.

    Returns
    -------
    Layout or None
        Layout, or None if the output is no workbook.
    """
    if Path(output).suffix.lower() != ".xlsx":
        return None
    if only and "needs_review" not in only:
        return Layout(title="labels")
    # Documents that need review come first, the least confident at the top.
    order = sorted(range(len(result.texts)), key=lambda row: (not result.needs_review[row], result.confidence[row]))
    answered = {}
    if result.answers is not None:
        read = result.answers.read
        answered = dict(zip(read.rows, read.labels, strict=True))
    columns = result.columns()
    shown = ("text", "label", "confidence", "needs_review", "review_reason")
    review = {
        "document": [row + 1 for row in order],
        "id": [result.document_ids[row] for row in order],
        **{name: [columns[name][row] for row in order] for name in shown},
        "true_label": [answered.get(row) for row in order],
    }
    return Layout({"true_label": [str(name) for name in result.classes]}, review, title="labels")


def find_column(docs: Collection, name: str, option: str = "--by") -> list:
    """Return a column of the documents.

    Parameters
    ----------
    docs : Collection
        The documents.
    name : str
        Name of the column.
    option : str, default="--by"
        Option that names the column, for error messages.

    Returns
    -------
    list
        Cells.

    Raises
    ------
    UsageError
        If there is no such column.
    """
    table = docs.table()
    if name not in table:
        raise UsageError(
            f"{option} {name!r} is not a column of {docs.name}; it has {list_columns(table)}.", code="unknown-column"
        )
    return table[name]


def by_column(request: LabelOptions, target: Collection) -> tuple[str, list] | None:
    """Return the column of ``--by``.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    target : Collection
        Labelled documents.

    Returns
    -------
    tuple[str, list] or None
        Name and cells, or None.
    """
    return None if request.by is None else (request.by, find_column(target, request.by))


def label_record(options: dict[str, Any], inputs: list[dict], result: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the content of ``run.json``.

    Parameters
    ----------
    options : dict[str, Any]
        Options of the command.
    inputs : list[dict]
        Records of the files that were read.
    result : Any
        Result of the run.
    settings : dict[str, Any]
        Settings with which the result was made.

    Returns
    -------
    dict[str, Any]
        The record.
    """
    outcome = {"settings": settings, "method": result.method, "decision": result.decision}
    return run_record("label", options.get("output", "-"), inputs, options=options, **outcome)


def conclude(
    request: LabelOptions,
    result,
    n_source: int,
    inputs: list[dict],
    written: list[str],
    by: tuple[str, list] | None,
    questions: dict[str, list] | None = None,
) -> None:
    """Write the record next to the output, and report the outcome.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    result
        Result of the run.
    n_source : int
        Number of documents to learn from.
    inputs : list[dict]
        Records of the files that were read.
    written : list[str]
        Names of the written files.
    by : tuple[str, list] or None
        Column whose values get their own class proportions.
    questions : dict[str, list], optional
        Documents to read.
    """
    from isthmus.report.hero import outcome_figures  # imported here, because a refusal does not need it

    record = label_record(request.for_record(), inputs, result, result.settings)
    summary, found = summarise(result, n_source, request.output), outcome_figures(result)
    if by is not None:
        summary["class_shares_by"] = {"column": by[0], "rows": share_records(result.class_shares(by=by[1]))}
        summary["accuracy_by"] = {"column": by[0], "rows": result.accuracy_by(by[1])}
    saved, table = request.save, None if request.output == "-" else request.output
    # Without a list of documents to read, the command recommends a next step.
    if questions is None:
        step = found.step
        if step is not None:
            line = _step_line(step, saved, _to_be_checked(result, saved, table), request.budget)
            summary["next_step"] = {**step._asdict(), "command": line}
        next_step = describe_next(result, step, saved=saved, table=table, budget=request.budget)
    else:
        forecast = result.forecast(questions)
        if forecast is not None:
            summary["forecast"] = forecast._asdict()
        next_step = describe_questions(request, forecast, len(questions["document"]))
    if result.comparison:
        record["comparison"] = result.comparison
    figures = "expected_accuracy", "expected_errors", "class_shares", "class_shares_by", "accuracy_by", "forecast"
    for name in (*figures, "novel", "warnings", "sources"):
        if name in summary:
            record[name] = summary[name]
    finish(request, found, summary, record, written, learned=result.learned, next_step=next_step)


def _to_be_checked(result, saved: Any, table: Any) -> Any:
    """Return the file that a check accepts; it refuses a table with learned answers."""
    return saved or (None if _holds_answers(result) else table)


def _holds_answers(result) -> bool:
    """Return whether the result has learned answers."""
    return result.answers is not None and bool(result.answers.read.rows)


def _step_line(step: Any, saved: Any, checked: Any, budget: float) -> str | None:
    """Return the command that draws the documents of the next step, or None if there is no file to draw from."""
    if not step.at_random:
        return None if saved is None else _ask_line(saved, step.read)
    if checked is None:
        return None
    asked = f"{step.read} --budget {budget:g}" if step.now else f"{step.read}"
    return f"isthmus check {shlex.quote(str(checked))} --sample {asked} -o {free_name('to_check.csv')}"


def describe_next(result, step: Any, *, saved: Any, table: Any, budget: float) -> str:
    """Return the most useful next step, with its effect and its command.

    Parameters
    ----------
    result
        Result of the run.
    step : Any
        Recommended step, or None.
    saved : Any
        Path of the saved result, or None.
    table : Any
        Path of the labelled table, or None.
    budget : float
        Share of wrong labels that may pass unread.

    Returns
    -------
    str
        One sentence.
    """
    if step is None:
        if not any(result.needs_review):
            return "Nothing is left to read."
        if not any(text.strip() for text in result.texts):
            return "No document of the target has a text; name the column of the texts with --text or --target-text."
        # Texts labelled by a saved model, whose accuracy was not estimated.
        return _sample_line(saved or table, len(result.texts))
    line = _step_line(step, saved, _to_be_checked(result, saved, table), budget)
    if step.at_random:
        option = "-o" if table is None and not _holds_answers(result) else "--save"
        return f"{step} {line or f'With {option} OUT, isthmus check OUT draws them.'}"
    if line is None:
        return f"{step} With --save FILE, isthmus ask FILE lists them and isthmus teach learns your answers."
    return f"{str(step).removesuffix('.')}: {line}"


def _sample_line(table: Any, n_texts: int, files: int = 1) -> str:
    """Return how to check a random sample of labels that a saved model gave, or of labels made in blocks."""
    n = min(LOOK, n_texts)
    place = "OUT" if table is None else shlex.quote(str(table))
    line = f"isthmus check {place} --sample {n} -o {free_name('to_check.csv')}"
    wanted = "with -o OUT, " if table is None else ""
    each, first = ("", "") if files == 1 else (" in each file", ", beginning with this one")
    return f"Check {n} at random{each}, so that the accuracy is known{first}: {wanted}{line}"


def _ask_line(saved: Any, n: int) -> str:
    """Return the command that lists the documents to answer next."""
    return f"isthmus ask {shlex.quote(str(saved))} -n {n} -o {free_name('to_answer.csv')}"


def describe_questions(request: LabelOptions, forecast: Any, n: int) -> str:
    """Return what to do with the documents to read, and what their answers should bring.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    forecast : Any
        Forecast of the answers' effect, or None.
    n : int
        Number of documents to read.

    Returns
    -------
    str
        Sentences.
    """
    place = shlex.quote(str(questions_place(request)))
    if not n:
        return "No document is left to ask about."
    learn = f"run the same line with --answers {place}"
    if request.save is not None:
        learn = f"run isthmus teach {shlex.quote(str(request.save))} {place} {taught_files()}"
    said = "" if forecast is None else f"{forecast} "
    return f"{said}Fill in the column true_label of the {plural(n, 'document')} in {place}, then {learn}"


def finish(
    request: LabelOptions,
    found: Outcome,
    summary: dict[str, Any],
    record: dict[str, Any],
    written: list[str],
    *,
    learned: Any = None,
    next_step: str = "",
) -> None:
    """Write the record, and print the outcome and the next step.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    found : Outcome
        Figures of the first screen.
    summary : dict[str, Any]
        Figures of the outcome.
    record : dict[str, Any]
        Content of ``run.json``.
    written : list[str]
        Names of the written files.
    learned : Any, optional
        What the result has learned from answers.
    next_step : str, default=""
        What to do next.
    """
    summary["files"] = write_record(request.output, record, written)
    if not request.quiet:
        breakdown = describe_breakdown(summary.get("class_shares_by"), _where_all_stands(summary))
        lines = [*describe_outcome(found, summary, learned), *breakdown]
        say_outcome(lines, summary["files"], next_step)
    if request.as_json:
        print_json(summary)


def summarise(result, n_source: int, output: str) -> dict[str, Any]:
    """Return the figures of a result for messages and JSON.

    Parameters
    ----------
    result
        Result of the run.
    n_source : int
        Number of documents to learn from.
    output : str
        Path of the output.

    Returns
    -------
    dict[str, Any]
        Figures by name.
    """
    from isthmus._math.confidence import without_text

    # Documents without text have no meaningful label, so they are counted separately.
    empty = without_text(result.texts)
    return {
        "method": result.method,
        "why": why_this_method(result.decision),
        "source_documents": n_source,
        "target_documents": len(result.labels),
        "labels": dict(Counter(str(name) for name in result.labels[~empty].tolist()).most_common()),
        "without_text": int(empty.sum()),
        "mean_confidence": round(float(result.confidence.mean()), 4),
        "needs_review": int(result.needs_review.sum()),
        "expected_accuracy": expectation_record(result.expected_accuracy),
        "expected_errors": None if result.expected_errors is None else asdict(result.expected_errors),
        "class_shares": share_records(result.class_shares()),
        "novel": result.novel,
        "warnings": result.warnings,
        "sources": result.sources,
        "output": output,
    }


def expectation_record(expected: Any) -> dict[str, Any]:
    """Return an expected accuracy for JSON.

    Parameters
    ----------
    expected : Any
        The estimate, or None for a result without one.

    Returns
    -------
    dict[str, Any]
        ``estimate``, ``low`` and ``high``, or None with the reason.
    """
    from isthmus._math.confidence import AccuracyEstimate

    if expected is None:
        expected = AccuracyEstimate(None, reason="a saved model labels later documents without estimating again")
    row = asdict(expected)
    return row if expected.estimate is not None else row | {"low": None, "high": None}


def share_records(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return estimated class proportions for JSON.

    Parameters
    ----------
    rows : list[dict[str, Any]]
        Proportions with their intervals.

    Returns
    -------
    list[dict[str, Any]]
        The same rows, rounded.
    """
    return [
        {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}
        | {"class": str(row["class"])}
        for row in rows
    ]


def describe_outcome(
    found: Outcome,
    summary: dict[str, Any],
    learned: Any = None,
    notes: Sequence[str] = (),
    ahead: Sequence[str] = (),
) -> list[str]:
    """Describe a result in at most six lines.

    Parameters
    ----------
    found : Outcome
        Figures of the first screen.
    summary : dict[str, Any]
        Other figures of the outcome.
    learned : Any, optional
        What the result has learned from answers.
    notes : Sequence[str], default=()
        Additional lines about what was done.
    ahead : Sequence[str], default=()
        Additional lines about the next answers.

    Returns
    -------
    list[str]
        Lines.
    """
    warned = [row for row in summary.get("warnings", ()) if learned is None or row["topic"] != "new group"]
    warnings = [f"warning: {in_flags(row['message'])}" for row in warned]
    sources = [describe_sources(summary["sources"])] if summary.get("sources") else []
    before: dict[str, int] = {}
    lines = [*notes, *warnings, *sources, *ahead]
    if learned is not None:  # the effect of the answers comes before the notes about the first result
        # The classes follow in a line of their own.
        done, *more = [line for line in str(learned).splitlines() if not line.startswith("  ")]
        lines = [done, *notes, *warnings, *more, *ahead, *sources]
        before = {shorten(str(name)): count for name, count in learned.before.items()}
    by_size = sorted(found.classes, key=lambda row: -row.labels)
    classes = list_classes([replace(row, name=shorten(row.name)) for row in by_size], before)
    if summary.get("without_text"):
        classes.append(f"without text {summary['without_text']:,}")
    accuracy = f"{'measured' if found.right.checked else 'expected'} accuracy: {found.right}"
    return [
        found.headline,
        *fit_lines(lines, MOST_LINES - 5, _where_all_stands(summary)),
        f"labels: {'; '.join(fit_lines(classes, SHOWN, 'in the table'))}",
        f"{accuracy}; method: {summary['method']} ({summary['why']})",
    ]


def _where_all_stands(summary: dict[str, Any]) -> str:
    """Return where the user finds lines that did not fit on the screen."""
    files = summary.get("files", ["run.json"])
    record = next((name for name in reversed(files) if RECORD_NAME.search(name)), None)
    return "with -o OUT and --json" if record is None else f"in {record}"


def describe_breakdown(found: dict[str, Any] | None, where: str = "in run.json") -> list[str]:
    """Describe the class proportions for each value of a column.

    Parameters
    ----------
    found : dict[str, Any] or None
        Proportions by value, or None.
    where : str, default="in run.json"
        How to see omitted lines.

    Returns
    -------
    list[str]
        One line per value.
    """
    values: dict[str, list[str]] = {}
    for row in [] if found is None else found["rows"]:
        start = f"{(found or {})['column']} {row['value']} ({plural(row['documents'], 'document')}): "
        values.setdefault(start, []).append(f"{row['class']} {interval(row['estimate'], row['low'], row['high'])}")
    return fit_lines([start + ", ".join(parts) for start, parts in values.items()], SHOWN, where)


# -- Files larger than memory, on one machine or a cluster


def can_be_large(request: LabelOptions) -> bool:
    """Return whether runs in blocks support the method.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.

    Returns
    -------
    bool
        True if they do.
    """
    from isthmus.methods import METHODS

    return request.method == "auto" or any(m.chunks and name == request.method for name, m in METHODS.items())


def label_large(request: LabelOptions) -> None:
    """Label documents in blocks and write all outputs.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    """
    from isthmus.corpus.shards import find_shards, open_shard
    from isthmus.scale.label import label_in_blocks

    check_blocks(request)
    # Check every table of a folder, because one with labels from Isthmus is enough to spoil the training.
    for path in find_shards(request.files[:-1]):
        check_not_machine(path, open_shard(path).columns, request)
    if not request.quiet:
        say(NOT_IN_MEMORY)
    with talking(request.quiet), resumable():
        warn_of_same_file(request.files[:-1])
        warn_of_own_target(request.files)
        count_cores()
        result = label_in_blocks(request, request.files[:-1], request.target, tls=read_tls(request.tls))
        note_guarded(result.guarded_cells)
    if not request.quiet:
        for note in result.notes:
            say(f"  {in_flags(note)}")
        # Bad rows of a huge file do not stop the run, but are reported.
        if result.bad_rows:
            say(f"set aside: {result.bad_rows:,} rows that cannot be read, in {request.bad_rows}")
    summary: dict[str, Any] = {
        **{name: value for name, value in asdict(result).items() if name not in ("files", "expected_accuracy")},
        "class_shares": share_records(result.class_shares),
        "why": result.decision[0]["why"] if result.decision else "",
        "expected_accuracy": expectation_record(result.expected_accuracy),
        "output": request.output,
    }
    expected = result.expected_accuracy
    found = Outcome(
        documents=result.target_documents,
        review=result.needs_review,
        right=Share(expected.estimate, expected.low, expected.high, expected.confidence_level, expected.reason),
        classes=tuple(
            ClassShare(name, result.labels.get(name, 0), row["estimate"], row["low"], row["high"])
            for row in result.class_shares
            for name in (str(row["class"]),)
        ),
        shares_basis="expected",
        learned_from=result.source_documents,
    )
    # Only paths are recorded: hashing would read the large files once more.
    inputs = [{"path": path} for path in request.files]
    record = label_record(request.for_record(), inputs, result, {"blocks": True, "error_budget_of": BUDGET_OF})
    record |= {name: summary[name] for name in ("expected_accuracy", "class_shares", "novel", "warnings", "bad_rows")}
    written = files_written(request.output, result.files)
    # There is no saved result to ask about, so checking a sample is the next step.
    step = _sample_line(written[0], result.target_documents, len(written))
    finish(request, found, summary, record | {"files": result.files}, written, next_step=step)
