"""``isthmus check``: draw documents for a person to label, then estimate the accuracy of all labels."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from isthmus._streams import emit
from isthmus._utils import plural
from isthmus.cli.command import argument, check_option, flag, refuse, shared
from isthmus.cli.common import (
    MOST_LINES,
    Target,
    fit_lines,
    free_name,
    one_line,
    print_json,
    say,
    say_outcome,
    talking,
    taught_files,
)
from isthmus.cli.outputs import (
    check_outputs,
    file_records,
    report_and_model,
    run_record,
    target_table,
    write_files,
    write_record,
)
from isthmus.corpus import check_output, read_collection, read_table, with_columns
from isthmus.corpus.cells import bare_cells, cell_content, cell_text
from isthmus.exceptions import DataError
from isthmus.options import ERROR_BUDGET, LabelOptions

if TYPE_CHECKING:
    import numpy as np

    from isthmus.api.annotators import AnnotatorCheck
    from isthmus.choose import AccuracyEstimate, LabelCheck

EXAMPLE = "Example: isthmus check dealer.isthmus --sample 100 -o to_check.csv"
ONE_JOB = (
    "Give one of these: --sample N or --margin M to draw documents, or CHECKED, the sample with true labels; with "
    "--budget also CHECKED and --sample N, to draw more."
)
# Names of columns.
TRUTH, DONE, ANSWERED, GIVEN = "true_label", "checked", "answered", "given"


@dataclass
class Labelling:
    """The data of a result that a check needs, from a table or a saved result."""

    labels: list
    texts: list[str]
    ids: list[str]
    table: dict[str, list]
    saved: Any = None  # the saved result, or None for a table
    answered: frozenset[int] = frozenset()  # rows of a table whose label is an answer that the labels were learned from
    given: frozenset[int] = frozenset()  # rows of a half-labelled table that had their label before

    @property
    def found(self) -> list[int]:
        """Rows whose label a method has given; a check covers only these."""
        return [row for row in range(len(self.texts)) if row not in self.given]

    @property
    def confidence(self) -> np.ndarray:
        """Confidence of each label, from 0 to 1."""
        import numpy as np  # imported here, because most commands do not need it

        if self.saved is not None:
            return self.saved.confidence
        try:
            return np.array([float(cell_text(cell)) for cell in self.table["confidence"]])
        except (KeyError, ValueError):
            raise DataError(
                "The labelled table needs a column 'confidence' with a number in each cell; give the table as "
                "isthmus label wrote it.",
                code="unknown-column",
            ) from None

    @property
    def may_pass(self) -> np.ndarray:
        """Documents whose label may pass unread: neither given nor answered, and in no new group."""
        import numpy as np

        if self.saved is not None:
            return self.saved.may_pass
        # Tables without new groups lack the column.
        groups = self.table.get("novel_group", [None] * len(self.texts))
        allowed = np.array([not cell_content(cell) for cell in groups], dtype=bool)
        allowed[list(self.given | self.answered)] = False
        return allowed

    @property
    def expected(self) -> AccuracyEstimate | None:
        """Expected accuracy of a saved result, or None."""
        return None if self.saved is None else self.saved.expected_accuracy


def check(
    result: Annotated[str, argument("RESULT", "File that isthmus label wrote: the labelled table, or a --save file.")],
    checked: Annotated[str | None, argument("CHECKED", "The sample with its true labels filled in.")] = None,
    sample: Annotated[int | None, flag("--sample N", "Draw N documents at random, to be labelled.")] = None,
    margin: Annotated[
        float | None, flag("--margin M", "Draw as many as needed to know the accuracy to about ± M (0.05).")
    ] = None,
    budget: Annotated[
        float | None,
        flag(
            "--budget B", "Find the labels that can pass unread, with at most this share of the whole file wrong (0.1)."
        ),
    ] = None,
    by_annotator: Annotated[
        bool, flag("--by-annotator", "Report how far the annotators of CHECKED (column by) agree.")
    ] = False,
    label_column: Annotated[str, flag("--label COL", "Column of CHECKED with the true labels.")] = TRUTH,
    text: Annotated[str | None, flag("--text COL", "Text column of a labelled table; guessed if omitted.")] = None,
    output: Annotated[
        str | None, flag("-o --output OUT", "File for the sample, or for the labels with corrections; - is stdout.")
    ] = None,
    target: Target = None,
    add: Annotated[list[str] | None, shared("add")] = None,
    report: Annotated[Path | None, flag("--report HTML", "Write a report page with the outcome.")] = None,
    save: Annotated[Path | None, flag("--save FILE", "Save the result with the outcome.")] = None,
    seed: Annotated[int, shared("seed", "Same seed, same documents.")] = 0,
    exact: Annotated[bool, shared("exact")] = False,
    as_json: Annotated[bool, shared("as_json", "Print the outcome as JSON on stdout.")] = False,
    force: Annotated[bool, shared("force", "Replace an output that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Draw documents of RESULT for a person to label; from their true labels (CHECKED), compute the accuracy of all.

    First isthmus check RESULT --sample 100 -o to_check.csv; then fill in true_label; then isthmus check RESULT
    to_check.csv. The sample does not show the labels, so that they do not influence the reader.

    With --budget the sample contains the documents that decide most, and CHECKED decides which labels can pass
    unread: isthmus check RESULT --sample 100 --budget 0.1 -o to_check.csv. To read 50 more, run isthmus check
    RESULT to_check.csv --sample 50 --budget 0.1 -o more.csv.
    """
    # Comparing annotators is a separate job with its own outcome.
    if by_annotator:
        others = (sample, margin, budget, output, target, add, report, save)
        too_much = checked is None or any(option is not None for option in others)
        refuse((too_much, "--by-annotator takes only RESULT and CHECKED; leave out the other options."))
        with talking(quiet):
            agreement = check_annotators(open_labelling(result, text), str(checked), label_column)
        print_annotators(agreement, as_json=as_json)
        return
    drawing = sample is not None or margin is not None
    going_on = checked is not None and sample is not None and budget is not None
    # Drawing and checking exclude each other, except when a budget needs more documents.
    two_jobs = drawing == (checked is not None) and not going_on
    two_sizes = margin is not None and (sample or budget) is not None
    on_stdout = output == "-" or (drawing and output is None)
    keeps_outcome = report is not None or save is not None
    refuse(
        (two_jobs or two_sizes, ONE_JOB),
        (checked == "-" and result == "-", "Both RESULT and CHECKED are '-'; only one can be standard input."),
        (as_json and on_stdout, "--json prints on stdout; name a file for the table with -o OUT."),
        (drawing and keeps_outcome, "--report and --save take the outcome of a check; give CHECKED."),
    )
    check_option("add", add)
    idle = add is not None and (drawing or output is None)
    refuse((idle, "--add chooses columns of the labels that CHECKED corrects; give CHECKED and -o OUT."))
    if output is not None:
        check_output(output, force=force)
    inputs = (result, checked, target)
    check_outputs("-" if output is None else output, report, force, save, inputs=inputs)
    with talking(quiet):
        labelling = open_labelling(result, text)
        # Only a saved result can be reported, saved again or completed with the target's columns.
        in_vain = labelling.saved is None and any(path is not None for path in (target, report, save))
        refuse((in_vain, "--target, --report and --save need a RESULT that isthmus label --save wrote."))
        found = None if checked is None else check_answers(labelling, checked, label_column, budget)
        if drawing or found is None:
            output = output or "-"
            table, outcome = draw(labelling, sample, margin, seed, budget, found)
        else:
            table = {} if output is None else table_to_write(labelling, found, target, add or (), quiet)
            outcome = found.to_dict()
        makers = report_and_model(labelling.saved, report, save)
        written = write_files(output, table, makers, force=force, exact=exact)
    if as_json:
        print_json(outcome)
    if drawing or found is None:
        step = draw_sentence(outcome, result, str(output))
    else:
        if not as_json:
            print_check(found, on_stdout=output != "-", quiet=quiet)
        if output is not None:
            written = write_record(output, check_record(labelling, found, output, inputs), written)
        step = describe_next(result, str(checked), found, labelling, label_column)
    if not quiet:
        say_outcome([], written, step)


