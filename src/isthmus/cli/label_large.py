"""``isthmus label`` on files larger than memory, on one machine or on a cluster."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus.cli import label_run
from isthmus.cli.common import note_guarded, say, talking
from isthmus.cli.label_run import LabelOptions, expectation_record, finish, run_record
from isthmus.corpus.blocks import can_stream
from isthmus.exceptions import UsageError

Engine = Annotated[
    str | None,
    typer.Option("--engine", help="Read the files in blocks, in this process (local) or on a cluster (dask)."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="With --engine dask: processes to start.")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A dask scheduler that is running already.")
]
Tls = Annotated[
    list[str] | None,
    typer.Option("--tls", metavar="NAME=FILE", help="For --scheduler: ca, cert or key; repeatable."),
]
MemoryLimit = Annotated[
    str | None, typer.Option("--memory-limit", metavar="SIZE", help="With --workers: memory of each, such as 2GB.")
]
BlockRows = Annotated[
    int | None, typer.Option("--block-rows", min=1, metavar="N", help="Rows that are read at once (50000).")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue a run in blocks that was stopped.")]

_TLS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
_WHOLE = {
    "report": "--report",
    "by": "--by",
    "save": "--save",
    "answers": "--answers",
    "target_label": "--target-label",
    "words": "--words",
    "extra": "--extra",
    "vectors": "--vectors",
    "sheet": "--sheet",
}


@dataclass(frozen=True)
class LargeOptions:
    """How a run in blocks is to be done."""

    engine: str | None = None
    workers: int | None = None
    scheduler: str | None = None
    tls: tuple[str, ...] = ()
    memory_limit: str | None = None
    block_rows: int | None = None
    resume: bool = False
    bad_rows: Path | None = None

    def asked(self) -> bool:
        """Whether any of it was given."""
        return self != LargeOptions()

    def refuse_with_model(self) -> None:
        if self.asked():
            raise UsageError("--model labels in memory; leave out the options for blocks.", code="bad-parameter")

    def check(self, output: str, files: Sequence[str]) -> None:
        """What no run in blocks can do is refused."""
        if "-" in (output, *files):
            raise UsageError(
                "Runs in blocks read and write files; name them, and the output with -o.", code="bad-parameter"
            )
        if self.engine not in (None, "local", "dask"):
            raise UsageError(f"--engine {self.engine!r}; use local or dask.", code="bad-parameter")
        if self.tls and not self.scheduler:
            raise UsageError("--tls is for --scheduler ADDRESS.", code="bad-parameter")

    def settings(self) -> dict[str, Any]:
        """The same as the library's functions take it."""
        settings: dict[str, Any] = {
            "engine": self.engine,
            "workers": self.workers,
            "scheduler": self.scheduler,
            "tls": self.security(),
            "memory_limit": self.memory_limit,
            "resume": self.resume,
        }
        return settings if self.block_rows is None else settings | {"block_rows": self.block_rows}

    def security(self) -> dict[str, str]:
        """Names and files of ``--tls`` as dask calls them."""
        found = {}
        for given in self.tls:
            name, sign, path = given.partition("=")
            if name not in _TLS or not sign:
                raise UsageError(f"--tls {given!r}; give ca=FILE, cert=FILE or key=FILE.", code="bad-parameter")
            found[_TLS[name]] = path
        return found


@contextmanager
def resumable() -> Iterator[None]:
    """Whoever stops a run is told how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        say("What was done is kept: the same command with --resume goes on from there.")
        raise


def is_table(path: str) -> bool:
    """Whether the ending names a format that can be read in blocks; asked without loading what reads it."""
    return can_stream(path) or path.lower().endswith(".parquet")


def looks_sharded(path: str) -> bool:
    """Whether a name stands for several tables: a folder of them, or a pattern."""
    if os.path.isdir(path):
        return any(is_table(name) for name in os.listdir(path))
    return glob.has_magic(path) and not os.path.exists(path)


def can_be_large(options: LabelOptions) -> bool:
    """Whether what is asked for can be done in blocks."""
    from isthmus.scale import METHODS

    if options.method not in (*METHODS, "auto") or _whole(options) or len(options.files) < 2 or options.output == "-":
        return False
    return all(path != "-" and (looks_sharded(path) or is_table(path)) for path in options.files)


def is_large(options: LabelOptions) -> bool:
    """Whether the files are better read in blocks than held in memory, and can be."""
    if not can_be_large(options):
        return False
    if any(map(looks_sharded, options.files)):
        return True
    readable = all(Path(path).is_file() for path in options.files)
    return readable and sum(Path(path).stat().st_size for path in options.files) > label_run.STREAM_BYTES


def _whole(options: LabelOptions) -> list[str]:
    """Options that need all documents in memory."""
    return [shown for name, shown in _WHOLE.items() if getattr(options, name)]


def label_large(options: LabelOptions, large: LargeOptions) -> None:
    """Label in blocks; memory grows with the vocabulary, not with the files."""
    from isthmus.scale import label_files

    _check(options, large)
    if not options.quiet:
        say("read in blocks, none of the files is held in memory")
    with talking(options.quiet), resumable():
        result = label_files(
            options.files[:-1],
            options.target,
            options.output,
            method=options.method,
            **_settings(options, large),
        )
        note_guarded(result.guarded_cells)
    if not options.quiet:
        for note in result.notes:
            say(f"  {note}")
        if result.bad_rows:
            say(f"set aside: {result.bad_rows:,} rows that cannot be read, in {large.bad_rows}")
    written = [str(Path(options.output, row["output"])) if "input" in row else row["output"] for row in result.files]
    summary: dict[str, Any] = {
        **{name: value for name, value in asdict(result).items() if name not in ("files", "expected_accuracy")},
        "why": result.decision[0]["why"] if result.decision else "",
        "expected_accuracy": expectation_record(result.expected_accuracy),
        "output": options.output,
    }
    inputs = [{"path": path} for path in options.files]
    record = run_record(options.for_record(), inputs, {"blocks": True}, result.method, result.decision)
    record |= {name: summary[name] for name in ("expected_accuracy", "novel", "warnings", "bad_rows")}
    finish(options, summary, record | {"files": result.files}, written)


def _check(options: LabelOptions, large: LargeOptions) -> None:
    refused = _whole(options)
    if refused:
        raise UsageError(
            f"Runs in blocks hold no collection in memory, so {', '.join(refused)} cannot be used with them.",
            code="bad-parameter",
        )
    if len(options.files) < 2:
        raise UsageError("A run in blocks needs SOURCE and TARGET.", code="bad-parameter")
    large.check(options.output, options.files)


def _settings(options: LabelOptions, large: LargeOptions) -> dict[str, Any]:
    return {
        **large.settings(),
        "bad_rows": large.bad_rows,
        "text": _names(options.text),
        "label": options.label,
        "target_text": _names(options.target_text),
        "error_budget": options.budget,
        "analyzer": options.analyzer,
        "language": options.language,
        "random_state": options.seed,
        "force": options.force,
        "spreadsheet_safe": not options.exact,
        "force_classes": options.force_classes,
    }


def _names(given: Sequence[str] | None) -> Sequence[str] | None:
    return given if given else None
