"""Subtopics: a class of a labelling split into groups, named, and made classes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.api import subtopics
from isthmus.cli.app import run_command
from isthmus.exceptions import DataError, UsageError

RUDE = ["the staff was rude to us", "rude and loud staff", "so rude, this staff", "rude words from the staff"]
LATE = ["the staff came late", "late again, this staff", "staff was an hour late", "too late, the staff had left"]
BIKE = ["the bike is fast", "a great bike", "this bike is loud", "slow bike, great paint"]
SOURCE = (["kind staff at the desk", "polite staff", *BIKE[:2]]) * 10
LABELS = (["staff"] * 2 + ["product"] * 2) * 10
TARGET = [f"{text} {number}" for number in range(6) for text in (*RUDE, *LATE, *BIKE)]


@pytest.fixture(scope="module")
def labelled():
    return isthmus.label(SOURCE, LABELS, TARGET, method="nbc", language="en")


def test_a_class_is_split_named_and_made_classes(labelled):
    found = labelled.split("staff", 2)
    assert len(found.rows) == int(np.sum(labelled.labels == "staff"))
    kinds = ["rude" if "rude" in text else "late" for text in found.texts]
    for group in found.groups:
        own = {kind for kind, number in zip(kinds, found.numbers, strict=True) if number == group["number"]}
        assert len(own) == 1, f"group {group['number']} ({group['name']}) mixes {own}"
    assert [row["number"] for row in found.groups] == [1, 2]
    assert "Within staff: 48 texts" in found._repr_html_()
    rude = next(row["number"] for row in found.groups if "rude" in row["words"])
    taught = labelled.teach(found.name({rude: "manners", 3 - rude: "waiting"}))
    assert set(taught.classes) == {"product", "staff", "manners", "waiting"}
    assert taught.predict(["how rude the staff is"]).tolist() == ["manners"]


def test_a_class_is_split_by_the_seed_of_its_labelling(labelled, monkeypatch):
    seeds, whole = [], subtopics.cluster

    def noted(*args, **options):
        seeds.append(options.get("random_state"))
        return whole(*args, **options)

    monkeypatch.setattr(subtopics, "cluster", noted)
    replace(labelled, settings={**labelled.settings, "random_state": 7}).split("staff", 2)
    assert seeds == [7]


def test_groups_without_a_name_stay_out(labelled):
    found = labelled.split("staff", 2)
    table = found.name({"1": "manners"})
    assert len(table["document"]) == found.groups[0]["size"]
    assert set(table["true_label"]) == {"manners"}
    for wrong in ({"7": "x"}, {"1": " "}):
        with pytest.raises(UsageError, match="give the number of a group"):
            found.name(wrong)


def test_what_cannot_be_split(labelled):
    with pytest.raises(UsageError, match="split one of: product, staff"):
        labelled.split("stuff")
    small = isthmus.label(SOURCE, LABELS, TARGET[:9], method="nbc", language="en")
    with pytest.raises(DataError, match="at least 10 are needed"):
        small.split("staff")


def test_the_command_splits_and_names(labelled, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    labelled.save("run.isthmus")
    split = ["cluster", "run.isthmus", "--within", "staff", "--clusters", "2"]
    assert run_command([*split, "-o", "groups.csv", "--json"]) == 0
    talk = capsys.readouterr()
    groups = json.loads(talk.out)["groups"]
    assert f"1: {groups[0]['name']}, " in talk.err
    assert (
        Path("groups.csv").read_text(encoding="utf-8").startswith("document,id,text,subtopic,subtopic_name,true_label")
    )
    assert run_command([*split, "--name", "1=manners", "--name", "2=waiting", "-o", "named.csv", "--quiet"]) == 0
    assert run_command(["teach", "run.isthmus", "named.csv", "-o", "out.csv", "--save", "new.isthmus"]) == 0
    assert {"manners", "waiting"} <= set(isthmus.load("new.isthmus").classes)
    capsys.readouterr()
    for wrong in (
        ["source.csv", "target.csv", "--within", "x"],
        ["run.isthmus", "--name", "1=x"],
        [*split[1:], "--seed", "3"],
    ):
        assert run_command(["cluster", *wrong]) == 2
        assert "--within splits a class of one saved result" in capsys.readouterr().err


def test_subtopics_and_other_names_of_classes(labelled):
    renamed = labelled.rename_classes({"staff": "people"})
    found = renamed.split("people", 2)
    assert len(found.rows) == int(np.sum(labelled.labels == "staff"))
    with pytest.raises(UsageError, match="split one of: people, product"):
        renamed.split("staff")
    rude = next(row["number"] for row in found.groups if "rude" in row["words"])
    taught = renamed.teach(found.name({rude: "manners"}))
    again = taught.rename_classes({"manners": "tone"})
    assert set(again.classes) == {"people", "product", "tone"}
    assert again.predict(["how rude the staff is"]).tolist() == ["tone"]
    assert len(again.split("tone", 2).rows) == int(np.sum(again.labels == "tone"))


def test_a_class_is_split_into_as_many_groups_as_its_own_documents_ask_for(labelled, monkeypatch):
    """48 of 72 texts are about staff."""
    sizes, whole = [], subtopics.cluster

    def noted(*given, **options):
        sizes.append(given[3])
        return whole(*given, **options)

    monkeypatch.setattr(subtopics, "cluster", noted)
    monkeypatch.setattr(subtopics, "_EACH", 12)
    labelled.split("staff")
    assert sizes == [4]


def test_a_group_that_fits_no_class_is_split_by_its_own_documents(labelled):
    """Whatever labels they have; the group's name comes before that of a class."""
    inside = np.arange(len(TARGET)) % 12 < 8
    groups = np.where(inside, "visits", "").astype(object)
    result = replace(labelled, novel_group=groups, novel=[{"group": "visits"}])
    found = result.split("visits", 2)
    assert found.rows.tolist() == np.flatnonzero(inside).tolist()
    assert found.texts == [TARGET[row] for row in found.rows]
    assert repr(found) == "Subtopics('visits', 48 texts, 2 groups)"
    with pytest.raises(UsageError, match="split one of: product, staff, visits"):
        result.split("noise")
