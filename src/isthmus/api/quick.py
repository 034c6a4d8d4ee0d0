"""Later texts by a saved model, without loading what fitted it: rules and arrays, in a part of the file of its own.

The rules are those of the fitted estimators (``prediction_rule()`` of a classifier, ``row_step()`` of what stands
before it), so that labels, confidences and reasons are the same. Arrays are read from where the saved model has them;
nothing is stored twice. A model that holds anything else has no such part, and is loaded whole.
"""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from isthmus._math.confidence import review_later, sharpen, without_text
from isthmus._math.rows import rows_are_empty, softmax, unit_rows, unknown_texts
from isthmus._utils import warn
from isthmus.choose.combined import LEXICON, CombinedModel
from isthmus.choose.guaranteed import Step, look_at_random
from isthmus.choose.prevalence import ShareFacts, value_masks, with_source
from isthmus.classify.centroids import CentredRows
from isthmus.exceptions import DataError, IsthmusError
from isthmus.features.counting import sharing
from isthmus.features.term_rows import TermRows, run_steps
from isthmus.features.tokens import WordAnalyzer

PART = "quick.json"
ARRAYS = "quick/"  # entries of the archive that hold arrays which the saved model does not have
FORMAT = 1  # of this part; one of another number is passed over
_PLAIN = (str, int, float, bool, type(None))
# What a file may name. Nothing in it acts when an object is made.
_MODULES = {
    "isthmus.features.term_rows": "TermRows Vocabulary LatentRows UnitRows SideBySide",
    "isthmus.features.static_vectors": "StaticRows",
    "isthmus.classify.rules": "LinearRule CentroidRule CoClusterRule ProjectionRule DualRule NamesRule StringRule "
    "KernelBend",
    "isthmus.api.quick": "PipelineRule VoteRule NovelGroups QuickModel",
}
_RULES = {name: module for module, names in _MODULES.items() for name in names.split()}


class NotQuickError(Exception):
    """The model holds something that has no rule."""


# -- models ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PipelineRule:
    """A fitted pipeline: steps from texts to rows, and what turns rows into scores."""

    steps: Sequence[Any]
    rule: Any
    classes_: np.ndarray

    @classmethod
    def of(cls, pipeline: Any) -> PipelineRule:
        *before, (_, last) = pipeline.steps
        rule = last.prediction_rule() if hasattr(last, "prediction_rule") else None
        if rule is None:
            raise NotQuickError(type(last).__name__)
        return cls([_step(step) for _, step in before], rule, pipeline.classes_)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        return softmax(self.rule.scores(self.rows(texts)))

    def rows(self, texts: Sequence[str]) -> Any:
        rows = run_steps(self.steps, texts)
        if isinstance(rows, np.ndarray):  # estimators compute in double precision, whatever a model's vectors have
            rows = rows.astype(np.float64, copy=False)
        return rows

    def has_no_terms(self, texts: Sequence[str]) -> np.ndarray:
        """Texts in which it finds nothing it knows; what reads raw texts knows every character."""
        if not self.steps:
            return np.array([not text.strip() for text in texts], dtype=bool)
        return rows_are_empty(run_steps(self.steps, texts))


_SINGLE = (
    "sharpness", "share_factors", "lexicon_power", "lexicon_offsets", "lexicon_weight", "lexicon_sharpness",
    "names_share", "names_sharpness", "shift",
)  # fmt: skip


@dataclass(frozen=True)
class VoteRule:
    members: Mapping[str, PipelineRule]
    weights: Mapping[str, float]
    names: PipelineRule | None
    single: Mapping[str, Any]  # the other numbers of the vote
    lexicon: PipelineRule | None = None  # labelled words alone

    @classmethod
    def of(cls, model: CombinedModel) -> VoteRule:
        several = {name: PipelineRule.of(member) for name, member in model.members.items()}
        if model.lexicon_model is not None:
            several[LEXICON] = PipelineRule.of(model.lexicon_model)
        members = share_counts(several)
        lexicon = members.pop(LEXICON, None)
        names = None if model.names_model is None else PipelineRule.of(model.names_model)
        return cls(members, model.weights, names, {name: getattr(model, name) for name in _SINGLE}, lexicon)

    def joined(self) -> CombinedModel:
        model = _VoteOfRules(dict(self.members), dict(self.weights))
        model.weights = dict(self.weights)  # as they were: dividing by their sum once more could move the last digit
        model.lexicon_model = self.lexicon
        if self.names is not None:
            model.add_names_model(self.names)
        for name in _SINGLE:  # an older file has fewer
            setattr(model, name, self.single.get(name, getattr(model, name)))
        return model


