"""Turn public archives into the files that :func:`isthmus.corpus.load_dataset` reads.

Each importer takes a folder or a .tar.gz, .tgz or .zip in the layout of the original distribution and gives records
in the form of the benchmark file of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from isthmus.corpus.importers.amazon import amazon_records
from isthmus.corpus.importers.archive import Archive
from isthmus.corpus.importers.newsgroups import newsgroups_records
from isthmus.corpus.importers.reuters import reuters_records
from isthmus.corpus.importers.sraa import sraa_records
from isthmus.corpus.write import write_records
from isthmus.exceptions import DataError, UsageError

IMPORTERS: dict[str, Callable[[Archive], Iterator[dict]]] = {
    "newsgroups20": newsgroups_records,
    "reuters21578": reuters_records,
    "amazon_reviews": amazon_records,
    "sraa": sraa_records,
}


def import_records(name: str, path: str | Path) -> Iterator[dict]:
    """Records of the archive at ``path``, read as the data set ``name``."""
    if name not in IMPORTERS:
        raise UsageError(f"No importer is called {name!r}; there are: {', '.join(IMPORTERS)}.", code="unknown-name")
    archive = Archive(path)
    found = False
    for record in IMPORTERS[name](archive):
        found = True
        yield record
    if not found:
        raise DataError(
            f"{archive.name} holds no document in the layout of {name}; the docs page on corpora shows it.",
            code="empty-file",
        )


def import_dataset(name: str, path: str | Path, output: str | Path | None = None, *, force: bool = False) -> int:
    """Write the data set file ``output`` (``NAME.jsonl.gz`` if omitted) from the archive; gives back the documents."""
    return write_records(output or f"{name}.jsonl.gz", import_records(name, path), force=force)


__all__ = ["IMPORTERS", "Archive", "import_dataset", "import_records"]
