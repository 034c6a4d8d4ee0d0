"""Steps of :func:`isthmus.label`: read the collections, fit the methods, judge the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from isthmus._math.confidence import (
    AccuracyEstimate,
    lower_confidence_in_groups,
    review_mask,
    review_reasons,
    with_caution,
    without_text,
)
from isthmus._math.rows import sharpen
from isthmus._progress import progress
from isthmus._utils import one_blas_thread, plural, warn
from isthmus._validation import check_texts, read_source_labels
from isthmus.api.methods import build_method, check_labelled, check_takes_classes
from isthmus.choose.budgets import no_text_warnings, review_warnings
from isthmus.choose.candidates import FittedCandidate, fit_candidate, make_scorer, texts_for, try_methods
from isthmus.choose.choice import Choice, decide
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.grades import grade_warnings
from isthmus.choose.model import LabelModel, Member
from isthmus.choose.names import NamedClasses, check_names_alone
from isthmus.choose.sources import weigh_sources
from isthmus.choose.stages.apply import NAMES, LabelShift, find_power
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import (
    assess,
    budget_caution,
    confidence_outside,
    disputed,
    estimate_accuracy,
    novel_names,
    with_added,
)
from isthmus.corpus.filled import names_a_class
from isthmus.corpus.guess import check_label_kind, list_columns
from isthmus.exceptions import DataError, UsageError
from isthmus.features.embeddings import (
    NAMED_MODELS,
    STATIC,
    VectorTable,
    check_vectors,
    has_static_vectors,
    resolve_embedder,
)
from isthmus.features.languages import resolve_language
from isthmus.features.term_rows import all_steps
from isthmus.features.vector_rows import VectorRows
from isthmus.feedback.model import vector_steps
from isthmus.methods import METHODS, get_method
from isthmus.options import BUDGET_OF, LabelOptions
from isthmus.pipeline import TransferPipeline
from isthmus.shift.findings import warn_of_two_languages

BY_NAMES_ALONE = "names and words of the classes, because no two classes have labelled documents"
OWN_TARGET = "the target is the source, so that its labels are known"
NOTHING_LABELLED = (
    "no two classes have labelled documents; answer about a hundred (isthmus ask, or .ask(100)) and teach them, then "
    "it is estimated"
)


@dataclass(frozen=True)
class LabelJob:
    """The request, the texts and the options of one call of :func:`isthmus.label`."""

    request: LabelOptions
    texts: TransferTexts
    embed: Any = None
    word_labels: Mapping | Literal[False] | None = None
    parameters: Mapping[str, Any] | None = None
    sources: list[dict] = field(default_factory=list)
    classes: NamedClasses | None = None
    labeller: Callable | None = None  # a function of texts that joins the candidates of auto
    own_target: bool = False  # whether the target is a source

    @property
    def by_names(self) -> bool:
        """Whether only names describe the classes, because fewer than two classes have labelled documents."""
        return self.classes is not None and len(set(self.texts.known_labels)) < 2

    @property
    def options(self) -> dict[str, Any]:
        """Options of the vectorisers; the language is identified once."""
        return self.request.reading() | {"language": self.texts.one_language(self.request.language)}


@dataclass(frozen=True)
class JudgedLabels:
    """Confidences, review marks and new groups of the fitted labels."""

    confidence: np.ndarray
    needs_review: np.ndarray
    review_reason: np.ndarray
    novel_group: np.ndarray
    novel: list[dict]
    warnings: list[dict]
    settings: dict[str, Any]


def read_job(
    request: LabelOptions,
    source_texts: Sequence[str] | None,
    source_labels: Sequence | None,
    target_texts: Sequence[str],
    source_domain: Sequence | None,
    extra_texts: Sequence[str] | None,
    vectors: Any,
    embed: Any,
    word_labels: Mapping | Literal[False] | None,
    classes: Any,
) -> LabelJob:
    """Validate both collections, sort them by content and select the useful ones of several sources.

    Parameters
    ----------
    request : LabelOptions
    source_texts, source_labels, target_texts, source_domain, extra_texts, vectors, embed, word_labels, classes
        As in :func:`isthmus.label`.

    Returns
    -------
    LabelJob
    """
    alone = source_texts is None and source_labels is None and classes is not None
    source = [] if alone else check_texts(source_texts, "source_texts", fill=True)
    target = check_texts(target_texts, "target_texts", fill=True)
    has_extra = extra_texts is not None and len(extra_texts) > 0
    extra = check_texts(extra_texts, "extra_texts", fill=True) if has_extra else []
    values, known = read_source_labels([] if alone else source_labels, len(source))
    _refuse_empty_source(source, known)
    labels = np.full(len(source), None, dtype=object)
    labels[known] = values[known].tolist()
    domain = None if source_domain is None else _read_domain(source_domain, len(source))
    same = _warn_of_same_texts(source, target, domain)
    texts = TransferTexts.of(source, labels, target, extra, domain=domain)
    if resolve_language(request.language) == "auto" and source:
        sides = texts.texts[: texts.n_source], texts.texts[texts.target]
        has_vectors = vectors is not None or (embed is not None and embed is not False)
        warn_of_two_languages(*sides, vectors=has_vectors, in_order=True)
    if known.any() or classes is None:
        check_label_kind(labels, force_classes=request.force_classes)
    named = None if classes is None else NamedClasses.of(classes, texts.known_labels, word_labels or None)
    word_labels = word_labels if named is None or not word_labels else named.other_words(word_labels)
    job = LabelJob(request, texts, _one_view(source, target, extra, vectors, embed), word_labels, classes=named)
    job = replace(job, own_target=same)
    if domain is None or len(np.unique(domain)) < 2:
        return job
    sources = weigh_sources(
        texts.known_texts,
        texts.known_labels,
        texts.known_domain,
        texts.texts[texts.target],
        in_order=True,
        **job.options,
    )
    unused = [row["source"] for row in sources if not row["used"]]
    return replace(job, texts=texts.keep_source(~np.isin(domain, unused)), sources=sources)


def _warn_of_same_texts(source: list[str], target: list[str], domain: np.ndarray | None) -> bool:
    """Warn if the target equals a source, whose labels are known; return whether it does."""
    parts = {"": source}
    if domain is not None:
        parts = {str(name): [source[row] for row in np.flatnonzero(domain == name)] for name in np.unique(domain)}
    same = [name for name, texts in parts.items() if texts == target]
    for name in same:
        message = (
            f"The target holds the same texts as the source{f' {name!r}' if name else ''}, so they are labelled from "
            "themselves and no accuracy is estimated; give the texts to label as the target."
        )
        warn(message, code="data-checks")
    return bool(same)


def fit_job(job: LabelJob, method: str | BaseEstimator) -> Choice:
    """Fit the vote of ``auto`` or the named method, and estimate its accuracy.

    Parameters
    ----------
    job : LabelJob
    method : str or estimator

    Returns
    -------
    Choice
        The accuracy is not estimated if the target is also a source.
    """
    choice = _fit(job, method)
    return replace(choice, accuracy=AccuracyEstimate(None, reason=OWN_TARGET)) if job.own_target else choice


def _fit(job: LabelJob, method: str | BaseEstimator) -> Choice:
    if isinstance(method, str) and method == "auto":
        if job.parameters:
            raise UsageError("Parameters are for one method; name it instead of auto.", code="bad-parameter")
        if not job.by_names:
            given = {"word_labels": job.word_labels, "classes": job.classes, "embed": job.embed}
            return decide(try_methods(job.texts, own=job.labeller, **given, **job.options))
        method = NAMES
    options = job.options
    more = _embed_option(method, job.embed) | _classes_option(method, job)
    words = job.word_labels or None
    model, name = build_method(method, parameters=job.parameters, word_labels=words, **options, **more)
    fit = fit_candidate if isinstance(method, str) else _fit_own
    fitted = fit(name, model, job.texts)
    progress("judging the labels", 0, 1)
    added = [] if job.classes is None else job.classes.added
    scorer = None if job.by_names else make_scorer(job.texts, options)
    if scorer is not None and added:
        scorer = scorer.without_groups_of(fitted.labels, added)
    return Choice(
        LabelModel({name: fitted.model}, {name: 1.0}),
        fitted.labels,
        fitted.probabilities,
        [{"method": name, "chosen": True, "why": BY_NAMES_ALONE if job.by_names else "named by the caller"}],
        _expect_of_one(job, fitted, scorer, added),
        no_known_terms=fitted.no_known_terms,
        scorer=scorer,
        single=True,
    )


@one_blas_thread()
def _expect_of_one(job: LabelJob, fitted: FittedCandidate, scorer: LabelScorer | None, added: list) -> AccuracyEstimate:
    if job.by_names:
        return AccuracyEstimate(None, reason=NOTHING_LABELLED)
    known = ~np.isin(fitted.labels, added)
    confidence = confidence_outside(scorer, fitted.probabilities)
    found = estimate_accuracy(scorer, fitted.labels, confidence, known=known)
    if known.all():
        return found
    agreement = fitted.model.agreement_
    return with_added(found, float(np.mean(~known)), None if agreement is None else agreement.right)


@one_blas_thread()
def judge_job(job: LabelJob, fitted: Choice) -> JudgedLabels:
    """Calibrate the confidences, find new groups, mark texts for review and collect warnings.

    Parameters
    ----------
    job : LabelJob
    fitted : Choice

    Returns
    -------
    JudgedLabels
    """
    expected = fitted.accuracy
    scorer = fitted.scorer
    labels = fitted.labels
    groups = novel_names(scorer, job.texts.given_target)
    if job.classes is not None:
        groups[np.isin(labels, job.classes.added)] = ""
    calibration: dict[str, float] = {}
    if fitted.single and expected.for_calibration is not None:
        # The estimate describes documents outside new groups; those inside would distort the calibration.
        calibration["sharpness"] = find_power(fitted.probabilities[groups == ""], expected.for_calibration)
    codes = np.searchsorted(fitted.model.classes_, labels)
    sharp = sharpen(fitted.probabilities, calibration.get("sharpness", 1.0))
    confidence = lower_confidence_in_groups(sharp[np.arange(len(codes)), codes], groups)
    cautious_confidence = confidence
    if expected.estimate is not None:
        n_source = len(job.texts.known_labels)
        calibration["caution"] = budget_caution(expected, n_source, single=fitted.single)
        calibration["surest"] = expected.surest_alone if fitted.single else 1.0
        cautious_confidence = with_caution(confidence, calibration["caution"], calibration["surest"])
    in_dispute = np.zeros(len(labels), dtype=bool)
    if expected.estimate is not None and fitted.single and scorer is not None:
        in_dispute = disputed(scorer, labels, job.texts.given_target)
        cautious_confidence = np.where(in_dispute, 0.0, cautious_confidence)
    budget = job.request.budget
    must_read = (groups != "") | np.asarray(fitted.no_known_terms, dtype=bool)
    low = review_mask(cautious_confidence, budget, among_equals=confidence, must_read=must_read)
    reasons = _review_reasons(job, fitted, groups, low, in_dispute)
    review = np.asarray(reasons != "", dtype=bool)
    warnings = assess(
        scorer,
        job.texts.given_labels,
        labels,
        fitted.probabilities,
        fitted.model.classes_,
        followed=fitted.model.stage(LabelShift) is not None,
    )
    novel = [] if scorer is None else [group.to_dict() for group in scorer.novelty.groups]
    more = review_warnings(expected, budget, all_reviewed=bool(review.all()), alone=fitted.single)
    if job.classes is not None:
        more += job.classes.warnings(_nameless(fitted.model))
    if expected.estimate is not None:
        more += grade_warnings(sharp, codes, fitted.model.classes_)
    more += no_text_warnings(int(without_text(job.texts.given_target).sum()), len(labels))
    settings = _settings(job, fitted, calibration)
    progress("judging the labels", 1, 1)
    return JudgedLabels(confidence, review, reasons, groups, novel, [*warnings, *more], settings)


def _review_reasons(
    job: LabelJob, fitted: Choice, groups: np.ndarray, low: np.ndarray, in_dispute: np.ndarray
) -> np.ndarray:
    return review_reasons(
        len(low),
        error_budget=job.request.budget,
        new_group=groups != "",
        no_known_words=fitted.no_known_terms,
        methods_disagree=low & in_dispute,
        not_sure_enough=low,
        not_estimated=np.full(len(low), fitted.accuracy.estimate is None),
    )


def labeller_name(labeller: Callable) -> str:
    """Return a name for a labelling function: its command, its name or its class.

    Parameters
    ----------
    labeller : callable

    Returns
    -------
    str
    """
    return str(getattr(labeller, "command", getattr(labeller, "__name__", type(labeller).__name__)))


def _nameless(model: Any) -> list:
    return [name for member in model.members.values() for name in getattr(member, "nameless_", ())]


def _settings(job: LabelJob, fitted: Choice, calibration: dict[str, float]) -> dict[str, Any]:
    request = job.request
    settings: dict[str, Any] = {
        "method": request.method or fitted.name,
        "random_state": request.seed,
        "error_budget": request.budget,
        "error_budget_of": BUDGET_OF,
        "analyzer": request.analyzer,
        "min_df": request.min_df,
        "language": request.language,
        **calibration,
    }
    if job.labeller is not None:
        settings["labeller"] = labeller_name(job.labeller)
    if job.parameters:
        settings["parameters"] = dict(job.parameters)
    if job.classes is not None:
        settings["classes"] = {str(name): text for name, text in job.classes.for_recipe.items()}
    if job.texts.given_extra:
        settings["extra_texts"] = len(job.texts.given_extra)
    if fitted.name in METHODS or not fitted.single:
        settings["vectors"] = _view_name(job.embed)
    return settings


def _refuse_empty_source(source: list[str], known: np.ndarray) -> None:
    if known.any() and not any(source[row].strip() for row in np.flatnonzero(known)):
        raise DataError(
            f"All {plural(int(known.sum()), 'labelled text')} of the source are empty, so there is nothing to learn "
            "from; check which texts were given.",
            code="empty-vocabulary",
        )


def _read_domain(source_domain: Sequence, n_source: int) -> np.ndarray:
    names, known = read_source_labels(source_domain, n_source, "domain")
    if not known.all():
        raise DataError(
            f"{int((~known).sum()):,} source texts have no domain; name one for every text.", code="bad-domain"
        )
    return names.astype(str)


def read_target_labels(target_labels: Sequence | None, job: LabelJob) -> list | None:
    """Return the given labels of target texts, None without any.

    Answers may name new classes, but a column in which no class occurs at all is about something else.

    Parameters
    ----------
    target_labels : sequence or None
    job : LabelJob

    Returns
    -------
    list or None
    """
    if target_labels is None:
        return None
    labels, known = read_source_labels(target_labels, job.texts.n_target, side="target")
    if not known.any():
        return None
    given = labels[known].tolist()
    check_label_kind(given, name="The labels of the target", force_classes=job.request.force_classes)
    classes = list(dict.fromkeys([*job.texts.known_labels, *(job.classes.classes if job.classes else ())]))
    if not names_a_class(given, classes):
        raise DataError(
            f"The labels of the target ({list_columns(dict.fromkeys(given))}) name none of the classes "
            f"({list_columns(classes)}); give labels of people, and new classes with classes=NAMES.",
            code="labels-not-classes",
        )
    return [label if has else None for label, has in zip(labels, known, strict=True)]


def _one_view(source: list[str], target: list[str], extra: list[str], vectors: Any, embed: Any) -> Any:
    if vectors is None:
        return embed if embed is None or embed is False else resolve_embedder(embed)
    if embed is not None:
        raise UsageError("Both vectors and embed were given; give one of them.", code="bad-parameter")
    # Extra texts may have no vectors; methods on vectors are then fitted without these texts.
    with_extra = bool(extra) and len(vectors) == 3
    sides = [source, target, *([extra] if with_extra else [])]
    if isinstance(vectors, str) or len(vectors) != len(sides):
        raise UsageError(
            f"vectors has {len(vectors)} parts; give one array each for source and target"
            + (", and a third one for the extra texts if they have vectors." if extra else "."),
            code="bad-parameter",
        )
    parts = [check_vectors(part, len(side)) for part, side in zip(vectors, sides, strict=True)]
    if len({part.shape[1] for part in parts}) > 1:
        sizes = " and ".join(str(part.shape[1]) for part in parts)
        raise DataError(f"The vectors have {sizes} numbers; make them with one model.", code="length-mismatch")
    return VectorTable.of([text for side in sides for text in side], np.vstack(parts))


def _view_name(embed: Any) -> str:
    if embed is False:
        return "none"
    return getattr(embed, "name", "static" if has_static_vectors() else "none")


def _fit_own(name: str, model: TransferPipeline, texts: TransferTexts) -> FittedCandidate:
    texts = texts_for(model, texts)
    model.fit(texts.texts, texts.labels, sample_domain=texts.domain)
    check_labelled(model)
    labels = texts.as_given(model.transduction_[texts.target])
    no_known_terms = Member.of(model).lacks_terms(texts.given_target)
    return FittedCandidate(
        name, model, labels, model.predict_proba(texts.given_target), 0.0, no_known_terms=no_known_terms
    )


def _embed_option(method: Any, embed: Any) -> dict[str, Any]:
    """Return the embedder as an option of the method; refuse it for a method without vectors."""
    if embed is None:
        return {}
    if method == NAMES:  # uses only words if there are no vectors, or only vectors of documents
        return {"embed": embed}
    if embed is False:
        return {}
    if not isinstance(method, str) or not get_method(method).takes_vectors:
        takers = ", ".join(name for name, recipe in METHODS.items() if recipe.takes_vectors)
        raise UsageError(f"Method {method!r} takes no vectors; use auto or one of {takers}.", code="bad-parameter")
    return {"embed": embed}


def _classes_option(method: Any, job: LabelJob) -> dict[str, Any]:
    """Return the named classes as an option of the method; refuse them for other methods, or fewer than two."""
    classes = job.classes
    if classes is None:
        return {}
    check_takes_classes(method)
    if job.by_names:
        check_names_alone(classes)
    return {"classes": classes.for_recipe}


def label_fields(job: LabelJob, method: Any) -> dict[str, Any]:
    """Fit and judge the labels; return the fields of :class:`isthmus.api.result.LabelResult`.

    Parameters
    ----------
    job : LabelJob
    method : str or estimator

    Returns
    -------
    dict
    """
    fitted = fit_job(job, method)
    judged = judge_job(job, fitted)
    model = fitted.model.as_data()
    unused_vectors = isinstance(job.embed, VectorTable) and not vector_steps(model)
    return dict(
        labels=fitted.labels,
        method=fitted.name,
        decision=fitted.table,
        classes=model.classes_,
        probabilities=fitted.probabilities,
        model=model,
        texts=job.texts.given_target,
        source_texts=job.texts.given_source,
        source_labels=job.texts.given_labels,
        expected_accuracy=fitted.accuracy,
        opinions=fitted.opinions or None,
        sources=job.sources,
        given_words=sorted(map(str, job.word_labels or ())),
        descriptions={} if job.classes is None else job.classes.descriptions,
        given_vectors=job.embed if unused_vectors else None,
        **vars(judged),
    )


def relabel(base: Any, corrected: Mapping[int, Any]) -> dict[str, Any]:
    """Label the texts of a result again, with corrected labels of its source.

    Parameters
    ----------
    base : LabelResult
        The result before any answer.
    corrected : mapping of int to label
        True labels by row of the source.

    Returns
    -------
    dict
        Fields of the new result.
    """
    settings = base.settings
    vectors = str(settings.get("vectors", STATIC))
    embed: Any = False
    if vectors != "none":  # the embedder of a method, a table that no method uses, or the name of a model
        steps = [step for member in base.model.voters.values() for step in all_steps(member.steps)]
        embed = next((step.model for step in steps if isinstance(step, VectorRows)), base.given_vectors)
        if embed is None and (vectors in NAMED_MODELS or "/" in vectors or Path(vectors).is_dir()):
            embed = vectors
    lost = {
        "labelled words": bool(base.given_words),
        "extra texts": "extra_texts" in settings,
        "a labeller": "labeller" in settings,
        "several sources": bool(base.sources),
        "an estimator of your own": settings["method"] not in ("auto", *METHODS),
        "vectors by a function that no method uses": embed is None and vectors != STATIC,
    }
    if any(lost.values()):
        raise UsageError(
            f"The labelling was made with {', '.join(name for name, is_so in lost.items() if is_so)}, which it does "
            "not keep; correct the labels in the source itself and label again.",
            code="bad-parameter",
        )
    labels = base.source_labels.copy()
    for row, name in corrected.items():
        labels[row] = name
    names = ("method", "random_state", "error_budget", "analyzer", "min_df", "language")
    # The first fit accepted the labels as classes.
    request = LabelOptions.build({**{name: settings[name] for name in names}, "force_classes": True})
    collections = base.source_texts, labels, base.texts
    job = read_job(request, *collections, None, None, None, embed, None, settings.get("classes"))
    return label_fields(replace(job, parameters=settings.get("parameters")), settings["method"])