def print_annotators(found: AnnotatorCheck, *, as_json: bool) -> None:
    """Print how far annotators agree.

    Parameters
    ----------
    found : AnnotatorCheck
        Result of the comparison.
    as_json : bool
        Whether to print JSON.
    """
    if as_json:
        print_json(found.to_dict())
        return
    for line in str(found).splitlines():
        # Only the indentation of our own lines is preserved: names from the data cannot move the cursor.
        emit(" " * (len(line) - len(line.lstrip())) + one_line(line))


def print_check(found: LabelCheck, *, on_stdout: bool, quiet: bool) -> None:
    """Print the outcome of a check on standard output, or on standard error if the table uses standard output.

    Parameters
    ----------
    found : LabelCheck
        Outcome of the check.
    on_stdout : bool
        Whether standard output is free.
    quiet : bool
        Whether to omit messages on standard error.
    """
    for line in fit_lines(str(found).splitlines(), MOST_LINES - 2, "with --json"):
        if on_stdout:
            emit(one_line(line))
        elif not quiet:
            say(one_line(line))


def check_record(
    labelling: Labelling, found: LabelCheck, output: str, inputs: Iterable[str | Path | None]
) -> dict[str, Any]:
    """Return the record of a check.

    Parameters
    ----------
    labelling : Labelling
        The checked result.
    found : LabelCheck
        Outcome of the check.
    output : str
        Path of the output.
    inputs : Iterable[str | Path | None]
        Files that were read.

    Returns
    -------
    dict[str, Any]
        Content of ``run.json``.
    """
    from isthmus.cli.label_run import expectation_record

    read = file_records(path for path in inputs if path != "-")
    # The measured accuracy replaces the expected one, unless only the most confident labels were checked.
    expected = expectation_record(found.estimate if found.among is None else labelling.expected)
    return run_record("check", output, read, check=found.to_dict(), expected_accuracy=expected)


