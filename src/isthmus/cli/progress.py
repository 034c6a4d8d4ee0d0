"""Progress on standard error: one line that is written again, and how long the rest of the run should take."""

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
from isthmus.request import LabelRequest

_FILES = {"writing the report": (1.7, 0.05, 1.0, 0.09), "saving the model": (1.0, 0.1, 0.3, 0.0)}
# Stages of a command, with the seconds that they take on one core: of every run, of 1,000 documents, of a million
# characters, of 1,000 documents for each class.
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
# What a method takes by itself, in the same numbers. Of the others nobody knows it.
_QUICK, _SOME, _LONG = (0.0, 0.1, 0.4, 0.0), (0.2, 0.2, 1.2, 0.0), (0.3, 0.6, 4.0, 0.0)
METHODS = {
    **dict.fromkeys(("nbc", "svm", "logistic", "projection", "projection-svm", "projection-paper"), _QUICK),
    **dict.fromkeys(("cocc", "cocc-paper", "vectors", "vectors-logistic", "dual-manifold"), _SOME),
    **dict.fromkeys(("self-training", "strings", "lsa", "names"), _LONG),
    "auto": (0.0, 0.0, 0.0, 0.0),
}
PRIOR_SECONDS = 0.5  # of the plan, which what was measured has to outweigh
OVERDUE = 0.9  # of its planned time: from here on a stage is thought to need a ninth of what it took
FIRST_FORECAST = 1.0  # seconds before the first one is said
_LEAST_DONE = 0.02  # of a step without a plan: its first rows also wait for whatever has to start


class Forecast:
    """How long the rest of a run takes, from a plan of its stages, corrected by what they took so far.

    ``stages``: names with seconds of one core, None where unknown. ``began``: when the first one began, by the clock
    ``now`` and by the processor's time ``used``, which falls behind on a busy machine.
    """

    def __init__(self, stages: Sequence[tuple[str, float | None]], began: float, used: float = 0.0):
        self.names = [name for name, _ in stages]
        self.seconds = [seconds for _, seconds in stages]
        self.began, self.used = began, used
        self.place, self.since = 0, began
        self.taken = self.planned = 0.0

    @property
    def stage(self) -> str:
        return self.names[self.place]

    @property
    def is_known(self) -> bool:
        """Whether the time of every stage to come is known."""
        return None not in self.seconds[self.place :]

    def enter(self, name: str, now: float) -> None:
        """A stage began: those before it are over, whether or not they were heard of."""
        self._pass_to(self.names.index(name, self.place), now)

    def leave(self, now: float) -> None:
        """The stage is over; the next one began."""
        self._pass_to(min(self.place + 1, len(self.names) - 1), now)

    def _pass_to(self, place: int, now: float) -> None:
        over = self.seconds[self.place : place]
        if not over:
            return
        if None not in over:
            self.taken += now - self.since
            self.planned += sum(filter(None, over))
        self.place, self.since = place, now

    def left(self, now: float, used: float | None = None) -> float | None:
        """Seconds from now to the end; None while a stage is to come whose time nobody knows."""
        if not self.is_known:
            return None
        current, *later = (seconds or 0.0 for seconds in self.seconds[self.place :])
        work = (time.process_time() if used is None else used) - self.used
        slowness = max(1.0, (now - self.began) / work) if work > 0 else 1.0
        taken, planned = self.taken + slowness * PRIOR_SECONDS, self.planned + PRIOR_SECONDS
        spent, rest = now - self.since, current * taken / planned - (now - self.since)
        if spent > OVERDUE * current * taken / planned:
            rest = spent / OVERDUE - spent
            taken, planned = taken + spent / OVERDUE, planned + current
        return rest + sum(later) * taken / planned


