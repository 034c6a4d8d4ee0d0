"""Label target documents by co-clustering documents and words with the classes of the source (CoCC)."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from isthmus._math.calibration import fit_temperature
from isthmus._math.rows import unit_rows
from isthmus._progress import progress
from isthmus._validation import shorten
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.cocc.blocks import Documents, Problem, per_length, score_rows, weights_of
from isthmus.classify.cocc.co_clustering import CoClustering, document_logs, group_words, match_clusters
from isthmus.classify.rules import CoClusterRule, CoClusterTables
from isthmus.exceptions import DataError
from isthmus.features.blocks import Block, Passes, RowBlock

DEFAULT_WORD_CLUSTERS = 64
DEFAULT_TRADE_OFF = 0.25
WORD_CLUSTERS = (16, 64, 256)  # "auto" compares these
TRADE_OFFS = (0.0625, 0.25, 1.0, 4.0)
_ITERATIONS = 20  # enough to compare settings; the search itself runs to the end
_SETTLING = 50  # passes over the documents after the search
_LENGTH_POWERS = (0.0, 0.5, 1.0)


def calibrate(scores: np.ndarray, lengths: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return the length power and the factor that make softmax of the scores most likely for the source's labels.

    Source documents took no part in finding the document clusters, so they serve as new ones. They come from the other
    domain, which makes the estimate cautious.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    lengths : ndarray of shape (n_rows,)
    codes : ndarray of int of shape (n_rows,)

    Returns
    -------
    power, factor : float
    """
    fits = []
    for power in _LENGTH_POWERS:
        scaled = per_length(scores, lengths, power)
        factor = fit_temperature(scaled, codes)
        chances = softmax(factor * scaled)[np.arange(len(codes)), codes]
        fits.append((-float(np.mean(np.log(chances + 1e-300))), power, factor))
    return min(fits)[1:]


def settle(documents: Documents) -> tuple[np.ndarray, list[float], str]:
    """Move documents to the nearest centroid (tf-idf, cosine) of their clusters until none moves.

    Co-clustering sees words through k clusters, and long documents weigh more; a document's own rare words, and equal
    weight for every document, decide uncertain documents better. Stop if a cluster loses more than half of its
    documents: the centroids then follow another division.

    Parameters
    ----------
    documents : Documents

    Returns
    -------
    tuple
        The centroids (clusters × words), the mean cosine after every pass, and "converged", "max_iter" or "reverted".
    """
    before = documents.sizes
    history: list[float] = []
    for _ in range(_SETTLING):
        centroids = unit_rows(documents.sums)
        changed = documents.move(np.ascontiguousarray((centroids * documents.idf).T), phase="moving to centroids")
        history.append(float((documents.sums * centroids).sum() / max(1, before.sum())))
        if np.any(2 * documents.sizes < before):
            return centroids, [], "reverted"
        if not changed:
            return centroids, history, "converged"
    return unit_rows(documents.sums), history, "max_iter"


