"""In notebooks: progress as a bar, and a widget in which documents are reviewed by keyboard."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import pytest

import isthmus
from isthmus import _progress
from isthmus._progress import listen, progress, shows_progress
from isthmus.api.review import answer_table, asked_documents
from isthmus.exceptions import MissingExtraError

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike"] * 5
TARGET = ["rude staff", "slow bike", "old bike", "the staff"] * 5


@pytest.fixture(scope="module")
def labelled():
    return isthmus.label(SOURCE, ["staff", "product"] * 10, TARGET, method="nbc")


# -- Progress


@shows_progress
def work():
    """Two steps, as a method reports them."""
    progress("fitting", 1, 4)
    progress("fitting", 2, 4)
    return "made"


class Cell:
    """What a cell of a notebook shows."""

    def __init__(self):
        self.shown = []

    def display(self, html, display_id):
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def cell(monkeypatch):
    found = Cell()
    display = SimpleNamespace(HTML=lambda markup: markup, display=found.display)
    shell = SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setattr(_progress, "_SHORT", 0.0)
    monkeypatch.setattr(_progress, "_PAUSE", 0.0)
    return found


def test_a_notebook_shows_a_bar_that_goes_away(cell):
    assert work() == "made"
    first, second, last = cell.shown
    assert '<progress value="1" max="4"></progress> fitting: 1 of 4' in first
    assert 'value="2"' in second
    assert last == "", "nothing is left of the bar"


def test_short_calls_show_nothing(cell, monkeypatch):
    monkeypatch.setattr(_progress, "_SHORT", 60.0)
    assert work() == "made"
    assert cell.shown == []


def test_who_listens_already_goes_on_listening(cell, monkeypatch):
    heard = []
    with listen(heard.append):
        work()
    assert [event["done"] for event in heard] == [1, 2]
    monkeypatch.setenv("ISTHMUS_PROGRESS", "off")
    work()
    assert cell.shown == [], "the variable switches the bar off"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_gets_one_line_and_a_file_none(cell, monkeypatch, capsys, terminal):
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    work()
    written = capsys.readouterr().err
    assert written.endswith("\r\033[K") if terminal else written == ""
    assert written.count("\n") == 0
    assert ("fitting: 2 of 4" in written) == terminal


@pytest.mark.parametrize("name", ["label", "cluster", "diagnose"])
def test_calls_that_take_long_show_progress(cell, name):
    getattr(isthmus, name)(SOURCE, ["staff", "product"] * 10, TARGET, **({"method": "cocc"} if name == "label" else {}))
    assert cell.shown, f"isthmus.{name} showed nothing"
    assert cell.shown[-1] == ""


# -- The widget, without a browser


def test_answers_become_a_table_that_teach_takes(labelled):
    documents = asked_documents(labelled.ask(4, suggest=True))
    assert len(documents) == 4
    assert {"document", "text", "reason", "drawn", "label", "confidence"} <= set(documents[0])
    json.dumps(documents)
    number = documents[1]["document"]
    table = answer_table(documents, {str(number): "service"})
    assert table == {"document": [number], "true_label": ["service"], "drawn": ["asked"]}
    assert str(labelled.teach(table).labels[number - 1]) == "service"


def test_without_anywidget_the_extra_is_named(labelled, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    isthmus.api.review.widget_class.cache_clear()
    with pytest.raises(MissingExtraError, match=r"isthmus\[notebook\]"):
        labelled.review()


def test_a_widget_holds_answers_and_teaches(labelled):
    pytest.importorskip("anywidget", reason="no anywidget: the widget cannot be made")
    widget = labelled.review(3)
    assert widget.classes == ["product", "staff"]
    assert len(widget.documents) == 3
    assert "label" not in widget.documents[0], "reviewers do not see the label unless they ask for it"
    widget.answers = {str(widget.documents[0]["document"]): "staff"}
    assert widget.table()["true_label"] == ["staff"]
    taught = widget.teach(name="in the notebook")
    assert taught.answers.batches == ["in the notebook"]
    assert len(labelled.review(3, suggest=True).documents[0]["label"]) > 0


# -- The widget in JupyterLab

CELLS = (
    f"import isthmus\n"
    f"result = isthmus.label({SOURCE!r}, ['staff', 'product'] * 10, {TARGET!r}, method='nbc')\n"
    f"desk = result.review(4)\ndesk",
    "print('said', desk.table()['true_label'], 'taught', desk.teach().learned.answers)",
)


@pytest.fixture
def lab(tmp_path):
    """A JupyterLab with one notebook; its address."""
    pytest.importorskip("jupyterlab", reason="no jupyterlab: no notebook can be opened")
    pytest.importorskip("anywidget", reason="no anywidget: the widget cannot be made")
    cells = [
        {"cell_type": "code", "id": f"c{i}", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for i, source in enumerate(CELLS)
    ]
    book = {"cells": cells, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}}}
    (tmp_path / "book.ipynb").write_text(json.dumps(book | {"nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"HOME": str(tmp_path), "JUPYTER_PLATFORM_DIRS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}",
               "--IdentityProvider.token=t", "--ServerApp.port_retries=0"]  # fmt: skip
    server = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **home}, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api/status?token=t", timeout=5)
                break
            except OSError:
                time.sleep(0.5)
        yield f"{address}/lab/tree/book.ipynb?token=t"
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.xdist_group("browser")
def test_documents_are_reviewed_by_keyboard_in_jupyterlab(lab, chromium, tmp_path):
    page = chromium.new_page(viewport={"width": 1100, "height": 900})
    page.set_default_timeout(180_000)
    page.goto(lab)
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for()  # the kernel is there
    page.locator(".jp-CodeCell").first.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    desk = page.locator(".isthmus-review")
    desk.wait_for()
    assert "1 of 4 · 0 answered" in desk.inner_text()
    desk.click(position={"x": 5, "y": 5})
    page.keyboard.press("2")
    page.keyboard.press("1")
    assert "3 of 4 · 2 answered" in desk.inner_text()
    page.keyboard.press("u")
    assert "2 of 4 · 1 answered" in desk.inner_text(), "undo goes back to the document"
    page.keyboard.press("j")
    page.keyboard.press("k")
    desk.get_by_label("Another class").fill("parking")
    page.keyboard.press("Enter")
    assert "3 of 4 · 2 answered" in desk.inner_text()
    picture = os.environ.get("ISTHMUS_PICTURE")
    if picture:
        page.screenshot(path=picture)
    assert page.locator(".jp-CodeCell").count() == 2, "keys were for the widget, not for the notebook"
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    printed = page.locator(".jp-OutputArea-output", has_text="said").inner_text()
    assert re.search(r"said \['staff', 'parking'\] taught 2", printed), printed
    page.close()


def test_what_a_widget_holds_is_taught_by_the_labelling_itself(labelled, monkeypatch):
    """With stand-ins for the packages that show it."""

    class Shown:
        def __init__(self, **traits):
            vars(self).update(traits)

    trait = SimpleNamespace(tag=lambda **options: None)
    monkeypatch.setitem(sys.modules, "anywidget", SimpleNamespace(AnyWidget=Shown))
    monkeypatch.setitem(sys.modules, "traitlets", SimpleNamespace(List=lambda: trait, Dict=lambda: trait))
    isthmus.api.review.widget_class.cache_clear()
    try:
        widget = labelled.review(3, suggest=True)
    finally:
        isthmus.api.review.widget_class.cache_clear()
    assert widget.classes == ["product", "staff"]
    assert widget.documents == asked_documents(labelled.ask(3, suggest=True))
    assert widget.table() == {"document": [], "true_label": [], "drawn": []}
    number = widget.documents[2]["document"]
    widget.answers = {str(number): "service"}
    assert widget.table() == {"document": [number], "true_label": ["service"], "drawn": ["asked"]}
    taught = widget.teach(name="by hand")
    assert str(taught.labels[number - 1]) == "service"
    assert taught.answers.batch == ["by hand"]
