"""String kernels on texts."""

import gc
import os
import subprocess
import sys
import warnings
from dataclasses import fields

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from isthmus import StringKernel
from isthmus._progress import listen
from isthmus.exceptions import DataError, IsthmusError, IsthmusWarning, UsageError
from isthmus.features import strings
from isthmus.features.gram import normalize_kernel
from isthmus.features.strings import KernelSum


def test_lower_case_and_white_space():
    kernel = StringKernel(ngram_range=(1, 2))
    assert kernel.cross(["A  b\n"], ["a b"])[0, 0] == kernel.gram(["a b"])[0, 0]
    exact = StringKernel(ngram_range=(1, 1), lowercase=False, squeeze=False)
    assert exact.cross(["A"], ["a"])[0, 0] == 0


@pytest.mark.parametrize("text", ["Привет, мир", "السلام عليكم", "今天天气很好", "👩‍👩‍👧 🙂", "e\u0301te\u0301"])
def test_any_script(text):
    n = len(text)
    K = StringKernel(ngram_range=(1, 2), lowercase=False, squeeze=False).gram([text, text[::-1]])
    assert K[0, 0] == len(set(text)) + len({text[i : i + 2] for i in range(n - 1)})
    assert K[0, 1] >= len(set(text))


def test_normalised_equals_raw_divided():
    texts = ["banana", "bandana", "cabana"]
    kernel = StringKernel("spectrum", (2, 3))
    raw = kernel.gram(texts)
    np.testing.assert_allclose(
        kernel.gram(texts, normalize=True), normalize_kernel(raw, np.diag(raw), np.diag(raw)), rtol=1e-5, atol=1e-8
    )
    cross = StringKernel("spectrum", (2, 3), normalize=True).cross(texts[:1], texts[1:])
    np.testing.assert_allclose(cross, kernel.gram(texts, normalize=True)[:1, 1:], rtol=1e-5, atol=1e-8)


def test_sum_of_kernels():
    texts = ["banana", "bandana"]
    first, second = StringKernel("presence", (2, 2)), StringKernel("spectrum", (3, 3))
    np.testing.assert_array_equal((first + second).gram(texts), first.gram(texts) + second.gram(texts))
    weighted = KernelSum((first, second), (2.0, 0.5))
    np.testing.assert_array_equal(
        weighted(texts, texts[:1]), 2 * first(texts, texts[:1]) + 0.5 * second(texts, texts[:1])
    )
    more = (weighted + first).gram(texts)
    np.testing.assert_array_equal(more, 3 * first.gram(texts) + 0.5 * second.gram(texts), err_msg="weights are kept")


def test_short_texts_survive_and_say_so():
    with pytest.warns(IsthmusWarning, match="2 of 3 texts are shorter") as caught:
        K = StringKernel(normalize=True).gram(["abc", "", "long enough"])
    assert caught[0].message.code == "empty-documents"
    np.testing.assert_array_equal(K, np.eye(3))


def test_identical_texts():
    K = StringKernel(normalize=True).gram(["the same text"] * 3)
    np.testing.assert_allclose(K, 1.0, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "texts"),
    [
        (StringKernel("subsequence"), ["a text"]),
        (StringKernel(ngram_range=(3, 2)), ["a text"]),
        (StringKernel(ngram_range=(0, 2)), ["a text"]),
        (StringKernel(ngram_range=5), ["a text"]),
        (StringKernel(), "one string"),
        (StringKernel(), ["a text", None]),
        (StringKernel(), []),
    ],
)
def test_wrong_input_is_refused(kernel, texts):
    with pytest.raises(IsthmusError) as caught:
        kernel.gram(texts)
    assert caught.value.code


@pytest.mark.parametrize(
    "value", [object(), float("nan"), float("inf"), -7, "no such value", (3, 2), (0, 1), (1, 2, 3)]
)
@pytest.mark.parametrize("name", [field.name for field in fields(StringKernel)])
def test_nonsense_in_any_setting_is_refused(name, value):
    with pytest.raises(UsageError, match=f"{name}.*StringKernel|StringKernel.*{name}") as caught:
        StringKernel(**{name: value}).gram(["banana"])
    assert caught.value.code == "bad-parameter"
    assert set(StringKernel._parameter_constraints) == {field.name for field in fields(StringKernel)}


def test_file_output_and_progress(tmp_path):
    texts = ["banana", "bandana", "cabana"]
    kernel = StringKernel(ngram_range=(2, 3))
    events = []
    with listen(events.append):
        K = kernel.gram(texts, out=tmp_path / "kernel.npy", normalize=True)
    assert events[-1]["phase"] == "comparing texts"
    assert events[-1]["done"] == 3
    assert isinstance(K, np.memmap)
    K.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "kernel.npy"), kernel.gram(texts, normalize=True))
    with pytest.raises(DataError):
        kernel.gram(texts, out=np.empty((2, 2)))


