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

RANDOM, ASKED, PICKED = "random", "asked", "picked"
DRAWN = (RANDOM, ASKED, PICKED)


@dataclass(frozen=True)
class Answers:
    """What a person said about documents of the target; one entry per document in every list.

    Attributes
    ----------
    rows : list of int
        Documents, numbered from 0.
    labels : list
        Their true labels.
    drawn : list of str
        How the document came to be answered: "random" (drawn by ``sample``: these alone estimate accuracy directly),
        "asked" (chosen by ``ask``) or "picked" (any other way, such as a correction of a label that looked wrong).
    by : list of str
        Who said so; '' where that was not given.
    batch : list of str
        Name of the table the answer came in.
    origins : dict of str to str
        By name of a table that was a file: a digest of where it lay, so that files of one name are told apart.
    blank : list of int
        Documents that were asked and left blank; they are asked again only when nothing else is left.
    words : dict of str to (class or dict)
        What a person said about words.

    Examples
    --------
    >>> from isthmus.feedback import Answers
    >>> first = Answers([0, 1], ["a", "b"], ["random", "asked"], ["", ""], ["one", "one"])
    >>> both = first.plus(Answers([1], ["a"], ["picked"], ["Kim"], ["two"]))
    >>> both.labels, both.by
    (['a', 'a'], ['', 'Kim'])
    >>> both.without("two").rows
    [0]
    """

    rows: list[int] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    batch: list[str] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    words: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def at_random(self) -> np.ndarray:
        """Which answers are to documents drawn at random."""
        return np.array([kind == RANDOM for kind in self.drawn], dtype=bool)

    def name_of(self, path: str | PathLike) -> str:
        """What the table in this file is called: as the file, with as much of its folder as tells it from others."""
        parts, origin = Path(abspath(path)).parts, origin_of(path)
        names = [shown_name("/".join(parts[-length:])) for length in range(1, len(parts) + 1)]
        return next((name for name in names if self.origins.get(name, origin) == origin), names[-1])

    def find_batch(self, given: str | PathLike) -> str | None:
        """Name of the table that came in this file or is called so; None if there is none."""
        origin = origin_of(given)
        names = dict.fromkeys(self.batch)
        came = [name for name in names if self.origins.get(name) == origin]
        called = [name for name in (str(given), shown_name(Path(given).name)) if name in names]
        return next(iter([*came, *called]), None)

    def plus(self, later: Answers) -> Answers:
        """Both together; where both speak of a document, the later answer holds.

        A document drawn at random stays so, whatever is said about it later: the draw was random all the same.
        """
        new = set(later.rows)
        kept = [place for place, row in enumerate(self.rows) if row not in new]
        was_random = {row for row, kind in zip(self.rows, self.drawn, strict=True) if kind == RANDOM}
        drawn = [RANDOM if row in was_random else kind for row, kind in zip(later.rows, later.drawn, strict=True)]
        answered = {*self.rows, *new}
        return Answers(
            rows=[*_take(self.rows, kept), *later.rows],
            labels=[*_take(self.labels, kept), *later.labels],
            drawn=[*_take(self.drawn, kept), *drawn],
            by=[*_take(self.by, kept), *later.by],
            batch=[*_take(self.batch, kept), *later.batch],
            blank=sorted({*self.blank, *later.blank} - answered),
            words={**self.words, **later.words},
            origins={**self.origins, **later.origins},
        )

    def without(self, batch: str) -> Answers:
        """All answers but those that came in the table of this name."""
        return self._select(place for place, name in enumerate(self.batch) if name != batch)

    def renamed(self, names: dict) -> Answers:
        """The same answers with classes renamed."""
        labels = [names.get(label, label) for label in self.labels]
        words = {
            word: {names.get(name, name): weight for name, weight in label.items()}
            if isinstance(label, dict)
            else names.get(label, label)
            for word, label in self.words.items()
        }
        return replace(self, labels=labels, words=words)

    def _select(self, places: Iterable[int]) -> Answers:
        kept = list(places)
        rows, labels, drawn, by, batch = (
            _take(values, kept) for values in (self.rows, self.labels, self.drawn, self.by, self.batch)
        )
        return replace(self, rows=rows, labels=labels, drawn=drawn, by=by, batch=batch)


def origin_of(path: str | PathLike) -> str:
    """Says whether two files lay in one place, and not where."""
    return blake2b(abspath(path).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _take(values: list, places: list[int]) -> list:
    return [values[place] for place in places]
