"""Parts of the command by themselves: lines of progress and notes, what was read, records, files kept in need."""

import io
import json
import os
import sys
import warnings
from contextlib import redirect_stderr
from pathlib import Path
from types import SimpleNamespace

import pytest

from isthmus import _streams
from isthmus._utils import spell_time
from isthmus.cli import app, blocks, check, common, inputs, label_run, outputs
from isthmus.cli.common import count_cores, describe, note_guarded, run_record_path, talking
from isthmus.cli.progress import Forecast, ProgressLine, plan_labelling
from isthmus.corpus import Collection
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.options import LabelOptions


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(line, **event):
    """What one event puts on the screen."""
    with redirect_stderr(Terminal()) as screen:
        line({"phase": "reading", "total": None, **event})
        shown = screen.getvalue()
        _streams.clear_line()
    return shown


def test_a_terminal_sees_one_line_that_is_written_again():
    line = ProgressLine()
    line.began = line.spoke = 0.0
    assert told(line, time=0.19, done=1, total=8) == ""  # five times a second at most
    assert told(line, time=0.2, done=2, total=8) == "\r\033[Kreading: 2 of 8, about 1 s left in this step"
    # Two of eight in ten seconds less 0.19: the other six take three times as long.
    assert told(line, time=10.19, done=2, total=8) == "\r\033[Kreading: 2 of 8, about 30 s left in this step"
    assert told(line, time=10.5, done=8, total=8) == "\r\033[Kreading: 8 of 8"
    assert told(line, time=11.0, done=1_500) == "\r\033[Kreading: 1,500"
    assert told(line, time=12.0, done=9, rate=2_345.6) == "\r\033[Kreading: 9, 2,346 a second"
    assert told(line, time=12.01, phase="saving", done=0, total=1) == "\r\033[Ksaving"  # its begin is always told
    assert told(line, time=12.5, phase="counting", done=3, total=9) == "", "a step inside another takes no line"
    assert told(line, time=12.9, phase="saving", done=1, total=1) == "\r\033[Ksaving"
    assert told(line, time=13.5, phase="memory", done=7, total=9, what="ridge") == "", "a note about memory is no step"


def test_nothing_is_said_about_the_time_left_from_the_first_rows_of_many():
    line = ProgressLine()
    line.began = line.spoke = 0.0
    told(line, time=0.0, done=0, total=1_000)
    assert told(line, time=8.0, done=19, total=1_000) == "\r\033[Kreading: 19 of 1,000"
    assert told(line, time=9.0, done=20, total=1_000).endswith("about 7 minutes left in this step")


def test_the_line_gives_way_to_what_is_said_and_fits_the_terminal(monkeypatch):
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=None: os.terminal_size((12, 20)))
    with redirect_stderr(Terminal()) as screen:
        _streams.rewrite_line("reading")
        _streams.say("note: one")
        _streams.say("note: two")
    assert screen.getvalue() == "\r\033[Kreading\r\033[Knote: one\nnote: two\n"
    line = ProgressLine()
    assert told(line, time=line.began + 1, phase="reading the texts", done=1) == "\r\033[Kreading the"
    with redirect_stderr(Terminal()) as screen:
        _streams.rewrite_line("reading")
        _streams.clear_line()
        _streams.clear_line()
    assert screen.getvalue() == "\r\033[Kreading\r\033[K"


PLAN = [("reading the texts", 4.0), ("trying methods", 10.0), ("judging the labels", 2.0), ("writing the report", 4.0)]


@pytest.mark.parametrize("pace", [0.3, 1.0, 2.5, 6.0], ids=lambda pace: f"{pace} times the plan")
@pytest.mark.parametrize("busy", [1.0, 4.0], ids=lambda busy: f"{busy} seconds for one of work")
def test_the_time_left_is_right_within_a_factor_of_two_from_a_quarter_of_the_run_on(pace, busy):
    """A machine of another pace than the plan's, alone or shared with other work."""
    forecast, now, came = Forecast(PLAN, 0.0), 0.0, 20 * pace * busy
    for name, seconds in PLAN:
        forecast.enter(name, now)
        for _ in range(20):
            now += seconds * pace * busy / 20
            if 0.25 * came <= now <= 0.8 * came:
                said = forecast.left(now, used=now / busy)
                assert 0.5 <= said / (came - now) <= 2, f"at {now:.1f} of {came:.1f} s: {said:.1f} s said to be left"


