"""Suite "languages": German news, and how well languages are identified.

The task: articles of one half as source, first sentences of the other half as target, nine classes. ``german-news`` is
the half that was asked for first; the other tasks are further halves, for the spread. What is done for German was set
inside the source half of ``german-news`` alone (studies ``pieces`` and ``unspaced``): articles of one part of it, first
sentences of the rest.

The tasks of ``CROSSED`` compare ``auto`` with and without the multilingual encoder ``use``, on samples that it reads in
seconds: English pages or messages as source and German articles as target, and two pairs of Chinese collections.
"""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import numpy as np

from isthmus.features.languages import identify_language
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.suites.language_lines import LINES
from isthmus_bench.tasks import (
    AMAZON_FILE,
    CHINESE_FILES,
    DMOZ_FILE,
    GERMAN_FILE,
    NEWSGROUPS_FILE,
    REUTERS_FILE,
    WEBKB_FILE,
    chinese_task,
    read_records,
)

HALVES = {"german-news": 0, "german-news-2": 1, "german-news-3": 2, "german-news-4": 3}
# English classes of the sources that have a German class of the same topic.
PAGES = {"sports": "Sport", "science": "Wissenschaft", "computers": "Web", "business": "Wirtschaft", "arts": "Kultur"}
MESSAGES = {
    "rec.sport.baseball": "Sport",
    "rec.sport.hockey": "Sport",
    "sci.space": "Wissenschaft",
    "sci.med": "Wissenschaft",
    "comp.graphics": "Web",
    "comp.os.ms-windows.misc": "Web",
    "comp.windows.x": "Web",
    "talk.politics.mideast": "International",
}
SAMPLED = 300  # documents per side of a task that crosses collections
LENGTH = 1_500  # characters per document of these tasks
PER_CLASS = 45  # Chinese documents per class and side, before the sample is drawn
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_FOLDS = tuple((seed, part) for seed in (200, 201) for part in (0, 1))


def first_sentence(text: str) -> str:
    """Up to the first full stop, question mark or exclamation mark before white space."""
    return _SENTENCE_END.split(text, maxsplit=1)[0]


def german_task(name: str) -> Task:
    """Articles of a random half → first sentences of the other half."""

    def load(folder: Path) -> TaskData:
        source, target = _halves(folder, HALVES[name])
        return TaskData.from_rows(
            [(row["text"], row["label"]) for row in source],
            [(first_sentence(row["text"]), row["label"]) for row in target],
        )

    return Task(name=name, load=load, files=(GERMAN_FILE,))


def crossing_task(name: str, file: str, classes: dict[str, str]) -> Task:
    """English texts with the German names of their classes → German articles of these classes."""

    def load(folder: Path) -> TaskData:
        source, target = (read_records(Path(folder) / place) for place in (file, GERMAN_FILE))
        return _sampled(
            [(row["text"], classes[row["label"]]) for row in source if row["label"] in classes],
            [(row["text"], row["label"]) for row in target if row["label"] in classes.values()],
        )

    return Task(name=name, load=load, files=(file, GERMAN_FILE))


def chinese_sample(name: str, source: str, target: str) -> Task:
    """A sample of two Chinese collections."""
    whole = chinese_task(source, target, per_class=PER_CLASS)

    def load(folder: Path) -> TaskData:
        data = whole.load(folder)
        return _sampled(
            list(zip(data.source_texts, data.source_labels, strict=True)),
            list(zip(data.target_texts, data.target_labels, strict=True)),
        )

    return Task(name=name, load=load, files=whole.files)


def _sampled(*sides: list[tuple[str, str]]) -> TaskData:
    for rows in sides:
        random.Random(0).shuffle(rows)
    source, target = ([(text[:LENGTH], label) for text, label in rows[:SAMPLED]] for rows in sides)
    return TaskData.from_rows(source, target)


def _halves(folder: Path, seed: int) -> tuple[list[dict], list[dict]]:
    rows = read_records(Path(folder) / GERMAN_FILE)
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    cut = len(rows) // 2
    return [rows[i] for i in order[:cut]], [rows[i] for i in order[cut:]]


# ---------------------------------------------------------------------------------------------------------- methods


def _score(data: TaskData, labels: np.ndarray) -> list[dict]:
    truth = np.array(data.target_labels, dtype=object)
    value = float(np.mean(truth == labels))
    return [{"metric": "accuracy", "value": value, "correct": pack_correct(truth, labels)}]


def _labelled(name: str, shown: str = "", **settings) -> Method:
    """What :func:`isthmus.label` makes of a task by one method."""

    def run(data: TaskData, seed: int) -> list[dict]:
        from isthmus.api.label import label

        result = label(
            data.source_texts, data.source_labels, data.target_texts, method=name, random_state=seed, **settings
        )
        return _score(data, result.labels)

    return Method(name=shown or name, run=run)


