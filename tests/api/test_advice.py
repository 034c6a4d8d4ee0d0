"""Advice to use a sentence encoder: verdicts, short texts, once, and only without an encoder."""

import json

import numpy as np
import pytest

import isthmus

SOURCE = ["kind staff at the desk", "a fast bike", "polite staff in the shop", "this bike is great"] * 10
TARGET = ["rude staff", "slow bike", "friendly staff", "loud bike"] * 10
TOPICS, VERDICTS = ["staff", "bike"] * 20, ["positive", "negative"] * 20
LONG = " and they told us about the weather, the roads and the other people who were on the same tour" * 3


def vectors(texts):
    return np.array([["staff" in text, len(text) % 5, 1.0] for text in texts])


def label(source=SOURCE, labels=TOPICS, target=TARGET, **options):
    return isthmus.label(source, labels, target, language="en", **options)


def test_short_texts_and_verdicts_get_advice():
    short = label().advice
    assert short["code"] == "no-encoder"
    assert "short" in short["message"]
    assert "models get bge-small-en-v1.5" in short["message"]
    long = [[text + LONG for text in texts] for texts in (SOURCE, TARGET)]
    assert label(long[0], TOPICS, long[1]).advice is None
    assert "short" in label(SOURCE, TOPICS, long[1]).advice["message"]  # one short side is enough
    assert "verdicts" in label(long[0], VERDICTS, long[1]).advice["message"]


def test_other_languages_get_the_multilingual_encoder():
    source = ["das Personal war freundlich", "das Rad ist schnell", "die Bedienung war nett", "ein gutes Rad"] * 10
    target = ["unfreundliches Personal und eine schlechte Bedienung", "das Rad ist zu langsam für mich"] * 10
    result = isthmus.label(source, TOPICS, target)
    assert "embed='use'" in result.advice["message"]


def test_an_encoder_or_another_method_gets_none():
    assert label(embed=vectors).advice is None
    assert label(method="nbc").advice is None


def test_vectors_that_were_refused_get_none():
    pytest.importorskip("wordllama", reason="extra embed is not installed")
    assert label(embed=False).advice is None


def test_the_command_states_it_once(tmp_path, capsys, monkeypatch):
    pytest.importorskip("typer", reason="the command needs the extra 'app'")
    from isthmus.cli.app import run_command

    monkeypatch.chdir(tmp_path)
    rows = [{"text": text, "label": name} for text, name in zip(SOURCE, TOPICS, strict=True)]
    (tmp_path / "source.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "target.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TARGET))
    assert run_command(["label", "source.jsonl", "target.jsonl", "-o", "out.csv", "--language", "en"]) == 0
    err = capsys.readouterr().err
    assert err.count("[no-encoder]") == 1
    assert "--embed bge-small-en-v1.5" in err
    assert run_command(["label", "source.jsonl", "target.jsonl", "-o", "quiet.csv", "--language", "en", "--quiet"]) == 0
    assert "no-encoder" not in capsys.readouterr().err
