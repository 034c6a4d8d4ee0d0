"""Carry out a run: read texts from the tables, call :func:`isthmus.label` or teach, and store the results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from isthmus._progress import progress
from isthmus._utils import versions
from isthmus.api.diagnose import diagnose
from isthmus.api.label import label
from isthmus.api.methods import read_parameters
from isthmus.api.result import LabelResult
from isthmus.corpus import Collection as TextCollection
from isthmus.feedback.answers import ASKED, Answers
from isthmus.feedback.tables import read_answers
from isthmus.report import write_label_report
from isthmus.report.listing import runner_up
from isthmus.report.summary import label_summary
from isthmus.saving import load
from isthmus.workspace.context import Context, find, plain_detail
from isthmus.workspace.database import PROGRESS_ROWS, storable
from isthmus.workspace.runs import DIAGNOSE, SAID, read_table, takes_words
from isthmus.workspace.schema import ANSWERED, ANSWERS, DOCUMENTS, OF_GROUP, OPEN, PREDICTIONS, RUN_TABLES, Run

_ASKED = 500  # documents ordered by the expected benefit of an answer; the others are ordered by uncertainty
# The same limit for large runs, because ordering takes longer there.
_ASKED_OF_MANY = 200
# Words that a run suggests.
_ASKED_WORDS = 40
# Documents from which a run is large.
_MANY = 20_000
_LEFT_OUT = ("data", "title", "made", "check")  # facts of the report that the workbench does not show


def do_run(context: Context, run: Run) -> dict[str, Any]:
    """Carry out a run and store its results. The results of an interrupted attempt are used or replaced.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.
    run : Run
        Run to carry out.

    Returns
    -------
    dict[str, Any]
        Summary of the run, stored in its row.
    """
    texts = _texts_of(context, run)
    if run.kind == DIAGNOSE:
        return _do_diagnosis(context, run, texts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _make_result(context, run, texts)
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))
    progress("preparing the pages", 0, 3)
    # The figures are computed once here, so that pages only read them.
    facts = label_summary(result, texts["source"], texts["target"])
    progress("preparing the pages", 1, 3)
    listed = facts.pop("listing")
    facts = {name: value for name, value in facts.items() if name not in _LEFT_OUT}
    facts |= {"words": listed["words"], "classes": [str(name) for name in result.classes], "notes": notes}
    facts |= {"ask_words": _ask_words(result), "codebook": codebook(result)}
    progress("preparing the pages", 2, 3)
    _store_predictions(context, run, result, texts, listed)
    _store_tables(context, run, facts)
    summary = _summarize(result)
    _close_run(context, run, summary)
    return summary


def codebook(result: LabelResult) -> list[dict[str, Any]]:
    """Return the classes of a result with their descriptions and numbers of documents.

    Parameters
    ----------
    result : LabelResult
        Result of the run.

    Returns
    -------
    list[dict[str, Any]]
        Dicts with ``class``, ``description`` and ``documents``.
    """
    return [
        {
            "class": str(name),
            "description": str(result.descriptions.get(name, "")),
            "documents": int((result.labels == name).sum()),
        }
        for name in result.classes.tolist()
    ]


def write_report(context: Context, run: Run, path: Path) -> None:
    """Write the HTML report of a run.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.
    run : Run
        Finished run.
    path : Path
        Path of the file.
    """
    texts = _texts_of(context, run)
    write_label_report(load_result(context, run.id), path, source=texts["source"], target=texts["target"])


def _texts_of(context: Context, run: Run) -> dict[str, TextCollection]:
    """Return the documents of a run by kind of collection, with labels only for the source."""
    parts: dict[str, list[dict[str, Any]]] = {"source": [], "target": [], "extra": []}
    for part in run.record["collections"]:
        parts[part["kind"]].append(part)
    return {kind: _read_texts(context, found, labels=kind == "source") for kind, found in parts.items()}


def load_result(context: Context, run: str, *, base: bool = False) -> LabelResult:
    """Load the saved result of a run.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.
    run : str
        Id of the run.
    base : bool, default=False
        Whether to load the result from before it learned from answers.

    Returns
    -------
    LabelResult
        The result.

    Raises
    ------
    DataError
        If the model is missing.
    """
    return load(context.find_model(run, base=base), kind="label")


def _read_texts(context: Context, parts: list[dict[str, Any]], *, labels: bool) -> TextCollection:
    """Return the documents of several collections as one; the column ``document`` contains their ids."""
    d = DOCUMENTS.c
    rows: list[Any] = []
    domain: list[str] = []
    with context.db.reading() as session:
        for part in parts:
            query = sa.select(d.id, d.name, d.text, d.label).where(d.collection_id == part["id"]).order_by(d.position)
            found = session.execute(query).all()
            rows += found
            domain += [f"{part['name']} ({part['id'][:6]})"] * len(found)
    return TextCollection.from_texts(
        [row.text for row in rows],
        [row.label for row in rows] if labels else None,
        ids=[row.name for row in rows],
        domain=domain,
        columns={"document": [row.id for row in rows]},
        name=", ".join(part["name"] for part in parts),
    )


def _do_diagnosis(context: Context, run: Run, texts: dict[str, TextCollection]) -> dict[str, Any]:
    """Compare source and target, and store the findings."""
    source = texts["source"]
    options = {name: run.parameters[name] for name in ("random_state", "language")}
    found = diagnose(source.texts, source.labels, texts["target"].texts, **options)
    content = {"verdict": found.verdict, "level": found.level, "findings": found.findings, "tables": found.tables}
    _store_tables(context, run, {"diagnosis": content})
    summary = {"verdict": found.verdict, "level": found.level}
    _close_run(context, run, summary)
    return summary


def _make_result(context: Context, run: Run, texts: dict[str, TextCollection]) -> LabelResult:
    """Fit or load the methods of a run, teach them answers and words, and save the result."""
    path = context.model_path(run.id)
    path.parent.mkdir(exist_ok=True)
    if path.exists():  # an interrupted attempt has already saved the result
        return load(path, kind="label")
    with context.db.reading() as session:
        said = [read_table(session, run.id, name) or [] for name in SAID]
    words = dict(run.record["words"])
    if run.base is None:
        known = method_words(words, run.parameters["method"], texts["source"].labels)
        result = _label(run, texts, known)
    else:
        result = load_result(context, run.base, base=True)
        with context.db.reading() as session:
            base = find(session, Run, run.base)
        known = method_words(base.record["words"], base.parameters["method"], texts["source"].labels)
    # With the ids of the file, people can teach the exported model with their own tables.
    result.ids = list(texts["target"].ids)
    words = {word: name for word, name in words.items() if known.get(word) != name}
    answers, replaced, machines = said
    if answers or words or machines:
        base_path = context.model_path(run.id, base=True)
        if run.base is None:
            # Later runs teach on top of this model without fitting the methods again.
            result.save(base_path, force=True)
        # People's answers come last, so that they replace a machine's answers to the same documents.
        if machines:
            rows = [{"document": place + 1, "true_label": label, "by": by} for place, label, by in machines]
            result = result.teach(rows, name="machines")
        if answers or words:
            progress("learning from answers", 0, 1)
            result = result.teach(
                _read_answers(result, run, replaced, answers), word_labels=words or None, name=run.name
            )
    result.save(path, force=True)
    return result


def method_words(words: dict[str, str], method: str, labels: list[str | None]) -> dict[str, str]:
    """Return the words that a method itself can learn from: those of classes that the source has.

    The run teaches the other words afterwards.

    Parameters
    ----------
    words : dict[str, str]
        Class by word.
    method : str
        Name of the method.
    labels : list[str | None]
        Labels of the source.

    Returns
    -------
    dict[str, str]
        Class by word; empty if the method does not use words.
    """
    if not takes_words(method):
        return {}
    return {word: name for word, name in words.items() if name in set(labels)}


def _label(run: Run, texts: dict[str, TextCollection], words: dict[str, str]) -> LabelResult:
    """Call :func:`isthmus.label` with the parameters of a run."""
    source, target, settings = texts["source"], texts["target"], run.parameters
    several = len(set(source.domain or ())) > 1
    return label(
        source.texts or None,
        source.labels if source.texts else None,
        target.texts,
        settings["method"],
        words or None,
        settings["random_state"],
        source_domain=source.domain if several else None,
        extra_texts=texts["extra"].texts or None,
        embed=None if settings["vectors"] else False,
        classes=settings.get("classes") or None,
        error_budget=settings["error_budget"],
        language=settings["language"],
        parameters=read_parameters(settings.get("parameters", ())),  # runs of earlier versions have no such parameter
    )


def _read_answers(result: LabelResult, run: Run, *tables: list[list]) -> Answers:
    """Return answers from several tables; a later table replaces earlier answers for the same document."""
    known = Answers()
    for rows in filter(None, tables):
        position, labels, drawn, by = (list(column) for column in zip(*rows, strict=True))
        table = {"document": [place + 1 for place in position], "true_label": labels, "drawn": drawn, "by": by}
        known = known.plus(read_answers(result, table, name=run.name))
    return known


# Storing


def _store_predictions(
    context: Context, run: Run, result: LabelResult, texts: dict[str, TextCollection], listed: dict[str, Any]
) -> None:
    """Replace the predictions of a run, and mark the answered documents as done."""
    with context.db.writing() as session:
        session.execute(PREDICTIONS.delete().where(PREDICTIONS.c.run_id == run.id))
    rows = _prediction_rows(run.id, result, texts, listed, *review_order(result))
    context.db.insert_many(PREDICTIONS, rows)
    answered = sa.select(ANSWERS.c.document_id).where(
        ANSWERS.c.project_id == run.project, ANSWERS.c.current, ANSWERS.c.kind != OF_GROUP
    )
    with context.db.writing() as session:
        session.execute(
            PREDICTIONS.update()
            .where(PREDICTIONS.c.run_id == run.id, PREDICTIONS.c.document_id.in_(answered))
            .values(state=ANSWERED)
        )


def _prediction_rows(
    run: str,
    result: LabelResult,
    texts: dict[str, TextCollection],
    listed: dict[str, Any],
    rank: np.ndarray,
    asked: dict[int, tuple[str, str]],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of predictions, and report progress."""
    code = {name: place for place, name in enumerate(result.classes.tolist())}
    own = np.array([code[name] for name in result.labels.tolist()])
    second, sure = runner_up(result.probabilities, own)
    source_rows = listed["source"]["id"]
    near = {row - 1: [texts["source"].columns["document"][source_rows[i]] for i in found]
            for row, found in zip(listed["row"], listed["near"], strict=True)}  # fmt: skip
    names = [storable(str(name)) for name in result.classes.tolist()]
    for i, document in enumerate(texts["target"].columns["document"]):
        if i % PROGRESS_ROWS == 0:
            progress("storing", i, len(own))
        reason, drawn = asked.get(i, ("", ASKED))
        yield {
            "run_id": run,
            "position": i,
            "document_id": document,
            "label": names[own[i]],
            "confidence": float(result.confidence[i]),
            "needs_review": bool(result.needs_review[i]),
            "second": names[second[i]] if len(names) > 1 else "",
            "second_confidence": max(0.0, float(sure[i])),
            "novel_group": storable(str(result.novel_group[i])),
            "near": near.get(i, []),
            "rank": int(rank[i]),
            "reason": storable("; ".join(filter(None, (result.review_reason[i], reason)))),
            "drawn": drawn,
            "state": OPEN,
        }


