"""Cross-guided k-means: group a target so that its clusters resemble a source's groups where they can."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from isthmus._math.rows import group_means
from isthmus._parameters import (
    FROM_0,
    FROM_1,
    N_JOBS,
    NON_NEGATIVE,
    SHARE,
    Interval,
    StrOptions,
    check_parameters,
    parameter,
    parameters,
)
from isthmus._progress import progress
from isthmus._utils import n_threads, warn
from isthmus._validation import UNLABELLED, check_rows, shorten
from isthmus.base import Domains, check_transfer_data
from isthmus.clustering.alignment import Match, alignment_table
from isthmus.clustering.guidance import choose_guidance, choose_n_clusters, count_counterparts
from isthmus.clustering.kmeans import KMeansRun, assign_rows
from isthmus.clustering.run import Prepared, clean_rows, guided_kmeans, initial_centers, metric_rows, prepare
from isthmus.exceptions import DataError
from isthmus.features.contexts import Contexts

# Parameters that say how clusters and groups are aligned.
_ALIGNMENT = (
    *("warmup", "min_contrast", "pivot_weights", "projection"),
    *("smoothing", "contexts", "context_counts", "own_words"),
)


@parameters
class CrossGuidedKMeans(ClusterMixin, BaseEstimator):
    """k-means on a target collection, guided by the groups of a source collection.

    Each iteration assigns target documents to the nearest centre, aligns centres with source groups by maximum-weight
    matching, and moves each centre to a weighted mean of its documents and of the source group it is aligned with;
    the better the match, the stronger the pull (equations 1–3 of the paper). Source groups without a counterpart are
    left alone, and so are target clusters: those are new.

    It assumes that the two domains share words and that groups which are alike in meaning use like words. It does
    harm when a source group resembles two target groups, or the reverse (see
    :func:`isthmus.clustering.estimate_guidance_gain`).

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of target clusters. "auto" looks for the number at which a further cluster gains as little as it does in
        the source at the source's own number of groups; source groups with a plain counterpart set the least number.
    guidance : float in [0, 1] or "auto", default=0.5
        Weight of the source, 1 − α of the paper; 0 is k-means. "auto" takes 0.5, or that of 0, 0.25 and 0.75 under
        which one half of the words finds clusters that the other half describes plainly better.
    n_init : int, default=10
        Starts; the run whose documents lie nearest to their centres is kept. The centres bear the pull, so a wrong
        alignment shows; equation (2) itself cannot compare runs, since a cluster without a match pays nothing.
    init : {"k-means++", "random"} or ndarray of shape (n_clusters, n_words), default="k-means++"
        First centres, drawn exactly as scikit-learn's ``KMeans`` draws them from the target rows sorted by content.
    metric : {"cosine", "euclidean"}, default="cosine"
        "cosine" makes rows of length one and compares directions (spherical k-means when ``guidance=0``). "euclidean"
        with ``guidance=0`` is scikit-learn's ``KMeans`` on the rows in that order.
    max_iter : int, default=100
    tol : float, default=1e-4
        As for ``KMeans``: movement of the centres, relative to the variance of the words, below which a run stops.
    warmup : int, default=5
        Plain iterations before the first alignment.
    boost : float, default=4.0
        Factor on the odds of source to target in the first ``boost_iter`` guided iterations; 1 is the paper's
        algorithm. A strong pull at first leaves poor local optima of the same objective.
    boost_iter : int, default=5
    min_contrast : float, default=0.0
        Pairs of a cluster and a group whose deviations from their domains' means have a smaller cosine are not
        aligned; -1 aligns whatever can be aligned, as in the paper.
    pivot_weights : bool or dict, default=True
        Weigh shared words by the similarity of their contexts in the two domains. A dict does so, too, and sets the
        weights of its columns, 0 for a word that must not count.
    projection : bool, default=True
        Carry the weight of words that one domain lacks over to shared words they occur with.
    smoothing : float, default=0.1
        λ of the pivot weights.
    contexts : isthmus.features.contexts.Contexts, optional
        Contexts counted in running text; if omitted, words meet when a document holds both.
    context_counts : {"log", "plain"}, default="log"
        How often two words meet enters their contexts as log(1 + count), or "plain" as it is, which is the paper's.
    own_words : bool, default=True
        Centres are drawn along the words that the target has; False: along all words of the source, as in the paper.
    n_jobs : int, optional
        Threads; -1 for all cores.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_rows,)
        Cluster of each target row; of a source row the cluster its group is aligned with, -1 if none.
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
        What was weighed when ``n_clusters="auto"`` or ``guidance="auto"``.
    n_empty_ : int
        Target rows without any word.
    inertia_ : float
        Sum of squared distances of the target rows to their centres, by which starts are compared.
    history_, n_iter_, termination_condition_
        Combined divergence (equation 2) after every iteration of the best run, their number, why it ended.

    See Also
    --------
    isthmus.cluster : From texts, with names and a report.
    isthmus.clustering.estimate_guidance_gain : Whether guidance will help, without gold labels.

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
    n_clusters: int | str | None = parameter(FROM_1, StrOptions({"auto"}), None, default="auto", positional=True)
    guidance: float | str = parameter(SHARE, StrOptions({"auto"}), default=0.5)
    n_init: int = parameter(FROM_1, default=10)
    init: Any = parameter(StrOptions({"k-means++", "random"}), "array-like", "sparse matrix", default="k-means++")
    metric: str = parameter(StrOptions({"cosine", "euclidean"}), default="cosine")
    max_iter: int = parameter(FROM_1, default=100)
    tol: float = parameter(NON_NEGATIVE, default=1e-4)
    warmup: int = parameter(FROM_0, default=5)
    boost: float = parameter(Interval(Real, 1, None, closed="left"), default=4.0)
    boost_iter: int = parameter(FROM_0, default=5)
    min_contrast: float = parameter(Interval(Real, -1, 1, closed="both"), default=0.0)
    pivot_weights: bool | dict[int, float] = parameter("boolean", dict, default=True)
    projection: bool = parameter("boolean", default=True)
    smoothing: float = parameter(NON_NEGATIVE, default=0.1)
    contexts: Any = parameter(Contexts, None, default=None)
    context_counts: str = parameter(StrOptions({"log", "plain"}), default="log")
    own_words: bool = parameter("boolean", default=True)
    n_jobs: int | None = parameter(*N_JOBS, None, default=None)
    random_state: Any = parameter("random_state", default=None)

    def fit(self, X, y=None, sample_domain=None):
        """Group the target rows.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_words)
            Rows of all domains over one vocabulary.
        y : array-like of shape (n_rows,), optional
            Source groups; -1 (integers) or None/NaN (anything else) where unknown. Labels of target rows are ignored.
            If omitted, there is no source, every row is target, and the result is plain k-means.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows. If omitted, unlabelled rows are target.

        Returns
        -------
        self
        """
        check_parameters(self)
        rows = self._read(X, y, sample_domain)
        prepared = self._prepare(rows)
        self._settle_number(rows, prepared)
        self._settle_guidance(rows, prepared)
        best = self._best_run(prepared)
        self._store(best, rows, prepared)
        return self

    def fit_predict(self, X, y=None, sample_domain=None):
        """Fit and return ``labels_``."""
        return self.fit(X, y, sample_domain).labels_

    def predict(self, X):
        """Cluster of each new target document."""
        check_is_fitted(self)
        X = metric_rows(clean_rows(check_rows(self, X)), self.metric == "cosine")
        labels = assign_rows(X, self.cluster_centers_, cosine=self.metric == "cosine")[0]
        return np.where(np.diff(X.indptr) == 0, self._least_specific, labels).astype(np.int64)

    # -- parts of fit ----------------------------------------------------------------------------------------------

    def _read(self, X, y, sample_domain) -> Domains:
        if y is None:
            if sample_domain is not None:
                check_transfer_data(self, X, y, sample_domain)  # refuses: domains without groups
            X = clean_rows(check_rows(self, X, reset=True))
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
        return replace(gate, X=clean_rows(gate.X))

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
                f"{self.n_empty_} of {len(empty)} target documents have no known word; they are kept and put into "
                "the least specific cluster.",
                code="empty-documents",
            )
        prepared = prepare(
            rows.X[rows.source] if self.guidance != 0 else None,
            rows.source_codes,
            rows.domain[rows.source],
            target[~empty],
            cosine=self.metric == "cosine",
            **{name: getattr(self, name) for name in _ALIGNMENT},
        )
        if prepared.groups is not None and prepared.aligner is None:
            words = [len(np.unique(rows.X[side].indices)) for side in (rows.source, _target_rows(rows))]
            warn(
                f"Source ({words[0]} words) and target ({words[1]} words) share no word, so no group can be "
                "matched; the target was grouped by plain k-means.",
                code="fallback",
            )
        return prepared

    def _settle_number(self, rows: Domains, prepared: Prepared):
        n = prepared.target.shape[0]
        self.n_clusters_table_: list[dict] = []
        if self.n_clusters is None or isinstance(self.n_clusters, str):
            if not isinstance(self.init, str):
                self.n_clusters_ = self.init.shape[0] if hasattr(self.init, "shape") else len(self.init)
            else:
                cosine = self.metric == "cosine"
                source = metric_rows(rows.X[rows.source], cosine) if len(rows.source) else None
                seed = check_random_state(self.random_state).randint(2**31 - 1)
                chosen, self.n_clusters_table_ = choose_n_clusters(
                    prepared.target,
                    source,
                    len(np.unique(rows.source_codes)),  # groups of one name in several sources are one
                    cosine=cosine,
                    random_state=seed,
                )
                self.n_clusters_ = max(chosen, count_counterparts(prepared, cosine=cosine, random_state=seed))
        else:
            self.n_clusters_ = int(self.n_clusters)
        if self.n_clusters_ > n:
            raise DataError(
                f"n_clusters={self.n_clusters_}, but the target has only {n} documents with words; ask for fewer "
                "clusters.",
                code="bad-parameter",
            )

    def _settle_guidance(self, rows: Domains, prepared: Prepared):
        self.guidance_table_: list[dict] = []
        if prepared.aligner is None:
            self.guidance_ = 0.0
        elif isinstance(self.guidance, str):
            self.guidance_, self.guidance_table_ = choose_guidance(
                rows.X[rows.source],
                rows.source_codes,
                rows.domain[rows.source],
                prepared.target,
                n_clusters=self.n_clusters_,
                boost=self.boost,
                random_state=check_random_state(self.random_state).randint(2**31 - 1),
                cosine=self.metric == "cosine",
                warmup=self.warmup,
                min_contrast=self.min_contrast,
                own_words=self.own_words,
            )
        else:
            self.guidance_ = float(self.guidance)

    def _best_run(self, prepared: Prepared) -> KMeansRun:
        rng = check_random_state(self.random_state)
        cosine = self.metric == "cosine"
        tol = self.tol * float(np.mean(mean_variance_axis(prepared.target, axis=0)[1])) if self.tol else 0.0
        fixed = not isinstance(self.init, str)
        n_init = 1 if fixed else self.n_init
        best = None
        for i in range(n_init):
            start = initial_centers(prepared.target, self.n_clusters_, self.init, rng)
            run = guided_kmeans(
                prepared,
                start,
                guidance=self.guidance_,
                cosine=cosine,
                max_iter=self.max_iter,
                tol=tol,
                boost=self.boost,
                boost_iter=self.boost_iter,
                n_threads=n_threads(self.n_jobs),
            )
            progress("grouping", i + 1, n_init)
            if best is None or run.divergence < best.divergence:
                best = run
        assert best is not None  # n_init is at least 1
        return best

    def _store(self, best: KMeansRun, rows: Domains, prepared: Prepared):
        self.cluster_centers_ = best.centers
        self.history_, self.n_iter_ = best.history, best.n_iter
        self.inertia_, self.termination_condition_ = best.divergence, best.termination
        target = _target_rows(rows)
        filled = target[np.diff(rows.X.indptr)[target] > 0]
        labels = np.full(rows.n_rows, -1, dtype=np.int64)
        self._aligner, self._groups = prepared.aligner, prepared.groups
        self._set_alignment(best)
        if prepared.groups is not None:
            keys = list(zip(self.group_collections_.tolist(), prepared.groups.codes.tolist(), strict=True))
            weights = self.match_weights_.T
            matched = {key: int(row.argmax()) if row.max() > 0 else -1 for key, row in zip(keys, weights, strict=True)}
            own = zip(rows.domain[rows.source].tolist(), rows.source_codes.tolist(), strict=True)
            labels[rows.source] = [matched[key] for key in own]
        labels[filled] = best.labels
        self.cluster_means_ = group_means(prepared.target, best.labels, self.n_clusters_)
        self.target_mean_ = np.asarray(prepared.target.mean(axis=0)).ravel()
        lengths = np.where(best.counts > 0, np.linalg.norm(self.cluster_means_, axis=1), np.inf)
        self._least_specific = int(lengths.argmin())
        labels[np.setdiff1d(target, filled)] = self._least_specific
        self.labels_ = rows.restore_rows(labels)
        self.cluster_sizes_ = np.bincount(labels[target], minlength=self.n_clusters_)

    def _set_alignment(self, best: KMeansRun):
        if self._groups is None or self._aligner is None or best.pull is None:
            n_groups = 0 if self._groups is None else len(self._groups)
            self.match_weights_ = np.zeros((self.n_clusters_, n_groups))
        else:
            self.match_weights_ = self._aligner.weights(best.centers)
        if self._groups is None:
            self.group_labels_, self.group_collections_ = self.classes_[:0], np.zeros(0, dtype=np.int64)
            self.alignment_ = [Match(i, None, 0.0, None) for i in range(self.n_clusters_)]
            return
        self.group_labels_ = self.classes_[self._groups.codes]
        self.group_collections_ = self._groups.collections
        self.alignment_ = alignment_table(self.match_weights_, self._groups, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _target_rows(rows: Domains) -> np.ndarray:
    """Rows that are grouped: where none is marked as target, all of them."""
    return rows.target if len(rows.target) else np.arange(rows.n_rows)
