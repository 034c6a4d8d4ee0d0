"""Suite "trust": does what is promised about labels come true where something is wrong with the pair?

Every base pair is run plain and spoilt in four ways: a class of the target is missing from the source; class shares are
turned over; a quarter of the source's labels is wrong; the source has about forty documents. The constants of
:mod:`isthmus.choose.trust` were set on other pairs (:mod:`isthmus_bench.suites.trust_tune`), among them pairs of the
newsgroups, Reuters, Chinese texts and reviews that stand here too. Web pages, the German newspaper and the university
pages took no part: ``HELD_BACK`` names their pairs, and the table of promises has their means apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import isthmus
from isthmus_bench.calibration import expected_calibration_error
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.suites import (
    trust_answers,
    trust_forecast,
    trust_groups,
    trust_guarantee,
    trust_later,
    trust_order,
    trust_shares,
    trust_short,
    trust_tune,
    trust_words,
)
from isthmus_bench.tasks import (
    AMAZON_FILE,
    CHINESE_FILES,
    DMOZ_FILE,
    GERMAN_FILE,
    NEWSGROUPS_FILE,
    REUTERS_FILE,
    WEBKB_FILE,
    Rows,
    home_and_abroad,
    message_text,
    newsgroup_sides,
    read_records,
    topic_rows,
)

SIZE = 500  # documents of a side
LENGTH = 1_500  # characters of a document
BUDGET = 0.1

GROUPS = {
    "comp": (("comp.sys.ibm.pc.hardware", "comp.windows.x"), ("comp.graphics", "comp.sys.mac.hardware")),
    "sport": (("rec.sport.baseball",), ("rec.sport.hockey",)),
    "vehicles": (("rec.autos",), ("rec.motorcycles",)),
    "religion": (("alt.atheism", "talk.religion.misc"), ("soc.religion.christian",)),
    "politics": (("talk.politics.guns", "talk.politics.misc"), ("talk.politics.mideast",)),
}
PAGES = ("computers", "sports", "science", "society", "business", "health")
# newsgroup -> category of the web directory
MAPPED = {
    "comp.graphics": "computers",
    "comp.windows.x": "computers",
    "rec.sport.baseball": "sports",
    "rec.sport.hockey": "sports",
    "sci.space": "science",
    "sci.electronics": "science",
    "sci.med": "health",
    "talk.politics.misc": "society",
    "soc.religion.christian": "society",
    "rec.autos": "recreation",
    "rec.motorcycles": "recreation",
    "misc.forsale": "shopping",
}


# ------------------------------------------------------------------------------------------------------------ bases


def _newsgroups(folder: Path) -> tuple[Rows, Rows]:
    return newsgroup_sides(folder, GROUPS)


def _reuters(folder: Path) -> tuple[Rows, Rows]:
    return home_and_abroad(folder, trust_tune.TOPICS)


def _fudan(folder: Path) -> tuple[Rows, Rows]:
    sides = [topic_rows(folder, name) for name in ("fudan", "sogou")]
    shared = {label for _, label in sides[0]} & {label for _, label in sides[1]}
    first, second = ([row for row in side if row[1] in shared] for side in sides)
    return first, second


def _amazon(folder: Path) -> tuple[Rows, Rows]:
    records = read_records(folder / AMAZON_FILE)
    first, second = (
        [(f"{r['title']} {r['text']}", r["label"]) for r in records if r["domain"] == domain]
        for domain in ("books", "kitchen")
    )
    return first, second


def _dmoz(folder: Path) -> tuple[Rows, Rows]:
    records = [r for r in read_records(folder / DMOZ_FILE) if r["label"] in PAGES]
    first, second = ([(r["text"], r["label"]) for r in records if r["half"] == half] for half in "AB")
    return first, second


def _mapped(folder: Path) -> tuple[Rows, Rows]:
    groups = [
        (message_text(r["text"]), MAPPED[r["label"]])
        for r in read_records(folder / NEWSGROUPS_FILE)
        if r["label"] in MAPPED
    ]
    pages = [(r["text"], r["label"]) for r in read_records(folder / DMOZ_FILE) if r["label"] in set(MAPPED.values())]
    return groups, pages


def _mapped_back(folder: Path) -> tuple[Rows, Rows]:
    groups, pages = _mapped(folder)
    return pages, groups


def _german(folder: Path) -> tuple[Rows, Rows]:
    """Articles of one half, and the first 300 characters of the others."""
    records = read_records(folder / GERMAN_FILE)
    rows = [(r["text"], r["label"]) for r in records]
    return rows[::2], [(text[:300], label) for text, label in rows[1::2]]


def _webkb(folder: Path) -> tuple[Rows, Rows]:
    kept = {"student", "faculty", "course", "project"}
    records = [r for r in read_records(folder / WEBKB_FILE) if r["label"] in kept]
    first, second = ([(r["text"], r["label"]) for r in records if (r["domain"] == "misc") == far] for far in (1, 0))
    return first, second


BASES: dict[str, tuple[Callable[[Path], tuple[Rows, Rows]], tuple[str, ...]]] = {
    "newsgroups": (_newsgroups, (NEWSGROUPS_FILE,)),
    "reuters": (_reuters, (REUTERS_FILE,)),
    "fudan-sogou": (_fudan, (CHINESE_FILES["fudan"], CHINESE_FILES["sogou"])),
    "books-kitchen": (_amazon, (AMAZON_FILE,)),
    "dmoz-halves": (_dmoz, (DMOZ_FILE,)),
    "newsgroups-dmoz": (_mapped, (NEWSGROUPS_FILE, DMOZ_FILE)),
    "dmoz-newsgroups": (_mapped_back, (NEWSGROUPS_FILE, DMOZ_FILE)),
    "german-halves": (_german, (GERMAN_FILE,)),
    "webkb": (_webkb, (WEBKB_FILE,)),
}
ALL_FILES = tuple(dict.fromkeys(file for _, files in BASES.values() for file in files))
HELD_BACK = ("dmoz-halves", "newsgroups-dmoz", "dmoz-newsgroups", "german-halves", "webkb")
KINDS = ("plain", "missing", "turned", "noisy", "thin")


# ---------------------------------------------------------------------------------------------------------- spoiling


def spoil(source: Rows, target: Rows, kind: str, seed: int) -> tuple[Rows, Rows]:
    """A pair of about ``SIZE`` documents a side, plain or spoilt in one way; the seed fixes all draws."""
    rng = np.random.default_rng(seed)
    source, target = list(dict.fromkeys(source)), list(dict.fromkeys(target))
    classes = sorted({label for _, label in source} & {label for _, label in target})
    source, target = ([row for row in side if row[1] in set(classes)] for side in (source, target))
    if kind == "missing":
        shares = {name: sum(label == name for _, label in target) / len(target) for name in classes}
        fitting = [name for name in classes if 0.1 <= shares[name] <= 0.4] or classes
        lost = fitting[seed % len(fitting)]
        return draw([row for row in source if row[1] != lost], SIZE, rng), draw(target, SIZE, rng)
    if kind == "turned":
        order = [classes[i] for i in rng.permutation(len(classes))]
        weights = np.maximum([0.55**place for place in range(len(order))], 0.04)
        weights = weights / weights.sum()
        return (
            draw_shares(source, dict(zip(order, weights, strict=True)), rng),
            draw_shares(target, dict(zip(order, weights[::-1], strict=True)), rng),
        )
    if kind == "thin":
        per_class = max(4, 40 // len(classes))
        few = [row for name in classes for row in draw([row for row in source if row[1] == name], per_class, rng)]
        return few, draw(target, SIZE, rng)
    first, second = draw(source, SIZE, rng), draw(target, SIZE, rng)
    if kind == "noisy":
        wrong = rng.random(len(first)) < 0.25
        first = [
            (text, str(rng.choice([name for name in classes if name != label])) if bad else label)
            for (text, label), bad in zip(first, wrong, strict=True)
        ]
    return first, second


def draw(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """At most ``size`` rows at random, in their order."""
    return [rows[i] for i in np.sort(rng.permutation(len(rows))[:size])]


def draw_shares(rows: Rows, shares: dict[str, float], rng: np.random.Generator) -> Rows:
    """Rows with these class shares, as many as the classes allow (at most ``SIZE``, at least 150 are tried for)."""
    members = {name: [row for row in rows if row[1] == name] for name in shares}
    size = min([SIZE, *(max(150.0, len(members[name]) / share) for name, share in shares.items())])
    return [row for name, share in shares.items() for row in draw(members[name], max(6, round(size * share)), rng)]


def trust_task(base: str, kind: str) -> Task:
    """One base pair, plain or spoilt."""
    load_base, files = BASES[base]
    name = f"{base}-{kind}"

    def load(folder: Path) -> TaskData:
        source, target = spoil(*load_base(Path(folder)), kind, zlib.crc32(name.encode()))
        return TaskData(
            [text[:LENGTH] for text, _ in source],
            [label for _, label in source],
            [text[:LENGTH] for text, _ in target],
            [label for _, label in target],
        )

    return Task(name=name, load=load, files=files)


TASKS = {
    f"{base}-{kind}": trust_task(base, kind)
    for kind in KINDS
    for base in BASES
    if not (base == "books-kitchen" and kind == "missing")  # one class would be left
}


# ---------------------------------------------------------------------------------------------------------- methods


def promised(method: str) -> Callable[[TaskData, int], list[dict]]:
    """A method's labels and what was promised about them."""

    def run(data: TaskData, seed: int) -> list[dict]:
        result = isthmus.label(
            data.source_texts, data.source_labels, data.target_texts, method=method, random_state=seed
        )
        truth = np.array(data.target_labels, dtype=object)
        right = result.labels.astype(object) == truth
        unknown = ~np.isin(truth.astype(str), np.unique(data.source_labels))
        marked, accepted = result.novel_group != "", ~result.needs_review
        facts: dict[str, float | None] = {
            "calibration_error": expected_calibration_error(truth, result.labels, result.confidence),
            "reviewed": float(np.mean(~accepted)),
            "accepted_wrong": float(np.mean(~right[accepted])) if accepted.any() else 0.0,
            "wrong_in_file": float(np.mean(accepted & ~right)),
            "budget_kept": float(np.mean(accepted & ~right) <= BUDGET),
            "announced": float(marked.any()),
            "known_marked": float(np.mean(marked[~unknown])),
        }
        if unknown.any():
            facts["novel_recall"] = float(np.mean(marked[unknown]))
        expected = result.expected_accuracy
        if expected is not None and expected.estimate is not None:
            facts["expected_accuracy"] = expected.estimate
            facts["expected_error"] = abs(expected.estimate - float(right.mean()))
            facts["covered"] = float(expected.low <= right.mean() <= expected.high)
            facts["width"] = expected.high - expected.low
        rows: list[dict] = [{"metric": "accuracy", "value": float(right.mean())}]
        rows[0]["correct"] = pack_correct(truth, result.labels)
        return rows + [{"metric": name, "value": value} for name, value in facts.items()]

    return run