class _VoteOfRules(CombinedModel):
    def _read_for_words(self, texts: Sequence[str]) -> tuple[Any, Any]:
        return self.lexicon_model.rule, self.lexicon_model.rows(texts)


def share_counts(members: Mapping[str, PipelineRule]) -> dict[str, PipelineRule]:
    """Pipelines that count the same terms share words, counts and rows of a text."""
    seen: list[TermRows] = []

    def known(step: Any) -> Any:
        if not isinstance(step, TermRows):
            return step
        like = next((other for other in seen if other.counts_as(step)), step)
        idf = next((other.idf for other in seen if np.array_equal(other.idf, step.idf)), step.idf)
        step = replace(step, words=like.words, vocabulary=like.vocabulary, idf=idf, share=True)
        seen.append(step)
        return step

    return {name: replace(one, steps=[known(step) for step in one.steps]) for name, one in members.items()}


def _step(step: Any) -> Any:
    if hasattr(step, "term_rows"):
        return step.term_rows
    found = step.row_step() if hasattr(step, "row_step") else _sklearn_step(step)
    if found is None:
        raise NotQuickError(type(step).__name__)
    return found


def _sklearn_step(step: Any) -> Any:
    from sklearn.pipeline import FeatureUnion
    from sklearn.preprocessing import Normalizer

    from isthmus.features.term_rows import SideBySide, UnitRows

    if type(step) is Normalizer and step.norm == "l2":
        return UnitRows()
    if type(step) is FeatureUnion and not step.transformer_weights:
        return SideBySide([[_step(inner) for _, inner in chain.steps] for _, chain in step.transformer_list])
    return None


@dataclass(frozen=True)
class NovelGroups:
    """Centres of the new groups and of the classes: a later text belongs to the nearest."""

    rows: TermRows
    mean: np.ndarray
    centres: np.ndarray
    names: Sequence[str]  # of each centre: '' for a class

    @classmethod
    def of(cls, rows: TermRows, X: Any, groups: np.ndarray, labels: np.ndarray) -> NovelGroups:
        """From the rows ``X`` of labelled texts, the group of each ('' for none) and its label."""
        marked = groups != ""
        kinds = np.where(marked, 1, 0), np.where(marked, groups, labels.astype(object))
        names, codes = np.unique([f"{kind} {name}" for kind, name in zip(*kinds, strict=True)], return_inverse=True)
        centred = CentredRows.about(X)
        centres = unit_rows(centred.sums(np.eye(len(names))[codes]))
        return cls(rows, centred.mean, centres, [name[2:] if name.startswith("1 ") else "" for name in names.tolist()])

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Name of the new group of each text, '' for none."""
        nearest = CentredRows.about(self.rows(texts), self.mean).dot(self.centres).argmax(axis=1)
        return np.array([self.names[place] for place in nearest], dtype=object)


def no_groups(texts: Sequence[str]) -> np.ndarray:
    return np.full(len(texts), "", dtype=object)


# -- labels ------------------------------------------------------------------------------------------------------------


def warn_of_unknown(unknown: np.ndarray) -> None:
    if 2 * unknown.sum() > len(unknown):
        message = (
            f"The model finds no term that it knows in {unknown.sum():,} of {len(unknown):,} new texts, so their "
            "labels are guesses; label these texts afresh from the source, and look whether the two share a language."
        )
        warn(message, code="weak-bridge")


def label_columns(result: Any) -> dict[str, list]:
    return {
        "text": list(result.texts),
        "label": result.labels.tolist(),
        "confidence": [round(float(value), 4) for value in result.confidence],
        "needs_review": result.needs_review.tolist(),
        "novel_group": result.novel_group.tolist(),
        "review_reason": result.review_reason.tolist(),
    }


def earlier_decision(decision: list[dict]) -> list[dict]:
    """The methods that were chosen, without the evidence, which is about the earlier texts."""
    start = "chosen on the earlier target: "
    return [
        {name: row[name] for name in ("method", "chosen", "weight") if name in row}
        | {"why": start + row["why"].removeprefix(start)}
        for row in decision
        if row["chosen"]
    ]


def later_labels(
    model: Any, texts: list[str], probabilities: np.ndarray, calibrated: np.ndarray, unknown: np.ndarray
) -> dict[str, Any]:
    """What a labelling or its rules say about later texts, as fields of a result; ``unknown`` texts hold no term."""
    codes = probabilities.argmax(axis=1)
    groups = (model.groups or no_groups)(texts)
    judged = calibrated, codes, groups, unknown, model.settings
    confidence, reasons = review_later(*judged, unverified=model.unverified)
    return {
        "texts": texts,
        "labels": model.classes[codes],
        "confidence": confidence,
        "needs_review": np.asarray(reasons != "", dtype=bool),
        "review_reason": reasons,
        "decision": earlier_decision(model.decision),
        "novel_group": groups,
        "novel": [
            group | {"documents": int(np.sum(groups == group["group"]))}
            for group in model.novel
            if group["group"] in groups
        ],
    }


@dataclass
class QuickModel:
    """Labels later texts as :meth:`isthmus.api.label.LabelResult.label_new` does."""

    model: PipelineRule | VoteRule
    classes: np.ndarray
    power: float  # that brings probabilities to the accuracy that was expected
    groups: NovelGroups | None
    unverified: bool
    method: str
    decision: list[dict]
    novel: list[dict]
    sources: list[dict]
    settings: dict[str, Any]
    source_counts: list[list]  # classes and how many labelled documents of the source each has
    n_source: int

    def label_new(self, texts: Sequence[str], *, ids: Sequence[str] | None = None, vectors: None = None) -> QuickLabels:
        """Labels of later texts; no rule takes vectors."""
        try:
            return self._label(list(texts), ids)
        except IsthmusError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(
                "The saved model is damaged: parts of it do not fit each other; save it anew.", code="bad-model"
            ) from error

    def _label(self, texts: list[str], ids: Sequence[str] | None) -> QuickLabels:
        unknown = self.no_known_terms(texts)
        warn_of_unknown(unknown)
        probabilities = self.predict_proba(texts)
        calibrated = sharpen(probabilities, self.power)
        found = later_labels(self, texts, probabilities, calibrated, unknown)
        return QuickLabels(self, probabilities=calibrated, ids=ids, **found)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probabilities before calibration."""
        with sharing():
            return self._asked.predict_proba(texts)

    @cached_property
    def _asked(self) -> Any:
        return self.model.joined() if isinstance(self.model, VoteRule) else self.model

    def no_known_terms(self, texts: Sequence[str]) -> np.ndarray:
        """Texts in which no pipeline finds anything; those that read raw texts are asked first."""
        members = list(self.model.members.values()) if isinstance(self.model, VoteRule) else [self.model]
        members.sort(key=lambda member: len(member.steps) > 0)
        return unknown_texts([member.has_no_terms for member in members], texts)


