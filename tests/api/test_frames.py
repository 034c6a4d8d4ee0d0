"""Data frames in, the same kind of frame back, and the labels of lists."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.exceptions import DataError, IsthmusError, UsageError

SOURCE = {"comment": ["kind staff", "great bike", "polite staff", "fast bike"] * 3, "topic": ["staff", "product"] * 6}
TARGET = {"nr": ["a", "b", "c"], "comment": ["rude staff", "slow bike", None], "label": ["x", "y", "z"]}


def make(kind: str, columns: dict, **options):
    if kind == "datasets":
        return pytest.importorskip("datasets").Dataset.from_dict(columns)
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return pytest.importorskip(kind).DataFrame(columns, **options)


def read(kind: str, frame) -> dict[str, list]:
    if kind == "datasets":
        return {name: list(frame[name]) for name in frame.column_names}
    if kind == "pyarrow":
        return frame.to_pydict()
    return {name: list(frame[name]) for name in frame.columns}


def test_the_id_is_the_column_that_was_named():
    target = {"id": [1, 2], "key": ["x", "y"], "comment": ["rude staff", "slow bike"]}
    frames = make("polars", SOURCE), make("polars", target)
    result = isthmus.label(*frames, "nbc", text="comment", label="topic", id="key")
    assert result.ids == ["x", "y"]


def test_frames_may_be_given_by_name():
    source, target = make("polars", SOURCE), make("polars", TARGET)
    options = {"method": "nbc", "text": "comment", "label": "topic"}
    results = [
        isthmus.label(source, target, **options),
        isthmus.label(source, target_texts=target, **options),
        isthmus.label(source_texts=source, target_texts=target, **options),
    ]
    assert [result.labels.tolist() for result in results] == [results[0].labels.tolist()] * 3
    assert [len(result.source_texts) for result in results] == [12] * 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "datasets"])
def test_the_targets_frame_comes_back_with_the_labels_of_lists(kind):
    source, target = make(kind, SOURCE), make(kind, TARGET)
    result = isthmus.label(source, target, "nbc", text="comment", label="topic", id="nr")
    lists = isthmus.label(SOURCE["comment"], SOURCE["topic"], [*TARGET["comment"][:2], ""], method="nbc")
    frame = result.to_frame()
    assert type(frame) is type(target)
    found = read(kind, frame)
    assert list(found)[:4] == ["nr", "comment", "label_input", "label"]
    assert found["label"] == lists.labels.tolist()
    assert found["label_input"] == TARGET["label"]
    assert result.ids == TARGET["nr"]


def test_a_pandas_index_and_categories_are_kept():
    pandas = pytest.importorskip("pandas")
    source = make("pandas", SOURCE).astype({"topic": "category"})
    target = make("pandas", TARGET, index=[7, 7, 9])
    frame = isthmus.label(source, target, text="comment", label="topic", method="nbc").to_frame()
    assert frame.index.tolist() == [7, 7, 9]
    assert isinstance(frame["label"].dtype, pandas.CategoricalDtype)
    assert list(target.columns) == ["nr", "comment", "label"], "the frame that was given stays as it was"


def test_columns_that_are_not_named_are_guessed_and_numbers_stay_numbers():
    source = {"review": SOURCE["comment"], "stars": [5, 1] * 6}
    result = isthmus.label(make("polars", source), make("polars", TARGET), label="stars", method="nbc")
    assert result.labels.tolist()[:2] == [5, 1]


def test_later_texts_are_not_taken_for_rows_of_the_frame_and_answers_are():
    source, target = make("polars", SOURCE), make("polars", TARGET)
    result = isthmus.label(source, target, text="comment", label="topic", method="nbc")
    assert result.to_frame(add="label").columns == ["nr", "comment", "label_input", "label"]
    with pytest.raises(UsageError, match="add='labl'; use one of label, confidence") as refused:
        result.to_frame(add=["labl"])
    assert refused.value.code == "unknown-column"
    assert result.label_new(["rude staff"]).to_frame()["text"].to_list() == ["rude staff"]
    taught = result.teach(["staff", "product", "staff"])
    assert taught.to_frame().columns[:3] == ["nr", "comment", "label_input"]


def test_a_labelling_with_a_named_group_keeps_its_frame():
    source = make("pandas", {"comment": ["kind staff", "great bike"] * 6, "topic": ["staff", "product"] * 6})
    target = make("pandas", {"comment": ["rude staff", "slow bike", "parking space"] * 4})
    result = isthmus.label(source, target, text="comment", label="topic", method="nbc")
    result.novel = [{"group": "parking space", "words": "parking, space", "documents": 4}]
    result.novel_group = np.array(["", "", "parking space"] * 4, dtype=object)
    named = result.name_groups({"1": "parking"}).to_frame()
    assert type(named) is type(target), "pandas in, pandas out, also after a group got its name"
    assert named["label"].tolist()[2::3] == ["parking"] * 4


@pytest.mark.parametrize(("library", "kind"), [("pandas", "polars"), ("polars", "pandas")])
def test_one_kind_of_frame_from_the_other(library, kind):
    source, target = make(kind, SOURCE), make(kind, TARGET)
    result = isthmus.label(source, target, text="comment", label="topic", method="nbc")
    other = getattr(result, f"to_{library}")()
    assert type(other).__module__.startswith(library)
    assert list(other["nr"]) == TARGET["nr"]


def test_frames_to_cluster_and_diagnose():
    source, target = make("polars", SOURCE), make("polars", {"comment": SOURCE["comment"]})
    grouped = isthmus.cluster(source, target, n_clusters=2, text="comment", label="topic")
    assert grouped.to_frame().columns[:2] == ["comment", "cluster"]
    assert (
        isthmus.diagnose(source, target, text="comment", label="topic").level
        == isthmus.diagnose(SOURCE["comment"], SOURCE["topic"], SOURCE["comment"]).level
    )


def test_what_cannot_be_meant_is_refused():
    source = make("polars", SOURCE)
    with pytest.raises(UsageError, match="name columns of data frames, and none was given"):
        isthmus.label(SOURCE["comment"], SOURCE["topic"], ["rude staff"], text="comment")
    with pytest.raises(UsageError, match="given together"):
        isthmus.label(source, np.array(SOURCE["topic"]), make("polars", TARGET), text="comment")
    with pytest.raises(DataError, match="no column 'remark'"):
        isthmus.label(source, make("polars", TARGET), text="remark", label="topic")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "datasets"])
def test_questions_samples_and_answers_are_frames_too(kind, tmp_path):
    source, target = make(kind, SOURCE), make(kind, TARGET)
    result = isthmus.label(source, target, "nbc", text="comment", label="topic", id="nr")
    for table in (result.ask(2), result.sample(2)):
        assert type(table) is type(target)
        columns = read(kind, table)
        columns["true_label"] = ["staff", "product"]
        filled = make(kind, columns)
        assert len(result.teach(filled).answers) == 2
    assert result.check(filled).n == 2, "the sample; what was asked for says nothing about the others"
    result.save(tmp_path / "run.isthmus")
    again = isthmus.load(tmp_path / "run.isthmus")
    assert again.ids == TARGET["nr"]
    assert isinstance(again.ask(1), dict), "the frame is not saved"


def test_frames_with_classes_sources_and_answers():
    source = make("polars", SOURCE)
    target = make("polars", TARGET)
    named = isthmus.label(source, target, text="comment", label="topic", classes=["speed: slow, fast"], embed=False)
    assert "speed" in named.classes
    two = ["shop", "web"] * 6
    several = isthmus.label(source, target, text="comment", label="topic", method="nbc", source_domain=two)
    assert several.to_frame().columns[0] == "nr"
    answered = isthmus.label(
        source, target, text="comment", label="topic", method="nbc", target_labels=["staff", None, None]
    )
    assert answered.labels[0] == "staff"
    assert answered.to_frame().columns[0] == "nr", "answers given to label keep the frame"


def test_names_of_files_and_lists_beside_a_frame_are_refused_in_a_sentence():
    with pytest.raises(UsageError, match=r"'cars\.csv' was given, and texts are expected; read a file with"):
        isthmus.label("cars.csv", "dealers.csv")
    with pytest.raises(UsageError, match="Data frames and other collections were given together"):
        isthmus.label(make("pandas", SOURCE), TARGET["comment"], method="nbc", text="comment", label="topic")


@pytest.mark.parametrize("option", [{"label": "topic"}, {"id": "nr"}], ids=["label", "id"])
def test_columns_are_not_named_where_there_is_no_frame(option):
    with pytest.raises(UsageError, match="name columns of data frames, and none was given"):
        isthmus.label(SOURCE["comment"], SOURCE["topic"], ["rude staff"], **option)


def test_a_frame_without_a_source_is_labelled_by_names_of_classes():
    """Its label is no category, as there is no source whose label could have been one."""
    classes = {"staff": "kind, polite, staff", "product": "bike, fast"}
    target = make("pandas", TARGET)
    result = isthmus.label(None, target, text="comment", id="nr", classes=classes, embed=False)
    lists = isthmus.label(None, None, [*TARGET["comment"][:2], ""], classes=classes, embed=False)
    assert result.labels.tolist() == lists.labels.tolist()
    assert result.ids == TARGET["nr"]
    assert str(result.to_frame()["label"].dtype) != "category"


def test_lists_beside_frames_and_more_than_two_are_refused():
    source, target = make("polars", SOURCE), make("polars", TARGET)
    for given in ((SOURCE["comment"], target), (source, SOURCE["topic"], target), (source, target, target)):
        with pytest.raises(UsageError, match="given together"):
            isthmus.label(*given)


def test_the_name_of_a_file_is_said_wherever_it_stands():
    with pytest.raises(UsageError, match=r"'dealers\.csv' was given, and texts are expected"):
        isthmus.label(SOURCE["comment"], "dealers.csv")
    with pytest.raises(UsageError, match=r"run isthmus diagnose SOURCE TARGET in a terminal"):
        isthmus.diagnose("cars.csv", "dealers.csv")
    with pytest.raises(IsthmusError) as caught:
        isthmus.label("cars.csv", SOURCE["topic"], target_texts=SOURCE["comment"])
    assert "read a file with" not in str(caught.value), "three collections were given: one of them is no list"
