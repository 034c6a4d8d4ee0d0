"""Cross-guided k-means: group a target so that its clusters resemble matching groups of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from isthmus._math.rows import group_means, group_sums
from isthmus._progress import progress
from isthmus._utils import n_threads, warn
from isthmus._validation import UNLABELLED, check_rows, shorten
from isthmus.base import FROM_1, N_JOBS, NON_NEGATIVE, SHARE, Domains, StrOptions, check_parameters, check_transfer_data
from isthmus.clustering.alignment import Aligner, Prepared, SourceGroups, alignment_table, guided_kmeans, prepare
from isthmus.clustering.fitted import FittedClusters
from isthmus.clustering.guidance import choose_guidance, choose_n_clusters, count_counterparts
from isthmus.clustering.kmeans import ClusterSums, KMeansRun, assign_rows, initial_centers, iterate, metric_rows
from isthmus.exceptions import DataError
from isthmus.features.blocks import Block, Passes, RowBlock, add_tuples
from isthmus.features.contexts import Contexts

# Chunks hold rows of length one in multiples of 1 / 2^20: sums of up to 2^33 of them are exact in 64-bit floats, so
# that neither the cut into chunks nor their order changes a result.
ONE = 1 << 20


class CrossGuidedKMeans(ClusterMixin, BaseEstimator):
    """k-means on a target collection, guided by the groups of a source collection.

    Each iteration assigns target documents to the nearest centre, aligns centres with source groups by maximum-weight
    matching, and moves each centre to a weighted mean of its documents and of the source group it is aligned with;
    the better the match, the stronger the pull (equations 1–3 of the paper). A source group without a counterpart pulls
    no cluster; a target cluster without one is new.

    The estimator assumes that the two domains share words and that groups with similar meaning use similar words. It
    is harmful when a source group resembles two target groups, or the reverse (see
    :func:`isthmus.clustering.estimate_guidance_gain`).

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of target clusters. "auto" chooses the number at which one more cluster gains as little as it does in
        the source at the source's own number of groups; source groups with a clear counterpart set the least number.
    guidance : float in [0, 1] or "auto", default=0.5
        Weight of the source, 1 − α of the paper; 0 is k-means. "auto" takes 0.5, or that of 0, 0.25 and 0.75 under
        which one half of the words finds clusters that the other half describes clearly better.
    n_init : int, default=10
        Starts; the run whose documents are nearest to their centres is used. The centres include the pull, so a wrong
        alignment shows; equation (2) itself cannot compare runs, because a cluster without a match costs nothing.
    init : {"k-means++", "random"} or ndarray of shape (n_clusters, n_words), default="k-means++"
        First centres, drawn as scikit-learn's ``KMeans`` draws them from the target rows sorted by content.
    metric : {"cosine", "euclidean"}, default="cosine"
        "cosine" compares directions (spherical k-means when ``guidance=0``). "euclidean" with ``guidance=0`` is
        scikit-learn's ``KMeans`` on the rows in that order.
    max_iter : int, default=100
    tol : float, default=1e-4
        As for ``KMeans``: movement of the centres, relative to the variance of the words, below which a run stops.
    pivot_weights : bool or dict, default=True
        Weigh shared words by the similarity of their contexts in the two domains. A dict also sets the weights of its
        columns; 0 ignores a word.
    projection : bool, default=True
        Pass the weight of words that one domain lacks to the shared words with which they occur.
    contexts : isthmus.features.contexts.Contexts, optional
        Contexts counted in running text; if omitted, words meet when a document contains both.
    n_jobs : int, optional
        Threads; -1 for all cores.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_rows,)
        Cluster of each target row; for a source row the cluster with which its group is aligned, -1 if none.
    cluster_centers_ : ndarray of shape (n_clusters, n_words)
        Centres with the pull of the source; ``predict`` compares with these.
    cluster_means_, target_mean_ : ndarray
        Means of the clusters' rows, and of all target rows, without any pull.
    cluster_sizes_ : ndarray of int
    alignment_ : list of Match
        Per cluster: source group (None: a new cluster), strength, source collection.
    match_weights_ : ndarray of shape (n_clusters, n_groups)
        Match weights δ of all collections' groups; columns as in ``group_labels_`` and ``group_collections_``.
    classes_ : ndarray
        Labels of the source groups.
    n_clusters_ : int
    guidance_ : float
        Weight of the source that was used.
    n_clusters_table_, guidance_table_ : list of dict
        Values compared when ``n_clusters="auto"`` or ``guidance="auto"``.
    n_empty_ : int
        Target rows without any word.
    inertia_ : float
        Sum of squared distances of the target rows to their centres, by which starts are compared.
    history_, n_iter_, termination_condition_
        Combined divergence (equation 2) after every iteration of the best run, their number, why it ended.

    See Also
    --------
    isthmus.cluster : From texts, with names and a report.
    isthmus.clustering.estimate_guidance_gain : Estimates whether guidance helps, without gold labels.

    References
    ----------
    I. Bhattacharya, S. Godbole, S. Joshi, A. Verma: Cross-guided clustering: transfer of relevant supervision across
    domains for improved clustering. ICDM 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CrossGuidedKMeans
    >>> X = np.array([[3, 1, 0, 0], [2, 1, 0, 0], [0, 0, 2, 1], [0, 0, 3, 1],
    ...               [1, 0, 0, 1], [2, 0, 0, 0], [0, 0, 1, 0], [0, 1, 2, 0]])
    >>> groups = np.array(["bikes", "bikes", "staff", "staff", None, None, None, None], dtype=object)
    >>> model = CrossGuidedKMeans(n_clusters=2).fit(X, groups)
    >>> [model.alignment_[cluster].group for cluster in model.labels_[4:]]
    ['bikes', 'bikes', 'staff', 'staff']
    """

    __metadata_request__fit = {"sample_domain": True}
    _parameter_constraints: dict[str, list] = {
        "n_clusters": [FROM_1, StrOptions({"auto"}), None],
        "guidance": [SHARE, StrOptions({"auto"})],
        "n_init": [FROM_1],
        "init": [StrOptions({"k-means++", "random"}), "array-like", "sparse matrix"],
        "metric": [StrOptions({"cosine", "euclidean"})],
        "max_iter": [FROM_1],
        "tol": [NON_NEGATIVE],
        "pivot_weights": ["boolean", dict],
        "projection": ["boolean"],
        "contexts": [Contexts, None],
        "n_jobs": [*N_JOBS, None],
        "random_state": ["random_state"],
    }
    # The paper's variant (isthmus.papers.guided) replaces these two steps.
    _prepare_rows: Callable[..., Prepared] = staticmethod(prepare)
    _run: Callable[..., KMeansRun] = staticmethod(guided_kmeans)
    _aligner: Aligner | None
    _groups: SourceGroups
    group_collections_: np.ndarray

    def __init__(
        self,
        n_clusters: int | str | None = "auto",
        *,
        guidance: float | str = 0.5,
        n_init: int = 10,
        init: Any = "k-means++",
        metric: str = "cosine",
        max_iter: int = 100,
        tol: float = 1e-4,
        pivot_weights: bool | dict[int, float] = True,
        projection: bool = True,
        contexts: Contexts | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.guidance = guidance
        self.n_init = n_init
        self.init = init
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.pivot_weights = pivot_weights
        self.projection = projection
        self.contexts = contexts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, sample_domain=None):
        """Group the target rows.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_words)
            Rows of all domains over one vocabulary.
        y : array-like of shape (n_rows,), optional
            Source groups; -1 (integers) or None/NaN (anything else) if unknown. Labels of target rows are ignored.
            If omitted, there is no source, every row is target, and the result is plain k-means.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows. If omitted, unlabelled rows are target.

        Returns
        -------
        self
        """
        check_parameters(self)
        cosine = self.metric == "cosine"
        rows = self._read(X, y, sample_domain)
        prepared = self._prepare(rows)
        self._choose_number(rows, prepared)
        self.guidance_: float = 0.0
        self.guidance_table_: list[dict] = []
        if prepared.aligner is not None and isinstance(self.guidance, str):
            self.guidance_, self.guidance_table_ = choose_guidance(
                rows.X[rows.source],
                rows.source_codes,
                rows.domain[rows.source],
                prepared.target,
                n_clusters=self.n_clusters_,
                cosine=cosine,
                random_state=check_random_state(self.random_state).randint(2**31 - 1),
            )
        elif prepared.aligner is not None:
            self.guidance_ = float(self.guidance)
        # The best of several starts: the run whose documents are nearest to their centres.
        rng = check_random_state(self.random_state)
        tol = self.tol * float(np.mean(mean_variance_axis(prepared.target, axis=0)[1])) if self.tol else 0.0
        n_init = self.n_init if isinstance(self.init, str) else 1
        runs: list[KMeansRun] = []
        for i in range(n_init):
            start = initial_centers(prepared.target, self.n_clusters_, self.init, rng)
            settings = {"max_iter": self.max_iter, "tol": tol, "n_threads": n_threads(self.n_jobs)}
            runs.append(self._run(prepared, start, guidance=self.guidance_, cosine=cosine, **settings))
            runs = [min(runs, key=lambda run: run.stats.divergence)]  # of equals the first
            progress("grouping", i + 1, n_init)
        self._store(runs[0], rows, prepared)
        return self

    def fit_predict(self, X, y=None, sample_domain=None):
        """Fit and return ``labels_``.

        Parameters
        ----------
        X, y, sample_domain
            As for :meth:`fit`.

        Returns
        -------
        ndarray of int of shape (n_rows,)
        """
        return self.fit(X, y, sample_domain).labels_

    def predict(self, X):
        """Return the cluster of each new target document.

        Parameters
        ----------
        X : sparse matrix of shape (n_documents, n_words)

        Returns
        -------
        ndarray of int of shape (n_documents,)
        """
        check_is_fitted(self)
        return FittedClusters.of(self).predict(_clean_rows(check_rows(self, X)))

    def fit_passes(self, passes: Passes, max_iter: int) -> CrossGuidedKMeans:
        """Fit on samples of both domains, then iterate over the chunks of all target documents.

        The samples give the number of clusters, the starts and the comparison of the domains. The iterations end when
        no document changes its cluster; ``n_iter_`` counts them.

        Parameters
        ----------
        passes : Passes
        max_iter : int
            Passes over the target at most.

        Returns
        -------
        self
        """
        idf = self.idf_ = passes.idf
        samples = passes.sample, passes.target_sample
        domain = np.repeat([1, -1], [len(sample.rows) for sample in samples])
        codes = np.concatenate([passes.sample.codes, np.full(len(passes.target_sample.rows), -1)])
        self.fit(sp.vstack([chunk_rows(sample.rows, idf) for sample in samples], format="csr"), codes, domain)
        n = len(passes.classes)
        sums, sizes = passes.sum(sum_groups, "source", idf, n, phase="source groups", add=add_tuples)
        total, documents = passes.sum(sum_groups, "target", idf, 1, phase="mean of the target", add=add_tuples)
        self.classes_, self.target_mean_ = passes.classes, total[0] / max(1, int(documents[0]))
        self._groups = SourceGroups(sums / np.maximum(sizes, 1)[:, None], np.arange(n), np.ones(n, dtype=np.int64))
        if self._aligner is not None:
            followed = self.guidance_ > 0
            self._aligner = Aligner(self._groups, self._aligner.similarity, self.target_mean_) if followed else None
        numbers = count(1)

        def assign(centers: np.ndarray) -> ClusterSums:
            return passes.sum(assign_chunk, "target", idf, centers, phase=f"grouping, pass {next(numbers)}")

        # The sample's fit has warmed up the centres; a further pass is not worth their last digits.
        settings: dict[str, Any] = {"tol": None, "cosine": True, "warmup": 0, "boost": 1.0, "rest": np.inf}
        settings |= {"max_iter": max_iter, "aligner": self._aligner, "guidance": self.guidance_}
        best = iterate(assign, self.cluster_centers_, **settings)
        self._store_run(best, best.stats.means(best.centers))
        return self

    # -- parts of fit ----------------------------------------------------------------------------------------------

    def _read(self, X, y, sample_domain) -> Domains:
        if y is None:
            if sample_domain is not None:
                check_transfer_data(self, X, y, sample_domain)  # refuses domains without groups
            X = _clean_rows(check_rows(self, X, reset=True))
            hidden = np.full(X.shape[0], UNLABELLED)
            self.classes_ = np.zeros(0, dtype=object)
            return Domains(X, hidden, hidden, self.classes_, np.arange(X.shape[0])).in_content_order()
        gate = check_transfer_data(self, X, y, sample_domain, need_overlap=False, min_classes=1).in_content_order()
        if gate.n_classes < 2 and self.guidance != 0:
            raise DataError(
                f"The source labels name one class, {shorten(gate.classes[0])}: one group gives nothing to follow. "
                "Give at least two groups, or guidance=0 for plain k-means.",
                code="one-class",
            )
        self.classes_ = gate.classes
        return replace(gate, X=_clean_rows(gate.X))

    def _prepare(self, rows: Domains) -> Prepared:
        target = rows.X[_target_rows(rows)]
        empty = np.diff(target.indptr) == 0
        self.n_empty_ = int(empty.sum())
        if self.n_empty_ == len(empty):
            raise DataError(
                f"None of the {len(empty):,} target documents has a known word, so there is nothing to group them by; "
                "check the text column, or lower min_df.",
                code="empty-vocabulary",
            )
        if self.n_empty_:
            warn(
                f"{self.n_empty_} of {len(empty)} target documents have no known word; they are put into the least "
                "specific cluster.",
                code="empty-documents",
            )
        prepared = self._prepare_rows(
            rows.X[rows.source] if self.guidance != 0 else None,
            rows.source_codes,
            rows.domain[rows.source],
            target[~empty],
            cosine=self.metric == "cosine",
            pivot_weights=self.pivot_weights,
            projection=self.projection,
            contexts=self.contexts,
        )
        if prepared.groups is not None and prepared.aligner is None:
            words = [len(np.unique(rows.X[side].indices)) for side in (rows.source, _target_rows(rows))]
            warn(
                f"Source ({words[0]} words) and target ({words[1]} words) share no word, so no group can be "
                "matched; the target was grouped by plain k-means.",
                code="fallback",
            )
        return prepared

    def _choose_number(self, rows: Domains, prepared: Prepared):
        n = prepared.target.shape[0]
        self.n_clusters_table_: list[dict] = []
        if self.n_clusters is not None and not isinstance(self.n_clusters, str):
            self.n_clusters_ = int(self.n_clusters)
        elif not isinstance(self.init, str):
            self.n_clusters_ = self.init.shape[0] if hasattr(self.init, "shape") else len(self.init)
        else:
            cosine = self.metric == "cosine"
            source = metric_rows(rows.X[rows.source], cosine) if len(rows.source) else None
            n_groups = len(np.unique(rows.source_codes))  # groups of one name in several sources are one
            settings = {"cosine": cosine, "random_state": check_random_state(self.random_state).randint(2**31 - 1)}
            chosen, self.n_clusters_table_ = choose_n_clusters(prepared.target, source, n_groups, **settings)
            self.n_clusters_ = max(chosen, count_counterparts(prepared, **settings))
        if self.n_clusters_ > n:
            raise DataError(
                f"n_clusters={self.n_clusters_}, but the target has only {n} documents with words; ask for fewer "
                "clusters.",
                code="bad-parameter",
            )

    def _store(self, best: KMeansRun, rows: Domains, prepared: Prepared):
        self._aligner = prepared.aligner
        nothing = np.zeros(0, dtype=np.int64)
        self._groups = prepared.groups or SourceGroups(prepared.target[:0].toarray(), nothing, nothing)
        self.target_mean_ = np.asarray(prepared.target.mean(axis=0)).ravel()
        self._store_run(best, group_means(prepared.target, best.labels, self.n_clusters_))
        target = _target_rows(rows)
        filled = np.diff(rows.X.indptr)[target] > 0
        labels = np.full(rows.n_rows, -1, dtype=np.int64)
        if len(self._groups):
            matched = np.where(self.match_weights_.max(axis=0) > 0, self.match_weights_.argmax(axis=0), -1)
            keys = zip(self.group_collections_.tolist(), self._groups.codes.tolist(), strict=True)
            of_group = dict(zip(keys, matched.tolist(), strict=True))
            own = zip(rows.domain[rows.source].tolist(), rows.source_codes.tolist(), strict=True)
            labels[rows.source] = [of_group[key] for key in own]
        labels[target[filled]] = best.labels
        labels[target[~filled]] = self._least_specific
        self.labels_ = rows.restore_rows(labels)
        self.cluster_sizes_ = np.bincount(labels[target], minlength=self.n_clusters_)

    def _store_run(self, best: KMeansRun, means: np.ndarray):
        """Store centres and alignment; ``_aligner``, ``_groups`` and ``classes_`` are set."""
        self.cluster_centers_, self.cluster_means_ = best.centers, means
        self.history_, self.n_iter_ = best.history, best.n_iter
        self.inertia_, self.termination_condition_ = best.stats.divergence, best.termination
        lengths = np.where(best.stats.counts > 0, np.linalg.norm(means, axis=1), np.inf)
        self._least_specific = int(lengths.argmin())
        groups = self._groups
        self.match_weights_ = np.zeros((self.n_clusters_, len(groups)))
        if self._aligner is not None and best.guided:
            self.match_weights_ = self._aligner.weights(self._aligner.spread(best.centers))
        self.group_labels_, self.group_collections_ = self.classes_[groups.codes], groups.collections
        self.alignment_ = alignment_table(self.match_weights_, groups, self.classes_)

    def __sklearn_tags__(self):
        """Return the tags that describe the accepted input to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _target_rows(rows: Domains) -> np.ndarray:
    """Return the rows to group: all of them if none is marked as target."""
    return rows.target if len(rows.target) else np.arange(rows.n_rows)


