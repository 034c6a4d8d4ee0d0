"""Neither the order of the rows nor the number of threads changes a label: all recipes, the vote, groups, diagnosis."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from extras import need_vectors
from threadpoolctl import threadpool_info, threadpool_limits

import isthmus
from isthmus._utils import one_blas_thread
from isthmus.corpus import load_sample
from isthmus.methods import METHODS

N = 80


@pytest.fixture(scope="module")
def sample():
    source, target, _ = load_sample()
    rng = np.random.default_rng(3)
    return source.texts[:N], source.labels[:N], target.texts[:N], rng.permutation(N), rng.permutation(N)


def quietly(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def take(values, order):
    return [values[i] for i in order]


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_shuffled_documents_keep_their_labels(sample, method):
    need_vectors(method)
    source, labels, target, rows, places = sample
    words = {"staff": "staff", "price": "price"} if method in METHODS and METHODS[method].takes_words else None
    classes = sorted(set(labels))
    words = words and dict(zip(words, classes, strict=False))
    first = quietly(isthmus.label, source, labels, target, method=method, word_labels=words)
    other = quietly(
        isthmus.label, take(source, rows), take(labels, rows), take(target, places), method=method, word_labels=words
    )
    np.testing.assert_array_equal(other.labels, first.labels[places])
    np.testing.assert_allclose(other.confidence, first.confidence[places], atol=1e-9)
    np.testing.assert_array_equal(other.needs_review, first.needs_review[places])
    assert other.expected_accuracy.estimate == pytest.approx(first.expected_accuracy.estimate, abs=1e-9)
    assert other.method == first.method
    assert (
        other.predict(["the bill was too high", "kind people"]).tolist()
        == first.predict(["the bill was too high", "kind people"]).tolist()
    )


@pytest.mark.parametrize("method", ["vectors", "neighbours", "vectors-logistic", "vectors-kernel"])
def test_shuffled_documents_keep_their_labels_by_given_vectors(sample, method):
    source, labels, target, rows, places = sample
    vectors = np.random.default_rng(0).normal(size=(2, N, 8)).astype(np.float32)
    first = quietly(isthmus.label, source, labels, target, method=method, vectors=vectors)
    shuffled = vectors[0][rows], vectors[1][places]
    other = quietly(
        isthmus.label, take(source, rows), take(labels, rows), take(target, places), method=method, vectors=shuffled
    )
    np.testing.assert_array_equal(other.labels, first.labels[places])
    np.testing.assert_array_equal(other.needs_review, first.needs_review[places])


def test_shuffled_documents_keep_their_groups(sample):
    source, labels, target, rows, places = sample
    first = quietly(isthmus.cluster, source, labels, target)
    other = quietly(isthmus.cluster, take(source, rows), take(labels, rows), take(target, places))
    np.testing.assert_array_equal(other.labels, first.labels[places])
    assert other.names == first.names
    assert other.guidance_estimate.helps == first.guidance_estimate.helps
    assert other.guidance_estimate.expected == pytest.approx(first.guidance_estimate.expected, abs=1e-9)


def test_shuffled_documents_keep_their_diagnosis(sample):
    source, labels, target, rows, _places = sample
    copied = [*target[:5], *source[:3]]  # so that near duplicates are named, by the caller's row numbers
    first = quietly(isthmus.diagnose, source, labels, copied)
    other = quietly(isthmus.diagnose, take(source, rows), take(labels, rows), copied[::-1])
    repeats = [
        {"target": 7 - row["target"], "source": int(rows[row["source"]])} for row in other.tables["near_duplicates"]
    ]
    expected = [{"target": row["target"], "source": row["source"]} for row in first.tables["near_duplicates"]]
    assert sorted(repeats, key=str) == sorted(expected, key=str)
    del first.tables["near_duplicates"], other.tables["near_duplicates"]
    for row in other.tables["doubtful_labels"]:
        row["document"] = int(rows[row["document"] - 1]) + 1
    assert other.to_dict() == first.to_dict()


def test_the_same_documents_are_drawn_for_a_check(sample):
    source, labels, target, _, places = sample
    first = quietly(isthmus.label, source, labels, target, method="nbc")
    other = quietly(isthmus.label, source, labels, take(target, places), method="nbc")
    for budget in (None, 0.1):
        assert other.sample(20, budget=budget)["text"] == first.sample(20, budget=budget)["text"]


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_the_number_of_threads_changes_no_label(sample, method):
    need_vectors(method)
    source, labels, target = (part[:40] for part in sample[:3])
    words = dict(zip(("staff", "price"), sorted(set(labels)), strict=False))
    words = words if method in METHODS and METHODS[method].takes_words else None
    with threadpool_limits(1):
        first = quietly(isthmus.label, source, labels, target, method=method, word_labels=words)
    with threadpool_limits(2):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {2}
        other = quietly(isthmus.label, source, labels, target, method=method, word_labels=words)
    np.testing.assert_array_equal(other.labels, first.labels)
    np.testing.assert_allclose(other.confidence, first.confidence, atol=1e-9)
    assert other.method == first.method


def test_the_number_of_threads_changes_no_group_and_no_diagnosis(sample):
    source, labels, target = (part[:40] for part in sample[:3])
    told = []
    for number in (1, 2):
        with threadpool_limits(number):
            groups = quietly(isthmus.cluster, source, labels, target)
            found = quietly(isthmus.diagnose, source, labels, target)
            told.append((groups.labels.tolist(), groups.names, groups.guidance_estimate.helps, found.to_dict()))
    assert told[0] == told[1]


def test_methods_that_run_at_a_time_have_one_thread_of_linear_algebra_each():
    def threads(name=""):
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2):
        with one_blas_thread(), ThreadPoolExecutor(2) as pool:
            assert list(pool.map(threads, "ab")) == [{1}, {1}]
        assert threads() == {2}