def test_matrix_that_does_not_fit_goes_to_a_file_until_it_is_no_longer_used(monkeypatch, tmp_path):
    monkeypatch.setattr(strings, "_free_memory", lambda: 10)
    monkeypatch.setattr(strings.tempfile, "tempdir", str(tmp_path))
    with pytest.warns(IsthmusWarning, match="is written to") as caught:
        K = StringKernel(ngram_range=(2, 3)).gram(["banana", "bandana"])
    assert caught[0].message.code == "fallback"
    assert isinstance(K, np.memmap)
    assert K.tolist() == [[6, 5], [5, 10]]
    row = np.asarray(K)[1]
    assert len(list(tmp_path.glob("isthmus-kernel-*.npy"))) == 1
    del K
    gc.collect()
    assert row.tolist() == [5, 10]
    assert len(list(tmp_path.iterdir())) == 1
    del row
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_no_file_is_left_by_a_failure_or_at_the_end_of_the_process(monkeypatch, tmp_path):
    monkeypatch.setattr(strings, "_free_memory", lambda: 10)
    monkeypatch.setattr(strings.tempfile, "tempdir", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IsthmusWarning):
            StringKernel(ngram_range=(2, 3)).gram(["banana", "bandana"])
    assert list(tmp_path.iterdir()) == []
    code = (
        "import isthmus.features.strings as s; s._free_memory = lambda: 10\n"
        "held = s.StringKernel(ngram_range=(2, 3)).gram(['banana', 'bandana'])\n"
        "assert held.filename; raise SystemExit(3)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []


def test_unknown_addition_is_a_type_error():
    with pytest.raises(TypeError):
        StringKernel() + 3


def test_usage_errors_are_value_errors():
    assert issubclass(UsageError, ValueError)


@pytest.mark.data
def test_equal_to_scikit_learn_on_reviews(data_dir):
    from isthmus_bench.tasks import AMAZON_PAIRS

    task = AMAZON_PAIRS["books-kitchen"].load(data_dir)
    texts = [StringKernel().prepare(text) for text in [*task.source_texts[:60], *task.target_texts[:60]]]
    counts = CountVectorizer(analyzer="char", ngram_range=(5, 8)).fit_transform(texts)
    for kind, X in (("presence", counts.sign()), ("spectrum", counts)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)
            K = StringKernel(kind).gram(texts)
        np.testing.assert_array_equal(K, (X @ X.T).toarray(), err_msg=kind)


def test_a_kernel_shows_a_text_as_it_reads_it():
    text = "A  B\n"
    assert StringKernel(ngram_range=(1, 1)).prepare(text).strip() == "a b"
    assert StringKernel(ngram_range=(1, 1), lowercase=False).prepare(text).strip() == "A B"
    assert StringKernel(ngram_range=(1, 1), squeeze=False).prepare(text) == text.lower()
    names, _, _ = StringKernel(ngram_range=(1, 1), lowercase=False, squeeze=False).counts("Aa", ["a"])
    assert names == ["A", "a"], "names of n-grams are cut from what the kernel compares"


def test_numbers_of_a_kernel_are_of_the_kind_that_was_asked_for():
    texts = ["banana", "bandana"]
    kernel = StringKernel(ngram_range=(2, 2))
    assert kernel.gram(texts).dtype == np.int32
    assert StringKernel("spectrum", (2, 2)).gram(texts).dtype == np.int64
    for matrix in (kernel.gram(texts, dtype=np.int64), kernel.cross(texts, texts, dtype=np.int64)):
        assert matrix.dtype == np.int64
        assert matrix.tolist() == [[3, 3], [3, 5]], "ba, an, na; and ba, an, nd, da, na"
    assert kernel.gram(texts, normalize=True, dtype=np.float32).dtype == np.float32
    room = np.zeros((2, 2), dtype=np.int64)
    assert kernel.gram(texts, out=room) is room
    assert room.tolist() == [[3, 3], [3, 5]]


def test_a_sum_of_kernels_is_normalised_where_that_is_asked():
    texts = ["banana", "bandana"]
    both = StringKernel("presence", (2, 2)) + StringKernel("spectrum", (2, 2))
    for matrix in (both.gram(texts, normalize=True), both.cross(texts, texts, normalize=True)):
        np.testing.assert_allclose(np.diag(matrix), [2.0, 2.0], err_msg="one of each kernel")
    assert both.gram(texts)[0, 0] == 3 + 1 + 4 + 4, "as the kernels are set: ba, an and na; an and na twice"
    np.testing.assert_array_equal(both(texts), both.gram(texts))
    np.testing.assert_array_equal(both.kernels[0](texts), both.kernels[0].gram(texts))


def test_what_has_no_rows_for_further_texts_is_no_kernel_to_add():
    class Half:
        def gram(self, texts):
            return np.eye(len(texts))

    with pytest.raises(TypeError):
        StringKernel() + Half()
