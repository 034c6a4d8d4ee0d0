"""Names of classes as people write them, read as words: "sci/tech", "affected_individuals", "Sports & Outdoors"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isthmus.exceptions import UsageError
from isthmus.features.spelling import normalize_text

# Abbreviations that class names are full of and running text is not.
_WRITTEN_OUT = (
    "acq: acquisition, admin: administration, agri: agriculture, biz: business, comp: computers, "
    "crypt: cryptography, dept: department, edu: education, ent: entertainment, env: environment, "
    "forsale: for sale, fx: foreign exchange, gov: government, govt: government, info: information, "
    "intl: international, med: medicine, mgmt: management, mideast: middle east, neg: negative, neu: neutral, "
    "org: organization, orgs: organizations, os: operating system, pol: politics, pos: positive, rec: recreation, "
    "sci: science, soc: society, sys: system, tech: technology"
)
ABBREVIATIONS = dict(pair.split(": ") for pair in _WRITTEN_OUT.split(", "))
_LEFT_OUT = (
    # Words that join others in a name.
    "a an and con das de der di die e et for in la le les o oder of or ou the to und with y",
    # Words that say that something is a class, or that it is none of the others, and nothing about its documents.
    "alt altri altro autre autres categories category class cluster general generic group label misc miscellaneous na "
    "none other others otro otros rest sonstige sonstiges topic type unknown unlabeled unlabelled various",
)
_JOINING, _EMPTY = (frozenset(words.split()) for words in _LEFT_OUT)
_CAMEL = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])")
_PARTS = re.compile(r"[^\W_]+")
_CODE = re.compile(r"[^\W\d_]{0,2}\d[^\W_]*", re.ASCII)  # C13, M141, 42, 2b, mp3
_TAIL = re.compile(r"\d+$")  # numbers at the end of a name, as in topic1


@dataclass(frozen=True)
class ClassName:
    """The name of a class, the words that it is read as, and a description."""

    name: Any  # the class itself, as labels have it
    words: tuple[str, ...] = ()  # words that its name is read as; none for a code
    description: str = ""  # further words, or a sentence; empty where none was given

    @property
    def text(self) -> str:
        """Name and description as one text; empty where both mean nothing."""
        return " ".join(part for part in (" ".join(self.words), self.description) if part)


def read_name(name: Any) -> tuple[str, ...]:
    """Words of a class's name; none where the name is a code or says nothing about documents.

    Anything but letters and digits separates, as does a capital within a word; abbreviations are written out, words
    that only join others are left out.
    """
    if not isinstance(name, str):
        return ()
    text = _CAMEL.sub(" ", normalize_text(name))
    words: list[str] = []
    for part in _PARTS.findall(text):
        if _CODE.fullmatch(part):
            continue
        part = _TAIL.sub("", part)
        word = part.casefold() if part.isascii() else part.lower()
        if not word or word in _JOINING or (len(word) == 1 and word.isascii()):
            continue
        words += ABBREVIATIONS.get(word, word).split()
    meaning = [word for word in words if word not in _EMPTY]
    return tuple(dict.fromkeys(meaning))


def split_description(given: str) -> tuple[str, str]:
    """Name and words of a class in one line, as the command takes it."""
    name, _, description = given.partition(":")
    if not name.strip():
        raise UsageError(
            f"The class {given!r} has no name before the colon; write it as 'name: words'.", code="bad-parameter"
        )
    return name.strip(), description.strip()


def read_classes(classes: Any, known: Iterable = ()) -> dict[Any, ClassName]:
    """Every accepted form of ``classes`` as class → :class:`ClassName`, in the order given.

    Names; or ``"name: words"``; or ``{name: words}`` with words as one text, a sequence, or None. ``known`` classes are
    never split at a colon, and are added by their own names.

    >>> found = read_classes({"business": ["shares", "market"], "C13": "rules of the European Union"}, known=["sport"])
    >>> {name: one.text for name, one in found.items()}
    {'sport': 'sport', 'business': 'business shares market', 'C13': 'rules of the European Union'}
    """
    known = list(known)
    given = dict.fromkeys(known, "") | class_texts(classes, known)
    found = {}
    for name, description in given.items():
        found[name] = ClassName(name, read_name(name), normalize_text(description).strip())
    return found


def class_texts(classes: Any, known: Iterable = ()) -> dict[Any, str]:
    """Return the description of each class that was given, or '' for a class without one; see :func:`read_classes`.

    >>> class_texts(["sport", "business: shares", "law: court"], known=["law: court"])
    {'sport': '', 'business': 'shares', 'law: court': ''}
    """
    known = set(known)
    if classes is None:
        return {}
    if isinstance(classes, Mapping):
        return {name: _one_text(name, words) for name, words in classes.items()}
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        raise UsageError(
            f"classes is {classes!r}; give a list of names, or a mapping of names to words.", code="bad-parameter"
        )
    pairs: dict[Any, str] = {}
    for given in classes:
        whole = given in known or not isinstance(given, str)
        name, description = (given, "") if whole else split_description(given)
        if name in pairs and pairs[name] != description:
            raise UsageError(f"The class {name!r} is given twice; join its words in one entry.", code="bad-parameter")
        pairs[name] = description
    return pairs


def _one_text(name: Any, words: Any) -> str:
    if words is None:
        return ""
    if isinstance(words, str):
        return words
    if isinstance(words, Sequence) and all(isinstance(word, str) for word in words):
        return " ".join(words)
    raise UsageError(
        f"The class {name!r} is described by {words!r}; give words as one text or a list of texts.",
        code="bad-parameter",
    )


def without_words(classes: Mapping[Any, ClassName]) -> list:
    """Classes whose name and description mean nothing, so that only labelled documents can describe them."""
    return [name for name, one in classes.items() if not one.text]
