"""The report: numbers in a plain dict → template → one HTML file that needs no network."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import import_optional, plural, versions
from isthmus.choose import estimate_shares, sample_size
from isthmus.classify.cocc.classifier import CoClusteringClassifier
from isthmus.corpus import Collection, check_output, replacing
from isthmus.exceptions import DataError
from isthmus.explain.cocc import cluster_table
from isthmus.features.surface import readable, surface_forms
from isthmus.report import pictures, tables
from isthmus.report.cases import documents, sure_examples
from isthmus.report.decision import decision_facts, why_this_method
from isthmus.report.languages import lang_attribute
from isthmus.shift.diagnose import SEVERITIES, measure_shift

_DOUBTFUL = 25
_BINS = 20
_CLUSTERS = 16
_CURVES = 3
_MARGIN = 0.05  # how exactly the accuracy should be known, in the invitation to check
_SAME_SHARE = 0.01  # shares that differ by less are called the same
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # no part of a page; from texts and labels
_DIAGNOSED = 4_000  # documents of each side; more would tell the same and take longer


def write_label_report(
    result,
    path,
    *,
    force: bool = False,
    source: Collection | None = None,
    target: Collection | None = None,
) -> Path:
    """Write the page about a labelling.

    Parameters
    ----------
    result : LabelResult
    path : path of the page
    force : bool
        Replace a page that exists.
    source, target : Collection, optional
        Where the texts came from; made from the result's texts if omitted.
    """
    check_output(path, force=force, table=False)
    source = source or Collection.from_texts(result.source_texts, list(result.source_labels), name="source texts")
    target = target or Collection.from_texts(result.texts, ids=result.ids, name="target texts")
    page = render("label.html.j2", label_facts(result, source, target))
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def render(template: str, facts: dict[str, Any]) -> str:
    """Fill a template; everything that comes from data is escaped."""
    jinja2 = import_optional("jinja2", "A report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isthmus.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f} %"
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["plural"] = plural
    environment.filters["lang"] = lang_attribute
    return _CONTROL.sub("\ufffd", environment.get_template(template).render(facts))


def label_facts(result, source: Collection, target: Collection) -> dict[str, Any]:
    """Every number and text on the page."""
    shares = class_table(result)
    shift = shift_facts(result)
    threshold = review_threshold(result)
    return {
        "title": "Isthmus: labels of " + (target.name or "the target"),
        "summary": summary_sentences(result, source, target, shares),
        "sources": [collection_facts(docs, role) for docs, role in ((source, "source"), (target, "target"))],
        "shift": shift,
        "shares": shares,
        "check": check_facts(result),
        "pictures": [
            pictures.shares_picture(shares_long(shares)),
            pictures.confidence_picture(confidence_table(result), threshold),
        ],
        **decision_facts(result.decision),
        "doubtful": documents(result, target, np.argsort(result.confidence, kind="stable")[:_DOUBTFUL]),
        "examples": documents(result, target, sure_examples(result)),
        "bridges": bridge_pictures(result),
        "steps": step_facts(result),
        "review": int(result.needs_review.sum()),
        "stability": tables.stability_table(result),
        "settings": {**result.settings, "method used": result.method},
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def shift_facts(result) -> dict[str, Any]:
    """What separates the two collections: map, shifted words, findings with advice."""
    facts: dict[str, Any] = {"pictures": [], "verdict": None, "findings": [], "sampled": False}
    try:
        points, words = tables.compare_domains(result.source_texts, result.texts)
    except DataError:  # no word is left in either: the findings say it
        points, words = [], []
    if points:
        facts["pictures"].append(pictures.domain_map_picture(points))
    if words:
        facts["pictures"].append(pictures.shifted_words_picture(words))
    rows = tables.sample(len(result.source_texts), _DIAGNOSED), tables.sample(len(result.texts), _DIAGNOSED)
    facts["sampled"] = len(rows[0]) < len(result.source_texts) or len(rows[1]) < len(result.texts)
    measured = measure_shift(
        [result.source_texts[i] for i in rows[0]],
        [result.source_labels[i] for i in rows[0]],
        [result.texts[i] for i in rows[1]],
    )
    facts.update(verdict=measured["verdict"], findings=measured["findings"], severities=SEVERITIES)
    return facts


def bridge_pictures(result) -> list[dict]:
    """What carried the labels across, for the methods that say so."""
    members = list(result.model.members.values()) if hasattr(result.model, "members") else [result.model]
    for pipeline in members:
        model = pipeline.steps[-1][1]
        if isinstance(model, CoClusteringClassifier) and len(pipeline.steps) > 1:
            rows = cluster_table(model, pipeline[:-1].get_feature_names_out(), top=8, clusters=_CLUSTERS)
            forms = surface_forms(pipeline.steps[0][1], [*result.source_texts, *result.texts])
            for row in rows:
                row["words"] = list(dict.fromkeys(readable(str(word), forms) for word in row["words"]))
            return [pictures.clusters_picture(rows)] if rows else []
    return []


def leading_method(result) -> tuple[str, Any]:
    """Name and pipeline of the method that made the labels; where several voted, of the one with the largest weight."""
    if not hasattr(result.model, "members"):
        return result.method, result.model
    name = max(result.model.weights, key=result.model.weights.get)
    return name, result.model.members[name]


# What a method's record counts, and how it says that it is done.
_MEASURES = {
    "trained_on": "documents trained on",
    "added": "documents added",
    "changed": "labels changed",
    "mean_share": "mean share of the winning class",
}
_ENDINGS = {
    "converged": "it converged",
    "tol": "it converged",
    "no_change": "no label changed any more",
    "max_iter": "it reached its limit of iterations",
    "rounds_done": "all rounds were done",
    "one_pass": "one pass is all it takes",
    "fitted": "one fit is all it takes",
    "closed_form": "one fit is all it takes",
    "solved": "all its problems were solved",
}


def step_facts(result) -> dict[str, Any]:
    """How the method came to its end."""
    name, pipeline = leading_method(result)
    history = getattr(pipeline, "history_", None) or []
    record = getattr(pipeline.steps[-1][1], "history_measure", "objective")
    curves = {
        _MEASURES.get(measure, record if measure == "objective" else measure): table
        for measure, table in tables.convergence_tables(history).items()
        if len(table) > 1
    }
    n_iter = getattr(pipeline, "n_iter_", None)
    ending = str(getattr(pipeline, "termination_condition_", ""))
    sentence = ""
    if n_iter:
        sentence = f"{name}: {n_iter:,} {'iteration' if n_iter == 1 else 'iterations'}"
        sentence += f"; {_ENDINGS.get(ending, ending.replace('_', ' '))}." if ending else "."
    return {
        "pictures": [step_picture(measure, table, n_iter) for measure, table in list(curves.items())[:_CURVES]],
        "sentence": sentence,
    }


def step_picture(measure: str, table: list[dict], n_iter: int | None) -> dict[str, Any]:
    """A measure along the record, under a readable name."""
    old = next(key for key in table[0] if key != "step")
    note = ""
    if n_iter and len(table) > n_iter + 1:
        note = f"{len(table):,} entries for {n_iter:,} iterations: the record has one for every part of an iteration."
    return pictures.convergence_picture(measure, [{"step": row["step"], measure: row[old]} for row in table], note=note)


def review_threshold(result) -> float | None:
    """The lowest confidence that is accepted without review."""
    accepted = result.confidence[~result.needs_review]
    return float(accepted.min()) if len(accepted) else None


def class_table(result) -> list[dict]:
    """Per class: documents in source and target, estimated share, mean confidence, how many to review."""
    estimates = estimate_shares(result.probabilities, result.labels, result.classes)
    source = Counter(str(name) for name in result.source_labels if name is not None)
    total = max(1, sum(source.values()))
    rows = []
    for name, estimate in zip(result.classes.tolist(), estimates, strict=True):
        chosen = result.labels == name
        rows.append(
            {
                "class": str(name),
                "source": source[str(name)],
                "source_share": source[str(name)] / total,
                "target": int(chosen.sum()),
                "target_share": float(chosen.mean()),
                "estimated_share": estimate["estimate"],
                "confidence": float(result.confidence[chosen].mean()) if chosen.any() else None,
                "review": int(result.needs_review[chosen].sum()),
            }
        )
    return rows


def check_facts(result) -> dict[str, Any]:
    """How many documents, labelled at random, tell the accuracy."""
    population = len(result.texts)
    n = sample_size(_MARGIN, accuracy=result.expected_accuracy, population=population)
    return {"points": round(100 * _MARGIN), "n": n, "all": n == population}


def shares_long(shares: list[dict]) -> list[dict]:
    """The table of classes, one row per bar."""
    return [
        {"class": row["class"], "collection": side, "share": round(row[f"{side}_share"], 4)}
        for row in shares
        for side in ("source", "target")
    ]


def confidence_table(result) -> list[dict]:
    """Counts of documents by confidence, accepted and to be reviewed."""
    edges = np.linspace(0, 1, _BINS + 1)
    place = np.clip(np.digitize(result.confidence, edges) - 1, 0, _BINS - 1)
    return [
        {
            "low": round(float(edges[i]), 2),
            "high": round(float(edges[i + 1]), 2),
            "reading": reading,
            "documents": int(np.sum((place == i) & mask)),
        }
        for i in range(int(place.min()), _BINS)
        for reading, mask in (("accepted", ~result.needs_review), ("to review", result.needs_review))
    ]


def summary_sentences(result, source: Collection, target: Collection, shares: list[dict]) -> list[str]:
    """The result in five sentences."""
    largest = max(shares, key=lambda row: row["target"])
    return [
        f"{plural(len(target), 'document')} of {target.name} {'was' if len(target) == 1 else 'were'} labelled with the "
        f"{len(result.classes)} classes of {plural(len(source), 'document')} of {source.name}.",
        f"The method was {result.method}: {why_this_method(result.decision)}.",
        trust_sentence(result),
        f"The largest class is {largest['class']} with {plural(largest['target'], 'document')} "
        f"({100 * largest['target_share']:.0f} %); {moved_share(shares)}.",
        review_sentence(result),
    ]


def moved_share(shares: list[dict]) -> str:
    """Which class's share differs most between source and target, if any does."""
    moved = max(shares, key=lambda row: abs(row["target_share"] - row["source_share"]))
    if abs(moved["target_share"] - moved["source_share"]) < _SAME_SHARE:
        return "all shares are about the same as in the source"
    return (
        f"the share that moved most is that of {moved['class']}, from {100 * moved['source_share']:.0f} % in the "
        f"source to {100 * moved['target_share']:.0f} % in the target"
    )


