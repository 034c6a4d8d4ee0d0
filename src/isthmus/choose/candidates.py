"""Fit the candidate methods on both collections, and collect the evidence about their labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from joblib import cpu_count

from isthmus._math.calibration import fit_affine
from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.rows import rows_are_empty
from isthmus._progress import as_candidate, listen, progress, when_over
from isthmus._utils import one_blas_thread, return_memory
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.lexicons import find_lexicon
from isthmus.choose.model import lexicon_proba
from isthmus.choose.names import OTHER_SCRIPT, NamedClasses, in_other_script
from isthmus.choose.stages.apply import LEXICON, NAMES
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import confidence_outside, estimate_accuracy, with_added
from isthmus.choose.views import View
from isthmus.choose.voting import VotingRule, shared_labels
from isthmus.classify.labeller import LabellerClassifier
from isthmus.exceptions import DataError, IsthmusError, IsthmusWarning
from isthmus.features.counting import sharing
from isthmus.features.embeddings import (
    StaticEmbedder,
    VectorTable,
    has_static_vectors,
    may_read_other_scripts,
    resolve_embedder,
)
from isthmus.features.vectorizer import TextVectorizer
from isthmus.methods import METHODS
from isthmus.pipeline import TransferPipeline, make_transfer_pipeline

# Name of the baseline: logistic regression trained on the source only.
YARDSTICK = "logistic"
# Methods that need no further input. String kernels are left out of large collections.
CANDIDATES = (YARDSTICK, "self-training", "cocc", "projection", "strings", "lsa")
WITH_WORDS = "dual-manifold"  # method that is tried if there are labelled words
WITH_VECTORS = "vectors"  # method that is tried if there are text vectors
# Methods that are also tried on vectors of an encoder. On the packaged word vectors they do not improve the vote.
ON_ENCODER = ("neighbours", "vectors-logistic")
SOURCE_ONLY = {YARDSTICK: "words", "vectors-logistic": WITH_VECTORS}  # method -> view in which the guard judges it
LABELLER = "labeller"  # name of the caller's own labelling function
SLOW = ("cocc", "strings", WITH_WORDS, "self-training")  # slowest methods, which start first
NEGATION = 3  # words; a labelled word has the opposite meaning this close after a negation
# Documents; in larger collections the string kernels run before all other methods, because of their memory.
LARGE = 12_000
# Documents times classes; beyond, self-training takes longer than all other methods together and is tried last.
COSTLY = 60_000
# Score; self-training starts from the baseline and seldom votes if the baseline is this far behind the best method.
HOPELESS = 1.5
MOST_STRINGS = 60_000  # documents; with more, string kernels take minutes
MOST_CHARACTERS = 30_000_000  # characters; with more, string kernels take minutes


@dataclass
class FittedCandidate:
    """A fitted method with its labels for the target, in the caller's order, and the evidence about them."""

    name: str
    model: TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    seconds: float
    evidence: Evidence | None = None
    no_known_terms: np.ndarray | None = None  # target texts without a known term


@dataclass(kw_only=True)
class FittedLexicon(FittedCandidate):
    """A model of the labelled words only, calibrated on the source."""

    power: float  # power that calibrates its probabilities
    offsets: np.ndarray  # log-odds per class that calibrate its class proportions
    accuracy: float  # share of right labels in the source, among documents with a labelled word
    source_proba: np.ndarray  # probabilities of the labelled source texts, sorted by content
    found: str = ""  # name of the general lexicon and the reason for its use; empty for given words


