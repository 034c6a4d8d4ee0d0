"""``isthmus cluster``: read grouped documents and ungrouped documents, write named clusters."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Any

from isthmus._streams import check_standard_output
from isthmus._utils import plural
from isthmus.cli.blocks import (
    NOT_IN_MEMORY,
    asks_for_blocks,
    check_blocks,
    files_written,
    in_blocks,
    read_tls,
    resumable,
)
from isthmus.cli.command import refuse, takes_options
from isthmus.cli.common import (
    MOST_LINES,
    count_cores,
    describe,
    fit_lines,
    free_name,
    print_json,
    say,
    say_outcome,
    talking,
    taught_files,
)
from isthmus.cli.inputs import join_collections, warn_of_same_file
from isthmus.cli.outputs import (
    check_outputs,
    describe_input,
    keeping,
    report_and_model,
    run_record,
    write_files,
    write_record,
)
from isthmus.cli.progress import plan_stages
from isthmus.corpus import read_collection, with_columns
from isthmus.corpus.guess import list_columns, shorten
from isthmus.corpus.write import check_table
from isthmus.exceptions import UsageError
from isthmus.features.languages import resolve_language
from isthmus.options import ClusterOptions, in_flags

# Columns that the command adds.
ADDED = ("cluster", "cluster_name", "aligned_to", "strength")
FILES = (
    "Grouped documents (one file or several), then the documents to group: csv, tsv, jsonl, parquet, xlsx, a folder, "
    "or -."
)
EXAMPLE = "Example: isthmus cluster motorcycles.csv cars.csv -o grouped.csv --clusters 5"


@takes_options(ClusterOptions, "SOURCE… TARGET", FILES)
def cluster(request: ClusterOptions) -> None:
    """Group the documents of TARGET, following the groups of SOURCE where they fit.

    Every column of TARGET is kept; cluster, cluster_name, aligned_to and strength are added. A run.json next to the
    output
    contains everything needed to repeat the run. Several sources are matched with the target one by one, so that their
    groups may differ. Files that are large together, folders of tables and patterns are read in blocks.
    """
    # Splitting a class of a saved result shares the command but no other option.
    if request.within is not None or request.names:
        split_result(request)
        return
    _check(request)
    large = asks_for_blocks(request) or (len(request.files) == 2 and in_blocks(request))
    if large:
        summary, record = cluster_large(request)
    else:
        # Refuse outputs before minutes of work.
        check_outputs(request.output, request.report, request.force, request.save, inputs=request.files)
        summary, record = cluster_in_memory(request)
    summary["files"] = write_record(request.output, record, summary["files"])
    if not request.quiet:
        say_outcome(describe_outcome(summary), summary["files"], describe_next(request, large=large))
    if request.as_json:
        print_json(summary)


def _check(request: ClusterOptions) -> None:
    """Raise an error if the options cannot work, before anything is read."""
    request.check()
    refuse(
        (len(request.files) < 2, f"{plural(len(request.files), 'file')} given; name SOURCE, then TARGET."),
        (request.files.count("-") > 1, "Two files are '-'; only one can be standard input."),
    )
    read_pivots(request.pivots)
    if request.as_json:
        check_standard_output()
    on_stdout = request.as_json and request.output == "-"
    refuse((on_stdout, "--json prints on stdout; name a file for the clusters with -o OUT."))
    resolve_language(request.language)


def split_result(request: ClusterOptions) -> None:
    """Split a class of a saved result into groups, and name them.

    Parameters
    ----------
    request : ClusterOptions
        Options of the command.

    Raises
    ------
    UsageError
        If the options do not fit.
    """
    request.check()
    # Every other option would have no effect, so it is refused.
    allowed = ("files", "within", "names", "clusters", "output", "exact", "as_json", "force", "quiet")
    idle = [spec.shown for spec in request.given() if spec.name not in allowed]
    if request.within is None or len(request.files) != 1 or idle:
        extra = f" and leave out {', '.join(idle)}" if idle else ""
        raise UsageError(f"--within splits a class of one saved result; give RESULT and --within LABEL{extra}.")
    if request.as_json and request.output == "-":
        raise UsageError("--json prints on stdout; name a file for the documents with -o OUT.")
    check_outputs(request.output, None, request.force, inputs=request.files)
    names = read_subtopic_names(request.names)
    with talking(request.quiet):
        from isthmus.saving import load

        found = load(request.files[0], kind="label").split(request.within, request.clusters)
        table = found.name(names) if names else found.columns()
        written = write_files(request.output, table, {}, force=request.force, exact=request.exact)
    if request.as_json:
        print_json({"within": found.within, "groups": found.groups, "output": request.output, "files": written})
    if not request.quiet:
        lines = fit_lines(str(found).splitlines(), MOST_LINES - 2, "in the table")
        say_outcome(lines, written, describe_split_next(request, bool(names)))


def read_subtopic_names(given: Sequence[str]) -> dict[str, str]:
    """Parse the names of groups, such as ``1=manners``.

    Parameters
    ----------
    given : Sequence[str]
        Pairs of a number and a name.

    Returns
    -------
    dict[str, str]
        Name by number.

    Raises
    ------
    UsageError
        If a pair has another form or names a group twice.
    """
    names: dict[str, str] = {}
    for pair in given:
        number, sign, name = pair.partition("=")
        if not sign:
            raise UsageError(f"--name {pair!r}; give the number of a group and the name of its class, as in 1=manners.")
        # Two names for one group are probably a typing error.
        if number in names:
            raise UsageError(f"--name {pair!r} names a group again that is called {names[number]!r}; give one name.")
        names[number] = name
    return names


def describe_split_next(request: ClusterOptions, named: bool) -> str:
    """Return what to do after a split.

    Parameters
    ----------
    request : ClusterOptions
        Options of the command.
    named : bool
        Whether the groups have got names.

    Returns
    -------
    str
        One sentence.
    """
    result = shlex.quote(str(request.files[0]))
    if not named:
        split = f"--within {shlex.quote(str(request.within))}"
        if request.clusters is not None:  # with another number of groups, the numbers would mean other documents
            split += f" --clusters {request.clusters}"
        output = free_name("answers.csv")
        return f"Name the groups worth a class: isthmus cluster {result} {split} --name 1=CLASS -o {output}"
    answers = "ANSWERS" if request.output == "-" else shlex.quote(request.output)
    return f"Learn them: isthmus teach {result} {answers} {taught_files()}"


def cluster_in_memory(request: ClusterOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the files, group the documents and write the outputs.

    Parameters
    ----------
    request : ClusterOptions
        Options of the command.

    Returns
    -------
    tuple[dict[str, Any], dict[str, Any]]
        Figures of the outcome, and the record of the run.
    """
    *sources, target = request.files
    with talking(request.quiet) as line:
        warn_of_same_file(sources)
        read = [read_collection(path, text=request.text, label=request.label, want_labels=True) for path in sources]
        target_docs = read_collection(target, text=request.target_text or request.text, want_labels=False)
        for docs in read:
            describe(docs, "source", request.quiet)
        describe(target_docs, "target", request.quiet)
        source_docs, names = (read[0], None) if len(read) == 1 else join_collections(read)
        collections = list(dict.fromkeys(names or ()))
        # A worksheet with too many rows is refused before the work.
        check_table(request.output, target_docs.table(), added=len(ADDED))
        line.expect(plan_stages("cluster", source_docs, target_docs, report=request.report, save=request.save))
        # Imported here, so that a missing file is reported without delay.
        from isthmus.api.cluster import cluster as group_texts

        count_cores()
        result = group_texts(
            source_docs.texts,
            source_docs.labels,
            target_docs.texts,
            n_clusters=request.clusters,
            method=request.method,
            guidance=request.guidance,
            random_state=request.seed,
            analyzer=request.analyzer,
            language=request.language,
            # The library numbers collections from 1; the outcome below names them.
            source_collections=names and [collections.index(name) + 1 for name in names],
            pivots=read_pivots(request.pivots),
        )
        written = _write(result, source_docs, target_docs, request)
    inputs = [describe_input(*pair) for pair in zip(request.files, [*read, target_docs], strict=True)]
    found = {"n_clusters": len(result.names), "guidance": result.model.guidance_}
    record = _record(request, inputs, result.settings, found)
    summary = summarise(result, source_docs, target_docs, request.output, written)
    if names:
        # With several sources, a group's name alone would be ambiguous.
        for row, match in zip(summary["clusters"], result.alignment, strict=True):
            row["source"] = None if match.collection is None else collections[match.collection - 1]
    return summary, record


