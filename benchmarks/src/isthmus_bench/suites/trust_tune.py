"""How the constants of the accuracy estimate were set: pairs of corpora, plain and spoilt, none of them a directory of
web pages, a German newspaper or university pages, which the suite reports.

Every pair is run once; the figures that need no true label, and the accuracy on documents whose class the source has,
are kept in ``benchmarks/records/trust/pairs.csv``, from which :func:`fit_constants` makes the constants in
milliseconds.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.linear_model import QuantileRegressor, Ridge

from isthmus._math.confidence import clipped_logit
from isthmus._math.fitted import FILE
from isthmus._progress import progress
from isthmus.choose.candidates import Candidates, FittedCandidate, fit_candidate, try_methods
from isthmus.choose.choice import vote_weights
from isthmus.choose.decision import Decision
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import (
    ACCURACY,
    confidence_outside,
    log_odds,
    spread_terms,
    trust_features,
)
from isthmus.choose.voting import VotingRule
from isthmus.features.embeddings import VectorTable
from isthmus.methods import METHODS
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.tasks import (
    AMAZON_FILE,
    CHINESE_FILES,
    NEWSGROUPS_FILE,
    RCV1_FILE,
    REUTERS_FILE,
    Rows,
    home_and_abroad,
    message_text,
    newsgroup_sides,
    read_records,
    reuters_task,
    topic_rows,
)

SIZE, LENGTH = 500, 1_500  # documents of a side, characters of a document
VECTORS = "ISTHMUS_VECTORS"  # environment variable; see :func:`measure_encoders`
FILES = (NEWSGROUPS_FILE, REUTERS_FILE, AMAZON_FILE, RCV1_FILE, *dict.fromkeys(CHINESE_FILES.values()))
# name of the constants -> (the figures they weigh, how strongly the weights are drawn to zero)
PARTS = {"VOTE": (ACCURACY["vote"], 10.0), "FEW": (ACCURACY["few"], 1.0), "SINGLE": (ACCURACY["single"], 20.0)}
# Fifteen pairs with a thin source cannot say how steep the line is: there agreement with ridge regression counts once.
GIVEN = {"FEW": {"ridge": 1.0}}
COVERED = 0.9
NAMED = ("nbc",)  # methods that take no part in a vote; the constants of one method should hold for them, too

BROAD = {
    "comp": (
        ("comp.graphics", "comp.os.ms-windows.misc"),
        ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "comp.windows.x"),
    ),
    "sci": (("sci.crypt", "sci.electronics"), ("sci.med", "sci.space")),
    "rec": (("rec.autos", "rec.motorcycles"), ("rec.sport.baseball", "rec.sport.hockey")),
    "talk": (("talk.politics.guns", "talk.politics.misc"), ("talk.politics.mideast", "talk.religion.misc")),
}
NARROW = {
    "comp": (
        ("comp.sys.ibm.pc.hardware", "comp.windows.x"),
        ("comp.graphics", "comp.sys.mac.hardware", "comp.os.ms-windows.misc"),
    ),
    "sport": (("rec.sport.baseball",), ("rec.sport.hockey",)),
    "vehicles": (("rec.autos",), ("rec.motorcycles",)),
    "religion": (("alt.atheism", "talk.religion.misc"), ("soc.religion.christian",)),
    "politics": (("talk.politics.guns", "talk.politics.misc"), ("talk.politics.mideast",)),
}
TWO = {
    "rec": (("rec.autos", "rec.sport.baseball"), ("rec.motorcycles", "rec.sport.hockey")),
    "sci": (("sci.med", "sci.space"), ("sci.crypt", "sci.electronics")),
}
DATED = ("comp.graphics", "rec.autos", "sci.med", "sci.space", "talk.politics.guns", "misc.forsale")
TOPICS = ("acq", "money-fx", "crude", "grain", "trade", "interest")


# ------------------------------------------------------------------------------------------------------------- pairs


def _groups(split: Mapping[str, tuple], *, back: bool = False) -> Callable[[Path], list[Rows]]:
    def load(folder: Path) -> list[Rows]:
        sides = list(newsgroup_sides(folder, split))
        return sides[::-1] if back else sides

    return load


def _dated(folder: Path) -> list[Rows]:
    records = [r for r in read_records(folder / NEWSGROUPS_FILE) if r["label"] in DATED]
    return [[(message_text(r["text"]), r["label"]) for r in records if r["split"] == s] for s in ("train", "test")]


def _reviews(*domains: str) -> Callable[[Path], list[Rows]]:
    def load(folder: Path) -> list[Rows]:
        records = read_records(folder / AMAZON_FILE)
        return [[(f"{r['title']} {r['text']}", r["label"]) for r in records if r["domain"] == d] for d in domains]

    return load


def _chinese(*domains: str, key: str = "topic", least: int = 50) -> Callable[[Path], list[Rows]]:
    def load(folder: Path) -> list[Rows]:
        sides = [topic_rows(folder, domain, key) for domain in domains]
        counts = [Counter(label for _, label in side) for side in sides]
        shared = {name for name in counts[0] if min(count[name] for count in counts) >= least}
        return [[row for row in side if row[1] in shared] for side in sides]

    return load


def _fields(first: str, second: str) -> Callable[[Path], list[Rows]]:
    def load(folder: Path) -> list[Rows]:
        data = reuters_task(first, second).load(folder)
        return [
            list(zip(data.source_texts, data.source_labels, strict=True)),
            list(zip(data.target_texts, data.target_labels, strict=True)),
        ]

    return load


def _abroad(folder: Path) -> list[Rows]:
    return list(home_and_abroad(folder, TOPICS))


def _halves(folder: Path) -> list[Rows]:
    rows = [(r["text"], r["label"]) for r in read_records(folder / RCV1_FILE) if r["label"]]
    order, half = np.random.default_rng(2).permutation(len(rows)), len(rows) // 2
    return [[rows[i] for i in order[:half]], [rows[i] for i in order[half:]]]


# pair -> (group of corpora that is left out as one, how it is read)
PAIRS: dict[str, tuple[str, Callable[[Path], list[Rows]]]] = {
    "ng4": ("newsgroups", _groups(BROAD)),
    "ng5": ("newsgroups", _groups(NARROW)),
    "ng5r": ("newsgroups", _groups(NARROW, back=True)),
    "ngdate": ("newsgroups", _dated),
    "rec-sci": ("newsgroups", _groups(TWO)),
    "books-kitchen": ("reviews", _reviews("books", "kitchen")),
    "electronics-dvd": ("reviews", _reviews("electronics", "dvd")),
    "kitchen-electronics": ("reviews", _reviews("kitchen", "electronics")),
    "dvd-books": ("reviews", _reviews("dvd", "books")),
    "kitchen-books": ("reviews", _reviews("kitchen", "books")),
    "fudan-sogou": ("Chinese texts", _chinese("fudan", "sogou")),
    "sogou-fudan": ("Chinese texts", _chinese("sogou", "fudan")),
    "sogou-thucf": ("Chinese texts", _chinese("sogou", "thucnews_full_small")),
    "thucf-sogou": ("Chinese texts", _chinese("thucnews_full_small", "sogou")),
    "fudan-csl": ("Chinese texts", _chinese("fudan", "csl", key="topic20")),
    "thuct-toutiao": ("headlines", _chinese("thucnews_title", "toutiao")),
    "toutiao-thuct": ("headlines", _chinese("toutiao", "thucnews_title")),
    "thuct-nlpcc": ("headlines", _chinese("thucnews_title", "nlpcc2017")),
    "toutiao-nlpcc": ("headlines", _chinese("toutiao", "nlpcc2017")),
    "orgs-people": ("news", _fields("orgs", "people")),
    "people-places": ("news", _fields("people", "places")),
    "reuters-usa": ("news", _abroad),
    "rcv1": ("news", _halves),
}
BINARY = (
    *("rec-sci", "orgs-people", "people-places"),
    *("books-kitchen", "electronics-dvd", "kitchen-electronics", "dvd-books", "kitchen-books"),
)


def task_names() -> list[str]:
    """All pairs with all that is done to them; a class of two cannot be taken away."""
    names = []
    for pair in PAIRS:
        kinds = ("plain", "turned", "noisy") if pair in BINARY else ("plain", "missing0", "turned", "noisy", "thin40")
        names += [f"{pair}/{kind}" for kind in kinds]
    return names


def draw_task(name: str, folder: Path) -> TaskData:
    """The pair, plain or spoilt; its name fixes all draws."""
    pair, kind = name.split("/")
    rng = np.random.default_rng(_number(name))
    source, target = (list(dict.fromkeys(side)) for side in PAIRS[pair][1](Path(folder)))
    classes = sorted({label for _, label in source} & {label for _, label in target})
    if kind.startswith("missing"):
        lost = _lost_class(target, classes, _number(pair), int(kind[-1]))
        source = [row for row in source if row[1] != lost]
    if kind == "turned":
        order = [str(classes[i]) for i in rng.permutation(len(classes))]
        weights = np.array([(0.55 if len(classes) > 2 else 0.35) ** place for place in range(len(classes))])
        weights = np.maximum(weights / weights.sum(), 0.03)
        weights = weights / weights.sum()
        source = _take(source, rng, dict(zip(order, weights, strict=True)))
        target = _take(target, rng, dict(zip(order, weights[::-1], strict=True)))
    elif kind.startswith("thin"):
        source = _few(source, classes, max(3, int(kind[4:]) // len(classes)), rng)
        target = _take(target, rng)
    else:
        source, target = _take(source, rng), _take(target, rng)
    if kind == "noisy":
        source = [
            (text, label if rng.random() > 0.25 else str(rng.choice([c for c in classes if c != label])))
            for text, label in source
        ]
    texts = [[text[:LENGTH] for text, _ in side] for side in (source, target)]
    labels = [[str(label) for _, label in side] for side in (source, target)]
    return TaskData(texts[0], labels[0], texts[1], labels[1])


def _number(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def _lost_class(target: Rows, classes: list[str], seed: int, turn: int) -> str:
    shares = {name: sum(label == name for _, label in target) / len(target) for name in classes}
    fitting = [name for name in classes if 0.1 <= shares[name] <= 0.4]
    fitting = fitting or sorted(classes, key=lambda name: -shares[name])[:3]
    return fitting[(seed + turn * max(1, len(fitting) // 2)) % len(fitting)]


def _take(rows: Rows, rng: np.random.Generator, shares: Mapping[str, float] | None = None) -> Rows:
    """At most ``SIZE`` rows at random, or as many as the classes allow with these shares; in their order."""
    if shares is None:
        return [rows[i] for i in np.sort(rng.permutation(len(rows))[:SIZE])]
    places = {name: [i for i, row in enumerate(rows) if row[1] == name] for name in shares}
    reach = [len(places[name]) / share for name, share in shares.items()]
    size = min([SIZE, *(most for most in reach if most >= 120)])
    chosen: list[int] = []
    for name, share in shares.items():
        count = min(len(places[name]), max(8, round(size * share)))
        chosen += rng.choice(places[name], count, replace=False).tolist()
    return [rows[i] for i in sorted(chosen)]


def _few(rows: Rows, classes: list[str], each: int, rng: np.random.Generator) -> Rows:
    members = {name: [row for row in rows if row[1] == name] for name in classes}
    return [
        own[i] for own in members.values() for i in rng.choice(len(own), min(each, len(own)), replace=False).tolist()
    ]


# ------------------------------------------------------------------------------------------------------------ figures


def measure(
    name: str, candidates: Candidates, truth: Iterable, others_named: Iterable[FittedCandidate] = ()
) -> list[dict]:
    """One row for the vote and one for each method: the figures, and the accuracy where the source has the class.

    ``others_named`` are methods that take no part in the vote. Labels that cannot be learned get no estimate, and no
    row.
    """
    scorer = candidates.scorer
    if scorer is None:
        return []
    true = np.asarray(list(truth)).astype(str)
    known = np.isin(true, np.unique(scorer.source_labels))
    vote = Decision.of_vote(candidates, vote_weights(candidates, VotingRule()))
    others = [candidate.labels for candidate in candidates.fitted]
    confidence, evidence = confidence_outside(scorer, vote.proba), scorer.score(vote.labels)
    figures = trust_features(scorer, vote.labels, confidence, evidence, others)
    right = np.asarray(vote.labels).astype(str) == true
    row = {"task": name, "method": "auto", "n_source": len(scorer.source_labels)}
    row |= {"accuracy": float(np.mean(right[known]))} | figures
    named = measure_methods(name, scorer, [*candidates.fitted, *others_named], true)
    return [row, *named] if evidence.learned else named


def measure_methods(name: str, scorer: LabelScorer, fitted: Iterable[FittedCandidate], truth: Iterable) -> list[dict]:
    """One row for each method, judged as if it had been named: by words and by the pair's own space alone."""
    true = np.asarray(list(truth)).astype(str)
    known = np.isin(true, np.unique(scorer.source_labels))
    bare, rows = scorer.bare(), []
    for candidate in fitted:
        evidence = replace(candidate.evidence or scorer.score(candidate.labels), others={})
        if not evidence.learned:
            continue
        confidence = confidence_outside(bare, candidate.probabilities)
        right = np.asarray(candidate.labels).astype(str) == true
        rows.append(
            {"task": name, "method": candidate.name, "n_source": len(scorer.source_labels)}
            | {"accuracy": float(np.mean(right[known]))}
            | trust_features(bare, candidate.labels, confidence, evidence)
        )
    return rows


