"""Which method for this pair of collections: candidates, evidence, a weighted vote of those it supports."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.linear_model import LogisticRegression

from isthmus._math.calibration import fit_affine
from isthmus._math.content import content_order, label_ranks
from isthmus._progress import listen, progress
from isthmus.choose.combined import (
    WITNESS,
    CombinedModel,
    agree,
    hear,
    pool,
    sharpen,
    sharpness_for,
    spread_columns,
    to_shares,
)
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.trust import (
    CARRIED,
    PROMISES_MORE,
    THIN,
    AccuracyEstimate,
    carried_over,
    confidence_outside,
    estimate_accuracy,
    moved_to,
    outside_groups,
    shares_moved,
)
from isthmus.choose.views import View
from isthmus.choose.voting import VotingRule, excess, shared_labels
from isthmus.choose.witness import shared_errors, weigh_witness
from isthmus.exceptions import DataError, IsthmusError
from isthmus.features.counting import sharing
from isthmus.features.embeddings import StaticEmbedder, has_static_vectors, resolve_embedder
from isthmus.features.languages import NAMES, OTHER, languages_in_use, resolve_language
from isthmus.features.vectorizer import TextVectorizer
from isthmus.pipeline import TransferPipeline
from isthmus.recipes import RECIPES
from isthmus.shift.shares import FOLLOW, compare_shares

YARDSTICK = "logistic"
CANDIDATES = (YARDSTICK, "self-training", "cocc", "projection", "strings", "lsa")
WITH_WORDS = "dual-manifold"
WITH_VECTORS = "vectors"
SLOW = ("cocc", "strings", WITH_WORDS, "self-training")
NEGATION = 3  # words after one that negates in which a labelled word means the opposite
LARGE = 12_000  # documents
SIDE_SAMPLE = 2_000  # documents of each side that say which side a further text reads like
MOST_STRINGS = 60_000  # documents; beyond that string kernels cost minutes
MOST_CHARACTERS = 30_000_000
_MUCH = 0.5  # log-odds from which the table calls labels noisy, or suspiciously easy


@dataclass
class FittedCandidate:
    """One method, fitted on both collections: its answers for the target and what speaks for them."""

    name: str
    model: TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    seconds: float
    evidence: Evidence | None = None
    silent: np.ndarray | None = None  # target texts in which it finds nothing it knows
    weight: float = 1.0  # of a witness: the power that brings its probabilities to how often it is right …
    offsets: np.ndarray | None = None  # … how frequent it takes the classes for …
    accuracy: float = 0.0  # … how often it is right in the source, where it speaks …
    in_source: np.ndarray | None = None  # … and what it says there


@dataclass
class Candidates:
    """All methods tried on a pair of collections, and why others were not."""

    trials: list[FittedCandidate]
    judge: LabelScorer | None
    left_out: list[dict] = field(default_factory=list)
    witness: FittedCandidate | None = None
    vectors: str | None = None

    @property
    def evidence(self) -> dict[str, Evidence]:
        return {trial.name: trial.evidence for trial in self.trials if trial.evidence is not None}

    @property
    def shared(self) -> dict[str, float]:
        """How far each candidate's labels are those of the others; see ``isthmus.choose.voting.shared_labels``."""
        n_classes = len({str(name) for trial in self.trials for name in trial.model.classes_})
        table = None if self.judge is None else self.judge.words.source_table
        right = None if table is None else float(np.trace(table) / max(1, table.sum()))
        return shared_labels({trial.name: trial.labels for trial in self.trials}, n_classes, right)

    def estimate(self, labels: np.ndarray, probabilities: np.ndarray) -> AccuracyEstimate:
        """Accuracy to expect of labels, all candidates heard."""
        confidence = confidence_outside(self.judge, probabilities)
        return estimate_accuracy(self.judge, labels, confidence, others=[trial.labels for trial in self.trials])


@dataclass
class Choice:
    """The outcome: the model, its answers for the target, the table of candidates, what accuracy to expect."""

    model: CombinedModel
    labels: np.ndarray
    probabilities: np.ndarray
    table: list[dict]
    accuracy: AccuracyEstimate
    opinions: dict[str, np.ndarray] = field(default_factory=dict)  # probabilities by each method that votes
    silent: np.ndarray | None = None  # target texts in which no voter finds anything it knows
    judge: LabelScorer | None = None

    @property
    def name(self) -> str:
        return "+".join(row["method"] for row in self.table if row["chosen"])