def cluster_large(request: ClusterOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Group documents in blocks, for files larger than memory.

    Parameters
    ----------
    request : ClusterOptions
        Options of the command.

    Returns
    -------
    tuple[dict[str, Any], dict[str, Any]]
        Figures of the outcome, and the record of the run.

    Raises
    ------
    UsageError
        If an option or a file cannot be used in blocks.
    """
    from isthmus.scale.cluster import cluster_in_blocks

    check_blocks(request)
    if len(request.files) > 2:
        raise UsageError(
            "Several sources are matched one by one, which a run in blocks cannot do; join them in one file, or leave "
            "out the options for blocks."
        )
    source, target = request.files
    if not request.quiet:
        say(NOT_IN_MEMORY)
    with talking(request.quiet), resumable():
        count_cores()
        result = cluster_in_blocks(request, source, target, tls=read_tls(request.tls))
    columns = zip(result.names, result.sizes, result.aligned_to, result.strength, strict=True)
    clusters = [
        {"cluster": i, "name": name, "size": size, "aligned_to": group, "strength": strength}
        for i, (name, size, group, strength) in enumerate(columns)
    ]
    outcome = {
        "clusters": clusters,
        "guidance": result.guidance,
        "passes": result.n_iter,
        "termination": result.termination,
    }
    inputs = [{"path": path} for path in request.files]
    record = _record(request, inputs, {**request.for_record(), "blocks": True}, {**outcome, "files": result.files})
    return {**outcome, "output": request.output, "files": files_written(request.output, result.files)}, record


def _write(result, source, target, request: ClusterOptions) -> list[str]:
    """Write the outputs and return their names."""
    from isthmus.report import write_cluster_report

    columns = result.columns()
    write_report = partial(write_cluster_report, source=source, target=target)
    makers = report_and_model(result, request.report, request.save, write_report)
    added = {name: columns[name] for name in ADDED}
    table = with_columns(target.table(), added)
    with keeping(added, target.ids, request.output):
        return write_files(request.output, table, makers, force=request.force, exact=request.exact)


def _record(
    request: ClusterOptions, inputs: list[dict], settings: dict[str, Any], outcome: dict[str, Any]
) -> dict[str, Any]:
    """Return the content of ``run.json``."""
    options = request.for_record()
    return run_record("cluster", request.output, inputs, options=options, settings=settings, **outcome)


def read_pivots(given: Sequence[str]) -> dict[str, float]:
    """Parse words with weights, such as ``bank=0``.

    Parameters
    ----------
    given : Sequence[str]
        Pairs of a word and a weight.

    Returns
    -------
    dict[str, float]
        Weight by word.

    Raises
    ------
    UsageError
        If a pair has another form.
    """
    weights = {}
    for pair in given:
        # The last sign separates the weight, because a word may contain one.
        word, sign, weight = pair.rpartition("=")
        try:
            weights[word] = float(weight)
        except ValueError:
            sign = ""
        if not sign or not word:
            raise UsageError(f"--pivot {pair!r}; give a word and a weight from 0 to 1, as in bank=0.")
    return weights


def summarise(result, source, target, output: str, written: list[str]) -> dict[str, Any]:
    """Return the figures of a result for messages and JSON.

    Parameters
    ----------
    result
        Result of the clustering.
    source
        Grouped documents.
    target
        Ungrouped documents.
    output : str
        Path of the output.
    written : list[str]
        Names of the written files.

    Returns
    -------
    dict[str, Any]
        Figures by name.
    """
    clusters = [
        {name: row[name] for name in ("cluster", "name", "size", "aligned_to", "strength", "words", "pivots")}
        for row in result.clusters(top=6, documents=0)
    ]
    matched = {match.group for match in result.alignment if match.group is not None}
    # Groups that no cluster follows are reported, because users expect all of them.
    groups = sorted({str(label) for label in source.labels if label is not None})
    return {
        "source_documents": len(source),
        "target_documents": len(target),
        "clusters": clusters,
        "guidance": result.model.guidance_,
        "source_helps": None if result.guidance_estimate is None else result.guidance_estimate.helps,
        "guidance_estimate": None if result.guidance_estimate is None else result.guidance_estimate.reason,
        "groups_not_used": [group for group in groups if group not in {str(name) for name in matched}],
        "output": output,
        "files": written,
    }


def describe_outcome(summary: dict[str, Any]) -> list[str]:
    """Describe a result in at most six lines, with the largest clusters first.

    Parameters
    ----------
    summary : dict[str, Any]
        Figures of the outcome.

    Returns
    -------
    list[str]
        Lines.
    """
    last = [f"note: {in_flags(summary['guidance_estimate'])}"] if summary.get("source_helps") is False else []
    if summary.get("groups_not_used"):
        last.append(f"source groups without a cluster: {list_columns(summary['groups_not_used'])}")
    # The largest clusters matter most if not all fit on the screen.
    by_size = sorted(summary["clusters"], key=lambda row: -row["size"])
    return [*fit_lines(list(map(describe_cluster, by_size)), MOST_LINES - 2 - len(last), "in the table"), *last]


def describe_cluster(row: dict[str, Any]) -> str:
    """Describe a cluster in one line.

    Parameters
    ----------
    row : dict[str, Any]
        Figures of the cluster.

    Returns
    -------
    str
        The line.
    """
    group = row["aligned_to"]
    of = f" of {shorten(row['source'])}" if row.get("source") else ""
    aligned = "new" if group is None else f"aligned with {shorten(group)}{of}, {row['strength']:.2f}"
    words = f": {list_columns(row['words'])}" if "words" in row else ""
    return f"cluster {row['cluster']}: {shorten(row['name'])}, {plural(row['size'], 'document')} ({aligned}){words}"


def describe_next(request: ClusterOptions, *, large: bool) -> str:
    """Return what to do after clustering; runs in blocks write no report.

    Parameters
    ----------
    request : ClusterOptions
        Options of the command.
    large : bool
        Whether the run read in blocks.

    Returns
    -------
    str
        One sentence.
    """
    if large:
        return f"Read some documents of each cluster in {request.output}, those with the highest strength first."
    if request.report is not None:
        return f"Open {request.report} and read the most typical documents of each cluster."
    return "Read the most typical documents of each cluster: the same command with --report page.html shows them."
