"""Reading pages: fenced blocks, links, tables of contents. Shared by the tests of this folder."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|:{3,})(?P<info>[^`\n]*)$")
_SKIP = re.compile(r"<!--\s*skip:\s*(?P<reason>.+?)\s*-->")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it says it is, its text, its first line's number, and why it should not run, if so."""

    info: str
    text: str
    line: int
    skip: str | None = None


def pages() -> list[Path]:
    """README, CONTRIBUTING and every page of the documentation that a person wrote."""
    written = [
        path
        for path in DOCS.rglob("*.md")
        if not {"_build", "generated", "gallery"} & set(path.relative_to(DOCS).parts)
    ]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(written)]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[Block]:
    """Fenced blocks in order. ``<!-- skip: reason -->`` on the line before one keeps it from being run."""
    found: list[Block] = []
    lines = text.splitlines()
    at, skip = 0, None
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            mark = _SKIP.search(lines[at])
            skip = mark["reason"] if mark else (skip if not lines[at].strip() else None)
            at += 1
            continue
        start = at + 1
        at = start
        while at < len(lines) and lines[at].strip() != fence["ticks"]:
            at += 1
        indent = len(fence["indent"])
        body = "\n".join(line[indent:] for line in lines[start:at]) + "\n"
        found.append(Block(fence["info"].strip(), body, start + 1, skip))
        at, skip = at + 1, None
    return found


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    lines, inside = [], None
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if inside is None and fence is not None:
            inside = fence["ticks"]
        elif inside is not None and line.strip() == inside:
            inside = None
        elif inside is None:
            lines.append(line)
    return "\n".join(lines)


def toctree_children(path: Path) -> set[Path]:
    """Pages that a page's tables of contents name, globs resolved."""
    children: set[Path] = set()
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.info != "{toctree}":
            continue
        entries = [line.strip() for line in block.text.splitlines() if line.strip()]
        glob = ":glob:" in entries
        for entry in entries:
            if entry.startswith(":"):
                continue
            if glob and any(sign in entry for sign in "*?["):
                folder = path.parent
                hits = [page for page in folder.rglob("*.md") if fnmatch.fnmatch(_stem(page, folder), entry)]
                children.update(page for page in hits if "/" in entry or page.parent == folder)
            else:
                children.add((path.parent / f"{entry}.md").resolve())
    return children - {path}


def _stem(page: Path, folder: Path) -> str:
    return page.relative_to(folder).with_suffix("").as_posix()
