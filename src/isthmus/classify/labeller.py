"""Any labeller as a method: a function or a command that is given texts and answers with labels or probabilities."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.information import safe_log
from isthmus._parameters import FROM_1, parameter, parameters
from isthmus._utils import warn
from isthmus._validation import shorten
from isthmus.base import Domains, TransferClassifier
from isthmus.exceptions import DataError, UsageError

_PRIOR = 1.0  # document of each class that every answer begins with
_LEAST = 1e-6  # probability
TIMEOUT = 600.0  # seconds


class CommandLabeller:
    """A command as a labeller: texts go in as JSON lines, labels or probabilities come out, one line a text.

    Each line in is ``{"text": …}``. Each line out is ``"sport"``, ``{"label": "sport"}``,
    ``{"probabilities": {"sport": 0.8, "business": 0.2}}``, or ``null`` for no answer.

    Parameters
    ----------
    command : str
        Split as a shell would, and run without one.
    timeout : float, default=600
        Seconds for all texts of a call.
    """

    def __init__(self, command: str, *, timeout: float = TIMEOUT):
        self.command = command
        self.timeout = timeout

    def __call__(self, texts: Sequence[str]) -> list:
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        shown = shorten(self.command, 60)
        try:
            done = subprocess.run(
                shlex.split(self.command), input=lines.encode(), capture_output=True, timeout=self.timeout, check=False
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
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = f": {said[-1][:120]}" if said else ""
            raise DataError(
                f"The labeller {shown} ended with exit code {done.returncode}{why}; run it by hand on one line of "
                "JSON.",
                code="labeller-failed",
            )
        return [self._read(line, number) for number, line in enumerate(_lines(done.stdout), 1)]

    def _read(self, line: str, number: int) -> Any:
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            raise DataError(
                f"Line {number:,} of the labeller's output is {shorten(line)}; give JSON: a label in quotes, or "
                '{"probabilities": {…}}.',
                code="labeller-failed",
            ) from None


def _lines(output: bytes) -> list[str]:
    return [line for line in output.decode("utf-8", "replace").split("\n") if line.strip()]


@parameters
class LabellerClassifier(TransferClassifier):
    """Labels by a function of texts, brought to how often it is right in the source.

    Parameters
    ----------
    labeller : callable
        Takes a list of texts and returns as many answers: a class, a mapping of classes to probabilities, or None
        where it has no answer (then the shares of the classes in the source stand for it).
    n_source : int, default=200
        Labelled source documents that are put to it, to measure what its answers are worth.

    Attributes
    ----------
    right_ : float
        Share of these source documents that it labels as they are labelled.
    answered_ : float
        Share of the target documents that it answered.

    Notes
    -----
    The labeller is not saved with a model, so that opening a file never runs anything: the answers about the fitted
    texts are, and about others it says no more than the shares of the classes, with a warning.

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

    labeller: Any = parameter(callable, None, default=None, positional=True)
    n_source: int = parameter(FROM_1, default=200)
    _row_kind = "text"
    _need_overlap = False

    def _fit(self, domains: Domains) -> np.ndarray:
        size = min(self.n_source, len(domains.source))
        part = domains.source[np.linspace(0, len(domains.source) - 1, size).astype(int)]
        texts = [*domains.rows(part), *domains.rows(domains.target)]
        said, known = self._ask(texts)
        codes = domains.codes[part]
        self.shares_ = (np.bincount(domains.source_codes, minlength=domains.n_classes) + _PRIOR).astype(float)
        self.shares_ /= self.shares_.sum()
        on_source, known_source = said[:size], known[:size]
        right = on_source.argmax(axis=1)[known_source] == codes[known_source]
        self.right_ = float(np.mean(right)) if len(right) else 0.0
        self.answered_ = float(np.mean(known[size:]))
        self.graded_ = bool(np.any((said > 0) & (said < 1)))
        self._calibrate(on_source[known_source], codes[known_source], domains.n_classes)
        found = self._proba(said[size:], known[size:])
        self.known_texts_ = dict(zip(texts[size:], found.tolist(), strict=True))
        return found.argmax(axis=1)

    def _calibrate(self, said: np.ndarray, codes: np.ndarray, n_classes: int) -> None:
        """What an answer is worth: the classes that documents with this answer have in the source."""
        table = np.zeros((n_classes, n_classes))  # said × class
        np.add.at(table, (said.argmax(axis=1), codes), 1.0)
        table += _PRIOR * self.shares_ + np.eye(n_classes) * _PRIOR
        self.table_ = table / table.sum(axis=1, keepdims=True)
        self.power_ = 1.0
        if self.graded_ and len(codes):
            self.power_ = float(fit_temperature(safe_log(np.maximum(said, _LEAST)), codes, bounds=(0.05, 5.0)))

    def _proba(self, said: np.ndarray, known: np.ndarray) -> np.ndarray:
        if self.graded_:
            raised = np.maximum(said, _LEAST) ** self.power_
            found = raised / raised.sum(axis=1, keepdims=True)
        else:
            found = said @ self.table_
        return np.where(known[:, None], found, self.shares_)

    def _scores(self, X) -> np.ndarray:
        new = [text for text in dict.fromkeys(X) if text not in self.known_texts_]
        rows = dict(self.known_texts_)
        if new:
            rows |= dict(zip(new, self._proba(*self._ask(new)).tolist(), strict=True))
        return safe_log(np.maximum([rows[text] for text in X], _LEAST))

    def _ask(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Answers as rows of probabilities, and which texts were answered."""
        if self.labeller is None:
            message = (
                f"The labeller is not part of a saved model, so it says nothing about {len(texts):,} texts; label them "
                "afresh from the source, with the labeller."
            )
            warn(message, code="labeller-failed")
            return np.zeros((len(texts), len(self.classes_))), np.zeros(len(texts), dtype=bool)
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
        """Nothing: what a labeller looked at is not known, and asking it about every word would cost too much."""
        return {}

    def __getstate__(self):
        return super().__getstate__() | {"labeller": None}


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
