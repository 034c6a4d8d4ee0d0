"""Reports in a real browser with the network off: nothing asked for, nothing complained about, every chart drawn."""

import importlib.util
import warnings
from pathlib import Path

import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.corpus import load_dataset, load_sample, write_rows
from isthmus.exceptions import IsthmusWarning

_spec = importlib.util.spec_from_file_location("report_browser", Path(__file__).with_name("browser.py"))
driver = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(driver)

pytestmark = [
    pytest.mark.skipif(driver.CHROMIUM is None, reason="no Chromium on this machine: reports cannot be opened"),
    pytest.mark.xdist_group("browser"),
]
LARGEST = 3_000_000
CHARTS = """[...document.querySelectorAll('figure')].map(figure => {
  const svg = figure.querySelector('svg'), box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll('path,rect,line,text')].filter(mark => {
    const area = mark.getBoundingClientRect(); return area.width > 0 || area.height > 0; });
  return {name: figure.id, width: box.width, height: box.height, marks: marks.length,
          room: svg.parentElement.clientWidth, letters: Math.min(...[...svg.querySelectorAll('text')].map(text =>
            parseFloat(getComputedStyle(text).fontSize) * box.width / svg.viewBox.baseVal.width)),
          table: figure.querySelectorAll('details tbody tr').length};
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with driver.Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def check_page(browser, page, figures):
    assert page.stat().st_size < LARGEST
    for look in ({}, {"dark": True}, {"width": 380, "height": 800}):
        browser.open(page, **look)
        assert browser.requests() == [page.resolve().as_uri()]
        assert browser.complaints() == []
        charts = browser.run(CHARTS)
        assert set(figures) <= {chart["name"] for chart in charts}
        for chart in charts:
            assert chart["width"] > 200, chart
            assert chart["height"] > 60, chart
            assert chart["marks"] > 4, chart
            assert chart["table"] > 0, chart
            assert chart["width"] <= chart["room"] + 1, chart
            assert chart["letters"] > 8, chart
        # Wide things scroll inside their own box; the page itself never moves sideways.
        assert browser.run("document.documentElement.scrollWidth") <= look.get("width", 1000)
    check_paper(browser, page, figures)


def check_paper(browser, page, figures):
    """On paper nothing can be scrolled to or opened: charts are whole, links and closed tables are gone."""
    browser.open(page, width=720, paper=True, dark=True)
    charts = {chart["name"]: chart for chart in browser.run(CHARTS)}
    assert set(figures) <= set(charts)
    assert all(chart["width"] > 100 and chart["height"] > 60 for chart in charts.values())
    assert browser.run("document.documentElement.scrollWidth") <= 720
    assert browser.run("[...document.querySelectorAll('details, nav')].every(part => !part.getClientRects().length)")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = browser.run(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert hidden == 0
    assert browser.ask("Page.printToPDF")["data"]


ALWAYS = ["domain-map", "shifted-words", "shares", "confidence"]


def write_page(source, labels, target, method, page):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        isthmus.label(source, labels, target, method=method).report(page)
    return page


def test_sample(browser, tmp_path):
    source, target, _ = load_sample()
    page = write_page(source.texts[:250], source.labels[:250], target.texts[:250], "cocc", tmp_path / "page.html")
    check_page(browser, page, [*ALWAYS, "word-clusters", "convergence-objective"])


def test_hostile_content_does_nothing(browser, tmp_path):
    script = (
        "<script>document.title='owned'</script><img src='http://127.0.0.1:9/x' onerror=\"document.title='owned'\">"
    )
    source = [f"friendly staff {script}", "high price", "rude staff", "fair price \"'>&"] * 4
    page = write_page(source, [script, '"><svg onload=x>'] * 8, [f"staff {script}", "price =1+1"] * 2, "nbc",
                      tmp_path / "<b>page &'.html")  # fmt: skip
    check_page(browser, page, ["shares", "confidence"])
    assert browser.run("document.title") == "Isthmus: labels of target texts"
    assert browser.run("document.querySelectorAll('script,img').length") == 0


NAMES = [
    "<script>document.title='owned'<img src=x onerror=alert(1)>",
    "\"quoted' & name",
    "=cmd|'x'!A0",
    "two\nlines\x1b[0m",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["label", "cluster", "diagnose"])
def test_hostile_file_names_do_nothing(browser, tmp_path, name, command):
    labels = ["<b onclick=x>staff", "'; price"] * 15
    texts = ["friendly staff <script>alert(1)</script>", "the price =1+1 is high"] * 15
    source, target, page = (tmp_path / f"{name}{ending}" for ending in (".csv", " t.csv", ".html"))
    write_rows(source, {"text": texts, "label": labels})
    write_rows(target, {"text": texts[::-1], "id": [f"<i>{i}" for i in range(30)]})
    options = {"label": ["--method", "nbc"], "cluster": ["--clusters", "2"], "diagnose": []}[command]
    if command != "diagnose":
        options += ["-o", str(tmp_path / "out.csv")]
    assert run_command([command, str(source), str(target), "--report", str(page), "--quiet", *options]) == 0
    check_page(browser, page, {"label": ["shares"], "cluster": ["alignment"], "diagnose": []}[command])
    assert browser.run("document.title") != "owned"
    assert browser.run("document.querySelectorAll('script, img, b, i, [onclick], [onerror]').length") == 0
    if command != "cluster" and name.isprintable():
        assert name in browser.run("document.body.textContent")


def test_many_classes_with_long_names(browser, tmp_path):
    names = [f"a class with quite a long name, number-{i}-" + "w" * 60 for i in range(12)]
    source = [f"{word} staff price {i}" for i in range(12) for word in ("alpha", "beta", f"word{'xyz'[i % 3]}")]
    page = write_page(source, [names[i // 3] for i in range(36)], source[::2], "nbc", tmp_path / "page.html")
    check_page(browser, page, ["shares", "confidence"])


def test_clusters(browser, tmp_path):
    source, target, _ = load_sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        result = isthmus.cluster(source.texts[:200], source.labels[:200], target.texts[:150], n_clusters=5, n_init=1)
    check_page(browser, result.report(tmp_path / "page.html"), ["alignment", "sizes"])


@pytest.mark.data
def test_amazon_pair(browser, tmp_path, data_dir):
    docs = load_dataset("amazon_reviews", data_dir)
    source, target = (
        docs.select([i for i, domain in enumerate(docs.domain) if domain == wanted][::5])
        for wanted in ("books", "kitchen")
    )
    page = write_page(source.texts, source.labels, target.texts, "nbc", tmp_path / "page.html")
    check_page(browser, page, ALWAYS)


@pytest.mark.data
def test_newsgroup_task(browser, tmp_path, data_dir):
    docs = load_dataset("newsgroups20", data_dir)
    sides = (("rec.autos", "talk.politics.guns"), ("rec.motorcycles", "talk.politics.mideast"))
    source, target = (docs.select([i for i, name in enumerate(docs.labels) if name in side][::10]) for side in sides)
    labels = [name.partition(".")[0] for name in source.labels]
    page = write_page(source.texts, labels, target.texts, "cocc", tmp_path / "page.html")
    check_page(browser, page, [*ALWAYS, "word-clusters", "convergence-objective"])
