"""How commands end: at most eight lines, the files in one of them, and last what to do next."""

import random
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

import isthmus
from isthmus.choose import AccuracyEstimate
from isthmus.choose.forecast import AnswerForecast
from isthmus.choose.guaranteed import read_list
from isthmus.cli.app import run_command
from isthmus.cli.common import MOST_LINES, taught_files
from isthmus.cli.label_run import describe_labels, describe_next, describe_outcome
from isthmus.cli.teach import describe_better_judge
from isthmus.report.hero import hero_facts

WORDS = {"staff": "friendly rude helpful clerk", "price": "cheap costly fee offer", "parts": "engine tyre brake seat"}
BEFORE = ("source", "target", "  ", "note: ")  # lines about what was read


def write(path: str, seed: int, classes=("staff", "price"), *, n=40, labels=True, other="") -> None:
    draw = random.Random(seed)
    rows = ["id,text,label" if labels else "id,text"]
    for i in range(n):
        name = classes[i % len(classes)]
        text = " ".join(draw.choices(f"{WORDS[name]} {other}".split(), k=6)) + f" visit {draw.randrange(9)}"
        rows.append(f"{i},{text}" + (f",{name}" if labels else ""))
    Path(path).write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_files():
    write("source.csv", 1)
    write("second.csv", 2)
    write("target.csv", 3, labels=False, other="car")
    answers = [f"{i},{name}" for i, name in zip(range(1, 9), ("staff", "price") * 4, strict=True)]
    Path("answers.csv").write_text("document,true_label\n" + "\n".join(answers) + "\n", encoding="utf-8")


def label_files():
    write_files()
    assert run_command([*LABEL, *FILES, "--quiet"]) == 0


@pytest.fixture(autouse=True)
def _any_machine(monkeypatch):
    monkeypatch.setattr("isthmus.cli.progress.say", lambda text: None)  # said on a slow machine only


@pytest.fixture
def folder(enter_copy):
    return enter_copy(write_files)


NAMES = ["--class", "staff: friendly rude", "--class", "price: cheap"]
LABEL = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv"]
FILES = ["--report", "page.html", "--save", "run.isthmus"]
RUNS = {
    "plain": LABEL,
    "everything to review": [*LABEL, "--error-budget", "0.001"],
    "all files": [*LABEL, *FILES],
    "so many to read": [*LABEL, *FILES, "--read", "5"],
    "several sources": ["label", "source.csv", "second.csv", *LABEL[2:], *FILES],
    "no source": ["label", "target.csv", *NAMES, "-o", "out.csv"],
    "answers": [*LABEL, "--answers", "answers.csv", *FILES],
    "groups": ["cluster", "source.csv", "target.csv", "-o", "groups.csv", "--clusters", "9"],
    "diagnosis": ["diagnose", "source.csv", "target.csv", "--report", "page.html"],
}
AFTER_A_LABELLING = {
    "taught": ["teach", "run.isthmus", "answers.csv", "-o", "taught.csv", "--save", "two.isthmus"],
    "a later file": ["label", "--model", "run.isthmus", "target.csv", "-o", "later.csv"],
    "questions": ["ask", "run.isthmus", "-n", "5", "-o", "ask.csv"],
    "a sample": ["check", "run.isthmus", "--sample", "9", "-o", "sample.csv"],
    "checked": ["check", "run.isthmus", "answers.csv"],
    "a budget": ["check", "run.isthmus", "answers.csv", "--budget", "0.3", "-o", "passed.csv"],
    "subtopics": ["cluster", "run.isthmus", "--within", "staff", "-o", "within.csv"],
}


def outcome(talk) -> list[str]:
    """Lines that tell how the command ended, on either output."""
    return [line for line in (talk.out + talk.err).splitlines() if not line.startswith(BEFORE)]


@pytest.mark.parametrize("name", RUNS | AFTER_A_LABELLING)
def test_the_end_has_at_most_eight_lines_and_says_what_is_next(enter_copy, capsys, name):
    enter_copy(label_files if name in AFTER_A_LABELLING else write_files)
    capsys.readouterr()
    assert run_command((RUNS | AFTER_A_LABELLING)[name]) == 0
    lines = outcome(capsys.readouterr())
    assert 2 <= len(lines) <= MOST_LINES, f"{len(lines)} lines: {lines}"
    assert lines[-1].startswith("next: "), f"the last line is no next step: {lines[-1]}"
    assert sum(line.startswith("wrote ") for line in lines) == (name != "checked")