def measure_all(folder: Path) -> Iterator[dict]:
    """All pairs, fitted anew: about half a minute each; then those with vectors of encoders, if there are any."""
    names = task_names()
    for step, name in enumerate(names):
        progress(f"pair {name}", step, len(names))
        data = draw_task(name, folder)
        labels = np.array(data.source_labels, dtype=object)
        texts = TransferTexts.of(data.source_texts, labels, data.target_texts)
        candidates = try_methods(texts, random_state=0)
        named = [fit_candidate(method, METHODS[method].build_with(random_state=0), texts) for method in NAMED]
        yield from measure(name, candidates, data.target_labels, named)
    yield from measure_encoders(folder)


def measure_encoders(folder: Path) -> Iterator[dict]:
    """The votes on pairs with stored vectors of encoders, whose texts all have a vector.

    The environment variable ``ISTHMUS_VECTORS`` names a folder with one folder per encoder, of ``.npz`` files with
    ``keys`` (the SHA-1 of each text) and ``vectors``. Rows of methods are left out: without the views of vectors they
    would repeat those of :func:`measure_all`.
    """
    place = os.environ.get(VECTORS)
    if not place:
        print(f"No pairs with vectors of encoders: set {VECTORS} to a folder of vectors.", file=sys.stderr)
        return
    for encoder in sorted(path for path in Path(place).iterdir() if path.is_dir()):
        stored = read_vectors(encoder)
        for name in task_names():
            data = draw_task(name, folder)
            texts = [*data.source_texts, *data.target_texts]
            keys = [hashlib.sha1(text.encode()).hexdigest().encode() for text in texts]
            if not all(key in stored for key in keys):
                print(f"{encoder.name}: not every text of {name} has a vector.", file=sys.stderr)
                continue
            table = VectorTable.of(texts, np.array([stored[key] for key in keys], dtype=np.float32))
            labels = np.array(data.source_labels, dtype=object)
            candidates = try_methods(
                TransferTexts.of(data.source_texts, labels, data.target_texts), random_state=0, embed=table
            )
            rows = measure(f"{name}@{encoder.name}", candidates, data.target_labels)
            yield from (row for row in rows if row["method"] == "auto")


