"""Files of a folder or of a packed archive, by their path inside it, in a fixed order."""

from __future__ import annotations

import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from isthmus.exceptions import DataError

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