@dataclass
class Candidates:
    """All methods that were tried on the collections, and the reasons why others were not."""

    fitted: list[FittedCandidate]
    scorer: LabelScorer | None
    left_out: list[dict] = field(default_factory=list)
    lexicon: FittedLexicon | None = None
    vectors: str | None = None
    names: FittedCandidate | None = None  # model of the classes' names, which is no candidate
    added: list = field(default_factory=list)  # classes that only their names describe

    @property
    def evidence(self) -> dict[str, Evidence]:
        """Evidence by method."""
        return {candidate.name: candidate.evidence for candidate in self.fitted if candidate.evidence is not None}

    @property
    def behind(self) -> dict[str, float]:
        """Log-odds by which vectors separate the source's classes better than the words that a method reads.

        Vectors of a model trained elsewhere did not learn the source's own words, so their advantage in the source
        transfers to the target. An advantage of words may not, and does not count.
        """
        found: dict[str, float] = {}
        for name, evidence in self.evidence.items():
            views = {"words": evidence, **evidence.others}
            own = "lsa" if name == "lsa" else "words"
            reads_words = name in METHODS and not METHODS[name].takes_vectors
            if reads_words and WITH_VECTORS in views and own in views:
                found[name] = views[WITH_VECTORS].source_log_odds - views[own].source_log_odds
        return found

    @property
    def shared(self) -> dict[str, float]:
        """Agreement of each method with the others, see :func:`isthmus.choose.voting.shared_labels`."""
        n_classes = len({str(name) for candidate in self.fitted for name in candidate.model.classes_})
        table = None if self.scorer is None else self.scorer.words.source_table
        right = None if table is None else float(np.trace(table) / max(1, table.sum()))
        return shared_labels({candidate.name: candidate.labels for candidate in self.fitted}, n_classes, right)

    def estimate(self, labels: np.ndarray, probabilities: np.ndarray) -> AccuracyEstimate:
        """Estimate the accuracy of labels of the target.

        Parameters
        ----------
        labels : ndarray of shape (n_target,)
        probabilities : ndarray of shape (n_target, n_classes)
            Class probabilities behind the labels.

        Returns
        -------
        AccuracyEstimate
        """
        confidence = confidence_outside(self.scorer, probabilities)
        others = [candidate.labels for candidate in self.fitted]
        # The evidence covers only the source's classes. Labels of added classes are judged by the names.
        known = ~np.isin(labels, self.added)
        found = estimate_accuracy(self.scorer, labels, confidence, others=others, known=known)
        if known.all() or self.names is None:
            return found
        agreement = self.names.model.agreement_
        return with_added(found, float(np.mean(~known)), None if agreement is None else agreement.right)


