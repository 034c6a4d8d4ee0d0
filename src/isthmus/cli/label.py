"""``isthmus label``: two files in, a labelled file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.common import METHODS, Exact, Language
from isthmus.cli.label_large import (
    BlockRows,
    Engine,
    LargeOptions,
    MemoryLimit,
    Resume,
    Scheduler,
    Tls,
    Workers,
    is_large,
    label_large,
)
from isthmus.cli.label_run import LabelOptions, label_files, label_with_model
from isthmus.exceptions import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(
        "label",
        epilog="Example: isthmus label motorcycles.csv cars.csv -o labelled.csv --report report.html",
    )(label)


def label(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE... TARGET",
            help="Labelled documents, one file or several, then the documents to label: csv, tsv, jsonl, parquet, "
            "xlsx, a folder, or -. One file alone: its labelled rows are the source. With --model, TARGET alone.",
        ),
    ],
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="COL", help="Text column; several are joined. Guessed if omitted."),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label", metavar="COL", help="Label column of the source; guessed if omitted.")
    ] = None,
    target_text: Annotated[
        list[str] | None,
        typer.Option("--target-text", metavar="COL", help="Text column of the target, where it differs."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COL", help="Id column of the target; guessed if omitted.")
    ] = None,
    sheet: Annotated[
        str | None, typer.Option("--sheet", metavar="NAME", help="Sheet of a workbook, by name or number; the first.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="Answers of a person: columns id (or document), true_label."),
    ] = None,
    target_label: Annotated[
        str | None,
        typer.Option("--target-label", metavar="COL", help="Column of TARGET with labels that people gave."),
    ] = None,
    trust_machine_labels: Annotated[
        bool, typer.Option("--trust-machine-labels", help="Learn from a table that Isthmus labelled.")
    ] = False,
    method: Annotated[str, typer.Option("--method", help=METHODS)] = "auto",
    words: Annotated[
        Path | None, typer.Option("--words", metavar="FILE", help="Labelled words (columns word, label, weight).")
    ] = None,
    extra: Annotated[
        list[Path] | None,
        typer.Option("--extra", metavar="FILE", help="Further documents of either kind, without labels; repeatable."),
    ] = None,
    embed: Annotated[
        str | None,
        typer.Option(
            "--embed", metavar="MODEL", help="Vectors by a model: static, minilm, a folder or name; none: no vectors."
        ),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", metavar="COL", help="Column with a vector of each document.")
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="OUT", help="Where the labelled target goes; - is stdout.")
    ] = "-",
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write a report page.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COL", help="Break the report down by a column of the target.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Label by a saved model, without SOURCE.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the model with its texts and labels.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Same seed, same answer.")] = 0,
    error_budget: Annotated[
        float | None,
        typer.Option("--error-budget", help="Share of wrong labels tolerated among those not to be reviewed (0.1)."),
    ] = None,
    analyzer: Annotated[str, typer.Option("--analyzer", help="auto, words, bigrams, trigrams or chars.")] = "auto",
    language: Language = "auto",
    force_classes: Annotated[
        bool,
        typer.Option(
            "--force-classes", help="Learn labels that do not look like classes (dates, ids, several a cell)."
        ),
    ] = False,
    engine: Engine = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    tls: Tls = None,
    memory_limit: MemoryLimit = None,
    block_rows: BlockRows = None,
    resume: Resume = False,
    bad_rows: Annotated[
        Path | None,
        typer.Option("--bad-rows", metavar="FILE", help="Set rows aside that cannot be read, instead of stopping."),
    ] = None,
    exact: Exact = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and notes.")] = False,
) -> None:
    """Label the documents of TARGET with the labels of SOURCE, or by a saved model (--model FILE TARGET).

    Every column of TARGET is kept; label, confidence, needs_review and novel_group are added. A run.json beside the
    output says how to repeat the run. In csv and tsv, cells that a spreadsheet would run as formulas get an apostrophe
    in front, unless --exact is given.
    """
    if model is not None and len(files) > 1:
        raise UsageError(
            "--model needs no SOURCE; give one file: isthmus label --model FILE TARGET.", code="bad-parameter"
        )
    options = LabelOptions(
        files=files,
        text=text,
        label=label_column,
        target_text=target_text,
        id=id_column,
        sheet=sheet,
        answers=answers,
        target_label=target_label,
        trust_machine_labels=trust_machine_labels,
        method=method,
        words=words,
        extra=tuple(extra or ()),
        embed=embed,
        vectors=vectors,
        output=output,
        report=report,
        by=by,
        model=model,
        save=save,
        seed=seed,
        error_budget=error_budget,
        analyzer=analyzer,
        force_classes=force_classes,
        language=language,
        exact=exact,
        as_json=as_json,
        force=force,
        quiet=quiet,
    )
    large = LargeOptions(engine, workers, scheduler, tuple(tls or ()), memory_limit, block_rows, resume, bad_rows)
    in_blocks = model is None and (large.asked() or is_large(options))
    options.check(large=in_blocks)
    if in_blocks:
        label_large(options, large)
    elif model is not None:
        large.refuse_with_model()
        label_with_model(options)
    else:
        label_files(options)