class ProgressLine:
    """Progress as one line that is written again on a terminal; elsewhere a few plain lines.

    With a plan (:meth:`expect`) the time left is of the whole run, otherwise of the step under way.
    """

    def __init__(self, every: float = 5.0, at_most: float = 60.0):
        self.every, self.at_most = every, at_most
        self.began = self.spoke = time.monotonic()
        self.used = time.process_time()
        self.started: dict[str, float] = {}
        self.open = ""  # a step that began and has not ended; what is heard of meanwhile is a part of it
        self.event: dict = {"phase": "", "done": 0, "total": None}
        self.forecast: Forecast | None = None

    def expect(self, stages: Sequence[tuple[str, float | None]]) -> None:
        """What will be done, in order, and the seconds that it takes; the first stage began with the line."""
        self.forecast = Forecast(stages, self.began, self.used)

    def __call__(self, event: dict) -> None:
        stop_if_asked()
        if "what" in event:  # a note about memory, not a step
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
        """Write the line, if it is time; ``begins``: one long step does, of which nothing more may be heard."""
        terminal = sys.stderr is not None and sys.stderr.isatty()
        # A log of an hour's run should not be a thousand lines long.
        pause = 0.2 if terminal else min(self.at_most, max(self.every, (now - self.began) / 4))
        text = self._what() + self._time_left(now)
        if not text or (now - self.spoke < pause and not (begins and terminal)):
            return
        self.spoke = now
        if terminal:
            rewrite_line(text[: shutil.get_terminal_size().columns - 1])  # a line that wraps cannot be written again
        else:
            say(text)

    def _what(self) -> str:
        phase, total = self.event["phase"], self.event["total"]
        if self.forecast is not None and self.forecast.is_known and phase != self.forecast.stage:
            return self.forecast.stage
        return phase if total == 1 or not phase else spell_count(self.event)

    def _time_left(self, now: float) -> str:
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
    """Stages of a command with the seconds that they take for so many texts, without files that nobody asked for."""
    size = measure(*collections)
    absent = {"writing the report": report is None, "saving the model": save is None}
    return [(stage, seconds(size, costs)) for stage, costs in COSTS[command].items() if not absent.get(stage)]


def measure(*collections: Collection) -> tuple[float, ...]:
    """What costs go by: one run, its thousands of documents, its million characters, documents for each class."""
    documents = sum(map(len, collections)) / 1e3
    characters = sum(len(text) for docs in collections for text in docs.texts) / 1e6
    return 1.0, documents, characters, documents * len(set(collections[0].labels))


def seconds(size: Sequence[float], costs: Sequence[float]) -> float:
    return sum(number * cost for number, cost in zip(size, costs, strict=True))


def plan_labelling(request: LabelRequest, *collections: Collection) -> list[tuple[str, float | None]]:
    """Stages of a labelling in memory; None for a labeller, a sentence model or a rare method."""
    files = {"report": request.report, "save": request.save}
    if request.embed not in (None, "none") or request.labeller is not None or request.method not in METHODS:
        return [("labelling", None), *plan_stages("label", *collections, **files)[2:]]
    if request.method == "auto":
        return plan_stages("label", *collections, **files)
    (stage, reading), *later = plan_stages("label by one method", *collections, **files)
    return [(stage, (reading or 0.0) + seconds(measure(*collections), METHODS[request.method])), *later]


def plan_teaching(labelling: Any, *, report: Any, save: Any, labels_again: bool) -> list[tuple[str, float | None]]:
    """Stages of a teaching; ``labels_again``: from a source whose labels were corrected, as a labelling does."""
    source = Collection.from_texts(labelling.source_texts, list(labelling.source_labels))
    target = Collection.from_texts(labelling.texts)
    if labels_again:
        request = LabelRequest(method=labelling.settings["method"], report=report, save=save)
        return plan_labelling(request, source, target)
    return plan_stages("teach", source, target, report=report, save=save)


@contextmanager
def ticking(line: ProgressLine) -> Iterator[None]:
    """On a terminal the time left goes on while a long step says nothing; at the end the line is taken away."""
    ended = threading.Event()

    def tick() -> None:
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
