"""Progress on standard error: one line that is rewritten, with a forecast of the remaining time."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from isthmus._progress import spell_count
from isthmus._streams import clear_line, rewrite_line, say, stop_if_asked
from isthmus._utils import spell_time
from isthmus.corpus import Collection
from isthmus.options import LabelOptions

_FILES = {"writing the report": (1.7, 0.05, 1.0, 0.09), "saving the model": (1.0, 0.1, 0.3, 0.0)}
# Stages of each command and their seconds on one core: per run, per 1,000 documents, per million characters, and per
# 1,000 documents and class.
COSTS = {
    "label": {
        "reading the texts": (2.9, 0.35, 0.5, 0.0),
        "trying methods": (0.4, 0.2, 2.0, 0.07),
        "judging the labels": (0.1, 0.05, 0.1, 0.09),
        **_FILES,
    },
    "label by one method": {
        "labelling": (2.9, 0.35, 0.5, 0.0),
        "judging the labels": (0.5, 0.05, 0.7, 0.09),
        **_FILES,
    },
    "teach": {
        "reading the labels": (3.0, 0.3, 0.3, 0.0),
        "learning from answers": (0.5, 0.2, 0.5, 0.1),
        "judging the labels": (0.1, 0.05, 0.1, 0.09),
        **_FILES,
    },
    "cluster": {
        "grouping": (3.2, 0.3, 0.3, 0.0),
        "naming the groups": (0.1, 0.2, 0.0, 0.0),
        "writing the report": (1.2, 0.26, 0.0, 0.0),
        "saving the model": (1.0, 0.2, 0.0, 0.0),
    },
    "diagnose": {
        "comparing the collections": (3.3, 0.3, 0.3, 0.09),
        "writing the report": (0.3, 0.1, 0.1, 0.0),
    },
}
# Seconds of each method in the same units. Other methods have no forecast.
_QUICK, _SOME, _LONG = (0.0, 0.1, 0.4, 0.0), (0.2, 0.2, 1.2, 0.0), (0.3, 0.6, 4.0, 0.0)
METHODS = {
    **dict.fromkeys(("nbc", "svm", "logistic", "projection", "projection-svm", "projection-paper"), _QUICK),
    **dict.fromkeys(("cocc", "cocc-paper", "neighbours", "vectors", "vectors-logistic", "dual-manifold"), _SOME),
    **dict.fromkeys(("self-training", "strings", "lsa", "names"), _LONG),
    "auto": (0.0, 0.0, 0.0, 0.0),
}
PRIOR_SECONDS = 0.5  # weight of the plan against the measured speed, in seconds of work
OVERDUE = 0.9  # share of its planned time after which a stage is assumed to need another ninth of its elapsed time
FIRST_FORECAST = 1.0  # seconds before the first forecast is shown
# Least share done before a step without a plan gets a forecast, because its first rows include the time to start.
_LEAST_DONE = 0.02


class Forecast:
    """Forecast of a run's remaining time, from a plan of its stages and the time that they have taken so far.

    Parameters
    ----------
    stages : sequence of (str, float or None)
        Names with seconds on one core, None if unknown.
    began : float
        Time of the clock when the first stage began.
    used : float, default=0.0
        Processor time at that moment; it advances more slowly than the clock on a busy machine.
    """

    def __init__(self, stages: Sequence[tuple[str, float | None]], began: float, used: float = 0.0):
        self.names = [name for name, _ in stages]
        self.seconds = [seconds for _, seconds in stages]
        self.began, self.used = began, used
        self.place, self.since = 0, began
        self.taken = self.planned = 0.0

    @property
    def stage(self) -> str:
        """Name of the present stage."""
        return self.names[self.place]

    @property
    def is_known(self) -> bool:
        """Whether the time of the present stage and of every later one is known."""
        return None not in self.seconds[self.place :]

    def enter(self, name: str, now: float) -> None:
        """Start a stage; all stages before it are over, even if no event has reported them.

        Parameters
        ----------
        name : str
            Name of the stage.
        now : float
            Time of the clock in seconds.
        """
        self._pass_to(self.names.index(name, self.place), now)

    def leave(self, now: float) -> None:
        """End the present stage and start the next one.

        Parameters
        ----------
        now : float
            Time of the clock in seconds.
        """
        self._pass_to(min(self.place + 1, len(self.names) - 1), now)

    def _pass_to(self, place: int, now: float) -> None:
        """Move to a stage and compare the time of the stages before it with the plan."""
        over = self.seconds[self.place : place]
        if not over:
            return
        # A stage without a plan says nothing about the speed.
        if None not in over:
            self.taken += now - self.since
            self.planned += sum(filter(None, over))
        self.place, self.since = place, now

    def left(self, now: float, used: float | None = None) -> float | None:
        """Estimate the remaining seconds of the run.

        Parameters
        ----------
        now : float
            Time of the clock in seconds.
        used : float, optional
            Processor time in seconds; measured if omitted.

        Returns
        -------
        float or None
            Seconds, or None if the time of a stage is unknown.
        """
        if not self.is_known:
            return None
        current, *later = (seconds or 0.0 for seconds in self.seconds[self.place :])
        work = (time.process_time() if used is None else used) - self.used
        # Other programs slow down the run: compare the clock with the processor time.
        slowness = max(1.0, (now - self.began) / work) if work > 0 else 1.0
        taken, planned = self.taken + slowness * PRIOR_SECONDS, self.planned + PRIOR_SECONDS
        spent, rest = now - self.since, current * taken / planned - (now - self.since)
        # An overdue stage needs longer than planned, and so will the later ones.
        if spent > OVERDUE * current * taken / planned:
            rest = spent / OVERDUE - spent
            taken, planned = taken + spent / OVERDUE, planned + current
        return rest + sum(later) * taken / planned


class ProgressLine:
    """Progress as one line that is rewritten on a terminal; otherwise as a few plain lines.

    With a plan (:meth:`expect`), the remaining time is that of the whole run, otherwise that of the present step.

    Parameters
    ----------
    every : float, default=5.0
        Seconds between two plain lines at the beginning of a run.
    at_most : float, default=60.0
        Seconds between two plain lines later.
    """

    def __init__(self, every: float = 5.0, at_most: float = 60.0):
        self.every, self.at_most = every, at_most
        self.began = self.spoke = time.monotonic()
        self.used = time.process_time()
        self.started: dict[str, float] = {}
        self.open = ""  # present step; events of other steps are parts of it
        self.event: dict = {"phase": "", "done": 0, "total": None}
        self.forecast: Forecast | None = None

    def expect(self, stages: Sequence[tuple[str, float | None]]) -> None:
        """Set the stages of the run, the first of which began with this object.

        Parameters
        ----------
        stages : Sequence[tuple[str, float | None]]
            Names with seconds on one core, None if unknown.
        """
        self.forecast = Forecast(stages, self.began, self.used)

    def __call__(self, event: dict) -> None:
        """Receive an event and show it."""
        stop_if_asked()
        if "what" in event:  # a report about memory is no step
            return
        now, phase, done, total = event["time"], event["phase"], event["done"], event["total"]
        finished = total is not None and done >= total
        if self.forecast is not None and phase in self.forecast.names[self.forecast.place :]:
            self.forecast.enter(phase, now)
            self.event = event
            if finished:
                self.forecast.leave(now)
        elif self.forecast is None or not self.forecast.is_known:
            if self.open not in ("", phase):
                return
            self.open = phase if total and not finished and (not done or self.open) else ""
            self.started.setdefault(phase, now)
            self.event = event
        self.show(now, begins=total == 1 and not done)

    def show(self, now: float, *, begins: bool = False) -> None:
        """Write the line if enough time has passed since the last one.

        Parameters
        ----------
        now : float
            Time of the clock in seconds.
        begins : bool, default=False
            Whether a long step begins, which may send no more events.
        """
        terminal = sys.stderr is not None and sys.stderr.isatty()
        # A log of an hour's run should not be a thousand lines long.
        pause = 0.2 if terminal else min(self.at_most, max(self.every, (now - self.began) / 4))
        text = self._what() + self._time_left(now)
        if not text or (now - self.spoke < pause and not (begins and terminal)):
            return
        self.spoke = now
        if terminal:
            rewrite_line(text[: shutil.get_terminal_size().columns - 1])  # a wrapped line cannot be rewritten
        else:
            say(text)

    def _what(self) -> str:
        """Return the description of the present step."""
        phase, total = self.event["phase"], self.event["total"]
        if self.forecast is not None and self.forecast.is_known and phase != self.forecast.stage:
            return self.forecast.stage
        return phase if total == 1 or not phase else spell_count(self.event)

    def _time_left(self, now: float) -> str:
        """Return the remaining time as text, or "" if it is unknown."""
        left = None if self.forecast is None else self.forecast.left(now)
        if left is not None:
            return "" if now - self.began < FIRST_FORECAST else f", about {spell_time(left)} left"
        done, total, start = self.event["done"], self.event["total"], self.started.get(self.event["phase"], now)
        if not total or not _LEAST_DONE * total <= done < total or now <= start:
            return ""
        return f", about {spell_time((now - start) / done * (total - done))} left in this step"


def plan_stages(
    command: str, *collections: Collection, report: Any = None, save: Any = None
) -> list[tuple[str, float | None]]:
    """Return the stages of a command with their expected seconds, without stages for files that are not written.

    Parameters
    ----------
    command : str
        Name of the command in ``COSTS``.
    *collections : Collection
        Documents of the run.
    report : Any, optional
        Path of the report, or None.
    save : Any, optional
        Path of the saved result, or None.

    Returns
    -------
    list[tuple[str, float or None]]
        Names and seconds.
    """
    size = measure(*collections)
    absent = {"writing the report": report is None, "saving the model": save is None}
    return [(stage, seconds(size, costs)) for stage, costs in COSTS[command].items() if not absent.get(stage)]


def measure(*collections: Collection) -> tuple[float, ...]:
    """Measure the size of a run in the units of ``COSTS``.

    Parameters
    ----------
    *collections : Collection
        Documents of the run; the first ones have labels.

    Returns
    -------
    tuple[float, ...]
        One run, thousands of documents, millions of characters, and thousands of documents times classes.
    """
    documents = sum(map(len, collections)) / 1e3
    characters = sum(len(text) for docs in collections for text in docs.texts) / 1e6
    return 1.0, documents, characters, documents * len(set(collections[0].labels))


def seconds(size: Sequence[float], costs: Sequence[float]) -> float:
    """Multiply a size by its costs.

    Parameters
    ----------
    size : Sequence[float]
        Size of a run, as :func:`measure` returns it.
    costs : Sequence[float]
        Seconds per unit.

    Returns
    -------
    float
        Seconds.
    """
    return sum(number * cost for number, cost in zip(size, costs, strict=True))


def plan_labelling(request: LabelOptions, *collections: Collection) -> list[tuple[str, float | None]]:
    """Return the stages of labelling in memory.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    *collections : Collection
        Documents of the run.

    Returns
    -------
    list[tuple[str, float or None]]
        Names and seconds; None for a labeller, a sentence model or a rare method.
    """
    files = {"report": request.report, "save": request.save}
    # Nobody knows how long a sentence model or an external command takes.
    if request.embed not in (None, "none") or request.labeller is not None or request.method not in METHODS:
        return [("labelling", None), *plan_stages("label", *collections, **files)[2:]]
    if request.method == "auto":
        return plan_stages("label", *collections, **files)
    (stage, reading), *later = plan_stages("label by one method", *collections, **files)
    return [(stage, (reading or 0.0) + seconds(measure(*collections), METHODS[request.method])), *later]


def plan_teaching(labelling: Any, *, report: Any, save: Any, labels_again: bool) -> list[tuple[str, float | None]]:
    """Return the stages of teaching.

    Parameters
    ----------
    labelling : Any
        The result that learns.
    report : Any
        Path of the report, or None.
    save : Any
        Path of the saved result, or None.
    labels_again : bool
        Whether corrected source labels require labelling again.

    Returns
    -------
    list[tuple[str, float or None]]
        Names and seconds.
    """
    source = Collection.from_texts(labelling.source_texts, list(labelling.source_labels))
    target = Collection.from_texts(labelling.texts)
    if labels_again:
        request = LabelOptions(method=labelling.settings["method"], report=report, save=save)
        return plan_labelling(request, source, target)
    return plan_stages("teach", source, target, report=report, save=save)


@contextmanager
def ticking(line: ProgressLine) -> Iterator[None]:
    """Update the remaining time on a terminal while a long step sends no events, and clear the line at the end.

    Parameters
    ----------
    line : ProgressLine
        The line of progress.

    Yields
    ------
    None
        Nothing.
    """
    ended = threading.Event()

    def tick() -> None:
        """Update the line every second."""
        while not ended.wait(1.0):
            line.show(time.monotonic())

    watch = threading.Thread(target=tick, daemon=True)
    if sys.stderr is not None and sys.stderr.isatty():
        watch.start()
    try:
        yield
    finally:
        ended.set()
        if watch.is_alive():
            watch.join()
        clear_line()
