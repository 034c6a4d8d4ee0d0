"""Files larger than memory: when a command reads in blocks, and what it refuses then."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from isthmus.cli.common import say
from isthmus.corpus.formats import can_cut, split_sheet
from isthmus.exceptions import UsageError
from isthmus.request import Request

STREAM_BYTES = 256 * 2**20  # files larger than this together are read in blocks where the method can
_TLS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
NOT_IN_MEMORY = "Reading in blocks; files are not loaded into memory."


def asks_for_blocks(request: Request) -> bool:
    """Whether an option was given that only a run in blocks has."""
    return any(spec.group == "blocks" for spec in request.given())


def in_blocks(request: Request) -> bool:
    """Whether the files are better read in blocks than held in memory, and can be."""
    files = request.files
    needs_memory = any(not spec.blocks for spec in request.given())
    if needs_memory or len(files) < 2 or "-" in (request.output, *files):
        return False
    if not all(looks_sharded(path) or can_cut(path) for path in files):
        return False
    if any(map(looks_sharded, files)):
        return True
    return all(Path(path).is_file() for path in files) and sum(map(os.path.getsize, files)) > STREAM_BYTES


def check_blocks(request: Request) -> None:
    """Refuse what no run in blocks can do."""
    request.refuse_given("Runs in blocks hold no collection in memory", can="blocks")
    files = request.files
    if len(files) < 2:
        raise UsageError("A run in blocks needs SOURCE and TARGET.")
    if "-" in (request.output, *files):
        raise UsageError("Runs in blocks read and write files; name them, and the output with -o.")
    if request.tls and not request.scheduler:
        raise UsageError("--tls is for --scheduler ADDRESS.")


def read_tls(given: Sequence[str]) -> dict[str, str]:
    """Names and files of ``--tls`` as dask calls them."""
    fields = {}
    for pair in given:
        name, sign, path = pair.partition("=")
        if name not in _TLS or not sign:
            raise UsageError(f"--tls {pair!r}; give ca=FILE, cert=FILE or key=FILE.")
        fields[_TLS[name]] = path
    return fields


@contextmanager
def resumable() -> Iterator[None]:
    """Say how a run that is stopped can be continued."""
    try:
        yield
    except KeyboardInterrupt:
        say("What was done is kept: the same command with --resume continues from there.")
        raise


def looks_sharded(path: str) -> bool:
    """Whether a name stands for several tables: a folder of them, or a pattern."""
    if os.path.isdir(path):
        return any(can_cut(name) for name in os.listdir(path))
    return glob.has_magic(path) and not os.path.exists(path) and split_sheet(path)[1] is None


def files_written(output: str, rows: Sequence[dict]) -> list[str]:
    return [str(Path(output, row["output"])) if "input" in row else row["output"] for row in rows]
