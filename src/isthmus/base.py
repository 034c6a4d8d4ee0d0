"""The gate: who is source, who is target.

Every estimator takes its rows through :func:`open_gate`. Nobody else looks at ``sample_domain``, and target labels
stop here: whatever ``y`` says about a target row is masked before a method can see it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, _name_estimators
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter, validate_data

from isthmus.exceptions import DataError, UsageError

UNLABELLED = -1
SOURCE, TARGET = 1, -2  # what the gate writes where sample_domain is left out (skada's default numbers)


@dataclass(frozen=True)
class Domains:
    """What a method may know: rows, masked labels, who is source and who is target.

    Attributes
    ----------
    X : CSR matrix, ndarray or list of str
        All rows, in the order given.
    codes : ndarray of int
        Position of each row's label in ``classes``; -1 for every target row and for unlabelled source rows.
    domain : ndarray of int
        Positive for source domains, negative for target domains.
    classes : ndarray
        Sorted labels of the labelled source rows (and of ``extra_classes``).
    source, target, unlabelled_source : ndarray of int
        Row numbers: labelled source rows, target rows, source rows without a label.
    """

    X: Any
    codes: np.ndarray
    domain: np.ndarray
    classes: np.ndarray
    source: np.ndarray
    target: np.ndarray
    unlabelled_source: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def source_codes(self) -> np.ndarray:
        return self.codes[self.source]

    @property
    def source_domains(self) -> np.ndarray:
        """Numbers of the source domains that have labelled rows."""
        return np.unique(self.domain[self.source])

    def rows(self, index: np.ndarray) -> Any:
        """Rows ``index`` of ``X``, whatever ``X`` is."""
        if isinstance(self.X, list):
            return [self.X[i] for i in index]
        return self.X[index]


def open_gate(
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
    """Validate rows, labels and domains, mask target labels, and say who is who.

    Parameters
    ----------
    estimator : estimator
        Whose ``n_features_in_`` and ``feature_names_in_`` are set.
    X : sparse matrix, ndarray or sequence of str
        Rows of all domains together.
    y : array-like
        Unlabelled is -1 for integers, None or NaN for anything else.
    sample_domain : array-like of int, optional
        Positive source, negative target. Left out: unlabelled rows are target. If then no row is unlabelled, there is
        no target and the method runs on the source alone (what scikit-learn's own tools expect of a classifier).
    kind : {"matrix", "counts", "text"}
        What ``X`` must be. "counts" also refuses negative entries.
    extra_classes : iterable, optional
        Classes known from elsewhere (word labels). With them, source labels may be missing.
    need_overlap : bool
        Refuse sparse source and target rows that share no column: nothing could be carried across.
    min_classes : int
        Fewest classes the source must name; 1 leaves the check to the caller.
    reset : bool
        Passed on to scikit-learn's ``validate_data``.
    """
    X = check_rows(estimator, X, kind=kind, reset=reset)
    n = len(X) if isinstance(X, list) else X.shape[0]
    if y is None:
        raise DataError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; give one label per row, "
            "-1 or None where it is unknown.",
            code="no-labels",
        )
    y = _label_array(y)
    if len(y) != n:
        raise DataError(
            f"X has {n} rows and y has {len(y)} labels; give one label per row, -1 or None where unknown.",
            code="length-mismatch",
        )
    if sample_domain is None:
        values, known = read_labels(y)
        domain = np.where(known, SOURCE, TARGET)
    else:
        domain = _read_domain(sample_domain, n)
        values, known = read_labels(mask_target(y, domain))
    if sample_domain is not None and not np.any(domain < 0):
        raise DataError(
            f"All {n} rows are marked as source in sample_domain; mark the rows to be labelled with a negative number.",
            code="no-target",
        )
    visible = known & (domain > 0)
    extras = list(extra_classes) if extra_classes is not None else []
    classes = _classes(values[visible], extras, min_classes)
    codes = np.full(n, UNLABELLED, dtype=np.int64)
    codes[visible] = np.searchsorted(classes, values[visible])
    domains = Domains(
        X=X,
        codes=codes,
        domain=domain,
        classes=classes,
        source=np.flatnonzero(visible),
        target=np.flatnonzero(domain < 0),
        unlabelled_source=np.flatnonzero((domain > 0) & ~known),
    )
    if need_overlap and not isinstance(X, list) and len(domains.source) and len(domains.target):
        _check_overlap(domains)
    return domains


def _check_overlap(domains: Domains) -> None:
    source, target = (_columns_in_use(domains.X[rows]) for rows in (domains.source, domains.target))
    if len(target) and not len(np.intersect1d(source, target, assume_unique=True)):
        raise DataError(
            f"Target shares 0 of its {len(target)} words with the source ({len(source)} words); labels travel on "
            "shared words. Check that both are in one language, or try --method strings, which reads characters.",
            code="no-shared-words",
        )


def _columns_in_use(rows: Any) -> np.ndarray:
    if sp.issparse(rows):
        return np.unique(rows.indices[rows.data != 0])
    return np.flatnonzero((rows != 0).any(axis=0))


def check_rows(estimator: BaseEstimator, X: Any, *, kind: str = "matrix", reset: bool = False) -> Any:
    """Rows in the form methods compute on: a list of str, or a float CSR matrix or array without NaN."""
    if kind == "text":
        return check_texts(X)
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        reset=reset,
    )
    if sp.issparse(X) and X.indices.dtype != np.int32:
        X = _narrow(X)
    values = X.data if sp.issparse(X) else X
    if not np.all(np.isfinite(values)):
        bad = int(np.size(values) - np.count_nonzero(np.isfinite(values)))
        raise DataError(
            f"X holds {bad} entries that are NaN or inf; {type(estimator).__name__} needs finite numbers. "
            "Remove or fill them before fitting.",
            code="not-finite",
        )
    if kind == "counts" and np.size(values) and values.min() < 0:
        raise DataError(
            f"Negative values in data passed to {type(estimator).__name__}: the smallest entry of X is "
            f"{values.min():g}; counts or other non-negative weights are expected. Use raw counts, "
            "not centred or reduced data.",
            code="negative-counts",
        )
    return X


def _narrow(X: Any) -> Any:
    """The same matrix with 32-bit indices, which is what compiled methods read."""
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise DataError(
            f"X has shape {X.shape} and {X.nnz} non-zeros, more than 32-bit indices can count; fit on fewer rows.",
            code="bad-parameter",
        )
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def check_texts(texts: Any) -> list[str]:
    """A list of str, or a clear refusal."""
    if isinstance(texts, (str, bytes)):
        raise DataError("One string was given; give a sequence of documents, each a str.", code="not-text")
    if sp.issparse(texts) or (isinstance(texts, np.ndarray) and texts.ndim != 1):
        raise DataError(
            f"A matrix of shape {texts.shape} was given; this estimator reads raw texts: give a sequence of str.",
            code="not-text",
        )
    if isinstance(texts, (Mapping, Set)) or hasattr(texts, "columns") or not hasattr(texts, "__iter__"):
        raise DataError(
            f"{type(texts).__name__} was given; give a sequence of str, for example one column of a table.",
            code="not-text",
        )
    texts = list(texts)
    if not texts:
        raise DataError("No documents were given; give at least one text.", code="no-rows")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"Document {i} is {type(text).__name__} {_shorten(text)}; texts must be str. "
                "Replace missing texts by ''.",
                code="not-text",
            )
    return [str(text) for text in texts]


def mask_target(y: Any, domain: np.ndarray) -> np.ndarray:
    """A copy of the labels in which those of target rows are unknown, whatever they were."""
    y = _label_array(y)
    if y.dtype.kind in "iu":
        return np.where(domain < 0, UNLABELLED, y)
    masked = y.astype(object)
    masked[domain < 0] = None
    return masked


def read_labels(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels as an array, and a mask of those that are known.

    Integers: -1 is unknown. Floats: NaN is unknown. Anything else: None, NaN or pandas' NA is unknown; objects that are
    all numbers or all truth values follow the rule for their kind.
    """
    array = _label_array(y)
    if array.dtype.kind == "O":
        known = np.array([not _is_missing(value) for value in array], dtype=bool)
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
    if any(issubclass(kind, str) for kind in kinds) and not all(issubclass(kind, str) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"y mixes labels of kinds {names}; use one kind, for example all str.", code="bad-labels")
    return array, known


def _label_array(y: Any) -> np.ndarray:
    array = y if isinstance(y, np.ndarray) else np.asarray(y) if hasattr(y, "__array__") else _array_of(list(y))
    array = column_or_1d(array, warn=True)
    return array.astype(object) if array.dtype.kind == "T" else array  # numpy's StringDType


def _native(array: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Objects that are all numbers, or all truth values, in their own dtype; unknown places hold a filler."""
    native = np.array(array[known].tolist())
    if native.ndim != 1 or native.dtype.kind not in "iufb":
        return array
    values = np.zeros(len(array), dtype=native.dtype)
    values[known] = native
    return values


def _check_classes(labels: np.ndarray) -> None:
    if not len(labels):
        return
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"{error} Labels must name classes, not measure something.", code="bad-labels") from None


def _array_of(values: list) -> np.ndarray:
    array = np.asarray(values) if not any(value is None for value in values) else np.array(values, dtype=object)
    # numpy turns ["a", nan] into the strings "a", "nan": keep the objects, so that NaN stays a missing label.
    if array.dtype.kind == "U" and not all(isinstance(value, str) for value in values):
        array = np.array(values, dtype=object)
    return array


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _read_domain(sample_domain: Any, n: int) -> np.ndarray:
    given = np.asarray(sample_domain)
    if given.dtype.kind == "O" and all(isinstance(value, (int, np.integer)) for value in given.ravel()):
        given = given.astype(np.int64)
    if given.ndim != 1 or len(given) != n:
        raise DataError(
            f"sample_domain has shape {given.shape} for {n} rows; give one integer per row, "
            "positive for source, negative for target.",
            code="length-mismatch" if given.ndim == 1 else "bad-domain",
        )
    if given.dtype.kind not in "iu":
        whole = given.dtype.kind == "f" and np.all(np.isfinite(given)) and np.all(given == np.round(given))
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


def _classes(labels: np.ndarray, extras: list, min_classes: int) -> np.ndarray:
    if len(labels) == 0 and not extras:
        raise DataError(
            "No source row carries a label; give labels for the source rows (sample_domain > 0), or leave "
            "sample_domain out and mark unlabelled rows with -1 or None.",
            code="no-labels",
        )
    _check_classes(labels)
    pool = labels if not extras else np.concatenate([labels.astype(object), np.array(extras, dtype=object)])
    classes = np.unique(pool)
    if extras and len(labels):
        classes = classes.astype(labels.dtype) if labels.dtype.kind != "U" else classes.astype(str)
    if len(classes) < min_classes:
        raise DataError(
            f"The source labels name one class, {_shorten(classes[0])}; a classifier needs at least two classes.",
            code="one-class",
        )
    return classes


def _shorten(value: Any, width: int = 40) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= width else text[: width - 1] + "…"


class TransferClassifier(ClassifierMixin, BaseEstimator):
    """Base of all classifiers that carry labels from source rows to target rows.

    A subclass sets ``_row_kind`` and writes ``_fit(domains)``, which stores fitted attributes and returns the class
    codes of the target rows, and ``_scores(X)``, which returns one score per row and class (larger is better). It
    inherits the gate, ``transduction_``, ``predict`` and, if its scores are log-probabilities, ``predict_proba``.
    """

    # Class attribute instead of set_fit_request(): no user has to ask for it, no global switch is touched.
    __metadata_request__fit = {"sample_domain": True}
    _row_kind = "matrix"
    _need_overlap = True

    def fit(self, X, y, sample_domain=None):
        """Fit on source and target rows together.

        Parameters
        ----------
        X : {sparse matrix, ndarray} of shape (n_rows, n_features), or sequence of str
            Rows of all domains.
        y : array-like of shape (n_rows,)
            Labels; -1 (integers) or None/NaN (anything else) where unknown. Labels of target rows are ignored.
        sample_domain : array-like of int, optional
            Positive for source rows, negative for target rows. Left out: unlabelled rows are target.

        Returns
        -------
        self
        """
        domains = open_gate(
            self,
            X,
            y,
            sample_domain,
            kind=self._row_kind,
            extra_classes=self._extra_classes(),
            need_overlap=self._need_overlap,
        )
        self.classes_ = domains.classes
        target_codes = self._fit(domains)
        codes = domains.codes.copy()
        codes[domains.target] = target_codes
        if len(domains.unlabelled_source):
            codes[domains.unlabelled_source] = self._scores(domains.rows(domains.unlabelled_source)).argmax(axis=1)
        self.transduction_ = self.classes_[codes]
        return self

    def predict(self, X):
        """Class of each new target document, without refitting."""
        check_is_fitted(self)
        return self.classes_[self._scores(self._check_new(X)).argmax(axis=1)]

    def predict_proba(self, X):
        """Probability of each class for each new target document."""
        check_is_fitted(self)
        return softmax(self._scores(self._check_new(X)))

    def _check_new(self, X):
        return check_rows(self, X, kind=self._row_kind)

    def _extra_classes(self) -> Iterable | None:
        return None

    def _fit(self, domains: Domains) -> np.ndarray:
        raise NotImplementedError

    def _scores(self, X) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._row_kind != "text"
        tags.input_tags.positive_only = self._row_kind == "counts"
        if self._row_kind == "text":
            tags.input_tags.two_d_array = False
            tags.input_tags.string = True
        return tags


def softmax(scores: np.ndarray) -> np.ndarray:
    """Rows of log-scores to rows of probabilities."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


class TransferPipeline(Pipeline):
    """A scikit-learn pipeline whose ``fit`` takes ``sample_domain`` and hands it to the steps that want it.

    Works with and without scikit-learn's metadata routing; the global configuration is not touched. Fitted attributes
    of the last step (``transduction_``, ``history_`` and so on) can be read from the pipeline.
    """

    def fit(self, X, y=None, sample_domain=None, **params):
        """Fit every step on the rows of all domains together; no step sees a label of a target row."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit(X, y, **params)

    def fit_transform(self, X, y=None, sample_domain=None, **params):
        """Fit every step and transform the same rows."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_transform(X, y, **params)

    def fit_predict(self, X, y=None, sample_domain=None, **params):
        """Fit every step and predict for the same rows."""
        y, params = self._route(X, y, sample_domain, params)
        return super().fit_predict(X, y, **params)

    def _route(self, X, y, sample_domain, params):
        """Labels with those of target rows masked, and parameters that take ``sample_domain`` to its steps."""
        if sample_domain is None:
            return y, params
        if y is not None:
            y = mask_target(y, _read_domain(sample_domain, len(y)))
        if get_config()["enable_metadata_routing"]:
            return y, {**params, "sample_domain": sample_domain}
        takers = [name for name, step in self.steps if has_fit_parameter(step, "sample_domain")]
        if not takers:
            raise UsageError(
                "No step of the pipeline takes sample_domain, so none could tell source from target; end it with an "
                "Isthmus estimator, or switch scikit-learn's metadata routing on for nested ones.",
                code="bad-parameter",
            )
        return y, {**params, **{f"{name}__sample_domain": sample_domain for name in takers}}

    def __getattr__(self, name):
        # Only fitted attributes are looked up in the last step; "steps" itself may be missing while unpickling. The
        # number and names of input columns are the first step's business.
        own = name.startswith("_") or name in ("n_features_in_", "feature_names_in_")
        if name.endswith("_") and not own and "steps" in self.__dict__ and self.steps:
            return getattr(self.steps[-1][1], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def make_transfer_pipeline(*steps, memory=None, verbose=False) -> TransferPipeline:
    """Pipeline from raw text to labels that understands ``sample_domain``.

    Parameters
    ----------
    *steps : estimators
        Vectoriser first, classifier last; names are made from the types, as in scikit-learn.
    memory, verbose
        As for :class:`sklearn.pipeline.Pipeline`.

    Examples
    --------
    >>> from isthmus import SourceOnlyClassifier, make_transfer_pipeline
    >>> from isthmus.features import TextVectorizer
    >>> texts = ["kind staff", "great bike", "polite staff", "fast bike", "rude staff", "slow bike"]
    >>> labels = ["staff", "product", "staff", "product", None, None]
    >>> pipeline = make_transfer_pipeline(TextVectorizer(min_df=1), SourceOnlyClassifier())
    >>> pipeline.fit(texts, labels).transduction_[-2:].tolist()
    ['staff', 'product']
    """
    return TransferPipeline(_name_estimators(steps), memory=memory, verbose=verbose)


# Progress: methods report, whoever runs them decides whether anybody listens. A context variable, so that no
# constructor needs a parameter for it.

_listener: ContextVar[Callable[[dict], None] | None] = ContextVar("isthmus_progress", default=None)


def progress(phase: str, done: int, total: int | None = None, **facts: Any) -> None:
    """Tell a listener, if there is one, that ``done`` of ``total`` steps of ``phase`` are over."""
    listener = _listener.get()
    if listener is not None:
        listener({"phase": phase, "done": done, "total": total, "time": time.monotonic(), **facts})


@contextmanager
def listen(listener: Callable[[dict], None]) -> Iterator[None]:
    """Send progress of everything inside the block to ``listener``.

    Examples
    --------
    >>> from isthmus.base import listen, progress
    >>> with listen(lambda event: print(event["phase"], event["done"], event["total"])):
    ...     progress("reading", 1, 2)
    reading 1 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def row_blocks(n_rows: int, size: int) -> Sequence[slice]:
    """Slices that cut ``n_rows`` rows into blocks of at most ``size``."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