def review_order(result: LabelResult) -> tuple[np.ndarray, dict[int, tuple[str, str]]]:
    """Compute the order of the review queue.

    The queue starts with the documents of :meth:`LabelResult.ask`. Documents that need review follow, then the
    others, both by increasing confidence.

    Parameters
    ----------
    result : LabelResult
        Result of the run.

    Returns
    -------
    tuple[np.ndarray, dict[int, tuple[str, str]]]
        Rank of every document, and the reason and the kind of draw of the first ones, by position.
    """
    n = len(result.texts)
    order = np.lexsort((np.arange(n), result.confidence, ~result.needs_review))
    asked: dict[str, list] = {"document": [], "reason": [], "drawn": []}
    if n:
        # Its page shows the label to the reader.
        asked = result.ask(min(n, _ASKED if n <= _MANY else _ASKED_OF_MANY), suggest=True)
    first = np.array(asked["document"], dtype=int) - 1
    order = np.concatenate([first, order[~np.isin(order, first)]]) if len(first) else order
    rank = np.empty(n, dtype=int)
    rank[order] = np.arange(n)
    return rank, dict(zip(first.tolist(), zip(map(str, asked["reason"]), asked["drawn"], strict=True), strict=True))


def _ask_words(result: LabelResult) -> list[dict[str, Any]]:
    """Return words that are worth a person's decision, one dict each."""
    columns = result.ask(_ASKED_WORDS, words=True)
    names = ("word", "suggestion", "documents", "settles")
    return [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]