def table_to_write(
    labelling: Labelling, found: LabelCheck, target: Path | None, add: Collection[str], quiet: bool
) -> dict[str, list]:
    """Return the target's table with corrected labels.

    Parameters
    ----------
    labelling : Labelling
        The checked result.
    found : LabelCheck
        Outcome of the check.
    target : Path or None
        File of the target, if the saved result lacks its columns.
    add : Collection[str]
        Names of the added columns; all of them if empty.
    quiet : bool
        Whether to omit messages.

    Returns
    -------
    dict[str, list]
        Cells by column.
    """
    table = labelling.table
    if labelling.saved is not None:
        from isthmus.cli.label_run import added_columns

        table = with_columns(target_table(labelling.saved, target, quiet), added_columns(labelling.saved))
    table = corrected_table(table, found, marked=labelling.saved is not None)
    # Unwanted columns go last, because correcting the table needs them.
    left_out = set(LabelOptions.options()["add"].choices) - set(add) if add else set()
    return {name: cells for name, cells in table.items() if name not in left_out}


def describe_next(result: str, checked: str, found: LabelCheck, labelling: Labelling, label_column: str = TRUTH) -> str:
    """Return what to do after a check, with the command.

    Parameters
    ----------
    result : str
        Name of the checked file.
    checked : str
        Name of the file with true labels.
    found : LabelCheck
        Outcome of the check.
    labelling : Labelling
        The checked result.
    label_column : str, default=TRUTH
        Column with the true labels.

    Returns
    -------
    str
        One sentence.
    """
    passing = found.guarantee
    files = f"{shlex.quote(result)} {shlex.quote(checked)}"
    renamed = label_column != TRUTH
    # The guarantee decides how many more documents are worth reading.
    if passing is not None and passing.next_step is not None:
        more = passing.next_step
        column = f" --label {shlex.quote(label_column)}" if renamed else ""
        draw = f"--sample {more['read']} --budget {passing.budget:g}{column}"
        again = f"isthmus check {files} {draw} -o {free_name('more.csv')}"
        return f"Read {more['read']:,} more, and about {more['documents']:,} should pass: {again}"
    if passing is None and found.among is None and labelling.saved is not None:
        new = count_new_answers(found, labelling.saved)
        # The result has learned these answers, so teaching them again would change nothing.
        if not new:
            return describe_read_on(result, labelling.saved)
        column = f"rename the column {label_column} to {TRUTH}, then run " if renamed else ""
        answers = plural(new, "answer")
        return f"Let the {answers} improve the labels: {column}isthmus teach {files} {taught_files()}"
    if passing is not None and passing.documents:
        return f"Use the {passing.documents:,} labels that pass, and read the others: -o OUT marks them."
    return "Use the labels with this accuracy in mind, or improve them: isthmus label --save FILE, then isthmus teach."


