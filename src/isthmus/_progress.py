"""Progress of methods: they report, and what runs them decides whether anybody listens.

Context variables, so that no constructor needs a parameter for it, and methods in several threads stay apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_listener: ContextVar[Callable[[dict], None] | None] = ContextVar("isthmus_progress", default=None)
_is_candidate: ContextVar[bool] = ContextVar("isthmus_candidate", default=False)


def progress(phase: str, done: int, total: int | None = None, **facts: Any) -> None:
    """Tell a listener, if there is one, that ``done`` of ``total`` steps of ``phase`` are over."""
    listener = _listener.get()
    if listener is not None:
        listener({"phase": phase, "done": done, "total": total, "time": time.monotonic(), **facts})


@contextmanager
def listen(listener: Callable[[dict], None] | None) -> Iterator[None]:
    """Send progress of everything inside the block to ``listener``; None: to nobody.

    >>> with listen(lambda event: print(event["phase"], event["done"], event["total"])):
    ...     progress("reading", 1, 2)
    reading 1 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_candidate() -> bool:
    """Whether the method is one of several that are compared: then its own warnings are of no use to the caller."""
    return _is_candidate.get()


@contextmanager
def as_candidate() -> Iterator[None]:
    """Methods fitted inside the block are compared with others; see :func:`is_candidate`."""
    token = _is_candidate.set(True)
    try:
        yield
    finally:
        _is_candidate.reset(token)
