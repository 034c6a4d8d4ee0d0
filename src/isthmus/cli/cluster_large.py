"""``isthmus cluster`` on files larger than memory, on one machine or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._utils import plural, versions
from isthmus.cli import label_run
from isthmus.cli.common import one_line, print_json, run_record_path, say, talking, write_json
from isthmus.cli.label_large import LargeOptions, is_table, looks_sharded, resumable
from isthmus.exceptions import UsageError


@dataclass(frozen=True)
class ClusterOptions:
    """The options of the command that a run in blocks needs."""

    source: str
    target: str
    output: str
    settings: dict[str, Any]
    report: Path | None = None
    save: Path | None = None
    as_json: bool = False
    quiet: bool = False

    @property
    def whole(self) -> list[str]:
        """Options that need all documents in memory."""
        return [name for name, given in (("--report", self.report), ("--save", self.save)) if given]


def is_large(options: ClusterOptions) -> bool:
    """Whether the files are better read in blocks than held in memory, and can be."""
    files = (options.source, options.target)
    if options.whole or "-" in (options.output, *files) or not all(looks_sharded(f) or is_table(f) for f in files):
        return False
    if any(map(looks_sharded, files)):
        return True
    return all(Path(f).is_file() for f in files) and sum(Path(f).stat().st_size for f in files) > label_run.STREAM_BYTES


def split_names(given: str | None) -> list[str] | None:
    """Names of columns, by comma."""
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def cluster_large(options: ClusterOptions, large: LargeOptions) -> None:
    """Group in blocks; memory grows with the vocabulary, not with the files."""
    from isthmus.scale import cluster_files

    if options.whole:
        raise UsageError(
            f"Runs in blocks hold no collection in memory, so {', '.join(options.whole)} cannot be used with them.",
            code="bad-parameter",
        )
    large.check(options.output, (options.source, options.target))
    if not options.quiet:
        say("read in blocks, none of the files is held in memory")
    with talking(options.quiet), resumable():
        result = cluster_files(options.source, options.target, options.output, **options.settings, **large.settings())
    written = [str(Path(options.output, row["output"])) if "input" in row else row["output"] for row in result.files]
    clusters = [
        {"cluster": i, "name": name, "size": size, "aligned_to": group, "strength": strength}
        for i, (name, size, group, strength) in enumerate(
            zip(result.names, result.sizes, result.aligned_to, result.strength, strict=True)
        )
    ]
    summary = {"clusters": clusters, "passes": result.n_iter, "termination": result.termination}
    if Path(options.output).is_file():
        record = run_record_path(Path(options.output))
        inputs = [{"path": path} for path in (options.source, options.target)]
        write_json(record, _record(options, inputs, summary, result.files))
        written.append(str(record))
    summary |= {"output": options.output, "files": written}
    if not options.quiet:
        _tell(summary)
    if options.as_json:
        print_json(summary)


def _record(options: ClusterOptions, inputs: list[dict], summary: dict[str, Any], files: list[dict]) -> dict[str, Any]:
    return {
        "command": "isthmus cluster",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": Path(options.output).name,
        "inputs": inputs,
        "settings": {**options.settings, "blocks": True},
        **summary,
        "files": files,
        "versions": versions(),
    }


def _tell(summary: dict[str, Any]) -> None:
    for row in summary["clusters"]:
        aligned = "new" if row["aligned_to"] is None else f"aligned with {row['aligned_to']}, {row['strength']:.2f}"
        say(one_line(f"cluster {row['cluster']}: {row['name']}, {plural(row['size'], 'document')} ({aligned})"))
    for file in summary["files"]:
        say(one_line(f"wrote {file}"))
