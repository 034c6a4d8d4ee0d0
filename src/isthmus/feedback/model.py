"""A fitted model together with what was learned from answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from isthmus._math.confidence import sharpen
from isthmus._math.rows import rows_are_empty, softmax, unknown_texts
from isthmus.exceptions import UsageError
from isthmus.features.embeddings import TextEmbedder, VectorTable
from isthmus.features.tokens import readable, surface_forms
from isthmus.feedback.correction import Correction
from isthmus.feedback.self_training import WordModel
from isthmus.feedback.views import FLOOR, WORDS, DocumentViews
from isthmus.pipeline import TransferPipeline

FEWEST_ANSWERS = 10  # below which nothing is expected, and nothing brings the confidences to what answers say


class TaughtModel:
    """Labels texts by a fitted model and a correction that was learned from answers.

    ``base`` (a fitted pipeline of raw text, or several that vote) is left as it is; ``views`` were fitted on the same
    collections; ``word_model`` is what one round of self-training made of the corrected probabilities. ``classes_`` are
    those of the base and those that only answers name, in order.
    """

    def __init__(self, base: Any, views: DocumentViews, correction: Correction, word_model: WordModel):
        self.base = base
        self.views = views
        self.correction = correction
        self.word_model = word_model
        self._order = np.argsort(correction.classes, kind="stable")
        self.classes_ = correction.classes[self._order]

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        opinions, vote = ask_voters(self.base, texts)
        return self.from_rows(self.views.transform(texts, list(opinions.values())), vote)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def from_rows(self, rows: Any, vote: np.ndarray) -> np.ndarray:
        corrected = self.correction.probabilities(rows, vote)
        by_words = self.word_model.probabilities(self.views.words_of(rows))
        return mix(corrected, by_words, self.word_model.share)[:, self._order]

    def document_terms(self, text: str, explain: Callable[[Any, str], list[dict]]) -> list[dict]:
        """Terms for and against each class: what the base says (by ``explain``) and what answers taught, added up.

        Both parts are made to sum to one (the base's to ``trust``).
        """
        vectorizer = self.views.vectorizer_
        row = vectorizer.transform([text])
        share, n_words = self.word_model.share, row.shape[1]
        effects = (1 - share) * self.correction.sharpness * np.sqrt(WORDS) * self.correction.coef[:n_words]
        effects = (effects + share * self.word_model.power * self.word_model.coef[:n_words])[:, self._order]
        taught = [
            {"class": label, "term": str(vectorizer.feature_names_[term]), "contribution": value * effects[term, code]}
            for code, label in enumerate(self.classes_.tolist())
            for term, value in zip(row.indices, row.data, strict=True)
        ]
        forms = surface_forms(vectorizer, [text], whole=False)
        shares: dict[tuple, float] = {}
        for part, weight in ((explain(self.base, text), self.correction.trust), (taught, 1.0)):
            total = sum(abs(found["contribution"]) for found in part) or 1.0
            for found in part:
                place = found["class"], readable(str(found["term"]), forms)
                shares[place] = shares.get(place, 0.0) + weight * float(found["contribution"]) / total
        return [{"class": label, "term": term, "contribution": share} for (label, term), share in shares.items()]


def mix(corrected: np.ndarray, by_words: np.ndarray, share: float) -> np.ndarray:
    """Weighted geometric mean of correction and self-training."""
    logs = [np.log(np.maximum(part, FLOOR)) for part in (corrected, by_words)]
    return softmax((1 - share) * logs[0] + share * logs[1])


def ask_voters(model: Any, texts: Sequence[str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Probabilities by each method that votes, and by all together; a single method is its own only voter."""
    if hasattr(model, "ask"):
        return model.ask(texts)
    if hasattr(model, "opinions"):
        opinions = model.opinions(texts)
        return opinions, model.from_opinions(opinions)
    probabilities = model.predict_proba(texts)
    return {"vote": probabilities}, probabilities


class RenamedModel:
    """A fitted model whose classes were renamed or merged; probabilities of merged classes are added up.

    Classes that are not in ``names`` (new by old) keep theirs.
    """

    def __init__(self, base: Any, names: dict):
        self.base = base
        self.names = dict(names)
        self.classes_ = merge_classes(np.zeros((0, len(base.classes_))), base.classes_, names)[1]

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        return self._merge(self.base.predict_proba(texts))

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def ask(self, texts: Sequence[str]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """See :func:`ask_voters`."""
        opinions, vote = ask_voters(self.base, texts)
        return {name: self._merge(part) for name, part in opinions.items()}, self._merge(vote)

    def document_terms(self, text: str, explain: Callable[[Any, str], list[dict]]) -> list[dict]:
        """The base's account, with the classes renamed and what is said of merged ones added up."""
        shares: dict[tuple, float] = {}
        for found in explain(self.base, text):
            place = self.names.get(found["class"], found["class"]), found["term"]
            shares[place] = shares.get(place, 0.0) + float(found["contribution"])
        return [{"class": label, "term": term, "contribution": share} for (label, term), share in shares.items()]

    def _merge(self, probabilities: np.ndarray) -> np.ndarray:
        return merge_classes(probabilities, self.base.classes_, self.names)[0]


def merge_classes(probabilities: np.ndarray, classes: np.ndarray, names: dict) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and classes after renaming; columns of classes that get one name are added up."""
    renamed = np.array([names.get(name, name) for name in np.asarray(classes).tolist()])
    merged, place = np.unique(renamed, return_inverse=True)
    sums = np.zeros((len(probabilities), len(merged)))
    for column, target in enumerate(place):
        sums[:, target] += probabilities[:, column]
    return sums, merged


def renamed_model(model: Any, names: dict) -> Any:
    """The model under new names; renaming back gives the model as it was."""
    if not isinstance(model, RenamedModel):
        return RenamedModel(model, names)
    present = set(model.names.values())
    composed = {old: names.get(new, new) for old, new in model.names.items()}
    composed |= {old: new for old, new in names.items() if old not in present and old not in model.names}
    composed = {old: new for old, new in composed.items() if old != new}
    return RenamedModel(model.base, composed) if composed else model.base


def taught_part(model: Any) -> TaughtModel | None:
    inner = model.base if isinstance(model, RenamedModel) else model
    return inner if isinstance(inner, TaughtModel) else None


def voting_part(model: Any) -> Any:
    """The model as it was before any answer, under the names that its classes have now."""
    taught = taught_part(model)
    if taught is None:
        return model
    return renamed_model(taught.base, model.names) if isinstance(model, RenamedModel) else taught.base


def renames_of(model: Any) -> dict:
    """Present name by former name."""
    names: dict = {}
    while isinstance(model, TaughtModel | RenamedModel):
        if isinstance(model, RenamedModel):
            names = {**names, **{old: names.get(new, new) for old, new in model.names.items()}}
        model = model.base
    return names


def fitted_pipelines(model: Any) -> list[Any]:
    while isinstance(model, TaughtModel | RenamedModel):
        model = model.base
    return list(getattr(model, "members", {"": model}).values())


def vector_steps(model: Any) -> list[TextEmbedder]:
    taught = taught_part(model)
    own = [] if taught is None or taught.views.embedder is None else [taught.views.embedder]
    steps = [step for pipeline in fitted_pipelines(model) for _, step in getattr(pipeline, "steps", ())]
    return [*own, *(step for step in steps if isinstance(step, TextEmbedder))]


def add_vectors(model: Any, texts: list[str], vectors: Any) -> None:
    steps = vector_steps(model)
    tables = [step for step in steps if isinstance(step.model, VectorTable)]
    if not tables:
        what = "makes its own vectors" if steps else "uses no vectors"
        raise UsageError(f"The model {what}; leave vectors out.", code="bad-parameter")
    for step in tables:
        step.model = step.model.extended(texts, vectors)


def has_no_known_terms(model: Any, texts: Sequence[str]) -> np.ndarray:
    # What reads raw texts knows every word: asked first, it leaves the others next to nothing to read.
    pipelines = sorted(fitted_pipelines(model), key=lambda pipeline: len(pipeline.steps) > 1)
    return unknown_texts([partial(_no_terms, pipeline) for pipeline in pipelines], texts)


def _no_terms(pipeline: Any, texts: Sequence[str]) -> np.ndarray:
    if len(pipeline.steps) == 1:  # reads raw texts
        return np.array([not text.strip() for text in texts], dtype=bool)
    return rows_are_empty(pipeline[:-1].transform(texts))


def confidence_power(model: Any, settings: Mapping[str, Any]) -> float:
    """The power that brings a model's probabilities to the accuracy expected of it.

    Votes and ten or more answers bring their own; for a single method, and one that few answers or words alone taught,
    it was found when the labels were judged.
    """
    while isinstance(model, TaughtModel | RenamedModel):
        if isinstance(model, TaughtModel) and len(model.correction.held_out) >= FEWEST_ANSWERS:
            return 1.0
        model = model.base
    return settings.get("sharpness", 1.0) if isinstance(model, TransferPipeline) else 1.0


def calibrated_proba(
    model: Any, probabilities: np.ndarray, settings: Mapping[str, Any], vote: np.ndarray | None = None
) -> np.ndarray:
    """A model's probabilities brought to the accuracy expected of it; ``vote``: those before it was taught.

    Learning puts a floor under what the vote gives a class, so that answers can overrule it. Where a document keeps the
    label of the vote, the floor is taken off again: one labelled word must not lower the confidence of documents that
    it says nothing about.
    """
    power = confidence_power(model, settings)
    if vote is None or power == 1.0:
        return sharpen(probabilities, power)
    places = np.searchsorted(model.classes_, voting_part(model).classes_)
    raised = np.zeros(probabilities.shape)
    raised[:, places] = np.log(np.maximum(vote, FLOOR)) - np.log(np.maximum(vote, 1e-300))
    kept = probabilities.argmax(axis=1) == places[vote.argmax(axis=1)]
    logs = np.log(np.maximum(probabilities, 1e-300)) - kept[:, None] * raised
    return sharpen(softmax(logs), power)
