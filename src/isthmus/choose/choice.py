"""Which method for these collections: candidates, evidence, a weighted vote of those it supports."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from joblib import cpu_count

from isthmus._math.calibration import fit_affine
from isthmus._math.confidence import AccuracyEstimate, sharpen
from isthmus._progress import as_candidate, listen, progress
from isthmus._utils import one_blas_thread
from isthmus.choose.combined import (
    LEXICON,
    NAMES,
    CombinedModel,
    agree,
    by_margin,
    lexicon_proba,
    pool,
    sharpness_for,
    shift_for,
    spread_columns,
    to_shares,
)
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.lexicon import shared_errors, weigh_lexicon
from isthmus.choose.lexicons import find_lexicon
from isthmus.choose.names import NamedClasses, names_share, why_names_stay_out
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import (
    CARRIED,
    PROMISES_MORE,
    THIN,
    carried_over,
    confidence_outside,
    estimate_accuracy,
    moved_to,
    outside_groups,
    shares_moved,
    with_added,
)
from isthmus.choose.views import View
from isthmus.choose.voting import VotingRule, excess, shared_labels
from isthmus.classify.labeller import LabellerClassifier
from isthmus.exceptions import DataError, IsthmusError
from isthmus.features.counting import sharing
from isthmus.features.embeddings import StaticEmbedder, has_static_vectors, resolve_embedder
from isthmus.pipeline import TransferPipeline, make_transfer_pipeline
from isthmus.recipes import RECIPES
from isthmus.shift.shares import FOLLOW, compare_shares

YARDSTICK = "logistic"
CANDIDATES = (YARDSTICK, "self-training", "cocc", "projection", "strings", "lsa")
WITH_WORDS = "dual-manifold"
WITH_VECTORS = "vectors"
LABELLER = "labeller"
SLOW = ("cocc", "strings", WITH_WORDS, "self-training")
NEGATION = 3  # words after one that negates in which a labelled word means the opposite
LARGE = 12_000  # documents
MOST_STRINGS = 60_000  # documents; beyond that string kernels cost minutes
MOST_CHARACTERS = 30_000_000
FEWEST_OF_A_CLASS = 5  # documents that shares leave to a class, from which it is contradictory that none gets its label
_MUCH = 0.5  # log-odds from which the table calls labels noisy, or suspiciously easy


@dataclass
class FittedCandidate:
    """One method, fitted on both collections: its labels for the target, as given, and what speaks for them."""

    name: str
    model: TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    seconds: float
    evidence: Evidence | None = None
    no_known_terms: np.ndarray | None = None  # target texts in which it finds nothing it knows


@dataclass
class FittedLexicon(FittedCandidate):
    """The labelled words alone, brought to how often they are right in the source."""

    power: float = 1.0  # of its probabilities
    offsets: np.ndarray | None = None  # how frequent it takes the classes for
    accuracy: float = 0.0  # in the source, over documents with a labelled word
    source_proba: np.ndarray | None = None  # of the labelled source texts, sorted by content
    found: str = ""  # which general lexicon, and why it was taken; empty for words that were given


@dataclass
class Candidates:
    """All methods tried on the collections, and why others were not."""

    fitted: list[FittedCandidate]
    scorer: LabelScorer | None
    left_out: list[dict] = field(default_factory=list)
    lexicon: FittedLexicon | None = None
    vectors: str | None = None
    names: FittedCandidate | None = None  # classes by their names, outside the candidates
    added: list = field(default_factory=list)  # classes that only their names describe

    @property
    def evidence(self) -> dict[str, Evidence]:
        return {candidate.name: candidate.evidence for candidate in self.fitted if candidate.evidence is not None}

    @property
    def shared(self) -> dict[str, float]:
        """How far each candidate's labels are those of the others; see ``isthmus.choose.voting.shared_labels``."""
        n_classes = len({str(name) for candidate in self.fitted for name in candidate.model.classes_})
        right = None
        if self.scorer is not None:
            table = self.scorer.words.source_table
            right = float(np.trace(table) / max(1, table.sum()))
        return shared_labels({candidate.name: candidate.labels for candidate in self.fitted}, n_classes, right)

    def estimate(self, labels: np.ndarray, probabilities: np.ndarray) -> AccuracyEstimate:
        """Accuracy to expect of labels, by comparison with all candidates."""
        confidence = confidence_outside(self.scorer, probabilities)
        others = [candidate.labels for candidate in self.fitted]
        known = ~np.isin(labels, self.added)
        found = estimate_accuracy(self.scorer, labels, confidence, others=others, known=known)
        if known.all() or self.names is None:
            return found
        agreement = self.names.model.agreement_
        return with_added(found, float(np.mean(~known)), None if agreement is None else agreement.right)