def try_methods(
    texts: TransferTexts,
    *,
    word_labels: Mapping | Literal[False] | None = None,
    classes: NamedClasses | None = None,
    embed: Any = None,
    n_jobs: int | None = None,
    own: Callable | None = None,
    **options,
) -> Candidates:
    """Fit every candidate and collect the evidence; see :func:`choose` for the other parameters.

    Parameters
    ----------
    texts : TransferTexts
    word_labels, classes, embed, n_jobs
        See :func:`choose`.
    own : callable, optional
        Labelling function of the caller, as one more candidate; see
        :class:`isthmus.classify.labeller.LabellerClassifier`.
    **options
        See :func:`choose`.

    Returns
    -------
    Candidates
    """
    with sharing(), one_blas_thread():
        options = {**options, "language": texts.one_language(options.get("language", "auto"))}
        embedder = _embedder(embed)
        classes = classes or NamedClasses.of(None, texts.known_labels)
        added = classes.added

        def fit(name: str, threads: int = 1) -> FittedCandidate | dict:
            try:
                if name == LABELLER:
                    with as_candidate():
                        return fit_candidate(name, make_transfer_pipeline(LabellerClassifier(own)), texts)
                words = word_labels or None if METHODS[name].takes_words else None
                named = {"classes": classes.for_recipe} if METHODS[name].takes_classes else {}
                model = METHODS[name].build_with(word_labels=words, embed=embedder, **named, **options)
                if threads > 1:
                    model.steps[-1][1].set_params(n_jobs=threads)
                with as_candidate():
                    fitted = fit_candidate(name, model, texts)
                return_memory()
                return fitted
            except IsthmusError as error:
                # The baseline is the fallback of every decision, so its failure is an error. Other methods are only
                # left out.
                if name == YARDSTICK or (name == NAMES and added):
                    raise
                return {"method": name, "chosen": False, "why": f"not possible: {error}"}

        # In large collections, string kernels take as much memory as all other methods together. They therefore run
        # first, on all cores, and release their memory before anything else is read. Their ridge runs in one thread, so
        # words are read in parallel. Self-training takes longest of the other methods in one thread, so it starts while
        # the evidence is prepared.
        begun: dict[str, Future] = {}
        threads = n_jobs or cpu_count()

        def read_ahead() -> None:
            if threads > 1:
                reader = TextVectorizer(**_reading(options))
                _begin(reader.read_words, texts.texts)

        if len(texts.texts) > LARGE:
            if "strings" in candidates_for(texts.texts, None)[0]:
                progress("comparing texts", 0, 1)
                begun["strings"] = Future()
                with when_over("comparing texts", read_ahead):
                    begun["strings"].set_result(fit("strings", threads))
                progress("comparing texts", 1, 1)
            if threads > 1:
                begun["self-training"] = _begin(fit, "self-training")
        views = _views(texts, embedder, options)
        return_memory()
        scorer = make_scorer(texts, options, views)
        lexicon = None
        if scorer is not None and word_labels is None:
            lexicon = _find_general_lexicon(texts, options)
        elif scorer is not None and word_labels:
            lexicon = fit_lexicon(texts, word_labels, options)
        # If the labelled words vote as a model of their own, they must not count twice by joining the source's
        # documents in dual supervision.
        names, left_out = candidates_for(texts.texts, word_labels or None if lexicon is None else None, embedder)
        # Without evidence no method can be compared, so only one method is fitted.
        if scorer is None:
            names = [*([WITH_WORDS] if word_labels else []), YARDSTICK]
        # An embedder that the caller chose may read several scripts; the packaged models and words do not.
        unread = not may_read_other_scripts(embedder) and not added and in_other_script(classes, texts.texts)
        if classes.can_vote and unread:
            left_out.append({"method": NAMES, "chosen": False, "why": OTHER_SCRIPT})
        elif classes.can_vote:
            names.append(NAMES)
        if own is not None and scorer is not None:
            names.append(LABELLER)
        elif own is not None:
            why = "not tried: there are too few documents to judge it by"
            left_out.append({"method": LABELLER, "chosen": False, "why": why})

        def scored(name: str) -> FittedCandidate | dict:
            outcome = begun[name].result() if name in begun else fit(name)
            if scorer is not None and isinstance(outcome, FittedCandidate):
                outcome.evidence = scorer.score(outcome.labels)
            return outcome

        costly = len(texts.texts) * len(set(texts.known_labels)) > COSTLY
        last = ["self-training"] if costly and scorer is not None and "self-training" not in begun else []
        outcomes = _run_all(scored, [name for name in names if name not in last], n_jobs)
        if last and _baseline_is_far_behind(outcomes):
            why = "not tried: it starts from logistic regression, whose labels are much less supported than others"
            left_out.append({"method": last[0], "chosen": False, "why": why})
        elif last:
            outcomes += _run_all(scored, last, n_jobs)
        fitted = [outcome for outcome in outcomes if isinstance(outcome, FittedCandidate)]
        left_out += [outcome for outcome in outcomes if isinstance(outcome, dict)]
        named = next((candidate for candidate in fitted if candidate.name == NAMES), None)
        fitted = [candidate for candidate in fitted if candidate is not named]
    return Candidates(fitted, scorer, left_out, lexicon, getattr(embedder, "name", None), named, added)


def _baseline_is_far_behind(outcomes: Sequence[Any]) -> bool:
    rule = VotingRule()
    fitted = [outcome for outcome in outcomes if isinstance(outcome, FittedCandidate)]
    scores = {one.name: rule.score(one.evidence) for one in fitted if one.evidence is not None}
    return scores[YARDSTICK] < max(scores.values()) - HOPELESS


def texts_for(model: TransferPipeline, texts: TransferTexts) -> TransferTexts:
    """Return the texts that a pipeline can read: without the extra texts if these lack the vectors that it needs.

    Parameters
    ----------
    model : TransferPipeline
    texts : TransferTexts

    Returns
    -------
    TransferTexts
    """
    tables = [step.model for _, step in model.steps if isinstance(getattr(step, "model", None), VectorTable)]
    return texts if all(table.has(texts.given_extra) for table in tables) else texts.without_extra()


