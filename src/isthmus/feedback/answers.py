"""Answers of a person: which documents, what they are, how they were drawn, who said so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from os import PathLike
from os.path import abspath
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.corpus.decode import shown_name

RANDOM, ASKED, PICKED, GROUP = "random", "asked", "picked", "group"
READ = (RANDOM, ASKED, PICKED)  # how documents come to be read; those of a group got its class unread
DRAWN = (*READ, GROUP)
_COLUMNS = {"row": "rows", "label": "labels", "drawn": "drawn", "by": "by", "batch": "batch"}  # of one answer, of all


@dataclass(frozen=True)
class Answers:
    """What a person said about documents of the target.

    The first five lists have one entry per answered document.

    - ``rows``: numbered from 0.
    - ``drawn``: "random" (by ``sample``: these alone estimate accuracy directly), "asked" (by ``ask``), "picked" (any
      other way, such as a correction of a label that looked wrong), or "group" (got a class with its whole group,
      unread).
    - ``by``: who said so, '' where not given. ``batch``: name of the table the answer came in.
    - ``blank``: documents that were asked and left blank; asked again only when nothing else is left. ``blank_in``: the
      same by name of the table.
    - ``words``: what was said about each word. ``word_log``: every labelled word, its label and its table, in order.
    - ``origins``: by name of a table that was a file, a digest of where it lay, which tells files of one name apart.
    - ``replaced``: earlier answers to documents that were answered again, oldest first; they hold again once the later
      one is taken back.
    - ``weighed``: answers that count for what their hand is worth (``row``, ``label``, ``drawn``, ``by``, ``batch``):
      those of a machine, and all answers to documents that several hands answered in one table.

    >>> first = Answers([0, 1], ["a", "b"], ["random", "asked"], ["", ""], ["one", "one"])
    >>> both = first.plus(Answers([1], ["a"], ["picked"], ["Kim"], ["two"]))
    >>> both.labels, both.by
    (['a', 'a'], ['', 'Kim'])
    >>> both.without("two").labels
    ['a', 'b']
    """

    rows: list[int] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    batch: list[str] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    words: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    replaced: list[dict[str, Any]] = field(default_factory=list)
    word_log: list[tuple[str, Any, str]] = field(default_factory=list)
    blank_in: dict[str, list[int]] = field(default_factory=dict)
    weighed: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def says_something(self) -> bool:
        return bool(self.rows or self.words or self.weighed)

    @property
    def at_random(self) -> np.ndarray:
        return np.array([kind == RANDOM for kind in self.drawn], dtype=bool)

    @property
    def read(self) -> Answers:
        """The answers to documents that somebody read: all but those of whole groups."""
        return self.with_entries(entry for entry in self.entries if entry["drawn"] != GROUP)

    @property
    def batches(self) -> list[str]:
        earlier = [entry["batch"] for entry in self.replaced]
        words = [batch for _, _, batch in self.word_log]
        weighed = [entry["batch"] for entry in self.weighed]
        return list(dict.fromkeys([*self.batch, *earlier, *words, *self.blank_in, *weighed]))

    @property
    def settled_together(self) -> set[int]:
        """Documents whose answer is what all hands of one table said: it stands in their name and their table."""
        said = {(entry["row"], entry["by"], entry["batch"]) for entry in self.weighed}
        return {entry["row"] for entry in self.entries if (entry["row"], entry["by"], entry["batch"]) in said}

    def name_of(self, path: str | PathLike) -> str:
        """A name for the table in this file: the file's, with as much of its folder as tells it from others."""
        parts, origin = Path(abspath(path)).parts, origin_of(path)
        names = [shown_name("/".join(parts[-length:])) for length in range(1, len(parts) + 1)]
        return next((name for name in names if self.origins.get(name, origin) == origin), names[-1])

    def find_batch(self, given: str | PathLike) -> str | None:
        origin = origin_of(given)
        names = dict.fromkeys(self.batches)
        came = [name for name in names if self.origins.get(name) == origin]
        called = [name for name in (str(given), shown_name(Path(given).name)) if name in names]
        return next(iter([*came, *called]), None)

    def plus(self, later: Answers) -> Answers:
        """Both together; where both speak of a document, the later answer holds.

        A document drawn at random stays so, whatever is said about it later.
        """
        new = set(later.rows)
        was_random = {entry["row"] for entry in self.entries if entry["drawn"] == RANDOM}
        given = [
            entry | ({"drawn": RANDOM} if entry["row"] in was_random and entry["drawn"] != GROUP else {})
            for entry in later.entries
        ]
        kept = [entry for entry in self.entries if entry["row"] not in new]
        replaced = [entry for entry in self.entries if entry["row"] in new]
        blank_in = dict(self.blank_in)
        for name, rows in later.blank_in.items():
            blank_in[name] = sorted({*blank_in.get(name, []), *rows})
        return self.with_entries(
            [*kept, *given],
            blank=sorted({*self.blank, *later.blank} - {*self.rows, *new}),
            words={**self.words, **later.words},
            origins={**self.origins, **later.origins},
            replaced=[*self.replaced, *replaced, *later.replaced],
            word_log=[*self.word_log, *later.word_log],
            blank_in=blank_in,
            weighed=list({(entry["row"], entry["by"]): entry for entry in [*self.weighed, *later.weighed]}.values()),
        )

    def without(self, batch: str) -> Answers:
        """All but what came in this table; answers that it replaced hold again."""
        found = [entry for entry in self.entries if entry["batch"] != batch]
        earlier = [entry for entry in self.replaced if entry["batch"] != batch]
        held = {entry["row"] for entry in found}
        back = {entry["row"]: entry for entry in earlier if entry["row"] not in held}  # the latest of each document
        log = [entry for entry in self.word_log if entry[2] != batch]
        logged = {word for word, _, _ in self.word_log}
        blank_in = {name: rows for name, rows in self.blank_in.items() if name != batch}
        only_here = set(self.blank_in.get(batch, [])) - {row for rows in blank_in.values() for row in rows}
        return self.with_entries(
            [*found, *back.values()],
            blank=sorted(set(self.blank) - only_here - set(back)),
            words={word: label for word, label in self.words.items() if word not in logged}
            | {word: label for word, label, _ in log},
            replaced=[entry for entry in earlier if back.get(entry["row"]) is not entry],
            word_log=log,
            blank_in=blank_in,
            weighed=[entry for entry in self.weighed if entry["batch"] != batch],
        )

    def news(self, later: Answers) -> Answers:
        """What of later answers says more than is known: not those that repeat an answer and name nobody.

        To have read a document says more than that its group got a class.
        """
        known = {entry["row"]: (entry["label"], entry["by"]) for entry in self.entries}
        unread = {entry["row"] for entry in self.entries if entry["drawn"] == GROUP}
        heard = {(entry["row"], entry["by"], entry["label"]) for entry in self.weighed}
        weighed = [entry for entry in later.weighed if (entry["row"], entry["by"], entry["label"]) not in heard]
        new = (
            entry
            for entry in later.entries
            if (entry["label"], entry["by"] or known.get(entry["row"], ("", ""))[1]) != known.get(entry["row"])
            or entry["drawn"] in (RANDOM, ASKED)
            or (entry["row"] in unread and entry["drawn"] != GROUP)
        )
        return later.with_entries(new, weighed=weighed)

    def keep(self, rows: Iterable[int]) -> Answers:
        wanted = set(rows)
        return self.with_entries(entry for entry in self.entries if entry["row"] in wanted)

    def renamed(self, names: dict) -> Answers:
        labels = [names.get(label, label) for label in self.labels]
        words = {word: _renamed(label, names) for word, label in self.words.items()}
        log = [(word, _renamed(label, names), batch) for word, label, batch in self.word_log]
        replaced = [entry | {"label": names.get(entry["label"], entry["label"])} for entry in self.replaced]
        weighed = [entry | {"label": names.get(entry["label"], entry["label"])} for entry in self.weighed]
        return replace(self, labels=labels, words=words, word_log=log, replaced=replaced, weighed=weighed)

    @property
    def entries(self) -> list[dict[str, Any]]:
        columns = (getattr(self, name) for name in _COLUMNS.values())
        return [dict(zip(_COLUMNS, values, strict=True)) for values in zip(*columns, strict=True)]

    def with_entries(self, entries: Iterable[dict[str, Any]], **others: Any) -> Answers:
        entries = list(entries)
        columns: dict[str, Any] = {name: [entry[part] for entry in entries] for part, name in _COLUMNS.items()}
        return replace(self, **columns, **others)


def origin_of(path: str | PathLike) -> str:
    """A digest that says whether two files lay in one place, and not where."""
    return blake2b(abspath(path).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _renamed(label: Any, names: dict) -> Any:
    if not isinstance(label, dict):
        return names.get(label, label)
    weights: dict[Any, float] = {}
    for name, weight in label.items():  # weights of merged classes add up
        weights[names.get(name, name)] = weights.get(names.get(name, name), 0.0) + weight
    return weights


def propose_names(words: str, classes: Iterable) -> list[str]:
    """What a new group may be called: its most typical words (as in ``novel``), without numbers and names of classes.

    >>> propose_names("parking, 24, staff, garage, space", ["staff", "price"])
    ['parking', 'garage', 'space']
    """
    taken = {str(name).casefold() for name in classes}
    found = [word for word in words.split(", ") if any(map(str.isalpha, word)) and word.casefold() not in taken]
    return found[:3]
