"""Every command on the first pages runs as it is printed, in the order in which it stands there."""

import csv
import re
import shlex
from pathlib import Path

import docs_pages as pages
import pytest

from isthmus.corpus import load_sample

PAGES = ["README.md", "docs/start/ten-minutes.md", "docs/howto/check.md", "docs/howto/read-and-teach.md"]


def commands(name: str) -> list[list[str]]:
    """The isthmus commands of a page, as lists of words."""
    lines = []
    for block in pages.blocks((pages.ROOT / name).read_text(encoding="utf-8")):
        if block.info == "console":
            text = re.sub(r"\\\n\s*", " ", block.text)
            lines += [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ isthmus ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def fill_in(path) -> None:
    """What a person does between two commands: the column true_label."""
    truth = load_sample()[2]
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["true_label"] = truth[row["id"]]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def shorten(names) -> None:
    """Fewer rows do for commands of which only the end is looked at."""
    for name in names:
        rows = Path(name).read_text(encoding="utf-8").splitlines(keepends=True)
        Path(name).write_text("".join(rows[:201]), encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_commands_run_as_printed(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("typer", reason="the command needs the extra 'app'")
    from isthmus.cli.app import run_command

    monkeypatch.chdir(tmp_path)
    lines = commands(page)
    assert lines
    for words in [["data", "sample"], *lines]:
        if words[0] == "bench" or words[:2] == ["data", "list"]:
            continue  # need the corpora
        if words == ["demo"] or words[0] == "serve":
            continue  # tests/cli/test_demo.py and tests/workbench/test_server.py run them
        words = [*words, "--force"] if words == ["data", "sample"] else words
        code = run_command(words)
        if words[:2] == ["data", "sample"]:
            shorten(["motorcycles.csv", "cars.csv"])
        assert code == 0, f"isthmus {' '.join(words)}: {capsys.readouterr().err[-400:]}"
        if words[0] == "ask" or {"--sample", "--margin"} & set(words):
            fill_in(words[words.index("-o") + 1])
