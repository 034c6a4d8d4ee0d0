"""CoCC: label target documents by co-clustering them with words whose clusters the source's classes shape."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isthmus._parameters import FROM_1, NON_NEGATIVE, Interval, StrOptions, parameter, parameters
from isthmus._progress import progress
from isthmus._utils import warn
from isthmus._validation import shorten
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.cocc.blocks import Problem, SettlingDocuments, score_rows
from isthmus.classify.cocc.co_clustering import (
    CoClustering,
    co_cluster,
    document_logs,
    match_clusters,
    smooth_source,
    spread_divergence,
)
from isthmus.classify.cocc.steps import calibrate, choose_setting, group_words, refine_by_centroids
from isthmus.classify.rules import CoClusterRule
from isthmus.exceptions import DataError
from isthmus.features.blocks import Block, MemoryPasses, Passes, RowBlock

DEFAULT_WORD_CLUSTERS = 64
DEFAULT_TRADE_OFF = 0.25
_ENOUGH = 100  # documents of a sample from which scores are calibrated


@parameters
class CoClusteringClassifier(TransferClassifier):
    """Co-clustering based classification (CoCC) of Dai, Xue, Yang and Yu (KDD 2007).

    Target documents are co-clustered with all words. Word clusters must keep what words say about the classes in the
    source *and* about the documents in the target; through them class knowledge reaches words, and documents, that the
    source never saw. It assumes that a word means the same class in both domains, that the target's strongest division
    is the one the classes make, and that the domains share words. Topic tasks suit it; sentiment, where the strongest
    division of the target is topical, does not.

    Parameters
    ----------
    n_word_clusters : int, "auto" or None, default=None
        Number of word clusters k. None: 64, or half the vocabulary if that is less. "auto": chosen without target
        labels, see Notes.
    trade_off : float or "auto", default=0.25
        λ, the weight of the source's word-class information against the target's word-document information.
    n_init : int, default=5
        Starts with different word clusters; the one with the smallest objective is kept.
    max_iter : int, default=100
        Iterations per start, each a word step and a document step.
    tol : float, default=1e-4
        A start ends when an iteration lowers the objective by less than this share of what all its iterations did; the
        start that is kept goes on until nothing moves.
    smoothing : float or "laplace", default=0.3
        Share of the target's mass that is held by average documents, one pinned to each cluster; keeps all tables
        positive and the objective monotone. "laplace": one more occurrence of every word in every document cluster,
        our reading of the paper's Laplace smoothing, which does not say what is smoothed.
    first : {"words", "documents"}, default="words"
        The step each iteration begins with; "documents" is the paper's order.
    match : {"one-to-one", "printed"}, default="one-to-one"
        How document clusters get their classes. "one-to-one": the assignment with the smallest sum of divergences.
        "printed": the nearest class of each cluster by itself, as the paper prints it, which can give one class to
        two clusters and leave a class without documents; a warning then names it.
    weighting : {"log", "counts"}, default="log"
        "log": a count v enters as log(1 + v), so that one long repetitive document cannot found a cluster of its own.
        "counts": as given, as in the paper.
    refine : {"centroids", None}, default="centroids"
        "centroids": after co-clustering, documents settle at the nearest tf-idf centroid of their classes, which also
        score new documents. None: the labels of the co-clustering, as in the paper.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    document_clusters_ : ndarray of int
        Cluster of every fitted row, numbered by the class it is matched with one to one; -1 for source rows. With a
        finish some documents end in another class than that of their cluster.
    cluster_classes_ : ndarray of int
        Position in ``classes_`` of each cluster's class: 0, 1, … unless ``match="printed"``.
    score_classes_ : ndarray of int
        The same of each column by which documents are scored: clusters, or classes once documents settled at these.
    word_clusters_ : ndarray of int
        Word cluster of every column.
    target_table_, source_table_ : ndarray of shape (k, n_classes)
        Joint distribution of word clusters with document clusters in the target, with classes in the source.
    target_words_, source_words_ : ndarray of shape (n_features, n_classes)
        The same for single words.
    match_divergence_ : ndarray of shape (n_classes, n_classes)
        Divergence D(ĝ(W|c) ‖ f̂(W|d̂)) of each class (row) from each document cluster (column, numbered as above).
        Unless smoothed by "laplace", words and word clusters that the target lacks get a small floor, on which the
        values depend.
    objective_ : float
        Information lost by the start that was kept.
    history_ : list of float
        Its objective before the first and after every step; never rises.
    restart_histories_ : list of list of float
        The same for every start.
    refine_history_ : list of float
        Mean cosine of the documents with their centroids after every pass of the finish; never falls.
    refine_condition_ : {"converged", "max_iter", "reverted", "off"}
        "reverted": a class would have lost more than half of its documents, so the co-clustering's labels were kept.
    n_iter_ : int
    termination_condition_ : {"converged", "max_iter", "no_target"}
    n_word_clusters_, trade_off_ : the values in use
    choice_ : list of dict or None
        What "auto" compared.

    See Also
    --------
    isthmus.TermProjectionClassifier : Faster, for many classes and large files.
    isthmus.CrossGuidedKMeans : Groups the target where the classes may not fit.
    isthmus.explain.cocc.cluster_table : What the word clusters say.

    Notes
    -----
    Documents start from naive Bayes trained on the source, words from their document profiles. New documents are
    scored by the centroids, or by the document step with the fitted tables where there is no finish. Probabilities are
    softened by a factor fitted on the source documents, whose own clusters were never part of the search. "auto" tries
    3 numbers of word clusters and 4 values of λ and takes the setting whose document clusters are most compact: largest
    mean cosine of the documents with their clusters' tf-idf centroids. No label enters that choice.

    References
    ----------
    .. [1] W. Dai, G.-R. Xue, Q. Yang, Y. Yu. Co-clustering based classification for out-of-domain documents. KDD 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CoClusteringClassifier
    >>> X = np.array([[3, 0, 1, 0, 1], [2, 0, 0, 0, 1], [0, 3, 0, 1, 1], [0, 2, 0, 0, 1],  # source
    ...               [1, 0, 3, 0, 1], [0, 0, 2, 0, 1], [0, 1, 0, 3, 1], [0, 0, 0, 2, 1]])
    >>> y = ["car", "car", "law", "law", None, None, None, None]
    >>> CoClusteringClassifier(random_state=0).fit(X, y).transduction_[4:].tolist()
    ['car', 'car', 'law', 'law']
    """

    _row_kind = "counts"
    n_word_clusters: int | str | None = parameter(FROM_1, StrOptions({"auto"}), None, default=None)
    trade_off: float | str = parameter(NON_NEGATIVE, StrOptions({"auto"}), default=DEFAULT_TRADE_OFF)
    n_init: int = parameter(FROM_1, default=5)
    max_iter: int = parameter(FROM_1, default=100)
    tol: float = parameter(Interval(Real, 0, 1, closed="left"), default=1e-4)
    smoothing: float | str = parameter(Interval(Real, 0, 1, closed="left"), StrOptions({"laplace"}), default=0.3)
    first: str = parameter(StrOptions({"words", "documents"}), default="words")
    match: str = parameter(StrOptions({"one-to-one", "printed"}), default="one-to-one")
    weighting: str = parameter(StrOptions({"log", "counts"}), default="log")
    refine: str | None = parameter(StrOptions({"centroids"}), None, default="centroids")
    random_state: Any = parameter("random_state", default=None)

    def _fit(self, domains: Domains) -> np.ndarray | None:
        X = sp.csr_matrix(domains.X)
        rows = X[domains.source], X[domains.target]
        passes = MemoryPasses(*rows, domains.source_codes, domains.classes)
        problem = Problem(passes, self.weighting, fixed=not len(domains.target))
        self._check_words(problem)
        best, mapping, settled = self._solve(problem)
        self.document_clusters_ = np.full(domains.n_rows, -1, dtype=np.int64)
        if problem.fixed:
            return None
        clusters = mapping[best.documents]
        self.document_clusters_[domains.target] = clusters
        self.document_clusters_ = domains.restore_rows(self.document_clusters_)
        return self.cluster_classes_[clusters] if settled is None else settled.labels

    def fit_passes(self, passes: Passes) -> CoClusteringClassifier:
        """Fit the blocks of both domains."""
        self.classes_ = passes.classes
        self.n_features_in_ = passes.n_columns
        problem = Problem(passes, self.weighting)
        self._check_shared(problem)
        self._solve(problem, enough=_ENOUGH)
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Scores of a block's documents, whose softmax are probabilities, and which documents hold no known word."""
        return self.prediction_rule().of_rows(block.rows), np.diff(block.rows.indptr) == 0

    def prediction_rule(self) -> CoClusterRule:
        """What labels new documents; see ``isthmus.classify.rules``."""
        return CoClusterRule(
            weighting=self._weigher.weighting,
            bits=self._weigher.bits,
            word_scores=self.word_scores_,
            word_weights=self.word_weights_,
            length_power=self.length_power_,
            power=self.inverse_temperature_,
            columns=self.score_classes_,
            n_classes=len(self.classes_),
        )

    def weigh(self, X) -> sp.csr_matrix:
        """Return the weights of the words of each row."""
        rows = RowBlock.of(sp.csr_matrix(X))
        return rows.matrix(self._weigher.values(rows))

    def _check_words(self, problem: Problem) -> None:
        wordless = np.flatnonzero(problem.class_counts.sum(axis=0) <= 0)
        if len(wordless) and not problem.fixed:
            name = self.classes_[wordless[0]]
            raise DataError(
                f"Class {shorten(name)} has {int(problem.priors[wordless[0]])} source documents and no word in them; "
                "CoCC learns a class from its words. Give it documents with words, or leave the class out.",
                code="empty-class",
            )
        if problem.fixed and problem.target.total <= 0:
            raise DataError("No row holds a word; CoCC clusters words. Give documents with words.", code="empty-class")
        if not problem.fixed:
            self._check_shared(problem)
        k = self.n_word_clusters
        if isinstance(k, Integral) and int(k) > problem.n_words:
            raise DataError(
                f"n_word_clusters={k} for a vocabulary of {problem.n_words} words; ask for at most as many clusters as "
                "words, or leave n_word_clusters out.",
                code="bad-parameter",
            )

    def _check_shared(self, problem: Problem) -> None:
        in_source, in_target = problem.class_counts.sum(axis=1) > 0, problem.target.word_totals > 0
        if not np.any(in_source & in_target):
            own = int(in_target.sum())
            raise DataError(
                f"Target shares 0 of its {own:,} {'word' if own == 1 else 'words'} with the source's "
                f"{int(in_source.sum()):,}; CoCC needs shared words. "
                "Vectorise both together and check their languages, or try method strings.",
                code="no-shared-words",
            )

    def _solve(self, problem: Problem, enough: int = 0) -> tuple[CoClustering, np.ndarray, SettlingDocuments | None]:
        """The co-clustering, the class of each document cluster, and the documents where they settled, if they did."""
        # A generator that can make independent children, from any form of scikit-learn's random_state.
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        vectors = problem.sketch(rng)
        start = problem.start()
        source = smooth_source(problem.class_counts)
        fallback = min(DEFAULT_WORD_CLUSTERS, max(2, problem.n_words // 2), problem.n_words)
        ks = self.n_word_clusters if self.n_word_clusters is not None else fallback

        def search(k: int, trade_off: float, words: np.ndarray, documents=start, **options) -> CoClustering:
            options = {"max_iter": self.max_iter, "tol": self.tol, "first": self.first, **options}
            options |= {"smoothing": self.smoothing, "move_documents": not problem.fixed, "trade_off": trade_off}
            return co_cluster(problem.target, source, documents, words, k, **options)

        k, trade_off, self.choice_ = choose_setting(problem, search, vectors, ks, self.trade_off, rng)
        runs = []
        for run, seeds in enumerate(rng.spawn(self.n_init), 1):
            runs.append(search(k, trade_off, group_words(vectors, k, seeds)))
            progress("grouping documents and words", run, self.n_init, objective=runs[-1].objective)
        best = min(runs, key=lambda result: result.objective)
        if not best.converged and best.n_iter < self.max_iter:  # ended by the tolerance: the one that is kept goes on
            rest = search(k, trade_off, best.words, best.placed, max_iter=self.max_iter - best.n_iter, tol=0.0)
            rest.history, rest.n_iter = [*best.history, *rest.history[1:]], best.n_iter + rest.n_iter
            runs[runs.index(best)] = best = rest
        self.n_word_clusters_, self.trade_off_ = k, trade_off
        self.restart_histories_ = [result.history for result in runs]
        mapping = self._keep(problem, source, best)
        settled = self._finish(problem, best, mapping)
        self._weigher = problem.weigher
        sample = problem.passes.sample
        self.length_power_, self.inverse_temperature_ = 0.0, 1.0
        if len(sample.codes) >= enough:
            scores = score_rows(sample.rows, self._weigher, self.word_scores_, self.word_weights_)
            self.length_power_, self.inverse_temperature_ = calibrate(*scores, sample.codes)
        return best, mapping, settled

    def _keep(self, problem: Problem, source: np.ndarray, best: CoClustering) -> np.ndarray:
        floor = {"floor": 0.0} if self.smoothing == "laplace" else {}
        mapping, divergence = match_clusters(best.target_table, best.source_table, **floor)
        if problem.fixed:
            mapping = np.arange(len(self.classes_))
        by_class = np.argsort(mapping)
        self.word_clusters_ = best.words
        self.target_table_, self.source_table_ = best.target_table[:, by_class], best.source_table
        self.target_words_, self.source_words_ = best.word_table[:, by_class], source
        within = spread_divergence(self.target_words_, source, best.words, len(best.target_table), **floor)
        self.match_divergence_ = divergence[:, by_class] + within[:, None]
        self.cluster_classes_ = np.arange(len(self.classes_))
        if self.match == "printed" and not problem.fixed:
            self.cluster_classes_ = self.match_divergence_.argmin(axis=0)
            self._warn_of_unused_classes()
        self.objective_, self.history_, self.n_iter_ = best.objective, best.history, best.n_iter
        ended = "converged" if best.converged else "max_iter"
        self.termination_condition_ = "no_target" if problem.fixed else ended
        return mapping

    def _warn_of_unused_classes(self) -> None:
        unused = np.setdiff1d(np.arange(len(self.classes_)), self.cluster_classes_)
        if len(unused):
            names = ", ".join(shorten(name) for name in self.classes_[unused][:5])
            warn(
                f'match="printed" left {len(unused)} of {len(self.classes_)} classes without documents ({names}), '
                'because two clusters are nearest to one class. Use match="one-to-one" to give every class one.',
                code="fallback",
            )

    def _finish(self, problem: Problem, best: CoClustering, mapping: np.ndarray) -> SettlingDocuments | None:
        """What new documents are scored with: the tables, or the centroids if documents settled there."""
        # Without smoothing a table may hold zeros, and -inf would drown all other words.
        logs = np.maximum(document_logs(self.target_table_)[self.word_clusters_], np.log(1e-12))
        self.word_scores_, self.word_weights_ = np.ascontiguousarray(logs), None
        self.score_classes_ = self.cluster_classes_  # class that each column of scores stands for
        self.refine_history_, self.refine_condition_ = [], "off"
        if self.refine is None or problem.fixed:
            return None
        weights = problem.passes.idf
        documents = SettlingDocuments(problem, best.placed, self.cluster_classes_[mapping], weights)
        result = refine_by_centroids(documents)
        self.refine_history_, self.refine_condition_ = result.history, result.stopped
        if result.stopped == "reverted":
            return None
        self.word_scores_ = np.ascontiguousarray(result.centroids * weights[:, None])
        self.word_weights_ = weights
        self.score_classes_ = np.arange(len(self.classes_))
        return documents

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # As for scikit-learn's multinomial naive Bayes: counts of words, not measurements in two dimensions.
        tags.classifier_tags.poor_score = True
        return tags

    def _scores(self, X) -> np.ndarray:
        rule = self.prediction_rule()
        return rule.by_class(rule.raw(RowBlock.of(sp.csr_matrix(X)))[0])

    def predict_proba(self, X):
        """Probability of each class for each new target document, calibrated on the source documents."""
        check_is_fitted(self)
        return softmax(self.prediction_rule().of_rows(RowBlock.of(sp.csr_matrix(self._check_new(X)))))
