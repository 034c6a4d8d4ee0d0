"""Report the progress of methods to a listener, if the caller has set one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from html import escape
from typing import Any, ParamSpec, TypeVar

from isthmus._utils import spell_time

VARIABLE = "ISTHMUS_PROGRESS"  # environment variable; the value "off" hides progress
_SHORT = 1.0  # seconds before the first drawing; shorter calls show no progress
_PAUSE = 0.2  # seconds between two drawings; more drawings would slow the work down
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_listener: ContextVar[Callable[[dict], None] | None] = ContextVar("isthmus_progress", default=None)
_is_candidate: ContextVar[bool] = ContextVar("isthmus_candidate", default=False)


def progress(phase: str, done: int, total: int | None = None, **facts: Any) -> None:
    """Report to the listener, if there is one, that ``done`` of ``total`` steps are complete.

    Parameters
    ----------
    phase : str
        Name of the phase, such as "reading".
    done : int
        Number of complete steps.
    total : int, optional
        Number of all steps, if known.
    **facts
        Other entries of the event, such as ``rate``.
    """
    listener = _listener.get()
    if listener is not None:
        listener({"phase": phase, "done": done, "total": total, "time": time.monotonic(), **facts})


@contextmanager
def listen(listener: Callable[[dict], None] | None) -> Iterator[None]:
    """Send the progress of all calls inside the block to a listener.

    Parameters
    ----------
    listener : callable or None
        Takes an event (a dict); None discards all events.

    Yields
    ------
    None
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def when_over(phase: str, act: Callable[[], None]) -> Iterator[None]:
    """Call a function whenever a phase ends inside the block, and forward all events to the listener.

    Parameters
    ----------
    phase : str
        Name of the phase.
    act : callable
        Function without parameters.

    Yields
    ------
    None

    Examples
    --------
    >>> heard = []
    >>> with listen(heard.append), when_over("reading", lambda: heard.append("over")):
    ...     progress("reading", 1, 2)
    ...     progress("reading", 2, 2)
    >>> len(heard), heard[-1]
    (3, 'over')
    """
    listener = _listener.get()

    # The new listener forwards each event first, so that the caller's order of events is unchanged.
    def hear(event: dict) -> None:
        if listener is not None:
            listener(event)
        if event["phase"] == phase and event["done"] == event["total"]:
            act()

    with listen(hear):
        yield


def spell_event(event: dict, start: float) -> str:
    """Describe an event in words.

    Parameters
    ----------
    event : dict
        Event of :func:`progress`.
    start : float
        Time at which the phase began, in seconds of ``time.monotonic``.

    Returns
    -------
    str
        Count and, if the number of steps is known, the estimated remaining time.
    """
    phase, done, total, now = (event[name] for name in ("phase", "done", "total", "time"))
    if total == 1:
        # A single step has no useful count.
        return phase + (": done" if done >= total else "")
    text = spell_count(event)
    if total and 0 < done < total and now > start:
        text += f", about {spell_time((now - start) / done * (total - done))} left"
    return text


def spell_count(event: dict) -> str:
    """Describe how many steps are complete, and the rate if it is known.

    Parameters
    ----------
    event : dict
        Event of :func:`progress`; the entry ``rate`` is in steps per second.

    Returns
    -------
    str
    """
    phase, done, total, rate = (event.get(name) for name in ("phase", "done", "total", "rate"))
    text = f"{phase}: {done:,}" + (f" of {total:,}" if total else "")
    return text + (f", {rate:,.0f} a second" if rate else "")


def shows_progress(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Decorate a function so that long calls show their progress.

    Notebooks show a bar and terminals show a line; other outputs show nothing. A listener that the caller has already
    set, such as the command's, is not replaced.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
    """

    @wraps(function)
    def shown(*args: _Given.args, **given: _Given.kwargs) -> _Found:
        screen = None if _listener.get() is not None else _find_screen()
        if screen is None:
            return function(*args, **given)
        with listen(screen):
            try:
                return function(*args, **given)
            finally:
                screen.clear()

    return shown


class Screen:
    """Draw progress at most five times a second.

    Parameters
    ----------
    draw : callable
        Takes the text, the complete steps and the total steps.
    clear : callable
        Removes the drawing.
    """

    def __init__(self, draw: Callable[[str, int, int | None], None], clear: Callable[[], None]):
        """Store both functions and wait one second before the first drawing."""
        self._draw, self._clear = draw, clear
        self._started: dict[str, float] = {}
        # No drawing in the first second: most calls end earlier.
        self._next = time.monotonic() + _SHORT
        self._drawn = False

    def __call__(self, event: dict) -> None:
        """Draw an event if the previous drawing is old enough."""
        if "what" in event:  # an event about memory, which is no step of a phase
            return
        start = self._started.setdefault(event["phase"], event["time"])
        if event["time"] >= self._next:
            self._next, self._drawn = event["time"] + _PAUSE, True
            self._draw(spell_event(event, start), event["done"], event["total"])

    def clear(self) -> None:
        """Remove the drawing, if there is one."""
        if self._drawn:
            self._clear()


def _find_screen() -> Screen | None:
    """Return a screen for the notebook or the terminal; None without one, or if progress is switched off."""
    if os.environ.get(VARIABLE) == "off":
        return None
    # A notebook has already loaded IPython, so this lookup imports nothing.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is not None and hasattr(shell, "kernel"):
        return _notebook(ipython.display)
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return Screen(lambda text, done, total: _rewrite(text), lambda: _rewrite(""))


def _rewrite(text: str) -> None:
    """Overwrite the current line of the terminal."""
    sys.stderr.write(f"\r\033[K{text}")
    sys.stderr.flush()


def _notebook(display: Any) -> Screen:
    """Return a screen that draws a bar in the output of a cell and removes it at the end."""
    # The first drawing creates the display; later drawings update it.
    handles: list[Any] = []

    def show(markup: str) -> None:
        if handles:
            handles[0].update(display.HTML(markup))
        else:
            handles.append(display.display(display.HTML(markup), display_id=True))

    def draw(text: str, done: int, total: int | None) -> None:
        share = f' value="{done}" max="{total}"' if total and total > 1 else ""
        show(f'<div class="isthmus-progress"><progress{share}></progress> {escape(text)}</div>')

    return Screen(draw, lambda: show(""))


def is_candidate() -> bool:
    """Return whether the current method is one of several candidates that are compared.

    A candidate gives no warnings of its own, because its labels may not be used.

    Returns
    -------
    bool
    """
    return _is_candidate.get()


@contextmanager
def as_candidate() -> Iterator[None]:
    """Mark the methods fitted inside the block as candidates; see :func:`is_candidate`.

    Yields
    ------
    None
    """
    # A context variable: other threads and tasks have their own value.
    token = _is_candidate.set(True)
    try:
        yield
    finally:
        _is_candidate.reset(token)