def test_a_target_with_a_class_of_its_own_ends_as_briefly(folder, capsys):
    write("source.csv", 1, n=120)
    write("target.csv", 3, ("staff", "price", "parts"), n=150, labels=False)
    assert run_command([*LABEL, *FILES]) == 0
    lines = outcome(capsys.readouterr())
    assert len(lines) <= MOST_LINES
    assert lines[-1].startswith("next: ")


def test_quiet_and_json_say_nothing_of_it(folder, capsys):
    assert run_command([*LABEL, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert run_command([*LABEL, "--json", "--quiet", "--force"]) == 0
    talk = capsys.readouterr()
    assert talk.err == ""
    assert talk.out.startswith("{")


def test_a_next_step_is_a_command_that_runs_as_printed(folder, capsys):
    """Followed three times: label, then what it advises, and so on."""
    assert run_command([*LABEL, *FILES]) == 0
    step = capsys.readouterr().err.splitlines()[-1]
    assert "isthmus " in step, f"no command in: {step}"
    command = step[step.index("isthmus ") :].split()[1:]
    assert run_command(command) == 0, f"failed: {command}"
    step = capsys.readouterr().err.splitlines()[-1]
    assert step.startswith(("next: Fill in", "next: Label these"))


def run_as_printed(capsys, arguments, given=()):
    """Run a command, then the one that its next step ends with; what the step says. ``given``: filled in before."""
    capsys.readouterr()
    assert run_command(arguments) == 0
    talk = capsys.readouterr()
    step = (talk.out + talk.err).splitlines()[-1]
    assert "isthmus " in step, f"no command in: {step}"
    command = shlex.split(step[step.index("isthmus ") :])[1:]
    for name, text in given:
        command = [part.replace(name, text) for part in command]
    assert run_command(command) == 0, f"failed: {command}: {capsys.readouterr().err}"
    return step


def test_labels_of_later_texts_are_checked_and_no_option_is_proposed_that_is_refused(enter_copy, capsys):
    enter_copy(label_files)
    step = run_as_printed(capsys, [*AFTER_A_LABELLING["a later file"], "--error-budget", "0.001"])
    assert "isthmus check later.csv --sample 40 -o to_check.csv" in step
    assert "--save" not in step, "--model takes no --save"


def test_groups_are_named_in_the_split_that_was_shown(enter_copy, capsys):
    enter_copy(label_files)
    split = ["cluster", "run.isthmus", "--within", "staff", "--clusters", "4", "-o", "within.csv"]
    step = run_as_printed(capsys, split, given=[("CLASS", "manners")])
    assert "--within staff --clusters 4 --name 1=CLASS -o answers2.csv" in step, "answers.csv is there already"
    step = run_as_printed(capsys, [*split[:-1], "named.csv", "--name", "1=manners"])
    assert step.endswith("isthmus teach run.isthmus named.csv -o taught.csv --save taught.isthmus")


@pytest.mark.parametrize("pair", ["1", "1=a"])
def test_a_name_of_a_group_is_refused_as_it_was_typed(enter_copy, capsys, pair):
    enter_copy(label_files)
    split = ["cluster", "run.isthmus", "--within", "staff", "--name", "1=b", "--name", pair, "-o", "named.csv"]
    assert run_command(split) == 2
    said = "--name '1'; give the number" if pair == "1" else "--name '1=a' names a group again that is called 'b'"
    assert said in capsys.readouterr().err
    assert not Path("named.csv").exists()


def test_names_of_files_are_quoted_in_what_is_next(enter_copy, capsys):
    enter_copy(label_files)
    Path("run.isthmus").rename("my run.isthmus")
    ask = ["ask", "my run.isthmus", "-n", "5", "-o", "my questions.csv"]
    capsys.readouterr()
    assert run_command(ask) == 0
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("then run isthmus teach 'my run.isthmus' 'my questions.csv' -o taught.csv --save taught.isthmus")
    )
    assert run_command(["check", "my run.isthmus", "--sample", "9", "-o", "my sample.csv"]) == 0
    assert "run isthmus check 'my run.isthmus' 'my sample.csv': the" in capsys.readouterr().err


def test_answers_that_were_learned_are_not_to_be_learned_again(enter_copy, capsys):
    enter_copy(label_files)
    assert run_command(AFTER_A_LABELLING["taught"]) == 0
    capsys.readouterr()
    assert run_command(["check", "two.isthmus", "answers.csv"]) == 0
    step = capsys.readouterr().err.splitlines()[-1]
    assert step.startswith("next: ")
    assert "isthmus teach" not in step, f"all of them are known: {step}"
    with Path("answers.csv").open("a", encoding="utf-8") as file:
        file.write("20,price\n21,staff\n")
    assert run_command(["check", "two.isthmus", "answers.csv"]) == 0
    assert "Let the 2 answers improve the labels" in capsys.readouterr().err


def test_a_table_that_holds_answers_is_not_proposed_for_a_check(enter_copy, capsys):
    enter_copy(write_files)
    answered = [*LABEL, "--error-budget", "1", "--answers"]
    assert run_command([*answered, "answers.csv"]) == 0
    step = capsys.readouterr().err.splitlines()[-1]
    assert step.endswith("With --save OUT, isthmus check OUT draws them."), "of out.csv answered documents are refused"
    assert run_command([*answered, "answers.csv", "--save", "run.isthmus", "--force"]) == 0
    assert "isthmus check run.isthmus --sample" in capsys.readouterr().err.splitlines()[-1]
    rows = "".join(f"{i},{('staff', 'price')[i % 2]}\n" for i in range(1, 41))
    Path("all.csv").write_text("document,true_label\n" + rows, encoding="utf-8")
    assert run_command([*answered, "all.csv", "--force"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "next: Nothing is left to read."


def test_of_several_files_each_is_checked(enter_copy, capsys):
    enter_copy(write_files)
    Path("targets").mkdir()
    for name in ("a.csv", "b.csv"):
        Path("targets", name).write_text(Path("target.csv").read_text(encoding="utf-8"), encoding="utf-8")
    capsys.readouterr()
    assert run_command(["label", "source.csv", "targets", "-o", "labelled", "--method", "nbc", "--text", "text"]) == 0
    step = capsys.readouterr().err.splitlines()[-1]
    assert "at random in each file, so that the accuracy is known, beginning with this one: isthmus check" in step


def test_true_labels_in_another_column_are_renamed_before_they_are_learned(enter_copy, capsys):
    enter_copy(label_files)
    text = Path("answers.csv").read_text(encoding="utf-8")
    Path("answers.csv").write_text(text.replace("true_label", "mine"), encoding="utf-8")
    assert run_command(["check", "run.isthmus", "answers.csv", "--label", "mine"]) == 0
    assert "rename the column mine to true_label, then run isthmus teach" in capsys.readouterr().err


def test_lines_that_do_not_fit_are_found_where_it_is_said():
    many = [f"note {i}" for i in range(9)]
    expected = {"estimate": None, "low": None, "high": None, "reason": "too few documents"}
    summary = {"method": "nbc", "why": "chosen", "labels": {"a": 2}, "needs_review": 1, "target_documents": 2,
               "expected_accuracy": expected}  # fmt: skip
    for files, where in (
        (["out.csv", "m.isthmus", "out.csv.run.json"], "in out.csv.run.json"),
        (["out.csv", "out.csv.run.2.json"], "in out.csv.run.2.json"),
        (["m.isthmus"], "with -o OUT and --json"),
    ):
        assert describe_outcome(summary | {"files": files}, notes=many)[2] == f"and 7 more, {where}"


def test_what_was_learned_is_told_before_what_was_known(enter_copy):
    """Warnings and sources were told with the labelling; of several lines, they were all that was seen."""
    enter_copy(label_files)
    taught = isthmus.load("run.isthmus").teach({"document": [1], "true_label": ["a"]})
    source = {"source": "a.csv", "documents": 9, "likeness": 0.5, "agreement": None, "used": True, "why": ""}
    summary = {"method": "nbc", "why": "chosen", "labels": {"a": 2}, "needs_review": 1, "target_documents": 2,
               "expected_accuracy": {"estimate": None, "low": None, "high": None, "reason": "few"},
               "warnings": [{"topic": "labels", "message": "odd"}] * 3, "sources": [source]}  # fmt: skip
    assert describe_outcome(summary, taught.learned)[0] == str(taught.learned).splitlines()[0]


def test_documents_without_text_are_counted_apart():
    summary = {"labels": {"staff": 3, "price": 2}, "without_text": 4}
    assert describe_labels(summary) == "labels: staff 3, price 2, without text 4"


def test_many_warnings_are_cut_to_what_fits():
    warned = [{"topic": "budget", "message": f"warning {i}"} for i in range(5)]
    source = {"source": "a.csv", "documents": 9, "likeness": 0.5, "agreement": None, "used": True, "why": ""}
    other = source | {"source": "b.csv", "used": False, "why": "differ"}
    expected = {"estimate": None, "low": None, "high": None, "reason": "too few documents"}
    summary = {"method": "nbc", "why": "chosen", "labels": {"a": 2}, "needs_review": 1, "target_documents": 2,
               "expected_accuracy": expected, "warnings": warned, "sources": [source, other]}  # fmt: skip
    lines = describe_outcome(summary)
    assert lines[:3] == ["warning: warning 0", "warning: warning 1", "and 4 more, in run.json"]
    assert len(lines) == MOST_LINES - 2, "the files and the next step come after it"
    assert lines[-1] == "1 of 2 documents to review; accuracy not estimated: too few documents"
    summary["warnings"] = [{"topic": "not estimated", "message": "Not estimated (too few documents)."}]
    assert " ".join(describe_outcome(summary)).count("too few documents") == 1
    summary["warnings"] = []
    assert describe_outcome(summary)[0] == (
        "sources: a.csv (9, likeness 0.50); b.csv left out, for its labels differ"
    ), "several sources take one line"


def judged(basis, estimate):
    learned = None if basis is None else SimpleNamespace(basis=basis)
    return SimpleNamespace(learned=learned, expected_accuracy=AccuracyEstimate(estimate, 0.5, 0.99))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("weighted", 0.88), ("random", 0.78), "was 88 % by answers that were asked for"),
        (("weighted", 0.88), ("random", 0.87), None),
        (("random", 0.88), ("random", 0.78), None),
        ((None, 0.88), ("random", 0.78), None),
        (("weighted", None), ("random", 0.78), None),
    ],
)
def test_a_better_judge_is_named_where_it_moves_the_expectation(before, after, said):
    lines = describe_better_judge(judged(*before), judged(*after))
    assert len(lines) == (said is not None)
    assert said is None or said in lines[0]


