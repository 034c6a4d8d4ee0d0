"""Convert between tables and the files of other annotation tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.corpus.cells import json_text, whole_text
from isthmus.corpus.guess import LOOKED_AT
from isthmus.corpus.write import check_output, replacing
from isthmus.exceptions import DataError

_LABEL = re.compile(r"__label__(\S+)\s?")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Labelled:
    """Hold the columns that other tools can store."""

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Sequence[str | None]
    guesses: bool = True  # whether the labels come from a model; False if they come from people
    confidence: Sequence[float | None] | None = None
    others: Mapping[str, list] | None = None  # other columns, for tools that can store them
    by: str = "isthmus"  # name of the model

    def rows(self) -> Iterator[tuple[str, str, str | None, float | None, dict]]:
        """Return the cells of each row.

        Yields
        ------
        tuple
            Id, text, label, confidence and a dict of the other cells.
        """
        confidence = self.confidence or [None] * len(self.texts)
        others = self.others or {}
        for i, row in enumerate(zip(self.ids, self.texts, self.labels, confidence, strict=True)):
            yield *row, {name: cells[i] for name, cells in others.items()}


def find_tool(records: Sequence[dict]) -> str:
    """Return the tool whose format all of the first records have.

    Parameters
    ----------
    records : sequence of dict
        Records of a file.

    Returns
    -------
    str
        A key of ``TOOLS``; '' for an ordinary table.
    """
    first = records[:LOOKED_AT]
    return next((name for name, tool in TOOLS.items() if first and all(map(tool.is_record, first))), "")


def flatten(records: Sequence[dict], tool: str) -> list[dict]:
    """Convert the records of a tool to rows of a table.

    Parameters
    ----------
    records : sequence of dict
        Records of another format remain unchanged.
    tool : str
        A key of ``TOOLS``; '' changes no record.

    Returns
    -------
    list of dict
    """
    if not tool:
        return list(records)
    known = TOOLS[tool]
    return [known.to_row(record) if known.is_record(record) else record for record in records]


# -- Label Studio: tasks with data, annotations of people and predictions of models ------------------------------------


def _is_label_studio(record: dict) -> bool:
    return isinstance(record.get("data"), dict) and any(
        isinstance(record.get(key), list) for key in ("annotations", "completions", "predictions")
    )


def _from_label_studio(record: dict) -> dict:
    annotations = record.get("annotations") or record.get("completions") or []
    # A cancelled annotation and one without a choice contain no answer.
    answers = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled") and _choices(one)]
    guesses = [one for one in record.get("predictions") or [] if isinstance(one, dict) and _choices(one)]
    row = {"id": record.get("id"), **record["data"]}  # the user's own id in the data replaces the task's id
    if answers:
        # The last annotation is the newest.
        person = answers[-1].get("completed_by")
        if isinstance(person, dict):
            person = person.get("email") or person.get("id")
        row |= {"label": _single(_choices(answers[-1])), "annotator": person}
    else:
        # The data may already contain a column called label.
        row.setdefault("label", None)
    if guesses:
        row |= {"prediction": _single(_choices(guesses[-1])), "prediction_score": guesses[-1].get("score")}
    return row


def _choices(annotation: dict) -> list:
    """Return all classes that an annotation chooses."""
    classes: list = []
    for part in annotation.get("result") or []:
        value = part.get("value") if isinstance(part, dict) else None
        if isinstance(value, dict):
            classes += value.get("choices") or []
    return classes


def _to_label_studio(table: Labelled) -> Iterator[dict]:
    for name, text, label, confidence, others in table.rows():
        task: dict[str, Any] = {"data": {**others, "id": name, "text": text}, "annotations": [], "predictions": []}
        if label is not None:
            value = {"choices": [label]}
            made = {"result": [{"from_name": "label", "to_name": "text", "type": "choices", "value": value}]}
            if not table.guesses:
                task["annotations"] = [made]
            else:
                score = {} if confidence is None else {"score": confidence}
                task["predictions"] = [{"model_version": table.by, **score, **made}]
        yield task


# -- Argilla: records with fields, suggestions of models and responses of people, nested or one level deep -------------


def _is_argilla(record: dict) -> bool:
    if isinstance(record.get("fields"), dict) and ("responses" in record or "suggestions" in record):
        return all(isinstance(record.get(part) or {}, dict) for part in ("responses", "suggestions"))
    return any(key.endswith((".responses", ".suggestion")) for key in record)


def _from_argilla(record: dict) -> dict:
    if isinstance(record.get("fields"), dict):
        responses = {key: [one.get("value") for one in given] for key, given in (record.get("responses") or {}).items()}
        suggestions = {key: given.get("value") for key, given in (record.get("suggestions") or {}).items()}
        scores = {key: given.get("score") for key, given in (record.get("suggestions") or {}).items()}
        row = {"id": record.get("id"), **record["fields"], **(record.get("metadata") or {})}
    else:
        responses = {name: _submitted(record, name) for name in _before(".responses", record)}
        suggestions = {name: record[f"{name}.suggestion"] for name in _before(".suggestion", record)}
        scores = {key: record.get(f"{key}.suggestion.score") for key in suggestions}
        row = {key: value for key, value in record.items() if "." not in key and not key.startswith("_")}
    question = next(iter(responses or suggestions), None)
    row["label"] = _single(responses.get(question, [])[-1:]) if question else None
    if question in suggestions:
        row |= {"prediction": suggestions[question], "prediction_score": scores.get(question)}
    return row


def _before(ending: str, record: dict) -> list[str]:
    """Keys that end so, without that ending."""
    return [key.removesuffix(ending) for key in record if key.endswith(ending)]


def _submitted(record: dict, question: str) -> list:
    """Return the responses without drafts and discarded responses.

    Only flat records contain the status of a response.
    """
    responses = record[f"{question}.responses"] or []
    states = record.get(f"{question}.responses.status") or [None] * len(responses)
    return [value for value, state in zip(responses, states, strict=False) if state in (None, "submitted")]


def _to_argilla(table: Labelled) -> Iterator[dict]:
    # A response must belong to a user of the server, which is unknown here. Labels of people become suggestions, too.
    agent = table.by if table.guesses else "people"
    for name, text, label, confidence, others in table.rows():
        guess = {"value": label, "score": confidence, "agent": agent}
        suggestions = {} if label is None else {"label": guess}
        record = {"id": name, "fields": {"text": text}, "metadata": others, "vectors": {}}
        yield {**record, "suggestions": suggestions, "responses": {}}


# -- Prodigy: one decision per line, with the answer accept, reject or ignore ------------------------------------------


def _is_prodigy(record: dict) -> bool:
    asked = "_task_hash" in record or isinstance(record.get("options"), list)
    return "text" in record and (asked or record.get("answer") in ("accept", "reject", "ignore"))


def _from_prodigy(record: dict) -> dict:
    hidden = ("options", "accept", "answer", "spans", "tokens", "config", "html")
    row = {key: value for key, value in record.items() if not key.startswith("_") and key not in hidden}
    meta = row.pop("meta", None)
    row |= meta if isinstance(meta, dict) else {}
    chosen = _single(record.get("accept")) if "options" in record else record.get("label")
    if "answer" not in record:  # a task without an answer
        return {**row, "label": None, "prediction": chosen}
    # A rejected label only excludes one class, so the document has no label.
    return {**row, "label": chosen if record["answer"] == "accept" else None}


def _to_prodigy(table: Labelled) -> Iterator[dict]:
    options = [{"id": name, "text": name} for name in sorted({label for label in table.labels if label is not None})]
    for name, text, label, confidence, others in table.rows():
        meta = {**others, "id": name} | ({} if confidence is None else {"score": confidence})
        record: dict[str, Any] = {"text": text, "meta": meta, "options": options}
        record["accept"] = [] if label is None else [label]
        if not table.guesses:
            record["answer"] = "accept" if label is not None else "ignore"
        yield record


# -- doccano: a list of labels per line --------------------------------------------------------------------------------


def _is_doccano(record: dict) -> bool:
    labels = record.get("label", record.get("labels"))
    text = record.get("text", record.get("data"))
    return isinstance(text, str) and isinstance(labels, list) and all(isinstance(one, str) for one in labels)


def _from_doccano(record: dict) -> dict:
    row = {("text" if key == "data" and "text" not in record else key): value for key, value in record.items()}
    labels = row.pop("labels", None) if "label" not in row else row["label"]
    return {**row, "label": _single(labels)}


def _to_doccano(table: Labelled) -> Iterator[dict]:
    # doccano exports every imported label, even without a review. A model's label therefore goes to another column.
    for name, text, label, confidence, others in table.rows():
        guess = {"prediction": label, "prediction_score": confidence} if table.guesses else {}
        labels = [] if label is None or table.guesses else [label]
        yield {"id": name, "text": text, "label": labels, **guess, **others}


def _single(labels: Any) -> Any:
    """Return the only label of a list; all labels if there are several, and None if there is none."""
    labels = [] if labels is None else labels if isinstance(labels, list) else [labels]
    return labels[0] if len(labels) == 1 else labels or None


# -- fastText: a line of labels and text -------------------------------------------------------------------------------


def read_fasttext(text: str) -> list[dict]:
    """Return one record per line of a fastText file.

    Parameters
    ----------
    text : str
        Content of the file.

    Returns
    -------
    list of dict
        ``label`` (None without a label) and ``text``.
    """
    records = []
    for line in text.splitlines():
        labels = []
        while match := _LABEL.match(line):
            labels.append(match[1])
            line = line[match.end() :]
        if labels or line.strip():
            records.append({"label": _single(labels), "text": line.strip()})
    return records


def write_fasttext(table: Labelled) -> Iterator[str]:
    """Return one line per document.

    fastText separates words at blanks. Each sequence of blanks becomes one blank, or ``-`` inside a label.

    Parameters
    ----------
    table : Labelled
        Documents.

    Yields
    ------
    str
        Line with its line feed.

    Raises
    ------
    DataError
        Two labels would become equal.
    """
    # Original label of each written label, to detect two labels that become equal.
    names: dict[str, str] = {}
    for _, text, label, _, _ in table.rows():
        name = "" if label is None else _BLANKS.sub("-", label.strip())
        if label is not None and names.setdefault(name, label) != label:
            raise DataError(
                f"fastText's labels have no blanks, so {names[name]!r} and {label!r} would both be {name!r}; rename "
                "one of them.",
                code="bad-labels",
            )
        mark = "" if label is None else f"__label__{name} "
        yield mark + _BLANKS.sub(" ", text).strip() + "\n"


@dataclass(frozen=True)
class Tool:
    """Describe the conversion between a tool's records and rows.

    ``array`` is True if a file contains one JSON array instead of one record per line.
    """

    title: str
    is_record: Callable[[dict], bool]
    to_row: Callable[[dict], dict]
    to_records: Callable[[Labelled], Iterable[dict]]
    array: bool = False


TOOLS = {
    "label-studio": Tool("Label Studio", _is_label_studio, _from_label_studio, _to_label_studio, array=True),
    "argilla": Tool("Argilla", _is_argilla, _from_argilla, _to_argilla, array=True),
    "prodigy": Tool("Prodigy", _is_prodigy, _from_prodigy, _to_prodigy),
    "doccano": Tool("doccano", _is_doccano, _from_doccano, _to_doccano),
}


def write_tool_file(path: str | Path, tool: str, table: Labelled, *, force: bool = False) -> None:
    """Write rows as a file for an annotation tool; replace the file atomically.

    Parameters
    ----------
    path : str or Path
        File to write.
    tool : str
        A key of ``TOOLS``, or "fasttext".
    table : Labelled
        Documents.
    force : bool
        Replace an existing file.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    check_output(path, force=force, table=False)
    with replacing(path, force=force) as out:
        if tool == "fasttext":
            out.writelines(whole_text(line).encode() for line in write_fasttext(table))
            return
        records = map(json_text, TOOLS[tool].to_records(table))
        if TOOLS[tool].array:
            out.write(("[\n" + ",\n".join(records) + "\n]\n").encode())
        else:
            out.writelines(f"{record}\n".encode() for record in records)
