"""What the commands share: notes and progress on standard error, the run record."""

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
from isthmus.request import in_flags

Target = Annotated[Path | None, flag("--target FILE", "The file that was labelled, where RESULT lacks its columns.")]
MOST_LINES = 8  # of the outcome on a terminal, with the files written and the next step
_COUNTS = re.compile(r"(?<=^note: )[\d,]+ of [\d,]+ ")


@contextmanager
def talking(quiet: bool) -> Iterator[ProgressLine]:
    """Show progress and warnings, each once, on standard error while the block runs; nothing when quiet."""
    line = ProgressLine()
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
            with listen(lambda event: stop_if_asked()):
                yield line
            return
        warnings.simplefilter("always", IsthmusWarning)
        said = set()

        def show(message, category, *where, **more):
            code = f" [{message.code}]" if isinstance(message, IsthmusWarning) else ""
            note = f"note: {one_line(in_flags(str(message)))}{code}"
            # Methods and folds repeat each other's warnings, some of them about a part of the documents.
            gist = _COUNTS.sub("", note)
            if gist not in said:
                said.add(gist)
                say(note)

        warnings.showwarning = show
        with listen(line), ticking(line):
            yield line


def count_cores() -> None:
    """Count physical cores before a fit does: joblib keeps the number, and its alarm where a machine tells none."""
    from joblib import cpu_count

    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # part of a traceback goes there, too
        warnings.simplefilter("ignore")
        cpu_count(only_physical_cores=True)


def describe(docs: Collection, role: str, quiet: bool) -> None:
    """Say what was read: size, columns, classes and oddities."""
    if quiet:
        return
    encoding = f", {docs.encoding}" if docs.encoding else ""
    say(f"{role}: {one_line(docs.name)}, {plural(len(docs), 'document')}{encoding}")
    for note in docs.notes:
        say(f"  {one_line(in_flags(note))}")
    counts = Counter(label for label in docs.labels if label is not None)
    if counts:
        shown = ", ".join(f"{one_line(shorten(name))} {count:,}" for name, count in counts.most_common(12))
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        missing = sum(label is None for label in docs.labels)
        say(f"  classes: {shown}{more}" + (f"; {missing:,} without a label" if missing else ""))
    for finding in docs.checks():
        say(f"  check: {one_line(finding['message'])}")


def say_outcome(lines: Sequence[str], files: Sequence[str] = (), step: str = "") -> None:
    """Tell how a command ended: lines that :func:`fit_lines` left, the files written, and last what to do next."""
    tail = [f"wrote {', '.join(files)}"] if files else []
    tail += [f"next: {step}"] if step else []
    for line in [*lines, *tail]:
        say(one_line(line))


def free_name(name: str) -> str:
    """The name, with a number where a file has it already: a proposed command should run as it is."""
    path, number = Path(name), 1
    while path.exists():
        number += 1
        path = Path(f"{Path(name).stem}{number}{Path(name).suffix}")
    return str(path)


def taught_files() -> str:
    """Where a proposed ``isthmus teach`` writes its table, and its labelling for what comes after."""
    return f"-o {free_name('taught.csv')} --save {free_name('taught.isthmus')}"


def fit_lines(lines: Sequence[str], most: int, where: str) -> list[str]:
    """The first lines where there are too many for a screen; ``where`` says how to see the others.

    >>> fit_lines(["staff: 3", "price: 2", "service: 1"], 2, "in labelled.csv")
    ['staff: 3', 'and 2 more, in labelled.csv']
    """
    return list(lines) if len(lines) <= most else [*lines[: most - 1], f"and {len(lines) - most + 1} more, {where}"]


def print_json(content: Any) -> None:
    """Write JSON to standard output, in plain ASCII where its encoding has no sign for a letter."""
    text = as_json_text(content)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = as_json_text(content, ensure_ascii=True)
    write_data(text)


def as_json_text(content: Any, *, ensure_ascii: bool = False) -> str:
    """JSON in which names that are not UTF-8 become U+FFFD, so that it can be written anywhere."""
    return mend_surrogates(json.dumps(content, ensure_ascii=ensure_ascii, indent=2)) + "\n"


def note_guarded(count: int) -> None:
    if count:
        message = (
            f"{plural(count, 'cell that begins', 'cells that begin')} with =, +, - or @ (or a tab, or a line break) "
            "got an apostrophe in front, so that a spreadsheet does not run them; --exact writes the texts byte for "
            "byte"
        )
        warn(message, code="guarded-cells")


def run_record_path(output: Path) -> Path:
    """``run.json`` beside the output, or ``NAME.run.json`` where that one is about another output."""
    numbers = (f"{output.name}.run.{number}.json" for number in itertools.count(2))
    names = itertools.chain(("run.json", f"{output.name}.run.json"), numbers)
    return next(path for path in (output.parent / name for name in names) if _is_free_or_ours(path, output.name))


def _is_free_or_ours(path: Path, output: str) -> bool:
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
                digest.update(str(file.relative_to(place)).encode("utf-8", "surrogateescape"))
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()
