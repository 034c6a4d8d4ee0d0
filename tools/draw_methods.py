"""Draw how each method works, each from a small real run: pictures and the tables behind them, for the documentation.

``python tools/draw_methods.py`` writes ``docs/_static/drawn/NAME.svg`` and ``NAME.csv``; a name draws that one alone.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np

import isthmus
from isthmus._math.rows import unit_rows
from isthmus.corpus import load_sample
from isthmus.corpus.exchange import Labelled, write_tool_file
from isthmus.features import TextVectorizer
from isthmus.methods import make_method
from isthmus.report.charts import kinds as theme
from isthmus.report.charts import to_svg

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_static" / "drawn"
CLASSES = ("price", "product", "service", "staff")
COLOURS = alt.Scale(domain=[*CLASSES, "none"], range=[*theme.PALETTE[:4], "#B9C0C6"])
QUIET = "#7C868E"  # readable on white and on the dark page
Table = list[dict]


def sample() -> tuple[list[str], np.ndarray, int, dict[str, str], list[str]]:
    """Texts of both domains, their labels, how many are source, the truth, and the target's ids."""
    motorcycles, cars, truth = load_sample()
    texts = [*motorcycles.texts, *cars.texts]
    labels = np.array([*motorcycles.labels, *[None] * len(cars)], dtype=object)
    return texts, labels, len(motorcycles), truth, cars.ids


def co_clusters() -> tuple[Table, alt.Chart]:
    """Documents and words as they came, and sorted by cluster."""
    texts, labels, first, _, _ = sample()
    model = make_method("cocc")
    model[-1].set_params(n_word_clusters=8)
    model.fit(texts, labels)
    counts = model[:-1].transform(texts[first:]).toarray() > 0
    estimator, found = model[-1], model.transduction_[first:]
    common = np.argsort(-counts.sum(axis=0), kind="stable")[:70]
    rows = np.concatenate([np.flatnonzero(found == name)[:22] for name in CLASSES])
    chance = np.random.default_rng(0)
    rows, common = chance.permutation(rows), chance.permutation(common)
    leaning = np.array([np.argmax([counts[found == name][:, word].mean() for name in CLASSES]) for word in common])
    orders = {
        "as they came": (np.arange(len(rows)), np.arange(len(common))),
        "by cluster": (
            np.argsort(found[rows], kind="stable"),
            np.lexsort((estimator.word_clusters_[common], leaning)),
        ),
    }
    table = [
        {"order": name, "document": i, "word": j, "class": found[rows[row]]}
        for name, (by_row, by_word) in orders.items()
        for i, row in enumerate(by_row)
        for j, word in enumerate(by_word)
        if counts[rows[row], common[word]]
    ]
    chart = alt.Chart(theme.data(table)).mark_rect().encode(
        x=alt.X("word:O", axis=None), y=alt.Y("document:O", axis=None),
        color=alt.Color("class:N", scale=COLOURS, title=None, legend=alt.Legend(orient="bottom", values=list(CLASSES))),
        column=alt.Column("order:N", title=None),
    )  # fmt: skip
    return table, chart.properties(width=310, height=270)


def projected_terms() -> tuple[Table, alt.Chart]:
    """The heaviest terms of each class."""
    texts, labels, _, _, _ = sample()
    model = make_method("projection").fit(texts, labels)
    words = _as_written(model[0], texts)
    table = [
        {"class": name, "term": row["term"], "weight": round(float(row["weight"]), 2), "rank": rank}
        for name in CLASSES
        for rank, row in enumerate(model[-1].terms(name, n=7, names=words))
    ]
    return table, _bars_by_class(table, scale=alt.Scale(type="sqrt"))


def _as_written(vectorizer: TextVectorizer, texts: list[str]) -> list[str]:
    """For every column the commonest word that it stands for."""
    counts = Counter(re.findall(r"[a-z]+", " ".join(texts).lower()))
    shown = list(vectorizer.get_feature_names_out())
    for word, _ in reversed(counts.most_common()):
        for column in vectorizer.transform([word]).indices:
            shown[column] = word
    return shown


