"""``isthmus cluster``: grouped documents and ungrouped documents in, named clusters out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus._streams import check_standard_output
from isthmus._utils import plural, versions
from isthmus.cli.cluster_large import ClusterOptions, cluster_large, is_large, split_names
from isthmus.cli.common import (
    Exact,
    Language,
    describe,
    one_line,
    print_json,
    run_record_path,
    say,
    talking,
    write_json,
)
from isthmus.cli.label_large import BlockRows, Engine, LargeOptions, MemoryLimit, Resume, Scheduler, Tls, Workers
from isthmus.cli.outputs import Makers, announced, check_outputs, describe_input, keeping, write_files
from isthmus.corpus import read_collection, with_columns
from isthmus.corpus.guess import list_columns, shorten
from isthmus.corpus.write import check_table
from isthmus.exceptions import UsageError
from isthmus.features.languages import resolve_language

ADDED = ("cluster", "cluster_name", "aligned_to", "strength")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("cluster", epilog="Example: isthmus cluster motorcycles.csv cars.csv -o grouped.csv --clusters 5")(
        cluster
    )


def cluster(
    source: Annotated[str, typer.Argument(help="Grouped documents: csv, tsv, jsonl, parquet, xlsx, a folder, or -.")],
    target: Annotated[str, typer.Argument(help="Documents to group, in any of these forms.")],
    text: Annotated[str | None, typer.Option("--text", metavar="COL", help="Text column; guessed if omitted.")] = None,
    label_column: Annotated[
        str | None, typer.Option("--label", metavar="COL", help="Column with the source's groups; guessed if omitted.")
    ] = None,
    target_text: Annotated[
        str | None, typer.Option("--target-text", metavar="COL", help="Text column of the target, where it differs.")
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option("--clusters", metavar="K", min=1, help="Number of clusters; as fine as the source if omitted."),
    ] = None,
    guidance: Annotated[
        float, typer.Option("--guidance", min=0.0, max=1.0, help="Weight of the source; 0 is plain k-means.")
    ] = 0.5,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="OUT", help="Where the grouped target goes; - is stdout.")
    ] = "-",
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write a report page.")] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the model with its texts and clusters.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Same seed, same answer.")] = 0,
    analyzer: Annotated[str, typer.Option("--analyzer", help="auto, words, bigrams, trigrams or chars.")] = "auto",
    language: Language = "auto",
    engine: Engine = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    tls: Tls = None,
    memory_limit: MemoryLimit = None,
    block_rows: BlockRows = None,
    resume: Resume = False,
    exact: Exact = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress and notes.")] = False,
) -> None:
    """Group the documents of TARGET, following the groups of SOURCE where they fit.

    Every column of TARGET is kept; cluster, cluster_name, aligned_to and strength are added. A run.json beside the
    output says how to repeat the run. Files that are large together, folders of tables and patterns are read in blocks.
    """
    if source == "-" and target == "-":
        raise UsageError("Both SOURCE and TARGET are '-'; only one can be standard input.", code="bad-parameter")
    if as_json:
        check_standard_output()
    if as_json and output == "-":
        raise UsageError("--json prints on stdout; name a file for the clusters with -o OUT.", code="bad-parameter")
    resolve_language(language)
    large = LargeOptions(engine, workers, scheduler, tuple(tls or ()), memory_limit, block_rows, resume)
    settings = {"n_clusters": clusters, "guidance": guidance, "text": split_names(text), "label": label_column}
    settings |= {"target_text": split_names(target_text), "analyzer": analyzer, "language": language}
    settings |= {"random_state": seed, "force": force, "spreadsheet_safe": not exact}
    in_blocks = ClusterOptions(source, target, output, settings, report, save, as_json, quiet)
    if large.asked() or is_large(in_blocks):
        cluster_large(in_blocks, large)
        return
    check_outputs(output, report, force, save, inputs=(source, target))
    with talking(quiet):
        source_docs = read_collection(source, text=text, label=label_column, want_labels=True)
        target_docs = read_collection(target, text=target_text or text, want_labels=False)
        describe(source_docs, "source", quiet)
        describe(target_docs, "target", quiet)
        check_table(output, target_docs.table(), added=len(ADDED))
        result = _group(source_docs, target_docs, clusters, guidance, seed, analyzer, language)
        written = _write(result, source_docs, target_docs, output, report=report, save=save, force=force, exact=exact)
    summary = summarise(result, source_docs, target_docs, output, written)
    if output != "-" and Path(output).is_file():  # not a device
        inputs = [describe_input(source, source_docs), describe_input(target, target_docs)]
        record = run_record_path(Path(output))
        write_json(record, _record(result, inputs, Path(output)))
        summary["files"] = [*written, str(record)]
    if not quiet:
        tell(summary)
    if as_json:
        print_json(summary)


def _group(source, target, clusters, guidance, seed, analyzer, language):
    from isthmus.api.cluster import cluster as group_texts

    return group_texts(
        source.texts,
        source.labels,
        target.texts,
        n_clusters=clusters,
        guidance=guidance,
        random_state=seed,
        analyzer=analyzer,
        language=language,
    )


def _write(
    result, source, target, output: str, *, report: Path | None, save: Path | None, force: bool, exact: bool
) -> list[str]:
    from isthmus.report import write_cluster_report

    columns = result.columns()
    makers: Makers = {
        report: announced(
            "writing the report",
            lambda path: write_cluster_report(result, path, force=True, source=source, target=target),
        ),
        save: announced("saving the model", lambda path: result.save(path, force=True)),
    }
    added = {name: columns[name] for name in ADDED}
    with keeping(added, target.ids, output):
        return write_files(output, with_columns(target.table(), added), makers, force=force, exact=exact)


def _record(result, inputs: list[dict], output: Path) -> dict[str, Any]:
    return {
        "command": "isthmus cluster",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": output.name,
        "inputs": inputs,
        "settings": result.settings,
        "n_clusters": len(result.names),
        "versions": versions(),
    }


def summarise(result, source, target, output: str, written: list[str]) -> dict[str, Any]:
    """The outcome in a few numbers."""
    clusters = [
        {name: row[name] for name in ("cluster", "name", "size", "aligned_to", "strength", "words")}
        for row in result.clusters(top=6, documents=0)
    ]
    matched = {match.group for match in result.alignment if match.group is not None}
    groups = sorted({str(label) for label in source.labels if label is not None})
    return {
        "source_documents": len(source),
        "target_documents": len(target),
        "clusters": clusters,
        "source_helps": None if result.guidance_estimate is None else result.guidance_estimate.helps,
        "guidance_estimate": None if result.guidance_estimate is None else result.guidance_estimate.reason,
        "groups_not_used": [group for group in groups if group not in {str(name) for name in matched}],
        "output": output,
        "files": written,
    }


def tell(summary: dict[str, Any]) -> None:
    """The outcome in a few lines."""
    for row in summary["clusters"]:
        aligned = (
            "new" if row["aligned_to"] is None else f"aligned with {shorten(row['aligned_to'])}, {row['strength']:.2f}"
        )
        words, size = list_columns(row["words"]), plural(row["size"], "document")
        say(one_line(f"cluster {row['cluster']}: {shorten(row['name'])}, {size} ({aligned}): {words}"))
    if summary["source_helps"] is False:
        say(f"note: {summary['guidance_estimate']}")
    if summary["groups_not_used"]:
        say(one_line(f"source groups without a cluster: {list_columns(summary['groups_not_used'])}"))
    for file in summary["files"]:
        say(one_line(f"wrote {file}"))