@dataclass
class QuickLabels:
    """Labels of later texts: what is written and printed of a :class:`isthmus.api.label.LabelResult`."""

    by: QuickModel
    texts: list[str]
    labels: np.ndarray
    probabilities: np.ndarray  # calibrated
    confidence: np.ndarray
    needs_review: np.ndarray
    review_reason: np.ndarray
    decision: list[dict]
    novel_group: np.ndarray
    novel: list[dict]
    ids: Sequence[str] | None = None
    warnings: list[dict] = field(default_factory=list)
    expected_accuracy: None = None  # it was an estimate for the earlier texts
    answers: None = None
    learned: None = None

    def __post_init__(self) -> None:
        self.classes, self.method, self.settings = self.by.classes, self.by.method, self.by.settings
        self.sources = self.by.sources

    @property
    def document_ids(self) -> list[str]:
        return list(self.ids or map(str, range(1, len(self.texts) + 1)))

    def columns(self) -> dict[str, list]:
        return label_columns(self)

    def class_shares(self, by: Sequence | None = None) -> list[dict]:
        counted = ~without_text(self.texts)
        facts = ShareFacts(self.classes.tolist(), self.labels, self.probabilities, self.confidence, counted=counted)
        source = [name for name, count in self.by.source_counts for _ in range(count)]
        if by is None:
            return with_source(facts.shares(), source)
        masks = value_masks(list(by), len(self.texts))[1]
        return [
            {"value": value, "documents": int(mask.sum())} | row
            for value, mask in masks
            for row in with_source(facts.shares(mask), source)
        ]

    def next_step(self) -> Step | None:
        """A random sample where no label needs review; nothing is expected, so that no other reading is forecast."""
        return None if self.needs_review.any() else look_at_random(self.texts)

    def forecast(self, n: int) -> None:
        """Nothing is expected of these labels, so nothing is forecast."""


# -- the part of the file ----------------------------------------------------------------------------------------------


def write_quick(archive: zipfile.ZipFile, quick: QuickModel, saved: zipfile.ZipFile, texts: Mapping[str, Any]) -> bool:
    """Write the part, with references to ``saved`` arrays and kept ``texts``; whether it could be."""
    packer = _Packer(saved, texts)
    try:
        content = packer.pack(quick)
    except NotQuickError:
        return False
    archive.writestr(PART, json.dumps({"format": FORMAT, "nodes": packer.nodes, "content": content}))
    for name, data in packer.arrays.items():
        archive.writestr(name, data)
    return True


