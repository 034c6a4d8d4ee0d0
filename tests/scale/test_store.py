"""What a run keeps between passes: read back as it was, and refused where another hand wrote it."""

import ast
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import isthmus.scale
from isthmus.exceptions import DataError
from isthmus.features.blocks import RowBlock
from isthmus.scale import chunks, label, label_files, run, views
from isthmus.scale.output import work_folder
from isthmus.scale.store import FolderStore, MemoryStore, pack, unpack

ARRAYS = {
    "counts": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "empty": np.zeros(0, dtype=bool),
    "labels": np.array([3, -1, 7, 2], dtype=np.int32),
}


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_arrays_come_back_as_they_were(tmp_path, kind):
    store = FolderStore(tmp_path) if kind == "folder" else MemoryStore()
    store.save("rows/1", ARRAYS)
    assert store.has("rows/1")
    held = store.load("rows/1")
    assert list(held) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert held[name].dtype == array.dtype
        np.testing.assert_array_equal(held[name], array)
    assert store.load("rows/1", "labels")["labels"].tolist() == [3, -1, 7, 2]
    store.drop("rows")
    assert not store.has("rows/1")


def test_values_come_back_from_json():
    value = {"text": "line\u2028 \ud800", "hash": 2**64 - 1, "label": None}
    assert unpack(pack(value)) == value
    with pytest.raises(DataError, match="force=True") as error:
        unpack(np.frombuffer(pickle.dumps([1]), dtype=np.uint8))
    assert error.value.code == "file-trouble"


class Harmful:
    def __reduce__(self):
        return Path.touch, (Path("touched"),)


def object_array(path):
    array = np.empty(1, dtype=object)
    array[0] = Harmful()
    np.savez(path, labels=array)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-3])


def larger_than_the_file(path):
    with zipfile.ZipFile(path, "w") as file, file.open("labels.npy", "w") as out:
        np.lib.format.write_array_header_1_0(out, {"descr": "<i4", "fortran_order": False, "shape": (1 << 50,)})


def below_zero(path):
    with zipfile.ZipFile(path, "w") as file, file.open("labels.npy", "w") as out:
        np.lib.format.write_array_header_1_0(out, {"descr": "<i4", "fortran_order": False, "shape": (-4,)})


def other_names(path):
    np.savez(path, others=ARRAYS["labels"])


def no_array(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("labels.npy", b"numbers")


def changed_bytes(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [object_array, cut_short, larger_than_the_file, below_zero, no_array, changed_bytes],
    ids=lambda spoil: spoil.__name__,
)
def test_what_another_hand_wrote_is_refused_and_runs_nothing(tmp_path, monkeypatch, spoil):
    monkeypatch.chdir(tmp_path)
    store = FolderStore(tmp_path)
    store.save("labels", {"labels": ARRAYS["labels"]})
    spoil(store.path("labels"))
    for keys in ([], ["labels"]):
        with pytest.raises(DataError, match=r"'labels.npz' in the folder of the stopped run .*force=True") as error:
            store.load("labels", *keys)
        assert error.value.code == "file-trouble"
    assert not Path("touched").exists()


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(pickle.dumps(Harmful())), other_names])
def test_a_file_of_another_program_is_refused(tmp_path, monkeypatch, spoil):
    monkeypatch.chdir(tmp_path)
    store = FolderStore(tmp_path)
    store.save("labels", {"labels": ARRAYS["labels"]})
    spoil(store.path("labels"))
    with pytest.raises(DataError, match="force=True") as error:
        store.load("labels", "labels")
    assert error.value.code == "file-trouble"
    assert not Path("touched").exists()


def widen_rows(store):
    path = next(Path(store.folder, "rows").rglob("*.npz"))
    name = path.relative_to(store.folder).with_suffix("").as_posix()
    held = dict(store.load(name))
    held["indices"] = held["indices"] + 1_000_000  # beyond every table that compiled loops write to
    store.save(name, held)


