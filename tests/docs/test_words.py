"""Docstrings, comments and pages contain no phrases that only the authors of this project understand."""

import ast
import io
import re
import tokenize

import docs_pages as pages
import pytest

# Former metaphors of the project and words that no technical editor would accept, each with its replacement.
PHRASES = {
    r"rooms": "packages",
    r"heed\w*": "use, consider",
    r"hero(es)?": "headline",
    r"yardsticks?": "baseline",
    r"surest": "most confident",
    r"least sure": "least confident",
    r"pass(es|ed)? over (words|lines|it|them|documents|labels)|passed over": "skip",
    r"moved (class )?shares": "label shift",
    r"class shares": "class proportions",
    r"tak(en|es?|ing) back": "undone",
    r"(speak|speaks|spoken) (for|against|of)": "support, contradict",
    r"labels? (can |may |could )?travels?": "labels transfer",
    r"doubtful": "uncertain",
    r"labellings": "results",
    r"whole or not at all": "atomically",
    r"gives? back": "return",
    r"worth a look": "deserves attention",
    r"besides?": "next to",
    r"whoever": "the person who",
    r"mend(s|ed)?": "repair",
    r"vouch\w*": "confirm",
    r"witness\w*": "observe",
    r"take care:": "note",
}
FORBIDDEN = re.compile("|".join(rf"(?P<p{i}>\b(?:{phrase})\b)" for i, phrase in enumerate(PHRASES)), re.I)

# Files that still contain such phrases. Remove a file from the list when you have rewritten it; add none.
REWRITTEN_LATER: set[str] = set()

SOURCES = sorted((pages.ROOT / "src").rglob("*.py"))


def found_phrases(text):
    """Return each forbidden phrase outside code with its replacement."""
    plain = re.sub(r"(?m)^ *[*\w]+(, [*\w]+)* : ", "", text)  # names of parameters
    plain = re.sub(r"`+[^`\n]*`+|\$[^$\n]*\$|\]\([^)\s]*\)|\{\w+\}", " ", plain)
    phrases = list(PHRASES.values())
    return [f"{match[0]!r}: write {phrases[int(match.lastgroup[1:])]!r}" for match in FORBIDDEN.finditer(plain)]


def docstrings_and_comments(source):
    """Return the docstrings without their examples, and the comments."""
    parts = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (ast.get_docstring(node) or "").splitlines()
            parts.append("\n".join(line for line in lines if not line.strip().startswith((">>>", "..."))))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return "\n".join(parts + [token.string for token in tokens if token.type == tokenize.COMMENT])


@pytest.mark.parametrize("path", SOURCES, ids=pages.name)
def test_docstrings_and_comments_are_plain(path):
    if pages.name(path) in REWRITTEN_LATER:
        pytest.skip("not yet rewritten")
    found = found_phrases(docstrings_and_comments(path.read_text(encoding="utf-8")))
    assert not found, f"{pages.name(path)}: {'; '.join(found)}"


@pytest.mark.parametrize("path", pages.pages(), ids=pages.name)
def test_pages_are_plain(path):
    if pages.name(path) in REWRITTEN_LATER:
        pytest.skip("not yet rewritten")
    found = found_phrases(pages.prose(path.read_text(encoding="utf-8")))
    assert not found, f"{pages.name(path)}: {'; '.join(found)}"


def test_phrases_are_found_outside_code_only():
    source = '"""Take the surest labels.\n\n>>> surest = 1\n"""\nx = "a hero"  # in all rooms\nx = 1  # see ``hero``\n'
    assert found_phrases(docstrings_and_comments(source)) == [
        "'surest': write 'most confident'",
        "'rooms': write 'packages'",
    ]
