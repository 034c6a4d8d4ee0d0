"""Pages hang together: every page can be reached, links lead somewhere, every recipe is described."""

import re

import docs_pages as pages
import pytest
from extras import need_rooms
from loading import load_file

import isthmus
from isthmus.exceptions import CODES
from isthmus.methods import METHODS

PAGES = pages.pages()
FOLDER = pages.DOCS / "understand" / "methods"
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<to>[^)\s]+)\)")
_MACHINE = re.compile(r"(?<![\w.])/(?:work|tmp|home|root|Users|mnt)/[\w.]")


@pytest.fixture(scope="module")
def generate():
    """The module that conf.py uses to make pages from the package."""
    return load_file("docs/_ext/generate.py")


@pytest.fixture(scope="module")
def built(generate, tmp_path_factory):
    """Everything generated, in an empty folder."""
    need_rooms("isthmus.workbench")  # the reference describes it
    folder = tmp_path_factory.mktemp("docs")
    generate.write_all(folder)
    return folder / "reference" / "generated"


def test_every_page_is_reached_from_the_index():
    start = pages.DOCS / "index.md"
    reached, open_ = {start}, [start]
    while open_:
        for child in pages.toctree_children(open_.pop()):
            if child.parent == pages.DOCS / "gallery":  # made from examples/ when the pages are built
                continue
            assert child.is_file(), f"a table of contents names {pages.name(child)}, which does not exist"
            if child not in reached:
                reached.add(child)
                open_.append(child)
    lost = {path for path in PAGES if path.is_relative_to(pages.DOCS)} - reached
    assert not lost, f"in no table of contents: {sorted(map(pages.name, lost))}"


def test_every_method_page_is_in_the_methods_toctree():
    folder = FOLDER
    missing = {path for path in folder.glob("*.md") if path.name != "index.md"}
    assert missing, "docs/understand/methods holds no pages"
    missing -= pages.toctree_children(folder / "index.md")
    assert not missing, f"not in docs/understand/methods/index.md: {sorted(path.name for path in missing)}"


@pytest.mark.parametrize("recipe", METHODS.values(), ids=lambda recipe: recipe.name)
def test_every_recipe_has_a_page_that_names_it(recipe):
    page = FOLDER / f"{recipe.page or recipe.name}.md"
    assert page.is_file(), f"recipe {recipe.name!r} points to {pages.name(page)}: write it or set Recipe(page=...)"
    assert f"`{recipe.name}`" in page.read_text(encoding="utf-8"), f"{pages.name(page)} never names `{recipe.name}`"


def test_readme_lists_every_recipe():
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in METHODS if f"`{name}`" not in text]
    assert not missing, f"README.md's table of methods lacks {missing}"


@pytest.mark.parametrize("path", PAGES, ids=pages.name)
def test_no_page_mentions_a_machine(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = _MACHINE.search(line)
        assert found is None, f"{pages.name(path)}:{number} names a path of one machine: {line.strip()!r}"


@pytest.mark.parametrize("path", PAGES, ids=pages.name)
def test_links_between_pages_lead_somewhere(path):
    for link in _LINK.finditer(pages.prose(path.read_text(encoding="utf-8"))):
        to = link["to"].split("#")[0]
        if not to or "://" in to or to.startswith("mailto:") or {"generated", "gallery"} & set(to.split("/")):
            continue
        assert (path.parent / to).exists(), f"{pages.name(path)} links to {to}, which does not exist"


# -- what is generated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", sorted(isthmus._PUBLIC))
def test_every_public_name_is_in_the_api_reference(built, public):
    page = built / f"isthmus.{public}.rst"
    assert page.is_file(), f"no API page for isthmus.{public}"
    assert re.search(rf"^\.\. auto(class|function):: {public}$", page.read_text(encoding="utf-8"), re.M)
    assert f"[`{public}`](generated/{page.name})" in (built / "packages.inc").read_text(encoding="utf-8")


def test_names_of_the_packages_are_in_the_api_reference(generate, built):
    names = {f"{module}.{name}" for module, _, _, found in generate.packages() for name in found}
    assert {"isthmus.evaluate.macro_f1", "isthmus.features.TextVectorizer", "isthmus.exceptions.DataError"} <= names
    assert names == {path.stem for path in built.glob("*.rst")}


def test_every_code_is_in_the_table_of_errors(built):
    table = (built / "codes.inc").read_text(encoding="utf-8")
    for code, meaning in CODES.items():
        assert f"| `{code}` | {meaning} |" in table


def test_recipe_table_links_every_page(built):
    table = (built / "methods.inc").read_text(encoding="utf-8")
    for recipe in METHODS.values():
        assert f"[`{recipe.name}`]({recipe.page or recipe.name}.md)" in table


def test_generating_again_changes_nothing_and_clears_what_is_stale(generate, built):
    stale = built / "isthmus.gone.rst"
    stale.write_text("old", encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in built.iterdir() if path != stale}
    generate.write_all(built.parents[1])
    assert {path.name: path.stat().st_mtime_ns for path in built.iterdir()} == before


def test_benchmark_records_become_parts_of_pages(generate, tmp_path):
    suite = tmp_path / "toy"
    suite.mkdir()
    table = "| task | a |\n|---|---|\n| t | 1 |"
    studies = "## Studies\n\n- [sizes](sizes.md): by size"
    results = f"# Suite toy\n\n{table}\n\n{studies}\n\n## Made with\n\n```\n# x\n```\n"
    (suite / "results.md").write_text(results, encoding="utf-8")
    (suite / "sizes.md").write_text("# sizes\n\n![sizes](sizes.svg)\n\n```\n# kept\n```\n", encoding="utf-8")
    (suite / "sizes.svg").write_bytes(b"<svg/>")
    files = generate.bench_parts(tmp_path)
    part = files["bench-toy.inc"]
    assert "Studies" not in part
    assert "# Suite toy" not in part
    assert "### Made with" in part
    assert "\n### sizes\n\n![sizes](../reference/generated/bench-toy-sizes.svg)\n\n```\n# kept\n" in part
    assert files["bench-toy-sizes.svg"] == b"<svg/>"


RECORDS = sorted(path.parent.name for path in (pages.ROOT / "benchmarks" / "records").glob("*/results.md"))


@pytest.mark.parametrize("suite", RECORDS)
def test_every_record_has_a_page(suite):
    page = pages.DOCS / "measured" / f"{suite}.md"
    assert page.is_file(), f"write {pages.name(page)}"
    assert f"generated/bench-{suite}.inc" in page.read_text(encoding="utf-8")


def test_every_code_has_an_example_that_is_run():
    """The page's examples are run as they stand; each code must be what one of them gives back."""
    page = (pages.DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    for code in CODES:
        assert re.search(rf"^(?:'{code}'|\['{code}'\]|'\[{code}\]')$", page, re.MULTILINE), f"no example gives {code}"


METHOD_SECTIONS = ["Use", "Assumes", "How it works", "In one picture", "Limits"]


@pytest.mark.parametrize("path", sorted(set((FOLDER).glob("*.md")) - {FOLDER / "index.md"}), ids=pages.name)
def test_method_pages_have_one_order(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", pages.prose(text), re.M) == METHOD_SECTIONS
    assert "_static/drawn/" in text, "a method is shown in a drawing"
    for section in re.split(r"^## .+$", text, flags=re.M)[1:]:
        assert section.strip()
