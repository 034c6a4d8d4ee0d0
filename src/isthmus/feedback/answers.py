"""Store answers of annotators: the documents, their classes, how they were selected, and who answered."""

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
READ = (RANDOM, ASKED, PICKED)  # ways in which documents come to be read; documents of a group got its class unread
DRAWN = (*READ, GROUP)
# Names of the fields of one answer, and of the lists of all answers.
_COLUMNS = {"row": "rows", "label": "labels", "drawn": "drawn", "by": "by", "batch": "batch"}


@dataclass(frozen=True)
class Answers:
    """Answers of annotators about documents and words of the target.

    Attributes
    ----------
    rows : list of int
        Answered documents, numbered from 0.
    labels : list
        Their classes.
    drawn : list of str
        How each document was selected. "random": by ``sample``; only these estimate the accuracy directly. "asked": by
        ``ask``. "picked": in any other way, for example to correct a suspicious label. "group": it got a class with its
        whole group, unread.
    by : list of str
        Annotator of each answer, '' if not given.
    batch : list of str
        Name of the table of each answer.
    blank : list of int
        Documents that were asked about and left blank; asked again only when nothing else is left.
    words : dict
        Labels of words.
    origins : dict of str to str
        Digest of the path of each table that was a file, which distinguishes files with the same name.
    replaced : list of dict
        Earlier answers to documents that were answered again, oldest first. They become valid again if the later answer
        is undone.
    word_log : list of tuple
        Every labelled word, its label and its table, in order.
    blank_in : dict of str to list of int
        Documents left blank, by name of the table.
    votes : list of dict
        Every answer (``row``, ``label``, ``drawn``, ``by``, ``batch``) to a document that several annotators of one
        table answered. The class that most of them gave is also in ``rows`` and ``labels``.

    Examples
    --------
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
    votes: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of answered documents."""
        return len(self.rows)

    @property
    def says_something(self) -> bool:
        """Whether there is an answer about a document or a word."""
        return bool(self.rows or self.words)

    @property
    def at_random(self) -> np.ndarray:
        """Mask of the answers to documents drawn at random."""
        return np.array([kind == RANDOM for kind in self.drawn], dtype=bool)

    @property
    def read(self) -> Answers:
        """The answers to documents that an annotator read, without those of whole groups."""
        return self.with_entries(entry for entry in self.entries if entry["drawn"] != GROUP)

    @property
    def batches(self) -> list[str]:
        """Names of all tables."""
        earlier = [entry["batch"] for entry in self.replaced]
        words = [batch for _, _, batch in self.word_log]
        votes = [entry["batch"] for entry in self.votes]
        return list(dict.fromkeys([*self.batch, *earlier, *words, *self.blank_in, *votes]))

    @property
    def disputed(self) -> dict[int, list[dict[str, Any]]]:
        """The votes about each document that has no answer, because its annotators disagree."""
        answered = set(self.rows)
        found: dict[int, list[dict[str, Any]]] = {}
        for entry in self.votes:
            if entry["row"] not in answered:
                found.setdefault(entry["row"], []).append(entry)
        return found

    def name_of(self, path: str | PathLike) -> str:
        """Return a name for the table in a file: the file's name, with the folders that distinguish it from others.

        Parameters
        ----------
        path : str or PathLike

        Returns
        -------
        str
        """
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
        new = set(later.rows)
        # A document drawn at random remains part of the random sample, no matter who answers it later.
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
            votes=list({(entry["row"], entry["by"]): entry for entry in [*self.votes, *later.votes]}.values()),
        )

    def without(self, batch: str) -> Answers:
        """Return the answers without those of one table; answers that it replaced become valid again.

        Parameters
        ----------
        batch : str

        Returns
        -------
        Answers
        """
        found = [entry for entry in self.entries if entry["batch"] != batch]
        earlier = [entry for entry in self.replaced if entry["batch"] != batch]
        held = {entry["row"] for entry in found}
        # The latest earlier answer to each document.
        back = {entry["row"]: entry for entry in earlier if entry["row"] not in held}
        log = [entry for entry in self.word_log if entry[2] != batch]
        logged = {word for word, _, _ in self.word_log}
        blank_in = {name: rows for name, rows in self.blank_in.items() if name != batch}
        # Documents that only this table left blank may be asked about again.
        only_here = set(self.blank_in.get(batch, [])) - {row for rows in blank_in.values() for row in rows}
        return self.with_entries(
            [*found, *back.values()],
            blank=sorted(set(self.blank) - only_here - set(back)),
            words={word: label for word, label in self.words.items() if word not in logged}
            | {word: label for word, label, _ in log},
            replaced=[entry for entry in earlier if back.get(entry["row"]) is not entry],
            word_log=log,
            blank_in=blank_in,
            votes=[entry for entry in self.votes if entry["batch"] != batch],
        )

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
        known = {entry["row"]: (entry["label"], entry["by"]) for entry in self.entries}
        unread = {entry["row"] for entry in self.entries if entry["drawn"] == GROUP}
        new = (
            entry
            for entry in later.entries
            if (entry["label"], entry["by"] or known.get(entry["row"], ("", ""))[1]) != known.get(entry["row"])
            # A repeated answer to a drawn or requested document shows that it was read.
            or entry["drawn"] in (RANDOM, ASKED)
            or (entry["row"] in unread and entry["drawn"] != GROUP)
        )
        return later.with_entries(new)

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
        return self.with_entries(entry for entry in self.entries if entry["row"] in wanted)

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
        labels = [names.get(label, label) for label in self.labels]
        words = {word: _renamed(label, names) for word, label in self.words.items()}
        log = [(word, _renamed(label, names), batch) for word, label, batch in self.word_log]
        replaced = [entry | {"label": names.get(entry["label"], entry["label"])} for entry in self.replaced]
        votes = [entry | {"label": names.get(entry["label"], entry["label"])} for entry in self.votes]
        return replace(self, labels=labels, words=words, word_log=log, replaced=replaced, votes=votes)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The answers as dictionaries: ``row``, ``label``, ``drawn``, ``by`` and ``batch``."""
        columns = (getattr(self, name) for name in _COLUMNS.values())
        return [dict(zip(_COLUMNS, values, strict=True)) for values in zip(*columns, strict=True)]

    def with_entries(self, entries: Iterable[dict[str, Any]], **others: Any) -> Answers:
        """Return a copy with other answers.

        Parameters
        ----------
        entries : iterable of dict
        **others
            New values of other attributes.

        Returns
        -------
        Answers
        """
        entries = list(entries)
        columns: dict[str, Any] = {name: [entry[part] for entry in entries] for part, name in _COLUMNS.items()}
        return replace(self, **columns, **others)


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
    taken = {str(name).casefold() for name in classes}
    found = [word for word in words.split(", ") if any(map(str.isalpha, word)) and word.casefold() not in taken]
    return found[:3]
