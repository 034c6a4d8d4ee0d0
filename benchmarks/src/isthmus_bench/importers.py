"""Turn public archives into the files that :func:`isthmus_bench.datasets.load_dataset` reads: ``isthmus data import``.

Each importer takes a folder or a .tar.gz, .tgz or .zip in the layout of the original distribution and gives records
in the form of the benchmark file of the same name.
"""

from __future__ import annotations

import html
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from isthmus.corpus.write import write_records
from isthmus.exceptions import DataError, UsageError

# All but tab and line feed; the range above 0x7f holds the control characters of Latin-1.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(data: bytes) -> str:
    """Latin-1 bytes as text: carriage returns before line feeds dropped, other control characters made blanks."""
    return blank_controls(data.decode("latin-1").replace("\r\n", "\n"))


def blank_controls(text: str) -> str:
    """Control characters other than tab and line feed become blanks."""
    return _CONTROL.sub(" ", text)


def natural_key(path: PurePosixPath) -> list:
    """Sort key that puts 9 before 10 and keeps folders together."""
    return [[(1, int(p), "") if p.isdigit() else (0, 0, p) for p in re.split(r"(\d+)", part)] for part in path.parts]


class Archive:
    """A folder, .tar(.gz), .tgz or .zip. Nothing is unpacked to disk."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.name = self.path.name or str(self.path)
        if not self.path.exists():
            raise DataError(f"There is no file or folder {str(self.path)!r}; check the name.", code="missing-file")

    def files(self) -> Iterator[tuple[PurePosixPath, bytes]]:
        """Path and bytes of every file, hidden ones left out, in natural order of the paths."""
        try:
            if self.path.is_dir():
                yield from self._folder()
            elif zipfile.is_zipfile(self.path):
                yield from self._zip()
            elif tarfile.is_tarfile(self.path):
                yield from self._tar()
            else:
                raise DataError(
                    f"{self.name} is neither a folder nor a .tar.gz, .tgz or .zip archive; give the distribution as it "
                    "was downloaded or unpacked.",
                    code="unreadable-file",
                )
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, OSError) as error:
            raise DataError(
                f"{self.name} cannot be unpacked ({error}); the download may be cut short.", code="unreadable-file"
            ) from None

    def _folder(self) -> Iterator[tuple[PurePosixPath, bytes]]:
        found = {PurePosixPath(p.relative_to(self.path).as_posix()): p for p in self.path.rglob("*") if p.is_file()}
        for place in sorted(filter(_visible, found), key=natural_key):
            yield place, found[place].read_bytes()

    def _zip(self) -> Iterator[tuple[PurePosixPath, bytes]]:
        with zipfile.ZipFile(self.path) as box:
            found = {PurePosixPath(item.filename): item for item in box.infolist() if not item.is_dir()}
            for place in sorted(filter(_visible, found), key=natural_key):
                yield place, box.read(found[place])

    def _tar(self) -> Iterator[tuple[PurePosixPath, bytes]]:
        # A packed tar can only be read forward, so the files are held, then sorted.
        with tarfile.open(self.path) as box:
            held = {
                PurePosixPath(item.name): stream.read()
                for item in box
                if item.isfile() and (stream := box.extractfile(item)) is not None
            }
        for place in sorted(filter(_visible, held), key=natural_key):
            yield place, held.pop(place)


def _visible(place: PurePosixPath) -> bool:
    return not any((part.startswith(".") and part not in (".", "..")) or part == "__MACOSX" for part in place.parts)


# -- Multi-Domain Sentiment, the "unprocessed" distribution: ``sorted_data_acl/DOMAIN/{positive,negative}.review``
# The files look like XML and are not: ampersands and angle brackets stand as they are, and control characters mark
# places where a letter was lost. They are therefore read by their tags, one review at a time.


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
            record = _review(match.group(1), f"{domain}-{label}-{number:04d}", label, domain)
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


def _review(review: str, name: str, label: str, domain: str) -> dict:
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


# -- 20 Newsgroups, the "bydate" distribution: ``20news-bydate-train/GROUP/NUMBER`` and ``…-test/GROUP/NUMBER``


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


# -- Reuters-21578, Distribution 1.0: ``reut2-000.sgm`` to ``reut2-021.sgm``


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
            yield _story(dict(_ATTRIBUTE.findall(match.group(1))), match.group(2))


def _story(attributes: dict[str, str], story: str) -> dict:
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


# -- SRAA: one sub-folder per class, ``realauto``, ``realaviation``, ``simauto``, ``simaviation``


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


# -- what can be imported

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
