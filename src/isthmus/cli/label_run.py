"""What ``isthmus label`` does once its options are read: three ways to labels, one way to write them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._streams import check_standard_output
from isthmus._utils import plural, versions
from isthmus.api.saving import check_saved_file
from isthmus.cli.common import (
    describe,
    file_hash,
    one_line,
    print_json,
    run_record_path,
    say,
    talking,
    write_json,
)
from isthmus.cli.inputs import Columns, label_half, read_inputs
from isthmus.cli.outputs import Makers, announced, check_outputs, describe_input, keeping, write_files
from isthmus.corpus import Collection, with_columns
from isthmus.corpus.decode import shown_name
from isthmus.corpus.guess import check_label_kind, list_columns, shorten
from isthmus.corpus.sheets import Layout
from isthmus.corpus.write import check_table
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.features.languages import resolve_language

SHOWN = 30  # classes counted on the terminal
STREAM_BYTES = 256 * 2**20  # files larger than this together are read in blocks where the method can
ADDED = ("label", "confidence", "needs_review", "novel_group")
ANALYZERS = ("auto", "words", "bigrams", "trigrams", "chars")


@dataclass
class LabelOptions:
    """The options of the command, as given."""

    files: list[str]
    text: list[str] | None = None
    label: str | None = None
    target_text: list[str] | None = None
    id: str | None = None
    sheet: str | None = None
    answers: Path | None = None
    target_label: str | None = None
    trust_machine_labels: bool = False
    method: str = "auto"
    words: Path | None = None
    extra: tuple[Path, ...] = ()
    embed: str | None = None
    vectors: str | None = None
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

    @property
    def target(self) -> str:
        """The last file."""
        return self.files[-1]

    @property
    def columns(self) -> Columns:
        """How the files are to be read."""
        return Columns(
            text=self.text,
            label=self.label,
            id=self.id,
            target_text=self.target_text,
            target_label=self.target_label,
            sheet=self.sheet,
            trust_machine_labels=self.trust_machine_labels,
        )

    def check(self, *, large: bool = False) -> None:
        """Refuse what cannot work before anything is read; a large run looks at its output itself."""
        from isthmus.recipes import get_recipe

        if self.method != "auto":
            get_recipe(self.method)
        if "" in self.files:
            raise UsageError("A file name is empty; name SOURCE and TARGET.", code="bad-parameter")
        if self.files.count("-") > 1:
            raise UsageError("Two files are '-'; only one can be standard input.", code="bad-parameter")
        if self.model and (self.method != "auto" or self.words or self.save or self.answers or self.target_label):
            raise UsageError(
                "--model refits nothing; leave out --method, --words, --save, --answers and --target-label.",
                code="bad-parameter",
            )
        if self.model and (self.extra or self.embed):
            raise UsageError("--model refits nothing; leave out --extra and --embed.", code="bad-parameter")
        if self.embed is not None and self.vectors is not None:
            raise UsageError("--embed makes vectors and --vectors names them; give one of them.", code="bad-parameter")
        if self.answers and self.target_label:
            raise UsageError("Give --answers or --target-label, not both.", code="bad-parameter")
        if self.as_json:
            check_standard_output()
        if self.as_json and self.output == "-":
            raise UsageError("--json prints on stdout; name a file for the labels with -o OUT.", code="bad-parameter")
        if not 0 <= self.budget <= 1:
            raise UsageError(f"--error-budget {self.budget:g}; give a share between 0 and 1.", code="bad-parameter")
        if self.analyzer not in ANALYZERS:
            raise UsageError(f"--analyzer {self.analyzer!r}; use one of {', '.join(ANALYZERS)}.", code="bad-parameter")
        resolve_language(self.language)
        if self.by is not None and self.report is None:
            raise UsageError("--by breaks the report down; name one with --report HTML.", code="bad-parameter")
        inputs = (*self.files, self.words, self.model, self.answers, *self.extra)
        if not large:
            check_outputs(self.output, self.report, self.force, self.save, inputs=inputs)
        if self.model:
            check_saved_file(self.model)

    def for_record(self) -> dict[str, Any]:
        """The options that were not left out, as plain values."""
        skipped = ("as_json", "force", "quiet")
        given = {name: value for name, value in asdict(self).items() if name not in skipped and value not in (None, "")}
        given = {name: value[0] if _is_single(value) else value for name, value in given.items() if name != "files"}
        given.pop("extra", None)
        if self.extra:
            given["extra"] = [str(path) for path in self.extra]
        files = {"source": self.files[0] if len(self.files) == 2 else self.files[:-1], "target": self.target}
        return {name: str(value) if isinstance(value, Path) else value for name, value in (files | given).items()}


def _is_single(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1


def label_files(options: LabelOptions) -> None:
    """Read the collections, label the target, write."""
    with talking(options.quiet):
        inputs = read_inputs(options.files, options.columns, options.quiet)
        source, target = inputs.source, inputs.target
        if options.by is not None:
            find_column(target, options.by)  # a wrong name is told before the work, not after it
        check_table(options.output, target.table(), added=len(ADDED))
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
            source_domain=inputs.source_domain,
            target_labels=inputs.target_labels,
            extra=[options.columns.read(str(path), target=True) for path in options.extra],
            embed=options.embed,
            vectors=options.vectors,
        )
        if options.answers is not None:
            result = teach_from_file(result, options.answers)
        places = {"report": options.report, "save": options.save}
        whole = inputs.half_labelled
        added = None if whole is None else label_half(whole, result)
        table = None if whole is None or added is None else with_columns(whole.table(), added)
        written = write_outputs(
            result,
            source,
            target,
            options.output,
            by=options.by,
            force=options.force,
            exact=options.exact,
            table=table,
            **places,
        )
    for path in (options.words, options.answers, *options.extra):
        if path is not None:
            inputs.records.append({"path": str(path), "sha256": file_hash(path)})
    if result.learned is not None and not options.quiet:
        for line in str(result.learned).splitlines():
            say(one_line(line))
    conclude(options, result, len(source), inputs.records, written)


def label_with_model(options: LabelOptions) -> None:
    """Label later documents by a saved model, without refitting."""
    from isthmus.api.loading import load
    from isthmus.api.saving import import_skops_quickly

    with talking(options.quiet):
        import_skops_quickly()
        saved = load(options.model, kind="label")
        if options.error_budget is not None:
            saved.settings = {**saved.settings, "error_budget": options.error_budget}
        target = options.columns.read(options.target, target=True)
        describe(target, "target", options.quiet)
        check_table(options.output, target.table(), added=len(ADDED))
        vectors = None if options.vectors is None else column_vectors(target, options.vectors)
        result = saved.label_new(target.texts, ids=target.ids, vectors=vectors)
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
    source_domain: list[str] | None = None,
    target_labels: list | None = None,
    extra: Sequence[Collection] = (),
    embed: str | None = None,
    vectors: str | None = None,
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
        source_domain=source_domain,
        target_labels=target_labels,
        extra_texts=[text for part in extra for text in part.texts],
        embed=False if embed == "none" else embed,
        vectors=None if vectors is None else [column_vectors(part, vectors) for part in _parts(source, target, extra)],
    )
    result.ids = list(target.ids)
    return result


def teach_from_file(result, path: str | Path | None, *, words: Path | None = None, without: str | None = None):
    """A labelling that has learned from a file of answers, and from one of labelled words."""
    answers = None if path is None else Path(path)
    return result.teach(answers, word_labels=read_word_answers(words), without=without)


def read_word_answers(path: Path | None) -> dict[str, dict[str, float]] | None:
    """Labelled words; what ``isthmus ask --words`` wrote may have rows that were left blank."""
    if path is None:
        return None
    from isthmus.corpus.words import read_words

    return read_words(path, blanks=True)


def column_vectors(collection: Collection, column: str) -> Any:
    """The vectors in a column of a collection."""
    from isthmus.corpus.vectors import read_vectors

    return read_vectors(find_column(collection, column, option="--vectors"), column, collection.name)


def _parts(source: Collection, target: Collection, extra: Sequence[Collection]) -> list[Collection]:
    """Collections in the order of their vectors; further ones count as one."""
    if not extra:
        return [source, target]
    texts = [text for part in extra for text in part.texts]
    columns = {name: [cell for part in extra for cell in part.columns[name]] for name in extra[0].columns}
    return [source, target, Collection.from_texts(texts, name=extra[0].name, columns=columns)]


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
    table: dict[str, list] | None = None,
) -> list[str]:
    """The labelled table and, if asked for, the report and the saved model; names of the files written.

    ``table`` is written where the rows are not those of the target alone.
    """
    columns = result.columns()
    added = {name: columns[name] for name in ADDED}
    places = {"table": None if output == "-" else output, "saved": save}
    files = {name: str(place) for name, place in places.items() if place is not None}
    column = None if by is None else (by, find_column(target, by))

    def write_report(path):
        from isthmus.report import write_label_report  # here, for most runs write none

        write_label_report(result, path, force=True, source=source, target=target, files=files, by=column)

    makers: Makers = {
        report: announced("writing the report", write_report),
        save: announced("saving the model", lambda path: result.save(path, force=True)),
    }
    table = with_columns(target.table(), added) if table is None else table
    with keeping(added, target.ids, output):
        return write_files(output, table, makers, force=force, exact=exact, layout=review_layout(result, output))


def review_layout(result, output: str) -> Layout | None:
    """Workbooks get a second sheet to be filled in, the most doubtful documents first; ``isthmus teach`` reads it."""
    if Path(output).suffix.lower() != ".xlsx":
        return None
    order = sorted(range(len(result.texts)), key=lambda row: (not result.needs_review[row], result.confidence[row]))
    answered = {} if result.answers is None else dict(zip(result.answers.rows, result.answers.labels, strict=True))
    ids = result.ids or [str(row + 1) for row in range(len(result.texts))]
    columns = result.columns()
    review = {
        "document": [row + 1 for row in order],
        "id": [ids[row] for row in order],
        **{name: [columns[name][row] for row in order] for name in ("text", "label", "confidence", "needs_review")},
        "true_label": [answered.get(row) for row in order],
    }
    return Layout({"true_label": [str(name) for name in result.classes]}, review)


def find_column(docs: Collection, name: str, option: str = "--by") -> list:
    """Values of a column of a collection."""
    table = docs.table()
    if name not in table:
        raise UsageError(
            f"{option} {name!r} is not a column of {docs.name}; it has {list_columns(table)}.",
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
    for name in ("expected_accuracy", "novel", "warnings", "sources"):
        record[name] = summary[name]
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
    from isthmus.report.hero import why_this_method

    return {
        "method": result.method,
        "why": why_this_method(result.decision),
        "source_documents": n_source,
        "target_documents": len(result.labels),
        "labels": dict(Counter(str(name) for name in result.labels.tolist()).most_common()),
        "mean_confidence": round(float(result.confidence.mean()), 4),
        "needs_review": int(result.needs_review.sum()),
        "expected_accuracy": expectation_record(result.expected_accuracy),
        "novel": result.novel,
        "warnings": result.warnings,
        "sources": result.sources,
        "output": output,
    }


def expectation_record(expected: Any) -> dict[str, Any]:
    """The expectation as it is recorded: estimate, low and high, or nulls and the reason."""
    from isthmus.choose import AccuracyEstimate

    if expected is None:
        expected = AccuracyEstimate(None, reason="a saved model labels later documents without estimating again")
    row = asdict(expected)
    return row if expected.estimate is not None else row | {"low": None, "high": None}


def describe_worth(row: dict[str, Any]) -> str:
    """One of several sources: how near it is to the target, how far the others agree with it, whether it counts."""
    alike = row["agreement"]
    agrees = "" if alike is None else f", {alike:.0%} of its labels are what the other sources would say"
    left_out = "" if row["used"] else f"; left out, for its labels {row['why']}"
    count = plural(row["documents"], "labelled document")
    return f"{row['source']}: {count}, likeness to the target {row['likeness']:.2f}{agrees}{left_out}"


def tell(summary: dict[str, Any]) -> None:
    """The outcome in a few lines, what must be known first."""
    for row in summary.get("warnings", ()):
        say(one_line(f"take care: {row['message']}"))
    for row in summary.get("sources", ()):
        say(one_line(describe_worth(row)))
    say(one_line(f"method: {summary['method']} ({summary['why']})"))
    names = list(summary["labels"].items())
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    say("labels: " + ", ".join(f"{one_line(shorten(name))} {count:,}" for name, count in names[:SHOWN]) + more)
    say(
        f"confidence: {summary['mean_confidence']:.2f} on average; {summary['needs_review']:,} of "
        f"{plural(summary['target_documents'], 'document')} to review"
    )
    expected = summary.get("expected_accuracy")
    if expected is not None and expected["estimate"] is not None:
        from isthmus.choose import AccuracyEstimate

        say(f"expected accuracy: {AccuracyEstimate(**expected)}")
    elif expected is not None:
        say(one_line(f"expected accuracy: not estimated: {expected['reason']}"))
    for file in summary["files"]:
        say(one_line(f"wrote {file}"))