def choose(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | None = None,
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
    word_labels : mapping, optional
        Labelled words. They are heard as an independent witness; where they cannot be, dual supervision joins the
        candidates.
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
    # Samples and folds are drawn from rows sorted by content: the caller's order must not decide who wins.
    known = np.array([label is not None for label in source_labels], dtype=bool)
    rows = content_order(source_texts, label_ranks(source_labels, known))
    places = content_order(target_texts)
    contest = try_methods(
        [source_texts[i] for i in rows],
        source_labels[rows],
        [target_texts[i] for i in places],
        word_labels=word_labels,
        extra_texts=[extra_texts[i] for i in content_order(extra_texts)] if extra_texts else extra_texts,
        embed=embed,
        n_jobs=n_jobs,
        **options,
    )
    choice, back = decide(contest), np.argsort(places)
    judge = None if choice.judge is None else copy(choice.judge)
    if judge is not None:
        judge.target = places[judge.target]  # as the caller sorts the texts, like everything else here
    return replace(
        choice,
        judge=judge,
        labels=choice.labels[back],
        probabilities=choice.probabilities[back],
        opinions={name: opinion[back] for name, opinion in choice.opinions.items()},
        silent=None if choice.silent is None else choice.silent[back],
    )


def try_methods(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | None = None,
    extra_texts: Sequence[str] = (),
    embed: Any = None,
    n_jobs: int | None = None,
    **options,
) -> Candidates:
    """Fit every candidate and gather the evidence; parameters as for :func:`choose`."""
    pair = Pair.of(source_texts, source_labels, target_texts, extra_texts)
    with sharing():
        options = {**options, "language": _one_language(pair.texts, options.get("language", "auto"))}
        embedder = _embedder(embed)

        def fit(name: str, threads: int = 1) -> FittedCandidate | dict:
            words = word_labels if RECIPES[name].takes_words else None
            try:
                model = RECIPES[name].build_with(word_labels=words, embed=embedder, **options)
                if threads > 1:
                    model.steps[-1][1].set_params(n_jobs=threads)
                return fit_candidate(name, model, pair)
            except IsthmusError as error:
                if name == YARDSTICK:
                    raise
                return {"method": name, "chosen": False, "why": f"not possible: {error}"}

        # Beyond this size string kernels take as much memory as all others together: they come before anything else
        # has been read, on all cores, and what they took is given back.
        ready: dict[str, Any] = {}
        if len(pair.texts) > LARGE and "strings" in candidates_for(pair.texts, None)[0]:
            progress("trying strings", 0, 1)
            ready["strings"] = fit("strings", n_jobs or cpu_count())
        judge = _judge(pair, embedder, options)
        witness = hear_words(pair, word_labels, options) if word_labels and judge is not None else None
        # Words that are heard as a witness must not speak a second time, mixed with the source's documents.
        names, left_out = candidates_for(pair.texts, word_labels if witness is None else None, embedder)
        if judge is None:
            names = [*([WITH_WORDS] if word_labels else []), YARDSTICK]

        def judged(name: str) -> FittedCandidate | dict:
            outcome = ready.pop(name) if name in ready else fit(name)
            if judge is not None and isinstance(outcome, FittedCandidate):
                outcome.evidence = judge.score(outcome.labels)
            return outcome

        outcomes = _run_all(judged, names, n_jobs)
        trials = [outcome for outcome in outcomes if isinstance(outcome, FittedCandidate)]
        left_out += [outcome for outcome in outcomes if isinstance(outcome, dict)]
    return Candidates(trials, judge, left_out, witness, getattr(embedder, "name", None))


@dataclass
class Pair:
    """The two collections in one list, source first, then target, then further texts of either kind."""

    texts: list[str]
    labels: np.ndarray
    domain: np.ndarray
    n_source: int
    n_target: int

    @classmethod
    def of(cls, source_texts, source_labels, target_texts, extra_texts=()) -> Pair:
        source, target, extra = list(source_texts), list(target_texts), list(extra_texts)
        labels = np.concatenate([source_labels, np.full(len(target) + len(extra), None, dtype=object)])
        domain = np.concatenate([np.ones(len(source), dtype=int), np.full(len(target), -1)])
        if extra:
            domain = np.concatenate([domain, np.where(nearer_target(source, target, extra), -1, 1)])
        return cls([*source, *target, *extra], labels, domain, len(source), len(target))

    @property
    def known(self) -> list[int]:
        """Source rows with a label."""
        return [i for i in range(self.n_source) if self.labels[i] is not None]

    @property
    def target(self) -> slice:
        return slice(self.n_source, self.n_source + self.n_target)


def nearer_target(source: list[str], target: list[str], extra: list[str]) -> np.ndarray:
    """Which further texts read like the target rather than like the source."""
    rng = np.random.default_rng(0)
    sample = [[side[i] for i in rng.permutation(len(side))[:SIDE_SAMPLE]] for side in (source, target)]
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True, min_df=1)
    rows = vectorizer.fit_transform([*sample[0], *sample[1]])
    model = LogisticRegression(C=10.0, class_weight="balanced", solver="newton-cg")
    model.fit(rows, np.repeat([0, 1], [len(part) for part in sample]))
    return model.predict(vectorizer.transform(extra)) == 1


