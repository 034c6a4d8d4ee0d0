"""Sphinx configuration. Builds without a network; everything that can be generated from the package is."""

import os
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

import gallery  # noqa: E402  (lives in _ext, which is on the path only now)
import generate  # noqa: E402

import isthmus  # noqa: E402

# Before Sphinx looks for source files, so that the generated pages are found like any other.
generate.write_all(DOCS)

project = "Isthmus"
author = "The Isthmus authors"
project_copyright = author
version = release = isthmus.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "sphinx_gallery.gen_gallery", "mathml", "records"]
html_math_renderer = "mathml"
smartquotes = False  # an option on a page can be copied: two hyphens stay two hyphens
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "**/*.inc", "gallery/**/*.ipynb", "gallery/**/*.py", "sg_execution_times.rst"]

nitpicky = True
# Other projects' names lead somewhere only with ISTHMUS_DOCS_LINKS.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|scipy|altair)\..*"), ("py:obj", r"[a-z_]+_")]  # fitted attributes

# A warning in the gallery without the path of the machine that built it.
warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\n"

sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "image_scrapers": (gallery.ChartScraper(),),
    "reset_modules": (),  # those of the default need matplotlib
    "capture_repr": ("_repr_html_",),
    "within_subsection_order": "gallery.ReadingOrder",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("isthmus",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 3600,  # no line with the time that a script took
    "write_computation_times": False,
    "abort_on_example_error": True,
}

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
    "logo": {"text": "Isthmus", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "collapse_navigation": True,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_favicon = "_static/icon.svg"
# The pages of single names would spend a third of the build on a list of each other; they get a short one.
html_sidebars = {
    **{f"{kind}/**": ["sidebar-nav-bs"] for kind in ("start", "howto", "understand", "gallery", "measured")},
    "reference/*": ["sidebar-nav-bs"],
    **{page: ["sections"] for page in ("index", "search", "genindex", "reference/generated/*")},
}
templates_path = ["_templates"]
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["isthmus.css"]
