"""Checks that any estimator with the transfer contract must pass, beside scikit-learn's own.

For authors of estimators, here and elsewhere::

    import pytest
    from isthmus.estimator_checks import transfer_checks

    @pytest.mark.parametrize("check", transfer_checks(MyClassifier()), ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyClassifier())

Each check takes an unfitted estimator, works on small synthetic data of its own and raises ``AssertionError`` with a
sentence when the contract is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, make_constraint
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from isthmus.exceptions import IsthmusError, UsageError

_TOPICS = {
    "staff": ("staff", "friendly", "manager", "polite", "rude", "helped"),
    "price": ("price", "bill", "cheap", "expensive", "discount", "paid"),
}
_SOURCE_ONLY = {"staff": ("counter", "bikers"), "price": ("helmet", "exhaust")}
_TARGET_ONLY = {"staff": ("desk", "drivers"), "price": ("sedan", "windscreen")}


def example_texts(n=24, seed=0):
    """Small two-topic texts of two domains: texts, true labels, ``sample_domain``; first half source."""
    rng = np.random.default_rng(seed)
    texts, labels, domain = [], [], []
    for i in range(2 * n):
        side = _SOURCE_ONLY if i < n else _TARGET_ONLY
        topic = sorted(_TOPICS)[i % 2]
        words = [*rng.choice(_TOPICS[topic], size=5), *rng.choice(side[topic], size=2)]
        texts.append(" ".join(words))
        labels.append(topic)
        domain.append(1 if i < n else -1)
    return texts, np.array(labels), np.array(domain)


def seeded(estimator, seed=0):
    """An unfitted copy with a fixed ``random_state``, where it has one."""
    copy = clone(estimator)
    fixed = {name: seed for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**fixed)


def example_data(estimator, seed=0):
    """``(X, y, sample_domain)`` in the form the estimator takes: texts, or sparse counts."""
    texts, labels, domain = example_texts(seed=seed)
    if get_tags(estimator).input_tags.string:
        return texts, labels, domain
    vocabulary = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts], dtype=float)
    return sp.csr_matrix(counts), labels, domain


_FOR_ALL = (
    "check_target_labels_are_masked",
    "check_same_seed_same_answer",
    "check_domains_may_be_left_out",
    "check_constructor_only_stores",
    "check_routing_request",
    "check_errors_have_codes",
    "check_every_parameter_has_a_rule",
    "check_refuses_nonsense_parameters",
)
_FOR_LABELLERS = ("check_several_source_domains", "check_row_order_changes_nothing")
_FOR_CLASSIFIERS = (
    "check_transduction",
    "check_predicts_new_documents",
    "check_string_and_integer_labels_agree",
    "check_record_of_iterations",
)
_FOR_MATRICES = ("check_input_is_untouched", "check_refuses_bad_matrices")


def transfer_checks(estimator) -> list[Callable]:
    """The checks that apply to this estimator: a classifier, a clusterer or a transformer, of texts or of matrices.

    See Also
    --------
    isthmus.base.TransferClassifier : The base class that most of them concern.
    """
    names = list(_FOR_ALL)
    labels_rows = is_classifier(estimator) or is_clusterer(estimator)
    reads_matrices = not get_tags(estimator).input_tags.string
    if labels_rows:
        names += _FOR_LABELLERS
    if is_classifier(estimator):
        names += _FOR_CLASSIFIERS
    if reads_matrices:
        names += _FOR_MATRICES
    if reads_matrices and labels_rows:
        names.append("check_sparse_formats_agree")
    return [globals()[name] for name in names]


def check_target_labels_are_masked(estimator):
    """Shuffling, inventing or hiding target labels changes no fitted attribute."""
    X, y, domain = example_data(estimator)
    reference = seeded(estimator).fit(X, y, sample_domain=domain)
    rng = np.random.default_rng(1)
    shuffled, foreign = y.copy(), y.astype(object)
    shuffled[domain < 0] = rng.permutation(y[domain < 0])
    foreign[domain < 0] = "a class the source has never seen"
    hidden = y.astype(object)
    hidden[domain < 0] = None
    for name, labels in {"shuffled": shuffled, "foreign": foreign, "hidden": hidden}.items():
        other = seeded(estimator).fit(X, labels, sample_domain=domain)
        difference = first_difference(reference, other)
        assert difference is None, f"target labels leak: {name} target labels change {difference}"
        method = _other_answer(reference, other, X)  # private memory would show here
        assert method is None, f"target labels leak: {name} target labels change what {method} answers"


def check_same_seed_same_answer(estimator):
    """Two fits with the same ``random_state`` are equal in every fitted attribute."""
    X, y, domain = example_data(estimator)
    difference = first_difference(*(seeded(estimator).fit(X, y, sample_domain=domain) for _ in range(2)))
    assert difference is None, f"two fits with the same random_state differ in {difference}"


def check_row_order_changes_nothing(estimator):
    """Shuffled rows get the labels they had; what new rows are told is the same to the last bit."""
    X, y, domain = example_data(estimator)
    attribute = "labels_" if is_clusterer(estimator) else "transduction_"
    reference = seeded(estimator).fit(X, y, sample_domain=domain)
    for seed in range(2):
        shuffle = np.random.default_rng(seed).permutation(len(y))
        rows = [X[i] for i in shuffle] if isinstance(X, list) else X[shuffle]
        other = seeded(estimator).fit(rows, y[shuffle], sample_domain=domain[shuffle])
        same = np.array_equal(getattr(other, attribute), getattr(reference, attribute)[shuffle])
        assert same, f"another order of the rows changes {attribute}"
        method = _other_answer(reference, other, X)
        assert method is None, f"another order of the rows changes what {method} answers"


def _other_answer(first, second, X) -> str | None:
    """The first method by which two fitted estimators answer differently, or None."""
    methods = (name for name in ("predict", "predict_proba", "transform") if hasattr(first, name))
    return next((name for name in methods if not _same(getattr(first, name)(X), getattr(second, name)(X))), None)


def check_domains_may_be_left_out(estimator):
    """Without ``sample_domain`` unlabelled rows are target, with the same result."""
    X, y, domain = example_data(estimator)
    hidden = y.astype(object)
    hidden[domain < 0] = None
    told = seeded(estimator).fit(X, hidden, sample_domain=np.where(domain > 0, 1, -2))
    difference = first_difference(told, seeded(estimator).fit(X, hidden))
    assert difference is None, f"leaving sample_domain out changes {difference}"


def check_several_source_domains(estimator):
    """Several source domains are taken, and the numbers they carry do not matter for which rows are source."""
    X, y, domain = example_data(estimator)
    several = domain.copy()
    several[: len(domain) // 4] = 7
    fitted = seeded(estimator).fit(X, y, sample_domain=several)
    rows = fitted.labels_ if is_clusterer(estimator) else fitted.transduction_
    assert len(rows) == len(y), "with several source domains not every row got a label"


def check_transduction(estimator):
    """Every fitted row has a label; source rows keep theirs; the easy target is mostly right."""
    X, y, domain = example_data(estimator)
    fitted = seeded(estimator).fit(X, y, sample_domain=domain)
    assert fitted.transduction_.shape == y.shape, "transduction_ needs one label per fitted row"
    assert np.array_equal(fitted.transduction_[domain > 0], y[domain > 0]), "source rows must keep their labels"
    assert set(fitted.transduction_) <= set(fitted.classes_), "transduction_ holds labels that are not in classes_"
    right = np.mean(fitted.transduction_[domain < 0] == y[domain < 0])
    assert right >= 0.75, f"only {right:.0%} of an easy target are right"


def check_predicts_new_documents(estimator):
    """``predict`` and ``predict_proba`` work on new rows, agree with each other, and sum to one."""
    X, y, domain = example_data(estimator)
    X_new, y_new, new_domain = example_data(estimator, seed=5)
    if not get_tags(estimator).input_tags.string and X_new.shape[1] != X.shape[1]:
        raise AssertionError("example vocabularies differ; choose other seeds")
    fitted = seeded(estimator).fit(X, y, sample_domain=domain)
    rows = np.flatnonzero(new_domain < 0)
    X_new = [X_new[i] for i in rows] if isinstance(X_new, list) else X_new[rows]
    predicted = fitted.predict(X_new)
    assert np.mean(predicted == y_new[rows]) >= 0.75, "new documents of an easy target are mostly wrong"
    if hasattr(fitted, "predict_proba"):
        probability = fitted.predict_proba(X_new)
        assert probability.shape == (len(rows), len(fitted.classes_)), "predict_proba: one column per class"
        assert np.allclose(probability.sum(axis=1), 1.0), "probabilities of a row must sum to one"
        assert np.array_equal(fitted.classes_[probability.argmax(axis=1)], predicted), (
            "predict and predict_proba differ"
        )


def check_string_and_integer_labels_agree(estimator):
    """The names of the classes do not matter."""
    X, y, domain = example_data(estimator)
    codes = np.where(domain < 0, -1, np.searchsorted(np.unique(y), y))
    by_name = seeded(estimator).fit(X, y, sample_domain=domain).transduction_
    by_code = seeded(estimator).fit(X, codes, sample_domain=domain).transduction_
    assert np.array_equal(np.searchsorted(np.unique(y), by_name), by_code), "integer and string labels disagree"


def check_record_of_iterations(estimator):
    """``n_iter_``, ``history_`` and ``termination_condition_`` are there."""
    X, y, domain = example_data(estimator)
    fitted = seeded(estimator).fit(X, y, sample_domain=domain)
    for name in ("classes_", "n_iter_", "history_", "termination_condition_"):
        assert hasattr(fitted, name), f"{name} is missing after fit"
    assert isinstance(fitted.termination_condition_, str), "termination_condition_ must be a str"


def check_constructor_only_stores(estimator):
    """Parameters come back as they were given, and ``clone`` of a fitted estimator is unfitted."""
    X, y, domain = example_data(estimator)
    before = estimator.get_params(deep=False)
    fitted = clone(estimator).fit(X, y, sample_domain=domain)
    after = fitted.get_params(deep=False)
    for name, value in before.items():
        assert _same(after[name], value), f"fit changed the parameter {name}"
    assert not fitted_attributes(clone(fitted)), "clone() keeps fitted attributes"


def check_routing_request(estimator):
    """``sample_domain`` is requested in ``fit`` without anybody asking for it."""
    requests = get_routing_for_object(seeded(estimator)).fit.requests
    assert requests.get("sample_domain") is True, "__metadata_request__fit = {'sample_domain': True} is missing"


def check_errors_have_codes(estimator):
    """Bad domains and missing labels are refused with an error that carries a code."""
    X, y, domain = example_data(estimator)
    nothing = np.full(len(y), None, dtype=object)
    cases = {
        "sample_domain of another length": (y, domain[:-1]),
        "sample_domain with zeros": (y, np.zeros(len(y), dtype=int)),
        "no label at all": (nothing, domain),
        "no target row": (y, np.ones(len(y), dtype=int)),
    }
    for name, (labels, domains) in cases.items():
        try:
            seeded(estimator).fit(X, labels, sample_domain=domains)
        except IsthmusError as error:
            if not (error.code and str(error)):
                raise AssertionError(f"{name}: the error has no code or no text") from error
        else:
            raise AssertionError(f"{name} was accepted")


class _Nonsense:
    """Of no type that a parameter could have."""


# What no parameter can mean: another type, not a number, beyond every range, far below zero, an unknown name.
_NONSENSE = (_Nonsense(), float("nan"), float("inf"), -7, -7.5, "no such value", b"bytes")


def check_every_parameter_has_a_rule(estimator):
    """Each parameter of the constructor stands in ``_parameter_constraints``, and nothing else does."""
    table = getattr(type(estimator), "_parameter_constraints", {})
    parameters = set(estimator.get_params(deep=False))
    missing, unknown = parameters - set(table), set(table) - parameters
    assert not missing, f"_parameter_constraints does not say what {', '.join(sorted(missing))} may be"
    assert not unknown, (
        f"_parameter_constraints names {', '.join(sorted(unknown))}, which the constructor does not take"
    )


def check_refuses_nonsense_parameters(estimator):
    """Nonsense in any parameter is refused by ``fit`` as a ``UsageError`` with the code ``bad-parameter``."""
    X, y, domain = example_data(estimator)
    domains = {"sample_domain": domain} if has_fit_parameter(estimator, "sample_domain") else {}
    for name in estimator.get_params(deep=False):
        allowed = type(estimator)._parameter_constraints[name]
        for value in [*_NONSENSE, *_just_outside(allowed)]:
            if isinstance(value, str) and str in allowed:
                continue  # any name may be given; what it stands for is looked up when it is used
            setting = f"{name}={value!r}"
            try:
                clone(estimator).set_params(**{name: value}).fit(X, y, **domains)
            except UsageError as error:
                sound = error.code == "bad-parameter" and name in str(error)
                if not sound:
                    raise AssertionError(f"{setting} is refused with {error.code}: {error}") from error
            except Exception as error:
                raise AssertionError(f"{setting} ends in {type(error).__name__}: {error}") from error
            else:
                raise AssertionError(f"{setting} was accepted")


def _just_outside(allowed: list) -> list[Any]:
    """Numbers on the wrong side of each end of the ranges, and truth values where none is asked for."""
    candidates: list[Any] = [True, np.False_]
    for one in allowed:
        if isinstance(one, Interval):
            step = 1 if one.type is Integral else 1e-6
            if one.left is not None:
                candidates.append(one.left - step if one.closed in ("left", "both") else one.left)
            if one.right is not None:
                candidates.append(one.right + step if one.closed in ("right", "both") else one.right)
    if "boolean" in [one for one in allowed if isinstance(one, str)]:
        candidates = candidates[2:]
    # A value outside one range may be in another, or be an option: -1 threads are all cores. Python counts True as 1.
    rules = [make_constraint(one) for one in allowed]
    return [
        value
        for value in candidates
        if isinstance(value, (bool, np.bool_)) or not any(rule.is_satisfied_by(value) for rule in rules)
    ]


def check_sparse_formats_agree(estimator):
    """CSR, CSC, COO and dense rows give the same labels."""
    X, y, domain = example_data(estimator)
    attribute = "labels_" if is_clusterer(estimator) else "transduction_"
    reference = getattr(seeded(estimator).fit(X, y, sample_domain=domain), attribute)
    for name, other in {"csc": X.tocsc(), "coo": X.tocoo(), "dense": X.toarray(), "array": sp.csr_array(X)}.items():
        labels = getattr(seeded(estimator).fit(other, y, sample_domain=domain), attribute)
        assert np.array_equal(labels, reference), f"{name} input gives other labels than CSR"


def check_input_is_untouched(estimator):
    """``fit`` writes nothing into the caller's arrays."""
    X, y, domain = example_data(estimator)
    copies = X.copy(), y.copy(), domain.copy()
    seeded(estimator).fit(X, y, sample_domain=domain)
    assert (copies[0] != X).nnz == 0, "fit changed X"
    assert np.array_equal(y, copies[1]), "fit changed y"
    assert np.array_equal(domain, copies[2]), "fit changed sample_domain"


