"""Hold the result of labelling: labels, confidences, and the actions that users apply to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from isthmus._arguments import checks_methods
from isthmus._cards import card
from isthmus._math.confidence import AccuracyEstimate, ExpectedErrors, review_later, without_text
from isthmus._progress import shows_progress
from isthmus._utils import plural, warn
from isthmus._validation import check_texts
from isthmus.api.frames import FrameResult
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.features.counting import sharing
from isthmus.features.embeddings import VectorTable
from isthmus.feedback.labelling import Labelling
from isthmus.feedback.model import (
    add_vectors,
    calibrated_proba,
    vector_steps,
    without_answers,
)
from isthmus.saving import TRIED, check_lengths, save_result
from isthmus.wording import percent

if TYPE_CHECKING:  # imported on first use: a saved model loads without them
    from isthmus.api.annotators import AnnotatorCheck
    from isthmus.api.subtopics import Subtopics
    from isthmus.choose.checking import LabelCheck
    from isthmus.choose.groups import NovelGroups
    from isthmus.choose.prevalence import ShareFacts
    from isthmus.wording import AnswerForecast, Step

_CARD_CLASSES = 12  # classes shown on the notebook card
# Fields that describe the texts of the fit; a result for later texts does not have them.
_OF_EARLIER_TEXTS = (
    "opinions", "vote", "answers", "learned", "before", "checked", "input_table", "given_vectors",
)  # fmt: skip


@checks_methods
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
        Texts that a person should read, so that the finished file stays within the error budget even if fewer labels
        are right than expected (for a vote, part of the way to the low end of the interval; for one method, at the low
        end); see :func:`isthmus.choose.review_mask`. Texts without a known term and texts of new groups are always
        marked. With a named method, a text that simple methods label differently is marked, too.
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
    comparison : list of dict or None
        For later texts, the comparison with the texts on which the model was fitted or taught: ``measure``,
        ``collection``, ``later``, ``difference`` and ``unlike``. Empty for fewer than 30 texts.
    sources : list of dict
        For several sources: ``source``, ``documents``, ``learned``, ``agreement`` with the others,
        ``likeness`` to the target, ``used``, ``why`` not; see ``isthmus.choose.sources.weigh_sources``.

    See Also
    --------
    isthmus.label : Returns it.
    isthmus.load : Loads a saved one.
    """

    method: str
    decision: list[dict]
    sources: list[dict] = field(default_factory=list)
    checked: LabelCheck | None = None
    comparison: list[dict] | None = None
    input_table: str | None = None  # columns of the file that was labelled, as JSON
    SAVED: ClassVar[tuple[str, ...]] = ("groups",)  # computed attributes that a saved file contains

    def __repr__(self) -> str:
        """Return a summary with the number of texts, the method and the expected accuracy."""
        expected = "not estimated"
        if self.expected_accuracy is not None and self.expected_accuracy.estimate is not None:
            expected = f"{percent(self.expected_accuracy.estimate)}{self._condition}"
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
        shares = sorted(self.class_shares(), key=lambda row: -row["estimate"])[:_CARD_CLASSES]
        right = "found to be right" if self.measured else "expected to be right" + self._condition
        facts = [
            (right, str(self.accuracy or "not estimated")),
            ("to review", f"{int(self.needs_review.sum()):,} of {plural(len(self.texts), 'text')}"),
            ("method", self.method),
        ]
        title = f"{plural(len(self.texts), 'text')} labelled"
        return card(title, facts, [(str(row["class"]), row["estimate"]) for row in shares], about="Labels")

    def predict(self, texts: Iterable[str]) -> np.ndarray:
        """Return the label of each later text, without refitting.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts,)
        """
        texts = check_texts(texts, "texts", fill=True)
        with sharing():  # count the words of a text once for all methods
            self._find_unknown(texts)
            return self.model.predict(texts)

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """Return the class probabilities of each later text.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            The columns are in the order of ``classes``.
        """
        return self.model.predict_proba(check_texts(texts, "texts", fill=True))

    @shows_progress
    def label_new(self, texts: Iterable[str], *, ids: Sequence[str] | None = None, vectors: Any = None) -> Self:
        """Label later texts with the same model, without refitting.

        The methods are not chosen again. The expected accuracy comes from the evidence about the texts of this result:
        a batch like them has their accuracy. If the batch differs from them in words, length, class proportions,
        confidence or agreement of the methods, ``warnings`` reports it, and the confidence in the batch lowers or
        raises the expected accuracy. Fewer than 30 texts have no expected accuracy. A warning (code ``weak-bridge``)
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
        with sharing():  # count the words of a text once for all methods
            unknown = self._find_unknown(texts)
            batch = self.model.batch(texts)
            taught = self.model.stage(AnswersStage) is not None
            # A stage may rename the columns of a batch, so each list of stages has a batch of its own.
            before = replace(batch, opinions=dict(batch.opinions), columns=dict(batch.columns))
            vote = without_answers(self.model).apply(before) if taught else None
            probabilities = self.model.apply(batch)
        calibrated = calibrated_proba(self.model, probabilities, self.settings, vote)
        codes = probabilities.argmax(axis=1)
        groups = np.full(len(texts), "", dtype=object) if self.groups is None else self.groups(texts)
        from isthmus.api.later import judge_later

        confidence = calibrated[np.arange(len(codes)), codes]
        opinions = batch.spread(self.classes)
        found = judge_later(self, texts, opinions, confidence, codes, groups)
        judged = found.confidence, groups, unknown, found.settings
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
            warnings=found.warnings,
            expected_accuracy=found.expected,
            comparison=found.comparison,
            settings=found.settings,
            **unknown_yet,
        )

    def _find_unknown(self, texts: list[str]) -> np.ndarray:
        """Return which later texts have no known term, and warn if they are more than half."""
        unknown = self.model.lacks_terms(texts)
        if 2 * unknown.sum() > len(unknown):
            message = (
                f"The model finds no term that it knows in {unknown.sum():,} of {len(unknown):,} new texts, so their "
                "labels are guesses; label these texts afresh from the source, and look whether the two share a "
                "language."
            )
            warn(message, code="weak-bridge")
        return unknown

    @cached_property
    def groups(self) -> NovelGroups | None:
        """Function that assigns later texts to new groups; None without new groups."""
        if not self.novel:
            return None
        from isthmus.choose.groups import NovelGroups
        from isthmus.features.vectorizer import TextVectorizer

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

    def reasons(self, i: int, top: int | None = 10) -> list[dict]:
        """Return the terms of a target text that support or contradict each class.

        Parameters
        ----------
        i : int
            Number of the text, from 0; a negative number counts from the end.
        top : int or None, default=10
            Number of terms per class; None returns all terms.

        Returns
        -------
        list of dict
            ``class``, ``term`` and ``contribution``.
        """
        if not isinstance(i, Integral) or not -len(self.texts) <= i < len(self.texts):
            raise UsageError(
                f"i={i!r}, and there are {len(self.texts):,} documents; number them from 0.", code="bad-parameter"
            )
        if top is not None and (not isinstance(top, Integral) or top < 0):
            raise UsageError(f"top={top!r}; give a whole number from 0, or None for all terms.", code="bad-parameter")
        from isthmus.explain import explain_document

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
        """Return class proportions of the target with intervals.

        Parameters
        ----------
        by : sequence or str, optional
            One value per text, or the name of a column if data frames were given. The proportions are then computed
            within each value, or within each period if the values are dates.

        Returns
        -------
        list of dict
            One row per class: ``class``, ``source`` (share in the source), ``labels`` (share among the labels),
            ``estimate``, ``low``, ``high``, ``basis``. With ``by`` each row also has ``value`` and ``documents``.

        Notes
        -----
        ``basis`` names the evidence for the estimate and its interval:

        * "check": documents of a :meth:`check` that were drawn from all documents; a 95% interval.
        * "sample": at least 30 answers to documents drawn at random; a 90% interval.
        * "expected": only the probabilities; a 90% interval whose width was fitted on pairs with known labels. Other
          answers replace the labels of their documents.
        * "": no expected accuracy is available, so the interval is None.
        """
        from isthmus.api import reading

        return reading.class_shares(self, self._column(by) if isinstance(by, str) else by)

    def accuracy_by(self, by: Sequence | str) -> list[dict]:
        """Return the expected accuracy by month, or by the values of a column.

        Parameters
        ----------
        by : sequence or str
            One value per text, or the name of a column if data frames were given. Dates are combined into periods.

        Returns
        -------
        list of dict
            ``value``, ``documents``, ``needs_review`` (number) and ``estimate``, ``low``, ``high`` of the expected
            share of correct labels: the mean confidence of the documents, None without an expected accuracy.
        """
        from isthmus.api import reading

        return reading.accuracy_by(self, self._column(by) if isinstance(by, str) else by)

    def share_facts(self) -> ShareFacts:
        """Return the figures from which :meth:`class_shares` is computed.

        Returns
        -------
        ShareFacts
        """
        from isthmus.api import reading

        return reading.share_facts(self)

    def _column(self, name: str) -> list:
        from isthmus.corpus.frames import frame_columns
        from isthmus.corpus.guess import list_columns

        if self._frame is not None:
            columns = frame_columns(self._frame)
        else:
            columns = (json.loads(self.input_table) if self.input_table else {}).get("cells") or {}
        if name not in columns:
            has = f"it has {list_columns(columns)}" if columns else "its columns are not known; give one value per text"
            raise UsageError(f"{name!r} is not a column of the target; {has}.", code="unknown-column")
        return columns[name]

    def next_step(self) -> Step | None:
        """Recommend the reading that should shorten the review list most.

        The forecast uses the confidences and the guarantee that :meth:`sample` with a budget and :meth:`check` can
        give. If a guarantee would save no reading, the step is to read the review list itself (``at_random`` is False).
        If no document needs review, the step is a random sample that measures whether the labels are right.

        Returns
        -------
        Step or None
            ``read``, ``now``, ``then`` and ``minutes``; ``str`` returns a sentence. None for later texts, for texts
            without content, and after a check that gives a guarantee or leaves nothing to review.
        """
        from isthmus.api import reading

        return reading.suggest_reading(self)

    @property
    def advice(self) -> dict[str, str] | None:
        """Advice to use a sentence encoder: ``code`` and ``message``, or None.

        The code ``no-encoder`` appears if method ``auto`` used no encoder and either the classes are verdicts, or the
        median length of the texts of one side is at most 200 characters.
        """
        from isthmus.api import reading

        return reading.advise_encoder(self)

    def forecast(self, answers: int | Mapping | Sequence = 100) -> AnswerForecast | None:
        """Forecast the effect of more answers.

        Parameters
        ----------
        answers : int or table, default=100
            Number of documents to read, taken from the least confident unanswered ones, or the questions that
            :meth:`ask` returned.

        Returns
        -------
        AnswerForecast or None
            ``now`` and ``then`` (documents to review) and ``right`` (share of all labels that should then be right).
            None if there is no expected accuracy.
        """
        from isthmus.api import reading

        return reading.forecast(self, answers)

    @property
    def may_pass(self) -> np.ndarray:
        """Mask of the unanswered documents outside new groups: only these can pass under a guarantee."""
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
        """Draw documents at random for an annotator to label.

        Parameters
        ----------
        n : int, optional
            Number of documents.
        margin : float, optional
            Half-width of the accuracy interval that the sample should reach, instead of ``n``. If both are omitted,
            0.05 (five points).
        budget : float, optional
            Draw the documents that decide how many labels can pass with at most this share of errors in the file. They
            come only from the most confident documents; the column ``among`` has the number of these. After a
            :meth:`check` with a budget, the documents that were read come first with their labels, followed by ``n``
            more.
        random_state : int, default=0
            Seed. With the same seed, a larger sample begins with the smaller one.

        Returns
        -------
        dict of str to list, or data frame
            ``document``, ``id``, ``text``, ``true_label`` (empty) and ``drawn``. If data frames were given, a frame of
            the same kind.
        """
        from isthmus.api import reading
        from isthmus.choose.guaranteed import NOMINAL
        from isthmus.choose.sampling import draw_sample, sample_size, sample_table

        if n is not None and margin is not None:
            raise UsageError(f"n={n!r} and margin={margin!r} were given; give one of them.", code="bad-parameter")
        if budget is not None:
            return self._table(reading.sample_to_decide(self, NOMINAL if n is None else n, budget, random_state))
        if n is None:
            margin = 0.05 if margin is None else margin
            n = sample_size(margin, accuracy=self.expected_accuracy, population=len(self.texts))
        drawn = draw_sample(len(self.texts), n, random_state, texts=self.texts)
        return self._table(sample_table(drawn, self.texts, self.ids))

    def check(self, sample, true_labels: Sequence | None = None, *, budget: float | None = None) -> LabelCheck:
        """Estimate the accuracy of all labels from a labelled sample.

        The result is stored as ``checked``. The report and the card show it instead of the expected accuracy, unless
        the sample was drawn only from the most confident documents (``among``).

        Parameters
        ----------
        sample : table, path, mapping or sequence
            The sample that :meth:`sample` returned, with ``true_label`` filled in, or any table that :meth:`teach`
            accepts. With ``true_labels``, only the numbers of the documents (from 1, as in the column ``document``).
        true_labels : sequence, optional
            The true labels of these documents.
        budget : float, optional
            Largest share of errors in the finished file. The check then selects labels that may pass, such that the
            file stays within this budget with 95% confidence (``guarantee``), and ``needs_review`` follows this
            selection.

        Returns
        -------
        LabelCheck
            Accuracy with an interval, corrected class proportions and precision by class; ``print`` shows all of them.

        Notes
        -----
        A document whose answer the model learned is checked by the label that it gets without its own answer
        (cross-fitted over the answers). Otherwise, every such label would be right.
        """
        from isthmus.api import reading
        from isthmus.feedback.tables import read_truths

        table = sample if true_labels is None else {"document": sample, "true_label": true_labels}
        rows, truths, among = read_truths(self, table)
        if budget is None and among is not None:
            budget = self.error_budget
        self.checked = reading.check_documents(self, rows, truths, budget, among)
        if self.checked.guarantee is not None:
            self.review_reason = self.checked.review_reasons(self.labels)
            self.review_reason[self.known_answers.read.rows] = ""
            self.needs_review = np.asarray(self.review_reason != "", dtype=bool)
        return self.checked

    def check_annotators(self, answers: Any = None) -> AnnotatorCheck:
        """Measure how far annotators agree with each other and with the methods.

        Parameters
        ----------
        answers : table, optional
            A table with the columns ``document`` or ``id``, ``true_label`` and ``by``. If omitted, the answers given to
            :meth:`teach`.

        Returns
        -------
        AnnotatorCheck
        """
        from isthmus.api.annotators import compare_annotators
        from isthmus.feedback.tables import read_votes

        votes = self.known_answers.given if answers is None else read_votes(self, answers)
        return compare_annotators(votes, self.untaught().labels)

    def ask(self, n: int = 50, *, words: bool = False, suggest: bool = False) -> dict[str, list]:
        """Select the documents or words about which an annotator should be asked next.

        The selection prefers documents with uncertain labels, documents about which methods disagree, and documents
        unlike the answered ones. Groups that fit no class come first. Answered documents are not selected again.
        Without a labelled source, the first hundred documents are drawn at random, because only a random sample
        measures how often labels from class names are right.

        Parameters
        ----------
        n : int, default=50
            Number of questions.
        words : bool, default=False
            Select words instead: those that would resolve the most uncertain documents. Fill in ``label`` and give
            ``{word: label}`` to :meth:`teach` as ``word_labels``.
        suggest : bool, default=False
            Show the current label. Annotators who see it tend to agree with it.

        Returns
        -------
        dict of str to list, or data frame
            ``document`` (numbered from 1), ``id``, ``text``, ``true_label`` (empty), ``reason``, ``drawn``; with
            ``suggest`` also ``label`` and ``confidence``. For words: ``word``, ``label`` (empty), ``suggestion``,
            ``documents``, ``settles``. If data frames were given, a frame of the same kind.
        """
        from isthmus.feedback.asking import ask, ask_about_words

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
        """Return a new result that has learned from answers.

        This result does not change. No method is refitted: a stage after the methods learns from the answers. An
        answered text gets its answer with confidence 1. An answer may name a class that the source lacks.

        Parameters
        ----------
        answers : table, path, mapping or sequence
            A table (mapping of columns, data frame, list of dict) with ``true_label`` and ``id`` or ``document``, as
            :meth:`ask` and :meth:`sample` return it; rows without a true label are skipped. Or a file with such a table
            (in a workbook the sheet ``review``, or the first sheet with answers). Or ``{id: label}``, or one label per
            text, None if it is unknown. Earlier answers stay; later answers about the same text replace them.
        drawn : {"random", "asked", "picked", "group"}, optional
            How the texts were selected. If omitted, the column ``drawn`` decides, or "picked" without that column. Only
            answers drawn at random estimate the accuracy directly. "group": the texts got a class with their whole
            group, and nobody has read them.
        word_labels : mapping or path, optional
            Labelled words, as for :func:`isthmus.label`, or a file with the columns word and label.
        name : str, optional
            Name of this table, for ``history`` and ``without``.
        without : str or path
            Undo the answers or words of the table with this name, or of this file. Answers that they replaced become
            valid again.
        source_labels : table, path or mapping, optional
            Corrected labels of the source: ``document`` (numbered from 1) and ``true_label``, as
            :meth:`isthmus.api.diagnose.Diagnosis.review_source` returns them, filled in. The target is then labelled
            again from the corrected source, and the new result learns the earlier answers.
        by : str, optional
            Name of the annotator who gave the answers, for example a language model. A column ``by`` in the table names
            the annotator of each answer. If several annotators answered a text, it gets the class that most of them
            gave; :meth:`ask` starts with texts with a tie. The answers of all annotators count as true: measure
            a machine with :meth:`check_annotators` first.

        Returns
        -------
        LabelResult

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
        from isthmus.feedback.teaching import teach

        result = self if source_labels is None else self._label_again(source_labels)
        if source_labels is not None and answers is None and word_labels is None and without is None:
            return result._like(self)
        given: dict[str, Any] = {"drawn": drawn, "word_labels": word_labels, "name": name, "without": without, "by": by}
        return teach(result, answers, **given)._like(self)

    def _label_again(self, corrections: Any) -> Self:
        """Label the target again from the corrected source, then teach the earlier answers."""
        from isthmus.api.steps import relabel
        from isthmus.feedback.tables import read_source_corrections
        from isthmus.feedback.teaching import learn_answers

        corrected = read_source_corrections(self, corrections)
        if not corrected:
            raise DataError(
                "No source label is corrected; fill in true_label where it differs from label.", code="bad-answers"
            )
        base = self.untaught()
        again = type(self)(**relabel(base, corrected))
        again.settings["source_labels_corrected"] = base.settings.get("source_labels_corrected", 0) + len(corrected)
        again.ids, again.input_table = base.ids, base.input_table
        if self.answers is not None and self.answers.learnable:
            again = learn_answers(again, again, self.answers, self.answers)
        return again._like(self)

    def review(self, n: int = 20, *, suggest: bool = False) -> Any:
        """Return a notebook widget that asks for the class of one document at a time (extra ``notebook``).

        Parameters
        ----------
        n : int, default=20
            Number of documents.
        suggest : bool, default=False
            Show the current label, as in :meth:`ask`.

        Returns
        -------
        anywidget.AnyWidget
            ``widget.teach()`` returns a result that has learned from the answers; ``widget.table()`` returns the
            answers.
        """
        from isthmus.api.review import review
        from isthmus.feedback.asking import ask

        return review(self, ask(self, n, suggest=suggest))

    def name_groups(self, names: Mapping[str, str | None]) -> Self:
        """Return the result with classes made of groups that fit no class.

        Every document of a named group counts as an answer, so later documents can get the class too. Undo this with
        ``teach(without=…)`` and the name of the group.

        Parameters
        ----------
        names : mapping of str to str or None
            ``{group: class}``; the group by its name or by its number in ``novel``, from 1. The class may be new or
            known; None names it by its most typical word.

        Returns
        -------
        LabelResult
        """
        from isthmus.feedback.teaching import name_groups

        return name_groups(self, names)._like(self)

    def split(self, within: str, n_clusters: int | None = None) -> Subtopics:
        """Split the documents of a class, or of a group that fits no class, into subtopics.

        ``result.teach(found.name({1: "late", 2: "rude"}))`` makes classes of them.

        Parameters
        ----------
        within : str
            Name of the class or group.
        n_clusters : int, optional
            Number of subtopics; if omitted, about one for fifty documents.

        Returns
        -------
        Subtopics
        """
        from isthmus.api.subtopics import split_label

        return split_label(self, within, n_clusters)

    def rename_classes(self, names: Mapping) -> Self:
        """Return the result with renamed classes; classes that get the same name are merged.

        All names change at once: ``{"a": "b", "b": "a"}`` swaps two classes. Without a merge, labels and figures stay
        the same, and renaming back restores everything. Tables with former names are still accepted.

        Parameters
        ----------
        names : mapping
            ``{old: new}``.

        Returns
        -------
        LabelResult
        """
        from isthmus.feedback.renaming import rename_classes

        return rename_classes(self, names)._like(self)

    def columns(self) -> dict[str, list]:
        """Return the result as columns.

        Returns
        -------
        dict of str to list
            ``text``, ``label``, ``confidence``, ``needs_review``, ``novel_group`` and ``review_reason``.
        """
        return {
            "text": list(self.texts),
            "label": self.labels.tolist(),
            "confidence": [round(float(value), 4) for value in self.confidence],
            "needs_review": self.needs_review.tolist(),
            "novel_group": self.novel_group.tolist(),
            "review_reason": self.review_reason.tolist(),
        }

    def budget_curve(self, steps: int = 20) -> list[dict]:
        """Return the amount of review that each error budget requires.

        See :func:`isthmus.choose.budget_curve`. Documents of new groups are reviewed early, because their confidence is
        low.

        Parameters
        ----------
        steps : int, default=20
            Number of steps of the curve.

        Returns
        -------
        list of dict
            ``reviewed`` (share), ``documents`` to review, ``expected_error`` in the finished file and ``unread_error``
            among the documents that are not reviewed.
        """
        from isthmus.choose.budgets import budget_curve

        return budget_curve(self.confidence, steps)

    @property
    def expected_errors(self) -> ExpectedErrors | None:
        """Expected wrong labels in the finished file and among the unread documents; None without an estimate."""
        if self.expected_accuracy is None or self.expected_accuracy.estimate is None:
            return None
        return ExpectedErrors.of(self.confidence, self.needs_review)

    def report(self, path: str | PathLike, *, force: bool = False, by: Mapping[str, Sequence] | str | None = None):
        """Write one self-contained HTML page about this result.

        Parameters
        ----------
        path : path of the page
        force : bool, default=False
            Replace an existing page.
        by : mapping of one str to a sequence, or str, optional
            A column by which the labels are broken down: ``{name: one value per text}``, or only its name if data
            frames were given.

        Returns
        -------
        Path
        """
        from isthmus.report import write_label_report

        by = {by: self._column(by)} if isinstance(by, str) else by
        column = None if not by else next((name, list(values)) for name, values in by.items())
        return write_label_report(self, path, force=force, by=column)

    @property
    def plot(self):
        """Single charts as altair objects (extra ``app``): ``result.plot.shares()``, ``map()``, ``reading()``, …."""
        from isthmus.report.plots import LabelPlots

        return LabelPlots(self)

    def save(self, path: str | PathLike, *, force: bool = False):
        """Write the model with its texts and labels into one file for :func:`isthmus.load`.

        Parameters
        ----------
        path : path
        force : bool, default=False
            Replace an existing file.

        Returns
        -------
        Path
        """
        return save_result(self, path, "label", force=force)

    def check_saved(self) -> None:
        """Refuse a result from a forged file whose parts do not fit each other; label two texts.

        Raises
        ------
        ValueError
        """
        check_lengths(self, "texts ids labels confidence needs_review review_reason probabilities vote novel_group")
        check_lengths(self, "source_texts source_labels")
        known = set(self.labels.tolist()) <= set(self.classes.tolist())
        # A model on given vectors has only the vectors of the fitted texts.
        own = self.texts[:1] if self.needs_vectors else ["", *(text[:TRIED] for text in self.texts[:1])]
        # String kernels are tried with one fitted text, because comparing all of them takes half a second.
        members = dict(self.model.members)
        for name, member in self.model.members.items():
            first = getattr(getattr(member, "rule", None), "first", None)
            if first is not None:
                members[name] = replace(member, rule=first())
        tried = LabelModel(members, self.model.weights, self.model.stages)
        proba = tried.predict_proba(own)
        wide = proba.shape == (len(own), len(self.classes)) and self.probabilities.shape[1] == len(self.classes)
        finite = all(np.isfinite(part).all() for part in (proba, self.probabilities, self.confidence))
        if not (known and wide and finite):
            raise ValueError("labels and classes do not fit each other")
