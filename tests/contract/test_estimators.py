"""Every public estimator: scikit-learn's checks and ours."""

import inspect

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import isthmus
from isthmus.estimator_checks import transfer_checks


def public_estimators():
    values = [getattr(isthmus, name) for name in sorted(isthmus._PUBLIC)]
    return [value for value in values if inspect.isclass(value) and issubclass(value, BaseEstimator)]


def transfer_estimators():
    return [cls for cls in public_estimators() if "sample_domain" in inspect.signature(cls.fit).parameters]


# Checks that a classifier here cannot pass, with the reason. A check that passes again fails the suite (xfail is
# strict), so the list cannot go stale.
MINUS_ONE = "it uses -1 and 1 as class labels; -1 means unlabelled here, as in scikit-learn's SelfTrainingClassifier"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


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
    [cls() for cls in public_estimators() if not get_tags(cls()).input_tags.string],
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
    check(cls())


def test_there_are_estimators_to_check():
    assert {"SourceOnlyClassifier", "SelfTrainingTransferClassifier"} <= {cls.__name__ for cls in transfer_estimators()}