def graph() -> tuple[Table, alt.Chart]:
    """Documents on the left, words on the right; labels spread from two words."""
    texts = ["a superb, gripping tale", "superb cast, gripping end", "gripping from page one",
             "awful and tedious", "tedious plot, awful cast", "tedious from page one"]  # fmt: skip
    words = {"superb": "positive", "awful": "negative"}
    model = make_method("dual-manifold", word_labels=words, min_df=1)
    model[0].set_params(ngram_range=(1, 1))
    model.fit(texts, [None] * 6)
    names = model[0].get_feature_names_out()
    counts, dual = model[0].transform(texts).toarray() > 0, model[-1]
    shown = [word for word in ("superb", "gripping", "cast", "page", "tedious", "awful") if word in names]
    columns = [list(names).index(word) for word in shown]
    table = [
        {"kind": "document", "name": text, "x": 0, "y": i, "class": str(found), "given": 0}
        for i, (text, found) in enumerate(zip(texts, model.transduction_, strict=True))
    ]
    table += [
        {"kind": "word", "name": word, "x": 1, "y": i, "class": str(dual.word_transduction_[column]),
         "given": int(word in words)}
        for i, (word, column) in enumerate(zip(shown, columns, strict=True))
    ]  # fmt: skip
    edges = [
        {"x": 0, "y": i, "x2": 1, "y2": j} for i in range(6) for j, column in enumerate(columns) if counts[i, column]
    ]
    colour = alt.Color("class:N", title=None, scale=alt.Scale(domain=["positive", "negative"], range=theme.PALETTE[:2]),
                       legend=alt.Legend(orient="bottom"))  # fmt: skip
    plane = {"x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.75, 1.3])),
             "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[5.4, -0.4]))}  # fmt: skip
    lines = alt.Chart(theme.data(edges)).mark_rule(color="#A9B2B9").encode(**plane, x2="x2:Q", y2="y2:Q")
    nodes = alt.Chart(theme.data(table)).mark_circle(size=190, opacity=1).encode(**plane, color=colour)
    rings = alt.Chart(theme.data([row for row in table if row["given"]])).mark_point(
        size=520, strokeWidth=2, color=QUIET).encode(**plane)  # fmt: skip
    left = alt.Chart(theme.data([row for row in table if not row["x"]])).mark_text(
        align="right", dx=-14, color=QUIET, fontSize=12).encode(**plane, text="name:N")  # fmt: skip
    right = alt.Chart(theme.data([row for row in table if row["x"]])).mark_text(
        align="left", dx=18, color=QUIET, fontSize=12, fontWeight="bold").encode(**plane, text="name:N")  # fmt: skip
    return table, (lines + rings + nodes + left + right).properties(width=560, height=250)


def two_rounds() -> tuple[Table, alt.Chart]:
    """Scores of the target in the first and the second round, for one class against another."""
    texts, labels, first, truth, ids = sample()
    two = ("price", "staff")
    keep = [i for i, text in enumerate(texts) if (labels[i] if i < first else truth[ids[i - first]]) in two]
    some = [texts[i] for i in keep]
    known = labels[keep]
    start = sum(i < first for i in keep)
    once, twice = make_method("strings"), make_method("strings")
    once[-1].set_params(max_iter=1)
    once.fit(some, known)
    twice.fit(some, known)
    before, after = (_margin(model, two) for model in (once, twice))
    joined = np.zeros(len(before), dtype=bool)
    joined[np.argsort(-np.abs(before), kind="stable")[: len(before) // 2]] = True
    right = [truth[ids[i - first]] for i in keep[start:]]
    table = [
        {"round one": round(float(a), 3), "round two": round(float(b), 3), "joined": "joined" if c else "doubtful",
         "class": name}
        for a, b, c, name in zip(before, after, joined, right, strict=True)
    ]  # fmt: skip
    points = alt.Chart(theme.data(table)).mark_point(size=34, strokeWidth=1.4).encode(
        x=alt.X("round one:Q", title="score in round one (left: staff, right: price)",
                axis=alt.Axis(tickCount=6)),
        y=alt.Y("round two:Q", title="score in round two"),
        color=alt.Color("class:N", scale=COLOURS, title=None, legend=alt.Legend(values=list(two))),
        fill=alt.condition("datum.joined == 'joined'", alt.Color("class:N", scale=COLOURS, legend=None),
                           alt.value("transparent")),
    )  # fmt: skip
    axes = alt.Chart(theme.data([{"zero": 0}]))
    cross = axes.mark_rule(color="#A9B2B9").encode(x="zero:Q") + axes.mark_rule(color="#A9B2B9").encode(y="zero:Q")
    return table, (cross + points).properties(width=430, height=300)


def _margin(model, two: tuple[str, str]) -> np.ndarray:
    estimator = model[-1]
    order = [list(estimator.classes_).index(name) for name in two]
    return estimator.target_scores_[:, order[0]] - estimator.target_scores_[:, order[1]]


def guided_centres() -> tuple[Table, alt.Chart]:
    """Target documents, their centres, and the source groups that drew them, on two latent directions."""
    texts, labels, first, _, _ = sample()
    gone = [i for i in range(first) if labels[i] != "staff"]  # the source lacks a group, so one cluster is new
    source = [texts[i] for i in gone]
    groups = [labels[i] for i in gone]
    result = isthmus.cluster(source, groups, texts[first:], n_clusters=4, random_state=0)
    rows = TextVectorizer(weighting="tfidf").fit_transform([*source, *texts[first:]])
    target = rows[len(source) :]
    middles = np.vstack([
        *(np.asarray(target[result.labels == cluster].mean(axis=0)) for cluster in range(4)),
        *(np.asarray(rows[: len(source)][np.array(groups) == name].mean(axis=0)) for name in sorted(set(groups))),
    ])  # fmt: skip
    plane = np.linalg.svd(middles - middles.mean(axis=0), full_matrices=False)[2][:2]
    space = rows @ plane.T
    space = np.sign(space) * np.sqrt(np.abs(space))  # most documents lie near the middle: spread them
    own, new = space[: len(source)], space[len(source) :]
    kinds = {match.cluster: match.group or "none" for match in result.alignment}
    table = [
        {"kind": "document", "x": round(float(x), 3), "y": round(float(y), 3), "class": kinds[cluster]}
        for (x, y), cluster in list(zip(new, result.labels, strict=True))[::3]
    ]
    for cluster, name in kinds.items():
        x, y = new[result.labels == cluster].mean(axis=0)
        table.append({"kind": "centre", "x": round(float(x), 3), "y": round(float(y), 3), "class": name})
    for name in sorted(set(groups)):
        x, y = own[np.array(groups) == name].mean(axis=0)
        table.append({"kind": "source group", "x": round(float(x), 3), "y": round(float(y), 3), "class": name})
    colour = alt.Color("class:N", scale=COLOURS, title=None, legend=alt.Legend(
        values=[*sorted(set(groups)), "none"], labelExpr="datum.label == 'none' ? 'new' : datum.label"))  # fmt: skip
    where = {"x": alt.X("x:Q", axis=None), "y": alt.Y("y:Q", axis=None), "color": colour}
    layers = [
        alt.Chart(theme.data([row for row in table if row["kind"] == kind])).mark_point(**style).encode(**where)
        for kind, style in (
            ("document", {"filled": True, "size": 22, "opacity": 0.55}),
            ("centre", {"shape": "cross", "size": 420, "filled": True, "opacity": 1, "stroke": QUIET}),
            ("source group", {"shape": "square", "size": 300, "filled": True, "opacity": 1, "stroke": QUIET}),
        )
    ]
    return table, alt.layer(*layers).properties(width=430, height=300)


def loop() -> tuple[Table, alt.Chart]:
    """What rounds of asking and teaching bring on the sample: labels that are right, and what was expected."""
    motorcycles, cars, truth = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="nbc")
    result.ids = cars.ids
    table = []
    for answers in range(0, 121, 20):
        right = np.mean([truth[name] == label for name, label in zip(cars.ids, result.labels, strict=True)])
        expected = result.expected_accuracy
        table.append({"answers": answers, "right": round(float(right), 4), "expected": round(expected.estimate, 4),
                      "low": round(expected.low, 4), "high": round(expected.high, 4)})  # fmt: skip
        questions = result.ask(20)
        questions["true_label"] = [truth[name] for name in questions["id"]]
        result = result.teach(questions, name=f"round {answers}")
    base = alt.Chart(theme.data(table)).encode(x=alt.X("answers:Q", title="documents read and taught, twenty a round"))
    share = alt.Axis(format=".0%")
    scale = alt.Scale(domain=[0.45, 1])
    band = base.mark_area(opacity=0.18, color=theme.PALETTE[0]).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    expected = base.mark_line(strokeDash=[5, 4], color=theme.PALETTE[0]).encode(y="expected:Q")
    right = base.mark_line(point=True, color=theme.PALETTE[1]).encode(
        y=alt.Y("right:Q", title="labels that are right", axis=share, scale=scale))  # fmt: skip
    last = [{**table[-1], "what": "right"}]
    name = alt.Chart(theme.data(last)).mark_text(align="right", dy=-12, color=theme.PALETTE[1], fontSize=12).encode(
        x="answers:Q", y="right:Q", text="what:N")  # fmt: skip
    note = [{**table[1], "what": "expected, with its interval"}]
    style = {"align": "left", "dx": 8, "dy": 24, "color": theme.PALETTE[0], "fontSize": 12}
    named = alt.Chart(theme.data(note)).mark_text(**style).encode(x="answers:Q", y="low:Q", text="what:N")
    return table, (band + expected + right + name + named).properties(width=520, height=260)


def budget() -> tuple[Table, alt.Chart]:
    """Wrong labels left against documents read, expected and true."""
    motorcycles, cars, truth = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, embed=False)
    wrong = np.array([truth[name] != label for name, label in zip(cars.ids, result.labels, strict=True)])
    order = np.argsort(result.confidence, kind="stable")
    table = []
    for row in result.budget_curve(steps=20):
        rest = order[round(row["reviewed"] * len(order)) :]
        if len(rest) >= 20:
            table += [
                {
                    "read": round(row["reviewed"], 3),
                    "wrong": round(float(row["expected_error"]), 4),
                    "curve": "expected",
                },
                {"read": round(row["reviewed"], 3), "wrong": round(float(wrong[rest].mean()), 4), "curve": "true"},
            ]
    chart = alt.Chart(theme.data(table)).mark_line(point=True).encode(
        x=alt.X("read:Q", title="documents read, least sure first", axis=alt.Axis(format=".0%")),
        y=alt.Y("wrong:Q", title="wrong among the rest", axis=alt.Axis(format=".0%")),
        color=alt.Color("curve:N", title=None, scale=alt.Scale(domain=["expected", "true"], range=theme.PALETTE[:2]),
                        legend=alt.Legend(orient="top-right")),
    )  # fmt: skip
    return table, chart.properties(width=520, height=240)


def learned_words() -> tuple[Table, alt.Chart]:
    """Words that the source never saw, with the class that self-training gave them."""
    texts, labels, first, _, _ = sample()
    model = make_method("self-training").fit(texts, labels)
    words, rows = _as_written(model[0], texts), model[:-1].transform(texts) > 0
    documents = np.asarray(rows[:first].sum(axis=0)).ravel(), np.asarray(rows[first:].sum(axis=0)).ravel()
    unseen = np.flatnonzero((documents[0] == 0) & (documents[1] > 7))
    weights = model[-1].estimator_.coef_
    table = [
        {"class": name, "term": words[column], "weight": round(float(weights[code, column]), 2), "rank": rank}
        for code, name in enumerate(model[-1].classes_)
        for rank, column in enumerate(unseen[np.argsort(-weights[code, unseen], kind="stable")[:6]])
    ]
    return table, _bars_by_class(table)


def _bars_by_class(table: Table, **x) -> alt.Chart:
    bars = alt.Chart().mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X("weight:Q", title="weight", axis=alt.Axis(tickCount=3), **x),
        y=alt.Y("term:N", sort=alt.SortField("rank"), title=None),
        color=alt.Color("class:N", scale=COLOURS, legend=None),
    )  # fmt: skip
    chart = bars.properties(width=105, height=150).facet(
        facet=alt.Facet("class:N", title=None), columns=4, data=theme.data(table)
    )
    return chart.resolve_scale(y="independent")


