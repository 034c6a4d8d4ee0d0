"""Run Isthmus on the bundled sample in many ways and compare the outcome of each run with the recorded one.

A commit that only moves code leaves every run identical. A commit that changes behaviour records the runs again and
explains the difference in its message.

Labels, review marks, reasons for review and the first words of explanations are compared exactly, confidences within
0.002 and the expected accuracy within 0.001. Texts are not recorded. All runs use one thread, so that the order of
additions does not depend on the number of cores.

Examples
--------
Record all runs, or only some of them::

    python tests/helpers/frozen_runs.py
    python tests/helpers/frozen_runs.py cocc chunks-cocc

Record the pairs of the benchmark corpora (they need ``ISTHMUS_DATA`` and isthmus-bench), or compare them::

    python tests/helpers/frozen_runs.py --pairs
    python tests/helpers/frozen_runs.py --pairs --compare amazon-books-dvd
"""

import argparse
import csv
import hashlib
import json
import os
import string
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numba
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from threadpoolctl import threadpool_limits

import isthmus
from isthmus.corpus import load_sample
from isthmus.exceptions import IsthmusWarning

TESTS = Path(__file__).parents[1]
RUNS_FILE, PAIRS_FILE = TESTS / "frozen_runs.json", TESTS / "frozen_pairs.json"
CONFIDENCE_WITHIN, ACCURACY_WITHIN = 0.002, 0.001
CONFIDENCE_STEP = 10  # the confidence of every tenth document is recorded
LETTERS = string.ascii_letters + string.digits  # one character per document stands for a value of a legend
EXPLAINED = (0, 7, 41)  # documents whose most important words are recorded
LATER = 60  # target documents that are labelled after the fit
# Tolerated errors of auto and of other methods: some documents of the small sample need review, and some do not.
AUTO_BUDGET, BUDGET = 0.14, 0.3

DESCRIBED = {
    "price": "cost, bill, money, deal",
    "product": "engine, seat, design",
    "service": "repair, workshop, appointment",
    "staff": "friendly, rude, salesman",
}
NAMED = [f"{name}: {words}" for name, words in DESCRIBED.items()]
GOOD = {
    "great",
    "good",
    "friendly",
    "happy",
    "excellent",
    "nice",
    "love",
    "best",
    "fair",
    "polite",
    "helpful",
    "smooth",
}
BAD = {"bad", "rude", "poor", "broken", "expensive", "slow", "worst", "late", "wrong", "noise", "hidden", "never"}


# -- inputs ------------------------------------------------------------------------------------------------------------


@cache
def collections(n, without=None):
    """Return n source texts with labels, n target texts, their true labels, and ``LATER`` more target texts.

    Source texts of the class ``without`` are left out.
    """
    source, target, truth = load_sample()
    known = [row for row in zip(list(source.texts)[:n], list(source.labels)[:n], strict=True) if row[1] != without]
    texts = list(target.texts)
    true_labels = [truth[name] for name in target.ids[:n]]
    return [text for text, _ in known], [label for _, label in known], texts[:n], true_labels, texts[n:][:LATER]


def verdict(text):
    words = set(text.lower().replace(",", " ").replace(".", " ").split())
    return len(words & GOOD) - len(words & BAD)


def opinions():
    """Return source texts that contain a word of praise or complaint, their verdicts, and target texts."""
    source, target, _ = load_sample()
    rows = [(text, verdict(text)) for text in source.texts]
    known = [(text, "positive" if score > 0 else "negative") for text, score in rows if score]
    return [text for text, _ in known], [label for _, label in known], list(target.texts)[:300]


def answers_for(truth):
    """Return a table with the true label of every ninth document."""
    rows = range(0, len(truth), 9)
    return {"document": [row + 1 for row in rows], "true_label": [truth[row] for row in rows]}


def hashed(texts):
    return HashingVectorizer(n_features=96).transform(texts).toarray()


def budget_for(method):
    return BUDGET if isinstance(method, str) and method != "auto" else AUTO_BUDGET


# -- outcomes ----------------------------------------------------------------------------------------------------------


def coded(values):
    """Return the sorted values and one character per document for the place of its value among them."""
    values = [str(value) for value in values]
    legend = sorted(set(values))
    letters = {value: LETTERS[place] for place, value in enumerate(legend)}
    return {"legend": legend, "codes": "".join(letters[value] for value in values)}


def marks(flags):
    return "".join("1" if flag else "0" for flag in flags)


