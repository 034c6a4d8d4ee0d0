"""Check that an estimator fulfils the transfer contract, in addition to scikit-learn's own checks.

Authors of estimators run the checks like this::

    import pytest
    from isthmus.estimator_checks import transfer_checks

    @pytest.mark.parametrize("check", transfer_checks(MyClassifier()), ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyClassifier())

Each check takes an unfitted estimator, runs it on small synthetic data and raises ``AssertionError`` with an
explanation if the estimator breaks the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import joblib
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
    """Return small texts of two domains about two topics.

    Parameters
    ----------
    n : int
        Number of texts per domain.
    seed : int
        Seed of the random words.

    Returns
    -------
    texts : list of str
        Source texts, then target texts.
    labels : ndarray of str of shape (2 * n,)
        True topics.
    sample_domain : ndarray of int of shape (2 * n,)
        1 for source texts, -1 for target texts.
    """
    rng = np.random.default_rng(seed)
    texts, labels, domain = [], [], []
    for i in range(2 * n):
        # Some words occur in one domain only, as in real data.
        side = _SOURCE_ONLY if i < n else _TARGET_ONLY
        topic = sorted(_TOPICS)[i % 2]
        # Five shared words and two domain words make the topics easy to separate.
        words = [*rng.choice(_TOPICS[topic], size=5), *rng.choice(side[topic], size=2)]
        texts.append(" ".join(words))
        labels.append(topic)
        domain.append(1 if i < n else -1)
    return texts, np.array(labels), np.array(domain)


def seeded(estimator, seed=0):
    """Return an unfitted copy with a fixed value for every ``random_state``.

    Parameters
    ----------
    estimator : estimator
    seed : int

    Returns
    -------
    estimator
    """
    copy = clone(estimator)
    # Nested estimators have parameters such as "estimator__random_state".
    fixed = {name: seed for name in copy.get_params() if name.split("__")[-1] == "random_state"}
    return copy.set_params(**fixed)


def example_data(estimator, seed=0):
    """Return example data in the form that the estimator accepts.

    Parameters
    ----------
    estimator : estimator
    seed : int
        As for :func:`example_texts`.

    Returns
    -------
    X : list of str or csr_matrix
        Texts, or sparse word counts.
    y : ndarray of str
        True topics.
    sample_domain : ndarray of int
        Positive for source rows, negative for target rows.
    """
    texts, labels, domain = example_texts(seed=seed)
    if get_tags(estimator).input_tags.string:
        return texts, labels, domain
    # All words occur among the texts of usual seeds, so two seeds give the same columns.
    vocabulary = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts], dtype=float)
    return sp.csr_matrix(counts), labels, domain


_FOR_ALL = (
    "check_target_labels_are_masked",
    "check_same_seed_same_answer",
    "check_domains_may_be_left_out",
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


def transfer_checks(estimator) -> list[Callable]:
    """Return the checks that apply to an estimator.

    Parameters
    ----------
    estimator : estimator
        A classifier, a clusterer or a transformer, of texts or of matrices.

    Returns
    -------
    list of callable
        Each takes an unfitted estimator.

    See Also
    --------
    isthmus.base.TransferClassifier : The base class that most checks apply to.
    """
    names = list(_FOR_ALL)
    labels_rows = is_classifier(estimator) or is_clusterer(estimator)
    if labels_rows:
        names += _FOR_LABELLERS
    if is_classifier(estimator):
        names += _FOR_CLASSIFIERS
    if labels_rows and not get_tags(estimator).input_tags.string:
        names.append("check_sparse_formats_agree")
    return [globals()[name] for name in names]


def check_target_labels_are_masked(estimator):
    """Check that shuffled, unknown or hidden target labels change no fitted attribute.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    reference = seeded(estimator).fit(X, y, sample_domain=domain)
    rng = np.random.default_rng(1)
    # Three kinds of changed labels: other known classes, an unknown class and no label.
    shuffled, foreign = y.copy(), y.astype(object)
    shuffled[domain < 0] = rng.permutation(y[domain < 0])
    foreign[domain < 0] = "a class the source has never seen"
    hidden = y.astype(object)
    hidden[domain < 0] = None
    for name, labels in {"shuffled": shuffled, "foreign": foreign, "hidden": hidden}.items():
        other = seeded(estimator).fit(X, labels, sample_domain=domain)
        difference = first_difference(reference, other)
        assert difference is None, f"target labels leak: {name} target labels change {difference}"
        method = _other_answer(reference, other, X)  # finds target labels in private attributes
        assert method is None, f"target labels leak: {name} target labels change what {method} answers"


