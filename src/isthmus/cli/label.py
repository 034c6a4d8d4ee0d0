"""``isthmus label``: two files in, a labelled file out."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus.cli.common import describe, file_hash, run_record_path, say, talking, versions, write_json
from isthmus.corpus import Collection, check_output, read_collection, with_columns, write_rows
from isthmus.exceptions import DataError, UsageError

STREAM_BYTES = 256 * 2**20  # files larger than this together are read in blocks where the method can


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("label")(label)


def label(
    source: Annotated[
        str,
        typer.Argument(
            help="Labelled documents: csv, tsv, jsonl, parquet, xlsx, a folder, or -. Left out with --model."
        ),
    ],
    target: Annotated[str | None, typer.Argument(help="Documents to label, in any of these forms.")] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="COL", help="Text column; guessed if left out.")] = None,
    label_column: Annotated[
        str | None, typer.Option("--label", metavar="COL", help="Label column of the source; guessed if left out.")
    ] = None,
    target_text: Annotated[
        str | None, typer.Option("--target-text", metavar="COL", help="Text column of the target, where it differs.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="A method, or auto; an unknown name lists them all.")
    ] = "auto",
    words: Annotated[
        Path | None, typer.Option("--words", metavar="FILE", help="Labelled words (columns word, label, weight).")
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="OUT", help="Where the labelled target goes; - is stdout.")
    ] = "-",
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write a report page.")] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Label by a saved model, without SOURCE.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the model with its texts and labels.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same answer.")] = 0,
    error_budget: Annotated[
        float | None,
        typer.Option("--error-budget", help="Share of wrong labels tolerated among those not to be reviewed (0.1)."),
    ] = None,
    analyzer: Annotated[str, typer.Option("--analyzer", help="auto, words, bigrams or chars.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No talk on standard error.")] = False,
) -> None:
    """Label the documents of TARGET with the labels of SOURCE, or by a saved model (--model FILE TARGET).

    Every column of TARGET is kept; label, confidence and needs_review are added. A run.json beside the output says
    how to repeat the run.
    """
    from isthmus.recipes import get_recipe

    if method != "auto":
        get_recipe(method)
    if model is not None:
        label_saved(
            model,
            source,
            target,
            text,
            target_text,
            method,
            words,
            save,
            error_budget,
            output,
            report,
            as_json,
            force,
            quiet,
        )
        return
    if target is None:
        raise UsageError(
            "TARGET is missing: isthmus label SOURCE TARGET, or --model FILE TARGET.", code="bad-parameter"
        )
    error_budget = 0.1 if error_budget is None else error_budget
    if source == "-" and target == "-":
        raise UsageError("Both SOURCE and TARGET are '-'; only one can be standard input.", code="bad-parameter")
    if as_json and output == "-":
        raise UsageError("--json prints on stdout; name a file for the labels with -o OUT.", code="bad-parameter")
    check_outputs(output, report, force, save)
    if method == "projection" and is_large(source, target) and report is None and words is None and save is None:
        stream_label(
            source, target, output, text, label_column, target_text, error_budget, analyzer, as_json, force, quiet
        )
        return
    with talking(quiet):
        source_docs = read_collection(source, text=text, label=label_column, want_labels=True)
        target_docs = read_collection(target, text=target_text or text, want_labels=False)
        describe(source_docs, "source", quiet)
        describe(target_docs, "target", quiet)
        result = label_collections(
            source_docs,
            target_docs,
            method=method,
            words=words,
            seed=seed,
            error_budget=error_budget,
            analyzer=analyzer,
        )
        result.ids = list(target_docs.ids)
        written = write_outputs(result, source_docs, target_docs, output, report, force, save)
    inputs = [describe_input(source, source_docs), describe_input(target, target_docs)]
    if words is not None:
        inputs.append({"path": str(words), "sha256": file_hash(words)})
    conclude(result, source_docs, target_docs, inputs, output, written, as_json, quiet)


def conclude(result, source, target, inputs: list[dict], output: str, written: list[str], as_json: bool, quiet: bool):
    """The record beside the output, and the outcome on the terminal."""
    summary = summarise(result, source, target, output, written)
    if output != "-":
        record = run_record_path(Path(output))
        write_json(record, run_record(result, inputs, Path(output)))
        summary["files"] = [*written, str(record)]
    if not quiet:
        tell(summary)
    if as_json:
        print_json(summary)


def label_saved(
    model: Path,
    target: str,
    second: str | None,
    text: str | None,
    target_text: str | None,
    method: str,
    words: Path | None,
    save: Path | None,
    error_budget: float | None,
    output: str,
    report: Path | None,
    as_json: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Label later documents by a saved model, without refitting."""
    from isthmus.keep import load

    if second is not None:
        raise UsageError(
            "--model needs no SOURCE; give one file: isthmus label --model FILE TARGET.", code="bad-parameter"
        )
    if method != "auto" or words is not None or save is not None:
        raise UsageError("--model refits nothing; leave out --method, --words and --save.", code="bad-parameter")
    if as_json and output == "-":
        raise UsageError("--json prints on stdout; name a file for the labels with -o OUT.", code="bad-parameter")
    check_outputs(output, report, force)
    with talking(quiet):
        saved = load(model)
        if error_budget is not None:
            saved.settings = {**saved.settings, "error_budget": error_budget}
        target_docs = read_collection(target, text=target_text or text, want_labels=False)
        describe(target_docs, "target", quiet)
        result = saved.label_new(target_docs.texts, ids=target_docs.ids)
        source_docs = Collection.from_texts(
            saved.source_texts, list(saved.source_labels), name=f"source of {model.name}"
        )
        written = write_outputs(result, source_docs, target_docs, output, report, force)
    inputs = [{"path": str(model), "sha256": file_hash(model)}, describe_input(target, target_docs)]
    conclude(result, source_docs, target_docs, inputs, output, written, as_json, quiet)


