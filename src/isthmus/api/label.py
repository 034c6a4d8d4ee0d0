"""The short way in: texts and labels in, labels with confidence and reasons out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.base import BaseEstimator

from isthmus._cards import card
from isthmus._math.confidence import review_later, without_text
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus._progress import shows_progress
from isthmus._utils import plural, warn
from isthmus._validation import check_seed, check_texts
from isthmus.api.frames import takes_frames
from isthmus.api.hands import HandCheck, compare_hands
from isthmus.api.outlook import Outlook
from isthmus.api.review import review
from isthmus.api.saving import Kind, save_result
from isthmus.api.steps import JudgedLabels, LabelJob, fit_job, judge_job, read_job, read_target_labels
from isthmus.api.subtopics import Subtopics, split_label
from isthmus.choose.budgets import budget_curve
from isthmus.choose.checking import LabelCheck, check_sample
from isthmus.choose.choice import Choice
from isthmus.choose.guaranteed import NOMINAL, draw_to_decide
from isthmus.choose.sampling import draw_sample, sample_size, sample_table
from isthmus.choose.trust import NovelGroups
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.explain import explain_document
from isthmus.features.counting import sharing
from isthmus.features.embeddings import MINILM, STATIC, TextEmbedder, VectorTable
from isthmus.features.vectorizer import TextVectorizer
from isthmus.feedback.asking import ask, ask_about_words
from isthmus.feedback.model import (
    add_vectors,
    calibrated_proba,
    fitted_pipelines,
    has_no_known_terms,
    taught_part,
    vector_steps,
    voting_part,
)
from isthmus.feedback.renaming import rename_classes
from isthmus.feedback.tables import read_hands, read_source_corrections, read_truths
from isthmus.feedback.teaching import labels_without_own_answer, learn_answers, name_groups, teach
from isthmus.methods import METHODS
from isthmus.request import ERROR_BUDGET, LabelRequest

_CARD_CLASSES = 12  # shown in a notebook
# What a labelling knows of the texts that it was made for, and not of later ones.
_OF_EARLIER_TEXTS = (
    "expected_accuracy", "opinions", "vote", "answers", "learned", "before", "checked", "input_table", "given_vectors",
)  # fmt: skip


@dataclass(kw_only=True, repr=False)
class LabelResult(Outlook):
    """Labels for the target, how sure they are, and why.

    Attributes
    ----------
    labels : ndarray
        One label per target text.
    confidence : ndarray
        Probability of that label: the method's, brought to the accuracy that is expected; low in new groups.
    needs_review : ndarray of bool
        Texts a person should look at, so that the others keep to the error budget even where somewhat fewer are right
        than expected (a vote: halfway to the low end of the interval; one method: at the low end); see
        :func:`isthmus.choose.review_mask`. Texts in which the method finds nothing it knows and those of new groups are
        always among them. With a named method, a text that plain methods contradict counts as wrong.
    review_reason : ndarray of str
        Why, as ``isthmus.choose.REVIEW_REASONS`` explains; "not sure enough" goes on with the budget, and '' is a
        document that needs no review.
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
    checked : LabelCheck or None
        What the latest :meth:`check` of these labels found; see ``accuracy``.
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
            "texts ids labels confidence needs_review review_reason probabilities vote novel_group",
            "source_texts source_labels",
        ),
    )

    method: str
    decision: list[dict]
    sources: list[dict] = field(default_factory=list)

    def __repr__(self) -> str:
        expected = "not estimated"
        if self.expected_accuracy is not None and self.expected_accuracy.estimate is not None:
            expected = f"{self.expected_accuracy.estimate:.0%}{self._condition}"
        empty = int(without_text(self.texts).sum())
        texts = f"{len(self.texts):,} texts" + (f", {empty:,} of them empty" if empty else "")
        return (
            f"LabelResult({texts}, {len(self.classes)} classes, method={self.method!r}, expected accuracy {expected}, "
            f"{int(self.needs_review.sum()):,} to review)"
        )

    @property
    def _condition(self) -> str:
        return " if your classes cover the target" if self.learned is None and self.measured is None else ""

    def _repr_html_(self) -> str:
        try:
            from isthmus.report import label_card

            return label_card(self)
        except MissingExtraError:  # without the extra: the same facts, plainly
            pass
        labels, counts = np.unique(self.labels[~without_text(self.texts)].astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_CARD_CLASSES]
        right = "found to be right" if self.measured else "expected to be right" + self._condition
        facts = [
            (right, str(self.accuracy or "not estimated")),
            ("to review", f"{int(self.needs_review.sum()):,} of {plural(len(self.texts), 'text')}"),
            ("method", self.method),
        ]
        title = f"{plural(len(self.texts), 'text')} labelled"
        return card(title, facts, [(labels[i], counts[i] / len(self.texts)) for i in order], about="Labels")

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Label of each later text, without refitting."""
        return self.label_new(texts).labels

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of each class, in the order of ``classes``, for each later text, without refitting."""
        return self.model.predict_proba(check_texts(texts, "texts", fill=True))

    @shows_progress
    def label_new(self, texts: Sequence[str], *, ids: Sequence[str] | None = None, vectors: Any = None) -> Self:
        """The same model on later texts, without refitting: labels with confidence, review and reasons.

        ``vectors``: one row a text, where the model was fitted on vectors that were given.

        Nothing is weighed again: ``decision`` says which methods the earlier target chose, and there is no expected
        accuracy. Warns (code ``weak-bridge``) where the model finds nothing it knows in more than half of the texts.
        """
        texts = check_texts(texts, "texts", fill=True)
        if vectors is not None:
            add_vectors(self.model, texts, vectors)
        with sharing():  # methods that read the same words read them once
            unknown = has_no_known_terms(self.model, texts)
            if 2 * unknown.sum() > len(unknown):
                message = (
                    f"The model finds no term that it knows in {unknown.sum():,} of {len(unknown):,} new texts, so "
                    "their labels are guesses; label these texts afresh from the source, and look whether the two "
                    "share a language."
                )
                warn(message, code="weak-bridge")
            probabilities = self.model.predict_proba(texts)
            taught = taught_part(self.model) is not None
            vote = voting_part(self.model).predict_proba(texts) if taught else None
        calibrated = calibrated_proba(self.model, probabilities, self.settings, vote)
        codes = probabilities.argmax(axis=1)
        groups = np.full(len(texts), "", dtype=object) if self.groups is None else self.groups(texts)
        judged = calibrated, codes, groups, unknown, self.settings
        confidence, reasons = review_later(*judged, unverified=self.unverified)
        start = "chosen on the earlier target: "
        # The evidence was about the earlier texts.
        decision = [
            {name: row[name] for name in ("method", "chosen", "weight") if name in row}
            | {"why": start + row["why"].removeprefix(start)}
            for row in self.decision
            if row["chosen"]
        ]
        unknown_yet: dict[str, Any] = dict.fromkeys(_OF_EARLIER_TEXTS)
        return replace(
            self,
            texts=texts,
            labels=self.classes[codes],
            confidence=confidence,
            needs_review=np.asarray(reasons != "", dtype=bool),
            review_reason=reasons,
            probabilities=probabilities,
            ids=None if ids is None else list(ids),
            decision=decision,
            novel_group=groups,
            novel=[
                group | {"documents": int(np.sum(groups == group["group"]))}
                for group in self.novel
                if group["group"] in groups
            ],
            history=[],
            warnings=[],
            **unknown_yet,
        )

    @cached_property
    def groups(self) -> NovelGroups | None:
        """What finds new groups in later texts; None where there are none."""
        if not self.novel:
            return None
        wanted = ("analyzer", "min_df", "language")
        vectorizer = TextVectorizer(**{name: self.settings[name] for name in wanted if name in self.settings})
        rows = vectorizer.fit_transform(self.texts)
        return NovelGroups.of(vectorizer.term_rows, rows, self.novel_group, self.labels)

    @property
    def n_source(self) -> int:
        """How many texts the source has."""
        return len(self.source_texts)

    @property
    def needs_vectors(self) -> bool:
        """Whether the model was fitted on vectors that were given, and needs them for later texts."""
        return any(isinstance(step.model, VectorTable) for step in vector_steps(self.model))

    def reasons(self, i: int, top: int = 10) -> list[dict]:
        """Terms of target text ``i`` that speak for or against each class: ``class``, ``term``, ``contribution``."""
        if not isinstance(i, Integral) or not -len(self.texts) <= i < len(self.texts):
            raise UsageError(
                f"i={i!r}, and there are {len(self.texts):,} documents; number them from 0.", code="bad-parameter"
            )
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise UsageError(f"top={top!r}; give a whole number from 0, or None for all terms.", code="bad-parameter")
        return explain_document(self.model, self.texts[i], top=top)

    def sample(
        self,
        n: int | None = None,
        *,
        margin: float | None = None,
        budget: float | None = None,
        random_state: int | None = 0,
    ) -> dict[str, list]:
        """Documents drawn at random for a person to label, as columns: document, id, text, true_label (empty), drawn.

        Where frames came in, it is a frame of the same kind.

        Parameters
        ----------
        n : int, optional
            How many.
        margin : float, optional
            How exactly the accuracy should be known, instead of ``n``; 0.05, five points, if both are omitted.
        budget : float, optional
            Draw where reading decides most about how many labels can pass with at most this share wrong: from the
            surest documents alone, whose number stands in the column ``among``. After a :meth:`check` with a budget,
            the documents that were read come first with their labels, and ``n`` more follow.
        random_state : int, default=0
            A larger draw with the same number begins with the smaller one.
        """
        if n is not None and margin is not None:
            raise UsageError(f"n={n!r} and margin={margin!r} were given; give one of them.", code="bad-parameter")
        if budget is not None:
            return self._table(self._sample_to_decide(NOMINAL if n is None else n, budget, random_state))
        if n is None:
            margin = 0.05 if margin is None else margin
            n = sample_size(margin, accuracy=self.expected_accuracy, population=len(self.texts))
        drawn = draw_sample(len(self.texts), n, random_state, texts=self.texts)
        return self._table(sample_table(drawn, self.texts, self.ids))

    def _sample_to_decide(self, n: int, budget: float, random_state: int | None) -> dict[str, list]:
        found, read, known = self.checked, None, {}
        if found is not None and found.guarantee is not None:
            right = self.labels[found.rows] == np.array(found.true_labels, dtype=object)
            read = found.rows, right, found.guarantee.among
            known = dict(zip(found.rows, found.true_labels, strict=True))
        rows, among = draw_to_decide(
            self.confidence,
            self.texts,
            budget,
            n,
            random_state=random_state,
            eligible=self.may_pass,
            expected=self.expected_accuracy,
            read=read,
        )
        return sample_table(rows, self.texts, self.ids, among=among, known=known)

    def check(self, sample, true_labels: Sequence | None = None, *, budget: float | None = None) -> LabelCheck:
        """What a sample says about all labels, once a person has labelled it.

        Parameters
        ----------
        sample : table, path, mapping or sequence
            What :meth:`sample` gave, with ``true_label`` filled in, or anything that :meth:`teach` takes as answers.
            With ``true_labels``, the numbers of the documents alone (from 1, as in the column ``document``).
        true_labels : sequence, optional
            The true labels of these documents.
        budget : float, optional
            Also say which labels can pass unread so that, with 95 % confidence, at most this share of them is wrong
            (``guarantee``); ``needs_review`` then goes by it.

        Returns
        -------
        LabelCheck
            Accuracy with an interval, corrected class shares, precision by class; ``print`` shows all of it. It is
            kept as ``checked`` and stands in the place of the expected accuracy in the report and on the card, unless
            the sample was drawn from the surest documents alone (``among``).

        Notes
        -----
        A document whose answer was learned from counts by the label that it gets without its own answer (cross-fitted
        over the answers); otherwise every such label would be right. So does one that a machine answered, where the
        sample holds more of these than the target does.
        """
        table = sample if true_labels is None else {"document": sample, "true_label": true_labels}
        rows, truths, among = read_truths(self, table)
        if budget is None and among is not None:
            budget = self.error_budget
        self.checked = self._check(rows, truths, budget, among)
        if self.checked.guarantee is not None:
            self.review_reason = self.checked.review_reasons(self.labels)
            self.review_reason[self.known_answers.read.rows] = ""
            self.needs_review = np.asarray(self.review_reason != "", dtype=bool)
        return self.checked

    def _check(self, rows: list[int], truths: list, budget: float | None, among: int | None) -> LabelCheck:
        """Check documents that nobody answered; those that a person read count as right."""
        known = self.known_answers.read
        answers = dict(zip(known.rows, known.labels, strict=True))
        checked = {row: truth for row, truth in zip(rows, truths, strict=True) if truth is not None}
        heard = {entry["row"] for entry in self.known_answers.weighed} - set(answers)
        by_hand = sorted(set(checked) & heard)
        low = wilson_ends(len(by_hand) / len(checked), len(checked), two_sided_z(0.95))[0] if by_hand else 0.0
        if low <= len(heard) / len(self.texts):
            by_hand = []  # the sample holds no more of them than the target does: it speaks of all as it is
        learned = sorted({*by_hand, *(set(checked) & set(answers))})
        labels = self.labels.astype(object)
        if learned:
            labels[learned] = labels_without_own_answer(self, learned)
        found = check_sample(
            labels,
            self.confidence,
            rows,
            truths,
            budget=budget,
            among=among,
            eligible=self.may_pass,
            classes=self.classes,
            expected=self.expected_accuracy,
            counted=~without_text(self.texts),
        )
        if not learned:
            return found
        wrong = sum(checked[row] != answers[row] for row in set(learned) - set(by_hand))
        share = np.mean([self.labels[row] == checked[row] for row in by_hand]) if by_hand else 0.0
        hands = (len(heard), float(share)) if by_hand else (0, 0.0)
        return found.with_answered(len(known) - wrong, len(known), len(learned), *hands)

    def check_hands(self, answers: Any = None) -> HandCheck:
        """How reliable each hand is that answered, and how far they agree beyond chance.

        ``answers``: a table with the columns ``document`` or ``id``, ``true_label`` and ``by``. If omitted, the answers
        that :meth:`teach` was given.
        """
        if answers is not None:
            return compare_hands(read_hands(self, answers), self.untaught().labels)
        known = self.known_answers
        people = [
            {"row": row, "label": label, "by": by}
            for row, label, by in zip(known.rows, known.labels, known.by, strict=True)
        ]
        return compare_hands([*known.weighed, *people], self.untaught().labels)

    def ask(self, n: int = 50, *, words: bool = False, suggest: bool = False) -> dict[str, list]:
        """What a person should answer next, as columns; fill in ``true_label`` and give it to :meth:`teach`.

        Where frames came in, it is a frame of the same kind.

        Documents are chosen that are doubtful, that methods disagree about, and that are unlike those answered already;
        groups that fit no class come first. Answered documents are never asked again. Without a labelled source the
        first hundred are drawn at random: only they say how often labels by names alone are right.

        Parameters
        ----------
        n : int, default=50
        words : bool, default=False
            Ask about words instead: those that would settle most doubtful documents. Fill in ``label`` and give
            ``{word: label}`` to :meth:`teach` as ``word_labels``.
        suggest : bool, default=False
            Show the label given so far. People who see it tend to agree with it.

        Returns
        -------
        dict of str to list
            ``document`` (numbered from 1), ``id``, ``text``, ``true_label`` (empty), ``reason``, ``drawn``; with
            ``suggest`` also ``label`` and ``confidence``. For words: ``word``, ``label`` (empty), ``suggestion``,
            ``documents``, ``settles``.
        """
        return self._table(ask_about_words(self, n) if words else ask(self, n, suggest=suggest))

    @shows_progress
    def teach(
        self,
        answers=None,
        *,
        drawn: str | None = None,
        word_labels: Mapping | str | PathLike | None = None,
        name: str | None = None,
        without: str | PathLike | None = None,
        source_labels: Any = None,
        by: str | None = None,
    ) -> Self:
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
        drawn : {"random", "asked", "picked", "group"}, optional
            How the texts came to be answered. If omitted, the column ``drawn`` says it, and "picked" where there is
            none. Answers drawn at random alone estimate the accuracy directly. "group": the texts got a class with
            their whole group, and nobody has read them.
        word_labels : mapping or path, optional
            Labelled words, as for :func:`isthmus.label`, or a file with the columns word and label.
        name : str, optional
            Of this table, for ``history`` and ``without``.
        without : str or path
            Take back the answers or the words that came in the table of this name, or in this file. Answers that they
            replaced hold again.
        source_labels : table, path or mapping, optional
            Corrected labels of the source: ``document`` (numbered from 1) and ``true_label``, as
            :meth:`isthmus.api.diagnose.Diagnosis.review_source` gives them, filled in. The texts are then labelled
            again from the corrected source, and learn the answers given so far.
        by : str, optional
            Who gave these answers, where they are not to be believed but weighed: a language model, a rule, a hurried
            colleague. How often that hand is right is measured where a person answered the same documents. A column
            ``by`` in the table does the same for documents that several hands answered.

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
        result = self if source_labels is None else _label_again(self, source_labels)
        if source_labels is not None and answers is None and word_labels is None and without is None:
            return result._like(self)
        given: dict[str, Any] = {"drawn": drawn, "word_labels": word_labels, "name": name, "without": without, "by": by}
        return teach(result, answers, **given)._like(self)

    def review(self, n: int = 20, *, suggest: bool = False) -> Any:
        """A widget for notebooks that asks about documents, one at a time, by keyboard (extra ``notebook``).

        ``n`` and ``suggest`` as for :meth:`ask`. ``widget.teach()`` gives the labelling that has learned from the
        answers so far; ``widget.table()`` the answers themselves.
        """
        return review(self, ask(self, n, suggest=suggest))

    def name_groups(self, names: Mapping[str, str | None]) -> Self:
        """The labelling with groups that fit no class made classes, ``{group: class}``.

        A group is given by its name or by its number in ``novel``, from 1; None calls it by its most typical
        word. Every document in it counts as an answer that names the class, new or known, so that later documents can
        get it too; take it back with ``teach(without=…)`` and the group's name.
        """
        return name_groups(self, names)._like(self)

    def split(self, within: str, n_clusters: int | None = None) -> Subtopics:
        """Subtopics: the documents of a class, or of a group that fits none, in groups of their own.

        ``n_clusters``: how many groups; about one for fifty documents if omitted. ``result.teach(found.name({1: "late",
        2: "rude"}))`` makes classes of them.
        """
        return split_label(self, within, n_clusters)

    def rename_classes(self, names: Mapping) -> Self:
        """The labelling with classes renamed, ``{old: new}``; classes that get one name are merged.

        All names change at once: ``{"a": "b", "b": "a"}`` swaps two classes. Without a merger no label and no figure
        changes, and renaming back restores everything. Tables that use former names are still understood.
        """
        return rename_classes(self, names)._like(self)

    def columns(self) -> dict[str, list]:
        """The result as columns: text, label, confidence, needs_review, novel_group, review_reason."""
        return {
            "text": list(self.texts),
            "label": self.labels.tolist(),
            "confidence": [round(float(value), 4) for value in self.confidence],
            "needs_review": self.needs_review.tolist(),
            "novel_group": self.novel_group.tolist(),
            "review_reason": self.review_reason.tolist(),
        }

    def budget_curve(self, steps: int = 20) -> list[dict]:
        """What an error budget costs: ``reviewed`` (share), ``documents`` to review and ``expected_error`` of the rest.

        As :func:`isthmus.choose.budget_curve`; documents in new groups are reviewed early, for their confidence is low.
        """
        return budget_curve(self.confidence, steps)

    def report(self, path, *, force: bool = False, by: Mapping[str, Sequence] | str | None = None):
        """Write one self-contained HTML page about this result; returns its path.

        Parameters
        ----------
        path : path of the page
        force : bool, default=False
            Replace a page that exists.
        by : mapping of one str to a sequence, or str, optional
            A column by which the labels are broken down: its name, and one value per text; or its name alone where
            frames came in.
        """
        from isthmus.report import write_label_report

        by = {by: self._column(by)} if isinstance(by, str) else by
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