def check_same_seed_same_answer(estimator):
    """Check that two fits with the same ``random_state`` agree in every fitted attribute.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    difference = first_difference(*(seeded(estimator).fit(X, y, sample_domain=domain) for _ in range(2)))
    assert difference is None, f"two fits with the same random_state differ in {difference}"


def check_row_order_changes_nothing(estimator):
    """Check that a different order of rows changes neither the labels nor later predictions.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    attribute = "labels_" if is_clusterer(estimator) else "transduction_"
    reference = seeded(estimator).fit(X, y, sample_domain=domain)
    # Two orders, because one could agree by chance.
    for seed in range(2):
        shuffle = np.random.default_rng(seed).permutation(len(y))
        rows = [X[i] for i in shuffle] if isinstance(X, list) else X[shuffle]
        other = seeded(estimator).fit(rows, y[shuffle], sample_domain=domain[shuffle])
        same = np.array_equal(getattr(other, attribute), getattr(reference, attribute)[shuffle])
        assert same, f"another order of the rows changes {attribute}"
        method = _other_answer(reference, other, X)
        assert method is None, f"another order of the rows changes what {method} answers"


def _other_answer(first, second, X) -> str | None:
    """Return the first method whose results differ between two fitted estimators, or None."""
    methods = (name for name in ("predict", "predict_proba", "transform") if hasattr(first, name))
    return next((name for name in methods if not _same(getattr(first, name)(X), getattr(second, name)(X))), None)


