"""Pages in a real browser with the network off: quiet, readable everywhere, and the list works by keyboard."""

import csv
import re
import warnings

import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.corpus import load_sample, write_rows
from isthmus.exceptions import IsthmusWarning
from isthmus.report.listing import LIST_CAP, tint
from isthmus_bench.datasets import load_dataset

pytestmark = pytest.mark.xdist_group("browser")
LARGEST = 3_000_000
SIZE = 100  # documents of each side
LOOKS = ({}, {"width": 390, "height": 844}, {"width": 720, "paper": True})
# Violations alone in full: a list of everything that is right takes as long again. Of all rules one goes by colours.
AXE = "rules => axe.run({resultTypes: ['violations'], runOnly: rules})"
RULES = {"dark": ["color-contrast"], "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


@pytest.fixture(scope="module", autouse=True)
def _needs_browser(chromium):
    """Without a browser nothing is labelled for nothing."""


def quietly_labelled(source, labels, target, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        return isthmus.label(source, labels, target, method=method)


@pytest.fixture(scope="module")
def labelled():
    source, target, _ = load_sample()
    result = quietly_labelled(source.texts[:SIZE], source.labels[:SIZE], target.texts[:SIZE], "cocc")
    result.needs_review[:] = result.confidence < 0.9
    return result


@pytest.fixture(scope="module")
def pages(labelled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    source, target, _ = load_sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        both = source.texts[:SIZE], source.labels[:SIZE], target.texts[:SIZE]
        groups, found = isthmus.cluster(*both, n_clusters=5, n_init=1), isthmus.diagnose(*both)
    return {
        "label": labelled.report(folder / "label.html"),
        "cluster": groups.report(folder / "cluster.html"),
        "diagnosis": found.report(folder / "diagnosis.html"),
    }


def check_page(open_page, page):
    assert page.stat().st_size < LARGEST
    for look in LOOKS:
        opened = open_page(page, **look)
        assert opened.quiet(), (opened.complaints, opened.requests)
        # Wide things scroll inside their own box; the page itself never moves sideways.
        assert opened.tab.evaluate("document.documentElement.scrollWidth") <= look.get("width", 1200)
        if look.get("paper"):
            assert opened.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            assert opened.tab.evaluate(
                "[...document.querySelectorAll('nav, .live')].every(e => !e.getClientRects().length)"
            )
            assert opened.tab.pdf(format="A4")


@pytest.mark.parametrize("kind", ["label", "cluster", "diagnosis"])
def test_pages_are_quiet_and_fit(open_page, pages, kind):
    check_page(open_page, pages[kind])


@pytest.mark.parametrize("kind", ["label", "cluster", "diagnosis"])
def test_no_serious_obstacle(open_page, pages, kind):
    """A page is opened in the dark, where it is quiet and fits too, and looked at in the light as well."""
    axe = pytest.importorskip("axe_core_python.base", reason="no axe-core-python: obstacles cannot be looked for")
    opened = open_page(pages[kind], dark=True)
    assert opened.quiet(), (opened.complaints, opened.requests)
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 1200
    opened.tab.evaluate("() => document.querySelectorAll('details').forEach(part => { part.open = true; })")
    opened.tab.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    grave = []
    for look, rules in RULES.items():
        opened.tab.emulate_media(color_scheme=look)
        grave += [
            (look, rule["id"], rule["nodes"][0]["html"][:200])
            for rule in opened.tab.evaluate(AXE, rules)["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
    assert grave == []


def state(tab):
    return tab.text_content("#state")


def selected(tab):
    row = tab.locator(".row[aria-selected=true]")
    return f"{row.get_attribute('id')}: {row.text_content()}"


def test_the_first_screen_answers(open_page, pages):
    tab = open_page(pages["label"], height=800).tab
    for part in (
        "h1",
        ".tile[aria-label='Expected right']",
        ".tile[aria-label='To read']",
        ".tile[aria-label='Classes']",
    ):
        box = tab.locator(part).bounding_box()
        assert box["y"] + box["height"] < 800, part


def test_filter_search_and_sort(open_page, pages, labelled):
    tab = open_page(pages["label"]).tab
    review = int(labelled.needs_review.sum())
    assert state(tab).startswith(f"{review} of {SIZE} documents")
    tab.select_option("#show", "all")
    assert state(tab).startswith(f"{SIZE} of {SIZE}")
    name = str(labelled.classes[0])
    tab.select_option("#class", name)
    assert state(tab).startswith(f"{int((labelled.labels == name).sum())} of {SIZE}")
    tab.select_option("#class", "")
    tab.select_option("#sort", "unsure")
    assert f"{round(100 * labelled.confidence.max())}%" in selected(tab)
    tab.keyboard.press("Escape")
    tab.locator("#rows").focus()
    tab.keyboard.press("/")
    word = re.findall(r"[a-z]{5,}", labelled.texts[0].lower())[0]
    tab.keyboard.type(word)
    assert state(tab).startswith(f"{sum(word in text.lower() for text in labelled.texts)} of {SIZE}")


def test_correct_by_keyboard_undo_reload_download_and_teach(open_page, labelled, tmp_path):
    saved = labelled.save(tmp_path / "saved.isthmus")
    opened = open_page(labelled.report(tmp_path / "page.html"))
    tab, first = opened.tab, int(labelled.confidence.argsort(kind="stable")[0])
    tab.locator("#rows").focus()
    top = selected(tab)
    tab.keyboard.press("j")
    assert selected(tab) != top
    tab.keyboard.press("k")
    assert selected(tab) == top
    names = labelled.classes.tolist()
    other = (names.index(labelled.labels[first]) + 1) % len(names)
    tab.keyboard.press(str(other + 1))
    tab.keyboard.press("2")
    assert "2 corrected" in state(tab)
    tab.keyboard.press("u")
    assert "1 corrected" in state(tab)
    again = open_page(tmp_path / "page.html", context=opened.context).tab
    assert "1 corrected" in state(again)
    with again.expect_download() as waiting:
        again.click("#download")
    waiting.value.save_as(tmp_path / "corrections.csv")
    with open(tmp_path / "corrections.csv", newline="", encoding="utf-8") as file:
        corrections = list(csv.DictReader(file))
    [row] = corrections
    assert (row["document"], row["true_label"]) == (str(first + 1), names[other])
    assert opened.complaints == []
    command = ["teach", str(saved), str(tmp_path / "corrections.csv"), "-o", str(tmp_path / "out.csv"), "--quiet"]
    assert run_command(command) == 0
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        taught = list(csv.DictReader(file))
    assert taught[first]["label"] == names[other] != labelled.labels[first]


def test_four_classes_stand_two_and_two_and_opened_tables_fit_a_phone(open_page, pages):
    page = pages["label"]
    tops = "[...document.querySelectorAll('.cards > *')].map(card => Math.round(card.getBoundingClientRect().top))"
    first, second, third, fourth = open_page(page, width=1280).tab.evaluate(tops)
    assert (first == second, third == fourth, first < third) == (True, True, True), "the fourth card stood alone"
    phone = open_page(page, width=390, height=844).tab
    phone.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390, "a table is wider than the screen"
    below = "document.querySelector('#review .pair').getBoundingClientRect().top"
    bench = "document.querySelector('#review .bench').getBoundingClientRect().bottom"
    assert phone.evaluate(f"{below} - {bench}") >= 8, "the list touches the charts under it"
    lines = """[...document.querySelectorAll('#word-clusters td:nth-child(2)')].map(cell => {
        const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length })"""
    assert set(phone.evaluate(lines)) == {1}, "the name of a class is broken"


def test_help_and_copy(open_page, pages):
    tab = open_page(pages["label"]).tab
    tab.locator("#rows").focus()
    tab.keyboard.press("?")
    assert tab.locator("#keys").is_visible()
    tab.keyboard.press("Escape")
    assert not tab.locator("#keys").is_visible()
    tab.locator(".copy").first.click()
    tab.locator(".copy", has_text="Copied").wait_for()


def test_the_map_shows_and_opens_a_document(open_page, pages, labelled):
    tab = open_page(pages["label"]).tab
    mark = tab.locator("#map circle").first
    row = int(mark.get_attribute("data-t")) - 1
    mark.dispatch_event("pointermove", {"clientX": 300, "clientY": 300})
    assert str(labelled.labels[row]) in tab.text_content("#tip")
    mark.dispatch_event("click")
    assert labelled.texts[row].split()[0] in tab.text_content("#reader .full")


def test_words_are_tinted_as_on_paper(open_page, pages, labelled):
    """The script and report/tint.py must agree."""
    tab = open_page(pages["label"]).tab
    data = tab.evaluate("JSON.parse(document.getElementById('data').textContent)")
    first = int(labelled.confidence.argsort(kind="stable")[0])
    drawn = tab.evaluate("[...document.querySelectorAll('#reader .full mark')].map(m => [m.textContent, m.className])")
    place = data["row"].index(first + 1)
    expected = [list(piece) for piece in tint(data["text"][place], data["words"], data["label"][place]) if piece[1]]
    assert drawn == expected


def test_a_long_list_stays_quick(open_page, labelled, tmp_path):
    """20,000 rows: only those in sight are drawn."""
    from dataclasses import replace

    import numpy as np

    times = LIST_CAP // len(labelled.texts) + 1
    many = replace(
        labelled,
        texts=[f"{text} {i}" for i in range(times) for text in labelled.texts],
        **{
            name: np.concatenate([getattr(labelled, name)] * times)
            for name in ("labels", "confidence", "needs_review", "review_reason", "probabilities", "novel_group")
        },
    )
    page = many.report(tmp_path / "page.html")
    assert page.stat().st_size < 15_000_000
    tab = open_page(page).tab
    assert "those that most need reading" in tab.text_content("#review")
    tab.select_option("#show", "all")
    assert state(tab).startswith(f"{LIST_CAP:,} of {LIST_CAP:,}")
    assert tab.locator(".row").count() < 60
    spent = tab.evaluate(
        """() => { const start = performance.now(), rows = document.getElementById('rows'), key = k =>
        rows.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
        rows.scrollIntoView(); for (let i = 0; i < 50; i++) key('j'); return (performance.now() - start) / 50; }"""
    )
    assert spent < 100


def test_hostile_content_does_nothing(open_page, tmp_path):
    script = (
        "</script><script>document.title='owned'</script><img src='http://127.0.0.1:9/x' "
        "onerror=\"document.title='owned'\">"
    )
    source = [f"friendly staff {script}", "high price", "rude staff", "fair price \"'>&"] * 4
    result = quietly_labelled(source, [script, '"><svg onload=x>'] * 8, [f"staff {script}", "price =1+1"] * 2, "nbc")
    page = result.report(tmp_path / "<b>page &'.html")
    check_page(open_page, page)
    tab = open_page(page).tab
    tab.select_option("#show", "all")
    assert tab.title() == "Isthmus: labels of target texts"
    assert tab.evaluate("document.querySelectorAll('script, img').length") == 2
    assert script[:40] in tab.text_content("#rows")


NAMES = ["=cmd|'x'!A0 \"quoted' & <script>document.title='owned'<img src=x onerror=alert(1)>", "two\nlines\x1b[0m"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["label", "cluster", "diagnose"])
def test_hostile_file_names_do_nothing(open_page, tmp_path, name, command):
    labels = ["<b onclick=x>staff", "'; price"] * 15
    texts = ["friendly staff <script>alert(1)</script>", "the price =1+1 is high"] * 15
    source, target, page = (tmp_path / f"{name}{ending}" for ending in (".csv", " t.csv", ".html"))
    write_rows(source, {"text": texts, "label": labels})
    write_rows(target, {"text": texts[::-1], "id": [f"<i>{i}" for i in range(30)]})
    options = {"label": ["--method", "nbc"], "cluster": ["--clusters", "2"], "diagnose": []}[command]
    if command != "diagnose":
        options += ["-o", str(tmp_path / "out.csv")]
    assert run_command([command, str(source), str(target), "--report", str(page), "--quiet", *options]) == 0
    opened = open_page(page)
    assert opened.quiet(), (opened.complaints, opened.requests)
    tab = opened.tab
    assert tab.title() != "owned"
    assert tab.evaluate("document.querySelectorAll('img, i, [onclick], [onerror]').length") == 0
    if command != "cluster" and name.isprintable():
        assert name in tab.text_content("body")


def test_many_classes_with_long_names(open_page, tmp_path):
    names = [f"a class with quite a long name, number-{i}-" + "w" * 60 for i in range(12)]
    source = [f"{word} staff price {i}" for i in range(12) for word in ("alpha", "beta", f"word{'xyz'[i % 3]}")]
    result = quietly_labelled(source, [names[i // 3] for i in range(36)], source[::2], "nbc")
    check_page(open_page, result.report(tmp_path / "page.html"))


@pytest.mark.data
def test_amazon_pair(open_page, tmp_path, data_dir):
    docs = load_dataset("amazon_reviews", data_dir)
    source, target = (
        docs.select([i for i, domain in enumerate(docs.domain) if domain == wanted][::5])
        for wanted in ("books", "kitchen")
    )
    result = quietly_labelled(source.texts, source.labels, target.texts, "nbc")
    check_page(open_page, result.report(tmp_path / "page.html"))
