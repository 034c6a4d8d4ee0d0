"""Represent a result for feedback: its texts and labels, the model, and the answers so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from isthmus._cards import card
from isthmus._math.confidence import AccuracyEstimate, review_reasons
from isthmus._utils import plural
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.corpus.cells import cell_content
from isthmus.features.embeddings import STATIC, VectorTable, has_static_vectors
from isthmus.feedback.answers import Answers
from isthmus.feedback.model import renames_of, vector_steps, without_answers
from isthmus.feedback.views import DocumentViews


@dataclass(frozen=True)
class Learned:
    """Changes by the latest answers.

    Attributes
    ----------
    name : str
        Name of the table of answers.
    answers, words : int
        Answers and words of this table.
    total : int
        Answers of all tables.
    changed : int
        Changed labels, including those of answered documents.
    towards : int
        Changed labels that became one of the classes in this table.
    before, after : dict
        Documents by class.
    outlook : dict or None
        Forecast for ``answers`` more answers (``gain``, ``margin``, in shares of all labels), and ``curve``: the share
        of right held-out answers by number of training answers. None with too few answers.
    basis : str
        Evidence for the expected accuracy: "random", "weighted" or '' (none).
    taken_back, words_taken_back : int
        Answers and words of an undone table.
    new_classes : dict of str to str
        Classes that this table names first, each with the known class of almost the same spelling, or ''.
    """

    name: str
    answers: int
    total: int
    changed: int
    towards: int
    before: dict
    after: dict
    outlook: dict | None = None
    basis: str = ""
    taken_back: int = 0
    new_classes: dict[str, str] = field(default_factory=dict)
    words: int = 0
    words_taken_back: int = 0

    def __str__(self) -> str:
        """Return the changes as lines of text."""
        from isthmus.feedback.accounting import Outlook

        parts = (
            (self.taken_back, "answer", "taken back"),
            (self.words_taken_back, "word", "taken back"),
            (self.answers, "answer", "learned"),
            (self.words, "word", "learned"),
        )
        done = ", ".join(f"{plural(number, what)} {verb}" for number, what, verb in parts if number)
        changed = f"{plural(self.changed, 'label')} changed"
        if self.answers and self.towards < self.changed:
            changed += f", {self.towards:,} towards the answered classes"
        total = plural(self.total, "answer") if self.words else f"{self.total:,}"
        lines = [f"{done or 'no new answers'}, {total} in all; {changed}"]
        for name, known in self.new_classes.items():
            if known:
                lines.append(
                    f"warning: new class: {name} (did you mean {known}? Correct the table and run teach again)"
                )
            elif self.basis == "random":
                lines.append(f"new class: {name}")
            else:
                lines.append(f"new class: {name}; answers to documents drawn at random will tell how common it is")
        for name in dict.fromkeys([*self.before, *self.after]):
            lines.append(f"  {name}: {self.before.get(name, 0):,} before, {self.after.get(name, 0):,} now")
        # The answers so far cannot show the effect of answers about new classes.
        if self.outlook is not None and not self.new_classes:
            lines.append(str(Outlook(*(self.outlook[name] for name in ("answers", "gain", "margin")))))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *_ = str(self).splitlines()
        total = max(1, sum(self.after.values()))
        facts = [("New class", name) for name in self.new_classes]
        return card(first, facts, [(str(name), count / total) for name, count in self.after.items()], about="Taught")

    def renamed(self, names: dict) -> Learned:
        """Return the changes with renamed classes; a rename itself teaches and changes nothing.

        Parameters
        ----------
        names : dict
            New name by old name.

        Returns
        -------
        Learned
        """
        written = {str(old): str(new) for old, new in names.items()}
        counts = {written.get(name, name): value for name, value in self.after.items()}
        counted = ("answers", "changed", "towards", "taken_back", "words", "words_taken_back")
        nothing: dict[str, Any] = dict.fromkeys(counted, 0)
        return replace(self, name="", before=counts, after=counts, new_classes={}, **nothing)


@dataclass(kw_only=True, repr=False)
class Labelling:
    """Labels of the target's texts, the model, and the answers of annotators.

    :class:`isthmus.api.result.LabelResult` describes the attributes; feedback uses no others.
    """

    labels: np.ndarray
    confidence: np.ndarray
    needs_review: np.ndarray
    classes: np.ndarray
    probabilities: np.ndarray
    model: Any
    texts: list[str]
    source_texts: list[str]
    source_labels: np.ndarray
    settings: dict[str, Any] = field(default_factory=dict)
    ids: list[str] | None = None
    expected_accuracy: AccuracyEstimate | None = None
    opinions: dict[str, np.ndarray] | None = None
    vote: np.ndarray | None = None  # probabilities before any answer
    answers: Answers | None = None
    learned: Learned | None = None
    history: list[dict] = field(default_factory=list)
    novel_group: Any = None
    novel: list[dict] = field(default_factory=list)
    warnings: list[dict] = field(default_factory=list)
    before: dict[str, Any] | None = None  # attributes to restore when all answers are undone
    checked: Any = None  # the latest check of a sample
    given_vectors: VectorTable | None = None  # given vectors that no method uses; teaching uses them
    review_reason: Any = None  # per text one of REVIEW_REASONS, '' for a text that needs no review
    given_words: list[str] = field(default_factory=list)  # labelled words that the methods used
    descriptions: dict[Any, str] = field(default_factory=dict)  # description of a class: words, or a sentence

    def __post_init__(self) -> None:
        """Fill attributes that were not given."""
        if self.novel_group is None:  # without a search for new groups
            self.novel_group = np.full(len(self.texts), "", dtype=object)
        if self.review_reason is None:  # files without reasons
            group = self.novel_group != ""
            found = {"new_group": self.needs_review & group, "not_sure_enough": self.needs_review}
            self.review_reason = review_reasons(len(self.texts), error_budget=self.error_budget, **found)

    @property
    def known_answers(self) -> Answers:
        """The answers so far; without an answered document, they may still contain blank rows and words."""
        return Answers() if self.answers is None else self.answers

    @property
    def document_ids(self) -> list[str]:
        """Identifiers of the texts as given, or their numbers from 1."""
        return self.ids or [str(number) for number in range(1, len(self.texts) + 1)]

    @property
    def seed(self) -> int | None:
        """Seed of all random choices."""
        return self.settings.get("random_state", 0)

    @property
    def error_budget(self) -> float:
        """Share of wrong labels that is tolerated among labels without review."""
        return self.settings.get("error_budget", 0.1)

    @property
    def unverified(self) -> bool:
        """Whether the accuracy is unknown: neither estimated nor measured by answers."""
        return "caution" not in self.settings

    @property
    def by_names_alone(self) -> bool:
        """Whether fewer than two classes have labelled documents in the source."""
        return len({label for label in self.source_labels if label is not None}) < 2

    @cached_property
    def views(self) -> DocumentViews:
        """Views of the texts; computed once per result, and stored in the model after teaching."""
        answers = self.model.stage(AnswersStage)
        if answers is not None:
            return answers.views
        wanted = ("analyzer", "min_df", "language", "random_state")
        settings = {name: self.settings[name] for name in wanted if name in self.settings}
        collections = self.source_texts, self.source_labels.tolist(), self.texts
        return DocumentViews.fit(*collections, embed=self.find_embedder(), **settings)

    def find_embedder(self) -> Any:
        """Return the model that computes vectors of texts: that of a method, the given vectors, or the packaged model.

        Returns
        -------
        str, callable or VectorTable, or None
            As for :class:`isthmus.features.TextEmbedder`.
        """
        # The vectors of the methods are preferred, because they are computed already.
        steps = vector_steps(self.model)
        if steps:
            return steps[0].model
        if self.given_vectors is not None:
            return self.given_vectors
        return STATIC if self.settings.get("vectors") == STATIC and has_static_vectors() else None

    def voters(self) -> dict[str, np.ndarray]:
        """Return the probabilities by each method.

        Returns
        -------
        dict of str to ndarray of shape (n_texts, n_classes)
        """
        return self.opinions or without_answers(self.model).opinions(self.texts)

    def in_current_names(self, labels: Sequence) -> list:
        """Replace former names of classes by their present names.

        Parameters
        ----------
        labels : sequence

        Returns
        -------
        list
            A label that is a class now is not changed.
        """
        current = {cell_content(name) for name in self.classes.tolist()}
        renames = {cell_content(old): new for old, new in renames_of(self.model).items()}
        # After a rename, another class may have received the former name.
        former = {old: new for old, new in renames.items() if old not in current}
        return [former.get(cell_content(label), label) for label in labels]

    def untaught(self) -> Self:
        """Return the result as it was before any answer.

        Returns
        -------
        Labelling
        """
        # A result of later texts has a taught model but no vote of its own to return to.
        if self.model.stage(AnswersStage) is None or self.vote is None:
            return self
        base = without_answers(self.model)
        assert self.before is not None
        return replace(
            self,
            classes=base.classes_,
            probabilities=self.vote,
            model=base,
            vote=None,
            answers=None,
            learned=None,
            before=None,
            checked=None,
            **self.before,
        )


AnyLabelling = TypeVar("AnyLabelling", bound=Labelling)


def class_codes(classes: np.ndarray, labels: Any) -> np.ndarray:
    """Return the index of each label in ``classes``.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    labels : sequence

    Returns
    -------
    ndarray of int
    """
    codes = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([codes[label] for label in labels], dtype=int)