def read_vectors(folder: Path) -> dict[bytes, np.ndarray]:
    """Stored vectors of an encoder, by the SHA-1 of their texts."""
    found: dict[bytes, np.ndarray] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            found.update(zip(file["keys"].astype("S40").tolist(), file["vectors"], strict=True))
    return found


def read_rows(path: Path) -> list[dict]:
    """The figures as :func:`measure_all` gave them, from a file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return [{k: v if k in ("task", "method") else float(v) for k, v in row.items()} for row in csv.DictReader(file)]


# -------------------------------------------------------------------------------------------------------------- fits


def group_of(row: Mapping) -> str:
    """Group of corpora that a row belongs to."""
    return PAIRS[row["task"].split("/")[0]][0]


def part_of(row: Mapping) -> str:
    """Which constants speak about a row: those of one method, of a vote, or of a vote that a thin source taught."""
    return "SINGLE" if row["method"] != "auto" else "FEW" if row["n_source"] < ACCURACY["thin"] else "VOTE"


def _teaches(row: Mapping, part: str) -> bool:
    """Whether constants are fitted on a row; those of a vote on votes that a thin source taught, too."""
    return part_of(row) == part or (part == "VOTE" and part_of(row) == "FEW")


def fit_weights(rows: list[dict], part: str) -> dict[str, float]:
    """Ridge regression of the accuracy's log-odds on the figures, in units of their spread."""
    figures, strength = PARTS[part]
    given = GIVEN.get(part, {})
    names = [name for name in figures if name != "constant" and name not in given]
    table = np.array([[log_odds(row, {"constant": 0.0, name: 1.0}) for name in names] for row in rows])
    spread = table.std(axis=0) + 1e-9
    model = Ridge(alpha=strength)
    model.fit(
        table / spread, [clipped_logit(row["accuracy"]) - log_odds(row, {"constant": 0.0, **given}) for row in rows]
    )
    weights = dict(zip(names, (model.coef_ / spread).tolist(), strict=True))
    return {"constant": float(model.intercept_), **given, **weights}


