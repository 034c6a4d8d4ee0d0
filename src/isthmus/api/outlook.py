"""What is said about all documents of a labelling: how common each class is, and what reading more of them brings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate, without_text
from isthmus.api.frames import FrameResult
from isthmus.choose.checking import LabelCheck
from isthmus.choose.forecast import AnswerForecast, forecast_answers
from isthmus.choose.guaranteed import LOOK, Step, look_at_random, next_step, read_list
from isthmus.choose.prevalence import ShareFacts, value_masks, with_source
from isthmus.corpus.frames import frame_columns
from isthmus.corpus.guess import list_columns
from isthmus.exceptions import UsageError
from isthmus.feedback.labelling import Labelling
from isthmus.feedback.model import calibrated_proba, voting_part


@dataclass(kw_only=True, repr=False)
class Outlook(FrameResult, Labelling):
    """Class shares and forecasts of a labelling; :class:`isthmus.api.label.LabelResult` is one."""

    checked: LabelCheck | None = None
    input_table: str | None = None  # columns of the file that was labelled, as JSON

    @property
    def accuracy(self) -> AccuracyEstimate | None:
        """Share of right labels: what the latest check found, or else what is expected."""
        return self.expected_accuracy if self.measured is None else self.measured.estimate

    @property
    def measured(self) -> LabelCheck | None:
        """The latest check, if its documents were drawn from all of them."""
        return self.checked if self.checked is not None and self.checked.among is None else None

    def class_shares(self, by: Sequence | str | None = None) -> list[dict]:
        """How common each class is in the target: ``class``, ``source``, ``labels``, ``estimate``, ``low``, ``high``.

        ``source`` is its share in the source, ``labels`` its share among the labels. What the estimate and its interval
        rest on is said by ``basis``:

        * "check": documents of a :meth:`check`, drawn from all; the interval holds in 95 % of cases;
        * "sample": answers to documents drawn at random, at least 30; 90 %;
        * "expected": the probabilities alone; the interval is as wide as mistakes of labels made it on pairs whose
          truth is known; 90 %. Answers of other kinds count as they are;
        * "": no accuracy is expected, so that there is no interval (None).

        Parameters
        ----------
        by : sequence or str, optional
            One value per text, or the name of a column where frames came in: shares within each value, or within each
            period where the values are dates. Every row then has ``value`` and ``documents``, too.
        """
        if by is None:
            return self._shares()
        values = self._column(by) if isinstance(by, str) else list(by)
        _, masks = value_masks(values, len(self.texts))
        return [
            {"value": value, "documents": int(mask.sum())} | row for value, mask in masks for row in self._shares(mask)
        ]

    def _column(self, name: str) -> list:
        if self._frame is not None:
            columns = frame_columns(self._frame)
        else:
            columns = (json.loads(self.input_table) if self.input_table else {}).get("cells") or {}
        if name not in columns:
            has = f"it has {list_columns(columns)}" if columns else "its columns are not known; give one value per text"
            raise UsageError(f"{name!r} is not a column of the target; {has}.", code="unknown-column")
        return columns[name]

    def _shares(self, within: np.ndarray | None = None) -> list[dict]:
        measured = self.measured
        if measured is None:
            return with_source(self.share_facts().shares(within), self.source_labels)
        rows = measured.shares if within is None else self.share_facts().shares(within)
        basis = {"sample": "check", None: "check"}
        rows = [row | {"basis": basis.get(row.get("basis"), row.get("basis"))} for row in rows]
        return with_source(rows, self.source_labels)

    def share_facts(self) -> ShareFacts:
        """What is known about the class of every document, from which :meth:`class_shares` is computed."""
        answers, measured = self.known_answers.read, self.measured
        known = dict(zip(answers.rows, answers.labels, strict=True))
        drawn = [row for row, at_random in zip(answers.rows, answers.at_random, strict=True) if at_random]
        level: dict[str, float] = {}
        before = None
        if self.vote is not None:  # answers may have named classes between those of the vote
            before = np.zeros(self.probabilities.shape)
            before[:, np.searchsorted(self.classes, voting_part(self.model).classes_)] = self.vote
        if measured is not None:
            drawn, level = measured.rows, {"level": measured.confidence_level}
            known |= dict(zip(measured.rows, measured.true_labels, strict=True))
        return ShareFacts(
            self.classes.tolist(),
            self.labels,
            calibrated_proba(self.model, self.probabilities, self.settings, self.vote),
            self.confidence,
            self.accuracy,
            known,
            drawn,
            before,
            **level,
            counted=~without_text(self.texts),
        )

    def next_step(self) -> Step | None:
        """The reading that should shorten the list most: ``read``, ``now``, ``then``, ``minutes``; ``str`` says it.

        Forecast from the confidences and the guarantee (:meth:`sample` with a budget, :meth:`check`) that it should
        bring. Where that would not pay, the step is to read the list itself (not ``at_random``); where no document
        needs review, a random sample shows whether that is right. None for later texts, and after a check that
        guarantees something or leaves nothing to review, and where no text has content.
        """
        expected, budget = self.expected_accuracy, self.error_budget
        if without_text(self.texts).all():
            return None
        guaranteed = self.checked is not None and self.checked.guarantee is not None
        if not self.needs_review.any():
            all_read = len(self.known_answers.read.rows) == len(self.texts)
            return None if self.checked is not None or all_read else look_at_random(self.texts)
        if guaranteed or expected is None:
            return None
        step = None
        if expected.estimate is not None and 0 < budget < 1:
            step = next_step(
                self.confidence, self.needs_review, budget, self.texts, eligible=self.may_pass, expected=expected
            )
        if step is not None:
            return step
        is_long = np.count_nonzero(self.needs_review) > LOOK
        return read_list(self.needs_review, self.texts, self.forecast(LOOK) if is_long else None)

    def forecast(self, answers: int | Mapping | Any = 100) -> AnswerForecast | None:
        """What answers will bring: ``now`` and ``then`` (documents to review), ``right`` (share of all labels then).

        None where no accuracy is expected, so that nothing can be forecast.

        Parameters
        ----------
        answers : int or table, default=100
            How many documents you can read: the least sure that nobody has answered. Or the questions that :meth:`ask`
            gave.
        """
        table: Any = answers
        if not isinstance(table, Integral) and not (hasattr(table, "__getitem__") and "document" in table):
            raise UsageError(
                f"{type(answers).__name__} was given; give a number of documents, or the questions that ask gave.",
                code="bad-parameter",
            )
        if self.expected_accuracy is None or self.expected_accuracy.estimate is None:
            return None
        if isinstance(table, Integral):
            open_ = np.ones(len(self.texts), dtype=bool)
            open_[self.known_answers.read.rows] = False
            order = np.argsort(self.confidence, kind="stable")
            rows = order[open_[order]][: max(0, int(table))].tolist()
        else:
            rows = [int(number) - 1 for number in table["document"]]
        return forecast_answers(self.confidence, self.needs_review, rows, self.error_budget, self.texts)

    @property
    def may_pass(self) -> np.ndarray:
        """Documents that a guarantee may let pass: nobody answered them, and they are in no new group."""
        allowed = np.asarray(self.novel_group == "", dtype=bool)
        allowed[self.known_answers.read.rows] = False
        return allowed