def test_a_proposed_file_is_free(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert taught_files() == "-o taught.csv --save taught.isthmus"
    for name in ("taught.csv", "taught2.csv", "taught.isthmus"):
        (tmp_path / name).touch()
    assert taught_files() == "-o taught3.csv --save taught2.isthmus"


def test_python_the_command_and_the_report_name_one_step(enter_copy, capsys):
    enter_copy(label_files)
    result = isthmus.load("run.isthmus")
    result.needs_review[:5] = True
    step = result.next_step()
    assert not step.at_random
    assert step.read == step.now == result.needs_review.sum()
    line = describe_next(result, step, saved="run.isthmus", table=None, budget=result.error_budget)
    assert line.startswith(str(step).removesuffix("."))
    assert hero_facts(result)["next"] == str(step)


def test_nobody_is_sent_to_read_documents_without_text(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("source.csv").write_text("text,label\n" + "good day,fine\nbad day,poor\n" * 5)
    Path("target.csv").write_text("id,text\n" + "".join(f'{n},""\n' for n in range(40)))
    assert run_command(["label", "source.csv", "target.csv", "-o", "labels.csv", "--method", "nbc"]) == 0
    said = capsys.readouterr().err
    assert "next: No document of the target has a text" in said
    assert "Read " not in said
    assert "isthmus check" not in said


def test_a_long_list_is_begun_with_a_hundred(monkeypatch):
    """Nobody reads a thousand documents at once; what a hundred answers bring is said first."""
    monkeypatch.chdir(Path(__file__).parent)

    def next_of(n, forecast):
        result = SimpleNamespace(needs_review=[True] * n, texts=["a b"] * n, answers=None)
        step = read_list(result.needs_review, result.texts, forecast)
        return describe_next(result, step, saved="run.isthmus", table=None, budget=0.1)

    forecast = AnswerForecast(100, 30, 500, 260, 0.85)
    line = next_of(500, forecast)
    assert line.startswith(
        "Read 100 documents (about 30 minutes): the list to read should shrink from 500 to about 260"
    )
    assert line.endswith("isthmus ask run.isthmus -n 100 -o to_answer.csv")
    whole = "isthmus ask run.isthmus -n {} -o to_answer.csv"
    assert next_of(100, forecast).endswith(whole.format(100))
    unknown = next_of(500, None)
    assert unknown.startswith("Read 100 documents (about")
    assert "so that the accuracy can be estimated: " in unknown
    assert unknown.endswith(whole.format(100))
    assert "the rest" not in next_of(80, forecast), "all are to review, so that none is left to pass"
    assert next_of(500, forecast._replace(then=500)).endswith(whole.format(500)), "a hundred would change nothing"
