"""Keep: every recipe comes back as it was, later texts are labelled, and nothing else is loaded."""

import io
import json
import zipfile

import numpy as np
import pytest
from extras import need_vectors
from made_texts import LABELS, SOURCE, TARGET
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

import isthmus
from isthmus._validation import check_texts
from isthmus.api import saving
from isthmus.choose import LabelModel
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.methods import METHODS

skops_io = pytest.importorskip("skops.io")

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
    np.testing.assert_allclose(later.confidence, as_before.confidence, rtol=1e-12)
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
    for name in ("answers", "learned", "before", "checked", "expected_accuracy", "opinions", "vote"):
        assert getattr(taught, name) is not None, name
        assert getattr(later, name) is None, name


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


@pytest.mark.parametrize("value", [print, json.loads, io.StringIO])
def test_a_grouping_loads_known_types_only(grouping, value, tmp_path):
    path = grouping.save(tmp_path / "g")
    refuses(rewrite(path, model__skops=skops_io.dumps({"model": value})), "not part of a model")
    refuses(rewrite(path, model__skops=skops_io.dumps({"model": MultinomialNB()})), "does not hold a grouping")


# -- what must not be loaded ------------------------------------------------------------------------------------------


def rewrite(path, **members):
    """The archive with some members replaced (None: left out)."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= {name.replace("__", "."): value for name, value in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            if value is not None:
                archive.writestr(name, value)
    return path


def header(**changes):
    return json.dumps(saving._header("label", "nbc") | changes)


@pytest.fixture
def saved(tmp_path):
    return label().save(tmp_path / "m")


def refuses(path, words):
    with pytest.raises(DataError, match=words) as caught:
        isthmus.load(path)
    assert caught.value.code == "bad-model"
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "content",
    [b"", b"no model", b"text,label\na,b\n", b"PK\x03\x04broken", b"\x80\x04\x95pickle"],
    ids=["empty", "words", "csv", "broken zip", "pickle"],
)
def test_other_files_are_no_models(content, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(content)
    refuses(path, "not a model saved by isthmus")


def test_missing_files_and_folders_say_so(tmp_path):
    for path, code in ((tmp_path / "none", "missing-file"), (tmp_path, "not-a-file")):
        with pytest.raises(DataError) as caught:
            isthmus.load(path)
        assert caught.value.code == code


@pytest.mark.parametrize(("change", "advice"), [(1, "Update isthmus"), (-1, "save the new result")])
def test_another_format_is_refused_with_advice(saved, change, advice):
    other = header(format=saving.FORMAT + change, isthmus="9.1")
    refuses(rewrite(saved, isthmus__json=other), f"written by isthmus '9.1'.*{advice}")


@pytest.mark.parametrize(
    "members",
    [
        {"isthmus__json": None},
        {"isthmus__json": "[]"},
        {"isthmus__json": "{"},
        {"isthmus__json": header(format="1")},
        {"isthmus__json": header(kind="other")},
        {"isthmus__json": header(kind="cluster")},
        {"isthmus__json": header(kind=["label"])},
        {"texts__json": None},
        {"texts__json": "[1]"},
        {"texts__json": '{"texts": [1, 2]}'},
        {"model__skops": None},
        {"model__skops": "damaged"},
        {"model__skops": skops_io.dumps(["a", "list"])},
        {"model__skops": skops_io.dumps({"labels": [1]})},
        {"model__skops": skops_io.dumps({"model": MultinomialNB()})},
    ],
)
def test_damaged_archives_are_refused(saved, members):
    refuses(rewrite(saved, **members), ".")


@pytest.mark.parametrize("name", ["texts", "ids", "source_texts"])
def test_lists_that_are_one_short_are_refused(tmp_path, name):
    result = label()
    result.ids = list("wxyz")
    path = result.save(tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        texts = json.loads(archive.read("texts.json"))
    refuses(rewrite(path, texts__json=json.dumps(texts | {name: texts[name][:-1]})), "of different length")
    assert isthmus.load(rewrite(path, texts__json=json.dumps(texts))).ids == list("wxyz")


@pytest.mark.parametrize("name", ["texts", "names"])
def test_a_grouping_whose_lists_are_one_short_is_refused(grouping, tmp_path, name):
    path = grouping.save(tmp_path / "g")
    with zipfile.ZipFile(path) as archive:
        texts = json.loads(archive.read("texts.json"))
    refuses(rewrite(path, texts__json=json.dumps(texts | {name: texts[name][:-1]})), "of different length")


class Foreign:
    """A type no model of ours holds."""

    made = 0

    def __setstate__(self, state):
        Foreign.made += 1


@pytest.mark.parametrize("value", [Foreign(), print, json.loads, io.StringIO, isthmus.load, check_texts])
def test_foreign_types_and_functions_are_refused_before_anything_is_made(saved, value):
    refuses(rewrite(saved, model__skops=skops_io.dumps({"model": value})), "not part of a model")
    assert Foreign.made == 0


def test_rooms_that_act_are_not_trusted():
    assert saving._is_ours("isthmus.features.tokens.WordAnalyzer")
    for name in (
        "isthmus.cli.common.ProgressLine", "isthmus.corpus.collection.Collection", "isthmus.features.tokens.stem_words",
        "isthmus.features.tokens.Iterable", "isthmus.featuresque.Evil", "isthmus.features.nowhere.Evil", "os.system",
    ):  # fmt: skip
        assert not saving._is_ours(name), name


def with_analyzer(analyzer):
    result = label()
    pipeline = isthmus.make_transfer_pipeline(
        CountVectorizer(analyzer=analyzer), isthmus.SourceOnlyClassifier(MultinomialNB())
    )
    result.model = LabelModel({"own": pipeline.fit(SOURCE, LABELS)}, {"own": 1.0})
    return result


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path):
    def split_here(text):
        return text.split()

    with pytest.raises(DataError, match="split_here") as caught:
        with_analyzer(split_here).save(tmp_path / "m")
    assert caught.value.code == "bad-model"
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("by_name", [True, False])
def test_own_parts_are_loaded_when_they_are_named(tmp_path, by_name):
    result = with_analyzer(split_plainly)
    name = f"{split_plainly.__module__}.split_plainly"
    with pytest.warns(IsthmusWarning, match=r"split_plainly.*trusted=\[") as caught:
        path = result.save(tmp_path / "m")
    assert caught[0].message.code == "untrusted-type"
    refuses(path, "not part of a model.*trusted")
    loaded = isthmus.load(path, trusted=[name if by_name else split_plainly])
    assert loaded.predict(TARGET).tolist() == result.predict(TARGET).tolist()


@pytest.mark.parametrize("trusted", ["my_module.MyClassifier", dict, 3])
def test_trusted_is_a_list(saved, trusted):
    with pytest.raises(UsageError, match="trusted is") as caught:
        isthmus.load(saved, trusted=trusted)
    assert caught.value.code == "bad-parameter"


def split_plainly(text):
    return text.split()


def test_another_version_of_scikit_learn_is_said(tmp_path, monkeypatch):
    saved = label(method=isthmus.SourceOnlyClassifier(LogisticRegression())).save(tmp_path / "m")
    monkeypatch.setattr("sklearn.base.__version__", "99.0")
    with pytest.warns(IsthmusWarning, match="other versions"):
        isthmus.load(saved)


class OwnPipeline(isthmus.pipeline.TransferPipeline):
    """A pipeline of the caller's own kind, which is the model itself."""


