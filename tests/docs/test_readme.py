"""README's figures and pictures are those of the present code (``make pictures`` sets both)."""

import json
import re

import docs_pages as pages
import pytest
from loading import load_file

import isthmus

TEXT = (pages.ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run():
    """What README's first block prints now, and the figures in it."""
    return load_file("tools/pictures.py").run_readme()


def test_the_printed_block_is_what_the_code_prints(run):
    shown = next(block.text for block in pages.blocks(TEXT) if block.info == "text")
    assert shown == run[0], "README shows other figures than its code prints: run make pictures"


def test_the_pictures_show_the_figures_of_the_run(run):
    kept = json.loads((pages.DOCS / "_static" / "pictures.json").read_text(encoding="utf-8"))
    assert kept == run[1], "the pictures were taken with other figures: run make pictures"
    assert f"Here {kept['right']}% of the labels are right" in TEXT


def test_how_to_cite_names_the_present_version():
    page = (pages.DOCS / "reference" / "references.md").read_text(encoding="utf-8")
    assert f"version = {{{isthmus.__version__}}}" in page, "set the version under How to cite"


def test_code_fits_its_box():
    """A box on the page of a repository is about 95 signs wide."""
    lines = [line for block in pages.blocks(TEXT) for line in block.text.splitlines()]
    assert not [line for line in lines if len(line) > 95]


def test_every_picture_of_a_page_is_there_and_no_other():
    shown = set()
    for path in pages.pages():
        for name in re.findall(r"(?:!\[[^\]]*\]\(|\{(?:image|figure)\} )([^)\s]+)", path.read_text(encoding="utf-8")):
            if name.startswith("https://"):
                continue  # a badge
            assert (path.parent / name).is_file(), f"{pages.name(path)} shows {name}, which does not exist"
            shown.add((path.parent / name).resolve())
    kept = set((pages.DOCS / "_static").rglob("*.png")) | set((pages.DOCS / "_static" / "drawn").glob("*.svg"))
    assert kept <= shown, f"shown on no page: {sorted(path.name for path in kept - shown)}"