@dataclass
class Choice:
    """The outcome: the model, its answers for the target, the table of candidates, what accuracy to expect."""

    model: CombinedModel | TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    table: list[dict]
    accuracy: AccuracyEstimate
    opinions: dict[str, np.ndarray] = field(default_factory=dict)  # probabilities by each method that votes
    no_known_terms: np.ndarray | None = None  # target texts in which no voter finds anything it knows
    scorer: LabelScorer | None = None

    @property
    def name(self) -> str:
        return "+".join(row["method"] for row in self.table if row["chosen"])


def choose(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | Literal[False] | None = None,
    classes: NamedClasses | None = None,
    extra_texts: Sequence[str] = (),
    embed: Any = None,
    n_jobs: int | None = None,
    **options,
) -> Choice:
    """Fit the candidates, weigh their labels, and combine those that the evidence supports.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : ndarray of object
        None where unknown.
    word_labels : mapping or False, optional
        Labelled words. They count as a model of their own next to the vote; where they cannot, dual supervision joins
        the candidates. If omitted, an installed lexicon is taken where classes are verdicts
        (``isthmus.choose.lexicons.find_lexicon``); False: none.
    classes : NamedClasses, optional
        Names and descriptions; the classes that the source lacks are added.
    extra_texts : sequence of str
        Unlabelled texts of either kind; they take part in the fit and get no label.
    embed : str, callable or VectorTable, optional
        Vectors of the texts, as ``isthmus.features.embeddings.resolve_embedder`` reads them. If omitted, the
        packaged static vectors are used where they are installed; False: none.
    n_jobs : int, optional
        Candidates fitted at a time; one per core if omitted.
    **options
        ``random_state``, ``analyzer``, ``min_df``, ``language``, as for a recipe.
    """
    texts = TransferTexts.of(source_texts, source_labels, target_texts, extra_texts)
    return decide(try_methods(texts, word_labels=word_labels, classes=classes, embed=embed, n_jobs=n_jobs, **options))


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
    """Fit every candidate and gather the evidence; parameters as for :func:`choose`.

    ``own``: a function of texts, one candidate more; see :class:`isthmus.classify.labeller.LabellerClassifier`.
    """
    with sharing(), ExitStack() as limits:
        options = {**options, "language": texts.one_language(options.get("language", "auto"))}
        embedder = _embedder(embed)
        if classes is None:
            classes = NamedClasses.of(None, texts.known_labels)
        added = classes.added

        def fit(name: str, threads: int = 1) -> FittedCandidate | dict:
            try:
                if name == LABELLER:
                    with as_candidate():
                        return fit_candidate(name, make_transfer_pipeline(LabellerClassifier(own)), texts)
                words = word_labels or None if RECIPES[name].takes_words else None
                named = {"classes": classes.for_recipe} if RECIPES[name].takes_classes else {}
                model = RECIPES[name].build_with(word_labels=words, embed=embedder, **named, **options)
                if threads > 1:
                    model.steps[-1][1].set_params(n_jobs=threads)
                with as_candidate():
                    return fit_candidate(name, model, texts)
            except IsthmusError as error:
                if name == YARDSTICK or (name == NAMES and added):
                    raise
                return {"method": name, "chosen": False, "why": f"not possible: {error}"}

        # Beyond this size string kernels take as much memory as all others together: they come before anything else
        # has been read, on all cores, and what they took is given back.
        ready: dict[str, Any] = {}
        if len(texts.texts) > LARGE and "strings" in candidates_for(texts.texts, None)[0]:
            progress("trying strings", 0, 1)
            ready["strings"] = fit("strings", n_jobs or cpu_count())
        limits.enter_context(one_blas_thread())
        scorer = make_scorer(texts, options, _views(texts, embedder, options))
        lexicon = None
        if scorer is not None:
            lexicon = fit_lexicon(texts, word_labels, options) if word_labels else None
            lexicon = _find_general_lexicon(texts, options) if word_labels is None else lexicon
        # Words that count as a model of their own must not count twice, mixed with the source's documents.
        names, left_out = candidates_for(texts.texts, word_labels or None if lexicon is None else None, embedder)
        if scorer is None:
            names = [*([WITH_WORDS] if word_labels else []), YARDSTICK]
        if classes.can_vote:
            names.append(NAMES)
        if own is not None and scorer is not None:
            names.append(LABELLER)
        elif own is not None:
            why = "not tried: there are too few documents to judge it by"
            left_out.append({"method": LABELLER, "chosen": False, "why": why})

        def scored(name: str) -> FittedCandidate | dict:
            outcome = ready.pop(name) if name in ready else fit(name)
            if scorer is not None and isinstance(outcome, FittedCandidate):
                outcome.evidence = scorer.score(outcome.labels)
            return outcome

        outcomes = _run_all(scored, names, n_jobs)
        fitted = [outcome for outcome in outcomes if isinstance(outcome, FittedCandidate)]
        left_out += [outcome for outcome in outcomes if isinstance(outcome, dict)]
        named = next((candidate for candidate in fitted if candidate.name == NAMES), None)
        fitted = [candidate for candidate in fitted if candidate is not named]
    return Candidates(fitted, scorer, left_out, lexicon, getattr(embedder, "name", None), named, added)


