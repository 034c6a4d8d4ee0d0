"""Any labeller as a method: what it says, what that is worth, and every way in which it can fail."""

import json
import sys

import numpy as np
import pytest

import isthmus
from isthmus.classify.labeller import CommandLabeller, LabellerClassifier
from isthmus.cli.app import run_command
from isthmus.exceptions import IsthmusError, IsthmusWarning
from isthmus_bench.shifted import make_shifted_texts

SOURCE = ["kind staff at the desk", "a fast bike", "polite staff in the shop", "this bike is great"] * 15
LABELS = ["staff", "product"] * 30
TARGET = ["rude staff", "slow bike", "friendly staff", "loud bike", "staff again", "bike again"] * 10
TRUTH = ["staff", "product"] * 30
SCRIPT = """
import json, sys
for line in sys.stdin:
    text = json.loads(line)["text"]
    print(json.dumps({answer}))
"""


def rule(texts):
    return ["staff" if "staff" in text else "product" for text in texts]


def command(tmp_path, answer, before=""):
    """A real program that answers each text by an expression."""
    path = tmp_path / "labeller.py"
    path.write_text(before + SCRIPT.replace("{answer}", answer), encoding="utf-8")
    return f"{sys.executable} {path}"


@pytest.mark.parametrize(
    "answer",
    [
        '"staff" if "staff" in text else "product"',
        '{"label": "staff" if "staff" in text else "product"}',
        '{"probabilities": {"staff": 0.9, "product": 0.1} if "staff" in text else {"staff": 0.2, "product": 0.8}}',
        '"staff" if "staff" in text else "product" if "slow" in text or "fast" in text or "great" in text else None',
    ],
    ids=["label", "object", "probabilities", "partial"],
)
def test_a_real_process_labels(tmp_path, answer):
    model = LabellerClassifier(CommandLabeller(command(tmp_path, answer)))
    model.fit([*SOURCE, *TARGET], [*LABELS, *[None] * len(TARGET)])
    found = model.predict(["rude staff", "slow bike"]).tolist()
    assert found == ["staff", "product"]
    assert model.right_ == 1.0
    proba = model.predict_proba(["never seen, staff"])
    assert proba.sum() == pytest.approx(1.0)
    assert proba.max() > 0.8, "right each time in the source, so its answers are sure"


FAILURES = [
    ("sys.exit(3)", "", "labeller-failed", "exit code 3"),
    ('1/0 if text else ""', "", "labeller-failed", "ZeroDivisionError"),
    ('"zebra"', "", "labeller-labels", "'zebra', which is not one of the classes product, staff"),
    ('{"probabilities": {"staff": -1}}', "", "labeller-failed", "give numbers from 0 to 1"),
    ('"staff"', "import sys; print('\"staff\"'); sys.exit(0)\n", "labeller-failed", "gave 1 answers for 120 texts"),
    ('"staff"', "import time; time.sleep(60)\n", "labeller-failed", "within 0.5 seconds"),
    ('"staff"', "print('no json')\n", "labeller-failed", "Line 1 of the labeller's output is 'no json'"),
]


@pytest.mark.parametrize(("answer", "before", "code", "said"), FAILURES, ids=[case[3][:20] for case in FAILURES])
def test_every_failure_is_one_sentence_with_a_code(tmp_path, answer, before, code, said):
    timeout = 0.5 if "sleep" in before else 60
    labeller = CommandLabeller(command(tmp_path, answer, before), timeout=timeout)
    with pytest.raises(IsthmusError) as caught:
        LabellerClassifier(labeller).fit([*SOURCE, *TARGET], [*LABELS, *[None] * len(TARGET)])
    assert caught.value.code == code
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_command_that_is_not_there():
    with pytest.raises(IsthmusError, match="cannot be started") as caught:
        CommandLabeller("no-such-program-here --now")(["text"])
    assert caught.value.code == "labeller-failed"


def test_a_labeller_that_is_wrong_is_not_believed():
    def turned(texts):
        return ["product" if "staff" in text else "staff" for text in texts]

    model = LabellerClassifier(turned).fit([*SOURCE, *TARGET], [*LABELS, *[None] * len(TARGET)])
    assert model.right_ == 0.0
    assert model.predict(["rude staff"]).tolist() == ["staff"], "always wrong tells as much as always right"


@pytest.fixture(scope="module")
def shifted():
    return make_shifted_texts(n_source=200, n_target=200, random_state=0)


def three(data):
    return data.source_texts, data.source_labels, data.target_texts


def test_it_joins_auto_and_is_judged_like_the_others(shifted):
    known = dict(
        zip(
            [*shifted.source_texts, *shifted.target_texts],
            [*shifted.source_labels, *shifted.target_labels],
            strict=True,
        )
    )

    def oracle(texts):
        return [known[text] for text in texts]

    result = isthmus.label(*three(shifted), method=oracle, embed=False, language="en")
    row = next(row for row in result.decision if row["method"] == "labeller")
    assert row["chosen"], f"a labeller that is always right votes: {row['why']}"
    assert row["seconds"] >= 0
    assert result.settings["labeller"] == "oracle"
    assert np.mean(result.labels == np.array(shifted.target_labels)) > 0.9
    assert result.reasons(0), "the other methods account for the label"


def test_a_failing_labeller_leaves_the_others_alone(shifted):
    def failing(texts):
        return ["zebra"] * len(texts)

    result = isthmus.label(*three(shifted), method=failing, embed=False, language="en")
    row = next(row for row in result.decision if row["method"] == "labeller")
    assert not row["chosen"]
    assert "'zebra', which is not one of the classes" in row["why"]


