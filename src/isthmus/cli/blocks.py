"""Files larger than memory: when a command reads in blocks, and which options it refuses then."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from isthmus.cli.common import say
from isthmus.corpus.formats import can_cut, split_sheet
from isthmus.exceptions import UsageError
from isthmus.options import LARGE, JobOptions

STREAM_BYTES = 256 * 2**20  # total size in bytes above which files are read in blocks, if the method supports it
# Parts of --tls with their names in dask.
_TLS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
NOT_IN_MEMORY = "Reading in blocks; files are not loaded into memory."


def asks_for_blocks(request: JobOptions) -> bool:
    """Return whether an option was given that only runs in blocks have.

    Parameters
    ----------
    request : JobOptions
        Options of the command.

    Returns
    -------
    bool
        True if there is one.
    """
    return any(spec.group == LARGE for spec in request.given())


def in_blocks(request: JobOptions) -> bool:
    """Return whether the files should be read in blocks, and can be.

    Parameters
    ----------
    request : JobOptions
        Options of the command.

    Returns
    -------
    bool
        True for large files without an option that needs memory.
    """
    files = request.files
    # Options that runs in blocks do not support keep the files in memory.
    needs_memory = any(not spec.blocks for spec in request.given())
    if needs_memory or len(files) < 2 or "-" in (request.output, *files):
        return False
    if not all(looks_sharded(path) or can_cut(path) for path in files):
        return False
    # Several tables may not fit into memory, whatever the size of each.
    if any(map(looks_sharded, files)):
        return True
    return all(Path(path).is_file() for path in files) and sum(map(os.path.getsize, files)) > STREAM_BYTES


def check_blocks(request: JobOptions) -> None:
    """Raise an error if the options do not fit a run in blocks.

    Parameters
    ----------
    request : JobOptions
        Options of the command.

    Raises
    ------
    UsageError
        If an option or a file cannot be used.
    """
    request.refuse_given("Runs in blocks hold no collection in memory", can="blocks")
    files = request.files
    if len(files) < 2:
        raise UsageError("A run in blocks needs SOURCE and TARGET.")
    if "-" in (request.output, *files):
        raise UsageError("Runs in blocks read and write files; name them, and the output with -o.")
    if request.tls and not request.scheduler:
        raise UsageError("--tls is for --scheduler ADDRESS.")


def read_tls(given: Sequence[str]) -> dict[str, str]:
    """Parse the parts of ``--tls``.

    Parameters
    ----------
    given : Sequence[str]
        Parts such as "ca=FILE".

    Returns
    -------
    dict[str, str]
        Files by dask's names.

    Raises
    ------
    UsageError
        If a part has another form.
    """
    fields = {}
    for pair in given:
        name, sign, path = pair.partition("=")
        if name not in _TLS or not sign:
            raise UsageError(f"--tls {pair!r}; give ca=FILE, cert=FILE or key=FILE.")
        fields[_TLS[name]] = path
    return fields


@contextmanager
def resumable() -> Iterator[None]:
    """Explain after Ctrl-C how to continue the run.

    Yields
    ------
    None
        Nothing.
    """
    try:
        yield
    except KeyboardInterrupt:
        say("The finished part is stored: the same command with --resume continues from there.")
        raise


def looks_sharded(path: str) -> bool:
    """Return whether a name means several tables: a folder of tables or a pattern.

    Parameters
    ----------
    path : str
        Name of a file or folder, or a pattern.

    Returns
    -------
    bool
        True for several tables.
    """
    if os.path.isdir(path):
        return any(can_cut(name) for name in os.listdir(path))
    # A file whose name contains brackets, or the sheet of a workbook, is one table.
    return glob.has_magic(path) and not os.path.exists(path) and split_sheet(path)[1] is None


def files_written(output: str, rows: Sequence[dict]) -> list[str]:
    """Return the paths of the files that a run in blocks has written.

    Parameters
    ----------
    output : str
        Output of the run.
    rows : Sequence[dict]
        Records of the files.

    Returns
    -------
    list[str]
        Paths.
    """
    return [str(Path(output, row["output"])) if "input" in row else row["output"] for row in rows]