def test_a_stage_of_unknown_length_hides_the_time_until_it_is_over():
    forecast = Forecast([("labelling", None), ("judging", 2.0), ("saving", 3.0)], 0.0)
    assert forecast.left(1.0, used=1.0) is None
    forecast.enter("saving", 100.0)
    assert (forecast.stage, forecast.left(100.0, used=100.0)) == ("saving", 3.0)


def test_a_planned_run_names_its_stages_and_the_time_of_all_of_them():
    line = ProgressLine()
    line.began = line.spoke = 0.0
    line.expect(PLAN)
    line.forecast.left = lambda now: 43.0
    assert told(line, time=0.5, phase="counting", done=1, total=9) == "\r\033[Kreading the texts"
    assert told(line, time=2.0, phase="counting", done=2, total=9) == "\r\033[Kreading the texts, about 45 s left"
    assert told(line, time=3.0, phase=PLAN[1][0], done=1, total=8) == "\r\033[Ktrying methods: 1 of 8, about 45 s left"
    assert told(line, time=4.0, phase=PLAN[1][0], done=8, total=8) == "\r\033[Kjudging the labels, about 45 s left"
    assert told(line, time=5.0, phase="diagnosing", done=1, total=6) == "\r\033[Kjudging the labels, about 45 s left"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (57, "55 s"), (57.5, "1 minute"), (5399, "90 minutes"), (5400, "2 hours"), (227 * 60, "4 hours")],
)
def test_a_long_time_is_said_in_hours(seconds, said):
    assert spell_time(seconds) == said


def test_nothing_is_left_to_guess_before_the_first_is_done():
    line = ProgressLine()
    line.began = line.spoke = 0.0
    assert told(line, time=1.0, done=0, total=8) == "\r\033[Kreading: 0 of 8"


def test_a_note_is_told_once_whatever_part_of_the_documents_it_speaks_of(capsys):
    with talking(quiet=False):
        for text in ("3 of 9 texts are empty", "2 of 6 texts are empty", "3 texts are empty", "two\nlines"):
            warnings.warn(IsthmusWarning(text, code="data-checks"), stacklevel=1)
    assert capsys.readouterr().err.splitlines() == [
        "note: 3 of 9 texts are empty [data-checks]",
        "note: 3 texts are empty [data-checks]",
        "note: two lines [data-checks]",
    ]
    with talking(quiet=True):
        warnings.warn(IsthmusWarning("nobody hears this", code="data-checks"), stacklevel=1)
    assert capsys.readouterr().err == ""


def test_a_machine_that_tells_no_physical_cores_is_nothing_to_tell_of(monkeypatch, capfd):
    def tells_none():
        raise ValueError("found 0 physical cores < 1")

    context = pytest.importorskip("joblib.externals.loky.backend.context")
    monkeypatch.setattr(context, "physical_cores_cache", None)
    monkeypatch.setattr(context, "_cpu_count_user", lambda count: count)
    for system in ("linux", "win32", "darwin"):
        monkeypatch.setattr(context, f"_count_physical_cores_{system}", tells_none)
    with talking(quiet=False):
        count_cores()
    context.cpu_count(only_physical_cores=True)  # as scikit-learn asks
    assert capfd.readouterr().err == ""
    assert context.physical_cores_cache == "not found"


