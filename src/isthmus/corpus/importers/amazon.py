"""Multi-Domain Sentiment, the "unprocessed" distribution: ``sorted_data_acl/DOMAIN/{positive,negative}.review``.

The files look like XML and are not: ampersands and angle brackets stand as they are, and control characters mark places
where a letter was lost. They are therefore read by their tags, one review at a time.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from isthmus.corpus.importers.archive import Archive, blank_controls

_REVIEW = re.compile(r"<review>(.*?)</review>", re.S)
_LOST = re.compile("[\x1a\ufffd]")  # SUB is what the distribution's own conversion left of a letter it could not keep
_DOMAINS = {"kitchen_&_housewares": "kitchen", "kitchen_housewares": "kitchen"}
_LABELS = ("positive", "negative")


def amazon_records(archive: Archive) -> Iterator[dict]:
    """The labelled reviews: domains in order, positive before negative; repeats marked by ``dup_of``."""
    held: dict[tuple[str, int], bytes] = {}
    for place, data in archive.files():
        if place.suffix == ".review" and place.stem in _LABELS:
            held[_domain(place), _LABELS.index(place.stem)] = data
    first: dict[str, str] = {}
    for (domain, polarity), data in sorted(held.items()):
        label = _LABELS[polarity]
        for number, match in enumerate(_REVIEW.finditer(_decode(data))):
            record = _record(match.group(1), f"{domain}-{label}-{number:04d}", label, domain)
            form = " ".join(re.findall(r"\w+", record["text"].casefold()))
            origin = first.setdefault(form, record["id"])
            yield record if origin == record["id"] or not form else {**record, "dup_of": origin}


def _domain(place: PurePosixPath) -> str:
    folder = place.parent.name
    return _DOMAINS.get(folder, folder)


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def _record(review: str, name: str, label: str, domain: str) -> dict:
    rating = _field(review, "rating")
    return {
        "id": name,
        "text": _field(review, "review_text"),
        "label": label,
        "domain": domain,
        "title": _field(review, "title"),
        "rating": _number(rating),
        "product": _field(review, "product_name"),
        "asin": _field(review, "asin"),
    }


def _field(review: str, tag: str) -> str:
    """Content of the first ``<tag>``, entities decoded; empty where the tag is missing or never closed."""
    match = re.search(rf"<{tag}>(.*?)</{tag}>", review, re.S)
    return blank_controls(_LOST.sub("\ufffd", html.unescape(match.group(1)))).strip() if match else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
