"""What a new process loads and leaves alone, step by step: one process takes all steps, the lightest first."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import isthmus

# After each step: its name, and the packages loaded by then; a step may also say something.
STEPS = """
import json, sys

def tell(step, said=None):
    print(json.dumps([step, [name for name in sys.modules if "." not in name], said]))

import isthmus
dir(isthmus)
tell("import isthmus")
tell("a name of a room", isthmus.features.tf_chi2.__module__)
import isthmus.features.embeddings
isthmus.features.embeddings.has_static_vectors()
tell("name the packages of vectors")
from isthmus.corpus import read_collection
read_collection("a.csv")
tell("read csv")
texts = ["some words here", "other words there"] * 200
isthmus.StringKernel().gram(texts)
isthmus.TransductiveKernelClassifier().fit(texts, ["a", "b"] * 100 + [None] * 200)
tell("fit a few texts")
from isthmus.corpus.sample import load_sample
source, target, _ = load_sample()
isthmus.label(source.texts, source.labels, target.texts)
tell("label the sample")
import sklearn
before = sklearn.get_config()
[getattr(isthmus, name) for name in isthmus._PUBLIC]
tell("everything public", sklearn.get_config() == before)
"""
VECTORS = ["wordllama", "torch", "tokenizers", "sentence_transformers"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    (folder / "a.csv").write_text("text,label\none,a\n")
    command = [sys.executable, "-W", "ignore", "-c", STEPS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {step: (set(loaded), said) for step, loaded, said in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(
    ("step", "not_loaded"),
    [
        ("import isthmus", ["numba", "polars", "pandas", "typer", "altair", "jinja2", "rich"]),
        ("name the packages of vectors", VECTORS),
        ("read csv", ["polars"]),
        ("fit a few texts", ["cupy"]),
        ("label the sample", ["cupy"]),
        ("everything public", ["cupy"]),
    ],
)
def test_a_step_loads_no_more_than_it_needs(steps, step, not_loaded):
    assert steps[step][0] & set(not_loaded) == set()


def test_rooms_with_public_names_need_no_import_of_their_own(steps):
    """``import isthmus`` is enough for ``isthmus.features.tf_chi2``."""
    assert steps["a name of a room"][1] == "isthmus.features.term_chi2"
    folder = Path(isthmus.__file__).parent
    rooms = {path.parent.name for path in folder.glob("[a-z]*/__init__.py")}
    assert rooms - {"api", "cli"} <= set(isthmus._PACKAGES), "api and cli have no names for users"
    assert [name for name in isthmus._PACKAGES if getattr(isthmus, name).__name__ != f"isthmus.{name}"] == []


def test_importing_everything_public_leaves_the_global_configuration_alone(steps):
    assert steps["everything public"][1] is True


def test_no_module_takes_the_place_of_a_public_name():
    """Importing ``isthmus.name`` would put the module where the function stood."""
    assert [name for name in isthmus._PUBLIC if find_spec(f"isthmus.{name}")] == []