def test_what_was_read_is_told_with_the_twelve_largest_classes(capsys):
    labels = [f"class {i:02d}" for i in range(13) for _ in range(20 - i)] + [None] * 2
    docs = Collection.from_texts([f"some words {i}" for i in range(len(labels))], labels, name="old.csv")
    describe(docs, "source", quiet=False)
    first, classes, *_ = capsys.readouterr().err.splitlines()
    assert first == f"source: old.csv, {len(labels)} documents"
    assert classes.startswith("  classes: class 00 20, class 01 19, ")
    assert classes.endswith("class 11 9 and 1 more; 2 without a label")
    describe(docs.select([i < 20 for i in range(len(labels))]), "source", quiet=False)
    assert capsys.readouterr().err.splitlines()[:2] == ["source: old.csv, 20 documents", "  classes: class 00 20"]
    describe(docs, "source", quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 cell that begins with"), (2, "2 cells that begin with"), (1_200, "1,200 cells")]
)
def test_cells_that_were_changed_are_counted(count, said):
    with pytest.warns(IsthmusWarning, match=said) as heard:
        note_guarded(count)
    assert heard[0].message.code == "guarded-cells"


def test_no_cell_changed_is_no_note():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note_guarded(0)


def test_the_record_never_takes_the_place_of_a_file_that_is_not_ours(tmp_path):
    output = tmp_path / "out.csv"
    ours = json.dumps({"command": "isthmus label", "output": "out.csv"})
    names = ["run.json", "out.csv.run.json", "out.csv.run.2.json", "out.csv.run.3.json"]
    strange = [
        json.dumps({"command": "isthmus label", "output": "other.csv"}),
        json.dumps({"command": "another", "output": "out.csv"}),
        "[]",
    ]
    for place, content in enumerate(strange):
        assert run_record_path(output).name == names[place]
        (tmp_path / names[place]).write_text(content)
    assert run_record_path(output).name == names[3]
    (tmp_path / names[1]).write_text(ours)
    assert run_record_path(output).name == names[1]
    (tmp_path / names[0]).write_text("{broken")
    assert run_record_path(output).name == names[1]
    (tmp_path / names[0]).write_text(ours)
    assert run_record_path(output).name == names[0]


def test_json_on_a_terminal_of_another_encoding_is_ascii(monkeypatch):
    for encoding, shown in (("utf-8", '"é"'), ("ascii", '"\\u00e9"'), ("no such", '"\\u00e9"'), (None, '"é"')):
        out = SimpleNamespace(encoding=encoding, text="")
        written = []
        monkeypatch.setattr(common, "write_data", written.append)
        monkeypatch.setattr(sys, "stdout", out)
        common.print_json("é")
        monkeypatch.undo()
        assert written == [shown + "\n"]


# ---- what is read


def collection(name, *rows):
    return Collection.from_texts([text for text, _ in rows], [label for _, label in rows], name=name)


def test_several_sources_are_joined_and_told_apart():
    parts = [
        collection("a.csv", ("x", "1"), ("y", None)),
        collection("b.csv", ("z", "2")),
        collection("a.csv", ("w", "1")),
    ]
    joined, domain = inputs.join_collections(parts)
    assert domain == ["a.csv", "a.csv", "b.csv", "a.csv (2)"]
    assert (list(joined.texts), list(joined.labels)) == (["x", "y", "z", "w"], ["1", None, "2", "1"])
    assert joined.name == "a.csv, b.csv"


