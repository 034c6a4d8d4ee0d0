"""Write tiny models in ONNX format byte by byte, with word-level tokenizers, as stand-ins for sentence encoders.

Only the few fields of the format that these models need are written (protocol buffers: field number and wire type,
then a number or the length and the bytes).
"""

import numpy as np
import pytest

FLOAT, INT64 = 1, 7  # element types of the format
EMPTY = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def tensor(name, values):
    values = np.asarray(values)
    kind = INT64 if values.dtype == np.int64 else FLOAT
    raw = values.astype(np.int64 if kind == INT64 else np.float32).tobytes()
    return b"".join(number(1, size) for size in values.shape) + number(2, kind) + chunk(8, name) + chunk(9, raw)


def node(kind, inputs, output, **ints):
    made = b"".join(chunk(1, name) for name in inputs) + chunk(2, output) + chunk(4, kind)
    return made + b"".join(chunk(5, chunk(1, name) + number(3, value) + number(20, 2)) for name, value in ints.items())


def value_info(name, kind, sizes):
    shape = b"".join(chunk(1, number(1, size) if isinstance(size, int) else chunk(2, size)) for size in sizes)
    return chunk(1, name) + chunk(2, chunk(1, number(1, kind) + chunk(2, shape)))


def model(nodes, constants, inputs, output, sizes):
    """Return the bytes of a model with inputs of shape (batch, length)."""
    graph = b"".join(chunk(1, one) for one in nodes) + chunk(2, "tiny")
    graph += b"".join(chunk(5, tensor(name, values)) for name, values in constants.items())
    graph += b"".join(chunk(11, value_info(name, INT64, ("batch", "length"))) for name in inputs)
    graph += chunk(12, value_info(output, FLOAT, sizes))
    return number(1, 8) + chunk(7, graph) + chunk(8, number(2, 13))


def write_tokenizer(path, words):
    tokenizers = pytest.importorskip("tokenizers", reason="extra onnx is not installed")
    vocabulary = EMPTY | {word: len(EMPTY) + place for place, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(path))


def write_encoder(
    folder, vectors, file="model.onnx", inputs=("input_ids", "attention_mask"), output="last_hidden_state"
):
    """Write an encoder that looks up one vector per word; [CLS] and [SEP] have the vectors 1, 0, … and 0, ….

    With the output sentence_embedding, the model sums the vectors itself.
    """
    size = len(next(iter(vectors.values())))
    table = np.zeros((len(EMPTY) + len(vectors), size))
    table[2, 0] = 1.0
    table[len(EMPTY) :] = list(vectors.values())
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    nodes, sizes = [node("Gather", ["table", "input_ids"], output)], ("batch", "length", size)
    if output == "sentence_embedding":
        nodes = [
            node("Gather", ["table", "input_ids"], "rows"),
            node("ReduceSum", ["rows", "middle"], output, keepdims=0),
        ]
        sizes = ("batch", size)
    made = model(nodes, {"table": table, "middle": np.int64([1])}, inputs, output, sizes)
    (folder / file).write_bytes(made)
    write_tokenizer(folder / "tokenizer.json", vectors)
    return folder


def write_entailment(folder, topics):
    """Write a model of two texts: it prefers entailment if their words share topics, and contradiction otherwise."""
    table = np.zeros((len(EMPTY) + len(topics), max(topics.values()) + 1))
    table[np.arange(len(topics)) + len(EMPTY), list(topics.values())] = 1.0
    nodes = [
        node("Cast", ["token_type_ids"], "second", to=FLOAT),
        node("Sub", ["one", "second"], "first"),
        node("Gather", ["table", "input_ids"], "rows"),
        *(step for side in ("first", "second") for step in (
            node("Unsqueeze", [side, "last"], f"{side}_column"),
            node("Mul", ["rows", f"{side}_column"], f"{side}_rows"),
            node("ReduceSum", [f"{side}_rows", "middle"], f"{side}_sum", keepdims=0),
        )),
        node("Mul", ["first_sum", "second_sum"], "products"),
        node("ReduceSum", ["products", "middle"], "score", keepdims=1),
        node("Mul", ["score", "weights"], "logits"),
    ]  # fmt: skip
    constants = {
        "table": table,
        "one": np.float32([1]),
        "last": np.int64([2]),
        "middle": np.int64([1]),
        "weights": np.float32([[2, 0, -2]]),  # entailment, neutral, contradiction
    }
    made = model(nodes, constants, ("input_ids", "attention_mask", "token_type_ids"), "logits", ("batch", 3))
    (folder / "model.onnx").write_bytes(made)
    write_tokenizer(folder / "tokenizer.json", topics)
    return folder