def test_too_few_documents_judge_no_labeller():
    result = isthmus.label(SOURCE[:8], LABELS[:8], TARGET[:6], method=rule, embed=False, language="en")
    row = next(row for row in result.decision if row["method"] == "labeller")
    assert "too few documents" in row["why"]


def test_a_saved_model_never_runs_a_labeller(tmp_path):
    model = LabellerClassifier(rule)
    result = isthmus.label(SOURCE, LABELS, TARGET, method=model, language="en")
    result.save(tmp_path / "run.isthmus")
    again = isthmus.load(tmp_path / "run.isthmus")
    assert again.predict(TARGET[:2]).tolist() == result.labels[:2].tolist(), "answers about fitted texts are kept"
    with pytest.warns(IsthmusWarning, match="not part of a saved model"):
        again.predict(["something new"])


def test_the_command_takes_a_labeller(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f'"{text}",{label}' for text, label in zip(SOURCE, LABELS, strict=True)]
    (tmp_path / "source.csv").write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "target.csv").write_text("text\n" + "\n".join(TARGET) + "\n", encoding="utf-8")
    run = ["label", "source.csv", "target.csv", "-o", "out.csv", "--embed", "none", "--language", "en"]
    labeller = command(tmp_path, '"staff" if "staff" in text else "product"')
    assert run_command([*run, "--labeller", labeller, "--method", "nbc"]) == 2
    assert "one candidate of auto" in capsys.readouterr().err
    assert run_command([*run, "--labeller", labeller, "--json", "--quiet"]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert any(row["method"] == "labeller" for row in record["decision"])


def test_in_blocks_a_labeller_is_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{text},{label}" for text, label in zip(SOURCE, LABELS, strict=True))
    (tmp_path / "source.csv").write_text(f"text,label\n{rows}\n", encoding="utf-8")
    (tmp_path / "target.csv").write_text("text\n" + "\n".join(TARGET) + "\n", encoding="utf-8")
    run = ["label", "source.csv", "target.csv", "-o", "out.csv", "--block-rows", "20", "--labeller", "cat"]
    assert run_command(run) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    assert "--labeller" in said
    assert not (tmp_path / "out.csv").exists()


def test_texts_without_an_answer_say_nothing_about_what_an_answer_is_worth():
    """It knows bikes alone, and is right about them each time."""

    def partial(texts):
        return ["product" if "bike" in text else None for text in texts]

    model = LabellerClassifier(partial).fit([*SOURCE, *TARGET], [*LABELS, *[None] * len(TARGET)])
    sure = dict(zip(model.classes_.tolist(), model.predict_proba(["slow bike"])[0], strict=True))
    assert sure["product"] > 0.9, f"an answer that was always right counts {sure}"


def fitted(labeller):
    return LabellerClassifier(labeller).fit([*SOURCE, *TARGET], [*LABELS, *[None] * len(TARGET)])


@pytest.mark.parametrize("nothing", [None, "", float("nan"), {"label": None}], ids=["none", "empty", "nan", "object"])
def test_no_answer_may_be_said_in_several_ways(nothing):
    model = fitted(lambda texts: ["product" if "bike" in text else nothing for text in texts])
    assert model.answered_ == 0.5, f"{nothing!r} is no answer"
    shares = model.predict_proba(["rude staff"])[0]
    np.testing.assert_allclose(shares, [0.5, 0.5], err_msg="the shares of the classes stand for it")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (lambda texts: (text for text in texts), "gave generator for"),
        (lambda texts: "s" * len(texts), "gave str for"),
        (lambda texts: b"s" * len(texts), "gave bytes for"),
        (lambda texts: ["staff"], "gave 1 answers for"),
        (lambda texts: [{"staff": "high"}] * len(texts), "give numbers from 0 to 1"),
        (lambda texts: [{"staff": float("inf")}] * len(texts), "give numbers from 0 to 1"),
        (lambda texts: [{"staff": 0, "product": 0}] * len(texts), "give numbers from 0 to 1"),
    ],
)
def test_answers_of_another_form_are_refused(answers, said):
    with pytest.raises(IsthmusError, match=said) as caught:
        fitted(answers)
    assert caught.value.code == "labeller-failed"


@pytest.mark.parametrize("number", [np.float32, np.float64, np.int64, bool])
def test_probabilities_may_be_any_numbers(number):
    """Models give numbers of numpy."""
    model = fitted(
        lambda texts: [{"staff": number("staff" in text), "product": number("bike" in text)} for text in texts]
    )
    assert model.right_ == 1.0, f"answers in {number.__name__}"
    assert model.transduction_[len(SOURCE) :].tolist() == TRUTH


def test_a_labeller_that_answers_no_source_document_was_right_about_none():
    known = set(SOURCE)
    model = fitted(lambda texts: [None if text in known else {"staff": 0.7, "product": 0.3} for text in texts])
    assert model.right_ == 0.0
    assert model.power_ == 1.0, "nothing says that its probabilities are too sure"
    np.testing.assert_allclose(model.predict_proba(["loud bike"])[0], [0.3, 0.7], atol=1e-6)


def test_of_what_a_program_says_as_it_fails_the_last_line_is_shown_and_of_that_the_beginning(tmp_path):
    said = "import sys; print('first', file=sys.stderr); print('x' * 500 + 'end', file=sys.stderr); sys.exit(4)\n"
    with pytest.raises(IsthmusError) as caught:
        CommandLabeller(command(tmp_path, '""', said))(["text"])
    assert f"exit code 4: {'x' * 120}; run it" in str(caught.value)
