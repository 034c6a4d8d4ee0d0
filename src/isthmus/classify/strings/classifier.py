"""Transductive kernel classifier: a kernel between texts, adapted to the target by its own documents."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isthmus._math.calibration import fit_temperature
from isthmus._progress import progress
from isthmus._utils import warn
from isthmus.base import (
    FROM_1,
    N_JOBS,
    POSITIVE,
    SHARE,
    Domains,
    Interval,
    Lengths,
    StrOptions,
    TransferClassifier,
    row_blocks,
    softmax,
)
from isthmus.classify.rules import KernelBend, StringRule
from isthmus.classify.strings.kernels import CallableKernel, KernelRule, PrecomputedKernel, check_kernel
from isthmus.classify.strings.ridge import (
    as_run,
    choose_ridge,
    indicator,
    leave_one_out,
    most_confident,
    rbf,
    solve_ridge,
)
from isthmus.features.gram import KINDS
from isthmus.features.gram_gpu import DEVICES
from isthmus.features.languages import IDEOGRAPHIC, guess_language, resolve_language
from isthmus.features.strings import StringKernel

SPACED_LENGTHS, UNSPACED_LENGTHS = (5, 8), (1, 4)
LANDMARKS = 2000  # documents that all others are compared with if there are more than max_exact
BLOCK = 4_096  # documents compared with the landmarks in one go; every block sorts the landmarks again
CALIBRATION_ROWS = 1500  # source rows behind the temperature; more change it little and cost their cube


def lengths_for(language: str) -> tuple[int, int] | str:
    """Return the lengths of n-grams for texts in a language; "auto" if the language is to be guessed.

    Parameters
    ----------
    language : str

    Returns
    -------
    tuple of int, or "auto"
    """
    code = resolve_language(language)
    # A character of an unspaced script carries about as much information as a syllable or a short word.
    return code if code == "auto" else UNSPACED_LENGTHS if code in IDEOGRAPHIC else SPACED_LENGTHS


class TransductiveKernelClassifier(TransferClassifier):
    """Kernel ridge regression on a kernel adapted to the target, with a second round on confident target documents.

    The kernel between all documents, source and target, is normalised and turned into exp(K̂ − 1); each row of it is
    then a document's feature vector, so that target documents shape the features. The mean row is subtracted, which
    gives the ridge an intercept. The classifier is trained on the source, labels the target, adds the most confident
    target documents to its training documents, and labels the target again (Ionescu and Butnaru 2018, Algorithm 1).

    It assumes that the two domains share stretches of characters (the same language or script) and that the first round
    is mostly right about the documents with the largest scores. Otherwise the second round repeats the error: compare
    with ``max_iter=1``.

    Parameters
    ----------
    kernel : {"presence", "intersection", "spectrum", "precomputed"}, StringKernel or callable
        "precomputed": ``X`` is the normalised kernel between all rows, and for new documents their kernel with the
        fitted rows. A callable gets two sets of rows and returns their kernel; rows may then be texts or a matrix.
    ngram_range : (int, int) or "auto", default=(5, 8)
        As for :class:`isthmus.StringKernel`, if ``kernel`` is a name; "auto" is (5, 8), or (1, 4) for texts in Chinese
        or Japanese.
    alpha : float, default=1e-4
        Ridge. With landmarks, larger ones are tried on held-out source documents; ``alpha_`` is the one that was used.
    max_iter : {1, 2}, default=2
        Number of rounds; 1 adds no target documents.
    n_added : float, default=0.5
        Share of the target documents that join the second round.
    n_landmarks : int or None, default=None
        Compare every document with this many landmark documents instead of with all. If omitted, 2,000 landmarks are
        used for more than ``max_exact`` documents, with a warning.
    max_exact : int, default=12000
        Largest number of documents for which the kernel is computed whole.
    n_jobs : int, default=1
        Threads of the string kernel.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Device of the string kernel, see :class:`isthmus.StringKernel`. The ridge is computed on the CPU.
    random_state : int, RandomState or None, default=None
        Draws landmarks; the exact method does not use it.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_`` has one dict per round: training documents, added documents, target labels that changed.
    added_ : ndarray of int
        Rows of the target documents in the second round, the most confident first.
    first_round_ : ndarray
        Labels of the target rows after the first round.
    target_scores_ : ndarray of shape (n_target, n_classes)
        Final scores of the target rows, in row order.
    inverse_temperature_ : float
        Factor that turns scores into probabilities, from leave-one-out scores on source rows.
    landmarks_ : ndarray of int or None
        Rows used as landmarks.

    See Also
    --------
    isthmus.StringKernel : The kernel.
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
    >>> model = TransductiveKernelClassifier(ngram_range=(2, 4), max_iter=1).fit(texts, labels)
    >>> model.transduction_[-2:].tolist()
    ['staff', 'product']
    >>> model.predict(["the staff"]).tolist()
    ['staff']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "kernel": [StrOptions({*KINDS, "precomputed"}), callable],
        "ngram_range": [Lengths(), StrOptions({"auto"})],
        "alpha": [POSITIVE],
        "max_iter": [Interval(Integral, 1, 2, closed="both")],
        "n_added": [SHARE],
        "n_landmarks": [FROM_1, None],
        "max_exact": [FROM_1],
        "n_jobs": N_JOBS,
        "device": [StrOptions(set(DEVICES))],
        "random_state": ["random_state"],
    }

    # Defaults: the best of 13 settings on shifts simulated inside labelled domains (docs/measured/strings.md).
    def __init__(
        self,
        kernel="presence",
        ngram_range=(5, 8),
        *,
        alpha=1e-4,
        max_iter=2,
        n_added=0.5,
        n_landmarks=None,
        max_exact=12_000,
        n_jobs=1,
        device="auto",
        random_state=None,
    ):
        self.kernel = kernel
        self.ngram_range = ngram_range
        self.alpha = alpha
        self.max_iter = max_iter
        self.n_added = n_added
        self.n_landmarks = n_landmarks
        self.max_exact = max_exact
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state

    @property
    def _row_kind(self) -> str:  # type: ignore[override]  # depends on the kernel; never set
        return "matrix" if not self._sort_rows else getattr(self, "_seen_kind", "text")

    @property
    def _sort_rows(self) -> bool:  # type: ignore[override]
        return not (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def fit(self, X, y, sample_domain=None):
        """Fit texts, rows of a matrix, or a precomputed kernel.

        Parameters
        ----------
        X : sequence of str, ndarray or sparse matrix
        y : array-like of shape (n_rows,)
            Labels of the source rows; None for target rows.
        sample_domain : array-like of int of shape (n_rows,), optional
            Domain of each row.

        Returns
        -------
        self
        """
        # A callable kernel may compare rows of a matrix as well as texts: the type of X decides.
        matrix = sp.issparse(X) or getattr(X, "ndim", 1) == 2
        self._seen_kind = "matrix" if matrix and callable(self.kernel) else "text"
        return super().fit(X, y, sample_domain)

    def _kernel_for(self, X: Any) -> Any:
        if isinstance(self.kernel, StringKernel):
            return self.kernel
        if callable(self.kernel):
            return CallableKernel(self.kernel)
        if self.kernel == "precomputed":
            return PrecomputedKernel()
        lengths: Any = self.ngram_range
        if isinstance(lengths, str):
            lengths = lengths_for(guess_language(X))
        return StringKernel(self.kernel, ngram_range=lengths, n_jobs=self.n_jobs, device=self.device)

    def _fit(self, domains: Domains) -> np.ndarray:
        kernel = self._kernel_for(domains.X)
        landmarks = self._landmarks(domains)
        columns = domains.X if landmarks is None else domains.rows(landmarks)
        strings = isinstance(kernel, StringKernel)
        if landmarks is not None:
            rows = np.empty((domains.n_rows, len(landmarks)))
            for block in row_blocks(domains.n_rows, BLOCK):
                texts = domains.rows(np.arange(block.start, block.stop))
                rows[block] = kernel.cross(texts, columns, normalize=True)
                progress("comparing texts", block.stop, domains.n_rows)
            self._diagonal = kernel.cross_and_diagonals(columns[:1], columns)[2] if strings else None
        elif strings:
            rows, self._diagonal = kernel.gram_and_diagonal(columns, normalize=True)
        else:
            rows = kernel.gram(columns)
        rbf(check_kernel(rows))
        centre = rows.mean(axis=0)
        rows -= centre
        # Mean squared length one: the ridge means the same for every kernel.
        length = float(np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows))) or 1.0
        rows /= length
        source, codes, target = domains.source, domains.source_codes, domains.target
        self.alpha_ = self.alpha
        if landmarks is not None:
            self.alpha_ = choose_ridge(rows[source], codes, domains.n_classes, self.alpha)
        count = round(self.n_added * len(target))
        rounds = self.max_iter if count else 1
        train, known, added = source, codes, np.zeros(0, np.int64)
        self.history_ = []
        first = np.zeros(0, np.int64)
        for number in range(1, rounds + 1):
            Y = indicator(known, domains.n_classes)
            # Centred rows cannot express a constant, and with many classes the mean response is far from zero.
            offset = Y.mean(axis=0)
            weights = solve_ridge(rows, train, Y - offset, self.alpha_)
            scores = (rows @ weights)[target] + offset
            labels = scores.argmax(axis=1)
            changed = None if number == 1 else int(np.sum(labels != first))
            self.history_.append({"round": number, "trained_on": len(train), "added": len(added), "changed": changed})
            if number == 1:
                first, added = labels, most_confident(scores, count if rounds > 1 else 0)
                train, known = np.concatenate([source, target[added]]), np.concatenate([codes, labels[added]])
                progress("adapting", 2, 2)
        self.first_round_ = domains.restore_targets(self.classes_[first])
        self.added_ = domains.order[target[added]]
        self.target_scores_ = domains.restore_targets(scores)
        self.inverse_temperature_ = self._temperature(rows[as_run(source)], codes, offset)
        self.landmarks_ = None if landmarks is None else np.sort(domains.order[landmarks])
        self.n_iter_ = rounds
        self.termination_condition_ = "rounds_done" if len(target) else "no_target"
        bend, power = KernelBend(centre, length), self.inverse_temperature_
        if strings:
            shortest, longest = (int(n) for n in kernel.ngram_range)
            assert self._diagonal is not None
            self._rule: Any = StringRule(
                kind=kernel.kind,
                lengths=(shortest, longest),
                lowercase=kernel.lowercase,
                squeeze=kernel.squeeze,
                n_jobs=kernel.n_jobs,
                texts=columns,
                bend=bend,
                weights=weights,
                offset=offset,
                power=power,
                diagonal=self._diagonal,
            )
        else:
            kept = None if isinstance(kernel, PrecomputedKernel) and not self._sort_rows else columns
            self._rule = KernelRule(kernel, kept, bend, weights, offset, power)
        return labels

    def _temperature(self, rows: np.ndarray, codes: np.ndarray, offset: np.ndarray) -> float:
        held = np.arange(len(codes))
        if len(held) > CALIBRATION_ROWS:
            held = held[np.linspace(0, len(held) - 1, CALIBRATION_ROWS).astype(int)]
        responses = indicator(codes[held], len(offset)) - offset
        left_out = leave_one_out(rows[held] @ rows[held].T, responses, self.alpha_)
        return fit_temperature(left_out + offset, codes[held])

    def prediction_rule(self) -> StringRule | KernelRule:
        """Return the arrays and settings that label new texts; see ``isthmus.classify.rules``.

        Returns
        -------
        StringRule or KernelRule
        """
        return self._rule

    def target_proba(self, X):
        """Return probabilities of the fitted target rows, from the scores of the last round.

        Parameters
        ----------
        X : object
            Unused.

        Returns
        -------
        ndarray of shape (n_target, n_classes)
        """
        check_is_fitted(self, "inverse_temperature_")
        return softmax(self.target_scores_ * self.inverse_temperature_)

    def decision_function(self, X):
        """Return scores of new documents: a column per class, or for two classes the score of the second.

        Parameters
        ----------
        X : sequence of str, ndarray or sparse matrix

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self, "inverse_temperature_")
        scores = self._scores(self._check_new(X)) / self.inverse_temperature_
        return scores if len(self.classes_) > 2 else (scores[:, 1] - scores[:, 0]) / 2

    def _landmarks(self, domains: Domains) -> np.ndarray | None:
        wanted = self.n_landmarks
        if not self._sort_rows or (wanted is None and domains.n_rows <= self.max_exact):
            return None
        if wanted is None:
            wanted = LANDMARKS
            if wanted < domains.n_rows:
                warn(
                    f"{domains.n_rows:,} documents are too many to compare all with each other; each is compared with "
                    f"{wanted:,} of them instead. The parameter n_landmarks changes this number.",
                    code="approximation",
                )
        if wanted >= domains.n_rows:
            return None
        rng = check_random_state(self.random_state)
        # Half of them target documents: the features must know both domains, whatever their sizes.
        target = rng.permutation(domains.target)[: max(wanted // 2, wanted - (domains.n_rows - len(domains.target)))]
        others = np.setdiff1d(np.arange(domains.n_rows), domains.target)
        return np.sort(np.concatenate([target, rng.permutation(others)[: wanted - len(target)]]))
