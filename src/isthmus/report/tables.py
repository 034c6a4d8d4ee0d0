"""Tables that only a report needs: where the documents lie, which words moved, how steps went, how firm labels are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.features import TextVectorizer

_POINTS = 600
_SAMPLE = 4_000  # documents of each side from which the pictures of the shift are made
_WORDS = 12
_THINNED = 200


def sample(n: int, size: int, seed: int = 0) -> np.ndarray:
    """Row numbers in order, at most ``size`` of ``n``."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def compare_domains(source_texts: Sequence[str], target_texts: Sequence[str]) -> tuple[list[dict], list[dict]]:
    """Points of a map (two main directions of tf-idf) and the words whose use differs most."""
    source = [source_texts[i] for i in sample(len(source_texts), _SAMPLE)]
    target = [target_texts[i] for i in sample(len(target_texts), _SAMPLE)]
    vectorizer = TextVectorizer(weighting="tfidf", stem=False)
    rows = vectorizer.fit_transform([*source, *target])
    return map_points(rows, len(source)), shifted_words(rows, len(source), vectorizer.get_feature_names_out())


def map_points(rows, n_source: int, *, size: int = _POINTS) -> list[dict]:
    """Documents in two dimensions, half of the points from each side where both are large."""
    from sklearn.decomposition import TruncatedSVD

    if min(rows.shape) < 3:
        return []
    target = rows.shape[0] - n_source
    half = max(size // 2, size - min(n_source, target))
    chosen = np.concatenate([sample(n_source, half), n_source + sample(target, half)])
    svd = TruncatedSVD(2, random_state=0)
    svd.fit(rows)
    places = svd.transform(rows[chosen])
    return [
        {
            "collection": "source" if row < n_source else "target",
            "first": round(float(first), 4),
            "second": round(float(second), 4),
        }
        for row, (first, second) in zip(chosen.tolist(), places, strict=True)
    ]


def shifted_words(rows, n_source: int, names, *, top: int = _WORDS) -> list[dict]:
    """Words by the signed root of the Jensen–Shannon part of their document shares; half from each side.

    The measure asks for words that are both frequent and one-sided, so that neither rare words nor small drifts of
    common ones fill the table.
    """
    present = rows.astype(bool)
    source = np.asarray(present[:n_source].mean(axis=0)).ravel()
    target = np.asarray(present[n_source:].mean(axis=0)).ravel()
    middle = (source + target) / 2

    def part(share):
        return np.where(share > 0, share * np.log(np.where(share > 0, share, 1) / np.where(middle > 0, middle, 1)), 0)

    score = np.sign(target - source) * np.sqrt(np.maximum(part(source) + part(target), 0) / 2)
    order = np.argsort(score, kind="stable")
    chosen = [*order[:top], *order[::-1][:top][::-1]]
    kept = [i for i in dict.fromkeys(int(i) for i in chosen) if abs(score[i]) > 1e-9]
    return [
        {"word": str(names[i]), "source": round(float(source[i]), 4), "target": round(float(target[i]), 4)}
        for i in kept
    ]


def convergence_tables(history: Sequence[Any]) -> dict[str, list[dict]]:
    """A method's record as one table per measure.

    Records are lists of numbers (the objective) or of dicts (several measures); steps where a measure is missing are
    left out, as are measures that are no numbers.

    Examples
    --------
    >>> from isthmus.report.tables import convergence_tables
    >>> convergence_tables([3.0, 2.5])
    {'objective': [{'step': 1, 'objective': 3.0}, {'step': 2, 'objective': 2.5}]}
    >>> list(convergence_tables([{"round": 1, "changed": None, "error": 0.2}, {"changed": 4, "error": 0.1}]))
    ['changed', 'error']
    """
    tables: dict[str, list[dict]] = {}
    for step, entry in enumerate(history, 1):
        measures = entry if isinstance(entry, dict) else {"objective": entry}
        for name, value in measures.items():
            number = not isinstance(value, (bool, np.bool_)) and isinstance(value, (int, float, np.number))
            if name in ("round", "step", "iteration", "time") or not (number or value is None):
                continue
            rows = tables.setdefault(name, [])
            if value is not None and np.isfinite(value):
                rows.append({"step": step, name: float(value)})
    return {name: rows for name, rows in tables.items() if rows}


def stability_table(result, *, size: int = _THINNED, seed: int = 0) -> list[dict]:
    """Per class: the share of labels that stay when half of each document's words are left out.

    A label that rests on one or two words flips easily; no target label is needed to see that.
    """
    rng = np.random.default_rng(seed)
    rows = [i for i in sample(len(result.texts), size, seed).tolist() if len(result.texts[i]) > 1]
    if not rows:
        return []
    thinned = [thin(result.texts[i], rng) for i in rows]
    kept = result.model.predict(thinned) == result.model.predict([result.texts[i] for i in rows])
    labels = result.labels[rows]
    table = [
        {
            "class": str(name),
            "documents": int(np.sum(labels == name)),
            "labels kept": float(kept[labels == name].mean()),
        }
        for name in result.classes
        if np.any(labels == name)
    ]
    return [*table, {"class": "all", "documents": len(rows), "labels kept": float(kept.mean())}]


def thin(text: str, rng: np.random.Generator) -> str:
    """Half of the words, in their order; of the characters where there are no blanks to part words."""
    words = text.split()
    parts, glue = (words, " ") if len(words) > 3 or len(text) < 8 else (list(text), "")
    if len(parts) < 2:
        return text
    return glue.join(parts[i] for i in np.sort(rng.choice(len(parts), (len(parts) + 1) // 2, replace=False)))