def _plain_svm(data: TaskData, seed: int) -> list[dict]:
    """scikit-learn's own vectoriser, without stems or stop words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    model = make_pipeline(TfidfVectorizer(), LinearSVC(random_state=seed))
    return _score(data, model.fit(data.source_texts, data.source_labels).predict(data.target_texts))


# ---------------------------------------------------------------------------------------------------------- studies


def identification(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Share of texts whose language is told right, and seconds for 10,000 of them."""
    sets = {f"lines: {code}": (lines.texts, code) for code, lines in LINES.items()}
    sets["lines: all"] = ([text for lines in LINES.values() for text in lines.texts], "")
    corpora = {
        AMAZON_FILE: "en",
        NEWSGROUPS_FILE: "en",
        REUTERS_FILE: "en",
        WEBKB_FILE: "en",
        GERMAN_FILE: "de",
        CHINESE_FILES["toutiao"]: "zh",
        CHINESE_FILES["csl"]: "zh",
    }
    for file, code in corpora.items():
        texts = [row["text"] for row in read_records(Path(folder) / file) if (row["text"] or "").strip()]
        sets[file.removesuffix(".jsonl.gz")] = (texts[:: max(1, len(texts) // 1_000)], code)
    sets["de/first sentences"] = ([first_sentence(text) for text in sets["de/gnad_test"][0]], "de")
    expected = [code for code, lines in LINES.items() for _ in lines.texts]
    identify_language("a first call reads the model")
    rows = []
    for name, (texts, code) in sets.items():
        start = time.process_time()
        answers = [identify_language(text) for text in texts]
        seconds = time.process_time() - start
        right = np.mean([a == b for a, b in zip(answers, [code] * len(texts) if code else expected, strict=True)])
        took = 1e4 * seconds / len(texts)
        rows.append({"texts": name, "documents": len(texts), "right": float(right), "CPU seconds for 10,000": took})
    return rows


def pieces(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Words, stems, and stems with pieces of five letters, inside the source half: how ``subwords`` was set."""
    from isthmus.methods import make_method

    kinds = {
        "words": {"stem": False, "subwords": False},
        "stems": {"subwords": False},
        "stems and pieces": {"subwords": True},
    }
    rows = []
    for kind, settings in kinds.items():
        for method in ("svm", "cocc", "projection"):
            values = []
            for data in _inner_tasks(folder):
                texts, labels, domain = data.joined()
                model = make_method(method, language="de")
                model.steps[0][1].set_params(**settings)
                model.fit(texts, labels, sample_domain=domain)
                values.append(_score(data, model.transduction_[len(data.source_texts) :])[0]["value"])
            rows.append({"terms": kind, "method": method, "accuracy": float(np.mean(values))})
    return rows


def unspaced(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Characters in a row when an alphabet is written without blanks: German with its blanks taken out."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    rows = []
    for length in (2, 3, 4, 5):
        values = []
        for data in _inner_tasks(folder):
            texts, _, _ = data.joined()
            closed = ["".join(re.findall(r"[^\W\d_]{2,}", text.lower())) for text in texts]
            X = TfidfVectorizer(analyzer="char", ngram_range=(length, length), min_df=2, sublinear_tf=True)
            X, n = X.fit_transform(closed), len(data.source_texts)
            values.append(
                _score(data, LinearSVC(random_state=0).fit(X[:n], data.source_labels).predict(X[n:]))[0]["value"]
            )
        rows.append({"characters": length, "accuracy": float(np.mean(values))})
    return rows


def _inner_tasks(folder: Path) -> list[TaskData]:
    source, _ = _halves(folder, HALVES["german-news"])
    tasks = []
    for seed, part in _FOLDS:
        order = list(range(len(source)))
        random.Random(seed).shuffle(order)
        held = set(order[part::2])
        train = [source[i] for i in order if i not in held]
        test = [source[i] for i in order if i in held]
        tasks.append(
            TaskData(
                [row["text"] for row in train],
                [row["label"] for row in train],
                [first_sentence(row["text"]) for row in test],
                [row["label"] for row in test],
            )
        )
    return tasks


_METHODS = [
    Method(name="plain-svm", run=_plain_svm, seeded=False),
    *(_labelled(name) for name in ("svm", "logistic", "cocc", "projection", "auto")),
    _labelled("logistic", "logistic-as-written", language="other"),
]
CROSSED = {
    task.name: task
    for task in (
        crossing_task("english-german", DMOZ_FILE, PAGES),
        crossing_task("messages-german", NEWSGROUPS_FILE, MESSAGES),
        chinese_sample("chinese-articles", "fudan", "sogou"),
        chinese_sample("chinese-headlines", "thucnews_title", "toutiao"),
    )
}
_GERMAN = {name: german_task(name) for name in HALVES}
SUITE = Suite(
    name="languages",
    summary="German news, English to German and Chinese pairs; identification of languages.",
    tasks={**_GERMAN, **CROSSED},
    methods={**{method.name: method for method in _METHODS}, "auto-use": _labelled("auto", "auto-use", embed="use")},
    default_methods=tuple(method.name for method in _METHODS),
    pairs=frozenset(
        [(task, method.name) for task in _GERMAN for method in _METHODS]
        + [(task, method) for task in CROSSED for method in ("auto", "auto-use")]
    ),
    contrasts={"auto": ("plain-svm", "svm", "logistic")},
    studies={
        "identification": Study("identification", "Share of texts whose language is told right.", identification),
        "pieces": Study(
            "pieces", "Pieces of words beside stems, inside the source half.", pieces, files=(GERMAN_FILE,)
        ),
        "unspaced": Study("unspaced", "Characters in a row without blanks.", unspaced, files=(GERMAN_FILE,)),
    },
)