def fit_candidate(name: str, model: TransferPipeline, pair: Pair) -> FittedCandidate:
    """One method on both collections; the evidence about its labels is left to whoever judges."""
    start = time.monotonic()
    rows = model.fit_rows(pair.texts, pair.labels, pair.domain)
    targets = np.flatnonzero(pair.domain < 0)
    target_rows = [rows[i] for i in targets] if isinstance(rows, list) else rows[targets]
    probabilities = model.steps[-1][1].target_proba(target_rows)[: pair.n_target]
    if isinstance(rows, list):
        silent = np.array([not text.strip() for text in rows[pair.target]], dtype=bool)
    else:
        silent = np.asarray((rows[pair.target] != 0).sum(axis=1)).ravel() == 0
    labels = model.transduction_[pair.target]
    return FittedCandidate(name, model, labels, probabilities, time.monotonic() - start, silent=silent)


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


def _one_language(texts: Sequence[str], language: str) -> str:
    """The language of all texts, where there is one: nobody who reads a part of them need guess it again."""
    if resolve_language(language) != "auto":
        return language
    found = languages_in_use(texts)
    return found[0] if len(found) == 1 and found[0] in {*NAMES, OTHER} else language


def _embedder(embed: Any) -> Any:
    """The model of the view of vectors: the one asked for, or the packaged one where it is installed."""
    if embed is False:
        return None
    if embed is None:
        return resolve_embedder("static") if has_static_vectors() else None
    return resolve_embedder(embed)


def _judge(pair: Pair, embedder: Any, options: Mapping) -> LabelScorer | None:
    settings = {name: options[name] for name in ("analyzer", "min_df", "language", "random_state") if name in options}
    try:
        return LabelScorer(
            [pair.texts[i] for i in pair.known],
            [pair.labels[i] for i in pair.known],
            pair.texts[pair.target],
            views=_views(pair, embedder, options),
            **settings,
        )
    except DataError as error:
        if error.code not in ("no-rows", "empty-vocabulary"):
            raise
        return None


def _views(pair: Pair, embedder: Any, options: Mapping) -> dict[str, View]:
    """Vectors in which labels are judged, besides words; the candidates use the same ones."""

    def make(name: str) -> View:
        steps = RECIPES[name].build_with(**options, embed=embedder)[:-1]
        rows: Any = pair.texts
        for _, step in steps.steps:
            rows = step.fit_transform(rows)
        # Vectors that were given, or that are slow to make, exist for the texts as they are.
        again = None if name == WITH_VECTORS and not isinstance(embedder, StaticEmbedder) else steps.transform
        return View(rows[pair.known], rows[pair.target], again)

    with ThreadPoolExecutor(1) as beside:  # a function of the caller stays in the caller's thread
        latent = beside.submit(copy_context().run, make, "lsa")
        given = {} if embedder is None else {WITH_VECTORS: make(WITH_VECTORS)}
        return {"lsa": latent.result(), **given}


