"""Turn measures into findings: a severity, a sentence with numbers, and advice.

Severity: 0 fine, 1 attention, 2 caution, 3 do not transfer. No threshold was chosen by looking at target labels.
Each threshold follows from the meaning of its figure. It was checked on random halves of one corpus, for which every
finding must be fine, and on mixtures of two domains. ``TRANSFER`` lists the topics that decide the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus import wording
from isthmus._math.fitted import fitted
from isthmus._utils import plural, warn
from isthmus.features.languages import NAMES, guess_languages, language_name, plainly_english
from isthmus.shift.bridges import Carrying
from isthmus.shift.doubt import LabelDoubt
from isthmus.shift.novelty import Novelty, shows_its_worth, simulated_sentence

# Fitted constants; ``choose/trust.json`` states their units and origin.
NOVELTY = fitted("novelty")
LIMITS = fitted("diagnosis")

TRANSFER = ("languages", "vocabulary", "distance", "what carries over")
# Proxy A-distances from which the severity is 1, 2, 3. Half the distance is about the share of the target that looks
# foreign: a fifth, three fifths. The distance never forbids a transfer: any two products can be distinguished, and
# labels still transfer.
DISTANCE = (0.4, 1.2, np.inf)
_SHOWN = 8  # words listed in a sentence


def finding(severity: int, topic: str, sentence: str, advice: str, **values: Any) -> dict:
    """Return a row of the table of findings.

    Parameters
    ----------
    severity : int
        0 to 3.
    topic, sentence, advice : str
    **values
        Figures behind the sentence.

    Returns
    -------
    dict
    """
    return {"severity": severity, "topic": topic, "finding": sentence, "advice": advice, "values": values}


def percent(share: float) -> str:
    """Format a share: ``12%``, with one decimal below ten per cent.

    Parameters
    ----------
    share : float

    Returns
    -------
    str
    """
    return wording.percent(share, 0 if share >= 0.0995 or share == 0 else 1)


def size_finding(n_source: int, n_labelled: int, n_target: int, empty: int) -> dict:
    """Report whether there are enough documents.

    Parameters
    ----------
    n_source, n_labelled, n_target, empty : int
        Numbers of source documents, of source documents with a label, of target documents, and of target documents
        without a word.

    Returns
    -------
    dict
    """
    least = min(n_labelled, n_target)
    severity = 2 if least < LIMITS["very_few"] else 1 if least < LIMITS["few"] else 0
    sentence = (
        f"{plural(n_source, 'source document')} ({n_labelled:,} with a label) and {plural(n_target, 'target document')}"
    )
    sentence += f"; {plural(empty, 'target document holds', 'target documents hold')} no word." if empty else "."
    if severity == 0:
        advice = "There are enough documents to measure."
    else:
        advice = "Read the figures below as rough: with so few documents they may be chance. Add documents if you can."
    if empty:
        advice += " Labels of empty documents are guesses: set them aside."
    return finding(
        severity, "sizes", sentence, advice, source=n_source, labelled=n_labelled, target=n_target, empty_target=empty
    )


def language_finding(source: dict[str, float], target: dict[str, float], known: float, vectors: bool = False) -> dict:
    """Report the languages of both sides.

    Parameters
    ----------
    source, target : dict of str to float
        Shares of the languages, the largest first.
    known : float
        Share of the target's running words that occur in the source.
    vectors : bool
        Whether text vectors transfer labels, too. Two languages then do not forbid a transfer.

    Returns
    -------
    dict
    """
    values = {"source": source, "target": target}
    shown = [
        ", ".join([f"{language_name(name)} {percent(share)}" for name, share in shares.items() if share >= 0.01][:4])
        for shares in (source, target)
    ]
    if not source or not target:
        side = "source" if not source else "target"
        return finding(3, "languages", f"The {side} holds no letters.", "Check the text column.", **values)
    main_source, main_target = next(iter(source)), next(iter(target))
    foreign = sum(share for name, share in target.items() if source.get(name, 0.0) < 0.05)
    told = main_source in NAMES and main_target in NAMES
    sentence = f"Source: {shown[0]}; target: {shown[1]}."
    if main_source != main_target and (told or known < LIMITS["known"][2]):
        severity = 3 if known < LIMITS["known"][1] and not vectors else 2
        advice = "Translate one side first; words do not cross languages."
        if vectors:
            advice = "Labels cross through the vectors alone: their model must know both languages. Check a sample."
    elif foreign > 0.2 and told:
        severity, advice = 2, f"{percent(foreign)} of the target is in a language the source lacks: set these aside."
    elif foreign > 0.02 and told:
        severity, advice = 1, f"{percent(foreign)} of the target is in a language the source lacks: review these."
    else:
        severity, advice = 0, "One language on both sides." if told else "The words do not reveal the language."
    return finding(severity, "languages", sentence, advice, **values)


def vocabulary_finding(overlap: dict[str, float], halves: float) -> dict:
    """Report how many of the target's words occur in the source.

    Parameters
    ----------
    overlap : dict
        Result of :func:`isthmus.shift.vocabulary_overlap`.
    halves : float
        ``tokens_known`` between random halves of the source.

    Returns
    -------
    dict
    """
    known = overlap["tokens_known"]
    ratio = known / halves if halves > 0 else known  # halves of a few documents may share no word
    severity = _grade(ratio, LIMITS["known"]) if overlap["shared_types"] else 3
    sentence = (
        f"The source knows {overlap['shared_types']:,} of {plural(int(overlap['target_types']), 'target word')}: "
        f"{percent(known)} of the target's running words (between halves of the source: {percent(halves)})."
    )
    advice = (
        "The source knows the target's words."
        if known >= LIMITS["known"][0]
        else "The source knows no fewer of the target's words than half of it knows of its other half.",
        "A good part of the target's text is in words the source lacks: a method that learns from the target's texts "
        "can connect them.",
        "Most of the target's words are unknown: try character n-grams (method='strings') and review closely.",
        "The two sides share almost no words, so nothing can carry the labels.",
    )[severity]
    return finding(severity, "vocabulary", sentence, advice, tokens_known_halves=halves, **overlap)


def _grade(value: float, bounds: Sequence[float]) -> int:
    return sum(value < bound for bound in bounds)


def distance_finding(measured: dict[str, float]) -> dict:
    """Report how easily a classifier distinguishes the domains.

    Parameters
    ----------
    measured : dict
        Result of :func:`isthmus.shift.proxy_a_distance`.

    Returns
    -------
    dict
    """
    distance = measured["distance"]
    if np.isnan(distance):
        sentence = f"Too few documents ({measured['documents']:,} on the smaller side) to tell the domains apart."
        advice = "Collect at least twenty documents a side to measure the distance."
        return finding(1, "distance", sentence, advice, **measured)
    severity = sum(distance >= bound for bound in DISTANCE)
    meaning = ("are hard to tell apart", "can partly be told apart", "are easy to tell apart")[severity]
    sentence = (
        f"Source and target {meaning} by their words: a linear classifier confuses "
        f"{percent(measured['error'])} of the documents; of collections that are alike it confuses half."
    )
    advice = (
        "The two look alike.",
        "Part of the target looks foreign: expect more errors there.",
        "Nearly every document shows where it is from: confidence learned on the source will be too high. Label a "
        "sample of the target to check.",
    )[severity]
    return finding(severity, "distance", sentence, advice, **measured)


def divergence_finding(measured: dict[str, float]) -> dict:
    """Report how much the word frequencies differ.

    Parameters
    ----------
    measured : dict
        Result of :func:`isthmus.shift.word_divergence`.

    Returns
    -------
    dict
    """
    kl, halves = measured["kl"], measured["kl_halves"]
    if np.isnan(kl):
        return finding(0, "divergence", "Too few words to compare their frequencies.", "None.", **measured)
    severity = int(not np.isnan(halves) and kl > 2 * halves)
    sentence = "Words occur with other frequencies in the target than in the source."
    if not np.isnan(halves):
        sentence = (
            f"{sentence[:-1]}: the difference is {kl / max(halves, 1e-9):.1f} times that of two halves of the source."
        )
    advice = "Expect words that are rare or new." if severity else "The difference is no larger than chance."
    return finding(severity, "divergence", sentence, advice, **measured)


def carrying_finding(measured: Carrying | None, n_target: int) -> dict:
    """Report how well classes can be distinguished at the target's word frequencies.

    Parameters
    ----------
    measured : Carrying or None
        Result of :func:`isthmus.shift.vocabulary_transfer`.
    n_target : int
        Number of target documents.

    Returns
    -------
    dict
    """
    topic = "what carries over"
    if measured is None:
        return finding(1, topic, "Fewer than two classes have five documents or more.", "Label more source documents.")
    values = {name: getattr(measured, name) for name in ("source", "thinned", "chance", "share", "spread")}
    kept = f"{percent(measured.source)} of held-out source documents right (classes weighted equally; chance " \
           f"{percent(measured.chance)})"  # fmt: skip
    if not measured.above_chance:
        return finding(
            3, topic, f"Words do not tell the source's own classes apart: naive Bayes gets {kept}.",
            "Check the labels and the text column; a method cannot carry over what is not there.",
            separable=False, **values,
        )  # fmt: skip
    severity = _grade(measured.share, LIMITS["carried"])
    sentence = (
        f"Naive Bayes gets {kept}, and {percent(measured.thinned)} when their words are thinned to the target's "
        f"frequencies: {percent(measured.share)} of what tells the classes apart is left."
    )
    advice = (
        "The words that tell the classes apart are common in the target, too.",
        "Some words that tell the classes apart are rare in the target: a method that adapts may make up for them.",
        "Much of what tells the classes apart is missing in the target: use a method that adapts, and review.",
        "What tells the classes apart in the source hardly occurs in the target: do not transfer.",
    )[severity]
    # With few target documents most words are missing by chance, so the figure must not forbid a transfer.
    if n_target < LIMITS["thinnable"] and severity:
        severity = 1
        advice = (
            f"The frequencies of words in fewer than {LIMITS['thinnable']} target documents are mostly chance: do not "
            "act on this figure, add documents."
        )
    return finding(severity, topic, sentence, advice, separable=True, **values)


def balance_finding(classes: np.ndarray, sizes: np.ndarray, target_shares: np.ndarray | None) -> dict:
    """Report the class proportions of the source, and a rough estimate for the target.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    sizes : ndarray of int, shape (n_classes,)
        Source documents of each class.
    target_shares : ndarray of shape (n_classes,) or None
        Estimated class proportions of the target.

    Returns
    -------
    dict
    """
    shares = sizes / sizes.sum()
    smallest, largest = int(sizes.argmin()), int(sizes.argmax())
    values: dict[str, Any] = {"source": {str(c): round(float(s), 4) for c, s in zip(classes, shares, strict=True)}}
    sentence = (
        f"{len(classes)} classes; the largest, {classes[largest]}, has {percent(shares[largest])} of the labelled "
        f"documents, the smallest, {classes[smallest]}, {plural(int(sizes[smallest]), 'document')}."
    )
    small = int(np.sum(sizes < LIMITS["small_class"]))
    severity, advice = 0, "Every class has enough documents."
    if small:
        severity = 1
        advice = (
            f"{small} of {len(classes)} classes have fewer than {LIMITS['small_class']} documents: "
            "merge them or add to them."
        )
    if target_shares is not None:
        values["target"] = {str(c): round(float(s), 4) for c, s in zip(classes, target_shares, strict=True)}
        moved = int(np.abs(target_shares - shares).argmax())
        sentence += (
            f" Rough guess for the target: {classes[moved]} {percent(target_shares[moved])} "
            f"instead of {percent(shares[moved])}."
        )
        if abs(target_shares[moved] - shares[moved]) > LIMITS["moved_share"]:
            severity = max(severity, 1)
            advice += " The shares may differ in the target: count a labelled sample before relying on them."
    return finding(severity, "class balance", sentence, advice, **values)


def pivot_finding(pivots: list[dict]) -> dict:
    """Report the words that are frequent on both sides.

    Parameters
    ----------
    pivots : list of dict
        Result of :func:`isthmus.shift.pivot_table`.

    Returns
    -------
    dict
    """
    names = ", ".join(f"{row['word']} ({row['class']})" for row in pivots[:_SHOWN])
    if not pivots:
        return finding(
            2,
            "pivots",
            "No word is frequent on both sides.",
            "Nothing in the words connects source and target.",
            count=0,
        )
    sentence = f"{len(pivots):,} words are frequent on both sides; those that say most about the class: {names}."
    advice = "Check that they mean the same in the target."
    if len(pivots) < 30:
        advice = "Few words are frequent on both sides, so labels rest on little: review closely."
    return finding(int(len(pivots) < 30), "pivots", sentence, advice, count=len(pivots))


def moved_finding(moved: list[dict]) -> dict:
    """Report the words that occur with another class in the target.

    Parameters
    ----------
    moved : list of dict
        Result of :func:`isthmus.shift.class_shifted_words`.

    Returns
    -------
    dict
    """
    if not moved:
        return finding(
            0, "moved words", "No word is clearly used with another class in the target.",
            "Nothing to do. Judged by the other words of each document, without target labels.", count=0,
        )  # fmt: skip
    names = ", ".join(
        f"{row['word']} ({row['class']} {percent(row['source_share'])} → {percent(row['target_share'])})"
        for row in moved[:_SHOWN]
    )
    words = plural(len(moved), "word is", "words are")
    sentence = f"{words} used with other classes in the target, judged by the other words of each document: {names}."
    advice = "Read a few target documents with these words before trusting labels that rest on them."
    return finding(1, "moved words", sentence, advice, count=len(moved))


def target_only_finding(words: list[dict], share: float) -> dict:
    """Report the words that do not occur in the source.

    Parameters
    ----------
    words : list of dict
        ``word`` and ``target`` (documents), the most frequent first.
    share : float
        Share of the target's running words that do not occur in the source.

    Returns
    -------
    dict
    """
    if not words:
        sentence = "No word of two or more target documents is unknown to the source."
        return finding(0, "target-only words", sentence, "None.", share=share)
    names = ", ".join(f"{row['word']} ({row['target']:,})" for row in words[:_SHOWN])
    sentence = f"{percent(share)} of the target's running words are unknown to the source; the most common: {names}."
    severity = int(share > 0.2)
    advice = (
        "If some of them indicate a class, give them as labelled words (word_labels=…)."
        if severity
        else "Too few to matter much."
    )
    return finding(severity, "target-only words", sentence, advice, share=share)


def duplicate_finding(found: list[dict], n_target: int) -> dict:
    """Report target documents that repeat source documents.

    Parameters
    ----------
    found : list of dict
        Result of :func:`isthmus.shift.near_duplicates`.
    n_target : int
        Number of target documents.

    Returns
    -------
    dict
    """
    share = len(found) / n_target
    if not found:
        return finding(0, "near-duplicates", "No target document repeats a source document.", "None.", count=0)
    verb = "documents repeat" if len(found) != 1 else "document repeats"
    sentence = f"{len(found):,} target {verb} at least half of a source document ({percent(share)})."
    advice = "They make any score look too good: leave them out when you measure."
    if share >= LIMITS["duplicates"]:
        advice += " Check whether the two files overlap by mistake."
    return finding(
        int(share >= LIMITS["duplicates"]), "near-duplicates", sentence, advice, count=len(found), share=share
    )


def group_finding(facts: dict[str, float] | None) -> dict:
    """Report whether the labels are the groups that the documents form.

    Parameters
    ----------
    facts : dict of str to float or None
        Result of :func:`isthmus.shift.groups.group_facts`.

    Returns
    -------
    dict
    """
    if facts is None:
        return finding(0, "groups", "Too few documents per class to look for groups.", "None.")
    agreement = round(facts["agreement"], 2) + 0.0  # adding zero turns −0.0 into 0.0
    sentence = (
        f"Clusterability of the target {facts['clusterability']:.3f} (words shuffled: {facts['shuffled']:.3f}); in the "
        f"source, clusters agree with the labels by {agreement:.2f} (adjusted Rand index; 0 chance, 1 same)."
    )
    if facts["agreement"] >= LIMITS["topical"]:
        advice = "The labels are the documents' own groups: methods that cluster (cocc, isthmus cluster) fit."
    elif facts["agreement"] < LIMITS["not_topical"]:
        advice = (
            "The labels are not how the documents group by themselves (opinion rather than topic): prefer strings, "
            "and be wary of methods that cluster."
        )
    else:
        advice = "The labels follow the documents' own groups in part."
    return finding(0, "groups", sentence, advice, **facts)


def doubt_finding(doubt: LabelDoubt | None) -> dict:
    """Report the source labels that are probably wrong, and the estimated proportion of wrong labels.

    Parameters
    ----------
    doubt : LabelDoubt or None
        Result of :func:`isthmus.shift.doubt_labels`.

    Returns
    -------
    dict
    """
    topic = "source labels"
    if doubt is None:
        return finding(0, topic, "Too little is known about the classes to judge single labels.", "None.")
    values = {"doubtful": len(doubt.rows), "noise": doubt.noise, "low": doubt.low, "high": doubt.high}
    sentence = (
        f"About {wording.interval(doubt.noise, doubt.low, doubt.high)} of the source's labels are wrong, judged by "
        f"the words of other documents; {plural(len(doubt.rows), 'label is', 'labels are')} uncertain."
    )
    severity = 2 if doubt.low >= LIMITS["very_noisy"] else int(doubt.low > 0 or doubt.noise >= LIMITS["noisy"])
    if not severity or not len(doubt.rows):
        advice = "Nothing urgent. Look at the list of doubtful labels if every label counts."
        return finding(0, topic, sentence, advice, **values)
    advice = (
        "Read these documents first and correct their labels (table doubtful_labels): wrong labels mislead "
        "every method. Give the corrected table to teach."
    )
    return finding(severity, topic, sentence, advice, **values)


def withhold_methods(rows: list[dict]) -> None:
    """Replace advice that recommends a method, in place, because labels should not be transferred.

    Parameters
    ----------
    rows : list of dict
        Findings.
    """
    for row in rows:
        graded = row["topic"] in ("vocabulary", "what carries over") and row["severity"] in (1, 2)
        if row["values"] and (graded or row["topic"] == "groups"):
            row["advice"] = "No method is advised, because labels should not be transferred (see the verdict)."


def novelty_finding(novelty: Novelty, simulated: dict[str, float] | None = None) -> dict:
    """Report groups of the target that belong to no source class, and how reliable the search for them is.

    Parameters
    ----------
    novelty : Novelty
    simulated : dict of str to float or None
        Result of :func:`isthmus.shift.novelty.simulate_on_source`.

    Returns
    -------
    dict
    """
    worth = f" {simulated_sentence(simulated)}".rstrip()
    figures = {name: simulated[name] for name in ("power", "false_alarm")} if simulated else {}
    look = "read the first 20 documents of isthmus ask, or look at the groups of isthmus cluster."
    if not novelty.facts:
        sentence = "Too few documents to look for groups that fit no class."
        return finding(0, "new groups", sentence, f"Whether a class is missing is not known: {look}")
    if not novelty.groups:
        sentence = f"The search found no group that stands apart from all classes.{worth}"
        if simulated is None:
            sentence += " What it would find could not be tried on this source."
        if simulated is None or simulated["power"] >= NOVELTY["sees_enough"]:
            return finding(
                0, "new groups", sentence, f"To be surer that no class is missing, {look}", groups=0, **figures
            )
        advice = f"On this source the search finds few classes that are missing, so one may go unnoticed: {look}"
        return finding(1, "new groups", sentence, advice, groups=0, **figures)
    told = "; ".join(
        f"{', '.join(group.words[:5])} ({plural(group.size, 'document')}, {percent(group.share)})"
        for group in novelty.groups
    )
    sure = shows_its_worth(simulated)
    belong = "belong" if sure else "may belong"
    sentence = f"Some documents of the target {belong} to no class of the source: {told}.{worth}"
    every = "Every" if sure else "If so, every"
    advice = (
        f"{every} label they get is wrong: label a few of them by hand as a class of their own, or leave them out. "
        "isthmus label marks them in novel_group and sends them to review."
    )
    return finding(2, "new groups", sentence, advice, groups=len(novelty.groups), **figures)


# -- Source and target in two languages: detection and warning


# Groups of languages whose readers understand each other and which cannot be distinguished in short texts. Each group
# counts as one language.
_NEIGHBOURS = (
    {"bs", "hr", "sr"},
    {"da", "no", "sv"},
    {"id", "ms"},
    {"cs", "sk"},
    {"gl", "pt"},
    {"af", "nl"},
    {"bg", "mk"},
)
_FEWEST = 3  # documents; no warning if a side has fewer


def two_languages(
    source_texts: Sequence[str], target_texts: Sequence[str], *, in_order: bool = False
) -> tuple[str, str] | None:
    """Return the main languages of both sides if most of the target is in no language of the source.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    in_order : bool
        See :func:`isthmus.features.languages.spread_sample`.

    Returns
    -------
    tuple of (str, str) or None
        None if at least half of the target is in a language of the source, if a language is not known, or if a side has
        fewer than three texts.
    """
    if min(len(source_texts), len(target_texts)) < _FEWEST:
        return None
    # A quick check for the most frequent case.
    if plainly_english(source_texts, in_order=in_order) and plainly_english(target_texts, in_order=in_order):
        return None
    source = guess_languages(source_texts, in_order=in_order)
    target = guess_languages(target_texts, in_order=in_order)
    # Languages of a few quotations are not languages of the source.
    known = {name for name, share in source.items() if share >= 0.05}
    for group in _NEIGHBOURS:
        if group & known:
            known |= group
    if not known <= NAMES.keys() or not target.keys() <= NAMES.keys() or not source or not target:
        return None
    if sum(share for name, share in target.items() if name in known) >= 0.5:
        return None
    return next(iter(source)), next(iter(target))


def warn_of_two_languages(
    source_texts: Sequence[str], target_texts: Sequence[str], *, vectors: bool = False, in_order: bool = False
) -> bool:
    """Warn if source and target are in two languages.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    vectors : bool
        Whether text vectors, which may join languages, transfer labels, too.
    in_order : bool
        See :func:`isthmus.features.languages.spread_sample`.

    Returns
    -------
    bool
        True if source and target are in two languages.
    """
    pair = two_languages(source_texts, target_texts, in_order=in_order)
    if pair is None:
        return False
    source, target = map(language_name, pair)
    said = f"The source is in {source} and the target in {target}; "
    if vectors:
        said += (
            "labels cross through the vectors alone, so their model must know both languages, and the expected "
            "accuracy rests on experience within one language. Check a sample."
        )
    else:
        said += "words do not cross languages. Translate one side, or give vectors of a multilingual model."
    warn(said, code="two-languages")
    return True