def fit_candidate(name: str, model: TransferPipeline, texts: TransferTexts) -> FittedCandidate:
    """One method on both collections; evidence about its labels is gathered elsewhere."""
    start = time.monotonic()
    rows = model.fit_rows(texts.texts, texts.labels, texts.domain)
    targets = np.flatnonzero(texts.domain < 0)
    target_rows = [rows[i] for i in targets] if isinstance(rows, list) else rows[targets]
    probabilities = model.steps[-1][1].target_proba(target_rows)[: texts.n_target]
    if isinstance(rows, list):
        no_known_terms = np.array([not text.strip() for text in rows[texts.target]], dtype=bool)
    else:
        no_known_terms = np.asarray((rows[texts.target] != 0).sum(axis=1)).ravel() == 0
    return FittedCandidate(
        name,
        model,
        texts.as_given(model.transduction_[texts.target]),
        texts.as_given(probabilities),
        time.monotonic() - start,
        no_known_terms=texts.as_given(no_known_terms),
    )


def _run_all(fit: Callable[[str], Any], names: list[str], n_jobs: int | None) -> list:
    """Outcomes in the order of ``names``, whoever is ready first. Threads: the heavy parts leave Python's lock."""
    size = min(len(names), n_jobs or cpu_count())
    progress("trying methods", 0, len(names))
    if size < 2:
        outcomes = []
        for step, name in enumerate(names):
            progress(f"trying {name}", step, len(names))
            outcomes.append(fit(name))
        progress("trying methods", len(names), len(names))
        return outcomes

    def quietly(name: str) -> Any:
        with listen(None):  # several methods at a time have no one step to report
            return fit(name)

    # The slow ones first, so that none of them is left alone at the end.
    order = sorted(names, key=lambda name: SLOW.index(name) if name in SLOW else len(SLOW))
    with ThreadPoolExecutor(size) as pool_of_threads:
        futures = {name: pool_of_threads.submit(copy_context().run, quietly, name) for name in order}
        for done, _ in enumerate(as_completed(futures.values()), 1):
            progress("trying methods", done, len(names))
    return [futures[name].result() for name in names]


def candidates_for(
    texts: Sequence[str], word_labels: Mapping | None, embedder: Any = None
) -> tuple[list[str], list[dict]]:
    """Methods worth trying on these texts, and rows for those left out with the reason."""
    chosen, left_out = list(CANDIDATES), []
    characters = sum(map(len, texts))
    if len(texts) > MOST_STRINGS or characters > MOST_CHARACTERS:
        chosen.remove("strings")
        why = f"not tried: {len(texts):,} documents with {characters:,} characters would take minutes"
        left_out.append({"method": "strings", "chosen": False, "why": why})
    if embedder is not None:
        chosen.append(WITH_VECTORS)
    if word_labels:
        chosen.append(WITH_WORDS)
    return chosen, left_out