def fit_candidate(name: str, model: TransferPipeline, texts: TransferTexts) -> FittedCandidate:
    """Fit one method on both collections and label the target.

    Parameters
    ----------
    name : str
    model : TransferPipeline
    texts : TransferTexts

    Returns
    -------
    FittedCandidate
    """
    start = time.monotonic()
    texts = texts_for(model, texts)
    rows = model.fit_rows(texts.texts, texts.labels, texts.domain)
    targets = np.flatnonzero(texts.domain < 0)
    target_rows = [rows[i] for i in targets] if isinstance(rows, list) else rows[targets]
    probabilities = model.steps[-1][1].target_proba(target_rows)[: texts.n_target]
    if isinstance(rows, list):
        no_known_terms = np.array([not text.strip() for text in rows[texts.target]], dtype=bool)
    else:
        no_known_terms = rows_are_empty(rows)[texts.target]
    return FittedCandidate(
        name,
        model,
        texts.as_given(model.transduction_[texts.target]),
        texts.as_given(probabilities),
        time.monotonic() - start,
        no_known_terms=texts.as_given(no_known_terms),
    )


def _run_all(fit: Callable[[str], Any], names: list[str], n_jobs: int | None) -> list:
    size = min(len(names), n_jobs or cpu_count())
    progress("trying methods", 0, len(names))
    if size < 2:
        outcomes = []
        for step, name in enumerate(names, 1):
            outcomes.append(fit(name))
            progress("trying methods", step, len(names))
        return outcomes

    # The slow methods start first, so that no slow method runs at the end while other cores are idle.
    order = sorted(names, key=lambda name: SLOW.index(name) if name in SLOW else len(SLOW))
    with ThreadPoolExecutor(size) as pool_of_threads:
        futures = {name: pool_of_threads.submit(copy_context().run, _quietly, fit, name) for name in order}
        for done, _ in enumerate(as_completed(futures.values()), 1):
            progress("trying methods", done, len(names))
    return [futures[name].result() for name in names]


def _quietly(act: Callable[[Any], Any], what: Any) -> Any:
    with listen(None):  # methods that run in parallel have no common step to report
        return act(what)


def _begin(act: Callable[[Any], Any], what: Any) -> Future:
    thread = ThreadPoolExecutor(1)
    future = thread.submit(copy_context().run, _quietly, act, what)
    thread.shutdown(wait=False)  # accepts no other task
    return future


def candidates_for(
    texts: Sequence[str], word_labels: Mapping | None, embedder: Any = None
) -> tuple[list[str], list[dict]]:
    """Return the methods to try, and a table row with the reason for each method left out.

    Parameters
    ----------
    texts : sequence of str
    word_labels : mapping or None
    embedder : embedder or None

    Returns
    -------
    chosen : list of str
    left_out : list of dict
    """
    chosen, left_out = list(CANDIDATES), []
    characters = sum(map(len, texts))
    if len(texts) > MOST_STRINGS or characters > MOST_CHARACTERS:
        chosen.remove("strings")
        why = f"not tried: {len(texts):,} documents with {characters:,} characters would take minutes"
        left_out.append({"method": "strings", "chosen": False, "why": why})
    if embedder is not None:
        chosen.append(WITH_VECTORS)
        chosen += () if isinstance(embedder, StaticEmbedder) else ON_ENCODER
    if word_labels:
        chosen.append(WITH_WORDS)
    return chosen, left_out


def _embedder(embed: Any) -> Any:
    if embed is False:
        return None
    if embed is None:
        return resolve_embedder("static") if has_static_vectors() else None
    return resolve_embedder(embed)


