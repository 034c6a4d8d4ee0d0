"""A named option reaches every function that has a parameter of its name; exceptions stand here with a reason."""

import sys
import threading
from collections import defaultdict
from pathlib import Path

import pytest

import isthmus
from isthmus.scale import cluster_files, label_files
from isthmus_bench.shifted import make_shifted_texts

pytest.importorskip("skops")
PACKAGE = Path(isthmus.__file__).parent
NAMED = {"random_state": 7, "language": "fr", "analyzer": "words", "min_df": 3, "error_budget": 0.2, "budget": 0.2}
SEEDED_ALIKE = "what is measured about two collections, and new groups, do not change with the seed of a labelling"
ONE_LANGUAGE = "asked about each language there is, one after the other"
# (function, option) -> why it is called with another value.
OTHERWISE = {
    ("choose/voting.py:spread", "random_state"): SEEDED_ALIKE,
    ("shift/novelty.py:compare_pair", "random_state"): SEEDED_ALIKE,
    ("shift/novelty.py:find_novel_groups", "random_state"): SEEDED_ALIKE,
    ("shift/novelty.py:simulate_on_source", "random_state"): SEEDED_ALIKE,
    ("shift/groups.py:shuffle_words", "random_state"): "each try has a seed of its own, drawn from that of the caller",
    ("clustering/guidance.py:choose_guidance", "random_state"): "a draw of the named seed",
    ("clustering/kmeans.py:initial_centers", "random_state"): "goes on with the draws of the named seed",
    ("shift/bridges.py:_folds", "random_state"): SEEDED_ALIKE,
    ("features/languages.py:_has_function_words", "language"): ONE_LANGUAGE,
    ("features/languages.py:_listed", "language"): ONE_LANGUAGE,
    ("features/languages.py:has_stop_words", "language"): ONE_LANGUAGE,
    ("features/languages.py:stop_words", "language"): ONE_LANGUAGE,
    ("shift/vocabulary.py:_merge", "analyzer"): "what cuts texts into words, not the option",
    ("shift/vocabulary.py:_read", "analyzer"): "what cuts texts into words, not the option",
    ("_math/confidence.py:review_reasons", "error_budget"): "a guarantee takes the place of the budget",
}
# The page of a report looks at the pair as everybody's report does.
OF_THE_PAGE = ("shift/diagnose.py", "shift/bridges.py", "shift/doubt.py", "shift/groups.py", "shift/novelty.py",
               "shift/vocabulary.py")  # fmt: skip


@pytest.fixture
def follow():
    """Run something and tell what each function of the package was given for the options that are followed."""

    def run(work):
        given = defaultdict(set)

        def look(frame, event, _):
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(str(PACKAGE)):
                for name in NAMED.keys() & set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
                    value = frame.f_locals.get(name)
                    plain = isinstance(value, (int, float, str, type(None)))
                    place = f"{Path(code.co_filename).relative_to(PACKAGE).as_posix()}:{code.co_name}"
                    given[place, name].add(value if plain else type(value).__name__)

        before = sys.getprofile()
        threading.setprofile(look)
        sys.setprofile(look)
        try:
            work()
        finally:
            sys.setprofile(before)
            threading.setprofile(before)
        return given

    return run


def strays(given, otherwise=OTHERWISE):
    """Functions that were given something else than was named, where nothing is known that explains it."""
    return {key: values - {NAMED[key[1]]} for key, values in given.items()
            if values - {NAMED[key[1]]} and key not in otherwise}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return make_shifted_texts(60, 66, n_classes=3, n_novel=1, random_state=1)


def named(*options):
    return {name: NAMED[name] for name in options}


LABEL = ("random_state", "language", "analyzer", "min_df", "error_budget")


@pytest.mark.parametrize("way", ["auto", "two sources", "names", "projection"])
def test_named_options_reach_every_step_of_a_labelling(made, follow, way):
    sources = {"source_domain": ["one", "two"] * 30} if way == "two sources" else {}
    classes = {"classes": dict.fromkeys(set(made.source_labels), "words about it")} if way == "names" else {}
    method = way if way == "projection" else "auto"

    def work():
        isthmus.label(
            made.source_texts, made.source_labels, made.target_texts, method, **named(*LABEL), **sources, **classes
        )

    given = follow(work)
    assert len(given) > 20, "hardly any function was followed"
    assert strays(given) == {}, "given another value than was named"


def test_named_options_reach_what_is_done_with_a_labelling(made, follow, tmp_path):
    """Asked, checked, taught, explained, shown, saved, loaded, and used for later texts."""
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, **named(*LABEL))
    first = made.source_labels[0]

    def work():
        result.ask(10)
        result.sample(20, random_state=NAMED["random_state"], budget=NAMED["budget"])
        taught = result.teach(dict.fromkeys(range(1, 6), first))
        result.check(list(range(1, 21)), [first] * 20, budget=NAMED["budget"])
        result.reasons(0)
        result.report(tmp_path / "first.html")
        taught.report(tmp_path / "taught.html")
        taught.save(tmp_path / "model.isthmus")
        loaded = isthmus.load(tmp_path / "model.isthmus")
        loaded.predict(made.target_texts[:5])
        loaded.label_new(made.target_texts[:30])

    given = follow(work)
    assert len(given) > 40, "hardly any function was followed"
    page = {key: "" for key in given if key[0].partition(":")[0] in OF_THE_PAGE and key[1] == "random_state"}
    assert strays(given, OTHERWISE | page) == {}, "given another value than was named"


def test_named_options_reach_a_run_in_blocks(made, follow, tmp_path):
    source = "".join(f"{text},{label}\n" for text, label in zip(made.source_texts, made.source_labels, strict=True))
    (tmp_path / "source.csv").write_text("text,label\n" + source, encoding="utf-8")
    (tmp_path / "target.csv").write_text("text\n" + "\n".join(made.target_texts) + "\n", encoding="utf-8")
    files = str(tmp_path / "source.csv"), str(tmp_path / "target.csv")
    options = named("random_state", "language", "analyzer", "error_budget")
    given = follow(lambda: label_files(*files, tmp_path / "out.csv", workers=1, sample=60, **options))
    given |= follow(lambda: cluster_files(*files, tmp_path / "groups.csv", n_clusters=3, workers=1, sample=60,
                                          **named("random_state", "language", "analyzer")))  # fmt: skip
    assert len(given) > 20, "hardly any function was followed"
    terms = {key: "blocks take no min_df" for key in given if key[1] == "min_df"}
    assert strays(given, OTHERWISE | terms) == {}, "given another value than was named"


def test_named_options_reach_a_grouping_and_a_diagnosis(made, follow, tmp_path):
    def work():
        grouped = isthmus.cluster(
            made.source_texts, made.source_labels, made.target_texts, **named(*LABEL[:4]), n_clusters=4
        )
        grouped.report(tmp_path / "groups.html")
        isthmus.diagnose(
            made.source_texts, made.source_labels, made.target_texts, **named("random_state", "language")
        ).report(tmp_path / "diagnosis.html")

    given = follow(work)
    assert len(given) > 20, "hardly any function was followed"
    assert strays(given) == {}, "given another value than was named"
