"""How a method came to its end, as the page tells it."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.choose.model import LabelModel, Member
from isthmus.features.embeddings import STATIC
from isthmus.features.term_rows import TermRows, Vocabulary
from isthmus.features.tokens import WordAnalyzer
from isthmus.report import summary
from isthmus.report.figures import convergence_tables
from isthmus.report.summary import known_language, learning_facts, step_facts


def result_of(languages=(), **fit):
    """Return a result whose only member has some facts of its fit, and reads words in some languages."""
    rows = TermRows("words", WordAnalyzer(languages), Vocabulary([]), None, np.ones(0), "counts", False, True, (1, 1))
    facts = {"n_iter": None, "history": None, "measure": "objective", "termination": ""} | fit
    member = Member("", np.array(["a"]), [rows], None, facts)
    return SimpleNamespace(method="cocc", model=LabelModel({"cocc": member}, {"cocc": 1.0}))


def test_three_measures_are_drawn_and_those_of_too_few_steps_are_not():
    history = [{"late": None, **{f"m{k}": float(k * step) for k in range(1, 6)}} for step in range(1, 4)]
    history[-1]["late"] = 1.0
    facts = step_facts(result_of(history=history, n_iter=3, termination="tol"))
    assert [curve["measure"] for curve in facts["curves"]] == ["m1", "m2", "m3"]
    assert facts["curves"][1]["rows"] == [{"step": step, "value": 2.0 * step} for step in (1, 2, 3)]
    assert facts["sentence"] == "cocc: 3 iterations; it converged."


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [("", "cocc: 1 iteration."), ("max_iter", "cocc: 1 iteration; it reached its limit of iterations."),
     ("ran_dry", "cocc: 1 iteration; ran dry.")],
)  # fmt: skip
def test_the_sentence_says_why_it_ended(ending, sentence):
    facts = step_facts(result_of(n_iter=1, termination=ending))
    assert facts == {"curves": [], "sentence": sentence}


def test_a_method_without_iterations_says_nothing():
    assert step_facts(result_of()) == {"curves": [], "sentence": ""}


@pytest.mark.parametrize(("found", "told"), [((), "auto"), (("de",), "de"), (("de", "en"), "auto")])
def test_the_language_of_a_page_is_that_of_its_texts_where_there_is_one(found, told):
    assert known_language(result_of(found)) == told


def test_a_learning_curve_is_drawn_as_soon_as_it_has_three_points():
    rows = [{"answers": n, "right": 0.7 + n / 200} for n in (0, 10, 20)]
    assert learning_facts({"curve": rows})["rows"] == rows
    assert learning_facts({"curve": rows[:2]}) is None
    assert learning_facts({}) is None
    assert learning_facts(None) is None


def test_words_of_a_page_are_read_in_the_language_of_the_methods(monkeypatch):
    given = []
    monkeypatch.setattr(summary, "joint_space", lambda *texts, language=None: given.append(language))
    texts = {"source_texts": ["Haus"], "texts": ["Auto"], "classes": np.array(["a"]), "labels": np.array(["a"])}
    summary.Words(SimpleNamespace(method="cocc", model=result_of(("de",)).model, **texts))
    assert given == ["de"]


def test_of_a_long_source_the_shift_is_measured_with_the_labels_of_its_sample(monkeypatch):
    given = []
    monkeypatch.setattr(summary, "_DIAGNOSED", 10)
    monkeypatch.setattr(summary, "_measured", lambda *sides: given.append(sides) or {"verdict": "", "findings": []})
    labels = ["staff", "price", "parking"] * 20
    texts = [f"{label} {i}" for i, label in enumerate(labels)]
    result = SimpleNamespace(source_texts=texts, source_labels=labels, texts=texts, settings={})
    assert summary.shift_facts(result)["sampled"]
    ((source, named, *_),) = given
    assert [text.split()[0] for text in source] == list(named), "a text's own label"
    assert len(named) == 10


@pytest.mark.parametrize(("vectors", "advises"), [("given", "vectors"), ("none", "Translate"), (STATIC, "Translate")])
def test_where_chosen_vectors_join_two_languages_the_report_does_not_ask_for_a_translation(vectors, advises):
    english = [f"the staff of the shop was kind and polite to us {i}" for i in range(40)]
    german = [f"das Personal im Laden war sehr nett und hat uns geholfen {i}" for i in range(40)]
    result = SimpleNamespace(
        source_texts=english, source_labels=["a", "b"] * 20, texts=german, settings={"vectors": vectors}
    )
    advice = " ".join(row["advice"] for row in summary.shift_facts(result)["findings"] if "German" in row["finding"])
    assert advises in advice, f"with vectors {vectors!r} the report advises: {advice}"


def test_what_is_no_measure_is_not_drawn():
    """Neither numbers that count the steps, nor yes and no, nor a step whose measure is unknown or endless."""
    history = [{"round": 1, "time": 0.5, "done": False, "loss": 2, "name": "x"},
               {"round": 2, "time": 0.9, "done": np.True_, "loss": float("inf"), "name": "y"},
               {"round": 3, "time": 1.5, "done": True, "loss": None, "name": "z"},
               {"round": 4, "time": 1.9, "done": True, "loss": np.float64(0.5), "name": "z"}]  # fmt: skip
    assert convergence_tables(history) == {"loss": [{"step": 1, "loss": 2.0}, {"step": 4, "loss": 0.5}]}
    assert convergence_tables([3.0, float("nan"), 1]) == {
        "objective": [{"step": 1, "objective": 3.0}, {"step": 3, "objective": 1.0}]
    }


@pytest.mark.parametrize(("source", "target", "sampled"), [(10, 10, False), (11, 10, True), (10, 11, True)])
def test_whether_the_shift_was_measured_on_a_sample_is_said(monkeypatch, source, target, sampled):
    monkeypatch.setattr(summary, "_DIAGNOSED", 10)
    monkeypatch.setattr(summary, "_measured", lambda *sides: {"verdict": "", "findings": []})
    texts = [f"text {i}" for i in range(11)]
    result = SimpleNamespace(
        source_texts=texts[:source], source_labels=["a"] * source, texts=texts[:target], settings={}
    )
    assert summary.shift_facts(result)["sampled"] is sampled


def test_the_language_and_the_vectors_of_a_labelling_reach_its_findings(monkeypatch):
    given = {}
    monkeypatch.setattr(
        summary, "measure_shift", lambda *sides, **more: given.update(more) or {"verdict": "", "findings": []}
    )
    settings = {"language": "de", "vectors": "given"}
    texts = {"source_texts": ["ein Text, den sonst kein Test hat"], "source_labels": ["a"], "texts": ["Haus"]}
    summary.shift_facts(SimpleNamespace(**texts, settings=settings))
    assert given == {"language": "de", "vectors": True}
