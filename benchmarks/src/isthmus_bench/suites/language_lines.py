"""Short lines in twenty-two languages and eleven scripts, written for tests and benchmarks, none from a corpus.

For each language ``language_lines.json`` has the names of two classes as its readers would write them, four source
lines of each class, and two target lines of each class, which share words with the source, often in another
inflection. Five to ten words each where the script has words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lines:
    """One language's lines: ``source`` and ``target`` are pairs of text and class."""

    classes: tuple[str, ...]
    source: list[tuple[str, str]]
    target: list[tuple[str, str]]

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in (*self.source, *self.target)]


def _read_lines() -> dict[str, Lines]:
    languages = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {
        code: Lines(
            tuple(classes),
            [(text, name) for name, lines in classes.items() for text in lines["source"]],
            [(text, name) for name, lines in classes.items() for text in lines["target"]],
        )
        for code, classes in languages.items()
    }


LINES = _read_lines()