def hear_words(pair: Pair, word_labels: Mapping, options: Mapping) -> FittedCandidate | None:
    """What the labelled words alone say, without a single labelled document.

    The source's labels took no part, so they can say how often the words are right, and their probabilities are brought
    to that. About documents without a labelled word they are silent.
    """
    model = RECIPES[WITH_WORDS].build_with(word_labels=word_labels, negation=NEGATION, **options)
    start = time.monotonic()
    try:
        rows = model.fit_rows(pair.texts, np.full(len(pair.texts), None, dtype=object), pair.domain)
    except IsthmusError:
        return None  # words of one class only, say
    classes, known = model.classes_, pair.known
    if len(classes) < 2 or set(classes.tolist()) != {pair.labels[i] for i in known}:
        return None  # the source cannot say how often words are right about a class it does not have
    codes = np.searchsorted(classes, np.array([pair.labels[i] for i in known], dtype=classes.dtype))
    method = model.steps[-1][1]
    flat = hear(method, rows[known], 1.0, None)
    spoken = np.ptp(flat, axis=1) > 0
    if not spoken.any():
        return None
    weight, offsets = fit_affine(np.log(np.maximum(flat[spoken], 1e-12)), codes[spoken])
    proba = hear(method, rows[pair.target], weight, offsets)
    found = FittedCandidate(WITNESS, model, classes[proba.argmax(axis=1)], proba, time.monotonic() - start)
    found.weight, found.offsets = weight, offsets
    found.in_source = hear(method, rows[known], weight, offsets)
    found.accuracy = float(np.mean(found.in_source[spoken].argmax(axis=1) == codes[spoken]))
    return found


def score_pair(pair: Pair, options: Mapping) -> LabelScorer | None:
    """The scorer of one method's labels, by words alone; None where there are too few documents."""
    settings = {name: options[name] for name in ("analyzer", "min_df", "language", "random_state") if name in options}
    known = [pair.texts[i] for i in pair.known], [pair.labels[i] for i in pair.known]
    try:
        return LabelScorer(*known, pair.texts[pair.target], **settings)
    except DataError as error:
        if error.code not in ("no-rows", "empty-vocabulary"):
            raise
        return None


def decide(contest: Candidates, rule: VotingRule | None = None) -> Choice:
    """Weights from the evidence, one pooled answer, and the accuracy to expect of it."""
    rule = rule or VotingRule()
    vote = Vote.of(contest, vote_weights(contest, rule))
    if vote.below_source_only(contest):
        vote = Vote.of(contest, {YARDSTICK: 1.0})
    model, labels, spread, accuracy = vote.model, vote.labels, vote.opinions, vote.accuracy
    # The figure speaks of the documents outside new groups; those inside would hide how sure the vote is.
    outside = outside_groups(contest.judge, len(labels))
    if accuracy.for_calibration is not None:
        model.sharpness = sharpness_for(vote.pooled[outside], accuracy.for_calibration)
    probabilities = sharpen(vote.pooled, model.sharpness)
    if accuracy.estimate is not None:
        model.share_factors = share_factors(contest.judge, probabilities[outside], labels[outside], model.classes_)
    if model.share_factors is not None:
        probabilities = to_shares(probabilities, model.share_factors)
        labels = model.classes_[probabilities.argmax(axis=1)]
        accuracy = moved_to(accuracy, float(probabilities[outside].max(axis=1).mean()))
    table = [*decision_rows(contest, vote.weights, labels, rule), *contest.left_out]
    if contest.witness is not None and accuracy.estimate is not None:
        own = add_witness(model, contest, probabilities, accuracy)
        if own is not None:
            spread = {**spread, WITNESS: own}
            probabilities = agree(probabilities, own, model.hearing)
            labels = model.classes_[probabilities.argmax(axis=1)]
        table.append(witness_row(contest.witness, labels, model.hearing))
        accuracy = contest.estimate(labels, probabilities)
    silent = np.all([t.silent for t in contest.trials if t.name in vote.weights and t.silent is not None], axis=0)
    return Choice(model, labels, probabilities, table, accuracy, spread, silent, contest.judge)


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
    def of(cls, contest: Candidates, weights: dict[str, float]) -> Vote:
        members = {trial.name: trial for trial in contest.trials if trial.name in weights}
        model = CombinedModel({name: trial.model for name, trial in members.items()}, weights)
        opinions = {
            name: spread_columns(trial.probabilities, trial.model.classes_, model.classes_)
            for name, trial in members.items()
        }
        pooled = pool(opinions, weights)
        labels = model.classes_[pooled.argmax(axis=1)]
        return cls(weights, model, opinions, pooled, labels, contest.estimate(labels, pooled))

    def below_source_only(self, contest: Candidates) -> bool:
        """The guard: whether source-only promises more, where it is as sure in the target as within the source.

        There is then no shift that it suffers from, and its accuracy within the source says what to expect. Not so
        where class shares moved, which sureness does not show. Words may name classes that the source lacks; then it
        cannot answer for the vote.
        """
        alone = {trial.name: len(trial.model.classes_) for trial in contest.trials}.get(YARDSTICK)
        if contest.judge is None or self.accuracy.for_calibration is None or alone != len(self.model.classes_):
            return False
        carried = carried_over(contest.judge)
        if carried is None or list(self.weights) == [YARDSTICK]:
            return False
        sureness, expected = carried
        if shares_moved(contest.judge.source_labels, self.labels.astype(str)) >= FOLLOW:
            return False
        return sureness >= CARRIED and expected >= self.accuracy.for_calibration + PROMISES_MORE


