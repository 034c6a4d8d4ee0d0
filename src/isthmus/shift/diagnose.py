"""Compare two collections with all measures of this package and report one table of findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.content import content_order, label_ranks
from isthmus._math.fitted import fitted
from isthmus._progress import progress
from isthmus._utils import one_blas_thread
from isthmus._validation import check_texts, read_source_labels
from isthmus.features.languages import guess_languages, language_name, resolve_language
from isthmus.features.weights import weigh_tfidf
from isthmus.shift import bridges, findings
from isthmus.shift.doubt import doubt_labels
from isthmus.shift.duplicates import near_duplicates
from isthmus.shift.findings import two_languages
from isthmus.shift.groups import group_facts
from isthmus.shift.novelty import Novelty, compare_pair, find_novel_groups, simulate_on_source
from isthmus.shift.vocabulary import JointCounts, count_joint, proxy_a_distance, vocabulary_overlap, word_divergence

# Fitted constants; ``choose/trust.json`` states their units and origin.
NOVELTY = fitted("novelty")

LEVELS = ("same", "small-shift", "shift", "no-transfer")
_VERDICTS = (
    "Same domain: an ordinary classifier will do.",
    "Small shift: an ordinary classifier will mostly do; compare it with a method that adapts, and check a sample.",
    "Real shift, transferable: use a method that adapts, and review.",
    "Do not transfer",
)
_NO_CLASSES = "the labels name fewer than two classes"
_NOT_IN_SOURCE = "the source's own labels cannot be told apart by their words"
_NOT_IN_TARGET = "what tells the classes apart is not in the target"
SEVERITIES = ("fine", "worth a look", "caution", "do not transfer")
_BY_WORDS = ("vocabulary", "what carries over")  # topics that depend on words only
# Rows of each table in the result.
_TABLE_ROWS = 50
_SAMPLE = 2_000  # documents sampled from each side for the search for groups that fit no class
# Steps that the progress bar shows.
_STEPS = 6


@one_blas_thread()
def measure_shift(
    source_texts: Sequence[str],
    source_labels: Sequence,
    target_texts: Sequence[str],
    *,
    random_state: int | None = 0,
    language: str = "auto",
    vectors: bool = False,
) -> dict[str, Any]:
    """Compare two collections and return the content of :func:`isthmus.diagnose` as a dictionary.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    source_labels : sequence
        One label per source text; None for an unlabelled text.
    random_state : int or None
        Seed for folds, samples and halves.
    language : str
        Language of the texts; "auto" detects it.
    vectors : bool
        Whether the labels are also transferred by text vectors. Findings about words then cannot forbid a transfer
        between two languages.

    Returns
    -------
    dict
        ``verdict`` (sentence), ``level`` (one of ``LEVELS``), ``findings`` (list of dict, most severe first),
        ``tables`` (dict of lists) and ``settings``.
    """
    source_texts = check_texts(source_texts, "source_texts", fill=True)
    target_texts = check_texts(target_texts, "target_texts", fill=True)
    values, known = read_source_labels(source_labels, len(source_texts))
    # Folds, samples and halves are drawn from rows sorted by content, so that the order of the input does not matter.
    # Row numbers in tables refer to the caller's order.
    orders = content_order(source_texts, label_ranks(values, known)), content_order(target_texts)
    source_texts, target_texts = [source_texts[i] for i in orders[0]], [target_texts[i] for i in orders[1]]
    values, known = values[orders[0]], known[orders[0]]
    given = resolve_language(language)
    told = given in ("auto", "other")
    languages = [
        guess_languages(texts, in_order=True) if told else {given: 1.0} for texts in (source_texts, target_texts)
    ]
    counts = count_joint(source_texts, target_texts, language=given)
    progress("comparing the collections", 1, _STEPS)
    rows, tables = _compare(counts, languages, int(known.sum()), random_state, vectors)
    for repeat in tables["near_duplicates"]:
        repeat["target"], repeat["source"] = int(orders[1][repeat["target"]]), int(orders[0][repeat["source"]])
    progress("comparing the collections", 3, _STEPS)
    classes, codes = np.unique(values[known], return_inverse=True) if known.any() else (np.zeros(0), np.zeros(0, int))
    labelled, label_tables = _judge_labels(counts, np.flatnonzero(known), codes, classes, random_state)
    rows += labelled
    tables |= label_tables
    for doubtful in tables.get("doubtful_labels", ()):
        doubtful["document"] = int(orders[0][doubtful["document"]]) + 1
    progress("comparing the collections", _STEPS, _STEPS)
    if vectors and two_languages(source_texts, target_texts, in_order=True):
        rows = [{**row, "severity": min(row["severity"], 2)} if row["topic"] in _BY_WORDS else row for row in rows]
    rows.sort(key=lambda row: -row["severity"])
    level = max((row["severity"] for row in rows if row["topic"] in findings.TRANSFER), default=0)
    if level == 3:
        findings.withhold_methods(rows)
    return {
        "verdict": _verdict(level, rows, languages),
        "level": LEVELS[level],
        "findings": rows,
        # The table of uncertain source labels is a work list, so it is not truncated.
        "tables": {name: table if name == "doubtful_labels" else table[:_TABLE_ROWS] for name, table in tables.items()},
        "settings": {"random_state": random_state, "language": language},
    }


def _compare(counts: JointCounts, languages, n_labelled: int, random_state, vectors: bool) -> tuple[list[dict], dict]:
    """Return the findings that need no label, and their tables."""
    source, target = counts.source, counts.target
    overlap = vocabulary_overlap(source, target)
    # The overlap between random halves of the source shows which overlap to expect without any shift.
    order = np.random.default_rng(random_state).permutation(source.shape[0])
    cut = len(order) // 2
    halves = vocabulary_overlap(source[order[:cut]], source[order[cut:]])["tokens_known"] if cut else 1.0
    empty = int(np.sum(np.diff(target.indptr) == 0))
    only, unknown = _target_only(counts)
    repeats = near_duplicates(counts.source_tokens, counts.target_tokens)
    progress("comparing the collections", 2, _STEPS)
    rows = [
        findings.size_finding(source.shape[0], n_labelled, target.shape[0], empty),
        findings.language_finding(languages[0], languages[1], overlap["tokens_known"], vectors),
        findings.vocabulary_finding(overlap, halves),
        findings.distance_finding(proxy_a_distance(source, target, random_state=random_state)),
        findings.divergence_finding(word_divergence(source, target, random_state=random_state)),
        findings.target_only_finding(only, unknown),
        findings.duplicate_finding(repeats, target.shape[0]),
    ]
    return rows, {"target_only_words": only, "near_duplicates": repeats}


def _target_only(counts: JointCounts) -> tuple[list[dict], float]:
    """Return words in at least two target documents and no source document, and their share of the running words."""
    uses = np.asarray(counts.target.sum(axis=0)).ravel()
    unknown = counts.source_df == 0
    share = float(uses[unknown].sum() / uses.sum()) if uses.sum() else 0.0
    frequency = counts.target_df
    columns = np.flatnonzero(unknown & (frequency >= 2))
    columns = columns[np.argsort(-frequency[columns], kind="stable")][:_TABLE_ROWS]
    return [{"word": str(counts.names[i]), "target": int(frequency[i])} for i in columns], share


def _judge_labels(counts: JointCounts, rows, codes, classes, random_state) -> tuple[list[dict], dict]:
    """Return the findings about classes, and their tables."""
    if len(classes) < 2:
        given = f"name one class, {classes[0]}" if len(classes) else "are all missing"
        sentence = f"The source labels {given}; at least two classes are needed."
        advice = "Check the label column, or label some source documents."
        return [findings.finding(3, "what carries over", sentence, advice, classes=len(classes))], {}
    source, target, names = counts.source[rows], counts.target, counts.names
    shared = bool(np.any((counts.source_df > 0) & (counts.target_df > 0)))
    carried = bridges.vocabulary_transfer(source, codes, target, random_state=random_state)
    progress("comparing the collections", 4, _STEPS)
    pivots = bridges.pivot_table(source, codes, target, names, classes)
    moved = (
        bridges.class_shifted_words(source, codes, target, names, classes, random_state=random_state) if shared else []
    )
    # If few class-specific words occur in the target, an estimate of its class proportions would be noise.
    useful = carried is not None and carried.share >= findings.LIMITS["carried"][2]
    shares = bridges.predicted_shares(source, codes, target, len(classes)) if useful else None
    progress("comparing the collections", 5, _STEPS)
    found = [
        findings.carrying_finding(carried, target.shape[0]),
        findings.balance_finding(classes, np.bincount(codes, minlength=len(classes)), shares),
        findings.pivot_finding(pivots),
        findings.moved_finding(moved),
        findings.group_finding(group_facts(source, codes, target, len(classes), random_state=random_state)),
    ]
    novelty = Novelty([], np.array([]))
    simulated = None
    if useful:
        novelty, simulated = _novelty(source, classes[codes], target, names, random_state)
    found.append(findings.novelty_finding(novelty, simulated))
    learnable = carried is not None and carried.above_chance
    doubt = doubt_labels(source, codes, len(classes), random_state=random_state) if learnable else None
    found.append(findings.doubt_finding(doubt))
    tables = {
        "pivots": pivots,
        "class_shifted_words": moved,
        "new_groups": [g.to_dict() for g in novelty.groups],
        "doubtful_labels": []
        if doubt is None
        else [
            {
                "document": rows[row],
                "label": str(classes[codes[row]]),
                "suggested": str(classes[suggested]),
                "support": round(float(doubt.support[row]), 4),
                # The words that support the label, and those that support the suggested class.
                **{side: ", ".join(map(str, names[columns])) for side, columns in evidence.items()},
            }
            for row, suggested, evidence in zip(doubt.rows, doubt.suggested, doubt.evidence, strict=True)
        ],
    }
    return found, tables


def _novelty(source, labels, target, names, random_state) -> tuple[Novelty, dict[str, float] | None]:
    """Search a sample for groups that fit no class, and estimate on the source how well the search works."""
    rng = np.random.default_rng(random_state)
    rows = [np.sort(rng.permutation(side.shape[0])[:_SAMPLE]) for side in (source, target)]
    sides = source[rows[0]], target[rows[1]]
    if min(side.shape[0] for side in sides) < NOVELTY["fewest"]:
        return Novelty([], np.array([])), None
    weighed = weigh_tfidf(sp.vstack(sides).tocsr(), sublinear=True)
    cut = sides[0].shape[0]
    own = np.asarray(labels)[rows[0]]
    pair = compare_pair(weighed[:cut], own, weighed[cut:], random_state=random_state)
    novelty = find_novel_groups(pair, weighed[cut:], names, random_state=random_state)
    return novelty, simulate_on_source(weighed[:cut], own, names, random_state=random_state)


def _verdict(level: int, rows: list[dict], languages: list[dict[str, float]]) -> str:
    few = next(row for row in rows if row["topic"] == "sizes")["severity"] > 0
    caveat = " With so few documents this is a rough guess." if few else ""
    if level < 3:
        return _VERDICTS[level] + caveat
    reasons = []
    for row in rows:
        if row["severity"] < 3:
            continue
        if row["topic"] == "languages":
            main = [language_name(next(iter(shares), "no letters")) for shares in languages]
            reasons.append(f"different languages ({', '.join(main)})" if all(languages) else "no text on one side")
        elif row["topic"] == "vocabulary":
            shared = row["values"]["shared_types"]
            reasons.append("next to no shared words" if shared else "no shared words")
        elif row["topic"] == "what carries over":
            carries = {True: _NOT_IN_TARGET, False: _NOT_IN_SOURCE}
            reasons.append(carries.get(row["values"].get("separable"), _NO_CLASSES))
    if reasons == [_NO_CLASSES]:
        caveat = ""  # this reason is exact even with few documents
    if len(reasons) > 1 and "shared words" in " ".join(reasons):
        # Missing words already imply that the words of the classes are missing.
        reasons = [reason for reason in reasons if reason != _NOT_IN_TARGET]
    return f"{_VERDICTS[3]}: {', '.join(reasons)}." + caveat
