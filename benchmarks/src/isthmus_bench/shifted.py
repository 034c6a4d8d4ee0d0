"""Generate texts of two or more domains whose classes share some of their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

import numpy as np

from isthmus.exceptions import UsageError

# Syllables whose words no stemmer shortens and no stop-word list holds.
_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aou"


@dataclass(frozen=True)
class ShiftedTexts:
    """What :func:`make_shifted_texts` made.

    Attributes
    ----------
    source_texts, target_texts : list of str
        Texts of all sources, then of the target.
    source_labels, target_labels : list of str
        Their true classes; those of the target are for scoring.
    source_domain : list of str
        Which source each source text is from (``"source 1"``, …).
    words : list of dict
        One row per word: ``word``, ``class`` (None for words of no class) and ``domain`` (``"shared"``, ``"source 1"``,
        …, ``"target"``).

    See Also
    --------
    isthmus_bench.shifted.make_shifted_texts : The function that makes it.

    Examples
    --------
    >>> from isthmus_bench.shifted import make_shifted_texts
    >>> made = make_shifted_texts(30, 20, random_state=0)
    >>> len(made.texts), made.sample_domain[[0, -1]].tolist(), made.labels[-1] is None
    (50, [1, -1], True)
    """

    source_texts: list[str]
    source_labels: list[str]
    target_texts: list[str]
    target_labels: list[str]
    source_domain: list[str]
    words: list[dict[str, Any]]

    @property
    def texts(self) -> list[str]:
        """All texts, the sources' first."""
        return [*self.source_texts, *self.target_texts]

    @property
    def labels(self) -> np.ndarray:
        """One label per text, None for the target: what an estimator is fitted with."""
        return np.array([*self.source_labels, *[None] * len(self.target_texts)], dtype=object)

    @property
    def true_labels(self) -> np.ndarray:
        """One label per text, the target's true ones included."""
        return np.array([*self.source_labels, *self.target_labels], dtype=object)

    @property
    def sample_domain(self) -> np.ndarray:
        """One number per text: 1, 2, … for the sources, -1 for the target."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self.source_domain), 1)}
        return np.array([*(numbers[name] for name in self.source_domain), *[-1] * len(self.target_texts)])

    def words_of(self, class_name: str | None = None, domain: str | None = None) -> list[str]:
        """Words of a class, of a domain, or of both; without arguments, all of them."""
        return [
            row["word"]
            for row in self.words
            if (class_name is None or row["class"] == class_name) and (domain is None or row["domain"] == domain)
        ]


def make_shifted_texts(
    n_source: int = 200,
    n_target: int = 200,
    *,
    n_classes: int = 2,
    n_sources: int = 1,
    n_novel: int = 0,
    n_words: int = 30,
    shared: float = 0.3,
    noise: float = 0.1,
    common: float = 0.3,
    length: int = 20,
    class_shares: Sequence[float] | None = None,
    target_class_shares: Sequence[float] | None = None,
    random_state: int | None = 0,
) -> ShiftedTexts:
    """Generate labelled texts of a source and texts of a target that uses other words for the same classes.

    Each class has words of its own. A part of them occurs in every domain, the rest in one domain only, so a classifier
    trained on the source knows only some of the words that carry the class in the target. All words are invented; the
    texts have no language, and every difference between the domains is one of the parameters.

    Parameters
    ----------
    n_source, n_target : int
        Texts of each source, and of the target.
    n_classes : int
        Classes of the source, named ``"class 0"``, ``"class 1"``, ….
    n_sources : int
        Source domains, each with words of its own.
    n_novel : int
        Classes that occur in the target only; they come after the others, as ``"class n_classes"``, ….
    n_words : int
        Words that a class has in one domain.
    shared : float
        Share of them that occurs in every domain: 1 is no shift, 0 leaves only words of no class in common.
    noise : float
        Share of a text's class words that belong to another class.
    common : float
        Share of a text's words that belong to no class.
    length : int
        Words of a text on average (Poisson, at least one).
    class_shares, target_class_shares : sequence of float, or None
        How frequent each class is; None: equally. Novel classes come last in the target's proportions.
    random_state : int or None
        Same number, same texts; None differs from call to call.

    Returns
    -------
    ShiftedTexts
        Texts and labels of both sides, and the table of words.

    See Also
    --------
    isthmus.corpus.load_sample : Readable comments of two dealers.
    isthmus.diagnose : Measures the shift that was made here.

    Examples
    --------
    >>> from isthmus_bench.shifted import make_shifted_texts
    >>> made = make_shifted_texts(100, 100, shared=0.4, random_state=0)
    >>> len(made.source_texts), len(made.target_texts), sorted(set(made.source_labels))
    (100, 100, ['class 0', 'class 1'])
    >>> len(made.words_of("class 0", "shared")), len(made.words_of("class 0", "target"))
    (12, 18)
    """
    _check(locals())
    rng = np.random.default_rng(random_state)
    domains = [*(f"source {number}" for number in range(1, n_sources + 1)), "target"]
    classes = [f"class {number}" for number in range(n_classes + n_novel)]
    words = _name_words(classes, domains, n_words, round(shared * n_words))
    texts: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    for domain in domains:
        on_target = domain == "target"
        present = classes if on_target else classes[:n_classes]
        weights = _shares(target_class_shares if on_target else class_shares, len(present))
        labels[domain] = rng.choice(present, n_target if on_target else n_source, p=weights).tolist()
        pools = _pools(words, present, domain)
        texts[domain] = [_text(rng, pools, label, noise, common, length) for label in labels[domain]]
    sources = domains[:-1]
    return ShiftedTexts(
        source_texts=[text for domain in sources for text in texts[domain]],
        source_labels=[label for domain in sources for label in labels[domain]],
        target_texts=texts["target"],
        target_labels=labels["target"],
        source_domain=[domain for domain in sources for _ in texts[domain]],
        words=words,
    )


def _check(given: dict[str, Any]) -> None:
    least = {"n_source": 1, "n_target": 1, "n_classes": 1, "n_sources": 1, "n_novel": 0, "n_words": 1, "length": 1}
    for name, low in least.items():
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise UsageError(f"{name} is {value!r}; give a whole number of at least {low}.")
    for name in ("shared", "noise", "common"):
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
            raise UsageError(f"{name} is {value!r}; give a share between 0 and 1.")
    counts = {"class_shares": given["n_classes"], "target_class_shares": given["n_classes"] + given["n_novel"]}
    for name, n in counts.items():
        shares = given[name]
        if shares is not None and (len(shares) != n or min(shares) < 0 or not sum(shares) > 0):
            raise UsageError(f"{name} is {shares!r}; give {n} shares, none negative.")


def _shares(given: Sequence[float] | None, n: int) -> np.ndarray:
    shares = np.ones(n) if given is None else np.asarray(given, dtype=float)
    return shares / shares.sum()


def _invented_words() -> Iterator[str]:
    """Three syllables each, neighbours far apart, so that words of one class do not look alike."""
    syllables = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _VOWELS)]
    n = len(syllables)
    for number in range(n**3):
        scattered = number * 7919 % n**3  # 7919 is prime to n, so every word comes once
        yield syllables[scattered % n] + syllables[scattered // n % n] + syllables[scattered // n**2]


def _name_words(classes: list[str], domains: list[str], n_words: int, n_shared: int) -> list[dict[str, Any]]:
    """A table of words: of each class those of every domain, then each domain's own; last those of no class."""
    names = _invented_words()
    rows: list[dict[str, Any]] = []
    for class_name in classes:
        for domain, n in [("shared", n_shared), *((domain, n_words - n_shared) for domain in domains)]:
            rows += [{"word": next(names), "class": class_name, "domain": domain} for _ in range(n)]
    return rows + [{"word": next(names), "class": None, "domain": "shared"} for _ in range(n_words)]


def _pools(words: list[dict[str, Any]], present: list[str], domain: str) -> dict[str | None, list[str]]:
    """The words each class has in a domain; under None those of no class."""
    pools: dict[str | None, list[str]] = {name: [] for name in [None, *present]}
    for row in words:
        if row["class"] in pools and row["domain"] in ("shared", domain):
            pools[row["class"]].append(row["word"])
    return pools


def _text(
    rng: np.random.Generator, pools: dict[str | None, list[str]], label: str, noise: float, common: float, length: int
) -> str:
    n = max(1, int(rng.poisson(length)))
    n_common = int(rng.binomial(n, common))
    others = [word for name, pool in pools.items() if name not in (None, label) for word in pool]
    n_noise = int(rng.binomial(n - n_common, noise)) if others else 0
    chosen = [*rng.choice(pools[None], n_common), *rng.choice(pools[label], n - n_common - n_noise)]
    if n_noise:
        chosen += [*rng.choice(others, n_noise)]
    return " ".join(rng.permutation(chosen).tolist())