def _clean_rows(X: Any) -> sp.csr_matrix:
    """Return CSR rows without stored zeros and repeated entries."""
    X = sp.csr_matrix(X, dtype=np.float64)
    if X.has_canonical_format and np.all(X.data):
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


# -- Statistics of a chunk ---------------------------------------------------------------------------------------------


def chunk_rows(rows: RowBlock, idf: np.ndarray) -> sp.csr_matrix:
    """Return tf-idf rows of length one, rounded so that their sums are exact.

    Parameters
    ----------
    rows : RowBlock
    idf : ndarray of shape (n_words,)

    Returns
    -------
    csr_matrix
    """
    return rows.matrix(np.rint(rows.tfidf(idf, sublinear=False) * ONE) / ONE)


def sum_groups(block: Block, idf: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sums and numbers of the rows by source group; those of the target are one group.

    Parameters
    ----------
    block : Block
    idf : ndarray of shape (n_words,)
    n_groups : int

    Returns
    -------
    sums : ndarray of shape (n_groups, n_words)
    counts : ndarray of int of shape (n_groups,)
    """
    X = chunk_rows(block.rows, idf)
    codes = block.codes if block.side == "source" else np.zeros(X.shape[0], dtype=np.int32)
    known = codes >= 0
    return group_sums(X[known], codes[known], n_groups), np.bincount(codes[known], minlength=n_groups)


def assign_chunk(block: Block, idf: np.ndarray, centers: np.ndarray) -> ClusterSums:
    """Assign the rows of a target chunk; a document without a word belongs to no cluster.

    Parameters
    ----------
    block : Block
    idf : ndarray of shape (n_words,)
    centers : ndarray of shape (n_clusters, n_words)

    Returns
    -------
    ClusterSums
    """
    X = chunk_rows(block.rows, idf)
    return replace(assign_rows(X[np.diff(X.indptr) > 0], centers, cosine=True), labels=None)