def fit_constants(rows: list[dict]) -> dict[str, dict[str, float]]:
    """Fit all constants of the accuracy estimate."""
    weights = {part: fit_weights([row for row in rows if _teaches(row, part)], part) for part in PARTS}
    return {**weights, "SPREAD": fit_spread(rows)}


def misses(rows: list[dict], single: bool) -> list[tuple[dict, float]]:
    """Each row with its error in log-odds when its group of corpora is left out of the fit."""
    chosen = [row for row in rows if (row["method"] != "auto") == single]
    found = []
    for part in dict.fromkeys(part_of(row) for row in chosen):
        own = [row for row in chosen if part_of(row) == part]
        for group in sorted({group_of(row) for row in own}):
            others = [row for row in chosen if _teaches(row, part) and group_of(row) != group]
            weights = fit_weights(others, part)
            found += [
                (row, log_odds(row, weights) - clipped_logit(row["accuracy"])) for row in own if group_of(row) == group
            ]
    return found


def fit_spread(rows: list[dict]) -> dict[str, float]:
    """What the interval's half-width must be for nine errors in ten to stay within, never less for a doubt more.

    Pairs that lack a class are left out: what they add is the new group's own interval. What one method adds to a vote
    is the ninth decile of what its errors have beyond the vote's width.
    """
    rows = [row for row in rows if "/missing" not in row["task"]]
    votes, methods = ([(row, abs(miss)) for row, miss in misses(rows, single)] for single in (False, True))
    names = [name for name in ACCURACY["spread"] if name != "single"]

    def table(found: list[tuple[dict, float]]) -> np.ndarray:
        terms = [spread_terms(row, int(row["n_source"]), single=False) for row, _ in found]
        return np.array([[term[name] for name in names] for term in terms])

    while True:
        model = QuantileRegressor(quantile=COVERED, alpha=0.0, fit_intercept=False)
        model.fit(table(votes), [size for _, size in votes])
        if model.coef_.min() >= 0 or len(names) == 1:
            break
        names.pop(int(np.argmin(model.coef_)))
    beyond = np.array([size for _, size in methods]) - table(methods) @ model.coef_ if methods else np.zeros(1)
    fitted = dict(zip(names, model.coef_.tolist(), strict=True))
    return dict.fromkeys(ACCURACY["spread"], 0.0) | fitted | {"single": max(0.0, float(np.quantile(beyond, COVERED)))}