def test_classes_that_not_all_sources_have_are_told():
    some = [collection("a.csv", *((f"t{i}", f"c{i}") for i in range(7))), collection("b.csv", ("x", "c0"), ("y", None))]
    with pytest.warns(IsthmusWarning) as heard:
        inputs._compare_classes(some)
    assert [str(row.message).partition(";")[0] for row in heard] == [
        "a.csv has classes that not all sources have: c1, c2, c3, c4, c5"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs._compare_classes([some[1], some[1]])


def test_a_half_labelled_file_keeps_what_stood_there():
    half = collection("a.csv", ("x", "old"), ("y", None), ("z", None), ("w", "old"))
    found = {
        "label": ["n1", "n2"], "confidence": [0.7, 0.8], "needs_review": [True, False], "novel_group": ["", "g"],
        "text": ["y", "z"],
    }  # fmt: skip
    result = SimpleNamespace(columns=lambda: found, texts=["y", "z"], answers=None)
    assert inputs.label_half(half, result) == {
        "label": ["old", "n1", "n2", "old"],
        "confidence": [1.0, 0.7, 0.8, 1.0],
        "needs_review": [False, True, False, False],
        "novel_group": ["", "", "g", ""],
        "given": [True, False, False, True],
    }


def test_true_labels_are_put_in_as_cells_of_their_column():
    table = {"label": ["a", "b", "a"], "confidence": ["0.5", "0.6", "0.7"], "needs_review": [True, True, True]}
    found = SimpleNamespace(rows=[2, 0], true_labels=["c", "a"], guarantee=None)
    assert check.corrected_table(table, found) == {
        "label": ["a", "b", "c"],
        "confidence": ["1.0", "0.6", "1.0"],
        "needs_review": [False, True, False],
        "checked": [True, False, True],
    }


# ---- what is written


def test_an_input_is_never_replaced_under_whatever_name(tmp_path):
    given = tmp_path / "in.csv"
    given.write_text("text\na\n")
    (tmp_path / "link.csv").symlink_to(given)
    for path in (given, tmp_path / "link.csv"):
        with pytest.raises(UsageError, match="is an input of this run") as refused:
            outputs.check_output_is_not_input(path, [None, "-", given])
        assert refused.value.code == "output-unwritable"
    other = tmp_path / "other.csv"
    other.write_text("")
    for path in (None, "-", tmp_path / "new.csv", other):
        outputs.check_output_is_not_input(path, [None, "-", given])


def test_what_was_found_is_kept_where_the_outputs_cannot_be_written(tmp_path):
    output = str(tmp_path / "out.csv")
    for name in ("out.kept.csv", "out.kept2.csv"):
        kept = outputs.keeping({"label": ["a", "=b"]}, ["1", "2"], output)
        with pytest.raises(DataError, match=f"The disk is full; the results are stored in '.*{name}'") as told_so, kept:
            raise DataError("The disk is full.", code="output-unwritable")
        assert told_so.value.code == "output-unwritable"
        assert (tmp_path / name).read_text().splitlines() == ["id,label", "1,a", "2,'=b"]
    kept = outputs.keeping({"label": ["a"]}, ["1"], output)
    with pytest.raises(DataError, match="The outputs cannot be written: broken; the results") as told_so, kept:
        raise ValueError("broken")
    assert told_so.value.code == "output-unwritable"


def test_nothing_is_kept_where_somebody_stopped_the_work(tmp_path):
    for error in (KeyboardInterrupt, BrokenPipeError):
        with pytest.raises(error), outputs.keeping({"label": ["a"]}, ["1"], str(tmp_path / "out.csv")):
            raise error
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_made_tells_when_it_begins_and_when_it_is_done(tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr(outputs, "progress", lambda *event: heard.append(event))
    outputs.announced("saving", lambda path: heard.append(path))(tmp_path)
    assert heard == [("saving", 0, 1), tmp_path, ("saving", 1, 1)]


def test_a_sheet_is_looked_for_in_the_workbooks_alone(tmp_path):
    """A table beside a workbook has no sheets; where no file has any, that is told."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    table, book = str(tmp_path / "old.csv"), str(tmp_path / "new.xlsx")
    (tmp_path / "old.csv").write_text("text,label\ngood food,a\nbad staff,b\n", encoding="utf-8")
    with xlsxwriter.Workbook(book) as new:
        new.add_worksheet("first").write_column(0, 0, ["text", "of the first sheet"])
        new.add_worksheet("second").write_column(0, 0, ["text", "of the second sheet", "and more of it"])
    found = inputs.read_inputs(LabelOptions(files=(table, book), sheet="second", quiet=True))
    assert list(found.source.texts) == ["good food", "bad staff"]
    assert list(found.target.texts) == ["of the second sheet", "and more of it"]
    with pytest.raises(UsageError, match="'second' was given and none of the files is a workbook") as told_so:
        inputs.read_inputs(LabelOptions(files=(table, table), sheet="second", quiet=True))
    assert told_so.value.code == "bad-parameter"


def test_twelve_classes_are_all_there_are(capsys):
    labels = [f"class {i:02d}" for i in range(12)]
    describe(
        Collection.from_texts([f"some words {i}" for i in range(12)], labels, name="old.csv"), "source", quiet=False
    )
    assert capsys.readouterr().err.splitlines()[1].endswith("class 11 1")


def test_a_folder_in_the_place_of_the_record_stays(tmp_path):
    (tmp_path / "run.json").mkdir()
    assert run_record_path(tmp_path / "out.csv").name == "out.csv.run.json"


def test_where_nothing_can_be_kept_the_error_is_the_first_one(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "_keep_elsewhere", lambda columns, output: None)
    with (
        pytest.raises(ValueError, match=r"^broken$"),
        outputs.keeping({"label": ["a"]}, ["1"], str(tmp_path / "o.csv")),
    ):
        raise ValueError("broken")


def test_an_error_about_a_file_in_the_making_names_the_file_that_was_asked_for(tmp_path):
    def make(part):
        raise DataError(f"{str(part)!r} is full of errors.", code="bad-model")

    place = tmp_path / "page.html"
    with pytest.raises(DataError, match="page") as caught:
        outputs.write_files(None, {}, {place: make}, force=False)
    assert str(caught.value) == f"{str(place)!r} is full of errors."
    assert caught.value.code == "bad-model"
    assert list(tmp_path.iterdir()) == []


def test_columns_of_a_saved_labelling_fit_its_texts():
    kept = {"names": ["nr"], "cells": {"nr": [1]}, "source": "s.csv", "given": 3}
    result = SimpleNamespace(input_table=json.dumps(kept), texts=["a", "b"], document_ids=["1", "2"])
    with pytest.raises(DataError, match="its columns differ in length") as caught:
        outputs.target_table(result, None, True)
    assert caught.value.code == "bad-model"


def test_of_a_labelling_without_its_columns_the_names_are_told(capsys):
    kept = {"names": ["nr", "region"], "cells": None, "source": "s.csv", "given": 3}
    result = SimpleNamespace(input_table=json.dumps(kept), texts=["a", "b"], document_ids=["1", "2"])
    assert outputs.target_table(result, None, True) == {"id": ["1", "2"], "text": ["a", "b"]}
    assert capsys.readouterr().err == "", "quiet is quiet"
    outputs.target_table(result, None, False)
    half, lacks = capsys.readouterr().err.splitlines()
    assert half.startswith("The table holds the 2 documents of s.csv that had no label; ")
    assert lacks == "The result lacks the other columns of the target (nr, region); --target FILE adds them."


def test_the_file_that_was_labelled_is_read_again_by_the_same_columns(tmp_path):
    (tmp_path / "t.csv").write_text("title,comment\nloud,bike\nkind,staff\n", encoding="utf-8")
    result = SimpleNamespace(input_table=json.dumps({"text": ["title"]}), texts=["loud", "kind"])
    assert list(outputs.target_table(result, tmp_path / "t.csv", True)) == ["title", "comment"]
    other = SimpleNamespace(input_table=json.dumps({"text": ["comment"]}), texts=["loud", "kind"])
    with pytest.raises(DataError, match="are not the 2 of the result"):
        outputs.target_table(other, tmp_path / "t.csv", True)


def labels_of(cells, **options):
    source = Collection.from_texts(["kind staff", "high price"], ["staff", "price"], name="s.csv")
    target = Collection.from_texts([f"text {i}" for i in range(len(cells))], name="t.csv", columns={"sum": cells})
    return inputs._target_labels(target, [source], LabelOptions(files=("s.csv", "t.csv"), **options))


def test_labels_in_the_target_are_refused_where_they_are_none_unless_forced():
    with pytest.raises(DataError, match="is empty; there are no answers in it") as caught:
        labels_of([None, " ", ""], target_label="sum")
    assert caught.value.code == "no-labels"
    numbers = [str(number) for number in range(1000, 1080)]
    with pytest.raises(DataError, match="80 different numbers"):
        labels_of(numbers, target_label="sum")
    assert labels_of(numbers, target_label="sum", force_classes=True) == numbers
    assert labels_of(["staff", None], target_label="sum") == ["staff", None]


def test_words_of_a_class_may_stand_in_two_places_if_they_are_the_same(tmp_path):
    table = tmp_path / "classes.csv"
    table.write_text("class,words\nstaff,clerk desk\nprice,\nlot,garage\n", encoding="utf-8")
    source = Collection.from_texts(["kind"], ["other"], name="s.csv")
    typed = ("staff: clerk desk", "price: cheap", "lot", "late")
    found = label_run.read_class_options(LabelOptions(classes=typed, class_table=table), source)
    assert found == {"staff": "clerk desk", "price": "cheap", "lot": "garage", "late": ""}
    with pytest.raises(UsageError, match="'staff' has words in --class and in"):
        label_run.read_class_options(LabelOptions(classes=("staff: clerk",), class_table=table), source)


def test_a_check_that_goes_on_names_the_column_that_was_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = {"read": 20, "documents": 300}
    found = SimpleNamespace(guarantee=SimpleNamespace(next_step=more, budget=0.1, documents=5), among=None)
    labelling = SimpleNamespace(saved=None)
    assert check.describe_next("out.csv", "read.csv", found, labelling) == (
        "Read 20 more, and about 300 should pass: isthmus check out.csv read.csv --sample 20 --budget 0.1 -o more.csv"
    )
    assert "--budget 0.1 --label 'my label' -o" in check.describe_next("out.csv", "r.csv", found, labelling, "my label")
    found.guarantee.next_step = None
    assert check.describe_next("out.csv", "r.csv", found, labelling).startswith("Use the 5 labels that pass")
    found.guarantee.documents = 0
    assert check.describe_next("out.csv", "r.csv", found, labelling).startswith("Use the labels with this accuracy")


def test_an_error_of_the_system_is_a_sentence_and_one_of_ours_is_not_hidden(monkeypatch, capsys):
    def failing(error):
        def run(**how):
            raise error

        monkeypatch.setattr(app, "make_app", lambda: run)

    failing(OSError(28, "No space left on device"))
    assert app.run_command([]) == 1
    assert capsys.readouterr().err == (
        "isthmus: No space left on device; check the name and the place. [file-trouble]\n"
    )
    failing(OSError(13, "Permission denied", "a.csv"))
    assert app.run_command([]) == 1
    assert "isthmus: Permission denied: a.csv; check" in capsys.readouterr().err
    failing(MemoryError())
    assert app.run_command([]) == 1
    assert "[too-large]" in capsys.readouterr().err
    failing(RuntimeError("a mistake of ours"))
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        app.run_command([])


def test_what_runs_in_blocks_is_seen_by_names_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b[1].csv", "notes.txt"):
        (tmp_path / name).write_text("text\nkind staff\n", encoding="utf-8")
    (tmp_path / "photos").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("text\nkind staff\n", encoding="utf-8")
    shown = {
        name: blocks.looks_sharded(name) for name in ("a.csv", "b[1].csv", "*.csv", "tables", "photos", "x.xlsx::a*")
    }
    assert shown == {
        "a.csv": False,
        "b[1].csv": False,
        "*.csv": True,
        "tables": True,
        "photos": False,
        "x.xlsx::a*": False,
    }
    files = {"files": ("a.csv", "a.csv"), "output": "out.csv"}
    blocks.check_blocks(LabelOptions(**files, tls=("ca=ca.pem",), scheduler="tls://one:8786"))
    with pytest.raises(UsageError, match="--tls is for --scheduler"):
        blocks.check_blocks(LabelOptions(**files, tls=("ca=ca.pem",)))


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({}, True),
        ({"embed": "none"}, True),
        ({"method": "nbc"}, True),
        ({"embed": "static"}, False),
        ({"labeller": "python label.py"}, False),
        ({"method": "dual-factor"}, False),
    ],
    ids=str,
)
def test_the_time_of_a_labelling_is_foretold_where_its_steps_are_known(options, known):
    docs = Collection.from_texts(["kind staff", "high price"], ["staff", "price"])
    stages = plan_labelling(LabelOptions(report=Path("page.html"), **options), docs, docs)
    assert all(seconds is not None for _, seconds in stages) == known
    assert (stages[0] == ("labelling", None)) == (not known)
    names = [name for name, _ in stages]
    assert "writing the report" in names
    assert "saving the model" not in names, "nobody asked for a model"
