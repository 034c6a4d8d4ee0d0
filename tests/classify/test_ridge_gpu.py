"""The transductive kernel classifier on a device, with numpy in CuPy's place: the CPU's scores and labels."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus import TransductiveKernelClassifier
from isthmus.classify.strings import ridge_gpu
from isthmus.exceptions import DataError, IsthmusWarning


@pytest.fixture
def device(monkeypatch):
    """numpy as the array module of device="cuda", with blocks so small that there are several of each."""
    monkeypatch.setattr(
        "isthmus.classify.strings.classifier.array_module", lambda device, n: np if device == "cuda" else None
    )
    monkeypatch.setattr(ridge_gpu, "PANEL", 37)
    monkeypatch.setattr(ridge_gpu, "FACTOR_BLOCK", 16)
    monkeypatch.setattr(ridge_gpu, "ROW_BLOCK", 29)
    monkeypatch.setattr(ridge_gpu, "DIRECTIONS", 5)


def _task(n=140, seed=0, classes=("good", "bad", "odd")):
    """Texts of two domains: words of the class, of the domain, and of neither; some texts occur twice."""
    rng = np.random.RandomState(seed)
    texts, labels, domain = [], [], []
    for i in range(n):
        target = i % 5 >= 3
        own = classes[rng.randint(len(classes))]
        words = [f"{own}{rng.randint(4)}" for _ in range(4)]
        words += [f"{'film' if target else 'book'}{rng.randint(6)}" for _ in range(5)]
        words += [f"w{rng.randint(30)}" for _ in range(rng.randint(1, 9))]
        texts.append(" ".join(rng.permutation(words)))
        labels.append(None if target else own)
        domain.append(-1 if target else 1)
    texts[10] = texts[5]
    texts[8] = texts[3]
    return texts, np.array(labels, dtype=object), np.array(domain)


SETTINGS = [
    {},
    {"align": "mean", "alpha": 1e-4},
    {"align": "domain"},
    {"classifier": "discriminant"},
    {"max_iter": 4, "align": "mean", "alpha": 1e-4},
    {"transductive": False},
    {"transductive": False, "classifier": "discriminant"},
    {"rbf": False},
    {"kernel": "intersection"},
    {"kernel": "spectrum", "align": "mean"},
    {"max_iter": 1},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scores_and_labels_are_those_of_the_cpu(device, settings):
    texts, labels, domain = _task()
    new = _task(40, seed=9)[0]
    cpu, gpu = (
        TransductiveKernelClassifier(**{"ngram_range": (3, 5), **settings}, device=where).fit(texts, labels, domain)
        for where in ("cpu", "cuda")
    )
    scale = np.abs(cpu.target_scores_).max()
    np.testing.assert_allclose(gpu.target_scores_, cpu.target_scores_, rtol=0, atol=1e-6 * scale)
    assert gpu.transduction_.tolist() == cpu.transduction_.tolist()
    assert gpu.history_ == cpu.history_
    np.testing.assert_allclose(gpu.inverse_temperature_, cpu.inverse_temperature_, rtol=1e-4)
    expected = cpu.decision_function(new)
    np.testing.assert_allclose(gpu.decision_function(new), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_other_kernels_go_through_the_same_door(device):
    texts, labels, domain = _task(100)
    K = np.array(
        [
            [len(set(a.split()) & set(b.split())) / np.sqrt(len(set(a.split())) * len(set(b.split()))) for b in texts]
            for a in texts
        ]
    )
    for settings in ({}, {"transductive": False}):
        cpu, gpu = (
            TransductiveKernelClassifier("precomputed", device=where, **settings).fit(K, labels, domain)
            for where in ("cpu", "cuda")
        )
        np.testing.assert_allclose(gpu.target_scores_, cpu.target_scores_, atol=1e-6 * np.abs(cpu.target_scores_).max())
    with pytest.raises(DataError, match="needs a normalised kernel"):
        TransductiveKernelClassifier("precomputed", device="cuda").fit(3 * K, labels, domain)


def test_an_indefinite_kernel_is_refused(device):
    _, labels, domain = _task(60)
    drawn = np.random.RandomState(0).standard_normal((60, 60))
    K = (drawn + drawn.T) / 40
    np.fill_diagonal(K, 0.0)
    plain = {"transductive": False, "rbf": False, "alpha": 0.0, "max_iter": 1}
    with pytest.raises(DataError, match="not positive definite") as caught:
        TransductiveKernelClassifier("precomputed", device="cuda", **plain).fit(K, labels, domain)
    assert caught.value.code == "bad-kernel"


def test_a_factor_that_fails_is_taken_with_a_larger_shift(device, monkeypatch):
    texts, labels, domain = _task()
    expected = TransductiveKernelClassifier(ngram_range=(3, 5), device="cpu").fit(texts, labels, domain)
    tried = []
    real = ridge_gpu._cholesky

    def fails_at_first(xp, block):
        tried.append(len(block))
        return None if len(tried) == 1 else real(xp, block)

    monkeypatch.setattr(ridge_gpu, "_cholesky", fails_at_first)
    model = TransductiveKernelClassifier(ngram_range=(3, 5), device="cuda").fit(texts, labels, domain)
    scale = np.abs(expected.target_scores_).max()
    np.testing.assert_allclose(model.target_scores_, expected.target_scores_, rtol=0, atol=1e-6 * scale)


def test_too_few_steps_are_said(device, monkeypatch):
    monkeypatch.setattr(ridge_gpu, "MOST_STEPS", 1)
    texts, labels, domain = _task()
    with pytest.warns(IsthmusWarning, match="stopped after 1 steps") as caught:
        TransductiveKernelClassifier(ngram_range=(3, 5), device="cuda", max_iter=1).fit(texts, labels, domain)
    assert caught[0].message.code == "not-converged"


def test_landmarks_know_the_device(device, monkeypatch):
    """On the CPU 12,000 documents are the limit, on a device its memory; a number holds on both."""
    monkeypatch.setattr("isthmus.features.strings.array_module", lambda device, n: None)
    monkeypatch.setattr("isthmus.classify.strings.classifier.MOST_EXACT", 100)
    monkeypatch.setattr("isthmus.classify.strings.classifier.LANDMARKS", 80)
    texts, labels, domain = _task()
    kept = {"ngram_range": (3, 5), "random_state": 0}
    with pytest.warns(IsthmusWarning, match="140 documents are more than max_exact=100"):
        TransductiveKernelClassifier(**kept, device="cpu").fit(texts, labels, domain)
    assert TransductiveKernelClassifier(**kept, device="cuda").fit(texts, labels, domain).landmarks_ is None
    with pytest.warns(IsthmusWarning, match="140 documents are more than max_exact=120"):
        TransductiveKernelClassifier(**kept, device="cuda", max_exact=120).fit(texts, labels, domain)
    few = TransductiveKernelClassifier(**kept, device="cuda", n_landmarks=30).fit(texts, labels, domain)
    assert len(few.landmarks_) == 30


def test_what_does_not_fit_is_refused_or_left_to_the_cpu(monkeypatch):
    monkeypatch.setattr("isthmus.classify.strings.classifier.array_module", lambda device, n: np)
    monkeypatch.setattr("isthmus.features.strings.array_module", lambda device, n: np)
    monkeypatch.setattr("isthmus.features.gram_gpu.free_bytes", lambda xp: 1_000_000)
    texts, labels, domain = _task()
    with pytest.raises(DataError, match=r"The exact method for 140 documents takes .* GB of GPU memory") as caught:
        TransductiveKernelClassifier(ngram_range=(3, 5), device="cuda").fit(texts, labels, domain)
    assert caught.value.code == "too-large"
    model = TransductiveKernelClassifier(ngram_range=(3, 5), device="auto").fit(texts, labels, domain)
    assert model.landmarks_ is None  # few enough for the CPU
    assert len(model.predict(texts[:9])) == 9


def test_a_hundred_thousand_documents_fit_a_card_of_141_gigabytes():
    assert ridge_gpu.solve_bytes(100_000, 75_000, 2) < 100e9
    assert ridge_gpu.solve_bytes(150_000, 112_500, 2) > 150e9  # ran out of memory when it was tried
