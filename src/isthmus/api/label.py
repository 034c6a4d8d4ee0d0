"""The short way in: texts and labels in, labels with confidence and reasons out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from isthmus._utils import import_optional, plural
from isthmus._validation import check_seed, check_texts, read_source_labels
from isthmus.api import teaching
from isthmus.api._cards import card
from isthmus.api.methods import build_method, check_labelled
from isthmus.api.saving import Kind, save_result
from isthmus.choose.budgets import budget_curve, cautious, none_for_few, review_mask
from isthmus.choose.checking import LabelCheck, check_labels, estimate_shares
from isthmus.choose.choice import FittedCandidate, Pair, choose, fit_candidate, score_pair
from isthmus.choose.combined import CombinedModel, sharpen, sharpness_for
from isthmus.choose.sampling import draw_sample, read_sample, sample_size, sample_table
from isthmus.choose.sources import weigh_sources
from isthmus.choose.trust import (
    AccuracyEstimate,
    assess,
    confidence_outside,
    disputed,
    doubt_groups,
    estimate_accuracy,
    novel_names,
)
from isthmus.corpus.guess import check_label_kind
from isthmus.exceptions import DataError, IsthmusWarning, MissingExtraError, UsageError
from isthmus.explain import explain_document
from isthmus.features.embeddings import (
    VectorTable,
    check_vectors,
    has_static_vectors,
    resolve_embedder,
)
from isthmus.features.languages import resolve_language
from isthmus.feedback import Answers, RenamedModel, TaughtModel
from isthmus.pipeline import TransferPipeline
from isthmus.recipes import RECIPES, get_recipe
from isthmus.shift.findings import warn_of_two_languages

_CARD_CLASSES = 12  # shown in a notebook


@dataclass(repr=False)
class LabelResult:
    """Labels for the target, how sure they are, and why.

    Attributes
    ----------
    labels : ndarray
        One label per target text.
    confidence : ndarray
        Probability of that label: the method's, brought to the accuracy that is expected; low in new groups.
    needs_review : ndarray of bool
        Texts a person should look at, so that the others keep to the error budget even at the low end of the accuracy
        to expect; see :func:`isthmus.choose.review_mask`. Texts in which the method finds nothing it knows and those
        of new groups are always among them. With a named method, a text that plain methods contradict counts as wrong.
    method : str
        The recipe that made the labels; several joined by ``+`` where they voted; the class of an estimator that was
        given.
    decision : list of dict
        Which methods were considered, with what evidence, and why they were taken or left.
    expected_accuracy : AccuracyEstimate or None
        Share of right labels to expect, with an interval; its ``estimate`` is None where nothing can be said.
    novel_group : ndarray of str
        Per text the name of the group it belongs to where that group fits no class of the source; '' otherwise.
    novel : list of dict
        These groups: ``group``, ``words``, ``documents``, ``share`` with ``low`` and ``high``, ``nearest_class``,
        ``similarity``.
    warnings : list of dict
        ``topic`` and ``message``: what to know before anything else (new groups, moved shares, a thin or noisy source).
    probabilities : ndarray
        One column per class, in the order of ``classes``.
    model : TransferPipeline, CombinedModel or TaughtModel
        The fitted pipeline, or several that vote, with what answers taught on top; :meth:`label_new` asks it about
        later documents without refitting.
    ids : list of str or None
        Names of the texts, where they came with some.
    opinions : dict of str to ndarray, or None
        Probabilities by each method that votes.
    answers : Answers or None
        What a person said about these texts so far; see :meth:`teach`.
    learned : Learned or None
        What the latest answers changed, and what more of them would bring; ``print`` shows it.
    history : list of dict
        One row per time it was taught: ``name``, ``answers``, ``total``, ``changed``, ``towards``.
    sources : list of dict
        Where there were several sources: ``source``, ``documents``, ``learned``, ``agreement`` with the others,
        ``likeness`` to the target, ``used``, ``why`` not; see ``isthmus.choose.sources.weigh_sources``.

    See Also
    --------
    isthmus.label : Makes it.
    isthmus.load : Brings a saved one back.
    """

    KIND: ClassVar[Kind] = Kind(
        name="label",
        what="a labelling",
        plain=("texts", "source_texts", "ids"),
        can="predict_proba",
        alike=(
            ("texts", "ids", "labels", "confidence", "needs_review", "probabilities", "vote", "novel_group"),
            ("source_texts", "source_labels"),
        ),
    )

    labels: np.ndarray
    confidence: np.ndarray
    needs_review: np.ndarray
    method: str
    decision: list[dict]
    classes: np.ndarray
    probabilities: np.ndarray
    model: TransferPipeline | CombinedModel | TaughtModel | RenamedModel
    texts: list[str]
    source_texts: list[str] = field(repr=False)
    source_labels: np.ndarray = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)
    ids: list[str] | None = field(default=None, repr=False)
    expected_accuracy: AccuracyEstimate | None = None
    opinions: dict[str, np.ndarray] | None = field(default=None, repr=False)
    vote: np.ndarray | None = field(default=None, repr=False)  # probabilities before any answer
    answers: Answers | None = field(default=None, repr=False)
    learned: teaching.Learned | None = field(default=None, repr=False)
    history: list[dict] = field(default_factory=list, repr=False)
    sources: list[dict] = field(default_factory=list, repr=False)
    novel_group: Any = field(default=None, repr=False)
    novel: list[dict] = field(default_factory=list)
    warnings: list[dict] = field(default_factory=list)
    before: dict[str, Any] | None = field(default=None, repr=False)  # what taking all answers back restores

    def __post_init__(self):
        if self.novel_group is None:  # nothing was looked for
            self.novel_group = np.full(len(self.texts), "", dtype=object)

    def __repr__(self) -> str:
        expected = "not estimated"
        if self.expected_accuracy is not None and self.expected_accuracy.estimate is not None:
            expected = f"{self.expected_accuracy.estimate:.0%}"
        return (
            f"LabelResult({len(self.texts):,} texts, {len(self.classes)} classes, method={self.method!r}, "
            f"expected accuracy {expected}, {int(self.needs_review.sum()):,} to review)"
        )

    def _repr_html_(self) -> str:
        try:
            from isthmus.report import label_card

            return label_card(self)
        except MissingExtraError:  # without the extra: the same facts, plainly
            pass
        labels, counts = np.unique(self.labels.astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_CARD_CLASSES]
        facts = [
            ("expected to be right", str(self.expected_accuracy or "not estimated")),
            ("to review", f"{int(self.needs_review.sum()):,} of {plural(len(self.texts), 'text')}"),
            ("method", self.method),
        ]
        return card("Labels", facts, [(labels[i], counts[i] / len(self.texts)) for i in order])

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Label of each later text, without refitting."""
        return self.label_new(texts).labels

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of each class, in the order of ``classes``, for each later text, without refitting."""
        return self.model.predict_proba(check_texts(texts))

    def label_new(self, texts: Sequence[str], *, ids: Sequence[str] | None = None, vectors: Any = None) -> LabelResult:
        """The same model on later texts, without refitting: labels with confidence, review and reasons.

        ``vectors``: one row a text, where the model was fitted on vectors that were given.

        Nothing is weighed again: ``decision`` says which methods the earlier target chose, and there is no expected
        accuracy. Warns (code ``weak-bridge``) where the model finds nothing it knows in more than half of the texts.
        """
        texts = check_texts(texts)
        if vectors is not None:
            add_vectors(self.model, texts, vectors)
        unknown = has_no_known_terms(self.model, texts)
        if 2 * unknown.sum() > len(texts):
            message = (
                f"The model finds no term that it knows in {unknown.sum():,} of {len(texts):,} new texts, so their "
                "labels are guesses; label these texts afresh from the source, and look whether the two share a "
                "language."
            )
            warnings.warn(IsthmusWarning(message, code="weak-bridge"), stacklevel=2)
        probabilities = self.model.predict_proba(texts)
        codes = probabilities.argmax(axis=1)
        # One method's confidences are brought to the accuracy expected of it; votes and answers bring their own.
        power = self.settings.get("sharpness", 1.0) if isinstance(self.model, TransferPipeline) else 1.0
        confidence = sharpen(probabilities, power)[np.arange(len(codes)), codes]
        caution = self.settings.get("caution")  # None where nothing was estimated
        surely = confidence if caution is None else cautious(confidence, caution, self.settings["surest"])
        return replace(
            self,
            labels=self.classes[codes],
            confidence=confidence,
            needs_review=review_mask(surely, self.settings.get("error_budget", 0.1)) | unknown,
            decision=_earlier_decision(self.decision),
            probabilities=probabilities,
            texts=texts,
            ids=None if ids is None else list(ids),
            expected_accuracy=None,  # it was an estimate for the earlier texts
            opinions=None,
            vote=None,
            answers=None,
            learned=None,
            history=[],
            novel_group=None,
            novel=[],
            warnings=[],
            before=None,
        )

    def reasons(self, i: int, top: int = 10) -> list[dict]:
        """Terms of target text ``i`` that speak for or against each class: ``class``, ``term``, ``contribution``."""
        return explain_document(self.model, self.texts[i], top=top)

    def class_shares(self) -> list[dict]:
        """Per class: its share in the source, among the labels, and by the mean of the probabilities.

        As :func:`isthmus.choose.estimate_shares`; :meth:`check` corrects them and says how far they can be trusted.
        """
        return estimate_shares(self.probabilities, self.labels, self.classes, self.source_labels)

    def sample(
        self, n: int | None = None, *, margin: float | None = None, random_state: int | None = 0
    ) -> dict[str, list]:
        """Documents drawn at random for a person to label, as columns: document, id, text, true_label (empty), drawn.

        Parameters
        ----------
        n : int, optional
            How many.
        margin : float, optional
            How exactly the accuracy should be known, instead of ``n``; 0.05, five points, if both are omitted.
        random_state : int, default=0
            A larger draw with the same number begins with the smaller one.
        """
        if n is not None and margin is not None:
            raise UsageError(f"n={n!r} and margin={margin!r} were given; give one of them.", code="bad-parameter")
        if n is None:
            margin = 0.05 if margin is None else margin
            n = sample_size(margin, accuracy=self.expected_accuracy, population=len(self.texts))
        return sample_table(draw_sample(len(self.texts), n, random_state, texts=self.texts), self.texts, self.ids)

    def check(self, sample, true_labels: Sequence | None = None) -> LabelCheck:
        """What a sample says about all labels, once a person has labelled it.

        Parameters
        ----------
        sample : mapping of columns, data frame or list of dict
            What :meth:`sample` gave, with ``true_label`` filled in. With ``true_labels``, the numbers of the documents
            alone (from 1, as in the column ``document``).
        true_labels : sequence, optional
            The true labels of these documents.

        Returns
        -------
        LabelCheck
            Accuracy with an interval, corrected class shares, precision by class; ``print`` shows all of it.
        """
        table = sample if true_labels is None else {"document": sample, "true_label": true_labels}
        rows, truths = read_sample(table, self.texts, self.ids)
        return check_labels(self.labels, rows, truths, classes=self.classes, expected=self.expected_accuracy)

    def ask(self, n: int = 50, *, words: bool = False, suggest: bool = False) -> dict[str, list]:
        """What a person should answer next, as columns; fill in ``true_label`` and give it to :meth:`teach`.

        Documents are chosen that are doubtful, that methods disagree about, and that are unlike those answered already;
        groups that fit no class come first. Answered documents are never asked again.

        Parameters
        ----------
        n : int, default=50
        words : bool, default=False
            Ask about words instead: those that would settle most doubtful documents. Fill in ``label`` and give
            ``{word: label}`` to :meth:`teach` as ``word_labels``.
        suggest : bool, default=False
            Show the label given so far. Whoever sees it tends to agree with it.

        Returns
        -------
        dict of str to list
            ``document`` (numbered from 1), ``id``, ``text``, ``true_label`` (empty), ``reason``, ``drawn``; with
            ``suggest`` also ``label`` and ``confidence``. For words: ``word``, ``label`` (empty), ``suggestion``,
            ``documents``, ``settles``.
        """
        return teaching.ask_about_words(self, n) if words else teaching.ask(self, n, suggest=suggest)

    def teach(
        self,
        answers=None,
        *,
        drawn: str | None = None,
        word_labels: Mapping | None = None,
        name: str | None = None,
        without: str | PathLike | None = None,
    ) -> LabelResult:
        """The labelling after learning from answers; this one stays as it is.

        Nothing is fitted again: what the answers teach stands on top of the methods, which have not seen them. An
        answered text keeps its answer at confidence 1. An answer may name a class that the source lacks.

        Parameters
        ----------
        answers : table, path, mapping or sequence
            A table (mapping of columns, data frame, list of dict) with ``true_label`` and ``id`` or ``document``, as
            :meth:`ask` and :meth:`sample` give it, rows without a true label are passed over; a file with such a table
            (of a workbook the sheet ``review``, or the first with answers); ``{id: label}``; or one label per text,
            None where it is unknown. Earlier answers stay, later ones about the same text replace them.
        drawn : {"random", "asked", "picked"}, optional
            How the texts came to be answered. If omitted, the column ``drawn`` says it, and "picked" where there is
            none. Answers drawn at random alone estimate the accuracy directly.
        word_labels : mapping, optional
            Labelled words, as for :func:`isthmus.label`.
        name : str, optional
            Of this table, for ``history`` and ``without``.
        without : str or path
            Take back the answers that came in the table of this name, or in this file.

        Examples
        --------
        >>> import isthmus
        >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
        >>> target = ["rude staff", "slow bike", "no parking", "parking full"]
        >>> result = isthmus.label(source, ["staff", "product"] * 2, target, method="nbc")
        >>> taught = result.teach({"document": [3], "true_label": ["parking"]})
        >>> str(taught.labels[2]), float(taught.confidence[2]), taught.answers.drawn
        ('parking', 1.0, ['picked'])
        """
        return teaching.teach(self, answers, drawn=drawn, word_labels=word_labels, name=name, without=without)

    def rename_classes(self, names: Mapping) -> LabelResult:
        """The labelling with classes renamed, ``{old: new}``; classes that get one name are merged.

        All names change at once: ``{"a": "b", "b": "a"}`` swaps two classes.
        """
        return teaching.rename_classes(self, names)

    def columns(self) -> dict[str, list]:
        """The result as columns: text, label, confidence, needs_review, novel_group."""
        return {
            "text": list(self.texts),
            "label": self.labels.tolist(),
            "confidence": [round(float(value), 4) for value in self.confidence],
            "needs_review": self.needs_review.tolist(),
            "novel_group": self.novel_group.tolist(),
        }

    def budget_curve(self, steps: int = 20) -> list[dict]:
        """What an error budget costs: ``reviewed`` (share), ``documents`` to review and ``expected_error`` of the rest.

        As :func:`isthmus.choose.budget_curve`; documents in new groups are reviewed early, for their confidence is low.
        """
        return budget_curve(self.confidence, steps)

    def to_frame(self):
        """The result as a polars data frame (extra ``app``)."""
        return import_optional("polars", "to_frame()").DataFrame(self.columns())

    def report(self, path, *, force: bool = False, by: Mapping[str, Sequence] | None = None):
        """Write one self-contained HTML page about this result; returns its path.

        Parameters
        ----------
        path : path of the page
        force : bool, default=False
            Replace a page that exists.
        by : mapping of one str to a sequence, optional
            A column by which the labels are broken down: its name, and one value per text.
        """
        from isthmus.report import write_label_report

        column = None if not by else next((name, list(values)) for name, values in by.items())
        return write_label_report(self, path, force=force, by=column)

    @property
    def plot(self):
        """Single pictures as altair charts (extra ``app``): ``result.plot.shares()``, ``map()``, ``reading()``, …"""
        from isthmus.report.plots import LabelPlots

        return LabelPlots(self)

    def save(self, path, *, force: bool = False):
        """Write the model with its texts and labels into one file for :func:`isthmus.load`; returns its path."""
        return save_result(self, path, force=force)


def label(
    source_texts: Sequence[str],
    source_labels: Sequence,
    target_texts: Sequence[str],
    method: str | BaseEstimator = "auto",
    word_labels: Mapping | None = None,
    random_state: int | None = 0,
    *,
    source_domain: Sequence[str] | None = None,
    target_labels: Sequence | None = None,
    extra_texts: Sequence[str] | None = None,
    vectors: Sequence | None = None,
    embed: Any = None,
    error_budget: float = 0.1,
    analyzer: str = "auto",
    min_df: int | str = "auto",
    force_classes: bool = False,
    language: str = "auto",
) -> LabelResult:
    """Label the target texts from labelled source texts.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : sequence
        One label per source text; None where unknown.
    method : str, estimator or pipeline, default="auto"
        A recipe (``isthmus.recipes.RECIPES``), or "auto": several are tried, their labels are weighed without
        looking at target labels, and those that the evidence supports vote; see :func:`isthmus.choose.choose`. Or an
        estimator that takes ``sample_domain``, or a pipeline that ends in one: it is copied and fitted, with a
        :class:`isthmus.features.TextVectorizer` in front if it reads matrices.
    word_labels : mapping, optional
        Labelled words, for the methods that take them.
    random_state : int, default=0
        For recipes, and for those ``random_state`` parameters of an estimator that are None.
    source_domain : sequence of str, optional
        Name of the source of each source text, where there are several. Each is compared with the others and with the
        target (``result.sources``). One whose labels cannot be learned, or contradict those of the sources nearest to
        the target, is left out, with a warning.
    target_labels : sequence, optional
        Answers of a person: one label per target text, None where unknown. No method sees them; the labelling learns
        from them afterwards, as by :meth:`isthmus.api.label.LabelResult.teach`.
    extra_texts : sequence of str, optional
        Further texts of either kind, without labels. They take part in the fit (word statistics, latent directions,
        kernels), each on the side it reads like, and get no label.
    vectors : (array, array), optional
        Vectors of the source and of the target texts, one row a text, from any model; a third array for
        ``extra_texts``. Later texts then need vectors too: ``label_new(texts, vectors=...)``.
    embed : str, path, callable or False, optional
        A model that makes the vectors, as :func:`isthmus.features.embed_texts` reads it. If omitted, "auto" uses the
        packaged static vectors where they are installed (extra ``embed``); False: no vectors.
    error_budget : float, default=0.1
        Share of wrong labels to be tolerated among those that need no review.
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    force_classes : bool, default=False
        Learn labels that do not look like classes (several in one cell, dates, ids, numbers, sentences) as they are,
        instead of refusing them with code ``labels-not-classes``.

    Returns
    -------
    LabelResult

    See Also
    --------
    isthmus.cluster : Groups instead of labels.
    isthmus.diagnose : Whether labels can travel, before anything is labelled.
    isthmus.api.label.LabelResult : What comes back.

    Examples
    --------
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> result = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")
    >>> result.labels.tolist()
    ['staff', 'product']
    >>> result.reasons(0, top=1)[-1]["term"]
    'staff'
    """
    source_texts, target_texts = check_texts(source_texts), check_texts(target_texts)
    values, known = read_source_labels(source_labels, len(source_texts))
    check_seed(random_state)
    if resolve_language(language) == "auto":
        warn_of_two_languages(source_texts, target_texts, vectors=vectors is not None or bool(embed))
    answered = None if target_labels is None else read_source_labels(target_labels, len(target_texts), side="target")
    options: dict[str, Any] = {
        "random_state": random_state,
        "analyzer": analyzer,
        "min_df": min_df,
        "language": language,
    }
    n_source = len(source_texts)
    given = np.full(n_source, None, dtype=object)
    given[known] = values[known].tolist()
    check_label_kind(given, force_classes=force_classes)
    extra = check_texts(extra_texts) if extra_texts is not None and len(extra_texts) else []
    embed = _one_view(source_texts, target_texts, extra, vectors, embed)
    sources: list[dict] = []
    if source_domain is not None:
        counts, sources = _read_sources(source_texts, given, source_domain, target_texts, options)
        source_texts, given = [source_texts[i] for i in counts], given[counts]
    model: TransferPipeline | CombinedModel
    opinions = None
    settings: dict[str, Any] = {
        "method": method if isinstance(method, str) else None,
        "random_state": random_state,
        "error_budget": error_budget,
        "analyzer": analyzer,
        "min_df": min_df,
        "language": language,
    }
    if isinstance(method, str) and method == "auto":
        choice = choose(
            source_texts, given, target_texts, word_labels=word_labels, extra_texts=extra, embed=embed, **options
        )
        model, name, decision, expected = choice.model, choice.name, choice.table, choice.accuracy
        labels, probabilities, opinions = choice.labels, choice.probabilities, choice.opinions
        silent, judge = choice.silent, choice.judge
    else:
        options |= _embed_option(method, embed)
        model, name = build_method(method, word_labels=word_labels, **options)
        pair = Pair.of(source_texts, given, target_texts, extra)
        fitted = fit_candidate(name, model, pair) if isinstance(method, str) else _fit_own(name, model, pair)
        settings["method"] = method if isinstance(method, str) else name
        decision = [{"method": name, "chosen": True, "why": "named by the caller"}]
        labels, probabilities, silent = fitted.labels, fitted.probabilities, fitted.silent
        judge = score_pair(pair, options)
        expected = estimate_accuracy(judge, labels, confidence_outside(judge, probabilities))
        if expected.for_calibration is not None:
            # The figure speaks of the documents outside new groups; those inside would hide how sure the method is.
            outside = novel_names(judge, target_texts) == ""
            settings["sharpness"] = sharpness_for(probabilities[outside], expected.for_calibration)
    codes = np.searchsorted(model.classes_, labels)
    confidence = sharpen(probabilities, settings.get("sharpness", 1.0))[np.arange(len(labels)), codes]
    followed = isinstance(model, CombinedModel) and model.share_factors is not None
    found = assess(judge, expected, given, labels, probabilities, model.classes_, followed=followed)
    groups = novel_names(judge, target_texts)
    confidence = doubt_groups(confidence, groups)
    surely, alone = confidence, not isinstance(model, CombinedModel)
    if expected.estimate is not None:
        settings |= {"caution": expected.caution, "surest": expected.surest_alone if alone else 1.0}
        surely = cautious(confidence, settings["caution"], settings["surest"])
        if alone and judge is not None:
            surely = np.where(disputed(judge, labels, target_texts), 0.0, surely)
    review = review_mask(surely, error_budget) | silent | (groups != "")
    if expected.estimate is not None:
        review = none_for_few(review)
    if extra:
        settings["extra_texts"] = len(extra)
    if name in RECIPES or isinstance(model, CombinedModel):
        settings["vectors"] = _view_name(embed)
    result = LabelResult(
        labels=labels,
        confidence=confidence,
        needs_review=review,
        method=name,
        decision=decision,
        classes=model.classes_,
        probabilities=probabilities,
        model=model,
        texts=target_texts,
        source_texts=source_texts,
        source_labels=given,
        expected_accuracy=expected,
        novel_group=groups,
        novel=[group.to_dict() for group in found.novelty.groups] if found.novelty else [],
        warnings=[*found.warnings, *_review_warnings(review, expected, error_budget, alone=alone)],
        settings=settings,
        opinions=opinions,
        sources=sources,
    )
    if answered is None or not answered[1].any():
        return result
    answers = [label if known else None for label, known in zip(*answered, strict=True)]
    return result.teach(answers, name="target_labels")


def _read_sources(
    texts: Sequence[str], labels: np.ndarray, source_domain: Sequence, target_texts: Sequence[str], options: dict
) -> tuple[np.ndarray, list[dict]]:
    """Rows of the sources that count, and what each source is worth."""
    names, known = read_source_labels(source_domain, len(texts), "domain")
    if not known.all():
        raise DataError(
            f"{int((~known).sum()):,} source texts have no domain; name one for every text.", code="bad-domain"
        )
    domains, place = np.unique(names.astype(str), return_inverse=True)
    if len(domains) < 2:
        return np.arange(len(texts)), []
    labelled = [i for i, label in enumerate(labels) if label is not None]
    sources = weigh_sources(
        [texts[i] for i in labelled],
        [labels[i] for i in labelled],
        [domains[place[i]] for i in labelled],
        target_texts,
        **options,
    )
    unused = [row["source"] for row in sources if not row["used"]]
    return np.flatnonzero(~np.isin(domains[place], unused)), sources


def _review_warnings(review: np.ndarray, expected: AccuracyEstimate, budget: float, *, alone: bool) -> list[dict]:
    """Why all documents need review, where they do, and that nothing is promised, where nothing is."""
    if expected.estimate is None:
        message = (
            f"The accuracy is not estimated ({expected.reason}), so nothing is promised about labels without review."
        )
        return [{"topic": "not estimated", "message": message}]
    if not review.all():
        return []
    message = (
        f"All documents need review: {expected} are expected to be right, and at the low end no part of the labels "
        f"worth mentioning keeps to {budget:.0%} wrong. A larger error budget lets some pass"
    ) + ("; so may method auto, which compares several." if alone else ".")
    return [{"topic": "review", "message": message}]


def has_no_known_terms(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Texts in which the vectoriser finds no term at all (for several voting models: none of them does)."""
    if isinstance(model, TaughtModel | RenamedModel):
        return has_no_known_terms(model.base, texts)
    if isinstance(model, CombinedModel):
        return np.all([has_no_known_terms(member, texts) for member in model.members.values()], axis=0)
    if len(model.steps) == 1:  # reads raw texts
        return np.array([not text.strip() for text in texts], dtype=bool)
    rows = model[:-1].transform(texts)
    return np.asarray(rows.getnnz(axis=1) if sp.issparse(rows) else np.count_nonzero(rows, axis=1)).ravel() == 0


