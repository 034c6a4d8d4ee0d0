"""Count the words of two collections over one vocabulary, and measure their overlap and distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from isthmus._math.information import domain_divergence
from isthmus._progress import progress
from isthmus.features.counting import numbering, read_tokens
from isthmus.features.languages import languages_in_use, resolve_language
from isthmus.features.term_rows import count_places, look_up_terms, read_words
from isthmus.features.tokens import WordAnalyzer, cut_pieces, needs_cut
from isthmus.features.weights import document_frequency, weigh_tfidf


@dataclass(frozen=True)
class JointCounts:
    """Word counts of both collections over one vocabulary."""

    # Documents × terms. Stop words are removed and words of one stem are merged, by the language of each document.
    source: sp.csr_matrix
    target: sp.csr_matrix
    names: np.ndarray  # most frequent written form of each term
    # Numbers of the written words of each document, in order, with stop words. In scripts without spaces, words are cut
    # into chunks.
    source_tokens: list[np.ndarray]
    target_tokens: list[np.ndarray]

    @property
    def source_df(self) -> np.ndarray:
        """Number of source documents that contain each term."""
        return document_frequency(self.source)

    @property
    def target_df(self) -> np.ndarray:
        """Number of target documents that contain each term."""
        return document_frequency(self.target)


def count_joint(source_texts: Sequence[str], target_texts: Sequence[str], *, language: str = "auto") -> JointCounts:
    """Count the words of two collections over their joint vocabulary.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    language : str
        "auto" processes each document in its own language, among the languages of at least a tenth of either side.

    Returns
    -------
    JointCounts
    """
    given = resolve_language(language)
    sides = (source_texts, target_texts)
    found = [name for texts in sides for name in languages_in_use(texts)] if given == "auto" else [given]
    analyzer = WordAnalyzer(tuple(dict.fromkeys(found)), stem=True, stop_words=None)
    texts, several = [*source_texts, *target_texts], len(analyzer.languages) > 1

    def read_chunks(text: str) -> list[Any]:
        language = analyzer.language_of(text)
        chunks = [chunk for word in analyzer.words(text, language) for chunk in cut_pieces(word)]
        return [(language, chunk) for chunk in chunks] if several else chunks

    tokens = read_words(texts, analyzer)
    # In scripts without spaces, the chunks of a word replace the word.
    if any(needs_cut(word[-1] if several else word) for word in tokens.words):
        tokens = read_tokens(texts, read_chunks, ("chunks", analyzer.languages))
    written = [word for _, word in tokens.words] if several else tokens.words
    # Chunks are not cut again, so they are terms as they are written.
    terms = [
        word if isinstance(term, tuple) else term
        for word, term in zip(written, look_up_terms(tokens.words, analyzer), strict=True)
    ]
    best: dict[str, tuple[int, str]] = {}
    for term, word, uses in zip(terms, written, np.bincount(tokens.ids, minlength=len(terms)).tolist(), strict=True):
        if term is not None and uses:  # other texts may have been read with these
            # The most frequent form; of two equally frequent forms, the alphabetically first.
            best[term] = min(best.get(term, (0, "")), (-uses, word))
    order = {term: column for column, term in enumerate(sorted(best, key=lambda term: (best[term][1], term)))}
    columns = np.array([order.get(term, -1) for term in terms], dtype=np.int64)[tokens.ids]
    known = columns >= 0
    counts = count_places(tokens.rows[known], columns[known], (len(texts), len(order)))
    # A word has the same number in all languages, so that copies are found whatever the language of their document.
    number = numbering()
    numbers = np.array([number[word] for word in written], dtype=np.int32)[tokens.ids]
    of_text = np.split(numbers, tokens.ends[:-1]) if len(texts) else []
    n = len(source_texts)
    names = np.array([best[term][1] for term in order], dtype=object)
    return JointCounts(counts[:n], counts[n:], names, of_text[:n], of_text[n:])


def vocabulary_overlap(source: sp.csr_matrix, target: sp.csr_matrix) -> dict[str, float]:
    """Measure how much of each vocabulary and of the target's running text the source contains.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.

    Returns
    -------
    dict
        ``shared_types``, ``source_types``, ``target_types``; ``types_known`` (share of target terms that occur in the
        source), ``tokens_known`` (the same share of the target's running terms), ``jaccard`` of the two vocabularies.

    See Also
    --------
    isthmus.diagnose : All measures together, with advice.
    isthmus.shift.word_divergence : How differently words are used.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.shift.vocabulary import vocabulary_overlap
    >>> vocabulary_overlap(sp.csr_matrix([[1, 1, 0]]), sp.csr_matrix([[0, 3, 1]]))["tokens_known"]
    0.75
    """
    in_source, in_target = (np.asarray(side.sum(axis=0)).ravel() for side in (source, target))
    shared = (in_source > 0) & (in_target > 0)
    types = int(np.sum(in_target > 0))
    either = int(np.sum((in_source > 0) | (in_target > 0)))
    return {
        "source_types": int(np.sum(in_source > 0)),
        "target_types": types,
        "shared_types": int(shared.sum()),
        "types_known": float(shared.sum() / types) if types else 0.0,
        "tokens_known": float(in_target[shared].sum() / in_target.sum()) if types else 0.0,
        "jaccard": float(shared.sum() / either) if either else 0.0,
    }


def word_divergence(
    source: sp.csr_matrix, target: sp.csr_matrix, *, min_df: int = 3, random_state: int | None = 0
) -> dict[str, float]:
    """Return D(source‖target) of the smoothed word distributions, and the value that chance gives.

    Dai et al. (KDD 2007) describe their data sets with this divergence. It depends on the size of the collections, so
    the same figure between two random halves of the source is returned for comparison. Halves are smaller than the
    whole collection, which raises their figure a little: a value well above it is not due to chance.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    min_df : int
        Terms in fewer documents of both sides together are ignored, as in the benchmark suites.
    random_state : int or None

    Returns
    -------
    dict
        ``kl`` and ``kl_halves``, in nats.
    """
    frequent = document_frequency(source) + document_frequency(target) >= min_df
    a, b = (np.asarray(side.sum(axis=0)).ravel()[frequent] for side in (source, target))
    if not len(a) or not a.sum() or not b.sum():
        return {"kl": float("nan"), "kl_halves": float("nan")}
    halves = np.random.default_rng(random_state).permutation(source.shape[0])
    cut = source.shape[0] // 2
    first = np.asarray(source[halves[:cut]].sum(axis=0)).ravel()
    second = np.asarray(source[halves[cut:]].sum(axis=0)).ravel()
    seen = document_frequency(source) >= min_df
    within = domain_divergence(first[seen], second[seen]) if cut and seen.any() else float("nan")
    return {"kl": domain_divergence(a, b), "kl_halves": within}


# -- How well a linear classifier distinguishes two domains: the proxy A-distance


FEWEST = 20  # documents per side; with fewer, a held-out error is meaningless
LARGEST = 3_000  # documents per side; more change only the third digit, so larger sides are sampled
# Folds of the cross-validation.
_FOLDS = 5


def proxy_a_distance(
    source: sp.csr_matrix, target: sp.csr_matrix, *, largest: int = LARGEST, random_state: int | None = 0
) -> dict[str, float]:
    """Return 2·(1 − 2ε), where ε is the held-out error of a linear classifier that distinguishes source from target.

    The distance is 0 if the classifier finds no difference, and 2 if it recognises the side of every document. The two
    sides have the same weight, whatever their sizes. Suppose that a share λ of the target is foreign and the rest is
    like the source. The best classifier then errs on half of the rest, ε = (1 − λ)/2. Half the distance is therefore
    about the
    share of the target that looks foreign.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    largest : int
        Documents per side; larger sides are sampled.
    random_state : int or None

    Returns
    -------
    dict
        ``distance``, ``low`` and ``high`` (95% interval from the number of held-out documents), ``error``,
        ``documents`` (of the smaller side). NaN if a side has fewer than 20 documents that contain a word.

    See Also
    --------
    isthmus.diagnose : All measures together, with advice.
    isthmus.shift.vocabulary_overlap : Words in common.

    References
    ----------
    .. [1] Ben-David, Blitzer, Crammer, Pereira, "Analysis of representations for domain adaptation", NIPS 2006.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.shift.vocabulary import proxy_a_distance
    >>> left, right = np.tile([1, 0, 1], (40, 1)), np.tile([0, 1, 1], (40, 1))
    >>> proxy_a_distance(sp.csr_matrix(left), sp.csr_matrix(right))["distance"]
    2.0
    """
    rng = np.random.default_rng(random_state)
    sides = [side[sample_filled(side, largest, rng)] for side in (source, target)]
    smaller = min(side.shape[0] for side in sides)
    if smaller < FEWEST:
        nothing = dict.fromkeys(("distance", "low", "high", "error"), float("nan"))
        return {**nothing, "documents": smaller}
    X = sp.vstack(sides, format="csr")
    X = weigh_tfidf(X[:, document_frequency(X) >= 2])
    y = np.repeat([0, 1], [side.shape[0] for side in sides])
    wrong = np.zeros(len(y), dtype=bool)
    seed = int(rng.integers(2**31))
    for fold, (train, test) in enumerate(StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(X, y)):
        model = LinearSVC(class_weight="balanced", random_state=seed, max_iter=2_000, tol=1e-3)
        wrong[test] = model.fit(X[train], y[train]).predict(X[test]) != y[test]
        progress("telling the domains apart", fold + 1, _FOLDS)
    rates = np.array([wrong[y == side].mean() for side in (0, 1)])
    # One pseudo-observation per side gives the interval a positive length even if no document was misclassified.
    sizes = np.array([side.shape[0] for side in sides])
    smooth = (rates * sizes + 0.5) / (sizes + 1)
    spread = 1.96 * np.sqrt(np.sum(smooth * (1 - smooth) / sizes) / 4)
    error = float(rates.mean())
    low, high = (float(np.clip(2 * (1 - 2 * (error + sign * spread)), 0, 2)) for sign in (1, -1))
    distance = float(np.clip(2 * (1 - 2 * error), 0, 2))
    return {"distance": distance, "low": low, "high": high, "error": error, "documents": int(smaller)}


def sample_filled(side: sp.csr_matrix, largest: int, rng: np.random.Generator) -> np.ndarray:
    """Sample at most ``largest`` rows that are not empty: documents without a word would all look alike.

    Parameters
    ----------
    side : CSR matrix of shape (n_documents, n_words)
    largest : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int
        Row numbers in ascending order.
    """
    rows = np.flatnonzero(np.diff(side.indptr))
    return np.sort(rng.choice(rows, largest, replace=False)) if len(rows) > largest else rows
