"""What Python users give: missing texts, one string, one list twice, answers of every kind; refused in its words."""

import ast
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_answers import made_answers

import isthmus
from isthmus.api.annotators import compare_annotators
from isthmus.api.reading import check_documents
from isthmus.corpus import write_rows
from isthmus.exceptions import DataError, IsthmusError, IsthmusWarning, UsageError
from isthmus.options import in_flags
from isthmus.report.hero import class_table
from isthmus_bench.shifted import make_shifted_texts

PACKAGE = Path(isthmus.__file__).parent
SOURCE = ["kind staff", "great bike", "polite staff", "fast bike"]
LABELS = ["staff", "product"] * 2
TARGET = ["rude staff", "slow bike", "staff was kind", "bike broke"]
TRUTH = ["staff", "product", "staff", "staff"]


@pytest.fixture(scope="module")
def result():
    return isthmus.label(SOURCE, LABELS, TARGET, method="nbc")


def test_messages_of_the_library_name_options_as_python_does():
    """A flag stands only where the command is named with it; the command itself translates."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if room in ("cli", "workbench", "options.py") or path.name in ("worker.py", "methods.py"):
            continue  # they read or print command lines
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)
            if not is_text or id(node) in docs | parts:
                continue
            text = ast.unparse(node)
            if re.search(r"(?<![\w-])--[a-z]", text) and not re.search(r"isthmus |the command", text):
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {text[:80]}")
    assert not wrong, "these name flags of the command in a library's message:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("or force=True to replace it.", "or --force to replace it."),
        ("name it with label=COLUMN.", "name it with --label COLUMN."),
        ("try method='strings', which", "try --method strings, which"),
        ("with random_state=NUMBER", "with --seed NUMBER"),
        ("labelled words (word_labels=…).", "labelled words (--words FILE)."),
        ("'force=True' is a name, and so is my_label=COLUMN", "'force=True' is a name, and so is my_label=COLUMN"),
    ],
)
def test_the_command_translates(python, command):
    assert in_flags(python) == command


def test_a_page_that_exists_is_refused_in_the_words_of_python(result, tmp_path):
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(DataError, match="or force=True to replace it") as error:
        result.report(tmp_path / "page.html")
    assert error.value.code == "output-exists"


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, np.nan], ids=["None", "nan", "NA", "numpy"])
def test_missing_texts_are_kept_as_empty_ones(missing):
    plain = isthmus.label([*SOURCE, ""], [*LABELS, "staff"], [*TARGET, ""], method="nbc")
    with pytest.warns(IsthmusWarning) as told:
        found = isthmus.label([*SOURCE, missing], [*LABELS, "staff"], [*TARGET, missing], method="nbc")
    said = [str(row.message) for row in told if row.message.code == "empty-documents"]
    assert "1 of 5 texts are missing, first source_texts[4]" in said[0]
    assert "first target_texts[4]" in said[1]
    np.testing.assert_allclose(found.probabilities, plain.probabilities)
    assert found.texts[4] == "", "a missing text is kept as an empty one"
    assert "5 texts, 1 of them empty, 2 classes" in repr(found)
    (said,) = [row["message"] for row in found.warnings if row["topic"] == "no text"]
    assert said.startswith("1 of 5 documents without text: each gets a label, as every row does")
    assert sum(row["target"] for row in class_table(found)) == 4, "an empty text counts for no class"
    assert {row["labels"] for row in found.class_shares()} == {0.5}, "nor for its share"
    assert sum(found.teach({1: "staff"}).learned.after.values()) == 4
    with pytest.warns(IsthmusWarning, match=r"first texts\[0\]"):
        assert found.predict([missing, "kind staff"]).tolist()[1] == "staff"


def test_missing_texts_do_not_stop_grouping_and_diagnosis():
    made = make_shifted_texts(60, 40, random_state=0)
    target = [*made.target_texts, None]
    with pytest.warns(IsthmusWarning) as told:
        groups = isthmus.cluster(made.source_texts, made.source_labels, target, 2)
    assert "first target_texts[40]" in str(told[0].message)
    assert len(groups.labels) == 41
    with pytest.warns(IsthmusWarning, match=r"first target_texts\[40\]"):
        isthmus.diagnose(made.source_texts, made.source_labels, target)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("one string", r"texts is one string; give a sequence of documents, each a str \(\[text\] for a single one\)"),
        ({"a": "text"}, "texts is of type dict; give a sequence of str"),
        (pd.DataFrame({"text": TARGET}), "texts is of type DataFrame; .*one column of a table"),
        (np.zeros((2, 2)), r"texts is a matrix of shape \(2, 2\)"),
        (["fine", 5], r"texts\[1\] is int 5; texts must be str"),
        ([], "texts has no documents"),
    ],
)
def test_what_predict_cannot_read_is_refused_in_one_sentence(result, texts, sentence):
    with pytest.raises(DataError, match=sentence):
        result.predict(texts)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series, iter])
def test_predict_takes_any_sequence(result, kind):
    assert result.predict(kind(TARGET)).tolist() == result.labels.tolist()


def as_truths(kind):
    columns = {"document": [1, 2, 3, 4], "true_label": TRUTH}
    return {
        "columns": columns,
        "list of dict": [{"id": str(row + 1), "true_label": name} for row, name in enumerate(TRUTH)],
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "list": TRUTH,
        "array": np.array(TRUTH),
        "series": pd.Series(TRUTH, index=list("abcd")),
        "polars series": pl.Series(TRUTH),
        "by id": {"1": "staff", 2: "product", "3": "staff", "4": "staff"},
    }[kind]


KINDS = ("columns", "list of dict", "pandas", "polars", "list", "array", "series", "polars series", "by id")


@pytest.mark.parametrize("kind", KINDS)
def test_check_and_teach_take_truths_of_every_kind(result, kind):
    found = result.check(as_truths(kind))
    assert (found.n, found.right) == (4, 3)
    assert result.teach(as_truths(kind)).labels.tolist() == TRUTH


def test_a_check_has_a_card(result):
    shown = result.check(["<b>", *TRUTH[1:]])._repr_html_()
    assert "2 of 4 documents right" in shown
    assert "<b>" not in shown, "names of classes are escaped"


def test_check_takes_the_file_of_a_sample(result, tmp_path):
    write_rows(tmp_path / "checked.csv", as_truths("columns"))
    assert result.check(tmp_path / "checked.csv").right == 3


@pytest.mark.parametrize(
    ("given", "code", "sentence"),
    [
        (["staff"], "length-mismatch", "There are 1 answers and 4 texts; give one label per text"),
        (7, "bad-check", "int was given; give a table with the columns id and true_label"),
        ({"staff"}, "bad-check", "set was given; give a table"),
        (np.zeros((2, 2)), "bad-check", "ndarray was given; give a table"),
        ({0: "staff"}, "bad-check", r"The id '0' is not among the documents \(without ids .* numbered from 1\)"),
        ({"text": ["a"], "label": ["staff"]}, "bad-check", "true_label and id .* are needed"),
    ],
)
def test_truths_that_cannot_be_read_are_refused_in_one_sentence(result, given, code, sentence):
    with pytest.raises(IsthmusError, match=sentence) as error:
        result.check(given)
    assert error.value.code == code


@pytest.mark.parametrize("domain", [None, ["a", "a", "b", "b"]])
def test_one_list_as_source_and_target_is_warned_of(domain):
    target = SOURCE if domain is None else SOURCE[:2]
    with pytest.warns(IsthmusWarning, match="labelled from themselves") as told:
        result = isthmus.label(SOURCE, LABELS, list(target), method="nbc", source_domain=domain)
    assert result.expected_accuracy.reason == "the target is the source, so that its labels are known"
    assert any(row.message.code == "data-checks" for row in told)


def test_other_texts_are_not_warned_of():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        isthmus.label(SOURCE, LABELS, TARGET, method="nbc")
    assert not [row for row in told if "labelled from themselves" in str(row.message)]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda result: result.forecast(None), "answers is None"),
        (lambda result: result.forecast(2.5), "answers is 2.5"),
        (lambda result: result.reasons("a"), "i is 'a'"),
        (lambda result: result.reasons(0, top=-1), "top=-1; give a whole number from 0"),
        (lambda result: result.budget_curve(0), "steps=0; give a whole number from 1"),
        (lambda result: result.name_groups(["1"]), "names is ['1']"),
        (lambda result: result.teach(word_labels=["kind"]), "word_labels is ['kind']"),
        (lambda result: result.check([]), "The checked sample has the columns none"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(result, ask, said):
    with pytest.raises(IsthmusError, match=re.escape(said)):
        ask(result)


def test_a_number_of_numpy_is_a_number(result):
    assert result.forecast(np.int64(2)) == result.forecast(2)
    assert result.reasons(np.int64(1)) == result.reasons(1)


def test_no_group_is_no_number_of_groups(result):
    many = isthmus.label(SOURCE, LABELS, TARGET * 6, method="nbc")
    with pytest.raises(IsthmusError, match="n_clusters: 0; give a whole number from 1"):
        many.split("staff", 0)


@pytest.mark.parametrize("i", [4, -5])
def test_documents_that_are_not_there_have_no_reasons(result, i):
    with pytest.raises(IsthmusError, match="there are 4 documents; number them from 0"):
        result.reasons(i)
    assert result.reasons(-4) == result.reasons(0), "the first, counted from the end"
    assert result.reasons(-1) == result.reasons(3)


def test_as_many_reasons_as_are_asked_for(result):
    with pytest.raises(IsthmusError, match=re.escape("top is 2.5")):
        result.reasons(0, top=2.5)
    assert result.reasons(0, top=0) == []
    assert len(result.reasons(0, top=1)) == 2, "one for each class"
    assert result.reasons(0, top=None) == result.reasons(0, top=99)


@pytest.mark.parametrize("steps", [0, -1])
def test_steps_of_a_budget_are_a_whole_number(result, steps):
    with pytest.raises(IsthmusError, match=re.escape(f"steps={steps!r}; give a whole number from 1")):
        result.budget_curve(steps)
    assert [row["documents"] for row in result.budget_curve(1)] == [0, 4]


def test_questions_without_documents_are_no_questions(result):
    for table in ({}, {"text": ["rude staff"]}):
        with pytest.raises(IsthmusError, match="give a number of documents, or the questions"):
            result.forecast(table)


def test_later_texts_say_that_nothing_is_expected_of_them(result):
    assert "expected accuracy not estimated" in repr(result.label_new(["kind staff"]))


def test_a_sample_without_a_number_goes_by_the_margin():
    """Five points where nothing is said, in a population of 400, from the end of the expectation nearest to a half."""
    made = make_shifted_texts(60, 400, n_classes=2, random_state=0)
    many = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc", language="en")
    many.expected_accuracy = isthmus.choose.AccuracyEstimate(0.9, 0.8, 0.95)
    for margin, given in ((0.05, {}), (0.1, {"margin": 0.1})):
        n = isthmus.choose.sample_size(margin, accuracy=0.8, population=400)
        assert len(many.sample(**given)["document"]) == n, f"as many as a margin of {margin} takes"
    first, second = (many.sample(20, budget=0.2, random_state=seed)["document"] for seed in (0, 3))
    assert first != second, "the seed decides which are drawn for a budget, too"
    surest = many.sample(40, budget=0.2, random_state=3)
    assert surest["document"][:20] == second, "a larger draw begins with the smaller one"
    truths = many.labels[np.array(surest["document"]) - 1].tolist()
    many.settings["error_budget"] = 0.25
    found = many.check({**surest, "true_label": truths})
    assert found.guarantee.budget == 0.25, "a sample of the surest is checked for the budget of the run"


def test_annotators_of_a_given_table_are_compared(result):
    table = {"document": [1, 1, 2], "true_label": ["staff", "product", "product"], "by": ["Ann", "Bob", "Ann"]}
    found = result.check_annotators(table)
    assert [(row["annotator"], row["answers"]) for row in found.annotators] == [("Ann", 2), ("Bob", 1), ("isthmus", 2)]
    with pytest.raises(IsthmusError, match="come from one annotator"):
        result.check_annotators({**table, "by": ["Ann"] * 3, "document": [1, 2, 3]})


def test_a_widget_is_given_the_questions_that_were_asked_for(result, monkeypatch):
    given = []
    monkeypatch.setattr("isthmus.api.review.review", lambda labelled, columns: given.append((labelled, columns)))
    result.review(2)
    result.review(3, suggest=True)
    assert [labelled is result for labelled, _ in given] == [True, True]
    assert [len(columns["document"]) for _, columns in given] == [2, 3]
    assert [{"label", "confidence"} <= set(columns) for _, columns in given] == [False, True], "labels are suggested"
    assert [columns == result.ask(n, suggest=n == 3) for n, (_, columns) in zip((2, 3), given, strict=True)] == [
        True
    ] * 2


def test_columns_of_the_table_that_was_read_break_shares_down(result, monkeypatch):
    """By the name of a column: of the file that came in, where no frame did."""
    kept = replace(result, input_table=json.dumps({"cells": {"shop": ["north", "south"] * 2}}))
    assert {row["value"] for row in kept.class_shares(by="shop")} == {"north", "south"}
    with pytest.raises(UsageError, match="'shops' is not a column of the target; it has shop"):
        kept.class_shares(by="shops")
    with pytest.raises(UsageError, match="its columns are not known; give one value per text"):
        result.class_shares(by="shop")
    given = []
    monkeypatch.setattr("isthmus.report.write_label_report", lambda *what, **options: given.append((what[1], options)))
    kept.report("page.html", by="shop")
    kept.report("page.html", force=True, by={"own": (1, 2, 3, 4)})
    kept.report("page.html")
    assert given == [
        ("page.html", {"force": False, "by": ("shop", ["north", "south"] * 2)}),
        ("page.html", {"force": True, "by": ("own", [1, 2, 3, 4])}),
        ("page.html", {"force": False, "by": None}),
    ]


def test_a_budget_of_nothing_leaves_the_whole_list_to_read(result):
    for budget in (0.0, 1.0):
        strict = replace(
            result,
            settings={**result.settings, "error_budget": budget},
            expected_accuracy=isthmus.choose.AccuracyEstimate(0.9, 0.8, 0.95),
            needs_review=np.array([True, True, False, True]),
        )
        step = strict.next_step()
        assert (step.read, step.now, step.then, step.at_random) == (3, 3, 0, False)


def test_annotators_without_a_common_document_do_not_agree():
    """Ann and Bob answered no document in common; what both call the same has no kappa."""
    entries = [
        {"row": 7, "label": "x", "by": "Bob"}, {"row": 2, "label": "x", "by": "Ann"},
        {"row": 5, "label": "y", "by": "Ann"}, {"row": 3, "label": "x", "by": "Bob"},
    ]  # fmt: skip
    labels = ["y", "y", "x", "x", "y", "x", "y", "x"]
    found = compare_annotators(entries, labels)
    pairs = {(row["first"], row["second"]): row for row in found.pairs}
    assert pairs["Ann", "Bob"] == {"first": "Ann", "second": "Bob", "documents": 0, "agreed": 0.0, "kappa": None}
    with_methods = pairs["Ann", "isthmus"], pairs["Bob", "isthmus"]
    assert [row["agreed"] for row in with_methods] == [0.5, 1.0], "of documents 2 and 5 one, of 3 and 7 both"
    assert [row["kappa"] for row in with_methods] == [0.0, None], "one label alone leaves nothing to chance"
    said = str(found).splitlines()
    assert "  Ann and Bob: agree in 0% of 0 documents" in said, said
    assert "  Ann and isthmus: agree in 50% of 2 documents (kappa 0.00)" in said, said


@pytest.fixture
def marked(result):
    """Of four documents the second was answered, the third is in a new group, and the last has no text."""
    return replace(
        result,
        texts=[*TARGET[:3], ""],
        answers=made_answers([1], ["staff"], ["random"], [""], ["one"]),
        novel_group=np.array(["", "", "noise", ""], dtype=object),
        confidence=np.array([0.9, 1.0, 0.3, 0.6]),
        expected_accuracy=isthmus.choose.AccuracyEstimate(0.8, 0.7, 0.9),
        needs_review=np.array([False, False, True, True]),
    )


def test_a_check_is_told_what_is_known_of_the_documents(marked, monkeypatch):
    given = {}

    def note(labels, confidence, rows, truths, **options):
        given.update(options, labels=labels.tolist(), confidence=confidence.tolist(), rows=rows, truths=truths)
        return "checked"

    monkeypatch.setattr("isthmus.api.reading.check_sample", note)
    assert check_documents(marked, [0, 3], ["staff", "product"], 0.2, 4) == "checked"
    assert {name: np.asarray(value).tolist() for name, value in given.items() if name != "expected"} == {
        "labels": marked.labels.tolist(), "confidence": [0.9, 1.0, 0.3, 0.6], "rows": [0, 3],
        "truths": ["staff", "product"], "budget": 0.2, "among": 4, "eligible": [True, False, False, True],
        "classes": ["product", "staff"], "counted": [True, True, True, False],
    }  # fmt: skip
    assert given["expected"] == marked.expected_accuracy


def test_what_comes_next_is_forecast_from_what_is_known(marked, monkeypatch):
    """Answered documents are not read again; those of a new group may not pass."""
    asked = []
    monkeypatch.setattr("isthmus.api.reading.forecast_answers", lambda *given: asked.append(given))
    marked.forecast(2)
    marked.forecast({"document": [4, 1]})
    assert [given[2] for given in asked] == [[2, 3], [3, 0]], "the least sure that nobody answered; those of a table"
    confidence, review, _, budget, texts = asked[0]
    assert (confidence.tolist(), review.tolist()) == ([0.9, 1.0, 0.3, 0.6], [False, False, True, True])
    assert (budget, texts) == (0.1, marked.texts)
    steps = []

    def note(*given, **options):
        steps.append((given, options))
        return "a step"

    monkeypatch.setattr("isthmus.api.reading.next_step", note)
    assert marked.next_step() == "a step"
    ((_, needs_review, budget, texts), options) = steps[0]
    assert (needs_review.tolist(), budget, texts) == ([False, False, True, True], 0.1, marked.texts)
    assert options["eligible"].tolist() == [True, False, False, True]
    assert options["expected"] == marked.expected_accuracy


def test_a_class_that_answers_named_between_others_moves_no_column(result):
    """Probabilities before any answer stand under the classes they were given to; empty texts do not count."""
    taught = replace(result, texts=[*TARGET[:3], ""]).teach({"document": [1], "true_label": ["quality"]})
    assert taught.classes.tolist() == ["product", "quality", "staff"]
    facts = taught.share_facts()
    np.testing.assert_array_equal(facts.before[:, [0, 2]], result.probabilities, err_msg="by class, as in the vote")
    assert facts.before[:, 1].tolist() == [0.0] * 4
    assert facts.known == {0: "quality"}
    assert list(facts.drawn) == []
    assert facts.counted.tolist() == [True, True, True, False]
