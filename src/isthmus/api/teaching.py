"""Teach and ask: a labelling takes answers and says what it would like to know next.

The one door by which answers of a person come in: :func:`teach`. The methods that made the labelling stay as they
were fitted, without a label of the target; what is learned from answers stands on top of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._utils import plural
from isthmus.choose.budgets import cautious, review_mask
from isthmus.choose.checking import as_number, match_classes
from isthmus.choose.combined import CombinedModel
from isthmus.choose.sampling import plain, read_sample
from isthmus.choose.trust import AccuracyEstimate
from isthmus.corpus.read import read_table
from isthmus.corpus.sheets import REVIEW_SHEET
from isthmus.exceptions import DataError, UsageError
from isthmus.features.embeddings import STATIC, TextEmbedder, has_static_vectors
from isthmus.feedback import (
    Answers,
    Correction,
    DocumentViews,
    RenamedModel,
    TaughtModel,
    ask_documents,
    ask_words,
    learn_correction,
    train_on_everything,
)
from isthmus.feedback.accounting import band_weights, expect_accuracy, learning_curve, outlook, right_by_size
from isthmus.feedback.answers import ASKED, DRAWN, PICKED, RANDOM, origin_of
from isthmus.feedback.correction import MANY, order_answers, stand_ins
from isthmus.feedback.model import ask_voters, merge_classes

LabelResult = Any  # the class stands in the module that imports this one
TRUTH = "true_label"
MORE = 50  # answers that the outlook speaks of
# What teaching changes and taking back restores, beside model and probabilities.
BEFORE = ("labels", "confidence", "needs_review", "expected_accuracy", "novel_group", "novel", "warnings")
ABOUT_THE_VOTE = ("review", "not estimated")  # warnings that answers make void


@dataclass(frozen=True)
class Learned:
    """What the latest answers changed.

    Attributes
    ----------
    name : str
        Of the table the answers came in.
    answers, total : int
        Answers of this table, and all that are known now.
    changed : int
        Labels that are others now, those of answered documents included.
    towards : int
        Among them, labels that became one of the classes this table names.
    before, after : dict
        Documents by class.
    outlook : dict or None
        ``answers``, ``gain``, ``margin``: what so many more answers would bring, in shares of all labels; ``curve``:
        the share right among answers that were held out, by how many others were learned from.
    basis : str
        What the expected accuracy rests on: "random", "weighted" or '' (nothing).
    taken_back : int
        Answers of an earlier table that no longer count.
    new_classes : dict
        Classes that this table named first, with the known class that is written almost alike, or ''.
    words : int
        Words that were labelled this time.
    """

    name: str
    answers: int
    total: int
    changed: int
    towards: int
    before: dict
    after: dict
    outlook: dict | None = None
    basis: str = ""
    taken_back: int = 0
    new_classes: dict[str, str] = field(default_factory=dict)
    words: int = 0

    def __str__(self) -> str:
        told = [f"{plural(self.taken_back, 'answer')} taken back"] if self.taken_back else []
        told += [f"{plural(self.answers, 'answer')} learned"] if self.answers else []
        told += [f"{plural(self.words, 'word')} learned"] if self.words else []
        changed = f"{plural(self.changed, 'label')} changed"
        if self.answers:
            changed += f", {self.towards:,} towards the answered classes"
        total = plural(self.total, "answer") if self.words else f"{self.total:,}"
        lines = [f"{', '.join(told) or 'no new answers'}, {total} in all; {changed}"]
        lines += [
            f"new class: {name}" + (f" (if {known} was meant, mend the table and teach again)" if known else "")
            for name, known in self.new_classes.items()
        ]
        names = list(dict.fromkeys([*self.before, *self.after]))
        lines += [f"  {name}: {self.before.get(name, 0):,} before, {self.after.get(name, 0):,} now" for name in names]
        if self.outlook is not None:
            lines.append(
                f"{self.outlook['answers']} more answers: {100 * self.outlook['gain']:+.0f} ± "
                f"{100 * self.outlook['margin']:.0f} points"
            )
        return "\n".join(lines)


def teach(
    result: LabelResult,
    answers: Any = None,
    *,
    drawn: str | None = None,
    word_labels: Mapping | None = None,
    name: str | None = None,
    without: str | PathLike | None = None,
) -> LabelResult:
    """A labelling that has learned from answers; see :meth:`isthmus.api.label.LabelResult.teach`."""
    known, taken_back, origins = _answers(result), 0, {}
    if isinstance(answers, str | PathLike):
        if name is None:
            name = known.name_of(answers)
            origins = {name: origin_of(answers)}
        answers = read_table(Path(answers), sheet=REVIEW_SHEET, filled=TRUTH)
    if without is not None:
        batch = known.find_batch(without)
        if batch is None:
            names = ", ".join(map(repr, dict.fromkeys(known.batch))) or "none"
            raise UsageError(
                f"No answers came in a table called {str(without)!r}; those that did: {names}.", code="bad-parameter"
            )
        taken_back = known.batch.count(batch)
        known = known.without(batch)
    given = read_answers(result, answers, drawn=drawn, name=name or f"answers {len(set(known.batch)) + 1}")
    given = replace(given, origins=origins)
    if word_labels:
        given = replace(given, words=_check_words(word_labels, result.classes))
    if answers is None and without is None and not word_labels:
        raise UsageError("There is nothing to learn; give answers, word_labels or without.", code="bad-parameter")
    if not len(given) and not given.words and without is None:
        raise DataError("The table has no answers; fill in true_label for at least one document.", code="bad-answers")
    known = known.plus(given)
    untaught = _untaught(result)
    if not len(known) and not known.words:
        return replace(untaught, answers=known if known.blank else None, learned=None)
    return _learn(untaught, result, known, given, taken_back)


def _learn(
    untaught: LabelResult, earlier: LabelResult, known: Answers, given: Answers, taken_back: int = 0
) -> LabelResult:
    seed = untaught.settings.get("random_state", 0)
    views = fit_views(earlier)
    opinions = untaught.opinions or ask_voters(untaught.model, untaught.texts)[0]
    vote = untaught.probabilities
    rows = views.transform(untaught.texts, list(opinions.values()))
    classes = extend_classes(untaught.classes, [*known.labels, *_word_classes(known.words)])
    code = {label: place for place, label in enumerate(classes.tolist())}
    codes = np.array([code[label] for label in known.labels], dtype=int)
    order = order_answers([untaught.texts[row] for row in known.rows], codes)
    places, codes = np.array(known.rows, dtype=int)[order], codes[order]
    extra = _word_rows(views, known.words, code, len(opinions))
    picked = np.array([kind == PICKED for kind in known.drawn], dtype=bool)[order]
    standing = stand_ins(vote, untaught.texts, places, codes, picked)
    unnamed = None if standing is None else (rows[standing[0]], vote[standing[0]], standing[1])
    correction = learn_correction(
        rows[places], vote[places], codes, classes, seed, extra=extra, unnamed=unnamed, picked=picked
    )
    answered = np.zeros(len(vote), dtype=bool)
    answered[known.rows] = True
    corrected = correction.probabilities(rows, vote)
    corrected[places] = np.eye(len(classes))[codes]
    source_codes = np.array([code[label] for label in untaught.source_labels.tolist() if label is not None])
    told = len(known) + (0 if extra is None else len(extra[1]))
    word_model = train_on_everything(views.source_words_, source_codes, views.words_of(rows), corrected, answered, told)
    model = TaughtModel(untaught.model, views, correction, word_model)
    probabilities = model.from_rows(rows, vote)
    probabilities[known.rows] = np.eye(len(classes))[np.searchsorted(model.classes_, known.labels)]
    best = probabilities.argmax(axis=1)
    labels, confidence = model.classes_[best], probabilities[np.arange(len(best)), best]
    unknown = np.asarray(rows[:, : len(views.vectorizer_.feature_names_)].getnnz(axis=1)).ravel() == 0
    expected, outlook_ = _account(
        correction, rows[places], vote[places], codes, known, order, confidence[~answered], seed
    )
    learned = replace(_compare(earlier, labels, known, given, expected, outlook_), taken_back=taken_back)
    accuracy = None if expected is None else AccuracyEstimate(expected.estimate, expected.low, expected.high)
    caution = untaught.settings.get("caution", 0.0) if accuracy is None else accuracy.caution
    surely = cautious(confidence, caution)
    return replace(
        untaught,
        labels=labels,
        confidence=confidence,
        needs_review=(review_mask(surely, untaught.settings.get("error_budget", 0.1)) | unknown) & ~answered,
        classes=model.classes_,
        probabilities=probabilities,
        model=model,
        expected_accuracy=accuracy,
        opinions=opinions,
        vote=vote,
        answers=known,
        learned=learned,
        before={name: getattr(untaught, name) for name in BEFORE},
        **_remaining_groups(untaught, labels, answered),
        history=[*earlier.history, _history_row(learned)],
    )


def _remaining_groups(untaught: LabelResult, labels: np.ndarray, answered: np.ndarray) -> dict[str, Any]:
    """Groups that fit no class, without documents that were answered or are of a class that answers named.

    With them go the warnings about groups of which nothing is left, and those that spoke of the vote alone.
    """
    settled = answered | ~np.isin(labels, untaught.classes)
    groups = np.where(settled, "", untaught.novel_group)
    left = set(groups.tolist())
    remain = [group["group"] in left for group in untaught.novel]
    told = iter(remain)  # one warning a group, in their order
    return {
        "novel_group": groups,
        "novel": [group for group, stays in zip(untaught.novel, remain, strict=True) if stays],
        "warnings": [
            row
            for row in untaught.warnings
            if row["topic"] not in ABOUT_THE_VOTE and (row["topic"] != "new group" or next(told, True))
        ],
    }


def _account(
    correction: Correction,
    rows: sp.csr_matrix,
    vote: np.ndarray,
    codes: np.ndarray,
    known: Answers,
    order: np.ndarray,
    confidence: np.ndarray,
    seed: int | None,
) -> tuple[Any, dict | None]:
    """What to expect now, and what more answers would bring; nothing where there are too few answers to say."""
    if len(codes) < 2 * 5:
        return None, None
    right = correction.held_out.argmax(axis=1) == codes
    held_out = correction.held_out.max(axis=1)
    at_random = known.at_random[order]
    expected = expect_accuracy(right, at_random, held_out, confidence, len(confidence) + len(codes))
    if not 20 <= len(codes) <= 2 * MANY or not len(confidence):  # too few to say, or no reason to ask
        return expected, None
    hits = right_by_size(rows, vote, codes, correction, seed)
    if at_random.sum() >= 20:
        hits, weights = {size: part[at_random] for size, part in hits.items()}, None
    else:
        weights = band_weights(held_out, confidence)
    ahead = outlook(hits, len(codes), MORE, weights)
    rest = len(confidence) / (len(confidence) + len(codes))
    room = 1.0 - expected.estimate  # a curve drawn on does not know that no more than all labels can be right
    said = {"answers": MORE, "gain": min(ahead.gain * rest, room), "margin": ahead.margin * rest}
    return expected, {**said, "curve": learning_curve(hits, weights)}


def _compare(
    earlier: LabelResult, labels: np.ndarray, known: Answers, given: Answers, expected: Any, ahead: dict | None
) -> Learned:
    old, new = earlier.labels.tolist(), labels.tolist()
    moved = [now for was, now in zip(old, new, strict=True) if was != now]
    named = set(given.labels)
    return Learned(
        name=given.batch[0] if given.batch else "",
        answers=len(given),
        total=len(known),
        changed=len(moved),
        towards=sum(label in named for label in moved),
        before=_counts(old),
        after=_counts(new),
        outlook=ahead,
        basis="" if expected is None else expected.basis,
        new_classes=_new_classes(given.labels, earlier.classes.tolist()),
        words=len(given.words),
    )


def _new_classes(labels: Sequence, known: list) -> dict[str, str]:
    """Names that are no class so far, each with the class it may be a misspelling of."""
    names = [str(name) for name in dict.fromkeys(labels) if name not in set(known)]
    return {name: next(iter(get_close_matches(name, map(str, known), n=1, cutoff=0.8)), "") for name in names}


def _counts(labels: list) -> dict:
    names, counts = np.unique(np.array(labels, dtype=str), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _history_row(learned: Learned) -> dict:
    return {
        "name": learned.name,
        "answers": learned.answers,
        "total": learned.total,
        "changed": learned.changed,
        "towards": learned.towards,
    }


def _untaught(result: LabelResult) -> LabelResult:
    """The labelling as it was before any answer."""
    if not isinstance(result.model, TaughtModel) or result.vote is None:
        return result
    base, vote = result.model.base, result.vote
    confidence = vote.max(axis=1)
    facts = {  # of files that were saved before these facts were kept
        "labels": base.classes_[vote.argmax(axis=1)],
        "confidence": confidence,
        "needs_review": review_mask(confidence, result.settings.get("error_budget", 0.1)),
        "expected_accuracy": None,
    } | (result.before or {})
    return replace(
        result, classes=base.classes_, probabilities=vote, model=base, answers=None, learned=None, before=None, **facts
    )


def extend_classes(classes: np.ndarray, names: Sequence) -> np.ndarray:
    """The classes, then the names that are none of them, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.api.teaching import extend_classes
    >>> extend_classes(np.array(["price", "staff"]), ["staff", "parking"]).tolist()
    ['price', 'staff', 'parking']
    """
    classes = np.asarray(classes)
    known = set(classes.tolist())
    new = sorted({name for name in names if name not in known}, key=str)
    if not new:
        return classes
    if classes.dtype.kind in "iufb":
        raise DataError(
            f"{str(new[0])[:40]!r} is not one of the classes, which are numbers; a new class needs names as classes.",
            code="bad-labels",
        )
    return np.array([*classes.tolist(), *new])


# Words


def _check_words(word_labels: Mapping, classes: np.ndarray) -> dict[str, Any]:
    words = {}
    for word, label in word_labels.items():
        weights = label if isinstance(label, Mapping) else {label: 1.0}
        matched = match_classes(list(weights), classes.tolist())
        if any(name is None for name in matched):
            raise DataError(f"The word {str(word)[:40]!r} has no label; name a class.", code="bad-word-labels")
        words[str(word)] = dict(zip(matched, map(float, weights.values()), strict=True))
    return words


def _word_classes(words: Mapping[str, dict]) -> list:
    return [name for weights in words.values() for name in weights]


def _word_rows(
    views: DocumentViews, words: Mapping[str, dict], code: Mapping, n_opinions: int
) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """A labelled word is a document that holds this word alone; words that no document holds teach nothing."""
    pairs = [(word, name) for word, weights in sorted(words.items()) for name, weight in weights.items() if weight > 0]
    if not pairs:
        return None
    rows = views.words([word for word, _ in pairs], n_opinions)
    filled = np.flatnonzero(np.asarray(rows.getnnz(axis=1)).ravel())
    codes = np.array([code[name] for _, name in pairs], dtype=int)
    return (rows[filled], codes[filled]) if len(filled) else None


# Tables of answers


def read_answers(result: LabelResult, table: Any, *, drawn: str | None = None, name: str = "") -> Answers:
    """Answers from a table, a mapping of ids to labels, or one label per text."""
    if drawn is not None and drawn not in DRAWN:
        raise UsageError(f"drawn={drawn!r}; use one of {', '.join(DRAWN)}.", code="bad-parameter")
    if table is None:
        return Answers()
    columns = _as_columns(table, result)
    rows, truths = _find_rows(columns, result)
    labels = match_classes(truths, result.classes.tolist())
    kinds = [drawn or _drawn(cell) for cell in columns.get("drawn", [None] * len(rows))]
    by = [plain(cell) for cell in columns.get("by", [None] * len(rows))]
    found: dict[int, tuple] = {}
    for row, label, kind, who in zip(rows, labels, kinds, by, strict=True):
        if label is None:
            continue
        if row in found and found[row][0] != label:
            named = f" (id {str(result.ids[row])[:40]!r})" if result.ids else ""
            raise DataError(
                f"Document {row + 1:,}{named} is answered twice, as {str(found[row][0])[:40]!r} and as "
                f"{str(label)[:40]!r}; decide for one.",
                code="bad-answers",
            )
        found[row] = (label, kind, who)
    blank = sorted({row for row, label in zip(rows, labels, strict=True) if label is None} - set(found))
    if not found and len(truths):
        raise DataError(
            f"None of the {len(truths):,} documents has a true label; fill in at least one.", code="bad-answers"
        )
    values = list(found.values())
    return Answers(
        rows=list(found),
        labels=[label for label, _, _ in values],
        drawn=[kind for _, kind, _ in values],
        by=[who for _, _, who in values],
        batch=[name] * len(found),
        blank=blank,
    )


def _as_columns(table: Any, result: LabelResult) -> dict[str, list]:
    if isinstance(table, Mapping) and TRUTH not in table and not any(map(_is_column, table.values())):
        return {"id": list(table), TRUTH: list(table.values())}
    is_rows = isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table)
    if (isinstance(table, Sequence) and not is_rows) or isinstance(table, np.ndarray):
        if len(table) != len(result.texts):
            raise DataError(
                f"There are {len(table):,} answers and {len(result.texts):,} texts; give one label per text, None "
                "where it is unknown, or a table with the columns id and true_label.",
                code="length-mismatch",
            )
        return {"document": list(range(1, len(table) + 1)), TRUTH: list(table)}
    if is_rows:
        names = dict.fromkeys(key for row in table for key in row)
        return {key: [row.get(key) for row in table] for key in names}
    return {str(key): list(table[key]) for key in getattr(table, "columns", table)}


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _id_column(columns: dict[str, list], result: LabelResult) -> str | None:
    """The column that holds ids of the labelling under another name, as in the table that was labelled."""
    known = {str(name).strip() for name in result.ids or ()}
    for name, cells in columns.items():
        filled = [plain(cell) for cell in cells if plain(cell)]
        if name != TRUTH and filled and known.issuperset(filled) and len(set(filled)) == len(filled):
            return name
    return None


def _find_rows(columns: dict[str, list], result: LabelResult) -> tuple[list[int], list]:
    """Documents of the answers, by number or by id."""
    given = ", ".join(columns) or "none"
    if not {"document", "id"} & set(columns):
        named = _id_column(columns, result)
        columns = columns if named is None else columns | {"id": columns[named]}
    if TRUTH not in columns or not ({"document", "id"} & set(columns)):
        raise DataError(
            f"The answers have the columns {given}; true_label and id (or document) are needed.",
            code="bad-answers",
        )
    if "document" not in columns:
        filled = [place for place, cell in enumerate(columns["id"]) if plain(cell)]
        columns = {key: [cells[place] for place in filled] for key, cells in columns.items()}
        columns["document"] = _number_ids(columns.pop("id"), result)
    elif "id" in columns:
        columns = columns | {"document": _fill_numbers(columns["document"], columns["id"], result)}
    try:
        rows, truths = read_sample(columns, result.texts, result.ids)
    except DataError as error:
        if error.code != "bad-check":
            raise
        raise DataError(str(error).replace("checked sample", "answers"), code="bad-answers") from None
    return rows.tolist(), truths


def _fill_numbers(numbers: list, ids: list, result: LabelResult) -> list:
    """Numbers of documents, those left blank found by id: people add rows of their own to a table of questions."""
    if len(numbers) != len(ids):
        return numbers  # told of where lengths are compared
    added = [place for place, cell in enumerate(numbers) if not plain(cell) and plain(ids[place])]
    found = dict(zip(added, _number_ids([ids[place] for place in added], result), strict=True))
    return [found.get(place, cell) for place, cell in enumerate(numbers)]


def _number_ids(cells: list, result: LabelResult) -> list[int]:
    """Numbers of the documents with these ids; 7 and 7.0 are found as 007, for so spreadsheets write it."""
    places: dict[Any, list[int]] = {}
    for place, known in enumerate(result.ids or map(str, range(1, len(result.texts) + 1))):
        name = str(known).strip()
        for key in {name, as_number(name)} - {None}:
            places.setdefault(key, []).append(place)
    numbers, unknown = [], []
    for cell in cells:
        name = plain(cell)
        found = places.get(name) or places.get(as_number(name), [])
        if len(found) > 1:
            raise DataError(
                f"The id {name[:40]!r} stands for {len(found):,} documents; give the column document, which numbers "
                "them from 1.",
                code="bad-answers",
            )
        numbers += [place + 1 for place in found]
        unknown += [] if found else [name]
    if unknown:
        others = f" and {len(unknown) - 1:,} more are" if len(unknown) > 1 else " is"
        raise DataError(
            f"The id {unknown[0][:40]!r}{others} not among the documents; mend or delete these rows, or give the "
            "answers to the labelling that they are about.",
            code="bad-answers",
        )
    return numbers


def _drawn(cell: Any) -> str:
    kind = plain(cell).casefold()
    return kind if kind in DRAWN else PICKED


# Asking


def ask(result: LabelResult, n: int = 50, *, suggest: bool = False) -> dict[str, list]:
    """Documents a person should read next; see :meth:`LabelResult.ask`."""
    _check_count(n)
    known = _answers(result)
    views = fit_views(result)
    opinions = _opinions(result)
    base = result.model.base if isinstance(result.model, TaughtModel) else result.model
    said = {name: base.classes_[part.argmax(axis=1)] for name, part in opinions.items()} if len(opinions) > 1 else {}
    questions = ask_documents(
        result.probabilities,
        result.classes,
        said,
        views.meaning(result.texts),
        n,
        answered=known.rows,
        passed_over=known.blank,
        groups=getattr(result, "novel_group", None),
    )
    rows = [question.row for question in questions]
    ids = result.ids or [str(row + 1) for row in range(len(result.texts))]
    table: dict[str, list] = {
        "document": [row + 1 for row in rows],
        "id": [ids[row] for row in rows],
        "text": [result.texts[row] for row in rows],
        TRUTH: [None] * len(rows),
    }
    if suggest:
        table["label"] = [result.labels[row] for row in rows]
        table["confidence"] = [round(float(result.confidence[row]), 4) for row in rows]
    return table | {"reason": [question.reason for question in questions], "drawn": [ASKED] * len(rows)}


def ask_about_words(result: LabelResult, n: int = 20) -> dict[str, list]:
    """Words worth a person's opinion; see :meth:`LabelResult.ask`."""
    _check_count(n)
    views = fit_views(result)
    vectorizer = views.vectorizer_
    rows = vectorizer.transform(result.texts)
    known = {term for word in _answers(result).words for term in vectorizer.analyze(word)}
    found = ask_words(rows, vectorizer.feature_names_, result.probabilities, n + len(known))
    found = [row for row in found if row["word"] not in known][:n]
    forms = _written_forms(vectorizer, result.texts, [row["word"] for row in found])
    return {
        "word": [forms.get(row["word"], row["word"]) for row in found],
        "label": [None] * len(found),
        "suggestion": [result.classes[row["code"]] for row in found],
        "documents": [row["documents"] for row in found],
        "settles": [round(row["settles"], 2) for row in found],
    }


