"""Validate the input of every estimator: find source and target rows, and mask target labels.

Every estimator passes its rows to :func:`check_transfer_data`. No other code reads ``sample_domain``. The function
masks the labels of target rows before a method can use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils._param_validation import Options as Options
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils.validation import check_is_fitted

from isthmus._math.content import content_order
from isthmus._math.rows import row_blocks as row_blocks  # for authors of estimators
from isthmus._math.rows import softmax as softmax
from isthmus._validation import UNLABELLED, check_rows, find_classes, label_array, mask_target, read_domain, read_labels
from isthmus.exceptions import DataError, UsageError

SOURCE, TARGET = 1, -2  # domain numbers if sample_domain is omitted (the defaults of skada)
# Domain number of target rows that a person has labelled. It is positive, so methods use the label; the labels of all
# rows with negative numbers are masked.
ANSWERED = 1_000_000


# Allowed ranges that parameters of many estimators share
FROM_0 = Interval(Integral, 0, None, closed="left")
FROM_1 = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
N_JOBS = [Options(Integral, {-1}), FROM_1]  # threads: -1 for all cores


class Lengths(Options):  # scikit-learn accepts only subclasses of its own constraints
    """Allow a pair of whole numbers from 1, the smaller number first."""

    def __init__(self) -> None:
        """Create the constraint; it has no settings."""
        super().__init__(tuple, set())

    def is_satisfied_by(self, value: Any) -> bool:
        """Return whether a value is such a pair.

        Parameters
        ----------
        value : object

        Returns
        -------
        bool
        """
        pair = isinstance(value, (tuple, list)) and len(value) == 2
        whole = pair and all(FROM_1.is_satisfied_by(n) and not isinstance(n, (bool, np.bool_)) for n in value)
        return whole and value[0] <= value[1]

    def __str__(self) -> str:
        """Describe the allowed values for an error message."""
        return "two lengths, the shorter one first, such as (1, 2)"


def check_parameters(estimator: Any) -> None:
    """Refuse a parameter whose value is not in the estimator's table of allowed values.

    Parameters
    ----------
    estimator : estimator
        Its class has the table ``_parameter_constraints``, as the estimators of scikit-learn have.

    Raises
    ------
    UsageError
        With the code ``bad-parameter``.

    Examples
    --------
    >>> from isthmus import CoClusteringClassifier
    >>> check_parameters(CoClusteringClassifier(n_init=3))
    >>> check_parameters(CoClusteringClassifier(n_init=0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    isthmus.exceptions.UsageError: The 'n_init' parameter of CoClusteringClassifier must be an int ... Got 0 instead.
    """
    table = type(estimator)._parameter_constraints
    values = {name: getattr(estimator, name) for name in table}
    try:
        validate_parameter_constraints(table, values, caller_name=type(estimator).__name__)
    except InvalidParameterError as error:
        raise UsageError(str(error), code="bad-parameter") from None
    for name, value in values.items():
        # Python treats True as the number 1, but True as a number of iterations is a mistake.
        if isinstance(value, (bool, np.bool_)) and "boolean" not in table[name]:
            raise refusal(estimator, name, "a value that is not a boolean")


def refusal(estimator: Any, name: str, expected: str) -> UsageError:
    """Return the error for a parameter that does not suit the data or another parameter.

    Parameters
    ----------
    estimator : estimator
        The estimator with the parameter.
    name : str
        Name of the parameter.
    expected : str
        Description of the expected value.

    Returns
    -------
    UsageError
    """
    shown = f"{getattr(estimator, name)!r:.60}"
    return UsageError(f"{type(estimator).__name__} got {name}={shown}; expected {expected}.", code="bad-parameter")


@dataclass(frozen=True)
class Domains:
    """Hold the data that a method may use: rows, masked labels and domains.

    Attributes
    ----------
    X : CSR matrix, ndarray or list of str
        All rows, in the caller's order or in content order (:meth:`in_content_order`).
    codes : ndarray of int
        Position of each row's label in ``classes``; -1 for every target row and for unlabelled source rows.
    domain : ndarray of int
        Positive for source domains, negative for target domains.
    classes : ndarray
        Sorted labels of the labelled source rows (and of ``extra_classes``).
    order : ndarray of int
        Number of each row in the caller's order.
    source, target, unlabelled_source : ndarray of int
        Row numbers: labelled source rows, target rows, source rows without a label.

    See Also
    --------
    isthmus.base.check_transfer_data : Validates rows, labels and domains and returns this object.
    """

    X: Any
    codes: np.ndarray
    domain: np.ndarray
    classes: np.ndarray
    order: np.ndarray

    @cached_property
    def source(self) -> np.ndarray:
        """Numbers of the labelled source rows."""
        return np.flatnonzero(self.codes != UNLABELLED)

    @cached_property
    def target(self) -> np.ndarray:
        """Numbers of the target rows."""
        return np.flatnonzero(self.domain < 0)

    @cached_property
    def unlabelled_source(self) -> np.ndarray:
        """Numbers of the source rows without a label."""
        return np.flatnonzero((self.domain > 0) & (self.codes == UNLABELLED))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def source_codes(self) -> np.ndarray:
        """Class codes of the labelled source rows."""
        return self.codes[self.source]

    @property
    def answered(self) -> np.ndarray:
        """Numbers of the target rows that a person has labelled (``ANSWERED``); they are part of ``source``."""
        return self.source[self.domain[self.source] == ANSWERED]

    @property
    def source_domains(self) -> np.ndarray:
        """Domain numbers of the labelled source rows, sorted and unique."""
        return np.unique(self.domain[self.source])

    def rows(self, index: np.ndarray) -> Any:
        """Return some rows of ``X``.

        Parameters
        ----------
        index : ndarray of int
            Row numbers.

        Returns
        -------
        list of str, csr_matrix or ndarray
            Of the type of ``X``.
        """
        if isinstance(self.X, list):
            return [self.X[i] for i in index]
        return self.X[index]

    def in_content_order(self) -> Domains:
        """Return the same rows, sorted by a hash of their contents.

        Random draws, floating-point sums and ties then depend only on the contents: the result is the same, bit for
        bit, for every order of the caller's rows. :meth:`restore_rows`, :meth:`restore_targets` and ``order[numbers]``
        return to the caller's order.

        Returns
        -------
        Domains
        """
        order = content_order(self.X, self.domain, self.codes)
        return Domains(self.rows(order), self.codes[order], self.domain[order], self.classes, self.order[order])

    def restore_rows(self, values: Any) -> Any:
        """Return one value per row in the caller's order.

        Parameters
        ----------
        values : ndarray of shape (n_rows, ...)
            In the order of this object.

        Returns
        -------
        ndarray of shape (n_rows, ...)
        """
        return values[np.argsort(self.order)]

    def restore_targets(self, values: Any) -> Any:
        """Return one value per target row in the caller's order.

        Parameters
        ----------
        values : ndarray of shape (n_target_rows, ...)
            In the order of this object.

        Returns
        -------
        ndarray of shape (n_target_rows, ...)
        """
        return values[np.argsort(self.order[self.target])]


def check_transfer_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_domain: Any = None,
    *,
    kind: str = "matrix",
    extra_classes: Iterable | None = None,
    need_overlap: bool = True,
    min_classes: int = 2,
    reset: bool = True,
) -> Domains:
    """Validate rows, labels and domains, and mask the labels of target rows.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set.
    X : sparse matrix, ndarray or sequence of str
        Rows of all domains.
    y : array-like
        Labels; unlabelled is -1 for integers, and None or NaN otherwise.
    sample_domain : array-like of int, optional
        Positive for source rows, negative for target rows. If omitted, unlabelled rows are target rows. If no row is
        unlabelled either, there is no target and the method is trained on the source only, as the tools of scikit-learn
        expect of a classifier.
    kind : {"matrix", "counts", "text"}
        Expected content of ``X``. "counts" also refuses negative entries.
    extra_classes : iterable, optional
        Classes from other sources, such as labelled words. With them, source labels may be missing.
    need_overlap : bool
        Refuse sparse source and target rows without a shared column, because labels transfer through shared words.
    min_classes : int
        Smallest number of classes in the source labels; 1 leaves the check to the caller.
    reset : bool
        Passed to scikit-learn's ``validate_data``.

    Returns
    -------
    Domains

    Raises
    ------
    DataError
        The rows, the labels or the domains are not valid.
    """
    X = check_rows(estimator, X, kind=kind, reset=reset)
    n = len(X) if isinstance(X, list) else X.shape[0]
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; give one label per row, "
            "-1 or None where it is unknown.",
            code="no-labels",
        )
    y = label_array(y)
    if len(y) != n:
        raise DataError(
            f"X has {n} rows and y has {len(y)} labels; give one label per row, -1 or None where unknown.",
            code="length-mismatch",
        )
    if sample_domain is None:
        values, known = read_labels(y)
        domain = np.where(known, SOURCE, TARGET)
    else:
        domain = read_domain(sample_domain, n)
        # Masking comes first, so that target labels of an odd type cannot cause an error.
        values, known = read_labels(mask_target(y, domain))
    if sample_domain is not None and not np.any(domain < 0):
        raise DataError(
            f"All {n} rows are marked as source in sample_domain; mark the rows to be labelled with a negative number.",
            code="no-target",
        )
    visible = known & (domain > 0)
    extras = list(extra_classes) if extra_classes is not None else []
    classes = find_classes(values[visible], extras, min_classes)
    codes = np.full(n, UNLABELLED, dtype=np.int64)
    codes[visible] = np.searchsorted(classes, values[visible])
    domains = Domains(X, codes, domain, classes, np.arange(n))
    if need_overlap and not isinstance(X, list) and len(domains.source) and len(domains.target):
        _check_overlap(domains)
    return domains


def _check_overlap(domains: Domains) -> None:
    source, target = (_columns_in_use(domains.X[rows]) for rows in (domains.source, domains.target))
    if len(target) and not len(np.intersect1d(source, target, assume_unique=True)):
        own, theirs = (f"{len(side):,} {'word' if len(side) == 1 else 'words'}" for side in (target, source))
        raise DataError(
            f"Target shares 0 of its {own} with the source ({theirs}); labels travel on "
            "shared words. Check that both are in the same language, or try method='strings', which reads characters.",
            code="no-shared-words",
        )


def _columns_in_use(rows: Any) -> np.ndarray:
    """Return the numbers of the columns with a non-zero entry."""
    if sp.issparse(rows):
        used = np.zeros(rows.shape[1], dtype=bool)
        used[rows.indices[rows.data != 0]] = True
        return np.flatnonzero(used)
    return np.flatnonzero((rows != 0).any(axis=0))


class TransferClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers that carry labels from source rows to target rows.

    A subclass sets ``_row_kind`` and defines two methods. ``_fit(domains)`` stores fitted attributes and returns the
    class codes of the target rows, or None if the largest scores decide. ``_scores(X)`` returns one score per row and
    class; larger is better. The subclass inherits input validation, ``transduction_``, ``predict`` and, if its scores
    are log-probabilities, ``predict_proba``. Its table ``_parameter_constraints`` lists the allowed values of each
    parameter, as in scikit-learn; ``fit`` checks them. ``_fit`` receives the rows in content order, see
    :meth:`Domains.in_content_order`.

    See Also
    --------
    isthmus.base.Domains : The argument of ``_fit``.
    isthmus.estimator_checks.transfer_checks : Checks for an estimator of your own.
    """

    # A class attribute instead of set_fit_request(): users need neither a call nor a global setting.
    __metadata_request__fit = {"sample_domain": True}
    _parameter_constraints: ClassVar[dict[str, list]] = {}
    history_measure = "objective"  # name of the numbers in ``history_``, for charts
    # Returns the rule that scores new documents without scikit-learn; not every class has one.
    prediction_rule: Callable[[], Any]
    _row_kind = "matrix"
    _need_overlap = True
    _sort_rows = True  # False if columns of X correspond to rows, as in a kernel matrix

    def fit(self, X, y, sample_domain=None):
        """Fit on source and target rows together.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_features), or sequence of str
            Rows of all domains.
        y : array-like of shape (n_rows,)
            Labels; -1 (integers) or None/NaN (other types) where unknown. Labels of target rows are ignored. All may
            be unknown if labelled words or names of classes define the classes.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows. If omitted, unlabelled rows are target.

        Returns
        -------
        self
        """
        check_parameters(self)
        extras = self._extra_classes()
        settings: dict[str, Any] = {"kind": self._row_kind, "extra_classes": extras, "need_overlap": self._need_overlap}
        try:
            domains = check_transfer_data(self, X, y, sample_domain, **settings)
        # numpy cannot sort classes of different types, such as labels that are numbers and words labelled with names.
        except TypeError as error:
            if not extras or "not supported between" not in str(error):
                raise
            raise self._refuse_kinds(list(extras)) from error
        domains = domains.in_content_order() if self._sort_rows else domains
        self.classes_ = domains.classes
        codes = domains.codes.copy()
        # Unlabelled source rows get the class with the largest score, like new documents.
        for rows, found in ((domains.target, self._fit(domains)), (domains.unlabelled_source, None)):
            if len(rows):
                codes[rows] = self._scores(domains.rows(rows)).argmax(axis=1) if found is None else found
        self._codes = domains.restore_rows(codes)
        return self

    @property
    def transduction_(self) -> np.ndarray:
        """Label of every fitted row; stored as codes, which take less space in a saved file than names."""
        return self.classes_[self._codes]

    def predict(self, X):
        """Return the class of each new target document, without refitting.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_features), or sequence of str
            New documents.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.classes_[self._scores(self._check_new(X)).argmax(axis=1)]

    def predict_proba(self, X):
        """Return the probability of each class for each new target document.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_features), or sequence of str
            New documents.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        return softmax(self._scores(self._check_new(X)))

    def target_proba(self, X):
        """Return the class probabilities of the fitted target rows.

        A subclass may return stored probabilities instead of computing them again.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_target_rows, n_features), or sequence of str
            The fitted target rows, in their order.

        Returns
        -------
        ndarray of shape (n_target_rows, n_classes)
        """
        return self.predict_proba(X)

    def _check_new(self, X):
        return check_rows(self, X, kind=self._row_kind)

    def _extra_classes(self) -> list | None:
        """Return classes from sources other than the labels, or None."""
        return None

    def _refuse_kinds(self, extras: list) -> DataError:
        """Return the error for extra classes that cannot be compared with the labels."""
        raise NotImplementedError

    def _fit(self, domains: Domains) -> np.ndarray | None:
        """Fit on validated data; return the class codes of the target rows or None."""
        raise NotImplementedError

    def _scores(self, X) -> np.ndarray:
        """Return one score per row and class; larger is better."""
        return self.prediction_rule().scores(X)

    def __sklearn_tags__(self):
        """Return the tags that describe the accepted input to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._row_kind != "text"
        tags.input_tags.positive_only = self._row_kind == "counts"
        if self._row_kind == "text":
            tags.input_tags.two_d_array = False
            tags.input_tags.string = True
        return tags