class _Packer:
    """Rules as JSON: each is kept once, arrays and texts by where they are."""

    def __init__(self, saved: zipfile.ZipFile, texts: Mapping[str, Any]):
        self.nodes: list = []
        self.arrays: dict[str, bytes] = {}
        self._known: dict[str, int] = {}
        self._held = {sha256(saved.read(name)).digest(): name for name in saved.namelist() if name.endswith(".npy")}
        self._texts = {text: [name, place] for name, rows in texts.items() for place, text in enumerate(rows or ())}

    def pack(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) in _PLAIN:
            return value
        if isinstance(value, np.ndarray):
            return self._pack_array(value)
        if isinstance(value, (list, tuple)):
            rows = list(value)
            if len(rows) > 100 and all(type(one) is str and one in self._texts for one in rows):
                return {"texts": [self._texts[one] for one in rows]}
            kind = "tuple" if isinstance(value, tuple) else "list"
            if all(type(one) in _PLAIN for one in rows):
                return {"plain": rows, "kind": kind}
            return {"rows": [self.pack(one) for one in rows], "kind": kind}
        if isinstance(value, Mapping):
            return {"map": [[self.pack(key), self.pack(one)] for key, one in value.items()]}
        if isinstance(value, frozenset):
            return {"set": sorted(value)}
        if isinstance(value, WordAnalyzer):
            return self._node({"words": {name: self.pack(one) for name, one in value.settings().items()}})
        if is_dataclass(value) and type(value).__name__ in _RULES:
            parts = {one.name: self.pack(getattr(value, one.name)) for one in fields(value)}
            return self._node({"rule": type(value).__name__, "fields": parts})
        raise NotQuickError(type(value).__name__)

    def _node(self, found: dict) -> dict:
        key = json.dumps(found)
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(found)
        return {"node": self._known[key]}

    def _pack_array(self, value: np.ndarray) -> dict:
        if value.dtype.kind in "UO":
            if not all(type(one) in _PLAIN for one in value.tolist()) or value.ndim != 1:
                raise NotQuickError("names")
            return {"names": value.tolist(), "object": value.dtype.kind == "O"}
        if value.dtype.kind not in "fiub":
            raise NotQuickError(str(value.dtype))
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        data = buffer.getvalue()
        held = self._held.get(sha256(data).digest())
        if held is not None:
            return {"held": held}
        name = f"{ARRAYS}{sha256(data).hexdigest()[:16]}.npy"
        self.arrays[name] = data
        return {"array": name}


def read_quick(
    archive: zipfile.ZipFile, saved: zipfile.ZipFile, texts: Callable[[], Mapping[str, list]]
) -> QuickModel | None:
    """The part of an archive; None where there is none that this version reads."""
    if PART not in archive.namelist():
        return None
    record = json.loads(archive.read(PART))
    if record["format"] != FORMAT:
        return None
    found = _Unpacker(archive, saved, texts, record["nodes"]).unpack(record["content"])
    if not isinstance(found, QuickModel):
        raise ValueError("not a model")
    return found


class _Unpacker:
    """The rules behind :class:`_Packer`; only those that are named here are made."""

    def __init__(self, archive: zipfile.ZipFile, saved: zipfile.ZipFile, texts: Callable, nodes: list):
        self._archive, self._saved, self._texts = archive, saved, texts
        self._made: list = []
        for node in nodes:
            self._made.append(self._make(node))

    def _make(self, node: dict) -> Any:
        if "words" in node:
            return WordAnalyzer.from_settings({name: self.unpack(one) for name, one in node["words"].items()})
        module = importlib.import_module(_RULES[node["rule"]])
        return getattr(module, node["rule"])(**{name: self.unpack(one) for name, one in node["fields"].items()})

    def unpack(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "node" in value:
            return self._made[value["node"]]
        if "kind" in value:
            rows = value["plain"] if "plain" in value else [self.unpack(one) for one in value["rows"]]
            return tuple(rows) if value["kind"] == "tuple" else rows
        if "map" in value:
            return {self.unpack(key): self.unpack(one) for key, one in value["map"]}
        if "set" in value:
            return frozenset(value["set"])
        if "texts" in value:
            texts = self._texts()
            return [texts[name][place] for name, place in value["texts"]]
        if "names" in value:
            return np.array(value["names"], dtype=object if value["object"] else None)
        source, name = (self._saved, value["held"]) if "held" in value else (self._archive, value["array"])
        return read_array(source.read(name))


def read_array(data: bytes) -> np.ndarray:
    """An array of numbers from a ``.npy`` file, whose header may claim no more than the file holds."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(stream)
    if dtype.kind not in "fiub":
        raise ValueError(f"an array of {dtype}")
    values = np.frombuffer(data, dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C").copy(order="K")  # its own memory, in the same order