def _store_tables(context: Context, run: Run, tables: dict[str, Any]) -> None:
    """Replace tables of a run by new ones."""
    rows = [{"run_id": run.id, "name": name, "content": plain_detail(value)} for name, value in tables.items()]
    with context.db.writing() as session:
        old = RUN_TABLES.delete().where(RUN_TABLES.c.run_id == run.id, RUN_TABLES.c.name.in_(tables))
        session.execute(old)
        session.execute(RUN_TABLES.insert(), rows)


def _summarize(result: LabelResult) -> dict[str, Any]:
    """Return the figures of a result that lists of runs show."""
    expected = result.expected_accuracy
    return {
        "documents": len(result.texts),
        "review": int(result.needs_review.sum()),
        "method": result.method,
        "classes": [str(name) for name in result.classes.tolist()],
        "groups": len(result.novel),
        "expected": None if expected is None or expected.estimate is None else expected.estimate,
        "low": None if expected is None or expected.estimate is None else expected.low,
        "high": None if expected is None or expected.estimate is None else expected.high,
        "answers": len(result.answers) if result.answers is not None else 0,
    }


def _close_run(context: Context, run: Run, summary: dict[str, Any]) -> None:
    """Store the summary of a run and the versions of the libraries that made it."""
    record = {**run.record, "versions": versions()}
    with context.db.writing() as session:
        found = find(session, Run, run.id)
        found.summary, found.record = plain_detail(summary), plain_detail(record)
