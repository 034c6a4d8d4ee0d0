"""The string kernels on a device, with numpy in CuPy's place: every line but the CUDA code."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from isthmus import StringKernel
from isthmus.exceptions import DataError, MissingExtraError
from isthmus.features import gram_gpu
from isthmus.features.gram import ngram_gram

KINDS = ("presence", "intersection", "spectrum")


def _encode(texts):
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4"), offsets


def _texts(n, seed=0, alphabet="abcd ", longest=60):
    rng = np.random.RandomState(seed)
    return ["".join(rng.choice(list(alphabet), rng.randint(0, longest))) for _ in range(n)]


def _device_gram(texts, lo, hi, kind, split=0):
    codes, offsets = _encode(texts)
    index = gram_gpu.GramIndex.build(np, codes, offsets, lo, hi, kind, split)
    return ngram_gram(codes, offsets, lo, hi, kind, split=split, index=index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])  # all columns, both, all lists
@pytest.mark.parametrize("split", [0, 17])
def test_the_integers_are_those_of_the_cpu(monkeypatch, kind, share, split):
    monkeypatch.setattr(gram_gpu, "DENSE_SHARE", share)
    texts = [*_texts(50), "aaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", ""]
    codes, offsets = _encode(texts)
    expected, diagonal = ngram_gram(codes, offsets, 2, 5, kind, split=split)
    found, own = _device_gram(texts, 2, 5, kind, split)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(own, diagonal)


@settings(max_examples=40)
@given(
    texts=st.lists(st.text(alphabet="ab\U0001f600", max_size=12), min_size=2, max_size=8),
    kind=st.sampled_from(KINDS),
    lengths=st.tuples(st.integers(1, 4), st.integers(0, 4)),
)
def test_any_texts_and_lengths(texts, kind, lengths):
    lo, hi = lengths[0], sum(lengths)
    codes, offsets = _encode(texts)
    expected, _ = ngram_gram(codes, offsets, lo, hi, kind)
    np.testing.assert_array_equal(_device_gram(texts, lo, hi, kind)[0], expected)


@pytest.mark.parametrize("lengths", [(1, 3), (3, 12)])
def test_large_alphabets_are_numbered_anew(lengths):
    """2¹⁸ symbols and long n-grams do not fit 63 bits: n-grams so far are replaced by their numbers."""
    rng = np.random.RandomState(1)
    codes = rng.randint(0, 300_000, 3_000).astype(np.uint32)
    codes[1_000:2_000] = codes[:1_000]
    offsets = np.array([0, 1_000, 1_900, 3_000])
    for kind in KINDS:
        expected, _ = ngram_gram(codes, offsets, *lengths, kind)
        index = gram_gpu.GramIndex.build(np, codes, offsets, *lengths, kind, 0)
        np.testing.assert_array_equal(ngram_gram(codes, offsets, *lengths, kind, index=index)[0], expected)


def test_counts_above_seven_bits_stay_lists():
    texts = ["a" * 400, "a" * 300 + "b", "ab" * 3]
    codes, offsets = _encode(texts)
    expected, _ = ngram_gram(codes, offsets, 1, 2, "spectrum")
    np.testing.assert_array_equal(_device_gram(texts, 1, 2, "spectrum")[0], expected)


def test_columns_keep_to_their_memory(monkeypatch):
    monkeypatch.setattr(gram_gpu, "DENSE_SHARE", 0.0)
    monkeypatch.setattr(gram_gpu, "DENSE_BYTES", 300)
    texts = _texts(30)
    codes, offsets = _encode(texts)
    index = gram_gpu.GramIndex.build(np, codes, offsets, 2, 3, "presence", 0)
    assert (index.dense != 0).any(axis=0).sum() <= 10
    expected, _ = ngram_gram(codes, offsets, 2, 3)
    np.testing.assert_array_equal(ngram_gram(codes, offsets, 2, 3, index=index)[0], expected)


class OnDevice(np.ndarray):
    """An array with a pointer where CuPy's have one."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def by_columns(pointer, rows, columns, stride, kind):
    """The matrix that cuBLAS sees at a pointer: one column after the other, each ``stride`` numbers behind the last."""
    dtype = np.dtype(next(name for name, number in gram_gpu._CUBLAS_TYPES.items() if number == kind))
    numbers = (ctypes.c_char * (((columns - 1) * stride + rows) * dtype.itemsize)).from_address(pointer)
    return as_strided(np.frombuffer(numbers, dtype), (rows, columns), (dtype.itemsize, stride * dtype.itemsize))


def gemm(
    _handle, flip_a, flip_b, m, n, k, one, a, kind_a, to_a, b, kind_b, to_b, old, c, kind_c, to_c, _how, _algorithm
):
    """cuBLAS's product of two matrices in numpy, by its own description: C = one · op(A) · op(B) + old · C."""
    left = by_columns(a, *((k, m) if flip_a else (m, k)), to_a, kind_a).astype(float)
    right = by_columns(b, *((n, k) if flip_b else (k, n)), to_b, kind_b).astype(float)
    out = by_columns(c, m, n, to_c, kind_c)
    factor, kept = (by_columns(number, 1, 1, 1, kind_c)[0, 0] for number in (one, old))
    out[:] = factor * (left.T if flip_a else left) @ (right.T if flip_b else right) + kept * out


