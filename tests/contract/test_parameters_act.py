"""Every parameter of every public estimator does something: set to another value, what is fitted differs.

One that is stored and not handed on to where it acts is noticed here, whatever the method.
"""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

import isthmus

# Settings under which all others of a class are tried.
UNDER = {
    "CrossGuidedKMeans": {"n_clusters": 3, "n_init": 1},
    "SelfTrainingTransferClassifier": {"max_iter": 2},
    "TransductiveKernelClassifier": {"ngram_range": (3, 4)},
}
# Where a guess (twice, a tenth, another of the allowed words) does not do: what to set, and under which settings.
SET = {
    ("CoClusteringClassifier", "n_word_clusters"): ({}, 3),
    ("CoClusteringClassifier", "tol"): ({}, 0.5),
    ("CrossGuidedKMeans", "n_clusters"): ({}, 2),
    ("FactorDualClassifier", "cg_iter"): ({"solver": "cg"}, 1),
    ("FactorDualClassifier", "cg_tol"): ({"solver": "cg"}, 0.5),
    ("FactorDualClassifier", "max_exact"): ({"n_landmarks": 20}, 10),
    ("FactorDualClassifier", "n_landmarks"): ({"n_landmarks": 20, "max_exact": 10}, 5),
    ("FactorDualClassifier", "width"): ({}, 0.3),
    ("FactorDualClassifier", "word_gamma"): ({}, 0.5),
    ("FactorDualClassifier", "word_labels"): ({}, {0: "b"}),
    ("FactorDualClassifier", "word_width"): ({}, 0.3),
    ("ManifoldDualClassifier", "max_exact"): ({"n_landmarks": 20}, 10),
    ("ManifoldDualClassifier", "max_iter"): ({"solver": "cg"}, 1),
    ("ManifoldDualClassifier", "n_landmarks"): ({"n_landmarks": 20, "max_exact": 10}, 5),
    ("ManifoldDualClassifier", "tol"): ({"solver": "cg"}, 0.5),
    ("ManifoldDualClassifier", "width"): ({}, 0.3),
    ("ManifoldDualClassifier", "word_gamma"): ({}, 0.5),
    ("ManifoldDualClassifier", "word_labels"): ({}, {0: "b"}),
    ("ManifoldDualClassifier", "word_width"): ({}, 0.3),
    ("SelfTrainingTransferClassifier", "estimator"): ({}, LogisticRegression(C=0.01)),
    ("SourceOnlyClassifier", "cv"): ({"estimator": LinearSVC()}, 2),
    ("SourceOnlyClassifier", "estimator"): ({}, LogisticRegression(C=0.01)),
    ("TermProjection", "n_terms"): ({}, 5),
    ("TermProjectionClassifier", "C"): ({"classifier": "svm"}, 0.01),
    ("TermProjectionClassifier", "cross_fit"): ({}, 3),
    ("TermProjectionClassifier", "n_terms"): ({}, 5),
    ("TermProjectionClassifier", "target_idf"): ({"weighting": "tf-idf-pr"}, True),
    ("TransductiveKernelClassifier", "n_landmarks"): ({"max_exact": 10}, 5),
    ("TransductiveKernelClassifier", "ngram_range"): ({}, (2, 3)),
}
ELSEWHERE = {"random_state", "n_jobs", "device", "feature_names"}  # chance, speed and names: tests of their own
# What so small a task does not show; tests of the method do.
UNSEEN = {
    ("CoClusteringClassifier", "match"),
    ("CoClusteringClassifier", "refine"),
    ("CrossGuidedKMeans", "contexts"),
    ("CrossGuidedKMeans", "projection"),
    ("FactorDualClassifier", "n_init"),
    ("FactorDualClassifier", "word_classes"),
    ("TransductiveKernelClassifier", "max_exact"),
}


def cases():
    for name in sorted(isthmus._PUBLIC):
        cls = getattr(isthmus, name)
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and name != "ClassNameClassifier":
            for parameter in sorted(set(inspect.signature(cls).parameters) - ELSEWHERE):
                if (name, parameter) in UNSEEN:
                    continue
                yield pytest.param(cls, parameter, id=f"{name}-{parameter}")


@pytest.fixture(scope="module")
def rows():
    """Counts, texts with the same words, labels and sides: 48 documents of three classes, no two words alike."""
    rng = np.random.default_rng(0)
    y, domain = np.repeat(["a", "b", "c"], 16), np.tile([1, -1], 24)
    rates = np.full((48, 30), 0.6)
    for place, name in enumerate("abc"):
        rates[y == name, 6 * place : 6 * place + 6] = 1.6
    rates[domain < 0, 18:24] += 1.0
    X = rng.poisson(rates).astype(float)
    words = np.array([f"{'Bb'[i % 2]}{'dfg'[i % 3]}{'aeiou'[i % 5]}x" for i in range(30)])
    return X, ["  ".join(np.repeat(words, row.astype(int))) for row in X], y, domain


@pytest.fixture(scope="module")
def plain(rows):
    """What a class leaves under settings, fitted once."""
    kept = {}

    def leave(cls, settings):
        key = cls, repr(sorted(settings.items()))
        if key not in kept:
            kept[key] = fitted(cls, rows, settings)
        return kept[key]

    return leave


def fitted(cls, rows, settings):
    """What a fit leaves: every number that ends in an underscore, and what it says of the documents."""
    model = cls(**settings)
    X = rows[1] if get_tags(model).input_tags.string else rows[0]
    domain = {"sample_domain": rows[3]} if "sample_domain" in inspect.signature(cls.fit).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, rows[2], **domain)
        found = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
        found["says"] = getattr(model, "predict_proba", getattr(model, "transform", lambda X: model.labels_))(X)
    numbers = {}
    for name, value in found.items():
        value = value.toarray() if hasattr(value, "toarray") else value
        if isinstance(value, (int, float, str)) or getattr(value, "dtype", np.dtype("O")).kind in "biuf":
            numbers[name] = np.asarray(value).tolist()
    return numbers


def other_values(cls, parameter):
    value = inspect.signature(cls).parameters[parameter].default
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        number = type(value)
        return [number(max(1, value // 8)) if number is int else value / 10, value * 3, number(1), number(2)]
    rules = cls._parameter_constraints[parameter]
    return [option for rule in rules for option in sorted(getattr(rule, "options", ()), key=str) if option != value]


@pytest.mark.parametrize(("cls", "parameter"), list(cases()))
def test_a_parameter_acts(cls, parameter, rows, plain):
    chance = {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
    special = SET.get((cls.__name__, parameter))
    under, values = ({}, other_values(cls, parameter)) if special is None else (special[0], [special[1]])
    settings = UNDER.get(cls.__name__, {}) | chance | under
    tried = [value for value in values if value != settings.get(parameter)]
    assert any(fitted(cls, rows, settings | {parameter: value}) != plain(cls, settings) for value in tried), (
        f"{cls.__name__}({parameter}=…) changes nothing for {tried}"
    )
