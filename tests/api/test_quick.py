"""Later texts by the part of a saved file that needs no scikit-learn: the same labels, and nothing else is loaded."""

import copy
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace

import numpy as np
import pytest
from extras import need_vectors
from made_texts import LABELS, SOURCE, TARGET

import isthmus
from isthmus.api import quick as quick_module
from isthmus.api.quick import PART, read_array, share_counts
from isthmus.api.saving import read_quickly
from isthmus.cli.label_run import review_layout
from isthmus.corpus import make_shifted_texts
from isthmus.corpus.limits import unpacking_at_most
from isthmus.exceptions import DataError
from isthmus.methods import METHODS

pytest.importorskip("skops")
pytestmark = pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")

FEW = ["the staff was rude", "", "nothing known zzz"]
MANY = [*FEW, "a high price", "Staff, staff and  PRICE", "\ud800 broken"]
# Methods of which a few arrays say how new rows are scored; the others are loaded whole.
RULED = {
    "nbc", "svm", "logistic", "self-training", "cocc", "cocc-paper", "strings", "strings-paper", "projection",
    "projection-svm", "projection-paper", "lsa", "vectors", "vectors-logistic", "names", "dual-manifold", "dual-factor",
    "auto",
}  # fmt: skip


def label(method="nbc", **options):
    return isthmus.label(SOURCE, LABELS, TARGET, method=method, **options)


def by_the_model(result):
    """The labelling, made to ask its fitted estimators."""
    result = replace(result)
    result.__dict__["_quick"] = None
    return result


def assert_same(quick, whole):
    for name in ("labels", "confidence", "needs_review", "review_reason", "novel_group"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(whole, name), err_msg=name)
    for name in ("method", "decision", "novel", "warnings", "sources", "settings", "document_ids"):
        assert getattr(quick, name) == getattr(whole, name), f"{name} differs"
    assert quick.columns() == whole.columns()
    assert review_layout(quick, "out.xlsx") == review_layout(whole, "out.xlsx")
    assert quick.class_shares() == whole.class_shares()
    assert (quick.next_step(), quick.forecast(2)) == (whole.next_step(), whole.forecast(2))
    by = [text[:1] for text in whole.texts]
    assert quick.class_shares(by=by) == whole.class_shares(by=by)


@pytest.mark.parametrize("method", [*METHODS, "auto"])
def test_every_method_that_has_rules_labels_by_them_as_it_does_itself(method, tmp_path):
    need_vectors(method)
    words = {"rude": "staff", "high": "price"} if method in METHODS and METHODS[method].takes_words else None
    result = label(method, word_labels=words)
    quick = read_quickly(result.save(tmp_path / "model.isthmus"))
    assert (quick is not None) == (method in RULED), f"{method} {'has no' if quick is None else 'has a'} part"
    if quick is None:
        return
    for texts in (FEW, FEW, FEW, MANY):  # from the third time on a string kernel looks texts up
        assert_same(quick.label_new(texts), by_the_model(result).label_new(texts))


def test_labelled_words_vote_on_later_texts_without_the_whole_model(tmp_path):
    hard = make_shifted_texts(90, 80, noise=0.4, shared=0.2, class_shares=[0.7, 0.3], random_state=4)
    words = {}
    for name in ("class 0", "class 1"):
        known = [*hard.words_of(name, "shared")[:4], *hard.words_of(name, "target")[:10]]
        words |= dict.fromkeys(known, name)
    result = isthmus.label(hard.source_texts, hard.source_labels, hard.target_texts, word_labels=words, embed=False)
    assert result.model.lexicon_weight > 0
    quick = read_quickly(result.save(tmp_path / "model.isthmus"))
    later = [*hard.target_texts[:70], "none of them", *list(words)[:5], ""]
    for texts in (later[:2], later):
        assert_same(quick.label_new(texts), by_the_model(result).label_new(texts))
    assert quick.model.lexicon.rule.labelled_words_.dtype == np.int64


@pytest.mark.parametrize("labels", [[1, 2] * 8, [True, False] * 8, np.array(LABELS, dtype=object)])
def test_classes_keep_their_kind(labels, tmp_path):
    result = isthmus.label(SOURCE, labels, TARGET, method="nbc")
    quick = read_quickly(result.save(tmp_path / "model.isthmus"))
    whole = by_the_model(result).label_new(MANY)
    assert_same(quick.label_new(MANY), whole)
    assert quick.classes.dtype == result.classes.dtype