def check_domains_may_be_left_out(estimator):
    """Check that unlabelled rows are target rows without ``sample_domain``, with the same result.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    hidden = y.astype(object)
    hidden[domain < 0] = None
    # -2 is the number that Isthmus gives target rows when sample_domain is omitted.
    told = seeded(estimator).fit(X, hidden, sample_domain=np.where(domain > 0, 1, -2))
    difference = first_difference(told, seeded(estimator).fit(X, hidden))
    assert difference is None, f"leaving sample_domain out changes {difference}"


def check_several_source_domains(estimator):
    """Check that the estimator accepts several source domains with arbitrary positive numbers.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    several = domain.copy()
    # Half of the source rows get an arbitrary second domain number.
    several[: len(domain) // 4] = 7
    fitted = seeded(estimator).fit(X, y, sample_domain=several)
    rows = fitted.labels_ if is_clusterer(estimator) else fitted.transduction_
    assert len(rows) == len(y), "with several source domains not every row got a label"


def check_transduction(estimator):
    """Check that every fitted row has a label, source rows have their own, and at least 75% of the target is right.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    fitted = seeded(estimator).fit(X, y, sample_domain=domain)
    assert fitted.transduction_.shape == y.shape, "transduction_ needs one label per fitted row"
    assert np.array_equal(fitted.transduction_[domain > 0], y[domain > 0]), "source rows must keep their labels"
    assert set(fitted.transduction_) <= set(fitted.classes_), "transduction_ holds labels that are not in classes_"
    # The domains share five of seven words per text, so every method must transfer most labels.
    right = np.mean(fitted.transduction_[domain < 0] == y[domain < 0])
    assert right >= 0.75, f"only {right:.0%} of an easy target are right"


def check_predicts_new_documents(estimator):
    """Check that ``predict`` and ``predict_proba`` accept new rows and agree, and that probabilities sum to one.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    # Another seed draws new texts from the same words.
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
    """Check that integer class labels give the same result as names.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    # Codes in the order of the sorted names, so that the results can be compared.
    codes = np.where(domain < 0, -1, np.searchsorted(np.unique(y), y))
    by_name = seeded(estimator).fit(X, y, sample_domain=domain).transduction_
    by_code = seeded(estimator).fit(X, codes, sample_domain=domain).transduction_
    assert np.array_equal(np.searchsorted(np.unique(y), by_name), by_code), "integer and string labels disagree"


def check_record_of_iterations(estimator):
    """Check that ``fit`` sets ``n_iter_``, ``history_`` and ``termination_condition_``.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    fitted = seeded(estimator).fit(X, y, sample_domain=domain)
    for name in ("classes_", "n_iter_", "history_", "termination_condition_"):
        assert hasattr(fitted, name), f"{name} is missing after fit"
    assert isinstance(fitted.termination_condition_, str), "termination_condition_ must be a str"


def check_routing_request(estimator):
    """Check that ``fit`` requests ``sample_domain`` by default in scikit-learn's metadata routing.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    requests = get_routing_for_object(seeded(estimator)).fit.requests
    assert requests.get("sample_domain") is True, "__metadata_request__fit = {'sample_domain': True} is missing"


def check_errors_have_codes(estimator):
    """Check that bad domains and missing labels raise an error with a code.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    # None marks unlabelled rows for labels of any type.
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
            # Scripts rely on the code and users on the message.
            if not (error.code and str(error)):
                raise AssertionError(f"{name}: the error has no code or no text") from error
        else:
            raise AssertionError(f"{name} was accepted")


class _Nonsense:
    """Serve as a value of a type that no parameter accepts."""


# Values that no parameter accepts: a foreign type, NaN, infinity, negative numbers, an unknown name and bytes.
_NONSENSE = (_Nonsense(), float("nan"), float("inf"), -7, -7.5, "no such value", b"bytes")


def check_every_parameter_has_a_rule(estimator):
    """Check that ``_parameter_constraints`` lists exactly the parameters of the constructor.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    table = getattr(type(estimator), "_parameter_constraints", {})
    parameters = set(estimator.get_params(deep=False))
    missing, unknown = parameters - set(table), set(table) - parameters
    assert not missing, f"_parameter_constraints does not say what {', '.join(sorted(missing))} may be"
    assert not unknown, (
        f"_parameter_constraints names {', '.join(sorted(unknown))}, which the constructor does not take"
    )


def check_refuses_nonsense_parameters(estimator):
    """Check that ``fit`` refuses a nonsense value of any parameter with the code ``bad-parameter``.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    # Transformers have no sample_domain.
    domains = {"sample_domain": domain} if has_fit_parameter(estimator, "sample_domain") else {}
    for name in estimator.get_params(deep=False):
        allowed = type(estimator)._parameter_constraints[name]
        for value in [*_NONSENSE, *_just_outside(allowed)]:
            if isinstance(value, str) and str in allowed:
                continue  # the parameter accepts any name and looks it up only when it is used
            setting = f"{name}={value!r}"
            try:
                clone(estimator).set_params(**{name: value}).fit(X, y, **domains)
            except UsageError as error:
                sound = error.code == "bad-parameter" and name in str(error)
                if not sound:
                    raise AssertionError(f"{setting} is refused with {error.code}: {error}") from error
            # Any other exception means that the value reached the computation.
            except Exception as error:
                raise AssertionError(f"{setting} ends in {type(error).__name__}: {error}") from error
            else:
                raise AssertionError(f"{setting} was accepted")


def _just_outside(allowed: list) -> list[Any]:
    """Return numbers just outside each allowed range, and booleans if the parameter accepts none."""
    candidates: list[Any] = [True, np.False_]
    for one in allowed:
        if isinstance(one, Interval):
            # The smallest step outside a closed end; an open end excludes itself.
            step = 1 if one.type is Integral else 1e-6
            if one.left is not None:
                candidates.append(one.left - step if one.closed in ("left", "both") else one.left)
            if one.right is not None:
                candidates.append(one.right + step if one.closed in ("right", "both") else one.right)
    if "boolean" in [one for one in allowed if isinstance(one, str)]:
        candidates = candidates[2:]
    # A value outside one range may be allowed by another rule: -1 threads are all cores. Booleans always remain,
    # because Python treats True as 1.
    rules = [make_constraint(one) for one in allowed]
    return [
        value
        for value in candidates
        if isinstance(value, (bool, np.bool_)) or not any(rule.is_satisfied_by(value) for rule in rules)
    ]


def check_sparse_formats_agree(estimator):
    """Check that CSR, CSC, COO and dense rows give the same labels.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    """
    X, y, domain = example_data(estimator)
    attribute = "labels_" if is_clusterer(estimator) else "transduction_"
    reference = getattr(seeded(estimator).fit(X, y, sample_domain=domain), attribute)
    # The formats store the same numbers in a different order.
    for name, other in {"csc": X.tocsc(), "coo": X.tocoo(), "dense": X.toarray(), "array": sp.csr_array(X)}.items():
        labels = getattr(seeded(estimator).fit(other, y, sample_domain=domain), attribute)
        assert np.array_equal(labels, reference), f"{name} input gives other labels than CSR"


def fitted_attributes(estimator) -> dict:
    """Return the public attributes that end in an underscore.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    dict of str to object
    """
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and name[0] != "_"}


def first_difference(first, second) -> str | None:
    """Return the name of the first fitted attribute that differs between two fitted estimators.

    Parameters
    ----------
    first, second : estimator
        Fitted.

    Returns
    -------
    str or None
        None if all attributes agree.
    """
    one, two = fitted_attributes(first), fitted_attributes(second)
    if set(one) != set(two):
        return f"the set of attributes ({', '.join(sorted(set(one) ^ set(two)))})"
    # Both estimators have the same attributes here, so only the values can differ.
    return next((name for name in one if not _same(one[name], two[name])), None)


def _same(a, b) -> bool:
    """Return whether two attribute values are equal, including NaN and nested values."""
    return joblib.hash(a) == joblib.hash(b)
