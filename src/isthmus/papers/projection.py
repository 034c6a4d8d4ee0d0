"""Term projection as its paper prints it (Zheng, Liu, Teng and Sun, AIRS 2009).

The paper leaves three choices open. The formula that combines the discriminability with the term frequency is lost:
a term occurrence counts PRmax. The probability ratio divides by zero for a term of one class: half a document is added
to both sides. With two classes, χ² is the same for both: the term goes to the class with which its association is
positive, as in the paper's binary example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.calibration import fit_temperature
from isthmus._utils import warn
from isthmus.base import Domains, TransferClassifier
from isthmus.classify.projection.classifier import TEMPERATURES
from isthmus.classify.rules import ProjectionRule, class_shares

PURITY = 0.5  # θ: share of χ²total that χ²max must reach
ADDED = 0.5  # documents added to both sides of the probability ratio
_TIE = 1e-9  # relative difference below which two χ² values are equal except for rounding
_FOLDS = 5  # every fifth source document is held out to fit the temperature of the probabilities


def class_sums(X: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the sum of the rows of each class, terms × classes: A of Eq. 1 when ``X`` holds occurrences."""
    rows = np.arange(len(codes))
    members = sp.csr_matrix((np.ones(len(codes)), (rows, codes)), shape=(len(codes), n_classes))
    return (X.T @ members).toarray()


def cross_product(A: np.ndarray) -> np.ndarray:
    """Return AD − BC for every term and class; it is positive where the association is positive."""
    B, C = A.sum(axis=1, keepdims=True) - A, A.sum(axis=0) - A
    return A * (A.sum() - A - B - C) - B * C


def chi_square(A: np.ndarray) -> np.ndarray:
    """Return χ²(t, c) = N(AD − BC)² / ((A+C)(B+D)(A+B)(C+D)) (Eq. 1), counted on occurrences."""
    N, of_term, of_class = A.sum(), A.sum(axis=1, keepdims=True), A.sum(axis=0)
    below = of_class * (N - of_class) * of_term * (N - of_term)
    return np.divide(N * cross_product(A) ** 2, below, out=np.zeros_like(A), where=below > 0)


def project_terms(A: np.ndarray) -> np.ndarray:
    """Return the class of each term: that of χ²max (Eq. 2) if χ²max ≥ θ·χ²total (Eq. 3), otherwise -1."""
    chi2 = chi_square(A)
    largest, total = chi2.max(axis=1), chi2.sum(axis=1)
    nearest = chi2.argmax(axis=1)
    if A.shape[1] == 2:
        nearest = cross_product(A).argmax(axis=1)
    return np.where((largest > 0) & (largest >= (PURITY - _TIE) * total), nearest, -1).astype(np.int32)


def probability_ratios(df: np.ndarray, class_documents: np.ndarray) -> np.ndarray:
    """Return PR(t, c) = [df(t, c) / df(c)] / [df(t, ¬c) / df(¬c)] (section 4.1)."""
    inside = (df + ADDED) / (class_documents + 2 * ADDED)
    others = df.sum(axis=1, keepdims=True) - df, class_documents.sum() - class_documents
    return inside / ((others[0] + ADDED) / (others[1] + 2 * ADDED))


def document_features(X: sp.csr_matrix, term_class: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Return feature i of each document: the sum of tf(t, d)·PRmax(t) over the terms of class i."""
    terms = np.flatnonzero(term_class >= 0)
    shape = len(term_class), n_classes
    return np.asarray((X @ sp.csr_matrix((weight[terms], (terms, term_class[terms])), shape)).todense())


def warn_of_ties(chi2: np.ndarray) -> None:
    """Warn about terms whose χ²max belongs to several of three or more classes."""
    largest = chi2.max(axis=1)
    tied = int(np.sum((largest > 0) & (np.sum(chi2 >= (1 - _TIE) * largest[:, None], axis=1) > 1)))
    if tied:
        warn(
            f"{tied:,} of {len(chi2):,} terms have the same largest χ² with several classes; each goes to the first "
            'of them in sorted order. Use method "projection", which compares positive associations only.',
            code="tied-classes",
        )


class LiteralTermProjection(TransferClassifier):
    """Label documents by the rule of the paper: the class with the largest feature. The target changes nothing.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Unused; all classifiers of the package accept it.

    Attributes
    ----------
    term_class_ : ndarray of int
        Position in ``classes_`` of the class of each term; -1 for terms that are left out.
    term_weight_ : ndarray of float
        PRmax of each term.
    """

    _row_kind = "counts"
    _parameter_constraints = {"random_state": ["random_state"]}

    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def _fit(self, domains: Domains) -> None:
        X, codes = sp.csr_matrix(domains.rows(domains.source)), domains.source_codes
        n_classes = len(self.classes_)
        documents = np.bincount(codes, minlength=n_classes).astype(float)
        self.prior_ = (documents + 1) / (documents + 1).sum()
        self.n_iter_, self.termination_condition_ = 1, "one_pass"
        self.history_: list[dict] = []
        if n_classes > 2:
            warn_of_ties(chi_square(class_sums(X, codes, n_classes)))
        self.term_class_, self.term_weight_ = self._project(X, codes)
        # The paper has no probabilities. Softmax of the features' shares, times one factor that a fold unseen by its
        # projection determines.
        fold = np.arange(len(codes)) % _FOLDS == 0
        seen = self.term_class_, self.term_weight_
        if len(codes) >= 2 * _FOLDS:
            seen = self._project(X[~fold], codes[~fold])
        else:
            fold[:] = True
        shares = class_shares(document_features(X[fold], *seen, n_classes))
        self.inverse_temperature_ = fit_temperature(shares, codes[fold], bounds=TEMPERATURES)

    def _project(self, X: sp.csr_matrix, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_classes = len(self.classes_)
        documents = np.bincount(codes, minlength=n_classes).astype(float)
        ratios = probability_ratios(class_sums(X > 0, codes, n_classes), documents)
        return project_terms(class_sums(X, codes, n_classes)), ratios.max(axis=1)

    def features(self, X: Any) -> np.ndarray:
        """Return one feature per class for each row of counts."""
        X = sp.csr_matrix(self._check_new(X))
        return document_features(X, self.term_class_, self.term_weight_, len(self.classes_))

    def prediction_rule(self) -> ProjectionRule:
        """Return the arrays that label new documents."""
        return ProjectionRule(self.term_class_, self.term_weight_, self.inverse_temperature_, self.prior_)
