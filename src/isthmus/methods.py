"""Register every method name with its vectoriser, its estimator and its properties."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any

from isthmus.exceptions import UsageError

if TYPE_CHECKING:
    from isthmus.features.vectorizer import TextVectorizer
    from isthmus.pipeline import TransferPipeline


WINDOWED = 20_000  # documents of both collections; larger inputs use whole documents as contexts


@dataclass(frozen=True)
class Options:
    """Hold the options that a caller may set for any recipe."""

    random_state: int | None = 0
    analyzer: str = "auto"
    min_df: int | str = "auto"
    language: str = "auto"
    word_labels: Mapping | None = None
    embed: Any = "static"
    negation: int = 0
    classes: Any = None


@dataclass(frozen=True)
class Recipe:
    """Describe a named method from texts to labels, as the command shows it."""

    name: str
    summary: str
    build: Callable[[Options], TransferPipeline]  # returns an unfitted pipeline of raw texts
    adapts: bool = True  # the target's texts influence the model; False for the source-only baselines
    takes_words: bool = False  # uses labelled words
    takes_vectors: bool = False  # uses vectors of a pre-trained model
    takes_classes: bool = False  # uses classes given by name; no labelled document is required
    page: str = ""  # file name below docs/understand/methods
    # Returns the pipeline for files larger than memory: the same pipeline or an approximation. None if the method must
    # load all texts.
    chunks: Callable[[Options], TransferPipeline] | None = None

    def build_with(self, **options: Any) -> TransferPipeline:
        """Return an unfitted pipeline.

        Parameters
        ----------
        **options
            Fields of :class:`Options`.

        Returns
        -------
        TransferPipeline
        """
        return self.build(Options(**options))


# Functions contain the imports, so that a look at the registry loads neither a method nor numpy.


def _pipeline(*steps: Any) -> TransferPipeline:
    from isthmus.pipeline import make_transfer_pipeline

    return make_transfer_pipeline(*steps)


# -- Vectorisers -------------------------------------------------------------------------------------------------------


def _counts(options: Options, **settings: Any) -> TextVectorizer:
    from isthmus.features.vectorizer import TextVectorizer

    return TextVectorizer(analyzer=options.analyzer, min_df=options.min_df, language=options.language, **settings)


def _tfidf(options: Options, **settings: Any) -> TextVectorizer:
    return _counts(options, weighting="tfidf", **settings)


def _words_and_pairs(options: Options) -> TextVectorizer:
    """Return a vectoriser of words and word pairs with negations ("not good"), which decide about opinions."""
    return _tfidf(options, ngram_range=(1, 2), sentiment=True, sublinear=True, negation=options.negation)


def _phrases(options: Options) -> tuple[str, ...] | None:
    """Return the labelled terms that consist of several words."""
    phrases = tuple(word for word in options.word_labels or () if isinstance(word, str) and " " in word.strip())
    return phrases or None


def _labelled_words(options: Options, ngram_range: tuple[int, int] = (1, 1)) -> TextVectorizer:
    settings = {"ngram_range": ngram_range, "phrases": _phrases(options), "negation": options.negation}
    return _tfidf(options, sentiment=True, sublinear=True, **settings)


def _labelled_words_and_pairs(options: Options) -> TextVectorizer:
    return _labelled_words(options, (1, 2))


def _plain_words(options: Options) -> TextVectorizer:
    """Return a tf-idf vectoriser of single words and labelled phrases, with rows of length one."""
    return _tfidf(options, phrases=_phrases(options), negation=options.negation)


def _embedder(options: Options) -> Any:
    from isthmus.features.embedder import TextEmbedder
    from isthmus.features.embeddings import resolve_embedder

    return TextEmbedder.of(resolve_embedder(options.embed))


# -- Pipelines ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Method:
    """Build a pipeline: the vectoriser that ``read`` returns, then the estimator at ``place`` with these settings."""

    place: str  # module and class name below ``package``
    read: Callable[[Options], Any] | None = _counts
    settings: Mapping[str, Any] = field(default_factory=dict)
    package: str = "isthmus.classify"

    def __call__(self, options: Options, **more: Any) -> TransferPipeline:
        module, _, name = self.place.rpartition(".")
        kind = getattr(import_module(f"{self.package}.{module}"), name)
        shared = {key: getattr(options, key) for key in _SHARED if key in kind._get_param_names()}
        steps = [] if self.read is None else [self.read(options)]
        return _pipeline(*steps, kind(**shared, **self.settings, **more))


_SHARED = ("random_state", "word_labels")  # options that are also parameters of estimators


def _source_only(estimator: Any, *steps: Any) -> TransferPipeline:
    from isthmus.classify.source_only import SourceOnlyClassifier

    return _pipeline(*steps, SourceOnlyClassifier(estimator))


def _build_nbc(options: Options) -> TransferPipeline:
    from isthmus.classify.naive_bayes import NaiveBayes

    return _source_only(NaiveBayes(), _counts(options))


def _build_svm(options: Options) -> TransferPipeline:
    from isthmus.classify.linear import LinearClassifier

    return _source_only(LinearClassifier(loss="squared_hinge"), _tfidf(options))


def _logistic(**settings: Any) -> Any:
    from isthmus.classify.linear import LinearClassifier

    return LinearClassifier(C=10.0, **settings)


def _build_logistic(options: Options) -> TransferPipeline:
    return _source_only(_logistic(), _words_and_pairs(options))


def _build_self_training(options: Options) -> TransferPipeline:
    from isthmus.classify.self_training import SelfTrainingTransferClassifier

    return _pipeline(_words_and_pairs(options), SelfTrainingTransferClassifier(_logistic(warm_start=True)))


def _build_strings(options: Options) -> TransferPipeline:
    from isthmus.classify.strings.classifier import lengths_for

    return _Method(_STRINGS, None)(options, ngram_range=lengths_for(options.language))


def _build_strings_paper(options: Options) -> TransferPipeline:
    from isthmus.classify.strings.classifier import lengths_for

    method = _Method("strings.LiteralStringKernels", None, package="isthmus.papers")
    return method(options, ngram_range=lengths_for(options.language))


def _build_lsa(options: Options) -> TransferPipeline:
    from isthmus.classify.vectors import TransductiveCentroidClassifier
    from isthmus.features.latent import LatentSemantics

    latent = LatentSemantics(random_state=options.random_state)
    return _pipeline(_tfidf(options, sublinear=True), latent, TransductiveCentroidClassifier())


def _build_vectors_logistic(options: Options) -> TransferPipeline:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import Normalizer

    estimator = LogisticRegression(C=10.0, max_iter=1000, random_state=options.random_state)
    return _source_only(estimator, _embedder(options), Normalizer())


def _build_vectors_kernel(options: Options) -> TransferPipeline:
    from isthmus.classify.strings.kernels import CosineKernel

    return _Method(_STRINGS, _embedder)(options, kernel=CosineKernel())


_COCC = "cocc.classifier.CoClusteringClassifier"
_PROJECTION = "projection.classifier.TermProjectionClassifier"
_MANIFOLD = "dual.manifold.ManifoldDualClassifier"
_FACTOR = "dual.factor.FactorDualClassifier"
_STRINGS = "strings.classifier.TransductiveKernelClassifier"

# -- Classes given by name ---------------------------------------------------------------------------------------------


def _build_names(options: Options) -> TransferPipeline:
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import Normalizer

    from isthmus.classify.names import ClassNameClassifier
    from isthmus.features.embeddings import VectorTable, has_static_vectors
    from isthmus.features.latent import LatentSemantics

    method = ClassNameClassifier(options.classes, random_state=options.random_state)
    latent = _tfidf(options, sublinear=True), LatentSemantics(random_state=options.random_state)
    # Names of classes need a model that embeds them: given vectors exist only for the documents.
    absent = options.embed in (None, False) or (options.embed == "static" and not has_static_vectors())
    if absent or isinstance(options.embed, VectorTable):
        return _pipeline(*latent, method)
    both = [
        ("vectors", make_pipeline(_embedder(options), Normalizer())),
        ("words", make_pipeline(*latent, Normalizer())),
    ]
    return _pipeline(FeatureUnion(both), method)


_SUMMARIES = {
    "nbc": "Naive Bayes on counts, source only",
    "svm": "Linear SVM on tf-idf, source only",
    "logistic": "Logistic regression on tf-idf of words and word pairs, source only",
    "self-training": "Logistic regression that adds its surest target labels round by round",
    "cocc": "Co-clusters target documents with words tied to the source's classes",
    "strings": "String kernels adapted to the target, with a second round on its surest documents",
    "projection": "Each word counts for the class it is typical of; fast, for many classes and large files",
    "projection-svm": "Term projection with a linear SVM on its one feature per class",
    "lsa": "Class centroids that settle in the target, on latent semantic vectors of both collections",
    "vectors": "Class centroids that settle in the target, on vectors of a model trained elsewhere",
    "neighbours": "Self-training on vectors of a model trained elsewhere, spread to similar documents of the target",
    "vectors-logistic": "Logistic regression on vectors of a model trained elsewhere, source only",
    "vectors-kernel": "Transductive kernel of the vectors' cosines, with a second round on the surest documents",
    "names": "Classes given by their names or words, which settle in the target; labelled documents may help",
    "dual-manifold": "Labels of documents and of words, spread over the graph that joins them",
    "dual-factor": "Labels of documents and of words that also factorise the matrix",
    "cocc-paper": "Co-clustering as its paper prints it, to compare with",
    "projection-paper": "Term projection as its paper prints it, to compare with",
    "strings-paper": "Transductive string kernels as their paper prints them, to compare with",
    "dual-manifold-paper": "Dual supervision over the graph with its paper's parameters, to compare with",
    "dual-factor-paper": "Dual supervision by factors with its paper's parameters, to compare with",
}


def _recipe(
    name: str, build: Callable[[Options], TransferPipeline], page: str = "", chunks: Any = None, **traits: bool
) -> Recipe:
    """Return an entry of the registry; its page has its own name unless another is given.

    ``chunks`` is True if files larger than memory use the same pipeline.
    """
    return Recipe(
        name, _SUMMARIES[name], build, page=page or name, chunks=build if chunks is True else chunks, **traits
    )


METHODS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _recipe("nbc", _build_nbc, chunks=True, adapts=False, page="source-only"),
        _recipe("svm", _build_svm, chunks=True, adapts=False, page="source-only"),
        _recipe("logistic", _build_logistic, chunks=True, adapts=False, page="source-only"),
        _recipe("self-training", _build_self_training, chunks=True),
        _recipe("cocc", _Method(_COCC), chunks=True),
        _recipe("strings", _build_strings, chunks=_Method("strings.landmarks.LandmarkKernelClassifier", None)),
        _recipe("projection", _Method(_PROJECTION), chunks=True),
        _recipe("projection-svm", _Method(_PROJECTION, settings={"classifier": "svm"}), page="projection"),
        _recipe("lsa", _build_lsa, page="centroids"),
        _recipe(
            "vectors",
            _Method("vectors.TransductiveCentroidClassifier", _embedder),
            takes_vectors=True,
            page="centroids",
            chunks=_Method("vectors.TransductiveCentroidClassifier", None),
        ),
        _recipe("neighbours", _Method("neighbours.NeighbourSelfTraining", _embedder), takes_vectors=True),
        _recipe("vectors-logistic", _build_vectors_logistic, adapts=False, takes_vectors=True, page="source-only"),
        _recipe("vectors-kernel", _build_vectors_kernel, takes_vectors=True, page="strings"),
        _recipe("names", _build_names, takes_classes=True),
        _recipe("dual-manifold", _Method(_MANIFOLD, _labelled_words_and_pairs), takes_words=True),
        _recipe("dual-factor", _Method(_FACTOR, _labelled_words), takes_words=True),
        _recipe("cocc-paper", _Method("cocc.LiteralCoClustering", package="isthmus.papers"), page="cocc"),
        _recipe(
            "projection-paper",
            _Method("projection.LiteralTermProjection", package="isthmus.papers"),
            adapts=False,
            page="projection",
        ),
        _recipe("strings-paper", _build_strings_paper, page="strings"),
        _recipe(
            "dual-manifold-paper",
            _Method("dual.LiteralManifold", _plain_words, package="isthmus.papers"),
            takes_words=True,
            page="dual-manifold",
        ),
        _recipe(
            "dual-factor-paper",
            _Method("dual.LiteralFactor", _plain_words, package="isthmus.papers"),
            takes_words=True,
            page="dual-factor",
        ),
    )
}

# Methods that only the benchmarks contain, with a suite and a task that run each method.
IN_BENCHMARKS = {
    **dict.fromkeys(("tsvm", "sgt"), ("cocc", "rec-talk")),
    **dict.fromkeys(("sfa", "scl", "coral", "tradaboost"), ("strings", "books-kitchen")),
}

# Methods of :func:`make_grouping`, with the settings of the estimator. "guided-paper" is :mod:`isthmus.papers.guided`,
# with contexts within a few tokens and all shared words as context words. It uses the best of several starts; the
# paper reports the mean of thirty.
GROUPINGS: dict[str, dict[str, Any]] = {
    "guided": {"guidance": "auto"},
    "guided-paper": {"guidance": 0.5, "max_iter": 25, "init": "random"},
}


def grouping_settings(name: str) -> dict[str, Any]:
    """Return the settings of a clustering method.

    Parameters
    ----------
    name : str
        A key of ``GROUPINGS``.

    Returns
    -------
    dict of str to object

    Raises
    ------
    UsageError
        No method has this name.
    """
    if name not in GROUPINGS:
        raise UsageError(f"Unknown method {name!r}; use one of {', '.join(GROUPINGS)}.", code="unknown-method")
    return dict(GROUPINGS[name])


_COMMON = ("auto", "cocc", "projection", "logistic", "self-training")  # listed in the error for an unknown method


def get_method(name: str, *, chunks: bool = False) -> Recipe:
    """Return the method with a name, or raise an error that suggests the most similar name.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.
    chunks : bool
        Accept only methods that support files larger than memory.

    Returns
    -------
    Recipe

    Raises
    ------
    UsageError
        No such method exists.
    """
    known = [other for other, method in METHODS.items() if method.chunks or not chunks]
    if name in known:
        return METHODS[name]
    if name in IN_BENCHMARKS:
        suite, task = IN_BENCHMARKS[name]
        raise UsageError(
            f"Method {name!r} is a baseline of the package isthmus-bench; run it with: "
            f"isthmus bench {suite} --task {task} --method {name}",
            code="unknown-method",
        )
    what = f"Method {name!r} does not run on large files" if chunks and name in METHODS else f"Unknown method {name!r}"
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{what}; use one of {', '.join(_COMMON)}, or see the documentation.{hint}", code="unknown-method")


def make_method(name: str, **options: Any) -> TransferPipeline:
    """Return the unfitted pipeline of a recipe, from raw texts to labels.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.
    **options
        Fields of :class:`Options`: ``random_state``, ``analyzer``, ``min_df``, ``language``, ``word_labels``,
        ``embed``, ``classes`` (names of classes, or names and words), ``negation`` (as for
        :class:`isthmus.features.TextVectorizer`, for methods that count words and pairs).

    Returns
    -------
    TransferPipeline

    Raises
    ------
    UsageError
        No method has this name.

    See Also
    --------
    isthmus.make_transfer_pipeline : Creates a pipeline from your own steps.
    isthmus.label : Labels texts with a recipe in one call.

    Examples
    --------
    >>> from isthmus.methods import make_method
    >>> pipeline = make_method("nbc", min_df=1)
    >>> texts = ["kind staff", "great bike", "rude staff", "slow bike"]
    >>> pipeline.fit(texts, ["staff", "product", None, None]).transduction_.tolist()
    ['staff', 'product', 'staff', 'product']
    """
    return get_method(name).build_with(**options)


def make_grouping(
    source_texts,
    target_texts,
    *,
    method="guided",
    analyzer="auto",
    min_df="auto",
    language="auto",
    window=5,
    pivots=None,
    **settings,
):
    """Return a vectoriser, unfitted cross-guided k-means and the tf-idf rows of two collections.

    With "guided", the 1,000 most frequent shared words are context words. Collections of more than 20,000 documents and
    character features use whole documents as contexts.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
        Documents.
    method : str
        A key of ``GROUPINGS``.
    analyzer : str
        As for :class:`isthmus.features.TextVectorizer`.
    min_df : int or "auto"
        As for :class:`isthmus.features.TextVectorizer`.
    language : str
        As for :class:`isthmus.features.TextVectorizer`.
    window : int
        Contexts of shared words are counted within this many tokens.
    pivots : mapping of str to float, optional
        Weights of some shared words, from 0 to 1.
    **settings
        Parameters of the estimator; they override the settings of ``method``.

    Returns
    -------
    vectorizer : TextVectorizer
        Fitted on both collections.
    model : estimator
        Unfitted.
    rows : csr_matrix of shape (n_source + n_target, n_terms)
        Source rows first.

    Raises
    ------
    UsageError
        The method or a pivot is not valid.
    """
    from isthmus.clustering.guided import CrossGuidedKMeans
    from isthmus.features.contexts import context_words, window_contexts
    from isthmus.features.vectorizer import TextVectorizer
    from isthmus.papers.guided import LiteralGuidedKMeans

    every_word = method == "guided-paper"
    estimator = LiteralGuidedKMeans if every_word else CrossGuidedKMeans
    model = estimator(**{**grouping_settings(method), **settings})
    vectorizer = TextVectorizer(analyzer=analyzer, min_df=min_df, language=language, weighting="tfidf", subwords=False)
    texts, n_source = [*source_texts, *target_texts], len(source_texts)
    rows = vectorizer.fit_transform(texts)
    windowed = every_word or len(texts) <= WINDOWED
    if pivots:
        model.pivot_weights = _pivot_columns(vectorizer, pivots)
    if vectorizer.analyzer_ == "words" and windowed and model.guidance != 0:
        vocabulary = {word: column for column, word in enumerate(vectorizer.feature_names_)}
        tokens = [vectorizer.analyze(text) for text in texts]
        limit = {"limit": rows.shape[1]} if every_word else {}
        columns = context_words(rows[:n_source], rows[n_source:], **limit)
        model.contexts = window_contexts(tokens[:n_source], tokens[n_source:], vocabulary, columns, window=window)
    return vectorizer, model, rows


def _pivot_columns(vectorizer, pivots: Mapping[str, float]) -> dict[int, float]:
    """Return the weights of shared words by column; a word represents all words with the same stem."""
    columns = {word: column for column, word in enumerate(vectorizer.feature_names_)}
    found: dict[int, float] = {}
    for word, weight in pivots.items():
        if not (isinstance(weight, Real) and 0 <= weight <= 1):
            raise UsageError(f"The pivot {word!r} has the weight {weight!r}; give a number from 0 to 1.")
        stems = [stem for stem in vectorizer.analyze(word) if stem in columns]
        if len(stems) != 1:
            raise UsageError(
                f"The pivot {word!r} is not one of the words that documents are grouped by; give one single word that "
                "occurs in several documents."
            )
        found[columns[stems[0]]] = float(weight)
    return found