def is_large(*paths: str) -> bool:
    """Whether the files are better read in blocks than held in memory, and can be."""
    from isthmus.corpus.blocks import can_stream

    readable = all(path != "-" and Path(path).is_file() and can_stream(path) for path in paths)
    return readable and sum(Path(path).stat().st_size for path in paths) > STREAM_BYTES


def stream_label(
    source: str,
    target: str,
    output: str,
    text: str | None,
    label_column: str | None,
    target_text: str | None,
    error_budget: float,
    analyzer: str,
    as_json: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Label by term projection block by block; memory grows with the vocabulary, not with the files."""
    from isthmus.choose import review_mask
    from isthmus.classify.projection_stream import label_stream

    if not quiet:
        say("large files: read in blocks, none is held in memory; needs_review goes by the budget within each block")
    with talking(quiet):
        outcome = label_stream(
            source,
            target,
            output,
            text=text,
            label=label_column,
            target_text=target_text,
            analyzer=analyzer,
            review=lambda confidence: review_mask(confidence, error_budget),
            force=force,
        )
    summary = {"method": "projection", "why": "named by the caller", **outcome, "output": output, "files": []}
    if output != "-":
        settings = {"method": "projection", "error_budget": error_budget, "analyzer": analyzer, "blocks": True}
        record = run_record_path(Path(output))
        inputs = [{"path": path, "sha256": file_hash(path)} for path in (source, target)]
        write_json(record, record_of(Path(output), inputs, settings, "projection", []))
        summary["files"] = [output, str(record)]
    if not quiet:
        tell(summary)
    if as_json:
        print_json(summary)


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    json.dump(content, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def check_outputs(output: str, report: Path | None, force: bool, save: Path | None = None) -> None:
    """Refuse outputs that could not be written before any work is done."""
    check_output(output, force=force)
    places = {} if output == "-" else {Path(output).resolve(): "-o"}
    for option, path in (("--report", report), ("--save", save)):
        if path is None:
            continue
        check_output(path, force=force, table=False)
        other = places.setdefault(path.resolve(), option)
        if other != option:
            raise UsageError(f"{other} and {option} name the same file; give them two names.", code="bad-parameter")


def label_collections(
    source: Collection,
    target: Collection,
    *,
    method: str,
    words: Path | None = None,
    seed: int = 0,
    error_budget: float = 0.1,
    analyzer: str = "auto",
):
    """Label one collection from another."""
    from isthmus.api import label as label_texts

    word_labels = None
    if words is not None:
        from isthmus.corpus.words import read_words

        word_labels = read_words(words)
    if len({name for name in source.labels if name is not None}) < 2:
        only = next(name for name in source.labels if name is not None)
        raise DataError(
            f"All labelled documents of {source.name} carry the label {only!r}; at least two classes are needed. "
            "Check --label.",
            code="one-class",
        )
    return label_texts(
        source.texts,
        source.labels,
        target.texts,
        method=method,
        word_labels=word_labels,
        random_state=seed,
        error_budget=error_budget,
        analyzer=analyzer,
    )


def write_outputs(
    result, source, target, output: str, report: Path | None, force: bool, save: Path | None = None
) -> list[str]:
    """The labelled table and, if asked for, the report and the saved model; names of the files written."""
    columns = result.columns()
    added = {name: columns[name] for name in ("label", "confidence", "needs_review")}
    beside: list[Path] = []
    try:
        if report is not None:
            from isthmus.report import write_label_report

            beside.append(write_label_report(result, report, force=force, source=source, target=target))
        if save is not None:
            beside.append(result.save(save, force=force))
        write_rows(output, with_columns(target.table(), added), force=force)
    except BaseException:
        for path in beside:
            path.unlink(missing_ok=True)
        raise
    return [*([output] if output != "-" else []), *map(str, beside)]


def describe_input(path: str, docs: Collection) -> dict[str, Any]:
    """What the record says about an input."""
    return {"path": path, "documents": len(docs), "sha256": file_hash(path, docs.sha256), "notes": docs.notes}


def run_record(result, inputs: list[dict], output: Path) -> dict[str, Any]:
    """Everything needed to repeat the run."""
    return record_of(output, inputs, result.settings, result.method, result.decision)


def record_of(output: Path, inputs: list[dict], settings: dict, method: str, decision: list[dict]) -> dict[str, Any]:
    """The record's form, whatever made the labels."""
    return {
        "command": "isthmus label",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": output.name,
        "inputs": inputs,
        "settings": settings,
        "method": method,
        "decision": decision,
        "versions": versions(),
    }


def summarise(result, source: Collection, target: Collection, output: str, written: list[str]) -> dict[str, Any]:
    """The outcome in a few numbers."""
    return {
        "method": result.method,
        "why": next(row["why"] for row in result.decision if row["chosen"]),
        "source_documents": len(source),
        "target_documents": len(target),
        "labels": dict(Counter(str(name) for name in result.labels.tolist()).most_common()),
        "mean_confidence": round(float(result.confidence.mean()), 4),
        "needs_review": int(result.needs_review.sum()),
        "output": output,
        "files": written,
    }


def tell(summary: dict[str, Any]) -> None:
    """The outcome in a few lines."""
    say(f"method: {summary['method']} ({summary['why']})")
    say("labels: " + ", ".join(f"{' '.join(name.split())} {count:,}" for name, count in summary["labels"].items()))
    say(
        f"confidence: {summary['mean_confidence']:.2f} on average; {summary['needs_review']:,} of "
        f"{summary['target_documents']:,} documents need review"
    )
    for file in summary["files"]:
        say(f"wrote {file}")