def add_vectors(model: Any, texts: list[str], vectors: Any) -> None:
    """Give a model that was fitted on given vectors those of further texts."""
    steps = teaching.vector_steps(model)
    tables = [step for step in steps if isinstance(step.model, VectorTable)]
    if steps and not tables:
        raise UsageError("The model makes its own vectors; leave vectors out.", code="bad-parameter")
    for step in tables:
        step.model = step.model.extended(texts, vectors)


def _earlier_decision(decision: list[dict]) -> list[dict]:
    """The methods that were chosen, without the evidence: it spoke of the texts they were chosen on."""
    start = "chosen on the earlier target: "
    return [
        {name: row[name] for name in ("method", "chosen", "weight") if name in row}
        | {"why": start + row["why"].removeprefix(start)}
        for row in decision
        if row["chosen"]
    ]


def _one_view(source: list[str], target: list[str], extra: list[str], vectors: Any, embed: Any) -> Any:
    """What makes vectors of the texts: a table of those given, or the model asked for."""
    if vectors is None:
        return None if embed is None else False if embed is False else resolve_embedder(embed)
    if embed is not None:
        raise UsageError("Both vectors and embed were given; give one of them.", code="bad-parameter")
    sides = [source, target, *([extra] if extra else [])]
    if isinstance(vectors, str) or len(vectors) != len(sides):
        raise UsageError(
            f"vectors has {len(vectors)} parts; give one array each for source and target"
            + (" and extra texts." if extra else "."),
            code="bad-parameter",
        )
    parts = [check_vectors(part, len(side)) for part, side in zip(vectors, sides, strict=True)]
    if len({part.shape[1] for part in parts}) > 1:
        sizes = " and ".join(str(part.shape[1]) for part in parts)
        raise DataError(f"The vectors have {sizes} numbers; make them with one model.", code="length-mismatch")
    return VectorTable.of([text for side in sides for text in side], np.vstack(parts))


def _view_name(embed: Any) -> str:
    """The view of vectors, for the record of the run."""
    return "none" if embed is False else getattr(embed, "name", "static" if has_static_vectors() else "none")


def _fit_own(name: str, model: TransferPipeline, pair: Pair) -> FittedCandidate:
    """A pipeline of the caller, which may know no more than fit and predict_proba."""
    model.fit(pair.texts, pair.labels, sample_domain=pair.domain)
    check_labelled(model)
    texts = pair.texts[pair.target]
    labels, silent = model.transduction_[pair.target], has_no_known_terms(model, texts)
    return FittedCandidate(name, model, labels, model.predict_proba(texts), 0.0, silent=silent)


def _embed_option(method: Any, embed: Any) -> dict[str, Any]:
    """The model of vectors as a recipe's option; refused where the method would not use it."""
    if embed is None or embed is False:
        return {}
    if not isinstance(method, str) or not get_recipe(method).takes_vectors:
        takers = ", ".join(name for name, recipe in RECIPES.items() if recipe.takes_vectors)
        raise UsageError(f"Method {method!r} takes no vectors; use auto or one of {takers}.", code="bad-parameter")
    return {"embed": embed}
