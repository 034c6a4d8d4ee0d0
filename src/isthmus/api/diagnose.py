"""Measure how two collections differ and recommend actions: :func:`isthmus.diagnose`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from isthmus._arguments import checks_arguments, checks_methods
from isthmus._cards import card
from isthmus._progress import shows_progress
from isthmus._utils import import_optional, to_plain
from isthmus.api.frames import takes_frames
from isthmus.shift.diagnose import SEVERITIES, measure_shift
from isthmus.shift.doubt import review_table


@checks_methods
@dataclass(repr=False)
class Diagnosis:
    """Differences between two collections.

    Attributes
    ----------
    verdict : str
        The outcome as a sentence.
    level : {"same", "small-shift", "shift", "no-transfer"}
        The outcome as a word.
    findings : list of dict
        ``severity`` (0 fine to 3 do not transfer), ``topic``, ``finding``, ``advice``, ``values``; most serious first.
    tables : dict of str to list of dict
        ``pivots``, ``class_shifted_words``, ``target_only_words``, ``near_duplicates`` and ``new_groups`` with at most
        50 rows each; and ``doubtful_labels`` with all rows, the most uncertain label first.
    settings : dict

    See Also
    --------
    isthmus.diagnose : Returns it.
    """

    verdict: str
    level: str
    findings: list[dict]
    tables: dict[str, list[dict]] = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[dict]:
        """Iterate over the findings."""
        return iter(self.findings)

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    def __getitem__(self, topic: str) -> dict:
        """Return the finding about a topic."""
        for row in self.findings:
            if row["topic"] == topic:
                return row
        raise KeyError(topic)

    def __repr__(self) -> str:
        """Return a summary with the level and the number of findings."""
        grave = sum(row["severity"] >= 2 for row in self.findings)
        return f"Diagnosis({self.level!r}, {len(self.findings)} findings, {grave} that need care)"

    def _repr_html_(self) -> str:
        found = [(row, f"{SEVERITIES[row['severity']]}: {row['topic']}") for row in self.findings]
        level = "stop" if self.level == "no-transfer" else "care"
        banners = [(level, title, row["finding"]) for row, title in found if row["severity"] > 1]
        facts = [(title, row["finding"]) for row, title in found if row["severity"] == 1]
        return card(self.verdict, facts, about="Diagnosis", banners=banners)

    def __str__(self) -> str:
        """Return the verdict and all findings as text."""
        lines = [self.verdict, ""]
        for row in self.findings:
            lines.append(f"[{SEVERITIES[row['severity']]}] {row['topic']}")
            lines += textwrap.wrap(row["finding"], 100, initial_indent="  ", subsequent_indent="  ")
            lines += textwrap.wrap(row["advice"], 100, initial_indent="  → ", subsequent_indent="    ")
        return "\n".join(lines)

    def columns(self) -> dict[str, list]:
        """Return the findings as columns.

        Returns
        -------
        dict of str to list
            ``severity``, ``topic``, ``finding`` and ``advice``.
        """
        return {name: [row[name] for row in self.findings] for name in ("severity", "topic", "finding", "advice")}

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain values for JSON; values that could not be measured are None.

        Returns
        -------
        dict
        """
        return to_plain(vars(self))

    def to_frame(self):
        """Return the findings as a polars data frame (extra ``app``).

        Returns
        -------
        polars.DataFrame
        """
        return import_optional("polars", "to_frame()").DataFrame(self.columns())

    def review_source(self, source_texts: Sequence[str], ids: Sequence[str] | None = None) -> dict[str, list]:
        """Return the source labels that are probably wrong, as a table to correct.

        Fill in ``true_label`` and give the table to :meth:`isthmus.api.result.LabelResult.teach` as ``source_labels``.

        Parameters
        ----------
        source_texts : sequence of str
        ids : sequence of str, optional
            Names of the texts.

        Returns
        -------
        dict of str to list
            ``document`` (numbered from 1), ``id`` if ``ids`` are given, ``text``, ``label``, ``suggested``, ``support``
            (support for the label, 0 to 1), ``for_label`` and ``for_suggested`` (words that support each),
            ``true_label`` (empty).
        """
        return review_table(self.tables.get("doubtful_labels", []), source_texts, ids)

    def report(self, path: str | PathLike, *, force: bool = False) -> Path:
        """Write one self-contained HTML page about this diagnosis.

        Parameters
        ----------
        path : path of the page
        force : bool, default=False
            Replace an existing page.

        Returns
        -------
        Path
        """
        from isthmus.report.diagnosis import write_diagnosis_report

        return write_diagnosis_report(self, path, force=force)


@shows_progress
@takes_frames
@checks_arguments
def diagnose(
    source_texts: Sequence[str],
    source_labels: Sequence,
    target_texts: Sequence[str],
    *,
    random_state: int | None = 0,
    language: str = "auto",
) -> Diagnosis:
    """Describe how two collections differ and whether labels transfer, without target labels.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : sequence
        One label per source text; None if unknown.
    random_state : int, default=0
        Seed for folds, samples of large collections and thinning.
    language : str, default="auto"
        Language of both collections by code or English name; "auto" identifies it. See
        :class:`isthmus.features.TextVectorizer`.
    text, label, id : str, optional
        Columns of data frames, if two frames are given instead of lists; guessed if omitted. ``text`` may name
        several columns. The id names documents in tables.

    Returns
    -------
    Diagnosis

    See Also
    --------
    isthmus.label : Labels the target.
    isthmus.shift.proxy_a_distance : One of the measures.

    Examples
    --------
    >>> import isthmus
    >>> source = ["the staff was kind", "the bike is great", "polite staff in the shop", "this is a fast bike"] * 30
    >>> target = ["el personal fue amable con nosotros", "la moto es muy buena y no es cara"] * 60
    >>> result = isthmus.diagnose(source, ["staff", "product"] * 60, target)
    >>> result.verdict
    'Do not transfer: different languages (English, Spanish), no shared words.'
    >>> print(result["languages"]["finding"])
    Source: English 100%; target: Spanish 100%.
    """
    measured = measure_shift(source_texts, source_labels, target_texts, random_state=random_state, language=language)
    return Diagnosis(**measured)