@shows_progress
@takes_frames
def label(
    source_texts: Sequence[str] | None,
    source_labels: Sequence | None,
    target_texts: Sequence[str],
    method: str | BaseEstimator | Callable = "auto",
    word_labels: Mapping | Literal[False] | None = None,
    random_state: int | None = 0,
    *,
    classes: Sequence[str] | Mapping | None = None,
    source_domain: Sequence[str] | None = None,
    target_labels: Sequence | None = None,
    extra_texts: Sequence[str] | None = None,
    vectors: Sequence | None = None,
    embed: Any = None,
    error_budget: float = ERROR_BUDGET,
    analyzer: str = "auto",
    min_df: int | str = "auto",
    force_classes: bool = False,
    language: str = "auto",
    parameters: Mapping[str, Any] | None = None,
) -> LabelResult:
    """Label the target texts from labelled source texts, from names of classes, or from both.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
        With ``classes``, ``source_texts`` and ``source_labels`` may be None.
    source_labels : sequence
        One label per source text; None where unknown.
    method : str, estimator, pipeline or function, default="auto"
        A recipe (``isthmus.methods.METHODS``), or "auto": several are tried, their labels are weighed without
        looking at target labels, and those that the evidence supports vote; see :func:`isthmus.choose.choose`. Or an
        estimator that takes ``sample_domain``, or a pipeline that ends in one: it is copied and fitted, with a
        :class:`isthmus.features.TextVectorizer` in front if it reads matrices. Or a function of a list of texts that
        returns labels or mappings of classes to probabilities: it joins the candidates of "auto"; see
        :class:`isthmus.classify.labeller.LabellerClassifier`.
    word_labels : mapping or False, optional
        Labelled words, for the methods that take them. If omitted, "auto" takes an installed lexicon of opinion words
        (extra ``lexicons``) where the classes are verdicts (positive and negative, stars) and it agrees with the
        source's labels; False: it does not.
    random_state : int, default=0
        For recipes, and for those ``random_state`` parameters of an estimator that are None.
    classes : sequence of str or mapping, optional
        Classes by their names: ``["sport", "business: shares, market"]``, or ``{name: words or a sentence}``. Classes
        of the source are described by it; others are added, and labels can come out as them. Needs method "auto" or
        "names". Without a source the names alone decide, and no accuracy is expected until answers are given.
    source_domain : sequence of str, optional
        Name of the source of each source text, where there are several. Each is compared with the others and with the
        target (``result.sources``). One whose labels cannot be learned, or contradict those of the sources nearest to
        the target, is left out, with a warning.
    target_labels : sequence, optional
        Answers of a person: one label per target text, None where unknown. No method sees them; the labelling learns
        from them afterwards, as by :meth:`isthmus.api.label.LabelResult.teach`. Labels none of which is a class are
        refused (code ``labels-not-classes``).
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
    parameters : mapping, optional
        Parameters of the named method's estimator, such as ``{"n_word_clusters": 64}``, instead of the recipe's.
    force_classes : bool, default=False
        Learn labels that do not look like classes (several in one cell, dates, ids, numbers, sentences) as they are,
        instead of refusing them with code ``labels-not-classes``.
    text, label, id : str, optional
        Columns of data frames, where two frames are given instead of lists; guessed if omitted. ``text`` may name
        several. The id names documents in tables.

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

    Without a single labelled text:

    >>> texts = ["the match and the goal", "a late goal, a fast match", "profit of the market", "shares and profit"]
    >>> isthmus.label(None, None, texts, classes=["sport: goal", "business: profit"], embed=False).labels.tolist()
    ['sport', 'sport', 'business', 'business']
    """
    check_seed(random_state)
    labeller: Callable | None = None
    if callable(method) and not isinstance(method, type) and not hasattr(method, "fit"):
        labeller = cast(Callable, method)
        method = "auto"
    request = LabelRequest.build(
        {
            "method": method if isinstance(method, str) else "",
            "random_state": random_state,
            "error_budget": error_budget,
            "analyzer": analyzer,
            "min_df": min_df,
            "force_classes": force_classes,
            "language": language,
        }
    )
    collections = source_texts, source_labels, target_texts
    job = read_job(request, *collections, source_domain, extra_texts, vectors, embed, word_labels, classes)
    job = replace(job, parameters=parameters, labeller=labeller)
    answers = read_target_labels(target_labels, job)
    fitted = fit_job(job, method)
    result = _assemble(job, fitted, judge_job(job, fitted))
    return result if answers is None else result.teach(answers, name="target_labels")