def promises(rows: Iterable[dict]) -> list[dict]:
    """Means of what was promised and what came of it, per kind of task; then over the corpora held back alone."""
    table = []
    kept = list(rows)
    for method in dict.fromkeys(row["method"] for row in kept):
        for kind, bases in [(kind, bases) for bases in (tuple(BASES), HELD_BACK) for kind in KINDS]:
            names = {f"{base}-{kind}" for base in bases}
            chosen = [row for row in kept if row["method"] == method and row["task"] in names]
            if not chosen:
                continue
            values = {name: [row["value"] for row in chosen if row["metric"] == name] for name in MEASURED}
            means = {name: float(np.mean(found)) if found else None for name, found in values.items()}
            tasks = len({row["task"] for row in chosen})
            corpora = "all" if bases != HELD_BACK else "held back"
            table.append({"method": method, "kind": kind, "corpora": corpora, "tasks": tasks, **means})
    return table


MEASURED = (
    "accuracy",
    "expected_error",
    "covered",
    "width",
    "accepted_wrong",
    "wrong_in_file",
    "budget_kept",
    "reviewed",
    "calibration_error",
    "announced",
    "novel_recall",
    "known_marked",
)
SUITE = Suite(
    name="trust",
    summary="What is promised about labels, on plain pairs and on pairs with something wrong, and what came of it.",
    tasks=TASKS,
    methods={name: Method(name=name, run=promised(name)) for name in ("auto", "logistic", "nbc", "strings", "cocc")},
    default_methods=("auto", "logistic"),
    means={kind: tuple(f"{base}-{kind}" for base in BASES if f"{base}-{kind}" in TASKS) for kind in KINDS},
    hidden=tuple(name for name in (*MEASURED, "expected_accuracy") if name not in ("accuracy", "expected_error")),
    derived={"promises": promises},
    studies={
        "guarantee": Study(
            "guarantee",
            "How often a guarantee was broken in 2,000 checks of each pair, and documents read until half passes",
            trust_guarantee.simulate,
            files=trust_tune.FILES,
        ),
        "forecasts": Study(
            "forecasts",
            "What answers were forecast to bring, and what they brought",
            trust_forecast.compare_all,
            files=trust_tune.FILES,
        ),
        "answers": Study(
            "answers",
            "What a hundred answers leave to review, and whether the finished file keeps to its budget",
            trust_answers.measure_all,
            files=ALL_FILES,
        ),
        "later": Study(
            "later",
            "Expected accuracy of later files, and files unlike the first one that are reported",
            trust_later.measure_all,
            files=tuple(dict.fromkeys((*ALL_FILES, CHINESE_FILES["thucnews_full_small"]))),
        ),
        "words": Study(
            "words",
            "Whether budgets hold on pairs of review domains, without words and with a lexicon in the vote",
            trust_words.compare_all,
            files=trust_words.FILES,
        ),
        "shares": Study(
            "shares",
            "How often intervals of class shares hold: label-free, within parts, after 100 answers, after a check",
            trust_shares.measure_shares,
            files=trust_tune.FILES,
        ),
        "constants": Study(
            "constants",
            "Constants of the accuracy estimate, and its error on corpora left out of the fit",
            trust_tune.choose_constants,
            files=trust_tune.FILES,
            tune=True,
        ),
        "short": Study(
            "short",
            "Errors of the accuracy expected of one method, on long and on short texts, fitted without and with short",
            trust_short.compare_all,
            files=trust_tune.FILES,
            tune=True,
        ),
        "order": Study(
            "order",
            "How sure labels are by their margin, and what passes a budget by how cautiously it is kept",
            trust_order.choose_order,
            files=trust_tune.FILES,
            tune=True,
        ),
        "groups": Study(
            "groups",
            "New groups announced by each limit for mixed neighbours, where a class is missing and where none is",
            trust_groups.choose_limits,
            files=trust_tune.FILES,
            tune=True,
        ),
    },
)
