"""Use the names of the classes as a voter: the classes that they add, the conditions for their vote, and its weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.confidence import clipped_logit
from isthmus._math.fitted import fitted
from isthmus._utils import plural
from isthmus.choose.evidence import Evidence
from isthmus.exceptions import DataError, UsageError
from isthmus.features.class_names import ClassName, class_texts, read_classes, without_words
from isthmus.features.languages import script_of
from isthmus.features.lexicons import read_polarity

# Fitted constants; ``choose/trust.json`` states their units and origin.
BY_NAMES = fitted("names")
ACCURACY = fitted("expected_accuracy")

OTHER_SCRIPT = "not tried: the names are written in another script than the documents; describe the classes in theirs"
_LOOKED_AT = 200  # documents from which the script of the collection is determined


@dataclass(frozen=True)
class NamedClasses:
    """The classes of the source, and those that the caller described.

    Attributes
    ----------
    classes : dict
        Descriptions of all classes that can be described: those of the source, then the added ones.
    added : list
        Classes that the source lacks.
    meaningless : list
        Classes whose name ("C13") has no meaning. Such a class of the source has only its documents; others are left
        out.
    descriptions : dict
        Description by class, as the caller gave it.
    """

    classes: dict[Any, ClassName]
    added: list
    meaningless: list
    descriptions: dict[Any, str]

    @classmethod
    def of(cls, given: Any, known: Iterable, word_labels: Mapping | None = None) -> NamedClasses:
        """Read ``classes`` as a caller gave them, together with the classes of the source.

        Parameters
        ----------
        given : object
            Names or descriptions of classes.
        known : iterable
            Classes of the source.
        word_labels : mapping, optional
            Labelled words. Those of a class that the source lacks become part of its description.

        Returns
        -------
        NamedClasses

        Raises
        ------
        DataError
            If a class is added to classes that are numbers.
        """
        known = list(dict.fromkeys(known))
        texts = class_texts(given, known)
        for word, name in _labelled(word_labels):
            if name in texts and name not in known:
                texts[name] = f"{texts[name]} {word}".strip()
        classes = read_classes(texts, known)
        added = [name for name in texts if name not in known]
        # One array of classes cannot contain names and numbers.
        if added and not all(isinstance(name, str) for name in known):
            raise DataError(
                f"{str(added[0])[:40]!r} is a new class, and the source's classes are numbers; use names for all "
                "classes to add one.",
                code="bad-labels",
            )
        # A code such as "C13" has no words, so only documents can describe its class.
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
        """Description by class, as the method of class names takes it."""
        return {name: one.description for name, one in self.classes.items()}

    @property
    def can_vote(self) -> bool:
        """Whether a class is added, or at least two names have a meaning and the classes are no verdicts."""
        named = sum(bool(one.text) for one in self.classes.values())
        return bool(self.added) or (named > 1 and read_polarity(self.classes) is None)

    def other_words(self, word_labels: Mapping | None) -> dict | None:
        """Return the labelled words without those of added classes, which became part of the descriptions.

        Parameters
        ----------
        word_labels : mapping or None

        Returns
        -------
        dict or None
        """
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
        """Return warnings about classes that names do not describe.

        Parameters
        ----------
        nameless : iterable
            Classes none of whose words occurs in a document.

        Returns
        -------
        list of dict
        """
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
    """Refuse to label by names if fewer than two classes are described.

    Parameters
    ----------
    classes : NamedClasses

    Raises
    ------
    UsageError
    """
    if len(classes.classes) > 1:
        return
    lost = f" ({', '.join(map(str, classes.meaningless))}: the name means nothing)" if classes.meaningless else ""
    raise UsageError(
        f"{plural(len(classes.classes), 'class is', 'classes are')} described by documents, by a name or by words"
        f"{lost}; name at least two, as in 'business: shares, market'.",
        code="empty-class",
    )


def in_other_script(classes: NamedClasses, texts: Sequence[str]) -> bool:
    """Decide whether names are written in another script than most documents, so that they share no word with them.

    Parameters
    ----------
    classes : NamedClasses
    texts : sequence of str

    Returns
    -------
    bool
    """
    named = script_of(" ".join(one.text for one in classes.classes.values()))
    found = Counter(script_of(text) for text in texts[:: max(1, len(texts) // _LOOKED_AT)])
    del found[None]
    if named is None or not found:
        return False
    ideographs = {"han", "kana"}  # a Japanese name may contain no kana
    written = found.most_common(1)[0][0]
    return named != written and not {named, written} <= ideographs


def why_names_stay_out(
    classes: Iterable, agreement: Any, named: Evidence | None, vote: Evidence | None, n_labelled: int
) -> str:
    """Return the reason why names do not vote on a pair of collections.

    Parameters
    ----------
    classes : iterable
    agreement : NameAgreement or None
        ``agreement_`` of a fitted :class:`isthmus.ClassNameClassifier`.
    named, vote : Evidence or None
        Evidence about the labels by names, and about the labels of the vote without them.
    n_labelled : int
        Labelled source documents.

    Returns
    -------
    str
        Empty if names may vote.
    """
    if read_polarity(classes) is not None:
        return "the classes are verdicts, which names of classes do not tell apart"
    if agreement is None:
        return "fewer than two classes have both a name that means something and labelled documents"
    if agreement.names < BY_NAMES["least_agreement"]:
        return "the names alone agree too little with the source's labels"
    if (
        n_labelled >= ACCURACY["thin"]
        and named is not None
        and vote is not None
        and way_back(named, vote) < BY_NAMES["least_way_back"]
    ):
        return "trained on their labels, a classifier gets fewer of the source's right than with those of the vote"
    return ""


def names_share(agreement: Any) -> float:
    """Return the share of the names in the vote.

    It is the part of the names in the class information that names and labelled documents provide in the source.

    Parameters
    ----------
    agreement : NameAgreement

    Returns
    -------
    float

    Examples
    --------
    >>> from isthmus.classify.names import NameAgreement
    >>> names_share(NameAgreement(names=0.2, documents=0.6)), names_share(NameAgreement(names=0.9, documents=0.3))
    (0.25, 0.3333333333333333)
    """
    return float(min(BY_NAMES["most_share"], agreement.weight))


def way_back(named: Evidence, vote: Evidence) -> float:
    """Return by how much the reverse accuracy of the names' labels exceeds that of the vote's labels.

    Parameters
    ----------
    named, vote : Evidence

    Returns
    -------
    float
        Log-odds, averaged over all views.
    """
    pairs = zip(named.views, vote.views, strict=True)
    return float(
        np.mean([clipped_logit(one.reverse_accuracy) - clipped_logit(other.reverse_accuracy) for one, other in pairs])
    )