def outcome(labels, confidence, needs_review, reasons, novel, expected=None, **more):
    """Return what is recorded about a labelled collection."""
    facts = {
        "labels": coded(labels),
        "needs_review": marks(needs_review),
        "reasons": coded(reasons),
        "confidence": [round(float(value), 3) for value in confidence[::CONFIDENCE_STEP]],
    }
    if any(novel):
        facts["novel_group"] = coded(novel)
    if expected is not None:
        ends = expected.estimate, expected.low, expected.high
        facts["expected_accuracy"] = [None if end is None else round(float(end), 4) for end in ends]
    return facts | more


def outcome_of(result, *, explained=EXPLAINED, **more):
    """Return what is recorded about a ``LabelResult``."""
    return outcome(
        result.labels,
        result.confidence,
        result.needs_review,
        result.review_reason,
        result.novel_group,
        result.expected_accuracy,
        method=result.method,
        warnings=[row["topic"] for row in result.warnings],
        explanations={str(row): [reason["term"] for reason in result.reasons(row, top=4)] for row in explained},
        **more,
    )


def label_with(method, n=300, *, without=None, **options):
    """Label n sample texts in memory, then later texts with the fitted model."""
    source, labels, target, _, new = collections(n, without)
    options.setdefault("embed", False)
    result = isthmus.label(source, labels, target, method, error_budget=budget_for(method), **options)
    return outcome_of(result, later=outcome_of(result.label_new(new), explained=()))


def label_later(method, n=300, *, without=None, teach=False, rename=None, **options):
    """Save a result, load it, and label later texts with the loaded model."""
    source, labels, target, truth, new = collections(n, without)
    options.setdefault("embed", False)
    result = isthmus.label(source, labels, target, method, error_budget=budget_for(method), **options)
    if teach:
        result = result.teach(answers_for(truth))
    if rename:
        result = result.rename_classes(rename)
    with tempfile.TemporaryDirectory() as folder:
        loaded = isthmus.load(result.save(Path(folder) / "model.isthmus"))
        first, again = outcome_of(loaded.label_new(new[:1]), explained=()), loaded.label_new(new)
        return outcome_of(again, explained=(0, 7)) | {"one text": first}


def label_names():
    """Label with the names of classes only."""
    return outcome_of(isthmus.label(None, None, collections(300)[2], classes=DESCRIBED, embed=False))


def label_opinions(method="auto", **options):
    source, labels, target = opinions()
    return outcome_of(
        isthmus.label(source, labels, target, method, embed=False, error_budget=budget_for(method), **options)
    )


def label_sources():
    """Label from three sources, of which the labels of the last one are wrong."""
    source, labels, target, _, _ = collections(300)
    names = [("first", "second", "third")[row % 3] for row in range(len(source))]
    turned = dict(zip(DESCRIBED, [*list(DESCRIBED)[1:], *list(DESCRIBED)[:1]], strict=True))
    labels = [turned[label] if name == "third" else label for name, label in zip(names, labels, strict=True)]
    result = isthmus.label(source, labels, target, source_domain=names, embed=False, error_budget=AUTO_BUDGET)
    return outcome_of(result, used=marks(row["used"] for row in result.sources))


def label_missing_class():
    """Label from a source without one of the target's classes."""
    source, labels, target, _, new = collections(450, "price")
    result = isthmus.label(source, labels, target, embed=False, error_budget=AUTO_BUDGET)
    groups = [{"documents": row["documents"], "words": row["words"]} for row in result.novel]
    return outcome_of(result, groups=groups, later=outcome_of(result.label_new(new), explained=()))


def label_odd_rows():
    """Label with missing source labels, empty texts, texts without words and texts that occur twice."""
    source, labels, target, _, _ = collections(200)
    labels = [None if row % 11 == 0 else label for row, label in enumerate(labels)]
    target = [*target, *target[:5], "", "12 34", *source[:20]]
    return outcome_of(isthmus.label([*source, ""], [*labels, "staff"], target, embed=False, error_budget=AUTO_BUDGET))


def label_vectors(method="auto"):
    """Label with vectors that the caller gives."""
    source, labels, target, _, new = collections(300)
    vectors = hashed(source), hashed(target)
    result = isthmus.label(source, labels, target, method, vectors=vectors, error_budget=budget_for(method))
    later = result.label_new(new, vectors=hashed(new)) if result.needs_vectors else result.label_new(new)
    return outcome_of(result, later=outcome_of(later, explained=()))


def label_labeller():
    """Label with a function of the caller among the candidates."""
    return label_with(lambda texts: ["price" if "deal" in text else "service" for text in texts])


