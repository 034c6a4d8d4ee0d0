"""Transductive kernel classifier: a kernel between texts, adapted to the target by its own documents."""

from __future__ import annotations

import copy
import warnings
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from isthmus._math.calibration import fit_temperature
from isthmus._math.gram import KINDS
from isthmus._math.kernel_ridge import (
    GrowingRidge,
    centroid_scores,
    choose_ridge,
    discriminant_responses,
    indicator,
    most_confident,
)
from isthmus._parameters import FROM_0, FROM_1, N_JOBS, NON_NEGATIVE, SHARE, Lengths, StrOptions, refusal
from isthmus._progress import progress
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.strings.rows import KernelRows
from isthmus.exceptions import IsthmusWarning

# Beyond the paper: what the recipe uses. The best of 13 settings on shifts simulated inside labelled domains, by the
# labels of each domain alone (docs/methods/strings.md). Settings with more rounds lost there and are not used.
ALIGNED = {"align": "mean", "alpha": 1e-4, "max_iter": 2, "n_added": 0.5}
CALIBRATION_ROWS = 1500  # source rows behind the temperature; more change it little and cost their cube


class TransductiveKernelClassifier(TransferClassifier):
    """Kernel ridge regression on a kernel adapted to the target, with a second round on the surest target documents.

    The kernel between all documents, source and target, is normalised and put through exp(K̂ − 1); each row of it is
    then a document's feature vector, so that target documents shape the features. The classifier is trained on source,
    labels the target, takes the surest target documents in as training documents, and labels the target again
    (Ionescu and Butnaru 2018, Algorithm 1).

    It assumes that the two domains share stretches of characters (the same language or script) and that the first round
    is right more often than not about the documents it is sure of. Where that fails, the second round repeats the
    error: compare with ``max_iter=1``.

    Parameters
    ----------
    kernel : {"presence", "intersection", "spectrum", "precomputed"}, StringKernel, KernelSum or callable
        "precomputed": ``X`` is the kernel between all rows (normalised already: ones on the diagonal), and for new
        documents their kernel with the fitted rows. A callable gets two sets of rows and returns their kernel; rows may
        then be texts or a matrix.
    ngram_range, lowercase, squeeze
        As for :class:`isthmus.StringKernel`, where ``kernel`` is a name; ``ngram_range="auto"`` is (5, 8), or (1, 4)
        for texts in Chinese or Japanese.
    transductive : bool, default=True
        False: the plain kernel, without the target's documents.
    rbf : bool, default=True
        exp(K̂ − 1) before anything else.
    align : {None, "mean", "domain"}, default=None
        Move the rows of the transductive kernel before training. "mean": subtract the mean row, which gives the ridge
        an intercept, and scale to mean squared length one. "domain": subtract each domain's own mean row and scale
        every row to length one, so that what merely tells the domains apart is gone and long texts weigh no more than
        short ones; it assumes that the classes have about the same shares in both domains.
    classifier : {"ridge", "discriminant"}, default="ridge"
        Ridge one against all, or kernel discriminant analysis.
    alpha : float, default=1e-5
        Ridge. With landmarks, larger ones are tried on held-out source documents; ``alpha_`` says which was used.
    max_iter : int, default=2
        1: no target documents are added. More than 2: the added documents are chosen anew in every round, and their
        number grows evenly to ``n_added``.
    n_added : int or float, default=0.5
        How many target documents are added: a number, or a share of the target.
    balanced : bool, default=False
        Add equally many documents of each predicted class. An assumption about the target, so off by default.
    n_landmarks : int or None, default=None
        Compare every document with this many landmark documents instead of with all. If omitted, 2,000 landmarks are
        used from ``max_exact`` documents on, with a warning.
    max_exact : int, default=12000
        Largest number of documents for which the kernel is computed whole.
    n_jobs : int, default=1
        Threads of the string kernel.
    random_state : int, RandomState or None, default=None
        Draws landmarks; the exact path does not use it.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_`` has one dict per round: training documents, added documents, target labels that changed.
    added_ : ndarray of int
        Rows of the target documents trained on in the last round, surest first.
    first_round_ : ndarray
        Labels of the target rows after the first round, before any target document was added.
    ranking_ : ndarray of int
        All target rows, surest first.
    target_scores_ : ndarray of shape (n_target, n_classes)
        Final scores of the target rows, in row order.
    inverse_temperature_ : float
        Factor that turns scores into probabilities, from leave-one-out scores on source rows.
    landmarks_ : ndarray of int or None
        Rows used as landmarks.

    See Also
    --------
    isthmus.StringKernel : The kernel alone.
    isthmus.explain.strings.ngram_contributions : The n-grams behind a label.

    References
    ----------
    R. T. Ionescu, A. M. Butnaru: Transductive learning with string kernels for cross-domain text classification.
    ICONIP 2018.

    Examples
    --------
    >>> from isthmus import TransductiveKernelClassifier
    >>> texts = ["kind staff", "great bike", "polite staff", "fast bike", "rude staff", "slow bike"]
    >>> labels = ["staff", "product", "staff", "product", None, None]
    >>> model = TransductiveKernelClassifier(ngram_range=(2, 4)).fit(texts, labels)
    >>> model.transduction_[-2:].tolist()
    ['staff', 'product']
    >>> model.predict(["the staff"]).tolist()
    ['staff']
    """

    _parameter_constraints = {
        "kernel": [StrOptions({*KINDS, "precomputed"}), callable],
        "ngram_range": [Lengths(), StrOptions({"auto"})],
        "lowercase": ["boolean"],
        "squeeze": ["boolean"],
        "transductive": ["boolean"],
        "rbf": ["boolean"],
        "align": [StrOptions({"mean", "domain"}), None],
        "classifier": [StrOptions({"ridge", "discriminant"})],
        "alpha": [NON_NEGATIVE],
        "max_iter": [FROM_1],
        "n_added": [FROM_0, SHARE],
        "balanced": ["boolean"],
        "n_landmarks": [FROM_1, None],
        "max_exact": [FROM_1],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel="presence",
        ngram_range=(5, 8),
        *,
        lowercase=True,
        squeeze=True,
        transductive=True,
        rbf=True,
        align=None,
        classifier="ridge",
        alpha=1e-5,
        max_iter=2,
        n_added=0.5,
        balanced=False,
        n_landmarks=None,
        max_exact=12000,
        n_jobs=1,
        random_state=None,
    ):
        self.kernel = kernel
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.squeeze = squeeze
        self.transductive = transductive
        self.rbf = rbf
        self.align = align
        self.classifier = classifier
        self.alpha = alpha
        self.max_iter = max_iter
        self.n_added = n_added
        self.balanced = balanced
        self.n_landmarks = n_landmarks
        self.max_exact = max_exact
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _row_kind(self) -> str:  # type: ignore[override]  # depends on the kernel; never set
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return "matrix"
        return getattr(self, "_seen_kind", "text")

    @property
    def _sort_rows(self) -> bool:  # type: ignore[override]
        return not (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def fit(self, X, y, sample_domain=None):
        """Fit on source and target documents together; see :meth:`isthmus.base.TransferClassifier.fit`."""
        # A callable kernel may compare rows of a matrix as well as texts: what X is decides.
        matrix = sp.issparse(X) or getattr(X, "ndim", 1) == 2
        self._seen_kind = "matrix" if matrix and callable(self.kernel) else "text"
        return super().fit(X, y, sample_domain)

    def _fit(self, domains: Domains) -> np.ndarray:
        r = self._number_to_add(len(domains.target))
        rows = KernelRows.from_settings(self, domains.X)
        matrix, linear = rows.fit(domains, self._landmarks(domains))
        self.alpha_ = self.alpha
        if rows.landmarks is not None:
            self.alpha_ = choose_ridge(matrix[domains.source], domains.source_codes, domains.n_classes, self.alpha)
        # Several rounds use the same inner products again and again: multiply once.
        cached = linear and rows.landmarks is None and self.max_iter > 2
        base = GrowingRidge(matrix @ matrix.T if cached else matrix, self.alpha_, linear=linear and not cached)
        base.extend(domains.source)
        self._model = _Model(self.classifier, domains.n_classes, centred=self.align is not None)
        codes = domains.source_codes
        scores = self._model.fit(base, codes).scores(base, domains.target)
        first = self.classes_[scores.argmax(axis=1)] if len(scores) else self.classes_[:0]
        self.first_round_ = domains.restore_targets(first)
        self.history_ = [{"round": 1, "trained_on": len(codes), "added": 0, "changed": None}]
        added = np.zeros(0, np.int64)
        rounds = self.max_iter if len(domains.target) and r else 1
        for k in range(2, rounds + 1):
            progress("rounds", k, rounds)
            before = scores.argmax(axis=1)
            added = most_confident(scores, max(1, round(r * (k - 1) / (rounds - 1))), balanced=self.balanced)
            ridge = copy.copy(base)
            ridge.extend(domains.target[added])
            scores = self._model.fit(ridge, np.concatenate([codes, before[added]])).scores(ridge, domains.target)
            changed = int(np.sum(scores.argmax(axis=1) != before))
            self.history_.append({"round": k, "trained_on": len(ridge.train), "added": len(added), "changed": changed})
        if cached:
            self._model.weights = matrix[self._model.train].T @ self._model.weights
        self.inverse_temperature_ = self._calibrate(base, codes)
        self.added_ = domains.order[domains.target[added]]
        self.target_scores_ = domains.restore_targets(scores)
        ranking = domains.target[most_confident(scores, len(scores))] if len(scores) else domains.target
        self.ranking_ = domains.order[ranking]
        self._landmark_rows = None if rows.landmarks is None else np.sort(domains.order[rows.landmarks])
        self.n_iter_ = rounds
        self.termination_condition_ = "rounds_done" if len(domains.target) else "no_target"
        self._rows = rows.keep(self._model.train if not linear else None)
        return scores.argmax(axis=1) if len(scores) else np.zeros(0, np.int64)

    def _scores(self, X) -> np.ndarray:
        return self._model.finish(self._rows.new_rows(X) @ self._model.weights)

    def predict_proba(self, X):
        """Probability of each class for each new target document: softmax of scores times ``inverse_temperature_``."""
        self._check_is_fitted()
        return softmax(self._scores(self._check_new(X)) * self.inverse_temperature_)

    def target_proba(self, X):
        """Probabilities of the fitted target rows, from the scores of the last round."""
        self._check_is_fitted()
        return softmax(self.target_scores_ * self.inverse_temperature_)

    def decision_function(self, X):
        """Scores of new documents; one column per class, or for two classes the score of the second."""
        self._check_is_fitted()
        scores = self._scores(self._check_new(X))
        return scores if len(self.classes_) > 2 else (scores[:, 1] - scores[:, 0]) / 2

    def _check_is_fitted(self):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "inverse_temperature_")

    @property
    def landmarks_(self):
        """Rows used as landmarks, or None where every document was compared with every other."""
        return self._landmark_rows

    def _calibrate(self, base: GrowingRidge, codes: np.ndarray) -> float:
        subset = np.arange(len(codes))
        if len(subset) > CALIBRATION_ROWS:
            subset = subset[np.linspace(0, len(subset) - 1, CALIBRATION_ROWS).astype(int)]
        held_out = self._model.responses(codes[subset])
        return fit_temperature(self._model.finish(base.held_out_scores(subset, held_out)), codes[subset])

    def _landmarks(self, domains: Domains) -> np.ndarray | None:
        wanted = self.n_landmarks
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return None
        if wanted is None:
            if domains.n_rows <= self.max_exact:
                return None
            wanted = 2000
            warnings.warn(
                IsthmusWarning(
                    f"{domains.n_rows:,} documents are more than max_exact={self.max_exact:,}; each is compared with "
                    f"{wanted:,} landmark documents instead of with all. Set n_landmarks or max_exact to choose.",
                    code="approximation",
                ),
                stacklevel=5,
            )
        if wanted >= domains.n_rows:
            return None
        rng = check_random_state(self.random_state)
        # Half of them target documents: the features must know both domains, whatever their sizes.
        target = rng.permutation(domains.target)[: max(wanted // 2, wanted - (domains.n_rows - len(domains.target)))]
        others = np.setdiff1d(np.arange(domains.n_rows), domains.target)
        return np.sort(np.concatenate([target, rng.permutation(others)[: wanted - len(target)]]))

    def _number_to_add(self, n_target: int) -> int:
        """How many target documents are added in the last round; refuses what does not go together."""
        if self.align and not self.transductive:
            raise refusal(self, "align", "None, since transductive=False leaves nothing to align")
        if not isinstance(self.n_added, Integral):
            return round(self.n_added * n_target)
        if self.max_iter > 1 and n_target and int(self.n_added) > n_target:
            raise refusal(self, "n_added", f"at most the {n_target} target documents, or a share such as 0.5")
        return int(self.n_added)


class _Model:
    """Ridge scores or discriminant projections: one interface over :class:`GrowingRidge`."""

    def __init__(self, kind: str, n_classes: int, *, centred: bool = False):
        self.kind, self.n_classes, self.centred = kind, n_classes, centred
        self.offset = np.zeros(n_classes)

    def responses(self, codes: np.ndarray) -> np.ndarray:
        if self.kind == "ridge":
            return indicator(codes, self.n_classes) - self.offset
        return self._scatter[codes]

    def fit(self, ridge: GrowingRidge, codes: np.ndarray) -> _Model:
        if self.kind == "ridge" and self.centred:
            # Centred rows cannot express a constant, and with many classes the mean response is far from zero.
            self.offset = indicator(codes, self.n_classes).mean(axis=0)
        if self.kind == "discriminant":
            full = discriminant_responses(codes, self.n_classes)
            # A response is one point per class; the ridge maps documents near these points.
            self._scatter = np.array([full[codes == c][0] for c in range(self.n_classes)])
        self.weights = ridge.weights(self.responses(codes))
        self.train = ridge.train
        return self

    def scores(self, ridge: GrowingRidge, rows: np.ndarray) -> np.ndarray:
        return self.finish(ridge.scores(self.weights, rows))

    def finish(self, Z: np.ndarray) -> np.ndarray:
        return Z + self.offset if self.kind == "ridge" else centroid_scores(Z, self._scatter, 1.0)
