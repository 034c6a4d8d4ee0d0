"""Compute all data of a report as one dictionary of plain values, which page, card and workbench draw."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from isthmus._math.confidence import ExpectedErrors
from isthmus._utils import one_blas_thread, plural, versions
from isthmus.choose import sample_margin
from isthmus.choose.prevalence import value_masks
from isthmus.corpus import Collection
from isthmus.exceptions import UsageError
from isthmus.explain.cocc import cluster_table
from isthmus.explain.terms import term_names
from isthmus.explain.words import WordList, marking_words, word_list
from isthmus.features.embeddings import STATIC
from isthmus.features.term_rows import TermRows
from isthmus.features.tokens import readable, stem_words, surface_forms
from isthmus.feedback.answers import propose_names
from isthmus.options import in_flags
from isthmus.report import figures
from isthmus.report.hero import decision_facts, hero_facts, novel_groups
from isthmus.report.listing import cap_note, excerpt, list_data, runner_up, tint
from isthmus.shift.diagnose import SEVERITIES, measure_shift
from isthmus.shift.space import JointSpace, joint_space, map_places, shifted_words, spread
from isthmus.wording import LOOK, sample_sentence, why_this_method

_READ = 4_000  # documents per collection whose words are counted
_DIAGNOSED = 1_000  # documents per collection for the findings about the shift
_STATIC = 15  # uncertain documents on the printed page and without a script
_QUOTES, _MANY_CLASSES = 2, 8  # quotations per class, and the largest number of classes with so many
_CLUSTERS = 16  # word clusters in a table
_LISTED = 200  # documents in the table below the map
_BINS = 20  # bins of confidence, each 0.05 wide
_CASES = 4  # documents with an explanation of their label
_SLOW = 8_000  # texts of both collections; above, only one label is explained, because explanations take long
_ANSWER_BINS = 5  # bins of confidence with about the same number of answers each
_FEWEST_ANSWERS = 20  # answers; fewer give no useful shares per bin


@one_blas_thread()
def label_summary(
    result,
    source: Collection,
    target: Collection,
    *,
    files: Mapping[str, str] | None = None,
    by: tuple[str, list] | None = None,
) -> dict[str, Any]:
    """Return all data of the page about a label result.

    Parameters
    ----------
    result : LabelResult
        The result.
    source, target : Collection
        Collections with the texts.
    files : mapping of str to str, optional
        Files of this run, for the commands on the page.
    by : (str, list), optional
        Name and values of a column that breaks the labels down.

    Returns
    -------
    dict of str to object
    """
    words = Words(result)
    hero = hero_facts(result, source=source.name or "", target=target.name or "")
    map_ = words.map() if result.source_texts else None  # the map places documents between the classes of the source
    if map_:
        map_["table"] = map_rows(result, target, map_["target"])
    mapped = np.array([point["i"] for point in map_["source"]]) if map_ else None
    return {
        "title": "Isthmus: labels of " + (target.name or "the target"),
        "hero": hero,
        "cards": class_cards(result, words, hero["classes"], target),
        "map": map_,
        "curve": curve_facts(result),
        "bins": confidence_bins(result),
        "listing": list_data(result, target, words.space, words.list, mapped=mapped),
        "agreement": words.list.agreement if words.list else None,
        "cap": cap_note(result),
        "doubtful": doubtful(result, words, target),
        "groups": group_facts(result, words, files),
        "novel": [{**row, "words": words.written(row["words"])} for row in result.novel],
        "check": check_facts(result, files, hero["step"]),
        "taught": taught_facts(result),
        "moved": moved_words(words.space) if result.source_texts else [],
        "bridges": bridge_rows(result),
        "examples": clear_cases(result, target),
        "by": by_facts(result, by),
        "shift": shift_facts(result, by_command=files is not None),
        "why": why_this_method(result.decision),
        **decision_facts(result.decision),
        "steps": step_facts(result),
        **origin_facts({**result.settings, "method used": result.method}, source, target),
    }


class Words:
    """Count the words of both collections once and provide the tables that need the counts.

    Parameters
    ----------
    result : LabelResult
        The result.
    """

    def __init__(self, result):
        """Count the words of a sample of each collection."""
        self.result = result
        self.source = spread(len(result.source_texts), _READ)
        self.target = spread(len(result.texts), _READ)
        self.space: JointSpace | None = joint_space(
            [result.source_texts[i] for i in self.source],
            [result.texts[i] for i in self.target],
            language=known_language(result),
        )
        self.codes = np.searchsorted(result.classes, result.labels[self.target])
        self.list: WordList | None = None
        if self.space is not None:
            self.list = word_list(self.counts, self.codes, self.space.names, len(result.classes))

    @property
    def counts(self):
        """Word counts of the target documents."""
        assert self.space is not None
        return self.space.counts[self.space.n_source :]

    def marking(self, mask: np.ndarray | None = None) -> list[list[str]]:
        """Return the words that are typical of each class.

        Parameters
        ----------
        mask : ndarray of bool, optional
            If given, compare the documents in the mask with all others instead.

        Returns
        -------
        list of list of str
            One list per class; with a mask, one for the others and one for the mask.
        """
        if self.space is None:
            return [[] for _ in range(len(self.result.classes))] if mask is None else [[], []]
        codes = self.codes if mask is None else np.asarray(mask)[self.target].astype(int)
        return marking_words(self.counts, codes, self.space.names, len(self.result.classes) if mask is None else 2)

    def written(self, stems: str) -> str:
        """Replace the stems in the words of a new group by their most frequent written form.

        Parameters
        ----------
        stems : str
            Stems with commas.

        Returns
        -------
        str
        """
        if self.space is None:
            return stems
        order = np.argsort(np.asarray(self.counts.sum(axis=0)).ravel(), kind="stable")
        names = [str(self.space.names[i]) for i in order]
        forms = dict(zip(stem_words(names, known_language(self.result)), names, strict=True))
        return ", ".join(forms.get(stem, stem) for stem in stems.split(", "))

    def tinted(self, i: int, size: int) -> list[tuple[str, str]]:
        """Return the beginning of a document in chunks with their highlights.

        Parameters
        ----------
        i : int
            Row number of the document.
        size : int
            Most characters.

        Returns
        -------
        list of (str, str)
            As :func:`isthmus.report.listing.tint` returns.
        """
        code = int(np.searchsorted(self.result.classes, self.result.labels[i]))
        return tint(excerpt(self.result.texts[i], size), self.list.words if self.list else {}, code)

    def map(self) -> dict[str, Any] | None:
        """Return the map of both collections.

        Returns
        -------
        dict or None
            None if there are too few words for a map.
        """
        result = self.result
        if self.space is None or len(self.space.vectors) < 4:
            return None
        labels = [result.source_labels[i] for i in self.source]
        classes = result.classes.tolist()
        places = map_places(self.space.vectors, labels, classes)
        code = {name: i for i, name in enumerate(classes)}
        shown_source = spread(len(self.source), figures.MAPPED["source"])
        shown_target = spread(len(self.target), figures.MAPPED["target"])
        figure = figures.map_figure(
            places,
            self.space.n_source,
            {"rows": shown_source, "codes": [code.get(labels[i], -1) for i in shown_source]},
            {"rows": shown_target, "codes": self.codes[shown_target]},
        )
        for side, rows in (("source", self.source), ("target", self.target)):
            for point in figure[side]:
                point["i"] = int(rows[point["i"]])
        return figure


def map_rows(result, target: Collection, drawn: list[dict]) -> list[dict[str, str]]:
    """Return the table below the map.

    Parameters
    ----------
    result : LabelResult
        The result.
    target : Collection
        The target.
    drawn : list of dict
        Points of target documents.

    Returns
    -------
    list of dict
    """
    rows = [point["i"] for point in drawn[:_LISTED]]
    return [
        {"id": str(target.ids[i]), "label": str(result.labels[i]), "confidence": f"{result.confidence[i]:.2f}"}
        for i in rows
    ]


def class_cards(result, words: Words, classes: list[dict], target: Collection) -> list[dict[str, Any]]:
    """Return the data of each class: typical words, and quotations of confident and uncertain documents.

    Parameters
    ----------
    result : LabelResult
        The result.
    words : Words
        Counted words.
    classes : list of dict
        As :func:`isthmus.report.hero.class_table` returns.
    target : Collection
        The target.

    Returns
    -------
    list of dict
    """
    marks = words.marking()
    quotes = _QUOTES if len(classes) <= _MANY_CLASSES else 1
    cards = []
    for row, marking in zip(classes, marks, strict=True):
        members = np.flatnonzero(result.labels == result.classes[row["code"]])
        order = members[np.argsort(-result.confidence[members], kind="stable")]
        # Documents that need review are no good examples of a confident label.
        sure = [i for i in order if not result.needs_review[i]][:quotes]
        doubtful = [i for i in order[::-1] if i not in sure][:quotes]
        cards.append(
            {
                **row,
                "description": str(result.descriptions.get(result.classes.tolist()[row["code"]], "")),
                "words": marking,
                "sure": [quote(result, words, target, i) for i in sure],
                "doubtful": [quote(result, words, target, i) for i in doubtful],
            }
        )
    return cards


def quote(result, words: Words, target: Collection, i: int, size: int = 170) -> dict[str, Any]:
    """Return the data of a quoted document.

    Parameters
    ----------
    result : LabelResult
        The result.
    words : Words
        Counted words.
    target : Collection
        The target.
    i : int
        Row number of the document.
    size : int
        Most characters.

    Returns
    -------
    dict
    """
    code = int(np.searchsorted(result.classes, result.labels[i]))
    (second,), (sure,) = runner_up(np.asarray(result.probabilities)[[i]], [code])
    return {
        "i": int(i),
        "id": str(target.ids[i]),
        "label": str(result.labels[i]),
        "colour": code % 8,
        "sure": float(result.confidence[i]),
        "reason": str(result.review_reason[i]),
        "second": str(result.classes[second]) if second != code else "",
        "second_sure": float(sure),
        "text": excerpt(result.texts[i], size),
        "pieces": words.tinted(int(i), size),
    }


def doubtful(result, words: Words, target: Collection) -> list[dict[str, Any]]:
    """Return the documents that most need reading: those marked for review with the lowest confidence.

    Parameters
    ----------
    result : LabelResult
        The result.
    words : Words
        Counted words.
    target : Collection
        The target.

    Returns
    -------
    list of dict
    """
    order = np.lexsort((result.confidence, ~result.needs_review))[:_STATIC]
    return [quote(result, words, target, int(i), 400) for i in order]


def group_facts(result, words: Words, files: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """Return the new groups with their typical words and the command that turns each group into a class.

    Parameters
    ----------
    result : LabelResult
        The result.
    words : Words
        Counted words.
    files : mapping of str to str or None
        Files of this run; None gives Python code instead of a command.

    Returns
    -------
    list of dict
    """
    rows = []
    for number, group in enumerate(novel_groups(result), 1):
        # A placeholder shows users of an unsaved result what to enter.
        saved = shlex.quote((files or {}).get("saved", "SAVED.isthmus"))
        typical = words.written(group["words"])
        # The user replaces the proposed name or the placeholder.
        name = next(iter(propose_names(typical, result.classes)), "NAME")
        line = f"isthmus teach {saved} --name-group {shlex.quote(f'{number}={name}')} -o relabelled.csv"
        if files is None:
            line = f"named = result.name_groups({{'{number}': {name!r}}})"
        marks = words.marking(result.novel_group == group["name"])[1] or typical.split(", ")
        rows.append({**group, "words": marks, "name_it": line})
    return rows


def reading_rows(result) -> list[dict[str, Any]]:
    """Return the expected share of wrong labels in the finished file for different numbers of documents to read.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        ``documents``, ``read`` (share) and ``error``.
    """
    return [
        {"documents": row["documents"], "read": row["reviewed"], "error": row["expected_error"]}
        for row in result.budget_curve(50)
    ]


def curve_facts(result) -> dict[str, Any]:
    """Return the figure and the table of the expected error by reading effort.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict
    """
    rows = reading_rows(result)
    share = float(result.needs_review.mean())
    error = ExpectedErrors.of(result.confidence, result.needs_review).finished_file
    # About ten rows are enough for the table below the figure.
    shown = rows[:: max(1, len(rows) // 10)]
    return {
        "figure": figures.line_figure([(row["read"], row["error"]) for row in rows], mark=(share, error)),
        "rows": shown,
        "share": share,
        "error": error,
    }


def confidence_bins(result) -> list[dict[str, Any]]:
    """Count the accepted documents and the documents to read by confidence.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        One row per bin, from the lowest confidence.
    """
    place = np.clip((np.asarray(result.confidence) * _BINS).astype(int), 0, _BINS - 1)
    counts = {
        kind: np.bincount(place[mask], minlength=_BINS)
        for kind, mask in (("accepted", ~result.needs_review), ("review", result.needs_review))
    }
    most = max(1, int((counts["accepted"] + counts["review"]).max()))
    return [
        {
            "name": f"{i / _BINS:.2f}–{(i + 1) / _BINS:.2f}",
            **{kind: int(counts[kind][i]) for kind in counts},
            **{f"{kind}_length": float(counts[kind][i] / most) for kind in counts},
        }
        for i in range(int(place.min()), _BINS)
    ]


def check_facts(result, files: Mapping[str, str] | None, step: dict[str, Any] | None) -> dict[str, Any]:
    """Return the number of documents that a check needs, and the commands for it.

    Parameters
    ----------
    result : LabelResult
        The result.
    files : mapping of str to str or None
        Files of this run; None gives Python code instead of commands.
    step : dict or None
        Recommended reading, whose sample has the same size.

    Returns
    -------
    dict
    """
    population = len(result.texts)
    n = min(population, step["read"] if step and step["at_random"] else LOOK)
    margin = sample_margin(n, accuracy=result.expected_accuracy, population=population)
    facts: dict[str, Any] = {"n": n, "sentence": sample_sentence(n, population, margin)}
    if files is None:
        facts["check"] = [
            f"sample = result.sample({n})  # fill in sample['true_label']",
            "print(result.check(sample))",
        ]
        facts["teach"] = ['better = result.teach("corrections.csv")']
        return facts
    saved = files.get("saved")
    labelled = shlex.quote(saved or files.get("table") or "LABELLED.csv")
    facts["check"] = [
        f"isthmus check {labelled} --sample {n} -o to_check.csv",
        f"isthmus check {labelled} to_check.csv",
    ]
    facts["teach"] = [f"isthmus teach {shlex.quote(saved or 'SAVED.isthmus')} corrections.csv -o relabelled.csv"]
    facts["unsaved"] = saved is None
    return facts


def taught_facts(result) -> dict[str, Any] | None:
    """Return the data about answers and their effect.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict or None
        None without answers.
    """
    if not result.answers:
        return None
    outlook = None if result.learned is None else result.learned.outlook
    return {
        "history": list(result.history),
        "outlook": outlook,
        "curve": learning_facts(outlook),
        "reliability": reliability_rows(result),
    }


def learning_facts(outlook: dict | None) -> dict[str, Any] | None:
    """Return the learning curve.

    Parameters
    ----------
    outlook : dict or None
        Forecast with the entry ``curve``.

    Returns
    -------
    dict or None
        None if there are too few answers for a curve.
    """
    rows = (outlook or {}).get("curve") or []
    if len(rows) < figures.FEWEST_STEPS:
        return None
    points = [(row["answers"], row["right"]) for row in rows]
    return {"figure": figures.line_figure(points, from_zero=False, mark=points[-1], x_percent=False), "rows": rows}


def reliability_rows(result) -> list[dict[str, Any]]:
    """Compare the confidence before all answers with the share of labels that the answers confirm.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        One row per bin; the bins have about the same number of answers.
    """
    answers, before = result.known_answers.read, result.vote
    if before is None or len(answers) < _FEWEST_ANSWERS:
        return []
    probabilities = np.asarray(before)[answers.rows]
    if probabilities.shape[1] != len(result.classes):  # a class that answers have added has no probability before them
        return []
    old = np.asarray(result.classes)[probabilities.argmax(axis=1)]
    right = np.array([given == label for given, label in zip(answers.labels, old.tolist(), strict=True)])
    confidence = probabilities.max(axis=1)
    bins = np.searchsorted(np.quantile(confidence, np.linspace(0, 1, _ANSWER_BINS + 1)[1:-1]), confidence, side="left")
    return [
        {
            "n": int(np.sum(bins == number)),
            "confidence": float(confidence[bins == number].mean()),
            "right": float(right[bins == number].mean()),
        }
        for number in np.unique(bins)
    ]


def moved_words(space: JointSpace | None) -> list[dict[str, Any]]:
    """Return the words whose frequency differs most between the collections, with bar lengths.

    Parameters
    ----------
    space : JointSpace or None
        Word counts of both collections.

    Returns
    -------
    list of dict
    """
    rows = shifted_words(space.counts, space.names, space.n_source) if space else []
    most = max((max(row["source"], row["target"]) for row in rows), default=1.0)
    return [{**row, "left": row["source"] / most, "right": row["target"] / most} for row in rows]


def clear_cases(result, target: Collection) -> list[dict[str, Any]]:
    """Return the most confident document of a few large classes with the terms that decided about its label.

    Parameters
    ----------
    result : LabelResult
        The result.
    target : Collection
        The target.

    Returns
    -------
    list of dict
        At most four documents; one for large collections, because explanations can take long.
    """
    cases = []
    sizes = np.array([np.sum(result.labels == name) for name in result.classes.tolist()])
    many = len(result.texts) + len(result.source_texts) > _SLOW
    for code in np.sort(np.argsort(-sizes, kind="stable")[: 1 if many else _CASES]).tolist():
        name = result.classes.tolist()[code]
        rows = np.flatnonzero(result.labels == name)
        if not len(rows):
            continue
        i = int(rows[np.argmax(result.confidence[rows])])
        terms = deciding_terms(result, i)
        most = max((abs(term["contribution"]) for term in terms), default=1.0)
        cases.append(
            {
                "id": str(target.ids[i]),
                "label": str(name),
                "colour": code % 8,
                "text": excerpt(result.texts[i], 260),
                "terms": [{**term, "share": abs(term["contribution"]) / most} for term in terms],
            }
        )
    return cases


def deciding_terms(result, i: int) -> list[dict[str, Any]]:
    """Return the terms that contribute most to a document's label.

    Parameters
    ----------
    result : LabelResult
        The result.
    i : int
        Row number of the document.

    Returns
    -------
    list of dict
        Empty if the method cannot explain its labels.
    """
    try:
        rows = result.reasons(i, top=6)
    except UsageError:  # the method cannot explain its labels
        return []
    label = result.labels[i]
    return [
        {"term": str(row["term"]), "contribution": float(row["contribution"])}
        for row in rows
        if row["class"] == label and row["contribution"]
    ]


def bridge_rows(result) -> list[dict[str, Any]]:
    """Return the word clusters of the co-clustering method, if it takes part in the vote.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
    """
    for member in result.model.voters.values():
        tables = getattr(member.rule, "tables", None)
        names = term_names(member)
        if tables is not None and names is not None:
            rows = cluster_table(tables, names, classes=member.classes_, top=8, clusters=_CLUSTERS)
            forms = surface_forms(member.steps[0], [*result.source_texts, *result.texts])
            for row in rows:
                row["words"] = list(dict.fromkeys(readable(str(word), forms) for word in row["words"]))
            return rows
    return []


def shift_facts(result, *, by_command: bool = False) -> dict[str, Any] | None:
    """Return the differences between the collections, measured on a sample.

    Parameters
    ----------
    result : LabelResult
        The result.
    by_command : bool
        Whether advice uses the options of the command instead of Python's.

    Returns
    -------
    dict or None
        None without a source.
    """
    if not result.source_texts:
        return None
    # A random sample limits the time and represents the whole collection.
    rows = spread(len(result.source_texts), _DIAGNOSED), spread(len(result.texts), _DIAGNOSED)
    labels = tuple(result.source_labels[i] for i in rows[0])
    measured = _measured(
        tuple(result.source_texts[i] for i in rows[0]),
        labels,
        tuple(result.texts[i] for i in rows[1]),
        frozenset(map(type, labels)),
        # The packaged vectors support only English; vectors that the user chose may support two languages.
        result.settings.get("vectors", "none") not in ("none", STATIC),
        result.settings.get("language", "auto"),
    )
    return {
        "verdict": measured["verdict"],
        "sampled": len(rows[0]) < len(result.source_texts) or len(rows[1]) < len(result.texts),
        **split_findings(measured["findings"], by_command=by_command),
    }


@lru_cache(maxsize=4)  # results with more answers or another method have the same texts
def _measured(
    source_texts: tuple, source_labels: tuple, target_texts: tuple, kinds: frozenset, vectors: bool, language: str
) -> dict[str, Any]:
    """Measure the shift; the types of labels are part of the cache key, because 1 and True are equal."""
    return measure_shift(source_texts, source_labels, target_texts, language=language, vectors=vectors)


def split_findings(findings: list[dict], *, by_command: bool = False) -> dict[str, list[dict]]:
    """Split findings into problems and inconspicuous findings.

    Parameters
    ----------
    findings : list of dict
        Findings of a diagnosis.
    by_command : bool
        Whether advice uses the options of the command.

    Returns
    -------
    dict of str to list of dict
        ``findings`` and ``fine``.
    """
    rows = [{**row, "level": SEVERITIES[row["severity"]]} for row in findings]
    if by_command:
        rows = [{**row, "advice": in_flags(row["advice"])} for row in rows]
    return {
        "findings": [row for row in rows if row["severity"]],
        "fine": [row for row in rows if not row["severity"]],
    }


# Titles of measures in the record of a method.
_MEASURES = {
    "trained_on": "documents trained on",
    "added": "documents added",
    "changed": "labels changed",
    "mean_share": "mean share of the winning class",
}
# Explanations of the fitted attribute ``termination_condition_``.
_TERMINATIONS = {
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
    """Return the curves of the leading method's iterations and a sentence about their end.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict
    """
    name, member = leading_method(result)
    record, ending = member.fit["measure"], member.fit["termination"]
    n_iter = member.fit["n_iter"]
    sentence = ""
    if n_iter:
        sentence = f"{name}: {plural(n_iter, 'iteration')}"
        sentence += f"; {_TERMINATIONS.get(ending, ending.replace('_', ' '))}." if ending else "."
    return {
        "curves": figures.step_curves(member.fit["history"], _MEASURES | {"objective": record}),
        "sentence": sentence,
    }


def known_language(result) -> str:
    """Return the language in which a method reads the texts.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
        "auto" if no method has a single language.
    """
    for member in result.model.voters.values():
        for step in member.steps:
            if isinstance(step, TermRows) and len(step.words.languages) == 1:
                return step.words.languages[0]
    return "auto"


def leading_method(result) -> tuple[str, Any]:
    """Return the name and the member with the largest weight.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    name : str
        Name of the method.
    member : Member
    """
    weights = result.model.weights
    name = max(weights, key=weights.get)
    return name, result.model.members[name]


def origin_facts(settings: dict[str, Any], source: Collection | None, target: Collection | None) -> dict[str, Any]:
    """Return the origin of a page: collections, settings, versions and time.

    Parameters
    ----------
    settings : dict of str to object
        Settings of the run.
    source, target : Collection or None
        The collections.

    Returns
    -------
    dict of str to object
    """
    return {
        "sources": [collection_facts(docs, role) for docs, role in ((source, "source"), (target, "target")) if docs],
        "settings": settings,
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def collection_facts(docs: Collection, role: str) -> dict[str, Any]:
    """Return the description of a collection.

    Parameters
    ----------
    docs : Collection
        The collection.
    role : {"source", "target"}
        Its role.

    Returns
    -------
    dict of str to object
    """
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


# -- Labels by the values of a column: one row per value, or per period if the column contains dates


def by_facts(result, by: tuple[str, Sequence] | None) -> dict[str, Any] | None:
    """Return the class proportions and the expected accuracy for each value of a column.

    Parameters
    ----------
    result : LabelResult
        The result.
    by : (str, sequence) or None
        Name and values of the column.

    Returns
    -------
    dict or None
        None without a column.
    """
    if by is None:
        return None
    name, values = by
    period, masks = value_masks(values, len(result.labels))
    shares: dict[str, list[dict]] = {}
    for row in result.class_shares(by=values):
        shares.setdefault(row["value"], []).append(row)
    rows = [
        _value_row(result, value, mask, shares[value]) | {"right": right}
        for (value, mask), right in zip(masks, result.accuracy_by(values), strict=True)
    ]
    facts = {"name": name, "classes": [str(label) for label in result.classes.tolist()], "rows": rows}
    if period is None:
        return {**facts, "period": None, "figure": None}
    drawn = len(rows) >= figures.FEWEST_STEPS
    table = np.array([[part["share"] for part in row["shares"]] for row in rows]).T
    figure = figures.lines_figure(table, [row["value"] for row in rows]) if drawn else None
    # Documents without a valid date are missing from the periods.
    undated = len(result.labels) - sum(row["documents"] for row in rows)
    return {**facts, "period": period, "figure": figure, "undated": undated}


def _value_row(result, value: str, mask: np.ndarray, shares: list[dict]) -> dict[str, Any]:
    """Return the data of one value: the labels' proportions for bars, and estimates with intervals."""
    given = [row["labels"] for row in shares[: len(result.classes)]]
    # Start of each class within the stacked bar.
    starts = np.concatenate([[0.0], np.cumsum(given)[:-1]])
    return {
        "value": value,
        "documents": int(mask.sum()),
        "shares": [
            {"share": row["labels"], "start": float(start), "colour": i % figures.COLOURS}
            | {name: row[name] for name in ("estimate", "low", "high", "basis")}
            for i, (row, start) in enumerate(zip(shares, starts, strict=False))
        ],
        "review": float(result.needs_review[mask].mean()),
        "sure": float(result.confidence[mask].mean()),
    }
