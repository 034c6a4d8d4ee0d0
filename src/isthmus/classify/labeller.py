"""Use a function or a command that labels texts as a method."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.information import safe_log
from isthmus._validation import shorten
from isthmus.base import FROM_1, Domains, TransferClassifier
from isthmus.classify.rules import LEAST, LabellerRule
from isthmus.exceptions import DataError, UsageError

_PRIOR = 1.0  # documents of each class added to every count
TIMEOUT = 600.0  # seconds for all texts of a call


class CommandLabeller:
    """Label texts with a command that reads texts and writes labels or probabilities, as JSON lines.

    Each input line is ``{"text": …}``. Each output line is ``"sport"``, ``{"label": "sport"}``,
    ``{"probabilities": {"sport": 0.8, "business": 0.2}}``, or ``null`` for no answer.

    Parameters
    ----------
    command : str
        Split into words as a shell does; run without a shell.
    timeout : float, default=600
        Seconds for all texts of a call.
    """

    def __init__(self, command: str, *, timeout: float = TIMEOUT):
        self.command = command
        self.timeout = timeout

    def __call__(self, texts: Sequence[str]) -> list:
        """Run the command on texts and return its answers, one per output line."""
        sent = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        shown = shorten(self.command, 60)
        try:
            done = subprocess.run(
                shlex.split(self.command), input=sent.encode(), capture_output=True, timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            raise DataError(
                f"The labeller {shown} did not answer {len(texts):,} texts within {self.timeout:g} seconds; give it "
                "fewer texts, or more time (CommandLabeller(timeout=…)).",
                code="labeller-failed",
            ) from None
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The labeller {shown} cannot be started: {error}; check the command.", code="labeller-failed"
            ) from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = f": {lines[-1][:120]}" if lines else ""
            raise DataError(
                f"The labeller {shown} ended with exit code {done.returncode}{why}; run it by hand on one line of "
                "JSON.",
                code="labeller-failed",
            )
        answers = []
        for number, line in enumerate(done.stdout.decode("utf-8", "replace").split("\n"), 1):
            try:
                answers += [json.loads(line)] if line.strip() else []
            except json.JSONDecodeError:
                raise DataError(
                    f"Line {number:,} of the labeller's output is {shorten(line)}; give JSON: a label in quotes, or "
                    '{"probabilities": {…}}.',
                    code="labeller-failed",
                ) from None
        return answers


class LabellerClassifier(TransferClassifier):
    """Label texts with a function and calibrate its answers on the labelled source.

    Parameters
    ----------
    labeller : callable
        Takes a list of texts and returns as many answers: a class, a mapping of classes to probabilities, or None
        for no answer, which counts as the class proportions of the source.
    n_source : int, default=200
        Labelled source documents on which the labeller is evaluated.

    Attributes
    ----------
    right_ : float
        Share of these source documents that the labeller labels correctly.
    answered_ : float
        Share of the target documents with an answer.

    Notes
    -----
    A saved model does not contain the labeller, because loading a file must not run code. It contains the answers for
    the fitted texts; other texts get the class proportions, with a warning.

    Examples
    --------
    >>> from isthmus.classify.labeller import LabellerClassifier
    >>> texts = ["kind staff", "fast bike", "rude staff", "slow bike"]
    >>> def rule(texts):
    ...     return ["staff" if "staff" in text else "product" for text in texts]
    >>> model = LabellerClassifier(rule).fit(texts, ["staff", "product", None, None])
    >>> model.transduction_.tolist(), model.right_
    (['staff', 'product', 'staff', 'product'], 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {"labeller": [callable], "n_source": [FROM_1]}
    _row_kind = "text"
    _need_overlap = False

    def __init__(self, labeller=None, *, n_source=200):
        self.labeller = labeller
        self.n_source = n_source

    def _fit(self, domains: Domains) -> np.ndarray:
        size = min(self.n_source, len(domains.source))
        part = domains.source[np.linspace(0, len(domains.source) - 1, size).astype(int)]
        texts = [*domains.rows(part), *domains.rows(domains.target)]
        answers, known = self._ask(texts)
        self.shares_ = (np.bincount(domains.source_codes, minlength=domains.n_classes) + _PRIOR).astype(float)
        self.shares_ /= self.shares_.sum()
        on_source, codes = answers[:size][known[:size]], domains.codes[part][known[:size]]
        self.right_ = float(np.mean(on_source.argmax(axis=1) == codes)) if len(codes) else 0.0
        self.answered_ = float(np.mean(known[size:]))
        self.graded_ = bool(np.any((answers > 0) & (answers < 1)))
        # Row of an answer: the classes of the source documents with this answer.
        table = np.zeros((domains.n_classes, domains.n_classes))
        np.add.at(table, (on_source.argmax(axis=1), codes), 1.0)
        table += _PRIOR * self.shares_ + np.eye(domains.n_classes) * _PRIOR
        self.table_ = table / table.sum(axis=1, keepdims=True)
        self.power_ = 1.0
        if self.graded_ and len(codes):
            logs = safe_log(np.maximum(on_source, LEAST))
            self.power_ = float(fit_temperature(logs, codes, bounds=(0.05, 5.0)))
        found = self._proba(answers[size:], known[size:])
        self.known_texts_, self.known_proba_ = texts[size:], found
        return found.argmax(axis=1)

    def _proba(self, answers: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return calibrated probabilities; the class proportions of the source where there is no answer."""
        raised = np.maximum(answers, LEAST) ** self.power_
        found = raised / raised.sum(axis=1, keepdims=True) if self.graded_ else answers @ self.table_
        return np.where(known[:, None], found, self.shares_)

    def prediction_rule(self) -> LabellerRule:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        LabellerRule
        """
        return LabellerRule(self.known_texts_, self.known_proba_, self.shares_, self._answer)

    def _answer(self, texts: list[str]) -> np.ndarray:
        return self._proba(*self._ask(texts))

    def _ask(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the answers as rows of probabilities, and which texts have an answer."""
        answers = self.labeller(texts)
        several = hasattr(answers, "__len__") and not isinstance(answers, (str, bytes))
        if not several or len(answers) != len(texts):
            given = f"{len(answers):,} answers" if several else type(answers).__name__
            raise DataError(
                f"The labeller gave {given} for {len(texts):,} texts; give one for each, None (null) where there is "
                "none.",
                code="labeller-failed",
            )
        place = {str(name): code for code, name in enumerate(self.classes_.tolist())}
        rows = np.zeros((len(texts), len(place)))
        for number, answer in enumerate(answers):
            for name, share in _read_answer(answer, number).items():
                if str(name) not in place:
                    raise DataError(
                        f"The labeller calls text {number + 1:,} {shorten(name)}, which is not one of the classes "
                        f"{', '.join(place)[:100]}; let it answer with these, or with None (null).",
                        code="labeller-labels",
                    )
                rows[number, place[str(name)]] = share
        totals = rows.sum(axis=1, keepdims=True)
        return np.divide(rows, totals, out=rows, where=totals > 0), totals.ravel() > 0

    def term_contributions(self, row: Any) -> dict:
        """Return no contributions, because a call of the labeller for every word would cost too much.

        Parameters
        ----------
        row : object
            Unused.

        Returns
        -------
        dict
            Empty.
        """
        return {}


def _read_answer(answer: Any, number: int) -> Mapping[Any, float]:
    if isinstance(answer, Mapping) and set(answer) & {"label", "probabilities"}:
        answer = answer.get("probabilities", answer.get("label"))
    if answer is None or answer == "" or answer != answer:
        return {}
    if not isinstance(answer, Mapping):
        return {answer: 1.0}
    shares = list(answer.values())
    if all(isinstance(share, Real) and 0 <= float(share) < float("inf") for share in shares) and sum(shares) > 0:
        return answer
    raise DataError(
        f"The labeller's probabilities for text {number + 1:,} are {shorten(answer)}; give numbers from 0 to 1.",
        code="labeller-failed",
    )