def centroids() -> tuple[Table, alt.Chart]:
    """Centroids of the source's classes, and where they settled among the target's documents."""
    texts, labels, first, _, _ = sample()
    model = make_method("lsa").fit(texts, labels)
    rows = model[:-1].transform(texts)
    source, target = (unit_rows(part - part.mean(axis=0)) for part in map(unit_rows, (rows[:first], rows[first:])))
    start = np.array([source[labels[:first] == name].mean(axis=0) for name in CLASSES])
    return _moves(target, model.transduction_[first:], start, model[-1].centroids_, "source's centroid")


def spread_labels() -> tuple[Table, alt.Chart]:
    """Right labels by the source's classifier, after self-training, and after spreading to neighbours."""
    texts, labels, first, truth, ids = sample()
    table = []
    for step, settings in (
        ("source only", {"max_iter": 0, "n_neighbors": 0}),
        ("after self-training", {"n_neighbors": 0}),
        ("after spreading", {}),
    ):
        model = make_method("neighbours")
        model[-1].set_params(**settings)
        found = model.fit(texts, labels).transduction_[first:]
        right = np.mean([truth[name] == label for name, label in zip(ids, found, strict=True)])
        table.append({"step": step, "right": round(float(right), 4)})
    bars = alt.Chart(theme.data(table)).mark_bar(cornerRadiusEnd=2, color=theme.PALETTE[0]).encode(
        x=alt.X("right:Q", title="right labels", axis=alt.Axis(format=".0%")),
        y=alt.Y("step:N", sort=None, title=None),
    )  # fmt: skip
    return table, bars.properties(width=480, height=110)