class CoClusteringClassifier(TransferClassifier):
    """Co-clustering based classification (CoCC) of Dai, Xue, Yang and Yu (KDD 2007).

    Target documents are co-clustered with all words. The word clusters preserve the information of words about the
    classes in the source *and* about the documents in the target. Through them, class information reaches words and
    documents that do not occur in the source. The method assumes that a word indicates the same class in both domains,
    that the classes are the strongest division of the target, and that the domains share words. It suits topics. It
    does not suit sentiment, because the strongest division of such a target is topical.

    Parameters
    ----------
    n_word_clusters : int, "auto" or None, default=None
        Number of word clusters k. None: 64, or half the vocabulary if that is less. "auto": chosen without target
        labels, see Notes.
    trade_off : float or "auto", default=0.25
        λ, the weight of the source's word-class information against the target's word-document information.
    n_init : int, default=5
        Starts with different word clusters; the start with the smallest objective is used.
    max_iter : int, default=100
        Iterations per start, each a word step and a document step.
    tol : float, default=1e-4
        A start ends when an iteration lowers the objective by less than this share of its total decrease; the best
        start continues until nothing moves.
    smoothing : float, default=0.3
        Share of the target's mass that average documents hold, one pinned to each cluster; it keeps all tables positive
        and the objective monotone.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    document_clusters_ : ndarray of int
        Document cluster of every fitted row, numbered by the class it is matched with one to one; -1 for source rows.
        After the search documents move to the nearest centroid, so some labels differ from these clusters.
    word_clusters_ : ndarray of int
        Word cluster of every column.
    target_table_, source_table_ : ndarray of shape (k, n_classes)
        Joint distribution of word clusters with document clusters in the target, with classes in the source.
    target_words_, source_words_ : ndarray of shape (n_features, n_classes)
        The same for single words.
    prior_ : ndarray
        Class proportions of the source, which label documents without a known word.
    objective_ : float
        Information lost by the best start.
    history_ : list of float
        Its objective before the first and after every step; never rises.
    restart_histories_ : list of list of float
        The same for every start.
    refine_history_ : list of float
        Mean cosine of the documents with their centroids after every iteration; it never falls.
    refine_condition_ : {"converged", "max_iter", "reverted", "off"}
        "reverted": a class would have lost more than half of its documents, so the co-clustering's labels were
        restored.
    n_iter_ : int
    termination_condition_ : {"converged", "max_iter", "no_target"}
    n_word_clusters_, trade_off_ : the values in use
    choice_ : list of dict or None
        The settings that "auto" compared.

    See Also
    --------
    isthmus.TermProjectionClassifier : Faster, for many classes and large files.
    isthmus.CrossGuidedKMeans : Groups the target if the classes may not fit.
    isthmus.explain.cocc.cluster_table : Describes the word clusters.

    Notes
    -----
    Documents start from naive Bayes trained on the source, words from their document profiles. A count v enters as
    log(1 + v). After the search documents move to the nearest tf-idf centroid of their classes until none moves. The
    centroids also score new documents; if the centroids were reverted, the fitted tables do. Probabilities are
    softened by a factor fitted on the source documents, whose own clusters were never part of the search. "auto"
    tries 3 numbers of word clusters and 4 values of λ and takes the setting whose document clusters are most compact:
    largest mean cosine of the documents with their clusters' tf-idf centroids. No label enters that choice.

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
    _parameter_constraints = {
        "n_word_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "trade_off": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "smoothing": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_word_clusters=None,
        trade_off=DEFAULT_TRADE_OFF,
        n_init=5,
        max_iter=100,
        tol=1e-4,
        smoothing=0.3,
        random_state=None,
    ):
        self.n_word_clusters = n_word_clusters
        self.trade_off = trade_off
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray | None:
        X, alone = sp.csr_matrix(domains.X), not len(domains.target)
        source = X[domains.source]
        # Without a target the source's documents are clustered, and stay in their classes.
        passes = Passes(source, source if alone else X[domains.target], domains.source_codes, domains.classes)
        search, mapping, settled = self._solve(passes, alone=alone)
        self.document_clusters_ = np.full(domains.n_rows, -1, dtype=np.int64)
        if alone:
            return None
        self.document_clusters_[domains.target] = mapping[search.documents.labels]
        self.document_clusters_ = domains.restore_rows(self.document_clusters_)
        return mapping[(settled or search.documents).labels]

    def fit_passes(self, passes: Passes) -> CoClusteringClassifier:
        """Fit the chunks of both domains.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
        self.classes_ = passes.classes
        self.n_features_in_ = passes.n_columns
        self._solve(passes)
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores of the documents of a chunk, and which documents have no known word.

        Parameters
        ----------
        block : Block

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes)
            Their softmax are probabilities.
        unknown : ndarray of bool of shape (n_documents,)
        """
        return self.prediction_rule().of_rows(block.rows), np.diff(block.rows.indptr) == 0

    def prediction_rule(self) -> CoClusterRule:
        """Return the arrays that label new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        CoClusterRule
        """
        return CoClusterRule(
            self.word_scores_,
            self.word_weights_,
            self.length_power_,
            self.inverse_temperature_,
            self.prior_,
            CoClusterTables.of(self),
        )

    def weigh(self, X) -> sp.csr_matrix:
        """Return the weights of the words of each row.

        Parameters
        ----------
        X : sparse matrix of shape (n_rows, n_words)

        Returns
        -------
        csr_matrix
        """
        rows = RowBlock.of(sp.csr_matrix(X))
        return rows.matrix(weights_of(rows))

    def _check_words(self, problem: Problem, alone: bool) -> None:
        in_source, in_target = problem.class_counts.sum(axis=0) > 0, problem.word_totals > 0
        wordless = np.flatnonzero(problem.class_counts.sum(axis=1) <= 0)
        if len(wordless) and not alone:
            name = self.classes_[wordless[0]]
            raise DataError(
                f"Class {shorten(name)} has {int(problem.priors[wordless[0]])} source documents and no word in them; "
                "CoCC learns a class from its words. Give it documents with words, or leave the class out.",
                code="empty-class",
            )
        if alone and not np.any(in_source):
            raise DataError("No row holds a word; CoCC clusters words. Give documents with words.", code="empty-class")
        if not np.any(in_source & in_target):
            own = int(in_target.sum())
            raise DataError(
                f"Target shares 0 of its {own:,} {'word' if own == 1 else 'words'} with the source's "
                f"{int(in_source.sum()):,}; CoCC needs shared words. "
                "Vectorise both together and check their languages, or try method strings.",
                code="no-shared-words",
            )
        k = self.n_word_clusters
        if isinstance(k, Integral) and int(k) > problem.n_words:
            raise DataError(
                f"n_word_clusters={k} for a vocabulary of {problem.n_words} words; ask for at most as many clusters as "
                "words, or leave n_word_clusters out.",
                code="bad-parameter",
            )

    def _solve(self, passes: Passes, *, alone: bool = False) -> tuple[CoClustering, np.ndarray, Documents | None]:
        """Return the search, the class of each of its clusters, and the documents at their centroids if they moved."""
        problem = Problem(passes)
        self._check_words(problem, alone)
        # A generator that can make independent children, from any form of scikit-learn's random_state.
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        vectors = problem.sketch(rng)
        start = problem.placed(passes.sample.codes) if alone else problem.start()

        def search(k: int, trade_off: float, seeds: np.random.Generator, max_iter: int) -> CoClustering:
            words = group_words(vectors, k, seeds)
            found = CoClustering(problem, start, words, k, trade_off=trade_off, smoothing=self.smoothing)
            return found.run(max_iter, self.tol, move_documents=not alone)

        k, trade_off = self._choose(problem, search, rng)
        runs = []
        for run, seeds in enumerate(rng.spawn(self.n_init), 1):
            runs.append(search(k, trade_off, seeds, self.max_iter))
            progress("grouping documents and words", run, self.n_init, objective=runs[-1].history[-1])
        best = min(runs, key=lambda run: run.history[-1])
        best.run(self.max_iter, move_documents=not alone)  # continues if the tolerance ended it
        self.n_word_clusters_, self.trade_off_ = k, trade_off
        self.restart_histories_ = [run.history for run in runs]
        self.objective_, self.history_, self.n_iter_ = best.history[-1], best.history, best.n_iter
        ended = "converged" if best.converged else "max_iter"
        self.termination_condition_ = "no_target" if alone else ended

        mapping = np.arange(problem.n_classes) if alone else match_clusters(best.target_table, best.source_table)[0]
        by_class = np.argsort(mapping)
        self.word_clusters_ = best.words
        self.target_table_, self.source_table_ = best.target_table[:, by_class], best.source_table
        self.target_words_, self.source_words_ = best.in_target[by_class].T.copy(), best.in_source.T
        # Without smoothing a table may hold zeros, and -inf would hide all other words.
        logs = np.maximum(document_logs(self.target_table_)[self.word_clusters_], np.log(1e-12))
        self.word_scores_, self.word_weights_ = np.ascontiguousarray(logs), None
        self.refine_history_: list[float] = []
        self.refine_condition_ = "off"
        settled = None
        if not alone:
            settled = Documents(problem, best.documents.name, idf=passes.idf)
            settled.move(None, counted=False)
            centroids, self.refine_history_, self.refine_condition_ = settle(settled)
            if self.refine_condition_ == "reverted":
                settled = None
            else:
                self.word_weights_ = passes.idf
                self.word_scores_ = np.ascontiguousarray((centroids * self.word_weights_)[by_class].T)
        self.prior_ = (problem.priors + 1.0) / (problem.priors + 1.0).sum()
        rows, codes = passes.sample.rows, passes.sample.codes
        self.length_power_, self.inverse_temperature_ = calibrate(
            *score_rows(rows, self.word_scores_, self.word_weights_), codes
        )
        return best, mapping, settled

    def _choose(self, problem: Problem, search: Any, rng: np.random.Generator) -> tuple[int, float]:
        """Return values for the parameters that are "auto"; ``choice_`` is the table they were chosen from.

        Objectives of different k and λ cannot be compared. The largest mean cosine of the documents with the tf-idf
        centroids of their clusters decides: that space knows neither k nor λ, and no label enters.
        """
        n_words, self.choice_ = problem.n_words, None
        limit = min(max(2, n_words // 2), n_words)
        k = min(DEFAULT_WORD_CLUSTERS, limit) if self.n_word_clusters is None else self.n_word_clusters
        if k != "auto" and self.trade_off != "auto":
            return int(k), float(self.trade_off)
        ks = sorted({min(k, limit) for k in WORD_CLUSTERS}) if k == "auto" else [int(k)]
        trade_offs = TRADE_OFFS if self.trade_off == "auto" else (float(self.trade_off),)
        seed = int(rng.integers(2**31))  # the same start for all settings: they differ by their values only
        table: list[dict] = []
        for k, value in product(ks, trade_offs):
            found = search(k, value, np.random.default_rng(seed), _ITERATIONS)
            documents = Documents(problem, found.documents.name, idf=problem.passes.idf)
            documents.move(None, counted=False)
            # For rows of length one, the lengths of their sums are the cosines with the centroids.
            compactness = float(np.sqrt((documents.sums**2).sum(axis=1)).sum() / max(1, documents.sizes.sum()))
            row = {"n_word_clusters": k, "trade_off": value, "compactness": compactness}
            table.append({**row, "objective": found.history[-1]})
            progress("choosing the settings", len(table), len(ks) * len(trade_offs))
        chosen = max(table, key=lambda row: row["compactness"])
        self.choice_ = [{**row, "chosen": row is chosen} for row in table]
        return chosen["n_word_clusters"], chosen["trade_off"]

    def __sklearn_tags__(self):
        """Return the tags; the estimator needs word counts, so scikit-learn's toy data score poorly."""
        tags = super().__sklearn_tags__()
        # As for scikit-learn's multinomial naive Bayes: counts of words, not measurements in two dimensions.
        tags.classifier_tags.poor_score = True
        return tags
