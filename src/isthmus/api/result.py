"""The result of labelling: labels with confidence, and everything that a person can do with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from isthmus._cards import card
from isthmus._math.confidence import AccuracyEstimate, review_later, without_text
from isthmus._progress import shows_progress
from isthmus._utils import plural, warn
from isthmus._validation import check_texts
from isthmus.api.frames import FrameResult
from isthmus.api.reading import check_documents, class_shares, forecast, sample_to_decide, share_facts, suggest_reading
from isthmus.api.saving import Kind, save_result
from isthmus.choose.budgets import budget_curve
from isthmus.choose.checking import LabelCheck
from isthmus.choose.forecast import AnswerForecast
from isthmus.choose.guaranteed import NOMINAL, Step
from isthmus.choose.prevalence import ShareFacts
from isthmus.choose.sampling import draw_sample, sample_size, sample_table
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.choose.trust import NovelGroups
from isthmus.corpus.frames import frame_columns
from isthmus.corpus.guess import list_columns
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.explain import explain_document
from isthmus.features.counting import sharing
from isthmus.features.embeddings import VectorTable
from isthmus.features.vectorizer import TextVectorizer
from isthmus.feedback.asking import ask, ask_about_words
from isthmus.feedback.labelling import Labelling
from isthmus.feedback.model import (
    add_vectors,
    calibrated_proba,
    has_no_known_terms,
    vector_steps,
    without_answers,
)
from isthmus.feedback.renaming import rename_classes
from isthmus.feedback.tables import read_hands, read_source_corrections, read_truths
from isthmus.feedback.teaching import learn_answers, name_groups, teach

if TYPE_CHECKING:  # imported on first use: a saved model loads without them
    from isthmus.api.hands import HandCheck
    from isthmus.api.subtopics import Subtopics

_CARD_CLASSES = 12  # classes shown on the notebook card
# Fields that describe the texts of the fit; a result for later texts does not have them.
_OF_EARLIER_TEXTS = (
    "expected_accuracy", "opinions", "vote", "answers", "learned", "before", "checked", "input_table", "given_vectors",
)  # fmt: skip


@dataclass(kw_only=True, repr=False)
class LabelResult(FrameResult, Labelling):
    """Labels of the target with confidences, review marks and reasons.

    Attributes
    ----------
    labels : ndarray
        One label per target text.
    confidence : ndarray
        Probability of the label, calibrated to the expected accuracy; low in new groups.
    needs_review : ndarray of bool
        Texts that a person should read, so that the others stay within the error budget even if fewer labels are right
        than expected (for a vote, halfway to the low end of the interval; for one method, at the low end); see
        :func:`isthmus.choose.review_mask`. Texts without a known term and texts of new groups are always marked. With a
        named method, a text that simple methods label differently counts as wrong.
    review_reason : ndarray of str
        Reason for the review, one of ``isthmus.choose.REVIEW_REASONS``; '' for a text that needs no review. "not sure
        enough" is followed by the budget.
    method : str
        Name of the method; names of a vote are joined by ``+``; for an estimator, the name of its class.
    decision : list of dict
        The methods that were considered, their evidence, and why each was chosen or not.
    expected_accuracy : AccuracyEstimate or None
        Expected share of correct labels, with an interval; ``estimate`` is None without a basis for an estimate.
    novel_group : ndarray of str
        Name of the group of each text, if the group fits no class of the source; '' otherwise.
    novel : list of dict
        These groups: ``group``, ``words``, ``documents``, ``share`` with ``low`` and ``high``, ``nearest_class``,
        ``similarity``.
    warnings : list of dict
        ``topic`` and ``message``: the most important warnings (new groups, label shift, a small or noisy source).
    probabilities : ndarray
        One column per class, in the order of ``classes``.
    model : LabelModel
        The fitted members with their weights and the stages that follow, answers among them; :meth:`label_new` applies
        it to later documents without refitting.
    ids : list of str or None
        Names of the texts, if they were given.
    opinions : dict of str to ndarray, or None
        Probabilities by each method that votes.
    answers : Answers or None
        Answers of people about these texts; see :meth:`teach`.
    learned : Learned or None
        Changes by the latest answers, and a forecast for more answers; ``print`` shows both.
    history : list of dict
        One row for each call of :meth:`teach`: ``name``, ``answers``, ``total``, ``changed``, ``towards``.
    checked : LabelCheck or None
        Result of the latest :meth:`check` of these labels; see ``accuracy``.
    sources : list of dict
        For several sources: ``source``, ``documents``, ``learned``, ``agreement`` with the others,
        ``likeness`` to the target, ``used``, ``why`` not; see ``isthmus.choose.sources.weigh_sources``.

    See Also
    --------
    isthmus.label : Returns it.
    isthmus.load : Loads a saved one.
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
    checked: LabelCheck | None = None
    input_table: str | None = None  # columns of the file that was labelled, as JSON

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
        except MissingExtraError:  # without the extra: the same facts without charts
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
        """Return the label of each later text, without refitting."""
        return self.label_new(texts).labels

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probabilities of the classes, in the order of ``classes``, for each later text."""
        return self.model.predict_proba(check_texts(texts, "texts", fill=True))

    @shows_progress
    def label_new(self, texts: Sequence[str], *, ids: Sequence[str] | None = None, vectors: Any = None) -> Self:
        """Label later texts with the same model, without refitting.

        The methods are not chosen again, and the new result has no expected accuracy. A warning (code ``weak-bridge``)
        reports more than half of the texts without a known term.

        Parameters
        ----------
        texts : sequence of str
        ids : sequence of str, optional
            Names of the texts.
        vectors : array, optional
            One row per text, if the model was fitted on given vectors.

        Returns
        -------
        LabelResult
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
            taught = self.model.stage(AnswersStage) is not None
            vote = without_answers(self.model).predict_proba(texts) if taught else None
        calibrated = calibrated_proba(self.model, probabilities, self.settings, vote)
        codes = probabilities.argmax(axis=1)
        groups = np.full(len(texts), "", dtype=object) if self.groups is None else self.groups(texts)
        judged = calibrated, codes, groups, unknown, self.settings
        confidence, reasons = review_later(*judged, unverified=self.unverified)
        start = "chosen on the earlier target: "
        # The evidence describes the earlier texts, so that only the choice is repeated.
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
        """Function that assigns later texts to new groups; None without new groups."""
        if not self.novel:
            return None
        wanted = ("analyzer", "min_df", "language")
        vectorizer = TextVectorizer(**{name: self.settings[name] for name in wanted if name in self.settings})
        rows = vectorizer.fit_transform(self.texts)
        return NovelGroups.of(vectorizer.term_rows, rows, self.novel_group, self.labels)

    @property
    def n_source(self) -> int:
        """Number of texts of the source."""
        return len(self.source_texts)

    @property
    def needs_vectors(self) -> bool:
        """Whether the model was fitted on given vectors, and needs vectors of later texts."""
        return any(isinstance(step.model, VectorTable) for step in vector_steps(self.model))

    def reasons(self, i: int, top: int = 10) -> list[dict]:
        """Return terms of target text ``i`` for and against each class: ``class``, ``term``, ``contribution``."""
        if not isinstance(i, Integral) or not -len(self.texts) <= i < len(self.texts):
            raise UsageError(
                f"i={i!r}, and there are {len(self.texts):,} documents; number them from 0.", code="bad-parameter"
            )
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise UsageError(f"top={top!r}; give a whole number from 0, or None for all terms.", code="bad-parameter")
        return explain_document(self.model, self.texts[i], top=top)

    @property
    def accuracy(self) -> AccuracyEstimate | None:
        """Share of correct labels: measured by the latest check, or expected."""
        return self.expected_accuracy if self.measured is None else self.measured.estimate

    @property
    def measured(self) -> LabelCheck | None:
        """The latest check, if its sample was drawn from all documents."""
        return self.checked if self.checked is not None and self.checked.among is None else None

    def class_shares(self, by: Sequence | str | None = None) -> list[dict]:
        """Return class proportions: ``class``, ``source``, ``labels``, ``estimate``, ``low``, ``high``, ``basis``.

        ``source`` is the share of the class in the source, ``labels`` its share among the labels. ``basis`` names the
        basis of the estimate and its interval:

        * "check": documents of a :meth:`check`, drawn from all; the interval holds in 95 % of cases;
        * "sample": answers to documents drawn at random, at least 30; 90 %;
        * "expected": only the probabilities; the width of the interval was fitted on pairs with known labels; 90 %.
          Other answers replace the labels of their documents;
        * "": there is no expected accuracy, and therefore no interval (None).

        Parameters
        ----------
        by : sequence or str, optional
            One value per text, or the name of a column where frames came in: shares within each value, or within each
            period where the values are dates. Every row then has ``value`` and ``documents``, too.
        """
        return class_shares(self, self._column(by) if isinstance(by, str) else by)

    def share_facts(self) -> ShareFacts:
        """Return the figures from which :meth:`class_shares` is computed."""
        return share_facts(self)

    def _column(self, name: str) -> list:
        if self._frame is not None:
            columns = frame_columns(self._frame)
        else:
            columns = (json.loads(self.input_table) if self.input_table else {}).get("cells") or {}
        if name not in columns:
            has = f"it has {list_columns(columns)}" if columns else "its columns are not known; give one value per text"
            raise UsageError(f"{name!r} is not a column of the target; {has}.", code="unknown-column")
        return columns[name]

    def next_step(self) -> Step | None:
        """The reading that should shorten the list most: ``read``, ``now``, ``then``, ``minutes``; ``str`` says it.

        Forecast from the confidences and the guarantee (:meth:`sample` with a budget, :meth:`check`) that it should
        bring. Where that would not pay, the step is to read the list itself (not ``at_random``); where no document
        needs review, a random sample shows whether that is right. None for later texts, and after a check that
        guarantees something or leaves nothing to review, and where no text has content.
        """
        return suggest_reading(self)

    def forecast(self, answers: int | Mapping | Any = 100) -> AnswerForecast | None:
        """What answers will bring: ``now`` and ``then`` (documents to review), ``right`` (share of all labels then).

        None where no accuracy is expected, so that nothing can be forecast.

        Parameters
        ----------
        answers : int or table, default=100
            How many documents you can read: the least sure that nobody has answered. Or the questions that :meth:`ask`
            gave.
        """
        return forecast(self, answers)

    @property
    def may_pass(self) -> np.ndarray:
        """Documents that a guarantee may let pass: nobody answered them, and they are in no new group."""
        allowed = np.asarray(self.novel_group == "", dtype=bool)
        allowed[self.known_answers.read.rows] = False
        return allowed

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
            return self._table(sample_to_decide(self, NOMINAL if n is None else n, budget, random_state))
        if n is None:
            margin = 0.05 if margin is None else margin
            n = sample_size(margin, accuracy=self.expected_accuracy, population=len(self.texts))
        drawn = draw_sample(len(self.texts), n, random_state, texts=self.texts)
        return self._table(sample_table(drawn, self.texts, self.ids))

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
        self.checked = check_documents(self, rows, truths, budget, among)
        if self.checked.guarantee is not None:
            self.review_reason = self.checked.review_reasons(self.labels)
            self.review_reason[self.known_answers.read.rows] = ""
            self.needs_review = np.asarray(self.review_reason != "", dtype=bool)
        return self.checked

    def check_hands(self, answers: Any = None) -> HandCheck:
        """How reliable each hand is that answered, and how far they agree beyond chance.

        ``answers``: a table with the columns ``document`` or ``id``, ``true_label`` and ``by``. If omitted, the answers
        that :meth:`teach` was given.
        """
        from isthmus.api.hands import compare_hands

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
        result = self if source_labels is None else self._label_again(source_labels)
        if source_labels is not None and answers is None and word_labels is None and without is None:
            return result._like(self)
        given: dict[str, Any] = {"drawn": drawn, "word_labels": word_labels, "name": name, "without": without, "by": by}
        return teach(result, answers, **given)._like(self)

    def _label_again(self, corrections: Any) -> Self:
        """Label the target again from the corrected source, then teach the earlier answers."""
        from isthmus.api.steps import relabel

        corrected = read_source_corrections(self, corrections)
        if not corrected:
            raise DataError(
                "No source label is corrected; fill in true_label where it differs from label.", code="bad-answers"
            )
        base = self.untaught()
        again = type(self)(**relabel(base, corrected))
        again.settings["source_labels_corrected"] = base.settings.get("source_labels_corrected", 0) + len(corrected)
        again.ids, again.input_table = base.ids, base.input_table
        if self.answers is not None and self.answers.says_something:
            again = learn_answers(again, again, self.answers, self.answers)
        return again._like(self)

    def review(self, n: int = 20, *, suggest: bool = False) -> Any:
        """A widget for notebooks that asks about documents, one at a time, by keyboard (extra ``notebook``).

        ``n`` and ``suggest`` as for :meth:`ask`. ``widget.teach()`` gives the labelling that has learned from the
        answers so far; ``widget.table()`` the answers themselves.
        """
        from isthmus.api.review import review

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
        from isthmus.api.subtopics import split_label

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
