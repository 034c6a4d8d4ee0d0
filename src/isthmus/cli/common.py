"""Functions that commands share: messages and progress on standard error, JSON, and the paths of records."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Annotated, Any

from isthmus._progress import listen
from isthmus._streams import one_line, say, stop_if_asked, write_data
from isthmus._utils import plural, warn
from isthmus.cli.command import flag
from isthmus.cli.progress import ProgressLine, ticking
from isthmus.corpus import Collection
from isthmus.corpus.decode import mend_surrogates
from isthmus.corpus.folders import list_files
from isthmus.corpus.formats import split_sheet
from isthmus.corpus.guess import shorten
from isthmus.exceptions import IsthmusWarning
from isthmus.options import in_flags

Target = Annotated[Path | None, flag("--target FILE", "File that was labelled, if RESULT lacks its columns.")]
MOST_LINES = 8  # lines about the outcome on a terminal, including written files and the next step
_COUNTS = re.compile(r"(?<=^note: )[\d,]+ of [\d,]+ ")


@contextmanager
def talking(quiet: bool) -> Iterator[ProgressLine]:
    """Show progress, and each warning once, on standard error while the block runs.

    Parameters
    ----------
    quiet : bool
        Whether to show nothing.

    Yields
    ------
    ProgressLine
        The line of progress.
    """
    line = ProgressLine()
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
            # Even a quiet command must stop after Ctrl-C.
            with listen(lambda event: stop_if_asked()):
                yield line
            return
        warnings.simplefilter("always", IsthmusWarning)
        said = set()

        def show(message, category, *where, **more):
            """Print a warning unless a similar one was printed."""
            code = f" [{message.code}]" if isinstance(message, IsthmusWarning) else ""
            note = f"note: {one_line(in_flags(str(message)))}{code}"
            # Methods and folds repeat warnings with other numbers of documents; the comparison ignores them.
            gist = _COUNTS.sub("", note)
            if gist not in said:
                said.add(gist)
                say(note)

        # catch_warnings restores the former function at the end.
        warnings.showwarning = show
        with listen(line), ticking(line):
            yield line


def count_cores() -> None:
    """Count physical cores before a fit does: joblib remembers the number, and warns if it cannot be found."""
    from joblib import cpu_count

    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # joblib also prints part of a traceback
        warnings.simplefilter("ignore")
        cpu_count(only_physical_cores=True)


def describe(docs: Collection, role: str, quiet: bool) -> None:
    """Report what was read: size, columns, classes and problems.

    Parameters
    ----------
    docs : Collection
        Documents that were read.
    role : str
        Role of the documents, such as "source".
    quiet : bool
        Whether to print nothing.
    """
    if quiet:
        return
    encoding = f", {docs.encoding}" if docs.encoding else ""
    say(f"{role}: {one_line(docs.name)}, {plural(len(docs), 'document')}{encoding}")
    for note in docs.notes:
        say(f"  {one_line(in_flags(note))}")
    counts = Counter(label for label in docs.labels if label is not None)
    if counts:
        # At most 12 classes, so that the line stays readable.
        shown = ", ".join(f"{one_line(shorten(name))} {count:,}" for name, count in counts.most_common(12))
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        missing = sum(label is None for label in docs.labels)
        say(f"  classes: {shown}{more}" + (f"; {missing:,} without a label" if missing else ""))
    for finding in docs.checks():
        say(f"  check: {one_line(finding['message'])}")


def say_outcome(lines: Sequence[str], files: Sequence[str] = (), step: str = "") -> None:
    """Report how a command ended: the outcome, the written files and the next step.

    Parameters
    ----------
    lines : Sequence[str]
        Lines about the outcome.
    files : Sequence[str], default=()
        Names of the written files.
    step : str, default=""
        What to do next.
    """
    tail = [f"wrote {', '.join(files)}"] if files else []
    tail += [f"next: {step}"] if step else []
    for line in [*lines, *tail]:
        say(one_line(line))


def free_name(name: str) -> str:
    """Return a name, with a number if the file exists, so that a suggested command can run unchanged.

    Parameters
    ----------
    name : str
        Name of a file.

    Returns
    -------
    str
        Name of a file that does not exist.
    """
    path, number = Path(name), 1
    while path.exists():
        number += 1
        path = Path(f"{Path(name).stem}{number}{Path(name).suffix}")
    return str(path)


def taught_files() -> str:
    """Return the options with which a suggested ``isthmus teach`` writes its table and its saved result.

    Returns
    -------
    str
        Part of a command.
    """
    return f"-o {free_name('taught.csv')} --save {free_name('taught.isthmus')}"


def fit_lines(lines: Sequence[str], most: int, where: str) -> list[str]:
    """Shorten a list of lines that is too long for a screen.

    Parameters
    ----------
    lines : Sequence[str]
        Lines.
    most : int
        Largest number of lines.
    where : str
        How to see the omitted lines.

    Returns
    -------
    list[str]
        At most ``most`` lines.

    Examples
    --------
    >>> fit_lines(["staff: 3", "price: 2", "service: 1"], 2, "in labelled.csv")
    ['staff: 3', 'and 2 more, in labelled.csv']
    """
    return list(lines) if len(lines) <= most else [*lines[: most - 1], f"and {len(lines) - most + 1} more, {where}"]


def print_json(content: Any) -> None:
    """Write JSON to standard output, in ASCII if its encoding lacks a character.

    Parameters
    ----------
    content : Any
        Any combination of dicts, lists, numbers and texts.
    """
    text = as_json_text(content)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = as_json_text(content, ensure_ascii=True)
    write_data(text)


def as_json_text(content: Any, *, ensure_ascii: bool = False) -> str:
    """Return JSON that can be written anywhere: bytes of file names that are not UTF-8 become U+FFFD.

    Parameters
    ----------
    content : Any
        Any combination of dicts, lists, numbers and texts.
    ensure_ascii : bool, default=False
        Whether to escape all characters outside ASCII.

    Returns
    -------
    str
        JSON with a final line break.
    """
    return mend_surrogates(json.dumps(content, ensure_ascii=ensure_ascii, indent=2)) + "\n"


def note_guarded(count: int) -> None:
    """Warn about cells that got an apostrophe so that a spreadsheet does not run them as formulas.

    Parameters
    ----------
    count : int
        Number of cells.
    """
    if count:
        message = (
            f"{plural(count, 'cell that begins', 'cells that begin')} with =, +, - or @ (or a tab, or a line break) "
            "got an apostrophe in front, so that a spreadsheet does not run them; --exact writes the texts byte for "
            "byte"
        )
        warn(message, code="guarded-cells")


def run_record_path(output: Path) -> Path:
    """Return the path of a run's record: ``run.json`` next to the output, or another name if that one is taken.

    Parameters
    ----------
    output : Path
        Path of the output.

    Returns
    -------
    Path
        Path of the record.
    """
    numbers = (f"{output.name}.run.{number}.json" for number in itertools.count(2))
    # Several outputs in one folder each keep their own record.
    names = itertools.chain(("run.json", f"{output.name}.run.json"), numbers)
    return next(path for path in (output.parent / name for name in names) if _is_free_or_ours(path, output.name))


def _is_free_or_ours(path: Path, output: str) -> bool:
    """Return whether a path is unused, or contains the record of the same output."""
    # A broken link is not free: writing through it would create its target.
    if not os.path.lexists(path):
        return True
    try:
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(record, dict):
        return False
    return str(record.get("command", "")).startswith("isthmus ") and record.get("output") == output


def file_hash(path: str | os.PathLike, known: str | None = None) -> str | None:
    """Compute the hash of a file, or of all files of a folder with their names.

    Parameters
    ----------
    path : str | os.PathLike
        Path; "-" is standard input.
    known : str, optional
        Hash that is already known.

    Returns
    -------
    str or None
        SHA-256 hash in hexadecimal digits, or None for standard input.
    """
    if known is not None:
        return known
    if str(path) == "-":
        return None
    import hashlib

    digest = hashlib.sha256()
    place = split_sheet(path)[0]
    files = list_files(place) if place.is_dir() else [place]
    for file in files:
        if file.is_file():
            if place.is_dir():
                # The names are part of the hash, so that renaming a file changes it.
                digest.update(str(file.relative_to(place)).encode("utf-8", "surrogateescape"))
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