def make_scorer(texts: TransferTexts, options: Mapping, views: Mapping[str, View] | None = None) -> LabelScorer | None:
    """Return a scorer that judges labels by words and by ``views``.

    Parameters
    ----------
    texts : TransferTexts
    options : mapping
    views : mapping of str to View, optional

    Returns
    -------
    LabelScorer or None
        None if there are too few documents.
    """
    settings = {name: options[name] for name in ("random_state",) if name in options} | _reading(options)
    try:
        return LabelScorer(
            texts.known_texts,
            texts.known_labels,
            texts.texts[texts.target],
            views=views,
            target_numbers=texts.target_numbers,
            **settings,
        )
    except DataError as error:
        if error.code not in ("no-rows", "empty-vocabulary"):
            raise
        return None


def _reading(options: Mapping) -> dict[str, Any]:
    return {name: options[name] for name in ("analyzer", "min_df", "language") if name in options}


def _views(texts: TransferTexts, embedder: Any, options: Mapping) -> dict[str, View]:
    def make(name: str) -> View:
        steps = METHODS[name].build_with(**options, embed=embedder)[:-1]
        rows: Any = texts_for(steps, texts).texts
        for _, step in steps.steps:
            rows = step.fit_transform(rows)
        # Vectors that were given, or that are slow to compute, exist only for the unchanged texts.
        again = None if name == WITH_VECTORS and not isinstance(embedder, StaticEmbedder) else steps.transform
        return View(rows[texts.known], rows[texts.target], again)

    with ThreadPoolExecutor(1) as beside:  # a function of the caller runs in the caller's thread
        latent = beside.submit(copy_context().run, make, "lsa")
        given = {} if embedder is None else {WITH_VECTORS: make(WITH_VECTORS)}
        return {"lsa": latent.result(), **given}


def fit_lexicon(texts: TransferTexts, word_labels: Mapping, options: Mapping) -> FittedLexicon | None:
    """Fit a model of the labelled words only. It does not use the source's labels, so these measure its accuracy.

    Parameters
    ----------
    texts : TransferTexts
    word_labels : mapping
    options : mapping

    Returns
    -------
    FittedLexicon or None
        None if the words do not cover exactly the source's classes, or if no source document contains a labelled word.
    """
    model = METHODS[WITH_WORDS].build_with(word_labels=word_labels, negation=NEGATION, **options)
    start = time.monotonic()
    try:
        rows = model.fit_rows(texts.texts, np.full(len(texts.texts), None, dtype=object), texts.domain)
    except IsthmusError:
        return None  # for example, if all words belong to one class
    classes = model.classes_
    if len(classes) < 2 or set(classes.tolist()) != set(texts.known_labels):
        return None  # the source cannot show how often words are right about a class that it lacks
    codes = np.searchsorted(classes, np.array(texts.known_labels, dtype=classes.dtype))
    rule = model.steps[-1][1].prediction_rule()
    flat = lexicon_proba(rule, rows[texts.known], 1.0, None)
    has_words = np.ptp(flat, axis=1) > 0
    if not has_words.any():
        return None
    power, offsets = fit_affine(np.log(np.maximum(flat[has_words], 1e-12)), codes[has_words])
    source_proba = lexicon_proba(rule, rows[texts.known], power, offsets)
    probabilities = texts.as_given(lexicon_proba(rule, rows[texts.target], power, offsets))
    return FittedLexicon(
        LEXICON,
        model,
        classes[probabilities.argmax(axis=1)],
        probabilities,
        time.monotonic() - start,
        power=power,
        offsets=offsets,
        accuracy=float(np.mean(source_proba[has_words].argmax(axis=1) == codes[has_words])),
        source_proba=source_proba,
    )


def _find_general_lexicon(texts: TransferTexts, options: Mapping) -> FittedLexicon | None:
    """Fit an installed lexicon of opinion words, if the classes are verdicts and the lexicon agrees with the source."""
    found = find_lexicon(texts.known_texts, texts.known_labels, options["language"])
    if found is None:
        return None
    # Most words of a general lexicon occur in no text, and the caller did not choose them.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* labelled words occur in no", category=IsthmusWarning)
        lexicon = fit_lexicon(texts, found.word_labels, options)
    return None if lexicon is None else replace(lexicon, found=found.why)