def _assemble(job: LabelJob, fitted: Choice, judged: JudgedLabels) -> LabelResult:
    unused_vectors = isinstance(job.embed, VectorTable) and not vector_steps(fitted.model)
    return LabelResult(
        labels=fitted.labels,
        method=fitted.name,
        decision=fitted.table,
        classes=fitted.model.classes_,
        probabilities=fitted.probabilities,
        model=fitted.model,
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


def _label_again(result: LabelResult, corrections: Any) -> LabelResult:
    corrected = read_source_corrections(result, corrections)
    if not corrected:
        raise DataError(
            "No source label is corrected; fill in true_label where it differs from label.", code="bad-answers"
        )
    base = result.untaught()
    settings = base.settings
    embed = _embed_again(base)
    lost = {
        "labelled words": bool(base.given_words),
        "extra texts": "extra_texts" in settings,
        "a labeller": "labeller" in settings,
        "several sources": bool(base.sources),
        "an estimator of your own": settings["method"] not in ("auto", *METHODS),
        "vectors by a function that no method uses": embed is None and settings.get("vectors", STATIC) != STATIC,
    }
    if any(lost.values()):
        what = ", ".join(name for name, is_so in lost.items() if is_so)
        raise UsageError(
            f"The labelling was made with {what}, which it does not keep; correct the labels in the source itself and "
            "label again.",
            code="bad-parameter",
        )
    labels = base.source_labels.copy()
    for row, name in corrected.items():
        labels[row] = name
    again = label(
        base.source_texts,
        labels,
        base.texts,
        settings["method"],
        classes=settings.get("classes"),
        embed=embed,
        parameters=settings.get("parameters"),
        force_classes=True,  # they were accepted before
        **{name: settings[name] for name in ("random_state", "error_budget", "analyzer", "min_df", "language")},
    )
    again.settings["source_labels_corrected"] = settings.get("source_labels_corrected", 0) + len(corrected)
    again.ids, again.input_table = base.ids, base.input_table
    answers = result.answers
    if answers is not None and answers.says_something:
        again = learn_answers(again, again, answers, answers)
    return again._like(result)


def _embed_again(base: LabelResult) -> Any:
    """What ``embed`` was: the model in a method, a table that none uses, or a name; None: not said, or not kept."""
    name = str(base.settings.get("vectors", STATIC))
    if name == "none":
        return False
    # Names of classes are read beside words, in a part of a part of the pipeline.
    parts = [part for pipeline in fitted_pipelines(base.model) for part in pipeline.get_params().values()]
    found = next((part.model for part in parts if isinstance(part, TextEmbedder)), base.given_vectors)
    is_name = name == MINILM or "/" in name or Path(name).is_dir()  # no function is called so
    return name if found is None and is_name else found
