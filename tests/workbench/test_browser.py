"""The workbench in a real browser: the whole way through a project, by keyboard, two people at once, every look."""

import csv
import io

import pytest

from isthmus.corpus.sample import sample_file

pytestmark = pytest.mark.xdist_group("browser")
# Something is to be seen before the browser does anything else, whatever the server and the machine are busy with.
REACTION = """() => {
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}));
  return getComputedStyle(document.querySelector('#busy')).opacity;
}"""
# The next key the moment the next document lies on the desk: none may fall into the gap before its buttons work.
AT_ONCE = """n => new Promise(done => {
  const desk = () => document.querySelector('#desk').dataset.document, seen = [desk()];
  const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}));
  const watch = new MutationObserver(() => {
    if (desk() === seen[seen.length - 1]) return;
    seen.push(desk());
    if (seen.length <= n) press(); else { watch.disconnect(); done(seen.length); }
  });
  watch.observe(document.querySelector('#desk').parentElement, {childList: true});
  setTimeout(() => done(seen.length), 60000);
  press();
})"""
# The marks of the map are many and the report's own tests look at them.
AXE = "() => axe.run({exclude: [['#map .plot']]}, {resultTypes: ['violations']})"


@pytest.fixture(scope="module", autouse=True)
def _needs_browser(chromium):
    """Without a browser nothing is labelled for nothing."""


def answered(page):
    return int(page.locator(".tally b").first.text_content().replace(",", ""))


def document(page):
    return page.get_attribute("#desk", "data-document")


def press_and_wait(page, key):
    """Press a key of the queue and wait until another document lies on the desk."""
    before = document(page)
    page.keyboard.press(key)
    page.wait_for_selector(f"#desk:not([data-document='{before}'])")