LongName = type("L" * 90, (), {"__module__": __name__})


def test_a_model_of_an_own_kind_is_loaded_where_it_is_named(tmp_path):
    result = label()
    result.model = LabelModel({"own": OwnPipeline(result.model.members["nbc"].steps)}, {"own": 1.0})
    with pytest.warns(IsthmusWarning, match="OwnPipeline"):
        path = result.save(tmp_path / "m")
    refuses(path, "not part of a model.*OwnPipeline|OwnPipeline.*not part of a model")
    assert isthmus.load(path, trusted=[OwnPipeline]).predict(TARGET).tolist() == result.labels.tolist()


def test_what_a_file_says_is_cut_before_it_is_told(saved):
    refuses(
        rewrite(saved, model__skops=skops_io.dumps({"model": LongName()})),
        f"asks for '{(__name__ + '.' + 'L' * 90)[:80]}'",
    )
    newer = header(format=saving.FORMAT + 1, isthmus="9" * 90)
    refuses(rewrite(saved, isthmus__json=newer), f"written by isthmus '{'9' * 40}';")


@pytest.mark.parametrize("number", [True, 0, -1, 1.0, None])
def test_a_header_without_a_number_of_its_format_is_none(saved, number):
    refuses(rewrite(saved, isthmus__json=header(format=number)), "is not a model saved by isthmus")


def test_a_header_is_short(saved):
    """It is read before anything is known of the file."""
    text = header()
    limit = saving._HEADER_BYTES
    assert isthmus.load(rewrite(saved, isthmus__json=text.ljust(limit))).method == "nbc"
    refuses(rewrite(saved, isthmus__json=text.ljust(limit + 1)), "is not a model saved by isthmus")


def test_a_file_may_unpack_to_the_limit_and_to_no_byte_more(saved, monkeypatch):
    with zipfile.ZipFile(saved) as archive:
        outer = sum(entry.file_size for entry in archive.infolist())
        with zipfile.ZipFile(io.BytesIO(archive.read("model.skops"))) as inner:
            size = outer + sum(entry.file_size for entry in inner.infolist())
    for limit, fits in ((size, True), (size - 1, False), (outer, False), (outer - 1, False)):
        monkeypatch.setattr(saving, "unpack_limit", lambda limit=limit: limit)
        if fits:
            assert isthmus.load(saved).method == "nbc"
            continue
        with pytest.raises(DataError) as caught:
            isthmus.load(saved)
        assert caught.value.code == "too-large"


def test_texts_are_lists_of_texts_and_what_is_not_there_is_not_missed(saved):
    with zipfile.ZipFile(saved) as archive:
        texts = json.loads(archive.read("texts.json"))
    further = json.dumps({name: value for name, value in texts.items() if name != "ids"})
    assert isthmus.load(rewrite(saved, texts__json=further)).ids is None
    for value in ("abcd", {"a": "b"}, [1, "b", "c", "d"], 4):
        refuses(rewrite(saved, texts__json=json.dumps(texts | {"texts": value})), "does not hold a labelling")


def no_such_label(result):
    result.labels = np.array(["staff", "price", "parking", "price"])


def one_class_more(result):
    result.probabilities = np.hstack([result.probabilities, np.zeros((4, 1))])


@pytest.mark.parametrize("damage", [no_such_label, one_class_more])
def test_labels_and_classes_that_do_not_fit_each_other_are_refused(damage, tmp_path):
    result = label()
    damage(result)
    refuses(result.save(tmp_path / "m"), "its labels and its classes do not fit each other")