def _embedder(embed: Any) -> Any:
    """The model of the view of vectors: the one asked for, or the packaged one where it is installed."""
    if embed is False:
        return None
    if embed is None:
        return resolve_embedder("static") if has_static_vectors() else None
    return resolve_embedder(embed)


def make_scorer(texts: TransferTexts, options: Mapping, views: Mapping[str, View] | None = None) -> LabelScorer | None:
    """The scorer of labels, by words and by ``views``; None where there are too few documents."""
    settings = {name: options[name] for name in ("analyzer", "min_df", "language", "random_state") if name in options}
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


def _views(texts: TransferTexts, embedder: Any, options: Mapping) -> dict[str, View]:
    """Vectors in which labels are judged, besides words; the candidates use the same ones."""

    def make(name: str) -> View:
        steps = RECIPES[name].build_with(**options, embed=embedder)[:-1]
        rows: Any = texts.texts
        for _, step in steps.steps:
            rows = step.fit_transform(rows)
        # Vectors that were given, or that are slow to make, exist for the texts as they are.
        again = None if name == WITH_VECTORS and not isinstance(embedder, StaticEmbedder) else steps.transform
        return View(rows[texts.known], rows[texts.target], again)

    with ThreadPoolExecutor(1) as beside:  # a function of the caller stays in the caller's thread
        latent = beside.submit(copy_context().run, make, "lsa")
        given = {} if embedder is None else {WITH_VECTORS: make(WITH_VECTORS)}
        return {"lsa": latent.result(), **given}


def fit_lexicon(texts: TransferTexts, word_labels: Mapping, options: Mapping) -> FittedLexicon | None:
    """The labelled words alone, without a single labelled document.

    The source's labels took no part, so they show how often the words are right, and their probabilities are brought
    to that. Documents without a labelled word get no opinion.
    """
    model = RECIPES[WITH_WORDS].build_with(word_labels=word_labels, negation=NEGATION, **options)
    start = time.monotonic()
    try:
        rows = model.fit_rows(texts.texts, np.full(len(texts.texts), None, dtype=object), texts.domain)
    except IsthmusError:
        return None  # words of one class only, say
    classes = model.classes_
    if len(classes) < 2 or set(classes.tolist()) != set(texts.known_labels):
        return None  # the source cannot show how often words are right about a class it does not have
    codes = np.searchsorted(classes, np.array(texts.known_labels, dtype=classes.dtype))
    method = model.steps[-1][1]
    flat = lexicon_proba(method, rows[texts.known], 1.0, None)
    has_words = np.ptp(flat, axis=1) > 0
    if not has_words.any():
        return None
    power, offsets = fit_affine(np.log(np.maximum(flat[has_words], 1e-12)), codes[has_words])
    source_proba = lexicon_proba(method, rows[texts.known], power, offsets)
    probabilities = texts.as_given(lexicon_proba(method, rows[texts.target], power, offsets))
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
    """An installed lexicon of opinion words, where the classes are verdicts and it agrees with the source."""
    found = find_lexicon(texts.known_texts, texts.known_labels, options["language"])
    lexicon = None if found is None else fit_lexicon(texts, found.word_labels, options)
    return lexicon if lexicon is None or found is None else replace(lexicon, found=found.why)


