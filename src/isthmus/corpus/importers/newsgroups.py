"""20 Newsgroups, the "bydate" distribution: ``20news-bydate-train/GROUP/NUMBER`` and ``…-test/GROUP/NUMBER``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from isthmus.corpus.importers.archive import Archive, natural_key, plain_text


def newsgroups_records(archive: Archive) -> Iterator[dict]:
    """Whole messages, Latin-1; training part first, as in the benchmark file."""
    held = []
    for place, data in archive.files():
        split = _split(place)
        if split is not None:
            held.append((split != "train", place, split, data))
    for _, place, split, data in sorted(held, key=lambda item: (item[0], natural_key(item[1]))):
        group = place.parent.name
        yield {
            "id": f"{group}/{place.name}",
            "text": plain_text(data),
            "label": group,
            "domain": group.split(".")[0],
            "split": split,
        }


def _split(place: PurePosixPath) -> str | None:
    """train or test, from the folder two levels up; None for files that are no messages."""
    if len(place.parts) < 3 or "." not in place.parent.name:
        return None
    folder = place.parent.parent.name.lower()
    return next((part for part in ("train", "test") if folder.endswith(part)), None)
