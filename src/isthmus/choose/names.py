"""Names of classes as a voter: which classes they add, when they may count, and how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus._utils import plural
from isthmus.choose.evidence import Evidence
from isthmus.choose.trust import THIN
from isthmus.exceptions import DataError, UsageError
from isthmus.features.class_names import ClassName, class_texts, read_classes, without_words
from isthmus.features.languages import script_of
from isthmus.features.lexicons import read_polarity

LEAST_AGREEMENT = 0.1  # Cohen's kappa of the names alone with the source's labels
LEAST_WAY_BACK = -0.2  # log-odds by which the way back to the source may be worse than the vote's
MOST_SHARE = 1 / 3  # of the names in the vote
OTHER_SCRIPT = "not tried: the names are written in another script than the documents; describe the classes in theirs"
_LOOKED_AT = 200  # documents, for their script


@dataclass(frozen=True)
class NamedClasses:
    """The classes of one labelling: those of the source, and those that were given by their names.

    ``classes`` are all that can be described: those of the source, then those ``added``, which it lacks. The names of
    ``meaningless`` ones ("C13") mean nothing: those of the source go by its documents alone, others are left out.
    """

    classes: dict[Any, ClassName]
    added: list
    meaningless: list
    descriptions: dict[Any, str]

    @classmethod
    def of(cls, given: Any, known: Iterable, word_labels: Mapping | None = None) -> NamedClasses:
        """Read ``classes`` as a caller gave them, next to the classes of the source.

        Labelled words of a class that the source lacks are part of its description.
        """
        known = list(dict.fromkeys(known))
        texts = class_texts(given, known)
        for word, name in _labelled(word_labels):
            if name in texts and name not in known:
                texts[name] = f"{texts[name]} {word}".strip()
        classes = read_classes(texts, known)
        added = [name for name in texts if name not in known]
        if added and not all(isinstance(name, str) for name in known):
            raise DataError(
                f"{str(added[0])[:40]!r} is a new class, and the source's classes are numbers; use names for all "
                "classes to add one.",
                code="bad-labels",
            )
        meaningless = [name for name in without_words(classes) if name in texts]
        left_out = {name for name in meaningless if name not in known}
        return cls(
            {name: one for name, one in classes.items() if name not in left_out},
            [name for name in added if name not in left_out],
            meaningless,
            {name: text for name, text in texts.items() if text},
        )

    @property
    def for_recipe(self) -> dict[Any, str]:
        return {name: one.description for name, one in self.classes.items()}

    @property
    def can_vote(self) -> bool:
        """Whether two names mean something, and they are not verdicts."""
        named = sum(bool(one.text) for one in self.classes.values())
        return bool(self.added) or (named > 1 and read_polarity(self.classes) is None)

    def other_words(self, word_labels: Mapping | None) -> dict | None:
        """Labelled words without those of added classes, which describe them."""
        if word_labels is None or not self.added:
            return None if word_labels is None else dict(word_labels)
        others: dict = {}
        for word, label in word_labels.items():
            weights = label if isinstance(label, Mapping) else {label: 1.0}
            left = {name: weight for name, weight in weights.items() if name not in self.added}
            if left:
                others[word] = left
        return others or None

    def warnings(self, nameless: Iterable = ()) -> list[dict]:
        """Warn of classes that names do not describe; ``nameless``: those whose words no document knows."""
        rows = []
        for name in self.meaningless:
            if name in self.classes:
                message = (
                    f"The name {str(name)[:60]!r} means nothing, so the class goes by its labelled documents alone"
                )
            else:
                message = (
                    f"The name {str(name)[:60]!r} means nothing and no document carries it, so no label will be it"
                )
            rows.append({"topic": "classes", "message": f"{message}; describe it by words: '{str(name)[:60]}: …'."})
        for name in nameless:
            if name in self.added:
                message = (
                    f"No word of the class {str(name)[:60]!r} is known to the documents, so no label will be it; "
                    f"describe it by words that its documents use: '{str(name)[:60]}: …'."
                )
                rows.append({"topic": "classes", "message": message})
        return rows


def _labelled(word_labels: Mapping | None) -> Iterator[tuple[str, Any]]:
    for word, label in (word_labels or {}).items():
        weights = label if isinstance(label, Mapping) else {label: 1.0}
        for name, weight in weights.items():
            if weight > 0:
                yield str(word), name


def check_names_alone(classes: NamedClasses) -> None:
    if len(classes.classes) > 1:
        return
    lost = f" ({', '.join(map(str, classes.meaningless))}: the name means nothing)" if classes.meaningless else ""
    raise UsageError(
        f"{plural(len(classes.classes), 'class is', 'classes are')} described by documents, by a name or by words"
        f"{lost}; name at least two, as in 'business: shares, market'.",
        code="empty-class",
    )


def in_other_script(classes: NamedClasses, texts: Sequence[str]) -> bool:
    """Whether names are written in another script than most documents, so that they share no word with them."""
    named = script_of(" ".join(one.text for one in classes.classes.values()))
    found = Counter(script_of(text) for text in texts[:: max(1, len(texts) // _LOOKED_AT)])
    del found[None]
    if named is None or not found:
        return False
    ideographs = {"han", "kana"}  # a Japanese name may do without kana
    written = found.most_common(1)[0][0]
    return named != written and not {named, written} <= ideographs


def why_names_stay_out(
    classes: Iterable, agreement: Any, named: Evidence | None, vote: Evidence | None, n_labelled: int
) -> str:
    """Why names do not vote on a pair, in one sentence; empty where they may.

    ``agreement`` is ``agreement_`` of a fitted :class:`isthmus.ClassNameClassifier`; ``named`` is the evidence about
    its labels, ``vote`` that about the labels of the vote without it.
    """
    if read_polarity(classes) is not None:
        return "the classes are verdicts, which names of classes do not tell apart"
    if agreement is None:
        return "fewer than two classes have both a name that means something and labelled documents"
    if agreement.names < LEAST_AGREEMENT:
        return "the names alone agree too little with the source's labels"
    if n_labelled >= THIN and named is not None and vote is not None and way_back(named, vote) < LEAST_WAY_BACK:
        return "trained on their labels, a classifier gets fewer of the source's right than with those of the vote"
    return ""


def names_share(agreement: Any) -> float:
    """Share of the names in the vote: their part of what names and labelled documents tell apart in the source.

    >>> from isthmus.classify.names import NameAgreement
    >>> names_share(NameAgreement(names=0.2, documents=0.6)), names_share(NameAgreement(names=0.9, documents=0.3))
    (0.25, 0.3333333333333333)
    """
    return float(min(MOST_SHARE, agreement.weight))


def way_back(named: Evidence, vote: Evidence) -> float:
    """By how much, in log-odds over all views, the names' labels lead back to the source better than the vote's."""
    pairs = zip(named.views, vote.views, strict=True)
    return float(
        np.mean([clipped_logit(one.reverse_accuracy) - clipped_logit(other.reverse_accuracy) for one, other in pairs])
    )
