"""Store answers of annotators: the documents, their classes, how they were selected, and who answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from os import PathLike
from os.path import abspath
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.corpus.decode import shown_name

RANDOM, ASKED, PICKED, GROUP = "random", "asked", "picked", "group"
READ = (RANDOM, ASKED, PICKED)  # selections after which a document is read; documents of a group got its class unread
DRAWN = (*READ, GROUP)


@dataclass(frozen=True)
class Answers:
    """Answers of annotators about documents and words of the target, in the order of their tables.

    Attributes
    ----------
    given : list of dict
        Every answer to a document: ``row`` (from 0), ``label``, ``drawn``, ``by`` (annotator, '' if not given),
        ``batch`` (name of its table) and ``counts``. Of several annotators of one table who answered the same document,
        one answer with the most frequent class counts, and none after a tie. ``drawn`` is the selection of the
        document. "random": by ``sample``; only these estimate the accuracy directly. "asked": by ``ask``. "picked": in
        any other way, for example to correct a suspicious label. "group": it got a class with its whole group, unread.
    word_log : list of tuple
        Every labelled word, its label and its table.
    blank_in : dict of str to list of int
        Documents that were asked about and left blank, by name of the table.
    origins : dict of str to str
        Digest of the path of each table that was a file, which distinguishes files with the same name.

    Examples
    --------
    >>> def answer(label, batch):
    ...     return {"row": 1, "label": label, "drawn": "asked", "by": "Kim", "batch": batch, "counts": True}
    >>> both = Answers([answer("b", "one")]).plus(Answers([answer("a", "two")]))
    >>> both.labels, both.without("two").labels
    (['a'], ['b'])
    """

    given: list[dict[str, Any]] = field(default_factory=list)
    word_log: list[tuple[str, Any, str]] = field(default_factory=list)
    blank_in: dict[str, list[int]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    @cached_property
    def entries(self) -> list[dict[str, Any]]:
        """The latest answer that counts of each document, ordered by its arrival."""
        latest: dict[int, dict[str, Any]] = {}
        for entry in self.given:
            if entry["counts"]:
                earlier = latest.pop(entry["row"], None)
                # A document drawn at random remains part of the random sample, no matter who answers it later.
                random = earlier is not None and earlier["drawn"] == RANDOM and entry["drawn"] != GROUP
                latest[entry["row"]] = entry | {"drawn": RANDOM} if random else entry
        return list(latest.values())

    @property
    def rows(self) -> list[int]:
        """Answered documents."""
        return [entry["row"] for entry in self.entries]

    @property
    def labels(self) -> list[Any]:
        """Their classes."""
        return [entry["label"] for entry in self.entries]

    @property
    def drawn(self) -> list[str]:
        """How each of them was selected."""
        return [entry["drawn"] for entry in self.entries]

    @property
    def by(self) -> list[str]:
        """Annotator of each answer."""
        return [entry["by"] for entry in self.entries]

    @property
    def batch(self) -> list[str]:
        """Name of the table of each answer."""
        return [entry["batch"] for entry in self.entries]

    @property
    def words(self) -> dict[str, Any]:
        """Labels of words."""
        return {word: label for word, label, _ in self.word_log}

    @property
    def blank(self) -> list[int]:
        """Documents that were left blank and have no answer; asked again only when nothing else is left."""
        return sorted({row for rows in self.blank_in.values() for row in rows} - set(self.rows))

    @property
    def learnable(self) -> bool:
        """Whether a model can learn from an answer or a labelled word."""
        return bool(self.entries or self.word_log)

    @property
    def at_random(self) -> np.ndarray:
        """Mask of the answers to documents drawn at random."""
        return np.array([kind == RANDOM for kind in self.drawn], dtype=bool)

    @property
    def disputed(self) -> dict[int, list[dict[str, Any]]]:
        """The answers to each document that has none that counts, because its annotators disagree."""
        answered = set(self.rows)
        found: dict[int, list[dict[str, Any]]] = {}
        for entry in self.given:
            if entry["row"] not in answered:
                found.setdefault(entry["row"], []).append(entry)
        return found

    @property
    def read(self) -> Answers:
        """The answers to documents that an annotator read, without those of whole groups."""
        return self.keep(entry["row"] for entry in self.entries if entry["drawn"] != GROUP)

    @property
    def batches(self) -> list[str]:
        """Names of all tables."""
        named = [entry["batch"] for entry in self.given], [batch for _, _, batch in self.word_log], self.blank_in
        return list(dict.fromkeys(chain(*named)))

    def __len__(self) -> int:
        """Return the number of answered documents."""
        return len(self.entries)

    def name_of(self, path: str | PathLike) -> str:
        """Return a name for the table in a file: the file's name, with the folders that distinguish it from others.

        Parameters
        ----------
        path : str or PathLike

        Returns
        -------
        str
        """
        # Links are not resolved: the table is named as the user named it.
        parts, origin = Path(abspath(path)).parts, origin_of(path)
        names = [shown_name("/".join(parts[-length:])) for length in range(1, len(parts) + 1)]
        # The shortest name that no other file has.
        return next((name for name in names if self.origins.get(name, origin) == origin), names[-1])

    def find_batch(self, given: str | PathLike) -> str | None:
        """Return the name of a table, given its name or its file.

        Parameters
        ----------
        given : str or PathLike

        Returns
        -------
        str or None
            None if no answers came in this table.
        """
        origin = origin_of(given)
        names = dict.fromkeys(self.batches)
        # A table from the same path is preferred to a table with the same name.
        came = [name for name in names if self.origins.get(name) == origin]
        called = [name for name in (str(given), shown_name(Path(given).name)) if name in names]
        return next(iter([*came, *called]), None)

    def plus(self, later: Answers) -> Answers:
        """Return both collections of answers together; the later answer to a document replaces the earlier one.

        Parameters
        ----------
        later : Answers
            A document drawn at random keeps this attribute, except if its whole group gets a class.

        Returns
        -------
        Answers
        """
        blank_in = {
            name: sorted({*self.blank_in.get(name, []), *later.blank_in.get(name, [])})
            for name in {**self.blank_in, **later.blank_in}
        }
        given, words = [*self.given, *later.given], [*self.word_log, *later.word_log]
        return Answers(given, words, blank_in, {**self.origins, **later.origins})

    def without(self, batch: str) -> Answers:
        """Return the answers without those of one table; answers that it replaced become valid again.

        Parameters
        ----------
        batch : str

        Returns
        -------
        Answers
        """
        # The latest remaining answer to each document counts, so replaced answers return by themselves.
        given = [entry for entry in self.given if entry["batch"] != batch]
        blank_in = {name: rows for name, rows in self.blank_in.items() if name != batch}
        return Answers(given, [entry for entry in self.word_log if entry[2] != batch], blank_in, self.origins)

    def news(self, later: Answers) -> Answers:
        """Return the later answers that add information.

        An answer that repeats a known one and names no annotator adds none. An answer to a document that was read adds
        information to the class of a whole group.

        Parameters
        ----------
        later : Answers

        Returns
        -------
        Answers
        """
        known = {entry["row"]: entry for entry in self.entries}

        def is_new(entry: dict[str, Any]) -> bool:
            earlier = known.get(entry["row"])
            if earlier is None or (entry["label"], entry["by"] or earlier["by"]) != (earlier["label"], earlier["by"]):
                return True
            # A repeated answer to a drawn or requested document shows that it was read.
            return entry["drawn"] in (RANDOM, ASKED) or (earlier["drawn"] == GROUP and entry["drawn"] != GROUP)

        return later.keep(entry["row"] for entry in later.given if is_new(entry))

    def keep(self, rows: Iterable[int]) -> Answers:
        """Return the answers to some documents.

        Parameters
        ----------
        rows : iterable of int

        Returns
        -------
        Answers
        """
        wanted = set(rows)
        return replace(self, given=[entry for entry in self.given if entry["row"] in wanted])

    def renamed(self, names: dict) -> Answers:
        """Return the answers with renamed classes.

        Parameters
        ----------
        names : dict
            New name by old name.

        Returns
        -------
        Answers
        """
        given = [entry | {"label": names.get(entry["label"], entry["label"])} for entry in self.given]
        return replace(
            self, given=given, word_log=[(word, _renamed(label, names), batch) for word, label, batch in self.word_log]
        )


def origin_of(path: str | PathLike) -> str:
    """Return a digest of a file's path, which distinguishes files but does not reveal the path.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    str
    """
    return blake2b(abspath(path).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _renamed(label: Any, names: dict) -> Any:
    if not isinstance(label, dict):
        return names.get(label, label)
    weights: dict[Any, float] = {}
    for name, weight in label.items():  # the weights of merged classes are added
        weights[names.get(name, name)] = weights.get(names.get(name, name), 0.0) + weight
    return weights


def propose_names(words: str, classes: Iterable) -> list[str]:
    """Propose names for a new group: its most typical words, without numbers and names of classes.

    Parameters
    ----------
    words : str
        Words of the group, as in ``novel``.
    classes : iterable

    Returns
    -------
    list of str

    Examples
    --------
    >>> propose_names("parking, 24, staff, garage, space", ["staff", "price"])
    ['parking', 'garage', 'space']
    """
    # A group with the name of a class would be merged with it.
    taken = {str(name).casefold() for name in classes}
    found = [word for word in words.split(", ") if any(map(str.isalpha, word)) and word.casefold() not in taken]
    return found[:3]