def _written_forms(vectorizer: Any, texts: Sequence[str], stems: Sequence[str]) -> dict[str, str]:
    from isthmus.features.tokens import surface_forms

    forms = surface_forms(vectorizer, texts)
    return {stem: forms[stem] for stem in stems if stem in forms}


def _check_count(n: int) -> None:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise UsageError(f"n={n!r}; give a number of at least 1.", code="bad-parameter")


def fit_views(result: LabelResult) -> DocumentViews:
    """Views of the labelling's texts; made once for a labelling, and kept by the model once it is taught."""
    if isinstance(result.model, TaughtModel):
        return result.model.views
    kept = result.__dict__.get("_views")  # asking comes before teaching, and both need them
    if kept is not None:
        return kept
    wanted = ("analyzer", "min_df", "language", "random_state")
    settings = {name: result.settings[name] for name in wanted if name in result.settings}
    embedder = find_embedder(result)
    views = DocumentViews(**settings, embedder=embedder).fit(
        result.source_texts, result.source_labels.tolist(), result.texts
    )
    result.__dict__["_views"] = views
    return views


def find_embedder(result: LabelResult) -> TextEmbedder | None:
    """What makes vectors of texts: the model that a method of the labelling uses, or else the packaged one."""
    steps = vector_steps(result.model)
    if steps:
        return TextEmbedder(steps[0].model)
    static = result.settings.get("vectors") == STATIC and has_static_vectors()
    return TextEmbedder(STATIC) if static else None


