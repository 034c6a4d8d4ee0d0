"""Transductive kernel classifier: a kernel between texts, adapted to the target by its own documents."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isthmus._math.calibration import fit_temperature
from isthmus._parameters import (
    FROM_0,
    FROM_1,
    N_JOBS,
    NON_NEGATIVE,
    SHARE,
    Lengths,
    StrOptions,
    parameter,
    parameters,
    refusal,
)
from isthmus._progress import progress
from isthmus._utils import n_threads, warn
from isthmus.base import Domains, TransferClassifier, row_blocks, softmax
from isthmus.classify.rules import KernelBend, StringRule, scale_dense
from isthmus.classify.strings.kernel_ridge import (
    GrowingRidge,
    as_run,
    centroid_scores,
    choose_ridge,
    discriminant_responses,
    indicator,
    inverse_root,
    kernel_problem,
    most_confident,
    rbf,
)
from isthmus.classify.strings.ridge_gpu import DeviceRidge, DeviceRows, new_scores, solve_bytes
from isthmus.exceptions import DataError
from isthmus.features.gram import KINDS, inverse_roots, normalize_kernel
from isthmus.features.gram_gpu import DEVICES, array_module, gram_bytes, has_memory, whole_counts
from isthmus.features.languages import IDEOGRAPHIC, guess_language, resolve_language
from isthmus.features.strings import StringKernel

# -- From documents to rows of a kernel: string kernels, callables and precomputed matrices, whole or by landmarks


SPACED_LENGTHS, UNSPACED_LENGTHS = (5, 8), (1, 4)
MOST_EXACT = 12_000  # documents whose kernel is computed whole on the CPU, unless max_exact says otherwise
LANDMARKS = 2000  # documents that stand for all of a collection too large to be compared whole
BLOCK = 4_096  # documents compared with the landmarks in one go: with every block the landmarks are sorted again


@dataclass
class KernelRows:
    """Compares documents with those on the columns."""

    kernel: Any
    use_rbf: bool
    transductive: bool
    align: str | None = None
    columns: Any = None
    landmarks: np.ndarray | None = None
    root: np.ndarray | None = None
    train: np.ndarray | None = None
    centre: np.ndarray | None = None
    length: float = 1.0
    diagonal: np.ndarray | None = None  # of a string kernel, for the columns: what normalising divides by

    @classmethod
    def from_settings(cls, estimator, documents: Any) -> KernelRows:
        kernel = estimator.kernel
        lengths = estimator.ngram_range
        if isinstance(lengths, str) and lengths == "auto":
            lengths = lengths_for(guess_language(documents) if isinstance(documents, list) else "other")
        if isinstance(kernel, str) and kernel in KINDS:
            kernel = StringKernel(
                kernel,
                ngram_range=lengths,
                lowercase=estimator.lowercase,
                squeeze=estimator.squeeze,
                n_jobs=estimator.n_jobs,
                device=estimator.device,
            )
        return cls(kernel, estimator.rbf, estimator.transductive, estimator.align)

    def fit(self, domains: Domains, landmarks: np.ndarray | None, xp: Any = None) -> tuple[Any, bool]:
        """Rows of all documents, and whether they are features (inner products are the kernel) or the kernel itself.

        With an array module ``xp`` they are made on its device on demand.
        """
        self.landmarks = landmarks
        if landmarks is None:
            self.columns = None if self._precomputed else domains.X
            if xp is not None:
                on_device = self._on_device(xp, domains.X)
                self.centre, self.length = on_device.align(self.align, domains.domain, domains.target)
                return on_device, self.transductive
            K = self._curve(self._whole(domains.X))
            self._align(K, domains)
            return K, self.transductive
        self.columns = domains.rows(landmarks)
        rows = self._compare_blocks(domains)
        if not self.transductive:
            # Nyström: K ≈ C·K_mm⁺·Cᵀ, so C·K_mm^(−1/2) are features of the plain kernel.
            self.root = inverse_root(rows[landmarks])
            rows = rows @ self.root
        self._align(rows, domains)
        return rows, True

    def _on_device(self, xp: Any, X: Any) -> DeviceRows:
        if isinstance(self.kernel, StringKernel):
            index = replace(self.kernel, device="cuda").device_index(xp, X)
            assert index is not None  # "cuda" gets an index or is refused
            self.diagonal = index.diag
            return DeviceRows(xp, whole_counts(index), xp.asarray(inverse_roots(index.diag)), True, self.use_rbf)
        K = self._whole(X)
        self._check_normalised(K)
        return DeviceRows(xp, xp.asarray(K), xp.ones(len(K)), False, self.use_rbf)

    def scores(self, X: Any, weights: np.ndarray) -> np.ndarray:
        if isinstance(self.kernel, StringKernel) and self.root is None:
            xp = array_module(self.kernel.device, int(np.sqrt(len(X) * len(self.columns))))
            index = None if xp is None else self.kernel.device_index(xp, [*self.columns, *X], len(self.columns))
            if index is not None:
                return new_scores(index, self, weights)
        return self.new_rows(X) @ weights

    def _compare_blocks(self, domains: Domains) -> np.ndarray:
        """All documents against the landmarks, as many blocks at a time as there are threads."""
        rows = np.empty((domains.n_rows, len(self.columns)))
        threads, own = 1, self
        if isinstance(self.kernel, StringKernel):
            # Every block is left to one thread: little of the work on a block can be shared.
            threads = min(-(-domains.n_rows // BLOCK), n_threads(self.kernel.n_jobs))
            own = replace(self, kernel=replace(self.kernel, n_jobs=1, device="cpu"))
        # Equally many blocks for each thread, all of about the same size: none waits for another at the end.
        n_blocks = threads * max(1, round(domains.n_rows / (threads * BLOCK)))
        blocks = row_blocks(domains.n_rows, -(-domains.n_rows // n_blocks))

        def compare(block: slice) -> int:
            rows[block] = own._curve(own._between(domains.rows(np.arange(block.start, block.stop)), own.columns))
            return block.stop

        with ThreadPoolExecutor(threads) as pool:
            # Without other threads the caller's own: a function of the caller may not be ready for another one.
            for done in map(compare, blocks) if threads < 2 else pool.map(compare, blocks):
                progress("comparing texts", done, domains.n_rows)
        self.diagonal = own.diagonal
        return rows

    def _align(self, rows: np.ndarray, domains: Domains) -> None:
        """Centre the rows, in place; the centre of the target is kept for documents to come."""
        if self.align is None:
            return
        if self.align == "mean" or not len(domains.target):
            self.centre = rows.mean(axis=0)
            rows -= self.centre
            # Mean squared length one: the ridge means the same for every kernel.
            self.length = float(np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows))) or 1.0
            rows /= self.length
        else:
            self.centre = rows[as_run(domains.target)].mean(axis=0)
            for number in np.unique(domains.domain):
                own = as_run(np.flatnonzero(domains.domain == number))
                rows[own] -= rows[own].mean(axis=0)
        if self.align == "domain":
            scale_dense(rows)

    def keep(self, train: np.ndarray | None) -> KernelRows:
        """Forget what prediction does not need: a plain kernel looks at its training documents only."""
        self.train = train
        if train is not None and self.columns is not None:
            self.columns = _take(self.columns, train)
            self.diagonal = None if self.diagonal is None else self.diagonal[train]
        return self

    def __getstate__(self):
        texts = isinstance(self.columns, list)
        # One string: skops, which writes a saved model, takes long with many small objects.
        return {**self.__dict__, "columns": json.dumps(self.columns) if texts else self.columns}

    def __setstate__(self, state):
        columns = state["columns"]
        self.__dict__.update(state, columns=json.loads(columns) if isinstance(columns, str) else columns)

    def new_rows(self, X: Any) -> np.ndarray:
        if self._precomputed:
            rows = self._curve(_dense(X).copy() if self.train is None else _dense(X)[:, self.train])
        else:
            rows = self._curve(self._between(X, self.columns))
        if self.root is not None:
            rows = rows @ self.root
        return self.bend.align(rows)

    @property
    def bend(self) -> KernelBend:
        return KernelBend(self.use_rbf, self.centre, self.length, self.align == "domain")

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str)

    def _whole(self, X: Any) -> np.ndarray:
        if isinstance(self.kernel, StringKernel):
            K, self.diagonal = self.kernel.gram_and_diagonal(X, normalize=True)
            return K
        K = _dense(X).copy() if self._precomputed else np.array(self.kernel(X, X), dtype=np.float64)
        problem = kernel_problem(K)
        if problem:
            raise DataError(
                f"The kernel matrix {problem}; a kernel is a finite symmetric matrix, one row and column per document.",
                code="bad-kernel",
            )
        return K if self._precomputed else normalize_kernel(K, np.diag(K), np.diag(K))

    def _between(self, X: Any, columns: Any) -> np.ndarray:
        if isinstance(self.kernel, StringKernel):
            K, _, self.diagonal = self.kernel.cross_and_diagonals(X, columns, normalize=True)
            return K
        K = np.asarray(self.kernel(X, columns), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise DataError(
                "The kernel function returned NaN or inf; it must return finite numbers.", code="bad-kernel"
            )
        return normalize_kernel(K, self._self_similarity(X), self._self_similarity(columns))

    def _self_similarity(self, X: Any) -> np.ndarray:
        """K(x, x) of each row, in small blocks: a function of two sets of rows gives no cheaper way."""
        n = len(X) if isinstance(X, list) else X.shape[0]
        blocks = [_take(X, np.arange(b.start, b.stop)) for b in row_blocks(n, 64)]
        return np.concatenate([np.diag(np.asarray(self.kernel(block, block), dtype=np.float64)) for block in blocks])

    def _curve(self, K: np.ndarray) -> np.ndarray:
        if not self.use_rbf:
            return K
        self._check_normalised(K)
        return rbf(K)

    def _check_normalised(self, K: np.ndarray) -> None:
        top = float(K.max(initial=0.0))
        if self.use_rbf and top > 1 + 1e-6:
            raise DataError(
                f"The kernel has values up to {top:g}; exp(K − 1) needs a normalised kernel with ones on the diagonal. "
                "Divide by the root of the diagonal on both sides, or set rbf=False.",
                code="bad-kernel",
            )


def lengths_for(language: str) -> tuple[int, int] | str:
    """Lengths of n-grams for texts in a language; "auto" where the language is to be guessed."""
    code = resolve_language(language)
    # A character of an unspaced script says about as much as a syllable or a short word.
    return code if code == "auto" else UNSPACED_LENGTHS if code in IDEOGRAPHIC else SPACED_LENGTHS


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _take(rows: Any, index: np.ndarray) -> Any:
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]


# Beyond the paper: what the recipe uses. The best of 13 settings on shifts simulated inside labelled domains, by the
# labels of each domain alone (docs/measured/strings.md). Settings with more rounds lost there and are not used.
ALIGNED = {"align": "mean", "alpha": 1e-4, "max_iter": 2, "n_added": 0.5}
CALIBRATION_ROWS = 1500  # source rows behind the temperature; more change it little and cost their cube


@parameters
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
        used past ``max_exact`` documents, with a warning.
    max_exact : int or "auto", default="auto"
        Largest number of documents for which the kernel is computed whole. "auto": 12,000 on the CPU, and on a GPU as
        many as its memory holds.
    n_jobs : int, default=1
        Threads of the string kernel.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the kernel and the ridge are computed. "auto": on a GPU where CuPy finds one, there are a few thousand
        documents, and they fit its memory. Needs the extra ``gpu``. Landmarks are always computed on the CPU.
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

    kernel: Any = parameter(StrOptions({*KINDS, "precomputed"}), callable, default="presence", positional=True)
    ngram_range: Any = parameter(Lengths(), StrOptions({"auto"}), default=(5, 8), positional=True)
    lowercase: bool = parameter("boolean", default=True)
    squeeze: bool = parameter("boolean", default=True)
    transductive: bool = parameter("boolean", default=True)
    rbf: bool = parameter("boolean", default=True)
    align: str | None = parameter(StrOptions({"mean", "domain"}), None, default=None)
    classifier: str = parameter(StrOptions({"ridge", "discriminant"}), default="ridge")
    alpha: float = parameter(NON_NEGATIVE, default=1e-5)
    max_iter: int = parameter(FROM_1, default=2)
    n_added: int | float = parameter(FROM_0, SHARE, default=0.5)
    balanced: bool = parameter("boolean", default=False)
    n_landmarks: int | None = parameter(FROM_1, None, default=None)
    max_exact: Any = parameter(FROM_1, StrOptions({"auto"}), default="auto")
    n_jobs: int = parameter(*N_JOBS, default=1)
    device: str = parameter(StrOptions(set(DEVICES)), default="auto")
    random_state: Any = parameter("random_state", default=None)

    @property
    def _row_kind(self) -> str:  # type: ignore[override]  # depends on the kernel; never set
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return "matrix"
        return getattr(self, "_seen_kind", "text")

    @property
    def _sort_rows(self) -> bool:  # type: ignore[override]
        return not (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def fit(self, X, y, sample_domain=None):
        # A callable kernel may compare rows of a matrix as well as texts: what X is decides.
        matrix = sp.issparse(X) or getattr(X, "ndim", 1) == 2
        self._seen_kind = "matrix" if matrix and callable(self.kernel) else "text"
        return super().fit(X, y, sample_domain)

    def _fit(self, domains: Domains) -> np.ndarray:
        r = self._number_to_add(len(domains.target))
        rows = KernelRows.from_settings(self, domains.X)
        xp = self._array_module(rows.kernel, domains, r)
        landmarks = self._landmarks(domains, xp)
        xp = xp if landmarks is None else None
        matrix, linear = rows.fit(domains, landmarks, xp)
        self.alpha_ = self.alpha
        if rows.landmarks is not None:
            self.alpha_ = choose_ridge(matrix[domains.source], domains.source_codes, domains.n_classes, self.alpha)
        # Several rounds use the same inner products again and again: multiply once.
        cached = linear and rows.landmarks is None and self.max_iter > 2 and xp is None
        base: Any
        if xp is None:
            base = GrowingRidge(matrix @ matrix.T if cached else matrix, self.alpha_, linear=linear and not cached)
        else:
            base = DeviceRidge(matrix, self.alpha_, linear=linear, most=len(domains.source) + r)
        base.extend(domains.source)
        self._model = _Model(self.classifier, domains.n_classes, centred=self.align is not None)
        codes = domains.source_codes
        scores = self._model.fit(base, codes).scores(base, domains.target)
        self.first_round_ = domains.restore_targets(self.classes_[scores.argmax(axis=1)])
        self.history_ = [{"round": 1, "trained_on": len(codes), "added": 0, "changed": None}]
        added = np.zeros(0, np.int64)
        rounds = self.max_iter if len(domains.target) and r else 1
        for k in range(2, rounds + 1):
            progress("adapting", k, rounds)
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
        self.ranking_ = domains.order[domains.target[most_confident(scores, len(scores))]]
        self.landmarks_ = None if rows.landmarks is None else np.sort(domains.order[rows.landmarks])
        self.n_iter_ = rounds
        self.termination_condition_ = "rounds_done" if len(domains.target) else "no_target"
        self._rows = rows.keep(self._model.train if not linear else None)
        return scores.argmax(axis=1)

    def _scores(self, X) -> np.ndarray:
        return self._model.finish(self._rows.scores(X, self._model.weights))

    def predict_proba(self, X):
        """Probability of each class for each new target document: softmax of scores times ``inverse_temperature_``."""
        check_is_fitted(self, "inverse_temperature_")
        return softmax(self._scores(self._check_new(X)) * self.inverse_temperature_)

    def prediction_rule(self) -> StringRule | None:
        """What labels new texts; see ``isthmus.classify.rules``. None for other kernels than those of strings."""
        rows, kernel = self._rows, self._rows.kernel
        plain = type(kernel) is StringKernel and rows.root is None and self.classifier == "ridge"
        if not plain:
            return None
        shortest, longest = kernel.ngram_range
        return StringRule(
            kind=kernel.kind,
            lengths=(int(shortest), int(longest)),
            lowercase=kernel.lowercase,
            squeeze=kernel.squeeze,
            n_jobs=kernel.n_jobs,
            texts=rows.columns,
            bend=rows.bend,
            weights=self._model.weights,
            offset=self._model.offset,
            power=self.inverse_temperature_,
        )

    def target_proba(self, X):
        """Probabilities of the fitted target rows, from the scores of the last round."""
        check_is_fitted(self, "inverse_temperature_")
        return softmax(self.target_scores_ * self.inverse_temperature_)

    def decision_function(self, X):
        """Scores of new documents; one column per class, or for two classes the score of the second."""
        check_is_fitted(self, "inverse_temperature_")
        scores = self._scores(self._check_new(X))
        return scores if len(self.classes_) > 2 else (scores[:, 1] - scores[:, 0]) / 2

    def _calibrate(self, base: Any, codes: np.ndarray) -> float:
        subset = np.arange(len(codes))
        if len(subset) > CALIBRATION_ROWS:
            subset = subset[np.linspace(0, len(subset) - 1, CALIBRATION_ROWS).astype(int)]
        held_out = self._model.responses(codes[subset])
        return fit_temperature(self._model.finish(base.held_out_scores(subset, held_out)), codes[subset])

    def _array_module(self, kernel: Any, domains: Domains, r: int) -> Any:
        """CuPy where the kernel is computed whole and on a GPU, otherwise None; refuses what does not fit one."""
        n = domains.n_rows
        most = n if self.max_exact == "auto" else self.max_exact
        if n > most or (self.n_landmarks is not None and self.n_landmarks < n):
            return None
        xp = array_module(self.device, n)
        if xp is None:
            return None
        needed = solve_bytes(n, len(domains.source) + r, 8)
        if isinstance(kernel, StringKernel):
            lo, hi = kernel.ngram_range
            symbols = sum(map(len, domains.X))
            itemsize = 4 if kernel.kind == "spectrum" else 2
            counting = n * n * itemsize + gram_bytes(n, symbols, hi - lo + 1)
            needed = max(counting, solve_bytes(n, len(domains.source) + r, itemsize))
        return xp if has_memory(xp, needed, f"The exact method for {n:,} documents", self.device) else None

    def _landmarks(self, domains: Domains, xp: Any = None) -> np.ndarray | None:
        wanted = self.n_landmarks
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return None
        if wanted is None:
            most = MOST_EXACT if self.max_exact == "auto" else self.max_exact
            if domains.n_rows <= most or xp is not None:
                return None
            wanted = LANDMARKS
            if wanted < domains.n_rows:
                warn(
                    f"{domains.n_rows:,} documents are more than max_exact={most:,}; each is compared with "
                    f"{wanted:,} landmark documents instead of with all. Set n_landmarks or max_exact to choose.",
                    code="approximation",
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