def test_new_groups_are_found_in_later_texts(tmp_path):
    groups = np.array(["", "sedan", "sedan", ""], dtype=object)
    result = replace(label(), novel=[{"group": "sedan", "documents": 2}], novel_group=groups)
    quick = read_quickly(result.save(tmp_path / "model.isthmus"))
    found = quick.label_new(["the sedan", "a fair price"])
    assert found.novel_group.tolist() == ["sedan", ""]
    assert found.novel == [{"group": "sedan", "documents": 1}]
    assert_same(found, by_the_model(result).label_new(["the sedan", "a fair price"]))


def test_what_was_taught_or_renamed_is_loaded_whole(tmp_path):
    taught = label().teach({"document": [1], "true_label": ["price"]})
    renamed = label().rename_classes({"price": "cost"})
    for number, result in enumerate((taught, renamed)):
        assert read_quickly(result.save(tmp_path / f"{number}.isthmus")) is None
    assert isthmus.load(tmp_path / "1.isthmus").predict(["a high price"]).tolist() == ["cost"]


PROBE = """
import sys
from isthmus.cli import main
try:
    main(["label", "later.csv", "--model", "model.isthmus", "-o", "out.csv", "--force", *sys.argv[1:]])
except SystemExit as leave:
    assert not leave.code, leave.code
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"sklearn", "skops", "numba", "pandas", "polars"}))
"""