def names() -> tuple[Table, alt.Chart]:
    """Names of classes as points among the documents, and where they settled."""
    texts, labels, first, _, _ = sample()
    described = {"price": "cost, offer", "product": "engine, seats", "service": "repair, waited", "staff": "friendly"}
    model = make_method("names", classes=described, embed=False)
    model.fit(texts[first:], labels[first:])
    estimator, rows = model[-1], model[:-1].transform(texts[first:])
    rows = unit_rows(np.asarray(rows if estimator.components_ is None else rows @ estimator.components_))
    rows = unit_rows(rows - estimator.mean_)
    return _moves(rows, model.transduction_, estimator.anchors_, estimator.centroids_, "the name")


def _moves(
    rows: np.ndarray, found: np.ndarray, start: np.ndarray, end: np.ndarray, what: str
) -> tuple[Table, alt.Chart]:
    """Documents, and an arrow for each class from where its centroid starts to where it settles."""
    end = unit_rows(np.asarray(end)) * 0.75
    plane = np.linalg.svd(end - end.mean(axis=0), full_matrices=False)[2][:2]
    start = unit_rows(np.asarray(start)) * 0.75
    table = [
        {"kind": "document", "x": x, "y": y, "class": name}
        for (x, y), name in list(zip(np.round(rows @ plane.T, 3).tolist(), found, strict=True))[::4]
    ]
    for kind, points in ((what, start), ("settled", end)):
        shown = np.round(points @ plane.T, 3).tolist()
        table += [{"kind": kind, "x": x, "y": y, "class": name} for (x, y), name in zip(shown, CLASSES, strict=True)]
    pairs = zip(table[-8:-4], table[-4:], strict=True)
    ways = [{"x": a["x"], "y": a["y"], "x2": b["x"], "y2": b["y"], "class": a["class"]} for a, b in pairs]
    colour = alt.Color("class:N", scale=COLOURS, title=None, legend=alt.Legend(values=list(CLASSES)))
    where = {"x": alt.X("x:Q", axis=None), "y": alt.Y("y:Q", axis=None), "color": colour}
    layers = [alt.Chart(theme.data(ways)).mark_rule(strokeWidth=2).encode(**where, x2="x2:Q", y2="y2:Q")]
    styles = {
        "document": {"filled": True, "size": 20, "opacity": 0.5},
        what: {"shape": "square", "size": 200, "filled": False, "strokeWidth": 2.5},
        "settled": {"shape": "cross", "size": 360, "filled": True, "opacity": 1, "stroke": QUIET},
    }
    layers += [
        alt.Chart(theme.data([row for row in table if row["kind"] == kind])).mark_point(**style).encode(**where)
        for kind, style in styles.items()
    ]
    return table, alt.layer(*layers).properties(width=430, height=290)


