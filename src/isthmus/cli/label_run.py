"""What ``isthmus label`` does once its options are read: three ways to labels, one way to write them."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._utils import plural, versions
from isthmus.api.saving import check_saved_file
from isthmus.cli.common import (
    describe,
    file_hash,
    note_guarded,
    one_line,
    print_json,
    run_record_path,
    say,
    talking,
    write_json,
)
from isthmus.cli.outputs import Makers, announced, check_outputs, describe_input, write_files
from isthmus.corpus import Collection, read_collection, with_columns
from isthmus.corpus.decode import shown_name
from isthmus.corpus.label_kinds import check_label_kind
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features.languages import resolve_language

STREAM_BYTES = 256 * 2**20  # files larger than this together are read in blocks where the method can
ANALYZERS = ("auto", "words", "bigrams", "trigrams", "chars")


@dataclass
class LabelOptions:
    """The options of the command, as given."""

    source: str
    target: str
    text: str | None = None
    label: str | None = None
    target_text: str | None = None
    method: str = "auto"
    words: Path | None = None
    output: str = "-"
    report: Path | None = None
    by: str | None = None
    model: Path | None = None
    save: Path | None = None
    seed: int = 0
    error_budget: float | None = None
    analyzer: str = "auto"
    force_classes: bool = False
    language: str = "auto"
    exact: bool = False
    as_json: bool = False
    force: bool = False
    quiet: bool = False

    @property
    def budget(self) -> float:
        return 0.1 if self.error_budget is None else self.error_budget

    def check(self) -> None:
        """Refuse what cannot work before anything is read."""
        from isthmus.recipes import get_recipe

        if self.method != "auto":
            get_recipe(self.method)
        if "" in ((self.target,) if self.model else (self.source, self.target)):
            raise UsageError("A file name is empty; name SOURCE and TARGET.", code="bad-parameter")
        if self.source == "-" and self.target == "-":
            raise UsageError("Both SOURCE and TARGET are '-'; only one can be standard input.", code="bad-parameter")
        if self.model and (self.method != "auto" or self.words or self.save):
            raise UsageError("--model refits nothing; leave out --method, --words and --save.", code="bad-parameter")
        if self.as_json and self.output == "-":
            raise UsageError("--json prints on stdout; name a file for the labels with -o OUT.", code="bad-parameter")
        if not 0 <= self.budget <= 1:
            raise UsageError(f"--error-budget {self.budget:g}; give a share between 0 and 1.", code="bad-parameter")
        if self.analyzer not in ANALYZERS:
            raise UsageError(f"--analyzer {self.analyzer!r}; use one of {', '.join(ANALYZERS)}.", code="bad-parameter")
        resolve_language(self.language)
        if self.by is not None and self.report is None:
            raise UsageError("--by breaks the report down; name one with --report HTML.", code="bad-parameter")
        inputs = (self.source, self.target, self.words, self.model)
        check_outputs(self.output, self.report, self.force, self.save, inputs=inputs)
        if self.model:
            check_saved_file(self.model)

    def is_large(self) -> bool:
        """Whether the files are better read in blocks than held in memory, and can be."""
        from isthmus.corpus.blocks import can_stream

        if self.method != "projection" or self.report or self.words or self.save:
            return False
        paths = (self.source, self.target)
        readable = all(path != "-" and Path(path).is_file() and can_stream(path) for path in paths)
        return readable and sum(Path(path).stat().st_size for path in paths) > STREAM_BYTES

    def for_record(self) -> dict[str, Any]:
        """The options that were not left out, as plain values."""
        skipped = ("as_json", "force", "quiet")
        given = {name: value for name, value in asdict(self).items() if name not in skipped and value not in (None, "")}
        return {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}


def label_files(options: LabelOptions) -> None:
    """Read both collections, label the target, write."""
    with talking(options.quiet):
        source = read_collection(options.source, text=options.text, label=options.label, want_labels=True)
        target = read_collection(options.target, text=options.target_text or options.text, want_labels=False)
        describe(source, "source", options.quiet)
        describe(target, "target", options.quiet)
        if options.by is not None:
            find_column(target, options.by)  # a wrong name is told before the work, not after it
        result = label_collections(
            source,
            target,
            method=options.method,
            words=options.words,
            seed=options.seed,
            error_budget=options.budget,
            analyzer=options.analyzer,
            force_classes=options.force_classes,
            language=options.language,
        )
        places = {"report": options.report, "save": options.save}
        written = write_outputs(
            result, source, target, options.output, by=options.by, force=options.force, exact=options.exact, **places
        )
    inputs = [describe_input(options.source, source), describe_input(options.target, target)]
    if options.words is not None:
        inputs.append({"path": str(options.words), "sha256": file_hash(options.words)})
    conclude(options, result, len(source), inputs, written)


def label_with_model(options: LabelOptions) -> None:
    """Label later documents by a saved model, without refitting."""
    from isthmus.api.loading import load

    with talking(options.quiet):
        saved = load(options.model, kind="label")
        if options.error_budget is not None:
            saved.settings = {**saved.settings, "error_budget": options.error_budget}
        target = read_collection(options.target, text=options.target_text or options.text, want_labels=False)
        describe(target, "target", options.quiet)
        result = saved.label_new(target.texts, ids=target.ids)
        name = f"source of {shown_name(Path(str(options.model)).name)}"
        source = Collection.from_texts(saved.source_texts, list(saved.source_labels), name=name)
        written = write_outputs(
            result,
            source,
            target,
            options.output,
            report=options.report,
            by=options.by,
            force=options.force,
            exact=options.exact,
        )
    inputs = [
        {"path": str(options.model), "sha256": file_hash(str(options.model))},
        describe_input(options.target, target),
    ]
    conclude(options, result, len(source), inputs, written)


def label_large_files(options: LabelOptions) -> None:
    """Label by term projection block by block; memory grows with the vocabulary, not with the files."""
    from isthmus.choose import review_mask
    from isthmus.classify.projection.stream import label_stream

    if not options.quiet:
        say("large files: read in blocks, none is held in memory; needs_review goes by the budget within each block")
    with talking(options.quiet):
        outcome = label_stream(
            options.source,
            options.target,
            options.output,
            text=options.text,
            label=options.label,
            target_text=options.target_text,
            analyzer=options.analyzer,
            language=options.language,
            review=lambda confidence: review_mask(confidence, options.budget),
            force=options.force,
            spreadsheet_safe=not options.exact,
        )
        note_guarded(outcome.pop("guarded_cells"))
    summary = {"method": "projection", "why": "named by the caller", **outcome, "output": options.output, "files": []}
    inputs = [{"path": path, "sha256": file_hash(path)} for path in (options.source, options.target)]
    record = run_record(options.for_record(), inputs, {"blocks": True}, "projection", [])
    finish(options, summary, record, [] if options.output == "-" else [options.output])


def label_collections(
    source: Collection,
    target: Collection,
    *,
    method: str,
    words: Path | None = None,
    seed: int = 0,
    error_budget: float = 0.1,
    analyzer: str = "auto",
    force_classes: bool = False,
    language: str = "auto",
):
    """Label one collection from another."""
    from isthmus.api.label import label as label_texts

    word_labels = None
    if words is not None:
        from isthmus.corpus.words import read_words

        word_labels = read_words(words)
    names = {name for name in source.labels if name is not None}
    if len(names) < 2:
        raise DataError(
            f"All labelled documents of {source.name} carry the label {names.pop()!r}; at least two classes are "
            "needed. Check --label.",
            code="one-class",
        )
    kind = check_label_kind(source.labels, name=f"The labels of {source.name}", force_classes=force_classes)
    if kind.message:
        warnings.warn(IsthmusWarning(f"The labels of {source.name} {kind.message}", code="data-checks"), stacklevel=2)
    result = label_texts(
        source.texts,
        source.labels,
        target.texts,
        method=method,
        word_labels=word_labels,
        random_state=seed,
        error_budget=error_budget,
        analyzer=analyzer,
        force_classes=True,  # looked at above, under the file's name
        language=language,
    )
    result.ids = list(target.ids)
    return result


def write_outputs(
    result,
    source: Collection,
    target: Collection,
    output: str,
    *,
    report: Path | None = None,
    by: str | None = None,
    save: Path | None = None,
    force: bool = False,
    exact: bool = False,
) -> list[str]:
    """The labelled table and, if asked for, the report and the saved model; names of the files written."""
    from isthmus.report import write_label_report

    columns = result.columns()
    added = {name: columns[name] for name in ("label", "confidence", "needs_review")}
    places = {"table": None if output == "-" else output, "saved": save}
    files = {name: str(place) for name, place in places.items() if place is not None}
    column = None if by is None else (by, find_column(target, by))
    makers: Makers = {
        report: announced(
            "writing the report",
            lambda path: write_label_report(
                result, path, force=True, source=source, target=target, files=files, by=column
            ),
        ),
        save: announced("saving the model", lambda path: result.save(path, force=True)),
    }
    return write_files(output, with_columns(target.table(), added), makers, force=force, exact=exact)


def find_column(docs: Collection, name: str) -> list:
    """Values of a column of a collection."""
    table = docs.table()
    if name not in table:
        raise UsageError(
            f"--by {name!r} is not a column of {docs.name}; it has {', '.join(map(repr, table))}.",
            code="unknown-column",
        )
    return table[name]


def run_record(
    options: dict[str, Any], inputs: list[dict], settings: dict, method: str, decision: list[dict]
) -> dict[str, Any]:
    """Everything needed to repeat a run."""
    return {
        "command": "isthmus label",
        "options": options,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": Path(options.get("output", "-")).name,
        "inputs": inputs,
        "settings": settings,
        "method": method,
        "decision": decision,
        "versions": versions(),
    }


def conclude(options: LabelOptions, result, n_source: int, inputs: list[dict], written: list[str]) -> None:
    """The record beside the output, and the outcome on the terminal."""
    record = run_record(options.for_record(), inputs, result.settings, result.method, result.decision)
    summary = summarise(result, n_source, options.output)
    record["expected_accuracy"] = summary["expected_accuracy"]
    finish(options, summary, record, written)


def finish(options: LabelOptions, summary: dict[str, Any], record: dict[str, Any], written: list[str]) -> None:
    """Write the record where the output is a file, and tell the outcome."""
    output = Path(options.output)
    if options.output != "-" and output.is_file():
        place = run_record_path(output)
        write_json(place, record)
        written = [*written, str(place)]
    summary["files"] = written
    if not options.quiet:
        tell(summary)
    if options.as_json:
        print_json(summary)


def summarise(result, n_source: int, output: str) -> dict[str, Any]:
    """The outcome in a few numbers."""
    from isthmus.report.decision import why_this_method

    return {
        "method": result.method,
        "why": why_this_method(result.decision),
        "source_documents": n_source,
        "target_documents": len(result.labels),
        "labels": dict(Counter(str(name) for name in result.labels.tolist()).most_common()),
        "mean_confidence": round(float(result.confidence.mean()), 4),
        "needs_review": int(result.needs_review.sum()),
        "expected_accuracy": None if result.expected_accuracy is None else asdict(result.expected_accuracy),
        "output": output,
    }


def tell(summary: dict[str, Any]) -> None:
    """The outcome in a few lines."""
    say(one_line(f"method: {summary['method']} ({summary['why']})"))
    say("labels: " + ", ".join(f"{one_line(name)} {count:,}" for name, count in summary["labels"].items()))
    say(
        f"confidence: {summary['mean_confidence']:.2f} on average; {summary['needs_review']:,} of "
        f"{plural(summary['target_documents'], 'document')} to review"
    )
    expected = summary.get("expected_accuracy")
    if expected is not None:
        from isthmus.choose import AccuracyEstimate

        say(f"expected accuracy: {AccuracyEstimate(**expected)}")
    for file in summary["files"]:
        say(one_line(f"wrote {file}"))
