"""Progress of methods: they report, and what runs them decides whether anybody listens."""

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

VARIABLE = "ISTHMUS_PROGRESS"  # "off": nothing is shown
_SHORT = 1.0  # seconds; of what is over sooner nothing is shown
_PAUSE = 0.2  # seconds between two drawings
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_listener: ContextVar[Callable[[dict], None] | None] = ContextVar("isthmus_progress", default=None)
_is_candidate: ContextVar[bool] = ContextVar("isthmus_candidate", default=False)


def progress(phase: str, done: int, total: int | None = None, **facts: Any) -> None:
    """Tell a listener, if there is one, that ``done`` of ``total`` steps of ``phase`` are over."""
    listener = _listener.get()
    if listener is not None:
        listener({"phase": phase, "done": done, "total": total, "time": time.monotonic(), **facts})


@contextmanager
def listen(listener: Callable[[dict], None] | None) -> Iterator[None]:
    """Send progress of everything inside the block to ``listener``; None: to nobody."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def when_over(phase: str, act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` whenever ``phase`` is over inside the block; whoever listens hears everything as before.

    >>> heard = []
    >>> with listen(heard.append), when_over("reading", lambda: heard.append("over")):
    ...     progress("reading", 1, 2)
    ...     progress("reading", 2, 2)
    >>> len(heard), heard[-1]
    (3, 'over')
    """
    listener = _listener.get()

    def hear(event: dict) -> None:
        if listener is not None:
            listener(event)
        if event["phase"] == phase and event["done"] == event["total"]:
            act()

    with listen(hear):
        yield


def spell_event(event: dict, start: float) -> str:
    """An event in words; ``start`` is when its phase began."""
    phase, done, total, now = (event[name] for name in ("phase", "done", "total", "time"))
    if total == 1:
        return phase + (": done" if done >= total else "")
    text = spell_count(event)
    if total and 0 < done < total and now > start:
        text += f", about {spell_time((now - start) / done * (total - done))} left"
    return text


def spell_count(event: dict) -> str:
    """How far a phase is, and how fast where that is known."""
    phase, done, total, rate = (event.get(name) for name in ("phase", "done", "total", "rate"))
    text = f"{phase}: {done:,}" + (f" of {total:,}" if total else "")
    return text + (f", {rate:,.0f} a second" if rate else "")


def shows_progress(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Show the progress of a long call: a bar in a notebook, a line on a terminal, else nothing.

    Where somebody listens already (the command, a worker, a call around this one), it stays as it is.
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
    """Draws progress at most five times a second; ``draw`` gets text, done and total."""

    def __init__(self, draw: Callable[[str, int, int | None], None], clear: Callable[[], None]):
        self._draw, self._clear = draw, clear
        self._started: dict[str, float] = {}
        self._next = time.monotonic() + _SHORT
        self._drawn = False

    def __call__(self, event: dict) -> None:
        if "what" in event:  # a note about memory, not a step
            return
        start = self._started.setdefault(event["phase"], event["time"])
        if event["time"] >= self._next:
            self._next, self._drawn = event["time"] + _PAUSE, True
            self._draw(spell_event(event, start), event["done"], event["total"])

    def clear(self) -> None:
        if self._drawn:
            self._clear()


def _find_screen() -> Screen | None:
    """Where somebody would see progress; None where nobody would, or the variable says no."""
    if os.environ.get(VARIABLE) == "off":
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is not None and hasattr(shell, "kernel"):
        return _notebook(ipython.display)
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return Screen(lambda text, done, total: _rewrite(text), lambda: _rewrite(""))


def _rewrite(text: str) -> None:
    sys.stderr.write(f"\r\033[K{text}")
    sys.stderr.flush()


def _notebook(display: Any) -> Screen:
    """A bar in the output of a cell, which goes away at the end."""
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
    """Whether the method is one of several that are compared: then its own warnings are of no use."""
    return _is_candidate.get()


@contextmanager
def as_candidate() -> Iterator[None]:
    """Methods fitted inside the block are compared with others; see :func:`is_candidate`."""
    token = _is_candidate.set(True)
    try:
        yield
    finally:
        _is_candidate.reset(token)
