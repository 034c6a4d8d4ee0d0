"""Texts to sparse counts over the joint vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isthmus._progress import progress
from isthmus._validation import check_texts
from isthmus.base import (
    FROM_0,
    FROM_1,
    Interval,
    Lengths,
    StrOptions,
    check_parameters,
    refusal,
    row_blocks,
)
from isthmus.exceptions import DataError
from isthmus.features.counting import choose_terms, shared, texts_key
from isthmus.features.languages import IDEOGRAPHIC, UNSPACED, languages_in_use, resolve_language, stop_words
from isthmus.features.ngrams import MAX_LENGTH, key_names
from isthmus.features.term_rows import (
    BLOCK,
    TermRows,
    Vocabulary,
    count_places,
    find_words,
    piece_keys,
    read_words,
    weigh_counts,
)
from isthmus.features.tokens import WordAnalyzer
from isthmus.features.weights import document_frequency, least_documents, smooth_idf

# Where no list of stop words is kept, words in more than this share of the documents count as stop words. Among German
# news and English reviews, whose lists are known, 99 of 100 words above it are on the list.
EVERYWHERE = 0.3
_ENOUGH = 50  # documents from which such a share means anything
ANALYZERS = ("auto", "words", "bigrams", "trigrams", "chars")


class TextVectorizer(TransformerMixin, BaseEstimator):
    """Sparse counts, or tf-idf, over the vocabulary of all texts it is fitted on.

    Fit it on source and target together (a :func:`isthmus.make_transfer_pipeline` does) and both share one
    vocabulary. A document without any known word becomes an empty row; it is never dropped.

    Parameters
    ----------
    analyzer : {"auto", "words", "bigrams", "trigrams", "chars"}, default="auto"
        "words": words of two Unicode letters or more; Chinese, Japanese and Thai are cut into words where rjieba,
        fugashi or pythainlp is installed, otherwise into pieces as with "auto". "bigrams", "trigrams": two or three
        characters in a row, for scripts without blanks between words. "chars": character n-grams of the lengths in
        ``ngram_range``. "auto": bigrams when the texts are Chinese or Japanese, trigrams when they are Thai, Lao,
        Khmer or Burmese, words otherwise.
    ngram_range : (int, int), default=(1, 1)
        Lengths of word sequences, or of character n-grams (at most 3; longer ones are the string kernels' work).
    lowercase : bool, default=True
    language : str, default="auto"
        Code ("de") or English name ("German") of the texts' language; "other": nothing is done for any language.
        "auto": identified from a sample. Where several languages have a tenth of the documents each, every document
        is read in the likeliest of them.
    stop_words : {"auto", "english", None} or collection of str, default="auto"
        "auto": the language's list; for a language without one, words in more than 30% of the documents.
    stem : {"auto", True, False}, default="auto"
        Stems where the language has a stemmer; see the list under Languages in the user guide.
    sentiment : bool, default=False
        Negations are never treated as stop words, in any language, and English keeps all its
        words and endings.
    min_df : int or "auto", default="auto"
        Terms in fewer documents (of both domains together) are dropped. "auto" goes by the number of documents: 1
        below 200, 2 below 1,000, else 3 (the papers' choice for thousands of documents).
    max_df : float, default=1.0
        Terms in more than this share of the documents are dropped.
    weighting : {"counts", "binary", "tfidf"}, default="counts"
        What the entries are; tf-idf rows have length one.
    sublinear : bool, default=False
        With tf-idf: 1 + log(count) instead of the count.

    subwords : {"auto", True, False}, default="auto"
        Also count all sequences of five letters in each word, so that related compounds and endings share features; in
        German and other languages that join words or pile up endings, and those without a stemmer. "auto": with single
        words, unless ``sentiment`` is True or ``stem`` False.
    phrases : collection of str, optional
        Sequences of words to count in addition to ``ngram_range``; they may be longer.
    negation : int, default=0
        How many words after one that negates count as other words: with 3, "not a good idea" holds "not-good" and no
        "good". In languages whose negations are known.

    Attributes
    ----------
    analyzer_ : str
        The analyser in use.
    language_ : str
        Code of the main language, or "other".
    languages_ : tuple of str
        All languages in which documents are read, main one first.
    feature_names_ : ndarray of str
        The terms, sorted.
    idf_ : ndarray
        Inverse document frequencies over both domains.

    See Also
    --------
    isthmus.StringKernel : Characters instead of words.
    isthmus.make_transfer_pipeline : Joins it with a method.

    Examples
    --------
    >>> from isthmus.features import TextVectorizer
    >>> vectorizer = TextVectorizer(min_df=1)
    >>> vectorizer.fit_transform(["The staff was friendly", "Friendly prices"]).toarray().tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> vectorizer.get_feature_names_out().tolist()
    ['friendli', 'price', 'staff']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "analyzer": [StrOptions(set(ANALYZERS))],
        "ngram_range": [Lengths()],
        "lowercase": ["boolean"],
        "stop_words": [StrOptions({"auto", "english"}), "array-like", None],
        "stem": [StrOptions({"auto"}), "boolean"],
        "min_df": [FROM_1, StrOptions({"auto"})],
        "max_df": [Interval(Real, 0, 1, closed="right")],
        "weighting": [StrOptions({"counts", "binary", "tfidf"})],
        "sublinear": ["boolean"],
        "language": [str],
        "sentiment": ["boolean"],
        "subwords": [StrOptions({"auto"}), "boolean"],
        "phrases": ["array-like", None],
        "negation": [FROM_0],
    }

    def __init__(
        self,
        *,
        analyzer: str = "auto",
        ngram_range: Any = (1, 1),
        lowercase: bool = True,
        stop_words: Any = "auto",
        stem: str | bool = "auto",
        min_df: int | str = "auto",
        max_df: float = 1.0,
        weighting: str = "counts",
        sublinear: bool = False,
        language: str = "auto",
        sentiment: bool = False,
        subwords: str | bool = "auto",
        phrases: Any = None,
        negation: int = 0,
    ):
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.stem = stem
        self.min_df = min_df
        self.max_df = max_df
        self.weighting = weighting
        self.sublinear = sublinear
        self.language = language
        self.sentiment = sentiment
        self.subwords = subwords
        self.phrases = phrases
        self.negation = negation

    def fit(self, X, y=None):
        """Learn the vocabulary and document frequencies of the texts."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the vocabulary and return the rows."""
        check_parameters(self)
        if self.analyzer == "chars" and self.ngram_range[1] > MAX_LENGTH:
            longest = f"lengths of at most {MAX_LENGTH} characters (isthmus.StringKernel reads longer ones)"
            raise refusal(self, "ngram_range", longest)
        texts = check_texts(X)
        self.__dict__.pop("term_rows", None)  # of an earlier fit
        self._choose_analyzer(texts)
        if self.analyzer_ == "words":
            # Vectorisers that read the same texts in the same way share their names and counts.
            self.feature_names_, counts = shared(
                ("counts", *self._counts_key(texts)),
                lambda: choose_terms(
                    find_words(texts, self._words), lambda frequency: self._kept(frequency, len(texts))
                ),
            )
        else:
            self._keys, counts = self._count_new_keys(texts)
            kept = self._kept(document_frequency(counts), counts.shape[0])
            counts, self._keys = counts[:, kept], self._keys[kept]
            self.feature_names_ = key_names(self._keys)
        # Frequencies of the kept terms, in all documents of the fit.
        self.idf_ = smooth_idf(document_frequency(counts), counts.shape[0])
        if self.analyzer_ != "words" or self.weighting != "tfidf":
            return self._weigh(counts)
        key = ("weighed", self.sublinear, *self._counts_key(texts))
        return shared(key, lambda: self._weigh(counts))

    def read_words(self, texts: Sequence[str]) -> None:
        """Analyse words ahead, inside ``sharing()``, for all later callers with the same settings."""
        self._choose_analyzer(texts)
        if self.analyzer_ == "words":
            read_words(texts, self._words)

    def _weigh(self, counts):
        return weigh_counts(counts, self.weighting, self.idf_, sublinear=self.sublinear)

    def transform(self, X):
        """Rows of new texts over the learned vocabulary; unknown terms are left out."""
        check_is_fitted(self)
        texts = check_texts(X)
        return self.term_rows(texts)

    @cached_property
    def term_rows(self) -> TermRows:
        """What makes rows of new texts, once fitted; made when they come, which they often do not."""
        words = self.analyzer_ == "words"
        return TermRows(
            analyzer=self.analyzer_,
            words=self._words,
            vocabulary=Vocabulary(self.feature_names_.tolist() if words else []),
            keys=None if words else self._keys,
            idf=self.idf_,
            weighting=self.weighting,
            sublinear=self.sublinear,
            lowercase=self.lowercase,
            lengths=tuple(self.ngram_range),
        )

    def row_step(self) -> TermRows:
        """Return the step that makes rows of new texts; see ``isthmus.features.term_rows``."""
        return self.term_rows

    def get_feature_names_out(self, input_features=None):
        """Return the terms in column order."""
        check_is_fitted(self)
        return np.asarray(self.feature_names_, dtype=object)

    def analyze(self, text: str) -> list[str]:
        """Terms of one text, as the fitted vectoriser sees them (also those outside the vocabulary)."""
        check_is_fitted(self)
        return self.term_rows.analyze(text)

    def _choose_analyzer(self, texts: Sequence[str]):
        given = resolve_language(self.language)
        self.languages_ = (
            shared(("languages", texts_key(texts)), lambda: languages_in_use(texts)) if given == "auto" else (given,)
        )
        self.language_ = self.languages_[0]
        self.analyzer_ = analyzer_for(self.languages_) if self.analyzer == "auto" else self.analyzer
        # Stems and stop words cost English verdicts more than they bring; languages with more endings need them.
        spared = self.sentiment and self.language_ == "en"
        words = self.stop_words
        if isinstance(words, str):
            words = stop_words("en") if words == "english" else frozenset() if spared else None
        else:
            words = frozenset(words or ())
        # Parts of words help topics; they would hide the sentiment of a word.
        plain = not self.sentiment and bool(self.stem) and tuple(self.ngram_range) == (1, 1)
        self._words = WordAnalyzer(
            self.languages_,
            lowercase=self.lowercase,
            stem=not spared if self.stem == "auto" else bool(self.stem),
            stop_words=words,
            keep_negations=self.sentiment,
            ngram_range=tuple(self.ngram_range),
            subwords=plain if self.subwords == "auto" else bool(self.subwords),
            segment=self.analyzer == "words",
            negation=int(self.negation),
        )
        self._words.add_phrases(self.phrases or ())
        unlisted = self.language_ != "other" and self.language_ not in UNSPACED and not stop_words(self.language_)
        self._most_documents = 1.0
        if self.stop_words == "auto" and unlisted and not self.sentiment and len(texts) >= _ENOUGH:
            self._most_documents = EVERYWHERE

    def _counts_key(self, texts) -> tuple:
        settings = tuple(value for name, value in sorted(vars(self._words).items()) if name != "_seen")
        return settings, (self.min_df, self.max_df, self._most_documents), texts_key(texts)

    def _count_new_keys(self, texts):
        # Blocks bound the memory: there are many times more keys than n-grams.
        vocabulary = np.zeros(0, dtype=np.int64)
        parts = []
        for block in row_blocks(len(texts), BLOCK):
            keys, documents = self._ngram_keys(texts[block])
            local, column = np.unique(keys, return_inverse=True)
            parts.append((local, count_places(documents, column, (block.stop - block.start, len(local)))))
            vocabulary = np.union1d(vocabulary, local)
            progress("reading characters", block.stop, len(texts))
        blocks = []
        for local, counts in parts:
            place = np.searchsorted(vocabulary, local)
            blocks.append(
                sp.csr_matrix((counts.data, place[counts.indices], counts.indptr), (counts.shape[0], len(vocabulary)))
            )
        return vocabulary, sp.vstack(blocks, format="csr")

    def _ngram_keys(self, texts):
        return piece_keys(texts, self.analyzer_, tuple(self.ngram_range), lowercase=self.lowercase)

    def _kept(self, frequency: np.ndarray, n_documents: int) -> np.ndarray:
        """Terms within the limits on document frequency."""
        min_df = least_documents(n_documents) if self.min_df == "auto" else self.min_df
        most = min(self.max_df, self._most_documents) * n_documents
        kept = np.flatnonzero((frequency >= min_df) & (frequency <= most))
        if not len(kept):
            why, advice = f"occurs in {min_df} or more of {n_documents} documents", "lower min_df"
            if np.any(frequency >= min_df):
                why, advice = f"{why} and in at most {most:g}", "raise max_df"
            raise DataError(
                f"None of {len(frequency)} terms {why}; give more texts or {advice}.", code="empty-vocabulary"
            )
        return kept

    def __getstate__(self):
        """Return the state with the names as one array, which loads ten times faster than a list."""
        # The names as one array of fixed width, and no second copy as an index: saved models load ten times faster.
        state = {name: value for name, value in super().__getstate__().items() if name != "term_rows"}
        if "feature_names_" in state:
            state["feature_names_"] = np.asarray(state["feature_names_"], dtype=str)
        return state

    def __setstate__(self, state):
        """Restore the state with the names as objects."""
        super().__setstate__(state)
        if "feature_names_" in state:
            self.feature_names_ = np.asarray(state["feature_names_"], dtype=object)

    def __sklearn_tags__(self):
        """Return the tags of an estimator that reads strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def analyzer_for(languages: Sequence[str]) -> str:
    """Analyser for texts in these languages: "words", or "bigrams" or "trigrams" where none writes blanks.

    >>> analyzer_for(["de"]), analyzer_for(["zh", "ja"]), analyzer_for(["th"]), analyzer_for(["zh", "en"])
    ('words', 'bigrams', 'trigrams', 'words')
    """
    if IDEOGRAPHIC.issuperset(languages):
        return "bigrams"
    return "trigrams" if (UNSPACED - IDEOGRAPHIC).issuperset(languages) else "words"