@one_blas_thread()
def decide(candidates: Candidates, rule: VotingRule | None = None) -> Choice:
    """Weights from the evidence, one pooled answer, and the accuracy to expect of it."""
    rule = rule or VotingRule()
    vote = Vote.of(candidates, vote_weights(candidates, rule))
    if vote.below_source_only(candidates):
        vote = Vote.of(candidates, {YARDSTICK: 1.0})
    model = vote.model
    labels = vote.labels
    opinions = vote.opinions
    accuracy = vote.accuracy
    # The figure speaks of the documents outside new groups; those inside would hide how sure the vote is.
    outside = outside_groups(candidates.scorer, len(labels))
    if accuracy.for_calibration is not None:
        model.sharpness = sharpness_for(vote.pooled[outside], accuracy.for_calibration)
    probabilities = sharpen(vote.pooled, model.sharpness)
    if accuracy.estimate is not None:
        model.share_factors = share_factors(candidates.scorer, probabilities[outside], labels[outside], model.classes_)
    if model.share_factors is not None:
        probabilities = to_shares(probabilities, model.share_factors)
        labels = model.classes_[probabilities.argmax(axis=1)]
        accuracy = moved_to(accuracy, float(probabilities[outside].max(axis=1).mean()))
    table = [*decision_rows(candidates, vote.weights, labels, rule), *candidates.left_out]
    if candidates.lexicon is not None and accuracy.estimate is not None:
        own = add_lexicon(model, candidates, probabilities, accuracy)
        if own is not None:
            opinions = {**opinions, LEXICON: own}
            joint = agree(probabilities, own, model.lexicon_weight)
            labels = model.classes_[joint.argmax(axis=1)]
            accuracy, model.lexicon_sharpness = expect_anew(candidates, joint, labels)
            probabilities = sharpen(joint, model.lexicon_sharpness)
        table.append(lexicon_row(candidates.lexicon, labels, model.lexicon_weight))
    if candidates.names is not None:
        joined = join_names(model, candidates, probabilities, labels, accuracy)
        table.append(names_row(candidates, joined.labels, model, joined.why))
        if not joined.why:
            opinions = {name: spread_columns(own, model.own_classes_, model.classes_) for name, own in opinions.items()}
            opinions[NAMES] = joined.named
        candidates = replace(candidates, scorer=joined.scorer)
        probabilities, labels, accuracy = joined.probabilities, joined.labels, joined.accuracy
    if accuracy.for_calibration is not None:
        outside = outside_groups(candidates.scorer, len(labels))
        model.shift = shift_for(probabilities[outside], accuracy.for_calibration)
        probabilities = by_margin(probabilities, model.shift)
    no_known_terms = np.all(
        [
            candidate.no_known_terms
            for candidate in candidates.fitted
            if candidate.name in vote.weights and candidate.no_known_terms is not None
        ],
        axis=0,
    )
    return Choice(model, labels, probabilities, table, accuracy, opinions, no_known_terms, candidates.scorer)


@dataclass
class Vote:
    """The pooled answer of some candidates, and the accuracy to expect of it."""

    weights: dict[str, float]
    model: CombinedModel
    opinions: dict[str, np.ndarray]
    pooled: np.ndarray
    labels: np.ndarray
    accuracy: AccuracyEstimate

    @classmethod
    def of(cls, candidates: Candidates, weights: dict[str, float]) -> Vote:
        members = {candidate.name: candidate for candidate in candidates.fitted if candidate.name in weights}
        model = CombinedModel({name: candidate.model for name, candidate in members.items()}, weights)
        opinions = {
            name: spread_columns(candidate.probabilities, candidate.model.classes_, model.classes_)
            for name, candidate in members.items()
        }
        pooled = pool(opinions, weights)
        labels = model.classes_[pooled.argmax(axis=1)]
        return cls(weights, model, opinions, pooled, labels, candidates.estimate(labels, pooled))

    def below_source_only(self, candidates: Candidates) -> bool:
        """The guard: whether source-only promises more, where it is as sure in the target as within the source.

        There is then no shift that it suffers from, and its accuracy within the source says what to expect. Not so
        where class shares moved, which sureness does not show. Words may name classes that the source lacks; then it
        cannot answer for the vote.
        """
        alone = {candidate.name: len(candidate.model.classes_) for candidate in candidates.fitted}.get(YARDSTICK)
        if candidates.scorer is None or self.accuracy.for_calibration is None or alone != len(self.model.classes_):
            return False
        carried = carried_over(candidates.scorer)
        if carried is None or list(self.weights) == [YARDSTICK]:
            return False
        sureness, expected = carried
        if shares_moved(candidates.scorer.source_labels, self.labels.astype(str)) >= FOLLOW:
            return False
        return sureness >= CARRIED and expected >= self.accuracy.for_calibration + PROMISES_MORE