def choose_constants(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Return every constant and the mean left-out error by kind, and write the constants to ``trust.json``."""
    rows = list(measure_all(folder))
    write_constants(fit_constants(rows))
    return constants_table(rows)


def write_constants(constants: Mapping[str, Mapping[str, float]], file: Path = FILE) -> None:
    """Write the result of :func:`fit_constants` to the file of fitted constants."""
    write_values("expected_accuracy", {part.lower(): values for part, values in constants.items()}, file)


def write_values(group: str, values: Mapping, file: Path = FILE, digits: int = 3) -> None:
    """Replace fitted values of one group in the file, and keep everything else.

    Parameters
    ----------
    group : str
    values : mapping
        Numbers by name, or weights by figure for each name.
    file : Path
    digits : int
        Decimals that are written.
    """
    groups = json.loads(file.read_text(encoding="utf-8"))
    for name, value in values.items():
        groups[group]["values"][name] = (
            {figure: round(weight, digits) for figure, weight in value.items()}
            if isinstance(value, Mapping)
            else round(value, digits)
        )
    file.write_text(json.dumps(groups, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def constants_table(rows: list[dict]) -> list[dict]:
    """Constants and left-out errors as rows."""
    table = [
        {"part": "constant", "name": f"{part} {name}", "value": round(value, 3)}
        for part, values in fit_constants(rows).items()
        for name, value in values.items()
    ]
    for single in (False, True):
        found = misses(rows, single)
        for kind in ("plain", "missing", "turned", "noisy", "thin"):
            own = [(row, miss) for row, miss in found if row["task"].split("/")[1].startswith(kind)]
            errors = [abs(_share(clipped_logit(row["accuracy"]) + miss) - row["accuracy"]) for row, miss in own]
            if errors:
                name = f"left out, {'one method' if single else 'vote'}, {kind}"
                table.append({"part": "error", "name": name, "value": round(float(np.mean(errors)), 4)})
    return table


def _share(log_odds_: float) -> float:
    return float(1 / (1 + np.exp(-log_odds_)))