def blocks() -> tuple[Table, alt.Chart]:
    """Documents by words as they came, and as document classes and word classes explain them."""
    texts, labels, first, truth, ids = sample()
    two = ("price", "staff")
    keep = [i for i in range(len(texts)) if (labels[i] if i < first else truth[ids[i - first]]) in two][::6]
    words = {"price": "price", "cost": "price", "staff": "staff", "friendly": "staff"}
    model = make_method("dual-factor", word_labels=words).fit([texts[i] for i in keep], labels[keep])
    counts = model[0].transform([texts[i] for i in keep]).toarray()
    found = model.transduction_.astype(str)
    apart = np.abs((counts[found == two[0]] > 0).mean(axis=0) - (counts[found == two[1]] > 0).mean(axis=0))
    common = np.argsort(-apart, kind="stable")[:36]
    meant = model[-1].word_transduction_[common].astype(str)
    rows, columns = np.argsort(found, kind="stable"), np.argsort(meant, kind="stable")
    dense = counts[:, common][np.ix_(rows, columns)] > 0
    table = [
        {"what": "the words of documents", "x": int(j), "x2": int(j) + 1, "y": int(i), "y2": int(i) + 1, "weight": 1.0}
        for i, j in zip(*np.nonzero(dense), strict=True)
    ]
    for one in two:
        for other in two:
            down, across = np.flatnonzero(found[rows] == one), np.flatnonzero(meant[columns] == other)
            share = round(float(dense[np.ix_(down, across)].mean()), 3)
            table.append({"what": "explained by classes", "x": int(across[0]), "x2": int(across[-1]) + 1,
                          "y": int(down[0]), "y2": int(down[-1]) + 1, "weight": share})  # fmt: skip
    most = max(row["weight"] for row in table if row["what"] == "explained by classes")
    for row in table:
        row["weight"] = min(1.0, round(row["weight"] / most, 3))
    chart = alt.Chart(theme.data(table)).mark_rect(color=theme.PALETTE[0]).encode(
        x=alt.X("x:Q", axis=None), x2="x2:Q", y=alt.Y("y:Q", axis=None, scale=alt.Scale(reverse=True)), y2="y2:Q",
        opacity=alt.Opacity("weight:Q", legend=None, scale=alt.Scale(domain=[0, 1])),
        column=alt.Column("what:N", title=None, sort=["the words of documents"]),
    )  # fmt: skip
    return table, chart.properties(width=280, height=200)


