"""Formulas as MathML, written when the pages are built: browsers draw it without a script or a network."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)
_UNKNOWN = re.compile(r">\s*(\\[a-zA-Z]+)\s*<")
# Commands that the converter does not know, written in those that it does.
_REWRITE = ((re.compile(r"\\arg(?![a-zA-Z])"), r"\\operatorname{arg}"),)


def to_mathml(latex: str, *, block: bool) -> str:
    """A formula as a ``<math>`` element; a command that cannot be converted is an error, not raw TeX on the page."""
    for pattern, instead in _REWRITE:
        latex = pattern.sub(instead, latex)
    element = convert(latex, display="block" if block else "inline")
    left = _UNKNOWN.search(element)
    if left:
        raise ValueError(f"no MathML for {left.group(1)}")
    return element


def _write(translator, node: nodes.Element, *, block: bool) -> None:
    try:
        element = to_mathml(node.astext(), block=block)
    except Exception as error:  # the converter raises many kinds; under -W the warning stops the build
        LOG.warning("formula %r: %s", node.astext(), error, location=node)
        element = f"<code>{translator.encode(node.astext())}</code>"
    if not block:
        translator.body.append(element)
    else:
        number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
        translator.body.append(f'<div class="math">{number}{element}</div>\n')
    raise nodes.SkipNode


def visit_inline(translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    _write(translator, node, block=False)


def visit_block(translator, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    _write(translator, node, block=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
