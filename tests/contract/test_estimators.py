"""Every public estimator: scikit-learn's checks and ours."""

import importlib
import inspect
import pkgutil
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import isthmus
from isthmus import SourceOnlyClassifier
from isthmus._progress import listen
from isthmus.base import TransferClassifier
from isthmus.classify.labeller import LabellerClassifier
from isthmus.estimator_checks import (
    check_every_parameter_has_a_rule,
    check_refuses_nonsense_parameters,
    first_difference,
    transfer_checks,
)
from isthmus.exceptions import UsageError
from isthmus.features import TextVectorizer
from isthmus.pipeline import TransferPipeline
from isthmus_bench.shifted import make_shifted_texts


def public_estimators():
    values = [getattr(isthmus, name) for name in sorted(isthmus._PUBLIC)]
    return [value for value in values if inspect.isclass(value) and issubclass(value, BaseEstimator)]


def transfer_estimators():
    return [cls for cls in public_estimators() if "sample_domain" in inspect.signature(cls.fit).parameters]


# Checks that a classifier here cannot pass, with the reason. A check that passes again fails the suite (xfail is
# strict), so the list cannot go stale.
MINUS_ONE = "it uses -1 and 1 as class labels; -1 means unlabelled here, as in scikit-learn's SelfTrainingClassifier"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


# Settings under which a search inside an estimator looks at one value: the contract is about the estimator around it.
# With its defaults this one passes the same checks, in 19 seconds of CPU: every fit searches all numbers of clusters.
QUICK = {"CrossGuidedKMeans": {"n_clusters": 2, "n_init": 1}}


def quick(cls):
    return cls(**QUICK.get(cls.__name__, {}))


