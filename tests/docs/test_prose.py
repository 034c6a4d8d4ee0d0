"""Measured figures on pages come from records, and notes state their origin."""

import re

import docs_pages as pages
import pytest


def kind(path):
    parts = path.relative_to(pages.DOCS).parts
    return parts[0] if len(parts) > 1 else "start"


def written(*kinds):
    return [path for path in pages.pages() if path.is_relative_to(pages.DOCS) and kind(path) in kinds]


def running_text(text):
    """Paragraphs and list items without headings, tables, code, formulas and marks of the page's own language."""
    text = re.sub(r"\$\$.+?\$\$", "", pages.prose(text), flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"\{\w+\}(`[^`]*`)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    text = re.sub(r"\[+([^\]]*)\]+\([^)]*\)", r"\1", text)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|\||\(\S+\)=$)", line)]
    return "\n".join(re.sub(r"^\s*([-*]|\d+\.) ", "\n", line) for line in lines)


# Figures that look measured: per cent, decimals, points. They come from records, through the roles of docs/_ext.
FIGURE = re.compile(r"(?<![\w.])(0?\.\d{2,3}|\d+(?:\.\d+)?\s?(?:%|per ?cent|points?))(?!\w)")
# Pages of results: every decimal, and every number with a unit. Settings stand as code there, formulas between dollars.
RESULT = re.compile(
    r"(?<![\w.,])((?:\d+(?:,\d{3})*)?\.\d+"
    r"|\d[\d,]*(?:\.\d+)?\s?(?:%|per ?cent\b|points?\b|ms\b|µs\b|MB\b|GB\b|seconds\b|minutes\b))(?!\w)"
)
# Settings and definitions, not measurements.
DEFINED = {"10%", "95%", "88%", "75%"}
DEFINED_RESULTS = {
    "10%": "the default budget",
    "95%": "the confidence of a guarantee and of a check",
    "99 per cent": "the level at which the paper tests",
    "4.1": "a section of the paper",
    "4.2": "million reviews in a file of two gigabytes",
}


def typed_figures(path):
    """Figures of a page that stand in its text or tables as they were typed."""
    text = path.read_text(encoding="utf-8")
    found, defined = (RESULT, DEFINED_RESULTS) if kind(path) == "measured" else (FIGURE, DEFINED)
    if kind(path) == "measured":
        text = re.sub(r"\$[^$\n]+\$", "", text)
    cells = [re.sub(r"`[^`]*`", "", line) for line in pages.prose(text).splitlines() if line.startswith("|")]
    return [match[0] for match in found.finditer("\n".join([running_text(text), *cells])) if match[0] not in defined]


@pytest.mark.parametrize("path", written("start", "howto", "understand", "measured"), ids=pages.name)
def test_no_measured_figure_is_typed(path):
    found = typed_figures(path)
    assert not found, f"{pages.name(path)}: bind {found} to a record with a role, or move it to benchmarks/notes"


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("It has .524 and 0.2241, in 12.4 s.", [".524", "0.2241", "12.4"]),
        ("| a | 81.3 |\n", ["81.3"]),
        ("Right on 42%, in 18 ms, 1,560 MB.", ["42%", "18 ms", "1,560 MB"]),
        ("{measured}`a b c error` with `alpha=0.1` and $p = 0.5$, 95% sure, on 2,000 documents.", []),
    ],
)
def test_typed_figures_are_found(tmp_path, monkeypatch, text, figures):
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    (tmp_path / "measured").mkdir()
    path = tmp_path / "measured" / "page.md"
    path.write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    assert typed_figures(path) == figures


@pytest.mark.parametrize("path", sorted((pages.ROOT / "benchmarks" / "notes").glob("*.md")), ids=lambda path: path.stem)
def test_notes_say_what_they_are(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("Written by hand when the trials were made (2"), f"{path.name} begins with {first!r}"
    assert "not reproduced by a command" in first, f"{path.name} begins with {first!r}"
    page = (pages.DOCS / "measured" / path.name).read_text(encoding="utf-8")
    assert f"`benchmarks/notes/{path.name}`" in page, f"docs/measured/{path.name} does not name its notes"