def share_factors(
    scorer: LabelScorer | None, probabilities: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> np.ndarray | None:
    """How many times as frequent as in the source each class is, where labels should follow; None otherwise.

    They do not follow an estimate that they would contradict: one that leaves documents to a class, none of which would
    get its label.
    """
    if scorer is None or len(scorer.source_labels) < THIN:
        return None
    names = classes.astype(str)
    shift = compare_shares(scorer.source_labels, probabilities, labels.astype(str), names)
    if not shift.supported:
        return None
    left = np.bincount(to_shares(probabilities, shift.factors).argmax(axis=1), minlength=len(names))
    lost = (left == 0) & (shift.cautious * len(labels) >= FEWEST_OF_A_CLASS)
    return None if lost.any() else shift.factors


def add_lexicon(
    model: CombinedModel, candidates: Candidates, probabilities: np.ndarray, accuracy: AccuracyEstimate
) -> np.ndarray | None:
    """Give the labelled words to the vote; their probabilities for the target, or None where they add nothing."""
    lexicon = candidates.lexicon
    expected = accuracy.for_calibration
    assert lexicon is not None
    assert lexicon.source_proba is not None
    assert candidates.scorer is not None
    assert expected is not None
    own = spread_columns(lexicon.probabilities, lexicon.model.classes_, model.classes_)
    common = shared_errors(candidates.scorer, lexicon.source_proba)
    model.lexicon_weight = weigh_lexicon(probabilities, own, expected, lexicon.accuracy, common)
    if model.lexicon_weight == 0:
        return None
    model.lexicon_model = lexicon.model
    model.lexicon_power = lexicon.power
    model.lexicon_offsets = lexicon.offsets
    return own


@dataclass
class JoinedNames:
    """A vote after names of classes joined it, or why they stayed out."""

    probabilities: np.ndarray
    labels: np.ndarray
    accuracy: AccuracyEstimate
    scorer: LabelScorer | None
    named: np.ndarray  # probabilities by the names
    why: str = ""


def join_names(
    model: CombinedModel,
    candidates: Candidates,
    probabilities: np.ndarray,
    labels: np.ndarray,
    accuracy: AccuracyEstimate,
) -> JoinedNames:
    """Names of classes join the vote: classes that only they describe are added, or they have a share in the vote.

    New groups that added classes explain are no longer announced. Otherwise the probabilities are brought to the
    accuracy that is expected with names.
    """
    names = candidates.names
    assert names is not None
    scorer = candidates.scorer
    if not candidates.added:
        why = _why_without_names(candidates, labels)
        if why:
            return JoinedNames(probabilities, labels, accuracy, scorer, names.probabilities, why)
    agreement = names.model.agreement_
    model.add_names_model(names.model, 0.0 if agreement is None else names_share(agreement))
    named = spread_columns(names.probabilities, names.model.classes_, model.classes_)
    joint = model.with_names(probabilities, named)
    labels = model.classes_[joint.argmax(axis=1)]
    if candidates.added and scorer is not None:
        scorer = scorer.without_groups_of(labels, candidates.added)
        candidates = replace(candidates, scorer=scorer)
    if candidates.added:
        return JoinedNames(joint, labels, candidates.estimate(labels, joint), scorer, named)
    accuracy, model.names_sharpness = expect_anew(candidates, joint, labels)
    return JoinedNames(sharpen(joint, model.names_sharpness), labels, accuracy, scorer, named)


def expect_anew(candidates: Candidates, joint: np.ndarray, labels: np.ndarray) -> tuple[AccuracyEstimate, float]:
    """Accuracy to expect of a vote that words or names joined, and the power that brings its confidence there.

    Two opinions that share errors are surer together than they are right.
    """
    accuracy = candidates.estimate(labels, joint)
    if accuracy.for_calibration is None:
        return accuracy, 1.0
    outside = outside_groups(candidates.scorer, len(labels))
    return accuracy, sharpness_for(joint[outside], accuracy.for_calibration)


def _why_without_names(candidates: Candidates, labels: np.ndarray) -> str:
    """Why names have no share in the vote; the evidence about the vote is gathered where nothing else speaks first."""
    names = candidates.names
    assert names is not None
    scorer = candidates.scorer
    if scorer is None:
        return "there are too few documents to weigh methods against each other"
    n_labelled = len(scorer.source_labels)
    about = names.model.classes_.tolist(), names.model.agreement_
    why = why_names_stay_out(*about, None, None, n_labelled)
    return why or why_names_stay_out(*about, names.evidence, scorer.score(labels), n_labelled)


def names_row(candidates: Candidates, labels: np.ndarray, model: CombinedModel, why: str) -> dict:
    """What the table says about names of classes."""
    names = candidates.names
    assert names is not None
    agreement = names.model.agreement_
    row: dict[str, Any] = {"method": NAMES, "chosen": not why}
    if not candidates.added:
        row["weight"] = 0.0 if why else round(model.names_share, 3)
    if why:
        said = f"not counted: {why}"
    elif candidates.added:
        said = f"adds classes that only their names describe: {', '.join(map(str, candidates.added))}"
    else:
        said = "the names of the classes mean what their documents are about"
    if agreement is not None:
        said += f"; names alone get {agreement.right:.0%} of the source's labels right"
    return row | {
        "agreement": round(float(np.mean(names.labels == labels)), 4),
        "seconds": round(names.seconds, 1),
        "why": said,
    }


def lexicon_row(lexicon: FittedLexicon, labels: np.ndarray, weight: float) -> dict:
    """What the table says about the labelled words."""
    words = f"a general lexicon ({lexicon.found})" if lexicon.found else "the labelled words on their own"
    right = f"{words}, right about {lexicon.accuracy:.0%} of the source"
    why = f"{right}; counted for what they say beyond the vote" if weight else f"{right}, say nothing beyond the vote"
    return {
        "method": lexicon.name,
        "chosen": weight > 0,
        "weight": round(weight, 3),
        "agreement": round(float(np.mean(lexicon.labels == labels)), 4),
        "seconds": round(lexicon.seconds, 1),
        "why": why,
    }


def vote_weights(candidates: Candidates, rule: VotingRule) -> dict[str, float]:
    """Who votes, and how much it counts. The guard: without evidence beyond chance, source-only alone."""
    if not candidates.evidence:
        return {candidates.fitted[0].name: 1.0}
    learned = {
        name: found
        for name, found in candidates.evidence.items()
        if found.learned and found.source_learned and found.leads_back
    }
    return rule.weights(learned, candidates.shared) if learned else {YARDSTICK: 1.0}


def decision_rows(
    candidates: Candidates, weights: Mapping[str, float], labels: np.ndarray, rule: VotingRule
) -> list[dict]:
    """The ranked table: evidence with its uncertainty, weight in the vote, and why."""
    if not candidates.evidence:
        name = candidates.fitted[0].name
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows = []
    shared = candidates.shared
    for candidate in candidates.fitted:
        found = candidates.evidence[candidate.name]
        common = shared[candidate.name]
        rows.append(
            {
                "method": candidate.name,
                "chosen": candidate.name in weights,
                "weight": round(weights.get(candidate.name, 0.0), 3),
                "score": round(rule.score(found, common), 4),
                "spread": round(rule.spread(found, common), 4),
                "learnability": round(found.learnability, 4),
                "source_learnability": round(found.source_learnability, 4),
                "reverse_accuracy": round(found.reverse_accuracy, 4),
                "agreement": round(float(np.mean(candidate.labels == labels)), 4),
                "seconds": round(candidate.seconds, 1),
                "why": _why(candidate.name, found, weights),
            }
        )
    return sorted(rows, key=lambda row: (-row["weight"], -row["score"]))


def _why(name: str, found: Evidence, weights: Mapping[str, float]) -> str:
    """One sentence for people; the figures behind it stand beside it in the row."""
    votes = name in weights
    if not found.source_learned:
        why = "a classifier cannot learn even the source's own labels from their words"
        return f"source-only, because {why}; trust no label" if votes else f"not judged: {why}"
    if not found.learned:
        why = "a classifier cannot learn its labels from the target's words"
        return "source-only, because no method gave labels that can be learned from words" if votes else why
    if not found.leads_back and not votes:
        return "trained on its labels, a classifier cannot tell the source's classes apart"
    if votes and list(weights) == [YARDSTICK]:
        return "source-only, because no method that adapts is better supported"
    if votes:
        return f"supported: trained on its labels, a classifier gets {found.reverse_accuracy:.0%} of the source right"
    if excess(found) > _MUCH:
        return "its labels are suspiciously easy to learn: they may follow another division of the target"
    if excess(found) < -_MUCH:
        return "its labels are harder to learn than the source's: many may be wrong"
    return "other methods are better supported"