def check_refuses_bad_matrices(estimator):
    """NaN is refused everywhere, negative entries where counts are needed; both with a code."""
    X, y, domain = example_data(estimator)
    bad = {"not-finite": X.copy()}
    bad["not-finite"].data[0] = np.nan
    if get_tags(estimator).input_tags.positive_only:
        bad["negative-counts"] = X.copy()
        bad["negative-counts"].data[0] = -1.0
    for code, matrix in bad.items():
        try:
            seeded(estimator).fit(matrix, y, sample_domain=domain)
        except IsthmusError as error:
            if error.code != code:
                raise AssertionError(f"expected the code {code}, got {error.code}") from error
        else:
            raise AssertionError(f"a matrix with {code} was accepted")


def fitted_attributes(estimator) -> dict:
    """Public attributes that end in an underscore."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and name[0] != "_"}


def first_difference(first, second) -> str | None:
    """Name of the first fitted attribute in which two fitted estimators differ, or None."""
    one, two = fitted_attributes(first), fitted_attributes(second)
    if set(one) != set(two):
        return f"the set of attributes ({', '.join(sorted(set(one) ^ set(two)))})"
    return next((name for name in one if not _same(one[name], two[name])), None)


def _same(a, b) -> bool:
    if a is b:
        return True
    if sp.issparse(a):
        return sp.issparse(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ndarray):
        if not isinstance(b, np.ndarray):
            return False
        if a.dtype.kind == "O":
            return a.shape == b.shape and all(_same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True))
        return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float):
        return a == b or (np.isnan(a) and np.isnan(b))
    if hasattr(a, "get_params"):
        return type(a) is type(b) and first_difference(a, b) is None
    if hasattr(a, "__dict__") and type(a).__module__.startswith("isthmus"):
        return _same(vars(a), vars(b))
    if type(a) is not type(b):
        return False
    if type(a).__eq__ is not object.__eq__:
        return bool(a == b)
    # what cannot be compared by value is compared by what it holds
    return _same(getattr(a, "__dict__", None), getattr(b, "__dict__", None))