def round_trip() -> tuple[Table, alt.Chart]:
    """A round trip through Label Studio's files, run on the sample: what is labelled, reviewed and learned."""
    motorcycles, cars, truth = load_sample()
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="nbc")
    result.ids = cars.ids

    def right(labels) -> str:
        found = np.mean([truth[name] == label for name, label in zip(cars.ids, labels, strict=True)])
        return f"{100 * found:.0f}% right"

    with TemporaryDirectory() as folder:
        tasks = Path(folder, "tasks.json")
        rows = np.flatnonzero(result.needs_review)
        doubtful = Labelled(
            [cars.ids[i] for i in rows], [cars.texts[i] for i in rows], [str(result.labels[i]) for i in rows],
            confidence=[float(result.confidence[i]) for i in rows],
        )  # fmt: skip
        write_tool_file(tasks, "label-studio", doubtful)
        reviewed = json.loads(tasks.read_text(encoding="utf-8"))
        for task in reviewed:  # what people say there
            said = {"choices": [truth[task["data"]["id"]]]}
            choice = {"from_name": "label", "to_name": "text", "type": "choices", "value": said}
            task["annotations"] = [{"result": [choice]}]
        tasks.write_text(json.dumps(reviewed), encoding="utf-8")
        taught = result.teach(tasks)
    boxes = [
        ("Isthmus labels", f"{len(cars):,} documents, {right(result.labels)}"),
        ("Label Studio reviews", f"{len(rows):,} doubtful documents"),
        ("Isthmus learns", right(taught.labels)),
    ]
    table = [{"x": place, "x2": place + 0.68, "step": step, "what": what} for place, (step, what) in enumerate(boxes)]
    arrows = [{"x": 0.69, "x2": 0.97, "file": "tasks.json"}, {"x": 1.69, "x2": 1.97, "file": "export.json"}]
    x, y = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 2.7])), alt.value(50)
    base = alt.Chart(theme.data(table))
    frames = base.mark_rect(cornerRadius=8, filled=False, stroke=theme.PALETTE[0], strokeWidth=2).encode(
        x=x, x2="x2:Q", y=alt.value(15), y2=alt.value(85))  # fmt: skip
    middle = base.transform_calculate(m="datum.x + 0.34").encode(x=alt.X("m:Q", axis=None))
    steps = middle.mark_text(fontSize=14, fontWeight="bold", color=theme.PALETTE[0]).encode(
        y=alt.value(42), text="step:N"
    )
    facts = middle.mark_text(fontSize=12, color=QUIET).encode(y=alt.value(62), text="what:N")
    ways = alt.Chart(theme.data(arrows))
    lines = ways.mark_rule(color=QUIET, strokeWidth=2).encode(x=x, x2="x2:Q", y=y)
    heads = ways.mark_point(shape="triangle-right", color=QUIET, filled=True, size=90, opacity=1).encode(x="x2:Q", y=y)
    names = ways.transform_calculate(m="(datum.x + datum.x2) / 2").mark_text(fontSize=11, color=QUIET, dy=-12).encode(
        x="m:Q", y=y, text="file:N")  # fmt: skip
    return table, (frames + steps + facts + lines + heads + names).properties(width=760, height=100)


