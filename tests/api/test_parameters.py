"""Parameters of a named method, from Python and from the command: the same table, the same sentence, in the record."""

import json

import pytest

import isthmus
from isthmus.api.methods import read_parameters
from isthmus.cli.app import run_command
from isthmus.exceptions import UsageError

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike"] * 3
LABELS = ["staff", "product"] * 6
TARGET = ["rude staff", "slow bike", "kind staff"]


def test_parameters_are_read_as_they_are_typed():
    typed = ["trade_off=0.5", "ngram_range=5,8", "refine=none", "kernel=presence"]
    read = {"trade_off": 0.5, "ngram_range": (5, 8), "refine": None, "kernel": "presence"}
    assert read_parameters(typed) == read


def test_parameters_reach_the_estimator_and_the_record():
    result = isthmus.label(SOURCE, LABELS, TARGET, method="cocc", parameters={"max_iter": 2, "n_word_clusters": 3})
    assert result.model.members["cocc"].rule.tables.n_word_clusters_ == 3
    assert result.settings["parameters"] == {"max_iter": 2, "n_word_clusters": 3}
    plain = isthmus.label(SOURCE, LABELS, TARGET, method="cocc")
    assert "parameters" not in plain.settings
    assert plain.model.members["cocc"].rule.tables.n_word_clusters_ != 3


@pytest.mark.parametrize(
    ("method", "parameters", "sentence"),
    [
        ("cocc", {"max_itr": 2}, "has no parameter 'max_itr'; did you mean max_iter?"),
        ("cocc", {"max_iter": 0}, "max_iter"),
        ("auto", {"max_iter": 2}, "name it instead of auto"),
        (isthmus.CoClusteringClassifier(), {"C": 2}, "give it its parameters itself"),
    ],
    ids=["unknown", "not allowed", "auto", "an estimator"],
)
def test_what_cannot_be_set_is_refused(method, parameters, sentence):
    with pytest.raises(UsageError) as caught:
        isthmus.label(SOURCE, LABELS, TARGET, method=method, parameters=parameters)
    assert sentence in str(caught.value), f"expected {sentence!r} in {str(caught.value)!r}"
    assert caught.value.code == "bad-parameter"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{text},{label}\n" for text, label in zip(SOURCE, LABELS, strict=True))
    (tmp_path / "source.csv").write_text("text,label\n" + rows, encoding="utf-8")
    (tmp_path / "target.csv").write_text("text\n" + "".join(f"{text}\n" for text in TARGET), encoding="utf-8")
    return tmp_path


def label(*options):
    return run_command(["label", "source.csv", "target.csv", "--text", "text", "--quiet", *options])


def test_the_command_sets_the_same_parameters(files):
    assert label("--method", "cocc", "--set", "max_iter=2", "--set", "n_word_clusters=3", "-o", "out.csv") == 0
    record = json.loads((files / "run.json").read_text(encoding="utf-8"))
    assert record["options"]["parameters"] == ["max_iter=2", "n_word_clusters=3"]
    assert record["settings"]["parameters"] == {"max_iter": 2, "n_word_clusters": 3}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--method", "cocc", "--set", "max_iter=0"), "max_iter"),
        (("--method", "cocc", "--set", "max_iter"), "give NAME=VALUE"),
        (("--set", "max_iter=2"), "name it instead of auto"),
        (("--method", "nbc", "--set", "x=1", "--engine", "local"), "no parameter 'x'"),
    ],
    ids=["not allowed", "no value", "auto", "blocks"],
)
def test_the_command_refuses_in_the_same_words_and_writes_nothing(files, capsys, options, sentence):
    assert label(*options, "-o", "out.csv") == 2
    assert sentence in capsys.readouterr().err
    assert not (files / "out.csv").exists()