def teach(method="auto"):
    """Teach answers, then words, and take the answers back."""
    source, labels, target, truth, new = collections(300)
    result = isthmus.label(source, labels, target, method, embed=False, error_budget=budget_for(method))
    taught = result.teach(answers_for(truth), name="answers")
    words = taught.teach(word_labels={"friendly": "staff", "bill": "price", "engine": "product"}, name="words")
    return {
        "taught": outcome_of(taught, later=outcome_of(taught.label_new(new), explained=())),
        "words": outcome_of(words),
        "undone": outcome_of(words.teach(without="answers")),
        "asked": [int(row) for row in taught.ask(12)["document"]],
    }


def teach_at_fit():
    """Give answers with the texts, and texts without labels besides."""
    source, labels, target, truth, new = collections(300)
    known = [label if row % 9 == 0 else None for row, label in enumerate(truth)]
    options = {"target_labels": known, "extra_texts": new, "embed": False, "error_budget": AUTO_BUDGET}
    return outcome_of(isthmus.label(source, labels, target, **options))


def check():
    """Check the labels with a random sample."""
    source, labels, target, truth, _ = collections(300)
    result = isthmus.label(source, labels, target, embed=False, error_budget=AUTO_BUDGET)
    drawn = [int(row) for row in result.sample(40, random_state=3)["document"]]
    found = result.check(drawn, [truth[row - 1] for row in drawn])
    ends = found.accuracy, found.low, found.high
    return {"drawn": drawn, "expected_accuracy": [round(float(end), 4) for end in ends]}


def write_csv(path, header, *columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *zip(*columns, strict=True)])


@contextmanager
def files_of(n):
    """Write the collections as csv files into a temporary folder."""
    source, labels, target, _, _ = collections(n)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "source.csv", ("comment", "category"), source, labels)
        write_csv(folder / "target.csv", ("comment",), target)
        yield folder / "source.csv", folder / "target.csv", folder / "out.csv"


CHUNKS = {"text": "comment", "label": "category", "engine": "local", "workers": 1, "block_rows": 90, "sample": 200}


def label_chunks(method, n=300):
    """Label files in chunks."""
    from isthmus.scale import label_files

    with files_of(n) as (source, target, output):
        result = label_files(source, target, output, method=method, error_budget=budget_for(method), **CHUNKS)
        with output.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    return outcome(
        [row["label"] for row in rows],
        [float(row["confidence"]) for row in rows],
        [row["needs_review"].lower() in ("true", "1") for row in rows],
        [row["review_reason"] for row in rows],
        [row["novel_group"] for row in rows],
        result.expected_accuracy,
        method=result.method,
        warnings=[row["topic"] for row in result.warnings],
    )


def cluster(n=300, **options):
    """Cluster in memory, then assign later texts with the saved model."""
    source, labels, target, _, new = collections(n)
    result = isthmus.cluster(source, labels, target, **options)
    with tempfile.TemporaryDirectory() as folder:
        loaded = isthmus.load(result.save(Path(folder) / "groups.isthmus"))
        later = loaded.predict(new)
    return {
        "labels": coded(f"{label:02}" for label in result.labels),
        "names": list(result.names),
        "alignment": [match.group for match in result.alignment],
        "confidence": [round(float(match.strength), 3) for match in result.alignment],
        "explanations": {str(row["cluster"]): row["words"][:3] for row in result.clusters()},
        "later": coded(f"{label:02}" for label in later),
    }


def cluster_chunks():
    """Cluster files in chunks."""
    from isthmus.scale import cluster_files

    with files_of(300) as (source, target, output):
        result = cluster_files(source, target, output, n_clusters=6, **CHUNKS)
        with output.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    return {
        "labels": coded(f"{int(row['cluster']):02}" for row in rows),
        "names": list(result.names),
        "alignment": list(result.aligned_to),
        "confidence": [round(float(strength), 3) for strength in result.strength],
    }


# -- the runs ----------------------------------------------------------------------------------------------------------

WORDS = {
    "friendly": "staff",
    "rude": "staff",
    "bill": "price",
    "deal": "price",
    "engine": "product",
    "repair": "service",
}
NEEDS_VECTORS = {
    "vectors",
    "neighbours",
    "vectors-logistic",
    "vectors-kernel",
    "auto-static-vectors",
    "later-vectors",
    "chunks-vectors",
}

