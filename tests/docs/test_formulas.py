"""Formulas become MathML when the pages are built; nothing of them is left to a script from the network."""

import re

import docs_pages as pages
import pytest
from loading import load_file

pytest.importorskip("latex2mathml", reason="the documentation needs the extra 'docs'")
pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")


@pytest.fixture(scope="module")
def mathml():
    return load_file("docs/_ext/mathml.py")


def formulas(text):
    text = re.sub(r"`[^`\n]*`", "", pages.prose(text))
    blocks = re.findall(r"\$\$(.+?)\$\$", text, flags=re.S)
    return blocks + re.findall(r"\$([^$\n]+)\$", re.sub(r"\$\$.+?\$\$", "", text, flags=re.S))


def test_every_formula_on_the_pages_is_converted(mathml):
    found = [latex for path in pages.pages() for latex in formulas(path.read_text(encoding="utf-8"))]
    assert len(found) > 50
    for latex in found:
        assert mathml.to_mathml(latex, block=False).startswith("<math"), latex


def test_the_parts_of_a_formula_are_there(mathml):
    block = mathml.to_mathml(r"\hat d = \arg\max_{j} \frac{a}{b}", block=True)
    assert 'display="block"' in block
    assert "<mfrac>" in block
    assert "\\" not in block


def test_an_unknown_command_is_refused_rather_than_shown_raw(mathml):
    with pytest.raises(ValueError, match=r"\\nosuchthing"):
        mathml.to_mathml(r"a + \nosuchthing", block=False)
