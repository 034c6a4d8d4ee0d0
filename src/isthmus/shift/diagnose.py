"""``isthmus.diagnose``: what separates two collections, and what to do about it."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.base import check_texts, progress, read_labels
from isthmus.exceptions import DataError, MissingExtraError
from isthmus.shift import bridges, findings
from isthmus.shift.distance import proxy_a_distance
from isthmus.shift.duplicates import near_duplicates
from isthmus.shift.groups import group_facts
from isthmus.shift.languages import guess_languages, is_english, language_name
from isthmus.shift.vocabulary import JointCounts, count_joint, vocabulary_overlap, word_divergence

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
SEVERITIES = ("fine", "worth a look", "take care", "do not transfer")
_TABLE_ROWS = 50
_STEPS = 6


@dataclass
class Diagnosis:
    """What separates two collections.

    Attributes
    ----------
    verdict : str
        The outcome in a sentence.
    level : {"same", "small-shift", "shift", "no-transfer"}
        The outcome in a word.
    findings : list of dict
        ``severity`` (0 fine to 3 do not transfer), ``topic``, ``finding``, ``advice``, ``values``; gravest first.
    tables : dict of str to list of dict
        ``pivots``, ``moved_words``, ``target_only_words``, ``near_duplicates``; at most 50 rows each.
    settings : dict
    """

    verdict: str
    level: str
    findings: list[dict]
    tables: dict[str, list[dict]] = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[dict]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, topic: str) -> dict:
        """The finding about a topic."""
        for row in self.findings:
            if row["topic"] == topic:
                return row
        raise KeyError(topic)

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for row in self.findings:
            lines.append(f"[{SEVERITIES[row['severity']]}] {row['topic']}")
            lines += textwrap.wrap(row["finding"], 100, initial_indent="  ", subsequent_indent="  ")
            lines += textwrap.wrap(row["advice"], 100, initial_indent="  → ", subsequent_indent="    ")
        return "\n".join(lines)

    def columns(self) -> dict[str, list]:
        """The findings as columns: severity, topic, finding, advice."""
        return {name: [row[name] for row in self.findings] for name in ("severity", "topic", "finding", "advice")}

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain values, ready for JSON (what could not be measured is None)."""
        return _plain(
            {
                "verdict": self.verdict,
                "level": self.level,
                "findings": self.findings,
                "tables": self.tables,
                "settings": self.settings,
            }
        )

    def to_frame(self):
        """The findings as a polars data frame (extra ``app``)."""
        try:
            polars = importlib.import_module("polars")
        except ImportError:
            raise MissingExtraError(
                "to_frame() needs polars; install it with: pip install 'isthmus[app]'", code="missing-extra"
            ) from None
        return polars.DataFrame(self.columns())

    def report(self, path, *, force: bool = False) -> Path:
        """Write one self-contained HTML page about this diagnosis; returns its path."""
        # By name: this room lies below the report, which draws what it is given.
        return importlib.import_module("isthmus.report.diagnosis").write_diagnosis_report(self, path, force=force)


def diagnose(
    source_texts: Sequence[str],
    source_labels: Sequence,
    target_texts: Sequence[str],
    *,
    random_state: int | None = 0,
) -> Diagnosis:
    """Say what separates two collections and whether labels can travel, without any target label.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : sequence
        One label per source text; None where unknown.
    random_state : int, default=0
        Same seed, same answer: folds, samples of large collections, thinning.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import isthmus
    >>> source = ["the staff was kind", "the bike is great", "polite staff in the shop", "this is a fast bike"] * 30
    >>> target = ["el personal fue amable con nosotros", "la moto es muy buena y no es cara"] * 60
    >>> result = isthmus.diagnose(source, ["staff", "product"] * 60, target)
    >>> result.verdict
    'Do not transfer: different languages (English, Spanish), no shared words.'
    >>> print(result["languages"]["finding"])
    Source: English 100 %; target: Spanish 100 %.
    """
    source_texts, target_texts = check_texts(source_texts), check_texts(target_texts)
    values, known = read_labels(list(source_labels))
    if len(values) != len(source_texts):
        raise DataError(
            f"There are {len(source_texts)} source texts and {len(values)} labels; give one label per text.",
            code="length-mismatch",
        )
    languages = [guess_languages(texts) for texts in (source_texts, target_texts)]
    english = all(is_english(*pair) for pair in zip(languages, (source_texts, target_texts), strict=True))
    counts = count_joint(source_texts, target_texts, english=english)
    progress("diagnosing", 1, _STEPS)
    rows, tables = _compare(counts, languages, int(known.sum()), random_state)
    progress("diagnosing", 3, _STEPS)
    classes, codes = np.unique(values[known], return_inverse=True) if known.any() else (np.zeros(0), np.zeros(0, int))
    labelled, label_tables = _judge_labels(counts, np.flatnonzero(known), codes, classes, random_state)
    rows += labelled
    tables |= label_tables
    progress("diagnosing", _STEPS, _STEPS)
    rows.sort(key=lambda row: -row["severity"])
    level = max((row["severity"] for row in rows if row["topic"] in findings.TRANSFER), default=0)
    if level == 3:
        findings.withhold_methods(rows)
    return Diagnosis(
        verdict=_verdict(level, rows, languages),
        level=LEVELS[level],
        findings=rows,
        tables={name: table[:_TABLE_ROWS] for name, table in tables.items()},
        settings={"random_state": random_state, "english_words": english},
    )