RUNS = {
    # each method of the registry once; a smaller sample where a method is slow
    **{
        method: partial(label_with, method)
        for method in (
            "nbc",
            "svm",
            "logistic",
            "self-training",
            "cocc",
            "strings",
            "projection",
            "projection-svm",
            "lsa",
            "cocc-paper",
            "projection-paper",
            "strings-paper",
        )
    },
    **{
        method: partial(label_with, method, embed="static")
        for method in ("vectors", "neighbours", "vectors-logistic", "vectors-kernel")
    },
    "names": partial(label_with, "names", classes=DESCRIBED),
    "dual-manifold": partial(label_with, "dual-manifold", word_labels=WORDS),
    "dual-factor": partial(label_with, "dual-factor", 60, word_labels=WORDS),
    "dual-manifold-paper": partial(label_with, "dual-manifold-paper", 150, word_labels=WORDS),
    "dual-factor-paper": partial(label_with, "dual-factor-paper", 80, word_labels=WORDS),
    "cocc-parameters": partial(label_with, "cocc", 150, parameters={"n_word_clusters": 32, "max_iter": 5}),
    # the choice of methods
    "auto": partial(label_with, "auto"),
    "auto-small": partial(label_with, "auto", 60),
    "auto-static-vectors": partial(label_with, "auto", embed="static"),
    "auto-classes": partial(label_with, "auto", without="price", classes=NAMED),
    "auto-names-only": label_names,
    "auto-lexicon": label_opinions,
    "auto-words": partial(label_opinions, word_labels={"great": "positive", "rude": "negative", "late": "negative"}),
    "dual-manifold-opinions": partial(
        label_opinions, "dual-manifold", word_labels={"great": "positive", "bad": "negative"}
    ),
    "auto-sources": label_sources,
    "auto-missing-class": label_missing_class,
    "auto-odd-rows": label_odd_rows,
    "auto-vectors-given": label_vectors,
    "vectors-given": partial(label_vectors, "vectors"),
    "auto-labeller": label_labeller,
    "auto-answers": teach,
    "nbc-answers": partial(teach, "nbc"),
    "auto-answers-at-fit": teach_at_fit,
    "auto-check": check,
    # saved models
    "later-nbc": partial(label_later, "nbc"),
    "later-cocc": partial(label_later, "cocc"),
    "later-strings": partial(label_later, "strings", 150),
    "later-vectors": partial(label_later, "vectors", embed="static"),
    "later-names": partial(label_later, "names", classes=DESCRIBED),
    "later-auto": partial(label_later, "auto"),
    "later-auto-taught": partial(label_later, "auto", teach=True, rename={"staff": "people"}),
    "later-auto-classes": partial(label_later, "auto", without="price", classes=NAMED),
    # files in chunks
    **{
        f"chunks-{method}": partial(label_chunks, method)
        for method in ("auto", "nbc", "logistic", "svm", "cocc", "projection", "self-training", "strings", "vectors")
    },
    # clusters
    "cluster": cluster,
    "cluster-six": partial(cluster, n_clusters=6),
    "cluster-paper": partial(cluster, n_clusters=6, method="guided-paper"),
    "cluster-plain": partial(cluster, n_clusters=6, guidance=0.0),
    "cluster-chunks": cluster_chunks,
}


def reason_to_skip(name):
    """Return why a run is not possible on this machine; None if it is."""
    if name in NEEDS_VECTORS and find_spec("wordllama") is None:
        return "no static vectors: this run needs the extra 'embed'"
    if "chunks" in name and find_spec("polars") is None:
        return "no polars: runs in chunks need the extra 'app'"
    return None