def count_new_answers(found: LabelCheck, saved: Any) -> int:
    """Count the true labels that the saved result has not learned yet.

    Parameters
    ----------
    found : LabelCheck
        Outcome of the check.
    saved : Any
        The saved result.

    Returns
    -------
    int
        Number of true labels.
    """
    read = saved.known_answers.read
    known = dict(zip(read.rows, read.labels, strict=True))
    # A changed answer counts as new.
    return sum(known.get(row) != truth for row, truth in zip(found.rows, found.true_labels, strict=True))


def describe_read_on(result: str, saved: Any) -> str:
    """Return what to read next when every answer has been learned.

    Parameters
    ----------
    result : str
        Name of the saved result.
    saved : Any
        The saved result.

    Returns
    -------
    str
        One sentence.
    """
    from isthmus.cli.label_run import describe_next as describe_next_reading

    return describe_next_reading(saved, saved.next_step(), saved=result, table=None, budget=saved.error_budget)


def open_labelling(path: str, text: str | None) -> Labelling:
    """Read a labelled table or a saved result.

    Parameters
    ----------
    path : str
        Path of the file.
    text : str or None
        Name of the text column of a table; guessed if None.

    Returns
    -------
    Labelling
        Data for a check.

    Raises
    ------
    DataError
        If the file is neither, or cannot be checked.
    """
    try:
        # A table is tried first, because it needs no model code.
        docs = read_collection(path, text=text, label="label")
    except DataError as error:
        if error.code not in ("unknown-format", "unknown-column"):
            raise
        if error.code == "unknown-column":
            wanted = "'label'" if text is None else f"'label' or {text!r}"
            raise DataError(
                f"{path!r} lacks the column {wanted}; give a table that isthmus label wrote, or a file of its --save.",
                code="unknown-column",
            ) from None
        from isthmus.saving import load

        saved = load(path, kind="label")
        return Labelling(saved.labels, saved.texts, saved.document_ids, saved.columns(), saved)
    table = docs.table()
    if DONE in table:
        # A sample of corrected labels would find every label right.
        raise DataError(
            f"{path!r} has the column {DONE!r}, so true labels were put into it; give the result as isthmus label "
            "wrote it, or rename a column of your own.",
            code="bad-check",
        )
    # A document without a label would count as wrong.
    empty = sum(name is None for name in docs.labels)
    if empty:
        raise DataError(
            f"{docs.name} has no label for {empty:,} of {len(docs):,} documents; give it as isthmus label wrote it.",
            code="bad-labels",
        )
    answered, given = (
        frozenset(row for row, cell in enumerate(table.get(name, ())) if _is_true(cell)) for name in (ANSWERED, GIVEN)
    )
    return Labelling(docs.labels, docs.texts, docs.ids, table, answered=answered, given=given)


def draw(
    labelling: Labelling,
    n: int | None,
    margin: float | None,
    seed: int,
    budget: float | None = None,
    read: LabelCheck | None = None,
) -> tuple[dict[str, list], dict]:
    """Draw a sample.

    Parameters
    ----------
    labelling : Labelling
        The result to check.
    n : int or None
        Number of documents.
    margin : float or None
        Half the width of the interval that determines the number.
    seed : int
        Seed of the draw.
    budget : float, optional
        Share of wrong labels that may pass unread.
    read : LabelCheck, optional
        Outcome of the check so far, to draw more documents.

    Returns
    -------
    tuple[dict[str, list], dict]
        Columns of the sample, and its figures.
    """
    from isthmus.choose.sampling import draw_sample, sample_margin, sample_size, sample_table

    if budget is not None:
        return draw_to_decide(labelling, n or 0, budget, seed, read)
    found = labelling.found
    population = len(found)
    if margin is not None:
        n = sample_size(margin, accuracy=labelling.expected, population=population)
    drawn = draw_sample(population, n or 0, seed, texts=[labelling.texts[row] for row in found])
    # The draw numbers only the labels that a method has given.
    rows = [found[place] for place in drawn.tolist()]
    reached = sample_margin(len(rows), accuracy=labelling.expected, population=population)
    outcome = {"sample": len(rows), "population": population, "margin": round(reached, 4), "seed": seed}
    return sample_table(rows, labelling.texts, labelling.ids), outcome


