"""Validate rows, texts, labels and domains, and convert each to one form."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from isthmus._utils import as_python
from isthmus.exceptions import DataError, IsthmusWarning, UsageError

if TYPE_CHECKING:  # functions import scikit-learn when they need it: a saved result loads without it
    from sklearn.base import BaseEstimator

UNLABELLED = -1
LARGEST = 1e30  # largest entry of X; squares of sums of larger numbers would overflow
# Longest label in characters that is stored in an array of fixed width. In such an array each label takes as much
# memory as the longest one.
_WIDEST = 200


def check_rows(estimator: BaseEstimator, X: Any, *, kind: str = "matrix", reset: bool = False) -> Any:
    """Validate rows and return them in the form that methods compute with.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` is set or compared.
    X : sparse matrix, ndarray or sequence of str
        Rows.
    kind : {"matrix", "counts", "text"}
        Expected content; "counts" also refuses negative entries.
    reset : bool
        Passed to scikit-learn's ``validate_data``.

    Returns
    -------
    list of str, csr_matrix or ndarray
        Texts, or finite floats of shape (n_rows, n_features).

    Raises
    ------
    DataError
        The rows do not have the expected content.
    """
    if kind == "text":
        return check_texts(X)
    from sklearn.utils.validation import validate_data

    try:
        # scikit-learn may pass NaN here: the check below reports how many entries are not finite.
        X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, reset=reset)
    except ValueError as error:
        who = type(estimator).__name__
        if "Complex data not supported" in str(error):
            message = f"Complex data not supported: X holds complex numbers, and {who} needs real counts or weights."
        elif str(error).startswith("could not convert string"):
            message = f"X holds text, and {who} needs numbers; put isthmus.features.TextVectorizer in front."
        else:
            raise
        raise DataError(message, code="not-numbers") from None
    if sp.issparse(X):
        X = _canonical(_narrow(X) if X.indices.dtype != np.int32 else X)
    # Zeros that a sparse matrix does not store are always valid.
    values = X.data if sp.issparse(X) else X
    if not np.all(np.isfinite(values)):
        bad = int(np.size(values) - np.count_nonzero(np.isfinite(values)))
        raise DataError(
            f"X holds {bad} entries that are NaN or inf; {type(estimator).__name__} needs finite numbers. "
            "Remove or fill them before fitting.",
            code="not-finite",
        )
    largest = max(values.max(), -values.min()) if np.size(values) else 0.0
    if largest > LARGEST:
        raise DataError(
            f"The largest entry of X is {largest:.3g}; {type(estimator).__name__} computes with numbers up to "
            f"{LARGEST:g}. Scale the columns, or look for a wrong value.",
            code="out-of-range",
        )
    if kind == "counts" and np.size(values) and values.min() < 0:
        raise DataError(
            f"Negative values in data passed to {type(estimator).__name__}: the smallest entry of X is "
            f"{values.min():g}; counts or other non-negative weights are expected. Use raw counts, "
            "not centred or reduced data.",
            code="negative-counts",
        )
    return X


def _canonical(X: Any) -> Any:
    """Return the matrix without duplicate and zero entries; do not change the caller's matrix."""
    if X.has_canonical_format and np.all(X.data):
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _narrow(X: Any) -> Any:
    """Return the matrix with 32-bit indices, which the compiled methods require."""
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise DataError(
            f"X has shape {X.shape} and {X.nnz} non-zeros, more than 32-bit indices can count; fit on fewer rows.",
            code="bad-parameter",
        )
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def check_texts(texts: Any, name: str = "X", *, fill: bool = False) -> list[str]:
    """Return the texts as a list of str.

    Parameters
    ----------
    texts : sequence of str
    name : str
        Name of the parameter in error messages.
    fill : bool
        Replace missing texts (None, NaN) by empty texts and warn.

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        The value is not a sequence of str, or it is empty.
    """
    # A string is a sequence of characters, so it would silently become many one-letter documents.
    if isinstance(texts, (str, bytes)):
        raise DataError(
            f"{name} is one string; give a sequence of documents, each a str ([text] for a single one).",
            code="not-text",
        )
    if sp.issparse(texts) or (isinstance(texts, np.ndarray) and texts.ndim != 1):
        raise DataError(
            f"{name} is a matrix of shape {texts.shape}; raw texts are read here: give a sequence of str.",
            code="not-text",
        )
    # Iteration over a mapping or a data frame gives its keys, not its documents.
    if isinstance(texts, (Mapping, Set)) or hasattr(texts, "columns") or not hasattr(texts, "__iter__"):
        raise DataError(
            f"{name} is of type {type(texts).__name__}; give a sequence of str, for example one column of a table.",
            code="not-text",
        )
    texts = list(texts)
    if not texts:
        raise DataError(f"{name} has no documents; give at least one text.", code="no-rows")
    if fill:
        texts = _fill_missing(texts, name)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"{name}[{i}] is {type(text).__name__} {shorten(text)}; texts must be str. Replace missing texts "
                "by ''.",
                code="not-text",
            )
    # Subclasses of str, such as numpy.str_, become plain str.
    return [str(text) for text in texts]


def _fill_missing(texts: list, name: str) -> list:
    missing = [i for i, text in enumerate(texts) if is_missing(text)]
    if not missing:
        return texts
    message = (
        f"{len(missing):,} of {len(texts):,} texts are missing, first {name}[{missing[0]}]; they are kept as empty "
        "texts, and a label for them is a guess from the rest."
    )
    # Four levels up is the caller of the public function.
    warnings.warn(IsthmusWarning(message, code="empty-documents"), stacklevel=4)
    return ["" if is_missing(text) else text for text in texts]


def mask_target(y: Any, domain: np.ndarray) -> np.ndarray:
    """Return a copy of the labels in which the labels of target rows are unknown.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    domain : ndarray of shape (n_rows,)
        Negative for target rows.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    y = label_array(y)
    if y.dtype.kind in "iu":
        return np.where(domain < 0, UNLABELLED, y)
    # Only objects can hold None next to labels of any type.
    masked = y.astype(object)
    masked[domain < 0] = None
    return masked


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels as an array, and a mask of the known labels.

    Unknown is -1 among integers, NaN among floats, and None, NaN or pandas' NA among objects. An array of objects that
    are all numbers or all booleans follows the rule for numbers or booleans.

    Parameters
    ----------
    y : array-like of shape (n_rows,)

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Labels.
    known : ndarray of bool of shape (n_rows,)
        Whether the label is known.

    Raises
    ------
    DataError
        The labels cannot name classes.
    """
    array = label_array(y)
    if array.dtype.kind == "O":
        known = np.array([not is_missing(value) for value in array], dtype=bool)
        array = _native(array, known)
    else:
        known = np.ones(len(array), dtype=bool)
    if array.dtype.kind in "iu":
        return array, known & (array != UNLABELLED)
    if array.dtype.kind == "f":
        known = known & ~np.isnan(array)
        if np.isinf(array[known]).any():
            raise DataError(
                "Input y contains infinity; labels must be finite, or NaN where unknown.", code="bad-labels"
            )
        _check_classes(array[known])
        return array, known
    if array.dtype.kind not in "OUb":
        raise DataError(f"y has dtype {array.dtype}; labels must be integers, strings or objects.", code="bad-labels")
    kinds = {type(value) for value in array[known]} if array.dtype.kind == "O" else set()
    _check_kinds(kinds)
    # Python cannot sort names together with numbers, and the classes must have an order.
    if any(issubclass(kind, str) for kind in kinds) and not all(issubclass(kind, str) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"y mixes labels of kinds {names}; use one kind, for example all str.", code="bad-labels")
    return array, known


def read_source_labels(
    labels: Any, n_texts: int, what: str = "label", *, side: str = "source"
) -> tuple[np.ndarray, np.ndarray]:
    """Validate one label per source text and return the result of :func:`read_labels`.

    Parameters
    ----------
    labels : sequence
        None for an unknown label.
    n_texts : int
        Expected number of labels.
    what : str
        Word for a label in error messages.
    side : str
        Name of the collection in error messages.

    Returns
    -------
    values : ndarray of shape (n_texts,)
        Labels.
    known : ndarray of bool of shape (n_texts,)
        Whether the label is known.

    Raises
    ------
    DataError
        The labels are no sequence, cannot name classes or have another length.
    """
    odd = isinstance(labels, (str, bytes, Mapping, Set)) or hasattr(labels, "columns")
    if odd or not hasattr(labels, "__iter__"):
        given = "None" if labels is None else type(labels).__name__
        raise DataError(
            f"{given} was given for the {what}s of the {side}; give a sequence with one {what} per text, None where it "
            "is unknown.",
            code="bad-labels",
        )
    values, known = read_labels(labels if isinstance(labels, np.ndarray) else list(labels))
    if len(values) != n_texts:
        raise DataError(
            f"There are {n_texts} {side} texts and {len(values)} {what}s; give one {what} per text.",
            code="length-mismatch",
        )
    return values, known


def check_seed(random_state: Any) -> np.random.RandomState:
    """Return a random number generator.

    Parameters
    ----------
    random_state : int, RandomState or None
        A whole number from 0 to 2**32 − 1, a generator, or None.

    Returns
    -------
    numpy.random.RandomState

    Raises
    ------
    UsageError
        Another value was given.
    """
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except (ValueError, TypeError):
        raise UsageError(
            f"random_state is {shorten(random_state)}; give a whole number from 0 to {2**32 - 1:,} or None.",
            code="bad-parameter",
        ) from None


def label_array(y: Any) -> np.ndarray:
    """Return one label per row as a one-dimensional array.

    Parameters
    ----------
    y : array-like of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_rows,)

    Raises
    ------
    DataError
        The value has another shape.
    """
    from sklearn.utils.validation import column_or_1d

    try:
        array = y if isinstance(y, np.ndarray) else np.asarray(y) if hasattr(y, "__array__") else _array_of(list(y))
        array = column_or_1d(array, warn=True)
    except (ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"y cannot be read as labels ({reason}); give one label per row: a name or a whole number.",
            code="bad-labels",
        ) from None
    return array.astype(object) if array.dtype.kind == "T" else array  # numpy's StringDType


def _native(array: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Convert an object array whose known values are all numbers to a numeric array."""
    values = array[known].tolist()
    if not all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
        return array
    native = np.array(values)
    if native.ndim != 1 or native.dtype.kind not in "iufb":
        return array
    # The mask marks the unknown labels, so their value in the array does not matter.
    values = np.zeros(len(array), dtype=native.dtype)
    values[known] = native
    return values


def _check_kinds(kinds: set[type]) -> None:
    """Refuse labels of types without an order and of types that a table cannot store."""
    for kind in kinds:
        if issubclass(
            kind, (tuple, list, dict, set, frozenset, bytes, bytearray, complex, np.ndarray, np.complexfloating)
        ):
            hint = "decode them first" if issubclass(kind, (bytes, bytearray)) else "use names or whole numbers"
            raise DataError(f"y holds labels of kind {kind.__name__}; {hint}.", code="bad-labels")
        # Types without their own comparison have no order.
        if getattr(kind, "__lt__", None) is getattr(object, "__lt__", None):
            raise DataError(
                f"y holds labels of kind {kind.__name__}, which have no order; use names or whole numbers.",
                code="bad-labels",
            )


def _check_classes(labels: np.ndarray) -> None:
    if not len(labels):
        return
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"{error} Labels must name classes, not measure something.", code="bad-labels") from None


def _array_of(values: list) -> np.ndarray:
    """Return an array of the labels; use objects where a fixed-width array would waste memory or change a label."""
    if any(value is None or (isinstance(value, str) and len(value) > _WIDEST) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    array = np.asarray(values)
    # numpy turns ["a", nan] into the strings "a", "nan": an object array leaves NaN a missing label.
    if array.dtype.kind == "U" and not all(isinstance(value, str) for value in values):
        array = np.array(values, dtype=object)
    return array


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or a missing-value marker of pandas.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def read_domain(sample_domain: Any, n: int) -> np.ndarray:
    """Validate ``sample_domain`` and return it as 64-bit integers.

    Parameters
    ----------
    sample_domain : array-like of int of shape (n_rows,)
        Positive for source rows, negative for target rows.
    n : int
        Expected number of rows.

    Returns
    -------
    ndarray of int of shape (n_rows,)

    Raises
    ------
    DataError
        An entry is 0 or not an integer, or the length differs.
    """
    try:
        given = np.asarray(sample_domain)
    except ValueError:
        raise DataError("sample_domain is ragged; give one integer per row.", code="bad-domain") from None
    # Python integers beyond 64 bits arrive as objects, and the cast below would overflow without an error.
    whole = given.dtype.kind == "O" and all(isinstance(value, (int, np.integer)) for value in given.ravel())
    if whole or given.dtype.kind == "u":
        if given.size and max(abs(int(value)) for value in (given.max(), given.min())) > np.iinfo(np.int64).max:
            raise DataError(
                f"sample_domain holds {shorten(given.max())}; numbers of domains have at most 63 bits.",
                code="bad-domain",
            )
        given = given.astype(np.int64)
    if given.ndim != 1 or len(given) != n:
        raise DataError(
            f"sample_domain has shape {given.shape} for {n} rows; give one integer per row, "
            "positive for source, negative for target.",
            code="length-mismatch" if given.ndim == 1 else "bad-domain",
        )
    if given.dtype.kind not in "iu":
        # Some tables store integers as floats, so floats without decimals are accepted.
        whole = given.dtype.kind == "f" and bool(np.all(np.isfinite(given)) and np.all(given == np.round(given)))
        if not whole:
            raise DataError(
                f"sample_domain has dtype {given.dtype}; integers are expected, "
                "positive for source, negative for target.",
                code="bad-domain",
            )
    domain = given.astype(np.int64)
    if np.any(domain == 0):
        raise DataError(
            f"sample_domain is 0 for {int(np.sum(domain == 0))} rows; use a positive number for source, "
            "a negative one for target.",
            code="bad-domain",
        )
    return domain


def find_classes(labels: np.ndarray, extras: list, min_classes: int) -> np.ndarray:
    """Return the sorted classes of the known labels and of other sources.

    Parameters
    ----------
    labels : ndarray
        Known labels of source rows.
    extras : list
        Classes from other sources, such as labelled words.
    min_classes : int
        Smallest allowed number of classes.

    Returns
    -------
    ndarray
        Sorted, unique.

    Raises
    ------
    DataError
        There is no label at all, or there are too few classes.
    """
    if len(labels) == 0 and not extras:
        raise DataError(
            "No source row carries a label; give labels for the source rows (sample_domain > 0), or leave "
            "sample_domain out and mark unlabelled rows with -1 or None.",
            code="no-labels",
        )
    _check_classes(labels)
    # Mixed in one typed array, numbers would become strings.
    pool = labels if not extras else np.concatenate([labels.astype(object), np.array(extras, dtype=object)])
    classes = np.unique(pool)
    if extras and len(labels):
        # The fitted classes must have the type of the user's labels, not the type object.
        classes = classes.astype(labels.dtype) if labels.dtype.kind != "U" else classes.astype(str)
    if len(classes) < min_classes:
        raise DataError(
            f"The source labels name one class, {shorten(classes[0])}; a classifier needs at least two classes.",
            code="one-class",
        )
    return classes


def shorten(value: Any, width: int = 40) -> str:
    """Return the representation of a value, cut to a maximum length for messages.

    Parameters
    ----------
    value : object
    width : int
        Maximum length in characters.

    Returns
    -------
    str
    """
    text = repr(as_python(value))
    return text if len(text) <= width else text[: width - 1] + "…"
