"""Pages are short and plain: words by kind of page, sentences, words that the house does not use, figures."""

import re

import docs_pages as pages
import pytest

KINDS = ("start", "howto", "understand", "reference", "measured")
MOST_WORDS = 25_000  # outside Reference and Measured
LONGEST_HOWTO = 600
LONGEST_MEAN_SENTENCE = 18

# Methods are not persons, and a few words read stiffly (the house's list).
AVOIDED = re.compile(
    r"\b(whoever|beside|besides|told|heeds?|heeded|mend(s|ed)?|bears?|hears?|heard|vouch\w*|witness\w*|speaks?|spoken|"
    r"promis(e|es|ed)|(?<!there )(is|are) no (?!longer)[a-z]+)\b|take care:",
    re.I,
)


def kind(path):
    parts = path.relative_to(pages.DOCS).parts
    return parts[0] if len(parts) > 1 else "start"


def written(*kinds):
    return [path for path in pages.pages() if path.is_relative_to(pages.DOCS) and kind(path) in kinds]


def count_words(path):
    """Words of a page, its code included."""
    return len(path.read_text(encoding="utf-8").split())


def running_text(text):
    """Paragraphs and list items without headings, tables, code, formulas and marks of the page's own language."""
    text = re.sub(r"\$\$.+?\$\$", "", pages.prose(text), flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"\{\w+\}(`[^`]*`)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    text = re.sub(r"\[+([^\]]*)\]+\([^)]*\)", r"\1", text)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#|\||\(\S+\)=$)", line)]
    return "\n".join(re.sub(r"^\s*([-*]|\d+\.) ", "\n", line) for line in lines)


def sentences(text):
    """Sentences of the running text; a colon or semicolon does not end one."""
    found = []
    for paragraph in re.split(r"\n\s*\n", running_text(text)):
        parts = re.split(r"(?<=[.!?])[\"”')*]*\s+(?=[A-Z\"“*(])", " ".join(paragraph.split()))
        found += [part for part in parts if len(part.split()) > 1]
    return found


def mean_length(text):
    lengths = [len(sentence.split()) for sentence in sentences(text)]
    return sum(lengths) / len(lengths)


def test_sentences_are_counted():
    text = "# Title\n\nOne two three. Four `x y` five!\n\n- A list item of six words.\n"
    text += "\n| a. | b. |\n\n```\nno. code.\n```\n"
    assert [len(sentence.split()) for sentence in sentences(text)] == [3, 3, 6]


def test_the_guides_are_short():
    words = {name: sum(count_words(path) for path in written(name)) for name in KINDS}
    guides = words["start"] + words["howto"] + words["understand"]
    assert guides <= MOST_WORDS, f"{guides} words outside Reference and Measured, at most {MOST_WORDS}: {words}"


@pytest.mark.parametrize("path", written("howto"), ids=pages.name)
def test_a_how_to_is_one_task(path):
    words = count_words(path)
    assert words <= LONGEST_HOWTO, f"{pages.name(path)} has {words} words; at most {LONGEST_HOWTO}"


@pytest.mark.parametrize("path", [*written("start", "howto", "understand"), pages.ROOT / "README.md"], ids=pages.name)
def test_sentences_are_short(path):
    mean = mean_length(path.read_text(encoding="utf-8"))
    longest = max(sentences(path.read_text(encoding="utf-8")), key=lambda sentence: len(sentence.split()))
    assert mean <= LONGEST_MEAN_SENTENCE, f"{pages.name(path)}: {mean:.1f} words a sentence; the longest: {longest}"


@pytest.mark.parametrize("path", [*written(*KINDS), pages.ROOT / "README.md"], ids=pages.name)
def test_no_word_of_the_list(path):
    found = [match[0] for match in AVOIDED.finditer(running_text(path.read_text(encoding="utf-8")))]
    assert not found, f"{pages.name(path)}: write {sorted(set(found))} in other words"


# Figures that look measured: per cent, decimals, points. Measured ones come through the role ``measured``.
FIGURE = re.compile(r"(?<![\w.])(0?\.\d{2,3}|\d+(?:\.\d+)?\s?(?:%|per ?cent|points?))(?!\w)")
# Settings and definitions, not measurements.
DEFINED = {"10 %", "95 %", "88 %", "75 %"}


@pytest.mark.parametrize("path", written("start", "howto", "understand"), ids=pages.name)
def test_no_measured_figure_is_typed(path):
    text = path.read_text(encoding="utf-8")
    cells = [re.sub(r"`[^`]*`", "", line) for line in pages.prose(text).splitlines() if line.startswith("|")]
    typed = FIGURE.finditer("\n".join([running_text(text), *cells]))
    found = [match[0] for match in typed if match[0] not in DEFINED]
    assert not found, f"{pages.name(path)}: bind {found} to a record with the role measured, or move it to Measured"