def draw_to_decide(
    labelling: Labelling, n: int, budget: float, seed: int, read: LabelCheck | None
) -> tuple[dict[str, list], dict]:
    """Draw the sample that decides most about a budget.

    Parameters
    ----------
    labelling : Labelling
        The result to check.
    n : int
        Number of new documents.
    budget : float
        Share of wrong labels that may pass unread.
    seed : int
        Seed of the draw.
    read : LabelCheck or None
        Outcome of the check so far; its documents come first.

    Returns
    -------
    tuple[dict[str, list], dict]
        Columns of the sample, and its figures.
    """
    from isthmus.choose import guaranteed
    from isthmus.choose.sampling import sample_table

    known, before = {}, None
    if read is not None and read.guarantee is not None:
        known = dict(zip(read.rows, read.true_labels, strict=True))
        right = [labelling.labels[row] == truth for row, truth in known.items()]
        before = list(known), right, read.guarantee.among
    rows, among = guaranteed.draw_to_decide(
        labelling.confidence,
        labelling.texts,
        budget,
        n,
        random_state=seed,
        eligible=labelling.may_pass,
        expected=labelling.expected,
        read=before,
    )
    new = len(rows) - len(known)
    outcome = {"sample": new, "population": len(labelling.found), "among": among, "budget": budget, "seed": seed}
    return sample_table(rows, labelling.texts, labelling.ids, among=among, known=known), outcome


def draw_sentence(drawn: dict[str, Any], result: str, output: str) -> str:
    """Return what to do with a sample, and what it will show.

    Parameters
    ----------
    drawn : dict[str, Any]
        Figures of the sample.
    result : str
        Name of the checked file.
    output : str
        Name of the sample's file.

    Returns
    -------
    str
        One sentence.
    """
    checked = "CHECKED" if output == "-" else shlex.quote(output)
    result = shlex.quote(result)
    what = f"Label these {drawn['sample']:,} of {drawn['population']:,} documents in the column {TRUTH}, then run"
    if "budget" in drawn:
        return (
            f"{what} isthmus check {result} {checked} --budget {drawn['budget']:g}: it says how many labels can pass "
            f"unread. They were drawn from the {drawn['among']:,} most confident, where reading decides most."
        )
    run = f"isthmus check {result} {checked}"
    return f"{what} {run}: the accuracy will be known to about ± {100 * drawn['margin']:.0f} points."


def check_answers(labelling: Labelling, path: str, label: str, budget: float | None = None) -> LabelCheck:
    """Estimate the accuracy from true labels.

    Parameters
    ----------
    labelling : Labelling
        The result to check.
    path : str
        File with true labels.
    label : str
        Column with the true labels.
    budget : float, optional
        Share of wrong labels that may pass unread.

    Returns
    -------
    LabelCheck
        Outcome of the check.

    Raises
    ------
    DataError
        If the file does not fit the result, or its documents cannot be checked.
    """
    import numpy as np

    from isthmus._math.confidence import without_text
    from isthmus.choose.checking import check_sample
    from isthmus.corpus.filled import check_drawn, read_among, read_sample

    try:
        # The numbers serve as text, because a person may have removed the column of texts.
        docs = read_collection(path, text="document", label=label)
    except DataError as error:
        if error.code != "unknown-column":
            raise
        raise DataError(
            f"{path!r} lacks the column 'document' or {label!r}; give the sample that isthmus check drew, and name the "
            "column of its true labels with --label where it is another one.",
            code="unknown-column",
        ) from None
    cells = docs.table()
    columns: dict[str, list] = {"document": docs.texts, label: docs.labels}
    columns |= {"id": docs.ids} if "id" in cells else {}
    columns |= {"text": bare_cells(cells["text"])} if "text" in cells else {}
    columns |= {name: cells[name] for name in ("among", "drawn") if name in cells}
    if labelling.saved is not None:
        table = {TRUTH if name == label else name: cells for name, cells in columns.items()}
        return labelling.saved.check(table, budget=budget)
    rows, truths = read_sample(columns, labelling.texts, labelling.ids, label=label)
    learned = sum(
        row in labelling.answered and truth is not None for row, truth in zip(rows.tolist(), truths, strict=True)
    )
    # The labels were corrected by these answers, so checking them against the same answers proves nothing.
    if learned:
        raise DataError(
            f"{learned:,} of the checked documents carry an answer that was learned from (column {ANSWERED!r}), so "
            "all of them would count as right; give the file of --save instead of the table, or check documents that "
            "were not answered.",
            code="bad-check",
        )
    given = sorted(set(rows.tolist()) & labelling.given)
    if given:
        raise DataError(
            f"The label of document {given[0] + 1:,} was given before (column {GIVEN!r}), so it cannot be checked; "
            "check documents that isthmus check drew.",
            code="bad-check",
        )
    # Labels that were given before are not part of the checked population, so rows are renumbered.
    place = {row: number for number, row in enumerate(labelling.found)}
    among = read_among(columns.get("among", ()))
    # A sample for a budget is drawn unevenly by design; any other must be random.
    if among is None:
        check_drawn(columns.get("drawn", [None] * len(docs)), docs.labels)
    needs_confidence = among is not None or budget is not None
    found = check_sample(
        [labelling.labels[row] for row in labelling.found],
        labelling.confidence[labelling.found] if needs_confidence else None,
        [place[row] for row in rows.tolist()],
        truths,
        budget=ERROR_BUDGET if budget is None and among is not None else budget,
        among=among,
        eligible=labelling.may_pass[labelling.found],
        counted=~without_text([labelling.texts[row] for row in labelling.found]),
    )
    passing = found.guarantee
    if passing is not None:
        # Back from numbers of checked labels to rows of the table.
        passes = np.zeros(len(labelling.texts), dtype=bool)
        passes[labelling.found] = passing.passes
        passing = replace(passing, passes=passes)
    return replace(found, rows=[labelling.found[number] for number in found.rows], guarantee=passing)


