"""The report: numbers in a plain dict → template → one HTML file that needs no network."""

from __future__ import annotations

import platform
from collections import Counter
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.choose import estimate_shares, sample_size
from isthmus.corpus import Collection, check_output, replacing
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.report import pictures, tables
from isthmus.shift.diagnose import SEVERITIES, diagnose

_DOUBTFUL = 25
_EXAMPLES_PER_CLASS = 2
_TERMS = 6
_EXCERPT = 400
_BINS = 20
_CLUSTERS = 16
_CURVES = 3
_MARGIN = 0.05  # how exactly the accuracy should be known, in the invitation to check
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
        Where the texts came from; made from the result's texts when left out.
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
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError(
            "A report needs jinja2; install it with: pip install 'isthmus[app]'", code="missing-extra"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isthmus.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f} %"
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment.get_template(template).render(facts)


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
        "stability": tables.stability_table(result),
        "settings": {**result.settings, "method used": result.method},
        "versions": _versions(),
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
    found = diagnose(
        [result.source_texts[i] for i in rows[0]],
        [result.source_labels[i] for i in rows[0]],
        [result.texts[i] for i in rows[1]],
    )
    facts.update(verdict=found.verdict, findings=found.findings, severities=SEVERITIES)
    return facts


def decision_facts(decision: list[dict]) -> dict[str, Any]:
    """The candidates as a table with whatever evidence they carry, and a chart where they were measured."""
    extra = [
        name
        for name in dict.fromkeys(key for row in decision for key in row)
        if name not in ("method", "chosen", "why") and all(_is_scalar(row.get(name)) for row in decision)
    ]
    rows = [
        {
            "method": row["method"],
            "taken": "yes" if row["chosen"] else "no",
            **{name: pictures._cell(row.get(name)) for name in extra},
            "why": row.get("why", ""),
        }
        for row in decision
    ]
    facts: dict[str, Any] = {"decision": rows, "decision_pictures": []}
    measured = [name for name in extra if all(_is_number(row.get(name)) for row in decision)]
    if len(decision) > 1 and measured:
        measure = "score" if "score" in measured else measured[0]
        drawn = [
            {"method": row["method"], measure: float(row[measure]), "taken": "yes" if row["chosen"] else "no"}
            for row in decision
        ]
        facts["decision_pictures"] = [pictures.decision_picture(drawn, measure)]
    return facts


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool)) or _is_number(value)


def bridge_pictures(result) -> list[dict]:
    """What carried the labels across, for the methods that say so."""
    pipeline = leading_pipeline(result)
    model = pipeline.steps[-1][1]
    if type(model).__name__ != "CoClusteringClassifier" or len(pipeline.steps) < 2:
        return []
    from isthmus.explain.cocc import cluster_table

    rows = cluster_table(model, pipeline[:-1].get_feature_names_out(), top=8, clusters=_CLUSTERS)
    return [pictures.clusters_picture(rows)] if rows else []


def leading_pipeline(result):
    """The pipeline that made the labels; where several voted, the one with the largest weight."""
    if not hasattr(result.model, "members"):
        return result.model
    return result.model.members[max(result.model.weights, key=result.model.weights.get)]


def step_facts(result) -> dict[str, Any]:
    """How the method came to its end."""
    pipeline = leading_pipeline(result)
    history = getattr(pipeline, "history_", None) or []
    drawn = [
        pictures.convergence_picture(name, table)
        for name, table in tables.convergence_tables(history).items()
        if len(table) > 1
    ]
    return {
        "pictures": drawn[:_CURVES],
        "n_iter": getattr(pipeline, "n_iter_", None),
        "condition": str(getattr(pipeline, "termination_condition_", "")).replace("_", " "),
    }


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
    moved = max(shares, key=lambda row: abs(row["target_share"] - row["source_share"]))
    review = int(result.needs_review.sum())
    budget = result.settings.get("error_budget", 0.1)
    why = next(row["why"] for row in result.decision if row["chosen"])
    return [
        f"{len(target):,} documents of {target.name} were labelled with the {len(result.classes)} classes of "
        f"{len(source):,} documents of {source.name}.",
        f"The method was {result.method} ({why}).",
        f"The largest class is {largest['class']} with {largest['target']:,} documents "
        f"({100 * largest['target_share']:.0f} %).",
        f"The share that moved most is that of {moved['class']}: {100 * moved['source_share']:.0f} % in the source, "
        f"{100 * moved['target_share']:.0f} % in the target.",
        f"{review:,} documents should be read by a person, so that of the others, by the method's own confidence, at "
        f"most {100 * budget:.0f} % are wrong.",
    ]


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
        "checks": [finding["message"] for finding in docs.checks()],
        "sha256": docs.sha256,
    }


def sure_examples(result) -> np.ndarray:
    """The surest documents of each class."""
    chosen = []
    for name in result.classes:
        rows = np.flatnonzero(result.labels == name)
        chosen.extend(rows[np.argsort(-result.confidence[rows], kind="stable")[:_EXAMPLES_PER_CLASS]])
    return np.array(chosen, dtype=int)


def documents(result, target: Collection, rows: np.ndarray) -> list[dict]:
    """Texts with their labels and the terms that decided them."""
    found = []
    for i in rows.tolist():
        text = result.texts[i]
        label = result.labels[i]
        try:
            terms = [row for row in result.reasons(i, top=_TERMS) if row["class"] == label]
        except UsageError:  # a method without an account of its labels
            terms = []
        found.append(
            {
                "id": target.ids[i],
                "text": text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…",
                "label": str(label),
                "confidence": float(result.confidence[i]),
                "terms": [row for row in terms if row["contribution"]],
            }
        )
    return found


def _versions() -> dict[str, str]:
    names = ("isthmus", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}