def _compare(counts: JointCounts, languages, n_labelled: int, random_state) -> tuple[list[dict], dict]:
    """Findings for which no label is needed."""
    source, target = counts.source, counts.target
    overlap = vocabulary_overlap(source, target)
    order = np.random.default_rng(random_state).permutation(source.shape[0])
    cut = len(order) // 2
    halves = vocabulary_overlap(source[order[:cut]], source[order[cut:]])["tokens_known"] if cut else 1.0
    empty = int(np.sum(np.diff(target.indptr) == 0))
    only, unknown = _target_only(counts)
    repeats = near_duplicates(counts.source_tokens, counts.target_tokens)
    progress("diagnosing", 2, _STEPS)
    rows = [
        findings.size_finding(source.shape[0], n_labelled, target.shape[0], empty),
        findings.language_finding(*languages, overlap["tokens_known"]),
        findings.vocabulary_finding(overlap, halves),
        findings.distance_finding(proxy_a_distance(source, target, random_state=random_state)),
        findings.divergence_finding(word_divergence(source, target, random_state=random_state)),
        findings.target_only_finding(only, unknown),
        findings.duplicate_finding(repeats, target.shape[0]),
    ]
    return rows, {"target_only_words": only, "near_duplicates": repeats}


def _target_only(counts: JointCounts) -> tuple[list[dict], float]:
    """Words in two or more target documents and in none of the source, and their share of the running words."""
    uses = np.asarray(counts.target.sum(axis=0)).ravel()
    unknown = counts.source_df == 0
    share = float(uses[unknown].sum() / uses.sum()) if uses.sum() else 0.0
    frequency = counts.target_df
    columns = np.flatnonzero(unknown & (frequency >= 2))
    columns = columns[np.argsort(-frequency[columns], kind="stable")][:_TABLE_ROWS]
    return [{"word": str(counts.names[i]), "target": int(frequency[i])} for i in columns], share


def _judge_labels(counts: JointCounts, rows, codes, classes, random_state) -> tuple[list[dict], dict]:
    """Findings about classes: balance, what carries over, pivots, words that moved, groups."""
    if len(classes) < 2:
        given = f"name one class, {classes[0]}" if len(classes) else "are all missing"
        sentence = f"The source labels {given}; at least two classes are needed."
        advice = "Check the label column, or label some source documents."
        return [findings.finding(3, "what carries over", sentence, advice, classes=len(classes))], {}
    source, target, names = counts.source[rows], counts.target, counts.names
    shared = bool(np.any((counts.source_df > 0) & (counts.target_df > 0)))
    carried = bridges.carrying(source, codes, target, random_state=random_state)
    progress("diagnosing", 4, _STEPS)
    pivots = bridges.pivot_table(source, codes, target, names, classes)
    moved = bridges.moved_words(source, codes, target, names, classes, random_state=random_state) if shared else []
    # Where nothing carries over, a guess of the target's shares would be noise.
    useful = carried is not None and carried.share >= findings.CARRIED[2]
    shares = bridges.predicted_shares(source, codes, target, len(classes)) if useful else None
    progress("diagnosing", 5, _STEPS)
    found = [
        findings.carrying_finding(carried, target.shape[0]),
        findings.balance_finding(classes, np.bincount(codes, minlength=len(classes)), shares),
        findings.pivot_finding(pivots),
        findings.moved_finding(moved),
        findings.group_finding(group_facts(source, codes, target, len(classes), random_state=random_state)),
    ]
    return found, {"pivots": pivots, "moved_words": moved}


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
            reasons.append(_why_nothing_carries(row["values"]))
    if reasons == [_NO_CLASSES]:
        caveat = ""  # counted, not guessed
    if len(reasons) > 1 and "shared words" in " ".join(reasons):
        reasons = [reason for reason in reasons if reason != _NOT_IN_TARGET]
    return f"{_VERDICTS[3]}: {', '.join(reasons)}." + caveat


def _why_nothing_carries(values: dict[str, Any]) -> str:
    if "separable" not in values:
        return _NO_CLASSES
    return _NOT_IN_TARGET if values["separable"] else _NOT_IN_SOURCE


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
