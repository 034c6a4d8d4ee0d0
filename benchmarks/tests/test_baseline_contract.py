"""The baselines keep scikit-learn's contract and ours, and have the names of their rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from isthmus.estimator_checks import (
    check_every_parameter_has_a_rule,
    check_refuses_nonsense_parameters,
    transfer_checks,
)
from isthmus.exceptions import UsageError
from isthmus.methods import IN_BENCHMARKS, METHODS, get_method
from isthmus_bench import SUITES
from isthmus_bench.baselines import BASELINES, make_method

SOURCE = ["the kind staff", "the great bike", "our polite staff", "our fast bike"]
TEXTS = [*SOURCE, "the rude staff", "the slow bike", "staff of ours", "bike of ours"]
LABELS = ["staff", "product", "staff", "product", None, None, None, None]
# With C="auto" every fit of CORAL searches by 36 logistic regressions; the contract is about the estimator around it.
MODELS = [cls(C=1.0) if name == "coral" else cls() for name, (cls, _) in BASELINES.items()]
CHECKS = [(model, check) for model in MODELS for check in transfer_checks(model)]
MINUS_ONE = "-1 and 1 are used as class labels; here -1 means unlabelled, as in scikit-learn's SelfTrainingClassifier"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=lambda model: {"check_classifiers_classes": MINUS_ONE})
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize(
    ("model", "check"),
    CHECKS,
    ids=[f"{type(model).__name__}-{check.__name__}" for model, check in CHECKS],
)
def test_transfer_contract(model, check):
    check(clone(model))


@pytest.mark.parametrize("check", [check_every_parameter_has_a_rule, check_refuses_nonsense_parameters])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_parameters_have_rules(model, check):
    check(clone(model))


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_labels_texts_by_its_name(name):
    pipeline = make_method(name, min_df=1, random_state=3).fit(TEXTS, LABELS)
    assert pipeline.transduction_[-4:].tolist() == ["staff", "product"] * 2
    assert pipeline.steps[-1][1].get_params().get("random_state", 3) == 3


def test_other_names_are_methods_of_isthmus():
    ours = make_method("nbc", min_df=1).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        ours.transduction_, get_method("nbc").build_with(min_df=1).fit(TEXTS, LABELS).transduction_
    )


def test_the_main_package_names_the_command_that_runs_a_baseline():
    assert IN_BENCHMARKS.keys() == BASELINES.keys()
    assert not METHODS.keys() & BASELINES.keys()
    for name, (suite, task) in IN_BENCHMARKS.items():
        assert name in SUITES[suite].methods
        assert task in SUITES[suite].tasks
        with pytest.raises(UsageError) as error:
            get_method(name)
        assert error.value.code == "unknown-method"
        assert f"isthmus bench {suite} --task {task} --method {name}" in str(error.value)
