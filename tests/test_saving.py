"""Save and load results: they predict as before, and forged files are refused."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from extras import need_vectors
from made_texts import LABELS, SOURCE, TARGET
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer

import isthmus
from isthmus import saving
from isthmus.exceptions import DataError, IsthmusWarning
from isthmus.methods import METHODS

LATER = ["the staff was rude", "a high price", "nothing known zzz"]


def label(method="nbc", labels=LABELS, **options):
    return isthmus.label(SOURCE, labels, TARGET, method=method, **options)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_every_recipe_comes_back_as_it_was(method, tmp_path):
    need_vectors(method)
    words = {"rude": "staff", "high": "price"} if method in METHODS and METHODS[method].takes_words else None
    result = label(method, word_labels=words)
    back = isthmus.load(result.save(tmp_path / "model.isthmus"))
    assert back.method == result.method
    assert back.texts == result.texts
    assert back.labels.tolist() == result.labels.tolist()
    assert back.needs_review.tolist() == result.needs_review.tolist()
    np.testing.assert_array_equal(back.confidence, result.confidence)
    assert account(back) == account(result)
    later, as_before = back.label_new(LATER), result.label_new(LATER)
    assert later.labels.tolist() == as_before.labels.tolist() == back.predict(LATER).tolist()
    np.testing.assert_allclose(later.probabilities, as_before.probabilities, atol=1e-9)
    np.testing.assert_allclose(later.confidence, as_before.confidence, atol=1e-9)
    assert account(later) == account(as_before)


def account(result):
    """Reasons of the first text; there are some for every method."""
    rows = result.reasons(0, top=3)
    assert rows
    return rows


def test_later_texts_get_confidence_and_review():
    later = label().label_new([*LATER, ""], ids=["a", "b", "c", "d"])
    assert later.labels[:2].tolist() == ["staff", "price"]
    assert later.confidence.shape == (4,)
    assert later.probabilities.shape == (4, 2)
    assert later.needs_review[3]
    assert later.ids == ["a", "b", "c", "d"]
    assert later.columns()["text"] == [*LATER, ""]


def test_nothing_that_was_found_out_about_the_earlier_texts_is_said_of_later_ones():
    """A check of other documents would show its accuracy as that of the later ones."""
    taught = label("auto").teach(["staff", "price", None, None])
    taught.check([3, 4], ["staff", "price"])
    later = taught.label_new(LATER)
    for name in ("answers", "learned", "before", "checked", "opinions", "vote"):
        assert getattr(taught, name) is not None, name
        assert getattr(later, name) is None, name
    assert later.expected_accuracy.estimate is None, "three documents are too few"


def test_later_texts_that_the_model_knows_nothing_of_are_said(tmp_path):
    result = label()
    with pytest.warns(IsthmusWarning, match="knows in 2 of 3 new texts") as caught:
        later = result.label_new(["rude staff", "nichts bekannt", "gar nichts"])
    assert [warning.message.code for warning in caught] == ["weak-bridge"]
    assert later.needs_review[1:].all()
    assert later.decision == [
        {"method": "nbc", "chosen": True, "why": "chosen on the earlier target: named by the caller"}
    ]
    assert later.report(tmp_path / "page.html").exists()
    result.label_new(["rude staff", "nichts bekannt"])  # no more than half


@pytest.mark.parametrize("labels", [[7, 3] * 8, ["ja \"&' ñ 汉", "<script>"] * 8, ["staff", None] + ["a", "b"] * 7])
def test_labels_keep_their_kind(labels, tmp_path):
    result = label(labels=labels)
    back = isthmus.load(result.save(tmp_path / "m"))
    assert back.labels.tolist() == result.labels.tolist()
    assert back.labels.dtype == result.labels.dtype
    assert back.source_labels.tolist() == result.source_labels.tolist()


def test_settings_decision_and_ids_are_kept(tmp_path):
    result = label()
    result.ids = list("wxyz")
    back = isthmus.load(result.save(tmp_path / "m"))
    assert (back.settings, back.decision, back.ids) == (result.settings, result.decision, list("wxyz"))
    back.report(tmp_path / "page.html")
    assert "<h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_never_overwrites_without_force(tmp_path):
    path = tmp_path / "m"
    path.write_text("precious")
    result = label()
    with pytest.raises(DataError) as caught:
        result.save(path)
    assert caught.value.code == "output-exists"
    assert path.read_text() == "precious"
    result.save(path, force=True)
    assert isthmus.load(path).method == "nbc"
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


# -- clusters ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def grouping():
    return isthmus.cluster(SOURCE, LABELS, TARGET * 2, n_clusters=3, n_init=2)


def test_a_grouping_comes_back_as_it_was(grouping, tmp_path):
    back = isthmus.load(grouping.save(tmp_path / "g.isthmus"))
    assert type(back) is type(grouping)
    assert back.labels.tolist() == grouping.labels.tolist()
    assert (back.names, back.words, back.texts) == (grouping.names, grouping.words, grouping.texts)
    assert back.alignment == grouping.alignment
    assert (back.settings, back.guidance_estimate) == (grouping.settings, grouping.guidance_estimate)
    assert back.predict(LATER).tolist() == grouping.predict(LATER).tolist()
    assert back.clusters() == grouping.clusters()
    assert back.columns() == grouping.columns()
    assert back.report(tmp_path / "page.html").exists()


def test_kinds_are_not_mixed_up(grouping, tmp_path):
    groups, labels = grouping.save(tmp_path / "g"), label().save(tmp_path / "l")
    assert isthmus.load(groups, kind="cluster").names == grouping.names
    assert isthmus.load(labels, kind="label").method == "nbc"
    for path, kind, words in (
        (groups, "label", "holds a grouping, and a labelling is needed"),
        (labels, "cluster", "holds a labelling, and a grouping is needed"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            isthmus.load(path, kind=kind)
        assert caught.value.code == "bad-model"


# -- a result that has learned from answers ---------------------------------------------------------------------------


def test_a_taught_result_comes_back_with_its_answers(tmp_path):
    result = label("auto").teach(["staff", "price", None, None], name="first").rename_classes({"staff": "team"})
    result.check([3, 4], ["team", "price"])
    back = isthmus.load(result.save(tmp_path / "m"))
    assert back.answers == result.answers
    assert back.history == result.history
    assert back.checked.estimate == result.checked.estimate
    assert back.expected_accuracy == result.expected_accuracy
    np.testing.assert_allclose(back.predict_proba(LATER), result.predict_proba(LATER), atol=1e-9)
    assert back.untaught().labels.tolist() == result.untaught().labels.tolist()
    again, as_before = (one.teach({"document": [3], "true_label": ["team"]}) for one in (back, result))
    assert again.labels.tolist() == as_before.labels.tolist()


# -- the path from load to predict -------------------------------------------------------------------------------------

CODE = """
import sys
import isthmus
found = isthmus.load(sys.argv[1]).predict(["the staff was rude", "a high price"])
heavy = {"sklearn", "pandas", "polars", "dask", "typer", "rich", "numba"}
print(*found, *sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "method", ["auto", "nbc", "logistic", "cocc", "projection", "lsa", "names", "strings", "vectors", "dual-manifold"]
)
def test_a_later_text_is_labelled_without_the_libraries_of_a_fit(method, tmp_path):
    need_vectors(method)
    words = {"rude": "staff", "high": "price"} if method in METHODS and METHODS[method].takes_words else None
    result = label(method, word_labels=words)
    done = subprocess.run(
        [sys.executable, "-c", CODE, result.save(tmp_path / "m")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == result.predict(LATER[:2]).tolist()


def test_a_taught_result_labels_without_the_libraries_of_a_fit(tmp_path):
    result = label("auto").teach(["staff", "price", None, None])
    done = subprocess.run(
        [sys.executable, "-c", CODE, result.save(tmp_path / "m")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == result.predict(LATER[:2]).tolist()


# -- what is not saved -------------------------------------------------------------------------------------------------


class Tuned(isthmus.SourceOnlyClassifier):
    """An estimator of a user."""


def split_plainly(text):
    return text.split()


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (Tuned(), "Tuned"),
        (isthmus.SourceOnlyClassifier(RandomForestClassifier(n_estimators=3)), "SourceOnlyClassifier"),
        (isthmus.make_transfer_pipeline(CountVectorizer(), isthmus.SourceOnlyClassifier()), "CountVectorizer"),
        (isthmus.TransductiveKernelClassifier(isthmus.StringKernel(ngram_range=(3, 4)).cross), "cross"),
    ],
)
def test_an_estimator_of_the_user_is_refused_with_advice(method, named, tmp_path):
    with pytest.raises(DataError, match=rf"{named}.*joblib") as caught:
        label(method).save(tmp_path / "m")
    assert caught.value.code == "bad-model"
    assert list(tmp_path.iterdir()) == []


# -- files that are refused --------------------------------------------------------------------------------------------


def refuses(path, words):
    with pytest.raises(DataError, match=words) as caught:
        isthmus.load(path)
    assert caught.value.code == "bad-model"
    assert len(str(caught.value)) < 400


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, changes):
    """Write the archive again with other entries; None leaves an entry out."""
    content = entries(path) | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            if value is not None:
                archive.writestr(name, value)
    return path


def change(path, edit):
    """Change the JSON part with a function."""
    header = json.loads(entries(path)["isthmus.json"])
    changed = edit(header)
    return rewrite(path, {"isthmus.json": json.dumps(header if changed is None else changed)})


def nodes(node):
    """Every JSON object within a node."""
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(part)


def fields(header, name):
    """The fields of the first object of a type."""
    return next(node[name] for node in nodes(header) if name in node)


@pytest.fixture
def saved(tmp_path):
    return label().save(tmp_path / "m")


@pytest.mark.parametrize(
    "content",
    [b"", b"no model", b"text,label\na,b\n", b"PK\x03\x04broken", b"\x80\x04\x95pickle"],
    ids=["empty", "words", "csv", "broken zip", "pickle"],
)
def test_other_files_are_no_models(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    refuses(path, "not a model saved by isthmus")


def test_missing_files_and_folders_are_refused(tmp_path):
    for path, code in ((tmp_path / "none", "missing-file"), (tmp_path, "not-a-file")):
        with pytest.raises(DataError) as caught:
            isthmus.load(path)
        assert caught.value.code == code


@pytest.mark.parametrize(("step", "advice"), [(1, "Update isthmus"), (-1, "save the new result")])
def test_another_format_is_refused_with_advice(saved, step, advice):
    other = {"format": saving.FORMAT + step, "isthmus": "9" * 90}
    change(saved, lambda header: header | other)
    refuses(saved, f"written by isthmus '{'9' * 40}'.*{advice}")


def test_a_file_of_the_former_format_is_refused(tmp_path):
    path = tmp_path / "old"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("isthmus.json", json.dumps({"format": 3, "kind": "label", "isthmus": "0.1.0"}))
        archive.writestr("texts.json", "{}")
        archive.writestr("model.skops", b"")
    refuses(path, "is of format 3")


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{",
        "[" * 100_000,
        '{"format": "4"}',
        '{"format": true}',
        '{"format": 4}',
        '{"format": 4, "kind": "other"}',
        '{"format": 4, "kind": ["label"]}',
    ],
)
def test_a_damaged_header_is_refused(saved, header):
    refuses(rewrite(saved, {"isthmus.json": header}), "not a model saved by isthmus")


def of_another_result(header):
    header["kind"] = "cluster"


def an_unknown_name(header):
    fields(header, "model.LabelModel")["members"] = {"os.system": {"command": "true"}}


def a_name_outside_the_table(header):
    fields(header, "model.LabelModel")["members"] = {"result.json": {}}


def an_unknown_field(header):
    fields(header, "rules.LinearRule")["__class__"] = 1


def a_missing_field(header):
    del fields(header, "rules.LinearRule")["coef"]


def a_rule_in_place_of_a_step(header):
    fields(header, "model.Member")["steps"] = [{"rules.LinearRule": fields(header, "rules.LinearRule")}]


def texts_that_are_numbers(header):
    fields(header, "result.LabelResult")["texts"] = [1, 2, 3, 4]


def a_text_in_place_of_a_list(header):
    fields(header, "result.LabelResult")["texts"] = "abcd"


def a_missing_array(header):
    fields(header, "rules.LinearRule")["coef"] = {"array": "99.npy"}


def two_keys(header):
    fields(header, "rules.LinearRule")["coef"] = {"array": "0.npy", "tuple": []}


def deeply_nested(header):
    node = []
    for _ in range(200):
        node = {"tuple": [node]}
    fields(header, "result.LabelResult")["history"] = node


def one_text_less(header):
    fields(header, "result.LabelResult")["texts"].pop()


def one_source_text_less(header):
    fields(header, "result.LabelResult")["source_texts"].pop()


@pytest.mark.parametrize(
    "edit",
    [
        of_another_result, an_unknown_name, a_name_outside_the_table, an_unknown_field, a_missing_field,
        a_rule_in_place_of_a_step, texts_that_are_numbers, a_text_in_place_of_a_list, a_missing_array, two_keys,
        deeply_nested, one_text_less, one_source_text_less,
    ],
)  # fmt: skip
def test_a_forged_description_is_refused(saved, edit):
    refuses(change(saved, edit), "is damaged")


def test_string_kernels_with_a_text_too_few_are_refused(tmp_path):
    path = label("strings").save(tmp_path / "m")
    assert isthmus.load(path).method == "strings"
    refuses(change(path, lambda header: fields(header, "rules.StringRule")["texts"].pop() and None), "is damaged")


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def claiming(shape):
    """An array whose header claims another shape than its data have."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + bytes(16)


@pytest.mark.parametrize(
    "damage",
    [
        lambda array: None,
        lambda array: b"no array",
        lambda array: npy(array[:, :-1]),
        lambda array: npy(array[..., None, None]),
        lambda array: npy(np.full(array.shape, np.nan)),
        lambda array: npy(array.astype("U9")),
        lambda array: npy(array)[:-8],
        lambda array: npy(np.array([{}], dtype=object)),
        lambda array: claiming((1 << 50,)),
        lambda array: claiming((-4,)),
    ],
    ids=["missing", "text", "short", "nested", "nan", "letters", "cut", "objects", "huge", "negative"],
)
def test_a_forged_array_is_refused(saved, damage):
    name = fields(json.loads(entries(saved)["isthmus.json"]), "rules.LinearRule")["coef"]["array"]
    array = np.load(io.BytesIO(entries(saved)[name]))
    refuses(rewrite(saved, {name: damage(array)}), "is damaged")


def test_sparse_rows_that_leave_the_matrix_are_refused(tmp_path):
    path = isthmus.cluster(SOURCE, LABELS, TARGET, n_clusters=2, n_init=1).save(tmp_path / "g")
    name = fields(json.loads(entries(path)["isthmus.json"]), "csr")[1]["array"]
    indices = np.load(io.BytesIO(entries(path)[name]))
    refuses(rewrite(path, {name: npy(indices + 10_000)}), "is damaged")


def test_labels_and_classes_that_do_not_fit_each_other_are_refused(tmp_path):
    for field, value in (
        ("labels", np.array(["staff", "price", "parking", "price"])),
        ("probabilities", np.zeros((4, 3))),
        ("confidence", np.array([0.5, np.nan, 0.5, 0.5])),
    ):
        result = label()
        setattr(result, field, value)
        refuses(result.save(tmp_path / field), "is damaged")


def test_every_type_in_the_table_exists():
    """A name in the table that no module defines would be refused only when a file contains it."""
    for module, names in saving.TYPES.items():
        for name in names:
            found = getattr(__import__(module, fromlist=[name]), name)
            assert found.__module__ == module


def test_an_encoder_that_has_changed_is_refused(tmp_path):
    need_vectors("vectors")
    path = change(
        label("vectors").save(tmp_path / "m"),
        lambda header: fields(header, "vector_rows.VectorRows").update(fingerprint="other"),
    )
    refuses(path, "has changed since")


def test_a_file_may_unpack_to_the_limit_and_to_no_byte_more(saved, monkeypatch):
    with zipfile.ZipFile(saved) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    monkeypatch.setattr(saving, "unpack_limit", lambda: size)
    assert isthmus.load(saved).method == "nbc"
    monkeypatch.setattr(saving, "unpack_limit", lambda: size - 1)
    with pytest.raises(DataError) as caught:
        isthmus.load(saved)
    assert caught.value.code == "too-large"