def test_the_command_loads_nothing_else_and_writes_what_the_whole_model_writes(tmp_path):
    result = label("logistic")
    result.save(tmp_path / "model.isthmus")
    rows = "".join(f'{number},"{text}"\n' for number, text in enumerate(MANY[:5], 1))
    (tmp_path / "later.csv").write_text("id,text\n" + rows, encoding="utf-8")

    def run(*more):
        command = [sys.executable, "-c", PROBE, *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
        kept = {name: record[name] for name in ("settings", "method", "decision", "class_shares", "expected_accuracy")}
        return done.stdout.split(), (tmp_path / "out.csv").read_text(encoding="utf-8"), kept, done.stderr

    loaded, table, record, said = run()
    assert loaded == [], "the rules should be enough"
    whole = run("--report", "page.html")  # a report needs the whole model
    assert "sklearn" in whole[0]
    assert (table, record) == whole[1:3]
    assert said.splitlines()[:3] == whole[3].splitlines()[:3]


# -- damaged and forged files ------------------------------------------------------------------------------------------


def forge(path, change, name=PART):
    """The same archive with one part changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in parts.items():
            archive.writestr(entry, content)
    return path


def changed(**values):
    return lambda part: json.dumps(json.loads(part) | values).encode()


def renamed_rule(part):
    return part.replace(b'"LinearRule"', b'"QuickLabels"')


@pytest.mark.parametrize(
    "change", [changed(format=99), changed(content=3), changed(nodes=[]), renamed_rule, lambda part: b"{"]
)
def test_a_part_that_cannot_be_read_leaves_the_whole_model(change, tmp_path):
    path = forge(label().save(tmp_path / "model.isthmus"), change)
    assert read_quickly(path) is None
    assert isthmus.load(path).predict(["a high price"]).tolist() == ["price"]


def test_rules_that_do_not_fit_each_other_are_refused(tmp_path):
    quick = read_quickly(label().save(tmp_path / "model.isthmus"))
    damaged = replace(quick, model=replace(quick.model, rule=replace(quick.model.rule, coef=np.ones((2, 3)))))
    with pytest.raises(DataError, match="do not fit each other") as caught:
        damaged.label_new(["a high price"])
    assert caught.value.code == "bad-model"


def test_the_part_counts_towards_the_limit_on_unpacking(tmp_path):
    path = forge(label().save(tmp_path / "model.isthmus"), lambda part: part + b" " * 3_000_000)
    with unpacking_at_most(2_000_000):
        assert read_quickly(path) is None
        with pytest.raises(DataError) as caught:
            isthmus.load(path)
    assert caught.value.code == "too-large"


def test_an_array_holds_no_more_than_its_file():
    stream = io.BytesIO()
    np.save(stream, np.arange(6.0).reshape(2, 3))
    data = stream.getvalue()
    np.testing.assert_array_equal(read_array(data), np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match="reshape"):
        read_array(data.replace(b"(2, 3)", b"(9, 9)"))
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="array of object"):
        read_array(stream.getvalue())


def test_steps_without_a_rule_leave_the_model_to_itself():
    """Rows of another length, parts that are weighed, and steps that nobody wrote a rule for."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.pipeline import FeatureUnion
    from sklearn.preprocessing import Normalizer

    assert type(quick_module._sklearn_step(Normalizer())).__name__ == "UnitRows"
    chain = isthmus.make_transfer_pipeline(Normalizer())
    both = [("one", chain), ("two", chain)]
    assert type(quick_module._sklearn_step(FeatureUnion(both))).__name__ == "SideBySide"
    weighed = FeatureUnion(both, transformer_weights={"one": 2.0})
    for step in (Normalizer(norm="l1"), weighed, TruncatedSVD()):
        assert quick_module._sklearn_step(step) is None, f"{type(step).__name__} has no rule"


def there_and_back(value, texts=None, arrays=None):
    """A value packed as JSON and arrays, and read again."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in (arrays or {}).items():
            inner = io.BytesIO()
            np.save(inner, array)
            archive.writestr(name, inner.getvalue())
    with zipfile.ZipFile(stream) as saved:
        packer = quick_module._Packer(saved, texts or {})
        packed = json.loads(json.dumps(packer.pack(value)))
        own = io.BytesIO()
        with zipfile.ZipFile(own, "w") as archive:
            for name, data in packer.arrays.items():
                archive.writestr(name, data)
        with zipfile.ZipFile(own) as archive:
            return packed, quick_module._Unpacker(archive, saved, lambda: texts or {}, packer.nodes).unpack(packed)


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.5), np.int64(3), np.bool_(True), [1, "a", None], (1, 2.5), [[1], ("a", (2,))], {"a": [1], "b": 2},
        frozenset({"b", "a"}),
    ],
)  # fmt: skip
def test_plain_values_come_back_as_they_were(value):
    _, back = there_and_back(value)
    assert back == value
    assert type(back) is (type(value.item()) if isinstance(value, np.generic) else type(value))


@pytest.mark.parametrize("dtype", ["<U5", object])
def test_names_come_back_in_their_kind(dtype):
    names = np.array(["staff", "price"], dtype=dtype)
    _, back = there_and_back(names)
    assert back.tolist() == names.tolist()
    assert back.dtype == names.dtype


def test_texts_that_the_file_holds_are_not_written_twice():
    """Of a list of more than a hundred; one that holds something else is written as it is."""
    texts = {"texts": [f"text {i}" for i in range(60)], "source_texts": [f"own {i}" for i in range(60)], "ids": None}
    both = [*texts["source_texts"], *texts["texts"]]
    packed, back = there_and_back(both, texts)
    assert packed["texts"][:2] == [["source_texts", 0], ["source_texts", 1]]
    assert back == both
    for other in ([*both, "another"], [*both, 3], both[:100]):
        packed, back = there_and_back(other, texts)
        assert "texts" not in packed
        assert back == other


def test_arrays_that_the_model_holds_are_not_written_twice():
    held, other = np.arange(5.0), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    packed, back = there_and_back([held, other, other + 1], arrays={"a.npy": held})
    assert [next(iter(row)) for row in packed["rows"]] == ["held", "array", "array"]
    for one, own in zip(back, (held, other, other + 1), strict=True):
        np.testing.assert_array_equal(one, own, err_msg="an array must come back")
        assert one.flags.f_contiguous == own.flags.f_contiguous, "sums are in the order of the memory"


@dataclass
class Stranger:
    size: int


@pytest.mark.parametrize(
    "value",
    [
        np.array([["a", "b"]]), np.array([b"a"]), np.array([(1,)], dtype=[("a", int)]), np.array([1, object()]),
        object(), Stranger(1), {1, 2}, [Stranger(1)],
    ],
    ids=["a table of names", "bytes", "records", "an object", "anything", "a class", "a set", "in a list"],
)  # fmt: skip
def test_what_has_no_rule_is_not_packed(value):
    with pytest.raises(quick_module.NotQuickError):
        there_and_back(value)


def test_arrays_of_either_version_are_read():
    values = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for version in ((1, 0), (2, 0)):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, values, version=version)
        np.testing.assert_array_equal(read_array(stream.getvalue()), values, err_msg=f"version {version}")


def test_members_of_a_vote_keep_what_is_equal_once():
    """Words, their places and weights are the same objects, not only equal ones: rows are counted once by that."""
    one = label("logistic").quick_model().model
    several = {"one": one, "two": copy.deepcopy(one)}
    for members, kept in ((several, 2), (share_counts(several), 1)):
        steps = [step for member in members.values() for step in member.steps if hasattr(step, "idf")]
        assert len(steps) == 2
        for name in ("words", "vocabulary", "idf"):
            assert len({id(getattr(step, name)) for step in steps}) == kept, name