def trust_sentence(result) -> str:
    """What accuracy to expect, where it was estimated."""
    expected = result.expected_accuracy
    if expected is None or expected.estimate is None:
        return (
            f"The labels have a mean confidence of {result.confidence.mean():.2f} by the method's own account; what "
            "share of them is right was not estimated."
        )
    return (
        f"About {100 * expected.estimate:.0f} % of the labels can be expected to be right ({100 * expected.low:.0f} to "
        f"{100 * expected.high:.0f} % in {100 * expected.confidence_level:.0f} % of cases), judged without true labels."
    )


def review_sentence(result) -> str:
    """How many documents to read, and what that buys."""
    review = int(result.needs_review.sum())
    budget = f"at most {100 * result.settings.get('error_budget', 0.1):.0f} %"
    if not review:
        return f"No document needs to be read by a person: by the method's own confidence, {budget} are wrong."
    if review == len(result.needs_review):
        everything = "The document" if review == 1 else f"All {review:,} documents"
        return f"{everything} should be read by a person: the method is not sure enough of any label."
    return (
        f"{plural(review, 'document')} should be read by a person, so that of the others, by the method's own "
        f"confidence, {budget} are wrong."
    )


def collection_facts(docs: Collection, role: str) -> dict[str, Any]:
    """What was read, and what looked odd."""
    lengths = np.array([len(text) for text in docs.texts])
    return {
        "role": role,
        "name": docs.name,
        "documents": len(docs),
        "median_length": int(np.median(lengths)),
        "longest": int(lengths.max()),
        "notes": docs.notes,
        "encoding": docs.encoding,
        "unlabelled": sum(label is None for label in docs.labels) if docs.has_labels else 0,
        "checks": [finding["message"] for finding in docs.checks()],
        "sha256": docs.sha256,
    }
