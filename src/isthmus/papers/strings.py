"""Transductive string kernels as printed: Ionescu and Butnaru, ICONIP 2018.

The paper does not number its formulas in the text that we have; the numbers below count them in their order of
appearance (section 3). That text has lost the ridge and the number of added documents. This file uses α = 1e-5 and half
of the target, which are the readings of the benchmark records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from isthmus._math.calibration import fit_temperature
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.rules import KernelBend, StringRule
from isthmus.classify.strings.classifier import CALIBRATION_ROWS, lengths_for
from isthmus.classify.strings.ridge import leave_one_out
from isthmus.features.languages import guess_language
from isthmus.features.strings import StringKernel

ALPHA = 1e-5  # ridge of the kernel classifier
ADDED = 0.5  # share of the target documents that join the second round


def rbf_kernel(normalised: np.ndarray) -> np.ndarray:
    """Return the RBF kernel exp(K̂ − 1) of a normalised kernel (formula 4)."""
    return np.exp(normalised - 1.0)


def transductive_kernel(rbf: np.ndarray) -> np.ndarray:
    """Return K̄·K̄ᵀ, whose features are the similarities with all documents of both domains (formula 5)."""
    return rbf @ rbf.T


def one_against_all(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return one column of responses per class: +1 for its documents, −1 for all others."""
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def dual_weights(kernel: np.ndarray, train: np.ndarray, responses: np.ndarray, alpha: float = ALPHA) -> np.ndarray:
    """Return the weights of kernel ridge regression on the training documents (Algorithm 1, step 27)."""
    system = kernel[np.ix_(train, train)]
    system[np.diag_indices(len(train))] += alpha
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, responses, check_finite=False)


def most_confident(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the rows with the largest winning scores, the largest first (Algorithm 1, steps 31 to 34)."""
    return np.argsort(-scores.max(axis=1), kind="stable")[:count]


def two_rounds(
    kernel: np.ndarray,
    source: np.ndarray,
    codes: np.ndarray,
    target: np.ndarray,
    n_classes: int,
    *,
    alpha: float = ALPHA,
    added: float = ADDED,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train on the source, add confident target documents with their predicted labels, and train again (Algorithm 1).

    Parameters
    ----------
    kernel : ndarray of shape (n_documents, n_documents)
        Kernel between all documents.
    source, target : ndarray of int
        Row numbers of the labelled and of the unlabelled documents.
    codes : ndarray of int
        Class numbers of the source documents.
    n_classes : int
    alpha, added : float
        Ridge, and the share of the target documents that join the second round.

    Returns
    -------
    first, second : ndarray of shape (n_target, n_classes)
        Scores of the target documents after each round.
    train : ndarray of int
        Row numbers of the training documents of the second round.
    weights : ndarray
        Their dual weights.
    """
    weights = dual_weights(kernel, source, one_against_all(codes, n_classes), alpha)
    first = kernel[np.ix_(target, source)] @ weights
    chosen = most_confident(first, round(added * len(target)))
    if not len(chosen):
        return first, first, source, weights
    train = np.concatenate([source, target[chosen]])
    known = np.concatenate([codes, first.argmax(axis=1)[chosen]])
    weights = dual_weights(kernel, train, one_against_all(known, n_classes), alpha)
    return first, kernel[np.ix_(target, train)] @ weights, train, weights


def temperature(kernel: np.ndarray, source: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Return the factor that turns scores into probabilities, from left-out source documents; not in the paper."""
    held = np.arange(len(source))
    if len(held) > CALIBRATION_ROWS:
        held = held[np.linspace(0, len(held) - 1, CALIBRATION_ROWS).astype(int)]
    own = kernel[np.ix_(source[held], source[held])]
    return fit_temperature(leave_one_out(own, one_against_all(codes[held], n_classes), ALPHA), codes[held])


class LiteralStringKernels(TransferClassifier):
    """Transductive kernel classifier (TKC) as printed, for the method ``strings-paper``.

    The kernel between all documents is held whole, and so is its product with itself. Probabilities and labels of new
    documents are not in the paper: they come from a temperature fitted on left-out source documents, and from the
    similarities of a new document with the fitted ones.

    Parameters
    ----------
    kernel : {"presence", "intersection", "spectrum"}, default="presence"
        Kind of string kernel.
    ngram_range : (int, int) or "auto", default="auto"
        Lengths of n-grams. "auto" takes the paper's 5 to 8 characters, and 1 to 4 for Chinese and Japanese.

    Attributes
    ----------
    first_round_ : ndarray
        Labels of the target rows after the first round.
    target_scores_ : ndarray of shape (n_target, n_classes)
        Scores of the target rows after the second round.

    See Also
    --------
    isthmus.TransductiveKernelClassifier : The method with our improvements.
    """

    _row_kind = "text"

    def __init__(self, *, kernel="presence", ngram_range="auto"):
        self.kernel = kernel
        self.ngram_range = ngram_range

    def _fit(self, domains: Domains) -> np.ndarray:
        lengths: Any = self.ngram_range
        if lengths == "auto":
            lengths = lengths_for(guess_language(domains.X))
        strings = StringKernel(self.kernel, ngram_range=lengths)
        normalised, self._diagonal = strings.gram_and_diagonal(domains.X, normalize=True)
        rbf = rbf_kernel(normalised)
        K = transductive_kernel(rbf)
        source, codes, target = domains.source, domains.source_codes, domains.target
        first, second, train, weights = two_rounds(K, source, codes, target, domains.n_classes)
        self.inverse_temperature_ = temperature(K, source, codes, domains.n_classes)
        self.first_round_ = domains.restore_targets(self.classes_[first.argmax(axis=1)])
        self.target_scores_ = domains.restore_targets(second)
        self.n_iter_ = 2
        self.history_ = [{"round": 1, "trained_on": len(source)}, {"round": 2, "trained_on": len(train)}]
        self.termination_condition_ = "rounds_done"
        self._rule = StringRule(
            kind=strings.kind,
            lengths=lengths,
            lowercase=strings.lowercase,
            squeeze=strings.squeeze,
            n_jobs=strings.n_jobs,
            texts=domains.X,
            bend=KernelBend(),
            weights=rbf[train].T @ weights,
            offset=np.zeros(domains.n_classes),
            power=self.inverse_temperature_,
            diagonal=self._diagonal,
        )
        return second.argmax(axis=1)

    def prediction_rule(self) -> StringRule:
        """Return the arrays and settings that label new texts."""
        return self._rule

    def target_proba(self, X):
        """Return probabilities of the fitted target rows, from the scores of the second round."""
        return softmax(self.target_scores_ * self.inverse_temperature_)
