"""Sphinx configuration. Builds without a network; everything that can be generated from the package is."""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

import generate  # noqa: E402  (lives in _ext, which is on the path only now)

import isthmus  # noqa: E402

# Before Sphinx looks for source files, so that the generated pages are found like any other.
generate.write_all(DOCS)

project = "Isthmus"
author = "The Isthmus authors"
project_copyright = author
version = release = isthmus.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "**/*.inc"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types are in the docstrings, in words
numpydoc_show_class_members = False  # generate.py lists the methods that are ours
numpydoc_class_members_toctree = False

# Links into scikit-learn's documentation need the network; they are made only where that is asked for.
if os.environ.get("ISTHMUS_DOCS_LINKS"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "sklearn": ("https://scikit-learn.org/stable/", None),
        "numpy": ("https://numpy.org/doc/stable/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
    }

html_theme = "pydata_sphinx_theme"
html_title = f"Isthmus {release}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