def expected_failures(estimator):
    expected = dict(EXPECTED_FAILURES.get(type(estimator).__name__, {}))
    if isinstance(estimator, ClassifierMixin) and get_tags(estimator).input_tags.two_d_array:
        expected["check_classifiers_classes"] = MINUS_ONE
    return expected


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@parametrize_with_checks(
    # scikit-learn has no data for estimators of raw texts; ours are checked by the transfer contract below.
    [quick(cls) for cls in public_estimators() if not get_tags(cls()).input_tags.string],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize(
    ("cls", "check"),
    [
        pytest.param(cls, check, id=f"{cls.__name__}-{check.__name__}")
        for cls in transfer_estimators()
        for check in transfer_checks(cls())
    ],
)
def test_transfer_contract(cls, check):
    check(quick(cls))


# What stops as soon as it changes nothing more tells of fewer steps than it might have made.
STOPS_EARLY = {"FactorDualClassifier"}


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("cls", transfer_estimators())
def test_a_fit_tells_how_far_it_is_until_it_is_over(cls):
    made = make_shifted_texts(60, 50, n_classes=2, random_state=3)
    texts = get_tags(cls()).input_tags.string
    heard = {}
    with listen(lambda event: heard.setdefault(event["phase"], []).append((event["done"], event["total"]))):
        quick(cls).fit(made.texts if texts else TextVectorizer(min_df=1).fit_transform(made.texts),
                       made.labels, sample_domain=made.sample_domain)  # fmt: skip
    for phase, steps in heard.items():
        done, totals = [step for step, _ in steps], {total for _, total in steps}
        assert len(totals) == 1, f"{phase}: {steps}"
        assert done == sorted(done), f"{phase}: {steps}"
        assert done[-1] == totals.pop() or cls.__name__ in STOPS_EARLY, f"{phase}: {steps}"


def other_estimators():
    """Every estimator and transformer of the package and its benchmarks that is not on the list of public names."""
    importlib.import_module("isthmus_bench.baselines")
    importlib.import_module("isthmus_bench.baselines.least_squares")
    for room in ("classify", "clustering", "features"):
        package = importlib.import_module(f"isthmus.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found, open_ = set(), [BaseEstimator]
    while open_:
        below = open_.pop().__subclasses__()
        open_ += below
        found |= {
            cls
            for cls in below
            if cls.__module__.startswith(("isthmus.", "isthmus_bench.")) and "__init__" in vars(cls)
        }
    return sorted(found - set(public_estimators()) - {TransferPipeline}, key=lambda cls: cls.__name__)


OTHERS = other_estimators()


@pytest.mark.parametrize("check", [check_every_parameter_has_a_rule, check_refuses_nonsense_parameters])
@pytest.mark.parametrize("cls", OTHERS)
def test_parameters_of_others(cls, check):
    check(cls(len) if cls is LabellerClassifier else cls())


@pytest.mark.parametrize("cls", [*public_estimators(), *OTHERS])
def test_constructors_are_keyword_only(cls):
    """All but the one or two parameters that name what the estimator is about, as in scikit-learn."""
    parameters = list(inspect.signature(cls).parameters.values())
    positional = [one.name for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert set(positional) <= {
        "classes",
        "estimator",
        "kernel",
        "labeller",
        "loss",
        "model",
        "n_clusters",
        "n_components",
        "ngram_range",
    }
    assert all(one.default is None for one in parameters if one.name == "random_state")


class Careless(TransferClassifier):
    """Its table forgets one parameter and is too wide for the other."""

    _parameter_constraints = {"width": [object]}

    def __init__(self, *, width=1.0, forgotten=None):
        self.width = width
        self.forgotten = forgotten

    def _fit(self, domains):
        return np.zeros(len(domains.target), dtype=int)


def test_careless_tables_are_seen(monkeypatch):
    with pytest.raises(AssertionError, match="does not say what forgotten may be"):
        check_every_parameter_has_a_rule(Careless())
    monkeypatch.setitem(Careless._parameter_constraints, "forgotten", [None])
    with pytest.raises(AssertionError, match=r"width=.* was accepted"):
        check_refuses_nonsense_parameters(Careless())


@pytest.mark.parametrize(
    ("model", "parameter"),
    [
        (isthmus.CoClusteringClassifier(n_init=0), "n_init"),
        (isthmus.CoClusteringClassifier(n_init=True), "n_init"),
        (isthmus.CoClusteringClassifier(trade_off=-1), "trade_off"),
        (isthmus.CoClusteringClassifier(tol=1), "tol"),
        (isthmus.CrossGuidedKMeans(n_init="x"), "n_init"),
        (isthmus.CrossGuidedKMeans(guidance=2), "guidance"),
        (isthmus.SourceOnlyClassifier("svm"), "estimator"),
        (isthmus.TermProjection(norm="l3"), "norm"),
        (isthmus.TermProjectionClassifier(adapt_share=1.5), "adapt_share"),
        (isthmus.CoClusteringClassifier(random_state=-1), "random_state"),
        (isthmus.ManifoldDualClassifier(word_labels=3), "word_labels"),
    ],
)
def test_error_names_estimator_parameter_and_value(model, parameter):
    with pytest.raises(UsageError) as caught:
        model.fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    for part in (type(model).__name__, parameter, repr(getattr(model, parameter))):
        assert part in str(caught.value)
    assert caught.value.code == "bad-parameter"


SPARSE = sp.csr_array([[1.0, 0.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SPARSE, sp.csr_array([[1.0, 0.0], [0.0, 3.0]])),
        (SPARSE, sp.csr_array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])),
        (SPARSE, SPARSE.toarray()),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
        (np.array([1.0, 2.0]), np.array([[1.0, 2.0]])),
        (np.array([1, 2]), [1, 2]),
        (np.array(["a", None], object), np.array(["a", "b"], object)),
        ({"a": np.zeros(2)}, {"a": np.ones(2)}),
        ({"a": 1}, {"b": 1}),
        ([1.0, 2.0], [1.0]),
        ((0, {"a": SPARSE}), (0, {"a": SPARSE * 2})),
        (1.0, float("nan")),
        (SourceOnlyClassifier(), SourceOnlyClassifier().fit([[0.0], [1.0], [1.0]], [0, 1, -1])),
        (SimpleNamespace(a=1), SimpleNamespace(a=2)),
        ("text", b"text"),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}),
        ([1.0, 2.0], [1.0, 3.0]),
    ],
    ids=range(17),
)
def test_what_differs_after_two_fits_is_named(one, other):
    """By this the checks compare two fits: same seed, other rows order, a fit repeated."""
    first, second = (SimpleNamespace(same_=3, found_=value, _hidden_=value) for value in (one, other))
    assert first_difference(first, second) == "found_"
    assert first_difference(second, first) == "found_"
    assert first_difference(first, SimpleNamespace(**deepcopy(vars(first)))) is None
    assert first_difference(first, SimpleNamespace(same_=3)) == "the set of attributes (found_)"


def test_there_are_estimators_to_check():
    assert {"KernelLeastSquares", "LaplacianLeastSquares", "TextVectorizer"} <= {cls.__name__ for cls in OTHERS}
    assert {"SourceOnlyClassifier", "SelfTrainingTransferClassifier"} <= {cls.__name__ for cls in transfer_estimators()}
