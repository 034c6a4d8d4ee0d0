"""Screenshots for README and the documentation, taken from real runs of the bundled sample, and README's figures.

``python tools/pictures.py`` writes ``docs/_static/*.png``, sets the printed block in README.md and keeps its figures in
``docs/_static/pictures.json``, with which a test compares. It needs playwright and the system's Chromium.
``python tools/pictures.py readme`` sets the block and the figures alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import isthmus
from isthmus.corpus import load_sample

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "docs" / "_static"
README = ROOT / "README.md"


def first_block(text: str) -> str:
    """README's first block of Python."""
    return re.search(r"```python\n(.*?)```", text, flags=re.S)[1]


FIGURES = """
import json
print("figures", json.dumps({
    "texts": len(result.labels),
    "review": int(result.needs_review.sum()),
    "expected": round(100 * result.expected_accuracy.estimate),
    "right": round(100 * sum(truth[name] == label for name, label in zip(cars.ids, result.labels)) / len(cars)),
}))
"""


@contextlib.contextmanager
def as_installed() -> Iterator[dict[str, str]]:
    """Surroundings of a program in which the extra ``embed`` is missing, as after ``pip install isthmus[app]``."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wordllama").mkdir()
        Path(folder, "wordllama", "__init__.py").touch()  # found first, and without vectors
        paths = [folder, str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        yield {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run_readme() -> tuple[str, dict]:
    """What README's first block prints, and the figures in it."""
    code = first_block(README.read_text(encoding="utf-8")) + FIGURES
    with as_installed() as surroundings:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=surroundings, check=True,
                              capture_output=True, text=True)  # fmt: skip
    printed, _, figures = done.stdout.partition("figures ")
    return printed, json.loads(figures)


def set_readme() -> dict:
    """Write what the code prints under it, and the share that is right into the sentence after it."""
    printed, figures = run_readme()
    text = README.read_text(encoding="utf-8")
    start = text.index("```text\n") + len("```text\n")
    text = text[:start] + printed + text[text.index("```", start) :]
    text = re.sub(r"Here \d+% of the labels are right", f"Here {figures['right']}% of the labels are right", text)
    README.write_text(text, encoding="utf-8")
    (STATIC / "pictures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


@contextlib.contextmanager
def browser() -> Iterator:
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


def shoot(opened, address: str, name: str, *, size=(1280, 800), dark=False, part=None) -> None:
    """One picture of a page, or of a part of it."""
    context = opened.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(900)
    if part:
        page.locator(part).first.screenshot(path=STATIC / name)
    else:
        page.screenshot(path=STATIC / name)
    context.close()


def reports(opened, folder: Path, surroundings: dict[str, str]) -> None:
    """The pages about labels and the diagnosis, and a result in a notebook."""
    commands = (
        "data sample",
        "label motorcycles.csv cars.csv -o labelled.csv --report report.html",
        "diagnose motorcycles.csv cars.csv --report diagnosis.html",
    )
    for command in commands:
        subprocess.run([sys.executable, "-m", "isthmus", *command.split()], cwd=folder, env=surroundings, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    for dark, ending in ((False, ""), (True, "-dark")):
        shoot(opened, (folder / "report.html").as_uri(), f"report{ending}.png", dark=dark)
    shoot(opened, (folder / "diagnosis.html").as_uri(), "report-diagnosis.png")
    motorcycles, cars, _ = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, embed=False)
    cell = f"<meta charset=utf-8><body style='font-family: sans-serif'><div id=cell>{result._repr_html_()}</div>"
    (folder / "cell.html").write_text(cell, encoding="utf-8")
    shoot(opened, (folder / "cell.html").as_uri(), "report-notebook.png", size=(980, 400), part="#cell")


def workbench(opened, folder: Path, surroundings: dict[str, str]) -> None:
    """The review page, light, dark and on a phone, after the sample was labelled."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [
        sys.executable,
        "-m",
        "isthmus",
        "serve",
        "--sample",
        "--workspace",
        str(folder / "w"),
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        review = f"{address}{_sample_page(address)}/review"
        for name, size, dark in (
            ("workbench.png", (1280, 800), False),
            ("workbench-dark.png", (1280, 800), True),
            ("workbench-phone.png", (390, 844), False),
        ):
            shoot(opened, review, name, size=size, dark=dark)
    finally:
        server.terminate()
        server.wait(30)


def _sample_page(address: str) -> str:
    """Wait until the server answers and the sample is labelled; the path of its project."""
    for _ in range(300):
        time.sleep(2)
        with contextlib.suppress(OSError):
            for project in _ask(f"{address}/api/projects"):
                runs = _ask(f"{address}/api/projects/{project['id']}/runs")
                if runs and runs[0]["state"] == "done":
                    return f"/projects/{project['id']}"
    raise TimeoutError("the sample was not labelled in ten minutes")


def _ask(address: str) -> list[dict]:
    answer = json.loads(urllib.request.urlopen(address).read())
    return answer if isinstance(answer, list) else next(value for value in answer.values() if isinstance(value, list))


if __name__ == "__main__":
    print(set_readme())
    if sys.argv[1:] != ["readme"]:
        with tempfile.TemporaryDirectory() as name, browser() as chromium, as_installed() as surroundings:
            reports(chromium, Path(name), surroundings)
            workbench(chromium, Path(name), surroundings)