def share_factors(
    judge: LabelScorer | None, probabilities: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> np.ndarray | None:
    """How many times as frequent as in the source each class is, where labels should follow; None otherwise."""
    if judge is None or len(judge.source_labels) < THIN:
        return None
    names = classes.astype(str)
    shift = compare_shares(judge.source_labels, probabilities, labels.astype(str), names)
    return shift.factors if shift.supported else None


def add_witness(
    model: CombinedModel, contest: Candidates, probabilities: np.ndarray, accuracy: AccuracyEstimate
) -> np.ndarray | None:
    """Give the witness to the vote; what it says of the target, or None where that is nothing beyond the vote."""
    witness, expected = contest.witness, accuracy.for_calibration
    assert witness is not None
    assert witness.in_source is not None
    assert contest.judge is not None
    assert expected is not None
    own = spread_columns(witness.probabilities, witness.model.classes_, model.classes_)
    common = shared_errors(contest.judge, witness.in_source)
    model.hearing = weigh_witness(probabilities, own, expected, witness.accuracy, common)
    if model.hearing == 0:
        return None
    model.witness, model.witness_weight, model.witness_offsets = witness.model, witness.weight, witness.offsets
    return own


def witness_row(witness: FittedCandidate, labels: np.ndarray, hearing: float) -> dict:
    """What the table says about the labelled words."""
    heard = hearing > 0
    right = f"right about {witness.accuracy:.0%} of the source"
    return {
        "method": witness.name,
        "chosen": heard,
        "weight": round(hearing, 3),
        "agreement": round(float(np.mean(witness.labels == labels)), 4),
        "seconds": round(witness.seconds, 1),
        "why": f"the labelled words on their own, {right}; counted for what they say beyond the vote"
        if heard
        else f"the labelled words on their own, {right}, say nothing beyond the vote",
    }


def vote_weights(contest: Candidates, rule: VotingRule) -> dict[str, float]:
    """Who votes, and how much it counts. The guard: without evidence beyond chance, source-only alone."""
    if not contest.evidence:
        return {contest.trials[0].name: 1.0}
    learned = {
        name: found
        for name, found in contest.evidence.items()
        if found.learned and found.source_learned and found.leads_back
    }
    return rule.weights(learned, contest.shared) if learned else {YARDSTICK: 1.0}


def decision_rows(
    contest: Candidates, weights: Mapping[str, float], labels: np.ndarray, rule: VotingRule
) -> list[dict]:
    """The ranked table: evidence with its uncertainty, weight in the vote, and why."""
    if not contest.evidence:
        name = contest.trials[0].name
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows, shared = [], contest.shared
    for trial in contest.trials:
        found, common = contest.evidence[trial.name], shared[trial.name]
        rows.append(
            {
                "method": trial.name,
                "chosen": trial.name in weights,
                "weight": round(weights.get(trial.name, 0.0), 3),
                "score": round(rule.score(found, common), 4),
                "spread": round(rule.spread(found, common), 4),
                "learnability": round(found.learnability, 4),
                "source_learnability": round(found.source_learnability, 4),
                "reverse_accuracy": round(found.reverse_accuracy, 4),
                "agreement": round(float(np.mean(trial.labels == labels)), 4),
                "seconds": round(trial.seconds, 1),
                "why": _why(trial.name, found, weights),
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