def _is_true(cell: Any) -> bool:
    """Return whether a cell contains "true" in any case."""
    return cell_text(cell).lower() == "true"


def check_annotators(labelling: Labelling, path: str, label: str) -> AnnotatorCheck:
    """Measure how far the annotators of a table agree.

    Parameters
    ----------
    labelling : Labelling
        The result to compare with.
    path : str
        File with answers and their annotators.
    label : str
        Column with the answers.

    Returns
    -------
    AnnotatorCheck
        Outcome of the comparison.

    Raises
    ------
    DataError
        If a column is missing.
    """
    from isthmus.api.annotators import compare_annotators
    from isthmus.corpus.filled import read_sample

    table = read_table(Path(path))
    if label not in table or (labelling.saved is None and not {"document", "by"} <= set(table)):
        raise DataError(
            f"{path!r} has the columns {', '.join(table)}; document, {label} and by are needed.", code="unknown-column"
        )
    if labelling.saved is not None:
        # The named column replaces a column with the default name.
        others = {name: cells for name, cells in table.items() if name != TRUTH}
        return labelling.saved.check_annotators({**others, TRUTH: table[label]})
    rows, truths = read_sample(table, labelling.texts, labelling.ids, label=label)
    said = zip(rows.tolist(), map(cell_content, truths), map(cell_content, table["by"]), strict=True)
    entries = [{"row": row, "label": truth, "by": by} for row, truth, by in said if truth]
    return compare_annotators(entries, labelling.labels)


def corrected_table(table: dict[str, list], found: LabelCheck, *, marked: bool = False) -> dict[str, list]:
    """Return a table with the true labels inserted and marked.

    Parameters
    ----------
    table : dict[str, list]
        Labelled table.
    found : LabelCheck
        Outcome of the check.
    marked : bool, default=False
        Whether the guarantee has already decided which rows need review.

    Returns
    -------
    dict[str, list]
        Cells by column.
    """
    truths = dict(zip(found.rows, found.true_labels, strict=True))
    new: dict[str, list] = {"label": list(table["label"])}
    for row, truth in truths.items():
        new["label"][row] = truth
    for name, value in (("confidence", 1.0), ("needs_review", False), ("review_reason", "")):
        if name in table:
            # The cells of a csv file are texts; all cells of a column keep one type.
            new[name] = [
                cell if row not in truths else str(value) if isinstance(cell, str) else value
                for row, cell in enumerate(table[name])
            ]
    if found.guarantee is not None and "needs_review" in table and not marked:
        as_text = any(isinstance(cell, str) for cell in table["needs_review"])
        known = {row for name in (GIVEN, ANSWERED) for row, cell in enumerate(table.get(name, ())) if _is_true(cell)}
        # Given, answered and checked labels are known, so they need no review.
        known |= set(truths)
        review = [not passes and row not in known for row, passes in enumerate(found.guarantee.passes.tolist())]
        new["needs_review"] = [str(flag) if as_text else flag for flag in review]
        new["review_reason"] = ["not guaranteed" if flag else "" for flag in review]
    done = [row in truths for row in range(len(new["label"]))]
    return with_columns(table | new, {DONE: done})
