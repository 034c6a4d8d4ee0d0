"""SRAA: one sub-folder per class, ``realauto``, ``realaviation``, ``simauto``, ``simaviation``."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.corpus.importers.archive import Archive, plain_text

_GROUPS = {
    "realauto": ("auto", "real"),
    "realaviation": ("aviation", "real"),
    "simauto": ("auto", "simulated"),
    "simaviation": ("aviation", "simulated"),
}


def sraa_records(archive: Archive) -> Iterator[dict]:
    """Messages with the subject as ``label`` and real or simulated as ``domain``; ``group`` keeps the folder."""
    for place, data in archive.files():
        group = next((part.lower() for part in place.parts[:-1] if part.lower() in _GROUPS), None)
        if group is None:
            continue
        label, domain = _GROUPS[group]
        yield {
            "id": f"{group}/{place.name}",
            "text": plain_text(data),
            "label": label,
            "domain": domain,
            "group": group,
        }