@pytest.mark.usefixtures("worker")
def test_from_two_files_to_a_table(open_tab, server, tmp_path):
    """Upload, map, run, review 20 by keyboard, teach, compare, export."""
    tab = open_tab(server)
    page = tab.page
    page.goto("/projects")
    page.fill("input[name=name]", "Survey <2026>")
    page.click("text=Create")
    for name, kind in (("motorcycles.csv", "source"), ("cars.csv", "target")):
        lines = sample_file(name).splitlines(keepends=True)[:151]
        page.click("nav >> text=Data")
        page.set_input_files("input[name=file]", {"name": name, "mimeType": "text/csv", "buffer": b"".join(lines)})
        page.check(f"input[value={kind}]")
        page.click("text=Upload and preview")
        page.wait_for_selector("text=First rows")
        assert page.is_checked("input[name=text][value=comment]")
        page.click("button:text('Read the file')")
        page.wait_for_selector("h1 .tag:text('ready')")
    page.click("text=start a run")
    page.select_option("select[name=method]", "nbc")
    page.click("button:text('Start')")
    page.wait_for_selector(".tile[aria-label='Expected right']")
    page.click("main a.button:text('Review')")
    page.wait_for_load_state()
    assert answered(page) == 0
    first = document(page)
    for i in range(20):
        press_and_wait(page, str(1 + i % 4))
    page.reload()
    assert answered(page) == 20
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    press_and_wait(page, "u")
    assert "Undone" in page.text_content("#desk")
    press_and_wait(page, "a")
    press_and_wait(page, "j")
    press_and_wait(page, "k")
    page.click("button:text('Teach')")
    page.wait_for_selector("text=What changed")
    page.click("text=What changed")
    page.wait_for_selector("text=Which labels changed, and to what?")
    page.click("nav >> text=Export")
    with page.expect_download() as waiting:
        page.click("section:has(h2:text('Labels')) button:text('csv')")
    waiting.value.save_as(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 140
    assert {"label", "confidence", "needs_review"} <= set(rows[0])
    project = next(row for row in server.workspace.projects.list() if row.name == "Survey <2026>")
    assert sum(row["answers"] for row in server.workspace.answers.counts(project.id)) == 20
    answers = server.workspace.answers.history(first)
    assert answers[0].label == "price"
    tab.check()


def test_two_people_never_get_the_same_document(open_tab, serve, workspace, project):
    team = serve(workspace, accounts=True)
    local = workspace.people.local().id
    seen = {}
    tabs = {}
    for name in ("kim", "lee"):
        person = team.account(name, "reviewer")
        workspace.projects.add_member(project.id, person.id, "reviewer", by=local)
        tabs[name] = open_tab(team)
        page = tabs[name].page
        page.goto(f"/projects/{project.id}/review")
        page.fill("input[name=name]", name)
        page.fill("input[name=password]", "correct horse battery")
        page.click("button:text('Sign in')")
        page.wait_for_selector("#desk")
        seen[name] = []
    for i in range(6):
        for name, tab in tabs.items():
            seen[name].append(document(tab.page))
            press_and_wait(tab.page, str(1 + i % 2))
    assert not set(seen["kim"]) & set(seen["lee"])
    assert len(set(seen["kim"] + seen["lee"])) == 12
    # What both answered tells how far they agree.
    shared = seen["kim"][0]
    lee = tabs["lee"].page
    lee.goto(f"/projects/{project.id}/review?document={shared}")
    assert "Another answer replaces it" in lee.text_content("#desk")
    press_and_wait(lee, "1")
    assert workspace.answers.agreement(project.id)["documents"] == 1
    for tab in tabs.values():
        tab.check()


def addresses(workspace, project, run):
    collection = workspace.collections.list(project.id)[0].id
    here = f"/projects/{project.id}"
    return ["/projects", here, *(here + part for part in (
        "/data", f"/data/{collection}", "/diagnosis", "/runs", f"/runs/{run.id}", "/documents", "/review",
        "/words?word=staff", "/groups", "/check", "/compare", "/export", "/history",
    ))]  # fmt: skip


@pytest.mark.parametrize("width", [1280, 390])
def test_no_obstacle_on_any_page(open_tab, server, workspace, project, run, width):
    """All rules of axe on every page, in the light and in the dark; nothing moves sideways or complains."""
    axe = pytest.importorskip("axe_core_python.base", reason="no axe-core-python: obstacles cannot be looked for")
    code = axe.AXE_FILE_PATH.read_text(encoding="utf-8")
    tab, found = open_tab(server, width=width), []
    for address in addresses(workspace, project, run):
        tab.page.goto(address)
        assert tab.fits(), address
        tab.page.evaluate("() => document.querySelectorAll('details').forEach(part => { part.open = true; })")
        tab.page.evaluate(code)
        for look in ("light", "dark"):
            tab.page.emulate_media(color_scheme=look)
            violations = tab.page.evaluate(AXE)["violations"]
            found += [(address, look, rule["id"], rule["nodes"][0]["html"][:200]) for rule in violations]
    assert found == []
    tab.check()


def test_an_answer_is_seen_at_once(open_tab, server, project):
    """A key moves something in the same moment, and stops moving it when the next document is there."""
    page = open_tab(server).page
    page.goto(f"/projects/{project.id}/review")
    before = document(page)
    assert page.evaluate("getComputedStyle(document.querySelector('#busy')).opacity") == "0"
    assert page.evaluate(REACTION) == "1"
    page.wait_for_selector("body:not(.busy)")
    assert document(page) != before
    assert page.evaluate("getComputedStyle(document.querySelector('#busy')).opacity") == "0"


def test_no_key_of_a_fast_reader_is_lost(open_tab, server, project):
    page = open_tab(server).page
    page.goto(f"/projects/{project.id}/review")
    before = answered(page)
    assert page.evaluate(AT_ONCE, 10) == 11
    page.reload()
    assert answered(page) == before + 10


def test_a_new_class_that_is_typed_is_the_answer(open_tab, server, project):
    """Enter in the field would press the first button of the form: a label that nobody chose."""
    page = open_tab(server).page
    page.goto(f"/projects/{project.id}/review")
    page.keyboard.press("n")
    page.keyboard.type("wholly new")
    before = document(page)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#desk:not([data-document='{before}'])")
    assert page.get_by_role("status").filter(has_text="Answered").text_content() == "Answered: wholly new."


def test_words_are_found_while_they_are_typed(open_tab, server, project):
    page = open_tab(server).page
    page.goto(f"/projects/{project.id}/words")
    page.fill("#word", "qqq")
    page.get_by_text("No word starts with these letters.").wait_for()
    page.fill("#word", "")
    page.locator("#found a").first.click()
    page.locator("#touches h2").wait_for()
    assert page.url.endswith("/words")


def test_a_file_that_cannot_be_read_says_why(open_tab, server, project):
    page = open_tab(server).page
    page.goto(f"/projects/{project.id}/data")
    page.set_input_files("input[name=file]", {"name": "x.csv", "mimeType": "text/csv", "buffer": b""})
    page.click("text=Upload and preview")
    page.wait_for_selector("#upload .errors")
    page.wait_for_timeout(10_000)
    assert "empty" in page.text_content("#upload .errors")  # it stays until somebody sends another file


def test_the_exported_table_is_what_the_page_shows(server, project, run):
    client = server.client()
    sent = client.post(f"/api/projects/{project.id}/exports", json={"run": run.id, "kind": "labels", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(sent.text)))
    shown = client.get(f"/api/projects/{project.id}/runs/{run.id}/predictions?limit=5").json()
    assert [row["label"] for row in rows[:5]] == [row["label"] for row in shown]