@contextmanager
def one_thread():
    """Use one thread of linear algebra and of numba, and show no warnings of the package."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)
            yield
    finally:
        numba.set_num_threads(threads)


def run(name):
    """Return the outcome of a run as JSON gives it back."""
    with one_thread():
        return json.loads(json.dumps(RUNS[name]()))


# -- pairs of the benchmark corpora ------------------------------------------------------------------------------------

PAIRS = {
    "amazon": ("books-dvd", "dvd-kitchen", "electronics-books", "kitchen-electronics"),
    "newsgroups": ("rec-talk", "comp-sci", "comp-talk", "sci-talk", "four-class"),
    "reuters": ("orgs-people", "orgs-places", "people-places"),
}
PAIR_NAMES = [f"{corpus}-{task}" for corpus, tasks in PAIRS.items() for task in tasks]
PAIR_SIZE = 500  # documents of each collection


def run_pair(name):
    """Label a pair of corpora with ``auto`` and score the labels."""
    from isthmus_bench.tasks import AMAZON_PAIRS, NEWSGROUP_TASKS, REUTERS_TASKS

    tasks = {"amazon": AMAZON_PAIRS, "newsgroups": NEWSGROUP_TASKS, "reuters": REUTERS_TASKS}
    corpus, _, task = name.partition("-")
    data = tasks[corpus][task].load(Path(os.environ["ISTHMUS_DATA"]))
    # evenly spaced, as the files are sorted by class
    source = [row * len(data.source_texts) // PAIR_SIZE for row in range(PAIR_SIZE)]
    target = [row * len(data.target_texts) // PAIR_SIZE for row in range(PAIR_SIZE)]
    with one_thread():
        result = isthmus.label(
            [data.source_texts[row] for row in source],
            [data.source_labels[row] for row in source],
            [data.target_texts[row] for row in target],
        )
    truth = np.array([data.target_labels[row] for row in target])
    digest = hashlib.sha256("\n".join(map(str, result.labels)).encode()).hexdigest()[:16]
    right = float(np.mean(result.labels.astype(str) == truth))
    passing = float(np.mean(~result.needs_review))
    facts = outcome_of(result, sha256=digest, accuracy=round(right, 4), passing=round(passing, 4))
    return json.loads(json.dumps(facts))


# -- comparison --------------------------------------------------------------------------------------------------------


def decoded(coded_values):
    return [coded_values["legend"][LETTERS.index(code)] for code in coded_values["codes"]]


def is_coded(value):
    return isinstance(value, dict) and set(value) == {"legend", "codes"}


def same_length(found, recorded):
    return isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded)


def differences(found, recorded, where):
    """Yield a line per difference of two outcomes; ``where`` starts with the name of the run."""
    if is_coded(found) and is_coded(recorded):
        yield from differing_documents(decoded(found), decoded(recorded), where)
    elif isinstance(found, dict) and isinstance(recorded, dict):
        for name in [*recorded, *(name for name in found if name not in recorded)]:
            yield from differences(found.get(name, "absent"), recorded.get(name, "absent"), f"{where}: {name}")
    elif where.endswith("confidence") and same_length(found, recorded):
        for place, (one, other) in enumerate(zip(found, recorded, strict=True)):
            if abs(one - other) > CONFIDENCE_WITHIN + 1e-9:
                yield f"{where}: value {place} (document {place * CONFIDENCE_STEP}): {one}, recorded {other}"
    elif where.endswith("expected_accuracy") and same_length(found, recorded):
        for end, one, other in zip(("estimate", "low", "high"), found, recorded, strict=True):
            if (one is None) != (other is None) or (one is not None and abs(one - other) > ACCURACY_WITHIN + 1e-9):
                yield f"{where}: {end}: {one}, recorded {other}"
    elif where.endswith("needs_review") and "absent" not in (found, recorded):
        yield from differing_documents(found, recorded, where)
    elif found != recorded:
        yield f"{where}: {found!r}, recorded {recorded!r}"


def differing_documents(found, recorded, where):
    if len(found) != len(recorded):
        yield f"{where}: {len(found)} documents, recorded {len(recorded)}"
        return
    for row, (one, other) in enumerate(zip(found, recorded, strict=True)):
        if one != other:
            yield f"{where}: document {row}: {one!r}, recorded {other!r}"


def read_recorded(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write_recorded(path, outcomes, names):
    """Write the outcomes in the order of ``names``, one line per fact."""
    lines = []
    for name in names:
        if name in outcomes:
            facts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in outcomes[name].items()]
            lines.append(f"{json.dumps(name)}: {{\n" + ",\n".join(facts) + "\n}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Record the frozen runs, or compare them with the record.")
    parser.add_argument("names", nargs="*", help="the runs; all if omitted")
    parser.add_argument("--pairs", action="store_true", help="pairs of the benchmark corpora instead of the sample")
    parser.add_argument("--compare", action="store_true", help="compare with the record instead of writing it")
    given = parser.parse_args()
    known, make, path = (PAIR_NAMES, run_pair, PAIRS_FILE) if given.pairs else (list(RUNS), run, RUNS_FILE)
    unknown = set(given.names) - set(known)
    if unknown:
        parser.error(f"unknown runs: {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    recorded, n_differences = read_recorded(path), 0
    for name in given.names or known:
        skipped = None if given.pairs else reason_to_skip(name)
        if skipped:
            print(f"{name}: skipped, {skipped}")
            continue
        start = time.process_time()
        found = make(name)
        lines = list(differences(found, recorded.get(name, {}), name))
        n_differences += len(lines)
        print(f"{name}: {time.process_time() - start:.1f} CPU s, {len(lines)} differences", flush=True)
        if given.compare:
            print("".join(f"  {line}\n" for line in lines[:20]), end="")
        else:
            recorded[name] = found
    if not given.compare:
        write_recorded(path, recorded, known)
    return 1 if given.compare and n_differences else 0


if __name__ == "__main__":
    sys.exit(main())
