"""Reuters-21578, Distribution 1.0: ``reut2-000.sgm`` to ``reut2-021.sgm``."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from isthmus.corpus.importers.archive import Archive, blank_controls

_STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.S)
_ATTRIBUTE = re.compile(r'([A-Z]+)\s*=\s*"([^"]*)"')
_LISTS = ("topics", "places", "people", "orgs", "exchanges")
# Control characters in the distribution are also written as references, such as &#3; before "Reuter".
_CONTROL_REFERENCE = re.compile(r"&#(?:[0-8]|1[1-9]|2\d|3[01]|127);")


def reuters_records(archive: Archive) -> Iterator[dict]:
    """Every story, in the order of its file; BRIEF stories have a title and no text, UNPROC ones text and no title."""
    for place, data in archive.files():
        if place.suffix.lower() != ".sgm":
            continue
        source = data.decode("latin-1").replace("\r\n", "\n")
        for match in _STORY.finditer(source):
            yield _record(dict(_ATTRIBUTE.findall(match.group(1))), match.group(2))


def _record(attributes: dict[str, str], story: str) -> dict:
    kind, text = _inside(story, "TEXT")
    form = dict(_ATTRIBUTE.findall(kind)).get("TYPE", "NORM")
    title, body = _inside(text, "TITLE")[1], _inside(text, "BODY")[1]
    if form == "UNPROC":
        title, body = "", text
    lists = {
        name: [_clean(item) for item in re.findall(r"<D>(.*?)</D>", _inside(story, name.upper())[1], re.S)]
        for name in _LISTS
    }
    topics = lists["topics"]
    return {
        "id": attributes.get("NEWID", ""),
        "text": _clean(body),
        "label": topics[0] if len(topics) == 1 else "",
        "domain": "reuters",
        "title": _clean(title),
        **lists,
        "lewissplit": attributes.get("LEWISSPLIT", ""),
        "topics_attr": attributes.get("TOPICS", ""),
        "cgisplit": attributes.get("CGISPLIT", ""),
        "type": form,
        # As it stands: some dates carry wire codes (&#5;), and the benchmark file keeps them.
        "date": blank_controls(_inside(story, "DATE")[1]).strip(),
    }


def _inside(source: str, tag: str) -> tuple[str, str]:
    """Attributes and content of the first ``<tag>``; empty where there is none (stories lack tags at will)."""
    match = re.search(rf"<{tag}\b([^>]*)>(.*?)</{tag}>", source, re.S)
    return (match.group(1), match.group(2)) if match else ("", "")


def _clean(text: str) -> str:
    return blank_controls(html.unescape(_CONTROL_REFERENCE.sub(" ", text))).strip()
