"""Find a general lexicon whose words can serve as labelled words, because the classes are verdicts.

Verdicts are classes that are ordered from bad to good, such as "negative" and "positive".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from isthmus._math.fitted import fitted
from isthmus.features.languages import languages_in_use
from isthmus.features.lexicons import Lexicon, has_lexicon, label_words, read_lexicon, read_polarity, score_texts

# Fitted constants; ``choose/trust.json`` states their units and origin.
LEXICON_LIMITS = fitted("lexicon")

_SAMPLE = 2_000  # source documents scored with the lexicon


@dataclass(frozen=True)
class FoundLexicon:
    """A general lexicon that fits the classes of the source."""

    lexicon: Lexicon
    polarity: dict[Any, float]  # class to valence
    # Share of pairs of documents with opposite classes in the right order; None: too few documents.
    agreement: float | None
    by_name: bool  # whether the names of the classes show that they are verdicts

    @property
    def word_labels(self) -> dict[str, dict[Any, float]]:
        """Labelled words of the lexicon: weights of the classes by word."""
        return label_words(self.lexicon, self.polarity)

    @property
    def why(self) -> str:
        """Reason for the use of the lexicon."""
        reason = "the classes are verdicts by their names" if self.by_name else "it agrees with the source's labels"
        worst, best = (end(self.polarity, key=self.polarity.__getitem__) for end in (min, max))
        why = f"{len(self.lexicon.valence):,} words of {self.lexicon.name}, because {reason} ({worst} to {best})"
        if self.agreement is None:
            return why
        right = f"{self.agreement:.0%} in the right order"
        return f"{why}: of two source documents, one of either class, it puts {right}"


def find_lexicon(texts: Sequence[str], labels: Sequence, language: str = "auto") -> FoundLexicon | None:
    """Return the installed lexicon that fits the classes of the labelled source documents.

    Classes are verdicts if their names show it (:func:`isthmus.features.lexicons.read_polarity`) and the lexicon orders
    the source's documents better than chance. Two classes with other names are verdicts if the lexicon orders the
    documents much better than chance.

    Parameters
    ----------
    texts : sequence of str
    labels : sequence
        None for an unlabelled text.
    language : str

    Returns
    -------
    FoundLexicon or None
    """
    known = [place for place, label in enumerate(labels) if label is not None]
    known = [known[i * len(known) // _SAMPLE] for i in range(_SAMPLE)] if len(known) > _SAMPLE else known
    rows = [texts[place] for place in known]
    own = [labels[place] for place in known]
    classes = sorted(set(own), key=str)
    if len(classes) < 2:
        return None
    polarity = read_polarity(classes)
    if polarity is None and len(classes) > 2:
        return None
    if language == "auto":
        found = languages_in_use(rows)
        language = found[0] if len(found) == 1 else "other"
    if not has_lexicon(language):
        return None
    lexicon, by_name = read_lexicon(language), polarity is not None
    polarity = polarity or {classes[0]: -1.0, classes[1]: 1.0}
    agreement = _agreement(lexicon, rows, own, polarity)
    if by_name:
        fits = agreement is None or agreement >= LEXICON_LIMITS["disagrees"]
        return FoundLexicon(lexicon, polarity, agreement, by_name=True) if fits else None
    if agreement is None or max(agreement, 1 - agreement) < LEXICON_LIMITS["agrees"]:
        return None
    # The first of two classes by name may be the positive one.
    if agreement < 0.5:
        polarity = {name: -value for name, value in polarity.items()}
        agreement = 1 - agreement
    return FoundLexicon(lexicon, polarity, agreement, by_name=False)


def _agreement(lexicon: Lexicon, texts: Sequence[str], labels: Sequence, polarity: dict[Any, float]) -> float | None:
    sides = np.sign([polarity[label] for label in labels])
    kept = np.flatnonzero(sides != 0)
    if min(np.sum(sides == -1), np.sum(sides == 1)) < LEXICON_LIMITS["fewest"]:
        return None
    scores = score_texts(lexicon, [texts[place] for place in kept.tolist()])
    return float(roc_auc_score(sides[kept] > 0, scores))