DRAWINGS: dict[str, Callable[[], tuple[Table, alt.Chart]]] = {
    "cocc": co_clusters, "projection": projected_terms, "dual": graph, "strings": two_rounds, "guided": guided_centres,
    "loop": loop, "budget": budget, "self-training": learned_words, "centroids": centroids,
    "neighbours": spread_labels,
    "names": names, "dual-factor": blocks,
    "round-trip": round_trip,
}  # fmt: skip


def dress(chart: alt.Chart) -> alt.Chart:
    """No background and quiet grey type, so that a picture stands on a light and on a dark page."""
    grey = {"labelColor": QUIET, "titleColor": QUIET, "labelFontSize": 12, "titleFontSize": 12}
    axis = {**grey, "gridColor": "#8b95a033", "domainColor": QUIET, "tickColor": QUIET, "titleFontWeight": "normal"}
    return chart.configure(
        background="transparent",
        font="system-ui, sans-serif",
        view={"stroke": None},
        axis=axis,
        legend=grey,
        header={**grey, "labelFontWeight": "bold"},
    )


def write(name: str, folder: Path = FOLDER) -> None:
    """Draw one picture and keep its table."""
    table, chart = DRAWINGS[name]()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(to_svg(dress(chart)), encoding="utf-8")
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    for name in sys.argv[1:] or DRAWINGS:
        write(name)
        print(f"drawn/{name}.svg")