def widen_tokens(store):
    for path in Path(store.folder, "tokens").rglob("*.npz"):
        name = path.relative_to(store.folder).with_suffix("").as_posix()
        held = dict(store.load(name))
        held["ids"] = held["ids"] + 1_000_000
        store.save(name, held)


@pytest.mark.parametrize(("stopped_at", "spoil"), [("take_census", widen_rows), ("make_rows", widen_tokens)])
def test_a_stopped_run_whose_folder_was_changed_is_refused(corpus, tmp_path, monkeypatch, stopped_at, spoil):
    arguments = corpus / "source.csv", corpus / "target" / "a.csv", tmp_path / "out.csv"
    settings = {"method": "nbc", "sample": 60, "text": "text"}

    def stop(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(label if stopped_at == "take_census" else run, stopped_at, stop)
        with pytest.raises(KeyboardInterrupt):
            label_files(*arguments, **settings)
    spoil(FolderStore(work_folder(str(arguments[2])) / "store"))
    with pytest.raises(DataError, match="its numbers contradict each other") as error:
        label_files(*arguments, resume=True, **settings)
    assert error.value.code == "file-trouble"
    assert not arguments[2].exists()


def test_nothing_of_the_room_unpickles_a_file():
    """Workers are spoken to in pickle, through the pipes of processes that the run itself started."""
    talks = "processes.py"
    for path in Path(isthmus.scale.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            unpickling = {"pickle", "cloudpickle", "joblib", "shelve"} & {name.split(".")[0] for name in names}
            assert not unpickling or path.name == talks, path
            assert getattr(node, "arg", None) != "allow_pickle" or node.value.value is False, path
            opened = {getattr(node, "id", ""), getattr(node, "attr", "")} & {
                "open",
                "Path",
                "read_bytes",
                "FolderStore",
            }
            assert not opened or path.name != talks, f"{talks} opens a file: {opened}"


TOKENS = {"terms": b"kind\nstaff\n", "ids": [0, 1, 1], "ends": [1, 1, 3], "solo": []}


@pytest.mark.parametrize(
    ("changed", "whole"),
    [
        ({}, True),
        ({"solo": [True, False, True]}, True),
        ({"ids": [], "ends": []}, True),
        ({"ids": [0, 2, 1]}, False),
        ({"ids": [0, -1, 1]}, False),
        ({"ends": [2, 1, 3]}, False),
        ({"ends": [-1, 1, 3]}, False),
        ({"ends": [1, 1, 2]}, False),
        ({"ends": [1, 1, 4]}, False),
        ({"solo": [True]}, False),
    ],
    ids=str,
)
def test_tokens_that_were_kept_must_fit_together(changed, whole):
    """Compiled loops write wherever their numbers point."""
    held = {**TOKENS, **changed}
    arrays = {name: np.array(held[name], dtype=np.int64) for name in ("ids", "ends")}
    arrays |= {"terms": np.frombuffer(held["terms"], dtype=np.uint8), "solo": np.array(held["solo"], dtype=bool)}
    assert chunks._hangs_together(arrays) is whole, f"tokens with {changed}"


@pytest.mark.parametrize(
    ("changed", "whole"),
    [
        ({}, True),
        ({"indptr": [0], "indices": [], "counts": []}, True),
        ({"indptr": []}, False),
        ({"indptr": [1, 2, 3]}, False),
        ({"indptr": [0, 2, 2]}, False),
        ({"indptr": [0, 4, 3]}, False),
        ({"counts": [1, 1]}, False),
        ({"counts": [1, -1, 1]}, False),
        ({"indices": [0, 3, 1]}, False),
        ({"indices": [0, -1, 1]}, False),
    ],
    ids=str,
)
def test_rows_that_were_kept_must_fit_together(changed, whole):
    held = {"indptr": [0, 2, 3], "indices": [0, 2, 1], "counts": [1, 2, 1], **changed}
    rows = RowBlock(*(np.array(held[name], dtype=np.int64) for name in ("indptr", "indices", "counts")), 3)
    assert views._hangs_together(rows) is whole, f"rows with {changed}"