def vector_steps(model: Any) -> list[TextEmbedder]:
    """All steps of a model that make vectors."""
    if isinstance(model, TaughtModel):
        own = [] if model.views.embedder is None else [model.views.embedder]
        return [*own, *vector_steps(model.base)]
    if isinstance(model, RenamedModel):
        return vector_steps(model.base)
    members = model.members.values() if isinstance(model, CombinedModel) else [model]
    return [step for member in members for _, step in getattr(member, "steps", ()) if isinstance(step, TextEmbedder)]


def _answers(result: LabelResult) -> Answers:
    """What is known so far; no answer yet is not the same as nothing: rows left blank and words are kept too."""
    return Answers() if result.answers is None else Answers(**vars(result.answers))  # files of old know no origins


def _opinions(result: LabelResult) -> dict[str, np.ndarray]:
    if result.opinions:
        return result.opinions
    base = result.model.base if isinstance(result.model, TaughtModel) else result.model
    return ask_voters(base, result.texts)[0]


# Classes


def rename_classes(result: LabelResult, names: Mapping) -> LabelResult:
    """Classes renamed or merged; see :meth:`LabelResult.rename_classes`."""
    known = result.classes.tolist()
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise UsageError(
            f"{str(unknown[0])!r} is not a class; the classes are {', '.join(map(str, known))}."
            if unknown
            else "There is nothing to rename; give {old name: new name}.",
            code="bad-parameter",
        )
    blank = [old for old, new in names.items() if not plain(new)]
    if blank:
        raise UsageError(f"The class {str(blank[0])!r} gets no name; give one.", code="bad-parameter")
    names = dict(names)
    taught = isinstance(result.model, TaughtModel)
    untaught = _untaught(result)
    vote, classes = merge_classes(untaught.probabilities, untaught.classes, names)
    source = np.array([names.get(label, label) for label in untaught.source_labels.tolist()], dtype=object)
    opinions = untaught.opinions
    if opinions is not None:
        opinions = {name: merge_classes(part, untaught.classes, names)[0] for name, part in opinions.items()}
    merged = len(classes) < len(untaught.classes)
    plain_result = replace(
        untaught,
        labels=classes[vote.argmax(axis=1)],
        confidence=vote.max(axis=1) if merged else untaught.confidence,
        classes=classes,
        probabilities=vote,
        model=RenamedModel(untaught.model, names),
        source_labels=source,
        opinions=opinions,
        vote=None,
    )
    if not taught:
        return plain_result
    known_answers = _answers(result).renamed(names)
    said = np.array([names.get(label, label) for label in result.labels.tolist()])
    earlier = replace(plain_result, labels=said, classes=np.unique(said))
    return _learn(plain_result, earlier, known_answers, Answers())


__all__ = ["RANDOM", "Learned", "ask", "ask_about_words", "extend_classes", "read_answers", "rename_classes", "teach"]