@pytest.mark.parametrize(("kind", "sums"), [("int8", "int32"), ("float32", "float32"), ("float64", "float64")])
@pytest.mark.parametrize("flip", [True, False])
def test_products_on_a_device_are_those_of_numpy_also_in_parts_of_matrices(monkeypatch, kind, sums, flip):
    device = SimpleNamespace(get_cublas_handle=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(cublas=SimpleNamespace(gemmEx=gemm), device=device))
    rng = np.random.default_rng(0)
    a, b, out = (rng.integers(-9, 9, (20, 30 + i)).astype(name) for i, name in enumerate((kind, kind, sums)))
    parts = a[2:7, 3:11], b[4:10, 5:13] if flip else b[4:12, 5:11]
    expected = out.copy()
    gram_gpu.add_products(np, expected[1:6, 8:14], *parts, sign=-1, flip=flip)
    found, *parts = (array.view(OnDevice) for array in (out.copy(), *parts))
    gram_gpu.add_products(SimpleNamespace(), found[1:6, 8:14], *parts, sign=-1, flip=flip)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert (expected != out).any()


def test_the_kernel_asks_the_device(monkeypatch):
    asked = []

    def numpy_instead(device, n):
        asked.append((device, n))
        return np if device == "cuda" else None

    monkeypatch.setattr("isthmus.features.strings.array_module", numpy_instead)
    texts = [text + "xyz" for text in _texts(30)]
    for kind in KINDS:
        on, off = (StringKernel(kind, (2, 4), device=device) for device in ("cuda", "cpu"))
        np.testing.assert_array_equal(on.gram(texts), off.gram(texts))
        np.testing.assert_array_equal(on.gram(texts, normalize=True), off.gram(texts, normalize=True))
        np.testing.assert_array_equal(on.cross(texts[:9], texts[9:]), off.cross(texts[:9], texts[9:]))
    assert ("cuda", 30) in asked
    assert ("cuda", 13) in asked  # √(9 · 21)


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    assert gram_gpu.array_module("cpu", 10**6) is None
    assert gram_gpu.array_module("auto", 10**6) is None
    with pytest.raises(MissingExtraError, match=r"pip install 'isthmus\[gpu\]'") as caught:
        StringKernel(device="cuda").gram(["some text", "some more text"])
    assert caught.value.code == "missing-extra"


class _NoDevice:
    """CuPy on a machine without a driver."""

    class cuda:
        class runtime:
            class CUDARuntimeError(Exception):
                pass

            @classmethod
            def getDeviceCount(cls):
                raise cls.CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")


def test_without_a_gpu(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", _NoDevice)
    assert gram_gpu.array_module("auto", 10**6) is None
    with pytest.raises(ValueError, match=r"finds no usable GPU \(cudaErrorNoDevice") as caught:
        gram_gpu.array_module("cuda", 10)
    assert caught.value.code == "bad-parameter"


def test_auto_wants_a_problem_that_pays(monkeypatch):
    class Device(_NoDevice):
        class cuda:
            class runtime:
                CUDARuntimeError = Exception

                @staticmethod
                def getDeviceCount():
                    return 1

    monkeypatch.setitem(__import__("sys").modules, "cupy", Device)
    assert gram_gpu.array_module("auto", gram_gpu.AUTO_FROM) is Device
    assert gram_gpu.array_module("auto", gram_gpu.AUTO_FROM - 1) is None
    assert gram_gpu.array_module("cuda", 2) is Device


def test_memory_is_stated_and_refused(monkeypatch):
    from isthmus._progress import listen

    monkeypatch.setattr(gram_gpu, "free_bytes", lambda xp: 10_000)
    monkeypatch.setattr("isthmus.features.strings.array_module", lambda device, n: np)
    events = []
    with listen(events.append), pytest.raises(DataError, match=r"GB of GPU memory and 0\.0 GB are free") as caught:
        StringKernel(ngram_range=(2, 3), device="cuda").gram(["some text", "some more text"] * 20)
    assert caught.value.code == "too-large"
    assert events[0]["phase"] == "GPU memory"
    assert events[0]["done"] > 10_000
    assert events[0]["total"] == 10_000
    instead = StringKernel(ngram_range=(2, 3)).gram(["some text", "some more text"])  # "auto" stays on the CPU
    assert instead.tolist() == [[15, 15], [15, 24]]


def test_values_beyond_32_bits_are_refused():
    texts = ["a" * 50_000, "a" * 50_000]
    with pytest.raises(DataError, match="32 bits") as caught:
        _device_gram(texts, 1, 1, "spectrum")
    assert caught.value.code == "out-of-range"
